/* SPDX-License-Identifier: Apache-2.0
 *
 * A window executed whole in another order than that of submission, and compared with the recording.
 */
#ifndef ENGINE_REPLAY_ORDER_H
#define ENGINE_REPLAY_ORDER_H

#include "engine/replay-device.h"
#include "engine/engine.h"

/* On the replay's device. turned: of these two commands the first one is executed first; NULL:
 * commands come in the order in which the GPU started them, by the recording's GPU times
 * (ERR_INCOMPLETE: it has none). Afterwards the device counts as being at the window's end, with
 * the memory of that order, until it moves. ERR_NOT_FOUND: the program does not allow that order;
 * ERR_LIMIT: there are too many commands. */
struct err *replay_order_verify(
	struct engine *en, const struct order_pair *turned, struct device_verified *ret) TS_CHECK;
/* Whether the recording has GPU times of the window's commands. */
bool replay_order_has_times(struct engine *en);

#endif
