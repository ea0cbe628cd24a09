/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the driver that may wait for the device, perhaps for ever. A thread of the agent makes
 * them, and the caller waits for it only up to a limit.
 */
#ifndef CAPTURE_DEADLINE_H
#define CAPTURE_DEADLINE_H

#include <stdbool.h>
#include "capture/core/driver.h"

/* The value of `set gpu-timeout` in milliseconds; 0 means 5 s. */
unsigned deadline_limit(void);
/* Runs fn(arg) and sets *ret to its result. Returns false, with *ret unchanged, if fn did not
 * return within ms milliseconds, or an earlier call has not returned yet; fn may not have begun
 * then, and does not begin later. Data that fn uses must stay valid: fn runs on until the driver
 * returns, and until then every call returns false. fn may call deadline_run() itself. The caller
 * holds no lock that fn takes. If no thread can be made, fn runs in the caller. */
bool deadline_run(
	struct driver_result (*fn)(void *arg), void *arg, unsigned ms, struct driver_result *ret);
/* The agent is not live any more: the thread ends when the driver returns. */
void deadline_stop(void);

#endif
