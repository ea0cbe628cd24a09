/* SPDX-License-Identifier: Apache-2.0
 *
 * The small parts of src/order, each against its header's sentences: which words of host memory
 * changed, copies that nobody waited for, copies from pageable memory, and what is copied from one
 * trace to another.
 */
#include "order-test.h"
#include <stdlib.h>
#include "order/critical/critical-graph.h"
#include "order/critical-path.h"
#include "order/expand.h"
#include "order/flow.h"
#include "order/fold/feed.h"
#include "order/fold/held.h"
#include "order/kept.h"
#include "order/races/ledger.h"
#include "order/races/news.h"
#include "order/races/polls.h"
#include "order/races/ptx-waits.h"
#include "order/races/staged.h"
#include "order/races/unread.h"
#include "order/schedule/copied.h"

static struct random_cmds dice;

static unsigned below(unsigned n)
{
	return (unsigned)random_below(&dice, n);
}

/* ---- words that changed ---------------------------------------- */

#define PIECES 300
#define BYTES 48

static struct look {
	struct sbt_memory m;
	uint8_t bytes[BYTES];
} looks[PIECES];
static unsigned nlooks;

/* What changed() has to be called with: by piece, in order. */
struct told {
	uint64_t seq, addr, end, since;
	bool sure;
};
static struct told want[PIECES * BYTES], got[PIECES * BYTES];
static size_t nwant, ngot;

static void take(void *arg, const struct news_change *c)
{
	assert_ptr_equal(arg, &ngot);
	assert_true(ngot < sizeof got / sizeof *got);
	got[ngot++] = (struct told){c->m->seq, c->addr, c->end, c->since, c->sure};
}

static bool inside(const struct sbt_memory *m, const struct sbt_memory *all)
{
	return m->addr >= all->addr && m->addr + m->size <= all->addr + all->size;
}

/* The look before at that address, else the newest of the beginning's that has all of it. */
static const struct look *look_before(unsigned i)
{
	for (unsigned k = i; k-- > 0;)
		if (looks[k].m.role == SBT_MEMORY_HOST && looks[k].m.addr == looks[i].m.addr)
			return &looks[k];
	for (unsigned k = i; k-- > 0;)
		if (looks[k].m.role == SBT_MEMORY_START && inside(&looks[i].m, &looks[k].m))
			return &looks[k];
	return NULL;
}

static bool has_bytes(const struct look *l)
{
	return l->m.has_bytes && !l->m.missing;
}

/* Since when the contents before l were there: not known, or from the window's beginning: 0. */
static uint64_t since(const struct look *l, const struct look *was)
{
	return was && has_bytes(was) && inside(&l->m, &was->m) && was->m.role == SBT_MEMORY_HOST
		       ? was->m.seq
		       : 0;
}

static void want_words(const struct look *l, const struct look *was)
{
	const uint8_t *before = was->bytes + (l->m.addr - was->m.addr);
	bool in = false;

	for (uint64_t at = 0; at < l->m.size; at += 4) {
		const uint64_t end = at + 4 < l->m.size ? at + 4 : l->m.size;

		if (!memcmp(before + at, l->bytes + at, end - at)) {
			in = false;
			continue;
		}
		if (in)
			want[nwant - 1].end = l->m.addr + end;
		else
			want[nwant++] = (struct told){
				l->m.seq, l->m.addr + at, l->m.addr + end, since(l, was), true};
		in = true;
	}
}

static void want_news(void)
{
	nwant = 0;
	for (unsigned i = 0; i < nlooks; i++) {
		const struct look *l = &looks[i], *was = look_before(i);

		if (l->m.role != SBT_MEMORY_HOST)
			continue;
		if (was && has_bytes(was) && has_bytes(l) && inside(&l->m, &was->m))
			want_words(l, was);
		else
			want[nwant++] = (struct told){
				l->m.seq, l->m.addr, l->m.addr + l->m.size, since(l, was), false};
	}
}

