/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds processes by name: the one that `ps` shows, the file name of the program, or argv[0].
 */
#include "attach/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/ptrace/inferior.h"
#include "attach/ptrace/target.h"
#include "base/file.h"
#include "base/proc-read.h"

#define LOOK_NS 1000000
#define CMDLINE_MAX 4095u /* bytes of a command line that are looked at */
#define WORDS_MAX 6u	  /* of a command line, among which Python's script is */

static bool read_text(pid_t pid, const char *what, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		n = 0;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return n > 0;
}

/* Whether the process calls itself so (ps cuts names at 15 bytes), or runs a Python script of that
 * name. */
static bool is_word(pid_t pid, const char *name)
{
	struct buf b = BUF_INIT;
	bool ret = false;
	size_t at = 0;

	(void)proc_read(pid, "cmdline", CMDLINE_MAX, &b);
	const char *text = buf_cstr(&b);
	for (unsigned word = 0; at < b.len && word < WORDS_MAX && !ret; word++) {
		if (word && strncmp(file_name_of(text), "python", 6) != 0)
			break;
		ret = !strcmp(file_name_of(text + at), name);
		at += strlen(text + at) + 1;
	}
	buf_free(&b);
	return ret;
}

static bool is_called(pid_t pid, const char *name)
{
	char text[4096];

	if (read_text(pid, "comm", text, sizeof(text)) && !strcmp(text, name))
		return true;
	if (target_program(pid, text, sizeof(text)) && !strcmp(file_name_of(text), name))
		return true;
	return is_word(pid, name);
}

/* Kernel threads, zombies and processes that have not got past exec have no command line. */
static bool has_program(pid_t pid)
{
	struct buf b = BUF_INIT;
	const bool ret = proc_read(pid, "cmdline", 1, &b) && b.len && b.data[0];

	buf_free(&b);
	return ret;
}

unsigned inferior_find(const char *name, pid_t *ret, unsigned max)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	unsigned n = 0;

	while (dir && (d = readdir(dir))) {
		pid_t pid = d->d_name[0] >= '1' && d->d_name[0] <= '9' ? atoi(d->d_name) : 0;

		if (!pid || pid == getpid() || !is_called(pid, name) || !has_program(pid))
			continue;
		if (n < max)
			ret[n] = pid;
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

bool inferior_await(
	const char *name, const pid_t *old, unsigned nold, volatile bool *interrupt, pid_t *ret)
{
	enum { NEW_MAX = 1024 };
	pid_t now[NEW_MAX];

	while (!*interrupt) {
		unsigned n = inferior_find(name, now, NEW_MAX);

		for (unsigned i = 0; i < n && i < NEW_MAX; i++) {
			bool known = false;

			for (unsigned k = 0; k < nold && !known; k++)
				known = old[k] == now[i];
			if (!known) {
				*ret = now[i];
				return true;
			}
		}
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return false;
}
