/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory; see host.h. One thread compares at a time, in the order of the commands' numbers: a
 * change found for a later command is not found again for an earlier one, which replay would then
 * execute without it. Where Linux notes which pages the program writes (written.h), those are sent,
 * whatever is in them: what the device changed meanwhile and the program changed back is a change
 * for a replay. Elsewhere all pages are compared; changes made by the device show up then, too, and
 * are sent alike. Kernels write managed memory all the time: if there is some, all work is waited
 * for first, so that no half-written result is seen.
 */
#include "capture/host/host.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/memory/contexts.h"
#include "capture/core/driver.h"
#include "capture/host/bypass.h"
#include "capture/host/extent.h"
#include "capture/host/written.h"
#include "capture/objects/known.h"
#include "capture/objects/live.h"
#include "capture/pipeline/crew.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"
#include "base/checked.h"

#define PATIENCE 10 /* tenths of a second */
#define TURN_NS 20000
#define HUGE_PAGE (2u << 20)
#define AT_ONCE                                                                                    \
	8u /* pages that are read together: as many as lie in a processor's cache while they are   \
	      hashed and sent */

static struct spin comparing; /* guards the fields of struct live about watching */
/* a command has its number, or is about to, and its comparison is not done */
static _Atomic uint32_t turn;

static uint64_t fold(struct sbt_hash h)
{
	return h.half[0] ^ h.half[1] * 0x9e3779b97f4a7c15u;
}

static uint64_t pages_of(const struct live *l)
{
	return (l->size + SBT_PAGE - 1) / SBT_PAGE;
}

static size_t page_bytes(const struct live *l, uint64_t page)
{
	const uint64_t left = l->size - page * SBT_PAGE;
	return left < SBT_PAGE ? left : SBT_PAGE;
}

/* Copies the page, so that the bytes hashed are the bytes sent. */
static bool read_page(const struct live *l, uint64_t page, uint8_t *copy, uint64_t *ret)
{
	const size_t n = page_bytes(l, page);
	if (!host_read(l->addr + page * SBT_PAGE, copy, n))
		return false;
	*ret = fold(sbt_page_hash(copy, n));
	return true;
}

static bool have_hashes(struct live *l)
{
	if (!l->seen)
		l->seen = pages_of(l) > 1 ? agent_map(pages_of(l) * sizeof(*l->seen)) : &l->only;
	return l->seen;
}

static void begin(struct live *l, const uint8_t *copy, uint8_t *page)
{
	if (!have_hashes(l) || (!copy && !page)) {
		window_note("there was no memory for watching memory of the host");
		return;
	}
	l->watched = true;
	l->noted = WRITTEN_UNSEEN;
	l->not_noted = false;
	for (uint64_t i = 0; i < pages_of(l); i++) {
		if (copy)
			l->seen[i] = fold(sbt_page_hash(copy + i * SBT_PAGE, page_bytes(l, i)));
		else if (!read_page(l, i, page, &l->seen[i]))
			l->seen[i] = 0;
	}
}

void host_begin(struct live *l, const uint8_t *copy)
{
	struct thread *t = tls.thread;
	uint8_t *page = copy ? NULL : t ? thread_page(t) : NULL;
	spin_lock(&comparing);
	begin(l, copy, page);
	spin_unlock(&comparing);
}

/* The whole pages of the system in l: it may begin and end within one, which other memory has, too.
 */
static uint64_t first_whole(const struct live *l)
{
	return (l->addr + WRITTEN_PAGE - 1) / WRITTEN_PAGE * WRITTEN_PAGE;
}

static uint64_t end_of_whole(const struct live *l)
{
	const uint64_t end = (l->addr + l->size) / WRITTEN_PAGE * WRITTEN_PAGE,
		       first = first_whole(l);
	return end > first ? end : first;
}

void host_end(struct live *l)
{
	if (l->noted)
		written_forget(first_whole(l), end_of_whole(l) - first_whole(l));
	l->watched = false;
	l->noted = WRITTEN_UNSEEN;
}

