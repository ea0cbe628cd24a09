/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops; see stop.h and "Stops" in wire.h. A stop is one trap instruction, which the tracer sees as
 * SIGTRAP. Without tsdb as the tracer there is no stop, so /proc/self/status is checked first.
 *
 * What READ and WRITE at a stop mean: the agent first waits for the stopped command's own stream
 * (without one, for the legacy default stream, which waits for every blocking stream), unless that
 * stream is capturing; then it copies on a private non-blocking stream. So memory is as after all
 * earlier work of that stream; for other streams send SYNC_STREAM first.
 */
#include "capture/core/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/calls.h"
#include "capture/memory/contexts.h"
#include "capture/core/driver.h"
#include "capture/objects/graph-table.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/stacks/python-stack.h"
#include "capture/soft-fault.h"
#include "capture/memory/shadow.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"
#include "sbt/kernel-name.h"
#include "sbt/cmd-pack.h"

#define STOP_POLL_NS 200000

/* Exported so that users can put a debugger's breakpoint on it, too. */
AGENT_PUBLIC void tsdb_agent_stop(void);
__asm__(".pushsection .text\n"
	".globl tsdb_agent_stop\n"
	".type tsdb_agent_stop, @function\n"
	"tsdb_agent_stop:\n"
	".cfi_startproc\n"
	"	int3\n"
	"	ret\n"
	".cfi_endproc\n"
	".size tsdb_agent_stop, . - tsdb_agent_stop\n"
	".popsection\n");

uint64_t stop_trap_address(void)
{
	return (uint64_t)(uintptr_t)tsdb_agent_stop;
}

/* --- globs --- */

/* The globs at match_generation, so that a kernel is matched once for each change and not for each
 * launch. */
static struct {
	char glob[TSDB_BREAK_MAX][TSDB_GLOB_MAX];
	char window[TSDB_GLOB_MAX];
	_Atomic uint32_t generation; /* from 1 */
	struct spin lock;
} globs = {.generation = 1};

static bool glob_changed(const char *copy, const char *glob)
{
	return strncmp(copy, glob, TSDB_GLOB_MAX) != 0;
}

static void follow(char *copy, const char *glob)
{
	if (!glob_changed(copy, glob))
		return;
	spin_lock(&globs.lock);
	memcpy(copy, glob, TSDB_GLOB_MAX - 1);
	atomic_fetch_add(&globs.generation, 1);
	spin_unlock(&globs.lock);
}

static void match_all(struct kernel *k)
{
	spin_lock(&globs.lock);
	uint64_t mask = 0;
	for (unsigned i = 0; i < TSDB_BREAK_MAX; i++)
		if (!globs.glob[i][0] || sbt_kernel_glob(globs.glob[i], k->name, k->short_name))
			mask |= 1ull << i;
	const bool window =
		!globs.window[0] || sbt_kernel_glob(globs.window, k->name, k->short_name);
	atomic_store_explicit(&k->break_match, mask, memory_order_relaxed);
	atomic_store_explicit(&k->window_match, window, memory_order_relaxed);
	atomic_store_explicit(
		&k->match_generation, atomic_load(&globs.generation), memory_order_release);
	spin_unlock(&globs.lock);
}

static void bring_up_to_date(struct kernel *k)
{
	if (atomic_load_explicit(&k->match_generation, memory_order_acquire) !=
		atomic_load(&globs.generation))
		match_all(k);
}

bool stop_window_matches(struct kernel *k)
{
	follow(globs.window, agent.control->window.glob);
	bring_up_to_date(k);
	return atomic_load_explicit(&k->window_match, memory_order_relaxed);
}

/* --- requests --- */

static struct driver_result private_stream(uint64_t *ret)
{
	/* One for each context; the last one is kept. Only used by the owner of the stop. */
	static uint64_t of, stream;
	uint64_t now;
	struct driver_result r = driver->context_current(&now);
	if (!driver_good(r))
		return r;
	if (!now)
		return driver->answer(DRIVER_NO_CONTEXT);
	if (now != of) {
		r = driver->stream_create(&stream);
		if (!driver_good(r))
			return r;
		of = now;
		const struct object *o = ids_object(&ids.ctxs, now);
		if (o)
			device_made_stream(now, o->id, stream);
	}
	*ret = stream;
	return r;
}

