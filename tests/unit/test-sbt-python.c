/* SPDX-License-Identifier: Apache-2.0
 *
 * CPython's structures: line tables worked out by hand from CPython's Objects/locations.md, the
 * walk over frames laid out here as each version lays them out, and what must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sbt/python.h"

#define V311 0x030b07f0u
#define V312 0x030c01f0u
#define V313 0x030d00f0u

/* --- lines --- */

/* 1cccclll: code and instructions. */
#define ENTRY(code, units) (0x80 | (code) << 3 | ((units)-1))

static void test_lines(void **unused)
{
	/* def f at line 10: */
	static const uint8_t table[] = {
		ENTRY(15, 1),	     /* 0..1: none */
		ENTRY(13, 1), 0x00,  /* 2..3: no columns, +0: line 10 */
		ENTRY(10, 2), 4, 9,  /* 4..7: one line, +0: 10 */
		ENTRY(11, 8), 8, 12, /* 8..23: one line, +1: 11 */
		ENTRY(3, 1), 0x45,   /* 24..25: short: 11 */
		ENTRY(12, 1), 0, 3,  /* 26..27: one line, +2: 13 */
		ENTRY(14, 3), 0x06, 0x02, 0x05,
		0x09,		    /* 28..33: long, +3 (6 is +3): 16; end +2, columns */
		ENTRY(13, 1), 0x05, /* 34..35: no columns, -2 (5 is -2): 14 */
		ENTRY(14, 1), 0x50, 0x03, 0x00, 0x01,
		0x01,		   /* 36..37: long, 0x50 has bit 6: 16 + 3 * 64 = 208, +104: 118 */
		ENTRY(15, 1),	   /* 38..39: none again */
		ENTRY(0, 1), 0x00, /* 40..41: short: still 118 */
	};
	static const struct {
		unsigned at, line;
	} cases[] = {{0, 0}, {2, 10}, {3, 10}, {4, 10}, {7, 10}, {8, 11}, {22, 11}, {23, 11},
		{24, 11}, {26, 13}, {28, 16}, {33, 16}, {34, 14}, {36, 118}, {38, 0}, {40, 118},
		{41, 118}, {42, 0}, {100000, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (python_line(table, sizeof table, 10, cases[i].at) != cases[i].line)
			fail_msg("byte %u is on line %u, not %u", cases[i].at, cases[i].line,
				python_line(table, sizeof table, 10, cases[i].at));
}

static void test_bad_lines(void **unused)
{
	static const uint8_t no_head[] = {0x00, 0x01}, cut[] = {ENTRY(14, 8)},
			     endless[] = {
				     ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
	static const uint8_t below[] = {ENTRY(13, 1), 0x29}; /* -20 */

	assert_int_equal(python_line(NULL, 0, 10, 0), 0);
	assert_int_equal(python_line(no_head, sizeof no_head, 10, 0), 0);
	assert_int_equal(python_line(cut, sizeof cut, 10, 0), 10); /* the change is missing: none */
	assert_int_equal(python_line(endless, sizeof endless, 10, 0), 0);
	assert_int_equal(python_line(below, sizeof below, 10, 0), 0);
	assert_int_equal(python_line(below, sizeof below, 30, 0), 10);
	assert_int_equal(python_line(below, sizeof below, INT32_MAX + 20u, 0), INT32_MAX);
	assert_int_equal(python_line(below, sizeof below, INT32_MAX + 21u, 0), 0);
}

/* --- layouts --- */

/* 3.13's table of offsets, as CPython 3.13.0 has it (pycore_runtime.h, offsetof() in its headers).
 */
static void make_debug(uint64_t *word)
{
	static const uint64_t words[] = {0, V313, 0, 0, 0, 632, 0, 0, 7264, 7344, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 8, 16, 72, 152, 160, 0, 0, 88, 8, 0, 56, 72, 70, 0, 112, 120, 128,
		136, 68, 0, 0, 0, 200};

	memset(word, 0, PYTHON_DEBUG_BYTES);
	memcpy(word, words, sizeof words);
	memcpy(word, "xdebugpy", 8);
}

static void refused(uint32_t version, const uint64_t *head, const char *says)
{
	struct python_layout l;
	const char *why = "";

	if (python_layout(&l, version, head, &why))
		fail_msg("version %x is taken", version);
	if (!strstr(why, says))
		fail_msg("\"%s\" does not say \"%s\"", why, says);
}

/* CPython's own structs: Include/internal/pycore_frame.h and Include/cpython/code.h of 3.11 to
 * 3.13. */
struct frame_311 {
	void *f_func, *f_globals, *f_builtins, *f_locals, *f_code, *frame_obj, *previous,
		*prev_instr;
	int stacktop;
	bool is_entry;
	char owner;
};
struct frame_312 {
	void *f_code, *previous, *f_funcobj, *f_globals, *f_builtins, *f_locals, *frame_obj,
		*prev_instr;
	int stacktop;
	uint16_t return_offset;
	char owner;
};
struct code_311 {
	void *head[3], *co_consts, *co_names, *co_exceptiontable;
	int co_flags;
	short co_warmup, line_array_entry_size;
	int co_argcount, co_posonlyargcount, co_kwonlyargcount, co_stacksize, co_firstlineno,
		co_nlocalsplus, co_nlocals, co_nplaincellvars, co_ncellvars, co_nfreevars;
	void *co_localsplusnames, *co_localspluskinds, *co_filename, *co_name, *co_qualname,
		*co_linetable, *co_weakreflist, *co_code, *line_array;
	int firsttraceable;
	void *co_extra;
	char co_code_adaptive[1];
};
struct code_312 {
	void *head[3], *co_consts, *co_names, *co_exceptiontable;
	int co_flags, co_argcount, co_posonlyargcount, co_kwonlyargcount, co_stacksize,
		co_firstlineno, co_nlocalsplus, co_framesize, co_nlocals, co_ncellvars,
		co_nfreevars;
	uint32_t co_version;
	void *co_localsplusnames, *co_localspluskinds, *co_filename, *co_name, *co_qualname,
		*co_linetable, *co_weakreflist, *co_cached;
	uint64_t instrumentation_version;
	void *monitoring;
	int firsttraceable;
	void *co_extra;
	char co_code_adaptive[1];
};
struct code_313 {
	char up_to_co_weakreflist[152];
	void *co_executors, *co_cached;
	uintptr_t instrumentation_version;
	void *monitoring;
	int firsttraceable;
	void *co_extra;
	char co_code_adaptive[1];
};

/* Threads, as far as to native_thread_id; int fields one by one. */
struct thread_311 {
	void *prev, *next, *interp;
	int initialized, is_static, recursion_remaining, recursion_limit, recursion_headroom,
		tracing, tracing_what;
	void *cframe, *c_profilefunc, *c_tracefunc, *c_profileobj, *c_traceobj, *curexc_type,
		*curexc_value, *curexc_traceback, *exc_info, *dict;
	int gilstate_counter;
	void *async_exc;
	unsigned long thread_id, native_thread_id;
};
struct thread_312 {
	void *prev, *next, *interp;
	unsigned status;
	int py_recursion_remaining, py_recursion_limit, c_recursion_remaining, recursion_headroom,
		tracing, what_event;
	void *cframe, *c_profilefunc, *c_tracefunc, *c_profileobj, *c_traceobj, *current_exception,
		*exc_info, *dict;
	int gilstate_counter;
	void *async_exc;
	unsigned long thread_id, native_thread_id;
};
/* _PyRuntimeState up to its interpreters, and an interpreter up to its threads. */
struct runtime_312 {
	int initialized, preinitializing, preinitialized, core_initialized, all_initialized;
	uintptr_t finalizing;
	void *interpreters_mutex, *interpreters_head;
};
struct interp_311 {
	void *next;
	uint64_t next_unique_id;
	void *threads_head;
};
struct interp_312 {
	void *next;
	int64_t id, id_refcount;
	int requires_idref;
	void *id_mutex;
	int initialized, finalizing;
	uint64_t monitoring_version, last_restart_version, next_unique_id;
	void *threads_head;
};
/* The table of offsets at the head of 3.13's _PyRuntime, _Py_DebugOffsets, up to threads. */
struct debug_313 {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins,
			ceval_gil, gil_runtime_state, gil_enabled, gil_locked, gil_holder;
	} interp;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id;
	} thread;
};

#define THREAD_IS(l, type)                                                                         \
	do {                                                                                       \
		assert_int_equal((l).thread.next, offsetof(struct type, next));                    \
		assert_int_equal((l).thread.interp, offsetof(struct type, interp));                \
		assert_int_equal((l).thread.cframe, offsetof(struct type, cframe));                \
		assert_int_equal((l).thread.thread_id, offsetof(struct type, thread_id));          \
		assert_int_equal((l).thread.native_id, offsetof(struct type, native_thread_id));   \
	} while (0)
#define INTERP_IS(l, type)                                                                         \
	do {                                                                                       \
		assert_int_equal(                                                                  \
			(l).interp.head, offsetof(struct runtime_312, interpreters_head));         \
		assert_int_equal((l).interp.next, offsetof(struct type, next));                    \
		assert_int_equal((l).interp.threads, offsetof(struct type, threads_head));         \
	} while (0)
#define CODE_IS(l, type)                                                                           \
	do {                                                                                       \
		assert_int_equal((l).code.first_line, offsetof(struct type, co_firstlineno));      \
		assert_int_equal((l).code.filename, offsetof(struct type, co_filename));           \
		assert_int_equal((l).code.name, offsetof(struct type, co_name));                   \
		assert_int_equal((l).code.qualname, offsetof(struct type, co_qualname));           \
		assert_int_equal((l).code.lines, offsetof(struct type, co_linetable));             \
	} while (0)
#define END_IS(l, type)                                                                            \
	do {                                                                                       \
		assert_int_equal((l).code.traceable, offsetof(struct type, firsttraceable));       \
		assert_int_equal((l).code.bytes, offsetof(struct type, co_code_adaptive));         \
	} while (0)

static void test_offsets_are_those_of_cpython(void **unused)
{
	uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0};
	struct python_layout l;
	const char *why;

	(void)unused;
	assert_true(python_layout(&l, V311, head, &why));
	assert_int_equal(l.frame.code, offsetof(struct frame_311, f_code));
	assert_int_equal(l.frame.previous, offsetof(struct frame_311, previous));
	assert_int_equal(l.frame.instr, offsetof(struct frame_311, prev_instr));
	assert_int_equal(l.frame.entry, offsetof(struct frame_311, is_entry));
	assert_int_equal(l.frame.owner, offsetof(struct frame_311, owner));
	CODE_IS(l, code_311);
	END_IS(l, code_311);
	for (unsigned i = 0; i < 2; i++) {
		make_debug(head);
		assert_true(python_layout(&l, i ? V313 : V312, head, &why));
		assert_int_equal(l.frame.code, offsetof(struct frame_312, f_code));
		assert_int_equal(l.frame.previous, offsetof(struct frame_312, previous));
		assert_int_equal(l.frame.instr, offsetof(struct frame_312, prev_instr));
		assert_int_equal(l.frame.owner, offsetof(struct frame_312, owner));
		assert_int_equal(l.code.version, offsetof(struct code_312, co_version));
		CODE_IS(l, code_312);
		if (i)
			END_IS(l, code_313);
		else
			END_IS(l, code_312);
	}
}

