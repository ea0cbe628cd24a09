/* SPDX-License-Identifier: Apache-2.0
 *
 * A state as bytes and back. Each table is a list of fields; a row is stored as the differences of
 * its fields from the row before, as zigzag varints, so similar rows take a byte a field. The bytes
 * are a function of what is shown, not of how it was reached: equal states have equal bytes, and
 * state_hash() is their hash. Decoding trusts nothing: a length is checked against the bytes left
 * before memory is taken, and check_*() look at what the rest of the room relies on.
 */
#include <stddef.h>
#include <stdlib.h>
#include <xxhash.h>
#include "base/member.h"
#include "sbt/varint.h"
#include "state/fold/state-private.h"

#define VERSION 4 /* 1 ends before the extras, 2 has no textures, 3 no limits */

/* --- fields --- */

struct field {
	uint16_t off, size;
	uint64_t max;
};

#define MAX_OF(T, m)                                                                               \
	(sizeof(((struct T *)0)->m) == 8                                                           \
			? UINT64_MAX                                                               \
			: (UINT64_C(1) << 8 * (sizeof(((struct T *)0)->m) % 8)) - 1)
#define F(T, m)                                                                                    \
	{                                                                                          \
		offsetof(struct T, m), sizeof(((struct T *)0)->m), MAX_OF(T, m)                    \
	}
#define B(T, m)                                                                                    \
	{                                                                                          \
		offsetof(struct T, m), sizeof(((struct T *)0)->m), 1                               \
	}
#define S(T, m) F(T, m.off), F(T, m.len)
#define END                                                                                        \
	{                                                                                          \
		0, 0, 0                                                                            \
	}

static const struct field totals_fields[] = {F(state, seq), F(state, commands), F(state, launches),
	F(state, copies), F(state, fills), F(state, syncs), F(state, failed), F(state, oddities),
	B(state, timed), END};
static const struct field device_fields[] = {F(device, id), S(device, name), B(device, soft),
	F(device, sm_major), F(device, sm_minor), F(device, total_mem), F(device, sm_count),
	F(device, driver_version), F(device, launches), F(device, copies), F(device, copy_bytes),
	F(device, fills), F(device, fill_bytes), F(device, alloc_count), F(device, alloc_bytes),
	F(device, alloc_peak), END};
static const struct field context_fields[] = {F(context, id), F(context, device),
	F(context, default_stream), B(context, primary), B(context, destroyed), F(context, handle),
	F(context, allocations), F(context, bytes), END};
static const struct field stream_fields[] = {F(stream, id), F(stream, ctx), F(stream, thread),
	B(stream, is_default), B(stream, per_thread), B(stream, destroyed), B(stream, capturing),
	F(stream, handle), F(stream, flags), F(stream, priority), F(stream, submitted),
	F(stream, finished), F(stream, last_submitted), F(stream, done_to), F(stream, old_count),
	F(stream, old_first), F(stream, old_last), F(stream, len), END};
static const struct field old_wait_fields[] = {
	F(old_wait, dep_stream), F(old_wait, seq), F(old_wait, dep_seq), END};
static const struct field entry_fields[] = {F(entry, seq), F(entry, dep_seq), F(entry, dep_stream),
	F(entry, thread), F(entry, ctx), F(entry, stack), F(entry, object), F(entry, kind),
	F(entry, flags), B(entry, begun), F(entry, d[0]), F(entry, d[1]), F(entry, d[2]),
	F(entry, d[3]), F(entry, d[4]), F(entry, d[5]), F(entry, d[6]), F(entry, d[7]),
	F(entry, a[0]), F(entry, a[1]), F(entry, a[2]), END};
static const struct field event_fields[] = {F(event, id), F(event, ctx), F(event, stream),
	B(event, destroyed), F(event, handle), F(event, flags), F(event, record_seq),
	F(event, records), F(event, waits), END};
static const struct field module_fields[] = {F(module, id), F(module, ctx), F(module, handle),
	F(module, code_hash), F(module, code_size), F(module, seq), B(module, is_library),
	B(module, unloaded), S(module, file), F(module, kernels), END};
static const struct field kernel_fields[] = {F(kernel, id), F(kernel, module), S(kernel, name),
	S(kernel, short_name), S(kernel, params), F(kernel, code_hash), F(kernel, regs),
	F(kernel, static_shared), F(kernel, local_mem), F(kernel, max_threads), F(kernel, launches),
	F(kernel, last_launch), END};
