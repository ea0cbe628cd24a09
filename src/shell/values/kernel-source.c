/* SPDX-License-Identifier: Apache-2.0
 *
 * The source's names inside a launch, see kernel-source.h. The surprise: a selection counts for one
 * stop of one thread alone, so it is kept with the stop and nothing has to be reset.
 */
#include "shell/values/kernel-source.h"

#include <stdlib.h>
#include <string.h>
#include "shell/print/kernel-text.h"
#include "shell/values/memory-view.h"
#include "shell/values/value-text.h"
#include "shell/values/vars.h"

/* --- the selected frame --- */

unsigned kernel_frame_selected(const struct session *s)
{
	const struct soft_stop *t = kernel_stop(s);
	const struct kernel_selection *k = &s->kernel_frame;

	return t && k->seq == t->seq && k->total == t->total && k->warp == t->warp &&
			       k->lane == t->lane && !memcmp(k->block, t->block, sizeof k->block)
		       ? k->frame
		       : 0;
}

void kernel_frame_select(struct session *s, unsigned frame)
{
	const struct soft_stop *t = kernel_stop(s);

	if (!t)
		return;
	s->kernel_frame = (struct kernel_selection){
		.frame = frame, .seq = t->seq, .total = t->total, .warp = t->warp, .lane = t->lane};
	memcpy(s->kernel_frame.block, t->block, sizeof t->block);
}

/* --- memory --- */

static struct err *read_for(void *arg, uint64_t addr, void *dst, size_t n);

struct reader {
	struct session *s;
	int lane;
};

static struct kernel_place place(struct reader *r, unsigned frame)
{
	return (struct kernel_place){.en = &r->s->engine,
		.l = vars_lang(r->s->vars),
		.lane = r->lane,
		.frame = frame,
		.read = read_for,
		.arg = r};
}

static struct err *read_for(void *arg, uint64_t addr, void *dst, size_t n)
{
	const struct reader *r = arg;

	return kernel_read_lane(r->s, r->lane, SOFT_GLOBAL, addr, dst, n);
}

struct err *kernel_read_lane(
	struct session *s, int lane, unsigned space, uint64_t addr, void *dst, size_t n)
{
	if (space == SOFT_GLOBAL && kernel_stop(s))
		kernel_leave_window(&space, &addr);
	return space == SOFT_GLOBAL ? memory_read(s, addr, dst, n)
				    : kernel_read(s, space, addr, lane, dst, n);
}

/* --- frames --- */

static void add_frame(
	struct session *s, const struct kernel_frame *f, unsigned i, struct backtrace_frame *ret)
{
	struct symbols *sy = session_symbols(s);

	*ret = (struct backtrace_frame){.pc = f->ptx_line,
		.device = true,
		.inlined = f->inlined,
		.number = i,
		.sym = {.function = symbols_demangle(sy, symbols_keep(sy, f->function)),
			.file = f->file ? symbols_keep(sy, f->file) : NULL,
			.line = f->line}};
}

struct err *kernel_add_frames(struct session *s, struct stack *st)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, 0);
	struct kernel_frames f;

	if (!kernel_stop(s))
		return NULL;
	TRY(kernel_frames(&p, &f));
	st->frames = xrealloc(st->frames, (st->n + f.n + 1) * sizeof *st->frames);
	memmove(st->frames + f.n, st->frames, st->n * sizeof *st->frames);
	for (unsigned i = 0; i < f.n; i++)
		add_frame(s, &f.v[i], i, &st->frames[i]);
	st->n += f.n;
	kernel_frames_free(&f);
	return NULL;
}

bool kernel_in_function(struct session *s)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, 0);
	struct kernel_frames f = {0};
	struct err *e = kernel_stop(s) ? kernel_frames(&p, &f) : NULL;
	const bool ret = !e && kernel_frame_selected(s) + 1 < f.n;

	err_free(e);
	kernel_frames_free(&f);
	return ret;
}

