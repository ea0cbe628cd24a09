/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a replay differ from its recording, one cause to a word, and with "fixed" behind it the same work without the cause:
 *   clock      a kernel whose result is the time
 *   race       two streams write the same words, and in the recording the one that was submitted later came first
 *   function   a host function writes what the kernel behind it reads
 *   host       the program changes what a copy has just delivered, before it waits for the copy
 *   sum        nothing: for a device that computes something else (TSDB_REPLAYER_FLIP)
 * And those in which something else is close by that could be taken for the cause:
 *   raced      a kernel that is the same every time is launched too early: its input races
 *   both       a kernel stores the time in one place and what raced in another; the other is what is looked at
 *   half       a kernel stores the time in one place and a number in another, which is what is looked at
 *   used       the program writes to page-locked memory, waits, and a kernel behind it reads the time
 *   stale      memory that was used before is allocated again, and read before anything was written
 *   unwritten  a kernel reads what nothing has ever written
 *   floats     sums of floats by atomics, whose order nobody knows
 *   idle       a host function that changes nothing, and a call that failed
 *   node       as function, in a graph
 *   shared     the input comes through page-locked memory, by an asynchronous copy that nobody writes to meanwhile
 *   before     the same by a synchronous copy, before which the program writes to that memory
 *   limit      as floats, behind a call that no command describes and that touches no memory: it counts a user of the context
 *   limited    as sum, behind such a call
 *   elsewhere  such a call, and what is looked at is memory that no command writes
 * Ends with 77 when the recording did not come out as it was meant to, and can be tried again.
 */
#include "gpu.h"
#include <dlfcn.h>

#define N 1024

__global__ void tick(unsigned long long *out, int fixed)
{
	unsigned long long t = 5;

	if (!fixed)
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	*out = t;
}

__global__ void add(unsigned long long *to, const unsigned long long *from)
{
	*to += *from;
}

/* Starts and ends with what others may see; in between it only takes time. */
__global__ void slow(unsigned *x, unsigned value, int rounds)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = value;

	for (int r = 0; r < rounds; r++)
		v = v * 1664525u + 1013904223u;
	x[i] = v;
}

__global__ void put(unsigned *x, unsigned value)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void fetch(unsigned *to, const unsigned *from)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i] + 1;
}

static unsigned host[N];

/* Rounds that take so long that what follows is submitted meanwhile. The software GPU needs an eighth of a second for a million. */
static int a_while(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return cuda && dlsym(cuda, "tsdb_soft_busy") ? 1000000 : 4000000;
}

static int clock_(bool fixed)
{
	unsigned long long *t, *sum, h;

	CHECK(cudaMalloc(&t, sizeof *t));
	CHECK(cudaMalloc(&sum, sizeof *sum));
	CHECK(cudaMemset(sum, 0, sizeof *sum));
	tick<<<1, 1>>>(t, fixed);
	add<<<1, 1>>>(sum, t);
	CHECK(cudaMemcpy(&h, sum, sizeof h, cudaMemcpyDeviceToHost));
	return 0;
}

static int race(bool fixed)
{
	cudaStream_t first, second;
	cudaEvent_t done;
	unsigned *x, *other;

	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&other, sizeof host));
	CHECK(cudaMemset(x, 0, sizeof host));
	put<<<1, 32, 0, second>>>(other, 0); /* code that is loaded at its first launch is not late later */
	CHECK(cudaDeviceSynchronize());
	slow<<<N / 256, 256, 0, first>>>(other, 1, a_while());
	put<<<N / 256, 256, 0, first>>>(x, 1);
	if (fixed) {
		CHECK(cudaEventRecord(done, first));
		CHECK(cudaStreamWaitEvent(second, done, 0));
	}
	put<<<N / 256, 256, 0, second>>>(x, 2);
	CHECK(cudaStreamSynchronize(second));
	const bool early = cudaStreamQuery(first) == cudaErrorNotReady; /* so the first stream's write comes last */
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
	return fixed || (early && host[0] == 1) ? 0 : 77;
}

static void set_number(void *arg)
{
	*(volatile unsigned *)arg = 77;
}

