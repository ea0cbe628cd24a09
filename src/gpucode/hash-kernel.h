/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes device memory on the device, by kernels.ptx, to the same values as sbt_range_hash(). The
 * agent and the replayer use it, so it needs nothing but libc, takes its driver functions from the
 * caller, and returns CUresult. On the software GPU, whose memory is this process's, the host
 * hashes instead: interpreting the kernel would take a thousand times as long.
 *
 * The context that was current at open must be current in every call. Not for two threads at a
 * time. All calls wait for what they started on the stream unless they say otherwise; none may be
 * made while a stream of the context is being captured in global mode.
 */
#ifndef REPLAY_HASH_KERNEL_H
#define REPLAY_HASH_KERNEL_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpucode/hash-rows.h"
#include "sbt/pagehash.h"

/* What the caller looks up, under these names. None may be NULL. */
#define HASH_KERNEL_FUNCTIONS(FN)                                                                  \
	FN(cuCtxGetDevice)                                                                         \
	FN(cuDeviceGetName)                                                                        \
	FN(cuDeviceGetAttribute)                                                                   \
	FN(cuModuleLoadData)                                                                       \
	FN(cuModuleUnload)                                                                         \
	FN(cuModuleGetFunction)                                                                    \
	FN(cuLaunchKernel)                                                                         \
	FN(cuMemAlloc_v2)                                                                          \
	FN(cuMemFree_v2)                                                                           \
	FN(cuMemHostAlloc)                                                                         \
	FN(cuMemFreeHost)                                                                          \
	FN(cuMemcpyHtoDAsync_v2)                                                                   \
	FN(cuMemcpyDtoHAsync_v2)                                                                   \
	FN(cuMemsetD8Async)                                                                        \
	FN(cuPointerGetAttribute)                                                                  \
	FN(cuStreamSynchronize)

struct hash_kernel_driver {
#define HASH_KERNEL_FIELD(name) __typeof__(&name) name;
	HASH_KERNEL_FUNCTIONS(HASH_KERNEL_FIELD)
#undef HASH_KERNEL_FIELD
};

