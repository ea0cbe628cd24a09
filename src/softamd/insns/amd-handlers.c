/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers by instruction, put together from the files' tables.
 */
#include "softamd/insns/amd-insn.h"

#include <pthread.h>

static struct amd_handler handlers[GFX_ID_N];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void collect(void)
{
	static const struct amd_entry *const all[] = {amd_scalar_entries, amd_flow_entries,
		amd_load_entries, amd_integer_entries, amd_float_entries, amd_double_entries,
		amd_half_entries, amd_compare_entries, amd_convert_entries, amd_lane_entries,
		amd_lds_entries, amd_global_entries, amd_packed_entries, amd_matrix_entries};

	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (const struct amd_entry *e = all[k]; e->h.wave || e->h.lanes; e++)
			handlers[e->id] = e->h;
}

const struct amd_handler *amd_handler(unsigned id)
{
	pthread_once(&once, collect);
	return &handlers[id];
}
