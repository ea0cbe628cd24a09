/* SPDX-License-Identifier: Apache-2.0
 *
 * Host call stacks, see stack-view.h; symbols/host-stack.h says what is left out. `set backtrace
 * runtime on` shows the runtime's frames.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json-put.h"
#include "engine/breakpoints.h"
#include "engine/recorder.h"
#include "shell/print/kernel-text.h"
#include "shell/print/stack-view.h"
#include "shell/values/kernel-source.h"
#include "symbols/elf-facts.h"

enum { FRAMES_MAX = 1024, MODULES_LOOKED_AT = 256 };

static void hide_frames(const struct session *s, struct stack *st, bool inner, enum stack_only only)
{
	stack_hide(st, &(struct stack_shown){.only = only,
			       .agent = !inner,
			       .runtime = s->set.number[SHELL_BT_RUNTIME],
			       .past_main = s->set.number[SHELL_BT_PAST_MAIN],
			       .interpreter = s->set.number[SHELL_BT_INTERPRETER]});
}

static struct err *take_thread(
	struct session *s, pid_t tid, enum stack_only only, struct stack *ret)
{
	memset(ret, 0, sizeof *ret);
	TRY(inferior_backtrace(s->engine.live.inf, tid, FRAMES_MAX, &ret->frames, &ret->n));
	hide_frames(s, ret, s->engine.live.at_cmd, only);
	return NULL;
}

struct err *stack_of_thread(struct session *s, pid_t tid, struct stack *ret)
{
	return take_thread(s, tid, STACK_MIXED, ret);
}

static void add_kept(struct session *s, const struct sbt_frame *f, struct stack *ret)
{
	struct sbt_host_module m;
	struct sbt_place p;
	const bool known =
		f->module != SBT_NO_ID && drain_module(s->engine.live.inf, f->module, &m);

	if (known && !strcmp(m.path, SBT_MODULE_PYTHON))
		stack_add_python(ret, drain_place(s->engine.live.inf, f->offset, &p) ? &p : NULL);
	else
		stack_add_native(ret, session_symbols(s), known ? &m : NULL, f);
}

void stack_kept(struct session *s, uint32_t id, struct stack *ret)
{
	const struct sbt_frame *frames;
	unsigned n;

	*ret = (struct stack){.recorded = true};
	if (!s->engine.live.recorder || !s->engine.live.inf ||
		!recorder_stack(s->engine.live.recorder, id, &frames, &n))
		return;
	for (unsigned i = 0; i < n; i++)
		add_kept(s, &frames[i], ret);
	hide_frames(s, ret, true, STACK_MIXED);
}

/* Says once for a trace that names come from it, or are not there. how: of the file that is there;
 * "": there is none, or it is not known which. */
static void tell_file(struct session *s, const char *path, const char *how, bool kept)
{
	char *text;

	if (s->engine.trace.told_changed)
		return;
	s->engine.trace.told_changed = true;
	text = xasprintf("%s is not there any more as it was recorded%s: %s.", path, how,
		kept ? "functions and lines are those that the trace kept"
		     : "its functions and lines are not known");
	out_flush(s->out);
	fprintf(out_notes(s->out), "tsdb: %s\n", text); /* standard output may be JSON */
	free(text);
}

static void tell_changed(struct session *s, const struct stack *st)
{
	if (st->changed)
		tell_file(s, st->changed, "", st->names_kept);
}

void stack_tell_other_build(struct session *s)
{
	struct sbt_reader *r = s->engine.trace.reader;
	const struct sbt_host_module *m;

	for (unsigned i = 0; i < MODULES_LOOKED_AT && (m = sbt_reader_module(r, i)); i++) {
		char *id, *how;

		if (*m->path != '/' || !*m->build_id || stack_is_runtime_file(m->path))
			continue;
		id = elf_build_id(m->path);
		if (id && *id && strcmp(id, m->build_id) != 0) {
			how = xasprintf(" (build id %.12s then, %.12s now)", m->build_id, id);
			tell_file(s, m->path, how, sbt_reader_has_symbols(r));
			free(how);
		}
		free(id);
	}
}

static struct err *take_recorded(struct session *s, struct sbt_reader *r, uint32_t id,
	enum stack_only only, struct stack *ret)
{
	TRY(stack_read(ret, session_symbols(s), r, id));
	tell_changed(s, ret);
	hide_frames(s, ret, true, only);
	return NULL;
}

