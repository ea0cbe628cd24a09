/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of traces when there are many processes: patterns such as "run.%h.%p.sbt". Also finds which
 * rank a process is, and which shard of a job's work.
 */
#ifndef ENGINE_NAMES_H
#define ENGINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

/* The values of a pattern's places. */
struct names {
	char *host;	     /* %h; %N: up to its first dot */
	const char *program; /* %n: a path is cut to its last part */
	pid_t pid;	     /* %p */
	int64_t rank;	     /* %r; -1: not known, "pPID" is used instead */
	/* Of a job engine: %j the job, %a its index in an array. NULL: "none" is used instead */
	const char *job, *array;
	uint32_t shard; /* %k */
};

/* What this process knows of itself, without a program. The strings are getenv()'s, except host,
 * which the caller frees. */
struct names names_own(void);

/* Returns ERR_USAGE when pattern has an unknown place. */
struct err *names_check(const char *pattern) TS_CHECK;
/* Whether pattern has the place %what. */
bool names_has(const char *pattern, char what);
/* Makes the file name, a heap string. Unknown places stay as they are. */
char *names_expand(const char *pattern, const struct names *n);
/* Makes "app.2.sbt" from "app.sbt"; heap. */
char *names_numbered(const char *path, unsigned long n);

/* Finds the rank and the number of ranks in launchers' variables. environ: NAME=value strings, each
 * with its NUL, n bytes in all. -1: not known. */
void names_rank(const char *environ, size_t n, int64_t *ret_rank, int64_t *ret_ranks);
/* The same for a process, from the environment that it was started with; 0: this process. */
void names_rank_of(pid_t pid, int64_t *ret_rank, int64_t *ret_ranks);
/* ---- names-shard.c: which part of a job's work this process does ---- */

#define SHARDS_MAX 1000000

struct shard {
	uint32_t k, n; /* the k-th of n, from 1 */
};

/* Reads a variable of the environment, as getenv(). */
typedef const char *shard_variable(const char *name);

/* "K/N"; "auto": from the variables of Slurm, PBS, LSF, Grid Engine, MPI launchers or Kubernetes;
 * "auto/N" where those do not say how many there are. ERR_USAGE when it says nothing, or when the
 * job's array has gaps, so that parts would be missing. */
struct err *shard_parse(const char *word, shard_variable *get, struct shard *ret) TS_CHECK;

/* ---- */

/* This machine's name; heap. */
char *names_host(void);
/* The command line of a process, quoted for a shell; heap, "" if the process has ended. */
char *names_command(pid_t pid);

#endif
