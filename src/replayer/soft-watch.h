/* SPDX-License-Identifier: Apache-2.0
 *
 * What a software GPU can report about the work it runs: exact access sets, schedules by seed,
 * races inside kernels. Its library (libcuda.so.1, libhsakmt.so.1) exports tsdb_soft_watch, a
 * function that returns this table; tsdb-replayer finds it with dlsym and passes the records on to
 * tsdb unchanged, so they are fixed-width. A vendor's driver has no such symbol. Calls may come
 * from any thread, and apply to work that begins to run later.
 */
#ifndef REPLAY_SOFT_WATCH_H
#define REPLAY_SOFT_WATCH_H

#include "replayer/soft-probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFT_WATCH_SYMBOL "tsdb_soft_watch"
#define SOFT_WATCH_VERSION 1u

/* How work uses memory. Written: a store, even of the bytes that were there before. Atomic: read,
 * changed and written by one atomic operation; such bytes are in no other list because of it. */
enum soft_access { SOFT_ACCESS_READ, SOFT_ACCESS_WRITTEN, SOFT_ACCESS_ATOMIC, SOFT_ACCESSES };
/* A set has all of these lists twice. The second time they hold the accesses by threads that had
 * not waited for the launch in front (griddepcontrol.wait), in a launch with programmatic stream
 * serialization. */
enum { SOFT_ACCESS_SETS = 2 * SOFT_ACCESSES };
/* What a launch did about the launches before and behind it: a thread waited; a thread let those
 * behind begin; in some block nothing triggered before a wait, so that those behind begin only when
 * the launches before have finished. OLD: the code is for a GPU without griddepcontrol (before
 * sm_90), so it does not show what the same source does on a GPU that has it. */
enum soft_depends { SOFT_WAITS = 1, SOFT_TRIGGERS = 2, SOFT_TRIGGER_WAITS = 4, SOFT_OLD = 8 };
struct soft_span { /* bytes */
	uint64_t addr, size;
};
struct soft_access_set {
	const struct soft_span *span[SOFT_ACCESS_SETS]; /* sorted, none touches the next */
	size_t n[SOFT_ACCESS_SETS];
	uint32_t inexact; /* bit 1 << index: the spans hold bytes that were not accessed */
	uint32_t depends; /* enum soft_depends */
};

/* How a kernel computes its addresses, as far as its code shows. */
enum { SOFT_SOURCES = 48, SOFT_NO_BASE = SOFT_SOURCES };
struct soft_source {	       /* a part of the parameters that is loaded as a whole */
	uint32_t offset, size; /* bytes */
	uint32_t shapes;  /* not 0: which bytes are touched depends on its value, and not as a base
			     alone */
	uint32_t is_base; /* not 0: addresses are its value plus something that does not depend on
			     it */
};
struct soft_addressing {
	uint32_t known; /* 0: which bytes are touched may depend on what memory holds, on time, or
			   on what is not looked into */
	uint32_t n;
	struct soft_source
		source[SOFT_SOURCES]; /* bytes of the parameters in none of them: they shape */
};

enum soft_schedule { SOFT_SCHEDULE_FIXED, SOFT_SCHEDULE_RANDOM };

enum soft_race_tier {
	SOFT_RACE,
	SOFT_RACE_ATOMIC_READ, /* a plain read and an atomic: wrong, unless a compare-and-swap
				  checks what was read */
	SOFT_RACE_SAME_VALUE,  /* the write left the bytes as they were */
};
enum { SOFT_RACE_NAME = 256, SOFT_RACE_FILE = 256, SOFT_RACE_INSN = 80 };
struct soft_race_side {
	uint32_t kind;	      /* enum soft_access */
	uint32_t line;	      /* of the PTX text; 0: the code is no PTX, and: */
	uint32_t source_line; /* 0: not known */
	uint32_t block[3], thread[3];
	uint32_t code;		   /* bytes from the kernel's first instruction on */
	char insn[SOFT_RACE_INSN]; /* "st.shared.u32" */
	char function[SOFT_RACE_NAME], file[SOFT_RACE_FILE]; /* function: mangled */
};
/* Two threads of one launch access the same byte, at least one of them writes, and nothing orders
 * them. Reported once for each pair of instructions. */
