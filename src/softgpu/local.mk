# SPDX-License-Identifier: Apache-2.0
#
# Room softgpu: the CUDA driver that runs on the CPU. Loaded into other people's programs, so never sanitised.
# Four parts: libsoftptx.a (PTX and the address space), libcuda.so.1, libcupti.so.13, libcudart.so.13.

HEADERS_TO_CHECK += src/softgpu/ptx-barrier.h src/softgpu/ptx-path.h src/softgpu/ptx-async.h src/softgpu/ptx-cluster.h src/softgpu/mem.h src/softgpu/mem-extents.h src/softgpu/ptx.h src/softgpu/ptx-observe.h src/softgpu/ptx-parse.h src/softgpu/ptx-run.h
HEADERS_TO_CHECK += src/softgpu/overlap.h src/softgpu/ptx-depend.h src/softgpu/ptx-clock.h src/softgpu/ptx-race.h src/softgpu/ptx-race-int.h src/softgpu/ptx-access.h src/softgpu/ptx-schedule.h
HEADERS_TO_CHECK += src/softgpu/ptx-tensor.h src/softgpu/ptx-mma.h
HEADERS_TO_CHECK += src/softgpu/jit.h src/softgpu/ptx-bounds.h

# The PTX machine. libptxtest.a is the same for its own tests and the fuzzer: sanitised when they are.
PTX_SOURCES = src/patience.h src/patience.c src/softgpu/ptx-bounds.h src/softgpu/ptx-bounds.c \
	src/softgpu/mem.c src/softgpu/mem-extents.c src/softgpu/mem-extents.h \
	src/softgpu/mem.h \
	src/softgpu/jit.h src/softgpu/jit-host.c \
	src/softgpu/ptx.h src/softgpu/ptx-int.h src/softgpu/ptx-dec.h src/softgpu/ptx-exec.h \
	src/softgpu/ptx-cvt.h src/softgpu/ptx-run.h src/softgpu/ptx-observe.c src/softgpu/ptx-observe.h \
	src/softgpu/ptx-race.c src/softgpu/ptx-race-order.c src/softgpu/ptx-race.h src/softgpu/ptx-race-int.h \
	src/softgpu/ptx-clock.c src/softgpu/ptx-clock.h src/softgpu/ptx-access.c src/softgpu/ptx-access.h src/softgpu/ptx-depend.c src/softgpu/ptx-depend.h src/softgpu/ptx-schedule.c src/softgpu/ptx-schedule.h src/softgpu/ptx-insns.def \
	src/softgpu/ptx-lex.c src/softgpu/ptx-lex.h src/softgpu/ptx-parse.c src/softgpu/ptx-parse.h src/softgpu/ptx-scope.c \
	src/softgpu/ptx-variable.c src/softgpu/ptx-function.c src/softgpu/ptx-module.c src/softgpu/ptx-decode.c \
	src/softgpu/ptx-operand.c src/softgpu/ptx-frame.c \
	src/softgpu/ptx-table.c src/softgpu/ptx-cfg.c src/softgpu/ptx-alu.c src/softgpu/ptx-alu-avx2.c \
	src/softgpu/ptx-pred.c src/softgpu/ptx-mem.c src/softgpu/ptx-ldst.c src/softgpu/ptx-cvt.c src/softgpu/ptx-math.c \
	src/softgpu/ptx-stack.c src/softgpu/ptx-path.c src/softgpu/ptx-path.h src/softgpu/ptx-heap.c src/softgpu/ptx-atomic.c src/softgpu/ptx-cluster.c src/softgpu/ptx-cluster.h src/softgpu/ptx-async.c src/softgpu/ptx-async.h src/softgpu/ptx-mbarrier.c \
	src/softgpu/ptx-tex.c src/softgpu/tex.c src/softgpu/tex.h src/softgpu/ptx-merge.c src/softgpu/ptx-merge.h \
	src/softgpu/ptx-warp.c src/softgpu/ptx-printf.c src/softgpu/ptx-run.c src/softgpu/ptx-block.c src/softgpu/ptx-barrier.c src/softgpu/ptx-barrier.h src/softgpu/ptx-fault.c src/softgpu/ptx-pool.c
# The microscope: a launch under observation, for tsdb-replayer.
PTX_SOURCES += \
	src/replay/soft-debug.h src/softgpu/micro.h src/softgpu/micro-session.c src/softgpu/micro-points.c src/softgpu/micro-names.c \
	src/softgpu/micro-expr.c src/softgpu/micro-look.c
