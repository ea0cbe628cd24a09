/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and memory: print, x, and what `set memory` and `set arg` change in a replay.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/replay.h"
#include "shell/print/kernel-text.h"
#include "shell/values/value-text.h"
#include "shell/values/memory-view.h"
#include "shell/values/program.h"
#include "engine/replay-device.h"
#include "shell/print/stack-view.h"
#include "shell/values/value.h"
#include "shell/values/x-format.h"
#include "shell/values/vars.h"
#include "base/words.h"
#include "shell/print/what-if.h"
#include "base/text.h"

enum {
	KEPT_MAX = 1 << 20
}; /* bytes of a value in memory that the history keeps; of larger ones, where */

const char cmd_print_help[] =
	"Shows the value of an expression at the current command and remembers it as $1, $2,\n"
	"...; $ is the newest, $$ the one before it, $$3 the one three before it. Variables of\n"
	"the live program: n, p->x, *arr@4, &global. Fields are $cmd.grid_x or grid_x; arguments arg0, arg2.f32 (at a\n"
	"fault: of the launch that faulted);\n"
	"variables $n (`set $n = 5`), $seq, $bpnum, $_exitcode. /x /d /u /o /t /c /f /a choose\n"
	"a format, also /z /s. See `help expressions`. Memory is {TYPE}ADDRESS, {TYPE[N]}ADDRESS,\n"
	"*(TYPE *)ADDRESS or *PTR@N with f16 bf16 f32 f64 s8 s16 s32 s64 u8 u16 u32 u64 x8 x16\n"
	"x32 x64, float, double, int, ...\n"
	"Inside a launch (`help replay enter`): registers of the focused thread, %r4, %f2, %tid.x,\n"
	"expressions over them, the addresses of variables; EXPR[all] for all lanes of its warp.\n"
	"Examples: print/x arg0 + 4 * 16\n"
	"          print {f32[8]}arg0\n";

/* "{TYPE[N]}ADDRESS". *ret_rest: ADDRESS. */
static struct err *parse_cast(const char *text, struct x_format *ret, const char **ret_rest)
{
	const char *end = strchr(text, '}');
	size_t n = strcspn(++text, "[}");
	char *after;

	while (n && strchr(" \t", text[n - 1]))
		n--;
	if (!end || !memory_type(text, n, ret))
		return err_cure(err_new(ERR_USAGE, "\"{%.*s\" is no type", (int)n, text),
			"For example: print {f32[8]}arg0; see \"help print\"");
	text += strcspn(text, "[}");
	if (*text == '[') {
		ret->count = strtoull(text + 1, &after, 0);
		if (*after != ']' || after[1] != '}' || !ret->count || ret->count > X_COUNT_MAX)
			return err_cure(
				err_new(ERR_USAGE, "the array's length is no number from 1 to %u",
					X_COUNT_MAX),
				"For example: {f32[8]}arg0");
	}
	*ret_rest = end + 1;
	return NULL;
}

/* Appends a Python value by its name in conditions: of the innermost Python function; for pystack
 * of all functions. */
static bool python_value(const struct stack *st, const char *name, struct buf *out)
{
	const struct symbol *in = st->n ? &st->frames[0].sym : NULL;

	if (!strcmp(name, "pyline")) {
		buf_printf(out, "%u", in ? in->line : 0);
	} else if (!strcmp(name, "pyfunc") || !strcmp(name, "pyfile")) {
		const char *text = !in				      ? NULL
				   : name[2] == 'f' && name[3] == 'u' ? in->function
								      : in->file;

		buf_printf(out, "\"%s\"", text ? text : "");
	} else if (!strcmp(name, "pystack")) {
		for (unsigned i = 0; i < st->n; i++)
			buf_printf(out, "%s\"%s\"", i ? " < " : "",
				st->frames[i].sym.function ? st->frames[i].sym.function : "");
		if (!st->n)
			buf_str(out, "\"\"");
	} else {
		return false;
	}
	return true;
}

static struct err *print_python(struct session *s, const char *name, bool json, bool *ret_done)
{
	static const struct stack none;
	struct buf b = BUF_INIT;
	struct stack st;
	struct err *e = NULL;

