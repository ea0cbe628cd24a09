/* SPDX-License-Identifier: Apache-2.0
 *
 * What is put into PTX for probes, by its text: without it the text is what it was; it sets its own
 * registers only, writes to its area only, and does not jump; and where it is put. What it counts
 * is tested by executing it (tests/e2e/cases/rewritten.py).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpucode/ptx-probe.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
#define AREA_LINE "\n.visible .global .align 8 .u64 tsdb_probe_area;\n"
#define FILES ".file 1 \"/src/a.cu\"\n.section .debug_str { .b8 123 /* } */ }\n"

static const char text[] = HEAD
	".global .align 4 .b8 table[16] = {1, 2, 3, 4};\n"
	".extern .func (.param .b32 r) other (.param .b64 p);\n"
	".func (.param .b32 back) helper(.param .b32 helper_param_0)\n{\n"
	"\t.reg .b32 %r<3>;\n\t.loc 1 7 1\n\tld.param.u32 %r1, [helper_param_0];\n"
	"\t.loc 1 8 1\n\tadd.s32 %r2, %r1, 1;\n\tst.param.b32 [back+0], %r2;\n\tret;\n}\n"
	".visible .entry one(.param .u64 one_param_0, .param .u32 one_param_1)\n.maxntid 128\n{\n"
	"\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<2>;\n\t.reg .b64 %rd<4>;\n"
	"\t.shared .align 4 .b8 tile[64];\n"
	"\t.loc 1 10 1\n\tld.param.u64 %rd1, [one_param_0];\n\tld.param.u32 %r1, [one_param_1];\n"
	"\tsetp.eq.s32 %p1, %r1, 0;\n\tmov.f32 %f1, 0f3F800000;\n"
	"$L1: // .loc 1 99 1\n"
	"\t.loc 1 11 3\n\t/* } */ @!%p1 add.s32 %r1, %r1, -1;\n"
	"\t.loc 1 12 1, function_name $L_str+4, inlined_at 1 3 4\n\tsetp.gt.s32 %p2, %r1, 0; mov.u32 %r2, %tid.x;\n"
	"\t.loc 1 11 9\n\t@%p2 bra $L1;\n"
	"\t{ // callseq\n\t.reg .b32 temp;\n\t.param .b32 a;\n\t.param .b32 back;\n"
	"\t.loc 1 13 1\n\tst.param.b32 [a+0], %r1;\n\tcall.uni (back), helper, (a);\n"
	"\t.loc 1 14 1\n\tld.param.b32 %r3, [back+0];\n\t}\n"
	"\t.loc 1 15 1\n\tst.global.v2.u32 [%rd1], {%r3, %r2};\n\tret;\n}\n"
	".entry two()\n{\n\t.loc 1 11 1\n\tret;\n}\n" FILES;

static bool is_kernel(void *arg, const char *name)
{
	return !arg || !strcmp(arg, name);
}

static struct {
	const char *expr, *condition;
	unsigned line;
} now;

static bool texts(void *arg, unsigned line, const char **expr, const char **condition)
{
	(void)arg;
	now.line = line;
	*expr = now.expr ? now.expr : "";
	*condition = now.condition ? now.condition : "";
	return true;
}

static struct ptx_probe at(unsigned line, enum ptx_probe_kind kind)
{
	return (struct ptx_probe){.kind = kind,
		.file = "a.cu",
		.line = line,
		.is_kernel = is_kernel,
		.texts = texts,
		.log_at = 4096,
		.log_room = 100};
}

static const struct ptx_probe_table table = {576, 8};

/* --- what is put in --- */

static const char begins[] = "{\n\t.reg .b64 %tsdb_area;\n";

