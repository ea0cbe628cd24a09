/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent asks of a GPU's driver: a table of operations, in types that no vendor has. The
 * rest of the agent calls a driver only through `driver`. A vendor's types and functions are in a
 * drawer of their own, which fills the table: cuda/ is the first. source.h has the other half,
 * which reports the program's calls to the agent.
 *
 * To add a vendor: open() finds its library, which the program has loaded. Every operation must be
 * there; one for which the library has no function returns DRIVER_LACKS, or false.
 *
 * Handles and device addresses are the vendor's, as numbers. 0 is no object; as a stream it is the
 * default one. All calls made by an operation are the agent's own (OWN in agent.h), so tls.inside
 * must be set. Operations on a stream do not wait, unless they say so. New objects belong to the
 * current context. Any thread may call an operation.
 */
#ifndef CAPTURE_DRIVER_H
#define CAPTURE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gpucode/hash-rows.h"
#include "sbt/cmd.h"
#include "sbt/pagehash.h"

struct thread;
struct object;
struct graph_reader;

/* Streams that every context has, as handles. The vendors' headers have these numbers. */
enum {
	STREAM_LEGACY = 1,     /* the same as 0 */
	STREAM_PER_THREAD = 2, /* the calling thread's default stream */
};

/* How an operation ended, as far as the agent distinguishes. */
enum driver_status {
	DRIVER_OK,
	DRIVER_NOT_READY,
	DRIVER_GONE,	  /* the context has been destroyed, or is just being made */
	DRIVER_NOT_VALID, /* the driver does not have what was asked for */
	DRIVER_LACKS,	  /* this driver has no such function */
	DRIVER_NO_CONTEXT,
	DRIVER_BAD_HANDLE,
	DRIVER_FAILED, /* anything else */
};
struct driver_result {
	uint32_t status; /* enum driver_status */
	uint32_t code;	 /* the vendor's number */
};

static inline bool driver_good(struct driver_result r)
{
	return r.status == DRIVER_OK;
}

/* Abilities that some drivers lack. */
enum driver_can {
	DRIVER_CAN_READ = 1, /* enter contexts, wait for them, and read their memory */
	DRIVER_CAN_COPY = 2, /* hold copies of memory on the device: mem_*(), copy_on_device() */
	DRIVER_CAN_FIND = 4, /* context_hold() */
};

struct driver_device {
	char name[256];
	char target[64];	      /* what code must be for; empty: the numbers below say it */
	uint64_t memory;	      /* bytes */
	uint32_t major, minor, units; /* compute capability; multiprocessors */
};

/* A parameter's place in the block of all parameters. */
struct kernel_param {
	uint32_t offset, size;
};

/* What the driver knows of a kernel's handle. */
struct driver_kernel {
	const char *name;  /* mangled; "?" if it is not known. Owned by the driver */
	bool is_kernel;	   /* it belongs to no context: each context has a function for it */
	uint64_t function; /* in the current context; 0: none */
	uint64_t module;   /* or the library, when is_kernel; 0: not known */
};
struct driver_numbers {
	uint64_t regs, static_shared, local_mem, max_threads; /* bytes, where they are memory */
};

/* What is at an address. */
struct driver_memory {
	uint64_t addr, size;
	uint64_t ctx; /* the context's handle; 0: of none */
	uint32_t device;
	enum sbt_mem mem;
};

/* The kernels that hash memory, loaded into a context. Not thread-safe. */
struct driver_hasher;
#define DRIVER_HASHERS 32

struct driver {
	const char *api; /* the vendor's name of it, for sentences */
	/* Why memory is not recorded, when it lacks DRIVER_CAN_READ. */
	const char *cannot_record;

