/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory contents out of the bulk slots (capture/wire.h, "Memory"), and the messages that a window
 * begins or has ended. The bytes are handed out in place: if the program overwrites them meanwhile,
 * it harms only its own trace. The slot's head is copied first. When a slot makes no sense all
 * slots are abandoned: pieces under way are cut, and slots are emptied from then on so that no
 * thread waits. After the program has died, slots behind a ticket that was never filled are used,
 * too.
 */
#include "attach/drain/drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECES_MAX 4096u /* open at a time */
#define WINDOWS_MAX 64u	 /* messages waiting */

enum { STAGE_BEGIN = 1, STAGE_BYTES = 2, STAGE_CUT = 4 }; /* BYTES: or hashes of pages */

/* A slot, or what was kept of one when its program executed another one. */
struct drain_bulk_head {
	uint64_t piece, seq, addr, size, offset;
	uint32_t role, owner, module, ctx, flags, n, name_len;
	struct sbt_hash hash;
	char name[TSDB_NAME_MAX];
};

struct drain_saved {
	struct drain_bulk_head head;
	void *bytes;
};

struct open_piece {
	uint64_t piece, size, got;
};

struct drain_window {
	struct tsdb_msg_window msg;
	uint64_t barrier; /* tickets below it go before an end */
	uint32_t epoch;
	bool lapsed; /* no message: an exec ended the window */
};

struct drain_bulk {
	uint8_t *data;		       /* all slots' bytes, mapped at first use */
	uint64_t next;		       /* ticket */
	uint32_t lap[TSDB_BULK_SLOTS]; /* times each slot was given back */
	bool bad;
	bool gaps; /* a ticket may never have been filled: its program is dead or executed another
		      one */
	bool exec; /* saved has, or open belongs to, data of the program before an exec */
	bool drained;	 /* the program is dead and nothing is left */
	int held;	 /* the slot that the last item lies in; -1: none */
	unsigned stages; /* parts of cur that are still to be handed out */
	struct drain_bulk_head cur;
	const void *bytes;
	struct open_piece *open;
	unsigned nopen, open_cap, ncut; /* ncut: open[0..ncut-1] are to be cut */
	struct drain_saved saved[TSDB_BULK_SLOTS];
	unsigned nsaved, saved_next;
	void *copy; /* of the bytes in cur */
	struct drain_window windows[WINDOWS_MAX];
	unsigned nwindows;
	bool in_window;
};

struct drain_bulk *drain_bulk_new(void)
{
	struct drain_bulk *b = xcalloc(1, sizeof(*b));

	b->held = -1;
	return b;
}

void drain_bulk_free(struct drain_bulk *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < b->nsaved; i++)
		free(b->saved[i].bytes);
	free(b->open);
	free(b->copy);
	free(b);
}

void drain_bulk_unmap(struct drain_bulk *b)
{
	if (b->data)
		munmap(b->data, (size_t)TSDB_BULK_SLOTS * TSDB_BULK_BYTES);
	b->data = NULL;
}

static bool map_slots(struct inferior *inf, struct drain_bulk *b)
{
	void *p;

	if (b->data)
		return true;
	p = mmap(NULL, (size_t)TSDB_BULK_SLOTS * TSDB_BULK_BYTES, PROT_READ, MAP_SHARED,
		inf->control_fd, (off_t)tsdb_bulk_offset(inf->ring_bytes, 0));
	if (p != MAP_FAILED)
		b->data = p;
	return b->data != NULL;
}

/* ---- slots ---- */

/* How many bytes are in a slot. */
static size_t filled(const struct drain_bulk_head *h)
{
	const size_t n = h->flags & TSDB_BULK_SAME ? ((uint64_t)h->n + SBT_PAGE - 1) / SBT_PAGE *
							     sizeof(struct sbt_hash)
						   : h->n;

	/* an invalid slot, which is noticed later, or one that belongs to nothing */
	return n > TSDB_BULK_BYTES ? 0 : n;
}

