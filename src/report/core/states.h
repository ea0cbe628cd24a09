/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU's state at every command, as what changed: the page finds the last change in front of its
 * cursor. What a stream, an event and an allocation is comes from the state machine alone
 * (state/state.h).
 *
 * streams: seq (difference), stream, status, bits (1 destroyed, 2 capturing), seq minus head,
 * commands in the queue, finished ones (difference of the stream's), seq minus what it waits for,
 * that one's stream plus 1, the event plus 1. A seq that is 0, none, is the seq itself then.
 * events: seq (difference), event, bits (1 recorded, 2 destroyed), stream plus 1, seq minus its
 * record. allocs: address (difference, signed), size, kind of memory, device, number of the stack
 * plus 1, seq that made it, seq that ended it minus that; 0: alive.
 */
#ifndef REPORT_STATES_H
#define REPORT_STATES_H

#include "base/id-table.h"
#include "report/core/pack.h"
#include "state/state.h"

struct states_alloc {
	uint64_t addr, size, from, to; /* seqs; to 0: alive */
	uint32_t device, stack, next;  /* next in its slot, plus 1 */
	uint8_t mem;
};
/* A stream, as it was first seen, and as it was written last. */
struct states_stream {
	bool known, gone; /* gone: the state does not have it any more */
	uint32_t device;  /* SBT_NO_ID: not known */
	struct state_stream is;
};
struct states {
	struct pack streams, events, allocs;
	uint64_t stream_seq, event_seq;
	struct id_table last;	      /* struct states_stream; by stream */
	struct id_table known_events; /* u8: 1 if it is alive */
	struct states_alloc *a;
	uint32_t n, cap;
	uint32_t *slots; /* by address: number of the live one, plus 1 */
	uint32_t nslots, live;
	uint64_t count; /* of those alive, by the state */
};

void states_init(struct states *s);
/* st: the state after the command. */
void states_take(struct states *s, const struct state *st, const struct sbt_cmd *c);
/* stack: the number of a host stack's id in the page, plus 1. */
struct err *states_end(struct states *s, FILE *f, unsigned trace,
	uint32_t (*stack)(void *arg, uint32_t id), void *arg) TS_CHECK;
void states_free(struct states *s);

#endif
