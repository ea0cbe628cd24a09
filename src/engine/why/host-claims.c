/* SPDX-License-Identifier: Apache-2.0
 *
 * Second looks. Processes are looked at one after the other, and some run meanwhile: two that hand
 * a byte to and fro can each be seen waiting for the other. So, when all have been looked at, each
 * wait is looked at again: whether the descriptor is ready, the futex's word has changed, or the
 * thread has run.
 */
#include "engine/why/host-look.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buf.h"

static void goes_on(struct host_look *l, uint32_t node, const char *because)
{
	why_at(l->w, node)->end = WHY_END_COMES;
	why_set(&why_at(l->w, node)->because, "%s", because);
}

uint64_t host_switches(pid_t pid, pid_t tid)
{
	static const char word[] = "ctxt_switches:";
	char name[48], text[4096], *at = text;
	uint64_t n = 0;

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	if (!host_proc_text(pid, name, text, sizeof(text)))
		return 0;
	while ((at = strstr(at, word))) {
		at += strlen(word);
		n += strtoull(at, NULL, 10);
	}
	return n;
}

void host_claim_file(
	struct host_look *l, const struct host_process *p, uint32_t node, int fd, short events)
{
	MAKE_ROOM(l->claims, l->nclaims, l->claims_cap);
	l->claims[l->nclaims++] =
		(struct host_claim){.p = p, .node = node, .fd = fd, .events = events};
}

/* Whether the word still is what the thread waits at. */
static bool waits_at(const struct host_process *p, uint64_t addr, uint32_t value)
{
	uint32_t now;

	return host_read(p, addr, &now, sizeof(now)) && now == value;
}

bool host_claim_futex(struct host_look *l, const struct host_process *p, uint32_t node,
	uint64_t addr, uint32_t value)
{
	if (!waits_at(p, addr, value)) {
		goes_on(l, node, "it was woken a moment ago");
		return false;
	}
	MAKE_ROOM(l->claims, l->nclaims, l->claims_cap);
	l->claims[l->nclaims++] =
		(struct host_claim){.p = p, .node = node, .fd = -1, .addr = addr, .value = value};
	return true;
}

/* 1: the descriptor is ready; 0: it is not; -1: that cannot be asked. */
static int is_ready(pid_t pid, int fd, short events)
{
	const int process = (int)syscall(SYS_pidfd_open, pid, 0);
	const int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	struct pollfd p = {.fd = copy, .events = events};
	int ready = -1;

	if (copy >= 0)
		ready = poll(&p, 1, 0);
	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return ready;
}

static void check(struct host_look *l, const struct host_claim *c)
{
	int ready;

	if (c->fd < 0) {
		if (!waits_at(c->p, c->addr, c->value))
			goes_on(l, c->node, "it was woken a moment ago");
		return;
	}
	ready = is_ready(c->p->pid, c->fd, c->events);
	if (ready > 0)
		goes_on(l, c->node, "what it waits for is there");
	else if (ready < 0)
		goes_on(l, c->node, "whether what it waits for is there cannot be asked");
}

void host_claims_check(struct host_look *l)
{
	for (unsigned i = 0; i < l->nclaims; i++)
		check(l, &l->claims[i]);
	for (unsigned i = 0; i < l->n; i++)
		for (unsigned k = 0; l->p[i]->outside && k < l->p[i]->nthreads; k++) {
			const struct host_thread *t = &l->p[i]->threads[k];

			if (t->node != WHY_NONE &&
				host_switches(l->p[i]->pid, t->tid) != t->switches)
				goes_on(l, t->node, "it has run meanwhile");
		}
}
