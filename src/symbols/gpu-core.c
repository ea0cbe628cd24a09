/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU core dumps, see gpu-core.h. The tables are read from the lanes upwards: a table of lanes
 * names its warp, that its block, and so on. Lanes are gathered in an array that is sorted by
 * kernel and instruction; each run of equal ones becomes a place.
 */
#include "symbols/gpu-core.h"

#include "base/checked.h"
#include "base/file.h"
#include "gpucode/cubin.h"
#include "symbols/gpu-core-code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Types of sections. Source: CudbgSectionHeaderTypes in cudacoredump.h. */
enum {
	SECTION_CODE = SHT_LOUSER + 7, /* a relocated cubin */
	SECTION_CALLS = SHT_LOUSER + 8,
	SECTION_DEVICES = SHT_LOUSER + 9,
	SECTION_CONTEXTS = SHT_LOUSER + 10,
	SECTION_SMS = SHT_LOUSER + 11,
	SECTION_KERNELS = SHT_LOUSER + 12,
	SECTION_BLOCKS = SHT_LOUSER + 13,
	SECTION_WARPS = SHT_LOUSER + 14,
	SECTION_LANES = SHT_LOUSER + 15,
	SECTION_MODULES = SHT_LOUSER + 16,
	SECTION_PARAMS = SHT_LOUSER + 18,
};
#define ABI_CUDA 0x33 /* e_ident[EI_OSABI] */
/* More than a machine's devices run at once; bounds the work on a forged file. */
enum { KERNELS_MAX = 16384 };

/* The beginnings of the rows that are read. Source: the Cudbg*TableEntry structs there. */
struct row_device {
	uint64_t name, type, sm_type;
	uint32_t id;
};
struct row_context {
	uint64_t id, shared_base, local_base, global_base;
	uint32_t device_index;
};
struct row_kernel {
	uint64_t grid_id, context, function, entry, module, parent, params;
	uint32_t type, origin, status, registers, grid[3], block[3], blocking, host_thread;
};
struct row_sm {
	uint32_t id;
};
/* The rest of the row, since CUDA 12: files of before have shorter rows. */
struct row_sm_fault {
	uint32_t id, pad, exception, pc_valid;
	uint64_t pc;
};
struct row_block {
	uint64_t grid_id;
	uint32_t index[3];
};
struct row_warp {
	uint64_t error_pc;
	uint32_t id, valid, active;
};
struct row_lane {
	uint64_t pc, physical_pc;
	uint32_t lane, thread[3], exception;
};
struct row_call {
	uint64_t physical_pc, pc;
	uint32_t level;
};

/* One lane, while lanes are gathered. */
struct seen {
	uint32_t kernel, exception;
	uint64_t pc;
	bool active;
	struct gpu_core_lane at;
	uint64_t table, row; /* where the file has it: its calls name that */
};

struct gpu_core_file {
	uint8_t *bytes;
	struct cubin elf;
	struct gpu_core_codes *codes;
	struct seen *seen;
	size_t nseen, room;
	/* the sections of calls, by what they name; the file has one for each lane */
	struct calls {
		uint64_t table, row, section;
	} * calls;
	size_t ncalls;
};

/* Copies the first n bytes of a row; false: the section is none of that type, or has no such row.
 */
static bool row_of(const struct gpu_core_file *f, uint64_t section, uint32_t type, uint64_t i,
	void *ret, size_t n)
{
	Elf64_Shdr s;
	uint64_t at;

	if (!section || !cubin_section(&f->elf, section, &s) || s.sh_type != type ||
		s.sh_entsize < n || ckd_mul(&at, i, s.sh_entsize) ||
		!range_within(s.sh_offset, s.sh_size, 0, f->elf.size) ||
		!range_within(at, n, 0, s.sh_size))
		return false;
	memcpy(ret, f->bytes + s.sh_offset + at, n);
	return true;
}

static uint64_t rows_of(const Elf64_Shdr *s)
{
	return s->sh_entsize ? s->sh_size / s->sh_entsize : 0;
}