	/* ---- the library ---- */
	/* Whether the program has loaded it. */
	bool (*is_loaded)(void);
	/* Looks up its functions; the agent never loads the library itself. Returns 0; -ENOENT: it
	 * is not there; -ENOSYS: it lacks a function that the agent needs. */
	int (*open)(void);
	bool (*is_open)(void);
	/* Whether the program has initialised it. */
	bool (*is_started)(void);
	bool (*is_soft)(void);	    /* a software GPU */
	bool (*fills_fresh)(void);  /* new memory has contents that replay knows */
	bool (*can)(unsigned what); /* takes enum driver_can: whether it has all of these */
	/* A function that a software GPU offers to tsdb; NULL: there is none. */
	void *(*symbol)(const char *name);
	uint32_t (*version)(void); /* 0: not known */
	/* NULL: the result has no name. */
	const char *(*result_name)(uint32_t code);
	/* Whether a context is unusable after this result. */
	bool (*result_is_fault)(uint32_t code);
	/* Converts a number of the vendor. */
	struct driver_result (*result)(uint32_t code);
	/* The vendor's number for a result that the agent itself returns. */
	struct driver_result (*answer)(enum driver_status status);

	/* ---- devices and contexts ---- */
	struct driver_result (*device_count)(int *ret);
	/* Unknown values are 0. */
	void (*device_facts)(int device, struct driver_device *ret);
	/* *ret 0: none is current. */
	struct driver_result (*context_current)(uint64_t *ret);
	/* About ctx, which is the current context. primary: whether it is the device's primary
	 * one. */
	void (*context_facts)(uint64_t ctx, int *ret_device, bool *ret_primary);
	/* Makes ctx current to the calling thread, until context_leave(). */
	struct driver_result (*context_enter)(uint64_t ctx);
	void (*context_leave)(void);
	/* Waits for all work of the current context. */
	struct driver_result (*context_finish)(void);
	/* Returns the device's primary context, if it is alive; it then stays alive until
	 * context_let_go(). 0: there is none. */
	uint64_t (*context_hold)(int device);
	void (*context_let_go)(int device);
	/* From here on stream captures of other threads do not forbid this thread's calls, and its
	 * calls do not invalidate them, until restrict_again(), which takes the value returned
	 * here. */
	unsigned (*relax)(void);
	void (*restrict_again)(unsigned was);

	/* ---- streams and events ---- */
	/* Makes a stream that does not wait for the default stream, and for which that does not
	 * wait. */
	struct driver_result (*stream_create)(uint64_t *ret);
	struct driver_result (*stream_destroy)(uint64_t s);
	/* The flags and the priority with which it was created; unknown values are 0. */
	void (*stream_facts)(uint64_t s, unsigned *ret_flags, int *ret_priority);
	struct driver_result (*stream_query)(uint64_t s);
	/* Waits. */
	struct driver_result (*stream_finish)(uint64_t s);
	/* *ret: whether it is being captured into a graph; false if the driver has no captures. */
	struct driver_result (*stream_capturing)(uint64_t s, bool *ret);
	/* Whether it is being captured, and *ret, the number of the capture. */
	bool (*stream_capture)(uint64_t s, uint64_t *ret);
	/* The node made by the last captured call on the stream. Returns false if there is none, or
	 * more than one. */
	bool (*stream_captured)(uint64_t s, uint64_t *ret_node);
	const struct graph_reader *graphs; /* objects/graph-publish.h */
	/* Calls fn on a thread of the driver, when all earlier work of the stream is done. */
	struct driver_result (*stream_call)(uint64_t s, void (*fn)(void *arg), void *arg);
	struct driver_result (*event_create)(uint64_t *ret);
	struct driver_result (*event_record)(uint64_t e, uint64_t s);
	struct driver_result (*event_query)(uint64_t e);

