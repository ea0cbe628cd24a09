/* SPDX-License-Identifier: Apache-2.0
 *
 * Partial replay against its definition: a plan leaves out exactly what nothing that it takes in
 * depends on. The definition is worked out here from a list of what the test itself submitted, by
 * looking at all pairs again and again until nothing more is needed; neither the fold nor the
 * trace is asked.
 */
#include "random-trace.h"
#include "replay/plan.h"
#include "sbt/memory.h"

#define SIZE UINT64_C(0x1000)
#define CELL UINT64_C(0x40)
#define MOST 64
#define OUTSIDE 0u  /* memory in no allocation, and globals */
#define NAMELESS 9u /* a stream that the trace did not see made */
#define UNSEEN 5u   /* its index */
#define NONE 1000u
#define EITHER(a, b) ((a) ? (a) : (b))

static const uint64_t base[] = {0, 0x100000, 0x200000, 0x300000, 0x302000};
static const uint32_t stream_ids[] = {0, 1, 2, 3, 4, NAMELESS};

struct item {
	uint64_t seq;
	enum sbt_kind kind;
	unsigned stream; /* index */
	bool leavable, everything, recorded;
	unsigned record; /* a wait's: index of the item; NONE */
	struct part {
		unsigned key; /* OUTSIDE, or a number of one life of an allocation */
		bool reads, writes;
		uint64_t addr, end;
	} part[6];
	unsigned nparts;
};

static struct {
	struct item item[MOST];
	unsigned n;
	bool known[MOST][MOST]; /* [i]: what the host knew before it submitted item i */
	bool knows[MOST];
	unsigned recorded_by[2]; /* events: index of the item; NONE */
	unsigned life[5], lives;
	bool globals, destroyed[6];
	uint64_t seq, first, last;
} w;

/* --- what comes before what --- */

static bool is_barrier(unsigned a, unsigned b)
{
	return (a == 0 && b == 3) || (a == 3 && b == 0);
}

/* Whether the program ordered item j before item i. */
static bool comes_before(unsigned j, unsigned i)
{
	const struct item *x = &w.item[i], *y = &w.item[j];

	if (j >= i)
		return false;
	if (y->stream == x->stream || is_barrier(x->stream, y->stream) || x->stream == UNSEEN ||
		y->stream == UNSEEN)
		return true;
	return x->record != NONE && j <= x->record && y->stream == w.item[x->record].stream;
}

static bool feeds(unsigned j, unsigned i)
{
	const struct item *x = &w.item[i], *y = &w.item[j];
	bool reads = false, writes = false;

	if (j >= i)
		return false;
	for (unsigned a = 0; a < x->nparts; a++)
		reads |= x->part[a].reads;
	for (unsigned b = 0; b < y->nparts; b++)
		writes |= y->part[b].writes;
	if (x->everything || y->everything)
		return (x->everything || reads) && (y->everything || writes);
	for (unsigned a = 0; a < x->nparts; a++)
		for (unsigned b = 0; b < y->nparts; b++)
			if (x->part[a].reads && y->part[b].writes &&
				x->part[a].key == y->part[b].key)
				return true;
	return false;
}

/* Adds everything that is needed for what is. */
static void close_over(bool *needed, bool by_memory)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < w.n; i++)
			for (unsigned j = 0; needed[i] && j < i; j++)
				if (!needed[j] &&
					(comes_before(j, i) || (by_memory && feeds(j, i))))
					needed[j] = more = true;
	}
}

/* --- submitting --- */

static void add(struct trace_maker *t, struct sbt_cmd c)
{
	assert_int_equal(c.seq, w.seq);
	trace_add(t, c);
	w.seq++;
}

static struct item *submit(struct trace_maker *t, struct sbt_cmd c, unsigned stream)
{
	struct item *x = &w.item[w.n];

	assert_true(w.n < MOST);
	memcpy(w.known[w.n], w.knows, sizeof w.knows);
	*x = (struct item){
		.seq = c.seq, .kind = c.kind, .stream = stream, .leavable = true, .record = NONE};
	w.n++;
	add(t, c);
	return x;
}

