/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs from its recording.
 */
#ifndef ENGINE_VERDICT_H
#define ENGINE_VERDICT_H

#include "engine/check.h"
#include "engine/engine.h"
#include "engine/replay-device.h"
#include "order/order.h"

enum verdict_kind {
	VERDICT_NONE, /* nothing differs */
	VERDICT_NOT_DETERMINISTIC,
	VERDICT_RACE,
	VERDICT_HOST,
	VERDICT_NOT_EXECUTED,
	VERDICT_INCOMPLETE,
	VERDICT_UNWRITTEN, /* the program reads memory that was never written */
	VERDICT_DEVICE,
	VERDICT_OPEN, /* the cause was not found */
};

/* What was found out, in detail. Each uses the fields of struct verdict that it names. */
enum verdict_reason {
	VERDICT_REASON_NONE,
	VERDICT_DIFFERS_AGAIN,	   /* launch seq, executed again from the same memory; check */
	VERDICT_DIFFERS_PERTURBED, /* only under other conditions; check */
	VERDICT_RACING_COMMANDS,   /* seq and with, addr, size, tier; race, proof, overlap */
	VERDICT_RACING_NODES,	   /* node and with_node of the graph that seq launches; the same */
	VERDICT_HOST_CHANGED_COPY, /* the copy seq is right; the host changed what lies at addr */
	VERDICT_LEFT_OUT,	   /* call, which is seq */
	VERDICT_VALUE_NOT_WRITTEN, /* wait seq for a value at addr */
	VERDICT_MEMORY_NOT_RECORDED, /* detail: which */
	VERDICT_READS_UNWRITTEN,     /* launch seq, at addr, of the allocation alloc by alloc_seq */
	VERDICT_LAST_WRITER,	     /* seq of addr, the same every time; other_device */
	VERDICT_DELIVERS,	     /* the same of copy seq, which delivers addr */
	VERDICT_NO_WRITER,	     /* nothing in the window writes there; other_device */
	VERDICT_HOST_MAY_WRITE,	     /* command seq touches shared memory: addr, size */
	VERDICT_UNANSWERED,	     /* see unanswered */
	VERDICT_SEARCH_FAILED,	     /* detail: why */
	VERDICT_NOT_ASKED,	     /* the replay was in another order */
};
/* The order in which the window gives the recorded outcome. */
enum verdict_proof { VERDICT_UNPROVED, VERDICT_STARTED, VERDICT_TURNED };
/* What could not be found out. */
enum verdict_question {
	VERDICT_ASK_DETERMINISM, /* detail: the error */
	VERDICT_ASK_PERTURBED,
	VERDICT_ASK_RACES,
	VERDICT_ASK_HEAP,   /* whether launches are deterministic that use the device's own heap */
	VERDICT_ASK_LATE,   /* that wait for a value that was written later */
	VERDICT_ASK_MISSED, /* for which there was no time */
};
struct verdict_unanswered {
	enum verdict_question question;
	uint64_t launches;
	char *detail; /* heap, or NULL */
};

struct verdict {
	enum verdict_kind kind;
	enum verdict_reason reason;
	uint64_t seq, with;	  /* the command, and the other one of a race; 0: none */
	uint32_t node, with_node; /* SBT_NO_ID: none */
	uint64_t addr, size, alloc, alloc_seq;
	char *call, *detail;  /* heap; NULL: none */
	enum order_tier tier; /* of a race; so are race and proof */
	struct order_race race;
	enum verdict_proof proof;
	bool overlap;		   /* the replay lets commands overlap */
	bool other_device;	   /* the recording was made on another GPU or driver */
	struct check_result check; /* of launch seq and its steps alone; borrows from checked */
	struct check_result checked;
	struct verdict_unanswered *unanswered; /* heap */
	size_t nunanswered;
};

/* Called after device_verify(), whose answer is v, with the replay at the window's end. Afterwards
 * the replay is there again. */
void verdict_find(struct engine *en, const struct device_verified *v, struct verdict *ret);
void verdict_free(struct verdict *v);

#endif
