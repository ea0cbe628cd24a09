/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that does not come to an end, seen from contexts.h: no call waits for it longer than
 * `set gpu-timeout`, and what was begun is not touched again. The fake driver's hashes are computed
 * when they are begun.
 */
#include "capture-fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/driver.h"
#include "capture/memory/contexts.h"
#include "capture/memory/window.h"
#include "capture/pipeline/sender.h"

#define SIZE ((uint64_t)3 * SBT_PAGE + 100)
#define PAGES 4
#define OWN_STREAM ((CUstream)0x9999) /* of the fake: all that the agent makes */

static struct tsdb_control *control;
static uint8_t *device;
static struct device_set set;
static struct driver hooked;
static _Atomic uint32_t lets_go = 1, held;
static bool hangs, is_stuck; /* hangs: the next launch does */
static unsigned begun, asked, waits, copies;

static uint64_t at(void)
{
	return (uint64_t)(uintptr_t)device;
}

static struct driver_hasher *hash_open(uint64_t s)
{
	atomic_fetch_add(&held, 1);
	while (!atomic_load(&lets_go))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return (struct driver_hasher *)&hooked;
}

static void hash_close(struct driver_hasher *h)
{
}

static struct driver_result launched(struct hash_kernel_begun *b)
{
	*b = (struct hash_kernel_begun){.n = 0};
	begun++;
	is_stuck |= hangs;
	hangs = false;
	return driver->answer(DRIVER_OK);
}

static struct driver_result hash_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t n, struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = sbt_range_hash((const void *)(uintptr_t)r[i].addr, r[i].size);
	return launched(b);
}

static struct driver_result hash_pages_begin(struct driver_hasher *h, struct hash_kernel_range r,
	struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)r.addr;
	for (uint64_t i = 0; i < r.size; i += SBT_PAGE)
		ret[i / SBT_PAGE] =
			sbt_page_hash(p + i, r.size - i < SBT_PAGE ? r.size - i : SBT_PAGE);
	return launched(b);
}

static void hash_end(const struct hash_kernel_begun *b)
{
}

/* In a driver these two would not return. */
static struct driver_result hash_wait(struct driver_hasher *h, uint64_t s)
{
	waits += is_stuck;
	return driver->answer(DRIVER_OK);
}

