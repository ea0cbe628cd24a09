/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of libtracesmith: any text as JSON, with questions by path. The first line is a path, the
 * rest the document.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "library/ts-session.h"

static void ask(ts_answer *a, const char *path)
{
	const char *text = NULL;
	uint64_t n = 0;
	double real;

	(void)ts_answer_real(a, path, &real);
	BUG_ON(!ts_answer_string(a, path, &text) && memchr(text, 0, strlen(text) + 1) == NULL);
	/* What has a number without a sign has a real one near it. */
	if (!ts_answer_number(a, path, &n) && !ts_answer_real(a, path, &real))
		BUG_ON(real < (double)n * 0.999 || real > (double)n * 1.001);
	/* A list has the elements that it counts, and no more. */
	if (!ts_answer_count(a, path, &n) && !strcmp(path, "") && *ts_answer_text(a) == '[') {
		char last[32];
		uint64_t m;

		snprintf(last, sizeof last, "[%llu]", (unsigned long long)n);
		BUG_ON(ts_answer_count(a, last, &m) != TS_NOT_FOUND);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = strndup((const char *)data, n), *rest;
	ts_answer *a;

	if (!text)
		return 0;
	rest = text + strcspn(text, "\n");
	rest += *rest == '\n';
	if (!library_answer(&a, strdup(rest), strdup(""))) {
		if (rest > text)
			rest[-1] = 0;
		ask(a, "");
		ask(a, text);
		ts_answer_free(a);
	}
	free(text);
	return 0;
}
