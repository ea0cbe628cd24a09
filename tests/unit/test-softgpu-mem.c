/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's address space against a model: thousands of random allocations, reservations
 * and mappings, each checked for place, alignment and overlap, and every lookup against a list. A
 * second thread looks up all the while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/memory/mem.h"
#include "locks-held.h"

#define MAX 400
#define STEPS 30000
#define PAGE 4096u
#define GRANULE ((uint64_t)2 << 20)

enum what { NOTHING, ALLOCATED, REGISTERED, RESERVED, MAPPED };
static struct model {
	enum what what;
	enum mem_kind kind;
	uint64_t start, size;
	void *pages;
	uint8_t mark;
} all[MAX];
static uint64_t seed = 1;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static bool overlap(const struct model *a, uint64_t start, uint64_t size)
{
	return a->what && a->start < start + size && start < a->start + a->size;
}

static void check_place(const struct model *m)
{
	for (unsigned i = 0; i < MAX; i++)
		if (&all[i] != m)
			assert_false(overlap(&all[i], m->start, m->size));
}

static const struct model *model_find(uint64_t a)
{
	for (unsigned i = 0; i < MAX; i++)
		if (all[i].what && all[i].what != RESERVED && a - all[i].start < all[i].size)
			return &all[i];
	return NULL;
}

static void check_find(uint64_t a)
{
	const struct model *m = model_find(a);
	const struct mem_range *r = mem_find(a);

	assert_true(!m == !r);
	if (m) {
		assert_true(r->start == m->start && r->end == m->start + m->size);
		assert_int_equal(r->kind, m->kind);
	}
}

/* First and last byte, so that memory given to two would show. */
static void mark(struct model *m)
{
	m->mark = (uint8_t)rnd(256);
	*(volatile uint8_t *)m->start = m->mark;
	*(volatile uint8_t *)(m->start + m->size - 1) = m->mark;
}

static void check_mark(const struct model *m)
{
	assert_int_equal(*(volatile uint8_t *)m->start, m->mark);
	assert_int_equal(*(volatile uint8_t *)(m->start + m->size - 1), m->mark);
}

static void do_alloc(struct model *m)
{
	static const enum mem_kind kinds[] = {
		MEM_DEVICE, MEM_DEVICE, MEM_DEVICE, MEM_PINNED, MEM_MANAGED, MEM_MODULE};
	uint64_t size = 1 + rnd(rnd(4) ? 5000 : 300000), align = rnd(3) ? 0 : 1ull << rnd(17);
	enum mem_kind kind = kinds[rnd(6)];
	const struct mem_range *r;

	if (kind == MEM_PINNED || kind == MEM_MANAGED)
		align = 0;
	r = mem_alloc(kind, size, align, 1 + (uint32_t)rnd(2));
	assert_non_null(r);
	*m = (struct model){.what = ALLOCATED, .kind = kind, .start = r->start, .size = size};
	assert_int_equal(r->start % (align > 256 ? align : 256), 0);
	assert_int_equal(r->end, r->start + size);
	check_place(m);
	if (kind == MEM_DEVICE)
		assert_int_equal(*(volatile uint8_t *)r->start, 0xA5);
	mark(m);
}

static void do_reserve(struct model *m)
{
	uint64_t size = GRANULE * (1 + rnd(8)), hint = 0, got;

	if (rnd(2)) /* somewhere: free, taken, or outside the window */
		hint = rnd(2) ? MEM_DEVICE_BASE + GRANULE * rnd(64)
			      : (1ull << 44) + GRANULE * rnd(1u << 20);
	assert_true(mem_va_reserve(hint, size, GRANULE, &got));
	assert_int_equal(got % GRANULE, 0);
	*m = (struct model){.what = RESERVED, .start = got, .size = size};
	check_place(m);
	if (hint >= 1ull << 44 && hint != got) { /* only when it is taken */
		bool taken = false;

		for (unsigned i = 0; i < MAX; i++)
			taken |= &all[i] != m && overlap(&all[i], hint, size);
		assert_true(taken);
	}
}

static void do_map(struct model *m)
{
	const struct mem_range *r;

	m->pages = mem_pages_new(0, m->size);
	assert_non_null(m->pages);
	r = mem_va_map(m->start, m->size, m->pages, false, 0, 0);
	assert_non_null(r);
	m->what = MAPPED;
	m->kind = MEM_MAPPED;
	assert_int_equal(*(volatile uint8_t *)m->start, 0);
	mark(m);
}