static const struct field graph_fields[] = {F(graph, id), F(graph, source), F(graph, handle),
	F(graph, launches), F(graph, last_launch), F(graph, queued), B(graph, is_exec),
	B(graph, destroyed), END};
static const struct field node_fields[] = {
	F(node, node), F(node, kernel), F(node, type), S(node, deps), S(node, payload), END};
/* What version 2 added: behind everything else, a row for each row of the table. */
static const struct field stream_extras[] = {F(stream, capture_seq), F(stream, capture_mode), END};
static const struct field graph_extras[] = {F(graph, made), F(graph, first), F(graph, stream),
	F(graph, mode), F(graph, updates), F(graph, last_update), END};
static const struct field node_extras[] = {F(node, origin), F(node, stack), B(node, disabled), END};
static const struct field thread_fields[] = {F(thread, id), F(thread, os_tid), F(thread, ctx),
	S(thread, name), F(thread, commands), F(thread, wait.seq), F(thread, wait.upto),
	F(thread, wait.ctx), F(thread, wait.stream), END};
static const struct field texture_fields[] = {F(texture, id), F(texture, ctx),
	F(texture, is.new_texture), F(texture, is.handle), F(texture, is.surface),
	F(texture, is.resource), F(texture, is.addr), F(texture, is.size), F(texture, is.format),
	F(texture, is.channels), F(texture, is.width), F(texture, is.height), F(texture, is.depth),
	F(texture, is.array_flags), F(texture, is.pitch), F(texture, is.address_x),
	F(texture, is.address_y), F(texture, is.address_z), F(texture, is.filter),
	F(texture, is.texture_flags), F(texture, is.anisotropy), F(texture, is.border_r),
	F(texture, is.border_g), F(texture, is.border_b), F(texture, is.border_a), END};
static const struct field limit_fields[] = {F(limit, id), F(limit, seq), F(limit, value), END};
static const struct field alloc_fields[] = {F(alloc, addr), F(alloc, size), F(alloc, pitch),
	F(alloc, seq), F(alloc, writer), F(alloc, device), F(alloc, ctx), F(alloc, stack),
	F(alloc, mem), B(alloc, certain), END};

static uint64_t load(const void *row, const struct field *f)
{
	return member_load(row, f->off, f->size);
}

static void store(void *row, const struct field *f, uint64_t v)
{
	char *p = (char *)row + f->off;

	switch (f->size) {
	case 1:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)p = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)p = (uint32_t)v;
		break;
	default:
		*(uint64_t *)p = v;
	}
}

static unsigned count_fields(const struct field *f)
{
	unsigned n = 0;

	while (f[n].size)
		n++;
	return n;
}

/* --- encoding --- */

/* The difference from prev, a row of the same kind; NULL: from nothing. */
static void put_row(struct buf *out, const struct field *f, const void *row, const void *prev)
{
	for (; f->size; f++) {
		uint64_t d = load(row, f) - (prev ? load(prev, f) : 0);

		sbt_put(out, sbt_zigzag(d));
	}
}

static void put_bytes(struct buf *out, const struct vec *v)
{
	sbt_put(out, v->n);
	buf_add(out, v->data, v->n);
}

static void put_table(struct buf *out, const struct field *f, const struct vec *v, size_t row)
{
	const char *p = v->data;

	sbt_put(out, v->n);
	for (size_t i = 0; i < v->n; i++, p += row)
		put_row(out, f, p, i ? p - row : NULL);
}

static void put_queue(struct buf *out, const struct stream *st)
{
	put_table(out, old_wait_fields, &st->old_waits, ROW(old_wait));
	for (uint32_t i = 0; i < st->len; i++)
		put_row(out, entry_fields, ring_at(st, i), i ? ring_at(st, i - 1) : NULL);
}

static void put_allocs(struct buf *out, const struct allocs *t)
{
	const struct alloc *prev = NULL;

	sbt_put(out, t->n);
	for (size_t i = 0; i < t->dir.n; i++) {
		const struct alloc_leaf *l = ((struct alloc_dir *)t->dir.data)[i].leaf;

		for (uint32_t j = 0; j < l->n; prev = &l->a[j++])
			put_row(out, alloc_fields, &l->a[j], prev);
	}
}

