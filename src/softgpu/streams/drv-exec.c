/* SPDX-License-Identifier: Apache-2.0
 *
 * Execution: every stream is a timeline, a queue with a thread of its own that runs one command
 * after the other. A command may first have to wait for points of other timelines. Submission
 * happens under drv_lock, so the points that a command waits for were all submitted before it and
 * no cycle can form. Timeline locks are taken inside drv_lock, never around it.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/graph/drv-graph.h"
#include "softgpu/streams/overlap.h"
#include "softgpu/micro/micro-probe.h"
#include "softgpu/driver/watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/monotonic.h"

struct item {
	struct item *next;
	struct op op;
	struct op_origin origin;
	uint64_t queued_ns;
	unsigned ndeps;
	struct point deps[];
};

struct timeline {
	pthread_mutex_t lock;
	pthread_cond_t work, progress;
	_Atomic int refs;
	struct ctx *ctx;
	struct item *head, **tail;
	uint64_t submitted;
	_Atomic uint64_t done;
	bool started, closed;
	_Atomic(const char *) now;  /* what it is running or waiting for; NULL: nothing */
	struct soft_look_stream at; /* for tsdb_soft_look(); under the lock */
	const struct timeline *behind;
	unsigned waiting; /* for its progress */
};

/* A program that submits faster than its commands run waits when this many are pending on a stream.
 */
#define MAX_PENDING 65536u

/* A thread that runs commands must never wait for them. */
static _Thread_local bool on_timeline;
static _Thread_local struct timeline *this_timeline;

/* --- marks --- */

struct mark *mark_new(void)
{
	struct mark *m = calloc(1, sizeof(*m));

	if (m)
		m->refs = 1;
	return m;
}

void mark_ref(struct mark *m)
{
	atomic_fetch_add(&m->refs, 1);
}

void mark_unref(struct mark *m)
{
	if (m && atomic_fetch_sub(&m->refs, 1) == 1)
		free(m);
}

/* --- commands --- */

bool op_clone(const struct op *op, struct op *ret)
{
	size_t n;

	*ret = *op;
	switch (op->kind) {
	case OP_KERNEL:
		n = op->kernel.fn->info.param_bytes;
		if (!n)
			return true;
		ret->kernel.params = malloc(n);
		if (!ret->kernel.params)
			return false;
		memcpy(ret->kernel.params, op->kernel.params, n);
		return true;
	case OP_COPY:
		ret->copy.staging = NULL; /* a captured copy reads its source when it runs */
		return true;
	case OP_MARK:
		mark_ref(op->mark);
		return true;
	case OP_GRAPH:
		graph_exec_ref(op->graph);
		return true;
	case OP_MEM_ALLOC:
	case OP_MEM_FREE:
		graph_mem_ref(op->mem);
		return true;
	case OP_BATCH:
		n = op->batch.n * sizeof(*op->batch.list);
		ret->batch.list = malloc(n);
		if (!ret->batch.list)
			return false;
		memcpy(ret->batch.list, op->batch.list, n);
		return true;
	default:
		return true;
	}
}

void op_release(struct op *op)
{
	switch (op->kind) {
	case OP_KERNEL:
		free(op->kernel.params);
		break;
	case OP_COPY:
		free(op->copy.staging);
		break;
	case OP_MARK:
		mark_unref(op->mark);
		break;
	case OP_GRAPH:
		graph_launch_free(op->launch);
		graph_exec_unref(op->graph);
		break;
	case OP_MEM_ALLOC:
	case OP_MEM_FREE:
		graph_mem_unref(op->mem);
		break;
	case OP_BATCH:
		free(op->batch.list);
		break;
	default:
		break;
	}
	op->kind = OP_NOP;
}

