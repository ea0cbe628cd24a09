/* SPDX-License-Identifier: Apache-2.0
 *
 * What only the hardware can tell, one question a run; scripts/gpu-check --amd asks them all and
 * says what the answers mean. Each prints lines of "name: value".
 *
 *	questions device | addresses | place ADDRESS | speed MIB | launches N | times TURNS | fault | bits
 *
 * Needs nothing but a HIP runtime, of 5.2 or later.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hip/hip_runtime.h>

#define HIP(call)                                                                                  \
	do {                                                                                       \
		hipError_t hip_e = (call);                                                         \
		if (hip_e != hipSuccess) {                                                         \
			printf("failed: %s: %s\n", #call, hipGetErrorName(hip_e));                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- the device, and where memory lies --- */

static void device(void)
{
	hipDeviceProp_t p;
	int runtime, n;

	HIP(hipGetDeviceCount(&n));
	HIP(hipGetDeviceProperties(&p, 0));
	HIP(hipRuntimeGetVersion(&runtime));
	printf("devices: %d\nname: %s\ntarget: %s\nmemory: %zu\nwave: %d\nruntime: %d.%d\n", n, p.name,
		p.gcnArchName, p.totalGlobalMem, p.warpSize, runtime / 10000000,
		runtime / 100000 % 100);
	printf("rccl: %s\n", dlopen("librccl.so.1", RTLD_LAZY) || dlopen("librccl.so", RTLD_LAZY)
				     ? "present"
				     : "absent");
}

static void addresses(void)
{
	static const size_t sizes[] = {256, 4096, 5000, 65536, 1 << 20, 2 << 20, 3 << 20, 64 << 20};
	void *p;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		HIP(hipMalloc(&p, sizes[i]));
		printf("%zu: %p\n", sizes[i], p);
	}
}

/* Reserves that very address, as a replay does. */
static void place(uint64_t wanted)
{
	void *got = NULL;
	hipError_t e = hipMemAddressReserve(&got, 64 << 20, 0, (void *)wanted, 0);

	if (e != hipSuccess)
		printf("reserve: %s\n", hipGetErrorName(e));
	else
		printf("reserve: %s\n", (uint64_t)got == wanted ? "placed" : "elsewhere");
}

/* --- speed --- */

/* A hash of each page of 64 KiB, by a group of 256: as much arithmetic for a word as a replay's. */
__global__ void hash_pages(const uint64_t *p, uint64_t *out)
{
	__shared__ uint64_t part[256];
	uint64_t h = threadIdx.x;

	for (unsigned i = threadIdx.x; i < 8192; i += 256) {
		h ^= p[(size_t)blockIdx.x * 8192 + i] * 0x9e3779b185ebca87ull;
		h = (h << 31 | h >> 33) * 0xc2b2ae3d27d4eb4full;
	}
	part[threadIdx.x] = h;
	__syncthreads();
	if (!threadIdx.x) {
		for (unsigned i = 1; i < 256; i++)
			h = (h ^ part[i]) * 0x9e3779b185ebca87ull;
		out[blockIdx.x] = h;
	}
}

static uint64_t hash_here(const uint64_t *p)
{
	uint64_t all = 0;

	for (unsigned t = 0; t < 256; t++) {
		uint64_t h = t;

		for (unsigned i = t; i < 8192; i += 256) {
			h ^= p[i] * 0x9e3779b185ebca87ull;
			h = (h << 31 | h >> 33) * 0xc2b2ae3d27d4eb4full;
		}
		all = t ? (all ^ h) * 0x9e3779b185ebca87ull : h;
	}
	return all;
}

static void report(const char *what, size_t bytes, double since)
{
	printf("%s: %.3f\n", what, (double)bytes / (seconds() - since) / 1e9);
}

