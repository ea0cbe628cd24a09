/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds names and lines for addresses in ELF files, without a process: for a trace's host stacks
 * and a live program's frames. One cache for a session, used by one thread at a time.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

enum { SYMBOL_INLINED_MAX = 32 }; /* inlined calls within one frame, the function itself included */

/* What an address means. Strings live as long as the cache. */
struct symbol {
	const char *function; /* demangled; NULL when not known */
	uint64_t offset;      /* bytes from the function's start */
	const char *file;     /* NULL when there is no line information */
	const char *folder;   /* in which it was compiled, for relative files; NULL: not known */
	unsigned line, column;
	const char *module; /* path of the ELF file; NULL when the address is in none */
	uint64_t module_offset;
};

struct symbols;
struct symbols *symbols_new(void);
void symbols_free(struct symbols *s); /* NULL is fine */
/* Opens file; from now on look-ups for path read it. */
void symbols_open(struct symbols *s, const char *path, const char *file);
/*
 * Looks up an ELF virtual address of path. build_id may be "" or NULL; when it is not the file's,
 * nothing is resolved and ret->module alone is set. Inlined functions come first: fills up to max
 * entries (at least 1) and returns how many, at least 1.
 */
unsigned symbols_lookup(struct symbols *s, const char *path, const char *build_id, uint64_t vaddr,
	struct symbol *ret, unsigned max);
/* Whether the file at path can be read and, if both have a build id, has this one. */
bool symbols_is_build(struct symbols *s, const char *path, const char *build_id);
/* The function or variable that has the byte at an ELF virtual address of path; false: none has. */
bool symbols_data(struct symbols *s, const char *path, uint64_t vaddr, struct symbol *ret);
/* C++ names; a name that is no mangled one comes back as it is. Lives as long as s. */
const char *symbols_demangle(struct symbols *s, const char *name);
/* A copy of text that lives as long as s; equal texts are one copy. */
const char *symbols_keep(struct symbols *s, const char *text);

/* The file's module in libdwfl, whose addresses are the ELF's own; NULL: it cannot be read. */
Dwfl_Module *symbols_module(struct symbols *s, const char *path);

/* The DWARF scopes round an address. */
struct symbols_scope {
	Dwfl_Module *module;
	Dwarf_Addr bias; /* address in the module = ELF address + bias */
	Dwarf_Addr addr; /* in the DWARF's own terms */
	Dwarf_Die cu;
	/* From malloc; innermost first, outwards through inlined calls to the function that holds
	 * them. */
	Dwarf_Die *scopes;
	int nscopes;
};
/* False when there are none. The caller frees ret->scopes. */
bool symbols_scopes(struct symbols *s, const char *path, uint64_t vaddr, struct symbols_scope *ret);

#endif