static void part(struct item *x, unsigned key, bool reads, bool writes, uint64_t addr, uint64_t n)
{
	x->part[x->nparts++] = (struct part){key, reads, writes, addr, addr + n};
}

static void host_learns_of(bool (*which)(unsigned i, unsigned what), unsigned what)
{
	for (unsigned i = 0; i < w.n; i++)
		w.knows[i] |= which(i, what);
	close_over(w.knows, false);
}

static bool on_stream(unsigned i, unsigned stream)
{
	return w.item[i].stream == stream;
}

static bool up_to_record(unsigned i, unsigned record)
{
	return i == record;
}

static bool all_of_them(unsigned i, unsigned none)
{
	(void)none;
	return w.item[i].stream != UNSEEN;
}

static void end_sync(struct trace_maker *t, uint64_t begin)
{
	add(t, cmd_sync_end(w.seq, begin));
}

static void host_syncs(struct trace_maker *t, struct random_cmds *dice, unsigned stream)
{
	const uint64_t begin = w.seq;
	const unsigned e = (unsigned)random_below(dice, 2);

	if (stream < UNSEEN && random_below(dice, 2)) {
		add(t, cmd_sync_stream(w.seq, stream_ids[stream]));
		host_learns_of(on_stream, stream);
	} else if (w.recorded_by[e] != NONE && random_below(dice, 4)) {
		add(t, cmd_sync_event(w.seq, e));
		host_learns_of(up_to_record, w.recorded_by[e]);
	} else {
		add(t, cmd_sync_ctx(w.seq));
		host_learns_of(all_of_them, 0);
	}
	end_sync(t, begin);
}

static void launch(struct trace_maker *t, unsigned stream, unsigned a, unsigned b)
{
	struct sbt_cmd c = cmd_launch(w.seq, stream_ids[stream], b ? 1 : 0);
	const uint64_t args[] = {base[a] + 8, b ? base[b] : 0};
	struct item *x;

	c.u.launch.args = (struct sbt_blob){args, b ? 16 : 8};
	x = submit(t, c, stream);
	part(x, w.life[a], true, true, base[a], SIZE);
	if (b)
		part(x, w.life[b], true, true, base[b], SIZE);
	if (w.globals)
		part(x, OUTSIDE, true, true, 0, 0);
}

struct spot {
	unsigned a;
	uint64_t addr, n;
};

static struct spot some_spot(struct random_cmds *dice)
{
	struct spot s = {.a = 1 + (unsigned)random_below(dice, 4)};
	const uint64_t at = random_below(dice, SIZE / CELL);

	s.n = CELL * (1 + random_below(dice, SIZE / CELL - at));
	s.addr = base[s.a] + at * CELL;
	return s;
}

static void copy(struct trace_maker *t, struct random_cmds *dice, unsigned stream, bool *ret_upload)
{
	struct spot to = some_spot(dice), from = some_spot(dice);
	const uint64_t n = to.n < from.n ? to.n : from.n;
	const unsigned dir = (unsigned)random_below(dice, 3);
	const uint64_t host = 0x7000;
	struct item *x;

	*ret_upload = dir == 0;
	if (dir == 0) {
		x = submit(t,
			cmd_copy(w.seq, stream_ids[stream], SBT_COPY_H2D, to.addr, host, n, true),
			stream);
		part(x, w.life[to.a], false, true, to.addr, n);
	} else if (dir == 1) {
		x = submit(t,
			cmd_copy(w.seq, stream_ids[stream], SBT_COPY_D2H, host, from.addr, n, true),
			stream);
		part(x, w.life[from.a], true, false, from.addr, n);
	} else {
		x = submit(t,
			cmd_copy(w.seq, stream_ids[stream], SBT_COPY_D2D, to.addr, from.addr, n,
				true),
			stream);
		part(x, w.life[from.a], true, false, from.addr, n);
		part(x, w.life[to.a], false, true, to.addr, n);
	}
}

