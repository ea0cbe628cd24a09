/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace as a sequence of what is compared.
 */
#ifndef COMPARE_SIDE_H
#define COMPARE_SIDE_H

#include "base/id-table.h"
#include "compare/compare.h"

#define SIDE_NONE UINT32_MAX

struct entry {
	uint64_t key; /* of what it is and its shape */
	uint64_t seq;
	uint64_t gpu_ns;		/* UINT64_MAX: not known */
	uint32_t weak;			/* of what it is without the shape */
	uint32_t name;			/* number in side.names */
	uint32_t stream, stack, thread; /* stream SBT_NO_ID: none */
	uint32_t ref;			/* entry that a wait is for; SIDE_NONE: none is known */
	uint32_t other;			/* entry of the other side that it is; SIDE_NONE: none */
	uint8_t kind;
	bool begins; /* a step may begin here: behind a host wait, or at a range */
	bool told;   /* it is in a difference already */
};

struct side_name {
	char *text; /* heap */
	uint64_t hash;
};
struct side_kernel {
	uint32_t name;		/* number of the name, plus 1 */
	uint64_t static_shared; /* bytes */
};
struct side {
	struct entry *e;
	uint32_t n, cap;
	struct side_name *names;
	uint32_t nnames, cap_names;
	struct id_table kernels; /* struct side_kernel */
	bool observed;		 /* one of the two was: see compare.h */
	uint64_t begin_ns, end_ns;
	uint64_t timed;
	uint32_t nthreads; /* threads are numbered from 0 in order of their first entry */
};

struct err *side_read(struct side *ret, struct sbt_reader *r, uint64_t first, uint64_t last,
	const struct compare_ask *ask) TS_CHECK;
void side_free(struct side *s);

/* Whether a command of the kind holds a stream or the host up. */
bool side_waits(const struct entry *e);
/* Whether its GPU time is known and is work's. */
bool side_is_timed(const struct entry *e);

/* The GPU time of pairs of commands, one of A and one of B. */
struct pair_sum {
	uint64_t n;
	double squares; /* of the differences */
};
void pair_add(struct pair_sum *s, const struct entry *a, const struct entry *b);
/* Whether the mean change could be 0 as well, by what pairs differ: less than two standard errors
 * of the mean. Of a single pair nothing is known: true. a_ns, b_ns: the pairs' sums. */
bool pair_is_noise(const struct pair_sum *s, uint64_t a_ns, uint64_t b_ns);
/* By how much the two differ. */
static inline uint64_t pair_change(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

/* A thread of A and the one of B that it is: the numbers of their entries, in order. One of them
 * may be empty. */
struct lane_pair {
	uint32_t *a, *b; /* heap */
	uint32_t na, nb;
};
struct alignment {
	struct side *a, *b;
	struct lane_pair *lanes;
	uint32_t nlanes;
	uint32_t *streams; /* pairs of stream ids that correspond; heap */
	size_t nstreams;
	struct id_table of_b; /* private: the stream of A that one of B is, plus 1 */
	bool coarse;
};
/* Finds out which entries are each other's: entry.other. */
void align(struct alignment *ret, struct side *a, struct side *b);
void alignment_free(struct alignment *al);
/* Whether the streams correspond, or both are none. */
bool align_same_stream(const struct alignment *al, uint32_t a, uint32_t b);

/* Makes differences of what align() left. */
void classify(struct compare *ret, struct alignment *al, const struct compare_ask *ask);
void compare_sites(struct compare *ret, const struct side *a, const struct side *b,
	const struct compare_ask *ask);
void compare_times(struct compare *ret, const struct side *a, const struct side *b);

#endif
