/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries: any bytes, for a few device architectures. What comes out must be text that ends
 * where it says.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gpucode/fatbin-text.h"
#include "gpucode/fatbin.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const unsigned archs[] = {30, 75, 120};
	unsigned i;

	for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		const char *why = NULL;
		char *text = NULL;
		size_t size = 0;
		/* malloc'ed to the byte, so that a read past the end shows */
		void *copy = malloc(n ? n : 1);

		if (!copy)
			return 0;
		memcpy(copy, data, n);
		switch (fatbin_ptx(copy, n, archs[i], &text, &size, &why)) {
		case FATBIN_OK:
			BUG_ON(strlen(text) != size);
			break;
		case FATBIN_MALFORMED:
			BUG_ON(!why || text);
			break;
		default:
			BUG_ON(text);
			break;
		}
		free(text);
		free(copy);
	}
	return 0;
}
