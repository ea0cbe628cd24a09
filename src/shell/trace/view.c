/* SPDX-License-Identifier: Apache-2.0
 *
 * Listing a trace's commands, for `tsdb view` and the shell's `view`. Memory stays constant: only
 * the kernels' names are kept, those of a trace that begins in the middle of a run out of its first
 * keyframe.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "shell/line/interrupt.h"
#include "shell/print/shown-names.h"
#include "shell/print/listing.h"
#include "shell/print/stack-view.h"
#include "shell/trace/trace.h"
#include "state/state.h"
#include "sbt/kernel-name.h"

enum { KERNEL_IDS_MAX = 1 << 22 };

struct kernel_name {
	char *mangled, *brief; /* brief: for globs, and JSON */
	const char *shown;     /* as `set names` says */
	void *params;
	uint64_t params_len;
};

struct view_stream {
	struct session *s;
	struct sbt_cursor *cur;
	struct sbt_reader *r;
	struct view_filter f;
	struct view_kernels known;
	struct view_test *test;
	struct state *base; /* at the trace's beginning; NULL: not needed */
	struct sbt_names base_names;
	struct kernel_name *kernels; /* by id */
	size_t nkernels;
	struct sbt_names names;
	uint64_t read; /* commands */
};

/* --- names --- */

static const struct kernel_name *find_kernel(const struct view_stream *v, uint32_t id)
{
	return id < v->nkernels && v->kernels[id].mangled ? &v->kernels[id] : NULL;
}

static const char *name_of(void *arg, uint32_t id)
{
	const struct view_stream *v = arg;
	const struct kernel_name *k = find_kernel(v, id);
	struct state_kernel sk;

	if (k)
		return v->f.json ? k->brief : k->shown;
	if (!v->base || !state_kernel_by_id(v->base, id, &sk))
		return NULL;
	return v->f.json ? sk.short_name : kernel_shown_name(v->s, sk.name);
}

static const char *brief_of(void *arg, uint32_t id)
{
	const struct view_stream *v = arg;
	const struct kernel_name *k = find_kernel(v, id);
	struct state_kernel sk;

	if (k)
		return k->brief;
	return v->base && state_kernel_by_id(v->base, id, &sk) ? sk.short_name : NULL;
}

static bool params_of(void *arg, uint32_t id, struct sbt_blob *ret)
{
	const struct view_stream *v = arg;
	const struct kernel_name *k = find_kernel(v, id);

	if (k) {
		*ret = (struct sbt_blob){k->params, k->params_len};
		return true;
	}
	return v->base && v->base_names.params && v->base_names.params(v->base_names.arg, id, ret);
}

static void learn_kernel(struct view_stream *v, const struct sbt_cmd *c)
{
	const struct sbt_blob *name = &c->u.kernel_def.kernel_name,
			      *params = &c->u.kernel_def.params;
	uint64_t id = c->u.kernel_def.new_kernel;
	struct kernel_name *k;
	char shown[512];

	if (id >= KERNEL_IDS_MAX || name->len > 1u << 20)
		return;
	if (id >= v->nkernels) {
		size_t want = (size_t)id * 2 + 16;

		v->kernels = xrealloc(v->kernels, want * sizeof *v->kernels);
		memset(v->kernels + v->nkernels, 0, (want - v->nkernels) * sizeof *v->kernels);
		v->nkernels = want;
	}
	k = &v->kernels[id];
	free(k->mangled);
	free(k->brief);
	free(k->params);
	k->mangled = xasprintf("%.*s", (int)name->len, name->len ? (const char *)name->p : "");
	sbt_kernel_short_name(shown, sizeof shown, k->mangled);
	k->brief = xstrdup(shown);
	k->shown = kernel_shown_name(v->s, k->mangled);
	k->params = xmalloc(params->len ? params->len : 1);
	k->params_len = params->len;
	if (params->len)
		memcpy(k->params, params->p, params->len);
}

static const char *mangled_of(void *arg, uint32_t id)
{
	const struct view_stream *v = arg;
	const struct kernel_name *k = find_kernel(v, id);
	struct state_kernel sk;

	if (k)
		return k->mangled;
	return v->base && state_kernel_by_id(v->base, id, &sk) ? sk.name : NULL;
}

/* Loads the kernels known at the last keyframe before the listed range; *ret_seq is the keyframe's
 * place, 0: none. */
