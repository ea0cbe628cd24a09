/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into a launch, moves in it, prints where it is; see microscope.h. The surprise: the replay
 * may be right before a launch that breaks the device. The launch can be entered all the same: that
 * is how to see the reason.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "shell/print/graph.h"
#include "shell/line/interrupt.h"
#include "shell/live/microscope.h"
#include "engine/replay-device.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"
#include "base/file.h"
#include "base/words.h"
#include "state/state.h"

const struct soft_stop *kernel_stop_any(const struct session *s)
{
	if (s->focus != FOCUS_REPLAY || !s->engine.trace.replay || !s->engine.trace.device)
		return NULL;
	return device_kernel_stop(s->engine.trace.device->d);
}

const struct soft_stop *kernel_stop(const struct session *s)
{
	const struct soft_stop *t = kernel_stop_any(s);

	return t && t->state != SOFT_ENDED ? t : NULL;
}

/* Requires a replay on the software GPU. */
static struct err *need_soft(struct session *s, const char *what, struct replay_device **ret)
{
	*ret = NULL;
	if (!s->engine.trace.reader && !s->engine.trace.replay)
		return err_cure(err_new(ERR_STATE, "%s is for a launch of a replay", what),
			"Use \"replay start FILE --on soft\"");
	if (s->engine.trace.device && !s->engine.trace.device->soft)
		return err_cure(
			err_new(ERR_UNSUPPORTED, "instruction-level access needs the software GPU"),
			"Use \"replay start --on soft\"");
	return replay_device_need(&s->engine, what, ret);
}

struct err *kernel_need(struct session *s, const char *what, struct device **ret)
{
	struct replay_device *rd;

	*ret = NULL;
	TRY(need_soft(s, what, &rd));
	if (!kernel_stop_any(s))
		return err_cure(
			err_new(ERR_STATE,
				"%s is for the inside of a launch, and none is under the microscope",
				what),
			"Go to a launch with \"replay goto SEQ\", then use \"stepi\" or \"replay enter\"");
	*ret = rd->d;
	return NULL;
}

const char *kernel_short_name(char *dst, size_t n, const char *mangled)
{
	sbt_kernel_short_name(dst, n, mangled);
	return dst;
}

/* --- saying where it is --- */

void kernel_source(struct buf *out, const char *file, unsigned line)
{
	if (line && *file)
		buf_printf(out, "%s:%u", file_name_of(file), line);
}

static void print_thread(struct buf *b, const uint32_t block[3], const uint32_t thread[3])
{
	buf_printf(b, "block (%u,%u,%u), thread (%u,%u,%u)", block[0], block[1], block[2],
		thread[0], thread[1], thread[2]);
}

/* "57: add.s32 %r1, ...;   matmul.cu:23" */
static void print_place(struct buf *b, const struct soft_stop *t)
{
	if (!t->line) {
		buf_str(b, "The warp has ended.\n");
		return;
	}
	buf_printf(b, "%u:\t%s", t->line, t->text);
	if (t->source_line) {
		buf_str(b, "\t");
		kernel_source(b, t->file, t->source_line);
	}
	if (t->active != t->live || t->executing != t->active) {
		const int lanes = __builtin_popcount(t->active),
			  on = __builtin_popcount(t->executing);

		buf_printf(b, "\t[%d of %d lanes%s", lanes, __builtin_popcount(t->live),
			on != lanes ? "" : "]");
		if (on != lanes)
			buf_printf(b, ", the guard lets %d]", on);
	}
	buf_byte(b, '\n');
}

static void print_bytes(struct buf *b, const uint8_t *bytes, unsigned n)
{
	uint64_t u = 0;
	float f;

	if (n != 1 && n != 2 && n != 4 && n != 8) {
		for (unsigned i = 0; i < n; i++)
			buf_printf(b, "%s%02x", i ? " " : "", bytes[i]);
		return;
	}
	memcpy(&u, bytes, n);
	buf_printf(b, "0x%" PRIx64, u);
	if (n == 4) {
		memcpy(&f, bytes, 4);
		buf_printf(b, " (%d", (int32_t)u);
		if (u && f > -1e9f && f < 1e9f && (f > 1e-6f || f < -1e-6f))
			buf_printf(b, ", as a float %.9g", (double)f);
		buf_byte(b, ')');
	} else {
		buf_printf(b, " (%" PRId64 ")", (int64_t)u);
	}
}

