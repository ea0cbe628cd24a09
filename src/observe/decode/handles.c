/* SPDX-License-Identifier: Apache-2.0
 *
 * The map, see handles.h. Surprise: removing moves later entries back into the gap, so there are no
 * tombstones.
 */
#include "observe/decode/handles.h"

#include <stdlib.h>
#include "base/buf.h"

static size_t place(const struct handles *h, uint64_t key)
{
	/* Fibonacci hashing; the high bits are the good ones */
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (h->cap - 1);
}

/* Where key is, or the free slot where it would be. */
static size_t find(const struct handles *h, uint64_t key)
{
	size_t i = place(h, key);

	while (h->slot[i][0] && h->slot[i][0] != key)
		i = (i + 1) & (h->cap - 1);
	return i;
}

uint64_t handles_get(const struct handles *h, uint64_t key)
{
	return h->cap && key ? h->slot[find(h, key)][1] : 0;
}

static void grow(struct handles *h)
{
	struct handles old = *h;

	h->cap = old.cap ? old.cap * 2 : 64;
	h->slot = xcalloc(h->cap, sizeof *h->slot);
	h->n = 0;
	for (size_t i = 0; i < old.cap; i++) {
		if (old.slot[i][0])
			handles_put(h, old.slot[i][0], old.slot[i][1]);
	}
	free(old.slot);
}

void handles_put(struct handles *h, uint64_t key, uint64_t value)
{
	size_t i;

	BUG_ON(!key || !value);
	if (h->n * 2 >= h->cap)
		grow(h);
	i = find(h, key);
	h->n += !h->slot[i][0];
	h->slot[i][0] = key;
	h->slot[i][1] = value;
}

uint64_t handles_remove(struct handles *h, uint64_t key)
{
	uint64_t value;
	size_t gap, i;

	if (!h->cap || !key)
		return 0;
	gap = find(h, key);
	value = h->slot[gap][1];
	if (!h->slot[gap][0])
		return 0;
	for (i = (gap + 1) & (h->cap - 1); h->slot[i][0]; i = (i + 1) & (h->cap - 1)) {
		size_t home = place(h, h->slot[i][0]);

		/* moved only if its home is not between the gap and itself */
		if (((i - home) & (h->cap - 1)) >= ((i - gap) & (h->cap - 1))) {
			h->slot[gap][0] = h->slot[i][0];
			h->slot[gap][1] = h->slot[i][1];
			gap = i;
		}
	}
	h->slot[gap][0] = h->slot[gap][1] = 0;
	h->n--;
	return value;
}

uint64_t handles_key(uint64_t kind, uint64_t handle)
{
	uint64_t key = handle ^ kind << 56; /* user addresses have 47 bits */

	return key ? key : 1;
}

void handles_free(struct handles *h)
{
	free(h->slot);
	*h = (struct handles){0};
}
