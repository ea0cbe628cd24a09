/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that watch and compare memory of a replay: watch, rwatch, awatch, who-wrote, diff.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "replay/replay.h"
#include "replay/device-node.h"
#include "engine/breakpoints.h"
#include "shell/print/shown-names.h"
#include "shell/print/graph.h"
#include "shell/line/interrupt.h"
#include "shell/nan/nan-text.h"
#include "shell/print/kernel-text.h"
#include "shell/values/memory-view.h"
#include "engine/replay-device.h"
#include "engine/replay-moves.h"
#include "engine/who-wrote.h"
#include "shell/trace/replay-run.h"
#include "shell/print/stack-view.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"
#include "base/words.h"
#include "state/state.h"

enum {
	SHOWN_MAX = 8,		     /* differences shown of one piece of memory */
	WATCH_SHOWN_BYTES = 1 << 20, /* of a watched range that are compared for showing */
	DIFF_PIECE = 64 << 20,	     /* bytes compared at a time */
	BYTES_MAX = 64 << 10,	     /* of a named place whose bytes are in JSON */
};

/* --- watch --- */

const char cmd_watch_help[] =
	"Stops `continue` and `reverse-continue` of a replay on a device right after a command\n"
	"that changed memory, and shows it before and after. ADDRESS is an expression; without\n"
	"`len N`, 4 bytes are watched, of a kernel's argument all from there to the end of its\n"
	"allocation. FMT (x d u f and b h w g) says how to show the values. Watchpoints have\n"
	"numbers as breakpoints do, for `delete`, `disable`, `ignore` and `commands`.\n"
	"Inside a launch (`help replay enter`) a stop is right after the instruction that changed\n"
	"the bytes, and names it with its thread; @shared ADDRESS watches shared memory there.\n"
	"--nan stops behind commands that write a NaN to ADDRESS, or anywhere: the window is\n"
	"executed once and looked at as `nan` does it, which knows what is a float. A NaN that a\n"
	"launch makes and overwrites itself is not seen, and a graph launch is one command.\n"
	"Examples: watch arg0\n"
	"          watch/f 0x302000000 len 64\n"
	"          watch --nan\n";

const char cmd_rwatch_help[] =
	"Stops `continue` and `reverse-continue` of a replay right after a command that reads memory;\n"
	"ADDRESS [len N] as in `watch`. On the software GPU it is exact to the byte, for kernels, too,\n"
	"and inside a launch the stop is right after the instruction. Elsewhere copies and the like are\n"
	"exact by their records; a launch that was given a pointer into the allocation \"may read\"; and\n"
	"what may have read it through pointers in memory is counted and said. What the program's own\n"
	"code reads is not seen.\n"
	"Examples: rwatch arg0\n"
	"          rwatch 0x302000000 len 64\n";

const char cmd_awatch_help[] =
	"The same as `rwatch`, for reads and writes: also for writes of the bytes that were there.\n"
	"`watch` stops where bytes become others.\n"
	"Example: awatch arg0 len 4\n";

static const char *const watch_titles[] = {"Watchpoint", "Read watchpoint", "Access watchpoint"};

/* Inside a launch: "@shared 0x10 len 8", "%rd4", "tile". *ret_done false: it is an ordinary
 * address. */
static struct err *watch_inside(
	struct session *s, enum watch_on on, const char *text, bool *ret_done)
{
	const char *len = strstr(text, " len ");
	char *where = strndup(text, len ? (size_t)(len - text) : strlen(text));
	uint64_t addr, size = 4;
	struct breakpoint *bp;
	unsigned space;
	struct err *e;

	BUG_ON(!where);
	e = kernel_address(s, where, &space, &addr, ret_done);
	free(where);
	TRY(e);
	if (!*ret_done)
		return NULL;
	if (len && (!word_size(len + 5, &size) || !size))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no length", len + 5),
			"It is a number of bytes; K, M and G may follow");
	if (space != SOFT_GLOBAL && space != SOFT_SHARED)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"%s memory is a thread's own and cannot be watched",
					kernel_spaces[space]),
			"Global and shared memory can; \"stepi\" and \"x @%s\" show what a thread does",
			kernel_spaces[space]);
	bp = space == SOFT_GLOBAL ? breakpoints_add_watch(s->engine.breaks, on, addr, size)
				  : breakpoints_add_watch_in(s->engine.breaks, on, space,
					    kernel_spaces[space], addr, size);
	vars_set(s->vars, "bpnum", bp->id);
	out_printf(s->out, "%s %d: %" PRIu64 " bytes at %s 0x%" PRIx64 "%s\n", watch_titles[on],
		bp->id, size, kernel_spaces[space], addr,
		space ? ", of every block of a launch under the microscope" : "");
	return NULL;
}

