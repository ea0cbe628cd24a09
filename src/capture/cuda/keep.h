/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's questions to the keeper (keeper.h). Each connects anew, and gives up after some
 * seconds. All functions: any thread.
 */
#ifndef CAPTURE_KEEP_H
#define CAPTURE_KEEP_H

#include "capture/core/agent.h"
#include "capture/memory/contexts.h"

/* Within device_enter(): at least `bytes` of the keeper's memory, mapped for that context's device.
 * Returns its id; 0: there is none, which is said once. */
uint64_t keep_new(uint64_t bytes, uint64_t *ret_addr, uint64_t *ret_bytes);
void keep_free(uint64_t id, uint64_t addr, uint64_t bytes);
/* What lies there, whatever has become of this process's contexts. */
bool keep_read(uint64_t id, uint64_t offset, void *dst, size_t n);

#endif
