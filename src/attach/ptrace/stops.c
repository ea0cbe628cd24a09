/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that waits for the inferior, and the one that acts on what it did. All-stop: when
 * one thread reports something, every other thread is stopped before the caller gets the event;
 * what those threads did meanwhile is kept as their `pending` status and acted on after the next
 * resume. Every wait is limited: a SIGKILL from outside, an exec or an exit_group in another thread
 * may come at any point, and a thread inside vfork() does not stop at all.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attach/ptrace/keeper-process.h"
#include "base/monotonic.h"
#include "base/proc-stat.h"

#define EVENT_STOP 128	  /* PTRACE_EVENT_STOP */
#define STOP_WAIT_MS 2000 /* for all threads to stop */
#define LIMBO_AFTER_MS 20 /* before asking why a thread does not stop */
#define SETTLE_MS 10000	  /* for first stops of children when the inferior goes */

/* ---- what a status means ---- */

static int status_event(int status)
{
	return status >> 16;
}

static bool is_job_stop(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* With PTRACE_O_TRACESYSGOOD. */
static bool is_syscall_stop(int status)
{
	return WIFSTOPPED(status) && status_event(status) == 0 &&
	       WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static bool is_end(int status)
{
	return WIFEXITED(status) || WIFSIGNALED(status);
}

static bool at_agent_stop(const struct inferior *inf, const struct tracee *t)
{
	return inf->control && inf->control->stop_pc &&
	       arch_is_behind_trap(t->tid, inf->control->stop_pc);
}

/* Whether the signal was typed at the terminal, not sent by a process. */
static bool is_typed(const struct tracee *t)
{
	siginfo_t si;

	return ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) == 0 && si.si_code == SI_KERNEL;
}

/* ---- making threads run and stop ---- */

/* Failure means that the thread is being killed; the report of its end follows. */
static void run_thread(struct tracee *t, int sig)
{
	if (t->limbo)
		return;
	ptrace(t->group_stop  ? PTRACE_LISTEN
		: t->syscalls ? PTRACE_SYSCALL
			      : PTRACE_CONT,
		t->tid, 0, t->group_stop ? 0 : sig);
	t->running = true;
	t->has_regs = false;
	t->has_pending = false;
	t->inject = 0;
}

/* Any trap of a thread replaces the one that PTRACE_INTERRUPT asked for (Linux, kernel/signal.c,
 * ptrace_stop()). */
static void mark_stopped(struct tracee *t)
{
	t->running = t->limbo = t->fresh = t->asked = false;
	t->has_regs = false;
	t->group_stop = t->job_stop = false;
}

static void leader_died(struct inferior *inf, int status)
{
	inf->died = true;
	inf->death_status = status;
}

static void queue_event(struct inferior *inf, enum inferior_event_kind kind, pid_t tid, pid_t child)
{
	if (inf->nqueue < EVENT_QUEUE_MAX)
		inf->queue[inf->nqueue++] =
			(struct inferior_event){.kind = kind, .tid = tid, .child = child};
}

/* Child processes are traced from birth; at its first stop a child is followed or let go of. In a
 * child that is let go of the agent sees another pid and stays inert. */
static void take_children(struct inferior *inf)
{
	pid_t parent, child;

	while (newborn_next(inf, &parent, &child)) {
		if (!inf->family || !family_adopt(inf, child))
			ptrace(PTRACE_DETACH, child, 0, 0);
		queue_event(inf, INFERIOR_FORKED, parent, child);
	}
}

void stops_settle_children(struct inferior *inf)
{
	const uint64_t deadline = monotonic_ms() + SETTLE_MS;
	struct wait_hold h;

	wait_hold(&h);
	for (take_children(inf); inf->nnewborns && monotonic_ms() < deadline; take_children(inf))
		wait_sleep(&h, 5);
	wait_release(&h);
}

static void on_clone(struct inferior *inf, struct tracee *t)
{
	unsigned long tid;
	struct tracee *new;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &tid) != 0 || tracee_find(inf, (pid_t)tid))
		return; /* its first stop overtook this event */
	if (!wait_is_thread(inf,
		    (pid_t)tid)) { /* clone() without CLONE_THREAD, or a thread that has ended */
		newborn_expect(inf, t->tid, (pid_t)tid);
		return;
	}
	new = tracee_add(inf, (pid_t)tid);
	new->fresh = new->running = true;
}

