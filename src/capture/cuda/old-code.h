/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the code of modules that were loaded before the agent came: no callback passed it on, and
 * the driver has no function that returns it. A library's code (cuLibraryLoadData: everything that
 * the CUDA runtime loads) is obtained by loading the library again, into a context that is made for
 * that and destroyed. A module's code (cuModuleLoadData) is looked for in the process's memory, and
 * compared by what the driver says of its functions.
 */
#ifndef CAPTURE_OLD_CODE_H
#define CAPTURE_OLD_CODE_H

#include "capture/core/agent.h"

struct object;
struct thread;

/* Asks for the code of a kernel (is_kernel: a CUkernel) whose module's code is not known. Any
 * thread. ctx may be NULL. */
void old_code_want(struct object *module, uint64_t handle, bool is_kernel, struct object *ctx);
/* Whether there is anything left to look for. */
bool old_code_waiting(void);
/* Waits until there is not, while the search goes on (late_wait()). Returns the number of the last
 * record about such code; 0: none. Not to be called within a call. */
uint64_t old_code_settle(void);
/* In the agent's own thread: looks for the code, and writes a MODULE_CODE record, or an ATTACH
 * record if it was not found. */
void old_code_find(struct thread *t);
void old_code_forget(void);

#endif