static void let_go(struct model *m)
{
	switch (m->what) {
	case ALLOCATED:
		check_mark(m);
		assert_true(mem_free(m->start));
		assert_false(mem_free(m->start));
		break;
	case REGISTERED:
		check_mark(m);
		assert_true(mem_free(m->start));
		free((void *)m->start);
		break;
	case MAPPED:
		check_mark(m);
		assert_true(mem_va_unmap(m->start));
		mem_pages_free(0, m->pages, m->size);
		m->what = RESERVED;
		if (rnd(2))
			return;
		/* fall through */
	case RESERVED:
		mem_va_release(m->start, m->size);
		break;
	default:
		break;
	}
	m->what = NOTHING;
}

static void do_register(struct model *m)
{
	uint64_t size = 1 + rnd(10000);
	uint8_t *p = malloc(size);

	assert_non_null(p);
	assert_non_null(mem_register(p, size, 1));
	assert_null(mem_register(p + size - 1, 1, 1));
	*m = (struct model){
		.what = REGISTERED, .kind = MEM_REGISTERED, .start = (uint64_t)p, .size = size};
	mark(m);
}

static void step(struct model *m)
{
	if (m->what == RESERVED && rnd(2))
		do_map(m);
	else if (m->what)
		let_go(m);
	else if (!rnd(6))
		do_reserve(m);
	else if (!rnd(6))
		do_register(m);
	else
		do_alloc(m);
}

static _Atomic uint64_t probe;
static _Atomic bool ending;

/* What stays allocated is found at every moment, whatever changes around it. */
static void *look(void *arg)
{
	const struct model *fixed = arg;
	uint64_t missed = 0;

	while (!ending) {
		const struct mem_range *r = mem_find(fixed->start + 5);

		missed += !r || r->start != fixed->start || r->end != fixed->start + fixed->size;
		(void)mem_find(probe);
	}
	return (void *)missed;
}

static void test_model(void **state)
{
	struct model *fixed = &all[0];
	size_t used = mem_used(0);
	pthread_t looker;
	void *missed;

	do_alloc(fixed);
	assert_int_equal(pthread_create(&looker, NULL, look, fixed), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		struct model *m = &all[1 + rnd(MAX - 1)];

		step(m);
		probe = m->start + rnd(m->size + 600);
		check_find(probe);
		check_find(m->start - 1);
		check_find(m->start + m->size);
	}
	ending = true;
	pthread_join(looker, &missed);
	assert_null(missed);
	for (unsigned i = 0; i < MAX; i++)
		while (all[i].what)
			let_go(&all[i]);
	assert_int_equal(mem_used(0), used);
}

/* Two owners' memory; what is mapped belongs to neither. */
static void test_owners(void **state)
{
	const struct mem_range *a = mem_alloc(MEM_DEVICE, 100, 0, 7),
			       *b = mem_alloc(MEM_PINNED, 100, 0, 8);
	const struct mem_range *c = mem_alloc(MEM_MODULE, 100, 0, 7);
	uint64_t first = a->start, second = b->start, third = c->start, va;
	void *pages = mem_pages_new(0, GRANULE);

	assert_true(mem_va_reserve(0, GRANULE, GRANULE, &va));
	assert_non_null(mem_va_map(va, GRANULE, pages, true, 0, 0));
	assert_true(mem_find(va)->read_only);
	assert_true(third > first + (1ull << 30)); /* out of the way */
	mem_free_owner(7);
	assert_null(mem_find(first));
	assert_null(mem_find(third));
	assert_non_null(mem_find(second));
	mem_free_owner(0);
	assert_non_null(mem_find(va));
	mem_free_owner(8);
	assert_null(mem_find(second));
	assert_true(mem_va_unmap(va));
	assert_false(mem_va_unmap(va));
	mem_va_release(va, GRANULE);
	mem_pages_free(0, pages, GRANULE);
	assert_int_equal(mem_used(0), 0);
}

/* Lowest first, again and again; full is full. */
static bool is_readable(uint64_t at)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)at, 1};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

/* Work that still runs may touch what is freed; it finds it no more when it looks it up. */
static void test_freed_under_work(void **state)
{
	const uint64_t a = mem_alloc(MEM_DEVICE, 10 * PAGE, 256, 1)->start,
		       b = mem_alloc(MEM_DEVICE, 10 * PAGE, 256, 1)->start;
	const uint32_t frees = mem_frees();

	mem_busy_begin();
	mem_busy_begin();
	*(volatile char *)(a + 5 * PAGE) = 7;
	assert_true(mem_free(a));
	assert_true(mem_frees() != frees);
	assert_null(mem_find(a));
	assert_true(mem_was_freed(a + 5 * PAGE));
	assert_false(mem_was_freed(b));
	assert_int_equal(*(volatile char *)(a + 5 * PAGE), 7);
	mem_busy_end();
	assert_true(is_readable(a + 5 * PAGE));
	/* its first pages are allocated again: these stay */
	const uint64_t c = mem_alloc(MEM_DEVICE, 3 * PAGE, 256, 1)->start;
	assert_int_equal(c, a);
	mem_busy_end();
	assert_false(mem_was_freed(a + 5 * PAGE));
	assert_false(is_readable(a + 5 * PAGE));
	assert_true(is_readable(c + 2 * PAGE));
	assert_true(is_readable(b));
	assert_true(mem_free(b));
	assert_false(is_readable(b + 5 * PAGE));
	assert_true(mem_free(c));
}

