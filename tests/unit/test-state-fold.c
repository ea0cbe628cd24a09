/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events and host waits: when commands are pending, waiting and finished. Every
 * expectation is worked out by hand from the CUDA programming guide.
 */
#include "state-test.h"
#include "state/fold/transitions.h"
#include "sbt/fields.h"

static void queue_and_sync(void **arg)
{
	struct state *s = state_small();

	assert_stream(s, 1, STATE_IDLE, 0, 0);
	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_launch(9, 1, 1));
	assert_stream(s, 1, STATE_RUNNING, 8, 2);
	apply(s, cmd_sync_stream(10, 1));
	apply(s, cmd_launch(11, 1, 0));
	assert_stream(s, 1, STATE_RUNNING, 8, 3); /* the sync has not ended */
	apply(s, cmd_sync_end(12, 10));
	assert_stream(s, 1, STATE_RUNNING, 11, 1); /* #11 came after the sync began */
	assert_int_equal(stream_of(s, 1).submitted, 3);
	assert_int_equal(stream_of(s, 1).finished, 2);
	assert_int_equal(totals_of(s).oddities, 0);
	assert_int_equal(totals_of(s).launches, 3);
	state_free(s);
}

static void queue_rows(void **arg)
{
	struct state *s = state_small();
	enum state_status status;
	struct sbt_cmd c;

	apply(s, cmd_launch(8, 1, 1));
	apply(s, cmd_copy(9, 1, SBT_COPY_D2D, 0x2000, 0x1000, 64, true));
	assert_true(state_queue(s, 1, 0, &c, &status));
	assert_int_equal(c.seq, 8);
	assert_int_equal(c.kind, SBT_LAUNCH);
	assert_int_equal(c.u.launch.stream, 1);
	assert_int_equal(c.u.launch.kernel, 1);
	assert_int_equal(c.u.launch.grid_x, 64);
	assert_int_equal(c.u.launch.block_x, 256);
	assert_int_equal(status, STATE_RUNNING);
	assert_true(state_queue(s, 1, 1, &c, &status));
	assert_int_equal(c.u.copy.dst, 0x2000);
	assert_int_equal(c.u.copy.src, 0x1000);
	assert_int_equal(c.u.copy.size, 64);
	assert_int_equal(c.u.copy.stream, 1);
	assert_int_equal(c.u.copy.dir, SBT_COPY_D2D);
	assert_int_equal(c.u.copy.async, 1);
	assert_int_equal(c.u.copy.pageable, 0);
	assert_int_equal(status, STATE_PENDING);
	assert_false(state_queue(s, 1, 2, &c, &status));
	assert_false(state_queue(s, 9, 0, &c, &status));
	state_free(s);
}

/* A thread's current context is that of its last command that had one. */
static void threads_have_a_context(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_launch(8, 1, 0);
	struct state_thread t;

	c.thread = 5;
	c.ctx = 0;
	apply(s, c);
	c = cmd_launch(9, 1, 0);
	c.thread = 5;
	c.ctx = SBT_NO_ID;
	apply(s, c);
	c = cmd_launch(10, 1, 0);
	c.thread = 6;
	c.ctx = SBT_NO_ID;
	apply(s, c);
	for (unsigned i = 0; state_thread(s, i, &t); i++) {
		if (t.thread == 5) {
			assert_int_equal(t.ctx, 0);
			assert_int_equal(t.commands, 2);
		}
		if (t.thread == 6) {
			assert_int_equal(t.ctx, SBT_NO_ID);
			assert_int_equal(t.commands, 1);
		}
	}
	state_free(s);
}

static void sync_ctx_covers_all_streams(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_launch(9, 3, 0));
	apply(s, cmd_sync_ctx(10));
	apply(s, cmd_launch(11, 3, 0));
	apply(s, cmd_sync_end(12, 10));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_stream(s, 3, STATE_RUNNING, 11, 1);
	state_free(s);
}

static void sync_event_covers_up_to_the_record(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_event_create(8, 0));
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_event_record(10, 1, 0));
	apply(s, cmd_launch(11, 1, 0));
	apply(s, cmd_sync_event(12, 0));
	apply(s, cmd_event_record(13, 1,
			 0)); /* another thread records again meanwhile: not what is waited for */
	apply(s, cmd_sync_end(14, 12));
	assert_stream(s, 1, STATE_RUNNING, 11, 2);
	assert_false(event_of(s, 0).complete);
	state_free(s);
}