HEADERS_TO_CHECK += src/replay/soft-debug.h src/softgpu/micro.h
# Matrices, halves, the rarer integer instructions.
PTX_SOURCES += \
	src/softgpu/ptx-tensor.c src/softgpu/ptx-tensor.h src/softgpu/ptx-mma.c src/softgpu/ptx-mma.h src/softgpu/ptx-matrix.c \
	src/softgpu/ptx-wmma.c src/softgpu/ptx-half.c src/softgpu/ptx-fp8.c src/softgpu/ptx-field.c src/softgpu/ptx-video.c
# Arithmetic must give the hardware's bits: nothing contracted, nothing reassociated.
PTX_CFLAGS = -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
EXTRA_LIBRARIES = libptxtest.a
libptxtest_a_SOURCES = $(PTX_SOURCES)
libptxtest_a_CFLAGS = $(AM_CFLAGS) $(PTX_CFLAGS)

# The table of instructions in docs/softgpu.md.
check_PROGRAMS += tests/ptx-coverage
tests_ptx_coverage_SOURCES = src/softgpu/ptx-coverage.c
tests_ptx_coverage_CFLAGS = $(AM_CFLAGS)
tests_ptx_coverage_LDADD = libptxtest.a -lpthread -lm
TESTS += tests/unit/test-ptx-coverage.sh
EXTRA_DIST += tests/unit/test-ptx-coverage.sh scripts/ptx-coverage
.PHONY: update-coverage
update-coverage: tests/ptx-coverage
	$(srcdir)/scripts/ptx-coverage --update tests/ptx-coverage $(srcdir)/docs/softgpu.md

# Fat binaries need no toolkit: tested and fuzzed everywhere, with sanitizers.
HEADERS_TO_CHECK += src/softgpu/fatbin.h
noinst_LIBRARIES += libfatbin.a
libfatbin_a_SOURCES = src/softgpu/fatbin.c src/softgpu/fatbin.h
libfatbin_a_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softgpu-fatbin
TESTS += tests/unit/test-softgpu-fatbin
tests_unit_test_softgpu_fatbin_SOURCES = tests/unit/test-softgpu-fatbin.c
tests_unit_test_softgpu_fatbin_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softgpu_fatbin_LDADD = libfatbin.a $(ZSTD_LIBS) $(CMOCKA_LIBS)
endif

if HAVE_CUDA
HEADERS_TO_CHECK += src/softgpu/watch.h src/softgpu/soft.h src/softgpu/entry.h src/softgpu/driver.h src/softgpu/graph.h src/softgpu/array.h src/softgpu/tex.h src/softgpu/ptx-merge.h

# --- PTX: parser, interpreter, worker pool ------------------------------------------------------------
noinst_LIBRARIES += libsoftptx.a
libsoftptx_a_SOURCES = $(PTX_SOURCES)
libsoftptx_a_CFLAGS = $(SO_CFLAGS) $(PTX_CFLAGS)

# --- libcuda.so.1 -------------------------------------------------------------------------------------
# Never unloaded: its threads run until the process ends. Symbols are bound inside, so that a program's own or a
# second driver's cu* functions cannot come in between.
softgpu_PROGRAMS += softgpu/libcuda.so.1
LIBCUDA_SOURCES = \
	src/softgpu/array.h \
	src/softgpu/driver.h \
	src/softgpu/drv-array.c \
	src/softgpu/drv-capture.c \
	src/softgpu/drv-copy.c \
	src/softgpu/drv-ctx.c \
	src/softgpu/drv-device.c \
	src/softgpu/drv-entry.c \
	src/softgpu/drv-error.c \
	src/softgpu/drv-event.c \
	src/softgpu/drv-event-node.c \
	src/softgpu/drv-exec.c \
	src/softgpu/drv-overlap.c \
	src/softgpu/overlap.h \
	src/softgpu/drv-exec-graph.c \
	src/softgpu/drv-func.c \
	src/softgpu/drv-graph.c \
	src/softgpu/drv-graph-dot.c \
	src/softgpu/drv-graph-mem.c \
	src/softgpu/drv-launch.c \
	src/softgpu/drv-library.c \
	src/softgpu/drv-link.c \
	src/softgpu/drv-managed.c \
	src/softgpu/drv-mem.c \
	src/softgpu/drv-memop.c \
	src/softgpu/drv-micro.c \
	src/softgpu/drv-module.c \
	src/softgpu/drv-node.c \
	src/softgpu/drv-obj.c \
	src/softgpu/drv-pool.c \
	src/softgpu/drv-refused.c \
	src/softgpu/drv-stream.c \
	src/softgpu/drv-tex.c \
	src/softgpu/drv-user-object.c \
	src/softgpu/drv-ipc.c src/softgpu/drv-vmm.c \
	src/softgpu/drv-watch.c \
	src/softgpu/drv-workspace.c \
	src/softgpu/entry.h \
	src/softgpu/fatbin.c \
	src/softgpu/fatbin.h \
	src/softgpu/graph.h \
	src/softgpu/soft.h \
	src/softgpu/watch.h