static void give_back(struct tsdb_control *c, struct drain_bulk *b, unsigned i)
{
	atomic_store_explicit(&c->bulk[i].turn, ++b->lap[i], memory_order_relaxed);
	atomic_store_explicit(&c->bulk[i].state, TSDB_BULK_FREE, memory_order_release);
}

static void release_held(struct inferior *inf, struct drain_bulk *b)
{
	if (b->held >= 0)
		give_back(inf->control, b, (unsigned)b->held);
	b->held = -1;
}

static bool is_full(const struct tsdb_control *c, unsigned i)
{
	return atomic_load_explicit(&c->bulk[i].state, memory_order_acquire) == TSDB_BULK_FULL;
}

static void copy_head(struct drain_bulk_head *h, const struct tsdb_bulk *s)
{
	h->piece = s->piece;
	h->seq = s->seq;
	h->addr = s->addr;
	h->size = s->size;
	h->offset = s->offset;
	h->role = s->role;
	h->owner = s->owner;
	h->module = s->module;
	h->ctx = s->ctx;
	h->flags = s->flags;
	h->n = s->n;
	h->name_len = s->name_len;
	h->hash = s->hash;
	if (!h->offset && h->name_len <= TSDB_NAME_MAX)
		memcpy(h->name, s->name, h->name_len);
}

static void abandon(struct inferior *inf, struct drain_bulk *b, const char *why)
{
	b->bad = true;
	b->stages = 0;
	b->ncut = b->nopen;
	inf->drain->lost++;
	drain_warn(inf->drain,
		"the memory contents that the program sends are damaged (%s); no more of them are recorded: "
		"the program overwrote memory that it shares with tsdb",
		why);
}

/* ---- pieces ---- */

static struct open_piece *find_piece(struct drain_bulk *b, uint64_t piece)
{
	for (unsigned i = 0; i < b->nopen; i++)
		if (b->open[i].piece == piece)
			return &b->open[i];
	return NULL;
}

static void forget_piece(struct drain_bulk *b, struct open_piece *p)
{
	*p = b->open[--b->nopen];
}

static void add_piece(struct drain_bulk *b, const struct drain_bulk_head *h)
{
	MAKE_ROOM(b->open, b->nopen, b->open_cap);
	b->open[b->nopen++] = (struct open_piece){.piece = h->piece, .size = h->size};
}

/* Returns why the first slot of a piece makes no sense; NULL: it is valid. */
static const char *bad_first(const struct drain_bulk *b, const struct drain_bulk_head *h)
{
	if (h->offset)
		return "a piece has no beginning";
	if (h->role < SBT_MEMORY_START || h->role > SBT_MEMORY_FREED || h->owner > SBT_MEMORY_ANY)
		return "a piece is of no known kind";
	if (h->name_len > TSDB_NAME_MAX)
		return "a name is too long";
	if (h->size > UINT64_MAX - h->addr || h->size > INT64_MAX)
		return "a piece is larger than memory";
	if (b->nopen >= PIECES_MAX)
		return "there are too many pieces at a time";
	return NULL;
}

static const char *bad_bytes(const struct open_piece *p, const struct drain_bulk_head *h)
{
	if (h->size != p->size)
		return "a piece changed its size";
	if (h->offset != p->got)
		return "a piece's bytes are out of order";
	if (h->n > (h->flags & TSDB_BULK_SAME ? TSDB_SAME_MAX : TSDB_BULK_BYTES) ||
		h->n > p->size - p->got)
		return "a slot has more bytes than its piece";
	if (h->flags & TSDB_BULK_SAME &&
		(h->offset % SBT_PAGE || (h->n % SBT_PAGE && h->n != p->size - p->got)))
		return "a slot tells of parts of pages";
	if (!h->n && !(h->flags & TSDB_BULK_CUT) && p->size)
		return "a slot is empty";
	return NULL;
}