/* Where the watchpoint stops, if that is not now. */
static const char *watch_where(const struct session *s, enum watch_on on)
{
	if (s->focus != FOCUS_REPLAY || !s->engine.trace.reader)
		return on ? " (only a replay stops at it)"
			  : " (only a replay on a device stops at it)";
	return on || s->engine.trace.device ? "" : " (only a replay on a device stops at it)";
}

static struct err *add_watch(struct session *s, const struct cmd_args *a, enum watch_on on)
{
	struct x_format f = {.count = 1, .unit = 'w'};
	struct breakpoint *bp;
	uint64_t addr, size;
	bool done;

	TRY(x_format_parse(&f, a->fmt));
	TRY(watch_inside(s, on, a->rest, &done));
	if (done)
		return NULL;
	TRY(memory_range(s, a->rest, &addr, &size));
	bp = breakpoints_add_watch(s->engine.breaks, on, addr, size);
	bp->letter = f.letter;
	bp->unit = f.unit;
	vars_set(s->vars, "bpnum", bp->id);
	out_printf(s->out, "%s %d: %" PRIu64 " bytes at 0x%" PRIx64 "%s\n", watch_titles[on],
		bp->id, size, addr, watch_where(s, on));
	return NULL;
}

struct err *cmd_watch(struct session *s, const struct cmd_args *a)
{
	static const char nan[] = "--nan";
	const size_t n = sizeof nan - 1;

	if (!strncmp(a->rest, nan, n) && (!a->rest[n] || strchr(" \t", a->rest[n])))
		return watch_nan(s, a->rest + n);
	return add_watch(s, a, WATCH_CHANGES);
}

struct err *cmd_rwatch(struct session *s, const struct cmd_args *a)
{
	return add_watch(s, a, WATCH_READS);
}

struct err *cmd_awatch(struct session *s, const struct cmd_args *a)
{
	return add_watch(s, a, WATCH_TOUCHES);
}

/* Reads memory before the command at the device's position; the device then goes back to it. */
static struct err *read_before(
	struct session *s, const struct replay_device *rd, uint64_t addr, void *dst, size_t n)
{
	const struct graph_place *p = graph_place(s);
	uint32_t steps;
	struct err *e = p && p->step ? device_node(rd->d, p->seq, p->step - 1, &steps)
				     : device_seek(rd->d, replay_seq(s->engine.trace.replay) - 1);

	if (!e)
		e = device_read(rd->d, addr, dst, n);
	return replay_device_back(&s->engine, e);
}

void watch_tell_touch(struct session *s, const struct watch_touch *t)
{
	const char *how = t->reads && t->writes ? "read or write" : t->reads ? "read" : "write";
	const char *does = t->reads && t->writes ? "reads and writes"
			   : t->reads		 ? "reads"
						 : "writes";
	struct err *e;
	const struct state *st;
	struct state_alloc al;

	if (t->nans) {
		watch_tell_nan(s, t);
		return;
	}
	out_printf(s->out, "  %s%s %" PRIu64 " byte%s at 0x%" PRIx64, t->sure ? "" : "may ",
		t->sure ? does : how, t->size, t->size == 1 ? "" : "s", t->addr);
	e = session_state(s, &st);
	if (!e && state_alloc_at(st, t->addr, &al))
		out_printf(s->out, " (0x%" PRIx64 "+%" PRIu64 ")", al.addr, t->addr - al.addr);
	err_free(e);
	out_str(s->out,
		t->sure ? "\n"
			: ": it was given a pointer into the allocation; what a kernel touches "
			  "is known on the software GPU\n");
}

void watch_tell_passed(struct session *s, uint64_t n)
{
	if (n)
		out_printf(s->out,
			"  %" PRIu64 " command%s on the way may have touched watched bytes unseen: "
			"kernels through pointers in memory, and host functions\n",
			n, n == 1 ? "" : "s");
}

struct err *watch_tell(struct session *s, int id)
{
	struct breakpoint *bp = breakpoints_by_id(s->engine.breaks, id);
	const struct replay_device *rd = s->engine.trace.device;
	struct buf before = BUF_INIT, after = BUF_INIT, text = BUF_INIT;
	struct memory_difference diff = {0};
	struct x_format f;
	size_t n;
	struct err *e;

