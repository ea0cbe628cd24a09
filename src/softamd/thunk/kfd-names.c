// SPDX-License-Identifier: Apache-2.0
//
// Names of kernels, for sentences, and their code objects. The runtime keeps a list of the code
// objects that it has loaded, for debuggers, in the form of the dynamic linker's (struct r_debug):
// each with the difference between its addresses and those in its ELF file, and where that file is:
// "memory://PID#offset=ADDRESS&size=N", or "file://PATH#offset=N&size=N". A kernel's symbol is
// NAME.kd, and its value the descriptor's address.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "gpucode/amd-image.h"
#include "softamd/thunk/kfd.h"

static const struct r_debug *objects;

void kfd_names_list(void *debug)
{
	__atomic_store_n(&objects, debug, __ATOMIC_RELEASE);
}

struct image {
	const unsigned char *at;
	uint64_t size;
	void *map; /* of a file */
	size_t map_size;
};

static bool uri_number(const char *uri, const char *key, uint64_t *ret)
{
	const char *p = strstr(uri, key);

	if (!p)
		return false;
	*ret = strtoull(p + strlen(key), NULL, 0);
	return true;
}

static bool file_open(struct image *m, const char *uri, uint64_t offset)
{
	const char *path = uri + strlen("file://"), *end = strchrnul(path, '#');
	char name[4096];
	struct stat st;
	int fd;

	if ((size_t)(end - path) >= sizeof(name))
		return false;
	memcpy(name, path, (size_t)(end - path));
	name[end - path] = '\0';
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	m->map = MAP_FAILED;
	if (!fstat(fd, &st) && st.st_size > 0 &&
		range_within(offset, m->size, 0, (uint64_t)st.st_size)) {
		m->map_size = (size_t)st.st_size;
		m->map = mmap(NULL, m->map_size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	m->at = m->map == MAP_FAILED ? NULL : (const unsigned char *)m->map + offset;
	return m->at != NULL;
}

static bool image_open(struct image *m, const char *uri)
{
	uint64_t offset = 0;

	*m = (struct image){.map = MAP_FAILED};
	if (!uri || !uri_number(uri, "size=", &m->size))
		return false;
	uri_number(uri, "offset=", &offset);
	if (!strncmp(uri, "file://", 7))
		return file_open(m, uri, offset);
	m->at = (const unsigned char *)(uintptr_t)offset;
	return !strncmp(uri, "memory://", 9) && offset;
}

static void image_close(struct image *m)
{
	if (m->map != MAP_FAILED)
		munmap(m->map, m->map_size);
}

static bool section(const struct image *m, const Elf64_Ehdr *e, uint32_t k, Elf64_Shdr *ret)
{
	uint64_t at;

	if (k >= e->e_shnum || ckd_add(&at, e->e_shoff, (uint64_t)k * sizeof(*ret)) ||
		!range_within(at, sizeof(*ret), 0, m->size))
		return false;
	memcpy(ret, m->at + at, sizeof(*ret));
	return ret->sh_type == SHT_NOBITS || range_within(ret->sh_offset, ret->sh_size, 0, m->size);
}

/* The symbol NAME.kd with the value, without ".kd". */
static bool symbol_find(const struct image *m, uint64_t value, char *text, size_t size)
{
	Elf64_Shdr table, names;
	Elf64_Ehdr e;

	if (m->size < sizeof(e))
		return false;
	memcpy(&e, m->at, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_shentsize != sizeof(table))
		return false;
	for (uint32_t k = 0; k < e.e_shnum && section(m, &e, k, &table); k++) {
		if (table.sh_type != SHT_DYNSYM || !section(m, &e, table.sh_link, &names))
			continue;
		for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
			const char *name;
			Elf64_Sym s;
			size_t n, room;

			memcpy(&s, m->at + table.sh_offset + i * sizeof(s), sizeof(s));
			if (s.st_value != value || s.st_name >= names.sh_size)
				continue;
			name = (const char *)m->at + names.sh_offset + s.st_name;
			room = names.sh_size - s.st_name;
			n = strnlen(name, room);
			if (n == room || n < 4 || strcmp(name + n - 3, ".kd"))
				continue;
			snprintf(text, size, "%.*s", (int)(n - 3), name);
			return true;
		}
	}
	return false;
}

struct amd_image *kfd_image_of(uint64_t descriptor, uint64_t *ret_bias)
{
	const struct r_debug *d = __atomic_load_n(&objects, __ATOMIC_ACQUIRE);
	struct amd_image *ret = NULL;
	int most = 10000; /* the list may change meanwhile */
	char name[16];

	for (const struct link_map *l = d ? d->r_map : NULL; l && most-- && !ret; l = l->l_next) {
		struct image m;

		if (descriptor < l->l_addr || !image_open(&m, l->l_name))
			continue;
		if (symbol_find(&m, descriptor - l->l_addr, name, sizeof(name))) {
			ret = amd_image_new(m.at, m.size);
			*ret_bias = l->l_addr;
		}
		image_close(&m);
	}
	return ret;
}

void kfd_kernel_name(uint64_t descriptor, char *text, size_t size)
{
	const struct r_debug *d = __atomic_load_n(&objects, __ATOMIC_ACQUIRE);
	int most = 10000; /* the list may change meanwhile */

	for (const struct link_map *l = d ? d->r_map : NULL; l && most--; l = l->l_next) {
		struct image m;
		bool found = false;

		if (descriptor >= l->l_addr && image_open(&m, l->l_name)) {
			found = symbol_find(&m, descriptor - l->l_addr, text, size);
			image_close(&m);
		}
		for (char *c = text; found && *c; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
		if (found)
			return;
	}
	snprintf(text, size, "kernel at 0x%llx", (unsigned long long)descriptor);
}
