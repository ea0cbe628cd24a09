/* SPDX-License-Identifier: Apache-2.0
 *
 * Watching a dispatch from inside: each instruction, memory access, barrier and workgroup, as it
 * happens. A dispatch with an observer runs on one worker, so its callbacks never run side by side;
 * those of two dispatches may. Without one an instruction and an access pay a predictable branch.
 */
#ifndef SOFTAMD_AMD_OBSERVE_H
#define SOFTAMD_AMD_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

struct amd_fault;
struct amd_group;
struct amd_wave;

enum amd_access_kind {
	AMD_READ,
	AMD_WRITE,
	AMD_READ_WRITE /* atomic: both in one step */
};

enum amd_space {
	AMD_MEMORY, /* address: the process's */
	AMD_LDS,    /* offset in the workgroup's */
	AMD_PRIVATE /* offset in the lane's */
};

/* One lane's access, before it is done. Scalar instructions access as lane 0. */
struct amd_access {
	const struct amd_wave *wave;
	uint64_t pc;
	enum amd_access_kind kind;
	enum amd_space space;
	unsigned lane;
	uint64_t address;
	const uint8_t *bytes; /* where they are in this process; the access is not done yet */
	unsigned size;
	bool coherent;	  /* a load with glc, or an atomic that has a result */
	const char *insn; /* static */
};

enum amd_sync_kind {
	AMD_SYNC_WAIT,	     /* s_waitcnt vmcnt(0): vector memory of the wave is done */
	AMD_SYNC_INVALIDATE, /* buffer_wbinvl1 and the like: the cache is emptied */
};

/* Every callback may be NULL. */
struct amd_observer {
	void *arg;
	/* Before the instruction at pc; registers and memory are as they are before it. May block.
	 * False: not yet, other waves first; it comes again for the same instruction. */
	bool (*step)(void *arg, const struct amd_wave *w, uint64_t pc);
	void (*access)(void *arg, const struct amd_access *a);
	/* The wave has come to a barrier, or goes on from one that all have come to. */
	void (*barrier)(void *arg, const struct amd_wave *w, bool leaves);
	/* A workgroup begins, or has ended (not one that a fault ended). */
	void (*group)(void *arg, struct amd_group *g, const uint32_t id[3], bool ended);
	void (*sync)(void *arg, const struct amd_wave *w, enum amd_sync_kind kind);
	/* The wave is about to end the dispatch with f, at f->pc; not for AMD_FAULT_CANCELLED, nor
	 * for a fault of no wave. May block, and may change f->kind to AMD_FAULT_CANCELLED. */
	void (*fault)(void *arg, const struct amd_wave *w, struct amd_fault *f);
};

/* --- a wave's state, for callbacks --- */
void amd_wave_place(const struct amd_wave *w, uint32_t group[3], uint32_t *index);
uint64_t amd_wave_exec(const struct amd_wave *w);

#endif