	if (!bp || !rd || bp->watch) /* a temporary one is deleted already */
		return NULL;
	n = bp->size < WATCH_SHOWN_BYTES ? (size_t)bp->size : WATCH_SHOWN_BYTES;
	f = (struct x_format){.count = 1, .letter = bp->letter, .unit = bp->unit};
	e = graph_return(&s->engine);
	if (!e)
		e = device_read(rd->d, bp->addr, buf_room(&after, n), n);
	if (!e)
		e = read_before(s, rd, bp->addr, buf_room(&before, n), n);
	if (!e) {
		stop_add_change(&s->engine, bp->addr, before.data, after.data, n);
		diff = memory_compare(
			&text, &f, bp->addr, bp->addr, before.data, after.data, n, SHOWN_MAX);
		out_str(s->out, buf_cstr(&text));
		if (n < bp->size)
			out_printf(s->out, "  (looked at the first %zu bytes)\n", n);
		else
			out_printf(s->out, "  %" PRIu64 " of %" PRIu64 " bytes changed\n",
				diff.bytes, bp->size);
	}
	buf_free(&before);
	buf_free(&after);
	buf_free(&text);
	return e;
}

/* --- who-wrote --- */

const char cmd_who_wrote_help[] =
	"Names the last command up to the present point that wrote to memory, and its recorded\n"
	"host call stack; the replay stays where it is. ADDRESS [len N] as in `watch`. Copies\n"
	"and fills are known from their records; launches by what they changed, on a device.\n"
	"With --last N, the last N of them, the newest first, as long as the allocation is there.\n"
	"Examples: who-wrote arg0 + 64\n"
	"          who-wrote --last 10 arg0 + 64\n";

/* Prints the writer as a command; step: of that graph launch, 0: the command itself. */
static struct err *print_writer(struct session *s, uint64_t seq, uint32_t step, bool json,
	struct buf *b, uint32_t *ret_stack)
{
	struct state *st;
	struct state_steps steps;
	struct sbt_cmd launch = {.seq = seq};
	struct err *e;

	if (!step)
		return shown_cmd(&(struct shown_names){s, replay_state(s->engine.trace.replay)},
			s->engine.trace.reader, seq, json, b, ret_stack);
	TRY(graph_launched(&s->engine, seq, &st, &launch));
	e = state_steps(&steps, st, (uint32_t)launch.u.graph_launch.exec);
	if (!e && step <= steps.n) {
		*ret_stack = steps.step[step - 1].node.stack;
		graph_print_step(b, st, &launch, step, &steps.step[step - 1], json);
	}
	state_steps_free(&steps);
	state_free(st);
	return e;
}

struct writer {
	uint64_t addr, size;
	struct replay_writer w;
	uint32_t step;
	struct buf cmd; /* JSON */
	struct stack stack;
};

JS_DEFINE(writer_object, "writer", writer, JS(HEX, writer, addr), JS(UINT, writer, size),
	JS_IN(UINT, writer, w, seq), JS(UINT, writer, step),
	JS_IN(BOOL, writer, w, certain, changed),
	JS_BY("command", writer, cmd, js_raw, "command or null"),
	JS_BY("frames", writer, stack, stack_json, "[frame]"));

static void text_writer(struct buf *b, const struct replay_writer *w, const struct stack *st)
{
	buf_str(b,
		!w->certain
			? "  (it had a pointer there; whether it wrote is known only on a device)\n"
		: w->changed ? "\n"
			     : "  (it may have written the same bytes)\n");
	for (unsigned i = 0; i < st->n; i++) {
		stack_print_frame(b, st, i);
		buf_byte(b, '\n');
	}
}

/* Appends it to b. */
static struct err *tell_writer(struct session *s, uint64_t addr, uint64_t size,
	const struct who_wrote *who, bool json, struct buf *b)
{
	const struct replay_writer *w = &who->writer;
	const uint32_t step = who->step;
	struct buf cmd = BUF_INIT;
	struct stack st = {0};
	uint32_t id = 0;
	struct err *e = print_writer(s, w->seq, step, json, &cmd, &id);

	if (!e)
		e = stack_recorded(s, s->engine.trace.reader, id, &st);
	if (!e && json) {
		js_add(b, &writer_object, &(struct writer){addr, size, *w, step, cmd, st});
	} else if (!e) {
		buf_str(b, buf_cstr(&cmd));
		text_writer(b, w, &st);
	}
	stack_free(&st);
	buf_free(&cmd);
	return e;
}

