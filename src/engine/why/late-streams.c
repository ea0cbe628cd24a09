/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of which tsdb recorded nothing, since it came late: what the software GPU says of them.
 * Their nodes' ids are handles. A command that is queued behind a head is not known, so whatever
 * waits for a value may be set free by one: values get every such stream as a possible writer.
 */
#include "engine/why/why-device.h"

#include <inttypes.h>
#include <stdio.h>

static const struct soft_look *looked(const struct why_device *d)
{
	return &d->look->look[d->look->two].soft;
}

/* Whether the stream's command is one that was recorded. */
static bool is_recorded(const struct why_device *d, const struct soft_look_stream *s)
{
	const uint64_t seq = inferior_seq_of(d->p->inf, s->corr);

	return seq && why_find(d->w, WHY_COMMAND, d->pid, seq) != WHY_NONE;
}

static uint32_t node_of(struct why_device *d, uint64_t handle, uint64_t ctx)
{
	char name[64];

	if (handle)
		snprintf(name, sizeof name, "stream 0x%" PRIx64, handle);
	else
		snprintf(name, sizeof name, "the legacy default stream");
	return why_node(d->w, WHY_STREAM, d->pid, handle ? handle : ctx | 1, name);
}

static void is_at(struct why_device *d, uint32_t stream, uint32_t node, const char *what)
{
	if (node != WHY_NONE)
		why_edge(d->w, stream, node, WHY_KNOWN_SEEN, what);
}

static void waits_for_value(struct why_device *d, uint32_t stream, const struct soft_look_stream *s)
{
	const uint32_t bytes = s->bytes == 8 ? 8 : 4;
	uint64_t now = 0;
	struct err *e = inferior_read(d->p->inf, s->addr, &now, bytes);

	err_free(e);
	is_at(d, stream, why_value(d, s->addr, bytes, now), "waits for");
	why_set(&why_at(d->w, stream)->does,
		"waits for %" PRIu32 " bytes at 0x%" PRIx64 " (now %" PRIu64 ", awaited %" PRIu64
		")",
		bytes, s->addr, now, s->value);
}

static void at_command(struct why_device *d, const struct soft_look_stream *s)
{
	const uint32_t stream = node_of(d, s->handle, s->ctx);

	if (s->waits) {
		const uint32_t behind = node_of(d, s->behind, s->ctx);

		is_at(d, stream, behind, "waits for");
		why_set(&why_at(d->w, stream)->does, "waits for %s", why_at(d->w, behind)->name);
		return;
	}
	if (s->kind == SOFT_LOOK_HOST)
		is_at(d, stream, why_find(d->w, WHY_THREAD, d->pid, s->os_tid), "runs on");
	else if (s->kind == SOFT_LOOK_VALUE)
		waits_for_value(d, stream, s);
	else
		is_at(d, stream, why_late_kernel(d, s->corr), "is at");
}

unsigned why_late_streams(struct why_device *d)
{
	const struct soft_look *l = looked(d);
	unsigned n = 0;

	for (uint32_t i = 0; d->look->answered && l->known && i < l->nstreams; i++)
		if (l->stream[i].corr && !is_recorded(d, &l->stream[i])) {
			(void)node_of(d, l->stream[i].handle, l->stream[i].ctx);
			n++;
		}
	for (uint32_t i = 0; n && i < l->nstreams; i++)
		if (l->stream[i].corr && !is_recorded(d, &l->stream[i]))
			at_command(d, &l->stream[i]);
	return n;
}