void host_over(void)
{
	written_end();
}

struct compare {
	struct call *c;
	uint8_t *copy;	    /* AT_ONCE pages */
	uint64_t addr, end; /* memory that the command may touch */
	bool over;	    /* with this allocation */
	bool deaf;	    /* tsdb does not listen */
};

/* Sends pages first to end of l; a->copy begins with page `from`. Pages that tsdb has are sent as
 * hashes. A piece of one page may be too small to be kept as a page. Returns false if tsdb does not
 * listen. */
static bool send_run(const struct compare *a, const struct live *l, uint64_t from, uint64_t first,
	uint64_t end, const struct sbt_hash *hash)
{
	struct piece p = {.seq = a->c->cmd.seq,
		.addr = l->addr + first * SBT_PAGE,
		.size = (end - first - 1) * SBT_PAGE + page_bytes(l, end - 1),
		.role = BULK_HOST,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	bool good = true;
	if (p.size <= SBT_PAGE)
		return bulk_bytes(&p, a->copy + (first - from) * SBT_PAGE, p.size);
	for (uint64_t i = first; i < end && good; i++) {
		const size_t n = page_bytes(l, i);
		if (known_has(KNOWN_HOST, hash[i - from], (uint32_t)n))
			good = bulk_same(&p, &hash[i - from], n);
		else
			good = bulk_bytes(&p, a->copy + (i - from) * SBT_PAGE, n);
		known_add(KNOWN_HOST, hash[i - from], (uint32_t)n);
	}
	return good;
}

/* Hashes pages from to end of l, which are in a->copy, and sends those that changed; written: all
 * of them. Returns false if tsdb does not listen. */
static bool send_changed(
	const struct compare *a, struct live *l, uint64_t from, uint64_t end, bool written)
{
	struct sbt_hash hash[AT_ONCE];
	uint64_t first = from; /* of a run that changed */
	for (uint64_t i = from; i < end; i++) {
		hash[i - from] = sbt_page_hash(a->copy + (i - from) * SBT_PAGE, page_bytes(l, i));
		if (written || fold(hash[i - from]) != l->seen[i]) {
			l->seen[i] = fold(hash[i - from]);
			continue;
		}
		if (first < i && !send_run(a, l, from, first, i, hash))
			return false;
		first = i + 1;
	}
	return first >= end || send_run(a, l, from, first, end, hash);
}

/* Begins to watch. In memory that was allocated in the window everything is new. */
static bool watch(struct live *l)
{
	if (l->watched)
		return true;
	if (!have_hashes(l)) {
		window_note("there was no memory for watching memory of the host");
		return false;
	}
	memset(l->seen, 0, pages_of(l) * sizeof(*l->seen));
	l->watched = true;
	l->noted = WRITTEN_UNSEEN;
	l->not_noted = false;
	return true;
}

/* --- looking beforehand, with the crew's help --- */

/* Groups of AT_ONCE pages from page `from` on. */
struct groups {
	struct live *l;
	uint64_t from, end;
};
#define GROUPS_MOST 4096u
static uint8_t same[GROUPS_MOST]; /* the comparing thread's */

_Static_assert(AT_ONCE *SBT_PAGE <= CREW_ROOM, "a helper's room holds a group");

static void look_at_group(void *arg, uint64_t i, uint8_t *room)
{
	const struct groups *g = arg;
	const uint64_t first = g->from + i * AT_ONCE,
		       end = g->end - first < AT_ONCE ? g->end : first + AT_ONCE;
	bool good = host_read(g->l->addr + first * SBT_PAGE, room,
		(end - first - 1) * SBT_PAGE + page_bytes(g->l, end - 1));
	for (uint64_t p = first; p < end && good; p++)
		good = fold(sbt_page_hash(room + (p - first) * SBT_PAGE, page_bytes(g->l, p))) ==
		       g->l->seen[p];
	same[i] = good;
}

/* Notes which groups of pages from to end, GROUPS_MOST at most, are as they were: those are not
 * looked at again. Returns false if nothing is known. */
static bool look_beforehand(struct live *l, uint64_t from, uint64_t end)
{
	struct groups g = {l, from, end};
	return (end - from) * SBT_PAGE >= CREW_WORTH &&
	       crew_do(look_at_group, &g, (end - from + AT_ONCE - 1) / AT_ONCE);
}

/* Compares pages from to last of l and sends those that changed; written: sends all of them. */
static void compare_pages(
	struct compare *a, struct live *l, uint64_t from, uint64_t last, bool written)
{
	bool looked = false;
	for (uint64_t i = from; i <= last && !a->over; i += AT_ONCE) {
		const uint64_t end = last - i < AT_ONCE ? last + 1 : i + AT_ONCE,
			       group = (i - from) / AT_ONCE % GROUPS_MOST;
		if (!group && !written)
			looked = look_beforehand(l, i,
				last - i < GROUPS_MOST * AT_ONCE ? last + 1
								 : i + GROUPS_MOST * AT_ONCE);
		if (looked && same[group])
			continue;
		const bool good = host_read(l->addr + i * SBT_PAGE, a->copy,
			(end - i - 1) * SBT_PAGE + page_bytes(l, end - 1));
		if (live_is_over(l)) {
			a->over = true; /* the bytes read may be anything */
			return;
		}
		if (!good)
			window_note("memory of the host that kernels can read could not be read");
		a->deaf = good && !send_changed(a, l, i, end, written);
		a->over = !good || a->deaf;
	}
}

/* --- by notes of what was written --- */

struct noted {
	struct compare *a;
	struct live *l;
};

/* Sends the pages of l that have bytes of the runs, each once. */
static bool send_written(void *arg, const struct written_run *run, unsigned n)
{
	const struct noted *w = arg;
	uint64_t next = 0; /* pages below are sent */
	for (unsigned i = 0; i < n && !w->a->over; i++) {
		const uint64_t first = (run[i].first - w->l->addr) / SBT_PAGE,
			       last = (run[i].end - 1 - w->l->addr) / SBT_PAGE;
		if (last >= next)
			compare_pages(w->a, w->l, first > next ? first : next, last, true);
		next = last + 1;
	}
	return !w->a->over;
}

/* Sends what was written to pages from to last, and compares those at the ends that are not whole.
 * Returns false if that is not known. */
static bool send_noted(struct compare *a, struct live *l, uint64_t from, uint64_t last)
{
	struct noted n = {a, l};
	const uint64_t whole = first_whole(l), end = end_of_whole(l),
		       low = (l->addr + from * SBT_PAGE) / WRITTEN_PAGE * WRITTEN_PAGE,
		       high = (l->addr + last * SBT_PAGE + page_bytes(l, last) + WRITTEN_PAGE - 1) /
			      WRITTEN_PAGE * WRITTEN_PAGE,
		       first = low > whole ? low : whole, over = high < end ? high : end;
	if (whole > l->addr && !from)
		compare_pages(a, l, 0, 0, false);
	if (first < over && !a->over && !written_each(first, over - first, send_written, &n))
		return false;
	if (end < l->addr + l->size && last == pages_of(l) - 1)
		compare_pages(a, l, (end - l->addr) / SBT_PAGE, last, false);
	return !a->over;
}

/* Begins to have writes noted. The pages have to be compared once more, all of them. */
static bool begin_notes(struct live *l)
{
	const uint64_t first = first_whole(l);
	if (l->not_noted || bypass_by_devices())
		return false;
	l->noted = written_begin(first, end_of_whole(l) - first);
	l->not_noted = !l->noted;
	return l->noted;
}

static void stop_notes(struct live *l)
{
	written_forget(first_whole(l), end_of_whole(l) - first_whole(l));
	l->noted = WRITTEN_UNSEEN;
	l->not_noted = true;
}

static bool notes_hold(const struct live *l)
{
	return !bypass_by_devices() && !(l->noted == WRITTEN_IF_ALONE && bypass_by_children());
}

/* The pages of host memory l that the command may touch; false: it touches none. */
static bool pages_touched(
	const struct compare *a, const struct live *l, uint64_t *ret_from, uint64_t *ret_last)
{
	if (!live_is_host(l) || l->addr >= a->end || l->addr + l->size <= a->addr)
		return false;
	const uint64_t most = a->end - l->addr < l->size ? a->end - l->addr : l->size;
	*ret_from = a->addr > l->addr ? (a->addr - l->addr) / SBT_PAGE : 0;
	*ret_last = (most - 1) / SBT_PAGE;
	return true;
}

static bool compare(void *arg, struct live *l)
{
	struct compare *a = arg;
	uint64_t from, last;
	/* Another thread may have allocated it, and written there, since the command got its
	 * number: in a replay it is not there yet. */
	if (l->seq > a->c->cmd.seq)
		return false;
	if (!pages_touched(a, l, &from, &last) || !watch(l))
		return false;
	a->over = false;
	if (l->noted && notes_hold(l) && send_noted(a, l, from, last))
		return false;
	const bool all = l->noted || begin_notes(l);
	if (all && !notes_hold(l))
		stop_notes(l);
	a->over = live_is_over(l);
	compare_pages(a, l, all ? 0 : from, all ? pages_of(l) - 1 : last, false);
	return a->deaf;
}

/* --- what the device changes --- */

/* Managed memory so small is sent again after each kernel. What a kernel changed in larger memory
 * that is compared, and the program changed back, is not found. */
#define SMALL 16u /* pages */

static bool forget_small(void *arg, struct live *l)
{
	if (l->mem == SBT_MEM_MANAGED && l->watched && !l->noted && pages_of(l) <= SMALL)
		memset(l->seen, 0, pages_of(l) * sizeof(*l->seen));
	return false;
}

static bool forget_pages(void *arg, struct live *l)
{
	uint64_t from, last;
	if (pages_touched(arg, l, &from, &last) && l->watched && !l->noted)
		memset(l->seen + from, 0, (last + 1 - from) * sizeof(*l->seen));
	return false;
}

/* The command changes memory that is compared: what is there now says nothing of what was sent,
 * even if the program writes the same again. */
static void forget_changed(struct call *c)
{
	struct sbt_footprint f;
	sbt_footprint(&f, &c->cmd);
	if (f.does & (SBT_RUNS_KERNEL | SBT_RUNS_GRAPH))
		live_each(forget_small, NULL);
	for (unsigned i = 0; i < f.n; i++) {
		struct compare a = {.addr = f.touch[i].rows.addr};
		a.end = sat_add(a.addr, sbt_rows_size(&f.touch[i].rows));
		if (f.touch[i].how != SBT_READS)
			live_each(forget_pages, &a);
	}
}

/* The bytes that a copy reads, and no others. */
static const struct sbt_rows *rows_read(const struct sbt_footprint *f)
{
	for (unsigned i = 0; i < f->n && !(f->does & (SBT_RUNS_KERNEL | SBT_RUNS_GRAPH)); i++)
		if (f->touch[i].how == SBT_READS)
			return &f->touch[i].rows;
	return NULL;
}

static bool holds(const struct live *l, uint64_t addr, uint64_t size)
{
	return addr >= l->addr && addr - l->addr < l->size && size <= l->size - (addr - l->addr);
}

/* For a copy with a source on the device. If no call allocated the memory, it may be host memory
 * under another address. */
static bool copy_may_read(struct compare *a, const struct sbt_rows *rows)
{
	const uint64_t size = sbt_rows_size(rows);
	struct live l;
	if (!live_at(rows->addr, &l) || !holds(&l, rows->addr, size))
		return true;
	a->addr = rows->addr;
	a->end = rows->addr + size; /* within l */
	return live_is_host(&l);
}

/* Finds the memory that the command may read; returns false if there is none. A copy from such
 * memory has its payload (payload.c). But if the call does not wait, the host may write there too
 * early: what it wrote before the call must be distinguished from what it writes after. */
static bool may_read(struct compare *a)
{
	const struct sbt_cmd *k = &a->c->cmd;
	a->addr = 0;
	a->end = UINT64_MAX;
	struct sbt_footprint f;
	sbt_footprint(&f, k);
	if (f.does & SBT_DOES_UNKNOWN)
		return k->kind != SBT_UNREPLAYABLE; /* which has its effect recorded (effect.c) */
	if (k->kind == SBT_COPY && f.does && k->u.copy.dir == SBT_COPY_H2D) {
		if (!f.n || !k->u.copy.async || k->u.copy.pageable)
			return false;
		a->addr = f.touch[0].rows.addr;
		a->end = sat_add(a->addr, sbt_rows_size(&f.touch[0].rows));
		return true;
	}
	const struct sbt_rows *rows = rows_read(&f);
	if (rows)
		return copy_may_read(a, rows);
	return f.does & (SBT_READS | SBT_RUNS_KERNEL | SBT_RUNS_GRAPH);
}

static void wait_for_kernels(void)
{
	static struct device_set set; /* the comparing thread's */
	if (!live_managed() || atomic_load(&calls_captures))
		return;
	const unsigned mode = driver->relax();
	if (!device_collect(&set) || !driver_good(device_idle(&set, PATIENCE)))
		window_note(
			"work on the device did not end, so managed memory was recorded while it may have been written");
	driver->restrict_again(mode);
}

/* Whether the command may write host memory. If such a copy ran behind a command that is still
 * being compared for, it could end, and the host could change the bytes, before they are looked at;
 * a replay's copy would then write over what was found there. */
static bool may_write(const struct call *c)
{
	struct sbt_footprint f;
	sbt_footprint(&f, &c->cmd);
	return f.does & (SBT_WRITES | SBT_UPDATES) &&
	       !(c->cmd.kind == SBT_COPY && c->cmd.u.copy.dir == SBT_COPY_H2D);
}

bool host_turn(struct call *c)
{
	struct compare a = {.c = c};
	if (c->turn || !live_host() || !(may_read(&a) || may_write(c)))
		return true;
	c->turn = !atomic_exchange(&turn, 1);
	return c->turn;
}

void host_await_turn(void)
{
	for (unsigned tries = 0; atomic_load(&turn) && agent_live(); tries++) {
		if (tries < 100)
			__builtin_ia32_pause();
		else
			nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
	}
}

void host_turn_over(struct call *c)
{
	if (c->turn)
		atomic_store(&turn, 0);
	c->turn = false;
}

/* The buffer for pages, in one huge page if possible: the kernel looks up each page of it, and is
 * then faster (extent.c). */
static uint8_t *room_for_pages(void)
{
	static uint8_t *room; /* the comparing thread's */
	if (!room && (room = agent_map(2 * HUGE_PAGE))) {
		room += -(uintptr_t)room % HUGE_PAGE;
		(void)madvise(room, HUGE_PAGE, MADV_HUGEPAGE);
	}
	return room;
}

static void compare_all(struct compare *a)
{
	a->copy = room_for_pages();
	known_begin(KNOWN_HOST);
	wait_for_kernels();
	if (a->copy)
		live_each(compare, a);
	else
		window_note("there was no memory for watching memory of the host");
	written_looked();
}

void host_enter(struct call *c)
{
	struct compare a = {.c = c};
	if (!live_host() || (c->cmd.flags & SBT_F_GRAPH))
		return;
	const bool reads = may_read(&a), writes = may_write(c);
	if (!reads && !writes)
		return;
	spin_lock(&comparing);
	if (reads)
		compare_all(&a);
	if (writes)
		forget_changed(c);
	spin_unlock(&comparing);
}
