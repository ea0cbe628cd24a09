/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids of every shape: blocks, clusters and grids of unequal sides, cooperative or not, in order
 * and in random turns, by the interpreter and by the compiler. Each thread says what its special
 * registers hold, at a place that it works out from them; what they must hold is worked out from
 * the place ("PTX ISA 9.0", 10; 2.2.2 for clusters). Which block comes first, which of several
 * faults is told and what shared memory holds in the beginning are the launch's.
 */
#include "counted-handlers.h"
#include "thread-signals.h"

#include "softgpu/ptx/ptx-int.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static uint64_t state;
static uint32_t next(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* --- what is told --- */
struct at { /* a thread, and how it was launched */
	const struct ptx_launch *l;
	unsigned tid[3], ctaid[3], thread; /* thread: linear in its block */
};

static unsigned cluster_side(const struct at *a, unsigned k)
{
	return a->l->cluster[0] ? a->l->cluster[k] : 1;
}

static uint64_t rank_of(const struct at *a)
{
	unsigned ret = 0;

	for (unsigned k = 3; k-- > 0;)
		ret = ret * cluster_side(a, k) + a->ctaid[k] % cluster_side(a, k);
	return ret;
}

#define THREADS(l) ((l)->block[0] * (l)->block[1] * (l)->block[2])
#define X(name, reg, ...)                                                                          \
	static uint64_t is_##name(const struct at *a)                                              \
	{                                                                                          \
		return __VA_ARGS__;                                                                \
	}
#define XYZ(X, name, reg, ...)                                                                     \
	X(name##_x, reg ".x", __extension__({                                                      \
		enum { k = 0 };                                                                    \
		__VA_ARGS__;                                                                       \
	}))                                                                                        \
	X(name##_y, reg ".y", __extension__({                                                      \
		enum { k = 1 };                                                                    \
		__VA_ARGS__;                                                                       \
	}))                                                                                        \
	X(name##_z, reg ".z", __extension__({                                                      \
		enum { k = 2 };                                                                    \
		__VA_ARGS__;                                                                       \
	}))
/* clang-format off */
#define REGISTERS(X)                                                                               \
	XYZ(X, tid, "%tid", a->tid[k])                                                             \
	XYZ(X, ntid, "%ntid", a->l->block[k])                                                      \
	XYZ(X, ctaid, "%ctaid", a->ctaid[k])                                                       \
	XYZ(X, nctaid, "%nctaid", a->l->grid[k])                                                   \
	XYZ(X, clusterid, "%clusterid", a->ctaid[k] / cluster_side(a, k))                          \
	XYZ(X, nclusterid, "%nclusterid", a->l->grid[k] / cluster_side(a, k))                      \
	XYZ(X, cluster_ctaid, "%cluster_ctaid", a->ctaid[k] % cluster_side(a, k))                  \
	XYZ(X, cluster_nctaid, "%cluster_nctaid", cluster_side(a, k))                              \
	X(cluster_ctarank, "%cluster_ctarank", rank_of(a))                                         \
	X(cluster_nctarank, "%cluster_nctarank",                                                   \
		cluster_side(a, 0) * cluster_side(a, 1) * cluster_side(a, 2))                      \
	X(laneid, "%laneid", a->thread % 32)                                                       \
	X(warpid, "%warpid", a->thread / 32)                                                       \
	X(nwarpid, "%nwarpid", (THREADS(a->l) + 31) / 32)                                          \
	X(lanemask_eq, "%lanemask_eq", 1u << a->thread % 32)                                       \
	X(lanemask_lt, "%lanemask_lt", (1ull << a->thread % 32) - 1)                               \
	X(lanemask_le, "%lanemask_le", (2ull << a->thread % 32) - 1)                               \
	X(lanemask_ge, "%lanemask_ge", 0xffffffff & (~0ull << a->thread % 32))                     \
	X(lanemask_gt, "%lanemask_gt", 0xffffffff & (~0ull << a->thread % 32 << 1))                \
	X(dynamic_smem_size, "%dynamic_smem_size", a->l->dynamic_shared)                           \
	X(envreg0, "%envreg0", 0)                                                                  \
	X(envreg1, "%envreg1", a->l->grid_workspace >> 32)                                         \
	X(envreg2, "%envreg2", a->l->grid_workspace & 0xffffffff)                                  \
	X(warp_size, "WARP_SZ", 32)
