/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that comes later than its number says (state/late-work.h): what is kept, what stays in order
 * behind it, when it may go. Values are what the test says they are; which streams wait for which
 * is the CUDA programming guide's.
 */
#include "state-test.h"
#include "state/late-work.h"

#define ADDR UINT64_C(0x1000)

/* Streams 1 and 2 are blocking, 0 is the legacy default stream, the others are non-blocking. A wait
 * is satisfied when `there` has the bit of its value. */
struct machine {
	struct late *l;
	uint64_t there;
};

static struct err *is_ready(void *arg, const struct sbt_cmd *wait, bool *ret)
{
	const struct machine *m = arg;

	assert_int_equal(wait->kind, SBT_BATCH);
	*ret = m->there >> wait->u.batch.value & 1;
	return NULL;
}

static enum late_stream like(void *arg, uint64_t id)
{
	return id == 0 ? LATE_DEFAULT : id <= 2 ? LATE_BLOCKING : LATE_OTHER;
}

static struct late_user user_of(struct machine *m)
{
	return (struct late_user){.arg = m, .ready = is_ready, .stream = like};
}

static struct sbt_cmd wait_value(uint64_t seq, uint64_t stream, uint64_t value)
{
	struct sbt_cmd c = cmd_any(seq, SBT_BATCH);

	c.u.batch = (struct sbt_cmd_batch){
		.stream = stream, .is_wait = 1, .addr = ADDR, .value = value, .elem = 4};
	return c;
}

/* Whether the command has to be kept; then it is. */
static bool keeps(struct machine *m, struct sbt_cmd c)
{
	const struct late_user u = user_of(m);
	bool taken;

	ok(late_takes(m->l, &u, &c, &taken));
	if (taken)
		late_put(&m->l, &u, &c);
	return taken;
}

/* The next that may go; 0: none. */
static uint64_t goes(struct machine *m)
{
	const struct late_user u = user_of(m);
	struct sbt_cmd c;
	bool any;

	ok(late_next(m->l, &u, &c, &any));
	return any ? c.seq : 0;
}

static void a_stream_is_kept_behind_its_wait(void **arg)
{
	struct machine m = {0};
	uint64_t seq;
	bool wait;

	assert_int_equal(goes(&m), 0);
	assert_int_equal(late_count(m.l), 0);
	assert_false(late_at(m.l, 0, &seq, &wait));
	assert_false(keeps(&m, cmd_launch(1, 5, 0)));
	m.there = 1 << 3;
	assert_false(keeps(&m, wait_value(2, 5, 3))); /* the value is there */
	assert_true(keeps(&m, wait_value(3, 5, 4)));
	assert_true(keeps(&m, cmd_launch(4, 5, 0)));
	assert_true(keeps(&m, wait_value(5, 5, 3))); /* it is, but the stream is held */
	assert_false(keeps(&m, cmd_launch(6, 6, 0)));
	assert_int_equal(late_count(m.l), 3);
	assert_true(late_at(m.l, 0, &seq, &wait));
	assert_int_equal(seq, 3);
	assert_true(wait);
	assert_true(late_at(m.l, 1, &seq, &wait));
	assert_int_equal(seq, 4);
	assert_false(wait);
	assert_false(late_at(m.l, 3, &seq, &wait));
	assert_int_equal(late_holds(m.l, 3), 3);
	assert_int_equal(late_holds(m.l, 4), 3);
	assert_int_equal(late_holds(m.l, 5), 3);
	assert_int_equal(late_holds(m.l, 6), 0);
	assert_int_equal(goes(&m), 0);
	m.there |= 1 << 4;
	assert_int_equal(goes(&m), 3);
	assert_int_equal(goes(&m), 4);
	assert_int_equal(goes(&m), 5);
	assert_int_equal(goes(&m), 0);
	assert_int_equal(late_count(m.l), 0);
	assert_int_equal(late_forced(m.l), 0);
	late_free(m.l);
}

/* Two streams with a wait each: the one whose value comes first goes first, its followers in order.
 */
static void streams_apart(void **arg)
{
	struct machine m = {0};

	assert_true(keeps(&m, wait_value(1, 5, 1)));
	assert_true(keeps(&m, wait_value(2, 6, 2)));
	assert_true(keeps(&m, cmd_launch(3, 5, 0)));
	assert_true(keeps(&m, cmd_launch(4, 6, 0)));
	m.there = 1 << 2;
	assert_int_equal(goes(&m), 2);
	assert_int_equal(goes(&m), 4);
	assert_int_equal(goes(&m), 0);
	m.there = 1 << 1;
	assert_int_equal(goes(&m), 1);
	assert_int_equal(goes(&m), 3);
	late_free(m.l);
}

