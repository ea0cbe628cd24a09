/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the GPU times in a trace with the host's clock, see device-clocks.h: no work runs before
 * its call, nor after a wait for it has ended (clocks.h). Devices that both keep within their
 * bounds are on one clock. Surprise: the bounds can prove a clock wrong but not right; their
 * distance shows how much is known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "engine/device-clocks.h"
#include "sbt/sbt.h"
#include "state/state.h"

enum { IDS_MAX = 1 << 20, WAITS_MAX = 256 };

/* A wait that is under way. */
struct wait {
	uint64_t seq, end; /* end: of the last work that it covers */
	unsigned device;
};

struct looking {
	const struct engine *en;
	uint32_t *ctx_device, *stream_ctx; /* by id; UINT32_MAX: not known */
	uint64_t *stream_end;		   /* by id: of the last work on it, GPU time */
	size_t nctx, nstream;
	struct clock_bounds b[DEVICE_CLOCKS_MAX];
	uint64_t n[DEVICE_CLOCKS_MAX];
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

	if (p && device < DEVICE_CLOCKS_MAX)
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
	return ctx < l->nctx && l->ctx_device[ctx] < DEVICE_CLOCKS_MAX ? l->ctx_device[ctx]
								       : UINT32_MAX;
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

/* Goes through all commands. learn: for the bounds; else finds the first and the last time. */
static struct err *walk(
	struct looking *l, struct sbt_reader *r, bool learn, uint64_t *first, uint64_t *last)
{
	struct sbt_cursor *cur;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&cur, r));
	while (!(e = sbt_cursor_next(cur, &c)) && c) {
		if (engine_cancelled(l->en)) {
			e = err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, c->seq);
			break;
		}
		if (learn) {
			take(l, c);
			continue;
		}
		if (!*first || c->host_ns < *first)
			*first = c->host_ns;
		if (c->host_ns > *last)
			*last = c->host_ns;
	}
	sbt_cursor_close(cur);
	return e;
}

static void finish(struct device_clock *c)
{
	c->distance = clocks_distance(&c->bounds);
	c->has_drift = clocks_bounds_drift(&c->bounds, &c->least_drift, &c->most_drift);
}

struct err *device_clocks(const struct engine *en, struct sbt_reader *r,
	struct device_clock ret[DEVICE_CLOCKS_MAX], unsigned *ret_n)
{
	struct looking l = {.en = en};
	uint64_t first = 0, last = 0;
	struct err *e;

	*ret_n = 0;
	TRY(walk(&l, r, false, &first, &last));
	for (unsigned i = 0; i < DEVICE_CLOCKS_MAX; i++)
		clocks_bounds_init(&l.b[i], first + (last - first) / 2);
	e = from_state(&l, r);
	if (!e)
		e = walk(&l, r, true, NULL, NULL);
	for (unsigned i = 0; i < DEVICE_CLOCKS_MAX && !e; i++) {
		if (!l.n[i])
			continue;
		ret[*ret_n] = (struct device_clock){.device = i, .times = l.n[i], .bounds = l.b[i]};
		finish(&ret[(*ret_n)++]);
	}
	free(l.ctx_device);
	free(l.stream_ctx);
	free(l.stream_end);
	return e;
}