static CUresult fault_result(enum ptx_fault_code code)
{
	switch (code) {
	case PTX_ILLEGAL_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case PTX_MISALIGNED_ADDRESS:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case PTX_ILLEGAL_INSTRUCTION:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case PTX_ASSERT:
		return CUDA_ERROR_ASSERT;
	case PTX_TIMEOUT:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static struct soft_fault first_fault;
static bool faulted;

static void keep_fault(const struct ptx_fault *f, uint32_t correlation)
{
	pthread_mutex_lock(&fault_lock);
	if (!faulted) {
		first_fault = (struct soft_fault){.correlation = correlation,
			.line = f->line,
			.addr = f->addr,
			.size = f->size,
			.source_line = f->file ? f->source_line : 0};
		snprintf(first_fault.file, sizeof(first_fault.file), "%s", f->file ? f->file : "");
		memcpy(first_fault.block, f->block, sizeof(f->block));
		memcpy(first_fault.thread, f->thread, sizeof(f->thread));
		snprintf(first_fault.kernel, sizeof(first_fault.kernel), "%s",
			f->kernel ? f->kernel : "");
		snprintf(first_fault.text, sizeof(first_fault.text), "%s", f->text);
		faulted = true;
	}
	pthread_mutex_unlock(&fault_lock);
}

bool tsdb_soft_fault(struct soft_fault *ret)
{
	bool any;

	pthread_mutex_lock(&fault_lock);
	any = faulted;
	if (any)
		*ret = first_fault;
	pthread_mutex_unlock(&fault_lock);
	return any;
}

static void run_kernel(const struct op *op, struct ctx *c, const struct op_origin *origin)
{
	struct ptx_launch l = {
		.fn = op->kernel.fn->fn,
		.dynamic_shared = op->kernel.shared,
		.params = op->kernel.params,
		.cooperative = op->kernel.cooperative,
		.early = op->kernel.early,
		.correlation = origin->look,
		.node = origin->node_id,
		.observer = overlap_observer(),
		.devices = mem_devices() > 1 ? 1u << c->dev | c->peers : 0,
	};
	static const char own[] = "tsdb softgpu: "; /* drv_say begins its own way */
	struct ptx_fault fault = {0};
	struct watched watched;
	struct launch_probes probes;
	struct ptx_observer probing;
	enum ptx_fault_code code;
	int none = CUDA_SUCCESS;

	memcpy(l.grid, op->kernel.grid, sizeof(l.grid));
	memcpy(l.block, op->kernel.block, sizeof(l.block));
	memcpy(l.cluster, op->kernel.cluster, sizeof(l.cluster));
	l.heap = c->heap;
	if (l.cooperative)
		l.grid_workspace = workspace_get();
	l.cooperative |= l.observer != NULL;
	watch_begin(&watched, &l);
	micro_probes_begin(&probes, &l, &probing, op->kernel.fn->module->text,
		op->kernel.fn->module->text_size);
	code = ptx_run(&l, &fault);
	probes_end(&probes);
	watch_end(&watched);
	workspace_put(l.grid_workspace);
	if (fault.undefined[0] && !atomic_exchange(&op->kernel.fn->told_undefined, true))
		drv_say("%s", fault.undefined);
	if (code == PTX_OK || code == PTX_CANCELLED)
		return;
	keep_fault(&fault, origin->correlation);
	drv_say("%s", strncmp(fault.text, own, sizeof(own) - 1) ? fault.text
								: fault.text + sizeof(own) - 1);
	atomic_compare_exchange_strong(&c->sticky, &none, (int)fault_result(code));
}

static void run_copy(const struct copy *c)
{
	size_t y, z;

	if (c->height == 1 && c->depth == 1) {
		memmove((void *)c->dst, (const void *)c->src, c->width);
		return;
	}
	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++)
			memmove((char *)c->dst + z * c->dst_slice + y * c->dst_pitch,
				(const char *)c->src + z * c->src_slice + y * c->src_pitch,
				c->width);
}

/* A graph's node says addresses, and what was there may have gone. */
static bool copy_is_possible(const struct copy *c)
{
	size_t last_dst = (c->depth - 1) * c->dst_slice + (c->height - 1) * c->dst_pitch + c->width;
	size_t last_src = (c->depth - 1) * c->src_slice + (c->height - 1) * c->src_pitch + c->width;

	return (c->dst_kind == SOFT_MEM_PAGEABLE || mem_covers_writable(c->dst, last_dst)) &&
	       (c->src_kind == SOFT_MEM_PAGEABLE || mem_covers(c->src, last_src));
}

/* False, and the context has faulted, when a graph's copy or fill would touch memory that was
 * freed. */
static bool still_there(const struct op *op, struct ctx *c, const struct op_origin *origin)
{
	int none = CUDA_SUCCESS;

	if (!origin->graph_id ||
		(op->kind == OP_COPY
				? copy_is_possible(&op->copy.c)
				: op->kind != OP_FILL || fill_check(&op->fill) == CUDA_SUCCESS))
		return true;
	drv_say("illegal address: a %s node of graph %u uses memory that was freed",
		op->kind == OP_COPY ? "copy" : "fill", origin->graph_id);
	atomic_compare_exchange_strong(&c->sticky, &none, CUDA_ERROR_ILLEGAL_ADDRESS);
	return false;
}

static void fill_row(char *p, const struct fill *f)
{
	size_t i;

	switch (f->elem) {
	case 1:
		memset(p, (int)f->value, f->width);
		break;
	case 2:
		for (i = 0; i < f->width; i++)
			((uint16_t *)p)[i] = (uint16_t)f->value;
		break;
	default:
		for (i = 0; i < f->width; i++)
			((uint32_t *)p)[i] = f->value;
		break;
	}
}

static void run_fill(const struct fill *f)
{
	size_t y;

	for (y = 0; y < f->height; y++)
		fill_row((char *)f->dst + y * f->pitch, f);
}

static bool value_reached(const struct op *op)
{
	uint64_t now, want = op->value.value;

	if (op->value.bytes == 4)
		now = __atomic_load_n((uint32_t *)op->value.addr, __ATOMIC_ACQUIRE);
	else
		now = __atomic_load_n((uint64_t *)op->value.addr, __ATOMIC_ACQUIRE);
	switch (op->value.flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return op->value.bytes == 4 ? (int32_t)(now - want) >= 0
					    : (int64_t)(now - want) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == want;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & want) != 0;
	default:
		return op->value.bytes == 4 ? (uint32_t) ~(now | want) != 0 : ~(now | want) != 0;
	}
}

