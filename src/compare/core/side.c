/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a trace for a comparison. What a graph launch is comes from the graph's nodes, what a wait
 * is for from the event's last record.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/buf.h"
#include "base/checked.h"
#include "compare/core/side.h"
#include "sbt/cmd-pack.h"

enum { TELL_EVERY = 1 << 16 };

struct reading {
	struct side *s;
	const struct compare_ask *ask;
	struct id_table events;	 /* entry that recorded it, plus 1 */
	struct id_table graphs;	 /* u64: hash of its nodes */
	struct id_table threads; /* number, plus 1 */
	bool begins;
};

/* --- names --- */

static uint32_t add_name(struct side *s, char *name)
{
	MAKE_ROOM(s->names, s->nnames, s->cap_names);
	s->names[s->nnames] = (struct side_name){name, XXH64(name, strlen(name), 0)};
	return s->nnames++;
}

/* What all sides have a name for: these are their first names. Copies are by enum sbt_copy. */
enum {
	NAME_COPY,
	NAME_FILL = NAME_COPY + SBT_COPY_ANY + 1,
	NAME_GRAPH,
	NAME_UNKNOWN,
	NAME_VALUE_WAIT,
	NAME_VALUE,
	NAME_HOST_WAIT,
	NAME_RECORD,
	NAME_WAIT,
	NAME_FUNCTION,
	NAMES
};
static const char *const fixed_names[NAMES] = {"copy h2d", "copy d2h", "copy d2d", "copy h2h",
	"copy peer", "copy any", "fill", "graph launch", "unknown kernel", "wait for a value",
	"write of a value", "host wait", "event record", "wait for an event", "host function"};

static uint32_t kernel_name(struct side *s, uint64_t kernel)
{
	const struct side_kernel *k = id_table_row(&s->kernels, kernel, false);

	return k && k->name ? k->name - 1 : NAME_UNKNOWN;
}

static uint64_t static_shared(struct side *s, uint64_t kernel)
{
	const struct side_kernel *k = id_table_row(&s->kernels, kernel, false);

	return k ? k->static_shared : 0;
}

static void learn_kernel(struct reading *r, const struct sbt_cmd_kernel_def *d)
{
	struct side_kernel *k = id_table_row(&r->s->kernels, d->new_kernel, true);
	char *name;

	if (!k)
		return;
	name = xasprintf("%.*s", d->kernel_name.len > 65536 ? 65536 : (int)d->kernel_name.len,
		(const char *)d->kernel_name.p);
	if (r->s->observed && r->ask->plain) {
		char *plain = xstrdup(r->ask->plain(r->ask->arg, name));

		free(name);
		name = plain;
	}
	*k = (struct side_kernel){add_name(r->s, name) + 1, d->static_shared};
}

/* --- keys --- */

struct shape {
	uint64_t v[16];
	unsigned n;
};

static void put(struct shape *s, uint64_t v)
{
	s->v[s->n++] = v;
}

/* observed: static shared memory; a profile may have the sum of both alone. */
static void launch_shape(struct shape *s, const struct sbt_cmd_launch *u, const uint64_t *observed)
{
	put(s, u->grid_x);
	put(s, u->grid_y);
	put(s, u->grid_z);
	put(s, u->block_x);
	put(s, u->block_y);
	put(s, u->block_z);
	put(s, observed ? sat_add(u->shared, *observed) : u->shared);
	if (observed)
		return;
	put(s, u->cooperative);
	put(s, u->cluster_x);
	put(s, u->cluster_y);
	put(s, u->cluster_z);
	put(s, u->last_x);
	put(s, u->last_y);
	put(s, u->last_z);
}

static void copy_shape(struct shape *s, const struct sbt_cmd_copy *u, bool observed)
{
	put(s, u->size);
	if (observed)
		return;
	put(s, u->width);
	put(s, u->height);
	put(s, u->depth);
	put(s, u->async);
}

static void fill_shape(struct shape *s, const struct sbt_cmd_fill *u, bool observed)
{
	put(s, u->size);
	if (observed)
		return;
	put(s, u->value);
	put(s, u->elem);
	put(s, u->width);
	put(s, u->height);
}

static uint64_t graph_hash(struct reading *r, uint64_t graph)
{
	const uint64_t *h = id_table_row(&r->graphs, graph, false);

	return h ? *h : 0;
}

