/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of contexts in a replay, on a device that notes what it is asked: which values it gets, in
 * which order, and what the user is told of those that it does not take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

#define STACK 0
#define FIFO 1
#define HEAP 2
#define MOST (512u << 10)

static struct buf asked; /* "device:limit=value " */
static uint64_t stack;

static struct gpu_result limit(int l, uint64_t value)
{
	buf_printf(&asked, "%d=%llu ", l, (unsigned long long)value);
	if (l > 8 || (l == STACK && value > MOST) || value >> 62)
		return (struct gpu_result){.status = GPU_REFUSED, .code = 1, .call = "limit"};
	if (l == STACK)
		stack = value;
	return (struct gpu_result){.status = GPU_OK};
}

static struct gpu_result limit_is(int l, uint64_t *ret)
{
	*ret = l == STACK ? stack : 77;
	return (struct gpu_result){.status = l > 8 ? GPU_REFUSED : GPU_OK};
}

static const char *name(int code)
{
	return code == 1 ? "NO_SUCH_VALUE" : NULL;
}

/* --- what limits.c asks of the rest of the replayer --- */

unsigned devices_ordinal(const struct rp *rp, uint64_t ctx)
{
	(void)rp;
	return (unsigned)(ctx & 31);
}

unsigned devices_number(const struct rp *rp, unsigned ordinal)
{
	(void)rp;
	return ordinal == 1;
}

struct err *devices_enter(struct rp *rp, unsigned dev)
{
	if (rp->devices.now != dev)
		buf_printf(&asked, "@%u ", dev);
	rp->devices.now = dev;
	return NULL;
}

static const struct state_limit early[] = {{.ctx = 1, .limit = STACK, .value = 3000, .seq = 7},
	{.ctx = 2, .limit = HEAP, .value = 5, .seq = 6}};

bool state_limit(const struct state *s, unsigned i, struct state_limit *ret)
{
	(void)s;
	if (i < 2)
		*ret = early[i];
	return i < 2;
}

void window_note(struct rp *rp, bool counted, const char *fmt, ...)
{
	va_list ap;

	rp->unrepeatable += counted;
	va_start(ap, fmt);
	buf_vprintf(&rp->notes, fmt, ap);
	va_end(ap);
	buf_byte(&rp->notes, '\n');
}

struct err *rp_gpu_failed(struct rp *rp, struct gpu_result r)
{
	(void)rp;
	return err_new(ERR_INFERIOR, "the device broke: %d", r.status);
}

/* --- */

static const int once[] = {FIFO, HEAP, -1};

static struct rp *rp_new(bool limits)
{
	static struct backend cuda, none;
	struct rp *rp = calloc(1, sizeof *rp);

	assert_non_null(rp);
	cuda = (struct backend){.result_name = name,
		.context_limit = limit,
		.context_limit_is = limit_is,
		.limits_once = once};
	none = (struct backend){.result_name = name};
	rp->gpu = limits ? &cuda : &none;
	buf_free(&asked);
	asked = (struct buf)BUF_INIT;
	stack = 1024;
	return rp;
}

static void rp_end(struct rp *rp)
{
	free(rp->objects.limits.sets);
	buf_free(&rp->notes);
	free(rp);
	buf_free(&asked);
	asked = (struct buf)BUF_INIT;
}

static struct sbt_cmd sets(uint64_t seq, uint64_t ctx, uint64_t l, uint64_t value)
{
	struct sbt_cmd c = {.kind = SBT_CTX_LIMIT, .seq = seq, .ctx = (uint32_t)ctx};

	c.u.ctx_limit.limit = l;
	c.u.ctx_limit.limit_value = value;
	return c;
}

static void learn(struct rp *rp, uint64_t seq, uint64_t ctx, uint64_t l, uint64_t value)
{
	const struct sbt_cmd c = sets(seq, ctx, l, value);

	limits_learn(rp, &c);
}

static void is_asked(const char *want)
{
	assert_string_equal(buf_cstr(&asked), want);
	buf_free(&asked);
	asked = (struct buf)BUF_INIT;
}

static void ok(struct err *e)
{
	assert_null(e);
}

