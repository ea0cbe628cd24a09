/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runtime is given, asked of the driver: every field of texture and resource descriptors,
 * nodes of every type by cudaGraphAddNode and both cudaGraph...SetParams, boxes copied and filled;
 * and each argument that is wrong by itself is refused.
 */
#include "softgpu-test.h"

#include <cuda_runtime_api.h>
#include <string.h>

#define RT(call) assert_int_equal(call, cudaSuccess)
#define RT_IS(call, code) assert_int_equal(call, cudaError##code)

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			  ".visible .entry k(.param .u32 n) { ret; }\n";

static cudaLibrary_t library;
static cudaKernel_t kernel;
static char *memory; /* of the device, 4 KiB */

static int start(void **state)
{
	softgpu_start(state);
	RT(cudaSetDevice(0));
	RT(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	RT(cudaLibraryGetKernel(&kernel, library, "k"));
	RT(cudaMalloc((void **)&memory, 4096));
	return 0;
}

static int stop(void **state)
{
	RT(cudaFree(memory));
	RT(cudaLibraryUnload(library));
	return softgpu_stop(state);
}

/* --- textures --- */

static struct cudaResourceDesc linear_floats(void)
{
	return (struct cudaResourceDesc){.resType = cudaResourceTypeLinear,
		.res.linear = {.devPtr = memory,
			.desc = {32, 0, 0, 0, cudaChannelFormatKindFloat},
			.sizeInBytes = 256}};
}

/* Each flag alone, each number another. */
static void test_texture_fields(void **state)
{
	struct cudaResourceDesc r = {.resType = cudaResourceTypePitch2D,
		.res.pitch2D = {.devPtr = memory,
			.desc = {8, 8, 0, 0, cudaChannelFormatKindUnsigned},
			.width = 12,
			.height = 5,
			.pitchInBytes = 64}};

	for (unsigned flag = 0; flag < 6; flag++) {
		const struct cudaTextureDesc t = {
			.addressMode = {cudaAddressModeClamp, cudaAddressModeBorder,
				cudaAddressModeWrap},
			.filterMode = cudaFilterModePoint,
			.readMode =
				flag == 1 ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
			.sRGB = flag == 2,
			.borderColor = {1, 2, 3, 4},
			.normalizedCoords = flag == 3,
			.maxAnisotropy = 5,
			.mipmapFilterMode = cudaFilterModeLinear,
			.mipmapLevelBias = 6,
			.minMipmapLevelClamp = 7,
			.maxMipmapLevelClamp = 8,
			.disableTrilinearOptimization = flag == 4,
			.seamlessCubemap = flag == 5};
		static const unsigned flags[] = {0, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB,
			CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION,
			CU_TRSF_SEAMLESS_CUBEMAP};
		struct cudaTextureDesc back;
		CUDA_TEXTURE_DESC d;
		cudaTextureObject_t o;

		RT(cudaCreateTextureObject(&o, &r, &t, NULL));
		OK(cuTexObjectGetTextureDesc(&d, o));
		assert_int_equal(d.flags, flags[flag]);
		assert_int_equal(d.addressMode[0] * 100 + d.addressMode[1] * 10 + d.addressMode[2],
			CU_TR_ADDRESS_MODE_CLAMP * 100 + CU_TR_ADDRESS_MODE_BORDER * 10 +
				CU_TR_ADDRESS_MODE_WRAP);
		assert_memory_equal(d.borderColor, t.borderColor, sizeof t.borderColor);
		assert_int_equal(d.filterMode, CU_TR_FILTER_MODE_POINT);
		assert_int_equal(d.mipmapFilterMode, CU_TR_FILTER_MODE_LINEAR);
		assert_int_equal(d.maxAnisotropy, 5);
		assert_true(d.mipmapLevelBias == 6 && d.minMipmapLevelClamp == 7 &&
			    d.maxMipmapLevelClamp == 8);
		RT(cudaGetTextureObjectTextureDesc(&back, o));
		assert_memory_equal(&back, &t, sizeof t);
		RT(cudaDestroyTextureObject(o));
	}
}

static void test_texture_resources(void **state)
{
	const struct cudaTextureDesc t = {.readMode = cudaReadModeElementType};
	const struct cudaChannelFormatDesc floats = {32, 32, 32, 32, cudaChannelFormatKindFloat};
	struct cudaResourceDesc r = {.resType = cudaResourceTypePitch2D,
					.res.pitch2D = {.devPtr = memory,
						.desc = {16, 16, 0, 0, cudaChannelFormatKindSigned},
						.width = 9,
						.height = 6,
						.pitchInBytes = 96}},
				back;
	CUDA_RESOURCE_DESC d;
	cudaTextureObject_t o;
	cudaArray_t a;

	RT(cudaCreateTextureObject(&o, &r, &t, NULL));
	OK(cuTexObjectGetResourceDesc(&d, o));
	assert_int_equal(d.resType, CU_RESOURCE_TYPE_PITCH2D);
	assert_int_equal(d.res.pitch2D.devPtr, (CUdeviceptr)memory);
	assert_int_equal(d.res.pitch2D.format, CU_AD_FORMAT_SIGNED_INT16);
	assert_int_equal(d.res.pitch2D.numChannels, 2);
	assert_int_equal(d.res.pitch2D.width * 100 + d.res.pitch2D.height, 906);
	assert_int_equal(d.res.pitch2D.pitchInBytes, 96);
	RT(cudaGetTextureObjectResourceDesc(&back, o));
	assert_int_equal(back.resType, r.resType);
	assert_memory_equal(&back.res.pitch2D, &r.res.pitch2D, sizeof r.res.pitch2D);
	RT(cudaDestroyTextureObject(o));

	r = linear_floats();
	RT(cudaCreateTextureObject(&o, &r, &t, NULL));
	OK(cuTexObjectGetResourceDesc(&d, o));
	assert_int_equal(d.resType, CU_RESOURCE_TYPE_LINEAR);
	assert_int_equal(d.res.linear.devPtr, (CUdeviceptr)memory);
	assert_int_equal(d.res.linear.format, CU_AD_FORMAT_FLOAT);
	assert_int_equal(d.res.linear.numChannels, 1);
	assert_int_equal(d.res.linear.sizeInBytes, 256);
	RT(cudaGetTextureObjectResourceDesc(&back, o));
	assert_int_equal(back.resType, r.resType);
	assert_memory_equal(&back.res.linear, &r.res.linear, sizeof r.res.linear);
	RT(cudaDestroyTextureObject(o));

	RT(cudaMallocArray(&a, &floats, 8, 4, cudaArraySurfaceLoadStore));
	r = (struct cudaResourceDesc){.resType = cudaResourceTypeArray, .res.array.array = a};
	RT(cudaCreateTextureObject(&o, &r, &t, NULL));
	OK(cuTexObjectGetResourceDesc(&d, o));
	assert_int_equal(d.resType, CU_RESOURCE_TYPE_ARRAY);
	assert_ptr_equal(d.res.array.hArray, a);
	RT(cudaGetTextureObjectResourceDesc(&back, o));
	assert_int_equal(back.resType, r.resType);
	assert_ptr_equal(back.res.array.array, a);
	RT(cudaDestroyTextureObject(o));
	RT(cudaCreateSurfaceObject(&o, &r));
	OK(cuSurfObjectGetResourceDesc(&d, o));
	assert_ptr_equal(d.res.array.hArray, a);
	RT(cudaGetSurfaceObjectResourceDesc(&back, o));
	assert_int_equal(back.resType, r.resType);
	assert_ptr_equal(back.res.array.array, a);
	RT(cudaDestroySurfaceObject(o));
	RT(cudaFreeArray(a));
}

/* "CUDA Runtime API", cudaErrorInvalidNormSetting: 32-bit integers are not read as normalized
 * floats; cudaErrorInvalidFilterSetting: integers are not filtered linearly as they are. */
static void test_texture_reading(void **state)
{
	static const struct {
		int bits;
		enum cudaChannelFormatKind kind;
		bool integer;
	} formats[] = {
		{8, cudaChannelFormatKindUnsigned, true},
		{16, cudaChannelFormatKindSigned, true},
		{32, cudaChannelFormatKindUnsigned, true},
		{32, cudaChannelFormatKindSigned, true},
		{16, cudaChannelFormatKindFloat, false},
		{32, cudaChannelFormatKindFloat, false},
	};

	for (unsigned k = 0; k < COUNT_OF(formats) * 4; k++) {
		const unsigned f = k / 4;
		const bool normal = k & 1, linear = k & 2;
		const struct cudaChannelFormatDesc c = {formats[f].bits, 0, 0, 0, formats[f].kind};
		const struct cudaTextureDesc t = {
			.readMode = normal ? cudaReadModeNormalizedFloat : cudaReadModeElementType,
			.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint};
		struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
		const cudaError_t want = normal && formats[f].integer && formats[f].bits == 32
						 ? cudaErrorInvalidNormSetting
					 : !normal && formats[f].integer && linear
						 ? cudaErrorInvalidFilterSetting
						 : cudaSuccess;
		cudaTextureObject_t o;
		cudaArray_t a;

		RT(cudaMallocArray(&a, &c, 8, 4, 0));
		r.res.array.array = a;
		assert_int_equal(cudaCreateTextureObject(&o, &r, &t, NULL), want);
		if (!want)
			RT(cudaDestroyTextureObject(o));
		RT(cudaFreeArray(a));
	}
}

static void test_texture_refusals(void **state)
{
	struct cudaTextureDesc t = {.readMode = cudaReadModeElementType};
	struct cudaResourceDesc r = linear_floats();
	cudaTextureObject_t o;

	RT_IS(cudaCreateTextureObject(NULL, &r, &t, NULL), InvalidValue);
	RT_IS(cudaCreateTextureObject(&o, NULL, &t, NULL), InvalidValue);
	RT_IS(cudaCreateTextureObject(&o, &r, NULL, NULL), InvalidValue);
	RT_IS(cudaCreateSurfaceObject(NULL, &r), InvalidValue);
	RT_IS(cudaCreateSurfaceObject(&o, NULL), InvalidValue);
	RT(cudaCreateTextureObject(&o, &r, &t, NULL));
	RT_IS(cudaGetTextureObjectResourceDesc(NULL, o), InvalidValue);
	RT_IS(cudaGetTextureObjectTextureDesc(NULL, o), InvalidValue);
	RT_IS(cudaGetSurfaceObjectResourceDesc(NULL, o), InvalidValue);
	RT(cudaDestroyTextureObject(o));
	r.resType = (enum cudaResourceType)9;
	RT_IS(cudaCreateTextureObject(&o, &r, &t, NULL), InvalidValue);
}

/* --- nodes of every type --- */

static void host_function(void *data)
{
}

static CUgraphNodeType type_of(cudaGraphNode_t n)
{
	CUgraphNodeType t = (CUgraphNodeType)99;

	OK(cuGraphNodeGetType(n, &t));
	return t;
}

static struct cudaGraphNodeParams copy_node(size_t n)
{
	struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeMemcpy};

	p.memcpy.copyParams = (struct cudaMemcpy3DParms){.srcPtr = {memory, 64, 64, 1},
		.dstPtr = {memory + 1024, 64, 64, 1},
		.extent = {n, 1, 1},
		.kind = cudaMemcpyDeviceToDevice};
	return p;
}

