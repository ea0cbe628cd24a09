// SPDX-License-Identifier: Apache-2.0
//
// The versions of HIP that the agent knows. The numbers are those of each version's headers
// (hip_runtime_api.h, hip_prof_str.h), compiled.
#include "capture/hip/hip-version.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "capture/core/agent.h"
#include "capture/hip/hip-calls.h"

enum { BOTH = HIP_CAPTURES_LAUNCHES | HIP_CAPTURES_POOLS };
static const struct hip_version known[] = {
	/* from, to, data, first node, from symbol, device memory, errors stay, pageable, captured
	 */
	{502, 502, 0, 1, 10, 1, false, false, 0},
	{504, 504, 840, 0, 10, 1, false, false, HIP_CAPTURES_LAUNCHES},
	{505, 507, 840, 0, 12, 1, false, false, BOTH},
	{600, 604, 1520, 0, 12, 2, false, true, BOTH},
	{700, 702, 1520, 0, 12, 2, true, true, BOTH},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

const struct hip_version *hip_version_of(int number)
{
	const int v = number / 10000000 * 100 + number / 100000 % 100;

	for (int i = 0; i < KNOWN; i++)
		if (v >= known[i].from && v <= known[i].to)
			return &known[i];
	return NULL;
}

const struct hip_version *hip_version(void)
{
	static const struct hip_version none;
	static const struct hip_version *_Atomic found;
	const struct hip_version *v = atomic_load(&found);
	char why[TSDB_TEXT_MAX];
	int number = 0;

	if (v)
		return v == &none ? NULL : v;
	(void)OWN(hip.hipRuntimeGetVersion(&number));
	v = hip_version_of(number);
	if (v)
		hip_rows_settle(v);
	atomic_store(&found, v ? v : &none);
	if (!v) {
		snprintf(why, sizeof(why),
			"the program runs on HIP %d.%d, and this tsdb reads the calls of HIP 5.2, 5.4 to 5.7, 6.0 to 6.4 and 7.0 to 7.2, so there is no capture",
			number / 10000000, number / 100000 % 100);
		agent_refuse(why);
	}
	return v;
}
