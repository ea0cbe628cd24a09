# SPDX-License-Identifier: Apache-2.0
#
# Room softgpu: the CUDA driver that runs on the CPU. Loaded into other people's programs, so never sanitised.
# Four parts: libsoftptx.a (PTX and the address space), libcuda.so.1, libcupti.so.13, libcudart.so.13.

HEADERS_TO_CHECK += src/softgpu/machine/ptx-barrier.h src/softgpu/machine/ptx-path.h src/softgpu/insns/ptx-async.h src/softgpu/machine/ptx-cluster.h src/softgpu/memory/mem.h src/softgpu/memory/mem-extents.h src/softgpu/memory/mem-held.h src/softgpu/ptx/ptx.h src/softgpu/watch/ptx-observe.h src/softgpu/ptx/ptx-parse.h src/softgpu/machine/ptx-run.h
HEADERS_TO_CHECK += src/softgpu/streams/overlap.h src/softgpu/machine/ptx-depend.h src/softgpu/watch/ptx-race.h src/softgpu/watch/ptx-race-int.h src/softgpu/watch/ptx-access.h src/softgpu/watch/ptx-addressing.h src/softgpu/machine/ptx-schedule.h
HEADERS_TO_CHECK += src/softgpu/insns/ptx-tensor.h src/softgpu/insns/ptx-mma.h
HEADERS_TO_CHECK += src/softgpu/jit/jit.h src/softgpu/machine/ptx-bounds.h src/softgpu/machine/ptx-look.h

# The PTX machine. libptxtest.a is the same for its own tests and the fuzzer: sanitised when they are.
PTX_SOURCES = src/base/patience.h src/base/proc/patience.c src/softgpu/machine/ptx-bounds.h src/softgpu/machine/ptx-bounds.c \
	src/softgpu/memory/mem.c src/softgpu/memory/mem-extents.c src/softgpu/memory/mem-extents.h src/softgpu/memory/mem-held.c src/softgpu/memory/mem-held.h \
	src/softgpu/memory/mem.h \
	src/softgpu/jit/jit.h src/softgpu/jit/jit-host.c \
	src/softgpu/ptx/ptx.h src/softgpu/ptx/ptx-int.h src/softgpu/ptx/ptx-dec.h src/softgpu/machine/ptx-exec.h \
	src/softgpu/insns/ptx-cvt.h src/softgpu/machine/ptx-run.h src/softgpu/watch/ptx-observe.c src/softgpu/watch/ptx-observe.h \
	src/softgpu/watch/ptx-race.c src/softgpu/watch/ptx-race-order.c src/softgpu/watch/ptx-race.h src/softgpu/watch/ptx-race-int.h \
	$(SOFTCORE_SOURCES) src/softgpu/watch/ptx-access.c src/softgpu/watch/ptx-access.h src/softgpu/watch/ptx-addressing.c src/softgpu/watch/ptx-addressing.h src/softgpu/machine/ptx-depend.c src/softgpu/machine/ptx-depend.h src/softgpu/machine/ptx-schedule.c src/softgpu/machine/ptx-schedule.h src/softgpu/ptx/ptx-insns.def \
	src/softgpu/ptx/ptx-lex.c src/softgpu/ptx/ptx-lex.h src/softgpu/ptx/ptx-parse.c src/softgpu/ptx/ptx-parse.h src/softgpu/ptx/ptx-scope.c \
	src/softgpu/ptx/ptx-variable.c src/softgpu/ptx/ptx-function.c src/softgpu/ptx/ptx-module.c src/softgpu/ptx/ptx-shared.c src/softgpu/ptx/ptx-decode.c \
	src/softgpu/ptx/ptx-operand.c src/softgpu/machine/ptx-frame.c \
	src/softgpu/ptx/ptx-table.c src/softgpu/ptx/ptx-cfg.c src/softgpu/insns/ptx-alu.c src/softgpu/insns/ptx-alu-avx2.c \
	src/softgpu/insns/ptx-pred.c src/softgpu/machine/ptx-mem.c src/softgpu/insns/ptx-ldst.c src/softgpu/insns/ptx-cvt.c src/softgpu/insns/ptx-math.c \
	src/softgpu/machine/ptx-look.c src/softgpu/machine/ptx-look.h src/capture/soft-look.h src/softgpu/machine/ptx-stack.c src/softgpu/machine/ptx-path.c src/softgpu/machine/ptx-path.h src/softgpu/machine/ptx-heap.c src/softgpu/insns/ptx-atomic.c src/softgpu/machine/ptx-cluster.c src/softgpu/machine/ptx-cluster.h src/softgpu/insns/ptx-async.c src/softgpu/insns/ptx-async.h src/softgpu/insns/ptx-mbarrier.c \
	src/softgpu/insns/ptx-tex.c src/softgpu/tex/tex.c src/softgpu/tex/tex.h src/softgpu/ptx/ptx-merge.c src/softgpu/ptx/ptx-merge.h \
	src/softgpu/insns/ptx-warp.c src/softgpu/machine/ptx-printf.c src/softgpu/machine/ptx-run.c src/softgpu/machine/ptx-block.c src/softgpu/machine/ptx-barrier.c src/softgpu/machine/ptx-barrier.h src/softgpu/machine/ptx-fault.c src/softgpu/machine/ptx-pool.c
