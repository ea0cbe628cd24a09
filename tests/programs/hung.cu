// SPDX-License-Identifier: Apache-2.0
//
// A GPU that does not come to an end. hung spin: a kernel that spins for ever, and a copy behind it; hung value: a stream that waits for a value that nobody
// writes. Until the file "end" is there, when the host lets it go. The host waits for the stream. With another word the program ends when the file "gone" is there.
// hung later: nothing hangs until the file "go" is there; then a second thread has a kernel spin in its own default stream, where no other thread can ask for it,
// while the first goes on launching.
#include "gpu.h"
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>

static volatile int *word; // pinned; behind it what is copied back
static volatile int out;

__global__ void spin_for_ever(volatile int *p)
{
	while (!*p)
		;
}

static void *release(void *arg)
{
	while (access("end", F_OK) && !out)
		usleep(10000);
	*word = 1;
	return NULL;
}

static void *spin_later(void *arg)
{
	while (access("go", F_OK))
		usleep(10000);
	spin_for_ever<<<1, 1, 0, cudaStreamPerThread>>>((volatile int *)word);
	printf("hung: spins\n");
	fflush(stdout);
	while (!*word)
		usleep(10000);
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	return NULL;
}

static void later(int *d, cudaStream_t s)
{
	pthread_t t, u;
	pthread_create(&t, NULL, release, NULL);
	pthread_create(&u, NULL, spin_later, NULL);
	printf("hung: running\n");
	fflush(stdout);
	for (; !*word; usleep(1000)) {
		count<<<1, 1, 0, s>>>(d, 1);
		CHECK(cudaStreamSynchronize(s));
	}
	out = 1;
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("hung: over\n");
}

int main(int argc, char **argv)
{
	const bool value = argc > 1 && !strcmp(argv[1], "value");
	int *d = counter_new();
	CHECK(cudaDeviceSynchronize()); // the stream below does not wait for the default one
	cudaStream_t s;
	pthread_t t;
	CHECK(cudaHostAlloc((void **)&word, 2 * sizeof(int), cudaHostAllocMapped));
	*word = 0;
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	count<<<1, 1, 0, s>>>(d, 1); // its code is loaded
	CHECK(cudaStreamSynchronize(s));
	if (argc > 1 && !strcmp(argv[1], "later")) {
		later(d, s);
		return 0;
	}
	pthread_create(&t, NULL, release, NULL);
	if (value) {
		typedef CUresult wait_fn(CUstream, CUdeviceptr, cuuint32_t, unsigned);
		wait_fn *const wait = (wait_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamWaitValue32_v2");
		if (!wait || wait((CUstream)s, (CUdeviceptr)(uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_EQ))
			return 2;
	} else {
		spin_for_ever<<<1, 1, 0, s>>>((volatile int *)word);
	}
	CHECK(cudaMemcpyAsync((void *)(word + 1), d, sizeof(int), cudaMemcpyDeviceToHost, s));
	printf("hung: running\n");
	fflush(stdout);
	CHECK(cudaStreamSynchronize(s));
	out = 1;
	pthread_join(t, NULL);
	printf("hung: over, counted %d\n", counter_value(d));
	fflush(stdout);
	while (argc > 2 && access("gone", F_OK))
		usleep(10000);
	return 0;
}