enum { WRITERS_MAX = 10000 };

/* "--last N" in front of an address; *ret_n 0: it is not there. */
static struct err *take_last(const char **text, uint64_t *ret_n)
{
	static const char option[] = "--last";
	const char *p = *text + strspn(*text, " \t");
	char word[24];
	size_t n;

	*ret_n = 0;
	if (strncmp(p, option, sizeof option - 1) != 0)
		return NULL;
	p += sizeof option - 1;
	p += strspn(p, " \t=");
	n = strcspn(p, " \t");
	snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), p);
	if (!word_u64(word, ret_n) || !*ret_n || *ret_n > WRITERS_MAX)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no number of writers", word),
			"Use: who-wrote --last 10 ADDRESS [len N]; at most %d", WRITERS_MAX);
	*text = p + n + strspn(p + n, " \t");
	return NULL;
}

static struct err *tell_last(
	struct session *s, uint64_t addr, uint64_t size, unsigned most, bool json, struct buf *b)
{
	struct who_wrote *w;
	unsigned n;
	struct err *e = NULL;

	TRY(who_wrote_last(&s->engine, addr, size, most, &w, &n));
	buf_str(b, json ? "[" : "");
	for (unsigned i = 0; !e && i < n; i++)
		e = tell_writer(s, addr, size, &w[i], json, b);
	buf_str(b, json ? "]" : "");
	free(w);
	return e;
}

struct err *cmd_who_wrote(struct session *s, const struct cmd_args *a)
{
	const char *range = a->rest;
	uint64_t addr, size, last;
	struct buf b = BUF_INIT;
	struct who_wrote w;
	struct err *e;

	s->focus = FOCUS_REPLAY;
	TRY(take_last(&range, &last));
	TRY(memory_range(s, range, &addr, &size));
	if (last) {
		e = tell_last(s, addr, size, (unsigned)last, a->json, &b);
	} else {
		TRY(who_wrote(&s->engine, addr, size, &w));
		e = tell_writer(s, addr, size, &w, a->json, &b);
	}
	if (a->json)
		buf_byte(&b, '\n');
	if (!e)
		out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* --- diff --- */

const char cmd_diff_help[] =
	"Shows what the commands after #A up to #B changed in memory: which allocations, how\n"
	"many bytes, the first of them as values (FMT as in `x` chooses how). With ADDRESS and\n"
	"LEN, only there. The replay stays where it is. `begin` and `end` are the window's; 214.3\n"
	"is a step of a graph launch (`help replay goto`).\n"
	"Examples: diff 12 20\n"
	"          diff/f begin end arg0 64\n";

/* Memory to compare. */
struct piece {
	uint64_t addr, size, alloc_seq;
	bool in[2];
	struct sbt_hash hash[2];
};

struct diff {
	struct session *s;
	struct replay_device *rd;
	uint64_t at[2];
	uint32_t step[2]; /* of that graph launch, UINT32_MAX: behind the command */
	struct x_format f;
	bool json;
	struct piece *p;
	size_t n;
	struct buf out;
	size_t changed;
	struct buf bytes[2];	    /* of a place that was named, up to BYTES_MAX of it; for JSON */
	const struct buf *shown[2]; /* those; NULL: no place was named */
};

struct change {
	uint64_t addr, size;
	struct memory_difference d;
};
JS_DEFINE(change_object, "change", change, JS(HEX, change, addr), JS(UINT, change, size),
	JS_IN(UINT, change, d, bytes), JS_AS("offset", UINT, change, d.first));

static void add_piece(
	struct diff *d, unsigned side, uint64_t addr, uint64_t size, uint64_t alloc_seq)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->p[i].addr == addr && d->p[i].alloc_seq == alloc_seq) {
			d->p[i].in[side] = true;
			return;
		}
	}
	d->p = xrealloc(d->p, (d->n + 1) * sizeof *d->p);
	d->p[d->n] = (struct piece){.addr = addr, .size = size, .alloc_seq = alloc_seq};
	d->p[d->n++].in[side] = true;
}

/* Lists the allocations that are live at one side. */
static struct err *take_side(struct diff *d, unsigned side)
{
	struct state_alloc al;
	struct state *st;

