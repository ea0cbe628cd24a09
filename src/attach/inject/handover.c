/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes a file descriptor, see handover.h. The kernel says which process is connected
 * (SO_PEERCRED); the process's own word is not used.
 */
#include "attach/inject/handover.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/buf.h"

struct handover {
	int fd;
	char name[64];
};

struct err *handover_begin(struct handover **ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct handover *h = xcalloc(1, sizeof(*h));
	unsigned long long salt = 0;
	size_t n;

	(void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
	snprintf(h->name, sizeof(h->name), "@tsdb-%d-%llx", getpid(), salt);
	n = strlen(h->name);
	memcpy(at.sun_path + 1, h->name + 1, n - 1);
	h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd >= 0 &&
		bind(h->fd, (const struct sockaddr *)&at,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0 &&
		listen(h->fd, 4) == 0) {
		*ret = h;
		return NULL;
	}
	n = (size_t)errno;
	handover_end(h);
	return err_sys((int)n, "cannot make a socket for the agent");
}

void handover_end(struct handover *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

const char *handover_name(const struct handover *h)
{
	return h->name;
}

static void give(int to, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} box;
	struct iovec v = {"d", 1};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &box, .msg_controllen = sizeof(box)};

	memset(&box, 0, sizeof(box));
	box.head.cmsg_level = SOL_SOCKET;
	box.head.cmsg_type = SCM_RIGHTS;
	box.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&box.head), &fd, sizeof(fd));
	(void)sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void handover_serve(struct handover *h, int fd, pid_t pid)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	int to = h ? accept4(h->fd, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (to < 0)
		return;
	if (getsockopt(to, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == pid)
		give(to, fd);
	close(to);
}
