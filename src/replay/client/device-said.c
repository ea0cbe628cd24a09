/* SPDX-License-Identifier: Apache-2.0
 *
 * What executed kernels print: the replayer's standard output is a pipe, read here while a call
 * waits, before its reply is used, and to the end when the process dies. So nothing is lost, and
 * nothing of it ever reaches tsdb's own standard output. The surprise: a replayer that prints much
 * waits for us to read, which is why every wait for it reads too.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "replay/client/device-private.h"

#define PIPE_BYTES (1 << 20) /* wanted size: the replayer then rarely has to wait */

struct err *device_said_open(struct device *d, int *ret_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(errno, "cannot make a pipe for what kernels print");
	(void)!fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK)) {
		struct err *e = err_sys(errno, "cannot set up the pipe for what kernels print");

		close(ends[0]);
		close(ends[1]);
		return e;
	}
	d->said_fd = ends[0];
	*ret_end = ends[1];
	return NULL;
}

/* Whether kernels now run for the user, so that what they print is shown. When tsdb only compares
 * results, it is dropped. */
static bool for_the_user(const struct device *d)
{
	return !d->back && d->asked != REPLAYER_CHECK && d->asked != REPLAYER_CHANGED &&
	       d->asked != REPLAYER_ACCESSES && d->asked != REPLAYER_ORDER;
}

void device_said_take(struct device *d)
{
	char text[16384];
	ssize_t n;

	while (d->said_fd >= 0 &&
		((n = read(d->said_fd, text, sizeof text)) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0 && d->said && for_the_user(d))
			d->said(d->said_arg, text, (size_t)n);
}

void device_said_close(struct device *d)
{
	device_said_take(d);
	if (d->said_fd >= 0)
		close(d->said_fd);
	d->said_fd = -1;
}
