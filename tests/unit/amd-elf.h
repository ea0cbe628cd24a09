/* SPDX-License-Identifier: Apache-2.0
 *
 * Small code objects for tests: an ELF file with functions and a line table, made by hand.
 */
#ifndef AMD_ELF_H
#define AMD_ELF_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct elf_bytes {
	uint8_t b[8192];
	size_t n;
};

static inline size_t elf_put(struct elf_bytes *e, const void *p, size_t n)
{
	const size_t at = e->n;

	memcpy(e->b + at, p, n);
	e->n += n;
	return at;
}

/* A row of a line table: this many bytes behind the one before, at that line. */
struct elf_row {
	uint8_t step;
	int8_t lines; /* on from the line before */
};

/* A table of version 4 for src/k.hip that begins at 0x1000, at line 0 plus the first row's. end:
 * bytes from the last row to the end. */
static inline struct elf_bytes line_table(const struct elf_row *r, size_t n, uint8_t end)
{
	static const uint8_t head[] = {4, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,
		/* directories, files */ 's', 'r', 'c', 0, 0, 'k', '.', 'h', 'i', 'p', 0, 1, 0, 0,
		0};
	const uint32_t length = sizeof(head);
	const uint64_t first = 0x1000;
	const uint16_t version = 4;
	struct elf_bytes t = {.n = 4};
	uint32_t size;

	elf_put(&t, &version, 2);
	elf_put(&t, &length, 4);
	elf_put(&t, head, sizeof(head));
	elf_put(&t, "\0\x09\x02", 3); /* DW_LNE_set_address */
	elf_put(&t, &first, 8);
	elf_put(&t, "\x03\x7f", 2); /* DW_LNS_advance_line -1 */
	for (size_t k = 0; k < n; k++) {
		const uint8_t row[] = {
			2, (uint8_t)(r[k].step / 4), 3, (uint8_t)(r[k].lines & 0x7f), 1};

		elf_put(&t, row, sizeof(row));
	}
	elf_put(&t, "\x02", 1);
	end /= 4;
	elf_put(&t, &end, 1);
	elf_put(&t, "\0\1\1", 3); /* DW_LNE_end_sequence */
	size = (uint32_t)t.n - 4;
	memcpy(t.b, &size, 4);
	return t;
}

/* A file with kernel "k" of `size` bytes at 0x1000, function "f" of 8 bytes behind it, and that
 * section of lines. */
static inline struct elf_bytes code_object(uint32_t size, const struct elf_bytes *lines)
{
	static const char strings[] = "\0k\0k.kd\0f";
	static const char names[] = "\0.symtab\0.strtab\0.shstrtab\0.debug_line";
	const Elf64_Sym symbols[] = {{0},
		{.st_name = 8,
			.st_info = STT_FUNC,
			.st_shndx = 1,
			.st_value = 0x1000 + size,
			.st_size = 8},
		{.st_name = 1,
			.st_info = STT_FUNC,
			.st_shndx = 1,
			.st_value = 0x1000,
			.st_size = size},
		{.st_name = 3,
			.st_info = STT_OBJECT,
			.st_shndx = 1,
			.st_value = 0x800,
			.st_size = 64}};
	Elf64_Shdr s[5] = {{0},
		{.sh_name = 1,
			.sh_type = SHT_SYMTAB,
			.sh_link = 2,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_size = sizeof(symbols)},
		{.sh_name = 9, .sh_type = SHT_STRTAB, .sh_size = sizeof(strings)},
		{.sh_name = 17, .sh_type = SHT_STRTAB, .sh_size = sizeof(names)},
		{.sh_name = 27, .sh_type = SHT_PROGBITS, .sh_size = lines->n}};
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
		.e_machine = 224,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
		.e_shstrndx = 3};
	struct elf_bytes e = {.n = sizeof(h)};

	s[1].sh_offset = elf_put(&e, symbols, sizeof(symbols));
	s[2].sh_offset = elf_put(&e, strings, sizeof(strings));
	s[3].sh_offset = elf_put(&e, names, sizeof(names));
	s[4].sh_offset = elf_put(&e, lines->b, lines->n);
	h.e_shoff = elf_put(&e, s, sizeof(s));
	memcpy(e.b, &h, sizeof(h));
	return e;
}

#endif
