/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel's pointers point to, for the search for NaNs: by the program's debug information or
 * the kernel's mangled name. Narrow integers, bytes and void may hold floats all the same (half
 * numbers are often passed as unsigned short): they tell nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/nan/nan-text.h"
#include "shell/values/kernel-args.h"
#include "state/state.h"
#include "symbols/symbols.h"

enum { DEPTH_MOST = 4 };

struct nan_param_row {
	uint64_t kernel;
	struct param {
		enum replayer_as as;
		bool known;
		char *name; /* heap; NULL: not known */
	} * v;		    /* heap */
	unsigned n;
	const char *plain; /* the kernel's demangled name; NULL: not known */
};

void nan_params_free(struct nan_params *p)
{
	for (size_t i = 0; i < p->n; i++) {
		for (unsigned k = 0; k < p->row[i].n; k++)
			free(p->row[i].v[k].name);
		free(p->row[i].v);
	}
	free(p->row);
	*p = (struct nan_params){0};
}

/* Structs that hold a number as an integer, by name. */
static bool by_name(const char *name, struct param *ret)
{
	static const struct {
		const char *name;
		enum replayer_as as;
	} names[] = {{"bfloat16", REPLAYER_AS_BF16}, {"BFloat16", REPLAYER_AS_BF16},
		{"half", REPLAYER_AS_F16}, {"Half", REPLAYER_AS_F16}, {"float16", REPLAYER_AS_F16},
		{"float2", REPLAYER_AS_F32}, {"float3", REPLAYER_AS_F32},
		{"float4", REPLAYER_AS_F32}, {"double", REPLAYER_AS_F64}};

	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
		if (!strstr(name, names[i].name))
			continue;
		ret->as = names[i].as;
		ret->known = true;
		return true;
	}
	return false;
}

static void type_of(const struct lang_type *t, struct param *ret, unsigned depth);

/* All members alike: what they are. */
static void type_of_members(const struct lang_type *t, struct param *ret, unsigned depth)
{
	struct param one;

	lang_complete(t);
	for (unsigned i = 0; i < t->nmembers; i++) {
		one = (struct param){.as = REPLAYER_AS_AUTO};
		type_of(t->members[i].type, &one, depth + 1);
		if (one.as == REPLAYER_AS_AUTO || (i && one.as != ret->as)) {
			*ret = (struct param){.as = REPLAYER_AS_AUTO};
			return;
		}
		*ret = one;
	}
}

static void type_of(const struct lang_type *t, struct param *ret, unsigned depth)
{
	t = t ? lang_strip(t) : NULL;
	if (!t || depth > DEPTH_MOST)
		return;
	switch (t->kind) {
	case LANG_FLOAT:
		ret->as = t->size == 8	 ? REPLAYER_AS_F64
			  : t->size == 4 ? REPLAYER_AS_F32
			  : t->is_brain	 ? REPLAYER_AS_BF16
			  : t->size == 2 ? REPLAYER_AS_F16
					 : REPLAYER_AS_AUTO;
		ret->known = true;
		break;
	case LANG_INT:
	case LANG_ENUM:
		ret->known = t->size >= 4;
		break;
	case LANG_BOOL:
	case LANG_POINTER:
		ret->known = true;
		break;
	case LANG_ARRAY:
		type_of(t->target, ret, depth + 1);
		break;
	case LANG_STRUCT:
		if (!by_name(t->name, ret))
			type_of_members(t, ret, depth);
		break;
	default:
		break;
	}
}

static void take_params(struct nan_param_row *row, const struct kernel_params *p)
{
	row->v = xcalloc(p->n + 1, sizeof *row->v);
	row->n = p->n;
	for (unsigned i = 0; i < p->n; i++) {
		const struct lang_type *t = p->v[i].type ? lang_strip(p->v[i].type) : NULL;

		row->v[i].name = p->v[i].name ? xstrdup(p->v[i].name) : NULL;
		if (t && t->kind == LANG_POINTER)
			type_of(t->target, &row->v[i], 0);
	}
}

static const struct nan_param_row *row_of(struct nan_params *p, uint64_t kernel)
{
	const struct state *st = NULL;
	struct kernel_params params = {0};
	struct state_kernel k;

	for (size_t i = 0; i < p->n; i++)
		if (p->row[i].kernel == kernel)
			return &p->row[i];
	MAKE_ROOM(p->row, p->n, p->cap);
	struct nan_param_row *row = &p->row[p->n++];
	*row = (struct nan_param_row){.kernel = kernel};
	struct err *e = engine_end_state(&p->s->engine, &st);
	if (!e && state_kernel_by_id(st, (uint32_t)kernel, &k) && k.name) {
		if (kernel_args_of(p->s, k.name, &k.params, &params))
			take_params(row, &params);
		kernel_params_free(&params);
		row->plain = symbols_demangle(session_symbols(p->s), k.name);
	}
	err_free(e);
	return row;
}

struct nan_named nan_param_type(
	void *arg, const struct sbt_cmd *launch, unsigned param, unsigned pointer)
{
	struct nan_params *p = arg;
	const struct nan_param_row *row = row_of(p, launch->u.launch.kernel);

	if (param < row->n && (row->v[param].known || row->v[param].as != REPLAYER_AS_AUTO))
		return (struct nan_named){.as = row->v[param].as, .known = row->v[param].known};
	return row->plain ? nan_type_by_name(row->plain, pointer)
			  : (struct nan_named){.as = REPLAYER_AS_AUTO};
}

const char *nan_param_name(struct nan_params *p, const struct sbt_cmd *launch, unsigned param)
{
	const struct nan_param_row *row = row_of(p, launch->u.launch.kernel);

	return param < row->n ? row->v[param].name : NULL;
}
