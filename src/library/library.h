/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room library: the inside of include/tracesmith/tracesmith.h, which is its door.
 */
#ifndef LIBRARY_LIBRARY_H
#define LIBRARY_LIBRARY_H

#include <tracesmith/tracesmith.h>

#include "base/err.h"
#include "base/memory-door.h"
#include "sbt/sbt.h"
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

struct kernel_name {
	uint64_t id;
	char *name;
};
struct ts_trace {
	bool broken; /* memory was out while it, or a cursor of it, was at work */
	struct sbt_reader *reader;
	struct symbols *symbols;     /* NULL until the first stack */
	struct kernel_name *kernels; /* by id, once kernels_read */
	size_t nkernels, cap_kernels;
	bool kernels_read;
};

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
