/* SPDX-License-Identifier: Apache-2.0
 *
 * From names to addresses: the functions of an ELF file, and which code a line of the source has.
 */
#ifndef SYMBOLS_PLACES_H
#define SYMBOLS_PLACES_H

#include "symbols/symbols.h"

struct symbols_function {
	const char *name, *mangled; /* live as long as the struct symbols */
	uint64_t vaddr, size;
};
/* Calls add for each function that path defines, until it returns false. */
void symbols_functions(struct symbols *s, const char *path,
	bool (*add)(void *arg, const struct symbols_function *f), void *arg);

struct symbols_line {
	const char *file;   /* as the compiler has it; lives as long as the struct symbols */
	const char *folder; /* in which it was compiled; NULL: not known */
	unsigned line;
	uint64_t vaddr; /* the lowest of the line's */
};
enum symbols_found {
	SYMBOLS_LINE,	 /* *ret is set */
	SYMBOLS_NO_LINE, /* the file is known; neither the line nor any behind it has code */
	SYMBOLS_NO_FILE,
};
/* The first line at or behind `line` that has code, in the source files of path that are called
 * `file`: a name, or the end of a path. */
enum symbols_found symbols_line(struct symbols *s, const char *path, const char *file,
	unsigned line, struct symbols_line *ret);
/* Code that a line has, without a gap. */
struct symbols_code {
	const char *file; /* as the compiler has it; lives as long as the struct symbols */
	unsigned line;
	uint64_t begin, end;
};
/* Calls add for all code of line `line` of the source files of path that are called `file`, in the
 * order of the line tables. Returns whether there is such a file. */
bool symbols_code_of_line(struct symbols *s, const char *path, const char *file, unsigned line,
	void (*add)(void *arg, const struct symbols_code *c), void *arg);
/* Where main() is; false: not known. */
bool symbols_main_file(struct symbols *s, const char *path, struct symbols_line *ret);
/* Whether a source's path is, or ends in, the name. */
bool symbols_same_file(const char *path, const char *name);

#endif
