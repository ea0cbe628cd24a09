/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user sees where a GPU call has failed: the device's fault, or a call's error.
 */
#ifndef SHELL_FAULT_H
#define SHELL_FAULT_H

#include "capture/wire.h"
#include "shell/line/session.h"

/* At the stop. What e says comes from the program's process and is not trusted. */
void fault_tell(struct session *s, const struct tsdb_error *e);
/* At such a stop: the launch that did it. False: another stop, or not known. *ret_sure: the device named it; else it is the one that may have. *ret lives until the program goes on. */
bool fault_launch(struct session *s, struct sbt_cmd *ret, bool *ret_sure);

#endif
