/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb extract FILE --kernel GLOB -o DIR`: one launch of a trace as a C program that stands alone: its code, the memory that its
 * parameters point into and what that memory held afterwards. The contents come from a replay on a device, not from the recording, which
 * holds them at the window's ends only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "replay/plan.h"
#include "sbt/memory.h"
#include "shell/extract.h"
#include "shell/replay-device.h"
#include "shell/tools.h"
#include "shell/trace.h"
#include "shell/words.h"

#define PIECE (1u << 20)    /* bytes read from the device at once */
#define ROUND (32ull << 20) /* as in replay/replayer-place.c */

struct piece {
	uint64_t addr, size;
	bool changed; /* by the launch */
};

struct extract {
	struct session *s;
	struct replay_choice choice;
	const char *file, *glob, *dir;
	uint64_t nth, window;
	bool all; /* every allocation, not only those that parameters point into */
	struct sbt_cmd_launch launch;
	uint64_t seq;
	struct buf args, name, params, code;
	uint32_t module;
	uint64_t code_hash;
	bool is_ptx;
	struct piece *pieces; /* by address */
	size_t npieces;
};

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word),
		"Use: tsdb extract FILE --kernel GLOB [--nth K] -o DIR [--all] [--window N] [--on auto|soft|real]");
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

static struct err *take_value(struct extract *x, const char *name, const char *value)
{
	if (!strcmp(name, "--on"))
		return replay_on_parse(value, &x->choice.on);
	if (!strcmp(name, "--kernel"))
		x->glob = value;
	else if (!strcmp(name, "-o"))
		x->dir = value;
	else if (!strcmp(name, "--nth"))
		return word_u64(value, &x->nth) && x->nth ? NULL : usage("\"%s\" is no count of launches, from 1", value);
	else if (!word_u64(value, &x->window) || !x->window || x->window > UINT32_MAX)
		return usage("\"%s\" is no window: they are numbered from 1", value);
	return NULL;
}

static struct err *take_options(struct extract *x, int argc, char **argv)
{
	static const char *const valued[] = {"--kernel", "--nth", "-o", "--window", "--on", NULL};

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *name = NULL;
		size_t n = strcspn(w, "=");

		for (const char *const *v = valued; *v && !name; v++)
			name = strlen(*v) == n && !strncmp(*v, w, n) ? *v : NULL;
		if (name && !w[n] && i + 1 >= argc)
			return usage("%s needs a value", w);
		if (name)
			TRY(take_value(x, name, w[n] ? w + n + 1 : argv[++i]));
		else if (!strcmp(w, "--all"))
			x->all = true;
		else if (*w == '-' || x->file)
			return usage("extract has no option %s", w);
		else
			x->file = w;
	}
	if (!x->file || !x->glob || !x->dir)
		return usage("extract needs %s", !x->file ? "a trace" : !x->glob ? "--kernel" : "-o DIR");
	if (x->choice.on == REPLAY_ON_NONE)
		return usage("--on none executes nothing%s", "");
	return NULL;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static char *path_in(const struct extract *x, const char *name)
{
	return xasprintf("%s/%s", x->dir, name);
}

static struct err *write_file(const struct extract *x, const char *name, const void *p, size_t n)
{
	char *path = path_in(x, name);
	FILE *f = fopen(path, "wb");
	struct err *e = NULL;
	bool bad;

	if (!f) {
		e = err_sys(errno, "cannot write %s", path);
	} else {
		bad = fwrite(p, 1, n, f) != n;
		if (fclose(f) || bad)
			e = err_sys(errno, "cannot write %s", path);
	}
	free(path);
	return e;
}

/* Somebody may have edited what an earlier extract wrote. */
static struct err *make_dir(const struct extract *x)
{
	char *path = path_in(x, "main.c");
	struct err *e = NULL;

	if (mkdir(x->dir, 0777) && errno != EEXIST)
		e = err_sys(errno, "cannot make the folder %s", x->dir);
	else if (!access(path, F_OK))
		e = err_cure(err_new(ERR_STATE, "%s is there already", path), "Name another folder, or remove it");
	free(path);
	return e;
}

static void piece_name(char *dst, size_t n, size_t i, bool after)
{
	snprintf(dst, n, "memory-%zu%s.bin", i + 1, after ? "-after" : "");
}

/* ---- the launch --------------------------------------------------------------------------------------------------- */

static struct err *take_launch(struct extract *x)
{
	const struct sbt_cmd *c = NULL;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->s->trace.reader));
	e = sbt_cursor_seek(cursor, x->seq);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && (!c || c->seq != x->seq || c->kind != SBT_LAUNCH))
		e = err_new(ERR_BAD_TRACE, "#%" PRIu64 " cannot be read", x->seq);
	if (!e) {
		x->launch = c->u.launch;
		buf_add(&x->args, c->u.launch.args.len ? c->u.launch.args.p : "", c->u.launch.args.len);
		x->launch.args = (struct sbt_blob){0};
	}
	sbt_cursor_close(cursor);
	return e;
}

/* The name goes into a C string, so only what assemblers take. */
static bool name_is_plain(const char *p)
{
	return *p && strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") == strlen(p);
}

/* Parameter i; false when there is none, or it does not lie within the buffer. */
static bool param_at(const struct extract *x, uint32_t i, uint32_t *ret_offset, uint32_t *ret_size)
{
	if ((uint64_t)i * 8 + 8 > x->params.len)
		return false;
	memcpy(ret_offset, x->params.data + i * 8, 4);
	memcpy(ret_size, x->params.data + i * 8 + 4, 4);
	return *ret_size && *ret_offset <= x->args.len && *ret_size <= x->args.len - *ret_offset;
}

static struct err *take_kernel(struct extract *x, const struct state *st)
{
	struct state_module m;
	struct state_kernel k;
	uint32_t offset, size;

	if (!state_kernel_by_id(st, (uint32_t)x->launch.kernel, &k) || !name_is_plain(k.name))
		return err_new(ERR_INCOMPLETE, "the trace does not name the kernel of #%" PRIu64, x->seq);
	buf_str(&x->name, k.name);
	buf_add(&x->params, k.params.len ? k.params.p : "", k.params.len);
	x->module = k.module;
	x->code_hash = k.code_hash;
	for (unsigned i = 0; k.module != SBT_NO_ID && state_module(st, i, &m); i++)
		if (m.id == k.module && m.code_hash)
			x->code_hash = m.code_hash;
	for (uint32_t i = 0; i < k.params.len / 8; i++)
		if (!param_at(x, i, &offset, &size))
			return err_new(ERR_INCOMPLETE, "#%" PRIu64 " %s: its parameters were not recorded", x->seq, k.name);
	return NULL;
}

/* PTX of the trace that defines the kernel: for where its own code is machine code, or not known. */
static struct err *find_ptx(struct extract *x)
{
	struct sbt_reader *r = x->s->trace.reader;
	char *entry = xasprintf(".entry %s(", buf_cstr(&x->name));
	uint64_t hash;
	bool found = false, is_ptx;
	struct err *e = NULL;

	for (unsigned i = 0; !e && !found && sbt_reader_code_at(r, i, &hash, &is_ptx); i++) {
		if (!is_ptx)
			continue;
		buf_clear(&x->code);
		e = sbt_reader_code(r, hash, &x->code, &x->is_ptx);
		found = !e && strstr(buf_cstr(&x->code), entry);
	}
	free(entry);
	if (!e && !found)
		e = err_cure(err_new(ERR_INCOMPLETE, "the trace does not have the code of %s", buf_cstr(&x->name)), "Record with `set capture code on`");
	return e;
}

static struct err *take_code(struct extract *x)
{
	struct err *e = x->code_hash ? sbt_reader_code(x->s->trace.reader, x->code_hash, &x->code, &x->is_ptx) : NULL;

	err_free(e);
	if (e || !x->code_hash || (!x->is_ptx && x->s->trace.device->soft))
		TRY(find_ptx(x));
	while (x->is_ptx && x->code.len && !x->code.data[x->code.len - 1])
		x->code.len--;
	return write_file(x, x->is_ptx ? "kernel.ptx" : "kernel.cubin", x->code.data, x->code.len);
}

/* ---- globals: they lie elsewhere in another process, and the kernel would begin with what its code says ----------------- */

static struct err *refuse_global(const struct extract *x, const struct sbt_blob *name)
{
	return err_new(ERR_UNSUPPORTED, "the module of %s has the global %.*s; extracting such launches is not in this version",
		(const char *)x->name.data, (int)(name->len < 256 ? name->len : 256), name->len ? (const char *)name->p : "");
}

static struct err *on_memory(void *arg, const struct sbt_memory *m)
{
	struct extract *x = arg;

	return m->owner == SBT_MEMORY_GLOBAL && m->module == x->module ? refuse_global(x, &m->name) : NULL;
}

/* Those that the recorder saw at the window's ends, and those that the program asked for. */
static struct err *refuse_globals(struct extract *x)
{
	const struct replay_device *rd = x->s->trace.device;
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct err *e;

	buf_cstr(&x->name);
	TRY(sbt_reader_memory(x->s->trace.reader, rd->first, rd->last, on_memory, x));
	TRY(sbt_cursor_open(&cursor, x->s->trace.reader));
	while (!(e = sbt_cursor_next(cursor, &c)) && c && c->seq < x->seq)
		if (c->kind == SBT_GLOBAL_DEF && x->module != SBT_NO_ID && c->u.global_def.module == x->module) {
			e = refuse_global(x, &c->u.global_def.global_name);
			break;
		}
	sbt_cursor_close(cursor);
	return e;
}

/* ---- its memory --------------------------------------------------------------------------------------------------- */

static struct err *add_piece(struct extract *x, const struct state_alloc *a)
{
	size_t at = 0;

	while (at < x->npieces && x->pieces[at].addr < a->addr)
		at++;
	if (at < x->npieces && x->pieces[at].addr == a->addr)
		return NULL;
	if (a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED)
		return x->all ? NULL : err_new(ERR_UNSUPPORTED, "#%" PRIu64 " has a pointer to host memory, 0x%" PRIx64
			"; extracting such launches is not in this version", x->seq, a->addr);
	x->pieces = xrealloc(x->pieces, (x->npieces + 1) * sizeof *x->pieces);
	memmove(x->pieces + at + 1, x->pieces + at, (x->npieces - at) * sizeof *x->pieces);
	x->pieces[at] = (struct piece){.addr = a->addr, .size = a->size};
	x->npieces++;
	return NULL;
}

static struct err *find_memory(struct extract *x, const struct state *st)
{
	struct state_alloc a;
	uint64_t v;

	for (unsigned i = 0; x->all && state_alloc(st, i, &a); i++)
		TRY(add_piece(x, &a));
	for (size_t i = 0; i + 8 <= x->args.len; i += 8) { /* pointers are aligned in the parameter buffer */
		memcpy(&v, x->args.data + i, 8);
		if (v > 0xffff && state_alloc_at(st, v, &a))
			TRY(add_piece(x, &a));
	}
	if (!x->npieces)
		return err_new(ERR_INCOMPLETE, "no parameter of #%" PRIu64 " %s points into an allocation: there is nothing to compare", x->seq,
			buf_cstr(&x->name));
	return NULL;
}

/* Writes the present contents to f; with old, *ret_differs tells whether they are others than those of old. */
static struct err *copy_piece(struct extract *x, const struct piece *p, FILE *f, FILE *old, bool *ret_differs)
{
	uint8_t *here = xmalloc(2 * PIECE), *there = here + PIECE;
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < p->size; at += PIECE) {
		size_t n = p->size - at < PIECE ? (size_t)(p->size - at) : PIECE;

		e = device_read(x->s->trace.device->d, p->addr + at, here, n);
		if (!e && fwrite(here, 1, n, f) != n)
			e = err_sys(errno, "cannot write to %s", x->dir);
		if (!e && old && fread(there, 1, n, old) != n)
			e = err_new(ERR_SYSTEM, "cannot read what was written to %s", x->dir);
		if (!e && old && memcmp(here, there, n))
			*ret_differs = true;
	}
	free(here);
	return e;
}

/* What the launch did not change needs no file of its own. */
static struct err *save_piece(struct extract *x, size_t i, bool after)
{
	struct piece *p = &x->pieces[i];
	char name[64], *path, *before;
	FILE *f, *old = NULL;
	struct err *e = NULL;

	piece_name(name, sizeof name, i, false);
	before = path_in(x, name);
	piece_name(name, sizeof name, i, after);
	path = path_in(x, name);
	f = fopen(path, "wb");
	if (f && after)
		old = fopen(before, "rb");
	if (!f || (after && !old))
		e = err_sys(errno, "cannot open %s", path);
	else
		e = copy_piece(x, p, f, old, &p->changed);
	if (old)
		fclose(old);
	if (f && fclose(f) && !e)
		e = err_sys(errno, "cannot write %s", path);
	if (after && !p->changed)
		unlink(path);
	free(path);
	free(before);
	return e;
}

static struct err *save_memory(struct extract *x, uint64_t seq, bool after)
{
	struct replay_stop stop;

	TRY(replay_goto(x->s->trace.replay, seq, &stop));
	if (stop.why == REPLAY_INTERRUPTED)
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, stop.seq);
	for (size_t i = 0; i < x->npieces; i++)
		TRY(save_piece(x, i, after));
	return NULL;
}

/* ---- main.c ------------------------------------------------------------------------------------------------------- */

static void print_head(struct buf *b, const struct extract *x, const char *kernel)
{
	buf_printf(b, "/* Launch #%" PRIu64 " of a recorded program, alone. Written by tsdb extract; made to be edited.\n"
		" * Exit status: 0 when memory holds afterwards what it held in a replay of the recording, 1 when not, 2 when that could not be tried. */\n"
		"#include <cuda.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n", x->seq);
	buf_printf(b, "#define CODE_FILE \"%s\"\n#define KERNEL \"%s\"\n\nstatic void check(CUresult r, const char *what);\n\n",
		x->is_ptx ? "kernel.ptx" : "kernel.cubin", kernel);
}

static void print_memory(struct buf *b, const struct extract *x)
{
	uint64_t from = 0, to = 0;
	char name[64];

	buf_str(b, "/* The allocations that the launch could reach. after: NULL where it changed nothing. */\n"
		"static const struct memory {\n\tCUdeviceptr addr;\n\tsize_t size; /* bytes */\n\tconst char *before, *after; /* files */\n"
		"} memory[] = {\n");
	for (size_t i = 0; i < x->npieces; i++) {
		piece_name(name, sizeof name, i, false);
		buf_printf(b, "\t{0x%" PRIx64 ", %" PRIu64 ", \"%s\", ", x->pieces[i].addr, x->pieces[i].size, name);
		piece_name(name, sizeof name, i, true);
		buf_printf(b, x->pieces[i].changed ? "\"%s\"},\n" : "NULL},\n", name);
	}
	buf_str(b, "};\n\n/* What is mapped for them. */\nstatic const struct {\n\tCUdeviceptr addr;\n\tsize_t size;\n} ranges[] = {\n");
	for (size_t i = 0; i < x->npieces; i++) {
		uint64_t begin = x->pieces[i].addr & ~(ROUND - 1), end = (x->pieces[i].addr + x->pieces[i].size + ROUND - 1) & ~(ROUND - 1);

		if (i && begin <= to) {
			to = end > to ? end : to;
			continue;
		}
		if (i)
			buf_printf(b, "\t{0x%" PRIx64 ", %" PRIu64 "ul << 20},\n", from, (to - from) >> 20);
		from = begin;
		to = end;
	}
	buf_printf(b, "\t{0x%" PRIx64 ", %" PRIu64 "ul << 20},\n};\n\n", from, (to - from) >> 20);
}

/* What a number means: where it points, or itself. */
static void print_meaning(struct buf *b, const struct extract *x, uint64_t v)
{
	for (size_t i = 0; i < x->npieces; i++)
		if (v >= x->pieces[i].addr && v - x->pieces[i].addr < x->pieces[i].size) {
			buf_printf(b, "memory[%zu] + %" PRIu64, i, v - x->pieces[i].addr);
			return;
		}
	buf_printf(b, "%" PRIu64, v);
}

/* One parameter, size bytes at offset: a number when it has a number's size. */
static void print_arg(struct buf *b, const struct extract *x, uint32_t i, uint32_t offset, uint32_t size)
{
	static const char *const types[] = {[1] = "unsigned char", [2] = "unsigned short", [4] = "unsigned", [8] = "unsigned long long"};
	uint64_t v = 0;

	if (size > 8 || !types[size]) {
		buf_printf(b, "\tstatic const unsigned char arg%u[%u] = {", i, size);
		for (uint32_t k = 0; k < size; k++)
			buf_printf(b, "%s0x%02x", !k ? "" : k % 16 ? ", " : ",\n\t\t", x->args.data[offset + k]);
		buf_printf(b, "}; /* offset %u */\n", offset);
		return;
	}
	memcpy(&v, x->args.data + offset, size);
	buf_printf(b, "\t%s arg%u = 0x%" PRIx64 "; /* ", types[size], i, v);
	print_meaning(b, x, v);
	buf_str(b, " */\n");
}

static void print_args(struct buf *b, const struct extract *x)
{
	uint32_t offset, size, i;

	if (x->params.len < 8 && x->args.len)
		print_arg(b, x, 0, 0, (uint32_t)x->args.len);
	for (i = 0; param_at(x, i, &offset, &size); i++)
		print_arg(b, x, i, offset, size);
	if (!x->args.len)
		return;
	buf_printf(b, "\tunsigned char args[%zu] = {0};\n\tsize_t nargs = sizeof args;\n", x->args.len);
	buf_str(b, "\tvoid *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, args, CU_LAUNCH_PARAM_BUFFER_SIZE, &nargs, CU_LAUNCH_PARAM_END};\n");
}

static void print_arg_copies(struct buf *b, const struct extract *x)
{
	uint32_t offset, size;

	buf_byte(b, '\n');
	if (x->params.len < 8 && x->args.len)
		buf_str(b, "\tmemcpy(args, &arg0, sizeof arg0);\n");
	for (uint32_t i = 0; param_at(x, i, &offset, &size); i++)
		buf_printf(b, "\tmemcpy(args + %u, &arg%u, sizeof arg%u);\n", offset, i, i);
	if (x->launch.shared)
		buf_printf(b, "\tcheck(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, %" PRIu64
			"), \"cuFuncSetAttribute\");\n", x->launch.shared);
}

/* A launch with attributes; those that change what it computes. */
static void print_launch_ex(struct buf *b, const struct extract *x)
{
	const struct sbt_cmd_launch *u = &x->launch;

	buf_printf(b, "\tCUlaunchAttribute attrs[2] = {0};\n\tCUlaunchConfig config = {.gridDimX = %" PRIu64 ", .gridDimY = %" PRIu64
		", .gridDimZ = %" PRIu64 ",\n\t\t.blockDimX = %" PRIu64 ", .blockDimY = %" PRIu64 ", .blockDimZ = %" PRIu64
		", .sharedMemBytes = %" PRIu64 ", .attrs = attrs};\n\n", u->grid_x, u->grid_y, u->grid_z, u->block_x, u->block_y, u->block_z,
		u->shared);
	if (u->cooperative)
		buf_str(b, "\tattrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;\n"
			"\tattrs[config.numAttrs++].value.cooperative = 1;\n");
	if (u->cluster_x)
		buf_printf(b, "\tattrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
			"\tattrs[config.numAttrs].value.clusterDim.x = %" PRIu64 ";\n\tattrs[config.numAttrs].value.clusterDim.y = %" PRIu64
			";\n\tattrs[config.numAttrs++].value.clusterDim.z = %" PRIu64 ";\n", u->cluster_x, u->cluster_y, u->cluster_z);
	buf_printf(b, "\tcheck(cuLaunchKernelEx(&config, kernel, NULL, %s), \"cuLaunchKernelEx\");\n", x->args.len ? "extra" : "NULL");
}

static void print_launch(struct buf *b, const struct extract *x)
{
	const struct sbt_cmd_launch *u = &x->launch;

	buf_str(b, "static void launch(CUfunction kernel)\n{\n");
	print_args(b, x);
	print_arg_copies(b, x);
	if (u->cooperative || u->cluster_x)
		print_launch_ex(b, x);
	else
		buf_printf(b, "\tcheck(cuLaunchKernel(kernel, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", /* blocks */\n\t\t%" PRIu64 ", %" PRIu64 ", %" PRIu64
			", /* threads of a block */\n\t\t%" PRIu64 ", /* bytes of dynamic shared memory */\n\t\tNULL, NULL, %s), \"cuLaunchKernel\");\n",
			u->grid_x, u->grid_y, u->grid_z, u->block_x, u->block_y, u->block_z, u->shared, x->args.len ? "extra" : "NULL");
	buf_str(b, "}\n");
}

static struct err *write_program(struct extract *x)
{
	struct buf b = BUF_INIT;
	struct err *e;

	print_head(&b, x, buf_cstr(&x->name));
	print_memory(&b, x);
	print_launch(&b, x);
	for (const char *const *p = extract_main_text; *p; p++)
		buf_str(&b, *p);
	e = write_file(x, "main.c", b.data, b.len);
	buf_clear(&b);
	for (const char *const *p = extract_makefile_text; *p; p++)
		buf_str(&b, *p);
	if (!e)
		e = write_file(x, "Makefile", b.data, b.len);
	buf_free(&b);
	return e;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static struct err *find_launch(struct extract *x)
{
	struct replay_device *rd = x->s->trace.device;
	struct plan plan;
	struct err *e = plan_kernel(&plan, x->s->trace.reader, rd->first, rd->last, x->glob, x->nth);

	if (e)
		return e;
	x->seq = plan.to;
	plan_free(&plan);
	return take_launch(x);
}

static struct err *extract(struct extract *x)
{
	struct state *st;
	struct err *e;

	TRY(trace_open(x->s, x->file));
	TRY(trace_replay(x->s, &x->choice));
	TRY(find_launch(x));
	TRY(state_at(&st, x->s->trace.reader, x->seq - 1));
	e = take_kernel(x, st);
	if (!e)
		e = find_memory(x, st);
	state_free(st);
	if (e)
		return e;
	TRY(refuse_globals(x));
	TRY(make_dir(x));
	TRY(take_code(x));
	TRY(save_memory(x, x->seq - 1, false));
	TRY(save_memory(x, x->seq, true));
	return write_program(x);
}

int tool_extract(struct session *s, int argc, char **argv)
{
	struct extract x = {.s = s, .choice = replay_choice_default(s), .nth = 1};
	struct err *e = take_options(&x, argc, argv);
	uint64_t bytes = 0;
	char size[32];

	x.choice.strict = true;
	x.choice.window = x.window ? (unsigned)x.window - 1 : 0;
	if (!e)
		e = extract(&x);
	for (size_t i = 0; i < x.npieces; i++)
		bytes += x.pieces[i].size;
	if (!e)
		out_printf(s->out, "#%" PRIu64 " %s with %zu allocation%s, %s, is in %s; `make -C %s check` runs it.\n", x.seq, buf_cstr(&x.name),
			x.npieces, x.npieces == 1 ? "" : "s", words_bytes(size, sizeof size, bytes), x.dir, x.dir);
	buf_free(&x.args);
	buf_free(&x.name);
	buf_free(&x.params);
	buf_free(&x.code);
	free(x.pieces);
	if (e)
		out_error(s->out, e);
	return e ? 1 : 0;
}