static struct cudaGraphNodeParams fill_node(unsigned value)
{
	return (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeMemset,
		.memset = {.dst = memory,
			.pitch = 64,
			.value = value,
			.elementSize = 4,
			.width = 7,
			.height = 2}};
}

static struct cudaGraphNodeParams host_node(void *data)
{
	return (struct cudaGraphNodeParams){
		.type = cudaGraphNodeTypeHost, .host = {.fn = host_function, .userData = data}};
}

static struct cudaGraphNodeParams kernel_node(unsigned grid, void **args)
{
	return (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeKernel,
		.kernel = {.func = (void *)kernel,
			.gridDim = {grid, 1, 1},
			.blockDim = {32, 1, 1},
			.kernelParams = args}};
}

static void is_fill(cudaGraphNode_t n, unsigned value)
{
	CUDA_MEMSET_NODE_PARAMS d;

	OK(cuGraphMemsetNodeGetParams(n, &d));
	assert_int_equal(d.dst, (CUdeviceptr)memory);
	assert_int_equal(d.pitch, 64);
	assert_int_equal(d.value, value);
	assert_int_equal(d.elementSize, 4);
	assert_int_equal(d.width * 10 + d.height, 72);
}

static void is_copy(cudaGraphNode_t n, size_t bytes)
{
	CUDA_MEMCPY3D d;

	OK(cuGraphMemcpyNodeGetParams(n, &d));
	assert_int_equal(d.srcDevice, (CUdeviceptr)memory);
	assert_int_equal(d.dstDevice, (CUdeviceptr)memory + 1024);
	assert_int_equal(d.WidthInBytes, bytes);
	assert_int_equal(d.Height * 10 + d.Depth, 11);
}