static void set_at_value(struct timeline *tl, const struct op *op);

static void run_wait_value(const struct op *op, struct ctx *c)
{
	struct timespec nap = {0, 20000};

	if (this_timeline && !value_reached(op))
		set_at_value(this_timeline, op);
	while (!value_reached(op) && !c->sticky) {
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 1000000)
			nap.tv_nsec += nap.tv_nsec / 8; /* a long wait is to cost next to nothing */
	}
}

static void run_write_value(const struct op *op)
{
	if (op->value.bytes == 4)
		__atomic_store_n(
			(uint32_t *)op->value.addr, (uint32_t)op->value.value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)op->value.addr, op->value.value, __ATOMIC_RELEASE);
}

static void report(const struct op *op, struct ctx *c, const struct op_origin *origin,
	uint64_t queued, uint64_t start)
{
	static _Atomic uint64_t last_grid;
	struct soft_op o = {
		.correlation = origin->correlation,
		.ctx_uid = c->uid,
		.ctx = (CUcontext)c,
		.stream_id = origin->stream_id,
		.graph_id = origin->graph_id,
		.graph_node_id = origin->node_id,
		.async = origin->async,
		.queued_ns = queued,
		.start_ns = start,
		.end_ns = now_realtime(),
	};

	if (o.end_ns <= o.start_ns) /* a record of no length reads as a broken one */
		o.end_ns = o.start_ns + 1;
	if (op->kind == OP_KERNEL) {
		const struct ptx_function_info *info = &op->kernel.fn->info;

		o.kind = SOFT_OP_KERNEL;
		o.name = info->name;
		memcpy(o.grid, op->kernel.grid, sizeof(o.grid));
		memcpy(o.block, op->kernel.block, sizeof(o.block));
		o.static_shared = (uint32_t)info->static_shared;
		o.dynamic_shared = (uint32_t)op->kernel.shared;
		o.local_per_thread = (uint32_t)info->local;
		o.regs = info->regs;
		o.grid_id = atomic_fetch_add(&last_grid, 1) + 1;
	} else if (op->kind == OP_COPY) {
		const struct copy *x = &op->copy.c;

		o.kind = SOFT_OP_COPY;
		o.bytes = (uint64_t)x->width * x->height * x->depth;
		o.src = x->src_kind;
		o.dst = x->dst_kind;
	} else {
		const struct mem_range *r = mem_find(op->fill.dst);

		o.kind = SOFT_OP_FILL;
		o.bytes = (uint64_t)op->fill.width * op->fill.elem * op->fill.height;
		o.value = op->fill.value;
		o.dst = r ? mem_soft_kind(r) : SOFT_MEM_DEVICE;
	}
	drv_report(&o);
}

