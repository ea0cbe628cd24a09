/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over a trace, see export-job.h. Commands in front of the range are read, too: they say
 * what kernels, streams and threads are. A host wait is held back until its end is known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/id-table.h"
#include "export/core/export-job.h"
#include "state/state.h"
#include "symbols/host-stack.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

enum { TELL_EVERY = 4096, RANGES_MAX = 32 };

struct stream {
	uint32_t ctx;	    /* plus 1; 0: not known */
	uint64_t last_work; /* seq of the last command that ran on it */
	uint64_t waits[EXPORT_WAITS_MAX];
	unsigned nwaits; /* for the next command that runs on it */
};
struct event {
	uint64_t work;	 /* seq of what it was recorded behind; 0: of nothing */
	uint32_t stream; /* plus 1 */
};
struct thread {
	uint32_t os_tid;
	bool waits;
	struct sbt_cmd sync; /* the wait that has not ended */
	struct {
		uint64_t seq, host_ns;
		const char *name;
	} ranges[RANGES_MAX]; /* pushed and not popped; deeper ones are counted only */
	unsigned nranges;
};

struct export_walk {
	struct sbt_cursor *cursor;
	struct sbt_cmd on_set; /* the command with times of the set's clock */
	struct id_table kernels, contexts, streams, events, threads, stacks, devices;
	struct export_event now;
	struct state *memory; /* what is allocated, for formats with memory */
	struct export_memory told[EXPORT_DEVICES_MAX], changed[EXPORT_DEVICES_MAX];
	struct stream_time *time;
	struct stream_span spans[STREAM_SPANS];
	uint64_t begin, of, since;
	bool over;
	uint32_t unended;      /* threads below have no wait or range without an end */
	struct sbt_cmd waited; /* what an event points to that is no command by itself */
};

static const struct export_source *source_of(const struct export_job *j)
{
	return &j->ask->sources[j->source];
}

static struct export_walk *walk_of(const struct export_job *j)
{
	return j->walks[j->source];
}

/* --- host stacks --- */

static const char *frame_name(struct export_job *j, const struct backtrace_frame *f)
{
	char *text;
	const char *kept;

	if (f->sym.function)
		return f->sym.function;
	text = xasprintf(
		"%s+0x%" PRIx64, f->sym.module ? file_name_of(f->sym.module) : "unknown", f->pc);
	kept = symbols_keep(j->ask->symbols, text);
	free(text);
	return kept;
}

/* Whether the host function is a kernel's stub, which a launch goes through: no function of the
 * program. */
static bool is_stub(const struct export_job *j, const struct backtrace_frame *f)
{
	const struct id_table *t = &walk_of(j)->kernels;
	const struct export_kernel *k = t->at;

	for (size_t i = 0; f->sym.function && i < t->n; i++) {
		if (k[i].name && !strcmp(k[i].name, f->sym.function))
			return true;
	}
	return false;
}

static struct export_stack *make_stack(struct export_job *j, const struct stack *st)
{
	struct export_stack *s = xcalloc(1, sizeof *s + st->n * sizeof s->frames[0]);
	unsigned inner = 0;

	while (inner + 1 < st->n && is_stub(j, &st->frames[inner]))
		inner++;
	for (unsigned i = st->n; i-- > inner;) {
		const struct backtrace_frame *f = &st->frames[i];

		s->frames[s->n++] = (struct export_frame){
			frame_name(j, f), f->sym.file, f->sym.line, f->python};
	}
	return s;
}

const struct export_stack *export_stack(struct export_job *j, uint32_t id)
{
	struct export_stack **at = id ? id_table_row(&walk_of(j)->stacks, id, true) : NULL;
	struct stack st = {0};
	struct err *e;

	if (!at || *at)
		return at ? *at : NULL;
	e = stack_read(&st, j->ask->symbols, source_of(j)->r, id);
	if (!e && st.n) {
		stack_hide(&st, &(struct stack_shown){.only = STACK_MIXED});
		if (st.n) {
			*at = make_stack(j, &st);
			(*at)->runtime = st.through_runtime;
		}
	}
	err_free(e);
	stack_free(&st);
	return *at;
}

/* --- what commands say of objects --- */

const struct export_kernel *export_kernel(const struct export_job *j, uint32_t id)
{
	const struct export_kernel *k = id_table_row(&walk_of(j)->kernels, id, false);

	return k && k->name ? k : NULL;
}

uint32_t export_kernels(const struct export_job *j)
{
	return (uint32_t)walk_of(j)->kernels.n;
}

