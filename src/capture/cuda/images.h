/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds code images in the process's own memory: cubins, PTX text and fatbins from which the
 * program has loaded modules, or which the driver keeps. Callers decide which module an image
 * belongs to.
 */
#ifndef CAPTURE_IMAGES_H
#define CAPTURE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind { IMAGE_CUBIN = 1, IMAGE_PTX = 2, IMAGE_FATBIN = 4 };
struct image {
	enum image_kind kind;
	const uint8_t *bytes; /* a copy with a NUL behind it; valid during the call */
	size_t size;
};
struct images_sums {
	uint64_t read;	  /* bytes of memory looked through */
	uint64_t skipped; /* bytes skipped, because there was too much memory */
};

/* Calls fn for each image of these kinds until it returns true. Takes about a second for 4 GB. Not
 * thread-safe. */
void images_each(unsigned kinds, bool (*fn)(void *arg, const struct image *i), void *arg,
	struct images_sums *ret);

#endif
