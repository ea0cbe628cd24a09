/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands one by one, their stacks, and many of them as columns.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"

struct ts_cursor {
	ts_trace *trace;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *at; /* NULL before the first and behind the last */
	struct ts_frame *frames;
};

int ts_cursor_open(ts_cursor **ret, ts_trace *t, uint64_t seq)
{
	ts_cursor *c;
	int r;

	LIBRARY_DOOR(&t->broken, library_no_memory(&t->broken));
	c = xcalloc(1, sizeof *c);
	c->trace = t;
	r = result_of(sbt_cursor_open(&c->cursor, t->reader));
	if (!r)
		r = ts_cursor_seek(c, seq);
	if (r) {
		ts_cursor_close(c);
		return r;
	}
	*ret = c;
	return TS_OK;
}

void ts_cursor_close(ts_cursor *c)
{
	if (!c)
		return;
	if (c->cursor && !c->trace->broken)
		sbt_cursor_close(c->cursor);
	free(c->frames);
	free(c);
}

int ts_cursor_seek(ts_cursor *c, uint64_t seq)
{
	c->at = NULL;
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	return result_of(sbt_cursor_seek(c->cursor, seq));
}

static int next(ts_cursor *c)
{
	int r;

	c->at = NULL;
	r = result_of(sbt_cursor_next(c->cursor, &c->at));
	return r || c->at ? r : TS_END;
}

int ts_next(ts_cursor *c)
{
	LIBRARY_DOOR(&c->trace->broken, (c->at = NULL, library_no_memory(&c->trace->broken)));
	return next(c);
}

uint64_t ts_seq(const ts_cursor *c)
{
	return c->at ? c->at->seq : 0;
}

const char *ts_kind(const ts_cursor *c)
{
	const struct sbt_kind_desc *d = c->at ? sbt_kind(c->at->kind) : NULL;

	return d ? d->name : "";
}

static enum ts_type type_of(enum sbt_type t)
{
	switch (t) {
	case SBT_T_STR:
		return TS_TEXT;
	case SBT_T_BLOB:
		return TS_BYTES;
	case SBT_T_INT:
		return TS_SIGNED;
	case SBT_T_ENUM_COPY:
	case SBT_T_ENUM_MEM:
	case SBT_T_ENUM_SYNC:
	case SBT_T_ENUM_CAPTURE:
	case SBT_T_ENUM_NODE:
		return TS_NAME;
	default:
		return TS_UNSIGNED;
	}
}

int ts_field(const ts_cursor *c, const char *name, struct ts_value *ret)
{
	const struct sbt_field *f;

	if (!c->at)
		return result_of(
			err_new(ERR_USAGE, "there is no command here: ts_next() goes to one"));
	f = library_field(c->at->kind, name);
	if (!f)
		return result_of(err_new(ERR_NOT_FOUND,
			"a command of the kind %s has no field \"%s\"", ts_kind(c), name));
	*ret = (struct ts_value){.type = type_of(f->type)};
	if (sbt_type_is_blob(f->type)) {
		ret->data = sbt_get_blob(c->at, f)->p;
		ret->size = sbt_get_blob(c->at, f)->len;
		return TS_OK;
	}
	ret->number = sbt_get(c->at, f);
	if (ret->type == TS_NAME) {
		ret->data = sbt_enum_name(f->type, ret->number);
		ret->size = ret->data ? strlen(ret->data) : 0;
	}
	return TS_OK;
}

static int stack_of(ts_cursor *c, const struct ts_frame **ret, size_t *ret_n)
{
	struct stack st = {0};
	struct err *e;

	if (!c->trace->symbols)
		c->trace->symbols = symbols_new();
	e = c->at->stack ? stack_read(&st, c->trace->symbols, c->trace->reader, c->at->stack)
			 : NULL;
	if (e) {
		stack_free(&st);
		return result_of(e);
	}
	stack_hide(&st, &(struct stack_shown){.only = STACK_MIXED});
	c->frames = xrealloc(c->frames, (st.n + 1) * sizeof *c->frames);
	for (unsigned i = 0; i < st.n; i++) {
		const struct backtrace_frame *f = &st.frames[i];

		c->frames[i] = (struct ts_frame){.function = f->sym.function,
			.file = f->sym.file,
			.module = f->sym.module,
			.offset = f->pc,
			.line = f->sym.line,
			.inlined = f->inlined,
			.python = f->python};
	}
	*ret = c->frames;
	*ret_n = st.n;
	stack_free(&st);
	return TS_OK;
}

int ts_stack(ts_cursor *c, const struct ts_frame **ret, size_t *ret_n)
{
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	if (!c->at)
		return result_of(
			err_new(ERR_USAGE, "there is no command here: ts_next() goes to one"));
	return stack_of(c, ret, ret_n);
}

/* Whether a field of that name is a text or bytes, of any kind; 2: no kind has one. */
static int is_data(const char *name)
{
	int found = 2;

	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		const struct sbt_field *f = sbt_kind(kind) ? library_field(kind, name) : NULL;

		if (f)
			found = sbt_type_is_blob(f->type);
		if (found == 1)
			break;
	}
	return found;
}

/* Fills the columns of the fields, whose descriptions by kind are known. */
static int fill(ts_cursor *c, const struct sbt_field *const *known, size_t nfields,
	uint64_t *const *columns, size_t rows, size_t *ret_rows)
{
	size_t n = 0;
	int r = TS_OK;

	while (n < rows && !(r = next(c))) {
		for (size_t i = 0; i < nfields; i++) {
			const struct sbt_field *f = c->at->kind < SBT_KIND_END
							    ? known[c->at->kind * nfields + i]
							    : NULL;

			columns[i][n] = f ? sbt_get(c->at, f) : TS_MISSING;
		}
		n++;
	}
	if (r && r != TS_END)
		return r;
	*ret_rows = n;
	return TS_OK;
}

/* Each field must be a number that some kind has. */
static struct err *check_numbers(const char *const *fields, size_t nfields)
{
	for (size_t i = 0; i < nfields; i++) {
		const int data = is_data(fields[i]);

		if (data == 2)
			return err_new(ERR_NOT_FOUND, "no command has a field \"%s\"", fields[i]);
		if (data)
			return err_new(
				ERR_USAGE, "\"%s\" is no number: ask ts_field() for it", fields[i]);
	}
	return NULL;
}

static int columns_of(ts_cursor *c, const char *const *fields, size_t nfields,
	uint64_t *const *columns, size_t rows, size_t *ret_rows)
{
	const struct sbt_field **known; /* of each kind each field */
	int r = result_of(check_numbers(fields, nfields));

	if (r)
		return r;
	known = xcalloc(SBT_KIND_END, (nfields + 1) * sizeof *known);
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		for (size_t i = 0; i < nfields; i++)
			known[kind * nfields + i] = library_field(kind, fields[i]);
	}
	r = fill(c, known, nfields, columns, rows, ret_rows);
	free(known);
	return r;
}

int ts_columns(ts_cursor *c, const char *const *fields, size_t nfields, uint64_t *const *columns,
	size_t rows, size_t *ret_rows)
{
	LIBRARY_DOOR(&c->trace->broken, (c->at = NULL, library_no_memory(&c->trace->broken)));
	return columns_of(c, fields, nfields, columns, rows, ret_rows);
}