static void event_life(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_event_create(8, 0));
	assert_false(event_of(s, 0).recorded);
	assert_false(event_of(s, 0).complete);
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_event_record(10, 1, 0));
	assert_true(event_of(s, 0).recorded);
	assert_int_equal(event_of(s, 0).record_seq, 10);
	assert_int_equal(event_of(s, 0).stream, 1);
	assert_false(event_of(s, 0).complete);
	apply(s, cmd_query_event(11, 0, STATE_NOT_READY));
	assert_false(event_of(s, 0).complete);
	assert_int_equal(totals_of(s).failed, 0); /* "not yet" is an answer, no failure */
	apply(s, cmd_query_event(12, 0, 0));
	assert_true(event_of(s, 0).complete);
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	apply(s, cmd_event_record(13, 2, 0)); /* recorded again: pending again, elsewhere */
	assert_false(event_of(s, 0).complete);
	assert_int_equal(event_of(s, 0).stream, 2);
	assert_int_equal(event_of(s, 0).records, 2);
	state_free(s);
}

static void wait_takes_the_last_record(void **arg)
{
	struct state *s = state_small();
	struct state_stream st;

	apply(s, cmd_event_create(8, 0));
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_event_record(10, 1, 0));
	apply(s, cmd_stream_wait(11, 3, 0));
	apply(s, cmd_launch(12, 3, 0));
	apply(s, cmd_launch(13, 1, 0));
	apply(s, cmd_event_record(14, 1, 0)); /* moves the event, not the wait */
	assert_stream(s, 3, STATE_WAITING, 11, 2);
	st = stream_of(s, 3);
	assert_int_equal(st.wait_event, 0);
	assert_int_equal(st.wait_stream, 1);
	assert_int_equal(st.wait_seq, 10);
	state_retire(s, 10);
	assert_stream(s, 1, STATE_RUNNING, 13, 2);
	assert_stream(s, 3, STATE_RUNNING, 11, 2);
	assert_int_equal(event_of(s, 0).waits, 1);
	state_free(s);
}

static void wait_for_a_never_recorded_event(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_event_create(8, 0));
	apply(s, cmd_stream_wait(9, 3, 0));
	apply(s, cmd_launch(10, 1, 0));
	apply(s, cmd_event_record(11, 1, 0)); /* too late for the wait */
	assert_stream(s, 3, STATE_RUNNING, 9, 1);
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void retiring_takes_what_it_depends_on(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_event_create(8, 0));
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_event_record(10, 1, 0));
	apply(s, cmd_launch(11, 1, 0));
	apply(s, cmd_stream_wait(12, 3, 0));
	apply(s, cmd_launch(13, 3, 0));
	apply(s, cmd_sync_stream(14, 3));
	apply(s, cmd_sync_end(15, 14)); /* stream 3 is finished, so the record #10 was */
	assert_stream(s, 3, STATE_IDLE, 0, 0);
	assert_stream(s, 1, STATE_RUNNING, 11, 1);
	assert_true(event_of(s, 0).complete);
	state_free(s);
}

static void legacy_barrier(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_launch(9, 3, 0));
	apply(s, cmd_launch(10, 0, 0)); /* waits for stream 1, not for stream 3 */
	apply(s, cmd_launch(11, 2, 0)); /* waits for the default stream */
	apply(s, cmd_launch(12, 3, 0));
	assert_stream(s, 1, STATE_RUNNING, 8, 1);
	assert_stream(s, 0, STATE_WAITING, 10, 1);
	assert_int_equal(stream_of(s, 0).wait_stream, 1);
	assert_int_equal(stream_of(s, 0).wait_seq, 8);
	assert_int_equal(stream_of(s, 0).wait_event, SBT_NO_ID);
	assert_stream(s, 2, STATE_WAITING, 11, 1);
	assert_int_equal(stream_of(s, 2).wait_stream, 0);
	assert_int_equal(stream_of(s, 2).wait_seq, 10);
	assert_stream(s, 3, STATE_RUNNING, 9, 2);
	state_retire(s, 8);
	assert_stream(s, 0, STATE_RUNNING, 10, 1);
	assert_stream(s, 2, STATE_WAITING, 11, 1);
	state_free(s);
}

static void legacy_barrier_retires_both_ways(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_launch(9, 3, 0));
	apply(s, cmd_launch(10, 0, 0));
	apply(s, cmd_launch(11, 1, 0));
	apply(s, cmd_launch(12, 2, 0));
	apply(s, cmd_sync_stream(13, 2));
	apply(s, cmd_sync_end(14, 13)); /* #12 is finished, so #10 is, so #8 is */
	assert_stream(s, 2, STATE_IDLE, 0, 0);
	assert_stream(s, 0, STATE_IDLE, 0, 0);
	assert_stream(s, 1, STATE_RUNNING, 11, 1);
	assert_stream(s, 3, STATE_RUNNING, 9, 1);
	state_free(s);
}

