/* SPDX-License-Identifier: Apache-2.0
 *
 * The device below AMD's runtime: libhsakmt.so.1 as libhsa-runtime64 calls it, with the kernel
 * driver and the packet processor behind it. Everything happens in the program's own process:
 * device memory is mapped at fixed addresses, queues are read by a thread each, and kernels are
 * executed by machine/amd-run.h.
 *
 * What is asked for and not there is refused with HSAKMT_STATUS_NOT_SUPPORTED and named on stderr.
 *
 * Sources of what is not in the installed headers (hsakmt.h, hsa.h, hsa_ext_amd.h, amd_hsa_*.h):
 * LLVM's "User Guide for AMDGPU Backend"; the HSA runtime's own use of the interface.
 */
#ifndef SOFTAMD_KFD_H
#define SOFTAMD_KFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsakmt.h>

#include "softamd/machine/amd-run.h"

#define KFD_PUBLIC __attribute__((visibility("default")))
enum {
	KFD_DEVICES_MAX = 8,
	KFD_EVENTS_MAX = 4096,
	KFD_QUEUES_MAX = 1024,
};

/* --- the device: kfd-topology.c ------------------------------------------------------------------
 */

/* Flat apertures, as the driver places them on GFX9 and later: no process address lies there. */
#define KFD_SHARED_APERTURE 0x0001000000000000ull
#define KFD_PRIVATE_APERTURE 0x0002000000000000ull

struct kfd_target {
	const char *name; /* "gfx90a" */
	uint32_t gfx;	  /* 0x90a */
	uint8_t major, minor, stepping;
	uint16_t device_id;
	uint32_t engines, arrays, units, simds; /* compute units in an array, SIMDs in a unit */
	uint32_t waves, lanes;			/* of a SIMD; of a wave */
	uint32_t registers;			/* bytes of vector registers in a unit */
	bool ecc;				/* "sramecc+" in the target id */
};

/* The devices that the environment asks for (TSDB_SOFTAMD_TARGET, _DEVICES, _MEMORY, _STEPS,
 * _WAITS; TSDB_SOFT_WORKERS), read once. NULL when it asks for what there is not; a sentence on
 * stderr has said so. */
struct kfd_machine {
	const struct kfd_target *target;
	uint32_t devices; /* nodes 1 ... devices; node 0 is the processor */
	uint64_t memory;  /* bytes of each device */
	bool waits;	  /* a missing s_waitcnt ends the kernel */
	uint64_t steps;	  /* instructions that a workgroup may execute; 0: any number */
	uint32_t workers; /* threads that execute workgroups, at most; 0: one for each processor */
};
const struct kfd_machine *kfd_machine(void);
static inline bool kfd_is_device(uint32_t node)
{
	const struct kfd_machine *m = kfd_machine();

	return m && node >= 1 && node <= m->devices;
}

/* What the functions of nodes answer, in the structures of the installed headers: for libdtif.so
 * (kfd-dtif.c), whose callers have newer ones. */
KFD_PUBLIC HSAKMT_STATUS tsdb_softamd_node(HSAuint32 node, HsaNodeProperties *p);
KFD_PUBLIC HSAKMT_STATUS tsdb_softamd_links(HSAuint32 node, HSAuint32 n, HsaIoLinkProperties *p);
/* Says that what it names is not supported. */
KFD_PUBLIC void tsdb_softamd_refuse(const char *what);

/* --- memory: kfd-memory.c
 * ------------------------------------------------------------------------- */

enum kfd_range_kind { KFD_SYSTEM, KFD_DEVICE, KFD_SCRATCH, KFD_USER };
struct kfd_range {
	uint64_t start, end;
	uint64_t named; /* KFD_USER: the address by which the runtime knows it */
	enum kfd_range_kind kind;
	uint32_t node;
	uint32_t mapped; /* bit n: node n may touch it */
	uint32_t uses;	 /* KFD_USER: how often it was registered */
	HsaMemFlags flags;
	void *user_data;
};
/* Whether TSDB_SOFTAMD_ASIDE is set: what is not placed lies in the upper halves of the windows,
 * and a fault ends the process at once. The replayer sets it. */
bool kfd_aside(void);
/* For the replayer, which finds it by this name: the calling thread's next allocation of device
 * memory, if it is of exactly this size, goes to this address, or fails. Both are whole pages; size
 * 0: wherever there is room. 0, or -1 for what can be no address. */
