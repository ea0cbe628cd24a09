/* SPDX-License-Identifier: Apache-2.0
 *
 * What the unit tests of the engine share that run a program on the software GPU.
 */
#ifndef TEST_ENGINE_TEST_H
#define TEST_ENGINE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "engine/engine.h"
#include "engine/parts.h"

/* pipeline_ptx scales and adds up this many pieces, a launch each. */
#define CHUNKS 8

static char folder[PATH_MAX];

/* Called first: where tsdb's files are. */
static inline bool engine_test_begin(void)
{
	const char *build = getenv("TSDB_BUILD");

	if (!realpath(build ? build : ".", folder))
		return false;
	gpu_parts_folder(folder);
	return true;
}

static inline void must(struct err *e)
{
	if (!e)
		return;
	print_error("unexpected error: %s\n", e->what);
	err_free(e);
	fail();
}

/* The path of pipeline_ptx; skips the test where there is no software GPU to run it. */
static inline char *example(void)
{
	char *path = xasprintf("%s/examples/pipeline_ptx", folder), *soft = gpu_soft_dir();
	const bool there = soft && !access(path, X_OK);

	free(soft);
	if (!there) {
		free(path);
		skip();
	}
	return path;
}

#endif
