/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's memory, behind src/replayer/backend.h: allocated, placed at chosen addresses, copied,
 * filled, hashed.
 */
#include "replayer/backend-cuda/cuda-driver.h"

/* --- allocating --- */

struct gpu_result cuda_mem_alloc(uint64_t *ret, size_t size)
{
	CUdeviceptr at = 0;
	const CUresult r = CU.cuMemAlloc_v2(&at, size);

	*ret = at;
	return cuda_result(r, "cuMemAlloc");
}

struct gpu_result cuda_mem_free(uint64_t addr)
{
	return cuda_result(CU.cuMemFree_v2(addr), "cuMemFree");
}

struct gpu_result cuda_mem_info(size_t *ret_free, size_t *ret_total)
{
	return cuda_result(CU.cuMemGetInfo_v2(ret_free, ret_total), "cuMemGetInfo");
}

struct gpu_result cuda_host_alloc(void **ret, size_t size)
{
	return cuda_result(CU.cuMemHostAlloc(ret, size, 0), "cuMemHostAlloc");
}

struct gpu_result cuda_host_free(void *p)
{
	return cuda_result(CU.cuMemFreeHost(p), "cuMemFreeHost");
}

struct gpu_result cuda_host_register(void *p, size_t size, uint64_t *ret)
{
	CUdeviceptr there = 0;
	CUresult r = CU.cuMemHostRegister_v2(
		p, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

	if (r)
		return cuda_result(r, "cuMemHostRegister");
	r = CU.cuMemHostGetDevicePointer_v2(&there, p, 0);
	*ret = there;
	return cuda_result(r, "cuMemHostGetDevicePointer");
}

#define DEVICES 16u /* of one window, at most */

/* --- at chosen addresses --- */

static CUmemAllocationProp properties(int device, bool host)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {
			.type = host ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE,
			.id = host ? 0 : device}};
}

struct gpu_result cuda_mem_grain(size_t *ret, int device)
{
	const CUmemAllocationProp prop = properties(device, false);

	return cuda_result(
		CU.cuMemGetAllocationGranularity(ret, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
		"cuMemGetAllocationGranularity");
}

struct gpu_result cuda_mem_reserve(uint64_t *ret, uint64_t addr, size_t size)
{
	CUdeviceptr got = 0;
	const CUresult r = CU.cuMemAddressReserve(&got, size, 0, addr, 0);

