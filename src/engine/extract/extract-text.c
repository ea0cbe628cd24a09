/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of `tsdb extract`'s main.c that is the same for every launch of a CUDA program, and its
 * Makefile; and what is the same for HIP's. In pieces: a string literal has its limits.
 */
#include <stddef.h>
#include "engine/extract/extract-private.h"

const char *const extract_read_text[] = {
	"/* A whole file on the heap, with a NUL behind it. want: the size it must have; 0: any. */\n"
	"static char *read_file(const char *name, size_t want)\n"
	"{\n"
	"\tFILE *f = fopen(name, \"rb\");\n"
	"\tchar *p;\n"
	"\tlong n;\n"
	"\n"
	"\tif (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {\n"
	"\t\tperror(name);\n"
	"\t\texit(2);\n"
	"\t}\n"
	"\tif (want && (size_t)n != want) {\n"
	"\t\tfprintf(stderr, \"%s has %ld bytes, not %zu\\n\", name, n, want);\n"
	"\t\texit(2);\n"
	"\t}\n"
	"\tp = malloc((size_t)n + 1);\n"
	"\tif (!p || fread(p, 1, (size_t)n, f) != (size_t)n) {\n"
	"\t\tfprintf(stderr, \"%s cannot be read\\n\", name);\n"
	"\t\texit(2);\n"
	"\t}\n"
	"\tp[n] = '\\0';\n"
	"\tfclose(f);\n"
	"\treturn p;\n"
	"}\n",
	NULL,
};

const char *const extract_compare_text[] = {
	"/* Whether an allocation holds what it held after the recorded launch. */\n"
	"static int compare(const struct memory *m)\n"
	"{\n"
	"\tchar *want = read_file(m->after ? m->after : m->before, m->size), *got = malloc(m->size);\n"
	"\tsize_t first = 0, different = 0;\n"
	"\n"
	"\tif (!got) {\n"
	"\t\tperror(\"malloc\");\n"
	"\t\texit(2);\n"
	"\t}\n"
	"\tif (m->where == HOST)\n"
	"\t\tmemcpy(got, (void *)(size_t)m->addr, m->size);\n"
	"\telse\n"
	"\t\tFROM_DEVICE(got, m->addr, m->size);\n"
	"\tfor (size_t i = m->size; i--;)\n"
	"\t\tif (got[i] != want[i]) {\n"
	"\t\t\tfirst = i;\n"
	"\t\t\tdifferent++;\n"
	"\t\t}\n"
	"\tif (different)\n"
	"\t\tprintf(\"0x%llx (%s): %zu of %zu bytes differ, the first at offset %zu\\n\", (unsigned long long)m->addr, m->before,\n"
	"\t\t\tdifferent, m->size, first);\n"
	"\tfree(want);\n"
	"\tfree(got);\n"
	"\treturn !different;\n"
	"}\n"
	"\n",
	NULL,
};

static const char *const cuda_first[] = {
	"\n"
	"/* ---- from here on nothing belongs to this launch alone ---- */\n"
	"\n"
	"#define COUNT(a) (sizeof(a) / sizeof *(a))\n"
	"\n"
	"static void check(CUresult r, const char *what)\n"
	"{\n"
	"\tconst char *name = NULL;\n"
	"\n"
	"\tif (r == CUDA_SUCCESS)\n"
	"\t\treturn;\n"
	"\tcuGetErrorName(r, &name);\n"
	"\tfprintf(stderr, \"%s: %s\\n\", what, name ? name : \"unknown error\");\n"
	"\texit(2);\n"
	"}\n"
	"#define CHECK(call) check(call, #call)\n"
	"#define FROM_DEVICE(to, addr, n) CHECK(cuMemcpyDtoH(to, addr, n))\n"
	"\n",
	NULL,
};

