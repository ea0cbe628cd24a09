/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the memory that tsdb shares with a program, as a program may leave it that writes
 * over it. The bytes are steps: messages, raw bytes, positions and states in a ring, bulk slots,
 * anything anywhere in the control block, and the drainer in between. It must hand out what can be
 * read in bounded time, and everything that it hands out must lie in memory.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fuzz.h"
#include "attach/ptrace/inferior.h"
#include "../unit/random-cmds.h"
#include "sbt/cmd-pack.h"

#define RING (2 * TSDB_RECORD_MAX)
#define RINGS 3u
#define ITEMS_MAX 100000u /* more than fit: a record has 8 bytes at least */

struct input {
	const uint8_t *at;
	size_t n;
};

struct world {
	struct inferior *inf;
	struct tsdb_control *c;
	uint8_t *data[RINGS];
	uint64_t head[RINGS]; /* where a well-behaved program would go on */
	uint64_t sum;
	struct random_cmds cmds;
};

static void take(struct input *in, void *dst, size_t n)
{
	const size_t have = n < in->n ? n : in->n;

	memset(dst, 0, n);
	memcpy(dst, in->at, have);
	in->at += have;
	in->n -= have;
}

static uint8_t byte(struct input *in)
{
	uint8_t b;

	take(in, &b, 1);
	return b;
}

static uint64_t word(struct input *in)
{
	uint64_t w;

	take(in, &w, sizeof w);
	return w;
}

/* --- what a program does --- */

static void put(struct world *w, unsigned ring, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	struct tsdb_ring *s = &w->c->ring[ring];

	for (size_t i = 0; i < n; i++)
		w->data[ring][(w->head[ring] + i) % RING] = p[i];
	w->head[ring] += n;
	if (atomic_load(&s->state) == TSDB_RING_FREE)
		atomic_store(&s->state, TSDB_RING_USED);
	atomic_store(&s->head, w->head[ring]);
}

/* One with a good header. */
static void message(struct world *w, struct input *in)
{
	static const uint16_t types[] = {TSDB_MSG_STACK, TSDB_MSG_TIME, TSDB_MSG_CODE,
		TSDB_MSG_MAPPING, TSDB_MSG_WINDOW, TSDB_MSG_PYTHON, TSDB_MSG_PAD};
	const unsigned what = byte(in), body = byte(in);
	union {
		struct tsdb_msg_head head;
		uint8_t bytes[sizeof(struct tsdb_msg_head) + 256 + 8];
	} m;

	m.head = (struct tsdb_msg_head){.size = (uint32_t)(sizeof m.head + body + 7) & ~7u,
		.type = types[what / RINGS % 7]};
	take(in, m.bytes + sizeof m.head, m.head.size - sizeof m.head);
	put(w, what % RINGS, &m, m.head.size);
}

static void command(struct world *w, struct input *in)
{
	static _Alignas(8) uint8_t bytes[TSDB_RECORD_MAX];
	const unsigned what = byte(in);
	struct sbt_cmd c;

	w->cmds.seq = atomic_load(&w->c->next_seq);
	c = random_cmd(&w->cmds);
	c.stack = byte(in);
	c.corr = byte(in);
	if (sbt_pack_size(&c) > sizeof bytes)
		return;
	sbt_pack(bytes, &c);
	put(w, what % RINGS, bytes, ((struct tsdb_msg_head *)bytes)->size);
	atomic_fetch_add(&w->c->next_seq, 1);
}

static void raw(struct world *w, struct input *in)
{
	const unsigned what = byte(in);
	uint8_t bytes[256];
	const size_t n = byte(in);

	take(in, bytes, n);
	put(w, what % RINGS, bytes, n);
}

static void positions(struct world *w, struct input *in)
{
	const unsigned what = byte(in);
	struct tsdb_ring *s = &w->c->ring[what % RINGS];

	if (what & 0x10)
		atomic_store(&s->head, word(in));
	if (what & 0x20)
		atomic_store(&s->tail, word(in));
	if (what & 0x40)
		atomic_store(&s->inflight, word(in));
	if (what & 0x80)
		atomic_store(&s->state, byte(in));
}