uint32_t export_os_tid(const struct export_job *j, uint32_t thread)
{
	const struct thread *t = id_table_row(&walk_of(j)->threads, thread, false);

	return t ? t->os_tid : 0;
}

const struct sbt_cmd_device *export_device(const struct export_job *j, uint32_t device)
{
	const struct sbt_cmd_device *d = id_table_row(&walk_of(j)->devices, device, false);

	return d && d->sm_count ? d : NULL;
}

static const char *keep(struct export_job *j, const struct sbt_blob *b)
{
	char *text = xasprintf("%.*s", b->len > 65536 ? 65536 : (int)b->len, (const char *)b->p);
	const char *kept = symbols_keep(j->ask->symbols, text);

	free(text);
	return kept;
}

static void learn_kernel(struct export_job *j, const struct sbt_cmd_kernel_def *d)
{
	struct export_kernel *k = id_table_row(&walk_of(j)->kernels, d->new_kernel, true);
	struct symbols *s = j->ask->symbols;
	char brief[256];

	if (!k)
		return;
	k->mangled = keep(j, &d->kernel_name);
	k->name = symbols_demangle(s, k->mangled);
	sbt_kernel_short_name(brief, sizeof brief, k->mangled);
	k->brief = symbols_keep(s, brief);
	k->regs = d->regs;
	k->static_shared = d->static_shared;
}

static void learn_stream(struct export_walk *w, uint64_t id, uint64_t ctx)
{
	struct stream *s = id_table_row(&w->streams, id, true);

	if (s)
		*s = (struct stream){.ctx = ctx < ID_TABLE_MAX ? (uint32_t)ctx + 1 : 0};
}

static void learn(struct export_job *j, const struct sbt_cmd *c)
{
	struct export_walk *w = walk_of(j);
	struct thread *t;
	struct sbt_cmd_device *d;
	uint32_t *device;

	switch (c->kind) {
	case SBT_KERNEL_DEF:
		learn_kernel(j, &c->u.kernel_def);
		break;
	case SBT_CTX_CREATE:
		device = id_table_row(&w->contexts, c->u.ctx_create.new_ctx, true);
		if (device)
			*device = (uint32_t)c->u.ctx_create.device;
		learn_stream(w, c->u.ctx_create.default_stream, c->u.ctx_create.new_ctx);
		break;
	case SBT_STREAM_CREATE:
		learn_stream(w, c->u.stream_create.new_stream, c->ctx);
		break;
	case SBT_THREAD:
		t = id_table_row(&w->threads, c->thread, true);
		if (t)
			t->os_tid = (uint32_t)c->u.thread.os_tid;
		break;
	case SBT_DEVICE:
		d = id_table_row(&w->devices, c->u.device.device, true);
		if (d) {
			*d = c->u.device;
			d->device_name.p = keep(j, &c->u.device.device_name);
		}
		break;
	default:
		break;
	}
}

/* --- what commands wait for --- */

static void add_wait(struct stream *s, uint64_t seq)
{
	for (unsigned i = 0; i < s->nwaits; i++) {
		if (s->waits[i] == seq)
			return;
	}
	if (s->nwaits < EXPORT_WAITS_MAX)
		s->waits[s->nwaits++] = seq;
}

/* Keeps up with events, so that the next command of a stream knows what it waited for. */
static void order(struct export_walk *w, const struct sbt_cmd *c)
{
	const uint32_t id = sbt_cmd_stream(c);
	struct stream *s = id_table_row(&w->streams, id, true);
	struct event *e;

	if (!s || c->result || c->flags & SBT_F_GRAPH)
		return;
	if (c->kind == SBT_EVENT_RECORD) {
		e = id_table_row(&w->events, c->u.event_record.event, true);
		if (e)
			*e = (struct event){s->last_work, id + 1};
	} else if (c->kind == SBT_STREAM_WAIT) {
		e = id_table_row(&w->events, c->u.stream_wait.event, false);
		if (e && e->work && e->stream != id + 1)
			add_wait(s, e->work);
	}
}

/* Gives the event what its stream waited for, and makes it the stream's last work. */
static void take_waits(struct export_walk *w, struct export_event *ev)
{
	struct stream *s = id_table_row(&w->streams, ev->stream, true);

	if (!s)
		return;
	memcpy(ev->waits, s->waits, sizeof ev->waits);
	ev->nwaits = s->nwaits;
	s->nwaits = 0;
	s->last_work = ev->c->seq;
}

