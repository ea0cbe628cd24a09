/* SPDX-License-Identifier: Apache-2.0
 *
 * Running to a breakpoint. Forwards every command is looked at before it is submitted. Backwards
 * the trace is read in blocks, each forwards, for the last match in it; no state is needed for
 * that, since the current one knows every kernel that commands before it can name.
 */
#include <stdlib.h>
#include "replay/engine/replay-private.h"
#include "sbt/kernel-name.h"

/* seqs in the first block backwards; each is twice the one before it up to ... */
#define BLOCK_MIN 1024
#define BLOCK_MAX 65536
#define KNOWN 4096 /* kernels whose glob matches are remembered */

static bool match_kernel(const struct matcher *m, unsigned i, const struct sbt_cmd *c)
{
	struct state_kernel k;
	uint64_t id;
	bool yes;

	if (m->bps[i].kind == SBT_MARK)
		return sbt_mark_glob(m->bps[i].glob, c);
	if (c->kind != SBT_LAUNCH)
		return false;
	id = c->u.launch.kernel;
	if (id < KNOWN && m->known[i * KNOWN + id])
		return m->known[i * KNOWN + id] == 2;
	if (id >= SBT_NO_ID || !state_kernel_by_id(m->s, (uint32_t)id, &k))
		return false;
	yes = sbt_kernel_glob(m->bps[i].glob, k.name, k.short_name);
	if (id < KNOWN)
		m->known[i * KNOWN + id] = 1 + yes;
	return yes;
}

static bool match_cond(const struct matcher *m, const struct sbt_expr *e, const struct sbt_cmd *c)
{
	struct sbt_reader_python python = {.r = m->trace, .stack = c->stack};
	struct sbt_python_view view = {.answer = sbt_reader_python, .arg = &python};
	struct state_kernel k;

	if (!e->n)
		return true;
	if (c->kind == SBT_LAUNCH && c->u.launch.kernel < SBT_NO_ID &&
		state_kernel_by_id(m->s, (uint32_t)c->u.launch.kernel, &k))
		return sbt_expr_true_in(e, c, &k.params, &view);
	return sbt_expr_true_in(e, c, NULL, &view);
}

void matcher_init(struct matcher *m, struct sbt_reader *trace, const struct replay_breakpoint *bps,
	unsigned n)
{
	*m = (struct matcher){
		.trace = trace, .bps = bps, .n = n, .known = xcalloc(n ? n : 1, KNOWN)};
	for (unsigned i = 0; i < n; i++)
		m->nodes |= bps[i].nodes && bps[i].glob;
}

void matcher_deinit(struct matcher *m)
{
	free(m->known);
	state_steps_free(&m->graph.steps);
}

int matcher_match_node(const struct matcher *m, const struct sbt_cmd *c)
{
	for (unsigned i = 0; i < m->n; i++) {
		const struct replay_breakpoint *b = &m->bps[i];

		if (b->nodes && b->glob && match_kernel(m, i, c) && match_cond(m, &b->cond, c))
			return b->id;
	}
	return 0;
}

static bool match_one(const struct matcher *m, unsigned i, const struct sbt_cmd *c)
{
	const struct replay_breakpoint *b = &m->bps[i];

	return (!b->kind || b->kind == c->kind) && (!b->glob || match_kernel(m, i, c)) &&
	       match_cond(m, &b->cond, c) && (!b->from || b->from(b->from_arg, b->id, c->stack));
}

int matcher_match(const struct matcher *m, const struct sbt_cmd *c)
{
	for (unsigned i = 0; i < m->n; i++)
		if (match_one(m, i, c))
			return m->bps[i].id;
	return 0;
}

unsigned replay_matching(
	struct replay *r, const struct replay_breakpoint *bps, unsigned n, int *ret, unsigned max)
{
	const struct sbt_cmd *c = replay_cmd(r);
	struct matcher m;
	unsigned k = 0;

	if (!c)
		return 0;
	matcher_init(&m, r->trace, bps, n);
	m.s = replay_state(r);
	for (unsigned i = 0; i < n && k < max; i++)
		if ((!k || ret[k - 1] != bps[i].id) && match_one(&m, i, c))
			ret[k++] = bps[i].id;
	matcher_deinit(&m);
	return k;
}

static bool interrupted(volatile bool *interrupt)
{
	return interrupt && *interrupt;
}

