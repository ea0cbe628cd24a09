/* SPDX-License-Identifier: Apache-2.0
 *
 * gfx-dis GFX: a disassembler for tests. Each line of the input is the words of one instruction in
 * hexadecimal; each line of the output its length in bytes and text, or "unknown".
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpucode/gfx-decode.h"

static size_t read_words(char *line, uint32_t w[4])
{
	size_t n = 0;
	char *p = line, *end;

	while (n < 4) {
		w[n] = (uint32_t)strtoul(p, &end, 16);
		if (end == p)
			break;
		p = end;
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned target = gfx_target((uint32_t)strtoul(argc > 1 ? argv[1] : "90a", NULL, 16));
	char line[256], text[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct gfx_insn i;
		uint32_t w[4];
		size_t n = read_words(line, w);

		if (!gfx_decode(target, w, n, &i)) {
			puts("unknown");
			continue;
		}
		gfx_text(target, &i, text, sizeof(text));
		printf("%u %s\n", i.size, text);
	}
	return 0;
}
