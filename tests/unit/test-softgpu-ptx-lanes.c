/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of a whole warp against their definitions (PTX ISA 9.7.9.6, 9.7.13.6 to 9.7.13.9):
 * shfl in every mode with many distances and segments, in constants and in registers, vote, match,
 * redux, activemask; by a whole warp, by one that has fewer lanes, by two parts of it that go
 * different ways with a mask of their own.
 */
#include "counted-handlers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct lanes {
	uint32_t members, v[32]; /* who takes part, with what */
	uint64_t wide[32];
	uint32_t p; /* predicates */
};

/* False: the ISA leaves it open. */
typedef bool definition(const struct lanes *w, unsigned l, unsigned a, unsigned b, uint64_t *ret);

/* --- shfl --- */
enum { UP, DOWN, BFLY, IDX };
static const char *const modes[] = {"up", "down", "bfly", "idx"};

/* The lane that l reads from; *valid: it is inside of the segment. */
static unsigned source(unsigned mode, unsigned l, unsigned b, unsigned c, bool *valid)
{
	const unsigned clamp = c & 31, segment = c >> 8 & 31, by = b & 31;
	const unsigned most = (l & segment) | (clamp & ~segment), least = l & segment;
	const int j = mode == UP     ? (int)l - (int)by
		      : mode == DOWN ? (int)(l + by)
		      : mode == BFLY ? (int)(l ^ by)
				     : (int)(least | (by & ~segment));

	*valid = mode == UP ? j >= (int)most : j <= (int)most;
	return *valid ? (unsigned)j : l;
}

static unsigned shuffled_mode;
static bool shuffled(const struct lanes *w, unsigned l, unsigned b, unsigned c, uint64_t *ret)
{
	bool valid;
	const unsigned j = source(shuffled_mode, l, b, c, &valid);

	*ret = w->v[j & 31] ^ (valid ? 0x80000000u : 0);
	return w->members >> j & 1;
}

/* --- votes, matches, sums --- */
#define IS(name, ...)                                                                              \
	static bool name(const struct lanes *w, unsigned l, unsigned a, unsigned b, uint64_t *ret) \
	{                                                                                          \
		const uint32_t m = w->members, p = w->p & m;                                       \
		(void)p;                                                                           \
		__VA_ARGS__;                                                                       \
		return true;                                                                       \
	}
#define EACH(...)                                                                                  \
	for (unsigned k = 0; k < 32; k++)                                                          \
		if (m >> k & 1) {                                                                  \
			__VA_ARGS__                                                                \
		}
IS(all, *ret = p == m)
IS(any, *ret = p != 0)
IS(uni, *ret = p == m || p == 0)
IS(none, *ret = p == 0)
IS(ballot, *ret = p)
IS(ballot_not, *ret = m & ~w->p)
IS(active, *ret = m)
IS(match_any, *ret = 0; EACH(*ret |= (uint64_t)(w->v[k] == w->v[l]) << k;))
IS(match_any_wide, *ret = 0; EACH(*ret |= (uint64_t)(w->wide[k] == w->wide[l]) << k;))
IS(match_all, *ret = m | 1ull << 32; EACH(if (w->v[k] != w->v[l]) *ret = 0;))
IS(match_all_wide, *ret = m | 1ull << 32; EACH(if (w->wide[k] != w->wide[l]) *ret = 0;))
IS(match_all_low, *ret = m | 1ull << 32; EACH(if ((w->v[k] ^ w->v[l]) & 1) *ret = 0;))
IS(sum, *ret = 0; EACH(*ret = (uint32_t)(*ret + w->v[k]);))
IS(least_u, *ret = ~0u; EACH(*ret = w->v[k] < *ret ? w->v[k] : *ret;))
IS(most_u, *ret = 0; EACH(*ret = w->v[k] > *ret ? w->v[k] : *ret;))
IS(least_s, int32_t r = INT32_MAX; EACH(r = (int32_t)w->v[k] < r ? (int32_t)w->v[k] : r;);
	*ret = (uint32_t)r)
IS(most_s, int32_t r = INT32_MIN; EACH(r = (int32_t)w->v[k] > r ? (int32_t)w->v[k] : r;);
	*ret = (uint32_t)r)
IS(all_bits, *ret = ~0u; EACH(*ret &= w->v[k];))
IS(any_bits, *ret = 0; EACH(*ret |= w->v[k];))
IS(odd_bits, *ret = 0; EACH(*ret ^= w->v[k];))

