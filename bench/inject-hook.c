/* SPDX-License-Identifier: Apache-2.0
 *
 * See inject-hook.h. Only for measuring: no program is to run with this. The entry's first
 * instructions are copied to a page near it, followed by a jump back; the entry gets a jump to a
 * function that makes the call through the copy. Of instructions only those of a usual beginning
 * are known, none of which depends on where it is.
 */
#include "inject-hook.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef CUresult launch_fn(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	unsigned, CUstream, void **, void **);

enum { JUMP = 5, NEAR = 1 << 30, STEP = 1 << 16, WHOLE = 4096 };

static launch_fn *original;
static unsigned long calls;

unsigned long hook_calls(void)
{
	return calls;
}

static CUresult counted(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	calls++;
	return original(f, gx, gy, gz, bx, by, bz, shared, s, params, extra);
}

/* Bytes of the instruction at p; 0: it is not known to be one that can be moved. */
static unsigned length(const uint8_t *p)
{
	const unsigned rex = (*p & 0xf0) == 0x40, op = p[rex], modrm = p[rex + 1];

	if (!memcmp(p, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		return 4;
	if (*p == 0x66) { /* between vector registers, or to one: movd, punpckldq ... */
		const unsigned r = (p[1] & 0xf0) == 0x40;

		return p[1 + r] == 0x0f && p[3 + r] >> 6 == 3 ? 4 + r : 0;
	}
	if (op >= 0x50 && op <= 0x5f) /* push, pop */
		return rex + 1;
	if ((op == 0x89 || op == 0x8b || op == 0x31 || op == 0x33 || op == 0x85) && modrm >> 6 == 3)
		return rex + 2;
	if (op == 0x83 && modrm >> 6 == 3) /* sub $8, %rsp and the like */
		return rex + 3;
	if (op == 0x81 && modrm >> 6 == 3)
		return rex + 6;
	if ((op == 0x89 || op == 0x8b || op == 0x8d) && modrm >> 6 == 1 && (modrm & 7) == 4)
		return rex + 4; /* 8 bits beside the stack pointer */
	if ((op == 0x89 || op == 0x8b || op == 0x8d) && modrm >> 6 == 1)
		return rex + 3;
	return 0;
}

static uint8_t *page_near(const uint8_t *at)
{
	for (int64_t d = STEP; d < NEAR; d += STEP)
		for (int sign = -1; sign <= 1; sign += 2) {
			void *p =
				mmap((void *)(((uintptr_t)at + sign * d) & ~(uintptr_t)(STEP - 1)),
					WHOLE, PROT_READ | PROT_WRITE | PROT_EXEC,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

			if (p != MAP_FAILED)
				return p;
		}
	return NULL;
}

/* jmp *0(%rip), and where to. */
static void far_jump(uint8_t *at, const void *to)
{
	memcpy(at, "\xff\x25\0\0\0\0", 6);
	memcpy(at + 6, &to, 8);
}

static const char *patch(uint8_t *entry)
{
	const uintptr_t page = (uintptr_t)entry & ~(uintptr_t)(WHOLE - 1);
	unsigned n = 0, one;
	uint8_t *copy, jump[JUMP] = {0xe9};
	int32_t distance;

	while (n < JUMP && (one = length(entry + n)))
		n += one;
	if (n < JUMP)
		return "its beginning is not known";
	copy = page_near(entry);
	if (!copy || mprotect((void *)page, 2 * WHOLE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return "its page cannot be changed";
	memcpy(copy, entry, n);
	far_jump(copy + n, entry + n);
	far_jump(copy + 64, (void *)counted);
	original = (launch_fn *)(void *)copy;
	distance = (int32_t)(copy + 64 - (entry + JUMP));
	memcpy(jump + 1, &distance, 4);
	memcpy(entry, jump, JUMP);
	(void)mprotect((void *)page, 2 * WHOLE, PROT_READ | PROT_EXEC);
	return NULL;
}

static void show(const char *how, const uint8_t *p)
{
	Dl_info in = {.dli_fbase = NULL};

	fprintf(stderr, "inject: cuLaunchKernel by %s: %p", how, (const void *)p);
	if (p && dladdr(p, &in))
		fprintf(stderr, " = +%#lx (%s)", (unsigned long)(p - (uint8_t *)in.dli_fbase),
			in.dli_sname ? in.dli_sname : "?");
	for (int i = 0; p && i < 24; i++)
		fprintf(stderr, " %02x", p[i]);
	fputc('\n', stderr);
}

void hook_place(int place)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUresult (*get)(const char *, void **, int, cuuint64_t, void *) = NULL;
	uint8_t *entry = lib ? dlsym(lib, "cuLaunchKernel") : NULL;
	const char *why;

	if (lib)
		*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	show("dlsym", entry);
	for (int version = 11000; get && version <= 13000; version += 1000)
		for (unsigned flags = 1; flags <= 2; flags++) {
			void *p = NULL;
			char how[64];

			snprintf(how, sizeof(how), "cuGetProcAddress(%d, %u)", version, flags);
			if (!get("cuLaunchKernel", &p, version, flags, NULL))
				show(how, p);
		}
	if (!place || !entry)
		return;
	why = patch(entry);
	if (why)
		fprintf(stderr, "inject: no hook: %s\n", why);
}
