/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program of an engine: starts it or attaches to it, lets it run, and says as a value why
 * it stopped. Nothing here waits without a deadline: after live_continue() the caller takes steps
 * until one returns a stop. All calls come from the one thread that started the program (ptrace
 * demands it).
 */
#ifndef ENGINE_LIVE_PROCESS_H
#define ENGINE_LIVE_PROCESS_H

#include "attach/attach.h"
#include "base/stop-reason.h"
#include "engine/recorder.h"
#include "state/state.h"

struct breakpoint;
struct engine;
struct live_look;
struct follow;
struct program_facts;

enum { LIVE_SIGNALS = 65, LIVE_LAUNCHES = 5, LIVE_HITS = 8 };

/* What to capture; one request is one capture. See live-capture.h. */
struct capture_plan {
	enum recorder_mode mode; /* RECORDER_OFF: nothing is requested */
	char *path;		 /* NULL: the default name; may be a pattern (names.h) */
	char *pattern;		 /* names of children's traces; NULL: children are not followed */
	uint32_t window_kind;	 /* enum tsdb_window_kind */
	char *glob;		 /* of the window: kernel glob or NVTX name */
	uint64_t first, last, count;
	char *made;	/* the file of the newest capture; NULL: none yet */
	unsigned nmade; /* captures under the default name */
	unsigned nexec; /* captures ended by an exec */
	bool failed;	/* writing failed */
	bool ending;	/* the capture was stopped; the agent's end of the window is awaited */
	bool in_window, asking; /* with ending: a window was on, and capture_stop() waits for it */
	/* this capture goes on without memory, which exceeded the limit; an error said so */
	bool declined;
	bool no_memory;	      /* the same, for any capture so far */
	bool stacks_off;      /* without host stacks, whatever the setting */
	bool windows;	      /* every window of the program is captured, each in its own trace */
	bool until_trigger;   /* a recording stops at the program's trigger, where it ends */
	bool told_overwrites; /* since the last launch: the file is there already */
};

enum live_doing { LIVE_STANDS, LIVE_RUNNING, LIVE_ENDING_WINDOW };

/* How long to sleep before the next look at the rings, in microseconds. */
struct live_pace {
	uint64_t seq, memory, memory_first;
	unsigned us;
};

/* The program to run and its state. Users of the engine read it; they write only what says so. */
struct live {
	char *program; /* as the user wrote it; NULL: none yet */
	bool adopted;  /* it and its arguments are those of an attached process */
	char **env;    /* changes for launch_options; NULL-terminated */
	unsigned nenv;
	bool soft;     /* the running program is on the software GPU */
	bool soft_amd; /* or on the software AMD GPU; not both */
	bool soft_told, agent_told, python_told, keep_told;
	struct inferior *inf; /* NULL: no process */
	pid_t pid;	      /* of inf, also when that has ended; 0: none so far */
	/* its rank and the number of ranks, from its launcher's variables; -1: not known */
	int64_t rank, ranks;
	pid_t tid;	/* the selected thread; may be written */
	unsigned frame; /* the selected stack frame of tid; may be written */
	bool at_cmd;	/* stopped at a GPU command: cmd, and the agent serves requests */
	struct sbt_cmd cmd;
	uint64_t cmd_data[(64 << 10) / 8]; /* what cmd's blobs point into */
	int last_break;			   /* breakpoint of the last stop; 0 */
	/* Which failing calls stop the program; may be written. A prefix of the call's or the
	 * error's name; or the driver's number; 0: any */
	char catch_what[64];
	uint32_t catch_code;
	/* where a fault was first seen: the launch that caused it; 0: not known, or no such stop */
	uint64_t fault_launch;
	/* the first command that may have caused it, and the one that first said it; 0: no such
	 * stop */
	uint64_t fault_first, fault_last;
	unsigned last_stop; /* enum stop_reason of the last stop; STOP_NONE: not the agent's
			     */
	int exit_code;	    /* of the last exit; -1: none yet */
	int exit_signal;    /* 0: none */
	uint64_t runs;	    /* counts resumes, replays' moves too; may be counted up */
	uint8_t signals[LIVE_SIGNALS]; /* by number, see live_set_signal() */
	/* The program is only recorded: nothing stops it. Written before it is started. */
	bool recording;
	/* live_attach() only loads what is needed to look (attach_options.look_only). Written
	 * before it. */
	bool look_only;
	enum live_doing doing;
	struct live_pace pace;
	uint32_t window_why; /* LIVE_ENDING_WINDOW: the agent's reason for the stop before */
	struct capture_plan plan;
	struct follow *follow;	   /* its children; outlives it as the recorder does; NULL: they are
				      not followed */
	struct recorder *recorder; /* outlives the program until the next run; NULL: none yet */
	struct live_look *look;	   /* live-look.h; NULL: none at this stop yet */
	char *races_path;	   /* of races that the program's software GPU finds; NULL: none */
	int races_fd;
};