# The microscope: a launch under observation, for tsdb-replayer.
PTX_SOURCES += \
	src/replayer/soft-debug.h src/softgpu/micro/micro.h src/softgpu/micro/micro-session.c src/softgpu/micro/micro-points.c src/softgpu/micro/micro-probe.c src/softgpu/micro/micro-probe.h src/replayer/soft-probe.h src/softgpu/micro/micro-names.c \
	src/softgpu/micro/micro-expr.c src/softgpu/micro/micro-look.c src/softgpu/micro/micro-put.c
HEADERS_TO_CHECK += src/replayer/soft-debug.h src/softgpu/micro/micro.h
# Matrices, halves, the rarer integer instructions.
PTX_SOURCES += \
	src/softgpu/insns/ptx-tensor.c src/softgpu/insns/ptx-tensor.h src/softgpu/insns/ptx-mma.c src/softgpu/insns/ptx-mma.h src/softgpu/insns/ptx-matrix.c \
	src/softgpu/insns/ptx-wmma.c src/softgpu/insns/ptx-half.c src/softgpu/insns/ptx-fp8.c src/softgpu/insns/ptx-field.c src/softgpu/insns/ptx-video.c
# Arithmetic must give the hardware's bits: nothing contracted, nothing reassociated. No -O here: automake puts CFLAGS behind these, and
# a developer's win. The files with loops over lanes raise -O2 to -O3 themselves.
PTX_CFLAGS = -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
EXTRA_LIBRARIES += libptxtest.a
libptxtest_a_SOURCES = $(PTX_SOURCES)
libptxtest_a_CFLAGS = $(AM_CFLAGS) $(PTX_CFLAGS)

# The table of instructions in docs/softgpu.md.
check_PROGRAMS += tests/ptx-coverage
tests_ptx_coverage_SOURCES = src/softgpu/ptx/ptx-coverage.c
tests_ptx_coverage_CFLAGS = $(AM_CFLAGS)
tests_ptx_coverage_LDADD = libptxtest.a -lpthread -lm
TESTS += tests/unit/test-ptx-coverage.sh
EXTRA_DIST += tests/unit/test-ptx-coverage.sh scripts/ptx-coverage
.PHONY: update-coverage
update-coverage: tests/ptx-coverage
	$(srcdir)/scripts/ptx-coverage --update tests/ptx-coverage $(srcdir)/docs/softgpu.md

if HAVE_CUDA
HEADERS_TO_CHECK += src/softgpu/driver/watch.h src/softgpu/driver/soft.h src/softgpu/driver/entry.h src/softgpu/driver/drv.h src/softgpu/graph/drv-graph.h src/softgpu/memory/array.h src/softgpu/tex/tex.h src/softgpu/ptx/ptx-merge.h

# --- PTX: parser, interpreter, worker pool ------------------------------------------------------------
noinst_LIBRARIES += libsoftptx.a
libsoftptx_a_SOURCES = $(PTX_SOURCES)
libsoftptx_a_CFLAGS = $(SO_CFLAGS) $(PTX_CFLAGS)

