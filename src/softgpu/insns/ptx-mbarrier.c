/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier: "PTX ISA 9.0", 9.7.13.15. The object is 64 bits whose layout is the implementation's:
 * ours has the number of arrivals to come and the number expected in each phase (20 bits each), the
 * bytes to come (22 bits, signed), a bit that says that it was initialised, and the parity of the
 * phase. What the hardware leaves undefined (too many arrivals, no mbarrier.init) is a fault here.
 */
#include "softgpu/insns/ptx-async.h"
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/watch/ptx-observe.h"

#define COUNT_BITS 20
#define COUNT_MAX ((1u << COUNT_BITS) - 1)
#define TX_SHIFT 40
#define TX_BITS 22
#define VALID (1ull << 62)
#define PHASE (1ull << 63)

struct mbar {
	uint32_t pending, expected;
	int32_t tx;
	bool phase;
};

static struct mbar unpack(uint64_t v)
{
	return (struct mbar){.pending = v & COUNT_MAX,
		.expected = v >> COUNT_BITS & COUNT_MAX,
		.tx = (int32_t)((int64_t)(v << (64 - TX_SHIFT - TX_BITS)) >> (64 - TX_BITS)),
		.phase = v >> 63};
}

static uint64_t pack(const struct mbar *b)
{
	return b->pending | (uint64_t)b->expected << COUNT_BITS |
	       ((uint64_t)b->tx & ((1u << TX_BITS) - 1)) << TX_SHIFT | VALID |
	       (b->phase ? PHASE : 0);
}

static _Noreturn void wrong(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, const char *what)
{
	ptx_raise(w, i, lane, PTX_ILLEGAL_INSTRUCTION, 0, 0, what);
}

static struct mbar get(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, const uint64_t *m)
{
	if (!(*m & VALID))
		wrong(w, i, lane, "an mbarrier that was not initialised");
	return unpack(*m);
}

/* Stores it; when nothing is to come any more, the next phase begins. */
static void put(uint64_t *m, struct mbar b)
{
	if (!b.pending && !b.tx) {
		b.phase = !b.phase;
		b.pending = b.expected;
	}
	*m = pack(&b);
}

void ptx_mbar_arrive(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m, uint32_t count)
{
	struct mbar b = get(w, i, lane, m);

	if (!count || count > b.pending)
		wrong(w, i, lane,
			count ? "more arrivals at an mbarrier than it expects"
			      : "an arrival that counts nothing");
	b.pending -= count;
	ptx_observe_sync(w, i, PTX_SYNC_RELEASE, 1u << lane, (uint64_t)(uintptr_t)m);
	put(m, b);
}

static void add_tx(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m, int64_t bytes)
{
	struct mbar b = get(w, i, lane, m);
	int64_t tx = b.tx + bytes;

	if (tx > (int64_t)COUNT_MAX || tx < -(int64_t)COUNT_MAX)
		wrong(w, i, lane, "more bytes than an mbarrier can count");
	b.tx = (int32_t)tx;
	if (bytes < 0)
		put(m, b);
	else
		*m = pack(&b);
}

void ptx_mbar_complete_tx(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m, uint32_t bytes)
{
	ptx_observe_sync(w, i, PTX_SYNC_RELEASE, 1u << lane, (uint64_t)(uintptr_t)m);
	add_tx(w, i, lane, m, -(int64_t)bytes);
}

void ptx_mbar_expect_one(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m)
{
	struct mbar b = get(w, i, lane, m);

	if (b.pending == COUNT_MAX)
		wrong(w, i, lane, "more arrivals than an mbarrier can count");
	b.pending++;
	*m = pack(&b);
}

/* --- instructions --- */
const char *sel_mbar(struct ptx_dec *d)
{
	ptx_mods m = d->mods & (MB(shared) | MB(shcluster));

	if (m == (MB(shared) | MB(shcluster)))
		return "two state spaces";
	d->i->space = m == MB(shared) ? SP_SHARED : m ? SP_SHCLUSTER : SP_GENERIC;
	/* a remote barrier's state is not known here */
	if (m == MB(shcluster) && d->i->flags & F_USED)
		return "the state of a barrier of .shared::cluster";
	return ptx_at_space(d, 0, d->i->space);
}