static void print_change(struct buf *b, const struct soft_stop *t)
{
	const struct soft_change *c = &t->change;

	buf_printf(b, "Watchpoint %u: %s 0x%" PRIx64 ", written by ", t->id,
		c->space < SOFT_SPACES ? kernel_spaces[c->space] : "?", c->addr);
	print_thread(b, c->block, c->thread);
	if (c->lanes > 1)
		buf_printf(b, " (the last of %u lanes that wrote there at once)", c->lanes);
	buf_str(b, "\n  ");
	print_bytes(b, c->before, c->size);
	buf_str(b, " -> ");
	print_bytes(b, c->after, c->size);
	buf_printf(b, "\n  by %u:\t%s\t", c->line, c->text);
	kernel_source(b, c->file, c->source_line);
	buf_byte(b, '\n');
}

static void print_head(struct session *s, const struct soft_stop *t, struct buf *b)
{
	char name[256];

	kernel_short_name(name, sizeof name, t->kernel);
	switch (t->why) {
	case SOFT_WHY_BEGIN:
		buf_printf(b, "The beginning of #%" PRIu64 " %s, ", t->seq, name);
		break;
	case SOFT_WHY_POINT:
		buf_printf(b, "Breakpoint %u, #%" PRIu64 " %s, ", t->id, t->seq, name);
		break;
	case SOFT_WHY_WATCH:
		print_change(b, t);
		buf_str(b, "Now at ");
		break;
	case SOFT_WHY_WARP_ENDED:
		buf_str(b, "The warp has ended. [Switching to ");
		break;
	case SOFT_WHY_FAULT:
		buf_printf(b, "#%" PRIu64 " %s breaks here: %s\n", t->seq, name, t->sentence);
		break;
	case SOFT_WHY_TIME:
		buf_str(b, "Interrupted in ");
		break;
	default:
		return;
	}
	print_thread(b, t->block, t->thread);
	buf_str(b, t->why == SOFT_WHY_WARP_ENDED ? "]\n" : "\n");
}

void kernel_tell(struct session *s, const struct soft_stop *t)
{
	struct buf b = BUF_INIT;
	char name[256];

	kernel_short_name(name, sizeof name, t->kernel);
	vars_set(s->vars, "seq", (int64_t)t->seq);
	if (t->state == SOFT_ENDED && t->why == SOFT_WHY_FAULT) {
		buf_printf(&b, "#%" PRIu64 " %s has ended with a fault: %s\n", t->seq, name,
			t->sentence);
	} else if (t->state == SOFT_ENDED) {
		buf_printf(&b,
			"#%" PRIu64 " %s has ended; its warps executed %" PRIu64 " instructions.\n",
			t->seq, name, t->total);
	} else {
		print_head(s, t, &b);
		if (t->why == SOFT_WHY_FOCUS) {
			print_thread(&b, t->block, t->thread);
			buf_printf(&b, ", warp %u, lane %u\n", t->warp, t->lane);
		}
		print_place(&b, t);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

/* --- which launch --- */

/* The next work behind seq; 0: none nearby. */
static struct err *next_work(struct session *s, uint64_t seq, uint64_t *ret, bool *ret_launch)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct err *e;

	*ret = 0;
	TRY(sbt_cursor_open(&cur, s->engine.trace.reader));
	e = sbt_cursor_seek(cur, seq + 1);
	for (unsigned n = 0; !e && !*ret && n < 65536; n++) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c)
			break;
		const struct sbt_kind_desc *d = sbt_kind(c->kind);
		if (!d || d->cls != SBT_CLASS_WORK)
			continue;
		*ret = c->seq;
		*ret_launch = c->kind == SBT_LAUNCH && !c->result && !(c->flags & SBT_F_GRAPH);
	}
	sbt_cursor_close(cur);
	return e;
}

static struct err *find_launch(struct session *s, const struct replay_device *rd, uint64_t *ret)
{
	const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
	const uint64_t culprit = device_culprit(rd->d, NULL);
	bool launch = false;

	TRY(next_work(s, replay_seq(s->engine.trace.replay), ret, &launch));
	if (*ret && launch && culprit == *ret) /* it broke the device: the replay cannot be at it */
		return NULL;
	if (graph_place(s))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"the microscope goes into launches of their own, not into nodes of a graph"),
			"\"tsdb extract FILE --graph %" PRIu64
			" --kernel GLOB\" makes a program of one",
			graph_place(s)->seq);
	if (c && c->kind == SBT_LAUNCH) {
		*ret = c->seq;
		return NULL;
	}
	if (*ret && launch)
		return NULL;
	return err_cure(
		err_new(ERR_STATE,
			"the replay stands neither at a kernel launch nor right before one"),
		"Go to one with \"replay goto SEQ\"; \"view --kind launch\" lists them");
}

/* --- breakpoints --- */

