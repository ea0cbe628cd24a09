/* SPDX-License-Identifier: Apache-2.0
 *
 * From the probes' records to commands: one decoder for each process. It turns handles into ids, introduces what was there before tsdb came
 * (SBT_F_SYNTHETIC), learns kernels' names, follows each thread's context and stream capture. Pure: no BPF, no file, no process.
 * Records are checked: a record that is too short or of an unknown call is counted and passed over.
 */
#ifndef OBSERVE_DECODE_H
#define OBSERVE_DECODE_H

#include "observe/bpf/probe.h"
#include "sbt/sbt.h"

struct observe_decoder;

struct observe_decoder_ops {
	/* The next command, seqs rising; valid during the call. */
	struct err *(*command)(void *arg, const struct sbt_cmd *c);
	/* The name of the host function at an address, which is also its kernel's mangled name; NULL: not known. May be NULL. */
	const char *(*host_fn)(void *arg, uint64_t addr);
	/* The name of the kernel of a handle that nobody has seen looked up; NULL: not known. Asked once for each. May be NULL. */
	const char *(*kernel_name)(void *arg, uint64_t handle);
	/* The driver has told the program this name of a handle. May be NULL. */
	void (*kernel_told)(void *arg, uint64_t handle, const char *name);
};

/* clock_offset is CLOCK_REALTIME - CLOCK_MONOTONIC, nanoseconds. from_start: nothing of the process came before, so host memory that nobody
 * pinned is pageable. ops must live as long. */
struct observe_decoder *observe_decoder_new(const struct observe_decoder_ops *ops, void *arg, uint64_t clock_offset, bool from_start);
void observe_decoder_free(struct observe_decoder *d);

/* A record of n bytes as the ring holds it (any bytes, aligned to 8); stack is the id that its commands get. Fails only as ops->command does. */
struct err *observe_decoder_take(struct observe_decoder *d, const void *record, size_t n, uint32_t stack) TS_CHECK;

/* Records that could not be understood. */
uint64_t observe_decoder_bad(const struct observe_decoder *d);
/* Launches so far of kernels whose name is not known. */
uint64_t observe_decoder_nameless(const struct observe_decoder *d);
/* The event of a record; NULL when it is not a whole, valid one. *ret_data, *ret_n: what follows it. */
const struct obs_event *observe_event(const void *record, size_t n, const void **ret_data, size_t *ret_n);

#endif
