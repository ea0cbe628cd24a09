/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of the program or the trace: view, info commands, info command, info args, info trace.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "shell/print/shown-names.h"
#include "shell/trace/ranks-view.h"
#include "engine/breakpoints.h"
#include "shell/values/memory-view.h"
#include "engine/recorder.h"
#include "engine/replay-device.h"
#include "shell/trace/trace.h"
#include "shell/values/kernel-args.h"
#include "shell/values/kernel-source.h"
#include "shell/values/value.h"
#include "base/words.h"
#include "replay/replay.h"
#include "state/state.h"
#include "sbt/fields.h"

/* --- view, info commands --- */

const char cmd_view_help[] =
	"Lists commands of the open trace. RANGE is 100-200, 100-, -50 or 143. Of the live\n"
	"program, `info commands` lists the latest.\n"
	"  --stream N     only those of a stream\n"
	"  --kernel GLOB  only launches of matching kernels\n"
	"  --kind KIND    only commands of a kind (`help kinds`)\n"
	"  --nvtx GLOB    only those within an NVTX range with a matching name\n"
	"  --last N       of those, only the last N\n"
	"  --count        only how many they are\n"
	"  if EXPR        only those for which EXPR holds, an expression over the command's fields\n"
	"                 (`help fields`), arguments arg0, arg1.f32, ... and names such as h2d or\n"
	"                 launch; a command that lacks one of the fields is left out\n"
	"  --stacks       with the recorded host call stack of each\n"
	"  --rank N|all   of a set of traces (`tsdb merge`): that rank, or all in one timeline\n"
	"  --json         one JSON object a line\n"
	"On a terminal what is longer than the screen goes through a pager: / searches there.\n"
	"Examples: view 100-200\n"
	"          view --last 20 if kind == launch && grid_x > 64\n"
	"          view --kind launch --stacks\n";

struct err *cmd_view(struct session *s, const struct cmd_args *a)
{
	struct view_filter f;

	TRY(view_options(&f, a->argc, a->argv, NULL));
	f.json = a->json;
	if (!s->engine.trace.reader)
		return err_cure(err_new(ERR_STATE, "no trace is open"),
			"Use \"replay start FILE\", or \"info commands\" for the live program");
	if (f.rank != VIEW_NO_RANK && !s->engine.ranks)
		return err_cure(
			err_new(ERR_STATE, "no set of traces is open: there is one rank only"),
			"\"tsdb merge\" makes a set");
	if (f.rank != VIEW_NO_RANK)
		return ranks_view(s, s->engine.ranks, &f);
	return view_commands(s, s->engine.trace.reader, &f);
}

const char cmd_info_commands_help[] =
	"Lists the latest GPU commands (`set listsize` says how many), those around the\n"
	"replay's position, or those of RANGE (100-200). Of a live program, the last few\n"
	"thousand are kept; for all of them, capture a trace.\n"
	"Examples: info commands\n"
	"          info commands 100-200\n";

/* Lists the latest commands of the live program within [first, last], oldest first. */
static struct err *list_live(
	struct session *s, uint64_t first, uint64_t last, unsigned most, bool json)
{
	const struct state *st = recorder_state(s->engine.live.recorder);
	const struct shown_names of = {s, st};
	struct sbt_names names = json ? state_names(st) : kernel_names(&of);
	struct buf b = BUF_INIT;
	unsigned n = 0, shown = 0;
	struct sbt_cmd c;

	while (n < most && recorder_recent(s->engine.live.recorder, n, &c) && c.seq >= first)
		n++;
	if (json)
		buf_byte(&b, '[');
	while (n--) {
		if (!recorder_recent(s->engine.live.recorder, n, &c) || c.seq > last)
			continue;
		if (json)
			buf_str(&b, shown ? ",\n" : "");
		if (json)
			sbt_json_cmd(&b, &c, &names);
		else
			sbt_print_cmd(&b, &c, &names);
		buf_str(&b, json ? "" : "\n");
		shown++;
	}
	if (json)
		buf_str(&b, "]\n");
	else if (!shown)
		buf_str(&b, "No GPU commands.\n");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

struct err *cmd_info_commands(struct session *s, const struct cmd_args *a)
{
	uint64_t first = 0, last = UINT64_MAX, size = s->set.number[SHELL_LIST_SIZE];
	struct view_filter f = {.last = UINT64_MAX, .json = a->json};

