/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as the user's printers in Python show them: tsdb.register_printer().
 */
#ifndef SHELL_PY_SHOW_H
#define SHELL_PY_SHOW_H

#include "lang/lang.h"
#include "shell/line/session.h"

/* Appends what the printer for v's type makes of it. Returns false if there is none, it leaves v to
 * tsdb, or fails, which a note says; also for values of more than 1 MiB, and while Python is in the
 * middle of something. */
bool python_show(struct session *s, const struct lang_value *v, struct buf *out);

#endif
