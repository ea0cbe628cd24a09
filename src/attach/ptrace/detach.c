/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves the inferior: disarms breakpoints, asks the agent to go and waits for it, then lets go of
 * every thread, with its pending signal. The agent's own traps are not delivered. A process that
 * was launched is let go of in the same way.
 */
#include "attach/ptrace/inferior.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/monotonic.h"

#define LIMBO_MS                                                                                   \
	3000u /* for threads that wait for a vfork child, which has not called exec yet            \
	       */
#define LEAVE_MS 5000u

bool inferior_attached(const struct inferior *inf)
{
	return inf->attached;
}

bool inferior_wake(struct inferior *inf)
{
	const struct tracee *leader = tracee_find(inf, inf->pid);
	bool wake = inf->found_stopped && inf->alive && leader && leader->job_stop;

	inf->found_stopped = false;
	if (wake)
		kill(inf->pid, SIGCONT);
	return wake;
}

static bool has_agent(const struct inferior *inf)
{
	uint32_t state = inf->control ? atomic_load(&inf->control->agent_state) : TSDB_AGENT_NONE;

	return inf->attached && state != TSDB_AGENT_NONE && state != TSDB_AGENT_LEFT;
}

bool inferior_agent_left(const struct inferior *inf)
{
	return !inf->alive || !has_agent(inf);
}

/* From here on nothing stops the program, and no producer waits for room in a ring. */
static void disarm(struct tsdb_control *c)
{
	atomic_store(&c->breaks, 0);
	for (unsigned i = 0; i < TSDB_BREAK_MAX; i++)
		atomic_store(&c->brk[i].enabled, 0);
	atomic_store(&c->step, 0);
	atomic_store(&c->window_stop, 0);
	atomic_store(&c->memory_answer, TSDB_ANSWER_WITHOUT);
	c->window.kind = TSDB_WINDOW_NONE;
	atomic_store(&c->capture_all, 0);
	c->request.kind = TSDB_REQ_NONE;
}

struct err *inferior_leave(struct inferior *inf)
{
	if (!inf->alive || !inf->control)
		return NULL;
	if (inf->attached)
		stops_overrule(inf, true);
	disarm(inf->control);
	atomic_store(&inf->control->leave, 1);
	(void)syscall(SYS_futex, &inf->control->leave, FUTEX_WAKE, 1, NULL, NULL, 0);
	return inferior_resume(inf, false);
}

/* For callers that did not wait for the agent: the rings are not emptied any more, so records that
 * do not fit are dropped. */
static void await_leaving(struct inferior *inf)
{
	struct patience patience;
	struct inferior_event ev;

	if (!has_agent(inf))
		return;
	atomic_store(&inf->control->on_full, TSDB_FULL_DROP);
	err_free(inferior_leave(inf));
	patience_begin(&patience, inf->pid, LEAVE_MS * MS_NS);
	while (!inferior_agent_left(inf) && inf->alive && !patience_over(&patience)) {
		err_free(inferior_wait(inf, 2, &ev));
		if (inf->alive && !inf->running)
			err_free(inferior_resume(inf, false));
	}
}

/* The agent of a launched program has no thread to leave with. From here on it records nothing and
 * waits for nothing; it goes when the next debugger comes. */
static void silence(struct tsdb_control *c)
{
	disarm(c);
	atomic_store(&c->on_full, TSDB_FULL_DROP);
	atomic_store(&c->on, 0);
	atomic_store(&c->leave, 1);
}

/* The signal that a stopped thread is about to get. */
static int signal_of(const struct inferior *inf, const struct tracee *t)
{
	int sig = t->has_pending ? WSTOPSIG(t->pending) : t->inject;

	if (sig <= 0 || sig >= _NSIG || !inf->rules[sig].pass)
		return 0;
	if (!t->has_pending || sig != SIGTRAP || !inf->control || !inf->control->stop_pc)
		return sig;
	return arch_is_behind_trap(t->tid, inf->control->stop_pc) ? 0 : sig; /* the agent's own */
}

static struct err *let_go(struct inferior *inf)
{
	unsigned left = 0;

	for (unsigned i = inf->ntracees; i-- > 0;) {
		struct tracee *t = inf->tracees[i];

		if (ptrace(PTRACE_DETACH, t->tid, 0, signal_of(inf, t)) != 0)
			left += t->limbo;
		tracee_remove(inf, t);
	}
	inf->alive = inf->running = inf->at_agent = false;
	inf->event_tid = 0;
	inf->nqueue = 0;
	inferior_take_terminal(inf);
	if (!left)
		return NULL;
	return err_cure(
		err_new(ERR_STATE,
			"%u thread%s of process %d cannot be let go of now: they are in a call of the kernel that nothing interrupts",
			left, left == 1 ? "" : "s", inf->pid),
		"they are free when tsdb ends");
}

/* Stops all threads: a running thread cannot be let go of. One within vfork() waits for its child,
 * which may wait for its first stop to be taken. */
static void stop_for_good(struct inferior *inf)
{
	uint64_t deadline = monotonic_ms() + LIMBO_MS;

	stops_all(inf);
	while (inf->alive && !inf->died && stops_limbo(inf) && monotonic_ms() < deadline)
		stops_settle_children(inf);
}

struct err *inferior_detach(struct inferior *inf)
{
	if (!inf->alive)
		return NULL;
	await_leaving(inf);
	if (!inf->attached && inf->control)
		silence(inf->control);
	if (inf->alive && !inf->died)
		stop_for_good(inf);
	if (!inf->alive || inf->died) {
		stops_settle_children(inf);
		inf->alive = false;
		tracee_remove_others(inf, -1);
		return NULL;
	}
	stops_settle_children(inf);
	return let_go(inf);
}
