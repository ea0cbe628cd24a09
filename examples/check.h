/* SPDX-License-Identifier: Apache-2.0
 *
 * What the examples share: a CUDA call that fails ends the program with the call and the reason.
 */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t check_error = (call);                                                  \
		if (check_error != cudaSuccess) {                                                  \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(check_error));                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Small numbers that differ from place to place, the same in every run. */
static inline float check_value(unsigned i)
{
	i = i * 2654435761u + 12345u;
	return (float)((i >> 16) % 1000) / 1000.0f - 0.5f;
}

#endif
