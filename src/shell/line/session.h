/* SPDX-License-Identifier: Apache-2.0
 *
 * One debugging session: everything the shell knows, passed to every command. No other global
 * "current" state exists.
 */
#ifndef SHELL_SESSION_H
#define SHELL_SESSION_H

#include <sys/types.h>
#include "base/err.h"
#include "base/buf.h"
#include "sbt/sbt.h"
#include "shell/line/command.h"
#include "shell/line/out.h"
#include "engine/engine.h"

struct editor;
struct follow;
struct input;
struct inferior;
struct inferior_event;
struct races;
struct recorder;
struct replay;
struct replay_stop;
struct state;
struct symbols;
struct vars;

/* What commands such as continue, bt, info streams and print refer to. */
enum focus { FOCUS_NONE, FOCUS_LIVE, FOCUS_REPLAY };

/* The program to run and its state (process.c). */
struct target {
	char *program; /* as the user wrote it; NULL: none yet */
	bool adopted;  /* it and its arguments are those of an attached process */
	char *path;    /* where it is */
	char **env;    /* changes for launch_options; NULL-terminated */
	unsigned nenv;
	bool soft; /* the running program is on the software GPU */
	bool soft_told, agent_told, python_told, keep_told;
	struct inferior *inf; /* NULL: no process */
	pid_t pid;	      /* of inf, also when that has ended; 0: none so far */
	/* its rank and the number of ranks, from its launcher's variables; -1: not known */
	int64_t rank, ranks;
	pid_t tid;   /* the thread that commands refer to */
	bool at_cmd; /* stopped at a GPU command: cmd, and the agent serves requests */
	struct sbt_cmd cmd;
	uint64_t cmd_data[(64 << 10) / 8]; /* what cmd's blobs point into */
	int last_break;			   /* breakpoint of the last stop; 0 */
	char catch_what[64]; /* `catch error`: a prefix of the call's or the error's name */
	uint32_t catch_code; /* or the CUresult; 0: any */
	/* where a fault was first seen: the launch that caused it; 0: not known, or no such stop */
	uint64_t fault_launch;
	unsigned last_stop;  /* enum tsdb_stop_why of the last stop; TSDB_STOP_NONE: not the agent's
			      */
	int exit_code;	     /* of the last exit; -1: none yet */
	int exit_signal;     /* 0: none */
	uint64_t runs;	     /* counts resumes: a breakpoint's commands end when it moves */
	unsigned frame;	     /* selected stack frame of tid */
	uint8_t signals[65]; /* enum process_signal, by number */
	bool recording;	     /* `tsdb record`: nothing stops the program, and there is no prompt */
};

/* What to capture (cmd-capture.c); one request is one capture. */
struct capture_plan {
	int mode;	      /* enum recorder_mode; RECORDER_OFF: nothing asked for */
	char *path;	      /* NULL: the default name; may be a pattern (names.h) */
	char *pattern;	      /* names of children's traces; NULL: children are not followed */
	uint32_t window_kind; /* enum tsdb_window_kind */
	char *glob;	      /* of the window: kernel glob or NVTX name */
	uint64_t first, last, count;
	char *made;	/* the file of the newest capture; NULL: none yet */
	unsigned nmade; /* captures under the default name */
	unsigned nexec; /* captures ended by an exec */
	bool failed;	/* writing failed */
	bool ending;	/* `capture stop` was entered; the agent's end of the span is awaited */
	bool in_span, asking; /* with ending: a span was on, and capture_stop() waits for it */
	/* this capture goes on without memory, which exceeded the limit; a message said so */
	bool declined;
	bool no_memory;	 /* the same, for any capture of a batch */
	bool stacks_off; /* `record --no-stacks` */
};

struct session {
	struct out *out;
	struct engine engine;
	struct editor *editor; /* NULL: not on a terminal */
	struct input *input;   /* innermost source of lines */
	bool interactive;      /* a user types at a terminal */
	bool batch, quiet;
	bool quitting;
	int quit_status;
	bool trust_told;   /* trust.h */
	unsigned failures; /* commands that failed */
	char *last_line;   /* what an empty line repeats; NULL: nothing */
	enum focus focus;
	struct target target;
	struct capture_plan plan;
	struct follow *follow; /* children of the live program; outlives it as the recorder does;
				  NULL: not followed */
	struct recorder *recorder; /* of the live program; outlives it until the next run */
	struct vars *vars;
	struct symbols *symbols; /* of files on disk; NULL until first used */
	struct races *races;	 /* cmd-races.c; NULL until first used */
};

void session_init(struct session *s);
void session_deinit(struct session *s);

/* Runs one line: history, variables, lookup, preconditions, then the command. */
struct err *session_execute(struct session *s, const char *line) TS_CHECK;
/* Also runs the commands of breakpoints that it stopped at; prints the error and counts it. Returns
 * false if it failed. */
bool session_command(struct session *s, const char *line);
/* Reads a line for a command that takes several (`commands`); a heap string, NULL at the end of the
 * source. */
char *session_read(struct session *s, const char *prompt);

/* Runs the lines of a file; ends at the first error. */
struct err *session_source(struct session *s, const char *path) TS_CHECK;
/* Runs lines from memory (the -ex options), separated by newlines; goes on after an error. */
void session_lines(struct session *s, const char *text);
/* Runs standard input until its end or quit. */
void session_loop(struct session *s);

/* Whether the user can answer a question and wants to be asked. */
bool session_can_ask(const struct session *s);
/* Asks a yes-or-no question. Answers yes without asking if there is no user to answer, or after
 * `set confirm off`. */
bool session_confirm(struct session *s, const char *fmt, ...) TS_PRINTF(2, 3);
/* Applies a changed setting: colours, log, the live control block. */
struct err *session_settings_changed(struct session *s, enum setting id) TS_CHECK;

/* The state that commands refer to, by focus; ERR_STATE with the cure if there is none. Owned by
 * the session. */
struct err *session_state(struct session *s, const struct state **ret) TS_CHECK;
/* The command at the current stop or position; returns false if there is none. */
bool session_cmd(struct session *s, const struct sbt_cmd **ret);

/* Paths in the folders of the XDG base directory specification: ~/.config/tsdb/NAME,
 * ~/.local/state/tsdb/NAME. Heap strings, NULL without a home. make: create the folder. */
char *session_config_path(const char *name);
char *session_state_path(const char *name, bool make);

/* complete.c: the editor_complete_fn of a session. */
void session_complete(void *session, const char *line, size_t *ret_start,
	void (*add)(void *to, const char *word), void *to);

#endif
