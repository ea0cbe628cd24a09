/* SPDX-License-Identifier: Apache-2.0
 *
 * The race check: each kernel with a race has a twin without one. Which pair of instructions is
 * told matters, and that the twin is not accused.
 */
#include "ptx-test.h"
#include "softgpu/watch/ptx-race.h"

/* %r0: the thread; %r30: the block; %r31: the thread in the grid; %r1: its own word of s; %d0: the
 * parameter; %d1: its own word there. */
#define KERNEL(body)                                                                                     \
	PTX_HEAD                                                                                         \
	".visible .entry k(.param .u64 out) {\n"                                                         \
	".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<16>; .reg .pred %p<10>; .reg .f32 %f<8>;\n"     \
	".shared .align 16 .b32 s[1024];\n"                                                              \
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r30, %ctaid.x; mov.u32 %r29, %ntid.x;\n" \
	"mad.lo.u32 %r31, %r30, %r29, %r0; mul.wide.u32 %d1, %r31, 4; add.u64 %d1, %d0, %d1;\n"          \
	"mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;\n" body "\nret; }\n"

#define MAX 16
static struct ptx_race races[MAX];
static char names[MAX][2][40], files[MAX][2][40], doubt[100];
static unsigned cluster; /* blocks of one; 0: there are none */
static size_t memory = 65536;

/* How many pairs; seed -1: the fixed schedule. */
static unsigned check_seed(
	const char *text, unsigned grid, unsigned block, int64_t seed, size_t limit)
{
	struct ptx_module *m = load(text);
	void *out = device(memory);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {grid, 1, 1},
		.block = {block, 1, 1},
		.cluster = {cluster, cluster != 0, cluster != 0},
		.params = &out,
		.schedule = {.random = seed >= 0, .seed = (uint64_t)seed}};
	struct ptx_races *c = ptx_races_new(&l, limit);
	struct ptx_observer o = ptx_races_observer(c);
	struct ptx_fault f;
	unsigned n = 0;

	l.observer = &o;
	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	for (; n < MAX && ptx_races_get(c, n, &races[n]); n++)
		for (unsigned k = 0; k < 2; k++) {
			snprintf(names[n][k], sizeof(names[n][k]), "%s",
				races[n].side[k].insn->name);
			snprintf(files[n][k], sizeof(files[n][k]), "%s:%u in %s",
				races[n].side[k].file ? races[n].side[k].file : "",
				races[n].side[k].source_line, races[n].side[k].fn->name);
		}
	snprintf(doubt, sizeof(doubt), "%s", ptx_races_doubt(c) ? ptx_races_doubt(c) : "");
	ptx_races_free(c);
	ptx_free(m);
	return n;
}

/* The same under several schedules; the names of the first pair, in either order, and its tier. */
static void racy(const char *text, unsigned grid, unsigned block, const char *a, const char *b,
	enum ptx_race_tier tier)
{
	for (int64_t seed = -1; seed < 3; seed++) {
		bool seen = false;
		unsigned n = check_seed(text, grid, block, seed, 0);

		for (unsigned k = 0; k < n; k++)
			seen |= races[k].tier == tier &&
				((!strcmp(names[k][0], a) && !strcmp(names[k][1], b)) ||
					(!strcmp(names[k][0], b) && !strcmp(names[k][1], a)));
		if (!seen)
			fail_msg(
				"%s and %s: not found with seed %lld; %u others, the first %s and %s",
				a, b, (long long)seed, n, n ? names[0][0] : "",
				n ? names[0][1] : "");
	}
}

static void clean(const char *text, unsigned grid, unsigned block)
{
	for (int64_t seed = -1; seed < 3; seed++) {
		unsigned n = check_seed(text, grid, block, seed, 0);

		if (n)
			fail_msg(
				"accused with seed %lld: %s and %s, %s memory, threads %u and %u, blocks %u and %u",
				(long long)seed, names[0][0], names[0][1],
				races[0].shared ? "shared" : "global", races[0].side[0].thread[0],
				races[0].side[1].thread[0], races[0].side[0].block[0],
				races[0].side[1].block[0]);
		assert_string_equal(doubt, "");
	}
}

