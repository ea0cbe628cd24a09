/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes of one launch while it runs (replayer/soft-probe.h).
 */
#ifndef SOFTGPU_MICRO_PROBE_H
#define SOFTGPU_MICRO_PROBE_H

#include "replayer/soft-probe.h"
#include "softgpu/watch/ptx-observe.h"

struct probed; /* NULL: no probe is at a line of the launch */
/* text is the PTX of l's module and lives as long. */
struct probed *probed_new(const struct ptx_launch *l, const struct soft_probe *p, unsigned n,
	const char *text, size_t text_size);
/* Where records of probes that print go, one after the other; else they are only counted. */
void probed_prints(
	struct probed *b, void (*print)(void *arg, const struct soft_print *r), void *arg);
struct ptx_observer probed_observer(struct probed *b);
/* The launch has ended: hands out how many lanes of each probe printed nothing. */
void probed_tell_left(struct probed *b);
/* What was counted is added to results, one for each probe. */
void probed_add(struct probed *b, unsigned probe, struct soft_probe_result *to);
bool probed_has(const struct probed *b, unsigned probe);
void probed_free(struct probed *b); /* NULL is fine */

#endif
