/* SPDX-License-Identifier: Apache-2.0
 *
 * Short names of kernels, against names that are made up by the grammar of the Itanium C++
 * ABI, 5.1, so that it is known what they are short for; and globs, against a matcher that tries
 * everything. libstdc++, if it is here, has to understand what is made up of what it knows, too.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "sbt-make.h"
#include "sbt/kernel-name.h"

struct made {
	struct buf mangled, brief;
	uint64_t seed;
	struct buf free; /* for each character, whether any other may be in its place */
	bool known;	 /* nothing that libstdc++ lacks, or that needs what it refers to */
	unsigned depth;
};

static void type(struct made *m);
static void expression(struct made *m);

static unsigned below(struct made *m, unsigned n)
{
	return (unsigned)(make_random(&m->seed) % n);
}

/* Identifiers with their lengths are made of anything; literals and numbers of parameters go on up
 * to what ends them. */
static void find_free(char *ret, const char *text)
{
	const size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		size_t digits = strspn(text + i, "0123456789");
		const unsigned len = digits ? (unsigned)atoi(text + i) : 0;
		const bool odd =
			i && (strchr("FLip", text[i - 1]) || (text[0] == 'L' && text[1] != '_'));

		ret[i] |= i > 1 && (text[0] == 'f' || (text[0] == 'L' && text[1] != '_'));
		if (!digits)
			continue;
		if (!odd && (i == 0 || text[i + digits] != '_') && i + digits + len <= n)
			digits += len;
		memset(ret + i + 1, 1, digits - 1);
		i += digits - 1;
	}
}

static void say(struct made *m, const char *text)
{
	char is_free[64] = {0};

	find_free(is_free, text);
	buf_add(&m->free, is_free, strlen(text));
	buf_str(&m->mangled, text);
}

static const char *one_of(struct made *m, const char *const *list, size_t n)
{
	return list[below(m, (unsigned)n)];
}

