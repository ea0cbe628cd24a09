/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU's libcuda.so.1 reports to the agent about a fault. A vendor's driver has no
 * such function.
 */
#ifndef CAPTURE_SOFT_FAULT_H
#define CAPTURE_SOFT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct soft_fault {
	uint32_t correlation; /* of the launch */
	uint32_t block[3], thread[3];
	uint32_t line; /* of the PTX, from 1 */
	uint64_t addr; /* of the access; 0: the fault was no access */
	uint32_t size;
	uint32_t source_line; /* 0: not known */
	char file[256];
	char kernel[256]; /* mangled */
	char text[256];
};
/* tsdb_soft_fault: the first fault of the process. Returns false if there was none. */
typedef bool soft_fault_fn(struct soft_fault *ret);

#endif
