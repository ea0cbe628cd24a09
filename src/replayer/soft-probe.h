/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes inside kernels, on the software GPUs: what lanes do at a line of the source is counted. A
 * replay's are set by the table of soft-watch.h. A live program's lie in a file that tsdb made and
 * that its libcuda.so.1 or libhsakmt.so.1 maps when it is loaded (TSDB_SOFT_PROBES): tsdb writes
 * them while no kernel runs, and reads what was counted whenever it likes.
 *
 * A lane passes a line when it comes to the first instruction of a run of instructions of that
 * line, in the order of the PTX: where a breakpoint at the line stops. An instruction that is not
 * executed after all (another observer lets other warps go first, a branch is put off) does not
 * count twice.
 *
 * A probe of kind PRINT (dprintf) also hands out the values of its expressions: the lanes of a warp
 * that have the same values are one record.
 */
#ifndef REPLAY_SOFT_PROBE_H
#define REPLAY_SOFT_PROBE_H

#include "replayer/soft-debug.h"

#include <stdatomic.h>

enum {
	SOFT_PROBES_MAX = 16,
	SOFT_PROBE_ROWS = 32,
	SOFT_PROBE_BUCKETS = 66,
	SOFT_PROBE_KEYS = 1024,
	SOFT_PRINT_ARGS = 8,
	SOFT_PRINTS = 8192
};
enum soft_probe_kind { SOFT_PROBE_COUNT, SOFT_PROBE_HIST, SOFT_PROBE_BY, SOFT_PROBE_PRINT };

/* What EXPR and the condition are at one place: variables of the source are elsewhere at each. */
struct soft_probe_row {
	uint64_t text; /* soft_probe_hash() of the PTX */
	uint32_t line; /* of the PTX */
	uint32_t pad;
	char expr[SOFT_TEXT], condition[SOFT_TEXT];
};
struct soft_probe {
	uint32_t id, kind;
	uint32_t line;	/* of the source */
	uint32_t nrows; /* 0: expr and condition are for every place */
	uint32_t limit; /* PRINT: records of a launch; 0: any number */
	uint32_t pad;
	char kernel[SOFT_NAME];	   /* a pattern for the mangled or the short name; "": any */
	char file[SOFT_NAME];	   /* the name of the source file, or the end of its path */
	char expr[SOFT_TEXT];	   /* PRINT: several, with commas between them */
	char condition[SOFT_TEXT]; /* "": always */
	struct soft_probe_row row[SOFT_PROBE_ROWS];
};

struct soft_probe_key {
	uint64_t bits, count; /* bits: an integer, or a double */
};
struct soft_probe_result {
	uint32_t id, is_float; /* is_float: keys are doubles */
	uint64_t launches;     /* in which a lane was counted, or was unknown */
	uint64_t count;	       /* lanes that passed, and for which the condition holds */
	uint64_t unknown;      /* lanes where the expression or the condition has no value: they are
				  not in count */
	uint64_t bucket[SOFT_PROBE_BUCKETS]; /* HIST. 0: below 0; 1: 0; k: from 2^(k-2) to below
						2^(k-1) */
	uint64_t others;		     /* BY: lanes with values that keys had no room for */
	uint32_t nkeys, pad;
	struct soft_probe_key key[SOFT_PROBE_KEYS];
};

/* What lanes of a warp print, or how many lanes of a launch did not. */
struct soft_print {
	uint32_t id, pad;
	uint64_t lanes; /* 0: left is how many lanes printed nothing, since the limit was reached */
	uint64_t launch;       /* numbers the launches of the process that had probes, from 1 */
	uint64_t left, passes; /* passes: of warps, in which no lane printed anything */
	uint64_t lost;	       /* the same as left, of lanes that there was no room for */
	uint32_t block[3], thread[3]; /* of the first of the lanes */
	uint32_t bad;		      /* bit by expression: it has no value */
	uint32_t more; /* 1: of the same pass of the warp as the probe's record before it */
	struct soft_print_value {
		uint32_t type, bytes; /* enum soft_value_type; bytes: 1 to 8 */
		uint64_t bits;
	} value[SOFT_PRINT_ARGS];
};

#define SOFT_PROBE_MAGIC 0x65626f7270647374ull
struct soft_probe_area {
	uint64_t magic, size;
	atomic_int owner; /* the process that counts here: the first that maps it; 0: none yet */
	uint32_t pad;
	atomic_uint generation; /* one more whenever the probes are others */
	uint32_t n;
	struct soft_probe probe[SOFT_PROBES_MAX];
	/* Prints, oldest first: number k is print[k % SOFT_PRINTS]. tsdb moves `taken`. */
	atomic_ullong printed, taken;
	atomic_ullong lost; /* that found no room in time */
	struct soft_print print[SOFT_PRINTS];
	struct soft_probe_slot {
		atomic_uint now; /* which of the two is whole */
		uint32_t pad;
		struct soft_probe_result result[2];
	} slot[SOFT_PROBES_MAX];
};

static inline uint64_t soft_probe_hash(const char *text, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n && text[i]; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return h;
}

#endif
