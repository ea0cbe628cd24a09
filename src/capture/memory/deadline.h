/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the driver that may wait for the device, which may never come to an end. They are made by a thread of the agent's own,
 * and the caller waits for it no longer than a limit.
 */
#ifndef CAPTURE_DEADLINE_H
#define CAPTURE_DEADLINE_H

#include <stdbool.h>
#include "capture/core/driver.h"

/* `set gpu-timeout`, in milliseconds; 0 is 5 s. */
unsigned deadline_limit(void);
/* Runs fn(arg) and sets *ret to what it returned. False: it did not return within so many milliseconds, or an earlier call has not
 * returned yet; *ret is left alone. What fn uses must live on: it goes on until the driver lets it go, and every call answers false
 * until then. fn may call deadline_run() itself. The caller holds no lock that fn takes. Without a thread fn runs in the caller. */
bool deadline_run(
	struct driver_result (*fn)(void *arg), void *arg, unsigned ms, struct driver_result *ret);
/* The agent is not live any more: the thread ends, if the driver lets it go. */
void deadline_stop(void);

#endif
