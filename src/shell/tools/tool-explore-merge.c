/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb merge FILE.json...`: what shards of an exploration found, together. Names the shards that
 * are missing or were ended, and prints the lines that run them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/words.h"
#include "engine/ranks.h"
#include "shell/print/explore-text.h"
#include "shell/tools/explore-words.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

/* A shard that was ended, and the file that goes on with it. */
struct begun {
	unsigned window;
	uint32_t shard;
	const char *file;
};

struct tool_merge {
	struct session *s;
	struct explore_result *r; /* a window each; heap */
	size_t n;
	struct begun *begun; /* heap */
	size_t nbegun, cap_begun;
	const char *out;
	bool json, found_ok;
};

static void note_begun(struct tool_merge *t, const struct explore_result *r, const char *name)
{
	for (uint32_t i = 0; i < r->shards; i++) {
		if (r->have[i] != EXPLORE_BEGUN)
			continue;
		MAKE_ROOM(t->begun, t->nbegun, t->cap_begun);
		t->begun[t->nbegun++] = (struct begun){r->window, i, name};
	}
}

static struct err *merge_one(struct tool_merge *t, struct explore_result *one, const char *name)
{
	struct err *e;

	note_begun(t, one, name);
	for (size_t i = 0; i < t->n; i++)
		if (t->r[i].first == one->first && t->r[i].last == one->last) {
			e = explore_merge(&t->r[i], one);
			return e ? err_wrap(e, "%s", name) : NULL;
		}
	t->r = xrealloc(t->r, (t->n + 1) * sizeof *t->r);
	t->r[t->n++] = *one;
	*one = (struct explore_result){0};
	return NULL;
}

static struct err *merge_file(struct tool_merge *t, const char *name)
{
	struct explore_file f = {.path = xstrdup(name)};
	struct err *e = explore_file_read(&f, true);

	if (!e && !f.n)
		e = err_new(ERR_USAGE, "%s is empty", name);
	for (size_t i = 0; !e && i < f.n; i++)
		e = merge_one(t, &f.r[i], name);
	explore_file_free(&f);
	return e;
}

/* --- what is missing --- */

static const struct begun *begun_of(
	const struct tool_merge *t, const struct explore_result *r, uint32_t i)
{
	for (size_t k = 0; k < t->nbegun; k++)
		if (t->begun[k].window == r->window && t->begun[k].shard == i)
			return &t->begun[k];
	return NULL;
}

/* Prints the line that runs shard i. */
static void print_line(struct tool_merge *t, const struct explore_result *r, uint32_t i)
{
	const struct begun *b = begun_of(t, r, i);
	struct buf line = BUF_INIT;

	explore_line(r, i, b ? b->file : NULL, &line);
	out_printf(t->s->out, "  %s\n", buf_cstr(&line));
	buf_free(&line);
}

static void tell_missing(struct tool_merge *t, const struct explore_result *r)
{
	if (explore_has_all(r))
		return;
	out_printf(t->s->out, "The rest:\n");
	for (uint32_t i = 0; i < r->shards; i++)
		if (r->have[i] != EXPLORE_WHOLE)
			print_line(t, r, i);
}

/* --- telling --- */

/* Prints commands in full if the trace is available. */
static void tell_merged(struct tool_merge *t)
{
	const char *trace = t->n ? t->r[0].trace : NULL;

	if (!t->json && trace && trace_is(trace)) {
		const bool quiet = t->s->quiet;

		t->s->quiet = true;
		err_free(trace_open(t->s, trace));
		t->s->quiet = quiet;
	}
	for (size_t i = 0; i < t->n; i++) {
		explore_tell(t->s, &t->r[i], t->json);
		if (!t->json)
			tell_missing(t, &t->r[i]);
	}
}

static struct err *write_merged(struct tool_merge *t)
{
	struct explore_file f = {.path = xstrdup(t->out), .r = t->r, .n = t->n};
	struct err *e = explore_file_write(&f, NULL);

	free(f.path);
	return e;
}

static struct err *usage(const char *what)
{
	return err_cure(err_new(ERR_USAGE, "%s", what),
		"Use: tsdb merge FILE.json... [-o FILE] [--found-ok] [--json]");
}

static struct err *merge_words(struct tool_merge *t, int argc, char **argv)
{
	unsigned files = 0;

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			t->json = true;
		else if (!strcmp(argv[i], "--found-ok"))
			t->found_ok = true;
		else if (!strcmp(argv[i], "-o") && i + 1 < argc)
			t->out = argv[++i];
		else if (argv[i][0] == '-')
			return usage("merging results takes no such option");
		else if (++files)
			TRY(merge_file(t, argv[i]));
	}
	return files ? NULL : usage("no results were named");
}

static int status_of(const struct tool_merge *t)
{
	bool found = false, all = true;

	for (size_t i = 0; i < t->n; i++) {
		found |= t->r[i].nfound != 0;
		all &= explore_has_all(&t->r[i]);
	}
	return found && !t->found_ok ? REPLAY_STATUS_DIFFERS : all ? 0 : 1;
}

int tool_explore_merge(struct session *s, int argc, char **argv)
{
	struct tool_merge t = {.s = s};
	struct err *e = merge_words(&t, argc, argv);
	int status = 1;

	for (size_t i = 0; !e && i < t.n; i++)
		if (explore_has_all(&t.r[i]))
			explore_finish(&t.r[i]);
	if (!e && t.out)
		e = write_merged(&t);
	if (!e) {
		tell_merged(&t);
		status = status_of(&t);
	}
	for (size_t i = 0; i < t.n; i++)
		explore_free(&t.r[i]);
	free(t.r);
	free(t.begun);
	if (e)
		out_error(s->out, e);
	return status;
}

bool explore_is_results(const char *path)
{
	FILE *f = fopen(path, "re");
	const int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c == '{' && !ranks_is(path);
}