# --- libcuda.so.1 -------------------------------------------------------------------------------------
# Never unloaded: its threads run until the process ends. Symbols are bound inside, so that a program's own or a
# second driver's cu* functions cannot come in between.
softgpu_PROGRAMS += softgpu/libcuda.so.1
LIBCUDA_SOURCES = \
	src/softgpu/memory/array.h \
	src/softgpu/driver/drv.h \
	src/softgpu/memory/drv-array.c \
	src/softgpu/graph/drv-capture.c \
	src/softgpu/memory/drv-copy.c \
	src/softgpu/driver/drv-ctx.c \
	src/softgpu/driver/drv-device.c \
	src/softgpu/driver/drv-entry.c \
	src/softgpu/driver/drv-error.c \
	src/softgpu/streams/drv-event.c \
	src/softgpu/graph/drv-event-node.c \
	src/softgpu/streams/drv-exec.c \
	src/softgpu/streams/drv-overlap.c \
	src/softgpu/streams/overlap.h \
	src/softgpu/graph/drv-exec-graph.c \
	src/softgpu/code/drv-func.c \
	src/softgpu/graph/drv-graph.c \
	src/softgpu/graph/drv-graph-dot.c \
	src/softgpu/graph/drv-graph-mem.c \
	src/softgpu/streams/drv-launch.c \
	src/softgpu/code/drv-library.c \
	src/softgpu/code/drv-link.c \
	src/softgpu/driver/drv-look.c \
	src/softgpu/memory/drv-managed.c \
	src/softgpu/memory/drv-mem.c \
	src/softgpu/streams/drv-memop.c \
	src/softgpu/micro/drv-micro.c \
	src/softgpu/code/drv-image.c src/softgpu/code/drv-module.c \
	src/softgpu/graph/drv-node.c \
	src/softgpu/driver/drv-obj.c \
	src/softgpu/memory/drv-pool.c \
	src/softgpu/driver/drv-refused.c \
	src/softgpu/streams/drv-stream.c \
	src/softgpu/tex/drv-tex.c \
	src/softgpu/graph/drv-user-object.c \
	src/softgpu/memory/drv-ipc.c src/softgpu/memory/drv-vmm.c \
	src/softgpu/driver/drv-watch.c \
	src/softgpu/driver/drv-workspace.c \
	src/softgpu/driver/entry.h \
	src/gpucode/images/fatbin.c src/gpucode/fatbin.h \
	src/gpucode/images/fatbin-text.c src/gpucode/fatbin-text.h \
	src/softgpu/graph/drv-graph.h \
	src/softgpu/driver/soft.h \
	src/softgpu/driver/watch.h
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
JIT_SOURCES = src/softgpu/jit/jit-alu.c src/softgpu/jit/jit-move.c src/softgpu/jit/jit-value.h src/softgpu/jit/jit-emit.c src/softgpu/jit/jit-int.h src/softgpu/jit/jit-llvm.c src/softgpu/jit/jit-mem.c \
	src/softgpu/jit/jit-region.c
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
	src/softgpu/cupti/cupti-activity.c \
	src/softgpu/cupti/cupti-callback.c \
	src/softgpu/cupti/cupti-int.h \
	src/softgpu/cupti/cupti-query.c
nodist_softgpu_libcupti_so_13_SOURCES = \
	softgpu/cupti-driver-names.inc \
	softgpu/cupti-runtime-names.inc
softgpu_libcupti_so_13_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS)
softgpu_libcupti_so_13_CFLAGS = $(SO_CFLAGS) -O2 -g
softgpu_libcupti_so_13_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcupti.so.13 -Wl,-rpath,'$$ORIGIN' -Wl,-z,nodelete -Wl,-Bsymbolic
softgpu_libcupti_so_13_LDADD = -lpthread -ldl
HEADERS_TO_CHECK += src/softgpu/cupti/cupti-int.h

# The names of the callback ids, from the toolkit's own headers: "[307] = "cuLaunchKernel","
CUPTI_NAMES = $(MKDIR_P) softgpu && printf '\#include <%s>\n' $$header | $(CC) $(CUDA_CFLAGS) -E - | \
	$(SED) -n 's/^ *CUPTI_[A-Z]*_TRACE_CBID_\(cu[A-Za-z0-9_]*\) *= *\([0-9]*\),*$$/\t[\2] = "\1",/p' >$@.new && \
	test -s $@.new && mv $@.new $@
softgpu/cupti-driver-names.inc: Makefile
	@header=cupti_driver_cbid.h; $(CUPTI_NAMES)
softgpu/cupti-runtime-names.inc: Makefile
	@header=cupti_runtime_cbid.h; $(CUPTI_NAMES)
src/softgpu/cupti/softgpu_libcupti_so_13-cupti-callback.$(OBJEXT): softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc
BUILT_SOURCES += softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc
CLEANFILES += softgpu/cupti-driver-names.inc softgpu/cupti-runtime-names.inc

# --- tests of the driver and CUPTI: C programs linked to the libraries as they were built ---------------
EXTRA_DIST += tests/unit/locks-held.h
if HAVE_CMOCKA
PTX_TESTS = tests/unit/test-softgpu-mem tests/unit/test-softgpu-extents tests/unit/test-softgpu-tex-fuzz tests/unit/test-softgpu-tex-model tests/unit/test-softgpu-ptx-barriers tests/unit/test-softgpu-ptx-insns tests/unit/test-softgpu-ptx-insns-base tests/unit/test-softgpu-ptx-variables tests/unit/test-softgpu-ptx-flow \
	tests/unit/test-softgpu-observe tests/unit/test-softgpu-addressing tests/unit/test-softgpu-ptx-async \
	tests/unit/test-softgpu-ptx-atomic tests/unit/test-softgpu-ptx-refused tests/unit/test-softgpu-ptx-paths \
	tests/unit/test-softgpu-ptx-ops tests/unit/test-softgpu-ptx-ops-base tests/unit/test-softgpu-ptx-text \
	tests/unit/test-softgpu-ptx-operands tests/unit/test-softgpu-ptx-merge tests/unit/test-softgpu-printf tests/unit/test-softgpu-ptx-registers tests/unit/test-softgpu-ptx-limits \
	tests/unit/test-softgpu-ptx-graphs tests/unit/test-softgpu-ptx-grids tests/unit/test-softgpu-ptx-faults tests/unit/test-softgpu-ptx-stack tests/unit/test-softgpu-mem-limits tests/unit/test-softgpu-tensor \
	tests/unit/test-softgpu-ptx-families tests/unit/test-softgpu-ptx-families-base tests/unit/test-softgpu-workers
