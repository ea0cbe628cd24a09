/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes commands from the probes' records: one decoder for each process. It turns handles into ids,
 * introduces objects that were made before tsdb came (SBT_F_SYNTHETIC), learns kernels' names,
 * follows each thread's context and stream capture. It uses no BPF, no file and no process. Records
 * are checked: a record that is too short or of an unknown call is counted and skipped.
 */
#ifndef OBSERVE_DECODE_H
#define OBSERVE_DECODE_H

#include "observe/bpf/probe.h"
#include "sbt/sbt.h"

struct observe_decoder;

struct observe_decoder_ops {
	/* The next command, seqs rising; valid during the call. */
	struct err *(*command)(void *arg, const struct sbt_cmd *c);
	/* The name of the host function at an address, which is also its kernel's mangled name;
	 * NULL: not known. May be NULL. */
	const char *(*host_fn)(void *arg, uint64_t addr);
	/* The name of a kernel whose lookup was not seen; NULL: not known. Asked once for each
	 * handle. May be NULL. */
	const char *(*kernel_name)(void *arg, uint64_t handle);
	/* The driver gave the program this name for a handle. May be NULL. */
	void (*kernel_told)(void *arg, uint64_t handle, const char *name);
};

/* clock_offset is CLOCK_REALTIME - CLOCK_MONOTONIC, nanoseconds. from_start: all of the process was
 * observed, so host memory without a seen pinning call is pageable. ops must live as long. */
struct observe_decoder *observe_decoder_new(
	const struct observe_decoder_ops *ops, void *arg, uint64_t clock_offset, bool from_start);
void observe_decoder_free(struct observe_decoder *d);

/* Decodes a record of n bytes as it is in the ring (any bytes, aligned to 8); its commands get the
 * id stack. Fails only if ops->command does. */
struct err *observe_decoder_take(
	struct observe_decoder *d, const void *record, size_t n, uint32_t stack) TS_CHECK;

/* The number of records that could not be decoded. */
uint64_t observe_decoder_bad(const struct observe_decoder *d);
/* The number of launches so far of kernels whose name is not known. */
uint64_t observe_decoder_nameless(const struct observe_decoder *d);
/* The event of a record; NULL when the record is incomplete or invalid. *ret_data, *ret_n: the
 * bytes that follow it. */
const struct obs_event *observe_event(
	const void *record, size_t n, const void **ret_data, size_t *ret_n);

#endif