static void put_extras(struct buf *out, const struct state *s)
{
	for (size_t i = 0; i < s->streams.n; i++)
		put_row(out, stream_extras, &ROWS(s, streams, stream)[i], NULL);
	for (size_t i = 0; i < s->graphs.n; i++) {
		const struct graph *g = &ROWS(s, graphs, graph)[i];
		const struct node *n = g->nodes.data;

		put_row(out, graph_extras, g, NULL);
		for (size_t j = 0; j < g->nodes.n; j++)
			put_row(out, node_extras, &n[j], j ? &n[j - 1] : NULL);
	}
}

/* Of an attached trace only, so that others stay as they were. A table's rows that were there
 * before: how many, and the differences of their places. */
#define BEFORE_TABLES(X)                                                                           \
	X(contexts, context) X(streams, stream) X(events, event) X(modules, module) X(graphs, graph)
static const struct field attach_fields[] = {F(attach, seq), F(attach, allocations),
	F(attach, bytes), F(attach, missed), F(attach, unknown), F(attach, probed), F(attach, took),
	S(attach, text), END};

static const struct alloc *alloc_at(const struct state *s, size_t i)
{
	return allocs_get(&((struct state *)(uintptr_t)s)->allocs, i);
}

#define PUT_BEFORE(n_rows, is_before)                                                              \
	do {                                                                                       \
		size_t n = 0, last = 0;                                                            \
		for (size_t i = 0; i < (n_rows); i++)                                              \
			n += (is_before);                                                          \
		sbt_put(out, n);                                                                   \
		for (size_t i = 0; i < (n_rows); i++) {                                            \
			if (!(is_before))                                                          \
				continue;                                                          \
			sbt_put(out, i - last);                                                    \
			last = i;                                                                  \
		}                                                                                  \
	} while (0)

static void put_attach(struct buf *out, const struct state *s)
{
	if (!s->attach.seq)
		return;
	put_row(out, attach_fields, &s->attach, NULL);
#define PUT(table, type) PUT_BEFORE(s->table.n, ROWS(s, table, type)[i].before);
	BEFORE_TABLES(PUT)
#undef PUT
	PUT_BEFORE(s->allocs.n, alloc_at(s, i)->before);
}

/* The plain tables in the order of the file. */
/* clang-format off */
#define TABLES(X) X(devices, device) X(contexts, context) X(streams, stream) X(events, event) X(modules, module) \
	X(kernels, kernel) X(graphs, graph) X(threads, thread)
/* clang-format on */

/* The oldest layout that can say it, for older readers. */
static unsigned version_of(const struct state *s)
{
	return s->limits.n ? VERSION : s->textures.n ? 3 : 2;
}

void state_encode(const struct state *s, struct buf *out)
{
	const unsigned version = version_of(s);

	buf_byte(out, (uint8_t)version);
	put_row(out, totals_fields, s, NULL);
	sbt_put(out, strlen(s->oddity));
	buf_str(out, s->oddity);
	put_bytes(out, &s->bytes);
#define PUT(table, type) put_table(out, type##_fields, &s->table, ROW(type));
	TABLES(PUT)
#undef PUT
	for (size_t i = 0; i < s->streams.n; i++)
		put_queue(out, &ROWS(s, streams, stream)[i]);
	for (size_t i = 0; i < s->graphs.n; i++) {
		put_table(out, node_fields, &ROWS(s, graphs, graph)[i].nodes, ROW(node));
		put_bytes(out, &ROWS(s, graphs, graph)[i].bytes);
	}
	put_allocs(out, &s->allocs);
	put_extras(out, s);
	if (version >= 3)
		put_table(out, texture_fields, &s->textures, ROW(texture));
	if (version >= 4)
		put_table(out, limit_fields, &s->limits, ROW(limit));
	put_attach(out, s);
}

uint64_t state_hash(const struct state *s)
{
	struct buf b = BUF_INIT;
	uint64_t h;

	state_encode(s, &b);
	h = XXH64(b.data, b.len, 0);
	buf_free(&b);
	return h;
}

/* --- decoding --- */

static void get_row(struct sbt_in *in, const struct field *f, void *row, const void *prev)
{
	for (; f->size; f++) {
		uint64_t v = sbt_unzigzag(sbt_take(in)) + (prev ? load(prev, f) : 0);

		if (v > f->max)
			in->bad = true;
		else
			store(row, f, v);
	}
}

