/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads of copies; see payload.h. An asynchronous copy to the host has ended when the agent's
 * event behind it says so. The event is asked whenever the program has waited for something, which
 * is when the program may look at the bytes itself, and before it frees them. A host function may
 * also change them: a function of the agent goes into its stream in front of it, and looks at what
 * that stream has copied. Bytes that could not be looked at in time only make one output impossible
 * to compare: it is recorded as doubtful.
 */
#include "capture/pipeline/payload.h"

#include <time.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/host/extent.h"
#include "capture/core/gate.h"
#include "capture/objects/graph-table.h"
#include "capture/objects/ids.h"
#include "capture/objects/live.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define OUTPUTS_MAX 1024
#define DELIVERY_NS 20000
#define FREE_PATIENCE_NS 1000000000
#define EXTENT_MAX (1ull << 42)

/* FILLING: used by one thread only. */
enum output_state { OUTPUT_FREE, OUTPUT_FILLING, OUTPUT_PENDING };

/* A copy to the host that has not been looked at. */
struct output {
	enum output_state state;
	struct piece piece;
	struct sbt_rows extent;
	uint32_t stream; /* its id */
	/* seq of the host function before which a function of the agent looks at the bytes; 0:
	 * none */
	uint64_t look;
	uint64_t event;
	uint64_t ctx; /* the event's */
};

static struct {
	struct spin lock;
	struct output slot[OUTPUTS_MAX];
	_Atomic uint32_t n;	     /* pending, or being delivered */
	_Atomic uint32_t delivering; /* being looked at by a thread that took it out of the list */
} outputs;

/* The host side of a copy: its source, or its destination. Returns false if it has none, or the
 * driver refuses the copy. */
static bool host_side(struct sbt_rows *ret, const struct sbt_cmd_copy *k, bool source)
{
	return !sbt_rows_of_copy(ret, k, !source) && ret->width && sbt_rows_size(ret) < EXTENT_MAX;
}

static uint32_t stream_of(const struct call *c)
{
	switch (c->cmd.kind) {
	case SBT_COPY:
		return (uint32_t)c->cmd.u.copy.stream;
	case SBT_HOST_FUNC:
		return (uint32_t)c->cmd.u.host_func.stream;
	default:
		return (uint32_t)c->cmd.u.graph_launch.stream;
	}
}

static struct piece piece_of(const struct call *c, uint32_t role, const struct sbt_rows *e)
{
	return (struct piece){.seq = c->cmd.seq,
		.addr = e->addr,
		.size = sbt_rows_size(e),
		.role = role,
		.owner = BULK_ANY,
		.module = SBT_NO_ID};
}

static void send_source(const struct call *c, const struct sbt_cmd_copy *k)
{
	if (k->dir != SBT_COPY_H2D && k->dir != SBT_COPY_H2H)
		return;
	struct sbt_rows e;
	if (!host_side(&e, k, true))
		return;
	struct piece p = piece_of(c, BULK_INPUT, &e);
	if (!bulk_fill(&p, p.size, extent_read, &e))
		window_note("the source of a copy to the device could not be read");
}

/* --- graphs --- */

/* Whether pinned or managed memory is compared there (host.c). */
static bool is_watched(uint64_t addr)
{
	struct live l;
	return live_host() && live_at(addr, &l) && live_is_host(&l);
}

/* --- copies to the host --- */

/* Sends that it is not known what the copy delivered. */
static void give_up(struct piece *p)
{
	p->doubt = true;
	(void)sender_hash(p, (struct sbt_hash){{0, 0}});
}

static void deliver(struct thread *t, struct piece *p, struct sbt_rows *e)
{
	struct sbt_hash hash;
	uint8_t *page;
	if (atomic_load(&agent.control->outputs_full)) {
		/* unreadable bytes are cut off and not compared */
		(void)bulk_fill(p, p->size, extent_read, e);
		return;
	}
	page = t ? thread_page(t) : NULL;
	if (page && extent_hash(e, page, &hash))
		(void)sender_hash(p, hash);
	else
		give_up(p);
}

static bool arm(struct output *o, const struct call *c)
{
	const uint64_t ctx = c->ctx ? c->ctx->handle : 0;
	if (!ctx || (o->ctx != ctx && !driver_good(driver->event_create(&o->event))))
		return false;
	o->ctx = ctx;
	return driver_good(driver->event_record(o->event, c->stream));
}

/* A slot for the caller to fill. If the list is full, the oldest output is dropped (*ret_dropped).
 * NULL: all slots are being filled. */
static struct output *slot_for(struct output *ret_dropped)
{
	struct output *free = NULL, *oldest = NULL;
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX && !free; i++) {
		struct output *o = &outputs.slot[i];
		if (o->state == OUTPUT_FREE)
			free = o;
		else if (o->state == OUTPUT_PENDING &&
			 (!oldest || o->piece.seq < oldest->piece.seq))
			oldest = o;
	}
	if (!free && oldest) {
		*ret_dropped = *oldest;
		atomic_fetch_sub(&outputs.n, 1);
		free = oldest;
	}
	if (free)
		free->state = OUTPUT_FILLING;
	spin_unlock(&outputs.lock);
	return free;
}

