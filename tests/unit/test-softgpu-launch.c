/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on the software GPU's driver: modules, libraries, functions, launches, faults. The
 * kernels are PTX written here; what they must compute is worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <cupti.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)

static const char ptx[] =
	".version 9.0\n.target sm_75\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 7;\n"
	".visible .const .align 4 .u32 factor[2] = {3, 5};\n"
	/* out[i] = a * i + b for i < n */
	".visible .entry line(.param .u64 out, .param .u8 a, .param .u32 b, .param .u32 n)\n{\n"
	".reg .b32 %r<8>; .reg .b64 %d<4>; .reg .b16 %h<2>; .reg .pred %p;\n"
	"ld.param.u64 %d0, [out]; ld.param.u8 %h0, [a]; ld.param.u32 %r1, [b]; ld.param.u32 %r2, [n];\n"
	"mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r3, %r3, %r4, %r5;\n"
	"setp.ge.u32 %p, %r3, %r2; @%p bra done;\n"
	"cvt.u32.u16 %r6, %h0; mad.lo.u32 %r6, %r6, %r3, %r1;\n"
	"cvta.to.global.u64 %d1, %d0; mul.wide.u32 %d2, %r3, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r6;\n"
	"done: ret;\n}\n"
	/* counter += k * factor[1], once per thread */
	".visible .entry count(.param .u32 k)\n{\n"
	".reg .b32 %r<4>; .reg .b64 %d<2>;\n"
	"ld.param.u32 %r0, [k]; ld.const.u32 %r1, [factor+4]; mul.lo.u32 %r0, %r0, %r1;\n"
	"mov.u64 %d0, counter; atom.global.add.u32 %r2, [%d0], %r0; ret;\n}\n"
	/* out[0] = the number of bytes of dynamic shared memory it could touch: writes one word per
	   thread there and adds them up */
	".extern .shared .align 4 .b8 dyn[];\n"
	".visible .entry shared_sum(.param .u64 out)\n{\n"
	".reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;\n"
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, dyn; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;\n"
	"st.shared.u32 [%r1], %r0; bar.sync 0; setp.ne.u32 %p, %r0, 0; @%p bra end;\n"
	"mov.u32 %r3, 0; mov.u32 %r4, %ntid.x; mov.u32 %r1, dyn;\n"
	"loop: ld.shared.u32 %r5, [%r1]; add.u32 %r3, %r3, %r5; add.u32 %r1, %r1, 4; sub.u32 %r4, %r4, 1;\n"
	"setp.ne.u32 %p, %r4, 0; @%p bra loop;\n"
	"st.global.u32 [%d0], %r3;\nend: ret;\n}\n"
	".visible .entry nothing()\n{\nret;\n}\n"
	".visible .entry small() .maxntid 64, 1, 1\n{\nret;\n}\n"
	".visible .entry store_at(.param .u64 where)\n{\n.reg .b64 %d<2>;\nld.param.u64 %d0, [where]; st.global.u32 [%d0], 1; ret;\n}\n"
	".visible .entry stop()\n{\ntrap; ret;\n}\n"
	/* out[t] = 1 + b, for block b of the grid and thread t of all threads, both counted by x,
	   y, z from what the registers say */
	".visible .entry place(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [out];\n"
	"mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r0, %r0, %r1, %r2;\n"
	"mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n"
	"mov.u32 %r3, %tid.z; mov.u32 %r1, %ntid.y; mov.u32 %r2, %tid.y; mad.lo.u32 %r3, %r3, %r1, %r2;\n"
	"mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r3, %r1, %r2;\n"
	"mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mul.lo.u32 %r4, %r4, %r5; mov.u32 %r5, %ntid.z; mul.lo.u32 %r4, %r4, %r5;\n"
	"mad.lo.u32 %r5, %r0, %r4, %r3; mul.wide.u32 %d1, %r5, 4; add.s64 %d1, %d0, %d1;\n"
	"add.u32 %r0, %r0, 1; st.global.u32 [%d1], %r0;\nret;\n}\n";

static CUcontext primary;
static CUmodule module;

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	OK(cuModuleLoadData(&module, ptx));
	return 0;
}

