/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this drawer share: the functions of HIP, looked up by name in the libamdhip64
 * that the replayer opens, and the operations of src/replayer/backend.h made of them. The software
 * AMD GPU must be below it: its memory is this process's, so copies, fills and hashes are made by
 * the host when the stream has come to them, and it places memory where it is asked to. Nothing of
 * this was tried on AMD's hardware, so open() refuses it.
 */
#ifndef REPLAYER_HIP_DRIVER_H
#define REPLAYER_HIP_DRIVER_H

#define __HIP_PLATFORM_AMD__ 1
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hip/hip_runtime_api.h>

/* hipExtModuleLaunchKernel, which hip_ext.h declares for C++ alone, so that its name is mangled. */
#define HIP_LAUNCH_ITEMS                                                                           \
	"_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j"
typedef hipError_t hip_launch_items_fn(hipFunction_t f, uint32_t items_x, uint32_t items_y,
	uint32_t items_z, uint32_t group_x, uint32_t group_y, uint32_t group_z, size_t shared,
	hipStream_t s, void **params, void **extra, hipEvent_t start, hipEvent_t stop,
	uint32_t flags);
#include "replayer/backend.h"

/* clang-format off */
#define HIP_FUNCTIONS(FN) \
	FN(hipInit) \
	FN(hipGetErrorName) \
	FN(hipRuntimeGetVersion) \
	FN(hipGetDeviceCount) \
	FN(hipGetDeviceProperties) \
	FN(hipSetDevice) \
	FN(hipDeviceSynchronize) \
	FN(hipMalloc) \
	FN(hipFree) \
	FN(hipMemGetInfo) \
	FN(hipHostMalloc) \
	FN(hipHostFree) \
	FN(hipHostRegister) \
	FN(hipHostGetDevicePointer) \
	FN(hipMemset) \
	FN(hipModuleLoadData) \
	FN(hipModuleUnload) \
	FN(hipModuleGetFunction) \
	FN(hipModuleLaunchKernel) \
	FN(hipStreamCreateWithPriority) \
	FN(hipStreamDestroy) \
	FN(hipStreamSynchronize) \
	FN(hipStreamWaitEvent) \
	FN(hipEventCreateWithFlags) \
	FN(hipEventDestroy) \
	FN(hipEventRecord) \
	FN(hipEventQuery) \
	FN(hipEventSynchronize) \
	FN(hipEventElapsedTime) \
	FN(hipGraphCreate) \
	FN(hipGraphDestroy) \
	FN(hipGraphAddKernelNode) \
	FN(hipGraphAddMemcpyNode) \
	FN(hipGraphAddMemcpyNode1D) \
	FN(hipGraphAddMemsetNode) \
	FN(hipGraphAddEmptyNode) \
	FN(hipGraphAddChildGraphNode) \
	FN(hipGraphAddEventRecordNode) \
	FN(hipGraphAddEventWaitNode) \
	FN(hipGraphInstantiate) \
	FN(hipGraphLaunch) \
	FN(hipGraphExecDestroy)
/* clang-format on */
struct r_debug; /* link.h */

/* One process has one driver. Whole pages, so that they can be made read-only. */
#define HIP_TABLE_PAGE 4096
extern struct hip_tables {
	_Alignas(HIP_TABLE_PAGE) struct {
#define FUNCTION(name) __typeof__(&name) name;
		HIP_FUNCTIONS(FUNCTION)
#undef FUNCTION
		hip_launch_items_fn *launch_items; /* NULL: it has none */
	} call;
	/* of libhsakmt.so.1: softamd/thunk/kfd.h */
	int (*place)(uint64_t addr, uint64_t size);
	int (*range)(uint64_t addr, uint64_t *start, uint64_t *size);
	void (*order)(uint64_t n);
	const struct r_debug *loaded; /* the HSA runtime's list of loaded code objects */
} hip_tables;
#define HIP (hip_tables.call)

/* Converts the result r of function `call` for the replayer. */
struct gpu_result hip_failed(hipError_t r, const char *call);
static inline struct gpu_result hip_result(hipError_t r, const char *call)
{
	return r == hipSuccess ? (struct gpu_result){GPU_OK, 0, call} : hip_failed(r, call);
}
/* The program that tsdb has no name of HIP's for: what was being done, and that it is refused. */
static inline struct gpu_result hip_refused(const char *what)
{
	return (struct gpu_result){GPU_REFUSED, hipErrorNotSupported, what};
}

/* Whether all n bytes are memory of a device, or of the host for devices. */
bool hip_is_memory(uint64_t addr, uint64_t n);
/* Waits until the stream has done all that it was given. */
static inline struct gpu_result hip_reached(struct gpu_stream *s)
{
	return hip_result(HIP.hipStreamSynchronize((hipStream_t)s), "hipStreamSynchronize");
}

/* A launch's arguments as one block, in HIP's form; the caller frees the block. */
struct hip_args {
	void *block;
	size_t size;
	void *extra[5];
};
struct gpu_result hip_args_of(struct hip_args *ret, const struct gpu_launch *l);
hipFunction_t hip_function_of(const struct gpu_kernel *k);

/* Every operation but open, which is defined beside the table, and those that `can` denies. */
/* clang-format off */
#define HIP_OPERATIONS(OP) \
	OP(start) \
	OP(result_name) OP(result_is_fault) \
	OP(driver_version) \
	OP(device_count) OP(device_get) OP(device_name) \
	OP(context_open) OP(context_enter) OP(context_finish) \
	OP(mem_alloc) OP(mem_free) OP(mem_info) \
	OP(host_alloc) OP(host_free) OP(host_register) \
	OP(mem_grain) OP(mem_reserve) OP(mem_unreserve) OP(mem_map) \
	OP(copy_to_device) OP(copy_to_host) OP(copy_on_device) \
	OP(copy) OP(copy_rows) \
	OP(fill) OP(fill_rows) \
	OP(code_load) OP(code_unload) OP(code_kernel) OP(code_global) \
	OP(kernel_param) OP(kernel_max_shared) OP(kernel_any_cluster) OP(kernel_attribute) \
	OP(launch) OP(order) \
	OP(stream_create) OP(stream_destroy) OP(stream_finish) OP(stream_wait) \
	OP(stream_write) \
	OP(event_create) OP(event_destroy) OP(event_record) OP(event_query) OP(event_finish) \
	OP(event_elapsed) \
	OP(graph_create) OP(graph_destroy) \
	OP(graph_add_kernel) OP(graph_add_copy) OP(graph_add_fill) OP(graph_add_empty) \
	OP(graph_add_child) OP(graph_add_record) OP(graph_add_wait) \
	OP(graph_instantiate) OP(graph_launch) OP(graph_exec_destroy) \
	OP(hash_open) OP(hash_on_host) OP(hash_ranges) OP(hash_pages) OP(hash_changed) \
	OP(hash_replace) OP(hash_settle)
/* clang-format on */
#define HIP_DECLARATION(op) __typeof__(*((struct backend *)NULL)->op) hip_##op;
HIP_OPERATIONS(HIP_DECLARATION)
#undef HIP_DECLARATION

#endif
