/* SPDX-License-Identifier: Apache-2.0
 *
 * CHECK: executes each launch several times from the same memory and compares the results. Beside
 * the memory there is a copy of it (`before`) and the hash of each page of the copy; both follow
 * the position. A launch's first execution shows which pages it changes, and only those are put
 * back before the next one.
 *
 * The surprise: nearly all launches are the same every time, so all further executions of one are
 * submitted at once, and the host waits once. Only when one of them differs is the launch executed
 * again, step by step, to see where and by how much.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"
#include "replay/values.h"

#define RUNS_MAX 1000u
#define PAGES_LOOKED_AT 512u /* of the pages that differ, in one execution */
#define ROWS_MAX 4096u	     /* in a reply */
#define NOISE_BYTES (64u << 20)

static uint64_t pages_in(uint64_t size)
{
	return size / SBT_PAGE + (size % SBT_PAGE != 0);
}

/* --- the copy --- */

static void add_area(
	struct checking *k, size_t *cap, uint64_t here, uint64_t recorded, uint64_t size)
{
	MAKE_ROOM(k->areas, k->nareas, *cap);
	k->areas[k->nareas++] = (struct area){here, recorded, size, k->bytes, k->npages};
	k->bytes += (size + 255) & ~255ull;
	k->npages += pages_in(size);
}

static struct err *device_room(struct rp *rp, uint64_t *ret, uint64_t n, const char *what)
{
	const struct gpu_result r = rp->gpu->mem_alloc(ret, n ? n : 1);

	if (r.status == GPU_NO_MEMORY)
		return rp_fail(rp, REPLAYER_E_MEMORY, 0,
			"checking needs %llu MiB more on the device, for %s",
			(unsigned long long)(n >> 20) + 1, what);
	return rp_gpu(rp, r);
}

struct err *check_room_for_runs(struct rp *rp, struct checking *k, unsigned runs)
{
	if (runs <= k->runs)
		return NULL;
	if (k->flags)
		GPU(rp, mem_free, k->flags);
	k->flags = 0;
	k->runs = 0;
	TRY(device_room(rp, &k->flags, (uint64_t)runs * k->npages, "what was compared"));
	k->host_flags = xrealloc(k->host_flags, (size_t)runs * k->npages + 1);
	k->runs = runs;
	return NULL;
}

/* A row for each page. */
static struct err *send_table(struct rp *rp, struct checking *k)
{
	struct hash_kernel_page *rows = xcalloc(k->npages + 1, sizeof *rows);
	struct err *e;