/* Name and shape of a command; false: it is not compared. */
static bool describe(struct reading *r, const struct sbt_cmd *c, struct entry *e, struct shape *s)
{
	const bool observed = r->s->observed;
	uint64_t shared;

	switch (c->kind) {
	case SBT_LAUNCH:
		e->name = kernel_name(r->s, c->u.launch.kernel);
		shared = static_shared(r->s, c->u.launch.kernel);
		launch_shape(s, &c->u.launch, observed ? &shared : NULL);
		return true;
	case SBT_GRAPH_LAUNCH:
		e->name = NAME_GRAPH;
		put(s, observed ? 0 : graph_hash(r, c->u.graph_launch.exec));
		return true;
	case SBT_COPY:
		e->name = NAME_COPY +
			  (uint32_t)(c->u.copy.dir < SBT_COPY_ANY ? c->u.copy.dir : SBT_COPY_ANY);
		copy_shape(s, &c->u.copy, observed);
		return true;
	case SBT_FILL:
		e->name = NAME_FILL;
		fill_shape(s, &c->u.fill, observed);
		return true;
	case SBT_BATCH:
		e->name = c->u.batch.is_wait ? NAME_VALUE_WAIT : NAME_VALUE;
		put(s, c->u.batch.value);
		return !observed;
	case SBT_SYNC:
		e->name = NAME_HOST_WAIT;
		put(s, c->u.sync.scope);
		return true;
	case SBT_EVENT_RECORD:
	case SBT_STREAM_WAIT:
	case SBT_HOST_FUNC:
		e->name = c->kind == SBT_EVENT_RECORD  ? NAME_RECORD
			  : c->kind == SBT_STREAM_WAIT ? NAME_WAIT
						       : NAME_FUNCTION;
		return !observed;
	default:
		return false;
	}
}

bool side_waits(const struct entry *e)
{
	return e->kind == SBT_STREAM_WAIT || e->kind == SBT_SYNC;
}

/* --- graphs --- */

/* What a node is: its payload is a packed command of another run, so the parts that count are taken
 * out of it. */
static uint64_t node_hash(struct reading *r, const struct sbt_cmd_graph_node *n)
{
	struct shape s = {.n = 0};
	struct entry e = {.name = 0};
	struct sbt_cmd c;

	put(&s, n->type);
	put(&s, n->node);
	put(&s, n->disabled);
	if (n->payload.len && sbt_unpack(&c, n->payload.p, n->payload.len) &&
		describe(r, &c, &e, &s))
		put(&s, r->s->names[e.name].hash);
	return XXH64(s.v, s.n * sizeof *s.v, 1);
}

static void learn_graph(struct reading *r, const struct sbt_cmd *c)
{
	uint64_t *h;

	if (c->kind == SBT_GRAPH_NODE) {
		h = id_table_row(&r->graphs, c->u.graph_node.graph, true);
		if (h)
			*h += node_hash(r, &c->u.graph_node);
	} else if (c->kind == SBT_GRAPH_INSTANTIATE) {
		const uint64_t source = graph_hash(r, c->u.graph_instantiate.graph);

		h = id_table_row(&r->graphs, c->u.graph_instantiate.new_exec, true);
		if (h && !*h)
			*h = source;
	}
}

/* --- entries --- */

static uint32_t thread_number(struct reading *r, uint32_t thread)
{
	uint32_t *number = id_table_row(&r->threads, thread, true);

	if (!number)
		return 0;
	if (!*number)
		*number = ++r->s->nthreads;
	return *number - 1;
}

/* What a wait is for; remembers what a record is. */
static uint32_t reference(struct reading *r, const struct sbt_cmd *c)
{
	const uint32_t *at;
	uint32_t *own;
	uint64_t event = SBT_NO_ID;

	if (c->kind == SBT_EVENT_RECORD) {
		own = id_table_row(&r->events, c->u.event_record.event, true);
		if (own)
			*own = r->s->n + 1;
		return SIDE_NONE;
	}
	if (c->kind == SBT_STREAM_WAIT)
		event = c->u.stream_wait.event;
	else if (c->kind == SBT_SYNC && c->u.sync.scope == SBT_SYNC_EVENT && !r->s->observed)
		event = c->u.sync.event;
	at = id_table_row(&r->events, event, false);
	return at && *at ? *at - 1 : SIDE_NONE;
}

