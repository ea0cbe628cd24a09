/* SPDX-License-Identifier: Apache-2.0
 *
 * The two halves of the sqlite export: tsdb's own tables and the pass (sqlite.c), Nsight Systems'
 * tables (sqlite-nsight.c).
 */
#ifndef EXPORT_SQLITE_PARTS_H
#define EXPORT_SQLITE_PARTS_H

#include "export/core/frame-table.h"
#include "export/formats/sqlite-out.h"

struct sqlite {
	struct export_job *j;
	struct db db;
	struct text_table texts;
	uint32_t texts_told;
	struct id_marks stacks; /* those that were put */
};

/* The number of a text in StringIds. It must live as long as the export. */
uint64_t sqlite_text(struct sqlite *q, const char *s);
/* The next six columns: grid and block. */
void sqlite_dims(struct db *d, const struct sbt_cmd_launch *l);

/* depth 0: the innermost function of the stack. */
void nsight_frame(struct sqlite *q, uint32_t id, unsigned depth, const struct export_frame *f);
/* st: the command's stack; NULL: it has none. */
void nsight_event(struct sqlite *q, const struct export_event *ev, const struct export_stack *st);
/* What is known when all commands were seen. */
void nsight_end(struct sqlite *q);

#endif
