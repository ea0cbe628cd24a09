/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for traced threads: looks without blocking, and sleeps in between until SIGCHLD. Signals
 * are blocked while it looks, so that none can come unnoticed between looking and sleeping. A
 * blocking waitpid() is not used, because it cannot time out.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/monotonic.h"

static void on_sigchld(int sig)
{
	(void)sig; /* its only purpose is to end ppoll() */
}

void wait_install_sigchld(void)
{
	struct sigaction sa = {.sa_handler = on_sigchld, .sa_flags = SA_RESTART}, old;

	if (sigaction(SIGCHLD, NULL, &old) == 0 &&
		(old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN ||
			(old.sa_flags & SA_NOCLDSTOP)))
		sigaction(SIGCHLD, &sa, NULL);
}

void wait_hold(struct wait_hold *h)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &all, &h->old);
	h->sleep_mask = h->old;
	sigdelset(&h->sleep_mask, SIGCHLD);
}

void wait_release(const struct wait_hold *h)
{
	pthread_sigmask(SIG_SETMASK, &h->old, NULL);
}

void wait_sleep(const struct wait_hold *h, int ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

	(void)ppoll(NULL, 0, ms < 0 ? NULL : &ts, &h->sleep_mask);
}

bool wait_one(pid_t tid, int timeout_ms, int *ret_status)
{
	uint64_t deadline = monotonic_ms() + (uint64_t)timeout_ms;
	struct wait_hold h;
	pid_t r;

	wait_hold(&h);
	while ((r = waitpid(tid, ret_status, __WALL | WNOHANG)) == 0) {
		uint64_t now = monotonic_ms();

		if (now >= deadline)
			break;
		wait_sleep(&h, deadline - now < 10 ? (int)(deadline - now) : 10);
	}
	wait_release(&h);
	if (r < 0) { /* another part of the program reaped it */
		*ret_status = SIGKILL;
		return true;
	}
	return r > 0;
}

bool wait_is_thread(const struct inferior *inf, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", inf->pid, tid);
	return access(path, F_OK) == 0;
}

static struct tracee *poll_known(struct inferior *inf, int *ret_status)
{
	for (unsigned i = 0; i < inf->ntracees; i++)
		if (waitpid(inf->tracees[i]->tid, ret_status, __WALL | WNOHANG) > 0)
			return inf->tracees[i];
	return NULL;
}

struct tracee *wait_next(struct inferior *inf, int *ret_status)
{
	siginfo_t si = {0};
	struct tracee *t;

	if (waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0 ||
		si.si_pid == 0)
		return NULL;
	t = tracee_find(inf, si.si_pid);
	if (!t && wait_is_thread(inf, si.si_pid)) {
		t = tracee_add(inf, si.si_pid);
		t->running = t->fresh = true;
	}
	if (!t)
		return poll_known(inf, ret_status);
	return waitpid(t->tid, ret_status, __WALL | WNOHANG) > 0 ? t : NULL;
}
