/* SPDX-License-Identifier: Apache-2.0
 *
 * Words, numbers, ranges, sizes; variables; settings; x/FMT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/settings.h"
#include "shell/line/shell-settings.h"
#include "shell/values/vars.h"
#include "shell/values/x-format.h"
#include "base/words.h"
#include "sbt/fields.h"

#define assert_ok(expr)                                                                            \
	do {                                                                                       \
		struct err *e_ = (expr);                                                           \
		if (e_)                                                                            \
			fail_msg("%s", e_->what);                                                  \
	} while (0)
#define assert_refused(expr, text)                                                                 \
	do {                                                                                       \
		struct err *e_ = (expr);                                                           \
		assert_non_null(e_);                                                               \
		if (!strstr(e_->what, text))                                                       \
			fail_msg("\"%s\" does not say \"%s\"", e_->what, text);                    \
		err_free(e_);                                                                      \
	} while (0)

static void split(void **state)
{
	char **w, *line;
	unsigned n;

	assert_ok(words_split("  a 'b c'  \"d\\\"e\" f\\ g '' h\"i\"'j'", &w, &n));
	assert_int_equal(n, 6);
	assert_string_equal(w[0], "a");
	assert_string_equal(w[1], "b c");
	assert_string_equal(w[2], "d\"e");
	assert_string_equal(w[3], "f g");
	assert_string_equal(w[4], "");
	assert_string_equal(w[5], "hij");
	assert_null(w[6]);
	line = words_join(w, n);
	assert_string_equal(line, "a \"b c\" \"d\\\"e\" \"f g\" \"\" hij");
	free(line);
	words_free(w);
	assert_ok(words_split("", &w, &n));
	assert_int_equal(n, 0);
	words_free(w);
	assert_refused(words_split("a 'b", &w, &n), "quotation mark");
}

static void numbers(void **state)
{
	uint64_t v, b;
	bool on;

	assert_true(word_u64("#143", &v));
	assert_int_equal(v, 143);
	assert_true(word_u64("0x1F", &v));
	assert_int_equal(v, 31);
	assert_true(word_u64("18446744073709551615", &v));
	assert_int_equal(v, UINT64_MAX);
	assert_false(word_u64("18446744073709551616", &v));
	assert_false(word_u64("-1", &v));
	assert_false(word_u64("12x", &v));
	assert_false(word_u64("", &v));
	assert_true(word_size("4M", &v));
	assert_int_equal(v, 4u << 20);
	assert_true(word_size("3k", &v));
	assert_int_equal(v, 3072);
	assert_false(word_size("17179869184G", &v));
	assert_false(word_size("4MB", &v));
	assert_true(word_range("10-20", &v, &b));
	assert_int_equal(v, 10);
	assert_int_equal(b, 20);
	assert_true(word_range("10-", &v, &b));
	assert_int_equal(b, UINT64_MAX);
	assert_true(word_range("-7", &v, &b));
	assert_int_equal(v, 0);
	assert_int_equal(b, 7);
	assert_true(word_range("#5", &v, &b));
	assert_int_equal(v, 5);
	assert_int_equal(b, 5);
	assert_false(word_range("20-10", &v, &b));
	assert_false(word_range("-", &v, &b));
	assert_false(word_range("--json", &v, &b));
	assert_true(word_duration("12.5ms", &v));
	assert_int_equal(v, 12500000);
	assert_true(word_duration("3", &v));
	assert_int_equal(v, 3000000);
	assert_true(word_duration("2s", &v));
	assert_int_equal(v, 2000000000);
	assert_false(word_duration("2 s", &v));
	assert_false(word_duration("-2s", &v));
	assert_true(word_bool("off", &on));
	assert_false(on);
	assert_true(word_bool("1", &on));
	assert_true(on);
	assert_false(word_bool("maybe", &on));
}

static void sizes_for_people(void **state)
{
	char b[32];

	assert_string_equal(words_bytes(b, sizeof b, 999), "999 bytes");
	assert_string_equal(words_bytes(b, sizeof b, 1100000), "1.1 MB");
	assert_string_equal(words_bytes(b, sizeof b, 1000), "1.0 kB");
	assert_string_equal(words_bytes(b, sizeof b, UINT64_MAX), "18.4 EB");
}

static unsigned remember(struct vars *v, int64_t i)
{
	struct lang_value value = lang_from_int(lang_base_type(vars_lang(v), "int"), i);
	unsigned n = vars_remember(v, &value);

	lang_value_free(&value);
	return n;
}

static void variables(void **state)
{
	struct vars *v = vars_new();
	struct lang_value found = {0};
	int64_t n;

	assert_int_equal(remember(v, 7), 1);
	assert_int_equal(remember(v, -5), 2);
	assert_int_equal(remember(v, 11), 3);
	vars_set(v, "n", 40);
	vars_set(v, "n", 41);
	assert_true(vars_get(v, "n", &n));
	assert_int_equal(n, 41);
	assert_true(vars_get(v, "", &n)); /* $ */
	assert_int_equal(n, 11);
	assert_true(vars_get(v, "$", &n)); /* $$ */
	assert_int_equal(n, -5);
	assert_true(vars_get(v, "$2", &n)); /* $$2 */
	assert_int_equal(n, 7);
	assert_true(vars_get(v, "$0", &n));
	assert_int_equal(n, 11);
	assert_true(vars_get(v, "1", &n));
	assert_int_equal(n, 7);
	assert_false(vars_get(v, "4", &n));
	assert_false(vars_get(v, "0", &n));
	assert_false(vars_get(v, "$3", &n));
	assert_false(vars_get(v, "m", &n));
	/* a value of the history is no variable that can be assigned to, another is */
	assert_true(vars_find(v, "2", &found));
	assert_null(found.variable);
	lang_value_free(&found);
	assert_true(vars_find(v, "n", &found));
	assert_string_equal(found.variable, "n");
	lang_value_free(&found);
	vars_free(v);
}

