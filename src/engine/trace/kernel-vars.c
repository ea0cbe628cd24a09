/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and variables of a lane, see microscope.h. The debug information is that of the very
 * text that the launch runs, which the replayer gives. An address in it is a line of that text; a
 * variable lives in a register, by its name in the PTX, or behind a variable of the PTX, whose
 * address and memory space the microscope knows.
 */
#include "engine/microscope.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "engine/replay-device.h"
#include "engine/trace/probe-names.h"
#include "symbols/kernel-debug.h"

enum { TEXT_SLICE = 1 << 20, TEXT_MAX = 256 << 20, INLINED_MAX = 32 };

struct launch_names {
	uint64_t seq; /* of the launch that the text was read for */
	const void *device;
	struct buf text;
	struct lang *l;
	struct kernel_debug *debug; /* NULL: the text has none */
};

void launch_names_free(struct launch_names *n)
{
	if (!n)
		return;
	kernel_debug_free(n->debug);
	buf_free(&n->text);
	free(n);
}

/* --- the text --- */

static struct err *read_text(struct device *d, struct buf *ret)
{
	struct soft_ask q = {.what = SOFT_ASK_TEXT, .size = TEXT_SLICE};
	size_t n = 1;

	while (n && ret->len < TEXT_MAX) {
		void *bytes;

		q.addr = ret->len;
		TRY(device_kernel_ask(d, &q, 1, &bytes, &n));
		buf_add(ret, bytes, n);
		free(bytes);
	}
	return NULL;
}

/* The names of the launch under the microscope; *ret NULL: there is no debug information. */
static struct err *names(const struct kernel_place *p, struct device *d, struct kernel_debug **ret)
{
	struct launch_names **at = &p->en->trace.launch_names, *n = *at;
	const struct soft_stop *t = microscope_stop(p->en);
	struct buf text = BUF_INIT;
	struct err *e;

	*ret = NULL;
	if (n && t && n->seq == t->seq && n->device == d && n->l == p->l) {
		*ret = n->debug;
		return NULL;
	}
	e = read_text(d, &text);
	if (e) {
		buf_free(&text);
		return e;
	}
	if (n && n->l == p->l && n->text.len == text.len &&
		(!text.len || !memcmp(n->text.data, text.data, text.len))) {
		buf_free(&text);
	} else {
		launch_names_free(n);
		*at = n = xcalloc(1, sizeof *n);
		n->text = text;
		n->l = p->l;
		n->debug = kernel_debug_new(p->l, buf_cstr(&n->text));
	}
	n->seq = t ? t->seq : 0;
	n->device = d;
	*ret = n->debug;
	return NULL;
}

/* --- frames --- */

static struct err *ask_frames(
	const struct kernel_place *p, struct device *d, struct soft_frame **ret, size_t *ret_n)
{
	const struct soft_ask q = {
		.what = SOFT_ASK_FRAMES, .lane = p->lane < 0 ? 0 : (uint32_t)p->lane + 1};
	void *v;

	TRY(device_kernel_ask(d, &q, sizeof **ret, &v, ret_n));
	*ret = v;
	return NULL;
}

static void add_frame(struct kernel_frames *f, struct kernel_frame frame)
{
	f->v = xrealloc(f->v, (f->n + 1) * sizeof *f->v);
	f->v[f->n++] = frame;
}

/* One frame of the PTX: with the calls that were inlined where it is. */
static void add_calls(struct kernel_debug *debug, const struct soft_frame *f, unsigned call,
	struct kernel_frames *ret)
{
	struct kernel_frame one = {.function = f->function,
		.file = f->source_line && f->file[0] ? f->file : NULL,
		.line = f->source_line,
		.ptx_line = f->line,
		.call = call};
	struct symbols_scope sc = {0};
	struct inlined_call outer;

