/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events, modules, kernels and graphs of the trace, known from the state at the window's
 * start and from the commands up to its end. Driver objects are made at first use, and again when
 * needed after they were destroyed, so execution can begin anywhere: everything that was recorded
 * on an event before a position has finished there, and a new event says the same.
 */
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-turn.h"
#include "base/first-where.h"
#include "sbt/cmd-pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- ids --- */

static size_t slot_of(const struct id_map *m, uint32_t id)
{
	size_t i = (id * UINT32_C(0x9e3779b1)) & (m->slots - 1);

	while (m->index[i] != UINT32_MAX && m->id[i] != id)
		i = (i + 1) & (m->slots - 1);
	return i;
}

uint32_t id_map_get(const struct id_map *m, uint32_t id)
{
	return m->slots ? m->index[slot_of(m, id)] : UINT32_MAX;
}

static void grow(struct id_map *m)
{
	const struct id_map old = *m;

	m->slots = old.slots ? 2 * old.slots : 64;
	m->id = xcalloc(m->slots, sizeof *m->id);
	m->index = xmalloc(m->slots * sizeof *m->index);
	memset(m->index, 0xff, m->slots * sizeof *m->index);
	for (size_t i = 0; i < old.slots; i++)
		if (old.index[i] != UINT32_MAX) {
			const size_t at = slot_of(m, old.id[i]);

			m->id[at] = old.id[i];
			m->index[at] = old.index[i];
		}
	free(old.id);
	free(old.index);
}

void id_map_put(struct id_map *m, uint32_t id, uint32_t index)
{
	if (2 * (m->n + 1) > m->slots)
		grow(m);
	const size_t at = slot_of(m, id);

	m->n += m->index[at] == UINT32_MAX;
	m->id[at] = id;
	m->index[at] = index;
}

/* Whether an id fits the tables. A trace has 64 bits for each id; an id that does not fit names no
 * object. Both macros use this, so an id is always found under the key it was stored under. */
static bool is_id(uint64_t id)
{
	return id < SBT_NO_ID;
}