struct soft_race {
	uint64_t label; /* see soft_watch.label */
	uint64_t count; /* times that the pair was seen */
	uint64_t addr;	/* of the first time; shared: offset in the block's memory */
	uint32_t size, shared, tier, pad;
	char kernel[SOFT_RACE_NAME];   /* mangled */
	struct soft_race_side side[2]; /* the earlier access, the later one */
};

/* A texture or surface object over memory of this process. Numbers are CUDA's. */
struct soft_texture {
	uint64_t handle;
	uint64_t addr; /* an array's texels lie there row after row, without gaps */
	uint32_t surface;
	uint32_t resource; /* CUresourcetype: 0 array, 2 linear memory, 3 pitched memory */
	uint32_t format, channels;
	uint64_t width, height, depth; /* as they were given to the driver */
	uint64_t pitch, size;	       /* bytes: of pitched memory; of linear memory */
	uint32_t array_flags, address[3], filter, flags;
	uint32_t border[4];  /* bits of floats */
	uint32_t anisotropy; /* the software GPU does not look at it */
};

struct soft_watch {
	uint32_t version, size; /* of this structure */
	/* Collects the accesses of all work that runs from now on in a new set. */
	void (*collect)(void);
	/* Ends collecting. Returns NULL or a sentence; *ret has at most max spans of each kind and
	 * is valid until the next collect(). */
	const char *(*collected)(size_t max, struct soft_access_set *ret);
	/* Sets the order in which warps, blocks and the lanes of atomics run: the fixed one, or one
	 * by seed. */
	void (*schedule)(uint32_t kind, uint64_t seed);
	/* Turns the search for races on (not 0) or off. */
	void (*racecheck)(uint32_t on);
	/* Sets the label in the races of launches that begin from now on. */
	void (*label)(uint64_t label);
	/* Takes up to n of the races found and returns how many. *more (may be NULL) is the number
	 * left. */
	size_t (*races)(struct soft_race *dst, size_t n, size_t *more);
	/* Returns how many launches since the last call could not be checked completely; dst gets
	 * the reason of one of them, "" for none. */
	uint64_t (*doubts)(char *dst, size_t n);
	/* Sets the value of every byte of shared memory when a block begins; 0 at first. */
	void (*residue)(uint32_t byte);
	/* Holds the next launch until those submitted behind it on its stream that may begin early
	 * have gone as far as they can: to their griddepcontrol.wait, or to their ends. It waits
	 * for submissions until one comes that may not begin early, or until the host waits for the
	 * stream. */
	void (*hold)(void);
	/* Limits where kernels that begin from now on may touch memory that cuMemMap() mapped.
	 * Spans are sorted and do not touch; n 0: everywhere. */
	void (*bounds)(const struct soft_span *s, size_t n);
	/* How a CUfunction of the present context computes its addresses. */
	void (*addressing)(void *function, struct soft_addressing *ret);
	/* Called between collect() and collected(): launches' accesses go into one set for each
	 * base, which collected_by() returns; collected() has none of them. */
	void (*collect_by_base)(void);
	/* Called after collected(), and works like it: returns the accesses by addresses made from
	 * the base with that index; SOFT_NO_BASE: from no base. Valid until the next call. */
	const char *(*collected_by)(uint32_t base, size_t max, struct soft_access_set *ret);
	/* Makes an object with this very handle, in the place of any that has it; nothing may run
	 * that uses it. The memory must be mapped. Returns NULL or a sentence. */
	const char *(*texture)(const struct soft_texture *t);
	/* Removes it, if there is one. */
	void (*texture_gone)(uint64_t handle);
	/* Replaces all probes (SOFT_PROBES_MAX at most), for launches that begin later, and forgets
	 * what was counted. */
	void (*probes)(const struct soft_probe *p, unsigned n);
	/* What probe number i has counted, of launches that have ended; false: there is no such
	 * probe. */
	bool (*probe_result)(unsigned i, struct soft_probe_result *ret);
};

#endif
