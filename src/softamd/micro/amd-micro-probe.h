/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes of a dispatch: their places, by the line table of its code object (softcore/lane-probe.h
 * counts).
 */
#ifndef SOFTAMD_AMD_MICRO_PROBE_H
#define SOFTAMD_AMD_MICRO_PROBE_H

#include "softamd/machine/amd-machine.h"
#include "gpucode/amd-image.h"
#include "softcore/lane-probe.h"

struct amd_probing {
	struct probed *b; /* NULL: no probe is in the dispatch */
	uint64_t steps;
};
/* kernel: mangled; bias: an address of the process minus that in the ELF file. p and kernel live as
 * long; image need not. */
void amd_probing_begin(struct amd_probing *g, const struct soft_probe *p, unsigned n,
	const char *kernel, const struct amd_image *image, uint64_t entry, uint64_t bias);
/* For the dispatch's observer. */
void amd_probing_step(struct amd_probing *g, const struct amd_wave *w, uint64_t pc);
void amd_probing_group_ended(struct amd_probing *g, const struct amd_group *group);

#endif
