/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes and threads that the host's half of a wait-for graph goes through. tsdb itself is
 * one of them when it holds the other end of the program's output: it always goes on.
 */
#include "engine/why/host-look.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "attach/attach.h"
#include "base/buf.h"
#include "base/proc-stat.h"

enum { TEXT_MAX = 4096 };

size_t host_proc_text(pid_t pid, const char *name, char *text, size_t max)
{
	char path[96];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, max - 1, f);
	text[n] = 0;
	fclose(f);
	return n;
}

/* --- threads that nobody has stopped --- */

/* "running", or "202 0x7f.. 0x80 ... sp pc", or "-1 sp pc". */
static void read_call(pid_t pid, struct host_thread *t)
{
	char name[48], text[TEXT_MAX], *s = text;

	t->nr = -1;
	snprintf(name, sizeof(name), "task/%d/syscall", (int)t->tid);
	if (!host_proc_text(pid, name, text, sizeof(text)))
		return;
	if (!strncmp(text, "running", 7)) {
		t->state = 'R';
		return;
	}
	t->nr = strtol(s, &s, 10);
	for (unsigned i = 0; i < 6; i++)
		t->arg[i] = strtoull(s, &s, 16);
}

static void read_state(pid_t pid, struct host_thread *t)
{
	struct proc_stat s;

	if (!proc_stat_read(pid, t->tid, &s))
		return;
	t->state = s.state;
	snprintf(t->name, sizeof(t->name), "%.*s", (int)sizeof(t->name) - 1, s.name);
}

static void add_thread(struct host_process *p, const struct host_thread *t)
{
	if (p->nthreads >= HOST_THREADS_MAX) {
		p->cut = true;
		return;
	}
	MAKE_ROOM(p->threads, p->nthreads, p->cap);
	p->threads[p->nthreads++] = *t;
}

/* Threads of tsdb's agent, which never act for the program. Those of the software GPU do: they are
 * its device, and run host functions. */
static bool is_agents(const char *name)
{
	return !strncmp(name, "tsdb-", 5) && strcmp(name, "tsdb-softgpu") != 0;
}

static void read_threads(struct host_process *p)
{
	char path[48];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct host_thread t = {.tid = (pid_t)atoi(e->d_name), .node = WHY_NONE};

		if (t.tid <= 0)
			continue;
		t.switches = host_switches(p->pid, t.tid);
		read_call(p->pid, &t);
		read_state(p->pid, &t);
		if (!is_agents(t.name))
			add_thread(p, &t);
	}
	if (d)
		closedir(d);
}

static void take_threads(struct host_look *l, struct host_process *p)
{
	for (unsigned i = 0; i < p->given->nthreads; i++) {
		const struct why_thread *from = &p->given->threads[i];
		struct host_thread t = {.tid = from->tid,
			.node = from->node,
			.state = from->state,
			.nr = from->nr,
			.call = from->call,
			.stack = from->stack};

		if (l->scratch && t.node != WHY_NONE)
			t.node = why_node(l->w, WHY_THREAD, p->pid, (uint64_t)t.tid, "");
		memcpy(t.arg, from->arg, sizeof(t.arg));
		memcpy(t.name, from->name, sizeof(t.name));
		add_thread(p, &t);
	}
}

/* --- processes --- */

static const char *process_name(pid_t pid, char to[64])
{
	char comm[32] = "";
	size_t n = host_proc_text(pid, "comm", comm, sizeof(comm));

	if (n && comm[n - 1] == '\n')
		comm[n - 1] = 0;
	snprintf(to, 64, "process %d%s%s%s", (int)pid, *comm ? " (" : "", comm, *comm ? ")" : "");
	return to;
}

