// SPDX-License-Identifier: Apache-2.0
//
// A stream waits for values that another one writes: in signal memory, by a packet that waits, and in
// device memory, by a kernel of the runtime's that does.
#include "hip_check.h"

__global__ void doubled(unsigned *v)
{
	v[threadIdx.x] *= 2;
}

int main()
{
	unsigned v[64], *d, *word;
	uint64_t *signal;
	hipStream_t a, b;

	HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
	HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
	HIP(hipExtMallocWithFlags((void **)&signal, sizeof(*signal), hipMallocSignalMemory));
	HIP(hipMalloc(&word, sizeof(*word)));
	HIP(hipMalloc(&d, sizeof(v)));
	for (unsigned i = 0; i < 64; i++)
		v[i] = i;
	HIP(hipMemcpy(d, v, sizeof(v), hipMemcpyHostToDevice));
	HIP(hipStreamWriteValue64(a, signal, 0, 0));
	HIP(hipStreamSynchronize(a));
	HIP(hipStreamWaitValue64(b, signal, 17, hipStreamWaitValueEq, ~0ull));
	doubled<<<1, 64, 0, b>>>(d);
	HIP(hipGetLastError());
	SAME(hipStreamQuery(b) == hipErrorNotReady, "b waits");
	HIP(hipStreamWriteValue64(a, signal, 17, 0));
	HIP(hipStreamSynchronize(b));
	HIP(hipStreamWriteValue32(a, word, 5, 0));
	HIP(hipStreamSynchronize(a));
	HIP(hipStreamWaitValue32(b, word, 5, hipStreamWaitValueGte, ~0u));
	doubled<<<1, 64, 0, b>>>(d);
	HIP(hipStreamSynchronize(b));
	HIP(hipMemcpy(v, d, sizeof(v), hipMemcpyDeviceToHost));
	for (unsigned i = 0; i < 64; i++)
		SAME(v[i] == 4 * i, "a word");
	printf("values are right\n");
}
