/* SPDX-License-Identifier: Apache-2.0
 *
 * libcudart.so.13 of the software GPU from C: what wrong arguments answer ("CUDA Runtime API"), and
 * copies of arrays and of rectangles against a plain model of their bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks-held.h"

/* Calls that the headers mark as deprecated must work, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, cudaSuccess)
#define IS(call, code) assert_int_equal(call, cudaError##code)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- channel descriptions --- */

static void test_channels(void **state)
{
	static const struct {
		int x, y, z, w;
		enum cudaChannelFormatKind f;
		bool good;
	} rows[] = {
		{8, 0, 0, 0, cudaChannelFormatKindUnsigned, true},
		{8, 8, 0, 0, cudaChannelFormatKindSigned, true},
		{16, 16, 16, 16, cudaChannelFormatKindUnsigned, true},
		{16, 16, 0, 0, cudaChannelFormatKindFloat, true},
		{16, 0, 0, 0, cudaChannelFormatKindSigned, true},
		{32, 32, 32, 32, cudaChannelFormatKindFloat, true},
		{32, 32, 0, 0, cudaChannelFormatKindSigned, true},
		{32, 0, 0, 0, cudaChannelFormatKindUnsigned, true},
		{8, 8, 8, 0, cudaChannelFormatKindUnsigned, false},
		{8, 16, 0, 0, cudaChannelFormatKindUnsigned, false},
		{8, 8, 16, 16, cudaChannelFormatKindUnsigned, false},
		{8, 8, 8, 16, cudaChannelFormatKindUnsigned, false},
		{8, 0, 8, 0, cudaChannelFormatKindUnsigned, false},
		{8, 8, 0, 8, cudaChannelFormatKindUnsigned, false},
		{0, 0, 0, 0, cudaChannelFormatKindUnsigned, false},
		{0, 8, 0, 0, cudaChannelFormatKindUnsigned, false},
		{8, 0, 0, 0, cudaChannelFormatKindFloat, false},
		{24, 0, 0, 0, cudaChannelFormatKindSigned, false},
		{64, 0, 0, 0, cudaChannelFormatKindUnsigned, false},
		{32, 0, 0, 0, cudaChannelFormatKindNone, false},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		const struct cudaChannelFormatDesc d = {
			rows[i].x, rows[i].y, rows[i].z, rows[i].w, rows[i].f};
		struct cudaChannelFormatDesc got;
		struct cudaExtent e;
		unsigned flags = 77;
		cudaArray_t a;

		if (!rows[i].good) {
			if (cudaMallocArray(&a, &d, 4, 4, 0) != cudaErrorInvalidChannelDescriptor)
				fail_msg("row %u", i);
			continue;
		}
		OK(cudaMallocArray(&a, &d, 5, 3, 0));
		OK(cudaArrayGetInfo(&got, &e, &flags, a));
		assert_memory_equal(&got, &d, sizeof d);
		assert_int_equal(e.width * 100 + e.height * 10 + e.depth, 530);
		assert_int_equal(flags, 0);
		memset(&got, 0, sizeof got);
		OK(cudaGetChannelDesc(&got, a));
		assert_memory_equal(&got, &d, sizeof d);
		OK(cudaArrayGetInfo(NULL, NULL, NULL, a));
		IS(cudaGetChannelDesc(NULL, a), InvalidValue);
		OK(cudaFreeArray(a));
		IS(cudaFreeArray(a), InvalidResourceHandle);
		IS(cudaArrayGetInfo(&got, &e, &flags, a), InvalidResourceHandle);
	}
	OK(cudaFreeArray(NULL));
	const struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
	cudaArray_t a;
	size_t most = 0;

	IS(cudaMallocArray(NULL, &d, 4, 4, 0), InvalidValue);
	IS(cudaMallocArray(&a, NULL, 4, 4, 0), InvalidValue);
	IS(cudaMalloc3DArray(NULL, &d, (struct cudaExtent){4, 4, 4}, 0), InvalidValue);
	OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &d, 0));
	assert_true(most > 1 << 20);
	IS(cudaDeviceGetTexture1DLinearMaxWidth(&most, NULL, 0), InvalidValue);
	(void)cudaGetLastError();
}

/* --- copies, against a model --- */

enum { TEXEL = 4, W = 7, ROW = W * TEXEL, H = 5, BYTES = ROW * H, PLAIN = 400 };

static uint64_t seed;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