static void per_thread_default_stream(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_stream_create(8, 4, 0);

	c.u.stream_create.per_thread = 1;
	apply(s, c);
	c = cmd_launch(9, 4, 0);
	c.flags = SBT_F_PTDS;
	apply(s, c);
	apply(s, cmd_launch(10, 1, 0));
	assert_stream(
		s, 1, STATE_RUNNING, 10, 1); /* per-thread and blocking streams run side by side */
	apply(s, cmd_launch(11, 0, 0));
	assert_stream(s, 0, STATE_WAITING, 11, 1); /* the legacy stream waits for both */
	state_retire(s, 10);
	assert_stream(s, 0, STATE_WAITING, 11, 1);
	assert_int_equal(stream_of(s, 0).wait_stream, 4);
	state_retire(s, 9);
	assert_stream(s, 0, STATE_RUNNING, 11, 1);
	assert_true(stream_of(s, 4).per_thread);
	state_free(s);
}

static void other_contexts_do_not_wait(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c;

	apply(s, cmd_ctx_create(8, 1, 7));
	apply(s, cmd_launch(9, 1, 0));
	c = cmd_launch(10, 7, 0);
	c.ctx = 1;
	apply(s, c);
	assert_stream(s, 7, STATE_RUNNING, 10, 1);
	c = cmd_sync_ctx(11);
	c.ctx = 1;
	apply(s, c);
	apply(s, cmd_sync_end(12, 11));
	assert_stream(s, 7, STATE_IDLE, 0, 0);
	assert_stream(s, 1, STATE_RUNNING, 9, 1);
	state_free(s);
}

static void synchronous_copies(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c;

	apply(s, cmd_launch(8, 3, 0));
	apply(s, cmd_copy(9, 3, SBT_COPY_D2H, 0x10, 0x1000, 64, false));
	assert_stream(s, 3, STATE_IDLE, 0, 0);
	apply(s, cmd_launch(10, 3, 0));
	apply(s, cmd_copy(11, 3, SBT_COPY_D2H, 0x10, 0x1000, 64, true));
	assert_stream(s, 3, STATE_RUNNING, 10, 2);
	/* pageable to device: what came before is finished, the copy itself perhaps not */
	c = cmd_copy(12, 3, SBT_COPY_H2D, 0x1000, 0x10, 64, false);
	c.u.copy.pageable = 1;
	apply(s, c);
	assert_stream(s, 3, STATE_RUNNING, 12, 1);
	/* device to device returns at once, asynchronous or not */
	apply(s, cmd_copy(13, 3, SBT_COPY_D2D, 0x1000, 0x2000, 64, false));
	assert_stream(s, 3, STATE_RUNNING, 12, 2);
	/* on the legacy stream it waits for the blocking ones */
	apply(s, cmd_launch(14, 1, 0));
	apply(s, cmd_copy(15, 0, SBT_COPY_D2H, 0x10, 0x1000, 64, false));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_stream(s, 3, STATE_RUNNING, 12, 2);
	state_free(s);
}

static void queries(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_query_stream(9, 1, STATE_NOT_READY));
	assert_stream(s, 1, STATE_RUNNING, 8, 1);
	apply(s, cmd_query_stream(10, 1, 0));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	apply(s, cmd_query_stream(11, 1, 700)); /* a real failure */
	assert_int_equal(totals_of(s).failed, 1);
	state_free(s);
}

static void stream_dies_with_work(void **arg)
{
	struct state *s = state_small();
	struct state_stream st;

	apply(s, cmd_launch(8, 3, 0));
	apply(s, cmd_stream_destroy(9, 3));
	assert_true(stream_of(s, 3).destroyed);
	assert_stream(s, 3, STATE_RUNNING, 8, 1);
	apply(s, cmd_sync_ctx(10));
	apply(s, cmd_sync_end(11, 10));
	assert_false(state_stream_by_id(s, 3, &st));
	apply(s, cmd_stream_destroy(12, 1)); /* idle: gone at once */
	assert_false(state_stream_by_id(s, 1, &st));
	assert_int_equal(totals_of(s).oddities, 0);
	apply(s, cmd_launch(13, 1, 0)); /* made up, and odd */
	assert_int_equal(totals_of(s).oddities, 1);
	assert_stream(s, 1, STATE_RUNNING, 13, 1);
	state_free(s);
}

