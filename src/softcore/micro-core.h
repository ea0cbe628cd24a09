/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope's session, for both machines: one launch under observation, which waits in an
 * observer's callback while the user looks. micro-core.c decides where it stops, micro-watch.c has
 * the watched bytes. A machine gives its rows of struct micro_machine, calls micro_step() and the
 * like from its observer, and answers the questions about registers and text. Its own data are
 * behind soft_session.machine.
 *
 * Functions in the first part are for the one caller's thread, those in the second for the
 * launch's.
 */
#ifndef SOFTCORE_MICRO_CORE_H
#define SOFTCORE_MICRO_CORE_H

#include "replayer/soft-debug.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft_session;

struct micro_point {
	struct soft_point p;
	void *own; /* the machine's; may be NULL */
};

/* A warp of a block that runs. */
struct micro_at {
	void *block; /* the machine's; NULL: there is no such warp */
	unsigned warp;
};

/* What the core asks of a machine about a warp. */
struct micro_machine {
	enum soft_warp_state (*state)(struct micro_at w);
	uint64_t (*lanes)(struct micro_at w); /* that it was given */
	uint64_t (*ready)(struct micro_at w); /* at its next instruction */
	unsigned (*depth)(const struct soft_session *s, struct micro_at w); /* calls */
	/* The line of source of its next instruction; false: not known. */
	bool (*line)(const struct soft_session *s, struct micro_at w, uint32_t *ret_file,
		uint32_t *ret_line);
	void (*block_id)(struct micro_at w, uint32_t ret[3]);
	void (*thread)(struct micro_at w, unsigned lane, uint32_t ret[3]);
	/* The breakpoint at its next instruction, or NULL; *ret_lanes: the lanes that hit it. */
	const struct micro_point *(*hit)(
		struct soft_session *s, struct micro_at w, uint64_t *ret_lanes);
	/* Fills line, depth, active, executing, function, text, file, source_line; leaves them 0
	 * when the warp has ended. */
	void (*place)(const struct soft_session *s, struct micro_at w, struct soft_stop *t);
	/* Fills line, text, file, source_line of the instruction that touched watched bytes. */
	void (*toucher)(const struct soft_session *s, struct soft_change *c);
	/* Checks a breakpoint, fills in its line and its condition; a sentence or NULL. */
	const char *(*point)(struct soft_session *s, struct micro_point *q, struct soft_point *p);
	void (*no_points)(struct soft_session *s); /* all are gone */
	void (*point_free)(void *own);
	const char *no_line; /* the sentence where a step by lines begins at no known line */
	unsigned width;	     /* lanes of a warp */
};

struct micro_piece { /* watched bytes that an instruction is about to touch */
	const struct micro_point *point;
	unsigned lane, size;
	uint32_t access; /* as in soft_change */
	uint64_t addr;
	const uint8_t *at;
	uint8_t before[SOFT_BYTES];
};
enum { MICRO_PIECES = 1024 };

enum micro_phase { MICRO_RUNS, MICRO_STANDS, MICRO_OVER };
struct soft_session {
	const struct micro_machine *m;
	void *machine;
	const char *kernel; /* mangled */
	unsigned grid[3], block[3];
	bool all_resident; /* blocks take turns from the beginning, and none can begin again */
	uint64_t nblocks;
	unsigned nwarps; /* of a block */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum micro_phase phase;
	bool resume;
	atomic_bool pause, abort;

