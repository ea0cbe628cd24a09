/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of `tsdb extract`'s main.c that is the same for every launch of a HIP program, and its
 * Makefile. The program places memory where the recording had it on the software AMD GPU, whose
 * library says how; elsewhere memory lies where HIP puts it, and parameters are changed.
 */
#include <stddef.h>
#include "engine/extract/extract-private.h"

static const char *const hip_first[] = {
	"\n"
	"/* ---- from here on nothing belongs to this launch alone ---- */\n"
	"\n"
	"#define COUNT(a) (sizeof(a) / sizeof *(a))\n"
	"\n"
	"static void check(hipError_t r, const char *what)\n"
	"{\n"
	"\tif (r == hipSuccess)\n"
	"\t\treturn;\n"
	"\tfprintf(stderr, \"%s: %s\\n\", what, hipGetErrorName(r));\n"
	"\texit(2);\n"
	"}\n"
	"#define CHECK(call) check(call, #call)\n"
	"#define FROM_DEVICE(to, addr, n) CHECK(hipMemcpy(to, (void *)(addr), n, hipMemcpyDefault))\n"
	"\n",
	NULL,
};

static const char *const hip_place[] = {
	"static void elsewhere(uintptr_t addr)\n"
	"{\n"
	"\tfprintf(stderr, \"0x%llx cannot be had in this process; pointers to it that lie in memory will be wrong\\n\",\n"
	"\t\t(unsigned long long)addr);\n"
	"}\n"
	"\n"
	"/* Device memory, at its recorded addresses on the software AMD GPU. */\n"
	"static void place_device(void)\n"
	"{\n"
	"\tvoid *device = dlopen(\"libhsakmt.so.1\", RTLD_LAZY | RTLD_NOLOAD);\n"
	"\tint (*at)(uint64_t addr, uint64_t size) = (int (*)(uint64_t, uint64_t))(size_t)dlsym(device ? device : RTLD_DEFAULT, \"tsdb_softamd_place\");\n"
	"\n"
	"\tfor (size_t i = 0; i < COUNT(ranges) && ranges[i].size; i++) {\n"
	"\t\tvoid *p = NULL;\n"
	"\n"
	"\t\tif (at)\n"
	"\t\t\tat(ranges[i].addr, ranges[i].size);\n"
	"\t\tCHECK(hipMalloc(&p, ranges[i].size));\n"
	"\t\tranges[i].here = (uintptr_t)p;\n"
	"\t\tif (ranges[i].here != ranges[i].addr)\n"
	"\t\t\telsewhere(ranges[i].addr);\n"
	"\t}\n"
	"\tif (at)\n"
	"\t\tat(0, 0);\n"
	"}\n"
	"\n"
	"static void find_device(struct memory *m)\n"
	"{\n"
	"\tsize_t i = 0;\n"
	"\n"
	"\twhile (i < COUNT(ranges) && m->addr - ranges[i].addr >= ranges[i].size)\n"
	"\t\ti++;\n"
	"\tif (i == COUNT(ranges))\n"
	"\t\texit(2);\n"
	"\tm->addr += ranges[i].here - ranges[i].addr;\n"
	"}\n",

	"/* Pinned memory, at its address if that can be had. */\n"
	"static void place_host(struct memory *m)\n"
	"{\n"
	"\tconst uintptr_t begin = m->addr & ~(uintptr_t)4095, end = (m->addr + m->size + 4095) & ~(uintptr_t)4095;\n"
	"\tvoid *p = mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), *there;\n"
	"\n"
	"\tif (p == (void *)begin && hipHostRegister(p, end - begin, hipHostRegisterMapped) == hipSuccess &&\n"
	"\t\thipHostGetDevicePointer(&there, p, 0) == hipSuccess && there == p)\n"
	"\t\treturn;\n"
	"\tCHECK(hipHostMalloc(&p, m->size, hipHostMallocMapped));\n"
	"\telsewhere(m->addr);\n"
	"\tm->addr = (uintptr_t)p;\n"
	"}\n"
	"\n"
	"/* Variables of the code keep their distances. One source file's own are not found by their names. */\n"
	"static uintptr_t code_distance(hipModule_t module)\n"
	"{\n"
	"\tsize_t size;\n"
	"\tvoid *p;\n"
	"\n"
	"\tfor (size_t i = 0; i < COUNT(memory); i++)\n"
	"\t\tif (memory[i].where == GLOBAL && hipModuleGetGlobal(&p, &size, module, memory[i].name) == hipSuccess)\n"
	"\t\t\treturn (uintptr_t)p - memory[i].addr;\n"
	"\tfor (size_t i = 0; i < COUNT(memory); i++)\n"
	"\t\tif (memory[i].where == GLOBAL) {\n"
	"\t\t\tfprintf(stderr, \"%s: HIP finds no variable of this code, so where this one lies is not known\\n\", memory[i].name);\n"
	"\t\t\texit(2);\n"
	"\t\t}\n"
	"\treturn 0;\n"
	"}\n",

	"/* What is not device memory, and all contents. */\n"
	"static void place(hipModule_t module)\n"
	"{\n"
	"\tconst uintptr_t distance = code_distance(module);\n"
	"\n"
	"\tfor (size_t i = 0; i < COUNT(memory); i++) {\n"
	"\t\tstruct memory *m = &memory[i];\n"
	"\t\tchar *p = read_file(m->before, m->size);\n"
	"\n"
	"\t\tif (m->where == HOST)\n"
	"\t\t\tplace_host(m);\n"
	"\t\telse if (m->where == GLOBAL)\n"
	"\t\t\tm->addr += distance;\n"
	"\t\telse\n"
	"\t\t\tfind_device(m);\n"
	"\t\tif (m->where == HOST)\n"
	"\t\t\tmemcpy((void *)m->addr, p, m->size);\n"
	"\t\telse\n"
	"\t\t\tCHECK(hipMemcpy((void *)m->addr, p, m->size, hipMemcpyDefault));\n"
	"\t\tfree(p);\n"
	"\t}\n"
	"}\n",
	NULL,
};

