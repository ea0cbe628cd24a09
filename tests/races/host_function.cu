/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: the host function that is meant to wait for the copy runs in the order of the other stream.
 * The pair: the copy to the host and the copy from it; what the function itself touches is not seen.
 */
static void host_function_doubles(void *p)
{
	for (int i = 0; i < N; i++)
		((int *)p)[i] *= 2;
}

RACE(host_function, "copy", "copy")
{
	cudaStream_t a = stream(), b = stream();
	int *from = device(), *to = device(), *h = pinned(0);

	produce<<<GRID, 0, a>>>(from, 7);
	CHECK(cudaMemcpyAsync(h, from, BYTES, cudaMemcpyDeviceToHost, a));
	pause_a_moment();
	CHECK(cudaLaunchHostFunc(fixed ? a : b, host_function_doubles, h));
	if (fixed)
		after(b, a);
	pause_a_moment();
	CHECK(cudaMemcpyAsync(to, h, BYTES, cudaMemcpyHostToDevice, b));
	show(to);
}
