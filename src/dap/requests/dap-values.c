/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes and variables. What the shell prints as JSON is a tree: an object's members are variables,
 * and so are a list's elements. A scope is a command of the shell that is run when it is opened;
 * lists that have names for their rows are shown by these.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

/* How the rows of a list are shown. */
enum rows { ROWS_PLAIN, ROWS_ARGUMENTS, ROWS_VALUES, ROWS_REGISTERS };

/* The inside of a variable that a number refers to. */
struct dap_ref {
	json_t *value; /* NULL: not asked for yet */
	char *command; /* NULL: there is a value */
	enum rows rows;
	json_int_t frame; /* that is selected before command; 0: none */
};

/* --- numbers --- */

static json_int_t keep_ref(struct dap *d, struct dap_ref r)
{
	MAKE_ROOM(d->refs, d->nrefs, d->refs_cap);
	d->refs[d->nrefs] = r;
	return d->refs_base + (json_int_t)d->nrefs++;
}

void dap_refs_forget(struct dap *d)
{
	for (size_t i = 0; i < d->nrefs; i++) {
		json_decref(d->refs[i].value);
		free(d->refs[i].command);
	}
	d->refs_base += (json_int_t)d->nrefs;
	d->nrefs = 0;
}

static struct err *select_frame(struct dap *d, json_int_t id)
{
	const struct dap_frame *f;

	TRY(dap_frame_of(d, id, &f));
	return dap_line(d, NULL, "frame %u", f->level);
}

/* The value behind a number; asked for when it is wanted first. Valid until another is kept. */
static struct err *open_ref(struct dap *d, json_int_t id, struct dap_ref **ret)
{
	const json_int_t i = id - d->refs_base;
	struct dap_ref *r;

	if (i < 0 || (uint64_t)i >= d->nrefs)
		return err_cure(err_new(ERR_USAGE, "there is no reference %lld", (long long)id),
			"References are of one stop; ask for scopes again");
	r = &d->refs[i];
	if (!r->value && r->frame)
		TRY(select_frame(d, r->frame));
	if (!r->value)
		TRY(dap_ask(d, &r->value, "%s", r->command));
	*ret = r;
	return NULL;
}

/* --- scopes --- */

