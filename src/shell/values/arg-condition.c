/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions with arguments' names, see kernel-args.h. The agent evaluates them without types, so
 * each name becomes what it means there: an argument's number, the byte in it, how to read it.
 */
#include "shell/values/kernel-args.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "engine/kernel-lines.h"
#include "engine/recorder.h"
#include "sbt/expr.h"
#include "sbt/kernel-name.h"
#include "shell/print/kernel-text.h"
#include "shell/values/vars.h"
#include "state/state.h"
#include "symbols/elf-facts.h"

enum { KERNELS_MAX = 32, NAME_ROOM = 512, ARG_TEXT = 64 };

/* The kernels that a condition is about, with what is known of their parameters. */
struct kernels {
	struct session *s;
	const char *glob; /* NULL: any */
	struct {
		char *mangled;
		struct kernel_params params;
	} v[KERNELS_MAX];
	unsigned n;
	bool more; /* than fit */
};

static void kernels_free(struct kernels *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		free(k->v[i].mangled);
		kernel_params_free(&k->v[i].params);
	}
}

static void add_kernel(struct kernels *k, const char *mangled, const struct sbt_blob *layout)
{
	char name[NAME_ROOM];

	kernel_short_name(name, sizeof name, mangled);
	if (k->glob && !sbt_kernel_glob(k->glob, mangled, name))
		return;
	for (unsigned i = 0; i < k->n; i++)
		if (!strcmp(k->v[i].mangled, mangled))
			return;
	k->more = k->n == KERNELS_MAX;
	if (k->more)
		return;
	k->v[k->n].mangled = xstrdup(mangled);
	kernel_args_of(k->s, mangled, layout, &k->v[k->n].params);
	k->n++;
}

static void add_state(struct kernels *k, const struct state *st)
{
	struct state_kernel one;

	for (unsigned i = 0; state_kernel(st, i, &one); i++)
		add_kernel(k, one.name, &one.params);
}

static struct err *find_kernels(struct kernels *k)
{
	struct session *s = k->s;
	struct kernel_lines l = {0};
	const struct state *st;
	char *path;

	if (s->focus == FOCUS_REPLAY && s->engine.trace.reader) {
		TRY(engine_end_state(&s->engine, &st));
		add_state(k, st);
		return NULL;
	}
	if (s->engine.live.recorder)
		add_state(k, recorder_state(s->engine.live.recorder));
	path = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	if (path)
		kernel_lines_of_program(path, &l);
	for (unsigned i = 0; i < l.n; i++)
		if (!i || strcmp(l.v[i].kernel, l.v[i - 1].kernel) != 0)
			add_kernel(k, l.v[i].kernel, NULL);
	kernel_lines_free(&l);
	free(path);
	return NULL;
}

/* --- one name --- */

/* "p.w[1]" as it is written: the name, and what follows it. */
struct path {
	char name[NAME_ROOM];
	const char *rest, *end;
};

/* Behind [NUMBER], .NAME and so on; a view such as .f32 is none of them. */
static const char *path_end(const char *p)
{
	for (;;) {
		const char *q = p + 1;

		if (*p == '[')
			q += strspn(q, "0123456789");
		else if (*p == '.' && (isalpha((unsigned char)*q) || *q == '_'))
			while (isalnum((unsigned char)*q) || *q == '_')
				q++;
		else
			return p;
		if (*p == '[' && (*q != ']' || q == p + 1))
			return p;
		p = q + (*p == '[');
	}
}

static bool take_path(const char *text, struct path *ret)
{
	size_t n = 0;
	const char *last = text;

	while (isalnum((unsigned char)text[n]) || text[n] == '_' ||
		(text[n] == ':' && text[n + 1] == ':') ||
		(n && text[n] == ':' && text[n - 1] == ':')) {
		n++;
		if (text[n - 1] == ':')
			last = text + n;
	}
	if (n - (size_t)(last - text) >= NAME_ROOM)
		return false;
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(n - (size_t)(last - text)), last);
	ret->rest = text + n;
	ret->end = path_end(ret->rest);
	return true;
}

static const struct lang_member *member_of(const struct lang_type *t, const char *name, size_t n)
{
	lang_complete(t);
	for (unsigned i = 0; t->kind == LANG_STRUCT && i < t->nmembers; i++)
		if (t->members[i].name && strlen(t->members[i].name) == n &&
			!memcmp(t->members[i].name, name, n))
			return &t->members[i];
	return NULL;
}

