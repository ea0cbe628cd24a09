/* SPDX-License-Identifier: Apache-2.0
 *
 * Places in the source by name, see source-place.h.
 */
#include "shell/source/source-place.h"

#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "base/file.h"
#include "base/words.h"
#include "engine/kernel-lines.h"
#include "shell/print/kernel-text.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-view.h"
#include "symbols/elf-facts.h"
#include "symbols/places.h"
#include "sbt/kernel-name.h"

enum { NAME_ROOM = 512, LINE_MAX_NUMBER = INT32_MAX };

static bool in_replay(const struct session *s)
{
	return s->focus == FOCUS_REPLAY && s->engine.trace.reader;
}

void source_found_free(struct source_found *f)
{
	free(f->file);
	free(f->folder);
}

static bool found_set(struct source_found *f, const char *file, const char *folder, unsigned line)
{
	*f = (struct source_found){xstrdup(file), folder ? xstrdup(folder) : NULL, line};
	return true;
}

/* The C library and the loader: their functions are not the program's. */
static bool is_systems(const char *path)
{
	static const char *const names[] = {"libc.so.", "ld-linux", "libm.so.", "libpthread.so."};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(file_name_of(path), names[i], strlen(names[i])))
			return true;
	return false;
}

/* Whether a file that a trace names is the one that was recorded, and, unless it is the first, has
 * line numbers. */
static bool is_of_interest(struct symbols *sy, const struct sbt_host_module *m, unsigned i)
{
	struct elf_layout l = {0};

	if (*m->path != '/' || is_systems(m->path) || !symbols_is_build(sy, m->path, m->build_id))
		return false;
	elf_layout_read(m->path, &l);
	return !i || l.has_lines;
}

const char *source_binary(struct session *s, unsigned i, char **program)
{
	const struct sbt_host_module *m;
	struct inferior_library lib;

	if (in_replay(s)) {
		m = sbt_reader_module(s->engine.trace.reader, i);
		if (!m)
			return NULL;
		return is_of_interest(session_symbols(s), m, i) ? m->path : "";
	}
	if (s->engine.live.inf)
		return inferior_library(s->engine.live.inf, i, &lib)
			       ? (lib.has_lines && !is_systems(lib.path)) || !i ? lib.path : ""
			       : NULL;
	if (i)
		return NULL;
	free(*program);
	*program = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	return *program;
}

uint64_t source_bias(struct session *s, unsigned i)
{
	struct inferior_library lib;

	return !in_replay(s) && s->engine.live.inf && inferior_library(s->engine.live.inf, i, &lib)
		       ? lib.bias
		       : 0;
}

struct look {
	const char *name;
	uint64_t vaddr;
	bool found;
};

static bool look_at(void *arg, const struct symbols_function *f)
{
	struct look *l = arg;
	const size_t n = strlen(l->name), k = strcspn(f->name, "(");
	const char *begin = f->name;

	/* "f", or the end of "a::f" */
	if (strcmp(f->mangled, l->name) != 0 && !(k >= n && !memcmp(begin + k - n, l->name, n) &&
							(k == n || strchr(": ", begin[k - n - 1]))))
		return true;
	l->vaddr = f->vaddr;
	l->found = true;
	return false;
}

bool source_of_function(struct session *s, const char *name, struct source_found *ret)
{
	char *program = NULL;
	const char *path;
	bool done = false;

	for (unsigned i = 0; !done && (path = source_binary(s, i, &program)); i++) {
		struct look l = {.name = name};
		struct symbol sym;

		if (!*path)
			continue;
		symbols_functions(session_symbols(s), path, look_at, &l);
		if (l.found && symbols_lookup(session_symbols(s), path, NULL, l.vaddr, &sym, 1) &&
			sym.file && sym.line)
			done = found_set(ret, sym.file, sym.folder, sym.line);
	}
	free(program);
	return done;
}

struct err *source_kernel_lines(struct session *s, struct kernel_lines *ret)
{
	char *path;

	*ret = (struct kernel_lines){0};
	if (in_replay(s))
		return kernel_lines_of_trace(s->engine.trace.reader, ret);
	path = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	if (path)
		kernel_lines_of_program(path, ret);
	free(path);
	return NULL;
}

struct err *source_of_kernel(
	struct session *s, const char *name, struct source_found *ret, bool *ret_found)
{
	struct kernel_lines l;
	char shown[NAME_ROOM];

	*ret_found = false;
	TRY(source_kernel_lines(s, &l));
	for (unsigned i = 0; i < l.n && !*ret_found; i++) {
		kernel_short_name(shown, sizeof shown, l.v[i].kernel);
		if (l.v[i].file && sbt_kernel_glob(name, l.v[i].kernel, shown))
			*ret_found = found_set(ret, l.v[i].file, NULL, l.v[i].line);
	}
	kernel_lines_free(&l);
	return NULL;
}

struct err *source_of_file(
	struct session *s, const char *name, unsigned line, struct source_found *ret)
{
	struct source_place at;
	struct symbols_line host;
	struct kernel_lines l;
	char *program = NULL;
	const char *path;
	bool done = false;