/* A line may do nothing but set registers of its own, or write to its area. */
static void check_line(const char *line)
{
	static const char *const writes[] = {"red.global.add.u64 [%tsdb_", "st.global.u32 [%tsdb_i",
		"st.global.u64 [%tsdb_i", "st.global.f64 [%tsdb_i"};
	const char *p = line + strspn(line, "\t");

	if (*p == '.')
		return;
	if (*p == '@') {
		p += 1 + (p[1] == '!');
		assert_memory_equal(p, "%tsdb_p", 7);
		p = strchr(p, ' ') + 1;
	}
	for (unsigned i = 0; i < sizeof writes / sizeof *writes; i++)
		if (!strncmp(p, writes[i], strlen(writes[i])))
			return;
	assert_true(strncmp(p, "st.", 3) && strncmp(p, "red.", 4) && strncmp(p, "bra", 3) &&
		    strncmp(p, "ret", 3) && strncmp(p, "exit", 4) && strncmp(p, "bar", 3) &&
		    strncmp(p, "call", 4) && strncmp(p, "trap", 4));
	assert_memory_equal(strpbrk(p, " ") + 1, "%tsdb_", 6); /* what it sets */
	if (!strncmp(p, "atom.", 5))
		assert_non_null(strstr(p, "[%tsdb_area+"));
}

/* The text without what was put in; counts the blocks. */
static char *stripped(const char *changed, unsigned *ret_blocks)
{
	struct buf out = BUF_INIT;
	const char *p = changed, *q;

	*ret_blocks = 0;
	q = strstr(p, AREA_LINE);
	assert_non_null(q);
	buf_add(&out, p, (size_t)(q - p));
	p = q + strlen(AREA_LINE);
	while ((q = strstr(p, begins))) {
		buf_add(&out, p, (size_t)(q - p));
		for (p = q + 2; *p != '}'; p = strchr(p, '\n') + 1) {
			char *line = strndup(p, strcspn(p, "\n"));

			check_line(line);
			free(line);
		}
		p += 2;
		++*ret_blocks;
	}
	buf_str(&out, p);
	return buf_steal(&out);
}

static char *changed(struct ptx_probe *p, unsigned n)
{
	struct buf out = BUF_INIT;
	unsigned blocks, places = 0;
	char *plain;

	assert_null(ptx_probe(&out, text, sizeof text, p, n, &table));
	for (unsigned i = 0; i < n; i++)
		places += p[i].places;
	if (!places) {
		assert_int_equal(out.len, 0);
		return NULL;
	}
	assert_int_equal(out.data[out.len - 1], 0);
	plain = stripped((char *)out.data, &blocks);
	assert_string_equal(plain, text);
	assert_int_equal(blocks, places);
	free(plain);
	return buf_steal(&out);
}

/* The code is right before the text. */
static void is_before(const char *code, const char *what)
{
	char *both = xasprintf("}\n%s", what);

	assert_non_null(strstr(code, both));
	free(both);
}

static void places(void **state)
{
	struct ptx_probe p = at(11, PTX_PROBE_COUNT);
	char *code = changed(&p, 1);

	(void)state;
	/* twice in one, behind the label; once in two, another kernel of the file */
	assert_int_equal(p.places, 3);
	assert_false(p.in_function);
	is_before(code, "@!%p1 add.s32");
	is_before(code, "@%p2 bra $L1;");
	free(code);
	p = at(11, PTX_PROBE_COUNT);
	p.arg = "one";
	free(changed(&p, 1));
	assert_int_equal(p.places, 2);
	p = at(9, PTX_PROBE_COUNT); /* the next line that has code */
	p.file = "src/a.cu";
	code = changed(&p, 1);
	assert_int_equal(p.places, 1);
	is_before(code, "ld.param.u64 %rd1");
	free(code);
	p = at(12, PTX_PROBE_COUNT);
	free(changed(&p, 1));
	assert_int_equal(p.places, 1);
	p = at(99, PTX_PROBE_COUNT); /* in a comment */
	assert_null(changed(&p, 1));
	p = at(11, PTX_PROBE_COUNT);
	p.file = "b.cu";
	assert_null(changed(&p, 1));
	p.file = "c/a.cu";
	assert_null(changed(&p, 1));
}

