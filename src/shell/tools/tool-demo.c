/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb demo race: runs the tutorial of docs/nondeterminism.md. Every step is tsdb itself, started
 * with the words that are shown, so the user can type what is shown.
 */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine/parts.h"
#include "shell/tools/tools.h"

extern char **environ;

#define PROGRAM "race_demo"

struct step {
	const char *says;
	const char *words[8];
};
static const struct step race[] = {
	{"A program whose two streams share memory. This run may well be right; record it:",
		{"record", "-o", "racy.sbt", "--", "./" PROGRAM}},
	{"Which commands touch the same bytes without an order between them?",
		{"races", "racy.sbt"}},
	{"Is any kernel itself not deterministic?", {"check", "racy.sbt", "5"}},
	{"Other orders that the program allows; one that gives another result is proof, and is kept:",
		{"explore", "racy.sbt", "--budget", "20"}},
	{"That order again: it fails every time:", {"replay", "racy.schedule-1.sbt"}},
	{"With the wait (race_demo.cu, the line with cudaStreamWaitEvent):",
		{"record", "-o", "fixed.sbt", "--", "./" PROGRAM, "fixed"}},
	{"", {"races", "fixed.sbt"}},
	{"", {"explore", "fixed.sbt", "--budget", "20"}},
};

static struct err *run_step(struct session *s, char *exe, const struct step *step)
{
	char *argv[sizeof step->words / sizeof *step->words + 2] = {exe};
	struct buf line = BUF_INIT;
	int n = 1, status = 0, rc;
	pid_t pid;

	for (const char *const *w = step->words; *w; w++) {
		argv[n++] = (char *)*w;
		buf_printf(&line, " %s", *w);
	}
	out_printf(
		s->out, "\n%s%s$ tsdb%s\n", step->says, *step->says ? "\n" : "", buf_cstr(&line));
	out_flush(s->out);
	buf_free(&line);
	rc = posix_spawn(&pid, exe, NULL, NULL, argv, environ);
	if (rc)
		return err_sys(rc, "%s cannot be started", exe);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(errno, "%s cannot be waited for", exe);
	if (WIFSIGNALED(status))
		return err_new(ERR_INFERIOR, "the step was ended by signal %d", WTERMSIG(status));
	return NULL;
}

/* Runs in a new folder, which is kept, so that the user can look at the traces. */
static struct err *demo_race(struct session *s)
{
	const char *tmp = getenv("TMPDIR");
	char exe[PATH_MAX] = "", *dir, *program;
	struct err *e = NULL;

	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return err_sys(errno, "tsdb cannot find itself");
	program = gpu_example_path(PROGRAM);
	if (!program)
		return err_cure(err_new(ERR_NOT_FOUND, "the example race_demo is not installed"),
			"Build tsdb where nvcc is; docs/nondeterminism.md shows what it prints");
	dir = xasprintf("%s/tsdb-demo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir) || chdir(dir) || symlink(program, PROGRAM))
		e = err_sys(errno, "no folder for the demo");
	free(program);
	for (unsigned i = 0; !e && i < sizeof race / sizeof *race; i++)
		e = run_step(s, exe, &race[i]);
	if (!e)
		out_printf(s->out,
			"\nThe traces are in %s. Next: tsdb %s/racy.sbt, and docs/nondeterminism.md.\n",
			dir, dir);
	free(dir);
	return e;
}

int tool_demo(struct session *s, int argc, char **argv)
{
	struct err *e;

	if (argc != 1 || strcmp(argv[0], "race"))
		e = err_cure(err_new(ERR_USAGE, argc ? "there is no demo \"%s\"" : "which demo?",
				     argc ? argv[0] : ""),
			"Use: tsdb demo race");
	else
		e = demo_race(s);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
