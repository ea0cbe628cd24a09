/* SPDX-License-Identifier: Apache-2.0
 *
 * A dispatch under the microscope: its observer hands everything to softcore/micro-core.h. The
 * surprise: machine code has no frames. A call is an s_swappc or s_call that goes elsewhere, and
 * a return an s_setpc to where such a call would go on; each wave's are followed as they happen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "softamd/micro/amd-micro.h"

/* --- waves --- */

/* Work-items of the workgroup in each dimension: the last ones of a grid may be fewer. */
static void size_of(const struct amd_group *g, uint32_t size[3])
{
	const struct amd_launch *l = g->worker->l;

	for (unsigned k = 0; k < 3; k++) {
		const uint32_t left = l->grid[k] - g->id[k] * l->size[k];

		size[k] = left < l->size[k] ? left : l->size[k];
	}
}

void amd_micro_item(const struct amd_wave *w, unsigned lane, uint32_t ret[3])
{
	const uint32_t item = w->index * AMD_LANES + lane;
	uint32_t size[3];

	size_of(w->group, size);
	ret[0] = item % size[0];
	ret[1] = item / size[0] % size[1];
	ret[2] = item / size[0] / size[1];
}

uint64_t amd_micro_lanes(const struct amd_wave *w)
{
	const uint32_t left = w->group->items - w->index * AMD_LANES;

	return left >= AMD_LANES ? ~0ull : (1ull << left) - 1;
}

struct amd_calls *amd_micro_calls(const struct soft_session *s, struct micro_at w)
{
	return &amd_micro_of(s)->calls[micro_steps(s, w) - s->steps];
}

/* --- code --- */

uint32_t amd_micro_line_of(const struct amd_micro *m, uint64_t pc)
{
	const uint64_t line = pc - m->bias;

	return line <= UINT32_MAX ? (uint32_t)line : 0;
}

void amd_micro_source(
	const struct amd_micro *m, uint64_t pc, uint32_t *ret_line, char *file, size_t n)
{
	const struct amd_line *l = m->image ? amd_image_line(m->image, pc - m->bias) : NULL;

	if (!l)
		return;
	*ret_line = l->line;
	if (file)
		snprintf(file, n, "%s", amd_image_file(m->image, l));
}

unsigned amd_micro_text(const struct amd_micro *m, uint64_t pc, char *text, size_t n)
{
	uint32_t words[2] = {0, 0};
	struct amd_extent e;
	struct gfx_insn i;
	size_t have;

	if (n)
		*text = 0;
	if (pc & 3 || !m->memory->find(m->memory->arg, pc, &e) || pc < e.start || pc >= e.end ||
		e.end - pc < 4)
		return 0;
	have = e.end - pc >= 8 ? 2 : 1;
	memcpy(words, (const void *)(uintptr_t)pc, 4 * have);
	if (!gfx_decode(m->target, words, have, &i)) {
		snprintf(text, n, ".long 0x%08x", words[0]);
		return 4;
	}
	gfx_text(m->target, &i, text, n);
	return i.size;
}

/* --- what the core asks --- */

static enum soft_warp_state state(struct micro_at at)
{
	const struct amd_wave *w = amd_micro_wave(at);

	return !w || w->state == AMD_ENDED  ? SOFT_WARP_ENDED
	       : w->state == AMD_AT_BARRIER ? SOFT_WARP_WAITS
					    : SOFT_WARP_RUNS;
}

static uint64_t lanes(struct micro_at at)
{
	const struct amd_wave *w = amd_micro_wave(at);

	return w ? amd_micro_lanes(w) : 0;
}

static uint64_t ready(struct micro_at at)
{
	return amd_exec(amd_micro_wave(at)) & lanes(at);
}

static unsigned depth(const struct soft_session *s, struct micro_at at)
{
	const struct amd_calls *c = amd_micro_calls(s, at);

	return c->n + c->lost;
}

static bool line(
	const struct soft_session *s, struct micro_at at, uint32_t *ret_file, uint32_t *ret_line)
{
	const struct amd_micro *m = amd_micro_of(s);
	const struct amd_line *l =
		m->image ? amd_image_line(m->image, amd_micro_wave(at)->pc - m->bias) : NULL;

	if (!l)
		return false;
	*ret_file = l->file;
	*ret_line = l->line;
	return true;
}

