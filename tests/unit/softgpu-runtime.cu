/* SPDX-License-Identifier: Apache-2.0
 *
 * What the CUDA runtime promises to programs, one function per promise. Every test runs in a process of its own, forked before CUDA is first used,
 * because some of them end the context. Speaks TAP. Written against the programming guide and run on an NVIDIA H200 as
 * well, where all but the one so marked pass; what only the software GPU says is behind on_software_gpu().
 *
 * softgpu-runtime [test]: all tests, or the one named, in this process.
 */
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_at(int line, const char *what, long long got, long long want)
{
	if (got == want)
		return;
	printf("# line %d: %s is %lld, should be %lld\n", line, what, got, want);
	fflush(stdout);
	_exit(1);
}

#define EXPECT(got, want) expect_at(__LINE__, #got, (long long)(got), (long long)(want))
#define OK(call) EXPECT(call, cudaSuccess)
#define TRUE(cond) EXPECT(!!(cond), 1)

static bool on_software_gpu(void)
{
	cudaDeviceProp p;

	OK(cudaGetDeviceProperties(&p, 0));
	return strstr(p.name, "oftware") != nullptr;
}

/* --- kernels --------------------------------------------------------------------------------------------- */

__global__ void add(const int *a, const int *b, int *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void set(int *p, int v)
{
	*p = v;
}

__global__ void add_to(int *p, int v)
{
	*p += v;
}

__global__ void copy_value(int *to, const int *from)
{
	*to = *from;
}

__global__ void count_up(int *p)
{
	atomicAdd(p, 1);
}

__global__ void says(int n)
{
	printf("thread %d of block %d: %s %5.2f %llx\n", threadIdx.x, blockIdx.x, "hello", n / 4.0, 0xfedcba9876ull);
}

__global__ void asserts(int n)
{
	assert(n != 7);
}

__global__ void traps(void)
{
	__trap();
}

__global__ void static_shared(int *p)
{
	__shared__ int s[256];

	s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	p[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void dynamic_shared(int *p, int n)
{
	extern __shared__ int d[];

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		d[i] = i;
	__syncthreads();
	if (threadIdx.x == 0)
		*p = d[n - 1];
}

template <typename T> __global__ void scale(T *p, T by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] *= by;
}

__device__ int dev_array[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static __device__ int file_static = 11;
__constant__ int const_table[4] = {10, 20, 30, 40};
static const __device__ short const_array[3] = {-1, -2, -3};
__managed__ int managed_var = 5;

__global__ void read_symbols(int *out)
{
	static __device__ int in_function = 3;

	out[0] = dev_array[2];
	out[1] = file_static;
	out[2] = const_table[1];
	out[3] = const_array[out[4]];
	out[4] = ++in_function;
	managed_var += 100;
}

/* --- helpers --------------------------------------------------------------------------------------------- */

static int *device_int(int value)
{
	int *p;

	OK(cudaMalloc(&p, sizeof *p));
	OK(cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice));
	return p;
}

static int read_int(const int *p)
{
	int v;

	OK(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost));
	return v;
}

/* A kernel is loaded when first used, and loading may wait for the whole device: not while a gate is closed ("CUDA C++ Programming Guide", lazy loading). */
template <typename F> static void load(F *kernel)
{
	cudaFuncAttributes a;

	OK(cudaFuncGetAttributes(&a, kernel));
}

/* A host function that holds its stream until the gate opens. */
struct gate {
	std::atomic<bool> open{false};
};

static void CUDART_CB wait_gate(void *data)
{
	struct gate *g = (struct gate *)data;

	while (!g->open)
		usleep(200);
}

/* --- tests ----------------------------------------------------------------------------------------------- */

static void test_vector_add(void)
{
	for (int n : {1, 31, 256, 1000}) {
		std::vector<int> a(n), b(n), c(n);
		int *da, *db, *dc;

		for (int i = 0; i < n; i++) {
			a[i] = i;
			b[i] = 3 * i + 1;
		}
		OK(cudaMalloc(&da, n * sizeof(int)));
		OK(cudaMalloc(&db, n * sizeof(int)));
		OK(cudaMalloc(&dc, n * sizeof(int)));
		OK(cudaMemcpy(da, a.data(), n * sizeof(int), cudaMemcpyHostToDevice));
		OK(cudaMemcpy(db, b.data(), n * sizeof(int), cudaMemcpyDefault));
		add<<<(n + 127) / 128, 128>>>(da, db, dc, n);
		OK(cudaGetLastError());
		OK(cudaMemcpy(c.data(), dc, n * sizeof(int), cudaMemcpyDeviceToHost));
		for (int i = 0; i < n; i++)
			EXPECT(c[i], 4 * i + 1);
		OK(cudaFree(da));
		OK(cudaFree(db));
		OK(cudaFree(dc));
	}
	float *f;
	float values[3] = {1, 2, 3};
	OK(cudaMalloc(&f, sizeof values));
	OK(cudaMemcpy(f, values, sizeof values, cudaMemcpyHostToDevice));
	scale<float><<<1, 32>>>(f, 2.5f, 3);
	OK(cudaMemcpy(values, f, sizeof values, cudaMemcpyDeviceToHost));
	TRUE(values[0] == 2.5f && values[1] == 5 && values[2] == 7.5f);
}

static void test_legacy_stream_waits_for_blocking_streams(void)
{
	cudaStream_t s, other;
	struct gate g;
	int *a = device_int(1), *b = device_int(0), *c = device_int(0);

	load(set);
	load(copy_value);
	OK(cudaStreamCreate(&s));
	OK(cudaStreamCreate(&other));
	OK(cudaLaunchHostFunc(s, wait_gate, &g));
	set<<<1, 1, 0, s>>>(a, 42);
	copy_value<<<1, 1>>>(b, a); /* legacy: after everything in s */
	copy_value<<<1, 1, 0, other>>>(c, b); /* after everything in the legacy stream */
	EXPECT(cudaStreamQuery(0), cudaErrorNotReady);
	EXPECT(cudaStreamQuery(other), cudaErrorNotReady);
	g.open = true;
	OK(cudaStreamSynchronize(other));
	EXPECT(cudaGetLastError(), cudaSuccess); /* "not ready" is not remembered */
	EXPECT(read_int(b), 42);
	EXPECT(read_int(c), 42);
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(other));
}