/* This thread's timeline is at something else: a node of its graph. Returns what it was at. */
static uint32_t set_at_kind(uint32_t kind)
{
	struct timeline *tl = this_timeline;
	uint32_t was = SOFT_LOOK_NOTHING;

	if (!tl)
		return was;
	pthread_mutex_lock(&tl->lock);
	was = tl->at.kind;
	tl->at.kind = kind;
	pthread_mutex_unlock(&tl->lock);
	return was;
}

static void run_host(const struct op *op, struct ctx *c)
{
	const uint32_t kind = set_at_kind(SOFT_LOOK_HOST);

	drv_in_host_fn = true;
	if (op->kind == OP_STREAM_CALLBACK)
		op->host.stream_fn(op->host.stream, ctx_sticky(c), op->host.data);
	else if (!c->sticky)
		op->host.fn(op->host.data);
	drv_in_host_fn = false;
	(void)set_at_kind(kind);
}

void op_run(const struct op *op, struct ctx *c, const struct op_origin *origin, uint64_t queued)
{
	const bool touches = op->kind == OP_KERNEL || op->kind == OP_COPY || op->kind == OP_FILL;
	bool timed = drv_wants_ops() && touches;
	uint64_t start = timed ? now_realtime() : 0;

	switch (op->kind) {
	case OP_MARK:
		op->mark->ns = monotonic_ns();
		atomic_store_explicit(&op->mark->done, true, memory_order_release);
		return;
	case OP_HOST:
	case OP_STREAM_CALLBACK:
		run_host(op, c);
		return;
	default:
		break;
	}
	if (c->sticky || !still_there(op, c, origin)) /* nothing runs after a fault */
		return;
	if (touches)
		mem_busy_begin();
	switch (op->kind) {
	case OP_KERNEL:
		run_kernel(op, c, origin);
		break;
	case OP_COPY:
		watch_copy(&op->copy.c);
		run_copy(&op->copy.c);
		break;
	case OP_FILL:
		watch_fill(&op->fill);
		run_fill(&op->fill);
		break;
	case OP_GRAPH:
		graph_exec_run(op->graph, op->launch, c, origin, queued);
		break;
	case OP_WRITE_VALUE:
		watch_value(op->value.addr, op->value.bytes, true);
		run_write_value(op);
		break;
	case OP_WAIT_VALUE:
		watch_value(op->value.addr, op->value.bytes, false);
		run_wait_value(op, c);
		break;
	case OP_BATCH:
		for (unsigned i = 0; i < op->batch.n; i++)
			op_run(&op->batch.list[i], c, origin, queued);
		break;
	case OP_MEM_ALLOC:
	case OP_MEM_FREE:
		graph_mem_run(op);
		break;
	default:
		break;
	}
	if (touches)
		mem_busy_end();
	if (timed)
		report(op, c, origin, queued, start);
}

/* --- timelines --- */