/* clang-format on */
REGISTERS(X)
#undef X

#define X(name, reg, ...) {reg, is_##name},
static const struct {
	const char *name;
	uint64_t (*is)(const struct at *a);
} registers[] = {REGISTERS(X)};
#undef X

/* Behind them: whether its cluster was asked for; what the first and last bytes of its shared
 * memory held; how many bytes that is; the multiprocessor. */
enum {
	EXPLICIT = COUNT_OF(registers),
	STATIC_FIRST,
	STATIC_LAST,
	DYNAMIC_FIRST,
	DYNAMIC_LAST,
	BYTES,
	SMID,
	NSMID,
	NWORDS
};
#define STATIC 40 /* bytes of shared memory */

/* The place is taken from the registers by one chain of multiplications. */
static const char place[] =
	"mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3; mov.u32 %r29, %r1;\n"
	"mov.u32 %r2, %ntid.z; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r30, %r1, %r2, %r3;\n";

struct text {
	char s[1 << 15];
	size_t at;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

static void begin_kernel(struct text *t, const char *name)
{
	OUT(".visible .entry %s(.param .u64 o, .param .u64 in) {\n"
	    ".reg .b32 %%r<40>; .reg .b64 %%d<10>; .reg .pred %%p<5>; .reg .b16 %%h<5>;\n"
	    "ld.param.u64 %%d0, [o]; ld.param.u64 %%d2, [in];\n%s",
		name, place);
}

static void write_registers(struct text *t, unsigned from, const char *at)
{
	for (unsigned k = from; k < COUNT_OF(registers); k++)
		OUT("mov.u32 %%r1, %s; st.global.u32 [%s+%u], %%r1;\n", registers[k].name, at,
			4 * k);
}

/* k says everything; f does from a function that it calls. */
static void write_kernels(struct text *t)
{
	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n");
	OUT(".func tell(.param .u64 at) { .reg .b32 %%r<4>; .reg .b64 %%d<4>; ld.param.u64 %%d1, [at];\n");
	write_registers(t, 0, "%d1");
	OUT("ret; }\n");
	begin_kernel(t, "k");
	OUT(".shared .align 4 .b8 s[%u];\nmul.wide.u32 %%d1, %%r30, %u; add.u64 %%d1, %%d1, %%d0;\n",
		STATIC, 4 * NWORDS);
	write_registers(t, 0, "%d1");
	OUT("mov.pred %%p0, %%is_explicit_cluster; selp.u32 %%r1, 1, 0, %%p0; st.global.u32 [%%d1+%u], %%r1;\n",
		4 * EXPLICIT);
	OUT("ld.shared.u8 %%h1, [s]; cvt.u32.u16 %%r1, %%h1; st.global.u32 [%%d1+%u], %%r1; ld.shared.u8 %%h1, [s+%u]; cvt.u32.u16 %%r1, %%h1; st.global.u32 [%%d1+%u], %%r1;\n",
		4 * STATIC_FIRST, STATIC - 1, 4 * STATIC_LAST);
	OUT("mov.u32 %%r1, %%dynamic_smem_size; setp.eq.u32 %%p0, %%r1, 0; mov.u32 %%r2, dyn; add.u32 %%r1, %%r1, %%r2; @%%p0 bra NONE;\n");
	OUT("ld.shared.u8 %%h1, [%%r2]; cvt.u32.u16 %%r3, %%h1; st.global.u32 [%%d1+%u], %%r3; ld.shared.u8 %%h1, [%%r1+-1]; cvt.u32.u16 %%r3, %%h1; st.global.u32 [%%d1+%u], %%r3;\n",
		4 * DYNAMIC_FIRST, 4 * DYNAMIC_LAST);
	OUT("NONE: mov.u32 %%r1, %%total_smem_size; st.global.u32 [%%d1+%u], %%r1; mov.u32 %%r1, %%smid; st.global.u32 [%%d1+%u], %%r1; mov.u32 %%r1, %%nsmid; st.global.u32 [%%d1+%u], %%r1;\n",
		4 * BYTES, 4 * SMID, 4 * NSMID);
	/* nothing of it is there in the next block */
	OUT("bar.sync 0; mov.b16 %%h1, 77; st.shared.u8 [s], %%h1; st.shared.u8 [s+%u], %%h1; @%%p0 bra END; st.shared.u8 [%%r2], %%h1; mov.u32 %%r1, %%dynamic_smem_size; add.u32 %%r1, %%r1, %%r2; st.shared.u8 [%%r1+-1], %%h1;\n",
		STATIC - 1);
	OUT("END: ret; }\n");
	begin_kernel(t, "f");
	OUT("mul.wide.u32 %%d1, %%r30, %u; add.u64 %%d1, %%d1, %%d0; { .param .u64 a; st.param.u64 [a], %%d1; call tell, (a); }\nret; }\n",
		4 * NWORDS);
	assert_true(t->at < sizeof(t->s));
}

static void check_word(const struct at *a, const char *name, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg(
			"%s of thread (%u,%u,%u) in block (%u,%u,%u): %llu, not %llu; grid %ux%ux%u of %ux%ux%u, clusters of %ux%ux%u",
			name, a->tid[0], a->tid[1], a->tid[2], a->ctaid[0], a->ctaid[1],
			a->ctaid[2], (unsigned long long)got, (unsigned long long)want,
			a->l->grid[0], a->l->grid[1], a->l->grid[2], a->l->block[0], a->l->block[1],
			a->l->block[2], a->l->cluster[0], a->l->cluster[1], a->l->cluster[2]);
}

static void check_rest(const struct at *a, const uint32_t *v)
{
	const struct ptx_launch *l = a->l;
	const unsigned residue = l->schedule.residue;

	check_word(a, "%is_explicit_cluster", v[EXPLICIT], l->cluster[0] != 0);
	check_word(a, "static memory", v[STATIC_FIRST], residue);
	check_word(a, "static memory's end", v[STATIC_LAST], residue);
	check_word(a, "dynamic memory", v[DYNAMIC_FIRST], l->dynamic_shared ? residue : 0);
	check_word(a, "dynamic memory's end", v[DYNAMIC_LAST], l->dynamic_shared ? residue : 0);
	check_word(a, "%smid", v[SMID] < v[NSMID], true);
	/* a multiple of what it is allocated in, and no block more than it needs */
	check_word(a, "%total_smem_size", v[BYTES] >= STATIC + l->dynamic_shared, true);
	check_word(a, "%total_smem_size", v[BYTES] < STATIC + l->dynamic_shared + 128, true);
}

static void check_threads(const struct ptx_launch *l, const uint32_t *out, bool all)
{
	const unsigned threads = THREADS(l);

	for (unsigned b = 0; b < l->grid[0] * l->grid[1] * l->grid[2]; b++)
		for (unsigned t = 0; t < threads; t++) {
			const uint32_t *v = &out[(b * threads + t) * NWORDS];
			struct at a = {.l = l,
				.thread = t,
				.tid = {t % l->block[0], t / l->block[0] % l->block[1],
					t / l->block[0] / l->block[1]},
				.ctaid = {b % l->grid[0], b / l->grid[0] % l->grid[1],
					b / l->grid[0] / l->grid[1]}};
			for (unsigned k = 0; k < COUNT_OF(registers); k++)
				check_word(&a, registers[k].name, v[k], registers[k].is(&a));
			if (all)
				check_rest(&a, v);
		}
}

/* Sides of at most so many, whose product is at most limit. */
static void any_shape(unsigned *side, unsigned limit)
{
	const unsigned first = next(3);

	side[0] = side[1] = side[2] = 1;
	for (unsigned k = 0; k < 3; k++) {
		const unsigned at = (first + k) % 3, most = limit < 9 ? limit : 9;

		side[at] = 1 + next(most);
		limit /= side[at];
	}
}

static void any_launch(struct ptx_launch *l)
{
	any_shape(l->block, 9);
	l->block[next(3)] *= 1 + next(9);
	if (next(2)) {
		any_shape(l->cluster, 8);
		any_shape(l->grid, 5);
		for (unsigned k = 0; k < 3; k++)
			l->grid[k] *= l->cluster[k];
	} else {
		memset(l->cluster, 0, sizeof(l->cluster));
		any_shape(l->grid, 40);
	}
	l->cooperative = next(4) == 0;
	l->schedule.random = !IS_COMPILED && next(3) == 0;
	l->schedule.seed = next(1000);
	l->schedule.residue = (uint8_t)next(256);
	l->dynamic_shared = next(3) ? next(400) : 0;
	l->grid_workspace = (uint64_t)next(1 << 30) << 32 | next(1 << 30);
}

#define MOST_THREADS (40 * 81)
static void test_registers(void **state_)
{
	static struct text text;
	uint32_t *out = device(MOST_THREADS * NWORDS * 4);
	void *params[2] = {out, NULL};
	struct ptx_module *m;
	struct ptx_fault f;

	state = 1;
	write_kernels(&text);
	m = load(text.s);
	for (unsigned n = 0; n < (IS_COMPILED ? 40 : 110); n++) {
		const bool all = n % 4 != 0;
		struct ptx_launch l = {
			.fn = ptx_kernel_by_name(m, all ? "k" : "f"), .params = params};
		unsigned threads;

		any_launch(&l);
		threads = THREADS(&l) * l.grid[0] * l.grid[1] * l.grid[2];
		assert_in_range(threads, 1, MOST_THREADS);
		if (!l.cooperative)
			l.first_block = next(l.grid[0] * l.grid[1] * l.grid[2]);
		memset(out, 0, threads * NWORDS * 4);
		if (ptx_run(&l, &f))
			fail_msg("%s", f.text);
		check_threads(&l, out, all);
	}
	ptx_free(m);
}

/* --- which block comes first --- */
/* Each block takes the next number: blocks come one after the other, since the numbers are used. */
static void write_turns(struct text *t)
{
	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n");
	begin_kernel(t, "k");
	OUT("atom.global.add.u32 %%r1, [%%d0], 1; mul.wide.u32 %%d1, %%r29, 4; add.u64 %%d1, %%d1, %%d0; st.global.u32 [%%d1+4], %%r1; ret; }\n");
}

static unsigned cluster_number(const struct ptx_launch *l, unsigned b)
{
	const unsigned at[3] = {
		b % l->grid[0], b / l->grid[0] % l->grid[1], b / l->grid[0] / l->grid[1]};
	unsigned ret = 0;

	for (unsigned k = 3; k-- > 0;)
		ret = ret * (l->grid[k] / l->cluster[k]) + at[k] / l->cluster[k];
	return ret;
}

static void check_turns(const struct ptx_launch *l, const uint32_t *turn)
{
	const unsigned n = l->grid[0] * l->grid[1] * l->grid[2],
		       size = l->cluster[0] * l->cluster[1] * l->cluster[2],
		       first = cluster_number(l, (unsigned)l->first_block);
	bool seen[64] = {false};

	for (unsigned b = 0; b < n; b++) {
		const unsigned c = cluster_number(l, b), want = c == first  ? 0
								: c < first ? c + 1
									    : c;

		assert_in_range(turn[b], 0, n - 1);
		assert_false(seen[turn[b]]);
		seen[turn[b]] = true;
		if (turn[b] / size != want)
			fail_msg(
				"block %u has turn %u, first is %u: grid %ux%ux%u, clusters of %ux%ux%u",
				b, turn[b], (unsigned)l->first_block, l->grid[0], l->grid[1],
				l->grid[2], l->cluster[0], l->cluster[1], l->cluster[2]);
	}
}

static void test_first(void **state_)
{
	static struct text text;
	uint32_t *out = device(65 * 4);
	void *params[2] = {out, NULL};
	struct ptx_module *m;
	struct ptx_fault f;

	state = 2;
	write_turns(&text);
	m = load(text.s);
	for (unsigned n = 0; n < 40; n++) {
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.params = params,
			.block = {1, 1, 1},
			.cluster = {1, 1, 1}};
		unsigned blocks;

		if (n % 2)
			any_shape(l.cluster, 6);
		any_shape(l.grid, 10);
		for (unsigned k = 0; k < 3; k++)
			l.grid[k] *= l.cluster[k];
		blocks = l.grid[0] * l.grid[1] * l.grid[2];
		for (l.first_block = 0; l.first_block < blocks; l.first_block++) {
			memset(out, 0, 65 * 4);
			if (ptx_run(&l, &f))
				fail_msg("%s", f.text);
			check_turns(&l, out + 1);
		}
	}
	ptx_free(m);
}

