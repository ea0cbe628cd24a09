/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubts followed through a window: by copies to the byte, by kernels through what their arguments
 * reach, and ended where bytes are written whole.
 */
#include "order-test.h"
#include "order/flow.h"

static struct order_flow *flow_of(struct sbt_reader *r, const struct order_source *source)
{
	const struct order_options o = {.first = 1, .last = seq, .source = source};
	struct order_flow *ret;

	ok(order_flow_open(&ret, r, &o));
	return ret;
}

static bool reach(const struct order_flow *w, uint64_t from, uint64_t addr, uint64_t n, uint64_t to,
	uint64_t there, uint64_t m)
{
	const struct order_doubt d = {from, addr, n ? addr + n : 0};

	return order_flow_reaches(w, &d, 1, to, &(struct order_range){there, there + m}, 1);
}

static uint64_t copied(uint64_t dst, uint64_t src, uint64_t n)
{
	return add(cmd_copy(seq, 1, SBT_COPY_D2D, dst, src, n, true));
}

static void test_copies_carry_bytes_and_fills_end_them(void **unused)
{
	begin();
	const uint64_t a = fill(1, A, 64);
	const uint64_t b = copied(B, A, 64);
	const uint64_t c = fill(1, B + 16, 16);
	const uint64_t d = copied(A, B + 16, 16); /* only bytes that are sure */
	struct order_flow *w = flow_of(end_once(), NULL);

	assert_false(reach(w, a, A, 64, a, A, 64)); /* right before it */
	assert_true(reach(w, a, A, 64, b, A + 63, 1));
	assert_false(reach(w, a, A, 64, b, B, 64));
	assert_true(reach(w, a, A, 64, c, B + 16, 16));
	assert_false(reach(w, a, A, 64, d, B + 16, 16));
	assert_true(reach(w, a, A, 64, d, B, 16));
	assert_true(reach(w, a, A, 64, d, B + 32, 1));
	assert_true(reach(w, a, A, 16, UINT64_MAX, B, 1));
	assert_false(
		reach(w, a, A + 64, 16, UINT64_MAX, B, SIZE)); /* other bytes of the same memory */
	assert_true(reach(w, b, 0, 0, c, B, 1));	       /* all that it writes */
	assert_false(reach(w, b, 0, 0, c, A, SIZE));
	assert_false(reach(w, 0, A + 32, 32, UINT64_MAX, A + 32,
		1)); /* the fill ends what was in doubt from the beginning */
	assert_true(reach(w, 0, A + 64, 32, UINT64_MAX, A + 64, 1));
	order_flow_close(w);
	test_over();
}

static void test_kernels_carry_doubt_to_all_that_they_may_write(void **unused)
{
	begin();
	const uint64_t a = fill(1, A, 64);
	const uint64_t k = f(2, A);
	const uint64_t other = f(2, B);
	struct order_flow *w = flow_of(end_once(), NULL);

	assert_true(reach(w, a, A, 1, UINT64_MAX, A + SIZE - 1, 1));
	assert_false(reach(w, a, A, 1, UINT64_MAX, B, SIZE));
	assert_true(reach(w, a, A, 1, UINT64_MAX, A, 1)); /* it need not have written it again */
	assert_int_equal(order_flow_writer(w, UINT64_MAX, A, A + 1), k);
	assert_int_equal(order_flow_writer(w, k, A, A + 1), a);
	assert_int_equal(order_flow_writer(w, a, A, A + 1), 0);
	assert_int_equal(order_flow_writer(w, UINT64_MAX, B, B + SIZE), other);
	assert_int_equal(order_flow_writer(w, UINT64_MAX, H, H + SIZE), 0);
	order_flow_close(w);
	test_over();
}

static void test_the_first_cause_that_reaches(void **unused)
{
	begin();
	const uint64_t a = fill(1, A, 64), b = fill(1, B, 64), c = copied(A + 64, B, 64),
		       k = f(2, A);
	const struct order_doubt d[] = {
		{a, H, H + 8}, {0, B, B + 64}, {b, 0, 0}, {c, A + 128, A + 192}, {k, 0, 0}};
	const struct order_range want[] = {{H + 64, H + 128}, {A + 64, A + 128}};
	struct order_flow *w = flow_of(end_once(), NULL);

	assert_int_equal(order_flow_first(w, d, 5, 1, k, want, 2),
		2); /* b, through the copy; what was there before b is gone */
	assert_int_equal(order_flow_first(w, d, 2, 1, k, want, 2), SIZE_MAX);
	assert_int_equal(
		order_flow_first(w, d + 3, 2, 1, UINT64_MAX, want, 2), 0); /* through the kernel */
	assert_int_equal(
		order_flow_first(w, d + 1, 2, 2, k, want, 2), 0); /* two doubts of one cause */
	assert_int_equal(order_flow_first(w, d, 0, 1, k, want, 2), SIZE_MAX);
	order_flow_close(w);
	test_over();
}

/* Kernel f reads the first 8 bytes of A and writes 16 of B. */
static bool known(void *arg, uint64_t of, struct order_accesses *l)
{
	if (of != *(uint64_t *)arg)
		return false;
	order_access_add(l, A, A + 8, ORDER_READ);
	order_access_add(l, B, B + 16, ORDER_WRITE);
	return true;
}

