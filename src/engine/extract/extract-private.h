/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of extract.h: extract.c finds the launch and its code; extract-memory.c has what it
 * could reach, from a replay; extract-program.c writes main.c, which ends with the text of
 * extract-text.c.
 */
#ifndef ENGINE_EXTRACT_PRIVATE_H
#define ENGINE_EXTRACT_PRIVATE_H

#include "engine/replay-device.h"
#include "engine/extract.h"
#include "gpucode/code-kind.h"

/* Where a piece of memory is in the generated program. */
enum extract_where {
	EXTRACT_DEVICE, /* at its recorded address */
	EXTRACT_HOST,	/* pinned, at its recorded address where that is free */
	EXTRACT_GLOBAL, /* where the module puts it: pointers to it in the parameters are changed */
};

struct extract_piece {
	enum extract_where where;
	uint64_t addr, size; /* as recorded */
	char *name;	     /* of a global, else NULL */
	bool changed;	     /* by the launch */
};

struct extract {
	struct engine *en;
	struct extract_options o;
	char *part;    /* the folder while it is being filled; heap */
	uint32_t node; /* with o.graph */
	struct sbt_cmd_launch launch;
	uint64_t seq;
	struct buf args, name, params, code;
	uint32_t module;
	uint64_t code_hash;
	enum code_kind kind;
	const struct extract_words *words;
	uint64_t kernarg; /* of a HIP kernel: bytes of its arguments, the runtime's own too */
	struct extract_piece *pieces; /* by address */
	size_t npieces;
};

/* The path of a file in the folder that is being filled; heap. */
char *extract_path(const struct extract *x, const char *name);
struct err *extract_write(
	const struct extract *x, const char *name, const void *p, size_t n) TS_CHECK;
/* Whether the name needs no escapes in a C string: only characters that assemblers accept. */
bool extract_plain(const char *name);
/* Finds parameter i; returns false if there is none, or if it is not within the buffer. */
bool extract_param(const struct extract *x, uint32_t i, uint32_t *ret_offset, uint32_t *ret_size);

/* Finds allocations that parameters point into, also from within structures; and the globals of the
 * kernel's module. */
struct err *extract_find_memory(struct extract *x, const struct state *st) TS_CHECK;
struct err *extract_find_globals(struct extract *x) TS_CHECK;
/* The piece with this address; NULL: none. */
const struct extract_piece *extract_piece_at(const struct extract *x, uint64_t addr);
/* Saves the pieces' contents after seq in files of DIR; after: only those that have changed
 * since. */
struct err *extract_save_memory(struct extract *x, uint64_t seq, bool after) TS_CHECK;
void extract_piece_name(char *dst, size_t n, size_t i, bool after);
void extract_free_memory(struct extract *x);

const char *extract_code_file(const struct extract *x);
/* Writes main.c and the Makefile. */
struct err *extract_program(struct extract *x) TS_CHECK;

/* What differs between the programs of the two vendors. */
struct extract_words {
	const char *header;	       /* #include lines */
	const char *result, *kernel;   /* declared: check()'s, launch()'s parameter */
	const char *address;	       /* the type */
	const char *prefix;	       /* of LAUNCH_PARAM_... */
	const char *launch, *launched; /* a plain launch, around its arguments */
	bool moves; /* device memory may lie elsewhere than recorded: its pointers are changed */
	uint64_t grain; /* device memory is mapped in pieces of that; a power of two */
	/* Lists of strings, NULL at the end. The constant end of main.c; the generated part before
	 * it declares CODE_FILE, KERNEL, memory[], ranges[], check() and launch(). */
	const char *const *text[5];
	const char *const *makefile; /* its beginning; extract_makefile_end follows */
};
extern const char extract_makefile_end[]; /* how it is run and cleaned up */
extern const struct extract_words extract_cuda, extract_hip;
/* Parts of text that both have: read_file() and, by FROM_DEVICE(), compare(). */
extern const char *const extract_read_text[], *const extract_compare_text[];

#endif
