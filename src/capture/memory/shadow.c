/* SPDX-License-Identifier: Apache-2.0
 *
 * Shadows; see shadow.h. The list of copies is made with the gate shut and then belongs to the
 * sending thread (sender.h) until its job SENDER_START has ended. A copy may have several parts,
 * which are adjacent in the list.
 */
#include "capture/memory/shadow.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/host/extent.h"
#include "capture/objects/known.h"
#include "capture/objects/live.h"
#include "capture/memory/room.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/window.h"
#include "base/checked.h"

#define ENTRIES_MAX (1u << 20)
/* larger pieces are copied one by one: a call of the driver takes some 7 us */
#define GATHER_SIZE (64u << 20)
#define GATHER_PIECES 4096u
#define GATHER_PAGES 16384u /* in one launch */
#define SMALL_BYTES (4u << 20)
#define SMALL_MAX SBT_PAGE
#define PAGES_AT_ONCE 8192u /* hashed before some of them are sent */

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
	/* entries of a list that has been sent: their copies are still there while room_epoch is
	 * epoch */
	uint32_t kept;
	uint32_t epoch;
	struct device_set own;	/* the sending thread's */
	struct sbt_hash *pages; /* PAGES_AT_ONCE; the sending thread's */
	uint8_t *small; /* SMALL_BYTES, for copies of small memory of the host: mapping some for
			   each takes longer than all the rest */
	uint32_t small_used;
	/* some memory could not be read: zeros were sent, and no hash says so */
	_Atomic uint32_t unread;
} shadow;
_Atomic uint64_t shadow_sent, shadow_same;

/* --- sending --- */

/* Where bytes to be sent are. */
struct place {
	struct device_ctx *ctx; /* NULL: memory of the host */
	uint64_t addr;
	uint8_t *staging;
	bool lost; /* on a device whose context cannot be entered: it has faulted */
};

/* Reads through staging, so that a ticket is taken only when its bytes are there. */
static bool send_bytes(const struct place *at, uint64_t offset, uint64_t size, struct piece *p)
{
	atomic_fetch_add(&shadow_sent, size);
	if (!at->ctx && !at->lost)
		return bulk_bytes(p, (const uint8_t *)(uintptr_t)at->addr + offset, size);
	for (uint64_t done = 0; done < size;) {
		const size_t n = size - done < DEVICE_STAGING ? size - done : DEVICE_STAGING;
		const uint64_t from = at->addr + offset + done;
		if ((at->lost || !device_read(at->ctx, from, at->staging, n)) &&
			!room_read(from, at->staging, n)) {
			window_note("memory of the device could not be read when the window began");
			atomic_store(&shadow.unread, 1);
			memset(at->staging, 0, n);
		}
		if (!bulk_bytes(p, at->staging, n))
			return false;
		done += n;
	}
	return true;
}

static bool hash_pages(const struct place *at, uint64_t offset, uint64_t size)
{
	if (at->lost)
		return false;
	if (!shadow.pages && !(shadow.pages = agent_map(PAGES_AT_ONCE * sizeof(*shadow.pages))))
		return false;
	if (at->ctx)
		return device_hash_pages(
			at->ctx, (struct hash_kernel_range){at->addr + offset, size}, shadow.pages);
	for (uint64_t i = 0; i < size; i += SBT_PAGE)
		shadow.pages[i / SBT_PAGE] =
			sbt_page_hash((const uint8_t *)(uintptr_t)at->addr + offset + i,
				size - i < SBT_PAGE ? size - i : SBT_PAGE);
	return true;
}

static uint32_t page_bytes(uint64_t size, uint64_t i)
{
	return size - i * SBT_PAGE < SBT_PAGE ? (uint32_t)(size - i * SBT_PAGE) : SBT_PAGE;
}