	for (size_t i = 0; i < k->nareas; i++) {
		const struct area *a = &k->areas[i];

		for (size_t p = 0; p < pages_in(a->size); p++) {
			const uint64_t at = p * SBT_PAGE, left = a->size - at;

			rows[a->page + p] =
				(struct hash_kernel_page){a->here + at, k->before + a->at + at,
					left < SBT_PAGE ? (uint32_t)left : SBT_PAGE, 0};
		}
	}
	e = rp_gpu(
		rp, rp->gpu->copy_to_device(k->on.table, rows, k->npages * sizeof *rows, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	free(rows);
	return e;
}

struct err *check_open(struct rp *rp)
{
	struct checking *k = xcalloc(1, sizeof *k);
	size_t cap = 0;

	rp->checking = k;
	k->position = UINT64_MAX;
	for (size_t i = 0; i < rp->place.device.n; i++)
		add_area(k, &cap, rp->place.device.r[i].addr, rp->place.device.r[i].addr,
			rp->place.device.r[i].size);
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		if (rp->objects.globals[i].here)
			add_area(k, &cap, rp->objects.globals[i].here, rp->objects.globals[i].addr,
				rp->objects.globals[i].size);
	/* frees all checkpoints but the window's start, to make room */
	checkpoint_forget(rp, rp->first + 1);
	TRY(device_room(rp, &k->before, k->bytes, "a copy of the memory"));
	for (unsigned i = 0; i < 3; i++)
		TRY(device_room(rp, &k->sums[i], k->npages * sizeof(struct sbt_hash), "hashes"));
	TRY(device_room(rp, &k->on.table, k->npages * sizeof(struct hash_kernel_page),
		"a table of its pages"));
	TRY(device_room(rp, &k->on.mark, sizeof k->batch.marks, "what was compared"));
	TRY(device_room(rp, &k->took, 3 * sizeof(uint64_t), "times"));
	alloc_rows_sort(&k->allocs, &rp->place);
	return send_table(rp, k);
}

struct err *check_settle(struct rp *rp, const struct checking *k,
	const struct hash_kernel_rows *rows, unsigned todo, unsigned mark, struct gpu_stream *s)
{
	struct hash_kernel_settle on = k->on;

	on.copied = k->sums[0];
	on.first = k->sums[1];
	on.mark += mark * sizeof *k->batch.marks;
	return rp_gpu(rp, rp->gpu->hash_settle(&on, rows, todo, s));
}

struct err *check_hash_all(
	struct rp *rp, const struct checking *k, unsigned to, struct gpu_stream *s)
{
	const struct hash_kernel_rows rows = {.n = 1, .total = (uint32_t)k->npages};
	struct hash_kernel_settle on = k->on;

	on.copied = k->sums[0];
	on.first = k->sums[to];
	return rp_gpu(rp, gpu_result_of("hashing on the device",
				  rp->gpu->hash_settle(&on, &rows, HASH_KERNEL_NOTE, s)));
}

struct err *check_compare(struct rp *rp, const struct checking *k, unsigned a, unsigned b,
	unsigned run, struct gpu_stream *s)
{
	return rp_gpu(rp, rp->gpu->hash_changed(k->sums[a], k->sums[b], k->npages,
				  k->flags + (uint64_t)run * k->npages, s));
}

struct err *check_fetch_flags(
	struct rp *rp, const struct checking *k, unsigned first, unsigned n, struct gpu_stream *s)
{
	GPU(rp, copy_to_host, k->host_flags + first * k->npages,
		k->flags + (uint64_t)first * k->npages, n * k->npages, s);
	GPU(rp, stream_finish, s);
	return NULL;
}

/* Puts the marked pages into k->list, as runs within their areas. */
void check_make_list(struct checking *k, const uint8_t *flags)
{
	k->nlist = 0;
	for (size_t i = 0; i < k->nareas; i++) {
		const size_t n = pages_in(k->areas[i].size);
		const uint8_t *f = flags + k->areas[i].page;

		for (size_t p = 0; p < n; p++) {
			if (!f[p])
				continue;
			if (p && f[p - 1]) {
				k->list[k->nlist - 1].n++;
				continue;
			}
			MAKE_ROOM(k->list, k->nlist, k->cap_list);
			k->list[k->nlist++] = (struct pages){&k->areas[i], p, 1};
		}
	}
}

uint64_t check_list_bytes(const struct pages *l)
{
	const uint64_t from = l->first * SBT_PAGE, end = (l->first + l->n) * SBT_PAGE;

	return (end < l->area->size ? end : l->area->size) - from;
}

struct err *check_move_list(
	struct rp *rp, const struct checking *k, enum between way, struct gpu_stream *s)
{
	uint64_t at = k->first;

	for (size_t i = 0; i < k->nlist; i++) {
		const struct pages *l = &k->list[i];
		const uint64_t n = check_list_bytes(l), mem = l->area->here + l->first * SBT_PAGE;
		const uint64_t copy = k->before + l->area->at + l->first * SBT_PAGE;

		switch (way) {
		case MEMORY_TO_COPY:
			GPU(rp, copy_on_device, copy, mem, n, s);
			break;
		case COPY_TO_MEMORY:
			GPU(rp, copy_on_device, mem, copy, n, s);
			break;
		case MEMORY_TO_FIRST:
			GPU(rp, copy_on_device, at, mem, n, s);
			break;
		case FIRST_TO_MEMORY:
			GPU(rp, copy_on_device, mem, at, n, s);
			break;
		}
		at += (n + 255) & ~255ull;
	}
	return NULL;
}

static struct err *room_for_first(struct rp *rp, struct checking *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < k->nlist; i++)
		n += (check_list_bytes(&k->list[i]) + 255) & ~255ull;
	if (n <= k->first_bytes)
		return NULL;
	if (k->first)
		GPU(rp, mem_free, k->first);
	k->first = 0;
	k->first_bytes = 0;
	TRY(device_room(rp, &k->first, n + n / 4, "what a launch changes"));
	k->first_bytes = n + n / 4;
	return NULL;
}

struct err *check_find_changes(struct rp *rp, struct checking *k, struct gpu_stream *s)
{
	TRY(check_hash_all(rp, k, 1, s));
	TRY(check_compare(rp, k, 0, 1, 0, s));
	TRY(check_fetch_flags(rp, k, 0, 1, s));
	check_make_list(k, k->host_flags);
	return NULL;
}

struct err *check_take_over(struct rp *rp, struct checking *k, uint64_t position)
{
	TRY(check_move_list(rp, k, MEMORY_TO_COPY, rp->own));
	GPU(rp, stream_finish, rp->own);
	const uint64_t sums = k->sums[0];
	k->sums[0] = k->sums[1];
	k->sums[1] = sums;
	k->position = position;
	return NULL;
}

struct err *check_refresh(struct rp *rp, struct checking *k)
{
	if (k->position == rp->position)
		return NULL;
	TRY(execute_finish(rp));
	if (k->position != UINT64_MAX) {
		TRY(check_find_changes(rp, k, rp->own));
		return check_take_over(rp, k, rp->position);
	}
	for (size_t i = 0; i < k->nareas; i++)
		GPU(rp, copy_on_device, k->before + k->areas[i].at, k->areas[i].here,
			k->areas[i].size, rp->own);
	TRY(check_hash_all(rp, k, 0, rp->own));
	GPU(rp, stream_finish, rp->own);
	k->position = rp->position;
	return NULL;
}

void check_close(struct rp *rp)
{
	struct checking *k = rp->checking;

	if (!k)
		return;
	const uint64_t tables[] = {k->on.table, k->on.mark, k->took};
	err_free(execute_finish(rp));
	fresh_end(rp);
	for (unsigned i = 0; i < 3; i++)
		if (k->sums[i])
			(void)rp->gpu->mem_free(k->sums[i]);
	if (k->before)
		(void)rp->gpu->mem_free(k->before);
	if (k->flags)
		(void)rp->gpu->mem_free(k->flags);
	if (k->first)
		(void)rp->gpu->mem_free(k->first);
	if (k->noise)
		(void)rp->gpu->mem_free(k->noise);
	if (k->noise_stream)
		(void)rp->gpu->stream_destroy(k->noise_stream);
	for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
		if (tables[i])
			(void)rp->gpu->mem_free(tables[i]);
	reach_close(rp, k);
	buf_free(&k->graphs);
	free(k->areas);
	free(k->host_flags);
	free(k->list);
	free(k->rows);
	free(k);
	rp->checking = NULL;
}

/* --- values --- */

/* The number of representable values between two, as their bits are ordered; for integers their
 * distance. */
static double steps_apart(uint64_t a, uint64_t b, unsigned bits, bool is_float)
{
	const uint64_t sign = 1ull << (bits - 1);
	int64_t x, y;

	if (!is_float)
		return fabs((double)(int64_t)(a << (64 - bits)) -
			       (double)(int64_t)(b << (64 - bits))) /
		       ldexp(1, (int)(64 - bits));
	x = a & sign ? -(int64_t)(a & (sign - 1)) : (int64_t)a;
	y = b & sign ? -(int64_t)(b & (sign - 1)) : (int64_t)b;
	return fabs((double)x - (double)y);
}

/* Whether v has a size that programs usually use; this tells floats from integers. */
static bool plausible(double v)
{
	return v == 0 || (fabs(v) > 1e-12 && fabs(v) < 1e12);
}

static enum replayer_as infer(const uint8_t *a, const uint8_t *b, size_t n)
{
	size_t seen = 0, good = 0;
	uint32_t x, y;

