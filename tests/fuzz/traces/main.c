/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile traces through everything that executes them: `trace-fuzz --seed N --count N TRACE...`.
 * Each case changes one of the traces (with --count 0 none: all of them go through every tool as
 * they are), writes it with right checksums, and is tsdb then, with a tool or a session's commands,
 * and tsdb-replayer, both in this program and under sanitizers, on a software GPU that is, too. The
 * same seed is the same case. What counts as a finding: a sanitizer's report, or an abort. The
 * surprise: nothing is executed anew. A worker process runs some hundred cases, tsdb being a
 * function of it, and the replayers are forked from a spare process (spare.h); a worker that dies
 * is replaced behind the case that it died of.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cases.h"
#include "model.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define JOBS_MAX 256
#define BATCH 500 /* cases of a worker: what it leaks stays small */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* Aborts (BUG_ON) are reported, and no size from a trace may be allocated without a limit. What a
 * report can do without is left out, for speed: the stacks of malloc and free
 * (ASAN_OPTIONS=malloc_context_size=20 has them), the fill of new memory. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:handle_abort=1:allocator_may_return_null=0:"
	       "max_allocation_size_mb=4096:detect_stack_use_after_return=0:"
	       "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:"
	       "malloc_context_size=1:max_malloc_fill_size=0";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

static struct cases cases;

/* --- other ways to use it --- */

/* A new trace for the corpus: what it says of the machine that recorded it does not belong there.
 */
static struct err *clean_one(const char *from, const char *folder)
{
	const char *base = strrchr(from, '/'), *program;
	char *path = xasprintf("%s/%s", folder, base ? base + 1 : from);
	struct model m;
	struct err *e;

	TRY(model_read(&m, from));
	program = strrchr(m.meta.program, '/');
	m.meta.program = program ? program + 1 : m.meta.program;
	m.meta.cwd = "/";
	m.meta.host = "host";
	for (size_t k = 0; k < m.nmodules; k++) {
		const char *name = strrchr(m.modules[k].path, '/');

		m.modules[k].path = xasprintf("/lib/%s", name ? name + 1 : m.modules[k].path);
	}
	e = model_write(&m, path);
	free(path);
	return e;
}

static int clean(const char *folder)
{
	for (size_t i = 0; i < cases.n; i++) {
		struct err *e = clean_one(cases.paths[i], folder);

		if (e) {
			fprintf(stderr, "%s: %s\n", cases.paths[i], e->what);
			return 1;
		}
	}
	return 0;
}

/* --- workers --- */

/* Waits for a worker and for what it left. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return status;
}

/* Cases up to `end`, or to one that ends the worker. False when there is no sense in another
 * worker. */
static bool run_worker(uint64_t end)
{
	struct progress *p = cases.progress;
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		cases_run(&cases, end);
	status = pid < 0 ? 0x100 : wait_for(pid);
	if (!status)
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && !p->cases)
		return false;
	p->limited += WIFSIGNALED(status);
	p->findings += cases_look(&cases, p->at);
	p->cases++;
	p->at++;
	return true;
}

static bool run_cases(uint64_t first, uint64_t end)
{
	struct progress *p = cases.progress;

	p->at = first;
	while (p->at < end && !p->enough)
		if (!run_worker(end - p->at < BATCH ? end : p->at + BATCH))
			return false;
	return true;
}

/* --- main --- */

/* Ends a long run with what it has so far. */
static void on_enough(int sig)
{
	cases.progress->enough = sig;
}

static bool open_driver(void)
{
	const char *build = getenv("TSDB_BUILD");
	char *path = xasprintf("%s/softgpu/sanitised/libcuda.so.1", build ? build : ".");
	bool ok = dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;

	if (!ok)
		printf("Bail out! %s\n", dlerror());
	free(path);
	return ok;
}