/* --- which fault is told --- */
/* Blocks whose bit is set trap; the others wait some time, the earlier ones longer. The fault of
 * the lowest number is told, whoever was first; blocks above it may or may not have run. */
static void write_traps(struct text *t)
{
	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n");
	begin_kernel(t, "k");
	OUT("ld.global.u64 %%d3, [%%d2]; shr.u64 %%d3, %%d3, %%r29; and.b64 %%d3, %%d3, 1; setp.ne.u64 %%p0, %%d3, 0; mul.wide.u32 %%d1, %%r29, 4; add.u64 %%d1, %%d1, %%d0;\n"
	    "sub.u32 %%r1, 60, %%r29; mul.lo.u32 %%r1, %%r1, 8;\nL: sub.u32 %%r1, %%r1, 1; setp.gt.s32 %%p1, %%r1, 0; @%%p1 bra L;\n@%%p0 trap; mov.u32 %%r1, 1; st.global.u32 [%%d1], %%r1; ret; }\n");
}

static void check_fault_told(const struct ptx_launch *l, uint64_t traps, const uint32_t *out)
{
	const unsigned n = l->grid[0] * l->grid[1] * l->grid[2];
	struct ptx_fault f;
	const enum ptx_fault_code code = ptx_run(l, &f);
	unsigned lowest = 0;

	while (lowest < n && !(traps >> lowest & 1))
		lowest++;
	if (lowest == n) {
		assert_int_equal(code, PTX_OK);
	} else {
		const unsigned b = f.block[0] + l->grid[0] * (f.block[1] + l->grid[1] * f.block[2]);

		assert_int_equal(code, PTX_TRAP);
		assert_int_equal(f.code, PTX_TRAP);
		if (b != lowest)
			fail_msg("block %u of %u is told, %u traps, first is %u", b, n, lowest,
				(unsigned)l->first_block);
		check_fault(l, &f);
	}
	for (unsigned k = 0; k < lowest; k++)
		assert_int_equal(out[k], 1);
	for (unsigned k = lowest; k < n; k++)
		assert_true(!(traps >> k & 1) || !out[k]);
}