	*ret_done = python_value(&none, name, &b);
	if (*ret_done)
		e = stack_get(s, STACK_PYTHON, &st);
	if (*ret_done && !e) {
		buf_clear(&b);
		python_value(&st, name, &b);
		shown_value_tell(s, json, shown_value_of(name, NULL, buf_cstr(&b)));
		stack_free(&st);
	}
	buf_free(&b);
	return e;
}

/* Shows a value and remembers it. */
static struct err *print_value(struct session *s, const char *text, char letter, bool json)
{
	struct buf b = BUF_INIT;
	struct lang_value v;
	char name[16];
	struct err *e;

	TRY(value_eval(s, *text ? text : "$", &v));
	if (v.space && v.space < SOFT_SPACES &&
		v.place == LANG_COMPUTED) { /* the address of a variable */
		buf_printf(&b, "@%s ", kernel_spaces[v.space]);
		letter = letter ? letter : 'x';
	}
	e = value_show(s, &v, letter, &b);
	if (!e && v.type && v.type->size <= KEPT_MAX && v.place != LANG_GONE)
		e = value_fetch(s, &v);
	if (!e) {
		snprintf(name, sizeof name, "$%u", vars_remember(s->vars, &v));
		shown_value_tell(s, json, shown_value_of(name, &v, buf_cstr(&b)));
	}
	lang_value_free(&v);
	buf_free(&b);
	return e;
}

struct err *cmd_print(struct session *s, const struct cmd_args *a)
{
	char letter = a->fmt[0];
	bool done;

	if (letter && a->fmt[1])
		return err_cure(err_new(ERR_USAGE, "print/%s is no format", a->fmt),
			"It is one letter of x d u o t c f a z s; x/FMT shows memory");
	TRY(print_python(s, a->rest, a->json, &done));
	if (!done)
		TRY(kernel_print(s, a->rest, letter, a->json, &done));
	return done ? NULL : print_value(s, a->rest, letter, a->json);
}

const char cmd_output_help[] =
	"Shows a value as `print` does, and nothing else: no $1, no new line. For scripts, with\n"
	"`echo`.\n"
	"Example: output/x arg0\n";

struct err *cmd_output(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct lang_value v;
	struct err *e;

	if (a->fmt[0] && a->fmt[1])
		return err_cure(err_new(ERR_USAGE, "output/%s is no format", a->fmt),
			"It is one letter of x d u o t c f a z s");
	TRY(value_eval(s, a->rest, &v));
	e = value_show(s, &v, a->fmt[0], &b);
	if (!e)
		out_str(s->out, buf_cstr(&b));
	lang_value_free(&v);
	buf_free(&b);
	return e;
}

/* --- types --- */

struct type_answer {
	const char *type;
};
JS_DEFINE(type_object, "type", type_answer, JS(TEXT, type_answer, type));

static void type_text(struct buf *out, const void *answer)
{
	const struct type_answer *t = answer;

	buf_printf(out, "type = %s\n", t->type);
}

static struct err *show_type(struct session *s, const struct cmd_args *a,
	void (*name)(struct buf *out, const struct lang_type *t))
{
	const struct lang_type *t = NULL;
	struct buf b = BUF_INIT;

	if (!*a->rest)
		return err_cure(err_new(ERR_USAGE, "there is no expression"),
			"For example: whatis arg0.f32 * 2");
	TRY(value_type(s, a->rest, &t));
	name(&b, t);
	listing_one(s, a->json, &type_object, type_text, &(struct type_answer){buf_cstr(&b)});
	buf_free(&b);
	return NULL;
}

static void short_name(struct buf *out, const struct lang_type *t)
{
	lang_type_name(out, t, "");
}

const char cmd_whatis_help[] =
	"Shows the type of an expression, which is not evaluated, or of a type.\n"
	"Examples: whatis 1 + 1.5f\n"
	"          whatis grid_x\n";

struct err *cmd_whatis(struct session *s, const struct cmd_args *a)
{
	return show_type(s, a, short_name);
}

const char cmd_ptype_help[] =
	"The same with what the type stands for: the members of a struct, the names of an\n"
	"enumeration.\n"
	"Example: ptype $cmd\n";

struct err *cmd_ptype(struct session *s, const struct cmd_args *a)
{
	return show_type(s, a, lang_type_layout);
}

/* --- x --- */

