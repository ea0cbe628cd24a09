/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of other processes (cuIpc*MemHandle). Exporting moves the blocks that an allocation lies
 * in into a file; the handle names the process and its descriptor, and a process that opens it maps
 * the same pages. Surprise: a handle is good only while the exporting process lives. Event handles
 * are not supported: marks are no shared memory.
 */
#include "softgpu/driver/drv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HANDLE_MAGIC 0x43504953u /* "SIPC" */

struct handle {
	uint32_t magic;
	int32_t pid, fd;
	uint32_t dev;
	uint64_t bytes, offset, size; /* of the file; of the allocation in it */
};
_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "handle");

static struct opened {
	struct opened *next;
	uint64_t ptr, start, bytes;
	void *pages;
	unsigned refs;
	struct handle handle;
} * all;

DRV_DEFINE(2, cuIpcGetMemHandle, CUipcMemHandle *, pHandle, CUdeviceptr, dptr)
{
	const struct mem_range *r = mem_find(dptr);
	struct handle h = {.magic = HANDLE_MAGIC, .pid = getpid()};
	struct ctx *c;
	int fd;

	TRY_CU(ctx_current(&c));
	REQUIRE(pHandle && r && r->kind == MEM_DEVICE);
	ctx_drain_all();
	if (!mem_export(r, &fd, &h.bytes, &h.offset))
		return CUDA_ERROR_OUT_OF_MEMORY;
	h.fd = fd;
	h.dev = r->dev;
	h.size = r->end - r->start;
	memset(pHandle, 0, sizeof(*pHandle));
	memcpy(pHandle, &h, sizeof(h));
	return CUDA_SUCCESS;
}

/* The file's pages, checked against what the handle says of it. */
static void *map_file(const struct handle *h)
{
	char path[64];
	struct stat st;
	void *p = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == h->bytes)
		p = mmap(NULL, h->bytes, PROT_NONE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static CUresult open_new(const struct handle *h, int dev, struct opened *o)
{
	*o = (struct opened){.handle = *h, .bytes = h->bytes, .refs = 1, .pages = map_file(h)};
	if (!o->pages)
		return CUDA_ERROR_MAP_FAILED;
	if (mem_va_reserve(0, h->bytes, 2u << 20, &o->start)) {
		if (mem_va_map_part(o->start, h->bytes, o->pages, h->offset, h->size, false,
			    (unsigned)dev, 0)) {
			o->ptr = o->start + h->offset;
			return CUDA_SUCCESS;
		}
		mem_va_release(o->start, h->bytes);
	}
	munmap(o->pages, h->bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static struct opened *find(const struct handle *h)
{
	struct opened *o = all;

	while (o && memcmp(&o->handle, h, sizeof(*h)))
		o = o->next;
	return o;
}

DRV_DEFINE(
	3, cuIpcOpenMemHandle_v2, CUdeviceptr *, pdptr, CUipcMemHandle, handle, unsigned int, Flags)
{
	CUresult r = CUDA_SUCCESS;
	struct handle h;
	struct opened *o;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	memcpy(&h, &handle, sizeof(h));
	REQUIRE(pdptr && Flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	REQUIRE(h.magic == HANDLE_MAGIC && h.bytes && h.bytes % 4096 == 0 && h.offset < h.bytes &&
		h.size && h.size <= h.bytes - h.offset);
	if (h.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT; /* as the vendor's driver says */
	pthread_mutex_lock(&drv_lock);
	o = find(&h);
	if (o) {
		o->refs++;
	} else {
		o = malloc(sizeof(*o));
		r = o ? open_new(&h, c->dev, o) : CUDA_ERROR_OUT_OF_MEMORY;
		if (r == CUDA_SUCCESS) {
			o->next = all;
			all = o;
		} else {
			free(o);
		}
	}
	if (r == CUDA_SUCCESS)
		*pdptr = o->ptr;
	pthread_mutex_unlock(&drv_lock);
	return r;
}

DRV_DEFINE(1, cuIpcCloseMemHandle, CUdeviceptr, dptr)
{
	struct opened **at = &all, *o;
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	ctx_drain_all();
	pthread_mutex_lock(&drv_lock);
	while (*at && (*at)->ptr != dptr)
		at = &(*at)->next;
	o = *at;
	if (o && !--o->refs) {
		*at = o->next;
		mem_va_unmap(o->ptr);
		mem_va_release(o->start, o->bytes);
		munmap(o->pages, o->bytes);
		free(o);
	}
	pthread_mutex_unlock(&drv_lock);
	return o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* CUDA 4.1's, as cuIpcOpenMemHandle_v2 is. */
DRV_DEFINE(3, cuIpcOpenMemHandle, CUdeviceptr *, pdptr, CUipcMemHandle, handle, unsigned int, Flags)
{
	return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}