/* Mostly what is there already, with a byte changed here and there. */
static void some_look(unsigned i)
{
	const bool start = !below(4);
	struct look *l = &looks[i];
	const struct look *was;

	l->m = (struct sbt_memory){.seq = i + 1,
		.role = start ? SBT_MEMORY_START : SBT_MEMORY_HOST,
		.addr = H + (uint64_t)BYTES * below(90) + (start ? 0 : 4 * below(2)),
		.size = start	    ? BYTES
			: below(12) ? 1 + below(BYTES - 8)
				    : 0,
		.module = SBT_NO_ID,
		.has_bytes = below(10) != 0};
	was = look_before(i);
	for (unsigned k = 0; k < BYTES; k++)
		l->bytes[k] = was && k + (l->m.addr - was->m.addr) < BYTES
				      ? was->bytes[k + (l->m.addr - was->m.addr)]
				      : 7;
	for (unsigned k = below(6); k--;)
		l->bytes[below(BYTES)] = (uint8_t)below(3);
}

static struct err *note_one(void *arg, const struct sbt_memory *m)
{
	struct sbt_memory cut = *m;

	cut.missing = looks[m->seq - 1].m.missing;
	TRY(news_note(arg, &cut));
	cut.role = SBT_MEMORY_INPUT; /* says nothing of memory's contents at that time */
	return news_note(arg, &cut);
}

static void test_words_that_changed(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct news n = {0};
		struct sbt_reader *r;

		dice = (struct random_cmds){.x = seed * 6151};
		trace_begin(&t, 0);
		nlooks = seed % 2 ? PIECES : below(60);
		for (unsigned i = 0; i < nlooks; i++) {
			const struct sbt_memory *m = &looks[i].m;
			uint32_t id;

			some_look(i);
			ok(sbt_writer_memory(t.w, m, &id));
			if (m->has_bytes && m->size)
				ok(sbt_writer_memory_bytes(t.w, id, looks[i].bytes, m->size));
			looks[i].m.missing = !below(12) ? m->size : 0;
		}
		r = trace_end(&t);
		ok(sbt_reader_memory(r, 0, UINT64_MAX, note_one, &n));
		for (unsigned i = nlooks; i--;)
			if (!looks[i].m.size) { /* no bytes: nothing to say */
				memmove(&looks[i], &looks[i + 1], (nlooks - i - 1) * sizeof *looks);
				nlooks--;
			}
		assert_int_equal(n.n, nlooks);
		want_news();
		ngot = 0;
		ok(news_tell(&n, r, take, &ngot));
		assert_int_equal(ngot, nwant);
		for (size_t i = 0; i < nwant; i++) {
			assert_int_equal(got[i].seq, want[i].seq);
			assert_int_equal(got[i].addr, want[i].addr);
			assert_int_equal(got[i].end, want[i].end);
			assert_int_equal(got[i].since, want[i].since);
			assert_int_equal(got[i].sure, want[i].sure);
		}
		news_free(&n);
		assert_null(n.m);
		assert_int_equal(n.n, 0);
		sbt_reader_close(r);
	}
}

static struct err *note_as_it_is(void *arg, const struct sbt_memory *m)
{
	return news_note(arg, m);
}

/* Up to 4096 ranges, and up to 1 MiB, are told apart. */
static void test_news_of_large_pieces(void **unused)
{
	static const struct {
		size_t size, ranges;
		bool apart;
	} rows[] = {{65536, 4096, true}, {65536, 4097, false}, {1 << 20, 1, true},
		{(1 << 20) + 1, 1, false}, {65536, 0, true}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t *bytes = calloc(1, rows[i].size);
		struct news n = {0};
		struct sbt_reader *r;

		assert_non_null(bytes);
		trace_begin(&t, 0);
		for (uint64_t at = 1; at <= 2; at++) {
			const struct sbt_memory m = {.seq = at,
				.role = SBT_MEMORY_HOST,
				.addr = H,
				.size = rows[i].size,
				.module = SBT_NO_ID,
				.has_bytes = true};
			uint32_t id;

			ok(sbt_writer_memory(t.w, &m, &id));
			ok(sbt_writer_memory_bytes(t.w, id, bytes, m.size));
			for (size_t k = 0; k < rows[i].ranges; k++)
				bytes[8 * k] = 1;
		}
		r = trace_end(&t);
		ok(sbt_reader_memory(r, 0, UINT64_MAX, note_as_it_is, &n));
		ngot = 0;
		ok(news_tell(&n, r, take, &ngot));
		assert_int_equal(ngot, rows[i].apart ? 1 + rows[i].ranges : 2);
		assert_false(got[0].sure);
		assert_int_equal(got[0].end, H + rows[i].size);
		for (size_t k = 1; k < ngot && rows[i].apart; k++) {
			assert_true(got[k].sure);
			assert_int_equal(got[k].addr, H + 8 * (k - 1));
			assert_int_equal(got[k].end, H + 8 * (k - 1) + 4);
		}
		if (!rows[i].apart)
			assert_true(!got[1].sure && got[1].end == H + rows[i].size);
		news_free(&n);
		sbt_reader_close(r);
		free(bytes);
	}
}