struct timeline *timeline_new(struct ctx *c)
{
	struct timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		return NULL;
	pthread_mutex_init(&tl->lock, NULL);
	pthread_cond_init(&tl->work, NULL);
	pthread_cond_init(&tl->progress, NULL);
	tl->refs = 1;
	tl->ctx = c;
	tl->tail = &tl->head;
	return tl;
}

void timeline_ref(struct timeline *tl)
{
	atomic_fetch_add(&tl->refs, 1);
}

void timeline_unref(struct timeline *tl)
{
	if (!tl || atomic_fetch_sub(&tl->refs, 1) != 1)
		return;
	pthread_cond_destroy(&tl->work);
	pthread_cond_destroy(&tl->progress);
	pthread_mutex_destroy(&tl->lock);
	free(tl);
}

void timeline_close(struct timeline *tl)
{
	pthread_mutex_lock(&tl->lock);
	tl->closed = true;
	pthread_cond_signal(&tl->work);
	pthread_mutex_unlock(&tl->lock);
	timeline_unref(tl);
}

static void item_free(struct item *it)
{
	unsigned i;

	op_release(&it->op);
	for (i = 0; i < it->ndeps; i++)
		point_release(&it->deps[i]);
	free(it);
}

/* Before a thread sleeps it looks a while longer: waking it costs more than a short command. Not
 * where there is one processor. */
#define SPIN_NS 10000u
static bool spins_on(uint64_t *until)
{
	static _Atomic int cpus;

	if (!cpus)
		cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus < 2)
		return false;
	if (!*until)
		*until = monotonic_ns() + SPIN_NS;
	for (unsigned k = 0; k < 16; k++)
		__builtin_ia32_pause();
	return monotonic_ns() < *until;
}

/* The next item, or NULL when the timeline was closed and is empty. */
static struct item *timeline_take(struct timeline *tl)
{
	struct item *it;
	uint64_t until = 0;

	while (!__atomic_load_n(&tl->head, __ATOMIC_RELAXED) && spins_on(&until))
		;
	pthread_mutex_lock(&tl->lock);
	while (!tl->head && !tl->closed)
		pthread_cond_wait(&tl->work, &tl->lock);
	it = tl->head;
	if (it) {
		tl->head = it->next;
		if (!tl->head)
			tl->tail = &tl->head;
	}
	pthread_mutex_unlock(&tl->lock);
	return it;
}

/* For tsdb_soft_busy(). */
static const char *name_of(const struct op *op)
{
	static const char *const names[] = {
		[OP_COPY] = "a copy",
		[OP_FILL] = "a fill",
		[OP_HOST] = "a host function",
		[OP_STREAM_CALLBACK] = "a stream callback",
		[OP_GRAPH] = "a graph",
		[OP_WAIT_VALUE] = "waits for a value",
		[OP_BATCH] = "a batch of value operations",
	};

	if (op->kind == OP_KERNEL)
		return op->kernel.fn->info.name;
	return op->kind < sizeof(names) / sizeof(*names) && names[op->kind] ? names[op->kind]
									    : "a command";
}

/* Takes the next item when it may begin before the held launch has finished. False: it may not,
 * there is none, or a call waits for the stream. */
static bool take_early(struct timeline *tl, struct item **ret)
{
	struct item *it;
	bool may;

	pthread_mutex_lock(&tl->lock);
	while (!tl->head && !tl->closed && !tl->waiting)
		pthread_cond_wait(&tl->work, &tl->lock);
	it = tl->head;
	may = it && it->op.kind == OP_KERNEL && it->op.kernel.early && !it->op.kernel.held;
	for (unsigned i = 0; may && i < it->ndeps; i++)
		may = point_reached(&it->deps[i]);
	if (may) {
		tl->head = it->next;
		if (!tl->head)
			tl->tail = &tl->head;
	}
	pthread_mutex_unlock(&tl->lock);
	*ret = it;
	return may;
}

static void item_done(struct timeline *tl, struct item *it)
{
	atomic_store(&tl->now, NULL);
	item_free(it);
	user_flush();
	timeline_step(tl);
}

