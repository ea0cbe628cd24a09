/* SPDX-License-Identifier: Apache-2.0
 *
 * explore --jobs N: N processes of the caller's program, a shard each; see explore.h. Each opens a
 * device of its own; on a machine with several GPUs they are dealt out in turn, unless
 * CUDA_VISIBLE_DEVICES says otherwise.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/child.h"
#include "engine/explore.h"
#include "engine/replay-device.h"
#include "gpucode/gpu-files.h"

#define ARGS_MAX 32
#define OUTPUT_MAX (1u << 30)
#define STOP_MS 5000u /* for a job that was asked to end */
#define END_MS 60000u /* for a job that has sent its result */

struct job {
	pid_t pid;
	int fd; /* of what it prints */
	struct buf out;
	int status;
	size_t nfound; /* findings, each of which may be saved */
};

char *explore_schedule_name(const char *trace, uint32_t shard, size_t n)
{
	const size_t len = strlen(trace);
	const int cut = (int)(len > 4 && !strcmp(trace + len - 4, ".sbt") ? len - 4 : len);

	return shard ? xasprintf("%.*s.schedule-%" PRIu32 "-%zu.sbt", cut, trace, shard, n)
		     : xasprintf("%.*s.schedule-%zu.sbt", cut, trace, n);
}

/* --- processes --- */

