/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room library: the inside of include/tracesmith/tracesmith.h, which is its door.
 */
#ifndef LIBRARY_LIBRARY_H
#define LIBRARY_LIBRARY_H

#include <tracesmith/tracesmith.h>

#include "base/err.h"
#include "base/memory-door.h"
#include "lang/lang.h"
#include "sbt/sbt.h"
#include "sbt/fields.h"
#include "symbols/host-stack.h"

/* Keeps e's sentence for ts_error() and frees it; the number to return. NULL is TS_OK. */
int result_of(struct err *e);

/* What a function returns when memory is out, and from then on for the object that it was asked of,
 * whose insides are not whole any more. broken: the object's mark; NULL: there is no object yet. */
int library_no_memory(bool *broken);

/* At the beginning of a function that allocates: what it returns when memory is out, or was out
 * before. broken as above, not NULL. */
#define LIBRARY_DOOR(broken, value)                                                                \
	if (*(broken))                                                                             \
		return value;                                                                      \
	MEMORY_DOOR(door, return value)

/* A kernel that the trace defines. */
struct kernel_name {
	uint64_t id;
	char *name, *short_name;
	struct sbt_blob params; /* kernel_def.params, heap */
};
struct dictionary;
struct ts_trace {
	bool broken; /* memory was out while it, or a cursor of it, was at work */
	struct sbt_reader *reader;
	struct symbols *symbols;     /* NULL until the first stack */
	struct lang *lang;	     /* types of arguments; NULL until the first */
	struct kernel_name *kernels; /* by id, once kernels_read */
	size_t nkernels, cap_kernels;
	size_t last_kernel; /* the one that was asked for last */
	bool kernels_read;
	ts_session *session;	       /* for races and the like; NULL until the first */
	char *path;		       /* absolute; from malloc */
	struct dictionary *dictionary; /* texts of columns; NULL until the first */
};

struct filter;
struct ts_cursor {
	ts_trace *trace;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *at; /* NULL before the first and behind the last */
	struct ts_frame *frames;
	struct filter *filter;	  /* NULL: all commands */
	struct kernel_args *args; /* of the launch that it is at; NULL: not asked for yet */
};

/* To the next command that the filter takes; TS_END when there is none. */
int library_next(ts_cursor *c);
enum ts_type library_type(enum sbt_type t);

/* --- kernels --- */

/* The kernel with this id; NULL: the trace defines none. Valid until the next such question. */
const struct kernel_name *library_kernel(ts_trace *t, uint64_t id);
/* The kernel of a command that runs one; NULL: it runs none, or none that is known. */
const struct kernel_name *library_kernel_of(ts_trace *t, const struct sbt_cmd *c);
/* Where commands of a kind have the id of the kernel that they run; NULL: they run none. */
const struct sbt_field *library_kernel_field(unsigned kind);
/* Keeps a definition, if it is the first of its id. */
void library_kernel_passed(ts_trace *t, const struct sbt_cmd_kernel_def *d);
void library_kernels_free(ts_trace *t);

/* --- texts of columns --- */

/* The number of a text of n bytes, which is copied. */
struct err *library_code(ts_trace *t, const char *text, size_t n, uint64_t *ret) TS_CHECK;
void library_dictionary_free(struct dictionary *d); /* NULL is fine */

/* --- what is computed from fields --- */

/* A value that is no field of its kind, but follows from them; false: there is none. */
bool library_derived(const ts_cursor *c, const char *name, struct ts_value *ret);
/* Time on the GPU; TS_MISSING: not known. */
uint64_t library_gpu_ns(const struct sbt_cmd *c);

/* --- filters, arguments --- */

bool library_filter_takes(ts_cursor *c);
uint64_t library_filter_last(const ts_cursor *c);
void library_filter_free(struct filter *f); /* NULL is fine */
void library_args_free(ts_cursor *c);

/* Looks a number up by name in an array that a row without a name ends; TS_NOT_FOUND with a
 * sentence about `of`, for example "a trace". */
struct library_number {
	const char *name;
	uint64_t number;
};
int library_number(
	const struct library_number *numbers, const char *of, const char *name, uint64_t *ret);

/* One of the common fields, or the kind's own; NULL: there is none. */
const struct sbt_field *library_field(unsigned kind, const char *name);

#endif
