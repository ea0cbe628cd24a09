/* SPDX-License-Identifier: Apache-2.0
 *
 * Links the CUDA runtime statically: runs with an NVIDIA driver only.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();

	count<<<1, 32>>>(n, 1);
	printf("static_cudart: %d\n", counter_value(n));
	return 0;
}
