/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks and modules' code on their way through the recorder: each goes into a trace once, and is kept while a later capture may need it.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/recorder-inside.h"

enum { STACK_IDS_MAX = 1 << 24 };

void recorder_forget(struct recorder *r)
{
	for (size_t i = 0; i < r->nstacks; i++)
		free(r->stacks[i].frames);
	free(r->stacks);
	for (size_t i = 0; i < r->ncode; i++)
		free(r->code[i].bytes);
	free(r->code);
	free(r->modules);
	for (unsigned i = 0; i < r->ncalls; i++)
		free(r->calls[i].name);
	free(r->calls);
	r->stacks = NULL;
	r->code = NULL;
	r->modules = NULL;
	r->calls = NULL;
	r->nstacks = r->ncode = r->nmodules = 0;
	r->ncalls = 0;
}

void recorder_keep_stack(struct recorder *r, uint32_t id, const struct sbt_frame *frames, unsigned n)
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

/* The trace's index of a host module. */
static struct err *module_index(struct recorder *r, struct inferior *inf, uint32_t module, uint32_t *ret)
{
	struct sbt_host_module m;

	if (module >= r->nmodules) {
		size_t want = (size_t)module + 64;

		r->modules = xrealloc(r->modules, want * sizeof *r->modules);
		memset(r->modules + r->nmodules, 0xff, (want - r->nmodules) * sizeof *r->modules);
		r->nmodules = want;
	}
	if (r->modules[module] == UINT32_MAX) {
		if (!drain_module(inf, module, &m))
			m = (struct sbt_host_module){.path = "?", .build_id = ""};
		TRY(sbt_writer_module(r->w, m.path, m.build_id, &r->modules[module]));
	}
	*ret = r->modules[module];
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
	for (unsigned i = 0; !e && i < k->n; i++) {
		if (frames[i].module != SBT_NO_ID)
			e = module_index(r, inf, frames[i].module, &frames[i].module);
	}
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
		TRY(sbt_writer_code(r->w, it->code, it->code_size, it->is_ptx, &hash));
	if (!r->o.keep && r->w)
		return NULL;
	for (size_t i = 0; i < r->ncode; i++) {
		if (r->code[i].hash == it->hash)
			return NULL;
	}
	r->code = xrealloc(r->code, (r->ncode + 1) * sizeof *r->code);
	k = &r->code[r->ncode++];
	*k = (struct kept_code){.hash = it->hash, .bytes = xmalloc(it->code_size ? it->code_size : 1), .n = it->code_size,
		.is_ptx = it->is_ptx};
	memcpy(k->bytes, it->code, it->code_size);
	return NULL;
}
