/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels that were looked up before the observer came, read from the process's memory. A
 * CUfunction and a CUkernel are addresses of the driver's record of the kernel; the record's second
 * word points to the name that cuFuncGetName and cuKernelGetName return. This is no documented
 * interface: it was found with NVIDIA's driver 580. So names are trusted for drivers that are known
 * to work like this, and for others once a name that the driver returned in this process was found
 * there; a name that was not found there suspends it until another name is found.
 */
#ifndef OBSERVE_KERNEL_NAMES_H
#define OBSERVE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel_names;

struct kernel_names *kernel_names_new(pid_t pid);
void kernel_names_free(struct kernel_names *k);
/* Notes that the driver returned this name of a handle. Does nothing for a process that has ended
 * or whose memory cannot be read. */
void kernel_names_told(struct kernel_names *k, uint64_t handle, const char *name);
/* The kernel's name; NULL: not known. known: the process's driver is known to work like this. Valid
 * until the next call. */
const char *kernel_names_get(struct kernel_names *k, uint64_t handle, bool known);

#endif