static void fill(struct trace_maker *t, struct random_cmds *dice, unsigned stream)
{
	const struct spot s = some_spot(dice);
	const uint64_t where = random_below(dice, 8), half = SIZE / 2;
	struct item *x;

	if (where == 0) { /* behind all allocations */
		x = submit(t, cmd_fill(w.seq, stream_ids[stream], 0x900000 + s.n, s.n), stream);
		part(x, OUTSIDE, false, true, 0x900000 + s.n, s.n);
	} else if (where == 1) { /* from within one to behind it */
		x = submit(t, cmd_fill(w.seq, stream_ids[stream], base[1] + half, SIZE), stream);
		part(x, w.life[1], false, true, base[1] + half, half);
		part(x, OUTSIDE, false, true, base[1] + SIZE, half);
	} else if (where == 2) { /* from one into the next, what is between them too */
		x = submit(
			t, cmd_fill(w.seq, stream_ids[stream], base[3] + half, 2 * SIZE), stream);
		part(x, w.life[3], false, true, base[3] + half, half);
		part(x, OUTSIDE, false, true, base[3] + SIZE, SIZE);
		part(x, w.life[4], false, true, base[4], half);
	} else {
		x = submit(t, cmd_fill(w.seq, stream_ids[stream], s.addr, s.n), stream);
		part(x, w.life[s.a], false, true, s.addr, s.n);
	}
}

static void event(struct trace_maker *t, struct random_cmds *dice, unsigned stream)
{
	const unsigned e = (unsigned)random_below(dice, 2);
	struct item *x;

	if (random_below(dice, 2)) {
		x = submit(t, cmd_event_record(w.seq, stream_ids[stream], e), stream);
		w.recorded_by[e] = w.n - 1;
	} else {
		const unsigned record = w.recorded_by[e];

		x = submit(t, cmd_stream_wait(w.seq, stream_ids[stream], e), stream);
		x->record = record;
	}
	x->leavable = false;
}

static void renew(struct trace_maker *t, unsigned a)
{
	add(t, cmd_free(w.seq, base[a]));
	add(t, cmd_alloc(w.seq, base[a], SIZE));
	w.life[a] = ++w.lives;
}

static void keep_bytes(struct trace_maker *t, struct item *x, unsigned how)
{
	const struct sbt_memory m = {.seq = x->seq,
		.role = how == 1 ? SBT_MEMORY_INPUT : SBT_MEMORY_EFFECT,
		.owner = SBT_MEMORY_ANY,
		.addr = 0x7000,
		.size = 64,
		.module = SBT_NO_ID,
		.has_bytes = how < 3};
	const uint8_t bytes[64] = {1};
	uint32_t id;

	ok(sbt_writer_memory(t->w, &m, &id));
	if (m.has_bytes)
		ok(sbt_writer_memory_bytes(t->w, id, bytes, sizeof bytes));
	x->recorded = m.has_bytes;
}

static unsigned some_stream(struct random_cmds *dice)
{
	for (;;) {
		const unsigned s = (unsigned)random_below(dice, 23) / 4;

		if (!w.destroyed[s])
			return s;
	}
}

static void some_command(struct trace_maker *t, struct random_cmds *dice)
{
	const unsigned stream = some_stream(dice), a = 1 + (unsigned)random_below(dice, 4);
	struct item *x;
	bool upload;

	switch (random_below(dice, 32)) {
	case 0:
		submit(t, cmd_launch(w.seq, stream_ids[stream], 0), stream)->everything = true;
		break;
	case 1:
		submit(t, cmd_host_func(w.seq, stream_ids[stream]), stream)->everything = true;
		break;
	case 2:
		if (stream == 4) {
			add(t, cmd_stream_destroy(w.seq, 4));
			w.destroyed[4] = true;
		}
		break;
	case 3:
		renew(t, a);
		break;
	case 4:
	case 5:
	case 6:
		host_syncs(t, dice, stream);
		break;
	case 7 ... 14:
		event(t, dice, stream);
		break;
	case 15 ... 19:
		fill(t, dice, stream);
		break;
	case 20 ... 25:
		copy(t, dice, stream, &upload);
		x = &w.item[w.n - 1];
		if (random_below(dice, 2))
			keep_bytes(t, x, 1 + (unsigned)random_below(dice, 3));
		break;
	case 26 ... 28:
		launch(t, stream, a, a % 4 + 1);
		break;
	default:
		launch(t, stream, a, 0);
	}
}

