/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory: one memory for host and devices, so advice moves nothing, but it is remembered,
 * for programs that ask. Advice is kept by ranges of addresses, newest last; a question about bytes
 * that were advised differently has no one answer.
 */
#include "softgpu/driver/drv.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE (-2)	      /* CU_DEVICE_INVALID */
#define MAX_ADVICE (1u << 16) /* entries */

/* What one call said about [start, end). */
struct advice {
	uint64_t start, end;
	CUmem_advise what; /* or PREFETCH */
	CUmemLocation where;
};
#define PREFETCH ((CUmem_advise)100)

static struct advice *list; /* guarded by drv_lock */
static unsigned n, room;

void managed_forget(uint64_t start, uint64_t end)
{
	unsigned i, k = 0;

	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n; i++)
		if (list[i].end <= start || list[i].start >= end)
			list[k++] = list[i];
	n = k;
	pthread_mutex_unlock(&drv_lock);
}

static bool is_about_access(CUmem_advise what)
{
	return what == CU_MEM_ADVISE_SET_ACCESSED_BY || what == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

static int device_of(const struct advice *a)
{
	return !a					      ? NOWHERE
	       : a->where.type == CU_MEM_LOCATION_TYPE_DEVICE ? a->where.id
							      : CU_DEVICE_CPU;
}

/* Which entries a new one makes void when it covers them: what is set and taken back are numbers
 * side by side; who accesses it is a matter of each device. */
static bool same_matter(const struct advice *a, const struct advice *b)
{
	if (a->what == PREFETCH || b->what == PREFETCH)
		return a->what == b->what;
	return (a->what - 1) / 2 == (b->what - 1) / 2 &&
	       (!is_about_access(a->what) || device_of(a) == device_of(b));
}

static CUresult remember(uint64_t start, size_t size, CUmem_advise what, CUmemLocation where)
{
	struct advice a = {start, start + size, what, where};
	CUresult r = CUDA_SUCCESS;
	unsigned i, k = 0;

	pthread_mutex_lock(&drv_lock);
	for (i = 0; i < n; i++)
		if (!same_matter(&list[i], &a) || list[i].start < a.start || list[i].end > a.end)
			list[k++] = list[i];
	n = k;
	if (n == room) {
		unsigned more = room ? 2 * room : 64;
		struct advice *p = more <= MAX_ADVICE ? realloc(list, more * sizeof(*p)) : NULL;

		if (!p)
			r = CUDA_ERROR_OUT_OF_MEMORY;
		else
			list = p, room = more;
	}
	if (r == CUDA_SUCCESS)
		list[n++] = a;
	pthread_mutex_unlock(&drv_lock);
	return r;
}

static CUresult check(CUdeviceptr addr, size_t size)
{
	const struct mem_range *r = mem_covers(addr, size);
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	REQUIRE(size && r && r->kind == MEM_MANAGED);
	return CUDA_SUCCESS;
}

CUresult location_check(const CUmemLocation *l)
{
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_check(l->id);
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The older calls say device numbers, -1 for the host. */
static CUmemLocation old_location(CUdevice dev)
{
	return dev == CU_DEVICE_CPU
		       ? (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}
		       : (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev};
}

static CUresult advise(CUdeviceptr addr, size_t size, CUmem_advise what, CUmemLocation where)
{
	TRY_CU(check(addr, size));
	REQUIRE(what >= CU_MEM_ADVISE_SET_READ_MOSTLY && what <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
	if (what != CU_MEM_ADVISE_SET_READ_MOSTLY && what != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
		what != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
		TRY_CU(location_check(&where));
	return remember(addr, size, what, where);
}

DRV_DEFINE(
	4, cuMemAdvise, CUdeviceptr, devPtr, size_t, count, CUmem_advise, advice, CUdevice, device)
{
	return advise(devPtr, count, advice, old_location(device));
}

DRV_DEFINE(4, cuMemAdvise_v2, CUdeviceptr, devPtr, size_t, count, CUmem_advise, advice,
	CUmemLocation, location)
{
	return advise(devPtr, count, advice, location);
}

static CUresult prefetch(CUdeviceptr addr, size_t size, CUmemLocation where, CUstream h, bool ptds)
{
	struct stream *s;

	TRY_CU(check(addr, size));
	TRY_CU(location_check(&where));
	TRY_CU(stream_resolve(h, ptds, &s));
	return remember(addr, size, PREFETCH, where);
}

DRV_STREAM(4, cuMemPrefetchAsync, _ptsz, CUdeviceptr, devPtr, size_t, count, CUdevice, dstDevice,
	CUstream, hStream)
{
	return prefetch(devPtr, count, old_location(dstDevice), hStream, ptds);
}

DRV_STREAM(5, cuMemPrefetchAsync_v2, _ptsz, CUdeviceptr, devPtr, size_t, count, CUmemLocation,
	location, unsigned int, flags, CUstream, hStream)
{
	REQUIRE(!flags);
	return prefetch(devPtr, count, location, hStream, ptds);
}

/* --- questions --- */

/* The last entry of the matter that covers all of [start, end); NULL when none does, or when a
 * later one covers a part. */
static const struct advice *last(uint64_t start, uint64_t end, CUmem_advise set, CUmem_advise unset)
{
	unsigned i;

	for (i = n; i-- > 0;) {
		const struct advice *a = &list[i];

		if ((a->what != set && a->what != unset) || a->end <= start || a->start >= end)
			continue;
		return a->what == set && a->start <= start && a->end >= end ? a : NULL;
	}
	return NULL;
}

static CUmemLocationType type_of(const struct advice *a)
{
	return a ? a->where.type : CU_MEM_LOCATION_TYPE_INVALID;
}

static void accessed_by(uint64_t start, uint64_t end, int *ret, size_t want)
{
	size_t k = 0, m;
	unsigned i;

	for (i = 0; i < n && k < want; i++) {
		const struct advice *a = &list[i];
		int d = device_of(a);
		bool on = a->what == CU_MEM_ADVISE_SET_ACCESSED_BY && a->start <= start &&
			  a->end >= end;

		for (unsigned j = i + 1; on && j < n; j++) /* taken back later, or said again */
			on = !(is_about_access(list[j].what) && device_of(&list[j]) == d &&
				list[j].start < end && list[j].end > start);
		if (on)
			ret[k++] = d;
	}
	for (m = k; m < want; m++)
		ret[m] = NOWHERE;
}

static CUresult answer(
	void *data, size_t size, CUmem_range_attribute what, uint64_t start, uint64_t end)
{
	const struct advice *home = last(start, end, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
		CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION);
	const struct advice *fetched = last(start, end, PREFETCH, PREFETCH);

	REQUIRE(data && size >= 4 && !(size % 4) &&
		(size == 4 || what == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY));
	switch (what) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*(int *)data = last(start, end, CU_MEM_ADVISE_SET_READ_MOSTLY,
				       CU_MEM_ADVISE_UNSET_READ_MOSTLY) != NULL;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*(int *)data = device_of(home);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		accessed_by(start, end, data, size / 4);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*(int *)data = device_of(fetched);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*(CUmemLocationType *)data = type_of(home);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*(int *)data = home ? home->where.id : 0;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*(CUmemLocationType *)data = type_of(fetched);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*(int *)data = fetched ? fetched->where.id : 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult ask(
	void *data, size_t size, CUmem_range_attribute what, CUdeviceptr addr, size_t count)
{
	CUresult r;

	TRY_CU(check(addr, count));
	pthread_mutex_lock(&drv_lock);
	r = answer(data, size, what, addr, addr + count);
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(5, cuMemRangeGetAttribute, void *, data, size_t, dataSize, CUmem_range_attribute,
	attribute, CUdeviceptr, devPtr, size_t, count)
{
	return ask(data, dataSize, attribute, devPtr, count);
}

DRV_DEFINE(6, cuMemRangeGetAttributes, void **, data, size_t *, dataSizes, CUmem_range_attribute *,
	attributes, size_t, numAttributes, CUdeviceptr, devPtr, size_t, count)
{
	size_t i;

	REQUIRE(data && dataSizes && attributes && numAttributes);
	for (i = 0; i < numAttributes; i++)
		TRY_CU(ask(data[i], dataSizes[i], attributes[i], devPtr, count));
	return CUDA_SUCCESS;
}
