# SPDX-License-Identifier: Apache-2.0
#
# The corpus of races: pairs of a racy program and a fixed one. A new one is a file here, its name in RACES, and its line in races.cu.

RACES = missing_event_wait recorded_too_early recorded_again recorded_once wrong_event wrong_stream waited_too_late \
	query_ignored diamond double_buffer write_after_read pool_reused tiles_overlap rounded_up_grid counter_read default_stream \
	memset_on_stream_0 copy_on_stream_0 pageable_is_staged pageable_copy_returns symbol_copy_returns pinned_reused host_writes_early host_memory_relayed \
	host_reads_early copied_to_again results_of_two_streams flag_of_the_host halves_of_a_page half_copied words_in_between host_function peer_copy used_after_free freed_then_used freed_too_early used_before_alloc graph_edge \
	two_graphs graph_and_stream graph_fills bins_beside woven float_sum shared_memory sync_warp flag_without_fence blocks_overlap lost_update \
	uninitialised uninitialised_tail out_of_order_reduction
RACES_FILES = tests/races/race.h tests/races/races.cu $(RACES:%=tests/races/%.cu)
# Those of programmatic dependent launches: a file in dependent/, its name here, and its line in dependent/dependent.cu.
DEPENDENT = no_wait one_role_waits one_thread_waits some_blocks_wait early_metadata copied_early trigger_before_store \
	overwritten_early counted_early scratch_reused chain_of_three middle_triggers_first two_behind never_triggers wait_by_pointer told_by_flag attribute_event captured_launch programmatic_edge
DEPENDENT_FILES = tests/races/race.h tests/races/dependent/dependent.h tests/races/dependent/dependent.cu $(DEPENDENT:%=tests/races/dependent/%.cu)
EXTRA_DIST += tests/races/hip.sh tests/races/run.py tests/races/trials.py $(RACES_FILES) $(DEPENDENT_FILES)

if HAVE_NVCC
check_SCRIPTS += tests/races/races tests/races/dependent-launches
CLEANFILES += tests/races/races tests/races/dependent-launches
tests/races/dependent-launches: $(DEPENDENT_FILES) examples/check.h
	@$(MKDIR_P) tests/races
	$(AM_V_NVCC)$(NVCC) $(subst compute_75,compute_90,$(PROGRAM_FLAGS)) -cudart shared -o $@ $(srcdir)/tests/races/dependent/dependent.cu
TESTS += tests/races/run.py tests/races/trials.py
tests/races/races: $(RACES_FILES) examples/check.h
	@$(MKDIR_P) tests/races
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS) -cudart shared -o $@ $(srcdir)/tests/races/races.cu
endif

# The corpus compiled as HIP, on the software AMD GPU.
if HAVE_HIPCC
check_SCRIPTS += tests/races/races-hip
CLEANFILES += tests/races/races-hip
tests/races/races-hip: $(RACES_FILES) examples/check.h $(HIP_RENAMES)
	@$(MKDIR_P) tests/races
	$(AM_V_GEN)$(HIP_TWIN) -o $@ $(srcdir)/tests/races/races.cu
TESTS += tests/races/hip.sh
races-hip: all tests/races/races-hip
	TSDB_SRC=$(srcdir) TSDB_BUILD=$(abs_builddir) RACES_HIP='*' $(srcdir)/tests/races/hip.sh
.PHONY: races-hip
endif
