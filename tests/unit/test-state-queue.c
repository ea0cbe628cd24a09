/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues longer than STATE_QUEUE_MAX, whose oldest entries are one summary; what a barrier reaches;
 * what is finished when the call of a copy or a fill returns ("CUDA Driver API", API
 * synchronization behavior).
 */
#include "state-test.h"

/* n launches on a stream, from *seq on. */
static void launches(struct state *s, uint64_t *seq, uint32_t stream, uint64_t n)
{
	while (n--)
		apply(s, cmd_launch((*seq)++, stream, 0));
}

static void finish(struct state *s, uint64_t *seq, uint32_t stream)
{
	apply(s, cmd_sync_stream(*seq, stream));
	apply(s, cmd_sync_end(*seq + 1, *seq));
	*seq += 2;
}

/* Stream 3 waits for records on streams 1 and 2; the waits are pushed into the summary, and still
 * count when it retires. Of two waits for one stream the later record counts, in either order. */
static void waits_in_the_summary(void **arg)
{
	for (unsigned order = 0; order < 2; order++) {
		struct state *s = state_small();
		uint64_t seq = 8;

		for (unsigned e = 0; e < 3; e++)
			apply(s, cmd_event_create(seq++, e));
		launches(s, &seq, 1, 1); /* #11 */
		apply(s, cmd_event_record(seq++, 1, 0));
		launches(s, &seq, 1, 1); /* #13 */
		apply(s, cmd_event_record(seq++, 1, 1));
		launches(s, &seq, 1, 1); /* #15 */
		launches(s, &seq, 2, 1);
		apply(s, cmd_event_record(seq++, 2, 2)); /* #17 */
		launches(s, &seq, 2, 1);		 /* #18 */
		apply(s, cmd_stream_wait(seq++, 3, order));
		apply(s, cmd_stream_wait(seq++, 3, !order));
		apply(s, cmd_stream_wait(seq++, 3, 2));
		launches(s, &seq, 3, STATE_QUEUE_MAX);
		assert_stream(s, 3, STATE_RUNNING, 19, STATE_QUEUE_MAX + 3);
		assert_stream(s, 1, STATE_RUNNING, 11, 5);
		state_retire(s, 22); /* the first that is kept: all before it have finished */
		assert_stream(s, 3, STATE_RUNNING, 23, STATE_QUEUE_MAX - 1);
		assert_int_equal(stream_of(s, 3).finished, 4);
		assert_stream(s, 1, STATE_RUNNING, 15, 1);
		assert_stream(s, 2, STATE_RUNNING, 18, 1);
		state_free(s);
	}
}

/* A goal within the summary: what it waited for up to there is finished, its count stays. */
static void a_part_of_the_summary(void **arg)
{
	struct state *s = state_small();
	uint64_t seq = 8;

	apply(s, cmd_event_create(seq++, 0));
	apply(s, cmd_event_create(seq++, 1));
	launches(s, &seq, 3, 1);		 /* #10 */
	apply(s, cmd_event_record(seq++, 3, 0)); /* #11 */
	launches(s, &seq, 3, 30);
	apply(s, cmd_event_record(seq++, 1, 1));
	launches(s, &seq, 3, STATE_QUEUE_MAX);
	assert_stream(s, 3, STATE_RUNNING, 10, STATE_QUEUE_MAX + 32);
	apply(s, cmd_sync_event(seq, 0));
	apply(s, cmd_sync_end(seq + 1, seq));
	assert_true(event_of(s, 0).complete);
	assert_stream(s, 3, STATE_RUNNING, 12, STATE_QUEUE_MAX + 32);
	assert_int_equal(stream_of(s, 3).finished, 0);
	state_free(s);
}

/* Its first and its last command, and none between, can be named as begun or finished. */
static void retired_by_seq(void **arg)
{
	for (unsigned last = 0; last < 2; last++) {
		struct state *s = state_small();
		uint64_t seq = 8;

		launches(s, &seq, 1, 5);
		launches(s, &seq, 3, STATE_QUEUE_MAX + 10);
		assert_stream(s, 3, STATE_RUNNING, 13, STATE_QUEUE_MAX + 10);
		state_retire(s, 15);
		assert_stream(s, 3, STATE_RUNNING, 13, STATE_QUEUE_MAX + 10);
		state_retire(s, last ? 22 : 13);
		assert_stream(s, 3, STATE_RUNNING, 23, STATE_QUEUE_MAX);
		assert_stream(s, 1, STATE_RUNNING, 8, 5);
		state_free(s);
	}
}

