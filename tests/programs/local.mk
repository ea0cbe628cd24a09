# SPDX-License-Identifier: Apache-2.0
#
# Tiny programs for the end-to-end tests. A new one is a file here and its name in CUDA_TESTS.

CUDA_TESTS = tests/programs/all_kinds tests/programs/asks_first tests/programs/bad_address tests/programs/batch_copy tests/programs/pitches tests/programs/crash_segv tests/programs/endless tests/programs/execs \
	tests/programs/exit_code tests/programs/exits_early tests/programs/failing_calls tests/programs/forks tests/programs/global_address \
	tests/programs/graphs tests/programs/keeps tests/programs/late tests/programs/late_module tests/programs/late_static_cudart tests/programs/kernel_races tests/programs/kill_self tests/programs/long_running tests/programs/hung tests/programs/many_threads tests/programs/nvtx tests/programs/orders tests/programs/parts tests/programs/pinned_threads tests/programs/reuse tests/programs/signals \
	tests/programs/static_cudart tests/programs/stdin_echo tests/programs/counted tests/programs/sums tests/programs/threads tests/programs/unwritten tests/programs/uses_cupti
CUDA_TESTS += tests/programs/two_devices tests/programs/two_uploads tests/programs/failed_last tests/programs/pinned_freed tests/programs/fault_among tests/programs/fault_kept tests/programs/device_heap tests/programs/texture tests/programs/faults tests/programs/ipc tests/programs/collective
CUDA_TESTS += tests/programs/observed tests/programs/host_writes_again tests/programs/pinned_pages tests/programs/pinned_reach
CUDA_TESTS += tests/programs/handshake tests/programs/mixed_races tests/programs/verdicts tests/programs/value_waits
CUDA_TESTS += tests/programs/prints tests/programs/litmus tests/programs/limits tests/programs/numbers tests/programs/decoder
CUDA_TESTS += tests/programs/shuffles tests/programs/alike tests/programs/marks tests/programs/sample
CUDA_TESTS += tests/programs/variants tests/programs/two_streams tests/programs/arrays tests/programs/arguments tests/programs/namespaces tests/programs/endless_wait tests/programs/freed tests/programs/freed_in_use
CUDA_TESTS += tests/programs/payload tests/programs/host_outputs tests/programs/nans
CUDA_TESTS += tests/programs/grown_array tests/programs/graph_updates tests/programs/graph_memory tests/programs/graph_random tests/programs/conditional tests/programs/function_table tests/programs/moved_addresses
EXTRA_DIST += tests/programs/python_stacks.py tests/programs/python_churn.py tests/programs/gpu.h $(CUDA_TESTS:=.cu) tests/programs/linked.cu tests/programs/linked_part.cu tests/programs/linked_part.cuh tests/programs/debugged.cu

HANG_TESTS = tests/programs/hangs/stuck_gpu tests/programs/hangs/stuck_host tests/programs/hangs/ranks tests/programs/hangs/busy
EXTRA_DIST += $(HANG_TESTS:=.cu) tests/programs/hangs/hangs.h tests/programs/hangs/stuck_python.py tests/programs/hangs/busy_python.py tests/programs/hangs/table.py

check_PROGRAMS += tests/programs/embeds_python
tests_programs_embeds_python_SOURCES = tests/programs/embeds_python.c
tests_programs_embeds_python_CFLAGS = -std=gnu11 -g -O1 -Wno-unused-parameter
tests_programs_embeds_python_LDFLAGS = -pthread
tests_programs_embeds_python_LDADD = -ldl
check_PROGRAMS += tests/programs/no_gpu
tests_programs_no_gpu_SOURCES = tests/programs/no_gpu.c
tests_programs_no_gpu_CFLAGS = -std=gnu11 -g $(WARN_CFLAGS)
tests_programs_no_gpu_LDFLAGS =

