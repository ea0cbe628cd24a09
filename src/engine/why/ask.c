/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks everything that knows something, at a stop of the live program: why_ask(). The surprise: the
 * program's threads stand still while the device is looked at, so all that is seen belongs to one
 * moment. What was decided a moment before (a thread that was just woken) is seen as what it
 * waited for, so a thread that is not in a system call counts as one that goes on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "engine/recorder.h"
#include "engine/why/why-device.h"
#include "gpucode/waiting-calls.h"

enum { FRAMES_MAX = 256, CALLERS_MAX = 3 };

/* --- threads --- */

struct asked {
	struct why_device d;
	struct why_process p;
	struct stack *stacks; /* of p.threads */
	enum gpu_wait *waits; /* what its call waits for */
	unsigned *called;     /* the frame of the call */
	bool peer;	      /* another process, that the program waits for */
	bool late; /* a thread is in a call that began before tsdb came, and nothing looks inside */
};

/* A thread that is in no call, or in one that has just ended, runs. */
static void read_call(struct inferior *inf, struct why_thread *t)
{
	t->nr = -1;
	t->state = inferior_syscall(inf, t->tid, &t->nr, t->arg) ? 'S' : 'R';
}

/* The outermost frame of a call that waits for the device. */
static enum gpu_wait find_call(const struct stack *st, unsigned *ret)
{
	for (unsigned i = st->n; i-- > 0;) {
		const char *f = st->frames[i].sym.function;
		const enum gpu_wait waits = f ? gpu_call_waits(f) : GPU_WAITS_NOT;

		if (waits == GPU_WAITS_NOT)
			continue;
		*ret = i;
		return waits;
	}
	return GPU_WAITS_NOT;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "app.cu:15 <- main": where the program called. from: the first frame that is its own. */
static void set_where(struct why_node *n, const struct stack *st, unsigned from)
{
	struct buf b = BUF_INIT;
	unsigned shown = 0;

	for (unsigned i = from; i < st->n && shown < CALLERS_MAX; i++) {
		const struct symbol *s = &st->frames[i].sym;

		if (!shown && !s->file)
			continue;
		if (!s->function || s->function[0] == '_')
			break;
		if (!shown)
			buf_printf(&b, "%s:%u", last_part(s->file), s->line);
		buf_printf(&b, " <- %s", s->function);
		shown++;
		if (!strcmp(s->function, "main"))
			break;
	}
	if (b.len)
		why_set(&n->where, "%s", buf_cstr(&b));
	buf_free(&b);
}

/* The number of the thread as the shell shows it: from 1, in the order of the process. */
static void add_thread_node(struct asked *a, unsigned i, unsigned number)
{
	struct why_thread *t = &a->p.threads[i];
	char name[64];

	snprintf(name, sizeof name, "host thread %u", number);
	if (a->peer)
		snprintf(name, sizeof name, "thread %d of process %d", (int)t->tid, (int)a->p.pid);
	t->node = why_node(a->d.w, WHY_THREAD, a->p.pid, (uint64_t)t->tid, name);
	set_where(why_at(a->d.w, t->node), &a->stacks[i],
		a->waits[i] != GPU_WAITS_NOT ? a->called[i] + 1 : 0);
}

/* Whether the thread executes a host function of the program's now. */
static bool runs_host_function(const struct asked *a, pid_t tid)
{
	const struct soft_look *l;

	if (!a->d.look || !a->d.look->answered)
		return false;
	l = &a->d.look->look[a->d.look->two].soft;
	for (uint32_t i = 0; i < l->nstreams; i++)
		if (l->stream[i].corr && l->stream[i].kind == SOFT_LOOK_HOST &&
			l->stream[i].os_tid == (uint32_t)tid)
			return true;
	return false;
}

static bool sees_inside(const struct asked *a)
{
	return a->d.look && a->d.look->answered && a->d.look->look[a->d.look->two].is_soft;
}

/* Whether the thread never acts for the program. Of those with a helper's name that is not so for
 * one that executes a host function now, nor for one that such a function has started, which
 * inherits the name, if it waits for the device. Takes its stack if that is needed. */
static bool is_helper(struct asked *a, unsigned i, const struct inferior_thread *t)
{
	struct stack *st = &a->stacks[i];
	unsigned at;

	if (!why_helper_name(t->name))
		return false;
	if (runs_host_function(a, t->tid))
		return false;
	if (!t->thread && (sees_inside(a) || !why_has_callbacks(&a->d)))
		return true;
	err_free(inferior_backtrace(a->p.inf, t->tid, FRAMES_MAX, &st->frames, &st->n));
	if ((t->thread && find_call(st, &at) != GPU_WAITS_NOT) ||
		(!sees_inside(a) && why_runs_callback(&a->d, st)))
		return false;
	stack_free(st);
	*st = (struct stack){0};
	return true;
}

/* Takes the thread's stack unless is_helper() did. A thread that has made no call of the device's
 * and is in no code of the program's is a helper, too. */
static void take_stack(struct asked *a, unsigned n, const struct inferior_thread *t)
{
	struct stack *st = &a->stacks[n];

	if (!st->n)
		err_free(inferior_backtrace(a->p.inf, t->tid, FRAMES_MAX, &st->frames, &st->n));
	if (t->thread || runs_host_function(a, t->tid) || !why_helper_stack(st))
		return;
	a->p.threads[n].helper = true;
	stack_free(st);
	*st = (struct stack){0};
}

static void take_threads(struct asked *a)
{
	struct inferior *inf = a->p.inf;
	struct inferior_thread t;
	unsigned cap = 0;

	for (unsigned i = 0; inferior_thread(inf, i, &t); i++) {
		const unsigned n = a->p.nthreads;
		struct why_thread *to;

		MAKE_ROOM(a->p.threads, a->p.nthreads, cap);
		a->stacks = xrealloc(a->stacks, cap * sizeof *a->stacks);
		a->waits = xrealloc(a->waits, cap * sizeof *a->waits);
		a->called = xrealloc(a->called, cap * sizeof *a->called);
		to = &a->p.threads[a->p.nthreads++];
		*to = (struct why_thread){.tid = t.tid, .thread = t.thread, .node = WHY_NONE};
		memcpy(to->name, t.name, sizeof to->name);
		a->stacks[n] = (struct stack){0};
		a->waits[n] = GPU_WAITS_NOT;
		to->helper = is_helper(a, n, &t);
		read_call(inf, to);
		if (!to->helper)
			take_stack(a, n, &t);
		if (to->helper)
			continue;
		a->waits[n] = find_call(&a->stacks[n], &a->called[n]);
		if (runs_host_function(a, t.tid))
			a->waits[n] = GPU_WAITS_NOT;
		if (a->waits[n] != GPU_WAITS_NOT)
			to->call = a->stacks[n].frames[a->called[n]].sym.function;
	}
	for (unsigned i = 0, number = 0; i < a->p.nthreads; i++) {
		a->p.threads[i].stack = &a->stacks[i];
		if (!a->p.threads[i].helper)
			add_thread_node(a, i, ++number);
	}
}

/* --- what calls wait for --- */

/* The record of the wait that the thread is in. */
static bool find_sync(const struct asked *a, const struct why_thread *t, struct sbt_cmd *ret)
{
	struct state_thread st;

	for (unsigned i = 0; a->d.state && state_thread(a->d.state, i, &st); i++)
		if (st.os_tid == (uint32_t)t->tid && st.waiting_in)
			return why_command(&a->d, st.waiting_in, ret) && ret->kind == SBT_SYNC;
	return false;
}

/* An edge from the thread to a stream that has work. */
static bool wait_stream(struct asked *a, uint32_t node, uint32_t stream, enum why_known known)
{
	struct state_stream st;

	if (!state_stream_by_id(a->d.state, stream, &st) || !st.pending)
		return false;
	why_edge(a->d.w, node, why_stream_node(&a->d, stream), known, "waits for");
	return true;
}

static bool wait_event(struct asked *a, uint32_t node, uint32_t event)
{
	struct state_event e;
	char name[32];
	uint32_t to, record;

	if (!state_event_by_id(a->d.state, event, &e))
		return false;
	record = why_command_node(&a->d, e.record_seq);
	if (record == WHY_NONE)
		return false;
	snprintf(name, sizeof name, "event %" PRIu32, event);
	to = why_node(a->d.w, WHY_EVENT, a->p.pid, event, name);
	why_edge(a->d.w, node, to, WHY_KNOWN_RECORDED, "waits for");
	why_edge(a->d.w, to, record, WHY_KNOWN_RECORDED, "is recorded by");
	return true;
}

/* Every stream node, or, for a call that waits for the default stream, it and the blocking ones. */
static bool wait_streams(struct asked *a, uint32_t node, bool blocking, enum why_known known)
{
	struct why *w = a->d.w;
	bool any = false;

	for (uint32_t i = 0; i < w->nnodes; i++) {
		const struct why_node *n = &w->node[i].is;
		struct state_stream st;

		if (n->kind != WHY_STREAM || n->pid != a->p.pid)
			continue;
		if (blocking && state_stream_by_id(a->d.state, (uint32_t)n->id, &st) &&
			!st.is_default && st.flags & 1)
			continue;
		why_edge(w, node, i, known, "waits for");
		any = true;
	}
	return any;
}

static bool wait_recorded(struct asked *a, struct why_thread *t, const struct sbt_cmd *c)
{
	struct why_node *n = why_at(a->d.w, t->node);

	switch (c->u.sync.scope) {
	case SBT_SYNC_STREAM:
		why_set(&n->does, "waits in %s(stream %" PRIu64 ")", t->call, c->u.sync.stream);
		return wait_stream(a, t->node, (uint32_t)c->u.sync.stream, WHY_KNOWN_RECORDED);
	case SBT_SYNC_EVENT:
		why_set(&n->does, "waits in %s(event %" PRIu64 ")", t->call, c->u.sync.event);
		return wait_event(a, t->node, (uint32_t)c->u.sync.event);
	default:
		return wait_streams(a, t->node, false, WHY_KNOWN_RECORDED);
	}
}

/* Nothing was recorded of the call: the stack says which it is, not which stream it waits for. */
static bool wait_by_stack(struct asked *a, struct why_thread *t, enum gpu_wait waits)
{
	if (waits == GPU_WAITS_STREAM || waits == GPU_WAITS_EVENT) {
		why_at(a->d.w, t->node)->any = true;
		return wait_streams(a, t->node, false, WHY_KNOWN_POSSIBLE);
	}
	return wait_streams(a, t->node, waits == GPU_WAITS_DEFAULT, WHY_KNOWN_STACK);
}

static void at_call(struct asked *a, unsigned i)
{
	struct why_thread *t = &a->p.threads[i];
	struct why_node *n = why_at(a->d.w, t->node);
	struct sbt_cmd c;
	bool waits;

	n->root = !a->peer;
	n->at_device = true;
	why_set(&n->does, "waits in %s", t->call);
	if (find_sync(a, t, &c)) {
		waits = wait_recorded(a, t, &c);
	} else {
		waits = wait_by_stack(a, t, a->waits[i]);
		a->late = a->late || !(a->p.whole || sees_inside(a));
	}
	if (waits)
		return;
	/* What it waits for has finished, or was not seen. */
	n = why_at(a->d.w, t->node);
	if (a->d.look && a->d.look->answered && a->d.look->look[a->d.look->two].soft.known &&
		a->p.whole) {
		n->end = WHY_END_COMES;
		why_set(&n->because, "what it waits for has finished");
	}
}

/* --- progress --- */

/* Whether the driver says that a stream or an event has finished between the looks. */
static bool has_ended(const struct live_look *l)
{
	const struct tsdb_look *first = &l->look[0], *second = &l->look[1];

	for (uint32_t i = 0; i < first->nquestions && i < second->nquestions; i++)
		if ((first->question[i].kind == TSDB_ASK_STREAM ||
			    first->question[i].kind == TSDB_ASK_EVENT) &&
			first->question[i].answer == TSDB_ANSWER_NOT_DONE &&
			second->question[i].answer == TSDB_ANSWER_DONE)
			return true;
	return false;
}

static void set_progress(struct asked *a)
{
	const struct live_look *l = a->d.look;
	struct why_progress p = {0};
	struct state_totals totals;
	uint64_t since = 0;

	if (a->d.state) {
		state_totals(a->d.state, &totals);
		p.pending = totals.pending;
	}
	p.looked = l && l->answered;
	p.apart_ms = p.looked ? l->apart_ms : 0;
	for (uint32_t i = 0; p.looked && i < l->look[l->two].soft.nstreams; i++) {
		const struct soft_look_stream *s = &l->look[l->two].soft.stream[i];

		if (s->corr && s->since_ns > since)
			since = s->since_ns;
		for (uint32_t k = 0; l->two && k < l->look[0].soft.nstreams; k++)
			if (l->look[0].soft.stream[k].handle == s->handle &&
				l->look[0].soft.stream[k].ctx == s->ctx)
				p.between += s->done - l->look[0].soft.stream[k].done;
		p.finished += s->done;
	}
	p.moved = p.between || (l && l->two && has_ended(l));
	if (since && l->taken_ns > since)
		p.still_ns = l->taken_ns - since;
	why_set_progress(a->d.w, &p);
}

/* --- all together --- */

/* A thread that waits and is not known to go on: somebody may want it to. */
static void set_roots(struct asked *a)
{
	for (unsigned i = 0; i < a->p.nthreads; i++) {
		struct why_node *n = why_at(a->d.w, a->p.threads[i].node);

		if (n && n->end == WHY_END_UNKNOWN &&
			why_next(a->d.w, a->p.threads[i].node, WHY_NONE) != WHY_NONE)
			n->root = true;
	}
}

static bool any_root(const struct why *w)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		if (w->node[i].is.root)
			return true;
	return false;
}

