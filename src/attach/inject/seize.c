/* SPDX-License-Identifier: Apache-2.0
 *
 * Attaching. Every thread is seized, and one of them makes two calls, dlopen() and
 * tsdb_agent_attach() (inject.c), while all others run, for they may hold the locks that these
 * calls need. Then the agent subscribes in a thread of its own, while all threads run. There is no
 * EXITKILL, and nothing that would need undoing if tsdb were killed.
 */
#include "attach/ptrace/inferior.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "attach/inject/handover.h"
#include "attach/inject/inject.h"
#include "attach/ptrace/target.h"
#include "base/monotonic.h"

#define ATTACH_OPTIONS                                                                             \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |     \
		PTRACE_O_TRACESYSGOOD)
#define SEIZE_ROUNDS 100u
#define SAFE_MS 5000u	   /* of looking for a thread in a safe place */
#define DESPERATE_MS 1000u /* after which a stack that cannot be followed to its end will do */
#define CALL_MS 5000u	   /* for dlopen() */
#define UP_MS 5000u	   /* for CUPTI, which may wait for the device */
#define LOOK_TURNS 16u	   /* of 2 ms or less, between two looks for the agent's thread */
#define BUSY_MS 3000u	   /* for the agent to notice that an earlier tsdb has gone */
#define BUSY_LOOK_MS 20u
#define BUSY_LOOK_MOST_MS 320u
#define LIBC_MS 10000u
/* for a program that is being executed: nothing is mapped yet, as if it were static */
#define EXEC_MS 100u
#define RINGS_FULL 400u /* per mille */
#define RESULT_AT (INJECT_TEXT_MAX - 16u)
#define NO_RESULT 0x7fffffff

struct attaching {
	struct inferior *inf;
	const struct attach_options *o;
	struct attach_result *result;
	struct inject_site site;
	struct inject call;
	struct handover *handover; /* NULL: the process may open tsdb's descriptors by itself */
	uint64_t stopped_ns;	   /* since when the program is held up; 0: it runs */
};

static struct err *has_execed(pid_t pid)
{
	return err_cure(
		err_new(ERR_INFERIOR,
			"process %d executed another program while tsdb attached to it", pid),
		"attach again");
}

static struct err *went_away(struct attaching *a)
{
	struct inferior *inf = a->inf;

	if (inf->died || !inf->alive)
		return err_cure(err_new(ERR_INFERIOR, "process %d ended while tsdb attached to it",
					inf->pid),
			"`attach --wait NAME` catches its next start");
	return has_execed(inf->pid);
}

/* Checks that the process still runs the program that tsdb attaches to. */
static struct err *check_there(struct attaching *a)
{
	if (a->inf->died || !a->inf->alive || a->inf->nqueue)
		for (unsigned i = 0; a->inf->died || !a->inf->alive || i < a->inf->nqueue; i++)
			if (a->inf->died || !a->inf->alive ||
				a->inf->queue[i].kind == INFERIOR_EXECED)
				return went_away(a);
	return NULL;
}

static struct err *check_interrupt(struct attaching *a)
{
	if (!a->o->interrupt || !*a->o->interrupt)
		return NULL;
	return err_new(
		ERR_INTERRUPTED, "attaching to process %d was given up; it goes on", a->inf->pid);
}

/* ---- stopping and going on, with the time that it took ---- */

static void hold_up(struct attaching *a)
{
	a->stopped_ns = monotonic_ns();
	stops_all(a->inf);
}

static void let_run(struct attaching *a)
{
	uint64_t ns = monotonic_ns() - a->stopped_ns;

	a->result->pause_ns += ns;
	if (ns > a->result->longest_ns)
		a->result->longest_ns = ns;
	a->stopped_ns = 0;
	stops_go(a->inf);
}

/* ---- seizing ---- */

static bool is_ours(pid_t pid, pid_t tid)
{
	char path[64], line[256];
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return true; /* it has ended */
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	fclose(f);
	return tracer == getpid();
}

