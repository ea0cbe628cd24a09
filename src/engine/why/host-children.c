/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait for the end of a child process, or for a lock on a file; and what signals do to
 * all that wait: a handler may run when a child ends (make(1) waits for a pipe so), or by itself.
 */
#include "engine/why/host-look.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* --- children --- */

/* Adds the children of one of the parent's threads; returns how many. */
static unsigned add_children(
	struct host_look *l, uint32_t node, pid_t pid, pid_t tid, const char *what)
{
	char name[48], text[65536], *at = text, *end;
	unsigned n = 0;

	snprintf(name, sizeof(name), "task/%d/children", (int)tid);
	if (!host_proc_text(pid, name, text, sizeof(text)))
		return 0;
	for (;;) {
		const long child = strtol(at, &end, 10);

		if (end == at || child <= 0)
			return n;
		why_edge(l->w, node, host_process_node(l, (pid_t)child), WHY_KNOWN_SYSTEM, what);
		at = end;
		n++;
	}
}

static void waits_for_any(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	unsigned n = 0;

	why_at(l->w, t->node)->any = true;
	for (unsigned i = 0; i < p->nthreads; i++)
		n += add_children(l, t->node, p->pid, p->threads[i].tid, "waits for the end of");
	why_set(&why_at(l->w, t->node)->does, "waits for the end of a child process");
	if (!n)
		why_at(l->w, t->node)->end = WHY_END_COMES; /* none can be seen */
}

/* wait4(pid, ...) and waitid(type, id, ...). */
void host_waits_child(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	const bool by_id = t->nr == 247; /* waitid */
	const int pid = by_id ? (int)t->arg[1] : (int)t->arg[0];

	if (by_id ? (int)t->arg[0] != P_PID : pid <= 0) {
		waits_for_any(l, p, t);
		return;
	}
	why_edge(
		l->w, t->node, host_process_node(l, pid), WHY_KNOWN_SYSTEM, "waits for the end of");
	why_set(&why_at(l->w, t->node)->does, "waits for the end of process %d", pid);
}

/* --- signals --- */

/* 32 and 33 are the C library's own. SIGINT, SIGTERM and the like are the user's: what waits for
 * nothing else is stuck. */
static void look_at_signals(struct host_process *p)
{
	static const uint64_t some = 1ull << (SIGUSR1 - 1) | 1ull << (SIGUSR2 - 1) |
				     1ull << (SIGALRM - 1) | 1ull << (SIGVTALRM - 1) |
				     1ull << (SIGPROF - 1) | 1ull << (SIGIO - 1) | ~0ull << 33;
	char text[4096], *at;
	uint64_t caught;

	p->signals_looked = p->signals_act = p->child_handled = true;
	if (!host_proc_text(p->pid, "status", text, sizeof(text)) ||
		!(at = strstr(text, "SigCgt:")))
		return;
	caught = strtoull(at + strlen("SigCgt:"), NULL, 16);
	p->child_handled = caught & 1ull << (SIGCHLD - 1);
	p->signals_act = caught & some || host_proc_text(p->pid, "timers", text, sizeof(text)) != 0;
}

bool host_signals_act(struct host_process *p)
{
	if (!p->signals_looked)
		look_at_signals(p);
	return p->signals_act;
}

void host_add_handled_children(struct host_look *l, struct host_process *p, uint32_t node)
{
	unsigned n = 0;

	(void)host_signals_act(p);
	for (unsigned i = 0; p->child_handled && i < p->nthreads; i++)
		n += add_children(l, node, p->pid, p->threads[i].tid, "is woken by the end of");
	if (n)
		why_at(l->w, node)->any = true;
}

/* --- locks on files --- */

/* A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; "1: -> ..." waits. */
static pid_t holder_in(const char *line, const char *file)
{
	char kind[16], mode[16], how[16], at[64];
	int pid;

	if (strstr(line, "->") ||
		sscanf(line, " %*d: %15s %15s %15s %d %63s", kind, mode, how, &pid, at) != 5)
		return 0;
	return !strcmp(at, file) ? (pid_t)pid : 0;
}

static void waits_for_lock(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	char path[64], file[64], name[64], line[256];
	struct stat st;
	uint32_t lock;
	bool any = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)p->pid, (int)t->arg[0]);
	if (stat(path, &st))
		return;
	snprintf(file, sizeof(file), "%02x:%02x:%llu", major(st.st_dev), minor(st.st_dev),
		(unsigned long long)st.st_ino);
	snprintf(name, sizeof(name), "lock on file %llu", (unsigned long long)st.st_ino);
	lock = why_node(l->w, WHY_LOCK, 0, st.st_ino, name);
	why_edge(l->w, t->node, lock, WHY_KNOWN_SYSTEM, "waits for");
	why_set(&why_at(l->w, t->node)->does, "waits for a lock on descriptor %d", (int)t->arg[0]);
	f = fopen("/proc/locks", "re");
	while (f && fgets(line, sizeof(line), f)) {
		const pid_t pid = holder_in(line, file);

		if (pid <= 0)
			continue;
		why_edge(l->w, lock, host_process_node(l, pid), WHY_KNOWN_SYSTEM, "is held by");
		any = true;
	}
	if (f)
		fclose(f);
	if (!any) {
		why_at(l->w, lock)->end = WHY_END_OUTSIDE;
		why_set(&why_at(l->w, lock)->because, "its holder cannot be seen from here");
	}
}

void host_waits_flock(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	waits_for_lock(l, p, t);
}

void host_waits_fcntl(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	const int command = (int)t->arg[1];

	if (command == F_SETLKW || command == F_OFD_SETLKW)
		waits_for_lock(l, p, t);
}
