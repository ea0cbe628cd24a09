/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces against the formulas of "CUDA C++ Programming Guide", Texture Fetching, worked out on the CPU: point fetches bit for
 * bit, linear filtering within the 1/256 that its 8 fractional bits allow; every address mode; integers read as floats; layers, cube maps,
 * volumes, pitched and linear memory, gathers; surfaces with each boundary mode; copies to and from arrays in every shape.
 */
#include "suite.h"

#include <cstring>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* cudaMemcpyToArray */

static unsigned seed = 5;

template <typename T> static std::vector<T> noise(size_t n)
{
	std::vector<T> v(n);

	for (auto &x : v)
		x = (T)(next_random(&seed) % 251);
	return v;
}

static cudaTextureObject_t texture_of(cudaResourceDesc res, cudaTextureFilterMode filter, cudaTextureAddressMode mode, bool normalized,
	cudaTextureReadMode read = cudaReadModeElementType, float border = 0)
{
	cudaTextureDesc t = {};
	cudaTextureObject_t ret;

	t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = mode;
	t.filterMode = filter;
	t.readMode = read;
	t.normalizedCoords = normalized;
	for (float &b : t.borderColor)
		b = border;
	CHECK(cudaCreateTextureObject(&ret, &res, &t, nullptr));
	return ret;
}

