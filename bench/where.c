/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a command, and all that it starts, spends its processor time: a small sampling profiler,
 * since machines with GPUs often have none. A line for each place: "samples thread-name file
 * offset"; an offset is that within the file, "?" is a file that is not known.
 *   where FILE [-F SAMPLES-PER-SECOND] -- COMMAND ...
 * It uses perf_event_open(2) with the processor's clock, user space only; a ring for each
 * processor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, RING_PAGES = 64, CPUS_MAX = 512, PATH_BYTES = 256, COMM_BYTES = 16 };

struct ring {
	int fd;
	struct perf_event_mmap_page *head;
	uint8_t *data;
};
struct mapping {
	uint32_t pid;
	uint64_t addr, len, offset;
	char path[PATH_BYTES];
};
struct name {
	uint32_t tid;
	char comm[COMM_BYTES];
};
struct sample {
	uint64_t offset;
	char comm[COMM_BYTES];
	const char *path;
};

static struct ring ring[CPUS_MAX];
static unsigned nrings;
static struct mapping **mapping;
static size_t nmappings;
static struct name *name;
static size_t nnames;
static struct sample *sample;
static size_t nsamples;
static uint64_t lost;

static void *more(void *p, size_t n, size_t size)
{
	if (n & (n - 1))
		return p;
	p = realloc(p, (n ? 2 * n : 1) * size);
	if (!p) {
		perror("where");
		exit(1);
	}
	return p;
}

static const char *comm_of(uint32_t tid)
{
	for (size_t i = nnames; i-- > 0;)
		if (name[i].tid == tid)
			return name[i].comm;
	return "?";
}

static void add_sample(uint32_t pid, uint32_t tid, uint64_t ip)
{
	struct sample s = {.offset = ip, .path = "?"};

	snprintf(s.comm, sizeof(s.comm), "%s", comm_of(tid));
	for (size_t i = nmappings; i-- > 0;) {
		const struct mapping *m = mapping[i];

		if (m->pid != pid || ip - m->addr >= m->len)
			continue;
		s.path = m->path;
		s.offset = ip - m->addr + m->offset;
		break;
	}
	sample = more(sample, nsamples, sizeof(*sample));
	sample[nsamples++] = s;
}

static void add_mapping(
	uint32_t pid, uint64_t addr, uint64_t len, uint64_t offset, const char *path)
{
	struct mapping *m = calloc(1, sizeof(*m));

	if (!m)
		return;
	*m = (struct mapping){.pid = pid, .addr = addr, .len = len, .offset = offset};
	snprintf(m->path, sizeof(m->path), "%s", path);
	mapping = more(mapping, nmappings, sizeof(struct mapping *));
	mapping[nmappings++] = m;
}

static void add_name(uint32_t tid, const char *comm)
{
	name = more(name, nnames, sizeof(*name));
	name[nnames].tid = tid;
	snprintf(name[nnames++].comm, COMM_BYTES, "%s", comm);
}

/* A forked process begins with its parent's mappings. */
static void forked(uint32_t pid, uint32_t parent, uint32_t tid, uint32_t parent_tid)
{
	const size_t n = nmappings;
	char comm[COMM_BYTES];

	snprintf(comm, sizeof(comm), "%s", comm_of(parent_tid));
	add_name(tid, comm);
	for (size_t i = 0; pid != parent && i < n; i++)
		if (mapping[i]->pid == parent)
			add_mapping(pid, mapping[i]->addr, mapping[i]->len, mapping[i]->offset,
				mapping[i]->path);
}

/* Layouts: perf_event_open(2), "MMAP layout"; nothing that would change them is asked for. */
static void take(const struct perf_event_header *h)
{
	const uint8_t *at = (const uint8_t *)(h + 1);
	uint32_t w[4];
	uint64_t q[3];

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		memcpy(q, at, 8);
		memcpy(w, at + 8, 8);
		add_sample(w[0], w[1], q[0]);
		break;
	case PERF_RECORD_MMAP:
		memcpy(w, at, 8);
		memcpy(q, at + 8, 24);
		add_mapping(w[0], q[0], q[1], q[2], (const char *)at + 32);
		break;
	case PERF_RECORD_COMM:
		memcpy(w, at, 8);
		add_name(w[1], (const char *)at + 8);
		break;
	case PERF_RECORD_FORK:
		memcpy(w, at, 16);
		forked(w[0], w[1], w[2], w[3]);
		break;
	case PERF_RECORD_LOST:
		memcpy(q, at, 16);
		lost += q[1];
		break;
	default:
		break;
	}
}

static void drain(struct ring *r)
{
	static _Alignas(8) uint8_t copy[65536];
	const uint64_t size = (uint64_t)RING_PAGES * PAGE,
		       head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->head->data_tail;

	while (tail < head) {
		struct perf_event_header h;

		for (unsigned i = 0; i < sizeof(h); i++)
			((uint8_t *)&h)[i] = r->data[(tail + i) % size];
		if (h.size < sizeof(h))
			break;
		for (unsigned i = 0; i < h.size; i++)
			copy[i] = r->data[(tail + i) % size];
		take((const struct perf_event_header *)(const void *)copy);
		tail += h.size;
	}
	__atomic_store_n(&r->head->data_tail, tail, __ATOMIC_RELEASE);
}

static bool open_ring(pid_t pid, int cpu, unsigned frequency)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / frequency,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1};
	struct ring *r = &ring[nrings];
	void *p;

	r->fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return errno == ENODEV; /* a processor that is off */
	p = mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return false;
	r->head = p;
	r->data = (uint8_t *)p + PAGE;
	nrings++;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int d = strcmp(x->comm, y->comm);

	if (!d)
		d = strcmp(x->path, y->path);
	return d ? d : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void write_all(FILE *f)
{
	if (nsamples)
		qsort(sample, nsamples, sizeof(*sample), by_place);
	for (size_t i = 0, n; i < nsamples; i += n) {
		for (n = 1; i + n < nsamples && !by_place(&sample[i], &sample[i + n]); n++)
			;
		for (char *c = sample[i].comm; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		fprintf(f, "%zu %s %s %llx\n", n, sample[i].comm, sample[i].path,
			(unsigned long long)sample[i].offset);
	}
	if (lost)
		fprintf(stderr, "where: %llu samples were lost\n", (unsigned long long)lost);
}

static int watch(pid_t pid, FILE *f)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		for (unsigned i = 0; i < nrings; i++)
			drain(&ring[i]);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	for (unsigned i = 0; i < nrings; i++)
		drain(&ring[i]);
	write_all(f);
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	unsigned frequency = 997;
	int at = 2, go[2];
	FILE *f;
	pid_t pid;
	char byte;

	if (argc > 4 && !strcmp(argv[2], "-F")) {
		frequency = (unsigned)atoi(argv[3]);
		at = 4;
	}
	if (argc < at + 2 || strcmp(argv[at], "--") != 0 || !frequency || pipe2(go, O_CLOEXEC) ||
		!(f = fopen(argv[1], "we"))) {
		fprintf(stderr, "Usage: where FILE [-F N] -- COMMAND ...\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		close(go[1]);
		(void)!read(go[0], &byte, 1);
		execvp(argv[at + 1], argv + at + 1);
		perror(argv[at + 1]);
		_exit(127);
	}
	for (int cpu = 0; pid > 0 && cpu < sysconf(_SC_NPROCESSORS_CONF) && cpu < CPUS_MAX; cpu++)
		if (!open_ring(pid, cpu, frequency)) {
			perror("where: perf_event_open");
			kill(pid, SIGKILL);
			return 2;
		}
	close(go[1]);
	return watch(pid, f);
}
