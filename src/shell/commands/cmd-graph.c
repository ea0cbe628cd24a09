/* SPDX-License-Identifier: Apache-2.0
 *
 * info graph: one graph with its nodes in the order in which a replay steps through them. What the
 * state does not keep, which launches there were, is looked up in the trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "replay/replay.h"
#include "shell/print/graph.h"
#include "shell/print/stack-view.h"
#include "shell/trace/trace.h"
#include "base/words.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

enum { LISTED_MAX = 16 };

/* --- a node --- */

void graph_node_text(struct buf *out, const struct state *st, const struct state_node *n)
{
	const char *type = sbt_enum_name(SBT_T_ENUM_NODE, n->type);
	const struct sbt_names names = state_names(st);
	struct buf b = BUF_INIT;
	struct sbt_cmd c;

	if (!n->payload.len || !sbt_unpack(&c, n->payload.p, n->payload.len)) {
		buf_str(out, type ? type : "?");
		if (n->type != SBT_NODE_EMPTY)
			buf_str(out, ", what it does was not recorded");
	} else if (c.kind == SBT_UNREPLAYABLE) {
		buf_printf(out, "%.*s, what it does was not recorded",
			(int)c.u.unreplayable.call.len, (const char *)c.u.unreplayable.call.p);
	} else if (c.kind == SBT_GRAPH_LAUNCH) {
		buf_printf(out, "child graph %" PRIu64, c.u.graph_launch.exec);
	} else {
		c.seq = 0;
		c.flags = 0;
		sbt_print_cmd(&b, &c, &names);
		buf_str(out, strncmp(buf_cstr(&b), "#0 ", 3) ? buf_cstr(&b) : buf_cstr(&b) + 3);
	}
	if (n->disabled)
		buf_str(out, " (disabled)");
	buf_free(&b);
}

/* Whether the frame is the stub that nvcc makes for a kernel on the host; it has the kernel's
 * name. */
static bool is_stub(const struct backtrace_frame *f, const char *kernel)
{
	const char *name = f->sym.function;
	const size_t n = strlen(kernel);

	return name && n && !strncmp(name, kernel, n) &&
	       (!name[n] || name[n] == '(' || name[n] == '<');
}

void graph_node_origin(struct buf *out, struct session *s, struct sbt_reader *r,
	const struct state *now, const struct state_node *n)
{
	struct state_kernel k;
	const char *kernel = n->kernel != SBT_NO_ID && state_kernel_by_id(now, n->kernel, &k)
				     ? k.short_name
				     : "";
	struct stack st;
	struct err *e;

	if (!n->origin)
		return;
	buf_printf(out, "#%" PRIu64, n->origin);
	if (!n->stack || !r)
		return;
	e = stack_recorded(s, r, n->stack, &st);
	if (!e && st.n) {
		struct buf b = BUF_INIT;
		const char *text;
		unsigned i = 0;

		while (i + 1 < st.n && st.frames[i].inlined && is_stub(&st.frames[i], kernel))
			i++;
		stack_print_frame(&b, &st, i);
		text = buf_cstr(&b);
		text += strcspn(text, " ");
		buf_printf(out, " %s", text + strspn(text, " "));
		buf_free(&b);
	}
	err_free(e);
	stack_free(&st);
}

/* --- what the trace knows --- */

struct history {
	uint64_t launches[LISTED_MAX], updates[LISTED_MAX];
	unsigned nlaunches, nupdates;
	char calls[LISTED_MAX][64];
	uint64_t nodes[LISTED_MAX]; /* SBT_NO_ID: all */
};

static void note(struct history *h, const struct sbt_cmd *c, uint32_t id)
{
	if (c->kind == SBT_GRAPH_LAUNCH && c->u.graph_launch.exec == id &&
		h->nlaunches < LISTED_MAX && !(c->flags & SBT_F_GRAPH)) {
		h->launches[h->nlaunches++] = c->seq;
	} else if (c->kind == SBT_GRAPH_UPDATE && c->u.graph_update.exec == id &&
		   h->nupdates < LISTED_MAX) {
		const struct sbt_blob *call = &c->u.graph_update.call;
		const unsigned i = h->nupdates++;

		h->updates[i] = c->seq;
		h->nodes[i] = c->u.graph_update.node;
		snprintf(h->calls[i], sizeof h->calls[i], "%.*s",
			(int)(call->len < 64 ? call->len : 63), (const char *)call->p);
	}
}