/* M: the mask; the result is %r9, and %p9 where the definition has bit 32. */
static const struct {
	const char *insn;
	definition *is;
} others[] = {
	{"vote.sync.all.pred %p9, %p0, M; selp.u32 %r9, 1, 0, %p9;", all},
	{"vote.sync.any.pred %p9, %p0, M; selp.u32 %r9, 1, 0, %p9;", any},
	{"vote.sync.uni.pred %p9, %p0, M; selp.u32 %r9, 1, 0, %p9;", uni},
	{"vote.sync.all.pred %p9, !%p0, M; selp.u32 %r9, 1, 0, %p9;", none},
	{"vote.sync.ballot.b32 %r9, %p0, M; setp.ne.u32 %p9, %r9, %r9;", ballot},
	{"vote.sync.ballot.b32 %r9, !%p0, M; setp.ne.u32 %p9, %r9, %r9;", ballot_not},
	{"activemask.b32 %r9;", active},
	{"match.any.sync.b32 %r9, %r0, M;", match_any},
	{"match.any.sync.b64 %r9, %d0, M;", match_any_wide},
	{"match.all.sync.b32 %r9|%p9, %r0, M;", match_all},
	{"match.all.sync.b64 %r9|%p9, %d0, M;", match_all_wide},
	{"and.b32 %r8, %r0, 1; match.all.sync.b32 %r9|%p9, %r8, M;", match_all_low},
	{"redux.sync.add.u32 %r9, %r0, M;", sum},
	{"redux.sync.add.s32 %r9, %r0, M;", sum},
	{"redux.sync.min.u32 %r9, %r0, M;", least_u},
	{"redux.sync.max.u32 %r9, %r0, M;", most_u},
	{"redux.sync.min.s32 %r9, %r0, M;", least_s},
	{"redux.sync.max.s32 %r9, %r0, M;", most_s},
	{"redux.sync.and.b32 %r9, %r0, M;", all_bits},
	{"redux.sync.or.b32 %r9, %r0, M;", any_bits},
	{"redux.sync.xor.b32 %r9, %r0, M;", odd_bits},
};

/* --- the kernel: all of them, on one way or the other --- */
static const unsigned distances[] = {0, 1, 5, 16, 31, 34};
static const unsigned limits[] = {0x1f, 0, 0x181f, 0x1c00, 0x0f0f, 0x1e01};
#define NSHFL (4 * COUNT_OF(distances) * COUNT_OF(limits))
#define NRESULTS (NSHFL + COUNT_OF(others))

struct text {
	char s[1 << 18];
	size_t at;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

/* how: 0: constants, by all; 1: constants that were moved to registers of their own, as nvcc does;
 * 2: constants, and 3: registers, on two ways with a mask in a register. */
static void write_shfl(struct text *t, size_t n, unsigned how)
{
	const unsigned mode = (unsigned)(n % 4), b = distances[n / 4 % COUNT_OF(distances)],
		       c = limits[n / 4 / COUNT_OF(distances)];

	if (how == 1)
		OUT("mov.u32 %%b%zu, %u; mov.u32 %%c%zu, 0x%x; shfl.sync.%s.b32 %%r9|%%p9, %%r0, %%b%zu, %%c%zu, M;",
			n, b, n, c, modes[mode], n, n);
	else if (how == 3)
		OUT("mov.u32 %%r6, %u; mov.u32 %%r7, %u; shfl.sync.%s.b32 %%r9|%%p9, %%r0, %%r6, %%r7, M;",
			b, c, modes[mode]);
	else
		OUT("shfl.sync.%s.b32 %%r9|%%p9, %%r0, %u, 0x%x, M;", modes[mode], b, c);
	OUT(" @%%p9 xor.b32 %%r9, %%r9, 0x80000000;");
}

static void write_all(struct text *t, unsigned how, unsigned *line)
{
	for (size_t n = 0; n < NRESULTS; n++) {
		OUT("setp.ne.u32 %%p9, %%r0, %%r0;\n");
		line[n] = line_of(t->s);
		if (n < NSHFL)
			write_shfl(t, n, how);
		else
			OUT("%s", others[n - NSHFL].insn);
		OUT("\nselp.u32 %%r8, 1, 0, %%p9; mov.b64 %%d9, {%%r9, %%r8}; st.volatile.global.u64 [%%d10+%zu], %%d9;\n",
			n * 256);
	}
}

static void write_kernel(struct text *t, unsigned how, unsigned *line)
{
	char *m;

	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 ways) {\n"
	    ".reg .b32 %%r<16>, %%b<200>, %%c<200>; .reg .b64 %%d<14>; .reg .pred %%p<12>;\n"
	    "mov.u32 %%r10, %%tid.x; ld.param.u64 %%d10, [out]; mad.wide.u32 %%d10, %%r10, 8, %%d10; ld.param.u64 %%d11, [in]; mad.wide.u32 %%d11, %%r10, 16, %%d11;\n"
	    "ld.volatile.global.u32 %%r0, [%%d11]; ld.volatile.global.u32 %%r1, [%%d11+4]; ld.volatile.global.u64 %%d0, [%%d11+8];\n"
	    "and.b32 %%r2, %%r1, 1; setp.ne.u32 %%p0, %%r2, 0; activemask.b32 %%r5; ld.param.u32 %%r3, [ways]; shr.u32 %%r4, %%r3, %%r10; and.b32 %%r4, %%r4, 1; setp.ne.u32 %%p1, %%r4, 0;\n");
	if (how > 1)
		OUT("not.b32 %%r4, %%r3; and.b32 %%r4, %%r4, %%r5; and.b32 %%r3, %%r3, %%r5; selp.b32 %%r5, %%r3, %%r4, %%p1; @%%p1 bra OTHER;\n");
	write_all(t, how, line);
	OUT("ret;\nOTHER:\n");
	if (how > 1)
		write_all(t, how, line);
	OUT("ret; }\n");
	assert_true(t->at < sizeof(t->s));
	for (m = t->s; (m = strstr(m, "M;")) != NULL;) { /* two characters for one */
		const char *mask = how > 1 ? "%r5" : "-1";
		memmove(m + strlen(mask), m + 1, strlen(m + 1) + 1);
		memcpy(m, mask, strlen(mask));
	}
}

