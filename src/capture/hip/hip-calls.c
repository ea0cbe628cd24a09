// SPDX-License-Identifier: Apache-2.0
//
// The table of HIP's entry points, made from hip-calls.def and hip-newer.def.
#include "capture/hip/hip-calls.h"

#include "capture/hip/hip-version.h"
#include "capture/hip/hip-ways.h"

#define CALL(name, KIND, enter_fn, flags) {#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, NULL},
#define WITH_EXIT(name, KIND, enter_fn, exit_fn, flags)                                            \
	{#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, exit_fn},
#define HANDLES(name) {#name, CALL_COUNTED, CALL_HANDLES, SBT_UNREPLAYABLE, NULL, NULL},
#define IGNORED(name) {#name, CALL_IGNORED, 0, 0, NULL, NULL},
#define LIKE(name, other, flags) {#name, CALL_COUNTED, flags, SBT_UNREPLAYABLE, NULL, NULL},
/* Those of hip-newer.def are behind the others; what is LIKE another is completed by it. */
static struct call_row rows[] = {
#include "capture/hip/hip-calls.def"
#include "capture/hip/hip-newer.def"
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };
#undef CALL
#undef WITH_EXIT
#undef HANDLES
#undef IGNORED
#undef LIKE

static struct call_row *row_named(const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

__attribute__((constructor)) static void complete(void)
{
#define HANDLES(name)
#define IGNORED(name)
#define LIKE(name, other, flags) {#name, #other},
	static const char *const likes[][2] = {
#include "capture/hip/hip-newer.def"
	};
#undef HANDLES
#undef IGNORED
#undef LIKE
	for (unsigned i = 0; i < sizeof(likes) / sizeof(*likes); i++) {
		struct call_row *to = row_named(likes[i][0]), *from = row_named(likes[i][1]);

		to->how = from->how;
		to->kind = from->kind;
		to->enter = from->enter;
		to->exit = from->exit;
	}
}

const struct call_row *hip_row_named(const char *name)
{
	return row_named(name);
}

void hip_rows_settle(const struct hip_version *v)
{
	static const struct {
		const char *name;
		enum hip_captured what;
	} nodes[] = {
		{"hipModuleLaunchKernel", HIP_CAPTURES_LAUNCHES},
		{"hipExtModuleLaunchKernel", HIP_CAPTURES_LAUNCHES},
		{"hipExtLaunchKernel", HIP_CAPTURES_LAUNCHES},
		{"hipMallocAsync", HIP_CAPTURES_POOLS},
		{"hipFreeAsync", HIP_CAPTURES_POOLS},
	};

	for (unsigned i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		if (v->captured & nodes[i].what)
			row_named(nodes[i].name)->flags &= (uint8_t)~CALL_UNCAPTURED;
}
