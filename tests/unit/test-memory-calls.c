/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of calls that copy, fill, allocate and free, as commands: one of each form, by the
 * prototypes of the CUDA driver API reference.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/memory-calls.h"

#define RUBBISH 0xabcdef0000000000u /* above an argument of 32 bits or fewer */
#define DEV 0x302000000000u
#define HOST 0x7f0000001000u

static struct memory_asked asked;

static struct sbt_cmd call(enum memory_call which, const uint64_t *args, const uint64_t *words)
{
	struct sbt_cmd c;
	memset(&c, 0, sizeof c);
	memory_call(which, args, words, &c, &asked);
	return c;
}
#define CALL(name, ...) call(MEMORY_##name, (const uint64_t[MEMORY_CALL_ARGS]){__VA_ARGS__}, NULL)

static void flat_copies(void **state)
{
	(void)state;
	/* cuMemcpyHtoD(dstDevice, srcHost, ByteCount) */
	struct sbt_cmd c = CALL(h2d, DEV, HOST, 4096, 77);
	assert_int_equal(c.u.copy.dir, SBT_COPY_H2D);
	assert_int_equal(c.u.copy.dst, DEV);
	assert_int_equal(c.u.copy.src, HOST);
	assert_int_equal(c.u.copy.size, 4096);
	assert_int_equal(c.u.copy.async, 0);
	assert_int_equal(c.u.copy.width, 0);
	assert_true(asked.on_stream);
	assert_int_equal(asked.stream, 0); /* what lies in the fourth register is nobody's */
	assert_int_equal(asked.dst, MEMORY_SIDE_DEVICE);
	assert_int_equal(asked.src, MEMORY_SIDE_HOST);
	/* cuMemcpyDtoHAsync(dstHost, srcDevice, ByteCount, hStream) */
	c = CALL(d2h_async, HOST, DEV, 64, 77);
	assert_int_equal(c.u.copy.dir, SBT_COPY_D2H);
	assert_int_equal(c.u.copy.dst, HOST);
	assert_int_equal(c.u.copy.src, DEV);
	assert_int_equal(c.u.copy.async, 1);
	assert_int_equal(asked.stream, 77);
	assert_int_equal(asked.dst, MEMORY_SIDE_HOST);
	assert_int_equal(asked.src, MEMORY_SIDE_DEVICE);
	/* cuMemcpy(dst, src, ByteCount): unified addresses */
	c = CALL(memcpy, DEV, HOST, 64);
	assert_int_equal(c.u.copy.dir, SBT_COPY_ANY);
	assert_int_equal(asked.dst, MEMORY_SIDE_ADDRESS);
	assert_int_equal(asked.src, MEMORY_SIDE_ADDRESS);
	/* cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream) */
	c = CALL(peer_async, DEV, 1, DEV + 4096, 2, 512, 77);
	assert_int_equal(c.u.copy.dir, SBT_COPY_PEER);
	assert_int_equal(c.u.copy.dst, DEV);
	assert_int_equal(c.u.copy.src, DEV + 4096);
	assert_int_equal(c.u.copy.size, 512);
	assert_int_equal(asked.stream, 77);
}

/* srcXInBytes, srcY, srcMemoryType, srcHost, srcDevice, srcArray, srcPitch, the same of dst,
 * WidthInBytes, Height */
