/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile traces through everything that executes them: `trace-fuzz --seed N --count N TRACE...`. Each case is a process: it changes one of the
 * traces (with --count 0 none: all of them go through every tool as they are), writes it with right checksums, and is tsdb then, with a tool or a session's commands, and tsdb-replayer, both in this program and
 * under sanitizers, on a software GPU that is, too. The same seed is the same case. What counts as a finding: a sanitizer's report, or an abort.
 * The surprise: nothing is executed anew. Where tsdb would exec the replayer, execve() is ours and goes on in the child.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "mutate.h"
#include "replay/replayer.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TRACES_MAX 256
#define WORDS_MAX 64

int tsdb_main(int argc, char **argv);
int tsdb_replayer_main(int argc, char **argv);
int __wrap_execve(const char *path, char *const argv[], char *const env[]);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* Aborts (BUG_ON) are reported, and no size from a trace may be allocated without a limit. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:handle_abort=1:allocator_may_return_null=0:max_allocation_size_mb=4096:hard_rss_limit_mb=6000:"
	       "detect_stack_use_after_return=0:quarantine_size_mb=8:malloc_context_size=12";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

/* What tsdb is called with; %T the trace, %O another one that is well, %D a folder, %A an address, %S a command's number, %K a launch's. */
static const char *const runs[] = {
	"replay %T --on soft",
	"replay %T --on soft --touched --json",
	"replay %T --on soft --range %S-%S",
	"replay %T --on soft --stream 1 --alone",
	"check %T 3 --on soft --perturb",
	"check %T 2 --on soft --thorough --json",
	"races %T --exact",
	"races %T --no-exact --possible --json",
	"explore %T --on soft --budget 3 --seed 7 --jobs 1",
	"explore %T --on soft --budget 2 --jobs 1 --json --no-save",
	"extract %T --kernel * -o %D/x --all --on soft",
	"extract %T --kernel * --nth 2 -o %D/x --on soft",
	"merge -o %D/set.sbt --as-is %T %O",
	"merge -o %D/set.sbt %T %O",
	"view %T --stacks",
	"view %T --json",
	"info %T --json",
	"info %T --clocks",
	"-batch|-ex|replay start --on soft|-ex|replay goto %S|-ex|state show all|-ex|x/8xw %A|-ex|info allocations|-ex|info graphs|-ex|bt|-ex|info command|"
		"-ex|replay step 3|-ex|reverse-step 2|-ex|who-wrote %A|-ex|replay continue|-ex|replay verify|%T",
	"-batch|-ex|replay start --on soft|-ex|replay enter %K|-ex|stepi 3|-ex|info blocks|-ex|info warps|-ex|info registers|-ex|nexti 20|-ex|reverse-stepi 2|"
		"-ex|disassemble|-ex|info lanes|-ex|list|-ex|continue|%T",
	"-batch|-ex|replay start --on soft|-ex|info accesses|-ex|replay racecheck|-ex|replay range %S-%S|-ex|replay stream 1|-ex|watch %A len 64|-ex|replay continue|%T",
	"-batch|-ex|order why %S %S|-ex|order graph -o %D/g.dot|-ex|info trace|-ex|info kernels|-ex|info modules|-ex|state show all at %S|-ex|view --stacks|%T",
};

static struct {
	struct model models[TRACES_MAX];
	const char *paths[TRACES_MAX];
	size_t n;
	char work[64];
	const char *keep;
	bool verbose, as_is;
	size_t which, form; /* as_is: this trace, by this tool */
	uint64_t findings, limited, cases;
} fuzz;

/* ---- the processes ------------------------------------------------------------------------------------------------ */

/* What exec would have closed. */
static void close_on_exec(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const int fd = atoi(e->d_name);

		if (fd > 2 && fd != dirfd(d) && fcntl(fd, F_GETFD) & FD_CLOEXEC)
			close(fd);
	}
	if (d)
		closedir(d);
}

int __wrap_execve(const char *path, char *const argv[], char *const env[])
{
	char *words[] = {(char *)"tsdb-replayer", (char *)REPLAYER_NO_SANDBOX, NULL}; /* sanitizers open files when they report */

	if (!strstr(path, "tsdb-replayer")) {
		errno = EACCES;
		return -1;
	}
	close_on_exec();
	for (size_t i = 0; env[i]; i++)
		if (!strncmp(env[i], "TSDB_REPLAYER_FD=", 17))
			setenv("TSDB_REPLAYER_FD", env[i] + 17, 1);
	_exit(tsdb_replayer_main(2, words));
}

static void limit(int what, rlim_t n)
{
	const struct rlimit l = {n, n};

	setrlimit(what, &l);
}

static uint64_t some_seq(const struct model *m, uint64_t *random, unsigned kind)
{
	for (unsigned tries = 0; m->ncmds && tries < 40; tries++) {
		const struct sbt_cmd *c = &m->cmds[below(random, m->ncmds)];

		if (!kind || c->kind == kind)
			return c->seq;
	}
	return 1;
}

