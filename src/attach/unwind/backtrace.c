/* SPDX-License-Identifier: Apache-2.0
 *
 * Backtraces as the user sees them: raw frames with names, inlined calls as frames of their own,
 * without the frames on top that tsdb caused: the agent's, and those of the library that called it.
 */
#include "attach/unwind/frames.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "gpucode/gpu-files.h"

static bool is_ours(const char *path)
{
	const char *base = file_name_of(path);

	return strncmp(base, "libtsdb-agent", 13) == 0 || gpu_library_is(base, GPU_CALLBACKS);
}

#define OURS_MAX 32u

/* How many innermost frames belong to the agent: up to its last one, or CUPTI's, if the innermost
 * is the agent's. */
static unsigned count_ours(struct inferior *inf, const struct raw_frame *f, unsigned n)
{
	unsigned ours = 0;

	for (unsigned i = 0; i < n && i < OURS_MAX; i++) {
		const struct mapping *m = libraries_at(inf, f[i].pc);

		if (i == 0 && (!m || !is_ours(m->path)))
			return 0;
		if (m && is_ours(m->path))
			ours = i + 1;
	}
	return ours < n ? ours : 0;
}

struct symbols *inferior_symbols(struct inferior *inf)
{
	if (!inf->symbols)
		inf->symbols = symbols_new();
	return inf->symbols;
}

static uint64_t lookup_pc(const struct raw_frame *f)
{
	return f->exact ? f->pc : f->pc - 1;
}

static unsigned name_frame(
	struct inferior *inf, const struct raw_frame *f, struct symbol *ret, unsigned max)
{
	uint64_t pc = lookup_pc(f);
	const struct mapping *m = libraries_at(inf, pc);
	unsigned n;

	if (!m) {
		memset(ret, 0, sizeof(*ret));
		return 1;
	}
	n = symbols_lookup(inferior_symbols(inf), m->path, NULL, pc - m->bias, ret, max);
	if (!f->exact) /* the lookup was for the call; the offset shown is that of pc, as in gdb */
		for (unsigned i = 0; i < n; i++) {
			ret[i].offset++;
			ret[i].module_offset++;
		}
	return n;
}

/* The raw frames without the agent's. */
static struct err *visible(
	struct inferior *inf, pid_t tid, unsigned max, struct raw_frame **ret, unsigned *ret_n)
{
	unsigned ours;

	TRY(unwind_raw(inf, tid, max > UINT32_MAX - OURS_MAX ? max : max + OURS_MAX, ret, ret_n));
	ours = count_ours(inf, *ret, *ret_n);
	*ret_n -= ours;
	memmove(*ret, *ret + ours, *ret_n * sizeof(**ret));
	if (*ret_n > max)
		*ret_n = max;
	return NULL;
}

#define FRAMES_LIMIT 65536u

/* Builds the frames of *ret one by one. */
struct mixture {
	struct backtrace_frame *f;
	unsigned n, cap, max;
	struct python_place *places;
	unsigned nplaces, at;
};

static void mix_in(struct mixture *m, const struct backtrace_frame *f)
{
	if (m->n == m->max)
		return;
	MAKE_ROOM(m->f, m->n, m->cap);
	m->f[m->n++] = *f;
}

/* Adds the Python frames that run in native frames below the address end. */
static void mix_python(struct mixture *m, uint64_t end, unsigned number)
{
	for (; m->at < m->nplaces && m->places[m->at].anchor < end; m->at++) {
		const struct python_place *p = &m->places[m->at];

		mix_in(m,
			&(struct backtrace_frame){
				.sym = {.function = p->function, .file = p->file, .line = p->line},
				.python = true,
				.number = number});
	}
}

struct err *inferior_backtrace(struct inferior *inf, pid_t tid, unsigned max,
	struct backtrace_frame **ret, unsigned *ret_n)
{
	struct symbol names[SYMBOL_INLINED_MAX];
	struct mixture m = {0};
	struct raw_frame *raw;
	unsigned n, number = 0;

	*ret = NULL;
	*ret_n = 0;
	m.max = max == 0 || max > FRAMES_LIMIT ? FRAMES_LIMIT : max;
	TRY(visible(inf, tid, m.max, &raw, &n));
	m.nplaces = python_frames(inf, tid, m.max, &m.places);
	for (unsigned i = 0; i < n && m.n < m.max; i++) {
		unsigned k = name_frame(inf, &raw[i], names, SYMBOL_INLINED_MAX);

		/* Its callers' frames begin at its canonical frame address; the outermost frame has
		 * none, and the remaining Python frames come after it. */
		mix_python(&m, raw[i].at.cfa, number);
		for (unsigned j = 0; j < k; j++)
			mix_in(&m, &(struct backtrace_frame){.pc = raw[i].pc,
					   .sp = raw[i].sp,
					   .sym = names[j],
					   .inlined = j + 1 < k,
					   .number = number++});
	}
	mix_python(&m, UINT64_MAX, number ? number - 1 : 0);
	free(raw);
	free(m.places);
	*ret = m.f ? m.f : xcalloc(1, sizeof(*m.f));
	*ret_n = m.n;
	return NULL;
}

struct err *backtrace_find(struct inferior *inf, pid_t tid, unsigned frame, struct user_frame *ret)
{
	struct symbol names[SYMBOL_INLINED_MAX];
	struct raw_frame *raw;
	unsigned n, at = 0;

	if (frame >= FRAMES_LIMIT)
		return err_new(ERR_USAGE, "there is no frame %u", frame);
	TRY(visible(inf, tid, FRAMES_LIMIT, &raw, &n));
	for (unsigned i = 0; i < n; i++) {
		unsigned k = name_frame(inf, &raw[i], names, SYMBOL_INLINED_MAX);

		if (frame < at + k) {
			*ret = (struct user_frame){raw[i], frame - at, lookup_pc(&raw[i])};
			free(raw);
			return NULL;
		}
		at += k;
	}
	free(raw);
	return err_cure(err_new(ERR_USAGE, "there is no frame %u, the stack has %u", frame, at),
		"see `bt`");
}