static void on_fork(struct inferior *inf, struct tracee *t)
{
	unsigned long child;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &child) == 0)
		newborn_expect(inf, t->tid, (pid_t)child);
}

/* After exec the process has one thread, which has the leader's tid, whichever thread called
 * exec. */
static void on_exec(struct inferior *inf, struct tracee *t)
{
	tracee_remove_others(inf, t->tid);
	t->has_pending = false; /* the old program's */
	t->inject = 0;
	inf->owes_served = false;
	unwind_free(inf);
	libraries_stale(inf);
	control_exec(inf);
	keeper_exec(inf);
	queue_event(inf, INFERIOR_EXECED, t->tid, 0);
}

/* Repairs waits that the kernel ends with EINTR because of tsdb's stop, although no signal has
 * come. As ERESTARTNOHAND they are made again, unless a handler runs. */
static void restart_wait(struct tracee *t)
{
	static const short waits[] = {SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */,
		SYS_semop, SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
		333 /* io_pgetevents */, 426 /* io_uring_enter */, SYS_read, SYS_readv,
		SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4, SYS_sendto,
		SYS_sendmsg};
	struct arch_regs regs;
	struct arch_syscall call;

	if (!arch_regs_read(t->tid, &regs))
		return;
	call = arch_syscall(&regs);
	if (call.result != -EINTR)
		return;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (waits[i] == call.nr)
			arch_syscall_answer(t->tid, -514 /* ERESTARTNOHAND */);
}

/* Does what any status needs at once, whether or not the thread will run on. Returns false when t
 * no longer exists. */
static bool take_status(struct inferior *inf, struct tracee *t, int status)
{
	if (is_end(status)) {
		if (t->tid == inf->pid)
			leader_died(inf, status);
		drain_thread_gone(inf, t->tid);
		tracee_remove(inf, t);
		return false;
	}
	mark_stopped(t);
	switch (status_event(status)) {
	case PTRACE_EVENT_CLONE:
		on_clone(inf, t);
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		on_fork(inf, t);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(inf, t);
		break;
	case EVENT_STOP:
		t->job_stop = is_job_stop(WSTOPSIG(status));
		t->group_stop = t->job_stop && !inf->through_stop;
		restart_wait(t);
		break;
	}
	return true;
}

/* A thread's state letter in /proc, 0 when it has ended. */
static char thread_state(const struct inferior *inf, pid_t tid)
{
	struct proc_stat s;

	(void)proc_stat_read(inf->pid, tid, &s);
	return s.state;
}

/* A thread disappeared without a report. In the middle of an exec it becomes the leader, whose old
 * thread had been seen stopped; the exec event is still to come. */
static void await_leader(struct inferior *inf)
{
	struct tracee *leader = tracee_find(inf, inf->pid);

	if (leader && !leader->running && thread_state(inf, inf->pid) != 't')
		leader->running = leader->asked = true;
}

/* Finds threads that will not stop: zombie leaders, and those in an uninterruptible sleep. */
static void find_limbo(struct inferior *inf, bool late)
{
	for (unsigned i = inf->ntracees; i-- > 0;) {
		struct tracee *t = inf->tracees[i];
		char state;

		if (!t->running || t->limbo)
			continue;
		state = thread_state(inf, t->tid);
		/* ended: it has the leader's tid now, or its end was reported elsewhere */
		if (!state && t->tid != inf->pid) {
			tracee_remove(inf, t);
			await_leader(inf);
			continue;
		}
		if (state == 'Z' || state == 'D' || state == 'X' || late)
			t->limbo = true;
	}
}

