/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts and decompresses the PTX in a fat binary. It allocates and needs libzstd, so the agent
 * does not use it.
 */
#ifndef GPUCODE_FATBIN_TEXT_H
#define GPUCODE_FATBIN_TEXT_H

#include <stddef.h>

enum fatbin_result {
	FATBIN_OK,
	FATBIN_MALFORMED,
	FATBIN_NO_PTX, /* code for real devices only */
	FATBIN_NO_MEMORY,
};

/* The PTX for a device of this architecture (75 for 7.5), as fatbin_best() chooses it. *text is
 * malloc'ed and NUL-terminated. why, when not NULL, gets a static description of what is malformed.
 */
enum fatbin_result fatbin_ptx(
	const void *p, size_t n, unsigned arch, char **text, size_t *size, const char **why);

#endif
