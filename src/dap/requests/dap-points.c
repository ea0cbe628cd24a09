/* SPDX-License-Identifier: Apache-2.0
 *
 * Breakpoints. The client sends all of a kind at a time; those that it had sent before stay, with
 * their hits, the others are deleted. Each is a breakpoint or watchpoint of the shell.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

enum { POINTS_MAX = 1000 }; /* of a kind in one request */

/* What the client wants. */
struct wish {
	const char *condition, *hits, *says; /* NULL: none */
	json_int_t line;		     /* of a source; else 0 */
	char *what;			     /* the shell's command, or the place of a source */
	const char *file;		     /* of a source; else NULL */
};

/* --- lists --- */

static void point_free(struct dap_point *p)
{
	free(p->key);
	free(p->why);
}

void dap_points_free(struct dap_points *p)
{
	for (size_t i = 0; i < p->n; i++)
		point_free(&p->list[i]);
	free(p->list);
	*p = (struct dap_points){0};
}

enum dap_point_kind dap_points_kind(const struct dap *d, json_int_t id)
{
	if (id > 0 && dap_filter_text(d, id))
		return DAP_EXCEPTION_POINT;
	for (int k = 0; k < DAP_POINT_KINDS; k++) {
		for (size_t i = 0; i < d->points[k].n; i++) {
			if (id > 0 && d->points[k].list[i].id == id)
				return (enum dap_point_kind)k;
		}
	}
	return DAP_POINT_KINDS;
}

static void keep_point(struct dap_points *p, struct dap_point *point)
{
	MAKE_ROOM(p->list, p->n, p->cap);
	p->list[p->n++] = *point;
}

/* --- setting one --- */

struct err *dap_point_newest(struct dap *d, int *ret)
{
	json_t *list, *last;

	TRY(dap_ask(d, &list, "info breakpoints --json"));
	last = json_array_get(list, json_array_size(list) - 1);
	*ret = (int)json_integer_value(json_object_get(json_is_object(list) ? list : last, "id"));
	json_decref(list);
	return *ret ? NULL : err_new(ERR_SYSTEM, "the breakpoint was not set");
}

/* "3", ">= 3": it stops at the third time and at those behind it. */
static struct err *set_hits(struct dap *d, int id, const char *hits)
{
	const char *p = hits + strspn(hits, " ");
	unsigned long n;
	char *end;

	if (!strncmp(p, ">=", 2))
		p += 2 + strspn(p + 2, " ");
	n = strtoul(p, &end, 10);
	if (!isdigit((unsigned char)*p) || *end || n < 1 || n > INT32_MAX)
		return err_cure(err_new(ERR_USAGE, "\"%.40s\" is no number of hits", hits),
			"Write 3 for: stop from the third time on");
	return dap_line(d, NULL, "ignore %d %lu", id, n - 1);
}

/* "at {grid_x} of {arg2.f32:%g}" as arguments of printf; without a format a number is whole. */
static struct err *put_message(struct buf *out, const char *says)
{
	struct buf values = BUF_INIT;
	struct err *e = NULL;

	buf_byte(out, '"');
	for (; *says && !e; says++) {
		const size_t n = strcspn(says, "}");

		if (*says == '{' && says[n] == '}' && n > 1) {
			const char *format = memmem(says, n, ":%", 2);
			const size_t expression = format ? (size_t)(format - says) : n;

			buf_printf(out, "%.*s", format ? (int)(says + n - format - 1) : 3,
				format ? format + 1 : "%ld");
			buf_printf(&values, ", %.*s", (int)expression - 1, says + 1);
			says += n;
		} else if (*says == '{') {
			e = err_new(ERR_USAGE, "the message has a { without an expression and a }");
		} else {
			if (strchr("\"\\", *says))
				buf_byte(out, '\\');
			if (*says == '%')
				buf_byte(out, '%');
			buf_byte(out, (uint8_t)*says);
		}
	}
	buf_printf(out, "\\n\"%s", values.len ? buf_cstr(&values) : "");
	buf_free(&values);
	return e;
}

/* Sets what a wish says at this place. */
static struct err *set_at(
	struct dap *d, const struct wish *w, const char *place, int *ret, char **ret_said)
{
	struct buf line = BUF_INIT;
	struct err *e = NULL;

