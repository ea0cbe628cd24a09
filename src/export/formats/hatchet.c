/* SPDX-License-Identifier: Apache-2.0
 *
 * A calling context tree as Hatchet's literal: GraphFrame.from_literal(json.load(file)). Each node
 * has its frame, its metrics and its children; kernels, copies and fills are leaves. Times are
 * nanoseconds on the GPU, and are not there if the trace has none.
 */
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "base/json-put.h"
#include "export/core/samples.h"
#include "export/formats/formats.h"

enum { DEPTH_MAX = 512 };
enum metric { TIME, LAUNCHES, BYTES, METRICS };

struct context {
	char *name;
	const char *type;
	uint32_t parent, child, last, next; /* indices; 0: none, the root is 0 */
	uint64_t own[METRICS], all[METRICS];
};
struct contexts {
	struct context *v;
	uint32_t n, cap;
};

static uint32_t add(struct contexts *t, uint32_t parent, struct buf *name, const char *type)
{
	struct context *up;

	MAKE_ROOM(t->v, t->n, t->cap);
	t->v[t->n] = (struct context){.name = buf_steal(name), .type = type, .parent = parent};
	up = &t->v[parent];
	if (up->child)
		t->v[up->last].next = t->n;
	else
		up->child = t->n;
	up->last = t->n;
	return t->n++;
}

static uint32_t descend(struct contexts *t, uint32_t parent, struct buf *name, const char *type)
{
	const char *s = buf_cstr(name);
	uint32_t at = t->v[parent].child;

	while (at && (strcmp(t->v[at].name, s) || strcmp(t->v[at].type, type)))
		at = t->v[at].next;
	if (!at)
		at = add(t, parent, name, type);
	buf_clear(name);
	return at;
}

static void put_sample(struct contexts *t, struct export_job *j, const struct sample *s)
{
	const struct export_stack *st = s->stack;
	const uint64_t own[METRICS] = {s->gpu_ns, s->gpu ? s->count : 0, s->bytes};
	struct buf name = BUF_INIT;
	uint32_t at = 0;

	if (sample_rank(&name, j, s))
		at = descend(t, at, &name, "rank");
	for (unsigned i = 0; st && i < st->n && i < DEPTH_MAX; i++) {
		sample_frame(&name, &st->frames[i]);
		at = descend(t, at, &name, "function");
	}
	buf_str(&name, s->name);
	at = descend(t, at, &name, s->gpu ? "kernel" : "memory");
	for (unsigned m = 0; m < METRICS; m++)
		t->v[at].own[m] = sat_add(t->v[at].own[m], own[m]);
	buf_free(&name);
}

/* Children come behind their parents, so one pass from the end adds all up. */
static void add_up(struct contexts *t)
{
	for (uint32_t i = t->n; i-- > 0;) {
		struct context *c = &t->v[i], *up = &t->v[c->parent];

		for (unsigned m = 0; m < METRICS; m++) {
			c->all[m] = sat_add(c->all[m], c->own[m]);
			if (i)
				up->all[m] = sat_add(up->all[m], c->all[m]);
		}
	}
}

static void open_context(struct export_job *j, const struct context *c, bool timed)
{
	static const char *const names[METRICS] = {"time", "launches", "bytes"};
	struct buf *b = &j->line;
	const char *between = "";

	buf_str(b, "{\"frame\":{\"name\":");
	js_text(b, c->name);
	buf_str(b, ",\"type\":");
	js_text(b, c->type);
	buf_str(b, "},\"metrics\":{");
	for (unsigned m = timed ? TIME : LAUNCHES; m < METRICS; m++) {
		buf_printf(b, "%s\"%s\":", between, names[m]);
		js_u64(b, c->own[m]);
		buf_printf(b, ",\"%s (inc)\":", names[m]);
		js_u64(b, c->all[m]);
		between = ",";
	}
	buf_str(b, "},\"children\":[");
}

/* Writes the tree without recursion: down, to the right, up. */
static struct err *put_tree(struct export_job *j, const struct contexts *t, bool timed)
{
	uint32_t at = t->v[0].child;

	buf_byte(&j->line, '[');
	while (at) {
		open_context(j, &t->v[at], timed);
		TRY(export_flush_some(j));
		if (t->v[at].child) {
			at = t->v[at].child;
			continue;
		}
		buf_str(&j->line, "]}");
		while (at && !t->v[at].next) {
			at = t->v[at].parent;
			if (at)
				buf_str(&j->line, "]}");
		}
		at = t->v[at].next;
		if (at)
			buf_str(&j->line, ",\n");
	}
	buf_str(&j->line, "]\n");
	return NULL;
}

struct err *export_hatchet(struct export_job *j)
{
	struct contexts t = {.n = 0};
	struct samples s;
	struct buf root = BUF_INIT;
	struct err *e = samples_read(&s, j);

	MAKE_ROOM(t.v, t.n, t.cap);
	t.v[t.n++] = (struct context){.name = buf_steal(&root), .type = ""};
	for (uint32_t i = 0; !e && i < s.n; i++)
		put_sample(&t, j, &s.v[i]);
	add_up(&t);
	if (!e)
		e = put_tree(j, &t, s.timed);
	for (uint32_t i = 0; i < t.n; i++)
		free(t.v[i].name);
	free(t.v);
	samples_free(&s);
	return e;
}
