/* SPDX-License-Identifier: Apache-2.0
 *
 * Births of NaN, each small, for `tsdb nan`: `nans NAME` makes it, `nans NAME healthy` does the same work with numbers that are fine.
 * tests/e2e/cases/nan.py has the table of where each is born.
 */
#ifndef __HIP__ /* Debian's HIP has no such type */
#include <cuda.h>
#include <cuda_bf16.h>
#endif
#include <cuda_fp16.h>
#include "gpu.h"

/* As PyTorch has them: templates whose pointers are char *, and whose names have the types. What they do with the bits no code tells. */
namespace c10 {
struct Half {
	unsigned short bits;
};
}
namespace at {
namespace native {
template <typename T> struct CUDAFunctor_add {
	__device__ void operator()(char *const *p, int i) const
	{
		((T *)p[0])[i] = ((const T *)p[1])[i];
	}
};
template <typename T> struct Hidden {
	__device__ void operator()(char *const *p, int i) const
	{
		((T *)p[0])[i] = ((const T *)p[1])[i];
	}
};
struct pointers {
	char *p[2];
};
template <int width, typename F, typename A> __global__ void vectorized_elementwise_kernel(int n, F f, A data)
{
	if ((int)threadIdx.x < n)
		f(data.p, threadIdx.x);
}
template <typename In, typename Op, typename Index, typename Out> struct ReduceOp {
	const void *src;
	char *dst[2];
};
template <int threads, int outputs, typename R> __global__ void reduce_kernel(R r)
{
	if (!threadIdx.x)
		*(unsigned *)r.dst[0] = ((const unsigned *)r.src)[1] * 0;
}
}
}

enum { N = 64 };

static bool healthy;
static float host[N];

