/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a trace's columns, each once: a column has its number. Grows with the number of
 * different texts, up to a limit.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/buf.h"
#include "library/library.h"

enum { TEXTS_MAX = 1 << 22, BYTES_MAX = 1 << 28, TEXT_MAX = 65536 };

struct entry {
	char *text;
	size_t n;
	uint64_t hash;
};
struct dictionary {
	struct entry *v;
	size_t n, cap, bytes;
	uint32_t *index; /* of hash slots: number + 1; 0: free */
	size_t slots;	 /* a power of 2 */
};

static void put_slot(struct dictionary *d, uint32_t number)
{
	size_t i = d->v[number].hash & (d->slots - 1);

	while (d->index[i])
		i = (i + 1) & (d->slots - 1);
	d->index[i] = number + 1;
}

/* Keeps at least half of the slots free. */
static void make_slots(struct dictionary *d)
{
	if (d->n * 2 < d->slots)
		return;
	free(d->index);
	d->index = NULL;
	d->slots = d->slots ? d->slots * 2 : 256;
	d->index = xcalloc(d->slots, sizeof *d->index);
	for (size_t i = 0; i < d->n; i++)
		put_slot(d, (uint32_t)i);
}

static bool find(
	const struct dictionary *d, const char *text, size_t n, uint64_t hash, uint64_t *ret)
{
	for (size_t i = hash & (d->slots - 1); d->slots && d->index[i];
		i = (i + 1) & (d->slots - 1)) {
		const struct entry *e = &d->v[d->index[i] - 1];

		if (e->hash == hash && e->n == n && (!n || !memcmp(e->text, text, n))) {
			*ret = d->index[i] - 1;
			return true;
		}
	}
	return false;
}

struct err *library_code(ts_trace *t, const char *text, size_t n, uint64_t *ret)
{
	struct dictionary *d;
	uint64_t hash;

	n = n < TEXT_MAX ? n : TEXT_MAX;
	hash = XXH64(n ? text : "", n, 0);
	if (!t->dictionary)
		t->dictionary = xcalloc(1, sizeof *t->dictionary);
	d = t->dictionary;
	if (find(d, text, n, hash, ret))
		return NULL;
	if (d->n >= TEXTS_MAX || d->bytes > BYTES_MAX)
		return err_cure(err_new(ERR_LIMIT,
					"the columns have more different texts than are "
					"kept (%d, or %d MiB)",
					TEXTS_MAX, BYTES_MAX >> 20),
			"ask for fewer commands at a time, after ts_close() and ts_open()");
	make_slots(d);
	MAKE_ROOM(d->v, d->n, d->cap);
	d->v[d->n] = (struct entry){xasprintf("%.*s", (int)n, n ? text : ""), n, hash};
	d->bytes += n;
	put_slot(d, (uint32_t)d->n);
	*ret = d->n++;
	return NULL;
}

void library_dictionary_free(struct dictionary *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].text);
	free(d->v);
	free(d->index);
	free(d);
}

const char *ts_column_text(const ts_trace *t, uint64_t number)
{
	return t->dictionary && !t->broken && number < t->dictionary->n
		       ? t->dictionary->v[number].text
		       : NULL;
}
