/* SPDX-License-Identifier: Apache-2.0
 *
 * Records a hash of what memory holds when it is freed, alone or with its context: at the window's
 * end nothing of it is left to compare a replay with.
 */
#ifndef CAPTURE_FREED_H
#define CAPTURE_FREED_H

#include "capture/core/agent.h"

struct call;

/* Called when a FREE or a CTX_DESTROY of an open window has its number and has not reached the
 * driver. It waits for work only where the driver is about to wait for it, too. */
void freed_enter(const struct call *c);

#endif
