/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the host in a stream's order: callbacks between kernels, and nodes of a graph. Each
 * counts, and checks that it is called in its turn. They touch host memory that no kernel does.
 */
#include "hip_check.h"

static int calls, wrong;

static void count(void *arg)
{
	wrong += calls++ != *(int *)arg;
}

static void callback(hipStream_t, hipError_t e, void *arg)
{
	wrong += e != hipSuccess;
	count(arg);
}

__global__ void add_one(int *p)
{
	p[threadIdx.x] += 1;
}

static void graph_of_two(hipStream_t s, int *turn)
{
	hipGraph_t g;
	hipGraphExec_t x;
	hipGraphNode_t first, second;
	hipHostNodeParams one = {count, turn}, two = {count, turn + 1};

	HIP(hipGraphCreate(&g, 0));
	HIP(hipGraphAddHostNode(&first, g, NULL, 0, &one));
	HIP(hipGraphAddHostNode(&second, g, &first, 1, &two));
	HIP(hipGraphInstantiate(&x, g, NULL, NULL, 0));
	HIP(hipGraphLaunch(x, s));
	HIP(hipStreamSynchronize(s));
	HIP(hipGraphExecDestroy(x));
	HIP(hipGraphDestroy(g));
}

int main()
{
	static int turns[32], host[64];
	hipStream_t s;
	int *p;

	for (int i = 0; i < 32; i++)
		turns[i] = i;
	HIP(hipMalloc(&p, sizeof host));
	HIP(hipMemset(p, 0, sizeof host));
	HIP(hipStreamCreate(&s));
	for (int i = 0; i < 20; i++) {
		add_one<<<1, 64, 0, s>>>(p);
		HIP(hipStreamAddCallback(s, callback, &turns[i], 0));
		add_one<<<1, 64, 0, s>>>(p);
	}
	HIP(hipStreamSynchronize(s));
	for (int i = 20; i < 30; i += 2)
		graph_of_two(s, &turns[i]);
	HIP(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
	HIP(hipStreamDestroy(s));
	SAME(host[0] == 40 && host[63] == 40, "what the kernels count");
	printf("%d calls, %d out of turn\n", calls, wrong);
	return 0;
}
