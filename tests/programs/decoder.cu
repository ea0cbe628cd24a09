// SPDX-License-Identifier: Apache-2.0
//
// A decoder that generates tokens one after the other, as a serving loop does, with one kernel from generated code: for each token
// two layers of attend (its grid grows with the position) and mlp, and the token's copy to the host. Usage: decoder [VARIANT]
//   tokens       two tokens more
//   generated    the generated kernel comes from another version of its generator: another block, and one rounding less
#include <cuda.h>
#include <dlfcn.h>
#include "gpu.h"

enum { N = 128, TOKENS = 5, LAYERS = 2 };

// What two versions of a generator made of x * y + z, both under the same name.
static const char version_one[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
				  ".visible .entry fused_mul_add_0(.param .u64 p0, .param .u64 p1)\n{\n"
				  ".reg .b64 %rd<5>; .reg .b32 %r<5>; .reg .f32 %f<6>;\n"
				  "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];\n"
				  "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
				  "mad.lo.u32 %r4, %r1, %r2, %r3;\n"
				  "mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd3, %rd2, %rd3;\n"
				  "ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd3];\n"
				  "mul.rn.f32 %f3, %f1, %f2; add.rn.f32 %f4, %f3, %f1;\n"
				  "st.global.f32 [%rd4], %f4; ret;\n}\n";
static const char version_two[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
				  ".visible .entry fused_mul_add_0(.param .u64 p0, .param .u64 p1)\n{\n"
				  ".reg .b64 %rd<5>; .reg .b32 %r<5>; .reg .f32 %f<6>;\n"
				  "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];\n"
				  "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
				  "mad.lo.u32 %r4, %r1, %r2, %r3;\n"
				  "mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd3, %rd2, %rd3;\n"
				  "ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd3];\n"
				  "fma.rn.f32 %f4, %f1, %f2, %f1;\n"
				  "st.global.f32 [%rd4], %f4; ret;\n}\n";

__global__ void attend(float *x, int position)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		x[i] = x[i] * 0.75f + (float)position / 3;
}

__global__ void mlp(float *x)
{
	x[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x] / 7;
}

static float *x, *y, host[N];
static CUfunction generated;
static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);

static void load(const char *text)
{
	void *const lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*load_data)(CUmodule *, const void *) = (CUresult (*)(CUmodule *, const void *))dlsym(lib, "cuModuleLoadData");
	CUresult (*get_function)(CUfunction *, CUmodule, const char *) =
		(CUresult (*)(CUfunction *, CUmodule, const char *))dlsym(lib, "cuModuleGetFunction");
	CUmodule module;

	launch = (decltype(launch))dlsym(lib, "cuLaunchKernel");
	if (!launch || load_data(&module, text) || get_function(&generated, module, "fused_mul_add_0"))
		exit(1);
}

static void token(int position, int width)
{
	void *args[] = {&x, &y};

	for (int i = 0; i < LAYERS; i++) {
		attend<<<1 + position, 32>>>(x, position);
		mlp<<<1, N>>>(x);
	}
	if (launch(generated, N / width, 1, 1, width, 1, 1, 0, NULL, args, NULL))
		exit(1);
	CHECK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, 0));
	CHECK(cudaStreamSynchronize(0));
}

int main(int argc, char **argv)
{
	const char *variant = argc > 1 ? argv[1] : "";
	const bool other = !strcmp(variant, "generated");
	const int tokens = TOKENS + (strcmp(variant, "tokens") ? 0 : 2);

	CHECK(cudaFree(0));
	other_layout();
	CHECK(cudaMalloc(&x, sizeof host));
	CHECK(cudaMalloc(&y, sizeof host));
	for (int i = 0; i < N; i++)
		host[i] = 1 + (float)i / 11;
	CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(y, host, sizeof host, cudaMemcpyHostToDevice));
	load(other ? version_two : version_one);
	for (int i = 0; i < tokens; i++)
		token(i, other ? 64 : 128);
	CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
	return 0;
}
