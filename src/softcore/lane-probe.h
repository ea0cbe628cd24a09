/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes of one launch while it runs (replayer/soft-probe.h), for both machines: a machine names
 * the places, tells each step, and says what its lanes have.
 */
#ifndef SOFTCORE_LANE_PROBE_H
#define SOFTCORE_LANE_PROBE_H

#include "replayer/soft-probe.h"
#include "softcore/lane-expr.h"

struct probe_machine {
	/* False: text has names that are not there. fn, pc: of a place, as the machine named it. */
	bool (*compile)(const void *arg, const void *fn, uint64_t pc, const char *text,
		struct lane_expr *ret);
	struct lane_value (*eval)(const struct lane_expr *x, const void *warp, unsigned lane);
	void (*type)(const struct lane_expr *x, struct soft_value *ret, int *ret_space);
	void (*who)(const void *warp, unsigned lane, uint32_t block[3], uint32_t thread[3]);
};

struct probed;
/* kernel: mangled. p lives as long. NULL: no probe is about that kernel, or there is no memory. */
struct probed *probed_new(const struct probe_machine *m, const void *arg, const char *kernel,
	const struct soft_probe *p, unsigned n);
bool probed_is_about(const struct probed *b, unsigned probe); /* that kernel */
/* A place of a probe. row: what is asked there in place of the probe's own; NULL: its own, or,
 * where it has rows, nothing that has a value. */
void probed_place(struct probed *b, unsigned probe, const void *fn, uint64_t pc,
	const struct soft_probe_row *row);
bool probed_has(const struct probed *b, unsigned probe); /* a place */
/* Where records of probes that print go, one after the other; else they are only counted. */
void probed_prints(
	struct probed *b, void (*print)(void *arg, const struct soft_print *r), void *arg);

/* A warp before its next instruction. count: grows once it has executed it. */
struct probe_step {
	const void *warp, *fn;
	uint64_t count, pc;
	uint64_t mask; /* active lanes */
};
void probed_step(struct probed *b, const struct probe_step *s);
/* The warp has executed what it began. */
void probed_done(struct probed *b, const void *warp);

/* The launch has ended: hands out how many lanes of each probe printed nothing. */
void probed_tell_left(struct probed *b);
/* What was counted is added to results, one for each probe. */
void probed_add(struct probed *b, unsigned probe, struct soft_probe_result *to);
void probed_free(struct probed *b); /* NULL is fine */

#endif
