/* SPDX-License-Identifier: Apache-2.0
 *
 * The text screen's layouts: names, and how lines are divided at every size and by every wish.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "shell/tui/tui-layout.h"

static void names(void **state)
{
	assert_string_equal(tui_layout_named("src")->name, "src");
	assert_string_equal(tui_layout_named("st")->name, "streams");
	assert_string_equal(tui_layout_named("p")->name, "ptx");
	assert_null(tui_layout_named("s")); /* src, split, streams */
	assert_null(tui_layout_named(""));
	assert_null(tui_layout_named("source"));
	assert_int_equal(tui_layout_has(tui_layout_named("src"), TUI_STREAMS), 1);
	assert_int_equal(tui_layout_has(tui_layout_named("src"), TUI_PTX), TUI_SHOWN);
}

/* 3/5 of the screen are panes, and the streams get what they need, a third of that at the most. */
static void as_it_comes(void **state)
{
	const struct tui_layout *src = tui_layout_named("src"), *streams = tui_layout_named("str");
	const struct tui_sizes none = {{0}};
	unsigned rows[TUI_SHOWN];

	tui_divide(src, 25, &none, 4, rows);
	assert_int_equal(rows[0] + rows[1], 15);
	assert_int_equal(rows[1], 4);
	tui_divide(src, 25, &none, 400, rows);
	assert_int_equal(rows[1], 5);
	tui_divide(streams, 25, &none, 4, rows);
	assert_int_equal(rows[0], 4);
	tui_divide(streams, 25, &none, 400, rows);
	assert_int_equal(rows[0], 8);
}

static void wishes(void **state)
{
	const struct tui_layout *split = tui_layout_named("split");
	struct tui_sizes want = {{0}};
	unsigned rows[TUI_SHOWN];

	want.wanted[TUI_PANES] = 5;
	tui_divide(split, 25, &want, 0, rows);
	assert_int_equal(rows[0] + rows[1], 20);
	want.wanted[TUI_SRC] = 15;
	tui_divide(split, 25, &want, 0, rows);
	assert_int_equal(rows[0], 15);
	want.wanted[TUI_SRC] = 0;
	want.wanted[TUI_PTX] = 15;
	tui_divide(split, 25, &want, 0, rows);
	assert_int_equal(rows[1], 15);
	want.wanted[TUI_STREAMS] = 3; /* not in this layout */
	tui_divide(split, 25, &want, 0, rows);
	assert_int_equal(rows[1], 15);
}

/* A pane has its title and a line or is not there, and the prompt has two lines. */
static void every_size(void **state)
{
	static const unsigned wanted[] = {0, 1, 2, 7, 65535};

	for (unsigned l = 0; l < TUI_LAYOUTS; l++)
		for (unsigned lines = 0; lines < 70; lines++)
			for (unsigned w = 0; w < 5 * 5 * 5; w++) {
				struct tui_sizes want = {{0}};
				unsigned rows[TUI_SHOWN];

				want.wanted[tui_layouts[l].panes[0]] = wanted[w % 5];
				want.wanted[tui_layouts[l].panes[1]] = wanted[w / 5 % 5];
				want.wanted[TUI_PANES] = wanted[w / 25];
				tui_divide(&tui_layouts[l], lines, &want, w, rows);
				assert_true(rows[0] != 1 && rows[1] != 1);
				assert_true(rows[0] || !rows[1]);
				assert_true(!rows[0] || rows[0] + rows[1] + 2 <= lines);
				assert_int_equal(rows[0] != 0, lines >= 4);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(as_it_comes),
		cmocka_unit_test(wishes),
		cmocka_unit_test(every_size),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