static unsigned count_running(const struct inferior *inf)
{
	unsigned n = 0;

	for (unsigned i = 0; i < inf->ntracees; i++)
		n += inf->tracees[i]->running && !inf->tracees[i]->limbo;
	return n;
}

static void ask_to_stop(struct tracee *t)
{
	if (!t->running || t->fresh || t->asked || t->limbo)
		return;
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0)
		t->asked = true;
}

/* Whether status has to be acted on after the next resume; take_status() has handled the others
 * completely. */
static bool is_pending_kind(int status)
{
	return status_event(status) == 0 && !is_syscall_stop(status);
}

static void stop_all(struct inferior *inf)
{
	uint64_t start = monotonic_ms();
	struct wait_hold h;

	wait_hold(&h);
	for (unsigned i = 0; i < inf->ntracees; i++)
		ask_to_stop(inf->tracees[i]);
	while (!inf->died && count_running(inf)) {
		int status;
		struct tracee *t = wait_next(inf, &status);
		uint64_t waited;

		if (t) {
			if (take_status(inf, t, status) && is_pending_kind(status)) {
				t->has_pending = true;
				t->pending = status;
			}
			continue;
		}
		waited = monotonic_ms() - start;
		if (waited >= LIMBO_AFTER_MS)
			find_limbo(inf, waited >= STOP_WAIT_MS);
		if (count_running(inf))
			wait_sleep(&h, 5);
	}
	wait_release(&h);
}

/* ---- acting ---- */

static void on_signal(struct inferior *inf, struct tracee *t, int sig, struct inferior_event *ev)
{
	const struct signal_rule *rule = &inf->rules[sig < _NSIG ? sig : 0];
	bool ctrl_c = sig == SIGINT && !inf->sigint_ruled && is_typed(t);
	bool ctrl_z = sig == SIGTSTP && inf->has_terminal && is_typed(t);

	if (ctrl_c) {
		ev->kind = INFERIOR_STOP_INTERRUPT;
		ev->tid = t->tid;
		t->inject = 0;
		return;
	}
	if (!rule->stop && !ctrl_z) {
		run_thread(t, rule->pass ? sig : 0);
		return;
	}
	ev->kind = INFERIOR_STOP_SIGNAL;
	ev->tid = t->tid;
	ev->signal = sig;
	/* a program stopped by it could not even be interrupted by Ctrl-C */
	t->inject = rule->pass && !ctrl_z ? sig : 0;
}

/* Whether this is the stop of a request that had timed out, which is not waited for any more. */
static bool is_late_answer(struct inferior *inf)
{
	if (!inf->owes_served || inf->control->stop.why != STOP_SERVED)
		return false;
	inf->owes_served = false;
	inf->control->request.kind = TSDB_REQ_NONE;
	return true;
}

/* Acts on the status of a thread. The thread runs on unless it has something to report in *ev. */
static void act(struct inferior *inf, struct tracee *t, int status, struct inferior_event *ev)
{
	int sig = WSTOPSIG(status);

	t->has_pending = false;
	if (status_event(status) != 0 || is_syscall_stop(status)) {
		run_thread(t, 0);
	} else if (sig == SIGTRAP && at_agent_stop(inf, t)) {
		if (is_late_answer(inf)) {
			run_thread(t, 0);
			return;
		}
		ev->kind = INFERIOR_STOP_AGENT;
		ev->tid = t->tid;
	} else {
		on_signal(inf, t, sig, ev);
	}
}

static struct tracee *find_pending(struct inferior *inf)
{
	for (unsigned i = 0; i < inf->ntracees; i++)
		if (inf->tracees[i]->has_pending)
			return inf->tracees[i];
	return NULL;
}

