/* SPDX-License-Identifier: Apache-2.0
 *
 * One thing at a time, where the other tests look at many together: each field of a queued command
 * through a keyframe, each kind of object when one of two contexts ends, each sentence about an
 * attach.
 */
#include "state-test.h"
#include "state/late-work.h"
#include "state/steps.h"
#include "sbt/fields.h"

static struct state *through_bytes(const struct state *s)
{
	struct buf b = BUF_INIT;
	struct state *ret;

	state_encode(s, &b);
	ok(state_decode(&ret, b.data, b.len));
	buf_free(&b);
	return ret;
}

/* Another value for each field, the larger ones beyond 32 bits. */
static void set_fields(struct sbt_cmd *c, uint64_t from)
{
	unsigned n = 0;

	for (const struct sbt_field *f = sbt_kind(c->kind)->fields; f->name; f++) {
		if (sbt_type_is_blob(f->type) || !strcmp(f->name, "stream"))
			continue;
		if (f->type == SBT_T_BOOL)
			sbt_set(c, f, from & 1);
		else if (f->type == SBT_T_ADDR || f->type == SBT_T_SIZE)
			sbt_set(c, f, (from + n) << 33 | n);
		else
			sbt_set(c, f, 3 + (from + n) % 90);
		n++;
	}
}

static void assert_same_fields(const struct sbt_cmd *a, const struct sbt_cmd *b)
{
	assert_int_equal(a->kind, b->kind);
	for (const struct sbt_field *f = sbt_common_fields; f->name; f++)
		if (!sbt_type_is_blob(f->type) && sbt_get(a, f) != sbt_get(b, f))
			fail_msg("%s: %s", sbt_kind(a->kind)->name, f->name);
	for (const struct sbt_field *f = sbt_kind(a->kind)->fields; f->name; f++)
		if (!sbt_type_is_blob(f->type) && sbt_get(a, f) != sbt_get(b, f))
			fail_msg("%s: %s", sbt_kind(a->kind)->name, f->name);
}

/* Two of each kind, because the second is stored as a difference to the first. */
static void queued_commands_are_stored_whole(void **arg)
{
	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		struct state *s, *again;

		if (!(sbt_kind_does(k) & SBT_QUEUED))
			continue;
		s = state_small();
		for (unsigned i = 0; i < 2; i++) {
			struct sbt_cmd c = cmd_any(8 + i, k);

			set_fields(&c, 100 * i + 1);
			c.thread = 5 + i;
			c.stack = 70 + 9 * i;
			sbt_set(&c, sbt_field(k, "stream"), 1);
			ok(state_apply(s, &c));
		}
		again = through_bytes(s);
		for (unsigned i = 0; i < 2; i++) {
			struct sbt_cmd was, is;
			enum state_status was_status, is_status;

			assert_true(state_queue(s, 1, i, &was, &was_status));
			assert_true(state_queue(again, 1, i, &is, &is_status));
			assert_int_equal(was.seq, 8 + i);
			assert_int_equal(was.thread, 5 + i);
			assert_int_equal(was.stack, 70 + 9 * i);
			assert_int_equal(was_status, is_status);
			assert_same_fields(&was, &is);
		}
		assert_false(
			state_queue(again, 1, 2, &(struct sbt_cmd){0}, &(enum state_status){0}));
		state_free(s);
		state_free(again);
	}
}

static struct sbt_cmd in_context(struct sbt_cmd c, uint32_t ctx)
{
	c.ctx = ctx;
	return c;
}

/* Objects n of context ctx: a stream, an event, a module, an allocation, a texture. */
static void make_one_of_each(struct state *s, uint64_t seq, uint32_t ctx, uint64_t n)
{
	struct sbt_cmd t = cmd_any(seq + 4, SBT_TEXTURE_CREATE);

	apply(s, in_context(cmd_stream_create(seq, n, 0), ctx));
	apply(s, in_context(cmd_event_create(seq + 1, n), ctx));
	apply(s, in_context(cmd_module_load(seq + 2, n), ctx));
	apply(s, in_context(cmd_alloc(seq + 3, n << 20, 4096), ctx));
	t.u.texture_create.new_texture = n;
	t.u.texture_create.handle = 0x100 + n;
	apply(s, in_context(t, ctx));
}

static bool has_module(const struct state *s, uint32_t id)
{
	struct state_module m;

	for (unsigned i = 0; state_module(s, i, &m); i++)
		if (m.id == id)
			return !m.unloaded;
	return false;
}

static bool has_texture(const struct state *s, uint64_t handle)
{
	struct state_texture t;
	unsigned i = 0;

	return state_texture_named(s, handle, &i, &t);
}

