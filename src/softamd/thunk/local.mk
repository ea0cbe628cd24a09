# SPDX-License-Identifier: Apache-2.0
#
# The device around the processor: libhsakmt.so.1 below AMD's HSA and HIP runtimes. Needs their headers.

if HAVE_HIP
HEADERS_TO_CHECK += src/softamd/thunk/kfd-micro.h src/softamd/thunk/kfd.h src/softamd/thunk/kfd-watch.h \
	src/softamd/thunk/kfd-micro.c src/softamd/thunk/kfd-micro.h
softamddir = $(plugindir)/softamd
softamd_PROGRAMS = softamd/libhsakmt.so.1
softamd_libhsakmt_so_1_SOURCES = \
	src/softamd/thunk/kfd.h src/softamd/thunk/kfd-aql.c src/softamd/thunk/kfd-entry.c src/softamd/thunk/kfd-events.c \
	src/softamd/thunk/kfd-fault.c src/softamd/thunk/kfd-memory.c src/softamd/thunk/kfd-names.c src/softamd/thunk/kfd-queues.c \
	src/softamd/thunk/kfd-sdma.c src/softamd/thunk/kfd-signal.c src/softamd/thunk/kfd-topology.c \
	src/softamd/thunk/kfd-watch.c src/softamd/thunk/kfd-watch.h \
	src/softamd/thunk/kfd-micro.c src/softamd/thunk/kfd-micro.h
softamd_libhsakmt_so_1_CFLAGS = $(SO_CFLAGS) -O2 -g
# Never unloaded: its threads run until the process ends.
softamd_libhsakmt_so_1_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libhsakmt.so.1 -Wl,-z,nodelete -Wl,--exclude-libs,ALL \
	-Wl,--version-script=$(srcdir)/src/softamd/thunk/libhsakmt.map
softamd_libhsakmt_so_1_LDADD = libamdgpu.a -lpthread -lm
softamd_libhsakmt_so_1_DEPENDENCIES = libamdgpu.a src/softamd/thunk/libhsakmt.map
# The same device for the HSA runtimes of ROCm 7: what is newer, in front of the other.
softamd_PROGRAMS += softamd/libdtif.so
softamd_libdtif_so_SOURCES = src/softamd/thunk/kfd-dtif.c src/softamd/thunk/kfd.h
softamd_libdtif_so_CFLAGS = $(SO_CFLAGS) -O2 -g -fvisibility=hidden
softamd_libdtif_so_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libdtif.so -Wl,-z,nodelete '-Wl,-rpath,$$ORIGIN'
softamd_libdtif_so_LDADD = softamd/libhsakmt.so.1
softamd_libdtif_so_DEPENDENCIES = softamd/libhsakmt.so.1
endif
EXTRA_DIST += src/softamd/thunk/libhsakmt.map

if HAVE_HIP
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softamd-packets
TESTS += tests/unit/test-softamd-packets
tests_unit_test_softamd_packets_SOURCES = tests/unit/test-softamd-packets.c $(softamd_libhsakmt_so_1_SOURCES)
tests_unit_test_softamd_packets_CFLAGS = $(AM_CFLAGS)
tests_unit_test_softamd_packets_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
endif
endif
