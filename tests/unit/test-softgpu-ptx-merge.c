/* SPDX-License-Identifier: Apache-2.0
 *
 * Several PTX texts that become one: each row is what the merged module gives, or why there is
 * none (PTX ISA 9.0, "Linking Directives"; strong, weak and extern are as linkers know them).
 */
#include "ptx-test.h"
#include "softgpu/ptx/ptx-merge.h"

/* k: what a text's function of that name returns, and values of variables */
#define CALL(f)                                                                                    \
	"{ .param .b32 r; call (r), " f "; ld.param.b32 %r1, [r]; add.u32 %r0, %r0, %r1; }\n"
#define READ(v) "ld.global.u32 %r1, [" v "]; add.u32 %r0, %r0, %r1;\n"
#define KERNEL(body)                                                                               \
	".visible .entry k(.param .u64 o) {\n.reg .b32 %r<4>; .reg .b64 %d<2>;\n"                  \
	"ld.param.u64 %d0, [o]; mov.u32 %r0, 0;\n" body "st.global.u32 [%d0], %r0; ret; }\n"
#define GIVES(linkage, f, value)                                                                   \
	linkage " .func (.param .b32 r) " f "() { .reg .b32 %r0; mov.u32 %r0, " value              \
		"; st.param.b32 [r], %r0; ret; }\n"
#define EXTERN(f) ".extern .func (.param .b32 r) " f "();\n"

static const struct {
	const char *text[3];
	unsigned want;
	const char *says; /* of the merge, or of what reads it; NULL: it runs */
} rows[] = {
	/* one text */
	{{KERNEL(CALL("f")), NULL, NULL}, 0, "f"},
	{{GIVES("", "f", "3") KERNEL(CALL("f"))}, 3, NULL},
	/* a function of another text, before and behind */
	{{GIVES(".visible", "f", "3"), EXTERN("f") KERNEL(CALL("f"))}, 3, NULL},
	{{EXTERN("f") KERNEL(CALL("f")), GIVES(".visible", "f", "3")}, 3, NULL},
	{{EXTERN("f") KERNEL(CALL("f")), GIVES(".weak", "f", "3")}, 3, NULL},
	/* private ones are each text's own */
	{{GIVES("", "f", "3") KERNEL(CALL("f")), GIVES("", "f", "4")}, 3, NULL},
	{{GIVES("", "f", "3"), GIVES("", "f", "4") KERNEL(CALL("f"))}, 4, NULL},
	{{GIVES("", "f", "3"), GIVES("", "f", "4"), GIVES("", "f", "5") KERNEL(CALL("f"))}, 5,
		NULL},
	{{".global .u32 v = 3;\n", ".global .u32 v = 4;\n" KERNEL(READ("v"))}, 4, NULL},
	{{".const .u32 v = 3;\n", ".const .u32 v = 4;\n" KERNEL("ld.const.u32 %r0, [v];\n")}, 4,
		NULL},
	{{".shared .u32 v;\n",
		 ".shared .u32 v;\n" KERNEL("st.shared.u32 [v], 9; ld.shared.u32 %r0, [v];\n")},
		9, NULL},
	{{".global .u32 v = 3;\n" KERNEL(READ("v")), ".global .u32 v = 4;\n"}, 3, NULL},
	/* a private one and a public one of the same name */
	{{".global .u32 v = 3;\n" KERNEL(READ("v")), ".visible .global .u32 v = 4;\n"}, 3, NULL},
	{{".visible .global .u32 v = 3;\n", ".global .u32 v = 4;\n" KERNEL(READ("v"))}, 4, NULL},
	{{GIVES("", "f", "3") KERNEL(CALL("f")), GIVES(".visible", "f", "4")}, 3, NULL},
	{{GIVES("", "f", "3"), EXTERN("f") KERNEL(CALL("f")), GIVES(".visible", "f", "4")}, 4,
		NULL},
	{{GIVES("", "f", "3"), EXTERN("f") KERNEL(CALL("f"))}, 0, "f"},
	{{".global .u32 v = 3;\n", ".extern .global .u32 v;\n" KERNEL(READ("v")),
		 ".visible .global .u32 v = 4;\n"},
		4, NULL},
	/* variables of another text */
	{{".visible .global .u32 v = 3;\n", ".extern .global .u32 v;\n" KERNEL(READ("v"))}, 3,
		NULL},
	{{".extern .global .u32 v;\n" KERNEL(READ("v")), ".visible .global .u32 v = 3;\n"}, 3,
		NULL},
	/* the first of weak ones; a strong one before a weak one */
	{{GIVES(".weak", "f", "3"), GIVES(".weak", "f", "4") KERNEL(CALL("f"))}, 3, NULL},
	{{GIVES(".weak", "f", "3") KERNEL(CALL("f")), GIVES(".weak", "f", "4")}, 3, NULL},
	{{GIVES(".visible", "f", "3"), GIVES(".weak", "f", "4") KERNEL(CALL("f"))}, 3, NULL},
	{{".weak .global .u32 v = 3;\n", ".weak .global .u32 v = 4;\n" KERNEL(READ("v"))}, 3, NULL},
	{{".common .global .u32 v;\n", ".common .global .u32 v;\n" KERNEL(READ("v"))}, 0, NULL},
	{{GIVES(".weak", "f", "3"), GIVES(".visible", "f", "4") KERNEL(CALL("f"))}, 0,
		"'f' of text 1 is weak before: its strong definition must come first"},
	/* twice */
	{{GIVES(".visible", "f", "3"), GIVES(".visible", "f", "4") KERNEL(CALL("f"))}, 0,
		"'f' of text 1 is defined before"},
	{{".visible .global .u32 v = 3;\n", ".visible .global .u32 v = 4;\n" KERNEL(READ("v"))}, 0,
		"'v' of text 1 is defined before"},
	{{KERNEL(""), KERNEL("")}, 0, "'k' of text 1 is defined before"},
	{{"", GIVES(".visible", "f", "3"), GIVES(".visible", "f", "4")}, 0,
		"'f' of text 2 is defined before"},
	/* comments and texts are none of it */
	{{"/* .visible .func f() { } */\n// .visible .func f() {}\n",
		 GIVES(".visible", "f", "3") KERNEL(CALL("f"))},
		3, NULL},
	{{".global .u32 v = 3;\n", ".global .u32 v = 4; /* v */ // v\n.global .u32 w = 5;\n" KERNEL(
					   READ("v") READ("w"))},
		9, NULL},
	{{".file 1 \"v;}{\"\n", ".file 1 \"\\\"v\"\n.global .u32 v = 4;\n" KERNEL(READ("v"))}, 4,
		NULL},
};

