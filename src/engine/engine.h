/* SPDX-License-Identifier: Apache-2.0
 *
 * What recording, replay and the analyses share: the open trace and the settings. The engine prints
 * nothing and exits nowhere: it calls the hooks of its user (the shell, say), who embeds this
 * struct.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/err.h"
#include "engine/settings.h"

struct check_result;
struct graph_place;
struct ranks;
struct replay;
struct replay_choice;
struct replay_device;
struct sbt_reader;
struct state;

/* The open trace. */
struct trace {
	struct sbt_reader *reader; /* NULL: none */
	char *path;
	struct replay *replay; /* NULL: no replay on */
	struct replay_device *device; /* that executes it; NULL: the state alone is replayed */
	uint64_t looked_through; /* the launch that the replay stands at, when it was run to its end under the microscope; 0 */
	struct state *end;     /* state at the end, made when first asked for */
	int last_break;
	struct graph_place *graph; /* where the replay is inside a graph launch; NULL: in none */
};

/* How far long work has come. */
struct engine_progress {
	const char *what; /* "schedules"; NULL: the work is over */
	uint64_t done, total; /* total 0: not known */
	bool moving;	  /* the device goes to a command */
};

/* What the engine's user does for it. Each may be NULL. */
struct engine_hooks {
	void *arg; /* of all of them */
	void (*progress)(void *arg, const struct engine_progress *p);
	/* A sentence for the user; no newline. */
	void (*note)(void *arg, const char *text);
	/* Kernels printed this. The bytes are as the program made them. */
	void (*said)(void *arg, const char *text, size_t n);
	/* The trace's code is about to be executed. */
	void (*executes)(void *arg, bool no_sandbox);
	/* Appends the launches of r, in words, to a verdict's text. */
	void (*describe_check)(void *arg, const struct check_result *r, struct buf *out);
	/* A replay was opened. An error is the opening's. */
	struct err *(*replay_opened)(void *arg);
};

struct engine {
	struct settings set;
	struct trace trace;
	struct ranks *ranks; /* the open set; NULL: none. Its trace is in `trace` */
	uint64_t rank;	     /* of the trace that is open */
	struct engine_hooks hooks;
	volatile bool *cancel; /* ends long work once it is true; NULL: nothing does */
};

/* Whether the work is to end now. */
bool engine_cancelled(const struct engine *en);
/* The request to end is dealt with: what comes next goes on. */
void engine_go_on(struct engine *en);
/* Calls the hook. */
void engine_progress(const struct engine *en, const char *what, uint64_t done, uint64_t total);
void engine_progress_end(const struct engine *en);

/* Opens path instead of the trace that is open. */
struct err *engine_open(struct engine *en, const char *path) TS_CHECK;
void engine_close(struct engine *en);
/* A replay from the beginning, on the device chosen; NULL: as the settings say. One chosen
 * automatically that is not to be had is no error: the state alone is replayed then, and a note
 * says so. */
struct err *engine_replay(struct engine *en, const struct replay_choice *c) TS_CHECK;
void engine_replay_end(struct engine *en);
/* The state after the trace's last command; owned by the engine. */
struct err *engine_end_state(struct engine *en, const struct state **ret) TS_CHECK;

#endif
