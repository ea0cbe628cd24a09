/* SPDX-License-Identifier: Apache-2.0
 *
 * Copy-on-write arrays of plain rows: a state and its clones share the memory until one of them
 * writes. Tables are such arrays sorted by the u32 id that every row begins with. The surprise: a
 * table with ids 0, 1, 2, ... is looked up by index; one with holes by binary search, so a huge id
 * costs one row and not a huge array.
 */
#ifndef STATE_VEC_H
#define STATE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vec {
	void *data; /* rows; a struct vec_head lies before them. NULL while nothing was ever added
		     */
	size_t n;   /* rows */
};

struct vec_head {
	size_t refs;
	size_t cap; /* bytes after the head */
};

static inline struct vec_head *vec_head(const struct vec *v)
{
	return (struct vec_head *)v->data - 1;
}

/* One more owner of the memory (after a struct copy of v). */
static inline void vec_share(const struct vec *v)
{
	if (v->data)
		vec_head(v)->refs++;
}

void vec_free(struct vec *v);
/* Makes v the only owner of its memory, with room for at least n rows in all. */
void vec_make_own(struct vec *v, size_t row, size_t n);

/* The rows, for writing. */
static inline void *vec_own(struct vec *v, size_t row)
{
	if (v->data && vec_head(v)->refs > 1)
		vec_make_own(v, row, v->n);
	return v->data;
}

/* Opens a zeroed row at index at. */
void *vec_insert(struct vec *v, size_t row, size_t at);
void vec_remove(struct vec *v, size_t row, size_t at);
/* n uninitialised rows at the end. */
void *vec_add(struct vec *v, size_t row, size_t n);
/* Bytes of memory; what is shared counts in equal parts. */
size_t vec_bytes(const struct vec *v);

/* Index of the first row with an id >= id. */
size_t table_lower(const struct vec *v, size_t row, uint32_t id);

static inline uint32_t table_id(const struct vec *v, size_t row, size_t i)
{
	return *(const uint32_t *)((const char *)v->data + row * i);
}

/* The row with this id, or NULL. */
static inline void *table_find(const struct vec *v, size_t row, uint32_t id)
{
	size_t i;

	if (!v->n)
		return NULL;
	i = (size_t)id - table_id(v, row, 0);
	if (i >= v->n || table_id(v, row, i) != id) {
		i = table_lower(v, row, id);
		if (i == v->n || table_id(v, row, i) != id)
			return NULL;
	}
	return (char *)v->data + row * i;
}

/* The same, for writing. */
static inline void *table_own(struct vec *v, size_t row, uint32_t id)
{
	vec_own(v, row);
	return table_find(v, row, id);
}

/* Opens a zeroed row with a new id. */
void *table_insert(struct vec *v, size_t row, uint32_t id);
void table_remove(struct vec *v, size_t row, uint32_t id);

#endif
