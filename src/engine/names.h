/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of traces when there are many processes: patterns such as "run.%h.%p.sbt", and which rank a process is.
 */
#ifndef ENGINE_NAMES_H
#define ENGINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

/* What the places of a pattern stand for. */
struct names {
	const char *host;    /* %h */
	const char *program; /* %n: a path is cut to its last part */
	pid_t pid;	     /* %p */
	int64_t rank;	     /* %r; -1: not known, "pPID" stands for it */
};

/* ERR_USAGE when pattern has a place that means nothing. */
struct err *names_check(const char *pattern) TS_CHECK;
/* Whether pattern has the place %what. */
bool names_has(const char *pattern, char what);
/* The file name, a heap string. A place that means nothing stays as it is. */
char *names_expand(const char *pattern, const struct names *n);
/* "app.sbt" as "app.2.sbt"; heap. */
char *names_numbered(const char *path, unsigned long n);

/* The rank and the number of ranks that variables of launchers tell: environ is NAME=value strings, each with its NUL, n bytes in all. -1: not known. */
void names_rank(const char *environ, size_t n, int64_t *ret_rank, int64_t *ret_ranks);
/* The same of a process, by the environment that it was started with; 0: this one. */
void names_rank_of(pid_t pid, int64_t *ret_rank, int64_t *ret_ranks);
/* This machine's name; heap. */
char *names_host(void);
/* The command line of a process, quoted for a shell; heap, "" when it is gone. */
char *names_command(pid_t pid);

#endif
