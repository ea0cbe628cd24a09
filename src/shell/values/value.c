/* SPDX-License-Identifier: Apache-2.0
 *
 * Values, see value.h: what names mean, where memory is read.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "state/state.h"
#include "engine/replay-device.h"
#include "shell/print/kernel-text.h"
#include "shell/values/kernel-args.h"
#include "shell/values/kernel-source.h"
#include "shell/values/memory-view.h"
#include "shell/values/program.h"
#include "shell/values/value.h"
#include "shell/python/py-show.h"
#include "shell/values/vars.h"
#include "sbt/fields.h"

/* --- arguments --- */

static bool kernel_params(struct session *s, const struct sbt_cmd *c, struct sbt_blob *ret)
{
	const struct state *st;
	struct state_kernel k;
	struct err *e;

	if (c->kind != SBT_LAUNCH)
		return false;
	e = session_state(s, &st);
	if (e) {
		err_free(e);
		return false;
	}
	if (!state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
		return false;
	*ret = k.params;
	return true;
}

bool value_arg(struct session *s, const struct sbt_cmd *c, unsigned i, uint32_t *ret_offset,
	struct sbt_blob *ret)
{
	const struct replay_arg *what_if;
	struct sbt_blob params;
	uint32_t pair[2];

	if (!kernel_params(s, c, &params) || i >= params.len / sizeof pair)
		return false;
	memcpy(pair, (const char *)params.p + i * sizeof pair, sizeof pair);
	if (pair[1] > c->u.launch.args.len || pair[0] > c->u.launch.args.len - pair[1])
		return false;
	what_if = s->focus == FOCUS_REPLAY ? replay_device_arg(s->engine.trace.device, c->seq, i)
					   : NULL;
	*ret_offset = pair[0];
	ret->p =
		what_if ? (const char *)what_if->bytes : (const char *)c->u.launch.args.p + pair[0];
	ret->len = pair[1];
	return true;
}

/* "arg3" to 3. */
static bool parse_arg(const char *text, unsigned *ret)
{
	char *end;
	unsigned long i;

	if (strncmp(text, "arg", 3) || !isdigit((unsigned char)text[3]))
		return false;
	i = strtoul(text + 3, &end, 10);
	*ret = (unsigned)i;
	return !*end && i < 4096;
}

static struct err *no_command(void)
{
	return err_cure(err_new(ERR_STATE, "there is no GPU command here"),
		"Stop at one with \"break\" and \"run\", or \"replay start\"");
}

/* An argument of 1, 2, 4 or 8 bytes is a number, an address in hexadecimal; others are bytes. */
static struct err *arg_value(
	struct session *s, const struct sbt_cmd *c, unsigned i, struct lang_value *ret)
{
	struct lang *l = vars_lang(s->vars);
	struct sbt_blob bytes;
	uint32_t offset;

	if (!c)
		return no_command();
	if (c->kind != SBT_LAUNCH)
		return err_new(
			ERR_STATE, "#%" PRIu64 " is no kernel launch: it has no arguments", c->seq);
	if (!value_arg(s, c, i, &offset, &bytes))
		return err_cure(err_new(ERR_NOT_FOUND, "the kernel has no arg%u", i),
			"\"info args\" lists them");
	if (bytes.len == 8)
		*ret = lang_from_bytes(vars_field_type(s->vars, SBT_T_HEX), bytes.p);
	else if (bytes.len == 1 || bytes.len == 2 || bytes.len == 4)
		*ret = lang_from_bytes(lang_base_type(l, bytes.len == 1	  ? "u8"
							 : bytes.len == 2 ? "u16"
									  : "u32"),
			bytes.p);
	else
		*ret = value_of_bytes(s, &bytes);
	return NULL;
}

/* --- fields --- */

const struct sbt_field *value_field(unsigned kind, const char *name)
{
	const struct sbt_field *f = sbt_field(kind, name);

	for (const struct sbt_field *common = sbt_common_fields; !f && common->name; common++) {
		if (!strcmp(common->name, name))
			f = common;
	}
	return f;
}

struct lang_value value_of_bytes(struct session *s, const struct sbt_blob *bytes)
{
	struct lang *l = vars_lang(s->vars);

	return lang_from_bytes(lang_array_of(l, lang_base_type(l, "x8"), bytes->len), bytes->p);
}

const struct lang_type *value_field_type(struct session *s, const struct sbt_field *f)
{
	return vars_field_type(s->vars, f->type);
}

struct lang_value value_of_field(
	struct session *s, const struct sbt_cmd *c, const struct sbt_field *f)
{
	const struct sbt_blob *b;

	if (!sbt_type_is_blob(f->type))
		return lang_from_int(vars_field_type(s->vars, f->type), (int64_t)sbt_get(c, f));
	b = sbt_get_blob(c, f);
	return f->type == SBT_T_STR ? lang_from_text(vars_lang(s->vars), b->p, b->len)
				    : value_of_bytes(s, b);
}

/* All fields as a struct, for `print $cmd`. */
static struct lang_value value_of_command(struct session *s, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	const struct sbt_field *const lists[] = {
		d ? d->fields : sbt_common_fields, d ? sbt_common_fields : NULL};
	struct lang *l = vars_lang(s->vars);
	struct lang_type *t = lang_alloc(l, sizeof *t);
	struct lang_member *m = lang_alloc(l, 128 * sizeof *m);
	struct buf bytes = BUF_INIT;
	struct lang_value v;

	*t = (struct lang_type){.kind = LANG_STRUCT, .name = d ? d->name : "command", .members = m};
	for (unsigned i = 0; i < 2 && lists[i]; i++) {
		for (const struct sbt_field *f = lists[i]; f->name && t->nmembers < 128; f++) {
			struct lang_value one = value_of_field(s, c, f);

			m[t->nmembers++] = (struct lang_member){
				.name = f->name, .type = one.type, .offset = bytes.len};
			buf_add(&bytes, one.bytes, (size_t)one.type->size);
			lang_value_free(&one);
		}
	}
	t->size = bytes.len;
	v = lang_from_bytes(t, bytes.data);
	buf_free(&bytes);
	return v;
}

/* The number that an enumeration's name means: h2d, pinned, ... */
bool value_enum(struct session *s, const char *name, struct lang_value *ret)
{
	for (int t = SBT_T_ENUM_COPY; t <= SBT_T_ENUM_NODE; t++) {
		const char *have;

		for (uint64_t v = 0; (have = sbt_enum_name((enum sbt_type)t, v)) != NULL; v++) {
			if (!strcmp(have, name)) {
				*ret = lang_from_int(
					vars_field_type(s->vars, (enum sbt_type)t), (int64_t)v);
				return true;
			}
		}
	}
	return false;
}

static struct err *no_field(const struct sbt_cmd *c, const char *name)
{
	const struct sbt_kind_desc *d = c ? sbt_kind(c->kind) : NULL;
	struct buf fields = BUF_INIT;
	struct err *e;

	if (!d)
		return no_command();
	for (const struct sbt_field *f = d->fields; f->name; f++)
		buf_printf(&fields, "%s%s", fields.len ? ", " : "", f->name);
	e = err_cure(err_new(ERR_NOT_FOUND, "#%" PRIu64 " is %s %s: it has no %s", c->seq,
			     strchr("aeiou", *d->name) ? "an" : "a", d->name, name),
		"It has seq, thread, result, %s%s", buf_cstr(&fields),
		c->kind == SBT_LAUNCH ? ", arg0, arg1, ..." : "");
	buf_free(&fields);
	return e;
}

/* --- names --- */

/* What a scope is about. */
struct names {
	struct session *s;
	int lane; /* of the warp under the microscope; negative: the focused one */
};

/* The command whose arguments are meant: at a fault, the launch that faulted, as for `info args`.
 */
static const struct sbt_cmd *launch_of(
	struct session *s, const struct sbt_cmd *c, struct sbt_cmd *culprit)
{
	bool sure;

	return s->focus != FOCUS_REPLAY && c && live_fault_launch(&s->engine, culprit, &sure)
		       ? culprit
		       : c;
}

static struct err *of_command(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	const struct sbt_cmd *c = NULL;
	struct sbt_cmd culprit;
	const struct sbt_field *f;
	unsigned i;

	session_cmd(s, &c);
	*ret_found = true;
	f = c ? value_field(c->kind, name) : NULL;
	if (f)
		*ret = value_of_field(s, c, f);
	else if (parse_arg(name, &i))
		return arg_value(s, launch_of(s, c, &culprit), i, ret);
	else if (!value_enum(s, name, ret))
		*ret_found = false;
	return NULL;
}

static struct err *dollar(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	const struct sbt_cmd *c = NULL;

	if (!strcmp(name, "$args")) {
		struct sbt_cmd culprit;

		session_cmd(s, &c);
		c = launch_of(s, c, &culprit);
		if (!c)
			return no_command();
		*ret_found = true;
		return kernel_args_value(s, c, ret);
	}
	if (!strcmp(name, "$cmd")) {
		if (!session_cmd(s, &c))
			return no_command();
		*ret = value_of_command(s, c);
		*ret_found = true;
		return NULL;
	}
	*ret_found = vars_find(s->vars, name + 1, ret);
	if (*ret_found || !name[1] || !(isalpha((unsigned char)name[1]) || name[1] == '_'))
		return NULL;
	return of_command(s, name + 1, ret, ret_found);
}

/* Whether two values are the same number or bytes; reads them. */
static bool same_value(struct session *s, struct lang_value *a, struct lang_value *b)
{
	const struct lang_type *x = lang_strip(a->type), *y = lang_strip(b->type);
	struct err *e = value_fetch(s, a);

	if (!e)
		e = value_fetch(s, b);
	err_free(e);
	return !e && x && y && x->size == y->size && a->bytes && b->bytes &&
	       !memcmp(a->bytes, b->bytes, (size_t)x->size);
}

static struct err *means_two(const char *name, const char *other, const char *cure)
{
	return err_cure(
		err_new(ERR_USAGE,
			"%s is an argument of the kernel, and another value of that name is %s",
			name, other),
		"Write $args.%s for the argument, or %s", name, cure);
}

/* An argument of the launch, or a variable of the host, which is often what was passed. Where both
 * are there and differ, neither is meant. */
static struct err *of_launch_or_program(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	const struct sbt_cmd *c = NULL;
	struct sbt_cmd culprit;
	struct lang_value host = {0};
	bool both;
	struct err *e;

	*ret_found = false;
	session_cmd(s, &c);
	if (s->focus == FOCUS_REPLAY || !s->engine.live.frame)
		TRY(kernel_arg_value(s, launch_of(s, c, &culprit), name, ret, ret_found));
	if (*ret_found && c && value_field(c->kind, name)) {
		lang_value_free(ret);
		return means_two(name, "a field of its launch", "$cmd for the launch's fields");
	}
	if (!*ret_found)
		return program_value(s, name, ret, ret_found);
	e = program_value(s, name, &host, &both);
	if (e &&
		e->code == ERR_UNSUPPORTED) { /* its value is not available: nothing that differs */
		err_free(e);
		return NULL;
	}
	if (!e && both && host.place != LANG_GONE && !same_value(s, ret, &host))
		e = means_two(name, "a variable of the host", "\"up\" to select the host's frame");
	if (e)
		lang_value_free(ret);
	lang_value_free(&host);
	return e;
}

static struct err *find_name(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	const struct names *in = arg;
	struct session *s = in->s;
	const struct sbt_cmd *c = NULL;

	if (*name == '$')
		return dollar(s, name, ret, ret_found);
	TRY(kernel_source_value(s, name, in->lane, ret, ret_found));
	if (*ret_found)
		return NULL;
	TRY(kernel_name(s, name, in->lane, ret, ret_found));
	if (*ret_found || *name == '%')
		return NULL;
	TRY(of_launch_or_program(s, name, ret, ret_found));
	session_cmd(s, &c);
	if (!*ret_found && !(c && value_field(c->kind, name)))
		TRY(program_shown_value(s, name, ret, ret_found));
	if (!*ret_found)
		TRY(of_command(s, name, ret, ret_found));
	if (!*ret_found)
		TRY(program_library_value(s, name, ret, ret_found));
	if (*ret_found)
		return NULL;
	TRY(kernel_unknown_name(s, name));
	return no_field(c, name);
}

static const struct lang_type *find_type(void *arg, const char *name)
{
	struct session *s = ((const struct names *)arg)->s;
	const struct lang_type *t = kernel_source_type(s, name);

	return t ? t : program_type_named(s, name);
}

static void describe(void *arg, unsigned space, uint64_t addr, struct buf *out)
{
	struct session *s = ((const struct names *)arg)->s;

	if (space != SOFT_GLOBAL)
		return;
	if (kernel_stop(s))
		kernel_leave_window(&space, &addr);
	if (space == SOFT_GLOBAL)
		program_tell_address(s, addr, out);
	else
		buf_printf(out, " <%s+%" PRIu64 ">", kernel_spaces[space], addr);
}

static struct err *read_at(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	const struct names *in = arg;

	return kernel_read_lane(in->s, in->lane, space, addr, dst, n);
}

static struct err *write_at(void *arg, unsigned space, uint64_t addr, const void *src, size_t n)
{
	const struct names *in = arg;
	struct session *s = in->s;

	if (kernel_stop(s))
		return kernel_write(s, space, addr, in->lane, src, n);
	if (space != SOFT_GLOBAL)
		return err_new(ERR_UNSUPPORTED, "%s memory of a launch is not changed",
			kernel_spaces[space % SOFT_SPACES]);
	return memory_write(s, addr, src, n);
}

static struct err *assign_variable(void *arg, const char *name, const struct lang_value *v)
{
	const struct names *in = arg;

	if (*name == '%')
		return kernel_set_register(in->s, name, in->lane, v);
	vars_put(in->s->vars, name, v);
	return NULL;
}

static struct lang_scope scope_of(struct names *in)
{
	return (struct lang_scope){.arg = in,
		.name = find_name,
		.type = find_type,
		.describe = describe,
		.read = read_at,
		.write = write_at,
		.assign = assign_variable};
}

/* --- the door --- */

struct err *value_eval_lane(struct session *s, const char *text, int lane, struct lang_value *ret)
{
	struct names in = {s, lane};
	const struct lang_scope scope = scope_of(&in);

	TRY(lang_eval(vars_lang(s->vars), &scope, text, ret));
	if (lane < 0)
		return NULL;
	struct err *e = lang_fetch(&scope, ret); /* later on, memory is the focused lane's */

	if (e)
		lang_value_free(ret);
	return e;
}

struct err *value_eval(struct session *s, const char *text, struct lang_value *ret)
{
	return value_eval_lane(s, text, -1, ret);
}

struct err *value_address(struct session *s, const char *text, uint64_t *ret, unsigned *ret_space)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);
	struct lang_value v;
	const struct lang_type *t;
	int64_t i = 0;
	struct err *e;

	TRY(value_eval(s, text, &v));
	t = lang_strip(v.type);
	e = t && t->kind != LANG_FLOAT ? lang_to_int(&scope, &v, &i)
				       : err_new(ERR_USAGE, "\"%s\" is no address", text);
	if (e && !e->cure)
		e = err_cure(e, "\"info allocations\" lists addresses");
	*ret = (uint64_t)i;
	if (ret_space)
		*ret_space = v.space;
	lang_value_free(&v);
	return e;
}

