/* SPDX-License-Identifier: Apache-2.0
 *
 * printf's formats, see format-text.h. gdb's rules, but for two: an integer behind %f is converted,
 * not taken for a float's bits, and one of 8 bytes behind %d is shown whole.
 */
#include "shell/values/format-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "replayer/soft-probe.h"
#include "shell/print/kernel-text.h"
#include "shell/values/memory-view.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"

enum {
	SPEC_MAX = 32,	      /* characters of "%-08.3lld" */
	WIDTH_MAX = 4096,     /* of a field */
	TEXT_BYTES = 1 << 20, /* most of one %s */
	PIECES_MAX = 1000,    /* arguments */
};

/* --- the format and its arguments --- */

struct piece {
	char *literal;	     /* the text before the conversion, and behind the last */
	char spec[SPEC_MAX]; /* "%5.2" with flags; without length and conversion */
	char conversion;     /* d, f, s, ...; 0: none */
	bool wide;	     /* l, ll, z: an integer of 8 bytes */
	bool narrow;	     /* h: of 2 bytes */
};

struct format {
	struct piece *v;
	unsigned n, cap, conversions;
	char **args;
	unsigned nargs, args_cap;
};

static void format_free(struct format *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->v[i].literal);
	for (unsigned i = 0; i < f->nargs; i++)
		free(f->args[i]);
	free(f->v);
	free(f->args);
}

static const char escapes[] = "abefnrtv\\\"'", escaped[] = "\a\b\033\f\n\r\t\v\\\"'";

void format_escape(const char **p, struct buf *out)
{
	const char *at = **p ? strchr(escapes, **p) : NULL;
	unsigned octal = 0, n = 0;

	while (n < 3 && (*p)[n] >= '0' && (*p)[n] <= '7')
		octal = octal * 8 + (unsigned)((*p)[n++] - '0');
	if (n)
		buf_byte(out, (uint8_t)octal);
	else
		buf_byte(out, (uint8_t)(at ? escaped[at - escapes] : **p));
	*p += n ? n : 1;
}

/* Reads "..." at *p with its escapes. */
static struct err *take_quoted(const char **p, struct buf *out)
{
	const char *at = *p;

	if (*at != '"')
		return err_cure(err_new(ERR_USAGE, "the format does not begin with \""),
			"For example: printf \"%%d\\n\", $n");
	for (at++; *at && *at != '"'; at++) {
		if (*at != '\\') {
			buf_byte(out, (uint8_t)*at);
			continue;
		}
		at++;
		if (!*at || !strchr(escapes, *at))
			return err_new(ERR_USAGE, "\\%c is no escape in a format", *at);
		buf_byte(out, (uint8_t)escaped[strchr(escapes, *at) - escapes]);
	}
	if (*at != '"')
		return err_new(ERR_USAGE, "the format does not end with \"");
	*p = at + 1;
	return NULL;
}

static struct err *too_wide(void)
{
	return err_new(ERR_LIMIT, "a field of a format has at most %u characters", WIDTH_MAX);
}

/* Reads flags, width and precision behind '%'. */
static struct err *take_spec(const char **p, struct piece *ret)
{
	const char *begin = *p, *at = begin + strspn(begin, "-+ #0'");

	if (strtoul(at, NULL, 10) > WIDTH_MAX)
		return too_wide();
	at += strspn(at, "0123456789");
	if (*at == '.') {
		at++;
		if (strtoul(at, NULL, 10) > WIDTH_MAX)
			return too_wide();
		at += strspn(at, "0123456789");
	}
	if (*at == '*')
		return err_new(ERR_UNSUPPORTED, "* is no width or precision here");
	if ((size_t)(at - begin) + 6 > sizeof ret->spec)
		return too_wide();
	snprintf(ret->spec, sizeof ret->spec, "%%%.*s", (int)(at - begin), begin);
	*p = at;
	return NULL;
}

/* Reads one conversion behind '%'. */
static struct err *take_conversion(const char **p, struct piece *ret)
{
	const char *at, *length;

	TRY(take_spec(p, ret));
	length = at = *p;
	at += *at == 'h' ? 1 : (int)strspn(at, "lLz");
	ret->narrow = *length == 'h';
	ret->wide = *length == 'l' || *length == 'z';
	if (!*at || !strchr("diouxXcsfegEGp", *at) || (*length == 'L' && !strchr("fegEG", *at)) ||
		(ret->narrow && !strchr("diouxX", *at)))
		return err_cure(err_new(ERR_USAGE, "%%%.*s is no conversion",
					(int)(at - length) + (*at != 0), length),
			"There are %%d %%i %%u %%o %%x %%X %%c %%s %%f %%e %%g %%p and %%%%");
	ret->conversion = *at;
	*p = at + 1;
	return NULL;
}

static struct piece *add_piece(struct format *f)
{
	MAKE_ROOM(f->v, f->n, f->cap);
	f->v[f->n] = (struct piece){0};
	return &f->v[f->n++];
}