static void block_id(struct micro_at at, uint32_t ret[3])
{
	memcpy(ret, amd_micro_group(at)->id, 3 * sizeof(*ret));
}

static void thread(struct micro_at at, unsigned lane, uint32_t ret[3])
{
	const struct amd_wave *w = amd_micro_wave(at);

	if (w)
		amd_micro_item(w, lane, ret);
}

static void place(const struct soft_session *s, struct micro_at at, struct soft_stop *t)
{
	const struct amd_micro *m = amd_micro_of(s);
	const struct amd_wave *w = amd_micro_wave(at);
	const struct amd_function *f;

	t->unit = SOFT_CODE;
	if (!w || w->state == AMD_ENDED)
		return;
	t->live = amd_micro_lanes(w);
	t->active = t->executing = amd_exec(w) & t->live;
	t->line = amd_micro_line_of(m, w->pc);
	t->depth = depth(s, at);
	amd_micro_text(m, w->pc, t->text, sizeof(t->text));
	f = m->image ? amd_image_function(m->image, t->line) : NULL;
	if (f) {
		snprintf(t->function, sizeof(t->function), "%s", f->name);
		t->start = (uint32_t)f->addr;
	}
	amd_micro_source(m, w->pc, &t->source_line, t->file, sizeof(t->file));
}

static void toucher(const struct soft_session *s, struct soft_change *c)
{
	const struct amd_micro *m = amd_micro_of(s);

	c->line = amd_micro_line_of(m, m->touch_pc);
	amd_micro_text(m, m->touch_pc, c->text, sizeof(c->text));
	amd_micro_source(m, m->touch_pc, &c->source_line, c->file, sizeof(c->file));
}

static const struct micro_machine machine = {.state = state,
	.lanes = lanes,
	.ready = ready,
	.depth = depth,
	.line = line,
	.block_id = block_id,
	.thread = thread,
	.hit = amd_micro_hit,
	.place = place,
	.toucher = toucher,
	.point = amd_micro_point,
	.no_points = amd_micro_no_points,
	.point_free = amd_micro_point_free,
	.no_line =
		"the code object does not say which line of the source this is: build it with hipcc -gline-tables-only or -g",
	.width = AMD_LANES};

/* --- calls --- */

/* What the wave's last instruction has done: w is where it went. */
static void follow(struct amd_calls *c, const struct amd_wave *w)
{
	if (c->goes == AMD_GOES_IN && w->pc != c->prev + 4) {
		if (c->n == AMD_CALLS || c->lost)
			c->lost++;
		else
			c->ret[c->n++] = c->prev + 4;
	} else if (c->goes == AMD_GOES_BACK && c->lost) {
		c->lost--;
	} else if (c->goes == AMD_GOES_BACK) {
		for (uint32_t k = c->n; k-- > 0;)
			if (c->ret[k] == w->pc) {
				c->n = k;
				break;
			}
	}
	c->goes = AMD_GOES_ON;
}

/* What the instruction that w is about to begin does. */
static void note_call(struct amd_calls *c, struct amd_wave *w)
{
	const struct amd_op *o = amd_fetch(w->group->worker, w);

	c->prev = w->pc;
	c->goes = o->i.id == GFX_s_swappc_b64 || o->i.id == GFX_s_call_b64 ? AMD_GOES_IN
		  : o->i.id == GFX_s_setpc_b64				   ? AMD_GOES_BACK
									   : AMD_GOES_ON;
}

/* --- callbacks --- */

static struct micro_at at_wave(const struct amd_wave *w)
{
	return (struct micro_at){w->group, w->index};
}

static bool on_step(void *arg, const struct amd_wave *wave, uint64_t pc)
{
	struct soft_session *s = arg;
	struct amd_micro *m = amd_micro_of(s);
	const struct micro_at at = at_wave(wave);
	struct amd_calls *c = amd_micro_calls(s, at);
	enum micro_step step;

	if (c->goes != AMD_GOES_ON)
		follow(c, wave);
	step = micro_step(s, at);
	if (step == MICRO_GIVE_UP)
		amd_raise(wave->group->worker, AMD_FAULT_CANCELLED, wave, -1, "cancelled");
	if (step == MICRO_YIELD)
		return false;
	m->begun = wave;
	m->begun_pc = pc;
	note_call(c, amd_micro_wave(at));
	return true;
}

