/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends with exit status 7, or the one it is given.
 */
#include "gpu.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
	int *n = counter_new();

	count<<<1, 32>>>(n, 1);
	printf("exit_code: %d\n", counter_value(n));
	return argc > 1 ? atoi(argv[1]) : 7;
}
