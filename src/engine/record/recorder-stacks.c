/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes host stacks and modules' code. Each goes into a trace once, and is kept while a later
 * capture may need it.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/record/recorder-inside.h"

enum { STACK_IDS_MAX = 1 << 24 };

void recorder_forget(struct recorder *r)
{
	for (size_t i = 0; i < r->nstacks; i++)
		free(r->stacks[i].frames);
	free(r->stacks);
	for (size_t i = 0; i < r->ncode; i++)
		free(r->code[i].bytes);
	free(r->code);
	free(r->beside);
	free(r->modules);
	free(r->places);
	recorder_symbols_free(r);
	for (unsigned i = 0; i < r->ncalls; i++)
		free(r->calls[i].name);
	free(r->calls);
	r->stacks = NULL;
	r->code = NULL;
	r->beside = NULL;
	r->nbeside = r->beside_cap = 0;
	r->modules = r->places = NULL;
	r->calls = NULL;
	r->nstacks = r->ncode = r->nmodules = r->nplaces = 0;
	r->ncalls = 0;
}

void recorder_keep_stack(
	struct recorder *r, uint32_t id, const struct sbt_frame *frames, unsigned n)
{
	struct kept_stack *k;

	if (!id || id >= STACK_IDS_MAX)
		return;
	if (id >= r->nstacks) {
		size_t want = (size_t)id * 2 + 64;

		r->stacks = xrealloc(r->stacks, want * sizeof *r->stacks);
		memset(r->stacks + r->nstacks, 0, (want - r->nstacks) * sizeof *r->stacks);
		r->nstacks = want;
	}
	k = &r->stacks[id];
	if (k->frames || k->written)
		return;
	k->frames = xmalloc((n ? n : 1) * sizeof *frames);
	if (n)
		memcpy(k->frames, frames, n * sizeof *frames);
	k->n = n;
}

bool recorder_stack(
	const struct recorder *r, uint32_t id, const struct sbt_frame **ret, unsigned *ret_n)
{
	if (!id || id >= r->nstacks || !r->stacks[id].frames)
		return false;
	*ret = r->stacks[id].frames;
	*ret_n = r->stacks[id].n;
	return true;
}

/* Makes room for entry i of a table of indices in the trace; new entries are UINT32_MAX. */
static void reach(uint32_t **table, size_t *n, size_t i)
{
	size_t want = i * 2 + 64;

	if (i < *n)
		return;
	*table = xrealloc(*table, want * sizeof **table);
	memset(*table + *n, 0xff, (want - *n) * sizeof **table);
	*n = want;
}

/* The trace's index of a host module. */
static struct err *module_index(
	struct recorder *r, struct inferior *inf, uint32_t module, uint32_t *ret)
{
	struct sbt_host_module m;

	reach(&r->modules, &r->nmodules, module);
	if (r->modules[module] == UINT32_MAX) {
		if (!drain_module(inf, module, &m))
			m = (struct sbt_host_module){.path = "?", .build_id = ""};
		TRY(sbt_writer_module(r->w, m.path, m.build_id, &r->modules[module]));
		recorder_symbols_module(r, r->modules[module], &m);
	}
	*ret = r->modules[module];
	return NULL;
}

/* The trace's number of a place in Python source, for Python frames. */
static struct err *place_index(struct recorder *r, struct inferior *inf, uint64_t *place)
{
	struct sbt_place p;

	if (!drain_place(inf, *place, &p))
		return NULL;
	reach(&r->places, &r->nplaces, *place);
	recorder_sources_note(r, p.file, NULL);
	if (r->places[*place] == UINT32_MAX)
		TRY(sbt_writer_place(r->w, &p, &r->places[*place]));
	*place = r->places[*place];
	return NULL;
}

static struct err *frame_in_trace(struct recorder *r, struct inferior *inf, struct sbt_frame *f)
{
	struct sbt_host_module m;

	if (f->module == SBT_NO_ID)
		return NULL;
	if (drain_module(inf, f->module, &m) && !strcmp(m.path, SBT_MODULE_PYTHON))
		TRY(place_index(r, inf, &f->offset));
	TRY(module_index(r, inf, f->module, &f->module));
	recorder_symbols_frame(r, f);
	return NULL;
}

struct err *recorder_write_stack(struct recorder *r, struct inferior *inf, uint32_t id)
{
	struct kept_stack *k;
	struct sbt_frame *frames;
	struct err *e = NULL;

	if (!id || id >= r->nstacks || r->stacks[id].written || !r->stacks[id].frames)
		return NULL;
	k = &r->stacks[id];
	frames = xmalloc((k->n ? k->n : 1) * sizeof *frames);
	memcpy(frames, k->frames, k->n * sizeof *frames);
	for (unsigned i = 0; !e && i < k->n; i++)
		e = frame_in_trace(r, inf, &frames[i]);
	if (!e)
		e = sbt_writer_stack(r->w, id, frames, k->n);
	free(frames);
	k->written = true;
	if (!r->o.keep) {
		free(k->frames);
		k->frames = NULL;
	}
	return e;
}

struct err *recorder_take_code(struct recorder *r, const struct drain_item *it)
{
	uint64_t hash;
	struct kept_code *k;

	if (r->w)
		TRY(sbt_writer_code(r->w, it->code, it->code_size, it->code_kind, &hash));
	if (!r->o.keep && r->w)
		return NULL;
	for (size_t i = 0; i < r->ncode; i++) {
		if (r->code[i].hash == it->hash)
			return NULL;
	}
	r->code = xrealloc(r->code, (r->ncode + 1) * sizeof *r->code);
	k = &r->code[r->ncode++];
	*k = (struct kept_code){.hash = it->hash,
		.bytes = xmalloc(it->code_size ? it->code_size : 1),
		.n = it->code_size,
		.kind = it->code_kind};
	memcpy(k->bytes, it->code, it->code_size);
	return NULL;
}

bool recorder_code(const struct recorder *r, uint64_t hash, const void **ret_bytes, size_t *ret_n,
	enum code_kind *ret_kind)
{
	for (size_t i = 0; hash && i < r->ncode; i++) {
		if (r->code[i].hash != hash)
			continue;
		*ret_bytes = r->code[i].bytes;
		*ret_n = r->code[i].n;
		*ret_kind = r->code[i].kind;
		return true;
	}
	return false;
}

void recorder_note_module(struct recorder *r, const struct sbt_cmd_module_load *m)
{
	if (!m->ptx_hash || !r->o.keep)
		return;
	MAKE_ROOM(r->beside, r->nbeside, r->beside_cap);
	r->beside[r->nbeside++] = (struct kept_beside){.module = (uint32_t)m->new_module,
		.arch = m->machine_arch < UINT32_MAX ? (unsigned)m->machine_arch : UINT32_MAX,
		.ptx_hash = m->ptx_hash};
}

void recorder_beside(
	const struct recorder *r, uint32_t module, uint64_t *ret_hash, unsigned *ret_arch)
{
	*ret_hash = 0;
	*ret_arch = 0;
	for (size_t i = r->nbeside; i-- > 0;)
		if (r->beside[i].module == module) {
			*ret_hash = r->beside[i].ptx_hash;
			*ret_arch = r->beside[i].arch;
			return;
		}
}
