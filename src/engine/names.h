/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of traces when there are many processes: patterns such as "run.%h.%p.sbt". Also finds which
 * rank a process is.
 */
#ifndef ENGINE_NAMES_H
#define ENGINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

/* The values of a pattern's places. */
struct names {
	const char *host;    /* %h */
	const char *program; /* %n: a path is cut to its last part */
	pid_t pid;	     /* %p */
	int64_t rank;	     /* %r; -1: not known, "pPID" is used instead */
};

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
/* This machine's name; heap. */
char *names_host(void);
/* The command line of a process, quoted for a shell; heap, "" if the process has ended. */
char *names_command(pid_t pid);

#endif
