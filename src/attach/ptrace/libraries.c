/* SPDX-License-Identifier: Apache-2.0
 *
 * What is mapped where in the inferior, from /proc/PID/maps, read again at the first question after
 * each stop. Paths and ELF layouts are kept for the inferior's life, so returned strings stay
 * valid.
 */
#include "attach/ptrace/inferior.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symbols/elf-facts.h"
#include "attach/ptrace/target.h"
#include "base/maps-at.h"
#include "base/maps-line.h"
#include "base/proc-read.h"

struct elf_known {
	char *path;
	int fd; /* of a file that was deleted since; -1 */
	struct elf_layout layout;
};

struct libraries {
	bool fresh;
	struct elf_known **files;
	unsigned nfiles;
	struct mapping *maps; /* executable ones of files, by address */
	unsigned nmaps, maps_cap;
	struct inferior_library *libs; /* one per file and bias */
	unsigned nlibs, libs_cap;
};

/* Opens a file that was deleted: through its mapping, which needs privileges, or through
 * /proc/PID/exe if it is the program. -1: neither works. */
static int open_deleted(const struct inferior *inf, const struct maps_line *m)
{
	char link[96], exe[4096];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", inf->pid,
		(unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/%d/exe", inf->pid);
	return !target_program(inf->pid, exe, sizeof(exe)) || strcmp(exe, m->path)
		       ? -1
		       : open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static struct elf_known *file_get(
	struct inferior *inf, struct libraries *l, const struct maps_line *m)
{
	struct elf_known *f;
	char file[64];

	for (unsigned i = 0; i < l->nfiles; i++)
		if (strcmp(l->files[i]->path, m->path) == 0)
			return l->files[i];
	f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(m->path);
	f->fd = maps_line_deleted(m) ? open_deleted(inf, m) : -1;
	snprintf(file, sizeof(file), "/proc/self/fd/%d", f->fd);
	elf_layout_read(f->fd < 0 ? f->path : file, &f->layout);
	if (f->fd >= 0)
		symbols_open(inferior_symbols(inf), f->path, file);
	l->files = xrealloc(l->files, (l->nfiles + 1) * sizeof(*l->files));
	l->files[l->nfiles++] = f;
	return f;
}

static void add_mapping(struct libraries *l, uint64_t start, uint64_t end, uint64_t bias,
	const char *path, bool deleted)
{
	MAKE_ROOM(l->maps, l->nmaps, l->maps_cap);
	l->maps[l->nmaps++] = (struct mapping){start, end, bias, path, deleted};
}

static void add_library(
	struct libraries *l, uint64_t start, uint64_t end, uint64_t bias, const struct elf_known *f)
{
	for (unsigned i = 0; i < l->nlibs; i++)
		if (l->libs[i].path == f->path) {
			if (start < l->libs[i].start)
				l->libs[i].start = start;
			if (end > l->libs[i].end)
				l->libs[i].end = end;
			return;
		}
	MAKE_ROOM(l->libs, l->nlibs, l->libs_cap);
	l->libs[l->nlibs++] = (struct inferior_library){
		start, end, bias, f->layout.has_symbols, f->layout.has_lines, f->path};
}

static void take_line(struct inferior *inf, struct libraries *l, char *line)
{
	struct maps_line m;
	struct elf_known *f;
	uint64_t bias;

	if (!maps_line_parse(&m, line) || !m.x || m.path[0] != '/')
		return;
	f = file_get(inf, l, &m);
	if (!elf_layout_bias(&f->layout, m.start, m.offset, true, &bias))
		bias = m.start - m.offset;
	add_mapping(l, m.start, m.end, bias, f->path, maps_line_deleted(&m));
	if (f->layout.nloads)
		add_library(l, m.start, m.end, bias, f);
}

static void take_lines(struct inferior *inf, struct libraries *l, struct buf *text)
{
	char *all = buf_steal(text), *rest = all, *line;

	while ((line = proc_next_line(&rest)))
		take_line(inf, l, line);
	free(all);
}

static struct libraries *libraries_get(struct inferior *inf)
{
	struct libraries *l = inf->libraries;
	struct buf text = BUF_INIT;

	if (!l)
		l = inf->libraries = xcalloc(1, sizeof(*l));
	if (l->fresh || !inf->alive)
		return l;
	if (proc_read(inf->pid, "maps", MAPS_MOST, &text)) {
		l->nmaps = l->nlibs = 0;
		take_lines(inf, l, &text);
		l->fresh = !inf->running;
	}
	buf_free(&text);
	return l;
}

void libraries_stale(struct inferior *inf)
{
	if (inf->libraries)
		inf->libraries->fresh = false;
}

const struct mapping *libraries_at(struct inferior *inf, uint64_t addr)
{
	struct libraries *l = libraries_get(inf);

	return MAPS_AT(l->maps, l->nmaps, addr);
}

bool inferior_library(struct inferior *inf, unsigned i, struct inferior_library *ret)
{
	struct libraries *l = libraries_get(inf);

	if (i >= l->nlibs)
		return false;
	*ret = l->libs[i];
	return true;
}

void libraries_free(struct inferior *inf)
{
	struct libraries *l = inf->libraries;

	if (!l)
		return;
	for (unsigned i = 0; i < l->nfiles; i++) {
		if (l->files[i]->fd >= 0)
			close(l->files[i]->fd);
		free(l->files[i]->path);
		free(l->files[i]);
	}
	free(l->files);
	free(l->maps);
	free(l->libs);
	free(l);
	inf->libraries = NULL;
}
