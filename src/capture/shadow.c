/* SPDX-License-Identifier: Apache-2.0
 *
 * Shadows; see shadow.h. The list of what was copied is made with the gate shut and then belongs to the sending thread (sender.h) until
 * its job SENDER_START is over. A copy may lie in several parts, which follow each other in the list.
 */
#include "capture/shadow.h"

#include <string.h>
#include "capture/calls.h"
#include "capture/driver.h"
#include "capture/extent.h"
#include "capture/live.h"
#include "capture/room.h"
#include "capture/sender.h"
#include "capture/span.h"

#define ENTRIES_MAX (1u << 20)

struct entry {
	struct piece piece;
	bool on_host;
	uint32_t ctx;
	uint64_t at;	    /* where the part is */
	uint64_t offset, n; /* which part of the piece it is */
};

static struct {
	struct entry *entry;
	uint32_t n;
	struct device_set own; /* the sending thread's */
} shadow;

/* ---- copies --------------------------------------------------------------------------------------------------------------- */

static struct entry *new_entry(const struct piece *p)
{
	if (!shadow.entry && !(shadow.entry = agent_map(ENTRIES_MAX * sizeof(struct entry))))
		return NULL;
	if (shadow.n == ENTRIES_MAX)
		return NULL;
	struct entry *e = &shadow.entry[shadow.n++];
	*e = (struct entry){ .piece = *p };
	return e;
}

/* Reads through staging, so that a ticket is taken when its bytes are at hand. */
static void send_device(struct device_ctx *d, uint64_t at, uint64_t size, struct piece *p, uint8_t *staging)
{
	for (uint64_t done = 0; done < size;) {
		const size_t n = size - done < DEVICE_STAGING ? size - done : DEVICE_STAGING;
		if (!device_read(d, at + done, staging, n)) {
			span_note("memory of the device could not be read when the window began");
			memset(staging, 0, n);
		}
		if (!bulk_bytes(p, staging, n))
			return;
		done += n;
	}
}

/* False: no room; nothing is in the list then. */
static bool copy_device(struct device_ctx *d, const struct piece *p)
{
	const uint32_t was = shadow.n;
	if (room_left(d->id) < p->size)
		return false;
	for (uint64_t done = 0, to; done < p->size;) {
		const uint64_t n = room_take(d->id, p->size - done, &to);
		struct entry *e = n ? new_entry(p) : NULL;
		if (!e || OWN(driver.cuMemcpyDtoDAsync_v2(to, p->addr + done, n, d->stream))) {
			shadow.n = was;
			return false;
		}
		e->ctx = d->id;
		e->at = to;
		e->offset = done;
		e->n = n;
		done += n;
	}
	return true;
}

uint64_t shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p)
{
	struct piece now = *p;
	if (copy_device(d, p))
		return p->size;
	send_device(d, p->addr, p->size, &now, s->staging);
	return 0;
}

void shadow_host(const struct piece *p)
{
	struct piece now = *p;
	struct extent from = extent_plain(p->addr, p->size);
	void *copy = agent_map(p->size);
	struct entry *e = copy ? new_entry(p) : NULL;
	if (e && host_read(p->addr, copy, p->size)) {
		e->on_host = true;
		e->at = (uint64_t)(uintptr_t)copy;
		e->n = p->size;
		return;
	}
	if (e)
		shadow.n--;
	if (copy)
		agent_unmap(copy, p->size);
	if (!bulk_fill(&now, p->size, extent_read, &from))
		span_note("memory of the host that kernels can read could not be read");
}

void shadow_settle(struct device_set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (device_enter(&s->ctx[i])) {
			if (OWN(driver.cuStreamSynchronize(s->ctx[i].stream)))
				span_note("copying memory of the device failed when the window began");
			device_leave();
		}
}

/* ---- sending --------------------------------------------------------------------------------------------------------------- */

static void send_entry(struct entry *e, struct piece *p)
{
	if (e->on_host) {
		bulk_bytes(p, (const void *)(uintptr_t)e->at, e->n);
		agent_unmap((void *)(uintptr_t)e->at, e->n);
		return;
	}
	struct device_ctx *d = device_find(&shadow.own, e->ctx);
	if (!d || !device_enter(d)) {
		span_note("a context went away before its memory was sent");
		return;
	}
	send_device(d, e->at, e->n, p, shadow.own.staging);
	device_leave();
}

void shadow_prepare(void)
{
	if (!device_collect(&shadow.own))
		return;
	for (unsigned i = 0; i < shadow.own.n; i++)
		if (device_enter(&shadow.own.ctx[i])) /* makes its stream */
			device_leave();
}

void shadow_send(void)
{
	struct piece p = { .seq = 0 };
	if (shadow.n && !device_collect(&shadow.own))
		span_note("there was no memory for sending what the window began with");
	for (uint32_t i = 0; i < shadow.n && shadow.own.staging && agent_live(); i++) {
		struct entry *e = &shadow.entry[i];
		if (!e->offset)
			p = e->piece;
		send_entry(e, &p);
	}
	shadow.n = 0;
	room_release();
}
