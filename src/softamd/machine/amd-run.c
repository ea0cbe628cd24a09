/* SPDX-License-Identifier: Apache-2.0
 *
 * One dispatch, from its descriptor to its end: checks, workers, the report.
 *
 * Workgroups are dealt out to workers in their order. When the kernel's code has atomics whose
 * result depends on the order, one worker runs them one after the other, so that the same bits come
 * out on every machine; a workgroup that does not end within its turns lets later ones begin, since
 * it may wait for them.
 */
#include "softamd/machine/amd-run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/checked.h"
#include "softamd/machine/amd-machine.h"

#define WORKERS_MAX 64
#define TURNS_ALONE 8 /* of each workgroup that has begun, then one more begins */
#define AT_RANDOM 8   /* workgroups that take turns in a schedule by seed */
#define LDS_MAX 65536
#define PRIVATE_MAX (1u << 20)
#define WAVES_MAX 16

const char *amd_approximate_name(enum amd_approximate kind)
{
	static const char *const names[AMD_APPROX_N] = {"v_rcp", "v_rsq", "v_sqrt", "v_exp",
		"v_log", "v_sin", "v_cos", "v_mfma", "s_memtime"};

	return (unsigned)kind < AMD_APPROX_N ? names[kind] : "?";
}

static bool fail(struct amd_fault *f, enum amd_fault_kind kind, const char *text, uint64_t value)
{
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->lane = -1;
	snprintf(f->text, sizeof(f->text), text, (unsigned long long)value);
	return false;
}

static uint32_t word_at(const uint8_t *p, unsigned offset)
{
	uint32_t v;

	memcpy(&v, p + offset, 4);
	return v;
}

/* The 64 bytes of the kernel descriptor. */
static bool read_descriptor(struct amd_launch *l, struct amd_fault *f)
{
	const struct amd_dispatch *d = l->d;
	struct amd_extent e;
	uint8_t b[64];
	uint64_t offset;

	if (!d->memory->find(d->memory->arg, d->kernel_object, &e) || d->kernel_object < e.start ||
		d->kernel_object >= e.end || e.end - d->kernel_object < 64)
		return fail(f, AMD_FAULT_DISPATCH, "there is no kernel descriptor at 0x%llx",
			d->kernel_object);
	memcpy(b, (const void *)(uintptr_t)d->kernel_object, 64);
	memcpy(&offset, b + 16, 8);
	l->entry = d->kernel_object + offset;
	l->rsrc3 = word_at(b, 44);
	l->rsrc1 = word_at(b, 48);
	l->rsrc2 = word_at(b, 52);
	memcpy(&l->properties, b + 56, 2);
	l->args_bytes = word_at(b, 8);
	l->lds_bytes = word_at(b, 0);
	l->private_bytes = word_at(b, 4);
	if (d->group_bytes > l->lds_bytes)
		l->lds_bytes = d->group_bytes;
	if (d->private_bytes > l->private_bytes)
		l->private_bytes = d->private_bytes;
	return true;
}

/* Vector registers by the counts of rsrc1 and rsrc3; gfx90a has both kinds in one file. */
static void count_registers(struct amd_launch *l)
{
	uint32_t all = (l->rsrc1 & 63) + 1, first = ((l->rsrc3 & 63) + 1) * 4;

	if (l->target & GFX_FROM_90A) {
		all *= 8;
		l->vgprs = all < first ? all : first;
		l->accs = all - l->vgprs;
	} else {
		l->vgprs = all * 4;
		l->accs = l->target == GFX_908 ? l->vgprs : 0;
	}
	l->vgprs = l->vgprs > 256 ? 256 : l->vgprs;
	l->accs = l->accs > 256 ? 256 : l->accs;
}

static bool check_descriptor(struct amd_launch *l, struct amd_fault *f)
{
	if (l->entry & 3)
		return fail(f, AMD_FAULT_DISPATCH, "the kernel's entry 0x%llx is not aligned",
			l->entry);
	if (l->lds_bytes > LDS_MAX)
		return fail(f, AMD_FAULT_DISPATCH, "%llu bytes of LDS; 65536 is all there is",
			l->lds_bytes);
	if (l->private_bytes > PRIVATE_MAX)
		return fail(f, AMD_FAULT_DISPATCH, "%llu bytes of private memory for a work-item",
			l->private_bytes);
	if (l->properties >> 10 & 1)
		return fail(f, AMD_FAULT_REFUSED, "waves of 32", 0);
	if (l->properties & 0xf380)
		return fail(f, AMD_FAULT_REFUSED, "kernel code properties 0x%llx", l->properties);
	if (l->rsrc1 >> 26 & 1)
		return fail(f, AMD_FAULT_REFUSED, "FP16 overflow mode", 0);
	return true;
}

