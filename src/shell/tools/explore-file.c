/* SPDX-License-Identifier: Apache-2.0
 *
 * Files with results of exploring, see explore-words.h. A new file is on the disk before it gets
 * its name, so that a machine that loses its power leaves the old one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/member.h"
#include "shell/print/explore-text.h"
#include "shell/tools/explore-words.h"

static struct err *read_lines(struct explore_file *f, FILE *from)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	struct err *e = NULL;

	while (!e && (n = getline(&line, &cap, from)) > 0) {
		struct explore_result r;

		if (strspn(line, " \t\r\n") == (size_t)n)
			continue;
		e = explore_read(line, (size_t)n, f->path, &r);
		if (!e)
			explore_file_add(f, &r);
	}
	if (!e && ferror(from))
		e = err_sys(errno, "cannot read %s", f->path);
	free(line);
	return e;
}

struct err *explore_file_read(struct explore_file *f, bool needed)
{
	FILE *from = fopen(f->path, "re");
	struct err *e;

	if (!from)
		return errno == ENOENT && !needed ? NULL
						  : err_sys(errno, "cannot read %s", f->path);
	e = read_lines(f, from);
	fclose(from);
	return e;
}

struct explore_result *explore_file_window(struct explore_file *f, unsigned window)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->r[i].window == window)
			return &f->r[i];
	return NULL;
}

struct writing {
	const struct explore_file *f;
	const struct explore_result *r;
};

static struct err *put(void *arg, FILE *to)
{
	const struct writing *w = arg;
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < w->f->n; i++)
		if (!w->r || w->f->r[i].window != w->r->window)
			explore_json(&w->f->r[i], &b);
	if (w->r)
		explore_json(w->r, &b);
	fwrite(b.data, 1, b.len, to);
	buf_free(&b);
	if (fflush(to) || (fsync(fileno(to)) && errno != EINVAL && errno != EROFS))
		return err_sys(errno, "cannot write %s", w->f->path);
	return NULL;
}

struct err *explore_file_write(const struct explore_file *f, const struct explore_result *r)
{
	struct writing w = {f, r};

	return file_put(f->path, put, &w);
}

void explore_file_add(struct explore_file *f, struct explore_result *r)
{
	struct explore_result *was = explore_file_window(f, r->window);

	if (was) {
		explore_free(was);
		*was = *r;
	} else {
		MAKE_ROOM(f->r, f->n, f->cap);
		f->r[f->n++] = *r;
	}
	*r = (struct explore_result){0};
}

void explore_file_free(struct explore_file *f)
{
	for (size_t i = 0; i < f->n; i++)
		explore_free(&f->r[i]);
	free(f->r);
	free(f->path);
}
