/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes of a launch. Without any that are set, a launch pays one load.
 */
#ifndef SOFTGPU_PROBE_H
#define SOFTGPU_PROBE_H

#include "softgpu/micro/micro-probe.h"

struct launch_probes {
	struct probed *b; /* NULL: none */
	struct soft_probe *copy;
	unsigned n, generation;
	uint64_t launch; /* its number, for what it prints */
	struct ptx_observer observer;
};
/* Before ptx_run: puts an observer into l if a probe is at one of its lines. text: the PTX. */
void probe_begin(struct launch_probes *lp, struct ptx_launch *l, const char *text, size_t n);
void probe_end(struct launch_probes *lp);
/* Replaces all probes and forgets what was counted; n: SOFT_PROBES_MAX at most. */
void probes_set(const struct soft_probe *p, unsigned n);
bool probes_result(unsigned i, struct soft_probe_result *ret);

#endif