/* Everything is submitted before the function runs: what it writes is seen by the kernel behind it and by no call. */
static int function(bool fixed)
{
	unsigned *x, *y, *pinned;

	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMallocHost(&pinned, sizeof host));
	memset(pinned, 0, sizeof host);
	CHECK(cudaDeviceSynchronize());
	slow<<<N / 256, 256>>>(x, 1, a_while());
	CHECK(cudaLaunchHostFunc(0, set_number, fixed ? host : pinned));
	fetch<<<N / 256, 256>>>(y, pinned);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return host[0] != (fixed ? 1 : 78);
}

static int host_writes(bool fixed)
{
	unsigned *x;
	volatile unsigned *pinned;

	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMallocHost((void **)&pinned, sizeof host));
	memset((void *)pinned, 0, sizeof host);
	CHECK(cudaDeviceSynchronize());
	slow<<<N / 256, 256>>>(x, 1, 1000);
	CHECK(cudaMemcpyAsync((void *)pinned, x, sizeof host, cudaMemcpyDeviceToHost, 0));
	if (fixed)
		CHECK(cudaDeviceSynchronize());
	while (!pinned[0] || !pinned[N - 1])
		;
	usleep(1000); /* the rest of it */
	pinned[3] = 77;
	CHECK(cudaDeviceSynchronize());
	return 0;
}

static int sum(bool)
{
	unsigned *x;

	CHECK(cudaMalloc(&x, sizeof host));
	slow<<<N / 256, 256>>>(x, 1, 10);
	slow<<<N / 256, 256>>>(x, 7, 10);
	CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}

__global__ void fetch_and_tick(unsigned *to, const unsigned *from, unsigned long long *time)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	if (!i)
		*time = t;
	to[i] = from[i] + 1;
}

__global__ void add_floats(float *sum, int fixed)
{
	const float x = (threadIdx.x + blockIdx.x) % 7 ? 1.2345f * threadIdx.x : 16777216.0f;

	atomicAdd(sum, fixed ? 1.0f : x);
}

/* In the recording the later launch reads what was there before the earlier one wrote. */
static int too_early(bool fixed, bool both)
{
	cudaStream_t first, second;
	cudaEvent_t done;
	unsigned *x, *y, *other;
	unsigned long long *t;

	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMalloc(&t, sizeof *t));
	CHECK(cudaMalloc(&other, sizeof host));
	CHECK(cudaMemset(x, 0, sizeof host));
	put<<<1, 32, 0, second>>>(other, 0);
	fetch<<<1, 32, 0, second>>>(other, x);
	fetch_and_tick<<<1, 32, 0, second>>>(other, x, t);
	CHECK(cudaDeviceSynchronize());
	slow<<<N / 256, 256, 0, first>>>(other, 1, a_while());
	put<<<N / 256, 256, 0, first>>>(x, 1);
	if (fixed) {
		CHECK(cudaEventRecord(done, first));
		CHECK(cudaStreamWaitEvent(second, done, 0));
	}
	if (both)
		fetch_and_tick<<<N / 256, 256, 0, second>>>(y, x, t);
	else
		fetch<<<N / 256, 256, 0, second>>>(y, x);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemset(t, 0, sizeof *t));
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return host[0] == (fixed ? 2 : 1) && host[N - 1] == host[0] ? 0 : 77;
}

static int raced(bool fixed)
{
	return too_early(fixed, false);
}

static int both(bool fixed)
{
	return too_early(fixed, true);
}

__global__ void tick_and_put(unsigned long long *time, unsigned *x, int fixed)
{
	unsigned long long t = 5;

	if (!fixed)
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	*time = t;
	x[threadIdx.x] = threadIdx.x;
}

static int half(bool fixed)
{
	unsigned long long *time;
	unsigned *x;

	CHECK(cudaMalloc(&time, sizeof *time));
	CHECK(cudaMalloc(&x, sizeof host));
	tick_and_put<<<1, N>>>(time, x, fixed);
	CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
	return host[5] != 5;
}

