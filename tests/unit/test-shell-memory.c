/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed values of memory, watchpoints in the breakpoint table, and what a partial replay is asked
 * for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/breakpoints.h"
#include "shell/live/breakpoints-text.h"
#include "shell/values/memory-view.h"
#include "shell/tools/tool-options.h"

static void must(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static void refused(struct err *e)
{
	assert_non_null(e);
	assert_int_equal(e->code, ERR_USAGE);
	assert_non_null(e->cure);
	err_free(e);
}

static void types(void **state)
{
	struct x_format f;

	assert_true(memory_type("f32", 3, &f));
	assert_true(f.letter == 'f' && f.unit == 'w' && f.count == 1);
	assert_true(memory_type("doubleX", 6, &f));
	assert_true(f.letter == 'f' && f.unit == 'g');
	assert_true(memory_type("u8", 2, &f));
	assert_true(f.letter == 'u' && f.unit == 'b');
	assert_false(memory_type("f3", 2, &f));
	assert_false(memory_type("f324", 4, &f));
	assert_false(memory_type("", 0, &f));
}

static void encoding(void **state)
{
	struct x_format f32 = {.letter = 'f', .unit = 'w'}, f64 = {.letter = 'f', .unit = 'g'};
	struct x_format s8 = {.letter = 'd', .unit = 'b'}, u16 = {.letter = 'u', .unit = 'h'},
			x64 = {.letter = 'x', .unit = 'g'};
	uint8_t b[9] = {0};

	must(memory_encode(&f32, "-1.5", b));
	assert_memory_equal(b, "\x00\x00\xc0\xbf", 4);
	must(memory_encode(&f64, "1", b));
	assert_memory_equal(b, "\x00\x00\x00\x00\x00\x00\xf0\x3f", 8);
	memset(b, 0x55, sizeof b);
	must(memory_encode(&s8, "-128", b));
	assert_memory_equal(b, "\x80\x55", 2);
	must(memory_encode(&s8, "255", b)); /* as in C, by its bits */
	assert_int_equal(b[0], 0xff);
	refused(memory_encode(&s8, "256", b));
	refused(memory_encode(&s8, "-129", b));
	must(memory_encode(&u16, "0xBEEF", b));
	assert_memory_equal(b, "\xef\xbe\x55", 3);
	refused(memory_encode(&u16, "65536", b));
	refused(memory_encode(&u16, "1.5", b));
	refused(memory_encode(&u16, "", b));
	refused(memory_encode(&u16, "-", b));
	must(memory_encode(&x64, "18446744073709551615", b));
	assert_memory_equal(b, "\xff\xff\xff\xff\xff\xff\xff\xff\x55", 9);
	refused(memory_encode(&f32, "1.5x", b));
	refused(memory_encode(&f32, "", b));
}

static void guesses(void **state)
{
	float floats[4] = {0, 1.5f, -200, 1e-3f}, none[2] = {0, 0};
	int32_t ints[4] = {0, 1, -5, 70000};
	uint64_t addresses[2] = {0x302004200, 0x200000021000};

	assert_int_equal(memory_guess(floats, sizeof floats).letter, 'f');
	assert_int_equal(memory_guess(ints, sizeof ints).letter, 'd');
	assert_int_equal(memory_guess(addresses, sizeof addresses).letter, 'x');
	assert_int_equal(memory_guess(none, sizeof none).letter, 'x');
	assert_int_equal(memory_guess(floats, 7).unit, 'b');
	assert_int_equal(memory_guess(floats, 0).letter, 'x');
}

static void comparing(void **state)
{
	float before[4] = {1, 2, 3, 4}, after[4] = {1, 2.5f, 3, -4};
	struct x_format bytes = {.letter = 'x', .unit = 'b'}, own = {.unit = 'w'};
	struct memory_difference d;
	struct buf b = BUF_INIT;

	d = memory_compare(&b, &own, 0x1000, 0x1000, before, after, sizeof before, 8);
	/* 2 and 2.5 differ in the third byte of four, 4 and -4 in the last */
	assert_int_equal(d.bytes, 2);
	assert_int_equal(d.first, 6);
	assert_string_equal(buf_cstr(&b), "  0x1004 (+4): 2 -> 2.5\n  0x100c (+12): 4 -> -4\n");
	buf_clear(&b);
	d = memory_compare(&b, &bytes, 0x1000, 0xff0, before, after, sizeof before, 1);
	assert_int_equal(d.bytes, 2);
	assert_string_equal(buf_cstr(&b), "  0x1006 (+22): 0x00 -> 0x20\n");
	buf_clear(&b);
	d = memory_compare(&b, &own, 0, 0, before, before, sizeof before, 8);
	assert_int_equal(d.bytes, 0);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

static void lists(void **state)
{
	struct x_format f = {.letter = 'd', .unit = 'h'};
	int16_t v[3] = {1, -2, 3};
	struct buf b = BUF_INIT;

	memory_list(&b, &f, v, 3, true);
	assert_string_equal(buf_cstr(&b), "{1, -2, 3...}");
	buf_clear(&b);
	memory_list(&b, &f, v, 0, false);
	assert_string_equal(buf_cstr(&b), "{}");
	buf_free(&b);
}

static void watchpoints(void **state)
{
	struct breakpoints *t = breakpoints_new();
	struct breakpoint *at, *w;
	struct replay_watchpoint *ws;
	struct replay_breakpoint *bps;
	struct buf b = BUF_INIT;
	unsigned n;

	must(breakpoints_add(t, "copy", false, &at));
	w = breakpoints_add_watch(t, WATCH_CHANGES, 0x302000000, 64);
	assert_int_equal(w->id, 2);
	ws = breakpoints_watches(t, &n);
	assert_int_equal(n, 1);
	assert_true(ws[0].id == 2 && ws[0].addr == 0x302000000 && ws[0].size == 64);
	free(ws);
	bps = breakpoints_for_replay(t, false, &n); /* a watchpoint is none at any command */
	assert_int_equal(n, 1);
	assert_int_equal(bps[0].id, 1);
	free(bps);
	breakpoints_script(t, &b);
	assert_string_equal(buf_cstr(&b), "break copy\nwatch 0x302000000 len 64\n");
	buf_free(&b);
	w->enabled = false;
	free(breakpoints_watches(t, &n));
	assert_int_equal(n, 0);
	breakpoints_free(t);
}

static void parts(void **state)
{
	struct partial p = {.kind = PARTIAL_NONE};
	char many[400] = "";

	must(partial_streams(&p, "3,1"));
	assert_true(
		p.kind == PARTIAL_STREAMS && p.n == 2 && p.streams[0] == 3 && p.streams[1] == 1);
	refused(partial_streams(&p, ""));
	refused(partial_streams(&p, ","));
	refused(partial_streams(&p, "1,x"));
	refused(partial_streams(&p, "4294967295"));
	for (int i = 0; i < PARTIAL_STREAMS_MAX + 1; i++)
		strcat(many, "1,");
	refused(partial_streams(&p, many));
	must(partial_range(&p, "10-20"));
	assert_true(p.kind == PARTIAL_RANGE && p.a == 10 && p.b == 20);
	refused(partial_range(&p, "20-10"));
	refused(partial_range(&p, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(encoding),
		cmocka_unit_test(guesses),
		cmocka_unit_test(comparing),
		cmocka_unit_test(lists),
		cmocka_unit_test(watchpoints),
		cmocka_unit_test(parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