/* This one hangs on an H200 (driver 580.159), why is not known: the programming guide says that the legacy stream does not wait for s. */
static void test_non_blocking_stream_goes_alone(void)
{
	cudaStream_t s;
	cudaEvent_t e;
	struct gate g;
	int *a = device_int(0);
	unsigned flags = 0;

	load(set);
	OK(cudaEventCreate(&e));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamGetFlags(s, &flags));
	EXPECT(flags, cudaStreamNonBlocking);
	OK(cudaLaunchHostFunc(s, wait_gate, &g));
	set<<<1, 1>>>(a, 7);
	OK(cudaEventRecord(e, 0));
	OK(cudaEventSynchronize(e)); /* would hang if the legacy stream waited for s */
	EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
	g.open = true;
	EXPECT(read_int(a), 7);
	OK(cudaDeviceSynchronize());
	OK(cudaStreamQuery(s));
}

static void test_symbols(void)
{
	int *out, got[5], v, back[8];
	void *addr;
	size_t size;
	int zero[5] = {0, 0, 0, 0, 2};

	OK(cudaMalloc(&out, sizeof got));
	OK(cudaMemcpy(out, zero, sizeof zero, cudaMemcpyHostToDevice));
	read_symbols<<<1, 1>>>(out);
	OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
	EXPECT(got[0], 3);
	EXPECT(got[1], 11);
	EXPECT(got[2], 20);
	EXPECT(got[3], -3);
	EXPECT(got[4], 4);
	EXPECT(managed_var, 105);
	managed_var = -1;

	v = 77;
	OK(cudaMemcpyToSymbol(dev_array, &v, sizeof v, 2 * sizeof v));
	v = 88;
	OK(cudaMemcpyToSymbol(file_static, &v, sizeof v));
	v = 99;
	OK(cudaMemcpyToSymbolAsync(const_table, &v, sizeof v, sizeof v, cudaMemcpyHostToDevice, 0));
	OK(cudaMemcpy(out, zero, sizeof zero, cudaMemcpyHostToDevice));
	read_symbols<<<1, 1>>>(out);
	OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
	EXPECT(got[0], 77);
	EXPECT(got[1], 88);
	EXPECT(got[2], 99);
	EXPECT(got[4], 5);
	EXPECT(managed_var, 99);

	OK(cudaMemcpyFromSymbol(back, dev_array, sizeof back));
	EXPECT(back[1], 2);
	EXPECT(back[2], 77);
	EXPECT(back[7], 8);
	OK(cudaGetSymbolSize(&size, dev_array));
	EXPECT(size, 32);
	OK(cudaGetSymbolSize(&size, const_array));
	EXPECT(size, 6);
	OK(cudaGetSymbolAddress(&addr, dev_array));
	OK(cudaMemcpy(&v, (int *)addr + 7, sizeof v, cudaMemcpyDeviceToHost));
	EXPECT(v, 8);

	EXPECT(cudaMemcpyToSymbol(dev_array, back, sizeof back, 4), cudaErrorInvalidValue);
	EXPECT(cudaGetSymbolAddress(&addr, (const void *)&v), cudaErrorInvalidSymbol);
	EXPECT(cudaMemcpyFromSymbol(&v, dev_array, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
}

static void test_events(void)
{
	cudaEvent_t a, b, plain;
	cudaStream_t s1, s2;
	struct gate g;
	float ms = -1;
	int *x = device_int(0), *y = device_int(0);

	load(set);
	load(copy_value);
	OK(cudaEventCreate(&a));
	OK(cudaEventCreate(&b));
	OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
	OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
	OK(cudaEventQuery(a)); /* never recorded: complete */

	OK(cudaEventRecord(a, s1));
	OK(cudaLaunchHostFunc(s1, wait_gate, &g));
	set<<<1, 1, 0, s1>>>(x, 5);
	OK(cudaEventRecord(b, s1));
	OK(cudaEventRecord(plain, s1));
	OK(cudaStreamWaitEvent(s2, plain));
	copy_value<<<1, 1, 0, s2>>>(y, x);
	EXPECT(cudaEventQuery(b), cudaErrorNotReady);
	EXPECT(cudaStreamQuery(s2), cudaErrorNotReady);
	EXPECT(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
	usleep(20000);
	g.open = true;
	OK(cudaEventSynchronize(b));
	OK(cudaStreamSynchronize(s2));
	EXPECT(read_int(y), 5);
	OK(cudaEventElapsedTime(&ms, a, b));
	TRUE(ms >= 15 && ms < 10000);
	EXPECT(cudaEventElapsedTime(&ms, a, plain), cudaErrorInvalidResourceHandle);
	OK(cudaEventDestroy(a));
	OK(cudaEventDestroy(b));
	OK(cudaEventDestroy(plain));
}

static void test_copies_2d_3d(void)
{
	const int w = 7, h = 5, d = 3;
	int host[d][h][w], back[d][h][w];
	char *p;
	size_t pitch;
	cudaPitchedPtr box;
	cudaMemcpy3DParms c = {};

	for (int i = 0; i < d * h * w; i++)
		(&host[0][0][0])[i] = i;
	OK(cudaMallocPitch(&p, &pitch, w * sizeof(int), h));
	TRUE(pitch >= w * sizeof(int) && pitch % 32 == 0);
	OK(cudaMemset2D(p, pitch, 0x11, w * sizeof(int), h));
	OK(cudaMemcpy2D(p + pitch, pitch, host, w * sizeof(int), 3 * sizeof(int), 2, cudaMemcpyHostToDevice));
	memset(back, 0, sizeof back);
	OK(cudaMemcpy2D(back, w * sizeof(int), p, pitch, w * sizeof(int), h, cudaMemcpyDeviceToHost));
	EXPECT(back[0][0][0], 0x11111111);
	EXPECT(back[0][1][0], 0);
	EXPECT(back[0][1][2], 2);
	EXPECT(back[0][1][3], 0x11111111);
	EXPECT(back[0][2][1], w + 1);
	EXPECT(back[0][4][6], 0x11111111);
	EXPECT(cudaMemcpy2D(p, pitch, host, 4, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);

	OK(cudaMalloc3D(&box, make_cudaExtent(w * sizeof(int), h, d)));
	OK(cudaMemset3D(box, 0, make_cudaExtent(w * sizeof(int), h, d)));
	c.srcPtr = make_cudaPitchedPtr(host, w * sizeof(int), w, h);
	c.dstPtr = box;
	c.srcPos = make_cudaPos(sizeof(int), 1, 1);
	c.dstPos = make_cudaPos(2 * sizeof(int), 2, 0);
	c.extent = make_cudaExtent(3 * sizeof(int), 2, 2);
	c.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&c));
	memset(&c, 0, sizeof c);
	c.srcPtr = box;
	c.dstPtr = make_cudaPitchedPtr(back, w * sizeof(int), w, h);
	c.extent = make_cudaExtent(w * sizeof(int), h, d);
	c.kind = cudaMemcpyDefault;
	OK(cudaMemcpy3DAsync(&c, 0));
	OK(cudaStreamSynchronize(0));
	for (int z = 0; z < d; z++) {
		for (int y = 0; y < h; y++) {
			for (int x = 0; x < w; x++) {
				bool in = z < 2 && y >= 2 && y < 4 && x >= 2 && x < 5;

				EXPECT(back[z][y][x], in ? host[z + 1][y - 1][x - 1] : 0);
			}
		}
	}
}

static void test_copies(void)
{
	int *a, *b, *pinned, host[4] = {1, 2, 3, 4}, back[4] = {};
	cudaStream_t s;

	OK(cudaMalloc(&a, 16));
	OK(cudaMalloc(&b, 16));
	OK(cudaStreamCreate(&s));
	OK(cudaMallocHost(&pinned, 16));
	memcpy(pinned, host, 16);
	OK(cudaMemcpyAsync(a, pinned, 16, cudaMemcpyHostToDevice, s));
	OK(cudaMemcpyAsync(b, a, 16, cudaMemcpyDeviceToDevice, s));
	memset(back, 0, sizeof back);
	OK(cudaMemcpyAsync(back, b, 16, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	EXPECT(memcmp(back, host, 16), 0);
	OK(cudaMemcpy(back, host + 1, 8, cudaMemcpyHostToHost));
	EXPECT(back[0], 2);
	OK(cudaMemset(a, 0x7f, 6));
	OK(cudaMemcpy(back, a, 16, cudaMemcpyDefault));
	EXPECT(back[0], 0x7f7f7f7f);
	EXPECT(back[1], 0x00007f7f);
	OK(cudaMemcpyPeer(b, 0, a, 0, 16));
	EXPECT(read_int(b), 0x7f7f7f7f);
	OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
	EXPECT(cudaMemcpy(a, host, 16, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	EXPECT(cudaMemcpy((void *)a, nullptr, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	OK(cudaFreeHost(pinned));
}

/* What a process prints with the file descriptor fd while f runs in it. */
static std::string output_of(int fd, void (*f)(void))
{
	std::string text;
	char buf[4096];
	int ends[2], status;
	ssize_t n;

	TRUE(pipe(ends) == 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], fd);
		close(ends[0]);
		f();
		fflush(stdout);
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], buf, sizeof buf)) > 0)
		text.append(buf, (size_t)n);
	TRUE(waitpid(pid, &status, 0) == pid);
	EXPECT(status, 0);
	return text;
}

static void say(void)
{
	says<<<2, 2>>>(5);
	OK(cudaDeviceSynchronize());
}

static void test_printf(void)
{
	std::string text = output_of(STDOUT_FILENO, say);
	int lines = 0;

	for (char c : text)
		lines += c == '\n';
	EXPECT(lines, 4);
	TRUE(text.find("thread 1 of block 0: hello  1.25 fedcba9876\n") != std::string::npos);
	TRUE(text.find("thread 0 of block 1: hello  1.25 fedcba9876\n") != std::string::npos);
}

static void trip_assert(void)
{
	asserts<<<1, 1>>>(7);
	EXPECT(cudaDeviceSynchronize(), cudaErrorAssert);
	EXPECT(cudaGetLastError(), cudaErrorAssert);
	EXPECT(cudaDeviceSynchronize(), cudaErrorAssert);
}

static void test_assert(void)
{
	std::string text = output_of(STDERR_FILENO, trip_assert);

	TRUE(text.find("softgpu-runtime.cu") != std::string::npos);
	TRUE(text.find("asserts") != std::string::npos);
	TRUE(text.find("Assertion `n != 7` failed") != std::string::npos);
}

static void not_a_kernel(void)
{
}

static void test_error_codes(void)
{
	int *p = device_int(3), v;
	cudaDeviceProp prop;
	void *args[] = {&p, &v};

	set<<<1, 2048>>>(p, 1);
	EXPECT(cudaPeekAtLastError(), cudaErrorInvalidValue); /* so says runtime 13.0 */
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	EXPECT(cudaGetLastError(), cudaSuccess);
	set<<<0, 1>>>(p, 1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	set<<<dim3(1, 70000), 1>>>(p, 1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	set<<<1, dim3(1, 1, 65)>>>(p, 1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	set<<<1, 1, 1 << 20>>>(p, 1);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	EXPECT(cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), args, 0, 0), 400);
	EXPECT(cudaLaunchKernel(nullptr, dim3(1), dim3(1), args, 0, 0), 98);
	EXPECT(cudaGetLastError(), 98); /* cudaErrorInvalidDeviceFunction */
	EXPECT(read_int(p), 3);

	EXPECT(cudaSetDevice(99), cudaErrorInvalidDevice);
	EXPECT(cudaGetDeviceProperties(&prop, -1), cudaErrorInvalidDevice);
	EXPECT(cudaFree((void *)16), cudaErrorInvalidValue);
	EXPECT(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
	EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
	EXPECT(cudaGetDevice(nullptr), cudaErrorInvalidValue);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);

	EXPECT(strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration"), 0);
	EXPECT(strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"), 0);
	EXPECT(strcmp(cudaGetErrorString(cudaSuccess), "no error"), 0);
	EXPECT(strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered"), 0);
	EXPECT(strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"), 0);
}

static void test_illegal_address_is_sticky(void)
{
	int *p = device_int(0);

	set<<<1, 1>>>((int *)((char *)p + (1ll << 40)), 1);
	EXPECT(cudaGetLastError(), cudaSuccess); /* the launch itself was fine */
	EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaSuccess); /* but the context stays faulted */
	EXPECT(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
	set<<<1, 1>>>(p, 1);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
}

static void test_trap(void)
{
	traps<<<1, 1>>>();
	EXPECT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
	EXPECT(cudaStreamSynchronize(0), cudaErrorLaunchFailure);
}

static void test_threads(void)
{
	std::vector<std::thread> threads;
	int *total = device_int(0);
	std::atomic<int> bad{0};

	for (int t = 0; t < 4; t++) {
		threads.emplace_back([&] {
			cudaStream_t s;
			int *mine, v = -1;

			bad += cudaStreamCreate(&s) != 0;
			bad += cudaMalloc(&mine, sizeof *mine) != 0;
			bad += cudaMemsetAsync(mine, 0, sizeof *mine, s) != 0;
			for (int i = 0; i < 50; i++) {
				count_up<<<1, 32, 0, s>>>(mine);
				count_up<<<2, 8, 0, s>>>(total);
			}
			bad += cudaMemcpyAsync(&v, mine, sizeof v, cudaMemcpyDeviceToHost, s) != 0;
			bad += cudaStreamSynchronize(s) != 0;
			bad += v != 50 * 32;
			bad += cudaGetLastError() != 0;
			set<<<0, 0>>>(mine, 1); /* this thread's error, no other's */
			bad += cudaStreamDestroy(s) != 0;
		});
	}
	for (std::thread &t : threads)
		t.join();
	EXPECT(bad, 0);
	OK(cudaGetLastError());
	EXPECT(read_int(total), 4 * 50 * 16);
}

static std::string order;

static void CUDART_CB append(void *what)
{
	order += (const char *)what;
}

static void CUDART_CB append_callback(cudaStream_t, cudaError_t status, void *what)
{
	order += status == cudaSuccess ? (const char *)what : "?";
}

static void test_host_functions(void)
{
	cudaStream_t s;

	OK(cudaStreamCreate(&s));
	OK(cudaLaunchHostFunc(s, append, (void *)"a"));
	OK(cudaStreamAddCallback(s, append_callback, (void *)"b", 0));
	OK(cudaLaunchHostFunc(s, append, (void *)"c"));
	OK(cudaStreamSynchronize(s));
	EXPECT(order.compare("abc"), 0);
	EXPECT(cudaStreamAddCallback(s, nullptr, nullptr, 0), cudaErrorInvalidValue);
	EXPECT(cudaStreamAddCallback(s, append_callback, nullptr, 1), cudaErrorInvalidValue);
}

static void test_managed_memory(void)
{
	int *m;

	OK(cudaMallocManaged(&m, 100 * sizeof *m));
	for (int i = 0; i < 100; i++)
		m[i] = i;
	scale<int><<<1, 128>>>(m, 3, 100);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 100; i++)
		EXPECT(m[i], 3 * i);
	OK(cudaMemPrefetchAsync(m, 100 * sizeof *m, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, 0));
	OK(cudaMemset(m, 0, 8));
	EXPECT(m[1], 0);
	EXPECT(m[2], 6);
	OK(cudaFree(m));
}

static void test_function_attributes(void)
{
	cudaFuncAttributes a;
	int *p = device_int(0), blocks = 0, grid = 0, block = 0, out[256], *q;

	OK(cudaFuncGetAttributes(&a, static_shared));
	EXPECT(a.sharedSizeBytes, 1024);
	EXPECT(a.maxThreadsPerBlock, 1024);
	TRUE(a.numRegs > 0 && a.ptxVersion >= 50 && a.binaryVersion >= 70);
	EXPECT(cudaFuncGetAttributes(&a, (const void *)not_a_kernel), cudaErrorInvalidResourceHandle);
	cudaGetLastError();

	OK(cudaMalloc(&q, sizeof out));
	static_shared<<<1, 256>>>(q);
	OK(cudaMemcpy(out, q, sizeof out, cudaMemcpyDeviceToHost));
	EXPECT(out[0], 255);
	EXPECT(out[200], 55);

	dynamic_shared<<<1, 64, 50000>>>(p, 12500); /* past 48 KiB: needs the attribute */
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	OK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
	dynamic_shared<<<1, 64, 50000>>>(p, 12500);
	OK(cudaGetLastError());
	EXPECT(read_int(p), 12499);

	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
	TRUE(blocks >= 1 && blocks <= 32);
	OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
	TRUE(grid >= 1 && block >= 32 && block <= 1024);
}

static void test_pointers(void)
{
	cudaPointerAttributes a;
	int *d = device_int(0), *h, *m, *dev, plain;

	OK(cudaHostAlloc(&h, 64, cudaHostAllocMapped));
	OK(cudaMallocManaged(&m, 64));
	OK(cudaPointerGetAttributes(&a, d));
	EXPECT(a.type, cudaMemoryTypeDevice);
	TRUE(a.devicePointer == d && a.hostPointer == nullptr && a.device == 0);
	OK(cudaPointerGetAttributes(&a, h + 3));
	EXPECT(a.type, cudaMemoryTypeHost);
	TRUE(a.hostPointer == h + 3);
	OK(cudaPointerGetAttributes(&a, m));
	EXPECT(a.type, cudaMemoryTypeManaged);
	OK(cudaPointerGetAttributes(&a, &plain));
	EXPECT(a.type, cudaMemoryTypeUnregistered);
	OK(cudaHostGetDevicePointer(&dev, h, 0));
	set<<<1, 1>>>(dev + 1, 31);
	OK(cudaDeviceSynchronize());
	EXPECT(h[1], 31);

	std::vector<int> pageable(8192);
	OK(cudaHostRegister(pageable.data(), pageable.size() * sizeof(int), cudaHostRegisterDefault));
	OK(cudaHostGetDevicePointer(&dev, pageable.data(), 0));
	set<<<1, 1>>>(dev + 8191, 32);
	OK(cudaDeviceSynchronize());
	EXPECT(pageable[8191], 32);
	EXPECT(cudaHostRegister(pageable.data(), 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaHostUnregister(pageable.data()));
	EXPECT(cudaHostUnregister(pageable.data()), cudaErrorHostMemoryNotRegistered);
}

static void test_captured_graph(void)
{
	cudaStream_t s, side;
	cudaEvent_t fork_event, join_event;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStreamCaptureStatus status;
	size_t nodes = 0;
	int *p = device_int(0), *q = device_int(0);

	OK(cudaStreamCreate(&s));
	OK(cudaStreamCreate(&side));
	OK(cudaEventCreate(&fork_event));
	OK(cudaEventCreate(&join_event));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	add_to<<<1, 1, 0, s>>>(p, 10);
	OK(cudaEventRecord(fork_event, s));
	OK(cudaStreamWaitEvent(side, fork_event));
	add_to<<<1, 1, 0, side>>>(q, 3);
	add_to<<<1, 1, 0, s>>>(p, 5);
	OK(cudaEventRecord(join_event, side));
	OK(cudaStreamWaitEvent(s, join_event));
	OK(cudaMemcpyAsync(p + 0, q, 4, cudaMemcpyDeviceToDevice, s));
	OK(cudaStreamIsCapturing(s, &status));
	EXPECT(status, cudaStreamCaptureStatusActive);
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphGetNodes(graph, nullptr, &nodes));
	EXPECT(nodes, 4);
	EXPECT(read_int(p), 0); /* nothing has run */
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphDestroy(graph));
	for (int i = 1; i <= 3; i++) {
		OK(cudaGraphLaunch(exec, s));
		OK(cudaStreamSynchronize(s));
		EXPECT(read_int(p), 3 * i);
	}
	OK(cudaGraphExecDestroy(exec));
}

static void test_built_graph(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t fill, kernel, copy;
	cudaGraphExec_t exec;
	cudaKernelNodeParams k = {}, got = {};
	cudaMemsetParams f = {};
	cudaGraphNodeType type;
	int *p = device_int(77), by = 9, back = 0;
	void *args[] = {&p, &by};

	OK(cudaGraphCreate(&graph, 0));
	f.dst = p;
	f.elementSize = 4;
	f.value = 100;
	f.width = 1;
	f.height = 1;
	OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &f));
	k.func = (void *)add_to;
	k.gridDim = dim3(1);
	k.blockDim = dim3(1);
	k.kernelParams = args;
	OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &k));
	OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &back, p, sizeof back, cudaMemcpyDeviceToHost));
	OK(cudaGraphNodeGetType(kernel, &type));
	EXPECT(type, cudaGraphNodeTypeKernel);
	OK(cudaGraphKernelNodeGetParams(kernel, &got));
	TRUE(got.func == (void *)add_to && got.blockDim.x == 1);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaStreamSynchronize(0));
	EXPECT(back, 109);
	by = 23;
	OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaStreamSynchronize(0));
	EXPECT(back, 123);

	/* one structure for every kind of node, and a copy of the graph */
	cudaGraphNodeParams any = {};
	cudaGraphNode_t last;
	cudaGraph_t twin;
	cudaGraphExec_t second;
	size_t n = 0;
	int two = 2;
	void *add_two[] = {&p, &two};
	any.type = cudaGraphNodeTypeKernel;
	any.kernel.func = (void *)add_to;
	any.kernel.gridDim = dim3(1);
	any.kernel.blockDim = dim3(1);
	any.kernel.kernelParams = add_two;
	OK(cudaGraphAddNode(&last, graph, &copy, nullptr, 1, &any));
	OK(cudaGraphClone(&twin, graph));
	OK(cudaGraphGetEdges(twin, nullptr, nullptr, nullptr, &n));
	EXPECT(n, 3);
	OK(cudaGraphInstantiate(&second, twin, 0));
	OK(cudaGraphLaunch(second, 0));
	EXPECT(read_int(p), 111); /* the graph's own parameters: 100 + 9 + 2 */
	EXPECT(back, 109);
	any.kernel.func = (void *)set;
	OK(cudaGraphNodeSetParams(last, &any));
	cudaGraphExecUpdateResultInfo info;
	OK(cudaGraphExecDestroy(second));
	OK(cudaGraphInstantiate(&second, graph, 0));
	OK(cudaGraphLaunch(second, 0));
	EXPECT(read_int(p), 2);
	two = 5;
	any.kernel.func = (void *)set;
	OK(cudaGraphNodeSetParams(last, &any));
	OK(cudaGraphExecUpdate(second, graph, &info));
	EXPECT(info.result, cudaGraphExecUpdateSuccess);
	OK(cudaGraphLaunch(second, 0));
	EXPECT(read_int(p), 5);
	OK(cudaGraphExecDestroy(second));
	OK(cudaGraphDestroy(twin));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
}

