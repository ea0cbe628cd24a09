/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads mappings from the kernel, see mapped.h. It uses an event that never happens
 * (PERF_COUNT_SW_DUMMY), with which the kernel also reports mappings; one on each processor,
 * because only such rings can be inherited by children and threads. The rings are read when needed:
 * mappings that do not fit are lost, but that happens only to a program that lives long.
 */
#include "observe/bpf/mapped.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buf.h"

#define RING_PAGES 16u /* a power of two; about 500 mappings */
#define MAPPINGS_MAX 65536u

/* PERF_RECORD_MMAP and PERF_RECORD_COMM with their header (perf_event_open(2)); the time is the
 * last word of each. */
struct mmap_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char path[];
};
struct comm_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	char comm[];
};

struct told {
	uint64_t time;
	bool exec; /* exec: earlier mappings no longer exist */
	struct mapped_area area;
};

struct mapped {
	pid_t pid;
	size_t page;
	struct ring {
		int fd;
		struct perf_event_mmap_page *head;
	} * rings;
	unsigned nrings;
	struct told *told;
	size_t ntold, captold;
};

static bool open_ring(struct mapped *m, int cpu)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof a,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.inherit = 1,
		.mmap = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &a, m->pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *p;

	if (fd < 0)
		return false;
	p = mmap(NULL, (1 + RING_PAGES) * m->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return false;
	}
	m->rings = xrealloc(m->rings, (m->nrings + 1) * sizeof *m->rings);
	m->rings[m->nrings++] = (struct ring){fd, p};
	return true;
}

struct mapped *mapped_open(pid_t pid)
{
	struct mapped *m = xcalloc(1, sizeof *m);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	m->pid = pid;
	m->page = (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; cpu < cpus; cpu++)
		(void)open_ring(m, cpu); /* one that is off has none */
	if (m->nrings)
		return m;
	mapped_close(m);
	return NULL;
}

void mapped_close(struct mapped *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->nrings; i++) {
		munmap(m->rings[i].head, (1 + RING_PAGES) * m->page);
		close(m->rings[i].fd);
	}
	for (size_t i = 0; i < m->ntold; i++)
		free(m->told[i].area.path);
	free(m->told);
	free(m->rings);
	free(m);
}

/* --- reading --- */

static void keep(struct mapped *m, const struct told *t)
{
	if (m->ntold == MAPPINGS_MAX)
		return;
	MAKE_ROOM(m->told, m->ntold, m->captold);
	m->told[m->ntold++] = *t;
}

/* One whole record, aligned, of n bytes, its header with it. */
static void take(struct mapped *m, const void *record, size_t n)
{
	const struct perf_event_header *h = record;
	const struct mmap_record *map = record;
	const struct comm_record *comm = record;
	struct told t = {0};

	if (n < sizeof *comm + sizeof t.time || comm->pid != (uint32_t)m->pid)
		return;
	memcpy(&t.time, (const char *)record + n - sizeof t.time, sizeof t.time);
	t.exec = h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC;
	if (h->type == PERF_RECORD_MMAP && n > sizeof *map + sizeof t.time && map->len &&
		map->addr + map->len > map->addr) {
		t.area = (struct mapped_area){map->addr, map->addr + map->len, map->pgoff, NULL};
		t.area.path = xasprintf("%.*s", (int)(n - sizeof *map - sizeof t.time), map->path);
	}
	if (t.exec || t.area.path)
		keep(m, &t);
}

static void copy_out(const struct mapped *m, const struct ring *r, uint64_t at, void *dst, size_t n)
{
	const size_t size = RING_PAGES * m->page, from = at % size,
		     first = n < size - from ? n : size - from;
	const char *data = (const char *)r->head + m->page;

	memcpy(dst, data + from, first);
	memcpy((char *)dst + first, data, n - first);
}

static void read_ring(struct mapped *m, struct ring *r)
{
	/* Pairs with the kernel's barrier before it stores data_head (perf_event_open(2), "MMAP
	 * layout"). */
	const uint64_t end = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->head->data_tail;
	struct perf_event_header h;
	uint64_t record[UINT16_MAX / 8 + 1]; /* the header's size has 16 bits */

	while (end - at >= sizeof h) {
		copy_out(m, r, at, &h, sizeof h);
		if (h.size < sizeof h || h.size > end - at)
			break;
		copy_out(m, r, at, record, h.size);
		take(m, record, h.size);
		at += h.size;
	}
	__atomic_store_n(&r->head->data_tail, end, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void mapped_each(struct mapped *m, void (*fn)(void *arg, const struct mapped_area *a), void *arg)
{
	size_t first = 0;

	for (unsigned i = 0; i < m->nrings; i++)
		read_ring(m, &m->rings[i]);
	if (m->ntold)
		qsort(m->told, m->ntold, sizeof *m->told, by_time);
	for (size_t i = 0; i < m->ntold; i++)
		first = m->told[i].exec ? i + 1 : first;
	for (size_t i = first; i < m->ntold; i++)
		if (m->told[i].area.path)
			fn(arg, &m->told[i].area);
}
