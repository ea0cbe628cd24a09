/* SPDX-License-Identifier: Apache-2.0
 *
 * Values, see value.h. A bare field or argument is shown by its type; anything else is an integer
 * expression (sbt/expr.h). A name that the current command does not have is refused here: the
 * expression machine itself would take it as 0.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "state/state.h"
#include "engine/replay-device.h"
#include "shell/print/value.h"
#include "shell/print/vars.h"

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

static const char *const views[] = {"", ".f32", ".f64", ".s32"};

/* Parses "arg3" or "arg3.f32"; *ret_view indexes views. */
static bool parse_arg(const char *text, unsigned *ret_i, unsigned *ret_view)
{
	char *end;
	unsigned long i;

	if (strncmp(text, "arg", 3) || !isdigit((unsigned char)text[3]))
		return false;
	i = strtoul(text + 3, &end, 10);
	for (unsigned v = 0; v < sizeof views / sizeof *views; v++) {
		if (!strcmp(end, views[v]) && i < 4096) {
			*ret_i = (unsigned)i;
			*ret_view = v;
			return true;
		}
	}
	return false;
}

static struct err *no_command(void)
{
	return err_cure(err_new(ERR_STATE, "there is no GPU command here"),
		"Stop at one with \"break\" and \"run\", or \"replay start\"");
}

static struct err *eval_arg(
	struct session *s, const struct sbt_cmd *c, unsigned i, unsigned view, struct value *ret)
{
	struct sbt_blob bytes;
	uint32_t offset;
	float f32;

	if (c->kind != SBT_LAUNCH)
		return err_new(
			ERR_STATE, "#%" PRIu64 " is no kernel launch: it has no arguments", c->seq);
	if (!value_arg(s, c, i, &offset, &bytes))
		return err_cure(err_new(ERR_NOT_FOUND, "the kernel has no arg%u", i),
			"\"info args\" lists them");
	if (view == 1 && bytes.len == 4) {
		memcpy(&f32, bytes.p, 4);
		*ret = (struct value){.kind = VALUE_FLOAT, .f = f32, .size = 4};
	} else if (view == 2 && bytes.len == 8) {
		*ret = (struct value){.kind = VALUE_FLOAT, .size = 8};
		memcpy(&ret->f, bytes.p, 8);
	} else if (view == 3 && bytes.len >= 4) {
		int32_t s32;

		memcpy(&s32, bytes.p, 4);
		*ret = (struct value){.kind = VALUE_INT, .type = SBT_T_INT, .i = s32, .size = 4};
	} else if (!view &&
		   (bytes.len == 1 || bytes.len == 2 || bytes.len == 4 || bytes.len == 8)) {
		*ret = (struct value){.kind = VALUE_INT,
			.type = bytes.len == 8 ? SBT_T_HEX : SBT_T_UINT,
			.size = (unsigned)bytes.len};
		memcpy(&ret->i, bytes.p, bytes.len);
	} else if (!view) {
		*ret = (struct value){.kind = VALUE_BYTES, .bytes = bytes};
	} else {
		return err_new(ERR_USAGE, "arg%u has %u bytes, which is not what %s takes", i,
			(unsigned)bytes.len, views[view] + 1);
	}
	return NULL;
}

/* --- fields --- */

