/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of a trace as columns: what the lanes are drawn from, and all fields of each command
 * in blocks that the page opens one at a time.
 *
 * One entry a command, in order of seq: seq (difference), kind, flags, stream plus 1 (0: it ran on
 * none), thread, host time (difference from the one before), GPU start (difference from the host
 * time), GPU time plus 1 (0: not known), number of its name, number of its stack plus 1. Spans are
 * what lasts on a host thread, waits and NVTX ranges: seq of the end (difference; the last
 * command's if it has none), seq of the beginning (difference from the end), what, depth.
 *
 * Doing: what streams did before work with GPU times, other than nothing and running
 * (state/stream-time.h): stream, enum stream_doing, beginning in ns (difference from the end of the
 * last such, of the first from the first host time), length.
 *
 * Details: for each command its context, result and correlation and the fields of its kind, as far
 * as they are not those of the last command of the kind in the block: which of them (bits, from the
 * lowest on), then the differences of scalars, and texts and bytes. Of these: the length, and for
 * each eight bytes which of them are not the last one's (0 behind its end), and those. A block has
 * COLUMNS_BLOCK commands; `blocks` has the bytes of each.
 */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include "base/id-table.h"
#include "report/core/page-names.h"
#include "report/core/pack.h"
#include "state/state.h"
#include "state/stream-time.h"

enum { COLUMNS_BLOCK = 256, COLUMNS_FIELDS_MAX = 64, COLUMNS_TEXTS_MAX = 4 };

struct columns {
	struct pack seq, kind, flags, stream, thread, host, start, dur, name, stack;
	struct pack spans, doing, details, blocks;
	struct stream_time *time;
	uint64_t doing_end;
	uint64_t n, last_seq, last_host, first_host;
	uint64_t block_at; /* bytes of details before this block */
	uint64_t span_seq; /* end of the last span */
	uint64_t last[SBT_KIND_END][COLUMNS_FIELDS_MAX];
	struct buf texts[SBT_KIND_END][COLUMNS_TEXTS_MAX]; /* the last ones, by their order */
	bool kinds[SBT_KIND_END];			   /* seen */
	struct id_table threads;			   /* struct columns_thread */
	struct id_table kernel_names;			   /* u32: number of the name plus 1 */
	struct id_table stack_index;			   /* u32: number of the stack plus 1 */
	uint32_t *stack_ids;				   /* by number */
	uint32_t nstacks, cap_stacks;
	uint32_t timed; /* work with GPU times, up to UINT32_MAX */
	struct names *names;
	const char *(*kernel)(void *arg, const char *mangled); /* its name as it is shown */
	void *arg;
};

void columns_init(struct columns *c, struct names *names);
/* st: the state after the command. shown: it is in the range; if not, only what begins in front is
 * learned. */
void columns_take(struct columns *c, const struct state *st, const struct sbt_cmd *cmd, bool shown);
/* Ends what lasts and writes all columns. */
struct err *columns_end(struct columns *c, FILE *f, unsigned trace) TS_CHECK;
void columns_free(struct columns *c);

#endif