static struct err *take_pieces(struct format *f, const char *text)
{
	struct buf literal = BUF_INIT;
	struct err *e = NULL;

	while (*text && !e) {
		struct piece *piece;

		if (*text != '%' || text[1] == '%') {
			buf_byte(&literal, (uint8_t)*text);
			text += 1 + (*text == '%');
			continue;
		}
		text++;
		piece = add_piece(f);
		piece->literal = literal.len ? buf_steal(&literal) : xstrdup("");
		e = take_conversion(&text, piece);
		f->conversions++;
	}
	add_piece(f)->literal = literal.len ? buf_steal(&literal) : xstrdup("");
	buf_free(&literal);
	return e;
}

size_t format_expression_length(const char *p)
{
	unsigned depth = 0;
	char quote = 0;
	size_t n = 0;

	for (; p[n] && (quote || depth || p[n] != ','); n++) {
		if (p[n] == '\\' && quote && p[n + 1])
			n++;
		else if (quote)
			quote = p[n] == quote ? 0 : quote;
		else if (p[n] == '"' || p[n] == '\'')
			quote = p[n];
		else if (strchr("([{", p[n]))
			depth++;
		else if (strchr(")]}", p[n]) && depth)
			depth--;
	}
	return n;
}

static struct err *take_arguments(struct format *f, const char *p)
{
	while (*p) {
		size_t n;

		if (*p != ',')
			return err_cure(err_new(ERR_USAGE, "\"%s\" stands behind the format", p),
				"Put a comma before each expression");
		p++;
		p += strspn(p, " \t");
		n = format_expression_length(p);
		if (!p[strspn(p, " \t,")] && !n)
			break;
		if (!n || f->nargs >= PIECES_MAX)
			return err_new(ERR_USAGE,
				n ? "there are too many expressions" : "an expression is empty");
		MAKE_ROOM(f->args, f->nargs, f->args_cap);
		f->args[f->nargs++] = xasprintf("%.*s", (int)n, p);
		p += n;
	}
	return NULL;
}

static struct err *take_format(struct format *f, const char *text)
{
	struct buf b = BUF_INIT;
	struct err *e;

	if (!*text)
		return err_cure(err_new(ERR_USAGE, "there is no format"),
			"For example: printf \"%%d\\n\", $n");
	e = take_quoted(&text, &b);
	if (!e)
		e = take_pieces(f, buf_cstr(&b));
	buf_free(&b);
	if (!e)
		e = take_arguments(f, text + strspn(text, " \t"));
	if (!e && f->conversions != f->nargs)
		e = err_new(ERR_USAGE,
			"the format has %u conversion%s, but there %s %u expression%s",
			f->conversions, f->conversions == 1 ? "" : "s",
			f->nargs == 1 ? "is" : "are", f->nargs, f->nargs == 1 ? "" : "s");
	return e;
}

struct err *format_check(const char *text)
{
	struct format f = {0};
	struct err *e = take_format(&f, text);

	format_free(&f);
	return e;
}

/* --- values --- */

/* Appends by a printf format that take_spec() has checked. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_spec(struct buf *out, const struct piece *p, const char *conversion, ...)
{
	char spec[SPEC_MAX + 8];
	va_list ap;

	snprintf(spec, sizeof spec, "%s%s", p->spec, conversion);
	va_start(ap, conversion);
	buf_vprintf(out, spec, ap);
	va_end(ap);
}
#pragma GCC diagnostic pop

static struct err *put_integer(
	struct session *s, const struct piece *p, const struct lang_value *v, struct buf *out)
{
	const struct lang_type *t = lang_strip(v->type);
	char conversion[4] = {'j', p->conversion, 0, 0};
	int64_t i;

	TRY(value_int(s, v, &i));
	if (p->narrow)
		i = strchr("di", p->conversion) ? (int16_t)i : (int64_t)(uint16_t)i;
	else if (!p->wide && t && t->size <= 4 && strchr("di", p->conversion))
		i = (int32_t)i;
	else if (!p->wide && t && t->size <= 4)
		i = (int64_t)(uint32_t)i;
	put_spec(out, p, conversion, (intmax_t)i);
	return NULL;
}

static struct err *put_pointer(
	struct session *s, const struct piece *p, const struct lang_value *v, struct buf *out)
{
	struct piece plain = *p;
	char text[32];
	int64_t i;

	TRY(value_int(s, v, &i));
	snprintf(text, sizeof text, i ? "0x%" PRIx64 : "(nil)", (uint64_t)i);
	snprintf(plain.spec, sizeof plain.spec, "%%%s%lu", strchr(p->spec, '-') ? "-" : "",
		strtoul(p->spec + 1 + strspn(p->spec + 1, "-+ #0'"), NULL, 10));
	if (!strcmp(plain.spec + strlen(plain.spec) - 1, "0") &&
		strpbrk(plain.spec, "123456789") == NULL)
		strcpy(plain.spec, "%");
	put_spec(out, &plain, "s", text);
	return NULL;
}

/* The characters of a text: an array of them, or what a pointer points to. */
static struct err *text_of(struct session *s, const struct lang_value *v, struct buf *out)
{
	const struct lang_type *t = lang_strip(v->type);
	struct lang_value copy;
	int64_t addr;
	bool whole;
	struct err *e;