static void test_faults(void **state_)
{
	static struct text text;
	uint32_t *out = device(64 * 4);
	uint64_t *in = device(8);
	void *params[2] = {out, in};
	struct ptx_module *m;

	state = 3;
	write_traps(&text);
	m = load(text.s);
	for (unsigned n = 0; n < 150; n++) {
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.params = params,
			.block = {n % 3 ? 1 : 64, 1, 1}};

		any_shape(l.grid, 60);
		l.first_block = next(l.grid[0] * l.grid[1] * l.grid[2]);
		*in = 0;
		for (unsigned k = next(5); k > 0; k--)
			*in |= 1ull << next(60);
		memset(out, 0, 64 * 4);
		check_fault_told(&l, *in, out);
	}
	assert_int_equal(threads_without_signals(), 3); /* four workers are asked for */
	ptx_free(m);
}

/* --- clusters' shared memory and barriers --- */
/* Some threads end at once. In each of three rounds the others write to their block's memory, meet
 * at the cluster's barrier, read what the same thread of another block wrote, and meet again: a
 * round's values are that round's. */
#define ROUNDS 3
static void write_clusters(struct text *t)
{
	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n");
	begin_kernel(t, "k");
	OUT(".shared .align 4 .b32 s[128]; mov.u32 %%r31, %%tid.x; ld.global.u32 %%r10, [%%d2]; ld.global.u32 %%r11, [%%d2+4]; setp.ge.u32 %%p0, %%r31, %%r10; @%%p0 exit;\n"
	    "mov.u32 %%r1, s; mad.lo.u32 %%r1, %%r31, 4, %%r1; mov.u32 %%r3, %%cluster_ctarank; mov.u32 %%r4, %%cluster_nctarank; add.u32 %%r5, %%r3, %%r11; rem.u32 %%r5, %%r5, %%r4;\n"
	    "mapa.shared::cluster.u32 %%r6, %%r1, %%r5; mul.wide.u32 %%d1, %%r30, %u; add.u64 %%d1, %%d1, %%d0;\n",
		4 * ROUNDS);
	for (unsigned k = 0; k < ROUNDS; k++)
		OUT("mad.lo.u32 %%r7, %%r29, 1000, %%r31; add.u32 %%r7, %%r7, %u; st.shared.u32 [%%r1], %%r7; barrier.cluster.arrive; barrier.cluster.wait; ld.shared::cluster.u32 %%r8, [%%r6]; st.global.u32 [%%d1+%u], %%r8; barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n",
			k * 1000000, 4 * k);
	OUT("ret; }\n");
}