/* --- shared memory --- */
/* A tree reduction; BAR between its steps. */
#define REDUCTION(first, BAR)                                                                                                         \
	KERNEL("st.shared.u32 [%r1], %r0; " first " mov.u32 %r3, 128;\n"                                                              \
	       "L: setp.ge.u32 %p0, %r0, %r3; @%p0 bra SKIP; shl.b32 %r4, %r3, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, [%r4];\n" \
	       "ld.shared.u32 %r6, [%r1]; add.u32 %r6, %r6, %r5; st.shared.u32 [%r1], %r6;\n"                                         \
	       "SKIP: " BAR                                                                                                           \
	       " shr.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra L; setp.ne.u32 %p0, %r0, 0; @%p0 ret;\n"                      \
	       "ld.shared.u32 %r6, [%r1]; st.global.u32 [%d1], %r6;")

static void reduction(void **state)
{
	racy(REDUCTION("bar.sync 0;", ""), 3, 256, "st.shared.u32", "ld.shared.u32", PTX_RACE);
	racy(REDUCTION("", "bar.sync 0;"), 1, 256, "st.shared.u32", "ld.shared.u32", PTX_RACE);
	clean(REDUCTION("bar.sync 0;", "bar.sync 0;"), 3, 256);
}

static void where_it_is(void **state)
{
	static const char text[] = PTX_HEAD
		".file 7 \"/src/sum.cu\"\n.visible .entry k(.param .u64 out) {\n.reg .b32 %r<8>;\n.shared .b32 s[64];\n"
		"mov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, 4, %r1;\n.loc 7 21 5\nst.shared.u32 [%r2], %r0;\nxor.b32 %r3, %r0, 32;\n"
		"mad.lo.u32 %r3, %r3, 4, %r1;\n.loc 7 23 9\nld.shared.u32 %r4, [%r3];\nret;\n}\n";

	assert_int_equal(check_seed(text, 1, 64, -1, 0),
		1); /* one pair, though warp 0 reads before and warp 1 after the other's store */
	assert_int_equal(races[0].count, 64);
	for (unsigned k = 0; k < 1; k++) {
		const struct ptx_race *r = &races[k];
		unsigned store = r->side[0].kind == PTX_WRITE ? 0 : 1;
		assert_true(r->shared);
		assert_int_equal(r->size, 4);
		assert_string_equal(files[k][store], "/src/sum.cu:21 in k");
		assert_int_equal(r->side[!store].kind, PTX_READ);
		assert_string_equal(files[k][!store], "/src/sum.cu:23 in k");
		assert_int_equal(r->side[0].thread[0] ^ 32, r->side[1].thread[0]);
		assert_int_equal(r->addr, 4 * r->side[store].thread[0]);
	}
}

/* Threads of two warps write a word of each of 600 pages, theirs, and the next thread's word at the
 * end: of the first page, and of the last. What was noted of a page is there however many follow.
 */
#define PAGES(BAR)                                                                                  \
	PTX_HEAD                                                                                    \
	".global .align 16 .b8 big[2457600];\n"                                                     \
	".visible .entry k(.param .u64 out) {\n"                                                    \
	".reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<2>;\n"                                     \
	"mov.u32 %r0, %tid.x; mov.u64 %d0, big; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1;\n" \
	"mov.u64 %d2, %d1; mov.u32 %r1, 0;\n"                                                       \
	"L: st.global.u32 [%d2], %r0; add.u64 %d2, %d2, 4096; add.u32 %r1, %r1, 1;\n"               \
	"setp.lt.u32 %p0, %r1, 600; @%p0 bra L;\n" BAR                                              \
	"xor.b32 %r2, %r0, 32; mul.wide.u32 %d3, %r2, 4;"                                           \
	" add.u64 %d3, %d0, %d3; "
