/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds names of the PTX text in a launch: registers, variables, lines of text and of source; and
 * the place where a warp is. The surprise: a warp that does not run may have entries on its stack
 * that are done but not popped yet; they are passed over here.
 */
#include "softgpu/micro/micro.h"
#include "base/first-where.h"
#include "softgpu/machine/ptx-path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- text --- */
bool micro_text_init(struct micro_text *t, const char *text, size_t n)
{
	unsigned lines = 1;

	n = strnlen(text, n < UINT32_MAX ? n : UINT32_MAX - 1);
	for (size_t k = 0; k < n; k++)
		lines += text[k] == '\n';
	t->start = malloc((lines + 1) * sizeof(*t->start));
	if (!t->start)
		return false;
	t->text = text;
	t->nlines = lines;
	t->start[0] = 0;
	lines = 1;
	for (size_t k = 0; k < n; k++)
		if (text[k] == '\n')
			t->start[lines++] = (uint32_t)k + 1;
	t->start[lines] = (uint32_t)n + 1;
	return true;
}

void micro_text_line(const struct micro_text *t, unsigned line, bool trim, char *dst, size_t n)
{
	const char *p, *end;
	size_t k = 0;

	dst[0] = 0;
	if (!line || line > t->nlines)
		return;
	p = t->text + t->start[line - 1];
	end = t->text + t->start[line] - 1;
	while (trim && p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (p < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	for (; p < end && k + 1 < n; p++)
		dst[k++] = *p == '\t' ? ' ' : (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
	dst[k] = 0;
}

/* --- source --- */
const struct ptx_loc *micro_loc(const struct ptx_function *fn, uint32_t pc)
{
	const unsigned at = FIRST_WHERE(fn->nlocs, i, fn->locs[i].pc > pc);

	return at && fn->locs[at - 1].line ? &fn->locs[at - 1] : NULL;
}

const char *micro_file(const struct ptx_function *fn, uint32_t number)
{
	for (unsigned k = 0; k < fn->m->nfiles; k++)
		if (fn->m->files[k].number == number)
			return fn->m->files[k].name;
	return "";
}

/* name is the path, or the end of it from a slash on. */
bool micro_file_is(const char *path, const char *name)
{
	size_t a = strlen(path), b = strlen(name);

	return b && a >= b && !strcmp(path + a - b, name) && (a == b || path[a - b - 1] == '/');
}

/* --- registers, variables --- */
void micro_reg_name(const struct ptx_regname *r, char *dst, size_t n)
{
	if (r->number == UINT32_MAX)
		snprintf(dst, n, "%s", r->name);
	else
		snprintf(dst, n, "%s%u", r->name, r->number);
}

const struct ptx_regname *micro_reg(
	const struct ptx_function *fn, uint32_t pc, const char *name, size_t n)
{
	const struct ptx_regname *best = NULL;
	char have[80];

	for (unsigned k = 0; k < fn->nnames; k++) {
		const struct ptx_regname *r = &fn->names[k];
		micro_reg_name(r, have, sizeof(have));
		if (strlen(have) != n || memcmp(have, name, n))
			continue;
		/* of an inner scope's: the last that was used up to here, else the first to come */
		if (!best || r->pc <= pc)
			best = r;
	}
	return best;
}

const struct ptx_variable *micro_var(const struct ptx_function *fn, const char *name, size_t n)
{
	struct ptx_variable *const *lists[] = {fn->vars, fn->m->shared, fn->m->pub};
	unsigned counts[] = {fn->nvars, fn->m->nshared, fn->m->npub};

	for (unsigned j = 0; j < 3; j++)
		for (unsigned k = counts[j]; k-- > 0;)
			if (strlen(lists[j][k]->name) == n && !memcmp(lists[j][k]->name, name, n))
				return lists[j][k];
	return NULL;
}

uint64_t micro_var_addr(const struct ptx_variable *v, const struct ptx_warp *w, unsigned frame)
{
	if (v->space == SP_LOCAL)
		return w->frames[frame].lbase + v->addr;
	if (v->space == SP_SHARED && v->dynamic)
		return w->blk->shared_size - w->wk->l->dynamic_shared;
	if (v->space == SP_SHARED && v->in_kernel)
		return (w->frames[0].fn->module_shared + 127) / 128 * 128 + v->addr;
	return v->addr;
}

/* --- where a warp is
 * ------------------------------------------------------------------------------- */
const uint8_t *micro_frame(const struct ptx_warp *w, unsigned frame)
{
	return w->regmem + w->frames[frame].regs + w->frames[frame].fn->const_bytes;
}

static bool is_done(const struct ptx_ent *e)
{
	return !e->mask || (e->state == ENT_RUN && e->pc == e->rpc && e->rpc != NO_PC);
}

struct micro_place micro_place_of(const struct ptx_warp *w)
{
	struct micro_place p = {0};
	const struct ptx_insn *i;

	if (w->state == WARP_DONE || !w->nframes)
		return p;
	for (unsigned k = w->nents; k-- > 0 && !p.ent;)
		if (!is_done(&w->ents[k])) {
			p.ent = &w->ents[k];
			p.frame = w->nframes - 1;
			while (p.frame && w->frames[p.frame].base > k)
				p.frame--;
		}
	if (!p.ent) /* only parked paths are left: the next one is chosen when the warp runs */
		return p;
	p.fn = w->frames[p.frame].fn;
	p.pc = p.ent->pc;
	p.active = p.executing = p.ent->mask;
	i = &p.fn->insns[p.pc];
	p.line = i->line;
	if (i->pred != NO_REG) {
		uint32_t v = *(const u32a *)(micro_frame(w, p.frame) + i->pred);
		p.executing &= i->flags & F_NEG_PRED ? ~v : v;
	}
	return p;
}

/* The newest entry of a path that has the lane; NULL: it is not on it. */
static const struct ptx_ent *entry_of(const struct ptx_path *p, unsigned lane)
{
	for (unsigned k = p->nents; k-- > 0;)
		if (p->ents[k].mask >> lane & 1)
			return &p->ents[k];
	return NULL;
}

/* The call of f's function that made the frame behind it. */
static uint32_t call_at(const struct ptx_frame *f, const struct ptx_call *call)
{
	uint32_t pc = 0;

	while (pc + 1 < f->fn->ninsns && f->fn->insns[pc].u.call != call)
		pc++;
	return pc;
}

static bool view_path(
	const struct ptx_path *p, unsigned lane, unsigned frame, struct micro_view *ret)
{
	const struct ptx_ent *e = entry_of(p, lane);
	unsigned top;

	if (!e)
		return false;
	top = p->nframes - 1;
	while (top && p->frames[top].base > (size_t)(e - p->ents))
		top--;
	if (frame > top)
		return false;
	ret->w.frames = p->frames;
	ret->w.nframes = p->nframes;
	ret->at = (struct micro_place){.ent = e, .frame = top - frame};
	ret->at.fn = p->frames[ret->at.frame].fn;
	ret->at.pc =
		frame ? call_at(&p->frames[top - frame], p->frames[top - frame + 1].call) : e->pc;
	ret->at.active = ret->at.executing = e->mask;
	ret->at.line = ret->at.fn->insns[ret->at.pc].line;
	return true;
}

bool micro_view_of(const struct ptx_warp *w, unsigned lane, unsigned frame, struct micro_view *ret)
{
	const struct ptx_path now = {
		.ents = w->ents, .nents = w->nents, .frames = w->frames, .nframes = w->nframes};
	bool found;

	ret->w = *w;
	if (w->state == WARP_DONE || !(w->live >> lane & 1) || !w->nframes)
		return false;
	found = view_path(&now, lane, frame, ret);
	for (unsigned k = 0; k < w->nparked && !found; k++)
		found = view_path(&w->parked[k], lane, frame, ret);
	return found;
}
