/* SPDX-License-Identifier: Apache-2.0
 *
 * Source lines, see source-view.h. At a launch the innermost frames are often functions that nvcc
 * makes: in a file of its own that is gone, and one with the kernel's name and lines. The user
 * wants the line with the <<<>>>.
 */
#include "shell/source/source-view.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json-put.h"
#include "engine/recorder.h"
#include "shell/print/kernel-text.h"
#include "shell/print/stack-view.h"
#include "state/state.h"
#include "symbols/places.h"

enum { NAME_ROOM = 512, COLUMNS_MAX = 4096 };

struct kept_place {
	char *file, *folder; /* file NULL: none */
	unsigned line;
};
struct source_view {
	struct kept_place at, listed;
	unsigned first, last; /* listed */
};

static void place_forget(struct kept_place *p)
{
	free(p->file);
	free(p->folder);
	*p = (struct kept_place){0};
}

/* at may point into p. */
static void place_keep(struct kept_place *p, const struct source_place *at)
{
	const struct kept_place copy = {
		xstrdup(at->file), at->folder ? xstrdup(at->folder) : NULL, at->line};

	place_forget(p);
	*p = copy;
}

static bool place_of(const struct kept_place *p, struct source_place *ret)
{
	*ret = (struct source_place){p->file, p->folder, p->line};
	return p->file != NULL;
}

struct source_view *source_view_new(void)
{
	return xcalloc(1, sizeof(struct source_view));
}

void source_view_free(struct source_view *v)
{
	if (!v)
		return;
	place_forget(&v->at);
	place_forget(&v->listed);
	free(v);
}

static struct source_view *view(struct session *s)
{
	if (!s->source)
		s->source = source_view_new();
	return s->source;
}

void source_set(struct session *s, const struct source_place *at)
{
	struct source_view *v = view(s);

	place_keep(&v->at, at);
	place_forget(&v->listed);
}

bool source_current(const struct session *s, struct source_place *ret)
{
	return s->source && place_of(&s->source->at, ret);
}

bool source_listed(
	const struct session *s, struct source_place *ret, unsigned *ret_first, unsigned *ret_last)
{
	if (!s->source || !place_of(&s->source->listed, ret))
		return false;
	*ret_first = s->source->first;
	*ret_last = s->source->last;
	return true;
}

/* --- one line --- */

bool source_tell(struct session *s, const struct source_place *at)
{
	const struct source_text *t;
	const char *line;
	struct err *e;
	size_t n;

	source_set(s, at);
	if (!s->set.number[SHELL_SOURCE_LINE])
		return false;
	e = sources_get(session_sources(s), at->file, at->folder, &t);
	if (e || at->line > t->nlines) {
		err_free(e);
		return false;
	}
	line = source_line(t, at->line, &n);
	out_printf(s->out, "%u\t%.*s\n", at->line, (int)(n > COLUMNS_MAX ? COLUMNS_MAX : n), line);
	return true;
}

bool source_tell_kernel(struct session *s, const char *file, unsigned line)
{
	return line && *file && source_tell(s, &(struct source_place){file, NULL, line});
}

/* --- which line --- */

/* A file that nvcc made and has deleted, or a header of the toolkit. */
static bool is_stub_file(const char *file)
{
	static const char *const headers[] = {
		"cuda_runtime.h", "cuda_runtime_api.h", "host_runtime.h", "hip_runtime_api.h"};
	const char *name = file_name_of(file);

	for (unsigned i = 0; i < sizeof headers / sizeof *headers; i++)
		if (!strcmp(name, headers[i]))
			return true;
	return !strncmp(name, "tmpxft_", 7) || strstr(name, ".cudafe1.");
}

/* "ns::adam" of "void ns::adam<float>(float*, int)": cuts text. */
static char *bare_name(char *text)
{
	char *end = text + strcspn(text, "<("), *begin = end;

	*end = 0;
	while (begin > text && begin[-1] != ' ')
		begin--;
	return begin;
}

/* "adam" of "ns::adam". */
static const char *last_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* The function that nvcc makes for a kernel has the kernel's name, and lines of its body. That of a
 * template is static, and the debug information names it without its namespace: "adam<float>". */
static bool is_kernel(const char *function, const char *kernel)
{
	char *copy;
	const char *bare;
	bool is;

	if (!function || !kernel)
		return false;
	copy = xstrdup(function);
	bare = bare_name(copy);
	is = !strcmp(bare, kernel) ||
	     (strchr(function, '<') && !strchr(bare, ':') && !strcmp(bare, last_name(kernel)));
	free(copy);
	return is;
}

