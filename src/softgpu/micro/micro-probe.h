/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes of a launch of PTX: their places, and an observer (softcore/lane-probe.h counts).
 */
#ifndef SOFTGPU_MICRO_PROBE_H
#define SOFTGPU_MICRO_PROBE_H

#include "softcore/probe-area.h"
#include "softgpu/watch/ptx-observe.h"

/* NULL: no probe is at a line of the launch. text is the PTX of l's module. p lives as long. */
struct probed *micro_probed_new(const struct ptx_launch *l, const struct soft_probe *p, unsigned n,
	const char *text, size_t text_size);
struct ptx_observer micro_probed_observer(struct probed *b);

/* Before ptx_run: puts an observer into l, in *room, if a probe is at one of its lines;
 * probes_end() ends it. */
void micro_probes_begin(struct launch_probes *lp, struct ptx_launch *l, struct ptx_observer *room,
	const char *text, size_t n);

#endif
