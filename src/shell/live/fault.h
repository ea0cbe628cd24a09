/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed when a GPU call has failed: the device's fault, or the call's error.
 */
#ifndef SHELL_FAULT_H
#define SHELL_FAULT_H

#include "shell/line/session.h"

/* Prints the failure at a stop. Its texts come from the program's process and are not trusted. */
void fault_tell(struct session *s, const struct live_fault *f);
/* Takes an error of reading device memory. At a stop at a fault, where there is none to read, the
 * error that is returned says why and what keeps it the next time; else it is e. */
struct err *fault_lost(struct session *s, struct err *e) TS_CHECK;

#endif
