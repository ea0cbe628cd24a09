/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands one by one, and their stacks.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"
#include "sbt/fields.h"

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
	library_filter_free(c->filter);
	library_args_free(c);
	free(c->frames);
	free(c);
}

int ts_cursor_seek(ts_cursor *c, uint64_t seq)
{
	c->at = NULL;
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	library_args_free(c);
	return result_of(sbt_cursor_seek(c->cursor, seq));
}

int library_next(ts_cursor *c)
{
	int r;

	library_args_free(c);
	do {
		c->at = NULL;
		r = result_of(sbt_cursor_next(c->cursor, &c->at));
		if (r || !c->at)
			return r ? r : TS_END;
		if (c->at->kind == SBT_KERNEL_DEF && !c->trace->kernels_read)
			library_kernel_passed(c->trace, &c->at->u.kernel_def);
	} while (c->filter && !library_filter_takes(c));
	return c->filter && c->at->seq > library_filter_last(c) ? (c->at = NULL, TS_END) : TS_OK;
}

int ts_next(ts_cursor *c)
{
	LIBRARY_DOOR(&c->trace->broken, (c->at = NULL, library_no_memory(&c->trace->broken)));
	return library_next(c);
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

enum ts_type library_type(enum sbt_type t)
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
	LIBRARY_DOOR(&c->trace->broken, library_no_memory(&c->trace->broken));
	f = library_field(c->at->kind, name);
	if (!f && library_derived(c, name, ret))
		return TS_OK;
	if (!f)
		return result_of(err_new(ERR_NOT_FOUND,
			"a command of the kind %s has no field \"%s\"", ts_kind(c), name));
	*ret = (struct ts_value){.type = library_type(f->type)};
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
