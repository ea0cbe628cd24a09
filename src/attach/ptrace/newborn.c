/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes between fork() and their first stop, in which the kernel holds them for tsdb. On
 * a busy machine that stop may take long, so no caller waits for it; but each child is remembered,
 * since one that is never resumed would block itself and its parent for ever.
 */
#include "attach/ptrace/inferior.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct newborn {
	pid_t parent, child;
};

void newborn_expect(struct inferior *inf, pid_t parent, pid_t child)
{
	MAKE_ROOM(inf->newborns, inf->nnewborns, inf->newborns_cap);
	inf->newborns[inf->nnewborns++] = (struct newborn){parent, child};
}

bool newborn_next(struct inferior *inf, pid_t *ret_parent, pid_t *ret_child)
{
	for (unsigned i = 0; i < inf->nnewborns;) {
		const struct newborn n = inf->newborns[i];
		int status;
		const pid_t r = waitpid(n.child, &status, __WALL | WNOHANG);

		if (r == 0) {
			i++;
			continue;
		}
		memmove(inf->newborns + i, inf->newborns + i + 1,
			(--inf->nnewborns - i) * sizeof(*inf->newborns));
		if (r < 0 || !WIFSTOPPED(status))
			continue; /* has ended already */
		*ret_parent = n.parent;
		*ret_child = n.child;
		return true;
	}
	return false;
}

void newborn_free(struct inferior *inf)
{
	free(inf->newborns);
	inf->newborns = NULL;
	inf->nnewborns = inf->newborns_cap = 0;
}
