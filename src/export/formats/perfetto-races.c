/* SPDX-License-Identifier: Apache-2.0
 *
 * Races in Perfetto's format: each command of a pair is a slice of category "race" on a track of
 * its stream, as long as the command ran, and a flow joins the two. Work on the GPU has no flows
 * of its own in that format. A command without GPU times is a point on its host thread.
 */
#include <stdlib.h>
#include "export/formats/perfetto-out.h"
#include "base/first-where.h"

/* A command, and a race that it is one side of. */
struct race_end {
	uint64_t seq;
	size_t race;
};

static int by_seq(const void *a, const void *b)
{
	const struct race_end *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->race > y->race) - (x->race < y->race);
}

static bool within(const struct export_ask *a, const struct export_race *r)
{
	return r->a >= a->first && r->a <= a->last && r->b >= a->first && r->b <= a->last;
}

void perfetto_races_begin(struct perfetto *p)
{
	const struct export_ask *ask = p->j->ask;

	p->ends = ask->nraces ? xcalloc(2 * ask->nraces, sizeof *p->ends) : NULL;
	for (size_t i = 0; i < ask->nraces; i++) {
		if (!within(ask, &ask->races[i]))
			continue;
		p->ends[p->nends++] = (struct race_end){ask->races[i].a, i};
		p->ends[p->nends++] = (struct race_end){ask->races[i].b, i};
	}
	if (p->nends)
		qsort(p->ends, p->nends, sizeof *p->ends, by_seq);
}

/* The first end of this command; p->nends: it has none. */
static size_t first_end(const struct perfetto *p, uint64_t seq)
{
	const size_t at = FIRST_WHERE(p->nends, i, p->ends[i].seq >= seq);

	return at < p->nends && p->ends[at].seq == seq ? at : p->nends;
}

static void annotate(struct pb *w, const char *name, const char *text)
{
	const size_t at = pb_open(w, EVENT_ANNOTATION, PB_BELOW_128);

	pb_text(w, ANNOTATION_NAME, name);
	pb_text(w, ANNOTATION_TEXT, text);
	pb_close(w, at, PB_BELOW_128);
}

static void put_slice(struct perfetto *p, const struct export_event *ev, size_t end)
{
	const bool timed = ev->timed && ev->what <= EXPORT_FILL;
	const uint64_t track = timed ? perfetto_track(p, TRACK_OF_RACES, ev->stream)
				     : perfetto_track(p, TRACK_OF_THREAD, ev->c->thread);
	struct perfetto_packet k = perfetto_event(p, timed ? ev->c->gpu_start_ns : ev->c->host_ns,
		timed ? TYPE_BEGIN : TYPE_INSTANT, track);

	pb_u64(&k.w, EVENT_CATEGORY, perfetto_category(p, "race"));
	pb_u64(&k.w, EVENT_NAME, perfetto_name(p, ev->name));
	for (size_t i = end; i < p->nends && p->ends[i].seq == ev->c->seq; i++) {
		pb_fixed64(&k.w, EVENT_FLOW, p->ends[i].race + 1);
		annotate(&k.w, "race", p->j->ask->races[p->ends[i].race].what);
	}
	perfetto_event_close(p, &k);
	if (timed)
		perfetto_slice_end(p, ev->c->gpu_end_ns, track);
}

void perfetto_races_put(struct perfetto *p, const struct export_event *ev)
{
	const size_t end = p->nends ? first_end(p, ev->c->seq) : 0;
	char name[48];

	if (end == p->nends || ev->what == EXPORT_RANGE)
		return;
	if (ev->timed && ev->what <= EXPORT_FILL && id_is_new(&p->race_tracks, ev->stream)) {
		snprintf(name, sizeof name, "stream %u: races", ev->stream);
		perfetto_name_track(p, perfetto_track(p, TRACK_OF_RACES, ev->stream), name);
	}
	put_slice(p, ev, end);
}