	buf_printf(&line, "%s%s", w->file ? (w->says ? "dprintf " : "break ") : "", place);
	if (w->says) {
		buf_byte(&line, ',');
		e = put_message(&line, w->says);
	} else if (w->condition && !strncmp(buf_cstr(&line), "break ", 6)) {
		buf_printf(&line, " if %s", w->condition);
	}
	if (!e)
		e = dap_line(d, ret_said, "%s", buf_cstr(&line));
	if (!e)
		e = dap_point_newest(d, ret);
	if (!e && w->condition && !strstr(buf_cstr(&line), " if "))
		e = dap_line(d, NULL, "condition %d %s", *ret, w->condition);
	buf_free(&line);
	return e;
}

/* Whether a place of a program that has not got there yet is known all the same. */
static bool known(struct dap *d, const char *place)
{
	json_t *code = NULL;
	struct err *e = dap_ask(d, &code, "info line %s --json", place);
	const bool found = !e && (json_is_object(code) || json_array_size(code));

	err_free(e);
	json_decref(code);
	return found;
}

/* A line of a file: what is recorded may be another path to the same file, so that its end is
 * looked for, the longest first. In a program that runs, a place that is not known is set by the
 * last part of its path, and waits. */
static struct err *set_line(struct dap *d, const struct wish *w, int *ret, char **ret_said)
{
	struct err *first = NULL;

	for (const char *path = w->file; path; path = strchr(path, '/')) {
		struct buf place = BUF_INIT;
		struct err *e = NULL;
		bool tried;

		path += path > w->file && *path == '/';
		buf_printf(&place, "%s:%lld", path, (long long)w->line);
		tried = !strpbrk(path, " \t\"'") &&
			(d->replays || !strchr(path, '/') || known(d, buf_cstr(&place)));
		if (tried)
			e = set_at(d, w, buf_cstr(&place), ret, ret_said);
		buf_free(&place);
		if (tried && !e) {
			err_free(first);
			return NULL;
		}
		first = err_first(first, e);
		path += path == w->file && *path == '/';
	}
	return first ? first
		     : err_new(ERR_UNSUPPORTED,
			       "a file whose name has blanks or quotation marks takes no breakpoints");
}

static struct err *set_wish(struct dap *d, const struct wish *w, int *ret, char **ret_said)
{
	struct err *e;

	TRY(w->file ? set_line(d, w, ret, ret_said) : set_at(d, w, w->what, ret, ret_said));
	e = w->hits ? set_hits(d, *ret, w->hits) : NULL;
	if (e)
		err_free(dap_line(d, NULL, "delete %d", *ret));
	return e;
}

/* --- a list of them --- */

static char *key_of(const struct wish *w)
{
	return xasprintf("%s:%lld %s\n%s\n%s\n%s", w->file ? w->file : "", (long long)w->line,
		w->what ? w->what : "", w->condition ? w->condition : "", w->hits ? w->hits : "",
		w->says ? w->says : "");
}

static bool of_file(const struct dap_point *p, const char *file)
{
	const size_t n = strlen(file);

	return !strncmp(p->key, file, n) && p->key[n] == ':';
}

/* Takes the points that a request is about out of the list: of a file, or all of them. */
static struct dap_points take_old(struct dap_points *all, const char *file)
{
	struct dap_points old = {0}, rest = {0};

	for (size_t i = 0; i < all->n; i++)
		keep_point(!file || of_file(&all->list[i], file) ? &old : &rest, &all->list[i]);
	free(all->list);
	*all = rest;
	return old;
}

static bool take_equal(struct dap_points *old, const char *key, struct dap_point *ret)
{
	for (size_t i = 0; i < old->n; i++) {
		if (!strcmp(old->list[i].key, key) && old->list[i].id) {
			*ret = old->list[i];
			old->list[i] = old->list[--old->n];
			return true;
		}
	}
	return false;
}

static json_t *point_row(struct dap *d, const struct dap_point *p, const char *file)
{
	json_t *row = json_pack("{s:b}", "verified", p->id && !p->why),
	       *source = dap_source(d, file);

	if (p->id)
		json_object_set_new(row, "id", json_integer(p->id));
	if (p->why)
		json_object_set_new(row, "message", link_text(p->why, strlen(p->why)));
	if (p->line)
		json_object_set_new(row, "line", json_integer(p->line));
	if (source)
		json_object_set_new(row, "source", source);
	return row;
}

/* Whether a program has still to come to where it is: then it waits, and says so. */
static void note_pending(struct dap *d, const struct wish *w, struct dap_point *p)
{
	char *place;

	if (d->replays)
		return;
	if (w->file) {
		const char *slash = strrchr(w->file, '/');

		place = xasprintf("%s:%lld", slash ? slash + 1 : w->file, (long long)w->line);
	} else {
		const char *name = w->what + strlen("break ");

		place = xstrdup(strncmp(name, "kernel ", 7) ? name : name + 7);
	}
	if (!known(d, place))
		p->why = xstrdup("It waits until the program comes to a place of that name");
	free(place);
}

