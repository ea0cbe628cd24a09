/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the races that the software GPU finds inside kernels.
 */
#ifndef SHELL_RACES_H
#define SHELL_RACES_H

#include "shell/line/session.h"

/* Prints the races that the replay found since the last call, except those already printed in this
 * replay. */
void races_tell(struct session *s);
/* The same for the live program, from the file that it writes. */
void races_tell_live(struct session *s);
/* Another run or replay begins: races may be printed again. */
void races_forget(struct session *s);
/* Called at the session's end. */
void races_deinit(struct session *s);

#endif
