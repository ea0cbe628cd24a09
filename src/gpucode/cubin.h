/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a cubin, which is an ELF file, in place. Its bytes may be anything: every offset is checked
 * before it is followed. The agent and the replayer use it, so nothing here allocates or can end a
 * program.
 */
#ifndef REPLAY_CUBIN_H
#define REPLAY_CUBIN_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin {
	const uint8_t *code; /* the caller's */
	size_t size;	     /* bytes */
	Elf64_Ehdr header;
	uint64_t nsections;
};

/* False: it is no 64-bit, little-endian ELF file. */
bool cubin_open(struct cubin *ret, const void *code, size_t size);
/* Whether everything that its headers name lies within size. A driver gets code without its length
 * and trusts the headers. */
bool cubin_is_whole(const struct cubin *c);
/* Copies entry i, n bytes, of a table of symbols or relocations to ret. False: the entry is not in
 * the table, or the table not in the file. */
bool cubin_entry(const struct cubin *c, uint64_t table, uint64_t table_size, uint64_t i, void *ret,
	size_t n);
bool cubin_section(const struct cubin *c, uint64_t i, Elf64_Shdr *ret);
/* The text at `at` of string table number `strings`; "" when there is none. */
const char *cubin_string(const struct cubin *c, uint64_t strings, uint64_t at);

#endif
