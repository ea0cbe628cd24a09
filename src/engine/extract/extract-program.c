/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of `tsdb extract`'s main.c that belongs to the one launch: its memory, its parameters
 * and how it is started.
 */
#include <inttypes.h>
#include <string.h>
#include "engine/extract/extract-private.h"

const char *extract_code_file(const struct extract *x)
{
	return x->kind == CODE_PTX	    ? "kernel.ptx"
	       : x->kind == CODE_AMD_OBJECT ? "kernel.co"
					    : "kernel.cubin";
}

/* --- main.c --- */

static void print_head(struct buf *b, const struct extract *x, const char *kernel)
{
	buf_printf(b,
		"/* Launch #%" PRIu64
		" of a recorded program, alone. Written by tsdb extract; made to be edited.\n"
		" * Exit status: 0 when memory holds afterwards what it held in a replay of the recording, 1 when not, 2 when that could not be tried. */\n"
		"#define _GNU_SOURCE\n%s#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n\n",
		x->seq, x->words->header);
	buf_printf(b,
		"#define CODE_FILE \"%s\"\n#define KERNEL \"%s\"\n\nstatic void check(%s, const char *what);\n\n",
		extract_code_file(x), kernel, x->words->result);
}

static void print_pieces(struct buf *b, const struct extract *x)
{
	static const char *const where[] = {
		[EXTRACT_DEVICE] = "DEVICE", [EXTRACT_HOST] = "HOST", [EXTRACT_GLOBAL] = "GLOBAL"};
	char name[64];

	buf_printf(b,
		"/* The memory that the launch could reach. after: NULL where it changed nothing. */\n"
		"enum where { DEVICE, HOST, GLOBAL };\n"
		"static struct memory {\n\tenum where where;\n\t%s addr; /* as recorded; %sfrom place() on, where it is here */\n"
		"\tsize_t size; /* bytes */\n\tconst char *before, *after; /* files */\n\tconst char *name; /* of a global */\n} memory[] = {\n",
		x->words->address, x->words->moves ? "" : "HOST and GLOBAL: ");
	for (size_t i = 0; i < x->npieces; i++) {
		const struct extract_piece *p = &x->pieces[i];

		extract_piece_name(name, sizeof name, i, false);
		buf_printf(b, "\t{%s, 0x%" PRIx64 ", %" PRIu64 ", \"%s\", ", where[p->where],
			p->addr, p->size, name);
		extract_piece_name(name, sizeof name, i, true);
		buf_printf(b, p->changed ? "\"%s\", " : "NULL, ", name);
		buf_printf(b, p->name ? "\"%s\"},\n" : "NULL},\n", p->name);
	}
	buf_str(b, "};\n\n");
}

static void print_range(struct buf *b, const struct extract *x, uint64_t from, uint64_t to)
{
	if (x->words->moves)
		buf_printf(b, "\t{0x%" PRIx64 ", %" PRIu64 ", 0},\n", from, to - from);
	else
		buf_printf(b, "\t{0x%" PRIx64 ", %" PRIu64 "ul << 20},\n", from, (to - from) >> 20);
}

/* Appends device memory as ranges, rounded outwards, with neighbours joined. */
static void print_ranges(struct buf *b, const struct extract *x)
{
	const uint64_t grain = x->words->grain;
	uint64_t from = 0, to = 0;

	buf_printf(b,
		"/* What is mapped for device memory. */\nstatic %sstruct {\n\t%s addr;\n\tsize_t size;\n%s} ranges[] = {\n",
		x->words->moves ? "" : "const ", x->words->address,
		x->words->moves ? "\tuintptr_t here; /* from place_device() on */\n" : "");
	for (size_t i = 0; i < x->npieces; i++) {
		const struct extract_piece *p = &x->pieces[i];
		uint64_t begin = p->addr & ~(grain - 1),
			 end = (p->addr + p->size + grain - 1) & ~(grain - 1);

		if (p->where != EXTRACT_DEVICE)
			continue;
		if (to && begin <= to) {
			to = end > to ? end : to;
			continue;
		}
		if (to)
			print_range(b, x, from, to);
		from = begin;
		to = end;
	}
	print_range(b, x, from, to);
	buf_str(b, "};\n\n");
}

/* Appends what a number means: the memory it points into, or the number. */
static void print_meaning(struct buf *b, const struct extract *x, uint64_t v)
{
	const struct extract_piece *p = extract_piece_at(x, v);

	if (p)
		buf_printf(b, "memory[%zu] + %" PRIu64, (size_t)(p - x->pieces), v - p->addr);
	else
		buf_printf(b, "%" PRIu64, v);
}

/* Appends the pointers to memory that may have another address here, also those within
 * structures. */
static void print_pointers(struct buf *b, const struct extract *x)
{
	const struct extract_piece *p;
	uint64_t v;

	for (size_t i = 0; i + 8 <= x->args.len; i += 8) {
		memcpy(&v, x->args.data + i, 8);
		p = extract_piece_at(x, v);
		if (p && (x->words->moves || p->where != EXTRACT_DEVICE))
			buf_printf(b,
				"\tmemcpy(args + %zu, &(%s){memory[%zu].addr + %" PRIu64
				"}, sizeof(%s));\n",
				i, x->words->address, (size_t)(p - x->pieces), v - p->addr,
				x->words->address);
	}
}

