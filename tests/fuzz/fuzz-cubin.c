/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubins: any bytes, as the replayer and the agent read them. What is told must lie in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gpucode/cubin-cells.h"
#include "gpucode/cubin.h"
#include "fuzz.h"

static void cell(void *arg, const char *variable, uint64_t offset)
{
	BUG_ON(strlen(variable) > *(size_t *)arg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* malloc'ed to the byte, so that a read past the end shows */
	void *copy = malloc(n ? n : 1);
	struct cubin c;
	Elf64_Shdr s;

	if (!copy)
		return 0;
	memcpy(copy, data, n);
	(void)cubin_cells(copy, n, cell, &n);
	if (cubin_open(&c, copy, n) && cubin_is_whole(&c))
		for (uint64_t i = 0; i < c.nsections; i++) {
			BUG_ON(!cubin_section(&c, i, &s));
			BUG_ON(s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && s.sh_size &&
				s.sh_offset + s.sh_size > n);
			BUG_ON(strlen(cubin_string(&c, c.header.e_shstrndx, s.sh_name)) > n);
		}
	free(copy);
	return 0;
}
