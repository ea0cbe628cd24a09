/* SPDX-License-Identifier: Apache-2.0
 *
 * XRay's map, see xray-map.h (llvm/lib/XRay/InstrumentationMap.cpp). An entry of a program of 64
 * bits has 32 bytes: address of the sled, address of the function, kind, always, version. From
 * version 2 on both addresses are relative to where they lie. Functions are numbered from 1, and a
 * new one begins where the address changes.
 */
#include "import/formats/xray-map.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "symbols/symbols.h"

enum { ENTRY_BYTES = 32, VERSION_AT = 18, RELATIVE = 2 };

struct xray_map {
	char *path;
	struct symbols *symbols;
	uint64_t *functions; /* by number, minus 1 */
	size_t n, cap;
};

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t v = 0;

	for (unsigned i = 8; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static struct err *take_entries(
	struct xray_map *m, const unsigned char *p, size_t n, uint64_t address)
{
	for (size_t i = 0; i + ENTRY_BYTES <= n; i += ENTRY_BYTES) {
		const bool relative = p[i + VERSION_AT] >= RELATIVE;
		const uint64_t function = u64_at(p + i + 8) + (relative ? address + i + 8 : 0);

		if (!relative && !function)
			return err_cure(
				err_new(ERR_UNSUPPORTED,
					"the map of %s is filled in only when it runs", m->path),
				"Build it with -no-pie, or with clang 11 or later");
		if (m->n && m->functions[m->n - 1] == function)
			continue;
		MAKE_ROOM(m->functions, m->n, m->cap);
		m->functions[m->n++] = function;
	}
	return NULL;
}

static struct err *find_section(struct xray_map *m, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t names;
	Elf_Data *data;
	const char *name;

	if (!elf || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
		elf_getshdrstrndx(elf, &names))
		return err_new(ERR_NOT_FOUND, "%s is no program of 64 bits", m->path);
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head))
			continue;
		name = elf_strptr(elf, names, head.sh_name);
		data = name && !strcmp(name, "xray_instr_map") ? elf_rawdata(section, NULL) : NULL;
		if (data && data->d_buf)
			return take_entries(m, data->d_buf, data->d_size, head.sh_addr);
	}
	return err_cure(err_new(ERR_NOT_FOUND, "%s has no map of XRay", m->path),
		"Programs built with -fxray-instrument have one");
}

struct err *xray_map_open(struct xray_map **ret, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct xray_map *m;
	struct err *e;
	Elf *elf;

	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	m = xcalloc(1, sizeof *m);
	m->path = realpath(path, NULL); /* symbols_lookup() wants a whole one */
	if (!m->path)
		m->path = xstrdup(path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	e = find_section(m, elf);
	elf_end(elf);
	close(fd);
	if (e) {
		xray_map_close(m);
		return e;
	}
	m->symbols = symbols_new();
	*ret = m;
	return NULL;
}

void xray_map_close(struct xray_map *m)
{
	if (!m)
		return;
	if (m->symbols)
		symbols_free(m->symbols);
	free(m->functions);
	free(m->path);
	free(m);
}

const char *xray_map_name(struct xray_map *m, int64_t function)
{
	struct symbol found[SYMBOL_INLINED_MAX];
	unsigned n;

	if (!m || function < 1 || (uint64_t)function > m->n)
		return NULL;
	memset(found, 0, sizeof found);
	n = symbols_lookup(
		m->symbols, m->path, NULL, m->functions[function - 1], found, SYMBOL_INLINED_MAX);
	return n ? found[n - 1].function : NULL;
}
