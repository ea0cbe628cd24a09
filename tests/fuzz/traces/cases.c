/* SPDX-License-Identifier: Apache-2.0
 *
 * See cases.h. A case is a fresh copy of a trace's model, changed and written with right checksums;
 * then tsdb_main() runs a tool or a session's commands on it. tsdb keeps nothing between two calls
 * but what its libraries keep. The surprise: a case that ends the process is no loss, main goes on
 * behind it.
 */
#include "cases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "model.h"
#include "mutate.h"
#include "spare.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define WORDS_MAX 64
#define SANDBOX_SHARE 8
#define CASE_CPU 60	    /* seconds of processor time */
#define CASE_WALL 900	    /* seconds */
#define LOOK_MAX (1u << 20) /* of what was said, in bytes */

int tsdb_main(int argc, char **argv);

/* What tsdb is called with; %T the trace, %O another one that is well, %D a folder, %A an address,
 * %S a command's number, %K a launch's, %R a range. */
static const char *const runs[] = {
	"replay %T --on soft",
	"replay %T --on soft --touched --json",
	"replay %T --on soft --range %R",
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
	"export perfetto %T -o %D/x",
	"export kineto %T -o %D/x",
	"export pprof %T -o %D/x",
	"export flamegraph %T -o %D/x --weight count",
	"export speedscope %T -o %D/x --weight bytes",
	"export folded %T -o %D/x",
	"export csv %T -o %D/x",
	"export sqlite %T -o %D/x",
	"info %T --json",
	"info %T --clocks",
	"-batch|-ex|replay start --on soft|-ex|replay goto %S|-ex|state show all|-ex|x/8xw "
	"%A|-ex|info allocations|-ex|info graphs|-ex|bt|-ex|info command|"
	"-ex|replay step 3|-ex|reverse-step 2|-ex|who-wrote %A|-ex|replay continue|-ex|replay "
	"verify|%T",
	"-batch|-ex|replay start --on soft|-ex|replay enter %K|-ex|stepi 3|-ex|info "
	"blocks|-ex|info warps|-ex|info registers|-ex|nexti 20|-ex|reverse-stepi 2|"
	"-ex|disassemble|-ex|info lanes|-ex|list|-ex|continue|%T",
	"-batch|-ex|replay start --on soft|-ex|info accesses|-ex|replay racecheck|-ex|replay range "
	"%R|-ex|replay stream 1|-ex|watch %A len 64|-ex|replay continue|%T",
	"-batch|-ex|order why %S %S|-ex|order graph -o %D/g.dot|-ex|info trace|-ex|info "
	"kernels|-ex|info modules|-ex|state show all at %S|-ex|view --stacks|%T",
};

/* With megabytes of memory they take ten times as long as others: one in ten times. */
static const char *const heavy[] = {"/keeps.sbt", "/moved_addresses.sbt"};

static struct model models[TRACES_MAX];

/* --- tsdb's command line --- */

static uint64_t some_seq(const struct model *m, uint64_t *random, unsigned kind)
{
	for (unsigned tries = 0; m->ncmds && tries < 40; tries++) {
		const struct sbt_cmd *c = &m->cmds[below(random, m->ncmds)];

		if (!kind || c->kind == kind)
			return c->seq;
	}
	return 1;
}

/* Now and then the wrong way round. */
static void add_range(struct buf *b, const struct model *m, uint64_t *random)
{
	const uint64_t x = some_seq(m, random, 0), y = some_seq(m, random, 0);
	const bool turn = x > y && below(random, 8);

	buf_printf(b, "%" PRIu64 "-%" PRIu64, turn ? y : x, turn ? x : y);
}