static struct err *load_base(struct view_stream *v, uint64_t *ret_seq)
{
	uint64_t first = sbt_reader_first_seq(v->r);
	struct buf frame = BUF_INIT;
	struct err *e;

	*ret_seq = 0;
	if (v->f.first > first && !v->f.range) /* which ranges are open, a keyframe does not say */
		first = v->f.first;
	if (first < 2)
		return NULL;
	e = sbt_reader_keyframe(v->r, first - 1, ret_seq, &frame);
	if (!e && *ret_seq)
		e = state_decode(&v->base, frame.data, frame.len);
	buf_free(&frame);
	if (v->base)
		v->base_names = state_names(v->base);
	return e;
}

/* --- listing --- */

/* What a command has besides, with --stacks. */
struct stacked {
	struct stack stack;
};
JS_DEFINE(
	stacked_object, "stacked", stacked, JS_BY("frames", stacked, stack, stack_json, "[frame]"));

/* Appends the stack's lines; as JSON, a field before the closing brace. */
static struct err *print_stack(struct view_stream *v, const struct sbt_cmd *c, struct buf *out)
{
	struct stack st = {0};

	if (!v->f.stacks)
		return NULL;
	if (c->stack)
		TRY(stack_recorded(v->s, v->r, c->stack, &st));
	if (v->f.json) {
		out->len -= strlen("}");
		buf_byte(out, ',');
		js_members(out, &stacked_object, &(struct stacked){st});
		buf_byte(out, '}');
	}
	for (unsigned i = 0; !v->f.json && i < st.n; i++) {
		buf_byte(out, '\n');
		buf_str(out, "    ");
		stack_print_frame(out, &st, i);
	}
	stack_free(&st);
	return NULL;
}

struct err *view_stream_print(struct view_stream *v, const struct sbt_cmd *c, struct buf *out)
{
	if (v->f.json)
		sbt_json_cmd(out, c, &v->names);
	else
		sbt_print_cmd(out, c, &v->names);
	TRY(print_stack(v, c, out));
	buf_byte(out, '\n');
	return NULL;
}

struct err *view_stream_next(struct view_stream *v, const struct sbt_cmd **ret)
{
	const struct sbt_cmd *c;
	bool passes;

	*ret = NULL;
	for (;;) {
		TRY(sbt_cursor_next(v->cur, &c));
		if (!c || c->seq > v->f.last)
			return NULL;
		v->read++;
		if (c->kind == SBT_KERNEL_DEF)
			learn_kernel(v, c);
		TRY(view_test_passes(v->test, c, &passes));
		if (passes) {
			*ret = c;
			return NULL;
		}
		if (!(v->read & 0xffff)) {
			out_progress(v->s->out, "reading", v->read, sbt_reader_count(v->r));
			if (interrupt_flag)
				return NULL;
		}
	}
}

const char *view_stream_kernel(const struct view_stream *v, uint64_t id)
{
	return mangled_of((void *)(uintptr_t)v, (uint32_t)id);
}

void view_stream_close(struct view_stream *v)
{
	if (!v)
		return;
	sbt_cursor_close(v->cur);
	view_test_close(v->test);
	for (size_t i = 0; i < v->nkernels; i++) {
		free(v->kernels[i].mangled);
		free(v->kernels[i].brief);
		free(v->kernels[i].params);
	}
	free(v->kernels);
	if (v->base)
		state_free(v->base);
	free(v);
}

/* A range without any command of the trace is an error; a filter that no command passes is not. */
static struct err *check_range(struct sbt_reader *r, const struct view_filter *f)
{
	uint64_t first = sbt_reader_first_seq(r), last = sbt_reader_last_seq(r);

	if (!sbt_reader_count(r) || (f->first <= last && f->last >= first))
		return NULL;
	return err_cure(
		f->first == f->last
			? err_new(ERR_NOT_FOUND, "the trace has no #%" PRIu64, f->first)
			: err_new(ERR_NOT_FOUND, "the trace has nothing of #%" PRIu64 "-#%" PRIu64,
				  f->first, f->last),
		"It holds #%" PRIu64 "-#%" PRIu64, first, last);
}

static struct err *open_stream(struct view_stream *v)
{
	uint64_t from;

