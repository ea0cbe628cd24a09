/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for a module's global by its address alone, as cuFFT does, stores a pointer there, and launches a kernel that follows it.
 */
#include <cstdio>
#include <cuda.h>
#include <dlfcn.h>
#include "gpu.h"

#define TEXT(x) #x
#define DRIVER(name, ...) CHECK((cudaError_t)((decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), TEXT(name)))(__VA_ARGS__))

static const char code[] = R"(
.version 7.0
.target sm_75
.address_size 64
.global .align 8 .u64 table;
.visible .entry fetch(.param .u64 out)
{
	.reg .u64 %rd<6>;
	.reg .u32 %r<3>;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 4;
	ld.global.u64 %rd2, [table];
	add.u64 %rd3, %rd2, %rd1;
	ld.global.u32 %r2, [%rd3];
	ld.param.u64 %rd4, [out];
	add.u64 %rd5, %rd4, %rd1;
	st.global.u32 [%rd5], %r2;
	ret;
}
)";

int main()
{
	unsigned host[32], back[32], *table, *out;
	void *args[] = {&out};
	CUdeviceptr global;
	CUfunction fetch;
	CUmodule module;

	for (unsigned i = 0; i < 32; i++)
		host[i] = i * i;
	CHECK(cudaMalloc(&table, sizeof host));
	CHECK(cudaMalloc(&out, sizeof host));
	CHECK(cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice));
	DRIVER(cuModuleLoadData, &module, code);
	DRIVER(cuModuleGetGlobal, &global, nullptr, module, "table");
	DRIVER(cuMemcpyHtoD, global, &table, sizeof table);
	DRIVER(cuModuleGetFunction, &fetch, module, "fetch");
	DRIVER(cuLaunchKernel, fetch, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr);
	CHECK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
	printf("%s\n", back[31] == 31 * 31 ? "ok" : "WRONG");
	return 0;
}
