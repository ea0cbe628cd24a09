/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends with exit status 7.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();

	count<<<1, 32>>>(n, 1);
	printf("exit_code: %d\n", counter_value(n));
	return 7;
}
