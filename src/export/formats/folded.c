/* SPDX-License-Identifier: Apache-2.0
 *
 * Folded stacks: "main;step;[GPU_Kernel]matmul 1234", a line for each stack and kernel, outermost
 * function first. The separators are not escaped in that format, so in names they are replaced.
 */
#include <inttypes.h>
#include "export/core/samples.h"
#include "export/formats/formats.h"

/* From offset `from` on: no separator and nothing that ends a line. */
static void plain(struct buf *b, size_t from)
{
	for (size_t i = from; i < b->len; i++) {
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if (b->data[i] < ' ' || b->data[i] == 0x7f)
			b->data[i] = '?';
	}
}

static void put(struct export_job *j, const struct sample *s)
{
	const struct export_stack *st = s->stack;
	struct buf *b = &j->line;
	size_t from;

	if (sample_rank(b, j, s))
		buf_byte(b, ';');
	for (unsigned i = 0; st && i < st->n; i++) {
		from = b->len;
		sample_frame(b, &st->frames[i]);
		plain(b, from);
		buf_byte(b, ';');
	}
	from = b->len;
	sample_leaf(b, s);
	plain(b, from);
	buf_printf(b, " %" PRIu64 "\n", sample_weight(s, j->ask->weight));
}

static struct err *put_all(struct export_job *j, const struct samples *s)
{
	TRY(samples_weighed(s, j));
	for (uint32_t i = 0; i < s->n; i++) {
		if (sample_weight(&s->v[i], j->ask->weight))
			put(j, &s->v[i]);
		TRY(export_flush_some(j));
	}
	return NULL;
}

struct err *export_folded(struct export_job *j)
{
	return samples_put(j, put_all);
}