/* The breakpoints that concern this kernel. */
static struct soft_point *collect_points(struct session *s, const char *mangled, unsigned *ret_n)
{
	struct soft_point *p = xcalloc(SOFT_POINTS_MAX + 1, sizeof *p);
	const struct breakpoint *bp;
	char name[256];

	*ret_n = 0;
	kernel_short_name(name, sizeof name, mangled);
	for (unsigned i = 0;
		(bp = breakpoints_nth(s->engine.breaks, i)) != NULL && *ret_n < SOFT_POINTS_MAX;
		i++) {
		struct soft_point *q = &p[*ret_n];

		if (!bp->enabled || (!bp->size && !bp->line))
			continue;
		q->id = (uint32_t)bp->id;
		if (bp->size) {
			q->kind = SOFT_WATCH;
			q->space = bp->space;
			q->addr = bp->addr;
			q->size = bp->size;
		} else {
			if (bp->glob && !sbt_kernel_glob(bp->glob, mangled, name))
				continue;
			q->kind = bp->file ? SOFT_AT_SOURCE : SOFT_AT_LINE;
			q->line = bp->line;
			strncpy(q->file, bp->file ? bp->file : "", sizeof q->file - 1);
			strncpy(q->condition, bp->cond ? bp->cond : "", sizeof q->condition - 1);
		}
		++*ret_n;
	}
	return p;
}

static struct err *send_points(struct session *s, struct device *d, int id, unsigned *ret_line)
{
	unsigned n;
	struct soft_point *p = collect_points(s, device_kernel_stop(d)->kernel, &n);
	struct err *e = device_kernel_points(d, p, n);

	for (unsigned i = 0; !e && i < n; i++)
		if (p[i].id == (uint32_t)id)
			*ret_line = p[i].line;
	free(p);
	return e;
}

struct err *kernel_check_points(struct session *s, int id, unsigned *ret_line)
{
	*ret_line = 0;
	return kernel_stop(s) ? send_points(s, s->engine.trace.device->d, id, ret_line) : NULL;
}

/* --- moving --- */

/* If the launch has ended and the replay was before it, moves the replay to it. */
static struct err *settle(struct session *s, const struct soft_stop *t)
{
	struct replay_stop stop;

	if (t->state == SOFT_ENDED)
		s->engine.trace.looked_through = t->seq;
	if (t->state != SOFT_ENDED || t->why == SOFT_WHY_FAULT ||
		replay_seq(s->engine.trace.replay) >= t->seq)
		return NULL;
	return replay_goto(s->engine.trace.replay, t->seq, &stop);
}

static struct err *enter(
	struct session *s, struct replay_device *rd, uint64_t seq, const struct soft_stop **ret)
{
	struct replay_stop stop;
	struct err *e;

	if (!seq)
		TRY(find_launch(s, rd, &seq));
	else if (replay_seq(s->engine.trace.replay) != seq &&
		 replay_seq(s->engine.trace.replay) + 1 != seq) {
		e = replay_goto(s->engine.trace.replay, seq, &stop);
		/* a launch that breaks the device is entered from before it */
		if (e && device_culprit(rd->d, NULL) != seq)
			return e;
		err_free(e);
	}
	TRY(device_kernel(rd->d, seq, ret));
	return NULL;
}

struct err *kernel_enter(struct session *s, uint64_t seq)
{
	const struct soft_stop *t;
	struct replay_device *rd;

	TRY(need_soft(s, "stepping instructions", &rd));
	s->focus = FOCUS_REPLAY;
	TRY(enter(s, rd, seq, &t));
	kernel_tell(s, t);
	return settle(s, t);
}

/* Runs until a stop that has to be reported. */
static struct err *go(struct session *s, struct device *d, enum soft_how how, uint64_t n,
	const struct soft_stop **ret)
{
	unsigned line;
	bool passed;

	TRY(send_points(s, d, 0, &line));
	do {
		TRY(device_kernel_go(d, how, n, ret));
		passed = ((*ret)->why == SOFT_WHY_POINT || (*ret)->why == SOFT_WHY_WATCH) &&
			 how != SOFT_BACK_RUN &&
			 !breakpoints_hit(s->engine.breaks, (int)(*ret)->id, false);
		if (passed)
			how = SOFT_ON;
	} while (passed);
	interrupt_take();
	return NULL;
}

struct err *kernel_go(struct session *s, enum soft_how how, uint64_t n)
{
	const bool back = how == SOFT_BACK_STEP || how == SOFT_BACK_RUN;
	const struct soft_stop *t;
	struct replay_device *rd;

