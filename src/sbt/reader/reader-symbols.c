/* SPDX-License-Identifier: Apache-2.0
 *
 * What the addresses of host stacks were called when they were recorded, and the texts of source
 * files. All names are read when first asked: they are needed where the program's files have
 * changed or are gone.
 */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "sbt/reader/reader.h"

enum { ENTRIES_MAX = 1 << 22, NAMES_MAX = 32 };

struct sbt_reader_symbol {
	uint64_t offset;
	uint32_t module, n;
	struct sbt_symbol *v;
};

static void symbol_free(struct sbt_reader_symbol *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free((char *)(uintptr_t)s->v[i].function);
		free((char *)(uintptr_t)s->v[i].file);
		free((char *)(uintptr_t)s->v[i].folder);
	}
	free(s->v);
}

void sbt_reader_symbols_free(struct sbt_reader *r)
{
	for (size_t i = 0; i < r->nsymbols; i++)
		symbol_free(&r->symbol[i]);
	free(r->symbol);
}

static char *take_text(struct sbt_in *in)
{
	const char *p;
	size_t n;

	return sbt_take_string(in, &p, &n) && n ? text_safe_dup(p, strnlen(p, n)) : NULL;
}

static struct err *take_one(struct sbt_reader *r, struct sbt_in *in, uint64_t *offset)
{
	struct sbt_reader_symbol s = {.module = (uint32_t)sbt_take_max(in, UINT32_MAX)};

	s.offset = *offset = sbt_take_delta(in, *offset);
	s.n = (uint32_t)sbt_take_max(in, NAMES_MAX);
	if (in->bad || !s.n)
		return err_new(ERR_BAD_TRACE, "it does not decode");
	if (r->nsymbols == ENTRIES_MAX)
		return err_new(ERR_LIMIT, "it has too many of them");
	s.v = xcalloc(s.n, sizeof *s.v);
	for (uint32_t i = 0; i < s.n; i++) {
		s.v[i].function = take_text(in);
		s.v[i].file = take_text(in);
		s.v[i].folder = take_text(in);
		s.v[i].line = (uint32_t)sbt_take_max(in, INT32_MAX);
		s.v[i].start = sbt_take_max(in, UINT64_MAX);
	}
	MAKE_ROOM(r->symbol, r->nsymbols, r->cap_symbols);
	r->symbol[r->nsymbols++] = s;
	return NULL;
}

static struct err *take_chunk(struct sbt_reader *r, const struct buf *payload)
{
	struct sbt_in in = sbt_in_of(payload);
	uint64_t offset = 0;

	while (in.p < in.end && !in.bad)
		TRY(take_one(r, &in, &offset));
	return in.bad ? err_new(ERR_BAD_TRACE, "it does not decode") : NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct sbt_reader_symbol *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void load(struct sbt_reader *r)
{
	struct buf payload = BUF_INIT;

	for (size_t k = 0; k < r->symbols.n; k++) {
		const struct sbt_entry *entry = &r->entries[r->symbols.at[k]];
		struct err *e = sbt_reader_load(r, entry, &payload);

		if (!e)
			e = take_chunk(r, &payload);
		if (e)
			sbt_reader_note_chunk(r, r->symbols.at[k], e);
	}
	buf_free(&payload);
	if (r->nsymbols)
		qsort(r->symbol, r->nsymbols, sizeof *r->symbol, by_address);
	r->symbols_loaded = true;
}

const struct sbt_symbol *sbt_reader_symbol(
	struct sbt_reader *r, const struct sbt_frame *f, unsigned *ret_n)
{
	const struct sbt_reader_symbol key = {.offset = f->offset, .module = f->module}, *found;

	*ret_n = 0;
	if (!r->symbols_loaded)
		load(r);
	found = r->nsymbols ? bsearch(&key, r->symbol, r->nsymbols, sizeof key, by_address) : NULL;
	if (!found)
		return NULL;
	*ret_n = found->n;
	return found->v;
}

bool sbt_reader_has_symbols(const struct sbt_reader *r)
{
	return r->symbols.n;
}

/* --- the texts of source files --- */

unsigned sbt_reader_sources(const struct sbt_reader *r)
{
	return (unsigned)r->sources.n;
}

static struct err *take_source(const struct buf *payload, char **ret_file, struct buf *ret)
{
	struct sbt_in in = sbt_in_of(payload);
	const char *name;
	size_t n;

	if (!sbt_take_string(&in, &name, &n) || !n || n > SBT_NAME_MAX)
		return err_new(ERR_BAD_TRACE, "it does not decode");
	if ((size_t)(in.end - in.p) > SBT_SOURCE_MAX)
		return err_new(ERR_LIMIT, "it is larger than a source file may be");
	*ret_file = text_safe_dup(name, strnlen(name, n));
	text_safe(ret, in.p, (size_t)(in.end - in.p), TEXT_LINES);
	return NULL;
}

struct err *sbt_reader_source(struct sbt_reader *r, unsigned i, char **ret_file, struct buf *ret)
{
	struct buf payload = BUF_INIT;
	struct err *e;

	*ret_file = NULL;
	if (i >= r->sources.n)
		return err_new(ERR_NOT_FOUND, "the trace has no source file %u", i);
	e = sbt_reader_load(r, &r->entries[r->sources.at[i]], &payload);
	if (!e)
		e = take_source(&payload, ret_file, ret);
	buf_free(&payload);
	if (e) {
		sbt_reader_note_chunk(r, r->sources.at[i], e);
		return err_new(ERR_BAD_TRACE, "the text of a source file is damaged");
	}
	return NULL;
}