static void events_carry_it_on(void **arg)
{
	struct machine m = {0};

	assert_true(keeps(&m, wait_value(1, 5, 1)));
	assert_false(keeps(&m, cmd_event_record(2, 6, 7)));
	assert_false(keeps(&m, cmd_stream_wait(3, 8, 7)));
	assert_true(keeps(&m, cmd_event_record(4, 5, 7)));
	assert_false(keeps(&m, cmd_stream_wait(5, 8, 9))); /* another event */
	assert_true(keeps(&m, cmd_stream_wait(6, 8, 7)));
	assert_true(keeps(&m, cmd_launch(7, 8, 0)));
	assert_false(keeps(&m, cmd_launch(8, 6, 0)));
	m.there = 1 << 1;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(goes(&m), ((uint64_t[]){1, 4, 6, 7})[i]);
	assert_int_equal(goes(&m), 0);
	late_free(m.l);
}

/* "CUDA C++ Programming Guide", Default Stream: the legacy default stream waits for blocking
 * streams and these wait for it. */
static void the_default_stream(void **arg)
{
	struct machine m = {0};

	assert_true(keeps(&m, wait_value(1, 1, 1)));
	assert_false(keeps(&m, cmd_launch(2, 2, 0)));
	assert_false(keeps(&m, cmd_launch(3, 5, 0)));
	assert_true(keeps(&m, cmd_launch(4, 0, 0)));
	assert_true(keeps(&m, cmd_launch(5, 2, 0))); /* behind the default stream now */
	assert_false(keeps(&m, cmd_launch(6, 5, 0)));
	late_clear(m.l);
	assert_int_equal(late_count(m.l), 0);
	assert_true(keeps(&m, wait_value(7, 5, 1)));
	assert_false(keeps(&m, cmd_launch(8, 0, 0)));
	late_free(m.l);
}

/* The host's waits keep what they wait for in front; destroying an object comes behind all that is
 * kept. */
static void what_the_host_does(void **arg)
{
	struct machine m = {0};
	struct sbt_cmd failed = cmd_launch(9, 5, 0), captured = cmd_launch(10, 5, 0);

	assert_false(keeps(&m, cmd_sync_ctx(1)));
	assert_true(keeps(&m, wait_value(2, 5, 1)));
	assert_true(keeps(&m, cmd_event_record(3, 5, 7)));
	assert_false(keeps(&m, cmd_sync_stream(4, 6)));
	assert_false(keeps(&m, cmd_sync_event(5, 8)));
	assert_true(keeps(&m, cmd_sync_ctx(6)));
	assert_true(keeps(&m, cmd_sync_stream(7, 5)));
	assert_true(keeps(&m, cmd_sync_event(8, 7)));
	failed.result = 1;
	assert_false(keeps(&m, failed));
	captured.flags |= SBT_F_GRAPH;
	assert_false(keeps(&m, captured));
	assert_false(keeps(&m, cmd_launch(11, 6, 0))); /* a wait of the host holds no stream */
	assert_true(keeps(&m, cmd_stream_destroy(12, 6)));
	assert_true(keeps(&m, cmd_event_destroy(13, 8)));
	assert_true(keeps(&m, cmd_graph_destroy(14, 1)));
	assert_false(keeps(&m, cmd_alloc(15, 0x10000, 64)));
	m.there = 1 << 1;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(goes(&m), ((uint64_t[]){2, 3, 6, 7, 8, 12, 13, 14})[i]);
	assert_int_equal(goes(&m), 0);
	late_free(m.l);
}

/* A host wait that has returned proves that what it waited for is over, whatever memory holds. */
static void waits_that_returned(void **arg)
{
	static const struct {
		struct sbt_cmd begin;
		bool proves;
	} way[] = {
		{{.kind = SBT_SYNC, .seq = 9, .u.sync = {SBT_SYNC_CTX, SBT_NO_ID, SBT_NO_ID}},
			true},
		{{.kind = SBT_SYNC, .seq = 9, .u.sync = {SBT_SYNC_STREAM, 5, SBT_NO_ID}}, true},
		{{.kind = SBT_SYNC, .seq = 9, .u.sync = {SBT_SYNC_STREAM, 6, SBT_NO_ID}}, false},
		{{.kind = SBT_SYNC, .seq = 9, .u.sync = {SBT_SYNC_EVENT, SBT_NO_ID, 7}}, true},
		{{.kind = SBT_SYNC, .seq = 9, .u.sync = {SBT_SYNC_EVENT, SBT_NO_ID, 8}}, false},
	};

	for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
		struct machine m = {0};
		struct sbt_cmd other = cmd_sync_end(10, 8), end = cmd_sync_end(11, 9);

		assert_true(keeps(&m, wait_value(2, 5, 1)));
		assert_true(keeps(&m, cmd_event_record(3, 5, 7)));
		late_host_knows(m.l, &way[i].begin);
		assert_int_equal(goes(&m), 0); /* it has only begun */
		late_host_knows(m.l, &other);
		assert_int_equal(goes(&m), 0);
		late_host_knows(m.l, &end);
		assert_int_equal(goes(&m), way[i].proves ? 2 : 0);
		assert_int_equal(goes(&m), way[i].proves ? 3 : 0);
		assert_int_equal(late_forced(m.l), way[i].proves ? 2 : 0);
		late_free(m.l);
	}
}

