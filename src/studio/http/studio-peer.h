/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose process is at the other end of a TCP connection on this machine. TCP has no SO_PEERCRED:
 * the kernel is asked for the client's own socket (sock_diag(7)), which has its owner's uid.
 */
#ifndef STUDIO_STUDIO_PEER_H
#define STUDIO_STUDIO_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

/* For a server that listens on `listening`. Returns a descriptor, which the caller closes; -1: this
 * kernel does not tell. */
int studio_peer_open(const struct sockaddr_in *listening);
/* Whose the socket is that is bound to `from` and connected to `to`. False: there is none any more.
 */
bool studio_peer_uid(
	int fd, const struct sockaddr_in *from, const struct sockaddr_in *to, uid_t *ret);

#endif