	ret->debug |= !ret->n && debug && kernel_debug_scopes(debug, f->line, &sc);
	free(sc.scopes);
	while (debug && one.depth < INLINED_MAX &&
		kernel_debug_inlined(debug, f->line, one.depth, &outer)) {
		one.function = outer.function ? outer.function : one.function;
		one.inlined = true;
		add_frame(ret, one);
		one = (struct kernel_frame){.function = f->function,
			.file = kernel_debug_file(debug, outer.file),
			.line = outer.line,
			.ptx_line = f->line,
			.call = call,
			.depth = one.depth + 1};
	}
	add_frame(ret, one);
}

struct err *kernel_frames(const struct kernel_place *p, struct kernel_frames *ret)
{
	struct kernel_debug *debug;
	struct soft_frame *f;
	struct device *d;
	size_t n;

	*ret = (struct kernel_frames){0};
	TRY(microscope_need(p->en, "the call stack", &d));
	TRY(names(p, d, &debug));
	TRY(ask_frames(p, d, &f, &n));
	for (size_t i = 0; i < n; i++)
		add_calls(debug, &f[i], (unsigned)i, ret);
	ret->texts = f;
	return NULL;
}

void kernel_frames_free(struct kernel_frames *f)
{
	free(f->v);
	free(f->texts);
	*f = (struct kernel_frames){0};
}

/* --- a frame's variables --- */

struct open {
	const struct kernel_place *p;
	struct device *d;
	struct kernel_debug *debug; /* NULL: no debug information about the frame */
	struct kernel_frame frame;
	struct symbols_scope sc;
	struct dwarf_context ctx;
	struct variables_frame vars;
	char why[200];
	/* the last register that was read for a value, its bits, and how many were */
	char reg[9];
	uint64_t bits;
	unsigned nregs;
};

/* The value of a register, or the address of a variable of the PTX. */
static struct err *ask_name(const struct open *o, const char *name, struct soft_value *ret)
{
	const struct soft_stop *t = microscope_stop(o->p->en);
	struct soft_ask q = {.what = SOFT_ASK_VALUE, .frame = o->frame.call};
	void *v;
	size_t n;

	q.lane = 1 + (o->p->lane >= 0 ? (uint32_t)o->p->lane : t ? t->lane : 0);
	if (strlen(name) >= sizeof q.text)
		return err_new(ERR_LIMIT, "its place has a name that is too long");
	strcpy(q.text, name);
	TRY(device_kernel_ask(o->d, &q, sizeof *ret, &v, &n));
	if (n)
		memcpy(ret, v, sizeof *ret);
	free(v);
	return n ? NULL : err_new(ERR_INFERIOR, "the replayer has no answer");
}

static unsigned lane_of(const struct open *o)
{
	const struct soft_stop *t = microscope_stop(o->p->en);

	return (o->p->lane >= 0 ? (unsigned)o->p->lane : t ? t->lane : 0) % SOFT_LANES;
}

static const char *read_register(void *arg, uint64_t number, uint64_t *ret)
{
	struct open *o = arg;
	struct soft_value v;
	char name[9];
	struct err *e;

	if (!kernel_debug_register(number, name))
		return "its register has no name";
	e = ask_name(o, name, &v);
	if (e) {
		err_free(e);
		snprintf(o->why, sizeof o->why, "its register %s is not there", name);
		return o->why;
	}
	*ret = v.value[lane_of(o)];
	memcpy(o->reg, name, sizeof o->reg);
	o->bits = *ret;
	o->nregs++;
	return NULL;
}

/* A value that lies in one register as it is can be set there. */
static void name_register(const struct open *o, struct lang_value *v)
{
	const struct lang_type *t = v->type ? lang_strip(v->type) : NULL;

	if (t && v->place == LANG_COMPUTED && o->nregs == 1 && v->bytes && t->size <= 8 &&
		!memcmp(v->bytes, &o->bits, (size_t)t->size))
		v->variable = xasprintf("%%%s", o->reg);
}

/* Where a memory space begins among generic addresses, which is what the program's pointers hold.
 * False: there is no such space. */