static void test_exact_sets_narrow_it(void **unused)
{
	begin();
	const uint64_t a = fill(1, A, 64), b = fill(1, B, 64), k = f(2, A);
	const struct order_source source = {.arg = &(uint64_t){k}, .accesses = known};
	struct order_flow *w = flow_of(end_once(), &source);

	assert_true(reach(w, a, A, 8, UINT64_MAX, B, 1));
	assert_false(reach(w, a, A + 8, 8, UINT64_MAX, B, 16));
	assert_false(reach(w, a, A, 8, UINT64_MAX, B + 16, 48));
	assert_false(reach(w, b, B, 16, UINT64_MAX, B, 16)); /* written over */
	assert_true(reach(w, b, B, 64, UINT64_MAX, B + 16, 1));
	order_flow_close(w);
	test_over();
}

static uint64_t value(uint64_t stream, bool wait, uint64_t v)
{
	struct sbt_cmd c = {.kind = SBT_BATCH, .seq = seq};

	c.u.batch = (struct sbt_cmd_batch){.stream = stream,
		.is_wait = wait,
		.addr = B,
		.value = v,
		.elem = 4,
		.op_flags = wait};
	return add(c);
}

/* What is behind a wait for a value runs behind the write: there it reads, and there it is
 * written over. */
static void test_what_waits_for_a_value_comes_behind_the_write(void **unused)
{
	begin();
	value(2, true, 1);
	const uint64_t c = add(cmd_copy(seq, 2, SBT_COPY_D2D, B + 64, A, 64, true)),
		       a = fill(1, A, 64), before = fill(1, B + 64, 64);
	const uint64_t set = value(1, false, 1),
		       out = add(cmd_copy(seq, 1, SBT_COPY_D2D, B + 256, B + 64, 64, true));
	struct order_flow *w = flow_of(end_once(), NULL);

	assert_true(reach(w, a, A, 64, UINT64_MAX, B + 64, 64)); /* c reads what a wrote */
	assert_true(reach(w, a, A, 64, out, B + 64, 64));
	assert_false(reach(w, a, A, 64, set, B + 64, 64)); /* not yet */
	assert_false(
		reach(w, 0, A, 64, UINT64_MAX, B + 64, 64)); /* what was there before a is gone */
	assert_false(reach(w, before, B + 64, 64, out, B + 64, 64)); /* c writes over it */
	assert_true(reach(w, before, B + 64, 64, c, B + 64, 64));    /* right before c runs */
	assert_true(reach(w, c, 0, 0, out, B + 64,
		64)); /* it is in doubt what c writes, and nothing is in between */
	assert_true(reach(w, c, 0, 0, UINT64_MAX, B + 256, 64));
	assert_int_equal(order_flow_writer(w, out, B + 64, B + 128), c);
	assert_int_equal(order_flow_writer(w, set, B + 64, B + 128), before);
	assert_int_equal(order_flow_writer(w, c, B + 64, B + 128), before);
	assert_int_equal(order_flow_newest(w, c), set);
	assert_int_equal(order_flow_newest(w, before), before);
	assert_int_equal(order_flow_newest(w, out), out);
	assert_true(order_flow_is_behind(w, c, before));
	assert_true(order_flow_is_behind(w, c, a));
	assert_false(order_flow_is_behind(w, before, c));
	assert_true(order_flow_is_behind(w, out, c));
	order_flow_close(w);
	test_over();
}

/* ---- against one flag for each byte ---------------------------------------- */

#define WINDOW 96 /* bytes of A and of B that are looked at; the rest of each is one more flag */
#define STEPS 30

static struct one {
	uint64_t seq;
	enum { FILLS, COPIES, RUNS } does;
	unsigned dst, src, n; /* bytes of the windows: A's, then B's */
} one[STEPS];
static unsigned nsteps;
static bool in_doubt[2 * (WINDOW + 1)];

static unsigned flag(unsigned byte)
{
	return byte + byte / WINDOW;
}

static uint64_t address(unsigned byte)
{
	return byte < WINDOW ? A + byte : B + byte - WINDOW;
}

static bool any_flag(unsigned from, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++)
		any |= in_doubt[from + i];
	return any;
}

static void set_flags(unsigned from, unsigned n, bool to)
{
	memset(in_doubt + from, to, n);
}

static bool touches(const struct one *x, unsigned byte)
{
	if (x->does == RUNS)
		return x->dst / WINDOW == byte / WINDOW;
	return byte >= x->dst && byte < x->dst + x->n;
}

static void step(const struct one *x, bool whole)
{
	const unsigned all = x->dst / WINDOW * (WINDOW + 1);

	switch (x->does) {
	case FILLS:
		set_flags(flag(x->dst), x->n, whole);
		break;
	case COPIES:
		set_flags(flag(x->dst), x->n, whole || any_flag(flag(x->src), x->n));
		break;
	default:
		if (whole || any_flag(all, WINDOW + 1))
			set_flags(all, WINDOW + 1, true);
	}
}

