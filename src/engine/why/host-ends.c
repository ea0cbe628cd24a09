/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is at the other end of a pipe or a socket: all processes' descriptors by inode, and, for
 * connected sockets, the inode of the other socket, from the kernel's socket diagnostics
 * (sock_diag(7)) for UNIX sockets and from /proc/PID/net/tcp for TCP within this machine.
 */
#include "engine/why/host-look.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"

enum { TCP_LISTEN = 10, TCP_BYTES = 1 << 20 };

/* --- descriptors --- */

static void add_descriptor(struct host_look *l, pid_t pid, int dir, const char *fd)
{
	char to[64];
	struct stat st;
	struct host_end e = {.pid = pid};
	const ssize_t n = readlinkat(dir, fd, to, sizeof(to) - 1);

	if (n <= 0)
		return;
	to[n] = 0;
	if (strncmp(to, "pipe:[", 6) != 0 && strncmp(to, "socket:[", 8) != 0)
		return;
	e.inode = strtoull(strchr(to, '[') + 1, NULL, 10);
	if (fstatat(dir, fd, &st, AT_SYMLINK_NOFOLLOW)) /* the link's mode is the descriptor's */
		return;
	e.reads = st.st_mode & S_IRUSR;
	e.writes = st.st_mode & S_IWUSR;
	MAKE_ROOM(l->ends, l->nends, l->ends_cap);
	l->ends[l->nends++] = e;
}

static void add_process(struct host_look *l, pid_t pid)
{
	char path[48];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d) { /* gone, or somebody else's: then it may have any of them open */
		if (access(path, F_OK) == 0)
			l->ends_known = false;
		return;
	}
	while ((e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name))
			add_descriptor(l, pid, dirfd(d), e->d_name);
	closedir(d);
}

void host_ends_find(struct host_look *l)
{
	const struct dirent *e;
	DIR *d;

	if (l->ends_looked)
		return;
	l->ends_looked = l->ends_known = true;
	d = opendir("/proc");
	if (!d) {
		l->ends_known = false;
		return;
	}
	while ((e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name))
			add_process(l, (pid_t)atoi(e->d_name));
	closedir(d);
}

/* --- sockets --- */

static uint64_t peer_of_unix(uint64_t inode)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} out = {.head = {.nlmsg_len = sizeof(out),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.ask = {.sdiag_family = AF_UNIX,
			.udiag_states = UINT32_MAX,
			.udiag_ino = (uint32_t)inode,
			.udiag_show = UDIAG_SHOW_PEER,
			.udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} in;
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = -1;
	uint32_t peer = 0;

	if (fd >= 0 && send(fd, &out, sizeof(out), 0) == sizeof(out))
		n = recv(fd, &in, sizeof(in), MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
		in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || in.head.nlmsg_len > (size_t)n)
		return 0;
	const struct unix_diag_msg *m = NLMSG_DATA(&in.head);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)(in.head.nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	for (; m->udiag_ino == (uint32_t)inode && RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(peer))
			memcpy(&peer, RTA_DATA(a), sizeof(peer));
	return peer;
}

struct connection {
	char local[40], remote[40];
	unsigned state;
	uint64_t inode;
};

/* "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12345 ..." */
static bool connection_parse(struct connection *c, const char *line)
{
	unsigned long long inode;

	if (sscanf(line, " %*d: %39s %39s %x %*s %*s %*s %*s %*s %llu", c->local, c->remote,
		    &c->state, &inode) != 4)
		return false;
	c->inode = inode;
	return true;
}

/* The connection with that inode, or, with `other`, the one whose ends are its, the other way
 * round. */
static bool connection_find(
	struct connection *ret, char *text, uint64_t inode, const struct connection *other)
{
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		if (!connection_parse(ret, line))
			continue;
		if (other ? !strcmp(ret->local, other->remote) && !strcmp(ret->remote, other->local)
			  : ret->inode == inode)
			return true;
	}
	return false;
}

static uint64_t peer_of_tcp(pid_t pid, const char *file, uint64_t inode, bool *ret_listens)
{
	char *text = xmalloc(TCP_BYTES);
	struct connection mine, other;
	uint64_t ret = 0;

	if (host_proc_text(pid, file, text, TCP_BYTES) &&
		connection_find(&mine, text, inode, NULL)) {
		*ret_listens = mine.state == TCP_LISTEN;
		if (!*ret_listens && connection_find(&other, text, 0, &mine))
			ret = other.inode;
	}
	free(text);
	return ret;
}

uint64_t host_socket_peer(pid_t pid, uint64_t inode, bool *ret_listens)
{
	uint64_t peer;

	*ret_listens = false;
	peer = peer_of_unix(inode);
	if (!peer)
		peer = peer_of_tcp(pid, "net/tcp", inode, ret_listens);
	if (!peer && !*ret_listens)
		peer = peer_of_tcp(pid, "net/tcp6", inode, ret_listens);
	return peer;
}