struct err *stack_recorded(struct session *s, struct sbt_reader *r, uint32_t id, struct stack *ret)
{
	return take_recorded(s, r, id, STACK_MIXED, ret);
}

struct err *stack_get(struct session *s, enum stack_only only, struct stack *ret)
{
	const struct sbt_cmd *c;

	if (s->focus == FOCUS_REPLAY && kernel_stop(s) && only != STACK_PYTHON) {
		*ret = (struct stack){.recorded = true};
		if (session_cmd(s, &c) && c->stack)
			TRY(take_recorded(s, s->engine.trace.reader, c->stack, only, ret));
		return kernel_add_frames(s, ret);
	}
	if (s->focus == FOCUS_REPLAY) {
		if (!session_cmd(s, &c))
			return err_cure(
				err_new(ERR_STATE,
					"there is no command here: the replay is at the beginning"),
				"Use \"replay step\"");
		if (!c->stack)
			return err_cure(err_new(ERR_INCOMPLETE,
						"no host stack was recorded for #%" PRIu64, c->seq),
				"`set capture stacks on` before the capture records them");
		return take_recorded(s, s->engine.trace.reader, c->stack, only, ret);
	}
	if (!s->engine.live.inf)
		return err_cure(
			err_new(ERR_STATE, "there is no stack: the program is not being run"),
			"Use \"run\" or \"replay start\"");
	return take_thread(s, s->engine.live.tid, only, ret);
}

void stack_print_place(struct buf *out, const struct stack *st, unsigned i)
{
	const struct symbol *y = &st->frames[i].sym;

	if (y->function)
		buf_printf(out, "%s%s", y->function, strchr(y->function, '(') ? "" : " ()");
	else
		buf_str(out, "?? ()");
	if (y->file)
		buf_printf(out, " at %s:%u", y->file, y->line);
	else if (y->module)
		buf_printf(out, " from %s", st->recorded ? file_name_of(y->module) : y->module);
}

void stack_print_frame(struct buf *out, const struct stack *st, unsigned i)
{
	const struct backtrace_frame *f = &st->frames[i];

	buf_printf(out, "#%-3u", i);
	if (!f->inlined && !f->python && !f->device && !(st->recorded && f->sym.function))
		buf_printf(out, "0x%016" PRIx64 " in ", f->pc);
	stack_print_place(out, st, i);
	if (f->inlined)
		buf_str(out, " (inlined)");
	if (f->python)
		buf_str(out, " (Python)");
	if (f->device)
		buf_str(out, " (GPU)");
}

static bool any_python(const struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++)
		if (st->frames[i].python)
			return true;
	return false;
}

void stack_print_brief(struct buf *out, const struct stack *st, const char *indent, unsigned most)
{
	const bool python = any_python(st);

	for (unsigned i = 0; i < st->n && most; i++) {
		if (python && i && !st->frames[i].python)
			continue;
		buf_str(out, indent);
		stack_print_frame(out, st, i);
		buf_byte(out, '\n');
		most--;
	}
}

struct frame {
	unsigned frame;
	uint64_t pc;
	struct symbol sym;
	bool inlined, python, device;
};
JS_DEFINE(frame_object, "frame", frame, JS(UINT, frame, frame), JS(HEX, frame, pc),
	JS_IN(TEXT, frame, sym, function, file), JS_IN(UINT, frame, sym, line),
	JS_AS("binary", TEXT, frame, sym.module), JS(BOOL, frame, inlined, python),
	JS_AS("on_gpu", BOOL, frame, device));

void stack_json_frame(struct buf *out, const struct stack *st, unsigned i)
{
	const struct backtrace_frame *f = &st->frames[i];

	js_add(out, &frame_object,
		&(struct frame){i, f->pc, f->sym, f->inlined, f->python, f->device});
}

void stack_json(struct buf *out, const void *stack)
{
	const struct stack *st = stack;

	buf_byte(out, '[');
	for (unsigned i = 0; i < st->n; i++)
		stack_json_frame(out, st, i);
	buf_byte(out, ']');
}

void stack_tell_top(struct session *s)
{
	struct stack st;
	struct buf b = BUF_INIT;
	struct err *e = stack_of_thread(s, s->engine.live.tid, &st);

	if (e) {
		err_free(e);
		return;
	}
	if (st.n) {
		stack_print_frame(&b, &st, 0);
		out_printf(s->out, "%s\n", buf_cstr(&b));
	}
	buf_free(&b);
	stack_free(&st);
}
