/* SPDX-License-Identifier: Apache-2.0
 *
 * Host call stacks, see stack-view.h. Surprise: at a stop of the agent the innermost frames are the agent's, CUPTI's and the driver's, then
 * the CUDA runtime's; they are left out, so that frame 0 is the program's own call (`set backtrace runtime on` shows the runtime's).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/live/breakpoints.h"
#include "engine/recorder.h"
#include "shell/print/stack-view.h"

enum { FRAMES_MAX = 1024, INLINE_MAX = 32 };

void stack_free(struct stack *st)
{
	free(st->frames);
	memset(st, 0, sizeof *st);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with_one(const char *text, const char *const *names)
{
	for (; text && *names; names++) {
		if (!strncmp(text, *names, strlen(*names)))
			return true;
	}
	return false;
}

static bool is_ours(const struct symbol *sym)
{
	static const char *const names[] = {"libtsdb-agent.so", "libcupti.so", "libcuda.so", NULL};

	return sym->module && begins_with_one(base_name(sym->module), names);
}

/* The CUDA runtime, and what nvcc puts between a <<<>>> and the runtime. */
static bool is_runtime(const struct symbol *sym)
{
	static const char *const names[] = {"libcudart.so", NULL};
	static const char *const stubs[] = {"__device_stub__", "__cudaLaunchKernel_helper", "cudaLaunchKernel<", NULL};

	return begins_with_one(sym->function, stubs) || (sym->module && begins_with_one(base_name(sym->module), names));
}

/* Leaves out the innermost frames while they are the agent's, CUPTI's, the driver's and, unless it is wanted, the runtime's. */
static void hide_inner(struct stack *st, bool runtime)
{
	unsigned n = 0;

	while (n < st->n && (is_ours(&st->frames[n].sym) || (!runtime && is_runtime(&st->frames[n].sym))))
		n++;
	if (!n || n >= st->n)
		return;
	memmove(st->frames, st->frames + n, (st->n - n) * sizeof *st->frames);
	st->n -= n;
}

/* What called main() is nobody's business, as in gdb; nor is it when main() itself has no name. */
static void hide_outer(struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++) {
		if (!st->frames[i].python && st->frames[i].sym.function && !strcmp(st->frames[i].sym.function, "__libc_start_call_main"))
			st->n = i;
		else if (!st->frames[i].python && st->frames[i].sym.function && !strcmp(st->frames[i].sym.function, "main"))
			st->n = i + 1;
	}
}

/* Keeps the frames for which flag is as told. */
static void keep_if(struct stack *st, bool (*flag)(const struct backtrace_frame *f), bool wanted)
{
	unsigned n = 0;

	for (unsigned i = 0; i < st->n; i++) {
		if (flag(&st->frames[i]) == wanted)
			st->frames[n++] = st->frames[i];
	}
	st->n = n;
}

static bool is_interpreter(const struct backtrace_frame *f)
{
	return f->interpreter;
}

static bool is_python(const struct backtrace_frame *f)
{
	return f->python;
}

static void hide_frames(const struct session *s, struct stack *st, bool inner, enum stack_only only)
{
	backtrace_mark_interpreter(st->frames, st->n);
	if (inner)
		hide_inner(st, s->engine.set.number[SET_BT_RUNTIME]);
	if (!s->engine.set.number[SET_BT_PAST_MAIN])
		hide_outer(st);
	if (only == STACK_MIXED && !s->engine.set.number[SET_BT_INTERPRETER])
		keep_if(st, is_interpreter, false);
	if (only != STACK_MIXED)
		keep_if(st, is_python, only == STACK_PYTHON);
}

static struct err *take_thread(struct session *s, pid_t tid, enum stack_only only, struct stack *ret)
{
	memset(ret, 0, sizeof *ret);
	TRY(inferior_backtrace(s->target.inf, tid, FRAMES_MAX, &ret->frames, &ret->n));
	hide_frames(s, ret, s->target.at_cmd, only);
	return NULL;
}

struct err *stack_of_thread(struct session *s, pid_t tid, struct stack *ret)
{
	return take_thread(s, tid, STACK_MIXED, ret);
}

static void add_place(struct stack *ret, const struct sbt_place *p)
{
	struct backtrace_frame f = {.python = true};

	if (p)
		f.sym = (struct symbol){.function = p->function, .file = p->file, .line = p->line};
	ret->frames = xrealloc(ret->frames, (ret->n + 1) * sizeof *ret->frames);
	ret->frames[ret->n++] = f;
}

/* A native frame; m NULL: in no file. */
static void add_native(struct session *s, const struct sbt_host_module *m, const struct sbt_frame *f, struct stack *ret)
{
	struct symbol syms[INLINE_MAX];
	unsigned n;

	memset(syms, 0, sizeof syms);
	if (!s->symbols)
		s->symbols = symbols_new();
	n = m ? symbols_lookup(s->symbols, m->path, m->build_id, f->offset, syms, INLINE_MAX) : 1;
	ret->frames = xrealloc(ret->frames, (ret->n + n) * sizeof *ret->frames);
	for (unsigned i = 0; i < n; i++)
		ret->frames[ret->n++] = (struct backtrace_frame){.pc = f->offset, .sym = syms[i], .inlined = i + 1 < n};
}