/* The innermost frame of the user's own code; st->n: none. */
static unsigned own_frame(const struct stack *st, const char *kernel)
{
	unsigned i = 0;

	for (; i < st->n; i++) {
		const struct symbol *y = &st->frames[i].sym;

		if (!st->frames[i].interpreter && y->file && y->line && !is_stub_file(y->file) &&
			!is_kernel(y->function, kernel))
			break;
	}
	return i;
}

bool source_of_stack(const struct stack *st, const char *kernel, struct source_place *ret)
{
	const unsigned i = own_frame(st, kernel);

	if (i == st->n)
		return false;
	*ret = (struct source_place){
		st->frames[i].sym.file, st->frames[i].sym.folder, st->frames[i].sym.line};
	return true;
}

static const char *kernel_of(const struct state *st, const struct sbt_cmd *c, char ret[NAME_ROOM])
{
	struct state_kernel k;

	if (c->kind != SBT_LAUNCH || !state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) ||
		!k.name)
		return NULL;
	return kernel_short_name(ret, NAME_ROOM, k.name);
}

/* The kernel that the live program is about to launch; NULL: none. */
static const char *live_kernel(const struct live *l, char ret[NAME_ROOM])
{
	return l->at_cmd && l->recorder ? kernel_of(recorder_state(l->recorder), &l->cmd, ret)
					: NULL;
}

bool source_live_frame(struct session *s, unsigned *ret)
{
	const struct live *l = &s->engine.live;
	char name[NAME_ROOM];
	struct stack st;
	struct err *e = stack_of_thread(s, l->tid, &st);
	bool found;
	unsigned i;

	if (e) {
		err_free(e);
		return false;
	}
	i = own_frame(&st, live_kernel(l, name));
	found = i < st.n;
	if (found)
		*ret = st.frames[i].number;
	stack_free(&st);
	return found;
}

void source_tell_live(struct session *s)
{
	const struct live *l = &s->engine.live;
	struct source_place at;
	char name[NAME_ROOM];
	struct stack st;
	struct err *e;

	e = stack_of_thread(s, l->tid, &st);
	if (e) {
		err_free(e);
		return;
	}
	if (source_of_stack(&st, live_kernel(l, name), &at))
		source_tell(s, &at);
	stack_free(&st);
}

void source_tell_recorded(struct session *s, const struct sbt_cmd *c)
{
	const struct state *state;
	struct source_place at;
	char name[NAME_ROOM];
	struct stack st;
	struct err *e;

	if (!c->stack || !s->set.number[SHELL_SOURCE_LINE])
		return;
	e = session_state(s, &state);
	if (!e)
		e = stack_recorded(s, s->engine.trace.reader, c->stack, &st);
	if (e) {
		err_free(e);
		return;
	}
	if (source_of_stack(&st, kernel_of(state, c, name), &at))
		source_tell(s, &at);
	stack_free(&st);
}

/* --- several --- */

struct listed_line {
	const char *file;
	unsigned line;
	bool here;
	char *text;
};
JS_DEFINE(source_line_object, "source_line", listed_line, JS(TEXT, listed_line, file),
	JS(UINT, listed_line, line), JS(BOOL, listed_line, here), JS(TEXT, listed_line, text));

static void add_line(
	struct buf *b, const struct source_text *t, unsigned line, bool here, bool json)
{
	size_t n;
	const char *p = source_line(t, line, &n);
	struct listed_line l = {t->path, line, here, NULL};

	n = n > COLUMNS_MAX ? COLUMNS_MAX : n;
	if (!json) {
		buf_printf(b, "%s %5u  %.*s\n", here ? "=>" : "  ", line, (int)n, p);
		return;
	}
	l.text = xasprintf("%.*s", (int)n, p);
	js_add(b, &source_line_object, &l);
	free(l.text);
}

struct err *source_print(
	struct session *s, const struct source_place *at, unsigned first, unsigned last, bool json)
{
	struct source_view *v = view(s);
	const struct source_text *t;
	struct source_place current;
	struct buf b = BUF_INIT;
	bool same;

	TRY(sources_get(session_sources(s), at->file, at->folder, &t));
	if (first > t->nlines)
		return err_new(ERR_NOT_FOUND, "%s has only %u lines", t->path, t->nlines);
	if (last > t->nlines)
		last = t->nlines;
	same = source_current(s, &current) && !strcmp(current.file, at->file);
	if (json)
		buf_byte(&b, '[');
	for (unsigned i = first; i <= last; i++)
		add_line(&b, t, i, same && i == current.line, json);
	if (json)
		buf_str(&b, "]\n");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	place_keep(&v->listed, at);
	v->first = first;
	v->last = last;
	return NULL;
}