/* Whether the stream is known to wait for a value in memory, through what it is at. */
static bool waits_for_value(const struct why *w, uint32_t stream)
{
	uint32_t at = stream;

	for (uint32_t n = 0; at != WHY_NONE && n < w->nnodes; n++) {
		const struct why_edge *e = why_edge_at(w, why_next(w, at, WHY_NONE));

		if (why_at(w, at)->moved == WHY_MOVED || why_at(w, at)->end == WHY_END_COMES)
			return false;
		if (why_at(w, at)->kind == WHY_VALUE)
			return true;
		at = e ? e->to : WHY_NONE;
	}
	return false;
}

/* A thread that polls an event or a stream is in no call that waits, and looks like one that
 * computes. So where no thread waits, a stream that does is what there is to explain. */
static void set_polled_roots(struct asked *a)
{
	struct why *w = a->d.w;
	bool any = false;

	if (any_root(w) || why_get_progress(w)->moved)
		return;
	for (uint32_t i = 0; i < w->nnodes; i++)
		if (w->node[i].is.kind == WHY_STREAM && w->node[i].is.pid == a->p.pid &&
			waits_for_value(w, i))
			w->node[i].is.root = any = true;
	if (any)
		why_note(w,
			"no thread is in a call that waits for the GPU: one that polls looks like one that computes");
}

