/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts as sentences and as JSON, from values made by hand. That a verdict is right,
 * tests/e2e/cases/replay.py asks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include "base/json-put.h"
#include "sbt/cmd.h"
#include "shell/line/session.h"
#include "shell/print/verdict-text.h"

static struct session session;

static void says(const struct verdict *v, const char *want)
{
	struct buf b = BUF_INIT;

	verdict_print(&session, v, &b);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

/* Without seq no command's line follows. */
static struct verdict of(enum verdict_kind kind, enum verdict_reason reason)
{
	return (struct verdict){
		.kind = kind, .reason = reason, .node = SBT_NO_ID, .with_node = SBT_NO_ID};
}

static void values_are_in_sentences(void **state)
{
	struct verdict v = of(VERDICT_NOT_EXECUTED, VERDICT_LEFT_OUT);

	v.seq = 12;
	v.call = (char *)"cuStrange";
	says(&v,
		"Why: a call that is not executed again: #12 cuStrange. What it did beyond the memory that was recorded with it is missing here.\n");
	v = of(VERDICT_INCOMPLETE, VERDICT_MEMORY_NOT_RECORDED);
	v.detail = (char *)"3 pieces";
	says(&v, "Why: memory that the trace lacks: 3 pieces.\n");
	v = of(VERDICT_OPEN, VERDICT_HOST_MAY_WRITE);
	v.addr = 0x7f00;
	v.size = 64;
	says(&v,
		"Why: that could not be found out. #0 touches memory that the program and the device share, 0x7f00, 64 bytes:\n"
		"    what the program wrote there while commands ran is not in the trace. If it wrote nothing, the device disagrees with the recording.\n");
	v = of(VERDICT_NONE, VERDICT_REASON_NONE);
	says(&v, "");
}

static void what_could_not_be_found_out(void **state)
{
	struct verdict_unanswered u[] = {{VERDICT_ASK_RACES, 0, (char *)"no memory"},
		{VERDICT_ASK_MISSED, 1, NULL}, {VERDICT_ASK_HEAP, 2, NULL}};
	struct verdict v = of(VERDICT_OPEN, VERDICT_UNANSWERED);

	v.unanswered = u;
	v.nunanswered = 3;
	says(&v,
		"Why: that could not be found out.\n"
		"  whether commands race could not be found out: no memory\n"
		"  whether 1 launch is deterministic could not be found out: there was no time for it\n"
		"  whether 2 launches are deterministic could not be found out: what they take from the device's own heap cannot be put back\n");
}

/* A field that a sentence names and that is not there is a BUG(). */
static void every_reason_has_a_sentence(void **state)
{
	for (int r = VERDICT_REASON_NONE + 1; r <= VERDICT_NOT_ASKED; r++) {
		struct verdict v = of(VERDICT_OPEN, (enum verdict_reason)r);
		struct buf b = BUF_INIT;

		v.call = v.detail = (char *)"text";
		verdict_print(&session, &v, &b);
		assert_memory_equal(buf_cstr(&b), "Why: ", 5);
		assert_true(b.len > 10);
		assert_null(strpbrk(buf_cstr(&b), "{}"));
		assert_int_equal(b.data[b.len - 1], '\n');
		buf_free(&b);
	}
}

static void json_has_the_values(void **state)
{
	struct verdict v = of(VERDICT_HOST, VERDICT_HOST_CHANGED_COPY);
	struct buf b = BUF_INIT;
	struct why w;

	v.addr = 0x1000;
	why_make(&session, &v, &w);
	js_put(&b, why_object, &w);
	assert_string_equal(buf_cstr(&b),
		"{\"kind\":\"host_wrote\",\"reason\":\"host_changed_copy\",\"seq\":0,\"with\":0,\"addr\":\"0x1000\",\"size\":0,"
		"\"other_device\":false,\"unanswered\":[],\"text\":\"Why: memory that the host wrote meanwhile. What #0 copied lies on the device as "
		"recorded; the program had changed its copy at 0x1000 before that was looked at.\\u000a\"}");
	buf_free(&w.text);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_in_sentences),
		cmocka_unit_test(what_could_not_be_found_out),
		cmocka_unit_test(every_reason_has_a_sentence),
		cmocka_unit_test(json_has_the_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
