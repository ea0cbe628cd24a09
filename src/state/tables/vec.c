/* SPDX-License-Identifier: Apache-2.0
 *
 * Copy-on-write arrays and tables by id, see vec.h.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/first-where.h"
#include "state/tables/vec.h"

_Static_assert(sizeof(struct vec_head) % 16 == 0, "rows stay aligned to 16");

void vec_free(struct vec *v)
{
	if (v->data && --vec_head(v)->refs == 0)
		free(vec_head(v));
	*v = (struct vec){0};
}

void vec_make_own(struct vec *v, size_t row, size_t n)
{
	struct vec_head *old = v->data ? vec_head(v) : NULL, *h;
	size_t cap;

	BUG_ON(n > SIZE_MAX / 4 / row);
	if (old && old->refs == 1 && old->cap >= n * row)
		return;
	cap = n * row < 64 ? 64 : n * row;
	if (old && old->cap < cap && cap < old->cap + old->cap / 2)
		cap = old->cap + old->cap / 2;
	if (old && old->refs == 1) {
		h = xrealloc(old, sizeof *h + cap);
	} else {
		h = xmalloc(sizeof *h + cap);
		if (old) {
			memcpy(h + 1, v->data, v->n * row);
			old->refs--;
		}
	}
	h->refs = 1;
	h->cap = cap;
	v->data = h + 1;
}

void *vec_add(struct vec *v, size_t row, size_t n)
{
	BUG_ON(n > SIZE_MAX / 4 / row - v->n);
	vec_make_own(v, row, v->n + n);
	v->n += n;
	return (char *)v->data + (v->n - n) * row;
}

void *vec_insert(struct vec *v, size_t row, size_t at)
{
	char *p;

	BUG_ON(at > v->n);
	vec_add(v, row, 1);
	p = (char *)v->data + at * row;
	memmove(p + row, p, (v->n - 1 - at) * row);
	memset(p, 0, row);
	return p;
}

void vec_remove(struct vec *v, size_t row, size_t at)
{
	char *p;

	BUG_ON(at >= v->n);
	vec_own(v, row);
	p = (char *)v->data + at * row;
	v->n--;
	memmove(p, p + row, (v->n - at) * row);
}

size_t vec_bytes(const struct vec *v)
{
	return v->data ? (vec_head(v)->cap + sizeof(struct vec_head)) / vec_head(v)->refs : 0;
}

size_t table_lower(const struct vec *v, size_t row, uint32_t id)
{
	return FIRST_WHERE(v->n, i, table_id(v, row, i) >= id);
}

void *table_insert(struct vec *v, size_t row, uint32_t id)
{
	size_t at = v->n && table_id(v, row, v->n - 1) < id ? v->n : table_lower(v, row, id);
	uint32_t *p = vec_insert(v, row, at);

	*p = id;
	return p;
}

void table_remove(struct vec *v, size_t row, uint32_t id)
{
	size_t at = table_lower(v, row, id);

	if (at < v->n && table_id(v, row, at) == id)
		vec_remove(v, row, at);
}