static struct settings engine_set, shell_set, *const sets[] = {&engine_set, &shell_set};

static struct err *find_setting(const char *text, struct setting_found *ret)
{
	return settings_find(sets, 2, text, ret);
}

static void setting_names(void **state)
{
	struct setting_found f;

	settings_init(&engine_set, &engine_settings);
	settings_init(&shell_set, &shell_settings);
	assert_ok(find_setting("cap time on", &f));
	assert_ptr_equal(f.set, &engine_set);
	assert_int_equal(f.id, SET_TIMESTAMPS);
	assert_string_equal(f.rest, "on");
	assert_ok(find_setting("args = a b", &f));
	assert_int_equal(f.id, SET_ARGS);
	assert_string_equal(f.rest, "a b");
	assert_ok(find_setting("capture", &f));
	assert_null(f.set);
	assert_string_equal(f.rest, "capture");
	assert_ok(find_setting("gpu soft", &f)); /* not gpu-timeout */
	assert_int_equal(f.id, SET_GPU);
	assert_ok(find_setting("conf off", &f)); /* of the other list */
	assert_ptr_equal(f.set, &shell_set);
	assert_int_equal(f.id, SHELL_CONFIRM);
	assert_string_equal(f.rest, "off");
	assert_refused(find_setting("capture stack x", &f), "ambiguous");
	assert_refused(find_setting("c x", &f), "ambiguous"); /* cwd, confirm, color */
	assert_refused(find_setting("frobnicate", &f), "unknown setting");
	settings_deinit(&engine_set);
	settings_deinit(&shell_set);
}

static void setting_values(void **state)
{
	struct settings set;
	struct buf b = BUF_INIT;

	settings_init(&set, &engine_settings);
	assert_ok(settings_assign(&set, SET_ON_FULL, "dr"));
	settings_value(&set, SET_ON_FULL, &b);
	assert_string_equal(buf_cstr(&b), "drop");
	buf_clear(&b);
	assert_ok(settings_assign(&set, SET_RING_SIZE, "1M"));
	settings_value(&set, SET_RING_SIZE, &b);
	assert_string_equal(buf_cstr(&b), "1M");
	buf_clear(&b);
	assert_ok(settings_assign(&set, SET_MEMORY_LIMIT, "1000000"));
	settings_value(&set, SET_MEMORY_LIMIT, &b);
	assert_string_equal(buf_cstr(&b), "1000000");
	buf_clear(&b);
	assert_ok(settings_assign(&set, SET_MEMORY_LIMIT, "unlimited"));
	settings_value(&set, SET_MEMORY_LIMIT, &b);
	assert_string_equal(buf_cstr(&b), "unlimited");
	buf_clear(&b);
	assert_refused(settings_assign(&set, SET_RING_SIZE, "3M"), "power of two");
	assert_refused(settings_assign(&set, SET_RING_SIZE, "4K"), "power of two");
	assert_refused(settings_assign(&set, SET_STACK_DEPTH, "129"), "1 to 128");
	assert_refused(settings_assign(&set, SET_TIMESTAMPS, "maybe"), "maybe");
	assert_refused(settings_assign(&set, SET_GPU, "quantum"), "quantum");
	assert_refused(settings_assign(&set, SET_MEMORY, "on"), "no value for capture memory");
	settings_deinit(&set);
	settings_init(&set, &shell_settings);
	buf_clear(&b);
	assert_ok(settings_assign(&set, SHELL_ELEMENTS, "unlimited"));
	settings_value(&set, SHELL_ELEMENTS, &b);
	assert_string_equal(buf_cstr(&b), "unlimited");
	buf_clear(&b);
	assert_ok(settings_assign(&set, SHELL_WIDTH, "unlimited"));
	settings_value(&set, SHELL_WIDTH, &b);
	assert_string_equal(buf_cstr(&b), "auto");
	buf_free(&b);
	settings_deinit(&set);
}