	if (t && t->kind == LANG_ARRAY && lang_strip(t->target)->size == 1) {
		copy = lang_value_copy(v);
		e = value_fetch(s, &copy);
		if (!e)
			buf_add(out, copy.bytes, strnlen((char *)copy.bytes, (size_t)t->size));
		lang_value_free(&copy);
		return e;
	}
	TRY(value_int(s, v, &addr));
	if (addr)
		return memory_string(s, (uint64_t)addr, TEXT_BYTES, out, &whole);
	buf_str(out, "(null)");
	return NULL;
}

static struct err *put_text(
	struct session *s, const struct piece *p, const struct lang_value *v, struct buf *out)
{
	struct buf b = BUF_INIT;
	struct err *e = text_of(s, v, &b);

	if (!e)
		put_spec(out, p, "s", buf_cstr(&b));
	buf_free(&b);
	return e;
}

static struct err *put_value(
	struct session *s, const struct piece *p, const struct lang_value *v, struct buf *out)
{
	double d;
	int64_t i;

	if (!v->type)
		return err_new(ERR_USAGE, "void is no value");
	switch (p->conversion) {
	case 's':
		return put_text(s, p, v, out);
	case 'p':
		return put_pointer(s, p, v, out);
	case 'c':
		TRY(value_int(s, v, &i));
		put_spec(out, p, "c", (int)i);
		return NULL;
	case 'f':
	case 'e':
	case 'g':
	case 'E':
	case 'G':
		TRY(value_double(s, v, &d));
		put_spec(out, p, (char[]){p->conversion, 0}, d);
		return NULL;
	default:
		return put_integer(s, p, v, out);
	}
}

/* Where the values of a format come from. */
struct values {
	int lane;		    /* negative: the session's own expressions */
	const struct lang_value *v; /* in place of expressions; NULL: they are evaluated */
	unsigned n;
};

/* *ret_none: there is no value, which is said in its place. */
static struct err *take_value(struct session *s, const struct values *from, const struct format *f,
	unsigned i, struct lang_value *ret, bool *ret_none)
{
	struct err *e;

	*ret_none = false;
	if (from->v) {
		*ret_none = i >= from->n || !from->v[i].type;
		*ret = *ret_none ? (struct lang_value){0} : lang_value_copy(&from->v[i]);
		return NULL;
	}
	if (from->lane < 0)
		return value_eval(s, f->args[i], ret);
	e = kernel_lane_value(s, f->args[i], from->lane, ret);
	if (!e || e->code == ERR_USAGE)
		return e;
	err_free(e);
	*ret_none = true;
	return NULL;
}

static struct err *put_text_of(
	struct session *s, const char *text, const struct values *from, struct buf *out)
{
	struct format f = {0};
	struct err *e = take_format(&f, text);

	for (unsigned i = 0; !e && i < f.n; i++) {
		struct lang_value v = {0};
		bool none;

		buf_str(out, f.v[i].literal);
		if (!f.v[i].conversion)
			continue;
		e = take_value(s, from, &f, i, &v, &none);
		if (e)
			break;
		if (none)
			buf_str(out, "<no value>");
		else
			e = put_value(s, &f.v[i], &v, out);
		if (e && !v.type)
			e = err_wrap(e, "%s", f.args[i]);
		lang_value_free(&v);
	}
	format_free(&f);
	return e;
}

struct err *format_text(struct session *s, const char *text, struct buf *out)
{
	return put_text_of(s, text, &(struct values){.lane = -1}, out);
}

struct err *format_text_lane(struct session *s, const char *text, unsigned lane, struct buf *out)
{
	return put_text_of(s, text, &(struct values){.lane = (int)lane}, out);
}

struct err *format_text_values(struct session *s, const char *text, const struct lang_value *v,
	unsigned n, struct buf *out)
{
	static const struct lang_value none;

	return put_text_of(s, text, &(struct values){.lane = -1, .v = v ? v : &none, .n = n}, out);
}

struct err *format_check_kernel(const char *text)
{
	struct format f = {0};
	struct err *e = take_format(&f, text);

	for (unsigned i = 0; !e && i < f.n; i++)
		if (f.v[i].conversion == 's')
			e = err_cure(err_new(ERR_UNSUPPORTED,
					     "a text (%%s) is not shown from inside a kernel"),
				"%%p shows where it is");
	if (!e && f.nargs > SOFT_PRINT_ARGS)
		e = err_new(ERR_LIMIT, "a dprintf inside a kernel has at most %d expressions",
			SOFT_PRINT_ARGS);
	format_free(&f);
	return e;
}
