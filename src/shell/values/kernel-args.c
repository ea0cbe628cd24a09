/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments by name and type, see kernel-args.h. Types: the debug information of the program's
 * files, else the mangled name. Names: there too, else the source, if it is not newer than the
 * program, or than the trace.
 */
#include "shell/values/kernel-args.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "attach/attach.h"
#include "attach/program-names.h"
#include "base/checked.h"
#include "engine/kernel-lines.h"
#include "engine/recorder.h"
#include "shell/print/kernel-text.h"
#include "shell/print/stack-view.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"
#include "state/state.h"
#include "symbols/elf-facts.h"
#include "symbols/sources.h"
#include "symbols/variables.h"
#include "sbt/kernel-name.h"

enum { NAME_ROOM = 512 };

static bool is_replay(const struct session *s)
{
	return s->focus == FOCUS_REPLAY && s->engine.trace.reader;
}

static bool is_live(const struct session *s)
{
	return !is_replay(s) && s->engine.live.inf;
}

/* --- which files tell --- */

/* What is asked for, and the symbols to be used. */
struct asked {
	struct session *s;
	const char *mangled;
	struct symbols *symbols;
	char *program; /* before it runs; NULL: none */
	time_t made;   /* a source that is newer tells nothing */
};

static time_t changed(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mtime;
}

static bool of_live(struct asked *q, struct kernel_params *ret)
{
	const struct program_place p = {.inf = q->s->engine.live.inf, .l = vars_lang(q->s->vars)};
	const char *file;

	if (!program_kernel_params(&p, q->mangled, ret, &file))
		return false;
	q->made = changed(file);
	return true;
}

static bool of_trace(struct asked *q, struct kernel_params *ret)
{
	const struct sbt_host_module *m;

	for (uint32_t i = 0; (m = sbt_reader_module(q->s->engine.trace.reader, i)); i++) {
		if (!symbols_is_build(q->symbols, m->path, m->build_id))
			continue;
		if (kernel_params_of_file(
			    q->symbols, vars_lang(q->s->vars), m->path, q->mangled, ret)) {
			q->made = changed(m->path);
			return true;
		}
		kernel_params_free(ret);
	}
	return false;
}

static bool of_program(struct asked *q, struct kernel_params *ret)
{
	if (!q->program || !kernel_params_of_file(
				   q->symbols, vars_lang(q->s->vars), q->program, q->mangled, ret))
		return false;
	q->made = changed(q->program);
	return true;
}

/* A struct of the program's, for mangled names. */
static const struct lang_type *named_type(void *arg, const char *name)
{
	const struct asked *q = arg;
	struct lang *l = vars_lang(q->s->vars);
	const struct sbt_host_module *m;
	const struct lang_type *t = NULL;
	struct file_names *f;

	if (is_live(q->s)) {
		const struct program_place p = {.inf = q->s->engine.live.inf, .l = l};

		return program_type(&p, name);
	}
	if (q->program) {
		f = symbols_names(q->symbols, l, q->program);
		return f ? file_type(f, NULL, name) : NULL;
	}
	for (uint32_t i = 0;
		!t && is_replay(q->s) && (m = sbt_reader_module(q->s->engine.trace.reader, i));
		i++) {
		f = symbols_is_build(q->symbols, m->path, m->build_id)
			    ? symbols_names(q->symbols, l, m->path)
			    : NULL;
		t = f ? file_type(f, NULL, name) : NULL;
	}
	return t;
}

/* --- the declaration's line, by PTX --- */

static void take_line(
	const struct kernel_lines *l, const struct asked *q, struct kernel_params *ret)
{
	for (unsigned i = 0; i < l->n && !ret->file; i++) {
		if (!l->v[i].file || strcmp(l->v[i].kernel, q->mangled) != 0)
			continue;
		ret->file = xstrdup(l->v[i].file);
		ret->line = l->v[i].line;
	}
}

/* A kernel's first line in PTX is that of its name in the source. */
static void line_of_code(struct asked *q, uint64_t code, struct kernel_params *ret)
{
	struct kernel_lines l = {0};
	char *path;

	if (is_replay(q->s)) {
		struct sbt_reader *r = q->s->engine.trace.reader;

		err_free(kernel_lines_of_code(r, code, &l));
		q->made = (time_t)(sbt_reader_meta(r)->start_ns / 1000000000);
	} else {
		path = q->s->engine.live.program ? program_find(q->s->engine.live.program) : NULL;
		if (path) {
			kernel_lines_of_program(path, &l);
			q->made = changed(path);
		}
		free(path);
	}
	take_line(&l, q, ret);
	kernel_lines_free(&l);
}

static void take_names(struct asked *q, struct kernel_params *ret)
{
	const struct source_text *t;
	char name[NAME_ROOM];
	const char *last;
	struct err *e;

	if (ret->named || !ret->file || !ret->line)
		return;
	e = sources_get(session_sources(q->s), ret->file, ret->folder, &t);
	ret->newer = !e && !t->kept && t->changed > q->made;
	if (!e && !ret->newer) {
		kernel_short_name(name, sizeof name, q->mangled);
		for (last = name; strstr(last, "::");)
			last = strstr(last, "::") + 2;
		kernel_params_take_names(ret, last, t->bytes);
	}
	err_free(e);
}

/* --- the door --- */

