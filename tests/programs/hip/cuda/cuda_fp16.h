/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's header by its HIP name.
 */
#include <hip/hip_fp16.h>