/* ---- copies that nobody waited for ---------------------------------------- */

#define COPIES 128
#define LANES 4
#define R UINT64_C(0x900000)

static struct copy {
	uint64_t addr, end;
	uint32_t lane, index, stack;
	bool alive;
	int found; /* enum order_unread that has to come now; 0: none */
	uint64_t by;
} copies[COPIES];
static unsigned ncopies;

static void take_unread(
	void *arg, const struct unread_copy *copy, const struct sbt_cmd *by, enum order_unread why)
{
	unsigned i = 0;

	assert_ptr_equal(arg, copies);
	while (i < ncopies && copies[i].index != copy->at.index)
		i++;
	assert_true(i < ncopies);
	assert_int_equal(copy->at.lane, copies[i].lane);
	assert_int_equal(copy->at.seq, copies[i].index);
	assert_int_equal(copy->addr, copies[i].addr);
	assert_int_equal(copy->end, copies[i].end);
	assert_int_equal(copy->stack, copies[i].stack);
	assert_int_equal(why, copies[i].found);
	assert_int_equal(by->seq, copies[i].by);
	copies[i].found = 0;
}

static bool comes_before(const struct copy *c, const struct order_item *it)
{
	return c->lane == it->lane ? c->index < it->index
				   : clock_at(it->clock, c->lane) >= c->index;
}

/* By the header: dropped once the host knows of it, once another command touches its bytes or a
 * host function may read them; found where they are certainly lost. */
static void expect(const struct sbt_cmd *c, const struct order_item *it,
	const struct order_accesses *l, const struct clock *knows)
{
	for (unsigned i = 0; i < ncopies; i++) {
		struct copy *x = &copies[i];

		x->alive &= clock_at(knows, x->lane) < x->index;
		if (x->alive && c->kind == SBT_FREE && !c->result &&
			(c->u.free.addr == H || c->u.free.addr == R) && x->addr >= c->u.free.addr &&
			x->addr < c->u.free.addr + SIZE) {
			x->found = ORDER_FREED;
			x->by = c->seq;
			x->alive = false;
		}
		if (it && x->alive && c->kind == SBT_HOST_FUNC && comes_before(x, it))
			x->alive = false;
		for (size_t k = 0; it && k < l->n && x->alive; k++) {
			if (l->a[k].addr >= x->end || x->addr >= l->a[k].end)
				continue;
			x->alive = false;
			if (l->a[k].how == ORDER_WRITE && comes_before(x, it)) {
				x->found = ORDER_OVERWRITTEN;
				x->by = c->seq;
			}
		}
	}
}

static void expect_copy(const struct sbt_cmd *c, const struct order_item *it)
{
	unsigned alive = 0, oldest = ncopies;

	for (unsigned i = ncopies; i--;)
		if (copies[i].alive) {
			alive++;
			oldest = i;
		}
	if (alive == UNREAD_MAX)
		copies[oldest].alive = false;
	copies[ncopies++] = (struct copy){.addr = c->u.copy.dst,
		.end = c->u.copy.dst + c->u.copy.size,
		.lane = it->lane,
		.index = it->index,
		.stack = c->stack,
		.alive = true};
}

static void assert_all_found(void)
{
	for (unsigned i = 0; i < ncopies; i++)
		assert_int_equal(copies[i].found, 0);
}

static struct sbt_cmd some_copy(uint64_t at, bool *ret_counts)
{
	static const uint64_t to[] = {H, R, A, UINT64_C(0x7f0000000000)};
	const unsigned odd = below(12), where = below(8) ? below(2) : 2 + below(2);
	struct sbt_cmd c = cmd_copy(at, 1, odd == 0 ? SBT_COPY_D2D : SBT_COPY_D2H,
		to[where] + 16 * below(250), A, odd == 1 ? 0 : 1 + below(24), odd != 2);