/* The first slot of a piece. */
static const char *judge_first(struct drain_bulk *b)
{
	const struct drain_bulk_head *h = &b->cur;
	const char *why = bad_first(b, h);

	if (!why && (h->flags & TSDB_BULK_HASH_ONLY))
		why = h->n || (h->flags & TSDB_BULK_CUT) ? "a hash comes with bytes" : NULL;
	else if (!why)
		why = bad_bytes(&(struct open_piece){.size = h->size}, h);
	if (why)
		return why;
	b->stages |= STAGE_BEGIN;
	if (!(h->flags & TSDB_BULK_HASH_ONLY))
		add_piece(b, h);
	return NULL;
}

/* Looks at cur and decides what to hand out. Returns why it makes no sense; NULL: it is valid. */
static const char *judge(struct drain_bulk *b)
{
	const struct drain_bulk_head *h = &b->cur;
	struct open_piece *p = find_piece(b, h->piece);
	const char *why = NULL;

	if (!h->piece)
		return h->n ? "bytes belong to no piece" : NULL;
	if (!p && b->gaps && h->offset)
		return NULL; /* its beginning was never sent */
	if (!p) {
		why = judge_first(b);
		p = find_piece(b, h->piece);
	} else if (h->flags & TSDB_BULK_HASH_ONLY) {
		why = "a hash comes with bytes";
	}
	if (why || !p)
		return why;
	if (b->gaps && h->offset > p->got) {
		b->stages |= STAGE_CUT;
		forget_piece(b, p);
		return NULL;
	}
	why = bad_bytes(p, h);
	if (why)
		return why;
	p->got += h->n;
	b->stages |= (h->n ? STAGE_BYTES : 0u) |
		     (h->flags & TSDB_BULK_CUT && p->got < p->size ? STAGE_CUT : 0u);
	if (p->got == p->size || (h->flags & TSDB_BULK_CUT))
		forget_piece(b, p);
	return NULL;
}

/* ---- handing out ---- */

static void give_stage(struct drain_bulk *b, uint32_t epoch, struct drain_item *ret)
{
	const struct drain_bulk_head *h = &b->cur;

	ret->kind = DRAIN_MEMORY;
	ret->epoch = epoch;
	ret->piece = h->piece;
	if (b->stages & STAGE_BEGIN) {
		b->stages &= ~(unsigned)STAGE_BEGIN;
		ret->part = DRAIN_PIECE_BEGINS;
		ret->memory = (struct sbt_memory){.seq = h->seq,
			.role = h->role,
			.owner = h->owner,
			.addr = h->addr,
			.size = h->size,
			.module = h->module,
			.ctx = h->ctx,
			.name = {h->name, h->name_len},
			.hash = h->hash,
			.has_bytes = !(h->flags & TSDB_BULK_HASH_ONLY),
			.doubt = h->flags & TSDB_BULK_DOUBT};
	} else if (b->stages & STAGE_BYTES) {
		b->stages &= ~(unsigned)STAGE_BYTES;
		ret->part = h->flags & TSDB_BULK_SAME ? DRAIN_PIECE_SAME : DRAIN_PIECE_BYTES;
		ret->bytes = b->bytes;
		ret->nbytes = h->n;
	} else {
		b->stages = 0;
		ret->part = DRAIN_PIECE_CUT;
	}
}

static bool give_cut(struct drain_bulk *b, uint32_t epoch, struct drain_item *ret)
{
	if (!b->ncut)
		return false;
	b->ncut--;
	ret->kind = DRAIN_MEMORY;
	ret->epoch = epoch;
	ret->part = DRAIN_PIECE_CUT;
	ret->piece = b->open[b->ncut].piece;
	forget_piece(b, &b->open[b->ncut]);
	return true;
}

