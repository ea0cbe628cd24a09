/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest stop of an engine, of its program or its replay, as a value: what texts, JSON and
 * other doors are printed from. It stays what it was when the program goes on, until the next stop.
 */
#ifndef ENGINE_LAST_STOP_H
#define ENGINE_LAST_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/stop-reason.h"

struct engine;
struct live_stop;
struct replay_stop;
struct soft_stop;
struct watch_touch;

enum { STOP_BREAKPOINTS = 9, STOP_BYTES = 32, STOP_WORD = 8, STOP_TEXT = 256 };

/* What a watchpoint saw. */
struct stop_watch {
	/* The bytes that are touched; or from the first to the last that changed, rounded outwards
	 * to STOP_WORD within those that are watched. */
	uint64_t addr, size;
	const char *space; /* "global", "shared" */
	uint64_t by;	   /* the command; 0: not known */
	bool changed, reads, writes;
	bool sure; /* false: the command may touch them */
	/* With `changed`: the bytes from addr on, nbytes of them (the first STOP_BYTES at most); 0:
	 * not read. */
	uint64_t nbytes;
	uint8_t before[STOP_BYTES], after[STOP_BYTES];
};

/* What failed, or which fault. */
struct stop_fault {
	uint32_t code;		 /* the driver's number */
	char name[64], call[64]; /* "": not known */
	uint64_t addr;		 /* 0: not known */
	char text[320];		 /* a sentence; "": none */
};

/* Inside a launch. */
struct stop_thread {
	uint32_t block[3], thread[3], warp, lane;
	uint32_t line, source_line; /* of the code; 0: the warp has ended. Of file; 0: not known */
	char file[512];
};

struct stop {
	uint64_t number; /* counts the engine's stops; 0: there was none */
	enum stop_reason reason;
	bool replay;	 /* else the program's */
	uint64_t seq;	 /* of the command; 0: none */
	uint32_t step;	 /* in graph launch seq: the step that it is about, from 1; 0: in none */
	bool before;	 /* the command, or the step, has not been done */
	uint32_t stream; /* of the command; SBT_NO_ID: none */
	unsigned kind;	 /* of the command; 0: not known */
	char kernel[STOP_TEXT];	 /* short name; "": none */
	char trigger[STOP_TEXT]; /* of TRIGGER, what the program says; not safe to print */
	/* that were hit; the first is the reason */
	uint64_t breakpoints[STOP_BREAKPOINTS];
	uint64_t nbreakpoints;
	bool temporary; /* so is the first of them, and it is gone */
	int pid, tid;	/* of a program; 0: none */
	int signal;	/* SIGNAL, KILLED: its number; else 0 */
	int exit_code;	/* EXITED; else -1 */
	bool has_watch, has_fault, in_kernel;
	struct stop_watch watch;
	struct stop_fault fault;
	struct stop_thread thread;
};

/* "breakpoint"; NULL for STOP_NONE and what has no word. */
const char *stop_reason_word(enum stop_reason reason);

/* Each makes the engine's newest stop; the engine has moved already. live_step() and replay_move()
 * alone call them (replay-moves.h). others: ids of further
 * breakpoints that were hit. */
void stop_of_program(struct engine *en, const struct live_stop *stop);
void stop_of_replay(
	struct engine *en, const struct replay_stop *stop, const int *others, unsigned nothers);
/* The replay's device has failed at command seq, which it has not got behind; what: a sentence. */
void stop_of_device(struct engine *en, uint64_t seq, const char *what);
/* In graph launch seq, of which `step` steps are done. */
void stop_of_step(struct engine *en, const struct replay_stop *stop, uint64_t seq, uint32_t step);
/* Under the microscope. Choosing another thread is no stop, and changes nothing. */
void stop_of_kernel(struct engine *en, const struct soft_stop *stop);

/* These add to the newest stop what the watchpoint saw. Of n watched bytes from addr on, those
 * before and after the command: */
void stop_add_change(
	struct engine *en, uint64_t addr, const void *before, const void *after, size_t n);
/* How the command touches them: */
void stop_add_touch(struct engine *en, const struct watch_touch *touch);

#endif
