/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program waits for, outside of the command `why`.
 */
#ifndef SHELL_WHY_H
#define SHELL_WHY_H

struct session;

/* Called when Ctrl-C has stopped the program: says what it waits for, if a thread is in a call that
 * waits for the device. */
void why_at_interrupt(struct session *s);

#endif