static cudaResourceDesc resource_of(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

/* --- the formulas ------------------------------------------------------------------------------------------------------ */
static int place(long i, int n, cudaTextureAddressMode mode)
{
	if (i >= 0 && i < n)
		return (int)i;
	if (mode == cudaAddressModeClamp)
		return i < 0 ? 0 : n - 1;
	if (mode == cudaAddressModeBorder)
		return -1;
	if (mode == cudaAddressModeWrap)
		return (int)(((i % n) + n) % n);
	i = ((i % (2 * n)) + 2 * n) % (2 * n);
	return (int)(i < n ? i : 2 * n - 1 - i);
}

struct image {
	const float *p;
	int w, h;
	cudaTextureAddressMode mode;
	float border;
	float at(long x, long y) const
	{
		int i = place(x, w, mode), j = place(y, h, mode);

		return i < 0 || j < 0 ? border : p[j * w + i];
	}
	float point(float x, float y) const
	{
		return at((long)floorf(x), (long)floorf(y));
	}
	float linear(float x, float y) const
	{
		double u = x - 0.5, v = y - 0.5, a = u - floor(u), b = v - floor(v);
		long i = (long)floor(u), j = (long)floor(v);

		return (float)((1 - a) * (1 - b) * at(i, j) + a * (1 - b) * at(i + 1, j) + (1 - a) * b * at(i, j + 1) + a * b * at(i + 1, j + 1));
	}
};

/* --- two dimensions ---------------------------------------------------------------------------------------------------- */
#define N 4096

__global__ void fetch_2d(cudaTextureObject_t t, const float2 *at, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

static void two_dimensions(const char *name, cudaResourceDesc res, const std::vector<float> &data, int w, int h,
	cudaTextureReadMode read = cudaReadModeElementType)
{
	/* bytes hold a border of 0.5 as 127 */
	const float border = read == cudaReadModeElementType ? 0.5f : 127.0f / 255;
	std::vector<float2> at(N), where(N);
	float *out = device_zeros<float>(N);

	for (int mode = 0; mode < 4; mode++) {
		for (int normalized = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror; normalized < 2; normalized++) {
			for (int linear = 0; linear < 2; linear++) {
				image ref = {data.data(), w, h, (cudaTextureAddressMode)mode, border};
				std::vector<float> want(N);

				if (linear && read == cudaReadModeElementType && !name[0])
					continue;
				for (int i = 0; i < N; i++) {
					/* multiples of 1/64 texel away from ties, of powers of two when normalised */
					float x = (float)(next_random(&seed) % (3 * w * 64)) / 64 - (float)w + 1.0f / 256;
					float y = (float)(next_random(&seed) % (3 * h * 64)) / 64 - (float)h + 1.0f / 256;

					at[i] = normalized ? make_float2(x / w, y / h) : make_float2(x, y);
					want[i] = linear ? ref.linear(x, y) : ref.point(x, y);
				}
				cudaTextureObject_t t = texture_of(res, linear ? cudaFilterModeLinear : cudaFilterModePoint,
					(cudaTextureAddressMode)mode, normalized, read, 0.5f);
				float2 *d = to_device(at);
				fetch_2d<<<N / 128, 128>>>(t, d, out);
				compare(name, to_host(out, N), want, linear ? 0.008 * (read == cudaReadModeElementType ? 251 : 1) : 0);
				CHECK(cudaDestroyTextureObject(t));
				CHECK(cudaFree(d));
			}
		}
	}
}

static void arrays_2d()
{
	const int w = 64, h = 32;
	std::vector<float> data = noise<float>(w * h), unit(w * h);
	std::vector<unsigned char> bytes = noise<unsigned char>(w * h);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), b = cudaCreateChannelDesc<unsigned char>(), got;
	cudaResourceDesc pitched = {};
	cudaArray_t a, c;
	cudaExtent extent;
	unsigned flags;
	float *p;

	CHECK(cudaMallocArray(&a, &f, w, h));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, data.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	CHECK(cudaArrayGetInfo(&got, &extent, &flags, a));
	if (got.x != 32 || got.f != cudaChannelFormatKindFloat || extent.width != w || extent.height != h || extent.depth || flags)
		exit(1);
	two_dimensions("array", resource_of(a), data, w, h);

	CHECK(cudaMallocArray(&c, &b, w, h));
	CHECK(cudaMemcpyToArray(c, 0, 0, bytes.data(), 100, cudaMemcpyHostToDevice)); /* a row and a half, then the rest */
	CHECK(cudaMemcpyToArray(c, 100 % w, 100 / w, bytes.data() + 100, w * h - 100, cudaMemcpyHostToDevice));
	for (int i = 0; i < w * h; i++)
		unit[i] = (float)bytes[i] / 255.0f;
	two_dimensions("bytes", resource_of(c), unit, w, h, cudaReadModeNormalizedFloat);

	pitched.resType = cudaResourceTypePitch2D;
	pitched.res.pitch2D.desc = f;
	pitched.res.pitch2D.width = w;
	pitched.res.pitch2D.height = h;
	CHECK(cudaMallocPitch(&p, &pitched.res.pitch2D.pitchInBytes, w * 4, h));
	pitched.res.pitch2D.devPtr = p;
	CHECK(cudaMemcpy2DFromArray(p, pitched.res.pitch2D.pitchInBytes, a, 0, 0, w * 4, h, cudaMemcpyDeviceToDevice));
	two_dimensions("pitched", pitched, data, w, h);
	CHECK(cudaFreeArray(a));
	CHECK(cudaFreeArray(c));
}

/* --- other shapes -------------------------------------------------------------------------------------------------------- */
__global__ void fetch_others(cudaTextureObject_t line, cudaTextureObject_t volume, cudaTextureObject_t layers, cudaTextureObject_t cube,
	cudaTextureObject_t colours, cudaTextureObject_t lines, float *out)
{
	int i = threadIdx.x;
	float4 g;
	uchar4 u;

	out[0 * 32 + i] = tex1Dfetch<float>(line, i - 4); /* 0 outside */
	out[1 * 32 + i] = tex3D<float>(volume, i % 8 + 0.5f, i / 8 + 0.5f, 2.5f);
	out[2 * 32 + i] = tex3D<float>(volume, i % 7 + 1.0f, i / 8 + 1.0f, 2.0f); /* in the middle of eight texels */
	out[3 * 32 + i] = tex2DLayered<float>(layers, i % 8 + 0.5f, i / 8 + 0.5f, 3);
	out[4 * 32 + i] = texCubemap<float>(cube, i % 6 == 0 ? 1 : i % 6 == 1 ? -1 : 0, i % 6 == 2 ? 1 : i % 6 == 3 ? -1 : 0,
		i % 6 == 4 ? 1 : i % 6 == 5 ? -1 : 0);
	g = tex2Dgather<float4>(layers ? colours : 0, i % 7 + 1.0f, i / 8 + 1.0f, 1);
	out[5 * 32 + i] = g.x * 8 + g.y * 4 + g.z * 2 + g.w;
	g = tex2D<float4>(colours, i % 8 + 0.5f, i / 8 + 0.5f);
	out[6 * 32 + i] = g.x + g.y * 2 + g.z * 4 + g.w * 8;
	out[7 * 32 + i] = tex1DLayered<float>(lines, i % 8 + 0.5f, i / 8);
	out[8 * 32 + i] = tex2DLod<float>(colours, i % 8 + 0.5f, 0.5f, 3.0f);
	(void)u;
}

static cudaArray_t filled(const cudaChannelFormatDesc &f, cudaExtent e, unsigned flags, const void *data, size_t texel)
{
	cudaMemcpy3DParms p = {};
	cudaArray_t a;

	CHECK(cudaMalloc3DArray(&a, &f, e, flags));
	p.srcPtr = make_cudaPitchedPtr((void *)data, e.width * texel, e.width, e.height ? e.height : 1);
	p.dstArray = a;
	p.extent = make_cudaExtent(e.width, e.height ? e.height : 1, e.depth ? e.depth : 1);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	return a;
}

static void other_shapes()
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), f4 = cudaCreateChannelDesc<float4>();
	std::vector<float> v = noise<float>(8 * 4 * 5), l = noise<float>(24), c = noise<float>(6 * 4), k = noise<float>(8 * 4 * 4), n = noise<float>(32);
	cudaResourceDesc linear = {};
	std::vector<float> want(9 * 32);
	float *out = device_zeros<float>(9 * 32);
	cudaTextureAddressMode clamp = cudaAddressModeClamp;

	linear.resType = cudaResourceTypeLinear;
	linear.res.linear.devPtr = to_device(l);
	linear.res.linear.desc = f;
	linear.res.linear.sizeInBytes = l.size() * 4;
	cudaArray_t volume = filled(f, make_cudaExtent(8, 4, 5), 0, v.data(), 4);
	cudaArray_t layers = filled(f, make_cudaExtent(8, 4, 5), cudaArrayLayered, v.data(), 4);
	cudaArray_t cube = filled(f, make_cudaExtent(2, 2, 6), cudaArrayCubemap, c.data(), 4);
	cudaArray_t colours = filled(f4, make_cudaExtent(8, 4, 0), cudaArrayTextureGather, k.data(), 16);
	cudaArray_t lines = filled(f, make_cudaExtent(8, 0, 4), cudaArrayLayered, n.data(), 4);
	fetch_others<<<1, 32>>>(texture_of(linear, cudaFilterModePoint, clamp, false), texture_of(resource_of(volume), cudaFilterModeLinear, clamp, false),
		texture_of(resource_of(layers), cudaFilterModePoint, clamp, false), texture_of(resource_of(cube), cudaFilterModePoint, clamp, true),
		texture_of(resource_of(colours), cudaFilterModePoint, clamp, false), texture_of(resource_of(lines), cudaFilterModePoint, clamp, false), out);
	for (int i = 0; i < 32; i++) {
		int x = i % 8, y = i / 8, x7 = i % 7, x71 = x7 + 1 > 7 ? 7 : x7 + 1, y1 = y + 1 > 3 ? 3 : y + 1;
		auto vol = [&](int a, int b, int z) { return v[(z * 4 + b) * 8 + a]; };
		auto green = [&](int a, int b) { return k[(b * 8 + a) * 4 + 1]; };
		const float *t = &k[(y * 8 + x) * 4];

		want[0 * 32 + i] = i >= 4 && i < 28 ? l[i - 4] : 0;
		want[1 * 32 + i] = vol(x, y, 2);
		want[2 * 32 + i] = (vol(x7, y, 1) + vol(x71, y, 1) + vol(x7, y1, 1) + vol(x71, y1, 1) + vol(x7, y, 2) + vol(x71, y, 2) + vol(x7, y1, 2) +
					   vol(x71, y1, 2)) / 8;
		want[3 * 32 + i] = vol(x, y, 3);
		want[4 * 32 + i] = c[i % 6 * 4 + 3]; /* the middle of a face belongs to its last quarter */
		want[5 * 32 + i] = green(x7, y1) * 8 + green(x71, y1) * 4 + green(x71, y) * 2 + green(x7, y);
		want[6 * 32 + i] = t[0] + t[1] * 2 + t[2] * 4 + t[3] * 8;
		want[7 * 32 + i] = n[y * 8 + x];
		want[8 * 32 + i] = k[x * 4];
	}
	compare("shapes", to_host(out, 9 * 32), want);
}