/* --- a command as an event --- */

static uint32_t device_of(struct export_walk *w, uint32_t stream)
{
	const struct stream *s = id_table_row(&w->streams, stream, false);
	const uint32_t *device = s && s->ctx ? id_table_row(&w->contexts, s->ctx - 1, false) : NULL;

	return device ? *device : 0;
}

const char *export_doing_name(enum stream_doing what)
{
	static const char *const names[STREAM_DOINGS] = {
		"Idle", "Wait", "Dispatch Pending", "Running"};

	return names[what];
}

static const char *copy_name(uint64_t dir)
{
	static const char *const names[] = {
		"copy h2d", "copy d2h", "copy d2d", "copy h2h", "copy peer", "copy any"};

	return dir < sizeof names / sizeof *names ? names[dir] : "copy";
}

static void name_launch(struct export_job *j, struct export_event *ev)
{
	const struct export_kernel *k;

	ev->what = EXPORT_KERNEL;
	ev->kernel = (uint32_t)ev->c->u.launch.kernel;
	k = export_kernel(j, ev->kernel);
	ev->name = k ? k->name : "unknown kernel";
}

static void name_it(struct export_job *j, struct export_event *ev)
{
	const struct sbt_cmd *c = ev->c;
	const struct sbt_kind_desc *kind = sbt_kind(c->kind);

	ev->name = kind ? kind->name : "unknown";
	switch (c->kind) {
	case SBT_LAUNCH:
		name_launch(j, ev);
		break;
	case SBT_GRAPH_LAUNCH:
		ev->what = EXPORT_GRAPH;
		ev->name = "graph launch";
		break;
	case SBT_COPY:
		ev->what = EXPORT_COPY;
		ev->name = copy_name(c->u.copy.dir);
		ev->bytes = c->u.copy.size;
		break;
	case SBT_FILL:
		ev->what = EXPORT_FILL;
		ev->bytes = c->u.fill.size;
		break;
	case SBT_MARK:
		ev->what = EXPORT_MARK;
		ev->name = c->u.mark.text.len ? keep(j, &c->u.mark.text) : "";
		break;
	default:
		ev->what = sbt_cmd_is_work(c) ? EXPORT_OTHER_WORK : EXPORT_CALL;
	}
}

static void make_event(struct export_job *j, const struct sbt_cmd *c)
{
	struct export_walk *w = walk_of(j);
	struct export_event *ev = &w->now;

	*ev = (struct export_event){.c = c, .kernel = SBT_NO_ID, .stream = SBT_NO_ID};
	name_it(j, ev);
	if (sbt_cmd_is_work(c)) {
		ev->stream = sbt_cmd_stream(c);
		ev->device = device_of(w, ev->stream);
		if (ev->what <= EXPORT_FILL)
			take_waits(w, ev);
	} else if (ev->what < EXPORT_MARK) {
		ev->what = EXPORT_CALL; /* failed, or captured into a graph: it ran on no stream */
	}
	if (ev->what != EXPORT_CALL && c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns) {
		ev->timed = true;
		ev->gpu_ns = c->gpu_end_ns - c->gpu_start_ns;
	}
}

/* An event of the host alone that lasts from w->waited to end; end NULL: not recorded. */
static void make_span(
	struct export_walk *w, enum export_what what, const char *name, const struct sbt_cmd *end)
{
	w->now = (struct export_event){.c = &w->waited,
		.what = what,
		.name = name,
		.kernel = SBT_NO_ID,
		.stream = SBT_NO_ID,
		.host_end = end ? end->host_ns : 0};
}

static void make_wait(struct export_walk *w, struct thread *t, const struct sbt_cmd *end)
{
	const uint32_t *device;

	w->waited = t->sync;
	t->waits = false;
	make_span(w, EXPORT_HOST_WAIT, "wait", end);
	if (w->waited.u.sync.scope == SBT_SYNC_STREAM)
		w->now.device = device_of(w, (uint32_t)w->waited.u.sync.stream);
	else if ((device = id_table_row(&w->contexts, w->waited.ctx, false)))
		w->now.device = *device;
}

static void make_range(
	struct export_walk *w, struct thread *t, uint32_t thread, const struct sbt_cmd *end)
{
	t->nranges--;
	w->waited = (struct sbt_cmd){.seq = t->ranges[t->nranges].seq,
		.kind = SBT_MARK,
		.thread = thread,
		.ctx = SBT_NO_ID,
		.host_ns = t->ranges[t->nranges].host_ns};
	make_span(w, EXPORT_RANGE, t->ranges[t->nranges].name, end);
}