/* Takes the next slot into cur; returns false if none is ready. */
static bool take_slot(struct inferior *inf, struct drain_bulk *b, bool dead)
{
	struct tsdb_control *c = inf->control;
	unsigned i = b->next % TSDB_BULK_SLOTS;

	for (unsigned k = 0; dead && k < TSDB_BULK_SLOTS && !is_full(c, i);
		k++, i = b->next % TSDB_BULK_SLOTS) {
		b->gaps = true;
		b->lap[i]++;
		b->next++;
	}
	if (!is_full(c, i))
		return false;
	if (!map_slots(inf, b)) {
		abandon(inf, b, "there is no memory to map them");
		return false;
	}
	b->held = (int)i;
	b->next++;
	copy_head(&b->cur, &c->bulk[i]);
	b->bytes = b->data + (size_t)TSDB_BULK_BYTES * i;
	if (atomic_load_explicit(&c->bulk[i].turn, memory_order_relaxed) != b->lap[i] && !dead) {
		abandon(inf, b, "a slot was filled out of its turn");
		return false;
	}
	return true;
}

static bool take_saved(struct drain_bulk *b)
{
	struct drain_saved *s;

	if (b->saved_next) { /* handed out before */
		free(b->saved[b->saved_next - 1].bytes);
		b->saved[b->saved_next - 1].bytes = NULL;
	}
	if (b->saved_next == b->nsaved) {
		b->saved_next = b->nsaved = 0;
		return false;
	}
	s = &b->saved[b->saved_next++];
	b->cur = s->head;
	b->bytes = s->bytes;
	return true;
}

/* Nothing is handed out any more; empties the slots so that no thread waits. */
static void empty_slots(struct inferior *inf, struct drain_bulk *b)
{
	for (unsigned i = 0; i < TSDB_BULK_SLOTS; i++)
		if (is_full(inf->control, i))
			give_back(inf->control, b, i);
}

/* Takes the next slot or saved slot into cur. Returns false if there is none; pieces that will
 * never be complete are then marked. */
static bool take(struct inferior *inf, struct drain_bulk *b, bool dead)
{
	if (take_saved(b))
		return true;
	if (b->exec) {
		b->exec = b->gaps = false;
		b->ncut = b->nopen;
		return false;
	}
	if (take_slot(inf, b, dead))
		return true;
	if (dead) {
		b->drained = true;
		b->ncut = b->nopen;
	}
	return false;
}

bool drain_bulk_give(struct inferior *inf, bool final, struct drain_item *ret)
{
	struct drain_bulk *b = inf->drain->bulk;
	uint32_t epoch = inf->drain->epoch - b->exec;

	while (!b->stages) {
		const char *why;
		bool was_exec;

		release_held(inf, b);
		if (give_cut(b, epoch, ret))
			return true;
		if (b->bad) {
			empty_slots(inf, b);
			return false;
		}
		was_exec = b->exec;
		if (!take(inf, b, final && !inf->alive)) {
			if (!was_exec && !b->ncut && !b->bad)
				return false;
			continue;
		}
		why = judge(b);
		if (why)
			abandon(inf, b, why);
	}
	give_stage(b, inf->drain->epoch - b->exec, ret);
	return true;
}

unsigned drain_bulk_pressure(const struct inferior *inf)
{
	unsigned n = 0;

	for (unsigned i = 0; i < TSDB_BULK_SLOTS; i++)
		n += atomic_load_explicit(&inf->control->bulk[i].state, memory_order_relaxed) ==
		     TSDB_BULK_FULL;
	return n * 1000 / TSDB_BULK_SLOTS;
}

/* ---- exec ---- */

/* Copies the slots that the old program had filled, in the order of their tickets. */
static void save_slots(struct inferior *inf, struct drain_bulk *b)
{
	for (unsigned k = 0; k < TSDB_BULK_SLOTS; k++) {
		unsigned i = (unsigned)((b->next + k) % TSDB_BULK_SLOTS);
		struct drain_saved *s = &b->saved[b->nsaved];

		if ((int)i == b->held || !is_full(inf->control, i))
			continue;
		copy_head(&s->head, &inf->control->bulk[i]);
		s->bytes = xmalloc(filled(&s->head) + 1);
		memcpy(s->bytes, b->data + (size_t)TSDB_BULK_BYTES * i, filled(&s->head));
		b->nsaved++;
	}
}

