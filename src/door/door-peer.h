/* SPDX-License-Identifier: Apache-2.0
 *
 * The process at the other end of the door: a child that is started with one end of a socket as its
 * file 3, in a process group of its own, with no signal blocked and SIGINT and SIGPIPE as usual.
 */
#ifndef DOOR_DOOR_PEER_H
#define DOOR_DOOR_PEER_H

#include <stdbool.h>
#include <sys/types.h>

enum { DOOR_PEER_FD = 3 };

struct door_peer {
	int fd;	     /* of the socket; -1: none */
	pid_t pid;   /* 0: none */
	int process; /* a pidfd, which is that process for ever; -1: the kernel has none */
};
#define DOOR_PEER_NONE                                                                             \
	{                                                                                          \
		-1, 0, -1                                                                          \
	}

/* Starts words[0], a path or a name to look for in PATH; env: its environment. no_input: its
 * standard input is /dev/null, not the caller's. Returns errno; *ret is then DOOR_PEER_NONE. */
int door_peer_start(struct door_peer *ret, char *const *words, char *const *env, bool no_input);
/* Sends a signal, to that process or to nobody: also when it has ended, and another one has its
 * number by now. May be called in signal handlers and by any thread. */
void door_peer_signal(const struct door_peer *p, int sig);
/* Closes the socket and what the process is known by. It may still run, and pid is to be waited
 * for. */
void door_peer_close(struct door_peer *p);

#endif
