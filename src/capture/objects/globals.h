/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' globals (__device__ and __constant__ variables): their names are in the code, the driver tells where they are.
 */
#ifndef CAPTURE_GLOBALS_H
#define CAPTURE_GLOBALS_H

#include <stddef.h>
#include <stdint.h>
#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* Learns the names of the code's variables; hash: of the code. */
void globals_learn(uint64_t hash, const void *code, size_t size);
/* With the gate claimed: asks the driver where the globals of all loaded modules are, once for each, and fills device_ctx.globals. */
void globals_find(struct device_set *s);
/* Another number when globals_find() may find more. Any thread. */
uint32_t globals_epoch(void);
/* Calls fn for each global that globals_find() has found; addr, size, owner, module, name are set. Not within device_enter(). */
typedef void globals_fn(void *arg, struct device_ctx *d, const struct piece *global);
void globals_each(struct device_set *s, globals_fn *fn, void *arg);

struct object;
struct thread;
/* A module whose code has just become known, which was there before the agent came: its globals are no allocations (discover.h).
 * told: each is told with a record, and this is the number of the last one; may be NULL. False: some had not been found as allocations. */
bool globals_withdraw(struct thread *t, const struct object *module, uint64_t *told);

#endif
