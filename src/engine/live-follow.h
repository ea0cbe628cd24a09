/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows child processes of the live program: each that uses the GPU is recorded into a trace of
 * its own (`record --children`, `set follow children on`). They stop only where a recording would.
 * Each has an engine of its own, whose notes come with that engine.
 */
#ifndef ENGINE_LIVE_FOLLOW_H
#define ENGINE_LIVE_FOLLOW_H

#include "engine/engine.h"

struct follow;

/* The program, or a child that has used the GPU. Strings are valid until the next step. */
struct follow_row {
	pid_t pid;
	int64_t rank; /* -1: not known */
	char *program;
	char *path;	   /* of its trace; NULL: none */
	uint64_t commands; /* in the trace; without one, all that it made */
	bool ended;
};
struct follow_rows {
	/* The program's own; own.program NULL: nothing was started so far. own_commands: of the
	 * program, recorded or not */
	struct follow_row own;
	uint64_t own_commands;
	const struct follow_row *row; /* n children */
	unsigned n;
	unsigned seen;	 /* processes, the program included; 0: children are not followed */
	unsigned run;	 /* children that have not ended */
	unsigned missed; /* children that could not be followed: too many at once */
};
/* The caller calls follow_rows_free(). */
void follow_rows(struct engine *en, struct follow_rows *ret);
void follow_rows_free(struct follow_rows *r);

/* Called when the program has ended: works for the children that still run, for at most timeout_ms.
 * *ret_run: how many are left. */
struct err *follow_rest(struct engine *en, int timeout_ms, unsigned *ret_run) TS_CHECK;
/* Kills the children. */
void follow_kill(struct follow *f);

/* --- for the rest of the live program --- */

/* Called for a program that was just launched. */
struct follow *follow_new(struct engine *main);
/* Kills the remaining children. */
void follow_free(struct follow *f);
/* Like inferior_wait() for the program; handles the children's events meanwhile. */
struct err *follow_wait(struct follow *f, int timeout_ms, struct inferior_event *ret) TS_CHECK;
/* Takes records from the children's rings. Returns true if there may be more. */
bool follow_drain(struct follow *f);
/* The highest drain_pressure() of a child. */
unsigned follow_pressure(const struct follow *f);
/* Called when the program was let go of: lets go of its children, too, and ends their traces. */
void follow_detach(struct follow *f);
/* The file for a capture of the engine's process: the expanded pattern; heap. */
char *follow_path(struct engine *en, const char *pattern);

#endif