static struct driver_result sync_unless_capturing(uint64_t s)
{
	bool capturing;
	/* Asked about the legacy stream while another one captures, the driver returns an error: do
	 * not wait then. */
	if (atomic_load(&calls_captures) &&
		(!driver_good(driver->stream_capturing(s, &capturing)) || capturing))
		return driver->answer(DRIVER_OK);
	return driver->stream_finish(s);
}

static struct driver_result copy(const struct call *c, struct tsdb_req *q)
{
	uint64_t s = 0;
	if (q->size > sizeof(q->data))
		return driver->answer(DRIVER_NOT_VALID);
	struct driver_result r =
		sync_unless_capturing(c && c->has_stream ? c->stream : STREAM_LEGACY);
	if (driver_good(r))
		r = private_stream(&s);
	if (!driver_good(r))
		return r;
	r = driver->copy_to_host(q->data, q->addr, q->size, s);
	return driver_good(r) ? driver->stream_finish(s) : r;
}

struct wanted {
	uint32_t id;
	uint64_t handle;
	bool found;
};

static bool is_wanted(void *arg, uint64_t key, uint64_t value)
{
	struct wanted *w = arg;
	if (((const struct object *)(uintptr_t)value)->id == w->id) {
		w->handle = key;
		w->found = true;
	}
	return w->found;
}

static struct driver_result sync_stream(const struct call *c, uint32_t id)
{
	struct wanted w = {.id = id};
	/* No lock: its holder may be stopped. */
	map_each(&ids.streams, is_wanted, &w);
	if (!w.found && c && c->ctx && c->ctx->default_stream == id) {
		w.handle = STREAM_LEGACY;
		w.found = true;
	}
	return w.found ? sync_unless_capturing(w.handle) : driver->answer(DRIVER_BAD_HANDLE);
}

static void end_window(struct thread *t, const struct call *c, bool at_exit)
{
	if (atomic_load(&calls_captures))
		return; /* it ends with the next command after the stream capture */
	window_end(t, !c ? 0 : at_exit ? c->cmd.seq : c->cmd.seq - 1, true);
	window_settle(t);
}

/* Reads memory. If the device has faulted, reads its contents from when the window began. */
static struct driver_result read_memory(const struct call *c, struct tsdb_req *q)
{
	const struct driver_result r = copy(c, q);
	q->before = 0;
	if (driver_good(r) || q->size > sizeof(q->data) || !atomic_load(&calls_fault_seq) ||
		!shadow_kept_read(q->addr, q->data, q->size))
		return r;
	q->before = window_first();
	return driver->answer(DRIVER_OK);
}

static _Thread_local bool at_device_fault; /* in on_device_fault() */

static struct driver_result serve(
	struct thread *t, const struct call *c, struct tsdb_req *q, bool at_exit)
{
	struct driver_result r;
	/* At a device's fault the device waits for this thread, so nothing may wait for it. */
	if (at_device_fault && q->kind != TSDB_REQ_END_WINDOW)
		return driver->answer(DRIVER_GONE);
	/* At a mark the program may not have begun with the GPU. */
	if (!driver->is_open()) {
		if (q->kind == TSDB_REQ_END_WINDOW)
			end_window(t, c, at_exit);
		return driver->answer(q->kind == TSDB_REQ_END_WINDOW ? DRIVER_OK : DRIVER_GONE);
	}
	/* Another thread's capture in global mode must not forbid these calls, nor be invalidated
	 * by them. */
	const unsigned mode = driver->relax();
	switch (q->kind) {
	case TSDB_REQ_READ:
		r = read_memory(c, q);
		break;
	case TSDB_REQ_SYNC_STREAM:
		r = sync_stream(c, q->stream);
		break;
	case TSDB_REQ_END_WINDOW:
		end_window(t, c, at_exit);
		r = driver->answer(DRIVER_OK);
		break;
	default:
		r = driver->answer(DRIVER_LACKS);
	}
	driver->restrict_again(mode);
	return r;
}

/* --- the stop --- */

/* Whether the control block's debugger traces this process: it may have died, and another one may
 * be attaching. A program that has no descriptor left for asking is taken for traced while that
 * debugger lives; the trap has a handler. */
