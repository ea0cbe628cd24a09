/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources on the host's side, see why.h: one row each, in a file why/host-NAME.c.
 */
#include "engine/why/host-look.h"

/* A row for each; the last one is NULL. */
static why_host_source *const sources[] = {host_waits, NULL};

void why_host(struct why *w, const struct why_process *p, unsigned n)
{
	for (unsigned i = 0; sources[i]; i++)
		sources[i](w, p, n);
}
