# SPDX-License-Identifier: Apache-2.0
#
# Room observe: eBPF probes on the driver's entry points. Without libbpf or clang (--without-observe) all but the probes is built, and
# tsdb observe says what is missing. Who links libobserve.a links $(OBSERVE_LIBS), libattach.a, libstate.a and libsbt.a after it.

noinst_LIBRARIES += libobserve.a
libobserve_a_SOURCES = \
	src/observe/observe.h src/observe/observe-private.h src/observe/observe.c src/observe/observe-launch.c \
	src/observe/table.c src/observe/stats.c src/observe/stats.h \
	src/observe/process.c src/observe/process.h src/observe/maps.c src/observe/maps.h \
	src/observe/mapped.c src/observe/mapped.h src/observe/kernel-names.c src/observe/kernel-names.h \
	src/observe/decode.c src/observe/decode.h src/observe/calls.c src/observe/calls.h src/observe/observe-calls.def \
	src/observe/see-work.c src/observe/see-memory.c src/observe/see-objects.c \
	src/observe/handles.c src/observe/handles.h src/observe/addresses.c src/observe/addresses.h \
	src/observe/probe.h src/observe/probes.h
libobserve_a_CPPFLAGS = $(AM_CPPFLAGS) $(ELF_CFLAGS)
HEADERS_TO_CHECK += src/observe/observe.h src/observe/observe-private.h src/observe/stats.h src/observe/process.h src/observe/maps.h src/observe/mapped.h \
	src/observe/kernel-names.h src/observe/decode.h src/observe/calls.h src/observe/handles.h src/observe/addresses.h src/observe/probe.h src/observe/probes.h
EXTRA_DIST += src/observe/observe.bpf.c src/observe/probes.c src/observe/probes-attach.c src/observe/probes-private.h src/observe/probes-none.c src/observe/probes-object.S

if HAVE_OBSERVE
libobserve_a_SOURCES += src/observe/probes.c src/observe/probes-attach.c src/observe/probes-private.h
libobserve_a_CPPFLAGS += $(BPF_CFLAGS)
libobserve_a_LIBADD = src/observe/probes-object.$(OBJEXT)
OBSERVE_LIBS = $(BPF_LIBS)
src/observe/observe.bpf.o: src/observe/observe.bpf.c src/observe/probe.h
	@$(MKDIR_P) src/observe
	$(AM_V_GEN)$(BPF_CLANG) -O2 -g -Wall -Werror -target bpf $(BPF_TARGET_CFLAGS) $(BPF_CFLAGS) -I$(srcdir)/src -c -o $@ $(srcdir)/src/observe/observe.bpf.c
src/observe/probes-object.$(OBJEXT): src/observe/probes-object.S src/observe/observe.bpf.o
	$(AM_V_GEN)$(CC) -DOBSERVE_OBJECT='"src/observe/observe.bpf.o"' -c -o $@ $(srcdir)/src/observe/probes-object.S
CLEANFILES += src/observe/observe.bpf.o src/observe/probes-object.$(OBJEXT)
else
libobserve_a_SOURCES += src/observe/probes-none.c
OBSERVE_LIBS =
endif

# The end-to-end tests under another kernel, in a virtual machine: minutes. make check-observe-qemu [KERNEL=bzImage]
.PHONY: check-observe-qemu
check-observe-qemu: all $(check_SCRIPTS)
	$(srcdir)/tests/observe/in-qemu . $(KERNEL)
EXTRA_DIST += tests/observe/in-qemu tests/observe/on-gpu

if HAVE_CMOCKA
OBSERVE_TEST_LIBS = libobserve.a libstate.a libattach.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(OBSERVE_LIBS) $(ATTACH_LIBS) $(ZSTD_LIBS) $(JANSSON_LIBS) -lpthread
check_PROGRAMS += tests/unit/libobserve-driver.so
tests_unit_libobserve_driver_so_SOURCES = tests/unit/observe-driver.c
tests_unit_libobserve_driver_so_CFLAGS = -std=gnu11 -fPIC -O1 $(WARN_CFLAGS)
tests_unit_libobserve_driver_so_LDFLAGS = -shared
check_PROGRAMS += tests/unit/test-observe-decode tests/unit/test-observe-table
TESTS += tests/unit/test-observe-decode tests/unit/test-observe-table
tests_unit_test_observe_decode_SOURCES = tests/unit/test-observe-decode.c
tests_unit_test_observe_decode_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_observe_decode_LDADD = $(OBSERVE_TEST_LIBS)
tests_unit_test_observe_table_SOURCES = tests/unit/test-observe-table.c
tests_unit_test_observe_table_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_observe_table_LDADD = $(OBSERVE_TEST_LIBS)
endif
