/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader's files share. reader.c opens a trace and answers questions, reader-index.c finds
 * the chunks, reader-chunk.c loads one; reader-stacks.c, reader-memory.c with reader-pages.c, and
 * cursor.c decode. Private to the room.
 */
#ifndef SBT_READER_H
#define SBT_READER_H

#include "sbt/format/format.h"
#include "sbt/memory.h"
#include "sbt/sbt.h"

/* Which chunks of one type there are: indices into entries, in file order. */
struct sbt_list {
	uint32_t *at;
	size_t n, cap;
};

struct sbt_stack_slot {
	uint32_t id; /* 0: free */
	uint32_t n;
	const struct sbt_frame *frames;
};

struct sbt_call {
	char *name;
	uint64_t n;
};

struct sbt_reader {
	int fd;
	char *path;
	uint64_t size;
	struct sbt_meta meta;
	struct buf meta_text; /* what meta's strings point into */
	struct sbt_entry *entries;
	size_t n, cap;
	uint8_t *reported; /* for each entry, whether its damage was reported */
	struct sbt_list commands, times, keyframes, stacks, modules, places, symbols, sources,
		codes, memories, pages, windows; /* times, pages and windows are sorted by first */
	uint64_t *times_last; /* of times up to each: the largest last seq, so that a search knows
				 where to stop */
	uint64_t count, lost;
	struct buf damage; /* NUL-terminated when not empty */
	unsigned ndamage;
	struct sbt_call *calls;
	size_t ncalls;
	uint8_t *stacks_loaded; /* of each entry of the list stacks */
	struct sbt_frame **frame_blocks;
	size_t nframe_blocks;
	uint64_t nframes;
	struct sbt_stack_slot *table; /* open addressing by id */
	size_t table_n, table_cap;
	bool modules_loaded, places_loaded, symbols_loaded;
	struct sbt_host_module *module;
	size_t nmodules;
	struct sbt_place *place;
	size_t nplaces, cap_places;
	struct sbt_reader_symbol *symbol; /* by module and offset */
	size_t nsymbols, cap_symbols;
	struct sbt_page_store *page_store;   /* NULL until a page is read */
	struct sbt_piece_store *piece_store; /* NULL until a piece is read */
	void *zstd;			     /* ZSTD_DCtx */
};

/* Adds a sentence to what sbt_reader_damage() says. After 20 of them they are only counted. */
void sbt_reader_note(struct sbt_reader *r, const char *fmt, ...) TS_PRINTF(2, 3);
/* The same, unless that sentence is there already. */
void sbt_reader_note_once(struct sbt_reader *r, const char *fmt, ...) TS_PRINTF(2, 3);
/* Reports the damage of entry i's chunk, once; e is why, and is freed. Does not return if e says
 * that memory is out: that is no damage. */
void sbt_reader_note_chunk(struct sbt_reader *r, uint32_t i, struct err *e);

/* n bytes at offset; ERR_BAD_TRACE past the end. */
struct err *sbt_reader_pread(struct sbt_reader *r, uint64_t offset, void *dst, size_t n) TS_CHECK;
/* Whether `stored` bytes may unpack to `raw`: no more than the type allows, and no more than zstd
 * can pack (a block of 128 KiB takes at least 4 bytes; RFC 8878, 3.1.1.2). A chunk that claims more
 * is damaged. */
bool sbt_raw_possible(unsigned type, uint64_t raw, uint64_t stored);
/* Whether h is a chunk header at all. */
bool sbt_header_valid(const struct sbt_chunk_header *h);
/* Reads, checks and decompresses the payload of e; out is cleared first. */
struct err *sbt_reader_load(
	struct sbt_reader *r, const struct sbt_entry *e, struct buf *out) TS_CHECK;

/* Fills entries, from the index if there is one, else by walking the chunk headers. */
struct err *sbt_reader_find_chunks(struct sbt_reader *r) TS_CHECK;
void sbt_reader_stacks_free(struct sbt_reader *r);
void sbt_reader_symbols_free(struct sbt_reader *r);
void sbt_reader_memory_free(struct sbt_reader *r);
void sbt_reader_pages_free(struct sbt_reader *r);
/* Bytes [offset, offset + n) of a page that must have size bytes. The error says why, not which. */
struct err *sbt_reader_page(struct sbt_reader *r, uint64_t number, uint32_t size, uint32_t offset,
	void *dst, uint32_t n) TS_CHECK;
/* Whole pages from number on, the last of them of `last` bytes, the others of SBT_PAGE, one behind
 * the other to dst. Their hashes are not checked: hashes[i] is what the table says. */
struct err *sbt_reader_pages_load(struct sbt_reader *r, uint64_t number, uint64_t count,
	uint32_t last, uint8_t *dst, struct sbt_hash *hashes,
	struct sbt_load_times *times) TS_CHECK;
/* Calls fn for every page in the file, from the tables of its chunks; chunks that are damaged are
 * left out. */
struct err *sbt_reader_pages_each(struct sbt_reader *r,
	void (*fn)(void *arg, uint64_t number, const struct sbt_page_entry *e), void *arg) TS_CHECK;
/* One block out of a zstd frame of known size; ERR_BAD_TRACE when it is not that. */
struct err *sbt_reader_inflate(
	struct sbt_reader *r, const void *stored, size_t n, void *dst, size_t raw) TS_CHECK;
/* The chunk's header, checked against e. */
struct err *sbt_reader_header(
	struct sbt_reader *r, const struct sbt_entry *e, struct sbt_chunk_header *ret) TS_CHECK;

/* A length-prefixed string in out's memory. False when it does not fit. */
bool sbt_take_string(struct sbt_in *in, const char **ret, size_t *ret_n);

#endif