/* A count of things that take at least each bytes. */
static size_t get_count(struct sbt_in *in, size_t each)
{
	uint64_t n = sbt_take(in);

	if (n > sbt_left(in) / each)
		in->bad = true;
	return in->bad ? 0 : (size_t)n;
}

static void get_bytes(struct sbt_in *in, struct vec *v)
{
	size_t n = get_count(in, 1);

	if (n)
		memcpy(vec_add(v, 1, n), in->p, n);
	in->p += n;
}

static void get_table(struct sbt_in *in, const struct field *f, struct vec *v, size_t row)
{
	size_t n = get_count(in, count_fields(f));
	char *p;

	if (!n)
		return;
	p = vec_add(v, row, n);
	memset(p, 0, n * row);
	for (size_t i = 0; i < n; i++, p += row) {
		get_row(in, f, p, i ? p - row : NULL);
		if (i && *(uint32_t *)p <= *(uint32_t *)(p - row)) /* ids rise */
			in->bad = true;
	}
}

static void get_queue(struct sbt_in *in, struct stream *st)
{
	uint32_t n = st->len;

	st->len = 0;
	get_table(in, old_wait_fields, &st->old_waits, ROW(old_wait));
	if (n > STATE_QUEUE_MAX || n > sbt_left(in) / count_fields(entry_fields))
		in->bad = true;
	for (uint32_t i = 0; i < n && !in->bad; i++) {
		ring_grow(st);
		memset(ring_at(st, i), 0, ROW(entry));
		get_row(in, entry_fields, ring_at(st, i), i ? ring_at(st, i - 1) : NULL);
		st->len++;
	}
}

static void get_allocs(struct sbt_in *in, struct allocs *t)
{
	size_t n = get_count(in, count_fields(alloc_fields));
	struct alloc a, prev = {0};

	for (size_t i = 0; i < n && !in->bad; i++, prev = a) {
		memset(&a, 0, sizeof a);
		get_row(in, alloc_fields, &a, i ? &prev : NULL);
		if (!a.size || a.size > UINT64_MAX - a.addr ||
			(i && a.addr < prev.addr + prev.size))
			in->bad = true;
		else if (!in->bad)
			allocs_insert(t, &a);
	}
}

static void get_extras(struct sbt_in *in, struct state *s)
{
	for (size_t i = 0; i < s->streams.n; i++)
		get_row(in, stream_extras, &ROWS(s, streams, stream)[i], NULL);
	for (size_t i = 0; i < s->graphs.n; i++) {
		struct graph *g = &ROWS(s, graphs, graph)[i];
		struct node *n = g->nodes.data;

		get_row(in, graph_extras, g, NULL);
		for (size_t j = 0; j < g->nodes.n && !in->bad; j++)
			get_row(in, node_extras, &n[j], j ? &n[j - 1] : NULL);
	}
}

/* --- what the rest of the room relies on --- */

static bool bad_str(const struct vec *bytes, struct str t)
{
	if (!t.len)
		return false;
	return t.off >= bytes->n || t.len >= bytes->n - t.off ||
	       ((char *)bytes->data)[t.off + t.len];
}

static bool bad_queue(const struct state *s, const struct stream *st)
{
	uint64_t last = st->done_to;

	if (st->old_count) {
		if (st->old_first > st->old_last || st->done_to >= st->old_last || !st->old_first)
			return true;
		last = st->old_last;
	} else if (st->old_waits.n) {
		return true;
	}
	for (uint32_t i = 0; i < st->len; i++) {
		const struct entry *e = ring_at(st, i);

		if (e->seq <= last || !queue_takes(e->kind) || e->dep_seq >= e->seq)
			return true;
		last = e->seq;
	}
	return last > s->seq || st->old_count > s->seq;
}

static bool bad_graph(const struct graph *g)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = &((struct node *)g->nodes.data)[i];

		if (bad_str(&g->bytes, n->deps) || bad_str(&g->bytes, n->payload))
			return true;
	}
	return false;
}