static void report_death(struct inferior *inf, struct inferior_event *ev)
{
	int status = inf->death_status;

	*ev = (struct inferior_event){.tid = inf->pid};
	if (WIFEXITED(status)) {
		ev->kind = INFERIOR_EXITED;
		ev->status = WEXITSTATUS(status);
	} else {
		ev->kind = INFERIOR_SIGNALLED;
		ev->signal = WTERMSIG(status);
	}
	tracee_remove_others(inf, -1);
	inf->alive = inf->running = inf->died = inf->at_agent = false;
	inf->event_tid = 0;
	inferior_take_terminal(inf);
}

static void next_queued(struct inferior *inf, struct inferior_event *ev)
{
	*ev = inf->queue[0];
	memmove(inf->queue, inf->queue + 1, --inf->nqueue * sizeof(*inf->queue));
}

/* One round: acts on all statuses until there is something to report. What a thread did before it
 * stopped or died is reported first, so an exec never comes after the end of the new program.
 * Returns true when *ev was filled, an event was queued or the inferior died. */
static bool look(struct inferior *inf, struct inferior_event *ev)
{
	struct tracee *t;
	int status;

	for (;;) {
		if (inf->died)
			return true;
		take_children(inf);
		if (inf->nqueue)
			return true;
		if ((t = find_pending(inf))) {
			act(inf, t, t->pending, ev);
		} else if ((t = wait_next(inf, &status))) {
			if (take_status(inf, t, status))
				act(inf, t, status, ev);
		} else {
			break;
		}
		if (ev->kind != INFERIOR_NONE || inf->nqueue)
			return true;
	}
	if (inf->interrupt) {
		ev->kind = INFERIOR_STOP_INTERRUPT;
		ev->tid = inf->pid;
	}
	return ev->kind != INFERIOR_NONE;
}

/* Looks and sleeps until there is something to report or the time is over. */
static void wait_for(struct inferior *inf, int timeout_ms, struct inferior_event *ev)
{
	uint64_t deadline = monotonic_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms);
	struct wait_hold h;

	wait_hold(&h);
	while (!look(inf, ev)) {
		uint64_t now = monotonic_ms();
		int left = 1000;

		if (timeout_ms >= 0) {
			if (now >= deadline)
				break;
			if (deadline - now < 1000)
				left = (int)(deadline - now);
		}
		wait_sleep(&h, left);
	}
	wait_release(&h);
}

/* An interrupt stops all threads; it is reported for a thread that can be looked at, the leader if
 * possible. */
static pid_t some_stopped(struct inferior *inf)
{
	const struct tracee *leader = tracee_find(inf, inf->pid);

	if (leader && !leader->limbo)
		return inf->pid;
	for (unsigned i = 0; i < inf->ntracees; i++)
		if (!inf->tracees[i]->limbo)
			return inf->tracees[i]->tid;
	return inf->pid;
}

static bool has_execed(const struct inferior *inf)
{
	for (unsigned i = 0; i < inf->nqueue; i++)
		if (inf->queue[i].kind == INFERIOR_EXECED)
			return true;
	return false;
}

/* Stops every other thread and takes the terminal. A stop in a program that another thread's exec
 * has replaced meanwhile is not reported: its thread no longer exists. */
static void settle(struct inferior *inf, struct inferior_event *ev)
{
	stop_all(inf);
	inf->interrupt = 0;
	if (inf->died)
		return;
	if (ev->kind == INFERIOR_STOP_INTERRUPT && ev->tid == inf->pid)
		ev->tid = some_stopped(inf);
	inf->running = false;
	if (ev->kind != INFERIOR_STOP_INTERRUPT && has_execed(inf)) {
		ev->kind = INFERIOR_NONE;
		err_free(inferior_resume(inf, false));
		return;
	}
	inf->stops++;
	inf->event_tid = ev->tid;
	inf->at_agent = ev->kind == INFERIOR_STOP_AGENT;
	libraries_stale(inf);
	inferior_take_terminal(inf);
}

