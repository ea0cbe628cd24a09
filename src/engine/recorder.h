/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the commands out of the agent's rings, keeps the live state, and writes the trace while a
 * capture is on. Each capture is a file that begins with a keyframe, so it may begin in the middle
 * of a run.
 */
#ifndef ENGINE_RECORDER_H
#define ENGINE_RECORDER_H

#include <time.h>
#include "attach/attach.h"
#include "state/state.h"

enum recorder_mode {
	RECORDER_OFF,	 /* only the live state */
	RECORDER_ALL,	 /* every command */
	RECORDER_WINDOW, /* from the first command of the window on; objects only before it opens
			    (they are in its keyframe) */
};

struct recorder_options {
	const char *program; /* argv as a line, for the trace's meta */
	const char *cwd;     /* "": tsdb's */
	pid_t pid;
	int64_t rank, ranks; /* -1: not known */
	bool soft, stacks, timestamps;
	bool sources; /* with the text of the source files that frames and kernels are of */
	bool keep;    /* a capture may begin later: keep stacks, code and the last commands */
};

struct recorder;

struct recorder *recorder_new(const struct recorder_options *o);
/* Ends a capture that is on, without reporting it. NULL is fine. */
void recorder_free(struct recorder *r);

/* The present time of that clock, in nanoseconds. */
uint64_t recorder_clock_ns(clockid_t clock);
/* Whether a trace may be written to path: it is new, or a trace, and can be written. */
struct err *recorder_check_path(const char *path) TS_CHECK;
/* Sets the next capture's path (copied). The file is created at once, so that a bad path is
 * reported now; an existing file that is no trace is refused. Commands before seq `from` are not
 * captured. */
struct err *recorder_arm(
	struct recorder *r, enum recorder_mode mode, const char *path, uint64_t from) TS_CHECK;
enum recorder_mode recorder_mode(const struct recorder *r);
/* Takes at most about `most` records from the rings (0: all). final: as in drain_next(). An error
 * comes from writing the trace (the capture has ended then, the file stays readable) or from a
 * broken ring. */
enum recorder_turn {
	RECORDER_DONE, /* the rings are empty */
	RECORDER_MORE,
	/* the process has executed another program, and the next records are that program's: call
	 * recorder_exec(), then go on */
	RECORDER_EXEC,
};
struct err *recorder_drain(struct recorder *r, struct inferior *inf, bool final, unsigned most,
	enum recorder_turn *ret) TS_CHECK;
/* Writes out waiting data if a second has passed. */
struct err *recorder_tick(struct recorder *r) TS_CHECK;

/* What a capture holds. */
struct recorder_capture {
	const char *path;
	uint64_t first, last; /* seq; 0: no command yet */
	uint64_t commands, bytes;
	uint64_t memory, memory_stored; /* bytes of memory contents; what they cost in the file,
					   part of bytes */
	/* the memory at its end is not known: a replay has nothing to compare with */
	bool memory_no_end;
	/* some contents are missing: part of the capture cannot be executed again */
	bool memory_lacks;
};
/* The capture that is on or armed; returns false if there is none. */
bool recorder_capture(struct recorder *r, struct recorder_capture *ret);
/* Called when a capture has ended at a stop. Commands up to seq last belong to it, whether the
 * agent marked them (calls of the program) or not (what it found out itself); so do those that wait
 * for an earlier one that is still in its call. Commands up to `known`, when that is later, belong
 * to it if they describe its code. recorder_end() follows. */
struct err *recorder_close(
	struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known) TS_CHECK;
/* Ends the capture: writes index and trailer. *ret as above (path is valid until the next arm). Its
 * commands are 0 when there was nothing to capture; the file is then removed, unless `always`.
 * lost: records lost so far. */
struct err *recorder_end(
	struct recorder *r, uint64_t lost, bool always, struct recorder_capture *ret) TS_CHECK;

/* Whether the agent is in a window of commands that can be executed again, whose end has not come.
 */
bool recorder_in_window(const struct recorder *r);
/* Notes that the memory at the beginning of the window that begins with this command has been sent
 * in full: if the program dies, the recorded part of the window can be executed again. */
void recorder_window_sent(struct recorder *r, uint64_t first);
/* Notes that a capture of everything ends at the end of its window, which is under way: commands
 * are kept back until recorder_close() says how many of them belong to it. */
void recorder_await_end(struct recorder *r);
/* The last command of the capture's window if that has ended; else 0. */
uint64_t recorder_window_ended(const struct recorder *r);
/* The last command of the window that ended; UINT64_MAX: it has not ended. */
uint64_t recorder_window_last(const struct recorder *r);
/* Whether pages that the program sent for the capture before this one need not be sent again. */
bool recorder_has_earlier(const struct recorder *r);
/* Bytes of memory contents received in all. */
uint64_t recorder_memory_seen(const struct recorder *r);

/* The program executed another one: resets the state. */
void recorder_exec(struct recorder *r);

struct state *recorder_state(struct recorder *r);
uint64_t recorder_count(const struct recorder *r); /* number of the program's commands seen */
/* commands in the trace of the present or last capture; those that the agent found out count */
uint64_t recorder_written(const struct recorder *r);
uint64_t recorder_last_seq(const struct recorder *r);
/* The last commands, by age: 0 is the newest. Returns false past the oldest kept. *ret is valid
 * until the next drain. */
bool recorder_recent(const struct recorder *r, unsigned age, struct sbt_cmd *ret);
/* Whether the device has reported when the command ended; of the last 65536 reports. */
bool recorder_finished(const struct recorder *r, uint64_t seq);
/* The host stack of a command by its id. Returns false if it was not recorded or is no longer kept.
 * *ret is valid until the next drain. */
bool recorder_stack(
	const struct recorder *r, uint32_t id, const struct sbt_frame **ret, unsigned *ret_n);
/* Code that was sent, by its hash. Returns false if it was not, or is not kept (options.keep).
 * *ret_bytes is valid until the next drain. */
bool recorder_code(const struct recorder *r, uint64_t hash, const void **ret_bytes, size_t *ret_n,
	enum code_kind *ret_kind);
/* The hash of the PTX beside a module's machine code, and the architecture of that, as in the
 * command module_load; 0: not known. */
void recorder_beside(
	const struct recorder *r, uint32_t module, uint64_t *ret_hash, unsigned *ret_arch);
/* The name of the i-th such call as below; NULL past the end. */
const char *recorder_call(const struct recorder *r, unsigned i);
/* The i-th call that no command kind describes; returns false past the end. *ret_new: it is
 * returned for the first time. */
bool recorder_unreplayable(
	struct recorder *r, unsigned i, const char **ret_call, uint64_t *ret_n, bool *ret_new);

#endif
