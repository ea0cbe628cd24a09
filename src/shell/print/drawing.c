/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as pictures; see drawing.h. dot reads and writes files without names, as its standard
 * input and output: so no shell sees a file's name, a dot that ends early cannot end tsdb by
 * SIGPIPE, and only a whole picture replaces a file.
 */
#include "shell/print/drawing.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file.h"

extern char **environ;

/* dot's option for the file's kind; NULL: not a picture. */
static const char *kind_of(const char *path)
{
	static const char *const kinds[] = {"-Tsvg", "-Tpng", "-Tpdf"};
	const char *end = strrchr(path, '.');

	for (unsigned i = 0; end && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(end + 1, kinds[i] + 2))
			return kinds[i];
	return NULL;
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		const ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return false;
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static bool ended_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool run_dot(const char *kind, int from, int to)
{
	char *argv[] = {"dot", (char *)kind, NULL};
	posix_spawn_file_actions_t files;
	pid_t pid;
	bool good;

	if (posix_spawn_file_actions_init(&files))
		return false;
	good = !posix_spawn_file_actions_adddup2(&files, from, 0) &&
	       !posix_spawn_file_actions_adddup2(&files, to, 1) &&
	       !posix_spawnp(&pid, "dot", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return good && ended_well(pid);
}

static struct err *not_drawn(const char *path)
{
	return err_cure(err_new(ERR_UNSUPPORTED, "Graphviz's dot did not draw %s", path),
		"install graphviz, or write a .dot file");
}

/* Copies what dot wrote into fd to the file. */
static struct err *keep(const char *path, int fd)
{
	struct stat st;
	struct err *e;
	void *p;

	if (fstat(fd, &st) || st.st_size <= 0)
		return not_drawn(path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(errno, "%s cannot be written", path);
	e = file_write(path, p, (size_t)st.st_size);
	munmap(p, (size_t)st.st_size);
	return e;
}

static struct err *draw(const char *path, const char *kind, const struct buf *graph)
{
	const int from = memfd_create("graph", MFD_CLOEXEC),
		  to = memfd_create("picture", MFD_CLOEXEC);
	struct err *e = NULL;

	if (from < 0 || to < 0 || !write_all(from, (const char *)graph->data, graph->len) ||
		lseek(from, 0, SEEK_SET) < 0)
		e = err_sys(errno, "there is no memory for drawing %s", path);
	else if (!run_dot(kind, from, to))
		e = not_drawn(path);
	else
		e = keep(path, to);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return e;
}

struct err *drawing_write(const char *path, const struct buf *graph)
{
	const char *kind = kind_of(path);

	if (!kind)
		return file_write(path, graph->data, graph->len);
	TRY(file_can_create(path));
	return draw(path, kind, graph);
}