static void set_state(struct output *o, enum output_state state)
{
	spin_lock(&outputs.lock);
	o->state = state;
	if (state == OUTPUT_PENDING)
		atomic_fetch_add(&outputs.n, 1);
	spin_unlock(&outputs.lock);
}

/* Whether the graph calls host functions: they may change the bytes before the launch has ended. */
static bool has_host_code(const struct call *c)
{
	return c->cmd.kind == SBT_GRAPH_LAUNCH &&
	       graph_calls_host((uint32_t)c->cmd.u.graph_launch.exec);
}

static void remember(struct call *c, const struct sbt_rows *e)
{
	struct output dropped = {.state = OUTPUT_FREE};
	struct piece p = piece_of(c, BULK_OUTPUT, e);
	p.doubt = has_host_code(c);
	struct output *o = slot_for(&dropped);
	if (dropped.state)
		give_up(&dropped.piece);
	if (o) {
		o->piece = p;
		o->extent = *e;
		o->stream = stream_of(c);
		o->look = 0;
	}
	const bool armed = o && arm(o, c);
	if (o)
		set_state(o, armed ? OUTPUT_PENDING : OUTPUT_FREE);
	if (!armed)
		give_up(&p);
}

/* --- looking at them --- */

typedef bool output_fn(const struct output *o, const void *arg);

static bool same_output(const struct output *a, const struct output *b)
{
	return a->state == OUTPUT_PENDING && a->piece.seq == b->piece.seq &&
	       a->piece.addr == b->piece.addr;
}

/* A slot that another thread is filling is left alone. */
static bool peek(unsigned i, struct output *ret)
{
	spin_lock(&outputs.lock);
	const bool pending = outputs.slot[i].state == OUTPUT_PENDING;
	if (pending)
		*ret = outputs.slot[i];
	spin_unlock(&outputs.lock);
	return pending;
}

/* Takes slot i's output, of which *io is a copy, out of the list; the caller then looks at its
 * bytes. Returns false if another thread was faster. */
static bool take(unsigned i, struct output *io)
{
	struct output *o = &outputs.slot[i];
	spin_lock(&outputs.lock);
	const bool good = same_output(o, io);
	if (good) {
		*io = *o;
		o->state = OUTPUT_FREE;
		atomic_fetch_add(&outputs.delivering, 1);
	}
	spin_unlock(&outputs.lock);
	return good;
}

/* Looks at the outputs that fn selects; with read false they are given up. The driver is asked
 * without the lock: it may wait for look(), which takes the lock. */
static void deliver_all(struct thread *t, output_fn *fn, const void *arg, bool read)
{
	struct output o;
	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		if (!peek(i, &o) || !fn(&o, arg) || !take(i, &o))
			continue;
		if (read)
			deliver(t, &o.piece, &o.extent);
		else
			give_up(&o.piece);
		atomic_fetch_sub(&outputs.n, 1);
		atomic_fetch_sub(&outputs.delivering, 1);
	}
}

/* Waits for outputs that other threads look at: this thread may have waited for them, and be about
 * to free or change them. */
static void await_deliveries(void)
{
	while (atomic_load(&outputs.delivering) && agent_live())
		nanosleep(&(struct timespec){.tv_nsec = DELIVERY_NS}, NULL);
}

static bool is_any(const struct output *o, const void *arg)
{
	(void)o, (void)arg;
	return true;
}

static bool is_over(const struct output *o, const void *arg)
{
	(void)arg;
	return driver->event_query(o->event).status != DRIVER_NOT_READY;
}

void payload_poll(struct thread *t, bool all)
{
	if (!atomic_load_explicit(&outputs.n, memory_order_relaxed))
		return;
	const unsigned mode = driver->relax();
	deliver_all(t, all ? is_any : is_over, NULL, true);
	await_deliveries();
	driver->restrict_again(mode);
}

static bool is_of_ctx(const struct output *o, const void *arg)
{
	return o->ctx == *(const uint64_t *)arg;
}

void payload_drop_ctx(uint64_t handle)
{
	deliver_all(NULL, is_of_ctx, &handle, false);
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX; i++)
		if (is_of_ctx(&outputs.slot[i], &handle))
			outputs.slot[i].ctx = 0;
	spin_unlock(&outputs.lock);
}

/* --- before the program gets at the bytes --- */

static bool is_freed(const struct output *o, const void *arg)
{
	const struct call *c = arg;
	const uint64_t addr = c->cmd.u.free.addr, size = c->freed_size ? c->freed_size : 1;
	return o->piece.addr < addr ? addr - o->piece.addr < o->piece.size
				    : o->piece.addr - addr < size;
}