static struct sbt_reader *some_trace(uint64_t seed, struct random_cmds *dice)
{
	static const uint32_t params[] = {0, 8, 8, 8};
	struct trace_maker t;

	memset(&w, 0, sizeof w);
	w.seq = 1;
	w.recorded_by[0] = w.recorded_by[1] = NONE;
	*dice = (struct random_cmds){.x = seed * 7919};
	trace_begin(&t, 5);
	add(&t, cmd_ctx_create(w.seq, 0, 0));
	add(&t, cmd_stream_create(w.seq, 1, 1));
	add(&t, cmd_stream_create(w.seq, 2, 1));
	add(&t, cmd_stream_create(w.seq, 3, 0));
	add(&t, cmd_stream_create(w.seq, 4, 1));
	add(&t, cmd_module_load(w.seq, 5));
	add(&t, cmd_kernel_def(w.seq, 0, 5, "f", params, 1));
	add(&t, cmd_kernel_def(w.seq, 1, 5, "g", params, 2));
	add(&t, cmd_event_create(w.seq, 0));
	add(&t, cmd_event_create(w.seq, 1));
	for (unsigned a = 1; a < 5; a++) {
		add(&t, cmd_alloc(w.seq, base[a], SIZE));
		w.life[a] = ++w.lives;
	}
	w.globals = seed % 3 == 0;
	w.first = w.seq;
	for (unsigned n = 5 + (unsigned)random_below(dice, 40); w.n < n;)
		some_command(&t, dice);
	w.last = w.seq - 1;
	if (w.globals) {
		struct sbt_cmd c = cmd_any(w.seq, SBT_GLOBAL_DEF);

		c.u.global_def.module = 5;
		c.u.global_def.global_name = cmd_blob("counter");
		c.u.global_def.addr = 0x500000;
		c.u.global_def.size = 4;
		add(&t, c);
		w.last++;
	}
	return trace_end(&t);
}

/* --- a plan against what is needed --- */

static bool writes_into(const struct item *x, uint64_t addr, uint64_t end)
{
	for (unsigned k = 0; k < x->nparts; k++)
		if (x->part[k].writes && x->part[k].addr < end && addr < x->part[k].end)
			return true;
	return false;
}

static bool spoils(const struct plan *p, const struct item *x, const bool *needed)
{
	return x->leavable && x->seq <= p->to && !needed[x - w.item] &&
	       !(p->recorded_inputs && x->recorded);
}

static bool is_exact(const struct plan *p, const bool *needed, uint64_t addr, uint64_t end)
{
	for (unsigned i = 0; i < w.n; i++)
		if (spoils(p, &w.item[i], needed) &&
			(w.item[i].everything || writes_into(&w.item[i], addr, end)))
			return false;
	return true;
}

static void assert_exact(const struct plan *p, const bool *needed, struct random_cmds *dice)
{
	bool globals = false, all = false;

	for (unsigned i = 0; i < w.n; i++) {
		const struct item *x = &w.item[i];

		if (!spoils(p, x, needed))
			continue;
		all |= x->everything;
		for (unsigned k = 0; k < x->nparts; k++)
			globals |= x->part[k].writes && x->part[k].key == OUTSIDE;
	}
	assert_int_equal(p->all_spoiled, all);
	assert_int_equal(p->globals_spoiled, globals);
	for (size_t i = 1; i < p->nspoiled; i++)
		assert_true(p->spoiled[i - 1].end < p->spoiled[i].addr);
	for (unsigned k = 0; k < 40; k++) {
		const struct spot s = some_spot(dice);
		const uint64_t addr = random_below(dice, 6) ? s.addr : 0x900000 + s.n,
			       n = random_below(dice, 2) ? s.n : 1;

		assert_int_equal(plan_exact(p, addr, n), is_exact(p, needed, addr, addr + n));
		assert_int_equal(plan_exact(p, addr + CELL - 1, 1),
			is_exact(p, needed, addr + CELL - 1, addr + CELL));
	}
}

