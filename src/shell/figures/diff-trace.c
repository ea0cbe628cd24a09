/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace of a comparison, with the places in the program that its stacks are.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"
#include "state/state.h"

struct err *diff_trace_open(struct diff_trace *t)
{
	struct state_kernel k;

	TRY(sbt_reader_open(&t->r, t->path));
	TRY(state_at(&t->st, t->r, UINT64_MAX));
	for (unsigned i = 0; state_kernel(t->st, i, &k); i++) {
		t->kernels.v = xrealloc(t->kernels.v, (t->kernels.n + 1) * sizeof *t->kernels.v);
		t->kernels.v[t->kernels.n++] = (struct summary_row){.name = xstrdup(k.name)};
	}
	t->places.size = sizeof(uint64_t);
	return NULL;
}

void diff_trace_close(struct diff_trace *t)
{
	free(t->places.at);
	summary_rows_free(&t->kernels);
	state_free(t->st);
	if (t->r)
		sbt_reader_close(t->r);
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h | 1;
}

uint64_t diff_trace_place(struct session *s, struct diff_trace *t, uint32_t stack)
{
	uint64_t *known = id_table_row(&t->places, stack, true);
	char *text, *at;

	if (known && *known)
		return *known;
	text = sums_site(s, t->r, stack, &t->kernels);
	at = strstr(text, " at ");
	if (at)
		*at = 0;
	const uint64_t h = hash_text(text);

	free(text);
	if (known)
		*known = h;
	return h;
}

uint64_t diff_two_place(void *two, bool b, uint32_t stack)
{
	struct diff_two *x = two;

	return diff_trace_place(x->s, b ? x->b : x->a, stack);
}

static const char *plain(void *two, const char *mangled)
{
	struct diff_two *x = two;

	return symbols_demangle(session_symbols(x->s), mangled);
}

static bool cancelled(void *two, uint64_t done, uint64_t of)
{
	struct diff_two *x = two;

	out_progress(x->s->out, "reading", done, of);
	return interrupt_flag;
}

struct compare_ask diff_two_ask(struct diff_two *two)
{
	return (struct compare_ask){.a = two->a->r,
		.b = two->b->r,
		.range_a.last = UINT64_MAX,
		.range_b.last = UINT64_MAX,
		.place = diff_two_place,
		.plain = plain,
		.cancelled = cancelled,
		.arg = two};
}
