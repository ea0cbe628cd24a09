/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory the software GPU has, on how many devices, as its environment says; that all of
 * it can be used, and not a byte more; what it refuses. Each case is a process of its own, since a
 * process has one address space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/memory/mem.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define MB ((uint64_t)1 << 20)
#define GB ((uint64_t)1 << 30)

static void in_process(void (*body)(const void *), const void *arg, const char *memory,
	const char *devices, const char *host)
{
	int status;
	pid_t p;

	fflush(NULL);
	p = fork();
	assert_true(p >= 0);
	if (!p) {
		alarm(60);
		memory ? setenv("TSDB_SOFT_MEMORY", memory, 1) : unsetenv("TSDB_SOFT_MEMORY");
		devices ? setenv("TSDB_SOFT_DEVICES", devices, 1) : unsetenv("TSDB_SOFT_DEVICES");
		host ? setenv("TSDB_SOFT_HOST_BASE", host, 1) : unsetenv("TSDB_SOFT_HOST_BASE");
		body(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fail_msg("TSDB_SOFT_MEMORY=%s TSDB_SOFT_DEVICES=%s", memory ? memory : "-",
			devices ? devices : "-");
}

/* --- the environment --- */
static void total_is(const void *want)
{
	CHECK(mem_total() == *(const uint64_t *)want);
}

static void test_total(void **state)
{
	static const struct {
		const char *text;
		uint64_t total;
	} rows[] = {
		{NULL, 8 * GB},
		{"", 8 * GB},
		{"3G", 3 * GB},
		{"2g", 2 * GB},
		{"512M", 512 * MB},
		{"77m", 77 * MB},
		{"4096K", 4 * MB},
		{"8192k", 8 * MB},
		{"1048576", MB},
		{"0x200000", 2 * MB},
		{"1048577", MB + 4096}, /* whole pages */
		{"1052672", MB + 4096},
		{"1048575", 8 * GB}, /* too little to be meant */
		{"1023k", 8 * GB},
		{"1024k", MB},
		{"0", 8 * GB},
		{"0G", 8 * GB},
		{"8T", 8 * GB},
		{"8GB", 8 * GB},
		{"much", 8 * GB},
		{"18446744073709551616", 8 * GB},
		{"17592186044416G", 8 * GB},
		{"70368744177665", 8 * GB}, /* above 2^46 */
		{"65537G", 8 * GB},
	};

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		in_process(total_is, &rows[k].total, rows[k].text, NULL, NULL);
}

static void devices_are(const void *arg)
{
	const unsigned want = *(const unsigned *)arg;

	CHECK(mem_devices() == want);
	CHECK(mem_alloc_on(want - 1, MEM_DEVICE, 64, 0, 0));
	CHECK(!mem_alloc_on(want, MEM_DEVICE, 64, 0, 0));
	CHECK(mem_pages_new(want - 1, 1 << 21));
	CHECK(!mem_pages_new(want, 1 << 21));
	for (unsigned k = 0; k < want; k++)
		CHECK((mem_used(k) != 0) == (k == want - 1));
}

static void test_devices(void **state)
{
	static const struct {
		const char *text;
		unsigned n;
	} rows[] = {
		{NULL, 1},
		{"", 1},
		{"1", 1},
		{"2", 2},
		{"5", 5},
		{"0", 1},
		{"x", 1},
		{"2x", 1},
		{"-1", 1},
		{"1000000", 1},
	};
	static const unsigned most = MEM_DEVICES;
	char text[16];

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		in_process(devices_are, &rows[k].n, "64M", rows[k].text, NULL);
	snprintf(text, sizeof(text), "%u", most);
	in_process(devices_are, &most, "64M", text, NULL);
	snprintf(text, sizeof(text), "%u", most + 1);
	in_process(devices_are, &rows[0].n, "64M", text, NULL);
}

/* --- all of it --- */
static void all_of_it(const void *arg)
{
	const uint64_t total = 64 * MB;
	const struct mem_range *r, *s;
	void *p;

	CHECK(mem_total() == total && !mem_used(0) && !mem_used(1));
	p = mem_pages_new(0, total);
	CHECK(p && mem_used(0) == total && !mem_used(1));
	CHECK(!mem_pages_new(0, 4096));
	CHECK(!mem_alloc_on(0, MEM_DEVICE, 1, 0, 0));
	s = mem_alloc_on(1, MEM_DEVICE, 1, 0, 0); /* the other device has its own */
	CHECK(s && mem_used(1));
	mem_pages_free(0, p, total);
	CHECK(!mem_used(0));
	/* 256 bytes of nothing follow each range */
	CHECK(!mem_alloc_on(0, MEM_DEVICE, total - 255, 0, 0));
	r = mem_alloc_on(0, MEM_DEVICE, total - 256, 0, 0);
	CHECK(r && r->end - r->start == total - 256 && mem_used(0) == total);
	CHECK(*(uint8_t *)(uintptr_t)r->start == 0xa5 &&
		((uint8_t *)(uintptr_t)r->end)[-1] == 0xa5);
	CHECK(!mem_pages_new(0, 4096) && !mem_alloc_on(0, MEM_DEVICE, 1, 0, 0));
	CHECK(mem_free(r->start) && !mem_used(0));
	CHECK(!mem_alloc_on(0, MEM_DEVICE, total + 1, 0, 0));
	CHECK(!mem_alloc_on(0, MEM_PINNED, total + 1, 0, 0));
	CHECK(mem_pages_new(0, total - 4096) && mem_used(0) == total - 4096);
	r = mem_alloc_on(0, MEM_DEVICE, 4096 - 256, 0, 0);
	CHECK(r && mem_used(0) == total);
	CHECK(!mem_alloc_on(0, MEM_DEVICE, 1, 0, 0));
	CHECK(mem_free(s->start) && !mem_used(1));
}

/* Whose kernels may use it without having been let in: those of its device; the host's, all. */
static void whose(const void *arg)
{
	static const enum mem_kind kinds[] = {MEM_DEVICE, MEM_MODULE, MEM_PINNED, MEM_MANAGED};
	static char mine[64];

	for (unsigned dev = 0; dev < 3; dev++)
		for (unsigned k = 0; k < 4; k++) {
			const struct mem_range *r = mem_alloc_on(dev, kinds[k], 64, 0, 7);

			CHECK(r && r->kind == kinds[k] && r->ctx == 7 && !r->read_only);
			CHECK(r->devices == (k < 2 ? 1u << dev : 0) && r->dev == dev);
			mem_allow(r, 5); /* those come in, too */
			CHECK(r->devices == (k < 2 ? 1u << dev | 5 : 0));
		}
	CHECK(mem_register(mine, 64, 0)->devices == 0);
}

/* What is no size, no alignment, no memory. */
static void refusals(const void *arg)
{
	const struct mem_range *r;
	static char mine[8192];
	uint64_t at;

	CHECK(!mem_alloc(MEM_DEVICE, 0, 0, 0));
	CHECK(!mem_alloc(MEM_DEVICE, 64, 3, 0));
	CHECK(!mem_alloc(MEM_DEVICE, 64, 128 * MB, 0));
	for (size_t align = 1; align <= MB; align *= 2) {
		r = mem_alloc(MEM_DEVICE, 100, align, 0);
		CHECK(r && r->start % align == 0 && r->end == r->start + 100);
	}
	r = mem_alloc(MEM_PINNED, 100, 4096, 0);
	CHECK(r && r->start % 4096 == 0);
	CHECK(!mem_alloc(MEM_PINNED, 100, 8192, 0)); /* the host's is of pages */
	CHECK(!mem_register(mine, 0, 0));
	CHECK(!mem_register((void *)(uintptr_t)(UINT64_MAX - 99), 101, 0));
	CHECK(!mem_register((void *)(uintptr_t)r->start, 8, 0));
	r = mem_register(mine + 100, 4000, 0);
	CHECK(r && mem_find((uint64_t)(uintptr_t)mine + 100) == r);
	CHECK(!mem_find((uint64_t)(uintptr_t)mine + 99));
	CHECK(mem_find((uint64_t)(uintptr_t)mine + 4099) == r);
	CHECK(!mem_find((uint64_t)(uintptr_t)mine + 4100));
	CHECK(!mem_register(mine + 4099, 10, 0) && !mem_register(mine, 101, 0));
	CHECK(mem_register(mine + 4100, 10, 0) && mem_register(mine, 100, 0));
	CHECK(!mem_free((uint64_t)(uintptr_t)mine + 101));
	CHECK(mem_free((uint64_t)(uintptr_t)mine + 100));
	CHECK(!mem_free((uint64_t)(uintptr_t)mine + 100));
	CHECK(mem_va_reserve(0, 4 * MB, 2 * MB, &at) && at % (2 * MB) == 0);
	CHECK(!mem_find(at));
	mem_va_release(at, 4 * MB);
	CHECK(!mem_va_reserve(0, 0, 2 * MB, &at));
	CHECK(!mem_va_reserve(0, 4 * MB, 0, &at));
	CHECK(!mem_va_reserve(0, 4 * MB, 3 * MB, &at));
}

static void test_limits(void **state)
{
	in_process(all_of_it, NULL, "64M", "2", NULL);
	in_process(refusals, NULL, "64M", NULL, NULL);
	in_process(whose, NULL, "64M", "3", NULL);
}

static void host_is_at(const void *want)
{
	const struct mem_range *r = mem_alloc(MEM_PINNED, 64, 0, 0);

	CHECK(r && (r->start >= *(const uint64_t *)want) &&
		r->start < *(const uint64_t *)want + 16 * MB);
}

static void test_host(void **state)
{
	static const uint64_t usual = MEM_HOST_BASE, other = 0x5f0000000000;

	in_process(host_is_at, &usual, NULL, NULL, NULL);
	in_process(host_is_at, &other, NULL, NULL, "5f0000000000");
	in_process(host_is_at, &usual, NULL, NULL, "5f0000000001"); /* no page begins there */
	in_process(host_is_at, &usual, NULL, NULL, "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