/* How many pages from i on tsdb has, or lacks; it has all of them from here on. */
static uint64_t run_of(uint64_t size, uint64_t n, uint64_t i, bool *ret_known)
{
	uint64_t run = 0;
	do {
		const bool has =
			known_has(KNOWN_MEMORY, shadow.pages[i + run], page_bytes(size, i + run));
		if (run && has != *ret_known)
			break;
		*ret_known = has;
		known_add(KNOWN_MEMORY, shadow.pages[i + run], page_bytes(size, i + run));
	} while (i + ++run < n);
	return run;
}

/* Up to PAGES_AT_ONCE pages, hashed. */
static bool send_hashed(const struct place *at, uint64_t offset, uint64_t size, struct piece *p)
{
	const uint64_t n = (size + SBT_PAGE - 1) / SBT_PAGE;
	bool same = false;
	for (uint64_t i = 0, run; i < n; i += run) {
		run = run_of(size, n, i, &same);
		const uint64_t end = (i + run) * SBT_PAGE < size ? (i + run) * SBT_PAGE : size,
			       bytes = end - i * SBT_PAGE;
		if (!same && !send_bytes(at, offset + i * SBT_PAGE, bytes, p))
			return false;
		if (same && !bulk_same(p, &shadow.pages[i], bytes))
			return false;
		if (same)
			atomic_fetch_add(&shadow_same, bytes);
	}
	return true;
}

/* Sends the next bytes of a piece that tsdb lacks; p->at is at the beginning of a page. */
static void send(const struct place *at, uint64_t size, struct piece *p)
{
	for (uint64_t done = 0; done < size;) {
		const uint64_t most = (uint64_t)PAGES_AT_ONCE * SBT_PAGE,
			       n = size - done < most ? size - done : most;
		const bool good = p->size > SBT_PAGE && hash_pages(at, done, n)
					  ? send_hashed(at, done, n, p)
					  : send_bytes(at, done, n, p);
		if (!good)
			return;
		done += n;
	}
}

/* --- copies --- */

static bool have_table(void)
{
	if (!shadow.entry)
		shadow.entry = agent_map(ENTRIES_MAX * sizeof(struct entry));
	return shadow.entry;
}

static struct entry *new_entry(const struct piece *p)
{
	if (!have_table() || shadow.n == ENTRIES_MAX)
		return NULL;
	if (!shadow.n)
		shadow.kept = 0;
	struct entry *e = &shadow.entry[shadow.n++];
	*e = (struct entry){.piece = *p};
	return e;
}

