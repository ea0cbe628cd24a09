/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes and reads the memory contents in a trace: what a capture window recorded so that its
 * commands can be executed again. Contents are cut into pages; a page that was stored before, and a
 * page of zeros, costs a reference only.
 */
#ifndef SBT_MEMORY_H
#define SBT_MEMORY_H

#include "sbt/pagehash.h"
#include "sbt/sbt.h"

/* What a piece of memory is. "Before" and "after" are in the order of seq, with everything
 * submitted earlier finished. */
enum sbt_memory_role {
	SBT_MEMORY_START =
		1, /* an allocation or a module's global before command seq, the window's first */
	SBT_MEMORY_INPUT,  /* what the host side of a copy to the device held when command seq was
			      called (addr: the host address) */
	SBT_MEMORY_HOST,   /* host memory that kernels can read had changed: its contents before
			      command seq */
	SBT_MEMORY_OUTPUT, /* what a copy to the host delivered (addr: the host address); often only
			      its hash */
	SBT_MEMORY_EFFECT, /* what a command that cannot be executed again left in memory: contents
			      after command seq */
	SBT_MEMORY_END, /* an allocation or global after command seq, the window's last; often only
			   its hash */
	SBT_MEMORY_FREED, /* an allocation before command seq, which frees it, or destroys its
			     context; often only its hash */
};

/* What the memory belongs to. */
enum sbt_memory_owner { SBT_MEMORY_ALLOCATION, SBT_MEMORY_GLOBAL, SBT_MEMORY_ANY };

struct sbt_memory {
	uint64_t seq;
	uint32_t role;	      /* enum sbt_memory_role */
	uint32_t owner;	      /* enum sbt_memory_owner */
	uint64_t addr, size;  /* bytes; a global's addr is where it was while recording */
	uint32_t module;      /* a global's module id, else SBT_NO_ID */
	uint32_t ctx;	      /* plus 1: the context that a global's address is in; 0: not known */
	struct sbt_blob name; /* a global's name, else empty; owned by the reader */
	struct sbt_hash hash; /* sbt_range_hash() of the contents */
	bool has_bytes;	      /* false: the hash alone was recorded */
	bool doubt; /* an output or freed memory that may have been read too late: an equal hash
		     * proves it, another one proves nothing */
	uint64_t missing;   /* reader: bytes missing at the end of the piece; 0: none. The
			     * hash covers the bytes that came */
	uint32_t chunk, at; /* for the reader only: where the piece lies in the file */
};

/* --- writer: may be called at any time, in any order of seq --- */

/* Begins a piece. Its bytes follow in order through sbt_writer_memory_bytes() until there are
 * m->size of them; the writer computes the hash from them. Several pieces may be open at a time;
 * *ret_id names this one. With m->has_bytes false the piece is complete at once and m->hash is
 * stored; *ret_id is SBT_NO_ID then, as for a piece of no bytes. ERR_STATE: more bytes than
 * m->size, or an id that is not open. */
struct err *sbt_writer_memory(
	struct sbt_writer *w, const struct sbt_memory *m, uint32_t *ret_id) TS_CHECK;
struct err *sbt_writer_memory_bytes(
	struct sbt_writer *w, uint32_t id, const void *p, size_t n) TS_CHECK;
/* Continues a piece by n bytes whose pages this trace, or that of sbt_writer_memory_earlier(),
 * already has: pages[] are their hashes. The last page may end with the piece. ERR_NOT_FOUND:
 * neither trace has one of them; the pages before it were taken. ERR_STATE: the piece is not at a
 * page's beginning. */
struct err *sbt_writer_memory_known(
	struct sbt_writer *w, uint32_t id, const struct sbt_hash *pages, uint64_t n) TS_CHECK;
/* Gives the writer an earlier trace to copy pages from when they are needed. The writer owns it
 * from now on and closes it at its own close. May be called once. */
struct err *sbt_writer_memory_earlier(struct sbt_writer *w, struct sbt_reader *earlier) TS_CHECK;
/* Ends a piece that will never be complete, as when the program died: the bytes so far are stored
 * with their true size, and the trace notes what is missing. */
struct err *sbt_writer_memory_cut(struct sbt_writer *w, uint32_t id) TS_CHECK;
/* A window's bounds: commands first..last can be executed again. Written when a window closes,
 * after flushing what came before; a trace may hold several. */
struct err *sbt_writer_window(struct sbt_writer *w, uint64_t first, uint64_t last) TS_CHECK;
struct sbt_memory_figures {
	uint64_t pages, pages_zero, pages_again; /* seen, of zeros, stored before */
	uint64_t bytes, bytes_stored;		 /* seen; in the file so far */
};
void sbt_writer_memory_figures(const struct sbt_writer *w, struct sbt_memory_figures *ret);

/* --- reader --- */

/* Windows in order; false past the end. */
bool sbt_reader_window(struct sbt_reader *r, unsigned i, uint64_t *ret_first, uint64_t *ret_last);
/* Pieces with first <= seq <= last, in order of (seq, role, addr). Calls fn for each; stops at the
 * first error. Damaged pieces, and those that only began, are left out; a piece that was cut off
 * has m->missing. sbt_reader_damage() names all of these. */
typedef struct err *sbt_memory_fn(void *arg, const struct sbt_memory *m);
struct err *sbt_reader_memory(
	struct sbt_reader *r, uint64_t first, uint64_t last, sbt_memory_fn *fn, void *arg) TS_CHECK;
/* Bytes of a piece: m as it was given to fn (it may be copied). ERR_NOT_FOUND when only the hash is
 * there, ERR_BAD_TRACE when a page is missing or damaged: the sentence names the piece and the
 * page. Offsets beyond size are a bug of the caller. */
struct err *sbt_reader_memory_read(struct sbt_reader *r, const struct sbt_memory *m,
	uint64_t offset, void *dst, size_t n) TS_CHECK;

/* For callers that verify hashes after the data reaches its destination: reads n bytes to dst
 * without checking them. offset must be a page's beginning; offset + n must be the end of a page or
 * of the piece. hashes[i] gets what sbt_page_hash() of the i-th page must be. *ret_zeros true: all
 * bytes are zeros and dst was not written. Adds to *times. */
struct sbt_load_times {
	uint64_t read_ns, unpack_ns, read_bytes;
};
struct err *sbt_reader_memory_load(struct sbt_reader *r, const struct sbt_memory *m,
	uint64_t offset, void *dst, size_t n, struct sbt_hash *hashes, bool *ret_zeros,
	struct sbt_load_times *times) TS_CHECK;

/* Pages in the file, and the bytes that all memory takes there; reads nothing. */
void sbt_reader_memory_figures(
	const struct sbt_reader *r, uint64_t *ret_pages, uint64_t *ret_bytes);

#endif