check_PROGRAMS += $(PTX_TESTS)
TESTS += $(PTX_TESTS)
check_PROGRAMS += tests/unit/test-softgpu-schedule tests/unit/test-softgpu-race tests/unit/test-softgpu-race-model
TESTS += tests/unit/test-softgpu-schedule tests/unit/test-softgpu-race tests/unit/test-softgpu-race-model
tests_unit_test_softgpu_race_model_SOURCES = tests/unit/test-softgpu-race-model.c tests/unit/ptx-test.h
tests_unit_test_softgpu_race_model_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_race_model_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_printf_SOURCES = tests/unit/test-softgpu-printf.c tests/unit/ptx-test.h
tests_unit_test_softgpu_printf_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_printf_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_race_SOURCES = tests/unit/test-softgpu-race.c tests/unit/ptx-test.h
tests_unit_test_softgpu_race_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_race_LDADD = $(PTX_TEST_LINK)
PTX_TEST_COMPILE = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
PTX_TEST_LINK = libptxtest.a $(CMOCKA_LIBS) -lpthread -lm
check_PROGRAMS += tests/unit/test-softgpu-micro tests/unit/test-softgpu-micro-expr tests/unit/test-softgpu-micro-put
TESTS += tests/unit/test-softgpu-micro tests/unit/test-softgpu-micro-expr tests/unit/test-softgpu-micro-put
tests_unit_test_softgpu_micro_put_SOURCES = tests/unit/test-softgpu-micro-put.c
tests_unit_test_softgpu_micro_put_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_micro_put_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_micro_expr_SOURCES = tests/unit/test-softgpu-micro-expr.c
tests_unit_test_softgpu_micro_expr_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_micro_expr_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_micro_SOURCES = tests/unit/test-softgpu-micro.c tests/unit/ptx-test.h
tests_unit_test_softgpu_micro_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_micro_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_async_SOURCES = tests/unit/test-softgpu-ptx-async.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_async_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_async_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_paths_SOURCES = tests/unit/test-softgpu-ptx-paths.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_paths_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_paths_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_refused_SOURCES = tests/unit/test-softgpu-ptx-refused.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_refused_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_refused_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_ops_SOURCES = tests/unit/test-softgpu-ptx-ops.c tests/unit/ptx-test.h tests/unit/ptx-rows.h
tests_unit_test_softgpu_ptx_ops_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_ops_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_ops_base_SOURCES = tests/unit/test-softgpu-ptx-ops.c tests/unit/ptx-test.h tests/unit/ptx-rows.h
tests_unit_test_softgpu_ptx_ops_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_ops_base_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_operands_SOURCES = tests/unit/test-softgpu-ptx-operands.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_operands_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_operands_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_workers_SOURCES = tests/unit/test-softgpu-workers.c tests/unit/ptx-test.h
tests_unit_test_softgpu_workers_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_workers_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_families_SOURCES = tests/unit/test-softgpu-ptx-families.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_families_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_families_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_families_base_SOURCES = tests/unit/test-softgpu-ptx-families.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_families_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_families_base_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_limits_SOURCES = tests/unit/test-softgpu-ptx-limits.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_limits_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_limits_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_registers_SOURCES = tests/unit/test-softgpu-ptx-registers.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_registers_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_registers_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_graphs_SOURCES = tests/unit/test-softgpu-ptx-graphs.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_graphs_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_graphs_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_grids_SOURCES = tests/unit/test-softgpu-ptx-grids.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_grids_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_grids_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_faults_SOURCES = tests/unit/test-softgpu-ptx-faults.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_faults_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_faults_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_stack_SOURCES = tests/unit/test-softgpu-ptx-stack.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_stack_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_stack_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_mem_limits_SOURCES = tests/unit/test-softgpu-mem-limits.c
tests_unit_test_softgpu_mem_limits_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_mem_limits_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_tensor_SOURCES = tests/unit/test-softgpu-tensor.c
tests_unit_test_softgpu_tensor_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_tensor_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_merge_SOURCES = tests/unit/test-softgpu-ptx-merge.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_merge_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_merge_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_text_SOURCES = tests/unit/test-softgpu-ptx-text.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_text_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_text_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_atomic_SOURCES = tests/unit/test-softgpu-ptx-atomic.c tests/unit/ptx-test.h
tests_unit_test_softgpu_ptx_atomic_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_atomic_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_addressing_SOURCES = tests/unit/test-softgpu-addressing.c tests/unit/ptx-test.h
tests_unit_test_softgpu_addressing_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_addressing_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_observe_SOURCES = tests/unit/test-softgpu-observe.c tests/unit/ptx-test.h
tests_unit_test_softgpu_observe_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_observe_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_schedule_SOURCES = tests/unit/test-softgpu-schedule.c tests/unit/ptx-test.h
tests_unit_test_softgpu_schedule_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_schedule_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_barriers_SOURCES = tests/unit/test-softgpu-ptx-barriers.c
tests_unit_test_softgpu_ptx_barriers_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_barriers_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_tex_model_SOURCES = tests/unit/test-softgpu-tex-model.c
tests_unit_test_softgpu_tex_model_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_tex_model_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_tex_fuzz_SOURCES = tests/unit/test-softgpu-tex-fuzz.c
tests_unit_test_softgpu_tex_fuzz_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_tex_fuzz_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_extents_SOURCES = tests/unit/test-softgpu-extents.c
tests_unit_test_softgpu_extents_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_extents_LDADD = $(PTX_TEST_LINK)
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
# The same forms by the interpreter's two sets of handlers and by the compiler.
FORM_TESTS = tests/unit/test-softgpu-ptx-integers tests/unit/test-softgpu-ptx-integers-base tests/unit/test-softgpu-jit-integers \
	tests/unit/test-softgpu-ptx-floats tests/unit/test-softgpu-ptx-floats-base tests/unit/test-softgpu-jit-floats \
	tests/unit/test-softgpu-ptx-shapes tests/unit/test-softgpu-ptx-shapes-base tests/unit/test-softgpu-jit-shapes \
	tests/unit/test-softgpu-ptx-lanes tests/unit/test-softgpu-jit-lanes \
	tests/unit/test-softgpu-ptx-programs tests/unit/test-softgpu-jit-programs tests/unit/test-softgpu-jit-grids \
	tests/unit/test-softgpu-jit-faults
