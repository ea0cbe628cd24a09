/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: hands a descriptor to a process of another user, which may not open it through our /proc: through a socket in the abstract
 * space, to that process alone.
 */
#ifndef ATTACH_HANDOVER_H
#define ATTACH_HANDOVER_H

#include <sys/types.h>
#include "base/err.h"

struct handover;
struct err *handover_begin(struct handover **ret) TS_CHECK;
/* NULL is fine. */
void handover_end(struct handover *h);
/* '@' and the name. Lives as long as h. */
const char *handover_name(const struct handover *h);
/* Gives fd to pid if it has called. Never blocks. NULL is fine. */
void handover_serve(struct handover *h, int fd, pid_t pid);

#endif