static void on_access(void *arg, const struct amd_access *a)
{
	struct soft_session *s = arg;

	if (!s->watches || a->space == AMD_PRIVATE)
		return;
	if (micro_touch(s, at_wave(a->wave), a->space == AMD_LDS ? SOFT_SHARED : SOFT_GLOBAL,
		    a->kind != AMD_WRITE, a->kind != AMD_READ, a->lane, a->address, a->bytes,
		    a->size))
		amd_micro_of(s)->touch_pc = a->pc;
}

static void on_group(void *arg, struct amd_group *g, const uint32_t id[3], bool ended)
{
	struct soft_session *s = arg;
	struct amd_micro *m = amd_micro_of(s);

	(void)id;
	if (ended) {
		micro_block_end(s, g);
		return;
	}
	m->l = g->worker->l;
	micro_block_start(s, g, g->number);
	memset(amd_micro_calls(s, (struct micro_at){g, 0}), 0, s->nwarps * sizeof(*m->calls));
}

static void on_fault(void *arg, const struct amd_wave *wave, struct amd_fault *f)
{
	struct soft_session *s = arg;
	struct amd_micro *m = amd_micro_of(s);
	const struct micro_at at = at_wave(wave);
	const bool began = m->begun == wave && m->begun_pc == f->pc;
	char text[SOFT_SENTENCE], where[120] = "";

	if (micro_is_aborted(s)) {
		f->kind = AMD_FAULT_CANCELLED;
		return;
	}
	if (f->kind == AMD_FAULT_MEMORY && m->describe)
		m->describe(m->describe_arg, f->address, where, sizeof(where));
	snprintf(text, sizeof(text), "%.190s%s%s", f->text, *where ? ": it is " : "", where);
	amd_micro_wave(at)->pc = f->pc; /* the wave goes nowhere any more */
	m->begun = NULL;
	if (micro_fault(s, at, f->lane >= 0 ? (unsigned)f->lane : s->focus_lane, began, text))
		f->kind = AMD_FAULT_CANCELLED;
	snprintf(f->text, sizeof(f->text), "%.279s", text);
}

/* --- life --- */

static bool make_room(struct soft_session *s)
{
	struct amd_micro *m = amd_micro_of(s);

	m->calls = calloc((size_t)s->nslots * s->nwarps, sizeof(*m->calls));
	return m->calls != NULL;
}

struct soft_session *amd_micro_new(const struct soft_start *start)
{
	struct amd_micro *m = calloc(1, sizeof(*m));
	struct soft_session about = {.m = &machine, .machine = m, .nslots = AMD_RESIDENT_MAX}, *s;

	if (!m)
		return NULL;
	snprintf(m->kernel, sizeof(m->kernel), "%s", start->kernel);
	m->first_group = start->first_block;
	about.kernel = m->kernel;
	memcpy(about.grid, start->grid, sizeof(about.grid));
	memcpy(about.block, start->block, sizeof(about.block));
	s = micro_new(&about, start->turns, start->nturns);
	if (s && make_room(s)) {
		m->observer = (struct amd_observer){.arg = s,
			.step = on_step,
			.access = on_access,
			.group = on_group,
			.fault = on_fault};
		return s;
	}
	if (s)
		micro_free(s);
	free(m);
	return NULL;
}

void amd_micro_begin(
	struct soft_session *s, struct amd_dispatch *d, struct amd_image *image, uint64_t bias)
{
	struct amd_micro *m = amd_micro_of(s);
	struct amd_extent e;

	m->image = image;
	m->entry = amd_entry_of(d);
	m->bias = image ? bias : m->entry - 0x1000; /* no address is 0 */
	m->memory = d->memory;
	m->target = gfx_target(d->gfx);
	m->kernarg = d->kernarg;
	if (m->entry && d->memory->find(d->memory->arg, d->kernel_object, &e))
		memcpy(&m->kernarg_bytes, (const void *)(uintptr_t)(d->kernel_object + 8), 4);
	d->observer = &m->observer;
	d->first = m->first_group;
	d->random = false;
	d->order = 0;
}

void amd_micro_ended(struct soft_session *s, const struct amd_fault *f)
{
	amd_micro_of(s)->l = NULL;
	micro_over(s, f && f->kind != AMD_FAULT_CANCELLED ? f->text : NULL);
}

void amd_micro_free(struct soft_session *s)
{
	struct amd_micro *m = amd_micro_of(s);

	micro_free(s);
	amd_image_free(m->image);
	free(m->calls);
	free(m);
}
