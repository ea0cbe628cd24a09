/* SPDX-License-Identifier: Apache-2.0
 *
 * How often the interpreter's handlers are called, by line of the PTX text: compiled code calls
 * what it finds in an instruction when it is made, so a test sees what the compiler left to them.
 */
#ifndef COUNTED_HANDLERS_H
#define COUNTED_HANDLERS_H

#include "ptx-test.h"

#include "softgpu/jit/jit.h"

#include <unistd.h>

#define MAXLINES 4096
static _Atomic unsigned handled[MAXLINES];
static ptx_handler *own_handlers[4 * MAXLINES];
static struct ptx_function *counted;

static inline void counting_handler(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	handled[i->line]++;
	own_handlers[i - counted->insns](w, i, mask);
}

/* From now on, of the module's first function. Parameters are loaded by the very handlers that the
 * compiler looks for, and are not counted. */
static inline void count_handlers(struct ptx_module *m)
{
	counted = m->funcs[0];
	assert_in_range(counted->ninsns, 1, 4 * MAXLINES);
	for (uint32_t k = 0; k < counted->ninsns; k++) {
		struct ptx_insn *i = &counted->insns[k];

		assert_in_range(i->line, 0, MAXLINES - 1);
		handled[i->line] = 0;
		own_handlers[k] = i->h;
		if (i->h && i->row && !(i->flags & F_CTRL) &&
			!(!strcmp(i->row->op, "ld") && i->space == SP_PARAM))
			i->h = counting_handler;
	}
}

/* The line that is written next behind this text. */
static inline unsigned line_of(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Where the compiler lies, and which handlers are used; before anything runs. */
static inline void counted_environment(void)
{
#ifdef NO_AVX2
	setenv("TSDB_SOFT_NO_AVX2", "1", 1);
#endif
	if (!getenv("TSDB_SOFT_JIT_PLUGIN") && !access("softgpu/tsdb-softgpu-jit.so", R_OK))
		setenv("TSDB_SOFT_JIT_PLUGIN", "softgpu/tsdb-softgpu-jit.so", 1);
}

#ifdef COMPILED
#define IS_COMPILED true
#else
#define IS_COMPILED false
#endif

/* Kernels are interpreted, or compiled before they run; false: this machine has no compiler. */
static inline bool counted_mode(void)
{
	static const char text[] = PTX_HEAD
		".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r0, %tid.x; add.u32 %r0, %r0, 1; ret; }";
	struct ptx_jit_stats stats;
	struct ptx_module *m;

	ptx_jit_set(IS_COMPILED ? PTX_JIT_FORCE : PTX_JIT_OFF);
	if (!IS_COMPILED)
		return true;
	m = load(text);
	run(m, "k", 1, 32, NULL);
	ptx_free(m);
	ptx_jit_stats(&stats);
	if (stats.why[0])
		print_message("no compiler: %s\n", stats.why);
	return !stats.why[0];
}

#endif