static void many_pages(void **state)
{
	static const char first
		[] = PAGES("") "ld.global.u32 %r3, [%d3]; ret; }\n",
	   last[] = PAGES("") "ld.global.u32 %r3, [%d3+2453504]; ret; }\n",
	   neither[] = PAGES(
		   "bar.sync 0; ") "ld.global.u32 %r3, [%d3]; ld.global.u32 %r3, [%d3+2453504]; ret; }\n";

	racy(first, 1, 64, "st.global.u32", "ld.global.u32", PTX_RACE);
	racy(last, 1, 64, "st.global.u32", "ld.global.u32", PTX_RACE);
	clean(neither, 1, 64);
}

/* Lane l reads what lane l ^ 1 wrote. */
#define NEIGHBOUR(BAR)                                                                             \
	KERNEL("st.shared.u32 [%r1], %r0; " BAR                                                    \
	       " xor.b32 %r3, %r1, 4; ld.shared.u32 %r4, [%r3]; st.global.u32 [%d1], %r4;")

static void warps(void **state)
{
	racy(NEIGHBOUR(""), 1, 32, "st.shared.u32", "ld.shared.u32", PTX_RACE);
	racy(NEIGHBOUR("shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;"), 1, 32, "st.shared.u32",
		"ld.shared.u32", PTX_RACE);
	clean(NEIGHBOUR("bar.warp.sync -1;"), 2, 64);
	clean(NEIGHBOUR("bar.sync 0;"), 2, 64);
	/* of half a warp: enough for its pairs */
	clean(KERNEL("setp.gt.u32 %p0, %r0, 15; st.shared.u32 [%r1], %r0; @%p0 bra B; bar.warp.sync 0xffff; bra C; B: bar.warp.sync 0xffff0000; C:\n"
		     "xor.b32 %r3, %r1, 4; ld.shared.u32 %r4, [%r3]; st.global.u32 [%d1], %r4;"),
		1, 32);
	/* ... not across the halves */
	racy(KERNEL("setp.gt.u32 %p0, %r0, 15; st.shared.u32 [%r1], %r0; @%p0 bra B; bar.warp.sync 0xffff; bra C; B: bar.warp.sync 0xffff0000; C:\n"
		    "xor.b32 %r3, %r1, 64; ld.shared.u32 %r4, [%r3]; st.global.u32 [%d1], %r4;"),
		1, 32, "st.shared.u32", "ld.shared.u32", PTX_RACE);
}

/* Producers (warps 0, 1) write and arrive, consumers (2, 3) wait and read; then the other way
 * round. */
#define NAMED(first, second)                                                                       \
	KERNEL("setp.gt.u32 %p0, %r0, 63; @%p0 bra C; st.shared.u32 [%r1], %r0; " first " " second \
	       " st.shared.u32 [%r1], 0; ret;\n"                                                   \
	       "C: bar.sync 1, 128; ld.shared.u32 %r3, [%r1+-256]; bar.arrive 2, 128; st.global.u32 [%d1], %r3;")

static void named_barriers(void **state)
{
	clean(NAMED("bar.arrive 1, 128;", "bar.sync 2, 128;"), 2, 128);
	/* the second store comes without waiting for the readers; the barrier is made whole all the
	 * same */
	racy(KERNEL("setp.gt.u32 %p0, %r0, 63; @%p0 bra C; st.shared.u32 [%r1], %r0; bar.arrive 1, 128; st.shared.u32 [%r1], 0; ret;\n"
		    "C: bar.sync 1, 128; ld.shared.u32 %r3, [%r1+-256]; st.global.u32 [%d1], %r3;"),
		2, 128, "st.shared.u32", "ld.shared.u32", PTX_RACE);
}