static int stop(void **state)
{
	OK(cuModuleUnload(module));
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static CUfunction fn(const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void test_functions(void **state)
{
	static const struct {
		size_t offset, size;
	} want[] = {{0, 8}, {8, 1}, {12, 4}, {16, 4}};
	CUfunction f = fn("line"), all[16], none;
	size_t i, offset, size;
	const char *name;
	unsigned count;
	CUmodule m;
	int n;

	IS(cuModuleGetFunction(&none, module, "lin"), NOT_FOUND);
	IS(cuModuleGetFunction(&none, module, "counter"), NOT_FOUND);
	IS(cuModuleGetFunction(&none, NULL, "line"), INVALID_HANDLE);
	OK(cuModuleGetFunctionCount(&count, module));
	assert_int_equal(count, 8);
	OK(cuModuleEnumerateFunctions(all, 16, module));
	assert_ptr_equal(all[0], f);
	OK(cuFuncGetName(&name, f));
	assert_string_equal(name, "line");
	OK(cuFuncGetModule(&m, f));
	assert_ptr_equal(m, module);
	for (i = 0; i < 4; i++) {
		OK(cuFuncGetParamInfo(f, i, &offset, &size));
		assert_int_equal(offset, want[i].offset);
		assert_int_equal(size, want[i].size);
	}
	IS(cuFuncGetParamInfo(f, 4, &offset, &size), INVALID_VALUE);
	OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	assert_int_equal(n, 1024);
	OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fn("small")));
	assert_int_equal(n, 64);
	OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	assert_int_equal(n, 75);
	OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	assert_int_equal(n, 49152);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, fn("nothing"), 1024, 0));
	assert_int_equal(n, 1);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, fn("nothing"), 32, 0));
	assert_int_equal(n, 16);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, fn("nothing"), 32, 20000));
	assert_int_equal(n, 3); /* 65536 / 20224 */
}

static void check_line(const unsigned *out, unsigned a, unsigned b, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		assert_int_equal(out[i], a * i + b);
	assert_int_equal(out[n], 0xffffffff);
}

static void test_params(void **state)
{
	struct __attribute__((packed)) {
		CUdeviceptr out;
		unsigned char a, pad[3];
		unsigned b, n;
	} buffer = {.a = 9, .b = 100, .n = 70};
	size_t size = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&size, CU_LAUNCH_PARAM_END};
	unsigned char a = 200;
	unsigned b = 1, n = 99, out[128];
	CUdeviceptr d;
	void *params[] = {&d, &a, &b, &n}, *holes[] = {&d, NULL, &b, &n};
	CUfunction f = fn("line");

	OK(cuMemAlloc(&d, sizeof(out)));
	OK(cuMemsetD8(d, 0xff, sizeof(out)));
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	b = 12345; /* copied at the call */
	OK(cuMemcpyDtoH(out, d, sizeof(out)));
	check_line(out, 200, 1, 99);
	OK(cuMemsetD8(d, 0xff, sizeof(out)));
	buffer.out = d;
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH(out, d, sizeof(out)));
	check_line(out, 9, 100, 70);
	size--;
	IS(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), INVALID_VALUE);
	IS(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params, extra), INVALID_VALUE);
	IS(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, holes, NULL), INVALID_VALUE);
	OK(cuMemFree(d));
}

