/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's driver as core/driver.h asks it: the kernels that hash memory (gpucode/hash-kernel.h).
 */
#include "capture/cuda/driver-cuda.h"

#include <dlfcn.h>
#include "gpucode/hash-kernel.h"

#define S(handle) ((CUstream)(uintptr_t)(handle))

struct driver_hasher {
	struct hash_kernel kernel;
	bool used;
};

static struct {
	struct spin lock;
	struct driver_hasher of[DRIVER_HASHERS];
	bool filled, complete;
	struct hash_kernel_driver functions;
} hashers;

static void *look_up(void *arg, const char *name)
{
	(void)arg;
	return dlsym(cuda.lib, name);
}

static struct driver_hasher *free_slot(void)
{
	struct driver_hasher *h = NULL;
	spin_lock(&hashers.lock);
	if (!hashers.filled) {
		hashers.filled = true;
		hashers.complete =
			cuda.lib && hash_kernel_driver_fill(&hashers.functions, look_up, NULL);
	}
	for (unsigned i = 0; i < DRIVER_HASHERS && hashers.complete && !h; i++)
		if (!hashers.of[i].used)
			h = &hashers.of[i];
	if (h)
		h->used = true;
	spin_unlock(&hashers.lock);
	return h;
}

static void give_slot_back(struct driver_hasher *h)
{
	spin_lock(&hashers.lock);
	*h = (struct driver_hasher){.used = false};
	spin_unlock(&hashers.lock);
}

struct driver_hasher *cuda_hash_open(uint64_t s)
{
	struct driver_hasher *h = free_slot();
	if (h && OWN(hash_kernel_open(&h->kernel, &hashers.functions, 0, 0))) {
		give_slot_back(h);
		return NULL;
	}
	if (h)
		(void)OWN(hash_kernel_warm(&h->kernel, S(s)));
	return h;
}

void cuda_hash_close(struct driver_hasher *h)
{
	OWN((hash_kernel_close(&h->kernel), 0));
	give_slot_back(h);
}

void cuda_hash_forget(struct driver_hasher *h)
{
	hash_kernel_forget(&h->kernel);
	give_slot_back(h);
}

struct driver_result cuda_hash_pages_begin(struct driver_hasher *h, struct hash_kernel_range r,
	struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	return cuda_result(OWN(hash_kernel_pages_begin(&h->kernel, r, ret, S(s), b)));
}

struct driver_result cuda_hash_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t n, struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	return cuda_result(OWN(hash_kernel_ranges_begin(&h->kernel, r, n, ret, S(s), b)));
}

void cuda_hash_end(const struct hash_kernel_begun *b)
{
	hash_kernel_ranges_end(b);
}

struct driver_result cuda_hash_wait(struct driver_hasher *h, uint64_t s)
{
	return cuda_result(OWN(hash_kernel_wait(&h->kernel, S(s))));
}

struct driver_result cuda_gather_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t nranges, uint64_t first, uint32_t n, uint64_t packed, uint64_t s)
{
	return cuda_result(
		OWN(hash_kernel_gather_begin(&h->kernel, r, nranges, first, n, packed, S(s))));
}
