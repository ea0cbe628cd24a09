// SPDX-License-Identifier: Apache-2.0
//
// Deadlocks of one process with its GPU. stuck_gpu CASE; what is wrong in each is said in table.py.
#include "hangs.h"

static cudaStream_t s, u, blocking; // s and u wait for no other stream
static volatile int *flags;	    // on the device, all 0
static volatile int *pinned;	    // all 0
static int *numbers;
static cudaEvent_t event;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool told;

__global__ void wait_flag(volatile int *flag)
{
	while (!*flag)
		__nanosleep(1000);
}

__global__ void set_flag(volatile int *flag)
{
	*flag = 1;
}

// Ends when all blocks of the grid have come, so all must be on the device together.
__global__ void meet_all(int *arrived, int blocks)
{
	if (!threadIdx.x) {
		atomicAdd(arrived, 1);
		while (*(volatile int *)arrived < blocks)
			__nanosleep(1000);
	}
	__syncthreads();
}

// Two launches that each wait for all blocks of the other.
__global__ void left_half(int *mine, volatile int *others, int blocks)
{
	if (!threadIdx.x) {
		atomicAdd(mine, 1);
		while (*others < blocks)
			__nanosleep(1000);
	}
}

__global__ void right_half(int *mine, volatile int *others, int blocks)
{
	if (!threadIdx.x) {
		atomicAdd(mine, 1);
		while (*others < blocks)
			__nanosleep(1000);
	}
}

// As a collective of two ranks: says that it is there and waits for the other.
__global__ void all_reduce(volatile int *mine, volatile int *other, int round)
{
	*mine = round;
	__threadfence();
	while (*other < round)
		__nanosleep(1000);
}

// More blocks of 1024 threads than any device has room for.
static int too_many(void)
{
	int n;

	CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
	return 64 * n;
}

static void value_never_written(void)
{
	wait_value(s, &pinned[0], 1);
	count<<<1, 1, 0, s>>>(numbers, 1);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void values_in_a_circle(void)
{
	wait_value(s, &pinned[0], 1);
	write_value(s, &pinned[1], 1);
	wait_value(u, &pinned[1], 1);
	write_value(u, &pinned[0], 1);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void event_behind_value(void)
{
	wait_value(u, &pinned[0], 1);
	CHECK(cudaEventRecord(event, u));
	CHECK(cudaStreamWaitEvent(s, event, 0));
	count<<<1, 1, 0, s>>>(numbers, 1);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void event_polled(void)
{
	wait_value(u, &pinned[0], 1);
	CHECK(cudaEventRecord(event, u));
	ready();
	while (cudaEventQuery(event) == cudaErrorNotReady)
		usleep(1000);
}

// Waits until somebody has recorded the event: nobody will.
static void *consumer(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!told)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	CHECK(cudaEventSynchronize(event));
	return NULL;
}

static void event_never_recorded(void)
{
	pthread_t t;

	pthread_create(&t, NULL, consumer, NULL);
	ready();
	pthread_join(t, NULL);
}

static void pinned_never_written(void)
{
	wait_flag<<<1, 32, 0, s>>>(pinned);
	ready();
	CHECK(cudaStreamSynchronize(s));
	pinned[0] = 1;
}

static void flag_never_written(void)
{
	wait_flag<<<1, 32, 0, s>>>(flags);
	count<<<1, 1, 0, s>>>(numbers, 1);
	ready();
	CHECK(cudaDeviceSynchronize());
}

static void setter_behind_event(void)
{
	wait_flag<<<1, 32, 0, u>>>(flags);
	CHECK(cudaEventRecord(event, u));
	CHECK(cudaStreamWaitEvent(s, event, 0));
	set_flag<<<1, 1, 0, s>>>(flags);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void setter_on_the_same_stream(void)
{
	wait_flag<<<1, 32, 0, s>>>(flags);
	set_flag<<<1, 1, 0, s>>>(flags);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void setter_on_the_legacy_stream(void)
{
	wait_flag<<<1, 32, 0, blocking>>>(flags);
	set_flag<<<1, 1>>>(flags);
	ready();
	CHECK(cudaDeviceSynchronize());
}

static void copy_on_the_legacy_stream(void)
{
	const int one = 1;

	wait_flag<<<1, 32, 0, blocking>>>(flags);
	ready();
	CHECK(cudaMemcpy((void *)flags, &one, sizeof(one), cudaMemcpyHostToDevice));
}

static void grid_does_not_fit(void)
{
	meet_all<<<too_many(), 1024, 0, s>>>(numbers, too_many());
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void two_kernels_do_not_fit(void)
{
	const int n = too_many();

	left_half<<<n, 1024, 0, s>>>(numbers, numbers + 1, n);
	right_half<<<n, 1024, 0, u>>>(numbers + 1, numbers, n);
	ready();
	CHECK(cudaDeviceSynchronize());
}

static void wait_until_told(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!told)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void host_function_waits_for_its_stream(void)
{
	CHECK(cudaLaunchHostFunc(s, wait_until_told, NULL));
	ready();
	CHECK(cudaStreamSynchronize(s));
	told = true;
	pthread_cond_broadcast(&condition);
}

static void take_mutex(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void host_function_needs_a_mutex(void)
{
	pthread_mutex_lock(&mutex);
	CHECK(cudaLaunchHostFunc(s, take_mutex, NULL));
	ready();
	CHECK(cudaStreamSynchronize(s));
	pthread_mutex_unlock(&mutex);
}

static void *synchronize_s(void *arg)
{
	CHECK(cudaStreamSynchronize(s));
	return NULL;
}

// It may not call CUDA, so it lets another thread do so, and waits for that.
static void callback(cudaStream_t stream, cudaError_t status, void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, synchronize_s, NULL);
	pthread_join(t, NULL);
}

static void callback_calls_cuda(void)
{
	CHECK(cudaStreamAddCallback(s, callback, NULL, 0));
	usleep(100000);
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void free_waits_for_a_kernel(void)
{
	wait_flag<<<1, 32, 0, s>>>(pinned);
	ready();
	CHECK(cudaFree(numbers));
	pinned[0] = 1;
}

static cudaGraph_t graph;

static cudaGraphNode_t kernel_node(void (*fn)(volatile int *), volatile int *flag, const cudaGraphNode_t *behind)
{
	cudaKernelNodeParams p = {};
	cudaGraphNode_t node;
	void *args[] = {&flag};

	p.func = (void *)fn;
	p.gridDim = dim3(1);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, graph, behind, behind ? 1 : 0, &p));
	return node;
}

static void launch_graph(void)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, s));
	ready();
	CHECK(cudaStreamSynchronize(s));
}

static void graph_edge_the_wrong_way(void)
{
	cudaGraphNode_t waits;

	CHECK(cudaGraphCreate(&graph, 0));
	waits = kernel_node(wait_flag, flags, NULL);
	kernel_node(set_flag, flags, &waits);
	launch_graph();
}

static void graph_host_node_needs_a_mutex(void)
{
	cudaHostNodeParams p = {take_mutex, NULL};
	cudaGraphNode_t node;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddHostNode(&node, graph, NULL, 0, &p));
	pthread_mutex_lock(&mutex);
	launch_graph();
}

