/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the memory of a launch ends: shared memory to the byte, the heap of kernels against a model
 * of it, the pieces of alloca; what atomics may not be made on.
 */
#include "ptx-test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- shared memory --- */

#define SHARED_TEXT                                                                                \
	PTX_HEAD                                                                                   \
	".shared .align 4 .b8 outer[%u]; .extern .shared .align 16 .b8 dyn[];\n"                   \
	".visible .entry k(.param .u64 p, .param .u32 at) {\n"                                     \
	".reg .b32 %%r<9>; .reg .b64 %%d<3>; .shared .align 4 .b8 inner[%u];\n"                    \
	"ld.param.u64 %%d1, [p]; mov.u32 %%r1, outer; mov.u32 %%r2, inner; mov.u32 %%r3, dyn;\n"   \
	"st.global.v2.u32 [%%d1], {%%r1, %%r2}; st.global.u32 [%%d1+8], %%r3;\n"                   \
	"mov.u32 %%r4, 7; ld.param.u32 %%r5, [at]; st.shared.u8 [%%r5], %%r4; ret; }"

struct place {
	uint32_t outer, inner, dyn;
};

static enum ptx_fault_code touch(struct ptx_module *m, struct place *p, size_t dynamic, uint32_t at)
{
	struct {
		struct place *p;
		uint32_t at;
	} params = {p, at};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {1, 1, 1},
		.params = &params,
		.dynamic_shared = dynamic};
	struct ptx_fault f;
	enum ptx_fault_code code = ptx_run(&l, &f);

	if (code) {
		assert_int_equal(code, PTX_ILLEGAL_ADDRESS);
		assert_int_equal(f.addr & 0xffffffff, at);
		assert_int_equal(f.size, 1);
	}
	return code;
}

static bool apart(uint32_t a, uint32_t na, uint32_t b, uint32_t nb)
{
	return a + na <= b || b + nb <= a;
}

/* The dynamic part is last; it begins aligned, overlaps no variable, and ends with the launch's
 * last byte. */
static void test_shared(void **state)
{
	static const unsigned sizes[] = {1, 4, 100, 127, 128, 129, 256, 1000};
	struct place *p = device(sizeof *p);

	for (size_t k = 0; k < COUNT_OF(sizes) * COUNT_OF(sizes); k++) {
		const unsigned outer = sizes[k / COUNT_OF(sizes)],
			       inner = sizes[k % COUNT_OF(sizes)];
		const size_t dynamic = 1 + k * 7 % 200;
		struct ptx_module *m;
		char text[1024];

		snprintf(text, sizeof text, SHARED_TEXT, outer, inner);
		m = load(text);
		assert_int_equal(touch(m, p, dynamic, 0), PTX_OK);
		assert_int_equal(p->dyn % 16, 0);
		assert_true(apart(p->outer, outer, p->inner, inner));
		assert_true(p->outer + outer <= p->dyn && p->inner + inner <= p->dyn);
		assert_true(p->dyn < outer + inner + 3 * 128); /* no more than is rounded up */
		assert_int_equal(touch(m, p, dynamic, p->dyn + (uint32_t)dynamic - 1), PTX_OK);
		assert_int_equal(
			touch(m, p, dynamic, p->dyn + (uint32_t)dynamic), PTX_ILLEGAL_ADDRESS);
		ptx_free(m);
	}
}

/* --- the heap --- */

#define HEAP_TEXT                                                                                                  \
	PTX_HEAD                                                                                                   \
	".extern .func (.param .b64 r) malloc (.param .b64 n);\n"                                                  \
	".extern .func free (.param .b64 p);\n"                                                                    \
	".visible .entry k(.param .u64 out, .param .u32 what, .param .u64 v) {\n"                                  \
	".reg .b32 %r<3>; .reg .b64 %d<5>; .reg .pred %p<3>;\n"                                                    \
	"ld.param.u64 %d1, [out]; ld.param.u32 %r1, [what]; ld.param.u64 %d2, [v];\n"                              \
	"setp.eq.u32 %p1, %r1, 1; @%p1 bra FREE; setp.eq.u32 %p1, %r1, 2; @%p1 bra STORE;\n"                       \
	"{ .param .b64 n; .param .b64 r; st.param.b64 [n], %d2; call (r), malloc, (n); ld.param.b64 %d3, [r]; }\n" \
	"st.global.u64 [%d1], %d3; ret;\n"                                                                         \
	"FREE: { .param .b64 q; st.param.b64 [q], %d2; call free, (q); }\n ret;\n"                                 \
	"STORE: st.u8 [%d2], 1; ret; }"

