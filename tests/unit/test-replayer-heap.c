/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches use the device's own heap (replayer-heap.c), from PTX and from machine code. The
 * trace's codes are the fakes below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"

#define PTX                                                                                        \
	".extern .func (.param .b64 r) malloc (.param .b64 n);\n"                                  \
	".visible .entry takes() { call (r), malloc, (n); ret; }\n"                                \
	".visible .entry does_not() { ret; }\n"

static const struct code {
	uint64_t hash;
	enum code_kind kind;
	const char *bytes;
	size_t n;
} codes[] = {
	{1, CODE_PTX, PTX, sizeof PTX - 1},
	{2, CODE_UNKNOWN, "\177ELF....\0gives\0free\0", 21},
	{3, CODE_UNKNOWN, "\177ELF....\0takes\0malloc\0", 23},
	{4, CODE_UNKNOWN, "\177ELF....\0freeze\0mallocator\0", 28},
};

static struct rkernel kernels[] = {
	{.name = (char *)"takes", .code_hash = 4},
	{.name = (char *)"does_not", .code_hash = 4},
	{.name = (char *)"gives", .code_hash = 2},
	{.name = (char *)"takes", .code_hash = 3},
	{.name = (char *)"neither", .code_hash = 4},
	{.name = (char *)"unknown"},
};
#define KERNELS (sizeof kernels / sizeof *kernels)
static unsigned looked;

struct rkernel *objects_kernel(struct rp *rp, uint64_t id)
{
	return id < KERNELS ? &kernels[id] : NULL;
}

/* The first two have PTX beside their machine code. */
uint64_t code_ptx(struct rp *rp, const struct rkernel *k)
{
	return k < kernels + 2 ? 1 : 0;
}

struct err *sbt_reader_code(
	struct sbt_reader *r, uint64_t hash, struct buf *ret, enum code_kind *ret_kind)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].hash == hash) {
			looked++;
			*ret_kind = codes[i].kind;
			buf_add(ret, codes[i].bytes, codes[i].n);
			return NULL;
		}
	return err_new(ERR_NOT_FOUND, "no code");
}

static bool uses(struct rp *rp, struct checking *k, uint64_t kernel)
{
	const struct sbt_cmd c = {.kind = SBT_LAUNCH, .u.launch.kernel = kernel};
	bool ret = false;

	assert_null(heap_uses(rp, k, &c, &ret));
	return ret;
}

static void launches_that_use_the_heap(void **state)
{
	static const bool want[KERNELS] = {true, false, true, true, false, false};
	struct rp *rp = xcalloc(1, sizeof *rp);
	struct checking k = {0};

	rp->objects.kernels = kernels;
	rp->objects.nkernels = KERNELS;
	for (uint64_t i = 0; i < KERNELS; i++)
		assert_int_equal(uses(rp, &k, i), want[i]);
	const unsigned once = looked;
	for (uint64_t i = 0; i < KERNELS; i++)
		assert_int_equal(uses(rp, &k, i), want[i]);
	assert_int_equal(looked, once);
	assert_false(uses(rp, &k, KERNELS));
	free(k.heap);
	free(rp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(launches_that_use_the_heap)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