const char cmd_x_help[] =
	"Shows memory at ADDRESS, an expression. FMT is a count, a letter (x d u o t c f a z s)\n"
	"and a size (b h w g: 1, 2, 4, 8 bytes). Device memory can be read while the program\n"
	"is stopped at a GPU command, host memory at any stop; in a replay on a device, all\n"
	"memory that it placed, as it is right after the command it is at; inside a launch\n"
	"(`help replay enter`) as it is there, and ADDRESS may hold registers, variables of the\n"
	"PTX, and a space: @shared, @local, @param (of the focused thread), @global. An empty\n"
	"line shows what follows.\n"
	"Examples: x/8fw arg2\n"
	"          x/4fw @shared 4 * %r3\n";

struct memory_shown {
	uint64_t addr;
	unsigned unit; /* bytes of a value */
	const struct x_format *f;
	const uint8_t *bytes;
	const char *string; /* of x/s; NULL: values */
	bool more;	    /* the string goes on */
	struct session *s;  /* whose symbols name addresses; NULL: nobody's */
};

static void memory_text(struct buf *out, const void *shown)
{
	const struct memory_shown *m = shown;

	if (m->string)
		buf_printf(out, "0x%" PRIx64 ":\t\"%s\"%s\n", m->addr, m->string,
			m->more ? "..." : "");
	else
		x_format_print(
			out, m->f, m->addr, m->bytes, m->s ? program_tell_symbol : NULL, m->s);
}

static void put_shown(struct buf *out, const void *addr)
{
	const struct memory_shown *m =
		(const void *)((const char *)addr - offsetof(struct memory_shown, addr));
	struct buf one = BUF_INIT;

	buf_byte(out, '[');
	for (uint64_t i = 0; !m->string && i < m->f->count; i++) {
		buf_clear(&one);
		x_format_one(&one, m->f, m->bytes + i * m->unit);
		buf_str(out, i ? "," : "");
		js_text(out, buf_cstr(&one));
	}
	if (m->string)
		js_text(out, m->string);
	buf_byte(out, ']');
	buf_free(&one);
}

JS_DEFINE(memory_object, "memory", memory_shown, JS(HEX, memory_shown, addr),
	JS(UINT, memory_shown, unit), JS(BOOL, memory_shown, more),
	JS_BY("values", memory_shown, addr, put_shown, "[text]"));

enum { STRING_MAX = 255 }; /* characters of one that x/s shows */

/* Up to a zero byte; *ret_next: behind it. */
static struct err *show_string(struct session *s, uint64_t addr, bool json, uint64_t *ret_next)
{
	struct buf shown = BUF_INIT, text = BUF_INIT;
	bool whole;
	struct err *e = memory_string(s, addr, STRING_MAX, &text, &whole);

	if (!e) {
		text_safe(&shown, buf_cstr(&text), text.len, TEXT_QUOTE);
		listing_one(s, json, &memory_object, memory_text,
			&(struct memory_shown){addr, 1,
				.string = json ? buf_cstr(&text) : buf_cstr(&shown),
				.more = !whole});
		*ret_next = addr + text.len + whole;
	}
	buf_free(&shown);
	buf_free(&text);
	return e;
}

static struct err *show_strings(
	struct session *s, uint64_t count, uint64_t addr, bool json, uint64_t *ret_next)
{
	*ret_next = addr;
	if (json && count > 1)
		return err_cure(err_new(ERR_UNSUPPORTED, "x/%" PRIu64 "s takes no --json", count),
			"Use \"x/s --json\" for each text");
	for (uint64_t i = 0; i < count && !out_closed(s->out); i++)
		TRY(show_string(s, *ret_next, json, ret_next));
	return NULL;
}

/* Remembers where x goes on at an empty line, which repeats it without an address. */
static void remember_next(struct session *s, const char *fmt)
{
	if (!s->last_line)
		return;
	free(s->last_line);
	s->last_line = xasprintf("x/%s", fmt);
}

static struct err *x_address(
	struct session *s, const char *text, uint64_t *ret, unsigned *ret_space)
{
	int64_t next, space;
	bool done;

	*ret_space = SOFT_GLOBAL;
	if (!*text && vars_get(s->vars, "_x_next", &next)) {
		*ret = (uint64_t)next;
		if (vars_get(s->vars, "_x_space", &space) && space > 0 && space < SOFT_SPACES)
			*ret_space = (unsigned)space;
		return NULL;
	}
	TRY(kernel_address(s, text, ret_space, ret, &done));
	if (done)
		return NULL;
	if (!*text)
		return err_cure(
			err_new(ERR_USAGE, "x needs an address"), "For example: x/8fw arg0");
	return value_address(s, text, ret, NULL);
}