static uint64_t counted(const struct plan *p, const struct item *x)
{
	for (size_t k = 0; k < p->ncounts; k++)
		if (p->counts[k].kind == x->kind && p->counts[k].stream == stream_ids[x->stream])
			return p->counts[k].n;
	return 0;
}

/* Each kind and stream, and the first lines. */
static void assert_told(const struct plan *p, const bool *out)
{
	unsigned nlines = 0;
	uint64_t sum = 0;

	for (unsigned i = 0; i < w.n; i++) {
		const struct item *x = &w.item[i];
		uint64_t n = 0;
		char want[32];

		for (unsigned k = 0; k < w.n; k++)
			n += out[k] && w.item[k].kind == x->kind && w.item[k].stream == x->stream;
		assert_int_equal(counted(p, x), n);
		if (!out[i] || nlines == PLAN_LINES)
			continue;
		snprintf(want, sizeof want, "#%d ", (int)x->seq);
		assert_true(nlines < p->nlines);
		if (strncmp(p->lines[nlines], want, strlen(want)))
			fail_msg("\"%s\" is not %s", p->lines[nlines], want);
		nlines++;
	}
	assert_int_equal(p->nlines, nlines);
	for (size_t k = 0; k < p->ncounts; k++) {
		sum += p->counts[k].n;
		assert_true(!k || p->counts[k - 1].stream < p->counts[k].stream ||
			    (p->counts[k - 1].stream == p->counts[k].stream &&
				    p->counts[k - 1].kind < p->counts[k].kind));
	}
	assert_int_equal(sum, p->nskip + p->behind);
}

static void assert_plan(const struct plan *p, const bool *needed, struct random_cmds *dice)
{
	uint64_t executed = 0, behind = 0;
	bool out[MOST] = {false};
	size_t nskip = 0;

	for (unsigned i = 0; i < w.n; i++) {
		const struct item *x = &w.item[i];

		if (!x->leavable)
			continue;
		out[i] = x->seq > p->to || !needed[i];
		behind += x->seq > p->to;
		executed += !out[i];
		if (!out[i] || x->seq > p->to)
			continue;
		if (nskip >= p->nskip || p->skip[nskip] != x->seq)
			fail_msg("left out %d: want #%d, have #%d", (int)nskip, (int)x->seq,
				nskip < p->nskip ? (int)p->skip[nskip] : -1);
		nskip++;
	}
	if (nskip < p->nskip)
		fail_msg("#%d is left out, and is needed", (int)p->skip[nskip]);
	assert_int_equal(p->executed, executed);
	assert_int_equal(p->behind, behind);
	assert_told(p, out);
	assert_exact(p, needed, dice);
}

/* What the host had been told is finished when it submitted `upto`. Destroying a stream tells it
 * nothing. */
static void host_knew(bool *needed, uint64_t upto)
{
	for (unsigned i = 0; i < w.n; i++) {
		const struct item *x = &w.item[i];

		if (x->seq == upto)
			for (unsigned j = 0; j < i; j++)
				needed[j] |= w.known[i][j];
	}
}

static void streams(struct sbt_reader *r, struct random_cmds *dice, unsigned *seen)
{
	for (unsigned mask = 1; mask < 64; mask = mask * 2 + (unsigned)random_below(dice, 2)) {
		bool needed[MOST] = {false};
		uint32_t ids[6];
		uint64_t upto = 0, from = 0;
		unsigned n = 0, has = 0;
		struct plan p;

		for (unsigned s = 0; s < 6; s++)
			if (mask >> s & 1)
				ids[n++] = stream_ids[s];
		for (unsigned i = 0; i < w.n; i++)
			if (mask >> w.item[i].stream & 1) {
				needed[i] = true;
				upto = w.item[i].seq;
				from = EITHER(from, upto);
				has |= 1u << w.item[i].stream;
			}
		if (has != mask) {
			fails(plan_stream(&p, r, w.first, w.last, ids, n, false), ERR_NOT_FOUND);
			continue;
		}
		host_knew(needed, upto);
		close_over(needed, true);
		ok(plan_stream(&p, r, w.first, w.last, ids, n, false));
		assert_int_equal(p.from, from);
		assert_int_equal(p.to, w.last);
		assert_plan(&p, needed, dice);
		*seen += p.nskip > 0;
		plan_free(&p);
	}
}

