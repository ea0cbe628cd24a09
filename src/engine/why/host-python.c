/* SPDX-License-Identifier: Apache-2.0
 *
 * CPython's global interpreter lock: whether a word that a thread waits at belongs to one, and
 * which thread has it. No symbol is needed, and no table of the interpreter's own: the lock's
 * structure lies round the word, and everything in it has to fit. Its waiters wait for 5 ms at a
 * time, so without this they would count as threads that go on.
 *
 * struct _gil_runtime_state (CPython 3.8 to 3.12 and, with the lock, 3.13,
 * Include/internal/pycore_gil.h): interval, last_holder, locked, switch_number, cond, mutex.
 * glibc's pthread_cond_t has its two futexes at bytes 40 and 44 (__g_signals; 36 and 40 before 2.25
 * are another layout, and not taken).
 */
#include "engine/why/host-look.h"

#include <string.h>

struct gil {
	uint64_t interval; /* us */
	uint64_t holder;   /* a PyThreadState */
	int32_t locked, unused;
	uint64_t switches;
};

enum { COND = 32, SIGNALS = 40, INTERVAL_MAX = 1000000000 };

/* Bytes into PyThreadState: native_thread_id of 3.11 and 3.13, of 3.12 (sbt/format/python.c). */
static const unsigned native_id[] = {160, 144};

static struct host_thread *thread_of(struct host_process *p, uint64_t state)
{
	for (unsigned i = 0; i < sizeof(native_id) / sizeof(*native_id); i++) {
		uint64_t tid;
		struct host_thread *t;

		if (!host_read(p, state + native_id[i], &tid, sizeof(tid)) || tid > INT32_MAX)
			continue;
		t = host_thread(p, (pid_t)tid);
		if (t)
			return t;
	}
	return NULL;
}

uint32_t host_gil(struct host_look *l, struct host_process *p, uint64_t addr)
{
	const uint64_t at = (addr & 7 ? addr - 4 : addr) - SIGNALS - COND;
	struct gil g;
	struct host_thread *owner;
	uint32_t node;

	if (addr & 3 || !host_read(p, at, &g, sizeof(g)))
		return WHY_NONE;
	if (!g.interval || g.interval > INTERVAL_MAX || g.locked & ~1 || g.holder & 7 || !g.holder)
		return WHY_NONE;
	owner = thread_of(p, g.holder);
	if (!owner)
		return WHY_NONE;
	node = why_node(l->w, WHY_GIL, p->pid, 0, "Python's lock (GIL)");
	if (g.locked)
		why_edge(l->w, node, host_thread_node(l, p, owner), WHY_KNOWN_SYSTEM, "is held by");
	else
		why_at(l->w, node)->end = WHY_END_COMES; /* it is free */
	return node;
}
