/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the GPU times in a trace with the host's clock, device by device: no work runs before
 * its call, nor after a wait for it has ended (clocks.h). Devices that both keep within their
 * bounds are on one clock. Surprise: the bounds can prove a clock wrong but not right; their
 * distance shows how much is known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "engine/clocks.h"
#include "shell/line/interrupt.h"
#include "shell/trace/trace.h"
#include "state/state.h"

enum { DEVICES_MAX = 64, IDS_MAX = 1 << 20, WAITS_MAX = 256 };

/* A wait that is under way. */
struct wait {
	uint64_t seq, end; /* end: of the last work that it covers */
	unsigned device;
};

struct looking {
	uint32_t *ctx_device, *stream_ctx; /* by id; UINT32_MAX: not known */
	uint64_t *stream_end;		   /* by id: of the last work on it, GPU time */
	size_t nctx, nstream;
	struct clock_bounds b[DEVICES_MAX];
	uint64_t n[DEVICES_MAX];
	struct wait wait[WAITS_MAX];
	unsigned nwait;
};

static uint32_t *place(uint32_t **v, size_t *n, uint64_t id)
{
	if (id >= IDS_MAX)
		return NULL;
	if (id >= *n) {
		size_t want = (size_t)id * 2 + 16;

		*v = xrealloc(*v, want * sizeof **v);
		for (size_t i = *n; i < want; i++)
			(*v)[i] = UINT32_MAX;
		*n = want;
	}
	return &(*v)[id];
}

static void learn_ctx(struct looking *l, uint64_t ctx, uint64_t device)
{
	uint32_t *p = place(&l->ctx_device, &l->nctx, ctx);

	if (p && device < DEVICES_MAX)
		*p = (uint32_t)device;
}

static void learn_stream(struct looking *l, uint64_t stream, uint64_t ctx)
{
	size_t had = l->nstream;
	uint32_t *p = place(&l->stream_ctx, &l->nstream, stream);

	if (l->nstream != had) {
		l->stream_end = xrealloc(l->stream_end, l->nstream * sizeof *l->stream_end);
		for (size_t i = had; i < l->nstream; i++)
			l->stream_end[i] = 0;
	}
	if (p && ctx < UINT32_MAX)
		*p = (uint32_t)ctx;
}

static unsigned device_of_ctx(const struct looking *l, uint64_t ctx)
{
	return ctx < l->nctx && l->ctx_device[ctx] < DEVICES_MAX ? l->ctx_device[ctx] : UINT32_MAX;
}

static void take_work(struct looking *l, const struct sbt_cmd *c)
{
	uint64_t stream = sbt_cmd_stream(c);
	unsigned d = stream < l->nstream ? device_of_ctx(l, l->stream_ctx[stream]) : UINT32_MAX;

	if (d == UINT32_MAX || !c->gpu_start_ns || c->result || c->gpu_end_ns < c->gpu_start_ns)
		return;
	clocks_asked(&l->b[d], c->host_ns, c->gpu_start_ns);
	l->n[d]++;
	if (c->gpu_end_ns > l->stream_end[stream])
		l->stream_end[stream] = c->gpu_end_ns;
}

/* Begins a wait: a stream's covers what was submitted to it, a context's all of its streams. */
static void begin_wait(struct looking *l, const struct sbt_cmd *c)
{
	uint64_t only = c->u.sync.scope == SBT_SYNC_STREAM ? c->u.sync.stream : SBT_NO_ID;
	struct wait w = {.seq = c->seq, .device = UINT32_MAX};

	if (c->result || c->u.sync.scope == SBT_SYNC_EVENT ||
		(c->u.sync.scope == SBT_SYNC_STREAM && only >= l->nstream))
		return;
	w.device = device_of_ctx(l, only < l->nstream ? l->stream_ctx[only] : c->ctx);
	for (size_t i = 0; i < l->nstream; i++) {
		if ((only == SBT_NO_ID ? l->stream_ctx[i] == c->ctx : i == only) &&
			l->stream_end[i] > w.end)
			w.end = l->stream_end[i];
	}
	if (w.device != UINT32_MAX && w.end)
		l->wait[l->nwait++ % WAITS_MAX] = w;
}

static void end_wait(struct looking *l, const struct sbt_cmd *c)
{
	for (unsigned i = 0; i < WAITS_MAX && i < l->nwait; i++) {
		struct wait *w = &l->wait[i];

		if (w->seq != c->u.sync_end.begin || !w->end || c->result)
			continue;
		clocks_waited(&l->b[w->device], c->host_ns, w->end);
		w->end = 0;
	}
}

