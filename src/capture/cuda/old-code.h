/* SPDX-License-Identifier: Apache-2.0
 *
 * Code of modules that were loaded before the agent came: no callback hands it over, and no question to the driver. A library's
 * (cuLibraryLoadData: all that the CUDA runtime loads) is made to be handed over by loading it once more, into a context that is made for that and destroyed. A
 * module's (cuModuleLoadData) is looked for in the process's memory, and compared by what the driver tells of its functions.
 */
#ifndef CAPTURE_OLD_CODE_H
#define CAPTURE_OLD_CODE_H

#include "capture/core/agent.h"

struct object;
struct thread;

/* A kernel (is_kernel: a CUkernel) was met whose module's code is not known. Any thread. ctx may be NULL. */
void old_code_want(struct object *module, uint64_t handle, bool is_kernel, struct object *ctx);
/* Whether anything is still to be looked for. */
bool old_code_waiting(void);
/* Waits until nothing is, some seconds at most. The number of the last record that tells of any; 0: none. Not within a call. */
uint64_t old_code_settle(void);
/* The agent's own thread: looks for what is wanted, and tells with a MODULE_CODE record, or an ATTACH record that says that it was not found. */
void old_code_find(struct thread *t);
void old_code_forget(void);

#endif
