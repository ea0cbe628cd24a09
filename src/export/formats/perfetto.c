/* SPDX-License-Identifier: Apache-2.0
 *
 * Perfetto's trace: a lane for each stream, made of GPU render stages, which carry the launch and
 * what they waited for; host threads with waits, ranges and calls, which point to the work that
 * they submitted by correlation id; call stacks weighted by GPU time; how many commands each
 * stream holds; and counters of devices.
 */
#include <stdlib.h>
#include <string.h>
#include "export/formats/formats.h"
#include "export/formats/perfetto-out.h"

/* What a stream holds: when its commands end, the next first. */
struct perfetto_queue {
	uint64_t *ends;
	size_t first, n, cap;
	uint64_t finished; /* when its last work ended */
	bool named;
};

/* --- streams: how much they hold --- */

static struct perfetto_queue *queue_of(struct perfetto *p, uint32_t stream)
{
	enum { QUEUES_MAX = 1 << 16 };

	if (stream >= QUEUES_MAX)
		return NULL;
	if (stream >= p->nqueues) {
		const uint32_t want = stream * 2 + 16;

		p->queues = xrealloc(p->queues, want * sizeof *p->queues);
		memset(p->queues + p->nqueues, 0, (want - p->nqueues) * sizeof *p->queues);
		p->nqueues = want;
	}
	return &p->queues[stream];
}

static void put_count(struct perfetto *p, uint32_t stream, uint64_t time, uint64_t n)
{
	struct perfetto_packet k =
		perfetto_event(p, time, TYPE_COUNTER, perfetto_track(p, TRACK_OF_QUEUE, stream));

	pb_u64(&k.w, EVENT_COUNTER, n);
	perfetto_event_close(p, &k);
}

static void name_stream(struct perfetto *p, uint32_t stream)
{
	char name[48];

	snprintf(name, sizeof name, "stream %u: commands submitted", stream);
	perfetto_name_counter(p, perfetto_track(p, TRACK_OF_QUEUE, stream), name, UNIT_NONE);
	snprintf(name, sizeof name, "stream %u: state", stream);
	perfetto_name_track(p, perfetto_track(p, TRACK_OF_STATE, stream), name);
}

/* Takes out what has ended before `until`. A stream's commands end in their order. */
static void drain(struct perfetto *p, uint32_t stream, struct perfetto_queue *q, uint64_t until)
{
	while (q->n && q->ends[q->first] <= until) {
		const uint64_t at = q->ends[q->first++];

		put_count(p, stream, at, --q->n);
	}
	if (!q->n)
		q->first = 0;
}

static void enqueue(struct perfetto *p, const struct export_event *ev)
{
	struct perfetto_queue *q = queue_of(p, ev->stream);

	if (!q || !ev->c->host_ns || ev->c->gpu_end_ns < ev->c->host_ns)
		return;
	drain(p, ev->stream, q, ev->c->host_ns);
	if (q->first + q->n == q->cap) {
		q->cap = q->cap ? 2 * q->cap : 64;
		q->ends = xrealloc(q->ends, q->cap * sizeof *q->ends);
	}
	q->ends[q->first + q->n++] = ev->c->gpu_end_ns;
	put_count(p, ev->stream, ev->c->host_ns, q->n);
}

PB_INLINE void put_name(
	struct perfetto *p, struct perfetto_packet *k, const char *category, const char *name)
{
	pb_u64(&k->w, EVENT_CATEGORY, perfetto_category(p, category));
	pb_u64(&k->w, EVENT_NAME, perfetto_name(p, name));
}

/* --- streams: their states --- */

static void put_state(
	struct perfetto *p, uint64_t track, unsigned type, uint64_t time, const char *name)
{
	struct perfetto_packet k = perfetto_event(p, time, type, track);

	put_name(p, &k, "state", name);
	perfetto_event_close(p, &k);
}

