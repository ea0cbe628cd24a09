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

static void annotate(struct perfetto *p, const char *name, const char *text)
{
	pb_text(&p->n, ANNOTATION_NAME, name);
	pb_text(&p->n, ANNOTATION_TEXT, text);
	pb_message(&p->m, EVENT_ANNOTATION, &p->n);
}

static void put_slice(struct perfetto *p, const struct export_event *ev, size_t end)
{
	const bool timed = ev->timed && ev->what <= EXPORT_FILL;
	const uint64_t track = timed ? perfetto_track(p, TRACK_OF_RACES, ev->stream)
				     : perfetto_track(p, TRACK_OF_THREAD, ev->c->thread);

	pb_u64(&p->m, EVENT_TYPE, timed ? TYPE_BEGIN : TYPE_INSTANT);
	pb_u64(&p->m, EVENT_TRACK, track);
	pb_u64(&p->m, EVENT_CATEGORY, perfetto_category(p, "race"));
	pb_u64(&p->m, EVENT_NAME, perfetto_name(p, ev->name));
	for (size_t i = end; i < p->nends && p->ends[i].seq == ev->c->seq; i++) {
		pb_fixed64(&p->m, EVENT_FLOW, p->ends[i].race + 1);
		annotate(p, "race", p->j->ask->races[p->ends[i].race].what);
	}
	pb_message(&p->packet, PACKET_EVENT, &p->m);
	perfetto_packet(p, timed ? ev->c->gpu_start_ns : ev->c->host_ns);
	if (!timed)
		return;
	pb_u64(&p->m, EVENT_TYPE, TYPE_END);
	pb_u64(&p->m, EVENT_TRACK, track);
	pb_message(&p->packet, PACKET_EVENT, &p->m);
	perfetto_packet(p, ev->c->gpu_end_ns);
}

void perfetto_races_put(struct perfetto *p, const struct export_event *ev)
{
	const size_t end = p->nends ? first_end(p, ev->c->seq) : 0;
	char name[48];

	if (end == p->nends || ev->what == EXPORT_RANGE)
		return;
	if (ev->timed && ev->what <= EXPORT_FILL && id_is_new(&p->race_tracks, ev->stream)) {
		snprintf(name, sizeof name, "stream %u: races", ev->stream);
		pb_u64(&p->m, TRACK_UUID, perfetto_track(p, TRACK_OF_RACES, ev->stream));
		pb_text(&p->m, TRACK_NAME, name);
		pb_u64(&p->m, TRACK_PARENT, perfetto_track(p, TRACK_OF_PROCESS, 0));
		pb_message(&p->packet, PACKET_TRACK, &p->m);
		perfetto_packet(p, 0);
	}
	put_slice(p, ev, end);
}
