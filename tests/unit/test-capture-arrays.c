/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of CUDA arrays in the agent: their addresses, copies to and from them, texture and
 * surface objects, and the parts in which a range of an array's bytes is copied.
 */
#include "capture-fake.h"

#include <string.h>
#include "capture/objects/arrays.h"
#include "capture/objects/ids.h"

#define A ((CUarray)0xa000)
#define B ((CUarray)0xb000)

static int start(void **state)
{
	(void)fake_start();
	FAKE(cuMemsetD8_v2, .dstDevice = 0x10, .N = 1); /* introduces the context and the thread */
	fake_skip();
	return 0;
}

/* 5 x 3 texels of two channels of 16 bits, 4 layers: rows of 20 bytes, slices of 60. */
static struct sbt_cmd create(CUarray h)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 5,
		.Height = 3,
		.Depth = 4,
		.Format = CU_AD_FORMAT_HALF,
		.NumChannels = 2,
		.Flags = CUDA_ARRAY3D_LAYERED};
	FAKE(cuArray3DCreate_v2, &h, &d);
	return fake_expect(SBT_ALLOC);
}

static void arrays_have_addresses(void **state)
{
	const CUDA_ARRAY_DESCRIPTOR line = {
		.Width = 7, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	const struct sbt_cmd a = create(A);
	CUarray b = B;
	assert_int_equal(a.u.alloc.mem, SBT_MEM_ARRAY);
	assert_int_equal(a.u.alloc.size, 240);
	assert_true(sbt_is_array(a.u.alloc.addr));
	assert_true(sbt_is_array(a.u.alloc.addr + 240));
	assert_int_equal(a.u.alloc.width, 5);
	assert_int_equal(a.u.alloc.height, 3);
	assert_int_equal(a.u.alloc.depth, 4);
	assert_int_equal(a.u.alloc.channels, 2);
	assert_int_equal(a.u.alloc.format, CU_AD_FORMAT_HALF);
	assert_int_equal(a.u.alloc.alloc_flags, CUDA_ARRAY3D_LAYERED);
	FAKE(cuArrayCreate_v2, &b, &line);
	const struct sbt_cmd other = fake_expect(SBT_ALLOC);
	assert_int_equal(other.u.alloc.size, 28);
	assert_true(other.u.alloc.addr >= a.u.alloc.addr + 240);
	assert_ptr_equal(arrays_at(a.u.alloc.addr + 239), arrays_by_handle(0xa000));
	assert_null(arrays_at(a.u.alloc.addr + 240));
	FAKE(cuArrayDestroy, A);
	const struct sbt_cmd gone = fake_expect(SBT_FREE);
	assert_int_equal(gone.u.free.addr, a.u.alloc.addr);
	assert_int_equal(gone.u.free.mem, SBT_MEM_ARRAY);
	assert_null(arrays_at(a.u.alloc.addr));
	FAKE(cuArrayDestroy, A); /* not known any more */
	fake_expect(SBT_UNREPLAYABLE);
	/* One of the same size gets the address. */
	assert_int_equal(create(A).u.alloc.addr, a.u.alloc.addr);
}

static void what_is_not_described_is_named(void **state)
{
	const CUDA_ARRAY3D_DESCRIPTOR sparse = {.Width = 5,
					      .Format = CU_AD_FORMAT_HALF,
					      .NumChannels = 1,
					      .Flags = CUDA_ARRAY3D_SPARSE},
				      video = {.Width = 5,
					      .Height = 2,
					      .Format = CU_AD_FORMAT_NV12,
					      .NumChannels = 3},
				      huge = {.Width = SIZE_MAX / 2,
					      .Height = 4,
					      .Format = CU_AD_FORMAT_HALF,
					      .NumChannels = 1};
	const CUDA_ARRAY3D_DESCRIPTOR *const all[] = {&sparse, &video, &huge};
	CUarray h = (CUarray)0xc000;
	for (unsigned i = 0; i < 3; i++) {
		FAKE(cuArray3DCreate_v2, &h, all[i]);
		const struct sbt_cmd c = fake_expect(SBT_UNREPLAYABLE);
		assert_memory_equal(c.u.unreplayable.call.p, "cuArray3DCreate_v2", 18);
		assert_null(arrays_by_handle(0xc000));
	}
	FAKE(cuMemcpyAtoH_v2, (void *)0x7000, h, 0, 4);
	fake_expect(SBT_UNREPLAYABLE);
	FAKE(cuMemcpyAtoH_v2, (void *)0x7000, A, 0, 241); /* beyond its end */
	fake_expect(SBT_UNREPLAYABLE);
}

static void copies_name_an_arrays_bytes(void **state)
{
	const uint64_t a = arrays_by_handle(0xa000)->addr, b = arrays_by_handle(0xb000)->addr;
	const CUDA_MEMCPY2D flat = {.srcXInBytes = 4,
		.srcY = 1,
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = A,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = 0x9000,
		.dstPitch = 64,
		.WidthInBytes = 8,
		.Height = 2};
	const CUDA_MEMCPY3D deep = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = 0x9000,
		.srcPitch = 32,
		.srcHeight = 4,
		.dstXInBytes = 4,
		.dstY = 1,
		.dstZ = 2,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = A,
		.WidthInBytes = 8,
		.Height = 2,
		.Depth = 2};
	FAKE(cuMemcpy2D_v2, &flat);
	struct sbt_cmd_copy k = fake_expect(SBT_COPY).u.copy;
	assert_int_equal(k.src, a + 20 + 4);
	assert_int_equal(k.src_pitch, 20);
	assert_int_equal(k.dst, 0x9000);
	assert_int_equal(k.dst_pitch, 64);
	assert_int_equal(k.dir, SBT_COPY_D2D);
	FAKE(cuMemcpy3D_v2, &deep);
	k = fake_expect(SBT_COPY).u.copy;
	assert_int_equal(k.dst, a + 2 * 60 + 20 + 4);
	assert_int_equal(k.dst_pitch, 20);
	assert_int_equal(k.dst_slice, 60);
	assert_int_equal(k.src_slice, 128);
	FAKE(cuMemcpyHtoA_v2, A, 100, (const void *)0x7000, 40);
	k = fake_expect(SBT_COPY).u.copy;
	assert_int_equal(k.dir, SBT_COPY_H2D);
	assert_int_equal(k.dst, a + 100);
	assert_int_equal(k.src, 0x7000);
	assert_int_equal(k.size, 40);
	FAKE(cuMemcpyAtoA_v2, B, 8, A, 12, 20);
	k = fake_expect(SBT_COPY).u.copy;
	assert_int_equal(k.dst, b + 8);
	assert_int_equal(k.src, a + 12);
	FAKE(cuMemcpyAtoHAsync_v2, (void *)0x7000, A, 4, 16, NULL);
	k = fake_expect(SBT_COPY).u.copy;
	assert_int_equal(k.dir, SBT_COPY_D2H);
	assert_int_equal(k.src, a + 4);
	assert_true(k.async);
}

