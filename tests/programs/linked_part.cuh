/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of `linked` share: linked_part.cu defines what is declared here.
 */
#ifndef TESTS_PROGRAMS_LINKED_PART_CUH
#define TESTS_PROGRAMS_LINKED_PART_CUH

extern __device__ int twice(int);
extern __device__ int launched;
extern __constant__ int scale[4];

template <class T> __device__ __noinline__ T thrice(T x)
{
	return x * 3;
}

void second(int *p);

#endif
