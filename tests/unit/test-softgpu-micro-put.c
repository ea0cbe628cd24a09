/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers and memory of a launch that stands still are set, lane by lane: what is set is there,
 * what lies beside it stays, and the launch goes on with it. Changes that are none are refused.
 */
#include "ptx-test.h"
#include "thread-signals.h"

#include "softgpu/micro/micro.h"

#define THREADS 50 /* the last warp has 18 */
#define OUT_WORDS 8
#define STOP_LINE 10
#define CALLED_LINE 6

#define TEXT                                                                                                                                                                                                                                                                                                      \
	".version 8.3\n.target sm_70\n.address_size 64\n"                                                                                                                                                                                                                                                         \
	".func (.param .b32 r) twice(.param .b32 a) {\n"                                                                                                                                                                                                                                                          \
	".reg .b32 %r<3>; ld.param.b32 %r1, [a];\n"                                                                                                                                                                                                                                                               \
	"add.u32 %r2, %r1, %r1;\n" /* 6 */                                                                                                                                                                                                                                                                        \
	"st.param.b32 [r], %r2; ret; }\n"                                                                                                                                                                                                                                                                         \
	".visible .entry k(.param .u64 out, .param .u32 n, .param .u32 last) { .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .b16 %h<3>; .reg .pred %p<3>; .reg .f32 %f<3>; .reg .f64 %g<3>; .reg .b128 %q<2>; .shared .align 8 .b32 s[64]; .local .align 4 .b32 l[3];\n"                                                \
	"mov.u32 %r0, %tid.x; mov.u32 %r1, 7; mov.u64 %d1, 8; mov.u16 %h1, 9; setp.ne.u32 %p1, %r0, %r0; mov.f32 %f1, 0f3F800000; mov.f64 %g1, 0d3FF0000000000000; mul.lo.u32 %r2, %r0, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r0; st.local.u32 [l+4], %r0; mov.b128 %q1, {%d1, %d1};\n" \
	"ld.param.u64 %d0, [out];\n" /* 10 */                                                                                                                                                                                                                                                                     \
	"mul.wide.u32 %d2, %r0, 32; add.u64 %d2, %d2, %d0; cvt.u32.u16 %r4, %h1; selp.u32 %r5, 1, 0, %p1; ld.shared.u32 %r6, [%r3]; ld.local.u32 %r7, [l+4]; ld.param.u32 %r8, [n];\n"                                                                                                                            \
	"st.global.v4.u32 [%d2], {%r1, %r4, %r5, %r6}; st.global.v2.u32 [%d2+16], {%r7, %r8}; st.global.u64 [%d2+24], %d1;\n"                                                                                                                                                                                     \
	"{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), twice, (a); ld.param.b32 %r1, [r]; } st.global.u32 [%d2], %r1; ret; }\n"

struct demo {
	struct ptx_module *m;
	uint32_t *out;
	struct soft_session *s;
	struct soft_stop stop;
	struct {
		uint64_t out;
		uint32_t n, last;
	} params;
};

static void run_to(struct demo *d, unsigned line)
{
	struct soft_point p = {.id = 1, .kind = SOFT_AT_LINE, .line = line};
	const struct soft_go g = {.how = SOFT_RUN};

	assert_null(micro_points(d->s, &p, line != 0));
	assert_null(micro_go(d->s, &g, &d->stop));
	if (line)
		assert_int_equal(d->stop.line, line);
	else
		assert_int_equal(d->stop.state, SOFT_ENDED);
}

static void setup(struct demo *d)
{
	struct ptx_launch l = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = &d->params};

	d->m = load(TEXT);
	d->out = device((THREADS + 1) * OUT_WORDS * 4);
	d->params.out = (uint64_t)(uintptr_t)d->out;
	d->params.n = 11;
	d->params.last = 12;
	l.fn = ptx_kernel_by_name(d->m, "k");
	assert_null(micro_start(&l, TEXT, strlen(TEXT), NULL, 0, &d->s, &d->stop));
}

static void done(struct demo *d)
{
	micro_end(d->s);
	ptx_free(d->m);
}