static bool link_of(const struct gpu_core_file *f, uint64_t section, uint64_t *table, uint64_t *row)
{
	Elf64_Shdr s;

	if (!section || !cubin_section(&f->elf, section, &s))
		return false;
	*table = s.sh_link;
	*row = s.sh_info;
	return true;
}

/* The device that a table of multiprocessors or of kernels is about. */
static bool device_of(const struct gpu_core_file *f, uint64_t section, uint32_t *ret)
{
	uint64_t table, row;
	struct row_device d;

	if (!link_of(f, section, &table, &row) ||
		!row_of(f, table, SECTION_DEVICES, row, &d, sizeof d))
		return false;
	*ret = d.id;
	return true;
}

static struct err *damaged(const char *what)
{
	return err_new(ERR_BAD_TRACE, "the GPU core dump is damaged: %s", what);
}

/* Kernels. */

static struct gpu_core_kernel *kernel_of(struct gpu_core *c, uint32_t device, uint64_t grid_id)
{
	for (size_t i = 0; i < c->nkernels; i++)
		if (c->kernels[i].device == device && c->kernels[i].grid_id == grid_id)
			return &c->kernels[i];
	return NULL;
}

static struct err *kernels_add(struct gpu_core *c, uint64_t section, const Elf64_Shdr *s)
{
	const uint64_t n = rows_of(s);
	struct gpu_core_kernel *all;
	struct row_kernel r;
	uint32_t device;

	if (!n)
		return NULL;
	if (!device_of(c->file, section, &device))
		return damaged("a table of kernels names no device");
	if (n > KERNELS_MAX - c->nkernels)
		return damaged("it names more kernels than devices can run at once");
	all = reallocarray(c->kernels, c->nkernels + n, sizeof *all);
	if (!all)
		return err_nomem();
	c->kernels = all;
	for (uint64_t i = 0; i < n; i++) {
		struct gpu_core_kernel *k = &c->kernels[c->nkernels];

		if (!row_of(c->file, section, SECTION_KERNELS, i, &r, sizeof r))
			return damaged("a row of the table of kernels is too short");
		*k = (struct gpu_core_kernel){.grid_id = r.grid_id,
			.device = device,
			.host_thread = r.host_thread,
			.name = gpu_core_function_at(c->file->codes, device, r.entry)};
		memcpy(k->grid, r.grid, sizeof k->grid);
		memcpy(k->block, r.block, sizeof k->block);
		c->nkernels++;
	}
	return NULL;
}

static void params_add(struct gpu_core *c, uint64_t section, const Elf64_Shdr *s)
{
	uint64_t table, row;
	struct row_kernel r;
	struct gpu_core_kernel *k;
	uint32_t device;

	if (!link_of(c->file, section, &table, &row) ||
		!row_of(c->file, table, SECTION_KERNELS, row, &r, sizeof r) ||
		!device_of(c->file, table, &device))
		return;
	k = kernel_of(c, device, r.grid_id);
	if (!k || !range_within(s->sh_offset, s->sh_size, 0, c->file->elf.size))
		return;
	k->params = c->file->bytes + s->sh_offset;
	k->params_size = s->sh_size;
}

/* Code: its table of modules names the context, that the device. */

static struct err *code_add(struct gpu_core_file *f, uint64_t section, const Elf64_Shdr *s)
{
	uint64_t modules, row, contexts, context_row;
	struct row_context context;
	struct row_device device;
	Elf64_Shdr devices;

	if (!link_of(f, section, &modules, &row) || !link_of(f, modules, &contexts, &context_row) ||
		!row_of(f, contexts, SECTION_CONTEXTS, context_row, &context, sizeof context) ||
		!cubin_section(&f->elf, contexts, &devices) ||
		!row_of(f, devices.sh_link, SECTION_DEVICES, context.device_index, &device,
			sizeof device))
		return damaged("a module names no device");
	if (!range_within(s->sh_offset, s->sh_size, 0, f->elf.size))
		return damaged("it ends within a module's code");
	return gpu_core_codes_add(f->codes, device.id, f->bytes + s->sh_offset, s->sh_size);
}