static bool bad_state(struct state *s)
{
	bool bad = false;

	for (size_t i = 0; i < s->devices.n; i++)
		bad |= bad_str(&s->bytes, ROWS(s, devices, device)[i].name);
	for (size_t i = 0; i < s->modules.n; i++)
		bad |= bad_str(&s->bytes, ROWS(s, modules, module)[i].file);
	for (size_t i = 0; i < s->threads.n; i++)
		bad |= bad_str(&s->bytes, ROWS(s, threads, thread)[i].name);
	for (size_t i = 0; i < s->kernels.n; i++) {
		const struct kernel *k = &ROWS(s, kernels, kernel)[i];

		bad |= bad_str(&s->bytes, k->name) || bad_str(&s->bytes, k->short_name) ||
		       bad_str(&s->bytes, k->params);
	}
	for (size_t i = 0; i < s->streams.n; i++)
		bad |= bad_queue(s, &ROWS(s, streams, stream)[i]);
	for (size_t i = 0; i < s->graphs.n; i++)
		bad |= bad_graph(&ROWS(s, graphs, graph)[i]);
	return bad;
}

#define GET_BEFORE(n_rows, row_before)                                                             \
	do {                                                                                       \
		size_t n = get_count(in, 1), at = 0;                                               \
		for (size_t i = 0; i < n && !in->bad; i++) {                                       \
			uint64_t d = sbt_take(in);                                                 \
			if ((i && !d) || d >= (n_rows)-at)                                         \
				in->bad = true;                                                    \
			else                                                                       \
				row_before(at += (size_t)d) = true;                                \
		}                                                                                  \
	} while (0)

static void get_attach(struct sbt_in *in, struct state *s)
{
	get_row(in, attach_fields, &s->attach, NULL);
	if (!s->attach.seq || bad_str(&s->bytes, s->attach.text))
		in->bad = true;
#define OF_ROW(k) rows[k].before
#define GET(table, type)                                                                           \
	{                                                                                          \
		struct type *const rows = ROWS(s, table, type);                                    \
		GET_BEFORE(s->table.n, OF_ROW);                                                    \
	}
	BEFORE_TABLES(GET)
#undef GET
#undef OF_ROW
#define OF_ALLOC(k) ((struct alloc *)(uintptr_t)alloc_at(s, k))->before
	GET_BEFORE(s->allocs.n, OF_ALLOC);
#undef OF_ALLOC
}

static void get_state(struct sbt_in *in, struct state *s, unsigned version)
{
	size_t n;

	get_row(in, totals_fields, s, NULL);
	n = get_count(in, 1);
	if (n < sizeof s->oddity)
		memcpy(s->oddity, in->p, n);
	else
		in->bad = true;
	in->p += n;
	get_bytes(in, &s->bytes);
#define GET(table, type) get_table(in, type##_fields, &s->table, ROW(type));
	TABLES(GET)
#undef GET
	for (size_t i = 0; i < s->streams.n; i++)
		get_queue(in, &ROWS(s, streams, stream)[i]);
	for (size_t i = 0; i < s->graphs.n; i++) {
		get_table(in, node_fields, &ROWS(s, graphs, graph)[i].nodes, ROW(node));
		get_bytes(in, &ROWS(s, graphs, graph)[i].bytes);
	}
	get_allocs(in, &s->allocs);
	for (size_t i = 0; version < 2 && i < s->graphs.n; i++)
		ROWS(s, graphs, graph)[i].stream = SBT_NO_ID;
	if (version >= 2)
		get_extras(in, s);
	if (version >= 3)
		get_table(in, texture_fields, &s->textures, ROW(texture));
	if (version >= 4)
		get_table(in, limit_fields, &s->limits, ROW(limit));
	if (!in->bad && sbt_left(in))
		get_attach(in, s);
}

struct err *state_decode(struct state **ret, const void *p, size_t n)
{
	struct sbt_in in = {.p = p, .end = (const uint8_t *)p + n};
	struct state *s;

	if (!n || !in.p[0] || in.p[0] > VERSION)
		return err_new(
			ERR_BAD_TRACE, "a keyframe of an unknown layout (%d)", n ? in.p[0] : -1);
	const unsigned version = *in.p++;
	s = state_new();
	get_state(&in, s, version);
	if (!in.bad && (in.p != in.end || bad_state(s)))
		in.bad = true;
	if (in.bad) {
		state_free(s);
		return err_new(ERR_BAD_TRACE, "a keyframe is damaged");
	}
	*ret = s;
	return NULL;
}