static void test_order(void **state)
{
	const struct mem_range *a = mem_alloc(MEM_DEVICE, 1, 0, 1),
			       *b = mem_alloc(MEM_DEVICE, 257, 0, 1), *c;
	uint64_t first = a->start, second = b->start;

	assert_int_equal(second, first + 512);
	assert_true(mem_free(first));
	c = mem_alloc(MEM_DEVICE, 256, 0, 1); /* with 256 of nothing it just fits */
	assert_int_equal(c->start, first);
	assert_true(mem_free(first));
	c = mem_alloc(MEM_DEVICE, 257, 0, 1); /* needs 1024 */
	assert_int_equal(c->start, second + 1024);
	assert_true(mem_free(c->start));
	assert_true(mem_free(second));
	assert_null(mem_alloc(MEM_DEVICE, mem_total(), 0, 1)); /* and 256 of nothing */
	assert_null(mem_pages_new(0, mem_total() + PAGE));
	c = mem_alloc(MEM_DEVICE, mem_total() - 512, 0, 1);
	assert_non_null(c);
	assert_int_equal(c->start, first);
	assert_null(mem_alloc(MEM_DEVICE, 1, 0, 1));
	assert_null(mem_pages_new(0, PAGE));
	assert_true(mem_free(c->start));
}

/* A device's bytes with TSDB_SOFT_MEMORY, in a process of its own: what it is comes once. */
static uint64_t total_with(const char *memory, const char *devices, unsigned *ret_devices)
{
	struct {
		uint64_t total;
		unsigned devices;
	} got = {0};
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		setenv("TSDB_SOFT_MEMORY", memory, 1);
		setenv("TSDB_SOFT_DEVICES", devices, 1);
		(void)mem_alloc(MEM_DEVICE, 1, 0, 1);
		got.total = mem_total();
		got.devices = mem_devices();
		_exit(write(ends[1], &got, sizeof got) != sizeof got);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &got, sizeof got), sizeof got);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	*ret_devices = got.devices;
	return got.total;
}

/* docs/softgpu.md: a size with k, m, g or none, at least 1 MiB; 8 GiB for what is none. */
static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} sizes[] = {{"", 8ull << 30}, {"1M", 1 << 20}, {"1m", 1 << 20}, {"3k", 8ull << 30},
		{"2048k", 2 << 20}, {"2048K", 2 << 20}, {"2g", 2ull << 30}, {"3G", 3ull << 30},
		{"1048576", 1 << 20}, {"1048575", 8ull << 30}, {"1048577", (1 << 20) + 4096},
		{"0x200000", 2 << 20}, {"0", 8ull << 30}, {"2gb", 8ull << 30}, {"x", 8ull << 30},
		{"2 g", 8ull << 30}, {"99999999999999999999", 8ull << 30},
		{"70368744177664k", 8ull << 30}, {"65537G", 8ull << 30}};
	static const struct {
		const char *text;
		unsigned want;
	} devices[] = {{"", 1}, {"1", 1}, {"16", 16}, {"17", 1}, {"0", 1}, {"2x", 1}, {"3", 3}};
	unsigned n;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const uint64_t got = total_with(sizes[i].text, "1", &n);

		if (got != sizes[i].want)
			fail_msg("%s: %#llx bytes", sizes[i].text, (unsigned long long)got);
		assert_int_equal(n, 1);
	}
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		assert_int_equal(total_with("1M", devices[i].text, &n), 1 << 20);
		assert_int_equal(n, devices[i].want);
	}
}

/* What cannot be placed is refused, each reason by itself. */
static void test_refused(void **state)
{
	char some[64];

	assert_null(mem_alloc_on(0, MEM_DEVICE, 0, 256, 1));
	assert_null(mem_alloc_on(mem_devices(), MEM_DEVICE, 64, 256, 1));
	assert_null(mem_alloc_on(0, MEM_DEVICE, mem_total() + 1, 256, 1));
	assert_null(mem_alloc_on(0, MEM_DEVICE, 64, 384, 1));
	assert_null(mem_alloc_on(0, MEM_DEVICE, 64, 1ull << 62, 1));
	assert_null(mem_register(some, 0, 1));
	assert_null(mem_register((void *)UINTPTR_MAX, 2, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes), /* first: what a process has is read once */
		cmocka_unit_test(test_freed_under_work),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
