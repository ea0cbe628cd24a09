/* SPDX-License-Identifier: Apache-2.0
 *
 * Work by host stack and name, see samples.h: a hash table of indices into a list.
 */
#include "export/core/samples.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"

enum { SAMPLES_MAX = 1 << 24, SLOTS_FIRST = 1 << 10 };

static uint32_t hash(uint32_t stack, const char *name)
{
	const uint64_t x = (stack * UINT64_C(0x9e3779b97f4a7c15)) ^
			   ((uintptr_t)name * UINT64_C(0xff51afd7ed558ccd));

	return (uint32_t)(x >> 32);
}

static uint32_t *slot(const struct samples *s, uint32_t stack, const char *name)
{
	uint32_t i = hash(stack, name) & (s->slots - 1);

	for (; s->index[i]; i = (i + 1) & (s->slots - 1)) {
		const struct sample *x = &s->v[s->index[i] - 1];

		if (x->stack == stack && x->name == name)
			break;
	}
	return &s->index[i];
}

static void grow(struct samples *s)
{
	free(s->index);
	s->slots = s->slots ? 2 * s->slots : SLOTS_FIRST;
	s->index = xcalloc(s->slots, sizeof *s->index);
	for (uint32_t i = 0; i < s->n; i++)
		*slot(s, s->v[i].stack, s->v[i].name) = i + 1;
}

/* NULL: there are too many. */
static struct sample *find(struct samples *s, const struct export_event *ev)
{
	uint32_t *at;

	if (2 * s->n >= s->slots)
		grow(s);
	at = slot(s, ev->c->stack, ev->name);
	if (!*at) {
		if (s->n == SAMPLES_MAX)
			return NULL;
		MAKE_ROOM(s->v, s->n, s->cap);
		s->v[s->n++] = (struct sample){.stack = ev->c->stack,
			.name = ev->name,
			.gpu = ev->what == EXPORT_KERNEL || ev->what == EXPORT_GRAPH};
		*at = s->n;
	}
	return &s->v[*at - 1];
}

struct err *samples_read(struct samples *ret, struct export_job *j)
{
	const struct export_event *ev;
	struct sample *s;

	*ret = (struct samples){0};
	for (;;) {
		TRY(export_next(j, &ev));
		if (!ev)
			return NULL;
		if (ev->what > EXPORT_FILL)
			continue;
		s = find(ret, ev);
		if (!s) {
			j->result->not_kept++;
			continue;
		}
		s->count++;
		s->gpu_ns += ev->gpu_ns;
		s->bytes += ev->bytes;
		ret->timed |= ev->timed;
	}
}

void samples_free(struct samples *s)
{
	free(s->v);
	free(s->index);
	*s = (struct samples){0};
}

uint64_t sample_weight(const struct sample *s, enum export_weight w)
{
	return w == EXPORT_BY_GPU ? s->gpu_ns : w == EXPORT_BY_COUNT ? s->count : s->bytes;
}

void sample_leaf(struct buf *out, const struct sample *s)
{
	buf_printf(out, s->gpu ? "[GPU_Kernel]%s" : "[%s]", s->name);
}

void sample_frame(struct buf *out, const struct export_frame *f)
{
	buf_str(out, f->function);
	if (f->python && f->file)
		buf_printf(out, " (%s)", file_name_of(f->file));
}

struct err *samples_weighed(const struct samples *s, const struct export_job *j)
{
	return j->ask->weight == EXPORT_BY_GPU && !s->timed && s->n ? export_no_times(j) : NULL;
}