static uint8_t got[4096];
static size_t ngot;
static void add(void *arg, const void *p, size_t n)
{
	assert_true(ngot + n <= sizeof(got));
	memcpy(got + ngot, p, n);
	ngot += n;
}

/* A register as a lane sees it; frame: calls outwards. */
static struct soft_value value(struct demo *d, const char *name, unsigned lane, unsigned frame)
{
	struct soft_ask q = {.what = SOFT_ASK_VALUE, .lane = 1 + lane, .frame = frame};
	struct soft_value v;
	const char *why;

	snprintf(q.text, sizeof(q.text), "%s", name);
	ngot = 0;
	why = micro_ask(d->s, &q, add, NULL);
	if (why)
		fail_msg("%s: %s", name, why);
	assert_int_equal(ngot, sizeof(v));
	memcpy(&v, got, sizeof(v));
	return v;
}

static const char *put_value(
	struct demo *d, const char *name, unsigned lane, unsigned frame, uint64_t v, unsigned size)
{
	struct soft_put p = {.space = SOFT_SPACES, .lane = lane, .frame = frame, .size = size};

	snprintf(p.text, sizeof(p.text), "%s", name);
	memset(p.bytes, 0xee, sizeof(p.bytes));
	memcpy(p.bytes, &v, size < 8 ? size : 8);
	return micro_put(d->s, &p);
}

/* One lane's value is set, the others' stay as they are. */
static void check_register(
	struct demo *d, const char *name, unsigned lane, uint64_t v, unsigned size, uint64_t want)
{
	const struct soft_value before = value(d, name, lane, 0);
	struct soft_value after;
	const char *why = put_value(d, name, lane, 0, v, size);

	if (why)
		fail_msg("%s: %s", name, why);
	after = value(d, name, lane, 0);
	for (unsigned k = 0; k < 32; k++) {
		const uint64_t is = k == lane ? want : before.value[k];

		if (after.value[k] != is)
			fail_msg("%s of lane %u: %#llx, not %#llx", name, k,
				(unsigned long long)after.value[k], (unsigned long long)is);
	}
}

static void test_registers(void **state)
{
	static const unsigned lanes[] = {0, 5, 31};
	struct demo d = {0};

	setup(&d);
	run_to(&d, STOP_LINE);
	assert_int_equal(threads_without_signals(), 1); /* the launch's */
	for (unsigned k = 0; k < 3; k++) {
		const unsigned l = lanes[k];

		check_register(&d, "%r1", l, 0xfedcba98, 4, 0xfedcba98);
		check_register(&d, "%r1", l, 0x1234, 2, 0x1234); /* the rest is zero */
		check_register(&d, "%d1", l, 0x123456789abcdef0, 8, 0x123456789abcdef0);
		check_register(&d, "%d1", l, 0x9abcdef0, 4, 0x9abcdef0);
		check_register(&d, "%h1", l, 0xfffe1234, 4, 0x1234);
		check_register(&d, "%p1", l, 1, 4, 1);
		check_register(&d, "%p1", l, 2, 4, 0);
		check_register(&d, "%p1", l, 3, 4, 1);
		check_register(&d, "%f1", l, 0x40490fdb, 4, 0x40490fdb);
		check_register(&d, "%g1", l, 0x400921fb54442d18, 8, 0x400921fb54442d18);
	}
	run_to(&d, 0);
	for (unsigned t = 0; t < THREADS; t++) {
		const bool set = t == 0 || t == 5 || t == 31;
		const uint32_t *o = &d.out[OUT_WORDS * t];

		assert_int_equal(o[0], 2 * t);
		assert_int_equal(o[1], set ? 0x1234 : 9);
		assert_int_equal(o[2], set);
		assert_int_equal(o[3], t);
		assert_int_equal(o[4], t);
		assert_int_equal(o[5], 11);
		assert_int_equal(o[6], set ? 0x9abcdef0 : 8);
		assert_int_equal(o[7], 0);
	}
	done(&d);
}