/* Reads the commands from the graph's creation to the last one that the state knows about it. */
static void read_history(struct session *s, const struct state_graph *g, struct history *h)
{
	const uint64_t last = g->last_launch > g->last_update ? g->last_launch : g->last_update;
	struct sbt_cursor *cur = NULL;
	const struct sbt_cmd *c;
	struct err *e;

	if (s->focus != FOCUS_REPLAY || !s->engine.trace.reader || !last)
		return;
	e = sbt_cursor_open(&cur, s->engine.trace.reader);
	if (!e)
		e = sbt_cursor_seek(cur, g->made);
	while (!e && (h->nlaunches < LISTED_MAX || h->nupdates < LISTED_MAX)) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c || c->seq > last)
			break;
		if (!c->result)
			note(h, c, g->id);
	}
	err_free(e);
	sbt_cursor_close(cur);
}

static void print_times(struct buf *b, const char *what, uint64_t n, uint64_t last,
	const uint64_t *seqs, unsigned nseqs)
{
	if (!n)
		return;
	buf_printf(b, "  %s %" PRIu64 " time%s", what, n, n == 1 ? "" : "s");
	for (unsigned i = 0; i < nseqs; i++)
		buf_printf(b, "%s#%" PRIu64, i ? ", " : ": ", seqs[i]);
	if (!nseqs || seqs[nseqs - 1] != last)
		buf_printf(b, "%s#%" PRIu64 " the last",
			nseqs ? nseqs < n - 1 ? ", ..., " : ", " : ": ", last);
	buf_byte(b, '\n');
}

static void print_updates(struct buf *b, const struct state_graph *g, const struct history *h)
{
	print_times(b, "changed", g->updates, g->last_update, h->updates, 0);
	for (unsigned i = 0; i < h->nupdates; i++) {
		buf_printf(b, "    #%" PRIu64 " %s", h->updates[i], h->calls[i]);
		if (h->nodes[i] < SBT_NO_ID)
			buf_printf(b, ", node %" PRIu64, h->nodes[i]);
		buf_byte(b, '\n');
	}
}

/* --- text --- */

/* Prints where a graph was made; for an executable graph, the graph it was made from. */
static void print_origin(struct buf *b, const struct state *st, const struct state_graph *g)
{
	struct state_graph source;

	if (g->is_exec && state_graph_by_id(st, g->source, &source))
		g = &source;
	if (!g->capture_first)
		return;
	const char *mode = sbt_enum_name(SBT_T_ENUM_CAPTURE, g->capture_mode);
	buf_printf(b, "  captured from #%" PRIu64 "..#%" PRIu64 " on stream %u, %s mode\n",
		g->capture_first, g->made, g->capture_stream, mode ? mode : "?");
}

static void print_head(struct buf *b, const struct state *st, const struct state_graph *g,
	const struct history *h, size_t edges)
{
	buf_printf(b, "Graph %u%s", g->id, g->is_exec ? ", executable" : "");
	if (g->source != SBT_NO_ID)
		buf_printf(b, ", %s graph %u", g->is_exec ? "made from" : "a clone of", g->source);
	if (g->before) { /* no call says what made it, and from which graph */
		buf_str(b, ", from before tsdb came: its nodes are not known\n");
		print_times(b, "launched", g->launches, g->last_launch, h->launches, h->nlaunches);
		return;
	}
	if (g->made)
		buf_printf(b, " by #%" PRIu64, g->made);
	buf_printf(b, ": %u node%s, %zu dependenc%s%s\n", g->nodes, g->nodes == 1 ? "" : "s", edges,
		edges == 1 ? "y" : "ies",
		g->destroyed ? "; destroyed, a launch of it goes on" : "");
	print_origin(b, st, g);
	print_times(b, "launched", g->launches, g->last_launch, h->launches, h->nlaunches);
	print_updates(b, g, h);
}

static void print_deps(struct buf *b, const struct state_step *p)
{
	for (unsigned k = 0; k < p->ndeps; k++)
		buf_printf(b, "%s.%u", k ? " " : "", p->deps[k] + 1);
	if (!p->ndeps)
		buf_byte(b, '-');
}

static void print_steps(
	struct buf *b, struct session *s, const struct state *st, const struct state_steps *steps)
{
	struct sbt_reader *r = s->focus == FOCUS_REPLAY ? s->engine.trace.reader : NULL;
	struct buf cell = BUF_INIT;
	size_t wide = 5;

