/* SPDX-License-Identifier: Apache-2.0
 *
 * A cubin as the ELF file that it is, read where it lies. It may be anything: every offset is checked when it is followed. For the agent and the
 * replayer, so nothing here allocates or can end a program.
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
/* Whether all that its headers name lies in it: a driver is given code without its length, and goes by them. */
bool cubin_is_whole(const struct cubin *c);
/* Entry i of a table of entries of n bytes each: a symbol, a relocation. False: it does not lie in the table, or that not in the file. */
bool cubin_entry(const struct cubin *c, uint64_t table, uint64_t table_size, uint64_t i, void *ret, size_t n);
bool cubin_section(const struct cubin *c, uint64_t i, Elf64_Shdr *ret);
/* The text at `at` of string table number `strings`; "" when there is none. */
const char *cubin_string(const struct cubin *c, uint64_t strings, uint64_t at);

#endif
