/* SPDX-License-Identifier: Apache-2.0
 *
 * Where .shared variables that are not in a kernel's body lie. A kernel has those that it, or a
 * function that it may call, names, as the vendor's linker has it: relocatable device code has all
 * of its variables at the outermost level, those of a hundred kernels side by side. Variables that
 * no kernel has both of may lie at the same place.
 */
#include "softgpu/ptx/ptx-parse.h"

#include <stdlib.h>
#include <string.h>

#define MANY 4096u /* more variables than that lie one after the other */

struct sets {
	struct ptx_module *m;
	struct ptx_variable **v;
	unsigned n, cap;
	unsigned words;	 /* of 64 kernels */
	uint64_t *users; /* by variable: a bit for each kernel that has it */
};

static bool is_placed(const struct ptx_variable *v)
{
	return v->space == SP_SHARED && !v->in_kernel && !v->dynamic;
}

static void collect(struct sets *s, struct ptx_variable *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!is_placed(list[i]))
			continue;
		s->v = ptx_grow(s->m, s->v, s->n, &s->cap, sizeof(*s->v));
		list[i]->number = s->n;
		s->v[s->n++] = list[i];
	}
}

static void use(struct sets *s, unsigned variable, unsigned kernel)
{
	s->users[(size_t)variable * s->words + kernel / 64] |= 1ull << kernel % 64;
}

/* What fn and its callees name. An indirect call may be of any function. */
static void visit(struct sets *s, struct ptx_function *fn, unsigned kernel, unsigned depth)
{
	fn = fn->alias ? fn->alias : fn;
	if (fn->visited == kernel + 1)
		return;
	fn->visited = kernel + 1;
	for (unsigned i = 0; i < s->n && (fn->has_indirect || depth > 256); i++)
		use(s, i, kernel);
	for (unsigned i = 0; i < fn->nconsts; i++) {
		const struct ptx_variable *v =
			fn->consts[i].reloc == RL_VAR ? fn->consts[i].sym : NULL;

		if (v && is_placed(v))
			use(s, v->number, kernel);
	}
	for (unsigned i = 0; i < fn->ncallees && depth <= 256; i++)
		visit(s, fn->callees[i], kernel, depth + 1);
}

static bool share_a_kernel(const struct sets *s, unsigned a, unsigned b)
{
	for (unsigned w = 0; w < s->words; w++)
		if (s->users[(size_t)a * s->words + w] & s->users[(size_t)b * s->words + w])
			return true;
	return false;
}

/* The lowest place beside those before it that a kernel has, too. */
static void place(const struct sets *s, unsigned i)
{
	struct ptx_variable *v = s->v[i];
	bool moved = true;

	v->addr = 0;
	while (moved) {
		moved = false;
		for (unsigned k = 0; k < i; k++) {
			const struct ptx_variable *o = s->v[k];

			if (v->addr < o->addr + o->size && o->addr < v->addr + v->size &&
				share_a_kernel(s, i, k)) {
				v->addr = ptx_align_up(o->addr + o->size, v->align);
				moved = true;
			}
		}
	}
}

void ptx_place_shared(struct ptx_module *m)
{
	struct sets s = {.m = m, .words = (m->nkernels + 63) / 64};

	collect(&s, m->shared, m->nshared);
	for (unsigned k = 0; k < m->nfuncs; k++)
		collect(&s, m->funcs[k]->vars, m->funcs[k]->nvars);
	if (!s.n)
		return;
	s.users = ptx_alloc(m, (size_t)s.n * s.words * sizeof(*s.users));
	for (unsigned k = 0; k < m->nkernels; k++)
		visit(&s, m->kernels[k], k, 0);
	for (unsigned i = 0; i < s.n && s.n <= MANY; i++)
		place(&s, i);
	for (unsigned k = 0; k < m->nkernels; k++)
		for (unsigned i = 0; i < s.n; i++)
			if (s.users[(size_t)i * s.words + k / 64] >> k % 64 & 1 &&
				m->kernels[k]->module_shared < s.v[i]->addr + s.v[i]->size)
				m->kernels[k]->module_shared = s.v[i]->addr + s.v[i]->size;
}
