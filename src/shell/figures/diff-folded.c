/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff --folded: each stack with its value in A and in B, as difffolded.pl prints and
 * flamegraph.pl draws them. Both sides are what tsdb export folded writes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "export/export.h"
#include "shell/figures/diff-text.h"

/* A line of a folded file. */
struct folded_row {
	const char *stack; /* in the text */
	uint64_t value[2]; /* of A, of B */
};
struct folded {
	struct folded_row *v;
	size_t n, cap;
};

static struct err *write_side(const struct export_ask *ask, char **ret_text)
{
	struct export_result r;
	size_t size = 0;
	FILE *f;
	struct err *e;

	*ret_text = NULL;
	f = open_memstream(ret_text, &size);
	if (!f)
		return err_sys(errno, "no memory for the stacks");
	e = export_run(ask, f, &r);
	if (fclose(f) && !e)
		e = err_sys(errno, "no memory for the stacks");
	if (!e && r.interrupted)
		e = err_new(ERR_INTERRUPTED, "interrupted");
	return e;
}

/* Cuts a text into its lines; the value is behind the last space. */
static void take_lines(struct folded *f, char *text, unsigned side)
{
	char *save, *space;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		space = strrchr(line, ' ');
		if (!space)
			continue;
		*space = 0;
		MAKE_ROOM(f->v, f->n, f->cap);
		f->v[f->n] = (struct folded_row){.stack = line};
		f->v[f->n++].value[side] = strtoull(space + 1, NULL, 10);
	}
}

static int by_stack(const void *x, const void *y)
{
	return strcmp(((const struct folded_row *)x)->stack, ((const struct folded_row *)y)->stack);
}

/* Makes one row of those with the same stack. */
static void join(struct folded *f)
{
	size_t n = 0;

	if (f->n)
		qsort(f->v, f->n, sizeof *f->v, by_stack);
	for (size_t i = 0; i < f->n; i++) {
		if (n && !strcmp(f->v[n - 1].stack, f->v[i].stack)) {
			f->v[n - 1].value[0] += f->v[i].value[0];
			f->v[n - 1].value[1] += f->v[i].value[1];
		} else {
			f->v[n++] = f->v[i];
		}
	}
	f->n = n;
}

static void print_rows(struct session *s, const struct folded *f)
{
	for (size_t i = 0; i < f->n; i++)
		out_printf(s->out, "%s %" PRIu64 " %" PRIu64 "\n", f->v[i].stack, f->v[i].value[0],
			f->v[i].value[1]);
}

struct err *diff_folded(struct session *s, const struct diff_show *d, const struct compare_ask *ask,
	const char *weight)
{
	const struct export_source of[2] = {{.r = d->a.r}, {.r = d->b.r}};
	struct export_ask x = {.format = export_format("folded"),
		.nsources = 1,
		.symbols = session_symbols(s),
		.stream = SBT_NO_ID,
		.cancelled = ask->cancelled,
		.arg = ask->arg};
	struct folded f = {0};
	char *text[2] = {NULL, NULL};
	struct err *e = NULL;

	if (weight && !export_weight_parse(weight, &x.weight))
		return err_new(ERR_USAGE, "--weight takes gpu, count or bytes, not \"%s\"", weight);
	for (unsigned i = 0; !e && i < 2; i++) {
		x.sources = &of[i];
		x.first = i ? ask->range_b.first : ask->range_a.first;
		x.last = i ? ask->range_b.last : ask->range_a.last;
		e = write_side(&x, &text[i]);
		if (!e)
			take_lines(&f, text[i], i);
	}
	if (!e) {
		join(&f);
		print_rows(s, &f);
	}
	free(f.v);
	free(text[0]);
	free(text[1]);
	return e;
}
