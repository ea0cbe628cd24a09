/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a struct err into a number of enum ts_result, and keeps its sentence for the thread.
 */
#include <config.h>
#include <stdio.h>
#include "library/library.h"

static _Thread_local char sentence[1024], cure[1024];

static const enum ts_result results[] = {
	[ERR_OK] = TS_OK,
	[ERR_USAGE] = TS_USAGE,
	[ERR_SYSTEM] = TS_SYSTEM,
	[ERR_NOT_FOUND] = TS_NOT_FOUND,
	[ERR_BAD_TRACE] = TS_BAD_TRACE,
	[ERR_INCOMPLETE] = TS_INCOMPLETE,
	[ERR_STATE] = TS_USAGE,
	[ERR_PERMISSION] = TS_PERMISSION,
	[ERR_UNSUPPORTED] = TS_UNSUPPORTED,
	[ERR_LIMIT] = TS_LIMIT,
	[ERR_INFERIOR] = TS_SYSTEM,
	[ERR_INTERRUPTED] = TS_INTERRUPTED,
};

int result_of(struct err *e)
{
	enum ts_result r;

	if (!e)
		return TS_OK;
	r = results[e->code];
	snprintf(sentence, sizeof sentence, "%s", e->what);
	snprintf(cure, sizeof cure, "%s", e->cure ? e->cure : "");
	err_free(e);
	return r;
}

int library_no_memory(bool *broken)
{
	if (broken)
		*broken = true;
	return result_of(err_nomem());
}

const char *ts_error(void)
{
	return sentence;
}

const char *ts_error_cure(void)
{
	return cure;
}

const char *ts_version(void)
{
	return PACKAGE_VERSION;
}
