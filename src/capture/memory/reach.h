/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory of the host a launch may touch: what tsdb found from its kernel's PTX
 * (struct tsdb_reach in wire.h), with the launch's arguments. A pointer is the only way from one
 * allocation to another, so an address that the kernel makes of its parameters is within, or right
 * behind, an allocation that one of them points into. An address above 4 GiB in no allocation that
 * is known may be page-locked memory under another address: then nothing is known.
 */
#ifndef CAPTURE_REACH_H
#define CAPTURE_REACH_H

#include "capture/core/agent.h"

struct call;
struct live;

struct reach {
	bool known;
	uint32_t n;
	uint64_t pointer[TSDB_REACH_WORDS]; /* to memory of the host */
};

void reach_find(const struct call *c, struct reach *ret);
/* Whether the launch may touch the allocation. */
bool reach_has(const struct reach *r, const struct live *l);

#endif
