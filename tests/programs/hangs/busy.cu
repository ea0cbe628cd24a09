// SPDX-License-Identifier: Apache-2.0
//
// Programs that are slow, or have nothing to do, and are not stuck: left alone, or given what they wait for, they go on. busy CASE
#include "hangs.h"
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

static cudaStream_t s, u;
static volatile int *flags, *pinned;
static int *numbers;
static cudaEvent_t event;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int produced;

__global__ void wait_flag(volatile int *flag)
{
	while (!*flag)
		__nanosleep(1000);
}

__global__ void set_flag(volatile int *flag)
{
	*flag = 1;
}

__global__ void work(int *n, unsigned long long rounds)
{
	int x = threadIdx.x;

	for (unsigned long long i = 0; i < rounds; i++)
		x = x * 1664525 + 1013904223;
	n[0] = x;
}

// Two launches that hand a number to and fro.
__global__ void take_turns(volatile int *n, int me, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		while ((*n & 1) != me)
			__nanosleep(1000);
		++*n;
	}
}

#define HALF_A_SECOND 3000000ull /* rounds of work(), about, on a processor */

static void compute(unsigned ms)
{
	struct timeval begin, now;
	static volatile unsigned x;

	gettimeofday(&begin, NULL);
	do {
		for (int i = 0; i < 100000; i++)
			x += (unsigned)i;
		gettimeofday(&now, NULL);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_usec - begin.tv_usec) / 1000 < ms);
}

/* --- the GPU works --- */

