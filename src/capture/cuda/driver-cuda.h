/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of core/driver.h for CUDA, as far as they lie in files of their own.
 */
#ifndef CAPTURE_DRIVER_CUDA_H
#define CAPTURE_DRIVER_CUDA_H

#include <cuda.h>
#include "capture/core/agent.h"
#include "capture/core/driver.h"
#include "capture/cuda/cuda-api.h"

struct driver_result cuda_result(uint32_t code);

/* Calls a function of the driver, if it has it. */
#define CUDA_ASK(name, ...)                                                                        \
	cuda_result(cuda.name ? OWN(cuda.name(__VA_ARGS__)) : CUDA_ERROR_NOT_SUPPORTED)

/* ---- driver-cuda-memory.c ---- */
struct driver_result cuda_copy_to_host(void *dst, uint64_t src, size_t n, uint64_t s);
struct driver_result cuda_copy_on_device(uint64_t dst, uint64_t src, size_t n, uint64_t s);
struct driver_result cuda_host_pin(void *p, size_t n);
struct driver_result cuda_host_unpin(void *p);
struct driver_result cuda_mem_unused(uint64_t *ret);
struct driver_result cuda_mem_alloc(uint64_t *ret, size_t n);
struct driver_result cuda_mem_free(uint64_t addr);
struct driver_result cuda_mem_range(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size);
bool cuda_mem_access(uint64_t addr);
bool cuda_mem_at(uint64_t addr, struct driver_memory *ret);

/* ---- driver-cuda-code.c ---- */
void cuda_kernel_facts(uint64_t handle, const char *hint, struct driver_kernel *ret);
void cuda_kernel_numbers(const struct driver_kernel *k, struct driver_numbers *ret);
int cuda_kernel_params(
	uint64_t handle, const struct driver_kernel *k, struct kernel_param *to, unsigned max);
bool cuda_global_find(
	uint64_t module, bool is_library, const char *name, uint64_t *ret_addr, uint64_t *ret_size);

/* ---- driver-cuda-hash.c ---- */
struct driver_hasher *cuda_hash_open(uint64_t s);
void cuda_hash_close(struct driver_hasher *h);
void cuda_hash_forget(struct driver_hasher *h);
struct driver_result cuda_hash_pages_begin(struct driver_hasher *h, struct hash_kernel_range r,
	struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b);
struct driver_result cuda_hash_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t n, struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b);
void cuda_hash_end(const struct hash_kernel_begun *b);
struct driver_result cuda_hash_wait(struct driver_hasher *h, uint64_t s);
struct driver_result cuda_gather_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t nranges, uint64_t first, uint32_t n, uint64_t packed, uint64_t s);

#endif