static bool is_traced(void)
{
	const uint32_t debugger = agent.control->debugger_pid;
	char text[2048];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (errno == EMFILE || errno == ENFILE) && debugger &&
		       !agent_debugger_gone(agent.control);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *at = strstr(text, "TracerPid:");
	const int tracer = at ? atoi(at + 10) : 0;
	return tracer > 0 && (!debugger || (uint32_t)tracer == debugger);
}

static void ignore_trap(int sig)
{
}

/* A trap without a handler kills the program, and the debugger may be killed just before it; so
 * there is a handler meanwhile. */
static void trap(void)
{
	const struct sigaction mine = {
		.sa_handler = ignore_trap, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction theirs;
	sigset_t set, mask;
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	const bool handled = !sigaction(SIGTRAP, &mine, &theirs);
	pthread_sigmask(SIG_UNBLOCK, &set, &mask);
	tsdb_agent_stop();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (handled)
		sigaction(SIGTRAP, &theirs, NULL);
}

/* One thread at a time decides whether to stop, and stops. */
static void acquire(struct thread *t)
{
	uint32_t nobody = 0;
	const uint32_t was = atomic_load(&t->at);
	while (!atomic_compare_exchange_strong(&agent.control->stop_owner, &nobody, t->os_tid) &&
		agent_live()) {
		nobody = 0;
		/* A thread at a stop may end the window meanwhile; this thread does nothing. */
		atomic_store(&t->at, was == THREAD_IN ? THREAD_STOPPING : was);
		nanosleep(&(struct timespec){.tv_nsec = STOP_POLL_NS}, NULL);
	}
	atomic_store(&t->at, was);
}

static void let_go(void)
{
	atomic_store(&agent.control->stop_owner, 0);
}

/* Stops; the caller has acquired the right to. */
static void stop(struct thread *t, const struct call *c, uint32_t why, int32_t id, bool at_exit)
{
	struct tsdb_control *ctl = agent.control;
	if (!is_traced())
		return;
	if (why != STOP_ASKS && !at_device_fault)
		window_settle(t);
	struct tsdb_stop *s = &ctl->stop;
	const size_t size = c ? sbt_pack_size(&c->cmd) : 0;
	s->break_id = id;
	s->os_tid = t->os_tid;
	s->api_exit = at_exit;
	s->seq = c		    ? c->cmd.seq
		 : why == STOP_ASKS ? atomic_load(&ctl->next_seq)
				    : atomic_load(&ctl->window.closed_seq);
	s->cmd_size = size <= sizeof(s->cmd) ? (uint32_t)size : 0;
	if (s->cmd_size)
		sbt_pack(s->cmd, &c->cmd);
	s->why = why;
	ctl->request.kind = TSDB_REQ_NONE;
	trap();
	while (ctl->request.kind != TSDB_REQ_NONE && agent_live()) {
		ctl->request.result = serve(t, c, &ctl->request, at_exit).code;
		ctl->request.kind = TSDB_REQ_NONE;
		s->why = STOP_SERVED;
		trap();
	}
	s->why = STOP_NONE;
}

/* --- what to stop at --- */

static bool step_matches(const struct call *c)
{
	struct tsdb_control *ctl = agent.control;
	if (!atomic_load_explicit(&ctl->step, memory_order_relaxed) || !call_is_step(&c->cmd))
		return false;
	const uint32_t only = atomic_load(&ctl->step_thread);
	return !only || only == c->t->number;
}

static bool kernel_matches(struct tsdb_break *b, unsigned slot, struct kernel *k)
{
	follow(globs.glob[slot], b->glob);
	bring_up_to_date(k);
	return atomic_load_explicit(&k->break_match, memory_order_relaxed) >> slot & 1;
}

/* Whether the graph launch runs a kernel to stop at. */
static bool node_matches(struct tsdb_break *b, unsigned slot, const struct call *c)
{
	const struct graph_table *t = graph_table((uint32_t)c->cmd.u.graph_launch.exec);
	for (uint32_t i = 0; t && i < t->n; i++) {
		const struct graph_entry *e = &t->entry[i];
		struct sbt_cmd node;
		if (!e->of || e->disabled || !kernel_matches(b, slot, e->of))
			continue;
		const struct sbt_blob params = {
			e->of->params, e->of->nparams * sizeof(struct kernel_param)};
		if (!b->cond.n)
			return true;
		if (!e->size || !sbt_unpack(&node, e->payload, e->size))
			continue;
		node.u.launch.stream = c->cmd.u.graph_launch.stream;
		if (sbt_expr_true(&b->cond, &node, &params))
			return true;
	}
	return false;
}

static bool break_matches(struct tsdb_break *b, unsigned slot, struct call *c)
{
	static const struct sbt_python_view view = {.answer = python_answer};
	struct sbt_blob params = {NULL, 0};
	if (b->kind == SBT_LAUNCH && b->glob[0] && c->cmd.kind == SBT_GRAPH_LAUNCH &&
		!(c->cmd.flags & SBT_F_GRAPH))
		return node_matches(b, slot, c);
	if (b->kind ? b->kind != c->cmd.kind : !call_is_step(&c->cmd))
		return false;
	if (c->kernel) {
		if (!kernel_matches(b, slot, c->kernel))
			return false;
		params = (struct sbt_blob){
			c->kernel->params, c->kernel->nparams * sizeof(struct kernel_param)};
	} else if (b->glob[0] && !sbt_mark_glob(b->glob, &c->cmd)) {
		return false;
	}
	return !b->cond.n || sbt_expr_true_in(&b->cond, &c->cmd, c->kernel ? &params : NULL, &view);
}

/* Counts the hit; returns whether to stop. */
static bool break_hits(struct tsdb_break *b)
{
	const uint64_t left = atomic_load(&b->ignore);
	atomic_fetch_add(&b->hits, 1);
	if (left)
		atomic_store(&b->ignore, left - 1);
	else if (b->temporary)
		atomic_store(&b->enabled, 0);
	return !left;
}

/* Bit i: breakpoint slot i has to be checked for this call. */
static uint64_t matching(struct call *c)
{
	struct tsdb_control *ctl = agent.control;
	const uint32_t n = atomic_load_explicit(&ctl->breaks, memory_order_acquire);
	uint64_t mask = 0;
	for (unsigned i = 0; i < n && i < TSDB_BREAK_MAX; i++)
		if (atomic_load_explicit(&ctl->brk[i].enabled, memory_order_acquire) &&
			break_matches(&ctl->brk[i], i, c))
			mask |= 1ull << i;
	return mask;
}

/* Every breakpoint that is hit counts its hit, and is reported. */
static void stop_if_hit(struct call *c, bool at_exit)
{
	struct tsdb_control *ctl = agent.control;
	int32_t id = 0;
	uint64_t hit = 0;
	for (uint64_t mask = matching(c); mask; mask &= mask - 1) {
		const unsigned slot = (unsigned)__builtin_ctzll(mask);
		if (!break_hits(&ctl->brk[slot]))
			continue;
		if (!hit)
			id = ctl->brk[slot].id;
		hit |= 1ull << slot;
	}
	ctl->stop.break_slots = hit;
	const bool step = step_matches(c) && atomic_exchange(&ctl->step, 0);
	ctl->stop.stepped = step;
	if (hit)
		stop(c->t, c, STOP_BREAKPOINT, id, at_exit);
	else if (step)
		stop(c->t, c, STOP_STEP, 0, at_exit);
}

void stop_at(struct call *c, bool at_exit)
{
	if (at_exit && c->window_closed && atomic_load(&agent.control->window_stop)) {
		acquire(c->t);
		stop(c->t, c, STOP_WINDOW_CLOSED, 0, true);
		let_go();
	}
	if (at_exit != call_stops_at_exit(c->row) || (!matching(c) && !step_matches(c)))
		return;
	/* Another thread may be at a stop now, where the user deletes the breakpoint or sets its
	 * count: so this checks again. */
	acquire(c->t);
	stop_if_hit(c, at_exit);
	let_go();
}

static bool error_wanted(const struct call *c, bool sticky)
{
	static _Atomic uint32_t told; /* of the context's end */
	const struct tsdb_control *ctl = agent.control;
	const uint32_t on = atomic_load_explicit(&ctl->stop_on_error, memory_order_relaxed),
		       code = atomic_load(&ctl->error_code);
	const size_t n = strnlen(ctl->error_what, sizeof(ctl->error_what));
	if (on == TSDB_ERRORS_NONE)
		return false;
	if (sticky)
		return !atomic_exchange(&told, 1);
	if (on != TSDB_ERRORS_ALL || driver->result(c->cmd.result).status == DRIVER_NOT_READY)
		return false;
	const char *name = n ? driver->result_name(c->cmd.result) : NULL;
	return (!code || code == c->cmd.result) &&
	       (!n || (c->row->name && !strncmp(c->row->name, ctl->error_what, n)) ||
		       (name && !strncmp(name, ctl->error_what, n)));
}

static void take_fault(struct tsdb_error *e, const struct soft_fault *f)
{
	e->known = 1;
	e->corr = f->correlation;
	memcpy(e->block, f->block, sizeof(e->block));
	memcpy(e->thread, f->thread, sizeof(e->thread));
	e->line = f->line;
	e->size = f->size;
	e->addr = f->addr;
	e->source_line = f->source_line;
	memcpy(e->file, f->file, sizeof(e->file));
	memcpy(e->kernel, f->kernel, sizeof(e->kernel));
	memcpy(e->text, f->text, sizeof(e->text));
}

/* Adds what a software GPU knows of its fault; a vendor's driver reports nothing. */
static void describe_fault(struct tsdb_error *e)
{
	struct soft_fault f;
	soft_fault_fn *const soft = (soft_fault_fn *)(uintptr_t)driver->symbol("tsdb_soft_fault");
	if (soft && soft(&f))
		take_fault(e, &f);
}

/* A kernel may fault before the call that launched it has returned, and its record follows then;
 * without a stop the runtime ends the program next. A call that waits for the device returns never,
 * so this waits 100 ms at most. */
static void let_calls_return(const struct thread *t)
{
	for (int i = 0; i < 100 && thread_any_in(t, false); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* In the device's own thread, which the program's calls wait for. */
static void on_device_fault(const struct soft_fault *f)
{
	bool stranger;
	if (!thread_come_in(&stranger))
		return;
	struct thread *t = agent_live() ? thread_get_quiet() : NULL;
	if (t)
		let_calls_return(t);
	if (t && atomic_load(&agent.control->stop_on_error) != TSDB_ERRORS_NONE) {
		acquire(t);
		agent.control->error = (struct tsdb_error){.sticky = true};
		take_fault(&agent.control->error, f);
		at_device_fault = true;
		stop(t, NULL, STOP_FAILED_CALL, 0, true);
		at_device_fault = false;
		let_go();
	}
	thread_go_out(stranger);
}

void stop_watch_device(void)
{
	soft_on_fault_fn *const watch =
		(soft_on_fault_fn *)(uintptr_t)driver->symbol("tsdb_soft_on_fault");
	if (watch)
		watch(on_device_fault);
}

void stop_error(struct call *c, bool sticky)
{
	if (!error_wanted(c, sticky))
		return;
	const char *name = driver->result_name(c->cmd.result);
	acquire(c->t);
	struct tsdb_error *e = &agent.control->error;
	*e = (struct tsdb_error){.code = c->cmd.result, .sticky = sticky};
	if (name)
		strncpy(e->name, name, sizeof(e->name) - 1);
	if (c->row->name)
		strncpy(e->call, c->row->name, sizeof(e->call) - 1);
	if (sticky)
		describe_fault(e);
	stop(c->t, c, STOP_FAILED_CALL, 0, true);
	let_go();
}

void stop_window_done(struct thread *t)
{
	if (!atomic_load(&agent.control->window_stop))
		return;
	acquire(t);
	stop(t, NULL, STOP_WINDOW_CLOSED, 0, true);
	let_go();
}

void stop_trigger(struct call *c)
{
	if (!atomic_load(&agent.control->trigger_stop))
		return;
	acquire(c->t);
	stop(c->t, c, STOP_TRIGGER, 0, true);
	let_go();
}

void stop_capture(struct thread *t)
{
	acquire(t);
	stop(t, NULL, STOP_ASKS, 0, false);
	let_go();
}