	for (size_t i = 0; i + 4 <= n && seen < 4096; i += 4) {
		memcpy(&x, a + i, 4);
		memcpy(&y, b + i, 4);
		if (x == y)
			continue;
		seen++;
		good += plausible(value_of(x, REPLAYER_AS_F32)) &&
			plausible(value_of(y, REPLAYER_AS_F32));
	}
	return seen && 10 * good >= 9 * seen ? REPLAYER_AS_F32 : REPLAYER_AS_I32;
}

static void weigh(
	struct replayer_difference *d, const uint8_t *a, const uint8_t *b, size_t n, uint64_t addr)
{
	const struct value_type *t = &value_types[d->as];
	struct replayer_difference one = {0};

	for (size_t i = 0; i + t->bytes <= n; i += t->bytes) {
		uint64_t x = 0, y = 0;

		memcpy(&x, a + i, t->bytes);
		memcpy(&y, b + i, t->bytes);
		if (x == y)
			continue;
		const double u = value_of(x, (enum replayer_as)d->as),
			     v = value_of(y, (enum replayer_as)d->as), apart = fabs(u - v);
		const double steps = steps_apart(x, y, 8 * t->bytes, t->is_float);
		if (!d->at) {
			d->at = addr + i;
			d->first = x;
			d->other = y;
		}
		if (isnan(apart) || apart > d->largest)
			d->largest = isnan(apart) ? INFINITY : apart;
		if (steps > d->steps)
			d->steps = steps;
		one.elements++;
		one.close += t->is_float && apart <= 1e-3 * fmax(fabs(u), fabs(v));
	}
	for (size_t i = 0; i < n; i++)
		one.bytes += a[i] != b[i];
	if (one.elements < d->elements)
		return;
	d->elements = one.elements;
	d->bytes = one.bytes;
	d->close = one.close;
}

/* --- a launch that differs --- */

struct replayer_difference *check_row(
	struct checking *k, uint64_t seq, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < k->nrows; i++)
		if (k->rows[i].seq == seq && k->rows[i].addr == addr && k->rows[i].step == k->step)
			return &k->rows[i];
	MAKE_ROOM(k->rows, k->nrows, k->cap_rows);
	k->rows[k->nrows] = (struct replayer_difference){
		.seq = seq, .addr = addr, .size = size, .as = k->how->as, .step = k->step};
	return &k->rows[k->nrows++];
}