/* --- surfaces ------------------------------------------------------------------------------------------------------------- */
__global__ void invert(cudaSurfaceObject_t s, int w, int h)
{
	int x = threadIdx.x, y = blockIdx.x;
	short2 v = surf2Dread<short2>(s, x * 4, y);

	surf2Dwrite(make_short2((short)-v.y, v.x), s, x * 4, y);
	surf2Dwrite(make_short2(99, 99), s, (x + w) * 4, y, cudaBoundaryModeZero); /* outside: nothing */
	if (surf2Dread<int>(s, (x + w) * 4, y + h, cudaBoundaryModeZero))
		surf2Dwrite(make_short2(98, 98), s, 0, 0);
}

__global__ void clamped(cudaSurfaceObject_t s, int w, int h, int *out)
{
	out[threadIdx.x] = surf2Dread<int>(s, (threadIdx.x - 2) * 4, h + 5, cudaBoundaryModeClamp);
}

__global__ void fill_volume(cudaSurfaceObject_t s)
{
	surf3Dwrite((unsigned char)(threadIdx.x + 10 * threadIdx.y + 50 * threadIdx.z), s, threadIdx.x, threadIdx.y, threadIdx.z);
}

static void surfaces()
{
	const int w = 32, h = 9;
	cudaChannelFormatDesc f = cudaCreateChannelDesc<short2>(), b = cudaCreateChannelDesc<unsigned char>();
	std::vector<short2> data(w * h), got(w * h);
	std::vector<unsigned char> volume(5 * 4 * 3), want_volume(5 * 4 * 3);
	cudaMemcpy3DParms p = {};
	cudaResourceDesc r;
	cudaSurfaceObject_t s;
	cudaArray_t a, v, copy;
	int *out = device_zeros<int>(w + 4);

	for (int i = 0; i < w * h; i++)
		data[i] = make_short2((short)i, (short)(i * 3));
	CHECK(cudaMallocArray(&a, &f, w, h, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, data.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	r = resource_of(a);
	CHECK(cudaCreateSurfaceObject(&s, &r));
	invert<<<h, w>>>(s, w, h);
	clamped<<<1, w + 4>>>(s, w, h, out);
	CHECK(cudaMallocArray(&copy, &f, w, h));
	CHECK(cudaMemcpy2DArrayToArray(copy, 0, 0, a, 0, 0, w * 4, h, cudaMemcpyDeviceToDevice));
	CHECK(cudaMemcpy2DFromArray(got.data(), w * 4, copy, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
	for (int i = 0; i < w * h; i++)
		if (got[i].x != -data[i].y || got[i].y != data[i].x) {
			fprintf(stderr, "surface: [%d] is %d, %d\n", i, got[i].x, got[i].y);
			exit(1);
		}
	std::vector<int> edge = to_host(out, w + 4);
	for (int i = 0; i < w + 4; i++) {
		int x = i < 2 ? 0 : i - 2 >= w ? w - 1 : i - 2, want;

		memcpy(&want, &got[(h - 1) * w + x], 4);
		if (edge[i] != want) {
			fprintf(stderr, "clamped: [%d] is %#x, should be %#x\n", i, edge[i], want);
			exit(1);
		}
	}
	CHECK(cudaDestroySurfaceObject(s));

	CHECK(cudaMalloc3DArray(&v, &b, make_cudaExtent(5, 4, 3), cudaArraySurfaceLoadStore));
	r = resource_of(v);
	CHECK(cudaCreateSurfaceObject(&s, &r));
	fill_volume<<<1, dim3(5, 4, 3)>>>(s);
	p.srcArray = v;
	p.srcPos = make_cudaPos(1, 1, 1);
	p.dstPtr = make_cudaPitchedPtr(volume.data(), 5, 5, 4);
	p.extent = make_cudaExtent(4, 3, 2);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&p));
	for (int z = 0; z < 2; z++)
		for (int y = 0; y < 3; y++)
			for (int x = 0; x < 4; x++)
				want_volume[(z * 4 + y) * 5 + x] = (unsigned char)(x + 1 + 10 * (y + 1) + 50 * (z + 1));
	compare("volume", volume, want_volume);
}

int main()
{
	arrays_2d();
	other_shapes();
	surfaces();
	return passed("texture");
}