check_PROGRAMS += $(FORM_TESTS)
TESTS += $(FORM_TESTS)
EXTRA_DIST += tests/unit/ptx-forms.h tests/unit/counted-handlers.h
tests_unit_test_softgpu_ptx_integers_SOURCES = tests/unit/test-softgpu-ptx-integers.c
tests_unit_test_softgpu_ptx_integers_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_integers_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_integers_base_SOURCES = tests/unit/test-softgpu-ptx-integers.c
tests_unit_test_softgpu_ptx_integers_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_integers_base_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_integers_SOURCES = tests/unit/test-softgpu-ptx-integers.c
tests_unit_test_softgpu_jit_integers_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_integers_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_floats_SOURCES = tests/unit/test-softgpu-ptx-floats.c
tests_unit_test_softgpu_ptx_floats_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_floats_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_floats_base_SOURCES = tests/unit/test-softgpu-ptx-floats.c
tests_unit_test_softgpu_ptx_floats_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_floats_base_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_floats_SOURCES = tests/unit/test-softgpu-ptx-floats.c
tests_unit_test_softgpu_jit_floats_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_floats_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_shapes_SOURCES = tests/unit/test-softgpu-ptx-shapes.c
tests_unit_test_softgpu_ptx_shapes_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_shapes_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_shapes_base_SOURCES = tests/unit/test-softgpu-ptx-shapes.c
tests_unit_test_softgpu_ptx_shapes_base_CFLAGS = $(PTX_TEST_COMPILE) -DNO_AVX2
tests_unit_test_softgpu_ptx_shapes_base_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_shapes_SOURCES = tests/unit/test-softgpu-ptx-shapes.c
tests_unit_test_softgpu_jit_shapes_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_shapes_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_lanes_SOURCES = tests/unit/test-softgpu-ptx-lanes.c
tests_unit_test_softgpu_ptx_lanes_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_lanes_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_grids_SOURCES = tests/unit/test-softgpu-ptx-grids.c
tests_unit_test_softgpu_jit_grids_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_grids_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_faults_SOURCES = tests/unit/test-softgpu-ptx-faults.c
tests_unit_test_softgpu_jit_faults_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_faults_LDADD = $(PTX_TEST_LINK)
# The same under an observer that does not mind, and in turns of random length.
OTHERWISE_TESTS = tests/unit/test-softgpu-ptx-atomic-watched tests/unit/test-softgpu-ptx-shapes-watched tests/unit/test-softgpu-ptx-async-watched \
	tests/unit/test-softgpu-ptx-flow-watched tests/unit/test-softgpu-ptx-mma-watched tests/unit/test-softgpu-ptx-insns-watched \
	tests/unit/test-softgpu-ptx-shapes-random tests/unit/test-softgpu-ptx-async-random tests/unit/test-softgpu-ptx-lanes-random