	*ret = got;
	return cuda_result(r, "cuMemAddressReserve");
}

struct gpu_result cuda_mem_unreserve(uint64_t addr, size_t size)
{
	return cuda_result(CU.cuMemAddressFree(addr, size), "cuMemAddressFree");
}

struct gpu_result cuda_mem_map(
	uint64_t addr, size_t size, int device, bool host, const int *devices, unsigned n)
{
	const CUmemAllocationProp prop = properties(device, host);
	CUmemAccessDesc access[DEVICES + 1];
	CUmemGenericAllocationHandle h;

	BUG_ON(n > DEVICES);
	for (unsigned i = 0; i < n; i++)
		access[i] = (CUmemAccessDesc){
			properties(devices[i], false).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	if (host)
		access[n++] = (CUmemAccessDesc){prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUresult r = CU.cuMemCreate(&h, size, &prop, 0);

	if (r)
		return cuda_result(r, "cuMemCreate");
	r = CU.cuMemMap(addr, size, 0, h, 0);
	(void)CU.cuMemRelease(h); /* the mapping keeps it */
	if (r)
		return cuda_result(r, "cuMemMap");
	return cuda_result(CU.cuMemSetAccess(addr, size, access, n), "cuMemSetAccess");
}

/* --- copies and fills --- */

struct gpu_result cuda_copy_to_device(uint64_t dst, const void *src, size_t n, struct gpu_stream *s)
{
	return cuda_result(CU.cuMemcpyHtoDAsync_v2(dst, src, n, (CUstream)s), "cuMemcpyHtoDAsync");
}

struct gpu_result cuda_copy_to_host(void *dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	return cuda_result(CU.cuMemcpyDtoHAsync_v2(dst, src, n, (CUstream)s), "cuMemcpyDtoHAsync");
}

struct gpu_result cuda_copy_on_device(uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	return cuda_result(CU.cuMemcpyDtoDAsync_v2(dst, src, n, (CUstream)s), "cuMemcpyDtoDAsync");
}

struct gpu_result cuda_copy(uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s)
{
	return cuda_result(CU.cuMemcpyAsync(dst, src, n, (CUstream)s), "cuMemcpyAsync");
}

/* The driver computes a slice's place from pitch and height: settled rows have a slice of whole
 * rows. */
static size_t rows_a_slice(const struct sbt_rows *r)
{
	return r->depth > 1 ? r->slice / r->pitch : r->height;
}

CUDA_MEMCPY3D cuda_copy_of(const struct gpu_rows *dst, const struct gpu_rows *src)
{
	CUDA_MEMCPY3D m = {.WidthInBytes = dst->rows.width,
		.Height = dst->rows.height,
		.Depth = dst->rows.depth,
		.dstMemoryType = dst->on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.srcMemoryType = src->on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.dstPitch = dst->rows.pitch,
		.dstHeight = rows_a_slice(&dst->rows),
		.srcPitch = src->rows.pitch,
		.srcHeight = rows_a_slice(&src->rows)};

	if (dst->on_device)
		m.dstDevice = dst->here;
	else
		m.dstHost = (void *)(uintptr_t)dst->here;
	if (src->on_device)
		m.srcDevice = src->here;
	else
		m.srcHost = (const void *)(uintptr_t)src->here;
	return m;
}

struct gpu_result cuda_copy_rows(
	const struct gpu_rows *dst, const struct gpu_rows *src, struct gpu_stream *s)
{
	const CUDA_MEMCPY3D m = cuda_copy_of(dst, src);

	return cuda_result(CU.cuMemcpy3DAsync_v2(&m, (CUstream)s), "cuMemcpy3DAsync");
}

struct gpu_result cuda_fill(
	uint64_t dst, unsigned elem, unsigned value, size_t n, struct gpu_stream *s)
{
	if (elem == 1)
		return cuda_result(CU.cuMemsetD8Async(dst, (unsigned char)value, n, (CUstream)s),
			"cuMemsetD8Async");
	if (elem == 2)
		return cuda_result(
			CU.cuMemsetD16Async(dst, (unsigned short)value, n / 2, (CUstream)s),
			"cuMemsetD16Async");
	return cuda_result(CU.cuMemsetD32Async(dst, value, n / 4, (CUstream)s), "cuMemsetD32Async");
}

struct gpu_result cuda_fill_rows(
	uint64_t dst, const struct sbt_rows *r, unsigned elem, unsigned value, struct gpu_stream *s)
{
	const size_t width = r->width / elem;

	if (elem == 1)
		return cuda_result(CU.cuMemsetD2D8Async(dst, r->pitch, (unsigned char)value, width,
					   r->height, (CUstream)s),
			"cuMemsetD2D8Async");
	if (elem == 2)
		return cuda_result(CU.cuMemsetD2D16Async(dst, r->pitch, (unsigned short)value,
					   width, r->height, (CUstream)s),
			"cuMemsetD2D16Async");
	return cuda_result(
		CU.cuMemsetD2D32Async(dst, r->pitch, value, width, r->height, (CUstream)s),
		"cuMemsetD2D32Async");
}

/* --- hashes --- */

static struct hash_kernel hash;

struct gpu_result cuda_hash_open(void)
{
	return cuda_result(
		hash_kernel_open(&hash, &cuda_tables.hash, 0, 0), "loading the hash kernel");
}

bool cuda_hash_on_host(void)
{
	return hash.on_host;
}

struct gpu_result cuda_hash_ranges(const struct hash_kernel_range *ranges, size_t n,
	struct sbt_hash *ret, struct gpu_stream *s)
{
	return cuda_result(hash_kernel_ranges(&hash, ranges, n, ret, (CUstream)s), "hashing");
}

struct gpu_result cuda_hash_pages(
	struct hash_kernel_range range, struct sbt_hash *ret, struct gpu_stream *s)
{
	return cuda_result(hash_kernel_pages(&hash, range, ret, (CUstream)s), "hashing");
}

struct gpu_result cuda_hash_changed(
	uint64_t before, uint64_t now, size_t n, uint64_t changed, struct gpu_stream *s)
{
	return cuda_result(hash_kernel_changed(&hash, before, now, n, changed, (CUstream)s),
		"comparing on the device");
}

struct gpu_result cuda_hash_replace(uint64_t at, uint64_t bytes, uint64_t like, uint64_t from,
	uint64_t to, struct gpu_stream *s)
{
	return cuda_result(hash_kernel_replace(&hash, at, bytes, like, from, to, (CUstream)s),
		"comparing on the device");
}

struct gpu_result cuda_hash_settle(const struct hash_kernel_settle *on,
	const struct hash_kernel_rows *rows, unsigned todo, struct gpu_stream *s)
{
	return cuda_result(
		hash_kernel_settle(&hash, on, rows, todo, (CUstream)s), "comparing on the device");
}
