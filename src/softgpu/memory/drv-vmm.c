/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management: addresses, memory and the mapping of one onto the other as separate
 * things. Memory is shared pages, so it keeps its contents wherever it is mapped, and two mappings
 * of it are the same memory. A mapping becomes visible to kernels and copies when cuMemSetAccess
 * allows access. Memory with a POSIX file descriptor as its shareable handle is a memfd; a process
 * that imports the descriptor has the same pages. Answers to wrong arguments are those of driver
 * 580.159 on an H200, where it survives them (a handle that does not exist kills it).
 */
#include "softgpu/driver/drv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20) /* what the vendor's devices answer */
#define POPULATE_WRITE 23	      /* MADV_POPULATE_WRITE */
#define SHAREABLE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

struct memory {
	struct memory *next;
	CUmemGenericAllocationHandle id;
	CUmemAllocationProp prop;
	size_t size;
	void *pages;
	unsigned refs; /* the handle's, and one for each mapping */
	unsigned handles;
	int fd; /* of the pages; -1: they are this process's alone */
};

struct mapping {
	struct mapping *next;
	uint64_t start;
	size_t size;
	struct memory *memory;
	CUmemAccess_flags access; /* of all devices that have any */
	uint32_t devices;
};

struct reservation {
	struct reservation *next;
	uint64_t start;
	size_t size;
};

/* All guarded by drv_lock. */
static struct memory *memories;
static struct mapping *mappings;
static struct reservation *reservations;
static CUmemGenericAllocationHandle last_id;

static bool aligned(uint64_t n)
{
	return n % GRANULARITY == 0;
}

/* --- addresses --- */

DRV_DEFINE(5, cuMemAddressReserve, CUdeviceptr *, ptr, size_t, size, size_t, alignment, CUdeviceptr,
	addr, unsigned long long, flags)
{
	struct reservation *r;
	uint64_t at;

	REQUIRE(ptr && size && aligned(size) && aligned(addr) && !flags &&
		!(alignment & (alignment - 1)));
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!mem_va_reserve(addr, size, alignment > GRANULARITY ? alignment : GRANULARITY, &at)) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->start = at;
	r->size = size;
	pthread_mutex_lock(&drv_lock);
	r->next = reservations;
	reservations = r;
	pthread_mutex_unlock(&drv_lock);
	*ptr = at;
	return CUDA_SUCCESS;
}

/* Caller holds drv_lock. */
static bool any_mapping(uint64_t start, size_t size)
{
	struct mapping *m;

	for (m = mappings; m; m = m->next)
		if (m->start < start + size && start < m->start + m->size)
			return true;
	return false;
}

