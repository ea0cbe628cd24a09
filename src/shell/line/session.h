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
#include "shell/line/shell-settings.h"

struct editor;
struct input;
struct races;
struct source_view;
struct sources;
struct replay;
struct replay_stop;
struct state;
struct symbols;
struct vars;
struct defined;
struct displays;
struct python;
struct checkpoints;
struct tui;

/* What commands such as continue, bt, info streams and print refer to. */
enum focus { FOCUS_NONE, FOCUS_LIVE, FOCUS_REPLAY };

struct session {
	struct out *out;
	struct engine engine;
	struct settings set;   /* the shell's own */
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
	struct vars *vars;
	struct symbols *symbols;	 /* of files on disk; NULL until first used */
	struct sources *sources;	 /* texts of the program; NULL until first used */
	struct source_view *source;	 /* what is shown of them; NULL until first used */
	bool repeating;			 /* an empty line runs the last command again */
	struct races *races;		 /* cmd-races.c; NULL until first used */
	struct checkpoints *checkpoints; /* NULL until first used */
	struct displays *displays;	 /* NULL until first used */
	struct defined *defined;	 /* the command table with the user's own */
	struct tui *tui;		 /* tui/tui.h; NULL until first used */
	struct python *python;		 /* python/py-helper.h; NULL until first used */
	struct kernel_selection { /* values/kernel-source.h: a frame, and the stop it was chosen at
				   */
		unsigned frame;
		uint64_t seq, total;
		uint32_t block[3], warp, lane;
	} kernel_frame;
	uint64_t kernel_set_in; /* the launch under the microscope that something was set in; 0 */
	struct script_state {
		/* loop_break, loop_continue: the blocks up to the loop end */
		enum script_jump { SCRIPT_GO_ON, SCRIPT_BREAK, SCRIPT_CONTINUE } jump;
		unsigned loops;	  /* `while` around the current line, within the user's command */
		unsigned calls;	  /* of the user's commands, within one another */
		unsigned running; /* blocks, within one another */
		bool placed;	  /* the error that is on its way up says where it happened */
		bool stopped;	  /* a stop was shown: the displays follow */
		bool verbose;	  /* scripts show their lines: `source -v` */
		bool interrupted; /* Ctrl-C stopped what a command had set going */
	} script;
};

void session_init(struct session *s);
void session_deinit(struct session *s);

/* What the session knows of ELF files on disk, and of sources. Owned by it. */
struct symbols *session_symbols(struct session *s);
struct sources *session_sources(struct session *s);

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
/* The engine's settings and the shell's. */
enum { SESSION_SETS = 2 };
void session_sets(struct session *s, struct settings *ret[SESSION_SETS]);
/* Applies a changed setting: colours, log; the engine's to the engine. */
struct err *session_setting_changed(
	struct session *s, const struct settings *set, unsigned id) TS_CHECK;

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
