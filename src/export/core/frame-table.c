/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for frames and texts, see frame-table.h. Symbols may keep one name at many addresses, so
 * a frame is compared by its texts: each is first replaced by the one that came first of its
 * equals.
 */
#include "export/core/frame-table.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 1 << 10 };
#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t text_hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	return h;
}

static uint32_t *text_slot(const struct text_table *t, const char *s)
{
	uint32_t i = (uint32_t)(text_hash(s) >> 32) & (t->slots - 1);

	while (t->index[i] && strcmp(t->v[t->index[i] - 1], s))
		i = (i + 1) & (t->slots - 1);
	return &t->index[i];
}

/* Twice the slots when half are taken; slot_of() finds the one of number i among the new ones. */
static void grow(uint32_t **index, uint32_t *slots, uint32_t n,
	uint32_t *(*slot_of)(const void *table, uint32_t i), const void *table)
{
	if (2 * n < *slots)
		return;
	free(*index);
	*slots = *slots ? 2 * *slots : SLOTS_FIRST;
	*index = xcalloc(*slots, sizeof **index);
	for (uint32_t i = 0; i < n; i++)
		*slot_of(table, i) = i + 1;
}

static uint32_t *text_slot_of(const void *table, uint32_t i)
{
	const struct text_table *t = table;

	return text_slot(t, t->v[i]);
}

/* Of the texts' addresses: a trace has some hundreds, and two in one place take turns. */
enum { MET = 1 << 13 };
struct text_met {
	const char *s;
	uint32_t number;
};

static uint32_t number_of_text(struct text_table *t, const char *s)
{
	uint32_t *at;

	grow(&t->index, &t->slots, t->n, text_slot_of, t);
	at = text_slot(t, s);
	if (!*at) {
		MAKE_ROOM(t->v, t->n, t->cap);
		t->v[t->n++] = s;
		*at = t->n;
	}
	return *at - 1;
}

uint32_t text_number(struct text_table *t, const char *s)
{
	struct text_met *m;

	if (!t->met)
		t->met = xcalloc(MET, sizeof *t->met);
	m = &t->met[((uintptr_t)s * MIX >> 32) & (MET - 1)];
	if (m->s != s)
		*m = (struct text_met){s, number_of_text(t, s)};
	return m->number;
}

void text_table_free(struct text_table *t)
{
	free(t->met);
	free(t->v);
	free(t->index);
	*t = (struct text_table){0};
}

static uint32_t *frame_slot(const struct frame_table *t, const struct table_frame *f)
{
	const uint64_t h = ((uintptr_t)f->name ^ (uint64_t)f->line << 48 ^ f->kind) * MIX;
	uint32_t i = (uint32_t)(h >> 32) & (t->slots - 1);

	for (; t->index[i]; i = (i + 1) & (t->slots - 1)) {
		const struct table_frame *x = &t->v[t->index[i] - 1];

		if (x->name == f->name && x->file == f->file && x->line == f->line &&
			x->kind == f->kind)
			break;
	}
	return &t->index[i];
}

static uint32_t *frame_slot_of(const void *table, uint32_t i)
{
	const struct frame_table *t = table;

	return frame_slot(t, &t->v[i]);
}

static const char *first_equal(struct text_table *t, const char *s)
{
	const uint32_t number = s ? text_number(t, s) : 0; /* moves t->v */

	return s ? t->v[number] : NULL;
}

static uint32_t number(struct frame_table *t, struct table_frame f)
{
	uint32_t *at;

	f.name = first_equal(&t->texts, f.name);
	f.file = first_equal(&t->texts, f.file);
	grow(&t->index, &t->slots, t->n, frame_slot_of, t);
	at = frame_slot(t, &f);
	if (!*at) {
		MAKE_ROOM(t->v, t->n, t->cap);
		t->v[t->n++] = f;
		*at = t->n;
	}
	return *at - 1;
}

uint32_t frame_number(struct frame_table *t, const struct export_frame *f)
{
	return number(t, (struct table_frame){f->function, f->file, f->line, FRAME_HOST, 0});
}

uint32_t frame_number_of_function(struct frame_table *t, const struct export_frame *f)
{
	const uint32_t i =
		number(t, (struct table_frame){f->function, f->file, 0, FRAME_HOST, f->line});

	if (f->line && (!t->v[i].first_line || f->line < t->v[i].first_line))
		t->v[i].first_line = f->line;
	return i;
}

uint32_t frame_number_of_rank(struct frame_table *t, uint64_t rank)
{
	return number(t, (struct table_frame){"rank", NULL, (unsigned)rank, FRAME_RANK, 0});
}

uint32_t frame_number_of(struct frame_table *t, const struct sample *s)
{
	return number(
		t, (struct table_frame){s->name, NULL, 0, s->gpu ? FRAME_GPU : FRAME_COPY, 0});
}

void frame_table_free(struct frame_table *t)
{
	text_table_free(&t->texts);
	free(t->v);
	free(t->index);
	*t = (struct frame_table){0};
}

void frame_name_put(struct buf *out, const struct table_frame *f)
{
	if (f->kind == FRAME_HOST)
		buf_str(out, f->name);
	else if (f->kind == FRAME_RANK)
		buf_printf(out, "rank %u", f->line);
	else
		sample_leaf(out, &(struct sample){.name = f->name, .gpu = f->kind == FRAME_GPU});
}

bool id_is_new(struct id_marks *m, uint32_t id)
{
	if (id >= MARKS_MAX)
		return false;
	if (id >= m->n) {
		const uint32_t want = id * 2 + 16;

		m->at = xrealloc(m->at, want);
		memset(m->at + m->n, 0, want - m->n);
		m->n = want;
	}
	if (m->at[id])
		return false;
	m->at[id] = 1;
	return true;
}