	c.u.copy.pageable = odd == 3;
	c.u.copy.width = odd == 4 ? 4 : 0;
	c.stack = 1 + below(9);
	*ret_counts = odd > 4 && where < 2;
	return c;
}

static void test_copies_that_nobody_waited_for(void **unused)
{
	struct state *s = state_new();
	struct sbt_cmd c;

	(void)unused;
	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_alloc(2, A, SIZE));
	c = cmd_alloc(3, H, SIZE);
	c.u.alloc.mem = SBT_MEM_PINNED;
	apply(s, c);
	c = cmd_alloc(4, R, SIZE);
	c.u.alloc.mem = SBT_MEM_REGISTERED;
	apply(s, c);
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct unread u = {.found = take_unread, .arg = copies};
		struct clock *knows = NULL;

		dice = (struct random_cmds){.x = seed * 13007};
		ncopies = 0;
		for (uint64_t i = 1; i < COPIES; i++) {
			struct clock *seen = NULL, *was;
			struct order_access a[2];
			const struct order_accesses l = {
				.a = a, .n = seed % 3 || !below(30) ? below(3) : 0};
			struct order_item it = {.seq = i, .lane = below(LANES), .index = i};
			const bool is_item = below(10) != 0;
			bool counts = false;

			for (unsigned k = 0; k < 2; k++) {
				a[k].addr = (below(2) ? H : R) + 16 * below(250) - below(3);
				a[k].end = a[k].addr + 1 + below(20);
				a[k].how = below(2) ? ORDER_WRITE : below(2);
			}
			for (unsigned k = 0; k < LANES; k++)
				if (below(2)) {
					was = seen;
					seen = clock_with(seen, k, below((unsigned)i + 1));
					clock_drop(was);
				}
			it.clock = seen;
			if (!below(seed % 2 ? 8 : 400)) {
				was = knows;
				knows = clock_with(knows, below(LANES), below((unsigned)i + 1));
				clock_drop(was);
			}
			switch (below(seed % 2 ? 12 : 200)) {
			case 0:
				c = cmd_free(
					i, below(3) ? (below(2) ? H : R) : UINT64_C(0x5000000));
				c.result = !below(4);
				break;
			case 1:
				c = cmd_host_func(i, 1);
				break;
			case 2:
				c = cmd_fill(i, 1, A, 8);
				break;
			default:
				c = some_copy(i, &counts);
			}
			const struct order_accesses none = {0};
			const struct order_accesses *touched =
				c.kind == SBT_COPY && below(3) ? &none : &l;

			expect(&c, is_item ? &it : NULL, touched, knows);
			if (counts && is_item)
				expect_copy(&c, &it);
			unread_command(&u, s, &c, is_item ? &it : NULL, touched, knows);
			assert_all_found();
			clock_drop(seen);
		}
		for (unsigned i = 0; i < ncopies; i++) {
			copies[i].alive &= clock_at(knows, copies[i].lane) < copies[i].index;
			copies[i].found = copies[i].alive ? ORDER_ENDED : 0;
			copies[i].by = 999;
		}
		c = cmd_any(999, SBT_LAUNCH);
		unread_end(&u, &c, knows);
		assert_all_found();
		unread_end(&u, &c, NULL); /* said once */
		clock_drop(knows);
	}
	state_free(s);
}

/* ---- copies from pageable memory ---------------------------------------- */

static void test_what_is_small(void **unused)
{
	static const struct {
		uint64_t size, width, height, depth;
		bool small;
	} rows[] = {{65536, 0, 0, 0, true}, {65537, 0, 0, 0, false}, {65536, 0, 2, 2, true},
		{0, 65536, 0, 0, true}, {0, 65537, 0, 0, false}, {99999, 32768, 2, 0, true},
		{0, 32768, 2, 1, true}, {0, 32768, 2, 2, false}, {0, 32768, 0, 2, true},
		{0, 32769, 1, 2, false}, {0, 256, 256, 1, true}, {0, 257, 256, 1, false},
		{0, UINT64_C(1) << 32, UINT64_C(1) << 32, 1, false},
		{0, UINT64_C(1) << 32, 1, UINT64_C(1) << 32, false},
		{0, UINT64_C(1) << 32, UINT64_C(1) << 32, 4, false}};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sbt_cmd_copy u = {.size = rows[i].size,
			.width = rows[i].width,
			.height = rows[i].height,
			.depth = rows[i].depth};

		if (staged_is_small(&u) != rows[i].small)
			fail_msg("row %zu", i);
	}
}

