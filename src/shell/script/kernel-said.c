/* SPDX-License-Identifier: Apache-2.0
 *
 * What a dprintf inside a kernel shows, see kernel-said.h. In a replay the microscope stops where a
 * warp comes to the line; of a live program the software GPU sends records.
 */
#include "shell/script/kernel-said.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replayer/soft-probe.h"
#include "shell/print/kernel-text.h"
#include "shell/values/format-text.h"

/* "block (0,0,0), thread (3,0,0): ", "block (0,0,0), 32 threads from (0,0,0): " */
static void put_who(
	struct buf *b, const uint32_t block[3], const uint32_t thread[3], uint64_t lanes)
{
	const int n = __builtin_popcountll(lanes);

	buf_printf(b, "block (%u,%u,%u), ", block[0], block[1], block[2]);
	if (n == 1)
		buf_str(b, "thread");
	else
		buf_printf(b, "%d threads from", n);
	buf_printf(b, " (%u,%u,%u): ", thread[0], thread[1], thread[2]);
}

static void show(struct session *s, const struct breakpoint *bp, const char *text, struct err *e)
{
	out_str(s->out, text);
	if (e)
		out_error(s->out, err_wrap(e, "dprintf %d", bp->id));
	out_flush(s->out);
}

static void tell_left(struct session *s, const struct breakpoint *bp, const char *where, uint64_t n)
{
	out_printf(s->out,
		"[dprintf %d: %" PRIu64
		" more thread%s%s not shown; \"set dprintf-lines\" is the limit]\n",
		bp->id, n, n == 1 ? "" : "s", where);
}

/* --- in a replay --- */

struct said {
	char *text;
	uint64_t lanes;
};

/* The texts of the lanes that are at the point; returns how many. */
static unsigned take_texts(struct session *s, const struct breakpoint *bp, uint64_t lanes,
	struct said *v, struct err **ret)
{
	unsigned n = 0, at;

	*ret = NULL;
	for (unsigned l = 0; l < SOFT_LANES && !*ret; l++) {
		struct buf b = BUF_INIT;

		if (!(lanes >> l & 1))
			continue;
		*ret = format_text_lane(s, bp->message, l, &b);
		for (at = 0; at < n && strcmp(v[at].text, buf_cstr(&b)) != 0;)
			at++;
		if (at < n)
			v[at].lanes |= 1ull << l;
		else
			v[n++] = (struct said){buf_steal(&b), 1ull << l};
		buf_free(&b);
	}
	return n;
}

static void thread_of(
	const struct session *s, const struct soft_stop *t, unsigned lane, uint32_t ret[3])
{
	const struct sbt_cmd *c = microscope_cmd((struct engine *)(uintptr_t)&s->engine);
	const uint64_t x = c && c->u.launch.block_x ? c->u.launch.block_x : 1,
		       y = c && c->u.launch.block_y ? c->u.launch.block_y : 1;
	const uint64_t at = (uint64_t)t->warp * t->width + lane;

	ret[0] = (uint32_t)(at % x);
	ret[1] = (uint32_t)(at / x % y);
	ret[2] = (uint32_t)(at / x / y);
}

static bool over_limit(struct session *s, const struct breakpoint *bp)
{
	const uint64_t limit = s->engine.set.number[SET_DPRINTF_LINES];

	return limit && bp->said_lines >= limit;
}

void kernel_said(struct session *s, struct breakpoint *bp)
{
	const struct soft_stop *t = kernel_stop(s);
	struct said v[SOFT_LANES];
	struct buf b = BUF_INIT;
	struct err *e = NULL;
	unsigned n = 0;

	if (bp->said_in != t->seq || bp->said_run != s->engine.live.runs)
		bp->said_lines = 0;
	bp->said_in = t->seq;
	bp->said_run = s->engine.live.runs;
	if (over_limit(s, bp))
		bp->said_left += (uint64_t)__builtin_popcountll(bp->said_lanes);
	else
		n = take_texts(s, bp, bp->said_lanes, v, &e);
	for (unsigned i = 0; i < n; i++) {
		uint32_t thread[3];

		if (over_limit(s, bp)) {
			bp->said_left += (uint64_t)__builtin_popcountll(v[i].lanes);
		} else {
			thread_of(s, t, (unsigned)__builtin_ctzll(v[i].lanes), thread);
			put_who(&b, t->block, thread, v[i].lanes);
			buf_str(&b, v[i].text);
			bp->said_lines++;
		}
		free(v[i].text);
	}
	show(s, bp, buf_cstr(&b), e);
	buf_free(&b);
}

/* Where the condition has no value, it does not hold. */
static bool holds(struct session *s, const char *cond, unsigned lane)
{
	struct lang_value v = {0};
	double d = 0;
	struct err *e = kernel_lane_value(s, cond, (int)lane, &v);

	if (!e)
		e = value_double(s, &v, &d);
	lang_value_free(&v);
	if (e)
		d = 0;
	err_free(e);
	return d != 0;
}

void kernel_says(void *session, struct breakpoint *bp, uint64_t lanes)
{
	bp->said_lanes = lanes;
	for (unsigned l = 0; bp->cond && l < SOFT_LANES; l++)
		if (lanes >> l & 1 && !holds(session, bp->cond, l))
			bp->said_lanes &= ~(1ull << l);
}

void kernel_said_all(void *session)
{
	struct session *s = session;
	struct breakpoint *bp;
	char where[40];

	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)) != NULL; i++) {
		if (!bp->said_left)
			continue;
		snprintf(where, sizeof where, " of #%" PRIu64, bp->said_in);
		tell_left(s, bp, where, bp->said_left);
		bp->left_out += bp->said_left;
		bp->said_left = 0;
	}
}

/* --- of the live program --- */

static struct lang_value value_of(const struct soft_print *r, unsigned k)
{
	const struct soft_print_value *p = &r->value[k];
	struct soft_value one = {.type = p->type, .bytes = p->bytes};

	if (r->bad >> k & 1 || !p->bytes)
		return (struct lang_value){0};
	one.value[0] = p->bits;
	return kernel_lane(&one, 0);
}

/* In a replay the launch is a command of the trace. */
static void tell_not_shown(
	struct session *s, const struct breakpoint *bp, const struct soft_print *r)
{
	char where[40] = "";

	if (s->focus == FOCUS_REPLAY)
		snprintf(where, sizeof where, " of #%" PRIu64, r->launch);
	if (r->left)
		tell_left(s, bp, where, r->left);
	if (r->lost)
		out_printf(s->out,
			"[dprintf %d: %" PRIu64
			" more thread%s%s not kept: they showed more than there is room for; a condition makes it less]\n",
			bp->id, r->lost, r->lost == 1 ? "" : "s", where);
}

void kernel_printed(void *session, struct breakpoint *bp, const struct soft_print *r)
{
	struct session *s = session;
	struct lang_value v[SOFT_PRINT_ARGS];
	struct buf b = BUF_INIT;
	struct err *e;

	if (!r->lanes) {
		tell_not_shown(s, bp, r);
		return;
	}
	for (unsigned k = 0; k < SOFT_PRINT_ARGS; k++)
		v[k] = value_of(r, k);
	put_who(&b, r->block, r->thread, r->lanes);
	e = format_text_values(s, bp->message, v, SOFT_PRINT_ARGS, &b);
	show(s, bp, buf_cstr(&b), e);
	for (unsigned k = 0; k < SOFT_PRINT_ARGS; k++)
		lang_value_free(&v[k]);
	buf_free(&b);
}