static bool is_behind(const struct why *w, uint32_t node)
{
	const struct why_edge *e = why_edge_at(w, why_next(w, node, WHY_NONE));

	return e && !strcmp(e->what, WHY_BEHIND);
}

/* The cure of a cycle through a value whose writer is queued behind it. */
static void set_cure(struct why *w)
{
	for (uint32_t i = 0; i < w->nedges; i++) {
		const struct why_edge *e = &w->edge[i].is;
		const struct why_node *to = why_at(w, e->to);
		char *end;
		char name[160];

		if (why_at(w, e->from)->kind != WHY_VALUE || to->kind != WHY_COMMAND ||
			e->known > WHY_KNOWN_CODE || !is_behind(w, e->to))
			continue;
		if (to->id >> 63) {
			why_set_cure(w, "%s must not depend on the node that waits", to->name);
			return;
		}
		snprintf(name, sizeof name, "%s", to->name);
		end = strstr(name, "<<<");
		if (end)
			*end = 0;
		why_set_cure(w, "launch %s before the wait, or on another stream", name);
		return;
	}
}

static void add_device(struct asked *a)
{
	unsigned late;

	if (!a->d.look || !a->d.state)
		return;
	why_streams(&a->d);
	late = why_late_streams(&a->d);
	if (late)
		why_note(a->d.w,
			"tsdb came after %u stream%s had got %s work: which commands are queued there is not known",
			late, late == 1 ? "" : "s", late == 1 ? "its" : "their");
	if (a->d.look->unanswered)
		why_note(a->d.w, "%s", a->d.look->unanswered);
}

