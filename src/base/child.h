/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for child processes with a limit. A child that hangs inside the kernel, most likely in a
 * driver, does not die even of SIGKILL, and neither does one whose tracer ignores it. When the
 * limit is spent the child is left alone; the system collects it when this process has ended. Time
 * is charged as in patience.h.
 */
#ifndef TS_CHILD_H
#define TS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits for the child's end; false: it did not end within ms. *ret_status (may be NULL) is its wait
 * status, or that of SIGKILL when other code has collected it. */
bool child_wait(pid_t pid, unsigned ms, int *ret_status);
/* Kills it and waits two seconds for its end. */
bool child_kill(pid_t pid, int *ret_status);
/* Waits until fd, whose other end process pid holds, can be read or has been closed there; false:
 * neither happened within ms. */
bool child_readable(int fd, pid_t pid, unsigned ms);

#endif
