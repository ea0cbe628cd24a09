/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine code of GFX9: any words, for each target. What is read has a text that ends, and reading
 * its own words alone gives the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "softamd/decode/gfx-decode.h"
#include "fuzz.h"

static void read_all(unsigned target, const uint32_t *w, size_t n)
{
	while (n) {
		struct gfx_insn i, again;
		char text[300];
		size_t used = 1;

		if (gfx_decode(target, w, n, &i)) {
			used = i.size / 4;
			if (!used || used > n)
				abort();
			gfx_text(target, &i, text, sizeof(text));
			if (strlen(text) + 1 >= sizeof(text))
				abort();
			if (!gfx_decode(target, w, used, &again) ||
				memcmp(&i, &again, sizeof(i)) != 0)
				abort();
		}
		w += used;
		n -= used;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t words[256];
	size_t n = size / 4 < 256 ? size / 4 : 256;

	memcpy(words, data, n * 4);
	for (unsigned target = GFX_900; target <= GFX_90A; target *= 2)
		read_all(target, words, n);
	return 0;
}
