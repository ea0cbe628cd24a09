/* SPDX-License-Identifier: Apache-2.0
 *
 * The corpus as one program: races NAME [fixed]. Without arguments it lists name, and both ends of the pair that has to be named.
 */
#include "race.h"
#include "missing_event_wait.cu"
#include "recorded_too_early.cu"
#include "recorded_again.cu"
#include "recorded_once.cu"
#include "wrong_event.cu"
#include "wrong_stream.cu"
#include "waited_too_late.cu"
#include "query_ignored.cu"
#include "diamond.cu"
#include "double_buffer.cu"
#include "write_after_read.cu"
#include "pool_reused.cu"
#include "tiles_overlap.cu"
#include "counter_read.cu"
#include "default_stream.cu"
#include "memset_on_stream_0.cu"
#include "copy_on_stream_0.cu"
#include "pageable_is_staged.cu"
#include "pinned_reused.cu"
#include "host_writes_early.cu"
#include "host_memory_relayed.cu"
#include "host_reads_early.cu"
#include "host_function.cu"
#include "peer_copy.cu"
#include "used_after_free.cu"
#include "freed_then_used.cu"
#include "freed_too_early.cu"
#include "used_before_alloc.cu"
#include "graph_edge.cu"
#include "two_graphs.cu"
#include "graph_and_stream.cu"
#include "float_sum.cu"
#include "shared_memory.cu"
#include "sync_warp.cu"
#include "flag_without_fence.cu"
#include "blocks_overlap.cu"
#include "lost_update.cu"
#include "uninitialised.cu"
#include "uninitialised_tail.cu"
#include "out_of_order_reduction.cu"

static void list(const struct race *r)
{
	if (!r)
		return;
	list(r->next);
	printf("%s %s %s\n", r->name, r->first, r->second);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		list(race_list);
	for (struct race *r = race_list; r && argc > 1; r = r->next) {
		if (!strcmp(r->name, argv[1])) {
			r->run(argc > 2 && !strcmp(argv[2], "fixed"));
			return 0;
		}
	}
	return argc > 1;
}
