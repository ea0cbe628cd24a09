/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel's result may depend on the time: looks for a clock register in its PTX, if the
 * trace has it.
 */
#include "engine/reads-clock.h"

#include "gpucode/ptx-text.h"

static const char *clock_in(struct ptx_text body)
{
	static const char *const clocks[] = {"%globaltimer", "%clock"};

	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
		if (ptx_has(body, clocks[i]))
			return clocks[i];
	return NULL;
}

const char *reads_clock(struct sbt_reader *r, const char *kernel)
{
	const char *found = NULL;
	struct ptx_text body;
	struct buf code = BUF_INIT;
	enum code_kind kind;
	bool done = false;
	uint64_t hash;

	for (unsigned i = 0; !done && sbt_reader_code_at(r, i, &hash, &kind); i++) {
		if (kind != CODE_PTX)
			continue;
		buf_clear(&code);
		struct err *e = sbt_reader_code(r, hash, &code, &kind);
		done = !e && code.len &&
		       ptx_body((struct ptx_text){(char *)code.data, (char *)code.data + code.len},
			       kernel, &body);
		if (done)
			found = clock_in(body);
		err_free(e);
	}
	buf_free(&code);
	return found;
}