void check_seen_once(struct checking *k, uint64_t seq, size_t page)
{
	for (size_t i = 0; i < k->nareas; i++) {
		const struct area *a = &k->areas[i];
		const uint64_t at = (uint64_t)(page - a->page) * SBT_PAGE;

		if (page < a->page || at >= a->size)
			continue;
		check_row(
			k, seq, a->recorded + at, a->size - at < SBT_PAGE ? a->size - at : SBT_PAGE)
			->runs = 1;
		return;
	}
}

static bool has_row(const struct checking *k, uint64_t seq)
{
	return k->nrows && k->rows[k->nrows - 1].seq == seq &&
	       k->rows[k->nrows - 1].step == k->step;
}

/* Where the first execution's bytes of a page are. */
static uint64_t first_of(const struct checking *k, const struct area *a, size_t page)
{
	uint64_t at = k->first;

	for (size_t i = 0; i < k->nlist; i++) {
		const struct pages *l = &k->list[i];

		if (l->area == a && page >= l->first && page < l->first + l->n)
			return at + (page - l->first) * SBT_PAGE;
		at += (check_list_bytes(l) + 255) & ~255ull;
	}
	return k->before + a->at + page * SBT_PAGE; /* the first one left it as it was */
}

static struct err *look_at(
	struct rp *rp, struct checking *k, uint64_t seq, const struct area *a, size_t page)
{
	static uint8_t first[SBT_PAGE], now[SBT_PAGE];
	const uint64_t at = page * SBT_PAGE, n = a->size - at < SBT_PAGE ? a->size - at : SBT_PAGE;
	struct replayer_difference *d = check_row(k, seq, a->recorded + at, n);

	GPU(rp, copy_to_host, first, first_of(k, a, page), n, rp->own);
	GPU(rp, copy_to_host, now, a->here + at, n, rp->own);
	GPU(rp, stream_finish, rp->own);
	if (!d->as)
		d->as = infer(first, now, n);
	weigh(d, first, now, n, d->addr);
	d->runs++;
	return NULL;
}

static struct err *look_at_all(struct rp *rp, struct checking *k, uint64_t seq,
	const uint8_t *flags, struct replayer_check_done *sum)
{
	unsigned seen = 0;

	for (size_t i = 0; i < k->nareas; i++)
		for (size_t p = 0; p < pages_in(k->areas[i].size); p++) {
			if (!flags[k->areas[i].page + p])
				continue;
			/* Each launch that differs gets at least one row. */
			if (seen++ < PAGES_LOOKED_AT && (k->nrows < ROWS_MAX || !has_row(k, seq)))
				TRY(look_at(rp, k, seq, &k->areas[i], p));
			else
				sum->left_out++;
		}
	return NULL;
}

