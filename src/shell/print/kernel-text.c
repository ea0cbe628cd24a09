/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves in a launch under the microscope, prints where it is; see kernel-text.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/replay-moves.h"
#include "shell/print/kernel-text.h"
#include "shell/script/displays.h"
#include "shell/source/source-view.h"
#include "shell/trace/trace.h"
#include "shell/values/vars.h"
#include "base/file.h"
#include "base/words.h"
#include "sbt/kernel-name.h"

const char *kernel_short_name(char *dst, size_t n, const char *mangled)
{
	sbt_kernel_short_name(dst, n, mangled);
	return dst;
}

const struct soft_stop *kernel_stop_any(const struct session *s)
{
	return s->focus == FOCUS_REPLAY ? microscope_stop_any(&s->engine) : NULL;
}

const struct soft_stop *kernel_stop(const struct session *s)
{
	return s->focus == FOCUS_REPLAY ? microscope_stop(&s->engine) : NULL;
}

/* --- saying where it is --- */

void kernel_source(struct buf *out, const char *file, unsigned line)
{
	if (line && *file)
		buf_printf(out, "%s:%u", file_name_of(file), line);
}

const char *kernel_line(char dst[KERNEL_LINE_ROOM], uint32_t unit, uint32_t line)
{
	snprintf(dst, KERNEL_LINE_ROOM, unit == SOFT_CODE ? "0x%x" : "%u", line);
	return dst;
}

static void print_thread(struct buf *b, const uint32_t block[3], const uint32_t thread[3])
{
	buf_printf(b, "block (%u,%u,%u), thread (%u,%u,%u)", block[0], block[1], block[2],
		thread[0], thread[1], thread[2]);
}

