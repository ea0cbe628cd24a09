/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a set, see ranks.h: JSON, so that other programs can read it. Traces below the set's
 * folder are named relative to it, so that the folder can be moved. The file may come from
 * anywhere: every field is checked.
 */
#include "base/json-put.h"
#include "base/file.h"
#include "engine/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "engine/trace-file.h"

enum { RANKS_MAX = 65536, FILE_MAX = 64 << 20 };
static const char magic[] = "{\"tsdb_set\": ";

bool ranks_is(const char *path)
{
	return trace_file_begins(path, magic, sizeof magic - 1);
}

void ranks_free(struct ranks *set)
{
	if (!set)
		return;
	for (unsigned i = 0; i < set->n; i++) {
		free(set->r[i].file);
		free(set->r[i].host);
	}
	free(set->r);
	free(set->path);
	free(set);
}

struct rank *ranks_find(struct ranks *set, uint64_t rank)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (set->r[i].rank == rank)
			return &set->r[i];
	}
	return NULL;
}

uint64_t ranks_time(const struct rank *r, uint64_t ns)
{
	return r->fitted ? clocks_apply(&r->fit, ns) : ns;
}

int64_t ranks_offset(const struct rank *r)
{
	return r->fitted ? r->fit.offset : 0;
}

uint64_t ranks_steady(const struct rank *r, uint64_t ns)
{
	return ranks_time(r, ns) - (uint64_t)ranks_offset(r);
}

uint64_t ranks_local(const struct rank *r, uint64_t ns)
{
	uint64_t t = ns - (uint64_t)(r->fitted ? r->fit.offset : 0);

	return r->fitted ? t - (uint64_t)llround(r->fit.drift * (double)(int64_t)(t - r->fit.at))
			 : t;
}

uint64_t ranks_start(const struct ranks *set)
{
	uint64_t start = UINT64_MAX, t;

	for (unsigned i = 0; i < set->n; i++) {
		t = ranks_time(&set->r[i], set->r[i].start_ns);
		start = t < start ? t : start;
	}
	return start;
}

char *ranks_host(const struct sbt_meta *m)
{
	const char *host = m->host ? m->host : "";

	return xasprintf("%.*s", (int)strcspn(host, " "), host);
}

/* --- reading --- */

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? xasprintf("%.*s", (int)(slash - path) + 1, path) : xstrdup("");
}

static bool get_count(const json_t *o, const char *name, uint64_t *ret)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

/* No text with control characters: it goes to a terminal. */
static const char *get_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	for (const char *p = text; p && *p; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
	}
	return text;
}

static bool get_fit(const json_t *o, struct rank *r)
{
	const json_t *offset = json_object_get(o, "offset_ns"),
		     *drift = json_object_get(o, "drift"), *error = json_object_get(o, "error_ns");
	uint64_t n;

	if (!json_is_boolean(json_object_get(o, "fitted")) || !get_count(o, "matches", &n) ||
		!get_count(o, "at_ns", &r->fit.at) || !json_is_integer(offset) ||
		!json_is_number(drift) || !json_is_number(error) || n > UINT32_MAX)
		return false;
	r->fitted = json_is_true(json_object_get(o, "fitted"));
	r->fit.n = (unsigned)n;
	r->fit.offset = json_integer_value(offset);
	r->fit.drift = json_number_value(drift);
	r->fit.error = json_number_value(error);
	r->fit.possible = true;
	return fabs(r->fit.drift) <= 0.01 && r->fit.error >= 0;
}

static bool get_rank(const json_t *o, const char *folder, struct rank *r)
{
	const char *file = get_text(o, "file"), *host = get_text(o, "host");

	if (!file || !*file || !host || !get_count(o, "rank", &r->rank) ||
		!get_count(o, "pid", &r->pid) || !get_count(o, "start_ns", &r->start_ns) ||
		!get_count(o, "commands", &r->commands) || !get_fit(o, r))
		return false;
	r->file = *file == '/' ? xstrdup(file) : xasprintf("%s%s", folder, file);
	r->host = xstrdup(host);
	return true;
}

static struct err *bad_set(const char *path, const char *why)
{
	return err_cure(
		err_new(ERR_BAD_TRACE, "%s is no set of traces that can be read: %s", path, why),
		"Make it again with \"tsdb merge\"");
}

static struct err *take_set(struct ranks *set, const json_t *root)
{
	const json_t *traces = json_object_get(root, "traces");
	char *folder = folder_of(set->path);
	size_t n = json_array_size(traces);
	struct err *e = NULL;
	uint64_t version;

