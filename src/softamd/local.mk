# SPDX-License-Identifier: Apache-2.0
#
# Room softamd: the software AMD GPU. Loaded into other people's programs, so never sanitised.

# --- the processor: libamdgpu.a; libamdtest.a is the same for its own tests and the fuzzer ---------------
HEADERS_TO_CHECK += src/softamd/micro/amd-micro.h src/softamd/micro/amd-micro-probe.h src/softamd/machine/amd-run.h src/softamd/machine/amd-observe.h src/softamd/machine/amd-machine.h src/softamd/insns/amd-insn.h src/softamd/insns/amd-atomic.h src/softamd/watch/amd-race.h src/softamd/watch/amd-race-int.h
AMD_SOURCES = src/softamd/machine/amd-run.c src/softamd/machine/amd-run.h \
	src/gpucode/gfx/gfx9-insns.def src/gpucode/gfx/gfx-decode.c src/gpucode/gfx-decode.h src/gpucode/gfx/gfx-table.c \
	src/gpucode/gfx/gfx-table.h src/gpucode/gfx/gfx-text.c \
	src/softamd/machine/amd-machine.h src/softamd/machine/amd-observe.c src/softamd/machine/amd-observe.h src/softamd/machine/amd-fault.c src/softamd/machine/amd-memory.c src/softamd/machine/amd-code.c \
	src/softamd/machine/amd-lanes.c src/softamd/machine/amd-group.c src/softamd/machine/amd-waits.c \
	src/softamd/insns/amd-insn.h src/softamd/insns/amd-handlers.c src/softamd/insns/amd-scalar.c src/softamd/insns/amd-flow.c \
	src/softamd/insns/amd-load.c src/softamd/insns/amd-integer.c src/softamd/insns/amd-float.c src/softamd/insns/amd-double.c \
	src/softamd/insns/amd-half.c src/softamd/insns/amd-compare.c src/softamd/insns/amd-convert.c src/softamd/insns/amd-lane.c \
	src/softamd/insns/amd-lds.c src/softamd/insns/amd-global.c src/softamd/insns/amd-atomic.c src/softamd/insns/amd-atomic.h \
	src/softamd/insns/amd-packed.c src/softamd/insns/amd-matrix.c \
	src/softamd/watch/amd-race.c src/softamd/watch/amd-race.h src/softamd/watch/amd-race-int.h src/softamd/watch/amd-race-order.c \
	src/gpucode/amd/amd-dwarf-lines.c src/gpucode/amd/amd-image.c src/gpucode/amd-image.h src/softamd/micro/amd-micro.h \
	src/softamd/micro/amd-micro-session.c src/softamd/micro/amd-micro-points.c src/softamd/micro/amd-micro-look.c src/softamd/micro/amd-micro-names.c src/softamd/micro/amd-micro-put.c src/softamd/micro/amd-micro-probe.c src/softamd/micro/amd-micro-probe.h \
	$(SOFTCORE_SOURCES)
# Arithmetic must give the hardware's bits: nothing contracted, nothing reassociated. Loops over lanes become vectors;
# automake puts CFLAGS, with another -O, behind these, so that -O3 alone would not count.
AMD_ARITHMETIC = -O3 -ftree-vectorize -fvect-cost-model=dynamic -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
EXTRA_LIBRARIES += libamdtest.a
libamdtest_a_SOURCES = $(AMD_SOURCES)
libamdtest_a_CFLAGS = $(AM_CFLAGS) $(AMD_ARITHMETIC)
noinst_LIBRARIES += libamdgpu.a
libamdgpu_a_SOURCES = $(AMD_SOURCES)
libamdgpu_a_CFLAGS = $(SO_CFLAGS) $(AMD_ARITHMETIC)

# Our disassembly against LLVM's: a sample with a fixed seed, where llvm-mc is there.
check_PROGRAMS += tests/softamd/gfx-dis
tests_softamd_gfx_dis_SOURCES = tests/softamd/gfx-dis.c
tests_softamd_gfx_dis_LDADD = libamdtest.a -lpthread
TESTS += tests/softamd/gfx-compare.py
# One wave of given code: for gfx-fuzz-tinygrad.py, which compares with another emulator, by hand.
check_PROGRAMS += tests/softamd/gfx-exec
tests_softamd_gfx_exec_SOURCES = tests/softamd/gfx-exec.c
tests_softamd_gfx_exec_LDADD = libamdtest.a -lpthread -lm
EXTRA_DIST += tests/softamd/gfx-compare.py tests/softamd/gfx-fuzz-tinygrad.py

if HAVE_CMOCKA
AMD_TESTS = tests/unit/test-softamd-decode tests/unit/test-softamd-gfx942 tests/unit/test-softamd-insns tests/unit/test-softamd-machine \
	tests/unit/test-softamd-micro tests/unit/test-softamd-watch
check_PROGRAMS += $(AMD_TESTS)
TESTS += $(AMD_TESTS)
tests_unit_test_softamd_decode_SOURCES = tests/unit/test-softamd-decode.c
tests_unit_test_softamd_decode_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_decode_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread
tests_unit_test_softamd_gfx942_SOURCES = tests/unit/test-softamd-gfx942.c tests/unit/amd-test.h
tests_unit_test_softamd_gfx942_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_gfx942_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
tests_unit_test_softamd_insns_SOURCES = tests/unit/test-softamd-insns.c tests/unit/amd-test.h
tests_unit_test_softamd_insns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_insns_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
tests_unit_test_softamd_machine_SOURCES = tests/unit/test-softamd-machine.c tests/unit/amd-test.h
tests_unit_test_softamd_machine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_machine_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
tests_unit_test_softamd_micro_SOURCES = tests/unit/test-softamd-micro.c tests/unit/amd-test.h tests/unit/amd-elf.h
tests_unit_test_softamd_micro_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_micro_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
tests_unit_test_softamd_watch_SOURCES = tests/unit/test-softamd-watch.c tests/unit/amd-test.h
tests_unit_test_softamd_watch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softamd_watch_LDADD = libamdtest.a $(CMOCKA_LIBS) -lpthread -lm
endif
