/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait-for graph, and what two looks show of what runs, as JSON: see why-text.h.
 */
#include "shell/live/why-text.h"

#include <inttypes.h>
#include "base/json-put.h"

static const char *end_name(uint64_t v)
{
	static const char *const names[] = {"unknown", "comes", "outside", "never"};

	return v < sizeof names / sizeof *names ? names[v] : "unknown";
}

static const char *moved_name(uint64_t v)
{
	static const char *const names[] = {"unknown", "moves", "still"};

	return v < sizeof names / sizeof *names ? names[v] : "unknown";
}

JS_DEFINE(waiting_object, "waiting", why_node,
	{"kind", JS_NAMED, JS_MEMBER(why_node, kind), .named = why_kind_name},
	JS(UINT, why_node, pid, id, for_ns), JS(TEXT, why_node, name, does, where, because),
	{"end_is", JS_NAMED, JS_MEMBER(why_node, end), .named = end_name},
	{"moved", JS_NAMED, JS_MEMBER(why_node, moved), .named = moved_name},
	JS(TEXT, why_node, moved_by), JS_AS("any_of", BOOL, why_node, any),
	JS(BOOL, why_node, root, stuck));

JS_DEFINE(wait_object, "wait", why_edge, JS_AS("waiter", UINT, why_edge, from),
	JS_AS("waits_for", UINT, why_edge, to), JS_AS("how", TEXT, why_edge, what),
	{"known_by", JS_NAMED, JS_MEMBER(why_edge, known), .named = why_known_name});

struct why_in_json {
	const struct why *w;
	const struct why_answer *a;
	uint64_t answer, still_ns, apart_ms;
	uint32_t leaf;
	const char *cure;
};

static void put_nodes(struct buf *out, const void *member)
{
	const struct why *w = *(const struct why *const *)member;

	buf_byte(out, '[');
	for (uint32_t i = 0; why_at(w, i); i++)
		js_add(out, &waiting_object, why_at(w, i));
	buf_byte(out, ']');
}

static void put_edges(struct buf *out, const void *member)
{
	const struct why *w = *(const struct why *const *)member;

	buf_byte(out, '[');
	for (uint32_t i = 0; why_edge_at(w, i); i++)
		js_add(out, &wait_object, why_edge_at(w, i));
	buf_byte(out, ']');
}

static void put_notes(struct buf *out, const void *member)
{
	const struct why *w = *(const struct why *const *)member;

	buf_byte(out, '[');
	for (unsigned i = 0; why_note_at(w, i); i++) {
		buf_str(out, i ? "," : "");
		js_text(out, why_note_at(w, i));
	}
	buf_byte(out, ']');
}

static void put_cycle(struct buf *out, const void *member)
{
	const struct why_answer *a = *(const struct why_answer *const *)member;

	buf_byte(out, '[');
	for (unsigned i = 0; i < a->ncycle; i++)
		buf_printf(out, "%s%" PRIu32, i ? "," : "", a->cycle[i]);
	buf_byte(out, ']');
}

static void put_path(struct buf *out, const void *member)
{
	const struct why_answer *a = *(const struct why_answer *const *)member;

	buf_byte(out, '[');
	for (unsigned i = 0; i < a->npath; i++)
		buf_printf(out, "%s%" PRIu32, i ? "," : "", a->path[i]);
	buf_byte(out, ']');
}

JS_DEFINE(why_object, "why", why_in_json,
	{"answer", JS_NAMED, JS_MEMBER(why_in_json, answer), .named = why_verdict_name},
	JS(UINT, why_in_json, still_ns, apart_ms),
	JS_BY("waiting_list", why_in_json, w, put_nodes, "[waiting]"),
	JS_BY("wait_list", why_in_json, w, put_edges, "[wait]"),
	JS_BY("cycle", why_in_json, a, put_cycle, "[number]"),
	JS_BY("chain", why_in_json, a, put_path, "[number]"), JS(ID, why_in_json, leaf),
	JS(TEXT, why_in_json, cure), JS_BY("notes", why_in_json, w, put_notes, "[text]"));

void why_json(struct buf *out, const struct why *w, const struct why_answer *a)
{
	const struct why_progress *p = why_get_progress(w);
	const struct why_in_json j = {.w = w,
		.a = a,
		.answer = a->verdict,
		.still_ns = p->still_ns,
		.apart_ms = p->apart_ms,
		.leaf = a->leaf,
		.cure = a->cure};

	js_put(out, &why_object, &j);
}

struct progress_in_json {
	const struct why *w;
	uint64_t still_ns, apart_ms, finished_between, pending;
	bool looked;
};

static void put_running(struct buf *out, const void *member)
{
	const struct why *w = *(const struct why *const *)member;

	buf_byte(out, '[');
	for (uint32_t i = 0; why_at(w, i); i++)
		if (progress_lists(why_at(w, i)))
			js_add(out, &waiting_object, why_at(w, i));
	buf_byte(out, ']');
}

JS_DEFINE(progress_object, "progress", progress_in_json,
	JS(UINT, progress_in_json, still_ns, apart_ms, finished_between, pending),
	JS(BOOL, progress_in_json, looked),
	JS_BY("running_list", progress_in_json, w, put_running, "[waiting]"));

void progress_json(struct buf *out, const struct why *w)
{
	const struct why_progress *p = why_get_progress(w);
	const struct progress_in_json j = {.w = w,
		.still_ns = p->still_ns,
		.apart_ms = p->apart_ms,
		.finished_between = p->between,
		.pending = p->pending,
		.looked = p->looked};

	js_put(out, &progress_object, &j);
}
