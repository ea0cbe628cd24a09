/* SPDX-License-Identifier: Apache-2.0
 *
 * DWARF: looks up addresses in any ELF file, as a trace names a file and offsets in it: addresses
 * where small files have code, and those that the file's last bytes contain. Each look-up returns
 * texts that end, and a small number of inlined calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/symbols.h"
#include "base/err.h"
#include "fuzz.h"

#define MAX 32u
#define OFFSETS 8u /* at the end of the data, two bytes each */

static volatile size_t told;

const char *__lsan_default_suppressions(void);

/* dwarf_getscopes() of elfutils 0.188 loses its list when a later DIE is damaged. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw";
}

static void look(struct symbols *s, const char *path, uint64_t vaddr)
{
	struct symbol found[MAX];
	const unsigned n = symbols_lookup(s, path, NULL, vaddr, found, MAX);

	BUG_ON(n < 1 || n > MAX);
	for (unsigned i = 0; i < n; i++) {
		BUG_ON(found[i].module_offset != vaddr);
		told += found[i].function ? strlen(found[i].function) : 0;
		told += found[i].file ? strlen(found[i].file) : 0;
	}
}

static void look_all(const char *path, const uint8_t *data, size_t n)
{
	struct symbols *s = symbols_new();

	for (uint64_t at = 0; at < 0x100; at += 0x11)
		look(s, path, 0x200 + at);
	for (size_t i = 0; i < OFFSETS && 2 * i + 2 <= n; i++)
		look(s, path, (unsigned)data[n - 2 * i - 1] << 8 | data[n - 2 * i - 2]);
	look(s, path, UINT64_MAX);
	symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const int fd = memfd_create("fuzz-dwarf", MFD_CLOEXEC);
	char path[64];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, data, n) == (ssize_t)n)
		look_all(path, data, n);
	close(fd);
	return 0;
}
