/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes the window command by command and looks at what each wrote: how many elements are NaN
 * or infinite, and where the first of them lie.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "engine/nan/nan-private.h"
#include "replay/values.h"

enum { PIECE = 1 << 20 };

/* --- elements --- */

/* The bits of the exponent, which are all set in what is not finite. */
static uint64_t exponent_of(enum replayer_as as)
{
	switch (as) {
	case REPLAYER_AS_F16:
		return 0x7c00;
	case REPLAYER_AS_BF16:
		return 0x7f80;
	case REPLAYER_AS_F32:
		return 0x7f800000;
	case REPLAYER_AS_F64:
		return UINT64_C(0x7ff0000000000000);
	default:
		return 0;
	}
}

static uint64_t magnitude_of(uint64_t bits, enum replayer_as as)
{
	return bits & ((UINT64_C(1) << (8 * value_types[as].bytes - 1)) - 1);
}

bool nan_is_nan(uint64_t bits, enum replayer_as as)
{
	const uint64_t e = exponent_of(as);

	return e && magnitude_of(bits, as) > e;
}

bool nan_is_inf(uint64_t bits, enum replayer_as as)
{
	const uint64_t e = exponent_of(as);

	return e && magnitude_of(bits, as) == e;
}

static void keep(struct nan_work *w, const struct nan_element *x, bool is_nan)
{
	if (w->nbad == NAN_KEPT)
		return;
	if (!w->bad)
		w->bad = xmalloc(NAN_KEPT * sizeof *w->bad);
	/* NaN first: infinities may be what the program means */
	if (is_nan && w->nbad && w->nans == 0)
		w->nbad = 0;
	if (!is_nan && w->nans)
		return;
	w->bad[w->nbad++] = *x;
}

void nan_look(const struct nan_span *s, const uint8_t *bytes, size_t n, uint64_t addr,
	struct nan_work *w, uint64_t *nans, uint64_t *infs)
{
	const unsigned size = value_types[s->as].bytes;
	const uint64_t e = exponent_of(s->as);
	uint64_t bits = 0;

	for (size_t i = (size_t)(-addr & (size - 1)); e && i + size <= n; i += size) {
		memcpy(&bits, bytes + i, size);
		if ((bits & e) != e)
			continue;
		const bool is_nan = magnitude_of(bits, s->as) > e;

		if (w)
			keep(w,
				&(struct nan_element){.addr = addr + i,
					.bits = bits,
					.as = s->as,
					.typed = s->typed,
					.param = s->param},
				is_nan);
		*nans += is_nan;
		*infs += !is_nan;
	}
}

struct err *nan_read(struct nan_job *j, struct nan_element *x)
{
	x->bits = 0;
	return device_read(j->d, x->addr, &x->bits, value_types[x->as].bytes);
}

/* --- a work --- */

/* d2d copies carry the type of what they copy. */
static void type_of_copy(struct nan_job *j, const struct nan_work *w, struct nan_span *s)
{
	const struct nan_work *from =
		w->src.width ? nan_last_writer(j, w->src.addr, w->src.width, w->seq) : NULL;
	const struct nan_span *is =
		from ? nan_span_at(j, from->writes, from->nwrites, w->src.addr) : NULL;

	if (is) {
		s->as = is->as;
		s->typed = is->typed;
	}
}

/* What is a NaN only as a type that the values look like is counted, and accuses nobody. */
static void doubt(struct nan_job *j, const struct nan_span *s, const uint8_t *bytes, size_t n,
	uint64_t addr, uint64_t seq)
{
	struct nan_result *r = j->ret;
	struct nan_work w = {0};
	uint64_t infs = 0;

	nan_look(s, bytes, n, addr, r->doubtful ? NULL : &w, &w.nans, &infs);
	if (!r->doubtful && w.nans) {
		r->doubtful_first = w.bad[0];
		r->doubtful_seq = seq;
	}
	r->doubtful += w.nans;
	free(w.bad);
}