static void add_recorded(struct session *s, struct sbt_reader *r, const struct sbt_frame *f, struct stack *ret)
{
	const struct sbt_host_module *m = f->module == SBT_NO_ID ? NULL : sbt_reader_module(r, f->module);

	if (m && !strcmp(m->path, SBT_MODULE_PYTHON))
		add_place(ret, sbt_reader_place(r, f->offset));
	else
		add_native(s, m, f, ret);
}

static void add_kept(struct session *s, const struct sbt_frame *f, struct stack *ret)
{
	struct sbt_host_module m;
	struct sbt_place p;
	const bool known = f->module != SBT_NO_ID && drain_module(s->target.inf, f->module, &m);

	if (known && !strcmp(m.path, SBT_MODULE_PYTHON))
		add_place(ret, drain_place(s->target.inf, f->offset, &p) ? &p : NULL);
	else
		add_native(s, known ? &m : NULL, f, ret);
}

void stack_kept(struct session *s, uint32_t id, struct stack *ret)
{
	const struct sbt_frame *frames;
	unsigned n;

	*ret = (struct stack){.recorded = true};
	if (!s->recorder || !s->target.inf || !recorder_stack(s->recorder, id, &frames, &n))
		return;
	for (unsigned i = 0; i < n; i++)
		add_kept(s, &frames[i], ret);
	hide_frames(s, ret, true, STACK_MIXED);
}

static struct err *take_recorded(struct session *s, struct sbt_reader *r, uint32_t id, enum stack_only only, struct stack *ret)
{
	const struct sbt_frame *frames;
	unsigned n;

	memset(ret, 0, sizeof *ret);
	ret->recorded = true;
	TRY(sbt_reader_stack(r, id, &frames, &n));
	for (unsigned i = 0; i < n; i++)
		add_recorded(s, r, &frames[i], ret);
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

	if (s->focus == FOCUS_REPLAY) {
		if (!session_cmd(s, &c))
			return err_cure(err_new(ERR_STATE, "there is no command here: the replay is at the beginning"), "Use \"replay step\"");
		if (!c->stack)
			return err_cure(err_new(ERR_INCOMPLETE, "no host stack was recorded for #%" PRIu64, c->seq),
				"`set capture stacks on` before the capture records them");
		return take_recorded(s, s->engine.trace.reader, c->stack, only, ret);
	}
	if (!s->target.inf)
		return err_cure(err_new(ERR_STATE, "there is no stack: the program is not being run"), "Use \"run\" or \"replay start\"");
	return take_thread(s, s->target.tid, only, ret);
}

void stack_print_frame(struct buf *out, const struct stack *st, unsigned i)
{
	const struct backtrace_frame *f = &st->frames[i];
	const struct symbol *y = &f->sym;

	buf_printf(out, "#%-3u", i);
	if (!f->inlined && !f->python && !(st->recorded && y->function))
		buf_printf(out, "0x%016" PRIx64 " in ", f->pc);
	if (y->function)
		buf_printf(out, "%s%s", y->function, strchr(y->function, '(') ? "" : " ()");
	else
		buf_str(out, "?? ()");
	if (y->file)
		buf_printf(out, " at %s:%u", y->file, y->line);
	else if (y->module)
		buf_printf(out, " from %s", st->recorded ? base_name(y->module) : y->module);
	if (f->inlined)
		buf_str(out, " (inlined)");
	if (f->python)
		buf_str(out, " (Python)");
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

static void json_member(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, ",\"%s\":", name);
	if (text)
		json_string(out, text);
	else
		buf_str(out, "null");
}

void stack_json(struct buf *out, const struct stack *st)
{
	buf_byte(out, '[');
	for (unsigned i = 0; i < st->n; i++) {
		const struct backtrace_frame *f = &st->frames[i];

		buf_printf(out, "%s{\"frame\":%u,\"pc\":\"0x%" PRIx64 "\"", i ? ",\n" : "", i, f->pc);
		json_member(out, "function", f->sym.function);
		json_member(out, "file", f->sym.file);
		buf_printf(out, ",\"line\":%u", f->sym.line);
		json_member(out, "module", f->sym.module);
		buf_printf(out, ",\"inlined\":%s,\"python\":%s}", f->inlined ? "true" : "false", f->python ? "true" : "false");
	}
	buf_str(out, "]\n");
}

void stack_tell_top(struct session *s)
{
	struct stack st;
	struct buf b = BUF_INIT;
	struct err *e = stack_of_thread(s, s->target.tid, &st);

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
