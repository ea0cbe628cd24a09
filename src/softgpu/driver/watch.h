/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the driver's commands to the watchers that are switched on (drv-watch.c). Its functions
 * are called where a command runs, by its stream's thread.
 */
#ifndef SOFTGPU_WATCH_H
#define SOFTGPU_WATCH_H

#include "replayer/soft-watch.h"
#include "softgpu/watch/ptx-addressing.h"
#include "softgpu/watch/ptx-race.h"
#include "softgpu/driver/soft.h"

struct copy;
struct fill;

/* The watchers of one launch while it runs. */
struct watched {
	struct ptx_observer access, by_base, race;
	struct ptx_races *races; /* NULL: not looked for */
	uint64_t label;
	const char *kernel;
	struct ptx_addressing addressing; /* when accesses are collected by base */
};
/* Before ptx_run: puts the schedule and the observers that are switched on into l. */
void watch_begin(struct watched *w, struct ptx_launch *l);
void watch_end(struct watched *w);
/* A command that is not a kernel has run. */
void watch_copy(const struct copy *c);
void watch_fill(const struct fill *f);
void watch_value(uint64_t addr, unsigned bytes, bool write);

SOFT_EXPORT const struct soft_watch *tsdb_soft_watch(void);

#endif
