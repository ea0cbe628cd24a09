/* SPDX-License-Identifier: Apache-2.0
 *
 * What looking for races costs: traces of 1, 3 and 10 million commands on 64 streams, a wait for
 * another stream's event every ten commands, each in a process of its own so that its peak memory
 * and its processor time are its own: what a command costs is compared by the latter, which a busy
 * machine changes less. The first commands cost less: memory that nobody has touched conflicts with
 * nothing. BENCH_COMMANDS  the largest (default 10000000)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench/synthetic.h"
#include "order/order.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "bench-order: %s\n", e->what);
	exit(1);
}

struct figures {
	double seconds, processor;
	long kib;
	uint64_t races;
};

/* In a child: its peak memory is what getrusage() says of it. */
static struct figures judge(const char *path)
{
	struct figures f = {0};
	struct rusage u;
	int fd[2], status;
	pid_t pid;

	if (pipe(fd))
		exit(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		const struct order_options o = {0};
		struct order_races found;
		struct sbt_reader *r;
		const double start = now();

		check(sbt_reader_open(&r, path));
		check(order_races(&found, r, &o));
		f.seconds = now() - start;
		f.races = found.n + found.more;
		_exit(write(fd[1], &f, sizeof f) != sizeof f);
	}
	if (pid < 0 || read(fd[0], &f, sizeof f) != sizeof f || wait4(pid, &status, 0, &u) != pid ||
		status)
		exit(1);
	close(fd[0]);
	close(fd[1]);
	f.kib = u.ru_maxrss;
	f.processor = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
	return f;
}

int main(void)
{
	const char *env = getenv("BENCH_COMMANDS"), *dir = getenv("TMPDIR");
	const uint64_t most = env ? strtoull(env, NULL, 0) : 10000000;
	struct synthetic shape = SYNTHETIC_INIT;
	double first = 0;
	char path[256];

	shape.streams = 64;
	shape.waits = 10;
	setlinebuf(stdout);
	snprintf(path, sizeof path, "%s/bench-order-%d.sbt", dir && *dir ? dir : "/tmp",
		(int)getpid());
	for (unsigned i = 0; i < 3; i++) {
		static const unsigned tenths[] = {1, 3, 10};
		const uint64_t n = most / 10 * tenths[i];
		struct figures f;

		check(synthetic_write_as(path, n, false, &shape));
		f = judge(path);
		first = i ? first : f.processor / (double)n;
		printf("races in %" PRIu64
		       " commands: %.2f s (%.2f s of the processor), %.0f MiB, %" PRIu64
		       " places (a command costs %.2f of what it costs in the first; "
		       "target for 10000000: 30 s, 4096 MiB)\n",
			n, f.seconds, f.processor, (double)f.kib / 1024, f.races,
			f.processor / (double)n / first);
	}
	unlink(path);
	return 0;
}
