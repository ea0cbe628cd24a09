/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launch under the microscope consists of: info blocks, info warps, info lanes, info
 * registers.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "engine/breakpoints.h"
#include "shell/print/kernel-text.h"

struct rows {
	void *v;
	size_t n;
};

static struct err *ask(struct session *s, const char *what, const struct soft_ask *q, size_t size,
	struct rows *ret)
{
	struct device *d;

	TRY(microscope_need(&s->engine, what, &d));
	return device_kernel_ask(d, q, size, &ret->v, &ret->n);
}

static void done(struct session *s, struct rows *r, struct buf *b, bool json)
{
	if (json)
		out_str(s->out, buf_cstr(b));
	else
		out_table(s->out, b);
	free(r->v);
	buf_free(b);
}

static const char *name_of(const char *const *names, unsigned n, uint32_t i)
{
	return i < n ? names[i] : "?";
}
#define NAME(names, i) name_of(names, sizeof(names) / sizeof *(names), i)

/* --- blocks --- */

const char cmd_info_blocks_help[] =
	"Shows the launch's blocks: the one that runs, with its warps, and which have ended or\n"
	"not begun. Blocks run one after the other here, those of a cooperative launch in turns.\n"
	"Example: info blocks\n";

static const char *block_state(uint64_t v)
{
	static const char *const states[] = {"running", "ended", "not begun"};

	return NAME(states, v);
}

JS_DEFINE(blocks_object, "blocks", soft_block, JS_AS("first_block", U32S, soft_block, first),
	JS_AS("last_block", U32S, soft_block, last), JS(UINT, soft_block, count),
	{"state", JS_NAMED, JS_MEMBER(soft_block, state), .named = block_state},
	JS(UINT, soft_block, warps), JS_AS("warps_waiting", UINT, soft_block, waiting),
	JS_AS("warps_ended", UINT, soft_block, ended));

struct err *cmd_info_blocks(struct session *s, const struct cmd_args *a)
{
	const struct soft_ask q = {.what = SOFT_ASK_BLOCKS};
	const struct soft_stop *t = kernel_stop(s);
	const struct soft_block *r;
	struct buf b = BUF_INIT;
	struct rows rows;

	TRY(ask(s, "info blocks", &q, sizeof *r, &rows));
	buf_str(&b, a->json ? "[" : "  From             To               Blocks  State\n");
	r = rows.v;
	for (size_t i = 0; i < rows.n; i++, r++) {
		char from[48], to[48];

		snprintf(from, sizeof from, "(%u,%u,%u)", r->first[0], r->first[1], r->first[2]);
		snprintf(to, sizeof to, "(%u,%u,%u)", r->last[0], r->last[1], r->last[2]);
		if (a->json) {
			js_add(&b, &blocks_object, r);
			continue;
		}
		buf_printf(&b, "%s %-16s %-16s %-7" PRIu64 " %s",
			r->state == SOFT_BLOCK_RUNS && t &&
					!memcmp(t->block, r->first, sizeof r->first)
				? "*"
				: " ",
			from, to, r->count, block_state(r->state));
		if (r->warps)
			buf_printf(&b, ": %u warp%s, %u at barriers, %u ended", r->warps,
				r->warps == 1 ? "" : "s", r->waiting, r->ended);
		buf_byte(&b, '\n');
	}
	if (a->json)
		buf_str(&b, "]\n");
	done(s, &rows, &b, a->json);
	return NULL;
}

/* --- warps --- */

const char cmd_info_warps_help[] =
	"Shows the warps of the focused block: whether they run or wait at a barrier, which\n"
	"lanes are at their next instruction and which live, how many instructions they have\n"
	"executed, and the instruction with its lines in PTX and source; of a HIP kernel, whose\n"
	"warps are waves of 64 lanes, its address in the code object. * is the focused one.\n"
	"Example: info warps\n";

static const char *warp_state(uint64_t v)
{
	static const char *const states[] = {"runs", "waits", "ended"};

	return NAME(states, v);
}