/* A thread that a seized one made is traced already, and will report. */
static struct err *seize_one(struct inferior *inf, pid_t tid, bool *ret_new)
{
	struct tracee *t;

	if (tracee_find(inf, tid))
		return NULL;
	if (ptrace(PTRACE_SEIZE, tid, 0, ATTACH_OPTIONS) != 0) {
		int sys = errno;

		if (tid != inf->pid && (sys == ESRCH || is_ours(inf->pid, tid)))
			return NULL;
		return target_seize_error(inf->pid, sys);
	}
	t = tracee_add(inf, tid);
	t->running = true;
	*ret_new = true;
	return NULL;
}

static struct err *seize_round(struct inferior *inf, bool *ret_new)
{
	char path[64];
	struct err *e = NULL;
	struct dirent *d;
	DIR *dir;

	*ret_new = false;
	snprintf(path, sizeof(path), "/proc/%d/task", inf->pid);
	dir = opendir(path);
	if (!dir)
		return target_seize_error(inf->pid, ESRCH);
	while (!e && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			e = seize_one(inf, atoi(d->d_name), ret_new);
	closedir(dir);
	return e;
}

/* Repeats until no new thread is found: threads not seized yet can make others. */
static struct err *seize_all(struct inferior *inf)
{
	bool more = false;

	TRY(seize_one(inf, inf->pid, &more));
	inf->alive = inf->running = true;
	for (unsigned i = 0; i < SEIZE_ROUNDS; i++) {
		TRY(seize_round(inf, &more));
		if (!more)
			return NULL;
	}
	return err_new(ERR_LIMIT,
		"cannot attach to process %d: it makes threads faster than they can be seized",
		inf->pid);
}

/* ---- the calls ---- */

static struct err *no_safe_place(struct attaching *a, const char *why)
{
	return err_cure(
		err_new(ERR_STATE,
			"cannot attach to process %d: none of its %u threads came to a place where a library can be loaded (%s)",
			a->inf->pid, a->result->threads, why),
		"try again, or start the program with tsdb");
}

/* Stops the program with a thread in a safe place, and prepares that thread. */
static struct err *find_place(struct attaching *a, struct tracee **ret)
{
	unsigned most = a->o->safe_ms ? a->o->safe_ms : SAFE_MS;
	struct patience patience, desperate;
	const char *why = "";

	patience_begin(&patience, a->inf->pid, most * MS_NS);
	patience_begin(&desperate, a->inf->pid, DESPERATE_MS * MS_NS);
	for (unsigned pause_us = 1000;; pause_us += pause_us < 20000 ? 1000 : 0) {
		const bool over = patience_over(&patience);

		hold_up(a);
		a->result->looks++;
		TRY(check_there(a));
		a->result->threads = a->inf->ntracees;
		*ret = safe_pick(a->inf, &a->site, patience_over(&desperate), &why);
		if (*ret)
			return inject_prepare(&a->call, &a->site, *ret);
		let_run(a);
		if (over)
			return no_safe_place(a, why);
		(void)stops_pump(a->inf, a->inf->pid, (int)(pause_us / 1000));
		TRY(check_there(a));
		TRY(check_interrupt(a));
	}
}

/* A thread does not end within a call, so the process is ending, or about to exec; the end of the
 * main thread is reported last. */
static struct err *thread_gone(struct attaching *a)
{
	for (unsigned i = 0; i < 50; i++) {
		(void)stops_pump(a->inf, a->inf->pid, 20);
		TRY(check_there(a));
	}
	return err_cure(
		err_new(ERR_INFERIOR, "thread %d ended while tsdb attached to it", a->call.tid),
		"attach again");
}

/* How long one wait for the threads may take: short while the agent waits for the descriptor. */
static int patience_ms(const struct attaching *a)
{
	return a->handover ? 2 : 100;
}

/* A lock that is not released is most likely held by the borrowed thread itself, taken in code that
 * its stack does not show (an inlined allocator). */
static struct err *no_return(struct attaching *a, const char *function)
{
	struct tracee *t;
	bool back;

