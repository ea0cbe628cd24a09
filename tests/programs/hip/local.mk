# SPDX-License-Identifier: Apache-2.0
#
# HIP programs for the software AMD GPU. A new one is a file here and its name in HIP_TESTS.

HIP_TESTS = tests/programs/hip/addresses tests/programs/hip/calls tests/programs/hip/copies tests/programs/hip/device tests/programs/hip/failing tests/programs/hip/faults tests/programs/hip/fills \
	tests/programs/hip/forks tests/programs/hip/graph tests/programs/hip/graph_nodes tests/programs/hip/histogram tests/programs/hip/host_functions tests/programs/hip/launches tests/programs/hip/loops tests/programs/hip/matrices \
	tests/programs/hip/mfma tests/programs/hip/modules tests/programs/hip/prints tests/programs/hip/races tests/programs/hip/reaches tests/programs/hip/reduction \
	tests/programs/hip/slow_streams tests/programs/hip/threads tests/programs/hip/two_devices tests/programs/hip/two_streams tests/programs/hip/value_waits tests/programs/hip/variables \
	tests/programs/hip/vectors tests/programs/hip/waits tests/programs/hip/wild_store tests/programs/hip/workers
EXTRA_DIST += $(HIP_TESTS:=.hip) tests/programs/hip/hip_check.h tests/programs/hip/module_code.hip
# The programs of ptx-suite that compile as HIP. tests/unit/test-hip-suite.py says of each of the others why it does not.
HIP_SUITE_NAMES = bitonic cholesky convolution fft hashtable histogram jacobi language layernorm maths matmul montecarlo nbody pagerank \
	peers radixsort reduce scan softmax spmv topk transpose
HIP_SUITE = $(addprefix tests/programs/hip/suite/,$(HIP_SUITE_NAMES))
HIP_RENAMES = tests/programs/hip/cuda/cuda_as_hip.h tests/programs/hip/cuda/cuda_fp16.h tests/programs/hip/cuda/cuComplex.h \
	tests/programs/hip/cuda/cooperative_groups.h tests/programs/hip/cuda/cuda_runtime.h
# Examples and test programs that have a HIP twin: the same file, compiled as HIP. tests/e2e/cases/twins.py runs CUDA's tests with them.
HIP_EXAMPLE_TWINS = $(addprefix tests/programs/hip/twin/,vecadd matmul pipeline race_demo reduce)
HIP_TEST_TWINS = $(addprefix tests/programs/hip/twin/,graph_random graphs marks nans numbers payload sums)
TESTS += tests/unit/test-hip-suite.py tests/rocm.sh
EXTRA_DIST += tests/rocm.sh
EXTRA_DIST += $(HIP_RENAMES) tests/unit/test-hip-suite.py
if HAVE_HIPCC
check_SCRIPTS += $(HIP_TESTS) tests/programs/hip/module_code.co
CLEANFILES += $(HIP_TESTS) tests/programs/hip/module_code.co
# For one target: each more is a code object more, and seconds.
HIP_FLAGS = --offload-arch=gfx90a -O1 -g $(HIP_PARTS)
# Newer compilers make kernels that take no grid which ends in a smaller workgroup, but with a switch that older ones do not know.
HIP_PARTS =
$(HIP_TESTS): tests/programs/hip/%: tests/programs/hip/%.hip tests/programs/hip/hip_check.h
	@$(MKDIR_P) tests/programs/hip
	$(AM_V_GEN)$(HIPCC) $(HIP_FLAGS) -o $@ $<
tests/programs/hip/module_code.co: tests/programs/hip/module_code.hip
	@$(MKDIR_P) tests/programs/hip
	$(AM_V_GEN)$(HIPCC) $(HIP_FLAGS) --genco -o $@ $<
# What scripts/gpu-check --amd asks a GPU.
check_SCRIPTS += tests/amd/questions
CLEANFILES += tests/amd/questions
tests/amd/questions: tests/amd/questions.hip
	@$(MKDIR_P) tests/amd
	$(AM_V_GEN)$(HIPCC) --offload-arch=gfx90a -O2 -o $@ $< -ldl
check_SCRIPTS += $(HIP_SUITE)
CLEANFILES += $(HIP_SUITE)
# Nothing contracted: the same roundings in the same places as in CUDA's twin. The compiler's shortcut for divisions is left out, since
# LLVM 15 takes the one for 24 bits for a number of 31, too (montecarlo).
HIP_SUITE_FLAGS = --offload-arch=gfx90a -O1 -std=c++17 -ffp-contract=off -mllvm -amdgpu-codegenprepare-disable-idiv-expansion
$(HIP_SUITE): tests/programs/hip/suite/%: tests/programs/ptx-suite/%.cu tests/programs/ptx-suite/suite.h $(HIP_RENAMES)
	@$(MKDIR_P) tests/programs/hip/suite
	$(AM_V_GEN)$(HIPCC) $(HIP_SUITE_FLAGS) -I$(srcdir)/tests/programs/hip/cuda -include cuda_as_hip.h -x hip -o $@ $<
check_SCRIPTS += $(HIP_EXAMPLE_TWINS) $(HIP_TEST_TWINS)
CLEANFILES += $(HIP_EXAMPLE_TWINS) $(HIP_TEST_TWINS)
HIP_TWIN = $(HIPCC) $(HIP_FLAGS) -I$(srcdir)/include -I$(srcdir)/tests/programs/hip/cuda -include cuda_as_hip.h -x hip
$(HIP_EXAMPLE_TWINS): tests/programs/hip/twin/%: examples/%.cu examples/check.h $(HIP_RENAMES)
	@$(MKDIR_P) tests/programs/hip/twin
	$(AM_V_GEN)$(HIP_TWIN) -o $@ $<
$(HIP_TEST_TWINS): tests/programs/hip/twin/%: tests/programs/%.cu tests/programs/gpu.h examples/check.h $(HIP_RENAMES)
	@$(MKDIR_P) tests/programs/hip/twin
	$(AM_V_GEN)$(HIP_TWIN) -o $@ $<
# What the end-to-end tests need: with another HIP, too (tests/rocm.sh).
.PHONY: hip-programs
hip-programs: $(HIP_TESTS) tests/programs/hip/module_code.co $(HIP_EXAMPLE_TWINS) $(HIP_TEST_TWINS) $(HIP_EXAMPLES) tests/amd/questions
endif
# A tool that calls the HSA runtime's handlers late (tests/e2e/cases/hip.py).
EXTRA_DIST += tests/stress/hsa-late.c tests/amd/questions.hip
if HAVE_HIP
check_SCRIPTS += tests/stress/hsa-late.so
CLEANFILES += tests/stress/hsa-late.so
tests/stress/hsa-late.so: tests/stress/hsa-late.c
	@$(MKDIR_P) tests/stress
	$(AM_V_CC)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN_CFLAGS) -O1 -fPIC -shared -o $@ $(srcdir)/tests/stress/hsa-late.c -ldl
endif
