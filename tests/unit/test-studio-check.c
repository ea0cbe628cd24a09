/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask the studio, and what: hosts, origins, tokens, questions, events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "studio/core/studio-check.h"
#include "studio/core/studio-events.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define RIGHT "Bearer " TOKEN
enum { PORT = 8080 };

static void refuses(const char *host, const char *origin, const char *site, const char *auth)
{
	const struct studio_says says = {host, origin, site, auth};

	assert_non_null(studio_refusal(&says, PORT, TOKEN));
}

static void takes(const char *host, const char *origin, const char *site, const char *auth)
{
	const struct studio_says says = {host, origin, site, auth};

	assert_null(studio_refusal(&says, PORT, TOKEN));
}

static void hosts_and_origins(void **state)
{
	(void)state;
	takes("127.0.0.1:8080", NULL, NULL, RIGHT);
	takes("localhost:8080", "http://localhost:8080", "same-origin", RIGHT);
	refuses(NULL, NULL, NULL, RIGHT);
	refuses("", NULL, NULL, RIGHT);
	refuses("127.0.0.1", NULL, NULL, RIGHT);
	refuses("127.0.0.1:80800", NULL, NULL, RIGHT);
	refuses("127.0.0.1:8080.attacker.example", NULL, NULL, RIGHT);
	refuses("attacker.example:8080", "http://attacker.example:8080", NULL, RIGHT);
	refuses("0.0.0.0:8080", NULL, NULL, RIGHT);
	refuses("127.0.0.1:8080", "http://localhost:8080", NULL, RIGHT);
	refuses("127.0.0.1:8080", "https://127.0.0.1:8080", NULL, RIGHT);
	refuses("127.0.0.1:8080", "null", NULL, RIGHT);
	refuses("127.0.0.1:8080", "", NULL, RIGHT);
	refuses("127.0.0.1:8080", NULL, "cross-site", RIGHT);
	refuses("127.0.0.1:8080", NULL, "none", RIGHT);
}

static void tokens(void **state)
{
	const struct studio_says without = {"127.0.0.1:8080", NULL, "none", NULL};

	(void)state;
	refuses("127.0.0.1:8080", NULL, NULL, NULL);
	refuses("127.0.0.1:8080", NULL, NULL, "");
	refuses("127.0.0.1:8080", NULL, NULL, "Bearer ");
	refuses("127.0.0.1:8080", NULL, NULL, TOKEN);
	refuses("127.0.0.1:8080", NULL, NULL, "Basic " TOKEN);
	refuses("127.0.0.1:8080", NULL, NULL, "Bearer 0123456789abcdef0123456789abcdee");
	refuses("127.0.0.1:8080", NULL, NULL, "Bearer 1123456789abcdef0123456789abcdef");
	refuses("127.0.0.1:8080", NULL, NULL, RIGHT "0");
	refuses("127.0.0.1:8080", NULL, NULL, "Bearer 0123456789abcdef");
	assert_null(studio_refusal(&without, PORT, NULL)); /* the page itself */
}

static void routes(void **state)
{
	static const char *const nowhere[] = {"", "//", "/trace/", "/../trace", "/ASK", "/ask?x"};
	bool other;

	(void)state;
	assert_int_equal(studio_route("GET", "/", &other), STUDIO_PAGE);
	assert_int_equal(studio_route("POST", "/ask", &other), STUDIO_ASK);
	assert_int_equal(studio_route("GET", "/ask", &other), STUDIO_NOWHERE);
	assert_true(other);
	for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
		assert_int_equal(studio_route("GET", nowhere[i], &other), STUDIO_NOWHERE);
		assert_false(other);
	}
}

static void numbers(void **state)
{
	static const char *const none[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0",
		"9007199254740993", "99999999999999999999"};
	uint64_t n = 7;

	(void)state;
	assert_true(studio_number("9007199254740992", &n));
	assert_int_equal(n, (uint64_t)1 << 53);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		assert_false(studio_number(none[i], &n));
		assert_int_equal(n, (uint64_t)1 << 53);
	}
}

/* --- questions --- */

