/* SPDX-License-Identifier: Apache-2.0
 *
 * Source texts, see sources.h. A file's name is tried as the substitutions make it, then in each
 * folder: with its whole path, without its first part, and so on to the last name.
 */
#include "symbols/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/file.h"

enum { TEXT_MAX = 64 << 20 };

struct text {
	char *file; /* as the compiler has it */
	char *path, *bytes;
	size_t *lines;
	off_t size;
	struct source_text shown;
};
struct rule {
	char *from, *to;
};
struct sources {
	char **folders;
	unsigned nfolders;
	struct rule *rules;
	unsigned nrules;
	struct text **read, **kept;
	unsigned nread, nkept;
	bool without_kept; /* sources_use_kept() */
};

struct sources *sources_new(void)
{
	return xcalloc(1, sizeof(struct sources));
}

static void text_free(struct text *t)
{
	free(t->file);
	free(t->path);
	free(t->bytes);
	free(t->lines);
	free(t);
}

static void forget(struct text ***v, unsigned *n)
{
	for (unsigned i = 0; i < *n; i++)
		text_free((*v)[i]);
	free(*v);
	*v = NULL;
	*n = 0;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	sources_forget_folders(s);
	(void)sources_substitute(s, NULL, NULL);
	forget(&s->read, &s->nread);
	forget(&s->kept, &s->nkept);
	free(s);
}

/* --- where --- */

void sources_add_folder(struct sources *s, const char *folder, bool first)
{
	size_t n = strlen(folder);
	char *copy;

	while (n > 1 && folder[n - 1] == '/')
		n--;
	copy = strndup(folder, n);
	BUG_ON(!copy);
	s->folders = xrealloc(s->folders, (s->nfolders + 1) * sizeof *s->folders);
	if (first)
		memmove(s->folders + 1, s->folders, s->nfolders * sizeof *s->folders);
	s->folders[first ? 0 : s->nfolders] = copy;
	s->nfolders++;
	forget(&s->read, &s->nread);
}

void sources_forget_folders(struct sources *s)
{
	for (unsigned i = 0; i < s->nfolders; i++)
		free(s->folders[i]);
	free(s->folders);
	s->folders = NULL;
	s->nfolders = 0;
	forget(&s->read, &s->nread);
}

const char *sources_folder(const struct sources *s, unsigned i)
{
	return i < s->nfolders ? s->folders[i] : NULL;
}

static void drop_rule(struct sources *s, unsigned i)
{
	free(s->rules[i].from);
	free(s->rules[i].to);
	memmove(s->rules + i, s->rules + i + 1, (--s->nrules - i) * sizeof *s->rules);
}

bool sources_substitute(struct sources *s, const char *from, const char *to)
{
	bool had = false;

	for (unsigned i = s->nrules; i; i--) {
		if (from && strcmp(s->rules[i - 1].from, from) != 0)
			continue;
		drop_rule(s, i - 1);
		had = true;
	}
	if (!s->nrules) {
		free(s->rules);
		s->rules = NULL;
	}
	if (from && to) {
		s->rules = xrealloc(s->rules, (s->nrules + 1) * sizeof *s->rules);
		s->rules[s->nrules++] = (struct rule){xstrdup(from), xstrdup(to)};
	}
	forget(&s->read, &s->nread);
	return had;
}

bool sources_rule(const struct sources *s, unsigned i, const char **ret_from, const char **ret_to)
{
	if (i >= s->nrules)
		return false;
	*ret_from = s->rules[i].from;
	*ret_to = s->rules[i].to;
	return true;
}

static char *substituted(const struct sources *s, const char *file)
{
	for (unsigned i = 0; i < s->nrules; i++) {
		const size_t n = strlen(s->rules[i].from);

		if (!strncmp(file, s->rules[i].from, n) &&
			(!file[n] || file[n] == '/' || (n && file[n - 1] == '/')))
			return xasprintf("%s%s", s->rules[i].to, file + n);
	}
	return xstrdup(file);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* A heap string; NULL: it is nowhere. */
static char *locate(const struct sources *s, const char *file)
{
	char *path = substituted(s, file);

	if (is_file(path))
		return path;
	for (unsigned i = 0; i < s->nfolders; i++) {
		for (const char *rest = path; rest; rest = strchr(rest, '/')) {
			char *full;

			rest += strspn(rest, "/");
			full = xasprintf("%s/%s", s->folders[i], rest);
			if (*rest && is_file(full)) {
				free(path);
				return full;
			}
			free(full);
		}
	}
	free(path);
	return NULL;
}

/* --- texts --- */

static void index_lines(struct text *t, size_t n)
{
	unsigned cap = 0, nlines = 0;

	for (const char *p = t->bytes, *end = t->bytes + n; p < end;) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		MAKE_ROOM(t->lines, nlines, cap);
		t->lines[nlines++] = (size_t)(p - t->bytes);
		p = next ? next + 1 : end;
	}
	t->shown = (struct source_text){
		.path = t->path, .bytes = t->bytes, .lines = t->lines, .nlines = nlines};
}

