/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the recorder's files: its state.
 */
#ifndef ENGINE_RECORDER_INSIDE_H
#define ENGINE_RECORDER_INSIDE_H

#include <time.h>
#include "sbt/memory.h"
#include "engine/recorder.h"
#include "gpucode/code-kind.h"

enum { RECENT_MAX = 4096, FINISHED_MAX = 65536 };

struct kept_stack {
	struct sbt_frame *frames; /* NULL: not defined, or written and not kept */
	unsigned n;
	bool written; /* into the trace that is open */
};

struct kept_code {
	uint64_t hash;
	void *bytes;
	size_t n;
	enum code_kind kind;
};

/* What lay beside a module's machine code. */
struct kept_beside {
	uint32_t module;
	unsigned arch;
	uint64_t ptx_hash;
};

struct kept_call {
	char *name;
	uint64_t n;
	bool told;
};

struct recent {
	uint8_t *bytes; /* packed, aligned to 8 */
	size_t cap, len;
};

/* A piece of memory on its way into the trace. */
struct open_piece {
	uint64_t piece, left; /* bytes to come */
	uint32_t id;	      /* the writer's */
};

/* Windows of commands that can be executed again, and their memory. */
struct recorder_memory {
	struct open_piece *open;
	unsigned nopen, open_cap;
	bool in_window, framed; /* framed: the keyframe of the window's first command is written */
	bool bare;		/* the state had no memory when the window began */
	bool lacks;		/* memory of this capture is missing */
	uint64_t sent; /* the first command of the window whose memory at its beginning the program
			  has sent in full */
	bool no_end;   /* the memory at its end is not known */
	bool ending;   /* see recorder_await_end() */
	uint64_t first, last;	    /* last: of the window that ended */
	uint64_t seen;		    /* bytes received in all */
	char *whole;		    /* path of the last capture, if all its memory is there; NULL */
	struct sbt_reader *earlier; /* that capture's trace, for the next writer; NULL */
	struct sbt_memory_figures figures; /* of the last capture */
};

struct recorder {
	char *program, *cwd;
	struct recorder_options o;
	struct state *state;
	uint64_t count, last_seq;

	enum recorder_mode mode;
	char *path;
	struct sbt_writer *w; /* NULL: not open (yet) */
	bool device_known;    /* the trace's head names the device */
	char target[64];      /* of the first device; empty: it has none */
	uint64_t from;	      /* earlier commands are not captured */
	uint64_t first, last, commands, bytes;
	/* packed commands outside the window since the last one inside: they are written if another
	 * one inside follows */
	struct buf tail;
	uint64_t flushed_ns, start_ns;

	struct kept_stack *stacks; /* by id */
	size_t nstacks;
	uint32_t *modules; /* index in the trace of each host module; UINT32_MAX: none yet */
	size_t nmodules;
	uint32_t *places; /* likewise, of each place in the program's source */
	size_t nplaces;
	struct source_names *sources; /* of the trace: recorder-sources.c; NULL: none yet */
	struct frame_set *frames;     /* of the trace: recorder-symbols.c; NULL: none yet */
	struct kept_code *code;
	size_t ncode;
	struct kept_beside *beside; /* in the order of loading */
	size_t nbeside, beside_cap;
	struct kept_call *calls;
	unsigned ncalls;
	uint32_t epoch; /* of the last command that was seen */
	bool holds;
	struct drain_item held; /* the first command of another program */
	struct recorder_memory memory;
	struct recent *recent; /* RECENT_MAX, or NULL */
	uint64_t nrecent;
	uint64_t *finished; /* FINISHED_MAX seqs, by their low bits; or NULL */
};

/* ---- recorder.c ---- */
/* Writes a waiting command if its seq is at most last; or at most known, if it describes code that
 * the capture launched. */
struct err *recorder_write_to(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c,
	uint64_t last, uint64_t known) TS_CHECK;
/* Does so with all waiting commands and empties the tail. */
struct err *recorder_write_tail(
	struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known) TS_CHECK;
struct err *recorder_write_cmd(
	struct recorder *r, struct inferior *inf, const struct sbt_cmd *c) TS_CHECK;

/* ---- recorder-file.c ---- */
/* Creates the file. c: the command that it begins with; NULL: not known. */
struct err *recorder_open(struct recorder *r, const struct sbt_cmd *c) TS_CHECK;
/* Names the device in the trace's head if the head was written before the device was known; c: as
 * above. */
struct err *recorder_device(struct recorder *r, const struct sbt_cmd *c) TS_CHECK;
/* Keeps the first device's target for the trace's head: the state has none. */
void recorder_learn_target(struct recorder *r, const struct sbt_cmd *c);
/* Writes a keyframe of the present state, unless no command has come yet. */
struct err *recorder_keyframe(struct recorder *r) TS_CHECK;
/* Ends the capture because writing failed; e says why. */
struct err *recorder_give_up(struct recorder *r, struct err *e) TS_CHECK;

/* ---- recorder-stacks.c ---- */
void recorder_keep_stack(
	struct recorder *r, uint32_t id, const struct sbt_frame *frames, unsigned n);
struct err *recorder_write_stack(struct recorder *r, struct inferior *inf, uint32_t id) TS_CHECK;
/* Notes what lies beside the module's machine code. */
void recorder_note_module(struct recorder *r, const struct sbt_cmd_module_load *m);
struct err *recorder_take_code(struct recorder *r, const struct drain_item *it) TS_CHECK;
void recorder_forget(struct recorder *r);

/* ---- recorder-symbols.c ---- */
/* The trace's module and frames, as they are written to it. */
void recorder_symbols_module(struct recorder *r, uint32_t index, const struct sbt_host_module *m);
void recorder_symbols_frame(struct recorder *r, const struct sbt_frame *f);
/* Writes what they are called, before the trace is closed. */
struct err *recorder_symbols_write(struct recorder *r) TS_CHECK;
/* For the next trace, or the end. */
void recorder_symbols_free(struct recorder *r);

/* recorder-sources.c: nothing of it does anything without the option `sources`. */
/* A frame or place is of this file, which if relative is so to folder (may be NULL). */
void recorder_sources_note(struct recorder *r, const char *file, const char *folder);
/* The same of the files that the kernels of a program are of. */
void recorder_sources_note_kernels(struct recorder *r, const char *program);
struct err *recorder_sources_write(struct recorder *r) TS_CHECK;
void recorder_sources_free(struct recorder *r);

/* ---- recorder-memory.c ---- */
struct err *recorder_take_memory(struct recorder *r, const struct drain_item *it) TS_CHECK;
struct err *recorder_take_window(struct recorder *r, const struct drain_item *it) TS_CHECK;
/* Whether the command with this seq is the first of a window, so that a keyframe goes before it.
 * Returns true once. */
bool recorder_window_begins(struct recorder *r, uint64_t seq);
/* Called when the trace is about to be closed. */
struct err *recorder_end_memory(struct recorder *r) TS_CHECK;
void recorder_memory_free(struct recorder *r);
/* Called when a capture to r->path is armed: keeps the trace before it open if its pages can still
 * be read. */
void recorder_keep_earlier(struct recorder *r);
/* Called when the trace has been opened: lets it refer to the earlier trace's pages. */
struct err *recorder_use_earlier(struct recorder *r) TS_CHECK;

#endif
