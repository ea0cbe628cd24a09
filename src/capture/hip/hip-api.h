/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's functions that the agent itself calls, looked up by name in the libamdhip64 that the
 * program has loaded. Always called through OWN() (agent.h), since HIP reports them, too. Any may
 * be NULL in another version, except the REQUIRED ones.
 */
#ifndef CAPTURE_HIP_API_H
#define CAPTURE_HIP_API_H

#define __HIP_PLATFORM_AMD__ 1
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <hip/hip_runtime_api.h>
/* needs the one above */
#include <hip/amd_detail/hip_prof_str.h>

/* Newer than the installed headers. */
void hipRegisterTracerCallback(int (*report)(uint32_t domain, uint32_t id, void *data));
hipError_t hipExtGetLastError(void);

#define HIP_FUNCTIONS(REQUIRED, OPTIONAL)                                                          \
	OPTIONAL(hipRegisterTracerCallback)                                                        \
	OPTIONAL(hipGetLastError)                                                                  \
	OPTIONAL(hipExtGetLastError)                                                               \
	OPTIONAL(hipApiName)                                                                       \
	OPTIONAL(hipRegisterApiCallback)                                                           \
	OPTIONAL(hipRemoveApiCallback)                                                             \
	OPTIONAL(hipRegisterActivityCallback)                                                      \
	OPTIONAL(hipRemoveActivityCallback)                                                        \
	REQUIRED(hipRuntimeGetVersion)                                                             \
	REQUIRED(hipGetDevice)                                                                     \
	REQUIRED(hipGetDeviceCount)                                                                \
	REQUIRED(hipPeekAtLastError)                                                               \
	OPTIONAL(hipDeviceGetName)                                                                 \
	OPTIONAL(hipDeviceTotalMem)                                                                \
	OPTIONAL(hipDeviceGetAttribute)                                                            \
	OPTIONAL(hipFuncGetAttributes)                                                             \
	OPTIONAL(hipGetErrorName)                                                                  \
	OPTIONAL(hipGetSymbolAddress)                                                              \
	OPTIONAL(hipGetSymbolSize)                                                                 \
	OPTIONAL(hipKernelNameRef)                                                                 \
	OPTIONAL(hipKernelNameRefByPtr)                                                            \
	OPTIONAL(hipPointerGetAttributes)                                                          \
	OPTIONAL(hipStreamGetFlags)                                                                \
	OPTIONAL(hipStreamGetPriority)                                                             \
	OPTIONAL(hipStreamIsCapturing)                                                             \
	OPTIONAL(hipStreamQuery)                                                                   \
	OPTIONAL(hipStreamSynchronize)                                                             \
	OPTIONAL(hipThreadExchangeStreamCaptureMode)                                               \
	OPTIONAL(hipSetDevice)                                                                     \
	OPTIONAL(hipDeviceSynchronize)                                                             \
	OPTIONAL(hipGetDeviceProperties)                                                           \
	OPTIONAL(hipEventCreateWithFlags)                                                          \
	OPTIONAL(hipEventRecord)                                                                   \
	OPTIONAL(hipEventQuery)                                                                    \
	OPTIONAL(hipMemGetAddressRange)                                                            \
	OPTIONAL(hipModuleGetGlobal)                                                               \
	OPTIONAL(hipStreamGetCaptureInfo_v2)                                                       \
	OPTIONAL(hipGraphGetNodes)                                                                 \
	OPTIONAL(hipGraphNodeGetType)                                                              \
	OPTIONAL(hipGraphNodeGetDependencies)                                                      \
	OPTIONAL(hipGraphKernelNodeGetParams)                                                      \
	OPTIONAL(hipGraphMemcpyNodeGetParams)                                                      \
	OPTIONAL(hipGraphMemsetNodeGetParams)                                                      \
	OPTIONAL(hipGraphHostNodeGetParams)                                                        \
	OPTIONAL(hipGraphEventRecordNodeGetEvent)                                                  \
	OPTIONAL(hipGraphEventWaitNodeGetEvent)                                                    \
	OPTIONAL(hipGraphChildGraphNodeGetGraph)

struct hip_api {
	void *lib;
	_Atomic bool soft; /* the software AMD GPU is below it, as far as that is known */
#define MEMBER(name) __typeof__(&name) name;
	HIP_FUNCTIONS(MEMBER, MEMBER)
#undef MEMBER
};
extern struct hip_api hip;

/* 0; -ENOENT: the program has not loaded it; -ENOSYS: it lacks a function. */
int hip_open(void);
/* Called in each call of the program: looks once more what device is below. A HIP that loads it in
 * its first call may have been opened before that, by a debugger that attached. */
void hip_settle(void);
/* HIP has no contexts that programs use: a device has one of its own, which this number means. */
static inline uint64_t hip_context(int device)
{
	return (uint64_t)device + 1;
}
#define H(handle) ((uint64_t)(uintptr_t)(handle))

/* ---- code objects: hip-code.c ---- */
struct hip_code {
	const void *object; /* the whole ELF file */
	size_t size;
	uint64_t loaded; /* the difference between its addresses on the device and in the file */
};
/* The loaded code object that has a kernel of that name; false: there is none, or there are several
 * that differ, and which one a launch means is not known. The bytes stay while it is loaded. */
bool hip_code_of(const char *kernel, struct hip_code *ret);
/* The code object that was loaded there (`loaded`). */
bool hip_code_at(uint64_t loaded, struct hip_code *ret);
/* The code object with a variable at that address of a device. */
bool hip_code_around(uint64_t addr, struct hip_code *ret);

#endif
