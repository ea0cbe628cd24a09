/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of the source that kernels were made from, as their PTX says (nvcc -lineinfo), or the
 * line table of their code object (hipcc -gline-tables-only): of a trace, or of a program that has
 * not run yet.
 */
#ifndef ENGINE_KERNEL_LINES_H
#define ENGINE_KERNEL_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct sbt_reader;

struct kernel_line {
	const char *kernel; /* mangled */
	const char *file;   /* NULL: the kernel has no lines; then it is in the list once */
	unsigned line;
	unsigned ptx; /* the first line of the PTX that it has, or address in the code object */
};
/* A line of a device function: any kernel of its PTX may call it. */
struct device_line {
	const char *file;
	unsigned line;
	unsigned first, end; /* the kernels of the PTX: v[first] to v[end - 1] */
};
struct kernel_lines {
	struct kernel_line *v;
	unsigned n;
	struct device_line *device;
	unsigned ndevice, device_cap;
	char **texts; /* that v points to */
	unsigned ntexts;
};
/* The caller frees *ret. */
struct err *kernel_lines_of_trace(struct sbt_reader *r, struct kernel_lines *ret) TS_CHECK;
/* Those of one code of the trace. */
struct err *kernel_lines_of_code(
	struct sbt_reader *r, uint64_t hash, struct kernel_lines *ret) TS_CHECK;
void kernel_lines_of_program(const char *path, struct kernel_lines *ret);
/* Calls each with every PTX of a trace, or of a program. */
struct err *kernel_texts_of_trace(
	struct sbt_reader *r, void (*each)(void *arg, const char *text), void *arg) TS_CHECK;
void kernel_texts_of_program(
	const char *path, void (*each)(void *arg, const char *text), void *arg);
void kernel_lines_free(struct kernel_lines *l);
/* The first line at or behind `line` that some kernel, or device function, has in a file called so
 * (a name, or the end of a path); 0: none. *ret_known: there is such a file. */
unsigned kernel_lines_find(
	const struct kernel_lines *l, const char *file, unsigned line, bool *ret_known);

#endif
