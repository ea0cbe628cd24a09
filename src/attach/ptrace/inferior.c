/* SPDX-License-Identifier: Apache-2.0
 *
 * The inferior's life and its table of threads. stops.c handles stops.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_WAIT_MS 5000

struct tracee *tracee_find(struct inferior *inf, pid_t tid)
{
	if (inf->last_found && inf->last_found->tid == tid)
		return inf->last_found;
	for (unsigned i = 0; i < inf->ntracees; i++)
		if (inf->tracees[i]->tid == tid)
			return inf->last_found = inf->tracees[i];
	return NULL;
}

struct tracee *tracee_add(struct inferior *inf, pid_t tid)
{
	struct tracee *t = xcalloc(1, sizeof(*t));

	MAKE_ROOM(inf->tracees, inf->ntracees, inf->tracees_cap);
	t->tid = tid;
	inf->tracees[inf->ntracees++] = t;
	return t;
}

void tracee_remove(struct inferior *inf, struct tracee *t)
{
	unsigned i = 0;

	while (i < inf->ntracees && inf->tracees[i] != t)
		i++;
	BUG_ON(i == inf->ntracees);
	inf->ntracees--;
	memmove(inf->tracees + i, inf->tracees + i + 1,
		(inf->ntracees - i) * sizeof(*inf->tracees));
	inf->last_found = NULL;
	free(t);
}

void tracee_remove_others(struct inferior *inf, pid_t keep)
{
	for (unsigned i = inf->ntracees; i-- > 0;)
		if (inf->tracees[i]->tid != keep)
			tracee_remove(inf, inf->tracees[i]);
}

const struct arch_regs *tracee_regs(struct tracee *t)
{
	if (t->running || t->limbo)
		return NULL;
	if (!t->has_regs && arch_regs_read(t->tid, &t->regs))
		t->has_regs = true;
	return t->has_regs ? &t->regs : NULL;
}

pid_t inferior_pid(const struct inferior *inf)
{
	return inf->pid;
}

bool inferior_alive(const struct inferior *inf)
{
	return inf->alive;
}

bool inferior_running(const struct inferior *inf)
{
	return inf->alive && inf->running;
}

struct tsdb_control *inferior_control(struct inferior *inf)
{
	return inf->control;
}

void inferior_handle_signal(struct inferior *inf, int sig, bool stop, bool pass)
{
	BUG_ON(sig <= 0 || sig >= _NSIG);
	inf->rules[sig] = (struct signal_rule){.stop = stop, .pass = pass};
	if (sig == SIGINT)
		inf->sigint_ruled = true;
}

void inferior_interrupt(struct inferior *inf)
{
	inf->interrupt = 1;
}

static void read_comm(pid_t pid, pid_t tid, char name[16])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	name[0] = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, name, 15);
	close(fd);
	if (n < 0)
		n = 0;
	if (n > 0 && name[n - 1] == '\n')
		n--;
	name[n] = 0;
}

/* The agent's number for an OS thread, from the rings. */
static uint32_t gpu_thread(struct inferior *inf, pid_t tid)
{
	if (!inf->control)
		return 0;
	for (unsigned i = 0; i < tsdb_rings(inf->control); i++) {
		struct tsdb_ring *r = &inf->control->ring[i];

		if (atomic_load_explicit(&r->state, memory_order_acquire) == TSDB_RING_USED &&
			r->os_tid == (uint32_t)tid)
			return r->thread;
	}
	return 0;
}

