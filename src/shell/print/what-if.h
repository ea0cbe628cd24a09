/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes a replay on a device: the forms of `set` that are not settings.
 */
#ifndef SHELL_WHAT_IF_H
#define SHELL_WHAT_IF_H

#include "shell/line/session.h"

/* Runs "{TYPE}ADDRESS = VALUE..." */
struct err *what_if_cast(struct session *s, const char *text) TS_CHECK;
/* Runs "ADDRESS TYPE VALUE..." of `set memory` */
struct err *what_if_memory(struct session *s, const char *text) TS_CHECK;
/* Runs "N VALUE" of `set arg` */
struct err *what_if_arg(struct session *s, const char *text) TS_CHECK;

#endif