/* Looks at n bytes of span s, or at those that count. */
static void look_at_bytes(struct nan_job *j, const struct nan_span *s, const uint8_t *bytes,
	size_t n, uint64_t addr, struct nan_work *w)
{
	const uint64_t size = value_types[s->as].bytes, first = j->addr & ~(size - 1),
		       last = sat_add(j->addr, j->size - 1) | (size - 1); /* in whole elements */

	if (s->typed == NAN_TYPE_VALUES) {
		doubt(j, s, bytes, n, addr, w->seq);
		return;
	}
	if (!j->size) {
		nan_look(s, bytes, n, addr, w, &w->nans, &w->infs);
		return;
	}
	if (addr > last || addr + (n - 1) < first)
		return;
	const uint64_t from = addr < first ? first : addr,
		       end = addr + (n - 1) > last ? last : addr + (n - 1);

	nan_look(s, bytes + (from - addr), (size_t)(end - from + 1), from, w, &w->nans, &w->infs);
}

static struct err *look_at_span(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_work *w, size_t at, uint8_t *bytes)
{
	for (uint64_t done = 0; done < j->spans[at].size; done += PIECE) {
		struct nan_span *s = &j->spans[at];
		const size_t n = s->size - done < PIECE ? (size_t)(s->size - done) : PIECE;

		TRY(device_read(j->d, s->addr + done, bytes, n));
		if (!done && w->kind == SBT_COPY)
			type_of_copy(j, w, s);
		else if (!done && (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH))
			nan_type_span(j, st, c, s, true, bytes, n);
		if (s->as == REPLAYER_AS_AUTO) {
			j->ret->untyped += n;
			continue;
		}
		j->ret->elements += n / value_types[s->as].bytes;
		j->ret->guessed += s->typed == NAN_TYPE_VALUES ? n / value_types[s->as].bytes : 0;
		look_at_bytes(j, s, bytes, n, s->addr + done, w);
	}
	return NULL;
}

static struct err *look_at_work(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_work *w, uint8_t *bytes)
{
	TRY(nan_split(j, st, c, &w->writes, &w->nwrites));
	w->written = true;
	j->ret->launches += w->kind == SBT_LAUNCH || w->kind == SBT_GRAPH_LAUNCH;
	if (!w->nwrites || w->to_host)
		return NULL;
	for (size_t i = 0; i < w->nwrites; i++)
		TRY(look_at_span(j, st, c, w, w->writes + i, bytes));
	return NULL;
}

/* --- commands that were kept back --- */

/* What command c found in memory may be of a work that it let go. */
static void drop_others(struct nan_job *j, struct nan_work *c, const struct nan_work *late)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nbad; i++) {
		const struct nan_element *x = &c->bad[i];
		const bool is_nan = nan_is_nan(x->bits, x->as);

		if (!nan_wrote(j, late, x->addr, value_types[x->as].bytes)) {
			c->bad[n++] = *x;
			continue;
		}
		c->nans -= is_nan;
		c->infs -= !is_nan;
	}
	c->nbad = n;
}

/* The changes of a launch that was kept back are not known where a device does not tell them: it
 * may have written all memory that it was given; a graph launch, any. */
static void may_write(
	struct nan_job *j, const struct state *st, const struct sbt_cmd *c, struct nan_work *w)
{
	struct state_alloc a;

	w->writes = j->nspans;
	for (unsigned i = 0; state_alloc(st, i, &a); i++) {
		if (c->kind == SBT_LAUNCH && !nan_reaches(st, c, a.addr))
			continue;
		MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
		j->spans[j->nspans++] =
			(struct nan_span){.addr = a.addr, .size = a.size, .param = NAN_NO_PARAM};
	}
	w->nwrites = j->nspans - w->writes;
}

/* Looks at what work w wrote, which the command at the position has let go. */
static struct err *look_at_released(struct nan_job *j, struct nan_work *w, uint8_t *bytes)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state *st;
	struct err *e;

	TRY(nan_before(j, w->seq, &st, &cursor, &c));
	if (!j->exact && (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH))
		may_write(j, st, c, w);
	e = look_at_work(j, st, c, w, bytes);
	sbt_cursor_close(cursor);
	state_free(st);
	return e;
}