static void note_late(struct asked *a)
{
	if (a->late)
		why_note(a->d.w,
			"what process %d waits for was given to the GPU before tsdb came, and is not known: run the program under tsdb, or attach before it hangs",
			(int)a->p.pid);
}

static void asked_free(struct asked *a)
{
	for (unsigned i = 0; i < a->p.nthreads; i++)
		stack_free(&a->stacks[i]);
	free(a->stacks);
	free(a->waits);
	free(a->called);
	free(a->p.threads);
}

/* What the process's threads and its device wait for. */
static void ask_process(struct asked *a)
{
	take_threads(a);
	add_device(a);
	for (unsigned i = 0; i < a->p.nthreads; i++)
		if (a->waits[i] != GPU_WAITS_NOT && a->p.threads[i].node != WHY_NONE)
			at_call(a, i);
	note_late(a);
}

static void begin_peer(struct asked *peer, const struct asked *a, struct inferior *inf)
{
	*peer = (struct asked){.peer = true,
		.d = {.w = a->d.w,
			.en = a->d.en,
			.look = live_look_at(a->d.en, inf),
			.pid = inferior_pid(inf)},
		.p = {.pid = inferior_pid(inf), .rank = -1, .inf = inf}};
	peer->d.p = &peer->p;
	peer->d.state = peer->d.look->state;
	ask_process(peer);
}

