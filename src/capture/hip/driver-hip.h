/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of driver-hip share: results, and the operations of core/driver.h that are not in
 * the table's own file.
 */
#ifndef CAPTURE_DRIVER_HIP_H
#define CAPTURE_DRIVER_HIP_H

#include "capture/core/driver.h"
#include "capture/hip/hip-api.h"

/* The agent's own "stream" on the software AMD GPU: its memory is this process's, so nothing has to
 * be queued to read it. No handle of HIP's has this number. */
#define HIP_NO_STREAM 3u
#define S(handle) ((hipStream_t)(uintptr_t)((handle) == STREAM_LEGACY ? 0 : (handle)))

struct driver_result hip_result(uint32_t code);
struct driver_result hip_answer(enum driver_status status);
/* A function that libhsakmt.so.1 of the software AMD GPU has for tsdb; NULL: it is not there. */
void *hip_soft_symbol(const char *name);

struct graph_reader;
extern const struct graph_reader graph_reader_hip; /* hip-graph-nodes.c */
bool hip_stream_captured(uint64_t s, uint64_t *ret_node);

struct driver_result hip_context_enter(uint64_t ctx);
void hip_context_leave(void);
struct driver_result hip_context_finish(void);

/* A module that the program loaded, and where its code object lies; and that it is gone. */
void hip_module_loaded(uint64_t module, uint64_t loaded);
void hip_module_unloaded(uint64_t module);

struct driver_result hip_copy_to_host(void *dst, uint64_t src, size_t n, uint64_t s);
struct driver_result hip_mem_range(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size);
bool hip_mem_access(uint64_t addr);
bool hip_global_find(
	uint64_t module, bool is_library, const char *name, uint64_t *ret_addr, uint64_t *ret_size);

struct driver_hasher *hip_hash_open(uint64_t s);
void hip_hash_close(struct driver_hasher *h);
struct driver_result hip_hash_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t n, struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b);
struct driver_result hip_hash_pages_begin(struct driver_hasher *h, struct hash_kernel_range r,
	struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b);
void hip_hash_end(const struct hash_kernel_begun *b);
struct driver_result hip_hash_wait(struct driver_hasher *h, uint64_t s);

#endif