	TRY(state_at(&st, d->s->engine.trace.reader, d->at[side]));
	for (unsigned i = 0; state_alloc(st, i, &al); i++)
		add_piece(d, side, al.addr, al.size, al.alloc_seq);
	state_free(st);
	return NULL;
}

static struct err *go_to_side(struct diff *d, unsigned side)
{
	uint32_t steps;

	if (d->step[side] == UINT32_MAX)
		return device_seek(d->rd->d, d->at[side]);
	TRY(device_node(d->rd->d, d->at[side], d->step[side], &steps));
	if (d->step[side] > steps)
		return err_new(ERR_USAGE, "#%" PRIu64 " has %" PRIu32 " steps, not %" PRIu32,
			d->at[side], steps, d->step[side]);
	return NULL;
}

/* Hashes those that are live at both sides; the device goes to this side. */
static struct err *hash_side(struct diff *d, unsigned side)
{
	TRY(go_to_side(d, side));
	for (size_t i = 0; i < d->n; i++) {
		if (d->p[i].in[0] && d->p[i].in[1])
			TRY(device_hash(d->rd->d, d->p[i].addr, d->p[i].size, &d->p[i].hash[side]));
	}
	return NULL;
}

static void tell_piece(struct diff *d, const struct piece *p, const struct memory_difference *all,
	struct buf *lines)
{
	struct buf *b = &d->out;

	d->changed++;
	if (d->json) {
		js_add(b, &change_object, &(struct change){p->addr, p->size, *all});
		return;
	}
	buf_printf(b, "0x%" PRIx64 ", %" PRIu64 " bytes", p->addr, p->size);
	if (p->alloc_seq)
		buf_printf(b, " (allocated by #%" PRIu64 ")", p->alloc_seq);
	buf_printf(b, ": %" PRIu64 " byte%s changed, from offset %" PRIu64 " on\n%s", all->bytes,
		all->bytes == 1 ? "" : "s", all->first, buf_cstr(lines));
}

/* Compares the contents of a piece that differs, part by part. */
static struct err *compare_piece(struct diff *d, const struct piece *p)
{
	struct memory_difference all = {0}, part;
	struct buf lines = BUF_INIT;
	uint8_t *bytes[2] = {NULL, NULL};
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < p->size; at += DIFF_PIECE) {
		size_t n = p->size - at < DIFF_PIECE ? (size_t)(p->size - at) : DIFF_PIECE;

		for (unsigned side = 0; !e && side < 2; side++) {
			bytes[side] = xrealloc(bytes[side], n);
			e = go_to_side(d, side);
			if (!e)
				e = device_read(d->rd->d, p->addr + at, bytes[side], n);
		}
		if (e)
			break;
		part = memory_compare(&lines, &d->f, p->addr + at, p->addr, bytes[0], bytes[1], n,
			all.bytes ? 0 : SHOWN_MAX);
		if (part.bytes && !all.bytes)
			all.first = at + part.first;
		all.bytes += part.bytes;
	}
	if (!e && all.bytes)
		tell_piece(d, p, &all, &lines);
	buf_free(&lines);
	free(bytes[0]);
	free(bytes[1]);
	return e;
}

static void tell_come_and_gone(struct diff *d)
{
	for (size_t i = 0; i < d->n && !d->json; i++) {
		const struct piece *p = &d->p[i];

		if (p->in[0] != p->in[1])
			buf_printf(&d->out,
				"0x%" PRIx64 ", %" PRIu64 " bytes (allocated by #%" PRIu64
				"): %s\n",
				p->addr, p->size, p->alloc_seq, p->in[0] ? "is freed" : "is new");
	}
}

static struct err *take_bytes(struct diff *d, uint64_t addr, uint64_t size)
{
	for (unsigned side = 0; side < 2; side++) {
		struct buf *b = &d->bytes[side];

		TRY(go_to_side(d, side));
		TRY(device_read(d->rd->d, addr, buf_room(b, size), size));
		b->len += size;
		d->shown[side] = b;
	}
	return NULL;
}

static struct err *compare(struct diff *d, uint64_t addr, uint64_t size)
{
	struct piece only = {.addr = addr, .size = size};

	if (size && d->json && size <= BYTES_MAX)
		TRY(take_bytes(d, addr, size));
	if (size)
		return compare_piece(d, &only);
	TRY(take_side(d, 0));
	TRY(take_side(d, 1));
	TRY(hash_side(d, 0));
	TRY(hash_side(d, 1));
	tell_come_and_gone(d);
	for (size_t i = 0; i < d->n; i++) {
		const struct piece *p = &d->p[i];

		if (p->in[0] && p->in[1] && memcmp(&p->hash[0], &p->hash[1], sizeof p->hash[0]))
			TRY(compare_piece(d, p));
	}
	return NULL;
}