	/* For the launch's thread; for the caller while that thread is stopped. */
	struct soft_stop stop;
	void **blocks;			/* that run: the machine's */
	uint64_t *index;		/* their numbers in the grid */
	unsigned nslots, last;		/* places in them; the one that was looked up last */
	uint64_t *steps;		/* of their warps */
	uint64_t total, started, ended; /* started, ended: blocks */
	uint8_t *block_state;		/* enum soft_block_state */
	struct micro_at at;		/* the warp in whose callback the launch is stopped */
	bool at_end;			/* that callback is a block's end */
	uint64_t *told;			/* by warp: 1 + the step that was looked at already */
	struct soft_go aim;
	unsigned aim_depth;
	uint64_t aim_step;
	uint32_t aim_file, aim_line;
	uint64_t focus_block;
	unsigned focus_warp, focus_lane;
	bool has_focus;
	bool has_prefer; /* this warp goes first */
	uint64_t prefer_block;
	unsigned prefer_warp;
	struct soft_turn *turns;
	unsigned nturns, next_turn, cap_turns;
	uint64_t found;
	bool found_end;

	struct micro_point *points;
	unsigned npoints;
	bool watches;
	struct micro_piece *pieces; /* MICRO_PIECES of them */
	unsigned npieces;
	struct micro_at writer;
	char sentence[SOFT_SENTENCE];
};

/* --- for the caller --- */

/* What a new session is about: m, machine, kernel, grid, block, all_resident, nslots (blocks that
 * may run at a time) are given. NULL: no memory. */
struct soft_session *micro_new(
	const struct soft_session *about, const struct soft_turn *turns, unsigned nturns);
void micro_free(struct soft_session *s);
/* Waits until the launch has stopped before its first instruction, or is over; ms 0: for ever.
 * False: neither has happened. */
bool micro_begun(struct soft_session *s, uint32_t ms, struct soft_stop *stop);
/* Makes the launch give up: it comes to its end without executing anything more. */
void micro_abort(struct soft_session *s);
/* Waits for micro_over(). */
void micro_wait_over(struct soft_session *s);

const char *micro_go(struct soft_session *s, const struct soft_go *g, struct soft_stop *stop);
const char *micro_points(struct soft_session *s, struct soft_point *p, unsigned n);
const char *micro_focus(struct soft_session *s, const uint32_t block[3], const uint32_t thread[3],
	uint64_t *ret_first, struct soft_stop *stop);
const struct soft_turn *micro_turns(struct soft_session *s, unsigned *ret_n);
/* Answers about blocks and warps, which are alike for both. False: the question is another one. */
bool micro_ask_common(struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg,
	const char **ret_why);

/* --- for the launch's thread --- */

enum micro_step {
	MICRO_GO_ON,
	MICRO_YIELD, /* not yet: other warps first; the step comes again */
	MICRO_GIVE_UP
};
/* Before the next instruction of w. */
enum micro_step micro_step(struct soft_session *s, struct micro_at w);
/* A lane is about to touch bytes, which are at `at` in this process; space: SOFT_GLOBAL or
 * SOFT_SHARED. True: some are watched. */
bool micro_touch(struct soft_session *s, struct micro_at w, uint32_t space, bool reads, bool writes,
	unsigned lane, uint64_t addr, const uint8_t *at, unsigned size);
void micro_block_start(struct soft_session *s, void *block, uint64_t index);
void micro_block_end(struct soft_session *s, void *block);
/* The instruction that w has begun breaks the device. began: micro_step() has counted it. True: the
 * launch is to end as if cancelled. */
bool micro_fault(
	struct soft_session *s, struct micro_at w, unsigned lane, bool began, const char *text);
/* The launch has ended; text: of its fault, or NULL. */
void micro_over(struct soft_session *s, const char *text);

/* --- inside --- */

static inline bool micro_is_aborted(struct soft_session *s)
{
	return atomic_load_explicit(&s->abort, memory_order_relaxed);
}
const char *micro_say(struct soft_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The block with that number, NULL: it does not run now. */
void *micro_block(const struct soft_session *s, uint64_t index);
struct micro_at micro_focused(const struct soft_session *s);
uint64_t *micro_steps(const struct soft_session *s, struct micro_at w);
void micro_coordinates(const unsigned grid[3], uint64_t index, uint32_t ret[3]);
/* The point whose watched bytes the instruction before has touched, or NULL. */
const struct micro_point *micro_changed(struct soft_session *s, struct soft_change *ret);

#endif
