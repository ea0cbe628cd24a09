/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the source files that a trace's frames and kernels are of (`capture sources`,
 * `record --sources`), so that it shows its lines where the files are not, or are others. Only what
 * a debugger would show: files of the system, under /usr, are left out, and so are files that are
 * larger than SBT_SOURCE_MAX and what is beyond SOURCES_MOST together.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "engine/kernel-lines.h"
#include "engine/record/recorder-inside.h"
#include "symbols/sources.h"

enum { FILES_MOST = 4096, SOURCES_MOST = 16 << 20, PROGRAM_MOST = 64 << 20 };

struct source_names {
	char **v;
	size_t n, cap;
};

void recorder_sources_free(struct recorder *r)
{
	for (size_t i = 0; r->sources && i < r->sources->n; i++)
		free(r->sources->v[i]);
	if (r->sources)
		free(r->sources->v);
	free(r->sources);
	r->sources = NULL;
}

void recorder_sources_note(struct recorder *r, const char *file, const char *folder)
{
	struct source_names *s = r->sources;
	char *full;

	if (!r->o.sources || !file || !*file || !strncmp(file, "/usr/", 5) || *file == '<')
		return;
	if (!s)
		s = r->sources = xcalloc(1, sizeof *s);
	full = *file != '/' && folder ? xasprintf("%s/%s", folder, file) : xstrdup(file);
	for (size_t i = s->n; i; i--)
		if (!strcmp(s->v[i - 1], full) || s->n == FILES_MOST) {
			free(full);
			return;
		}
	MAKE_ROOM(s->v, s->n, s->cap);
	s->v[s->n++] = full;
}

void recorder_sources_note_kernels(struct recorder *r, const char *program)
{
	struct kernel_lines l;
	const char *last = NULL;
	struct stat st;

	if (!r->o.sources || !strncmp(program, "/usr/", 5) || stat(program, &st) ||
		!S_ISREG(st.st_mode) || st.st_size > PROGRAM_MOST)
		return;
	kernel_lines_of_program(program, &l);
	for (unsigned i = 0; i < l.n; i++) {
		if (l.v[i].file != last)
			recorder_sources_note(r, l.v[i].file, NULL);
		last = l.v[i].file;
	}
	kernel_lines_free(&l);
}

struct err *recorder_sources_write(struct recorder *r)
{
	struct sources *sources;
	size_t bytes = 0;
	struct err *e = NULL;

	if (!r->sources)
		return NULL;
	sources = sources_new();
	for (size_t i = 0; !e && i < r->sources->n; i++) {
		const struct source_text *t;
		struct err *gone = sources_get(sources, r->sources->v[i], NULL, &t);
		const size_t n = gone ? 0 : strlen(t->bytes);

		err_free(gone); /* the compiler saw it, and it is not here any more */
		if (!n || n > SBT_SOURCE_MAX || bytes + n > SOURCES_MOST)
			continue;
		bytes += n;
		e = sbt_writer_source(r->w, r->sources->v[i], t->bytes, n);
	}
	sources_free(sources);
	return e;
}