static void test_stream_ordered_allocation(void)
{
	cudaStream_t s;
	cudaMemPool_t pool;
	int *p, v = 0;

	OK(cudaStreamCreate(&s));
	OK(cudaMallocAsync(&p, 1000, s));
	set<<<1, 1, 0, s>>>(p, 65);
	OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaStreamSynchronize(s));
	EXPECT(v, 65);
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	TRUE(pool != nullptr);
	OK(cudaMallocFromPoolAsync(&p, 64, pool, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaDeviceSynchronize());
}

static void test_device(void)
{
	cudaDeviceProp p;
	int n = 0, v = 0, dev = -1;
	size_t free0, free1, total, limit;
	void *m;
	char bus[32];

	OK(cudaGetDeviceCount(&n));
	TRUE(n >= 1);
	OK(cudaGetDeviceProperties(&p, 0));
	TRUE(p.name[0] && p.major >= 7 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
	TRUE(p.totalGlobalMem > 0 && p.multiProcessorCount > 0 && p.unifiedAddressing);
	OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
	EXPECT(v, p.multiProcessorCount);
	OK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
	EXPECT(v, p.major);
	EXPECT(cudaDeviceGetAttribute(&v, (cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
	OK(cudaSetDevice(0));
	OK(cudaGetDevice(&dev));
	EXPECT(dev, 0);
	OK(cudaMemGetInfo(&free0, &total));
	OK(cudaMalloc(&m, 64 << 20));
	OK(cudaMemGetInfo(&free1, &total));
	TRUE(free1 < free0 && free0 <= total);
	OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
	OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
	TRUE(limit >= 2 << 20);
	OK(cudaRuntimeGetVersion(&v));
	TRUE(v >= 13000);
	OK(cudaDriverGetVersion(&v));
	TRUE(v >= 13000);
	OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
	dev = -1;
	OK(cudaDeviceGetByPCIBusId(&dev, bus));
	EXPECT(dev, 0);
	OK(cudaProfilerStart());
	OK(cudaProfilerStop());
	OK(cudaDeviceReset());
	OK(cudaMalloc(&m, 16));
}

static void test_reset_frees_everything(void)
{
	int *p = device_int(4), v;

	OK(cudaDeviceReset());
	EXPECT(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	cudaGetLastError();
	p = device_int(9);
	add_to<<<1, 1>>>(p, 1); /* code is loaded again */
	EXPECT(read_int(p), 10);
	OK(cudaMemcpyFromSymbol(&v, file_static, sizeof v));
	EXPECT(v, 11);
}

static void test_entry_points(void)
{
	void *fn = nullptr;
	cudaDriverEntryPointQueryResult found;
	size_t bytes = 0;
	CUdeviceptr p = 0;

	OK(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &fn, 12000, cudaEnableDefault, &found));
	EXPECT(found, cudaDriverEntryPointSuccess);
	int *q = device_int(0);
	EXPECT(((CUresult(*)(CUdeviceptr *, size_t *, CUdeviceptr))fn)(&p, &bytes, (CUdeviceptr)q), CUDA_SUCCESS);
	TRUE(p == (CUdeviceptr)q && bytes == 4);
	OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &fn, 12000, cudaEnableDefault, &found));
	EXPECT(found, cudaDriverEntryPointSymbolNotFound);
	TRUE(fn == nullptr);
}

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
			  ".visible .entry store(.param .u64 to, .param .u32 what) {\n"
			  ".reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
			  "ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [what];\n"
			  "cvta.to.global.u64 %rd1, %rd0; st.global.u32 [%rd1], %r0; ret; }\n";

static void test_library(void)
{
	cudaLibrary_t lib;
	cudaKernel_t k;
	unsigned n = 0;
	const char *name = nullptr;
	int *p = device_int(0), v = 123;
	void *args[] = {&p, &v};

	OK(cudaLibraryLoadData(&lib, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
	OK(cudaLibraryGetKernelCount(&n, lib));
	EXPECT(n, 1);
	OK(cudaLibraryGetKernel(&k, lib, "store"));
	OK(cudaFuncGetName(&name, (const void *)k));
	EXPECT(strcmp(name, "store"), 0);
	OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), args, 0, 0));
	EXPECT(read_int(p), 123);
	EXPECT(cudaLibraryGetKernel(&k, lib, "none"), cudaErrorSymbolNotFound);
	OK(cudaLibraryUnload(lib));
}

static void test_extended_launch(void)
{
	cudaLaunchConfig_t c = {};
	cudaStream_t s;
	cudaLaunchAttribute attr = {};
	cudaKernel_t k;
	cudaFunction_t f;
	int *p = device_int(1), by = 2, least, greatest, priority;
	void *args[] = {&p, &by};

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	TRUE(least >= greatest);
	OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
	OK(cudaStreamGetPriority(s, &priority));
	EXPECT(priority, greatest);
	attr.id = cudaLaunchAttributePriority;
	attr.val.priority = greatest;
	c.gridDim = dim3(1);
	c.blockDim = dim3(1);
	c.stream = s;
	c.attrs = &attr;
	c.numAttrs = 1;
	OK(cudaLaunchKernelEx(&c, add_to, p, 2));
	OK(cudaLaunchKernelExC(&c, (const void *)add_to, args));
	OK(cudaGetKernel(&k, (const void *)add_to));
	OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), args, 0, s));
	OK(cudaGetFuncBySymbol(&f, (const void *)add_to));
	EXPECT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, nullptr), CUDA_SUCCESS);
	OK(cudaStreamSynchronize(s));
	EXPECT(read_int(p), 9);
	OK(cudaStreamDestroy(s));
}