/* The names that src/capture gives its threads. */
static bool is_agents(const char *name)
{
	static const char *const names[] = {
		"tsdb-agent", "tsdb-crew", "tsdb-device", "tsdb-late", "tsdb-look", "tsdb-memory"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool inferior_thread(struct inferior *inf, unsigned i, struct inferior_thread *ret)
{
	const struct arch_regs *regs;

	memset(ret, 0, sizeof(*ret));
	if (i >= inf->ntracees)
		return false;
	ret->tid = inf->tracees[i]->tid;
	ret->thread = gpu_thread(inf, ret->tid);
	read_comm(inf->pid, ret->tid, ret->name);
	regs = inf->running ? NULL : tracee_regs(inf->tracees[i]);
	ret->pc = regs ? arch_pc(regs) : 0;
	ret->agents = is_agents(ret->name);
	return true;
}

/* A thread that was borrowed is about to make its call again. */
static bool is_ahead(struct inferior *inf, const struct arch_regs *r, struct arch_syscall *ret)
{
	uint8_t code[ARCH_SYSCALL_BYTES];
	struct err *e = inferior_read(inf, arch_pc(r), code, sizeof(code));
	const bool is = !e && arch_syscall_ahead(r, code, ret);

	err_free(e);
	return is;
}

/* A call that has ended keeps its number until the thread is back in its program; its result is
 * not one that the kernel keeps to itself then (ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND,
 * ERESTART_RESTARTBLOCK). */
bool inferior_syscall(struct inferior *inf, pid_t tid, long *ret_nr, uint64_t ret_arg[6])
{
	struct tracee *t = inf->running ? NULL : tracee_find(inf, tid);
	const struct arch_regs *r = t ? tracee_regs(t) : NULL;
	struct arch_syscall call;

	if (!r)
		return false;
	call = arch_syscall(r);
	if (call.nr < 0 ? !is_ahead(inf, r, &call)
			: call.result > -512 || call.result < -516 || call.result == -515)
		return false;
	*ret_nr = call.nr;
	memcpy(ret_arg, call.arg, sizeof(call.arg));
	return true;
}

struct err *inferior_read(struct inferior *inf, uint64_t addr, void *dst, size_t n)
{
	struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};
	ssize_t got;

	if (!inf->alive)
		return err_new(ERR_STATE, "the program is not being run");
	got = process_vm_readv(inf->pid, &to, 1, &from, 1, 0);
	if (got >= 0 && (size_t)got == n)
		return NULL;
	if (got < 0 && errno != EFAULT && errno != EIO)
		return err_sys(errno, "cannot read the memory of process %d", inf->pid);
	addr += got > 0 ? (uint64_t)got : 0;
	return err_new(ERR_NOT_FOUND, "cannot access host memory at address 0x%llx",
		(unsigned long long)addr);
}

struct err *inferior_write(struct inferior *inf, uint64_t addr, const void *src, size_t n)
{
	struct iovec from = {(void *)(uintptr_t)src, n}, to = {(void *)(uintptr_t)addr, n};

	if (!inf->alive || inf->running)
		return err_cure(
			err_new(ERR_STATE, "the program is not stopped"), "Stop it with Ctrl-C");
	if (process_vm_writev(inf->pid, &from, 1, &to, 1, 0) == (ssize_t)n)
		return NULL;
	return err_new(ERR_NOT_FOUND, "cannot write host memory at address 0x%llx",
		(unsigned long long)addr);
}

/* Whether tid, which was killed before, has been reaped. */
static bool reap_one(pid_t tid)
{
	int status;
	pid_t r = waitpid(tid, &status, __WALL | WNOHANG);

	return r < 0 || (r > 0 && (WIFEXITED(status) || WIFSIGNALED(status)));
}

/* Reaps every thread until the leader has ended; returns false when that takes too long. The kernel
 * reports the leader's end only after its tracer has reaped all other threads. */
static bool reap_all(struct inferior *inf)
{
	struct patience patience;
	int status;

	patience_begin(&patience, inf->pid, KILL_WAIT_MS * MS_NS);
	while (!patience_over(&patience)) {
		for (unsigned i = inf->ntracees; i-- > 0;)
			if (inf->tracees[i]->tid != inf->pid && reap_one(inf->tracees[i]->tid))
				tracee_remove(inf, inf->tracees[i]);
		if (wait_one(inf->pid, 20, &status) && (WIFEXITED(status) || WIFSIGNALED(status)))
			return true;
	}
	return false;
}

struct err *inferior_kill(struct inferior *inf)
{
	bool reaped;

	if (!inf->alive)
		return NULL;
	if (!inf->died) /* after reaping, the pid may belong to another process */
		kill(inf->pid, SIGKILL);
	reaped = inf->died || reap_all(inf);
	stops_settle_children(inf);
	inf->alive = inf->running = inf->at_agent = inf->died = false;
	inf->event_tid = 0;
	inf->nqueue = 0;
	tracee_remove_others(inf, -1);
	inferior_take_terminal(inf);
	if (reaped)
		return NULL;
	return err_cure(err_new(ERR_SYSTEM, "process %d was killed but does not end", inf->pid),
		"it hangs inside the kernel, most likely in a driver; see its line in `ps -o pid,stat,wchan -p %d`",
		inf->pid);
}

void inferior_free(struct inferior *inf)
{
	if (!inf)
		return;
	if (inf->attached)
		err_free(inferior_detach(inf));
	err_free(inferior_kill(inf));
	family_leave(inf);
	inferior_keep_end(inf);
	unwind_free(inf);
	python_names_free(inf);
	libraries_free(inf);
	symbols_free(inf->symbols);
	drain_unmap(inf);
	drain_free(inf->drain);
	control_free(inf);
	free(inf->agent);
	free(inf->tracees);
	newborn_free(inf);
	free(inf);
}