static struct err *show_units(struct session *s, const struct x_format *f, uint64_t addr,
	unsigned space, bool json, uint64_t *ret_next)
{
	const size_t n = (size_t)f->count * x_unit_bytes(f->unit);
	struct buf b = BUF_INIT;
	struct err *e = space == SOFT_GLOBAL ? memory_read(s, addr, buf_room(&b, n), n)
					     : kernel_read(s, space, addr, -1, buf_room(&b, n), n);

	if (!e)
		listing_one(s, json, &memory_object, memory_text,
			&(struct memory_shown){addr, x_unit_bytes(f->unit), f, b.data,
				.s = space == SOFT_GLOBAL ? s : NULL});
	*ret_next = addr + n;
	buf_free(&b);
	return e;
}

struct err *memory_examine(struct session *s, const char *fmt, const char *text, bool json)
{
	struct x_format f = {.count = 1, .letter = 'x', .unit = 'w'};
	struct replay_device *rd;
	uint64_t addr = 0, next;
	unsigned space;

	TRY(x_format_parse(&f, fmt));
	if (s->focus == FOCUS_REPLAY)
		TRY(replay_device_need(&s->engine, "looking at memory", &rd));
	else if (!s->engine.live.inf)
		return err_cure(
			err_new(ERR_STATE,
				"there is no memory to look at: the program is not being run"),
			"Use \"run\"");
	TRY(x_address(s, text, &addr, &space));
	vars_set(s->vars, "_x_space", space);
	if (f.letter == 's' && space != SOFT_GLOBAL)
		return err_cure(err_new(ERR_UNSUPPORTED, "strings are shown of global memory only"),
			"Use x/16cb @%s", kernel_spaces[space]);
	if (f.letter == 's')
		TRY(show_strings(s, f.count, addr, json, &next));
	else
		TRY(show_units(s, &f, addr, space, json, &next));
	vars_set(s->vars, "_x_next", (int64_t)next);
	return NULL;
}

struct err *cmd_x(struct session *s, const struct cmd_args *a)
{
	TRY(memory_examine(s, a->fmt, a->rest, a->json));
	remember_next(s, a->fmt);
	return NULL;
}

/* --- what-ifs --- */

/* Values as words, separated by blanks or commas, as elements of type f at addr. */
static struct err *write_values(
	struct session *s, const struct x_format *f, uint64_t addr, char *const *words, unsigned n)
{
	unsigned size = x_unit_bytes(f->unit);
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	for (unsigned i = 0; !e && i < n; i++) {
		char *word = xstrdup(words[i]);
		size_t len = strlen(word);

		if (len && word[len - 1] == ',')
			word[len - 1] = 0;
		e = memory_encode(f, word, buf_room(&b, size));
		b.len += size;
		free(word);
	}
	if (!e)
		e = memory_write(s, addr, b.data, b.len);
	if (!e)
		out_printf(s->out, "%zu bytes at 0x%" PRIx64 " changed%s.\n", b.len, addr,
			s->focus == FOCUS_REPLAY ? " (what-if, until \"replay restart\")" : "");
	buf_free(&b);
	return e;
}

/* Where "{TYPE}ADDRESS" lies. As for `print`, an operator behind ADDRESS would be applied to the
 * value.
 */
static struct err *memory_of(struct session *s, const char *text, uint64_t *ret)
{
	struct lang_value v;
	bool there;

	TRY(value_eval(s, text, &v));
	there = v.place == LANG_MEMORY && !v.space;
	*ret = v.addr;
	lang_value_free(&v);
	return there ? NULL
		     : err_cure(err_new(ERR_USAGE, "\"%s\" is a value, no place in memory", text),
			       "Put brackets round the address: set {s32}(arg0 + 8) = 1");
}

struct err *what_if_cast(struct session *s, const char *text)
{
	struct x_format f;
	const char *rest = text, *eq;
	char *place, **words;
	uint64_t at;
	unsigned n;
	struct err *e;