struct warp {
	bool focus;
	struct soft_warp w;
};
JS_DEFINE(warp_object, "warp", warp, JS_IN(UINT, warp, w, warp), JS(BOOL, warp, focus),
	{"state", JS_NAMED, JS_MEMBER(warp, w.state), .named = warp_state},
	JS_IN(ID, warp, w, barrier), JS_IN(HEX, warp, w, active, live),
	JS_AS("first_thread", U32S, warp, w.first), JS_AS("instructions", UINT, warp, w.step),
	JS_AS("code_line", UINT, warp, w.line), JS_AS("line", UINT, warp, w.source_line),
	JS_AS("instruction", CHARS, warp, w.text));

struct err *cmd_info_warps(struct session *s, const struct cmd_args *a)
{
	const struct soft_ask q = {.what = SOFT_ASK_WARPS};
	const struct soft_stop *t = kernel_stop(s);
	const struct soft_warp *r;
	const int digits = t && t->width > 32 ? 16 : 8; /* of a mask of lanes */
	struct buf b = BUF_INIT;
	struct rows rows;

	TRY(ask(s, "info warps", &q, sizeof *r, &rows));
	buf_str(&b, a->json ? "[" : "");
	if (!a->json)
		buf_printf(&b,
			"  Warp  From thread   State      %-*s  %-*s  Steps   Line   Source  Instruction\n",
			digits + 2, "Active", digits + 2, "Live");
	r = rows.v;
	for (size_t i = 0; i < rows.n; i++, r++) {
		const bool focus = t && t->warp == r->warp;
		char thread[48], state[32], line[KERNEL_LINE_ROOM] = "-", source[16] = "-";

		if (a->json) {
			js_add(&b, &warp_object, &(struct warp){focus, *r});
			continue;
		}
		snprintf(
			thread, sizeof thread, "(%u,%u,%u)", r->first[0], r->first[1], r->first[2]);
		snprintf(state, sizeof state, "%s", warp_state(r->state));
		if (r->barrier != UINT32_MAX)
			snprintf(state, sizeof state, "barrier %u", r->barrier);
		if (r->line)
			kernel_line(line, t ? t->unit : SOFT_PTX, r->line);
		if (r->source_line)
			snprintf(source, sizeof source, "%u", r->source_line);
		buf_printf(&b,
			"%s %-5u %-13s %-10s 0x%0*" PRIx64 "  0x%0*" PRIx64 "  %-7" PRIu64
			" %-6s %-7s %s\n",
			focus ? "*" : " ", r->warp, thread, state, digits, r->active, digits,
			r->live, r->step, line, source, r->text);
	}
	if (a->json)
		buf_str(&b, "]\n");
	done(s, &rows, &b, a->json);
	return NULL;
}

/* --- lanes --- */

const char cmd_info_lanes_help[] =
	"Shows the lanes of the focused warp: their threads, whether they are at the warp's\n"
	"next instruction (active), are on another path (diverged, with the line where they go\n"
	"on), wait at a barrier or have ended. * is the focused thread.\n"
	"Example: info lanes\n";

struct lane {
	bool focus;
	const char *state;
	struct soft_lane l;
};
JS_DEFINE(lane_object, "lane", lane, JS_IN(UINT, lane, l, lane), JS(BOOL, lane, focus),
	JS_AS("kernel_thread", U32S, lane, l.thread), JS(TEXT, lane, state),
	JS_AS("code_line", UINT, lane, l.line), JS_AS("line", UINT, lane, l.source_line));

struct err *cmd_info_lanes(struct session *s, const struct cmd_args *a)
{
	static const char *const states[] = {"active", "diverged", "ended", "none", "barrier"};
	const struct soft_ask q = {.what = SOFT_ASK_LANES};
	const struct soft_stop *t = kernel_stop(s);
	const struct soft_lane *r;
	struct buf b = BUF_INIT;
	struct rows rows;