/* What of object n there is. */
static void assert_there(const struct state *s, uint32_t n, bool there)
{
	struct state_stream st;
	struct state_event e;
	struct state_alloc a;

	assert_int_equal(state_stream_by_id(s, n, &st), there);
	assert_int_equal(state_event_by_id(s, n, &e), there);
	assert_int_equal(has_module(s, n), there);
	assert_int_equal(state_alloc_at(s, (uint64_t)n << 20, &a), there);
	assert_int_equal(has_texture(s, 0x100 + n), there);
}

/* cuCtxDestroy takes what was made in the context, and nothing of another. */
static void a_context_takes_its_own(void **arg)
{
	for (uint32_t dead = 0; dead < 2; dead++) {
		struct state *s = state_new();

		apply(s, cmd_device(1, 0, "Soft"));
		apply(s, cmd_ctx_create(2, 0, 0));
		apply(s, cmd_ctx_create(3, 1, 1));
		make_one_of_each(s, 10, 0, 5);
		make_one_of_each(s, 20, 1, 6);
		make_one_of_each(s, 30, 0, 7);
		for (uint32_t n = 5; n < 8; n++)
			assert_there(s, n, true);
		apply(s, cmd_ctx_destroy(40, dead));
		assert_there(s, 5, dead == 1);
		assert_there(s, 6, dead == 0);
		assert_there(s, 7, dead == 1);
		assert_int_equal(totals_of(s).oddities, 0);
		state_free(s);
	}
}

/* A default stream comes with its context; that its handle is told later makes no second one, and
 * does not say that it was there before tsdb. */
static void default_streams_are_told_later(void **arg)
{
	struct state *s = state_small();
	struct sbt_cmd c = cmd_stream_create(8, 0, 0);

	c.u.stream_create.handle = 2;
	c.flags = SBT_F_BEFORE;
	apply(s, c);
	assert_int_equal(totals_of(s).oddities, 0);
	assert_true(stream_of(s, 0).is_default);
	assert_int_equal(stream_of(s, 0).handle, 2);
	assert_false(stream_of(s, 0).before);
	c = cmd_stream_create(9, 7, 0);
	c.flags = SBT_F_BEFORE;
	apply(s, c);
	assert_true(stream_of(s, 7).before);
	assert_false(stream_of(s, 1).before);
	apply(s, cmd_stream_create(10, 7, 0));
	assert_int_equal(totals_of(s).oddities, 1);
	state_free(s);
}

/* The last byte that there is; of a size that goes beyond it there is nothing. */
static void allocations_up_to_the_end(void **arg)
{
	const uint64_t at = UINT64_MAX - 0x1000;

	for (uint64_t size = 0xfff; size <= 0x1001; size++) {
		struct state *s = state_small(), *again;
		struct state_alloc a;

		apply(s, cmd_alloc(8, at, size));
		again = through_bytes(s);
		assert_int_equal(state_alloc_at(again, at, &a), size <= 0x1000);
		assert_int_equal(totals_of(again).oddities, size > 0x1000);
		state_free(s);
		state_free(again);
	}
}

/* A program may change a node in every step. */
static void a_node_is_changed_in_place(void **arg)
{
	struct state *s = state_small();
	struct buf before = BUF_INIT, after = BUF_INIT;
	char payload[64] = {0};

	for (unsigned i = 0; i < 1000; i++) {
		payload[i % 64]++;
		apply(s, cmd_graph_node(8 + i, 0, 0, SBT_NODE_EMPTY, SBT_NO_ID, payload, 64));
		if (!i)
			state_encode(s, &before);
	}
	state_encode(s, &after);
	assert_true(after.len < before.len + 64);
	buf_free(&before);
	buf_free(&after);
	state_free(s);
}

static void an_empty_state_is_stored(void **arg)
{
	struct state *s = state_new(), *again = through_bytes(s);

	assert_true(state_hash(s) == state_hash(again));
	assert_int_equal(totals_of(again).seq, 0);
	state_free(s);
	state_free(again);
}

static void names_for_printers(void **arg)
{
	static const uint32_t params[] = {0, 8, 8, 4};
	struct state *s = state_new();
	struct sbt_names names;
	struct sbt_blob b = {NULL, 99};

	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_kernel_def(2, 3, SBT_NO_ID, "_ZN2ns5gammaEi", params, 2));
	names = state_names(s);
	assert_string_equal(names.kernel(names.arg, 3), "ns::gamma");
	assert_null(names.kernel(names.arg, 4));
	assert_true(names.params(names.arg, 3, &b));
	assert_int_equal(b.len, sizeof params);
	assert_memory_equal(b.p, params, sizeof params);
	b.len = 99;
	assert_false(names.params(names.arg, 4, &b));
	assert_int_equal(b.len, 99);
	state_free(s);
}

