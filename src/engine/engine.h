/* SPDX-License-Identifier: Apache-2.0
 *
 * What the live program, replay and the analyses share: the open trace and the settings. The engine
 * prints nothing and never exits; it calls the hooks of its user (such as the shell), which embeds
 * this struct.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/err.h"
#include "engine/live/live-process.h"
#include "engine/settings.h"
#include "engine/last-stop.h"

struct breakpoint;
struct breakpoints;
struct engine;
struct graph_place;
struct ranks;
struct replay;
struct replay_choice;
struct replay_device;
struct sbt_cmd;
struct sbt_cursor;
struct sbt_reader;
struct soft_print;
struct state;

/* The open trace. */
struct trace {
	struct sbt_reader *reader; /* NULL: none */
	char *path;
	struct replay *replay;	      /* NULL: no replay on */
	struct replay_device *device; /* that executes it; NULL: the state alone is replayed */
	/* the launch at the replay's position, if it was run to its end under the microscope; else
	 * 0 */
	uint64_t looked_through;
	struct state *end; /* state at the end, made at first use */
	int last_break;
	bool sources_kept; /* its user has taken the texts of its source files */
	bool told_changed; /* the user knows that the program's files are not those recorded */
	/* the command of the launch under the microscope; microscope.c's */
	struct sbt_cursor *inside_cursor;
	const struct sbt_cmd *inside;
	struct launch_names *launch_names; /* kernel-vars.c's; NULL: none yet */
	struct graph_place *graph; /* where the replay is inside a graph launch; NULL: in none */
};

/* Progress of long work. */
struct engine_progress {
	const char *what;     /* "schedules"; NULL: the work has ended */
	uint64_t done, total; /* total 0: not known */
	bool moving;	      /* the device goes to a command */
};

/* Functions that the engine's user provides. Each may be NULL. */
struct engine_hooks {
	void *arg; /* passed to all of them */
	void (*progress)(void *arg, const struct engine_progress *p);
	/* A sentence for the user; no newline. */
	void (*note)(void *arg, const char *text);
	/* Kernels printed this text. Its bytes are the program's, not made safe. */
	void (*said)(void *arg, const char *text, size_t n);
	/* The trace's code is about to be executed. */
	void (*executes)(void *arg, bool no_sandbox);
	/* A replay was opened. An error makes the opening fail. */
	struct err *(*replay_opened)(void *arg);

	/* About the live program of en: of this engine, or of the one of a followed child. */
	void (*live_note)(void *arg, struct engine *en, const struct live_note *n);
	/* Something failed, and the program goes on all the same; the hook frees e. */
	void (*live_failed)(void *arg, struct engine *en, struct err *e);
	/* Whether to record this many bytes of memory, which is more than the limit; NULL: no. */
	bool (*memory_limit)(void *arg, struct engine *en, uint64_t bytes);
	/* Whether the command that the live program stopped at was made where the breakpoint says;
	 * NULL: it was. */
	bool (*made_from)(void *arg, const struct breakpoint *bp);
	/* The same for a command of the open trace that has this stack. */
	bool (*recorded_from)(void *arg, int id, uint32_t stack);
	/* A breakpoint that has a message was reached: the program or the replay is there, and goes
	 * on behind it. */
	void (*said_at)(void *arg, struct breakpoint *bp);
	/* The same inside a kernel of the live program: what threads there print. */
	void (*printed)(void *arg, struct breakpoint *bp, const struct soft_print *r);
	/* Inside a launch of a replay a warp is at the line of a breakpoint with a message: sets
	 * said_lanes to those of lanes for which its condition holds. */
	void (*says)(void *arg, struct breakpoint *bp, uint64_t lanes);
	/* That launch has ended, or stops: what threads did not show may be told. */
	void (*said_all)(void *arg);
	/* The program is about to run: what it shares a screen with should be written. */
	void (*runs_on)(void *arg);
};

struct engine {
	struct settings set;
	struct trace trace;
	uint64_t replays;	    /* that were opened on a device */
	struct ranks *ranks;	    /* the open set; NULL: none. Its trace is in `trace` */
	uint64_t rank;		    /* of the trace that is open */
	struct breakpoints *breaks; /* of the live program and of replays */
	struct probes *probes;	    /* soft-settings.h; NULL: there were none yet */
	struct live live;
	struct stop stop; /* the newest */
	struct engine_hooks hooks;
	/* Long work ends once *cancel is true, a running program is stopped. At first it is the
	 * engine's own flag; another thread or a signal handler may set it. NULL: never */
	volatile bool *cancel;
	volatile bool cancelled; /* that flag */
};

/* en is all 0. The caller then sets hooks and cancel. */
void engine_init(struct engine *en);
/* Ends the live program, closes the trace, and frees everything. */
void engine_deinit(struct engine *en);

/* Applies a changed setting to the live program and the replay. */
struct err *engine_setting_changed(struct engine *en, enum setting id) TS_CHECK;

/* Whether long work has to end now. */
bool engine_cancelled(const struct engine *en);
/* Clears the request to end, so that the next work can run. */
void engine_go_on(struct engine *en);
/* Calls the hook. */
void engine_progress(const struct engine *en, const char *what, uint64_t done, uint64_t total);
void engine_progress_end(const struct engine *en);

/* Opens path and closes the trace that was open. */
struct err *engine_open(struct engine *en, const char *path) TS_CHECK;
void engine_close(struct engine *en);
/* Starts a replay from the beginning on the chosen device; NULL: the one that the settings choose.
 * If an automatically chosen device is not available, only the state is replayed, and a note says
 * so. */
struct err *engine_replay(struct engine *en, const struct replay_choice *c) TS_CHECK;
void engine_replay_end(struct engine *en);
/* The state after the trace's last command; owned by the engine. */
struct err *engine_end_state(struct engine *en, const struct state **ret) TS_CHECK;

#endif