softgpu_libcuda_so_1_SOURCES = $(LIBCUDA_SOURCES)
softgpu_libcuda_so_1_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
softgpu_libcuda_so_1_CFLAGS = $(SO_CFLAGS) $(ZSTD_CFLAGS) -O2 -g
softgpu_libcuda_so_1_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -Wl,-Bsymbolic
softgpu_libcuda_so_1_LDADD = libsoftptx.a $(ZSTD_LIBS) -lpthread -ldl -lm
# The same with sanitizers: for a sanitised tsdb-replayer, which is the only program that can load it.
if SANITIZERS
noinst_PROGRAMS += softgpu/sanitised/libcuda.so.1
softgpu_sanitised_libcuda_so_1_SOURCES = $(LIBCUDA_SOURCES)
softgpu_sanitised_libcuda_so_1_CPPFLAGS = $(softgpu_libcuda_so_1_CPPFLAGS)
softgpu_sanitised_libcuda_so_1_CFLAGS = $(SO_CFLAGS) $(MODE_CFLAGS) $(ZSTD_CFLAGS) -O1 -g
softgpu_sanitised_libcuda_so_1_LDFLAGS = $(MODE_LDFLAGS) -shared -Wl,-z,now -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -Wl,-Bsymbolic
softgpu_sanitised_libcuda_so_1_LDADD = libptxtest.a $(ZSTD_LIBS) -lpthread -ldl -lm
endif

# --- the compiler of hot kernels: a plugin, opened when the first one is hot ------------------------------
JIT_SOURCES = src/softgpu/jit-alu.c src/softgpu/jit-move.c src/softgpu/jit-value.h src/softgpu/jit-emit.c src/softgpu/jit-int.h src/softgpu/jit-llvm.c src/softgpu/jit-mem.c \
	src/softgpu/jit-region.c
EXTRA_DIST += $(JIT_SOURCES)
if HAVE_LLVM
softgpu_PROGRAMS += softgpu/tsdb-softgpu-jit.so
softgpu_tsdb_softgpu_jit_so_SOURCES = $(JIT_SOURCES)
softgpu_tsdb_softgpu_jit_so_CFLAGS = $(SO_CFLAGS) $(LLVM_CFLAGS) -O2 -g
softgpu_tsdb_softgpu_jit_so_LDFLAGS = $(SO_LDFLAGS) -Wl,-z,nodelete
softgpu_tsdb_softgpu_jit_so_LDADD = $(LLVM_LIBS)
endif

# --- libcupti.so.13 -----------------------------------------------------------------------------------
softgpu_PROGRAMS += softgpu/libcupti.so.13
softgpu_libcupti_so_13_SOURCES = \
	src/softgpu/cupti-activity.c \
	src/softgpu/cupti-callback.c \
	src/softgpu/cupti-int.h \
	src/softgpu/cupti-query.c
nodist_softgpu_libcupti_so_13_SOURCES = \
	softgpu/cupti-driver-names.inc \
	softgpu/cupti-runtime-names.inc
softgpu_libcupti_so_13_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
softgpu_libcupti_so_13_CFLAGS = $(SO_CFLAGS) -O2 -g
softgpu_libcupti_so_13_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcupti.so.13 -Wl,-rpath,'$$ORIGIN' -Wl,-z,nodelete -Wl,-Bsymbolic
softgpu_libcupti_so_13_LDADD = -lpthread -ldl
HEADERS_TO_CHECK += src/softgpu/cupti-int.h