	hold_up(a);
	TRY(check_there(a));
	t = tracee_find(a->inf, a->call.tid);
	back = t && inject_take_back(&a->call, &a->site, t);
	if (t)
		t->syscalls = false;
	let_run(a);
	return err_cure(
		err_new(ERR_STATE, "%s() does not return in process %d: it waits for a lock",
			function, a->inf->pid),
		back ? "the call was taken back and the program goes on; attach again, or start the program with tsdb"
		     : "nothing is left to undo: it returns when that lock is given back; attach again then");
}

/* Lets all threads run until the called function has returned; its thread is then about to restore
 * its state. */
static struct err *await_call(struct attaching *a, const char *function)
{
	struct patience patience;
	struct tracee *t;

	patience_begin(&patience, a->inf->pid, CALL_MS * MS_NS);
	while (!patience_over(&patience)) {
		const struct arch_regs *r;

		if (!stops_pump(a->inf, a->call.tid, patience_ms(a))) {
			handover_serve(a->handover, a->inf->control_fd, a->inf->pid);
			TRY(check_there(a));
			if (!tracee_find(a->inf, a->call.tid))
				return thread_gone(a);
			continue;
		}
		t = tracee_find(a->inf, a->call.tid);
		r = tracee_regs(t);
		if (r && inject_is_back(&a->call, r)) {
			inject_restore_errno(&a->call);
			return NULL;
		}
		stops_run(t);
	}
	return no_return(a, function);
}

/* Makes the thread call fn; it is stopped and prepared, or back from an earlier call. */
static struct err *call(
	struct attaching *a, const char *function, uint64_t fn, const char *text, uint64_t arg)
{
	struct tracee *t = tracee_find(a->inf, a->call.tid);

	TRY(inject_call(&a->call, t, fn, text, arg));
	t->syscalls = true;
	if (a->stopped_ns)
		let_run(a);
	else
		stops_run(t);
	return await_call(a, function);
}

/* Restores the thread. */
static void end_calls(struct attaching *a)
{
	struct tracee *t = a->call.tid ? tracee_find(a->inf, a->call.tid) : NULL;

	if (!t || !t->syscalls)
		return;
	t->syscalls = false;
	if (!t->running && a->inf->running)
		stops_run(t);
}

static bool is_agent(const char *name)
{
	return !strcmp(name, "libtsdb-agent.so");
}

/* The address of the agent's function; 0: the agent is not there. */
static uint64_t agent_function(struct attaching *a)
{
	struct remote_symbols sym;
	const struct remote_map *m;
	uint64_t fn = 0;

	remote_space_free(&a->site.space);
	err_free(remote_space_read(&a->site.space, a->inf->pid));
	m = remote_find(&a->site.space, is_agent);
	if (m && remote_symbols_read(&sym, a->inf->pid, m->start)) {
		fn = remote_symbol_addr(&sym, "tsdb_agent_attach");
		remote_symbols_free(&sym);
	}
	return fn;
}

static struct err *load_library(struct attaching *a, uint64_t *ret_fn)
{
	*ret_fn = agent_function(a);
	if (*ret_fn)
		return NULL; /* it stayed from an earlier attach */
	TRY(call(a, "dlopen", a->site.dlopen, a->o->agent, a->site.dlopen_flags));
	*ret_fn = agent_function(a);
	if (*ret_fn)
		return NULL;
	return err_cure(err_new(ERR_INFERIOR, "the dynamic linker of process %d does not load %s",
				a->inf->pid, a->o->agent),
		"a library that the agent needs may be missing for that process: `ldd %s` under its LD_LIBRARY_PATH",
		a->o->agent);
}

static struct err *agent_error(struct attaching *a, int result)
{
	if (result == -EPROTO)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"process %d holds the agent of another version of tsdb, from an earlier attach",
				a->inf->pid),
			"use that version, or start the program anew");
	if (result == -EBUSY)
		return err_cure(err_new(ERR_STATE,
					"the agent in process %d still serves an earlier debugger",
					a->inf->pid),
			"try again in a moment; a call of the GPU driver that it makes may wait for work that does not end");
	return err_new(ERR_INFERIOR, "the agent in process %d cannot reach tsdb: %s", a->inf->pid,
		strerror(result < 0 ? -result : EINVAL));
}