static void bulk(struct world *w, struct input *in)
{
	const unsigned what = byte(in);
	struct tsdb_bulk *b = &w->c->bulk[what % 4];
	const uint32_t turn = atomic_load(&b->turn);

	take(in, &b->piece, byte(in) % (sizeof *b - offsetof(struct tsdb_bulk, piece)));
	if (what & 0x10)
		b->piece = 1;
	if (what & 0x20)
		b->size = b->n;
	if (what & 0x40)
		b->flags &= 7;
	atomic_store(&b->turn, what & 0x80 ? byte(in) : turn);
	atomic_store(&b->state, TSDB_BULK_FULL);
}

static void scribble(struct world *w, struct input *in)
{
	uint8_t *block = (uint8_t *)w->c;
	uint32_t at = 0;
	size_t n = byte(in);

	take(in, &at, 3);
	at %= sizeof *w->c;
	if (n > sizeof *w->c - at)
		n = sizeof *w->c - at;
	take(in, block + at, n);
}

/* --- what tsdb does --- */

static void touch(struct world *w, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		w->sum += b[i];
}

static void use(struct world *w, const struct drain_item *it)
{
	struct sbt_host_module m;

	switch (it->kind) {
	case DRAIN_STACK:
		for (unsigned i = 0; i < it->n; i++) {
			if (it->frames[i].module != SBT_NO_ID &&
				!drain_module(w->inf, it->frames[i].module, &m))
				abort();
			w->sum += it->frames[i].offset;
		}
		break;
	case DRAIN_CODE:
		touch(w, it->code, it->code_size);
		break;
	case DRAIN_MEMORY:
		if (it->part == DRAIN_PIECE_BEGINS)
			touch(w, it->memory.name.p, it->memory.name.len);
		if (it->part == DRAIN_PIECE_BYTES)
			touch(w, it->bytes, it->nbytes);
		if (it->part == DRAIN_PIECE_SAME)
			touch(w, it->bytes,
				(it->nbytes + SBT_PAGE - 1) / SBT_PAGE * sizeof(struct sbt_hash));
		break;
	default:
		break;
	}
}

static void drain(struct world *w, unsigned most, bool final)
{
	static struct drain_item it;
	unsigned n = 0;

	for (; n < most; n++) {
		if (drain_next(w->inf, final, &it))
			abort(); /* never an error for what the program wrote */
		if (it.kind == DRAIN_NONE)
			break;
		use(w, &it);
	}
	if (n == ITEMS_MAX)
		abort();
	w->sum += drain_pressure(w->inf) + drain_lost(w->inf, NULL);
	if (drain_peek(w->inf, w->sum % 8, &it))
		use(w, &it);
	while (drain_warning(w->inf))
		;
}

static void step(struct world *w, struct input *in)
{
	switch (byte(in) % 10) {
	case 0:
	case 1:
		command(w, in);
		break;
	case 2:
	case 3:
		message(w, in);
		break;
	case 4:
		raw(w, in);
		break;
	case 5:
		positions(w, in);
		break;
	case 6:
		bulk(w, in);
		break;
	case 7:
		scribble(w, in);
		break;
	case 8:
		drain(w, byte(in), false);
		break;
	default:
		if (byte(in) % 4)
			drain_thread_gone(w->inf, byte(in));
		else
			control_exec(w->inf);
	}
}

/* --- the world --- */

static bool world_open(struct world *w)
{
	w->inf = xcalloc(1, sizeof *w->inf);
	w->inf->control_fd = -1;
	w->inf->alive = true;
	w->inf->drain = drain_new();
	if (control_create(w->inf, RING))
		abort();
	w->c = w->inf->control;
	atomic_store(&w->c->rings, TSDB_RING_LARGE);
	w->cmds = (struct random_cmds){.x = 1, .seq = 1};
	for (unsigned i = 0; i < RINGS; i++) {
		w->data[i] = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED,
			w->inf->control_fd, (off_t)tsdb_ring_offset(RING, i));
		if (w->data[i] == MAP_FAILED)
			abort();
	}
	return true;
}

static void world_close(struct world *w)
{
	for (unsigned i = 0; i < RINGS; i++)
		munmap(w->data[i], RING);
	w->inf->alive = false;
	drain(w, ITEMS_MAX, true);
	inferior_free(w->inf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = {0};
	struct input in = {data, n};

	world_open(&w);
	while (in.n)
		step(&w, &in);
	drain(&w, ITEMS_MAX, false);
	world_close(&w);
	return 0;
}
