/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices, for the recording of memory: every live context with a private non-blocking stream;
 * waits for all of them and reads their memory. All calls are the agent's own (OWN). One set
 * belongs to the gate, one to the sending thread (sender.h): each has its own streams and staging,
 * so neither waits for the other. The hash kernels are loaded once in each context and lent to one
 * thread at a time.
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
	bool stuck;	 /* its work did not end in time: it is asked once from then on */
	void *kept;	 /* contexts.c's: the kernels while they are lent */
	/* bytes for copies of modules' globals, each in whole pages (globals_find()) */
	uint64_t globals;
};
struct device_set {
	struct device_ctx ctx[DEVICE_CTXS];
	unsigned n;
	uint8_t *staging; /* DEVICE_STAGING bytes, pinned if the driver allows it */
};

/* The debugger leaves: frees everything that was made on devices. */
void device_give_back(void);
/* Whether the driver has all functions that are needed. */
bool device_can(void);
/* Notes a stream made by the agent. */
void device_made_stream(uint64_t ctx, uint32_t id, uint64_t stream);
/* Lists the live contexts. Returns false if there are more than DEVICE_CTXS, or no memory. */
bool device_collect(struct device_set *s);
/* The context with this id; if it is not known (memory mapped without a context), another one;
 * NULL: there is none. */
struct device_ctx *device_find(struct device_set *s, uint32_t id);
/* Whether the handle still belongs to the context with this id. */
bool device_is_there(uint64_t handle, uint32_t id);
/* Makes the context current to this thread, with its stream, until device_leave(). */
bool device_enter(struct device_ctx *d);
void device_leave(void);
/* Waits until all work of all contexts is done. It polls, so a stream that never ends is given up
 * after that many tenths of a second (DRIVER_NOT_READY). Other errors are the device's, such as a
 * fault. */
struct driver_result device_idle(struct device_set *s, unsigned tenths);
/* Loads the hash kernels into contexts that lack them. Takes milliseconds, or tenths of a second if
 * they must be compiled; where the driver has not done it within `set gpu-timeout`, hashes are
 * computed without them until it has. Not to be called while the process exits (the driver may
 * never return). */
void device_load(struct device_set *s);
/* Waits until the work in a stream is done, by asking: what waits in the driver could not be given
 * up. DRIVER_NOT_READY: not within ms. */
struct driver_result device_finish(uint64_t stream, unsigned ms);
/* Within device_enter(): reads memory, with the work on it done. False also when the copy is not
 * done within `set gpu-timeout`. */
bool device_read(struct device_ctx *d, uint64_t addr, void *dst, size_t n);
/* Whether the driver says that the memory is all within one allocation or mapping. */
bool device_is_mapped(uint64_t addr, uint64_t size);
/* Within device_enter(): the same for memory that was mapped by hand; also whether the device may
 * read its beginning and its end. */
bool device_may_read(uint64_t addr, uint64_t size);
/* Within device_enter(): begins to hash mapped memory by the kernels, so that the next ranges can
 * be listed meanwhile; returns false if they are not there, or there is no room beside what was
 * begun. device_gather() is the driver's gather_begin(). Both use the kernels of the context until
 * device_wait(). */
bool device_hash_begin(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t n,
	struct sbt_hash *ret, struct hash_kernel_begun *b);
bool device_gather(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t nranges,
	uint64_t first, uint32_t n, uint64_t packed);
/* Waits for all work on the context's stream, and lets others use the kernels. Returns false if it
 * failed, or is not done within `set gpu-timeout`; the kernels are not used again then. */
bool device_wait(struct device_ctx *d);
/* Within device_enter(): hashes the pages of mapped memory by the kernels. Returns false if they
 * are not there, or as device_wait() does. */
bool device_hash_pages(
	struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret_pages);
/* Hashes on the device if possible. doubtful: the memory may not be mapped; then it is copied,
 * since a copy returns an error where a kernel would fault. */
bool device_hash(struct device_set *s, struct device_ctx *d, uint64_t addr, uint64_t size,
	bool doubtful, struct sbt_hash *ret);

#endif
