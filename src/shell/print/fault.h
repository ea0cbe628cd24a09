/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed when a GPU call has failed: the device's fault, or the call's error.
 */
#ifndef SHELL_FAULT_H
#define SHELL_FAULT_H

#include "capture/wire.h"
#include "shell/line/session.h"

/* Prints the failure at the stop. e comes from the program's process and is not trusted. */
void fault_tell(struct session *s, const struct tsdb_error *e);
/* At a stop at a fault: the launch that caused it. Returns false at another stop, or if it is not
 * known. *ret_sure: the device named it; else it may have caused it. *ret is valid until the
 * program goes on. */
bool fault_launch(struct session *s, struct sbt_cmd *ret, bool *ret_sure);

#endif