enum scope_when {
	SCOPE_ALWAYS = 0,
	SCOPE_CURRENT = 1, /* of the command that the session is at */
	SCOPE_COMMAND = 2, /* ... in the frame that is the command itself */
	SCOPE_CODE = 4,	   /* in frames that are none */
	SCOPE_GPU = 8,	   /* of a thread inside a launch */
	SCOPE_LAUNCH = 16, /* of a launch */
	SCOPE_STREAM = 32, /* of a command that has a stream */
	SCOPE_VALUES =
		64, /* where variables have values: a program that runs, or inside a launch */
};
struct scope {
	const char *name, *command, *hint;
	unsigned when;
	enum rows rows;
	bool expensive;
};
static const struct scope scopes[] = {
	{"Arguments", "info args --json", "arguments", SCOPE_CURRENT | SCOPE_LAUNCH, ROWS_ARGUMENTS,
		false},
	{"Registers", "info registers --json", "registers", SCOPE_CURRENT | SCOPE_GPU,
		ROWS_REGISTERS, false},
	{"Locals", "info locals --json", "locals", SCOPE_CURRENT | SCOPE_CODE | SCOPE_VALUES,
		ROWS_VALUES, false},
	{"Stream", "state show stream %lld --json", NULL, SCOPE_STREAM, ROWS_PLAIN, false},
	{"Streams", "info streams --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
	{"Events", "info events --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
	{"Allocations", "info allocations --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
	{"Kernels", "info kernels --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
	{"Modules", "info modules --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
	{"Devices", "info devices --json", NULL, SCOPE_ALWAYS, ROWS_PLAIN, true},
};

static unsigned holds_of(const struct dap *d, const struct dap_frame *f)
{
	const char *kind = json_string_value(json_object_get(f->command, "kind"));
	const bool stream = json_is_integer(json_object_get(f->command, "stream"));

	return (f->current ? SCOPE_CURRENT : 0) | (f->is_command ? SCOPE_COMMAND : SCOPE_CODE) |
	       (f->on_gpu ? SCOPE_GPU : 0) | (kind && !strcmp(kind, "launch") ? SCOPE_LAUNCH : 0) |
	       (stream ? SCOPE_STREAM : 0) | (!d->replays || f->on_gpu ? SCOPE_VALUES : 0);
}

static void add_scope(
	json_t *list, const char *name, const char *hint, bool expensive, json_int_t ref)
{
	json_t *row = json_pack(
		"{s:s, s:I, s:b}", "name", name, "variablesReference", ref, "expensive", expensive);

	if (hint)
		json_object_set_new(row, "presentationHint", json_string(hint));
	json_array_append_new(list, row);
}

static char *command_of_scope(const struct scope *s, const struct dap_frame *f)
{
	const char *at = strstr(s->command, "%lld");

	if (!at)
		return xstrdup(s->command);
	return xasprintf("%.*s%lld%s", (int)(at - s->command), s->command,
		(long long)json_integer_value(json_object_get(f->command, "stream")), at + 4);
}

struct err *dap_on_scopes(struct dap *d, const json_t *args, json_t *body)
{
	json_t *list = json_array();
	const struct dap_frame *f;
	struct dap_frame frame;
	json_int_t id;
	unsigned holds;

	json_object_set_new(body, "scopes", list);
	TRY(dap_need_int(args, "frameId", &id));
	TRY(dap_frame_of(d, id, &f));
	frame = *f;
	holds = holds_of(d, &frame);
	if (frame.command)
		add_scope(list, "Command", NULL, false,
			keep_ref(d, (struct dap_ref){.value = json_incref(frame.command)}));
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		const struct scope *s = &scopes[i];

		if ((s->when & holds) != s->when)
			continue;
		add_scope(list, s->name, s->hint, s->expensive,
			keep_ref(d, (struct dap_ref){.command = command_of_scope(s, &frame),
					    .rows = s->rows,
					    .frame = s->when & SCOPE_CODE ? id : 0}));
	}
	return NULL;
}

/* --- variables --- */

/* A number, an address, a word, as a text; NULL: it has an inside. */
static char *plain_text(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_NULL:
		return xstrdup("none");
	case JSON_TRUE:
		return xstrdup("true");
	case JSON_FALSE:
		return xstrdup("false");
	case JSON_INTEGER:
		return xasprintf("%lld", (long long)json_integer_value(v));
	case JSON_REAL:
		return xasprintf("%g", json_real_value(v));
	case JSON_STRING:
		return xstrdup(json_string_value(v));
	default:
		return NULL;
	}
}

/* What a row of a list is known by. */
static char *row_name(const json_t *row, size_t i)
{
	static const char *const names[] = {"name", "id", "seq", "addr", "device", "command"};

	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const json_t *v = json_object_get(row, names[k]);

		if (json_is_string(v) || json_is_integer(v)) {
			char *text = plain_text(v), *both = xasprintf("%s %s", names[k], text);

			free(text);
			return both;
		}
	}
	return xasprintf("[%zu]", i);
}

/* The first of these members of an object that says what it is about. */
static char *summary(const json_t *v)
{
	static const char *const names[] = {
		"status", "shown", "kind", "kernel_name", "short_name", "size", "file"};
	struct buf b = BUF_INIT;

	if (json_is_array(v))
		return xasprintf("%zu", json_array_size(v));
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const json_t *m = json_object_get(v, names[k]);
		char *text = m && !json_is_null(m) ? plain_text(m) : NULL;

		if (text && *text)
			buf_printf(&b, "%s%s", b.len ? ", " : "", text);
		free(text);
	}
	return buf_steal(&b);
}

/* Whether a text is an address, and nothing else: "0x302000000". */
static bool is_address(const char *text)
{
	uint64_t addr;
	struct err *e;

	if (!text || strncmp(text, "0x", 2) != 0 || strlen(text) < 6)
		return false;
	e = dap_address(text, &addr);
	err_free(e);
	return !e;
}

static json_t *variable(struct dap *d, const char *name, json_t *v)
{
	char *text = plain_text(v), *said = text ? text : summary(v);
	json_t *row = json_pack("{s:o, s:o, s:I}", "name", link_text(name, strlen(name)), "value",
		link_text(said ? said : "", said ? strlen(said) : 0), "variablesReference",
		text ? (json_int_t)0 : keep_ref(d, (struct dap_ref){.value = json_incref(v)}));

	if (json_is_array(v))
		json_object_set_new(
			row, "indexedVariables", json_integer((json_int_t)json_array_size(v)));
	if (is_address(text))
		json_object_set_new(row, "memoryReference", json_string(text));
	free(said);
	return row;
}

static const char *text_of(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

/* An argument, or a variable: name, type, shown. */
static json_t *typed_variable(const json_t *row, size_t i)
{
	const char *name = text_of(row, "name"), *type = text_of(row, "type");
	const char *shown = text_of(row, "shown"), *value = text_of(row, "value");
	char *made = name ? NULL : xasprintf("arg%zu", i);
	json_t *v;

	if (!shown)
		shown = value ? value : text_of(row, "data");
	v = json_pack("{s:s, s:s, s:i}", "name", made ? made : name, "value", shown ? shown : "",
		"variablesReference", 0);
	if (type)
		json_object_set_new(v, "type", json_string(type));
	if (is_address(value) && json_integer_value(json_object_get(row, "size")) == 8)
		json_object_set_new(v, "memoryReference", json_string(value));
	if (value)
		json_object_set_new(v, "evaluateName", json_string(made ? made : name));
	free(made);
	return v;
}

/* A register has a value for each lane. One that all have is shown once. */
static json_t *register_variable(struct dap *d, const json_t *row)
{
	json_t *values = json_object_get(row, "values"), *v;
	const json_t *first = json_array_get(values, 0), *other;
	bool same = true;
	size_t i;

	json_array_foreach(values, i, other) same = same && json_equal(first, other);
	v = json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", text_of(row, "name"), "type",
		text_of(row, "type"), "value", same && first ? json_string_value(first) : "differs",
		"evaluateName", text_of(row, "name"), "variablesReference",
		same ? (json_int_t)0 : keep_ref(d, (struct dap_ref){.value = json_incref(values)}));
	return v;
}

static json_t *row_variable(struct dap *d, enum rows rows, json_t *row, size_t i)
{
	char *name;
	json_t *v;

	if (rows == ROWS_ARGUMENTS || rows == ROWS_VALUES)
		return typed_variable(row, i);
	if (rows == ROWS_REGISTERS)
		return register_variable(d, row);
	name = json_is_object(row) ? row_name(row, i) : xasprintf("[%zu]", i);
	v = variable(d, name, row);
	free(name);
	return v;
}

/* Part of a value: elements or members number start to start + most. */
static void put_inside(
	struct dap *d, json_t *value, enum rows rows, size_t start, size_t most, json_t *list)
{
	const char *name;
	json_t *v;
	size_t i = 0, at;

	if (json_is_array(value)) {
		json_array_foreach(value, at, v)
		{
			if (at >= start && at - start < most)
				json_array_append_new(list, row_variable(d, rows, v, at));
		}
		return;
	}
	json_object_foreach(value, name, v)
	{
		if (i >= start && i - start < most)
			json_array_append_new(list, variable(d, name, v));
		i++;
	}
}

struct err *dap_on_variables(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t id, start = 0, most = 0;
	json_t *list = json_array(), *value;
	struct dap_ref *r;
	enum rows rows;

	json_object_set_new(body, "variables", list);
	TRY(dap_need_int(args, "variablesReference", &id));
	TRY(dap_take_int(args, "start", &start));
	TRY(dap_take_int(args, "count", &most));
	if (start < 0 || most < 0)
		return err_new(ERR_USAGE, "\"start\" and \"count\" are not negative");
	TRY(open_ref(d, id, &r));
	rows = r->rows;
	value = json_incref(r->value);
	/* a list of one row comes as that row */
	if (rows != ROWS_PLAIN && json_is_object(value))
		json_array_append_new(list, row_variable(d, rows, value, 0));
	else
		put_inside(d, value, rows, (size_t)start, most ? (size_t)most : SIZE_MAX, list);
	json_decref(value);
	return NULL;
}

/* --- what is at a variable --- */

/* The address in the first row of list that is called name. */
static const char *reference_in(const json_t *list, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		const char *is = text_of(row, "name");

		if (is && !strcmp(is, name))
			return text_of(row, "memoryReference");
	}
	return NULL;
}