static void test_shapes(void **state)
{
	CUfunction f = fn("nothing"), s = fn("small");

	OK(cuLaunchKernel(f, 1, 1, 1, 1024, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel(f, 2, 3, 4, 8, 8, 16, 0, NULL, NULL, NULL));
	IS(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 1, 1, 0, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 1, 1, 32, 33, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	OK(cuLaunchKernel(s, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	IS(cuLaunchKernel(s, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	IS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_HANDLE);
	IS(cuLaunchKernel((CUfunction)&f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_HANDLE);
	IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)&f, NULL, NULL), INVALID_HANDLE);
	IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL), INVALID_VALUE);
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 65536, NULL, NULL, NULL));
	IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65537),
		INVALID_VALUE);
	OK(cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	IS(cuLaunchCooperativeKernel(f, 1 << 20, 1, 1, 1, 1, 1, 0, NULL, NULL),
		COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(cuCtxSynchronize());
}

/* Every thread of every block runs, once, and knows where it is. */
static void test_every_thread_has_its_place(void **state)
{
	static const unsigned shapes[][6] = {{3, 4, 5, 2, 3, 2}, {1, 1, 7, 1, 1, 40},
		{5, 1, 2, 33, 2, 1}, {1, 6, 1, 1, 31, 1}, {2, 3, 4, 1, 1, 1}};
	static unsigned got[4096];
	CUdeviceptr out;
	CUfunction f;
	void *params[] = {&out};

	OK(cuModuleGetFunction(&f, module, "place"));
	OK(cuMemAlloc(&out, sizeof got));
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const unsigned *s = shapes[i], threads = s[3] * s[4] * s[5],
			       all = s[0] * s[1] * s[2] * threads;

		assert_true(all < sizeof got / sizeof *got);
		OK(cuMemsetD8(out, 0, sizeof got));
		OK(cuLaunchKernel(f, s[0], s[1], s[2], s[3], s[4], s[5], 0, NULL, params, NULL));
		OK(cuMemcpyDtoH(got, out, sizeof got));
		for (unsigned t = 0; t < all; t++)
			assert_int_equal(got[t], 1 + t / threads);
		assert_int_equal(got[all], 0);
	}
	OK(cuMemFree(out));
}

static void test_launch_ex(void **state)
{
	CUlaunchAttribute attrs[] = {
		{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = -1},
		{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
			.value.programmaticStreamSerializationAllowed = 1},
		{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}},
	};
	CUlaunchConfig config = {.gridDimX = 4,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = attrs,
		.numAttrs = 3};
	CUdeviceptr d;
	unsigned sum;
	void *params[] = {&d};

	OK(cuMemAlloc(&d, 4));
	config.sharedMemBytes = 128;
	OK(cuLaunchKernelEx(&config, fn("shared_sum"), params, NULL));
	OK(cuMemcpyDtoH(&sum, d, 4));
	assert_int_equal(sum, 31 * 32 / 2);
	attrs[2].value.clusterDim.x = 3;
	IS(cuLaunchKernelEx(&config, fn("shared_sum"), params, NULL), INVALID_CLUSTER_SIZE);
	attrs[2].id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
	IS(cuLaunchKernelEx(&config, fn("shared_sum"), params, NULL), NOT_SUPPORTED);
	IS(cuLaunchKernelEx(NULL, fn("shared_sum"), params, NULL), INVALID_VALUE);
	OK(cuMemFree(d));
}