	for (uint32_t i = 0; i < steps->n; i++) {
		buf_clear(&cell);
		print_deps(&cell, &steps->step[i]);
		if (cell.len > wide && cell.len <= 20)
			wide = cell.len;
	}
	if (steps->n)
		buf_printf(b, "%-6s %-10s %-*s %s\n", "Step", "Node", (int)wide, "After",
			"What it does, and the command that made it");
	for (uint32_t i = 0; i < steps->n; i++) {
		const struct state_step *p = &steps->step[i];
		char name[32];

		if (p->depth)
			snprintf(name, sizeof name, "%u of %u", p->node.node, p->graph);
		else
			snprintf(name, sizeof name, "%u", p->node.node);
		buf_clear(&cell);
		print_deps(&cell, p);
		buf_printf(b, ".%-5u %-10s %-*s ", i + 1, name, (int)wide, buf_cstr(&cell));
		graph_node_text(b, st, &p->node);
		if (p->node.origin) {
			buf_str(b, "   ");
			graph_node_origin(b, s, r, st, &p->node);
		}
		buf_byte(b, '\n');
	}
	buf_free(&cell);
}

/* Prints nodes that cannot be put in order as they are. */
static void print_nodes(struct buf *b, const struct state *st, uint32_t id)
{
	struct state_node n;

	for (unsigned i = 0; state_graph_node(st, id, i, &n); i++) {
		buf_printf(b, "  node %u: ", n.node);
		graph_node_text(b, st, &n);
		buf_str(b, n.deps.len ? ", after" : "");
		for (uint64_t at = 0; at + 4 <= n.deps.len; at += 4) {
			uint32_t dep;

			memcpy(&dep, (const char *)n.deps.p + at, 4);
			buf_printf(b, " %u", dep);
		}
		buf_byte(b, '\n');
	}
}

/* --- JSON --- */

static const char *node_type(uint64_t v)
{
	const char *type = sbt_enum_name(SBT_T_ENUM_NODE, v);

	return type ? type : "?";
}

struct step {
	unsigned step;
	struct state_step s;
	struct sbt_cmd_ref cmd;
};

static void put_after(struct buf *out, const void *step)
{
	const struct state_step *p = step;

	buf_byte(out, '[');
	for (unsigned k = 0; k < p->ndeps; k++)
		buf_printf(out, "%s%u", k ? "," : "", p->deps[k] + 1);
	buf_byte(out, ']');
}

JS_DEFINE(step_object, "step", step, JS(UINT, step, step), JS_IN(UINT, step, s, graph),
	JS_AS("node", UINT, step, s.node.node),
	{"type", JS_NAMED, JS_MEMBER(step, s.node.type), .named = node_type},
	JS_AS("origin", UINT, step, s.node.origin), JS_AS("stack", UINT, step, s.node.stack),
	JS_AS("disabled", BOOL, step, s.node.disabled),
	JS_BY("after", step, s, put_after, "[number]"),
	JS_BY("command", step, cmd, sbt_json_ref, "command"));

struct capture {
	uint64_t first, last;
	uint32_t stream;
	const char *mode;
};
JS_DEFINE(capture_object, "stream_capture", capture, JS_AS("first_seq", UINT, capture, first),
	JS_AS("last_seq", UINT, capture, last), JS(UINT, capture, stream), JS(TEXT, capture, mode));

struct whole {
	struct state_graph g;
	const struct capture *capture;
	const uint64_t *launched, *updated;
	unsigned nlaunched, nupdated;
	const struct state *st;
	const struct state_steps *steps;
};

static void put_steps(struct buf *out, const void *steps)
{
	const struct whole *w = (const void *)((const char *)steps - offsetof(struct whole, steps));
	const struct sbt_names names = state_names(w->st);

	buf_byte(out, '[');
	for (uint32_t i = 0; i < w->steps->n; i++) {
		struct sbt_cmd c;
		const bool works = step_cmd(&w->steps->step[i], &c);

		js_add(out, &step_object,
			&(struct step){i + 1, w->steps->step[i], {works ? &c : NULL, &names}});
	}
	buf_byte(out, ']');
}

JS_DEFINE(whole_object, "graph_in_full", whole, JS_IN(UINT, whole, g, id),
	JS_IN(BOOL, whole, g, is_exec, before), JS_AS("made_seq", UINT, whole, g.made),
	JS_IN(ID, whole, g, source), JS_OF("capture", POINTER, whole, capture, capture_object),
	JS_IN(UINT, whole, g, launches, last_launch, updates, last_update),
	JS_NUMBERS_OF("launched", whole, launched, nlaunched),
	JS_NUMBERS_OF("updated", whole, updated, nupdated),
	JS_BY("step_list", whole, steps, put_steps, "[step]"));

