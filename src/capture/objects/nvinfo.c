/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections .nv.info.KERNEL: attributes, each a format byte, an attribute byte, then a u16: a value,
 * or for format 4 the length of what follows. Attribute 0x17 (KPARAM_INFO): u32 index, u16 ordinal,
 * u16 offset, u32 whose upper 14 bits are the size. (Seen with nvcc 13.0 and cuobjdump; the same in
 * the sources of several open tools.) The cubin is checked like a stranger's.
 */
#include "capture/objects/nvinfo.h"

#include <elf.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "capture/objects/ids.h"
#include "capture/objects/map.h"

#define PREFIX ".nv.info."
#define FORMAT_SVAL 4
#define KPARAM_INFO 0x17
#define PARAMS_MAX 4096

struct learnt {
	uint32_t n;
	struct kernel_param param[];
};

static struct map by_name; /* hash of the name -> struct learnt * */

static uint64_t key_of(const char *name, size_t n)
{
	return XXH64(name, n, 0) | 1; /* the map has no key 0 */
}

/* Fills to (may be NULL) by ordinal. Returns the number of parameters: the largest ordinal plus
 * one. */
static uint32_t read_params(const uint8_t *p, size_t n, struct kernel_param *to)
{
	uint32_t count = 0;
	while (n >= 4) {
		uint16_t value;
		memcpy(&value, p + 2, 2);
		const size_t more = p[0] == FORMAT_SVAL ? value : 0;
		if (more > n - 4)
			break;
		if (p[0] == FORMAT_SVAL && p[1] == KPARAM_INFO && more >= 12) {
			uint16_t ordinal, offset;
			uint32_t word;
			memcpy(&ordinal, p + 8, 2);
			memcpy(&offset, p + 10, 2);
			memcpy(&word, p + 12, 4);
			if (ordinal < PARAMS_MAX) {
				if (to)
					to[ordinal] = (struct kernel_param){offset, word >> 18};
				if (ordinal >= count)
					count = ordinal + 1u;
			}
		}
		p += 4 + more;
		n -= 4 + more;
	}
	return count;
}

static void learn(const char *name, size_t name_size, const uint8_t *p, size_t n)
{
	const uint32_t count = read_params(p, n, NULL);
	struct learnt *l = ids_keep(sizeof(*l) + count * sizeof(l->param[0]));
	if (!l)
		return;
	memset(l, 0, sizeof(*l) + count * sizeof(l->param[0]));
	l->n = count;
	read_params(p, n, l->param);
	(void)map_put(&by_name, key_of(name, name_size), (uint64_t)(uintptr_t)l);
}

static bool inside(uint64_t offset, uint64_t n, size_t size)
{
	return offset <= size && n <= size - offset;
}

void nvinfo_learn(const void *cubin, size_t size)
{
	const uint8_t *base = cubin;
	Elf64_Ehdr eh;
	Elf64_Shdr sh, names;
	if (size < sizeof(eh) || memcmp(base, ELFMAG, SELFMAG))
		return;
	memcpy(&eh, base, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shentsize != sizeof(sh) ||
		eh.e_shstrndx >= eh.e_shnum ||
		!inside(eh.e_shoff, (uint64_t)eh.e_shnum * sizeof(sh), size))
		return;
	memcpy(&names, base + eh.e_shoff + (uint64_t)eh.e_shstrndx * sizeof(sh), sizeof(names));
	if (!inside(names.sh_offset, names.sh_size, size))
		return;
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		memcpy(&sh, base + eh.e_shoff + (uint64_t)i * sizeof(sh), sizeof(sh));
		if (sh.sh_name >= names.sh_size || sh.sh_type == SHT_NOBITS ||
			!inside(sh.sh_offset, sh.sh_size, size))
			continue;
		const char *name = (const char *)base + names.sh_offset + sh.sh_name;
		const size_t n = strnlen(name, names.sh_size - sh.sh_name);
		if (n > sizeof(PREFIX) - 1 && !memcmp(name, PREFIX, sizeof(PREFIX) - 1))
			learn(name + sizeof(PREFIX) - 1, n - (sizeof(PREFIX) - 1),
				base + sh.sh_offset, sh.sh_size);
	}
}

int nvinfo_params(const char *name, struct kernel_param *to, unsigned max)
{
	const struct learnt *l =
		(const struct learnt *)(uintptr_t)map_get(&by_name, key_of(name, strlen(name)));
	if (!l || l->n > max)
		return -1;
	memcpy(to, l->param, l->n * sizeof(*to));
	return (int)l->n;
}