// Two communicators, of which the streams are the two ranks: s begins with the first, u with the second.
static void communicators_in_opposite_orders(void)
{
	all_reduce<<<1, 1, 0, s>>>(&flags[0], &flags[1], 1);
	all_reduce<<<1, 1, 0, s>>>(&flags[2], &flags[3], 1);
	all_reduce<<<1, 1, 0, u>>>(&flags[3], &flags[2], 1);
	all_reduce<<<1, 1, 0, u>>>(&flags[1], &flags[0], 1);
	ready();
	CHECK(cudaDeviceSynchronize());
}

static void *synchronize_event(void *arg)
{
	CHECK(cudaEventSynchronize(event));
	return NULL;
}

static void join_of_a_thread_that_waits(void)
{
	pthread_t t;

	wait_value(u, &pinned[0], 1);
	CHECK(cudaEventRecord(event, u));
	pthread_create(&t, NULL, synchronize_event, NULL);
	ready();
	pthread_join(t, NULL);
}

// Loaded now: on an NVIDIA GPU a kernel that is loaded at its first launch waits for the device.
static void load(const void *kernel)
{
	cudaFuncAttributes a;

	CHECK(cudaFuncGetAttributes(&a, kernel));
}

int main(int argc, char **argv)
{
	static const struct hang_case all[] = {{"value_never_written", value_never_written}, {"values_in_a_circle", values_in_a_circle},
		{"event_behind_value", event_behind_value}, {"event_polled", event_polled}, {"event_never_recorded", event_never_recorded},
		{"pinned_never_written", pinned_never_written}, {"flag_never_written", flag_never_written},
		{"setter_behind_event", setter_behind_event}, {"setter_on_the_same_stream", setter_on_the_same_stream},
		{"setter_on_the_legacy_stream", setter_on_the_legacy_stream}, {"copy_on_the_legacy_stream", copy_on_the_legacy_stream},
		{"grid_does_not_fit", grid_does_not_fit}, {"two_kernels_do_not_fit", two_kernels_do_not_fit},
		{"host_function_waits_for_its_stream", host_function_waits_for_its_stream},
		{"host_function_needs_a_mutex", host_function_needs_a_mutex}, {"callback_calls_cuda", callback_calls_cuda},
		{"free_waits_for_a_kernel", free_waits_for_a_kernel}, {"graph_edge_the_wrong_way", graph_edge_the_wrong_way},
		{"graph_host_node_needs_a_mutex", graph_host_node_needs_a_mutex},
		{"communicators_in_opposite_orders", communicators_in_opposite_orders},
		{"join_of_a_thread_that_waits", join_of_a_thread_that_waits}};
	static const void *const kernels[] = {(void *)wait_flag, (void *)set_flag, (void *)meet_all, (void *)left_half, (void *)right_half,
		(void *)all_reduce, (void *)count};

	CHECK(cudaMalloc((void **)&flags, 64 * sizeof(int)));
	CHECK(cudaMemset((void *)flags, 0, 64 * sizeof(int)));
	CHECK(cudaMalloc(&numbers, 64 * sizeof(int)));
	CHECK(cudaMemset(numbers, 0, 64 * sizeof(int)));
	CHECK(cudaHostAlloc((void **)&pinned, 64 * sizeof(int), cudaHostAllocMapped));
	memset((void *)pinned, 0, 64 * sizeof(int));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
	CHECK(cudaStreamCreate(&blocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (const void *kernel : kernels)
		load(kernel);
	CHECK(cudaDeviceSynchronize());
	return hang_run(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}
