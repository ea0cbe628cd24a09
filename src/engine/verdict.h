/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay is not what was recorded. The first thing that differs is taken (a copy to the host, else memory at the window's end), and of
 * everything that may make a difference what reaches it (order/flow.h): a kernel that leaves other bytes when it is executed again from the same
 * memory, a race, what the host wrote meanwhile, a call that is not executed again. When none does, the device and the recording disagree.
 */
#ifndef ENGINE_VERDICT_H
#define ENGINE_VERDICT_H

#include "engine/replay-device.h"
#include "engine/engine.h"

enum verdict_kind {
	VERDICT_NONE, /* nothing differs */
	VERDICT_NOT_DETERMINISTIC, VERDICT_RACE, VERDICT_HOST, VERDICT_NOT_EXECUTED, VERDICT_INCOMPLETE,
	VERDICT_UNWRITTEN, /* what nobody wrote is read */
	VERDICT_DEVICE,
	VERDICT_OPEN, /* it could not be found out; text says why */
};

struct verdict {
	enum verdict_kind kind;
	uint64_t seq, with; /* the command, and of a race the other one; 0: none */
	struct buf text;    /* lines; the first begins with "Why: " */
};

/* After device_verify(), whose answer is v; the replay is at the window's end then, and where it was afterwards. */
void verdict_find(struct engine *en, const struct device_verified *v, struct verdict *ret);
void verdict_free(struct verdict *v);

#endif
