/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of exploring: the state of one exploration.
 */
#ifndef ENGINE_EXPLORE_PRIVATE_H
#define ENGINE_EXPLORE_PRIVATE_H

#include "engine/explore.h"
#include "engine/analyse/host-changes.h"

/* Two commands that touch the same bytes without an order. */
struct explore_pair {
	struct order_pair p; /* as recorded; entries as order/order.h has them */
	uint64_t place;	     /* a hash of the two places in the program */
	/* the pair's command that is an allocation or a free in stream order; 0: neither */
	uint64_t lifetime;
	bool is_birth; /* lifetime is an allocation */
};

struct explorer {
	struct engine *en;
	const struct explore_options *o;
	struct explore_result *r;
	struct device *d;
	struct order *order;
	struct order_pair
		*fixed; /* a free, and the allocation that got its memory: always in this order */
	size_t nfixed, cap_fixed;
	struct exact *exact;	  /* what kernels touch */
	struct host_changes host; /* if known, its changes are entries of orders */
	/* explore-pairs.c */
	const struct order_source *source; /* while pairs are found */
	struct explore_pair *pairs;
	size_t npairs, cap_pairs;
	uint32_t *pair_slots;	    /* a hash table of them: index + 1 */
	struct explore_pair *early; /* a programmatic dependent launch, and one in front of it on
				       its stream that triggers */
	size_t nearly, cap_early;
	bool too_many, unknown; /* too many pairs; memory whose allocation was not seen */
	/* explore-orders.c */
	struct device_ordered base;
	bool *unstable; /* by place of base: not compared */
	bool outputs_unstable;
	uint64_t *recorded;
	size_t nrecorded;
	struct explore_position {
		uint64_t key; /* order_key() of an entry of `recorded`; sorted */
		uint64_t at;  /* in the order at hand */
	} * position;
	struct explore_set {
		uint64_t *slot; /* signatures, a hash table; 0: free */
		size_t slots, n;
	} seen,		     /* of the course */
		same, other; /* executed here, with the recorded order's result or another one */
	uint64_t at;	     /* trials of the course, this one included */
	double begin, saved; /* when it began; when the last checkpoint was */
};

/* --- explore.c, explore-graphs.c --- */

/* Explores the window as it is: a graph launch is one command. */
struct err *explore_plain(
	struct engine *en, const struct explore_options *o, struct explore_result *ret) TS_CHECK;
/* The window that begins at a command, from 0. */
unsigned explore_window_of(const struct engine *en, uint64_t begins);
/* Makes a new file for a trace, with a name of its own, and returns its path. The caller removes
 * the file. */
struct err *explore_temp_file(char **ret) TS_CHECK;
/* The window with its graph launches taken apart. */
struct err *explore_expanded(
	struct engine *en, const struct explore_options *o, struct explore_result *ret) TS_CHECK;

/* --- explore-course.c: which trials there are, and which of them are executed here --- */

/* Counts a trial of the course, which costs so many executions; whether it is executed here: it
 * belongs to this shard and was not done before. key decides the shard. */
bool explore_trial(struct explorer *x, uint64_t key, uint64_t cost);
bool explore_is_ours(const struct explorer *x, uint64_t key);
/* What was begun is done: from here on a checkpoint includes it. */
struct err *explore_tried(struct explorer *x) TS_CHECK;
bool explore_is_over(const struct explorer *x);
/* Begins with the options' earlier result, if there is one. */
struct err *explore_resume(struct explorer *x) TS_CHECK;
/* The pairs in the order in which they are turned round: the first of each two places, then the
 * second of each, and so on. Heap; *ret_places: how many there are of different places. */
size_t *explore_flip_order(const struct explorer *x, size_t *ret_places);

/* --- explore-pairs.c: what may be turned round, and what may not --- */

/* Finds what every order has to keep. */
struct err *explore_look_through(struct explorer *x) TS_CHECK;
struct order_options explore_graph_options(const struct explorer *x);
/* Finds the pairs: first those of order_races(), then all others, if there are not too many
 * commands for that. */
struct err *explore_find_pairs(struct explorer *x) TS_CHECK;
/* A hash of the pair's two places, the same for both sequences; 0: no such pair. */
uint64_t explore_place(const struct explorer *x, const struct order_pair *p);

/* --- explore-orders.c: orders, executed and compared --- */

double explore_now(void);
/* Before the first of these. */
void explore_know_entries(struct explorer *x);
bool explore_is_flipped(const struct explorer *x,
	const struct order_pair *p);		    /* in the order that was placed last */
bool explore_keeps_fixed(const struct explorer *x); /* the same */
/* A hash of the pairs that the order reverses: orders that reverse the same pairs are alike. Places
 * the order. */
uint64_t explore_signature(struct explorer *x, const uint64_t *entries, size_t n);
bool explore_add(struct explore_set *s, uint64_t signature); /* false: it was there */
bool explore_has(const struct explore_set *s, uint64_t signature);
/* Makes an order with the pairs `want` and those that are fixed; NULL: the program does not allow
 * it. Heap. */
struct err *explore_order_with(struct explorer *x, const struct order_pair *want, size_t n,
	uint64_t **ret, size_t *ret_n) TS_CHECK;
struct err *explore_execute(
	struct explorer *x, const uint64_t *entries, size_t n, struct device_ordered *ret) TS_CHECK;
/* Executes the recorded order for the first time; and again, to find what differs from run to
 * run. */
struct err *explore_first_run(struct explorer *x) TS_CHECK;
struct err *explore_steady(struct explorer *x) TS_CHECK;
/* Index of the first compared place that differs; SIZE_MAX: none. */
size_t explore_first_place(
	const struct explorer *x, const struct device_ordered *a, const struct device_ordered *b);
bool explore_is_other(
	const struct explorer *x, const struct device_ordered *a, const struct device_ordered *b);
/* Executes the order, unless one with this signature was executed; *ret: its result differs from
 * the recorded order's. */
struct err *explore_differs(struct explorer *x, uint64_t signature, const uint64_t *entries,
	size_t n, bool *ret) TS_CHECK;

/* --- explore-found.c: what is found, brought down to its cause --- */

/* Whether there is a finding in whose place this one would not be kept. A shard does not know what
 * the others found before, so it drops only what is the same. */
bool explore_is_known(const struct explorer *x, const struct explore_found *f);
/* Reports an order that gives another result. Takes entries. */
struct err *explore_found_order(struct explorer *x, uint64_t *entries, size_t n) TS_CHECK;
/* Whether the pair, whose lifetime is set, gives another result when freed or fresh memory is
 * filled with poison. */
struct err *explore_poison(struct explorer *x, const struct explore_pair *p) TS_CHECK;
/* Whether the result differs when the first command is held while those behind it go as far as they
 * can. */
struct err *explore_hold(struct explorer *x, const struct explore_pair *p) TS_CHECK;

#endif
