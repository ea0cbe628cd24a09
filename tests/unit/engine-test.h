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
#include "engine/live-capture.h"
#include "engine/parts.h"
#include "engine/replay-device.h"

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

static char dir[] = "/tmp/tsdb-engine-XXXXXX";

/* Makes the folder `dir`; returns a name in it, NULL if that fails. */
static inline char *in_new_folder(const char *name)
{
	return mkdtemp(dir) ? xasprintf("%s/%s", dir, name) : NULL;
}

/* Records a whole run of pipeline_ptx. */
static inline void record(const char *program, const char *trace)
{
	const struct redirect quiet = {.out = "/dev/null"};
	struct engine en = {0};
	struct live_stop stop;

	engine_init(&en);
	must(settings_assign(&en.set, SET_GPU, "soft"));
	must(live_file(&en, program, NULL));
	must(capture_begin(&en, RECORDER_ALL));
	en.live.plan.path = xstrdup(trace);
	must(live_launch(&en, &quiet));
	must(live_continue(&en));
	must(live_step(&en, -1, &stop));
	assert_int_equal(stop.why, STOP_EXITED);
	assert_int_equal(stop.status, 0);
	engine_deinit(&en);
}

/* Starts a replay of the trace on the software GPU; records it first if it is not there. */
static inline void open_replay(struct engine *en, const char *trace)
{
	struct replay_choice choice;
	char *program = example();

	if (access(trace, F_OK))
		record(program, trace);
	free(program);
	engine_init(en);
	must(engine_open(en, trace));
	choice = replay_choice_default(en);
	choice.on = REPLAY_ON_SOFT;
	choice.strict = true;
	must(engine_replay(en, &choice));
}

#endif