/* What was submitted after the wait began is not proven. */
static void waits_prove_what_was_before_them(void **arg)
{
	struct machine m = {0};
	const struct sbt_cmd begin = cmd_sync_ctx(3), end = cmd_sync_end(6, 3);

	assert_true(keeps(&m, wait_value(2, 5, 1)));
	late_host_knows(m.l, &begin);
	assert_true(keeps(&m, wait_value(4, 6, 2)));
	late_host_knows(m.l, &end);
	assert_int_equal(goes(&m), 2);
	assert_int_equal(goes(&m), 0);
	late_give_up(m.l);
	assert_int_equal(goes(&m), 4);
	assert_int_equal(late_forced(m.l), 2); /* the first of them */
	late_clear(m.l);
	assert_int_equal(late_forced(m.l), 0);
	late_free(m.l);
}

static void queries_that_said_yes(void **arg)
{
	struct machine m = {0};
	const struct sbt_cmd no = cmd_query_stream(3, 5, 600), other = cmd_query_stream(3, 6, 0),
			     event = cmd_query_event(3, 7, 0), yes = cmd_query_stream(3, 5, 0);

	assert_true(keeps(&m, wait_value(2, 5, 1)));
	late_host_knows(m.l, &no);
	late_host_knows(m.l, &other);
	late_host_knows(m.l, &event);
	assert_int_equal(goes(&m), 0);
	late_host_knows(m.l, &yes);
	assert_int_equal(goes(&m), 2);
	late_free(m.l);
}

/* When there are more than LATE_MAX, all of them go. */
static void too_many(void **arg)
{
	struct machine m = {0};

	assert_true(keeps(&m, wait_value(1, 5, 1)));
	for (uint64_t seq = 2; seq <= LATE_MAX; seq++)
		assert_true(keeps(&m, cmd_launch(seq, 5, 0)));
	assert_int_equal(goes(&m), 0);
	assert_int_equal(late_count(m.l), LATE_MAX);
	assert_true(keeps(&m, cmd_launch(LATE_MAX + 1, 5, 0)));
	for (uint64_t seq = 1; seq <= LATE_MAX + 1; seq++)
		assert_int_equal(goes(&m), seq);
	assert_int_equal(goes(&m), 0);
	assert_int_equal(late_forced(m.l), 1);
	late_free(m.l);
}

/* What holds a command is the wait at the front, however many commands lie between. */
static void the_wait_in_front(void **arg)
{
	struct machine m = {0};

	assert_true(keeps(&m, wait_value(2, 5, 1)));
	assert_true(keeps(&m, cmd_event_record(3, 5, 7)));
	assert_true(keeps(&m, cmd_stream_wait(4, 6, 7)));
	assert_true(keeps(&m, cmd_launch(5, 6, 0)));
	assert_true(keeps(&m, wait_value(6, 9, 2)));
	assert_true(keeps(&m, cmd_launch(7, 9, 0)));
	for (uint64_t seq = 3; seq <= 5; seq++)
		assert_int_equal(late_holds(m.l, seq), 2);
	assert_int_equal(late_holds(m.l, 7), 6);
	assert_int_equal(late_holds(m.l, 8), 0);
	late_clear(m.l);
	assert_int_equal(late_holds(m.l, 5), 0);
	late_free(m.l);
	assert_int_equal(late_holds(NULL, 5), 0);
}

/* NULL keeps nothing: what the host knows changes nothing there. */
static void nothing_was_kept(void **state)
{
	const struct sbt_cmd ends = cmd_sync_ctx(5);

	late_host_knows(NULL, &ends);
	assert_int_equal(late_count(NULL), 0);
	assert_int_equal(late_forced(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_kept_behind_its_wait),
		cmocka_unit_test(streams_apart),
		cmocka_unit_test(events_carry_it_on),
		cmocka_unit_test(the_default_stream),
		cmocka_unit_test(what_the_host_does),
		cmocka_unit_test(waits_that_returned),
		cmocka_unit_test(waits_prove_what_was_before_them),
		cmocka_unit_test(queries_that_said_yes),
		cmocka_unit_test(too_many),
		cmocka_unit_test(the_wait_in_front),
		cmocka_unit_test(nothing_was_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