static void test_globals(void **state)
{
	CUdeviceptr counter, factor, none;
	unsigned value, k = 2, other[2] = {0, 100};
	void *params[] = {&k};
	size_t size;

	OK(cuModuleGetGlobal(&counter, &size, module, "counter"));
	assert_int_equal(size, 4);
	OK(cuModuleGetGlobal(&factor, &size, module, "factor"));
	assert_int_equal(size, 8);
	IS(cuModuleGetGlobal(&none, &size, module, "line"), NOT_FOUND);
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 7);
	OK(cuLaunchKernel(fn("count"), 3, 1, 1, 50, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 7 + 150 * 2 * 5);
	OK(cuMemcpyHtoD(factor, other, 8)); /* __constant__ data may be set by the host */
	OK(cuLaunchKernel(fn("count"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 1507 + 200);
	other[1] = 5;
	OK(cuMemcpyHtoD(factor, other, 8));
}

static void test_library(void **state)
{
	CUkernel kernels[16], k;
	CUdeviceptr counter;
	size_t offset, size;
	const char *name;
	CUlibrary lib, of;
	CUcontext second;
	unsigned n, value, one = 1;
	void *params[] = {&one};
	CUfunction f;
	CUmodule m;
	int regs;

	OK(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&n, lib));
	assert_int_equal(n, 8);
	OK(cuLibraryEnumerateKernels(kernels, 16, lib));
	OK(cuLibraryGetKernel(&k, lib, "count"));
	assert_ptr_equal(k, kernels[1]);
	IS(cuLibraryGetKernel(&k, lib, "nosuch"), NOT_FOUND);
	OK(cuKernelGetName(&name, k));
	assert_string_equal(name, "count");
	OK(cuKernelGetLibrary(&of, k));
	assert_ptr_equal(of, lib);
	OK(cuKernelGetParamInfo(k, 0, &offset, &size));
	assert_int_equal(size, 4);
	IS(cuKernelGetParamInfo(k, 1, &offset, &size), INVALID_VALUE);
	/* Each family takes its own handles only. */
	IS(cuFuncGetName(&name, (CUfunction)k), INVALID_HANDLE);
	IS(cuFuncGetModule(&m, (CUfunction)k), INVALID_HANDLE);
	IS(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)k), INVALID_HANDLE);
	OK(cuKernelGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0));
	assert_true(regs >= 1);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&regs, (CUfunction)k, 512, 0));
	assert_int_equal(regs, 2);
	IS(cuFuncGetParamInfo((CUfunction)k, 0, &offset, &size), INVALID_HANDLE);
	OK(cuKernelGetFunction(&f, k));
	OK(cuFuncGetName(&name, f));
	assert_string_equal(name, "count");
	IS(cuKernelGetName(&name, (CUkernel)f), INVALID_HANDLE);
	IS(cuKernelGetParamInfo((CUkernel)f, 0, &offset, &size), INVALID_HANDLE);
	/* A launch takes both. */
	OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 10, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchKernel(f, 1, 1, 1, 10, 1, 1, 0, NULL, params, NULL));
	OK(cuLibraryGetGlobal(&counter, &size, lib, "counter"));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 7 + 20 * 5); /* its own counter, not the module's */
	OK(cuLibraryGetModule(&m, lib));
	IS(cuModuleUnload(m), NOT_PERMITTED);
	/* Another context has variables of its own. */
	OK(cuCtxCreate(&second, NULL, 0, 0));
	OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuLibraryGetGlobal(&counter, &size, lib, "counter"));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 12);
	IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
		INVALID_HANDLE); /* the first context's function */
	OK(cuCtxDestroy(second));
	OK(cuLibraryUnload(lib));
	IS(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), INVALID_HANDLE);
	IS(cuLibraryUnload(lib), INVALID_HANDLE);
}

/* The fat binaries that nvcc made, bare and in a wrapper, as data and as a file. */
static void test_fatbins(void **state)
{
	static const char *const names[] = {"nvcc-none", "nvcc-default", "nvcc-size", "nvcc-speed"};
	const char *src = getenv("TSDB_SRC");
	static char data[65536] __attribute__((aligned(8)));
	struct {
		unsigned magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, data, NULL};
	float h[3] = {1, 2, 3}, out[3];
	int count = 3;
	CUdeviceptr d;
	CUfunction f;
	CUmodule m;
	unsigned i;

	OK(cuMemAlloc(&d, 64));
	OK(cuMemcpyHtoD(d, h, 12));
	for (i = 0; i < 4; i++) {
		CUdeviceptr c = d + 32;
		void *params[] = {&d, &d, &c, &count};
		char path[512];
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/fatbin/%s", src ? src : ".",
			names[i]);
		fd = open(path, O_RDONLY);
		assert_true(fd >= 0);
		n = read(fd, data, sizeof(data));
		close(fd);
		assert_true(n > 100);
		OK(cuModuleLoad(&m, path));
		OK(cuModuleUnload(m));
		OK(cuModuleLoadFatBinary(&m, data));
		OK(cuModuleUnload(m));
		OK(cuModuleLoadData(&m, &wrapper));
		OK(cuModuleGetFunction(&f, m, "add"));
		OK(cuMemsetD8(c, 0, 12));
		OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		OK(cuMemcpyDtoH(out, c, 12));
		assert_true(out[0] == 2 && out[1] == 4 && out[2] == 6);
		OK(cuModuleUnload(m));
		IS(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL), INVALID_HANDLE);
	}
	OK(cuMemFree(d));
}

static void test_jit_log(void **state)
{
	char log[512] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule m;

	IS(cuModuleLoadDataEx(&m,
		   ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nbra nowhere;\n}\n",
		   2, options, values),
		INVALID_PTX);
	assert_non_null(strstr(log, "6")); /* the line */
	assert_non_null(strstr(log, "nowhere"));
}

