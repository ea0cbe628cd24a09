/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a trace, a command at a time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "base/buf.h"
#include "library/library.h"
#include "sbt/fields.h"

struct ts_writer {
	struct sbt_writer *writer;
	struct sbt_cmd cmd; /* kind 0: none is begun */
	bool broken;	    /* memory was out while it was at work */
};

static int open_writer(ts_writer **ret, const char *path, const char *program)
{
	const struct sbt_meta meta = {.program = program ? program : ""};
	ts_writer *const w = xcalloc(1, sizeof *w);
	const int r = result_of(sbt_writer_open(&w->writer, path, &meta));

	if (r)
		free(w);
	else
		*ret = w;
	return r;
}

int ts_writer_open(ts_writer **ret, const char *path, const char *program)
{
	MEMORY_DOOR(door, return library_no_memory(NULL));
	return open_writer(ret, path, program);
}

/* Whether a field holds the number of an object, for which SBT_NO_ID is "none". */
static bool is_id(enum sbt_type t)
{
	return t == SBT_T_STREAM || t == SBT_T_EVENT || t == SBT_T_CONTEXT || t == SBT_T_MODULE ||
	       t == SBT_T_KERNEL || t == SBT_T_GRAPH;
}

static void set_ids(struct sbt_cmd *c, const struct sbt_field *f)
{
	for (; f->name; f++) {
		if (is_id(f->type))
			sbt_set(c, f, SBT_NO_ID);
	}
}

int ts_writer_begin(ts_writer *w, const char *kind, uint64_t seq)
{
	const unsigned number = sbt_kind_by_name(kind);

	if (w->cmd.kind)
		return result_of(
			err_new(ERR_USAGE, "command #%" PRIu64 " has not been ended", w->cmd.seq));
	if (!number)
		return result_of(
			err_new(ERR_NOT_FOUND, "there is no kind of commands called \"%s\"", kind));
	w->cmd = (struct sbt_cmd){.seq = seq, .kind = (uint16_t)number, .thread = 1};
	set_ids(&w->cmd, sbt_common_fields);
	set_ids(&w->cmd, sbt_kind(number)->fields);
	return TS_OK;
}

/* The field to be set, of a type that is data or is not. */
static struct err *to_set(
	const ts_writer *w, const char *name, bool data, const struct sbt_field **ret)
{
	if (!w->cmd.kind)
		return err_new(ERR_USAGE, "no command has been begun");
	*ret = library_field(w->cmd.kind, name);
	if (!*ret)
		return err_new(ERR_NOT_FOUND, "a command of the kind %s has no field \"%s\"",
			sbt_kind(w->cmd.kind)->name, name);
	if ((*ret)->offset == offsetof(struct sbt_cmd, seq) ||
		(*ret)->offset == offsetof(struct sbt_cmd, kind))
		return err_new(ERR_USAGE, "ts_writer_begin() sets \"%s\"", name);
	if (sbt_type_is_blob((*ret)->type) != data)
		return err_new(
			ERR_USAGE, "\"%s\" is %s", name, data ? "a number" : "text or bytes");
	return NULL;
}

int ts_writer_set(ts_writer *w, const char *field, uint64_t number)
{
	const struct sbt_field *f;
	const int r = result_of(to_set(w, field, false, &f));

	if (!r)
		sbt_set(&w->cmd, f, number);
	return r;
}

int ts_writer_set_data(ts_writer *w, const char *field, const void *data, size_t size)
{
	const struct sbt_field *f;
	const int r = result_of(to_set(w, field, true, &f));

	if (!r)
		*(struct sbt_blob *)((char *)&w->cmd + f->offset) = (struct sbt_blob){data, size};
	return r;
}

int ts_writer_end(ts_writer *w)
{
	struct err *e;

	LIBRARY_DOOR(&w->broken, library_no_memory(&w->broken));
	if (!w->cmd.kind)
		return result_of(err_new(ERR_USAGE, "no command has been begun"));
	e = sbt_writer_cmd(w->writer, &w->cmd);
	w->cmd.kind = 0;
	return result_of(e);
}

static int complete(ts_writer *w)
{
	LIBRARY_DOOR(&w->broken, library_no_memory(&w->broken));
	return result_of(sbt_writer_close(w->writer));
}

int ts_writer_close(ts_writer *w)
{
	int r;

	if (!w)
		return TS_OK;
	if (w->broken)
		sbt_writer_abandon(w->writer);
	r = complete(w);
	free(w);
	return r;
}
