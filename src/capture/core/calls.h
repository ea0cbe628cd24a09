/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver call on its way through the agent: calls_enter() when the program has entered the
 * driver, calls_exit() when the driver is done. Between them a struct call lives in the thread's
 * state. Calls that the driver makes within a call are not the program's and are not seen.
 *
 * A free has its number before the driver does it, an allocation after: so of one address,
 * whichever threads free and get it, the free's number is the lower one. Handles need no such rule:
 * records name objects by ids, which are never reused.
 *
 * A handler's enter function reads the parameters, fills call->cmd.u, and gives ids to objects seen
 * for the first time (their records go out before the command gets its seq). Its exit function adds
 * what the driver answered; it runs for failed calls too. Either may set skip: nothing is recorded
 * then. cmd.kind comes from the call's row; a handler may change it.
 */
#ifndef CAPTURE_CALLS_H
#define CAPTURE_CALLS_H

#include "capture/core/agent.h"

#define CALL_ARGS_MAX (40u << 10) /* kernel parameters: 32,764 bytes at most */

struct call;
struct object;
struct kernel;

enum call_how {
	/* not in the table, or has HANDLES there: an "unreplayable" record with its name */
	CALL_COUNTED,
	CALL_HANDLED,
	CALL_IGNORED, /* changes nothing that a replay could see */
};

enum call_flags {
	CALL_PTSZ = 1,	/* stream 0 means the per-thread default stream */
	CALL_ASYNC = 2, /* returns before the work is done */
	CALL_FIRST =
		4, /* published before the driver does it, because it may take long: the syncs */
	CALL_LATE = 8, /* numbered at exit: most of these calls are not recorded, and would leave
			  gaps */
	CALL_HANDLES = 16, /* returns handles and touches no memory */
	/* numbered at exit: another thread may just have freed the address that the driver
	 * returns */
	CALL_AFTER = 32,
	CALL_UNCAPTURED = 64, /* executed even while its stream is being captured */
};

/* How a call is handled. Each source has its own table with a row for every entry point. */
struct call_row {
	const char *name; /* NULL: a number without a name (CALL_COUNTED) */
	uint8_t how;	  /* enum call_how */
	uint8_t flags;
	uint16_t kind;
	void (*enter)(struct call *c);
	void (*exit)(struct call *c); /* may be NULL */
};

struct call {
	const struct call_row *row;
	struct thread *t;
	const void *params; /* the call's parameters, as its row's functions know them */
	const char *symbol; /* of a launch: the kernel's name as the source knows it; may be NULL */
	struct object *ctx; /* current context; NULL: none */
	struct kernel *kernel; /* of a launch */
	uint64_t stream;       /* its handle; set by call_stream() */
	bool has_stream;
	bool skip;
	bool turn;   /* it has its turn to be compared for (host.c) */
	bool effect; /* its effect on memory is being recorded (effect.c) */
	bool opaque; /* a launch of an executable graph that has nodes which cannot be described */
	bool window_closed;  /* a capture window closed with this command */
	uint64_t freed_size; /* live.c: size of the allocation that a free removes; 0: not known */
	uint32_t freed_ctx;
	bool freed_known; /* live.c: what it holds is recorded so far (not so TSDB_MEMORY_TOUCHED)
			   */
	uint64_t note;	  /* for handlers: a value passed from enter to exit */
	struct sbt_cmd cmd;
};

/* What the source knows about a call. */
struct call_site {
	const struct call_row *row;
	const char *name; /* for rows without one; never freed */
	const void *params;
	const char *symbol;
	uint64_t ctx;	   /* handle of the current context */
	const void *frame; /* frame address of the source's callback */
	uint32_t corr;
	uint64_t *link; /* the source's word that connects entry and exit */
};

/* The caller (the source) has set tls.inside. */
void calls_enter(const struct call_site *s);
void calls_exit(uint64_t *link, uint32_t result, const void *frame);

/* ---- for handlers ---- */
/* Turns the command into "not replayable: what"; what is never freed. */
void call_unreplayable(struct call *c, const char *what);
uint32_t call_stream(struct call *c, uint64_t handle);
/* The context's id, or SBT_NO_ID; its device, or 0. */
uint32_t call_ctx_id(const struct call *c);
uint32_t call_device(const struct call *c);
void call_counted(struct call *c);

/* Records something that is not a call of the program (flags: SBT_F_SYNTHETIC or 0): numbers and
 * publishes it at once. */
void record_now(struct thread *t, struct sbt_cmd *cmd, uint16_t flags);
/* The same for what the user can stop at: c has its row, thread, and cmd's kind and fields. */
void record_with_stop(struct call *c);
/* The same in another context than the call's, given by its id. */
void record_in(struct thread *t, struct sbt_cmd *cmd, uint16_t flags, uint32_t ctx);
/* Records "not replayable: what", beside the present call. */
void record_unreplayable(struct thread *t, const char *what);
/* Whether `next` stops at the command: the program made the call, and commands.def does not say
 * that its kind is passed over. */
bool call_is_step(const struct sbt_cmd *cmd);

/* Whether the record is complete only after the driver's answer, so that a stop must be there. */
static inline bool call_stops_at_exit(const struct call_row *r)
{
	return r->exit && r->kind != SBT_FREE && r->kind != SBT_CAPTURE_BEGIN &&
	       r->kind != SBT_LAUNCH;
}

/* Whether the program has made a call that has a number. */
extern _Atomic uint32_t calls_any;
/* The first command whose result was a fault of the device (any earlier command may have caused
 * it), and that result; 0: none. The context is then unusable. */
extern _Atomic uint64_t calls_fault_seq;
extern _Atomic uint32_t calls_fault;
/* How many stream captures are under way in the process; while it is 0 the driver is not asked
 * about capturing. */
extern _Atomic int32_t calls_captures;

#endif
