/* SPDX-License-Identifier: Apache-2.0
 *
 * What the PTX of kernels in flight says, where nothing can look inside: gpucode/ptx-spins.h, asked
 * about launches of the live program. The memory that it depends on is read by the agent at both
 * looks. Private to the engine.
 */
#ifndef ENGINE_WHY_CODE_H
#define ENGINE_WHY_CODE_H

#include "attach/attach.h"
#include "engine/recorder.h"
#include "gpucode/ptx-spins.h"
#include "state/state.h"

#define WHY_CODE_QUEUE 64u /* commands of a stream that are looked at */

struct why_code {
	struct ptx_spins is; /* also OPEN where there is no PTX of it */
	char place[96];	     /* of what it reads: "app.cu:9"; "": not known */
};

/* launch: the command in full. known: values of memory. */
void why_code_of(struct why_code *ret, const struct recorder *r, const struct state *s,
	const struct sbt_cmd *launch, const struct ptx_spin_read *known, unsigned nknown);
/* The command in full, if it is one of the last few thousand. */
bool why_code_command(const struct recorder *r, uint64_t seq, struct sbt_cmd *ret);

/* TSDB_ASK_NOTHING: managed memory is not read, since that may move it, nor is another process's.
 */
uint32_t why_code_kind_of(const struct state_alloc *a);
/* Its handle; 0: it is not known, or destroyed. */
uint64_t why_code_context(const struct state *s, uint32_t ctx);

/* Adds what the pending launches' answers depend on to the questions of a look. */
void why_code_questions(struct tsdb_look *l, const struct recorder *r, const struct state *s);
/* The values that a look has read; returns how many, `max` at most. */
unsigned why_code_values(const struct tsdb_look *l, struct ptx_spin_read *ret, unsigned max);

#endif
