/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-texts.h.
 */
#include "order/races/ptx-texts.h"

#include <stdlib.h>

struct err *ptx_texts_read(struct ptx_texts *t, struct sbt_reader *trace)
{
	uint64_t hash;
	enum code_kind kind;

	if (t->read)
		return NULL;
	t->read = true;
	for (unsigned i = 0; sbt_reader_code_at(trace, i, &hash, &kind); i++) {
		if (kind != CODE_PTX)
			continue;
		t->text = xrealloc(t->text, (t->n + 1) * sizeof *t->text);
		t->text[t->n] = (struct buf)BUF_INIT;
		TRY(sbt_reader_code(trace, hash, &t->text[t->n++], &kind));
	}
	return NULL;
}

void ptx_texts_free(struct ptx_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_free(&t->text[i]);
	free(t->text);
	*t = (struct ptx_texts){0};
}