static void a_call(void **state)
{
	struct ptx_probe p = at(13, PTX_PROBE_COUNT);
	struct buf out = BUF_INIT;
	struct err *e;
	char *code = changed(&p, 1);

	(void)state;
	is_before(code, "{ // callseq"); /* not between the argument and the call */
	free(code);
	p = at(14, PTX_PROBE_COUNT);
	e = ptx_probe(&out, text, sizeof text, &p, 1, &table);
	assert_non_null(e);
	assert_true(p.refused);
	assert_string_equal(
		e->what, "one, line 14: it begins between a call and what the call returns");
	err_free(e);
	p = at(8, PTX_PROBE_COUNT);
	code = changed(&p, 1);
	assert_true(p.in_function);
	assert_non_null(strstr(code, "ld.global.u64 %tsdb_i0, [%tsdb_area+0];"));
	free(code);
}

static void expressions(void **state)
{
	static const char *const good[] = {"%r1", "%r1 * 3 - -%r2", "%f1 / 2.5 + %p1",
		"(%rd1 >> 3) % 7", "s32[%rd1 + 8]", "f64[%rd1 + lane * 8]",
		"u8[&tile + threadIdx.x]", "f32[&table + 4]", "u32[&one_param_1]", "&tile + 3",
		"s8(%r1 << 30)", "!%f1 || %r1 && s32[%rd1] || f32[%rd1]",
		"f32(%r2) >= 1 == (%tid.y < 3)", "~%r1 ^ %nctaid.z | 1 & 0x10"};
	(void)state;

	for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
		for (unsigned kind = PTX_PROBE_HIST; kind <= PTX_PROBE_BY; kind++) {
			struct ptx_probe p = at(15, kind);

			now.expr = good[i];
			now.condition = good[(i + 1) % (sizeof good / sizeof *good)];
			free(changed(&p, 1));
			assert_int_equal(p.places, 1);
		}
	now.expr = now.condition = NULL;
}

static struct ptx_probe print_at(unsigned line, unsigned nvalues)
{
	struct ptx_probe p = at(line, PTX_PROBE_PRINT);

	p.nvalues = nvalues;
	return p;
}

/* What lanes log: the types of the values, the sum of which the kernel does not see. */
static void logs(void **state)
{
	struct ptx_probe two[2] = {at(15, PTX_PROBE_COUNT), print_at(15, 8)};
	char *code;

	(void)state;
	now.expr = "%r1, %f1, %p1, u8(%r1), threadIdx.x, f64[%rd1 + 8], %rd1, (%r1) + 0.5";
	assert_int_equal(ptx_print_count(now.expr), 8);
	two[1].log_of = 1;
	code = changed(two, 2);
	/* s32, f32, bool, u8, u32, f64, s64, double */
	assert_non_null(strstr(code, "st.global.u32 [%tsdb_i"));
	assert_non_null(strstr(code, ", 0x97940a85;"));
	assert_non_null(strstr(code, "or.b32 %tsdb_w, %tsdb_w, 256;")); /* its number */
	/* its own cell counts, and no record lies behind the log's last */
	assert_non_null(strstr(code, "[%tsdb_area+584], %tsdb_i"));
	assert_non_null(strstr(code, ", 100;"));
	assert_null(strstr(code, "vote.sync")); /* all lanes that are there */
	free(code);
	now.condition = "%r1 > 3";
	two[1] = print_at(15, 8);
	code = changed(&two[1], 1);
	assert_non_null(strstr(code, "vote.sync.ballot.b32 %tsdb_u1, %tsdb_p1, %tsdb_u0;"));
	free(code);
	now.expr = "";
	now.condition = NULL;
	assert_int_equal(ptx_print_count(" "), 0);
	assert_int_equal(ptx_print_count("u8(1, 2), s32[3, 4]"), 2);
	two[1] = print_at(15, 8);
	free(changed(&two[1], 1));
	now.expr = NULL;
}

