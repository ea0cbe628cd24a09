/* SPDX-License-Identifier: Apache-2.0
 *
 * Python frames in the agent, with an interpreter of our own: this program exports the symbols by
 * which the agent finds one, and lays out frames as CPython 3.12 does. Its loop is run(), which
 * keeps the entry frame on its C stack.
 */
#include "capture-fake.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "capture/stacks/python-stack.h"

#define EXPORT __attribute__((visibility("default")))
/* Functions lie a page apart, so that addresses tell them. */
#if defined(__clang__)
#define AS_WRITTEN __attribute__((noinline, optnone, aligned(4096)))
#else
#define AS_WRITTEN __attribute__((noinline, aligned(4096)))
#endif

/* --- the interpreter --- */

struct text {
	uint64_t refs;
	const void *type;
	uint64_t length;
	int64_t hash;
	uint32_t state, pad; /* compact, ASCII */
	char chars[24];
};
struct bytes {
	uint64_t refs;
	const void *type;
	uint64_t size;
	int64_t hash;
	uint8_t data[16];
};
/* Offsets of 3.12: src/sbt/format/python.c. */
struct code {
	uint64_t refs;
	const void *type;
	uint8_t a[68 - 16];
	uint32_t first_line; /* 68 */
	uint8_t b[92 - 72];
	uint32_t version; /* 92 */
	uint8_t c[112 - 96];
	struct text *filename, *name, *qualname; /* 112 */
	struct bytes *lines;			 /* 136 */
	uint8_t d[176 - 144];
	uint32_t traceable; /* 176 */
	uint8_t e[192 - 180];
	uint16_t units[16]; /* 192 */
};
struct frame {
	const void *code;
	struct frame *previous;
	uint8_t a[56 - 16];
	const void *instr; /* 56 */
	uint8_t b[70 - 64];
	uint8_t owner; /* 70 */
	uint8_t c[9];
};
struct cframe {
	struct frame *current;
	struct cframe *previous;
};
struct thread_state {
	uint8_t a[56];
	struct cframe *cframe; /* 56 */
	uint8_t b[136 - 64];
	uint64_t thread_id; /* 136 */
	uint8_t c[64];
};
_Static_assert(offsetof(struct code, lines) == 136 && offsetof(struct code, traceable) == 176 &&
		       offsetof(struct code, units) == 192,
	"layout");
_Static_assert(
	offsetof(struct frame, instr) == 56 && offsetof(struct frame, owner) == 70, "layout");
_Static_assert(
	offsetof(struct thread_state, thread_id) == 136 && offsetof(struct text, chars) == 40,
	"layout");

EXPORT extern uint64_t _PyRuntime[128], PyCode_Type[64];
EXPORT extern const unsigned long Py_Version;
uint64_t _PyRuntime[128], PyCode_Type[64];
const unsigned long Py_Version = 0x030c01f0;
static struct thread_state state;
static bool no_state;
static struct cframe root, *current = &root;

EXPORT void *PyGILState_GetThisThreadState(void);
void *PyGILState_GetThisThreadState(void)
{
	return no_state ? NULL : &state;
}

EXPORT void *_PyThreadState_UncheckedGet(void);
void *_PyThreadState_UncheckedGet(void)
{
	return NULL; /* the lock is not held */
}

EXPORT const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
	return "3.12.1 (not really)";
}

static struct text text(const char *s)
{
	struct text t = {.length = strlen(s), .hash = s[0], .state = 1u << 2 | 1u << 5 | 1u << 6};
	memcpy(t.chars, s, strlen(s));
	return t;
}

/* On line first + 1 from instruction 1 on. */
static struct bytes lines = {.size = 5, .data = {0x80 | 13 << 3, 0, 0x80 | 11 << 3 | 7, 0, 1}};
static struct text file, f_name, g_name, h_name;
static struct code f, g;

static struct code make_code(struct text *name, unsigned first_line, unsigned version)
{
	return (struct code){.type = PyCode_Type,
		.first_line = first_line,
		.version = version,
		.filename = &file,
		.name = name,
		.qualname = name,
		.lines = &lines,
		.traceable = 1};
}

