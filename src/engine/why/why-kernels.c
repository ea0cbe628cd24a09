/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in flight, by two looks into the software GPU: one whose warps all loop, or wait at a
 * barrier for those, waits for a change of what they read. One of which that is not proven goes on,
 * as far as is known.
 */
#include "engine/why/why-device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "sbt/kernel-name.h"

#define NOWHERE UINT64_MAX /* the "address" of reads that did not fit in the look */

static const struct soft_look_kernel *find(
	const struct soft_look *l, uint32_t corr, uint64_t node, const char *name)
{
	for (uint32_t i = 0; i < l->nkernels; i++)
		if (l->kernel[i].corr == corr && l->kernel[i].node == node &&
			(!name || !strcmp(l->kernel[i].name, name)))
			return &l->kernel[i];
	return NULL;
}

bool why_only_loops(const struct why_device *d, const struct sbt_cmd *c)
{
	const uint32_t corr = c->corr;
	const struct soft_look_kernel *k =
		corr && d->look ? find(&d->look->look[d->look->two].soft, corr, 0, NULL) : NULL;
	char *how = NULL;
	bool still;

	if (why_is_kept(d, c->seq))
		return true;
	if (!k || !d->look->two || k->begun != k->blocks)
		return false;
	still = why_kernel_moved(find(&d->look->look[0].soft, corr, 0, NULL), k, &how) == WHY_STILL;
	free(how);
	return still;
}

/* "all 32 lanes at app.cu:5". */
static void set_where(struct why_device *d, uint32_t node, const struct soft_look_kernel *k)
{
	struct buf b = BUF_INIT;

	for (uint32_t i = 0; i < k->nplaces && i < WHY_PLACES; i++) {
		const struct soft_look_place *p = &k->place[i];
		const char *slash = strrchr(p->file, '/');

		buf_str(&b, i ? ", " : "");
		why_put_lanes(&b, k->nplaces == 1, p->lanes);
		if (*p->file)
			buf_printf(&b, "%s:%" PRIu32, slash ? slash + 1 : p->file, p->line);
		else
			buf_printf(&b, "line %" PRIu32 " of its PTX", p->line);
	}
	if (b.len)
		why_set(&why_at(d->w, node)->where, "%s", buf_cstr(&b));
	buf_free(&b);
}

static void put_reads(struct buf *b, const struct soft_look_kernel *k)
{
	for (uint32_t i = 0; i < k->nreads && i < WHY_PLACES; i++) {
		buf_str(b, i ? ", " : ", reading ");
		why_put_bytes(b, k->read[i].bytes, k->read[i].addr, k->read[i].value);
	}
	if (k->nreads > WHY_PLACES || k->more_reads)
		buf_str(b, " and more");
}

static void tell(struct why_device *d, uint32_t node, const struct soft_look_kernel *k)
{
	struct why_node *n = why_at(d->w, node);
	struct buf b = BUF_INIT;

	if (n->where)
		buf_printf(&b, "; %s", n->where);
	if (n->moved == WHY_STILL)
		put_reads(&b, k);
	if (n->moved == WHY_MOVED)
		buf_printf(&b, "; it moves: %s", n->moved_by);
	if (k->begun < k->blocks)
		buf_printf(&b,
			"; %" PRIu64 " of its %" PRIu64
			" blocks have not begun: they need the place of those that run",
			k->blocks - k->begun, k->blocks);
	why_set(&n->does, "%s%s", n->does ? n->does : "runs", buf_cstr(&b));
	buf_free(&b);
}

static void add_waits(struct why_device *d, uint32_t node, const struct soft_look_kernel *k)
{
	why_at(d->w, node)->any = true;
	for (uint32_t i = 0; i < k->nreads; i++)
		why_edge(d->w, node,
			why_value(d, k->read[i].addr, k->read[i].bytes, k->read[i].value),
			WHY_KNOWN_SEEN, "reads");
	if (k->more_reads) {
		const uint32_t more = why_node(d->w, WHY_VALUE, d->pid, NOWHERE, "other memory");

		why_anybody(d, more);
		why_edge(d->w, node, more, WHY_KNOWN_SEEN, "reads");
	}
	if (!k->nreads && !k->more_reads) {
		why_at(d->w, node)->end = WHY_END_NEVER;
		why_set(&why_at(d->w, node)->because, "it loops without reading memory");
	}
}

static void take(struct why_device *d, uint32_t node, const struct soft_look_kernel *first,
	const struct soft_look_kernel *second)
{
	struct why_node *n = why_at(d->w, node);

	if (d->look->two)
		n->moved = why_kernel_moved(first, second, &n->moved_by);
	set_where(d, node, second);
	tell(d, node, second);
	if (why_at(d->w, node)->moved == WHY_STILL)
		add_waits(d, node, second);
}

