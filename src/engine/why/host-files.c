/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait for a pipe or a socket: for the processes at its other end. A descriptor that
 * nobody uses any more counts, too: its process could still write. What has no end that can be seen
 * (a terminal, a network, a device) is decided outside.
 */
#include "engine/why/host-look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITING (1ull << 63) /* in a node's id: the inode's readers, not its writers */

enum {
	POLLED_MAX = 1024,
	SOCKETS_MAX = 64, /* whose other ends are looked for: each may read a long list */
	PID_NAMESPACE_OF_ALL = 0xEFFFFFFC
};

/* Whether descriptors that were inherited may have their other end in a process that cannot be seen
 * from here. */
static bool may_be_elsewhere(int fd)
{
	struct stat st;

	return fd <= 2 && (stat("/proc/self/ns/pid", &st) || st.st_ino != PID_NAMESPACE_OF_ALL);
}

static void outside(struct host_look *l, uint32_t node, const char *because)
{
	why_at(l->w, node)->end = WHY_END_OUTSIDE;
	why_set(&why_at(l->w, node)->because, "%s", because);
}

/* The processes that have the inode open for the other thing. False: none can be seen. */
static bool add_holders(struct host_look *l, uint32_t node, uint64_t inode, bool writers)
{
	bool any = false;

	host_ends_find(l);
	for (unsigned i = 0; i < l->nends; i++) {
		const struct host_end *e = &l->ends[i];

		if (e->inode != inode || !(writers ? e->writes : e->reads))
			continue;
		why_edge(l->w, node, host_process_node(l, e->pid), WHY_KNOWN_SYSTEM,
			writers ? "would be written by" : "would be read by");
		any = true;
	}
	return any;
}

static uint32_t pipe_node(struct host_look *l, int fd, uint64_t inode, bool writing)
{
	char name[64];
	uint32_t node;

	snprintf(name, sizeof(name), "pipe %llu%s", (unsigned long long)inode,
		writing ? ", which is full" : "");
	node = why_node(l->w, WHY_FILE, 0, inode | (writing ? WRITING : 0), name);
	if (why_at(l->w, node)->any || why_at(l->w, node)->end != WHY_END_UNKNOWN)
		return node;
	why_at(l->w, node)->any = true;
	if (may_be_elsewhere(fd))
		outside(l, node, "its other end may be in another container");
	else if (!add_holders(l, node, inode, !writing) || !l->ends_known)
		outside(l, node, "not every process that may have its other end can be seen");
	return node;
}

static uint32_t socket_node(
	struct host_look *l, struct host_process *p, int fd, uint64_t inode, bool writing)
{
	bool listens = false;
	char name[64];
	uint32_t node;
	uint64_t peer = 0;

	snprintf(name, sizeof(name), "socket %llu", (unsigned long long)inode);
	node = why_node(l->w, WHY_FILE, 0, inode | (writing ? WRITING : 0), name);
	if (why_at(l->w, node)->any || why_at(l->w, node)->end != WHY_END_UNKNOWN)
		return node;
	why_at(l->w, node)->any = true;
	if (l->sockets++ < SOCKETS_MAX)
		peer = host_socket_peer(p->pid, inode, &listens);
	if (listens)
		outside(l, node, "any client may connect");
	else if (!peer || may_be_elsewhere(fd))
		outside(l, node, "its other end is not known here");
	else if (!add_holders(l, node, peer, !writing) || !l->ends_known)
		outside(l, node, "not every process that may have its other end can be seen");
	return node;
}

static const struct {
	const char *link, *name, *because;
	enum why_end end;
} others[] = {
	{"anon_inode:[timerfd]", "timer", "its time comes", WHY_END_COMES},
	{"anon_inode:[eventfd]", "event counter", "any thread may write it", WHY_END_OUTSIDE},
	{"anon_inode:", "descriptor", "the system decides", WHY_END_OUTSIDE},
	{"/dev/pts/", "terminal", "somebody may type", WHY_END_OUTSIDE},
	{"/dev/tty", "terminal", "somebody may type", WHY_END_OUTSIDE},
	{"/dev/", "device", "a device decides", WHY_END_OUTSIDE},
	{"/", "file", "a disk is fast", WHY_END_COMES},
	{"", "descriptor", "it is not known what decides", WHY_END_OUTSIDE},
};

static uint32_t other_node(struct host_look *l, struct host_process *p, int fd, const char *link)
{
	unsigned i = 0;
	char name[96];
	uint32_t node;

	while (strncmp(link, others[i].link, strlen(others[i].link)) != 0)
		i++;
	snprintf(name, sizeof(name), "%s %d", others[i].name, fd);
	node = why_node(l->w, WHY_FILE, p->pid, (uint64_t)fd, name);
	why_at(l->w, node)->end = others[i].end;
	why_set(&why_at(l->w, node)->because, "%s", others[i].because);
	return node;
}

