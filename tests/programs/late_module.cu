/* SPDX-License-Identifier: Apache-2.0
 *
 * late_module SECONDS [gone|two|vmm|inside] (or until there is a file called "end" in its folder): the driver API alone, a context of its own, a module from PTX text in allocated memory. "gone": the text is
 * overwritten and freed; "two": another module with a kernel of the same name, registers and parameters was loaded, too; "vmm": the
 * memory is two pieces mapped into one reservation, as PyTorch's expandable segments are, with nothing between them; "inside": a second after the agent has come
 * each round has two more kernels of two more modules, next() and then last(), of which the second undoes what the first did; last() has run before, and
 * every round reads its variable.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "late.h"

static const char *const pieces[] = {
	".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 total;\n",
	".visible .entry step(.param .u64 p, .param .u32 by)\n{\n\t.reg .b32 %r<8>;\n\t.reg .b64 %d<5>;\n\tld.param.u64 %d1, [p];\n",
	"\tld.param.u32 %r1, [by];\n\tcvta.to.global.u64 %d2, %d1;\n\tmov.u32 %r2, %tid.x;\n\tmul.wide.u32 %d3, %r2, 4;\n",
	"\tadd.s64 %d4, %d2, %d3;\n\tld.global.u32 %r3, [%d4];\n",
	/* the one line that differs */
	"\tadd.u32 %r4, %r3, %r1;\n", "\tsub.u32 %r4, %r3, %r1;\n",
	"\tst.global.u32 [%d4], %r4;\n\tatom.global.add.u32 %r5, [total], 1;\n\tret;\n}\n"};

static void check(CUresult r, const char *what)
{
	if (r) {
		fprintf(stderr, "late_module: %s: %d\n", what, (int)r);
		exit(1);
	}
}

static void *lib;
#define CU(fn, name, ...) check(((__typeof__(&fn))dlsym(lib, name))(__VA_ARGS__), #fn)

static char *text_new(bool other)
{
	char *text = (char *)calloc(1, 4096);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (i != (other ? 4u : 5u))
			strcat(text, pieces[i]);
	return text;
}

static CUfunction load(const char *name, bool other, CUdeviceptr *ret_total)
{
	char *text = text_new(other);
	CUmodule m;
	CUfunction f;
	size_t size;

	memcpy(strstr(text, "step"), name, 4);
	CU(cuModuleLoadData, "cuModuleLoadData", &m, text);
	CU(cuModuleGetFunction, "cuModuleGetFunction", &f, m, name);
	CU(cuModuleGetGlobal, "cuModuleGetGlobal_v2", ret_total, &size, m, "total");
	return f; /* the text stays */
}

/* The second of two pieces; the first is only there. */
static CUdeviceptr pieces_new(void)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle h;
	CUdeviceptr base;
	size_t grain;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", &grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	CU(cuMemAddressReserve, "cuMemAddressReserve", &base, 8 * grain, 0, 0, 0);
	for (int i = 0; i < 8; i += 5) {
		CU(cuMemCreate, "cuMemCreate", &h, grain, &prop, 0);
		CU(cuMemMap, "cuMemMap", base + i * grain, grain, 0, h, 0);
		CU(cuMemRelease, "cuMemRelease", h);
		CU(cuMemSetAccess, "cuMemSetAccess", base + i * grain, grain, &access, 1);
		CU(cuMemsetD32, "cuMemsetD32_v2", base + i * grain, i, grain / 4);
	}
	return base + 5 * grain;
}

static int is_agent(struct dl_phdr_info *info, size_t size, void *arg)
{
	return info->dlpi_name && strstr(info->dlpi_name, "libtsdb-agent") != NULL;
}

int main(int argc, char **argv)
{
	time_t end, more = 0;
	const char *how = argc > 2 ? argv[2] : "";
	unsigned by = 3, rounds = 0, host[64], total = 0;
	char *text = text_new(false), *other = NULL;
	CUdeviceptr p, g;
	CUmodule m, m2;
	CUfunction f, next = NULL, last = NULL;
	CUcontext c;
	size_t size;
	void *args[] = {&p, &by};

	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		return 77;
	CU(cuInit, "cuInit", 0);
	check(((CUresult(*)(CUcontext *, unsigned, CUdevice))dlsym(lib, "cuCtxCreate_v2"))(&c, 0, 0), "cuCtxCreate");
	CU(cuModuleLoadData, "cuModuleLoadData", &m, text);
	CU(cuModuleGetFunction, "cuModuleGetFunction", &f, m, "step");
	if (!strcmp(how, "two")) {
		other = text_new(true);
		CU(cuModuleLoadData, "cuModuleLoadData", &m2, other);
	}
	if (!strcmp(how, "gone")) {
		memset(text, 0, 4096);
		free(text);
	}
	if (!strcmp(how, "inside")) {
		next = load("next", false, &g);
		last = load("last", true, &g);
	}
	if (!strcmp(how, "vmm"))
		p = pieces_new();
	else
		CU(cuMemAlloc, "cuMemAlloc_v2", &p, sizeof(host));
	CU(cuMemsetD32, "cuMemsetD32_v2", p, 0, 64);
	for (unsigned i = 0; last && i < 5; i++) {
		CU(cuLaunchKernel, "cuLaunchKernel", next, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
		CU(cuLaunchKernel, "cuLaunchKernel", last, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
	}
	printf("late_module: running\n");
	fflush(stdout);
	late_ready_now();
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	while (time(NULL) < end && access("end", F_OK) != 0) {
		CU(cuLaunchKernel, "cuLaunchKernel", f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
		if (next && !more && dl_iterate_phdr(is_agent, NULL))
			more = time(NULL) + 2;
		if (more && time(NULL) >= more) {
			CU(cuLaunchKernel, "cuLaunchKernel", next, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
			CU(cuLaunchKernel, "cuLaunchKernel", last, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
		}
		if (last)
			CU(cuMemcpyDtoH, "cuMemcpyDtoH_v2", &total, g, sizeof(total));
		CU(cuMemcpyDtoH, "cuMemcpyDtoH_v2", host, p, sizeof(host));
		rounds++;
		usleep(500);
	}
	CU(cuModuleGetGlobal, "cuModuleGetGlobal_v2", &g, &size, m, "total");
	CU(cuMemcpyDtoH, "cuMemcpyDtoH_v2", &total, g, sizeof(total));
	printf("late_module: %u rounds %s\n", rounds, host[7] == 3 * rounds && total == 64 * rounds ? "ok" : "WRONG");
	return host[7] != 3 * rounds || total != 64 * rounds;
}