/* --- bytes --- */
static void bytes(void **state)
{
	/* every thread its own byte of a word */
	clean(KERNEL("cvt.u64.u32 %d2, %r31; add.u64 %d2, %d0, %d2; st.global.u8 [%d2], %r0;"), 2,
		64);
	/* and then all of the word by another */
	racy(KERNEL("cvt.u64.u32 %d2, %r31; add.u64 %d2, %d0, %d2; st.global.u8 [%d2], %r0; and.b64 %d2, %d2, -4; ld.global.u32 %r3, [%d2];"),
		1, 64, "st.global.u8", "ld.global.u32", PTX_RACE);
	/* two bytes each, one byte apart */
	racy(KERNEL("mul.wide.u32 %d2, %r31, 6; add.u64 %d2, %d0, %d2; st.global.u16 [%d2], %r0; st.global.u32 [%d1+40000], %r0; and.b32 %r5, %r0, 62;\n"
		    "mul.wide.u32 %d3, %r5, 6; add.u64 %d3, %d0, %d3; st.global.u16 [%d3], %r0;"),
		1, 64, "st.global.u16", "st.global.u16", PTX_RACE);
}

static void same_value(void **state)
{
	/* a flag that everybody sets: one instruction, one warp; and several */
	racy(KERNEL("st.global.u32 [%d0], 1;"), 1, 32, "st.global.u32", "st.global.u32",
		PTX_RACE_SAME_VALUE);
	racy(KERNEL("st.global.u32 [%d0], 1;"), 4, 64, "st.global.u32", "st.global.u32",
		PTX_RACE_SAME_VALUE);
	assert_int_equal(check_seed(KERNEL("st.global.u32 [%d0], 1;"), 4, 64, -1, 0), 1);
	racy(KERNEL("st.global.u32 [%d0], %r0;"), 1, 32, "st.global.u32", "st.global.u32",
		PTX_RACE);
	clean(KERNEL("setp.ne.u32 %p0, %r31, 0; @%p0 ret; st.global.u32 [%d0], 1;"), 4, 64);
}

/* --- global memory --- */
static void increments(void **state)
{
	racy(KERNEL("ld.global.u32 %r3, [%d0]; add.u32 %r3, %r3, 1; st.global.u32 [%d0], %r3;"), 2,
		32, "ld.global.u32", "st.global.u32", PTX_RACE);
	clean(KERNEL("red.global.add.u32 [%d0], 1; atom.global.add.u32 %r3, [%d0], 1; atom.shared.add.u32 %r3, [s], 1;"),
		4, 64);
	/* atomics, and a plain read */
	racy(KERNEL("red.global.add.u32 [%d0], 1; ld.global.u32 %r3, [%d0];"), 2, 32,
		"red.global.add.u32", "ld.global.u32", PTX_RACE_ATOMIC_READ);
	clean(KERNEL("red.global.add.u32 [%d0], 1; ld.volatile.global.u32 %r3, [%d0];"), 2, 32);
	/* an atomic for the block does not protect from other blocks */
	racy(KERNEL("red.cta.global.add.u32 [%d0], 1;"), 2, 32, "red.cta.global.add.u32",
		"red.cta.global.add.u32", PTX_RACE);
	clean(KERNEL("red.cta.global.add.u32 [%d0], 1;"), 1, 64);
}

static void overlap(void **state)
{
	/* blocks of 64 threads write 65 words: the last is the next block's first */
	racy(KERNEL("st.global.u32 [%d1], %r30; setp.ne.u32 %p0, %r0, 63; @%p0 ret; st.global.u32 [%d1+4], %r30;"),
		4, 64, "st.global.u32", "st.global.u32", PTX_RACE);
	clean(KERNEL("st.global.u32 [%d1], %r30;"), 4, 64);
}