static void print_json(struct buf *b, const struct state *st, const struct state_graph *g,
	const struct history *h, const struct state_steps *steps)
{
	struct state_graph from = *g;

	if (g->is_exec)
		(void)state_graph_by_id(st, g->source, &from);
	const char *mode = sbt_enum_name(SBT_T_ENUM_CAPTURE, from.capture_mode);
	const struct capture capture = {
		from.capture_first, from.made, from.capture_stream, mode ? mode : "?"};
	const struct whole w = {*g, from.capture_first ? &capture : NULL, h->launches, h->updates,
		h->nlaunches, h->nupdates, st, steps};

	js_put(b, &whole_object, &w);
	buf_byte(b, '\n');
}

/* --- the command --- */

const char cmd_info_graph_help[] =
	"Shows a graph: its nodes in the order in which a replay steps through them, what each\n"
	"does and after which others, the command that made each (a captured one, or a call such\n"
	"as cuGraphAddKernelNode), where the graph was captured, its launches and its changes.\n"
	"ID is of `info graphs`; without one, the graph of the launch that the program or the\n"
	"replay is at. Step .3 of launch #214 is the position 214.3 (`help replay goto`).\n"
	"Example: info graph 1\n";

static struct err *which(struct session *s, const struct cmd_args *a, uint32_t *ret)
{
	const struct sbt_cmd *c;
	uint64_t id;

	*ret = SBT_NO_ID;
	if (!a->argc && graph_place(s)) {
		*ret = (uint32_t)replay_cmd(s->engine.trace.replay)->u.graph_launch.exec;
		return NULL;
	}
	if (!a->argc && session_cmd(s, &c) && c->kind == SBT_GRAPH_LAUNCH) {
		*ret = (uint32_t)c->u.graph_launch.exec;
		return NULL;
	}
	if (a->argc != 1 || !word_u64(a->argv[0], &id) || id >= SBT_NO_ID)
		return err_cure(err_new(ERR_USAGE, "info graph needs a graph's number"),
			"\"info graphs\" lists them");
	*ret = (uint32_t)id;
	return NULL;
}

/* For a graph that the trace knows, but not at this position: the state right before its
 * destruction, which is *ret_at. *ret NULL: not found. */
static struct err *find_elsewhere(
	struct session *s, uint32_t id, struct state **ret, uint64_t *ret_at)
{
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;
	struct err *e;

	*ret = NULL;
	*ret_at = 0;
	if (s->focus != FOCUS_REPLAY || !s->engine.trace.reader)
		return NULL;
	TRY(sbt_cursor_open(&cur, s->engine.trace.reader));
	e = sbt_cursor_seek(cur, 0);
	while (!e && !*ret_at) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c)
			break;
		if (c->kind == SBT_GRAPH_DESTROY && c->u.graph_destroy.dead_graph == id)
			*ret_at = c->seq;
	}
	sbt_cursor_close(cur);
	if (e || !*ret_at)
		return e;
	return state_at(ret, s->engine.trace.reader, *ret_at - 1);
}

static struct err *show_graph(
	struct session *s, const struct state *st, uint32_t id, uint64_t before, bool json)
{
	struct state_steps steps;
	struct state_graph g;
	struct history h = {0};
	struct buf b = BUF_INIT;
	struct err *e;

	if (!state_graph_by_id(st, id, &g))
		return err_cure(err_new(ERR_NOT_FOUND, "there is no graph %u here", id),
			"\"info graphs\" lists them");
	read_history(s, &g, &h);
	e = state_steps(&steps, st, id);
	if (json) {
		print_json(&b, st, &g, &h, &steps);
	} else {
		if (before)
			buf_printf(&b, "As it was before #%" PRIu64 " destroyed it:\n", before);
		print_head(&b, st, &g, &h, steps.ndeps);
		if (!g.nodes && !g.before)
			buf_str(&b, "Its nodes are seen when it is instantiated.\n");
		print_steps(&b, s, st, &steps);
		if (e)
			print_nodes(&b, st, id);
	}
	/* the graph itself is known, but a child of it was replaced since */
	if (e && !g.is_exec && e->code == ERR_BAD_TRACE) {
		err_free(e);
		e = NULL;
		if (!json)
			buf_str(&b,
				"Its child graphs are as they were when it was instantiated; they are not known any more.\n");
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	state_steps_free(&steps);
	return e;
}

struct err *cmd_info_graph(struct session *s, const struct cmd_args *a)
{
	struct state *then = NULL;
	struct state_graph g;
	const struct state *st;
	uint64_t before = 0;
	uint32_t id;
	struct err *e;

	TRY(session_state(s, &st));
	TRY(which(s, a, &id));
	if (!state_graph_by_id(st, id, &g))
		TRY(find_elsewhere(s, id, &then, &before));
	e = show_graph(s, then ? then : st, id, before, a->json);
	state_free(then);
	return e;
}