static void ranges(struct sbt_reader *r, struct random_cmds *dice, unsigned *seen)
{
	for (unsigned k = 0; k < 6; k++) {
		const uint64_t a = w.first + random_below(dice, w.last - w.first + 1),
			       b = a + random_below(dice, w.last - a + 1);
		bool needed[MOST] = {false};
		uint64_t upto = 0;
		struct plan p;

		for (unsigned i = 0; i < w.n; i++)
			if (w.item[i].seq >= a && w.item[i].seq <= b) {
				needed[i] = true;
				upto = w.item[i].seq;
			}
		if (!upto)
			continue;
		host_knew(needed, upto);
		close_over(needed, true);
		ok(plan_range(&p, r, w.first, w.last, a, b));
		assert_int_equal(p.from, a);
		assert_int_equal(p.to, b);
		assert_plan(&p, needed, dice);
		*seen += p.nskip > 0;
		plan_free(&p);
	}
}

static void plans(void **arg)
{
	unsigned seen = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 250; seed++) {
		struct random_cmds dice;
		struct sbt_reader *r = some_trace(seed, &dice);

		streams(r, &dice, &seen);
		ranges(r, &dice, &seen);
		sbt_reader_close(r);
	}
	assert_true(seen > 400); /* there was something to leave out */
}

/* --- alone --- */

static bool is_fed(unsigned j, unsigned i, const bool *needed)
{
	return !needed[j] && !w.item[j].recorded && feeds(j, i);
}

/* The first command taken in that reads what one left out wrote: NONE. */
static unsigned first_fed(const bool *needed)
{
	for (unsigned i = 0; i < w.n; i++) {
		const struct item *x = &w.item[i];

		if (!needed[i] || (x->kind == SBT_COPY && x->recorded))
			continue;
		for (unsigned j = 0; j < i; j++)
			if (is_fed(j, i, needed))
				return i;
	}
	return NONE;
}

/* "#15 f<<<...>>> may read what #13 copy ... wrote": the reader is that one, the writer one of
 * those that feed it. */
static void assert_refused(struct err *e, unsigned reader, const bool *needed)
{
	const char *text, *writer;
	char want[32];
	bool is_one = false;

	assert_non_null(e);
	assert_int_equal(e->code, ERR_INCOMPLETE);
	text = strchr(e->what, '#');
	assert_non_null(text);
	snprintf(want, sizeof want, "#%d ", (int)w.item[reader].seq);
	writer = strstr(text, "may read what #");
	if (strncmp(text, want, strlen(want)) || !writer)
		fail_msg("%s: want %s", e->what, want);
	for (unsigned j = 0; j < reader; j++)
		is_one |= w.item[j].seq == strtoull(writer + 15, NULL, 10) &&
			  is_fed(j, reader, needed);
	if (!is_one)
		fail_msg("%s: the writer is none", e->what);
	err_free(e);
}

static void alone(void **arg)
{
	unsigned refused = 0, taken = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random_cmds dice;
		struct sbt_reader *r = some_trace(seed + 5000, &dice);

		for (unsigned s = 0; s < 6; s++) {
			bool needed[MOST] = {false}, has = false;
			struct plan p;
			struct err *e;
			unsigned reader;

			for (unsigned i = 0; i < w.n; i++) {
				has |= w.item[i].stream == s;
				needed[i] = w.item[i].stream == s || w.item[i].kind == SBT_FILL;
			}
			if (!has)
				continue;
			reader = first_fed(needed);
			e = plan_stream(&p, r, w.first, w.last, &stream_ids[s], 1, true);
			if (reader != NONE) {
				assert_refused(e, reader, needed);
				refused++;
				continue;
			}
			ok(e);
			assert_true(p.recorded_inputs);
			assert_plan(&p, needed, &dice);
			plan_free(&p);
			taken++;
		}
		sbt_reader_close(r);
	}
	assert_true(refused > 200 && taken > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans),
		cmocka_unit_test(alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
