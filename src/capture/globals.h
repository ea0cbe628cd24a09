/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' globals (__device__ and __constant__ variables): their names are in the code, the driver tells where they are.
 */
#ifndef CAPTURE_GLOBALS_H
#define CAPTURE_GLOBALS_H

#include <stddef.h>
#include <stdint.h>
#include "capture/device.h"

/* Learns the names in a cubin or in PTX text; hash: of the code. */
void globals_learn(uint64_t hash, const void *code, size_t size);
/* With the gate shut and the devices idle: contents at the span's begin, hashes at its end, of all loaded modules' globals. */
void globals_start(struct device_set *s, uint64_t first);
void globals_end(struct device_set *s, uint64_t last);

/* Calls fn for each global of each context (id). */
typedef void globals_fn(void *arg, uint32_t ctx, uint64_t addr, uint64_t size);
void globals_each(struct device_set *s, globals_fn *fn, void *arg);

struct object;
struct thread;
/* A module whose code has just become known, which was there before the agent came: its globals are no allocations (discover.h). */
void globals_withdraw(struct thread *t, const struct object *module);

#endif