static unsigned block_of(const struct ptx_launch *l, const unsigned *at)
{
	return at[0] + l->grid[0] * (at[1] + l->grid[1] * at[2]);
}

/* The block whose rank in b's cluster is so many above its own, round the cluster. */
static unsigned other_block(const struct ptx_launch *l, unsigned b, unsigned above)
{
	struct at a = {.l = l,
		.ctaid = {
			b % l->grid[0], b / l->grid[0] % l->grid[1], b / l->grid[0] / l->grid[1]}};
	const unsigned size = l->cluster[0] * l->cluster[1] * l->cluster[2];
	unsigned rank = (unsigned)(rank_of(&a) + above) % size;

	for (unsigned k = 0; k < 3; k++) {
		a.ctaid[k] = a.ctaid[k] / l->cluster[k] * l->cluster[k] + rank % l->cluster[k];
		rank /= l->cluster[k];
	}
	return block_of(l, a.ctaid);
}

static void test_clusters(void **state_)
{
	static struct text text;
	uint32_t *out = device(64 * 100 * ROUNDS * 4), *in = device(8);
	void *params[2] = {out, in};
	struct ptx_module *m;
	struct ptx_fault f;

	state = 4;
	write_clusters(&text);
	m = load(text.s);
	for (unsigned n = 0; n < 80; n++) {
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.params = params,
			.block = {1 + next(100), 1, 1},
			.cooperative = n % 3 == 0,
			.schedule = {.random = !IS_COMPILED && n % 2, .seed = n}};
		unsigned blocks;

		any_shape(l.cluster, 8);
		any_shape(l.grid, 4);
		for (unsigned k = 0; k < 3; k++)
			l.grid[k] *= l.cluster[k];
		blocks = l.grid[0] * l.grid[1] * l.grid[2];
		in[0] = 1 + next(l.block[0]);
		in[1] = next(8);
		memset(out, 0, 64 * 100 * ROUNDS * 4);
		if (ptx_run(&l, &f))
			fail_msg("%s", f.text);
		for (unsigned b = 0; b < blocks; b++)
			for (unsigned t = 0; t < l.block[0]; t++)
				for (unsigned k = 0; k < ROUNDS; k++)
					assert_int_equal(out[(b * l.block[0] + t) * ROUNDS + k],
						t < in[0] ? other_block(&l, b, in[1]) * 1000 + t +
								    k * 1000000
							  : 0);
	}
	ptx_free(m);
}

