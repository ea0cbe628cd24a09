/* SPDX-License-Identifier: Apache-2.0
 *
 * A loaded module: what the driver asks about it, and placing, which gives variables memory and
 * writes initial values and the constants of its functions' frames.
 */
#include "softgpu/ptx/ptx-int.h"

#include <stdio.h>
#include <string.h>

static size_t align_up(size_t v, size_t a)
{
	return (v + a - 1) / a * a;
}

/* --- what the driver asks --- */
unsigned ptx_version(const struct ptx_module *m)
{
	return m->version;
}

unsigned ptx_target(const struct ptx_module *m)
{
	return m->target;
}

bool ptx_var(const struct ptx_module *m, unsigned i, struct ptx_var *ret)
{
	const struct ptx_variable *v;

	if (i >= m->npub)
		return false;
	v = m->pub[i];
	*ret = (struct ptx_var){
		v->name, v->size, v->align, v->space == SP_CONST, v->is_extern, v->visible};
	return true;
}

const struct ptx_function *ptx_kernel(const struct ptx_module *m, unsigned i)
{
	return i < m->nkernels ? m->kernels[i] : NULL;
}

const struct ptx_function *ptx_kernel_by_name(const struct ptx_module *m, const char *mangled)
{
	for (unsigned k = 0; k < m->nkernels; k++)
		if (!strcmp(m->kernels[k]->name, mangled))
			return m->kernels[k];
	return NULL;
}

void ptx_function_info(const struct ptx_function *f, struct ptx_function_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->name = f->name;
	ret->nparams = f->sig.nparams;
	ret->params = f->params;
	ret->param_bytes = f->param_bytes;
	ret->static_shared = f->shared_bytes + f->module_shared;
	ret->local = f->stack_bytes;
	for (unsigned k = 0; k < f->m->npub; k++)
		if (f->m->pub[k]->space == SP_CONST)
			ret->const_bytes += f->m->pub[k]->size;
	ret->regs = f->regs ? f->regs : 1;
	ret->max_threads = f->max_threads;
	memcpy(ret->req, f->req, sizeof(ret->req));
	memcpy(ret->cluster, f->cluster, sizeof(ret->cluster));
	ret->explicit_cluster = f->explicit_cluster;
	ret->ptx_version = f->m->version;
	ret->target = f->m->target;
}

static uint64_t address_of(unsigned reloc, const void *sym)
{
	if (reloc == RL_VAR) {
		const struct ptx_variable *v = sym;
		/* variables of device functions and the module come first in shared memory, the
		 * kernel's own follow */
		return v->addr;
	}
	return reloc == RL_FUNC ? PTX_WIN_CODE | ((const struct ptx_function *)sym)->index : 0;
}

static void link_function(struct ptx_function *fn)
{
	for (unsigned k = 0; k < fn->nconsts; k++) {
		const struct ptx_const *c = &fn->consts[k];
		uint8_t *at = fn->const_image + fn->const_bytes + c->off;
		uint64_t v = c->value + address_of(c->reloc, c->sym);
		const struct ptx_variable *var = c->reloc == RL_VAR ? c->sym : NULL;
		if (var && var->space == SP_SHARED && var->in_kernel)
			v += align_up(fn->module_shared, 128);
		for (unsigned l = 0; l < PTX_LANES && c->width; l++)
			memcpy(at + l * c->width, &v, c->width);
		if (!c->width)
			memcpy(at, v ? "\xff\xff\xff\xff" : "\0\0\0\0", 4);
	}
}

static void write_inits(const struct ptx_variable *v)
{
	for (size_t j = 0; j < v->ninits; j++) {
		const struct ptx_init *i = &v->inits[j];
		uint64_t value = i->value + address_of(i->reloc, i->sym);

		if (ptx_init_fits(v, i)) /* the parser has refused others */
			memcpy((void *)(uintptr_t)(v->addr + i->off), &value, i->size);
	}
}

enum ptx_linked ptx_link(
	struct ptx_module *m, ptx_place_fn *place, void *arg, char *log, size_t log_size)
{
	struct ptx_var v;

	for (unsigned k = 0; ptx_var(m, k, &v); k++) {
		if (v.is_extern) {
			if (log_size)
				snprintf(log, log_size,
					"variable %s is declared extern and defined nowhere",
					v.name);
			return PTX_LINK_EXTERN;
		}
		m->pub[k]->addr = (uintptr_t)place(arg, k, &v);
		if (!m->pub[k]->addr)
			return PTX_LINK_NO_MEMORY;
	}
	for (unsigned k = 0; k < m->npub; k++)
		write_inits(m->pub[k]);
	for (unsigned k = 0; k < m->nfuncs; k++)
		if (m->funcs[k]->has_body)
			link_function(m->funcs[k]);
	return PTX_LINKED;
}
