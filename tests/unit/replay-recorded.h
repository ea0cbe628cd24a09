/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of this tree recorded, and opened on the software GPU, or with TSDB_TEST_GPU=real on the
 * machine's; for tests of what executing them again gives. main() sets recorded_in (a build tree,
 * or a bundle).
 */
#ifndef TESTS_REPLAY_RECORDED_H
#define TESTS_REPLAY_RECORDED_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "state-test.h"
#include "replay/device.h"
#include "sbt/memory.h"

static char recorded_in[4096], trace_path[4200];

static inline __attribute__((unused)) bool real_gpu(void)
{
	const char *gpu = getenv("TSDB_TEST_GPU");

	return gpu && !strcmp(gpu, "real");
}

/* In a build tree, or in a bundle. */
static inline __attribute__((unused)) void find(char *ret, size_t n, const char *a, const char *b)
{
	snprintf(ret, n, "%s/%s", recorded_in, a);
	if (access(ret, F_OK))
		snprintf(ret, n, "%s/%s", recorded_in, b);
}

/* "PROGRAM" or "PROGRAM WORD". */
static inline __attribute__((unused)) void record(const char *what)
{
	char example[256], *word;
	char program[4600], tsdb[4300];
	const char *gpu = real_gpu() ? "real" : "soft", *tmp = getenv("TMPDIR");
	int status, fd;
	pid_t pid;

	snprintf(example, sizeof example, "%s", what);
	word = strchr(example, ' ');
	if (word)
		*word++ = 0;
	find(tsdb, sizeof tsdb, "bin/tsdb", "tsdb");
	snprintf(program, sizeof program, "%s/%s%s", recorded_in,
		strchr(example, '/') ? "" : "examples/", example);
	if (access(program, X_OK))
		skip(); /* built without nvcc */
	snprintf(trace_path, sizeof trace_path, "%s/tsdb-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	pid = fork();
	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), 1);
		dup2(1, 2);
		execl(tsdb, tsdb, "record", "-o", trace_path, "--gpu", gpu, "--", program, word,
			NULL);
		_exit(127);
	}
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* race_demo ends with 1 when its race is lost, as on a busy machine; record does, too. */
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 0, !strcmp(example, "race_demo"));
}

struct run {
	struct sbt_reader *r;
	struct device *d;
	struct replay *p;
	uint64_t first, last;
};

static inline __attribute__((unused)) struct run open_trace(unsigned flags)
{
	char replayer[4300], soft[4300];
	struct device_options o = {.replayer = replayer,
		.trace = trace_path,
		.softgpu = real_gpu() ? NULL : soft,
		.flags = flags};
	struct replay_executor ex;
	struct run x;

	find(replayer, sizeof replayer, "tsdb-replayer", "lib/tsdb/tsdb-replayer");
	find(soft, sizeof soft, "softgpu", "lib/tsdb/softgpu");
	ok(sbt_reader_open(&x.r, trace_path));
	assert_true(sbt_reader_window(x.r, 0, &x.first, &x.last));
	o.first = x.first;
	o.last = x.last;
	ok(device_open(&x.d, &o));
	ex = device_executor(x.d);
	ok(replay_open(&x.p, x.r, &ex));
	return x;
}

static inline __attribute__((unused)) struct run open_run(const char *example)
{
	record(example);
	return open_trace(0);
}

/* The trace stays. */
static inline __attribute__((unused)) void end_run(struct run *x)
{
	replay_close(x->p);
	sbt_reader_close(x->r);
}

static inline __attribute__((unused)) void close_run(struct run *x)
{
	end_run(x);
	unlink(trace_path);
}

/* Of all that is allocated at the position. */
static inline __attribute__((unused)) uint64_t mem_hash(const struct run *x)
{
	struct state_alloc a;
	uint64_t sum = 0;

	for (unsigned i = 0; state_alloc(replay_state(x->p), i, &a); i++) {
		struct sbt_hash h;

		ok(device_hash(x->d, a.addr, a.size, &h));
		sum = sum * 31 + (h.half[0] ^ h.half[1] ^ a.addr);
	}
	return sum;
}

#endif
