/* SPDX-License-Identifier: Apache-2.0
 *
 * Source texts by the names that compilers gave them: found on disk by folders and substitutions
 * that the user gives, or kept in a trace. One for a session, used by one thread.
 */
#ifndef SYMBOLS_SOURCES_H
#define SYMBOLS_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include "base/err.h"

struct source_text {
	const char *path;    /* where it was found; of a kept one, the compiler's name */
	const char *bytes;   /* ends in NUL */
	const size_t *lines; /* where line i + 1 begins */
	unsigned nlines;
	time_t changed; /* 0: it was kept */
	bool kept;	/* of the trace, not of the disk */
};

struct sources;
struct sources *sources_new(void);
void sources_free(struct sources *s); /* NULL is fine */

/* Folders that are searched for a file that is not where the compiler found it, first to last. */
void sources_add_folder(struct sources *s, const char *folder, bool first);
void sources_forget_folders(struct sources *s);
const char *sources_folder(const struct sources *s, unsigned i); /* NULL: past the end */
/* A name that begins with `from`, up to a whole part of the path, begins with `to` from now on. to
 * NULL: forgets the rule; from NULL: all of them. False: there was no such rule. */
bool sources_substitute(struct sources *s, const char *from, const char *to);
bool sources_rule(const struct sources *s, unsigned i, const char **ret_from, const char **ret_to);
/* Keeps the text of a file of the open trace. */
void sources_keep(struct sources *s, const char *file, const char *bytes, size_t n);
void sources_forget_kept(struct sources *s);
/* Whether kept texts come first; else they are not used. On at first. */
void sources_use_kept(struct sources *s, bool on);

/* The text of a file, which if relative is so to `folder` (may be NULL); read anew when it has
 * changed. *ret lives until the next call that changes s or finds the same file changed. Errors: it
 * is nowhere, or is larger than 64 MiB. */
struct err *sources_get(struct sources *s, const char *file, const char *folder,
	const struct source_text **ret) TS_CHECK;
/* Line `line` without its end; *ret_n 0 when there is none. */
const char *source_line(const struct source_text *t, unsigned line, size_t *ret_n);

#endif