static struct sbt_cmd attach(uint64_t seq, enum sbt_attach what, const char *text)
{
	struct sbt_cmd c = cmd_any(seq, SBT_ATTACH);

	c.u.attach.what = what;
	c.u.attach.module = SBT_NO_ID;
	c.u.attach.text = (struct sbt_blob){text, strlen(text)};
	return c;
}

static void assert_prints(const struct state *s, const char *part)
{
	struct buf b = BUF_INIT;

	state_print(&b, s, STATE_VIEW_ALL, 0);
	if (!strstr(buf_cstr(&b), part))
		fail_msg("\"%s\" is not in: %s", part, buf_cstr(&b));
	buf_free(&b);
}

static void attached(void **arg)
{
	struct state *s = state_new();
	struct sbt_cmd found = attach(9, SBT_ATTACH_FOUND, "");

	apply(s, attach(5, SBT_ATTACH_BEGINS, ""));
	assert_prints(s, "Attached to a running process at #5: ");
	for (unsigned i = 0; i < 3; i++) {
		struct sbt_cmd c = cmd_alloc(6 + i, (i + 1) << 20, 1024);

		c.flags = SBT_F_BEFORE * (i != 1); /* the second one came after */
		apply(s, c);
	}
	found.u.attach.probed = 3ull << 30;
	found.u.attach.took = 2500000;
	apply(s, found);
	assert_prints(s, "2 allocations, 2048 bytes, found; commands before are not known\n");
	assert_prints(s, "3.0 GiB of addresses were looked through in 2.5 ms\n");
	apply(s, attach(10, SBT_ATTACH_UNKNOWN, "the code of module 2"));
	assert_prints(s, "Not known: the code of module 2\n");
	apply(s, attach(11, SBT_ATTACH_UNKNOWN, "a graph's nodes"));
	assert_prints(s, "Not known, the last of several: a graph's nodes\n");
	state_free(s);
}

static void positions(void **arg)
{
	uint64_t seq;
	uint32_t step;

	assert_true(step_position("9", &seq, &step));
	assert_int_equal(seq, 9);
	assert_true(step_position("#90.9", &seq, &step));
	assert_int_equal(seq, 90);
	assert_int_equal(step, 9);
	assert_false(step_position(":1", &seq, &step)); /* the character behind '9' */
	assert_false(step_position("/1", &seq, &step)); /* before '0' */
	assert_false(step_position("1:", &seq, &step));
	assert_false(step_position("1/", &seq, &step));
}

static struct err *never(void *arg, const struct sbt_cmd *wait, bool *ret)
{
	*ret = false;
	return NULL;
}

static enum late_stream any_stream(void *arg, uint64_t id)
{
	return LATE_OTHER;
}

/* A wait of the host that is reported twice is one: 64 threads may wait at a time. */
static void waits_reported_twice(void **arg)
{
	const struct late_user u = {.ready = never, .stream = any_stream};
	struct sbt_cmd value = cmd_any(1, SBT_BATCH), c;
	struct late *l = NULL;
	bool any;

	value.u.batch = (struct sbt_cmd_batch){.stream = 5, .is_wait = 1, .addr = 8, .elem = 4};
	ok(late_takes(l, &u, &value, &any));
	assert_true(any);
	late_put(&l, &u, &value);
	for (unsigned i = 0; i < 64; i++) {
		const struct sbt_cmd sync = cmd_sync_stream(10 + i, i == 63 ? 5 : 6);

		late_host_knows(l, &sync);
		late_host_knows(l, &sync);
	}
	for (unsigned i = 0; i < 64; i++) {
		const struct sbt_cmd end = cmd_sync_end(100 + i, 10 + i);

		ok(late_next(l, &u, &c, &any));
		assert_false(any);
		late_host_knows(l, &end);
	}
	ok(late_next(l, &u, &c, &any));
	assert_true(any);
	assert_int_equal(c.seq, 1);
	late_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queued_commands_are_stored_whole),
		cmocka_unit_test(a_context_takes_its_own),
		cmocka_unit_test(default_streams_are_told_later),
		cmocka_unit_test(allocations_up_to_the_end),
		cmocka_unit_test(a_node_is_changed_in_place),
		cmocka_unit_test(an_empty_state_is_stored),
		cmocka_unit_test(names_for_printers),
		cmocka_unit_test(attached),
		cmocka_unit_test(positions),
		cmocka_unit_test(waits_reported_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