/* Lanes. */

static struct seen *seen_new(struct gpu_core_file *f)
{
	if (f->nseen == f->room) {
		const size_t room = f->room ? 2 * f->room : 4096;
		struct seen *all = reallocarray(f->seen, room, sizeof *all);

		if (!all)
			return NULL;
		f->seen = all;
		f->room = room;
	}
	return &f->seen[f->nseen++];
}

/* What a table of lanes is about: its warp, block, multiprocessor and kernel. */
struct above {
	struct row_warp warp;
	struct row_block block;
	struct row_sm sm;
	uint32_t device;
};

static bool above_of(const struct gpu_core_file *f, uint64_t section, struct above *ret)
{
	uint64_t warps, blocks, sms, row;

	return link_of(f, section, &warps, &row) &&
	       row_of(f, warps, SECTION_WARPS, row, &ret->warp, sizeof ret->warp) &&
	       link_of(f, warps, &blocks, &row) &&
	       row_of(f, blocks, SECTION_BLOCKS, row, &ret->block, sizeof ret->block) &&
	       link_of(f, blocks, &sms, &row) &&
	       row_of(f, sms, SECTION_SMS, row, &ret->sm, sizeof ret->sm) &&
	       device_of(f, sms, &ret->device);
}

static struct err *lanes_add(struct gpu_core *c, uint64_t section, const Elf64_Shdr *s)
{
	struct gpu_core_file *f = c->file;
	struct gpu_core_kernel *k;
	struct above a;
	struct row_lane r;

	if (!rows_of(s))
		return NULL;
	if (!above_of(f, section, &a))
		return damaged("a table of lanes names no warp, block or multiprocessor");
	k = kernel_of(c, a.device, a.block.grid_id);
	if (!k)
		return damaged("a block is of a kernel that is not in its table");
	for (uint64_t i = 0; i < rows_of(s); i++) {
		struct seen *l;

		if (!row_of(f, section, SECTION_LANES, i, &r, sizeof r))
			return damaged("a row of a table of lanes is too short");
		if (r.lane >= 32 || !(a.warp.valid >> r.lane & 1))
			continue; /* has ended, or never was */
		l = seen_new(f);
		if (!l)
			return err_nomem();
		*l = (struct seen){.kernel = (uint32_t)(k - c->kernels),
			.exception = r.exception,
			.pc = r.pc,
			.active = a.warp.active >> r.lane & 1,
			.at = {.sm = a.sm.id, .warp = a.warp.id, .lane = r.lane},
			.table = section,
			.row = i};
		memcpy(l->at.block, a.block.index, sizeof l->at.block);
		memcpy(l->at.thread, r.thread, sizeof l->at.thread);
		k->lanes++;
	}
	return NULL;
}

static struct err *blocks_add(struct gpu_core *c, uint64_t section, const Elf64_Shdr *s)
{
	uint64_t sms, row;
	uint32_t device;
	struct row_block r;

	if (!rows_of(s))
		return NULL;
	if (!link_of(c->file, section, &sms, &row) || !device_of(c->file, sms, &device))
		return damaged("a table of blocks names no multiprocessor");
	for (uint64_t i = 0; i < rows_of(s); i++) {
		struct gpu_core_kernel *k;

		if (!row_of(c->file, section, SECTION_BLOCKS, i, &r, sizeof r))
			return damaged("a row of a table of blocks is too short");
		k = kernel_of(c, device, r.grid_id);
		if (k)
			k->blocks++;
	}
	return NULL;
}

static struct err *faults_add(struct gpu_core *c, uint64_t section, const Elf64_Shdr *s)
{
	struct row_sm_fault r;
	uint32_t device;