	if (a->argc > 1 || (a->argc && !word_range(a->argv[0], &first, &last)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no range of commands", a->rest),
			"Ranges are like 100-200, 100- or 143");
	if (!size)
		size = UINT32_MAX;
	if (s->focus != FOCUS_REPLAY) {
		if (!s->engine.live.recorder)
			return err_cure(
				err_new(ERR_STATE,
					"there are no GPU commands: no program has been run and no trace is open"),
				"Use \"run\", or \"replay start FILE\"");
		return list_live(s, first, last, a->argc ? UINT32_MAX : (unsigned)size, a->json);
	}
	if (!a->argc) {
		uint64_t at = s->engine.trace.replay ? replay_seq(s->engine.trace.replay)
						     : sbt_reader_last_seq(s->engine.trace.reader);

		first = at > size / 2 ? at - size / 2 : 0;
		last = first + size - 1;
	}
	f.first = first;
	f.last = last;
	return view_commands(s, s->engine.trace.reader, &f);
}

/* --- the current command --- */

static struct err *no_command(void)
{
	return err_cure(err_new(ERR_STATE, "there is no GPU command here"),
		"Stop at one with \"break\" and \"run\", or \"replay start\" and \"replay step\"");
}

static void print_field(
	struct session *s, const struct sbt_cmd *c, const struct sbt_field *f, struct buf *b)
{
	struct lang_value v = value_of_field(s, c, f);

	buf_printf(b, "%-14s ", f->name);
	err_free(value_show(s, &v, 0, b));
	lang_value_free(&v);
	if (f->help && *f->help)
		buf_printf(b, "   (%s)", f->help);
	buf_byte(b, '\n');
}

const char cmd_info_command_help[] =
	"Shows every field of the command that the program or the replay is at.\n"
	"Example: info command\n";

struct err *cmd_info_command(struct session *s, const struct cmd_args *a)
{
	const struct sbt_kind_desc *d;
	const struct sbt_cmd *c;
	const struct state *st;
	struct shown_names of;
	struct sbt_names names;
	struct buf b = BUF_INIT;

