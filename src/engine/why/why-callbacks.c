/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions of streams, where the device does not say which thread executes them: by the
 * threads' stacks. A stream whose host function is on a stack is at it, whatever is queued before
 * it.
 */
#include "engine/why/why-device.h"

#include "engine/why/why-code.h"
#include "engine/why/why-graphs.h"

#define NEAR 4096u /* from a function's start, in a library without symbols */

/* Whether the frame is in the function that begins at fn. Return addresses are looked up as the
 * call's, a byte before. */
static bool is_in(const struct backtrace_frame *f, uint64_t fn)
{
	const uint64_t begin = f->pc - f->sym.offset;

	if (f->inlined || f->python || f->pc < fn)
		return false;
	return f->sym.function ? begin == fn || begin == fn + 1 : f->pc - fn < NEAR;
}

static bool is_on(const struct stack *st, uint64_t fn)
{
	for (unsigned i = 0; st && fn && i < st->n; i++)
		if (is_in(&st->frames[i], fn))
			return true;
	return false;
}

struct callback {
	uint64_t seq; /* the command that is queued: a host function, or a launch of a graph */
	uint64_t fn;
};

/* The i-th host function of a command; false: it has no more. */
static bool function_of(
	const struct why_device *d, const struct sbt_cmd *brief, unsigned i, uint64_t *ret)
{
	struct sbt_cmd c;

	if ((brief->kind != SBT_HOST_FUNC && brief->kind != SBT_GRAPH_LAUNCH) ||
		!why_command(d, brief->seq, &c))
		return false;
	if (c.kind == SBT_GRAPH_LAUNCH)
		return why_graph_host(d->state, &c, i, ret);
	*ret = c.u.host_func.fn;
	return !i;
}

/* The i-th host function that is pending, of all streams; false: there are no more. */
static bool pending(const struct why_device *d, unsigned i, struct callback *ret)
{
	struct state_stream st;
	struct sbt_cmd c;
	enum state_status status;

	for (unsigned s = 0; d->state && state_stream(d->state, s, &st); s++)
		for (unsigned k = 0; !st.destroyed && k < WHY_CODE_QUEUE &&
				     state_queue(d->state, st.id, k, &c, &status);
			k++)
			for (unsigned n = 0; function_of(d, &c, n, &ret->fn); n++) {
				ret->seq = c.seq;
				if (!i--)
					return true;
			}
	return false;
}

bool why_runs_callback(const struct why_device *d, const struct stack *st)
{
	struct callback c;

	for (unsigned i = 0; pending(d, i, &c); i++)
		if (is_on(st, c.fn))
			return true;
	return false;
}

bool why_has_callbacks(const struct why_device *d)
{
	struct callback c;

	return pending(d, 0, &c);
}

/* How many of the pending host functions are this one: only one can be told from the others. */
static unsigned count(const struct why_device *d, uint64_t fn)
{
	struct callback c;
	unsigned n = 0;

	for (unsigned i = 0; pending(d, i, &c); i++)
		n += c.fn == fn;
	return n;
}

/* The only thread that is in it. */
static uint32_t thread_in(const struct why_device *d, uint64_t fn)
{
	uint32_t found = WHY_NONE;

	for (unsigned i = 0; i < d->p->nthreads; i++) {
		const struct why_thread *t = &d->p->threads[i];

		if (t->helper || !is_on(t->stack, fn))
			continue;
		if (found != WHY_NONE)
			return WHY_NONE;
		found = t->node;
	}
	return found;
}

/* The thread that executes a host function of the command, if that is certain. */
static uint32_t thread_of(const struct why_device *d, const struct sbt_cmd *c)
{
	uint32_t thread = WHY_NONE;
	uint64_t fn;

	for (unsigned i = 0; thread == WHY_NONE && function_of(d, c, i, &fn); i++)
		if (count(d, fn) == 1)
			thread = thread_in(d, fn);
	return thread;
}

bool why_at_callback(struct why_device *d, const struct state_stream *st, uint32_t stream)
{
	enum state_status status;
	struct sbt_cmd c;

	if (!d->look->answered || d->look->look[d->look->two].is_soft)
		return false;
	for (unsigned k = 0; k < WHY_CODE_QUEUE && state_queue(d->state, st->id, k, &c, &status);
		k++) {
		const uint32_t thread = thread_of(d, &c);
		uint32_t node;

		if (thread == WHY_NONE)
			continue;
		node = why_command_node(d, c.seq);
		why_edge(d->w, stream, node, WHY_KNOWN_STACK, "is at");
		why_edge(d->w, node, thread, WHY_KNOWN_STACK, "runs on");
		return true;
	}
	return false;
}