/* The frames of one name have registers of their own. */
static void test_frames(void **state)
{
	struct demo d = {0};

	setup(&d);
	run_to(&d, CALLED_LINE);
	assert_int_equal(value(&d, "%r1", 3, 0).value[3], 3);
	assert_int_equal(value(&d, "%r1", 3, 1).value[3], 7);
	assert_null(put_value(&d, "%r1", 3, 0, 1000, 4));
	/* to where no thread writes */
	assert_null(
		put_value(&d, "%d2", 4, 1, (uint64_t)(uintptr_t)(d.out + OUT_WORDS * THREADS), 8));
	assert_int_equal(value(&d, "%r1", 3, 0).value[3], 1000);
	assert_int_equal(value(&d, "%r1", 3, 1).value[3], 7);
	assert_int_equal(value(&d, "%r1", 3, 0).value[4], 4);
	assert_non_null(put_value(&d, "%r1", 3, 2, 1, 4)); /* there is none further out */
	assert_non_null(put_value(&d, "%d2", 3, 0, 1, 8)); /* nor such a register here */
	run_to(&d, 0);
	assert_int_equal(d.out[OUT_WORDS * 3], 2000);
	assert_int_equal(d.out[OUT_WORDS * THREADS], 8); /* thread 4's */
	assert_int_equal(d.out[OUT_WORDS * 4], 7);
	done(&d);
}

static void ask_memory(struct demo *d, unsigned space, unsigned lane, uint64_t at, uint64_t n)
{
	struct soft_ask q = {
		.what = SOFT_ASK_MEMORY, .space = space, .lane = 1 + lane, .addr = at, .size = n};

	ngot = 0;
	assert_null(micro_ask(d->s, &q, add, NULL));
	assert_int_equal(ngot, n);
}

static const char *put_bytes(struct demo *d, unsigned space, unsigned lane, uint64_t at, unsigned n)
{
	struct soft_put p = {.space = space, .lane = lane, .addr = at, .size = n};

	for (unsigned k = 0; k < sizeof(p.bytes); k++)
		p.bytes[k] = (uint8_t)(0x51 + k);
	return micro_put(d->s, &p);
}

/* Bytes from at on are set, those before and behind stay. */
static void check_memory(
	struct demo *d, unsigned space, unsigned lane, uint64_t size, uint64_t at, unsigned n)
{
	uint8_t before[512];

	assert_true(size <= sizeof(before));
	ask_memory(d, space, lane, 0, size);
	memcpy(before, got, size);
	assert_null(put_bytes(d, space, lane, at, n));
	ask_memory(d, space, lane, 0, size);
	for (uint64_t k = 0; k < size; k++)
		assert_int_equal(
			got[k], k < at || k >= at + n ? before[k] : (uint8_t)(0x51 + k - at));
}

static void test_memory(void **state)
{
	struct demo d = {0};
	uint32_t other;

	setup(&d);
	run_to(&d, STOP_LINE);
	check_memory(&d, SOFT_SHARED, 0, 256, 20, 4);
	check_memory(&d, SOFT_SHARED, 9, 256, 0, 3);
	check_memory(&d, SOFT_SHARED, 9, 256, 248, 8);
	check_memory(&d, SOFT_LOCAL, 6, 12, 4, 4);
	check_memory(&d, SOFT_PARAM, 6, 16, 8, 4);
	ask_memory(&d, SOFT_LOCAL, 7, 4, 4);
	memcpy(&other, got, 4);
	assert_int_equal(other, 7); /* the next lane's is its own */
	/* up to the last byte, and not a byte more */
	assert_null(put_bytes(&d, SOFT_PARAM, 0, 15, 1));
	assert_non_null(put_bytes(&d, SOFT_PARAM, 0, 15, 2));
	assert_non_null(put_bytes(&d, SOFT_PARAM, 0, 17, 0));
	assert_null(put_bytes(&d, SOFT_PARAM, 0, 16, 0));
	assert_non_null(put_bytes(&d, SOFT_SHARED, 0, 1 << 20, 1));
	assert_non_null(put_bytes(&d, SOFT_SHARED, 0, UINT64_MAX, 4));
	assert_non_null(put_bytes(&d, SOFT_LOCAL, 0, 1 << 20, 4));
	run_to(&d, 0);
	assert_int_equal(d.out[OUT_WORDS * 5 + 3], 0x54535251);
	assert_int_equal(d.out[OUT_WORDS * 4 + 3], 4);
	assert_int_equal(d.out[OUT_WORDS * 6 + 4], 0x54535251);
	assert_int_equal(d.out[OUT_WORDS * 5 + 4], 5);
	assert_int_equal(d.out[OUT_WORDS * 6 + 5], 0x54535251); /* a parameter is all threads' */
	assert_int_equal(d.out[OUT_WORDS * 49 + 5], 0x54535251);
	assert_int_equal(d.params.n, 11);		     /* the session's copy was changed */
	assert_non_null(put_bytes(&d, SOFT_PARAM, 0, 8, 4)); /* it has ended */
	assert_non_null(put_value(&d, "%r1", 0, 0, 1, 4));
	done(&d);
}

