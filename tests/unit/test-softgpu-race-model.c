/* SPDX-License-Identifier: Apache-2.0
 *
 * The race check against its definition: two accesses of one word, by different threads, one of
 * them a write and not both strong, of which none happens before the other. What happens before
 * what is worked out from the program that was made and from the order in which its strong
 * accesses were executed, by the closure of all pairs, for random programs: "PTX ISA 9.0", 8.7 to
 * 8.10. There are no clocks here.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-race.h"

#define OPS 44
#define BLOCKS 2
#define DATA 4	/* words of weak accesses */
#define WORDS 7 /* behind them those of strong ones */

enum does { READS, WRITES, SEES, SETS, CHANGES, FENCES, BARRIER, WARP, ARRIVES };

/* Each is executed by one thread, but barriers, by all. ARRIVES: warp `word` of each block arrives
 * at a barrier of its own for which the other one waits. */
struct op {
	enum does does;
	unsigned block, thread, word;
	unsigned turn; /* which of all accesses it was */
};

static struct {
	struct op op[OPS];
	unsigned n;
	unsigned first_line; /* of op 0 in the text */
	bool shared, fenced;
	bool before[OPS][OPS];
	unsigned turns;
} w;

static const unsigned threads[] = {0, 1, 33};

static uint64_t dice;

static unsigned below(unsigned n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice >> 20) % n;
}

/* --- the program --- */

/* Release and acquire are the accesses' own, or those of fences. */
static void some_op(struct op *o)
{
	const unsigned what = below(20);

	*o = (struct op){.block = below(BLOCKS), .thread = threads[below(3)]};
	o->does = what < 5    ? READS
		  : what < 10 ? WRITES
		  : what < 12 ? SEES
		  : what < 14 ? SETS
		  : what < 16 ? CHANGES
		  : w.fenced  ? FENCES
		  : what < 17 ? BARRIER
		  : what < 18 ? WARP
			      : ARRIVES;
	o->word = o->does <= WRITES    ? below(DATA)
		  : o->does == ARRIVES ? below(2)
				       : DATA + below(WORDS - DATA);
}

static size_t print_op(char *to, size_t n, unsigned i)
{
	const struct op *o = &w.op[i];
	const char *const space = w.shared ? "shared" : "global",
			  *const scope = w.shared ? "cta" : "gpu",
			  *const base = w.shared ? "%r1" : "%d0";
	char guard[80];

	snprintf(guard, sizeof guard, "@%%p%u", o->block * 3 + (o->thread == 33 ? 2 : o->thread));
	switch (o->does) {
	case READS:
		return (size_t)snprintf(
			to, n, "%s ld.%s.u32 %%r5, [%s+%u];\n", guard, space, base, 4 * o->word);
	case WRITES:
		return (size_t)snprintf(to, n, "%s st.%s.u32 [%s+%u], %u;\n", guard, space, base,
			4 * o->word, i + 1);
	case SEES:
		return (size_t)snprintf(to, n, "%s ld.%s.%s.%s.u32 %%r5, [%s+%u];\n", guard,
			w.fenced ? "relaxed" : "acquire", scope, space, base, 4 * o->word);
	case SETS:
		return (size_t)snprintf(to, n, "%s st.%s.%s.%s.u32 [%s+%u], %u;\n", guard,
			w.fenced ? "relaxed" : "release", scope, space, base, 4 * o->word, i + 1);
	case CHANGES:
		return (size_t)snprintf(to, n, "%s atom.%s.%s.%s.add.u32 %%r5, [%s+%u], 1;\n",
			guard, w.fenced ? "relaxed" : "acq_rel", scope, space, base, 4 * o->word);
	case FENCES:
		return (size_t)snprintf(to, n, "%s fence.acq_rel.%s;\n", guard, scope);
	case BARRIER:
		return (size_t)snprintf(to, n, "bar.sync 0;\n");
	case ARRIVES: /* the numbers of barriers end at 15 */
		return (size_t)snprintf(to, n,
			"@%s%%p6 bar.arrive %u, 64; @%s%%p6 bar.sync %u, 64;\n", o->word ? "!" : "",
			1 + i % 15, o->word ? "" : "!", 1 + i % 15);
	default:
		return (size_t)snprintf(to, n, "bar.warp.sync 0xffffffff;\n");
	}
}