/* A launch returns before the kernel has run, and streams keep their order. */
static void release(void *p)
{
	while (!*(_Atomic int *)p)
		usleep(1000);
}

static void test_asynchronous(void **state)
{
	CUdeviceptr counter;
	unsigned k = 1, value;
	void *params[] = {&k};
	_Atomic int go = 0;
	CUstream s;
	size_t size;
	int i;

	OK(cuModuleGetGlobal(&counter, &size, module, "counter"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32Async(counter, 0, 1, s));
	OK(cuLaunchHostFunc(s, release, (void *)&go));
	for (i = 0; i < 50; i++)
		OK(cuLaunchKernel(fn("count"), 1, 1, 1, 2, 1, 1, 0, s, params, NULL));
	IS(cuStreamQuery(s), NOT_READY);
	go = 1;
	OK(cuMemcpyDtoHAsync(&value, counter, 4, s));
	assert_int_equal(value, 50 * 2 * 5);
	OK(cuStreamDestroy(s));
}

/* Threads with streams of their own: every launch counts exactly once, every sum is its thread's.
 */
static void *worker(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg, one = 1, n = 64, b, out[65], i, k;
	CUdeviceptr d, last = 0;
	unsigned char a;
	void *count_params[] = {&one}, *line_params[] = {&d, &a, &b, &n};
	CUfunction count, line;
	CUstream s, t;
	CUevent e;

	if (cuCtxSetCurrent(primary) || cuModuleGetFunction(&count, module, "count") ||
		cuModuleGetFunction(&line, module, "line"))
		return "functions";
	for (i = 0; i < 40; i++) {
		a = (unsigned char)(id + i);
		b = 1000 * id + i;
		if (cuStreamCreate(&s, i % 2 ? CU_STREAM_NON_BLOCKING : 0) ||
			cuStreamCreate(&t, CU_STREAM_NON_BLOCKING) || cuEventCreate(&e, 0) ||
			cuMemAllocAsync(&d, sizeof(out), s))
			return "making";
		if (cuLaunchKernel(line, 2, 1, 1, 32, 1, 1, 0, s, line_params, NULL) ||
			cuEventRecord(e, s) || cuStreamWaitEvent(t, e, 0) ||
			cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, t, count_params, NULL) ||
			cuMemcpyDtoHAsync(out, d, n * 4, t))
			return "work";
		for (k = 0; k < n; k++)
			if (out[k] != a * k + b)
				return "result";
		if (cuMemFreeAsync(d, s) || cuEventDestroy(e) || cuStreamSynchronize(s) ||
			cuStreamDestroy(s) || cuStreamDestroy(t))
			return "ending";
		last = d;
	}
	return last ? NULL : "nothing";
}

static void test_threads(void **state)
{
	CUdeviceptr counter;
	pthread_t threads[4];
	unsigned value, i;
	size_t size;
	void *why;

	OK(cuModuleGetGlobal(&counter, &size, module, "counter"));
	OK(cuMemsetD32(counter, 0, 1));
	OK(cuCtxSynchronize());
	for (i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1)), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &why);
		if (why)
			fail_msg("thread %u: %s", i, (char *)why);
	}
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 4 * 40 * 5);
}

static void test_captured_kernels(void **state)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUdeviceptr counter;
	unsigned k = 4, value, k2 = 1;
	void *params[] = {&k}, *params2[] = {&k2};
	CUgraphNode node;
	CUgraphExec exec;
	size_t size, n = 1;
	CUstream s;
	CUgraph g;

	OK(cuModuleGetGlobal(&counter, &size, module, "counter"));
	OK(cuMemsetD32(counter, 0, 1));
	OK(cuCtxSynchronize()); /* a fill of device memory does not wait, and s does not wait for it
				 */
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuLaunchKernel(fn("count"), 2, 1, 1, 8, 1, 1, 0, s, params, NULL));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphGetNodes(g, &node, &n));
	OK(cuGraphKernelNodeGetParams(node, &p));
	assert_ptr_equal(p.func, fn("count"));
	assert_int_equal(p.gridDimX, 2);
	assert_int_equal(p.blockDimX, 8);
	assert_int_equal(*(unsigned *)p.kernelParams[0], 4);
	OK(cuGraphInstantiate(&exec, g, 0));
	k = 1000;
	OK(cuGraphLaunch(exec, s));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 2 * 16 * 4 * 5);
	p.kernelParams = params2;
	OK(cuGraphExecKernelNodeSetParams(exec, node, &p));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&value, counter, 4));
	assert_int_equal(value, 640 + 80);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
	OK(cuStreamDestroy(s));
}

