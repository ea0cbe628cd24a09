/* SPDX-License-Identifier: Apache-2.0
 *
 * See why-code.h. The surprise: PTX beside machine code counts only if the driver compiled it, or
 * if it is of the same architecture: what was compiled for another one may be other code.
 */
#include "engine/why/why-code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "engine/why/why-graphs.h"
#include "gpucode/ptx-text.h"

#define LAUNCHES_MAX 64u /* that are looked at before a look, in all */

/* --- the text --- */

/* 75 of ".target sm_75"; 0: there is none. */
static unsigned target_of(const char *text, size_t n)
{
	const char *const end = text + n, *p = memmem(text, n, ".target", strlen(".target"));
	struct ptx_text w;

	if (!p)
		return 0;
	p = ptx_skip(p + strlen(".target"), end);
	w = ptx_word(p, end);
	if (w.end - w.p < 4 || w.end - w.p > 10 || memcmp(w.p, "sm_", 3) != 0)
		return 0;
	return (unsigned)strtoul(w.p + 3, NULL, 10); /* a word is followed by something else */
}

static const char *find_text(
	const struct recorder *r, const struct state_kernel *k, const char **ret, size_t *ret_n)
{
	const void *bytes;
	enum code_kind kind;
	uint64_t hash;
	unsigned arch;

	if (recorder_code(r, k->code_hash, &bytes, ret_n, &kind) && kind == CODE_PTX) {
		*ret = bytes;
		return NULL;
	}
	recorder_beside(r, k->module, &hash, &arch);
	if (!recorder_code(r, hash, &bytes, ret_n, &kind) || kind != CODE_PTX)
		return "its module has no PTX that was recorded, only machine code";
	*ret = bytes;
	if (arch && arch != target_of(*ret, *ret_n))
		return "its machine code is of another architecture than the PTX beside it";
	return NULL;
}

