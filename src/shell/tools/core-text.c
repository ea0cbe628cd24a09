/* SPDX-License-Identifier: Apache-2.0
 *
 * See core-text.h. Text and JSON are printed from the same rows.
 */
#include "shell/tools/core-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json-put.h"
#include "base/text.h"
#include "symbols/gpu-core.h"
#include "symbols/symbols.h"

/* Source: CUDBGException_t in cudadebugger.h, published with cuda-gdb. */
static const char *const exceptions[] = {
	[1] = "illegal address",
	[2] = "stack overflow",
	[3] = "hardware stack overflow",
	[4] = "illegal instruction",
	[5] = "address out of range",
	[6] = "misaligned address",
	[7] = "address in an invalid space",
	[8] = "invalid program counter",
	[9] = "hardware stack overflow",
	[10] = "illegal address",
	[11] = "misaligned address",
	[12] = "failed assertion",
	[13] = "error in a system call",
	[14] = "illegal address",
	[15] = "system-wide atomic on memory that cannot migrate",
	[16] = "invalid system-wide atomic",
	[17] = "address out of range in a cluster",
	[18] = "no such block in the cluster",
	[19] = "overwritten stack",
};

static const char *exception_name(uint64_t e)
{
	const char *name = e < sizeof exceptions / sizeof *exceptions ? exceptions[e] : NULL;

	return name ? name : e ? "exception" : NULL;
}

/* Rows as they are printed: names are demangled. */
struct code_row {
	uint64_t pc;
	const char *function, *file;
	unsigned line;
};
struct place_row {
	uint64_t lane_count, active_count;
	const char *exception;
	uint32_t first_block[3], first_thread[3];
	struct code_row frames[1 + GPU_CORE_CALLS_MAX];
	unsigned nframes;
	const struct code_row *frame_list;
};
struct kernel_row {
	const char *kernel_name;
	uint32_t device, tid, block_count;
	uint32_t grid[3], block[3];
	uint64_t lane_count;
	struct place_row *place_list;
	unsigned nplaces;
};

JS_DEFINE(code_object, "core_frame", code_row, JS(HEX, code_row, pc),
	JS(TEXT, code_row, function, file), JS(UINT, code_row, line));
JS_DEFINE(place_object, "core_place", place_row, JS(UINT, place_row, lane_count, active_count),
	JS(TEXT, place_row, exception), JS(U32S, place_row, first_block, first_thread),
	JS_LIST_OF("frames", place_row, frame_list, nframes, code_object));
JS_DEFINE(kernel_object, "core_kernel", kernel_row, JS(TEXT, kernel_row, kernel_name),
	JS(UINT, kernel_row, device, tid, block_count, lane_count),
	JS(U32S, kernel_row, grid, block),
	JS_LIST_OF("place_list", kernel_row, place_list, nplaces, place_object));

static struct code_row code_row(const struct gpu_core_code *c, struct symbols *names)
{
	return (struct code_row){
		c->pc, c->function ? symbols_demangle(names, c->function) : NULL, c->file, c->line};
}

static struct place_row place_row(const struct gpu_core_place *p, struct symbols *names)
{
	struct place_row r = {.lane_count = p->lanes,
		.active_count = p->active,
		.exception = exception_name(p->exception),
		.nframes = 1 + p->ncalls};

	memcpy(r.first_block, p->first.block, sizeof r.first_block);
	memcpy(r.first_thread, p->first.thread, sizeof r.first_thread);
	r.frames[0] = code_row(&p->code, names);
	for (unsigned i = 0; i < p->ncalls; i++)
		r.frames[1 + i] = code_row(&p->calls[i], names);
	return r;
}

/* *ret_places: the rows' memory. */
static struct kernel_row *rows(
	const struct gpu_core *c, struct symbols *names, struct place_row **ret_places)
{
	struct kernel_row *k = xcalloc(c->nkernels + 1, sizeof *k);
	struct place_row *p = xcalloc(c->nplaces + 1, sizeof *p);
	size_t at = 0;

	for (size_t i = 0; i < c->nkernels; i++) {
		const struct gpu_core_kernel *of = &c->kernels[i];

		k[i] = (struct kernel_row){
			.kernel_name = of->name ? symbols_demangle(names, of->name) : NULL,
			.device = of->device,
			.tid = of->host_thread,
			.block_count = of->blocks,
			.lane_count = of->lanes,
			.place_list = &p[at]};
		memcpy(k[i].grid, of->grid, sizeof k[i].grid);
		memcpy(k[i].block, of->block, sizeof k[i].block);
		for (; at < c->nplaces && c->places[at].kernel == i; at++) {
			p[at] = place_row(&c->places[at], names);
			p[at].frame_list = p[at].frames;
			k[i].nplaces++;
		}
	}
	*ret_places = p;
	return k;
}

