/* SPDX-License-Identifier: Apache-2.0
 *
 * Random work on streams of each kind, with events between them, against what the CUDA programming
 * guide says must come before what: streams in order, waits for what an event had recorded, the
 * legacy stream and the blocking ones one after the other. Whatever waits on the host finds done
 * what it waited for.
 */
#include "softgpu-test.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define STREAMS 5 /* the legacy one, two that block, two that do not */
#define EVENTS 4
#define OPS 60 /* of a round: each a bit */

static unsigned seed = 11;
static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 9) % n;
}

static CUstream streams[STREAMS];
static CUevent events[EVENTS];
static uint64_t before[STREAMS]; /* what is done before a stream's next command begins */
static uint64_t recorded[EVENTS];

static _Atomic uint64_t done;
static atomic_int wrong;

struct op {
	uint64_t needs;
	unsigned number, us;
};
static struct op ops[OPS];

static void run_op(void *data)
{
	const struct op *op = data;

	if (op->needs & ~done)
		wrong++;
	if (op->us)
		nanosleep(&(struct timespec){.tv_nsec = op->us * 1000}, NULL);
	if (op->needs & ~done)
		wrong++;
	done |= 1ull << op->number;
}

static bool blocks(unsigned s)
{
	return s == 1 || s == 2;
}

/* A command of the stream comes after those of the legacy stream, or the other way round. */
static void touch(unsigned s)
{
	if (blocks(s))
		before[s] |= before[0];
	for (unsigned k = 1; s == 0 && k < STREAMS; k++)
		if (blocks(k))
			before[0] |= before[k];
}

static void launch(unsigned s, unsigned number)
{
	touch(s);
	ops[number] = (struct op){before[s], number, rnd(3) ? 0 : rnd(200)};
	OK(cuLaunchHostFunc(streams[s], run_op, &ops[number]));
	before[s] |= 1ull << number;
}

static void is_done(uint64_t what)
{
	assert_int_equal(what & ~done, 0);
}

static void look(unsigned s, unsigned e)
{
	CUresult r;

	switch (rnd(5)) {
	case 0:
		OK(cuStreamSynchronize(streams[s]));
		is_done(before[s]);
		break;
	case 1:
		OK(cuEventSynchronize(events[e]));
		is_done(recorded[e]);
		break;
	case 2:
		r = cuEventQuery(events[e]);
		assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY);
		if (r == CUDA_SUCCESS)
			is_done(recorded[e]);
		break;
	case 3:
		r = cuStreamQuery(streams[s]);
		assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY);
		if (r == CUDA_SUCCESS)
			is_done(before[s]);
		break;
	default:
		break;
	}
}

static void round_of(void)
{
	unsigned n = 0;

	done = 0;
	memset(before, 0, sizeof before);
	memset(recorded, 0, sizeof recorded);
	while (n < OPS) {
		const unsigned s = rnd(STREAMS), e = rnd(EVENTS);

		switch (rnd(10)) {
		case 0:
		case 1:
			touch(s);
			OK(cuEventRecord(events[e], streams[s]));
			recorded[e] = before[s];
			break;
		case 2:
		case 3: /* a wait alone lets no blocking stream wait for another */
			if (s)
				touch(s);
			OK(cuStreamWaitEvent(streams[s], events[e], 0));
			before[s] |= recorded[e];
			break;
		case 4:
			if (rnd(3) == 0)
				look(s, e);
			break;
		default:
			launch(s, n++);
		}
	}
	OK(cuCtxSynchronize());
	assert_int_equal(done, (1ull << OPS) - 1);
	assert_int_equal(wrong, 0);
	for (unsigned k = 0; k < EVENTS; k++)
		OK(cuEventQuery(events[k]));
	for (unsigned k = 0; k < STREAMS; k++)
		OK(cuStreamQuery(streams[k]));
}

static int start(void **state)
{
	softgpu_start(state);
	for (unsigned k = 1; k < STREAMS; k++)
		OK(cuStreamCreate(
			&streams[k], blocks(k) ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
	for (unsigned k = 0; k < EVENTS; k++)
		OK(cuEventCreate(&events[k], 0));
	return 0;
}

static int stop(void **state)
{
	for (unsigned k = 1; k < STREAMS; k++)
		OK(cuStreamDestroy(streams[k]));
	for (unsigned k = 0; k < EVENTS; k++)
		OK(cuEventDestroy(events[k]));
	return softgpu_stop(state);
}

static void test_model(void **state)
{
	for (unsigned round = 0; round < 60; round++)
		round_of();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};

	return cmocka_run_group_tests_name("softgpu-stream-model", tests, start, stop);
}