/* --- executing again --- */

/* Changes what may differ between two runs of a correct program. */
static struct err *perturb(struct rp *rp, struct checking *k, unsigned run)
{
	if (rp->gpu->order)
		rp->gpu->order(run);
	if (!k->how->perturb || rp->gpu->order)
		return NULL;
	if (rp->watch.soft) {
		rp->watch.soft->schedule(run ? SOFT_SCHEDULE_RANDOM : SOFT_SCHEDULE_FIXED, run);
		return NULL;
	}
	if (!k->noise) {
		TRY(device_room(rp, &k->noise, NOISE_BYTES, "noise"));
		GPU(rp, stream_create, &k->noise_stream, true, 0);
	}
	for (unsigned i = 0; i < run % 4; i++)
		GPU(rp, copy_on_device, k->noise, k->noise + NOISE_BYTES / 2, NOISE_BYTES / 2,
			k->noise_stream);
	return NULL;
}

static struct err *unperturb(struct rp *rp, struct checking *k)
{
	if (rp->gpu->order)
		rp->gpu->order(0);
	if (k->how->perturb && rp->watch.soft)
		rp->watch.soft->schedule(rp->watch.how.schedule, rp->watch.how.seed);
	return NULL;
}

static struct err *execute_once(struct rp *rp, const struct checking *k, const struct sbt_cmd *c)
{
	return k->step ? execute_node(rp, c) : k->is_late ? execute_late(rp, c) : execute(rp, c);
}

/* Submits all further executions one after the other on the launch's stream, compared on the
 * device. *ret: one differed. */
static struct err *quick_runs(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s, bool *ret)
{
	const unsigned runs = k->how->runs;

	for (unsigned r = 1; r < runs; r++) {
		TRY(perturb(rp, k, r));
		TRY(check_move_list(rp, k, COPY_TO_MEMORY, s));
		TRY(execute_once(rp, k, c));
		TRY(check_hash_all(rp, k, 2, s));
		TRY(check_compare(rp, k, 1, 2, r, s));
		/* Random orders are chosen when a launch begins to run. */
		if (rp->gpu->order || (k->how->perturb && rp->watch.soft))
			GPU(rp, stream_finish, s);
	}
	TRY(check_fetch_flags(rp, k, 1, runs - 1, s));
	*ret = memchr(k->host_flags + k->npages, 1, (size_t)(runs - 1) * k->npages) != NULL;
	return NULL;
}

/* Executes it again and waits for each execution; every page that was ever touched is put back. */
static struct err *slow_runs(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct gpu_stream *s, struct replayer_check_done *sum)
{
	uint8_t *all = xmalloc(k->npages + 1), *now = xmalloc(k->npages + 1);
	struct err *e = NULL;

	memcpy(all, k->host_flags, k->npages);
	for (unsigned r = 1; r < k->how->runs; r++)
		for (size_t p = 0; p < k->npages; p++)
			all[p] |= k->host_flags[(size_t)r * k->npages + p];
	for (unsigned r = 1; !e && r < k->how->runs; r++) {
		check_make_list(k, all);
		e = check_move_list(rp, k, COPY_TO_MEMORY, s);
		check_make_list(k, k->host_flags); /* the pages whose contents `first` has */
		if (!e)
			e = perturb(rp, k, r);
		if (!e)
			e = execute_once(rp, k, c);
		if (!e)
			e = check_hash_all(rp, k, 2, s);
		if (!e)
			e = check_compare(rp, k, 1, 2, r, s);
		if (!e)
			e = check_fetch_flags(rp, k, r, 1, s);
		if (e)
			break;
		memcpy(now, k->host_flags + (size_t)r * k->npages, k->npages);
		e = look_at_all(rp, k, c->seq, now, sum);
		for (size_t p = 0; p < k->npages; p++)
			all[p] |= now[p];
	}
	check_make_list(k, all);
	if (!e)
		e = check_move_list(rp, k, COPY_TO_MEMORY, s);
	check_make_list(k, k->host_flags);
	if (!e)
		e = check_move_list(rp, k, FIRST_TO_MEMORY, s);
	free(all);
	free(now);
	return e;
}

