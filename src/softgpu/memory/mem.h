/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's address space. A device address is an address of this process, so kernels,
 * copies and the host's own accesses to pinned and managed memory need no translation. Device
 * memory lives in one reserved region (from MEM_DEVICE_BASE, the lowest address the vendor's
 * allocator hands out; elsewhere when something is mapped there), committed on allocation. Looking
 * up is lock-free and may race with allocation; a range is given back only when no work that was
 * submitted before the free can still run.
 */
#ifndef SOFTGPU_MEM_H
#define SOFTGPU_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MEM_DEVICE_BASE /* builds with sanitizers have another one: their shadow lies from         \
			   0x7fff8000 to 0x10007fff8000 */
#define MEM_DEVICE_BASE 0x302000000ull
#endif
/* pinned and managed memory: lowest first from here, skipping mappings of the program */
#define MEM_HOST_BASE 0x200000000000ull
#define MEM_DEVICES 16 /* at most; device n's addresses begin n times 256 GiB after device 0's */

enum mem_kind { MEM_DEVICE, MEM_PINNED, MEM_MANAGED, MEM_REGISTERED, MEM_MODULE, MEM_MAPPED };

struct mem_range {
	uint64_t start, end; /* end: one past the last byte that was asked for */
	enum mem_kind kind;
	uint32_t ctx; /* owner, private to the driver */
	uint32_t flags;
	bool read_only;	  /* __constant__ data */
	uint8_t dev;	  /* whose memory it is; of host memory, of whoever allocated it */
	uint32_t devices; /* a bit for each device whose kernels may use it without peer access; 0:
			     all */
};

/* The live range that holds addr, or NULL. */
const struct mem_range *mem_find(uint64_t addr);
/* New memory. Device memory of up to 64 MiB is filled with 0xA5, so that uninitialised reads show
 * and give the same bits each run. At least 256 bytes of nothing follow every range. Returns NULL
 * when the device is full (TSDB_SOFT_MEMORY bytes, default 8 GiB, or the system's limit). */
const struct mem_range *mem_alloc(enum mem_kind kind, size_t size, size_t align, uint32_t ctx);
/* The same on a device other than the first. */
const struct mem_range *mem_alloc_on(
	unsigned dev, enum mem_kind kind, size_t size, size_t align, uint32_t ctx);
/* Fills the range with zeros. */
void mem_zero(const struct mem_range *r);
/* Lets kernels of these devices use it, too. */
void mem_allow(const struct mem_range *r, uint32_t devices);
/* Makes the program's own memory visible to kernels. NULL when it overlaps a live range. */
const struct mem_range *mem_register(void *p, size_t size, uint32_t ctx);
/* Frees the range that starts at addr; false when none does. */
bool mem_free(uint64_t addr);
/* Around work that may touch any memory: device memory that is freed meanwhile keeps its pages
 * until nothing of it runs any more, so a kernel that still uses it does not kill the process. */
void mem_busy_begin(void);
void mem_busy_end(void);
/* Changes with every free: what was looked up before must be looked up again. */
uint32_t mem_frees(void);
/* Whether the byte was device memory that was freed while work that is still running ran. */
bool mem_was_freed(uint64_t addr);
/* Frees everything that a context still owns, when it is destroyed. */
void mem_free_owner(uint32_t ctx);
/* Sets the flags, which are the driver's, and read_only. */
void mem_set_flags(const struct mem_range *r, uint32_t flags, bool read_only);
/* A small number of the range, unique among the live ones. */
uint64_t mem_range_id(const struct mem_range *r);
/* Virtual memory management: device addresses without memory, multiples of 4096. At hint when all
 * of [hint, hint + size) is free, else at the lowest place. More may be reserved than there is
 * memory. */
bool mem_va_reserve(uint64_t hint, uint64_t size, uint64_t align, uint64_t *ret);
/* Gives back reserved addresses, where nothing may be mapped any more. */
void mem_va_release(uint64_t start, uint64_t size);
/* Memory without an address that can be used: a handle for mem_va_map(). It counts as used; zeros
 * at first. NULL when the device is full. No file descriptor: a program may have thousands of
 * these. Mappings of freed pages live on. */
void *mem_pages_new(unsigned dev, uint64_t size);
/* The same of a file's pages, which other processes may map, too. */
void *mem_pages_of(unsigned dev, uint64_t size, int fd);
void mem_pages_free(unsigned dev, void *pages, uint64_t size);
/* The first size bytes of pages at reserved addresses, as often as wanted; a new MEM_MAPPED range,
 * or NULL. */
const struct mem_range *mem_va_map(
	uint64_t start, uint64_t size, void *pages, bool read_only, unsigned dev, uint32_t devices);
/* The same of memory that begins offset bytes into the pages: a range of part bytes at start +
 * offset. */
const struct mem_range *mem_va_map_part(uint64_t start, uint64_t size, void *pages, uint64_t offset,
	uint64_t part, bool read_only, unsigned dev, uint32_t devices);
/* For other processes: the blocks that r lies in become pages of a file, with whatever else is in
 * them; r is *ret_offset into the *ret_bytes of it. The descriptor stays ours. Nothing may run that
 * uses them. False when it cannot be: a part of the blocks is in another file already. */
bool mem_export(const struct mem_range *r, int *ret_fd, uint64_t *ret_bytes, uint64_t *ret_offset);
/* Removes the range that starts here; its addresses stay reserved. */
bool mem_va_unmap(uint64_t start);
size_t mem_total(void); /* of each device */
size_t mem_used(unsigned dev);
/* TSDB_SOFT_DEVICES, 1 when it is not there. */
unsigned mem_devices(void);

#endif