static int used(bool fixed)
{
	unsigned long long *t, *sum, *pinned, h;

	CHECK(cudaMalloc(&t, sizeof *t));
	CHECK(cudaMalloc(&sum, sizeof *sum));
	CHECK(cudaMallocHost(&pinned, sizeof *pinned));
	for (*pinned = 1; *pinned < 4; ++*pinned) {
		CHECK(cudaMemcpyAsync(sum, pinned, sizeof *sum, cudaMemcpyHostToDevice, 0));
		CHECK(cudaDeviceSynchronize());
	}
	tick<<<1, 1>>>(t, fixed);
	add<<<1, 1>>>(sum, t);
	CHECK(cudaMemcpy(&h, sum, sizeof h, cudaMemcpyDeviceToHost));
	return fixed && h != 8;
}

static int stale(bool)
{
	unsigned *x, *y;

	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMalloc(&x, sizeof host));
	put<<<N / 256, 256>>>(x, 7);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(x));
	CHECK(cudaMalloc(&x, sizeof host));
	fetch<<<N / 256, 256>>>(y, x);
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}

static int unwritten(bool fixed)
{
	unsigned *x, *y;

	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMalloc(&x, sizeof host));
	if (fixed)
		CHECK(cudaMemset(x, 0, sizeof host));
	fetch<<<N / 256, 256>>>(y, x);
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}

static int floats(bool fixed)
{
	float *sum, h;

	CHECK(cudaMalloc(&sum, sizeof *sum));
	CHECK(cudaMemset(sum, 0, sizeof *sum));
	add_floats<<<16, 64>>>(sum, fixed);
	CHECK(cudaMemcpy(&h, sum, sizeof h, cudaMemcpyDeviceToHost));
	return fixed && h != 1024;
}

/* cuCtxAttach: an entry point of the driver that is in no table of the agent's. */
static void undescribed(void)
{
	typedef int (*attach_fn)(void **, unsigned);
	attach_fn attach;
	void *driver, *ctx;

	CHECK(cudaFree(NULL)); /* there is a context now */
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	attach = driver ? (attach_fn)dlsym(driver, "cuCtxAttach") : NULL;
	if (!attach || attach(&ctx, 0)) {
		fprintf(stderr, "verdicts: no cuCtxAttach\n");
		exit(1);
	}
}

static int limit(bool fixed)
{
	undescribed();
	return floats(fixed);
}

static int limited(bool fixed)
{
	undescribed();
	return sum(fixed);
}

static int elsewhere(bool)
{
	unsigned *x, *y;

	undescribed();
	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	slow<<<N / 256, 256>>>(x, 1, 10);
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}

static void do_nothing(void *)
{
}

static int idle(bool)
{
	unsigned *x;

	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaLaunchHostFunc(0, do_nothing, NULL));
	slow<<<N / 256, 256>>>(x, 1, 10);
	CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}

static int node(bool fixed)
{
	unsigned *x, *y, *pinned;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMallocHost(&pinned, sizeof host));
	memset(pinned, 0, sizeof host);
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	slow<<<N / 256, 256, 0, s>>>(x, 1, a_while());
	CHECK(cudaLaunchHostFunc(s, set_number, fixed ? host : pinned));
	fetch<<<N / 256, 256, 0, s>>>(y, pinned);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return host[0] != (fixed ? 1 : 78);
}

static int through_pinned(bool async)
{
	unsigned *x, *y, *pinned;

	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	CHECK(cudaMallocHost(&pinned, sizeof host));
	memset(pinned, 0, sizeof host);
	if (async)
		CHECK(cudaMemcpyAsync(x, pinned, sizeof host, cudaMemcpyHostToDevice, 0));
	else
		CHECK(cudaMemcpy(x, pinned, sizeof host, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	fetch<<<N / 256, 256>>>(y, x);
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return host[0] != 1;
}

static int shared(bool)
{
	return through_pinned(true);
}

static int before(bool)
{
	return through_pinned(false);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(bool fixed);
	} all[] = {{"clock", clock_}, {"race", race}, {"function", function}, {"host", host_writes}, {"sum", sum},
		{"raced", raced}, {"both", both}, {"half", half}, {"used", used}, {"stale", stale}, {"unwritten", unwritten}, {"floats", floats}, {"limit", limit}, {"limited", limited}, {"elsewhere", elsewhere}, {"idle", idle}, {"node", node},
		{"shared", shared}, {"before", before}};
	const bool fixed = argc > 2 && !strcmp(argv[2], "fixed");

	for (const auto &one : all)
		if (argc > 1 && !strcmp(argv[1], one.name))
			return one.run(fixed);
	return 2;
}
