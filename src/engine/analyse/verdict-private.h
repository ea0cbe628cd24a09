/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the search for a verdict: the state of one search for a cause. verdict-race.c asks
 * about races, verdict-calls.c about calls that a replay leaves out, verdict-host.c about memory
 * that the host writes to, verdict.c about the rest.
 */
#ifndef ENGINE_VERDICT_PRIVATE_H
#define ENGINE_VERDICT_PRIVATE_H

#include "order/flow.h"
#include "engine/exact.h"
#include "engine/verdict.h"

#define DIFFERING_MAX 1024u /* differing places kept; further ones are ignored */

struct search {
	struct engine *en;
	struct replay_device *rd;
	const struct device_verified *v;
	struct verdict *ret;
	struct exact *exact;
	struct order_flow *flow;
	struct state *end;     /* at the window's end: names, allocations */
	struct sbt_cmd output; /* the first copy to the host that differs; kind 0: none */
	uint64_t seq;	       /* right before this command it differs; UINT64_MAX: at the end */
	struct order_range differing[DIFFERING_MAX];
	size_t ndiffering;
	struct order_range
		*shared; /* memory that host and device share, at any time in the window; heap */
	size_t nshared, cap_shared;
	/* launches that are not deterministic, though what they were seen to leave differently
	 * does not reach the difference */
	struct check_result seen, perturbed;
};

/* Of n causes with `each` doubts, the first that reaches something that differs; SIZE_MAX: none. */
size_t verdict_first(const struct search *x, const struct order_doubt *d, size_t n, size_t each);
void verdict_answer(const struct search *x, enum verdict_kind kind, enum verdict_reason reason,
	uint64_t seq, uint64_t with);
/* A question that failed does not stop the other ones: notes e for the answer. Only Ctrl-C is
 * returned. */
struct err *verdict_not_asked(
	struct search *x, enum verdict_question question, struct err *e) TS_CHECK;

bool verdict_answered(const struct search *x);

/* Calls each() for the window's commands that were executed. */
struct err *verdict_each_command(const struct search *x,
	void (*each)(void *arg, const struct sbt_cmd *c), void *arg) TS_CHECK;
/* Fills x->shared. */
struct err *verdict_list_shared(struct search *x) TS_CHECK;
struct err *verdict_ask_host_surely(struct search *x) TS_CHECK;
struct err *verdict_ask_host(struct search *x) TS_CHECK;
struct err *verdict_ask_races(struct search *x) TS_CHECK;
struct err *verdict_ask_left_out(struct search *x) TS_CHECK;
struct err *verdict_ask_values(struct search *x) TS_CHECK;

#endif
