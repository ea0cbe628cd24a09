/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns for the names of traces, see names.h. Surprise: torchrun started by srun gives each
 * process a RANK of its own, while SLURM_PROCID is the node's; so the order of the variables
 * matters: the innermost launcher's comes first.
 */
#include "engine/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/proc-read.h"
#include "base/words.h"

enum { ENVIRON_MAX = 4 << 20 };

/* --- patterns --- */

bool names_has(const char *pattern, char what)
{
	for (const char *p = strchr(pattern, '%'); p && p[1]; p = strchr(p + 2, '%')) {
		if (p[1] == what)
			return true;
	}
	return false;
}

/* Appends a word that becomes part of a file's name. */
static void put_word(struct buf *b, const char *word)
{
	for (word = file_name_of(word); *word; word++)
		buf_byte(b, (unsigned char)*word > ' ' ? (uint8_t)*word : '_');
}

static void put_host(struct buf *b, const struct names *n)
{
	put_word(b, n->host ? n->host : "");
}

static void put_node(struct buf *b, const struct names *n)
{
	char *node = xstrdup(n->host ? n->host : "");

	node[strcspn(node, ".")] = '\0';
	put_word(b, node);
	free(node);
}

static void put_process(struct buf *b, const struct names *n)
{
	buf_printf(b, "%d", (int)n->pid);
}

static void put_program(struct buf *b, const struct names *n)
{
	put_word(b, n->program ? n->program : "");
}

static void put_rank(struct buf *b, const struct names *n)
{
	buf_printf(b, n->rank >= 0 ? "%lld" : "p%lld",
		n->rank >= 0 ? (long long)n->rank : (long long)n->pid);
}

static void put_job(struct buf *b, const struct names *n)
{
	put_word(b, n->job ? n->job : "none");
}

static void put_array(struct buf *b, const struct names *n)
{
	put_word(b, n->array ? n->array : "none");
}

static void put_shard(struct buf *b, const struct names *n)
{
	buf_printf(b, "%u", (unsigned)n->shard);
}

static void put_percent(struct buf *b, const struct names *n)
{
	(void)n;
	buf_byte(b, '%');
}

/* What may follow a percent sign. */
static const struct place {
	char letter;
	void (*put)(struct buf *b, const struct names *n);
	const char *is;
} places[] = {
	{'h', put_host, "the host's name"},
	{'N', put_node, "its first part"},
	{'p', put_process, "the process"},
	{'n', put_program, "the program"},
	{'r', put_rank, "the rank"},
	{'j', put_job, "the job"},
	{'a', put_array, "its index in an array"},
	{'k', put_shard, "the shard"},
	{'%', put_percent, "a percent sign"},
};
#define PLACES (sizeof places / sizeof *places)

static const struct place *place_of(char letter)
{
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].letter == letter)
			return &places[i];
	return NULL;
}

struct err *names_check(const char *pattern)
{
	struct buf cure = BUF_INIT;
	struct err *e;
	const char *p = strchr(pattern, '%');

	while (p && p[1] && place_of(p[1]))
		p = strchr(p + 2, '%');
	if (!p)
		return NULL;
	for (size_t i = 0; i < PLACES; i++)
		buf_printf(&cure, "%s%%%c %s%s", i ? ", " : "", places[i].letter, i ? "" : "is ",
			places[i].is);
	e = err_cure(err_new(ERR_USAGE, "\"%%%c\" in the file name %s means nothing",
			     p[1] ? p[1] : ' ', pattern),
		"%s", buf_cstr(&cure));
	buf_free(&cure);
	return e;
}

char *names_expand(const char *pattern, const struct names *n)
{
	struct buf b = BUF_INIT;

	for (const char *p = pattern; *p; p++) {
		const struct place *place = *p == '%' ? place_of(p[1]) : NULL;

		if (place) {
			place->put(&b, n);
			p++;
		} else {
			buf_byte(&b, (uint8_t)*p);
		}
	}
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

char *names_numbered(const char *path, unsigned long n)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	int len = dot ? (int)(dot - path) : (int)strlen(path);

	return xasprintf("%.*s.%lu%s", len, path, n, dot ? dot : "");
}

/* --- ranks --- */

/* The value of a variable, when it is a small whole number; -1 otherwise. */
static int64_t find_number(const char *environ, size_t n, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = environ, *end = environ + n; p < end;
		p += strnlen(p, (size_t)(end - p)) + 1) {
		size_t m = strnlen(p, (size_t)(end - p));
		uint64_t v = 0;

		if (m <= len + 1 || m > len + 10 || p + m >= end || strncmp(p, name, len) ||
			p[len] != '=')
			continue;
		for (const char *d = p + len + 1; d < p + m; d++) {
			if (*d < '0' || *d > '9')
				return -1;
			v = v * 10 + (uint64_t)(*d - '0');
		}
		return (int64_t)v;
	}
	return -1;
}

void names_rank(const char *environ, size_t n, int64_t *ret_rank, int64_t *ret_ranks)
{
	static const struct {
		const char *rank, *ranks;
	} launchers[] = {{"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMIX_RANK", "PMIX_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
		{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};

	*ret_rank = *ret_ranks = -1;
	for (size_t i = 0; *ret_rank < 0 && i < sizeof launchers / sizeof *launchers; i++) {
		*ret_rank = find_number(environ, n, launchers[i].rank);
		*ret_ranks = find_number(environ, n, launchers[i].ranks);
	}
	if (*ret_rank < 0)
		*ret_ranks = -1;
}

/* A file of /proc, which has no size; heap, *ret_n bytes and a NUL. */
static char *read_proc(pid_t pid, const char *name, size_t *ret_n)
{
	struct buf b = BUF_INIT;

	(void)proc_read(pid ? pid : getpid(), name, ENVIRON_MAX, &b);
	*ret_n = b.len;
	return buf_steal(&b);
}

void names_rank_of(pid_t pid, int64_t *ret_rank, int64_t *ret_ranks)
{
	size_t n;
	char *environ = read_proc(pid, "environ", &n);

	names_rank(environ, n, ret_rank, ret_ranks);
	free(environ);
}

/* The first that is set and not empty; NULL: none. */
static const char *first_set(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

struct names names_own(void)
{
	static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID",
		NULL},
				 *const arrays[] = {"SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX",
					 "PBS_ARRAYID", "LSB_JOBINDEX", "SGE_TASK_ID",
					 "JOB_COMPLETION_INDEX", NULL};
	struct names n = {.host = names_host(),
		.pid = getpid(),
		.job = first_set(jobs),
		.array = first_set(arrays)};
	int64_t ranks;

	names_rank_of(0, &n.rank, &ranks);
	return n;
}

char *names_host(void)
{
	struct utsname u;

	return xstrdup(uname(&u) ? "localhost" : u.nodename);
}

char *names_command(pid_t pid)
{
	size_t n;
	unsigned argc = 0;
	char *text = read_proc(pid, "cmdline", &n), *line;
	char **argv = xcalloc(n + 1, sizeof *argv);

	for (char *p = text; p < text + n; p += strlen(p) + 1)
		argv[argc++] = p;
	line = words_join(argv, argc);
	free(argv);
	free(text);
	return line;
}
