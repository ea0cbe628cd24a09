/* SPDX-License-Identifier: Apache-2.0
 *
 * Partial replay: parses the user's words, plans, runs the plan, and compares memory with that of
 * the whole replay at the same command.
 */
#ifndef ENGINE_PARTIAL_H
#define ENGINE_PARTIAL_H

#include "replay/plan.h"
#include "engine/replay-device.h"
#include "engine/engine.h"

enum partial_kind { PARTIAL_NONE, PARTIAL_STREAMS, PARTIAL_RANGE, PARTIAL_KERNEL };
enum { PARTIAL_STREAMS_MAX = 64 };

struct partial {
	enum partial_kind kind;
	uint32_t streams[PARTIAL_STREAMS_MAX];
	unsigned n;
	bool alone;	    /* PARTIAL_STREAMS */
	uint64_t a, b;	    /* PARTIAL_RANGE */
	const char *kernel; /* PARTIAL_KERNEL: a glob ... */
	uint64_t nth;	    /* ... and which launch, from 1 */
};

struct partial_result {
	struct plan plan;
	/* the position where memory was compared and where the replay is afterwards: plan.to; with
	 * streams, their last command */
	uint64_t at;
	uint64_t allocations, identical; /* there: those that must be the same; those that are */
	uint64_t inexact;    /* not compared: a command that was left out may have written there */
	uint64_t first_addr; /* of the first one that differs; 0: none */
};

/* Executes the recorded run again, then the run with commands left out. The replay's position is
 * ret->at then. Free the result. */
struct err *partial_run(struct engine *en, struct replay_device *rd, const struct partial *p,
	struct partial_result *ret) TS_CHECK;
void partial_free(struct partial_result *r);
bool partial_ok(const struct partial_result *r);

#endif
