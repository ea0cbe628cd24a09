/* SPDX-License-Identifier: Apache-2.0
 *
 * Sixteen threads that do at once what the agent has tables for: allocate, pin, register, copy,
 * launch, make streams and events, load code, end, and fork. Built with ThreadSanitizer, as the
 * agent beside it is; the software GPU is not, so what is reported is the agent's (make
 * check-tsan).
 */
#include "../programs/ptx-driver.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 16
#define WORDS 4096

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add(.param .u64 p)\n{\n\t.reg .u64 %rd<3>;\n\t.reg .u32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.global.u32 %r1, [%rd1];\n\tadd.u32 %r1, %r1, 1;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

static int rounds = 12;
static void *ctx, *add;

static void launch(void *f, void *stream, uint64_t p)
{
	void *args[] = {&p};
	CU("cuLaunchKernel", f, 1, 1, 1, 1, 1, 1, 0, stream, (void *)args, (void *)0);
}

static void pinned(void *stream, uint64_t dev)
{
	uint32_t *h = NULL;
	uint64_t there = 0;
	CU("cuMemHostAlloc", (void *)&h, (size_t)WORDS * 4, 2);
	CU("cuMemHostGetDevicePointer_v2", (void *)&there, (void *)h, 0);
	for (unsigned i = 0; i < WORDS; i += 7)
		h[i] = i;
	CU("cuMemcpyHtoDAsync_v2", (void *)dev, (void *)h, (size_t)WORDS * 4, stream); // NOLINT
	launch(add, stream, there);
	CU("cuMemcpyDtoHAsync_v2", (void *)h, dev, (size_t)WORDS * 4, stream);
	CU("cuStreamSynchronize", stream);
	CU("cuMemFreeHost", (void *)h);
}

static void registered(void *stream, uint64_t dev)
{
	void *p = NULL;
	if (posix_memalign(&p, 4096, (size_t)WORDS * 4))
		exit(1);
	memset(p, 1, (size_t)WORDS * 4);
	CU("cuMemHostRegister_v2", p, (size_t)WORDS * 4, 2);
	launch(add, stream, dev);
	CU("cuStreamSynchronize", stream);
	CU("cuMemHostUnregister", p);
	free(p);
}

static void code(void *stream, uint64_t dev)
{
	void *m = NULL, *f = NULL;
	CU("cuModuleLoadData", (void *)&m, (void *)ptx);
	CU("cuModuleGetFunction", (void *)&f, m, (void *)"add");
	launch(f, stream, dev);
	CU("cuStreamSynchronize", stream);
	CU("cuModuleUnload", m);
}

static void child(void)
{
	const pid_t p = fork();
	if (!p)
		_exit(0);
	waitpid(p, NULL, 0);
}

static void *one_round(void *arg)
{
	const unsigned i = (unsigned)(uintptr_t)arg;
	void *stream = NULL, *event = NULL;
	uint64_t dev = 0;
	CU("cuCtxSetCurrent", ctx);
	CU("cuStreamCreate", (void *)&stream, 1);
	CU("cuEventCreate", (void *)&event, 2);
	CU("cuMemAlloc_v2", (void *)&dev, (size_t)WORDS * 4);
	pinned(stream, dev);
	registered(stream, dev);
	if (i % 4 == 0)
		code(stream, dev);
	CU("cuEventRecord", event, stream);
	CU("cuEventSynchronize", event);
	if (i % 8 == 3)
		child();
	CU("cuMemFree_v2", (void *)dev); // NOLINT
	CU("cuEventDestroy_v2", event);
	CU("cuStreamDestroy_v2", stream);
	return NULL;
}

/* Every other round is a thread's only one. */
static void *work(void *arg)
{
	pthread_t t;
	for (int i = 0; i < rounds; i++) {
		void *const n = (void *)((uintptr_t)arg + (unsigned)i); // NOLINT
		if (i & 1) {
			one_round(n);
		} else {
			pthread_create(&t, NULL, one_round, n);
			pthread_join(t, NULL);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	void *m = NULL;
	if (argc > 1)
		rounds = atoi(argv[1]);
	open_driver();
	CU("cuCtxGetCurrent", (void *)&ctx);
	CU("cuModuleLoadData", (void *)&m, (void *)ptx);
	CU("cuModuleGetFunction", (void *)&add, m, (void *)"add");
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i); // NOLINT
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CU("cuCtxSynchronize", (void *)0);
	printf("agent-stress: fine\n");
	return 0;
}