__global__ void divide(float *out, const float *a, const float *b)
{
	out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
}
__global__ void scale(float *out, const float *a, float by)
{
	out[threadIdx.x] = a[threadIdx.x] * by;
}
__global__ void add(float *out, const float *a, const float *b)
{
	out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
__global__ void minus(float *out, const float *a, const float *b)
{
	out[threadIdx.x] = a[threadIdx.x] - b[threadIdx.x];
}
__global__ void exponent(float *out, const float *a)
{
	out[threadIdx.x] = expf(a[threadIdx.x]);
}
__global__ void logarithm(float *out, const float *a)
{
	out[threadIdx.x] = logf(a[threadIdx.x]);
}
__global__ void reciprocal_root(float *out, const float *a)
{
	out[threadIdx.x] = rsqrtf(a[threadIdx.x]);
}
__global__ void root(double *out, const float *a)
{
	out[threadIdx.x] = sqrt((double)a[threadIdx.x]);
}
__global__ void narrow(__half *out, const float *a)
{
	out[threadIdx.x] = __float2half(a[threadIdx.x]);
}
__global__ void half_minus(__half *out, const __half *a)
{
	out[threadIdx.x] = __float2half(__half2float(a[threadIdx.x]) - __half2float(a[threadIdx.x]));
}
#ifndef __HIP__
__global__ void brain_divide(__nv_bfloat16 *out, const float *a, const float *b)
{
	out[threadIdx.x] = __float2bfloat16(a[threadIdx.x] / b[threadIdx.x]);
}
__global__ void brain_wide(float *out, const __nv_bfloat16 *a)
{
	out[threadIdx.x] = __bfloat162float(a[threadIdx.x]);
}
#endif
/* b is read, and counts only where a is negative. */
__global__ void choose(float *out, const float *a, const float *b)
{
	const float x = a[threadIdx.x], y = b[threadIdx.x];

	out[threadIdx.x] = x < 0 ? y : x;
}
/* The quotient goes through shared memory, and nothing else writes it. */
__global__ void reduce(float *out, const float *a, const float *b)
{
	__shared__ float part[N];

	part[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
	for (int n = N / 2; n; n /= 2) {
		__syncthreads();
		if (threadIdx.x < n)
			part[threadIdx.x] += part[threadIdx.x + n];
	}
	if (!threadIdx.x)
		*out = part[0];
}
__global__ void sum_atomic(float *out, const float *a)
{
	atomicAdd(out, a[threadIdx.x]);
}
__global__ void accumulate(float *x, const float *a, const float *b)
{
	x[threadIdx.x] += a[threadIdx.x] / b[threadIdx.x];
}
__global__ void gather(float *out, const float *table, const int *at)
{
	out[threadIdx.x] = table[at[threadIdx.x]];
}
__global__ void mask(float *out, const float *a, int from)
{
	out[threadIdx.x] = threadIdx.x >= from ? -INFINITY : a[threadIdx.x];
}
/* Rows of eight. */
__global__ void softmax(float *out, const float *a)
{
	const float *row = a + threadIdx.x / 8 * 8;
	float most = -INFINITY, sum = 0;

	for (int i = 0; i < 8; i++)
		most = fmaxf(most, row[i]);
	for (int i = 0; i < 8; i++)
		sum += expf(row[i] - most);
	out[threadIdx.x] = expf(a[threadIdx.x] - most) / sum;
}
__global__ void clean(float *out, const float *a)
{
	out[threadIdx.x] = isnan(a[threadIdx.x]) ? 0 : a[threadIdx.x];
}
__global__ void average(float *out, const float *a, const int *count)
{
	float sum = 0;

	for (int i = 0; i < *count; i++)
		sum += a[i];
	*out = sum / *count;
}
/* Whoever comes first decides. */
__global__ void first_come(float *out, int *count, float good)
{
	if (threadIdx.x)
		return;
	if (!atomicAdd(count, 1))
		*out = blockIdx.x < 8 ? good * INFINITY : 1;
}
__global__ void integers(int *out, int from)
{
	out[threadIdx.x] = threadIdx.x - from;
}
__global__ void copy_words(void *out, const void *a)
{
	((unsigned *)out)[threadIdx.x] = ((const unsigned *)a)[threadIdx.x];
}
__global__ void out_of_words(float *out, const void *a)
{
	((unsigned *)out)[threadIdx.x] = ((const unsigned *)a)[threadIdx.x];
}
__global__ void quads(float4 *out, const float4 *a, const float4 *b)
{
	const float4 x = a[threadIdx.x], y = b[threadIdx.x];

	out[threadIdx.x] = make_float4(x.x / y.x, x.y / y.y, x.z / y.z, x.w / y.w);
}
__global__ void matmul(float *c, const float *a, const float *b)
{
	const int row = threadIdx.x / 8, column = threadIdx.x % 8;
	float sum = 0;

	for (int i = 0; i < 8; i++)
		sum += a[row * 8 + i] * b[i * 8 + column];
	c[threadIdx.x] = sum;
}
extern "C" __global__ void plain_divide(void *out, const void *a, const void *b)
{
	((float *)out)[threadIdx.x] = ((const float *)a)[threadIdx.x] / ((const float *)b)[threadIdx.x];
}

/* --- the parts of births --- */

static float *numbers(float first, float step)
{
	float *x;

	for (int i = 0; i < N; i++)
		host[i] = first + step * i;
	CHECK(cudaMalloc((void **)&x, sizeof host));
	CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
	return x;
}

/* The same with element i another one, unless all is to be fine. */
static float *numbers_but(float first, float step, int at, float bad)
{
	float *x;

	for (int i = 0; i < N; i++)
		host[i] = first + step * i;
	if (!healthy)
		host[at] = bad;
	CHECK(cudaMalloc((void **)&x, sizeof host));
	CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
	return x;
}

template <typename T> static T *room(int n = N)
{
	T *x;

	CHECK(cudaMalloc((void **)&x, n * sizeof *x));
	return x;
}

static void deliver(const void *x, size_t n = sizeof host)
{
	static char bytes[8 * N];

	CHECK(cudaMemcpy(bytes, x, n, cudaMemcpyDeviceToHost));
}

/* --- births --- */

static void zero_by_zero()
{
	float *a = numbers_but(1, 1, 9, 0), *b = numbers_but(2, 1, 9, 0), *c = room<float>();

	divide<<<1, N>>>(c, a, b);
	scale<<<1, N>>>(c, c, 2);
	deliver(c);
}
static void inf_minus_inf()
{
	float *a = numbers_but(1, .1f, 12, 100), *b = room<float>(), *c = room<float>();

	exponent<<<1, N>>>(b, a);
	minus<<<1, N>>>(c, b, b);
	deliver(c);
}
static void negative_log()
{
	float *a = numbers_but(1, 1, 33, -1), *b = room<float>();

	logarithm<<<1, N>>>(b, a);
	deliver(b);
}
static void negative_root()
{
	float *a = numbers_but(1, 1, 5, -4);
	double *b = room<double>();

	root<<<1, N>>>(b, a);
	deliver(b, N * sizeof *b);
}
static void negative_rsqrt()
{
	float *a = numbers_but(1, 1, 63, -2), *b = room<float>();

	reciprocal_root<<<1, N>>>(b, a);
	deliver(b);
}
static void host_inf()
{
	float *a = numbers_but(1, 1, 7, INFINITY), *b = room<float>();

	scale<<<1, N>>>(b, a, 0);
	deliver(b);
}
static void host_nan()
{
	float *a = numbers_but(1, 1, 20, NAN), *b = room<float>();

	scale<<<1, N>>>(b, a, 3);
	scale<<<1, N>>>(b, b, 3);
	deliver(b);
}
static void payload()
{
	float *a, *b = numbers(1, 1), *c = room<float>(), x;
	const unsigned bits = 0x7f812345;

	memcpy(&x, &bits, 4);
	a = numbers_but(1, 1, 21, x);
	add<<<1, N>>>(c, b, a);
	deliver(c);
}
static void moved()
{
	float *a = numbers_but(1, 1, 30, NAN), *b = room<float>(), *c = room<float>();

	CHECK(cudaMemcpy(b, a + 16, 32 * sizeof *b, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy(b + 32, a, 32 * sizeof *b, cudaMemcpyDeviceToDevice));
	scale<<<1, N>>>(c, b, 2);
	deliver(c);
}
static void pitched()
{
	float *a = numbers_but(1, 1, 27, NAN), *b, *c = room<float>();
	size_t pitch;

	CHECK(cudaMallocPitch((void **)&b, &pitch, 32, 8));
	CHECK(cudaMemcpy2D(b, pitch, a, 32, 32, 8, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy2D(c, 32, b, pitch, 32, 8, cudaMemcpyDeviceToDevice));
	scale<<<1, N>>>(c, c, 2);
	deliver(c);
}
static void two_inputs()
{
	float *a = numbers_but(1, 1, 40, NAN), *b = numbers_but(1, 1, 41, NAN), *c = room<float>();

	choose<<<1, N>>>(c, a, b);
	deliver(c);
}
static void unwritten()
{
	float *a = room<float>(), *b = room<float>();

	if (healthy)
		CHECK(cudaMemset(a, 0, sizeof host));
	else /* the upper half is not written */
		CHECK(cudaMemset(a, 0, sizeof host / 2));
	reciprocal_root<<<1, N>>>(b, a);
	scale<<<1, N>>>(b, b, 2);
	deliver(b);
}
static void filled()
{
	float *a = room<float>(), *b = room<float>();

	CHECK(cudaMemset(a, healthy ? 0 : 0xff, sizeof host));
	scale<<<1, N>>>(b, a, 2);
	deliver(b);
}
static void half_overflow()
{
	float *a = numbers_but(1, 1, 17, 70000);
	__half *b = room<__half>(), *c = room<__half>();

	narrow<<<1, N>>>(b, a);
	half_minus<<<1, N>>>(c, b);
	deliver(c, N * sizeof *c);
}
static void brain()
{
#ifndef __HIP__
	float *a = numbers_but(1, 1, 50, 0), *b = numbers_but(1, 1, 50, 0), *d = room<float>();
	__nv_bfloat16 *c = room<__nv_bfloat16>();

	brain_divide<<<1, N>>>(c, a, b);
	brain_wide<<<1, N>>>(d, c);
	deliver(d);
#endif
}
static void shared()
{
	float *a = numbers_but(1, 1, 37, 0), *b = numbers_but(1, 1, 37, 0), *c = room<float>(1);

	reduce<<<1, N>>>(c, a, b);
	deliver(c, sizeof *c);
}
static void atomics()
{
	float *a = numbers_but(1, 1, 11, 0), *b = numbers_but(1, 1, 11, 0), *c = room<float>(), *sum = room<float>(1);

	CHECK(cudaMemset(sum, 0, sizeof *sum));
	divide<<<1, N>>>(c, a, b);
	sum_atomic<<<1, N>>>(sum, c);
	deliver(sum, sizeof *sum);
}
static void in_place()
{
	float *x = numbers(0, 1), *a = numbers(1, 1), *b = numbers(1, 1), *bad_a = numbers_but(1, 1, 3, 0), *bad_b = numbers_but(1, 1, 3, 0);

	for (int i = 0; i < 12; i++)
		accumulate<<<1, N>>>(x, i == 4 ? bad_a : a, i == 4 ? bad_b : b);
	deliver(x);
}
static void gathered()
{
	float *table = numbers_but(1, 1, 45, NAN), *c = room<float>();
	int at[N], *on = room<int>();

	for (int i = 0; i < N; i++)
		at[i] = i * 7 % N;
	CHECK(cudaMemcpy(on, at, sizeof at, cudaMemcpyHostToDevice));
	gather<<<1, N>>>(c, table, on);
	deliver(c);
}
static void masked_row()
{
	float *a = numbers(1, .01f), *b = room<float>(), *c = room<float>();

	mask<<<1, N>>>(b, a, healthy ? 60 : 56);
	softmax<<<1, N>>>(c, b);
	deliver(c);
}
/* A NaN that is meant, and another one. */
static void legal()
{
	float *a = numbers_but(1, 1, 2, 0), *b = numbers_but(1, 1, 2, 0), *c = room<float>(), *d = room<float>(), *e = numbers(1, 1), *f = numbers(0, 1);

	divide<<<1, N>>>(c, f, f);
	clean<<<1, N>>>(c, c);
	divide<<<1, N>>>(d, a, b);
	add<<<1, N>>>(c, c, d);
	scale<<<1, N>>>(c, c, 1);
	minus<<<1, N>>>(c, c, e);
	deliver(c);
}
static void empty_mean()
{
	float *a = numbers(1, 1), *c = room<float>(1);
	int n = healthy ? 3 : 0, *count = room<int>(1);

	CHECK(cudaMemcpy(count, &n, sizeof n, cudaMemcpyHostToDevice));
	average<<<1, 1>>>(c, a, count);
	deliver(c, sizeof *c);
}
static void order()
{
	float *c = room<float>(1);
	int *count = room<int>(1);

	CHECK(cudaMemset(count, 0, sizeof *count));
	first_come<<<16, 32>>>(c, count, healthy ? 1.f : 0.f);
	deliver(c, sizeof *c);
}
static void pinned()
{
	float *a, *on, *b = room<float>();

	CHECK(cudaHostAlloc((void **)&a, sizeof host, cudaHostAllocMapped));
	CHECK(cudaHostGetDevicePointer((void **)&on, a, 0));
	for (int i = 0; i < N; i++)
		a[i] = i + 1;
	scale<<<1, N>>>(b, on, 2);
	CHECK(cudaDeviceSynchronize());
	a[13] = healthy ? 13 : NAN;
	scale<<<1, N>>>(b, on, 2);
	deliver(b);
}
static void untyped()
{
	float *a = numbers_but(1, 1, 19, 0), *b = numbers_but(1, 1, 19, 0), *c = room<float>(), *d = room<float>();

	plain_divide<<<1, N>>>(c, a, b);
	copy_words<<<1, N>>>(d, c);
	deliver(d);
}
/* 16 bits that are no number by their looks, either: of 64 halves three quarters are tiny. */
static void named_half()
{
	static unsigned short bits[N];
	at::native::pointers p;

	for (int i = 0; i < N; i++)
		bits[i] = i == 41 && !healthy ? 0x7e00 : i % 4 ? 0x0003 + i : 0x3c00;
	p.p[0] = (char *)room<short>();
	p.p[1] = (char *)room<short>();
	CHECK(cudaMemcpy(p.p[1], bits, sizeof bits, cudaMemcpyHostToDevice));
	at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, at::native::pointers><<<1, N>>>(N, at::native::CUDAFunctor_add<c10::Half>(), p);
	deliver(p.p[0], sizeof bits);
}
/* Words that look like numbers, one of them like a NaN, which nothing says to be any. */
static void moved_bits()
{
	float *a = numbers_but(1, 1, 21, NAN), *b = room<float>();

	copy_words<<<1, N>>>(b, a);
	deliver(b);
}
/* The same, and a launch that reads them as floats. */
static void read_later()
{
	typedef at::native::ReduceOp<float, int, unsigned, float> reduction;
	float *a = numbers_but(1, 1, 21, NAN), *b = room<float>();

	copy_words<<<1, N>>>(b, a);
	at::native::reduce_kernel<512, 1, reduction><<<1, N>>>(reduction{b, {(char *)room<float>(), nullptr}});
	deliver(b);
}
/* A launch that would have it from there may as well write something else there first. */
static void written_later()
{
	typedef at::native::CUDAFunctor_add<float> functor;
	float *a = numbers_but(1, 1, 21, NAN), *b = room<float>(), *c = numbers(1, 1);

	copy_words<<<1, N>>>(b, a);
	at::native::vectorized_elementwise_kernel<4, functor, at::native::pointers><<<1, N>>>(0, functor(), at::native::pointers{{(char *)b, (char *)c}});
	deliver(b);
}
/* What is read is no longer what was written. */
static void copied_later()
{
	typedef at::native::ReduceOp<float, int, unsigned, float> reduction;
	float *a = numbers_but(1, 1, 21, NAN), *b = room<float>();

	copy_words<<<1, N>>>(b, a);
	deliver(b);
	CHECK(cudaMemset(b, 0, sizeof host));
	at::native::reduce_kernel<512, 1, reduction><<<1, N>>>(reduction{b, {(char *)room<float>(), nullptr}});
}
/* What makes a number of it says what it is of, and nothing else does: a NaN that comes through memory of no known type is not the launch's. */
static void hidden_input()
{
	typedef at::native::Hidden<unsigned> functor;
	float *a = numbers_but(1e-30f, 1e-32f, 21, NAN), *b = room<float>(), *c = room<float>();

	at::native::vectorized_elementwise_kernel<4, functor, at::native::pointers><<<1, N>>>(N, functor(), at::native::pointers{{(char *)b, (char *)a}});
	out_of_words<<<1, N>>>(c, b);
	deliver(c);
}
static void quad()
{
	float *a = numbers_but(1, 1, 26, 0), *b = numbers_but(1, 1, 26, 0), *c = room<float>();

	quads<<<1, N / 4>>>((float4 *)c, (const float4 *)a, (const float4 *)b);
	deliver(c);
}
/* A row of the product is NaN; one element of a did it. */
static void product()
{
	float *a = numbers_but(1, 1, 29, NAN), *b = numbers(1, .5f), *c = room<float>();

	matmul<<<1, N>>>(c, a, b);
	deliver(c);
}
static void graph()
{
	float *a = numbers_but(1, 1, 8, 0), *b = numbers_but(1, 1, 8, 0), *c = room<float>(), *d = room<float>();
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	scale<<<1, N, 0, s>>>(a, a, 2);
	divide<<<1, N, 0, s>>>(c, a, b);
	scale<<<1, N, 0, s>>>(d, c, 2);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	deliver(d);
}
/* Into a graph it comes from outside. */
static void into_graph()
{
	float *a = numbers_but(1, 1, 8, 0), *b = numbers_but(1, 1, 8, 0), *c = room<float>(), *d = room<float>();
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	scale<<<1, N, 0, s>>>(d, c, 2);
	scale<<<1, N, 0, s>>>(d, d, 2);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&x, g, 0));
	divide<<<1, N, 0, s>>>(c, a, b);
	CHECK(cudaGraphLaunch(x, s));
	CHECK(cudaStreamSynchronize(s));
	deliver(d);
}
/* No NaN at all: bits of integers that would be one. */
static void integer_bits()
{
	int *a = room<int>(), *b = room<int>();

	integers<<<1, N>>>(a, N);
	copy_words<<<1, N>>>(b, a);
	deliver(b);
}
#ifndef __HIP__
static cudaStream_t waiting, setting;
static unsigned *flag;

static void *driver(const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *f = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
	return f;
}

/* What is queued on `waiting` from here on is kept back until the flag is set. */
static void keep_back()
{
	static auto wait = (CUresult(*)(CUstream, CUdeviceptr, cuuint32_t, unsigned))driver("cuStreamWaitValue32");
	cudaFuncAttributes a;

	CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&setting, cudaStreamNonBlocking));
	flag = room<unsigned>(1);
	CHECK(cudaMemset(flag, 0, sizeof *flag));
	/* Loaded now: a kernel that is loaded at its first launch waits for the device. */
	CHECK(cudaFuncGetAttributes(&a, divide));
	CHECK(cudaFuncGetAttributes(&a, scale));
	CHECK(cudaDeviceSynchronize());
	if (wait(waiting, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ))
		exit(1);
}