void dap_points_reached(struct dap *d, const json_t *ids)
{
	const json_t *id;
	size_t i;

	json_array_foreach(ids, i, id)
	{
		const enum dap_point_kind kind = dap_points_kind(d, json_integer_value(id));
		struct dap_points *all = kind < DAP_POINT_KINDS ? &d->points[kind] : NULL;

		for (size_t k = 0; all && k < all->n; k++) {
			struct dap_point *p = &all->list[k];

			if (p->id != json_integer_value(id) || !p->why)
				continue;
			free(p->why);
			p->why = NULL;
			link_event(d->link, "breakpoint",
				json_pack("{s:s, s:o}", "reason", "changed", "breakpoint",
					point_row(d, p, NULL)));
		}
	}
}

/* An error is that of the one point, unless the session itself has failed. */
static void add_point(struct dap *d, enum dap_point_kind kind, struct dap_points *old,
	const struct wish *w, struct err *wrong, json_t *rows)
{
	struct dap_point p = {.key = key_of(w), .line = w->line}, same;
	char *said = NULL;

	if (!wrong && take_equal(old, p.key, &same)) {
		free(p.key);
		p = same;
	} else {
		struct err *e = wrong ? wrong : set_wish(d, w, &p.id, &said);

		if (e) {
			p.id = 0;
			p.why = dap_sentence(e);
			err_free(e);
		} else {
			note_pending(d, w, &p);
		}
		free(said);
	}
	json_array_append_new(rows, point_row(d, &p, w->file));
	keep_point(&d->points[kind], &p);
}

static struct err *delete_old(struct dap *d, struct dap_points *old)
{
	struct err *e = NULL;

	for (size_t i = 0; i < old->n; i++) {
		/* one that the user has deleted is gone already */
		if (old->list[i].id)
			err_free(dap_line(d, NULL, "delete %d", old->list[i].id));
	}
	dap_points_free(old);
	return e;
}

/* Makes a wish of one element of the client's list. */
typedef struct err *wish_fn(struct dap *d, const json_t *from, struct wish *w);

static struct err *set_all(struct dap *d, enum dap_point_kind kind, const json_t *list,
	const char *file, wish_fn *make, json_t *body)
{
	json_t *rows = json_array();
	struct dap_points old;
	const json_t *from;
	size_t i;

	json_object_set_new(body, "breakpoints", rows);
	if (json_array_size(list) > POINTS_MAX)
		return err_new(ERR_LIMIT, "there are more than %d breakpoints", POINTS_MAX);
	old = take_old(&d->points[kind], file);
	json_array_foreach(list, i, from)
	{
		struct wish w = {.file = file};
		struct err *e = dap_take_line(from, "condition", &w.condition);

		if (!e)
			e = dap_take_line(from, "hitCondition", &w.hits);
		if (!e)
			e = dap_take_line(from, "logMessage", &w.says);
		if (!e)
			e = make(d, from, &w);
		if (w.condition && !*w.condition)
			w.condition = NULL;
		if (w.hits && !*w.hits)
			w.hits = NULL;
		add_point(d, kind, &old, &w, e, rows);
		free(w.what);
	}
	return delete_old(d, &old);
}

/* --- the kinds --- */

static struct err *wish_line(struct dap *d, const json_t *from, struct wish *w)
{
	(void)d;
	TRY(dap_need_int(from, "line", &w->line));
	return w->line > 0 ? NULL : err_new(ERR_USAGE, "lines are counted from 1");
}

struct err *dap_on_set_breakpoints(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *list;
	const char *path;

	TRY(dap_take_list(args, "breakpoints", &list));
	TRY(dap_need_text(json_object_get(args, "source"), "path", &path));
	if (!*path)
		return err_new(ERR_USAGE, "the path is empty");
	return set_all(d, DAP_SOURCE_POINT, list, path, wish_line, body);
}

static struct err *wish_function(struct dap *d, const json_t *from, struct wish *w)
{
	const char *name;

	(void)d;
	TRY(dap_need_text(from, "name", &name));
	if (!name[strspn(name, " \t")])
		return err_new(ERR_USAGE, "the name is empty");
	w->what = xasprintf("break %s", name);
	return NULL;
}

