/* SPDX-License-Identifier: Apache-2.0
 *
 * Code: instructions of the kernel that the replay is at, by their lines; texts of sources that the
 * trace holds; modules. The address of an instruction is its line of the PTX (of a HIP kernel: in
 * its code object), as in the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

enum { INSTRUCTIONS_MAX = 100000, LINES_MAX = 1000000 };

static json_int_t line_of(const json_t *row)
{
	return json_integer_value(json_object_get(row, "code_line"));
}

/* A place without an instruction: the client counts on as many as it has asked for. */
static json_t *nothing_at(json_int_t line)
{
	char at[32];

	snprintf(at, sizeof at, "0x%llx", (unsigned long long)(line > 0 ? line : 0));
	return json_pack(
		"{s:s, s:s, s:s}", "address", at, "instruction", "", "presentationHint", "invalid");
}

static json_t *instruction(struct dap *d, const json_t *row)
{
	const char *text = json_string_value(json_object_get(row, "instruction"));
	const json_int_t line = json_integer_value(json_object_get(row, "line"));
	json_t *source = dap_source(d, json_string_value(json_object_get(row, "file")));
	json_t *i;
	char at[32];

	snprintf(at, sizeof at, "0x%llx", (unsigned long long)line_of(row));
	i = json_pack("{s:s, s:s}", "address", at, "instruction", text ? text : "");
	if (source && line) {
		json_object_set_new(i, "location", source);
		json_object_set_new(i, "line", json_integer(line));
	} else {
		json_decref(source);
	}
	return i;
}

/* Exactly `count` of them, from line `first` on. */
static void put_instructions(
	struct dap *d, const json_t *rows, json_int_t first, json_int_t count, json_t *list)
{
	const size_t n = json_array_size(rows);
	size_t at = 0;

	for (json_int_t i = 0; i < count; i++) {
		const json_int_t line = first + i;

		while (at < n && line_of(json_array_get(rows, at)) < line)
			at++;
		json_array_append_new(list, at < n && line_of(json_array_get(rows, at)) == line
						    ? instruction(d, json_array_get(rows, at))
						    : nothing_at(line));
	}
}

struct err *dap_on_disassemble(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t count, offset = 0, bytes = 0;
	json_t *list = json_array(), *rows = NULL;
	const char *reference;
	uint64_t line;
	int64_t first, last;

	json_object_set_new(body, "instructions", list);
	TRY(dap_need_text(args, "memoryReference", &reference));
	TRY(dap_need_int(args, "instructionCount", &count));
	TRY(dap_take_int(args, "instructionOffset", &offset));
	TRY(dap_take_int(args, "offset", &bytes));
	TRY(dap_address(reference, &line));
	if (count < 0 || count > INSTRUCTIONS_MAX)
		return err_new(
			ERR_LIMIT, "0 to %d instructions are shown at once", INSTRUCTIONS_MAX);
	if (line > INT32_MAX || llabs(offset) > INT32_MAX || llabs(bytes) > INT32_MAX)
		return err_cure(err_new(ERR_USAGE, "there is no instruction at %.40s", reference),
			"A frame inside a launch has instructionPointerReference");
	first = (int64_t)line + offset + bytes;
	last = first + count;
	if (count && last > 1)
		TRY(dap_ask(d, &rows, "disassemble %lld,%lld --json",
			(long long)(first > 1 ? first : 1), (long long)last));
	put_instructions(d, rows, first, count, list);
	json_decref(rows);
	return NULL;
}

/* --- sources --- */

/* The trace's name of a file that the client knows from frames. */
static const char *recorded_name(const struct dap *d, const char *path)
{
	const char *name;
	json_t *place;

	json_object_foreach(d->sources, name, place)
	{
		if (json_is_string(place) && !strcmp(json_string_value(place), path))
			return name;
	}
	return path;
}

struct err *dap_on_source(struct dap *d, const json_t *args, json_t *body)
{
	const char *path, *text;
	struct buf all = BUF_INIT;
	json_t *lines, *line;
	size_t i;

	TRY(dap_need_text(json_object_get(args, "source"), "path", &path));
	if (strpbrk(path, " \t\"'"))
		return err_new(
			ERR_UNSUPPORTED, "a path with blanks or quotation marks is not asked for");
	TRY(dap_ask(d, &lines, "list %s:1,%d --json", recorded_name(d, path), LINES_MAX));
	json_array_foreach(lines, i, line)
	{
		text = json_string_value(json_object_get(line, "text"));
		buf_printf(&all, "%s\n", text ? text : "");
	}
	json_decref(lines);
	json_object_set_new(body, "content", link_text(all.data, all.len));
	buf_free(&all);
	return NULL;
}

/* --- modules --- */

struct err *dap_on_modules(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t start = 0, most = 0;
	json_t *list = json_array(), *rows, *row;
	size_t i;

	json_object_set_new(body, "modules", list);
	TRY(dap_take_int(args, "startModule", &start));
	TRY(dap_take_int(args, "moduleCount", &most));
	if (start < 0 || most < 0)
		return err_new(ERR_USAGE, "\"startModule\" and \"moduleCount\" are not negative");
	TRY(dap_ask(d, &rows, "info modules --json"));
	json_array_foreach(rows, i, row)
	{
		const json_int_t id = json_integer_value(json_object_get(row, "id"));
		const char *file = json_string_value(json_object_get(row, "file"));
		char name[40];

		snprintf(name, sizeof name, "module %lld", (long long)id);
		if ((json_int_t)i < start || (most && (json_int_t)i >= start + most))
			continue;
		json_array_append_new(list,
			json_pack("{s:I, s:s}", "id", id, "name", file && *file ? file : name));
	}
	json_object_set_new(body, "totalModules", json_integer((json_int_t)json_array_size(rows)));
	json_decref(rows);
	return NULL;
}