static void pointers(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint64_t *p)
{
	ptx_at_pointers(w, i, 0, i->space, mask, 8, 8, true, p);
	ptx_observe(w, i, mask, p, 8, PTX_ATOMIC);
}

static uint64_t *object(const uint64_t *p, unsigned l)
{
	return (uint64_t *)(uintptr_t)p[l];
}

/* mbarrier.init [m], count */
void h_mbar_init(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, mask, p);
	EACH_LANE(l)
	{
		uint32_t n = REG(u32a, 1)[l];
		struct mbar b = {.pending = n, .expected = n};
		if (!n || n > COUNT_MAX)
			wrong(w, i, l, "an mbarrier for this number of arrivals");
		*object(p, l) = pack(&b);
	}
}

/* mbarrier.inval [m] */
void h_mbar_inval(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, mask, p);
	EACH_LANE(l)
	{
		get(w, i, l, object(p, l));
		*object(p, l) = 0;
	}
}

/* arg 0: expect_tx, 1: complete_tx [m], bytes */
void h_mbar_tx(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, mask, p);
	EACH_LANE(l)
	{
		uint32_t n = REG(u32a, 1)[l];
		if (n > COUNT_MAX)
			wrong(w, i, l, "more bytes than an mbarrier can count");
		if (i->arg)
			ptx_mbar_complete_tx(w, i, l, object(p, l), n);
		else
			add_tx(w, i, l, object(p, l), n);
	}
}

/* mbarrier.arrive state, [m] [, count]; arg: the bits of what else. */
enum { ARRIVE_TX = 1, ARRIVE_DROP = 2, ARRIVE_NO_COMPLETE = 4 };
void h_mbar_arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];

	pointers(w, i, mask, p);
	EACH_LANE(l)
	{
		uint64_t *m = object(p, l), old = *m;
		uint32_t n = i->o[2] != NO_REG ? REG(u32a, 2)[l] : 1,
			 count = i->arg & ARRIVE_TX ? 1 : n;
		struct mbar b = get(w, i, l, m);
		if (i->arg & ARRIVE_TX)
			add_tx(w, i, l, m, n > COUNT_MAX ? (int64_t)COUNT_MAX + 1 : n);
		if (i->arg & ARRIVE_NO_COMPLETE && count >= b.pending)
			wrong(w, i, l, ".noComplete, and this arrival completes the phase");
		if (i->arg & ARRIVE_DROP) {
			if (count > b.expected || count > b.pending)
				wrong(w, i, l, "more arrivals at an mbarrier than it expects");
			b = unpack(*m);
			b.expected -= count;
			*m = pack(&b);
		}
		ptx_mbar_arrive(w, i, l, m, count);
		if (i->o[0] != NO_REG)
			REG(u64a, 0)[l] = old;
	}
}

/* mbarrier.test_wait p, [m], state: whether the phase of the state is over. arg 1: .parity instead
 * of a state. Bit 1: .try_wait, which may wait a while: the warp gives way. */
void h_mbar_wait(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	uint64_t p[PTX_LANES];
	uint32_t yes = 0;

	pointers(w, i, mask, p);
	EACH_LANE(l)
	{
		uint64_t *m = object(p, l);
		bool phase = i->arg & 1 ? REG(u32a, 2)[l] & 1 : REG(u64a, 2)[l] >> 63;
		ptx_async_fire(w->wk, m);
		yes |= (uint32_t)(get(w, i, l, m).phase != phase) << l;
		if (yes >> l & 1)
			ptx_observe_sync(w, i, PTX_SYNC_ACQUIRE, 1u << l, (uint64_t)(uintptr_t)m);
	}
	if (i->o[0] != NO_REG)
		ptx_set_pred(&PRED(0), mask, yes);
	if (~yes & mask)
		ptx_give_way(w);
}

/* mbarrier.pending_count count, state */
void h_mbar_count(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u32a *d = REG(u32a, 0);
	const u64a *s = REG(u64a, 1);

	EACH_LANE(l) d[l] = unpack(s[l]).pending;
}