static char *word_of(const struct model *m, const char *form, uint64_t *random)
{
	struct buf b = BUF_INIT;

	for (const char *s = form; *s; s++)
		if (*s != '%' || !s[1])
			buf_add(&b, s, 1);
		else
			switch (*++s) {
			case 'T': buf_printf(&b, "%s/t.sbt", fuzz.work); break;
			case 'O': buf_str(&b, fuzz.paths[below(random, fuzz.n)]); break;
			case 'D': buf_str(&b, fuzz.work); break;
			case 'A': buf_printf(&b, "0x%" PRIx64, m->npieces ? m->pieces[below(random, m->npieces)].m.addr : 0); break;
			case 'S': buf_printf(&b, "%" PRIu64, some_seq(m, random, 0)); break;
			case 'K': buf_printf(&b, "%" PRIu64, some_seq(m, random, SBT_LAUNCH)); break;
			}
	return xstrdup(buf_cstr(&b));
}

static int run_tsdb(const struct model *m, const char *form, uint64_t *random)
{
	const char *separator = strchr(form, '|') ? "|" : " ";
	char *words[WORDS_MAX] = {(char *)"tsdb"}, *copy = xstrdup(form), *at;
	int n = 1;

	for (char *w = strtok_r(copy, separator, &at); w && n < WORDS_MAX - 1; w = strtok_r(NULL, separator, &at))
		words[n++] = word_of(m, w, random);
	return tsdb_main(n, words);
}

static struct err *copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char part[65536];
	size_t n;

	while (in && out && (n = fread(part, 1, sizeof part, in)) > 0)
		fwrite(part, 1, n, out);
	if (in)
		fclose(in);
	return out && !fclose(out) && in ? NULL : err_sys(errno, "cannot copy %s", from);
}

static _Noreturn void child(uint64_t seed)
{
	uint64_t random = seed;
	const size_t which = fuzz.as_is ? fuzz.which : below(&random, fuzz.n);
	const char *form = runs[fuzz.as_is ? fuzz.form : below(&random, COUNT(runs))];
	char path[96];
	struct err *e;
	int null = open("/dev/null", O_RDWR);

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	setpgid(0, 0);
	dup2(null, 0);
	if (!fuzz.verbose) {
		char *said = xasprintf("%s/stderr", fuzz.work);
		dup2(null, 1);
		dup2(open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
		free(said);
	}
	limit(RLIMIT_CPU, 60);
	limit(RLIMIT_FSIZE, 256u << 20);
	limit(RLIMIT_CORE, 0);
	for (uint64_t k = fuzz.as_is ? 0 : 1 + below(&random, 3); k--;)
		mutate_model(&fuzz.models[which], &random);
	snprintf(path, sizeof path, "%s/t.sbt", fuzz.work);
	e = fuzz.as_is ? copy_file(fuzz.paths[which], path) : model_write(&fuzz.models[which], path);
	if (e && fuzz.verbose)
		fprintf(stderr, "%s\n", e->what);
	err_free(e);
	if (!fuzz.as_is && !below(&random, 5))
		mutate_file(path, &random);
	if (fuzz.verbose)
		fprintf(stderr, "%s: %s\n", fuzz.paths[which], form);
	_exit(run_tsdb(&fuzz.models[which], form, &random));
}

/* ---- findings ----------------------------------------------------------------------------------------------------- */

static bool has_one(const char *line, const char *const *words)
{
	for (; *words; words++)
		if (strstr(line, *words))
			return true;
	return false;
}

/* Whether one of the case's processes said on stderr what only a sanitizer says; prints the lines that tell most. */
static bool look(uint64_t seed)
{
	static const char *const finding[] = {"ERROR: AddressSanitizer", "runtime error:", "tsdb: bug at", NULL};
	static const char *const telling[] = {"ERROR: AddressSanitizer", "runtime error:", "tsdb: bug at", " in ", NULL};
	char *said = xasprintf("%s/stderr", fuzz.work), line[512];
	FILE *f = fopen(said, "r");
	unsigned shown = 0;
	bool found = false;

	while (f && shown < 14 && fgets(line, sizeof line, f)) {
		if (!found && has_one(line, finding)) {
			printf("# finding: seed %" PRIu64 "\n", seed);
			found = true;
		}
		if (found && has_one(line, telling)) {
			printf("#   %s", line);
			shown++;
		}
	}
	if (f)
		fclose(f);
	free(said);
	return found;
}

static void keep_trace(uint64_t seed)
{
	char *from = xasprintf("%s/t.sbt", fuzz.work), *to = xasprintf("%s/case-%" PRIu64 ".sbt", fuzz.keep, seed);

	if (rename(from, to))
		printf("# %s is not kept: %s\n", to, strerror(errno));
	free(from);
	free(to);
}

static void empty(const char *folder, unsigned depth)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *path = xasprintf("%s/%s", folder, e->d_name);

		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlink(path) && depth < 4) {
			empty(path, depth + 1);
			rmdir(path);
		}
		free(path);
	}
	if (d)
		closedir(d);
}