/* A NUL within a text would end it for its readers. */
static struct text *text_new(const char *file, const char *path, char *bytes, size_t n)
{
	struct text *t = xcalloc(1, sizeof *t);

	for (size_t i = 0; i < n; i++)
		if (!bytes[i])
			bytes[i] = ' ';
	bytes[n] = 0;
	t->file = xstrdup(file);
	t->path = xstrdup(path);
	t->bytes = bytes;
	t->size = (off_t)n;
	index_lines(t, n);
	return t;
}

static struct err *read_all(int fd, const char *path, size_t size, char **ret, size_t *ret_n)
{
	*ret = xmalloc(size + 1);
	const int sys = file_take(fd, *ret, size, ret_n);

	if (!sys)
		return NULL;
	free(*ret);
	return err_sys(sys, "cannot read the source file %s", path);
}

static struct err *read_file(const char *file, const char *path, struct text **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct err *e;
	char *bytes;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		e = err_sys(errno, "cannot read the source file %s", path);
	} else if (!S_ISREG(st.st_mode) || st.st_size > TEXT_MAX) {
		e = err_new(ERR_LIMIT, "%s is no source file of at most 64 MiB", path);
	} else {
		e = read_all(fd, path, (size_t)st.st_size, &bytes, &n);
		if (!e) {
			*ret = text_new(file, path, bytes, n);
			(*ret)->shown.changed = st.st_mtime;
		}
	}
	if (fd >= 0)
		close(fd);
	return e;
}

static struct text **find(struct text **v, unsigned n, const char *file)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(v[i]->file, file))
			return &v[i];
	return NULL;
}

static bool is_fresh(const struct text *t)
{
	struct stat st;

	return !stat(t->path, &st) && st.st_mtime == t->shown.changed && st.st_size == t->size;
}

static struct err *get(struct sources *s, const char *file, const struct source_text **ret)
{
	struct text **have = find(s->read, s->nread, file), *t = NULL,
		    **kept = s->without_kept ? NULL : find(s->kept, s->nkept, file);
	char *path;
	struct err *e;

	if (kept) { /* what was compiled: the file may have changed since */
		*ret = &(*kept)->shown;
		return NULL;
	}
	if (have && is_fresh(*have)) {
		*ret = &(*have)->shown;
		return NULL;
	}
	path = locate(s, file);
	if (!path)
		return err_cure(err_new(ERR_NOT_FOUND, "the source file %s is not there", file),
			"Say where it is now with \"directory DIR\" or \"set substitute-path FROM TO\"");
	e = read_file(file, path, &t);
	free(path);
	TRY(e);
	if (have) {
		text_free(*have);
		*have = t;
	} else {
		s->read = xrealloc(s->read, (s->nread + 1) * sizeof *s->read);
		s->read[s->nread++] = t;
	}
	*ret = &t->shown;
	return NULL;
}

struct err *sources_get(
	struct sources *s, const char *file, const char *folder, const struct source_text **ret)
{
	char *full = *file != '/' && folder ? xasprintf("%s/%s", folder, file) : NULL;
	struct err *e = get(s, full ? full : file, ret);

	free(full);
	return e;
}

void sources_keep(struct sources *s, const char *file, const char *bytes, size_t n)
{
	struct text *t;

	if (n > TEXT_MAX || find(s->kept, s->nkept, file))
		return;
	t = text_new(file, file, memcpy(xmalloc(n + 1), bytes, n), n);
	t->shown.kept = true;
	s->kept = xrealloc(s->kept, (s->nkept + 1) * sizeof *s->kept);
	s->kept[s->nkept++] = t;
}

void sources_use_kept(struct sources *s, bool on)
{
	s->without_kept = !on;
}

void sources_forget_kept(struct sources *s)
{
	forget(&s->kept, &s->nkept);
}

const char *source_line(const struct source_text *t, unsigned line, size_t *ret_n)
{
	const char *p;

	*ret_n = 0;
	if (!line || line > t->nlines)
		return "";
	p = t->bytes + t->lines[line - 1];
	*ret_n = strcspn(p, "\r\n");
	return p;
}