	if (source_current(s, &at) && symbols_same_file(at.file, name)) {
		found_set(ret, at.file, at.folder, line);
		return NULL;
	}
	TRY(source_kernel_lines(s, &l));
	for (unsigned i = 0; i < l.n && !done; i++)
		if (l.v[i].file && symbols_same_file(l.v[i].file, name))
			done = found_set(ret, l.v[i].file, NULL, line);
	kernel_lines_free(&l);
	for (unsigned i = 0; !done && (path = source_binary(s, i, &program)); i++)
		if (*path && symbols_line(session_symbols(s), path, name, 1, &host) == SYMBOLS_LINE)
			done = found_set(ret, host.file, host.folder, line);
	free(program);
	return done ? NULL
		    : err_cure(
			      err_new(ERR_NOT_FOUND, "no code that is known has lines of %s", name),
			      "\"info source\" says which file is shown now");
}

/* The file of the first frame from `from` on that has one. */
static char *file_of_frames(const struct stack *st, unsigned from)
{
	for (unsigned i = from; i < st->n; i++)
		if (st->frames[i].sym.file)
			return xstrdup(file_name_of(st->frames[i].sym.file));
	return NULL;
}

/* That of the selected frame; while none was chosen, of the line that the stop has shown: the
 * innermost frames may be the toolkit's. */
static char *file_of_stop(struct session *s)
{
	const unsigned selected = s->engine.live.frame;
	struct source_place at;
	struct stack st;
	char *file;
	struct err *e = stack_get(s, STACK_MIXED, &st);

	if (e) {
		err_free(e);
		return NULL;
	}
	if (!selected && source_of_stack(&st, NULL, &at))
		file = xstrdup(file_name_of(at.file));
	else
		file = file_of_frames(&st, selected);
	stack_free(&st);
	return file;
}

struct err *source_default_file(struct session *s, char **ret)
{
	const struct soft_stop *t = kernel_stop(s);
	char *path = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	struct symbols_line at;

	*ret = NULL;
	if (t && *t->file) {
		*ret = xstrdup(file_name_of(t->file));
	} else if (in_replay(s) || s->engine.live.inf) {
		*ret = file_of_stop(s);
	} else if (path && symbols_main_file(session_symbols(s), path, &at)) {
		*ret = xstrdup(file_name_of(at.file));
	}
	free(path);
	if (*ret)
		return NULL;
	return err_cure(
		err_new(ERR_STATE, "no source file is current, so a line alone is no place"),
		"Use FILE:LINE; \"break seq N\" is the command with a number");
}

/* --- what the user typed --- */

bool source_parse_range(const char *text, unsigned *ret_first, unsigned *ret_last)
{
	char *copy = xstrdup(text), *comma = strchr(copy, ',');
	uint64_t first = 0, last = 0;
	bool ok;

	if (comma)
		*comma++ = 0;
	ok = (!*copy && comma && *comma) || word_u64(copy, &first);
	if (ok && comma && *comma)
		ok = word_u64(comma, &last) && last && (!first || last >= first);
	ok = ok && first <= LINE_MAX_NUMBER && last <= LINE_MAX_NUMBER && (first || last);
	if (ok && !comma) { /* around it */
		*ret_first = first > LIST_LINES / 2 ? (unsigned)first - LIST_LINES / 2 : 1;
		*ret_last = *ret_first + LIST_LINES - 1;
	} else if (ok) {
		*ret_first = first ? (unsigned)first
				   : (last > LIST_LINES ? (unsigned)last - LIST_LINES + 1 : 1);
		*ret_last = last ? (unsigned)last : (unsigned)first + LIST_LINES - 1;
	}
	free(copy);
	return ok;
}

bool source_parse_line(const char *text, char **ret_file, unsigned *ret_line)
{
	const char *colon = strrchr(text, ':');
	uint64_t line;

	*ret_file = NULL;
	if (colon && (colon == text || colon[-1] == ':'))
		return false;
	if (!word_u64(colon ? colon + 1 : text, &line) || !line || line > LINE_MAX_NUMBER)
		return false;
	*ret_line = (unsigned)line;
	if (colon)
		*ret_file = xasprintf("%.*s", (int)(colon - text), text);
	return true;
}

static struct err *named(struct session *s, const char *text, struct source_found *ret)
{
	bool found;

	TRY(source_of_kernel(s, text, ret, &found));
	if (found || source_of_function(s, text, ret))
		return NULL;
	return err_cure(err_new(ERR_NOT_FOUND,
				"no function or kernel with line numbers is called %s", text),
		"Host code needs -g, kernels need -lineinfo");
}

struct err *source_of_place(struct session *s, const char *text, struct source_found *ret)
{
	unsigned line;
	char *file;
	struct err *e = NULL;

	*ret = (struct source_found){0};
	if (!source_parse_line(text, &file, &line))
		return named(s, text, ret);
	if (!file)
		e = source_default_file(s, &file);
	if (!e)
		e = source_of_file(s, file, line, ret);
	free(file);
	return e;
}
