/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in PTX text, numbered: registers, parameters, labels and variables of a function, each with
 * a number from 0, in the order in which they came. What is known of a name lies in an array of the
 * caller's, by that number.
 */
#ifndef GPUCODE_PTX_NAMES_H
#define GPUCODE_PTX_NAMES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "gpucode/ptx-text.h"

/* All zeros: there is none. The texts are the caller's, and outlive it. */
struct ptx_names {
	struct ptx_text *text; /* by number */
	size_t n, cap;
	uint32_t *slot; /* number + 1, by hash; 0: empty. Never more than half of them are used */
	size_t nslots;	/* a power of two, or 0 */
};

static inline size_t ptx_text_length(struct ptx_text t)
{
	return (size_t)(t.end - t.p);
}

static inline bool ptx_text_same(struct ptx_text a, struct ptx_text b)
{
	const size_t n = ptx_text_length(a);

	return n == ptx_text_length(b) && !memcmp(a.p, b.p, n);
}

/* The name's slot, or the empty one where it belongs. */
static inline size_t ptx_names_slot(const struct ptx_names *names, struct ptx_text text)
{
	size_t s = 5381;

	for (const char *p = text.p; p < text.end; p++)
		s = s * 33 ^ (unsigned char)*p;
	for (s &= names->nslots - 1; names->slot[s]; s = (s + 1) & (names->nslots - 1))
		if (ptx_text_same(names->text[names->slot[s] - 1], text))
			break;
	return s;
}

/* Returns false if the name has no number. */
static inline bool ptx_names_find(
	const struct ptx_names *names, struct ptx_text text, uint32_t *ret)
{
	const size_t s = names->nslots ? ptx_names_slot(names, text) : 0;

	if (!names->nslots || !names->slot[s])
		return false;
	*ret = names->slot[s] - 1;
	return true;
}

/* The name's number; a new name gets names->n as it was before. */
static inline uint32_t ptx_names_number(struct ptx_names *names, struct ptx_text text)
{
	size_t s;

	if (2 * (names->n + 1) > names->nslots) {
		names->nslots = names->nslots ? 2 * names->nslots : 256;
		free(names->slot);
		names->slot = xcalloc(names->nslots, sizeof *names->slot);
		for (size_t i = 0; i < names->n; i++)
			names->slot[ptx_names_slot(names, names->text[i])] = (uint32_t)i + 1;
	}
	s = ptx_names_slot(names, text);
	if (!names->slot[s]) {
		MAKE_ROOM(names->text, names->n, names->cap);
		names->text[names->n++] = text;
		names->slot[s] = (uint32_t)names->n;
	}
	return names->slot[s] - 1;
}

static inline void ptx_names_free(struct ptx_names *names)
{
	free(names->text);
	free(names->slot);
	*names = (struct ptx_names){0};
}

#endif
