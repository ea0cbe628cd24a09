/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole messages over a socket. A signal does not end them: what is half sent cannot be taken back.
 */
#include "door/door.h"

#include <errno.h>
#include <sys/socket.h>

bool door_send(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		const ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

bool door_receive(int fd, void *bytes, size_t n)
{
	char *p = bytes;

	while (n) {
		const ssize_t got = recv(fd, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (!got)
			errno = 0;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}