/* Begins a wait, or ends it: an event. */
static bool on_wait(struct export_walk *w, const struct sbt_cmd *c)
{
	struct thread *t = id_table_row(&w->threads, c->thread, true);

	if (t && c->kind == SBT_SYNC) {
		t->sync = *c;
		t->waits = true;
	} else if (t && t->waits && t->sync.seq == c->u.sync_end.begin) {
		make_wait(w, t, c);
		return true;
	}
	return false;
}

/* Begins a range, or ends it: an event. */
static bool on_range(struct export_job *j, const struct sbt_cmd *c)
{
	enum { PUSH = 1 };
	struct thread *t = id_table_row(&walk_of(j)->threads, c->thread, true);

	if (!t)
		return false;
	if (c->u.mark.mark_kind == PUSH) {
		if (t->nranges < RANGES_MAX) {
			t->ranges[t->nranges].seq = c->seq;
			t->ranges[t->nranges].host_ns = c->host_ns;
			t->ranges[t->nranges].name = keep(j, &c->u.mark.text);
		}
		t->nranges++;
	} else if (t->nranges > RANGES_MAX) {
		t->nranges--;
	} else if (t->nranges) {
		make_range(walk_of(j), t, c->thread, c);
		return true;
	}
	return false;
}

/* Makes an event of the command; false: there is nothing to show of it, or not yet. */
static bool take(struct export_job *j, const struct sbt_cmd *c)
{
	if (c->flags & SBT_F_SYNTHETIC)
		return false;
	if (c->kind == SBT_SYNC || c->kind == SBT_SYNC_END)
		return on_wait(walk_of(j), c);
	if (c->kind == SBT_MARK && c->u.mark.mark_kind)
		return on_range(j, c);
	make_event(j, c);
	return true;
}

/* --- the pass --- */

static bool asked_for(const struct export_job *j, const struct export_event *ev)
{
	const struct export_ask *a = j->ask;

	return ev->c->seq >= a->first && ev->c->seq <= a->last &&
	       (a->stream == SBT_NO_ID || ev->stream == a->stream);
}

static void count(struct export_job *j, const struct export_event *ev)
{
	struct export_result *r = j->result;

	r->commands++;
	if (ev->what != EXPORT_KERNEL && ev->what != EXPORT_GRAPH)
		return;
	r->launches++;
	r->timed += ev->timed;
	r->stacks += export_stack(j, ev->c->stack) != NULL;
}

static bool cancelled(struct export_job *j, uint64_t seq)
{
	struct export_walk *w = walk_of(j);

	if (!j->ask->cancelled || w->since++ % TELL_EVERY)
		return false;
	j->result->interrupted = j->ask->cancelled(j->ask->arg, seq - w->begin, w->of);
	return j->result->interrupted;
}

/* The waits and ranges that had not ended when the trace did, one a call. */
static bool next_unended(struct export_walk *w)
{
	for (; w->unended < w->threads.n; w->unended++) {
		struct thread *t = id_table_row(&w->threads, w->unended, false);

		if (t->waits) {
			make_wait(w, t, NULL);
			return true;
		}
		if (t->nranges > RANGES_MAX)
			t->nranges = RANGES_MAX;
		if (t->nranges) {
			make_range(w, t, w->unended, NULL);
			return true;
		}
	}
	return false;
}

/* --- what is allocated --- */

/* The devices whose allocations are others than an event had last; returns how many. */
static unsigned memory_changes(struct export_walk *w)
{
	struct state_device is;
	unsigned n = 0;

	for (unsigned i = 0; i < EXPORT_DEVICES_MAX && state_device(w->memory, i, &is); i++) {
		if (w->told[i].bytes == is.alloc_bytes)
			continue;
		w->told[i] = (struct export_memory){is.device, is.alloc_bytes};
		w->changed[n++] = w->told[i];
	}
	return n;
}

/* Objects alone change it; an allocation in a stream's order counts from its call on, as no other
 * command would let the stream get there. */
static struct err *see_memory(struct export_walk *w, const struct sbt_cmd *c)
{
	struct sbt_cmd now;

