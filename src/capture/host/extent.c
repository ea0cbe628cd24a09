/* SPDX-License-Identifier: Apache-2.0
 *
 * Extents of host memory; see extent.h. The surprising thing: the process reads itself by a system
 * call, which answers EFAULT where a load would kill the program with the agent on its stack. By
 * process_vm_writev(2) and not process_vm_readv(2): the kernel looks up each page of the remote
 * side, so that is our buffer, and copies the local side as it lies there, at more than twice the
 * speed. A sandbox may forbid that call: then the bytes go through a pipe, which answers alike.
 */
#include "capture/host/extent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "capture/pipeline/crew.h"

#define PIPE_BYTES 65536u

/* At least one page fits into an empty pipe. No descriptor stays open: programs close those that
 * they do not know. */
static ssize_t read_by_pipe(uint64_t addr, void *dst, size_t n)
{
	int end[2];
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK))
		return -1;
	ssize_t got = write(end[1], (const void *)(uintptr_t)addr, n < PIPE_BYTES ? n : PIPE_BYTES);
	if (got > 0)
		got = read(end[0], dst, (size_t)got);
	close(end[0]);
	close(end[1]);
	return got;
}

static ssize_t read_some(uint64_t addr, void *dst, size_t n)
{
	const ssize_t got = process_vm_writev(getpid(), &(struct iovec){(void *)(uintptr_t)addr, n},
		1, &(struct iovec){dst, n}, 1, 0);
	return got < 0 && (errno == ENOSYS || errno == EPERM) ? read_by_pipe(addr, dst, n) : got;
}

bool host_read(uint64_t addr, void *dst, size_t n)
{
	while (n) {
		const ssize_t got = read_some(addr, dst, n);
		if (got <= 0)
			return false;
		dst = (uint8_t *)dst + got;
		addr += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

/* Reads the part of row r (at offset `row` of the extent) that is in [offset, offset + n). */
static bool read_row(
	const struct sbt_rows *e, uint64_t row, uint64_t offset, uint8_t *dst, size_t n)
{
	const uint64_t from = row > offset ? row : offset;
	const uint64_t to = row + e->width < offset + n ? row + e->width : offset + n;
	return from >= to || host_read(e->addr + from, dst + (from - offset), to - from);
}

bool extent_read(void *arg, uint64_t offset, void *dst, size_t n)
{
	const struct sbt_rows *e = arg;
	if (e->height == 1 && e->depth == 1)
		return host_read(e->addr + offset, dst, n);
	memset(dst, 0, n);
	for (uint64_t z = e->depth > 1 && e->slice ? offset / e->slice : 0;
		z < e->depth && z * e->slice < offset + n; z++) {
		const uint64_t base = z * e->slice;
		uint64_t y = e->pitch && offset > base ? (offset - base) / e->pitch : 0;
		for (; y < e->height && base + y * e->pitch < offset + n; y++)
			if (!read_row(e, base + y * e->pitch, offset, dst, n))
				return false;
	}
	return true;
}

/* --- hashing --- */

struct shared {
	uint64_t addr, size;
	_Atomic uint64_t half[2];
	_Atomic uint32_t failed;
};

/* The pages of part i of the range, CREW_ROOM bytes. Pages may be added in any order. */
static void hash_part(void *arg, uint64_t i, uint8_t *room)
{
	struct shared *s = arg;
	const uint64_t at = i * CREW_ROOM;
	const size_t n = s->size - at < CREW_ROOM ? s->size - at : CREW_ROOM;
	struct sbt_hash sum = {{0, 0}};
	if (!host_read(s->addr + at, room, n)) {
		atomic_store(&s->failed, 1);
		return;
	}
	for (size_t k = 0; k < n; k += SBT_PAGE)
		sbt_range_hash_add(&sum, (at + k) / SBT_PAGE,
			sbt_page_hash(room + k, n - k < SBT_PAGE ? n - k : SBT_PAGE));
	atomic_fetch_add(&s->half[0], sum.half[0]);
	atomic_fetch_add(&s->half[1], sum.half[1]);
}

/* False: it was not done. */
static bool hash_by_crew(const struct sbt_rows *e, uint64_t size, struct sbt_hash *ret)
{
	struct shared s = {.addr = e->addr, .size = size};
	if (e->height != 1 || e->depth != 1 || size < CREW_WORTH ||
		!crew_do(hash_part, &s, (size + CREW_ROOM - 1) / CREW_ROOM) ||
		atomic_load(&s.failed))
		return false;
	*ret = (struct sbt_hash){{atomic_load(&s.half[0]), atomic_load(&s.half[1])}};
	sbt_range_hash_end(ret, size);
	return true;
}

bool extent_hash(struct sbt_rows *e, uint8_t *page, struct sbt_hash *ret)
{
	const uint64_t size = sbt_rows_size(e);
	if (hash_by_crew(e, size, ret))
		return true;
	*ret = (struct sbt_hash){{0, 0}};
	for (uint64_t at = 0; at < size; at += SBT_PAGE) {
		const size_t n = size - at < SBT_PAGE ? size - at : SBT_PAGE;
		if (!extent_read(e, at, page, n))
			return false;
		sbt_range_hash_add(ret, at / SBT_PAGE, sbt_page_hash(page, n));
	}
	sbt_range_hash_end(ret, size);
	return true;
}