struct world {
	cudaArray_t array[2];
	void *device;
	cudaStream_t stream;
	uint8_t rows[2][BYTES], memory[PLAIN], host[PLAIN]; /* as they should be */
	uint8_t real[PLAIN];				    /* the host's memory */
};

static void same(struct world *w, const char *what)
{
	uint8_t got[PLAIN];

	OK(cudaDeviceSynchronize());
	for (unsigned i = 0; i < 2; i++) {
		OK(cudaMemcpy2DFromArray(
			got, ROW, w->array[i], 0, 0, ROW, H, cudaMemcpyDeviceToHost));
		if (memcmp(got, w->rows[i], BYTES))
			fail_msg("%s: array %u differs", what, i);
	}
	OK(cudaMemcpy(got, w->device, PLAIN, cudaMemcpyDeviceToHost));
	if (memcmp(got, w->memory, PLAIN))
		fail_msg("%s: device memory differs", what);
	if (memcmp(w->real, w->host, PLAIN))
		fail_msg("%s: host memory differs", what);
}

static void world_init(struct world *w)
{
	const struct cudaChannelFormatDesc d = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};

	for (unsigned i = 0; i < PLAIN; i++) {
		w->memory[i] = (uint8_t)below(256);
		w->host[i] = (uint8_t)below(256);
	}
	memcpy(w->real, w->host, PLAIN);
	OK(cudaStreamCreate(&w->stream));
	OK(cudaMalloc(&w->device, PLAIN));
	OK(cudaMemcpy(w->device, w->memory, PLAIN, cudaMemcpyHostToDevice));
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < BYTES; k++)
			w->rows[i][k] = (uint8_t)below(256);
		OK(cudaMallocArray(&w->array[i], &d, W, H, 0));
		OK(cudaMemcpy2DToArray(
			w->array[i], 0, 0, w->rows[i], ROW, ROW, H, cudaMemcpyHostToDevice));
	}
	same(w, "at first");
}

static void world_free(struct world *w)
{
	OK(cudaFree(w->device));
	OK(cudaFreeArray(w->array[0]));
	OK(cudaFreeArray(w->array[1]));
	OK(cudaStreamDestroy(w->stream));
}

/* A rectangle of memory, one byte after the other. */
static void move(uint8_t *dst, size_t dst_pitch, const uint8_t *src, size_t src_pitch, size_t width,
	size_t height)
{
	for (size_t y = 0; y < height; y++)
		memmove(dst + y * dst_pitch, src + y * src_pitch, width);
}

static void step(struct world *w)
{
	const unsigned i = below(2), what = below(10), way = below(3), async = below(2);
	/* in the array; memory has `pitch` */
	const size_t x = below(W) * TEXEL, y = below(H), width = (1 + below(W)) * TEXEL,
		     height = 1 + below(H), pitch = ROW + below(9), at = below(40),
		     run = below(BYTES + 8);
	const bool fits = x + width <= ROW && y + height <= H,
		   run_fits = y * ROW + x + run <= BYTES,
		   host = way == 0; /* 1: device memory, 2: the driver finds out */
	uint8_t *const plain = host ? w->real + at : (uint8_t *)w->device + at,
		       *const model = (host ? w->host : w->memory) + at,
		       *const texels = w->rows[i] + y * ROW + x;
	enum cudaMemcpyKind to = way == 2 ? cudaMemcpyDefault
				 : host	  ? cudaMemcpyHostToDevice
					  : cudaMemcpyDeviceToDevice,
			    from = way == 2 ? cudaMemcpyDefault
				   : host   ? cudaMemcpyDeviceToHost
					    : cudaMemcpyDeviceToDevice;
	cudaArray_t a = w->array[i];
	cudaError_t e = cudaSuccess;
	char name[64];

	snprintf(name, sizeof name, "kind %u way %u async %u", what, way, async);
	if (what < 2) {
		e = async ? cudaMemcpy2DToArrayAsync(
				    a, x, y, plain, pitch, width, height, to, w->stream)
			  : cudaMemcpy2DToArray(a, x, y, plain, pitch, width, height, to);
		if (fits)
			move(texels, ROW, model, pitch, width, height);
	} else if (what < 4) {
		e = async ? cudaMemcpy2DFromArrayAsync(
				    plain, pitch, a, x, y, width, height, from, w->stream)
			  : cudaMemcpy2DFromArray(plain, pitch, a, x, y, width, height, from);
		if (fits)
			move(model, pitch, texels, ROW, width, height);
	} else if (what < 8) {
		if (!run_fits)
			return; /* a part of it may be copied: not said */
		if (what < 6)
			e = async ? cudaMemcpyToArrayAsync(a, x, y, plain, run, to, w->stream)
				  : cudaMemcpyToArray(a, x, y, plain, run, to);
		else
			e = async ? cudaMemcpyFromArrayAsync(plain, a, x, y, run, from, w->stream)
				  : cudaMemcpyFromArray(plain, a, x, y, run, from);
		if (what < 6)
			memcpy(texels, model, run);
		else
			memcpy(model, texels, run);
		assert_int_equal(e, cudaSuccess);
		OK(cudaStreamSynchronize(w->stream));
		return;
	} else {
		/* array to array: runs, or rectangles */
		const size_t x2 = below(W) * TEXEL, y2 = below(H);
		uint8_t *const other = w->rows[!i] + y2 * ROW + x2;

		if (what == 8) {
			if (!run_fits || y2 * ROW + x2 + run > BYTES)
				return;
			OK(cudaMemcpyArrayToArray(
				w->array[!i], x2, y2, a, x, y, run, cudaMemcpyDeviceToDevice));
			memcpy(other, texels, run);
			return;
		}
		const bool both = fits && x2 + width <= ROW && y2 + height <= H;

		e = cudaMemcpy2DArrayToArray(
			w->array[!i], x2, y2, a, x, y, width, height, cudaMemcpyDeviceToDevice);
		assert_int_equal(e, both ? cudaSuccess : cudaErrorInvalidValue);
		if (both)
			move(other, ROW, texels, ROW, width, height);
		return;
	}
	OK(cudaStreamSynchronize(w->stream));
	if (e != (fits ? cudaSuccess : cudaErrorInvalidValue))
		fail_msg("%s: %d", name, e);
}