static void launch(void)
{
	uint64_t a = 1, c = 3;
	uint32_t b = 2;
	FAKE(cuLaunchKernel, FAKE_FUNC, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&a, &b, &c}, NULL);
}

/* The interpreter's loop: runs code up to instruction unit, which calls then(). */
static AS_WRITTEN void run(struct code *code, unsigned unit, void (*then)(void))
{
	struct cframe c = {.previous = current};
	struct frame entry = {.previous = current->current, .owner = 3};
	struct frame frame = {.code = code, .previous = &entry, .instr = &code->units[unit]};
	c.current = &frame;
	state.cframe = current = &c;
	then();
	state.cframe = current = c.previous;
	__asm__ volatile("" ::: "memory");
}

static unsigned g_unit = 2;

/* A C function that f calls, which calls g. */
static AS_WRITTEN void between(void)
{
	run(&g, g_unit, launch);
	__asm__ volatile("");
}

static AS_WRITTEN void f_then_g(void)
{
	run(&f, 1, between);
	__asm__ volatile("");
}

/* --- the tests --- */

static struct tsdb_control *control;

static int start(void **unused)
{
	control = fake_start();
	control->stacks = 1;
	return 0;
}

static int reset(void **unused)
{
	file = text("/app.py");
	f_name = text("f");
	g_name = text("Net.g");
	h_name = text("later");
	f = make_code(&f_name, 10, 1);
	g = make_code(&g_name, 20, 2);
	state.cframe = current = &root;
	state.thread_id = (uint64_t)pthread_self();
	g_unit = 2;
	no_state = false;
	fake_skip();
	return 0;
}

/* What a launch sent. */
struct sent {
	uint32_t id, n, stacks, codes;
	uint64_t pcs[TSDB_STACK_MAX];
	struct {
		uint32_t number;
		char name[16];
	} code[8];
};

static struct sent sent(void)
{
	static struct sent s;
	struct fake_record r;
	memset(&s, 0, sizeof(s));
	while (fake_next(0, &r)) {
		if (r.type == TSDB_MSG_STACK) {
			const struct tsdb_msg_stack *m = (const void *)r.head;
			s.stacks++;
			s.n = m->n;
			memcpy(s.pcs, m->pcs, m->n * 8);
		} else if (r.type == TSDB_MSG_PYTHON) {
			const struct tsdb_msg_python *m = (const void *)r.head;
			s.code[s.codes].number = m->number;
			memcpy(s.code[s.codes++].name, m->bytes + m->file, m->name);
			assert_memory_equal(m->bytes, "/app.py", m->file);
			assert_int_equal(m->lines, lines.size);
		} else if (r.type == SBT_LAUNCH) {
			s.id = r.cmd.stack;
			return s;
		}
	}
	fail();
	return s;
}

static struct sent launched(void)
{
	f_then_g();
	return sent();
}

static bool lies_in(uint64_t pc, const void *function)
{
	return pc > (uint64_t)(uintptr_t)function && pc < (uint64_t)(uintptr_t)function + 4096;
}

static unsigned find(const struct sent *s, unsigned from, const void *function)
{
	while (from < s->n &&
		(s->pcs[from] & TSDB_PC_PYTHON_BIT || !lies_in(s->pcs[from], function)))
		from++;
	assert_true(from < s->n);
	return from;
}

static void frames_stand_where_they_run(void **unused)
{
	const struct sent s = launched();
	assert_int_equal(atomic_load(&control->python), TSDB_PYTHON_READ);
	assert_int_equal(control->python_version, 0x030c01f0);
	assert_int_equal(s.codes, 2);
	assert_string_equal(s.code[0].name, "Net.g");
	assert_string_equal(s.code[1].name, "f");
	/* launch, g in run, between, f in run, f_then_g */
	const unsigned inner = find(&s, 0, run), middle = find(&s, 0, between),
		       outer = find(&s, middle, run), last = find(&s, outer, f_then_g);
	assert_int_equal(s.pcs[inner - 1], TSDB_PC_PYTHON(s.code[0].number, 4));
	assert_true(inner < middle && middle < outer && outer < last);
	assert_int_equal(s.pcs[outer - 1], TSDB_PC_PYTHON(s.code[1].number, 2));
	unsigned tagged = 0;
	for (unsigned i = 0; i < s.n; i++)
		tagged += s.pcs[i] >> 63;
	assert_int_equal(tagged, 2);
}

