/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine reports of the live program, as sentences.
 */
#ifndef SHELL_LIVE_TEXT_H
#define SHELL_LIVE_TEXT_H

#include "shell/line/session.h"

/* Prints a note; en is the session's engine, or that of a followed child. */
void live_note_tell(struct session *s, struct engine *en, const struct live_note *n);
/* Prints why the program stopped, or how it ended, and sets the variables that say it. */
void live_stop_tell(struct session *s, const struct live_stop *stop);

/* "SIGSEGV", or NULL for a number without a name; "Segmentation fault". */
const char *signal_name(int sig);
const char *signal_text(int sig);

#endif