static void test_calls_that_had_returned(void **unused)
{
	struct state *s = state_new();
	struct fold *f = fold_new(true);
	struct staged known = {0};
	struct order_item it;
	struct {
		uint64_t at;
		uint32_t lane, index;
		enum order_staged is;
	} want_is[64];
	unsigned n = 0;

	(void)unused;
	dice = (struct random_cmds){.x = 4711};
	apply(s, cmd_ctx_create(1, 0, 0));
	apply(s, cmd_alloc(2, A, 1 << 20));
	for (uint64_t i = 10; i < 200; i += 3) {
		const bool small = below(2), counts = below(3);
		struct sbt_cmd c = cmd_copy(i, 0, SBT_COPY_H2D, A, UINT64_C(0x7f0000000000),
			small ? 65536 : 65537, false);

		c.u.copy.pageable = true;
		c.thread = 1 + below(2);
		if (!counts)
			c.u.copy.async = true;
		assert_true(fold_apply(f, s, &c, &it));
		staged_note(&known, f, s, &c);
		if (!counts)
			continue;
		want_is[n].at = i;
		fold_host_at(f, c.thread, &want_is[n].lane, &want_is[n].index);
		want_is[n++].is = small ? ORDER_STAGED_SMALL : ORDER_STAGED;
	}
	assert_int_equal(known.n, n);
	for (uint64_t at = 0; at < 210; at++) {
		const struct order_item nothing_known = {.seq = 300, .lane = 77};
		unsigned i = 0;

		while (i < n && want_is[i].at != at)
			i++;
		assert_int_equal(staged_is(&known, at, &nothing_known), ORDER_NOT_STAGED);
		const uint32_t lane = i < n ? want_is[i].lane : 0,
			       index = i < n ? want_is[i].index : 1;
		for (uint32_t knows = index ? index - 1 : 0; knows <= index + 1; knows++) {
			struct clock *c = clock_with(NULL, lane, knows);
			const struct order_item later = {.seq = 300, .lane = 77, .clock = c};

			assert_int_equal(staged_is(&known, at, &later),
				i < n && knows >= index ? want_is[i].is : ORDER_NOT_STAGED);
			clock_drop(c);
		}
		const struct order_item of_host = {.seq = 300, .lane = lane, .index = 1};
		assert_int_equal(
			staged_is(&known, at, &of_host), i < n ? want_is[i].is : ORDER_NOT_STAGED);
	}
	staged_free(&known);
	assert_null(known.c);
	assert_int_equal(known.n, 0);
	fold_free(f);
	state_free(s);
}

/* ---- from one trace to another ---------------------------------------- */

static const struct sbt_place places[] = {
	{"a.py", "f", 1, 2}, {"b.py", "Net.forward", 10, 12}, {"c.py", "g", 0, 0}};
static const char *const module_paths[] = {"/bin/a", SBT_MODULE_PYTHON, "/lib/b", "/lib/c"};
/* the last one has a place that the trace lacks, and a frame in no module */
static const struct sbt_frame frames[4][3] = {{{0, 0x10}, {2, 0x20}, {1, 2}},
	{{1, 0}, {1, 1}, {3, 1}}, {{2, 7}, {0, 0}, {0, 1}}, {{3, 0x99}, {SBT_NO_ID, 2}, {1, 3}}};
static const char ptx[] = ".version 8.0 // text", cubin[] = "\177ELF something";

