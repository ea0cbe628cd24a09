/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what tsdb's JSON consists of, a line for each field: object, name, type. docs/json.md and
 * the test of every --json go by it. Ends with status 1 where a field cannot be what its table
 * says.
 */
#include <stdio.h>
#include <string.h>
#include "base/json-put.h"
#include "sbt/cmd.h"
#include "sbt/fields.h"
#include "shell/line/command.h"
#include "shell/tools/tools.h"

static bool bad;

static void print_type(const struct js_field *f)
{
	static const char *const types[] = {[JS_UINT] = "number",
		[JS_INT] = "number",
		[JS_ID] = "number or null",
		[JS_SEQ] = "number or null",
		[JS_HEX] = "hex",
		[JS_BOOL] = "bool",
		[JS_REAL] = "real or null",
		[JS_TEXT] = "text or null",
		[JS_CHARS] = "text",
		[JS_BLOB] = "text",
		[JS_BYTES] = "text",
		[JS_NAMED] = "text",
		[JS_U32S] = "[number]",
		[JS_NUMBERS] = "[number]"};

	if (f->optional)
		printf("optional ");
	switch (f->type) {
	case JS_OBJECT:
		printf("%s\n", f->of->name);
		break;
	case JS_POINTER:
		printf("%s or null\n", f->of->name);
		break;
	case JS_ARRAY:
	case JS_LIST:
		printf("[%s]\n", f->of->name);
		break;
	case JS_CALL:
		printf("%s\n", f->as);
		break;
	default:
		printf("%s\n", types[f->type]);
	}
}

/* Whether a member of that size can be the type. */
static bool fits(const struct js_field *f)
{
	const unsigned n = f->size;

	switch (f->type) {
	case JS_UINT:
	case JS_HEX:
	case JS_NAMED:
		return n == 1 || n == 2 || n == 4 || n == 8;
	case JS_ID:
	case JS_INT:
		return n == 4 || n == 8;
	case JS_SEQ:
	case JS_TEXT:
	case JS_POINTER:
	case JS_REAL:
	case JS_NUMBERS:
	case JS_LIST:
		return n == 8;
	case JS_BOOL:
		return n == 1;
	case JS_BLOB:
		return n == sizeof(struct js_blob);
	case JS_U32S:
		return n && n % 4 == 0;
	case JS_OBJECT:
		return n == f->of->size;
	case JS_ARRAY:
		return n && n % f->of->size == 0;
	default:
		return n;
	}
}

static void print_object(const struct js_object *o)
{
	const size_t stride = o->stride ? o->stride : sizeof *o->fields;

	for (const struct js_field *f = o->fields; f->type != JS_END;
		f = (const void *)((const char *)f + stride)) {
		if (!f->name)
			continue;
		printf("%s\t%s\t", o->name, f->name);
		print_type(f);
		if (!fits(f) || f->offset + f->size > o->size) {
			fprintf(stderr, "%s.%s cannot be of %u bytes\n", o->name, f->name, f->size);
			bad = true;
		}
	}
}

static const char *sbt_type(enum sbt_type t)
{
	switch (t) {
	case SBT_T_BOOL:
		return "bool";
	case SBT_T_ADDR:
	case SBT_T_HEX:
		return "hex";
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		return "number or null";
	case SBT_T_UINT:
	case SBT_T_INT:
	case SBT_T_SIZE:
	case SBT_T_SEQ:
	case SBT_T_TIME:
	case SBT_T_DURATION:
		return "number";
	default:
		return "text";
	}
}

int main(void)
{
	if (!tool_find("view") || !commands_count) /* which need everything else */
		return 1;
	for (const struct js_object *const *o = __start_js_objects; o < __stop_js_objects; o++)
		print_object(*o);
	for (unsigned k = 0; k < 256; k++) {
		const struct sbt_kind_desc *d = sbt_kind(k);

		for (const struct sbt_field *f = d ? d->fields : NULL; f && f->name; f++)
			printf("command.%s\t%s\t%s\n", d->name, f->name, sbt_type(f->type));
	}
	return bad;
}
