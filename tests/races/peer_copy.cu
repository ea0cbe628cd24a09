/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong: a peer copy on one stream takes what another stream still writes. With two devices it is between them.
 * The pair: produce and the copy.
 */
RACE(peer_copy, "produce", "copy")
{
	int devices = 0, other;
	cudaStream_t a = stream(), b = stream();
	int *data = device(), *there;

	CHECK(cudaGetDeviceCount(&devices));
	other = devices > 1;
	CHECK(cudaSetDevice(other));
	there = device();
	CHECK(cudaSetDevice(0));
	produce<<<GRID, 0, a>>>(data, 7);
	if (fixed)
		after(b, a);
	pause_a_moment();
	CHECK(cudaMemcpyPeerAsync(there, other, data, 0, BYTES, b));
	CHECK(cudaStreamSynchronize(b));
	show(there);
}