/* The host's half, of the process and of those that it waits for. */
static void ask_host(struct asked *a)
{
	struct inferior *inf[WHY_PEERS];
	struct asked peer[WHY_PEERS];
	struct why_process all[1 + WHY_PEERS] = {a->p};
	const unsigned n = why_peers_begin(a->d.en, &a->p, inf);

	for (unsigned i = 0; i < n; i++) {
		begin_peer(&peer[i], a, inf[i]);
		all[1 + i] = peer[i].p;
	}
	why_host(a->d.w, all, 1 + n);
	for (unsigned i = 0; i < n; i++) {
		live_look_free((struct live_look *)peer[i].d.look);
		asked_free(&peer[i]);
		why_peer_end(inf[i]);
	}
}

struct err *why_ask(struct engine *en, struct why **ret)
{
	const struct live *l = &en->live;
	struct asked a = {0};

	*ret = NULL;
	if (!l->inf || !inferior_alive(l->inf) || inferior_running(l->inf))
		return err_cure(err_new(ERR_STATE, "there is no program that is stopped"),
			"Use \"run\" and Ctrl-C, or \"attach PID\"");
	a.d = (struct why_device){.w = why_new(),
		.en = en,
		.look = live_look(en, true),
		.p = &a.p,
		.pid = inferior_pid(l->inf)};
	a.d.state = a.d.look ? a.d.look->state : (l->recorder ? recorder_state(l->recorder) : NULL);
	a.p = (struct why_process){.pid = a.d.pid,
		.rank = l->rank,
		.inf = l->inf,
		.whole = !inferior_attached(l->inf)};
	ask_process(&a);
	ask_host(&a);
	set_roots(&a);
	set_progress(&a);
	set_polled_roots(&a);
	set_cure(a.d.w);
	asked_free(&a);
	*ret = a.d.w;
	return NULL;
}