/* Makes the caller's event out of a stop in *ret or of a queued event. */
static struct err *deliver(struct inferior *inf, struct inferior_event *ret)
{
	if (ret->kind != INFERIOR_NONE)
		settle(inf, ret);
	if (inf->died)
		stops_settle_children(inf);
	if (inf->nqueue && (ret->kind == INFERIOR_NONE || inf->died))
		next_queued(inf, ret); /* the next call reports a death */
	else if (inf->died)
		report_death(inf, ret);
	return NULL;
}

struct err *inferior_wait(struct inferior *inf, int timeout_ms, struct inferior_event *ret)
{
	*ret = (struct inferior_event){.kind = INFERIOR_NONE};
	if (!inf->alive)
		return err_cure(
			err_new(ERR_STATE, "the program is not being run"), "start it with `run`");
	if (!inf->running && !inf->died && !inf->nqueue)
		return err_cure(err_new(ERR_STATE, "the program is stopped"), "use `continue`");
	if (inf->running && !inf->nqueue && !inf->died)
		wait_for(inf, timeout_ms, ret);
	return deliver(inf, ret);
}

/* ---- several inferiors ---- */

/* The inferior that the next status is about; n when nothing has happened, or when that is not
 * known (*ret_look: look at all). */
static unsigned whose(struct inferior *const *infs, unsigned n, bool *ret_look)
{
	siginfo_t si = {0};

	*ret_look = waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		    si.si_pid != 0;
	for (unsigned i = 0; *ret_look && i < n; i++)
		if (tracee_find(infs[i], si.si_pid))
			return i;
	return n;
}

static bool may_report(const struct inferior *inf)
{
	return inf->alive && (inf->running || inf->died || inf->nqueue);
}

/* Looks once at all; returns n when none has an event. If an event is not in *ev, inferior_wait()
 * gets it. */
static unsigned look_any(struct inferior *const *infs, unsigned n, struct inferior_event *ev)
{
	bool all;
	unsigned owner = whose(infs, n, &all);

	for (unsigned i = 0; i < n; i++) {
		struct inferior *inf = infs[i];

		if (!may_report(inf))
			continue;
		if (inf->died || inf->nqueue)
			return i;
		if ((inf->interrupt || find_pending(inf) || i == owner || (all && owner == n)) &&
			look(inf, ev))
			return i;
	}
	return n;
}

struct err *inferior_wait_any(struct inferior *const *infs, unsigned n, int timeout_ms,
	unsigned *ret_i, struct inferior_event *ret)
{
	uint64_t deadline = monotonic_ms() + (uint64_t)timeout_ms;
	struct wait_hold h;
	unsigned i;

	*ret = (struct inferior_event){.kind = INFERIOR_NONE};
	*ret_i = 0;
	wait_hold(&h);
	while ((i = look_any(infs, n, ret)) == n) {
		uint64_t now = monotonic_ms();

		if (now >= deadline)
			break;
		wait_sleep(&h, deadline - now < 1000 ? (int)(deadline - now) : 1000);
	}
	wait_release(&h);
	if (i == n)
		return NULL;
	*ret_i = i;
	return deliver(infs[i], ret);
}

/* Whether a stop is already there: it is reported before any thread runs on. */
static bool pending_reports(const struct inferior *inf)
{
	for (unsigned i = 0; i < inf->ntracees; i++) {
		const struct tracee *t = inf->tracees[i];

		if (t->has_pending &&
			(WSTOPSIG(t->pending) == SIGTRAP || inf->rules[WSTOPSIG(t->pending)].stop))
			return true;
	}
	return false;
}

struct err *inferior_resume(struct inferior *inf, bool drop_signal)
{
	struct tracee *t;