	if (!get_count(root, "tsdb_set", &version) || version != 1)
		e = bad_set(set->path, "it is of another version");
	else if (!n || n > RANKS_MAX)
		e = bad_set(set->path, "it names no traces");
	if (!e)
		set->r = xcalloc(n, sizeof *set->r);
	for (size_t i = 0; i < n && !e; i++) {
		struct rank *r = &set->r[set->n++];

		if (!get_rank(json_array_get(traces, i), folder, r))
			e = bad_set(set->path, "a trace in it lacks something");
		for (unsigned k = 0; k + 1 < set->n && !e; k++) {
			if (set->r[k].rank == r->rank)
				e = bad_set(set->path, "two traces in it have the same rank");
		}
	}
	free(folder);
	return e;
}

struct err *ranks_load(struct ranks **ret, const char *path)
{
	struct ranks *set;
	json_error_t why;
	struct stat st;
	json_t *root;
	struct err *e;

	if (stat(path, &st))
		return err_cure(err_sys(errno, "cannot read %s", path), "Check its name");
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return bad_set(path, "it is too large");
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return bad_set(path, why.text);
	set = xcalloc(1, sizeof *set);
	set->path = xstrdup(path);
	e = take_set(set, root);
	json_decref(root);
	if (e)
		ranks_free(set);
	else
		*ret = set;
	return e;
}

struct err *ranks_open(const struct rank *r, struct sbt_reader **ret)
{
	const struct sbt_meta *m;

	TRY(sbt_reader_open(ret, r->file));
	m = sbt_reader_meta(*ret);
	if (m->pid == r->pid && m->start_ns == r->start_ns)
		return NULL;
	sbt_reader_close(*ret);
	return err_cure(
		err_new(ERR_STATE, "%s is another trace than the one that was merged", r->file),
		"Make the set again with \"tsdb merge\"");
}

/* --- writing --- */

/* The name of a trace in the set: relative to the set's folder if it is below it. */
static char *named(const char *set_path, const char *file)
{
	char *folder = folder_of(set_path), *base = realpath(*folder ? folder : ".", NULL),
	     *full = realpath(file, NULL), *ret;
	size_t n = base ? strlen(base) : 0;

	if (base && full && !strncmp(full, base, n) && (full[n] == '/' || !strcmp(base, "/")))
		ret = xstrdup(full + n + (full[n] == '/'));
	else
		ret = xstrdup(full ? full : file);
	free(folder);
	free(base);
	free(full);
	return ret;
}

struct err *ranks_choose(struct ranks *set, uint64_t rank, const char **ret)
{
	const struct rank *r = ranks_find(set, rank);
	struct sbt_reader *reader;

	if (!r)
		return err_cure(err_new(ERR_NOT_FOUND, "%s has no rank %" PRIu64, set->path, rank),
			"\"tsdb info %s\" lists them", set->path);
	TRY(ranks_open(r, &reader));
	sbt_reader_close(reader);
	*ret = r->file;
	return NULL;
}

JS_DEFINE(rank_object, "rank", rank, JS(UINT, rank, rank), JS(TEXT, rank, host, file),
	JS(UINT, rank, pid, start_ns, commands), JS(BOOL, rank, fitted),
	JS_AS("offset_ns", INT, rank, fit.offset), JS_AS("at_ns", UINT, rank, fit.at),
	JS_IN(REAL, rank, fit, drift), JS_AS("error_ns", REAL, rank, fit.error),
	JS_AS("matches", UINT, rank, fit.n));

void ranks_json(struct buf *out, const struct ranks *set)
{
	buf_byte(out, '[');
	for (unsigned i = 0; i < set->n; i++)
		js_add(out, &rank_object, &set->r[i]);
	buf_byte(out, ']');
}

struct err *ranks_save(const struct ranks *set)
{
	struct buf b = BUF_INIT;
	struct stat st;
	FILE *f;

	if (!stat(set->path, &st) && !(S_ISREG(st.st_mode) && (!st.st_size || ranks_is(set->path))))
		return err_cure(
			err_new(ERR_USAGE,
				"%s is there and is no set of traces; it is not overwritten",
				set->path),
			"Name another file with -o");
	TRY(file_create(set->path, &f));
	buf_byte(&b, '[');
	for (unsigned i = 0; i < set->n; i++) {
		struct rank r = set->r[i];

		r.file = named(set->path, r.file);
		js_add(&b, &rank_object, &r);
		free(r.file);
	}
	fprintf(f, "%s1, \"traces\": %s]}\n", magic, buf_cstr(&b));
	buf_free(&b);
	return file_close(f, set->path);
}

/* ---- in an engine
 * -------------------------------------------------------------------------------------------------
 */

void ranks_leave(struct engine *en, const char *path)
{
	for (unsigned i = 0; en->ranks && i < en->ranks->n; i++) {
		if (!strcmp(en->ranks->r[i].file, path))
			return;
	}
	ranks_free(en->ranks);
	en->ranks = NULL;
}
