/* SPDX-License-Identifier: Apache-2.0
 *
 * Code images in the process's own memory: cubins, PTX text and fatbins that the program has loaded modules from, or the driver keeps. Whether one is
 * anything's code is for others to say.
 */
#ifndef CAPTURE_IMAGES_H
#define CAPTURE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind { IMAGE_CUBIN = 1, IMAGE_PTX = 2, IMAGE_FATBIN = 4 };
struct image {
	enum image_kind kind;
	const uint8_t *bytes; /* a copy, NUL behind it, gone after the call */
	size_t size;
};
struct images_sums {
	uint64_t read;	  /* bytes of memory looked through */
	uint64_t skipped; /* and not, because there was too much of it */
};

/* Calls fn for each image of these kinds until it returns true. Takes about a second for 4 GB. For one thread at a time. */
void images_each(unsigned kinds, bool (*fn)(void *arg, const struct image *i), void *arg, struct images_sums *ret);

#endif