/* A graph launch: each of its kernels in flight is a node of its own. */
static void take_graph(struct why_device *d, uint32_t graph, uint32_t corr)
{
	const struct soft_look *l = &d->look->look[d->look->two].soft;

	for (uint32_t i = 0; i < l->nkernels; i++) {
		const struct soft_look_kernel *k = &l->kernel[i];
		char name[160];
		uint32_t node;

		if (k->corr != corr)
			continue;
		sbt_kernel_short_name(name, sizeof name, k->name);
		node = why_node(d->w, WHY_COMMAND, d->pid, 1ull << 63 | k->node, name);
		take(d, node, find(&d->look->look[0].soft, corr, k->node, k->name), k);
		why_edge(d->w, graph, node, WHY_KNOWN_SEEN, "is at");
	}
}

void why_kernel(struct why_device *d, uint32_t node, const struct sbt_cmd *c, uint32_t corr)
{
	const struct soft_look_kernel *k;

	if (!corr)
		return;
	if (c->kind == SBT_GRAPH_LAUNCH) {
		take_graph(d, node, corr);
		return;
	}
	k = find(&d->look->look[d->look->two].soft, corr, 0, NULL);
	if (k)
		take(d, node, find(&d->look->look[0].soft, corr, 0, NULL), k);
}

/* "waits at app.cu:9, by its code, for 4 bytes at 0x302000000 (now 0)" */
static void tell_kept(struct why_node *n, const struct why_kept *k)
{
	struct buf b = BUF_INIT;

	buf_str(&b, k->is.nreads ? "waits, by its code, " : "loops for ever, by its code");
	if (*k->place)
		buf_printf(&b, "at %s, ", k->place);
	for (unsigned i = 0; i < k->is.nreads && i < WHY_PLACES; i++) {
		buf_str(&b, i ? ", " : "reading ");
		why_put_bytes(&b, k->is.read[i].bytes, k->is.read[i].addr, k->is.read[i].value);
	}
	if (k->is.nreads > WHY_PLACES)
		buf_str(&b, " and more");
	why_set(&n->does, "%s", buf_cstr(&b));
	buf_free(&b);
}

void why_kept_kernel(struct why_device *d, uint32_t node, const struct why_queue *q)
{
	struct why_node *n;

	if (q->kept[0].step) { /* of a graph launch, which waits for it */
		const uint32_t step =
			why_node(d->w, WHY_COMMAND, d->pid, q->kept[0].step, q->kept[0].name);

		why_edge(d->w, node, step, WHY_KNOWN_CODE, "is at");
		node = step;
	}
	n = why_at(d->w, node);
	n->moved = WHY_STILL;
	why_set(&n->moved_by,
		"by its code it only reads, and what it reads was the same at both looks");
	n->any = true;
	tell_kept(n, &q->kept[0]);
	if (*q->kept[0].place)
		why_set(&n->where, "%s", q->kept[0].place);
	for (unsigned i = 0; i < q->nkept; i++)
		if (!q->kept[i].is.nreads) {
			n->end = WHY_END_NEVER;
			why_set(&n->because, "it loops without reading memory");
			return;
		}
	for (unsigned i = 0; i < q->nkept; i++)
		for (unsigned k = 0; k < q->kept[i].is.nreads; k++) {
			const struct ptx_spin_read *r = &q->kept[i].is.read[k];

			why_edge(d->w, node, why_value(d, r->addr, r->bytes, r->value),
				WHY_KNOWN_CODE, "reads");
		}
}

uint32_t why_late_kernel(struct why_device *d, uint32_t corr)
{
	const struct soft_look *l = &d->look->look[d->look->two].soft;

	for (uint32_t i = 0; i < l->nkernels; i++) {
		const struct soft_look_kernel *k = &l->kernel[i];
		char name[160], text[32];
		uint32_t node;

		if (k->corr != corr)
			continue;
		sbt_kernel_short_name(name, sizeof name, k->name);
		node = why_node(d->w, WHY_COMMAND, d->pid, 1ull << 62 | corr, name);
		if (d->look->taken_ns > k->since_ns) {
			why_at(d->w, node)->for_ns = d->look->taken_ns - k->since_ns;
			why_set(&why_at(d->w, node)->does, "has been running for %s",
				why_time(d->look->taken_ns - k->since_ns, text));
		}
		take(d, node, find(&d->look->look[0].soft, corr, k->node, k->name), k);
		return node;
	}
	return WHY_NONE;
}