static void some_steps(struct random_cmds *dice)
{
	begin();
	for (nsteps = 0; nsteps < STEPS; nsteps++) {
		struct one *x = &one[nsteps];
		const unsigned n = 1 + (unsigned)random_below(dice, 40), room = WINDOW - n + 1,
			       side = (unsigned)random_below(dice, 2) * WINDOW;

		*x = (struct one){.seq = seq,
			.does = random_below(dice, 7) ? (unsigned)random_below(dice, 2) : RUNS,
			.dst = side + (unsigned)random_below(dice, room),
			.src = WINDOW - side + (unsigned)random_below(dice, room),
			.n = n};
		if (x->does == FILLS)
			fill(1, address(x->dst), n);
		else if (x->does == COPIES)
			copied(address(x->dst), address(x->src), n);
		else
			f(1, address(x->dst));
	}
}

/* Whether the doubts, in any order, reach the bytes right before command to. */
static bool model_reaches(
	const struct order_doubt *d, unsigned n, uint64_t to, unsigned byte, unsigned m)
{
	memset(in_doubt, 0, sizeof in_doubt);
	for (uint64_t at = 0; at < to && at < seq; at++) {
		bool whole = false;

		for (unsigned i = 0; i < n; i++)
			whole |= d[i].seq == at && !d[i].end;
		for (unsigned i = 0; i < nsteps; i++)
			if (one[i].seq == at)
				step(&one[i], whole);
		for (unsigned i = 0; i < n; i++)
			for (unsigned k = 0; d[i].seq == at && k < 2 * WINDOW; k++)
				if (address(k) >= d[i].addr && address(k) < d[i].end)
					in_doubt[flag(k)] = true;
	}
	return any_flag(flag(byte), m);
}

static struct order_doubt some_doubt(struct random_cmds *dice)
{
	const unsigned n = 1 + (unsigned)random_below(dice, 20),
		       byte = (unsigned)random_below(dice, 2) * WINDOW +
			      (unsigned)random_below(dice, WINDOW - n + 1);
	const uint64_t at = random_below(dice, 4) ? one[random_below(dice, STEPS)].seq : 0;

	if (at && !random_below(dice, 3))
		return (struct order_doubt){.seq = at};
	return (struct order_doubt){at, address(byte), address(byte) + n};
}

static void ask(const struct order_flow *w, struct random_cmds *dice)
{
	const unsigned n = 1 + (unsigned)random_below(dice, 12),
		       byte = (unsigned)random_below(dice, 2) * WINDOW +
			      (unsigned)random_below(dice, WINDOW - n + 1);
	const struct order_range r[2] = {
		{H, H + SIZE}, {address(byte), address(byte) + n}}; /* nothing is at H */
	const uint64_t to = random_below(dice, 3) ? one[random_below(dice, STEPS)].seq : UINT64_MAX;
	struct order_doubt d[6];
	size_t first = SIZE_MAX;
	uint64_t writer = 0;

	for (unsigned i = 0; i < 6; i++)
		d[i] = some_doubt(dice);
	assert_int_equal(order_flow_reaches(w, d, 3, to, r, 2), model_reaches(d, 3, to, byte, n));
	for (unsigned i = 3; i--;)
		if (model_reaches(d + 2 * i, 2, to, byte, n))
			first = i;
	assert_int_equal(order_flow_first(w, d, 3, 2, to, r, 2), first);
	for (unsigned i = 0; i < nsteps && one[i].seq < to; i++)
		for (unsigned k = 0; k < n; k++)
			if (touches(&one[i], byte + k))
				writer = one[i].seq;
	assert_int_equal(order_flow_writer(w, to, address(byte), address(byte) + n), writer);
}

static void test_doubts_are_followed_byte_by_byte(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_cmds dice = {.x = seed * 104729};
		struct order_access a;
		struct order_flow *w;

		some_steps(&dice);
		w = flow_of(end_once(), NULL);
		for (unsigned i = 0; i < 40; i++)
			ask(w, &dice);
		for (unsigned i = 0; i < nsteps; i++) {
			const uint64_t at = one[i].seq;

			assert_int_equal(order_flow_newest(w, at), at);
			assert_true(order_flow_is_behind(w, at, at - 1));
			assert_false(order_flow_is_behind(w, at - 1, at));
			assert_false(order_flow_is_behind(w, at, at));
			assert_true(order_flow_access(w, at, 0, &a));
			assert_int_equal(order_flow_access(w, at, 1, &a), one[i].does != FILLS);
			assert_false(order_flow_access(w, at, 2, &a));
		}
		assert_false(order_flow_access(w, 1, 0, &a));
		order_flow_close(w);
		test_over();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubts_are_followed_byte_by_byte),
		cmocka_unit_test(test_copies_carry_bytes_and_fills_end_them),
		cmocka_unit_test(test_kernels_carry_doubt_to_all_that_they_may_write),
		cmocka_unit_test(test_the_first_cause_that_reaches),
		cmocka_unit_test(test_exact_sets_narrow_it),
		cmocka_unit_test(test_what_waits_for_a_value_comes_behind_the_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