static CUresult stream_sync(CUstream s)
{
	waits += is_stuck && s == OWN_STREAM;
	return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream s)
{
	if (s != OWN_STREAM)
		return CUDA_SUCCESS;
	asked++;
	return is_stuck ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult copy_out(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
	copies++;
	memcpy(dst, (const void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

static struct driver_result gather_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t nranges, uint64_t first, uint32_t n, uint64_t packed, uint64_t s)
{
	return driver->answer(DRIVER_FAILED);
}

static struct driver_result mem_range(uint64_t addr, uint64_t *start, uint64_t *size)
{
	*start = at();
	*size = 1 << 20;
	return driver->answer(DRIVER_OK);
}

static void command(void)
{
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, CUDA_SUCCESS);
}

static int start(void **state)
{
	void *where = (void *)0x710000000000;
	device = mmap(where, 1 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(device, where);
	for (unsigned i = 0; i < SIZE; i++)
		device[i] = (uint8_t)(i * 31 + i / 256);
	control = fake_start();
	control->memory = TSDB_MEMORY_ALL;
	cuda.cuStreamQuery = stream_query;
	cuda.cuStreamSynchronize = stream_sync;
	cuda.cuMemcpyDtoHAsync_v2 = copy_out;
	hooked = *driver;
	hooked.hash_open = hash_open;
	hooked.hash_close = hooked.hash_forget = hash_close;
	hooked.hash_begin = hash_begin;
	hooked.hash_pages_begin = hash_pages_begin;
	hooked.hash_end = hash_end;
	hooked.hash_wait = hash_wait;
	hooked.gather_begin = gather_begin;
	hooked.mem_range = mem_range;
	driver = &hooked;
	return 0;
}

static int each(void **state)
{
	is_stuck = hangs = false;
	begun = asked = waits = copies = 0;
	atomic_store(&held, 0);
	control->gpu_timeout = 200;
	alarm(30); /* what waits for ever */
	return 0;
}

static int after(void **state)
{
	alarm(0);
	return 0;
}

/* A context of its own, in which the kernels are not loaded yet. */
static struct device_ctx *new_context(void)
{
	static uintptr_t handle = 0x1700;
	CUcontext made = (CUcontext)(handle += 0x10);
	command();
	FAKE(cuCtxCreate_v2, &made, 0, 0);
	assert_true(device_collect(&set));
	for (unsigned i = 0; i < set.n; i++)
		if (set.ctx[i].handle == (uint64_t)(uintptr_t)made)
			return &set.ctx[i];
	fail_msg("the context is not known");
	return NULL;
}

static void expect_pages(struct device_ctx *d)
{
	struct sbt_hash h[PAGES];
	assert_true(device_hash_pages(d, (struct hash_kernel_range){at(), SIZE}, h));
	for (unsigned i = 0; i < PAGES; i++)
		assert_true(sbt_hash_equal(
			h[i], sbt_page_hash(device + i * SBT_PAGE, i < 3 ? SBT_PAGE : 100)));
}

/* Every further context waits no longer for a driver that is still at the first, and later all of
 * them have kernels. */
static void kernels_that_do_not_load_in_time(void **state)
{
	struct sbt_hash h[PAGES];
	struct device_ctx *d = new_context();
	bool good = false;
	atomic_store(&lets_go, 0);
	device_load(&set);
	assert_int_equal(atomic_load(&held), 1);
	assert_true(device_enter(d));
	assert_false(device_hash_pages(d, (struct hash_kernel_range){at(), SIZE}, h));
	assert_true(device_hash(&set, d, at(), SIZE, false, h)); /* through the host */
	assert_true(sbt_hash_equal(h[0], sbt_range_hash(device, SIZE)));
	control->gpu_timeout = 20000; /* it is not waited for again */
	device_load(&set);
	assert_int_equal(begun, 0);
	control->gpu_timeout = 200;
	atomic_store(&lets_go, 1);
	for (unsigned tries = 0; !good && tries < 2000; tries++) {
		device_load(&set);
		good = device_hash_pages(d, (struct hash_kernel_range){at(), SIZE}, h);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	expect_pages(d);
	device_leave();
}

static void hashes_that_do_not_come_to_an_end(void **state)
{
	struct sbt_hash h[PAGES];
	uint8_t bytes[16] = {0};
	struct device_ctx *d = new_context();
	device_load(&set);
	assert_true(device_enter(d));
	expect_pages(d);
	assert_int_equal(begun, 1);
	hangs = true;
	assert_false(device_hash_pages(d, (struct hash_kernel_range){at(), SIZE}, h));
	assert_int_equal(waits, 0);
	assert_in_range(asked, 100, 3000);
	/* Nothing is added to what hangs, and it is not waited for again. */
	asked = copies = 0;
	control->gpu_timeout = 20000;
	assert_false(device_read(d, at(), bytes, sizeof bytes));
	assert_false(device_hash(&set, d, at(), SIZE, false, h));
	assert_int_equal(copies, 0);
	assert_in_range(asked, 1, 1000);
	is_stuck = false;
	assert_true(device_read(d, at() + 5, bytes, sizeof bytes));
	assert_memory_equal(bytes, device + 5, sizeof bytes);
	/* The kernels' table may still be written to. */
	begun = 0;
	assert_false(device_hash_pages(d, (struct hash_kernel_range){at(), SIZE}, h));
	assert_int_equal(begun, 0);
	assert_true(device_hash(&set, d, at(), SIZE, false, h));
	assert_true(sbt_hash_equal(h[0], sbt_range_hash(device, SIZE)));
	device_leave();
}

/* What a window's end begins, and waits for later. */
static void a_wait_for_hashes_is_given_up(void **state)
{
	const struct hash_kernel_range r = {at(), SIZE};
	struct device_ctx *d = new_context();
	struct hash_kernel_begun b;
	struct sbt_hash h;
	device_load(&set);
	assert_true(device_enter(d));
	assert_true(device_hash_begin(d, &r, 1, &h, &b));
	assert_true(device_wait(d));
	assert_true(sbt_hash_equal(h, sbt_range_hash(device, SIZE)));
	assert_int_equal(waits, 0);
	hangs = true;
	assert_true(device_hash_begin(d, &r, 1, &h, &b));
	assert_false(device_wait(d));
	assert_int_equal(waits, 0);
	assert_in_range(asked, 100, 3000);
	is_stuck = false;
	assert_false(device_hash_begin(d, &r, 1, &h, &b));
	assert_true(device_wait(d));
	device_leave();
}

/* The program's thread comes back, and it is said what is missing. */
static void a_call_that_cannot_be_repeated(void **state)
{
	CUdeviceptr p = at();
	FAKE(cuMemAlloc_v2, &p, SIZE);
	control->gpu_timeout = 2000;
	control->capture_all = 1;
	command();
	assert_int_equal(window_open, 1);
	assert_string_equal(control->text2, "");
	while (atomic_load(&sender_jobs)) /* it hashes, too */
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	control->gpu_timeout = 200;
	hangs = true;
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, NULL);
	fake_exit(link, CUDA_SUCCESS);
	assert_int_equal(waits, 0);
	assert_string_equal(control->text2,
		"work on the device did not end before a call that cannot be repeated: what it did to memory is not known");
	control->capture_all = 0;
	is_stuck = false;
	command();
}

int main(void)
{
#define DEADLINE_TEST(fn) cmocka_unit_test_setup_teardown(fn, each, after)
	const struct CMUnitTest tests[] = {
		DEADLINE_TEST(kernels_that_do_not_load_in_time),
		DEADLINE_TEST(hashes_that_do_not_come_to_an_end),
		DEADLINE_TEST(a_wait_for_hashes_is_given_up),
		DEADLINE_TEST(a_call_that_cannot_be_repeated),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
