/* SPDX-License-Identifier: Apache-2.0
 *
 * Where functions, kernels and lines are in the program's source: of the live program and its
 * libraries, of a trace's kernels and of the files that its stacks name, of a program that has not
 * run yet.
 */
#ifndef SHELL_SOURCE_PLACE_H
#define SHELL_SOURCE_PLACE_H

#include "shell/line/session.h"

struct kernel_lines;

enum { LIST_LINES = 10 };

/* A place whose texts are its own. */
struct source_found {
	char *file, *folder; /* folder: NULL when not known */
	unsigned line;
};
void source_found_free(struct source_found *f);

/* The path of the i-th file whose functions and lines are meant; "": one that is left out; NULL:
 * past the end. *program is NULL at first; the caller frees it at the end. */
const char *source_binary(struct session *s, unsigned i, char **program);
/* Address in the program that runs = address in the i-th file + this; 0: it does not run. */
uint64_t source_bias(struct session *s, unsigned i);
/* The lines of all kernels; the caller frees *ret. */
struct err *source_kernel_lines(struct session *s, struct kernel_lines *ret) TS_CHECK;
/* Where a function of the host begins; false: none with lines is called so. */
bool source_of_function(struct session *s, const char *name, struct source_found *ret);
/* The first line of a kernel. */
struct err *source_of_kernel(
	struct session *s, const char *name, struct source_found *ret, bool *ret_found) TS_CHECK;
/* A source file by its name or the end of its path: of the place, of kernels, of the host. */
struct err *source_of_file(
	struct session *s, const char *name, unsigned line, struct source_found *ret) TS_CHECK;

/* The name of the file that a line without one is in; a heap string. */
struct err *source_default_file(struct session *s, char **ret) TS_CHECK;
/* The place that text means: "N", "FILE:N", a function or a kernel. The caller frees *ret. */
struct err *source_of_place(struct session *s, const char *text, struct source_found *ret) TS_CHECK;

/* Splits "FILE:N" and "N"; false: it is neither. *ret_file, a heap string; NULL: a line alone. */
bool source_parse_line(const char *text, char **ret_file, unsigned *ret_line);
/* Parses "N", "N,M", ",M" or "N,": the lines that `list` shows for it. */
bool source_parse_range(const char *text, unsigned *ret_first, unsigned *ret_last);

#endif
