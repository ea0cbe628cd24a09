/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a window's allocations are placed, with a driver that gives every address it is asked for.
 * As on a GPU, pinned memory may lie in a block of device memory, and an address may be pinned
 * memory first and device memory later.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "replayer/execute/replayer-fail.h"

#define MIB ((uint64_t)1 << 20)
#define BLOCK UINT64_C(0x7f0000000000) /* 32 MiB, where a driver would place things */
#define MAPPINGS 32

static struct mapping {
	uint64_t addr, size;
	bool host;
} mappings[MAPPINGS];
static unsigned nmappings;
static struct range reserved[MAPPINGS];
static unsigned nreserved;

/* --- the driver --- */

static struct gpu_result grain(size_t *ret, int device)
{
	(void)device;
	*ret = 2 * MIB;
	return (struct gpu_result){0};
}

static struct gpu_result reserve(uint64_t *ret, uint64_t addr, size_t size)
{
	*ret = addr;
	reserved[nreserved++ % MAPPINGS] = (struct range){addr, size};
	return (struct gpu_result){0};
}

static struct gpu_result unreserve(uint64_t addr, size_t size)
{
	(void)addr, (void)size;
	return (struct gpu_result){0};
}

static struct gpu_result map(
	uint64_t at, size_t size, int device, bool host, const int *devices, unsigned n)
{
	(void)device, (void)devices, (void)n;
	for (unsigned i = 0; i < nmappings; i++)
		assert_true(
			at + size <= mappings[i].addr || mappings[i].addr + mappings[i].size <= at);
	assert_true(nmappings < MAPPINGS);
	mappings[nmappings++] = (struct mapping){at, size, host};
	return (struct gpu_result){0};
}

static struct gpu_result info(size_t *ret_free, size_t *ret_total)
{
	*ret_free = *ret_total = (size_t)64 << 30;
	return (struct gpu_result){0};
}

static struct gpu_result register_host(void *p, size_t size, uint64_t *ret)
{
	(void)size;
	*ret = (uint64_t)(uintptr_t)p;
	return (struct gpu_result){0};
}

static const struct backend fake = {
	.mem_grain = grain,
	.mem_reserve = reserve,
	.mem_unreserve = unreserve,
	.mem_map = map,
	.mem_info = info,
	.host_register = register_host,
};

/* --- what else the file calls --- */

struct err *rp_fail(
	struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt, ...)
{
	(void)rp, (void)code, (void)seq;
	return err_new(ERR_SYSTEM, "%s", fmt);
}

struct err *rp_gpu_failed(struct rp *rp, struct gpu_result r)
{
	(void)rp;
	return err_new(ERR_SYSTEM, "%s: %d", r.call, r.code);
}

struct err *devices_enter(struct rp *rp, unsigned dev)
{
	(void)rp, (void)dev;
	return NULL;
}

struct err *touched_find(struct rp *rp)
{
	(void)rp;
	return NULL;
}

/* --- tests --- */

static void free_all(struct rp *rp)
{
	ranges_free(&rp->place.device);
	ranges_free(&rp->place.mapped);
	ranges_free(&rp->place.host);
	ranges_free(&rp->place.mixed);
}

static void place_on(struct rp *rp, bool soft, struct wanted *w, size_t n)
{
	nmappings = nreserved = 0;
	memset(rp, 0, sizeof *rp);
	rp->gpu = &fake;
	rp->lib.soft = soft;
	rp->lib.can = GPU_CAN_PLACE;
	rp->devices.n = 1;
	rp->place.wanted = w;
	rp->place.nwanted = n;
	assert_null(place_all(rp));
	assert_null(place_host(rp));
}

static void place(struct rp *rp, struct wanted *w, size_t n)
{
	place_on(rp, false, w, n);
}

/* The place of all of [addr, addr + size), at its own address and mapped. */
static enum place_where found(const struct rp *rp, uint64_t addr, uint64_t size)
{
	uint64_t here = 0;
	const enum place_where where = place_find(rp, addr, size, &here);
	bool mapped = false;

	assert_int_equal(here, addr);
	for (unsigned i = 0; i < nmappings; i++)
		mapped |= addr >= mappings[i].addr &&
			  addr + size <= mappings[i].addr + mappings[i].size &&
			  mappings[i].host == (where == PLACE_HOST);
	assert_true(where == PLACE_NOWHERE || mapped);
	return where;
}

static struct rp *rp;