static void stacks_are_told_apart(void **unused)
{
	uint32_t id[6];
	unsigned stacks[6], codes[6];
	/* one place, so that the way is the same each time: the loop is not unrolled */
	for (volatile int i = 0; i < 6; i++) {
		if (i == 2)
			g_unit = 3; /* another instruction */
		if (i == 3)
			g_unit = 2;
		if (i == 4)
			g = make_code(&h_name, 30, 3); /* other code in the same place */
		if (i == 5)
			no_state = true; /* no Python thread any more */
		const struct sent s = launched();
		id[i] = s.id;
		stacks[i] = s.stacks;
		codes[i] = s.codes;
		assert_int_not_equal(s.id, 0);
		if (i == 4)
			assert_string_equal(s.code[0].name, "later");
	}
	assert_true(stacks[0] == 1 && stacks[1] == 0 && stacks[2] == 1 && stacks[3] == 0 &&
		    stacks[4] == 1 && stacks[5] == 1);
	assert_true(codes[2] == 0 && codes[3] == 0 && codes[4] == 1 && codes[5] == 0);
	assert_true(id[0] == id[1] && id[0] == id[3] && id[2] != id[0] && id[4] != id[0] &&
		    id[4] != id[2] && id[5] != id[0]);
}

static void depth_counts_both(void **unused)
{
	control->stack_depth = 3;
	const struct sent s = launched();
	control->stack_depth = 0;
	assert_int_equal(s.n, 3);
}

static bool answers[8];

static void ask(void)
{
	answers[0] = python_answer(NULL, SBT_PY_FUNC, "g", false);
	answers[1] = python_answer(NULL, SBT_PY_FUNC, "f", false);
	answers[2] = python_answer(NULL, SBT_PY_STACK, "f", false);
	answers[3] = python_answer(NULL, SBT_PY_STACK, "N*", true);
	answers[4] = python_answer(NULL, SBT_PY_FILE, "app.py", false);
	answers[5] = python_answer(NULL, SBT_PY_LINE, "", false) == 21;
	answers[6] = python_answer(NULL, SBT_PY_STACK, "h", false);
	answers[7] = python_answer(NULL, SBT_PY_FUNC, "", false);
}

static AS_WRITTEN void ask_between(void)
{
	run(&g, 2, ask);
}

static void conditions(void **unused)
{
	run(&f, 1, ask_between);
	assert_true(answers[0] && !answers[1] && answers[2] && answers[3] && answers[4] &&
		    answers[5] && !answers[6] && !answers[7]);
	no_state = true;
	ask();
	assert_true(!answers[0] && !answers[2] && !answers[4] && !answers[5] && answers[7]);
}

/* Frames that are none: the stack ends there, and the program goes on. */
static void bad_frames(void **unused)
{
	static struct code other; /* no code object: another type */
	struct frame bad = {.code = &other, .instr = other.units};
	struct cframe c = {.current = &bad};
	state.cframe = &c;
	launch();
	assert_int_not_equal(sent().id, 0);
	c.current = (struct frame *)((char *)&bad + 4); /* not aligned */
	launch();
	assert_int_not_equal(sent().id, 0);
	bad = (struct frame){.code = &f, .instr = f.units + 1, .previous = &bad}; /* a ring */
	c.current = &bad;
	launch();
	const struct sent s = sent();
	assert_int_not_equal(s.id, 0);
	assert_true(s.n <= TSDB_STACK_MAX);
	assert_false(python_answer(NULL, SBT_PY_STACK, "h", false));
	state.cframe = current;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_stand_where_they_run, reset),
		cmocka_unit_test_setup(stacks_are_told_apart, reset),
		cmocka_unit_test_setup(depth_counts_both, reset),
		cmocka_unit_test_setup(conditions, reset),
		cmocka_unit_test_setup(bad_frames, reset),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
