/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled code for hot kernels. A region is what can be run from one pc on without the warp loop's
 * help: straight code, branches that all lanes take alike, loops of those. It ends, with all
 * registers back in the frame, before any instruction that needs the warp loop: a barrier, a call,
 * a branch where the lanes part, the meeting point of the lanes. So the interpreter keeps control
 * flow, and compiled code and interpreter can take over from one another at every such place, with
 * the same bits.
 *
 * The compiler is a plugin next to libcuda.so.1 (tsdb-softgpu-jit.so, built against LLVM), opened
 * when the first kernel is hot, so that a program that has an LLVM of its own, or never runs a hot
 * kernel, is not disturbed.
 *
 * TSDB_SOFT_JIT: 0 or off: interpret; force: compile everything before its first instruction; else:
 * what is hot, by a thread of its own.
 */
#ifndef SOFTGPU_JIT_H
#define SOFTGPU_JIT_H

#include "softgpu/machine/ptx-exec.h"

#include <stdatomic.h>

/* Runs the warp's top entry from the region's first instruction; mask: its lanes (not 0), rpc: its
 * meeting point. Returns the pc to go on at, with PTX_JIT_AGAIN if another region may begin there;
 * counts instructions and backward branches as the warp loop does. Faults leave by longjmp. */
typedef uint32_t ptx_jit_code(struct ptx_warp *w, uint8_t *frame, uint32_t mask, uint32_t rpc);
#define PTX_JIT_AGAIN 0x80000000u

/* One per instruction where a region may begin. [0]: all 32 lanes active, [1]: any mask. */
struct ptx_jit_entry {
	ptx_jit_code *_Atomic code[2];
	_Atomic uint32_t hits[2]; /* PTX_JIT_NEVER: do not try (again) */
};
#define PTX_JIT_NEVER UINT32_MAX

/* --- for the warp loop --- */
/* The entries of a function, by pc; NULL: interpret. Asked once per launch and call. */
struct ptx_jit_entry *ptx_jit_entries(const struct ptx_function *fn);
/* Called when an entry without code has been met; may compile. The code, or NULL. */
ptx_jit_code *ptx_jit_hot(
	const struct ptx_function *fn, uint32_t pc, struct ptx_jit_entry *e, bool full);
/* A launch may use compiled code. */
bool ptx_jit_wanted(void);
/* Call it before a module's memory is freed; afterwards no thread compiles or runs its
 * functions. */
void ptx_jit_forget(struct ptx_module *m);

enum ptx_jit_mode { PTX_JIT_OFF, PTX_JIT_ON, PTX_JIT_FORCE };
void ptx_jit_set(enum ptx_jit_mode mode);
struct ptx_jit_stats {
	uint64_t regions, refused, ns; /* compiled; that could not be; spent compiling */
	char why[200];		       /* there is no compiler: why; else empty */
};
void ptx_jit_stats(struct ptx_jit_stats *ret);
/* Waits until nothing is being compiled or queued. */
void ptx_jit_drain(void);

/* --- between libcuda and the plugin; both come from one build --- */
/* Changes when what compiled code knows about the interpreter's structures does. */
#define PTX_JIT_ABI                                                                                \
	((unsigned)(2 + 3 * sizeof(struct ptx_warp) + 5 * sizeof(struct ptx_worker) +              \
		    7 * sizeof(struct ptx_block) + 11 * sizeof(struct ptx_insn) +                  \
		    13 * sizeof(struct ptx_function) + 17 * sizeof(struct ptx_row) +               \
		    19 * M_COUNT + 23 * SR_COUNT))
struct ptx_jit_host {
	unsigned abi;
	/* Puts the live range that holds a into wk->jit_range[slot] (writable ones only, when slot
	 * is one for stores); false: there is none. */
	bool (*range)(struct ptx_worker *wk, uint32_t slot, uint64_t a);
	ptx_handler *param_32[2],
		*param_64[2]; /* loads of a parameter whose place is ptx_insn.imm */
};
struct ptx_jit_plugin {
	unsigned abi;
	/* At most max instructions. NULL: cannot be compiled; why in buf. *handle is for drop().
	 * One thread at a time. */
	ptx_jit_code *(*compile)(const struct ptx_function *fn, uint32_t pc, bool full,
		unsigned max, void **handle, char *buf, size_t n);
	void (*drop)(void *handle);
};
/* The plugin's one symbol: tsdb_soft_jit. NULL when this machine's processor will not do; why in
 * buf. */
typedef const struct ptx_jit_plugin *ptx_jit_open(
	const struct ptx_jit_host *host, char *buf, size_t n);

#endif