	TRY(check_range(v->r, &v->f));
	TRY(view_test_open(&v->test, v->s, &v->f, &v->known));
	TRY(load_base(v, &from));
	TRY(sbt_cursor_open(&v->cur, v->r));
	return from ? sbt_cursor_seek(v->cur, from + 1) : NULL;
}

struct err *view_stream_open(struct view_stream **ret, struct session *s, struct sbt_reader *r,
	const struct view_filter *f)
{
	struct view_stream *v = xcalloc(1, sizeof *v);
	struct err *e;

	*v = (struct view_stream){.s = s,
		.r = r,
		.f = *f,
		.known = {v, mangled_of, brief_of, params_of},
		.names = {.arg = v, .kernel = name_of, .params = params_of}};
	e = open_stream(v);
	if (!e)
		*ret = v;
	else
		view_stream_close(v);
	return e;
}

static struct err *list(struct view_stream *v, uint64_t *ret_shown)
{
	struct buf line = BUF_INIT;
	const struct sbt_cmd *c = NULL;
	struct err *e = NULL;

	while (!out_closed(v->s->out) && !interrupt_flag && !(e = view_stream_next(v, &c)) && c) {
		buf_clear(&line);
		e = view_stream_print(v, c, &line);
		if (e)
			break;
		out_str(v->s->out, buf_cstr(&line));
		++*ret_shown;
		e = NULL;
	}
	out_progress_end(v->s->out);
	buf_free(&line);
	return e;
}

/* --- how many --- */

struct counted {
	uint64_t count, commands;
};
JS_DEFINE(counted_object, "view_count", counted, JS(UINT, counted, count, commands));

static void counted_text(struct buf *out, const void *counted)
{
	const struct counted *n = counted;

	buf_printf(out, "%" PRIu64 " of %" PRIu64 " command%s.\n", n->count, n->commands,
		n->commands == 1 ? "" : "s");
}

/* Counts the commands that pass; the numbers of the newest ones go to ring, of f->newest. */
static struct err *count(struct session *s, struct sbt_reader *r, const struct view_filter *f,
	uint64_t *ring, struct counted *ret)
{
	const struct sbt_cmd *c;
	struct view_stream *v;
	struct err *e;

	*ret = (struct counted){0};
	TRY(view_stream_open(&v, s, r, f));
	while (!(e = view_stream_next(v, &c)) && c) {
		if (ring)
			ring[ret->count % f->newest] = c->seq;
		ret->count++;
	}
	ret->commands = sbt_reader_count(r);
	out_progress_end(s->out);
	view_stream_close(v);
	return !e && interrupt_flag ? err_new(ERR_INTERRUPTED, "interrupted") : e;
}

static struct err *show_count(struct session *s, struct sbt_reader *r, const struct view_filter *f)
{
	struct counted n;

	TRY(count(s, r, f, NULL, &n));
	if (f->newest && n.count > f->newest)
		n.count = f->newest;
	listing_one(s, f->json, &counted_object, counted_text, &n);
	return NULL;
}

/* Sets f->first to the oldest of the newest commands that pass. */
static struct err *begin_at_newest(struct session *s, struct sbt_reader *r, struct view_filter *f)
{
	const uint64_t first = sbt_reader_first_seq(r), last = sbt_reader_last_seq(r),
		       end = f->last < last ? f->last : last;
	uint64_t *ring;
	struct counted n;
	struct err *e;

	if (!view_filter_chooses(f) && last - first + 1 == sbt_reader_count(r)) {
		if (end - first >= f->newest && end - f->newest + 1 > f->first)
			f->first = end - f->newest + 1;
		return NULL;
	}
	ring = xcalloc((size_t)f->newest, sizeof *ring);
	e = count(s, r, f, ring, &n);
	if (!e && n.count > f->newest)
		f->first = ring[n.count % f->newest];
	free(ring);
	return e;
}

struct err *view_commands(struct session *s, struct sbt_reader *r, const struct view_filter *of)
{
	struct view_filter f = *of;
	struct view_stream *v;
	uint64_t shown = 0;
	struct err *e;

	if (f.count)
		return show_count(s, r, &f);
	if (f.newest)
		TRY(begin_at_newest(s, r, &f));
	TRY(view_stream_open(&v, s, r, &f));
	e = list(v, &shown);
	view_stream_close(v);
	if (!e && !shown && !f.json)
		out_str(s->out, "No such commands.\n");
	return e;
}
