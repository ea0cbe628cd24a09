/* SPDX-License-Identifier: Apache-2.0
 *
 * Work by host stack and name, see samples.h: a hash table of indices into a list.
 */
#include "export/core/samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

enum { SAMPLES_MAX = 1 << 24, SLOTS_FIRST = 1 << 10 };

static uint32_t hash(const struct export_stack *stack, uint64_t rank, const char *name)
{
	const uint64_t x = (((uintptr_t)stack + rank) * UINT64_C(0x9e3779b97f4a7c15)) ^
			   ((uintptr_t)name * UINT64_C(0xff51afd7ed558ccd));

	return (uint32_t)(x >> 32);
}

static uint32_t *slot(
	const struct samples *s, const struct export_stack *stack, uint64_t rank, const char *name)
{
	uint32_t i = hash(stack, rank, name) & (s->slots - 1);

	for (; s->index[i]; i = (i + 1) & (s->slots - 1)) {
		const struct sample *x = &s->v[s->index[i] - 1];

		if (x->stack == stack && x->rank == rank && x->name == name)
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
		*slot(s, s->v[i].stack, s->v[i].rank, s->v[i].name) = i + 1;
}

/* NULL: there are too many. */
static struct sample *find(struct samples *s, struct export_job *j, const struct export_event *ev)
{
	const struct export_stack *stack = export_stack(j, ev->c->stack);
	const uint64_t rank = j->ask->sources[j->source].rank;
	uint32_t *at;

	if (2 * s->n >= s->slots)
		grow(s);
	at = slot(s, stack, rank, ev->name);
	if (!*at) {
		if (s->n == SAMPLES_MAX)
			return NULL;
		MAKE_ROOM(s->v, s->n, s->cap);
		s->v[s->n++] = (struct sample){.stack = stack,
			.rank = rank,
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
		s = find(ret, j, ev);
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

struct err *samples_put(
	struct export_job *j, struct err *(*put)(struct export_job *j, const struct samples *s))
{
	struct samples s;
	struct err *e = samples_read(&s, j);

	if (!e)
		e = put(j, &s);
	samples_free(&s);
	return e;
}

uint64_t sample_weight(const struct sample *s, enum export_weight w)
{
	return w == EXPORT_BY_GPU ? s->gpu_ns : w == EXPORT_BY_COUNT ? s->count : s->bytes;
}

bool sample_rank(struct buf *out, const struct export_job *j, const struct sample *s)
{
	if (j->ask->set)
		buf_printf(out, "rank %" PRIu64, s->rank);
	return j->ask->set;
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
