/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent and the keeper (tsdb-keeper, a child of tsdb) say to each other. The keeper owns
 * device memory that the agent maps and copies to, so that the copies outlive a fault of the
 * inferior's context. The agent connects to the socket that control.keeper names, sends one
 * question, takes the answer, and closes: it holds no descriptor while the program runs. The keeper
 * answers the inferior's process alone.
 */
#ifndef CAPTURE_KEEPER_H
#define CAPTURE_KEEPER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* control.keeper is '@' and a name in the abstract space of Unix sockets. */
enum keeper_kind {
	KEEPER_MAKE = 1, /* bytes of memory on the device uuid: the answer has its id, how many
			    bytes it is, and brings a descriptor (SCM_RIGHTS) */
	KEEPER_READ,	 /* bytes from offset on: they follow the answer */
	KEEPER_DROP,
};

struct keeper_ask {
	uint32_t kind, pad;
	uint64_t id, offset, bytes;
	uint8_t uuid[16]; /* MAKE */
};

struct keeper_answer {
	uint32_t result; /* CUresult; 0: done */
	uint32_t pad;
	uint64_t id, bytes;
};

_Static_assert(
	sizeof(struct keeper_ask) == 48 && sizeof(struct keeper_answer) == 24, "wire layout");

/* Send and receive all n bytes. Return false and set errno if the other side has closed its end
 * (ECONNRESET, EPIPE), or the time limit of the socket is over (EAGAIN). */
static inline bool keeper_send(int s, const void *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t now = send(s, (const char *)p + done, n - done, MSG_NOSIGNAL);
		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0)
			return false;
		done += (size_t)now;
	}
	return true;
}

static inline bool keeper_receive(int s, void *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t now = recv(s, (char *)p + done, n - done, 0);
		if (now < 0 && errno == EINTR)
			continue;
		if (now == 0)
			errno = ECONNRESET;
		if (now <= 0)
			return false;
		done += (size_t)now;
	}
	return true;
}

#endif
