/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's source: list, info source, directory, and the settings about where it
 * lies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "base/words.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-place.h"
#include "shell/source/source-view.h"

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
			err_new(ERR_NOT_FOUND, "the code does not say which source line this is"),
			"Build with \"%s\"; \"disassemble\" shows the code",
			t->unit == SOFT_CODE ? "hipcc -gline-tables-only" : "nvcc -lineinfo");
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
	struct source_found f = {0};
	struct source_place at;
	unsigned first = 0, last = 0;
	struct err *e;

	if (colon && colon > text && colon[-1] != ':' &&
		source_parse_range(colon + 1, &first, &last)) {
		char *name = xasprintf("%.*s", (int)(colon - text), text);

		e = source_of_file(s, name, first, &f);
		free(name);
	} else {
		e = source_of_place(s, text, &f);
		first = f.line > LIST_LINES / 2 ? f.line - LIST_LINES / 2 : 1;
		last = first + LIST_LINES - 1;
	}
	if (!e) {
		at = (struct source_place){f.file, f.folder, f.line};
		e = source_print(s, &at, first, last, json);
	}
	source_found_free(&f);
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
	if (!source_parse_range(w, &first, &last))
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
		buf_printf(b, "Its text is the trace's; it has %u line%s.\n", r->lines,
			r->lines == 1 ? "" : "s");
	else if (r->path)
		buf_printf(b, "Its text is %s; it has %u line%s.\n", r->path, r->lines,
			r->lines == 1 ? "" : "s");
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
	"Looks in these folders for sources that are not where the compiler found them: with the whole\n"
	"path that it had, then with ever less of it. Without a folder: forgets all that were given. `show directories` lists\n"
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