static void is_host(cudaGraphNode_t n, void *data)
{
	CUDA_HOST_NODE_PARAMS d;

	OK(cuGraphHostNodeGetParams(n, &d));
	assert_ptr_equal((void *)d.fn, (void *)host_function);
	assert_ptr_equal(d.userData, data);
}

static void is_kernel(cudaGraphNode_t n, unsigned grid, unsigned value)
{
	CUDA_KERNEL_NODE_PARAMS d;

	OK(cuGraphKernelNodeGetParams(n, &d));
	assert_int_equal(d.gridDimX, grid);
	assert_int_equal(d.blockDimX, 32);
	assert_int_equal(*(unsigned *)d.kernelParams[0], value);
}

static void test_any_node(void **state)
{
	unsigned value = 5;
	void *args[] = {&value};
	struct cudaGraphNodeParams p = kernel_node(2, args), event = {0}, child = {0}, empty = {0};
	cudaGraphNode_t n[8];
	cudaGraph_t g, inner;
	cudaEvent_t e;
	CUevent got;
	CUgraph within;

	RT(cudaEventCreate(&e));
	RT(cudaGraphCreate(&g, 0));
	RT(cudaGraphCreate(&inner, 0));
	RT(cudaGraphAddNode(&n[0], g, NULL, NULL, 0, &p));
	p = copy_node(48);
	RT(cudaGraphAddNode(&n[1], g, &n[0], NULL, 1, &p));
	p = fill_node(3);
	RT(cudaGraphAddNode(&n[2], g, &n[1], NULL, 1, &p));
	p = host_node(&value);
	RT(cudaGraphAddNode(&n[3], g, NULL, NULL, 0, &p));
	child.type = cudaGraphNodeTypeGraph;
	child.graph.graph = inner;
	RT(cudaGraphAddNode(&n[4], g, NULL, NULL, 0, &child));
	empty.type = cudaGraphNodeTypeEmpty;
	RT(cudaGraphAddNode(&n[5], g, NULL, NULL, 0, &empty));
	event.type = cudaGraphNodeTypeWaitEvent;
	event.eventWait.event = e;
	RT(cudaGraphAddNode(&n[6], g, NULL, NULL, 0, &event));
	event = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeEventRecord};
	event.eventRecord.event = e;
	RT(cudaGraphAddNode(&n[7], g, NULL, NULL, 0, &event));

	assert_int_equal(type_of(n[0]), CU_GRAPH_NODE_TYPE_KERNEL);
	is_kernel(n[0], 2, 5);
	assert_int_equal(type_of(n[1]), CU_GRAPH_NODE_TYPE_MEMCPY);
	is_copy(n[1], 48);
	assert_int_equal(type_of(n[2]), CU_GRAPH_NODE_TYPE_MEMSET);
	is_fill(n[2], 3);
	assert_int_equal(type_of(n[3]), CU_GRAPH_NODE_TYPE_HOST);
	is_host(n[3], &value);
	assert_int_equal(type_of(n[4]), CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphChildGraphNodeGetGraph(n[4], &within));
	assert_int_equal(type_of(n[5]), CU_GRAPH_NODE_TYPE_EMPTY);
	assert_int_equal(type_of(n[6]), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	OK(cuGraphEventWaitNodeGetEvent(n[6], &got));
	assert_ptr_equal(got, e);
	assert_int_equal(type_of(n[7]), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	OK(cuGraphEventRecordNodeGetEvent(n[7], &got));
	assert_ptr_equal(got, e);

	/* what is set replaces it, whole */
	value = 6;
	p = kernel_node(4, args);
	RT(cudaGraphNodeSetParams(n[0], &p));
	is_kernel(n[0], 4, 6);
	p = copy_node(33);
	RT(cudaGraphNodeSetParams(n[1], &p));
	is_copy(n[1], 33);
	p = fill_node(9);
	RT(cudaGraphNodeSetParams(n[2], &p));
	is_fill(n[2], 9);
	p = host_node(args);
	RT(cudaGraphNodeSetParams(n[3], &p));
	is_host(n[3], args);
	RT_IS(cudaGraphNodeSetParams(n[0], NULL), InvalidValue);
	RT_IS(cudaGraphAddNode(&n[0], g, NULL, NULL, 0, NULL), InvalidValue);
	RT(cudaGraphDestroy(g));
	RT(cudaGraphDestroy(inner));
	RT(cudaEventDestroy(e));
}

static unsigned host_calls;
static void count_call(void *data)
{
	host_calls += *(unsigned *)data;
}

/* What an executable graph does after its nodes were set: the parameters are those set last. */
static void test_exec_nodes(void **state)
{
	unsigned one = 1, ten = 10, got[16];
	struct cudaGraphNodeParams p = fill_node(3), c = copy_node(16), h = host_node(&one);
	cudaGraphNode_t n[3];
	cudaGraphExec_t x;
	cudaGraph_t g;

	h.host.fn = count_call;
	host_calls = 0;
	RT(cudaMemset(memory, 0, 4096));
	RT(cudaGraphCreate(&g, 0));
	RT(cudaGraphAddNode(&n[0], g, NULL, NULL, 0, &p));
	RT(cudaGraphAddNode(&n[1], g, &n[0], NULL, 1, &c));
	RT(cudaGraphAddNode(&n[2], g, &n[1], NULL, 1, &h));
	RT(cudaGraphInstantiate(&x, g, 0));
	p = fill_node(7);
	RT(cudaGraphExecNodeSetParams(x, n[0], &p));
	c = copy_node(24);
	RT(cudaGraphExecNodeSetParams(x, n[1], &c));
	h.host.userData = &ten;
	RT(cudaGraphExecNodeSetParams(x, n[2], &h));
	RT_IS(cudaGraphExecNodeSetParams(x, n[2], NULL), InvalidValue);
	RT(cudaGraphLaunch(x, NULL));
	RT(cudaStreamSynchronize(NULL));
	assert_int_equal(host_calls, 10);
	RT(cudaMemcpy(got, memory + 1024, sizeof got, cudaMemcpyDeviceToHost));
	for (unsigned k = 0; k < 16; k++)
		assert_int_equal(got[k], k < 6 ? 7 : 0);
	is_fill(n[0], 3); /* the graph itself is as it was */
	is_copy(n[1], 16);
	RT(cudaGraphExecDestroy(x));
	RT(cudaGraphDestroy(g));
}

/* --- boxes --- */

static void fill_pattern(unsigned char *host)
{
	for (unsigned k = 0; k < 4096; k++)
		host[k] = (unsigned char)(k * 7 + k / 256);
	RT(cudaMemcpy(memory, host, 4096, cudaMemcpyHostToDevice));
}

/* 5 bytes, 3 rows, 2 slices from (2, 1, 1) to (4, 2, 0); rows of 32 bytes, slices of 6 rows. */
static void test_box_copies(void **state)
{
	static unsigned char host[4096], got[1024];
	const struct cudaMemcpy3DParms c = {.srcPtr = {memory, 32, 32, 6},
		.srcPos = {2, 1, 1},
		.dstPtr = {memory + 2048, 32, 32, 6},
		.dstPos = {4, 2, 0},
		.extent = {5, 3, 2},
		.kind = cudaMemcpyDeviceToDevice};
	struct cudaMemcpy3DParms zero = c;
	cudaStream_t s;

	RT(cudaStreamCreate(&s));
	for (unsigned how = 0; how < 2; how++) {
		fill_pattern(host);
		RT(cudaMemset(memory + 2048, 0, 1024));
		RT(how ? cudaMemcpy3DAsync(&c, s) : cudaMemcpy3D(&c));
		RT(cudaStreamSynchronize(s));
		RT(cudaMemcpy(got, memory + 2048, sizeof got, cudaMemcpyDeviceToHost));
		for (unsigned k = 0; k < sizeof got; k++) {
			const unsigned x = k % 32, y = k / 32 % 6, z = k / 192;
			const bool in = x >= 4 && x < 9 && y >= 2 && y < 5 && z < 2;

			assert_int_equal(got[k],
				in ? host[(z + 1) * 192 + (y - 2 + 1) * 32 + x - 4 + 2] : 0);
		}
	}
	/* a box without one of its sides is empty, and nothing else of it is looked at but its kind
	 */
	for (unsigned side = 0; side < 3; side++) {
		zero.extent = (struct cudaExtent){side != 0, side != 1, side != 2};
		RT(cudaMemcpy3D(&zero));
		RT(cudaMemcpy3DAsync(&zero, s));
	}
	RT_IS(cudaMemcpy3D(NULL), InvalidValue);
	RT(cudaStreamDestroy(s));
}

static void test_box_fills(void **state)
{
	static unsigned char host[4096], got[4096];
	const struct cudaPitchedPtr at = {memory + 64, 32, 32, 6};
	struct cudaPitchedPtr low = at;
	cudaStream_t s;

	RT(cudaStreamCreate(&s));
	for (unsigned how = 0; how < 2; how++) {
		fill_pattern(host);
		RT(how ? cudaMemset3DAsync(at, 0xee, (struct cudaExtent){9, 4, 3}, s)
		       : cudaMemset3D(at, 0xee, (struct cudaExtent){9, 4, 3}));
		RT(cudaStreamSynchronize(s));
		RT(cudaMemcpy(got, memory, sizeof got, cudaMemcpyDeviceToHost));
		for (unsigned k = 0; k < sizeof got; k++) {
			const unsigned b = k - 64;
			const bool in = k >= 64 && b % 32 < 9 && b / 32 % 6 < 4 && b / 192 < 3;

			assert_int_equal(got[k], in ? 0xee : host[k]);
		}
	}
	low.ysize = 3;
	RT_IS(cudaMemset3D(low, 1, (struct cudaExtent){9, 4, 2}), InvalidValue);
	RT(cudaMemset3D(low, 1, (struct cudaExtent){9, 4, 1}));
	low.ysize = 4;
	RT(cudaMemset3D(low, 1, (struct cudaExtent){9, 4, 2}));
	RT_IS(cudaMemset2D(memory, 16, 1, 17, 2), InvalidValue);
	RT(cudaMemset2D(memory, 16, 1, 16, 2));
	RT(cudaMemset2D(memory, 16, 1, 17, 1));
	RT(cudaMemset2D(NULL, 16, 1, 0, 2));
	RT(cudaMemset2D(NULL, 16, 1, 2, 0));
	RT(cudaMemset(NULL, 1, 0));
	RT(cudaStreamDestroy(s));
}

static void test_batches(void **state)
{
	static unsigned char host[4096], got[4096];
	void *dsts[2] = {memory + 2048, memory + 3000};
	const void *srcs[2] = {memory + 5, memory + 77};
	const size_t sizes[2] = {30, 9};
	struct cudaMemcpyAttributes a = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
	size_t first = 0;
	cudaStream_t s;

	RT(cudaStreamCreate(&s));
	fill_pattern(host);
	RT(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 2, &a, &first, 1, s));
	RT(cudaStreamSynchronize(s));
	RT(cudaMemcpy(got, memory, sizeof got, cudaMemcpyDeviceToHost));
	memcpy(host + 2048, host + 5, 30);
	memcpy(host + 3000, host + 77, 9);
	assert_memory_equal(got, host, sizeof got);
	RT_IS(cudaMemcpyBatchAsync(NULL, srcs, sizes, 2, &a, &first, 1, s), InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, NULL, sizes, 2, &a, &first, 1, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, NULL, 2, &a, &first, 1, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 0, &a, &first, 1, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 2, NULL, &first, 1, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 2, &a, NULL, 1, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 2, &a, &first, 0, s),
		InvalidValue);
	RT_IS(cudaMemcpyBatchAsync((void *const *)dsts, srcs, sizes, 2, &a, &first, 3, s),
		InvalidValue);
	RT(cudaStreamDestroy(s));
}

