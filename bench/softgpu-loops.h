/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU's kernels are measured against. Each does rows or elements [from, to).
 */
#ifndef BENCH_SOFTGPU_LOOPS_H
#define BENCH_SOFTGPU_LOOPS_H

void loop_dot(float *c, const float *a, const float *b, int n, int from, int to);
void loop_rows(float *c, const float *a, const float *b, int n, int from, int to);
void loop_saxpy(float *y, const float *x, float a, int from, int to);
int loop_call(int x);

#endif