/* What the process has open as fd. */
static uint32_t file_node(struct host_look *l, struct host_process *p, int fd, bool writing)
{
	char path[64], to[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)p->pid, fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n < 0 ? 0 : n] = 0;
	if (!strncmp(to, "pipe:[", 6))
		return pipe_node(l, fd, strtoull(to + 6, NULL, 10), writing);
	if (!strncmp(to, "socket:[", 8))
		return socket_node(l, p, fd, strtoull(to + 8, NULL, 10), writing);
	return other_node(l, p, fd, to);
}

/* --- one --- */

static void waits_for_file(
	struct host_look *l, struct host_process *p, struct host_thread *t, bool writing)
{
	const int fd = (int)t->arg[0];
	const uint32_t file = file_node(l, p, fd, writing);

	host_claim_file(l, p, t->node, fd, writing ? POLLOUT : POLLIN);
	why_edge(l->w, t->node, file, WHY_KNOWN_SYSTEM, writing ? "writes to" : "reads from");
	why_set(&why_at(l->w, t->node)->does, "%s descriptor %d, %s",
		writing ? "writes to" : "reads from", fd, why_at(l->w, file)->name);
}

void host_waits_read(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	waits_for_file(l, p, t, false);
}

void host_waits_write(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	waits_for_file(l, p, t, true);
}

/* --- one of several --- */

static void waits_for_one(struct host_look *l, struct host_process *p, struct host_thread *t,
	int fd, bool reading, bool writing)
{
	why_at(l->w, t->node)->any = true;
	if (reading || writing)
		host_claim_file(
			l, p, t->node, fd, (reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
	if (reading)
		why_edge(l->w, t->node, file_node(l, p, fd, false), WHY_KNOWN_SYSTEM,
			"waits to read from");
	if (writing)
		why_edge(l->w, t->node, file_node(l, p, fd, true), WHY_KNOWN_SYSTEM,
			"waits to write to");
}

static void unknown(struct host_look *l, struct host_thread *t)
{
	why_at(l->w, t->node)->end = WHY_END_COMES; /* what it waits for could not be read */
	why_set(&why_at(l->w, t->node)->does, "waits for one of several files");
}

void host_waits_poll(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	struct pollfd fds[POLLED_MAX];
	const uint64_t n = t->arg[1];

	if (!n || n > POLLED_MAX || !host_read(p, t->arg[0], fds, n * sizeof(*fds))) {
		unknown(l, t);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		if (fds[i].fd >= 0)
			waits_for_one(l, p, t, fds[i].fd, fds[i].events & (POLLIN | POLLRDHUP),
				fds[i].events & POLLOUT);
	why_set(&why_at(l->w, t->node)->does, "waits for one of %llu files", (unsigned long long)n);
}

void host_waits_select(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	fd_set set[2];
	const uint64_t n = t->arg[0];

	memset(set, 0, sizeof(set));
	for (unsigned k = 0; k < 2; k++)
		if (!n || n > FD_SETSIZE ||
			(t->arg[1 + k] &&
				!host_read(p, t->arg[1 + k], &set[k], (n + 63) / 64 * 8))) {
			unknown(l, t);
			return;
		}
	for (int fd = 0; fd < (int)n; fd++)
		waits_for_one(l, p, t, fd, FD_ISSET(fd, &set[0]), FD_ISSET(fd, &set[1]));
	why_set(&why_at(l->w, t->node)->does, "waits for one of its files");
}

/* /proc/PID/fdinfo/FD of an epoll descriptor: "tfd:        5 events:       19 data: ...". */
void host_waits_epoll(struct host_look *l, struct host_process *p, struct host_thread *t)
{
	char name[48], text[65536], *at = text;
	size_t n;
	bool any = false;

	snprintf(name, sizeof(name), "fdinfo/%d", (int)t->arg[0]);
	n = host_proc_text(p->pid, name, text, sizeof(text));
	while (n < sizeof(text) - 1 && (at = strstr(at, "tfd:"))) {
		const int fd = (int)strtol(at + 4, &at, 10);
		const char *events = strstr(at, "events:");
		const uint64_t e = events ? strtoull(events + 7, NULL, 16) : EPOLLIN | EPOLLOUT;

		waits_for_one(l, p, t, fd, e & (EPOLLIN | EPOLLRDHUP), e & EPOLLOUT);
		any = true;
	}
	if (!any || n >= sizeof(text) - 1)
		unknown(l, t);
	else
		why_set(&why_at(l->w, t->node)->does, "waits for one of its files");
}
