/* SPDX-License-Identifier: Apache-2.0
 *
 * One thing at a time: what a launch's argument words name, and which races count as one.
 */
#include "order-test.h"
#include <stdlib.h>
#include "order/in-flight.h"
#include "order/races/ledger.h"

/* --- words of a launch's arguments --- */

static struct order_accesses touched(const struct state *s, uint64_t word)
{
	struct order_accesses l = {.n = 0};
	struct sbt_cmd c = cmd_launch(50, 1, 0);

	c.u.launch.args = (struct sbt_blob){&word, 8};
	order_accesses_of(&l, s, &c);
	assert_false(l.unknown);
	return l;
}

static struct state *with_kernel(void)
{
	static const uint32_t params[] = {0, 8};
	struct state *s = state_new();

	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_stream_create(2, 1, 1));
	apply(s, cmd_kernel_def(3, 0, SBT_NO_ID, "f", params, 1));
	apply(s, cmd_alloc(4, A, SIZE));
	return s;
}

/* A pointer: the whole allocation may be touched, from where the word points. */
static void test_pointers(void **unused)
{
	struct state *s = with_kernel();
	struct order_accesses l = touched(s, A + 64);

	(void)unused;
	assert_int_equal(l.n, 2);
	assert_int_equal(l.a[0].how, ORDER_MAYBE);
	assert_int_equal(l.a[0].addr, A);
	assert_int_equal(l.a[0].end, A + SIZE);
	assert_int_equal(l.a[1].how, ORDER_POINTS);
	assert_int_equal(l.a[1].addr, A + 64);
	assert_int_equal(l.a[1].end, A + 65);
	free(l.a);
	l = touched(s, A + SIZE); /* behind it */
	assert_int_equal(l.n, 0);
	free(l.a);
	state_free(s);
}

/* The handle of a texture or surface object: what it lies on. Both may have the same one. */
static void test_textures(void **unused)
{
	struct state *s = with_kernel();
	struct sbt_cmd c = cmd_any(5, SBT_TEXTURE_CREATE);
	struct order_accesses l;

	(void)unused;
	c.u.texture_create = (struct sbt_cmd_texture_create){
		.new_texture = 0, .handle = 7, .addr = B, .size = 256};
	apply(s, c);
	c.seq = 6;
	c.u.texture_create.new_texture = 1;
	c.u.texture_create.surface = 1;
	c.u.texture_create.addr = H;
	c.u.texture_create.size = 512;
	apply(s, c);
	l = touched(s, 7);
	assert_int_equal(l.n, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(l.a[i].how, ORDER_MAYBE);
		assert_int_equal(l.a[i].addr, i ? H : B);
		assert_int_equal(l.a[i].end - l.a[i].addr, i ? 512 : 256);
	}
	free(l.a);
	l = touched(s, 8);
	assert_int_equal(l.n, 0);
	free(l.a);
	state_free(s);
}

/* --- races that are one --- */

/* Launches of one kernel without a stack are one place in the program; fills without one differ. */
static void test_places(void **unused)
{
	(void)unused;
	begin();
	f(1, A);
	f(2, A);
	f(1, B);
	f(2, B);
	struct order_races x = races_found();

	assert_int_equal(x.n, 1);
	assert_int_equal(x.r[0].count, 2);
	races_over(&x);
	begin();
	const uint64_t a = fill(1, A, 64), b = fill(2, A, 64), c = fill(1, B, 64),
		       d = fill(2, B, 64);

	x = races_found();
	assert_int_equal(x.n, 2);
	race_is(&x, 0, a, b);
	race_is(&x, 1, c, d);
	assert_int_equal(x.r[0].count, 1);
	assert_int_equal(x.r[1].count, 1);
	races_over(&x);
}

/* What lies between cuts memory into pieces: of one pair, neighbours are one range, and what is
 * apart is not. */
static void test_pieces_of_a_pair(void **unused)
{
	(void)unused;
	for (unsigned apart = 0; apart < 2; apart++) {
		begin();
		const uint64_t a = fill(1, A, 64);

		if (apart)
			add(cmd_copy(seq, 1, SBT_COPY_D2D, A + 16, B, 16, true));
		else
			add(cmd_copy(seq, 1, SBT_COPY_D2D, B, A, 16, true));
		const uint64_t w = fill(2, A, 64);
		struct order_races x = races_found();
		unsigned found = 0;

		for (size_t i = 0; i < x.n; i++) {
			if (x.r[i].a.seq != a || x.r[i].b.seq != w)
				continue;
			found++;
			assert_int_equal(x.r[i].addr, A);
			assert_int_equal(x.r[i].size, apart ? 16 : 64);
			assert_int_equal(x.r[i].count, 1);
		}
		assert_int_equal(found, 1);
		races_over(&x);
	}
}

/* --- which accesses conflict --- */

