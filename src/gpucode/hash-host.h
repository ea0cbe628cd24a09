/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of hash-kernel.h compute, done by the host: for software GPUs, whose memory is
 * this process's. The caller has waited for the stream, and has checked addresses unless said
 * otherwise.
 */
#ifndef GPUCODE_HASH_HOST_H
#define GPUCODE_HASH_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "gpucode/hash-rows.h"
#include "sbt/pagehash.h"

static inline void hash_host_pages(struct hash_kernel_range r, struct sbt_hash *pages)
{
	for (uint64_t at = 0; at < r.size; at += SBT_PAGE)
		pages[at / SBT_PAGE] = sbt_page_hash((const void *)(uintptr_t)(r.addr + at),
			r.size - at < SBT_PAGE ? r.size - at : SBT_PAGE);
}

static inline void hash_host_changed(uint64_t before, uint64_t now, size_t n, uint64_t changed)
{
	const struct sbt_hash *a = (const struct sbt_hash *)(uintptr_t)before,
			      *b = (const struct sbt_hash *)(uintptr_t)now;
	unsigned char *to = (unsigned char *)(uintptr_t)changed;

	for (size_t i = 0; i < n; i++)
		to[i] = !sbt_hash_equal(a[i], b[i]);
}

static inline void hash_host_replace(
	uint64_t at, uint64_t bytes, uint64_t like, uint64_t from, uint64_t to)
{
	unsigned char *p = (unsigned char *)(uintptr_t)at;
	const unsigned char *l = (const unsigned char *)(uintptr_t)like,
			    *f = (const unsigned char *)&from, *t = (const unsigned char *)&to;

	for (uint64_t i = 0; i < bytes; i += 8) {
		const size_t n = bytes - i < 8 ? bytes - i : 8;

		if (!l && n >= 4 && !memcmp(p + i, f, n))
			memcpy(p + i, t, n);
		for (size_t j = 0; l && j < n; j++)
			if (p[i + j] == f[j] && l[i + j] == t[j])
				p[i + j] = t[j];
	}
}

static inline void hash_host_settle_page(const struct hash_kernel_page *x, struct sbt_hash *copied,
	struct sbt_hash *first, uint32_t *mark, uint32_t page, unsigned todo)
{
	void *mem = (void *)(uintptr_t)x->mem, *copy = (void *)(uintptr_t)x->copy;
	const struct sbt_hash h = sbt_page_hash(mem, x->size);
	const bool other = !sbt_hash_equal(h, *copied);

	if ((todo & HASH_KERNEL_COMPARE && !sbt_hash_equal(h, *first)) ||
		(todo & HASH_KERNEL_EXPECT && other)) {
		mark[0]++;
		mark[1] = page + 1;
	}
	if (todo & HASH_KERNEL_NOTE)
		*first = h;
	if (other && todo & HASH_KERNEL_RESTORE)
		memcpy(mem, copy, x->size);
	if (other && todo & HASH_KERNEL_COMMIT) {
		memcpy(copy, mem, x->size);
		*copied = h;
	}
}

/* Asks of each page whether it is memory of the device; false: one is not, and nothing is done from
 * it on. */
static inline bool hash_host_settle(const struct hash_kernel_settle *s,
	const struct hash_kernel_rows *rows, unsigned todo,
	bool (*is_memory)(void *arg, uint64_t addr, uint64_t n), void *arg)
{
	const struct hash_kernel_page *table = (const struct hash_kernel_page *)(uintptr_t)s->table;
	struct sbt_hash *copied = (struct sbt_hash *)(uintptr_t)s->copied,
			*first = (struct sbt_hash *)(uintptr_t)s->first;
	uint64_t *took = (uint64_t *)(uintptr_t)s->took;
	struct timespec begin = {0}, end = {0};

	if (took)
		clock_gettime(CLOCK_MONOTONIC, &begin);
	for (uint32_t r = 0; r < rows->n; r++) {
		const uint32_t behind = r + 1 < rows->n ? rows->row[r + 1].before : rows->total;

		for (uint32_t i = rows->row[r].before; i < behind; i++) {
			const uint32_t p = rows->row[r].first + (i - rows->row[r].before);

			if (!is_memory(arg, table[p].mem, table[p].size))
				return false;
			hash_host_settle_page(&table[p], &copied[p], &first[p],
				(uint32_t *)(uintptr_t)s->mark, p, todo);
		}
	}
	if (took)
		clock_gettime(CLOCK_MONOTONIC, &end);
	if (took)
		took[2] += (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u +
			   (uint64_t)end.tv_nsec - (uint64_t)begin.tv_nsec;
	return true;
}

#endif
