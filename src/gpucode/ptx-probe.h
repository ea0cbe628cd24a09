/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes PTX so that lanes count themselves where they come to a line of the source. What is put
 * in has registers of its own, does not jump, reads memory only where it may, and writes only to an
 * area of the caller's: what the kernel does to all other memory stays the same. The area's address
 * is in a variable that the text gets, PTX_PROBE_AREA; the caller writes it there.
 *
 * The area begins with a struct ptx_probe_cell for each probe; a table of address ranges, in which
 * memory may be read, lies behind them, and logs of probes of kinds BY and PRINT.
 *
 * A probe of kind PRINT logs the values of its expressions, a record for each lane. The lanes of a
 * warp that pass together take their places at once, so their records are next to one another, by
 * lane, and each has the mask of all of them. Probes of that kind may share a log: what a warp logs
 * there is in the order of time.
 */
#ifndef GPUCODE_PTX_PROBE_H
#define GPUCODE_PTX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

#define PTX_PROBE_AREA "tsdb_probe_area"
enum { PTX_PROBE_BUCKETS = 66, PTX_PRINT_VALUES = 8 };
enum ptx_probe_kind { PTX_PROBE_COUNT, PTX_PROBE_HIST, PTX_PROBE_BY, PTX_PROBE_PRINT };

/* How a value is shown: a lone register by its declared type, what is cast or loaded by that
 * type. */
enum ptx_print_type {
	PTX_PRINT_U8,
	PTX_PRINT_S8,
	PTX_PRINT_U16,
	PTX_PRINT_S16,
	PTX_PRINT_U32,
	PTX_PRINT_S32,
	PTX_PRINT_U64,
	PTX_PRINT_S64,
	PTX_PRINT_F32,
	PTX_PRINT_F64,
	PTX_PRINT_BOOL
};
/* What a lane logs; a u64 for each expression follows: an integer of 64 bits, or a double. */
struct ptx_print_record {
	uint32_t types; /* 4 bits for each expression */
	uint32_t mask;	/* the lanes that passed together */
	uint32_t block[3], thread[3];
	uint32_t bad;	  /* bit by expression: it has no value */
	uint32_t lane;	  /* and 256 times the probe's number in the list */
	uint32_t size[2]; /* of the block: x, y */
};

/* What is counted, as struct soft_probe_result has it. */
struct ptx_probe_cell {
	uint64_t on; /* not 0: lanes in functions that are no kernels count */
	uint64_t count, unknown;
	uint64_t logged; /* BY, PRINT: values or records so far, also those that had no room */
	uint64_t bucket[PTX_PROBE_BUCKETS];
};
/* A row of the table: [begin, end), sorted. The first is 0, 0; rows behind the last have begin and
 * end UINT64_MAX. */
struct ptx_probe_range {
	uint64_t begin, end;
};

struct ptx_probe {
	enum ptx_probe_kind kind;
	const char *file; /* the end of its path; NULL: that of the first kernel that counts */
	unsigned line;	  /* the first with code from here on is taken */
	/* Whether lanes in this kernel count; name is mangled. */
	bool (*is_kernel)(void *arg, const char *name);
	/* The expression (not used for COUNT) and the condition ("" for none) at a line of the PTX.
	 * False: they cannot be said there. */
	bool (*texts)(
		void *arg, unsigned ptx_line, const char **ret_expr, const char **ret_condition);
	void *arg;
	/* BY, PRINT: offset of its log in the area; values of 8 bytes, or records, that it holds */
	uint64_t log_at, log_room;
	/* PRINT: values that a record has room for, PTX_PRINT_VALUES at most; the probe whose
	 * `logged` counts the records */
	unsigned nvalues, log_of;
	/* out: */
	unsigned places;  /* at which code was put in */
	bool in_function; /* some of them are in functions that are no kernels */
	bool is_float;	  /* the expression's values are doubles */
	bool refused;	  /* the error is about this one */
};
struct ptx_probe_table {
	uint64_t at;   /* its offset in the area */
	unsigned rows; /* a power of two */
};

/* Bytes of a record with n values. */
static inline size_t ptx_print_size(unsigned n)
{
	return sizeof(struct ptx_print_record) + n * sizeof(uint64_t);
}
/* How many expressions a PRINT's text has, with commas between them, in no bracket. */
unsigned ptx_print_count(const char *text);

/* Appends the changed text, with a NUL. ERR_UNSUPPORTED: it cannot be changed; the error names the
 * function, the line and why. With no place for any probe nothing is appended. */
struct err *ptx_probe(struct buf *out, const char *text, size_t n, struct ptx_probe *probes,
	unsigned nprobes, const struct ptx_probe_table *table) TS_CHECK;

#endif