	if (!inf->alive)
		return err_cure(
			err_new(ERR_STATE, "the program is not being run"), "start it with `run`");
	if (inf->running)
		return NULL;
	t = tracee_find(inf, inf->event_tid);
	if (t && drop_signal)
		t->inject = 0;
	inferior_give_terminal(inf);
	inf->interrupt = 0; /* one that came while it was stopped has had its effect */
	inf->running = true;
	inf->at_agent = false;
	inf->event_tid = 0;
	if (pending_reports(inf))
		return NULL;
	for (unsigned i = 0; i < inf->ntracees; i++)
		if (!inf->tracees[i]->running && !inf->tracees[i]->has_pending)
			run_thread(inf->tracees[i], inf->tracees[i]->inject);
	return NULL;
}

void stops_begin(struct inferior *inf, pid_t pid)
{
	tracee_add(inf, pid);
	inf->event_tid = pid;
}

/* ---- for attaching ---- */

void stops_all(struct inferior *inf)
{
	stop_all(inf);
	inf->running = false;
	inf->stops++;
	libraries_stale(inf);
}

bool stops_limbo(struct inferior *inf)
{
	bool any = false;

	for (unsigned i = 0; i < inf->ntracees; i++) {
		struct tracee *t = inf->tracees[i];
		char state = t->limbo && t->running ? thread_state(inf, t->tid) : 0;

		if (!state || state == 'Z' || state == 'X')
			continue;
		t->limbo = false;
		any = true;
	}
	if (any)
		stop_all(inf);
	return any;
}

/* After a resume other than PTRACE_LISTEN a thread runs even if SIGSTOP stopped the process.
 * When it is let go of, or tsdb dies, it is stopped again (Linux, kernel/ptrace.c,
 * __ptrace_unlink()). */
void stops_overrule(struct inferior *inf, bool through)
{
	bool listening = false;

	for (unsigned i = 0; i < inf->ntracees; i++)
		listening |= inf->tracees[i]->running && inf->tracees[i]->group_stop;
	inf->through_stop = through;
	if (through && listening)
		stops_all(inf);
	for (unsigned i = 0; i < inf->ntracees; i++)
		inf->tracees[i]->group_stop = inf->tracees[i]->job_stop && !through;
}

void stops_go(struct inferior *inf)
{
	struct inferior_event ev = {.kind = INFERIOR_NONE};

	inf->running = true;
	inf->at_agent = false;
	inf->event_tid = 0;
	for (unsigned i = 0; i < inf->ntracees; i++) {
		struct tracee *t = inf->tracees[i];

		if (t->has_pending)
			act(inf, t, t->pending, &ev);
		else if (!t->running)
			run_thread(t, t->inject);
	}
}

void stops_run(struct tracee *t)
{
	run_thread(t, t->inject);
}

bool stops_pump(struct inferior *inf, pid_t tid, int timeout_ms)
{
	uint64_t deadline = monotonic_ms() + (uint64_t)timeout_ms;
	struct inferior_event ev = {.kind = INFERIOR_NONE};
	bool there = false;
	struct wait_hold h;

	wait_hold(&h);
	while (!there && !inf->died && !has_execed(inf) && tracee_find(inf, tid) &&
		monotonic_ms() < deadline) {
		int status;
		struct tracee *t = wait_next(inf, &status);

		take_children(inf);
		if (!t)
			wait_sleep(&h, 5);
		else if (!take_status(inf, t, status))
			continue;
		else if (t->tid == tid && is_syscall_stop(status))
			there = true;
		else
			act(inf, t, status, &ev);
	}
	wait_release(&h);
	return there;
}

/* ---- requests ---- */

static bool is_device_thread(const char *name)
{
	static const char *const prefixes[] = {"tsdb-soft", "soft-amd", "tsdb-look", "tsdb-hsa"};

	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Runs the software GPU's own threads, which are its hardware: a read that waits for the device
 * needs them; the agent's thread that asks the driver; and the HSA runtime's, which tells HIP what
 * has finished. They are known by name. A real GPU runs by itself. */
static void run_device_threads(struct inferior *inf)
{
	for (unsigned i = 0; i < inf->ntracees; i++) {
		struct tracee *t = inf->tracees[i];
		char path[64], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", inf->pid, t->tid);
		f = t->running || t->has_pending ? NULL : fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && is_device_thread(name))
			run_thread(t, t->inject);
		fclose(f);
	}
}

