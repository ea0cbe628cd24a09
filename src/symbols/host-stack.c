/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames with names, and which are shown. Surprise: at a stop of the agent the innermost frames are
 * the agent's, CUPTI's and the driver's, then the CUDA runtime's; they are left out, so that frame
 * 0 is the program's own call.
 */
#include "symbols/host-stack.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/file.h"
#include "sbt/python.h"
#include "gpucode/gpu-files.h"

void stack_free(struct stack *st)
{
	free(st->frames);
	memset(st, 0, sizeof *st);
}

static bool begins_with_one(const char *text, const char *const *names)
{
	for (; text && *names; names++) {
		if (!strncmp(text, *names, strlen(*names)))
			return true;
	}
	return false;
}

static bool is_ours(const struct symbol *sym)
{
	const char *file = sym->module ? file_name_of(sym->module) : "";

	return !strncmp(file, "libtsdb-agent.so", 16) ||
	       gpu_library_is(file, GPU_DRIVER | GPU_CALLBACKS);
}

/* What nvcc makes of a kernel for the host: "__device_stub__Z5scalePf(float*)", "void
 * __wrapper__device_stub_scale<float>(float*&)", in the namespace of the kernel. */
static bool is_stub(const char *function)
{
	return function && strstr(function, "__device_stub_");
}

/* The CUDA runtime, HIP, and what nvcc puts between a <<<>>> and the runtime. */
static bool is_runtime(const struct symbol *sym)
{
	static const char *const stubs[] = {"__cudaLaunchKernel_helper", "cudaLaunchKernel<", NULL};

	return is_stub(sym->function) || begins_with_one(sym->function, stubs) ||
	       (sym->module && gpu_library_is(file_name_of(sym->module), GPU_RUNTIME | GPU_HIP));
}

bool stack_is_runtime_file(const char *path)
{
	const struct symbol file = {.module = path};

	return is_ours(&file) || is_runtime(&file);
}

bool stack_is_runtime_header(const struct symbol *sym)
{
	static const char *const names[] = {"cuda_runtime.h", "cuda_runtime_api.h",
		"cuda_launchers.h", "hip_runtime.h", "hip_runtime_api.h", "amd_hip_runtime.h"};
	const char *file = sym->file ? file_name_of(sym->file) : NULL;

	for (size_t i = 0; file && i < sizeof names / sizeof *names; i++) {
		if (!strcmp(file, names[i]))
			return true;
	}
	return false;
}

/* Leaves out the innermost frames while they are the agent's, CUPTI's, the driver's and, unless it
 * is wanted, the runtime's. */
static void hide_inner(struct stack *st, bool runtime)
{
	unsigned n = 0;

	for (; n < st->n; n++) {
		const bool of_runtime = is_runtime(&st->frames[n].sym);

		st->through_runtime = st->through_runtime || of_runtime;
		if (!is_ours(&st->frames[n].sym) && (runtime || !of_runtime))
			break;
	}
	if (!n || n >= st->n)
		return;
	memmove(st->frames, st->frames + n, (st->n - n) * sizeof *st->frames);
	st->n -= n;
}

/* Leaves out what called main(), as gdb does, also when main() itself has no name. */
static void hide_outer(struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++) {
		if (!st->frames[i].python && st->frames[i].sym.function &&
			!strcmp(st->frames[i].sym.function, "__libc_start_call_main"))
			st->n = i;
		else if (!st->frames[i].python && st->frames[i].sym.function &&
			 !strcmp(st->frames[i].sym.function, "main"))
			st->n = i + 1;
	}
}

/* Keeps the frames for which flag() returns `wanted`. */
static void keep_if(struct stack *st, bool (*flag)(const struct backtrace_frame *f), bool wanted)
{
	unsigned n = 0;

	for (unsigned i = 0; i < st->n; i++) {
		if (flag(&st->frames[i]) == wanted)
			st->frames[n++] = st->frames[i];
	}
	st->n = n;
}

static bool frame_is_interpreter(const struct backtrace_frame *f)
{
	return f->interpreter;
}

static bool frame_is_python(const struct backtrace_frame *f)
{
	return f->python;
}

