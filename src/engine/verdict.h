/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs from its recording.
 */
#ifndef ENGINE_VERDICT_H
#define ENGINE_VERDICT_H

#include "engine/replay-device.h"
#include "engine/engine.h"

enum verdict_kind {
	VERDICT_NONE, /* nothing differs */
	VERDICT_NOT_DETERMINISTIC,
	VERDICT_RACE,
	VERDICT_HOST,
	VERDICT_NOT_EXECUTED,
	VERDICT_INCOMPLETE,
	VERDICT_UNWRITTEN, /* the program reads memory that was never written */
	VERDICT_DEVICE,
	VERDICT_OPEN, /* the cause was not found; text says why */
};

struct verdict {
	enum verdict_kind kind;
	uint64_t seq, with; /* the command, and the other one of a race; 0: none */
	struct buf text;    /* lines; the first begins with "Why: " */
};

/* Called after device_verify(), whose answer is v, with the replay at the window's end. Afterwards
 * the replay is there again. */
void verdict_find(struct engine *en, const struct device_verified *v, struct verdict *ret);
void verdict_free(struct verdict *v);

#endif