/* *ret is the agent's answer. */
static struct err *ask_agent(struct attaching *a, uint64_t fn, int32_t *ret)
{
	char *path = a->handover ? xstrdup(handover_name(a->handover))
				 : xasprintf("/proc/%d/fd/%d", getpid(), a->inf->control_fd);
	uint64_t at = a->call.frame.text + RESULT_AT;
	struct err *e = NULL;

	*ret = NO_RESULT;
	if (!remote_write(a->inf->pid, at, ret, sizeof(*ret)))
		e = err_new(ERR_SYSTEM, "the stack of thread %d cannot be written", a->call.tid);
	if (!e)
		e = call(a, "tsdb_agent_attach", fn, path, at);
	if (!e && !remote_read(a->inf->pid, at, ret, sizeof(*ret)))
		*ret = -EFAULT;
	free(path);
	end_calls(a);
	return e;
}

/* An agent that has just lost its debugger needs a moment; the borrowed thread may have to run
 * meanwhile. */
static struct err *start_agent(struct attaching *a)
{
	const unsigned most = a->o->start_ms ? a->o->start_ms : BUSY_MS;
	const uint64_t begin = monotonic_ms();
	struct patience patience;

	patience_begin(&patience, a->inf->pid, most * MS_NS);
	for (unsigned pause_ms = BUSY_LOOK_MS;;
		pause_ms +=
		pause_ms < BUSY_LOOK_MOST_MS ? pause_ms : 0) { /* each look holds the program up */
		struct tracee *t;
		int32_t result;
		uint64_t fn;

		TRY(find_place(a, &t));
		TRY(load_library(a, &fn));
		TRY(ask_agent(a, fn, &result));
		if (!result)
			return NULL;
		if (result == -EBUSY && a->o->without_agent &&
			monotonic_ms() - begin >=
				most) { /* by the clock: nothing is lost but time */
			a->result->held = true;
			return NULL;
		}
		if (result != -EBUSY || patience_over(&patience))
			return agent_error(a, result);
		(void)stops_pump(a->inf, a->inf->pid, (int)pause_ms);
		TRY(check_there(a));
	}
}

/* ---- the agent comes up ---- */

static struct err *refused(struct attaching *a)
{
	char text[TSDB_TEXT_MAX];

	memcpy(text, a->inf->control->text, sizeof(text));
	text[sizeof(text) - 1] = 0;
	return err_cure(err_new(ERR_STATE, "cannot capture in process %d: %s", a->inf->pid,
				*text ? text : "the agent could not start"),
		"the process goes on without tsdb");
}

/* What is waited for is the thread that makes the agent's calls of the driver (capture/wire.h): the
 * program's own threads may spin for ever, and would look as if there was progress. */
static void watch_late(struct attaching *a, struct patience *p, unsigned turn)
{
	struct inferior_thread t;

	if (p->tid || turn % LOOK_TURNS)
		return;
	for (unsigned i = 0; !p->tid && inferior_thread(a->inf, i, &t); i++)
		if (!strcmp(t.name, "tsdb-late"))
			patience_thread(p, t.tid);
}

static struct err *await_agent(struct attaching *a)
{
	struct tsdb_control *c = a->inf->control;
	uint64_t start = monotonic_ns();
	struct patience patience;
	unsigned turn = 0;