	TRY(parse_cast(text, &f, &rest));
	eq = strchr(rest, '=');
	if (!eq)
		return err_cure(
			err_new(ERR_USAGE, "\"=\" is missing"), "For example: set {f32}arg0 = 1.5");
	place = strndup(text, (size_t)(eq - text));
	BUG_ON(!place);
	e = memory_of(s, place, &at);
	free(place);
	TRY(e);
	TRY(words_split(eq + 1, &words, &n));
	e = n ? write_values(s, &f, at, words, n)
	      : err_cure(err_new(ERR_USAGE, "a value is missing"),
			"For example: set {f32}arg0 = 1.5");
	words_free(words);
	return e;
}

struct err *what_if_memory(struct session *s, const char *text)
{
	struct x_format f = {0};
	unsigned n, type = 0;
	char **words, *addr;
	uint64_t at;
	struct err *e;

	TRY(words_split(text, &words, &n));
	for (unsigned i = 1; i < n && !type; i++)
		type = memory_type(words[i], strlen(words[i]), &f) ? i : 0;
	if (!type || type + 1 >= n) {
		words_free(words);
		return err_cure(
			err_new(ERR_USAGE, "set memory needs an address, a type and values"),
			"For example: set memory arg0 f32 1.5 2.5");
	}
	addr = words_join(words, type);
	e = value_address(s, addr, &at, NULL);
	if (!e)
		e = write_values(s, &f, at, words + type + 1, n - type - 1);
	free(addr);
	words_free(words);
	return e;
}

/* Converts text to the bytes of a parameter of n bytes. */
static struct err *arg_bytes(const char *text, size_t n, uint8_t *dst)
{
	struct x_format f = {.count = 1,
		.letter = 'd',
		.unit = n == 1	 ? 'b'
			: n == 2 ? 'h'
			: n == 4 ? 'w'
				 : 'g'};
	uint64_t whole;

	if (n != 1 && n != 2 && n != 4 && n != 8)
		return err_cure(
			err_new(ERR_UNSUPPORTED, "a parameter of %zu bytes cannot be set", n),
			"Parameters of 1, 2, 4 and 8 bytes can");
	if ((n == 4 || n == 8) && !word_u64(text + (*text == '-'), &whole))
		f.letter = 'f';
	return memory_encode(&f, text, dst);
}

static void remember_arg(struct replay_device *rd, const struct replay_arg *a)
{
	rd->args = xrealloc(rd->args, (rd->nargs + 1) * sizeof *rd->args);
	rd->args[rd->nargs++] = *a;
	rd->what_if = true;
}

struct err *what_if_arg(struct session *s, const char *text)
{
	const struct sbt_cmd *c;
	struct replay_device *rd;
	struct replay_arg a = {0};
	struct replay_stop stop;
	struct sbt_blob bytes;
	uint32_t offset;
	char *end;
	unsigned long i = strtoul(text, &end, 10);

	TRY(replay_device_need(&s->engine, "changing an argument", &rd));
	if (!session_cmd(s, &c) || c->kind != SBT_LAUNCH)
		return err_cure(err_new(ERR_STATE, "the replay is not at a kernel launch"),
			"Go to one with \"replay goto SEQ\"");
	end += strspn(end, " \t");
	end += *end == '=';
	end += strspn(end, " \t");
	if (i > 4095 || !value_arg(s, c, (unsigned)i, &offset, &bytes))
		return err_cure(err_new(ERR_NOT_FOUND, "the kernel has no arg%lu", i),
			"\"info args\" lists them");
	if (!*end)
		return err_cure(
			err_new(ERR_USAGE, "a value is missing"), "For example: set arg %lu 5", i);
	TRY(arg_bytes(end, bytes.len, a.bytes));
	a.seq = c->seq;
	a.param = (uint32_t)i;
	a.size = (uint32_t)bytes.len;
	TRY(device_set_arg(rd->d, a.seq, a.param, a.bytes, a.size));
	remember_arg(rd, &a);
	/* the change takes effect when execution passes the launch: goes back to before it, and
	 * over it again */
	TRY(replay_reverse_step(s->engine.trace.replay, 1, &stop));
	if (replay_seq(s->engine.trace.replay) == a.seq) /* that undid only a retirement */
		TRY(replay_goto(s->engine.trace.replay, a.seq - 1, &stop));
	TRY(replay_goto(s->engine.trace.replay, a.seq, &stop));
	out_printf(s->out,
		"#%" PRIu64
		" was executed again with another arg%lu (what-if, until \"replay restart\").\n",
		a.seq, i);
	return NULL;
}