static bool window_of(const char *space, uint64_t *ret)
{
	static const char *const spaces[SOFT_SPACES] = {"global", "shared", "local", "param"};

	for (unsigned i = 0; i < SOFT_SPACES; i++)
		if (!strcmp(spaces[i], space)) {
			*ret = soft_windows[i];
			return true;
		}
	return false;
}

/* Makes the generic address of a PTX variable of one in the DWARF. */
static struct err *find_place(struct open *o, const char *what, uint64_t *addr)
{
	struct soft_value v;
	uint64_t offset, window = 0;
	const char *symbol = kernel_debug_symbol(o->debug, *addr, &offset);
	struct err *e;
	bool found;

	if (!symbol)
		return NULL; /* an address that the program computed */
	e = ask_name(o, symbol, &v);
	found = !e && window_of(v.declared, &window);
	err_free(e);
	if (!found)
		return err_new(ERR_UNSUPPORTED,
			"the value of %s is not available: %s is not in this PTX", what, symbol);
	*addr = window + v.value[lane_of(o)] + offset;
	return NULL;
}

static struct err *settle(void *arg, const char *name, struct lang_value *v)
{
	return find_place(arg, name, &v->addr);
}

static struct err *read_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	struct open *o = arg;

	TRY(find_place(o, "memory", &addr));
	return o->p->read(o->p->arg, addr, dst, n);
}

/* Opens the frame; o->debug NULL: nothing is known about it. */
static struct err *open_frame(const struct kernel_place *p, struct open *o)
{
	struct kernel_frames f;
	struct kernel_debug *debug;

	*o = (struct open){.p = p};
	TRY(microscope_need(p->en, "a variable", &o->d));
	TRY(names(p, o->d, &debug));
	if (!debug)
		return NULL;
	TRY(kernel_frames(p, &f));
	if (p->frame < f.n) {
		o->frame = f.v[p->frame];
		if (kernel_debug_scopes(debug, o->frame.ptx_line, &o->sc))
			o->debug = debug;
	}
	kernel_frames_free(&f);
	if (!o->debug)
		return NULL;
	o->ctx = (struct dwarf_context){.read = read_memory,
		.arg = o,
		.reg = read_register,
		.settle = settle,
		.pc = o->sc.addr};
	o->vars = (struct variables_frame){
		kernel_debug_names(debug), &o->ctx, &o->sc, o->frame.depth, 0};
	return NULL;
}

static void close_frame(struct open *o)
{
	free(o->sc.scopes);
}

struct err *kernel_variables(const struct kernel_place *p, unsigned which,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg, bool *ret_known)
{
	struct open o;

	*ret_known = false;
	TRY(open_frame(p, &o));
	*ret_known = o.debug != NULL;
	if (o.debug) {
		o.vars.which = which;
		frame_variables(&o.vars, each, arg);
	}
	close_frame(&o);
	return NULL;
}

struct err *kernel_variable(
	const struct kernel_place *p, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct open o;
	struct err *e = NULL;

	*ret_found = false;
	if (!microscope_stop(p->en))
		return NULL;
	TRY(open_frame(p, &o));
	if (o.debug) {
		e = frame_variable(&o.vars, name, ret, ret_found);
		if (!e && *ret_found)
			name_register(&o, ret);
		if (!e && !*ret_found)
			e = file_variable(o.vars.names, &o.ctx, &o.sc.cu, name, ret, ret_found);
		if (!e && *ret_found && ret->type && ret->type->kind == LANG_FUNCTION) {
			lang_value_free(ret); /* its address here is a line of the PTX */
			*ret_found = false;
		}
	}
	close_frame(&o);
	return e;
}

/* --- copies of a register --- */

/* Leaves out of a list what other variables of the frame have. */
struct others {
	struct open *o;
	const char *reg;
	struct ptx_copies *list;
};

