/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's memory, behind src/replayer/backend.h: allocated, placed at chosen addresses; copied,
 * filled and hashed by the host, once the stream has done what came before. Waiting for a stream
 * always ends: whatever it waits for was submitted before.
 */
#include "replayer/backend-hip/hip-driver.h"

#include <string.h>
#include <sys/mman.h>
#include "base/checked.h"
#include "gpucode/hash-host.h"

#define GRAIN 4096u

static const struct gpu_result good = {GPU_OK, 0, "memory"};

bool hip_is_memory(uint64_t addr, uint64_t n)
{
	uint64_t end, start, size;

	if (ckd_add(&end, addr, n))
		return false;
	while (addr < end) {
		if (hip_tables.range(addr, &start, &size) || start + size <= addr)
			return false;
		addr = start + size;
	}
	return true;
}

/* --- allocating --- */

struct gpu_result hip_mem_alloc(uint64_t *ret, size_t size)
{
	void *p = NULL;
	const hipError_t r = HIP.hipMalloc(&p, size);

	*ret = (uintptr_t)p;
	return hip_result(r, "hipMalloc");
}

struct gpu_result hip_mem_free(uint64_t addr)
{
	return hip_result(HIP.hipFree((void *)(uintptr_t)addr), "hipFree");
}

struct gpu_result hip_mem_info(size_t *ret_free, size_t *ret_total)
{
	return hip_result(HIP.hipMemGetInfo(ret_free, ret_total), "hipMemGetInfo");
}

struct gpu_result hip_host_alloc(void **ret, size_t size)
{
	return hip_result(HIP.hipHostMalloc(ret, size, 0), "hipHostMalloc");
}

struct gpu_result hip_host_free(void *p)
{
	return hip_result(HIP.hipHostFree(p), "hipHostFree");
}

struct gpu_result hip_host_register(void *p, size_t size, uint64_t *ret)
{
	void *there = NULL;
	hipError_t r =
		HIP.hipHostRegister(p, size, hipHostRegisterPortable | hipHostRegisterMapped);

	if (r)
		return hip_result(r, "hipHostRegister");
	r = HIP.hipHostGetDevicePointer(&there, p, 0);
	*ret = (uintptr_t)there;
	return hip_result(r, "hipHostGetDevicePointer");
}

/* --- at chosen addresses --- */

struct gpu_result hip_mem_grain(size_t *ret, int device)
{
	(void)device;
	*ret = GRAIN;
	return good;
}

/* Nothing else comes to lie there. */
struct gpu_result hip_mem_reserve(uint64_t *ret, uint64_t addr, size_t size)
{
	void *const want = (void *)(uintptr_t)addr;
	void *p = mmap(want, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return hip_refused("mmap");
	*ret = (uintptr_t)p;
	return good;
}

struct gpu_result hip_mem_unreserve(uint64_t addr, size_t size)
{
	return munmap((void *)(uintptr_t)addr, size) ? hip_refused("munmap") : good;
}

struct gpu_result hip_mem_map(
	uint64_t addr, size_t size, int device, bool host, const int *devices, unsigned n)
{
	void *p = NULL;
	hipError_t r;

	(void)device, (void)devices;
	if (host || n != 1)
		return hip_refused("memory of several devices at chosen addresses");
	if (munmap((void *)(uintptr_t)addr, size) || hip_tables.place(addr, size))
		return hip_refused("placing memory");
	r = HIP.hipMalloc(&p, size);
	(void)hip_tables.place(0, 0);
	if (r)
		return hip_result(r, "hipMalloc");
	if (p == (void *)(uintptr_t)addr)
		return good;
	(void)HIP.hipFree(p);
	return hip_refused("placing memory");
}

/* --- copies and fills --- */

struct gpu_result hip_copy_to_device(uint64_t dst, const void *src, size_t n, struct gpu_stream *s)
{
	return hip_copy(dst, (uintptr_t)src, n, s);
}

struct gpu_result hip_copy_to_host(void *dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	return hip_copy((uintptr_t)dst, src, n, s);
}

struct gpu_result hip_copy_on_device(uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	return hip_copy(dst, src, n, s);
}

struct gpu_result hip_copy(uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (!r.status)
		memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, n);
	return r;
}

struct gpu_result hip_copy_rows(
	const struct gpu_rows *dst, const struct gpu_rows *src, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	for (uint64_t z = 0; !r.status && z < dst->rows.depth; z++)
		for (uint64_t y = 0; y < dst->rows.height; y++)
			memmove((char *)(uintptr_t)dst->here + z * dst->rows.slice +
					y * dst->rows.pitch,
				(const char *)(uintptr_t)src->here + z * src->rows.slice +
					y * src->rows.pitch,
				dst->rows.width);
	return r;
}

static void fill_with(uint64_t dst, unsigned elem, unsigned value, size_t n)
{
	char *to = (char *)(uintptr_t)dst;

	if (elem == 1)
		memset(to, (int)(unsigned char)value, n);
	for (size_t i = 0; elem > 1 && i + elem <= n; i += elem)
		memcpy(to + i, &value, elem); /* the low bytes come first */
}

struct gpu_result hip_fill(
	uint64_t dst, unsigned elem, unsigned value, size_t n, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (!r.status)
		fill_with(dst, elem, value, n);
	return r;
}

struct gpu_result hip_fill_rows(uint64_t dst, const struct sbt_rows *rows, unsigned elem,
	unsigned value, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	for (uint64_t y = 0; !r.status && y < rows->height; y++)
		fill_with(dst + y * rows->pitch, elem, value, rows->width);
	return r;
}

/* --- hashes --- */

struct gpu_result hip_hash_open(void)
{
	return good;
}

bool hip_hash_on_host(void)
{
	return true;
}

struct gpu_result hip_hash_ranges(const struct hash_kernel_range *ranges, size_t n,
	struct sbt_hash *ret, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	for (size_t i = 0; !r.status && i < n; i++) {
		if (!hip_is_memory(ranges[i].addr, ranges[i].size))
			return hip_refused("hashing");
		ret[i] = sbt_range_hash((const void *)(uintptr_t)ranges[i].addr, ranges[i].size);
	}
	return r;
}

struct gpu_result hip_hash_pages(
	struct hash_kernel_range range, struct sbt_hash *ret, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (r.status || !hip_is_memory(range.addr, range.size))
		return r.status ? r : hip_refused("hashing");
	hash_host_pages(range, ret);
	return r;
}

struct gpu_result hip_hash_changed(
	uint64_t before, uint64_t now, size_t n, uint64_t changed, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (!r.status)
		hash_host_changed(before, now, n, changed);
	return r;
}

struct gpu_result hip_hash_replace(uint64_t at, uint64_t bytes, uint64_t like, uint64_t from,
	uint64_t to, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (r.status || !hip_is_memory(at, bytes) || (like && !hip_is_memory(like, bytes)))
		return r.status ? r : hip_refused("comparing on the device");
	hash_host_replace(at, bytes, like, from, to);
	return r;
}

static bool is_memory(void *arg, uint64_t addr, uint64_t n)
{
	(void)arg;
	return hip_is_memory(addr, n);
}

struct gpu_result hip_hash_settle(const struct hash_kernel_settle *on,
	const struct hash_kernel_rows *rows, unsigned todo, struct gpu_stream *s)
{
	const struct gpu_result r = hip_reached(s);

	if (!r.status && !hash_host_settle(on, rows, todo, is_memory, NULL))
		return hip_refused("comparing on the device");
	return r;
}
