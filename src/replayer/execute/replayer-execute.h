/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes commands and moves the position. Called by the thread that calls the GPU; after an error
 * the position is where the error came up.
 */
#ifndef REPLAYER_EXECUTE_H
#define REPLAYER_EXECUTE_H

#include "replayer/execute/replayer-rp.h"

/* Whether there is a way to execute commands of c's kind, or none is needed. */
bool execute_knows(const struct sbt_cmd *c);
/* Submits c, or keeps it for later (replayer-late.c). */
struct err *execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Executes a command that was kept for later. */
struct err *execute_late(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Makes the user's writes at positions first to last. */
struct err *execute_writes(struct rp *rp, uint64_t first, uint64_t last) TS_CHECK;
/* Sets the position to seq; nothing is in flight. */
void execute_at(struct rp *rp, uint64_t seq);
/* Notes that nothing up to seq is in flight. */
void execute_finished(struct rp *rp, uint64_t seq);
/* The parts of execute() before and after the command's own work: they make the changes of memory
 * by the user and by the program's host. */
struct err *execute_before(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *execute_after(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Executes a step of a graph launch as a command of its own on a stream. Only for kinds that
 * step_works() accepts. */
struct err *execute_node(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Waits for everything submitted. */
struct err *execute_finish(struct rp *rp) TS_CHECK;
/* Executes the next command after the position; if there is none up to seq, the position becomes
 * seq. */
struct err *execute_step(struct rp *rp, uint64_t seq, bool *ret_work) TS_CHECK;
/* Executes from the position up to seq, and takes checkpoints on the way. */
struct err *execute_to(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *execute_run(
	struct rp *rp, const struct replayer_run *run, struct replayer_ran *ret) TS_CHECK;
/* The command seq; NULL when the trace has none. Valid until the next call. */
struct err *execute_fetch(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* The next command behind the position, up to seq; NULL: none. */
struct err *execute_fetch_next(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* Puts the launch's parameters with the user's changes into out. */
struct err *execute_args(
	struct rp *rp, const struct sbt_cmd *c, const struct rkernel *k, struct buf *out) TS_CHECK;

/* Gives a launch's function, parameters and shared memory. */
struct err *execute_launch_parts(
	struct rp *rp, const struct sbt_cmd *c, struct gpu_kernel **ret, struct buf *args) TS_CHECK;
/* The launch of f with args, as recorded. args must outlive it. */
struct gpu_launch execute_launch_of(
	const struct sbt_cmd_launch *u, struct gpu_kernel *f, const struct buf *args);
/* Whether the recording holds what c did, so that c is not executed; whether the user left it
 * out. */
bool execute_has_effect(const struct rp *rp, uint64_t seq);
bool execute_is_skipped(const struct rp *rp, uint64_t seq);

/* --- replayer-heap.c --- */

/* Whether the launch may take memory from the device's own heap or give it back. */
struct err *heap_uses(struct rp *rp, const struct sbt_cmd *c, bool *ret) TS_CHECK;
/* Whether a kernel of the window does. */
struct err *heap_in_window(struct rp *rp, bool *ret) TS_CHECK;
/* Code is loaded: heap_note() looks at launches only if it may use the heap. */
void heap_learn_code(struct rp *rp, enum code_kind kind, const struct buf *code);
/* All code is loaded. Notes that the heap held something when the window began. */
struct err *heap_open(struct rp *rp) TS_CHECK;
/* Called before c is executed. */
struct err *heap_note(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Called before memory is restored to what it was after command seq: REPLAYER_E_AGAIN if a command
 * that was executed has used the heap, so that only another process can go back. What lies in the
 * heap is not restored either; CHECK, which does not compare it, may go back to behind that
 * command. */
struct err *heap_goes_back(struct rp *rp, uint64_t seq) TS_CHECK;

#endif
