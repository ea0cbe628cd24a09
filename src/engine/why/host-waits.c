/* SPDX-License-Identifier: Apache-2.0
 *
 * What each host thread waits in, by its system call. A call that is not in the table leaves the
 * thread's end open: it counts as one that goes on.
 */
#include "engine/why/host-look.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* What a row's arguments say of a limit of time. */
enum limit {
	NO_LIMIT,
	POINTER, /* argument `arg` is not NULL: there is one */
	NUMBER,	 /* argument `arg` is not negative */
	ALWAYS,
};

typedef void waits_fn(struct host_look *l, struct host_process *p, struct host_thread *t);

/* A call with a limit of time that was stopped before: its registers are still those of the call.
 */
static void waits_again(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	const uint32_t gil = host_gil(l, p, t->arg[0]);

	if (gil == WHY_NONE) {
		why_at(l->w, t->node)->end = WHY_END_COMES;
		why_set(&why_at(l->w, t->node)->does, "waits, for a limited time");
		return;
	}
	why_edge(l->w, t->node, gil, WHY_KNOWN_SYSTEM, "waits for");
	why_set(&why_at(l->w, t->node)->does, "waits for Python's lock (GIL)");
}

static const struct row {
	short nr;
	unsigned char limit, arg;
	enum why_end end; /* if there is no fn */
	waits_fn *fn;
	const char *does;
} rows[] = {
	{SYS_futex, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_futex, NULL},
	{SYS_read, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_readv, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_recvfrom, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_recvmsg, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_accept, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_accept4, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_read, NULL},
	{SYS_write, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_write, NULL},
	{SYS_writev, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_write, NULL},
	{SYS_sendto, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_write, NULL},
	{SYS_sendmsg, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_write, NULL},
	{SYS_poll, NUMBER, 2, WHY_END_UNKNOWN, host_waits_poll, NULL},
	{SYS_ppoll, POINTER, 2, WHY_END_UNKNOWN, host_waits_poll, NULL},
	{SYS_select, POINTER, 4, WHY_END_UNKNOWN, host_waits_select, NULL},
	{SYS_pselect6, POINTER, 4, WHY_END_UNKNOWN, host_waits_select, NULL},
	{SYS_epoll_wait, NUMBER, 3, WHY_END_UNKNOWN, host_waits_epoll, NULL},
	{SYS_epoll_pwait, NUMBER, 3, WHY_END_UNKNOWN, host_waits_epoll, NULL},
	{SYS_epoll_pwait2, POINTER, 3, WHY_END_UNKNOWN, host_waits_epoll, NULL},
	{SYS_wait4, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_child, NULL},
	{SYS_waitid, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_child, NULL},
	{SYS_flock, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_flock, NULL},
	{SYS_fcntl, NO_LIMIT, 0, WHY_END_UNKNOWN, host_waits_fcntl, NULL},
	{SYS_nanosleep, ALWAYS, 0, WHY_END_COMES, NULL, "sleeps"},
	{SYS_clock_nanosleep, ALWAYS, 0, WHY_END_COMES, NULL, "sleeps"},
	{SYS_restart_syscall, NO_LIMIT, 0, WHY_END_UNKNOWN, waits_again, NULL},
	{SYS_sched_yield, ALWAYS, 0, WHY_END_COMES, NULL, "runs"},
	{SYS_pause, NO_LIMIT, 0, WHY_END_OUTSIDE, NULL, "waits for a signal"},
	{SYS_rt_sigsuspend, NO_LIMIT, 0, WHY_END_OUTSIDE, NULL, "waits for a signal"},
	{SYS_rt_sigtimedwait, POINTER, 2, WHY_END_OUTSIDE, NULL, "waits for a signal"},
};

static bool has_limit(const struct row *r, const struct host_thread *t)
{
	switch (r->limit) {
	case POINTER:
		return t->arg[r->arg] != 0;
	case NUMBER:
		return (int)t->arg[r->arg] >= 0;
	default:
		return r->limit == ALWAYS;
	}
}

static void ends_so(
	struct host_look *l, const struct host_thread *t, enum why_end end, const char *does)
{
	struct why_node *n = why_at(l->w, t->node);

	n->end = end;
	if (!n->does)
		why_set(&n->does, "%s", does);
}

/* By its state alone. True: that says it all. */
static bool by_state(struct host_look *l, const struct host_thread *t)
{
	if (t->state == 'R')
		ends_so(l, t, WHY_END_COMES, "runs");
	else if (t->state == 'Z' || t->state == 'X')
		ends_so(l, t, WHY_END_COMES, "has ended");
	else if (t->state == 'T')
		ends_so(l, t, WHY_END_OUTSIDE, "is stopped by a signal");
	else
		return t->nr < 0;
	return true;
}

/* A lock is not interrupted: it is waited for again. Everything else is. */
static void wait_of(
	struct host_look *l, struct host_process *p, struct host_thread *t, const struct row *r)
{
	if (r->nr == SYS_futex || r->nr == SYS_restart_syscall) {
		r->fn(l, p, t);
	} else if (host_signals_act(p)) {
		ends_so(l, t, WHY_END_OUTSIDE, "waits, and a signal's handler may wake it");
	} else {
		r->fn(l, p, t);
		host_add_handled_children(l, p, t->node);
	}
}

static void look_at(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	t->done = true;
	if (t->call || by_state(l, t)) /* why/device.c knows what the driver's calls wait for */
		return;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];

		if (r->nr != t->nr)
			continue;
		if (!r->fn)
			ends_so(l, t, has_limit(r, t) ? WHY_END_COMES : r->end, r->does);
		else if (has_limit(r, t))
			ends_so(l, t, WHY_END_COMES, "waits, for a limited time");
		else
			wait_of(l, p, t, r);
		return;
	}
}

/* One thread that somebody waits for and that was not looked at yet. */
static bool look_at_next(struct host_look *l)
{
	for (unsigned i = 0; i < l->n; i++)
		for (unsigned k = 0; k < l->p[i]->nthreads; k++) {
			struct host_thread *t = &l->p[i]->threads[k];

			if (t->done || t->node == WHY_NONE)
				continue;
			look_at(l, l->p[i], t);
			return true;
		}
	return false;
}

static void look_at_all(struct host_look *l, const struct why_process *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		host_process_given(l, &p[i]);
	for (unsigned i = 0; i < l->n && i < n; i++)
		if (l->p[i]->node != WHY_NONE) /* somebody waits for it already */
			host_process_node(l, l->p[i]->pid);
	while (look_at_next(l))
		;
	host_claims_check(l);
}

static void look_over(struct host_look *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		free(l->p[i]->threads);
		free(l->p[i]);
	}
	free(l->ends);
	free(l->claims);
}

void host_waits(struct why *w, const struct why_process *p, unsigned n)
{
	struct host_look l = {.w = w};

	look_at_all(&l, p, n);
	look_over(&l);
}

unsigned why_host_peers(const struct why_process *p, unsigned n, pid_t *ret, unsigned max)
{
	struct host_look l = {.w = why_new(), .scratch = true};
	unsigned found = 0;

	look_at_all(&l, p, n);
	for (unsigned i = 0; i < l.n && found < max; i++)
		if (!l.p[i]->given && l.p[i]->gpu)
			ret[found++] = l.p[i]->pid;
	look_over(&l);
	why_free(l.w);
	return found;
}
