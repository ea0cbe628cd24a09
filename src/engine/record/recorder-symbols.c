/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the frames of a trace's stacks, looked up when the recording ends: later the program may
 * have been built anew, or be gone. It takes half a second of the processor at most; what is left
 * then is found by the files alone, as in traces of older versions.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "engine/record/recorder-inside.h"
#include "symbols/symbols.h"

enum { FRAMES_MAX = 1 << 18, BUDGET_MS = 500 };

struct frame_set {
	struct sbt_frame *v; /* module is the trace's index */
	size_t n, cap;
	size_t *slots; /* index + 1 into v; 0: free */
	size_t nslots; /* a power of two */
	struct module_name {
		char *path, *build_id;
	} * modules; /* by the trace's index */
	size_t nmodules;
};

static size_t hash(const struct sbt_frame *f)
{
	return (size_t)((f->offset * 0x9e3779b97f4a7c15u) ^ f->module * 0xc2b2ae3du) >> 7;
}

static size_t *slot_of(struct frame_set *s, const struct sbt_frame *f)
{
	size_t i = hash(f) & (s->nslots - 1);

	while (s->slots[i] && (s->v[s->slots[i] - 1].offset != f->offset ||
				      s->v[s->slots[i] - 1].module != f->module))
		i = (i + 1) & (s->nslots - 1);
	return &s->slots[i];
}

static void grow(struct frame_set *s)
{
	s->nslots = s->nslots ? s->nslots * 2 : 256;
	free(s->slots);
	s->slots = xcalloc(s->nslots, sizeof *s->slots);
	for (size_t i = 0; i < s->n; i++)
		*slot_of(s, &s->v[i]) = i + 1;
}

void recorder_symbols_free(struct recorder *r)
{
	struct frame_set *s = r->frames;

	for (size_t i = 0; s && i < s->nmodules; i++) {
		free(s->modules[i].path);
		free(s->modules[i].build_id);
	}
	if (s) {
		free(s->modules);
		free(s->slots);
		free(s->v);
	}
	free(s);
	r->frames = NULL;
	recorder_sources_free(r);
}

void recorder_symbols_module(struct recorder *r, uint32_t index, const struct sbt_host_module *m)
{
	struct frame_set *s;

	if (!r->frames)
		r->frames = xcalloc(1, sizeof *r->frames);
	s = r->frames;
	if (index >= s->nmodules) {
		s->modules = xrealloc(s->modules, (index + 1) * sizeof *s->modules);
		memset(s->modules + s->nmodules, 0, (index + 1 - s->nmodules) * sizeof *s->modules);
		s->nmodules = index + 1;
	}
	if (s->modules[index].path)
		return;
	s->modules[index] = (struct module_name){xstrdup(m->path), xstrdup(m->build_id)};
}

void recorder_symbols_frame(struct recorder *r, const struct sbt_frame *f)
{
	struct frame_set *s = r->frames;
	size_t *slot;

	if (!s || f->module >= s->nmodules || !s->modules[f->module].path || s->n == FRAMES_MAX ||
		!strcmp(s->modules[f->module].path, SBT_MODULE_PYTHON))
		return;
	if ((s->n + 1) * 2 > s->nslots)
		grow(s);
	slot = slot_of(s, f);
	if (*slot)
		return;
	MAKE_ROOM(s->v, s->n, s->cap);
	s->v[s->n++] = *f;
	*slot = s->n;
}

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct err *write_one(struct recorder *r, struct symbols *sy, const struct sbt_frame *f)
{
	const struct module_name *m = &r->frames->modules[f->module];
	struct symbol found[SYMBOL_INLINED_MAX];
	struct sbt_symbol names[SYMBOL_INLINED_MAX];
	const unsigned n =
		symbols_lookup(sy, m->path, m->build_id, f->offset, found, SYMBOL_INLINED_MAX);

	if (!found[0].function && !found[0].file)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		recorder_sources_note(r, found[i].file, found[i].folder);
	for (unsigned i = 0; i < n; i++)
		names[i] = (struct sbt_symbol){found[i].function, found[i].file, found[i].folder,
			found[i].line, found[i].offset};
	return sbt_writer_symbol(r->w, f, names, n);
}

struct err *recorder_symbols_write(struct recorder *r)
{
	struct frame_set *s = r->frames;
	const uint64_t begun = cpu_ms();
	struct symbols *sy;
	struct err *e = NULL;

	if (!s || !s->n)
		return NULL;
	sy = symbols_new();
	for (size_t i = 0; !e && i < s->n && cpu_ms() - begun < BUDGET_MS; i++)
		e = write_one(r, sy, &s->v[i]);
	symbols_free(sy);
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i].path && *s->modules[i].path == '/')
			recorder_sources_note_kernels(r, s->modules[i].path);
	return e ? e : recorder_sources_write(r);
}