static void leave_out(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	struct others *x = arg;

	(void)name, (void)v, (void)why;
	for (unsigned i = 1; i < x->list->n && x->o->nregs; i++)
		if (!strcmp(x->list->reg[i], x->o->reg) && strcmp(x->o->reg, x->reg) != 0)
			strcpy(x->list->reg[i--], x->list->reg[--x->list->n]);
	x->o->nregs = 0;
}

/* Leaves those in that hold the same as the first. */
static struct err *keep_equal(struct open *o, struct ptx_copies *list)
{
	struct soft_value first, v;
	unsigned n = 1;

	TRY(ask_name(o, list->reg[0], &first));
	for (unsigned i = 1; i < list->n; i++) {
		struct err *e = ask_name(o, list->reg[i], &v);

		if (!e && v.bytes == first.bytes && v.value[lane_of(o)] == first.value[lane_of(o)])
			memmove(list->reg[n++], list->reg[i], sizeof list->reg[i]);
		err_free(e);
	}
	list->n = n;
	return NULL;
}

/* The first and last line of the function that a line is in; false: of none. */
static bool function_lines(struct open *o, unsigned *ret_first, unsigned *ret_last)
{
	const struct soft_ask q = {.what = SOFT_ASK_FUNCTIONS};
	const struct soft_function *f;
	bool found = false;
	size_t n = 0;
	void *v = NULL;
	struct err *e = device_kernel_ask(o->d, &q, sizeof *f, &v, &n);

	f = v;
	for (size_t i = 0; i < n && !found; i++) {
		found = f[i].first_line <= o->frame.ptx_line && o->frame.ptx_line <= f[i].last_line;
		*ret_first = f[i].first_line;
		*ret_last = f[i].last_line;
	}
	free(v);
	err_free(e);
	return found;
}

static struct err *find_copies(struct open *o, const char *reg, struct ptx_copies *ret)
{
	struct others x = {o, reg, ret};
	unsigned first, last;

	if (!o->debug || !function_lines(o, &first, &last) ||
		!ptx_copies(buf_cstr(&o->p->en->trace.launch_names->text), first, last, reg, ret))
		return err_new(ERR_UNSUPPORTED,
			"%s has too many copies to tell which are this variable's", reg);
	o->nregs = 0;
	frame_variables(&o->vars, leave_out, &x);
	return keep_equal(o, ret);
}

struct err *kernel_copies(const struct kernel_place *p, const char *reg, struct ptx_copies *ret)
{
	struct open o;
	struct err *e;

	TRY(open_frame(p, &o));
	e = find_copies(&o, reg, ret);
	close_frame(&o);
	return e;
}

const struct lang_type *kernel_type(const struct kernel_place *p, const char *name)
{
	const struct lang_type *t = NULL;
	struct open o;
	struct err *e;

	if (!microscope_stop(p->en))
		return NULL;
	e = open_frame(p, &o);
	if (!e && o.debug) {
		t = frame_type(&o.vars, name);
		t = t ? t : file_type(o.vars.names, &o.sc.cu, name);
	}
	if (!e)
		close_frame(&o);
	err_free(e);
	return t;
}

/* --- expressions of probes --- */

bool kernel_names_replaced(const struct kernel_place *p, const char *text, char *dst, size_t n)
{
	const struct soft_stop *t = microscope_stop(p->en);
	struct kernel_debug *debug = NULL;
	struct soft_probe_row row = {0};
	const char *is = text;
	struct err *e;

	if (!t || !p->en->trace.device)
		return false;
	e = names(p, p->en->trace.device->d, &debug);
	if (!e && debug && kernel_debug_names(debug)) {
		e = probe_row_fill(debug, t->line, text, NULL, &row);
		if (!e)
			is = row.expr;
		else if (e->code != ERR_NOT_FOUND) /* else a function without variables */
			is = NULL;
	}
	err_free(e);
	if (!is || strlen(is) >= n)
		return false;
	strcpy(dst, is);
	return true;
}