uint64_t dap_rest_of_allocation(struct dap *d, uint64_t addr)
{
	json_t *symbol = NULL;
	struct err *e = dap_ask(d, &symbol, "info symbol 0x%" PRIx64 " --json", addr);
	const json_int_t offset = json_integer_value(json_object_get(symbol, "offset"));
	const json_int_t size = json_integer_value(json_object_get(symbol, "size"));
	const bool inside = !e && text_of(symbol, "allocation") && size > offset && offset >= 0;

	err_free(e);
	json_decref(symbol);
	return inside ? (uint64_t)(size - offset) : 0;
}

struct err *dap_variable_address(
	struct dap *d, json_int_t ref, const char *name, uint64_t *ret, uint64_t *ret_size)
{
	json_t *args = json_pack("{s:I}", "variablesReference", ref), *body = json_object();
	const char *found;
	struct err *e = NULL;

	if (ref)
		e = dap_on_variables(d, args, body);
	found = ref ? reference_in(json_object_get(body, "variables"), name)
		    : (is_address(name) ? name : NULL);
	if (!e && !found)
		e = err_cure(err_new(ERR_USAGE, "\"%.80s\" does not point to GPU memory", name),
			"Choose a pointer, or an address");
	if (!e)
		e = dap_address(found, ret);
	if (!e)
		*ret_size = dap_rest_of_allocation(d, *ret);
	json_decref(args);
	json_decref(body);
	return e;
}

