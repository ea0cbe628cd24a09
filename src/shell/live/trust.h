/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user should know before the code of a trace runs on this machine, and what this machine has to keep it in (docs/security.md).
 */
#ifndef SHELL_TRUST_H
#define SHELL_TRUST_H

#include "shell/line/session.h"

/* The session's trace is about to be executed. Once a session, on standard error: when another user or another machine recorded it, or when there is
 * to be no sandbox. */
void trust_tell(struct session *s, bool no_sandbox);
/* For `tsdb doctor`: the walls of the replayer's sandbox here, a line each. False when there is no sandbox to be had. */
bool trust_doctor(struct session *s, const char *replayer, bool driver);

#endif