/* --- the comparison --- */
static uint32_t *in;
static uint64_t *out;

static void fill(unsigned round, struct lanes *w)
{
	static const uint32_t few[] = {5, 0x80000001, 0x7fffffff, 4};

	for (unsigned l = 0; l < 32; l++) {
		const uint32_t v = round == 0	? l * 0x01010101
				   : round == 1 ? 77
				   : round == 2 ? few[(l * 7 + l / 5) % 4]
						: few[l / 9] | 1;
		w->v[l] = v;
		w->wide[l] = round == 3 ? (uint64_t)(l & 1) << 40 | 9 : v;
		in[4 * l] = v;
		in[4 * l + 1] = round == 1 || (round != 3 && l % 3 == 1);
		memcpy(&in[4 * l + 2], &w->wide[l], 8);
		w->p = (w->p & ~(1u << l)) | in[4 * l + 1] << l;
	}
}

static void check_lane(const struct lanes *w, unsigned l, unsigned how)
{
	for (size_t n = 0; n < NRESULTS; n++) {
		const unsigned a = distances[n / 4 % COUNT_OF(distances)],
			       b = limits[n / 4 / COUNT_OF(distances) % COUNT_OF(limits)];
		const uint64_t got = out[n * 32 + l];
		const bool shfl = n < NSHFL;
		uint64_t want;

		shuffled_mode = (unsigned)(n % 4);
		if (!(shfl ? shuffled : others[n - NSHFL].is)(w, l, a, b, &want))
			continue;
		if (shfl || !strstr(others[n - NSHFL].insn, "match.all")
				? (uint32_t)got != (uint32_t)want
				: got != want)
			fail_msg("%s, %u %#x, way %u, lanes %#x, lane %u: %#llx, not %#llx",
				shfl ? modes[n % 4] : others[n - NSHFL].insn, a, b, how, w->members,
				l, (unsigned long long)got, (unsigned long long)want);
	}
}

static void one_launch(
	struct ptx_module *m, unsigned how, unsigned round, uint32_t ways, unsigned threads)
{
	struct {
		void *out, *in;
		uint32_t ways;
	} params = {out, in, ways};
	struct lanes w = {0};

	fill(round, &w);
	memset(out, 0x77, NRESULTS * 256);
	run(m, "k", 1, threads, &params);
	for (unsigned l = 0; l < threads; l++) {
		w.members = threads < 32 ? (1u << threads) - 1 : 0xffffffff;
		if (how > 1)
			w.members &= ways >> l & 1 ? ways : ~ways;
		check_lane(&w, l, how);
	}
}

static void test_lanes(void **state)
{
	static const uint32_t ways[] = {0, 0xffff, 0xaaaaaaaa, 0x80000000, 0x00ff00f0, 1};
	static struct text t;
	unsigned line[NRESULTS];

	if (!counted_mode())
		skip();
	for (unsigned how = 0; how < (IS_COMPILED ? 2 : 4); how++) {
		struct ptx_module *m;

		write_kernel(&t, how, line);
		m = load(t.s);
		if (IS_COMPILED)
			count_handlers(m);
		for (unsigned round = 0; round < 4; round++)
			for (size_t k = 0; k < (how > 1 ? COUNT_OF(ways) : 1); k++) {
				one_launch(m, how, round, ways[k], 32);
				if (how > 1)
					one_launch(m, how, round, ways[k], 23);
			}
		ptx_free(m);
		for (size_t n = 0; IS_COMPILED && how < 2 && n < NSHFL; n++)
			if (handled[line[n]])
				fail_msg("shfl.%s of constants is left to its handler",
					modes[n % 4]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes)};

	counted_environment();
	in = device(512);
	out = device(NRESULTS * 256);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
