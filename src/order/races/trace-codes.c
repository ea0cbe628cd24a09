/* SPDX-License-Identifier: Apache-2.0
 *
 * See trace-codes.h. What of other code than PTX is AMD's, its bytes say alone; only in a trace of
 * HIP they are loaded for that.
 */
#include "order/races/trace-codes.h"

#include <stdlib.h>

#include "sbt/vendor.h"

struct err *trace_codes_read(struct trace_codes *t, struct sbt_reader *trace)
{
	const bool hip = sbt_meta_is_hip(sbt_reader_meta(trace));
	uint64_t hash;
	enum code_kind kind;

	if (t->read)
		return NULL;
	t->read = true;
	for (unsigned i = 0; sbt_reader_code_at(trace, i, &hash, &kind); i++) {
		struct trace_code *c;

		if (kind != CODE_PTX && !hip)
			continue;
		t->code = xrealloc(t->code, (t->n + 1) * sizeof *t->code);
		c = &t->code[t->n++];
		*c = (struct trace_code){BUF_INIT, kind};
		TRY(sbt_reader_code(trace, hash, &c->bytes, &c->kind));
	}
	return NULL;
}

void trace_codes_free(struct trace_codes *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_free(&t->code[i].bytes);
	free(t->code);
	*t = (struct trace_codes){0};
}