static void speed(size_t mib)
{
	const size_t bytes = mib << 20, pages = bytes / 65536;
	uint64_t *host = (uint64_t *)malloc(bytes), *back = (uint64_t *)malloc(bytes),
		 *hashes = (uint64_t *)malloc(8 * pages), *a, *b, *out;
	bool right = true;
	double since;

	for (size_t i = 0; i < bytes / 8; i++)
		host[i] = i * 0x165667b19e3779f9ull;
	HIP(hipMalloc(&a, bytes));
	HIP(hipMalloc(&b, bytes));
	HIP(hipMalloc(&out, 8 * pages));
	HIP(hipMemcpy(a, host, bytes, hipMemcpyHostToDevice));
	HIP(hipDeviceSynchronize());
	since = seconds();
	HIP(hipMemcpy(a, host, bytes, hipMemcpyHostToDevice));
	HIP(hipDeviceSynchronize());
	report("to the device", bytes, since);
	since = seconds();
	HIP(hipMemcpy(b, a, bytes, hipMemcpyDeviceToDevice));
	HIP(hipDeviceSynchronize());
	report("within the device", bytes, since);
	since = seconds();
	HIP(hipMemcpy(back, b, bytes, hipMemcpyDeviceToHost));
	report("from the device", bytes, since);
	right &= !memcmp(host, back, bytes);
	hash_pages<<<pages, 256>>>(b, out);
	HIP(hipDeviceSynchronize());
	since = seconds();
	hash_pages<<<pages, 256>>>(b, out);
	HIP(hipDeviceSynchronize());
	report("hashes", bytes, since);
	HIP(hipMemcpy(hashes, out, 8 * pages, hipMemcpyDeviceToHost));
	for (size_t i = 0; i < pages; i++)
		right &= hashes[i] == hash_here(host + i * 8192);
	printf("right: %s\n", right ? "yes" : "no");
}

/* --- launches, times, faults --- */

__global__ void spin(unsigned *p, unsigned turns)
{
	unsigned v = threadIdx.x;

	for (unsigned i = 0; i < turns; i++)
		v = v * 1664525 + 1013904223;
	p[threadIdx.x] = v;
}

static void launches(unsigned n)
{
	unsigned *p;
	double since;

	HIP(hipMalloc(&p, 256));
	spin<<<1, 64>>>(p, 1);
	HIP(hipDeviceSynchronize());
	since = seconds();
	for (unsigned i = 0; i < n; i++)
		spin<<<1, 64>>>(p, 1);
	HIP(hipDeviceSynchronize());
	printf("us a launch: %.3f\n", (seconds() - since) * 1e6 / n);
}

static float elapsed(unsigned *p, unsigned turns)
{
	hipEvent_t from, to;
	float ms;

	HIP(hipEventCreate(&from));
	HIP(hipEventCreate(&to));
	HIP(hipEventRecord(from, 0));
	spin<<<1, 64>>>(p, turns);
	HIP(hipEventRecord(to, 0));
	HIP(hipEventSynchronize(to));
	HIP(hipEventElapsedTime(&ms, from, to));
	return ms;
}

static void times(unsigned turns)
{
	unsigned *p;
	double since;
	float one, ten;

	HIP(hipMalloc(&p, 256));
	(void)elapsed(p, turns);
	since = seconds();
	one = elapsed(p, turns);
	ten = elapsed(p, 10 * turns);
	printf("one, ms: %.4f\nten times as many turns, ms: %.4f\nby the host, ms: %.4f\n", one, ten,
		(seconds() - since) * 1e3);
}

__global__ void wild(unsigned *v, size_t far)
{
	v[threadIdx.x + (threadIdx.x == 5 ? far : 0)] = 1;
}

static void fault(void)
{
	unsigned *p;
	hipError_t e;

	HIP(hipMalloc(&p, 64 << 20));
	wild<<<1, 64>>>(p, (size_t)1 << 36);
	e = hipDeviceSynchronize();
	printf("answered: %s\n", hipGetErrorName(e));
}

/* --- bits --- */

enum { RCP, RSQ, SQRT, EXP, LOG, SIN, COS, APPROXIMATE };
static const char *const names[] = {
	"v_rcp_f32", "v_rsq_f32", "v_sqrt_f32", "v_exp_f32", "v_log_f32", "v_sin_f32", "v_cos_f32"};

__global__ void approximate(float *out, const float *in, int which)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = in[i];

	switch (which) {
	case RCP:
		out[i] = __builtin_amdgcn_rcpf(x);
		break;
	case RSQ:
		out[i] = __builtin_amdgcn_rsqf(x);
		break;
	case SQRT:
		out[i] = __builtin_amdgcn_sqrtf(x);
		break;
	case EXP:
		asm volatile("v_exp_f32 %0, %1" : "=v"(out[i]) : "v"(x));
		break;
	case LOG:
		asm volatile("v_log_f32 %0, %1" : "=v"(out[i]) : "v"(x));
		break;
	case SIN:
		out[i] = __builtin_amdgcn_sinf(x);
		break;
	default:
		out[i] = __builtin_amdgcn_cosf(x);
	}
}

