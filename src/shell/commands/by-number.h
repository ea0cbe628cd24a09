/* SPDX-License-Identifier: Apache-2.0
 *
 * `enable`, `disable` and `delete` are about breakpoints, displays and checkpoints: which of them
 * takes the line.
 */
#ifndef SHELL_BY_NUMBER_H
#define SHELL_BY_NUMBER_H

#include "shell/line/session.h"

/* cmd-display.c: takes the line if its first word is `display`. Returns false if not; *ret: the
 * result. */
bool displays_command(struct session *s, const struct cmd_args *a, struct err **ret);
/* cmd-checkpoint.c: the same for `delete checkpoint`. */
bool checkpoints_command(struct session *s, const struct cmd_args *a, struct err **ret);

struct checkpoints;
void checkpoints_free(struct checkpoints *c);

#endif