check_PROGRAMS += $(OTHERWISE_TESTS)
TESTS += $(OTHERWISE_TESTS)
tests_unit_test_softgpu_ptx_atomic_watched_SOURCES = tests/unit/test-softgpu-ptx-atomic.c
tests_unit_test_softgpu_ptx_atomic_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_atomic_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_shapes_watched_SOURCES = tests/unit/test-softgpu-ptx-shapes.c
tests_unit_test_softgpu_ptx_shapes_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_shapes_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_async_watched_SOURCES = tests/unit/test-softgpu-ptx-async.c
tests_unit_test_softgpu_ptx_async_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_async_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_flow_watched_SOURCES = tests/unit/test-softgpu-ptx-flow.c
tests_unit_test_softgpu_ptx_flow_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_flow_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_mma_watched_SOURCES = tests/unit/test-softgpu-ptx-mma.c
tests_unit_test_softgpu_ptx_mma_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_mma_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_insns_watched_SOURCES = tests/unit/test-softgpu-ptx-insns.c
tests_unit_test_softgpu_ptx_insns_watched_CFLAGS = $(PTX_TEST_COMPILE) -DOBSERVED
tests_unit_test_softgpu_ptx_insns_watched_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_shapes_random_SOURCES = tests/unit/test-softgpu-ptx-shapes.c
tests_unit_test_softgpu_ptx_shapes_random_CFLAGS = $(PTX_TEST_COMPILE) -DRANDOM
tests_unit_test_softgpu_ptx_shapes_random_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_async_random_SOURCES = tests/unit/test-softgpu-ptx-async.c
tests_unit_test_softgpu_ptx_async_random_CFLAGS = $(PTX_TEST_COMPILE) -DRANDOM
tests_unit_test_softgpu_ptx_async_random_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_lanes_random_SOURCES = tests/unit/test-softgpu-ptx-lanes.c
tests_unit_test_softgpu_ptx_lanes_random_CFLAGS = $(PTX_TEST_COMPILE) -DRANDOM
tests_unit_test_softgpu_ptx_lanes_random_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_lanes_SOURCES = tests/unit/test-softgpu-ptx-lanes.c
tests_unit_test_softgpu_jit_lanes_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_lanes_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_ptx_programs_SOURCES = tests/unit/test-softgpu-ptx-programs.c
tests_unit_test_softgpu_ptx_programs_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_ptx_programs_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_programs_SOURCES = tests/unit/test-softgpu-ptx-programs.c
tests_unit_test_softgpu_jit_programs_CFLAGS = $(PTX_TEST_COMPILE) -DCOMPILED
tests_unit_test_softgpu_jit_programs_LDADD = $(PTX_TEST_LINK)
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softgpu-jit tests/unit/test-softgpu-jit-calls
TESTS += tests/unit/test-softgpu-jit tests/unit/test-softgpu-jit-calls tests/unit/test-jit-bits.sh
check_PROGRAMS += tests/unit/test-softgpu-jit-queue
TESTS += tests/unit/test-softgpu-jit-queue
tests_unit_test_softgpu_jit_queue_SOURCES = tests/unit/test-softgpu-jit-queue.c tests/unit/ptx-test.h
tests_unit_test_softgpu_jit_queue_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_jit_queue_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dlopen -Wl,--wrap=dlsym -Wl,--wrap=clock_gettime
tests_unit_test_softgpu_jit_queue_LDADD = $(PTX_TEST_LINK)
EXTRA_DIST += tests/unit/test-jit-bits.sh
tests_unit_test_softgpu_jit_SOURCES = tests/unit/test-softgpu-jit.c tests/unit/ptx-test.h
tests_unit_test_softgpu_jit_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_jit_LDADD = $(PTX_TEST_LINK)
tests_unit_test_softgpu_jit_calls_SOURCES = tests/unit/test-softgpu-jit-calls.c tests/unit/ptx-test.h
tests_unit_test_softgpu_jit_calls_CFLAGS = $(PTX_TEST_COMPILE)
tests_unit_test_softgpu_jit_calls_LDADD = $(PTX_TEST_LINK)
endif
if HAVE_CMOCKA
SOFT_TESTS = tests/unit/test-softgpu-look tests/unit/test-softgpu-cupti tests/unit/test-softgpu-driver tests/unit/test-softgpu-launch \
	tests/unit/test-softgpu-vmm tests/unit/test-softgpu-tex tests/unit/test-softgpu-api tests/unit/test-softgpu-nodes \
	tests/unit/test-softgpu-locks tests/unit/test-softgpu-ipc tests/unit/test-softgpu-watch \
	tests/unit/test-softgpu-func tests/unit/test-softgpu-context tests/unit/test-softgpu-streams tests/unit/test-softgpu-graphs \
	tests/unit/test-softgpu-names tests/unit/test-softgpu-memory tests/unit/test-softgpu-probe tests/unit/test-softgpu-prints \
	tests/unit/test-softgpu-overlap tests/unit/test-softgpu-activity
