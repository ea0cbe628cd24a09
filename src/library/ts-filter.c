/* SPDX-License-Identifier: Apache-2.0
 *
 * Which commands a cursor stops at.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

struct filter {
	unsigned kind; /* 0: any */
	char *kernel;  /* a glob; NULL: any */
	bool of_stream;
	uint64_t stream, last;
	bool conditional;
	struct sbt_expr condition;
	/* whether the kernel that was looked at last, by its name, matches */
	const char *known;
	bool known_takes;
};

void library_filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->kernel);
	free(f);
}

uint64_t library_filter_last(const ts_cursor *c)
{
	return c->filter->last;
}

static bool kernel_takes(ts_cursor *c)
{
	struct filter *f = c->filter;
	const struct kernel_name *k = library_kernel_of(c->trace, c->at);

	if (k && k->name != f->known) {
		f->known = k->name;
		f->known_takes = sbt_kernel_glob(f->kernel, k->name, k->short_name);
	}
	return k && f->known_takes;
}

static bool stream_takes(const ts_cursor *c)
{
	const uint16_t at = sbt_stream_offset(c->at->kind);
	uint64_t v;

	if (!at)
		return false;
	memcpy(&v, (const char *)c->at + at, sizeof v);
	return v == c->filter->stream;
}

static bool condition_holds(ts_cursor *c)
{
	struct sbt_reader_python python = {c->trace->reader, c->at->stack};
	const struct sbt_python_view view = {sbt_reader_python, &python};
	const struct kernel_name *k =
		c->at->kind == SBT_LAUNCH ? library_kernel_of(c->trace, c->at) : NULL;

	return sbt_expr_true_in(&c->filter->condition, c->at, k ? &k->params : NULL, &view);
}

bool library_filter_takes(ts_cursor *c)
{
	const struct filter *f = c->filter;

	if (c->at->seq > f->last) /* the caller ends there */
		return true;
	return (!f->kind || f->kind == c->at->kind) && (!f->of_stream || stream_takes(c)) &&
	       (!f->kernel || kernel_takes(c)) && (!f->conditional || condition_holds(c));
}

static struct err *make(struct filter *f, const struct ts_filter *is)
{
	char why[512];

	f->kind = is->kind ? sbt_kind_by_name(is->kind) : 0;
	if (is->kind && !f->kind)
		return err_new(
			ERR_NOT_FOUND, "there is no kind of commands called \"%s\"", is->kind);
	f->kernel = is->kernel ? xstrdup(is->kernel) : NULL;
	f->of_stream = is->stream != TS_MISSING;
	f->stream = is->stream;
	f->last = is->last;
	f->conditional = is->condition && *is->condition;
	if (f->conditional &&
		!sbt_expr_compile(&f->condition, f->kind, is->condition, why, sizeof why))
		return err_new(ERR_USAGE, "%s", why);
	return NULL;
}

/* As many of the caller's members as it has; the others take every command. */
static struct err *whole(struct ts_filter *ret, const struct ts_filter *is)
{
	*ret = (struct ts_filter){.stream = TS_MISSING, .last = UINT64_MAX};
	if (is->size < sizeof is->size || is->size > sizeof *ret)
		return err_new(ERR_USAGE,
			"the caller sets size to sizeof(struct ts_filter), at most %zu here",
			sizeof *ret);
	memcpy(ret, is, is->size);
	return NULL;
}

/* Not inlined: what is behind a door must not live in its function. */
__attribute__((noinline)) static int set(ts_cursor *c, const struct ts_filter *is)
{
	struct ts_filter all;
	struct filter *f;
	int r;

	if (!is) {
		library_filter_free(c->filter);
		c->filter = NULL;
		return TS_OK;
	}
	r = result_of(whole(&all, is));
	if (r)
		return r;
	f = xcalloc(1, sizeof *f);
	r = result_of(make(f, &all));
	if (r) {
		library_filter_free(f);
		return r;
	}
	library_filter_free(c->filter);
	c->filter = f;
	return TS_OK;
}

int ts_cursor_filter(ts_cursor *c, const struct ts_filter *f)
{
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	return set(c, f);
}