static void test_threads_are_those_of_cpython(void **unused)
{
	uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0};
	struct python_layout l;
	const char *why;
	/* Offsets that no version has: what 3.13 says about itself is what counts. */
	static const struct {
		size_t word, member;
	} rows[] = {
#define ROW(member, in) {offsetof(struct debug_313, member) / 8, offsetof(struct python_layout, in)}
		ROW(runtime.interpreters_head, interp.head),
		ROW(interp.next, interp.next),
		ROW(interp.threads_head, interp.threads),
		ROW(thread.next, thread.next),
		ROW(thread.interp, thread.interp),
		ROW(thread.current_frame, thread.frame),
		ROW(thread.thread_id, thread.thread_id),
		ROW(thread.native_thread_id, thread.native_id),
#undef ROW
	};

	assert_true(python_layout(&l, V311, head, &why));
	THREAD_IS(l, thread_311);
	INTERP_IS(l, interp_311);
	assert_true(python_layout(&l, V312, head, &why));
	THREAD_IS(l, thread_312);
	INTERP_IS(l, interp_312);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint16_t is;

		make_debug(head);
		head[rows[i].word] = 8 * (500 + i);
		assert_true(python_layout(&l, V313, head, &why));
		memcpy(&is, (const char *)&l + rows[i].member, sizeof is);
		assert_int_equal(is, 8 * (500 + i));
	}
}

