/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what executing a window again, or a part of it, came to.
 */
#ifndef SHELL_REPLAY_PRINT_H
#define SHELL_REPLAY_PRINT_H

#include "engine/partial.h"
#include "engine/replay-device.h"
#include "engine/verdict.h"
#include "shell/line/session.h"

/* As one JSON object. seconds: that it took; NAN: not measured. */
void replayed_json(struct session *s, struct buf *out, const struct device_verified *v,
	const struct verdict *why, double seconds);
/* Of a window that failed where the recording did: nothing can be compared. */
void faulted_json(struct buf *out, const struct replay_device *rd);
void partial_json(struct buf *out, const struct replay_device *rd, const struct partial_result *r,
	double seconds);
void partial_print(struct buf *out, const struct partial_result *r);

#endif