static void event_dies_before_its_record(void **arg)
{
	struct state *s = state_small();
	struct state_event e;

	apply(s, cmd_event_create(8, 5));
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_event_record(10, 1, 5));
	apply(s, cmd_stream_wait(11, 3, 5));
	apply(s, cmd_event_destroy(12, 5));
	assert_true(event_of(s, 5).destroyed);
	assert_stream(s, 3, STATE_WAITING, 11, 1); /* the wait stands */
	state_retire(s, 10);
	assert_false(state_event_by_id(s, 5, &e));
	assert_stream(s, 3, STATE_RUNNING, 11, 1);
	apply(s, cmd_event_create(13, 6));
	apply(s, cmd_event_destroy(14, 6));
	assert_false(state_event_by_id(s, 6, &e));
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void failed_calls(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_launch(8, 1, 0);
	struct state_alloc a;

	c.result = 1;
	apply(s, c);
	c = cmd_alloc(9, 0x1000, 64);
	c.result = 2;
	apply(s, c);
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_false(state_alloc(s, 0, &a));
	assert_int_equal(totals_of(s).failed, 2);
	assert_int_equal(totals_of(s).commands, 9);
	assert_int_equal(totals_of(s).launches, 0);
	state_free(s);
}

/* What a failed call was to use, or would have made, may not exist: it is a command all the same.
 */
static void failed_calls_without_an_object(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_any(8, SBT_EVENT_RECORD);
	struct err *e;

	c.u.event_record.event = SBT_NO_ID;
	c.result = 400;
	apply(s, c);
	c = cmd_any(9, SBT_MODULE_LOAD);
	c.u.module_load.new_module = SBT_NO_ID;
	c.result = 218;
	apply(s, c);
	assert_int_equal(totals_of(s).failed, 2);
	c.seq = 10;
	c.result = 0;
	e = state_apply(s, &c);
	assert_non_null(e);
	err_free(e);
	c.u.module_load.new_module = 1ull << 40;
	c.result = 218;
	e = state_apply(s, &c);
	assert_non_null(e);
	err_free(e);
	state_free(s);
}

static void failed_sync_proves_nothing(void **arg)
{
	struct state *s = state_small();
	struct state_thread t;
	struct sbt_cmd c;

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_sync_ctx(9));
	assert_true(state_thread(s, 0, &t));
	assert_int_equal(t.waiting_in, 9);
	c = cmd_sync_end(10, 9);
	c.result = 700;
	apply(s, c);
	assert_stream(s, 1, STATE_RUNNING, 8, 1);
	assert_true(state_thread(s, 0, &t));
	assert_int_equal(t.waiting_in, 0);
	apply(s, cmd_sync_end(11, 9)); /* no sync is open */
	assert_int_equal(totals_of(s).oddities, 1);
	assert_stream(s, 1, STATE_RUNNING, 8, 1);
	state_free(s);
}

static void two_threads_wait(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c;

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_sync_stream(9, 1));
	apply(s, cmd_launch(10, 3, 0));
	c = cmd_sync_stream(11, 3);
	c.thread = 2;
	apply(s, c);
	c = cmd_sync_end(12, 11);
	c.thread = 2;
	apply(s, c);
	assert_stream(s, 3, STATE_IDLE, 0, 0);
	assert_stream(s, 1, STATE_RUNNING, 8, 1);
	apply(s, cmd_sync_end(13, 9));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_int_equal(totals_of(s).oddities, 0);
	state_free(s);
}

static void begun_by_timestamps(void **arg)
{
	struct state *s = state_small();

	apply(s, cmd_launch(8, 1, 0));
	apply(s, cmd_launch(9, 3, 0));
	state_begin(s, 9);
	assert_stream(s, 3, STATE_RUNNING, 9, 1);
	assert_stream(s, 1, STATE_PENDING, 8, 1); /* times are known, and this one has not begun */
	state_retire(s, 9);
	assert_stream(s, 3, STATE_IDLE, 0, 0);
	state_retire(s, 9); /* nothing happens */
	state_free(s);
}

static void longer_than_the_window(void **arg)
{
	struct state *s = state_small();
	const uint64_t n = STATE_QUEUE_MAX + 1000;
	enum state_status status;
	struct sbt_cmd c;

	for (uint64_t i = 0; i < n; i++)
		apply(s, cmd_launch(8 + i, 1, 0));
	assert_stream(s, 1, STATE_RUNNING, 8, n);
	assert_true(state_queue(s, 1, 0, &c, &status));
	assert_int_equal(c.seq, 8 + 1000); /* the newest are kept */
	state_retire(s, 8 + 1500);
	assert_stream(s, 1, STATE_RUNNING, 8 + 1501, n - 1501);
	assert_int_equal(stream_of(s, 1).finished, 1501);
	apply(s, cmd_sync_ctx(8 + n));
	apply(s, cmd_sync_end(9 + n, 8 + n));
	assert_stream(s, 1, STATE_IDLE, 0, 0);
	assert_int_equal(stream_of(s, 1).finished, n);
	state_free(s);
}