static void test_layouts(void **unused)
{
	uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0};
	struct python_layout l;
	const char *why;

	assert_true(python_layout(&l, V311, head, &why));
	assert_int_equal(l.frame.entry, 68);
	assert_true(python_layout(&l, 0x030b00f0, head, &why));
	assert_true(python_layout(&l, V312, head, &why));
	assert_int_equal(l.thread.frame, 0);
	refused(0x030a00f0, head, "not one of 3.11, 3.12 and 3.13");
	refused(0x030e00f0, head, "not one of");
	refused(0x020b00f0, head, "not one of");
	refused(V313, head, "table of offsets");
	make_debug(head);
	assert_true(python_layout(&l, V313, head, &why));
	assert_int_equal(l.interp.threads, 7344);
	head[9] = 7360; /* private to the interpreter: what it says holds */
	assert_true(python_layout(&l, V313, head, &why));
	assert_int_equal(l.interp.threads, 7360);
	head[9] = 7361;
	refused(V313, head, "differently");
	head[9] = 1 << 20;
	refused(V313, head, "differently");
	make_debug(head);
	head[31] = 48;
	refused(V313, head, "differently");
	make_debug(head);
	head[2] = 1;
	refused(V313, head, "without the global interpreter lock");
}

/* --- the walk --- */

