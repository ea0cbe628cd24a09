/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: one stream gives work to two others and waits for only one of them.
 * The pair: right and both.
 */
static __global__ void right(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = 2 * in[i];
}

RACE(diamond, "right", "both")
{
	cudaStream_t a = stream(), b = stream(), c = stream();
	int *data = device(), *x = device(), *y = device(), *out = device();

	produce<<<GRID, 0, a>>>(data, 7);
	after(b, a);
	after(c, a);
	consume<<<GRID, 0, b>>>(x, data);
	right<<<GRID, 0, c>>>(y, data);
	after(a, b);
	if (fixed)
		after(a, c);
	pause_a_moment();
	both<<<GRID, 0, a>>>(out, x, y);
	show(out);
}