/* --- blocks that wait for later ones --- */
/* All blocks but the last wait until that one has written: of a cooperative grid they run at the
 * same time, of a random schedule as many as it takes. */
static void test_later(void **state_)
{
	static struct text text;
	struct text *t = &text;
	uint32_t *out = device(65 * 4);
	void *params[2] = {out, NULL};
	struct ptx_module *m;
	struct ptx_fault f;

	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n");
	begin_kernel(t, "k");
	OUT("mov.u32 %%r1, %%nctaid.x; sub.u32 %%r1, %%r1, 1; setp.ne.u32 %%p0, %%r1, %%r29; mov.u32 %%r2, 1; @!%%p0 st.volatile.global.u32 [%%d0], %%r2;\n"
	    "L: ld.volatile.global.u32 %%r3, [%%d0]; setp.eq.u32 %%p1, %%r3, 0; @%%p1 bra L; mul.wide.u32 %%d1, %%r29, 4; add.u64 %%d1, %%d1, %%d0; st.global.u32 [%%d1+4], %%r2; ret; }\n");
	m = load(t->s);
	for (unsigned n = 0; n < 8; n++) {
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.params = params,
			.grid = {n < 4 ? 2 + n : 40, 1, 1},
			.block = {1 + 32 * (n % 3), 1, 1},
			.cooperative = n % 2,
			.schedule = {.random = n % 2 == 0 || n > 4, .seed = n}};

		memset(out, 0, 65 * 4);
		if (ptx_run(&l, &f))
			fail_msg("%s", f.text);
		for (unsigned b = 0; b < l.grid[0]; b++)
			assert_int_equal(out[1 + b], 1);
	}
	ptx_free(m);
}

