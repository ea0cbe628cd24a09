/* SPDX-License-Identifier: Apache-2.0
 *
 * A dispatch under the microscope (kfd-micro.c). Called by the queues' threads; without a session
 * that waits, a dispatch pays one look at a flag.
 */
#ifndef SOFTAMD_KFD_MICRO_H
#define SOFTAMD_KFD_MICRO_H

#include "replayer/soft-debug.h"
#include "softamd/thunk/kfd.h"

/* In place of amd_run(): whether a session waits for this dispatch, which now runs in it. */
bool kfd_micro_take(struct kfd_queue *q, const struct amd_dispatch *d);

KFD_PUBLIC const struct soft_debug *tsdb_soft_debug(void);

#endif
