/* SPDX-License-Identifier: Apache-2.0
 *
 * Two runs in Perfetto's format: each command of GPU work is a slice on a track of its stream, as
 * long as it ran, of category "both" if the other run has it, too, and a flow joins the two; of
 * category "only A" or "only B" if not. Work on the GPU has no flows of its own in that format.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/buf.h"
#include "base/first-where.h"
#include "export/formats/perfetto-out.h"

/* A command of the source, and the number of its pair. */
struct pair_end {
	uint64_t seq;
	size_t pair;
};

static int by_seq(const void *a, const void *b)
{
	const struct pair_end *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void perfetto_pairs_begin(struct perfetto *p)
{
	const struct export_ask *ask = p->j->ask;

	p->paired = ask->npairs ? xcalloc(ask->npairs, sizeof *p->paired) : NULL;
	for (size_t i = 0; i < ask->npairs; i++)
		p->paired[i] = (struct pair_end){p->source ? ask->pairs[i].b : ask->pairs[i].a, i};
	if (ask->npairs)
		qsort(p->paired, ask->npairs, sizeof *p->paired, by_seq);
}

/* The number of the command's pair, plus 1; 0: the other run does not have it. */
static size_t pair_of(const struct perfetto *p, uint64_t seq)
{
	const size_t n = p->j->ask->npairs, at = FIRST_WHERE(n, k, p->paired[k].seq >= seq);

	return at < n && p->paired[at].seq == seq ? p->paired[at].pair + 1 : 0;
}

static void name_track(struct perfetto *p, uint32_t stream)
{
	char name[48];

	snprintf(name, sizeof name, "stream %u: compared", stream);
	perfetto_name_track(p, perfetto_track(p, TRACK_OF_PAIRS, stream), name);
}

void perfetto_pairs_put(struct perfetto *p, const struct export_event *ev)
{
	const uint64_t track = perfetto_track(p, TRACK_OF_PAIRS, ev->stream);
	struct perfetto_packet k;
	size_t pair;

	if (!p->j->ask->compared || !ev->timed || ev->what > EXPORT_FILL)
		return;
	if (id_is_new(&p->pair_tracks, ev->stream))
		name_track(p, ev->stream);
	pair = pair_of(p, ev->c->seq);
	k = perfetto_event(p, ev->c->gpu_start_ns, TYPE_BEGIN, track);
	pb_u64(&k.w, EVENT_CATEGORY,
		perfetto_category(p, pair	 ? "both"
				     : p->source ? "only B"
						 : "only A"));
	pb_u64(&k.w, EVENT_NAME, perfetto_name(p, ev->name));
	if (pair)
		pb_fixed64(&k.w, EVENT_FLOW, pair);
	perfetto_event_close(p, &k);
	perfetto_slice_end(p, ev->c->gpu_end_ns, track);
}
