/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies its standard input to its standard output, with a launch for every line.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		count<<<1, 1>>>(n, 1);
		fputs(line, stdout);
	}
	printf("stdin_echo: %d lines\n", counter_value(n));
	return 0;
}
