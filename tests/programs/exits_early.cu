/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls _exit with work still pending and its output unflushed by stdio.
 */
#include "gpu.h"

int main(void)
{
	int *n = counter_new();
	const char text[] = "exits_early: leaving\n";

	for (int i = 0; i < 50; i++)
		count<<<1, 32>>>(n, 1);
	printf("this is never flushed");
	if (write(1, text, sizeof(text) - 1) < 0)
		return 1;
	_exit(3);
}
