/* SPDX-License-Identifier: Apache-2.0
 *
 * Which code a test has executed, for scripts/mutate-coverage: linked into each program and shared library of a build with gcc's
 * -fsanitize-coverage=trace-pc, which calls the function below at the start of each block of code. What it notes is in a
 * shared mapping of a file from the first moment on: a process that is killed, calls _exit(), faults or has shut itself
 * into a sandbox has lost nothing, and what fork() makes notes in the same file. MUTATE_LINES is the folder of these
 * files; they are called after the build-id of what was executed.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
/* Before the constructor below has run: resolvers of functions, and other constructors. */
static uint8_t early[64 << 20];
static uint8_t *hits;
static size_t size = sizeof(early);

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
	size_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;

	if (at < size)
		(hits ? hits : early)[at] = 1;
}

static size_t end_of_code(const ElfW(Phdr) *p, unsigned n)
{
	size_t end = 0;

	for (unsigned i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) && p[i].p_vaddr + p[i].p_memsz > end)
			end = p[i].p_vaddr + p[i].p_memsz;
	return end;
}

/* The build-id in hexadecimal digits. */
static int name(const ElfW(Phdr) *p, unsigned n, uintptr_t base, char *to)
{
	for (unsigned i = 0; i < n; i++) {
		const char *at = (const char *)(base + p[i].p_vaddr), *end = at + p[i].p_memsz;

		while (p[i].p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const uint8_t *id = (const uint8_t *)(note + 1) + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= 32) {
				for (unsigned k = 0; k < note->n_descsz; k++)
					sprintf(to + 2 * k, "%02x", id[k]);
				return 1;
			}
			at = (const char *)id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

/* No test may pass whose code is not noted: without the file there is no process. */
static void refuse(void)
{
	static const char why[] = "mutate-lines: executed code cannot be noted\n";

	if (write(2, why, sizeof(why) - 1) < 0)
		abort();
	abort();
}

__attribute__((constructor(101))) static void begin(void)
{
	uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *p = (const void *)(base + __ehdr_start.e_phoff);
	char path[512] = MUTATE_LINES "/", *to = path + strlen(path);
	int was = errno, fd;
	uint8_t *map;

	size_t end = end_of_code(p, __ehdr_start.e_phnum);

	if (end > size || !name(p, __ehdr_start.e_phnum, base, to))
		refuse();
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)end))
		refuse();
	map = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		refuse();
	close(fd);
	for (size_t i = 0; i < end; i++)
		map[i] |= early[i];
	size = end;
	hits = map;
	errno = was;
}
