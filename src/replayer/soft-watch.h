/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU can say about the work it runs: exact access sets, schedules by seed, races inside kernels. Its libcuda.so.1 exports
 * tsdb_soft_watch, a function that returns this table; tsdb-replayer finds it with dlsym, and the records go to tsdb as they are, so they are
 * fixed-width. An NVIDIA driver has no such symbol: that is how one knows. Calls may come from any thread, and are about work that
 * begins to run later.
 */
#ifndef REPLAY_SOFT_WATCH_H
#define REPLAY_SOFT_WATCH_H

#include <stddef.h>
#include <stdint.h>

#define SOFT_WATCH_SYMBOL "tsdb_soft_watch"
#define SOFT_WATCH_VERSION 1u

/* How work uses memory. Written: stored to, also with the bytes that were there. Atomic: read, changed and written by one atomic operation;
 * such bytes are in none of the others for that. */
enum soft_access { SOFT_ACCESS_READ, SOFT_ACCESS_WRITTEN, SOFT_ACCESS_ATOMIC, SOFT_ACCESSES };
/* In a set, all of them, and then again those that threads made without having waited for the launch in front (griddepcontrol.wait), of a
 * launch with programmatic stream serialization. */
enum { SOFT_ACCESS_SETS = 2 * SOFT_ACCESSES };
/* What a launch did about those in front and behind: a thread waited; a thread let those behind begin; and in some block nothing did before
 * a wait, so that they begin when those in front have finished. OLD: it is code for a GPU without griddepcontrol (before sm_90), which says
 * nothing about what the same source does on one that has it. */
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

/* How a kernel makes its addresses, as far as its code tells. */
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
	SOFT_RACE_ATOMIC_READ, /* a plain read and an atomic: wrong, unless a compare-and-swap checks what was read */
	SOFT_RACE_SAME_VALUE,  /* the write left the bytes as they were */
};
enum { SOFT_RACE_NAME = 256, SOFT_RACE_FILE = 256, SOFT_RACE_INSN = 80 };
struct soft_race_side {
	uint32_t kind; /* enum soft_access */
	uint32_t line; /* of the PTX text */
	uint32_t source_line; /* 0: not known */
	uint32_t block[3], thread[3];
	uint32_t pad;
	char insn[SOFT_RACE_INSN]; /* "st.shared.u32" */
	char function[SOFT_RACE_NAME], file[SOFT_RACE_FILE]; /* function: mangled */
};
/* Two threads of one launch touch the same byte, at least one writes, and nothing orders them. Once for each pair of instructions. */
struct soft_race {
	uint64_t label; /* see soft_watch.label */
	uint64_t count; /* times that the pair was seen */
	uint64_t addr;	/* of the first time; shared: offset in the block's memory */
	uint32_t size, shared, tier, pad;
	char kernel[SOFT_RACE_NAME]; /* mangled */
	struct soft_race_side side[2]; /* the earlier access, the later one */
};

struct soft_watch {
	uint32_t version, size; /* of this structure */
	/* Collects the accesses of all work that runs from now on, in a new set. */
	void (*collect)(void);
	/* Ends collecting. At most max spans of each kind; *ret is valid until the next collect. NULL, or a sentence. */
	const char *(*collected)(size_t max, struct soft_access_set *ret);
	/* The order in which warps, blocks and the lanes of atomics run: the fixed one, or one by seed. */
	void (*schedule)(uint32_t kind, uint64_t seed);
	/* Looks for races; on != 0. */
	void (*racecheck)(uint32_t on);
	/* Goes with the races of launches that begin from now on. */
	void (*label)(uint64_t label);
	/* Takes up to n of the races found; how many. *more (may be NULL): that are still there. */
	size_t (*races)(struct soft_race *dst, size_t n, size_t *more);
	/* Launches that could not be checked whole since the last call: how many, and why one of them; "" for none. */
	uint64_t (*doubts)(char *dst, size_t n);
	/* What every byte of shared memory holds when a block begins; 0 at first. */
	void (*residue)(uint32_t byte);
	/* The next launch waits until those submitted behind it on its stream that may begin before it has finished have gone as far as they can:
	 * to their griddepcontrol.wait, or to their ends. It waits for submissions until one comes that may not, or somebody waits for the stream. */
	void (*hold)(void);
	/* Where kernels that begin from now on may touch memory that cuMemMap() mapped: sorted, none touches the next; n 0: everywhere. */
	void (*bounds)(const struct soft_span *s, size_t n);
	/* Of a CUfunction of the present context. */
	void (*addressing)(void *function, struct soft_addressing *ret);
	/* Between collect() and collected(): launches' accesses go into a set for each base, which
	 * collected_by() gives, and into none of collected(). */
	void (*collect_by_base)(void);
	/* After collected(), as it: the accesses by addresses made from the base with that index;
	 * SOFT_NO_BASE: from none. Valid until the next call. */
	const char *(*collected_by)(uint32_t base, size_t max, struct soft_access_set *ret);
};

#endif
