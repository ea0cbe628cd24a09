/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of entry points, out of observe-calls.def.
 */
#include "observe/decode/observe-calls.h"
#include "observe/observe.h"

const struct obs_call obs_calls[] = {
#define CALL(name, fn, bits) {#name, fn, bits, false},
#define BOTH(name, suffix, fn, bits) {#name, fn, bits, false}, {#name "_" #suffix, fn, bits, true},
#define RUNTIME(name, host_fn)                                                                     \
	{#name, NULL, OBS_C_STACK | ((host_fn) ? OBS_C_PEEK(0, 0) : 0), false},
#include "observe/decode/observe-calls.def"
#undef CALL
#undef BOTH
#undef RUNTIME
	{NULL, NULL, 0, false},
};

const unsigned obs_ncalls = sizeof obs_calls / sizeof *obs_calls - 1;
_Static_assert(sizeof obs_calls / sizeof *obs_calls <= 0x400, "the cookie has ten bits for it");

const char *observe_entry_point(unsigned i)
{
	return i < obs_ncalls ? obs_calls[i].name : NULL;
}
