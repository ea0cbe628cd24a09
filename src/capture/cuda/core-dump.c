/* SPDX-License-Identifier: Apache-2.0
 *
 * See core-dump.h.
 */
#include "capture/cuda/core-dump.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "capture/cuda/driver-cuda.h"

static CUresult set_text(CUcoredumpSettings what, const char *folder, const char *name)
{
	char path[TSDB_CORE_FOLDER_MAX + 32];
	size_t n;

	snprintf(path, sizeof path, "%s%s.%d", folder, name, (int)getpid());
	n = strlen(path) + 1;
	return OWN(cuda.cuCoredumpSetAttributeGlobal(what, path, &n));
}

/* Whether the program's environment or the program has switched core dumps on. */
static bool taken(void)
{
	static const CUcoredumpSettings what[] = {
		CU_COREDUMP_ENABLE_ON_EXCEPTION, CU_COREDUMP_ENABLE_USER_TRIGGER};

	for (unsigned i = 0; i < sizeof what / sizeof *what; i++) {
		bool on = false;
		size_t n = sizeof on;

		if (!OWN(cuda.cuCoredumpGetAttributeGlobal(what[i], &on, &n)) && on)
			return true;
	}
	return false;
}

/* The switch comes last: once it is on, the driver takes no other name for the pipe. */
static CUresult ask(const char *folder)
{
	unsigned flags = CU_COREDUMP_LIGHTWEIGHT_FLAGS | CU_COREDUMP_SKIP_ABORT;
	bool on = true;
	size_t n = sizeof flags;
	CUresult r = set_text(CU_COREDUMP_PIPE, folder, "pipe");

	if (!r)
		r = set_text(CU_COREDUMP_FILE, folder, "core");
	if (!r)
		r = OWN(cuda.cuCoredumpSetAttributeGlobal(
			CU_COREDUMP_GENERATION_FLAGS, &flags, &n));
	n = sizeof on;
	return r ? r
		 : OWN(cuda.cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_USER_TRIGGER, &on, &n));
}

void core_dump_prepare(void)
{
	struct tsdb_control *ctl = agent.control;
	char folder[TSDB_CORE_FOLDER_MAX];
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (!ctl->core_folder[0] || atomic_load(&ctl->core) != TSDB_CORE_NONE || ctl->attached)
		return;
	memcpy(folder, ctl->core_folder, sizeof folder);
	folder[sizeof folder - 1] = 0;
	if (cuda.cuCoredumpGetAttributeGlobal && cuda.cuCoredumpSetAttributeGlobal) {
		if (taken()) {
			atomic_store(&ctl->core, TSDB_CORE_TAKEN);
			return;
		}
		r = ask(folder);
	}
	ctl->core_result = r;
	atomic_store(&ctl->core, r ? TSDB_CORE_REFUSED : TSDB_CORE_READY);
}
