/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and local variables of a stopped thread's frame, for `bt full`.
 */
#include "attach/unwind/frames.h"

#include <stdlib.h>

static struct err *read_inferior(void *arg, uint64_t addr, void *dst, size_t n)
{
	return inferior_read(arg, addr, dst, n);
}

struct err *inferior_frame_locals(struct inferior *inf, pid_t tid, unsigned frame, struct buf *out)
{
	struct user_frame f;
	const struct mapping *m;
	struct symbols_scope sc;
	struct dwarf_context ctx = {.read = read_inferior, .arg = inf};
	size_t before = out->len;

	TRY(backtrace_find(inf, tid, frame, &f));
	m = libraries_at(inf, f.lookup);
	if (m && symbols_scopes(inferior_symbols(inf), m->path, f.lookup - m->bias, &sc)) {
		ctx.frame = &f.raw.at;
		ctx.pc = sc.addr;
		ctx.load_bias = m->bias + sc.bias;
		variables_print(&ctx, &sc, f.depth, out);
		free(sc.scopes);
		if (out->len == before)
			buf_str(out, "No locals.\n");
		return NULL;
	}
	buf_str(out, "No symbol table info available.\n");
	return NULL;
}
