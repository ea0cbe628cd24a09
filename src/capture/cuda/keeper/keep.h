/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's requests to the keeper (keeper.h). Each request makes a new connection, and gives up
 * after some seconds; a keeper that did not answer once is not asked again. Ids are unique among
 * all keepers. Any thread may call.
 */
#ifndef CAPTURE_KEEP_H
#define CAPTURE_KEEP_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

/* Within device_enter(): maps at least `bytes` of the keeper's memory for that context's device.
 * Returns its id; 0: there is none, which is reported once. */
uint64_t keep_new(uint64_t bytes, uint64_t *ret_addr, uint64_t *ret_bytes);
void keep_free(uint64_t id, uint64_t addr, uint64_t bytes);
/* Reads the keeper's memory, even if this process's contexts have faulted. */
bool keep_read(uint64_t id, uint64_t offset, void *dst, size_t n);
/* Whether the keeper that made it is there, as far as is known. */
bool keep_is_safe(uint64_t id);

#endif
