/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: the address space of a process that tsdb did not start. It is read
 * only from /proc and from the process's memory: the files on disk may have been replaced, or be in
 * another mount namespace. What is read is under the process's control: it is limited and checked.
 */
#ifndef ATTACH_REMOTE_H
#define ATTACH_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

struct remote_map {
	uint64_t start, end, offset, inode;
	bool r, w, x;
	char *path; /* "" for none */
};
struct remote_space {
	pid_t pid;
	struct remote_map *maps; /* by address */
	unsigned n, cap;
};
struct err *remote_space_read(struct remote_space *s, pid_t pid) TS_CHECK;
void remote_space_free(struct remote_space *s);
const struct remote_map *remote_map_at(const struct remote_space *s, uint64_t addr);
/* The part of path after the last slash. */
const char *remote_name(const struct remote_map *m);
/* The lowest mapping of the first file that matches; NULL: none. */
const struct remote_map *remote_find(const struct remote_space *s, bool (*match)(const char *name));
/* The lowest mapping of the file that is mapped at m. */
const struct remote_map *remote_base(const struct remote_space *s, const struct remote_map *m);

bool remote_read(pid_t pid, uint64_t addr, void *dst, size_t n);
bool remote_write(pid_t pid, uint64_t addr, const void *src, size_t n);

/* The segment of that type (PT_DYNAMIC and so on) of an ELF file in memory; base: where its first
 * page is mapped. Returns false if there is none. */
bool remote_segment(pid_t pid, uint64_t base, uint32_t type, uint64_t *ret_bias, uint64_t *ret_addr,
	uint64_t *ret_size);

/* The dynamic symbols of an ELF file in memory. */
struct remote_symbols {
	struct remote_symbol {
		uint64_t addr, size;
		const char *name;
	} * sym; /* by address */
	unsigned n;
	char *strings;
};
/* base: where its first page is mapped. Returns false if it has no readable symbols, or too
 * many. */
bool remote_symbols_read(struct remote_symbols *r, pid_t pid, uint64_t base);
void remote_symbols_free(struct remote_symbols *r);
/* Returns 0 if there is no such symbol. */
uint64_t remote_symbol_addr(const struct remote_symbols *r, const char *name);
/* The named function that contains addr; NULL: none. */
const char *remote_symbol_at(const struct remote_symbols *r, uint64_t addr);

#endif
