/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel's result may depend on the time: looks for it in the trace's code.
 */
#include "engine/check.h"

#include "gpucode/code-traits.h"
#include "sbt/vendor.h"

const char *reads_clock(struct sbt_reader *r, const char *kernel)
{
	const bool hip = sbt_meta_is_hip(sbt_reader_meta(r));
	struct code_traits t = {.there = false};
	struct buf code = BUF_INIT;
	enum code_kind kind;
	uint64_t hash;

	for (unsigned i = 0; !t.there && sbt_reader_code_at(r, i, &hash, &kind); i++) {
		if (kind != CODE_PTX && !hip)
			continue;
		buf_clear(&code);
		struct err *e = sbt_reader_code(r, hash, &code, &kind);
		if (!e)
			t = code_traits_of(code.data, code.len, kind, kernel);
		err_free(e);
	}
	buf_free(&code);
	return t.clock;
}