/* --- what is reported --- */

/* What is known of a call that failed, or of a fault of the device. */
struct live_fault {
	struct tsdb_error error; /* its strings end; they are the program's, not safe to print */
	/* The launch that the device names (named), else the first of n launches that may have been
	 * it. Their blobs are valid until the program goes on. */
	bool named;
	unsigned n;
	struct sbt_cmd launch[LIVE_LAUNCHES];
	struct state_alloc nearest; /* the allocation at or nearest to error.addr; size 0: none */
};

/* A stop, or the program's end. */
struct live_stop {
	/* STOP_NONE: the time is over. BREAKPOINT: before the driver does the command;
	 * `breakpoint`. STEP: the same, after live_next(). FAULT, FAILED_CALL: `fault`. SERVED:
	 * after capture_stop() the memory has been recorded, and the program is as before it.
	 * EXITED: `status`. SIGNAL, KILLED: `signal` */
	enum stop_reason why;
	pid_t pid, tid;
	uint64_t seq;	/* of the command, where the agent stopped the program */
	int breakpoint; /* the first of them */
	int others[LIVE_HITS];
	unsigned nothers; /* of further breakpoints that were hit here */
	bool temporary;
	bool goes_on; /* STOP_WINDOW_CLOSED: a stream is being captured; the window is complete
			 when that is over */
	int status, signal;
	/* STOP_BREAKPOINT on a kernel that a graph launch runs: which of its steps it is, from 1;
	 * 0: none. node is valid until the program goes on */
	uint32_t step, steps;
	struct state_node node;
	struct live_fault fault;
};

/* What happens while the program runs, or while it is started or let go of. */
enum live_note_kind {
	LIVE_NOTE_SOFT,		 /* the software GPU was chosen, as there is no driver */
	LIVE_NOTE_SOFT_AMD,	 /* the same of the software AMD GPU, for a HIP program */
	LIVE_NOTE_NO_AGENT,	 /* the agent could not start; text: why, or NULL */
	LIVE_NOTE_NO_KEEPER,	 /* copies of memory do not outlive a fault; text: why */
	LIVE_NOTE_KEEPER_ENDED,	 /* so has its process ended; status: of wait() */
	LIVE_NOTE_NO_PYTHON,	 /* stacks have no Python functions; text: why, or NULL */
	LIVE_NOTE_RINGS,	 /* text: a sentence about damaged rings */
	LIVE_NOTE_UNREPLAYABLE,	 /* text: a call that no replay can execute, in a capture */
	LIVE_NOTE_OVERWRITES,	 /* text: the path of a trace */
	LIVE_NOTE_CLOSES,	 /* text: the path of the open trace, which is captured anew */
	LIVE_NOTE_CAPTURED,	 /* captured, window */
	LIVE_NOTE_LACKS_MEMORY,	 /* the capture cannot be executed again; text: why, or NULL */
	LIVE_NOTE_LACKS_END,	 /* its result cannot be compared; text: why, or NULL */
	LIVE_NOTE_LOST,		 /* losses */
	LIVE_NOTE_ENDS_LATER,	 /* the capture ends at the next command */
	LIVE_NOTE_OTHER_PROGRAM, /* the process executes another program; pid */
	LIVE_NOTE_ATTACHED,	 /* pid, attached */
	LIVE_NOTE_AWAITS,	 /* text: the name of the process that is waited for */
	LIVE_NOTE_WOKEN,	 /* SIGSTOP or its like had stopped the process: it gets SIGCONT */
	LIVE_NOTE_ENDED,	 /* ended: while it was being let go of */
};
/* Texts come from the program or its files and are not made safe. */
struct live_note {
	enum live_note_kind kind;
	const char *text;
	pid_t pid;
	int status;
	bool window;
	const struct recorder_capture *captured;
	const struct drain_losses *losses;
	const struct attach_result *attached;
	const struct live_stop *ended;
};

/* --- the program --- */

/* Where the program's standard streams go; strings are the caller's. */
struct redirect {
	const char *in, *out, *err;
	bool out_append, err_append;
};

/* Chooses the program, with new arguments if args (a NULL-terminated list) is given; NULL keeps the
 * old ones. */