static void write_source(void)
{
	uint32_t index;
	uint64_t hash;
	struct sbt_cmd c;

	begin();
	for (unsigned i = 0; i < 4; i++)
		ok(sbt_writer_module(t.w, module_paths[i], i ? "1234" : "", &index));
	for (unsigned i = 0; i < 3; i++)
		ok(sbt_writer_place(t.w, &places[i], &index));
	for (unsigned i = 0; i < 4; i++)
		ok(sbt_writer_stack(t.w, 10 * i + 5, frames[i], 3));
	ok(sbt_writer_code(t.w, ptx, sizeof ptx, CODE_PTX, &hash));
	ok(sbt_writer_code(t.w, cubin, sizeof cubin, CODE_UNKNOWN, &hash));
	for (unsigned i = 0; i < 6; i++) { /* stacks 35, 5, none, 25, 5, 35: each more than once */
		static const uint32_t of[] = {35, 5, 0, 25, 5, 35};

		c = cmd_fill(seq, 1, A, 8);
		c.stack = of[i];
		add(c);
	}
}

static void assert_stack(struct sbt_reader *r, uint32_t id, const struct sbt_frame *was)
{
	const struct sbt_frame *f;
	unsigned n;

	ok(sbt_reader_stack(r, id, &f, &n));
	assert_int_equal(n, was ? 3 : 0);
	for (unsigned i = 0; i < n; i++) {
		const struct sbt_host_module *m = sbt_reader_module(r, f[i].module);
		const struct sbt_place *p;

		if (was[i].module == SBT_NO_ID) {
			assert_int_equal(f[i].module, SBT_NO_ID);
			assert_int_equal(f[i].offset, was[i].offset);
			continue;
		}
		assert_non_null(m);
		assert_string_equal(m->path, module_paths[was[i].module]);
		assert_string_equal(m->build_id, was[i].module ? "1234" : "");
		if (was[i].module != 1) {
			assert_int_equal(f[i].offset, was[i].offset);
			continue;
		}
		p = sbt_reader_place(r, f[i].offset);
		if (was[i].offset == 3) {
			assert_null(p);
			continue;
		}
		assert_non_null(p);
		assert_string_equal(p->file, places[was[i].offset].file);
		assert_string_equal(p->function, places[was[i].offset].function);
		assert_int_equal(p->first_line, places[was[i].offset].first_line);
		assert_int_equal(p->line, places[was[i].offset].line);
	}
}

static void assert_code(struct sbt_reader *r)
{
	struct buf code = BUF_INIT;
	enum code_kind kind;
	uint64_t hash;
	bool seen[2] = {false, false};

	for (unsigned i = 0; i < 2; i++) {
		assert_true(sbt_reader_code_at(r, i, &hash, &kind));
		buf_clear(&code);
		ok(sbt_reader_code(r, hash, &code, &kind));
		seen[kind == CODE_PTX] = true;
		assert_int_equal(code.len, kind == CODE_PTX ? sizeof ptx : sizeof cubin);
		assert_memory_equal(code.data, kind == CODE_PTX ? ptx : cubin, code.len);
	}
	assert_true(seen[0] && seen[1]);
	assert_false(sbt_reader_code_at(r, 2, &hash, &kind));
	buf_free(&code);
}

/* The same as copied_all() has to write it, and so many bytes as it takes. */
static uint64_t bytes_with_each_stack_once(struct sbt_reader *from)
{
	struct trace_maker own;
	struct copied w = {.from = from};
	struct kept_window none = {0};
	uint32_t index;
	uint64_t ret;

	trace_begin(&own, 0);
	w.to = own.w;
	ok(sbt_writer_module(own.w, "/other", "", &index));
	ok(sbt_writer_place(own.w, &(struct sbt_place){"x.py", "x", 1, 1}, &index));
	ok(copied_all(&w, &none));
	for (uint32_t id = 5; id <= 35; id += id == 5 ? 20 : 10)
		ok(copied_stack(&w, id));
	ok(copied_stack(&w, 15));
	copied_free(&w);
	ret = sbt_writer_bytes(own.w);
	sbt_reader_close(trace_end(&own));
	return ret;
}

