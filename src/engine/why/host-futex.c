/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait at a futex (futex(2)): whose it is. A lock is only taken for a mutex if what
 * glibc keeps beside its word says so, and its owner is a thread of the process; everything else is
 * a condition that any thread may signal, and so never a reason to call anything stuck that has a
 * thread left which goes on.
 *
 * Layouts: glibc 2.17 to 2.41, x86-64, sysdeps/nptl/bits/struct_mutex.h and struct_rwlock.h; a
 * thread's end: nptl/pthread_join_common.c waits until the word with its tid is 0.
 */
#include "engine/why/host-look.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/maps-line.h"
#include "base/proc-read.h"

enum {
	OWNER = 2, /* int of the mutex that holds its owner's tid */
	KIND = 4,
	KIND_BITS = 0x1ff, /* more are not in use */
	MUTEX_INTS = 5,
	LOCKED = 2,  /* the word of a lock that somebody waits for */
	WRITER = 24, /* bytes into a pthread_rwlock_t: the tid of the thread that writes */
	CONDITIONS_EDGES_MAX = 32,
};

struct futex {
	struct host_look *l;
	struct host_process *p;
	struct host_thread *t;
	uint64_t at;
	uint32_t op;
	bool private;
};

/* The thread waits for a lock that `owner` has. */
static void held(const struct futex *f, const char *what, struct host_thread *owner)
{
	char name[64];
	uint32_t lock, has;

	snprintf(name, sizeof(name), "%s at 0x%llx", what, (unsigned long long)f->at);
	lock = why_node(f->l->w, WHY_LOCK, f->p->pid, f->at, name);
	why_edge(f->l->w, f->t->node, lock, WHY_KNOWN_SYSTEM, "waits for");
	has = host_thread_node(f->l, f->p, owner);
	why_edge(f->l->w, lock, has, WHY_KNOWN_SYSTEM, "is held by");
	why_set(&why_at(f->l->w, f->t->node)->does, "waits for the %s", name);
}

/* Its owner has ended, and nobody else may unlock it. */
static void held_for_ever(const struct futex *f, int32_t owner)
{
	char name[64];
	uint32_t lock;

	snprintf(name, sizeof(name), "mutex at 0x%llx", (unsigned long long)f->at);
	lock = why_node(f->l->w, WHY_LOCK, f->p->pid, f->at, name);
	why_at(f->l->w, lock)->end = WHY_END_NEVER;
	why_set(&why_at(f->l->w, lock)->because, "thread %d, which held it, has ended", (int)owner);
	why_edge(f->l->w, f->t->node, lock, WHY_KNOWN_SYSTEM, "waits for");
	why_set(&why_at(f->l->w, f->t->node)->does, "waits for the %s", name);
}

static bool is_mutex(const struct futex *f)
{
	static const char *const locks[] = {"mutex_lock", NULL};
	int32_t m[MUTEX_INTS];
	struct host_thread *owner;

	if (!host_read(f->p, f->at, m, sizeof(m)) || m[0] != LOCKED || m[KIND] & ~KIND_BITS)
		return false;
	owner = m[OWNER] > 0 ? host_thread(f->p, m[OWNER]) : NULL;
	if (owner)
		held(f, "mutex", owner);
	else if (m[OWNER] > 0 && f->private && !f->p->cut && host_stack_has(f->t, locks))
		held_for_ever(f, m[OWNER]);
	else
		return false;
	return true;
}

/* A lock of the kind whose word is its owner's tid. */
static bool is_pi_mutex(const struct futex *f)
{
	uint32_t word;
	struct host_thread *owner;

	if (f->op != FUTEX_LOCK_PI && f->op != FUTEX_LOCK_PI2)
		return false;
	if (!host_read(f->p, f->at, &word, sizeof(word)))
		return false;
	owner = host_thread(f->p, (pid_t)(word & FUTEX_TID_MASK));
	if (owner)
		held(f, "mutex", owner);
	return owner != NULL;
}

static bool is_end_of_thread(const struct futex *f)
{
	int32_t tid;
	struct host_thread *other;

	if (f->private || !host_read(f->p, f->at, &tid, sizeof(tid)))
		return false;
	if (tid <= 0 || (uint64_t)tid != (f->t->arg[2] & 0xffffffff))
		return false;
	other = host_thread(f->p, tid);
	if (!other || other == f->t)
		return false;
	why_edge(f->l->w, f->t->node, host_thread_node(f->l, f->p, other), WHY_KNOWN_SYSTEM,
		"waits for the end of");
	why_set(&why_at(f->l->w, f->t->node)->does, "waits for the end of thread %d", (int)tid);
	return true;
}

/* Its futexes are four: the word that waits lies 0, 8 or 12 bytes behind its beginning. */
static bool is_rwlock(const struct futex *f)
{
	static const char *const locks[] = {"rwlock_", NULL};
	static const unsigned behind[] = {0, 8, 12};
	struct host_thread *owner = NULL;

	if (!host_stack_has(f->t, locks))
		return false;
	for (unsigned i = 0; i < sizeof(behind) / sizeof(*behind); i++) {
		int32_t tid;
		struct host_thread *t;

		if (!host_read(f->p, f->at - behind[i] + WRITER, &tid, sizeof(tid)) || tid <= 0)
			continue;
		t = host_thread(f->p, tid);
		if (t && owner && t != owner)
			return false;
		owner = t ? t : owner;
	}
	if (owner)
		held(f, "lock for reading and writing", owner);
	return owner != NULL;
}