static void look(struct asked *q, uint64_t code, struct kernel_params *ret)
{
	bool known = is_replay(q->s) ? of_trace(q, ret)
		     : is_live(q->s) ? of_live(q, ret)
				     : of_program(q, ret);

	if (!known) {
		kernel_params_free(ret);
		known = kernel_params_of_name(
			q->symbols, vars_lang(q->s->vars), named_type, q, q->mangled, ret);
	}
	if (!known)
		return;
	if (!ret->named && !ret->file)
		line_of_code(q, code, ret);
	take_names(q, ret);
	for (unsigned i = 0; i < ret->n; i++) /* while the files are open */
		if (ret->v[i].type)
			lang_complete(lang_strip(ret->v[i].type));
}

static bool ask(struct session *s, const char *mangled, uint64_t code, struct kernel_params *ret)
{
	struct asked q = {.s = s, .mangled = mangled};

	*ret = (struct kernel_params){0};
	if (!is_replay(s) && !is_live(s) && s->engine.live.program)
		q.program = program_find(s->engine.live.program);
	q.symbols = q.program ? symbols_new() : session_symbols(s);
	look(&q, code, ret);
	if (q.program)
		symbols_free(q.symbols);
	free(q.program);
	return ret->n > 0;
}

bool kernel_args_of(struct session *s, const char *mangled, const struct sbt_blob *layout,
	struct kernel_params *ret)
{
	if (ask(s, mangled, 0, ret) && (!layout || kernel_params_fit(ret, layout)))
		return true;
	kernel_params_free(ret);
	return false;
}

bool kernel_args_of_launch(struct session *s, const struct sbt_cmd *c, struct kernel_params *ret)
{
	const struct state *st;
	struct state_kernel k;
	struct err *e;
	bool known;

	*ret = (struct kernel_params){0};
	if (c->kind != SBT_LAUNCH)
		return false;
	e = session_state(s, &st);
	known = !e && state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) && k.name;
	err_free(e);
	if (known && ask(s, k.name, k.code_hash, ret) && kernel_params_fit(ret, &k.params))
		return true;
	kernel_params_free(ret);
	return false;
}

/* --- values --- */

/* Whether text, the launch's kernel's name or the end of it, stands for kernel c. */
static bool names_kernel(struct session *s, const struct sbt_cmd *c, const char *text, size_t n)
{
	const struct state *st;
	struct state_kernel k;
	struct err *e = session_state(s, &st);
	char *glob;
	bool is;

	if (e || !state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k)) {
		err_free(e);
		return false;
	}
	glob = strndup(text, n);
	BUG_ON(!glob);
	is = !strpbrk(glob, "*?[|") && sbt_kernel_glob(glob, k.name, k.short_name);
	free(glob);
	return is;
}

/* The argument's own name; NULL: the text names something else. */
static const char *own_name(struct session *s, const struct sbt_cmd *c, const char *name)
{
	const char *last = name;

	for (const char *p = name; (p = strstr(p, "::")); p = last)
		last = p + 2;
	if (last == name)
		return name;
	return names_kernel(s, c, name, (size_t)(last - name) - 2) ? last : NULL;
}

static void arg_at(struct session *s, const struct sbt_cmd *c, unsigned i,
	const struct kernel_param *p, struct lang_value *ret)
{
	struct sbt_blob bytes = {0};
	uint32_t offset;

	if (!value_arg(s, c, i, &offset, &bytes))
		return;
	if (p->type && p->type->size == bytes.len)
		*ret = lang_from_bytes(p->type, bytes.p);
	else
		*ret = value_of_bytes(s, &bytes);
}

struct err *kernel_arg_value(struct session *s, const struct sbt_cmd *c, const char *name,
	struct lang_value *ret, bool *ret_found)
{
	struct kernel_params p;
	const char *own;

	*ret_found = false;
	if (!c || c->kind != SBT_LAUNCH || !(own = own_name(s, c, name)))
		return NULL;
	kernel_args_of_launch(s, c, &p);
	for (unsigned i = 0; i < p.n && !*ret_found; i++) {
		if (!p.v[i].name || strcmp(p.v[i].name, own) != 0)
			continue;
		arg_at(s, c, i, &p.v[i], ret);
		*ret_found = ret->type != NULL;
	}
	kernel_params_free(&p);
	return NULL;
}

struct err *kernel_args_value(struct session *s, const struct sbt_cmd *c, struct lang_value *ret)
{
	struct lang *l = vars_lang(s->vars);
	struct lang_type *t = lang_alloc(l, sizeof *t);
	struct lang_member *m;
	struct buf bytes = BUF_INIT;
	struct kernel_params p;

	if (!kernel_args_of_launch(s, c, &p)) {
		kernel_params_free(&p);
		return err_cure(err_new(ERR_NOT_FOUND,
					"names and types of the kernel's arguments are not known"),
			"\"info args\" shows what is; build with -g");
	}
	*t = (struct lang_type){
		.kind = LANG_STRUCT, .name = "arguments", .prefix = "struct", .nmembers = p.n};
	m = lang_alloc(l, p.n * sizeof *m);
	for (unsigned i = 0; i < p.n; i++) {
		struct lang_value v = {0};
		char number[16];

		arg_at(s, c, i, &p.v[i], &v);
		snprintf(number, sizeof number, "arg%u", i);
		m[i] = (struct lang_member){
			.name = lang_strdup(l, p.v[i].name ? p.v[i].name : number),
			.type = v.type ? v.type : lang_base_type(l, "u8"),
			.offset = bytes.len};
		if (v.type)
			buf_add(&bytes, v.bytes, (size_t)v.type->size);
		lang_value_free(&v);
	}
	t->members = m;
	t->size = bytes.len;
	*ret = lang_from_bytes(t, bytes.data);
	buf_free(&bytes);
	kernel_params_free(&p);
	return NULL;
}