	/* ---- memory ---- */
	/* A source may be of an array (objects/arrays.h). */
	struct driver_result (*copy_to_host)(void *dst, uint64_t src, size_t n, uint64_t s);
	struct driver_result (*copy_on_device)(uint64_t dst, uint64_t src, size_t n, uint64_t s);
	/* Pins memory of this process, for all contexts. */
	struct driver_result (*host_pin)(void *p, size_t n);
	struct driver_result (*host_unpin)(void *p);
	/* Free bytes on the current context's device. */
	struct driver_result (*mem_unused)(uint64_t *ret);
	struct driver_result (*mem_alloc)(uint64_t *ret, size_t n);
	struct driver_result (*mem_free)(uint64_t addr);
	/* The allocation or mapping that contains addr. DRIVER_NOT_VALID: there is none. */
	struct driver_result (*mem_range)(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size);
	/* Whether the current context's device may access the byte: it may not even if memory is
	 * mapped. */
	bool (*mem_access)(uint64_t addr);
	/* All that the driver knows of the memory at addr. Returns false if there is none, which is
	 * the usual answer. */
	bool (*mem_at)(uint64_t addr, struct driver_memory *ret);
	/* Maps at least n bytes of another process's device memory for the current context; that
	 * memory outlives this process's contexts. Returns its id; 0: there is none. */
	uint64_t (*keep_new)(uint64_t n, uint64_t *ret_addr, uint64_t *ret_bytes);
	void (*keep_free)(uint64_t id, uint64_t addr, uint64_t bytes);
	bool (*keep_read)(uint64_t id, uint64_t offset, void *dst, size_t n);
	/* Whether that memory would outlive a fault: its owner is still there. */
	bool (*keep_is_safe)(uint64_t id);

	/* ---- code ---- */
	/* hint: the source's name of the kernel of the present call; may be NULL. Asking makes the
	 * driver load the code. */
	void (*kernel_facts)(uint64_t handle, const char *hint, struct driver_kernel *ret);
	/* Unknown values are 0. */
	void (*kernel_numbers)(const struct driver_kernel *k, struct driver_numbers *ret);
	/* The parameters in order, max at most, within CALL_ARGS_MAX bytes; returns how many, or
	 * -1: the driver does not know. */
	int (*kernel_params)(uint64_t handle, const struct driver_kernel *k,
		struct kernel_param *to, unsigned max);
	/* A variable of a module or library in the current context. Returns false if there is none
	 * of this name. */
	bool (*global_find)(uint64_t module, bool is_library, const char *name, uint64_t *ret_addr,
		uint64_t *ret_size);

	/* --- code that was loaded before the agent came (cuda/old-code.h) --- */
	void (*old_code_want)(
		struct object *module, uint64_t handle, bool is_kernel, struct object *ctx);
	bool (*old_code_waiting)(void);
	uint64_t (*old_code_settle)(void);
	void (*old_code_find)(struct thread *t);
	void (*old_code_forget)(void);

	/* ---- hashes of memory where it is (sbt/pagehash.h says which) ---- */
	/* Loads the kernels into the current context, which must be current in the other calls,
	 * too. Waits. NULL: they cannot be loaded, or there are DRIVER_HASHERS already. */
	struct driver_hasher *(*hash_open)(uint64_t s);
	void (*hash_close)(struct driver_hasher *h);
	/* The same when its context has been destroyed. */
	void (*hash_forget)(struct driver_hasher *h);
	/* Hashes of ranges, and of the pages of one, HASH_KERNEL_PAGES at most. They do not wait,
	 * on the software GPU unless the stream has work: call hash_end() after hash_wait(); r and
	 * ret must live until then. Not DRIVER_OK: there is no room beside what was begun. Nothing
	 * may be begun beside pages. */
	struct driver_result (*hash_begin)(struct driver_hasher *h,
		const struct hash_kernel_range *r, uint32_t n, struct sbt_hash *ret, uint64_t s,
		struct hash_kernel_begun *b);
	struct driver_result (*hash_pages_begin)(struct driver_hasher *h,
		struct hash_kernel_range r, struct sbt_hash *ret, uint64_t s,
		struct hash_kernel_begun *b);
	void (*hash_end)(const struct hash_kernel_begun *b);
	struct driver_result (*hash_wait)(struct driver_hasher *h, uint64_t s);
	/* Gathers pages: the pages of all ranges are numbered in sequence, and n of them, from
	 * number `first` on, are copied to packed. Does not wait. */
	struct driver_result (*gather_begin)(struct driver_hasher *h,
		const struct hash_kernel_range *r, uint32_t nranges, uint64_t first, uint32_t n,
		uint64_t packed, uint64_t s);
};

/* The driver that this process has; before source_find() the first known one. */
extern const struct driver *driver;
extern const struct driver driver_cuda, driver_hip; /* driver_hip: if built with HIP */

#endif