/* Goes one step, ".x" or "[3]", from *t; false: there is no such thing. *ret: behind it. */
static bool walk_step(const char *p, const struct lang_type **t, uint64_t *offset, const char **ret)
{
	const struct lang_type *in = lang_strip(*t);
	const size_t n = *p == '.' ? strcspn(p + 1, ".[ \t()<>=!&|^+-*/%~]") : 0;
	uint64_t i;
	char *end;

	if (n && n < NAME_ROOM) {
		const struct lang_member *m;

		*ret = p + 1 + n;
		m = in ? member_of(in, p + 1, (size_t)(path_end(p) >= *ret ? n : 0)) : NULL;
		if (!m || m->bits)
			return false;
		*offset += m->offset;
		*t = m->type;
		return true;
	}
	i = strtoull(p + 1, &end, 10);
	if (!in || in->kind != LANG_ARRAY || i >= in->count || !in->target)
		return false;
	*offset += i * in->target->size;
	*t = in->target;
	*ret = end + 1;
	return true;
}

/* How the agent reads a value of the type; NULL: it cannot. */
static const char *view_of(const struct lang_type *t)
{
	static const struct {
		unsigned size;
		const char *s, *u, *f;
	} views[] = {{1, "s8", "u8", NULL}, {2, "s16", "u16", NULL}, {4, "s32", "u32", "f32"},
		{8, "s64", "u64", "f64"}};

	t = lang_strip(t);
	for (unsigned i = 0; t && i < sizeof views / sizeof *views; i++) {
		if (views[i].size != t->size)
			continue;
		if (t->kind == LANG_FLOAT)
			return views[i].f;
		if (t->kind == LANG_INT || t->kind == LANG_CHAR || t->kind == LANG_ENUM)
			return t->is_signed ? views[i].s : views[i].u;
		return t->kind == LANG_BOOL || t->kind == LANG_POINTER ? views[i].u : NULL;
	}
	return NULL;
}

static struct err *cannot(const struct path *p, const char *why)
{
	return err_cure(err_new(ERR_USAGE, "a condition cannot use %s%.*s: %s", p->name,
				(int)(p->end - p->rest), p->rest, why),
		"It compares numbers within the arguments, such as p.radius or w[1]");
}

/* What the path means for a kernel. *ret_found false: the kernel has no such argument. */
static struct err *translate(const struct kernel_params *params, const struct path *p,
	char ret[ARG_TEXT], bool *ret_found)
{
	unsigned i = 0;
	uint64_t offset = 0;
	const struct lang_type *t;
	const char *at = p->rest, *view;

	while (i < params->n && (!params->v[i].name || strcmp(params->v[i].name, p->name) != 0))
		i++;
	*ret_found = i < params->n;
	if (!*ret_found)
		return NULL;
	t = params->v[i].type;
	if (!t)
		return cannot(p, "its type is not known");
	while (at < p->end)
		if (!walk_step(at, &t, &offset, &at))
			return cannot(p, "its type has no such part");
	if (at[0] == '-' && at[1] == '>')
		return cannot(p, "what a pointer leads to is not read there");
	view = view_of(t);
	if (!view)
		return cannot(p, "it is no number of 1, 2, 4 or 8 bytes");
	if (offset)
		snprintf(ret, ARG_TEXT, "arg%u[%" PRIu64 "].%s", i, offset, view);
	else
		snprintf(ret, ARG_TEXT, "arg%u.%s", i, view);
	return NULL;
}

static struct err *add_name(
	struct kernels *k, const struct path *p, bool *ret_found, struct buf *out)
{
	char first[ARG_TEXT] = "", one[ARG_TEXT];
	const char *of = NULL;

	*ret_found = false;
	for (unsigned i = 0; i < k->n; i++) {
		bool found;

		TRY(translate(&k->v[i].params, p, one, &found));
		if (found && *ret_found && strcmp(first, one) != 0)
			return err_cure(err_new(ERR_USAGE, "%s is not the same in %s and in %s",
						p->name, of, k->v[i].mangled),
				"Name one kernel, or write argN.f32 and the like");
		if (!found)
			continue;
		*ret_found = true;
		of = k->v[i].mangled;
		strcpy(first, one);
	}
	buf_str(out, first);
	return NULL;
}