static void long_kernel(void)
{
	work<<<1, 32, 0, s>>>(numbers, 1ull << 50);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void many_blocks(void)
{
	work<<<1 << 20, 32, 0, s>>>(numbers, 10000);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

__global__ void count_in_memory(volatile int *n)
{
	for (;;)
		++*n;
}

static void writes_as_it_goes(void)
{
	count_in_memory<<<1, 1, 0, s>>>(numbers);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

// A kernel waits for a word beside the one that another kernel counts in: what changes is not its doing.
static void waits_beside_a_writer(void)
{
	wait_flag<<<1, 32, 0, s>>>(numbers + 1);
	count_in_memory<<<1, 1, 0, u>>>(numbers);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void setter_later_by_the_host(void)
{
	ready();
	for (;;) {
		pinned[0] = 0;
		wait_flag<<<1, 32, 0, s>>>(pinned);
		usleep(300000);
		pinned[0] = 1;
		CHECK(cudaStreamSynchronize(s));
	}
}

static void setter_later_by_a_stream(void)
{
	ready();
	for (;;) {
		CHECK(cudaMemsetAsync((void *)flags, 0, sizeof(int), s));
		CHECK(cudaStreamSynchronize(s));
		wait_flag<<<1, 32, 0, s>>>(flags);
		work<<<1, 32, 0, u>>>(numbers, HALF_A_SECOND);
		set_flag<<<1, 1, 0, u>>>(flags);
		CHECK(cudaStreamSynchronize(s));
	}
}

// A wait that is over, whose flag has been reset: the stream is at what comes behind it.
static void flag_that_was_reset(void)
{
	const int one = 1;

	wait_flag<<<1, 32, 0, s>>>(flags);
	CHECK(cudaMemsetAsync((void *)flags, 0, sizeof(int), s));
	work<<<1, 32, 0, s>>>(numbers, 1ull << 50);
	CHECK(cudaMemcpyAsync((void *)flags, &one, sizeof(int), cudaMemcpyHostToDevice, u));
	CHECK(cudaStreamSynchronize(u));
	ready();
	CHECK(cudaStreamSynchronize(s));
}

// The same within one kernel.
__global__ void wait_and_work(volatile int *flag, volatile int *there, unsigned long long rounds)
{
	int x = threadIdx.x;

	while (!*flag)
		__nanosleep(1000);
	*flag = 0;
	for (unsigned long long i = 0; i < rounds; i++)
		x = x * 1664525 + 1013904223;
	*there = x;
}

static void flag_reset_by_the_kernel(void)
{
	const int one = 1;

	wait_and_work<<<1, 1, 0, s>>>(flags, flags + 1, 1ull << 50);
	CHECK(cudaMemcpyAsync((void *)flags, &one, sizeof(int), cudaMemcpyHostToDevice, u));
	CHECK(cudaStreamSynchronize(u));
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void *sets_value(void *arg)
{
	usleep(500000);
	pinned[0] = 1;
	return NULL;
}

static void value_later_by_the_host(void)
{
	pthread_t t;

	ready();
	for (;;) {
		pinned[0] = 0;
		wait_value(s, pinned, 1);
		pthread_create(&t, NULL, sets_value, NULL);
		CHECK(cudaStreamSynchronize(s));
		pthread_join(t, NULL);
	}
}

static void value_later_by_a_stream(void)
{
	ready();
	for (;;) {
		pinned[0] = 0;
		wait_value(s, pinned, 1);
		work<<<1, 32, 0, u>>>(numbers, HALF_A_SECOND);
		write_value(u, pinned, 1);
		CHECK(cudaStreamSynchronize(s));
	}
}

static void kernels_take_turns(void)
{
	ready();
	take_turns<<<1, 1, 0, s>>>(flags, 0, 1 << 30);
	take_turns<<<1, 1, 0, u>>>(flags, 1, 1 << 30);
	CHECK(cudaDeviceSynchronize());
}

static void stream_polled(void)
{
	ready();
	for (;;) {
		work<<<1, 32, 0, s>>>(numbers, 4 * HALF_A_SECOND);
		while (cudaStreamQuery(s) == cudaErrorNotReady)
			;
	}
}

static void event_polled_slowly(void)
{
	ready();
	for (;;) {
		work<<<1, 32, 0, s>>>(numbers, 4 * HALF_A_SECOND);
		CHECK(cudaEventRecord(event, s));
		while (cudaEventQuery(event) == cudaErrorNotReady)
			usleep(10000);
	}
}

static void big_copies(void)
{
	const size_t n = 128 << 20;
	char *host = (char *)calloc(1, n), *device;

	CHECK(cudaMalloc(&device, n));
	ready();
	for (;;)
		CHECK(cudaMemcpy(device, host, n, cudaMemcpyHostToDevice));
}

static void graphs_in_a_loop(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 50; i++)
		count<<<1, 32, 0, s>>>(numbers, 1);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	ready();
	for (;;) {
		CHECK(cudaGraphLaunch(exec, s));
		CHECK(cudaStreamSynchronize(s));
	}
}

static void allocates_and_frees(void)
{
	int *p;

	ready();
	for (;;) {
		CHECK(cudaMalloc(&p, 1 << 20));
		count<<<1, 32, 0, s>>>(numbers, 1);
		CHECK(cudaFree(p));
	}
}

static void compiles(void)
{
	static char ptx[1 << 18];
	size_t n = (size_t)snprintf(ptx, sizeof(ptx), ".version 7.0\n.target sm_75\n.address_size 64\n");
	typedef CUresult load_fn(CUmodule *, const void *);
	typedef CUresult unload_fn(CUmodule);
	load_fn *const load = (load_fn *)hang_entry("cuModuleLoadData");
	unload_fn *const unload = (unload_fn *)hang_entry("cuModuleUnload");
	CUmodule m;

	for (int i = 0; i < 1000; i++)
		n += (size_t)snprintf(ptx + n, sizeof(ptx) - n, ".visible .entry k%d() {\n.reg .u32 %%a;\nmov.u32 %%a, %d;\nadd.u32 %%a, %%a, 1;\nret;\n}\n", i, i);
	ready();
	for (;;)
		if (load(&m, ptx) || unload(m))
			exit(3);
}

/* --- the host works --- */

static void slow_producer(void)
{
	ready();
	for (;;) {
		compute(500);
		count<<<1, 32, 0, s>>>(numbers, 1);
		CHECK(cudaStreamSynchronize(s));
	}
}

static void slowly(void *arg)
{
	usleep(400000);
}

static void computes(void *arg)
{
	compute(400);
}

static void host_functions(cudaHostFn_t fn)
{
	ready();
	for (;;) {
		count<<<1, 32, 0, s>>>(numbers, 1);
		CHECK(cudaLaunchHostFunc(s, fn, NULL));
		CHECK(cudaStreamSynchronize(s));
	}
}

static void slow_host_functions(void)
{
	host_functions(slowly);
}

static void host_functions_that_compute(void)
{
	host_functions(computes);
}

static void *produces(void *arg)
{
	for (;;) {
		compute(300);
		count<<<1, 32, 0, s>>>(numbers, 1);
		CHECK(cudaStreamSynchronize(s));
		pthread_mutex_lock(&mutex);
		produced++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void waits_for_a_producer(void)
{
	pthread_t t;

	pthread_create(&t, NULL, produces, NULL);
	ready();
	for (int seen = 0;;) {
		pthread_mutex_lock(&mutex);
		while (produced == seen)
			pthread_cond_wait(&condition, &mutex);
		seen = produced;
		pthread_mutex_unlock(&mutex);
	}
}

static void *idles(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	return NULL;
}

static void pool_of_idle_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 8; i++)
		pthread_create(&t, NULL, idles, NULL);
	ready();
	for (;;) {
		compute(50);
		work<<<1, 32, 0, s>>>(numbers, HALF_A_SECOND / 10);
		CHECK(cudaStreamSynchronize(s));
	}
}

static void *contends(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		compute(20);
		count<<<1, 32, 0, s>>>(numbers, 1);
		CHECK(cudaStreamSynchronize(s));
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void contended_mutex(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, contends, NULL);
	ready();
	contends(NULL);
}

static void timed_condition(void)
{
	struct timespec until;

	ready();
	pthread_mutex_lock(&mutex);
	for (;;) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 5;
		(void)pthread_cond_timedwait(&condition, &mutex, &until);
		count<<<1, 32, 0, s>>>(numbers, 1);
	}
}

static void *computes_long(void *arg)
{
	compute(1u << 30);
	return NULL;
}

static void join_of_a_thread_that_computes(void)
{
	pthread_t t;

	pthread_create(&t, NULL, computes_long, NULL);
	ready();
	pthread_join(t, NULL);
}

/* --- nothing to do --- */

static int listening(void)
{
	struct sockaddr_in a = {};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 4))
		exit(3);
	return fd;
}

static void server_waits_for_a_client(void)
{
	const int fd = listening();

	ready();
	accept(fd, NULL, NULL);
}

static void server_polls(void)
{
	struct epoll_event e = {EPOLLIN, {}};
	const int fd = listening(), ep = epoll_create1(0);

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
	ready();
	epoll_wait(ep, &e, 1, -1);
}

static void sleeps(void)
{
	ready();
	sleep(3600);
}

static void waits_for_input(void)
{
	char x;

	ready();
	if (read(0, &x, 1) == 1)
		printf("read\n");
}

static void waits_for_a_signal(void)
{
	struct itimerval each = {{5, 0}, {5, 0}};
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	setitimer(ITIMER_VIRTUAL, &each, NULL);
	ready();
	for (;;)
		sigwait(&set, &got);
}

/* --- other processes --- */

static void slow_child(void)
{
	int down[2], up[2];
	char x;

	if (pipe(down) || pipe(up))
		exit(3);
	hang_child("writes_slowly", down[0], up[1]);
	ready();
	while (read(up[0], &x, 1) == 1)
		;
}

static void busy_child(void)
{
	int status;
	const pid_t pid = hang_child("computes", 0, 1);

	ready();
	waitpid(pid, &status, 0);
}

static int child(const char *role, int out)
{
	char x = 0;

	hang_limit();
	if (!strcmp(role, "computes"))
		compute(1u << 30);
	do
		compute(300);
	while (write(out, &x, 1) == 1);
	return 0;
}

int main(int argc, char **argv)
{
#define CASE(name) {#name, name}
	static const struct hang_case all[] = {CASE(long_kernel), CASE(writes_as_it_goes), CASE(waits_beside_a_writer), CASE(many_blocks), CASE(setter_later_by_the_host), CASE(setter_later_by_a_stream),
		CASE(flag_that_was_reset), CASE(flag_reset_by_the_kernel),
		CASE(value_later_by_the_host), CASE(value_later_by_a_stream), CASE(kernels_take_turns), CASE(stream_polled), CASE(event_polled_slowly),
		CASE(big_copies), CASE(graphs_in_a_loop), CASE(allocates_and_frees), CASE(compiles), CASE(slow_producer), CASE(slow_host_functions),
		CASE(host_functions_that_compute), CASE(waits_for_a_producer), CASE(pool_of_idle_threads), CASE(contended_mutex),
		CASE(timed_condition), CASE(join_of_a_thread_that_computes), CASE(server_waits_for_a_client), CASE(server_polls), CASE(sleeps),
		CASE(waits_for_input), CASE(waits_for_a_signal), CASE(slow_child), CASE(busy_child)};
	static const void *const kernels[] = {(void *)wait_flag, (void *)set_flag, (void *)work, (void *)take_turns, (void *)wait_and_work, (void *)count};
	cudaFuncAttributes a;

	if (argc > 3)
		return child(argv[1], atoi(argv[3]));
	CHECK(cudaMalloc((void **)&flags, 64 * sizeof(int)));
	CHECK(cudaMemset((void *)flags, 0, 64 * sizeof(int)));
	CHECK(cudaMalloc(&numbers, 64 * sizeof(int)));
	CHECK(cudaMemset(numbers, 0, 64 * sizeof(int)));
	CHECK(cudaHostAlloc((void **)&pinned, 64 * sizeof(int), cudaHostAllocMapped));
	memset((void *)pinned, 0, 64 * sizeof(int));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (const void *kernel : kernels)
		CHECK(cudaFuncGetAttributes(&a, kernel));
	CHECK(cudaDeviceSynchronize());
	return hang_run(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}