/* A piece that is being handed out in parts must not be in a slot any more: copies it. */
static void save_current(struct drain_bulk *b)
{
	void *copy;

	if (b->held < 0 || !(b->stages & STAGE_BYTES))
		return;
	copy = xmalloc(filled(&b->cur) + 1);
	memcpy(copy, b->bytes, filled(&b->cur));
	free(b->copy);
	b->copy = copy;
	b->bytes = copy;
}

/* Ends the old program's window, which has no end of its own. */
static void end_window(struct inferior *inf, struct drain_bulk *b)
{
	int open = b->in_window;

	for (unsigned i = 0; i < b->nwindows; i++) {
		b->windows[i].barrier = 0;
		open += b->windows[i].msg.ended ? -1 : 1;
	}
	if (open > 0 && b->nwindows < WINDOWS_MAX)
		b->windows[b->nwindows++] = (struct drain_window){
			.msg = {.seq = inf->drain->last_seq, .ended = 1}, .lapsed = true};
}

/* Starts again for the new program, whose agent begins with ticket 0. */
void drain_bulk_exec(struct inferior *inf)
{
	struct drain_bulk *b = inf->drain->bulk;
	struct tsdb_control *c = inf->control;

	save_current(b);
	if (!b->bad && !b->exec && drain_bulk_pressure(inf) && map_slots(inf, b))
		save_slots(inf, b);
	b->exec = b->gaps = true;
	for (unsigned i = 0; i < TSDB_BULK_SLOTS; i++) {
		b->lap[i] = 0;
		atomic_store_explicit(&c->bulk[i].turn, 0, memory_order_relaxed);
		atomic_store_explicit(&c->bulk[i].state, TSDB_BULK_FREE, memory_order_release);
	}
	b->next = 0;
	b->held = -1;
	end_window(inf, b);
	atomic_store(&c->next_bulk, 0);
}

/* ---- windows ---- */

bool drain_window_add(struct inferior *inf, const struct tsdb_msg_window *m, uint32_t epoch)
{
	struct drain_bulk *b = inf->drain->bulk;

	if (m->head.size < sizeof(*m) || m->ended > 1 || !m->seq || b->nwindows == WINDOWS_MAX)
		return false;
	b->windows[b->nwindows++] = (struct drain_window){.msg = *m,
		.epoch = epoch,
		.barrier = atomic_load_explicit(&inf->control->next_bulk, memory_order_acquire)};
	return true;
}

/* Windows follow each other, so beginnings and ends alternate; messages from rings that are read
 * later wait. */
static struct drain_window *next_window(struct drain_bulk *b)
{
	struct drain_window *best = NULL;

	for (struct drain_window *w = b->windows; w < b->windows + b->nwindows; w++)
		if ((w->msg.ended != 0) == b->in_window && (!best || w->msg.seq < best->msg.seq))
			best = w;
	return best;
}

bool drain_window_give(struct inferior *inf, bool begins_only, struct drain_item *ret)
{
	struct drain_bulk *b = inf->drain->bulk;
	struct drain_window *w =
		b->nwindows && !(begins_only && b->in_window) ? next_window(b) : NULL;

	if (!w || (b->in_window && (b->stages || b->exec ||
					   (!b->bad && !b->drained && b->next < w->barrier))))
		return false;
	ret->kind = w->lapsed ? DRAIN_NONE : DRAIN_WINDOW;
	ret->epoch = w->epoch;
	ret->seq = w->msg.seq;
	ret->ended = b->in_window;
	ret->complete = w->msg.complete && !b->bad;
	ret->no_end = w->msg.complete == TSDB_WINDOW_NO_END;
	b->in_window = !b->in_window;
	b->nwindows--;
	memmove(w, w + 1, (size_t)(b->windows + b->nwindows - w) * sizeof(*w));
	return true;
}

bool drain_bulk_is_old(const struct drain_bulk *b)
{
	return b->exec;
}