/* "(3,1,1)", shorter where it ends in ones. */
static void put_size(struct buf *out, const uint32_t n[3])
{
	if (n[1] == 1 && n[2] == 1)
		buf_printf(out, "%" PRIu32, n[0]);
	else if (n[2] == 1)
		buf_printf(out, "(%" PRIu32 ",%" PRIu32 ")", n[0], n[1]);
	else
		buf_printf(out, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", n[0], n[1], n[2]);
}

static void put_safe(struct buf *out, const char *text)
{
	text_safe(out, text, strlen(text), 0);
}

static void put_code(struct buf *out, const struct code_row *c)
{
	if (c->function)
		put_safe(out, c->function);
	else
		buf_printf(out, "%#" PRIx64, c->pc);
	if (!c->file)
		return;
	buf_str(out, " at ");
	put_safe(out, file_name_of(c->file));
	buf_printf(out, ":%u", c->line);
}

static void put_place(struct buf *out, const struct place_row *p)
{
	buf_printf(out, "  %" PRIu64 " lane%s ", p->lane_count, p->lane_count == 1 ? "" : "s");
	if (p->exception)
		buf_printf(out, "with %s ", p->exception);
	buf_str(out, "in ");
	put_code(out, &p->frames[0]);
	for (unsigned i = 1; i < p->nframes; i++) {
		buf_str(out, " <- ");
		put_code(out, &p->frames[i]);
	}
	buf_printf(out,
		"; the first: block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") thread (%" PRIu32
		",%" PRIu32 ",%" PRIu32 ")\n",
		p->first_block[0], p->first_block[1], p->first_block[2], p->first_thread[0],
		p->first_thread[1], p->first_thread[2]);
}

static void put_faults(struct buf *out, const struct gpu_core *c, struct symbols *names)
{
	for (size_t i = 0; i < c->nfaults; i++) {
		const struct gpu_core_fault *f = &c->faults[i];
		const struct code_row at = code_row(&f->code, names);

		buf_printf(out, "Multiprocessor %" PRIu32 " of device %" PRIu32 " reports: %s",
			f->sm, f->device, exception_name(f->exception));
		if (at.pc) {
			buf_str(out, " in ");
			put_code(out, &at);
		}
		buf_byte(out, '\n');
	}
}

void core_text(struct buf *out, const struct gpu_core *c, struct symbols *names)
{
	struct place_row *places;
	struct kernel_row *k = rows(c, names, &places);

	put_faults(out, c, names);
	if (!c->nkernels)
		buf_str(out, "No kernel was running.\n");
	for (size_t i = 0; i < c->nkernels; i++) {
		put_safe(out, k[i].kernel_name ? k[i].kernel_name : "kernel without a name");
		buf_str(out, "<<<");
		put_size(out, k[i].grid);
		buf_str(out, ",");
		put_size(out, k[i].block);
		buf_printf(out,
			">>> on device %" PRIu32 ", launched by host thread %" PRIu32 ": %" PRIu32
			" block%s and %" PRIu64 " lane%s running\n",
			k[i].device, k[i].tid, k[i].block_count, k[i].block_count == 1 ? "" : "s",
			k[i].lane_count, k[i].lane_count == 1 ? "" : "s");
		for (unsigned p = 0; p < k[i].nplaces; p++)
			put_place(out, &k[i].place_list[p]);
	}
	free(places);
	free(k);
}

void core_json(struct buf *out, const struct gpu_core *c, struct symbols *names)
{
	struct place_row *places;
	struct kernel_row *k = rows(c, names, &places);

	buf_byte(out, '[');
	for (size_t i = 0; i < c->nkernels; i++)
		js_add(out, &kernel_object, &k[i]);
	buf_str(out, "]\n");
	free(places);
	free(k);
}
