/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph launch as single steps, in an order that its edges allow. Child graphs are taken apart;
 * disabled nodes stay as steps that do nothing. The order is always the same: of the nodes that may
 * go next, the one with the lowest number goes, and a child graph's nodes go in the place of its
 * node. Positions inside a launch (#214.3) are counted in this order, from 1.
 */
#ifndef STATE_STEPS_H
#define STATE_STEPS_H

#include "state/state.h"

#define STEPS_MAX (1u << 20)	  /* of a launch */
#define STEPS_DEPS_MAX (1u << 23) /* of all its steps together */
#define STEPS_DEPTH_MAX 16	  /* graphs in graphs */

struct state_step {
	uint32_t graph; /* that has the node: the launched one, or a child */
	struct state_node node;
	unsigned depth;	      /* 0: the launched graph's own */
	const uint32_t *deps; /* indices of steps that come before it, each lower than its own;
				 belongs to the steps */
	unsigned ndeps;
};
struct state_steps {
	struct state_step *step;
	uint32_t n;
	uint32_t *deps; /* of all */
	size_t ndeps;
};

/* Where nodes come from. Blobs that node() gives stay valid while the steps are used. */
struct steps_source {
	void *arg;
	/* The i-th node of a graph; false: there is none. */
	bool (*node)(void *arg, uint32_t graph, unsigned i, struct state_node *ret);
	bool (*known)(void *arg, uint32_t graph);
};

/* ERR_BAD_TRACE for nodes that cannot be (a circle, an edge to a node that is not there, a child
 * graph that is not there, a type that does not exist), ERR_LIMIT for more than the above; the
 * sentence names graph and node. *ret is empty then. A graph without nodes has no steps. */
struct err *steps_make(
	struct state_steps *ret, const struct steps_source *from, uint32_t graph) TS_CHECK;
/* The same of the graph as it is in s, which must outlive the steps and not change. */
struct err *state_steps(struct state_steps *ret, const struct state *s, uint32_t graph) TS_CHECK;
void state_steps_free(struct state_steps *steps);

/* Whether the step is executed on the device: not an empty, host or disabled node. */
bool step_works(const struct state_step *step);
/* What the node does, unpacked: blobs point into the payload. False: it is not recorded, or
 * nothing. */
bool step_cmd(const struct state_step *step, struct sbt_cmd *ret);
/* The same as a command of the launch's stream, with its seq, thread and context; only for steps
 * that work. ERR_UNSUPPORTED for a type that cannot be executed, ERR_BAD_TRACE when what it does
 * was not recorded. */
struct err *step_as_command(
	const struct state_step *step, const struct sbt_cmd *launch, struct sbt_cmd *ret) TS_CHECK;
/* Whether any two steps have no path between them. */
bool steps_branch(const struct state_steps *steps);

/* A position: "214" or "214.3" (with or without #). *ret_step UINT32_MAX: the command as a whole.
 */
bool step_position(const char *text, uint64_t *ret_seq, uint32_t *ret_step);

#endif