struct err *check_same(struct rp *rp, struct checking *k, const struct sbt_cmd *c,
	struct gpu_stream *s, struct replayer_check_done *sum, bool *ret_differs)
{
	TRY(perturb(rp, k, 0));
	TRY(execute_once(rp, k, c));
	TRY(check_find_changes(rp, k, s));
	TRY(room_for_first(rp, k));
	TRY(check_move_list(rp, k, MEMORY_TO_FIRST, s));
	TRY(quick_runs(rp, k, c, s, ret_differs));
	if (*ret_differs) {
		const uint8_t *flags = k->host_flags + k->npages,
			      *one = memchr(flags, 1, (size_t)(k->how->runs - 1) * k->npages);
		const size_t page = (size_t)(one - flags) % k->npages;

		TRY(slow_runs(rp, k, c, s, sum));
		if (!has_row(k, c->seq))
			check_seen_once(k, c->seq, page);
	}
	return unperturb(rp, k);
}

struct err *check_one(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct replayer_check_done *sum)
{
	const size_t rows = k->nrows;
	struct gpu_stream *s;
	bool differs;

	k->step = 0;
	TRY(check_refresh(rp, k));
	TRY(objects_stream(rp, sbt_cmd_stream(c), &s));
	TRY(check_same(rp, k, c, s, sum, &differs));
	if (k->how->perturb && (rp->fresh.n || rp->watch.soft))
		TRY(fresh_check(rp, k, c, s));
	if (differs && c->kind == SBT_GRAPH_LAUNCH && rp->part.seq != c->seq)
		TRY(check_steps(rp, k, c, s, rows, sum));
	TRY(execute_finish(rp));
	rp->position = c->seq;
	TRY(check_take_over(rp, k, c->seq));
	sum->checked++;
	return NULL;
}

/* --- launches that were kept back --- */

/* Memory at the position has changed since, and changes again with each of them. */
static struct err *check_late(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct replayer_check_done *sum)
{
	const uint64_t position = rp->position;
	struct gpu_stream *s;
	bool differs;

	k->step = 0;
	k->position = k->position == position ? 0 : k->position;
	TRY(check_refresh(rp, k));
	TRY(objects_stream(rp, sbt_cmd_stream(c), &s));
	k->is_late = true;
	struct err *e = check_same(rp, k, c, s, sum, &differs);
	k->is_late = false;
	TRY(e);
	TRY(execute_finish(rp));
	TRY(check_take_over(rp, k, position));
	sum->checked++;
	return NULL;
}

static struct err *late_by(struct rp *rp, const struct sbt_cmd *c)
{
	struct checking *k = rp->checking;
	bool heap = false;

	if (!check_wants(rp, k->how, c, k->late_kernels, k->nlate_kernels))
		return execute_late(rp, c);
	TRY(heap_uses(rp, c, &heap));
	k->late_sum->late--; /* counted when it was kept back */
	k->late_sum->heap += heap;
	return heap ? execute_late(rp, c) : check_late(rp, k, c, k->late_sum);
}

/* --- what a run does, in short --- */

static struct err *digest_one(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct replayer_check_done *sum)
{
	struct sbt_hash *h;
	struct replayer_difference *d;
	struct err *e;