static const char *program(void)
{
	static char text[1 << 14];
	size_t at = (size_t)snprintf(text, sizeof text,
		PTX_HEAD
		".visible .entry k(.param .u64 out) {\n"
		".reg .b32 %%r<10>; .reg .b64 %%d<2>; .reg .pred %%p<8>;\n"
		".shared .align 16 .b32 s[64];\n"
		"ld.param.u64 %%d0, [out]; mov.u32 %%r1, s; mov.u32 %%r0, %%tid.x;\n"
		"mov.u32 %%r2, %%ctaid.x; mad.lo.u32 %%r2, %%r2, 64, %%r0;\n"
		"setp.eq.u32 %%p0, %%r2, 0; setp.eq.u32 %%p1, %%r2, 1; setp.eq.u32 %%p2, %%r2, 33;\n"
		"setp.eq.u32 %%p3, %%r2, 64; setp.eq.u32 %%p4, %%r2, 65; setp.eq.u32 %%p5, %%r2, 97;\n"
		"setp.lt.u32 %%p6, %%r0, 32;\n");

	w.first_line = 1;
	for (size_t k = 0; k < at; k++)
		w.first_line += text[k] == '\n';
	for (unsigned i = 0; i < w.n; i++)
		at += print_op(text + at, sizeof text - at, i);
	snprintf(text + at, sizeof text - at, "ret; }\n");
	return text;
}

/* --- its execution --- */

static void on_access(void *arg, const struct ptx_access *a)
{
	const unsigned i = a->insn->line - w.first_line;

	(void)arg;
	if (a->space == SP_PARAM)
		return;
	assert_true(i < w.n);
	w.op[i].turn = ++w.turns;
}

/* bit b * WORDS + k: word k of block b, of all blocks together when it is global */
static uint64_t bit(unsigned block, unsigned word)
{
	return UINT64_C(1) << ((w.shared ? block : 0) * WORDS + word);
}

static uint64_t execute(const char *text, int64_t seed)
{
	struct ptx_module *m = load(text);
	uint8_t *out = device(4096);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {BLOCKS, 1, 1},
		.block = {64, 1, 1},
		.params = &out,
		.schedule = {.random = seed >= 0, .seed = (uint64_t)seed}};
	struct ptx_races *c = ptx_races_new(&l, 0);
	struct ptx_observer check = ptx_races_observer(c),
			    o = {.access = on_access, .next = &check};
	struct ptx_fault f;
	struct ptx_race race;
	uint64_t found = 0;

	w.turns = 0;
	l.observer = &o;
	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	assert_null(ptx_races_doubt(c));
	for (size_t k = 0; ptx_races_get(c, k, &race); k++) {
		const uint64_t addr =
			race.shared ? race.addr : race.addr - (uint64_t)(uintptr_t)out;

		assert_int_equal(race.shared, w.shared);
		assert_true(addr / 4 < WORDS);
		for (unsigned side = 0; side < 2; side++) {
			const struct op *x = &w.op[race.side[side].insn->line - w.first_line];

			assert_int_equal(race.side[side].block[0], x->block);
			assert_int_equal(race.side[side].thread[0], x->thread);
			assert_int_equal(addr / 4, x->word);
			assert_int_equal(race.side[side].kind,
				x->does == CHANGES		       ? PTX_ATOMIC
				: x->does == WRITES || x->does == SETS ? PTX_WRITE
								       : PTX_READ);
		}
		found |= bit(race.side[0].block[0], (unsigned)addr / 4);
	}
	ptx_races_free(c);
	ptx_free(m);
	return found;
}

/* --- the definition --- */

static bool is_access(const struct op *o)
{
	return o->does <= CHANGES;
}

static bool is_strong(const struct op *o)
{
	return o->does >= SEES && o->does <= CHANGES;
}

static bool is_write(const struct op *o)
{
	return o->does == WRITES || o->does == SETS || o->does == CHANGES;
}

static bool same_thread(const struct op *a, const struct op *b)
{
	return a->block == b->block && a->thread == b->thread;
}

static bool same_word(const struct op *a, const struct op *b)
{
	return a->word == b->word && (!w.shared || a->block == b->block);
}

