/* SPDX-License-Identifier: Apache-2.0
 *
 * Globals; see globals.h. A name that the driver does not know is skipped: the compiler's own.
 */
#include "capture/objects/globals.h"

#include <string.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "gpucode/code-globals.h"

#define NAMES_MAX 4096

struct name {
	struct name *next;
	bool cells; /* it begins with functions' addresses */
	char text[];
};
struct names {
	struct name *first;
	unsigned n;
};
static struct map by_hash; /* -> struct names * */
static _Atomic uint32_t learned;

static void keep(void *arg, const char *text, size_t n)
{
	struct names *names = arg;
	struct name *k = n && n < TSDB_NAME_MAX && names->n < NAMES_MAX
				 ? ids_keep(sizeof(*k) + n + 1)
				 : NULL;
	if (!k)
		return;
	k->cells = false;
	memcpy(k->text, text, n);
	k->text[n] = '\0';
	k->next = names->first;
	names->first = k;
	names->n++;
}

struct cells {
	const struct names *names;
	const struct name *last; /* the words of one table are adjacent */
};

static void learn_cell(void *arg, const char *variable, uint64_t offset)
{
	struct cells *c = arg;
	(void)offset;
	if (c->last && !strcmp(c->last->text, variable))
		return;
	for (struct name *n = c->names->first; n; n = n->next)
		if (!strcmp(n->text, variable)) {
			n->cells = true;
			c->last = n;
		}
}

void globals_learn(uint64_t hash, const void *code, size_t size)
{
	if (map_get(&by_hash, hash))
		return;
	struct names *names = ids_keep(sizeof(*names));
	if (!names)
		return;
	*names = (struct names){0};
	code_globals(code, size, keep, names);
	if (names->n)
		code_global_cells(code, size, learn_cell, &(struct cells){names, NULL});
	(void)map_put(&by_hash, hash, (uint64_t)(uintptr_t)names);
	atomic_fetch_add(&learned, 1);
}

/* --- where they are --- */

struct place {
	uint64_t addr, size;
	const struct name *name;
};
/* A module's globals in one context. Asking the driver takes longer than copying its answers, so it
 * is asked once. */
struct places {
	struct places *next; /* a library is in several contexts */
	uint32_t ctx;
	unsigned n;
	struct place at[];
};

/* Asks in the current context. Returns false if the driver has no global of this name. */
static bool ask(const struct object *o, struct place *p)
{
	return driver->global_find(o->handle, o->is_library, p->name->text, &p->addr, &p->size);
}

/* The globals in the context d. NULL: none, or no memory. */
static const struct places *places_of(struct object *o, const struct device_ctx *d)
{
	const struct names *names =
		o->hash ? (const struct names *)(uintptr_t)map_get(&by_hash, o->hash) : NULL;
	struct places *p = o->globals;
	if (!names || !names->n || (!o->is_library && o->ctx != d->id))
		return NULL;
	while (p && p->ctx != d->id)
		p = p->next;
	if (p)
		return p;
	p = ids_keep(sizeof(*p) + names->n * sizeof(p->at[0]));
	if (!p)
		return NULL;
	*p = (struct places){.next = o->globals, .ctx = d->id};
	for (const struct name *n = names->first; n; n = n->next) {
		struct place at = {.name = n};
		if (ask(o, &at) && device_is_mapped(at.addr, at.size))
			p->at[p->n++] = at;
	}
	o->globals = p;
	return p;
}

static bool find_module(void *arg, uint64_t key, uint64_t value)
{
	(void)key;
	struct device_ctx *d = arg;
	const struct places *at = places_of((struct object *)(uintptr_t)value, d);
	for (unsigned i = 0; at && i < at->n; i++)
		d->globals += (at->at[i].size + SBT_PAGE - 1) & ~(uint64_t)(SBT_PAGE - 1);
	return false;
}

void globals_find(struct device_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		s->ctx[i].globals = 0;
		if (!device_enter(&s->ctx[i]))
			continue;
		map_each(&ids.modules, find_module, &s->ctx[i]);
		device_leave();
	}
}

uint32_t globals_epoch(void)
{
	return atomic_load(&learned) + atomic_load(&ids.next_module);
}

struct walk {
	struct device_ctx *d;
	globals_fn *fn;
	void *arg;
};

static bool each_module(void *arg, uint64_t key, uint64_t value)
{
	(void)key;
	const struct walk *w = arg;
	const struct object *o = (const struct object *)(uintptr_t)value;
	const struct places *at = o->globals;
	while (at && at->ctx != w->d->id)
		at = at->next;
	for (unsigned i = 0; at && i < at->n; i++)
		w->fn(w->arg, w->d,
			&(struct piece){.addr = at->at[i].addr,
				.size = at->at[i].size,
				.owner = BULK_GLOBAL,
				.module = o->id,
				.ctx = w->d->id + 1,
				.name = at->at[i].name->text,
				.cells = at->at[i].name->cells});
	return false;
}

void globals_each(struct device_set *s, globals_fn *fn, void *arg)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct walk w = {&s->ctx[i], fn, arg};
		map_each(&ids.modules, each_module, &w);
	}
}

struct withdrawal {
	struct thread *t;
	bool all;
	uint64_t *told;
	const struct object *module;
};

static uint64_t tell(struct thread *t, const struct object *module, const struct object *ctx,
	const struct place *p)
{
	struct sbt_cmd cmd = {.kind = SBT_GLOBAL_DEF};
	cmd.u.global_def = (struct sbt_cmd_global_def){.module = module->id,
		.addr = p->addr,
		.size = p->size,
		.global_name = {p->name->text, strlen(p->name->text)}};
	record_in(t, &cmd, SBT_F_SYNTHETIC, ctx->id);
	return cmd.seq;
}

static bool withdraw(void *arg, uint64_t key, uint64_t value)
{
	struct withdrawal *w = arg;
	const struct object *o = w->module, *ctx = (const struct object *)(uintptr_t)value;
	const struct names *names =
		o->hash ? (const struct names *)(uintptr_t)map_get(&by_hash, o->hash) : NULL;
	if (!names || (!o->is_library && o->ctx != ctx->id) ||
		!driver_good(driver->context_enter(key)))
		return false;
	for (const struct name *n = names->first; n; n = n->next) {
		struct place at = {.name = n};
		if (!ask(o, &at))
			continue;
		w->all &= discover_withdraw(w->t, at.addr, at.size);
		if (w->told)
			*w->told = tell(w->t, o, ctx, &at);
	}
	driver->context_leave();
	return false;
}

bool globals_withdraw(struct thread *t, const struct object *module, uint64_t *told)
{
	struct withdrawal w = {.t = t, .module = module, .told = told, .all = true};
	map_each(&ids.ctxs, withdraw, &w);
	return w.all;
}
