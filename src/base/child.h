/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes that are not waited for without a limit. One that hangs inside the kernel, in a driver most likely, does not even die of SIGKILL; nor does one
 * that somebody else traces and does not look at. It is left then: the system collects it when we have ended. Limits are patience.h's.
 */
#ifndef TS_CHILD_H
#define TS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits for its end; false: not within ms. *ret_status (may be NULL) is its wait status, that of SIGKILL when somebody else has collected it. */
bool child_wait(pid_t pid, unsigned ms, int *ret_status);
/* Kills it and waits two seconds for its end. */
bool child_kill(pid_t pid, int *ret_status);
/* Waits until fd, of which pid has the other end, can be read or is closed on that side; false: not within ms. */
bool child_readable(int fd, pid_t pid, unsigned ms);

#endif
