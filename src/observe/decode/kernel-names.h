/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels that were looked up before the observer came, out of the process's memory: a CUfunction and a CUkernel are addresses of
 * the driver's record of the kernel, and the second word of it points to the name that cuFuncGetName and cuKernelGetName give. That is no interface:
 * it was found so with NVIDIA's driver 580. So it is believed for drivers that are known to be so, and for others once a name that the driver has
 * told in this process was found there; and not while one that was told is not there.
 */
#ifndef OBSERVE_KERNEL_NAMES_H
#define OBSERVE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel_names;

struct kernel_names *kernel_names_new(pid_t pid);
void kernel_names_free(struct kernel_names *k);
/* The driver told the process this name of a handle. A process that is gone, or whose memory may not be read, tells nothing. */
void kernel_names_told(struct kernel_names *k, uint64_t handle, const char *name);
/* known: the process's driver is one that is so. NULL: not known. Valid until the next call. */
const char *kernel_names_get(struct kernel_names *k, uint64_t handle, bool known);

#endif
