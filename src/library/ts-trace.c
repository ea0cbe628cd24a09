/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as a whole: what it says of itself, and what commands have.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"
#include "sbt/fields.h"

int ts_open(ts_trace **ret, const char *path)
{
	struct sbt_reader *reader;
	ts_trace *t;
	int r;

	if (!ret || !path)
		return result_of(
			err_new(ERR_USAGE, "ts_open() takes a place for its result and a path"));
	MEMORY_DOOR(door, return library_no_memory(NULL));
	r = result_of(sbt_reader_open(&reader, path));
	if (r)
		return r;
	t = xcalloc(1, sizeof *t);
	t->reader = reader;
	t->path = realpath(path, NULL);
	*ret = t;
	return TS_OK;
}

void ts_close(ts_trace *t)
{
	if (!t)
		return;
	ts_session_close(t->session);
	free(t->path);
	if (!t->broken) {
		library_kernels_free(t);
		library_dictionary_free(t->dictionary);
		lang_free(t->lang);
		symbols_free(t->symbols);
		sbt_reader_close(t->reader);
	} else {
		sbt_reader_abandon(t->reader);
	}
	free(t);
}

const char *ts_text(const ts_trace *t, const char *name)
{
	const struct sbt_meta *m = sbt_reader_meta(t->reader);
	const struct {
		const char *name, *text;
	} texts[] = {{"program", m->program}, {"cwd", m->cwd}, {"host", m->host}, {"gpu", m->gpu},
		{"tsdb", m->tsdb}, {"damage", sbt_reader_damage(t->reader)}};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!strcmp(name, texts[i].name))
			return texts[i].text;
	}
	return NULL;
}

int library_number(
	const struct library_number *numbers, const char *of, const char *name, uint64_t *ret)
{
	for (; numbers->name; numbers++) {
		if (!strcmp(name, numbers->name)) {
			*ret = numbers->number;
			return TS_OK;
		}
	}
	return result_of(err_new(ERR_NOT_FOUND, "%s has no number called \"%s\"", of, name));
}

int ts_number(const ts_trace *t, const char *name, uint64_t *ret)
{
	const struct sbt_meta *m = sbt_reader_meta(t->reader);
	const struct library_number numbers[] = {{"commands", sbt_reader_count(t->reader)},
		{"first_seq", sbt_reader_first_seq(t->reader)},
		{"last_seq", sbt_reader_last_seq(t->reader)}, {"lost", sbt_reader_lost(t->reader)},
		{"bytes", sbt_reader_size(t->reader)}, {"start_ns", m->start_ns}, {"pid", m->pid},
		{"rank", m->rank ? m->rank - 1 : TS_MISSING},
		{"ranks", m->ranks ? m->ranks - 1 : TS_MISSING}, {"soft", m->soft},
		{"stacks", m->stacks}, {"timestamps", m->timestamps}, {"observed", m->observed},
		{NULL, 0}};

	return library_number(numbers, "a trace", name, ret);
}

/* ---- what commands have ---- */

const char *ts_kind_name(unsigned index)
{
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		const struct sbt_kind_desc *d = sbt_kind(kind);

		if (d && !index--)
			return d->name;
	}
	return NULL;
}

const char *ts_kind_of(uint64_t number)
{
	const struct sbt_kind_desc *d = number < SBT_KIND_END ? sbt_kind((unsigned)number) : NULL;

	return d ? d->name : NULL;
}

static const struct sbt_field *fields_of(const char *kind)
{
	const unsigned number = sbt_kind_by_name(kind);

	if (!*kind)
		return sbt_common_fields;
	return number ? sbt_kind(number)->fields : NULL;
}

const char *ts_field_name(const char *kind, unsigned index)
{
	const struct sbt_field *f = fields_of(kind);

	while (f && f->name && index--)
		f++;
	return f ? f->name : NULL;
}

const char *ts_field_help(const char *kind, const char *field)
{
	const struct sbt_field *f = fields_of(kind);

	while (f && f->name && strcmp(f->name, field))
		f++;
	return f && f->name ? f->help : NULL;
}

const struct sbt_field *library_field(unsigned kind, const char *name)
{
	for (const struct sbt_field *f = sbt_common_fields; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return sbt_field(kind, name);
}