	TRY(ask(s, "info lanes", &q, sizeof *r, &rows));
	buf_str(&b, a->json ? "[" : "  Lane  Thread        State      Line   Source\n");
	r = rows.v;
	for (size_t i = 0; i < rows.n; i++, r++) {
		const char *state = r->state == SOFT_LANE_ACTIVE && !r->executing
					    ? "guarded"
					    : NAME(states, r->state);
		const bool focus = t && t->lane == r->lane;
		char thread[48], line[KERNEL_LINE_ROOM] = "-", source[16] = "-";

		if (r->state == SOFT_LANE_NONE)
			continue;
		if (a->json) {
			js_add(&b, &lane_object, &(struct lane){focus, state, *r});
			continue;
		}
		snprintf(thread, sizeof thread, "(%u,%u,%u)", r->thread[0], r->thread[1],
			r->thread[2]);
		if (r->line)
			kernel_line(line, t ? t->unit : SOFT_PTX, r->line);
		if (r->source_line)
			snprintf(source, sizeof source, "%u", r->source_line);
		buf_printf(&b, "%s %-5u %-13s %-10s %-6s %s\n", focus ? "*" : " ", r->lane, thread,
			state, line, source);
	}
	if (a->json)
		buf_str(&b, "]\n");
	done(s, &rows, &b, a->json);
	return NULL;
}

/* --- registers --- */

const char cmd_info_registers_help[] =
	"Shows the registers of the focused thread that its function uses: as hexadecimal\n"
	"and as the type that the PTX declares says (.b32 and the like as signed integers).\n"
	"GLOB chooses some: info registers %r*. --json gives the values of all lanes.\n"
	"`print %r4` shows one, `print %r4[all]` that of every lane. A HIP kernel has %v3, %a3\n"
	"of each lane and %s4, %exec, %vcc, %scc, %m0, %mode, %pc of the wave; %s4_5 and %v2_3\n"
	"are the 64 bits of two registers.\n"
	"Example: info registers %r*\n";

/* Texts: 64 bits and NaN are no JSON numbers. */
static void put_values(struct buf *out, const void *value)
{
	const struct soft_value *v = value;

	buf_byte(out, '[');
	for (unsigned l = 0; l < SOFT_LANES; l++) {
		struct buf text = BUF_INIT;

		if (!(v->lanes >> l & 1))
			continue;
		kernel_format(v, l, 0, &text);
		buf_str(out, out->data[out->len - 1] == '[' ? "" : ",");
		js_text(out, buf_cstr(&text));
		buf_free(&text);
	}
	buf_byte(out, ']');
}

/* The name is a value's first member. */
JS_DEFINE(register_object, "register", soft_value, JS(CHARS, soft_value, name),
	JS_AS("type", CHARS, soft_value, declared), JS(HEX, soft_value, lanes),
	JS_BY("values", soft_value, name, put_values, "[text]"));

static void print_register(struct buf *b, const struct soft_value *v, unsigned lane)
{
	struct buf hex = BUF_INIT;

	buf_printf(b, "%-10s .%-5s ", v->name, v->declared);
	if (v->type != SOFT_BOOL)
		kernel_format(v, lane, 'x', &hex);
	buf_printf(b, "%-20s ", buf_cstr(&hex));
	kernel_format(v, lane, 0, b);
	buf_byte(b, '\n');
	buf_free(&hex);
}

static struct err *registers(
	struct session *s, const char *glob, bool json, struct buf *b, size_t *n)
{
	struct soft_ask q = {.what = SOFT_ASK_REGISTERS};
	const struct soft_stop *t = kernel_stop(s);
	const struct soft_value *v;
	struct rows rows;

	if (strlen(glob) + 1 >= sizeof q.text)
		return err_new(ERR_LIMIT, "\"%s\" is too long", glob);
	strcpy(q.text, isalpha((unsigned char)*glob) ? "%" : "");
	strcat(q.text, glob);
	TRY(ask(s, "info registers", &q, sizeof *v, &rows));
	v = rows.v;
	for (size_t i = 0; i < rows.n; i++, ++*n) {
		if (json)
			js_add(b, &register_object, &v[i]);
		else
			print_register(b, &v[i], t ? t->lane : 0);
	}
	free(rows.v);
	if (*glob && !rows.n)
		return err_cure(err_new(ERR_NOT_FOUND, "no register that is used here is %s", glob),
			"\"info registers\" lists them all");
	return NULL;
}

struct err *cmd_info_registers(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;
	size_t n = 0;

	if (a->json)
		buf_byte(&b, '[');
	for (unsigned i = 0; !e && (i < a->argc || !i); i++)
		e = registers(s, i < a->argc ? a->argv[i] : "", a->json, &b, &n);
	if (!e) {
		if (a->json)
			buf_str(&b, "]\n");
		out_str(s->out, buf_cstr(&b));
	}
	buf_free(&b);
	return e;
}