# The names of the callback ids, from the toolkit's own headers: "[307] = "cuLaunchKernel","
CUPTI_NAMES = $(MKDIR_P) softgpu && printf '\#include <%s>\n' $$header | $(CC) $(CUDA_CFLAGS) -E - | \
	$(SED) -n 's/^ *CUPTI_[A-Z]*_TRACE_CBID_\(cu[A-Za-z0-9_]*\) *= *\([0-9]*\),*$$/\t[\2] = "\1",/p' >$@.new && \
	test -s $@.new && mv $@.new $@
softgpu/cupti-driver-names.inc: Makefile
	@header=cupti_driver_cbid.h; $(CUPTI_NAMES)
softgpu/cupti-runtime-names.inc: Makefile
	@header=cupti_runtime_cbid.h; $(CUPTI_NAMES)
src/softgpu/softgpu_libcupti_so_13-cupti-callback.$(OBJEXT): softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc
BUILT_SOURCES += softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc
CLEANFILES += softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc

# --- tests of the driver and CUPTI: C programs linked to the libraries as they were built ---------------
if HAVE_CMOCKA
PTX_TESTS = tests/unit/test-softgpu-mem tests/unit/test-softgpu-tex-fuzz tests/unit/test-softgpu-ptx-insns tests/unit/test-softgpu-ptx-insns-base tests/unit/test-softgpu-ptx-variables tests/unit/test-softgpu-ptx-flow \
	tests/unit/test-softgpu-observe tests/unit/test-softgpu-ptx-async \
	tests/unit/test-softgpu-ptx-atomic tests/unit/test-softgpu-ptx-paths
check_PROGRAMS += $(PTX_TESTS)
TESTS += $(PTX_TESTS)
check_PROGRAMS += tests/unit/test-softgpu-schedule tests/unit/test-softgpu-race
TESTS += tests/unit/test-softgpu-schedule tests/unit/test-softgpu-race
tests_unit_test_softgpu_race_SOURCES = tests/unit/test-softgpu-race.c tests/unit/ptx-test.h
tests_unit_test_softgpu_race_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_race_LDADD = $(PTX_TEST_LINK)
PTX_TEST_COMPILE = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
PTX_TEST_LINK = libptxtest.a $(CMOCKA_LIBS) -lpthread -lm
check_PROGRAMS += tests/unit/test-softgpu-micro
TESTS += tests/unit/test-softgpu-micro
tests_unit_test_softgpu_micro_SOURCES = tests/unit/test-softgpu-micro.c tests/unit/ptx-test.h
tests_unit_test_softgpu_micro_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_micro_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_async_SOURCES = tests/unit/test-softgpu-ptx-async.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_async_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_async_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_paths_SOURCES = tests/unit/test-softgpu-ptx-paths.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_paths_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_paths_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_atomic_SOURCES = tests/unit/test-softgpu-ptx-atomic.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_atomic_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_atomic_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_observe_SOURCES = tests/unit/test-softgpu-observe.c tests/unit/ptx-test.h
tests_unit_test_softgpu_observe_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_observe_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_schedule_SOURCES = tests/unit/test-softgpu-schedule.c tests/unit/ptx-test.h
tests_unit_test_softgpu_schedule_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_schedule_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_tex_fuzz_SOURCES = tests/unit/test-softgpu-tex-fuzz.c
tests_unit_test_softgpu_tex_fuzz_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_tex_fuzz_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_mem_SOURCES = tests/unit/test-softgpu-mem.c
tests_unit_test_softgpu_mem_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_mem_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_insns_SOURCES = tests/unit/test-softgpu-ptx-insns.c tests/unit/ptx-test.h tests/unit/ptx-rows.h
tests_unit_test_softgpu_ptx_insns_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_insns_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_insns_base_SOURCES = tests/unit/test-softgpu-ptx-insns.c tests/unit/ptx-test.h tests/unit/ptx-rows.h
tests_unit_test_softgpu_ptx_insns_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_insns_base_LDADD = $(PTX_TEST_LINK)
check_PROGRAMS += tests/unit/test-softgpu-ptx-forms
TESTS += tests/unit/test-softgpu-ptx-forms
tests_unit_test_softgpu_ptx_forms_SOURCES = tests/unit/test-softgpu-ptx-forms.c tests/unit/ptx-test.h tests/unit/ptx-rows.h
tests_unit_test_softgpu_ptx_forms_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_forms_LDADD = $(PTX_TEST_LINK)
check_PROGRAMS += tests/unit/test-softgpu-ptx-mma
TESTS += tests/unit/test-softgpu-ptx-mma
tests_unit_test_softgpu_ptx_mma_SOURCES = tests/unit/test-softgpu-ptx-mma.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_mma_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_mma_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_variables_SOURCES = tests/unit/test-softgpu-ptx-variables.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_variables_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_variables_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_flow_SOURCES = tests/unit/test-softgpu-ptx-flow.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_flow_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_flow_LDADD = $(PTX_TEST_LINK)
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softgpu-jit
TESTS += tests/unit/test-softgpu-jit tests/unit/test-jit-bits.sh
EXTRA_DIST += tests/unit/test-jit-bits.sh
tests_unit_test_softgpu_jit_SOURCES = tests/unit/test-softgpu-jit.c tests/unit/ptx-test.h
tests_unit_test_softgpu_jit_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_jit_LDADD = $(PTX_TEST_LINK)
endif
if HAVE_CMOCKA
SOFT_TESTS = tests/unit/test-softgpu-cupti tests/unit/test-softgpu-driver tests/unit/test-softgpu-launch \
	tests/unit/test-softgpu-vmm tests/unit/test-softgpu-tex tests/unit/test-softgpu-api
