/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the commands out of the agent's rings, keeps the live state, and writes the trace while a capture is on. One capture is one
 * file, with a keyframe at its beginning, so it need not begin with the program.
 */
#ifndef ENGINE_RECORDER_H
#define ENGINE_RECORDER_H

#include <time.h>
#include "attach/attach.h"
#include "state/state.h"

enum recorder_mode {
	RECORDER_OFF,	 /* only the live state */
	RECORDER_ALL,	 /* every command */
	RECORDER_WINDOW, /* from the first command of the window on; objects only before it opens (they are in its keyframe) */
};

struct recorder_options {
	const char *program;  /* argv as a line, for the trace's meta */
	const char *cwd;      /* "": ours */
	pid_t pid;
	int64_t rank, ranks;  /* -1: not known */
	bool soft, stacks, timestamps;
	bool keep;	      /* a capture may begin later: keep stacks, code and the last commands */
};

struct recorder;

struct recorder *recorder_new(const struct recorder_options *o);
/* Ends a capture that is on, without a word. */
void recorder_free(struct recorder *r);

/* Now, in nanoseconds of that clock. */
uint64_t recorder_clock_ns(clockid_t clock);
/* Whether a trace may be written to path: it is new, or a trace, and can be written. */
struct err *recorder_check_path(const char *path) TS_CHECK;
/* The next capture goes to path (copied). The file is created at once, so that a bad path is told now; an existing file
 * that is no trace is refused. Commands before seq from are not captured. */
struct err *recorder_arm(struct recorder *r, enum recorder_mode mode, const char *path, uint64_t from) TS_CHECK;
enum recorder_mode recorder_mode(const struct recorder *r);
/* Takes what the rings hold, at most about `most` records (0: all there is). final: as drain_next. An error is one of writing the
 * trace (the capture has ended then, the file stays readable) or of a broken ring. */
enum recorder_turn {
	RECORDER_DONE, /* the rings hold nothing more now */
	RECORDER_MORE,
	RECORDER_EXEC, /* what follows is of another program, which the process has executed: call recorder_exec(), then go on */
};
struct err *recorder_drain(struct recorder *r, struct inferior *inf, bool final, unsigned most, enum recorder_turn *ret) TS_CHECK;
/* Writes out what waits when a second has passed. */
struct err *recorder_tick(struct recorder *r) TS_CHECK;

/* What a capture holds. */
struct recorder_capture {
	const char *path;
	uint64_t first, last; /* seq; 0: no command yet */
	uint64_t commands, bytes;
	uint64_t memory, memory_stored; /* bytes of memory contents; what they cost in the file, part of bytes */
	bool memory_no_end;		/* what the memory was at the end is not known: nothing to compare a replay with */
	bool memory_lacks;		/* some contents are missing: a part of it cannot be executed again */
};
/* The capture that is on (or armed); false: none. */
bool recorder_capture(struct recorder *r, struct recorder_capture *ret);
/* A capture is over at a stop: commands up to seq last belong to it, whether the agent marked them (calls of the program) or not (what it found
 * out by itself), also those that wait for an earlier one that is still in its call; up to known, when that is later, what tells of their code.
 * recorder_end() follows. */
struct err *recorder_close(struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known) TS_CHECK;
/* Ends the capture: index and trailer are written. *ret as above (path valid until the next arm); commands 0 when there was
 * nothing to capture (the file is removed then, unless always). lost: records lost so far. */
struct err *recorder_end(struct recorder *r, uint64_t lost, bool always, struct recorder_capture *ret) TS_CHECK;

/* Whether the agent is in a span of commands that can be executed again: its end is yet to come. */
bool recorder_in_span(const struct recorder *r);
/* The memory at the beginning of the span that begins with this command has been sent in full:
 * should the program die, what is there can be executed again. */
void recorder_span_sent(struct recorder *r, uint64_t first);
/* A capture of everything ends where its span ends, which is under way: commands are kept back until recorder_close() says how many of
 * them belong to it. */
void recorder_await_end(struct recorder *r);
/* The last command of the capture's span, when that has ended; 0: there was none, or it has not. */
uint64_t recorder_span_ended(const struct recorder *r);
/* The last command of the span that ended; UINT64_MAX: it has not. */
uint64_t recorder_span_last(const struct recorder *r);
/* Whether pages that the program sent for the capture before this one need not be sent again. */
bool recorder_has_earlier(const struct recorder *r);
/* Bytes of memory contents that have come, ever. */
uint64_t recorder_memory_seen(const struct recorder *r);

/* The program became another one by exec: the state starts again. */
void recorder_exec(struct recorder *r);

struct state *recorder_state(struct recorder *r);
uint64_t recorder_count(const struct recorder *r); /* commands seen that the program made */
uint64_t recorder_written(const struct recorder *r); /* commands in the trace of the capture that is on, or was last; what the agent found out counts */
uint64_t recorder_last_seq(const struct recorder *r);
/* Commands that came last, by age: 0 the newest. False past what is kept. *ret lives until the next drain. */
bool recorder_recent(const struct recorder *r, unsigned age, struct sbt_cmd *ret);
/* The host stack with the id that a command has. False: not recorded, or no longer kept. *ret lives until the next drain. */
bool recorder_stack(const struct recorder *r, uint32_t id, const struct sbt_frame **ret, unsigned *ret_n);
/* Calls that no command kind describes; i-th, false past the end. *ret_new: not asked about before. */
bool recorder_unreplayable(struct recorder *r, unsigned i, const char **ret_call, uint64_t *ret_n, bool *ret_new);

#endif