static const struct sbt_field *common_field(const char *name)
{
	for (const struct sbt_field *f = sbt_common_fields; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static const struct sbt_field *field_of(const struct sbt_cmd *c, const char *name)
{
	const struct sbt_field *f = c ? sbt_field(c->kind, name) : NULL;

	return f ? f : common_field(name);
}

static bool is_enum_name(const char *name)
{
	for (int t = SBT_T_ENUM_COPY; t <= SBT_T_ENUM_NODE; t++) {
		const char *have;

		for (uint64_t v = 0; (have = sbt_enum_name((enum sbt_type)t, v)) != NULL; v++) {
			if (!strcmp(have, name))
				return true;
		}
	}
	return false;
}

static bool is_field(void *arg, const char *name)
{
	const struct sbt_cmd *c = arg;
	unsigned i, view;

	return field_of(c, name) || parse_arg(name, &i, &view);
}

static void eval_field(const struct sbt_cmd *c, const struct sbt_field *f, struct value *ret)
{
	if (sbt_type_is_blob(f->type))
		*ret = (struct value){.kind = f->type == SBT_T_STR ? VALUE_TEXT : VALUE_BYTES,
			.bytes = *sbt_get_blob(c, f)};
	else
		*ret = (struct value){
			.kind = VALUE_INT, .type = f->type, .i = (int64_t)sbt_get(c, f), .size = 8};
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
	e = err_cure(
		err_new(ERR_NOT_FOUND, "#%" PRIu64 " is a %s: it has no %s", c->seq, d->name, name),
		"It has seq, thread, result, %s%s", buf_cstr(&fields),
		c->kind == SBT_LAUNCH ? ", arg0, arg1, ..." : "");
	buf_free(&fields);
	return e;
}

/* Checks that every name in an expression exists for this command. */
static struct err *check_names(const struct sbt_cmd *c, const char *text)
{
	while (*text) {
		char name[64];
		size_t n = 0;
		unsigned i, view;

		if (isdigit((unsigned char)*text)) {
			while (isalnum((unsigned char)*text))
				text++;
			continue;
		}
		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
		if (!n) {
			text++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)n, text);
		text += n;
		if (*text == '.' && parse_arg(name, &i, &view))
			text += 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
		if (is_enum_name(name))
			continue;
		if (!c || !is_field((void *)(uintptr_t)c, name))
			return no_field(c, name);
	}
	return NULL;
}

static struct err *eval_expression(
	struct session *s, const struct sbt_cmd *c, const char *text, struct value *ret)
{
	static const struct sbt_cmd none;
	struct sbt_blob params = {0};
	struct sbt_expr x;
	char why[256];

	TRY(check_names(c, text));
	if (!sbt_expr_compile(&x, c ? c->kind : 0, text, why, sizeof why))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no expression: %s", text, why),
			"\"help expressions\" has the grammar");
	if (c)
		kernel_params(s, c, &params);
	*ret = (struct value){.kind = VALUE_INT,
		.type = SBT_T_INT,
		.size = 8,
		.i = sbt_expr_value(&x, c ? c : &none, params.p ? &params : NULL)};
	return NULL;
}

static char *trimmed(const char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t", text[n - 1]))
		n--;
	return strndup(text, n);
}

static struct err *eval_plain(
	struct session *s, const struct sbt_cmd *c, const char *text, struct value *ret)
{
	const struct sbt_field *f = c ? field_of(c, text) : NULL;
	unsigned i, view;

	if (!*text)
		return err_cure(err_new(ERR_USAGE, "there is no expression"),
			"For example: print $cmd.grid_x");
	if (parse_arg(text, &i, &view))
		return c ? eval_arg(s, c, i, view, ret) : no_command();
	if (!f)
		return eval_expression(s, c, text, ret);
	eval_field(c, f, ret);
	return NULL;
}

static bool names_an_arg(const char *text)
{
	bool within = false; /* a longer word */

	for (; *text; text++) {
		if (!within && !strncmp(text, "arg", 3) && isdigit((unsigned char)text[3]))
			return true;
		within = isalnum((unsigned char)*text) || *text == '_';
	}
	return false;
}

struct err *value_eval(struct session *s, const char *text, struct value *ret)
{
	const struct sbt_cmd *c = NULL;
	struct sbt_cmd culprit;
	char *expanded, *plain;
	bool sure;
	struct err *e;