enum heap_op { MALLOC, FREE, STORE };

static struct ptx_module *heap_module;
static struct ptx_heap *heap;
static uint64_t *heap_out;

static enum ptx_fault_code heap_do(enum heap_op what, uint64_t v)
{
	struct {
		uint64_t *out;
		uint32_t what;
		uint64_t v;
	} params = {heap_out, what, v};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(heap_module, "k"),
		.grid = {1, 1, 1},
		.block = {1, 1, 1},
		.params = &params,
		.heap = heap};
	struct ptx_fault f;

	return ptx_run(&l, &f);
}

static uint64_t heap_malloc(uint64_t n)
{
	assert_int_equal(heap_do(MALLOC, n), PTX_OK);
	return *heap_out;
}

#define HEAP_BYTES (5 * 4096 + 64) /* not a power of two */
#define PIECES 40

static void start_heap(size_t limit)
{
	heap = ptx_heap_new(limit, 77);
	assert_non_null(heap);
	if (!heap_module) {
		heap_module = load(HEAP_TEXT);
		heap_out = device(8);
	}
}

static void end_heap(void)
{
	ptx_heap_delete(heap);
	mem_free_owner(77);
}

static bool can_store(uint64_t a)
{
	return heap_do(STORE, a) == PTX_OK;
}

/* Pieces come and go; none overlaps another, each ends where it ends, and when all are back the
 * largest fits again. */
static void test_heap(void **state)
{
	struct {
		uint64_t at, n;
	} pieces[PIECES] = {{0}};
	unsigned seed = 5, refused = 0;

	start_heap(HEAP_BYTES);
	for (unsigned round = 0; round < 300; round++) {
		unsigned k = (seed = seed * 1664525u + 1013904223u) >> 9;
		const uint64_t n = 1 + (k >> 8) % 1500;

		k %= PIECES;
		if (pieces[k].at) {
			assert_int_equal(heap_do(FREE, pieces[k].at), PTX_OK);
			assert_false(can_store(pieces[k].at));
			pieces[k].at = 0;
			continue;
		}
		pieces[k].at = heap_malloc(n);
		pieces[k].n = n;
		if (!pieces[k].at) {
			refused++;
			continue;
		}
		assert_int_equal(pieces[k].at % 32, 0);
		assert_true(can_store(pieces[k].at));
		assert_true(can_store(pieces[k].at + n - 1));
		assert_false(can_store(pieces[k].at + n));
		for (unsigned j = 0; j < PIECES; j++)
			assert_true(j == k || !pieces[j].at ||
				    pieces[k].at >= pieces[j].at + pieces[j].n ||
				    pieces[j].at >= pieces[k].at + n);
	}
	assert_true(refused > 3 && refused < 150);
	for (unsigned k = 0; k < PIECES; k++)
		assert_int_equal(heap_do(FREE, pieces[k].at), PTX_OK); /* of nothing, too */
	assert_true(heap_malloc(4 * 4096) != 0); /* the largest power of two in it */
	assert_true(heap_malloc(4096) != 0);
	assert_true(heap_malloc(64) != 0);
	assert_true(heap_malloc(1) == 0);
	end_heap();
}