static void let_go()
{
	static auto write = (CUresult(*)(CUstream, CUdeviceptr, cuuint32_t, unsigned))driver("cuStreamWriteValue32");

	if (write(setting, (CUdeviceptr)flag, 1, 0))
		exit(1);
	CHECK(cudaDeviceSynchronize());
}
#endif

/* The launch runs behind the one that comes after it, and writes the same place. */
static void kept_back()
{
#ifndef __HIP__
	float *a = numbers_but(1, 1, 22, 0), *b = numbers_but(1, 1, 22, 0), *c = room<float>();

	keep_back();
	divide<<<1, N, 0, waiting>>>(c, a, b);
	scale<<<1, N, 0, setting>>>(c, a, 2);
	let_go();
	deliver(c);
#endif
}
/* What is there before the launch runs is NaN; what it makes of it is fine. */
static void kept_clean()
{
#ifndef __HIP__
	float *a = numbers(1, 1), *c = room<float>();

	CHECK(cudaMemset(c, healthy ? 0 : 0xff, sizeof host));
	keep_back();
	scale<<<1, N, 0, waiting>>>(c, a, 2);
	let_go();
	deliver(c);
#endif
}
/* The launch behind the one that was kept back is not; the way ends at the first. */
static void kept_before()
{
#ifndef __HIP__
	float *a = numbers_but(1, 1, 22, 0), *b = numbers_but(1, 1, 22, 0), *c = room<float>(), *d = room<float>();

	CHECK(cudaMemset(c, 0, sizeof host));
	keep_back();
	divide<<<1, N, 0, waiting>>>(c, a, b);
	let_go();
	scale<<<1, N>>>(d, c, 2);
	deliver(d);
#endif
}
/* Long windows, for figures. */
static void many()
{
	float *x = numbers(0, 1), *a = numbers(1, 1), *b = numbers(1, 1), *bad_a = numbers_but(1, 1, 3, 0), *bad_b = numbers_but(1, 1, 3, 0);
	float *y = room<float>();

	for (int i = 0; i < 100; i++) {
		divide<<<1, N>>>(y, i == 70 ? bad_a : a, i == 70 ? bad_b : b);
		add<<<1, N>>>(x, x, y);
		scale<<<1, N>>>(x, x, .5f);
	}
	deliver(x);
}