/* The program's own context, made with the driver API, is used by the runtime. */
static void test_driver_context(void)
{
	CUdevice dev;
	CUcontext ctx, now;
	int v;

	EXPECT(cuInit(0), CUDA_SUCCESS);
	EXPECT(cuDeviceGet(&dev, 0), CUDA_SUCCESS);
	EXPECT(cuCtxCreate(&ctx, nullptr, 0, dev), CUDA_SUCCESS);
	int *p = device_int(1);
	add_to<<<1, 1>>>(p, 1);
	EXPECT(read_int(p), 2);
	EXPECT(cuCtxGetCurrent(&now), CUDA_SUCCESS);
	TRUE(now == ctx);
	EXPECT(cuMemcpyDtoH(&v, (CUdeviceptr)p, 4), CUDA_SUCCESS);
	EXPECT(v, 2);
}

static void call_refused(void)
{
	cudaMipmappedArray_t array;
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
	cudaExtent e = {8, 8, 0};

	if (!on_software_gpu()) {
		fputs("not refused\n", stderr);
		return;
	}
	EXPECT(d.x, 32);
	EXPECT(cudaMallocMipmappedArray(&array, &d, e, 2), cudaErrorNotSupported);
	EXPECT(cudaMallocMipmappedArray(&array, &d, e, 2), cudaErrorNotSupported);
	EXPECT(cudaGetLastError(), cudaErrorNotSupported);
}

