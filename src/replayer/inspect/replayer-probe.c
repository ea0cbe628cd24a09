/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes inside kernels by changed code (gpucode/ptx-probe.h), on any device: the modules of
 * kernels that probes are in are loaded from their PTX, with code that counts. They take the place
 * of the recorded modules, so that there is one copy of each variable. Around each launch of such a
 * kernel all work is waited for, to know in which launches lanes were counted.
 */
#include <stdlib.h>
#include <string.h>
#include "gpucode/ptx-probe.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"
#include "sbt/kernel-name.h"

/* Values of a probe that sorts by values. */
#define LOG_ROOM (1u << 22)
#define CELL_BYTES sizeof(struct ptx_probe_cell)
_Static_assert((int)SOFT_PROBE_BUCKETS == (int)PTX_PROBE_BUCKETS, "buckets are the same");

static const char *pattern(const struct soft_probe *p)
{
	return p->kernel[0] ? p->kernel : "*";
}

static bool is_in(const struct soft_probe *p, const char *name)
{
	char shown[SOFT_NAME];

	sbt_kernel_short_name(shown, sizeof shown, name);
	return sbt_kernel_glob(pattern(p), name, shown);
}

static void end_texts(struct soft_probe *p)
{
	p->kernel[sizeof p->kernel - 1] = p->file[sizeof p->file - 1] = 0;
	p->expr[sizeof p->expr - 1] = p->condition[sizeof p->condition - 1] = 0;
	for (unsigned j = 0; j < SOFT_PROBE_ROWS; j++)
		p->row[j].expr[SOFT_TEXT - 1] = p->row[j].condition[SOFT_TEXT - 1] = 0;
}

struct err *probe_keep(struct rp *rp, const void *p, size_t n)
{
	struct counting *c = &rp->counting;

	if (n % sizeof *c->p || n / sizeof *c->p > SOFT_PROBES_MAX)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0, "%zu bytes are no list of probes", n);
	free(c->p);
	*c = (struct counting){.p = xmalloc(n + 1), .n = (unsigned)(n / sizeof *c->p)};
	memcpy(c->p, p, n);
	for (unsigned i = 0; i < c->n; i++) {
		end_texts(&c->p[i]);
		if (c->p[i].kind > SOFT_PROBE_PRINT)
			return rp_fail(rp, REPLAYER_E_REFUSED, 0, "there is no probe of kind %u",
				c->p[i].kind);
	}
	return NULL;
}

/* --- the area --- */

/* The table of ranges in which expressions may read memory. */
static struct ptx_probe_range *make_table(struct rp *rp)
{
	struct counting *c = &rp->counting;
	struct ranges all = place_allocations(rp);
	struct ptx_probe_range *v;

	c->table.rows = 2;
	while (c->table.rows < all.n + 1)
		c->table.rows *= 2;
	v = xmalloc(c->table.rows * sizeof *v);
	memset(v, 0xff, c->table.rows * sizeof *v);
	v[0] = (struct ptx_probe_range){0, 0};
	for (size_t i = 0; i < all.n; i++)
		v[i + 1] = (struct ptx_probe_range){all.r[i].addr, all.r[i].addr + all.r[i].size};
	ranges_free(&all);
	return v;
}

struct err *probe_open(struct rp *rp)
{
	struct counting *c = &rp->counting;
	struct ptx_probe_range *table;
	struct ptx_probe_cell *cells;
	uint64_t size;
	struct err *e;

