/* SPDX-License-Identifier: Apache-2.0
 *
 * AMD's code objects: ELF files whose note NT_AMDGPU_METADATA describes each kernel and its
 * arguments in MessagePack (LLVM, "User Guide for AMDGPU Backend", Code Object V3 to V5 Metadata).
 * For the agent: allocates nothing, and takes damaged files.
 */
#ifndef GPUCODE_AMD_OBJECT_H
#define GPUCODE_AMD_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text in the code object: n bytes, which no NUL need end. */
struct amd_text {
	const char *p;
	size_t n;
};

struct amd_kernel {
	struct amd_text symbol; /* of its descriptor: "NAME.kd" */
	uint64_t group_bytes, private_bytes, kernarg_bytes;
	uint64_t vgprs, sgprs, max_items; /* 0: not said */
	/* Arguments of the program's, without those that the runtime fills ("hidden_..."). */
	uint32_t args;
	bool calls_host; /* the runtime hands it what it needs to call the host, or a heap: it may
			    print, stop at an assertion, or take memory */
};

struct amd_arg {
	struct amd_text name; /* may be empty */
	struct amd_text kind; /* "by_value", "global_buffer", "hidden_hostcall_buffer" ... */
	uint64_t offset, size;
	bool hidden;
};

/* Calls fn for each kernel until it returns false. Returns false if there is no such note, or if it
 * is damaged; some kernels may have come then. */
bool amd_object_kernels(const void *object, size_t size,
	bool (*fn)(void *arg, const struct amd_kernel *k), void *arg);
/* Finds the kernel of that name, without ".kd", and gives up to most of its arguments. */
bool amd_object_kernel(const void *object, size_t size, const char *name, struct amd_kernel *ret,
	struct amd_arg *args, uint32_t most);
/* A variable: where it lies, as an address of the file, and its bytes. */
struct amd_variable {
	struct amd_text name;
	uint64_t addr, size;
};
/* Calls fn for each variable that code can change, also for those of one source file alone, until
 * it returns false. Returns false if there is no table of symbols, or if it is damaged. */
bool amd_object_variables(const void *object, size_t size,
	bool (*fn)(void *arg, const struct amd_variable *v), void *arg);
bool amd_object_variable(
	const void *object, size_t size, const char *name, struct amd_variable *ret);
/* How many addresses the loaded object takes, from 0 on; 0: it is damaged. */
uint64_t amd_object_span(const void *object, size_t size);
/* Whether all that its headers name lies within it: a loader believes them. */
bool amd_object_is_whole(const void *object, size_t size);
/* Where a loaded object's file lies, by the HSA runtime's list for debuggers: "memory://PID#offset=
 * ADDRESS&size=N", or "file://PATH#offset=N&size=N". False: it says neither number. */
bool amd_object_uri(const char *uri, uint64_t *ret_offset, uint64_t *ret_size);
/* Calls fn for each code object for AMD in offload bundles, which may lie one behind another with
 * padding between them (a program's .hip_fatbin). Damaged ones are left out. */
void amd_bundle_objects(const void *bundles, size_t size,
	void (*fn)(void *arg, const void *object, size_t n), void *arg);
/* Calls fn with the instructions of each function of that name; NULL: of each function. Several of
 * one source file alone may have one name. */
void amd_object_code(const void *object, size_t size, const char *name,
	void (*fn)(void *arg, const void *code, size_t n), void *arg);
/* The processor that the object is for, as a gfx number: 0x90a. 0: not one of GFX9's, or damaged.
 */
unsigned amd_object_gfx(const void *object, size_t size);
/* The processor and its features that the object is for: "gfx90a:sramecc+". */
bool amd_object_target(const void *object, size_t size, struct amd_text *ret);

#endif
