/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of Perfetto's format, see perfetto-out.h. All are one sequence, whose first packet clears
 * what was interned; a packet that refers to interned data says so, or readers drop it.
 */
#include "export/formats/perfetto-out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };

void perfetto_packet(struct perfetto *p, uint64_t time)
{
	struct buf *b = &p->packet;

	if (time)
		pb_u64(b, PACKET_TIME, time);
	pb_u64(b, PACKET_SEQUENCE, p->source + 1);
	pb_u64(b, PACKET_FLAGS, p->begun ? FLAG_NEEDS : FLAG_CLEARED | FLAG_NEEDS);
	if (p->interned.len)
		pb_message(b, PACKET_INTERNED, &p->interned);
	p->begun = true;
	pb_message(&p->j->line, TRACE_PACKET, b);
}

uint64_t perfetto_track(const struct perfetto *p, enum perfetto_track what, uint32_t id)
{
	return (uint64_t)p->source << 36 | (uint64_t)what << 32 | id;
}

uint64_t perfetto_pid(const struct perfetto *p)
{
	const struct export_ask *ask = p->j->ask;
	const uint32_t own = p->j->meta->pid;

	if (!ask->compared || !p->source || own != sbt_reader_meta(ask->sources[0].r)->pid)
		return own;
	return own ? own - 1 : 1;
}

/* What the process is called. */
static void put_program(struct perfetto *p)
{
	char *name = p->j->ask->compared
			     ? xasprintf("%c: %s", p->source ? 'B' : 'A', p->j->meta->program)
			     : NULL;

	pb_text(&p->n, 6, name ? name : p->j->meta->program);
	free(name);
}

void perfetto_begin(struct perfetto *p)
{
	static const unsigned clocks[] = {CLOCK_REAL, CLOCK_BOOT};

	for (unsigned i = 0; i < 2; i++) {
		pb_u64(&p->n, 1, clocks[i]);
		pb_u64(&p->n, 2, p->j->meta->start_ns);
		pb_message(&p->m, 1, &p->n);
	}
	pb_u64(&p->m, 2, CLOCK_REAL);
	pb_message(&p->packet, PACKET_CLOCKS, &p->m);
	pb_u64(&p->m, PACKET_CLOCK, CLOCK_REAL);
	pb_message(&p->packet, PACKET_DEFAULTS, &p->m);
	perfetto_packet(p, 0);
	pb_u64(&p->m, TRACK_UUID, perfetto_track(p, TRACK_OF_PROCESS, 0));
	pb_u64(&p->n, 1, perfetto_pid(p));
	put_program(p);
	pb_message(&p->m, TRACK_PROCESS, &p->n);
	pb_message(&p->packet, PACKET_TRACK, &p->m);
	perfetto_packet(p, 0);
}

void perfetto_thread(struct perfetto *p, uint32_t thread)
{
	char name[32];

	if (!id_is_new(&p->threads, thread))
		return;
	snprintf(name, sizeof name, "host thread %u", thread);
	pb_u64(&p->m, TRACK_UUID, perfetto_track(p, TRACK_OF_THREAD, thread));
	pb_u64(&p->m, TRACK_PARENT, perfetto_track(p, TRACK_OF_PROCESS, 0));
	pb_u64(&p->n, 1, perfetto_pid(p));
	pb_u64(&p->n, 2, export_os_tid(p->j, thread));
	pb_text(&p->n, 5, name);
	pb_message(&p->m, TRACK_THREAD, &p->n);
	pb_message(&p->packet, PACKET_TRACK, &p->m);
	perfetto_packet(p, 0);
}

/* --- what is written once and referred to --- */

/* The number of a text in the interned field; uses p->n. */
static uint64_t intern_text(
	struct perfetto *p, struct perfetto_texts *t, unsigned field, const char *s)
{
	const uint32_t n = text_number(&t->table, s);

	if (n >= t->told) {
		t->told = n + 1;
		pb_u64(&p->n, 1, n + 1);
		pb_text(&p->n, 2, s);
		pb_message(&p->interned, field, &p->n);
	}
	return n + 1;
}

