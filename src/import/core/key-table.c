/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, see key-table.h: open addressing over keys that lie one behind the other.
 */
#include "import/core/key-table.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint64_t hash_of(const unsigned char *p, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

/* The slot of the key, or the free one where it would be. */
static uint32_t *find(const struct key_table *t, const void *p, size_t n)
{
	const uint32_t mask = t->nslots - 1;
	uint32_t i = (uint32_t)hash_of(p, n) & mask;

	for (;; i = (i + 1) & mask) {
		const uint32_t k = t->slots[i];

		if (!k ||
			(t->keys[k - 1].n == n && !memcmp(t->bytes.data + t->keys[k - 1].at, p, n)))
			return &t->slots[i];
	}
}

static void grow(struct key_table *t)
{
	t->nslots = t->nslots ? t->nslots * 2 : 64;
	free(t->slots);
	t->slots = xcalloc(t->nslots, sizeof *t->slots);
	for (uint32_t i = 0; i < t->n; i++)
		*find(t, t->bytes.data + t->keys[i].at, t->keys[i].n) = i + 1;
}

uint32_t key_number(struct key_table *t, const void *p, size_t n, bool *ret_new)
{
	uint32_t *slot;

	if (t->n >= t->nslots / 2)
		grow(t);
	slot = find(t, p, n);
	*ret_new = !*slot;
	if (*slot)
		return *slot - 1;
	MAKE_ROOM(t->keys, t->n, t->cap);
	t->keys[t->n].at = t->bytes.len;
	t->keys[t->n].n = n;
	buf_room(&t->bytes, n + 1);
	buf_add(&t->bytes, p, n);
	*slot = ++t->n;
	return t->n - 1;
}

void key_table_free(struct key_table *t)
{
	buf_free(&t->bytes);
	free(t->keys);
	free(t->slots);
	*t = (struct key_table){0};
}