/* *node: the run stops before the launch that has this step. */
static struct err *run_forwards(struct replay *r, struct matcher *m, volatile bool *interrupt,
	enum replay_why *why, int *id, uint64_t *node_seq, uint32_t *node)
{
	const struct sbt_cmd *c;

	for (;;) {
		if (interrupted(interrupt)) {
			*why = REPLAY_INTERRUPTED;
			return replay_settle(r);
		}
		TRY(replay_peek(r, &c));
		if (!c) {
			*why = REPLAY_END;
			return replay_settle(r);
		}
		m->s = r->s;
		*id = matcher_match(m, c);
		if (!*id)
			TRY(nodes_match(m, r->s, c, 1, UINT32_MAX, false, node, id));
		else
			*node = 0;
		if (*id && *node) {
			*node_seq = c->seq;
			*why = REPLAY_BREAKPOINT;
			return replay_settle(r);
		}
		TRY(replay_submit(r, c, *id || c->seq == r->last));
		if (*id) {
			*why = REPLAY_BREAKPOINT;
			return NULL;
		}
	}
}

struct err *matcher_scan(struct replay *r, const struct matcher *m, uint64_t lo, uint64_t hi,
	uint64_t *ret_seq, int *ret_id)
{
	const struct sbt_cmd *c;
	int id;

	TRY(sbt_cursor_seek(r->cursor, lo));
	for (;;) {
		TRY(sbt_cursor_next(r->cursor, &c));
		if (!c || c->seq >= hi)
			return NULL;
		id = matcher_match(m, c);
		if (id) {
			*ret_id = id;
			*ret_seq = c->seq;
		}
	}
}

static struct err *run_backwards(struct replay *r, struct matcher *m, volatile bool *interrupt,
	enum replay_why *why, int *id, uint64_t *node_seq, uint32_t *node)
{
	uint64_t seq = 0;
	uint32_t step = 0;
	int found = 0;
	uint64_t hi = r->seq, first = r->first, to = 0;

	m->s = r->s;
	r->astray = true;
	r->cmd = NULL;
	*why = REPLAY_BEGIN;
	for (uint64_t block = BLOCK_MIN; first && hi > first;
		block = block < BLOCK_MAX ? block * 2 : block) {
		uint64_t lo = hi - first > block ? hi - block : first;

		if (interrupted(interrupt)) {
			*why = REPLAY_INTERRUPTED;
			if (hi == r->seq)
				return NULL;
			to = hi;
			break;
		}
		TRY(matcher_scan(r, m, lo, hi, &to, id));
		TRY(nodes_scan(r, m, lo, hi, &seq, &step, &found));
		if (found && (!*id || seq > to)) {
			*id = found;
			*node_seq = to = seq;
			*node = step;
		}
		if (*id) {
			*why = REPLAY_BREAKPOINT;
			break;
		}
		hi = lo;
	}
	return replay_jump(r, to, UINT64_MAX, replay_marks_before(r, to));
}

/* Forwards on a device it goes straight to the next match, which is much faster than to look at
 * every command on the way. */
struct err *replay_run(struct replay *r, bool backwards, const struct replay_breakpoint *bps,
	unsigned n, volatile bool *interrupt, struct replay_stop *ret)
{
	enum replay_why why = REPLAY_END;
	struct matcher m;
	struct err *e;
	uint64_t node_seq = 0;
	uint32_t node = 0;
	int id = 0;

	if (!backwards && r->has_ex && r->ex.run)
		return replay_watch(r, false, NULL, 0, bps, n, interrupt, ret);
	matcher_init(&m, r->trace, bps, n);
	e = backwards ? run_backwards(r, &m, interrupt, &why, &id, &node_seq, &node)
		      : run_forwards(r, &m, interrupt, &why, &id, &node_seq, &node);
	matcher_deinit(&m);
	if (e && e->code == ERR_INTERRUPTED) { /* the executor saw it first */
		err_free(e);
		e = NULL;
		why = REPLAY_INTERRUPTED;
		id = 0;
		node_seq = 0;
	}
	e = replay_stopped(r, e, why, ret);
	if (!e) {
		ret->breakpoint = id;
		ret->node_seq = node_seq;
		ret->node = node_seq ? node : 0;
	}
	return e;
}