struct err *dap_on_set_function_breakpoints(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *list;

	TRY(dap_take_list(args, "breakpoints", &list));
	return set_all(d, DAP_FUNCTION_POINT, list, NULL, wish_function, body);
}

/* The reference is a line of the PTX of the launch that the replay is inside, see `disassemble`. */
static struct err *wish_instruction(struct dap *d, const json_t *from, struct wish *w)
{
	const char *reference, *kernel;
	json_int_t offset = 0;
	uint64_t line;
	json_t *when;
	struct err *e = NULL;

	TRY(dap_needs_replay(d, "a breakpoint at an instruction"));
	TRY(dap_need_text(from, "instructionReference", &reference));
	TRY(dap_take_int(from, "offset", &offset));
	TRY(dap_address(reference, &line));
	TRY(dap_ask(d, &when, "when --json"));
	kernel =
		json_string_value(json_object_get(json_object_get(when, "command"), "kernel_name"));
	if (kernel)
		w->what = xasprintf("break ptx %s:%" PRIu64, kernel, line + (uint64_t)offset);
	else
		e = err_cure(err_new(ERR_STATE, "the replay is at no launch"), "Go to one first");
	json_decref(when);
	return e;
}

struct err *dap_on_set_instruction_breakpoints(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *list;

	TRY(dap_take_list(args, "breakpoints", &list));
	return set_all(d, DAP_CODE_POINT, list, NULL, wish_instruction, body);
}

/* --- data --- */

/* "0x302000000 4": what setDataBreakpoints gets back. */
static struct err *wish_data(struct dap *d, const json_t *from, struct wish *w)
{
	static const char *const verbs[][2] = {
		{"write", "watch"}, {"read", "rwatch"}, {"readWrite", "awatch"}};
	const char *id, *access, *verb = NULL;
	unsigned long long addr, n;
	char rest;

	TRY(dap_needs_replay(d, "watching GPU memory"));
	TRY(dap_need_text(from, "dataId", &id));
	TRY(dap_take_line(from, "accessType", &access));
	if (sscanf(id, "0x%llx %llu%c", &addr, &n, &rest) != 2 || !n)
		return err_cure(err_new(ERR_USAGE, "\"%.80s\" is no data", id),
			"\"dataBreakpointInfo\" gives the dataId");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (!strcmp(access ? access : "write", verbs[i][0]))
			verb = verbs[i][1];
	}
	if (!verb)
		return err_new(ERR_USAGE, "\"%.40s\" is no kind of access", access);
	w->what = xasprintf("%s 0x%llx len %llu", verb, addr, n);
	return NULL;
}

struct err *dap_on_set_data_breakpoints(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *list;

	TRY(dap_take_list(args, "breakpoints", &list));
	return set_all(d, DAP_DATA_POINT, list, NULL, wish_data, body);
}

/* Why nothing can be watched there is the description, and dataId is null. */
static void answer_data(json_t *body, uint64_t addr, uint64_t n, struct err *e)
{
	char *id = xasprintf("0x%" PRIx64 " %" PRIu64, addr, n);
	char *text = e ? xasprintf("%s", e->what)
		       : xasprintf("%" PRIu64 " bytes at 0x%" PRIx64, n, addr);

	json_object_set_new(body, "dataId", e ? json_null() : json_string(id));
	json_object_set_new(body, "description", link_text(text, strlen(text)));
	json_object_set_new(body, "accessTypes", json_pack("[sss]", "read", "write", "readWrite"));
	json_object_set_new(body, "canPersist", json_false());
	free(text);
	free(id);
	err_free(e);
}

struct err *dap_on_data_breakpoint_info(struct dap *d, const json_t *args, json_t *body)
{
	json_int_t bytes = 4, ref = 0;
	bool as_address = false;
	const char *name;
	uint64_t addr = 0, known_bytes = 0;
	struct err *e;

	TRY(dap_need_text(args, "name", &name));
	TRY(dap_take_bool(args, "asAddress", &as_address));
	TRY(dap_take_int(args, "bytes", &bytes));
	TRY(dap_take_int(args, "variablesReference", &ref));
	if (bytes < 1)
		return err_new(ERR_USAGE, "at least one byte is watched");
	e = dap_needs_replay(d, "watching GPU memory");
	if (!e)
		e = as_address ? dap_address(name, &addr)
			       : dap_variable_address(d, ref, name, &addr, &known_bytes);
	answer_data(body, addr, known_bytes ? known_bytes : (uint64_t)bytes, e);
	return NULL;
}