static const char *const hip_main[] = {
	"int main(void)\n"
	"{\n"
	"\thipModule_t module;\n"
	"\thipFunction_t kernel;\n"
	"\tsize_t same = 0;\n"
	"\tchar *code;\n"
	"\n"
	"\t/* so that recorded addresses are free, and an allocation is no piece of a larger one */\n"
	"\tsetenv(\"TSDB_SOFTAMD_ASIDE\", \"1\", 1);\n"
	"\tsetenv(\"HSA_DISABLE_FRAGMENT_ALLOCATOR\", \"1\", 1);\n"
	"\tif (access(\"/dev/kfd\", F_OK))\n"
	"\t\tsetenv(\"HSA_ENABLE_DTIF\", \"1\", 1); /* how HSA runtimes from ROCm 7 on come to the software AMD GPU */\n"
	"\tCHECK(hipInit(0));\n"
	"\tCHECK(hipSetDevice(0));\n"
	"\tplace_device(); /* first, while the addresses are free */\n"
	"\tcode = read_file(CODE_FILE, 0);\n"
	"\tCHECK(hipModuleLoadData(&module, code));\n"
	"\tCHECK(hipModuleGetFunction(&kernel, module, KERNEL));\n"
	"\tplace(module);\n"
	"\tlaunch(kernel);\n"
	"\tCHECK(hipDeviceSynchronize());\n"
	"\tfor (size_t i = 0; i < COUNT(memory); i++)\n"
	"\t\tsame += (size_t)compare(&memory[i]);\n"
	"\tprintf(\"%zu of %zu allocations identical\\n\", same, COUNT(memory));\n"
	"\tfree(code);\n"
	"\treturn same == COUNT(memory) ? 0 : 1;\n"
	"}\n",
	NULL,
};

static const char *const hip_makefile[] = {
	"# Builds and runs the launch. The code object is for one kind of GPU: `tsdb info` of the trace says which.\n"
	"# Without an AMD GPU, run it on the software one: LD_LIBRARY_PATH=.../softamd (`tsdb doctor` says where) make check\n"
	"HIPCC ?= hipcc\n"
	"CFLAGS ?= -O1 -g -Wall\n"
	"CPPFLAGS += -D__HIP_PLATFORM_AMD__\n"
	"\n"
	"launch: main.c\n"
	"\t$(HIPCC) $(CPPFLAGS) $(CFLAGS) -o $@ main.c $(LDFLAGS) -ldl\n",
	NULL,
};

const struct extract_words extract_hip = {
	.header =
		"#include <dlfcn.h>\n#include <hip/hip_runtime_api.h>\n#include <stdint.h>\n#include <unistd.h>\n",
	.result = "hipError_t r",
	.address = "uintptr_t",
	.kernel = "hipFunction_t kernel",
	.prefix = "HIP",
	.launch = "check(hipModuleLaunchKernel(kernel, ",
	.launched = "), \"hipModuleLaunchKernel\");\n",
	.moves = true,
	.grain = 4096,
	.text = {hip_first, extract_read_text, hip_place, extract_compare_text, hip_main},
	.makefile = hip_makefile};