/* --- devices --- */

static void test_devices(void **state)
{
	int n, v = -1;

	RT(cudaGetDeviceCount(&n));
	RT_IS(cudaDeviceCanAccessPeer(NULL, 0, 0), InvalidValue);
	RT_IS(cudaDeviceCanAccessPeer(&v, -1, 0), InvalidDevice);
	RT_IS(cudaDeviceCanAccessPeer(&v, n, 0), InvalidDevice);
	RT_IS(cudaDeviceCanAccessPeer(&v, 0, -1), InvalidDevice);
	RT_IS(cudaDeviceCanAccessPeer(&v, 0, n), InvalidDevice);
	RT(cudaDeviceCanAccessPeer(&v, 0, 0));
	assert_int_equal(v, 0);
	RT_IS(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0), InvalidValue);
	RT_IS(cudaDeviceGetP2PAttribute(&v, cudaDevP2PAttrAccessSupported, 0, 0), InvalidDevice);
	RT_IS(cudaDeviceGetP2PAttribute(&v, cudaDevP2PAttrAccessSupported, -1, 0), InvalidDevice);
	RT_IS(cudaDeviceGetP2PAttribute(&v, cudaDevP2PAttrAccessSupported, 0, -1), InvalidDevice);
	RT_IS(cudaDeviceGetP2PAttribute(&v, cudaDevP2PAttrAccessSupported, n, 0), InvalidDevice);
	RT_IS(cudaDeviceGetP2PAttribute(&v, cudaDevP2PAttrAccessSupported, 0, n), InvalidDevice);
	RT_IS(cudaDeviceEnablePeerAccess(0, 0), PeerAccessUnsupported);
	RT_IS(cudaDeviceEnablePeerAccess(0, 1), InvalidValue);
	RT_IS(cudaDeviceEnablePeerAccess(-1, 0), InvalidDevice);
	RT_IS(cudaDeviceEnablePeerAccess(n, 0), InvalidDevice);
	RT_IS(cudaMemcpyPeer(memory, -1, memory + 64, 0, 4), InvalidDevice);
	RT_IS(cudaMemcpyPeer(memory, 0, memory + 64, n, 4), InvalidDevice);
	RT_IS(cudaMemcpyPeerAsync(memory, n, memory + 64, 0, 4, NULL), InvalidDevice);
	RT_IS(cudaMemcpyPeerAsync(memory, 0, memory + 64, -1, 4, NULL), InvalidDevice);
	RT(cudaMemcpyPeer(NULL, 0, NULL, 0, 0));
	RT(cudaMemcpyPeerAsync(NULL, 0, NULL, 0, 0, NULL));
}

static void test_peer_copies(void **state)
{
	static unsigned char host[4096], got[128];

	fill_pattern(host);
	RT(cudaMemcpyPeer(memory + 2048, 0, memory + 3, 0, 100));
	RT(cudaMemcpy(got, memory + 2048, sizeof got, cudaMemcpyDeviceToHost));
	assert_memory_equal(got, host + 3, 100);
	assert_memory_equal(got + 100, host + 2148, 28);
	RT(cudaMemcpyPeerAsync(memory + 2048, 0, memory + 9, 0, 100, NULL));
	RT(cudaMemcpy(got, memory + 2048, sizeof got, cudaMemcpyDeviceToHost));
	assert_memory_equal(got, host + 9, 100);
	assert_memory_equal(got + 100, host + 2148, 28);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texture_fields),
		cmocka_unit_test(test_texture_resources),
		cmocka_unit_test(test_texture_reading),
		cmocka_unit_test(test_texture_refusals),
		cmocka_unit_test(test_any_node),
		cmocka_unit_test(test_exec_nodes),
		cmocka_unit_test(test_box_copies),
		cmocka_unit_test(test_box_fills),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_peer_copies),
	};

	return cmocka_run_group_tests_name("softgpu-asked-back", tests, start, stop);
}
