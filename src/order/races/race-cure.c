/* SPDX-License-Identifier: Apache-2.0
 *
 * What would order the two sides of a race, in words. What is said of the nearest cause comes
 * first: of a flag that a kernel polls, of programmatic dependent launch, of graphs, of the host,
 * of streams.
 */
#include "order/order.h"

#define N(seq) ((unsigned long long)(seq))

static const char *between(const struct order_race *r, const char *which)
{
	const bool others =
		r->a.seq != r->behind && r->early & (ORDER_EARLY_BEHIND | ORDER_EARLY_LOOSE);

	return others ? which : "";
}

static void cure_nodes(struct buf *out, const struct order_race *r)
{
	if (r->early)
		buf_printf(out,
			"griddepcontrol.wait in every thread of the later one of nodes %u and %u "
			"before it touches this memory%s, or a full dependency",
			r->a.node, r->b.node, between(r, ", and in the nodes between the two"));
	else
		buf_printf(out,
			"a dependency between nodes %u and %u of the graph (cuGraphAddDependencies)",
			r->a.node, r->b.node);
}

static void cure_early(struct buf *out, const struct order_race *r, const char *api)
{
	if (r->early == ORDER_EARLY_EVENT || r->early == ORDER_EARLY_TRIGGER)
		buf_printf(out,
			"an event recorded by %sEventRecord after #%llu, and %sStreamWaitEvent for it on stream %u before #%llu",
			api, N(r->a.seq), api, r->b.stream, N(r->b.seq));
	else if (r->early == ORDER_EARLY_VALUE)
		buf_printf(out,
			"none, when what ended the wait for a value comes behind #%llu. Else "
			"%sStreamWaitEvent on stream %u before #%llu, for an event recorded on "
			"stream %u after #%llu",
			N(r->a.seq), api, r->b.stream, N(r->b.seq), r->a.stream, N(r->a.seq));
	else
		buf_printf(out,
			"griddepcontrol.wait (cudaGridDependencySynchronize) in every thread of #%llu before it touches this memory%s, or no programmatic "
			"stream serialization for it",
			N(r->b.seq), between(r, ", and in the launches between the two"));
}

static void cure_host(struct buf *out, const struct order_race *r, const char *api)
{
	if (r->unread || r->b.stream == SBT_NO_ID)
		buf_printf(out,
			"let the host wait (%sStreamSynchronize on stream %u, or an event recorded after #%llu) before it %s there",
			api, r->a.stream, N(r->a.seq), r->unread ? "reads" : "writes");
	else
		buf_printf(out,
			"the host's writes before #%llu have to come before #%llu on stream %u",
			N(r->a.seq), N(r->b.seq), r->b.stream);
}

static void cure_streams(struct buf *out, const struct order_race *r, const char *api)
{
	const bool lives = r->b.how == ORDER_DEATH || r->b.how == ORDER_BIRTH;

	if (r->a.how == ORDER_DEATH && !lives) {
		buf_printf(out, "free later: #%llu uses memory that #%llu frees on stream %u",
			N(r->b.seq), N(r->a.seq), r->a.stream);
		return;
	}
	buf_printf(out,
		"%sStreamWaitEvent on stream %u before %s#%llu, for an event recorded on stream %u after #%llu",
		api, r->b.stream,
		r->b.how == ORDER_DEATH	  ? "the free "
		: r->b.how == ORDER_BIRTH ? "the allocation "
					  : "",
		N(r->b.seq), r->a.stream, N(r->a.seq));
}

void order_race_cure(struct buf *out, const struct order_race *r)
{
	const char *const api = r->hip ? "hip" : "cu";

	if (r->flag)
		buf_printf(out,
			"none, when the kernel polls that word, or one that is set behind it: a wait would keep it from ever seeing it. Else %s",
			r->b.stream == SBT_NO_ID
				? "let the host wait for the kernel before it writes"
				: "let the host write before the launch");
	else if (r->a.node != SBT_NO_ID)
		cure_nodes(out, r);
	else if (r->early)
		cure_early(out, r, api);
	else if (r->unread || r->b.stream == SBT_NO_ID || r->a.stream == SBT_NO_ID)
		cure_host(out, r, api);
	else
		cure_streams(out, r, api);
}
