/* SPDX-License-Identifier: Apache-2.0
 *
 * Two runs in one export, see export-pair.h. One number moves a whole run: durations and gaps stay
 * what they were.
 */
#include "shell/tools/export-pair.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/checked.h"
#include "compare/compare.h"
#include "shell/line/interrupt.h"

enum { STEP_MOST = 4096 };

struct finding {
	struct session *s;
	struct export_pairs *ret;
};

static void take_pair(void *arg, uint64_t a, uint64_t b)
{
	struct export_pairs *p = ((struct finding *)arg)->ret;

	MAKE_ROOM(p->v, p->n, p->cap);
	p->v[p->n++] = (struct export_pair){a, b};
}

static const char *plain(void *arg, const char *mangled)
{
	return symbols_demangle(session_symbols(((struct finding *)arg)->s), mangled);
}

static bool cancelled(void *arg, uint64_t done, uint64_t of)
{
	out_progress(((struct finding *)arg)->s->out, "comparing", done, of);
	return interrupt_flag;
}

static struct err *compare_both(struct finding *x, struct sbt_reader *a, struct sbt_reader *b)
{
	const struct compare_ask ask = {.a = a,
		.b = b,
		.range_a.last = UINT64_MAX,
		.range_b.last = UINT64_MAX,
		.pair = take_pair,
		.plain = plain,
		.cancelled = cancelled,
		.arg = x};
	struct compare c;
	struct err *e = compare_run(&c, &ask);

	out_progress_end(x->s->out);
	if (e)
		return e;
	for (unsigned i = 0; i < COMPARE_WHATS; i++)
		x->ret->differences += c.by_what[i];
	compare_free(&c);
	return NULL;
}

/* --- the clock --- */

/* A cursor on its way forward; now NULL: at the beginning or the end. */
struct reading {
	struct sbt_cursor *cursor;
	const struct sbt_cmd *now;
};

/* When command seq began on the GPU; 0: it has no time. */
static struct err *begin_of(struct reading *r, uint64_t seq, uint64_t *ret)
{
	*ret = 0;
	if (!r->now || r->now->seq > seq || seq - r->now->seq > STEP_MOST) {
		TRY(sbt_cursor_seek(r->cursor, seq));
		TRY(sbt_cursor_next(r->cursor, &r->now));
	}
	while (r->now && r->now->seq < seq)
		TRY(sbt_cursor_next(r->cursor, &r->now));
	if (r->now && r->now->seq == seq && r->now->gpu_end_ns >= r->now->gpu_start_ns)
		*ret = r->now->gpu_start_ns;
	return NULL;
}

/* When the first pair with times began in both; 0: there is none. */
static struct err *first_begins(
	const struct export_pairs *p, struct reading *a, struct reading *b, uint64_t ret[2])
{
	ret[0] = ret[1] = 0;
	for (size_t i = 0; i < p->n && !interrupt_flag; i++) {
		TRY(begin_of(a, p->v[i].a, &ret[0]));
		if (ret[0])
			TRY(begin_of(b, p->v[i].b, &ret[1]));
		if (ret[0] && ret[1])
			return NULL;
	}
	ret[0] = ret[1] = 0;
	return NULL;
}

static struct err *no_clock(void)
{
	if (interrupt_flag)
		return err_new(ERR_INTERRUPTED, "interrupted");
	return err_cure(
		err_new(ERR_INCOMPLETE,
			"no command that both have has GPU times in both: there is no one clock"),
		"tsdb diff says where the two differ");
}

static struct err *one_clock(struct export_pairs *p, struct sbt_reader *a, struct sbt_reader *b)
{
	struct reading ra = {NULL, NULL}, rb = {NULL, NULL};
	uint64_t begin[2];
	struct err *e = sbt_cursor_open(&ra.cursor, a);

	if (!e)
		e = sbt_cursor_open(&rb.cursor, b);
	if (!e)
		e = first_begins(p, &ra, &rb, begin);
	if (!e && !begin[0])
		e = no_clock();
	if (!e && begin[0] < begin[1])
		p->shift[0].ns = begin[1] - begin[0];
	else if (!e)
		p->shift[1].ns = begin[0] - begin[1];
	if (ra.cursor)
		sbt_cursor_close(ra.cursor);
	if (rb.cursor)
		sbt_cursor_close(rb.cursor);
	return e;
}

static uint64_t moved(const void *shift, uint64_t ns)
{
	return sat_add(ns, ((const struct pair_shift *)shift)->ns);
}

struct err *export_pairs_find(
	struct export_pairs *ret, struct session *s, struct sbt_reader *a, struct sbt_reader *b)
{
	struct finding x = {s, ret};

	TRY(compare_both(&x, a, b));
	TRY(one_clock(ret, a, b));
	ret->sources[0] = (struct export_source){a, 0, moved, &ret->shift[0]};
	ret->sources[1] = (struct export_source){b, 1, moved, &ret->shift[1]};
	return NULL;
}

void export_pairs_free(struct export_pairs *p)
{
	free(p->v);
}