	if (c->kind != SBT_CAPTURE_BEGIN && sbt_kind(c->kind)->cls != SBT_CLASS_OBJECT)
		return NULL;
	now = *c;
	if (c->kind == SBT_ALLOC)
		now.u.alloc.stream = SBT_NO_ID;
	else if (c->kind == SBT_FREE)
		now.u.free.stream = SBT_NO_ID;
	TRY(state_apply(w->memory, &now));
	if ((c->kind == SBT_ALLOC || c->kind == SBT_FREE) && w->now.c == c) {
		w->now.nmemory = memory_changes(w);
		w->now.memory = w->changed;
	}
	return NULL;
}

static void convert(const struct export_source *s, uint64_t *ns)
{
	if (*ns)
		*ns = s->time(s->arg, *ns);
}

static const struct sbt_cmd *on_set_clock(struct export_job *j, const struct sbt_cmd *c)
{
	const struct export_source *s = source_of(j);
	struct export_walk *w = walk_of(j);

	if (!c || !s->time)
		return c;
	w->on_set = *c;
	convert(s, &w->on_set.host_ns);
	convert(s, &w->on_set.gpu_start_ns);
	convert(s, &w->on_set.gpu_end_ns);
	return &w->on_set;
}

/* Reads one command and makes an event of it; false: there is nothing to show of it. */
static struct err *step(struct export_job *j, bool *ret)
{
	struct export_walk *w = walk_of(j);
	const struct sbt_cmd *c;
	unsigned spans = 0;

	*ret = false;
	TRY(sbt_cursor_next(w->cursor, &c));
	c = on_set_clock(j, c);
	if (!c || c->seq > j->ask->last || cancelled(j, c->seq)) {
		w->over = true;
		return NULL;
	}
	learn(j, c);
	order(w, c);
	if (j->ask->format->states)
		spans = stream_time_take(w->time, c, w->spans);
	*ret = take(j, c);
	if (j->ask->format->memory)
		TRY(see_memory(w, c));
	if (spans && w->now.c == c) {
		w->now.spans = w->spans;
		w->now.nspans = spans;
	}
	return NULL;
}

/* The next event of the source; NULL: it is over. */
static struct err *next_of_source(struct export_job *j, const struct export_event **ret)
{
	struct export_walk *w = walk_of(j);
	bool there;

	for (;;) {
		there = false;
		if (!w->over)
			TRY(step(j, &there));
		if (w->over)
			there = next_unended(w);
		*ret = there ? &w->now : NULL;
		if (there && asked_for(j, &w->now)) {
			count(j, &w->now);
			return NULL;
		}
		if (w->over && !there)
			return NULL;
	}
}

struct err *export_next(struct export_job *j, const struct export_event **ret)
{
	for (;;) {
		TRY(next_of_source(j, ret));
		if (*ret || j->result->interrupted || j->source + 1 == j->ask->nsources)
			return NULL;
		TRY(export_begin(j, j->source + 1));
	}
}

struct err *export_begin(struct export_job *j, unsigned source)
{
	struct export_walk *w = xcalloc(1, sizeof *w);

	w->kernels.size = sizeof(struct export_kernel);
	w->contexts.size = sizeof(uint32_t);
	w->streams.size = sizeof(struct stream);
	w->events.size = sizeof(struct event);
	w->threads.size = sizeof(struct thread);
	w->stacks.size = sizeof(struct export_stack *);
	w->devices.size = sizeof(struct sbt_cmd_device);
	w->time = stream_time_new();
	w->memory = j->ask->format->memory ? state_new() : NULL;
	j->walks[source] = w;
	j->source = source;
	j->meta = sbt_reader_meta(source_of(j)->r);
	w->begin = sbt_reader_first_seq(source_of(j)->r);
	w->of = sbt_reader_last_seq(source_of(j)->r) - w->begin + 1;
	return sbt_cursor_open(&w->cursor, source_of(j)->r);
}

static void walk_free(struct export_walk *w)
{
	struct export_stack **stacks = w->stacks.at;

	for (size_t i = 0; i < w->stacks.n; i++)
		free(stacks[i]);
	if (w->cursor)
		sbt_cursor_close(w->cursor);
	stream_time_free(w->time);
	if (w->memory)
		state_free(w->memory);
	free(w->kernels.at);
	free(w->contexts.at);
	free(w->streams.at);
	free(w->events.at);
	free(w->threads.at);
	free(w->stacks.at);
	free(w->devices.at);
	free(w);
}

void export_end(struct export_job *j)
{
	for (unsigned i = 0; i < j->ask->nsources; i++)
		if (j->walks[i])
			walk_free(j->walks[i]);
	free(j->walks);
}