/* --- what a launch may use --- */
/* A kernel that turns for ever ends with PTX_TIMEOUT, one of as many turns does not: a slice is
 * about 20,000 loops (ptx.h). */
static void test_slices(void **state_)
{
	static struct text text;
	struct text *t = &text;
	uint32_t *out = device(64), *in = device(8);
	void *params[2] = {out, in};
	struct ptx_module *m;
	struct ptx_fault f;

	t->at = 0;
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n");
	begin_kernel(t, "k");
	OUT("ld.global.u32 %%r1, [%%d2]; mov.u32 %%r2, 0;\nL: add.u32 %%r2, %%r2, 1; setp.ne.u32 %%p0, %%r2, %%r1; @%%p0 bra L;\nst.global.u32 [%%d0], %%r2; ret; }\n");
	m = load(t->s);
	for (unsigned slices = 1; slices <= 4; slices++) {
		struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
			.params = params,
			.grid = {1, 1, 1},
			.block = {1, 1, 1},
			.max_slices = slices};

		in[0] = slices * 20000 / 2;
		assert_int_equal(ptx_run(&l, &f), PTX_OK);
		assert_int_equal(out[0], in[0]);
		in[0] = slices * 20000 * 3;
		assert_int_equal(ptx_run(&l, &f), PTX_TIMEOUT);
		assert_int_equal(f.code, PTX_TIMEOUT);
		assert_string_equal(f.kernel, "k");
	}
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_slices),
	};

	setenv("TSDB_SOFT_WORKERS", "4", 1);
	counted_environment();
	if (!counted_mode())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
