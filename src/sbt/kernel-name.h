/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels by name, as users write them and as compilers mangle them; marks by their text. It is
 * also compiled into the agent.
 */
#ifndef SBT_KERNEL_NAME_H
#define SBT_KERNEL_NAME_H

#include "sbt/cmd.h"

/* The qualified name without template arguments and parameters: "_ZN2at6native6matmulIfEEvPT_" ->
 * "at::native::matmul". A name that is not mangled (Itanium C++ ABI 5.1) is copied. Always
 * NUL-terminates; no allocation. */
void sbt_kernel_short_name(char *dst, size_t n, const char *mangled);
/* Whether glob (*, ?, [..]; A|B is either) matches the mangled name, the short name, or the last
 * component of the short name. */
bool sbt_kernel_glob(const char *glob, const char *mangled, const char *short_name);
/* Whether c is an NVTX mark, or the beginning of a range, whose text glob matches; of a longer text
 * the first 255 bytes count. */
bool sbt_mark_glob(const char *glob, const struct sbt_cmd *c);

#endif