/* A slice for each state: every version of Perfetto draws it. */
static void put_states(struct perfetto *p, const struct export_event *ev)
{
	const uint64_t track = perfetto_track(p, TRACK_OF_STATE, ev->stream);

	for (unsigned i = 0; i < ev->nspans; i++) {
		const struct stream_span *s = &ev->spans[i];

		put_state(p, track, TYPE_BEGIN, s->from, export_doing_name(s->what));
		perfetto_slice_end(p, s->to, track);
	}
}

static void finish(struct perfetto *p, uint32_t stream, struct perfetto_queue *q)
{
	drain(p, stream, q, UINT64_MAX);
	if (q->finished)
		put_state(p, perfetto_track(p, TRACK_OF_STATE, stream), TYPE_INSTANT, q->finished,
			"Finished");
}

/* --- events --- */

PB_INLINE void dim(struct pb *w, unsigned field, uint64_t x, uint64_t y, uint64_t z)
{
	const size_t at = pb_open(w, field, PB_BELOW_128);

	pb_u64(w, 1, x);
	pb_u64(w, 2, y);
	pb_u64(w, 3, z);
	pb_close(w, at, PB_BELOW_128);
}

PB_INLINE void put_argument(struct pb *w, const char *name, size_t n, uint64_t v)
{
	const size_t at = pb_open(w, LAUNCH_ARG, PB_BELOW_128);

	pb_bytes(w, ARG_NAME, name, n);
	pb_u64(w, ARG_UINT, v);
	pb_close(w, at, PB_BELOW_128);
}
/* name: a literal. */
#define argument(w, name, v) put_argument(w, name, sizeof(name) - 1, v)

/* The lanes nest by the arguments "device" and "stream". */
PB_INLINE void put_launch(struct perfetto *p, struct pb *w, const struct export_event *ev)
{
	const struct sbt_cmd_launch *l = &ev->c->u.launch;
	const struct export_kernel *k = export_kernel(p->j, ev->kernel);
	const size_t at = pb_open(w, GPU_LAUNCH, PB_BELOW_16K);

	if (ev->what == EXPORT_KERNEL) {
		dim(w, LAUNCH_GRID, l->grid_x, l->grid_y, l->grid_z);
		dim(w, LAUNCH_GROUP, l->block_x, l->block_y, l->block_z);
		argument(w, "shared_mem_dynamic", l->shared);
	}
	if (k) {
		argument(w, "registers_per_thread", k->regs);
		argument(w, "shared_mem_static", k->static_shared);
	}
	if (ev->bytes)
		argument(w, "bytes", ev->bytes);
	argument(w, "device", ev->device);
	argument(w, "stream", ev->stream);
	argument(w, "seq", ev->c->seq);
	pb_close(w, at, PB_BELOW_16K);
}

static void put_stage(struct perfetto *p, const struct export_event *ev)
{
	const uint64_t context = perfetto_context(p, ev->c->ctx),
		       stage = perfetto_stage(p, ev->what), lane = perfetto_lane(p, ev->stream);
	const struct perfetto_plain *name = perfetto_plain(p, ev->name);
	struct perfetto_packet k = perfetto_open(p, ev->c->gpu_start_ns, PB_BELOW_16K);
	const size_t at = pb_open(&k.w, PACKET_GPU, PB_BELOW_16K);

	pb_u64(&k.w, GPU_ID, ev->c->seq);
	pb_u64(&k.w, GPU_DURATION, ev->gpu_ns);
	pb_u64(&k.w, GPU_CONTEXT, context);
	pb_u64(&k.w, GPU_GPU, p->source + (uint64_t)ev->device * p->j->ask->nsources);
	pb_u64(&k.w, GPU_QUEUE, lane);
	pb_u64(&k.w, GPU_STAGE, stage);
	pb_bytes(&k.w, GPU_NAME, name->text, name->len);
	for (unsigned i = 0; i < ev->nwaits; i++)
		pb_u64(&k.w, GPU_WAITS, ev->waits[i]);
	put_launch(p, &k.w, ev);
	pb_close(&k.w, at, PB_BELOW_16K);
	perfetto_close(p, &k);
}