static void format_of(const char *text, uint64_t count, char letter, char unit)
{
	struct x_format f = {.count = 1, .letter = 'x', .unit = 'w'};

	assert_ok(x_format_parse(&f, text));
	assert_int_equal(f.count, count);
	assert_int_equal(f.letter, letter);
	assert_int_equal(f.unit, unit);
}

static void x_formats(void **state)
{
	static const float floats[] = {1.5f, -2, 0, 1e10f, 7};
	static const unsigned char bytes[] = {0x01, 0x80, 0xff, 0x41};
	struct x_format f = {.count = 5, .letter = 'f', .unit = 'w'};
	struct buf b = BUF_INIT;

	format_of("8fw", 8, 'f', 'w');
	format_of("", 1, 'x', 'w');
	format_of("2g", 2, 'x', 'g');
	format_of("fg", 1, 'f', 'g');
	format_of("3c", 3, 'c', 'b');
	format_of("a", 1, 'a', 'g');
	format_of("4hd", 4, 'd', 'h');
	assert_refused(x_format_parse(&f, "8q"), "no format");
	assert_refused(x_format_parse(&f, "99999999999999999999x"), "from 1 to");
	assert_refused(x_format_parse(&f, "3i"), "instructions");
	f = (struct x_format){.count = 5, .letter = 'f', .unit = 'w'};
	x_format_print(&b, &f, 0x1000, floats, NULL, NULL);
	assert_string_equal(buf_cstr(&b), "0x1000:\t1.5\t-2\t0\t1e+10\n0x1010:\t7\n");
	buf_clear(&b);
	f = (struct x_format){.count = 4, .letter = 'd', .unit = 'b'};
	x_format_print(&b, &f, 0x20, bytes, NULL, NULL);
	assert_string_equal(buf_cstr(&b), "0x20:\t1\t-128\t-1\t65\n");
	buf_clear(&b);
	f = (struct x_format){.count = 2, .letter = 'x', .unit = 'h'};
	x_format_print(&b, &f, 0, bytes, NULL, NULL);
	assert_string_equal(buf_cstr(&b), "0x0:\t0x8001\t0x41ff\n");
	buf_free(&b);
}

static void show(struct vars *v, enum sbt_type type, int64_t i, char letter, const char *want)
{
	const struct lang_format f = {.letter = letter};
	struct lang_value value = lang_from_int(vars_field_type(v, type), i);
	struct buf b = BUF_INIT;

	assert_ok(lang_show(vars_lang(v), NULL, &f, &value, &b));
	assert_string_equal(buf_cstr(&b), want);
	lang_value_free(&value);
	buf_free(&b);
}

static void fields(void **state)
{
	struct vars *v = vars_new();

	show(v, SBT_T_UINT, 200, 0, "200");
	show(v, SBT_T_UINT, 200, 'x', "0xc8");
	show(v, SBT_T_UINT, 200, 't', "11001000");
	show(v, SBT_T_UINT, 200, 'o', "0310");
	show(v, SBT_T_INT, -1, 0, "-1");
	show(v, SBT_T_INT, -1, 'u', "18446744073709551615");
	show(v, SBT_T_ADDR, 0x302000000, 0, "0x302000000");
	show(v, SBT_T_ADDR, 0x302000000, 'd', "12918456320");
	show(v, SBT_T_EVENT, SBT_NO_ID, 0, "none");
	show(v, SBT_T_EVENT, 3, 0, "3");
	show(v, SBT_T_STREAM, 0, 0, "0");
	show(v, SBT_T_ENUM_COPY, SBT_COPY_D2H, 0, "d2h");
	vars_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split),
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes_for_people),
		cmocka_unit_test(variables),
		cmocka_unit_test(setting_names),
		cmocka_unit_test(setting_values),
		cmocka_unit_test(x_formats),
		cmocka_unit_test(fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
