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
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

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

struct err *rp_fail(
	struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt, ...)
{
	(void)rp;
	(void)fmt;
	return err_new(code == REPLAYER_E_AGAIN ? ERR_STATE : ERR_SYSTEM, "%d", (int)seq);
}

static bool goes_back(struct rp *rp, uint64_t seq)
{
	struct err *e = heap_goes_back(rp, seq);
	const bool ok = !e;

	if (e)
		assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	return ok;
}

static void learn(struct rp *rp, size_t i)
{
	struct buf b = BUF_INIT;

	buf_add(&b, codes[i].bytes, codes[i].n);
	heap_learn_code(rp, codes[i].kind, &b);
	buf_free(&b);
}

static void launch(struct rp *rp, uint64_t seq, uint64_t kernel)
{
	const struct sbt_cmd c = {.kind = SBT_LAUNCH, .seq = seq, .u.launch.kernel = kernel};

	assert_null(heap_note(rp, &c));
}

/* After a launch that took memory nothing is restored; CHECK may go back to behind it. */
static void going_back(void **state)
{
	struct rp *rp = xcalloc(1, sizeof *rp);
	const struct sbt_cmd graph = {.kind = SBT_GRAPH_LAUNCH, .seq = 30};

	(void)state;
	rp->objects.kernels = kernels;
	rp->objects.nkernels = KERNELS;
	learn(rp, 3);
	launch(rp, 9, 0);
	assert_true(goes_back(rp, 1)); /* no code was loaded that has such functions */
	learn(rp, 1);
	launch(rp, 10, 1);
	assert_true(goes_back(rp, 1));
	launch(rp, 11, 2);
	assert_false(goes_back(rp, 1));
	assert_false(goes_back(rp, 11));
	rp->checking = (void *)rp;
	assert_false(goes_back(rp, 10));
	assert_true(goes_back(rp, 11));
	launch(rp, 12, 0);
	assert_false(goes_back(rp, 11));
	rp->checking = NULL;
	rp->heap.ran = 0;
	assert_null(heap_note(rp, &graph));
	assert_true(goes_back(rp, 1));
	kernels[0].used = true;
	assert_null(heap_note(rp, &graph)); /* of whatever its nodes launch */
	assert_false(goes_back(rp, 1));
	kernels[0].used = false;
	free(rp);
}

static unsigned notes;

void window_note(struct rp *rp, bool counted, const char *fmt, ...)
{
	(void)rp;
	(void)fmt;
	notes += counted;
}

/* Said once, if code of the window uses the heap and a kernel before it did. */
static void before_the_window(void **state)
{
	struct rp *rp = xcalloc(1, sizeof *rp);

	(void)state;
	rp->objects.kernels = kernels;
	rp->objects.nkernels = KERNELS;
	kernels[0].before = kernels[2].before = kernels[1].before = true;
	assert_null(heap_open(rp));
	assert_int_equal(notes, 0); /* no code has such functions */
	learn(rp, 1);
	assert_null(heap_open(rp));
	assert_int_equal(notes, 0); /* no kernel of the window uses it */
	kernels[3].used = true;
	assert_null(heap_open(rp));
	assert_int_equal(notes, 1);
	kernels[0].before = kernels[2].before = false;
	assert_null(heap_open(rp));
	assert_int_equal(notes, 1);
	kernels[1].before = kernels[3].used = false;
	free(rp);
}

static bool uses(struct rp *rp, uint64_t kernel)
{
	const struct sbt_cmd c = {.kind = SBT_LAUNCH, .u.launch.kernel = kernel};
	bool ret = false;

	assert_null(heap_uses(rp, &c, &ret));
	return ret;
}

static void launches_that_use_the_heap(void **state)
{
	static const bool want[KERNELS] = {true, false, true, true, false, false};
	struct rp *rp = xcalloc(1, sizeof *rp);

	rp->objects.kernels = kernels;
	rp->objects.nkernels = KERNELS;
	for (uint64_t i = 0; i < KERNELS; i++)
		assert_int_equal(uses(rp, i), want[i]);
	const unsigned once = looked;
	for (uint64_t i = 0; i < KERNELS; i++)
		assert_int_equal(uses(rp, i), want[i]);
	assert_int_equal(looked, once);
	assert_false(uses(rp, KERNELS));
	free(rp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(launches_that_use_the_heap),
		cmocka_unit_test(going_back), cmocka_unit_test(before_the_window)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
