/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX for the expressions of probes, in registers of its own and without jumps. They mean what the
 * software GPU's own probes make of them (softcore/lane-expr.c): integers are 64 bits,
 * signed; floating values are doubles.
 */
#ifndef GPUCODE_PTX_EMIT_H
#define GPUCODE_PTX_EMIT_H

#include "base/buf.h"
#include "gpucode/probe/ptx-scan.h"

enum { PTX_EMIT_WHY = 200 };

struct ptx_emit {
	const struct ptx_scan *scan;
	unsigned scope;		/* the place */
	const char *begin, *at; /* of the function's first statement; of the place */
	bool entry;		/* in a kernel, not in a function that it calls */
	/* Offsets in the area of the table of address ranges, and its rows: a power of two. */
	uint64_t ranges_at;
	unsigned ranges;
	struct buf code;
	unsigned ints, floats, preds, words; /* registers used so far; words: %tsdb_u */
	char why[PTX_EMIT_WHY];
};

/* A value on the way. bad, when not 0, is the register that says that there is none. */
struct ptx_value {
	bool is_float;
	unsigned type;		     /* 1 + enum ptx_print_type; 0: as any integer or double */
	unsigned reg;		     /* %tsdb_i or %tsdb_f */
	unsigned bad;		     /* 1 + a number of %tsdb_p; 0: it has a value everywhere */
	const struct ptx_decl *base; /* reg is an offset from the address of this */
};
/* Compiles text; false: why says what cannot be. The area's address is in %tsdb_area. */
bool ptx_emit_expr(struct ptx_emit *m, const char *text, struct ptx_value *ret);
/* A predicate that is true where v is not 0. */
unsigned ptx_emit_truth(struct ptx_emit *m, const struct ptx_value *v);
void __attribute__((format(printf, 2, 3))) ptx_emit_line(struct ptx_emit *m, const char *fmt, ...);

#endif
