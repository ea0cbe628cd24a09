/* SPDX-License-Identifier: Apache-2.0
 *
 * gfx-exec GFX CODE MEMORY: runs one wave of the code in file CODE, for tests. s[0:1] is the
 * address of the bytes of file MEMORY, v0 the lane. Afterwards MEMORY holds them as the code left
 * them. Prints the fault, if there is one; then the exit status is 1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softamd/machine/amd-run.h"

static struct amd_extent extents[2];

static bool find(void *arg, uint64_t addr, struct amd_extent *e)
{
	(void)arg;
	for (unsigned k = 0; k < 2; k++)
		if (addr >= extents[k].start && addr < extents[k].end) {
			*e = extents[k];
			return true;
		}
	return false;
}

/* The file's bytes after a kernel descriptor of 256 bytes when `code`, else alone and written back.
 */
static uint8_t *map_file(const char *name, bool code, struct amd_extent *e)
{
	int fd = open(name, code ? O_RDONLY : O_RDWR);
	struct stat st;
	size_t n, before = code ? 256 : 0;
	uint8_t *p;

	if (fd < 0 || fstat(fd, &st) != 0)
		exit(2);
	n = (size_t)st.st_size;
	if (code) {
		p = mmap(NULL, before + n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
		if (p == MAP_FAILED || read(fd, p + before, n) != (ssize_t)n)
			exit(2);
	} else {
		p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (p == MAP_FAILED)
		exit(2);
	close(fd);
	*e = (struct amd_extent){(uintptr_t)p, (uintptr_t)p + before + n, !code};
	return p;
}

static void put_word(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

int main(int argc, char **argv)
{
	struct amd_memory memory = {.find = find};
	struct amd_dispatch d = {.grid = {64, 1, 1},
		.workgroup = {64, 1, 1},
		.memory = &memory,
		.steps_max = 1000000,
		.private_aperture = 2ull << 48,
		.shared_aperture = 1ull << 48};
	struct amd_fault fault;
	uint8_t *code;

	if (argc != 4)
		return 2;
	d.gfx = (uint32_t)strtoul(argv[1], NULL, 16);
	code = map_file(argv[2], true, &extents[0]);
	d.kernarg = (uintptr_t)map_file(argv[3], false, &extents[1]);
	d.kernel_object = (uintptr_t)code;
	put_word(code, 4096);				/* LDS */
	put_word(code + 16, 256);			/* where the code is */
	put_word(code + 44, 31);			/* 128 vector registers, then the others */
	put_word(code + 48, 31 | 0xf0 << 12 | 5 << 21); /* all denormals, DX10_CLAMP, IEEE */
	put_word(code + 52, 2 << 1);
	put_word(code + 56, 8);
	if (amd_run(&d, &fault))
		return 0;
	printf("%s\n", fault.text);
	return 1;
}