static unsigned count_gpus(void)
{
	DIR *d = opendir("/proc/driver/nvidia/gpus");
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* The words of one job; strings in text. */
static void job_words(struct engine *en, const struct explore_options *o,
	const struct replay_choice *c, unsigned i, char **argv, char text[][64])
{
	const uint64_t budget = o->budget == UINT64_MAX ? 0
				: o->budget		? o->budget
							: EXPLORE_BUDGET;
	static const char *const ons[] = {[REPLAY_ON_AUTO] = "auto",
		[REPLAY_ON_SOFT] = "soft",
		[REPLAY_ON_REAL] = "real",
		[REPLAY_ON_NONE] = "none",
		[REPLAY_ON_SOFT_AMD] = "soft-amd"};
	unsigned n = 0;

	snprintf(text[0], 64, "%u/%" PRIu32, i + 1, o->jobs);
	if (budget)
		snprintf(text[1], 64, "%" PRIu64, budget);
	else
		snprintf(text[1], 64, "%.0fms", o->seconds * 1e3);
	snprintf(text[2], 64, "%" PRIu64, o->seed);
	snprintf(text[3], 64, "%" PRIu64, o->most ? o->most : EXPLORE_MOST);
	snprintf(text[4], 64, "%u", c->window + 1);
	const char *const words[] = {"tsdb", "explore", en->trace.path, "--json", "--shard",
		text[0], "--budget", text[1], "--seed", text[2], "--most", text[3], "--window",
		text[4], "--on", ons[c->on]};
	for (; n < sizeof words / sizeof *words; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	if (!en->set.number[SET_REPLAY_SANDBOX])
		argv[n++] = (char *)(uintptr_t) "--no-sandbox";
	if (c->any_device)
		argv[n++] = (char *)(uintptr_t) "--any-device";
	if (o->no_save)
		argv[n++] = (char *)(uintptr_t) "--no-save";
	if (o->strict)
		argv[n++] = (char *)(uintptr_t) "--strict";
	if (o->save) {
		argv[n++] = (char *)(uintptr_t) "--save";
		argv[n++] = (char *)(uintptr_t)o->save;
	}
	argv[n] = NULL;
}

/* In the child. Only the first job prints its errors: those of the others are alike. */
static void run_job(
	const char *program, char **argv, unsigned i, unsigned gpus, int fd, pid_t parent)
{
	char device[16];

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(127);
	dup2(fd, STDOUT_FILENO);
	if (i)
		(void)!freopen("/dev/null", "w", stderr);
	snprintf(device, sizeof device, "%u", gpus ? i % gpus : 0);
	if (gpus > 1)
		setenv(GPU_ENV_DEVICES, device, 0);
	execv(program, argv);
	_exit(127);
}

static struct err *start_job(struct engine *en, const struct explore_options *o,
	const struct replay_choice *c, unsigned i, struct job *job)
{
	char *argv[ARGS_MAX], text[5][64];
	const unsigned gpus = count_gpus();
	const pid_t parent = getpid();
	int fds[2];

	job_words(en, o, c, i, argv, text);
	if (pipe2(fds, O_CLOEXEC))
		return err_sys(errno, "cannot make a pipe");
	job->pid = fork();
	if (!job->pid)
		run_job(o->program, argv, i, gpus, fds[1], parent);
	close(fds[1]);
	job->fd = fds[0];
	return job->pid > 0 ? NULL : err_sys(errno, "cannot start another process");
}

/* Reads until the job has ended or the user gives up: the job has a budget of its own. */
static void read_job(struct engine *en, struct job *job)
{
	ssize_t got;

	do {
		while (!child_readable(job->fd, job->pid, 200))
			if (engine_cancelled(en))
				return;
		got = read(job->fd, buf_room(&job->out, 1 << 16), 1 << 16);
		if (got > 0)
			job->out.len += (size_t)got;
	} while ((got > 0 || (got < 0 && errno == EINTR)) && job->out.len < OUTPUT_MAX);
}

static void end_job(struct job *job, bool stop)
{
	if (job->fd >= 0)
		close(job->fd);
	job->fd = -1;
	if (job->pid <= 0)
		return;
	if (stop)
		kill(job->pid, SIGTERM);
	if (!child_wait(job->pid, stop ? STOP_MS : END_MS, &job->status) &&
		!child_kill(job->pid, &job->status))
		job->status = SIGKILL;
	job->pid = 0;
}

/* --- results --- */

static struct err *take_result(
	const struct explore_options *o, struct job *job, unsigned i, struct explore_result *r)
{
	const uint32_t jobs = o->jobs;
	struct explore_result one;
	struct err *e;
	char name[64];

	snprintf(name, sizeof name, "the answer of shard %u of %" PRIu32, i + 1, jobs);
	if (!WIFEXITED(job->status) ||
		(WEXITSTATUS(job->status) && WEXITSTATUS(job->status) != REPLAY_STATUS_DIFFERS))
		return err_new(
			ERR_INFERIOR, "the process of shard %u of %" PRIu32 " failed", i + 1, jobs);
	TRY(o->read((const char *)job->out.data, job->out.len, name, &one));
	job->nfound = one.nfound;
	if (!i) {
		*r = one;
		return NULL;
	}
	e = explore_merge(r, &one);
	explore_free(&one);
	return e;
}

/* Removes the traces of findings that were not kept. The others have other names by then. */
static void remove_traces(const struct job *jobs, uint32_t n, const char *base)
{
	for (uint32_t shard = 1; shard <= n; shard++)
		for (size_t i = 1; i <= jobs[shard - 1].nfound; i++) {
			char *name = explore_schedule_name(base, shard, i);

			unlink(name);
			free(name);
		}
}

/* Gives the kept findings' traces plain numbers. */
static struct err *name_traces(struct explore_result *r, const char *base)
{
	for (size_t i = 0; i < r->nfound; i++) {
		char *name = explore_schedule_name(base, 0, i + 1);

		if (r->found[i].path && rename(r->found[i].path, name)) {
			struct err *e = err_sys(errno, "cannot rename %s", r->found[i].path);

			free(name);
			return e;
		}
		if (r->found[i].path) {
			free(r->found[i].path);
			r->found[i].path = name;
		} else {
			free(name);
		}
	}
	return NULL;
}

struct err *explore_jobs(struct engine *en, const struct explore_options *o,
	const struct replay_choice *c, struct explore_result *ret)
{
	const char *base = o->save ? o->save : en->trace.path;
	struct job *jobs = xcalloc(o->jobs, sizeof *jobs);
	struct err *e = NULL;

	*ret = (struct explore_result){0};
	for (unsigned i = 0; i < o->jobs; i++)
		jobs[i].fd = -1;
	for (unsigned i = 0; !e && i < o->jobs; i++)
		e = start_job(en, o, c, i, &jobs[i]);
	for (unsigned i = 0; !e && i < o->jobs; i++) {
		read_job(en, &jobs[i]);
		end_job(&jobs[i], engine_cancelled(en));
		e = engine_cancelled(en) ? err_new(ERR_INTERRUPTED, "interrupted")
					 : take_result(o, &jobs[i], i, ret);
	}
	for (unsigned i = 0; i < o->jobs; i++) {
		end_job(&jobs[i], true);
		buf_free(&jobs[i].out);
	}
	if (!e)
		explore_finish(ret);
	if (!e && !o->no_save)
		e = name_traces(ret, base);
	if (!o->no_save)
		remove_traces(jobs, o->jobs, base);
	free(jobs);
	if (e)
		explore_free(ret);
	return e;
}