	if (!c->n)
		return NULL;
	TRY(devices_one_only(rp, "counting by changed code"));
	table = make_table(rp);
	size = c->n * CELL_BYTES;
	c->table.at = size;
	size += c->table.rows * sizeof *table;
	for (unsigned i = 0; i < c->n; i++) {
		c->log_at[i] = size;
		size += c->p[i].kind == SOFT_PROBE_BY ? LOG_ROOM * sizeof(uint64_t) : 0;
	}
	size += print_log(rp, size);
	cells = xcalloc(c->n, CELL_BYTES);
	e = rp_gpu(rp, rp->gpu->mem_alloc(&c->area, size));
	if (!e)
		e = rp_gpu(rp, rp->gpu->copy_to_device(c->area, cells, c->n * CELL_BYTES, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->copy_to_device(c->area + c->table.at, table,
				       c->table.rows * sizeof *table, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	free(cells);
	free(table);
	return e ? err_wrap(e, "memory for what probes count") : NULL;
}

/* --- code --- */

/* What one probe is at a place of a text. */
struct asked {
	const struct soft_probe *p;
	uint64_t hash;
};

static bool is_kernel(void *arg, const char *name)
{
	return is_in(((const struct asked *)arg)->p, name);
}

static bool texts(void *arg, unsigned ptx_line, const char **ret_expr, const char **ret_condition)
{
	const struct asked *a = arg;

	*ret_expr = a->p->expr;
	*ret_condition = a->p->condition;
	if (!a->p->nrows)
		return true;
	for (unsigned k = 0; k < a->p->nrows && k < SOFT_PROBE_ROWS; k++)
		if (a->p->row[k].line == ptx_line && a->p->row[k].text == a->hash) {
			*ret_expr = a->p->row[k].expr;
			*ret_condition = a->p->row[k].condition;
			return strcmp(*ret_expr, "?") != 0;
		}
	return false;
}

/* Changes a text; nothing is appended if no probe is in it. */
static struct err *change(struct rp *rp, const struct buf *text, struct buf *out)
{
	static const enum ptx_probe_kind kinds[] = {[SOFT_PROBE_COUNT] = PTX_PROBE_COUNT,
		[SOFT_PROBE_HIST] = PTX_PROBE_HIST,
		[SOFT_PROBE_BY] = PTX_PROBE_BY,
		[SOFT_PROBE_PRINT] = PTX_PROBE_PRINT};
	const uint64_t hash = soft_probe_hash((const char *)text->data, text->len);
	struct counting *c = &rp->counting;
	struct ptx_probe v[SOFT_PROBES_MAX];
	struct asked asked[SOFT_PROBES_MAX];

	for (unsigned i = 0; i < c->n; i++) {
		asked[i] = (struct asked){&c->p[i], hash};
		v[i] = (struct ptx_probe){.kind = kinds[c->p[i].kind],
			.file = c->p[i].file[0] ? c->p[i].file : NULL,
			.line = c->p[i].line,
			.is_kernel = is_kernel,
			.texts = texts,
			.arg = &asked[i],
			.log_at = c->log_at[i],
			.log_room = LOG_ROOM};
		if (v[i].kind != PTX_PROBE_PRINT)
			continue;
		v[i].log_at = c->printing.at;
		v[i].log_room = c->printing.room;
		v[i].nvalues = c->printing.nvalues;
		v[i].log_of = c->printing.of;
	}
	struct err *e = ptx_probe(out, (const char *)text->data, text->len, v, c->n, &c->table);
	for (unsigned i = 0; e && i < c->n; i++)
		if (v[i].refused)
			e = err_wrap(e, "%s %u", v[i].kind == PTX_PROBE_PRINT ? "dprintf" : "probe",
				c->p[i].id);
	TRY(e);
	for (unsigned i = 0; i < c->n; i++) {
		c->places[i] += v[i].places;
		c->in_function[i] |= v[i].in_function;
		c->is_float[i] |= v[i].is_float;
	}
	return NULL;
}

/* A kernel of the window that runs m's code, and that some probe is in; *ret_named: that names it.
 */
static const struct rkernel *probed_kernel(struct rp *rp, const struct rmodule *m, bool *ret_named)
{
	const struct counting *c = &rp->counting;
	const struct rkernel *found = NULL;

	*ret_named = false;
	for (size_t i = 0; i < rp->objects.nkernels; i++) {
		const struct rkernel *k = &rp->objects.kernels[i];

		if (!k->used || !k->name || k->module != m->id)
			continue;
		for (unsigned j = 0; j < c->n; j++) {
			if (!is_in(&c->p[j], k->name))
				continue;
			found = found && *ret_named ? found : k;
			*ret_named |= c->p[j].kernel[0] != 0;
		}
	}
	return found;
}

/* Tells the changed module where its area is. */
static struct err *give_area(struct rp *rp, struct gpu_module *m)
{
	uint64_t at;
	size_t size;

	GPU(rp, code_global, &at, &size, m, PTX_PROBE_AREA);
	if (size != sizeof rp->counting.area)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0, "the changed code has another area");
	GPU(rp, copy_to_device, at, &rp->counting.area, sizeof rp->counting.area, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *load_changed(
	struct rp *rp, const struct rkernel *k, uint64_t hash, struct gpu_module **ret)
{
	struct buf text = BUF_INIT, changed = BUF_INIT;
	enum code_kind kind;
	struct err *e = sbt_reader_code(rp->trace, hash, &text, &kind);

	if (!e)
		e = change(rp, &text, &changed);
	if (e)
		rp->fail_code = REPLAYER_E_REFUSED;
	if (!e && changed.len) {
		e = rp_gpu(rp, rp->gpu->code_load(ret, changed.data, changed.len - 1));
		e = e ? err_wrap(e, "the changed code of %s cannot be loaded here", k->name)
		      : give_area(rp, *ret);
	}
	buf_free(&text);
	buf_free(&changed);
	return e;
}

struct err *probe_load(struct rp *rp, const struct rmodule *m, struct gpu_module **ret)
{
	const struct rkernel *k;
	uint64_t hash;
	bool named;

	if (!rp->counting.n || !(k = probed_kernel(rp, m, &named)))
		return NULL;
	hash = code_ptx(rp, k);
	if (hash)
		return load_changed(rp, k, hash, ret);
	if (named)
		return err_cure(rp_fail(rp, REPLAYER_E_REFUSED, 0,
					"the trace has only machine code of %s: probes change PTX",
					k->name),
			"build the program with PTX (-gencode arch=compute_NN,code=compute_NN) and record it again");
	window_note(rp, false, "%s is not probed: the trace has only machine code of it", k->name);
	return NULL;
}

/* --- launches --- */

static bool counts_in(const struct rp *rp, unsigned i, const struct rkernel *k)
{
	return rp->counting.places[i] && is_in(&rp->counting.p[i], k->name);
}

/* Switches what lies in functions that are no kernels, for the launch of k alone. */
static struct err *switch_on(struct rp *rp, const struct rkernel *k, uint64_t on, bool *ret_any)
{
	const struct counting *c = &rp->counting;

	*ret_any = false;
	for (unsigned i = 0; i < c->n; i++)
		*ret_any |= counts_in(rp, i, k);
	if (!*ret_any)
		return NULL;
	TRY(execute_finish(rp));
	for (unsigned i = 0; i < c->n; i++)
		if (counts_in(rp, i, k) && c->in_function[i]) {
			GPU(rp, copy_to_device, c->area + i * CELL_BYTES, &on, sizeof on, rp->own);
			GPU(rp, stream_finish, rp->own);
		}
	return NULL;
}

struct err *probe_before(struct rp *rp, const struct rkernel *k)
{
	bool any;

	return rp->counting.n ? switch_on(rp, k, 1, &any) : NULL;
}

struct err *probe_after(struct rp *rp, const struct rkernel *k)
{
	struct counting *c = &rp->counting;
	struct ptx_probe_cell cell;
	bool any;

	if (!c->n)
		return NULL;
	TRY(switch_on(rp, k, 0, &any));
	for (unsigned i = 0; any && i < c->n; i++) {
		if (!counts_in(rp, i, k))
			continue;
		GPU(rp, copy_to_host, &cell, c->area + i * CELL_BYTES, sizeof cell, rp->own);
		GPU(rp, stream_finish, rp->own);
		c->launches[i] += cell.count + cell.unknown != c->seen[i];
		c->seen[i] = cell.count + cell.unknown;
	}
	return any ? print_after(rp) : NULL;
}

/* --- results --- */

static void add_key(struct soft_probe_result *r, uint32_t *slots, uint64_t bits)
{
	enum { SLOTS = 4 * SOFT_PROBE_KEYS };
	uint64_t at = (bits * 0x9e3779b97f4a7c15u >> 40) % SLOTS;

	while (slots[at] && r->key[slots[at] - 1].bits != bits)
		at = (at + 1) % SLOTS;
	if (!slots[at] && r->nkeys == SOFT_PROBE_KEYS) {
		r->others++;
		return;
	}
	if (!slots[at]) {
		r->key[r->nkeys].bits = bits;
		slots[at] = ++r->nkeys;
	}
	r->key[slots[at] - 1].count++;
}

static struct err *read_log(struct rp *rp, unsigned i, uint64_t n, struct soft_probe_result *r)
{
	const struct counting *c = &rp->counting;
	const uint64_t have = n < LOG_ROOM ? n : LOG_ROOM;
	uint64_t *v = xmalloc((have + 1) * sizeof *v);
	uint32_t *slots = xcalloc(4 * SOFT_PROBE_KEYS, sizeof *slots);
	struct err *e = NULL;

	if (have)
		e = rp_gpu(rp, rp->gpu->copy_to_host(v, c->area + c->log_at[i],
				       (size_t)have * sizeof *v, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	for (uint64_t k = 0; !e && k < have; k++)
		add_key(r, slots, v[k]);
	r->others += n - have;
	free(v);
	free(slots);
	return e;
}

static struct err *read_one(struct rp *rp, unsigned i, struct soft_probe_result *r)
{
	const struct counting *c = &rp->counting;
	struct ptx_probe_cell cell;

	GPU(rp, copy_to_host, &cell, c->area + i * CELL_BYTES, sizeof cell, rp->own);
	GPU(rp, stream_finish, rp->own);
	memset(r, 0, sizeof *r);
	r->id = c->p[i].id;
	r->is_float = c->is_float[i];
	r->launches = c->launches[i];
	r->count = cell.count;
	r->unknown = cell.unknown;
	memcpy(r->bucket, cell.bucket, sizeof r->bucket);
	return c->p[i].kind == SOFT_PROBE_BY ? read_log(rp, i, cell.logged, r) : NULL;
}

struct err *probe_results(struct rp *rp, struct buf *out)
{
	struct soft_probe_result *r = xmalloc(sizeof *r);
	struct err *e = NULL;

	for (unsigned i = 0; !e && i < rp->counting.n; i++) {
		e = read_one(rp, i, r);
		if (!e)
			buf_add(out, r, sizeof *r);
	}
	free(r);
	return e;
}
