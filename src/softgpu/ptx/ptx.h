/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads PTX text and runs its kernels: what the front end and the interpreter offer to the driver.
 * A module is parsed and decoded once, and is read-only afterwards: any number of threads may
 * launch from it.
 */
#ifndef SOFTGPU_PTX_H
#define SOFTGPU_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_function;

/* Parses text (n bytes, a final NUL is not needed and one inside ends it). NULL on a syntax error
 * or an unresolved name; log then holds "line N: what is wrong". An instruction that is well-formed
 * but not implemented is no error here: the launch that reaches it fails and names it. Hostile
 * input: bounded memory and time, never a crash. errno is ENOMEM when memory was short or the text
 * needs too much, else EINVAL. */
struct ptx_module *ptx_load(const char *text, size_t n, char *log, size_t log_size);
void ptx_free(struct ptx_module *m);

unsigned ptx_version(const struct ptx_module *m); /* 90 for 9.0 */
unsigned ptx_target(const struct ptx_module *m);  /* 75 for sm_75 */

/* Module-scope variables: .global and .const, initialised or not. */
struct ptx_var {
	const char *name; /* mangled */
	size_t size, align;
	bool is_const, is_extern, visible;
};
bool ptx_var(const struct ptx_module *m, unsigned i, struct ptx_var *ret);
/* Called for each variable in its order: memory of v->size bytes, zeroed, at a multiple of
 * v->align. One of size 0 gets an address of its own, too. Returns NULL: there is no memory. */
typedef void *ptx_place_fn(void *arg, unsigned i, const struct ptx_var *v);
enum ptx_linked {
	PTX_LINKED,
	PTX_LINK_EXTERN /* one is defined nowhere: the log names it */,
	PTX_LINK_NO_MEMORY
};
/* Gives every variable its memory and writes the initial values (addresses of other variables and
 * functions among them). Once for each module, before its first launch; everybody that loads PTX
 * does it by this function. What was placed stays the caller's. */
enum ptx_linked ptx_link(
	struct ptx_module *m, ptx_place_fn *place, void *arg, char *log, size_t log_size);

/* Kernels (.entry). */
const struct ptx_function *ptx_kernel(const struct ptx_module *m, unsigned i);
const struct ptx_function *ptx_kernel_by_name(const struct ptx_module *m, const char *mangled);

struct ptx_param {
	size_t offset, size, align;
};
struct ptx_function_info {
	const char *name;
	unsigned nparams;
	const struct ptx_param *params;
	size_t param_bytes;
	size_t static_shared, local, const_bytes;
	unsigned regs;	      /* an honest estimate: the most 32-bit registers live, at least 1 */
	unsigned max_threads; /* .maxntid / .reqntid, else 1024 */
	unsigned req[3];      /* .reqntid, or zeros */
	unsigned ptx_version, target;
	unsigned cluster[3];   /* .reqnctapercluster, or zeros */
	bool explicit_cluster; /* .explicitcluster: cannot be launched without */
};
void ptx_function_info(const struct ptx_function *f, struct ptx_function_info *ret);

enum ptx_fault_code {
	PTX_OK,
	PTX_ILLEGAL_ADDRESS,
	PTX_MISALIGNED_ADDRESS,
	PTX_ILLEGAL_INSTRUCTION, /* not implemented: the text names instruction and line */
	PTX_ASSERT,		 /* device-side assert */
	PTX_TRAP,
	PTX_TIMEOUT, /* a barrier that can never be reached by all, or the time limit */
	PTX_STACK_OVERFLOW,
	PTX_CANCELLED,
};
struct ptx_fault {
	enum ptx_fault_code code;
	const char *kernel; /* mangled */
	unsigned block[3], thread[3];
	unsigned line;	  /* of the PTX text, from 1 */
	const char *file; /* of the source, where the text has a .loc; lives as long as the module.
			     NULL: not known */
	unsigned source_line;
	uint64_t addr; /* of the access */
	unsigned size;
	char text[256];	     /* one line with all of that, for stderr */
	char undefined[256]; /* with any code: one line about the first result that PTX does not
				define; "": there was none */
};

struct ptx_observer;
struct ptx_schedule { /* ptx-schedule.h */
	bool random;
	uint8_t residue; /* what blocks find in shared memory, in every byte */
	uint64_t seed;
};
/* The heap of kernels' malloc(): a context's. Its memory is allocated at its first use, for owner
 * (mem_alloc()'s ctx), and goes with the owner's. */
struct ptx_heap;
struct ptx_heap *ptx_heap_new(size_t limit, uint32_t owner); /* NULL: no memory */
void ptx_heap_delete(struct ptx_heap *h);
/* False when a kernel has used it already. */
bool ptx_heap_set_limit(struct ptx_heap *h, size_t limit);

struct ptx_launch {
	const struct ptx_function *fn;
	unsigned grid[3], block[3];
	size_t dynamic_shared;
	const void *params;    /* param_bytes bytes at their offsets */
	uint64_t clock_hz;     /* for %clock64 and %globaltimer; 0: default */
	volatile bool *cancel; /* NULL, or: stop as soon as it is true */
	bool cooperative;
	bool early; /* it may begin before the launch in front has finished: observers tell what it
		       does without having waited apart */
	uint32_t devices;     /* whose memory it may use: a bit for its device and each peer; 0:
				 everybody's */
	uint64_t max_slices;  /* 0: no limit. Else each worker stops with PTX_TIMEOUT after about
				 20,000 loops this many times */
	uint64_t first_block; /* runs before the others; not of cooperative grids */
	const struct ptx_observer *observer; /* ptx-observe.h; NULL: none */
	struct ptx_schedule schedule;	     /* a random one: by the interpreter, on one worker */
	struct ptx_heap *heap;		     /* NULL: malloc() finds no memory */
	unsigned cluster[3];  /* blocks of a cluster in each dimension, which divide the grid; or
				 zeros */
	uint32_t correlation; /* of the launch, and the number of its node in a graph; 0: none */
	uint64_t node;
	uint64_t grid_workspace; /* %envreg1 and 2: 8 zero bytes that kernels may write, for a
				    grid's barrier; 0: none */
};
/* Runs a grid to its end on the worker pool (TSDB_SOFT_WORKERS threads, default the machine's
 * cores); blocks the caller. Same input, same bits, on any number of workers. Dimensions were
 * checked by the caller. printf output goes to stdout when the grid has ended. Returns 0, or the
 * fault's code with *fault filled; memory written before a fault stays written. */
enum ptx_fault_code ptx_run(const struct ptx_launch *l, struct ptx_fault *fault);

#endif