/* What writes, or ends or begins the memory's life, conflicts with all; of the others only two
 * reads and two atomics do not, and a byte that a kernel was given the address of does by itself
 * with none. */
static void test_conflicts(void **unused)
{
	(void)unused;
	for (enum order_how a = 0; a < ORDER_HOWS; a++)
		for (enum order_how b = 0; b < ORDER_HOWS; b++) {
			const bool strong = a == ORDER_WRITE || a == ORDER_BIRTH ||
					    a == ORDER_DEATH || b == ORDER_WRITE ||
					    b == ORDER_BIRTH || b == ORDER_DEATH;
			const bool alike = a == b && a != ORDER_MAYBE;
			const bool points = a == ORDER_POINTS || b == ORDER_POINTS;

			if (ledger_conflict(a, b) != (strong || (!alike && !points)))
				fail_msg("%s and %s", order_how_name(a), order_how_name(b));
		}
}

/* --- looks at page-locked memory --- */

static uint64_t by_thread(struct sbt_cmd c, uint32_t thread)
{
	c.thread = thread;
	return add(c);
}

/* Each look meets the work before it, which nothing has waited for, and work behind it of a third
 * thread, which may have begun while it looked. What is found comes in order of the looks. */
static void test_looks_are_in_order(void **unused)
{
	(void)unused;
	begin();
	const uint64_t before = fill(1, H, 64);
	const uint64_t first = by_thread(cmd_fill(seq, 2, B, 16), 1),
		       second = by_thread(cmd_fill(seq, 2, B, 16), 2),
		       behind = by_thread(cmd_fill(seq, 2, H + 128, 64), 3);
	const struct order_options o = {.first = 1, .last = seq};
	const struct order_look looks[] = {{first, H, H + 256}, {second, H, H + 256}};
	const uint64_t want[][2] = {
		{first, before}, {first, behind}, {second, before}, {second, behind}};
	struct sbt_reader *r = trace_end(&t);
	struct buf found = BUF_INIT;
	struct order_change got[4];

	ok(order_in_flight(&found, r, &o, looks, 2));
	assert_int_equal(found.len, sizeof got);
	memcpy(got, found.data, found.len);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(got[i].seq, want[i][0]);
		assert_int_equal(got[i].by, want[i][1]);
		assert_int_equal(got[i].addr, got[i].by == before ? H : H + 128);
		assert_int_equal(got[i].end - got[i].addr, 64);
	}
	buf_free(&found);
	sbt_reader_close(r);
}

static uint64_t looks_of(const struct order_options *o, const struct order_look *looks, size_t n)
{
	struct buf found = BUF_INIT;
	uint64_t ret;

	ok(order_in_flight(&found, end_once(), o, looks, n));
	ret = found.len / sizeof(struct order_change);
	buf_free(&found);
	return ret;
}

/* A range that ends where a look begins, or begins where it ends, is not in it. */
static void test_looks_end_where_they_do(void **unused)
{
	static const struct {
		uint64_t from, to, found;
	} rows[] = {{H, H + 64, 0}, {H, H + 65, 1}, {H + 127, H + 200, 1}, {H + 128, H + 200, 0}};

	(void)unused;
	begin();
	fill(1, H + 64, 64);
	const uint64_t at = fill(2, B, 16);
	const struct order_options o = {.first = 1, .last = seq};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(
			looks_of(&o, &(struct order_look){at, rows[i].from, rows[i].to}, 1),
			rows[i].found);
	test_over();
}

/* What is not page-locked cannot be seen in flight; of what nothing is known, all may be. */
static void test_which_work_is_in_flight(void **unused)
{
	static const struct {
		enum { FILL_DEVICE, KERNEL_UNKNOWN, HOST_FUNC, KERNEL_ON_H, KERNEL_ON_A } what;
		uint64_t found;
	} rows[] = {{FILL_DEVICE, 0}, {KERNEL_UNKNOWN, 1}, {HOST_FUNC, 0}, {KERNEL_ON_H, 1},
		{KERNEL_ON_A, 0}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_cmd c;

		begin();
		if (rows[i].what == FILL_DEVICE)
			fill(1, A, 64);
		else if (rows[i].what == KERNEL_UNKNOWN)
			add(cmd_launch(seq, 1, 0)); /* without arguments */
		else if (rows[i].what == HOST_FUNC) {
			c = cmd_any(seq, SBT_HOST_FUNC);
			c.u.host_func.stream = 1;
			add(c);
		} else
			f(1, rows[i].what == KERNEL_ON_H ? H : A);
		const uint64_t at = fill(2, B, 16);
		const struct order_options o = {.first = 1, .last = seq};

		assert_int_equal(
			looks_of(&o, &(struct order_look){at, H, H + 256}, 1), rows[i].found);
		test_over();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_textures),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_pieces_of_a_pair),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_looks_are_in_order),
		cmocka_unit_test(test_looks_end_where_they_do),
		cmocka_unit_test(test_which_work_is_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