struct err *value_true(struct session *s, const char *text, bool *ret)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);
	struct lang_value v;
	struct err *e = NULL;

	*ret = false;
	TRY(value_eval(s, text, &v));
	if (v.type)
		e = lang_to_bool(&scope, &v, ret);
	lang_value_free(&v);
	return e;
}

struct err *value_type(struct session *s, const char *text, const struct lang_type **ret)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);

	return lang_type_of(vars_lang(s->vars), &scope, text, ret);
}

struct err *value_show(struct session *s, const struct lang_value *v, char letter, struct buf *out)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);
	const struct lang_format f = {.letter = letter, .elements = s->set.number[SHELL_ELEMENTS]};

	if (!letter && python_show(s, v, out))
		return NULL;
	return lang_show(vars_lang(s->vars), &scope, &f, v, out);
}

void value_show_inside(struct session *s, const struct lang_value *v, struct buf *out)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);
	const struct lang_format f = {.elements = s->set.number[SHELL_ELEMENTS], .nested = true};
	struct buf b = BUF_INIT;
	struct err *e =
		python_show(s, v, &b) ? NULL : lang_show(vars_lang(s->vars), &scope, &f, v, &b);

	if (e)
		buf_printf(out, "<error: %s>", e->what);
	else
		buf_str(out, buf_cstr(&b));
	err_free(e);
	buf_free(&b);
}

struct err *value_fetch(struct session *s, struct lang_value *v)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);

	return lang_fetch(&scope, v);
}

struct err *value_int(struct session *s, const struct lang_value *v, int64_t *ret)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);

	return lang_to_int(&scope, v, ret);
}

struct err *value_double(struct session *s, const struct lang_value *v, double *ret)
{
	struct names in = {s, -1};
	const struct lang_scope scope = scope_of(&in);

	return lang_to_double(&scope, v, ret);
}