	TRY(need_soft(s, "stepping instructions", &rd));
	s->focus = FOCUS_REPLAY;
	s->engine.live.runs++;
	t = back ? kernel_stop_any(s) : kernel_stop(s);
	if (!t && back)
		return err_cure(
			err_new(ERR_STATE,
				"no launch is under the microscope: there are no instructions to go back"),
			"\"stepi\" goes into the launch that the replay stands at");
	if (!t) {
		TRY(enter(s, rd, 0, &t));
		if (t->state != SOFT_ENDED && how != SOFT_RUN)
			kernel_tell(s, t);
	}
	if (t->state != SOFT_ENDED || back)
		TRY(go(s, rd->d, how, n, &t));
	kernel_tell(s, t);
	return settle(s, t);
}

uint64_t kernel_to_look_through(struct session *s)
{
	const struct sbt_cmd *c;
	const struct breakpoint *bp;
	const struct state *st;
	struct state_kernel k;
	struct err *e;

	if (!s->engine.trace.device || !s->engine.trace.device->soft || !session_cmd(s, &c) ||
		c->kind != SBT_LAUNCH || c->result || (c->flags & SBT_F_GRAPH) ||
		s->engine.trace.looked_through == c->seq)
		return 0;
	e = session_state(s, &st);
	if (e || !state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k)) {
		err_free(e);
		return 0;
	}
	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)) != NULL; i++)
		if (bp->enabled && bp->line && sbt_kernel_glob(bp->glob, k.name, k.short_name))
			return c->seq;
	return 0;
}

struct err *kernel_run_to_point(struct session *s, uint64_t seq, bool *ret_hit)
{
	const struct soft_stop *t;
	struct replay_device *rd;

	*ret_hit = false;
	TRY(need_soft(s, "a breakpoint inside a kernel", &rd));
	TRY(enter(s, rd, seq, &t));
	if (t->state != SOFT_ENDED)
		TRY(go(s, rd->d, SOFT_RUN, 1, &t));
	*ret_hit = t->state != SOFT_ENDED;
	if (*ret_hit)
		kernel_tell(s, t);
	return settle(s, t);
}

/* --- focus --- */

bool kernel_coordinates(const char *word, uint32_t ret[3])
{
	const bool bracket = *word == '(';
	unsigned n = 0;
	char *end;

	ret[0] = ret[1] = ret[2] = 0;
	word += bracket;
	do {
		unsigned long v;

		if (!isdigit((unsigned char)*word))
			return false;
		v = strtoul(word, &end, 10);
		if (v > UINT32_MAX)
			return false;
		ret[n++] = (uint32_t)v;
		word = end + (*end == ',');
	} while (*end == ',' && n < 3);
	return bracket ? *end == ')' && !end[1] : !*end;
}

/* Blanks may have split (1, 0, 0): joins words from *i on up to the bracket. */
static bool take_coordinates(unsigned argc, char *const *argv, unsigned *i, uint32_t ret[3])
{
	char text[80] = "";

	for (; *i < argc && strlen(text) + strlen(argv[*i]) < sizeof text; ++*i) {
		strcat(text, argv[*i]);
		if (*text != '(' || strchr(text, ')')) {
			++*i;
			break;
		}
	}
	return kernel_coordinates(text, ret);
}

struct err *kernel_focus(struct session *s, const char *word, unsigned argc, char *const *argv)
{
	const struct soft_stop *t = kernel_stop(s);
	uint32_t block[3], thread[3], at[3];
	struct device *d;

	TRY(kernel_need(s, "choosing a thread", &d));
	if (!t)
		return err_cure(err_new(ERR_STATE, "the launch has ended"),
			"\"reverse-stepi\" goes back into it");
	memcpy(block, t->block, sizeof block);
	memcpy(thread, t->thread, sizeof thread);
	for (unsigned i = 0; i < argc;) {
		const char *what = i ? argv[i++] : word;
		const bool is_block = !strcmp(what, "block");

		if (!is_block && strcmp(what, "thread"))
			return err_cure(
				err_new(ERR_USAGE, "\"%s\" is neither block nor thread", what),
				"For example: block (1,0,0) thread (5,0,0)");
		if (!take_coordinates(argc, argv, &i, at))
			return err_cure(err_new(ERR_USAGE, "there are no coordinates behind \"%s\"",
						is_block ? "block" : "thread"),
				"For example: block (1,0,0) thread (5,0,0)");
		memcpy(is_block ? block : thread, at, sizeof at);
		if (is_block && memcmp(block, t->block, sizeof block))
			memset(thread, 0, sizeof thread);
	}
	if (argc)
		TRY(device_kernel_focus(d, block, thread, &t));
	if (argc && t->why == SOFT_WHY_BEGIN)
		out_printf(s->out, "The launch begins again, with this block first.\n");
	kernel_tell(s, t);
	return NULL;
}
