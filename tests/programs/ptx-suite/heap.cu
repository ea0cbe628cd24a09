/* SPDX-License-Identifier: Apache-2.0
 *
 * malloc, free, new and delete in kernels: lists that grow in one kernel and are read in the next, a heap that is full, a limit that is set.
 */
#include "suite.h"

struct node {
	int value;
	node *next;
};

__global__ void grow(node **heads, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	node *head = NULL;

	for (int k = 0; k < n; k++) {
		node *x = (node *)malloc(sizeof(node));

		x->value = t * 100 + k;
		x->next = head;
		head = x;
	}
	heads[t] = head;
}

__global__ void sum_and_free(node **heads, int *sums)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, s = 0;

	for (node *x = heads[t], *next; x; x = next) {
		next = x->next;
		s += x->value;
		free(x);
	}
	sums[t] = s;
}

struct shape {
	__device__ virtual ~shape() {}
	__device__ virtual int area() const = 0;
};
struct square : shape {
	int a;
	__device__ square(int a) : a(a) {}
	__device__ int area() const override { return a * a; }
};
struct box : shape {
	int a, b;
	__device__ box(int a, int b) : a(a), b(b) {}
	__device__ int area() const override { return a * b; }
};

__global__ void objects(int *out)
{
	int t = threadIdx.x;
	shape *s = t % 2 ? (shape *)new box(t, 3) : (shape *)new square(t);

	out[t] = s->area();
	delete s;
}

/* How many pieces of this size there are. */
__global__ void exhaust(size_t size, int *count)
{
	void *got[64];
	int n = 0;

	while (n < 64 && (got[n] = malloc(size)))
		n++;
	*count = n;
	while (n)
		free(got[--n]);
}

int main()
{
	const int n = 256;
	std::vector<int> want(n), areas(n);
	size_t limit = 0;

	CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
	CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
	if (limit < 16 << 20) {
		printf("the limit is %zu\n", limit);
		return 1;
	}
	for (int t = 0; t < n; t++) {
		want[t] = 20 * t * 100 + 190;
		areas[t] = t % 2 ? 3 * t : t * t;
	}
	node **heads = device_zeros<node *>(n);
	int *d = device_zeros<int>(n), *count = device_zeros<int>(1);
	for (int round = 0; round < 3; round++) {
		grow<<<n / 64, 64>>>(heads, 20);
		sum_and_free<<<n / 64, 64>>>(heads, d);
		compare("sums", to_host(d, n), want);
	}
	objects<<<1, n>>>(d);
	compare("areas", to_host(d, n), areas);
	for (int round = 0; round < 3; round++) {
		exhaust<<<1, 1>>>(1 << 20, count);
		int pieces = to_host(count, 1)[0];
		if (pieces < 8 || pieces > 32) {
			printf("%d pieces of 1 MiB\n", pieces);
			return 1;
		}
	}
	return passed("heap");
}
