/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: two streams copy two halves of an image, and the halves overlap by one row.
 * The pair: the two copies.
 */
RACE(tiles_overlap, "copy", "copy")
{
	enum { WIDTH = 128, ROW = WIDTH * sizeof(int), ROWS = 16, HALF = ROWS / 2 };
	cudaStream_t a = stream(), b = stream();
	int *image = device(), *upper = device(), *lower = device();

	CHECK(cudaMemset(upper, 1, BYTES));
	CHECK(cudaMemset(lower, 2, BYTES));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy2DAsync(image, ROW, upper, ROW, ROW / 2, HALF + !fixed, cudaMemcpyDeviceToDevice, a));
	pause_a_moment();
	CHECK(cudaMemcpy2DAsync(image + HALF * WIDTH, ROW, lower, ROW, ROW / 2, HALF, cudaMemcpyDeviceToDevice, b));
	show(image);
}