static void test_what_commands_refer_to_is_copied(void **unused)
{
	struct sbt_reader *from;
	struct sbt_cursor *cursor;
	struct kept_window window = {0};
	struct copied w = {0};
	uint32_t index;

	(void)unused;
	write_source();
	from = trace_end(&t);
	ok(sbt_cursor_open(&cursor, from));
	ok(kept_read(&window, cursor, FIRST, FIRST + 4));
	assert_int_equal(window.n, 5);
	sbt_cursor_close(cursor);

	trace_begin(&t, 0); /* there the numbers are others */
	ok(sbt_writer_module(t.w, "/other", "", &index));
	ok(sbt_writer_place(t.w, &(struct sbt_place){"x.py", "x", 1, 1}, &index));
	w.from = from;
	w.to = t.w;
	ok(copied_all(&w, &window));
	ok(copied_stack(&w, 15)); /* not one of theirs */
	ok(copied_stack(&w, 77)); /* none at all */
	copied_free(&w);
	assert_int_equal(sbt_writer_bytes(t.w), bytes_with_each_stack_once(from));
	struct sbt_reader *to = trace_end(&t);

	assert_stack(to, 5, frames[0]);
	assert_stack(to, 15, frames[1]);
	assert_stack(to, 25, frames[2]);
	assert_stack(to, 35, frames[3]);
	assert_stack(to, 77, NULL);
	assert_code(to);
	assert_string_equal(sbt_reader_module(to, 0)->path, "/other");
	sbt_reader_close(to);
	kept_free(&window);
	sbt_reader_close(from);
}

static struct err *copy_part(void *arg, const struct sbt_memory *m)
{
	struct copied *w = arg;
	const struct sbt_memory as = {
		.seq = 9, .role = SBT_MEMORY_HOST, .module = SBT_NO_ID, .has_bytes = m->has_bytes};

	return copied_part(w, m, 100, m->size - 3, as);
}

/* Larger than what is copied at a time, and a piece of which only the hash is there. */
static void test_a_part_of_a_piece_is_copied(void **unused)
{
	const size_t size = (2 << 20) + 500;
	uint8_t *bytes = malloc(size), *back = malloc(size);
	struct pieces found = {0};
	struct copied w = {0};
	uint32_t id;

	(void)unused;
	assert_true(bytes && back);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	for (unsigned hash_only = 0; hash_only < 2; hash_only++) {
		struct sbt_memory m = {.seq = 4,
			.role = SBT_MEMORY_START,
			.addr = A,
			.size = size,
			.module = SBT_NO_ID,
			.has_bytes = !hash_only};

		trace_begin(&t, 0);
		ok(sbt_writer_memory(t.w, &m, &id));
		if (!hash_only)
			ok(sbt_writer_memory_bytes(t.w, id, bytes, size));
		w.from = trace_end(&t);
		trace_begin(&t, 0);
		w.to = t.w;
		ok(sbt_reader_memory(w.from, 0, UINT64_MAX, copy_part, &w));
		sbt_reader_close(w.from);
		struct sbt_reader *to = trace_end(&t);

		found.n = 0;
		ok(sbt_reader_memory(to, 0, UINT64_MAX, list_piece, &found));
		assert_int_equal(found.n, 1);
		assert_int_equal(found.m[0].seq, 9);
		assert_int_equal(found.m[0].role, SBT_MEMORY_HOST);
		assert_int_equal(found.m[0].addr, A + 100);
		assert_int_equal(found.m[0].size, size - 103);
		assert_int_equal(found.m[0].has_bytes, !hash_only);
		if (!hash_only) {
			ok(sbt_reader_memory_read(to, &found.m[0], 0, back, size - 103));
			assert_memory_equal(back, bytes + 100, size - 103);
		}
		sbt_reader_close(to);
	}
	free(bytes);
	free(back);
}

/* ---- what is freed ---------------------------------------- */

#define IS_EMPTY_THEN(type, free_it)                                                               \
	do {                                                                                       \
		struct type x = {0}, zero = {0};                                                   \
                                                                                                   \
		free_it(&x);                                                                       \
		assert_memory_equal(&x, &zero, sizeof x);                                          \
	} while (0)

/* It may be freed again, or used anew. */
static void test_what_is_freed_is_empty(void **unused)
{
	(void)unused;
	IS_EMPTY_THEN(order_races, order_races_free);
	IS_EMPTY_THEN(order_suspects, order_suspects_free);
	IS_EMPTY_THEN(critical_path, critical_path_free);
	IS_EMPTY_THEN(critical_graph, critical_graph_free);
	IS_EMPTY_THEN(early, early_free);
	IS_EMPTY_THEN(expanded, expanded_free);
	IS_EMPTY_THEN(held, held_free);
	IS_EMPTY_THEN(kept_window, kept_free);
	IS_EMPTY_THEN(news, news_free);
	IS_EMPTY_THEN(polls, polls_free);
	IS_EMPTY_THEN(staged, staged_free);
	IS_EMPTY_THEN(trace_codes, trace_codes_free);
	IS_EMPTY_THEN(waits, waits_free);
}