struct err *live_file(struct engine *en, const char *program, char *const *args) TS_CHECK;
/* Adds a change, NAME=value or NAME, to the program's environment. */
void live_env(struct engine *en, const char *change);
/* Chooses the device for a program by `set gpu`; a note says it if the engine chose. Refuses what
 * cannot work, with the cure. */
struct err *live_choose_gpu(struct engine *en, const char *path, const struct program_facts *facts,
	bool *ret_soft) TS_CHECK;
/* Starts the program and stops it before its first instruction, with capture and breakpoints
 * armed. A program that runs is killed; an attached one is let go of. */
struct err *live_launch(struct engine *en, const struct redirect *r) TS_CHECK;
/* Attaches to a process by number or name and stops it, with capture and breakpoints armed. wait:
 * to the next one of that name that starts, until the engine is cancelled. A program that runs is
 * killed; an attached one is let go of. */
struct err *live_attach(struct engine *en, const char *who, bool wait) TS_CHECK;
/* Lets go of an attached program; kills another. */
struct err *live_leave(struct engine *en) TS_CHECK;
/* For live-follow.c: makes inf, a child that started by itself, the engine's program, recorded as
 * the plan says. The engine owns it from now on. */
struct err *live_adopt(struct engine *en, struct inferior *inf, const char *program) TS_CHECK;
/* Kills it. Does nothing without one. */
struct err *live_kill(struct engine *en) TS_CHECK;
/* Lets the process run on without tsdb, whether it was launched or attached to. Waits until the
 * agent has left, at most some ten seconds or until the engine is cancelled. */
struct err *live_detach(struct engine *en) TS_CHECK;
void live_init(struct engine *en);
/* Kills or lets go of the program, and frees everything. */
void live_deinit(struct engine *en);

/* --- running --- */

/* Lets it run; returns at once. */
struct err *live_continue(struct engine *en) TS_CHECK;
/* Does so up to the next GPU command. */
struct err *live_next(struct engine *en) TS_CHECK;
/* Asks the running program to stop; async-signal-safe. The engine's cancel flag does the same. */
void live_interrupt(struct engine *en);
/* Takes records from the rings and acts on events for at most timeout_ms (-1: until a stop; 0: only
 * what is there). ret->why is STOP_NONE if there was no stop. */
struct err *live_step(struct engine *en, int timeout_ms, struct live_stop *ret) TS_CHECK;

/* For live-follow.c. Takes records from the rings; returns true if there may be more. */
bool live_drain(struct engine *en);
/* For live-follow.c. Acts on an event; returns true if the program is to stay stopped, or has
 * ended. */
bool live_act(struct engine *en, const struct inferior_event *ev, struct live_stop *ret);

/* --- the control block --- */

/* The control block of the live program; NULL: there is no process, or no agent in it. */
struct tsdb_control *live_control(struct engine *en);
/* Writes the settings into the control block, if there is one. */
void live_configure(struct engine *en);
/* Called when the breakpoints or the window changed. */
struct err *live_rearm(struct engine *en) TS_CHECK;
/* Writes the new ignore count of bp into the control block, if there is one. */
struct err *live_set_ignore(struct engine *en, struct breakpoint *bp) TS_CHECK;

/* --- signals: the table of `handle` --- */

bool live_signal_stops(const struct engine *en, int sig);
bool live_signal_passes(const struct engine *en, int sig);
void live_set_signal(struct engine *en, int sig, bool stop, bool pass);

/* --- faults --- */

/* At a stop at a fault: the launch that caused it. Returns false at another stop, or if it is not
 * known. *ret_sure: the device named it; else it may have caused it. *ret is valid until the
 * program goes on. */
bool live_fault_launch(struct engine *en, struct sbt_cmd *ret, bool *ret_sure);
/* Why there is no copy of device memory from before a fault. */
enum live_lost {
	LIVE_LOST_NO_CAPTURE,	/* nothing was being captured */
	LIVE_LOST_NO_SPAN,	/* the capture window had not begun */
	LIVE_LOST_NOT_COPIED,	/* the capture copies no memory where it begins */
	LIVE_LOST_WITH_CONTEXT, /* the copies were in the program's own memory, as set */
	LIVE_LOST_COPIES,	/* for a reason that a note has said */
};
/* At a stop at a fault from which no copy is left. */
enum live_lost live_why_lost(struct engine *en);
/* Whether the program is at a stop at a fault, so that its device memory is lost. */
bool live_at_fault(const struct engine *en);
/* For live-step.c: takes the failure at a stop. */
void live_take_fault(struct engine *en, const struct tsdb_error *error, struct live_fault *ret);

#endif