/* Returns false if there is no room; the list is then unchanged. */
static bool copy_device(struct device_ctx *d, const struct piece *p)
{
	const uint32_t was = shadow.n;
	if (room_left(d->id) < p->size)
		return false;
	for (uint64_t done = 0, to; done < p->size;) {
		const uint64_t n = room_take(d->id, p->size - done, &to);
		struct entry *e = n ? new_entry(p) : NULL;
		if (!e || !driver_good(driver->copy_on_device(to, p->addr + done, n, d->stream))) {
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

/* Pieces of a context that one launch of a kernel copies, page by page: a copy of its own costs
 * more than a small piece takes. */
static struct {
	struct device_set *set;
	struct device_ctx *ctx; /* entered; NULL: none */
	struct piece piece[GATHER_PIECES];
	struct hash_kernel_range range[GATHER_PIECES];
	uint32_t n;
	uint64_t pages;
	uint64_t copied; /* bytes on devices since shadow_settle() */
} gathering;

static void copy_or_send(const struct piece *p)
{
	struct piece now = *p;
	if (copy_device(gathering.ctx, p))
		gathering.copied += p->size;
	else /* In place it is not hashed: a kernel that reads memory which is not mapped is a
		fault. */
		send_bytes(&(struct place){gathering.ctx, p->addr, gathering.set->staging}, 0,
			p->size, &now);
}

static uint64_t pages_of(uint64_t size)
{
	return (size + SBT_PAGE - 1) / SBT_PAGE;
}

/* Adds entries for n pages from `first` on, which are at `to`. */
static bool add_entries(uint64_t first, uint64_t n, uint64_t to)
{
	uint64_t at = 0; /* page that the piece begins with */
	for (uint32_t i = 0; i < gathering.n && at < first + n; i++) {
		const struct piece *p = &gathering.piece[i];
		const uint64_t end = at + pages_of(p->size), from = at > first ? at : first,
			       upto = end < first + n ? end : first + n;
		struct entry *e = from < upto ? new_entry(p) : NULL;
		if (from < upto && !e)
			return false;
		if (e) {
			e->ctx = gathering.ctx->id;
			e->at = to + (from - first) * SBT_PAGE;
			e->offset = (from - at) * SBT_PAGE;
			e->n = (upto == end ? p->size : (upto - at) * SBT_PAGE) - e->offset;
		}
		at = end;
	}
	return true;
}

static bool gather(void)
{
	if (room_left(gathering.ctx->id) < gathering.pages * SBT_PAGE)
		return false;
	for (uint64_t done = 0, n, to; done < gathering.pages; done += n) {
		n = room_take(gathering.ctx->id, (gathering.pages - done) * SBT_PAGE, &to) /
		    SBT_PAGE;
		/* The device copies while the entries are made. */
		if (!n ||
			!device_gather(gathering.ctx, gathering.range, gathering.n, done,
				(uint32_t)n, to) ||
			!add_entries(done, n, to))
			return false;
	}
	return true;
}

static void flush(void)
{
	const uint32_t was = shadow.n;
	const bool good = gathering.n && gather();
	if (!good)
		shadow.n = was;
	for (uint32_t i = 0; i < gathering.n; i++) {
		if (good)
			gathering.copied += gathering.piece[i].size;
		else
			copy_or_send(&gathering.piece[i]);
	}
	gathering.n = 0;
	gathering.pages = 0;
}

static bool change_ctx(struct device_set *s, struct device_ctx *to)
{
	if (to == gathering.ctx)
		return to;
	if (gathering.ctx) {
		flush();
		device_leave();
	}
	gathering.set = s;
	gathering.ctx = to && device_enter(to) ? to : NULL;
	return gathering.ctx;
}

void shadow_device(struct device_set *s, struct device_ctx *d, const struct piece *p, bool mapped)
{
	if (!change_ctx(s, d)) {
		window_note("memory of a context that cannot be entered was not recorded");
		return;
	}
	if (!mapped || p->size > GATHER_SIZE || (p->size >= SBT_PAGE && p->addr % 16)) {
		copy_or_send(p);
		return;
	}
	if (gathering.n == GATHER_PIECES || gathering.pages + pages_of(p->size) > GATHER_PAGES)
		flush();
	gathering.piece[gathering.n] = *p;
	gathering.range[gathering.n++] = (struct hash_kernel_range){p->addr, p->size};
	gathering.pages += pages_of(p->size);
}

void shadow_touch(uint64_t pieces, uint64_t host_bytes)
{
	if (have_table())
		agent_touch(shadow.entry,
			(pieces < ENTRIES_MAX ? pieces : ENTRIES_MAX) * sizeof(struct entry));
	agent_touch(gathering.piece,
		(pieces < GATHER_PIECES ? pieces : GATHER_PIECES) * sizeof(gathering.piece[0]));
	agent_touch(gathering.range,
		(pieces < GATHER_PIECES ? pieces : GATHER_PIECES) * sizeof(gathering.range[0]));
	if (host_bytes && !shadow.small)
		shadow.small = agent_map(SMALL_BYTES);
	if (shadow.small)
		agent_touch(shadow.small, host_bytes < SMALL_BYTES ? host_bytes : SMALL_BYTES);
}

/* Room for a copy of host memory. */
static uint8_t *host_room(uint64_t size)
{
	const uint64_t bytes = (size + 63) & ~(uint64_t)63;
	if (size > SMALL_MAX || !shadow.small || SMALL_BYTES - shadow.small_used < bytes)
		return agent_map(size);
	shadow.small_used += (uint32_t)bytes;
	return shadow.small + shadow.small_used - bytes;
}

static void host_room_back(uint8_t *at, uint64_t size)
{
	if (!shadow.small || (uint64_t)(at - shadow.small) >= SMALL_BYTES)
		agent_unmap(at, size);
}

const uint8_t *shadow_host(const struct piece *p)
{
	struct piece now = *p;
	struct sbt_rows from = sbt_rows_flat(p->addr, p->size);
	uint8_t *copy = host_room(p->size);
	struct entry *e = copy ? new_entry(p) : NULL;
	if (e && host_read(p->addr, copy, p->size)) {
		e->on_host = true;
		e->at = (uint64_t)(uintptr_t)copy;
		e->n = p->size;
		return copy;
	}
	if (e)
		shadow.n--;
	if (copy)
		host_room_back(copy, p->size);
	if (!bulk_fill(&now, p->size, extent_read, &from))
		window_note("memory of the host that kernels can read could not be read");
	return NULL;
}

void shadow_go(void)
{
	if (gathering.ctx)
		flush();
}

uint64_t shadow_settle(struct device_set *s)
{
	(void)change_ctx(s, NULL);
	const uint64_t copied = gathering.copied;
	gathering.copied = 0;
	shadow.epoch = atomic_load(&room_epoch);
	for (unsigned i = 0; i < s->n; i++) {
		const bool entered = device_enter(&s->ctx[i]);
		if (!device_wait(&s->ctx[i]) && entered)
			window_note("copying memory of the device failed when the window began");
		if (entered)
			device_leave();
	}
	return copied;
}

/* --- the sending thread --- */

static void send_entry(struct entry *e, struct piece *p)
{
	if (e->on_host) {
		send(&(struct place){NULL, e->at, NULL}, e->n, p);
		host_room_back((uint8_t *)(uintptr_t)e->at, e->n);
		return;
	}
	struct device_ctx *d = device_find(&shadow.own, e->ctx);
	const bool entered = d && device_enter(d);
	uint8_t byte;
	if (!entered && !room_read(e->at, &byte, 1)) {
		window_note("a context went away before its memory was sent");
		return;
	}
	send(&(struct place){entered ? d : NULL, e->at, shadow.own.staging, !entered}, e->n, p);
	if (entered)
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
	struct piece p = {.seq = 0};
	atomic_store(&shadow.unread, 0);
	if (shadow.n && !device_collect(&shadow.own))
		window_note("there was no memory for sending what the window began with");
	for (uint32_t i = 0; i < shadow.n && shadow.own.staging && agent_live(); i++) {
		struct entry *e = &shadow.entry[i];
		if (!e->offset)
			p = e->piece;
		send_entry(e, &p);
	}
	shadow.kept = shadow.n;
	shadow.n = 0;
	shadow.small_used = 0;
	if (atomic_load(&shadow.unread))
		known_forget(KNOWN_MEMORY);
	if (!room_keep())
		room_release();
}

/* ---- what was before a fault ---- */

/* Copies those of n bytes at addr that are in an entry. Returns false if its copy was freed. */
static bool read_part(const struct entry *e, uint64_t addr, uint8_t *dst, size_t n, size_t *done)
{
	const uint64_t begin = e->piece.addr + e->offset;
	const uint64_t from = addr > begin ? addr : begin,
		       end = addr + n < begin + e->n ? addr + n : begin + e->n;
	if (e->on_host || from >= end)
		return true;
	*done += end - from;
	return room_read(e->at + (from - begin), dst + (from - addr), end - from);
}

bool shadow_kept_read(uint64_t addr, void *dst, size_t n)
{
	const uint32_t entries = shadow.n ? shadow.n : shadow.kept;
	size_t done = 0;
	uint64_t end;
	if (shadow.epoch != atomic_load(&room_epoch) || ckd_add(&end, addr, (uint64_t)n))
		return false;
	for (uint32_t i = 0; i < entries; i++)
		if (!read_part(&shadow.entry[i], addr, dst, n, &done))
			return false;
	return done == n;
}