static bool is_field(const char *name)
{
	struct sbt_expr e;
	char why[256];

	return sbt_expr_compile(&e, SBT_LAUNCH, name, why, sizeof why);
}

/* Where the word at p, which may begin a name, ends; copies what is no name. */
static const char *copy_other(const char *p, struct buf *out)
{
	const char *end = p + 1;

	if (*p == '"' || *p == '\'') {
		while (*end && *end != *p)
			end += 1 + (*end == '\\' && end[1]);
		end += *end != 0;
	} else if (isalnum((unsigned char)*p) || *p == '_' || *p == '.') {
		while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
			end++;
	}
	buf_add(out, p, (size_t)(end - p));
	return end;
}

static struct err *rewrite(struct kernels *k, const char *text, struct buf *out)
{
	for (const char *p = text; *p;) {
		struct path path;
		bool found = false;

		if ((isalpha((unsigned char)*p) || *p == '_') && take_path(p, &path)) {
			const bool whole = memchr(p, ':', (size_t)(path.rest - p)) != NULL;

			if (whole || !is_field(path.name))
				TRY(add_name(k, &path, &found, out));
			if (!found)
				buf_add(out, p, (size_t)(path.rest - p));
			p = found ? path.end : path.rest;
		} else {
			p = copy_other(p, out);
		}
	}
	return NULL;
}

/* Says why names are not known, if that is the reason. */
static struct err *explain_newer(const struct kernels *k, const char *text)
{
	struct sbt_expr compiled;
	char why[256];

	for (unsigned i = 0; i < k->n; i++)
		if (k->v[i].params.newer &&
			!sbt_expr_compile(&compiled, SBT_LAUNCH, text, why, sizeof why))
			return err_cure(
				err_new(ERR_STATE,
					"the names of the kernel's arguments are not known: %s is newer than the program",
					k->v[i].params.file),
				"Build the program again, or write argN, argN.f32 and the like");
	return NULL;
}

struct err *kernel_args_condition(struct session *s, const char *glob, const char *text, char **ret)
{
	struct kernels k = {.s = s, .glob = glob};
	struct buf out = BUF_INIT;
	struct sbt_expr compiled;
	char why[256];
	struct err *e;

	*ret = NULL;
	if (sbt_expr_compile(&compiled, SBT_LAUNCH, text, why, sizeof why)) {
		*ret = xstrdup(text);
		return NULL;
	}
	e = find_kernels(&k);
	if (!e)
		e = rewrite(&k, text, &out);
	if (!e && k.more && !strcmp(buf_cstr(&out), text))
		e = err_cure(err_new(ERR_LIMIT, "more than %d kernels match %s", KERNELS_MAX,
				     glob ? glob : "this"),
			"Name one, so that its arguments are known");
	if (!e)
		e = explain_newer(&k, buf_cstr(&out));
	kernels_free(&k);
	if (!e)
		*ret = buf_steal(&out);
	buf_free(&out);
	return e;
}

/* --- breakpoints --- */

struct err *kernel_args_set_condition(struct session *s, struct breakpoint *bp, const char *text)
{
	char *meant;
	struct err *e;

	if (bp->line || (bp->kinds && bp->kinds != 1ull << SBT_LAUNCH))
		return breakpoints_condition(bp, text);
	TRY(kernel_args_condition(s, bp->glob, text, &meant));
	e = breakpoints_condition_shown(bp, meant, text);
	free(meant);
	return e;
}

static bool has_names(const struct breakpoint *bp)
{
	struct sbt_expr e;
	char why[256];

	return bp->cond && !bp->line && !bp->size &&
	       !sbt_expr_compile(&e, SBT_LAUNCH, bp->cond, why, sizeof why);
}

void kernel_args_renew_conditions(struct session *s)
{
	struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)); i++) {
		char *text;
		struct err *e;

		if (!has_names(bp))
			continue;
		text = xstrdup(bp->cond);
		e = kernel_args_set_condition(s, bp, text);
		if (e && bp->enabled) {
			out_printf(s->out, "Breakpoint %d is disabled: %s.\n", bp->id, e->what);
			bp->enabled = false;
		}
		err_free(e);
		free(text);
	}
}