/* Handles a status of another thread while a request is served: threads of the device, and those
 * that the driver starts now, run on. */
static void serve_other(struct inferior *inf, struct tracee *t, int status)
{
	if (!take_status(inf, t, status))
		return;
	if (is_pending_kind(status)) {
		t->has_pending = true;
		t->pending = status;
		return;
	}
	run_thread(t, 0);
}

/* Acts on a status of the event thread. Returns true when it has served, or never will (*ret). */
static bool serve_event(struct inferior *inf, struct tracee *t, int status, struct err **ret)
{
	if (!take_status(inf, t, status)) {
		*ret = err_new(ERR_INFERIOR, "the program ended while the request was served");
		return true;
	}
	if (status_event(status) == 0 && WSTOPSIG(status) == SIGTRAP && at_agent_stop(inf, t))
		return true;
	if (status_event(status) == 0 && inf->rules[WSTOPSIG(status)].stop) {
		t->has_pending = true;
		t->pending = status;
		inf->at_agent = false;
		*ret = err_new(ERR_INFERIOR, "the program got %s while the request was served",
			strsignal(WSTOPSIG(status)));
		return true;
	}
	run_thread(t,
		status_event(status) || !inf->rules[WSTOPSIG(status)].pass ? 0 : WSTOPSIG(status));
	return false;
}

/* Takes statuses until the event thread is at the agent's stop again. False: the time is over. */
static bool serve_wait(struct inferior *inf, pid_t tid, int timeout_ms, struct err **ret)
{
	struct patience patience;
	bool served = false;
	struct wait_hold h;

	patience_begin(&patience, inf->pid, (uint64_t)timeout_ms * MS_NS);
	wait_hold(&h);
	while (!served && tracee_find(inf, tid) && !patience_over(&patience)) {
		int status;
		struct tracee *t = wait_next(inf, &status);

		if (!t)
			wait_sleep(&h, 5);
		else if (t->tid == tid)
			served = serve_event(inf, t, status, ret);
		else
			serve_other(inf, t, status);
	}
	wait_release(&h);
	return served;
}

bool stops_run_device(struct inferior *inf, bool (*over)(void *arg), void *arg, int timeout_ms)
{
	struct patience patience;
	bool is_over = false;
	struct wait_hold h;

	patience_begin(&patience, inf->pid, (uint64_t)timeout_ms * MS_NS);
	run_device_threads(inf);
	wait_hold(&h);
	while (inf->alive && !inf->died && !(is_over = over(arg)) && !patience_over(&patience)) {
		int status;
		struct tracee *t = wait_next(inf, &status);

		if (t)
			serve_other(inf, t, status);
		else
			wait_sleep(&h, 2);
	}
	wait_release(&h);
	stop_all(inf);
	return is_over;
}

static struct err *serve_timeout(struct inferior *inf, int timeout_ms)
{
	inf->owes_served = true;
	inf->at_agent = false;
	stop_all(inf);
	return err_cure(
		err_new(ERR_STATE, "the GPU driver did not answer within %d ms", timeout_ms),
		"another thread may hold the driver's lock or the stream may wait for the host: `continue` and stop again");
}

struct err *stops_serve(struct inferior *inf, int timeout_ms)
{
	struct tracee *t = tracee_find(inf, inf->event_tid);
	struct err *e = NULL;

	BUG_ON(!inf->at_agent || !t);
	run_device_threads(inf);
	run_thread(t, 0);
	if (!serve_wait(inf, t->tid, timeout_ms, &e))
		return serve_timeout(inf, timeout_ms);
	stop_all(inf); /* the device's threads */
	return e;
}