static void run_held(struct timeline *tl, struct item *first)
{
	struct overlap_launch l[OVERLAP_MAX];
	struct item *it[OVERLAP_MAX] = {first};
	unsigned n = 1;

	while (n < OVERLAP_MAX && take_early(tl, &it[n]))
		n++;
	for (unsigned k = 0; k < n; k++)
		l[k] = (struct overlap_launch){&it[k]->op, &it[k]->origin, it[k]->queued_ns};
	overlap_run(tl->ctx, l, n);
	for (unsigned k = 0; k < n; k++)
		item_done(tl, it[k]);
}

/* --- where timelines are, for tsdb_soft_look() --- */

static enum soft_look_kind look_kind(const struct op *op)
{
	static const uint8_t kinds[] = {
		[OP_KERNEL] = SOFT_LOOK_KERNEL,
		[OP_HOST] = SOFT_LOOK_HOST,
		[OP_STREAM_CALLBACK] = SOFT_LOOK_HOST,
		[OP_GRAPH] = SOFT_LOOK_GRAPH,
		[OP_WAIT_VALUE] = SOFT_LOOK_VALUE,
	};
	const enum soft_look_kind k = op->kind < sizeof(kinds) ? kinds[op->kind] : 0;

	return k ? k : SOFT_LOOK_OTHER;
}

/* The timeline is at this command; behind: what it waits for first, or NULL. */
static void set_at(struct timeline *tl, const struct item *it, const struct timeline *behind)
{
	struct soft_look_stream at = {.corr = it->origin.look,
		.kind = look_kind(&it->op),
		.waits = behind != NULL,
		.since_ns = monotonic_ns()};

	if (it->op.kind == OP_WAIT_VALUE) {
		at.addr = it->op.value.addr;
		at.value = it->op.value.value;
		at.bytes = it->op.value.bytes;
		at.flags = it->op.value.flags;
	}
	pthread_mutex_lock(&tl->lock);
	at.os_tid = tl->at.os_tid;
	tl->at = at;
	tl->behind = behind;
	pthread_mutex_unlock(&tl->lock);
}

/* A batch is at one of its waits. */
static void set_at_value(struct timeline *tl, const struct op *op)
{
	pthread_mutex_lock(&tl->lock);
	tl->at.kind = SOFT_LOOK_VALUE;
	tl->at.addr = op->value.addr;
	tl->at.value = op->value.value;
	tl->at.bytes = op->value.bytes;
	tl->at.flags = op->value.flags;
	pthread_mutex_unlock(&tl->lock);
}

void timeline_look(
	struct timeline *tl, struct soft_look_stream *ret, const struct timeline **behind)
{
	pthread_mutex_lock(&tl->lock);
	*ret = tl->at;
	*behind = tl->behind;
	ret->done = tl->done;
	ret->submitted = tl->submitted;
	if (ret->done == ret->submitted)
		ret->corr = ret->kind = ret->waits = 0;
	pthread_mutex_unlock(&tl->lock);
}

static void *timeline_main(void *arg)
{
	struct timeline *tl = arg;
	struct item *it;
	unsigned i;

	pthread_setname_np(pthread_self(), "tsdb-softgpu"); /* another's name is a file of /proc */
	on_timeline = true;
	this_timeline = tl;
	tl->at.os_tid = (uint32_t)syscall(SYS_gettid);
	while ((it = timeline_take(tl))) {
		atomic_store(&tl->now, "waits for another stream");
		for (i = 0; i < it->ndeps; i++) {
			if (!point_reached(&it->deps[i]))
				set_at(tl, it, it->deps[i].tl);
			point_wait(&it->deps[i]);
		}
		set_at(tl, it, NULL);
		atomic_store(&tl->now, name_of(&it->op));
		if (it->op.kind == OP_KERNEL && it->op.kernel.held) {
			run_held(tl, it);
			continue;
		}
		op_run(&it->op, tl->ctx, &it->origin, it->queued_ns);
		item_done(tl, it);
	}
	timeline_unref(tl);
	return NULL;
}

