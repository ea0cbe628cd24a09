/* SPDX-License-Identifier: GPL-2.0
 *
 * The data shared by the BPF programs (observe.bpf.c) and tsdb: the records in the ring buffer, a
 * probe's cookie, which says what it records, and the figures that are counted in the kernel.
 * Compiled for both sides, so it has fixed-width types only.
 */
#ifndef OBSERVE_PROBE_H
#define OBSERVE_PROBE_H

#include <linux/types.h>

#define OBS_REGS 6u  /* arguments in registers: System V ABI, x86-64, 3.2.3 */
#define OBS_STACK 5u /* arguments on the stack that are kept */
#define OBS_OUTS 2u
#define OBS_DEPTH 100u	    /* frames of a stack, innermost first */
#define OBS_PEEK_MAX 256u   /* bytes of a structure that an argument points to */
#define OBS_NAME_SHORT 256u /* most names fit; the others get OBS_NAME_LONG */
#define OBS_NAME_LONG 4096u

/* --- the cookie --- */

/* An argument is stored as its index + 1; 0 is none. */
#define OBS_CALL(c) ((__u32)((c)&0x3ff)) /* index into obs_calls[] */
#define OBS_C_STACK (1ull << 10)	 /* take the host stack */
#define OBS_C_LEAVE (1ull << 11)	 /* the record is complete when the call returns */
#define OBS_C_BOTH (1ull << 12)		 /* with LEAVE: a record at the entry as well */
/* the name's argument points to a pointer to it */
#define OBS_C_NAME_AT (1ull << 13)
#define OBS_C_PEEK(arg, size) (((arg) + 1ull) << 16 | (unsigned long long)(size) << 20)
#define OBS_PEEK_ARG(c) ((__u32)((c) >> 16 & 0xf))
#define OBS_PEEK_SIZE(c) ((__u32)((c) >> 20 & 0xff))
/* at return: 8 bytes that the argument points to */
#define OBS_C_OUT(slot, arg) (((arg) + 1ull) << (28 + 4 * (slot)))
#define OBS_OUT(c, slot) ((__u32)((c) >> (28 + 4 * (slot)) & 0xf))
#define OBS_C_NAME(arg) (((arg) + 1ull) << 36) /* at return: text that the argument points to */
#define OBS_NAME(c) ((__u32)((c) >> 36 & 0xf))
#define OBS_C_CONFIG (1ull << 40) /* argument 0 is a CUlaunchConfig: taken as struct obs_config */

/* --- records --- */

enum obs_phase {
	OBS_ENTERED, /* the only record of the call */
	OBS_BEGINS,  /* another one comes when it returns */
	OBS_RETURNS, /* end_ns, result and out are set */
	OBS_HELLO,   /* no call: a process is seen for the first time, and lives */
};

struct obs_event {
	__u64 ns, end_ns; /* CLOCK_MONOTONIC at entry and at return */
	__u32 pid, tid;	  /* as tsdb sees them */
	__u16 call;	  /* index into obs_calls[] */
	__u8 phase;	  /* enum obs_phase */
	__u8 runtime; /* the stack and caller are those of the runtime call that made this call */
	__s32 stack; /* id in the stack map, or negative: why there is none (-EEXIST: it is in data)
		      */
	__u32 result;  /* what the call returned */
	__u32 size;    /* bytes in data that mean something */
	__u64 host_fn; /* runtime: the kernel's host function; 0: not known */
	__u64 reg[OBS_REGS];
	__u64 caller; /* the return address; stacked[] follows it in the inferior too, they are read
			 at once */
	__u64 stacked[OBS_STACK];
	__u64 out[OBS_OUTS];
	/* then: a structure, a name with its NUL, or a stack that the map had no room for */
};

/* What is recorded of a CUlaunchConfig (cuda.h of CUDA 12 and 13): its 56 bytes, then the values of
 * its attributes. */
struct obs_config {
	__u32 grid[3], block[3], shared, pad;
	__u64 stream, attrs;
	__u32 nattrs, pad2;
	__u64 bits; /* attribute i was given */
	__u32 cluster[3], cooperative;
};
#define OBS_CONFIG_BYTES 56u
#define OBS_CONFIG_ATTRS 8u /* as many are looked at */
#define OBS_ATTR_BYTES 72u  /* sizeof(CUlaunchAttribute) */
#define OBS_ATTR_COOPERATIVE 2u
#define OBS_ATTR_CLUSTER 4u

/* --- settings and figures --- */

struct obs_settings {
	__u64 ns_dev, ns_ino; /* tsdb's pid namespace; ino 0: the machine's first one */
	__u32 wake;	      /* wake the reader at a process's first record */
	__u32 pad;
};

/* In the map procs, by pid. */
#define OBS_PROC_SEEN 1u
#define OBS_PROC_IGNORED 2u

enum obs_count {
	OBS_COUNT_HITS,	    /* times that an entry probe fired */
	OBS_COUNT_LOST,	    /* records that the ring had no room for */
	OBS_COUNT_NO_STACK, /* stacks that could not be taken */
	OBS_COUNT_NO_ENTRY, /* returns from calls whose entry was not seen */
	OBS_COUNTS
};

#endif
