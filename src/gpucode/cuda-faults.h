/* SPDX-License-Identifier: Apache-2.0
 *
 * Which results of CUDA's driver mean that the device has faulted: the context answers nothing else
 * from then on. From cuda.h (CUDA 13.0, CUresult): the errors of which it says that the process is
 * left in an inconsistent state, or has to be terminated and relaunched, or that the context cannot
 * be used anymore, and the two uncorrectable errors of memory and NVLink during execution. By
 * number, since older toolkits lack some of the names.
 *
 * CUDA_ERROR_CONTEXT_IS_DESTROYED is none: a program gets it that goes on with a context that it
 * has destroyed itself, or with a primary one that is not initialised yet, and its other contexts
 * work.
 */
#ifndef GPUCODE_CUDA_FAULTS_H
#define GPUCODE_CUDA_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool cuda_code_is_fault(uint32_t code)
{
	switch (code) {
	case 214: /* ECC_UNCORRECTABLE */
	case 220: /* NVLINK_UNCORRECTABLE */
	case 226: /* CONTAINED */
	case 700: /* ILLEGAL_ADDRESS */
	case 702: /* LAUNCH_TIMEOUT */
	case 710: /* ASSERT */
	case 714: /* HARDWARE_STACK_ERROR */
	case 715: /* ILLEGAL_INSTRUCTION */
	case 716: /* MISALIGNED_ADDRESS */
	case 717: /* INVALID_ADDRESS_SPACE */
	case 718: /* INVALID_PC */
	case 719: /* LAUNCH_FAILED */
	case 721: /* TENSOR_MEMORY_LEAK */
	case 810: /* MPS_CLIENT_TERMINATED */
	case 911: /* EXTERNAL_DEVICE */
		return true;
	default:
		return false;
	}
}

#endif
