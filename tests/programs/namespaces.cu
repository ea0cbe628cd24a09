// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is a template in a namespace, launched by a member function: nvcc's stub of it is static.
#include "gpu.h"

namespace sim {

struct particle {
	float x, v;
	int id;
};

enum class mode { plain, twice };

template <typename T> __global__ void step(particle *all, T *out, int n, T dt, mode how)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	all[i].x += all[i].v * (how == mode::twice ? 2 * dt : dt);
	out[i] = all[i].x;
}

class world {
public:
	explicit world(int count) : n(count)
	{
		CHECK(cudaMalloc(&all, n * sizeof *all));
		CHECK(cudaMalloc(&out, n * sizeof *out));
		CHECK(cudaMemset(all, 0, n * sizeof *all));
	}
	void run()
	{
		step<float><<<1, 64>>>(all, out, n, 0.5f, mode::twice); /* launched here */
		CHECK(cudaDeviceSynchronize());
	}

private:
	particle *all;
	float *out;
	int n;
};

}

int main()
{
	sim::world w(40);

	w.run();
	return 0;
}