/* Block 0 writes data and sets a flag; block 1 waits for the flag and reads. */
#define FLAG(W, R, SET, GET)                                                                       \
	KERNEL("setp.ne.u32 %p0, %r0, 0; @%p0 ret; setp.ne.u32 %p1, %r30, 0; @%p1 bra R;\n"        \
	       "st.global.u32 [%d0+64], 42; " W SET " ret;\n"                                      \
	       "R: " GET " setp.eq.u32 %p2, %r3, 0; @%p2 bra R; " R                                \
	       " ld.global.u32 %r4, [%d0+64]; st.global.u32 [%d0+128], %r4;")
#define VSET "st.volatile.global.u32 [%d0], 1;"
#define VGET "ld.volatile.global.u32 %r3, [%d0];"

static void flags(void **state)
{
	racy(FLAG("", "membar.gl;", VSET, VGET), 2, 32, "st.global.u32", "ld.global.u32", PTX_RACE);
	racy(FLAG("membar.gl;", "", VSET, VGET), 2, 32, "st.global.u32", "ld.global.u32", PTX_RACE);
	racy(FLAG("membar.cta;", "membar.gl;", VSET, VGET), 2, 32, "st.global.u32", "ld.global.u32",
		PTX_RACE);
	racy(FLAG("membar.gl;", "membar.cta;", VSET, VGET), 2, 32, "st.global.u32", "ld.global.u32",
		PTX_RACE);
	clean(FLAG("membar.gl;", "membar.gl;", VSET, VGET), 2, 32);
	clean(FLAG("membar.gl;", "membar.gl;", "atom.global.exch.b32 %r5, [%d0], 1;",
		      "atom.global.add.u32 %r3, [%d0], 0;"),
		2, 32);
	clean(FLAG("", "", "st.release.gpu.global.u32 [%d0], 1;",
		      "ld.acquire.gpu.global.u32 %r3, [%d0];"),
		2, 32);
	clean(FLAG("fence.acq_rel.gpu;", "", "st.relaxed.gpu.global.u32 [%d0], 1;",
		      "ld.acquire.gpu.global.u32 %r3, [%d0];"),
		2, 32);
	racy(FLAG("", "", "st.relaxed.gpu.global.u32 [%d0], 1;",
		     "ld.acquire.gpu.global.u32 %r3, [%d0];"),
		2, 32, "st.global.u32", "ld.global.u32", PTX_RACE);
	/* the data changes after the fence */
	racy(FLAG("membar.gl; st.global.u32 [%d0+64], 43;", "membar.gl;", VSET, VGET), 2, 32,
		"st.global.u32", "ld.global.u32", PTX_RACE);
	/* a flag that is no strong access at all */
	racy(FLAG("membar.gl;", "membar.gl;", "st.global.u32 [%d0], 1;", VGET), 2, 32,
		"st.global.u32", "ld.volatile.global.u32", PTX_RACE);
}

/* Every block writes a part, the last one to count itself sums all. FENCE before counting; AFTER
 * it. */
#define LAST_BLOCK(FENCE, AFTER)                                                                                                                               \
	KERNEL("st.shared.u32 [%r1], %r31; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 bra W; ld.shared.u32 %r4, [s+4]; mul.wide.u32 %d2, %r30, 4;\n"            \
	       "add.u64 %d2, %d0, %d2; st.global.u32 [%d2+1024], %r4; " FENCE                                                                                  \
	       " mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1; atom.global.inc.u32 %r5, [%d0], %r6;\n"                                                          \
	       "setp.eq.u32 %p1, %r5, %r6; selp.u32 %r7, 1, 0, %p1; st.shared.u32 [s+4000], %r7; " AFTER                                                       \
	       "\n"                                                                                                                                            \
	       "W: bar.sync 0; ld.shared.u32 %r7, [s+4000]; setp.eq.u32 %p2, %r7, 0; @%p2 ret; mov.u32 %r6, %nctaid.x; setp.ge.u32 %p3, %r0, %r6; @%p3 ret;\n" \
	       "mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d0, %d2; ld.global.u32 %r8, [%d2+1024]; red.global.add.u32 [%d0+8], %r8;")