/* As a graph is executed again: made of what can be asked about another one's nodes. */
static CUgraph rebuilt(CUgraph from)
{
	CUgraphNode old[16], new[16], deps[16];
	size_t n = 16, ndeps;
	CUgraph g, child;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphGetNodes(from, old, &n));
	for (size_t i = 0; i < n; i++) {
		CUDA_KERNEL_NODE_PARAMS kernel;
		CUDA_MEMSET_NODE_PARAMS fill;
		CUDA_MEMCPY3D copy;
		CUgraphNodeType type;

		ndeps = 16;
		OK(cuGraphNodeGetDependencies(old[i], deps, NULL, &ndeps));
		for (size_t k = 0; k < ndeps; k++)
			for (size_t j = 0; j < i; j++)
				if (deps[k] == old[j]) {
					deps[k] = new[j];
					break;
				}
		OK(cuGraphNodeGetType(old[i], &type));
		switch (type) {
		case CU_GRAPH_NODE_TYPE_KERNEL:
			OK(cuGraphKernelNodeGetParams(old[i], &kernel));
			OK(cuGraphAddKernelNode(&new[i], g, deps, ndeps, &kernel));
			break;
		case CU_GRAPH_NODE_TYPE_MEMCPY:
			OK(cuGraphMemcpyNodeGetParams(old[i], &copy));
			OK(cuGraphAddMemcpyNode(&new[i], g, deps, ndeps, &copy, primary));
			break;
		case CU_GRAPH_NODE_TYPE_MEMSET:
			OK(cuGraphMemsetNodeGetParams(old[i], &fill));
			OK(cuGraphAddMemsetNode(&new[i], g, deps, ndeps, &fill, primary));
			break;
		case CU_GRAPH_NODE_TYPE_EMPTY:
			OK(cuGraphAddEmptyNode(&new[i], g, deps, ndeps));
			break;
		case CU_GRAPH_NODE_TYPE_GRAPH:
			OK(cuGraphChildGraphNodeGetGraph(old[i], &child));
			child = rebuilt(child);
			OK(cuGraphAddChildGraphNode(&new[i], g, deps, ndeps, child));
			OK(cuGraphDestroy(child));
			break;
		default:
			fail();
		}
	}
	return g;
}

static CUDA_MEMCPY3D flat_copy(CUdeviceptr to_device, void *to_host, CUdeviceptr from_device,
	const void *from_host, size_t bytes)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = from_host,
		.srcDevice = from_device,
		.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = to_host,
		.dstDevice = to_device,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};
}

/* Every kind of node that holds work, arguments both ways, a child twice; then the same again
 * rebuilt, and rebuilt from that. */
