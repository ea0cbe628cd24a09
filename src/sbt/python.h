/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the call stack of a Python thread: the layouts of CPython's structures for the versions
 * that tsdb knows, and the walk over frames. Used by the agent, which reads its own process, and by
 * tsdb, which reads the memory of a stopped one. It neither calls nor locks anything of Python's.
 *
 * One call of the interpreter's loop (_PyEval_EvalFrameDefault) runs a group of frames: a Python
 * function that calls another one does not call the loop again. Each group has an anchor, the
 * address of a local variable of the loop: it shows which native frame runs the group. 3.11: the
 * thread's _PyCFrame, whose outermost frame is marked is_entry. 3.12 and later: an entry frame on
 * the C stack, owner 3. Offsets: CPython 3.11.7, 3.12.1, 3.13.0, Include/internal/pycore_frame.h,
 * Include/cpython/{code,pystate,unicodeobject}.h, pycore_runtime.h.
 */
#ifndef SBT_PYTHON_H
#define SBT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct python_layout {
	uint16_t version; /* major << 8 | minor */
	struct {
		uint16_t code, previous, instr, owner, entry; /* entry: 0 when there is none */
	} frame;
	struct {
		uint16_t cframe, frame; /* frame: 0 when it is reached through cframe */
		uint16_t next, interp, thread_id, native_id;
	} thread;
	struct {
		uint16_t frame, previous;
	} cframe;
	struct {
		uint16_t first_line, filename, name, qualname, lines, bytes, traceable,
			version; /* version: 0 when there is none */
	} code;
	uint16_t ascii_data, compact_data; /* sizes of the heads of strings */
	struct {
		uint16_t head, next, threads; /* interpreters: the first (in _PyRuntime), the next,
						 its threads */
	} interp;
};

/* The same in every version here. */
enum {
	PYTHON_TYPE = 8,
	PYTHON_SIZE = 16,      /* of every object; of those with a length */
	PYTHON_TEXT_HASH = 24, /* of an interned str: computed */
	PYTHON_TEXT_STATE = 32,
	PYTHON_BYTES_DATA = 32,
	PYTHON_CFRAME_OWNED = 3,
	PYTHON_GENERATOR = 1, /* enum _frameowner */
	PYTHON_UNIT = 2,      /* bytes of an instruction */
};

/*
 * The layout of a version. head: the first PYTHON_DEBUG_BYTES of _PyRuntime. From 3.13 on it begins
 * with a table of offsets: those of interpreters and threads are taken from there, the others must
 * agree. False, with a reason in *why ("its ..."), when the version is not known or its table
 * disagrees.
 */
#define PYTHON_DEBUG_BYTES 512
bool python_layout(struct python_layout *ret, uint32_t version, const void *head, const char **why);

/* --- the walk --- */

#define PYTHON_STEPS_MAX 8192u

/* Reads n bytes at address; false: cannot. */
typedef bool python_read(void *arg, uint64_t address, void *to, size_t n);

struct python_walk {
	const struct python_layout *l;
	uint64_t code_type; /* address of PyCode_Type */
	uint64_t frame, cframe;
	unsigned steps;
	bool bad; /* ended at something that is no frame */
};

struct python_frame {
	uint64_t code;	 /* 0: no function, only the end of a group */
	uint64_t at;	 /* the instruction's offset from the code's first, bytes */
	uint64_t anchor; /* not 0: the group's outermost frame; an address in the native frame that
			    runs it */
};

static inline bool python_plausible(uint64_t p)
{
	return !(p & 7) && p >= 4096 && p < 1ull << 47;
}

/* The walk over the frames of a thread state. */
static inline __attribute__((always_inline)) bool python_begin(struct python_walk *w,
	const struct python_layout *l, uint64_t code_type, uint64_t thread, python_read *read,
	void *arg)
{
	*w = (struct python_walk){.l = l, .code_type = code_type};
	if (l->thread.frame)
		return read(arg, thread + l->thread.frame, &w->frame, 8);
	return read(arg, thread + l->thread.cframe, &w->cframe, 8) && python_plausible(w->cframe) &&
	       read(arg, w->cframe + l->cframe.frame, &w->frame, 8);
}

/* Frames that have not yet begun, and those of the interpreter's own making, are not shown
 * (_PyFrame_IsIncomplete). */
static inline __attribute__((always_inline)) bool python_take(struct python_walk *w, uint64_t code,
	uint64_t instr, uint8_t owner, struct python_frame *ret, python_read *read, void *arg)
{
	uint64_t type;
	int32_t traceable;
	const struct python_layout *l = w->l;

	if (!python_plausible(code) || !read(arg, code + PYTHON_TYPE, &type, 8) ||
		type != w->code_type || !read(arg, code + l->code.traceable, &traceable, 4)) {
		w->bad = true;
		return false;
	}
	const int64_t at = (int64_t)(instr - (code + l->code.bytes));
	if (at > INT32_MAX || at < -PYTHON_UNIT) {
		w->bad = true;
		return false;
	}
	if (at >= 0 && (owner == PYTHON_GENERATOR || at >= (int64_t)traceable * PYTHON_UNIT)) {
		ret->code = code;
		ret->at = (uint64_t)at;
	}
	return true;
}

/* The next frame, innermost first. False at the end, or when what is there is no frame (w->bad). */
static inline __attribute__((always_inline)) bool python_next(
	struct python_walk *w, struct python_frame *ret, python_read *read, void *arg)
{
	const struct python_layout *l = w->l;
	const uint64_t f = w->frame;
	uint64_t code, instr;
	uint8_t owner, entry = 0;

	*ret = (struct python_frame){0};
	if (!f)
		return false;
	if (!python_plausible(f) || ++w->steps > PYTHON_STEPS_MAX ||
		!read(arg, f + l->frame.previous, &w->frame, 8) ||
		!read(arg, f + l->frame.code, &code, 8) ||
		!read(arg, f + l->frame.instr, &instr, 8) ||
		!read(arg, f + l->frame.owner, &owner, 1) ||
		(l->frame.entry && !read(arg, f + l->frame.entry, &entry, 1))) {
		w->bad = true;
		return false;
	}
	if (owner == PYTHON_CFRAME_OWNED) {
		ret->anchor = f;
		return true;
	}
	if (entry) {
		ret->anchor = w->cframe;
		if (!python_plausible(w->cframe) ||
			!read(arg, w->cframe + l->cframe.previous, &w->cframe, 8))
			w->frame = 0;
	}
	return python_take(w, code, instr, owner, ret, read, arg);
}

/* --- strings --- */

/* The str object's text as UTF-8, at most max - 1 bytes and a NUL; returns the length, 0 when it is
 * none or cannot be read. */
size_t python_text(const struct python_layout *l, uint64_t object, char *to, size_t max,
	python_read *read, void *arg);
/* Where a bytes object's contents lie and how many there are. False: cannot be read. */
bool python_bytes(
	uint64_t object, uint64_t *ret_address, uint64_t *ret_n, python_read *read, void *arg);

/* --- lines (python-lines.c) --- */

/* The line of the instruction at byte offset at: table is co_linetable (PEP 626; CPython,
 * Objects/locations.md). 0: it has none, or the table, which may be anything, does not say. */
unsigned python_line(const void *table, size_t n, unsigned first_line, uint64_t at);

#endif
