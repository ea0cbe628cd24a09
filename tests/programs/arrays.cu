/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays, textures and surfaces: an array is written by a copy from the host, read through a texture with a linear filter, copied to
 * another one that a surface changes, and copied back; layers, pitched memory, an object that is destroyed and made again with the same
 * handle. Argument: nothing; race: a copy into the array on one stream while a kernel fetches from it on another; ordered: the same with an
 * event between; graph: a graph with a copy into the array and such a kernel.
 */
#include "gpu.h"

#define W 64
#define H 16
#define LAYERS 3

/* 0.5 * (t[x] + t[x + 1]) of row y: half way between two texels. */
__global__ void between(cudaTextureObject_t t, float *out)
{
	const int x = threadIdx.x, y = blockIdx.x;

	out[y * W + x] = tex2D<float>(t, x + 1.0f, y + 0.5f);
}

__global__ void doubled(cudaSurfaceObject_t s)
{
	const int x = threadIdx.x, y = blockIdx.x;

	surf2Dwrite(2 * surf2Dread<float>(s, x * 4, y), s, x * 4, y);
}

__global__ void layers(cudaTextureObject_t t, float *out)
{
	const int x = threadIdx.x, layer = blockIdx.x;

	out[layer * W + x] = tex2DLayered<float>(t, x + 0.5f, 0.5f, layer);
}

/* A handle that lies in memory. */
struct holder {
	cudaTextureObject_t t;
};
__global__ void held(const struct holder *h, float *out)
{
	out[threadIdx.x] = tex2D<float>(h->t, threadIdx.x + 0.5f, 2.5f);
}

static cudaTextureObject_t texture_of(const cudaResourceDesc *what, cudaTextureFilterMode filter)
{
	cudaTextureDesc how = {};
	cudaTextureObject_t t;

	how.filterMode = filter;
	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	CHECK(cudaCreateTextureObject(&t, what, &how, NULL));
	return t;
}

static cudaResourceDesc of_array(cudaArray_t a)
{
	cudaResourceDesc what = {};

	what.resType = cudaResourceTypeArray;
	what.res.array.array = a;
	return what;
}

static float host[LAYERS * W * H], *out;
static double sum(int n)
{
	double s = 0;

	CHECK(cudaMemcpy(host, out, n * sizeof(float), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		s += host[i];
	return s;
}

static void number(void)
{
	for (int i = 0; i < LAYERS * W * H; i++)
		host[i] = (float)(i % 97);
}

static void flat(cudaArray_t a)
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaResourceDesc what = of_array(a);
	struct holder *h, mine;
	cudaSurfaceObject_t s;
	cudaTextureObject_t t;
	cudaArray_t b;

	t = texture_of(&what, cudaFilterModeLinear);
	between<<<H, W>>>(t, out);
	printf("between: %.1f\n", sum(W * H));
	CHECK(cudaMallocArray(&b, &f, W, H, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, W * 4, H, cudaMemcpyDeviceToDevice));
	what = of_array(b);
	CHECK(cudaCreateSurfaceObject(&s, &what));
	doubled<<<H, W>>>(s);
	CHECK(cudaMemcpy2DFromArray(host, W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
	printf("doubled: %.0f %.0f\n", host[1], host[W * H - 1]);
	CHECK(cudaDestroySurfaceObject(s));
	CHECK(cudaDestroyTextureObject(t));
	t = texture_of(&what, cudaFilterModePoint); /* of b, with the handle that the one of a had */
	mine.t = t;
	CHECK(cudaMalloc(&h, sizeof *h));
	CHECK(cudaMemcpy(h, &mine, sizeof mine, cudaMemcpyHostToDevice));
	held<<<1, W>>>(h, out);
	printf("held: %.0f\n", sum(W));
	CHECK(cudaDestroyTextureObject(t));
	CHECK(cudaFreeArray(b));
}

static void deep(void)
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaMemcpy3DParms p = {};
	cudaResourceDesc what;
	cudaTextureObject_t t;
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &f, make_cudaExtent(W, H, LAYERS), cudaArrayLayered));
	number();
	p.srcPtr = make_cudaPitchedPtr(host, W * 4, W, H);
	p.dstArray = a;
	p.extent = make_cudaExtent(W, H, LAYERS);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	what = of_array(a);
	t = texture_of(&what, cudaFilterModePoint);
	layers<<<LAYERS, W>>>(t, out);
	printf("layers: %.0f\n", sum(LAYERS * W));
}

static void pitched(void)
{
	cudaResourceDesc what = {};
	float *rows;

	what.resType = cudaResourceTypePitch2D;
	what.res.pitch2D.desc = cudaCreateChannelDesc<float>();
	what.res.pitch2D.width = W;
	what.res.pitch2D.height = H;
	CHECK(cudaMallocPitch(&rows, &what.res.pitch2D.pitchInBytes, W * 4, H));
	what.res.pitch2D.devPtr = rows;
	number();
	CHECK(cudaMemcpy2D(rows, what.res.pitch2D.pitchInBytes, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
	between<<<H, W>>>(texture_of(&what, cudaFilterModeLinear), out);
	printf("pitched: %.1f\n", sum(W * H));
}

/* A copy into the array, and a kernel that fetches from it. */
static void two(cudaArray_t a, bool ordered)
{
	cudaResourceDesc what = of_array(a);
	cudaTextureObject_t t = texture_of(&what, cudaFilterModePoint);
	cudaStream_t one, other;
	cudaEvent_t copied;
	float *from;

	CHECK(cudaMalloc(&from, W * H * 4));
	CHECK(cudaMemset(from, 0, W * H * 4));
	CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&copied));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy2DToArrayAsync(a, 0, 0, from, W * 4, W * 4, H, cudaMemcpyDeviceToDevice, one));
	if (ordered) {
		CHECK(cudaEventRecord(copied, one));
		CHECK(cudaStreamWaitEvent(other, copied, 0));
	}
	between<<<H, W, 0, other>>>(t, out);
	CHECK(cudaDeviceSynchronize());
}

static void graph(cudaArray_t a)
{
	cudaResourceDesc what = of_array(a);
	cudaTextureObject_t t = texture_of(&what, cudaFilterModeLinear);
	cudaGraphExec_t exec;
	cudaStream_t s;
	cudaGraph_t g;
	float *from;

	CHECK(cudaMalloc(&from, W * H * 4));
	CHECK(cudaMemcpy(from, host, W * H * 4, cudaMemcpyHostToDevice));
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemcpy2DToArrayAsync(a, 0, 0, from + 1, W * 4, W * 4, H - 1, cudaMemcpyDeviceToDevice, s));
	between<<<H, W, 0, s>>>(t, out);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	printf("graph: %.1f\n", sum(W * H));
}

int main(int argc, char **argv)
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	CHECK(cudaMalloc(&out, LAYERS * W * H * 4));
	CHECK(cudaMallocArray(&a, &f, W, H));
	number();
	CHECK(cudaMemcpy2DToArray(a, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
	if (argc > 1 && !strcmp(argv[1], "graph")) {
		graph(a);
	} else if (argc > 1) {
		two(a, !strcmp(argv[1], "ordered"));
	} else {
		flat(a);
		deep();
		pitched();
	}
	printf("arrays: ok\n");
	return 0;
}
