/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the devices' work to the watchers that are switched on (kfd-watch.c). Called by the
 * queues' threads.
 */
#ifndef SOFTAMD_KFD_WATCH_H
#define SOFTAMD_KFD_WATCH_H

#include "replayer/soft-watch.h"
#include "softamd/micro/amd-micro-probe.h"
#include "softamd/thunk/kfd.h"
#include "softcore/probe-area.h"
#include "softamd/watch/amd-race.h"

/* The watchers of one dispatch while it runs. */
struct kfd_watched {
	struct amd_observer both, race;
	struct amd_races *races; /* NULL: not looked for */
	bool collects;
	struct launch_probes probes;
	struct amd_probing probing;
	/* accesses that are not in the set yet */
	enum amd_access_kind kind;
	uint64_t addr, size;
	uint64_t args, args_size, packet; /* of the dispatch */
	uint64_t label, entry, descriptor;
	char kernel[SOFT_RACE_NAME];
};
/* Before amd_run(): puts the schedule and what is switched on into d. */
void kfd_watch_begin(struct kfd_watched *w, struct amd_dispatch *d);
void kfd_watch_end(struct kfd_watched *w);
/* The copy engine reads or writes. */
void kfd_watch_access(uint64_t addr, uint64_t size, bool write);

KFD_PUBLIC const struct soft_watch *tsdb_soft_watch(void);

#endif