static bool any_freed(const struct call *c)
{
	bool any = false;
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX && !any; i++)
		any = outputs.slot[i].state == OUTPUT_PENDING && is_freed(&outputs.slot[i], c);
	spin_unlock(&outputs.lock);
	return any;
}

/* A driver that unpins memory waits for the copies into it, so this may wait for them, too, but not
 * for ever. */
static void await_copies(struct call *c)
{
	for (unsigned tries = 0;
		tries < FREE_PATIENCE_NS / DELIVERY_NS && any_freed(c) && agent_live(); tries++) {
		nanosleep(&(struct timespec){.tv_nsec = DELIVERY_NS}, NULL);
		payload_poll(c->t, false);
	}
}

/* Unfinished copies into other memory cannot be waited for: they may wait for this thread. */
static void before_free(struct call *c)
{
	const bool any = any_freed(c);
	payload_poll(c->t, false);
	if (!any)
		return;
	if (c->cmd.u.free.mem == SBT_MEM_PINNED || c->cmd.u.free.mem == SBT_MEM_REGISTERED ||
		c->cmd.u.free.mem == SBT_MEM_MANAGED)
		await_copies(c);
	deliver_all(NULL, is_freed, c, false);
}

static bool is_to_look(const struct output *o, const void *arg)
{
	return o->look == *(const uint64_t *)arg;
}

/* Runs on a thread of the driver, before a host function of the program. */
static void look(void *arg)
{
	const uint64_t seq = (uint64_t)(uintptr_t)arg;
	bool stranger;
	if (!thread_come_in(&stranger))
		return;
	deliver_all(thread_get_quiet(), is_to_look, &seq, true);
	await_deliveries();
	thread_go_out(stranger);
}

/* Chooses the outputs of c's stream, to be looked at before c; those of other streams may or may
 * not have ended by then. Returns whether there are any. */
static bool choose(const struct call *c)
{
	bool any = false;
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		struct output *o = &outputs.slot[i];
		if (o->state != OUTPUT_PENDING || o->look)
			continue;
		if (o->stream != stream_of(c)) {
			o->piece.doubt = true;
			continue;
		}
		o->look = c->cmd.seq;
		any = true;
	}
	spin_unlock(&outputs.lock);
	return any;
}

static void doubt_chosen(uint64_t seq)
{
	spin_lock(&outputs.lock);
	for (unsigned i = 0; i < OUTPUTS_MAX; i++)
		if (outputs.slot[i].state == OUTPUT_PENDING && outputs.slot[i].look == seq)
			outputs.slot[i].piece.doubt = true;
	spin_unlock(&outputs.lock);
}

static void before_host_code(struct call *c)
{
	payload_poll(c->t, false);
	if (!atomic_load(&outputs.n) || !choose(c))
		return;
	if (!driver_good(driver->stream_call(c->stream, look, (void *)(uintptr_t)c->cmd.seq)))
		doubt_chosen(c->cmd.seq);
}

static void before_program(struct call *c)
{
	if (!atomic_load(&outputs.n))
		return;
	if (c->cmd.kind == SBT_FREE)
		before_free(c);
	else if (c->cmd.kind == SBT_CTX_DESTROY)
		payload_poll(c->t, false);
	else if (c->cmd.kind == SBT_HOST_FUNC || has_host_code(c))
		before_host_code(c);
}

/* --- of a command --- */

void payload_enter(struct call *c)
{
	if (c->cmd.flags & SBT_F_GRAPH)
		return;
	before_program(c);
	if (c->cmd.kind == SBT_COPY)
		send_source(c, &c->cmd.u.copy);
	struct sbt_cmd_copy k;
	for (uint32_t i = 0; c->cmd.kind == SBT_GRAPH_LAUNCH &&
			     graph_host_copy((uint32_t)c->cmd.u.graph_launch.exec, &i, &k);)
		if (!is_watched(k.src))
			send_source(c, &k);
}

static void take_destination(struct call *c, const struct sbt_cmd_copy *k)
{
	if (k->dir != SBT_COPY_D2H)
		return;
	struct sbt_rows e;
	if (!host_side(&e, k, false))
		return;
	if (k->async) {
		remember(c, &e);
		return;
	}
	struct piece p = piece_of(c, BULK_OUTPUT, &e);
	deliver(c->t, &p, &e);
}

void payload_exit(struct call *c)
{
	if (c->cmd.result || c->cmd.flags & SBT_F_GRAPH)
		return;
	if (c->cmd.kind == SBT_COPY)
		take_destination(c, &c->cmd.u.copy);
	struct sbt_cmd_copy k;
	for (uint32_t i = 0; c->cmd.kind == SBT_GRAPH_LAUNCH &&
			     graph_host_copy((uint32_t)c->cmd.u.graph_launch.exec, &i, &k);)
		take_destination(c, &k);
}