static void test_graph_rebuilt(void **state)
{
	struct __attribute__((packed)) {
		CUdeviceptr out;
		uint8_t a, gap[3];
		unsigned b, n;
	} line = {0, 3, {0}, 1, 4};
	size_t line_size = sizeof(line), size;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &line, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&line_size, CU_LAUNCH_PARAM_END};
	unsigned in[16], out[96], k = 2, one = 1, value;
	void *count_2[] = {&k}, *count_1[] = {&one};
	CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 64, .height = 1, .value = 9};
	CUDA_MEMCPY3D copy;
	CUgraphNode n[7], c[2], end;
	CUgraph child, graphs[3];
	CUdeviceptr d, counter;
	CUgraphExec exec;
	CUstream s;

	OK(cuModuleGetGlobal(&counter, &size, module, "counter"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&d, sizeof(out)));
	for (unsigned i = 0; i < 16; i++)
		in[i] = 100 + i;
	line.out = fill.dst = d;
	OK(cuGraphCreate(&child, 0));
	OK(cuGraphAddMemsetNode(&n[0], child, NULL, 0, &fill, primary));
	copy = flat_copy(d + 64 * 4, NULL, 0, in, sizeof(in));
	OK(cuGraphAddMemcpyNode(&n[1], child, NULL, 0, &copy, primary));
	kernel.func = fn("count");
	kernel.kernelParams = count_2;
	OK(cuGraphAddKernelNode(&n[2], child, n, 2, &kernel));
	kernel.func = fn("line");
	kernel.kernelParams = NULL;
	kernel.extra = extra;
	kernel.blockDimX = 32;
	OK(cuGraphAddKernelNode(&n[3], child, &n[2], 1, &kernel));
	copy = flat_copy(d + 80 * 4, NULL, d + 64 * 4, NULL, sizeof(in));
	OK(cuGraphAddMemcpyNode(&n[4], child, &n[2], 1, &copy, primary));
	OK(cuGraphAddEmptyNode(&n[5], child, &n[3], 2));
	copy = flat_copy(0, out, d, NULL, sizeof(out));
	OK(cuGraphAddMemcpyNode(&n[6], child, &n[5], 1, &copy, primary));
	OK(cuGraphCreate(&graphs[0], 0));
	OK(cuGraphAddChildGraphNode(&c[0], graphs[0], NULL, 0, child));
	OK(cuGraphAddChildGraphNode(&c[1], graphs[0], c, 1, child));
	kernel.func = fn("count");
	kernel.kernelParams = count_1;
	kernel.extra = NULL;
	OK(cuGraphAddKernelNode(&end, graphs[0], &c[1], 1, &kernel));
	OK(cuGraphDestroy(child)); /* what was added is a copy, arguments too */
	line.n = k = one = 0;
	graphs[1] = rebuilt(graphs[0]);
	graphs[2] = rebuilt(graphs[1]);
	for (unsigned g = 0; g < 3; g++) {
		OK(cuGraphInstantiateWithFlags(
			&exec, graphs[g], CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
		OK(cuMemsetD32Async(counter, 0, 1, s));
		OK(cuMemsetD32Async(d, 77, 96, s));
		memset(out, 0, sizeof(out));
		OK(cuGraphLaunch(exec, s));
		OK(cuStreamSynchronize(s));
		OK(cuMemcpyDtoH(&value, counter, 4));
		assert_int_equal(value, 2 * 5 + 2 * 5 + 32 * 5);
		for (unsigned i = 0; i < 96; i++)
			assert_int_equal(out[i], i < 4 ? 3 * i + 1 : i < 64 ? 9 : 100 + i % 16);
		OK(cuGraphExecDestroy(exec));
	}
	for (unsigned g = 0; g < 3; g++)
		OK(cuGraphDestroy(graphs[g]));
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
}

/* --- what tools see of it --- */

static struct {
	unsigned launches, loads, unloads, kernels;
	char symbol[32], code[32], name[32];
	uint32_t correlation, record_correlation;
	int grid, block;
	size_t code_size;
} seen;

static void watch(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *p)
{
	const CUpti_ResourceData *r = p;
	const CUpti_CallbackData *c = p;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
		!c->callbackSite) {
		seen.launches++;
		seen.correlation = c->correlationId;
		snprintf(seen.symbol, sizeof(seen.symbol), "%s", c->symbolName);
	}
	if (domain != CUPTI_CB_DOMAIN_RESOURCE)
		return;
	seen.loads += id == CUPTI_CBID_RESOURCE_MODULE_LOADED;
	seen.unloads += id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
	if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
		const CUpti_ModuleResourceData *m = r->resourceDescriptor;

		seen.code_size = m->cubinSize;
		snprintf(seen.code, sizeof(seen.code), "%.12s", m->pCubin);
	}
}

static void give(uint8_t **buffer, size_t *size, size_t *max)
{
	static uint64_t space[1024];

	*buffer = (uint8_t *)space;
	*size = sizeof(space);
	*max = 0;
}

static void take(CUcontext c, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)r;

		assert_int_equal(r->kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		seen.kernels++;
		seen.record_correlation = k->correlationId;
		seen.grid = k->gridX;
		seen.block = k->blockX;
		snprintf(seen.name, sizeof(seen.name), "%s", k->name);
		assert_true(k->start < k->end);
	}
}