/* --- what has no owner --- */

/* Whether the memory at addr may be another process's, too. */
static bool is_shared(const struct futex *f)
{
	struct buf maps = {0};
	struct maps_line m;
	char *line, *rest;
	bool private = f->private;

	if (!private && proc_read(f->p->pid, "maps", MAPS_MOST, &maps) && maps.len) {
		rest = (char *)buf_cstr(&maps);
		while (!private && (line = proc_next_line(&rest)))
		private =
			maps_line_parse(&m, line) && f->at >= m.start && f->at < m.end && !m.shared;
	}
	buf_free(&maps);
	return !private;
}

/* The streams of the process that have work: a host function of theirs may signal. */
static void add_streams(const struct futex *f, uint32_t node)
{
	const struct why_node *n;

	for (uint32_t i = 0; (n = why_at(f->l->w, i)); i++)
		if (n->kind == WHY_STREAM && n->pid == f->p->pid &&
			(why_next(f->l->w, i, WHY_NONE) != WHY_NONE || n->moved == WHY_MOVED))
			why_edge(f->l->w, node, i, WHY_KNOWN_POSSIBLE, "could be signalled by");
}

/* Whoever may signal it: the threads of the process, or, where they are many, the process. */
static void add_threads(const struct futex *f, uint32_t node)
{
	struct host_process *p = f->p;
	bool any = false;

	if (p->cut || p->nthreads > CONDITIONS_EDGES_MAX) {
		why_edge(f->l->w, node, host_process_node(f->l, p->pid), WHY_KNOWN_POSSIBLE,
			"could be signalled by");
		return;
	}
	for (unsigned i = 0; i < p->nthreads; i++) {
		if (&p->threads[i] == f->t || p->threads[i].node == WHY_NONE)
			continue;
		why_edge(f->l->w, node, p->threads[i].node, WHY_KNOWN_POSSIBLE,
			"could be signalled by");
		any = true;
	}
	if (any || why_next(f->l->w, node, WHY_NONE) != WHY_NONE)
		return;
	why_at(f->l->w, node)->end = WHY_END_NEVER;
	why_set(&why_at(f->l->w, node)->because, "no other thread is there that could signal it");
}

static const char *name_of(const struct host_thread *t)
{
	static const char *const words[] = {"cond_wait", "sem_wait", "barrier_wait",
		"condition_variable", "rwlock_", "mutex_lock", NULL};
	static const char *const names[] = {"condition", "semaphore", "barrier", "condition",
		"lock for reading and writing", "mutex"};
	const char *found = host_stack_has(t, words);

	for (unsigned i = 0; found && words[i]; i++)
		if (found == words[i])
			return names[i];
	return "futex";
}

static void is_condition(const struct futex *f)
{
	char name[64];
	uint32_t node;

	snprintf(name, sizeof(name), "%s at 0x%llx", name_of(f->t), (unsigned long long)f->at);
	node = why_node(f->l->w, WHY_CONDITION, f->p->pid, f->at, name);
	why_edge(f->l->w, f->t->node, node, WHY_KNOWN_SYSTEM, "waits for");
	why_set(&why_at(f->l->w, f->t->node)->does, "waits for the %s", name);
	if (why_next(f->l->w, node, WHY_NONE) != WHY_NONE || why_at(f->l->w, node)->because)
		return; /* another thread waits for it, too */
	if (host_signals_act(f->p) || is_shared(f)) {
		why_at(f->l->w, node)->end = WHY_END_OUTSIDE;
		why_set(&why_at(f->l->w, node)->because,
			"a signal's handler, or another process, may signal it");
		return;
	}
	why_at(f->l->w, node)->any = true;
	why_set(&why_at(f->l->w, node)->because, "it has no owner: any thread may signal it");
	add_streams(f, node);
	host_add_handled_children(f->l, f->p, node);
	add_threads(f, node);
}

void host_waits_futex(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	const struct futex f = {.l = l,
		.p = p,
		.t = t,
		.at = t->arg[0],
		.op = (uint32_t)t->arg[1] & FUTEX_CMD_MASK,
		.private = t->arg[1] & FUTEX_PRIVATE_FLAG};
	const uint32_t gil = host_gil(l, p, f.at);

	if (gil != WHY_NONE) {
		why_edge(l->w, t->node, gil, WHY_KNOWN_SYSTEM, "waits for");
		why_set(&why_at(l->w, t->node)->does, "waits for Python's lock (GIL)");
		return;
	}
	if (t->arg[3]) {
		why_at(l->w, t->node)->end = WHY_END_COMES;
		why_set(&why_at(l->w, t->node)->does, "waits, for a limited time");
		return;
	}
	if (f.op != FUTEX_WAIT && f.op != FUTEX_WAIT_BITSET && f.op != FUTEX_LOCK_PI &&
		f.op != FUTEX_LOCK_PI2 && f.op != FUTEX_WAIT_REQUEUE_PI)
		return; /* it wakes others */
	if ((f.op == FUTEX_WAIT || f.op == FUTEX_WAIT_BITSET) &&
		!host_claim_futex(l, p, t->node, f.at, (uint32_t)t->arg[2]))
		return;
	if (is_pi_mutex(&f) || is_end_of_thread(&f) || is_rwlock(&f) || is_mutex(&f))
		return;
	is_condition(&f);
}
