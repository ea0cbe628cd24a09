/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests/python-lines.py: reads lines "FIRST-LINE INSTRUCTIONS HEX-TABLE" and prints the line of
 * each instruction.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "sbt/python.h"

int main(void)
{
	unsigned first, n, byte;
	int c;

	while (scanf("%u %u", &first, &n) == 2) {
		uint8_t *table = NULL;
		size_t len = 0;

		while ((c = getchar()) == ' ')
			;
		for (ungetc(c, stdin); scanf("%2x", &byte) == 1;) {
			table = realloc(table, len + 1);
			if (!table)
				return 1;
			table[len++] = (uint8_t)byte;
			c = getchar();
			ungetc(c, stdin);
			if (c == '\n')
				break;
		}
		for (unsigned i = 0; i < n; i++)
			printf("%s%u", i ? " " : "",
				python_line(table, len, first, (uint64_t)i * PYTHON_UNIT));
		putchar('\n');
		free(table);
	}
	return 0;
}
