/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes no GPU call at all.
 */
#include <stdio.h>

int main(void)
{
	printf("no_gpu: hello\n");
	return 0;
}
