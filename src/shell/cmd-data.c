/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and memory: print, x. Device memory is read by the agent of the stopped thread, host memory through /proc.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "shell/recorder.h"
#include "shell/value.h"
#include "shell/vars.h"
#include "state/state.h"

const char cmd_print_help[] =
	"Shows the value of an expression at the current command and remembers it as $1, $2,\n"
	"...; $ is the newest. Fields are $cmd.grid_x or grid_x; arguments arg0, arg2.f32;\n"
	"variables $n (`set $n = 5`), $seq, $bpnum, $_exitcode. /x /d /u /o /t /c /f /a choose\n"
	"a format. See `help expressions`. Example: print/x arg0 + 4 * 16\n";

struct err *cmd_print(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct value v;
	struct err *e;
	char letter = a->fmt[0];

	if (letter && a->fmt[1])
		return err_cure(err_new(ERR_USAGE, "print/%s is no format", a->fmt), "It is one letter of x d u o t c f a z; x/FMT shows memory");
	TRY(value_eval(s, a->rest, &v));
	e = value_format(&v, letter, s->set.number[SET_ELEMENTS], &b);
	if (!e)
		out_printf(s->out, "$%u = %s\n", vars_remember(s->vars, v.kind == VALUE_FLOAT ? (int64_t)v.f : v.i), buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* ---- x ------------------------------------------------------------------------------------------------------------ */

const char cmd_x_help[] =
	"Shows memory at ADDRESS, an expression. FMT is a count, a letter (x d u o t c f a z s)\n"
	"and a size (b h w g: 1, 2, 4, 8 bytes). Device memory can be read while the program\n"
	"is stopped at a GPU command, host memory at any stop. An empty line shows what\n"
	"follows. Example: x/8fw arg2\n";

/* Host strings: until a zero byte. */
static struct err *show_string(struct session *s, uint64_t addr, bool device)
{
	char text[256];
	size_t n = 0;

	for (; n + 1 < sizeof text; n++) {
		if (device)
			TRY(inferior_gpu_read(s->target.inf, addr + n, text + n, 1, (int)s->set.number[SET_GPU_TIMEOUT]));
		else
			TRY(inferior_read(s->target.inf, addr + n, text + n, 1));
		if (!text[n])
			break;
	}
	text[n] = 0;
	out_printf(s->out, "0x%" PRIx64 ":\t\"%s\"%s\n", addr, text, n + 1 == sizeof text ? "..." : "");
	return NULL;
}

/* Whether addr is device memory for the driver to read: in an allocation that is not plain host memory. */
static bool is_device(struct session *s, uint64_t addr, struct state_alloc *ret)
{
	if (!state_alloc_at(recorder_state(s->recorder), addr, ret))
		return false;
	return ret->mem != SBT_MEM_PINNED && ret->mem != SBT_MEM_REGISTERED;
}

static struct err *read_memory(struct session *s, uint64_t addr, void *dst, size_t n)
{
	struct state_alloc al;
	struct err *e;

	if (is_device(s, addr, &al)) {
		if (!s->target.at_cmd)
			return err_cure(err_new(ERR_STATE, "device memory can be read only while the program is stopped at a GPU command"),
				"Use \"next\"");
		if (n > al.addr + al.size - addr)
			return err_cure(err_new(ERR_USAGE, "0x%" PRIx64 " + %zu bytes goes beyond its allocation", addr, n),
				"The allocation at 0x%" PRIx64 " has %" PRIu64 " bytes", al.addr, al.size);
		return inferior_gpu_read(s->target.inf, addr, dst, n, (int)s->set.number[SET_GPU_TIMEOUT]);
	}
	e = inferior_read(s->target.inf, addr, dst, n);
	return e ? err_cure(err_wrap(e, "0x%" PRIx64 " is in no device allocation", addr), "\"info allocations\" lists them") : NULL;
}

/* Where x goes on at an empty line, which repeats it without an address. */
static void remember_next(struct session *s, uint64_t addr, const char *fmt)
{
	vars_set(s->vars, "_x_next", (int64_t)addr);
	if (!s->last_line)
		return;
	free(s->last_line);
	s->last_line = xasprintf("x/%s", fmt);
}

static struct err *x_address(struct session *s, const char *text, uint64_t *ret)
{
	struct value v;
	int64_t next;

	if (!*text && vars_get(s->vars, "_x_next", &next)) {
		*ret = (uint64_t)next;
		return NULL;
	}
	if (!*text)
		return err_cure(err_new(ERR_USAGE, "x needs an address"), "For example: x/8fw arg0");
	TRY(value_eval(s, text, &v));
	if (v.kind != VALUE_INT)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no address", text), "\"info allocations\" lists addresses");
	*ret = (uint64_t)v.i;
	return NULL;
}

struct err *cmd_x(struct session *s, const struct cmd_args *a)
{
	struct x_format f = {.count = 1, .letter = 'x', .unit = 'w'};
	struct buf b = BUF_INIT;
	struct state_alloc al;
	uint64_t addr = 0;
	size_t n;
	struct err *e;

	TRY(x_format_parse(&f, a->fmt));
	if (s->focus == FOCUS_REPLAY)
		return err_cure(err_new(ERR_UNSUPPORTED, "memory in a replay is not in this version"),
			"x works at a stop of the live program; \"info allocations\" says what there is");
	if (!s->target.inf)
		return err_cure(err_new(ERR_STATE, "there is no memory to look at: the program is not being run"), "Use \"run\"");
	TRY(x_address(s, a->rest, &addr));
	if (f.letter == 's')
		return show_string(s, addr, is_device(s, addr, &al));
	n = (size_t)f.count * x_unit_bytes(f.unit);
	e = read_memory(s, addr, buf_room(&b, n), n);
	if (!e) {
		struct buf text = BUF_INIT;

		b.len = n;
		x_format_print(&text, &f, addr, b.data);
		out_str(s->out, buf_cstr(&text));
		buf_free(&text);
		remember_next(s, addr + n, a->fmt);
	}
	buf_free(&b);
	return e;
}