static void copies_in_two_dimensions(void **state)
{
	(void)state;
	uint64_t w[MEMORY_CALL_2D_WORDS] = {16, 2, RUBBISH | 1, HOST, DEV + 1, 0, 256, 0, 1,
		RUBBISH | 2, HOST + 1, DEV, 0, 512, 100, 3};
	const uint64_t args[MEMORY_CALL_ARGS] = {1, 77};
	struct sbt_cmd c = call(MEMORY_2d_async, args, w);
	assert_int_equal(c.u.copy.dir, SBT_COPY_H2D);
	assert_int_equal(c.u.copy.src, HOST + 2 * 256 + 16);
	assert_int_equal(c.u.copy.dst, DEV + 512);
	assert_int_equal(c.u.copy.src_pitch, 256);
	assert_int_equal(c.u.copy.dst_pitch, 512);
	assert_int_equal(c.u.copy.width, 100);
	assert_int_equal(c.u.copy.height, 3);
	assert_int_equal(c.u.copy.depth, 1);
	assert_int_equal(c.u.copy.size, 300);
	assert_int_equal(c.u.copy.async, 1);
	assert_int_equal(asked.stream, 77);
	/* A unified source: srcDevice is its address, and may be memory of the host. */
	w[2] = 4;
	c = call(MEMORY_2d, args, w);
	assert_int_equal(c.u.copy.dir, SBT_COPY_ANY);
	assert_int_equal(c.u.copy.src, DEV + 1 + 2 * 256 + 16);
	assert_int_equal(c.u.copy.async, 0);
	assert_int_equal(asked.stream, 0);
	assert_int_equal(asked.src, MEMORY_SIDE_ADDRESS);
	assert_int_equal(asked.dst, MEMORY_SIDE_DEVICE);
	/* An array has no address; nor has a kind that cuda.h does not know. */
	w[2] = 3;
	c = call(MEMORY_2d, args, w);
	assert_int_equal(asked.src, MEMORY_SIDE_ARRAY);
	assert_int_equal(c.u.copy.src, 0);
	w[2] = 9;
	(void)call(MEMORY_2d, args, w);
	assert_int_equal(asked.src, MEMORY_SIDE_ARRAY);
	/* A structure that could not be read says nothing. */
	c = call(MEMORY_2d, args, NULL);
	assert_int_equal(c.u.copy.size, 0);
	assert_int_equal(asked.dst, MEMORY_SIDE_ARRAY);
}

/* srcXInBytes, srcY, srcZ, srcLOD, srcMemoryType, srcHost, srcDevice, srcArray, reserved
 * (srcContext), srcPitch, srcHeight, dst's, width, height, depth */
static void copies_in_three_dimensions(void **state)
{
	(void)state;
	const uint64_t w[MEMORY_CALL_3D_WORDS] = {
		8, 1, 2, 0, 2, 0, DEV, 0, 0, 64, 10, 0, 0, 0, 0, 1, HOST, 0, 0, 0, 32, 4, 24, 4, 5};
	const uint64_t args[MEMORY_CALL_ARGS] = {1, 77};
	struct sbt_cmd c = call(MEMORY_3d, args, w);
	assert_int_equal(c.u.copy.dir, SBT_COPY_D2H);
	assert_int_equal(c.u.copy.src, DEV + 2 * 64 * 10 + 64 + 8);
	assert_int_equal(c.u.copy.src_pitch, 64);
	assert_int_equal(c.u.copy.src_slice, 640);
	assert_int_equal(c.u.copy.dst, HOST);
	assert_int_equal(c.u.copy.dst_pitch, 32);
	assert_int_equal(c.u.copy.dst_slice, 128);
	assert_int_equal(c.u.copy.depth, 5);
	assert_int_equal(c.u.copy.size, 24 * 4 * 5);
	assert_int_equal(call(MEMORY_3d_peer_async, args, w).u.copy.dir, SBT_COPY_PEER);
	assert_int_equal(asked.stream, 77);
}

static void fills(void **state)
{
	(void)state;
	/* cuMemsetD16(dstDevice, us, N) */
	struct sbt_cmd c = CALL(set16, DEV, RUBBISH | 0x7ffff, 10);
	assert_int_equal(c.u.fill.dst, DEV);
	assert_int_equal(c.u.fill.value, 0xffff);
	assert_int_equal(c.u.fill.elem, 2);
	assert_int_equal(c.u.fill.size, 20);
	assert_int_equal(c.u.fill.async, 0);
	assert_int_equal(CALL(set8, DEV, 0x1ff, 10).u.fill.value, 0xff);
	assert_int_equal(CALL(set32_async, DEV, UINT64_MAX, 10, 77).u.fill.value, 0xffffffff);
	assert_int_equal(asked.stream, 77);
	/* cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream) */
	c = CALL(set32_2d_async, DEV, 256, RUBBISH | 5, 3, 7, 77);
	assert_int_equal(c.u.fill.dst_pitch, 256);
	assert_int_equal(c.u.fill.value, 5);
	assert_int_equal(c.u.fill.width, 3);
	assert_int_equal(c.u.fill.height, 7);
	assert_int_equal(c.u.fill.size, 3 * 7 * 4);
	assert_int_equal(c.u.fill.async, 1);
	assert_int_equal(asked.stream, 77);
	assert_true(asked.on_stream);
}