	if (!session_cmd(s, &c))
		return no_command();
	TRY(session_state(s, &st));
	of = (struct shown_names){s, st};
	names = a->json ? state_names(st) : kernel_names(&of);
	d = sbt_kind(c->kind);
	if (a->json)
		sbt_json_cmd(&b, c, &names);
	else
		sbt_print_cmd(&b, c, &names);
	buf_byte(&b, '\n');
	for (const struct sbt_field *f = d->fields; !a->json && f->name; f++)
		print_field(s, c, f, &b);
	for (const struct sbt_field *f = sbt_common_fields; !a->json && f->name; f++)
		print_field(s, c, f, &b);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

/* --- arguments --- */

const char cmd_info_args_help[] =
	"Shows the arguments of the kernel launch that the program or the replay is at, by\n"
	"name and type as far as the program's debug information, the kernel's mangled name or\n"
	"its source say them for certain; else the number, size, offset and value. For pointers\n"
	"into device memory it shows the allocation; in a replay on a device also the first\n"
	"values there, FMT (as in `x`) saying how many of what: info args/16fw. `print lr`,\n"
	"`print p.radius`, `print $args`, `print arg0`, `print arg2.f32` show one. Where a fault\n"
	"of the device is first seen: of the launch that faulted, which it then names, with the\n"
	"first values there from before the fault if a capture has kept them. Inside a launch, in a\n"
	"function that the kernel calls: that function's.\n"
	"Examples: info args\n"
	"          info args/x\n";

/* Appends "0x7f00 (allocation of 4096 bytes)" for an 8-byte value that is a device pointer. */
static void describe_pointer(const struct state *st, uint64_t v, struct buf *b)
{
	struct state_alloc al;

	if (!v || !state_alloc_at(st, v, &al))
		return;
	buf_str(b, "  -> ");
	if (v != al.addr)
		buf_printf(b, "+%" PRIu64 " in ", v - al.addr);
	buf_printf(b, "allocation of %" PRIu64 " bytes (#%" PRIu64 ")", al.size, al.alloc_seq);
}

enum { ARRAY_SHOWN = 8 };

/* Reads memory without asking the program: a replay's, or the copy from before a fault. */
static struct err *read_first(
	struct session *s, uint64_t addr, void *dst, size_t n, uint64_t *before)
{
	if (s->focus == FOCUS_REPLAY)
		return memory_read(s, addr, dst, n);
	return memory_kept(s, addr, dst, n, before)
		       ? NULL
		       : err_new(ERR_NOT_FOUND, "nothing is kept of this memory");
}

/* How values of a type are shown; false: as memory is when nothing is known of it. */
static bool format_of(const struct lang_type *t, struct x_format *ret)
{
	static const char units[] = {[1] = 'b', [2] = 'h', [4] = 'w', [8] = 'g'};

	t = lang_strip(t);
	if (!t || t->size > 8 || !t->size || !units[t->size])
		return false;
	ret->unit = units[t->size];
	if (t->kind == LANG_FLOAT && t->size >= 4)
		ret->letter = 'f';
	else if (t->kind == LANG_INT || t->kind == LANG_CHAR || t->kind == LANG_BOOL)
		ret->letter = t->is_signed ? 'd' : 'u';
	else
		return false;
	return true;
}

/* Prints the first values that a pointer argument points to; of: their type, NULL: not known. */
static void print_array(struct session *s, const struct state *st, uint64_t addr,
	const struct lang_type *of, const char *fmt, struct buf *b, uint64_t *before)
{
	struct x_format f = {.count = ARRAY_SHOWN, .unit = 'w'}, guess;
	struct buf bytes = BUF_INIT;
	struct state_alloc al;
	uint64_t room;
	unsigned size;
	struct err *e;

	if ((s->focus == FOCUS_REPLAY && !s->engine.trace.device) || !state_alloc_at(st, addr, &al))
		return;
	if (!format_of(of, &f))
		f = (struct x_format){.count = ARRAY_SHOWN, .unit = 'w'};
	e = x_format_parse(&f, fmt);
	if (!e && (!*fmt || !isdigit((unsigned char)*fmt)))
		f.count = ARRAY_SHOWN;
	size = x_unit_bytes(f.unit);
	room = (al.addr + al.size - addr) / size;
	if (f.count > room)
		f.count = room;
	if (!e && f.count)
		e = read_first(s, addr, buf_room(&bytes, (size_t)f.count * size),
			(size_t)f.count * size, before);
	if (!e && f.count) {
		guess = memory_guess(bytes.data, (size_t)f.count * size);
		if (!f.letter)
			f.letter = guess.letter;
		buf_str(b, "\n       ");
		memory_list(b, &f, bytes.data, f.count, f.count < room);
	}
	err_free(e);
	buf_free(&bytes);
}

static void print_arg(struct session *s, const struct state *st, const struct sbt_blob *bytes,
	const char *fmt, struct buf *b, uint64_t *before)
{
	uint64_t u = 0;
	float f;

	if (bytes->len != 1 && bytes->len != 2 && bytes->len != 4 && bytes->len != 8) {
		struct lang_value v = value_of_bytes(s, bytes);

		err_free(value_show(s, &v, 0, b));
		lang_value_free(&v);
		return;
	}
	memcpy(&u, bytes->p, bytes->len);
	if (bytes->len == 8) {
		buf_printf(b, "0x%" PRIx64, u);
		describe_pointer(st, u, b);
		print_array(s, st, u, NULL, fmt, b, before);
		return;
	}
	buf_printf(b, "%" PRIu64, u);
	memcpy(&f, &u, sizeof f);
	if (bytes->len == 4 && u > 0x00800000 && f > -1e9f && f < 1e9f && (f > 1e-6f || f < -1e-6f))
		buf_printf(b, "  (as a float %.9g)", (double)f);
}

/* An argument whose type is known: "lr = 0.25". */
static void print_typed(struct session *s, const struct state *st, const struct kernel_param *p,
	const struct sbt_blob *bytes, const char *fmt, struct buf *b, uint64_t *before)
{
	const struct lang_type *t = lang_strip(p->type);
	struct lang_value v = lang_from_bytes(p->type, bytes->p);
	uint64_t u = 0;

	err_free(value_show(s, &v, 0, b));
	lang_value_free(&v);
	if (t->kind != LANG_POINTER || bytes->len != sizeof u)
		return;
	memcpy(&u, bytes->p, sizeof u);
	print_array(s, st, u, t->target, fmt, b, before);
}

struct arg {
	unsigned arg;
	uint32_t offset;
	struct sbt_blob bytes;
	const char *name;
	char *type, *shown; /* heap; NULL: not known */
};

static void put_digits(struct buf *out, const void *blob)
{
	const struct sbt_blob *b = blob;
	const unsigned char *p = b->p;

	buf_byte(out, '"');
	for (uint64_t k = 0; k < b->len; k++)
		buf_printf(out, "%02x", p[k]);
	buf_byte(out, '"');
}

/* As one number, where it is not larger than that. */
static void put_word(struct buf *out, const void *blob)
{
	const struct sbt_blob *b = blob;
	uint64_t u = 0;

	if (b->len <= 8) {
		memcpy(&u, b->p, b->len);
		buf_printf(out, "\"0x%" PRIx64 "\"", u);
	} else {
		buf_str(out, "null");
	}
}

JS_DEFINE(arg_object, "arg", arg, JS(UINT, arg, arg, offset), JS_AS("size", UINT, arg, bytes.len),
	JS_BY("data", arg, bytes, put_digits, "text"),
	JS_BY("value", arg, bytes, put_word, "hex or null"), JS(TEXT, arg, name, type, shown));

static void json_arg(struct session *s, struct arg *a, const struct kernel_param *p, struct buf *b)
{
	struct buf type = BUF_INIT, shown = BUF_INIT;
	struct lang_value v;

	if (p && p->type) {
		lang_type_name(&type, p->type, "");
		v = lang_from_bytes(p->type, a->bytes.p);
		value_show_inside(s, &v, &shown);
		lang_value_free(&v);
		(void)buf_cstr(&type);
		(void)buf_cstr(&shown);
		a->type = buf_steal(&type);
		a->shown = buf_steal(&shown);
	}
	a->name = p ? p->name : NULL;
	js_add(b, &arg_object, a);
	free(a->type);
	free(a->shown);
}

/* What `info args` prints of a launch. */
struct args_view {
	const struct state *st;
	const struct sbt_cmd *c;
	struct kernel_params params;
	const char *fmt;
	uint64_t before;
};

static void print_row(struct session *s, struct args_view *v, unsigned i, uint32_t offset,
	const struct sbt_blob *bytes, struct buf *b)
{
	const struct kernel_param *p = i < v->params.n ? &v->params.v[i] : NULL;
	const bool what_if =
		s->focus == FOCUS_REPLAY && replay_device_arg(s->engine.trace.device, v->c->seq, i);
	char number[16];

	snprintf(number, sizeof number, "arg%u", i);
	if (p && p->type) {
		buf_printf(b, "%s = %s", p->name ? p->name : number, what_if ? "(what-if) " : "");
		print_typed(s, v->st, p, bytes, v->fmt, b, &v->before);
	} else {
		buf_printf(b, "%-6s %" PRIu64 " byte%s at %-4u %s", p && p->name ? p->name : number,
			bytes->len, bytes->len == 1 ? " " : "s", offset,
			what_if ? "(what-if) " : "");
		print_arg(s, v->st, bytes, v->fmt, b, &v->before);
	}
	buf_byte(b, '\n');
}

static unsigned show_args(struct session *s, struct args_view *v, bool json, struct buf *b)
{
	struct sbt_blob bytes;
	uint32_t offset;
	unsigned i;

	if (json)
		buf_byte(b, '[');
	for (i = 0; value_arg(s, v->c, i, &offset, &bytes); i++) {
		if (json)
			json_arg(s, &(struct arg){.arg = i, .offset = offset, .bytes = bytes},
				i < v->params.n ? &v->params.v[i] : NULL, b);
		else
			print_row(s, v, i, offset, &bytes, b);
	}
	if (json)
		buf_str(b, "]\n");
	return i;
}

struct err *cmd_info_args(struct session *s, const struct cmd_args *a)
{
	struct args_view v = {.fmt = a->fmt};
	struct sbt_cmd culprit;
	struct buf b = BUF_INIT;
	bool sure;
	unsigned n;