#define ONE_OF(m, ...)                                                                             \
	one_of(m, (const char *const[]){__VA_ARGS__},                                              \
		sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* --- what is stepped over --- */

static void types(struct made *m, unsigned n)
{
	while (n--)
		type(m);
}

static void argument(struct made *m)
{
	switch (below(m, 4)) {
	case 0:
		say(m, ONE_OF(m, "Lb1E", "Li5E", "Lin5E", "LPi0E", "Lc97E", "L_Z1fvE"));
		break;
	case 1:
		say(m, "X");
		expression(m);
		say(m, "E");
		break;
	case 2:
		say(m, "J");
		types(m, below(m, 3));
		say(m, "E");
		break;
	default:
		type(m);
	}
}

static void arguments(struct made *m)
{
	say(m, "I");
	for (unsigned n = 1 + below(m, 3); n--;)
		argument(m);
	say(m, "E");
}

static void function_type(struct made *m)
{
	say(m, ONE_OF(m, "F", "FY"));
	types(m, 2 + below(m, 3));
	say(m, ONE_OF(m, "E", "E", "RE", "OE"));
}

static void class_name(struct made *m)
{
	if (below(m, 2)) {
		say(m, ONE_OF(m, "N1S2InE", "NSt3abc6vectorE", "N1AIiE1BE"));
		return;
	}
	say(m, ONE_OF(m, "1S", "3Foo", "St4pair"));
	if (below(m, 3) == 0)
		arguments(m);
}

/* 5.1.5, what older demanglers lack, or what refers to something. */
static void odd_type(struct made *m)
{
	m->known = false;
	switch (below(m, 14)) {
	case 0:
		say(m, ONE_OF(m, "T_", "T0_", "T12_", "S_", "S0_", "SAZ9_"));
		if (below(m, 2))
			arguments(m);
		break;
	case 1:
		say(m, ONE_OF(m, "DB8_", "DU16_", "DF16_", "DF16b", "DF32x", "Ut_", "Ut3_",
			       "Z1fvE1g", "Z1fvE1g_3", "Z1fvE1g__12_", "Z1fvEs_1_"));
		break;
	case 2:
		say(m, ONE_OF(m, "Ts", "Tu", "Te"));
		class_name(m);
		break;
	case 3:
		say(m, ONE_OF(m, "Dt", "DT"));
		expression(m);
		say(m, "E");
		break;
	case 4:
		say(m, ONE_OF(m, "DB", "DU"));
		say(m, "Li8E");
		say(m, "_");
		break;
	case 5:
		say(m, "Do");
		function_type(m);
		break;
	case 6:
		say(m, "DO");
		expression(m);
		say(m, "E");
		function_type(m);
		break;
	case 7:
		say(m, "Dw");
		types(m, 1 + below(m, 2));
		say(m, "E");
		function_type(m);
		break;
	case 8:
		say(m, "U3foo");
		if (below(m, 2))
			arguments(m);
		type(m);
		break;
	case 9:
		say(m, "u3foo");
		if (below(m, 2))
			arguments(m);
		break;
	case 10:
		say(m, "Ul");
		types(m, 1 + below(m, 2));
		say(m, ONE_OF(m, "E_", "E0_", "E12_"));
		break;
	case 11:
		say(m, "Dv");
		say(m, "Li4E");
		say(m, "_");
		type(m);
		break;
	case 12:
		say(m, "Dp");
		type(m);
		break;
	default:
		say(m, ONE_OF(m, "C", "G", "r"));
		type(m);
	}
}

static void any_type(struct made *m)
{
	static const char builtin[] = "vwbcahstijlmxynofdegz";
	char one[2] = {0};

	switch (below(m, 9)) {
	case 0:
	case 1:
		say(m, ONE_OF(m, "P", "R", "O", "K", "V", "PK", "PV"));
		type(m);
		break;
	case 2:
		say(m, "A");
		say(m, ONE_OF(m, "5", "12", "Li4E"));
		say(m, "_");
		type(m);
		break;
	case 3:
		say(m, "M");
		class_name(m);
		type(m);
		break;
	case 4:
		function_type(m);
		break;
	case 5:
		class_name(m);
		break;
	case 6:
		say(m, ONE_OF(m, "Ss", "SaIcE", "Dd", "De", "Df", "Dh", "Di", "Ds", "Da", "Dn",
			       "Dv4_f"));
		break;
	case 7:
		odd_type(m);
		break;
	default:
		one[0] = builtin[below(m, sizeof builtin - 1)];
		say(m, one);
	}
}

static void type(struct made *m)
{
	if (m->depth++ > 5)
		say(m, "i");
	else
		any_type(m);
	m->depth--;
}

static void expressions(struct made *m, unsigned n)
{
	while (n--)
		expression(m);
}

/* 5.1.6 */
static void any_expression(struct made *m)
{
	switch (below(m, 12)) {
	case 0:
		say(m, ONE_OF(m, "ps", "ng", "ad", "de", "co", "nt", "pp", "mm", "pp_", "mm_", "nx",
			       "te", "az", "sz"));
		expression(m);
		break;
	case 1:
	case 2:
		say(m, ONE_OF(m, "pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL", "mI",
			       "ls", "rs", "eq", "ne", "lt", "gt", "le", "ge", "ss", "aa", "oo",
			       "cm", "pm", "ix", "dt", "pt", "ds"));
		expressions(m, 2);
		break;
	case 3:
		say(m, ONE_OF(m, "fp_", "fp0_", "fpK_", "fL0p_", "fL0pK1_", "T_", "T3_"));
		break;
	case 4:
		say(m, ONE_OF(m, "st", "at", "ti"));
		type(m);
		break;
	case 5:
		say(m, ONE_OF(m, "sZ", "sp"));
		expression(m);
		break;
	case 6:
		say(m, ONE_OF(m, "cl", "il"));
		expressions(m, below(m, 3));
		say(m, "E");
		break;
	case 7:
		say(m, "tl");
		class_name(m);
		expressions(m, below(m, 3));
		say(m, "E");
		break;
	case 8:
		say(m, "cv");
		type(m);
		if (below(m, 2)) {
			expression(m);
			break;
		}
		say(m, "_");
		expressions(m, below(m, 3));
		say(m, "E");
		break;
	case 9:
		say(m, ONE_OF(m, "sc", "dc", "cc", "rc"));
		type(m);
		expression(m);
		break;
	case 10:
		say(m, "qu");
		expressions(m, 3);
		break;
	default:
		say(m, "sr");
		class_name(m);
		say(m, "1v");
	}
}

static void expression(struct made *m)
{
	m->known = false; /* most refer to parameters */
	if (m->depth++ > 5)
		say(m, "Li1E");
	else
		any_expression(m);
	m->depth--;
}

/* --- names --- */

static void part(struct made *m, const char *text)
{
	if (m->brief.len)
		buf_str(&m->brief, "::");
	buf_str(&m->brief, text);
}

static const struct {
	const char *code, *name;
} operators[] = {{"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"},
	{"ps", "+"}, {"ng", "-"}, {"ad", "&"}, {"de", "*"}, {"co", "~"}, {"pl", "+"}, {"mi", "-"},
	{"ml", "*"}, {"dv", "/"}, {"rm", "%"}, {"an", "&"}, {"or", "|"}, {"eo", "^"}, {"aS", "="},
	{"pL", "+="}, {"mI", "-="}, {"mL", "*="}, {"dV", "/="}, {"rM", "%="}, {"aN", "&="},
	{"oR", "|="}, {"eO", "^="}, {"ls", "<<"}, {"rs", ">>"}, {"lS", "<<="}, {"rS", ">>="},
	{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"gt", ">"}, {"le", "<="}, {"ge", ">="},
	{"nt", "!"}, {"aa", "&&"}, {"oo", "||"}, {"pp", "++"}, {"mm", "--"}, {"cm", ","},
	{"pm", "->*"}, {"pt", "->"}, {"cl", "()"}, {"ix", "[]"}};

static void operator_name(struct made *m)
{
	const unsigned i = below(m, sizeof operators / sizeof *operators);
	char text[24];

	say(m, operators[i].code);
	snprintf(text, sizeof text, "operator%s", operators[i].name);
	part(m, text);
}

/* A class with a name of any length, on the way to something in it. */
static void scope(struct made *m, char *ret_name)
{
	const unsigned n = 1 + below(m, 30);
	char text[40];

	for (unsigned i = 0; i < n; i++)
		ret_name[i] = "abcdefghZYXWE_QLS"[below(m, i ? 17 : 12)];
	ret_name[n] = 0;
	snprintf(text, sizeof text, "%u%s", n, ret_name);
	say(m, text);
	part(m, ret_name);
	if (below(m, 6) == 0) {
		m->known = false;
		say(m, ONE_OF(m, "B3tag", "B1aB12abcdefghijkl"));
	}
	if (below(m, 3) == 0)
		arguments(m);
}

/* The last component of a nested name. */
static void member(struct made *m, const char *class)
{
	char text[48], name[40];

	switch (below(m, 7)) {
	case 0:
		operator_name(m);
		break;
	case 5:
		say(m, "li");
		say(m, "4_abc");
		part(m, "operator\"\" _abc");
		if (below(m, 2))
			scope(m, name);
		break;
	case 1:
		say(m, ONE_OF(m, "C1", "C2"));
		part(m, class);
		break;
	case 2:
		say(m, ONE_OF(m, "D0", "D1", "D2"));
		snprintf(text, sizeof text, "~%s", class);
		part(m, text);
		break;
	case 3:
		say(m, "cv");
		types(m, 1);
		m->known = false;
		part(m, "operator");
		break;
	case 4:
		m->known = false;
		say(m, ONE_OF(m, "Ut_", "Ut3_"));
		part(m, "{unnamed}");
		scope(m, name);
		break;
	default:
		scope(m, name);
	}
}

static void nested(struct made *m)
{
	char name[40];

	say(m, "N");
	say(m, ONE_OF(m, "", "", "K", "VK", "KR", "O"));
	if (below(m, 4) == 0) {
		say(m, "St");
		part(m, "std");
	} else if (below(m, 8) == 0) {
		say(m, "12_GLOBAL__N_1");
		part(m, "(anonymous namespace)");
	}
	for (unsigned n = 1 + below(m, 3); n--;)
		scope(m, name);
	member(m, name);
	say(m, "E");
}

/* With what it returns, as a template has it. */
static void parameters(struct made *m)
{
	m->depth = 3;
	say(m, "v");
	types(m, 1 + below(m, 3));
	m->depth = 0;
}

static void any_name(struct made *m)
{
	char name[40];

	switch (below(m, 6)) {
	case 0:
		scope(m, name);
		break;
	case 1:
		say(m, "St");
		part(m, "std");
		scope(m, name);
		break;
	case 2: /* in a function */
		m->known = false;
		say(m, "Z");
		if (below(m, 2))
			nested(m);
		else
			scope(m, name);
		parameters(m);
		say(m, "E");
		say(m, ONE_OF(m, "", "d_", "d0_"));
		if (below(m, 2))
			nested(m);
		else
			scope(m, name);
		say(m, ONE_OF(m, "", "_0", "__10_"));
		break;
	default:
		nested(m);
	}
}

static void make_name(struct made *m, uint64_t seed)
{
	*m = (struct made){.seed = seed * 0x9e3779b97f4a7c15u | 1, .known = true};
	below(m, 2);
	say(m, "_Z");
	any_name(m);
	parameters(m);
}

static void name_is(const char *mangled, const char *want)
{
	char got[1024];

	sbt_kernel_short_name(got, sizeof got, mangled);
	if (strcmp(got, want))
		fail_msg("%s: %s is not %s", mangled, got, want);
}

/* What cannot be understood any more ends the name: what there is of it is right. Room for less
 * gives less of it. */
static void parts_are_parts(const char *mangled, const char *whole)
{
	char cut[1024], got[1024];

	for (size_t n = 3; n < strlen(mangled); n++) {
		snprintf(cut, sizeof cut, "%.*s", (int)n, mangled);
		sbt_kernel_short_name(got, sizeof got, cut);
		if (strcmp(got, cut) && strncmp(got, whole, strlen(got)))
			fail_msg("%s: %s does not begin %s", cut, got, whole);
	}
	for (size_t n = 1; n <= strlen(whole) + 1; n++) {
		memset(got, 'x', sizeof got);
		sbt_kernel_short_name(got, n, mangled);
		assert_memory_equal(got, whole, n - 1);
		assert_int_equal(got[n - 1], 0);
		assert_int_equal(got[n], 'x');
	}
}

/* What begins nothing ends a name wherever it is, as the end of the text does. */
static void ends_at_what_is_wrong(const struct made *m, const char *mangled)
{
	for (size_t n = 2; n < m->mangled.len; n++) {
		char cut[1024], wrong[1024], want[1024], got[1024];

		if (m->free.data[n])
			continue;
		snprintf(cut, sizeof cut, "%.*s", (int)n, mangled);
		snprintf(wrong, sizeof wrong, "%.*s#%s", (int)n, mangled, mangled + n + 1);
		sbt_kernel_short_name(want, sizeof want, cut);
		sbt_kernel_short_name(got, sizeof got, wrong);
		if (strcmp(got, strcmp(want, cut) ? want : wrong))
			fail_msg("%s: %s is not %s", wrong, got, want);
	}
}

static void test_made_up_names(void **unused)
{
	char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
	void *lib = dlopen("libstdc++.so.6", RTLD_NOW);
	unsigned understood = 0;

	(void)unused;
	if (lib)
		*(void **)&demangle = dlsym(lib, "__cxa_demangle");
	for (uint64_t seed = 1; seed <= 6000; seed++) {
		struct made m;
		const char *mangled;

		make_name(&m, seed);
		mangled = buf_cstr(&m.mangled);
		if (m.mangled.len < 900) {
			name_is(mangled, buf_cstr(&m.brief));
			if (seed <= 600)
				parts_are_parts(mangled, buf_cstr(&m.brief));
			if (seed <= 1500)
				ends_at_what_is_wrong(&m, mangled);
		}
		if (m.known && demangle) {
			int status;
			char *text = demangle(mangled, NULL, NULL, &status);

			if (!text)
				fail_msg("libstdc++ does not understand %s", mangled);
			free(text);
			understood++;
		}
		buf_free(&m.mangled);
		buf_free(&m.brief);
		buf_free(&m.free);
	}
	assert_true(!demangle || understood > 1000);
	if (lib)
		dlclose(lib);
}

/* --- globs --- */

/* [set] at g matches c; *ret_next is behind it. */
static bool slow_set(const char *g, char c, const char **ret_next)
{
	const char *end = g + 1;
	bool no, in = false;

	no = *end == '!' || *end == '^';
	end += no;
	if (*end == ']')
		end++;
	end = strchr(end, ']');
	*ret_next = end ? end + 1 : g + 1;
	if (!end)
		return c == '[';
	for (const char *p = g + 1 + no; p < end;) {
		if (p + 2 < end && p[1] == '-') {
			in |= p[0] <= c && c <= p[2];
			p += 3;
		} else {
			in |= *p++ == c;
		}
	}
	return in != no;
}

static bool slow_match(const char *g, const char *s)
{
	const char *next = g + 1;

	if (!*g)
		return !*s;
	if (*g == '*')
		return slow_match(g + 1, s) || (*s && slow_match(g, s + 1));
	if (!*s)
		return false;
	if (*g == '[')
		return slow_set(g, *s, &next) && slow_match(next, s + 1);
	return (*g == '?' || *g == *s) && slow_match(next, s + 1);
}

static void random_text(struct made *m, char *text, const char *of, unsigned most)
{
	const unsigned n = below(m, most + 1);

	for (unsigned i = 0; i < n; i++)
		text[i] = of[below(m, (unsigned)strlen(of))];
	text[n] = 0;
}

static void test_random_globs(void **unused)
{
	struct made m = {.seed = 77};
	unsigned matched = 0;

	(void)unused;
	for (unsigned i = 0; i < 300000; i++) {
		char glob[16], text[16];
		bool is;

		random_text(&m, glob, i % 2 ? "abc*?[]!^-" : "ab*?", 8);
		random_text(&m, text, i % 2 ? "abc]-[!" : "ab", 6);
		is = slow_match(glob, text);
		matched += is;
		if (sbt_kernel_glob(glob, text, NULL) != is)
			fail_msg("%s %s %s", glob, is ? "matches" : "does not match", text);
	}
	assert_true(matched > 10000);
}

/* One of several globs, against the mangled name, the short one and its last component. */
static void test_which_name_a_glob_is_for(void **unused)
{
	struct made m = {.seed = 78};

	(void)unused;
	for (unsigned i = 0; i < 20000; i++) {
		char glob[2][8], both[20], mangled[8], brief[16], *last = brief;
		bool is = false;

		random_text(&m, glob[0], "ab*?:", 5);
		random_text(&m, glob[1], "ab*?:", 5);
		random_text(&m, mangled, "ab", 4);
		random_text(&m, brief, "ab::", 12);
		for (char *p = brief; (p = strstr(p, "::")); last = p)
			p += 2;
		for (unsigned k = 0; k < 2; k++)
			is |= slow_match(glob[k], mangled) || slow_match(glob[k], brief) ||
			      (last != brief && slow_match(glob[k], last));
		snprintf(both, sizeof both, "%s|%s", glob[0], glob[1]);
		if (sbt_kernel_glob(both, mangled, brief) != is)
			fail_msg("%s: %s, %s", both, mangled, brief);
	}
	for (size_t n = 250; n < 260; n++) { /* a long glob among several counts up to 255 bytes */
		char glob[310], text[300];

		memset(text, 'a', n);
		text[n] = 0;
		snprintf(glob, sizeof glob, "%s|b", text);
		assert_int_equal(sbt_kernel_glob(glob, text, NULL), n < 256);
		assert_true(sbt_kernel_glob(glob, "b", NULL));
	}
}

/* A mark that begins a range, or is a point, by the first 255 bytes of its text. */
static void test_globs_of_marks(void **unused)
{
	static char text[300];
	struct sbt_cmd c = {.kind = SBT_MARK};

	(void)unused;
	memset(text, 'a', sizeof text);
	text[254] = 'b';
	for (unsigned n = 253; n < 258; n++) {
		c.u.mark.text = (struct sbt_blob){text, n};
		c.u.mark.mark_kind = n % 2;
		assert_int_equal(sbt_mark_glob("*b", &c), n >= 255);
		assert_int_equal(sbt_mark_glob("*a", &c), n < 255);
	}
	c.u.mark.mark_kind = 2; /* a pop has no text */
	assert_false(sbt_mark_glob("*", &c));
	c.u.mark.mark_kind = 1;
	c.u.mark.text = (struct sbt_blob){NULL, 0};
	assert_true(sbt_mark_glob("", &c));
	assert_false(sbt_mark_glob("?", &c));
	c.kind = SBT_FILL;
	assert_false(sbt_mark_glob("*", &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_up_names),
		cmocka_unit_test(test_random_globs),
		cmocka_unit_test(test_which_name_a_glob_is_for),
		cmocka_unit_test(test_globs_of_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