static void set_place(struct why_code *c, const char *text, size_t n)
{
	const struct ptx_spin_read *r = c->is.nreads ? &c->is.read[0] : NULL;
	const char *name, *slash;
	size_t len = r && r->line ? ptx_file_name(text, n, r->file, &name) : 0;

	if (!len)
		return;
	slash = memrchr(name, '/', len);
	if (slash) {
		len -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	if (len < sizeof(c->place) - 12)
		snprintf(c->place, sizeof(c->place), "%.*s:%" PRIu32, (int)len, name, r->line);
}

void why_code_of(struct why_code *ret, const struct recorder *r, const struct state *s,
	const struct sbt_cmd *launch, const struct ptx_spin_read *known, unsigned nknown)
{
	const struct sbt_cmd_launch *l = &launch->u.launch;
	struct ptx_spin_launch as = {.args = l->args.p,
		.nargs = l->args.len,
		.grid = {l->grid_x, l->grid_y, l->grid_z},
		.block = {l->block_x, l->block_y, l->block_z}};
	struct state_kernel k;
	const char *text;
	size_t n;

	*ret = (struct why_code){.is = {.answer = PTX_SPINS_OPEN}};
	if (!state_kernel_by_id(s, (uint32_t)l->kernel, &k)) {
		ret->is.why = "its code is not known";
		return;
	}
	ret->is.why = find_text(r, &k, &text, &n);
	if (ret->is.why)
		return;
	as.params = k.params.p;
	as.nparams = k.params.len;
	ptx_spins_ask(&ret->is, text, n, k.name, &as, known, nknown);
	set_place(ret, text, n);
}

bool why_code_command(const struct recorder *r, uint64_t seq, struct sbt_cmd *ret)
{
	for (unsigned age = 0; recorder_recent(r, age, ret) && ret->seq >= seq; age++)
		if (ret->seq == seq)
			return true;
	return false;
}

/* --- questions and answers --- */

uint64_t why_code_context(const struct state *s, uint32_t ctx)
{
	struct state_context c;

	for (unsigned i = 0; state_context(s, i, &c); i++)
		if (c.id == ctx && !c.destroyed)
			return c.handle;
	return 0;
}

static bool is_asked(const struct tsdb_look *l, const struct ptx_spin_read *r)
{
	for (uint32_t i = 0; i < l->nquestions; i++)
		if ((l->question[i].kind == TSDB_ASK_DEVICE_BYTES ||
			    l->question[i].kind == TSDB_ASK_HOST_BYTES) &&
			l->question[i].handle == r->addr && l->question[i].id == r->bytes)
			return true;
	return false;
}

uint32_t why_code_kind_of(const struct state_alloc *a)
{
	switch (a->mem) {
	case SBT_MEM_DEVICE:
	case SBT_MEM_ASYNC:
	case SBT_MEM_VMM:
		return TSDB_ASK_DEVICE_BYTES;
	case SBT_MEM_PINNED:
	case SBT_MEM_REGISTERED:
		return TSDB_ASK_HOST_BYTES;
	default:
		return TSDB_ASK_NOTHING;
	}
}

static void ask_read(
	struct tsdb_look *l, const struct state *s, const struct ptx_spin_read *r, uint32_t ctx)
{
	struct tsdb_question q = {.handle = r->addr, .id = r->bytes};
	struct state_alloc a;

	if (!state_alloc_at(s, r->addr, &a) || a.addr + a.size - r->addr < r->bytes ||
		is_asked(l, r) || l->nquestions == TSDB_LOOK_QUESTIONS)
		return;
	q.kind = why_code_kind_of(&a);
	q.ctx = why_code_context(s, a.ctx == SBT_NO_ID ? ctx : a.ctx);
	if (!q.ctx)
		q.ctx = why_code_context(s, ctx);
	if (q.kind != TSDB_ASK_NOTHING && q.ctx)
		l->question[l->nquestions++] = q;
}

/* Asks for what the launch's loops read. Returns whether what is queued behind it may matter, too:
 * an answer that more values would not change ends the matter. */
static bool ask_launch(struct tsdb_look *l, const struct recorder *r, const struct state *s,
	const struct sbt_cmd *launch, uint32_t ctx)
{
	struct why_code c;

	why_code_of(&c, r, s, launch, NULL, 0);
	for (unsigned i = 0; i < c.is.nreads; i++)
		ask_read(l, s, &c.is.read[i], ctx);
	return c.is.answer != PTX_SPINS_OPEN || c.is.nreads;
}

static void ask_graph(struct tsdb_look *l, const struct recorder *r, const struct state *s,
	const struct sbt_cmd *launch, uint32_t ctx, unsigned *launches)
{
	struct state_steps steps;
	struct sbt_cmd c;

	if (!why_graph_steps(s, launch, &steps))
		for (uint32_t i = 0; i < steps.n && *launches < LAUNCHES_MAX; i++)
			if (why_step_of(&steps.step[i], launch, &c) == WHY_STEP_COMMAND &&
				c.kind == SBT_LAUNCH) {
				(void)ask_launch(l, r, s, &c, ctx);
				++*launches;
			}
	state_steps_free(&steps);
}

void why_code_questions(struct tsdb_look *l, const struct recorder *r, const struct state *s)
{
	struct state_stream st;
	unsigned launches = 0;

	for (unsigned i = 0; state_stream(s, i, &st); i++) {
		enum state_status status;
		struct sbt_cmd brief, c;
		bool goes_on = !st.destroyed && !st.capturing;

		for (unsigned k = 0; goes_on && k < WHY_CODE_QUEUE && launches < LAUNCHES_MAX &&
				     state_queue(s, st.id, k, &brief, &status);
			k++) {
			if (!why_code_command(r, brief.seq, &c))
				continue;
			if (c.kind == SBT_GRAPH_LAUNCH)
				ask_graph(l, r, s, &c, st.ctx, &launches);
			if (c.kind != SBT_LAUNCH)
				continue;
			goes_on = ask_launch(l, r, s, &c, st.ctx);
			launches++;
		}
	}
}

unsigned why_code_values(const struct tsdb_look *l, struct ptx_spin_read *ret, unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < l->nquestions && n < max; i++) {
		const struct tsdb_question *q = &l->question[i];

		if ((q->kind != TSDB_ASK_DEVICE_BYTES && q->kind != TSDB_ASK_HOST_BYTES) ||
			q->answer != TSDB_ANSWER_DONE)
			continue;
		ret[n++] = (struct ptx_spin_read){
			.addr = q->handle, .bytes = q->id, .value = q->value, .known = true};
	}
	return n;
}
