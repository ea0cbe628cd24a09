/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries: containers of code for several architectures, made by nvcc. All input is hostile: every size is checked against
 * the bytes that are there, none is found by searching.
 */
#ifndef SOFTGPU_FATBIN_H
#define SOFTGPU_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u

enum fatbin_result {
	FATBIN_OK,
	FATBIN_MALFORMED,
	FATBIN_NO_PTX, /* code for real devices only */
	FATBIN_NO_MEMORY,
};

/* What a wrapper points to, NULL when it is none. p is read for 24 bytes. */
const void *fatbin_unwrap(const void *p);
/* Whether a fat binary's header stands at p; reads 4 bytes. */
bool fatbin_is(const void *p);
/* The bytes that the fat binary at p says it has, header included; 0 when malformed. Reads 16 bytes. */
size_t fatbin_size(const void *p);
/* The PTX for a device of this architecture (75 for 7.5): the highest one not above it, else the lowest. *text is malloc'ed and
 * NUL-terminated. why, when not NULL, gets a static description of what is malformed. */
enum fatbin_result fatbin_ptx(const void *p, size_t n, unsigned arch, char **text, size_t *size, const char **why);

#endif
