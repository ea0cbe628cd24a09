/* SPDX-License-Identifier: Apache-2.0
 *
 * A program's signals are the program's: threads that the software GPU makes block them, and the
 * thread that made them has its own mask again.
 */
#ifndef THREAD_SIGNALS_H
#define THREAD_SIGNALS_H

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The signals that a task of this process blocks; all of them when it has ended. */
static inline uint64_t blocked_by(const char *tid)
{
	char path[300], line[200];
	unsigned long long mask = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "SigBlk: %llx", &mask);
	if (f)
		fclose(f);
	return mask;
}

/* Whether a thread has that name, which tsdb tells them from a program's by. */
static inline bool a_thread_is_called(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		char path[300], is[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(is, sizeof(is), f)) {
			is[strcspn(is, "\n")] = 0;
			found |= strcmp(is, name) == 0;
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* How many threads there are beside the first; -1: one of them takes a signal that programs use, or
 * the first one does not. */
static inline int threads_without_signals(void)
{
	static const int used[] = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGPROF};
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		const int first = atoi(e->d_name) == (int)getpid();
		const uint64_t blocked = e->d_name[0] == '.' ? 0 : blocked_by(e->d_name);

		if (e->d_name[0] == '.' || n < 0)
			continue;
		n += !first;
		for (unsigned k = 0; k < sizeof(used) / sizeof(used[0]); k++)
			if ((blocked >> (used[k] - 1) & 1) == (unsigned)first)
				n = -1;
	}
	if (d)
		closedir(d);
	return n;
}

#endif
