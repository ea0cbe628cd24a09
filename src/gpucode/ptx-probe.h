/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes PTX so that lanes count themselves where they come to a line of the source. What is put
 * in has registers of its own, does not jump, reads memory only where it may, and writes only to an
 * area of the caller's: what the kernel does to all other memory stays the same. The area's address
 * is in a variable that the text gets, PTX_PROBE_AREA; the caller writes it there.
 *
 * The area begins with a struct ptx_probe_cell for each probe; a table of address ranges, in which
 * memory may be read, lies behind them, and logs of probes of kind BY.
 */
#ifndef GPUCODE_PTX_PROBE_H
#define GPUCODE_PTX_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

#define PTX_PROBE_AREA "tsdb_probe_area"
enum { PTX_PROBE_BUCKETS = 66 };
enum ptx_probe_kind { PTX_PROBE_COUNT, PTX_PROBE_HIST, PTX_PROBE_BY };

/* What is counted, as struct soft_probe_result has it. */
struct ptx_probe_cell {
	uint64_t on; /* not 0: lanes in functions that are no kernels count */
	uint64_t count, unknown;
	uint64_t logged; /* BY: values so far, also those that had no room */
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
	uint64_t log_at, log_room; /* BY: offset of its log in the area; values of 8 bytes */
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

/* Appends the changed text, with a NUL. ERR_UNSUPPORTED: it cannot be changed; the error names the
 * function, the line and why. With no place for any probe nothing is appended. */
struct err *ptx_probe(struct buf *out, const char *text, size_t n, struct ptx_probe *probes,
	unsigned nprobes, const struct ptx_probe_table *table) TS_CHECK;

#endif
