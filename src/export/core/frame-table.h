/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for frames and texts, for formats that write each once and refer to it: from 0, in the
 * order in which they first came. And which ids have come.
 */
#ifndef EXPORT_FRAME_TABLE_H
#define EXPORT_FRAME_TABLE_H

#include "export/core/samples.h"

/* Texts, equal ones once. Not copied: they must live as long as the table. */
struct text_table {
	const char **v;
	uint32_t n, cap;
	uint32_t *index;
	uint32_t slots;
	struct text_met *met; /* texts at addresses that were asked about lately */
};
uint32_t text_number(struct text_table *t, const char *s);
void text_table_free(struct text_table *t);

/* A frame of a host stack, or what was executed on the GPU. */
struct table_frame {
	const char *name, *file;				     /* file NULL: not known */
	unsigned line;						     /* of FRAME_RANK: the rank */
	enum { FRAME_HOST, FRAME_GPU, FRAME_COPY, FRAME_RANK } kind; /* GPU: a kernel or a graph */
	unsigned first_line; /* of a function with line 0: the least of those executed; 0: none */
};
struct frame_table {
	struct table_frame *v;
	uint32_t n, cap;
	uint32_t *index;
	uint32_t slots;
	struct text_table texts;
};
/* Of a function with the line in it that was executed. */
uint32_t frame_number(struct frame_table *t, const struct export_frame *f);
/* Of a function, whichever line was executed: line is 0, first_line the least one. */
uint32_t frame_number_of_function(struct frame_table *t, const struct export_frame *f);
/* The outermost frame of a set's samples. */
uint32_t frame_number_of_rank(struct frame_table *t, uint64_t rank);
uint32_t frame_number_of(struct frame_table *t, const struct sample *s);
void frame_table_free(struct frame_table *t);
/* Appends the frame's name: "main", "[GPU_Kernel]matmul". */
void frame_name_put(struct buf *out, const struct table_frame *f);

/* Which ids were met: a byte for each, which the owner frees. */
enum { MARKS_MAX = 1 << 22 };
struct id_marks {
	uint8_t *at;
	uint32_t n;
};
/* True once for each id below MARKS_MAX. */
bool id_is_new(struct id_marks *m, uint32_t id);

#endif