/* Fills d by lookup (dlsym, say); false when one is missing. */
static inline bool hash_kernel_driver_fill(
	struct hash_kernel_driver *d, void *(*lookup)(void *arg, const char *name), void *arg)
{
	bool ok = true;

#define HASH_KERNEL_FILL(name)                                                                     \
	d->name = (__typeof__(d->name))(uintptr_t)lookup(arg, #name);                              \
	ok &= d->name != NULL;
	HASH_KERNEL_FUNCTIONS(HASH_KERNEL_FILL)
#undef HASH_KERNEL_FILL
	return ok;
}

enum hash_kernel_flags {
	HASH_KERNEL_ON_DEVICE = 1, /* on the software GPU too; for tests */
};

struct hash_kernel {
	const struct hash_kernel_driver *driver;
	CUmodule module;
	CUfunction hash, changed, gather, replace, settle;
	CUdeviceptr scratch;
	bool owns_scratch, on_host, software;
	unsigned blocks; /* of a launch */
	bool pinned;	 /* table is: copies to and from it need no staging of the driver's */
	void *table;	 /* HASH_KERNEL_SCRATCH bytes */
	size_t used;	 /* bytes of table and scratch that unfinished launches use */
};

/* In the current context. d must outlive h. scratch: HASH_KERNEL_SCRATCH bytes of device memory
 * that stay the caller's, aligned to 16, or 0: then they are allocated. Loads a module, which the
 * driver compiles where its machine code does not fit: tenths of a second. On failure nothing is
 * left. */
CUresult hash_kernel_open(struct hash_kernel *h, const struct hash_kernel_driver *d,
	CUdeviceptr scratch, unsigned flags);
void hash_kernel_close(struct hash_kernel *h);
/* The same after the context was destroyed, which freed all it had on the device. */
void hash_kernel_forget(struct hash_kernel *h);
/* out[i] = sbt_range_hash() of ranges[i], after all earlier work on the stream. One launch for
 * every 26,000 ranges. CUDA_ERROR_INVALID_VALUE for a range that is no device's memory is only
 * promised on the software GPU: elsewhere that is a fault, and the context lost. */
CUresult hash_kernel_ranges(struct hash_kernel *h, const struct hash_kernel_range *ranges, size_t n,
	struct sbt_hash *out, CUstream stream);
/* The same in two steps. begin does not wait. Call end after hash_kernel_wait(), for several begun
 * ones in any order; ranges and out belong to the caller and must live until then.
 * CUDA_ERROR_OUT_OF_MEMORY: there is no room beside what was begun; wait and end that first. 20,000
 * ranges always have room. Make no other calls in between: they use the same table. */
CUresult hash_kernel_ranges_begin(struct hash_kernel *h, const struct hash_kernel_range *ranges,
	uint32_t n, struct sbt_hash *out, CUstream stream, struct hash_kernel_begun *ret);
void hash_kernel_ranges_end(const struct hash_kernel_begun *b);
/* Launches the kernels that hash and gather once, on nothing, and waits: a kernel's first launch in
 * a context takes the driver tenths of a millisecond. */
CUresult hash_kernel_warm(struct hash_kernel *h, CUstream stream);
/* Waits until all that was begun on the stream is over, and frees its part of the table. */
CUresult hash_kernel_wait(struct hash_kernel *h, CUstream stream);
/* pages[i] = sbt_page_hash() of page i of the range; to host memory. */
CUresult hash_kernel_pages(struct hash_kernel *h, struct hash_kernel_range range,
	struct sbt_hash *pages, CUstream stream);
/* The same without waiting, of HASH_KERNEL_PAGES pages at most; hash_kernel_ranges_end() after
 * hash_kernel_wait(). Nothing else may be begun beside it. On the software GPU it waits for the
 * stream, unless that has no work. */
CUresult hash_kernel_pages_begin(struct hash_kernel *h, struct hash_kernel_range range,
	struct sbt_hash *pages, CUstream stream, struct hash_kernel_begun *ret);
/* The same into device memory (16 bytes for each page); does not wait. */
CUresult hash_kernel_pages_device(
	struct hash_kernel *h, struct hash_kernel_range range, CUdeviceptr pages, CUstream stream);
/* changed[i] = 1 when page i of n has another hash in now than in before (both as
 * hash_kernel_pages_device() left them), else 0; a byte each, device memory. Does not wait. */
CUresult hash_kernel_changed(struct hash_kernel *h, CUdeviceptr before, CUdeviceptr now, size_t n,
	CUdeviceptr changed, CUstream stream);

/* In [at, at + bytes), at aligned to 8: words of 8 bytes that are `from` become `to`, and so do the
 * last 4 to 7 bytes. With like != 0 single bytes do: those that are from's (by their place in the
 * word) where like's are to's. Does not wait. */
CUresult hash_kernel_replace(struct hash_kernel *h, CUdeviceptr at, uint64_t bytes,
	CUdeviceptr like, uint64_t from, uint64_t to, CUstream stream);

/* Hashes the rows' pages and does what todo (enum hash_kernel_todo) says with them, in one launch.
 * Does not wait. */
CUresult hash_kernel_settle(struct hash_kernel *h, const struct hash_kernel_settle *s,
	const struct hash_kernel_rows *rows, unsigned todo, CUstream stream);

/* Gathers pages of ranges: numbered on through all ranges, each of which begins and ends with a
 * page of its own, pages first to first + n - 1 go to packed, one every SBT_PAGE bytes; of the last
 * of a range only what it has. Does not wait, unless there is no room for its table:
 * hash_kernel_wait(). */
CUresult hash_kernel_gather_begin(struct hash_kernel *h, const struct hash_kernel_range *ranges,
	uint32_t nranges, uint64_t first, uint32_t n, CUdeviceptr packed, CUstream stream);

#endif