/* The program's signals belong to its own threads. Caller holds tl->lock. */
static bool timeline_start(struct timeline *tl)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t t;
	int r;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGTRAP);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	timeline_ref(tl);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t, &attr, timeline_main, tl);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r)
		timeline_unref(tl);
	tl->started = r == 0;
	return r == 0;
}

/* Takes the item over unless it fails. */
static bool timeline_put(struct timeline *tl, struct item *it, struct point *ret)
{
	bool ok;

	pthread_mutex_lock(&tl->lock);
	ok = tl->started || timeline_start(tl);
	if (ok) {
		*tl->tail = it;
		tl->tail = &it->next;
		tl->submitted++;
		timeline_ref(tl);
		*ret = (struct point){tl, tl->submitted};
		pthread_cond_signal(&tl->work);
	}
	pthread_mutex_unlock(&tl->lock);
	return ok;
}

struct point timeline_now(struct timeline *tl)
{
	struct point p = {tl, 0};

	timeline_ref(tl);
	pthread_mutex_lock(&tl->lock);
	p.ticket = tl->submitted;
	pthread_mutex_unlock(&tl->lock);
	return p;
}

void timeline_step(struct timeline *tl)
{
	pthread_mutex_lock(&tl->lock);
	tl->done++;
	pthread_cond_broadcast(&tl->progress);
	pthread_mutex_unlock(&tl->lock);
}

void point_release(struct point *p)
{
	timeline_unref(p->tl);
	p->tl = NULL;
}

void point_copy(struct point *to, const struct point *from)
{
	*to = *from;
	if (to->tl)
		timeline_ref(to->tl);
}

bool point_reached(const struct point *p)
{
	return !p->tl || atomic_load_explicit(&p->tl->done, memory_order_acquire) >= p->ticket;
}

void point_wait(const struct point *p)
{
	uint64_t until = 0;

	while (!point_reached(p))
		if (!spins_on(&until))
			break;
	if (point_reached(p))
		return;
	pthread_mutex_lock(&p->tl->lock);
	p->tl->waiting++;
	pthread_cond_signal(&p->tl->work); /* a launch that is held is so no longer than that */
	while (p->tl->done < p->ticket)
		pthread_cond_wait(&p->tl->progress, &p->tl->lock);
	p->tl->waiting--;
	pthread_mutex_unlock(&p->tl->lock);
}

/* --- submission --- */

static void dep_add(struct item *it, const struct point *p)
{
	if (!point_reached(p))
		point_copy(&it->deps[it->ndeps++], p);
}

static void dep_add_now(struct item *it, struct timeline *tl)
{
	struct point p = timeline_now(tl);

	dep_add(it, &p);
	point_release(&p);
}