static void last_block(void **state)
{
	racy(LAST_BLOCK("", "membar.gl;"), 40, 64, "st.global.u32", "ld.global.u32", PTX_RACE);
	clean(LAST_BLOCK("membar.gl;", "membar.gl;"), 40, 64);
	clean(LAST_BLOCK("membar.gl;", ""), 40, 64); /* as the programming guide has it */
}

/* Fences by all, then a barrier, then one counts for all. */
static void fences_then_barrier(void **state)
{
	clean(KERNEL("st.global.u32 [%d1+1024], %r0; membar.gl; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 ret; atom.global.add.u32 %r3, [%d0], 1; setp.ne.u32 %p1, %r3, 1;\n"
		     "@%p1 ret; membar.gl; ld.global.u32 %r4, [%d0+1100]; ld.global.u32 %r4, [%d0+1400];"),
		2, 64);
	racy(KERNEL("st.global.u32 [%d1+1024], %r0; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 ret; atom.global.add.u32 %r3, [%d0], 1; setp.ne.u32 %p1, %r3, 1;\n"
		    "@%p1 ret; membar.gl; ld.global.u32 %r4, [%d0+1100]; ld.global.u32 %r4, [%d0+1400];"),
		2, 64, "st.global.u32", "ld.global.u32", PTX_RACE);
}

/* A lock around a plain counter, one thread of each block. */
#define LOCK(ACQ, REL)                                                                                                                 \
	KERNEL("setp.ne.u32 %p0, %r0, 0; @%p0 ret; L: atom.global.cas.b32 %r3, [%d0], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; " ACQ \
	       "\n"                                                                                                                    \
	       "ld.global.u32 %r4, [%d0+8]; add.u32 %r4, %r4, 1; st.global.u32 [%d0+8], %r4; " REL                                     \
	       " atom.global.exch.b32 %r5, [%d0], 0;")

static void locks(void **state)
{
	clean(LOCK("membar.gl;", "membar.gl;"), 20, 32);
	racy(LOCK("membar.gl;", ""), 20, 32, "st.global.u32", "ld.global.u32", PTX_RACE);
}

/* --- limits --- */
static void limits(void **state)
{
	check_seed(KERNEL("st.global.u32 [%d1], %r0;"), 64, 128, -1, 60000);
	assert_string_equal(doubt, "more memory was touched than the check has room for");
}

/* --- mbarriers, clusters --- */
/* Two warps: the first writes, arrives at one mbarrier; the second waits, reads, arrives at the
 * other; then the first writes again. */
#define HANDED(before, arrive, wait, again, memory, at)                                                                                   \
	KERNEL("setp.ne.u32 %p0, %r0, 0; @%p0 bra READY; mbarrier.init.shared.b64 [s+1024], 32; mbarrier.init.shared.b64 [s+1032], 32;\n" \
	       "READY: bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra SECOND;\n" before                                                   \
	       " st." memory ".u32 [" at "], %r0; " arrive "\n" again " st." memory ".u32 [" at                                           \
	       "], 5; bra END;\n"                                                                                                         \
	       "SECOND: " wait " ld." memory ".u32 %r5, [" at                                                                             \
	       "+-128]; mbarrier.arrive.shared.b64 %d6, [s+1032];\nEND: ")
#define ARRIVE "mbarrier.arrive.shared.b64 %d5, [s+1024];"
#define WAIT "W: mbarrier.try_wait.parity.shared.b64 %p2, [s+1024], 0; @!%p2 bra W;"
#define AGAIN "A: mbarrier.try_wait.parity.shared.b64 %p3, [s+1032], 0; @!%p3 bra A;"

