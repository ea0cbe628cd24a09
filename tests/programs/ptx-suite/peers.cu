/* SPDX-License-Identifier: Apache-2.0
 *
 * Two devices: each with its own memory, variables and streams; copies between them; a kernel of one that reads the other's memory; a
 * reduction split over both. Where there is only one device there is nothing to check.
 */
#include "suite.h"

__device__ int offset_of_device;

__global__ void fill(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = v + i + offset_of_device;
}

__global__ void add(const int *a, const int *b, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + b[i];
}

static void expect(const char *what, long got, long want)
{
	if (got != want) {
		fprintf(stderr, "%s is %ld, should be %ld\n", what, got, want);
		exit(1);
	}
}

int main()
{
	const int n = 5000, blocks = (n + 127) / 128;
	int devices, can, *p[2], *out, *managed;
	std::vector<int> got(n), want(n);
	cudaPointerAttributes attr;
	cudaStream_t s[2];
	cudaEvent_t done;

	setenv("TSDB_SOFT_DEVICES", "2", 0); /* read when the driver starts */
	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2)
		return passed("peers");
	for (int d = 0; d < 2; d++) {
		int v = 1000 * (d + 1);

		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreateWithFlags(&s[d], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&p[d], n * sizeof(int)));
		CHECK(cudaMemcpyToSymbol(offset_of_device, &v, sizeof(v)));
		CHECK(cudaDeviceSynchronize());
		fill<<<blocks, 128, 0, s[d]>>>(p[d], n, d);
		CHECK(cudaPointerGetAttributes(&attr, p[d]));
		expect("the pointer's device", attr.device, d);
	}
	/* each device has its own variable */
	for (int d = 0; d < 2; d++) {
		int v = 0;

		CHECK(cudaSetDevice(d));
		CHECK(cudaMemcpyFromSymbol(&v, offset_of_device, sizeof(v)));
		expect("the variable", v, 1000 * (d + 1));
	}
	/* device 0 waits for device 1's stream, then reads its memory */
	CHECK(cudaSetDevice(1));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CHECK(cudaEventRecord(done, s[1]));
	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
	CHECK(cudaMalloc(&out, n * sizeof(int)));
	CHECK(cudaStreamWaitEvent(s[0], done, 0));
	if (can) {
		CHECK(cudaDeviceEnablePeerAccess(1, 0));
		expect("enabling it again", cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
		cudaGetLastError();
		add<<<blocks, 128, 0, s[0]>>>(p[0], p[1], out, n);
	} else {
		int *copy;

		CHECK(cudaMalloc(&copy, n * sizeof(int)));
		CHECK(cudaMemcpyPeerAsync(copy, 0, p[1], 1, n * sizeof(int), s[0]));
		add<<<blocks, 128, 0, s[0]>>>(p[0], copy, out, n);
	}
	CHECK(cudaStreamSynchronize(s[0]));
	CHECK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		want[i] = i + 1000 + i + 1 + 2000;
	compare("peers: sum", got, want);
	/* the whole vector over, and back with the runtime finding the direction out */
	CHECK(cudaMemcpyPeer(p[1], 1, out, 0, n * sizeof(int)));
	CHECK(cudaMemcpy(p[0], p[1], n * sizeof(int), cudaMemcpyDefault));
	CHECK(cudaMemcpy(got.data(), p[0], n * sizeof(int), cudaMemcpyDefault));
	compare("peers: there and back", got, want);
	/* managed memory belongs to both */
	CHECK(cudaMallocManaged(&managed, n * sizeof(int)));
	for (int d = 0; d < 2; d++) {
		CHECK(cudaSetDevice(d));
		fill<<<blocks, 128>>>(managed, n, d);
		CHECK(cudaDeviceSynchronize());
		expect("managed memory", managed[n - 1], n - 1 + d + 1000 * (d + 1));
	}
	CHECK(cudaSetDevice(0));
	if (can) {
		CHECK(cudaDeviceDisablePeerAccess(1));
		expect("disabling it again", cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
		cudaGetLastError();
	}
	expect("a peer that is not there", cudaDeviceEnablePeerAccess(devices, 0), cudaErrorInvalidDevice);
	cudaGetLastError();
	return passed("peers");
}