static bool is_blocking(const struct stream *s)
{
	return !s->legacy && !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* "CUDA C++ Programming Guide", default stream: the legacy stream and blocking streams wait for one
 * another. Caller holds drv_lock. */
static void barrier_deps(struct item *it, const struct stream *s)
{
	struct stream *o;

	if (is_blocking(s)) {
		dep_add_now(it, s->ctx->legacy->tl);
		return;
	}
	if (!s->legacy)
		return;
	for (o = obj_next(OBJ_STREAM, NULL); o; o = obj_next(OBJ_STREAM, o))
		if (o->ctx == s->ctx && is_blocking(o))
			dep_add_now(it, o->tl);
}

static unsigned count_streams(const struct ctx *c)
{
	struct stream *o;
	unsigned n = 0;

	for (o = obj_next(OBJ_STREAM, NULL); o; o = obj_next(OBJ_STREAM, o))
		n += o->ctx == c;
	return n;
}

/* While nobody watches, calls have no correlation ids. */
static uint32_t own_number(void)
{
	static _Atomic uint32_t last;

	return 1u << 31 | atomic_fetch_add(&last, 1);
}

static struct item *item_new(struct stream *s, struct op *op, const struct point *extra, bool async)
{
	unsigned room = 2 + (s->legacy ? count_streams(s->ctx) : 0);
	struct item *it = calloc(1, sizeof(*it) + room * sizeof(it->deps[0]));

	if (!it)
		return NULL;
	it->op = *op;
	it->origin = (struct op_origin){
		.correlation = drv_correlation(),
		.stream_id = s->id,
		.async = async,
	};
	it->origin.look = it->origin.correlation ? it->origin.correlation : own_number();
	it->queued_ns = drv_watch ? now_realtime() : 0;
	if (extra)
		dep_add(it, extra);
	barrier_deps(it, s);
	return it;
}

CUresult stream_submit(
	struct stream *s, struct op *op, const struct point *extra, bool wait, bool async)
{
	struct point p = {0};
	struct item *it;
	CUresult r;

	pthread_mutex_lock(&drv_lock);
	if (s->capture) {
		r = capture_add(s, op);
		pthread_mutex_unlock(&drv_lock);
		return r;
	}
	if (capture_forbids(s)) {
		pthread_mutex_unlock(&drv_lock);
		op_release(op);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	it = item_new(s, op, extra, async);
	if (!it || !timeline_put(s->tl, it, &p)) {
		pthread_mutex_unlock(&drv_lock);
		if (it)
			item_free(it);
		else
			op_release(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&drv_lock);
	r = wait ? ctx_sticky(s->ctx) : CUDA_SUCCESS;
	if (!on_timeline) {
		if (!wait)
			p.ticket = p.ticket > MAX_PENDING ? p.ticket - MAX_PENDING : 0;
		point_wait(&p);
		if (wait)
			r = ctx_sticky(s->ctx);
	}
	point_release(&p);
	return r;
}

/* Points of all streams of c that have not come yet; malloc'ed. Caller holds drv_lock. */
static struct point *points_of(const struct ctx *c, unsigned *n)
{
	struct point *ret = calloc(count_streams(c) + 1, sizeof(*ret));
	struct stream *o;

	*n = 0;
	if (!ret)
		return NULL;
	for (o = obj_next(OBJ_STREAM, NULL); o; o = obj_next(OBJ_STREAM, o))
		if (o->ctx == c)
			ret[(*n)++] = timeline_now(o->tl);
	return ret;
}

void ctx_drain(struct ctx *c)
{
	struct point *points;
	unsigned n, i;

	if (on_timeline)
		return;
	pthread_mutex_lock(&drv_lock);
	points = points_of(c, &n);
	pthread_mutex_unlock(&drv_lock);
	for (i = 0; i < n; i++) {
		point_wait(&points[i]);
		point_release(&points[i]);
	}
	free(points);
}

void ctx_drain_all(void)
{
	struct ctx *c = NULL;

	if (on_timeline)
		return;
	for (;;) {
		pthread_mutex_lock(&drv_lock);
		c = obj_next(OBJ_CTX, c);
		pthread_mutex_unlock(&drv_lock);
		if (!c)
			return;
		ctx_drain(c);
	}
}

void tsdb_soft_drain(void)
{
	if (drv_ready)
		ctx_drain_all();
}

int tsdb_soft_busy(unsigned i, char *text, unsigned size)
{
	struct stream *s;
	int found = 0;

	/* A call that waits for the device may hold it. */
	for (unsigned k = 0; pthread_mutex_trylock(&drv_lock); k++) {
		if (k == 1000)
			return -1;
		nanosleep(&(struct timespec){0, 100000}, NULL);
	}
	for (s = obj_next(OBJ_STREAM, NULL); s && !found; s = obj_next(OBJ_STREAM, s)) {
		const uint64_t done = atomic_load(&s->tl->done), left = s->tl->submitted - done;
		const char *now = atomic_load(&s->tl->now);

		if (!left || i--)
			continue;
		found = 1;
		snprintf(text, size, "stream %p%s: %s; behind it %llu more", (const void *)s,
			s->legacy ? " (default)" : "", now ? now : "about to begin",
			(unsigned long long)left - 1);
	}
	pthread_mutex_unlock(&drv_lock);
	return found;
}
