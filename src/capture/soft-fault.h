/* SPDX-License-Identifier: Apache-2.0
 *
 * What a software GPU's library (libcuda.so.1, libhsakmt.so.1) reports to the agent about a fault.
 * A vendor's driver has no such functions.
 */
#ifndef CAPTURE_SOFT_FAULT_H
#define CAPTURE_SOFT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct soft_fault {
	uint32_t correlation; /* of the launch; 0: not known */
	uint32_t block[3], thread[3];
	uint32_t line; /* of the PTX, from 1; 0: the code is no PTX, and text says where in it */
	uint64_t addr; /* of the access; 0: the fault was no access */
	uint32_t size;
	uint32_t source_line; /* 0: not known */
	char file[256];
	char kernel[256]; /* mangled */
	char text[256];
};
/* tsdb_soft_fault: the first fault of the process. Returns false if there was none. */
typedef bool soft_fault_fn(struct soft_fault *ret);
/* tsdb_soft_on_fault, of libhsakmt.so.1, whose runtime ends the program at most faults: fn is
 * called at the first one, in a thread of the device, before the runtime hears of it. NULL: no
 * more. */
typedef void soft_on_fault_fn(void (*fn)(const struct soft_fault *f));

#endif