uint64_t perfetto_name(struct perfetto *p, const char *s)
{
	return intern_text(p, &p->names, INTERN_NAME, s);
}

uint64_t perfetto_category(struct perfetto *p, const char *s)
{
	return intern_text(p, &p->categories, INTERN_CATEGORY, s);
}

static uint64_t intern_frame(struct perfetto *p, uint32_t n)
{
	const struct table_frame f = p->frames.v[n];
	uint64_t function, source;

	if (n < p->frames_told)
		return n + 1;
	p->frames_told = n + 1;
	function = intern_text(p, &p->functions, INTERN_FUNCTION, f.name);
	source = f.file ? intern_text(p, &p->sources, INTERN_SOURCE, f.file) : 0;
	pb_u64(&p->n, 1, n + 1);
	pb_u64(&p->n, 2, function);
	if (source)
		pb_u64(&p->n, 5, source);
	if (f.line)
		pb_u64(&p->n, 6, f.line);
	pb_message(&p->interned, INTERN_FRAME, &p->n);
	return n + 1;
}

uint64_t perfetto_stack(struct perfetto *p, uint32_t id)
{
	const struct export_stack *st = export_stack(p->j, id);

	if (!st || !id_is_new(&p->stacks, id))
		return st && id < MARKS_MAX ? id : 0;
	pb_u64(&p->m, 1, id);
	/* not packed: Perfetto's own decoder takes repeated numbers as they are declared */
	for (unsigned i = 0; i < st->n; i++)
		pb_u64(&p->m, 2, intern_frame(p, frame_number(&p->frames, &st->frames[i])));
	pb_message(&p->interned, INTERN_STACK, &p->m);
	return id;
}

static void spec(struct perfetto *p, uint64_t iid, const char *name, unsigned category)
{
	pb_u64(&p->m, 1, iid);
	pb_text(&p->m, 2, name);
	pb_u64(&p->m, 4, category);
	pb_message(&p->interned, INTERN_SPEC, &p->m);
}

/* Stages are numbered from 1, streams' lanes from 100. */
uint64_t perfetto_stage(struct perfetto *p, enum export_what what)
{
	static const char *const names[] = {"kernel", "graph", "copy", "fill"};

	if (!p->stages_told[what])
		spec(p, what + 1, names[what],
			what <= EXPORT_GRAPH ? CATEGORY_COMPUTE : CATEGORY_OTHER);
	p->stages_told[what] = true;
	return what + 1;
}

uint64_t perfetto_lane(struct perfetto *p, uint32_t stream)
{
	char name[32];

	if (id_is_new(&p->lanes, stream)) {
		snprintf(name, sizeof name, "stream %u", stream);
		spec(p, UINT64_C(100) + stream, name, CATEGORY_COMPUTE);
	}
	return UINT64_C(100) + stream;
}

uint64_t perfetto_context(struct perfetto *p, uint32_t ctx)
{
	const uint64_t iid = ctx >= MARKS_MAX ? 1 : (uint64_t)ctx + 1;

	while (p->contexts_told < iid) {
		pb_u64(&p->m, 1, ++p->contexts_told);
		pb_u64(&p->m, 2, perfetto_pid(p));
		pb_u64(&p->m, 3, API_CUDA);
		pb_message(&p->interned, INTERN_CONTEXT, &p->m);
	}
	return iid;
}

void perfetto_free(struct perfetto *p)
{
	free(p->stacks.at);
	free(p->threads.at);
	free(p->lanes.at);
	free(p->race_tracks.at);
	free(p->ends);
	free(p->paired);
	free(p->pair_tracks.at);
	text_table_free(&p->functions.table);
	text_table_free(&p->sources.table);
	text_table_free(&p->names.table);
	text_table_free(&p->categories.table);
	frame_table_free(&p->frames);
	buf_free(&p->packet);
	buf_free(&p->m);
	buf_free(&p->n);
	buf_free(&p->o);
	buf_free(&p->interned);
}