	session_cmd(s, &c);
	/* At a fault, arguments are those of the launch that faulted, as for `info args`. */
	if (s->focus != FOCUS_REPLAY && c && names_an_arg(text) &&
		live_fault_launch(&s->engine, &culprit, &sure))
		c = &culprit;
	TRY(vars_expand(s->vars, text, is_field, (void *)(uintptr_t)c, &expanded));
	plain = trimmed(expanded);
	free(expanded);
	BUG_ON(!plain);
	e = eval_plain(s, c, plain, ret);
	free(plain);
	return e;
}

/* --- showing --- */

static void format_binary(uint64_t v, struct buf *out)
{
	unsigned bits = v ? 64 - (unsigned)__builtin_clzll(v) : 1;

	while (bits--)
		buf_byte(out, v >> bits & 1 ? '1' : '0');
}

static void format_char(unsigned char c, struct buf *out)
{
	if (c == '\'' || c == '\\')
		buf_printf(out, "'\\%c'", c);
	else if (isprint(c))
		buf_printf(out, "'%c'", c);
	else
		buf_printf(out, "'\\%03o'", c);
}

/* Appends one integer of size bytes by a format letter. */
static bool format_int(int64_t i, unsigned size, char letter, struct buf *out)
{
	uint64_t u = (uint64_t)i;
	float f32;
	double f64;

	if (size < 8)
		u &= (1ull << 8 * size) - 1;
	switch (letter) {
	case 'x':
	case 'a':
		buf_printf(out, "0x%" PRIx64, u);
		return true;
	case 'z':
		buf_printf(out, "0x%0*" PRIx64, (int)size * 2, u);
		return true;
	case 'd':
		buf_printf(out, "%" PRId64, (int64_t)(u << (64 - 8 * size)) >> (64 - 8 * size));
		return true;
	case 'u':
		buf_printf(out, "%" PRIu64, u);
		return true;
	case 'o':
		buf_printf(out, u ? "0%" PRIo64 : "%" PRIo64, u);
		return true;
	case 't':
		format_binary(u, out);
		return true;
	case 'c':
		buf_printf(out, "%d ", (int)(signed char)u);
		format_char((unsigned char)u, out);
		return true;
	case 'f':
		memcpy(&f32, &u, 4);
		memcpy(&f64, &u, 8);
		if (size == 4)
			buf_printf(out, "%.9g", (double)f32);
		else if (size == 8)
			buf_printf(out, "%.17g", f64);
		else
			buf_printf(out, "%" PRId64, (int64_t)u);
		return true;
	}
	return false;
}

static void format_own(const struct value *v, struct buf *out)
{
	const char *name = sbt_enum_name(v->type, (uint64_t)v->i);

	switch (v->type) {
	case SBT_T_ADDR:
	case SBT_T_HEX:
		buf_printf(out, "0x%" PRIx64, (uint64_t)v->i);
		return;
	case SBT_T_INT:
		buf_printf(out, "%" PRId64, v->i);
		return;
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		if ((uint32_t)v->i == SBT_NO_ID) {
			buf_str(out, "none");
			return;
		}
		break;
	default:
		break;
	}
	if (name)
		buf_printf(out, "%s", name);
	else
		buf_printf(out, "%" PRIu64, (uint64_t)v->i);
}

static void format_bytes(const struct value *v, uint64_t limit, struct buf *out)
{
	const unsigned char *p = v->bytes.p;
	uint64_t n = limit && v->bytes.len > limit ? limit : v->bytes.len;

	buf_byte(out, v->kind == VALUE_TEXT ? '"' : '{');
	for (uint64_t i = 0; i < n; i++) {
		if (v->kind == VALUE_BYTES)
			buf_printf(out, "%s0x%02x", i ? ", " : "", p[i]);
		else if (p[i] == '"' || p[i] == '\\')
			buf_printf(out, "\\%c", p[i]);
		else if (isprint(p[i]))
			buf_byte(out, p[i]);
		else
			buf_printf(out, "\\%03o", p[i]);
	}
	buf_byte(out, v->kind == VALUE_TEXT ? '"' : '}');
	if (n < v->bytes.len)
		buf_str(out, "...");
}

