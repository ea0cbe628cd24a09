/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the result of a check, as text and as JSON.
 */
#ifndef SHELL_CHECK_PRINT_H
#define SHELL_CHECK_PRINT_H

#include "engine/check.h"
#include "shell/line/session.h"

void check_print(struct session *s, const struct check_result *r, struct buf *out);
void check_json(struct session *s, const struct check_result *r, struct buf *out);

#endif