static void allocations(void **state)
{
	(void)state;
	/* cuMemAlloc(&dptr, bytesize): the address comes later */
	struct sbt_cmd c = CALL(alloc, HOST, 4096, 99, 77);
	assert_int_equal(c.u.alloc.mem, SBT_MEM_DEVICE);
	assert_int_equal(c.u.alloc.addr, 0);
	assert_int_equal(c.u.alloc.size, 4096);
	assert_int_equal(c.u.alloc.alloc_flags, 0);
	assert_int_equal(c.u.alloc.stream, SBT_NO_ID);
	assert_false(asked.on_stream);
	/* cuMemHostAlloc(&pp, bytesize, Flags), cuMemAllocHost(&pp, bytesize) */
	assert_int_equal(CALL(host_alloc, HOST, 4096, RUBBISH | 3).u.alloc.alloc_flags, 3);
	c = CALL(alloc_host, HOST, 4096, 3);
	assert_int_equal(c.u.alloc.alloc_flags, 0);
	assert_int_equal(c.u.alloc.mem, SBT_MEM_PINNED);
	assert_int_equal(CALL(alloc_managed, HOST, 4096, RUBBISH | 1).u.alloc.alloc_flags, 1);
	/* cuMemHostRegister(p, bytesize, Flags) */
	c = CALL(register, HOST, 8192, RUBBISH | 2);
	assert_int_equal(c.u.alloc.addr, HOST);
	assert_int_equal(c.u.alloc.size, 8192);
	assert_int_equal(c.u.alloc.mem, SBT_MEM_REGISTERED);
	/* cuMemAllocFromPoolAsync(&dptr, bytesize, pool, hStream) */
	c = CALL(alloc_pool, HOST, 4096, 5, 77);
	assert_int_equal(c.u.alloc.mem, SBT_MEM_ASYNC);
	assert_int_equal(asked.stream, 77);
	assert_true(asked.on_stream);
	/* cuMemMap(ptr, size, offset, handle, flags): these flags have 64 bits */
	c = CALL(map, DEV, 1 << 21, 0, 0x55, RUBBISH | 1);
	assert_int_equal(c.u.alloc.addr, DEV);
	assert_int_equal(c.u.alloc.mem, SBT_MEM_VMM);
	assert_true(c.u.alloc.alloc_flags == (RUBBISH | 1));
}

static void frees(void **state)
{
	(void)state;
	struct sbt_cmd c = CALL(free_host, HOST, 5);
	assert_int_equal(c.u.free.addr, HOST);
	assert_int_equal(c.u.free.mem, SBT_MEM_PINNED);
	assert_int_equal(c.u.free.stream, SBT_NO_ID);
	assert_false(asked.on_stream);
	/* cuMemFreeAsync(dptr, hStream) */
	c = CALL(free_async, DEV, 77);
	assert_int_equal(c.u.free.mem, SBT_MEM_ASYNC);
	assert_true(asked.on_stream);
	assert_int_equal(asked.stream, 77);
}

/* The agent reads no more of the driver's structure than there is. */
static void arguments_that_count(void **state)
{
	(void)state;
	assert_int_equal(memory_call_nargs(MEMORY_h2d), 3);
	assert_int_equal(memory_call_nargs(MEMORY_h2d_async), 4);
	assert_int_equal(memory_call_nargs(MEMORY_peer_async), 6);
	assert_int_equal(memory_call_nargs(MEMORY_2d), 1);
	assert_int_equal(memory_call_nargs(MEMORY_3d_async), 2);
	assert_int_equal(memory_call_nargs(MEMORY_set8), 3);
	assert_int_equal(memory_call_nargs(MEMORY_set8_2d_async), 6);
	assert_int_equal(memory_call_nargs(MEMORY_alloc), 2);
	assert_int_equal(memory_call_nargs(MEMORY_map), 5);
	assert_int_equal(memory_call_nargs(MEMORY_free), 1);
	for (unsigned i = 0; i < MEMORY_CALLS; i++)
		assert_in_range(memory_call_nargs(i), 1, MEMORY_CALL_ARGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_copies),
		cmocka_unit_test(copies_in_two_dimensions),
		cmocka_unit_test(copies_in_three_dimensions),
		cmocka_unit_test(fills),
		cmocka_unit_test(allocations),
		cmocka_unit_test(frees),
		cmocka_unit_test(arguments_that_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
