/* SPDX-License-Identifier: Apache-2.0
 *
 * The state as an object: made, cloned, freed, and the frame around every transition. A clone
 * shares every array with its original until one of them writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include "state/fold/transitions.h"

struct state *state_new(void)
{
	return xcalloc(1, sizeof(struct state));
}

static void stream_free(struct stream *st)
{
	vec_free(&st->ring);
	vec_free(&st->old_waits);
}

static void graph_free(struct graph *g)
{
	vec_free(&g->nodes);
	vec_free(&g->bytes);
}

void stream_drop(struct state *s, struct stream *st)
{
	stream_free(st);
	vec_remove(&s->streams, ROW(stream), (size_t)(st - ROWS(s, streams, stream)));
}

void graph_drop(struct state *s, struct graph *g)
{
	graph_free(g);
	vec_remove(&s->graphs, ROW(graph), (size_t)(g - ROWS(s, graphs, graph)));
}

/* Arrays of plain rows; streams and graphs own arrays themselves. */
#define PLAIN(X)                                                                                   \
	X(devices)                                                                                 \
	X(contexts) X(events) X(modules) X(kernels) X(threads) X(textures) X(limits) X(bytes)

struct state *state_clone(const struct state *s)
{
	struct state *c = xmalloc(sizeof *c);

	*c = *s;
	c->worklist = (struct vec){0};
#define SHARE(table) vec_share(&c->table);
	PLAIN(SHARE)
#undef SHARE
	vec_share(&c->streams);
	vec_own(&c->streams, ROW(stream));
	for (size_t i = 0; i < c->streams.n; i++) {
		vec_share(&ROWS(c, streams, stream)[i].ring);
		vec_share(&ROWS(c, streams, stream)[i].old_waits);
	}
	vec_share(&c->graphs);
	vec_own(&c->graphs, ROW(graph));
	for (size_t i = 0; i < c->graphs.n; i++) {
		vec_share(&ROWS(c, graphs, graph)[i].nodes);
		vec_share(&ROWS(c, graphs, graph)[i].bytes);
	}
	allocs_share(&c->allocs);
	return c;
}

void state_free(struct state *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->streams.n; i++)
		stream_free(&ROWS(s, streams, stream)[i]);
	vec_free(&s->streams);
	for (size_t i = 0; i < s->graphs.n; i++)
		graph_free(&ROWS(s, graphs, graph)[i]);
	vec_free(&s->graphs);
#define FREE(table) vec_free(&s->table);
	PLAIN(FREE)
#undef FREE
	vec_free(&s->worklist);
	allocs_free(&s->allocs);
	free(s);
}

size_t state_bytes(const struct state *s)
{
	size_t n = sizeof *s + allocs_bytes(&s->allocs) + vec_bytes(&s->streams) +
		   vec_bytes(&s->graphs);

#define BYTES(table) n += vec_bytes(&s->table);
	PLAIN(BYTES)
#undef BYTES
	for (size_t i = 0; i < s->streams.n; i++)
		n += vec_bytes(&ROWS(s, streams, stream)[i].ring) +
		     vec_bytes(&ROWS(s, streams, stream)[i].old_waits);
	for (size_t i = 0; i < s->graphs.n; i++)
		n += vec_bytes(&ROWS(s, graphs, graph)[i].nodes) +
		     vec_bytes(&ROWS(s, graphs, graph)[i].bytes);
	return n;
}

uint64_t state_keyframe_every(const struct state *s)
{
	uint64_t rows = s->allocs.n + s->events.n + s->kernels.n + s->streams.n + s->graphs.n;

	for (size_t i = 0; i < s->streams.n; i++)
		rows += ROWS(s, streams, stream)[i].len;
	for (size_t i = 0; i < s->graphs.n; i++)
		rows += ROWS(s, graphs, graph)[i].nodes.n;
	return STATE_KEYFRAME_EVERY + rows * 4;
}

struct str str_put(struct vec *bytes, const void *p, uint64_t n)
{
	struct str t = {.off = (uint32_t)bytes->n, .len = (uint32_t)n};
	char *dst;

	if (n >= UINT32_MAX - bytes->n)
		return (struct str){0}; /* 4 GiB of names: the rest have none */
	dst = vec_add(bytes, 1, n + 1);
	if (n)
		memcpy(dst, p, n);
	dst[n] = 0;
	return t;
}

void oddity(struct state *s, const char *fmt, ...)
{
	va_list ap;

	memset(s->oddity, 0, sizeof s->oddity);
	va_start(ap, fmt);
	vsnprintf(s->oddity, sizeof s->oddity, fmt, ap);
	va_end(ap);
	s->oddities++;
}

/* The thread's row; its current context is the command's. */
static struct thread *enter_thread(struct state *s, const struct sbt_cmd *c)
{
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	if (!t) {
		t = table_insert(&s->threads, ROW(thread), c->thread);
		t->ctx = SBT_NO_ID;
	}
	t->commands++;
	if (c->ctx != SBT_NO_ID)
		t->ctx = c->ctx;
	return t;
}

/* The transition of a kind need not know what it writes; on_launch() and on_graph_launch() do what
 * the record does not tell. A window records what an unreplayable call changed. */
static void note_writes(struct state *s, const struct sbt_cmd *c)
{
	struct sbt_footprint f;

	if (!s->allocs.n)
		return;
	sbt_footprint(&f, c);
	wrote_touches(s, c->seq, &f);
	if (f.does & SBT_DOES_UNKNOWN && f.does & (SBT_WRITES | SBT_UPDATES))
		allocs_doubt(&s->allocs, c->seq);
}

struct err *state_apply(struct state *s, const struct sbt_cmd *c)
{
	struct thread *t;

	TRY(state_check(c));
	if (c->seq <= s->seq)
		return err_new(ERR_BAD_TRACE, "command #%llu comes after #%llu",
			(unsigned long long)c->seq, (unsigned long long)s->seq);
	s->seq = c->seq;
	s->commands++;
	t = enter_thread(s, c);
	if (c->kind == SBT_SYNC_END)
		t->wait.seq = c->result ? 0 : t->wait.seq;
	if (c->result && !(c->kind == SBT_QUERY && c->result == STATE_NOT_READY)) {
		s->failed++;
		return NULL;
	}
	transition(s, c);
	note_writes(s, c);
	return NULL;
}
