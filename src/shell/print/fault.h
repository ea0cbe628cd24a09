/* SPDX-License-Identifier: Apache-2.0
 *
 * What is printed when a GPU call has failed: the device's fault, or the call's error.
 */
#ifndef SHELL_FAULT_H
#define SHELL_FAULT_H

#include "shell/line/session.h"

/* Prints the failure at a stop. Its texts come from the program's process and are not trusted. */
void fault_tell(struct session *s, const struct live_fault *f);

#endif
