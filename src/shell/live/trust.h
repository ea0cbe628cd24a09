/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user should know before the code of a trace runs on this machine, and which sandbox this
 * machine offers (docs/security.md).
 */
#ifndef SHELL_TRUST_H
#define SHELL_TRUST_H

#include "shell/line/session.h"

/* Called when the session's trace is about to be executed. Warns on standard error, once for each
 * trace: when another user or another machine recorded it, or when there will be no sandbox. */
void trust_tell(struct session *s, bool no_sandbox);
/* For `tsdb doctor`: adds the walls of the replayer's sandbox here, one row each, and says so if
 * there is no sandbox. */
struct listing;
void trust_doctor(struct listing *l, const char *replayer, bool driver);

#endif
