/* SPDX-License-Identifier: Apache-2.0
 *
 * See child.h. waitpid() has no limit of its own, so it is called again and again.
 */
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include "base/patience.h"

#define DEATH_MS 2000u
#define NAP_MOST_NS 10000000

static void begin(struct patience *p, pid_t pid, unsigned ms)
{
	patience_begin(p, pid, ms * UINT64_C(1000000));
}

bool child_wait(pid_t pid, unsigned ms, int *ret_status)
{
	struct timespec nap = {.tv_nsec = 100000};
	struct patience patience;
	int status = SIGKILL;
	pid_t r;

	begin(&patience, pid, ms);
	while ((r = waitpid(pid, &status, WNOHANG | __WALL)) == 0 || (r < 0 && errno == EINTR)) {
		if (patience_over(&patience))
			return false;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < NAP_MOST_NS)
			nap.tv_nsec *= 2;
	}
	if (ret_status)
		*ret_status = r < 0 ? SIGKILL : status;
	return true;
}

bool child_kill(pid_t pid, int *ret_status)
{
	kill(pid, SIGKILL);
	return child_wait(pid, DEATH_MS, ret_status);
}

bool child_readable(int fd, pid_t pid, unsigned ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct patience patience;

	for (begin(&patience, pid, ms); !patience_over(&patience);)
		if (poll(&p, 1, 50) > 0)
			return true;
	return false;
}