TEST_SOFT_COMPILE = $(AM_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
TEST_SOFT_LINK = $(AM_LDFLAGS) -Wl,-rpath,$(abs_builddir)/softgpu
check_PROGRAMS += $(SOFT_TESTS)
TESTS += $(SOFT_TESTS)
tests_unit_test_softgpu_func_SOURCES = tests/unit/test-softgpu-func.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_func_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_func_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_func_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_context_SOURCES = tests/unit/test-softgpu-context.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_context_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_context_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_context_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_streams_SOURCES = tests/unit/test-softgpu-streams.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_streams_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_streams_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_streams_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_graphs_SOURCES = tests/unit/test-softgpu-graphs.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_graphs_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_graphs_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_graphs_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_names_SOURCES = tests/unit/test-softgpu-names.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_names_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_names_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_names_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_memory_SOURCES = tests/unit/test-softgpu-memory.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_memory_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_memory_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_memory_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_cupti_SOURCES = tests/unit/test-softgpu-cupti.c
tests_unit_test_softgpu_cupti_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_cupti_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_cupti_LDADD = softgpu/libcupti.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_activity_SOURCES = tests/unit/test-softgpu-activity.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_activity_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_activity_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_activity_LDADD = softgpu/libcupti.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_look_SOURCES = tests/unit/test-softgpu-look.c
tests_unit_test_softgpu_look_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_look_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_look_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
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
check_PROGRAMS += tests/unit/test-softgpu-versions tests/unit/test-softgpu-one-wrong tests/unit/test-softgpu-copies \
	tests/unit/test-softgpu-graph-model tests/unit/test-softgpu-stream-model tests/unit/test-softgpu-recorded tests/unit/test-softgpu-answers tests/unit/test-softgpu-surfaces
TESTS += tests/unit/test-softgpu-versions tests/unit/test-softgpu-one-wrong tests/unit/test-softgpu-copies \
	tests/unit/test-softgpu-graph-model tests/unit/test-softgpu-stream-model tests/unit/test-softgpu-recorded tests/unit/test-softgpu-answers tests/unit/test-softgpu-surfaces
EXTRA_DIST += tests/unit/thread-signals.h
tests_unit_test_softgpu_surfaces_SOURCES = tests/unit/test-softgpu-surfaces.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_surfaces_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_surfaces_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_surfaces_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_answers_SOURCES = tests/unit/test-softgpu-answers.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_answers_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_answers_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_answers_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_recorded_SOURCES = tests/unit/test-softgpu-recorded.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_recorded_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_recorded_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_recorded_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_graph_model_SOURCES = tests/unit/test-softgpu-graph-model.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_graph_model_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_graph_model_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_graph_model_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_stream_model_SOURCES = tests/unit/test-softgpu-stream-model.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_stream_model_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_stream_model_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_stream_model_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_copies_SOURCES = tests/unit/test-softgpu-copies.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_copies_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_copies_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_copies_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl
tests_unit_test_softgpu_one_wrong_SOURCES = tests/unit/test-softgpu-one-wrong.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_one_wrong_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_one_wrong_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_one_wrong_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl
tests_unit_test_softgpu_versions_SOURCES = tests/unit/test-softgpu-versions.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_versions_CFLAGS = $(TEST_SOFT_COMPILE) -DCUDA_HEADERS='"$(CUDA_CFLAGS)"'
tests_unit_test_softgpu_versions_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_versions_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl
tests_unit_test_softgpu_nodes_SOURCES = tests/unit/test-softgpu-nodes.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_nodes_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_nodes_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_nodes_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_locks_SOURCES = tests/unit/test-softgpu-locks.c
tests_unit_test_softgpu_locks_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_locks_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_locks_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_watch_SOURCES = tests/unit/test-softgpu-watch.c
tests_unit_test_softgpu_watch_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_watch_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_watch_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl
tests_unit_test_softgpu_prints_SOURCES = tests/unit/test-softgpu-prints.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_prints_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_prints_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_prints_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl
tests_unit_test_softgpu_probe_SOURCES = tests/unit/test-softgpu-probe.c
tests_unit_test_softgpu_probe_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_probe_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_probe_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -ldl -lm
tests_unit_test_softgpu_overlap_SOURCES = tests/unit/test-softgpu-overlap.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_overlap_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_overlap_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_overlap_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
tests_unit_test_softgpu_ipc_SOURCES = tests/unit/test-softgpu-ipc.c
tests_unit_test_softgpu_ipc_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_ipc_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_ipc_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS)
tests_unit_test_softgpu_driver_SOURCES = tests/unit/test-softgpu-driver.c
tests_unit_test_softgpu_driver_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_driver_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_driver_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
endif