static void logs_refused(void **state)
{
	struct ptx_probe p = print_at(15, 2);
	struct buf out = BUF_INIT;
	char old[sizeof text];
	struct err *e;

	(void)state;
	now.expr = "1, 2, 3";
	e = ptx_probe(&out, text, sizeof text, &p, 1, &table);
	assert_non_null(e);
	assert_string_equal(e->what, "one, line 15: it has more than 2 expressions");
	err_free(e);
	now.expr = "1, ";
	free(changed(&p, 1));
	now.expr = "1,, 2";
	e = ptx_probe(&out, text, sizeof text, &p, 1, &table);
	assert_non_null(e);
	err_free(e);
	now.expr = "1";
	memcpy(old, text, sizeof text);
	memcpy(strstr(old, "8.0"), "6.1", 3);
	e = ptx_probe(&out, old, sizeof old, &p, 1, &table);
	assert_non_null(e);
	assert_string_equal(e->what,
		"the PTX is of version 6.1, and what threads show needs instructions of 6.2");
	err_free(e);
	memcpy(strstr(old, "6.1"), "6.2", 3);
	assert_null(ptx_probe(&out, old, sizeof old, &p, 1, &table));
	buf_free(&out);
	now.expr = NULL;
}

static void refused(void **state)
{
	static const char *const bad[][2] = {
		{"%r4", "one, line 15: %r4 has no value here: nothing before sets it"},
		{"%r9", "one, line 15: there is no register %r9 here, or it is none that a changed kernel knows"},
		{"%r01",
			"one, line 15: there is no register %r01 here, or it is none that a changed kernel knows"},
		{"temp", "one, line 15: there is no variable temp in the PTX"},
		{"tile", "one, line 15: tile is the address of a variable: &tile"},
		{"s32[&helper_param_0]",
			"one, line 15: there is no variable helper_param_0 in the PTX"},
		{"&one_param_1 + 1", "one, line 15: the address of a parameter is no value here"},
		{"s64[&one_param_1]", "one, line 15: one_param_1 has only 4 bytes"},
		{"s32[%f1]", "one, line 15: an address is no floating number"},
		{"1 +", "one, line 15: the expression ends too soon"},
		{"1; exit", "one, line 15: \"; exit\" is too much"},
		{"%r1]", "one, line 15: \"]\" is too much"},
		{"%clock",
			"one, line 15: there is no register %clock here, or it is none that a changed kernel knows"},
	};
	static const char own
		[] = HEAD ".entry one()\n{\n.reg .b32 %tsdb_i0;\n.loc 1 1 1\nret;\n}\n" FILES,
	     small[] =
		     ".version 8.0\n.target sm_75\n.address_size 32\n.entry one()\n{\n.loc 1 1 1\nret;\n}\n" FILES,
	     cut[] = HEAD ".entry one()\n{\n.loc 1 1 1\nret;\n";
	struct buf out = BUF_INIT;
	struct ptx_probe p;
	struct err *e;

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		p = at(15, PTX_PROBE_HIST);
		now.expr = bad[i][0];
		e = ptx_probe(&out, text, sizeof text, &p, 1, &table);
		assert_non_null(e);
		assert_string_equal(e->what, bad[i][1]);
		err_free(e);
	}
	now.expr = NULL;
	p = at(1, PTX_PROBE_COUNT);
	e = ptx_probe(&out, own, sizeof own, &p, 1, &table);
	assert_non_null(e);
	assert_string_equal(e->what, "the PTX has names of tsdb's own");
	err_free(e);
	e = ptx_probe(&out, small, sizeof small, &p, 1, &table);
	assert_non_null(e);
	err_free(e);
	e = ptx_probe(&out, cut, sizeof cut, &p, 1, &table);
	assert_non_null(e);
	err_free(e);
	assert_int_equal(out.len, 0);
}

/* Every beginning of the text, and each with one byte another: nothing outside is read. */
static void damaged(void **state)
{
	struct ptx_probe p;

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		char *copy = malloc(n ? n : 1);
		struct buf out = BUF_INIT;

		memcpy(copy, text, n);
		if (n)
			copy[n * 7919 % n] ^= (char)(1 + n % 255);
		p = n % 2 ? at(11, PTX_PROBE_COUNT) : print_at(11, 1);
		err_free(ptx_probe(&out, copy, n, &p, 1, &table));
		buf_free(&out);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(a_call),
		cmocka_unit_test(expressions),
		cmocka_unit_test(logs),
		cmocka_unit_test(logs_refused),
		cmocka_unit_test(refused),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