/* A clone's summary is its own: each goes on without the other, and both are freed. */
static void a_clone_has_the_summary_too(void **arg)
{
	for (unsigned first = 0; first < 2; first++) {
		struct state *s = state_small(), *both[2];
		uint64_t seq = 8, later;

		apply(s, cmd_event_create(seq++, 0));
		launches(s, &seq, 1, 1); /* #9 */
		apply(s, cmd_event_record(seq++, 1, 0));
		launches(s, &seq, 1, 1);
		apply(s, cmd_stream_wait(seq++, 3, 0));
		launches(s, &seq, 3, STATE_QUEUE_MAX);
		both[0] = s;
		both[1] = state_clone(s);
		assert_true(state_hash(both[0]) == state_hash(both[1]));
		for (unsigned i = 0; i < 2; i++) {
			later = seq;
			assert_stream(both[i ^ first], 1, STATE_RUNNING, 9, 3);
			finish(both[i ^ first], &later, 3);
			assert_stream(both[i ^ first], 3, STATE_IDLE, 0, 0);
			assert_stream(both[i ^ first], 1, STATE_RUNNING, 11, 1);
			launches(both[i ^ first], &later, 3, STATE_QUEUE_MAX + 1);
		}
		assert_true(state_hash(both[0]) == state_hash(both[1]));
		state_free(both[first]);
		assert_stream(both[!first], 1, STATE_RUNNING, 11, 1);
		state_free(both[!first]);
	}
}

static bool has_event(const struct state *s, uint32_t id)
{
	struct state_event e;

	return state_event_by_id(s, id, &e);
}

/* Destroyed events whose records are in the summary go with it; others stay. */
static void events_in_the_summary(void **arg)
{
	struct state *s = state_small();
	uint64_t seq = 8;

	for (unsigned e = 0; e < 5; e++)
		apply(s, cmd_event_create(seq++, e));
	for (unsigned e = 0; e < 3; e++)
		apply(s, cmd_event_record(seq++, 3, e));
	apply(s, cmd_event_record(seq++, 1, 3));
	launches(s, &seq, 3, STATE_QUEUE_MAX);
	apply(s, cmd_event_record(seq++, 3, 4)); /* not in it */
	for (unsigned e = 0; e < 5; e++)
		if (e != 1)
			apply(s, cmd_event_destroy(seq++, e));
	for (unsigned e = 0; e < 5; e++)
		assert_true(has_event(s, e));
	state_retire(s, 17); /* the first launch */
	assert_false(has_event(s, 0));
	assert_true(has_event(s, 1)); /* not destroyed */
	assert_false(has_event(s, 2));
	assert_true(has_event(s, 3)); /* of another stream */
	assert_true(has_event(s, 4));
	finish(s, &seq, 3);
	assert_false(has_event(s, 4));
	finish(s, &seq, 1);
	assert_false(has_event(s, 3));
	state_free(s);
}

/* A destroyed executable graph is kept while a launch of it is in the queue that is kept. */
static void graphs_in_the_summary(void **arg)
{
	struct state *s = state_small();
	struct state_graph g;
	uint64_t seq = 10;

	apply(s, cmd_graph_node(8, 0, 0, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0));
	apply(s, cmd_graph_instantiate(9, 1, 0));
	apply(s, cmd_graph_launch(seq++, 3, 1));
	apply(s, cmd_graph_launch(seq++, 3, 1));
	apply(s, cmd_graph_destroy(seq++, 1));
	launches(s, &seq, 3, STATE_QUEUE_MAX - 1);
	assert_true(state_graph_by_id(s, 1, &g));
	launches(s, &seq, 3, 1);
	assert_false(state_graph_by_id(s, 1, &g));
	state_free(s);
}

/* What stream 1 waits for in the legacy default stream 0, whose part before it is a summary. */
static void waiting_for_a_summary(void **arg)
{
	struct state *s = state_small();
	uint64_t seq = 8;

	launches(s, &seq, 0, 10);
	launches(s, &seq, 3, 2);
	launches(s, &seq, 1, 1); /* #20 */
	launches(s, &seq, 0, STATE_QUEUE_MAX);
	assert_stream(s, 1, STATE_WAITING, 20, 1);
	assert_int_equal(stream_of(s, 1).wait_stream, 0);
	assert_int_equal(stream_of(s, 1).wait_seq, 17); /* the summary's last */
	launches(s, &seq, 0, 5);			/* now it reaches beyond #20 */
	assert_int_equal(stream_of(s, 1).wait_seq, 19);
	assert_stream(s, 0, STATE_RUNNING, 8, STATE_QUEUE_MAX + 15);
	finish(s, &seq, 1);
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	state_free(s);
}

/* The default stream has a higher id than the blocking streams: they are all reached. */
static void barriers_reach_every_stream(void **arg)
{
	struct state *s = state_new();
	uint64_t seq = 1;

	apply(s, cmd_device(seq++, 0, "Soft"));
	apply(s, cmd_ctx_create(seq++, 0, 9));
	for (unsigned i = 0; i < 3; i++)
		apply(s, cmd_stream_create(seq++, i, i == 1)); /* 1 does not block */
	for (unsigned i = 0; i < 3; i++)
		launches(s, &seq, i, 1);
	launches(s, &seq, 9, 1); /* waits for 0 and 2 */
	assert_int_equal(stream_of(s, 9).wait_stream, 0);
	finish(s, &seq, 9);
	assert_stream(s, 0, STATE_IDLE, 0, 0);
	assert_stream(s, 1, STATE_RUNNING, 7, 1);
	assert_stream(s, 2, STATE_IDLE, 0, 0);
	launches(s, &seq, 2, 1);
	launches(s, &seq, 9, 1);
	launches(s, &seq, 0, 1); /* waits for the default stream, which waits for 2 */
	assert_int_equal(stream_of(s, 9).wait_stream, 2);
	finish(s, &seq, 0);
	assert_stream(s, 2, STATE_IDLE, 0, 0);
	assert_stream(s, 9, STATE_IDLE, 0, 0);
	state_free(s);
}

