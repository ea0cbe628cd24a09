/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of libcupti.so.13 share. The driver has only the hooks that are needed: none while
 * there is no subscriber and no activity is enabled.
 */
#ifndef SOFTGPU_CUPTI_INT_H
#define SOFTGPU_CUPTI_INT_H

#include "softgpu/driver/soft.h"
#include <cupti.h>

/* --- the driver below (cupti-query.c) --- */
/* The private functions of the software GPU's libcuda.so.1, which is loaded when it is not yet. */
struct cupti_driver {
	void (*set_hooks)(const struct soft_hooks *hooks);
	uint32_t (*context_id)(CUcontext ctx);
	uint32_t (*stream_id)(CUcontext ctx, CUstream stream, bool per_thread);
	uint64_t (*graph_id)(const void *handle);
	void (*drain)(void);
	CUresult (*ctx_get_current)(CUcontext *ctx);
};
/* NULL, after one line on stderr, when libcuda.so.1 is not the software GPU's. */
const struct cupti_driver *cupti_driver(void);
/* The thread's last error, as cuptiGetLastError gives it; returns r. */
CUptiResult cupti_result(CUptiResult r);
uint64_t cupti_now(void);
/* The program's own clock minus ours, in nanoseconds; 0 without
 * cuptiActivityRegisterTimestampCallback. */
int64_t cupti_clock_offset(void);

/* --- callbacks (cupti-callback.c) --- */
bool callback_wants_calls(void);
bool callback_wants_resources(void);
void callback_call(struct soft_call *c, bool exit);
void callback_resource(const struct soft_resource *r);
void callback_reset(void);
void callback_after_fork(void);

/* --- activity records (cupti-activity.c) --- */
bool activity_wants_calls(void);
bool activity_wants_ops(void);
void activity_call(const struct soft_call *c);
void activity_op(const struct soft_op *op);
void activity_reset(void);
void activity_after_fork(void);

/* Puts the hooks that are wanted now into the driver. */
CUptiResult hooks_update(void);

#endif
