/* SPDX-License-Identifier: Apache-2.0
 *
 * What the state machine and seeking cost, on a synthetic trace of BENCH_COMMANDS commands
 * (10,000,000 when not set). Lines are `name: value unit (target ...)`. BENCH_TIMES=1 writes GPU
 * times too. The trace lies in $TMPDIR and is removed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench/synthetic.h"
#include "replay/replay.h"

#define SEEKS 200

static void check(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "bench-state: %s\n", e->what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Bytes this process has read so far by read calls. */
static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	uint64_t n = 0;

	if (f && fscanf(f, "rchar: %" SCNu64, &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *name, double *t, unsigned n, const char *target)
{
	qsort(t, n, sizeof *t, by_value);
	printf("%s median: %.2f ms%s\n", name, t[n / 2] * 1e3, target);
	printf("%s p99: %.2f ms\n", name, t[n * 99 / 100] * 1e3);
}

static uint64_t random_seq(uint64_t last)
{
	static uint64_t x = 0x2545f4914f6cdd1d;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return 1 + (x >> 8) % last;
}

/* --- in memory --- */

#define BATCH 512

/* Launches only, in a state as large as the trace's, with a sync now and then outside the clock. */
static void bench_apply(void)
{
	static struct sbt_cmd batch[BATCH];
	static uint64_t args[BATCH][4];
	struct synthetic g = SYNTHETIC_INIT;
	struct state *s = state_new();
	struct buf b = BUF_INIT;
	double spent = 0, start;
	unsigned rounds = 1500;

	while (g.seq < 10000) {
		struct sbt_cmd c = synthetic_next(&g);

		check(state_apply(s, &c));
	}
	for (unsigned r = 0; r < rounds; r++) {
		unsigned n = 0;

		while (n < BATCH) {
			struct sbt_cmd c = synthetic_next(&g);

			if (c.kind != SBT_LAUNCH) {
				if (n == 0)
					check(state_apply(s, &c));
				else if (c.kind == SBT_SYNC || c.kind == SBT_SYNC_END)
					break;
				continue;
			}
			memcpy(args[n], c.u.launch.args.p, sizeof args[n]);
			c.u.launch.args.p = args[n];
			batch[n++] = c;
		}
		start = now();
		for (unsigned i = 0; i < n; i++)
			check(state_apply(s, &batch[i]));
		spent += (now() - start) / n;
	}
	printf("state_apply of a launch: %.0f ns (target <= 150)\n", spent / rounds * 1e9);
	start = now();
	for (unsigned i = 0; i < 100; i++)
		state_free(state_clone(s));
	printf("state_clone: %.1f us\n", (now() - start) / 100 * 1e6);
	state_encode(s, &b);
	printf("keyframe before compression: %zu bytes\n", b.len);
	buf_free(&b);
	state_free(s);
}

/* --- on the trace --- */

static void bench_open(struct sbt_reader **ret, const char *path)
{
	uint64_t before = bytes_read();
	double start = now();

	check(sbt_reader_open(ret, path));
	printf("open: %.2f ms\n", (now() - start) * 1e3);
	printf("bytes read on open: %" PRIu64 " bytes of %" PRIu64
	       " (target: the index, not the file)\n",
		bytes_read() - before, sbt_reader_size(*ret));
}

static void bench_seek(struct sbt_reader *trace)
{
	double t[SEEKS];

	for (unsigned i = 0; i < SEEKS; i++) {
		uint64_t seq = random_seq(sbt_reader_last_seq(trace));
		double start = now();
		struct buf b = BUF_INIT;
		struct state *s;

		check(state_at(&s, trace, seq));
		state_print(&b, s, STATE_VIEW_ALL, 0);
		t[i] = now() - start;
		buf_free(&b);
		state_free(s);
	}
	print_times("state_at and print all", t, SEEKS, " (target <= 50)");
}

static void bench_fold(struct sbt_reader *trace)
{
	uint64_t n = sbt_reader_count(trace) < 2000000 ? sbt_reader_count(trace) : 2000000;
	struct state *s = state_new();
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	double start = now(), read;

	check(sbt_cursor_open(&cursor, trace));
	for (uint64_t i = 0; i < n; i++)
		check(sbt_cursor_next(cursor, &c));
	read = now() - start;
	check(sbt_cursor_seek(cursor, 1));
	start = now();
	for (uint64_t i = 0; i < n; i++) {
		check(sbt_cursor_next(cursor, &c));
		check(state_apply(s, c));
	}
	printf("reading: %.2f M commands/s\n", (double)n / read / 1e6);
	printf("fold with reading: %.2f M commands/s\n", (double)n / (now() - start) / 1e6);
	sbt_cursor_close(cursor);
	state_free(s);
}

static void bench_replay(struct sbt_reader *trace)
{
	const struct replay_breakpoint never = {.id = 1, .kind = SBT_MARK};
	struct replay_stop stop;
	struct replay *r;
	double t[SEEKS], start;

	check(replay_open(&r, trace, NULL));
	check(replay_goto(r, sbt_reader_last_seq(trace) / 2, &stop));
	for (unsigned i = 0; i < SEEKS; i++) {
		start = now();
		check(replay_reverse_step(r, 1, &stop));
		t[i] = now() - start;
	}
	print_times("replay reverse-step", t, SEEKS, "");
	start = now();
	check(replay_run(r, true, &never, 1, NULL, &stop));
	printf("replay reverse-continue without a hit: %.2f M commands/s\n",
		(double)sbt_reader_last_seq(trace) / 2 / (now() - start) / 1e6);
	replay_close(r);
}

/* --- tsdb view --- */

/* Peak resident memory of `tsdb view path`, KiB; 0 when there is no tsdb beside this program. */
static long view_peak(const char *path)
{
	struct rusage use;
	int status, fd;
	pid_t pid;

	if (access("./tsdb", X_OK) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		fd = open("/dev/null", O_WRONLY);
		dup2(fd, 1);
		execl("./tsdb", "tsdb", "view", path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid || status)
		return 0;
	return use.ru_maxrss;
}

static void bench_view(const char *path, uint64_t n)
{
	char small[300];
	long few, many = view_peak(path);

	if (!many) {
		printf("tsdb view: not measured (no ./tsdb)\n");
		return;
	}
	snprintf(small, sizeof small, "%s.small", path);
	check(synthetic_write(small, n / 10, false));
	few = view_peak(small);
	unlink(small);
	printf("tsdb view peak memory: %.1f MiB for %" PRIu64 " commands, %.1f MiB for %" PRIu64
	       " (target: the same)\n",
		(double)few / 1024, n / 10, (double)many / 1024, n);
}

int main(void)
{
	const char *env = getenv("BENCH_COMMANDS"), *dir = getenv("TMPDIR");
	uint64_t n = env ? strtoull(env, NULL, 0) : 10000000;
	struct sbt_reader *trace;
	char path[256];
	double start;

	setlinebuf(stdout);
	bench_apply();
	snprintf(path, sizeof path, "%s/bench-state-%d.sbt", dir && *dir ? dir : "/tmp",
		(int)getpid());
	start = now();
	check(synthetic_write(path, n, getenv("BENCH_TIMES") != NULL));
	printf("writing: %" PRIu64 " commands, %.2f M commands/s\n", n,
		(double)n / (now() - start) / 1e6);
	bench_open(&trace, path);
	printf("trace: %.1f bytes/command, keyframes included\n",
		(double)sbt_reader_size(trace) / (double)n);
	bench_seek(trace);
	bench_fold(trace);
	bench_replay(trace);
	sbt_reader_close(trace);
	bench_view(path, n);
	unlink(path);
	return 0;
}
