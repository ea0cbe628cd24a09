/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of keyframes and clones over random commands: a state that was stored and read again
 * goes on exactly as the one that was not; a clone and its original never touch each other; damaged
 * bytes are refused or harmless.
 */
#include "random-cmds.h"
#include "state-test.h"
#include "state/fold/state-private.h"
#include <stdlib.h>

#define COMMANDS 3000

static struct state *through_bytes(const struct state *s)
{
	struct buf b = BUF_INIT;
	struct state *ret;

	state_encode(s, &b);
	ok(state_decode(&ret, b.data, b.len));
	buf_free(&b);
	return ret;
}

/* Everything that can be looked at, as JSON: a field that keyframes forget cannot hide here, as it
 * could from a hash. */
static void assert_looks_same(const struct state *a, const struct state *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	struct state_stream st;

	state_json(&x, a, STATE_VIEW_ALL);
	state_json(&y, b, STATE_VIEW_ALL);
	for (unsigned i = 0; state_stream(a, i, &st); i++) {
		assert_true(state_json_stream(&x, a, st.id));
		assert_true(state_json_stream(&y, b, st.id));
	}
	assert_string_equal(buf_cstr(&x), buf_cstr(&y));
	buf_free(&x);
	buf_free(&y);
}

static void stored_goes_on_the_same(void **arg)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_cmds r = {.x = seed * 7919, .seq = 1};
		struct state *plain = state_new(), *stored = state_new();

		for (unsigned i = 0; i < COMMANDS; i++) {
			struct sbt_cmd c = random_cmd(&r);

			apply(plain, c);
			apply(stored, c);
			if (i % 97 == seed) {
				struct state *again = through_bytes(stored);

				assert_true(state_hash(again) == state_hash(stored));
				assert_looks_same(again, stored);
				state_free(stored);
				stored = again;
			}
			if (i % 199 == 0)
				assert_true(state_hash(plain) == state_hash(stored));
		}
		assert_true(state_hash(plain) == state_hash(stored));
		state_free(plain);
		state_free(stored);
	}
}

static void clones_are_apart(void **arg)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random_cmds r = {.x = seed * 104729, .seq = 1};
		struct state *s = state_new(), *kept[COMMANDS / 100];
		uint64_t hash[COMMANDS / 100];
		unsigned n = 0;

		for (unsigned i = 0; i < COMMANDS; i++) {
			if (i % 100 == 0) {
				kept[n] = state_clone(s);
				hash[n] = state_hash(s);
				assert_true(state_hash(kept[n]) == hash[n]);
				n++;
			}
			apply(s, random_cmd(&r));
		}
		for (unsigned i = 0; i < n; i++)
			assert_true(state_hash(kept[i]) == hash[i]);
		/* a clone that goes on leaves the others alone */
		for (unsigned i = 0; i < 200; i++)
			apply(kept[5], random_cmd(&r));
		assert_true(state_hash(kept[5]) != hash[5]);
		assert_true(state_hash(kept[4]) == hash[4]);
		assert_true(state_hash(kept[6]) == hash[6]);
		state_free(s);
		for (unsigned i = 0; i < n; i++)
			state_free(kept[i]);
	}
}

static void retiring_after_storing(void **arg)
{
	struct state *s = state_small(), *t;

	for (uint64_t i = 0; i < STATE_QUEUE_MAX + 50; i++)
		apply(s, cmd_launch(8 + i, 3, 0));
	apply(s, cmd_stream_destroy(9000, 3));
	t = through_bytes(s);
	assert_int_equal(stream_of(t, 3).pending, STATE_QUEUE_MAX + 50);
	assert_int_equal(stream_of(t, 3).head, 8);
	apply(s, cmd_sync_ctx(9001));
	apply(t, cmd_sync_ctx(9001));
	apply(s, cmd_sync_end(9002, 9001));
	apply(t, cmd_sync_end(9002, 9001));
	assert_true(state_hash(s) == state_hash(t));
	state_free(s);
	state_free(t);
}

static void different_states_differ(void **arg)
{
	struct state *a = state_small(), *b = state_small();

	assert_true(state_hash(a) == state_hash(b));
	apply(a, cmd_launch(8, 1, 0));
	apply(b, cmd_launch(8, 1, 1));
	assert_true(state_hash(a) != state_hash(b));
	state_free(a);
	state_free(b);
}

/* A random state with something of everything. */
static void encoded(struct buf *out, uint64_t seed)
{
	struct random_cmds r = {.x = seed, .seq = 1};
	struct state *s = state_new();

	for (unsigned i = 0; i < 600; i++)
		apply(s, random_cmd(&r));
	state_encode(s, out);
	state_free(s);
}

/* Whatever was decoded can be used without a crash. */
static void use(struct state *s)
{
	struct state_totals t = totals_of(s);
	struct random_cmds r = {.x = 5, .seq = t.seq + 1};
	struct buf b = BUF_INIT;

	if (t.seq < UINT64_MAX - 1000)
		for (unsigned i = 0; i < 50; i++) {
			struct sbt_cmd c = random_cmd(&r);

			err_free(state_apply(s, &c));
		}
	state_encode(s, &b);
	buf_clear(&b);
	state_print(&b, s, STATE_VIEW_ALL, 0);
	for (uint32_t id = 0; id < 16; id++)
		state_print_stream(&b, s, id);
	buf_free(&b);
}

