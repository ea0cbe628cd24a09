/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from u64 to u64, neither of them 0: open addressing, grows by doubling. What handles, addresses and stack ids mean is kept in these.
 */
#ifndef OBSERVE_HANDLES_H
#define OBSERVE_HANDLES_H

#include <stddef.h>
#include <stdint.h>

struct handles {
	uint64_t (*slot)[2]; /* key, value; key 0: free */
	size_t n, cap;
};

/* 0 when key is not there. */
uint64_t handles_get(const struct handles *h, uint64_t key);
void handles_put(struct handles *h, uint64_t key, uint64_t value);
/* The value it had; 0. */
uint64_t handles_remove(struct handles *h, uint64_t key);
/* One key out of two small things. */
uint64_t handles_key(uint64_t kind, uint64_t handle);
void handles_free(struct handles *h);

#endif