/* Memory at a made-up address; what lies outside cannot be read. */
#define BASE 0x10000u
static uint8_t memory[0x4000];
static const uint64_t code_type = BASE + 0x3f00;

static bool read_memory(void *arg, uint64_t address, void *to, size_t n)
{
	(void)arg;
	if (address < BASE || address - BASE > sizeof memory ||
		n > sizeof memory - (address - BASE))
		return false;
	memcpy(to, memory + (address - BASE), n);
	return true;
}

static void put(uint64_t address, uint64_t v, size_t n)
{
	memcpy(memory + (address - BASE), &v, n);
}

static uint64_t put_code(const struct python_layout *l, unsigned i, unsigned traceable)
{
	const uint64_t code = BASE + 0x2000 + i * 0x200;

	put(code + PYTHON_TYPE, code_type, 8);
	put(code + l->code.traceable, traceable, 4);
	return code;
}

static uint64_t put_frame(const struct python_layout *l, unsigned i, uint64_t previous,
	uint64_t code, int64_t at, unsigned owner, bool entry)
{
	const uint64_t f = BASE + 0x1000 + i * 0x80;

	put(f + l->frame.previous, previous, 8);
	put(f + l->frame.code, code, 8);
	put(f + l->frame.instr, code + l->code.bytes + (uint64_t)at, 8);
	put(f + l->frame.owner, owner, 1);
	if (l->frame.entry)
		put(f + l->frame.entry, entry, 1);
	return f;
}

static void begin(
	struct python_walk *w, const struct python_layout *l, uint64_t frame, uint64_t cframe)
{
	const uint64_t thread = BASE + 0x100;

	if (l->thread.frame) {
		put(thread + l->thread.frame, frame, 8);
	} else {
		put(thread + l->thread.cframe, cframe, 8);
		put(cframe + l->cframe.frame, frame, 8);
	}
	assert_true(python_begin(w, l, code_type, thread, read_memory, NULL));
}

static void expect(struct python_walk *w, uint64_t code, uint64_t at, uint64_t anchor)
{
	struct python_frame f;

	assert_true(python_next(w, &f, read_memory, NULL));
	assert_int_equal(f.code, code);
	assert_int_equal(f.at, at);
	assert_int_equal(f.anchor, anchor);
}