static void cut_anywhere(void **arg)
{
	struct buf b = BUF_INIT;
	struct state *s;

	encoded(&b, 3);
	for (size_t n = 0; n < b.len; n += 1 + n / 64) {
		void *exact = xmalloc(n ? n : 1); /* so that a sanitizer sees reads past the end */

		memcpy(exact, b.data, n);
		fails(state_decode(&s, exact, n), ERR_BAD_TRACE);
		free(exact);
	}
	buf_free(&b);
}

/* The first byte is the layout: 0, or one that came later, is refused. */
static void other_layouts(void **arg)
{
	struct state *s;
	struct buf b = BUF_INIT;

	encoded(&b, 1);
	for (unsigned layout = b.data[0] + 1u; layout < 256; layout++) {
		b.data[0] = (uint8_t)layout;
		fails(state_decode(&s, b.data, b.len), ERR_BAD_TRACE);
	}
	b.data[0] = 0;
	fails(state_decode(&s, b.data, b.len), ERR_BAD_TRACE);
	fails(state_decode(&s, b.data, 0), ERR_BAD_TRACE);
	buf_free(&b);
}

static void flipped_anywhere(void **arg)
{
	struct random_cmds r = {.x = 99};
	struct buf b = BUF_INIT;

	encoded(&b, 4);
	for (unsigned i = 0; i < 4000; i++) {
		size_t at = random_below(&r, b.len);
		uint8_t was = b.data[at];
		struct state *s;
		struct err *e;

		b.data[at] ^= (uint8_t)(1u << random_below(&r, 8));
		if (i % 5 == 0)
			b.data[at] = 0xff;
		e = state_decode(&s, b.data, b.len);
		if (!e) {
			use(s);
			state_free(s);
		}
		err_free(e);
		b.data[at] = was;
	}
	buf_free(&b);
}

/* Whatever bytes a keyframe has: the allocations of a state are some bytes long, end within the
 * address space, and do not overlap. */
static void allocations_are_apart(void **arg)
{
	struct state *s = state_new();
	struct buf b = BUF_INIT;

	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_alloc(2, 0x40, 16));
	apply(s, cmd_alloc(3, 0x50, 16));
	apply(s, cmd_alloc(4, 0x60, 16));
	state_encode(s, &b);
	state_free(s);
	for (size_t at = 0; at < b.len; at++) {
		const uint8_t was = b.data[at];

		for (unsigned v = 0; v < 256; v++) {
			struct state_alloc x, before = {0};
			struct err *e;

			b.data[at] = (uint8_t)v;
			e = state_decode(&s, b.data, b.len);
			for (unsigned i = 0; !e && state_alloc(s, i, &x); i++, before = x) {
				assert_true(x.size && x.size <= UINT64_MAX - x.addr);
				assert_true(!i || x.addr >= before.addr + before.size);
			}
			if (!e)
				state_free(s);
			err_free(e);
		}
		b.data[at] = was;
	}
	buf_free(&b);
}

static void keyframes_are_rarer_when_large(void **arg)
{
	struct state *s = state_small();
	uint64_t small = state_keyframe_every(s);

	assert_true(small >= STATE_KEYFRAME_EVERY && small < STATE_KEYFRAME_EVERY + 100);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_alloc(8 + i, 0x10000 + i * 256, 256));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++) /* whatever a keyframe has a row for */
		apply(s, cmd_event_create(1008 + i, i));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_kernel_def(2008 + i, 10 + i, SBT_NO_ID, "k", NULL, 0));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_stream_create(3008 + i, 10 + i, 1));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_launch(4008 + i, 1, 0));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_capture_end(5008 + i, 1, i));
	assert_true(state_keyframe_every(s) >= small + 4000);
	small = state_keyframe_every(s);
	for (uint64_t i = 0; i < 1000; i++)
		apply(s, cmd_graph_node(6008 + i, 3, i, SBT_NODE_EMPTY, SBT_NO_ID, NULL, 0));
	assert_true(state_keyframe_every(s) >= small + 4000);
	state_free(s);
}

/* --- keyframes that say what cannot be --- */

/* Names everywhere, a queue with a summary (stream 3) and one without (stream 1), a graph. */
static struct state *whole(void)
{
	static const uint32_t params[] = {0, 0x01010101}, deps[] = {0x01010101};
	struct state *s = state_small();
	uint64_t seq = 20;
	struct sbt_cmd c = cmd_any(8, SBT_THREAD);