static void add_entry(struct reading *r, const struct sbt_cmd *c, struct entry *e, struct shape *s)
{
	const uint64_t h =
		r->s->names[e->name].hash ^ (uint64_t)c->kind * UINT64_C(0x9e3779b97f4a7c15);

	e->weak = (uint32_t)h;
	e->key = XXH64(s->v, s->n * sizeof *s->v, h);
	e->seq = c->seq;
	e->kind = (uint8_t)c->kind;
	e->stream = sbt_cmd_is_work(c) ? sbt_cmd_stream(c)
		    : c->kind == SBT_SYNC && c->u.sync.stream < SBT_NO_ID && !r->s->observed
			    ? (uint32_t)c->u.sync.stream
			    : SBT_NO_ID;
	e->stack = c->stack;
	e->thread = thread_number(r, c->thread);
	e->other = SIDE_NONE;
	e->ref = reference(r, c);
	e->begins = r->begins;
	r->begins = c->kind == SBT_SYNC;
	e->gpu_ns = UINT64_MAX;
	if (c->gpu_start_ns && c->gpu_end_ns >= c->gpu_start_ns) {
		e->gpu_ns = c->gpu_end_ns - c->gpu_start_ns;
		r->s->timed++;
	}
	MAKE_ROOM(r->s->e, r->s->n, r->s->cap);
	r->s->e[r->s->n++] = *e;
}

static void count_time(struct side *s, const struct sbt_cmd *c)
{
	const uint64_t end = c->gpu_end_ns > c->host_ns && c->gpu_end_ns >= c->gpu_start_ns
				     ? c->gpu_end_ns
				     : c->host_ns;

	if (c->host_ns && (!s->begin_ns || c->host_ns < s->begin_ns))
		s->begin_ns = c->host_ns;
	if (end > s->end_ns)
		s->end_ns = end;
}

static struct err *take(struct reading *r, const struct sbt_cmd *c, bool counted)
{
	struct entry e = {.kind = 0};
	struct shape s = {.n = 0};

	if (c->kind == SBT_KERNEL_DEF)
		learn_kernel(r, &c->u.kernel_def);
	else if (c->kind == SBT_GRAPH_NODE || c->kind == SBT_GRAPH_INSTANTIATE)
		learn_graph(r, c);
	else if (c->kind == SBT_MARK && c->u.mark.mark_kind == 1)
		r->begins = true;
	if (!counted || (c->kind != SBT_SYNC && !sbt_cmd_is_work(c)) || !describe(r, c, &e, &s))
		return NULL;
	if (r->s->n >= COMPARE_COMMANDS_MAX)
		return err_new(ERR_LIMIT, "more than %u commands are too many to compare",
			COMPARE_COMMANDS_MAX);
	count_time(r->s, c);
	add_entry(r, c, &e, &s);
	return NULL;
}

static struct err *read_all(struct reading *r, struct sbt_reader *reader, uint64_t first,
	uint64_t last, const struct compare_ask *ask)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;
	uint64_t done = 0;

	TRY(sbt_cursor_open(&cursor, reader));
	for (;;) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > last)
			break;
		e = take(r, c, c->seq >= first);
		if (!e && !(++done % TELL_EVERY) && ask->cancelled &&
			ask->cancelled(ask->arg, done, sbt_reader_count(reader)))
			e = err_new(ERR_INTERRUPTED, "interrupted");
		if (e)
			break;
	}
	sbt_cursor_close(cursor);
	return e;
}

struct err *side_read(struct side *ret, struct sbt_reader *r, uint64_t first, uint64_t last,
	const struct compare_ask *ask)
{
	struct reading now = {.s = ret,
		.ask = ask,
		.events.size = sizeof(uint32_t),
		.graphs.size = sizeof(uint64_t),
		.threads.size = sizeof(uint32_t)};
	struct err *e;

	*ret = (struct side){.kernels.size = sizeof(struct side_kernel),
		.observed = sbt_reader_meta(ask->a)->observed || sbt_reader_meta(ask->b)->observed};
	for (unsigned i = 0; i < NAMES; i++)
		add_name(ret, xstrdup(fixed_names[i]));
	e = read_all(&now, r, first, last, ask);
	free(now.events.at);
	free(now.graphs.at);
	free(now.threads.at);
	return e;
}

void side_free(struct side *s)
{
	for (uint32_t i = 0; i < s->nnames; i++)
		free(s->names[i].text);
	free(s->names);
	free(s->e);
	free(s->kernels.at);
	*s = (struct side){0};
}