static void mbarriers(void **state)
{
	clean(HANDED("", ARRIVE, WAIT, AGAIN, "shared", "%r1"), 1, 64);
	clean(HANDED("", ARRIVE, WAIT, AGAIN, "shared", "%r1"), 3, 64);
	clean(HANDED("", ARRIVE, WAIT, AGAIN, "global", "%d1"), 2, 64);
	racy(HANDED("", ARRIVE, "", AGAIN, "shared", "%r1"), 2, 64, "st.shared.u32",
		"ld.shared.u32", PTX_RACE);
	racy(HANDED(ARRIVE, "", WAIT, AGAIN, "shared", "%r1"), 1, 64, "st.shared.u32",
		"ld.shared.u32", PTX_RACE);
	racy(HANDED("", ARRIVE, WAIT, "", "shared", "%r1"), 1, 64, "st.shared.u32", "ld.shared.u32",
		PTX_RACE);
	racy(HANDED("", ARRIVE, WAIT, "", "global", "%d1"), 2, 64, "st.global.u32", "ld.global.u32",
		PTX_RACE);
}

/* One thread writes a word every 4096 bytes, another warp's reads all of them: each is a race,
 * however many pages are looked after. */
static void every_page(void **state)
{
	enum { PAGES = 1500 };

	memory = PAGES * 4096;
	assert_int_equal(
		check_seed(
			KERNEL("and.b32 %r5, %r0, 31; setp.ne.u32 %p0, %r5, 0; @%p0 bra END; mov.u32 %r6, 0; setp.ge.u32 %p1, %r0, 32;\n"
			       "L: @!%p1 st.global.u32 [%d0], 7; @%p1 ld.global.u32 %r7, [%d0]; add.u64 %d0, %d0, 4096; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 1500; @%p2 bra L;\nEND: "),
			1, 64, -1, 0),
		1);
	assert_int_equal(races[0].count, PAGES);
	assert_string_equal(doubt, "");
	memory = 65536;
}

/* Each block hands the other a value through global memory. */
#define CLUSTER(meet)                                                                              \
	KERNEL("st.global.u32 [%d1], %r0; " meet " mul.wide.u32 %d4, %r29, 4;\n"                   \
	       "and.b32 %r4, %r30, 1; setp.eq.u32 %p0, %r4, 0; add.u64 %d5, %d1, %d4; sub.u64 %d6, %d1, %d4; selp.b64 %d5, %d5, %d6, %p0; ld.global.u32 %r5, [%d5];")

static void clusters(void **state)
{
	cluster = 2;
	clean(CLUSTER("barrier.cluster.arrive; barrier.cluster.wait;"), 4, 40);
	racy(CLUSTER(""), 4, 40, "st.global.u32", "ld.global.u32", PTX_RACE);
	racy(CLUSTER("bar.sync 0;"), 2, 40, "st.global.u32", "ld.global.u32", PTX_RACE);
	cluster = 1; /* of one block: the other is no part of it */
	racy(CLUSTER("barrier.cluster.arrive; barrier.cluster.wait;"), 4, 40, "st.global.u32",
		"ld.global.u32", PTX_RACE);
	cluster = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduction),
		cmocka_unit_test(where_it_is),
		cmocka_unit_test(mbarriers),
		cmocka_unit_test(every_page),
		cmocka_unit_test(clusters),
		cmocka_unit_test(many_pages),
		cmocka_unit_test(warps),
		cmocka_unit_test(named_barriers),
		cmocka_unit_test(bytes),
		cmocka_unit_test(same_value),
		cmocka_unit_test(increments),
		cmocka_unit_test(overlap),
		cmocka_unit_test(flags),
		cmocka_unit_test(last_block),
		cmocka_unit_test(fences_then_barrier),
		cmocka_unit_test(locks),
		cmocka_unit_test(limits),
	};

	setenv("TSDB_SOFT_TIMEOUT", "60", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
