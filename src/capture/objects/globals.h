/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' globals (__device__ and __constant__ variables): their names come from the code, their
 * addresses from the driver.
 */
#ifndef CAPTURE_GLOBALS_H
#define CAPTURE_GLOBALS_H

#include <stddef.h>
#include <stdint.h>
#include "capture/pipeline/bulk.h"
#include "capture/memory/contexts.h"

/* Learns the names of the code's variables; hash: of the code. */
void globals_learn(uint64_t hash, const void *code, size_t size);
/* With the gate claimed: asks the driver for the globals of all loaded modules, once for each, and
 * sets device_ctx.globals. */
void globals_find(struct device_set *s);
/* Changes whenever globals_find() may find more. Any thread. */
uint32_t globals_epoch(void);
/* Calls fn for each global that globals_find() has found; addr, size, owner, module, name are set.
 * Not to be called within device_enter(). */
typedef void globals_fn(void *arg, struct device_ctx *d, const struct piece *global);
void globals_each(struct device_set *s, globals_fn *fn, void *arg);

struct object;
struct thread;
/* A module from before the agent came has code that has just become known: its globals are no
 * allocations (discover.h), so they are removed from these. told: each is recorded, and this
 * becomes the number of the last record; may be NULL. Returns false if some had not been found as
 * allocations. */
bool globals_withdraw(struct thread *t, const struct object *module, uint64_t *told);

#endif
