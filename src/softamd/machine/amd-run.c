/* SPDX-License-Identifier: Apache-2.0
 *
 * One dispatch, from its descriptor to its end.
 */
#include "softamd/machine/amd-run.h"

#include <stdio.h>
#include <string.h>

const char *amd_approximate_name(enum amd_approximate kind)
{
	static const char *const names[AMD_APPROX_N] = {
		"v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos", "s_memtime"};

	return (unsigned)kind < AMD_APPROX_N ? names[kind] : "?";
}

bool amd_run(const struct amd_dispatch *d, struct amd_fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	fault->kind = AMD_FAULT_REFUSED;
	fault->lane = -1;
	snprintf(fault->text, sizeof(fault->text), "gfx%x: the processor is not there yet", d->gfx);
	return false;
}
