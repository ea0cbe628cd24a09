/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands for property tests and the fuzz target: mostly sensible (ids that exist, syncs
 * that end), now and then odd. The same seed gives the same commands.
 */
#ifndef TESTS_RANDOM_CMDS_H
#define TESTS_RANDOM_CMDS_H

#include "cmds.h"

struct random_cmds {
	uint64_t x;	    /* of the generator: xorshift64*, Vigna 2016; never 0 */
	uint64_t seq;	    /* of the next command */
	uint64_t open_sync; /* seq of the sync that has not ended; 0 none */
	uint64_t args[4];   /* what blobs point to */
};

static inline __attribute__((unused)) uint64_t random_below(struct random_cmds *r, uint64_t n)
{
	r->x ^= r->x >> 12;
	r->x ^= r->x << 25;
	r->x ^= r->x >> 27;
	return (r->x * UINT64_C(0x2545f4914f6cdd1d) >> 20) % n;
}

static inline struct sbt_cmd random_object(struct random_cmds *r)
{
	static const uint32_t params[] = {0, 8, 8, 8, 16, 4};
	uint64_t seq = r->seq;

	switch (random_below(r, 14)) {
	case 0:
		return cmd_device(seq, random_below(r, 2), "GPU");
	case 1:
		return cmd_ctx_create(seq, random_below(r, 2), random_below(r, 2) * 10);
	case 2:
		return random_below(r, 40)
			       ? cmd_stream_create(seq, random_below(r, 14), random_below(r, 2))
			       : cmd_ctx_destroy(seq, 1);
	case 3:
		return cmd_stream_destroy(seq, random_below(r, 14));
	case 4:
		return cmd_event_destroy(seq, random_below(r, 10));
	case 5:
		return cmd_module_load(seq, random_below(r, 4));
	case 6:
		return cmd_kernel_def(
			seq, random_below(r, 12), random_below(r, 4), "_Z6kernelPfS_i", params, 3);
	case 7:
		return cmd_capture_begin(seq, random_below(r, 8));
	case 8:
		return cmd_capture_end(seq, random_below(r, 8), random_below(r, 6));
	case 9:
		return cmd_graph_node(seq, random_below(r, 6), random_below(r, 5), SBT_NODE_EMPTY,
			SBT_NO_ID, r->args, random_below(r, 32));
	case 10:
		return cmd_graph_instantiate(seq, 6 + random_below(r, 4), random_below(r, 6));
	case 11:
		return cmd_graph_destroy(seq, random_below(r, 10));
	default:
		return cmd_event_create(seq, random_below(r, 10));
	}
}

static inline struct sbt_cmd random_host(struct random_cmds *r)
{
	uint64_t seq = r->seq, begin = r->open_sync;

	if (begin && random_below(r, 2)) {
		r->open_sync = 0;
		return cmd_sync_end(seq, begin);
	}
	if (random_below(r, 2))
		return random_below(r, 2) ? cmd_query_stream(seq, random_below(r, 8),
						    random_below(r, 2) ? 0 : 600)
					  : cmd_query_event(seq, random_below(r, 10),
						    random_below(r, 2) ? 0 : 600);
	if (!begin)
		r->open_sync = seq;
	switch (random_below(r, 8)) {
	case 0:
		return cmd_sync_ctx(seq);
	case 1:
	case 2:
	case 3:
		return cmd_sync_event(seq, random_below(r, 10));
	default:
		return cmd_sync_stream(seq, random_below(r, 8));
	}
}

static inline struct sbt_cmd random_work(struct random_cmds *r)
{
	uint64_t seq = r->seq, stream = random_below(r, 6),
		 addr = 0x100000 + random_below(r, 64) * 0x1000;
	struct sbt_cmd c;

	switch (random_below(r, 12)) {
	case 0:
		return cmd_event_record(seq, stream, random_below(r, 10));
	case 1:
		return cmd_stream_wait(seq, stream, random_below(r, 10));
	case 2:
		return cmd_alloc(seq, addr, 0x800);
	case 3:
		return cmd_free(seq, addr);
	case 4:
		return cmd_copy(seq, stream, random_below(r, 4), addr, addr + 0x800, 64,
			random_below(r, 8) != 0);
	case 5:
		return cmd_fill(seq, stream, addr, 64);
	case 6:
		return cmd_graph_launch(seq, stream, 6 + random_below(r, 4));
	case 7:
		return cmd_host_func(seq, stream);
	default:
		c = cmd_launch(seq, stream, random_below(r, 12));
		r->args[0] = addr;
		c.u.launch.args = (struct sbt_blob){r->args, sizeof r->args};
		return c;
	}
}

/* The next command; blobs in it live until the next call. */
static inline __attribute__((unused)) struct sbt_cmd random_cmd(struct random_cmds *r)
{
	uint64_t dice = random_below(r, 100);
	struct sbt_cmd c = dice < 15 || r->seq < 20 ? random_object(r)
			   : dice < 25		    ? random_host(r)
						    : random_work(r);

	c.thread = 1 + (uint32_t)random_below(r, 10) / 9;
	if (c.kind == SBT_SYNC || c.kind == SBT_SYNC_END)
		c.thread = 1;
	c.ctx = random_below(r, 20) ? 0 : random_below(r, 2) ? 1 : SBT_NO_ID;
	if (!random_below(r, 30))
		c.flags = SBT_F_GRAPH;
	if (!random_below(r, 50) && c.kind != SBT_QUERY)
		c.result = 1;
	r->seq++;
	return c;
}

#endif