KFD_PUBLIC int tsdb_softamd_place(uint64_t addr, uint64_t size);
/* For checks: workgroups of dispatches that begin from now on begin in this order (amd_dispatch);
 * 0: by their numbers. */
KFD_PUBLIC void tsdb_softamd_order(uint64_t n);
/* For the agent: the piece of memory around addr, of a device or of the host for it, which the
 * process can read. 0, or -1: there is none. */
KFD_PUBLIC int tsdb_softamd_range(uint64_t addr, uint64_t *start, uint64_t *size);
/* What kernels of a device may touch; arg of amd_memory.find is the node. */
const struct amd_memory *kfd_memory_of(uint32_t node);
/* Whether the packet processor of a node may touch [addr, addr + size). */
bool kfd_reachable(uint32_t node, uint64_t addr, uint64_t size, bool write);
/* "1024 bytes after the last of ...": what lies at or next to addr. */
void kfd_describe(uint32_t node, uint64_t addr, char *text, size_t size);

/* --- events and signals: kfd-events.c, kfd-signal.c
 * ----------------------------------------------- */

/* Sets the event; 0 and unknown numbers are passed over, as an interrupt nobody waits for. */
void kfd_event_set(uint32_t id);
/* A kernel's or packet's memory access failed: every memory event gets the fault. False when the
 * program waits for none. */
bool kfd_event_fault(uint32_t node, uint64_t addr, bool write, bool present);

struct kfd_queue;
uint64_t kfd_clock(void); /* ns; the device's clock is the system's */
/* Completes a signal (amd_signal_t): times, value minus 1, mailbox, event. Handle 0 is none. False
 * when it is no memory of the device. */
bool kfd_signal_complete(uint32_t node, uint64_t handle, uint64_t start, uint64_t end);

/* --- queues: kfd-queues.c, packets: kfd-aql.c, kfd-sdma.c
 * ----------------------------------------- */

struct kfd_queue {
	uint64_t id;
	uint32_t node;
	HSA_QUEUE_TYPE type;
	uint64_t ring, ring_size;
	volatile uint64_t *read, *write; /* packets (AQL) or bytes (SDMA), never wrapped */
	volatile int64_t *error;	 /* may be NULL; bits of what went wrong */
	uint32_t error_event;
	uint64_t next; /* what is executed next, in the unit of *read */
	/* Written by other threads. */
	bool stop, paused, faulted;
	uint32_t wake; /* futex: grows */
};
/* Executes what is ready. False: there was nothing. */
bool kfd_aql_step(struct kfd_queue *q);
bool kfd_sdma_step(struct kfd_queue *q);
/* Waits a little for memory to change: false when the queue is to stop. turn counts from 0. */
bool kfd_queue_pause(struct kfd_queue *q, uint32_t *turn);

/* --- what goes wrong: kfd-fault.c, kfd-names.c
 * ---------------------------------------------------- */

/* Says "tsdb: soft-amd: ..." on stderr, in one write. */
void kfd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* TSDB_SOFTAMD_LOG is set: what the device does is said, too. */
bool kfd_logs(void);
/* Stops the queue and tells the runtime. bit: of the queue's exceptions, from 1 (kfd-fault.c). */
void kfd_queue_error(struct kfd_queue *q, uint32_t bit, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for an access of the packet processor itself. what: "copy" ... */
void kfd_queue_access(
	struct kfd_queue *q, const char *what, uint64_t addr, uint64_t size, bool write);
/* The same for a dispatch. */
void kfd_dispatch_fault(
	struct kfd_queue *q, const struct amd_dispatch *d, const struct amd_fault *f);
struct soft_fault;
/* capture/soft-fault.h: found by dlsym */
KFD_PUBLIC bool tsdb_soft_fault(struct soft_fault *ret);
KFD_PUBLIC void tsdb_soft_on_fault(void (*fn)(const struct soft_fault *f));
/* The runtime's list of loaded code objects (struct r_debug of <link.h>), for names. */
void kfd_names_list(void *debug);
/* The kernel whose descriptor lies at addr, as in the code object; "kernel at 0x..." if unknown. */
void kfd_kernel_name(uint64_t descriptor, char *text, size_t size);
/* The code object that has the descriptor, and the difference between its addresses and those in
 * its file. NULL: none, or no memory. The caller frees it. */
struct amd_image;
struct amd_image *kfd_image_of(uint64_t descriptor, uint64_t *ret_bias);

/* Whether calls can be served: the process opened the driver itself and is no forked child. */
bool kfd_open(void);

#endif
