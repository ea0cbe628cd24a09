/* SPDX-License-Identifier: Apache-2.0
 *
 * The program late with the CUDA runtime inside: runs with an NVIDIA driver only.
 */
#include "late.cu"
