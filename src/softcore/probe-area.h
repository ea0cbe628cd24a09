/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes that are set, and those of a launch. Without any that are set, a launch pays one load.
 */
#ifndef SOFTCORE_PROBE_AREA_H
#define SOFTCORE_PROBE_AREA_H

#include "softcore/lane-probe.h"

struct launch_probes {
	struct probed *b; /* NULL: none */
	struct soft_probe *copy;
	unsigned n, generation;
	uint64_t launch; /* its number, for what it prints */
};
/* Before a launch: copies the probes that are set. False: there are none. */
bool probes_take(struct launch_probes *lp);
/* b, which lp->copy was given to, counts now. NULL: no probe is in the launch. */
void probes_begin(struct launch_probes *lp, struct probed *b);
/* Behind the launch. */
void probes_end(struct launch_probes *lp);
/* Replaces all probes and forgets what was counted; n: SOFT_PROBES_MAX at most. */
void probes_set(const struct soft_probe *p, unsigned n);
bool probes_result(unsigned i, struct soft_probe_result *ret);

#endif
