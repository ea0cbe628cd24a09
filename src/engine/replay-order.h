/* SPDX-License-Identifier: Apache-2.0
 *
 * A window executed whole in another order than that of submission, and compared with the
 * recording.
 */
#ifndef ENGINE_REPLAY_ORDER_H
#define ENGINE_REPLAY_ORDER_H

#include "engine/replay-device.h"
#include "engine/engine.h"

/* Executes the window in another order on the replay's device and compares the result. turned: of
 * these two commands the first one is executed first; NULL: commands run in the order in which the
 * GPU started them, by the recording's GPU times (ERR_INCOMPLETE: it has none). Afterwards the
 * device is at the window's end, with the memory of that order, until it moves. ERR_NOT_FOUND: the
 * program does not allow that order; ERR_LIMIT: there are too many commands. */
struct err *replay_order_verify(
	struct engine *en, const struct order_pair *turned, struct device_verified *ret) TS_CHECK;
/* Whether the recording has GPU times for the window's commands. */
bool replay_order_has_times(struct engine *en);

#endif
