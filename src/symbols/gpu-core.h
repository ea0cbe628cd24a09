/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a GPU core dump, the file that NVIDIA's driver writes when it is asked to
 * (CU_COREDUMP_ENABLE_USER_TRIGGER) or when a kernel faults: which kernels were running, and where
 * in them every lane was. Needs no GPU, no driver and no process.
 *
 * The file is an ELF file (EM_CUDA, ET_CORE). Its sections are tables, known by their types; a
 * table's sh_link is the section of the table above it, sh_info the row there, and sh_entsize the
 * bytes of a row: devices, below them streaming multiprocessors, blocks, warps, lanes, and the
 * calls of a lane. Rows grow at their end with each release of CUDA. The layout of the rows is in
 * cudacoredump.h, published with cuda-gdb. The code is there as relocated cubins, whose symbols and
 * line tables have the addresses at which the code ran.
 *
 * The bytes may be anything: each row, link and name is checked before it is followed.
 */
#ifndef SYMBOLS_GPU_CORE_H
#define SYMBOLS_GPU_CORE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { GPU_CORE_CALLS_MAX = 16 }; /* calls of a lane that are read */

struct gpu_core_kernel {
	uint64_t grid_id;      /* the driver's number of the launch, within its device */
	const char *name;      /* mangled; NULL: the file does not say */
	uint32_t device;       /* the driver's number of the device */
	uint32_t grid[3];      /* blocks */
	uint32_t block[3];     /* threads */
	uint32_t host_thread;  /* the thread that launched it, as the kernel numbers threads */
	const uint8_t *params; /* its arguments as they lie in memory; NULL: not in the file */
	uint64_t params_size;  /* bytes */
	uint32_t blocks;       /* of it that were running */
	uint64_t lanes;	       /* of it that had not ended */
};

/* Where code is. What is not known is NULL or 0. */
struct gpu_core_code {
	uint64_t pc;
	const char *function; /* mangled */
	const char *file;     /* as the compiler knew it */
	unsigned line;
};

struct gpu_core_lane {
	uint32_t sm, warp, lane;
	uint32_t block[3], thread[3];
};

/* Lanes of one kernel that were at one instruction. */
struct gpu_core_place {
	uint32_t kernel; /* index into kernels */
	struct gpu_core_code code;
	uint64_t lanes;	    /* how many */
	uint64_t active;    /* of them, those that their warps were executing */
	uint32_t exception; /* CUDBGException_t of the first lane; 0: none */
	struct gpu_core_lane first;
	struct gpu_core_code calls[GPU_CORE_CALLS_MAX]; /* of the first lane, innermost first */
	unsigned ncalls;
};

/* What a multiprocessor reports. The kernel may not be among those that were running: its block has
 * ended then. */
struct gpu_core_fault {
	uint32_t device, sm;
	uint32_t exception;	   /* CUDBGException_t */
	struct gpu_core_code code; /* pc 0: not known */
};

struct gpu_core {
	struct gpu_core_kernel *kernels; /* in the file's order */
	size_t nkernels;
	struct gpu_core_place *places; /* by kernel, those with the most lanes first */
	size_t nplaces;
	struct gpu_core_fault *faults; /* in the file's order */
	size_t nfaults;
	struct gpu_core_file *file; /* what the strings point into */
};

/*
 * Reads the file at path. *ret is the caller's, for gpu_core_free(). An error: the file cannot be
 * read, is no GPU core dump, or ends before it says that it does.
 */
struct err *gpu_core_read(const char *path, struct gpu_core **ret) TS_CHECK;
/* The same of n bytes, which are copied. */
struct err *gpu_core_parse(const void *bytes, size_t n, struct gpu_core **ret) TS_CHECK;
void gpu_core_free(struct gpu_core *c); /* NULL is fine */

#endif