static void objects_say_what_they_are_of(void **state)
{
	const CUDA_RESOURCE_DESC of_array = {.resType = CU_RESOURCE_TYPE_ARRAY,
					 .res.array.hArray = A},
				 pitched = {.resType = CU_RESOURCE_TYPE_PITCH2D,
					 .res.pitch2D = {.devPtr = 0x9000,
						 .format = CU_AD_FORMAT_FLOAT,
						 .numChannels = 2,
						 .width = 3,
						 .height = 4,
						 .pitchInBytes = 64}},
				 levels = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
	const CUDA_TEXTURE_DESC how = {.addressMode = {CU_TR_ADDRESS_MODE_MIRROR},
		.filterMode = CU_TR_FILTER_MODE_LINEAR,
		.flags = CU_TRSF_NORMALIZED_COORDINATES,
		.borderColor = {0.5f}};
	CUtexObject t = 3;
	CUsurfObject s = 3;
	FAKE(cuTexObjectCreate, &t, &of_array, &how, NULL);
	struct sbt_cmd_texture_create u = fake_expect(SBT_TEXTURE_CREATE).u.texture_create;
	assert_int_equal(u.new_texture, 0);
	assert_int_equal(u.handle, 3);
	assert_int_equal(u.addr, arrays_by_handle(0xa000)->addr);
	assert_int_equal(u.size, 240);
	assert_int_equal(u.depth, 4);
	assert_int_equal(u.address_x, 2);
	assert_int_equal(u.filter, 1);
	assert_int_equal(u.border_r, 0x3f000000);
	FAKE(cuSurfObjectCreate, &s, &of_array); /* with the same handle */
	u = fake_expect(SBT_TEXTURE_CREATE).u.texture_create;
	assert_int_equal(u.new_texture, 1);
	assert_true(u.surface);
	FAKE(cuTexObjectDestroy, t);
	assert_int_equal(fake_expect(SBT_TEXTURE_DESTROY).u.texture_destroy.dead_texture, 0);
	FAKE(cuTexObjectCreate, &t, &pitched, &how, NULL);
	u = fake_expect(SBT_TEXTURE_CREATE).u.texture_create;
	assert_int_equal(u.new_texture, 2);
	assert_int_equal(u.size, 3 * 64 + 3 * 8);
	FAKE(cuTexObjectCreate, &t, &levels, &how, NULL);
	fake_expect(SBT_UNREPLAYABLE);
	FAKE(cuTexObjectCreate, &t, &of_array, &how, &(CUDA_RESOURCE_VIEW_DESC){0});
	fake_expect(SBT_UNREPLAYABLE);
	FAKE(cuSurfObjectDestroy, s);
	assert_int_equal(fake_expect(SBT_TEXTURE_DESTROY).u.texture_destroy.dead_texture, 1);
	FAKE(cuSurfObjectDestroy, s);
	fake_expect(SBT_UNREPLAYABLE);
}

/* Every range of a small array: its parts are boxes within it, and have exactly its bytes, in
 * order. */
static void parts_are_boxes(void **state)
{
	const struct array a = {.row = 3, .rows = 4, .slices = 2};
	for (uint64_t offset = 0; offset < 24; offset++)
		for (uint64_t n = 1; n <= 24 - offset; n++) {
			uint64_t at = offset;
			struct array_box b;
			for (uint64_t done = 0; done < n;) {
				done += array_box(&a, offset + done, n - done, &b);
				assert_true(b.width && b.x + b.width <= 3);
				assert_true(b.height && b.y + b.height <= 4);
				assert_true(b.depth && b.z + b.depth <= 2);
				for (uint64_t i = 0; i < b.width * b.height * b.depth; i++) {
					const uint64_t x = i % b.width, y = i / b.width % b.height,
						       z = i / b.width / b.height;
					assert_int_equal(
						(b.z + z) * 12 + (b.y + y) * 3 + b.x + x, at++);
				}
			}
			assert_int_equal(at, offset + n);
		}
}

static void a_context_takes_them_along(void **state)
{
	FAKE(cuCtxDestroy_v2, FAKE_CTX);
	fake_expect(SBT_CTX_DESTROY);
	assert_null(arrays_by_handle(0xa000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_have_addresses),
		cmocka_unit_test(what_is_not_described_is_named),
		cmocka_unit_test(copies_name_an_arrays_bytes),
		cmocka_unit_test(objects_say_what_they_are_of),
		cmocka_unit_test(parts_are_boxes),
		cmocka_unit_test(a_context_takes_them_along),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