struct err *kernel_frame_call(struct session *s, int lane, uint32_t *ret)
{
	struct reader r = {s, lane};
	const struct kernel_place p = place(&r, 0);
	const unsigned selected = kernel_frame_selected(s);
	struct kernel_frames f;

	*ret = 0;
	TRY(kernel_frames(&p, &f));
	if (selected < f.n)
		*ret = f.v[selected].call;
	kernel_frames_free(&f);
	return NULL;
}

struct err *kernel_source_copies(
	struct session *s, int lane, const char *reg, struct ptx_copies *ret)
{
	struct reader r = {s, lane};
	const struct kernel_place p = place(&r, kernel_frame_selected(s));

	return kernel_copies(&p, reg, ret);
}

/* --- variables --- */

struct err *kernel_source_value(
	struct session *s, const char *name, int lane, struct lang_value *ret, bool *ret_found)
{
	struct reader r = {s, lane};
	const struct kernel_place p = place(&r, kernel_frame_selected(s));

	*ret_found = false;
	if (!kernel_stop(s) || *name == '%' || *name == '$')
		return NULL;
	return kernel_variable(&p, name, ret, ret_found);
}

bool kernel_source_replaced(struct session *s, const char *text, char *dst, size_t n)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, 0);

	return kernel_names_replaced(&p, text, dst, n);
}

const struct lang_type *kernel_source_type(struct session *s, const char *name)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, kernel_frame_selected(s));

	return kernel_stop(s) ? kernel_type(&p, name) : NULL;
}

struct err *kernel_list_variables(
	struct session *s, unsigned frame, unsigned which, struct listing *l, bool *ret_known)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, frame);
	struct shown_list in = {s, l};

	return kernel_variables(&p, which, shown_list_add, &in, ret_known);
}

struct err *kernel_print_variables(struct session *s, unsigned frame, struct buf *out)
{
	struct listing l = listing_begin(s, false, &shown_value_object, NULL, shown_value_text);
	bool known = false;
	struct err *e = kernel_list_variables(s, frame, 0, &l, &known);

	if (!e)
		buf_str(out, l.n     ? buf_cstr(&l.b)
			     : known ? "No locals.\n"
				     : "No symbol table info available.\n");
	buf_free(&l.b);
	return e;
}

struct err *kernel_unknown_name(struct session *s, const char *name)
{
	struct reader r = {s, -1};
	const struct kernel_place p = place(&r, 0);
	const struct soft_stop *t = kernel_stop(s);
	struct kernel_frames f;
	char kernel[SOFT_NAME];
	bool debug;

	if (!t)
		return NULL;
	TRY(kernel_frames(&p, &f));
	debug = f.debug;
	kernel_frames_free(&f);
	if (debug)
		return err_cure(err_new(ERR_NOT_FOUND, "no variable %s is known here", name),
			"\"info locals\" lists those of the selected frame");
	if (t->unit == SOFT_CODE)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s is not known: variables of HIP kernels are not read from their debug information",
				name),
			"\"info registers\" shows what there is");
	return err_cure(err_new(ERR_NOT_FOUND, "%s is not known: the PTX of %s has no variables",
				name, kernel_short_name(kernel, sizeof kernel, t->kernel)),
		"Build with \"nvcc -G\" to have them; \"info registers\" shows what there is");
}

struct err *kernel_tell_variables(struct session *s, unsigned which, bool json)
{
	struct listing l = listing_begin(s, json, &shown_value_object, NULL, shown_value_text);
	const struct soft_stop *t = kernel_stop(s);
	bool known = false;
	struct err *e = kernel_list_variables(s, kernel_frame_selected(s), which, &l, &known);

	if (e) {
		buf_free(&l.b);
		return e;
	}
	listing_end(&l,
		known ? which == VARIABLES_ARGS ? "No arguments.\n" : "No locals.\n"
		: t && t->unit == SOFT_CODE
			? "Variables of HIP kernels are not read from their debug information: \"info registers\" shows what there is.\n"
			: "The PTX has no variables here: build with \"nvcc -G\" to have them.\n");
	return NULL;
}