struct err *value_format(const struct value *v, char letter, uint64_t limit, struct buf *out)
{
	if (v->kind == VALUE_TEXT || v->kind == VALUE_BYTES) {
		format_bytes(v, limit, out);
	} else if (v->kind == VALUE_FLOAT) {
		if (letter && letter != 'f') {
			uint64_t u = 0;
			float f32 = (float)v->f;

			if (v->size == 4)
				memcpy(&u, &f32, 4);
			else
				memcpy(&u, &v->f, 8);
			if (format_int((int64_t)u, v->size, letter, out))
				return NULL;
		} else {
			buf_printf(out, v->size == 4 ? "%.9g" : "%.17g", v->f);
			return NULL;
		}
	} else if (!letter) {
		format_own(v, out);
	} else if (!format_int(v->i, v->size ? v->size : 8, letter, out)) {
		return err_cure(err_new(ERR_USAGE, "there is no format letter \"%c\"", letter),
			"It is one of x d u o t c f a z");
	}
	return NULL;
}

/* --- x/FMT --- */

unsigned x_unit_bytes(char unit)
{
	return unit == 'b' ? 1 : unit == 'h' ? 2 : unit == 'w' ? 4 : 8;
}

static struct err *x_refuse(const char *text)
{
	return err_cure(err_new(ERR_USAGE, "x/%s is no format", text),
		"It is a count, one of x d u o t c f a s, and one of b h w g (1, 2, 4, 8 bytes): x/8fw arg0");
}

struct err *x_format_parse(struct x_format *f, const char *text)
{
	const char *p = text;
	bool unit = false;
	char *end;

	f->count = 1;
	if (isdigit((unsigned char)*p)) {
		f->count = strtoull(p, &end, 10);
		p = end;
	}
	if (!f->count || f->count > X_COUNT_MAX)
		return err_new(ERR_LIMIT, "x shows from 1 to %u units", X_COUNT_MAX);
	for (; *p; p++) {
		if (strchr("bhwg", *p)) {
			f->unit = *p;
			unit = true;
		} else if (strchr("xduotcfasz", *p)) {
			f->letter = *p;
		} else if (*p == 'i') {
			return err_cure(
				err_new(ERR_UNSUPPORTED, "x/i (instructions) is not here yet"),
				"\"info modules\" says which code is loaded");
		} else {
			return x_refuse(text);
		}
	}
	if (!unit && (f->letter == 'c' || f->letter == 's'))
		f->unit = 'b';
	if (!unit && f->letter == 'a')
		f->unit = 'g';
	if (f->letter == 'f' && f->unit != 'w' && f->unit != 'g')
		f->unit = 'w';
	return NULL;
}

void x_format_one(struct buf *out, const struct x_format *f, const void *bytes)
{
	unsigned size = x_unit_bytes(f->unit);
	uint64_t v = 0;

	memcpy(&v, bytes, size);
	if (f->letter == 'x')
		buf_printf(out, "0x%0*" PRIx64, (int)size * 2, v);
	else
		format_int((int64_t)v, size, f->letter, out);
}

void x_format_print(struct buf *out, const struct x_format *f, uint64_t addr, const void *bytes)
{
	unsigned size = x_unit_bytes(f->unit);
	unsigned per_line = f->letter == 't' ? (size > 2 ? 1 : 4)
			    : size == 1	     ? 8
			    : size == 2	     ? 8
			    : size == 4	     ? 4
					     : 2;

	for (uint64_t i = 0; i < f->count; i++) {
		if (i % per_line == 0)
			buf_printf(out, "%s0x%" PRIx64 ":", i ? "\n" : "", addr + i * size);
		buf_byte(out, '\t');
		x_format_one(out, f, (const char *)bytes + i * size);
	}
	buf_byte(out, '\n');
}
