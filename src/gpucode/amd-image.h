/* SPDX-License-Identifier: Apache-2.0
 *
 * Places in an AMD code object: which function an address is in, and which line of the source.
 * Addresses are those of the ELF file, which llvm-objdump shows; where it was loaded is the
 * caller's business. Takes damaged files: what is damaged is left out.
 */
#ifndef GPUCODE_AMD_IMAGE_H
#define GPUCODE_AMD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amd_function {
	uint64_t addr, size;
	char *name; /* mangled */
	bool is_kernel;
};
struct amd_line { /* from addr on, to the next one */
	uint64_t addr;
	uint32_t file;	  /* index of files */
	uint32_t line;	  /* 0: of no line */
	uint32_t first;	  /* file of the first of several rows of this address: of the function that
			     begins   there, where what is inlined begins, too; UINT32_MAX: there was
			     one */
	uint32_t primary; /* the source that was compiled */
};
struct amd_lines {
	struct amd_line *v; /* by address, none twice */
	size_t n, cap;
	char **files;
	size_t nfiles, cap_files;
};
struct amd_image {
	struct amd_function *functions; /* by address */
	size_t nfunctions;
	struct amd_lines lines;
};

/* Copies what it needs. NULL: no memory, or no ELF file of 64 bits. */
struct amd_image *amd_image_new(const void *elf, size_t n);
void amd_image_free(struct amd_image *m); /* NULL is fine */
/* NULL: none has the address. */
const struct amd_function *amd_image_function(const struct amd_image *m, uint64_t addr);
const struct amd_function *amd_image_named(const struct amd_image *m, const char *name);
/* NULL: not known. */
const struct amd_line *amd_image_line(const struct amd_image *m, uint64_t addr);
const char *amd_image_file(const struct amd_image *m, const struct amd_line *l); /* "" */
/* Where the function that begins at addr was declared; "": not known. */
const char *amd_image_file_at(const struct amd_image *m, uint64_t addr);
/* Whether a run of instructions from one line begins there: the line before is another. */
bool amd_image_begins(const struct amd_image *m, size_t i);
/* The first line of that file (its name, or the end of its path) from `line` on that any
 * instruction comes from; 0: none. */
uint32_t amd_image_find(const struct amd_image *m, const char *file, uint32_t line);
bool amd_image_file_is(const struct amd_image *m, const struct amd_line *l, const char *file);

/* --- amd-dwarf-lines.c --- */
struct amd_bytes {
	const uint8_t *p;
	size_t n;
};
/* Adds the rows of .debug_line (DWARF 2 to 5). False: it is damaged, or there is no memory; rows
 * before that are there. */
bool amd_dwarf_lines(struct amd_lines *to, struct amd_bytes line, struct amd_bytes line_str,
	struct amd_bytes str);
/* Sorts them; of several at one address the last counts. */
void amd_lines_sort(struct amd_lines *l);

#endif