static const char *const cuda_place[] = {
	"/* Device memory at the recorded addresses. Drivers hand out addresses in blocks of 32 MiB, so the ranges are rounded to that. */\n"
	"static void place_device(CUdevice device)\n"
	"{\n"
	"	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};\n"
	"	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};\n"
	"\n"
	"	for (size_t i = 0; i < COUNT(ranges) && ranges[i].size; i++) {\n"
	"		CUmemGenericAllocationHandle handle;\n"
	"		CUdeviceptr got;\n"
	"\n"
	"		CHECK(cuMemAddressReserve(&got, ranges[i].size, 0, ranges[i].addr, 0));\n"
	"		if (got != ranges[i].addr) {\n"
	"			fprintf(stderr, \"0x%llx is not free in this process\\n\", (unsigned long long)ranges[i].addr);\n"
	"			exit(2);\n"
	"		}\n"
	"		CHECK(cuMemCreate(&handle, ranges[i].size, &prop, 0));\n"
	"		CHECK(cuMemMap(got, ranges[i].size, 0, handle, 0));\n"
	"		CHECK(cuMemSetAccess(got, ranges[i].size, &access, 1));\n"
	"	}\n"
	"}\n",

	"/* Pinned memory, at its address if that can be had. Else elsewhere: parameters will point there, what lies in memory will not. */\n"
	"static void place_host(struct memory *m)\n"
	"{\n"
	"	const CUdeviceptr begin = m->addr & ~(CUdeviceptr)4095, end = (m->addr + m->size + 4095) & ~(CUdeviceptr)4095;\n"
	"	void *p = mmap((void *)(size_t)begin, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);\n"
	"\n"
	"	if (p == (void *)(size_t)begin && cuMemHostRegister(p, end - begin, CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS)\n"
	"		return;\n"
	"	if (p != MAP_FAILED)\n"
	"		munmap(p, end - begin);\n"
	"	CHECK(cuMemHostAlloc(&p, m->size, CU_MEMHOSTALLOC_DEVICEMAP));\n"
	"	fprintf(stderr, \"%s: 0x%llx is not free in this process; pointers to it that lie in memory will be wrong\\n\", m->before,\n"
	"		(unsigned long long)m->addr);\n"
	"	m->addr = (CUdeviceptr)(size_t)p;\n"
	"}\n"
	"\n"
	"static void place_global(struct memory *m, CUmodule module)\n"
	"{\n"
	"	size_t size;\n"
	"\n"
	"	CHECK(cuModuleGetGlobal(&m->addr, &size, module, m->name));\n"
	"	if (size >= m->size)\n"
	"		return;\n"
	"	fprintf(stderr, \"%s has %zu bytes, not %zu\\n\", m->name, size, m->size);\n"
	"	exit(2);\n"
	"}\n"
	"\n"
	"/* What is not device memory, and all contents. */\n"
	"static void place(CUmodule module)\n"
	"{\n"
	"	for (size_t i = 0; i < COUNT(memory); i++) {\n"
	"		struct memory *m = &memory[i];\n"
	"		char *p = read_file(m->before, m->size);\n"
	"\n"
	"		if (m->where == HOST)\n"
	"			place_host(m);\n"
	"		if (m->where == GLOBAL)\n"
	"			place_global(m, module);\n"
	"		if (m->where == HOST)\n"
	"			memcpy((void *)(size_t)m->addr, p, m->size);\n"
	"		else\n"
	"			CHECK(cuMemcpyHtoD(m->addr, p, m->size));\n"
	"		free(p);\n"
	"	}\n"
	"}\n",

	NULL,
};

static const char *const cuda_main[] = {
	"int main(void)\n"
	"{\n"
	"\tCUdevice device;\n"
	"\tCUcontext context;\n"
	"\tCUmodule module;\n"
	"\tCUfunction kernel;\n"
	"\tsize_t same = 0;\n"
	"\tchar *code;\n"
	"\n"
	"\tCHECK(cuInit(0));\n"
	"\tCHECK(cuDeviceGet(&device, 0));\n"
	"\tCHECK(cuDevicePrimaryCtxRetain(&context, device));\n"
	"\tCHECK(cuCtxSetCurrent(context));\n"
	"\tplace_device(device); /* first, while the addresses are free */\n"
	"\tcode = read_file(CODE_FILE, 0);\n"
	"\tCHECK(cuModuleLoadData(&module, code));\n"
	"\tCHECK(cuModuleGetFunction(&kernel, module, KERNEL));\n"
	"\tplace(module);\n"
	"\tlaunch(kernel);\n"
	"\tCHECK(cuCtxSynchronize());\n"
	"\tfor (size_t i = 0; i < COUNT(memory); i++)\n"
	"\t\tsame += (size_t)compare(&memory[i]);\n"
	"\tprintf(\"%zu of %zu allocations identical\\n\", same, COUNT(memory));\n"
	"\tfree(code);\n"
	"\treturn same == COUNT(memory) ? 0 : 1;\n"
	"}\n",
	NULL,
};

const char extract_makefile_end[] = "\n"
				    "check: launch\n"
				    "\t./launch\n"
				    "\n"
				    "clean:\n"
				    "\trm -f launch\n"
				    "\n"
				    ".PHONY: check clean\n";

static const char *const cuda_makefile[] = {
	"# Builds and runs the launch. CUDA_DIR: a CUDA toolkit.\n"
	"CUDA_DIR ?= /usr/local/cuda\n"
	"CFLAGS ?= -O1 -g -Wall\n"
	"CPPFLAGS += -I$(CUDA_DIR)/include\n"
	"LDFLAGS += -L$(CUDA_DIR)/lib64/stubs\n"
	"\n"
	"launch: main.c\n"
	"\t$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ main.c $(LDFLAGS) -lcuda\n",
	NULL,
};

const struct extract_words extract_cuda = {.header = "#include <cuda.h>\n",
	.result = "CUresult r",
	.address = "CUdeviceptr",
	.kernel = "CUfunction kernel",
	.prefix = "CU",
	.launch = "check(cuLaunchKernel(kernel, ",
	.launched = "), \"cuLaunchKernel\");\n",
	.grain = 32ull << 20, /* as in replayer/memory/replayer-place.c */
	.text = {cuda_first, extract_read_text, cuda_place, extract_compare_text, cuda_main},
	.makefile = cuda_makefile};