static struct err *parse_point(
	const struct diff *d, const char *word, uint64_t *ret, uint32_t *ret_step)
{
	*ret_step = UINT32_MAX;
	if (!strcmp(word, "begin"))
		*ret = d->rd->first - 1;
	else if (!strcmp(word, "end"))
		*ret = d->rd->last;
	else if (!(strchr(word, '.') ? step_position(word, ret, ret_step) : word_u64(word, ret)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no command's number", word),
			"Use \"diff 12 20\", or begin and end");
	if (!*ret)
		*ret = d->rd->first - 1;
	if (*ret + 1 < d->rd->first || *ret > d->rd->last)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " is outside the window #%" PRIu64 " to #%" PRIu64, *ret,
			d->rd->first, d->rd->last);
	return NULL;
}

/* Parses "A B [ADDRESS LEN]" */
static struct err *parse_diff(
	struct diff *d, char *const *words, unsigned n, uint64_t *ret_addr, uint64_t *ret_size)
{
	char *addr;
	struct err *e;

	*ret_addr = *ret_size = 0;
	if (n < 2 || n == 3)
		return err_cure(err_new(ERR_USAGE, "diff needs two commands' numbers"),
			"Use \"diff 12 20\", or \"diff 12 20 ADDRESS LEN\"");
	TRY(parse_point(d, words[0], &d->at[0], &d->step[0]));
	TRY(parse_point(d, words[1], &d->at[1], &d->step[1]));
	if (n == 2)
		return NULL;
	if (!word_size(words[n - 1], ret_size) || !*ret_size)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no length", words[n - 1]),
			"It is a number of bytes; K, M and G may follow");
	addr = words_join(words + 2, n - 3);
	e = value_address(d->s, addr, ret_addr, NULL);
	free(addr);
	return e;
}

static void put_changes(struct buf *out, const void *changes)
{
	const struct buf *b = changes;

	buf_add(out, b->data, b->len);
	buf_byte(out, ']');
}

static void put_bytes(struct buf *out, const void *bytes)
{
	const struct buf *b = *(const struct buf *const *)bytes;

	buf_byte(out, '"');
	for (size_t i = 0; i < b->len; i++)
		buf_printf(out, "%02x", b->data[i]);
	buf_byte(out, '"');
}

JS_DEFINE(diff_object, "diff", diff, JS_AS("from_seq", UINT, diff, at[0]),
	JS_AS("to_seq", UINT, diff, at[1]), JS_BY("changes", diff, out, put_changes, "[change]"),
	JS_MAYBE_BY("from_data", diff, shown[0], put_bytes, "text"),
	JS_MAYBE_BY("to_data", diff, shown[1], put_bytes, "text"));

static void json_diff(struct diff *d)
{
	struct buf b = BUF_INIT;

	js_put(&b, &diff_object, d);
	out_printf(d->s->out, "%s\n", buf_cstr(&b));
	buf_free(&b);
}

static void tell_diff(struct diff *d)
{
	if (d->json)
		json_diff(d);
	else if (d->out.len)
		out_str(d->s->out, buf_cstr(&d->out));
	else
		out_printf(d->s->out, "Nothing changed from #%" PRIu64 " to #%" PRIu64 ".\n",
			d->at[0], d->at[1]);
}

struct err *cmd_diff(struct session *s, const struct cmd_args *a)
{
	struct diff d = {.s = s, .json = a->json, .f = {.count = 1, .unit = 'w'}};
	uint64_t addr, size;
	char **words;
	unsigned n;
	struct err *e;

	TRY(replay_device_need(&s->engine, "diff", &d.rd));
	TRY(x_format_parse(&d.f, a->fmt));
	TRY(words_split(a->rest, &words, &n));
	e = parse_diff(&d, words, n, &addr, &size);
	words_free(words);
	TRY(e);
	if (d.json)
		buf_byte(&d.out, '[');
	e = compare(&d, addr, size);
	e = replay_device_back(&s->engine, e);
	if (!e)
		tell_diff(&d);
	free(d.p);
	buf_free(&d.out);
	buf_free(&d.bytes[0]);
	buf_free(&d.bytes[1]);
	return e;
}