/* Looks at what works wrote that command seq, at the position, has let go. */
static struct err *look_at_late(
	struct nan_job *j, uint64_t seq, struct nan_work *of, uint8_t *bytes)
{
	for (size_t i = 0; j->nlate && i < j->nwork && j->work[i].seq < seq; i++) {
		struct nan_work *w = &j->work[i];
		uint64_t wait;

		if (!w->wait || w->ran != UINT64_MAX)
			continue;
		TRY(device_kept(j->d, w->seq, &wait, NULL));
		if (wait)
			continue;
		w->ran = seq;
		TRY(look_at_released(j, w, bytes));
		if (of)
			drop_others(j, of, w);
	}
	return NULL;
}

/* Looks at what the command at the position wrote, unless it is kept back. */
static struct err *look_at_command(struct nan_job *j, const struct state *st,
	const struct sbt_cmd *c, struct nan_work *w, uint8_t *bytes)
{
	TRY(device_kept(j->d, w->seq, &w->wait, NULL));
	if (!w->wait)
		return look_at_work(j, st, c, w, bytes);
	w->ran = UINT64_MAX;
	j->nlate++;
	return NULL;
}

static struct err *each_command(
	struct nan_job *j, struct sbt_cursor *cursor, struct state *st, uint8_t *bytes)
{
	const struct sbt_cmd *c;
	size_t i = 0;

	TRY(sbt_cursor_seek(cursor, j->first));
	TRY(sbt_cursor_next(cursor, &c));
	while (c && c->seq <= j->last) {
		struct nan_work *w =
			i < j->nwork && j->work[i].seq == c->seq ? &j->work[i++] : NULL;

		if (w || j->nlate)
			TRY(device_seek(j->d, c->seq));
		if (w) {
			engine_progress(j->en, "looking at what commands wrote,", i, j->nwork);
			TRY(look_at_command(j, st, c, w, bytes));
		}
		if (j->nlate)
			TRY(look_at_late(j, c->seq, w, bytes));
		if (engine_cancelled(j->en))
			return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, c->seq);
		TRY(state_apply(st, c));
		TRY(sbt_cursor_next(cursor, &c));
	}
	return NULL;
}

struct err *nan_scan(struct nan_job *j)
{
	struct sbt_cursor *cursor;
	struct state *st;
	uint8_t *bytes;
	struct err *e;

	TRY(device_seek(j->d, j->first - 1));
	TRY(state_at(&st, j->en->trace.reader, j->first - 1));
	e = sbt_cursor_open(&cursor, j->en->trace.reader);
	if (e) {
		state_free(st);
		return e;
	}
	bytes = xmalloc(PIECE);
	e = each_command(j, cursor, st, bytes);
	free(bytes);
	sbt_cursor_close(cursor);
	state_free(st);
	return e;
}

/* --- places --- */

void nan_place(const struct state *st, const struct sbt_cmd *c, const struct nan_span *s,
	struct nan_element *x)
{
	struct state_kernel k;
	struct state_alloc a;
	uint32_t pair[2];
	uint64_t base = 0;

	x->param = s ? s->param : NAN_NO_PARAM;
	if (state_alloc_at(st, x->addr, &a)) {
		x->alloc = a.addr;
		x->alloc_size = a.size;
		x->alloc_seq = a.alloc_seq;
	}
	x->index = x->alloc_size ? (x->addr - x->alloc) / value_types[x->as].bytes : 0;
	if (!c || c->kind != SBT_LAUNCH || x->param == NAN_NO_PARAM ||
		!state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) ||
		8 * (uint64_t)x->param + 8 > k.params.len)
		return;
	memcpy(pair, (const uint8_t *)k.params.p + 8 * (size_t)x->param, 8);
	if (pair[1] != 8 || pair[0] > c->u.launch.args.len || c->u.launch.args.len - pair[0] < 8)
		return;
	memcpy(&base, (const uint8_t *)c->u.launch.args.p + pair[0], 8);
	if (base <= x->addr)
		x->index = (x->addr - base) / value_types[x->as].bytes;
}