	patience_begin(&patience, a->inf->pid, (a->o->start_ms ? a->o->start_ms : UP_MS) * MS_NS);
	while (!patience_over(&patience)) {
		watch_late(a, &patience, turn++);
		switch (atomic_load_explicit(&c->agent_state, memory_order_acquire)) {
		/* all existing objects are found, too, unless they do not fit into the rings */
		case TSDB_AGENT_UP:
			if (!atomic_load(&c->start_ns) && drain_pressure(a->inf) < RINGS_FULL)
				break;
			a->result->start_ns = atomic_load(&c->start_ns) ? atomic_load(&c->start_ns)
									: monotonic_ns() - start;
			return NULL;
		case TSDB_AGENT_LOOKS:
			return NULL;
		case TSDB_AGENT_WAITING:
			a->result->waiting = true;
			return NULL;
		case TSDB_AGENT_REFUSED:
			return refused(a);
		}
		(void)stops_pump(a->inf, a->inf->pid, 2);
		TRY(check_there(a));
		TRY(check_interrupt(a));
	}
	if (!atomic_load(&c->late))
		return err_cure(
			err_new(ERR_STATE, "the agent's thread does not begin in process %d",
				a->inf->pid),
			"attach again later");
	a->result->blocked = true;
	memcpy(a->result->busy, c->busy, sizeof(c->busy));
	a->result->busy[sizeof(c->busy) - 1] = 0;
	return NULL;
}

/* A process that has only just started (attach --wait) has no C library yet; from a cold disk it
 * may take seconds. */
static struct err *read_site(struct attaching *a)
{
	struct patience libc, exec;
	bool dynamic = false;

	patience_begin(&libc, a->inf->pid, LIBC_MS * MS_NS);
	patience_begin(&exec, a->inf->pid, EXEC_MS * MS_NS);
	for (;;) {
		struct err *e = inject_site_read(&a->site, a->inf->pid);
		bool early = inject_is_early(&a->site),
		     over = patience_over(&libc) || (!early && patience_over(&exec));

		dynamic |= early || a->site.libc_base;
		if (!e || (over && !dynamic) || (over && early))
			return e;
		err_free(e);
		if (over)
			return has_execed(a->inf->pid);
		inject_site_free(&a->site);
		usleep(500);
	}
}

/* Threads that SIGSTOP has stopped run while the agent is loaded: any of them may hold a lock that
 * is needed. */
static struct err *attach(struct attaching *a)
{
	const struct tracee *leader;

	TRY(read_site(a));
	stops_overrule(a->inf, true);
	TRY(seize_all(a->inf));
	TRY(start_agent(a));
	if (!a->result->held)
		TRY(await_agent(a));
	stops_all(a->inf);
	TRY(check_there(a));
	leader = tracee_find(a->inf, a->inf->pid);
	a->inf->found_stopped = a->result->stopped = leader && leader->job_stop;
	stops_overrule(a->inf, false);
	return NULL;
}

struct err *inferior_attach(
	struct inferior **ret, const struct attach_options *o, struct attach_result *ret_result)
{
	struct attaching a = {.o = o, .result = ret_result};
	struct inferior *inf;
	struct err *e;

	*ret = NULL;
	*ret_result = (struct attach_result){0};
	TRY(target_check(o->pid, o->agent));
	target_name(o->pid, ret_result->name);
	a.inf = inf = inferior_new(o->agent);
	inf->pid = o->pid;
	inf->attached = true;
	for (int s = 1; s < _NSIG; s++)
		inf->rules[s] = (struct signal_rule){.pass = true};
	inf->sigint_ruled = true;
	e = control_create(inf, o->ring_bytes);
	if (!e) {
		inf->control->pid = (uint32_t)o->pid;
		inf->control->attached = 1;
		inf->control->look_only = o->look_only;
		wait_install_sigchld();
		if (target_is_foreign(o->pid))
			e = handover_begin(&a.handover);
	}
	if (!e)
		e = attach(&a);
	end_calls(&a);
	handover_end(a.handover);
	inject_site_free(&a.site);
	if (e) {
		inferior_free(inf);
		return e;
	}
	inferior_default_rules(inf);
	inf->event_tid = inf->pid;
	*ret = inf;
	return NULL;
}
