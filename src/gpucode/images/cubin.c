/* SPDX-License-Identifier: Apache-2.0
 *
 * See cubin.h.
 */
#include "gpucode/cubin.h"

#include "base/checked.h"

#include <string.h>

bool cubin_entry(
	const struct cubin *c, uint64_t table, uint64_t table_size, uint64_t i, void *ret, size_t n)
{
	if (table > c->size || table_size > c->size - table || i >= table_size / n)
		return false;
	memcpy(ret, c->code + table + i * n, n);
	return true;
}

bool cubin_section(const struct cubin *c, uint64_t i, Elf64_Shdr *ret)
{
	return c->header.e_shentsize == sizeof *ret && i < c->nsections &&
	       c->header.e_shoff <= c->size &&
	       cubin_entry(c, c->header.e_shoff, c->size - c->header.e_shoff, i, ret, sizeof *ret);
}

const char *cubin_string(const struct cubin *c, uint64_t strings, uint64_t at)
{
	Elf64_Shdr s;

	if (!cubin_section(c, strings, &s) || s.sh_offset > c->size ||
		s.sh_size > c->size - s.sh_offset || at >= s.sh_size)
		return "";
	const char *text = (const char *)c->code + s.sh_offset + at;
	return memchr(text, '\0', s.sh_size - at) ? text : "";
}

bool cubin_open(struct cubin *ret, const void *code, size_t size)
{
	Elf64_Shdr s;

	*ret = (struct cubin){.code = code, .size = size};
	if (size < sizeof ret->header || memcmp(code, ELFMAG, SELFMAG))
		return false;
	memcpy(&ret->header, code, sizeof ret->header);
	if (ret->header.e_ident[EI_CLASS] != ELFCLASS64 ||
		ret->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	ret->nsections = ret->header.e_shnum ? ret->header.e_shnum : 1;
	if (!ret->header.e_shnum && cubin_section(ret, 0, &s)) /* more than the field can say */
		ret->nsections = s.sh_size;
	return true;
}

bool cubin_is_whole(const struct cubin *c)
{
	uint64_t programs;
	Elf64_Shdr s;

	if (ckd_mul(&programs, (uint64_t)c->header.e_phnum, sizeof(Elf64_Phdr)) ||
		(c->header.e_phnum &&
			(c->header.e_phentsize != sizeof(Elf64_Phdr) ||
				!range_within(c->header.e_phoff, programs, 0, c->size))))
		return false;
	for (uint64_t i = 0; i < c->nsections; i++)
		if (!cubin_section(c, i, &s) ||
			(s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL &&
				!range_within(s.sh_offset, s.sh_size, 0, c->size)))
			return false;
	return true;
}
