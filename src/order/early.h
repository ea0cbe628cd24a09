/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks launches that may begin before the launch in front of them on their stream has finished
 * (programmatic dependent launch). PTX ISA 9.0, griddepcontrol; CUDA programming guide 13,
 * "Programmatic Dependent Launch and Synchronization":
 * - Such a launch begins once every block of the launch in front has ended or executed
 * griddepcontrol.launch_dependents (its trigger). The trigger makes no memory visible: where it is
 * placed changes nothing about which reads are safe.
 * - griddepcontrol.wait returns when the launch in front is complete and its memory is visible to
 * the whole waiting grid. Nothing is implied about launches further in front: they are complete
 * only if the one in front had waited for them itself.
 * - A launch without the attribute begins behind all earlier work of its stream.
 *
 * - Work behind a wait for an event that a launch attribute records
 * (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: when all blocks have triggered;
 *   ..._LAUNCH_COMPLETION_EVENT: when all have begun) begins after that, whatever the launch has
 * yet to do. Of the first kind: "dependent launches can choose to wait on the dependency using the
 * programmatic sync" (CUDA driver API, CUlaunchAttributeID), griddepcontrol.wait.
 *
 * So what a launch does before its wait happens after the beginning of the launch in front, and
 * after nothing else of its stream. This file keeps, for one stream, what is ordered before that
 * beginning and that completion.
 */
#ifndef ORDER_EARLY_H
#define ORDER_EARLY_H

#include "order/fold/vector-clock.h"
#include "sbt/cmd.h"
#include <stdbool.h>

/* How a launch uses griddepcontrol, as far as it is known. */
struct order_early {
	bool code;     /* from its PTX, not from what it did */
	bool known;    /* false: nothing is, and nothing of what follows counts */
	bool waits;    /* a thread waited: when the launch is complete, so is the one in front */
	bool before;   /* a thread accessed global memory without having waited */
	bool triggers; /* it let launches behind it begin early */
	bool trigger_waits; /* but not before it had waited itself */
};

/* Why an item is not ordered behind the launch in front, in struct order_item.early. */
enum order_early_flags {
	ORDER_EARLY = 1,	 /* it may begin before that one has finished */
	ORDER_EARLY_UNKNOWN = 2, /* whether it, or one between, waits is not known */
	ORDER_EARLY_QUIET =
		4, /* the launch in front never triggers: they overlap at its very end only */
	ORDER_EARLY_BETWEEN = 8, /* an event was recorded, or waited for, between the two: whether
				    they overlap then is not documented */
	ORDER_EARLY_EVENT = 32,	 /* its stream waited for an event that a launch attribute may have
				    recorded: what that orders is not known */
	ORDER_EARLY_WAITS = 16,	 /* it touches nothing before it has waited for the one in front */
	ORDER_EARLY_BEHIND = 64, /* what it does behind its wait, where that is an item of its own
				    or all of it */
	ORDER_EARLY_CODE = 256,	 /* what it does is known from its PTX alone */
	/* it is behind a wait for a value, and which write ended that is not known: it may be
	 * ordered behind more than is known */
	ORDER_EARLY_VALUE = 512,
	ORDER_EARLY_TRIGGER = 1024, /* its stream waited for an event that launch `behind` records
				       when it lets others begin: no more than that is certain */
	ORDER_EARLY_LOOSE =
		128, /* of the launches in front that may begin early, one is not known to wait */
};

/* What is ordered before launches behind the last launch of a stream. Zeroes: there is none. */
struct early {
	uint64_t kernel; /* of that launch */
	uint64_t seq;	 /* of it; 0: the last work was none, so what follows comes behind it */
	struct clock *start, *done; /* what is ordered before its beginning, and before its end;
				     * NULL both: computed from the following */
	struct clock *base;	    /* of a launch in the usual order: item index of lane */
	uint32_t lane, index;
	struct clock *since;   /* what the stream has waited for since */
	struct clock *pending; /* ends of launches on side lanes, which nothing on the lane is
				* ordered behind yet */
	uint64_t pending_seq;
	bool between;
	bool loose;	 /* it, or one in front that may begin early, is not known to wait */
	uint16_t doubts; /* ORDER_EARLY_UNKNOWN: of its completion */
	uint32_t *side;	 /* lanes for such launches */
	uint32_t nside, cap;
};

static inline bool early_is(const struct sbt_cmd *c)
{
	return c->kind == SBT_LAUNCH &&
	       c->u.launch.launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1;
}

/* An event is recorded when a launch triggers, or has begun, and which one is not in the trace:
 * older ones do not tell. */
static inline bool early_records(const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *u = &c->u.launch;

	return c->kind == SBT_LAUNCH &&
	       ((u->launch_attrs >> SBT_ATTR_PROGRAMMATIC_EVENT & 1 && !u->trigger_event) ||
		       (u->launch_attrs >> SBT_ATTR_COMPLETION_EVENT & 1 && !u->begun_event));
}

void early_free(struct early *e);
/* A launch in the usual order, item index of lane, which happens after base. */
void early_usual(struct early *e, uint64_t seq, struct clock *base, uint32_t lane, uint32_t index);
/* A launch whose beginning happens after start and whose end happens after done; takes both
 * clocks. */
void early_launched(
	struct early *e, uint64_t seq, struct clock *start, struct clock *done, uint16_t doubts);
/* Other work: what follows comes behind it. */
void early_over(struct early *e);
/* The stream waited for what c knows. */
void early_joined(struct early *e, struct clock *c);
/* What a launch behind it happens after: when it begins, and when it has waited. References for the
 * caller. */
struct clock *early_begin(const struct early *e);
struct clock *early_waited(const struct early *e);

#endif
