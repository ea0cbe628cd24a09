/* SPDX-License-Identifier: Apache-2.0
 *
 * Which registers of a kernel always have one value, given the launch's arguments and some bytes of
 * memory. Private to the drawer.
 */
#ifndef GPUCODE_PTX_VALUES_H
#define GPUCODE_PTX_VALUES_H

#include "gpucode/ptx-spins.h"
#include "gpucode/spins/ptx-flow.h"

/* NOTHING: no instruction that is executed has given it a value yet. */
enum flow_known { FLOW_NOTHING, FLOW_VALUE, FLOW_ANY };
struct flow_value {
	enum flow_known known;
	uint64_t v;
};

/* Of which lane the values are. */
enum flow_lane {
	FLOW_EVERY_LANE, /* true of all */
	FLOW_FIRST_LANE, /* true of the first lane of each block */
};

struct flow_values {
	struct flow *f;
	const struct ptx_spin_launch *launch;
	const struct ptx_spin_read *known; /* values of memory */
	unsigned nknown;
	enum flow_lane lane;
	struct flow_value *of; /* by name; memory is taken to stay as it is */
	size_t n;
};

/* Free with flow_values_free(). The other members are the caller's. */
void flow_values_find(struct flow_values *v);
void flow_values_free(struct flow_values *v);
/* Of an operand: a register, a number. */
struct flow_value flow_value(const struct flow_values *v, struct ptx_text operand);
/* Whether a guarded instruction is executed: FLOW_ANY if that is not known. */
struct flow_value flow_guard(const struct flow_values *v, const struct flow_insn *i);

/* What an instruction does to memory that other lanes see. */
enum flow_access {
	FLOW_NO_ACCESS,
	FLOW_READS,  /* each time anew: volatile, relaxed, acquire; an atomic that leaves memory as
			it is */
	FLOW_WRITES, /* or may */
};
/* ret: of FLOW_READS, the bytes; known: that its value is given. *ret_addr: its address is known.
 * An atomic of which memory's value is not given counts as one that reads. */
enum flow_access flow_access(const struct flow_values *v, const struct flow_insn *i,
	struct ptx_spin_read *ret, bool *ret_addr);
/* The names to which an instruction gives a value; at most `most` of them. */
unsigned flow_results(struct flow *f, const struct flow_insn *i, uint32_t *ret, unsigned most);

#endif