	for (uint64_t i = 0; i < rows_of(s); i++) {
		struct gpu_core_fault *all;

		if (!row_of(c->file, section, SECTION_SMS, i, &r, sizeof r) || !r.exception ||
			!device_of(c->file, section, &device))
			continue;
		all = reallocarray(c->faults, c->nfaults + 1, sizeof *all);
		if (!all)
			return err_nomem();
		c->faults = all;
		all[c->nfaults] = (struct gpu_core_fault){device, r.id, r.exception, {0}};
		if (r.pc_valid)
			gpu_core_code_at(c->file->codes, device, r.pc, 0, &all[c->nfaults].code);
		c->nfaults++;
	}
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	for (int i = 2; i >= 0; i--)
		if (x->at.block[i] != y->at.block[i])
			return x->at.block[i] < y->at.block[i] ? -1 : 1;
	for (int i = 2; i >= 0; i--)
		if (x->at.thread[i] != y->at.thread[i])
			return x->at.thread[i] < y->at.thread[i] ? -1 : 1;
	return 0;
}

/* The calls of a lane. A file has a section for each lane, so those are sorted once. */

static int by_lane(const void *a, const void *b)
{
	const struct calls *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static struct err *calls_gather(struct gpu_core_file *f)
{
	Elf64_Shdr s;
	size_t n = 0;

	for (uint64_t i = 1; i < f->elf.nsections; i++)
		n += cubin_section(&f->elf, i, &s) && s.sh_type == SECTION_CALLS && s.sh_size;
	f->calls = calloc(n ? n : 1, sizeof *f->calls);
	if (!f->calls)
		return err_nomem();
	for (uint64_t i = 1; i < f->elf.nsections; i++)
		if (cubin_section(&f->elf, i, &s) && s.sh_type == SECTION_CALLS && s.sh_size)
			f->calls[f->ncalls++] = (struct calls){s.sh_link, s.sh_info, i};
	qsort(f->calls, f->ncalls, sizeof *f->calls, by_lane);
	return NULL;
}

static void calls_of(const struct gpu_core_file *f, const struct seen *l, uint32_t device,
	struct gpu_core_place *ret)
{
	const struct calls key = {.table = l->table, .row = l->row};
	const struct calls *found =
		f->ncalls ? bsearch(&key, f->calls, f->ncalls, sizeof *f->calls, by_lane) : NULL;
	struct row_call r;

	while (found && ret->ncalls < GPU_CORE_CALLS_MAX &&
		row_of(f, found->section, SECTION_CALLS, ret->ncalls, &r, sizeof r)) {
		/* A return address is behind the call, which may be the line's last. */
		gpu_core_code_at(f->codes, device, r.pc, 1, &ret->calls[ret->ncalls]);
		ret->ncalls++;
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct gpu_core_place *x = a, *y = b;

	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->lanes != y->lanes)
		return x->lanes > y->lanes ? -1 : 1;
	return x->code.pc < y->code.pc ? -1 : x->code.pc > y->code.pc;
}

static struct err *places_make(struct gpu_core *c)
{
	struct gpu_core_file *f = c->file;
	struct gpu_core_place *p = NULL;
	size_t n = 0;

	if (!f->nseen)
		return NULL;
	qsort(f->seen, f->nseen, sizeof *f->seen, by_place);
	for (size_t i = 0; i < f->nseen; i++)
		n += !i || f->seen[i].kernel != f->seen[i - 1].kernel ||
		     f->seen[i].pc != f->seen[i - 1].pc;
	c->places = calloc(n, sizeof *c->places);
	if (!c->places)
		return err_nomem();
	for (size_t i = 0; i < f->nseen; i++) {
		const struct seen *l = &f->seen[i];

		if (!p || p->kernel != l->kernel || p->code.pc != l->pc) {
			const uint32_t device = c->kernels[l->kernel].device;

			p = &c->places[c->nplaces++];
			*p = (struct gpu_core_place){
				.kernel = l->kernel, .exception = l->exception, .first = l->at};
			gpu_core_code_at(f->codes, device, l->pc, 0, &p->code);
			calls_of(f, l, device, p);
		}
		p->lanes++;
		p->active += l->active;
	}
	qsort(c->places, c->nplaces, sizeof *c->places, by_weight);
	return NULL;
}

/* The whole file, table by table: what a row names must have been read before it. */

static struct err *section_add(struct gpu_core *c, uint32_t type, uint64_t i, const Elf64_Shdr *s)
{
	switch (type) {
	case SECTION_CODE:
		return code_add(c->file, i, s);
	case SECTION_KERNELS:
		return kernels_add(c, i, s);
	case SECTION_SMS:
		return faults_add(c, i, s);
	case SECTION_BLOCKS:
		return blocks_add(c, i, s);
	case SECTION_LANES:
		return lanes_add(c, i, s);
	default:
		params_add(c, i, s);
		return NULL;
	}
}

static struct err *sections_add(struct gpu_core *c)
{
	static const uint32_t order[] = {SECTION_CODE, SECTION_KERNELS, SECTION_PARAMS, SECTION_SMS,
		SECTION_BLOCKS, SECTION_LANES};
	Elf64_Shdr s;

	for (size_t k = 0; k < sizeof order / sizeof *order; k++)
		for (uint64_t i = 1; i < c->file->elf.nsections; i++)
			if (cubin_section(&c->file->elf, i, &s) && s.sh_type == order[k])
				TRY(section_add(c, order[k], i, &s));
	TRY(calls_gather(c->file));
	return places_make(c);
}

/* Takes the bytes, which are from malloc. */
static struct err *core_take(uint8_t *bytes, size_t n, struct gpu_core **ret)
{
	struct gpu_core *c = calloc(1, sizeof *c);
	struct err *e = NULL;

	if (c)
		c->file = calloc(1, sizeof *c->file);
	if (!c || !c->file) {
		free(bytes);
		free(c);
		return err_nomem();
	}
	c->file->bytes = bytes;
	c->file->codes = gpu_core_codes_new();
	if (!c->file->codes)
		e = err_nomem();
	else if (!cubin_open(&c->file->elf, bytes, n) || c->file->elf.header.e_type != ET_CORE ||
		 c->file->elf.header.e_machine != EM_CUDA ||
		 c->file->elf.header.e_ident[EI_OSABI] != ABI_CUDA)
		e = err_new(ERR_BAD_TRACE, "this is no GPU core dump");
	else if (!cubin_is_whole(&c->file->elf))
		e = damaged("it ends before its tables do");
	else
		e = sections_add(c);
	if (e) {
		gpu_core_free(c);
		return e;
	}
	*ret = c;
	return NULL;
}

struct err *gpu_core_parse(const void *bytes, size_t n, struct gpu_core **ret)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		return err_nomem();
	memcpy(copy, bytes, n);
	return core_take(copy, n, ret);
}

static struct err *read_all(int fd, const char *path, uint8_t **ret, size_t *ret_n)
{
	struct stat st;
	int sys;

	if (fstat(fd, &st) < 0)
		return err_sys(errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_BAD_TRACE, "%s is no file with contents", path);
	*ret = malloc((size_t)st.st_size + 1);
	if (!*ret)
		return err_nomem();
	sys = file_take(fd, *ret, (size_t)st.st_size, ret_n);
	return sys ? err_sys(sys, "cannot read %s", path) : NULL;
}

struct err *gpu_core_read(const char *path, struct gpu_core **ret)
{
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct err *e;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	e = read_all(fd, path, &bytes, &n);
	close(fd);
	if (e) {
		free(bytes);
		return e;
	}
	e = core_take(bytes, n, ret);
	return e ? err_wrap(e, "%s", path) : NULL;
}

void gpu_core_free(struct gpu_core *c)
{
	if (!c)
		return;
	gpu_core_codes_free(c->file->codes);
	free(c->file->calls);
	free(c->file->seen);
	free(c->file->bytes);
	free(c->file);
	free(c->faults);
	free(c->places);
	free(c->kernels);
	free(c);
}