/* The grid in workgroups; the last of a dimension may be smaller. */
static bool size_grid(struct amd_launch *l, struct amd_fault *f)
{
	const struct amd_dispatch *d = l->d;
	uint64_t items = 1;

	l->ngroups = 1;
	for (unsigned k = 0; k < 3; k++) {
		l->grid[k] = d->grid[k] ? d->grid[k] : 1;
		l->size[k] = d->workgroup[k] ? d->workgroup[k] : 1;
		l->groups[k] = (uint32_t)(((uint64_t)l->grid[k] + l->size[k] - 1) / l->size[k]);
		if (__builtin_mul_overflow(l->ngroups, l->groups[k], &l->ngroups))
			return fail(f, AMD_FAULT_DISPATCH, "the grid has too many workgroups", 0);
		items *= l->size[k];
	}
	if (items > WAVES_MAX * AMD_LANES)
		return fail(f, AMD_FAULT_DISPATCH,
			"a workgroup of %llu work-items; 1024 is the most", items);
	return true;
}

/* --- workers --- */

/* The fault of the first workgroup counts, whoever is quicker: those before it go on to their ends,
 * or to faults of their own, those behind it stop. */
static void keep_fault(struct amd_worker *wk, uint64_t number)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct amd_launch *l = wk->l;

	pthread_mutex_lock(&lock);
	if (l->fault.kind == AMD_FAULT_NONE || number < l->first_fault) {
		l->fault = wk->fault;
		__atomic_store_n(&l->first_fault, number, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&l->stop, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

struct resident {
	unsigned turns; /* since the last one began */
	struct amd_group *group[AMD_RESIDENT_MAX];
	unsigned n;
};

/* The number of the k-th workgroup to begin. */
static uint64_t number_of(const struct amd_launch *l, uint64_t k)
{
	if (l->d->first && !l->d->order)
		return !k ? l->d->first : k <= l->d->first ? k - 1 : k;
	return (uint64_t)(((unsigned __int128)k * l->stride + l->shift) % l->ngroups);
}

static bool take_next(struct amd_worker *wk, struct resident *r)
{
	struct amd_launch *l = wk->l;
	uint64_t number;

	if (r->n == AMD_RESIDENT_MAX)
		return false;
	number = __atomic_fetch_add(&l->next_group, 1, __ATOMIC_RELAXED);
	if (number >= l->ngroups)
		return false;
	number = number_of(l, number);
	r->group[r->n] = amd_group_new(wk, number);
	if (!r->group[r->n])
		amd_raise(wk, AMD_FAULT_NO_MEMORY, NULL, -1, "no memory for workgroup %llu",
			(unsigned long long)number);
	r->n++;
	return true;
}

/* A turn for each workgroup that has begun; those that end make room. */
static void turns(const struct amd_launch *l, struct resident *r)
{
	unsigned kept = 0;

	for (unsigned k = 0; k < r->n; k++) {
		if (l->d->random && amd_random(r->group[k]->worker) & 1) {
			r->group[kept] = r->group[k];
			if (kept++ != k)
				r->group[k] = NULL;
			continue;
		}
		if (amd_is_stopped(l, r->group[k]->number)) {
			amd_group_free(r->group[k]);
			r->group[k] = NULL;
			continue;
		}
		if (amd_group_turn(r->group[k])) {
			amd_group_done(r->group[k]);
			r->group[k] = NULL;
			continue;
		}
		r->group[kept] = r->group[k];
		if (kept++ != k)
			r->group[k] = NULL;
	}
	r->n = kept;
	r->turns++;
}

/* The workgroup that has raised a fault goes; the others close up. */
static void drop_faulted(struct amd_worker *wk, struct resident *r)
{
	uint64_t number = wk->l->ngroups;
	unsigned kept = 0;

	for (unsigned k = 0; k < AMD_RESIDENT_MAX; k++) {
		struct amd_group *g = r->group[k];

		r->group[k] = NULL;
		if (!g)
			continue;
		if (wk->current && wk->current->group == g) {
			number = g->number;
			amd_group_free(g);
			continue;
		}
		r->group[kept++] = g;
	}
	r->n = kept;
	wk->current = NULL;
	if (wk->fault.kind != AMD_FAULT_STOPPED)
		keep_fault(wk, number);
}

static bool may_begin(struct amd_worker *wk, const struct resident *r)
{
	if (!r->n || r->turns >= TURNS_ALONE * r->n)
		return true;
	return wk->l->d->random && r->n < AT_RANDOM && amd_random(wk) % 4 == 0;
}

static void work(struct amd_worker *wk)
{
	struct resident *const r = calloc(1, sizeof(*r));

	if (!r)
		return;
	if (setjmp(wk->out))
		drop_faulted(wk, r);
	for (;;) {
		bool stop = __atomic_load_n(&wk->l->stop, __ATOMIC_ACQUIRE);

		if (!stop && may_begin(wk, r) && take_next(wk, r))
			r->turns = 0;
		if (!r->n)
			break;
		turns(wk->l, r);
	}
	free(r);
}

static void *worker_main(void *arg)
{
	struct amd_launch *l = arg;
	struct amd_worker *wk = calloc(1, sizeof(*wk));

	if (!wk) {
		l->stop = true;
		l->fault.kind = AMD_FAULT_NO_MEMORY;
		return NULL;
	}
	wk->l = l;
	wk->random = l->d->seed;
	if (l->d->memory->changes)
		wk->changes = __atomic_load_n(l->d->memory->changes, __ATOMIC_ACQUIRE);
	work(wk);
	__atomic_fetch_or(&l->approximate, wk->approximate, __ATOMIC_RELAXED);
	__atomic_fetch_add(&l->instructions, wk->clock, __ATOMIC_RELAXED);
	amd_code_free(wk);
	amd_group_free(wk->spare);
	free(wk);
	return NULL;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Odd orders go down, from another workgroup each; even ones leap. Every workgroup begins once,
 * since the stride has no divisor in common with their number. At random the seed is the order:
 * turns by chance alone would seldom let a late workgroup begin before an early one. */
static void choose_order(struct amd_launch *l)
{
	const uint64_t n = l->ngroups;
	const uint64_t order = l->d->random && !l->d->order ? l->d->seed : l->d->order;

	l->stride = 1;
	l->shift = 0;
	if (!order || n < 2)
		return;
	l->shift = (order - 1) / 2 % n;
	l->stride = order % 2 ? n - 1 : n / 2 + order / 2 % n;
	while (!l->stride || common_divisor(l->stride, n) != 1)
		l->stride++;
}

static unsigned workers_for(struct amd_launch *l)
{
	uint64_t n = l->d->workers;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (l->in_order || l->d->observer || l->d->random)
		return 1;
	if (!n)
		n = processors > 0 ? (uint64_t)processors : 1;
	if (n > WORKERS_MAX)
		n = WORKERS_MAX;
	return (unsigned)(n < l->ngroups ? n : l->ngroups);
}

static void run_workers(struct amd_launch *l, unsigned n)
{
	pthread_t threads[WORKERS_MAX];
	unsigned started = 0;

	while (started + 1 < n && pthread_create(&threads[started], NULL, worker_main, l) == 0)
		started++;
	worker_main(l);
	for (unsigned k = 0; k < started; k++)
		pthread_join(threads[k], NULL);
}

/* Looked at before anything runs: a worker's decoded code is enough for it. */
static bool look_at_order(struct amd_launch *l)
{
	struct amd_worker *wk = calloc(1, sizeof(*wk));
	bool order = true;

	if (!wk)
		return true;
	wk->l = l;
	order = amd_needs_order(wk);
	amd_code_free(wk);
	free(wk);
	return order;
}

uint64_t amd_entry_of(const struct amd_dispatch *d)
{
	struct amd_launch l = {.d = d};
	struct amd_fault f;

	return read_descriptor(&l, &f) ? l.entry : 0;
}

uint64_t amd_args_size_of(const struct amd_dispatch *d)
{
	struct amd_launch l = {.d = d};
	struct amd_extent e;
	struct amd_fault f;

	if (!read_descriptor(&l, &f) || !d->memory->find(d->memory->arg, d->kernarg, &e) ||
		!range_within(d->kernarg, l.args_bytes, e.start, e.end - e.start))
		return 0;
	return l.args_bytes;
}

bool amd_run(const struct amd_dispatch *d, struct amd_fault *fault)
{
	struct amd_launch l = {.d = d, .target = gfx_target(d->gfx), .first_fault = UINT64_MAX};
	unsigned n;

	if (d->report)
		memset(d->report, 0, sizeof(*d->report));
	if (!l.target)
		return fail(fault, AMD_FAULT_REFUSED, "gfx%llx has no processor here", d->gfx);
	if (!read_descriptor(&l, fault) || !check_descriptor(&l, fault) || !size_grid(&l, fault))
		return false;
	count_registers(&l);
	choose_order(&l);
	l.in_order = l.ngroups > 1 && look_at_order(&l);
	n = workers_for(&l);
	run_workers(&l, n);
	if (d->report)
		*d->report = (struct amd_report){.approximate = l.approximate,
			.instructions = l.instructions,
			.workers = n,
			.in_order = l.in_order};
	if (l.fault.kind != AMD_FAULT_NONE) {
		*fault = l.fault;
		return false;
	}
	memset(fault, 0, sizeof(*fault));
	fault->lane = -1;
	return true;
}