static char *word_of(
	const struct cases *cases, const struct model *m, const char *form, uint64_t *random)
{
	struct buf b = BUF_INIT;
	char *word;

	for (const char *s = form; *s; s++)
		if (*s != '%' || !s[1])
			buf_add(&b, s, 1);
		else
			switch (*++s) {
			case 'T':
				buf_printf(&b, "%s/t.sbt", cases->work);
				break;
			case 'O':
				buf_str(&b, cases->paths[below(random, cases->n)]);
				break;
			case 'D':
				buf_str(&b, cases->work);
				break;
			case 'A':
				buf_printf(&b, "0x%" PRIx64,
					m->npieces ? m->pieces[below(random, m->npieces)].m.addr
						   : 0);
				break;
			case 'R':
				add_range(&b, m, random);
				break;
			case 'S':
				buf_printf(&b, "%" PRIu64, some_seq(m, random, 0));
				break;
			case 'K':
				buf_printf(&b, "%" PRIu64, some_seq(m, random, SBT_LAUNCH));
				break;
			}
	word = xstrdup(buf_cstr(&b));
	buf_free(&b);
	return word;
}

static void run_tsdb(
	const struct cases *c, const struct model *m, const char *form, uint64_t *random)
{
	const char *separator = strchr(form, '|') ? "|" : " ";
	char *words[WORDS_MAX] = {xstrdup("tsdb")}, *mine[WORDS_MAX], *copy = xstrdup(form), *at;
	int n = 1;

	for (char *w = strtok_r(copy, separator, &at); w && n < WORDS_MAX - 1;
		w = strtok_r(NULL, separator, &at))
		words[n++] = word_of(c, m, w, random);
	memcpy(mine, words, sizeof mine); /* tsdb may move them about */
	tsdb_main(n, words);
	while (n--)
		free(mine[n]);
	free(copy);
}

/* --- a case --- */

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

static bool is_heavy(const char *path)
{
	for (size_t i = 0; i < COUNT(heavy); i++)
		if (strlen(path) > strlen(heavy[i]) &&
			!strcmp(path + strlen(path) - strlen(heavy[i]), heavy[i]))
			return true;
	return false;
}

static size_t choose_trace(const struct cases *c, uint64_t *random)
{
	const size_t i = below(random, c->n);

	return is_heavy(c->paths[i]) && below(random, 10) ? below(random, c->n) : i;
}

static void run_changed(const struct cases *c, uint64_t seed)
{
	char *path = xasprintf("%s/t.sbt", c->work);
	uint64_t random = seed;
	const size_t which = choose_trace(c, &random);
	const char *form = runs[below(&random, COUNT(runs))];
	struct model m = model_copy(&models[which]);
	struct err *e;

	for (uint64_t k = 1 + below(&random, 3); k--;)
		mutate_model(&m, &random);
	e = model_write(&m, path);
	if (e && c->verbose)
		fprintf(stderr, "%s\n", e->what);
	err_free(e);
	if (!below(&random, 5))
		mutate_file(path, &random);
	spare_sandbox(!below(&random, SANDBOX_SHARE) && !c->no_sandbox);
	if (c->verbose)
		fprintf(stderr, "%s: %s\n", c->paths[which], form);
	run_tsdb(c, &m, form, &random);
	model_free_copy(&m);
	free(path);
}

/* A trace as it is through a tool. */
static void run_as_is(const struct cases *c, uint64_t number)
{
	const size_t which = number / COUNT(runs);
	char *path = xasprintf("%s/t.sbt", c->work);
	uint64_t random = number;

	err_free(copy_file(c->paths[which], path));
	if (c->verbose)
		fprintf(stderr, "%s: %s\n", c->paths[which], runs[number % COUNT(runs)]);
	run_tsdb(c, &models[which], runs[number % COUNT(runs)], &random);
	free(path);
}

uint64_t cases_as_is(const struct cases *c)
{
	return c->n * COUNT(runs);
}

/* --- findings --- */

static bool has_one(const char *line, const char *const *words)
{
	for (; *words; words++)
		if (strstr(line, *words))
			return true;
	return false;
}

static void keep_trace(const struct cases *c, uint64_t seed)
{
	char *from = xasprintf("%s/t.sbt", c->work),
	     *to = xasprintf("%s/case-%" PRIu64 ".sbt", c->keep, seed);
	struct err *e = copy_file(from, to);

	if (e)
		dprintf(c->out, "# %s is not kept: %s\n", to, e->what);
	err_free(e);
	free(from);
	free(to);
}

