/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's header by its HIP names.
 */
#include "cuda_as_hip.h"
