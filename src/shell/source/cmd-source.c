/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's source: list, info source, info line, directory, and the settings about where it
 * lies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "base/json-put.h"
#include "base/words.h"
#include "engine/kernel-lines.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-view.h"
#include "symbols/elf-facts.h"
#include "symbols/places.h"

enum { LIST_LINES = 10, NAME_ROOM = 512, LINE_MAX_NUMBER = INT32_MAX };

/* --- where a function is --- */

/* A place whose texts are its own. */
struct found {
	char *file, *folder;
	unsigned line;
};

static void found_free(struct found *f)
{
	free(f->file);
	free(f->folder);
}

static bool found_set(struct found *f, const char *file, const char *folder, unsigned line)
{
	*f = (struct found){xstrdup(file), folder ? xstrdup(folder) : NULL, line};
	return true;
}

/* The files whose functions and lines are meant: the program and its libraries, live, or what a
 * trace's stacks name. */
static const char *file_at(struct session *s, unsigned i, char **program)
{
	const struct sbt_host_module *m;
	struct inferior_library lib;

	if (s->focus == FOCUS_REPLAY && s->engine.trace.reader) {
		m = sbt_reader_module(s->engine.trace.reader, i);
		if (!m)
			return NULL;
		return symbols_is_build(session_symbols(s), m->path, m->build_id) ? m->path : "";
	}
	if (s->engine.live.inf)
		return inferior_library(s->engine.live.inf, i, &lib)
			       ? lib.has_lines || !i ? lib.path : ""
			       : NULL;
	if (i)
		return NULL;
	free(*program);
	*program = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	return *program;
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

static bool host_function(struct session *s, const char *name, struct found *ret)
{
	char *program = NULL;
	const char *path;
	bool done = false;

	for (unsigned i = 0; !done && (path = file_at(s, i, &program)); i++) {
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

static struct err *all_lines(struct session *s, struct kernel_lines *ret)
{
	char *path;

	*ret = (struct kernel_lines){0};
	if (s->focus == FOCUS_REPLAY && s->engine.trace.reader)
		return kernel_lines_of_trace(s->engine.trace.reader, ret);
	path = s->engine.live.program ? program_find(s->engine.live.program) : NULL;
	if (path)
		kernel_lines_of_program(path, ret);
	free(path);
	return NULL;
}

/* A kernel's first line is that of its name. */
static struct err *kernel_function(
	struct session *s, const char *name, struct found *ret, bool *ret_found)
{
	struct kernel_lines l;
	char shown[NAME_ROOM];

	*ret_found = false;
	TRY(all_lines(s, &l));
	for (unsigned i = 0; i < l.n && !*ret_found; i++) {
		kernel_short_name(shown, sizeof shown, l.v[i].kernel);
		if (l.v[i].file && sbt_kernel_glob(name, l.v[i].kernel, shown))
			*ret_found = found_set(ret, l.v[i].file, NULL, l.v[i].line);
	}
	kernel_lines_free(&l);
	return NULL;
}

/* A source file by its name or the end of its path: of the place, of kernels, of the host. */
static struct err *file_named(struct session *s, const char *name, unsigned line, struct found *ret)
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
	TRY(all_lines(s, &l));
	for (unsigned i = 0; i < l.n && !done; i++)
		if (l.v[i].file && symbols_same_file(l.v[i].file, name))
			done = found_set(ret, l.v[i].file, NULL, line);
	kernel_lines_free(&l);
	for (unsigned i = 0; !done && (path = file_at(s, i, &program)); i++)
		if (*path && symbols_line(session_symbols(s), path, name, 1, &host) == SYMBOLS_LINE)
			done = found_set(ret, host.file, host.folder, line);
	free(program);
	return done ? NULL
		    : err_cure(
			      err_new(ERR_NOT_FOUND, "no code that is known has lines of %s", name),
			      "\"info source\" says which file is shown now");
}

/* --- list --- */

const char cmd_list_help[] =
	"Shows ten lines of the source: around the line of the last stop or selected frame (marked\n"
	"=>), inside a launch around the line of the focused warp's next instruction. Again, or\n"
	"Enter: the next ten; `list -` those before. N: around line N, N,M: these lines, FUNCTION or\n"
	"KERNEL: around its beginning, FILE:N: of another file. Host code has lines when it is built\n"
	"with -g, kernels with -lineinfo or -G. `directory` and `set substitute-path` say where\n"
	"sources are that have moved.\n"
	"Examples: list\n"
	"          list 20,40\n"
	"          list matmul\n"
	"          list blur.cu:25\n";

/* Parses "N", "N,M", ",M" or "N,". */
static bool parse_range(const char *text, unsigned *ret_first, unsigned *ret_last)
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

static struct err *no_place(void)
{
	return err_cure(err_new(ERR_STATE, "there is no place in the source to show"),
		"Stop somewhere first, or use \"list FUNCTION\" or \"list FILE:LINE\"");
}

/* Where the launch under the microscope is, or the last stop was. */
static struct err *here(struct session *s, struct source_place *ret)
{
	const struct soft_stop *t = kernel_stop(s);

	if (t && (!t->source_line || !*t->file)) {
		if (source_current(s, ret)) /* of the line before it */
			return NULL;
		return err_cure(
			err_new(ERR_NOT_FOUND, "the PTX does not say which source line this is"),
			"Build with \"nvcc -lineinfo\"; \"disassemble\" shows the PTX");
	}
	if (t && (!source_current(s, ret) || ret->line != t->source_line ||
			 strcmp(ret->file, t->file) != 0))
		source_set(s, &(struct source_place){t->file, NULL, t->source_line});
	return source_current(s, ret) ? NULL : no_place();
}

/* Whether the launch under the microscope has gone to another line, which nothing has shown. */
static bool kernel_moved(const struct session *s)
{
	const struct soft_stop *t = kernel_stop(s);
	struct source_place now;

	return t && t->source_line &&
	       (!source_current(s, &now) || now.line != t->source_line ||
		       strcmp(now.file, t->file) != 0);
}

static struct err *list_on(struct session *s, bool back, bool json)
{
	struct source_place at;
	unsigned first, last;

	if (!kernel_moved(s) && source_listed(s, &at, &first, &last)) {
		if (back && first <= 1)
			return err_new(
				ERR_NOT_FOUND, "%s was shown from its first line on", at.file);
		if (back)
			return source_print(s, &at, first > LIST_LINES ? first - LIST_LINES : 1,
				first - 1, json);
		return source_print(s, &at, last + 1, last + LIST_LINES, json);
	}
	TRY(here(s, &at));
	first = at.line > LIST_LINES / 2 ? at.line - LIST_LINES / 2 : 1;
	return source_print(s, &at, first, first + LIST_LINES - 1, json);
}

/* "FUNCTION", "FILE:N", "FILE:N,M", "FILE:FUNCTION". */
static struct err *list_named(struct session *s, const char *text, bool json)
{
	const char *colon = strrchr(text, ':');
	struct found f = {0};
	struct source_place at;
	unsigned first = 0, last = 0;
	bool found = false;
	struct err *e;

	if (colon && colon > text && colon[-1] != ':' && parse_range(colon + 1, &first, &last)) {
		char *name = xasprintf("%.*s", (int)(colon - text), text);

		e = file_named(s, name, first, &f);
		free(name);
	} else {
		e = kernel_function(s, text, &f, &found);
		if (!e && !found && !host_function(s, text, &f))
			e = err_cure(err_new(ERR_NOT_FOUND,
					     "no function or kernel with line numbers is called %s",
					     text),
				"Host code needs -g, kernels need -lineinfo");
		first = f.line > LIST_LINES / 2 ? f.line - LIST_LINES / 2 : 1;
		last = first + LIST_LINES - 1;
	}
	if (!e) {
		at = (struct source_place){f.file, f.folder, f.line};
		e = source_print(s, &at, first, last, json);
	}
	found_free(&f);
	return e;
}

struct err *cmd_list(struct session *s, const struct cmd_args *a)
{
	const char *w = a->rest;
	struct source_place at;
	unsigned first, last;

	if (!*w || s->repeating)
		return list_on(s, s->repeating && !strcmp(w, "-"), a->json);
	if (!strcmp(w, "-"))
		return list_on(s, true, a->json);
	if (!parse_range(w, &first, &last))
		return list_named(s, w, a->json);
	if (kernel_stop(s) || !source_listed(s, &at, &(unsigned){0}, &(unsigned){0}))
		TRY(here(s, &at));
	return source_print(s, &at, first, last, a->json);
}

/* --- info source, info line --- */

const char cmd_info_source_help[] =
	"Says which source file the last stop or selected frame is in, and where its text was found.\n"
	"Example: info source\n";

struct source_row {
	const char *file, *folder, *path;
	unsigned line, lines;
	bool kept;
};
JS_DEFINE(source_object, "source", source_row, JS(TEXT, source_row, file, folder),
	JS_AS("text_file", TEXT, source_row, path), JS(UINT, source_row, line),
	JS_AS("line_count", UINT, source_row, lines), JS_AS("of_trace", BOOL, source_row, kept));

static void source_text_row(struct buf *b, const void *row)
{
	const struct source_row *r = row;

	buf_printf(b, "The source file is %s, line %u.\n", r->file, r->line);
	if (r->folder)
		buf_printf(b, "It was compiled in %s.\n", r->folder);
	if (r->path && r->kept)
		buf_printf(b, "Its text is the trace's; it has %u lines.\n", r->lines);
	else if (r->path)
		buf_printf(b, "Its text is %s; it has %u lines.\n", r->path, r->lines);
	else
		buf_str(b, "Its text was not found; \"directory DIR\" says where to look.\n");
}

struct err *cmd_info_source(struct session *s, const struct cmd_args *a)
{
	const struct source_text *t;
	struct source_row row = {0};
	struct source_place at;
	struct err *e;

	TRY(here(s, &at));
	row = (struct source_row){.file = at.file, .folder = at.folder, .line = at.line};
	e = sources_get(session_sources(s), at.file, at.folder, &t);
	if (!e) {
		row.path = t->path;
		row.lines = t->nlines;
		row.kept = t->kept;
	}
	err_free(e);
	listing_one(s, a->json, &source_object, source_text_row, &row);
	return NULL;
}

/* --- folders --- */

const char cmd_directory_help[] =
	"Looks for sources in these folders first, with the whole path that the compiler had, then\n"
	"with ever less of it. Without a folder: forgets all that were given. `show directories` lists\n"
	"them; `set substitute-path FROM TO` replaces the beginning of paths.\n"
	"Example: directory /src/app ../old\n";

struct err *cmd_directory(struct session *s, const struct cmd_args *a)
{
	if (!a->argc) {
		if (!session_confirm(s, "Forget all folders of sources?"))
			return NULL;
		sources_forget_folders(session_sources(s));
		return NULL;
	}
	for (unsigned i = a->argc; i; i--) {
		char *part = a->argv[i - 1], *colon;

		while ((colon = strrchr(part, ':'))) { /* DIR:DIR, as in gdb */
			if (colon[1])
				sources_add_folder(session_sources(s), colon + 1, true);
			*colon = 0;
		}
		if (*part)
			sources_add_folder(session_sources(s), part, true);
	}
	return NULL;
}

struct folder_row {
	const char *folder;
};
JS_DEFINE(folder_object, "source_folder", folder_row, JS(TEXT, folder_row, folder));

static void folder_text(struct buf *b, const void *row)
{
	buf_printf(b, "%s\n", ((const struct folder_row *)row)->folder);
}

static void show_folders(struct session *s, bool json)
{
	struct listing l = listing_begin(s, json, &folder_object, NULL, folder_text);
	const char *folder;

	for (unsigned i = 0; (folder = sources_folder(session_sources(s), i)); i++)
		listing_add(&l, &(struct folder_row){folder});
	listing_end(&l, "No folders: sources are where the compiler found them.\n");
}

struct rule_row {
	const char *from, *to;
};
JS_DEFINE(rule_object, "source_rule", rule_row, JS_AS("from_path", TEXT, rule_row, from),
	JS_AS("to_path", TEXT, rule_row, to));

static void rule_text(struct buf *b, const void *row)
{
	const struct rule_row *r = row;

	buf_printf(b, "%s -> %s\n", r->from, r->to);
}

static void show_rules(struct session *s, bool json)
{
	struct listing l = listing_begin(s, json, &rule_object, NULL, rule_text);
	struct rule_row r;

	for (unsigned i = 0; sources_rule(session_sources(s), i, &r.from, &r.to); i++)
		listing_add(&l, &r);
	listing_end(&l, "No path is substituted.\n");
}

static struct err *change_rule(struct session *s, bool set, const char *rest)
{
	struct sources *of = session_sources(s);
	struct err *e = NULL;
	unsigned n;
	char **w;

	TRY(words_split(rest, &w, &n));
	if (n != (set ? 2 : n) || (!set && n > 1))
		e = err_cure(err_new(ERR_USAGE, set ? "set substitute-path needs two paths"
						    : "unset substitute-path takes one path"),
			"For example: set substitute-path /build/src /home/me/src");
	else if (!sources_substitute(of, n ? w[0] : NULL, set ? w[1] : NULL) && !set && n)
		e = err_cure(err_new(ERR_NOT_FOUND, "%s is not substituted", w[0]),
			"\"show substitute-path\" lists what is");
	words_free(w);
	return e;
}

/* Whether text is the word, alone or with more behind it. */
static bool is_word(const char *text, const char *word, const char **ret_rest)
{
	const size_t n = strlen(word);

	if (strncmp(text, word, n) != 0 || (text[n] && !strchr(" \t", text[n])))
		return false;
	*ret_rest = text + n + strspn(text + n, " \t");
	return true;
}

struct err *source_setting(
	struct session *s, const char *verb, const char *rest, bool json, bool *ret_done)
{
	const char *more;

	*ret_done = true;
	if (is_word(rest, "substitute-path", &more)) {
		if (strcmp(verb, "show") != 0)
			return change_rule(s, !strcmp(verb, "set"), more);
		show_rules(s, json);
		return NULL;
	}
	if (!strcmp(verb, "show") &&
		(is_word(rest, "directories", &more) || is_word(rest, "directory", &more))) {
		show_folders(s, json);
		return NULL;
	}
	*ret_done = false;
	return NULL;
}