static void asks(const char *text, const char *command)
{
	json_t *m = NULL;
	struct err *e = studio_question(text, strlen(text), &m);

	assert_null(e);
	assert_string_equal(json_string_value(json_object_get(m, "command")), command);
	assert_string_equal(json_string_value(json_object_get(m, "type")), "request");
	json_decref(m);
}

static void is_refused(const char *text)
{
	json_t *m = NULL;
	struct err *e = studio_question(text, strlen(text), &m);

	if (!e)
		fail_msg("%s", text);
	assert_null(m);
	err_free(e);
}

static void questions(void **state)
{
	(void)state;
	asks("{\"command\":\"next\"}", "next");
	asks("{\"command\":\"tsdb/goto\",\"arguments\":{\"seq\":21}}", "tsdb/goto");
	asks("{\"command\":\"tsdb/goto\",\"arguments\":{\"place\":\"end\"}}", "tsdb/goto");
	asks("{\"command\":\"tsdb/explore\",\"arguments\":{\"budget\":\"2.5s\"}}", "tsdb/explore");
	asks("{\"command\":\"cancel\",\"arguments\":{\"progressId\":\"request-12\"}}", "cancel");
	asks("{\"command\":\"setDataBreakpoints\",\"arguments\":{\"breakpoints\":"
	     "[{\"dataId\":\"0x302000000 64\",\"accessType\":\"write\"}]}}",
		"setDataBreakpoints");
	asks("{\"command\":\"next\",\"arguments\":{\"granularity\":\"line\"}}", "next");
	asks("{\"command\":\"next\",\"arguments\":{\"threadId\":2,\"singleThread\":true}}", "next");
	asks("{\"command\":\"tsdb/focus\",\"arguments\":{\"thread\":\"5,0,0\"}}", "tsdb/focus");
	asks("{\"command\":\"writeMemory\",\"arguments\":{\"memoryReference\":\"0x10\","
	     "\"data\":\"AAAA\"}}",
		"writeMemory");
	asks("{\"command\":\"writeMemory\",\"arguments\":{\"data\":\"AA==\"}}", "writeMemory");
	for (unsigned i = 0; studio_question_name(i); i++) {
		char text[128];

		snprintf(text, sizeof text, "{\"command\":\"%s\"}", studio_question_name(i));
		asks(text, studio_question_name(i));
	}
}

static void is_refused_argument(const char *command, const char *name, const char *text)
{
	char *whole = xasprintf(
		"{\"command\":\"%s\",\"arguments\":{\"%s\":\"%s\"}}", command, name, text);

	is_refused(whole);
	free(whole);
}

static void data_of_a_limit(void **state)
{
	char text[5473];

	(void)state;
	memset(text, 'A', sizeof text);
	text[5464] = 0; /* 4,098 bytes */
	is_refused_argument("writeMemory", "data", text);
	text[5460] = 0;
	{
		char *whole = xasprintf(
			"{\"command\":\"writeMemory\",\"arguments\":{\"data\":\"%s\"}}", text);

		asks(whole, "writeMemory");
		free(whole);
	}
}