/* What is taken once is set at the beginning, to the last value, and then never again. */
static void once_and_often(void **unused)
{
	struct rp *rp = rp_new(true);
	const struct sbt_cmd heap = sets(7, 0, HEAP, 16), more = sets(9, 0, STACK, 4096);

	(void)unused;
	learn(rp, 3, 0, STACK, 2048);
	learn(rp, 5, 0, HEAP, 8);
	learn(rp, 7, 0, HEAP, 16);
	learn(rp, 9, 0, STACK, 4096);
	ok(limits_open(rp));
	is_asked("2=16 0=2048 0=4096 ");
	ok(limits_at(rp, 4));
	is_asked("0=2048 ");
	ok(limits_execute(rp, &heap));
	is_asked("");
	ok(limits_execute(rp, &more));
	is_asked("0=4096 ");
	ok(limits_at(rp, 2)); /* before the program set it: what it was */
	is_asked("0=1024 ");
	assert_int_equal(rp->notes.len, 0);
	rp_end(rp);
}

/* Of several contexts of one device the largest; another device has its own. */
static void contexts_and_devices(void **unused)
{
	struct rp *rp = rp_new(true);
	const struct sbt_cmd there = sets(8, 1, STACK, 3000);

	(void)unused;
	learn(rp, 1, 0, HEAP, 64);
	learn(rp, 2, 2, HEAP, 32);
	learn(rp, 3, 1, HEAP, 48);
	learn(rp, 8, 1, STACK, 3000);
	ok(limits_open(rp));
	is_asked("2=64 @1 2=48 0=3000 @0 ");
	ok(limits_execute(rp, &there));
	is_asked("@1 0=3000 @0 ");
	rp_end(rp);
}

/* Those of the state at the window's start. */
static void before_the_window(void **unused)
{
	struct rp *rp = rp_new(true);

	(void)unused;
	limits_from_state(rp, NULL);
	learn(rp, 9, 1, STACK, 4000);
	ok(limits_open(rp));
	is_asked("2=5 @1 0=3000 0=4000 @0 ");
	ok(limits_at(rp, 8));
	is_asked("@1 0=3000 @0 ");
	rp_end(rp);
}

/* A larger one of the same context that a later command took back does not count. */
static void a_smaller_one_later(void **unused)
{
	struct rp *rp = rp_new(true);

	(void)unused;
	learn(rp, 1, 0, HEAP, 64);
	learn(rp, 2, 0, HEAP, 32);
	ok(limits_open(rp));
	is_asked("2=32 ");
	rp_end(rp);
}

static void hostile_values(void **unused)
{
	struct rp *rp = rp_new(true);
	const struct sbt_cmd far = sets(6, 0, UINT64_MAX, 1);

	(void)unused;
	learn(rp, 1, 0, HEAP, 1ull << 63);
	learn(rp, 2, 0, STACK, 1ull << 63);
	learn(rp, 3, 0, STACK, 1ull << 63);
	learn(rp, 4, 0, 10, 5);
	learn(rp, 5, 0, LIMITS_MAX, 5);
	learn(rp, 6, 0, UINT64_MAX, 1);
	ok(limits_open(rp));
	ok(limits_execute(rp, &far));
	ok(limits_at(rp, 9));
	assert_string_equal(buf_cstr(&rp->notes),
		"#5: limit 16 is none that tsdb knows; it is not set, and kernels that need it may differ\n"
		"#1: this device does not take 9223372036854775808 for limit 2 (NO_SUCH_VALUE); kernels that need it may differ\n"
		"#4: this device does not take 5 for limit 10 (NO_SUCH_VALUE); kernels that need it may differ\n"
		"#2: this device does not take 9223372036854775808 for limit 0 (NO_SUCH_VALUE); kernels that need it may differ\n");
	assert_int_equal(rp->unrepeatable, 4);
	assert_int_equal(stack, 1024);
	rp_end(rp);
}

/* Another vendor's device has none. */
static void a_backend_without_limits(void **unused)
{
	struct rp *rp = rp_new(false);
	const struct sbt_cmd c = sets(4, 0, STACK, 2048);

	(void)unused;
	learn(rp, 4, 0, STACK, 2048);
	ok(limits_open(rp));
	ok(limits_at(rp, 5));
	ok(limits_execute(rp, &c));
	assert_string_equal(buf_cstr(&rp->notes),
		"#4: devices have no limits here; kernels that need them may differ\n");
	rp_end(rp);
	rp = rp_new(false);
	ok(limits_open(rp));
	assert_int_equal(rp->notes.len, 0);
	rp_end(rp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(once_and_often),
		cmocka_unit_test(contexts_and_devices), cmocka_unit_test(a_smaller_one_later),
		cmocka_unit_test(before_the_window), cmocka_unit_test(hostile_values),
		cmocka_unit_test(a_backend_without_limits)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