static void test_heap_refusals(void **state)
{
	uint64_t a, b;

	start_heap(64 * 32);
	assert_int_equal(heap_do(FREE, 4096), PTX_ILLEGAL_ADDRESS); /* before the first malloc() */
	assert_int_equal(heap_do(FREE, 0), PTX_OK);
	assert_true(heap_malloc(0) == 0);
	assert_true(heap_malloc(64 * 32 + 1) == 0);
	a = heap_malloc(64 * 32); /* all of it */
	assert_true(a != 0);
	assert_true(heap_malloc(1) == 0);
	assert_int_equal(heap_do(FREE, a + 32), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(heap_do(FREE, a - 32), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(heap_do(FREE, a + 64 * 32), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(heap_do(FREE, a + 1), PTX_ILLEGAL_ADDRESS);
	assert_int_equal(heap_do(FREE, a), PTX_OK);
	assert_int_equal(heap_do(FREE, a), PTX_ILLEGAL_ADDRESS);
	b = heap_malloc(33); /* two units: the lowest are taken first */
	assert_true(b == a);
	assert_true(heap_malloc(1) == a + 64);
	assert_false(ptx_heap_set_limit(heap, 1 << 20)); /* it has been used */
	end_heap();
	start_heap(31);
	assert_true(heap_malloc(1) == 0); /* less than a unit */
	assert_true(ptx_heap_set_limit(heap, 32));
	assert_true(heap_malloc(1) != 0);
	end_heap();
	start_heap(32ull << 31);
	assert_true(heap_malloc(1) == 0); /* more than its numbers hold */
	end_heap();
	heap = NULL;
	assert_true(heap_malloc(1) == 0);
	assert_int_equal(heap_do(FREE, 4096), PTX_ILLEGAL_ADDRESS);
}

/* --- alloca: "PTX ISA 9.0", 9.7.15 --- */

static void test_alloca(void **state)
{
	static const char text[] = PTX_HEAD
		".visible .entry k(.param .u64 p) {\n"
		".reg .b32 %r<3>; .reg .b64 %d<9>; .local .align 4 .b8 own[20];\n"
		"ld.param.u64 %d1, [p]; mov.u64 %d8, 3;\n"
		"stacksave.u64 %d2; alloca.u64 %d3, %d8; alloca.u64 %d4, %d8, 64; alloca.u64 %d5, %d8, 16;\n"
		"st.local.u8 [%d3+2], 9; stackrestore.u64 %d2; alloca.u64 %d6, %d8, 8;\n"
		"ld.local.u8 %r1, [%d6+2]; mov.u64 %d7, own;\n"
		"st.global.u64 [%d1], %d3; st.global.u64 [%d1+8], %d4; st.global.u64 [%d1+16], %d5;\n"
		"st.global.u64 [%d1+24], %d6; st.global.u32 [%d1+32], %r1; st.global.u64 [%d1+40], %d7; ret; }";
	const uint64_t *p = run_text(text, 1, 1, 64);

	assert_true(p[0] >= p[5] + 20 && p[0] % 8 == 0 && p[0] < p[5] + 20 + 64);
	assert_true(p[1] >= p[0] + 3 && p[1] % 64 == 0 && p[1] < p[0] + 3 + 64);
	assert_true(p[2] >= p[1] + 3 && p[2] % 16 == 0 && p[2] < p[1] + 3 + 16);
	assert_int_equal(p[3], p[0]);	     /* restored: the same place, */
	assert_int_equal((uint32_t)p[4], 0); /* zeroed again */
}

/* --- atomics are on global and shared memory --- */

static void test_no_atomics(void **state)
{
	static const char *const insns[] = {
		"atom.add.u32 %r1, [l], 1;", "atom.add.u32 %r1, [q], 1;", "red.add.u32 [l], 1;"};

	for (size_t k = 0; k < COUNT_OF(insns); k++) {
		char text[512], log[256];
		struct ptx_module *m;
		struct ptx_fault f;
		const uint32_t q = 0;

		snprintf(text, sizeof text,
			PTX_HEAD
			".visible .entry k(.param .u32 q) { .reg .b32 %%r<3>; .local .u32 l; %s ret; }",
			insns[k]);
		m = ptx_load(text, strlen(text), log, sizeof log);
		if (!m)
			continue; /* refused at once: as good */
		assert_int_equal(ptx_link(m, place_var, NULL, log, sizeof log), PTX_LINKED);
		if (launch_of(m, "k", 1, 1, &q, &f) != PTX_ILLEGAL_INSTRUCTION)
			fail_msg("%s: %s", insns[k], f.text);
		ptx_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_heap_refusals),
		cmocka_unit_test(test_alloca),
		cmocka_unit_test(test_no_atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