static bool look_at(int out, char *text, uint64_t seed)
{
	static const char *const finding[] = {
		"ERROR: AddressSanitizer", "runtime error:", "tsdb: bug at", NULL};
	static const char *const telling[] = {
		"ERROR: AddressSanitizer", "runtime error:", "tsdb: bug at", " in ", NULL};
	char *at = NULL;
	unsigned shown = 0;
	bool found = false;

	for (char *line = strtok_r(text, "\n", &at); line && shown < 14;
		line = strtok_r(NULL, "\n", &at)) {
		if (!found && has_one(line, finding)) {
			dprintf(out, "# finding: seed %" PRIu64 "\n", seed);
			found = true;
		}
		if (found && has_one(line, telling)) {
			dprintf(out, "#   %.400s\n", line);
			shown++;
		}
	}
	return found;
}

bool cases_look(const struct cases *c, uint64_t seed)
{
	struct stat st;
	char *text;
	size_t n;
	bool found;

	if (c->said < 0 || fstat(c->said, &st) || !st.st_size)
		return false;
	n = st.st_size < LOOK_MAX ? (size_t)st.st_size : LOOK_MAX;
	text = xcalloc(n + 1, 1);
	(void)!pread(c->said, text, n, 0);
	found = look_at(c->out, text, seed);
	free(text);
	if (found && c->keep)
		keep_trace(c, seed);
	return found;
}

/* --- the worker --- */

static void limit(int what, rlim_t soft, rlim_t hard)
{
	const struct rlimit l = {soft, hard};

	setrlimit(what, &l);
}

static void limit_case(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	limit(RLIMIT_CPU, (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + CASE_CPU,
		RLIM_INFINITY);
	alarm(CASE_WALL);
}

static void empty(const char *folder, unsigned depth)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *path = xasprintf("%s/%s", folder, e->d_name);

		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlink(path) &&
			depth < 4) {
			empty(path, depth + 1);
			rmdir(path);
		}
		free(path);
	}
	if (d)
		closedir(d);
}

static void surround(struct cases *c)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	setpgid(0, 0);
	dup2(null, 0);
	if (!c->verbose) {
		dup2(null, 1);
		dup2(c->said, 2);
	}
	close(null);
	limit(RLIMIT_FSIZE, 256u << 20, 256u << 20);
	limit(RLIMIT_CORE, 0, 0);
}

/* Libraries of this machine are no part of a case. */
static void estrange(struct model *m)
{
	for (size_t i = 0; i < m->nmodules; i++)
		m->modules[i].build_id = "00";
}

static void read_traces(struct cases *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct err *e = model_read(&models[i], c->paths[i]);

		estrange(&models[i]);
		if (!e)
			continue;
		dprintf(c->out, "Bail out! %s: %s\n", c->paths[i], e->what);
		_exit(1);
	}
}

static void begin_case(const struct cases *c)
{
	limit_case();
	if (c->said >= 0)
		(void)!ftruncate(c->said, 0);
}

static void end_case(const struct cases *c, int first_free)
{
	spare_reap();
	close_range((unsigned)first_free, ~0u,
		0); /* what a next call would not find open in a fresh process */
	c->progress->findings += cases_look(c, c->progress->at);
	empty(c->work, 0);
	c->progress->cases++;
	c->progress->at++;
}

_Noreturn void cases_run(struct cases *c, uint64_t end)
{
	int first_free;

	surround(c);
	if (!spare_start())
		_exit(1);
	read_traces(c);
	first_free = open("/dev/null", O_RDONLY);
	close(first_free);
	while (c->progress->at < end && !c->progress->enough) {
		begin_case(c);
		if (c->as_is)
			run_as_is(c, c->progress->at);
		else
			run_changed(c, c->progress->at);
		end_case(c, first_free);
	}
	_exit(0);
}