check_PROGRAMS += tests/programs/attach-target
tests_programs_attach_target_SOURCES = tests/programs/attach-target.c
tests_programs_attach_target_CFLAGS = -std=gnu11 -g -O2 $(WARN_CFLAGS) -Wno-unused-parameter
tests_programs_attach_target_LDFLAGS = -pthread
tests_programs_attach_target_LDADD = -ldl

check_PROGRAMS += tests/programs/attach-malloc
tests_programs_attach_malloc_SOURCES = tests/programs/attach-malloc.c
tests_programs_attach_malloc_CFLAGS = -std=gnu11 -g -O1 -fno-builtin -fno-optimize-sibling-calls $(WARN_CFLAGS) -Wno-unused-parameter
tests_programs_attach_malloc_LDFLAGS = -pthread

# Loaded into programs by LD_PRELOAD, so never sanitised.
check_SCRIPTS += tests/programs/late-door.so
CLEANFILES += tests/programs/late-door.so
EXTRA_DIST += tests/programs/late-door.c tests/programs/late.h
tests/programs/late-door.so: tests/programs/late-door.c
	@$(MKDIR_P) tests/programs
	$(AM_V_CC)$(CC) -std=gnu11 -g -O1 -fPIC -shared $(WARN_CFLAGS) -o $@ $< -ldl -lpthread

if HAVE_NVCC
# C++14: what CUDA's headers include of C++17 takes a quarter of the time.
PROGRAM_FLAGS = -std=c++14 -I$(srcdir)/include -O1 -g -lineinfo -gencode arch=compute_75,code=compute_75 $(CUDA_CFLAGS:-isystem%=-I%) \
	-Xlinker -rpath=$(CUDA_DIR)/lib64 -Xlinker --enable-new-dtags -ldl
check_SCRIPTS += $(CUDA_TESTS)
CLEANFILES += $(CUDA_TESTS)
tests/programs/late tests/programs/late_module tests/programs/late_static_cudart: tests/programs/late.h
tests/programs/late_static_cudart: tests/programs/late.cu
tests/programs/marks: include/tracesmith/mark.h
$(CUDA_TESTS): tests/programs/%: tests/programs/%.cu tests/programs/gpu.h examples/check.h
	@$(MKDIR_P) tests/programs
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS) -cudart $(if $(findstring static_cudart,$@),static,shared) -o $@ $<
# Programs that are stuck, and busy ones; tests/programs/hangs/table.py says what is what.
check_SCRIPTS += $(HANG_TESTS)
CLEANFILES += $(HANG_TESTS)
$(HANG_TESTS): tests/programs/hangs/%: tests/programs/hangs/%.cu tests/programs/hangs/hangs.h tests/programs/gpu.h examples/check.h
	@$(MKDIR_P) tests/programs/hangs
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS) -cudart shared -o $@ $<
# Relocatable device code. Only machine code that was linked on its own has addresses in its tables.
LINKED_FLAGS = $(PROGRAM_FLAGS:-gencode=-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -gencode) -cudart shared -rdc=true
check_SCRIPTS += tests/programs/function_table_linked
CLEANFILES += tests/programs/function_table_linked
tests/programs/function_table_linked: tests/programs/function_table.cu tests/programs/gpu.h examples/check.h
	@$(MKDIR_P) tests/programs
	$(AM_V_NVCC)$(NVCC) $(LINKED_FLAGS) -o $@ $<
check_SCRIPTS += tests/programs/linked
CLEANFILES += tests/programs/linked
tests/programs/linked: tests/programs/linked.cu tests/programs/linked_part.cu tests/programs/linked_part.cuh tests/programs/gpu.h examples/check.h
	@$(MKDIR_P) tests/programs
	$(AM_V_NVCC)$(NVCC) $(LINKED_FLAGS) -o $@ $(filter %.cu,$^)
# Debug information of kernels.
check_SCRIPTS += tests/programs/debugged
CLEANFILES += tests/programs/debugged
tests/programs/debugged: tests/programs/debugged.cu tests/programs/gpu.h examples/check.h
	@$(MKDIR_P) tests/programs
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS:-lineinfo=-G) -cudart shared -o $@ $<
endif
