/* SPDX-License-Identifier: Apache-2.0
 *
 * What probes and messages in kernels share (kernel-probes.c, kernel-prints.c).
 */
#ifndef ENGINE_KERNEL_PROBES_H
#define ENGINE_KERNEL_PROBES_H

#include "engine/replay-device.h"
#include "engine/soft-settings.h"

/* Fills v with the messages inside kernels that are enabled, SOFT_PROBES_MAX at most, and returns
 * how many there are; v NULL: only counts them. */
unsigned probes_messages(struct engine *en, struct soft_probe *v);
/* Puts the source's variables in; a trace that cannot be read has none. */
void probes_add_names(struct engine *en, bool replay, struct soft_probe *to);
/* A record on its way to the hook. */
void probes_tell_print(struct engine *en, const struct soft_print *r);

struct probes_coded {
	const char *what, *does; /* "probes", "counts": for sentences */
	const struct soft_probe *p;
	unsigned n;
	struct err *(*take)(void *arg, struct device *d); /* at the window's end */
	void *arg;
};
/* Executes the whole window in a process of its own, whose code is changed for probes; the replay
 * stays where it is. */
struct err *probes_by_code(
	struct engine *en, const struct replay_device *rd, const struct probes_coded *how) TS_CHECK;

#endif
