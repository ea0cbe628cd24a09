/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of an SBT file, as docs/sbt.md describes it: constants, the two fixed-size headers,
 * and varints. Private to the room. Any change here changes the version in sbt.h in the same
 * commit.
 */
#ifndef SBT_FORMAT_H
#define SBT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sbt/varint.h"

/* 0x89 and the line ends catch a transfer in text mode, 0x1a stops DOS's `type`. */
#define SBT_MAGIC "\x89SBT\r\n\x1a\n"
#define SBT_MAGIC_SIZE 8
#define SBT_BYTE_ORDER 0x01020304u
#define SBT_CHUNK_MAGIC 0x43544253u	  /* "SBTC" */
#define SBT_END_MAGIC 0x0a0d444e45544253u /* "SBTEND\r\n" */

#define SBT_HEADER_SIZE 64     /* of the file's header and of each chunk's */
#define SBT_TRAILER_PAYLOAD 16 /* u64 offset of the index chunk, u64 SBT_END_MAGIC */
#define SBT_TRAILER_SIZE (SBT_HEADER_SIZE + SBT_TRAILER_PAYLOAD)

#define SBT_RAW_MAX (64u << 20) /* most bytes of a payload, but for the kinds below */
/* bytes that any trace may unpack to, all chunks but pages together */
#define SBT_UNPACK_MIN (256ull << 20)
#define SBT_UNPACK_RATIO 64u	     /* and as many times its own size when that is more */
#define SBT_RAW_MAX_LARGE (1u << 30) /* code, keyframe, memory */
#define SBT_CMD_MAX (16u << 20)	     /* most bytes of blobs in one command */
#define SBT_STACK_DEPTH_MAX 1024
#define SBT_CHUNK_FRAMES_MAX (1u << 20) /* of all stacks in one chunk */
#define SBT_SLOTS_MAX 4096
/* of a kind: the change mask has 64 bits, 6 of them for the common fields */
#define SBT_FIELDS_MAX 58

enum sbt_chunk_type {
	SBT_CHUNK_META = 1,
	SBT_CHUNK_MODULES = 2,
	SBT_CHUNK_STACKS = 3,
	SBT_CHUNK_CODE = 4,
	SBT_CHUNK_COMMANDS = 5,
	SBT_CHUNK_TIMES = 6,
	SBT_CHUNK_MEMORY = 7,
	SBT_CHUNK_KEYFRAME = 8,
	SBT_CHUNK_UNREPLAYABLE = 9,
	SBT_CHUNK_LOST = 10,
	SBT_CHUNK_INDEX = 11,
	SBT_CHUNK_TRAILER = 12,
	SBT_CHUNK_PAGES = 13,
	SBT_CHUNK_WINDOW = 14,
	SBT_CHUNK_PLACES = 15,
	SBT_CHUNK_SYMBOLS = 16,
	SBT_CHUNK_SOURCE = 17,
};

/* At the start of a pages chunk, one for each page; then the pages, one behind the other. */
struct sbt_page_entry {
	uint64_t hash[2];
	uint32_t size;	 /* of the page, 1..SBT_PAGE */
	uint32_t stored; /* bytes here: size, or fewer when it is a zstd frame */
};
_Static_assert(sizeof(struct sbt_page_entry) == 24, "page entry");

#define SBT_NAME_MAX 65536 /* bytes of a global's name */
/* contents up to this lie beside the piece (the writer's choice) */
#define SBT_MEMORY_INLINE_MAX 4096u
enum sbt_piece_flag {
	SBT_PIECE_BEGUN = 1, /* its contents come later, in a record with the same number */
	SBT_PIECE_BYTES = 2,
	SBT_PIECE_INLINE = 4, /* the bytes are in the record */
	SBT_PIECE_CUT = 8,    /* the recording ended before all of it came */
	SBT_PIECE_DOUBT = 16, /* from 1.7: doubt, as in struct sbt_memory */
};

#define SBT_CHUNK_ZSTD                                                                             \
	1 /* flag: the payload is one zstd frame; otherwise it is stored as it is                  \
	   */

struct sbt_file_header {
	uint8_t magic[SBT_MAGIC_SIZE];
	uint16_t major, minor; /* at byte offset 8 and 10 */
	uint32_t byte_order;
	uint8_t uuid[16];
	uint8_t reserved[24]; /* zeros */
	uint64_t hash;	      /* XXH64, seed 0, of the 56 bytes before */
};
_Static_assert(sizeof(struct sbt_file_header) == SBT_HEADER_SIZE, "file header");
_Static_assert(offsetof(struct sbt_file_header, major) == 8, "the version's place is for ever");

struct sbt_chunk_header {
	uint32_t magic;
	uint16_t type, flags;
	uint64_t stored; /* bytes of the payload in the file */
	uint64_t raw;	 /* bytes of the payload when decompressed */
	uint64_t first;	 /* commands, times, keyframe: first seq; stacks: smallest id; code: hash;
			  * modules, places: first index;  memory: smallest seq; pages: number of the
			  * first; window: its first seq */
	uint64_t last;	 /* the last, inclusive; code: 1 for PTX */
	uint32_t count;	 /* of commands, times, stacks, modules, ... in it */
	uint32_t header_sum; /* low half of the XXH64 of this header with this field 0 */
	uint64_t lost;	     /* records lost so far, in all, when the chunk was written */
	uint64_t hash;	     /* XXH64 of the stored payload */
};
_Static_assert(sizeof(struct sbt_chunk_header) == SBT_HEADER_SIZE, "chunk header");
_Static_assert(
	__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are copied as they lie in memory");

/* The bits of a command's change mask before those of its kind's fields. */
enum sbt_common_bit {
	SBT_BIT_SEQ,
	SBT_BIT_FLAGS,
	SBT_BIT_THREAD,
	SBT_BIT_CTX,
	SBT_BIT_STACK,
	SBT_BIT_RESULT,
	SBT_COMMON_BITS
};
_Static_assert(SBT_COMMON_BITS + SBT_FIELDS_MAX == 64, "change mask");

/* How a field is coded; in the kind table of a commands chunk. */
enum sbt_wire { SBT_WIRE_SCALAR, SBT_WIRE_STR, SBT_WIRE_BLOB };

/* Columns of a commands chunk, in the order they lie in it. */
enum sbt_column {
	SBT_COL_HEAD,
	SBT_COL_MASK,
	SBT_COL_VALUE,
	SBT_COL_CORR,
	SBT_COL_TIME,
	SBT_COL_BYTES,
	SBT_COLUMNS
};

/* One chunk in the file, as the index describes it. */
struct sbt_entry {
	uint64_t offset; /* of the chunk's header */
	uint16_t type;
	uint32_t count;
	uint64_t stored, raw, first, last, lost;
};

uint32_t sbt_header_sum(const struct sbt_chunk_header *h);

#endif