/* NULL is what there is before there is anything. */
static void test_nothing_is_freed_too(void **unused)
{
	(void)unused;
	order_close(NULL);
	order_flow_close(NULL);
	fold_free(NULL);
	feed_close(NULL);
	ledger_free(NULL);
}

/* ---- kernels that are asked about ---------------------------------------- */

/* By numbers that are far from each other; without code none of them polls. */
static void test_what_is_known_of_kernels_grows(void **unused)
{
	static const uint64_t ids[] = {0, 3, 200, 64, 63, 5000, 128};
	struct polls p = {.nknown = 0};
	struct state *s = state_new();
	bool polls = true;

	(void)unused;
	begin();
	end_once();
	apply(s, cmd_ctx_create(1, 0, 0));
	for (uint64_t i = 0; i < 7; i++)
		apply(s, cmd_kernel_def(2 + i, ids[i], SBT_NO_ID, "k", NULL, 0));
	for (unsigned again = 0; again < 2; again++)
		for (uint64_t i = 0; i < 7; i++) {
			const struct sbt_cmd c = cmd_launch(20, 1, ids[i]);

			ok(polls_launch(&p, made, s, &c, &polls));
			assert_false(polls);
			assert_int_equal(p.known[ids[i]], 1);
		}
	for (uint64_t id = 0; id < p.nknown; id++) {
		bool asked = false;

		for (unsigned i = 0; i < 7; i++)
			asked |= ids[i] == id;
		assert_int_equal(p.known[id], asked);
	}
	polls_free(&p);
	state_free(s);
	test_over();
}

/* A copy reads host memory as it is then if all of it is page-locked. */
static void test_copies_that_read_live_memory(void **unused)
{
	static const enum sbt_mem kinds[] = {SBT_MEM_DEVICE, SBT_MEM_MANAGED, SBT_MEM_ASYNC,
		SBT_MEM_VMM, SBT_MEM_PINNED, SBT_MEM_REGISTERED};
	struct state *s = state_new();
	struct sbt_cmd c;

	(void)unused;
	for (unsigned i = 0; i < 6; i++) {
		c = cmd_alloc(1 + i, 0x10000 * (i + 1), 0x1000);
		c.u.alloc.mem = kinds[i];
		apply(s, c);
	}
	for (unsigned i = 0; i < 6; i++) {
		const uint64_t at = 0x10000 * (i + 1);
		const bool locked = i >= 4;

		c = cmd_copy(20, 1, SBT_COPY_ANY, 0x900000, at, 0x1000, true);
		assert_int_equal(order_reads_live(s, &c), locked);
		c.u.copy.size++; /* a byte behind it */
		assert_false(order_reads_live(s, &c));
		c.u.copy.size = 1;
		c.u.copy.src = at + 0xfff;
		assert_int_equal(order_reads_live(s, &c), locked);
		c.u.copy.src++;
		assert_false(order_reads_live(s, &c));
		c.u.copy.src = at;
		c.u.copy.width = 1;
		assert_false(order_reads_live(s, &c));
		c.u.copy.width = 0;
		c.result = 1;
		assert_false(order_reads_live(s, &c));
		c.result = 0;
		c.flags = SBT_F_GRAPH;
		assert_false(order_reads_live(s, &c));
		c = cmd_fill(20, 1, at, 8);
		assert_false(order_reads_live(s, &c));
	}
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_that_changed),
		cmocka_unit_test(test_news_of_large_pieces),
		cmocka_unit_test(test_copies_that_nobody_waited_for),
		cmocka_unit_test(test_what_is_small),
		cmocka_unit_test(test_calls_that_had_returned),
		cmocka_unit_test(test_what_commands_refer_to_is_copied),
		cmocka_unit_test(test_a_part_of_a_piece_is_copied),
		cmocka_unit_test(test_what_is_freed_is_empty),
		cmocka_unit_test(test_nothing_is_freed_too),
		cmocka_unit_test(test_what_is_known_of_kernels_grows),
		cmocka_unit_test(test_copies_that_read_live_memory)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