static void test_tools(void **state)
{
	CUpti_SubscriberHandle h;
	unsigned k = 1;
	void *params[] = {&k};
	CUlibrary lib;
	CUkernel kernel;

	assert_int_equal(cuptiSubscribe(&h, watch, NULL), CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
	assert_int_equal(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityRegisterCallbacks(give, take), CUPTI_SUCCESS);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	OK(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, lib, "count"));
	assert_int_equal(seen.loads, 0); /* loaded at first use */
	OK(cuLaunchKernel((CUfunction)kernel, 3, 1, 1, 5, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(seen.loads, 1);
	assert_string_equal(seen.code, ".version 9.0");
	assert_int_equal(seen.code_size, strlen(ptx));
	OK(cuCtxSynchronize());
	assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	OK(cuLibraryUnload(lib));
	assert_int_equal(seen.unloads, 1);
	assert_int_equal(seen.launches, 1);
	assert_string_equal(seen.symbol, "count");
	assert_int_equal(seen.kernels, 1);
	assert_string_equal(seen.name, "count");
	assert_int_equal(seen.correlation, seen.record_correlation);
	assert_int_equal(seen.grid, 3);
	assert_int_equal(seen.block, 5);
	assert_int_equal(cuptiFinalize(), CUPTI_SUCCESS);
}

/* --- faults end a context, so each has a process of its own --- */

static CUresult child_fault(const char *kernel, uint64_t where)
{
	void *params[] = {&where};
	CUdeviceptr d;
	CUfunction f;
	CUresult r;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&primary, 0) || cuCtxSetCurrent(primary) ||
		cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&f, module, kernel) ||
		cuMemAlloc(&d, 8))
		return 1;
	if (where)
		where += d;
	if (cuLaunchKernel(
		    f, 1, 1, 1, 1, 1, 1, 0, NULL, strcmp(kernel, "stop") ? params : NULL, NULL))
		return 2;
	r = cuCtxSynchronize();
	/* The error stays until the context is gone. */
	if (cuMemAlloc(&d, 8) != r || cuStreamQuery(NULL) != r ||
		cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) != r)
		return 3;
	if (cuDevicePrimaryCtxReset(0) || cuDevicePrimaryCtxRetain(&primary, 0) ||
		cuCtxSetCurrent(primary) || cuMemAlloc(&d, 8) || cuDevicePrimaryCtxRelease(0))
		return 4;
	return r;
}

/* The exit status is r - 600 for a fault's code r; stderr goes into text. */
static int fault(const char *kernel, const char *where, char *text, size_t size)
{
	int status, ends[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], 2);
		setenv("SOFTGPU_CHILD", kernel, 1);
		setenv("SOFTGPU_WHERE", where, 1);
		execl("/proc/self/exe", "again", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	n = read(ends[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) + 600;
}

static void test_faults(void **state)
{
	char text[2048];

	assert_int_equal(fault("store_at", "0", text, sizeof(text)), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_non_null(strstr(text, "store_at"));
	assert_int_equal(fault("store_at", "8", text, sizeof(text)),
		CUDA_ERROR_ILLEGAL_ADDRESS); /* one past the end */
	assert_int_equal(fault("store_at", "2", text, sizeof(text)), CUDA_ERROR_MISALIGNED_ADDRESS);
	assert_non_null(strstr(text, "store_at"));
	assert_int_equal(fault("stop", "0", text, sizeof(text)), CUDA_ERROR_LAUNCH_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_every_thread_has_its_place),
		cmocka_unit_test(test_launch_ex),
		cmocka_unit_test(test_globals),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_fatbins),
		cmocka_unit_test(test_jit_log),
		cmocka_unit_test(test_asynchronous),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_captured_kernels),
		cmocka_unit_test(test_graph_rebuilt),
		cmocka_unit_test(test_tools),
		cmocka_unit_test(test_faults),
	};
	const char *child = getenv("SOFTGPU_CHILD");

	if (child)
		return (int)child_fault(child, strtoull(getenv("SOFTGPU_WHERE"), NULL, 0)) - 600;
	return cmocka_run_group_tests_name("softgpu-launch", tests, start, stop);
}