/* "python3.12", "libpython3.12.so.1.0": files in which everything is the interpreter's. */
static bool is_python_file(const char *path)
{
	const char *base = path ? file_name_of(path) : NULL;

	return base && (strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0);
}

static bool is_python_function(const char *name)
{
	return name && (strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0);
}

static void mark_interpreter(struct backtrace_frame *f, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n && !any; i++)
		any = f[i].python;
	for (unsigned i = 0; any && i < n; i++)
		f[i].interpreter = !f[i].python && (is_python_file(f[i].sym.module) ||
							   is_python_function(f[i].sym.function));
}

void stack_hide(struct stack *st, const struct stack_shown *shown)
{
	mark_interpreter(st->frames, st->n);
	if (!shown->agent)
		hide_inner(st, shown->runtime);
	if (!shown->past_main)
		hide_outer(st);
	if (shown->only == STACK_MIXED && !shown->interpreter)
		keep_if(st, frame_is_interpreter, false);
	if (shown->only != STACK_MIXED)
		keep_if(st, frame_is_python, shown->only == STACK_PYTHON);
}

void stack_add_python(struct stack *st, const struct sbt_place *p)
{
	struct backtrace_frame f = {.python = true};

	if (p)
		f.sym = (struct symbol){.function = p->function, .file = p->file, .line = p->line};
	st->frames = xrealloc(st->frames, (st->n + 1) * sizeof *st->frames);
	st->frames[st->n++] = f;
}

void stack_add_native(struct stack *st, struct symbols *s, const struct sbt_host_module *m,
	const struct sbt_frame *f)
{
	struct symbol syms[SYMBOL_INLINED_MAX];
	unsigned n;

	memset(syms, 0, sizeof syms);
	n = m ? symbols_lookup(s, m->path, m->build_id, f->offset, syms, SYMBOL_INLINED_MAX) : 1;
	st->frames = xrealloc(st->frames, (st->n + n) * sizeof *st->frames);
	for (unsigned i = 0; i < n; i++)
		st->frames[st->n++] = (struct backtrace_frame){
			.pc = f->offset, .sym = syms[i], .inlined = i + 1 < n};
}

/* The trace's own names of a frame. They are what the file would say, which takes seconds to read
 * when it is a library of gigabytes, and all there is when the file is another one by now. */
static bool add_recorded(struct stack *st, struct symbols *s, struct sbt_reader *r,
	const struct sbt_host_module *m, const struct sbt_frame *f)
{
	const bool named = !strcmp(m->path, SBT_MODULE_NAMED);
	const struct sbt_symbol *v;
	bool changed;
	unsigned n;

	if (!named && *m->path != '/')
		return false;
	changed = !named && !symbols_is_build(s, m->path, m->build_id);
	if (changed && !st->changed && !stack_is_runtime_file(m->path))
		st->changed = m->path;
	v = sbt_reader_symbol(r, f, &n);
	st->names_kept = st->names_kept || (changed && n);
	if (!n)
		return false;
	st->frames = xrealloc(st->frames, (st->n + n) * sizeof *st->frames);
	for (unsigned i = 0; i < n; i++)
		st->frames[st->n++] = (struct backtrace_frame){.pc = f->offset,
			.sym = {.function = v[i].function,
				.offset = v[i].start,
				.file = v[i].file,
				.folder = v[i].folder,
				.line = v[i].line,
				.module = named ? NULL : m->path,
				.module_offset = f->offset},
			.inlined = i + 1 < n};
	return true;
}

struct err *stack_read(struct stack *ret, struct symbols *s, struct sbt_reader *r, uint32_t id)
{
	const struct sbt_frame *frames;
	unsigned n;

	*ret = (struct stack){.recorded = true};
	TRY(sbt_reader_stack(r, id, &frames, &n));
	for (unsigned i = 0; i < n; i++) {
		const struct sbt_host_module *m = frames[i].module == SBT_NO_ID
							  ? NULL
							  : sbt_reader_module(r, frames[i].module);

		if (m && !strcmp(m->path, SBT_MODULE_PYTHON))
			stack_add_python(ret, sbt_reader_place(r, frames[i].offset));
		else if (!m || !add_recorded(ret, s, r, m, &frames[i]))
			stack_add_native(ret, s, m, &frames[i]);
	}
	return NULL;
}
