/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks symbols up in the GNU hash tables of loaded files; see elf-look.h. (The table's layout:
 * glibc, elf/dl-lookup.c and "ELF: GNU hash section" of the gABI supplements: four words, a Bloom
 * filter, buckets, chains whose last hash has bit 0 set.)
 */
#include "capture/stacks/elf-look.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct tables {
	const uint32_t *hash;
	const ElfW(Sym) * symbol;
	const char *string;
	uint64_t bias;
};
struct job {
	struct elf_look *look;
	unsigned n, found;
	const char *file;
};

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;
	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return h;
}

static uint64_t look_one(const struct tables *t, const char *name)
{
	const uint32_t buckets = t->hash[0], first = t->hash[1], words = t->hash[2],
		       shift = t->hash[3];
	const uint64_t *filter = (const void *)(t->hash + 4);
	const uint32_t *bucket = (const void *)(filter + words), *chain = bucket + buckets;
	const uint32_t h = gnu_hash(name);
	if (!buckets || !words)
		return 0;
	const uint64_t word = filter[h / 64 % words];
	if (!(word >> h % 64 & word >> (h >> shift) % 64 & 1))
		return 0;
	uint32_t i = bucket[h % buckets];
	if (i < first)
		return 0;
	for (;; i++) {
		const uint32_t theirs = chain[i - first];
		const ElfW(Sym) *s = &t->symbol[i];
		if ((theirs | 1) == (h | 1) && s->st_shndx != SHN_UNDEF &&
			!strcmp(t->string + s->st_name, name))
			return t->bias + s->st_value;
		if (theirs & 1)
			return 0;
	}
}

/* Adds the load bias where needed: glibc adds it to these entries when it maps a file, but not for
 * the vdso. */
static uint64_t pointer(const struct dl_phdr_info *info, uint64_t value)
{
	return value < info->dlpi_addr ? value + info->dlpi_addr : value;
}

static int take_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct job *j = arg;
	struct tables t = {.bias = info->dlpi_addr};
	const ElfW(Dyn) *d = NULL;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_GNU_HASH)
			t.hash = (const void *)pointer(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_SYMTAB)
			t.symbol = (const void *)pointer(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			t.string = (const void *)pointer(info, d->d_un.d_ptr);
	}
	if (!t.hash || !t.symbol || !t.string || !look_one(&t, j->look[0].name))
		return 0;
	j->file = info->dlpi_name;
	for (unsigned i = 0; i < j->n; i++) {
		j->look[i].address = look_one(&t, j->look[i].name);
		j->found += j->look[i].address != 0;
	}
	return 1;
}

unsigned elf_look(struct elf_look *look, unsigned n, const char **ret_file)
{
	struct job j = {.look = look, .n = n, .file = ""};
	dl_iterate_phdr(take_file, &j);
	*ret_file = j.file;
	return j.found;
}