static void run_case(uint64_t seed)
{
	const pid_t pid = fork();
	int status = 0;

	if (!pid)
		child(seed);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL); /* its replayers */
	while (waitpid(-1, NULL, 0) > 0)
		;
	fuzz.cases++;
	fuzz.limited += WIFSIGNALED(status);
	if (look(seed)) {
		fuzz.findings++;
		if (fuzz.keep)
			keep_trace(seed);
		fflush(stdout);
	}
	empty(fuzz.work, 0);
}

/* ---- other ways to use it ------------------------------------------------------------------------------------------- */

/* A new trace for the corpus: what it says of the machine that recorded it does not belong there. */
static int clean(const char *folder)
{
	for (size_t i = 0; i < fuzz.n; i++) {
		struct model *m = &fuzz.models[i];
		const char *base = strrchr(fuzz.paths[i], '/'), *program = strrchr(m->meta.program, '/');
		char *path = xasprintf("%s/%s", folder, base ? base + 1 : fuzz.paths[i]);
		struct err *e;

		m->meta.program = program ? program + 1 : m->meta.program;
		m->meta.cwd = "/";
		m->meta.host = "host";
		for (size_t k = 0; k < m->nmodules; k++) {
			const char *name = strrchr(m->modules[k].path, '/');

			m->modules[k].path = xasprintf("/lib/%s", name ? name + 1 : m->modules[k].path);
		}
		e = model_write(m, path);
		if (e) {
			fprintf(stderr, "%s: %s\n", path, e->what);
			return 1;
		}
		free(path);
	}
	return 0;
}

/* Every trace as it is through every tool: those that broke something once. */
static void run_all_as_they_are(void)
{
	fuzz.as_is = true;
	for (fuzz.which = 0; fuzz.which < fuzz.n; fuzz.which++)
		for (fuzz.form = 0; fuzz.form < COUNT(runs); fuzz.form++)
			run_case(fuzz.which * COUNT(runs) + fuzz.form);
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t enough;

/* Ends a long run with what it has so far. */
static void on_enough(int sig)
{
	(void)sig;
	enough = 1;
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

static void surroundings(void)
{
	static const char *const env[][2] = {
		{"TSDB_REPLAYER_LAYOUT", "2"}, /* the last one: it does not start itself again */
		{"TSDB_SOFT_MEMORY", "256M"}, {"TSDB_SOFT_WORKERS", "1"}, {"TSDB_SOFT_JIT", "0"},
		{"TSDB_SOFT_SLICES", "1"}, /* endless kernels end, by a count */
		{"TERM", "dumb"}, {"HOME", "/nonexistent"},
	};

	for (size_t i = 0; i < COUNT(env); i++)
		setenv(env[i][0], env[i][1], 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool read_traces(int argc, char **argv)
{
	for (int i = 0; i < argc && fuzz.n < TRACES_MAX; i++) {
		struct err *e = model_read(&fuzz.models[fuzz.n], argv[i]);

		if (e) {
			printf("Bail out! %s: %s\n", argv[i], e->what);
			return false;
		}
		fuzz.paths[fuzz.n++] = argv[i];
	}
	return fuzz.n;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, count = 0;
	const char *cleaned = NULL;
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2)
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--keep"))
			fuzz.keep = argv[i + 1];
		else if (!strcmp(argv[i], "--clean"))
			cleaned = argv[i + 1];
		else if (!strcmp(argv[i], "--verbose"))
			fuzz.verbose = atoi(argv[i + 1]);
	if (i >= argc) {
		fprintf(stderr, "usage: trace-fuzz [--seed N] [--count N] [--keep DIR] [--verbose 1] TRACE... | --clean DIR TRACE...\n");
		return 2;
	}
	surroundings();
	if (!open_driver() || !read_traces(argc - i, argv + i))
		return 1;
	if (cleaned)
		return clean(cleaned);
	strcpy(fuzz.work, "/tmp/trace-fuzz-XXXXXX");
	if (!mkdtemp(fuzz.work))
		return 1;
	printf("1..1\n");
	if (!count)
		run_all_as_they_are();
	signal(SIGINT, on_enough);
	signal(SIGTERM, on_enough);
	for (uint64_t k = 0; k < count && !enough; k++)
		run_case(seed + k);
	printf("%s 1 - %" PRIu64 " cases from seed %" PRIu64 ": %" PRIu64 " findings; %" PRIu64 " reached a limit\n", fuzz.findings ? "not ok" : "ok", fuzz.cases,
		seed, fuzz.findings, fuzz.limited);
	rmdir(fuzz.work);
	return fuzz.findings != 0;
}