static void expect_end(struct python_walk *w, bool bad)
{
	struct python_frame f;

	assert_false(python_next(w, &f, read_memory, NULL));
	assert_int_equal(w->bad, bad);
}

/* 3.11: is_entry ends a group, whose anchor is the _PyCFrame. */
static void test_walk_311(void **unused)
{
	const uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0}, c1 = BASE + 0x300, c2 = BASE + 0x340,
						 root = BASE + 0x380;
	struct python_layout l;
	struct python_walk w;
	const char *why;

	memset(memory, 0, sizeof memory);
	assert_true(python_layout(&l, V311, head, &why));
	const uint64_t a = put_code(&l, 0, 1), b = put_code(&l, 1, 4), c = put_code(&l, 2, 1);
	const uint64_t outer = put_frame(&l, 3, 0, c, 20, 0, true);
	const uint64_t fresh = put_frame(
		&l, 2, outer, b, -2, 0, true); /* has not begun: only its group's end counts */
	const uint64_t caller = put_frame(&l, 1, fresh, a, 2, 0, false);
	const uint64_t inner = put_frame(
		&l, 0, caller, b, 6, 1, false); /* a generator, before the first traceable one */
	put(c1 + l.cframe.previous, c2, 8);
	put(c2 + l.cframe.previous, root, 8);
	begin(&w, &l, inner, c1);
	expect(&w, b, 6, 0);
	expect(&w, a, 2, 0);
	expect(&w, 0, 0, c1);
	expect(&w, c, 20, c2);
	expect_end(&w, false);
}

/* 3.12 and 3.13: an entry frame on the C stack ends a group, and is its anchor. */
static void walk_with_entries(uint32_t version, const uint64_t *head)
{
	struct python_layout l;
	struct python_walk w;
	const char *why;

	memset(memory, 0, sizeof memory);
	assert_true(python_layout(&l, version, head, &why));
	const uint64_t a = put_code(&l, 0, 2), b = put_code(&l, 1, 1);
	const uint64_t e2 = put_frame(&l, 4, 0, 0, 0, 3, false);
	const uint64_t outer = put_frame(&l, 3, e2, b, 8, 0, false);
	const uint64_t e1 = put_frame(
		&l, 2, outer, 0, 0, 3, false); /* its code is None in 3.13: not looked at */
	const uint64_t shim = put_frame(&l, 1, e1, a, 2, 0,
		false); /* before the first traceable instruction: the interpreter's own */
	const uint64_t inner = put_frame(&l, 0, shim, a, 4, 0, false);
	begin(&w, &l, inner, BASE + 0x300);
	expect(&w, a, 4, 0);
	expect(&w, 0, 0, 0);
	expect(&w, 0, 0, e1);
	expect(&w, b, 8, 0);
	expect(&w, 0, 0, e2);
	expect_end(&w, false);
	put(inner + l.frame.previous, inner, 8); /* a ring */
	begin(&w, &l, inner, BASE + 0x300);
	for (unsigned i = 0; i < PYTHON_STEPS_MAX; i++)
		expect(&w, a, 4, 0);
	expect_end(&w, true);
	put(inner + l.frame.previous, inner + 4, 8); /* not aligned */
	begin(&w, &l, inner, BASE + 0x300);
	expect(&w, a, 4, 0);
	expect_end(&w, true);
	put(inner + l.frame.previous, BASE + 0x3ff8, 8); /* half of it cannot be read */
	begin(&w, &l, inner, BASE + 0x300);
	expect(&w, a, 4, 0);
	expect_end(&w, true);
	put(a + PYTHON_TYPE, code_type + 8, 8); /* no code object */
	begin(&w, &l, inner, BASE + 0x300);
	expect_end(&w, true);
	begin(&w, &l, 0, BASE + 0x300);
	expect_end(&w, false);
}

static void test_walk_312(void **unused)
{
	const uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0};

	walk_with_entries(V312, head);
}

static void test_walk_313(void **unused)
{
	uint64_t head[PYTHON_DEBUG_BYTES / 8];

	make_debug(head);
	walk_with_entries(V313, head);
}

