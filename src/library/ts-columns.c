/* SPDX-License-Identifier: Apache-2.0
 *
 * Many commands as columns, and what is computed from a command's fields.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"
#include "sbt/fields.h"

/* --- computed --- */

uint64_t library_gpu_ns(const struct sbt_cmd *c)
{
	return c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns ? c->gpu_end_ns - c->gpu_start_ns
								   : TS_MISSING;
}

bool library_derived(const ts_cursor *c, const char *name, struct ts_value *ret)
{
	const struct kernel_name *k;

	if (!strcmp(name, "gpu_ns")) {
		*ret = (struct ts_value){.type = TS_UNSIGNED, .number = library_gpu_ns(c->at)};
		return true;
	}
	if (!strcmp(name, "kind_name")) {
		*ret = (struct ts_value){
			.type = TS_TEXT, .data = ts_kind(c), .size = strlen(ts_kind(c))};
		return true;
	}
	k = !strcmp(name, "kernel_name") ? library_kernel_of(c->trace, c->at) : NULL;
	if (k)
		*ret = (struct ts_value){
			.type = TS_TEXT, .data = k->short_name, .size = strlen(k->short_name)};
	return k != NULL;
}

/* --- columns --- */

enum column_how {
	HOW_FIELD,
	HOW_GPU_NS,
	HOW_KIND,
	HOW_KERNEL, /* the name, of kinds that have no field of that name */
};
enum { KNOWN = 1024 }; /* kernels whose texts a column remembers */
struct column {
	enum column_how how;
	enum ts_type type;
	uint64_t *into;
	uint64_t missing;
	bool plain; /* numbers that lie in the command, and nothing else */
	const struct sbt_field *of_kind[SBT_KIND_END]; /* NULL: that kind has none */
	/* the last text, by what it was made from: most rows repeat it */
	const void *last;
	size_t last_size;
	uint64_t last_code;
	/* Of HOW_KERNEL: where kinds have their kernel's id, and the texts of kernels met. */
	const struct sbt_field *kernel_of[SBT_KIND_END];
	struct {
		bool set;
		uint64_t id, code;
	} known[KNOWN];
};

/* Fills col->of_kind and the type; ERR_NOT_FOUND. */
static struct err *find_column(const char *name, struct column *col)
{
	bool found = false;

	col->type = TS_UNSIGNED;
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		const struct sbt_field *f = sbt_kind(kind) ? library_field(kind, name) : NULL;

		col->kernel_of[kind] = sbt_kind(kind) ? library_kernel_field(kind) : NULL;
		if (!f)
			continue;
		col->of_kind[kind] = f;
		if (!found || library_type(f->type) >= TS_TEXT)
			col->type = library_type(f->type);
		found = true;
	}
	if (!strcmp(name, "gpu_ns"))
		col->how = HOW_GPU_NS;
	else if (!strcmp(name, "kind_name"))
		col->how = HOW_KIND;
	else if (!strcmp(name, "kernel_name"))
		col->how = HOW_KERNEL;
	else if (!found)
		return err_new(ERR_NOT_FOUND, "no command has a field \"%s\"", name);
	if (col->how == HOW_KIND || col->how == HOW_KERNEL)
		col->type = TS_TEXT;
	col->missing = col->type == TS_SIGNED ? TS_MISSING_SIGNED : TS_MISSING;
	col->plain = col->how == HOW_FIELD && col->type != TS_TEXT;
	if (col->type == TS_BYTES)
		return err_new(ERR_USAGE, "\"%s\" is bytes: ask ts_field() for it", name);
	return NULL;
}

int ts_column_type(const char *field, enum ts_type *ret)
{
	struct column col = {0};
	const int r = result_of(find_column(field, &col));

	if (!r)
		*ret = col.type;
	return r;
}

static struct err *put_text(
	ts_trace *t, struct column *col, const void *text, size_t n, bool lasting, uint64_t *ret)
{
	struct err *e;

	if (lasting && col->last == text && col->last_size == n) {
		*ret = col->last_code;
		return NULL;
	}
	e = library_code(t, text, n, ret);
	if (!e && lasting) {
		col->last = text;
		col->last_size = n;
		col->last_code = *ret;
	}
	return e;
}

