# SPDX-License-Identifier: Apache-2.0
#
# HIP programs for the software AMD GPU. A new one is a file here and its name in HIP_TESTS.

HIP_TESTS = tests/programs/hip/addresses tests/programs/hip/copies tests/programs/hip/device tests/programs/hip/failing tests/programs/hip/fills \
	tests/programs/hip/forks tests/programs/hip/graph tests/programs/hip/histogram tests/programs/hip/loops tests/programs/hip/matrices tests/programs/hip/modules \
	tests/programs/hip/prints tests/programs/hip/reduction tests/programs/hip/threads tests/programs/hip/two_devices tests/programs/hip/two_streams \
	tests/programs/hip/value_waits tests/programs/hip/vectors tests/programs/hip/wild_store
EXTRA_DIST += $(HIP_TESTS:=.hip) tests/programs/hip/hip_check.h tests/programs/hip/module_code.hip
if HAVE_HIPCC
check_SCRIPTS += $(HIP_TESTS) tests/programs/hip/module_code.co
CLEANFILES += $(HIP_TESTS) tests/programs/hip/module_code.co
# For one target: each more is a code object more, and seconds.
HIP_FLAGS = --offload-arch=gfx90a -O1 -g
$(HIP_TESTS): tests/programs/hip/%: tests/programs/hip/%.hip tests/programs/hip/hip_check.h
	@$(MKDIR_P) tests/programs/hip
	$(AM_V_GEN)$(HIPCC) $(HIP_FLAGS) -o $@ $<
tests/programs/hip/module_code.co: tests/programs/hip/module_code.hip
	@$(MKDIR_P) tests/programs/hip
	$(AM_V_GEN)$(HIPCC) $(HIP_FLAGS) --genco -o $@ $<
endif