	c.u.thread.thread_name = cmd_blob("worker");
	apply(s, c);
	c = cmd_module_load(9, 0);
	c.u.module_load.file = cmd_blob("file");
	apply(s, c);
	apply(s, cmd_kernel_def(10, 2, 0, "gamma", params, 1));
	c = cmd_graph_node(11, 0, 0, SBT_NODE_FILL, SBT_NO_ID, "payload", 7);
	c.u.graph_node.deps = (struct sbt_blob){deps, 4};
	apply(s, c);
	apply(s, cmd_alloc(12, 0x1000, 64));
	apply(s, cmd_alloc(13, 0x1040, 64));
	c = cmd_any(14, SBT_ATTACH);
	apply(s, c);
	c = cmd_any(15, SBT_ATTACH);
	c.u.attach.what = SBT_ATTACH_UNKNOWN;
	c.u.attach.text = cmd_blob("unknown");
	apply(s, c);
	apply(s, cmd_event_create(16, 0));
	for (unsigned i = 0; i < 3; i++)
		apply(s, cmd_launch(17 + i, 1, 0));
	apply(s, cmd_event_record(seq++, 1, 0));
	apply(s, cmd_stream_wait(seq++, 3, 0));
	for (unsigned i = 0; i < STATE_QUEUE_MAX + 2; i++)
		apply(s, cmd_launch(seq++, 3, 0));
	return s;
}

#define AT(table, type, i) (&ROWS(s, table, type)[i])
/* Makes the i-th thing wrong; false: there are no more. */
static bool make_wrong(struct state *s, unsigned i)
{
	struct stream *one = find_stream(s, 1), *old = find_stream(s, 3);
	struct node *node = (struct node *)AT(graphs, graph, 0)->nodes.data;
	struct alloc *a = allocs_own(&s->allocs, 0x1000);

	switch (i) {
	case 0: /* a text behind the end; up to it; without an end of its own */
		AT(devices, device, 0)->name.off = (uint32_t)s->bytes.n;
		return true;
	case 1:
		AT(devices, device, 0)->name.len =
			(uint32_t)(s->bytes.n - AT(devices, device, 0)->name.off);
		return true;
	case 2:
		AT(devices, device, 0)->name.len--;
		return true;
	case 3:
		AT(modules, module, 0)->file.len--;
		return true;
	case 4:
		AT(threads, thread, 0)->name.len--;
		return true;
	case 5:
		AT(kernels, kernel, 2)->name.len--;
		return true;
	case 6:
		AT(kernels, kernel, 2)->short_name.len--;
		return true;
	case 7:
		AT(kernels, kernel, 2)->params.len--;
		return true;
	case 8:
		node->deps.len--;
		return true;
	case 9:
		node->payload.len--;
		return true;
	case 10:
		s->attach.text.len--;
		return true;
	case 11: /* a queue that goes backwards, or begins before what has finished */
		ring_at(one, 1)->seq = ring_at(one, 0)->seq;
		return true;
	case 12:
		one->done_to = ring_at(one, 0)->seq;
		return true;
	case 13:
		ring_at(one, 1)->kind = SBT_DEVICE; /* is never queued */
		return true;
	case 14: /* waits for itself, or for what is later */
		ring_at(one, 1)->dep_seq = ring_at(one, 1)->seq;
		return true;
	case 15:
		s->seq = ring_at(old, old->len - 1)->seq - 1;
		return true;
	case 16: /* the summary */
		old->old_first = old->old_last + 1;
		return true;
	case 17:
		old->old_first = 0;
		return true;
	case 18:
		old->done_to = old->old_last;
		return true;
	case 19:
		old->old_last = ring_at(old, 0)->seq;
		return true;
	case 20:
		old->old_count = s->seq + 1;
		return true;
	case 21: /* waits of a summary that there is not */
		one->old_waits = old->old_waits;
		vec_share(&one->old_waits);
		return true;
	case 22: /* memory of no size, or over the next */
		a->size = 0;
		return true;
	case 23:
		a->size = 65;
		return true;
	case 24:
		AT(kernels, kernel, 1)->id = 0; /* twice */
		return true;
	default:
		return false;
	}
}

static void impossible_states(void **arg)
{
	struct state *s = whole(), *back;
	struct buf b = BUF_INIT;
	bool more = true;

	state_encode(s, &b);
	ok(state_decode(&back, b.data, b.len)); /* as it is, it is fine */
	state_free(back);
	state_free(s);
	for (unsigned i = 0; more; i++) {
		s = whole();
		more = make_wrong(s, i);
		buf_clear(&b);
		state_encode(s, &b);
		if (more) {
			struct err *e = state_decode(&back, b.data, b.len);

			if (!e)
				fail_msg("wrong thing %u was taken", i);
			assert_int_equal(e->code, ERR_BAD_TRACE);
			err_free(e);
		}
		state_free(s);
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_goes_on_the_same),
		cmocka_unit_test(clones_are_apart),
		cmocka_unit_test(retiring_after_storing),
		cmocka_unit_test(different_states_differ),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(other_layouts),
		cmocka_unit_test(flipped_anywhere),
		cmocka_unit_test(impossible_states),
		cmocka_unit_test(keyframes_are_rarer_when_large),
		cmocka_unit_test(allocations_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
