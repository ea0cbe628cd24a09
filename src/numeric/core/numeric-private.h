/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a comparison of numbers.
 */
#ifndef NUMERIC_PRIVATE_H
#define NUMERIC_PRIVATE_H

#include "base/buf.h"
#include "numeric/numeric.h"
#include "sbt/sbt.h"

#define NUMERIC_NONE UINT32_MAX

/* An allocation or a global. */
struct area {
	uint64_t addr, size;
	uint64_t from, to;    /* seqs after which it lives, and before which it ends */
	uint64_t alloc;	      /* seq of the allocation; 0: before the recording, or a global */
	uint64_t place;	      /* of the allocating stack; 0: not known */
	uint32_t mem, device; /* mem NUMERIC_NONE: a global */
	uint32_t twin;	      /* in the other trace; NUMERIC_NONE: none */
	char *name;	      /* heap: a global's */
};
/* A word of a command's arguments, or a side of a copy, that is an address. */
struct area_use {
	uint32_t slot, area;
	uint64_t off;
};
struct work {
	uint64_t seq;
	uint8_t kind;
	bool pageable;	/* a copy from memory of the program that no call allocated */
	bool from_host; /* it reads the host's memory */
	uint32_t kernel;
	uint64_t code_hash;	/* of the module and the kernel's name; 0: not known */
	size_t args, nargs;	/* in side.args */
	size_t params, nparams; /* bytes, in side.args: pairs (offset, size) */
	size_t use, nuses;
	/* spans in side.spans, once they are known */
	size_t reads, nreads, writes, nwrites;
	bool known, cut;
};
struct span {
	uint64_t addr, size;
};
struct numeric_side {
	struct engine en; /* its own: one trace and one device */
	bool opened;
	uint64_t first, last;
	struct area *areas;
	size_t nareas, cap_areas;
	struct work *work;
	size_t nwork, cap_work;
	struct area_use *uses;
	size_t nuses, cap_uses;
	struct buf args;
	struct span *spans;
	size_t nspans, cap_spans;
	/* areas that live before command live_seq, in order of address */
	uint32_t *live;
	size_t nlive;
	uint64_t live_seq;
	bool cut_unknown;
};

/* numeric-side.c */
struct err *side_open(struct numeric_side *s, const struct numeric_ask *ask, bool b) TS_CHECK;
void side_close(struct numeric_side *s);
struct work *side_work(const struct numeric_side *s, uint64_t seq);
/* Makes side.live what lives when command seq begins. */
void side_live(struct numeric_side *s, uint64_t seq);
/* The living area with a byte at addr; NUMERIC_NONE: none. */
uint32_t side_area_at(const struct numeric_side *s, uint64_t addr);
/* Executes the window once and learns what its commands touch. */
struct err *side_learn(struct numeric_side *s) TS_CHECK;

/* numeric-areas.c */
void areas_pair(
	struct numeric_side *a, struct numeric_side *b, const struct numeric_pair *pairs, size_t n);

/* Bytes that both sides have, by A's area. */
struct extent {
	uint32_t area; /* of A */
	uint64_t off, size;
};
struct extents {
	struct extent *e; /* heap */
	size_t n, cap;
	bool unknown; /* some memory has no area, or its area no twin */
};
struct numeric_job {
	const struct numeric_ask *ask;
	struct numeric *ret;
	struct numeric_side a, b;
	size_t cap;
	uint8_t *buf_a, *buf_b;
	bool *reported_unpaired; /* by A's area */
};

/* numeric-bytes.c */
enum extents_of { EXTENTS_READ, EXTENTS_WRITTEN };
/* What the pair of commands touches; areas must be live. */
struct extents extents_of_pair(
	struct numeric_job *j, const struct work *a, const struct work *b, enum extents_of what);
struct extents extents_of_all(struct numeric_job *j);
void extents_join(struct extents *x);
struct bytes_result {
	uint64_t bytes;		      /* that differ */
	uint32_t area;		      /* of the first of them, A's */
	uint64_t off;		      /* of it */
	struct numeric_place *places; /* heap, if they were asked for */
	size_t nplaces;
};
/* Compares at the devices' positions. places: says what differs, with elements of type as. */
struct err *bytes_compare(struct numeric_job *j, const struct extents *x, bool places,
	enum replayer_as as, struct bytes_result *ret) TS_CHECK;
void places_free(struct numeric_place *p, size_t n);
/* Whether two words that differ are addresses of the same place. */
bool words_same_place(const struct numeric_job *j, uint64_t a, uint64_t b);
/* B's address for an address of A; 0: it is none, or has no counterpart. */
uint64_t word_in_b(const struct numeric_job *j, uint64_t a);

/* numeric-values.c */
/* Adds the elements in n bytes at offset off of an area to p. */
void values_add(struct numeric_place *p, const uint8_t *a, const uint8_t *b, uint64_t off, size_t n,
	enum replayer_as as);
/* By a kernel's mangled name: the one type that its pointers have; AUTO: several, or not known. */
enum replayer_as values_type_of(const char *mangled);

/* numeric-run.c */
/* The type of the memory that a command's arguments point to; AUTO: several, or not known. */
enum replayer_as numeric_type_for(const struct numeric_job *j, const struct work *w);

/* numeric-spread.c */
/* Says of findings whether they matter, if that is asked for. */
struct err *numeric_spread(struct numeric_job *j) TS_CHECK;

/* numeric-prove.c */
/* Checks findings for nondeterminism, then proves them. */
struct err *numeric_control(struct numeric_job *j) TS_CHECK;
struct err *numeric_prove(struct numeric_job *j) TS_CHECK;
/* Offset of the first of both launches' parameters that differs; UINT32_MAX: none does, or their
 * kernels have other parameters, so that the code is what differs. */
uint32_t args_differ(const struct numeric_job *j, const struct work *a, const struct work *b);

#endif