static void put_gpu(struct perfetto *p, const struct export_event *ev)
{
	struct perfetto_queue *q = queue_of(p, ev->stream);

	if (q && !q->named)
		name_stream(p, ev->stream);
	if (q) {
		q->named = true;
		put_states(p, ev);
		if (q->finished < ev->c->gpu_end_ns)
			q->finished = ev->c->gpu_end_ns;
	}
	put_stage(p, ev);
	enqueue(p, ev);
}

/* A point on its thread, or the beginning of a slice. */
static void put_call(struct perfetto *p, const struct export_event *ev, unsigned type,
	uint64_t track, const char *category)
{
	const uint64_t stack = perfetto_stack(p, ev->c->stack);
	struct perfetto_packet k = perfetto_event(p, ev->c->host_ns, type, track);

	put_name(p, &k, category, ev->name);
	if (ev->what <= EXPORT_FILL)
		pb_u64(&k.w, EVENT_CORRELATION, ev->c->seq);
	if (stack)
		pb_u64(&k.w, EVENT_STACK, stack);
	if (stack && ev->timed && ev->what <= EXPORT_FILL)
		pb_u64(&k.w, EVENT_WEIGHT, ev->gpu_ns);
	perfetto_event_close(p, &k);
}

static void put_host(struct perfetto *p, const struct export_event *ev)
{
	const uint64_t from = ev->c->host_ns,
		       track = perfetto_track(p, TRACK_OF_THREAD, ev->c->thread);
	const char *category = ev->what == EXPORT_HOST_WAIT ? "wait"
			       : ev->what == EXPORT_RANGE   ? "range"
			       : ev->what == EXPORT_MARK    ? "mark"
							    : "call";

	if (!from)
		return;
	perfetto_thread(p, ev->c->thread);
	if ((ev->what == EXPORT_HOST_WAIT || ev->what == EXPORT_RANGE) && ev->host_end >= from) {
		put_call(p, ev, TYPE_BEGIN, track, category);
		perfetto_slice_end(p, ev->host_end, track);
	} else {
		put_call(p, ev, TYPE_INSTANT, track, category);
	}
}

static void end_source(struct perfetto *p)
{
	for (uint32_t i = 0; i < p->nqueues; i++) {
		finish(p, i, &p->queues[i]);
		free(p->queues[i].ends);
	}
	free(p->queues);
	perfetto_counters_end(p);
	perfetto_free(p);
	*p = (struct perfetto){.j = p->j,
		.source = p->source,
		.files = p->files,
		.nfiles = p->nfiles,
		.cap_files = p->cap_files};
}

static struct err *begin_source(struct perfetto *p)
{
	TRY(perfetto_file_begin(p));
	perfetto_begin(p);
	perfetto_pairs_begin(p);
	return NULL;
}

static struct err *put_all(struct perfetto *p)
{
	const struct export_event *ev;

	TRY(begin_source(p));
	perfetto_races_begin(p);
	for (;;) {
		TRY(export_next(p->j, &ev));
		if (!ev)
			return NULL;
		if (p->source != p->j->source) {
			end_source(p);
			p->source = p->j->source;
			TRY(begin_source(p));
		}
		put_host(p, ev);
		if (ev->timed && ev->what <= EXPORT_FILL)
			put_gpu(p, ev);
		perfetto_counters_put(p, ev);
		perfetto_races_put(p, ev);
		perfetto_pairs_put(p, ev);
		TRY(export_flush_some(p->j));
	}
}

struct err *export_perfetto(struct export_job *j)
{
	struct perfetto p = {.j = j};
	struct err *e = put_all(&p);

	end_source(&p);
	if (!e)
		e = perfetto_files_end(&p);
	free(p.files);
	return e;
}