TEST_SOFT_COMPILE = $(AM_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
TEST_SOFT_LINK = $(AM_LDFLAGS) -Wl,-rpath,$(abs_builddir)/softgpu
check_PROGRAMS += $(SOFT_TESTS)
TESTS += $(SOFT_TESTS)
tests_unit_test_softgpu_cupti_SOURCES = tests/unit/test-softgpu-cupti.c
tests_unit_test_softgpu_cupti_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_cupti_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_cupti_LDADD = softgpu/libcupti.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_launch_SOURCES = tests/unit/test-softgpu-launch.c
tests_unit_test_softgpu_launch_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_launch_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_launch_LDADD = softgpu/libcupti.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_vmm_SOURCES = tests/unit/test-softgpu-vmm.c
tests_unit_test_softgpu_vmm_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_vmm_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_vmm_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_api_SOURCES = tests/unit/test-softgpu-api.c
tests_unit_test_softgpu_api_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_api_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_api_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_tex_SOURCES = tests/unit/test-softgpu-tex.c
tests_unit_test_softgpu_tex_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_tex_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_tex_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -lm
tests_unit_test_softgpu_driver_SOURCES = tests/unit/test-softgpu-driver.c
tests_unit_test_softgpu_driver_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_driver_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_driver_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
endif

# --- libcudart.so.13 ----------------------------------------------------------------------------------
HEADERS_TO_CHECK += src/softgpu/rt.h

softgpu_PROGRAMS += softgpu/libcudart.so.13
softgpu_libcudart_so_13_SOURCES = \
	src/softgpu/rt-array.c \
	src/softgpu/rt-copy.c \
	src/softgpu/rt-device.c \
	src/softgpu/rt-error.c \
	src/softgpu/rt-errors.def \
	src/softgpu/rt-func.c \
	src/softgpu/rt-graph.c \
	src/softgpu/rt-launch.c \
	src/softgpu/rt-memory.c \
	src/softgpu/rt-module.c \
	src/softgpu/rt-node.c \
	src/softgpu/rt-pool.c \
	src/softgpu/rt-props.c \
	src/softgpu/rt-refused.c \
	src/softgpu/rt-refused.def \
	src/softgpu/rt-stream.c \
	src/softgpu/rt-tex.c \
	src/softgpu/rt-trace.c \
	src/softgpu/rt.h
softgpu_libcudart_so_13_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS) -O2
softgpu_libcudart_so_13_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcudart.so.13 -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/src/softgpu/rt.map
softgpu_libcudart_so_13_LDADD = softgpu/libcuda.so.1 -lpthread
softgpu_libcudart_so_13_DEPENDENCIES = src/softgpu/rt.map softgpu/libcuda.so.1
EXTRA_DIST += src/softgpu/rt.map