static void test_copies_of_arrays(void **state)
{
	static struct world w;

	seed = 5;
	world_init(&w);
	for (unsigned i = 0; i < 1500; i++) {
		step(&w);
		(void)cudaGetLastError();
		if (i % 10 == 9)
			same(&w, "after ten copies");
	}
	world_free(&w);
}

static void test_wrong_copies(void **state)
{
	static struct world w;
	struct cudaMemcpy3DParms p = {0};
	struct world *v = &w;

	world_init(v);
	/* a direction that an array does not have; pitches that are too small */
	IS(cudaMemcpy2DToArray(v->array[0], 0, 0, v->real, ROW, 4, 1, cudaMemcpyDeviceToHost),
		InvalidMemcpyDirection);
	IS(cudaMemcpy2DFromArray(v->real, ROW, v->array[0], 0, 0, 4, 1, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	IS(cudaMemcpyToArray(v->array[0], 0, 0, v->real, 4, cudaMemcpyHostToHost),
		InvalidMemcpyDirection);
	IS(cudaMemcpyFromArray(v->real, v->array[0], 0, 0, 4, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	IS(cudaMemcpy2DArrayToArray(
		   v->array[0], 0, 0, v->array[1], 0, 0, 4, 1, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	IS(cudaMemcpyArrayToArray(v->array[0], 0, 0, v->array[1], 0, 0, 4, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	IS(cudaMemcpy2DToArray(v->array[0], 0, 0, v->real, 7, 8, 1, cudaMemcpyHostToDevice),
		InvalidPitchValue);
	OK(cudaMemcpy2DToArray(v->array[0], 0, 0, v->real, 7, 8, 0, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2DToArray(v->array[0], 0, 0, v->real, 7, 0, 1, cudaMemcpyHostToDevice));
	IS(cudaMemcpy2DFromArray(v->real, 7, v->array[0], 0, 0, 8, 1, cudaMemcpyDeviceToHost),
		InvalidPitchValue);
	IS(cudaMemcpyToArray(v->array[0], ROW, 0, v->real, 4, cudaMemcpyHostToDevice),
		InvalidValue);
	OK(cudaMemcpyToArray(v->array[0], ROW, 0, v->real, 0, cudaMemcpyHostToDevice));
	IS(cudaMemcpyArrayToArray(
		   v->array[0], ROW, 0, v->array[1], 0, 0, 4, cudaMemcpyDeviceToDevice),
		InvalidValue);
	IS(cudaMemcpyArrayToArray(
		   v->array[0], 0, 0, v->array[1], ROW, 0, 4, cudaMemcpyDeviceToDevice),
		InvalidValue);
	OK(cudaMemcpyArrayToArray(
		v->array[0], 0, 0, v->array[1], ROW, 0, 0, cudaMemcpyDeviceToDevice));
	IS(cudaMemcpy(v->real, v->device, 4, (enum cudaMemcpyKind)5), InvalidMemcpyDirection);
	IS(cudaMemcpyAsync(v->real, v->device, 4, (enum cudaMemcpyKind)5, v->stream),
		InvalidMemcpyDirection);
	IS(cudaMemcpy2D(v->real, 7, v->device, 9, 8, 1, cudaMemcpyDeviceToHost), InvalidPitchValue);
	IS(cudaMemcpy2D(v->real, 9, v->device, 7, 8, 1, cudaMemcpyDeviceToHost), InvalidPitchValue);
	OK(cudaMemcpy2D(v->real, 8, v->device, 8, 8, 0, cudaMemcpyDeviceToHost));
	IS(cudaMemcpy2D(v->real, 8, v->device, 8, 8, 1, (enum cudaMemcpyKind)5),
		InvalidMemcpyDirection);
	OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
	IS(cudaMemcpyPeer(v->device, 77, v->device, 0, 4), InvalidDevice);
	IS(cudaMemcpyPeer(v->device, 0, v->device, -1, 4), InvalidDevice);
	OK(cudaMemcpyPeer(v->device, 0, v->device, 0, 0));
	IS(cudaMemcpy3D(NULL), InvalidValue);
	p.kind = (enum cudaMemcpyKind)5;
	IS(cudaMemcpy3D(&p), InvalidMemcpyDirection);
	p.kind = cudaMemcpyHostToDevice;
	p.dstArray = v->array[0];
	p.srcPtr = (struct cudaPitchedPtr){v->real, ROW, ROW, H};
	p.extent = (struct cudaExtent){W, H, 1};
	p.dstPtr.ptr = v->device; /* an array and a pointer */
	IS(cudaMemcpy3D(&p), InvalidValue);
	p.dstPtr.ptr = NULL;
	p.extent.width = SIZE_MAX / TEXEL + 1;
	IS(cudaMemcpy3D(&p), InvalidValue);
	p.extent.width = W;
	p.extent.depth = 0;
	OK(cudaMemcpy3D(&p));
	same(v, "nothing was copied");
	/* with an array the extent, and the position in it, are texels */
	p.extent = (struct cudaExtent){W - 2, H - 1, 1};
	p.dstPos = (struct cudaPos){2, 1, 0};
	p.srcPos = (struct cudaPos){TEXEL, 1, 0};
	OK(cudaMemcpy3D(&p));
	move(v->rows[0] + ROW + 2 * TEXEL, ROW, v->host + ROW + TEXEL, ROW, ROW - 2 * TEXEL, H - 1);
	same(v, "a part of an array");
	world_free(v);
	(void)cudaGetLastError();
}

/* cudaMemcpy2D and cudaMemcpy3D of plain memory, both ways and in both forms. */
static void test_rectangles(void **state)
{
	static struct world w;

	seed = 9;
	world_init(&w);
	for (unsigned i = 0; i < 300; i++) {
		const size_t width = 1 + below(20), height = 1 + below(6), sp = width + below(5),
			     dp = width + below(5), sx = below(30), dx = below(30);
		const unsigned way = below(4), form = below(4);
		static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice,
			cudaMemcpyDeviceToHost, cudaMemcpyDefault, cudaMemcpyDefault};
		const bool up = way == 0 || way == 2;
		uint8_t *dst = up ? (uint8_t *)w.device + dx : w.real + dx,
			*src = up ? w.real + sx : (uint8_t *)w.device + sx;
		const struct cudaMemcpy3DParms p = {.srcPtr = {src, sp, width, height},
			.dstPtr = {dst, dp, width, height},
			.extent = {width, height, 1},
			.kind = kinds[way]};

		if (form == 0)
			OK(cudaMemcpy2D(dst, dp, src, sp, width, height, kinds[way]));
		else if (form == 1)
			OK(cudaMemcpy2DAsync(
				dst, dp, src, sp, width, height, kinds[way], w.stream));
		else if (form == 2)
			OK(cudaMemcpy3D(&p));
		else
			OK(cudaMemcpy3DAsync(&p, w.stream));
		OK(cudaStreamSynchronize(w.stream));
		if (up)
			move(w.memory + dx, dp, w.host + sx, sp, width, height);
		else
			move(w.host + dx, dp, w.memory + sx, sp, width, height);
		same(&w, "after a rectangle");
	}
	world_free(&w);
}

/* What the reference of struct cudaDeviceProp says of each member is what it says of an attribute.
 */
static void test_properties(void **state)
{
	struct cudaDeviceProp p;
	const struct {
		const char *name;
		const void *at;
		size_t size;
		enum cudaDeviceAttr attribute;
	} rows[] = {
#define PROP(member, attr) {#member, &p.member, sizeof p.member, cudaDevAttr##attr}
		PROP(sharedMemPerBlock, MaxSharedMemoryPerBlock),
		PROP(regsPerBlock, MaxRegistersPerBlock),
		PROP(warpSize, WarpSize),
		PROP(memPitch, MaxPitch),
		PROP(maxThreadsPerBlock, MaxThreadsPerBlock),
		PROP(maxThreadsDim[0], MaxBlockDimX),
		PROP(maxThreadsDim[1], MaxBlockDimY),
		PROP(maxThreadsDim[2], MaxBlockDimZ),
		PROP(maxGridSize[0], MaxGridDimX),
		PROP(maxGridSize[1], MaxGridDimY),
		PROP(maxGridSize[2], MaxGridDimZ),
		PROP(totalConstMem, TotalConstantMemory),
		PROP(major, ComputeCapabilityMajor),
		PROP(minor, ComputeCapabilityMinor),
		PROP(textureAlignment, TextureAlignment),
		PROP(texturePitchAlignment, TexturePitchAlignment),
		PROP(multiProcessorCount, MultiProcessorCount),
		PROP(integrated, Integrated),
		PROP(canMapHostMemory, CanMapHostMemory),
		PROP(maxTexture1D, MaxTexture1DWidth),
		PROP(maxTexture1DMipmap, MaxTexture1DMipmappedWidth),
		PROP(maxTexture2D[0], MaxTexture2DWidth),
		PROP(maxTexture2D[1], MaxTexture2DHeight),
		PROP(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth),
		PROP(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight),
		PROP(maxTexture2DLinear[0], MaxTexture2DLinearWidth),
		PROP(maxTexture2DLinear[1], MaxTexture2DLinearHeight),
		PROP(maxTexture2DLinear[2], MaxTexture2DLinearPitch),
		PROP(maxTexture2DGather[0], MaxTexture2DGatherWidth),
		PROP(maxTexture2DGather[1], MaxTexture2DGatherHeight),
		PROP(maxTexture3D[0], MaxTexture3DWidth),
		PROP(maxTexture3D[1], MaxTexture3DHeight),
		PROP(maxTexture3D[2], MaxTexture3DDepth),
		PROP(maxTextureCubemap, MaxTextureCubemapWidth),
		PROP(maxTexture1DLayered[0], MaxTexture1DLayeredWidth),
		PROP(maxTexture1DLayered[1], MaxTexture1DLayeredLayers),
		PROP(maxTexture2DLayered[0], MaxTexture2DLayeredWidth),
		PROP(maxTexture2DLayered[1], MaxTexture2DLayeredHeight),
		PROP(maxTexture2DLayered[2], MaxTexture2DLayeredLayers),
		PROP(surfaceAlignment, SurfaceAlignment),
		PROP(concurrentKernels, ConcurrentKernels),
		PROP(ECCEnabled, EccEnabled),
		PROP(pciBusID, PciBusId),
		PROP(pciDeviceID, PciDeviceId),
		PROP(pciDomainID, PciDomainId),
		PROP(tccDriver, TccDriver),
		PROP(asyncEngineCount, AsyncEngineCount),
		PROP(unifiedAddressing, UnifiedAddressing),
		PROP(memoryBusWidth, GlobalMemoryBusWidth),
		PROP(l2CacheSize, L2CacheSize),
		PROP(persistingL2CacheMaxSize, MaxPersistingL2CacheSize),
		PROP(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
		PROP(streamPrioritiesSupported, StreamPrioritiesSupported),
		PROP(globalL1CacheSupported, GlobalL1CacheSupported),
		PROP(localL1CacheSupported, LocalL1CacheSupported),
		PROP(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
		PROP(regsPerMultiprocessor, MaxRegistersPerMultiprocessor),
		PROP(managedMemory, ManagedMemory),
		PROP(isMultiGpuBoard, IsMultiGpuBoard),
		PROP(hostNativeAtomicSupported, HostNativeAtomicSupported),
		PROP(pageableMemoryAccess, PageableMemoryAccess),
		PROP(concurrentManagedAccess, ConcurrentManagedAccess),
		PROP(computePreemptionSupported, ComputePreemptionSupported),
		PROP(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem),
		PROP(cooperativeLaunch, CooperativeLaunch),
		PROP(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
		PROP(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
		PROP(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize),
		PROP(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock),
		PROP(hostRegisterSupported, HostRegisterSupported),
		PROP(memoryPoolsSupported, MemoryPoolsSupported),
		PROP(maxSurface2D[0], MaxSurface2DWidth),
		PROP(maxSurface2D[1], MaxSurface2DHeight),
		PROP(maxTexture3DAlt[0], MaxTexture3DWidthAlt),
		PROP(maxSurface3D[0], MaxSurface3DWidth),
		PROP(maxTexture3DAlt[1], MaxTexture3DHeightAlt),
		PROP(maxSurface3D[1], MaxSurface3DHeight),
		PROP(maxTexture3DAlt[2], MaxTexture3DDepthAlt),
		PROP(maxSurface3D[2], MaxSurface3DDepth),
		PROP(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth),
		PROP(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers),
		PROP(maxSurfaceCubemap, MaxSurfaceCubemapWidth),
		PROP(maxSurface1DLayered[0], MaxSurface1DLayeredWidth),
		PROP(maxSurfaceCubemapLayered[0], MaxSurfaceCubemapLayeredWidth),
		PROP(maxSurface1DLayered[1], MaxSurface1DLayeredLayers),
		PROP(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers),
		PROP(maxSurface2DLayered[0], MaxSurface2DLayeredWidth),
		PROP(maxSurface2DLayered[1], MaxSurface2DLayeredHeight),
		PROP(maxSurface2DLayered[2], MaxSurface2DLayeredLayers),
		PROP(maxSurface1D, MaxSurface1DWidth),
		PROP(sparseCudaArraySupported, SparseCudaArraySupported),
		PROP(timelineSemaphoreInteropSupported, TimelineSemaphoreInteropSupported),
		PROP(gpuDirectRDMASupported, GPUDirectRDMASupported),
		PROP(gpuDirectRDMAFlushWritesOptions, GPUDirectRDMAFlushWritesOptions),
		PROP(gpuDirectRDMAWritesOrdering, GPUDirectRDMAWritesOrdering),
		PROP(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes),
		PROP(deferredMappingCudaArraySupported, DeferredMappingCudaArraySupported),
		PROP(ipcEventSupported, IpcEventSupport),
		PROP(clusterLaunch, ClusterLaunch),
#undef PROP
	};

	memset(&p, 0xee, sizeof p);
	OK(cudaGetDeviceProperties(&p, 0));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const long long got = rows[i].size == sizeof(size_t)
					      ? (long long)*(const size_t *)rows[i].at
					      : *(const int *)rows[i].at;
		int want = -1;

		OK(cudaDeviceGetAttribute(&want, rows[i].attribute, 0));
		if (got != want)
			fail_msg("%s: %lld, not %d", rows[i].name, got, want);
	}
	assert_int_equal(p.warpSize, 32);
	assert_int_not_equal(p.name[0], 0);
}

/* --- devices --- */

static void test_devices(void **state)
{
	int n = -1, dev = -1, list[] = {0, 77, -1}, yes = 9;
	enum cudaSharedMemConfig banks = 99;
	enum cudaFuncCache cache;
	struct cudaDeviceProp prop;
	unsigned flags = 0;
	size_t limit = 0;

	IS(cudaGetDeviceCount(NULL), InvalidValue);
	OK(cudaGetDeviceCount(&n));
	assert_true(n >= 1);
	IS(cudaSetDevice(-1), InvalidDevice);
	IS(cudaSetDevice(n), InvalidDevice);
	OK(cudaSetDevice(0));
	IS(cudaInitDevice(n, 0, 0), InvalidDevice);
	OK(cudaInitDevice(0, 0, 0));
	IS(cudaGetDevice(NULL), InvalidValue);
	OK(cudaGetDevice(&dev));
	assert_int_equal(dev, 0);
	OK(cudaSetValidDevices(list, 1));
	IS(cudaSetValidDevices(list, 2), InvalidDevice);
	IS(cudaSetValidDevices(list + 2, 1), InvalidDevice);
	IS(cudaSetValidDevices(NULL, 1), InvalidValue);
	OK(cudaSetValidDevices(NULL, 0));
	OK(cudaGetDeviceProperties(&prop, 0));
	IS(cudaChooseDevice(NULL, &prop), InvalidValue);
	IS(cudaChooseDevice(&dev, NULL), InvalidValue);
	dev = 5;
	OK(cudaChooseDevice(&dev, &prop));
	assert_int_equal(dev, 0);

	IS(cudaSetDeviceFlags(0x8000), InvalidValue);
	OK(cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceMapHost));
	IS(cudaGetDeviceFlags(NULL), InvalidValue);
	OK(cudaGetDeviceFlags(&flags));
	assert_int_equal(flags, cudaDeviceScheduleYield | cudaDeviceMapHost);
	OK(cudaSetDeviceFlags(0));
	OK(cudaGetDeviceFlags(&flags));
	assert_int_equal(flags, cudaDeviceMapHost);

	IS(cudaDriverGetVersion(NULL), InvalidValue);
	OK(cudaDriverGetVersion(&yes));
	assert_true(yes >= 13000);
	IS(cudaRuntimeGetVersion(NULL), InvalidValue);
	OK(cudaRuntimeGetVersion(&yes));
	assert_int_equal(yes, CUDART_VERSION);
	OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
	OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
	assert_int_equal(limit, 16 << 20);
	OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
	OK(cudaDeviceGetCacheConfig(&cache));
	IS(cudaDeviceGetSharedMemConfig(NULL), InvalidValue);
	OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
	OK(cudaDeviceGetSharedMemConfig(&banks));
	assert_int_equal(banks, cudaSharedMemBankSizeFourByte);
	int least = -7, greatest = 7;

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	assert_true(least == 0 && greatest < 0);
	OK(cudaCtxResetPersistingL2Cache());

	IS(cudaDeviceCanAccessPeer(NULL, 0, 0), InvalidValue);
	IS(cudaDeviceCanAccessPeer(&yes, -1, 0), InvalidDevice);
	IS(cudaDeviceCanAccessPeer(&yes, n, 0), InvalidDevice);
	IS(cudaDeviceCanAccessPeer(&yes, 0, -1), InvalidDevice);
	IS(cudaDeviceCanAccessPeer(&yes, 0, n), InvalidDevice);
	OK(cudaDeviceCanAccessPeer(&yes, 0, 0));
	assert_int_equal(yes, 0);
	IS(cudaDeviceEnablePeerAccess(n, 0), InvalidDevice);
	IS(cudaDeviceEnablePeerAccess(-1, 0), InvalidDevice);
	IS(cudaDeviceEnablePeerAccess(0, 1), InvalidValue);
	IS(cudaDeviceEnablePeerAccess(0, 0), PeerAccessUnsupported);
	IS(cudaDeviceDisablePeerAccess(n), InvalidDevice);
	IS(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 1), InvalidValue);
	IS(cudaDeviceGetP2PAttribute(&yes, cudaDevP2PAttrAccessSupported, 0, 0), InvalidDevice);
	IS(cudaDeviceGetP2PAttribute(&yes, cudaDevP2PAttrAccessSupported, -1, 0), InvalidDevice);
	IS(cudaDeviceGetP2PAttribute(&yes, cudaDevP2PAttrAccessSupported, 0, n), InvalidDevice);
	(void)cudaGetLastError();
}

/* A reset frees what the device has; the next call makes it new. */
static void test_reset(void **state)
{
	struct cudaPointerAttributes a;
	void *p, *q;

	OK(cudaMalloc(&p, 4096));
	OK(cudaPointerGetAttributes(&a, p));
	assert_int_equal(a.type, cudaMemoryTypeDevice);
	OK(cudaDeviceReset());
	OK(cudaMalloc(&q, 4096));
	OK(cudaMemset(q, 1, 4096));
	OK(cudaDeviceSynchronize());
	OK(cudaFree(q));
	OK(cudaDeviceReset());
	OK(cudaDeviceReset()); /* there is nothing */
	OK(cudaDeviceSynchronize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_copies_of_arrays),
		cmocka_unit_test(test_wrong_copies),
		cmocka_unit_test(test_rectangles),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests_name("softgpu-runtime-calls", tests, NULL, NULL);
}
