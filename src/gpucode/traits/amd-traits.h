/* SPDX-License-Identifier: Apache-2.0
 *
 * AMD's half of code-traits.h.
 */
#ifndef GPUCODE_AMD_TRAITS_H
#define GPUCODE_AMD_TRAITS_H

#include "gpucode/code-traits.h"

struct code_traits amd_traits_of(const void *object, size_t n, const char *kernel);

#endif
