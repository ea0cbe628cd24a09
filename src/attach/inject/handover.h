/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: passes a file descriptor to a process that may not open it through
 * tsdb's /proc (another user's), over a socket in the abstract namespace. Only that process gets
 * it.
 */
#ifndef ATTACH_HANDOVER_H
#define ATTACH_HANDOVER_H

#include <sys/types.h>
#include "base/err.h"

struct handover;
struct err *handover_begin(struct handover **ret) TS_CHECK;
/* Closes the socket. NULL is fine. */
void handover_end(struct handover *h);
/* '@' and the socket's name. Valid as long as h. */
const char *handover_name(const struct handover *h);
/* Sends fd if pid has connected. Never blocks. h may be NULL. */
void handover_serve(struct handover *h, int fd, pid_t pid);

#endif