DRV_DEFINE(2, cuMemAddressFree, CUdeviceptr, ptr, size_t, size)
{
	struct reservation **at = &reservations, *r;

	pthread_mutex_lock(&drv_lock);
	while (*at && (*at)->start != ptr)
		at = &(*at)->next;
	r = *at;
	if (!r || r->size != size || any_mapping(ptr, size)) {
		pthread_mutex_unlock(&drv_lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*at = r->next;
	pthread_mutex_unlock(&drv_lock);
	mem_va_release(r->start, r->size);
	free(r);
	return CUDA_SUCCESS;
}

/* --- memory --- */

static struct memory *find(CUmemGenericAllocationHandle id)
{
	struct memory *m;

	for (m = memories; m && (m->id != id || !m->handles); m = m->next)
		;
	return m;
}

static void memory_unref(struct memory *m)
{
	struct memory **at = &memories;

	if (--m->refs)
		return;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	mem_pages_free((unsigned)m->prop.location.id, m->pages, m->size);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	REQUIRE(prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED);
	REQUIRE(prop->location.type >= CU_MEM_LOCATION_TYPE_DEVICE &&
		prop->location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		(unsigned)prop->requestedHandleTypes & ~(unsigned)SHAREABLE) {
		drv_say("cuMemCreate: only device memory without shareable handles, or with file "
			"descriptors, is supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return device_check(prop->location.id);
}

/* Takes fd; -1: memory of this process alone. fill: the file has no pages yet. They are taken now,
 * as a device does (page by page takes far longer), once it is known that the device has as much.
 */
static CUresult memory_new(CUmemGenericAllocationHandle *ret, size_t size,
	const CUmemAllocationProp *prop, int fd, bool fill)
{
	const unsigned dev = (unsigned)prop->location.id;
	struct memory *m = calloc(1, sizeof(*m));

	if (m)
		*m = (struct memory){.prop = *prop,
			.size = size,
			.refs = 1,
			.handles = 1,
			.fd = fd,
			.pages = mem_pages_of(dev, size, fd)};
	if (m && m->pages && fill && posix_fallocate(fd, 0, (off_t)size)) {
		mem_pages_free(dev, m->pages, size);
		m->pages = NULL;
	}
	if (!m || !m->pages) {
		free(m);
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&drv_lock);
	m->id = *ret = ++last_id;
	m->next = memories;
	memories = m;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuMemCreate, CUmemGenericAllocationHandle *, handle, size_t, size,
	const CUmemAllocationProp *, prop, unsigned long long, flags)
{
	int fd = -1;

	REQUIRE(handle && size && aligned(size) && !flags);
	TRY_CU(check_prop(prop));
	if (prop->requestedHandleTypes == SHAREABLE) {
		fd = memfd_create("tsdb-soft-memory", MFD_CLOEXEC);
		if (fd < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return memory_new(handle, size, prop, fd, fd >= 0);
}

/* A new descriptor, which the caller passes on and closes. */
DRV_DEFINE(4, cuMemExportToShareableHandle, void *, shareableHandle, CUmemGenericAllocationHandle,
	handle, CUmemAllocationHandleType, handleType, unsigned long long, flags)
{
	struct memory *m;
	int fd = -1;

	REQUIRE(shareableHandle && handleType == SHAREABLE && !flags);
	pthread_mutex_lock(&drv_lock);
	m = find(handle);
	if (m && m->fd >= 0)
		fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&drv_lock);
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(shareableHandle, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

/* The descriptor stays the caller's. The device does not matter: all of them use this machine's
 * memory. */
DRV_DEFINE(3, cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *, handle, void *,
	osHandle, CUmemAllocationHandleType, shHandleType)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = SHAREABLE,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	struct stat st;
	int fd;

	REQUIRE(handle && shHandleType == SHAREABLE);
	fd = fcntl((int)(intptr_t)osHandle, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
		!aligned((uint64_t)st.st_size)) {
		close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return memory_new(handle, (size_t)st.st_size, &prop, fd, false);
}

DRV_DEFINE(1, cuMemRelease, CUmemGenericAllocationHandle, handle)
{
	struct memory *m;

	pthread_mutex_lock(&drv_lock);
	m = find(handle);
	if (m) {
		m->handles--;
		memory_unref(m);
	}
	pthread_mutex_unlock(&drv_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRV_DEFINE(3, cuMemGetAllocationGranularity, size_t *, granularity, const CUmemAllocationProp *,
	prop, CUmemAllocationGranularity_flags, option)
{
	REQUIRE(granularity && (unsigned)option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	TRY_CU(check_prop(prop));
	*granularity = GRANULARITY;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuMemGetAllocationPropertiesFromHandle, CUmemAllocationProp *, prop,
	CUmemGenericAllocationHandle, handle)
{
	struct memory *m;

	REQUIRE(prop);
	pthread_mutex_lock(&drv_lock);
	m = find(handle);
	if (m)
		*prop = m->prop;
	pthread_mutex_unlock(&drv_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRV_DEFINE(2, cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *, handle, void *, addr)
{
	struct mapping *m;

	REQUIRE(handle);
	pthread_mutex_lock(&drv_lock);
	for (m = mappings; m && (uint64_t)addr - m->start >= m->size; m = m->next)
		;
	if (m) {
		m->memory->refs++;
		m->memory->handles++;
		*handle = m->memory->id;
	}
	pthread_mutex_unlock(&drv_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- mapping --- */

/* Caller holds drv_lock. */
static bool reserved(uint64_t start, size_t size)
{
	struct reservation *r;

	for (r = reservations; r; r = r->next)
		if (start >= r->start && start - r->start < r->size &&
			size <= r->size - (start - r->start))
			return true;
	return false;
}

DRV_DEFINE(5, cuMemMap, CUdeviceptr, ptr, size_t, size, size_t, offset,
	CUmemGenericAllocationHandle, handle, unsigned long long, flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct memory *m;
	struct mapping *x;

	REQUIRE(size && aligned(ptr) && aligned(size) && aligned(offset) && !flags);
	x = calloc(1, sizeof(*x));
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&drv_lock);
	m = find(handle);
	if (m && (offset || size != m->size)) {
		r = CUDA_ERROR_NOT_SUPPORTED; /* a part of the memory */
	} else if (m && reserved(ptr, size) && !any_mapping(ptr, size)) {
		*x = (struct mapping){.next = mappings, .start = ptr, .size = size, .memory = m};
		m->refs++;
		mappings = x;
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&drv_lock);
	if (r != CUDA_SUCCESS)
		free(x);
	return r;
}

struct vmm_span vmm_reservation(uint64_t addr)
{
	struct vmm_span ret = {0, 0};
	struct reservation *r;

	pthread_mutex_lock(&drv_lock);
	for (r = reservations; r && addr - r->start >= r->size; r = r->next)
		;
	if (r)
		ret = (struct vmm_span){r->start, r->size};
	pthread_mutex_unlock(&drv_lock);
	return ret;
}

/* Whether a mapping lies across a bound of [start, start + size). Caller holds drv_lock. */
static bool cuts(uint64_t start, size_t size)
{
	const uint64_t end = start + size;
	struct mapping *m;

	for (m = mappings; m; m = m->next)
		if ((m->start < start && m->start + m->size > start) ||
			(m->start < end && m->start + m->size > end))
			return true;
	return false;
}

/* Whether whole mappings fill [start, start + size). Caller holds drv_lock. */
static bool filled(uint64_t start, size_t size)
{
	struct mapping *m;
	size_t n = 0;

	for (m = mappings; m; m = m->next)
		if (m->start >= start && m->start + m->size <= start + size)
			n += m->size;
	return size && n == size;
}

DRV_DEFINE(2, cuMemUnmap, CUdeviceptr, ptr, size_t, size)
{
	struct mapping **at = &mappings;

	ctx_drain_all();
	pthread_mutex_lock(&drv_lock);
	if (!size || !reserved(ptr, size) ||
		cuts(ptr, size)) { /* parts without a mapping are fine */
		pthread_mutex_unlock(&drv_lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	while (*at) {
		struct mapping *m = *at;

		if (m->start < ptr || m->start + m->size > ptr + size) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		mem_va_unmap(m->start);
		memory_unref(m->memory);
		free(m);
	}
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

/* Whether [start, start + size) holds a mapping whose access is taken away or changed. */
static bool restricts(uint64_t start, size_t size, CUmemAccess_flags access)
{
	struct mapping *m;
	bool ret = false;

	pthread_mutex_lock(&drv_lock);
	for (m = mappings; m && !ret; m = m->next)
		ret = m->start >= start && m->start - start < size &&
		      m->access != CU_MEM_ACCESS_FLAGS_PROT_NONE && m->access != access;
	pthread_mutex_unlock(&drv_lock);
	return ret;
}

/* Caller holds drv_lock. */
static bool set_access(struct mapping *m, CUmemAccess_flags access, int dev)
{
	uint32_t devices = access == CU_MEM_ACCESS_FLAGS_PROT_NONE ? m->devices & ~(1u << dev)
								   : m->devices | 1u << dev;

	if (!devices != (access == CU_MEM_ACCESS_FLAGS_PROT_NONE))
		access = m->access; /* one device's access goes, others keep theirs */
	if (m->access == access && m->devices == devices)
		return true;
	mem_va_unmap(m->start);
	m->access = access;
	m->devices = devices;
	if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
		return true;
	if (!mem_va_map(m->start, m->size, m->memory->pages,
		    access == CU_MEM_ACCESS_FLAGS_PROT_READ, (unsigned)m->memory->prop.location.id,
		    devices))
		return false;
	if (m->memory->fd >=
		0) /* before Linux 5.14: an error, and they are mapped when they are used */
		(void)madvise((void *)m->start, m->size, POPULATE_WRITE);
	return true;
}

DRV_DEFINE(4, cuMemSetAccess, CUdeviceptr, ptr, size_t, size, const CUmemAccessDesc *, desc, size_t,
	count)
{
	CUresult r = CUDA_SUCCESS;
	struct mapping *m;
	size_t i;

	REQUIRE(desc && count);
	for (i = 0; i < count; i++) {
		REQUIRE(desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
		TRY_CU(device_check(desc[i].location.id));
		REQUIRE(desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
			desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
			desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	}
	if (restricts(ptr, size, desc[count - 1].flags))
		ctx_drain_all();
	pthread_mutex_lock(&drv_lock);
	if (!filled(ptr, size))
		r = CUDA_ERROR_INVALID_VALUE;
	for (m = mappings; m && r == CUDA_SUCCESS; m = m->next)
		for (i = 0; i < count && m->start >= ptr && m->start + m->size <= ptr + size; i++)
			if (!set_access(m, desc[i].flags, desc[i].location.id))
				r = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(3, cuMemGetAccess, unsigned long long *, flags, const CUmemLocation *, location,
	CUdeviceptr, ptr)
{
	struct mapping *m;

	REQUIRE(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
	TRY_CU(device_check(location->id));
	pthread_mutex_lock(&drv_lock);
	for (m = mappings; m && ptr - m->start >= m->size; m = m->next)
		;
	if (m)
		*flags = (unsigned long long)(m->devices >> location->id & 1
						      ? m->access
						      : CU_MEM_ACCESS_FLAGS_PROT_NONE);
	pthread_mutex_unlock(&drv_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