# --- libcudart.so.13 ----------------------------------------------------------------------------------
HEADERS_TO_CHECK += src/softgpu/runtime/rt.h

softgpu_PROGRAMS += softgpu/libcudart.so.13
softgpu_libcudart_so_13_SOURCES = \
	src/softgpu/runtime/rt-array.c \
	src/softgpu/runtime/rt-copy.c \
	src/softgpu/runtime/rt-device.c \
	src/softgpu/runtime/rt-error.c \
	src/softgpu/runtime/rt-errors.def \
	src/softgpu/runtime/rt-func.c \
	src/softgpu/runtime/rt-graph.c \
	src/softgpu/runtime/rt-launch.c \
	src/softgpu/runtime/rt-memory.c \
	src/softgpu/runtime/rt-module.c \
	src/softgpu/runtime/rt-node.c \
	src/softgpu/runtime/rt-pool.c \
	src/softgpu/runtime/rt-props.c \
	src/softgpu/runtime/rt-refused.c \
	src/softgpu/runtime/rt-refused.def \
	src/softgpu/runtime/rt-stream.c \
	src/softgpu/runtime/rt-tex.c \
	src/softgpu/runtime/rt-trace.c \
	src/softgpu/runtime/rt.h
softgpu_libcudart_so_13_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS) -O2
softgpu_libcudart_so_13_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcudart.so.13 -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/src/softgpu/runtime/rt.map
softgpu_libcudart_so_13_LDADD = softgpu/libcuda.so.1 -lpthread
softgpu_libcudart_so_13_DEPENDENCIES = src/softgpu/runtime/rt.map softgpu/libcuda.so.1
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softgpu-runtime-calls
TESTS += tests/unit/test-softgpu-runtime-calls
tests_unit_test_softgpu_runtime_calls_SOURCES = tests/unit/test-softgpu-runtime-calls.c
tests_unit_test_softgpu_runtime_calls_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_runtime_calls_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_runtime_calls_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
check_PROGRAMS += tests/unit/test-softgpu-short-of-memory
TESTS += tests/unit/test-softgpu-short-of-memory
tests_unit_test_softgpu_short_of_memory_SOURCES = tests/unit/test-softgpu-short-of-memory.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_short_of_memory_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_short_of_memory_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_short_of_memory_LDADD = softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread -ldl
check_PROGRAMS += tests/unit/test-softgpu-runtime-nodes tests/unit/test-softgpu-runtime-rest tests/unit/test-softgpu-runtime-modules
TESTS += tests/unit/test-softgpu-runtime-nodes tests/unit/test-softgpu-runtime-rest tests/unit/test-softgpu-runtime-modules
tests_unit_test_softgpu_runtime_modules_SOURCES = tests/unit/test-softgpu-runtime-modules.c
tests_unit_test_softgpu_runtime_modules_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_runtime_modules_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_runtime_modules_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_runtime_nodes_SOURCES = tests/unit/test-softgpu-runtime-nodes.c
tests_unit_test_softgpu_runtime_nodes_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_runtime_nodes_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_runtime_nodes_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_runtime_rest_SOURCES = tests/unit/test-softgpu-runtime-rest.c
tests_unit_test_softgpu_runtime_rest_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_runtime_rest_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_runtime_rest_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
check_PROGRAMS += tests/unit/test-softgpu-both-ways tests/unit/test-softgpu-asked-back tests/unit/test-softgpu-array-copies
TESTS += tests/unit/test-softgpu-both-ways tests/unit/test-softgpu-asked-back tests/unit/test-softgpu-array-copies
tests_unit_test_softgpu_array_copies_SOURCES = tests/unit/test-softgpu-array-copies.c tests/unit/softgpu-test.h
tests_unit_test_softgpu_array_copies_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_array_copies_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_array_copies_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_asked_back_SOURCES = tests/unit/test-softgpu-asked-back.c
tests_unit_test_softgpu_asked_back_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_asked_back_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_asked_back_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
tests_unit_test_softgpu_both_ways_SOURCES = tests/unit/test-softgpu-both-ways.c
tests_unit_test_softgpu_both_ways_CFLAGS = $(TEST_SOFT_COMPILE)
tests_unit_test_softgpu_both_ways_LDFLAGS = $(TEST_SOFT_LINK)
tests_unit_test_softgpu_both_ways_LDADD = softgpu/libcudart.so.13 softgpu/libcuda.so.1 $(CMOCKA_LIBS) -lpthread
endif
EXTRA_DIST += src/softgpu/runtime/rt.map

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
	$(AM_V_NVCC)$(SOFT_NVCC) -O3 -lineinfo -o $@ $<
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