/* The element of a table for the_id, made if it is new; NULL when the_id does not fit. */
#define OWN(o, table, type, the_id)                                                                \
	({                                                                                         \
		const uint64_t own_id_ = (the_id);                                                 \
		uint32_t own_i_ = is_id(own_id_)                                                   \
					  ? id_map_get(&(o)->table##_ids, (uint32_t)own_id_)       \
					  : UINT32_MAX;                                            \
		if (own_i_ == UINT32_MAX && is_id(own_id_)) {                                      \
			MAKE_ROOM((o)->table##s, (o)->n##table##s, (o)->cap_##table##s);           \
			own_i_ = (uint32_t)(o)->n##table##s++;                                     \
			memset(&(o)->table##s[own_i_], 0, sizeof(struct type));                    \
			id_map_put(&(o)->table##_ids, (uint32_t)own_id_, own_i_);                  \
		}                                                                                  \
		is_id(own_id_) ? &(o)->table##s[own_i_] : NULL;                                    \
	})
#define FIND(o, table, the_id)                                                                     \
	({                                                                                         \
		const uint64_t find_id_ = (the_id);                                                \
		const uint32_t find_i_ =                                                           \
			is_id(find_id_) ? id_map_get(&(o)->table##_ids, (uint32_t)find_id_)        \
					: UINT32_MAX;                                              \
		find_i_ == UINT32_MAX ? NULL : &(o)->table##s[find_i_];                            \
	})

struct rkernel *objects_kernel(struct rp *rp, uint64_t id)
{
	return FIND(&rp->objects, kernel, id);
}

struct rgraph *objects_graph(struct rp *rp, uint64_t id)
{
	return FIND(&rp->objects, graph, id);
}

struct rmodule *objects_module(struct rp *rp, uint64_t id)
{
	return FIND(&rp->objects, module, id);
}

/* --- learning --- */

static void learn_kernel(struct objects *o, uint64_t id, uint64_t module, struct sbt_blob name,
	struct sbt_blob params, uint64_t hash)
{
	struct rkernel *k = OWN(o, kernel, rkernel, id);

	if (!k || k->name)
		return;
	k->id = (uint32_t)id;
	k->module = module < SBT_NO_ID ? (uint32_t)module : SBT_NO_ID;
	k->name = xmalloc(name.len + 1);
	memcpy(k->name, name.len ? name.p : "", name.len);
	k->name[name.len] = '\0';
	k->nparams = (unsigned)(params.len / 8);
	k->params = xmalloc(params.len + 8);
	memcpy(k->params, params.len ? params.p : "", (size_t)k->nparams * 8);
	k->code_hash = hash;
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		k->max_shared[i] = 48u << 10;
	struct rmodule *m = FIND(o, module, module);
	if (m && !m->code_hash)
		m->code_hash = hash;
}

/* NULL: the id does not fit. */
static struct rmodule *learn_module(struct objects *o, uint64_t id, uint64_t hash)
{
	struct rmodule *m = OWN(o, module, rmodule, id);

	if (!m)
		return NULL;
	m->id = (uint32_t)id;
	if (hash)
		m->code_hash = hash;
	return m;
}

static void learn_stream(struct objects *o, uint64_t id, unsigned dev, uint64_t flags,
	int64_t priority, bool is_default, bool per_thread)
{
	struct rstream *s = OWN(o, stream, rstream, id);

	if (!s)
		return;
	s->dev = dev;
	s->is_default |= is_default;
	s->per_thread = per_thread;
	s->apart = flags & 1;
	s->priority = priority < -1000 || priority > 1000 ? 0 : (int)priority;
}

/* The newest version with since <= seq. */
struct rnode_version objects_node(const struct rnode *n, uint64_t seq)
{
	const size_t at = FIRST_WHERE(n->nversions, i, n->versions[i].since > seq);

	return at ? n->versions[at - 1] : (struct rnode_version){.type = SBT_NODE_EMPTY};
}

static bool same_node(const struct rnode_version *v, const struct state_node *n)
{
	return v->type == n->type && v->disabled == n->disabled &&
	       (uint64_t)v->ndeps * 4 == n->deps.len - n->deps.len % 4 &&
	       v->payload_size == n->payload.len &&
	       (!v->ndeps || !memcmp(v->deps, n->deps.p, (size_t)v->ndeps * 4)) &&
	       (!v->payload_size || !memcmp(v->payload, n->payload.p, v->payload_size));
}

static void use_payload(struct rp *rp, const void *payload, size_t size, unsigned depth);

static void learn_node(struct rp *rp, uint64_t graph, const struct state_node *n, uint64_t since)
{
	struct objects *o = &rp->objects;
	struct rgraph *g = OWN(o, graph, rgraph, graph);
	struct rnode *to = NULL;

	if (!g)
		return;
	g->id = (uint32_t)graph;
	/* Usually the next one in order; a node that is written again has been changed. */
	for (size_t i = n->node < g->nnodes ? n->node : 0; i < g->nnodes && !to; i++)
		if (g->nodes[i].node == n->node)
			to = &g->nodes[i];
	if (!to) {
		MAKE_ROOM(g->nodes, g->nnodes, g->cap);
		to = &g->nodes[g->nnodes++];
		*to = (struct rnode){.node = n->node};
	}
	if (to->nversions && same_node(&to->versions[to->nversions - 1], n))
		return;
	MAKE_ROOM(to->versions, to->nversions, to->cap);
	o->graphs_change |= to->nversions > 0;
	struct rnode_version *v = &to->versions[to->nversions++];

	*v = (struct rnode_version){.since = since,
		.type = n->type,
		.ndeps = (unsigned)(n->deps.len / 4),
		.disabled = n->disabled,
		.payload_size = n->payload.len,
		.deps = xmalloc(n->deps.len + 4),
		.payload = xmalloc(n->payload.len + 8)};
	memcpy(v->deps, n->deps.len ? n->deps.p : "", (size_t)v->ndeps * 4);
	memcpy(v->payload, n->payload.len ? n->payload.p : "", n->payload.len);
	if (g->used)
		use_payload(rp, v->payload, v->payload_size, 0);
}

/* limit: nodes with lower numbers only; 0: all. */
static void copy_nodes(
	struct rp *rp, uint64_t exec, uint64_t source, uint64_t limit, uint64_t since)
{
	struct objects *o = &rp->objects;
	struct rgraph *g = OWN(o, graph, rgraph, exec), *s;

	if (!g)
		return;
	g->id = (uint32_t)exec;
	g->is_exec = true;
	s = FIND(o, graph, source);
	for (size_t i = 0; s && i < s->nnodes; i++) {
		const struct rnode *n = &s->nodes[i];
		const struct rnode_version *v = &n->versions[n->nversions - 1];
		const struct state_node copy = {.node = n->node,
			.type = v->type,
			.disabled = v->disabled,
			.deps = {v->deps, (uint64_t)v->ndeps * 4},
			.payload = {v->payload, v->payload_size}};

		if (!limit || n->node < limit)
			learn_node(rp, exec, &copy, since);
		s = FIND(o, graph, source);
	}
}

/* size 0: not known yet. */
static void learn_global(struct objects *o, uint32_t module, unsigned dev, struct sbt_blob name,
	uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < o->nglobals; i++)
		if (o->globals[i].module == module &&
			(o->globals[i].dev == dev || o->globals[i].addr == addr) &&
			strlen(o->globals[i].name) == name.len &&
			!memcmp(o->globals[i].name, name.p, name.len)) {
			if (!o->globals[i].size)
				o->globals[i].size = size;
			return;
		}
	if (!name.len || !addr)
		return;
	MAKE_ROOM(o->globals, o->nglobals, o->cap_globals);
	struct rglobal *g = &o->globals[o->nglobals++];
	*g = (struct rglobal){.module = module,
		.dev = dev,
		.addr = addr,
		.size = size,
		.name = xmalloc(name.len + 1)};
	memcpy(g->name, name.p, name.len);
	g->name[name.len] = '\0';
}

/* Notes why a module's code is not known, from a sentence such as "the code of module 7 (kernel
 * step): what it was loaded from is not in memory any more". */
static void learn_why(struct objects *o, struct sbt_blob said)
{
	char *text = xasprintf("%.*s", said.len < 1024 ? (int)said.len : 1024,
		said.len ? (const char *)said.p : "");
	const char *why = strstr(text, "): ");
	unsigned id;

	struct rmodule *m = why && sscanf(text, "the code of module %u (", &id) == 1
				    ? learn_module(o, id, 0)
				    : NULL;

	if (m) {
		free(m->why);
		m->why = xstrdup(why + 3);
	}
	free(text);
}

void objects_from_state(struct rp *rp, const struct state *s)
{
	struct objects *o = &rp->objects;
	struct state_totals totals;
	struct state_stream st;
	struct state_module m;
	struct state_kernel k;
	struct state_graph g;
	struct state_node n;

	for (unsigned i = 0; state_stream(s, i, &st); i++) {
		learn_stream(o, st.id, devices_ordinal(rp, st.ctx), st.flags, st.priority,
			st.is_default, st.per_thread);
		struct rstream *to = FIND(o, stream, st.id);
		if (to)
			to->at_start = true;
	}
	textures_from_state(rp, s);
	limits_from_state(rp, s);
	state_totals(s, &totals); /* has the last of these sentences */
	if (totals.last_unknown)
		learn_why(o, (struct sbt_blob){totals.last_unknown, strlen(totals.last_unknown)});
	for (unsigned i = 0; state_module(s, i, &m); i++) {
		struct rmodule *to = learn_module(o, m.id, m.code_hash);

		if (!to)
			continue;
		to->dev = devices_ordinal(rp, m.ctx);
		to->before = m.before;
	}
	for (unsigned i = 0; state_kernel(s, i, &k); i++)
		learn_kernel(o, k.id, k.module, (struct sbt_blob){k.name, strlen(k.name)}, k.params,
			k.code_hash);
	for (unsigned i = 0; state_kernel(s, i, &k); i++)
		if (objects_kernel(rp, k.id))
			objects_kernel(rp, k.id)->before = k.launches != 0;
	for (unsigned i = 0; state_graph(s, i, &g); i++) {
		struct rgraph *to = OWN(o, graph, rgraph, g.id);

		if (!to)
			continue;
		to->id = g.id;
		to->is_exec = g.is_exec;
		for (unsigned j = 0; state_graph_node(s, g.id, j, &n); j++)
			learn_node(rp, g.id, &n, 0);
	}
}

/* A global of a library has an address on each device; if the context is not known, it is taken to
 * be its module's. */
static unsigned global_device(struct rp *rp, const struct sbt_cmd *c)
{
	const struct rmodule *m = FIND(&rp->objects, module, c->u.global_def.module);

	return c->ctx != SBT_NO_ID ? devices_ordinal(rp, c->ctx) : m ? m->dev : 0;
}

/* Learns from a command before the window what the state does not keep. */
static void learn_early(struct rp *rp, const struct sbt_cmd *c)
{
	struct objects *o = &rp->objects;

	if (c->kind == SBT_FUNC_ATTR) {
		MAKE_ROOM(o->attrs, o->nattrs, o->cap_attrs);
		o->attrs[o->nattrs++] = (struct rattr){c->seq, (uint32_t)c->u.func_attr.kernel,
			(int)c->u.func_attr.attr, (int)(int64_t)c->u.func_attr.attr_value};
	} else if (c->kind == SBT_GLOBAL_DEF) {
		learn_global(o, (uint32_t)c->u.global_def.module, global_device(rp, c),
			c->u.global_def.global_name, c->u.global_def.addr, c->u.global_def.size);
	} else if (c->kind == SBT_ATTACH) {
		learn_why(o, c->u.attach.text);
	} else if (c->kind == SBT_MODULE_CODE) {
		(void)learn_module(o, c->u.module_code.module, c->u.module_code.code_hash);
	} else if (c->kind == SBT_MODULE_LOAD && c->u.module_load.ptx_hash) {
		struct rmodule *m =
			learn_module(o, c->u.module_load.new_module, c->u.module_load.code_hash);

		if (m)
			m->ptx_hash = c->u.module_load.ptx_hash;
	}
}

static void use_graph(struct rp *rp, uint64_t id, unsigned depth)
{
	struct rgraph *g = objects_graph(rp, id);

	if (!g || g->used || depth > STEPS_DEPTH_MAX)
		return;
	g->used = true;
	for (size_t i = 0; i < g->nnodes; i++) {
		const struct rnode_version *v = &g->nodes[i].versions[g->nodes[i].nversions - 1];

		use_payload(rp, v->payload, v->payload_size, depth);
	}
}

static void use_payload(struct rp *rp, const void *payload, size_t size, unsigned depth)
{
	struct sbt_cmd c;

	if (!sbt_unpack(&c, payload, size))
		return;
	struct rkernel *k = c.kind == SBT_LAUNCH ? objects_kernel(rp, c.u.launch.kernel) : NULL;
	if (k)
		k->used = true;
	if (c.kind == SBT_GRAPH_LAUNCH)
		use_graph(rp, c.u.graph_launch.exec, depth + 1);
}

static unsigned stream_ordinal(struct rp *rp, uint64_t id)
{
	const struct rstream *s = FIND(&rp->objects, stream, id);

	return s ? s->dev : 0;
}

static void learn_graph(struct rp *rp, const struct sbt_cmd *c)
{
	struct rgraph *g;

	switch (c->kind) {
	case SBT_GRAPH_CREATE:
		if (!is_id(c->u.graph_create.clone_of))
			break;
		copy_nodes(rp, c->u.graph_create.new_graph, c->u.graph_create.clone_of, 0, c->seq);
		g = objects_graph(rp, c->u.graph_create.new_graph);
		if (g)
			g->is_exec = false;
		break;
	case SBT_GRAPH_NODE:
		learn_node(rp, c->u.graph_node.graph,
			&(struct state_node){.node = (uint32_t)c->u.graph_node.node,
				.type = (enum sbt_node)c->u.graph_node.type,
				.deps = c->u.graph_node.deps,
				.payload = c->u.graph_node.payload,
				.disabled = c->u.graph_node.disabled != 0},
			c->seq);
		break;
	case SBT_GRAPH_INSTANTIATE:
		copy_nodes(rp, c->u.graph_instantiate.new_exec, c->u.graph_instantiate.graph,
			c->u.graph_instantiate.nodes, c->seq);
		break;
	case SBT_GRAPH_LAUNCH:
		use_graph(rp, c->u.graph_launch.exec, 0);
		break;
	default:
		break;
	}
}

static void learn_object(struct rp *rp, const struct sbt_cmd *c)
{
	struct objects *o = &rp->objects;
	struct rkernel *k;
	struct rmodule *m;

	switch (c->kind) {
	case SBT_CTX_CREATE:
		learn_stream(o, c->u.ctx_create.default_stream,
			devices_ordinal(rp, c->u.ctx_create.new_ctx), 0, 0, true, false);
		break;
	case SBT_STREAM_CREATE:
		learn_stream(o, c->u.stream_create.new_stream, devices_ordinal(rp, c->ctx),
			c->u.stream_create.stream_flags, (int64_t)c->u.stream_create.priority,
			false, c->u.stream_create.per_thread != 0);
		break;
	case SBT_MODULE_LOAD:
		m = learn_module(o, c->u.module_load.new_module, c->u.module_load.code_hash);
		if (m) {
			m->dev = devices_ordinal(rp, c->ctx);
			m->before = c->flags & SBT_F_BEFORE;
		}
		break;
	case SBT_KERNEL_DEF:
		learn_kernel(o, c->u.kernel_def.new_kernel, c->u.kernel_def.module,
			c->u.kernel_def.kernel_name, c->u.kernel_def.params,
			c->u.kernel_def.code_hash);
		break;
	case SBT_LAUNCH:
		k = c->flags & SBT_F_GRAPH ? NULL : objects_kernel(rp, c->u.launch.kernel);
		if (k) {
			k->used = true;
			k->devs |= 1u << stream_ordinal(rp, c->u.launch.stream);
		}
		break;
	default:
		break;
	}
}

void objects_learn(struct rp *rp, const struct sbt_cmd *c, bool before)
{
	if (c->result)
		return;
	learn_early(rp, c);
	if (before)
		return;
	textures_learn(rp, c);
	limits_learn(rp, c);
	learn_object(rp, c);
	learn_graph(rp, c);
}

const struct rglobal *objects_global_at(const struct rp *rp, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		if (rp->objects.globals[i].addr == addr && rp->objects.globals[i].size == size)
			return &rp->objects.globals[i];
	return NULL;
}

bool objects_lack_code(const struct rp *rp)
{
	for (size_t i = 0; i < rp->objects.nkernels; i++) {
		const struct rkernel *k = &rp->objects.kernels[i];
		const struct rmodule *m =
			k->used && !k->code_hash ? FIND(&rp->objects, module, k->module) : NULL;

		if (m && m->before && !m->code_hash)
			return true;
	}
	return false;
}

void objects_settle(struct rp *rp)
{
	struct objects *o = &rp->objects;

	for (size_t i = 0; i < o->nstreams; i++)
		o->streams[i].dev = devices_number(rp, o->streams[i].dev);
	for (size_t i = 0; i < o->nmodules; i++)
		o->modules[i].dev = devices_number(rp, o->modules[i].dev);
	for (size_t i = 0; i < o->nglobals; i++)
		o->globals[i].dev = devices_number(rp, o->globals[i].dev);
	for (size_t i = 0; i < o->nkernels; i++) {
		const uint32_t ordinals = o->kernels[i].devs;

		o->kernels[i].devs = 0;
		for (unsigned k = 0; k < 32; k++)
			if (ordinals >> k & 1)
				o->kernels[i].devs |= 1u << devices_number(rp, k);
	}
}

/* --- driver objects --- */

unsigned objects_stream_device(struct rp *rp, uint64_t id)
{
	const struct rstream *s = FIND(&rp->objects, stream, id);

	return s ? s->dev : 0;
}

static struct err *make_stream(struct rp *rp, struct rstream *s)
{
	const unsigned was = rp->devices.now;

	if (s->handle)
		return NULL;
	TRY(devices_enter(rp, s->dev));
	GPU(rp, stream_create, &s->handle, s->apart, s->priority);
	return devices_enter(rp, was);
}

/* A per-thread default stream is an ordinary stream that takes part in the legacy default stream's
 * barrier (CUDA C++ programming guide, "Per-thread default stream"). */
struct err *objects_stream(struct rp *rp, uint64_t id, struct gpu_stream **ret)
{
	struct rstream *s = FIND(&rp->objects, stream, id);

	*ret = NULL;
	if (!s && id != SBT_NO_ID)
		return rp_fail(rp, REPLAYER_E_TRACE, rp->current,
			"#%llu is on stream %llu, which the trace never made",
			(unsigned long long)rp->current, (unsigned long long)id);
	if (!s || s->is_default)
		return NULL;
	TRY(make_stream(rp, s));
	*ret = s->handle;
	return NULL;
}

struct err *objects_make_streams(struct rp *rp)
{
	for (size_t i = 0; i < rp->objects.nstreams; i++) {
		struct rstream *s = &rp->objects.streams[i];

		if (s->at_start && !s->is_default)
			TRY(make_stream(rp, s));
	}
	return NULL;
}

struct err *objects_event(struct rp *rp, uint64_t id, struct gpu_event **ret)
{
	*ret = NULL;
	if (id >= SBT_NO_ID)
		return rp_fail(rp, REPLAYER_E_TRACE, rp->current,
			"#%llu uses an event that the trace does not know",
			(unsigned long long)rp->current);
	struct revent *e = OWN(&rp->objects, event, revent, id);
	if (!e->handle)
		TRY(devices_event(rp, &e->handle, &e->dev));
	*ret = e->handle;
	return NULL;
}

struct err *objects_event_here(struct rp *rp, uint64_t id, struct gpu_event **ret)
{
	TRY(objects_event(rp, id, ret));
	struct revent *e = FIND(&rp->objects, event, id);
	TRY(devices_event(rp, &e->handle, &e->dev));
	*ret = e->handle;
	return NULL;
}

/* Pending work of a destroyed stream still runs. */
struct err *objects_drop_stream(struct rp *rp, uint64_t id)
{
	struct rstream *s = FIND(&rp->objects, stream, id);
	struct gpu_stream *h = s ? s->handle : NULL;

	if (!h)
		return NULL;
	TRY(turn_before_destroy(rp, h));
	s->handle = NULL;
	GPU(rp, stream_destroy, h);
	return NULL;
}

struct err *objects_drop_event(struct rp *rp, uint64_t id)
{
	struct revent *e = FIND(&rp->objects, event, id);
	struct gpu_event *h = e ? e->handle : NULL;

	if (!h)
		return NULL;
	e->handle = NULL;
	GPU(rp, event_destroy, h);
	return NULL;
}

/* other is a stream of device dev. */
static struct err *join(
	struct rp *rp, struct gpu_stream *stream, struct gpu_stream *other, unsigned dev)
{
	const unsigned was = rp->devices.now;
	struct gpu_event *e;

	TRY(devices_enter(rp, dev));
	GPU(rp, event_create, &e, false);
	struct err *err = rp_gpu(rp, rp->gpu->event_record(e, other));
	if (!err)
		err = devices_enter(rp, was);
	if (!err)
		err = rp_gpu(rp, rp->gpu->stream_wait(stream, e));
	(void)rp->gpu->event_destroy(e); /* the driver destroys it once it has happened */
	return err;
}

struct err *objects_barrier(struct rp *rp, struct gpu_stream *stream)
{
	for (unsigned i = 0; i < rp->devices.n; i++)
		TRY(join(rp, stream, NULL, i));
	for (size_t i = 0; i < rp->objects.nstreams; i++)
		if (rp->objects.streams[i].handle && rp->objects.streams[i].handle != stream)
			TRY(join(rp, stream, rp->objects.streams[i].handle,
				rp->objects.streams[i].dev));
	return NULL;
}
