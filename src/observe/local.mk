# SPDX-License-Identifier: Apache-2.0
#
# Room observe: eBPF probes on the driver's entry points. Without libbpf or clang (--without-observe) all but the probes is built, and
# tsdb observe says what is missing. Who links libobserve.a links $(OBSERVE_LIBS), libattach.a, libstate.a and libsbt.a after it.

noinst_LIBRARIES += libobserve.a
libobserve_a_SOURCES = \
	src/observe/observe.h src/observe/process/observe-private.h src/observe/process/observe.c src/observe/process/observe-launch.c \
	src/observe/process/table.c src/observe/process/stats.c src/observe/process/stats.h \
	src/observe/process/observed.c src/observe/process/observed.h src/observe/process/maps.c src/observe/process/maps.h \
	src/observe/bpf/mapped.c src/observe/bpf/mapped.h src/observe/decode/kernel-names.c src/observe/decode/kernel-names.h \
	src/observe/decode/observe-decode.c src/observe/decode/observe-decode.h src/observe/decode/observe-calls.c src/observe/decode/observe-script.c src/observe/decode/observe-calls.h src/observe/decode/observe-calls.def \
	src/observe/decode/see-work.c src/observe/decode/see-memory.c src/observe/decode/see-objects.c \
	src/observe/decode/handles.c src/observe/decode/handles.h src/observe/bpf/addresses.c src/observe/bpf/addresses.h \
	src/observe/bpf/probe.h src/observe/bpf/probes.h
libobserve_a_CPPFLAGS = $(AM_CPPFLAGS) $(ELF_CFLAGS)
HEADERS_TO_CHECK += src/observe/observe.h src/observe/process/observe-private.h src/observe/process/stats.h src/observe/process/observed.h src/observe/process/maps.h src/observe/bpf/mapped.h \
	src/observe/decode/kernel-names.h src/observe/decode/observe-decode.h src/observe/decode/observe-calls.h src/observe/decode/handles.h src/observe/bpf/addresses.h src/observe/bpf/probe.h src/observe/bpf/probes.h
EXTRA_DIST += src/observe/bpf/observe.bpf.c src/observe/bpf/probes.c src/observe/bpf/probes-attach.c src/observe/bpf/probes-private.h src/observe/bpf/probes-none.c src/observe/bpf/probes-object.S

if HAVE_OBSERVE
libobserve_a_SOURCES += src/observe/bpf/probes.c src/observe/bpf/probes-attach.c src/observe/bpf/probes-private.h
libobserve_a_CPPFLAGS += $(BPF_CFLAGS)
libobserve_a_LIBADD = src/observe/bpf/probes-object.$(OBJEXT)
OBSERVE_LIBS = $(BPF_LIBS)
src/observe/bpf/observe.bpf.o: src/observe/bpf/observe.bpf.c src/observe/bpf/probe.h
	@$(MKDIR_P) src/observe/bpf
	$(AM_V_GEN)$(BPF_CLANG) -O2 -g -Wall -Werror -target bpf $(BPF_TARGET_CFLAGS) $(BPF_CFLAGS) -I$(srcdir)/src -c -o $@ $(srcdir)/src/observe/bpf/observe.bpf.c
src/observe/bpf/probes-object.$(OBJEXT): src/observe/bpf/probes-object.S src/observe/bpf/observe.bpf.o
	$(AM_V_GEN)$(CC) -DOBSERVE_OBJECT='"src/observe/bpf/observe.bpf.o"' -c -o $@ $(srcdir)/src/observe/bpf/probes-object.S
CLEANFILES += src/observe/bpf/observe.bpf.o src/observe/bpf/probes-object.$(OBJEXT)
else
libobserve_a_SOURCES += src/observe/bpf/probes-none.c
OBSERVE_LIBS =
endif

# The end-to-end tests under another kernel, in a virtual machine: minutes. make check-observe-qemu [KERNEL=bzImage]
.PHONY: check-observe-qemu
check-observe-qemu: all $(check_SCRIPTS)
	$(srcdir)/tests/observe/in-qemu . $(KERNEL)
EXTRA_DIST += tests/observe/in-qemu tests/observe/on-gpu

if HAVE_CMOCKA
OBSERVE_TEST_LIBS = libobserve.a libstate.a libattach.a libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(OBSERVE_LIBS) $(ATTACH_LIBS) $(ZSTD_LIBS) $(JANSSON_LIBS) -lpthread
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
