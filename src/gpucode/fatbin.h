/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads fat binaries: containers of code for several architectures, made by nvcc. It finds entries
 * and says where their bytes are. It allocates nothing and decompresses nothing, so that the agent
 * has it too; fatbin-text.h makes text of an entry. All input is hostile: every size is checked
 * against the bytes that are there, none is found by searching.
 */
#ifndef GPUCODE_FATBIN_H
#define GPUCODE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_HEADER 16 /* bytes of a header that are read */

enum { FATBIN_PTX = 1, FATBIN_ELF = 2 };	    /* an entry's kind */
enum { FATBIN_LZ4 = 0x2000, FATBIN_ZSTD = 0x8000 }; /* its flags */

struct fatbin_header {
	uint16_t version, size;
	uint64_t body; /* bytes behind the header */
};

struct fatbin_entry {
	unsigned kind, arch; /* arch: 75 for 7.5 */
	uint64_t flags, decompressed;
	uint64_t at;		 /* of the payload; 0 in an entry that was not found */
	uint64_t padded, stored; /* bytes of the payload; stored: without the padding */
};

/* Reads n bytes at an address. False: they are not there. */
typedef bool fatbin_read_fn(uint64_t at, void *to, size_t n);

/* The entries of one fat binary, from first to last. */
struct fatbin_walk {
	fatbin_read_fn *read;
	uint64_t at, left;
	const char *why; /* what is malformed, a static text; NULL: nothing yet */
};

/* What a wrapper points to, NULL when it is none. p is read for 24 bytes. */
const void *fatbin_unwrap(const void *p);
/* The fat binaries that a wrapper's code was linked from (nvcc -rdc=true), a list that ends with
 * NULL; NULL when p is no such wrapper. p is read for 24 bytes. What the list points to is the
 * program's. */
const void *const *fatbin_parts(const void *p);
/* Whether a fat binary's header is at p; reads 4 bytes. */
bool fatbin_is(const void *p);
/* The header at p. Reads FATBIN_HEADER bytes. False: there is none, or its sizes cannot be. */
bool fatbin_header(const void *p, struct fatbin_header *ret);
/* The bytes that the fat binary at p says it has, header included; 0 when malformed. Reads
 * FATBIN_HEADER bytes. */
size_t fatbin_size(const void *p);

/* Begins at the header at this address, behind which n bytes are known to be there. False: it is
 * none. */
bool fatbin_begin(struct fatbin_walk *w, fatbin_read_fn *read, uint64_t at, uint64_t n);
/* False at the end, and where an entry is malformed. */
bool fatbin_next(struct fatbin_walk *w, struct fatbin_entry *ret);
/* Walks to the end for the PTX that suits a device best (75 for 7.5): the highest architecture not
 * above it, else the lowest. `best` may have an entry already, of another fat binary. */
void fatbin_best(struct fatbin_walk *w, unsigned arch, struct fatbin_entry *best);
/* A fatbin_read_fn for memory of this process that is known to be there. */
bool fatbin_memory(uint64_t at, void *to, size_t n);

#endif