/* What op i publishes for others to see: itself, or the last fence before it; OPS: nothing. */
static unsigned head_of(unsigned i)
{
	if (!w.fenced)
		return i;
	for (unsigned k = i; k--;)
		if (w.op[k].does == FENCES && same_thread(&w.op[k], &w.op[i]))
			return k;
	return OPS;
}

/* Where what op i saw takes effect: at itself, or the next fence; OPS: nowhere. */
static unsigned effect_of(unsigned i)
{
	if (!w.fenced)
		return i;
	for (unsigned k = i + 1; k < w.n; k++)
		if (w.op[k].does == FENCES && same_thread(&w.op[k], &w.op[i]))
			return k;
	return OPS;
}

/* Op i read what j wrote, or what atomics made of it since. */
static bool reads_from(unsigned i, unsigned j)
{
	const struct op *x = &w.op[i], *y = &w.op[j];

	if ((x->does != SEES && x->does != CHANGES) || (y->does != SETS && y->does != CHANGES) ||
		!same_word(x, y) || y->turn >= x->turn)
		return false;
	for (unsigned k = 0; k < w.n; k++)
		if (w.op[k].does == SETS && same_word(x, &w.op[k]) && w.op[k].turn > y->turn &&
			w.op[k].turn < x->turn)
			return false;
	return true;
}

static bool barrier_between(unsigned i, unsigned j)
{
	const struct op *x = &w.op[i], *y = &w.op[j];

	if (x->block != y->block)
		return false;
	for (unsigned k = i + 1; k < j; k++)
		if (w.op[k].does == BARRIER ||
			(w.op[k].does == WARP && x->thread / 32 == y->thread / 32) ||
			(w.op[k].does == ARRIVES && y->thread / 32 != w.op[k].word))
			return true;
	return false;
}

static void order(void)
{
	memset(w.before, 0, sizeof w.before);
	for (unsigned i = 0; i < w.n; i++)
		for (unsigned j = i + 1; j < w.n; j++)
			w.before[i][j] = w.op[i].does < BARRIER && w.op[j].does < BARRIER &&
					 (same_thread(&w.op[i], &w.op[j]) || barrier_between(i, j));
	for (unsigned i = 0; i < w.n; i++)
		for (unsigned j = 0; j < w.n; j++)
			if (reads_from(i, j) && head_of(j) != OPS && effect_of(i) != OPS)
				w.before[head_of(j)][effect_of(i)] = true;
	for (unsigned k = 0; k < w.n; k++)
		for (unsigned i = 0; i < w.n; i++)
			for (unsigned j = 0; w.before[i][k] && j < w.n; j++)
				w.before[i][j] |= w.before[k][j];
}

static uint64_t racy_words(void)
{
	uint64_t racy = 0;

	for (unsigned i = 0; i < w.n; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct op *x = &w.op[i], *y = &w.op[j];

			if (is_access(x) && is_access(y) && !same_thread(x, y) && same_word(x, y) &&
				(is_write(x) || is_write(y)) && !(is_strong(x) && is_strong(y)) &&
				!w.before[i][j] && !w.before[j][i])
				racy |= bit(x->block, x->word);
		}
	return racy;
}

static void compare(uint64_t number, bool shared, bool fenced)
{
	const char *text;

	dice = number * 0x9e3779b97f4a7c15ull + 1;
	w.shared = shared;
	w.fenced = fenced;
	w.n = 10 + below(OPS - 10);
	for (unsigned i = 0; i < w.n; i++)
		some_op(&w.op[i]);
	for (unsigned i = 15; i < w.n; i++) /* no barrier twice */
		if (w.op[i].does == ARRIVES)
			w.op[i].does = BARRIER;
	text = program();
	for (int64_t seed = -1; seed < 2; seed++) {
		const uint64_t found = execute(text, seed);
		uint64_t racy;

		order();
		racy = racy_words();
		if (found != racy)
			fail_msg("seed %lld: found %#llx, and by definition %#llx:\n%s",
				(long long)seed, (unsigned long long)found,
				(unsigned long long)racy, text);
	}
}

static void operations(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 250; n++) {
		compare(n, true, false);
		compare(n, false, false);
	}
}

static void fences(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 250; n++) {
		compare(n, true, true);
		compare(n, false, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test(fences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