static void test_refused_by_name(void)
{
	std::string text = output_of(STDERR_FILENO, call_refused);

	if (text.compare("not refused\n") != 0)
		EXPECT(text.compare("tsdb: software GPU: cudaMallocMipmappedArray is not supported\n"), 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define T(name) {#name, test_##name}
	T(vector_add), T(legacy_stream_waits_for_blocking_streams), T(non_blocking_stream_goes_alone), T(symbols),
	T(events), T(copies), T(copies_2d_3d), T(printf), T(assert), T(error_codes), T(illegal_address_is_sticky),
	T(trap), T(threads), T(host_functions), T(managed_memory), T(function_attributes), T(pointers),
	T(captured_graph), T(built_graph), T(stream_ordered_allocation), T(device), T(reset_frees_everything),
	T(entry_points), T(library), T(extended_launch), T(driver_context), T(refused_by_name),
};

int main(int argc, char **argv)
{
	int n = 0, failed = 0;

	for (auto &t : tests) {
		int status = -1;

		if (argc > 1 && strcmp(argv[1], t.name) == 0) {
			t.run();
			return 0;
		}
		if (argc > 1)
			continue;
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			alarm(20);
			t.run();
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status))
			printf("# killed by signal %d\n", WTERMSIG(status));
		printf("%s %d - %s\n", status ? "not ok" : "ok", ++n, t.name);
		failed += status != 0;
	}
	if (argc > 1) {
		fprintf(stderr, "no test %s\n", argv[1]);
		return 2;
	}
	printf("1..%d\n", n);
	return failed != 0;
}