static bool surroundings(void)
{
	static const char *const env[][2] = {
		{"TSDB_REPLAYER_LAYOUT", "2"}, /* the last one: it does not start itself again */
		{"TSDB_SOFT_MEMORY", "256M"},
		{"TSDB_SOFT_WORKERS", "1"},
		{"TSDB_SOFT_JIT", "0"},
		{"TSDB_SOFT_SLICES", "1"}, /* endless kernels end, by a count */
		{"TERM", "dumb"},
		{"HOME", "/nonexistent"},
	};
	static char work[64];

	for (size_t i = 0; i < COUNT(env); i++)
		setenv(env[i][0], env[i][1], 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Memory rather than a disk, where there is such a folder. */
	strcpy(work,
		access("/dev/shm", W_OK) ? "/tmp/trace-fuzz-XXXXXX" : "/dev/shm/trace-fuzz-XXXXXX");
	cases.work = mkdtemp(work);
	cases.progress = mmap(NULL, sizeof *cases.progress, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cases.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	cases.said = cases.verbose ? -1 : memfd_create("trace-fuzz", MFD_CLOEXEC);
	if (cases.said >= 0)
		fcntl(cases.said, F_SETFL, O_APPEND);
	return cases.work && cases.progress != MAP_FAILED && cases.out >= 0 &&
	       (cases.verbose || cases.said >= 0);
}

static int fuzz(unsigned number, uint64_t seed, uint64_t count)
{
	const struct progress *p = cases.progress;

	signal(SIGINT, on_enough);
	signal(SIGTERM, on_enough);
	cases.as_is = !count;
	if (!run_cases(count ? seed : 0, count ? seed + count : cases_as_is(&cases)))
		return 1;
	printf("%s %u - %" PRIu64 " cases from seed %" PRIu64 ": %" PRIu64 " findings; %" PRIu64
	       " reached a limit\n",
		p->findings ? "not ok" : "ok", number, p->cases, seed, p->findings, p->limited);
	return p->findings != 0;
}

/* The job with this number, of so many: its part of the seeds. */
static int one_job(unsigned number, unsigned jobs, uint64_t seed, uint64_t count)
{
	const uint64_t from = count * (number - 1) / jobs, to = count * number / jobs;
	int status;

	if (!surroundings() || !open_driver())
		return 1;
	status = fuzz(number, seed + from, to - from);
	rmdir(cases.work);
	return status;
}

static pid_t job[JOBS_MAX];

static void end_jobs(int sig)
{
	for (unsigned k = 0; k < JOBS_MAX && job[k] > 0; k++)
		kill(job[k], sig);
}

static int all_jobs(unsigned jobs, uint64_t seed, uint64_t count)
{
	int status = 0, bad = 0;

	for (unsigned k = 1; k <= jobs; k++) {
		job[k - 1] = fork();
		if (!job[k - 1]) {
			status = one_job(k, jobs, seed, count);
			fflush(stdout);
			_exit(status);
		}
		bad += job[k - 1] < 0;
	}
	signal(SIGINT, end_jobs);
	signal(SIGTERM, end_jobs);
	while (wait(&status) > 0 || errno == EINTR)
		bad += status != 0;
	return bad != 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, count = 0;
	const char *cleaned = NULL;
	unsigned jobs = 1;
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2)
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--keep"))
			cases.keep = argv[i + 1];
		else if (!strcmp(argv[i], "--clean"))
			cleaned = argv[i + 1];
		else if (!strcmp(argv[i], "--verbose"))
			cases.verbose = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--jobs"))
			jobs = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--no-sandbox"))
			cases.no_sandbox = atoi(argv[i + 1]);
	for (; i < argc && cases.n < TRACES_MAX; i++)
		cases.paths[cases.n++] = argv[i];
	if (!cases.n) {
		fprintf(stderr, "usage: trace-fuzz [--seed N] [--count N] [--keep DIR] [--jobs N] "
				"[--verbose 1] [--no-sandbox 1] TRACE... | --clean DIR TRACE...\n");
		return 2;
	}
	if (cleaned)
		return clean(cleaned);
	if (jobs < 1 || jobs > JOBS_MAX || count < jobs)
		jobs = 1;
	printf("1..%u\n", jobs);
	fflush(stdout);
	return all_jobs(jobs, seed, count);
}