/* --- strings --- */

static void put_string(
	const struct python_layout *l, unsigned kind, bool ascii, const void *chars, unsigned n)
{
	const uint64_t s = BASE + 0x400;

	memset(memory, 0, sizeof memory);
	put(s + PYTHON_SIZE, n, 8);
	put(s + PYTHON_TEXT_STATE, kind << 2 | 1u << 5 | (unsigned)ascii << 6, 4);
	memcpy(memory + (s - BASE) + (ascii ? l->ascii_data : l->compact_data), chars, n * kind);
}

static void test_strings(void **unused)
{
	static const uint16_t two[] = {'g', 0xf6, 0x20ac, 0xd800},
			      near[] = {0xd7ff, 0xd800, 0xdfff,
				      0xe000}; /* lone surrogates and what is beside them */
	static const uint32_t four[] = {0x1f600, 'x', 0x110000};
	const uint64_t head[PYTHON_DEBUG_BYTES / 8] = {0}, s = BASE + 0x400;
	struct python_layout l;
	const char *why;
	char text[32];

	for (unsigned v = 0; v < 2; v++) {
		assert_true(python_layout(&l, v ? V312 : V311, head, &why));
		put_string(&l, 1, true, "forward", 7);
		assert_int_equal(python_text(&l, s, text, sizeof text, read_memory, NULL), 7);
		assert_string_equal(text, "forward");
		assert_int_equal(python_text(&l, s, text, 5, read_memory, NULL), 4);
		assert_string_equal(text, "forw");
		put_string(&l, 1, false,
			"gr\xf6\xdf"
			"e",
			5);
		assert_int_equal(python_text(&l, s, text, sizeof text, read_memory, NULL), 7);
		assert_string_equal(text, "größe");
		assert_int_equal(
			python_text(&l, s, text, 4, read_memory, NULL), 2); /* no half characters */
		put_string(&l, 2, false, two, 4);
		(void)python_text(&l, s, text, sizeof text, read_memory, NULL);
		assert_string_equal(text, "gö€\xef\xbf\xbd");
		put_string(&l, 2, false, near, 4);
		(void)python_text(&l, s, text, sizeof text, read_memory, NULL);
		assert_string_equal(text, "\xed\x9f\xbf\xef\xbf\xbd\xef\xbf\xbd\xee\x80\x80");
		put_string(&l, 4, false, four, 3);
		(void)python_text(&l, s, text, sizeof text, read_memory, NULL);
		assert_string_equal(text, "\xf0\x9f\x98\x80x\xef\xbf\xbd");
	}
	put(s + PYTHON_SIZE, UINT64_MAX, 8);
	assert_int_equal(python_text(&l, s, text, sizeof text, read_memory, NULL), 0);
	assert_int_equal(python_text(&l, s + 1, text, sizeof text, read_memory, NULL), 0);
	assert_int_equal(python_text(&l, 8, text, sizeof text, read_memory, NULL), 0);
}

static void test_bytes(void **unused)
{
	const uint64_t b = BASE + 0x400;
	uint64_t at = 0, n = 0;

	(void)unused;
	memset(memory, 0, sizeof memory);
	put(b + PYTHON_SIZE, 24, 8);
	assert_true(python_bytes(b, &at, &n, read_memory, NULL));
	assert_int_equal(at, b + PYTHON_BYTES_DATA);
	assert_int_equal(n, 24);
	put(b + PYTHON_SIZE, 1u << 28, 8);
	assert_true(python_bytes(b, &at, &n, read_memory, NULL));
	put(b + PYTHON_SIZE, (1u << 28) + 1, 8);
	assert_false(python_bytes(b, &at, &n, read_memory, NULL));
	assert_false(python_bytes(b + 4, &at, &n, read_memory, NULL));
	assert_false(python_bytes(8, &at, &n, read_memory, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_threads_are_those_of_cpython),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_offsets_are_those_of_cpython),
		cmocka_unit_test(test_walk_311),
		cmocka_unit_test(test_walk_312),
		cmocka_unit_test(test_walk_313),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