static int start(void **state)
{
	(void)state;
	rp = aligned_alloc(_Alignof(struct rp), sizeof *rp);
	return rp ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(rp);
	return 0;
}

static void pinned_memory_beside_device_memory(void **state)
{
	struct wanted w[] = {{.addr = BLOCK, .size = MIB, .mem = SBT_MEM_DEVICE},
		{.addr = BLOCK + 4 * MIB, .size = MIB, .mem = SBT_MEM_PINNED}};

	(void)state;
	place(rp, w, 2);
	assert_int_equal(found(rp, BLOCK, MIB), PLACE_DEVICE);
	assert_int_equal(found(rp, BLOCK + 4 * MIB, MIB), PLACE_HOST);
	assert_int_equal(found(rp, BLOCK + 5 * MIB, MIB), PLACE_NOWHERE);
	free_all(rp);
}

/* One thread frees pinned memory, another one's device memory comes to the same granule, at another
 * place in it. */
static void device_memory_where_pinned_memory_was(void **state)
{
	struct wanted w[] = {{.addr = BLOCK, .size = 512, .mem = SBT_MEM_DEVICE},
		{.addr = BLOCK + 4 * MIB, .size = MIB, .mem = SBT_MEM_PINNED},
		{.addr = BLOCK + 5 * MIB, .size = MIB, .mem = SBT_MEM_DEVICE}};

	(void)state;
	place(rp, w, 3);
	assert_int_equal(found(rp, BLOCK, 512), PLACE_DEVICE);
	assert_int_equal(found(rp, BLOCK + 4 * MIB, MIB), PLACE_HOST);
	assert_int_equal(found(rp, BLOCK + 5 * MIB, MIB), PLACE_HOST);
	free_all(rp);
}

/* The same for memory that reaches farther than the pinned memory did, and takes a third allocation
 * with it. */
static void large_device_memory_is_in_one_piece(void **state)
{
	struct wanted w[] = {{.addr = BLOCK + 3 * MIB, .size = 8 * MIB, .mem = SBT_MEM_DEVICE},
		{.addr = BLOCK + 4 * MIB, .size = MIB, .mem = SBT_MEM_PINNED},
		{.addr = BLOCK + 11 * MIB, .size = 5 * MIB, .mem = SBT_MEM_ASYNC},
		{.addr = BLOCK + 20 * MIB, .size = MIB, .mem = SBT_MEM_DEVICE}};

	(void)state;
	place(rp, w, 4);
	assert_int_equal(found(rp, BLOCK + 3 * MIB, 8 * MIB), PLACE_HOST);
	assert_int_equal(found(rp, BLOCK + 4 * MIB, MIB), PLACE_HOST);
	assert_int_equal(found(rp, BLOCK + 11 * MIB, 5 * MIB), PLACE_HOST);
	assert_int_equal(found(rp, BLOCK + 20 * MIB, MIB), PLACE_DEVICE);
	for (size_t i = 0; i < rp->place.device.n; i++) /* nothing is saved twice at a checkpoint */
		for (size_t k = 0; k < rp->place.host.n; k++)
			assert_true(rp->place.device.r[i].addr >=
					    rp->place.host.r[k].addr + rp->place.host.r[k].size ||
				    rp->place.host.r[k].addr >= rp->place.device.r[i].addr +
									rp->place.device.r[i].size);
	free_all(rp);
}

/* A GPU's driver gives pinned memory addresses between those of device memory. The software GPU
 * takes pinned memory from the process: what is reserved for device memory must leave its addresses
 * free. */
static void the_software_gpu_leaves_room_for_pinned_memory(void **state)
{
	struct wanted w[] = {{.addr = BLOCK, .size = MIB, .mem = SBT_MEM_DEVICE},
		{.addr = BLOCK + 4 * MIB, .size = MIB, .mem = SBT_MEM_PINNED}};

	(void)state;
	place_on(rp, true, w, 2);
	for (unsigned i = 0; i < nreserved; i++)
		assert_true(reserved[i].addr + reserved[i].size <= w[1].addr ||
			    w[1].addr + w[1].size <= reserved[i].addr);
	assert_int_equal(found(rp, BLOCK, MIB), PLACE_DEVICE);
	free_all(rp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_memory_beside_device_memory),
		cmocka_unit_test(device_memory_where_pinned_memory_was),
		cmocka_unit_test(large_device_memory_is_in_one_piece),
		cmocka_unit_test(the_software_gpu_leaves_room_for_pinned_memory),
	};

	return cmocka_run_group_tests(tests, start, end);
}
