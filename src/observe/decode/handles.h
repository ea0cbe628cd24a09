/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from u64 to u64, neither of them 0: open addressing, grows by doubling. Used for what
 * handles, addresses and stack ids mean.
 */
#ifndef OBSERVE_HANDLES_H
#define OBSERVE_HANDLES_H

#include <stddef.h>
#include <stdint.h>

struct handles {
	uint64_t (*slot)[2]; /* key, value; key 0: free */
	size_t n, cap;
};

/* Returns 0 when key is not in the map. */
uint64_t handles_get(const struct handles *h, uint64_t key);
void handles_put(struct handles *h, uint64_t key, uint64_t value);
/* Removes key; returns its value, 0 if it had none. */
uint64_t handles_remove(struct handles *h, uint64_t key);
/* Makes one key from a small kind and a handle. */
uint64_t handles_key(uint64_t kind, uint64_t handle);
void handles_free(struct handles *h);

#endif