/* An address of memory may be one of its own space, or a generic one of that space. */
static void test_generic(void **state)
{
	struct demo d = {0};

	setup(&d);
	run_to(&d, STOP_LINE);
	for (unsigned space = SOFT_SHARED; space <= SOFT_PARAM; space++) {
		uint8_t own[8];

		ask_memory(&d, space, 6, 4, 8);
		memcpy(own, got, 8);
		ask_memory(&d, space, 6, soft_windows[space] + 4, 8);
		assert_memory_equal(own, got, 8);
		for (unsigned other = SOFT_SHARED; other <= SOFT_PARAM; other++) {
			struct soft_ask q = {.what = SOFT_ASK_MEMORY,
				.space = space,
				.lane = 7,
				.addr = soft_windows[other] + 4,
				.size = 4};

			ngot = 0;
			assert_true(!micro_ask(d.s, &q, add, NULL) == (other == space));
		}
	}
	done(&d);
}

/* The instruction's text, without what surrounds it, whatever its line ends with. */
static void test_texts(void **state)
{
	static const char *const ends[] = {
		"\n", " \n", "\t\n", "\r\n", " \t\r\n", "\t \n", "\r\t\n"};

	for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
		struct ptx_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
		struct soft_stop stop;
		struct soft_session *s;
		struct ptx_module *m;
		char text[512];

		snprintf(text, sizeof(text),
			PTX_HEAD
			".visible .entry k() { .reg .b32 %%r<3>;%s \t mov.u32\t%%r1, 7;%s  ret; }\n",
			ends[k], ends[k]);
		m = load(text);
		l.fn = ptx_kernel_by_name(m, "k");
		assert_null(micro_start(&l, text, strlen(text), NULL, 0, &s, &stop));
		assert_string_equal(stop.text, "mov.u32 %r1, 7;");
		micro_end(s);
		ptx_free(m);
	}
}

/* What is no change of a lane that is there. */
static void test_refused(void **state)
{
	const uint32_t block[3] = {0}, late[3] = {40, 0, 0};
	struct soft_put p = {.space = SOFT_SPACES, .lane = 1, .size = 4, .text = "%r1"}, q;
	struct demo d = {0};
	uint64_t first;

	setup(&d);
	run_to(&d, STOP_LINE);
	assert_null(micro_put(d.s, &p));
	q = p;
	q.size = SOFT_PUT_BYTES;
	assert_null(micro_put(d.s, &q));
	q.size = SOFT_PUT_BYTES + 1;
	assert_non_null(micro_put(d.s, &q));
	q = p;
	q.lane = 31;
	assert_null(micro_put(d.s, &q));
	q.lane = 32;
	assert_non_null(micro_put(d.s, &q));
	q = p;
	memset(q.text, 'x', sizeof(q.text));
	assert_non_null(micro_put(d.s, &q));
	assert_non_null(put_value(&d, "%q1", 0, 0, 1, 8)); /* 128 bits */
	assert_non_null(put_value(&d, "%nothing", 0, 0, 1, 8));
	assert_non_null(put_bytes(&d, SOFT_GLOBAL, 0, 0, 4));
	assert_non_null(put_bytes(&d, SOFT_SPACES + 1, 0, 0, 4));
	assert_null(micro_focus(d.s, block, late, &first, &d.stop));
	q = p;
	q.lane = 17;
	assert_null(micro_put(d.s, &q)); /* thread 49 */
	q.lane = 18;
	assert_non_null(micro_put(d.s, &q)); /* there is no thread 50 */
	done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_generic),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