/* Appends one parameter, size bytes at offset: as a number if it has a number's size. */
static void print_arg(
	struct buf *b, const struct extract *x, uint32_t i, uint32_t offset, uint32_t size)
{
	static const char *const types[] = {[1] = "unsigned char",
		[2] = "unsigned short",
		[4] = "unsigned",
		[8] = "unsigned long long"};
	uint64_t v = 0;

	if (size > 8 || !types[size]) {
		buf_printf(b, "\tstatic const unsigned char arg%u[%u] = {", i, size);
		for (uint32_t k = 0; k < size; k++)
			buf_printf(b, "%s0x%02x",
				!k	 ? ""
				: k % 16 ? ", "
					 : ",\n\t\t",
				x->args.data[offset + k]);
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
	const char *prefix = x->words->prefix;
	uint32_t offset, size, i;

	if (x->params.len < 8 && x->args.len)
		print_arg(b, x, 0, 0, (uint32_t)x->args.len);
	for (i = 0; extract_param(x, i, &offset, &size); i++)
		print_arg(b, x, i, offset, size);
	if (!x->args.len)
		return;
	buf_printf(b, "\tunsigned char args[%zu] = {0};\n\tsize_t nargs = sizeof args;\n",
		x->kernarg > x->args.len ? (size_t)x->kernarg : x->args.len);
	buf_printf(b,
		"\tvoid *extra[] = {%s_LAUNCH_PARAM_BUFFER_POINTER, args, %s_LAUNCH_PARAM_BUFFER_SIZE, &nargs, %s_LAUNCH_PARAM_END};\n",
		prefix, prefix, prefix);
}

static void print_arg_copies(struct buf *b, const struct extract *x)
{
	uint32_t offset, size;

	buf_byte(b, '\n');
	if (x->params.len < 8 && x->args.len)
		buf_str(b, "\tmemcpy(args, &arg0, sizeof arg0);\n");
	for (uint32_t i = 0; extract_param(x, i, &offset, &size); i++)
		buf_printf(b, "\tmemcpy(args + %u, &arg%u, sizeof arg%u);\n", offset, i, i);
	print_pointers(b, x);
	if (x->launch.shared && !x->words->moves)
		buf_printf(b,
			"\tcheck(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, %" PRIu64
			"), \"cuFuncSetAttribute\");\n",
			x->launch.shared);
}

/* Appends a launch with those attributes that change what it computes. */
static void print_launch_ex(struct buf *b, const struct extract *x)
{
	const struct sbt_cmd_launch *u = &x->launch;

	buf_printf(b,
		"\tCUlaunchAttribute attrs[2] = {0};\n\tCUlaunchConfig config = {.gridDimX = %" PRIu64
		", .gridDimY = %" PRIu64 ", .gridDimZ = %" PRIu64 ",\n\t\t.blockDimX = %" PRIu64
		", .blockDimY = %" PRIu64 ", .blockDimZ = %" PRIu64 ", .sharedMemBytes = %" PRIu64
		", .attrs = attrs};\n\n",
		u->grid_x, u->grid_y, u->grid_z, u->block_x, u->block_y, u->block_z, u->shared);
	if (u->cooperative)
		buf_str(b, "\tattrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;\n"
			   "\tattrs[config.numAttrs++].value.cooperative = 1;\n");
	if (u->cluster_x)
		buf_printf(b,
			"\tattrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
			"\tattrs[config.numAttrs].value.clusterDim.x = %" PRIu64
			";\n\tattrs[config.numAttrs].value.clusterDim.y = %" PRIu64
			";\n\tattrs[config.numAttrs++].value.clusterDim.z = %" PRIu64 ";\n",
			u->cluster_x, u->cluster_y, u->cluster_z);
	buf_printf(b,
		"\tcheck(cuLaunchKernelEx(&config, kernel, NULL, %s), \"cuLaunchKernelEx\");\n",
		x->args.len ? "extra" : "NULL");
}

static void print_launch(struct buf *b, const struct extract *x)
{
	const struct sbt_cmd_launch *u = &x->launch;

	buf_printf(b, "static void launch(%s)\n{\n", x->words->kernel);
	print_args(b, x);
	print_arg_copies(b, x);
	if (u->cooperative || u->cluster_x)
		print_launch_ex(b, x);
	else
		buf_printf(b,
			"\t%s%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", /* blocks */\n\t\t%" PRIu64
			", %" PRIu64 ", %" PRIu64 ", /* threads of a block */\n\t\t%" PRIu64
			", /* bytes of dynamic shared memory */\n\t\tNULL, NULL, %s%s",
			x->words->launch, u->grid_x, u->grid_y, u->grid_z, u->block_x, u->block_y,
			u->block_z, u->shared, x->args.len ? "extra" : "NULL", x->words->launched);
	buf_str(b, "}\n");
}

struct err *extract_program(struct extract *x)
{
	struct buf b = BUF_INIT;
	struct err *e;

	print_head(&b, x, buf_cstr(&x->name));
	print_pieces(&b, x);
	print_ranges(&b, x);
	print_launch(&b, x);
	for (unsigned i = 0; i < sizeof x->words->text / sizeof *x->words->text; i++)
		for (const char *const *p = x->words->text[i]; *p; p++)
			buf_str(&b, *p);
	e = extract_write(x, "main.c", b.data, b.len);
	buf_clear(&b);
	for (const char *const *p = x->words->makefile; *p; p++)
		buf_str(&b, *p);
	buf_str(&b, extract_makefile_end);
	if (!e)
		e = extract_write(x, "Makefile", b.data, b.len);
	buf_free(&b);
	return e;
}