/* --- setting --- */

static bool is_row(const json_t *row, size_t i, const char *name)
{
	const char *is = text_of(row, "name");
	char number[32];

	snprintf(number, sizeof number, "arg%zu", i);
	return !strcmp(is ? is : number, name);
}

/* Argument `name` of the launch: what would have been with another value. */
static struct err *set_argument(
	struct dap *d, const json_t *rows, const char *name, const char *value)
{
	const json_t *row;
	size_t i;

	TRY(dap_needs_replay(d, "another argument"));
	json_array_foreach(rows, i, row)
	{
		if (is_row(row, i, name))
			return dap_line(d, NULL, "set arg %zu %s", i, value);
	}
	return err_new(ERR_NOT_FOUND, "there is no argument \"%.80s\"", name);
}

struct err *dap_on_set_variable(struct dap *d, const json_t *args, json_t *body)
{
	const char *name, *value;
	struct dap_ref *r;
	json_int_t id;

	TRY(dap_need_text(args, "name", &name));
	TRY(dap_need_text(args, "value", &value));
	TRY(dap_need_int(args, "variablesReference", &id));
	TRY(open_ref(d, id, &r));
	if (r->rows == ROWS_ARGUMENTS)
		TRY(set_argument(d, r->value, name, value));
	else if (r->rows == ROWS_VALUES)
		TRY(dap_line(d, NULL, "set var %s = %s", name, value));
	else
		return err_cure(err_new(ERR_UNSUPPORTED, "\"%.80s\" cannot be changed", name),
			"Arguments of a launch, the host's variables and memory can");
	/* what was asked for before is no more */
	r = &d->refs[id - d->refs_base];
	json_decref(r->value);
	r->value = NULL;
	json_object_set_new(body, "value", link_text(value, strlen(value)));
	return NULL;
}