/* Reads a process that nobody has stopped. */
static void look_from_outside(struct host_look *l, struct host_process *p)
{
	p->outside = true;
	if (p->pid == getpid()) {
		if (p->node == WHY_NONE)
			return;
		why_at(l->w, p->node)->end = WHY_END_COMES;
		why_set(&why_at(l->w, p->node)->because, "it is tsdb");
		return;
	}
	read_threads(p);
	p->gpu = inferior_may_use_gpu(p->pid);
	if (p->gpu)
		why_note(l->w, "process %d uses the GPU and was looked at from outside only",
			(int)p->pid);
}

static uint32_t new_process_node(struct host_look *l, pid_t pid)
{
	char name[64];

	return why_node(l->w, WHY_PROCESS, pid, (uint64_t)pid, process_name(pid, name));
}

struct host_process *host_process(struct host_look *l, pid_t pid)
{
	struct host_process *p;

	for (unsigned i = 0; i < l->n; i++)
		if (l->p[i]->pid == pid)
			return l->p[i];
	if (l->n >= HOST_PROCESSES_MAX || l->found >= HOST_FOUND_MAX)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	*p = (struct host_process){.pid = pid, .node = WHY_NONE};
	l->p[l->n++] = p;
	l->found++;
	p->node = new_process_node(l, pid);
	look_from_outside(l, p);
	return p;
}

void host_process_given(struct host_look *l, const struct why_process *given)
{
	struct host_process *p;

	if (l->n >= HOST_PROCESSES_MAX) {
		why_note(l->w, "process %d was not looked at: there are too many", (int)given->pid);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	*p = (struct host_process){.pid = given->pid, .given = given, .node = WHY_NONE};
	p->node = why_find(l->w, WHY_PROCESS, p->pid, (uint64_t)p->pid);
	l->p[l->n++] = p;
	if (given->inf || given->nthreads)
		take_threads(l, p);
	else
		look_from_outside(l, p);
}

struct host_thread *host_thread(struct host_process *p, pid_t tid)
{
	for (unsigned i = 0; i < p->nthreads; i++)
		if (p->threads[i].tid == tid)
			return &p->threads[i];
	return NULL;
}

uint32_t host_thread_node(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	char name[96];

	if (t->node != WHY_NONE)
		return t->node;
	snprintf(name, sizeof(name), "thread %d (%s)", (int)t->tid, t->name);
	if (p->outside)
		snprintf(name, sizeof(name), "thread %d (%s) of process %d", (int)t->tid, t->name,
			(int)p->pid);
	t->node = why_node(l->w, WHY_THREAD, p->pid, (uint64_t)t->tid, name);
	return t->node;
}

uint32_t host_process_node(struct host_look *l, pid_t pid)
{
	struct host_process *p = host_process(l, pid);

	if (!p) /* nothing is known of it, so it goes on */
		return new_process_node(l, pid);
	if (p->node == WHY_NONE)
		p->node = new_process_node(l, pid);
	if (p->connected)
		return p->node;
	p->connected = true;
	if (p->cut) {
		why_set(&why_at(l->w, p->node)->because, "not all of its threads were looked at");
		return p->node;
	}
	why_at(l->w, p->node)->any = true;
	for (unsigned i = 0; i < p->nthreads; i++)
		if (p->outside || p->threads[i].node != WHY_NONE)
			why_edge(l->w, p->node, host_thread_node(l, p, &p->threads[i]),
				WHY_KNOWN_SYSTEM, "goes on with");
	return p->node;
}

/* --- memory and stacks --- */

bool host_read(const struct host_process *p, uint64_t addr, void *to, size_t n)
{
	const struct iovec here = {to, n}, there = {(void *)(uintptr_t)addr, n};
	struct err *e;

	if (!p->given || !p->given->inf)
		return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
	e = inferior_read(p->given->inf, addr, to, n);
	err_free(e);
	return !e;
}

const char *host_stack_has(const struct host_thread *t, const char *const *words)
{
	for (unsigned i = 0; t->stack && i < t->stack->n; i++) {
		const char *f = t->stack->frames[i].sym.function;

		for (unsigned k = 0; f && words[k]; k++)
			if (strstr(f, words[k]))
				return words[k];
	}
	return NULL;
}
