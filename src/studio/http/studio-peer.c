/* SPDX-License-Identifier: Apache-2.0
 *
 * The owner of a client's socket, see studio-peer.h.
 *
 * Surprise: a kernel without this part of sock_diag answers as for a socket that is not there. So
 * the server's own listening socket is looked for first: a kernel that finds it can tell.
 */
#include "studio/http/studio-peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};
struct answer {
	struct nlmsghdr head;
	struct inet_diag_msg found;
	char more[4096]; /* attributes, which nobody asked for */
};

/* The kernel answers before send() returns. */
static bool ask(int fd, const struct inet_diag_sockid *id, struct answer *ret)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof q,
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST},
		.ask = {.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = UINT32_MAX,
			.id = *id},
	};
	ssize_t n;

	if (send(fd, &q, sizeof q, 0) != (ssize_t)sizeof q)
		return false;
	n = recv(fd, ret, sizeof *ret, MSG_DONTWAIT);
	return n >= (ssize_t)(sizeof ret->head + sizeof ret->found) &&
	       ret->head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

static struct inet_diag_sockid id_of(const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	struct inet_diag_sockid id = {.idiag_sport = from->sin_port,
		.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};

	id.idiag_src[0] = from->sin_addr.s_addr;
	if (to) {
		id.idiag_dport = to->sin_port;
		id.idiag_dst[0] = to->sin_addr.s_addr;
	}
	return id;
}

int studio_peer_open(const struct sockaddr_in *listening)
{
	const struct inet_diag_sockid id = id_of(listening, NULL);
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct answer a;

	if (fd >= 0 && ask(fd, &id, &a) && a.found.id.idiag_sport == listening->sin_port &&
		a.found.idiag_uid == geteuid())
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool studio_peer_uid(
	int fd, const struct sockaddr_in *from, const struct sockaddr_in *to, uid_t *ret)
{
	const struct inet_diag_sockid id = id_of(from, to);
	struct answer a;

	/* where the connection is gone the kernel may find one that listens on the port */
	if (!ask(fd, &id, &a) || a.found.id.idiag_sport != id.idiag_sport ||
		a.found.id.idiag_dport != id.idiag_dport)
		return false;
	*ret = a.found.idiag_uid;
	return true;
}
