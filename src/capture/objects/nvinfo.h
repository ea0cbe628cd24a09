/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' parameters from the cubin, for drivers before CUDA 12.4, which do not tell them.
 */
#ifndef CAPTURE_NVINFO_H
#define CAPTURE_NVINFO_H

#include <stddef.h>
#include "capture/objects/kernel.h"

/* Remembers the parameters of every kernel in an ELF cubin. Ignores other data, and damaged
 * cubins. */
void nvinfo_learn(const void *cubin, size_t size);
/* Gets the parameters of the kernel called name, in order; returns how many, or -1 if no cubin had
 * the kernel. */
int nvinfo_params(const char *name, struct kernel_param *to, unsigned max);

#endif