# The same instructions on any driver, for comparing with an NVIDIA GPU.
check_PROGRAMS += tests/programs/ptx-bits
tests_programs_ptx_bits_SOURCES = tests/programs/ptx-bits.c tests/programs/ptx-driver.h
tests_programs_ptx_bits_CFLAGS = -std=gnu11 -g $(WARN_CFLAGS)
tests_programs_ptx_bits_LDFLAGS =
tests_programs_ptx_bits_LDADD = -ldl
check_PROGRAMS += tests/programs/ptx-mats
tests_programs_ptx_mats_SOURCES = tests/programs/ptx-mats.c tests/programs/ptx-driver.h
tests_programs_ptx_mats_CFLAGS = -std=gnu11 -g $(WARN_CFLAGS)
tests_programs_ptx_mats_LDFLAGS =
tests_programs_ptx_mats_LDADD = -ldl
TESTS += tests/unit/test-ptx-bits.sh
EXTRA_DIST += tests/unit/test-ptx-bits.sh tests/programs/ptx-bits.h200 tests/programs/ptx-near.h200 tests/programs/ptx-mats.h200

# Its tests: CUDA programs, which nvcc compiles.
RUNTIME_TESTS = tests/unit/softgpu-runtime tests/unit/softgpu-per-thread tests/unit/softgpu-callbacks tests/unit/softgpu-errors \
	tests/unit/softgpu-no-ptx
SUITE_DIR = tests/programs/ptx-suite
SUITE_NAMES = async attention bitonic cholesky control convolution cub_block cub_device cub_sort curand fft groups groups_reduce \
	hashtable heap histogram intrinsics jacobi language layernorm libcu maths matmul montecarlo nbody numbers pagerank peers \
	radixsort reduce scan softmax spmv texture thrust topk transpose wmma
SUITE = $(addprefix $(SUITE_DIR)/,$(SUITE_NAMES))
TESTS += tests/unit/test-softgpu-runtime.py tests/unit/test-ptx-suite.py tests/unit/test-tex-bits.sh
EXTRA_DIST += tests/unit/test-softgpu-runtime.py tests/unit/test-ptx-suite.py tests/unit/softgpu-errors.expected \
	$(RUNTIME_TESTS:=.cu) $(SUITE_DIR)/suite.h $(SUITE:=.cu)
EXTRA_DIST += tests/unit/test-tex-bits.sh tests/programs/tex-bits.cu tests/programs/tex-bits.h200
if HAVE_NVCC
check_SCRIPTS += $(RUNTIME_TESTS) $(SUITE) tests/programs/tex-bits
CLEANFILES += $(RUNTIME_TESTS) $(SUITE) tests/programs/tex-bits
SOFT_NVCC = $(NVCC) -std=c++17 -cudart shared -gencode arch=compute_75,code=compute_75
# These need the PTX of a newer architecture.
$(SUITE_DIR)/async $(SUITE_DIR)/numbers: SOFT_NVCC = $(NVCC) -std=c++17 -cudart shared -gencode arch=compute_90,code=compute_90
$(SUITE): $(SUITE_DIR)/%: $(SUITE_DIR)/%.cu $(SUITE_DIR)/suite.h
	@$(MKDIR_P) $(SUITE_DIR)
	$(AM_V_NVCC)$(SOFT_NVCC) -O3 -o $@ $<
tests/programs/tex-bits: tests/programs/tex-bits.cu
	@$(MKDIR_P) tests/programs
	$(AM_V_NVCC)$(SOFT_NVCC) -O2 -o $@ $<
tests/unit/softgpu-runtime: tests/unit/softgpu-runtime.cu softgpu/libcuda.so.1
	@$(MKDIR_P) tests/unit
	$(AM_V_NVCC)$(SOFT_NVCC) -O1 -o $@ $< -Xlinker softgpu/libcuda.so.1
tests/unit/softgpu-per-thread: tests/unit/softgpu-per-thread.cu
	@$(MKDIR_P) tests/unit
	$(AM_V_NVCC)$(SOFT_NVCC) -O1 --default-stream per-thread -o $@ $<
tests/unit/softgpu-callbacks: tests/unit/softgpu-callbacks.cu softgpu/libcupti.so.13
	@$(MKDIR_P) tests/unit
	$(AM_V_NVCC)$(SOFT_NVCC) $(CUDA_CFLAGS:-isystem%=-I%) -O1 -o $@ $< -Xlinker softgpu/libcupti.so.13
tests/unit/softgpu-errors: tests/unit/softgpu-errors.cu
	@$(MKDIR_P) tests/unit
	$(AM_V_NVCC)$(SOFT_NVCC) -O1 -o $@ $<
tests/unit/softgpu-no-ptx: tests/unit/softgpu-no-ptx.cu
	@$(MKDIR_P) tests/unit
	$(AM_V_NVCC)$(NVCC) -O1 -cudart shared -gencode arch=compute_75,code=sm_75 -o $@ $<
endif
endif
