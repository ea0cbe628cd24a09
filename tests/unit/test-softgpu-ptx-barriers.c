/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block against their definition (PTX ISA 9.7.13.1): random rounds in which some of
 * the warps, the last of which has fewer lanes, synchronise at one of the 16 barriers, arrive, or
 * reduce a predicate. Behind it every thread sees what all that took part wrote before it, and has
 * the reduction of their predicates. Under several schedules.
 */
#include "ptx-test.h"

#define WARPS 4
#define THREADS (32 * (WARPS - 1) + 17)
#define ROUNDS 24

static uint64_t state;
static uint32_t next(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

enum kind { SYNC, POPC, AND, OR };
struct round {
	enum kind kind;
	unsigned id, warps, arrives; /* sets of warps */
	bool counted, negated;
	bool p[THREADS];
};

static unsigned warp_count(unsigned set)
{
	return (unsigned)__builtin_popcount(set);
}

/* Few or many are true, so that each reduction has either result. */
static void any_predicates(struct round *r)
{
	const unsigned how = next(5), one = next(THREADS);

	for (unsigned t = 0; t < THREADS; t++)
		r->p[t] = how == 0   ? false
			  : how == 1 ? true
			  : how == 2 ? t == one
			  : how == 3 ? t != one
				     : next(2);
}

/* The same barrier comes again after 16 rounds, and every eighth round is all warps': none is so
 * far ahead of the others. */
static struct round any_round(unsigned program, unsigned n)
{
	struct round r = {.kind = next(2) ? SYNC : next(4),
		.id = (5 * n + program) % 16,
		.warps = n % 8 == 7 ? (1 << WARPS) - 1 : 1 + next((1 << WARPS) - 1),
		.negated = next(2)};

	r.counted = r.warps != (1 << WARPS) - 1 || next(2);
	if (r.kind == SYNC && r.counted && warp_count(r.warps) > 1)
		r.arrives = r.warps & next(1 << WARPS);
	if (r.arrives == r.warps) /* somebody waits */
		r.arrives &= r.arrives - 1;
	any_predicates(&r);
	return r;
}

/* --- as text --- */
struct text {
	char s[1 << 16];
	size_t at;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

static void write_barrier(struct text *t, const struct round *r)
{
	static const char *const reductions[] = {"", "popc.u32 %r4", "and.pred %q", "or.pred %q"};
	char count[16] = "";

	if (r->counted)
		snprintf(count, sizeof(count), ", %u", 32 * warp_count(r->warps));
	OUT("mov.u32 %%r4, 0; setp.ne.u32 %%q, 0, 0;\n");
	if (r->kind == SYNC)
		OUT("%s %u%s;\n", r->id & 1 ? "bar.sync" : "barrier.sync", r->id, count);
	else
		OUT("bar.red.%s, %u%s, %s%%p;\n", reductions[r->kind], r->id, count,
			r->negated ? "!" : "");
	if (r->kind > POPC)
		OUT("selp.u32 %%r4, 1, 0, %%q;\n");
}

static void write_round(struct text *t, const struct round *r, unsigned n)
{
	OUT("shr.u32 %%r2, %u, %%w; and.b32 %%r2, %%r2, 1; setp.eq.u32 %%q, %%r2, 0; @%%q bra SKIP%u;\n",
		r->warps, n);
	OUT("st.volatile.global.u32 [%%flag+%u], 1; ld.global.u32 %%r2, [%%in+%u]; setp.ne.u32 %%p, %%r2, 0;\n",
		n * THREADS * 4, n * THREADS * 4);
	if (r->arrives)
		OUT("shr.u32 %%r2, %u, %%w; and.b32 %%r2, %%r2, 1; setp.eq.u32 %%q, %%r2, 0; @%%q bra WAIT%u; bar.arrive %u, %u; bra SKIP%u;\nWAIT%u:\n",
			r->arrives, n, r->id, 32 * warp_count(r->warps), n, n);
	write_barrier(t, r);
	OUT("mov.u32 %%r2, 0; mov.u32 %%r3, 0; add.u64 %%a, %%flags, %u;\n"
	    "L%u: ld.volatile.global.u32 %%r5, [%%a]; add.u32 %%r3, %%r3, %%r5; add.u64 %%a, %%a, 4; add.u32 %%r2, %%r2, 1; setp.lt.u32 %%q, %%r2, %u; @%%q bra L%u;\n"
	    "shl.b32 %%r3, %%r3, 16; or.b32 %%r3, %%r3, %%r4; st.global.u32 [%%out+%u], %%r3;\nSKIP%u:\n",
		n * THREADS * 4, n, THREADS, n, n * THREADS * 4, n);
}

static void write_kernel(struct text *t, const struct round *rounds)
{
	t->at = 0;
	OUT("%s.visible .entry k(.param .u64 o, .param .u64 i, .param .u64 f) { .reg .b32 %%r<8>, %%w; .reg .b64 %%in, %%out, %%flag, %%flags, %%a; .reg .pred %%p, %%q;\n"
	    "mov.u32 %%r0, %%tid.x; shr.u32 %%w, %%r0, 5; ld.param.u64 %%out, [o]; mad.wide.u32 %%out, %%r0, 4, %%out; ld.param.u64 %%in, [i]; mad.wide.u32 %%in, %%r0, 4, %%in; ld.param.u64 %%flags, [f]; mad.wide.u32 %%flag, %%r0, 4, %%flags;\n",
		PTX_HEAD);
	for (unsigned n = 0; n < ROUNDS; n++)
		write_round(t, &rounds[n], n);
	OUT("ret; }\n");
	assert_true(t->at < sizeof(t->s));
}

/* --- the definition --- */
static uint32_t expected(const struct round *r, unsigned thread)
{
	unsigned threads = 0, yes = 0;

	if (!(r->warps >> thread / 32 & 1) || r->arrives >> thread / 32 & 1)
		return 0;
	for (unsigned t = 0; t < THREADS; t++)
		if (r->warps >> t / 32 & 1) {
			threads++;
			yes += r->p[t] != r->negated;
		}
	return threads << 16 | (r->kind == POPC		? yes
				       : r->kind == AND ? yes == threads
				       : r->kind == OR	? yes != 0
							: 0);
}

static uint32_t *out, *in, *flags;

static void launch(struct ptx_module *m, unsigned seed)
{
	const void *params[] = {out, in, flags};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {THREADS, 1, 1},
		.params = params};
	struct ptx_fault f;

	l.schedule = (struct ptx_schedule){.random = seed != 0, .seed = seed};
	memset(out, 0, ROUNDS * THREADS * 4);
	memset(flags, 0, ROUNDS * THREADS * 4);
	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
}

static void test_rounds(void **unused)
{
	static struct text t;

	for (unsigned program = 0; program < 60; program++) {
		struct round rounds[ROUNDS];
		struct ptx_module *m;

		state = program * 31 + 1;
		for (unsigned n = 0; n < ROUNDS; n++) {
			rounds[n] = any_round(program, n);
			for (unsigned k = 0; k < THREADS; k++)
				in[n * THREADS + k] = rounds[n].p[k];
		}
		write_kernel(&t, rounds);
		m = load(t.s);
		for (unsigned seed = 0; seed < 3; seed++) {
			launch(m, seed);
			for (unsigned k = 0; k < ROUNDS * THREADS; k++) {
				const struct round *r = &rounds[k / THREADS];
				const uint32_t want = expected(r, k % THREADS);

				if (out[k] != want)
					fail_msg(
						"program %u, schedule %u, round %u (kind %u, barrier %u, warps %#x, of which %#x arrive), thread %u: %#x, not %#x",
						program, seed, k / THREADS, r->kind, r->id,
						r->warps, r->arrives, k % THREADS, out[k], want);
			}
		}
		ptx_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds)};

	out = device(ROUNDS * THREADS * 4);
	in = device(ROUNDS * THREADS * 4);
	flags = device(ROUNDS * THREADS * 4);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