	TRY(check_refresh(rp, k));
	TRY(perturb(rp, k, k->how->digest));
	TRY(execute(rp, c));
	rp->position = c->seq;
	TRY(execute_finish(rp));
	TRY(unperturb(rp, k));
	TRY(check_refresh(rp, k)); /* k->list has what changed, sums[0] the present hashes */
	h = xmalloc(k->npages * sizeof *h + 1);
	e = rp_gpu(rp, rp->gpu->copy_to_host(h, k->sums[0], k->npages * sizeof *h, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	if (!e) {
		d = check_row(k, c->seq, 0, 0);
		for (size_t i = 0; i < k->nlist; i++)
			for (size_t p = k->list[i].first; p < k->list[i].first + k->list[i].n;
				p++) {
				const struct sbt_hash *x = &h[k->list[i].area->page + p];

				d->first =
					(d->first ^ x->half[0] ^ (k->list[i].area->recorded + p)) *
					0x9e3779b97f4a7c15ull;
				d->other =
					(d->other ^ x->half[1] ^ d->first) * 0xff51afd7ed558ccdull;
				d->bytes++;
			}
		sum->checked++;
	}
	free(h);
	return e;
}

/* --- the request --- */

bool check_wants(const struct rp *rp, const struct replayer_check *q, const struct sbt_cmd *c,
	const uint32_t *kernels, size_t n)
{
	return c->seq >= q->from && replayer_checks(c, kernels, n) &&
	       !execute_is_skipped(rp, c->seq) && !execute_has_effect(rp, c->seq);
}

static struct err *step(struct rp *rp, const struct replayer_check *q, const uint32_t *kernels,
	size_t n, struct replayer_check_done *sum)
{
	const struct sbt_cmd *c;
	bool work, heap = false, late = false, wants, wanted;

	TRY(execute_fetch_next(rp, q->to, &c));
	if (c)
		TRY(late_comes(rp, c, &late));
	wants = c && check_wants(rp, q, c, kernels, n);
	sum->late += wants && late;
	wanted = wants && !late;
	if (wanted && !q->digest)
		TRY(heap_uses(rp, c, &heap));
	sum->heap += heap;
	if (!wanted || heap) {
		rp->cursor_seq = UINT64_MAX;
		return execute_step(rp, q->to, &work);
	}
	TRY(q->digest ? digest_one(rp, rp->checking, c, sum) : check_one(rp, rp->checking, c, sum));
	if (!late_count(rp->late))
		return NULL;
	rp->checking->position = UINT64_MAX; /* the commands executed now change more memory */
	return late_go(rp);
}

static struct err *next(struct rp *rp, const struct replayer_check *q, const uint32_t *kernels,
	size_t n, struct replayer_check_done *sum)
{
	struct checking *k = rp->checking;

	k->late_sum = sum;
	k->late_kernels = kernels;
	k->nlate_kernels = n;
	rp->late_by = q->digest ? NULL : late_by;
	struct err *e = step(rp, q, kernels, n, sum);
	rp->late_by = NULL;
	return e;
}

/* Whether launches are checked in batches. Perturbations and what-ifs need one execution at a
 * time. */
static bool is_batched(const struct rp *rp, const struct replayer_check *q)
{
	return !q->thorough && !q->perturb && !rp->gpu->order && !q->digest && !rp->nedits &&
	       !rp->nskip && !late_count(rp->late);
}

static struct err *check_request(struct rp *rp, const struct replayer_check *q, size_t tail)
{
	if (!rp->has_hash)
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"this device's driver does not load the kernels that compare memory");
	if (q->to > rp->last || q->runs < 2 || q->runs > RUNS_MAX || q->as >= REPLAYER_AS_END ||
		q->perturb >= REPLAYER_PERTURB_END || tail % sizeof(uint32_t))
		return err_new(ERR_STATE, "a check of %u executions up to #%llu cannot be", q->runs,
			(unsigned long long)q->to);
	return NULL;
}

struct err *check_run(struct rp *rp, const struct replayer_check *q, const void *kernels,
	size_t tail, struct buf *out)
{
	struct replayer_check_done sum = {0};
	struct slice slice = {CHECK_LONG_NS};
	struct err *e = NULL;

	TRY(check_request(rp, q, tail));
	TRY(devices_one_only(rp, "a check of launches"));
	if (!rp->checking)
		TRY(check_open(rp));
	if (q->perturb == REPLAYER_PERTURB_ALL && !rp->fresh.on)
		fresh_begin(rp);
	rp->checking->how = q;
	rp->checking->nrows = 0;
	if (rp->checking->position != UINT64_MAX && rp->checking->position > rp->position)
		rp->checking->position = UINT64_MAX; /* the user went back */
	TRY(check_room_for_runs(rp, rp->checking, q->runs));
	while (!e && rp->position < q->to && rp->checking->nrows < ROWS_MAX &&
		slice_goes_on(&slice))
		e = is_batched(rp, q)
			    ? batch_run(rp, rp->checking, q, kernels, tail / sizeof(uint32_t), &sum)
			    : next(rp, q, kernels, tail / sizeof(uint32_t), &sum);
	if (e)
		return e;
	sum.seq = rp->position;
	sum.n = rp->checking->nrows;
	buf_add(out, &sum, sizeof sum);
	buf_add(out, rp->checking->rows, rp->checking->nrows * sizeof *rp->checking->rows);
	return NULL;
}
