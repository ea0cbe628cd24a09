/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain C loops that bench-softgpu compares with, compiled with -O2 alone. The matrix product
 * is there twice: one sum after the other, as the kernel computes it, and row by row, which is the
 * order a CPU likes best.
 */
#include "softgpu-loops.h"

void loop_dot(float *c, const float *a, const float *b, int n, int from, int to)
{
	for (int row = from; row < to; row++)
		for (int col = 0; col < n; col++) {
			float sum = 0;
			for (int k = 0; k < n; k++)
				sum += a[row * n + k] * b[k * n + col];
			c[row * n + col] = sum;
		}
}

void loop_rows(float *c, const float *a, const float *b, int n, int from, int to)
{
	for (int row = from; row < to; row++) {
		for (int col = 0; col < n; col++)
			c[row * n + col] = 0;
		for (int k = 0; k < n; k++) {
			float f = a[row * n + k];
			for (int col = 0; col < n; col++)
				c[row * n + col] += f * b[k * n + col];
		}
	}
}

void loop_saxpy(float *y, const float *x, float a, int from, int to)
{
	for (int i = from; i < to; i++)
		y[i] = a * x[i] + y[i];
}

int loop_call(int x)
{
	return x + 1;
}
