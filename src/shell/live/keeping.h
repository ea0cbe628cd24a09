/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of a live program (tsdb-keeper): when there is to be one, and what the user has to
 * know of it.
 */
#ifndef SHELL_KEEPING_H
#define SHELL_KEEPING_H

#include "shell/line/session.h"

struct tsdb_control;

/* Starts the keeper if the settings and the program ask for one, or ends it. Without it everything
 * works until the device faults. */
void keeping_configure(struct session *s, struct tsdb_control *ctl);
/* Says, once for each keeper, that it has ended or why the agent does not use it. ctl may be
 * NULL. */
void keeping_tell(struct session *s, struct tsdb_control *ctl);

#endif
