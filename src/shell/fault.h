/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user sees where a GPU call has failed: the device's fault, or a call's error.
 */
#ifndef SHELL_FAULT_H
#define SHELL_FAULT_H

#include "capture/wire.h"
#include "shell/session.h"

/* At the stop. What e says comes from the program's process and is not trusted. */
void fault_tell(struct session *s, const struct tsdb_error *e);

#endif