static void questions_that_are_none(void **state)
{
	static const char *const triples[] = {"", "1", "1,2", "1,2,", "1,2,3,", "1,2,3,4", "-1,0,0",
		"1, 2,3", "(1,2,3)", "1,2,3\\n", "12345678901,0,0", "0x1,0,0"};
	static const char *const base64[] = {"", "A", "AAA", "AAAAA", "====", "A===", "AA=A",
		"=AAA", "AA A", "AAA\\n", "AA-_", "AAAA===="};
	char *deep = xmalloc(STUDIO_BODY_MAX + 2);

	(void)state;
	is_refused("");
	is_refused("null");
	is_refused("[]");
	is_refused("{}");
	is_refused("{\"command\":7}");
	is_refused("{\"command\":\"\"}");
	is_refused("{\"command\":\"next\"} ,");
	is_refused("{\"command\":\"next\",\"command\":\"next\"}");
	is_refused("{\"command\":\"next\",\"seq\":7}");
	is_refused("{\"command\":\"next\",\"arguments\":7}");
	is_refused("{\"command\":\"next\",\"arguments\":{\"granularity\":\"line\\n\"}}");
	is_refused("{\"command\":\"next\",\"arguments\":{\"granularity\":\"\"}}");
	is_refused("{\"command\":\"next\",\"arguments\":{\"singleThread\":1}}");
	is_refused("{\"command\":\"stepBack\",\"arguments\":{\"granularity\":\"line\"}}");
	is_refused("{\"command\":\"evaluate\",\"arguments\":{\"expression\":\"when\"}}");
	is_refused("{\"command\":\"launch\"}");
	is_refused("{\"command\":\"disconnect\"}");
	is_refused("{\"command\":\"tsdb/goto\",\"arguments\":{\"seq\":9007199254740993}}");
	is_refused("{\"command\":\"tsdb/goto\",\"arguments\":{\"seq\":-1}}");
	is_refused("{\"command\":\"tsdb/goto\",\"arguments\":{\"seq\":true}}");
	is_refused("{\"command\":\"tsdb/goto\",\"arguments\":{\"place\":\"end\\nshell\"}}");
	is_refused("{\"command\":\"tsdb/explore\",\"arguments\":{\"budget\":\"10s \"}}");
	is_refused("{\"command\":\"tsdb/explore\",\"arguments\":{\"budget\":\"s\"}}");
	is_refused("{\"command\":\"tsdb/whoWrote\",\"arguments\":{\"memoryReference\":\"302\"}}");
	is_refused("{\"command\":\"tsdb/whoWrote\",\"arguments\":{\"memoryReference\":"
		   "\"0x1 + 1\"}}");
	is_refused("{\"command\":\"cancel\",\"arguments\":{\"progressId\":\"request-\"}}");
	for (size_t i = 0; i < sizeof triples / sizeof *triples; i++)
		is_refused_argument("tsdb/focus", "thread", triples[i]);
	for (size_t i = 0; i < sizeof base64 / sizeof *base64; i++)
		is_refused_argument("writeMemory", "data", base64[i]);
	is_refused("{\"command\":\"setDataBreakpoints\",\"arguments\":{\"breakpoints\":"
		   "[{\"dataId\":\"0x1 4 if 1\",\"accessType\":\"write\"}]}}");
	is_refused("{\"command\":\"setDataBreakpoints\",\"arguments\":{\"breakpoints\":"
		   "[{\"dataId\":\"0x1 0\",\"accessType\":\"write\"}]}}");
	memset(deep, '[', STUDIO_BODY_MAX + 1);
	deep[STUDIO_BODY_MAX + 1] = 0;
	is_refused(deep);
	deep[STUDIO_BODY_MAX - 1] = 0;
	is_refused(deep);
	free(deep);
}

/* --- events --- */

static void put_is(const struct studio_events *e, uint64_t after, const char *want)
{
	struct buf b = BUF_INIT;

	studio_events_put(e, after, &b);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void events(void **state)
{
	struct studio_events e = {0};

	(void)state;
	put_is(&e, 0, "{\"next\":0,\"lost\":false,\"events\":[]}");
	put_is(&e, 5, "{\"next\":0,\"lost\":true,\"events\":[]}");
	studio_events_add(&e, "a", NULL);
	studio_events_add(&e, "b", json_pack("{s:i}", "x", 1));
	put_is(&e, 1,
		"{\"next\":2,\"lost\":false,\"events\":[{\"event\":\"b\",\"body\":{\"x\":1}}]}");
	put_is(&e, 2, "{\"next\":2,\"lost\":false,\"events\":[]}");
	for (unsigned i = 0; i < STUDIO_EVENTS_KEPT; i++)
		studio_events_add(&e, "c", NULL);
	put_is(&e, 1, "{\"next\":258,\"lost\":true,\"events\":[]}");
	put_is(&e, 257,
		"{\"next\":258,\"lost\":false,\"events\":[{\"event\":\"c\",\"body\":null}]}");
	put_is(&e, UINT64_MAX, "{\"next\":258,\"lost\":true,\"events\":[]}");
	studio_events_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_and_origins),
		cmocka_unit_test(tokens),
		cmocka_unit_test(routes),
		cmocka_unit_test(numbers),
		cmocka_unit_test(questions),
		cmocka_unit_test(questions_that_are_none),
		cmocka_unit_test(data_of_a_limit),
		cmocka_unit_test(events),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