/* "57: add.s32 %r1, ...;   matmul.cu:23", "0x1724 <+36>: s_load_dword ..." */
static void print_place(struct buf *b, const struct soft_stop *t)
{
	char line[KERNEL_LINE_ROOM];

	if (!t->line) {
		buf_str(b, "The warp has ended.\n");
		return;
	}
	buf_str(b, kernel_line(line, t->unit, t->line));
	if (t->unit == SOFT_CODE && t->start)
		buf_printf(b, " <+0x%x>", t->line - t->start);
	buf_printf(b, ":\t%s", t->text);
	if (t->source_line) {
		buf_str(b, "\t");
		kernel_source(b, t->file, t->source_line);
	}
	if (t->active != t->live || t->executing != t->active) {
		const int lanes = __builtin_popcountll(t->active),
			  on = __builtin_popcountll(t->executing);

		buf_printf(b, "\t[%d of %d lanes%s", lanes, __builtin_popcountll(t->live),
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
	char line[KERNEL_LINE_ROOM];
	const char *how = c->access == SOFT_READS		    ? "read"
			  : c->access == (SOFT_READS | SOFT_WRITES) ? "changed atomically"
								    : "written";

	buf_printf(b, "Watchpoint %u: %s 0x%" PRIx64 ", %s by ", t->id,
		c->space < SOFT_SPACES ? kernel_spaces[c->space] : "?", c->addr, how);
	print_thread(b, c->block, c->thread);
	if (c->lanes > 1)
		buf_printf(b, " (the last of %u lanes that %s there at once)", c->lanes,
			c->access == SOFT_READS ? "read" : "wrote");
	buf_str(b, "\n  ");
	print_bytes(b, c->before, c->size);
	if (c->access != SOFT_READS) {
		buf_str(b, " -> ");
		print_bytes(b, c->after, c->size);
	}
	buf_printf(b, "\n  by %s:\t%s\t", kernel_line(line, t->unit, c->line), c->text);
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

/* The PTX and the source line; after a step by lines, the latter alone. */
static void tell_line(struct session *s, const struct soft_stop *t, bool by_lines, struct buf *b)
{
	out_str(s->out, buf_cstr(b));
	b->len = 0;
	if (by_lines && t->line && source_tell_kernel(s, t->file, t->source_line))
		return;
	print_place(b, t);
	out_str(s->out, buf_cstr(b));
	b->len = 0;
	if (!by_lines && t->line && t->why != SOFT_WHY_STEP)
		source_tell_kernel(s, t->file, t->source_line);
}

/* Says it when the launch has begun again without what was set in it. */
static void tell_undone(struct session *s, const struct soft_stop *t)
{
	if (s->kernel_set_in == t->seq && !t->changed)
		out_str(s->out, "The launch has begun again: what was set in it is undone.\n");
	s->kernel_set_in = t->changed ? t->seq : 0;
}

static void tell(struct session *s, const struct soft_stop *t, bool by_lines)
{
	struct buf b = BUF_INIT;
	char name[256];

	kernel_short_name(name, sizeof name, t->kernel);
	vars_set(s->vars, "seq", (int64_t)t->seq);
	s->script.interrupted |= t->why == SOFT_WHY_TIME;
	tell_undone(s, t);
	if (t->why != SOFT_WHY_FOCUS &&
		!displays_stop(s, t->why == SOFT_WHY_POINT || t->why == SOFT_WHY_WATCH))
		return;
	if (t->state == SOFT_ENDED && t->why == SOFT_WHY_FAULT) {
		buf_printf(&b, "#%" PRIu64 " %s has ended with a fault: %s\n", t->seq, name,
			t->sentence);
	} else if (t->state == SOFT_ENDED) {
		buf_printf(&b,
			"#%" PRIu64 " %s has ended; its warps executed %" PRIu64 " instructions.\n",
			t->seq, name, t->total);
		if (t->changed == SOFT_CHANGED_KEPT)
			buf_str(&b,
				"What was set in it counts from here on, until the replay goes back before it (what-if).\n");
		else if (t->changed)
			buf_str(&b,
				"What was set in it counts until the replay moves: there is no room to keep it, so its next move executes the launch as it was recorded.\n");
	} else {
		print_head(s, t, &b);
		if (t->why == SOFT_WHY_FOCUS) {
			print_thread(&b, t->block, t->thread);
			buf_printf(&b, ", warp %u, lane %u\n", t->warp, t->lane);
		}
		tell_line(s, t, by_lines, &b);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

void kernel_tell(struct session *s, const struct soft_stop *t)
{
	tell(s, t, false);
}

/* --- moving --- */

static struct err *move(struct session *s, const struct move *how, struct soft_stop *ret)
{
	struct replay_move m;

	s->focus = FOCUS_REPLAY;
	TRY(replay_move(&s->engine, how, &m));
	*ret = m.launch;
	return NULL;
}

struct err *kernel_enter(struct session *s, uint64_t seq)
{
	struct soft_stop t;

	TRY(move(s, &(struct move){.how = MOVE_ENTER, .seq = seq}, &t));
	kernel_tell(s, &t);
	return NULL;
}

struct err *kernel_go(struct session *s, enum soft_how how, uint64_t n)
{
	const bool back = how == SOFT_BACK_STEP || how == SOFT_BACK_RUN;
	struct soft_stop t;

	if (!back && !kernel_stop(s)) {
		TRY(move(s, &(struct move){.how = MOVE_ENTER}, &t));
		if (t.state == SOFT_ENDED || how != SOFT_RUN)
			kernel_tell(s, &t);
		if (t.state == SOFT_ENDED)
			return NULL;
	}
	TRY(move(s, &(struct move){.how = MOVE_INSIDE, .inside = how, .n = n}, &t));
	tell(s, &t, how == SOFT_LINE && t.why == SOFT_WHY_STEP);
	return NULL;
}

struct err *kernel_until(struct session *s)
{
	struct soft_stop t;

	TRY(move(s, &(struct move){.how = MOVE_UNTIL_LINE}, &t));
	tell(s, &t, t.why == SOFT_WHY_STEP);
	return NULL;
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
	struct move m = {.how = MOVE_FOCUS};
	struct soft_stop chosen;
	struct device *d;
	uint32_t at[3];

	TRY(microscope_need(&s->engine, "choosing a thread", &d));
	if (!t)
		return err_cure(err_new(ERR_STATE, "the launch has ended"),
			"\"reverse-stepi\" goes back into it");
	memcpy(m.block, t->block, sizeof m.block);
	memcpy(m.thread, t->thread, sizeof m.thread);
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
		memcpy(is_block ? m.block : m.thread, at, sizeof at);
		if (is_block && memcmp(m.block, t->block, sizeof m.block))
			memset(m.thread, 0, sizeof m.thread);
	}
	chosen = *t;
	if (argc)
		TRY(move(s, &m, &chosen));
	if (argc && chosen.why == SOFT_WHY_BEGIN)
		out_printf(s->out, "The launch begins again, with this block first.\n");
	kernel_tell(s, &chosen);
	return NULL;
}
