/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a fault. The software GPU identifies the launch by its correlation id. If that
 * is not among the last commands, the launch is looked for by its kernel among those not known to
 * have finished. A driver that names no kernel leaves all of these.
 */
#include <string.h>
#include "engine/live/live-private.h"

#define END(text) ((text)[sizeof(text) - 1] = 0)

static bool is_kernel(const struct state *st, const struct sbt_cmd *c, const char *mangled)
{
	struct state_kernel k;

	if (c->kind == SBT_GRAPH_LAUNCH)
		return !*mangled;
	return c->kind == SBT_LAUNCH &&
	       (!*mangled || (state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) &&
				     !strcmp(k.name, mangled)));
}

/* Takes the launches that may have caused the fault. */
static void take_launches(
	const struct state *st, const char *mangled, struct live_fault *ret, uint64_t *ret_first)
{
	struct state_stream stream;
	enum state_status status;
	struct sbt_cmd c;

	for (unsigned i = 0; state_stream(st, i, &stream); i++)
		for (unsigned k = 0; state_queue(st, stream.id, k, &c, &status); k++) {
			if (!is_kernel(st, &c, mangled))
				continue;
			if (ret->n < LIVE_LAUNCHES)
				ret->launch[ret->n] = c;
			if (!ret->n++ || c.seq < *ret_first)
				*ret_first = c.seq;
		}
}

/* Takes the launch that the device names, if it is among the last commands. */
static bool take_named(const struct recorder *r, const struct state *st, struct live_fault *ret)
{
	const struct tsdb_error *e = &ret->error;
	struct sbt_cmd c;

	for (unsigned age = 0; e->corr && recorder_recent(r, age, &c); age++) {
		if (c.corr != e->corr ||
			!(c.kind == SBT_GRAPH_LAUNCH || is_kernel(st, &c, e->kernel)))
			continue;
		ret->named = true;
		ret->n = 1;
		ret->launch[0] = c;
		return true;
	}
	return false;
}

static uint64_t distance(const struct state_alloc *a, uint64_t addr)
{
	return addr < a->addr		  ? a->addr - addr
	       : addr - a->addr < a->size ? 0
					  : addr - a->addr - a->size + 1;
}

static void take_nearest(const struct state *st, uint64_t addr, struct state_alloc *ret)
{
	struct state_alloc a;

	for (unsigned i = 0; state_alloc(st, i, &a); i++)
		if (!ret->size || distance(&a, addr) < distance(ret, addr))
			*ret = a;
}

void live_take_fault(struct engine *en, const struct tsdb_error *error, struct live_fault *ret)
{
	struct tsdb_error *e = &ret->error;
	struct live *l = &en->live;
	const struct state *st;

	*e = *error;
	END(e->name);
	END(e->call);
	END(e->file);
	END(e->kernel);
	END(e->text);
	if (!e->sticky || !l->recorder)
		return;
	st = recorder_state(l->recorder);
	l->fault_first = l->fault_last = l->cmd.seq;
	if (!e->known || !take_named(l->recorder, st, ret))
		take_launches(st, e->known ? e->kernel : "", ret, &l->fault_first);
	else
		l->fault_first = ret->launch[0].seq;
	if (e->known && e->addr)
		take_nearest(st, e->addr, &ret->nearest);
	l->fault_launch = ret->n == 1 ? ret->launch[0].seq : 0;
}

bool live_at_fault(const struct engine *en)
{
	const struct live *l = &en->live;

	return l->inf && l->at_cmd && l->last_stop == STOP_FAILED_CALL &&
	       inferior_control(l->inf)->error.sticky;
}

static bool is_armed(const struct tsdb_control *c)
{
	return c->window.kind != TSDB_WINDOW_NONE &&
	       atomic_load(&c->window.state) == TSDB_WINDOW_ARMED;
}

enum live_lost live_why_lost(struct engine *en)
{
	const struct tsdb_control *c = live_control(en);

	if (!en->live.recorder || recorder_mode(en->live.recorder) == RECORDER_OFF)
		return LIVE_LOST_NO_CAPTURE;
	if (c && is_armed(c))
		return LIVE_LOST_NO_SPAN;
	if (c && atomic_load(&c->memory) != TSDB_MEMORY_ALL)
		return LIVE_LOST_NOT_COPIED;
	return settings_on(&en->set, SET_KEEP) ? LIVE_LOST_COPIES : LIVE_LOST_WITH_CONTEXT;
}

bool live_fault_launch(struct engine *en, struct sbt_cmd *ret, bool *ret_sure)
{
	const struct live *l = &en->live;

	if (!l->inf || !l->recorder || !l->at_cmd || l->last_stop != STOP_FAILED_CALL ||
		!l->fault_launch)
		return false;
	*ret_sure = inferior_control(l->inf)->error.known;
	for (unsigned age = 0; recorder_recent(l->recorder, age, ret); age++)
		if (ret->seq == l->fault_launch)
			return true;
	return false;
}
