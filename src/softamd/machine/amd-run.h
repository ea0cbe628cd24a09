/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor of the software AMD GPU: executes one kernel dispatch from its code object's
 * machine code, in waves of 64 lanes. The device around it (queues, packets, signals, memory,
 * topology) calls amd_run() for each AQL kernel dispatch packet.
 *
 * Addresses are addresses of this process, as on the hardware under Linux. The processor touches
 * only what amd_memory.find says is memory; anything else is a fault with lane and address. A
 * result is exact or refused by name: an instruction that is not in the table, or not executed for
 * this target, ends the dispatch with AMD_FAULT_REFUSED.
 *
 * Layouts (kernel descriptor, initial registers) are from "User Guide for AMDGPU Backend" of LLVM.
 */
#ifndef SOFTAMD_AMD_RUN_H
#define SOFTAMD_AMD_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct amd_observer; /* softamd/machine/amd-observe.h */

/* A range of memory that kernels may touch. */
struct amd_extent {
	uint64_t start, end; /* [start, end) */
	bool write;
};

struct amd_memory {
	void *arg;
	/* Fills *e with the extent that holds addr; false when there is none. Called from any
	 * thread, side by side; extents are remembered until *changes differs. */
	bool (*find)(void *arg, uint64_t addr, struct amd_extent *e);
	/* A number that grows before memory is taken away. NULL: none is taken away while a
	 * dispatch runs. */
	const uint64_t *changes;
};

/* What a dispatch did besides its memory. All zero before amd_run(). */
struct amd_report {
	/* Instructions whose results need not be the hardware's bits (right to 1 ulp but for MFMA
	 * and the clock), by enum amd_approximate: bit n is set when one of kind n was executed. */
	uint64_t approximate;
	uint64_t instructions; /* by waves */
	uint32_t workers;      /* that ran it */
	bool in_order; /* workgroups were kept in their order: the code has atomics whose result
			  depends on it, or calls that cannot be followed */
};

enum amd_approximate {
	AMD_APPROX_RCP,
	AMD_APPROX_RSQ,
	AMD_APPROX_SQRT,
	AMD_APPROX_EXP,
	AMD_APPROX_LOG,
	AMD_APPROX_SIN,
	AMD_APPROX_COS,
	AMD_APPROX_MFMA,  /* one fma after the other, which is not the hardware's order */
	AMD_APPROX_CLOCK, /* s_memtime, s_memrealtime: a count of executed instructions */
	AMD_APPROX_N
};
/* "v_rcp" and so on: for a sentence. */
const char *amd_approximate_name(enum amd_approximate kind);

struct amd_dispatch {
	uint32_t gfx;		/* 0x900, 0x906, 0x908, 0x90a, 0x942 (0x1030: refused today) */
	uint64_t kernel_object; /* address of the 64 byte kernel descriptor */
	uint64_t kernarg;	/* address of the arguments */
	uint64_t packet;	/* address of the AQL packet: dispatch_ptr */
	uint64_t queue;		/* address of amd_queue_t: queue_ptr */
	uint64_t dispatch_id;
	uint32_t grid[3];      /* work-items; 0 counts as 1 */
	uint16_t workgroup[3]; /* work-items; 0 counts as 1 */
	uint32_t private_bytes, group_bytes;
	/* Base addresses of the flat apertures, as topology reports them: multiples of 4 GiB. */
	uint64_t private_aperture, shared_aperture;
	const struct amd_memory *memory;
	const struct amd_observer *observer; /* may be NULL; one worker then */
	/* s_sendmsg sendmsg(MSG_INTERRUPT) with the event's number of M0. NULL: such a message is
	 * refused. Called from any worker. */
	void (*interrupt)(void *arg, uint32_t event);
	void *interrupt_arg;
	const bool *cancel; /* may be NULL; true: the dispatch ends with AMD_FAULT_CANCELLED */
	uint32_t workers;   /* at most; 0: as many as the machine has processors */
	/* In which order workgroups begin: 0: by their numbers; others: other orders, each the same
	 * every time. */
	uint64_t order;
	uint64_t first;	    /* this workgroup begins before all others (of order 0) */
	uint64_t steps_max; /* instructions of one workgroup, then AMD_FAULT_TIMEOUT; 0: no end */
	bool random;	    /* waves and workgroups take turns by seed; one worker then */
	uint64_t seed;
	bool check_waits; /* AMD_FAULT_WAIT for a missing s_waitcnt, see machine/amd-waits.c */
	struct amd_report *report; /* may be NULL; filled also when the dispatch faults */
};

enum amd_fault_kind {
	AMD_FAULT_NONE,
	AMD_FAULT_REFUSED,  /* text names the instruction, feature or value that is not supported */
	AMD_FAULT_DISPATCH, /* the descriptor or the packet is not valid */
	AMD_FAULT_MEMORY,   /* address is not memory, or not writable */
	AMD_FAULT_ALIGNMENT, /* an address that the instruction does not take */
	AMD_FAULT_BOUNDS,    /* beyond the workgroup's LDS or the lane's private memory */
	AMD_FAULT_WAIT,	    /* a register is used before what it gets is waited for (check_waits) */
	AMD_FAULT_FETCH,    /* the program counter left the code */
	AMD_FAULT_TRAP,	    /* s_trap: text says which */
	AMD_FAULT_DEADLOCK, /* no wave of a workgroup can go on */
	AMD_FAULT_TIMEOUT,
	AMD_FAULT_CANCELLED,
	AMD_FAULT_NO_MEMORY
};

struct amd_fault {
	enum amd_fault_kind kind;
	uint64_t pc;	  /* of the instruction; 0: none was reached */
	uint64_t entry;	  /* of the kernel: pc minus entry is the offset in its code */
	uint64_t address; /* MEMORY, ALIGNMENT */
	uint32_t size;	  /* MEMORY: bytes of the access */
	bool write;	  /* MEMORY: a write */
	int lane;	  /* in the wave; -1: the whole wave */
	uint32_t wave;	  /* in the workgroup */
	uint32_t workgroup[3];
	char text[280]; /* one line without end, printable */
};

/* Runs the dispatch to its end. False: *fault is filled, and memory may be written in part. Called
 * from any number of threads at once. */
bool amd_run(const struct amd_dispatch *d, struct amd_fault *fault);
/* The address of the kernel's first instruction; 0: there is no descriptor. */
uint64_t amd_entry_of(const struct amd_dispatch *d);
/* How many bytes the arguments have, by the descriptor, within the memory that they lie in; 0: not
 * known. */
uint64_t amd_args_size_of(const struct amd_dispatch *d);

#endif
