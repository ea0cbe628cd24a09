/* SPDX-License-Identifier: Apache-2.0
 *
 * Machine code of GFX9: any words, for each target. What is read has a text that ends, and reading
 * its own words alone gives the same again. Then the words are a kernel, with its descriptor, and
 * run for a short while; a fault is a fine ending.
 */
#include <stdlib.h>
#include <string.h>

#include "gpucode/gfx-decode.h"
#include "softamd/machine/amd-run.h"
#include "fuzz.h"

static void read_all(unsigned target, const uint32_t *w, size_t n)
{
	while (n) {
		struct gfx_insn i, again;
		char text[300];
		size_t used = 1;

		if (gfx_decode(target, w, n, &i)) {
			used = i.size / 4;
			if (!used || used > n)
				abort();
			gfx_text(target, &i, text, sizeof(text));
			if (strlen(text) + 1 >= sizeof(text))
				abort();
			if (!gfx_decode(target, w, used, &again) ||
				memcmp(&i, &again, sizeof(i)) != 0)
				abort();
		}
		w += used;
		n -= used;
	}
}

static uint8_t code[64 + 1024], memory[4096];

static bool find(void *arg, uint64_t addr, struct amd_extent *e)
{
	uint64_t c = (uintptr_t)code, m = (uintptr_t)memory;

	(void)arg;
	if (addr >= c && addr < c + sizeof(code))
		*e = (struct amd_extent){c, c + sizeof(code), false};
	else if (addr >= m && addr < m + sizeof(memory))
		*e = (struct amd_extent){m, m + sizeof(memory), true};
	else
		return false;
	return true;
}

/* The first 64 bytes are the descriptor; where its code begins is ours to say, or nothing runs. */
static void run_all(const uint8_t *data, size_t size)
{
	static const uint32_t targets[] = {0x900, 0x906, 0x908, 0x90a};
	static const uint64_t entry = 64;
	struct amd_memory door = {.find = find};
	struct amd_dispatch d = {.kernel_object = (uintptr_t)code,
		.kernarg = (uintptr_t)memory,
		.packet = (uintptr_t)memory,
		.queue = (uintptr_t)memory,
		.grid = {100, 2, 1},
		.workgroup = {70, 1, 1},
		.private_aperture = 2ull << 48,
		.shared_aperture = 1ull << 48,
		.memory = &door,
		.workers = 1,
		.steps_max = 500};
	struct amd_fault fault;

	if (size < 64)
		return;
	memset(code, 0, sizeof(code));
	memcpy(code, data, size < sizeof(code) ? size : sizeof(code));
	if (!(code[58] & 1))
		memcpy(code + 16, &entry, 8);
	code[2] = code[3] = code[5] = code[6] = code[7] = 0; /* little LDS and scratch: for speed */
	d.gfx = targets[code[59] & 3];
	memset(memory, 0, sizeof(memory));
	amd_run(&d, &fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t words[256];
	size_t n = size / 4 < 256 ? size / 4 : 256;

	memcpy(words, data, n * 4);
	for (unsigned target = GFX_900; target <= GFX_942; target *= 2)
		read_all(target, words, n);
	run_all(data, size);
	return 0;
}
