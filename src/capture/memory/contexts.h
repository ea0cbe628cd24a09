/* SPDX-License-Identifier: Apache-2.0
 *
 * The device as the recording of memory sees it: every live context with a private non-blocking stream, waiting for all of them,
 * reading their memory. All calls are the agent's own (OWN). One set is the gate's, one the sending thread's (sender.h): each has streams and
 * staging of its own, so neither waits for the other. The kernels that hash are loaded once a context and lent to one thread at a time.
 */
#ifndef CAPTURE_DEVICE_H
#define CAPTURE_DEVICE_H

#include "capture/core/agent.h"
#include "capture/core/driver.h"
#include "sbt/pagehash.h"

#define DEVICE_CTXS DRIVER_HASHERS
#define DEVICE_STAGING (4u << 20)

struct device_ctx {
	uint64_t handle;
	uint32_t id;
	uint64_t stream; /* the set's own */
	void *kept;	 /* contexts.c's: the kernels, while they are kept */
	uint64_t globals; /* bytes that copies of modules' globals take, each in whole pages (globals_find()) */
};
struct device_set {
	struct device_ctx ctx[DEVICE_CTXS];
	unsigned n;
	uint8_t *staging; /* DEVICE_STAGING bytes, pinned where the driver lets us */
};

/* The debugger leaves: everything that was made on devices is given back. */
void device_give_back(void);
/* Whether the driver has all the functions. */
bool device_can(void);
/* A stream of the agent's own was made. */
void device_made_stream(uint64_t ctx, uint32_t id, uint64_t stream);
/* The contexts that are alive now. False: more than DEVICE_CTXS, or no memory. */
bool device_collect(struct device_set *s);
/* The context with this id; another one when that is not known (memory mapped without a context); NULL: none. */
struct device_ctx *device_find(struct device_set *s, uint32_t id);
/* Whether the context still is what it was. */
bool device_is_there(uint64_t handle, uint32_t id);
/* Makes the context current to this thread, with its stream; device_leave() takes that back. */
bool device_enter(struct device_ctx *d);
void device_leave(void);
/* Waits until all the work of all contexts is done: polls, so that a stream that never ends is given up after tenths of a second
 * (DRIVER_NOT_READY). Other errors are the device's: it has faulted, say. */
struct driver_result device_idle(struct device_set *s, unsigned tenths);
/* Loads the kernels that hash memory, into contexts that lack them. Takes milliseconds, and where they must be compiled tenths of a second; never
 * while the process exits (the driver may never come back). */
void device_load(struct device_set *s);
/* Within device_enter(): reads memory, with the work on it done. */
bool device_read(struct device_ctx *d, uint64_t addr, void *dst, size_t n);
/* Whether it is all one allocation's, or mapping's, by the driver's word. */
bool device_is_mapped(uint64_t addr, uint64_t size);
/* Within device_enter(): the same of memory that was mapped by hand, and the device may read its beginning and its end. */
bool device_may_read(uint64_t addr, uint64_t size);
/* Within device_enter(), by the kernels, of memory that is mapped: false when they are not there. The first waits. */
bool device_hash_ranges(struct device_ctx *d, const struct hash_kernel_range *r, size_t n, struct sbt_hash *ret);
/* The same without waiting, so that the next ranges can be listed meanwhile; false also when there is no room beside what was begun. The second is
 * the driver's gather_begin(). Both keep the kernels of the context until device_wait(). */
bool device_hash_begin(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t n, struct sbt_hash *ret, struct hash_kernel_begun *b);
bool device_gather(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t nranges, uint64_t first, uint32_t n, uint64_t packed);
/* All work on the context's stream is over, and lends the kernels to others. False: it failed. */
bool device_wait(struct device_ctx *d);
bool device_hash_pages(struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret_pages);
/* On the device where that can be; doubtful: memory that may not be mapped, which a copy answers with an error, a kernel with a fault. */
bool device_hash(struct device_set *s, struct device_ctx *d, uint64_t addr, uint64_t size, bool doubtful, struct sbt_hash *ret);

#endif