	if (kernel_in_function(s))
		return kernel_tell_variables(s, VARIABLES_ARGS, a->json);
	if (s->focus != FOCUS_REPLAY && live_fault_launch(&s->engine, &culprit, &sure))
		v.c = &culprit;
	else if (!session_cmd(s, &v.c))
		return no_command();
	if (v.c->kind != SBT_LAUNCH)
		return err_cure(
			err_new(ERR_STATE, "#%" PRIu64 " is no kernel launch: it has no arguments",
				v.c->seq),
			"\"info command\" shows its fields");
	TRY(x_format_parse(&(struct x_format){.unit = 'w'}, a->fmt));
	TRY(session_state(s, &v.st));
	if (v.c == &culprit && !a->json)
		buf_printf(&b, "Of #%" PRIu64 ", %s:\n", v.c->seq,
			sure ? "which faulted"
			     : "the only launch that was not known to have finished");
	kernel_args_of_launch(s, v.c, &v.params);
	n = show_args(s, &v, a->json, &b);
	if (!n && !a->json)
		buf_str(&b, v.c->u.launch.args.len
				    ? "The layout of the kernel's parameters is not known.\n"
				    : "No arguments.\n");
	if (v.params.newer && !a->json)
		buf_printf(&b, "%s is newer than the program: it may not say the names any more.\n",
			v.params.file);
	if (v.before && !a->json)
		buf_printf(&b, "Values are as before #%" PRIu64 ", where the capture began.\n",
			v.before);
	out_str(s->out, buf_cstr(&b));
	kernel_params_free(&v.params);
	buf_free(&b);
	return NULL;
}

/* --- the trace --- */

const char cmd_info_trace_help[] =
	"Shows what the open trace holds and where it comes from, as `tsdb info FILE` does.\n"
	"Examples: info trace\n"
	"          info trace --json\n";

struct err *cmd_info_trace(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;

	if (a->json)
		trace_summary_json(&b, s->engine.trace.path, s->engine.trace.reader, NULL);
	else
		trace_summary(&b, s->engine.trace.path, s->engine.trace.reader);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}