/* A wait for what is not there, or was never recorded, proves nothing, not even of the first
 * command. */
static void waits_for_nothing(void **arg)
{
	struct state *s = state_new();

	apply(s, cmd_launch(1, 3, 0));
	assert_stream(s, 3, STATE_RUNNING, 1, 1);
	apply(s, cmd_event_create(2, 0));
	apply(s, cmd_sync_event(3, 0));
	apply(s, cmd_sync_end(4, 3));
	apply(s, cmd_sync_event(5, 77));
	apply(s, cmd_sync_end(6, 5));
	assert_stream(s, 3, STATE_RUNNING, 1, 1);
	state_free(s);
}

/* --- what has finished when the call returns --- */

#define DEVICE 0x1000
#define MANAGED 0x2000
#define PINNED 0x3000
#define PLAIN 0x4000 /* not allocated by CUDA */

static const struct {
	enum sbt_copy dir;
	uint64_t dst, src;
	bool async, pageable;
	enum state_returns returns;
} copies[] = {
	{SBT_COPY_H2H, 0, 0, false, false, STATE_RETURNS_DONE},
	{SBT_COPY_H2H, 0, 0, true, false, STATE_RETURNS_DONE},
	{SBT_COPY_D2D, 0, 0, false, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_D2D, 0, 0, true, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_PEER, 0, 0, false, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_D2H, 0, 0, false, false, STATE_RETURNS_DONE},
	{SBT_COPY_D2H, 0, 0, true, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_D2H, 0, 0, true, true, STATE_RETURNS_DONE},
	{SBT_COPY_H2D, 0, 0, true, true, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_H2D, 0, 0, false, true, STATE_RETURNS_PRIOR},
	{SBT_COPY_H2D, 0, 0, false, false, STATE_RETURNS_DONE},
	/* of unknown direction: by where the memory is */
	{SBT_COPY_ANY, PLAIN, PINNED, true, false, STATE_RETURNS_DONE},
	{SBT_COPY_ANY, DEVICE, DEVICE, false, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_ANY, PINNED, DEVICE, true, false, STATE_RETURNS_AT_ONCE},
	{SBT_COPY_ANY, PINNED, DEVICE, false, false, STATE_RETURNS_DONE},
	{SBT_COPY_ANY, DEVICE, PINNED, false, true, STATE_RETURNS_PRIOR},
	{SBT_COPY_ANY, DEVICE, PLAIN, false, false, STATE_RETURNS_DONE},
};

static const struct {
	uint64_t dst;
	bool async;
	enum state_returns returns;
} fills[] = {
	{DEVICE, false, STATE_RETURNS_AT_ONCE},
	{PINNED, false, STATE_RETURNS_DONE},
	{PINNED, true, STATE_RETURNS_AT_ONCE},
	{MANAGED, false, STATE_RETURNS_DONE},
	{MANAGED, true, STATE_RETURNS_AT_ONCE},
	{PLAIN, false, STATE_RETURNS_AT_ONCE},
};

static void returns(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c;

	apply(s, cmd_alloc(8, DEVICE, 64));
	c = cmd_alloc(9, MANAGED, 64);
	c.u.alloc.mem = SBT_MEM_MANAGED;
	apply(s, c);
	c = cmd_alloc(10, PINNED, 64);
	c.u.alloc.mem = SBT_MEM_PINNED;
	apply(s, c);
	for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
		c = cmd_copy(
			11, 3, copies[i].dir, copies[i].dst, copies[i].src, 8, copies[i].async);
		c.u.copy.pageable = copies[i].pageable;
		assert_int_equal(state_returns(s, &c), copies[i].returns);
	}
	for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
		c = cmd_fill(11, 3, fills[i].dst, 8);
		c.u.fill.async = fills[i].async;
		assert_int_equal(state_returns(s, &c), fills[i].returns);
	}
	c = cmd_launch(11, 3, 0);
	assert_int_equal(state_returns(s, &c), STATE_RETURNS_AT_ONCE);
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_in_the_summary),
		cmocka_unit_test(a_part_of_the_summary),
		cmocka_unit_test(retired_by_seq),
		cmocka_unit_test(a_clone_has_the_summary_too),
		cmocka_unit_test(events_in_the_summary),
		cmocka_unit_test(graphs_in_the_summary),
		cmocka_unit_test(waiting_for_a_summary),
		cmocka_unit_test(barriers_reach_every_stream),
		cmocka_unit_test(waits_for_nothing),
		cmocka_unit_test(returns),
	};

	return cmocka_run_group_tests_name("state-queue", tests, NULL, NULL);
}
