/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of launches, by name and type where they are known: types come from the debug
 * information of the program's files, or from the kernel's mangled name; names from the former, or
 * from the kernel's declaration in a source that is not newer than the program. Names and types
 * that do not agree with the recorded layout are not shown.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/buf.h"
#include "base/checked.h"
#include "library/library.h"
#include "symbols/kernel-params.h"
#include "symbols/sources.h"
#include "symbols/symbols.h"

enum { ARGS_MAX = 4096 };

struct kernel_args {
	struct ts_arg *v;
	char **texts; /* of types; heap */
	size_t n;
	struct kernel_params params;
};

void library_args_free(ts_cursor *c)
{
	struct kernel_args *a = c->args;

	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free(a->texts[i]);
	kernel_params_free(&a->params);
	free(a->texts);
	free(a->v);
	free(a);
	c->args = NULL;
}

static time_t changed(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mtime;
}

/* What nvcc's debug information calls __cuda_0, the source of the declaration has a name for. */
static void take_names(const struct kernel_name *k, const char *program, struct kernel_params *p)
{
	const char *last = k->short_name;
	const struct source_text *text;
	struct sources *sources;
	struct err *e;

	if (p->named || !p->file || !p->line)
		return;
	while (strstr(last, "::"))
		last = strstr(last, "::") + 2;
	sources = sources_new();
	e = sources_get(sources, p->file, p->folder, &text);
	if (!e && text->changed <= changed(program))
		kernel_params_take_names(p, last, text->bytes);
	err_free(e);
	sources_free(sources);
}

static bool of_files(ts_trace *t, const struct kernel_name *k, struct kernel_params *ret)
{
	const struct sbt_host_module *m;

	for (uint32_t i = 0; (m = sbt_reader_module(t->reader, i)); i++) {
		if (!symbols_is_build(t->symbols, m->path, m->build_id))
			continue;
		if (kernel_params_of_file(t->symbols, t->lang, m->path, k->name, ret)) {
			take_names(k, m->path, ret);
			return true;
		}
		kernel_params_free(ret);
		*ret = (struct kernel_params){0};
	}
	return false;
}

static void learn(ts_trace *t, const struct kernel_name *k, struct kernel_params *ret)
{
	if (!t->symbols)
		t->symbols = symbols_new();
	if (!t->lang)
		t->lang = lang_new();
	if (!of_files(t, k, ret) &&
		!kernel_params_of_name(t->symbols, t->lang, NULL, NULL, k->name, ret)) {
		kernel_params_free(ret);
		*ret = (struct kernel_params){0};
	}
	if (!kernel_params_fit(ret, &k->params)) {
		kernel_params_free(ret);
		*ret = (struct kernel_params){0};
	}
}

static enum ts_arg_class class_of(const struct lang_type *t)
{
	t = t ? lang_strip(t) : NULL;
	if (!t)
		return TS_ARG_UNKNOWN;
	switch (t->kind) {
	case LANG_POINTER:
		return TS_ARG_POINTER;
	case LANG_FLOAT:
		return t->is_brain || t->size > 8 ? TS_ARG_UNKNOWN : TS_ARG_FLOAT;
	case LANG_BOOL:
	case LANG_CHAR:
	case LANG_INT:
	case LANG_ENUM:
		return t->is_signed ? TS_ARG_SIGNED : TS_ARG_UNSIGNED;
	default:
		return TS_ARG_UNKNOWN;
	}
}

static void fill(struct kernel_args *a, size_t i, const struct sbt_cmd *c, const uint32_t pair[2])
{
	const struct kernel_param *p = i < a->params.n ? &a->params.v[i] : NULL;
	const struct sbt_blob *bytes = &c->u.launch.args;

	if (p && p->type) {
		struct buf text = {0};

		lang_type_name(&text, p->type, "");
		a->texts[i] = xasprintf("%.*s", (int)text.len, (const char *)text.data);
		buf_free(&text);
	}
	a->v[i] = (struct ts_arg){.size = sizeof a->v[i],
		.name = p ? p->name : NULL,
		.type = a->texts[i],
		.is = class_of(p ? p->type : NULL),
		.bytes = pair[1]};
	if (range_within(pair[0], pair[1], 0, bytes->len))
		a->v[i].data = (const char *)bytes->p + pair[0];
}

static void make(ts_cursor *c)
{
	const struct kernel_name *k = library_kernel_of(c->trace, c->at);
	struct kernel_args *a = xcalloc(1, sizeof *a);
	const size_t n = k ? k->params.len / 8 : 0;

	c->args = a;
	if (!n || n > ARGS_MAX)
		return;
	a->v = xcalloc(n, sizeof *a->v);
	a->texts = xcalloc(n, sizeof *a->texts);
	a->n = n;
	learn(c->trace, k, &a->params);
	for (size_t i = 0; i < n; i++) {
		uint32_t pair[2];

		memcpy(pair, (const char *)k->params.p + i * 8, 8);
		fill(a, i, c->at, pair);
	}
}

static int arg_of(ts_cursor *c, unsigned index, struct ts_arg *ret)
{
	size_t size;

	if (!c->at || c->at->kind != SBT_LAUNCH)
		return result_of(err_new(ERR_USAGE, "there is no launch here"));
	if (!ret->size || ret->size > sizeof *ret)
		return result_of(err_new(ERR_USAGE,
			"the caller sets size to sizeof(struct ts_arg), at most %zu here",
			sizeof *ret));
	if (!c->args)
		make(c);
	if (index >= c->args->n)
		return TS_END;
	size = ret->size;
	memcpy(ret, &c->args->v[index], size);
	ret->size = size;
	return TS_OK;
}

int ts_argument(ts_cursor *c, unsigned index, struct ts_arg *ret)
{
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	return arg_of(c, index, ret);
}