static void merged_texts(void **state)
{
	static const char *const names[] = {"text 0", "text 1", "text 2"};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ptx_input in[3];
		char whole[3][4096], log[512] = "", *text;
		struct ptx_module *m = NULL;
		unsigned n = 0;
		size_t size;

		for (; n < 3 && rows[i].text[n]; n++) {
			snprintf(whole[n], sizeof whole[n], "%s%s", PTX_HEAD, rows[i].text[n]);
			in[n] = (struct ptx_input){names[n], whole[n]};
		}
		text = ptx_merge(in, n, &size, log, sizeof log);
		if (text) {
			assert_int_equal(strlen(text), size);
			m = ptx_load(text, size, log, sizeof log);
		}
		if (m && ptx_link(m, place_var, NULL, log, sizeof log) != PTX_LINKED) {
			ptx_free(m);
			m = NULL;
		}
		if (m) {
			uint32_t *out = device(4);
			struct ptx_fault f = {0};

			if (launch_of(m, "k", 1, 1, &out, &f))
				snprintf(log, sizeof log, "%s", f.text);
			else if (rows[i].says)
				fail_msg("row %zu runs", i);
			else if (*out != rows[i].want)
				fail_msg("row %zu gives %u, not %u", i, *out, rows[i].want);
			else
				log[0] = '\0';
			ptx_free(m);
		}
		if (rows[i].says ? !strstr(log, rows[i].says) : log[0] != '\0')
			fail_msg("row %zu: \"%s\"", i, log);
		free(text);
	}
}

/* The names of the first text stay, others' private ones change, and only if they are words. */
static void names(void **state)
{
	static const struct ptx_input in[] = {
		{"a", PTX_HEAD ".global .u32 first = 1;\n.visible .global .u32 all = 2;\n"},
		{"b", PTX_HEAD ".global .u32 own = 1;\n.global .u32 own2 = 2;\n"
			       ".visible .global .u64 at[2] = {own, own2};\n"
			       ".visible .entry k(.param .u32 own) { .reg .b32 %own; ret; }\n"}};
	char log[100], *text;
	size_t size;

	text = ptx_merge(in, 2, &size, log, sizeof log);
	assert_non_null(text);
	assert_non_null(strstr(text, ".u32 first = 1"));
	assert_non_null(strstr(text, ".u32 all = 2"));
	assert_non_null(strstr(text, ".u32 own__link1 = 1"));
	assert_non_null(strstr(text, ".u32 own2__link1 = 2"));
	assert_non_null(strstr(text, "{own__link1, own2__link1}"));
	assert_non_null(strstr(text, "%own;"));
	assert_null(strstr(strstr(text, ".version") + 1, ".version"));
	assert_null(strstr(strstr(text, ".target") + 1, ".target"));
	assert_null(strstr(strstr(text, ".address_size") + 1, ".address_size"));
	free(text);
	assert_null(ptx_merge(in, 0, &size, log, sizeof log));
	assert_true(log[0]);
	assert_null(
		ptx_merge(&(struct ptx_input){"e", " /* nothing */ "}, 1, &size, log, sizeof log));
	assert_string_equal(log, "nothing to link");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_texts),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("softgpu-ptx-merge", tests, NULL, NULL);
}