static const struct {
	const char *name;
	void (*run)();
} births[] = {{"zero_by_zero", zero_by_zero}, {"inf_minus_inf", inf_minus_inf}, {"negative_log", negative_log}, {"negative_root", negative_root},
	{"negative_rsqrt", negative_rsqrt}, {"host_inf", host_inf}, {"host_nan", host_nan}, {"payload", payload}, {"moved", moved}, {"pitched", pitched},
	{"two_inputs", two_inputs}, {"unwritten", unwritten}, {"filled", filled}, {"half_overflow", half_overflow}, {"brain", brain}, {"shared", shared},
	{"atomics", atomics}, {"in_place", in_place}, {"gathered", gathered}, {"masked_row", masked_row}, {"legal", legal}, {"empty_mean", empty_mean},
	{"order", order}, {"pinned", pinned}, {"untyped", untyped}, {"quad", quad}, {"product", product}, {"graph", graph}, {"into_graph", into_graph},
	{"integer_bits", integer_bits}, {"kept_back", kept_back}, {"kept_clean", kept_clean}, {"kept_before", kept_before}, {"many", many},
	{"named_half", named_half}, {"moved_bits", moved_bits}, {"read_later", read_later}, {"written_later", written_later}, {"copied_later", copied_later}, {"hidden_input", hidden_input}};

int main(int argc, char **argv)
{
	bool done = false;

	healthy = argc > 2;
	for (const auto &b : births)
		if (argc > 1 && (!strcmp(argv[1], b.name) || !strcmp(argv[1], "all"))) {
			b.run();
			CHECK(cudaDeviceSynchronize());
			done = true;
		}
	return done ? 0 : 2;
}