static void take(struct looking *l, const struct sbt_cmd *c)
{
	switch (c->kind) {
	case SBT_CTX_CREATE:
		learn_ctx(l, c->u.ctx_create.new_ctx, c->u.ctx_create.device);
		learn_stream(l, c->u.ctx_create.default_stream, c->u.ctx_create.new_ctx);
		break;
	case SBT_STREAM_CREATE:
		learn_stream(l, c->u.stream_create.new_stream, c->ctx);
		break;
	case SBT_SYNC:
		begin_wait(l, c);
		break;
	case SBT_SYNC_END:
		end_wait(l, c);
		break;
	default:
		take_work(l, c);
	}
}

/* Learns what existed before the trace's first command. */
static struct err *from_state(struct looking *l, struct sbt_reader *r)
{
	uint64_t first = sbt_reader_first_seq(r);
	struct state_context ctx;
	struct state_stream st;
	struct state *s;

	if (first < 2)
		return NULL;
	TRY(state_at(&s, r, first - 1));
	for (unsigned i = 0; state_context(s, i, &ctx); i++)
		learn_ctx(l, ctx.id, ctx.device);
	for (unsigned i = 0; state_stream(s, i, &st); i++)
		learn_stream(l, st.id, st.ctx);
	state_free(s);
	return NULL;
}

/* Calls fn for all commands; with l NULL it only finds the times of the first and the last. */
static struct err *walk(struct looking *l, struct sbt_reader *r, uint64_t *first, uint64_t *last)
{
	struct sbt_cursor *cur;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cur, r));
	while (!(e = sbt_cursor_next(cur, &c)) && c && !interrupt_flag) {
		if (l)
			take(l, c);
		else if (!*first || c->host_ns < *first)
			*first = c->host_ns;
		if (!l && c->host_ns > *last)
			*last = c->host_ns;
	}
	sbt_cursor_close(cur);
	return e;
}

/* A bound that is on the wrong side of 0 by less than the accuracy of times is ignored. */
static void tell_same(struct buf *out, const struct clock_bounds *b)
{
	const double before = b->low < 0 ? -(double)b->low / 1e3 : 0,
		     behind = b->high > 0 ? (double)b->high / 1e3 : 0;

	if (b->high == INT64_MAX)
		buf_printf(out,
			"the host's, as far as can be said: at most %.1f us before it, no wait bounds the other side",
			before);
	else
		buf_printf(out, "the host's, between %.1f us before and %.1f us behind", before,
			behind);
	if (b->low > 0 || b->high < 0)
		buf_printf(out, " (host times are good for %d us)", CLOCKS_READ_NS / 1000);
}

static void tell(struct buf *out, unsigned device, const struct clock_bounds *b, uint64_t n)
{
	double least, most;

	buf_printf(out, "clock       device %u, %" PRIu64 " times: ", device, n);
	switch (clocks_distance(b)) {
	case CLOCKS_UNSTEADY:
		buf_printf(out,
			"not a steady distance from the host's: at least %.1f us behind it and at least %.1f us before it",
			(double)b->low / 1e3, -(double)b->high / 1e3);
		break;
	case CLOCKS_BEHIND:
		buf_printf(out, "at least %.1f us behind the host's", (double)b->low / 1e3);
		break;
	case CLOCKS_BEFORE:
		buf_printf(out, "at least %.1f us before the host's", -(double)b->high / 1e3);
		break;
	case CLOCKS_SAME:
		tell_same(out, b);
		break;
	}
	if (clocks_bounds_drift(b, &least, &most))
		buf_printf(out, "; drift between %+.3f and %+.3f ppm", least * 1e6, most * 1e6);
	buf_byte(out, '\n');
}

struct err *trace_clocks(struct sbt_reader *r, struct buf *out)
{
	struct looking l = {0};
	uint64_t first = 0, last = 0;
	bool any = false;
	struct err *e;

	TRY(walk(NULL, r, &first, &last));
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		clocks_bounds_init(&l.b[i], first + (last - first) / 2);
	e = from_state(&l, r);
	if (!e)
		e = walk(&l, r, NULL, NULL);
	for (unsigned i = 0; i < DEVICES_MAX && !e; i++) {
		if (!l.n[i])
			continue;
		tell(out, i, &l.b[i], l.n[i]);
		any = true;
	}
	if (!e && !any)
		buf_str(out, "clock       no GPU times were recorded (record --timestamps)\n");
	free(l.ctx_device);
	free(l.stream_ctx);
	free(l.stream_end);
	return e;
}
