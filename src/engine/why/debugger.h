/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in flight of a process that runs without tsdb on an NVIDIA GPU: NVIDIA's debugger can
 * attach to such a process, so it is asked, as a program of its own (cuda-gdb), and let go of the
 * process again. The process and its kernels are held up meanwhile, for a second or so each time;
 * the driver's libcudadebugger stays loaded in it. Nothing else of it changes: a kernel that was
 * looked at ends as it would have.
 *
 * What cuda-gdb prints is a stranger's text: every line that is not understood is passed over.
 */
#ifndef ENGINE_WHY_DEBUGGER_H
#define ENGINE_WHY_DEBUGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "engine/why.h"

#define DEBUGGER_KERNELS 16u
#define DEBUGGER_LOADS 4u

/* Lanes that are at one line. */
struct debugger_place {
	char file[128]; /* its last part; "": no line is known */
	uint32_t line;
	uint64_t lanes, pc;
	uint32_t block[3], thread[3]; /* the first of them */
};

/* A load from global memory in the loop that a lane is in. */
struct debugger_load {
	unsigned reg;	/* its address is in registers reg and reg + 1 */
	int64_t offset; /* and this is added, in bytes */
	unsigned bytes; /* that it reads: 1 to 16 */
	uint64_t addr;	/* debugger_look() */
	uint64_t value; /* what is there now, of up to 8 bytes */
	bool known;	/* the address, and the value */
};

struct debugger_kernel {
	uint32_t number, device; /* number: of cuda-gdb's, at one look */
	uint64_t id;		 /* of the grid, the same at every look */
	char name[160];		 /* as cuda-gdb shows it, without arguments */
	uint32_t grid[3], block[3];
	uint64_t lanes, blocks; /* that were seen in it */
	bool ranges;		/* some of the blocks were ranges, each counted as one */
	uint64_t which;		/* a hash of the blocks that were seen */
	struct debugger_place place[WHY_PLACES];
	unsigned nplaces;
	bool more_places;
	struct debugger_load load[DEBUGGER_LOADS];
	unsigned nloads;
};

struct debugger_seen {
	struct debugger_kernel kernel[DEBUGGER_KERNELS];
	unsigned nkernels;
	bool more; /* kernels that do not fit */
};

/* --- debugger-text.c: what it prints. Pure --- */

/* `info cuda kernels` */
void debugger_read_kernels(const char *text, struct debugger_seen *ret);
/* `info cuda threads`, of the kernel in focus: its places, lanes and blocks. */
void debugger_read_threads(const char *text, struct debugger_kernel *ret);
/* `disassemble`: the loads of the smallest loop round pc whose addresses do not change in it.
 * Returns how many, `max` at most. */
unsigned debugger_read_loop(const char *text, uint64_t pc, struct debugger_load *ret, unsigned max);
/* `info registers Rn`; false: it is not there. */
bool debugger_read_register(const char *text, unsigned reg, uint32_t *ret);
/* `print/x EXPR`: "$1 = 0x0". False: it says something else. */
bool debugger_read_value(const char *text, uint64_t *ret);

/* --- debugger-ask.c --- */

/* How long cuda-gdb is waited for, in milliseconds by patience.h. */
struct debugger_limits {
	unsigned answer_ms; /* each of its answers */
	unsigned end_ms;    /* its end, when its input has ended; then it is sent SIGTERM */
};
extern const struct debugger_limits debugger_limits;

/* Attaches cuda-gdb to the process, looks, and lets the process go. The process must not be traced
 * by anybody. One that does not come back is asked to end, so that it lets go of the process.
 * ERR_STATE: the process is traced, or cuda-gdb did not answer; ERR_UNSUPPORTED: it is not there,
 * or cannot attach, with its own words. */
struct err *debugger_look(
	pid_t pid, const struct debugger_limits *limits, struct debugger_seen *ret) TS_CHECK;

/* --- debugger-nodes.c --- */

/* Adds the kernels that two looks saw in the process, and what its threads wait for. */
void why_debugger_add(struct why *w, pid_t pid, const struct debugger_seen *first,
	const struct debugger_seen *second);

#endif