/* From 2^-10 on, up to 64: where all of them are defined, and none gives a denormal. */
static float input(unsigned i)
{
	return ldexpf(1.0f + (float)(i * 2654435761u >> 9) / (float)(1 << 23), (int)(i % 16) - 10);
}

static double exact(int which, double x)
{
	switch (which) {
	case RCP:
		return 1 / x;
	case RSQ:
		return 1 / sqrt(x);
	case SQRT:
		return sqrt(x);
	case EXP:
		return exp2(x);
	case LOG:
		return log2(x);
	case SIN:
		return sin(2 * M_PI * x);
	default:
		return cos(2 * M_PI * x);
	}
}

static double ulps(float got, double want)
{
	const float near = (float)want;
	const double step = nextafterf(fabsf(near), INFINITY) - fabsf(near);

	return fabs((double)got - want) / step;
}

static uint32_t sum_of(const void *p, size_t words)
{
	const uint32_t *w = (const uint32_t *)p;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < words; i++)
		h = (h ^ w[i]) * 16777619u;
	return h;
}

/* Sines and cosines near a zero have few digits, and are left out of the comparison in ulp. */
static void ask_approximate(void)
{
	enum { N = 1 << 14 };
	static float in[N], out[N];
	float *din, *dout;

	for (unsigned i = 0; i < N; i++)
		in[i] = input(i);
	HIP(hipMalloc(&din, sizeof in));
	HIP(hipMalloc(&dout, sizeof in));
	HIP(hipMemcpy(din, in, sizeof in, hipMemcpyHostToDevice));
	for (int which = 0; which < APPROXIMATE; which++) {
		double worst = 0;

		approximate<<<N / 256, 256>>>(dout, din, which);
		HIP(hipMemcpy(out, dout, sizeof out, hipMemcpyDeviceToHost));
		for (unsigned i = 0; i < N; i++) {
			const double want = exact(which, in[i]);

			if (which < LOG || fabs(want) > 0.1)
				worst = fmax(worst, ulps(out[i], want));
		}
		printf("%s: %08x %.2f\n", names[which], sum_of(out, N), worst);
	}
}

typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));

/* Numbers of very different sizes: another order of the sums, or another rounding between them,
 * gives other bits. */
__global__ void mfma(float *out, const float *in)
{
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx942__)
	const unsigned t = threadIdx.x;
	f4 c = {in[t], in[t + 64], in[t + 128], in[t + 192]}, d = c;
	h4 p, q;

	for (int i = 0; i < 4; i++) {
		p[i] = (_Float16)in[(t + 7 * i) % 256];
		q[i] = (_Float16)in[(t + 31 * i) % 256];
	}
	c = __builtin_amdgcn_mfma_f32_16x16x4f32(in[t + 1], in[t + 2], c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f32_16x16x16f16(p, q, d, 0, 0, 0);
	for (int i = 0; i < 4; i++) {
		out[4 * t + i] = c[i];
		out[256 + 4 * t + i] = d[i];
	}
#else
	out[threadIdx.x] = in[threadIdx.x];
#endif
}

static void ask_mfma(void)
{
	static float in[512], out[512];
	float *din, *dout;

	for (unsigned i = 0; i < 512; i++)
		in[i] = input(3 * i + 1) * (i % 3 ? 1.0f : -1.0f);
	HIP(hipMalloc(&din, sizeof in));
	HIP(hipMalloc(&dout, sizeof out));
	HIP(hipMemcpy(din, in, sizeof in, hipMemcpyHostToDevice));
	mfma<<<1, 64>>>(dout, din);
	HIP(hipMemcpy(out, dout, sizeof out, hipMemcpyDeviceToHost));
	printf("mfma_f32_16x16x4f32: %08x\nmfma_f32_16x16x16f16: %08x\n", sum_of(out, 256),
		sum_of(out + 256, 256));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *with = argc > 2 ? argv[2] : "0";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "device"))
		device();
	else if (!strcmp(what, "addresses"))
		addresses();
	else if (!strcmp(what, "place"))
		place(strtoull(with, NULL, 0));
	else if (!strcmp(what, "speed"))
		speed(strtoull(with, NULL, 0));
	else if (!strcmp(what, "launches"))
		launches((unsigned)atoi(with));
	else if (!strcmp(what, "times"))
		times((unsigned)atoi(with));
	else if (!strcmp(what, "fault"))
		fault();
	else if (!strcmp(what, "bits")) {
		ask_approximate();
		ask_mfma();
	} else {
		return 2;
	}
	return 0;
}