static void context_ends(void **arg)
{
	struct state *s = state_small();
	struct state_stream st;
	struct state_alloc a;
	struct state_context x;
	struct state_device d;

	apply(s, cmd_alloc(8, 0x1000, 64));
	apply(s, cmd_launch(9, 1, 0));
	apply(s, cmd_ctx_destroy(10, 0));
	assert_false(state_stream(s, 0, &st));
	assert_false(state_alloc(s, 0, &a));
	assert_true(state_context(s, 0, &x));
	assert_true(x.destroyed);
	assert_int_equal(x.bytes, 0);
	assert_true(state_device(s, 0, &d));
	assert_int_equal(d.alloc_bytes, 0);
	assert_int_equal(d.alloc_peak, 64);
	state_free(s);
}

/* The first trace that holds a kind without a row would end the process. */
static void every_kind_has_a_transition(void **unused)
{
	(void)unused;
	for (unsigned k = 1; k < SBT_KIND_END; k++)
		if (sbt_kind(k) && !transition_is_there(k))
			fail_msg("%s has no row in transitions[] of src/state/fold/transitions.c",
				sbt_kind(k)->name);
	assert_false(transition_is_there(0));
	assert_false(transition_is_there(SBT_KIND_END));
}

/* A row of queue_fields[] that was forgotten would show, and write into keyframes, a command
 * without what it is about. */
static void every_queued_kind_keeps_fields(void **unused)
{
	(void)unused;
	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		struct state *s = state_new();
		struct sbt_cmd c = cmd_ctx_create(1, 0, 0), brief;
		unsigned kept = 0;

		if (!(sbt_kind_does(k) & SBT_QUEUED)) {
			state_free(s);
			continue;
		}
		ok(state_apply(s, &c));
		c = cmd_any(2, k);
		for (const struct sbt_field *f = sbt_kind(k)->fields; f->name; f++)
			if (!sbt_type_is_blob(f->type) && strcmp(f->name, "stream") != 0)
				sbt_set(&c, f, f->type == SBT_T_BOOL ? 1 : 4);
		ok(state_apply(s, &c));
		assert_true(state_queue(s, 0, 0, &brief, &(enum state_status){0}));
		assert_int_equal(brief.kind, k);
		assert_int_equal(sbt_get(&brief, sbt_field(k, "stream")), 0);
		for (const struct sbt_field *f = sbt_kind(k)->fields; f->name; f++)
			if (!sbt_type_is_blob(f->type) && sbt_get(&brief, f)) {
				assert_true(sbt_get(&brief, f) == sbt_get(&c, f));
				kept++;
			}
		if (!kept)
			fail_msg(
				"%s keeps nothing: it has no row in queue_fields[] of src/state/fold/queue.c",
				sbt_kind(k)->name);
		state_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_and_sync),
		cmocka_unit_test(queue_rows),
		cmocka_unit_test(threads_have_a_context),
		cmocka_unit_test(every_kind_has_a_transition),
		cmocka_unit_test(every_queued_kind_keeps_fields),
		cmocka_unit_test(sync_ctx_covers_all_streams),
		cmocka_unit_test(sync_event_covers_up_to_the_record),
		cmocka_unit_test(event_life),
		cmocka_unit_test(wait_takes_the_last_record),
		cmocka_unit_test(wait_for_a_never_recorded_event),
		cmocka_unit_test(retiring_takes_what_it_depends_on),
		cmocka_unit_test(legacy_barrier),
		cmocka_unit_test(legacy_barrier_retires_both_ways),
		cmocka_unit_test(per_thread_default_stream),
		cmocka_unit_test(other_contexts_do_not_wait),
		cmocka_unit_test(synchronous_copies),
		cmocka_unit_test(queries),
		cmocka_unit_test(stream_dies_with_work),
		cmocka_unit_test(event_dies_before_its_record),
		cmocka_unit_test(failed_calls),
		cmocka_unit_test(failed_calls_without_an_object),
		cmocka_unit_test(failed_sync_proves_nothing),
		cmocka_unit_test(two_threads_wait),
		cmocka_unit_test(begun_by_timestamps),
		cmocka_unit_test(longer_than_the_window),
		cmocka_unit_test(context_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