/* The name of the kernel that a command runs; TS_MISSING stays where there is none. */
static struct err *kernel_text(
	ts_cursor *c, struct column *col, const struct sbt_field *f, uint64_t *ret)
{
	const uint64_t id = sbt_get(c->at, f);
	__typeof__(&col->known[0]) known = &col->known[id % KNOWN];
	const struct kernel_name *k;

	if (known->set && known->id == id) {
		*ret = known->code;
		return NULL;
	}
	k = library_kernel(c->trace, id);
	if (!k)
		return NULL;
	TRY(library_code(c->trace, k->short_name, strlen(k->short_name), ret));
	known->set = true;
	known->id = id;
	known->code = *ret;
	return NULL;
}

static struct err *cell_text(ts_cursor *c, struct column *col, uint64_t *ret)
{
	const struct sbt_field *f = c->at->kind < SBT_KIND_END ? col->of_kind[c->at->kind] : NULL;

	*ret = TS_MISSING;
	if (col->how == HOW_KIND)
		return put_text(c->trace, col, ts_kind(c), strlen(ts_kind(c)), true, ret);
	if (f && sbt_type_is_blob(f->type)) {
		const struct sbt_blob *b = sbt_get_blob(c->at, f);

		return put_text(c->trace, col, b->p, b->len, false, ret);
	}
	if (col->how != HOW_KERNEL || c->at->kind >= SBT_KIND_END || !col->kernel_of[c->at->kind])
		return NULL;
	return kernel_text(c, col, col->kernel_of[c->at->kind], ret);
}

static uint64_t plain_cell(const struct sbt_cmd *c, const struct column *col)
{
	const struct sbt_field *f = c->kind < SBT_KIND_END ? col->of_kind[c->kind] : NULL;
	uint64_t v;

	if (!f)
		return col->missing;
	if (f->offset < offsetof(struct sbt_cmd, host_ns)) /* some of these are narrower */
		return sbt_get(c, f);
	memcpy(&v, (const char *)c + f->offset, sizeof v);
	return v;
}

static struct err *row(ts_cursor *c, struct column *cols, size_t ncols, size_t n)
{
	for (size_t i = 0; i < ncols; i++) {
		if (cols[i].plain)
			cols[i].into[n] = plain_cell(c->at, &cols[i]);
		else if (cols[i].how == HOW_GPU_NS)
			cols[i].into[n] = library_gpu_ns(c->at);
		else
			TRY(cell_text(c, &cols[i], &cols[i].into[n]));
	}
	return NULL;
}

/* Without a filter, whose condition may look at arguments, nobody looks at bytes here. */
static int fill(ts_cursor *c, struct column *cols, size_t ncols, size_t rows, size_t *ret_rows)
{
	struct err *e = c->filter ? NULL : sbt_cursor_skim(c->cursor, rows), *back;
	size_t n = 0;
	int r = TS_OK;

	while (!e && n < rows && !(r = library_next(c)))
		e = row(c, cols, ncols, n++);
	back = sbt_cursor_skim(c->cursor, 0);
	if (e) {
		c->at = NULL;
		err_free(back);
	}
	if (e || back)
		return result_of(e ? e : back);
	if (r && r != TS_END)
		return r;
	*ret_rows = n;
	return TS_OK;
}

static int columns_of(ts_cursor *c, const char *const *fields, size_t nfields,
	uint64_t *const *columns, size_t rows, size_t *ret_rows)
{
	struct column *cols = xcalloc(nfields + 1, sizeof *cols);
	int r = TS_OK;

	for (size_t i = 0; i < nfields && !r; i++) {
		cols[i].into = columns[i];
		r = result_of(find_column(fields[i], &cols[i]));
	}
	if (!r)
		r = fill(c, cols, nfields, rows, ret_rows);
	free(cols);
	return r;
}

int ts_columns(ts_cursor *c, const char *const *fields, size_t nfields, uint64_t *const *columns,
	size_t rows, size_t *ret_rows)
{
	LIBRARY_DOOR(&c->trace->broken, (c->at = NULL, library_no_memory(&c->trace->broken)));
	return columns_of(c, fields, nfields, columns, rows, ret_rows);
}

const char *ts_column_name(const char *field, uint64_t number)
{
	for (unsigned kind = 1; kind < SBT_KIND_END; kind++) {
		const struct sbt_field *f = sbt_kind(kind) ? library_field(kind, field) : NULL;

		if (f)
			return sbt_enum_name(f->type, number);
	}
	return NULL;
}
