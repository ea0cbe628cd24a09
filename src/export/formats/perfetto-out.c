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

uint64_t perfetto_pid(const struct perfetto *p)
{
	const struct export_ask *ask = p->j->ask;
	const uint32_t own = p->j->meta->pid;

	if (!ask->compared || !p->source || own != sbt_reader_meta(ask->sources[0].r)->pid)
		return own;
	return own ? own - 1 : 1;
}

/* What the process is called. */
static void put_program(struct perfetto *p, struct pb *w)
{
	char *name = p->j->ask->compared
			     ? xasprintf("%c: %s", p->source ? 'B' : 'A', p->j->meta->program)
			     : NULL;

	pb_text(w, 6, name ? name : p->j->meta->program);
	free(name);
}

static void put_clocks(struct perfetto *p)
{
	static const unsigned clocks[] = {CLOCK_REAL, CLOCK_BOOT};
	struct perfetto_packet k = perfetto_open(p, 0, PB_BELOW_128);
	size_t all = pb_open(&k.w, PACKET_CLOCKS, PB_BELOW_128), clock;

	for (unsigned i = 0; i < 2; i++) {
		clock = pb_open(&k.w, 1, PB_BELOW_128);
		pb_u64(&k.w, 1, clocks[i]);
		pb_u64(&k.w, 2, p->j->meta->start_ns);
		pb_close(&k.w, clock, PB_BELOW_128);
	}
	pb_u64(&k.w, 2, CLOCK_REAL);
	pb_close(&k.w, all, PB_BELOW_128);
	all = pb_open(&k.w, PACKET_DEFAULTS, PB_BELOW_128);
	pb_u64(&k.w, PACKET_CLOCK, CLOCK_REAL);
	pb_close(&k.w, all, PB_BELOW_128);
	perfetto_close(p, &k);
}

void perfetto_begin(struct perfetto *p)
{
	struct perfetto_packet k;
	size_t track, process;

	put_clocks(p);
	k = perfetto_open(p, 0, PB_BELOW_128);
	track = pb_open(&k.w, PACKET_TRACK, PB_BELOW_128);
	pb_u64(&k.w, TRACK_UUID, perfetto_track(p, TRACK_OF_PROCESS, 0));
	process = pb_open(&k.w, TRACK_PROCESS, PB_BELOW_128);
	pb_u64(&k.w, 1, perfetto_pid(p));
	put_program(p, &k.w);
	pb_close(&k.w, process, PB_BELOW_128);
	pb_close(&k.w, track, PB_BELOW_128);
	perfetto_close(p, &k);
}

void perfetto_thread(struct perfetto *p, uint32_t thread)
{
	char name[32];
	struct perfetto_packet k;
	size_t track, about;

	if (!id_is_new(&p->threads, thread))
		return;
	snprintf(name, sizeof name, "host thread %u", thread);
	k = perfetto_open(p, 0, PB_BELOW_128);
	track = pb_open(&k.w, PACKET_TRACK, PB_BELOW_128);
	pb_u64(&k.w, TRACK_UUID, perfetto_track(p, TRACK_OF_THREAD, thread));
	pb_u64(&k.w, TRACK_PARENT, perfetto_track(p, TRACK_OF_PROCESS, 0));
	about = pb_open(&k.w, TRACK_THREAD, PB_BELOW_128);
	pb_u64(&k.w, 1, perfetto_pid(p));
	pb_u64(&k.w, 2, export_os_tid(p->j, thread));
	pb_text(&k.w, 5, name);
	pb_close(&k.w, about, PB_BELOW_128);
	pb_close(&k.w, track, PB_BELOW_128);
	perfetto_close(p, &k);
}

static struct perfetto_packet open_track(
	struct perfetto *p, uint64_t track, const char *name, size_t *ret)
{
	struct perfetto_packet k = perfetto_open(p, 0, PB_BELOW_128);

	*ret = pb_open(&k.w, PACKET_TRACK, PB_BELOW_128);
	pb_u64(&k.w, TRACK_UUID, track);
	pb_text(&k.w, TRACK_NAME, name);
	pb_u64(&k.w, TRACK_PARENT, perfetto_track(p, TRACK_OF_PROCESS, 0));
	return k;
}

void perfetto_name_track(struct perfetto *p, uint64_t track, const char *name)
{
	size_t at;
	struct perfetto_packet k = open_track(p, track, name, &at);

	pb_close(&k.w, at, PB_BELOW_128);
	perfetto_close(p, &k);
}

void perfetto_name_counter(
	struct perfetto *p, uint64_t track, const char *name, enum perfetto_unit unit)
{
	size_t at, counter;
	struct perfetto_packet k = open_track(p, track, name, &at);

	counter = pb_open(&k.w, TRACK_COUNTER, PB_BELOW_128);
	if (unit)
		pb_u64(&k.w, COUNTER_UNIT, unit);
	pb_close(&k.w, counter, PB_BELOW_128);
	pb_close(&k.w, at, PB_BELOW_128);
	perfetto_close(p, &k);
}

/* --- what is written once and referred to --- */

/* Begins what is introduced in the interned field; intern_end() ends it. */
static struct pb intern_begin(struct perfetto *p, unsigned field, uint64_t iid, size_t *ret)
{
	struct pb w = pb_begin(&p->interned);

	*ret = pb_open(&w, field, PB_BELOW_128);
	pb_u64(&w, 1, iid);
	return w;
}

static void intern_end(struct pb *w, size_t at)
{
	pb_close(w, at, PB_BELOW_128);
	pb_end(w);
}

/* The number of a text in the interned field. */
static uint64_t intern_text(
	struct perfetto *p, struct perfetto_texts *t, unsigned field, const char *s)
{
	const uint32_t n = text_number(&t->table, s);
	struct pb w;
	size_t at;

	if (n >= t->told) {
		t->told = n + 1;
		w = intern_begin(p, field, n + 1, &at);
		pb_text(&w, 2, s);
		intern_end(&w, at);
	}
	return n + 1;
}

uint64_t perfetto_name(struct perfetto *p, const char *s)
{
	return intern_text(p, &p->names, INTERN_NAME, s);
}

/* An event's name in full, for what has no numbers of names. */
const struct perfetto_plain *perfetto_plain(struct perfetto *p, const char *name)
{
	const uint32_t n = text_number(&p->names.table, name);
	struct perfetto_plain *is;
	char *safe;

	if (n >= p->nplain) {
		p->plain = xrealloc(p->plain, (2 * n + 16) * sizeof *p->plain);
		memset(p->plain + p->nplain, 0, (2 * n + 16 - p->nplain) * sizeof *p->plain);
		p->nplain = 2 * n + 16;
	}
	is = &p->plain[n];
	if (!is->text) {
		safe = text_safe_dup(name, strlen(name));
		*is = (struct perfetto_plain){symbols_keep(p->j->ask->symbols, safe), strlen(safe)};
		free(safe);
	}
	return is;
}

uint64_t perfetto_category(struct perfetto *p, const char *s)
{
	return intern_text(p, &p->categories, INTERN_CATEGORY, s);
}

static uint64_t intern_frame(struct perfetto *p, uint32_t n)
{
	const struct table_frame f = p->frames.v[n];
	uint64_t function, source;
	struct pb w;
	size_t at;

	if (n < p->frames_told)
		return n + 1;
	p->frames_told = n + 1;
	function = intern_text(p, &p->functions, INTERN_FUNCTION, f.name);
	source = f.file ? intern_text(p, &p->sources, INTERN_SOURCE, f.file) : 0;
	w = intern_begin(p, INTERN_FRAME, n + 1, &at);
	pb_u64(&w, 2, function);
	if (source)
		pb_u64(&w, 5, source);
	if (f.line)
		pb_u64(&w, 6, f.line);
	intern_end(&w, at);
	return n + 1;
}

/* Introduces the frames first: the stack is written in one go. */
static void intern_stack(struct perfetto *p, uint32_t id, const struct export_stack *st)
{
	struct pb w;
	size_t at;

	for (unsigned i = 0; i < st->n; i++)
		intern_frame(p, frame_number(&p->frames, &st->frames[i]));
	w = intern_begin(p, INTERN_STACK, id, &at);
	/* not packed: Perfetto's own decoder takes repeated numbers as they are declared */
	for (unsigned i = 0; i < st->n; i++)
		pb_u64(&w, 2, frame_number(&p->frames, &st->frames[i]) + UINT64_C(1));
	intern_end(&w, at);
}

uint64_t perfetto_stack(struct perfetto *p, uint32_t id)
{
	const struct export_stack *st = export_stack(p->j, id);

	if (st && id_is_new(&p->stacks, id))
		intern_stack(p, id, st);
	return st && id < MARKS_MAX ? id : 0;
}

static void spec(struct perfetto *p, uint64_t iid, const char *name, unsigned category)
{
	size_t at;
	struct pb w = intern_begin(p, INTERN_SPEC, iid, &at);

	pb_text(&w, 2, name);
	pb_u64(&w, 4, category);
	intern_end(&w, at);
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
	size_t at;

	while (p->contexts_told < iid) {
		struct pb w = intern_begin(p, INTERN_CONTEXT, ++p->contexts_told, &at);

		pb_u64(&w, 2, perfetto_pid(p));
		pb_u64(&w, 3, API_CUDA);
		intern_end(&w, at);
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
	free(p->plain);
	free(p->pair_tracks.at);
	text_table_free(&p->functions.table);
	text_table_free(&p->sources.table);
	text_table_free(&p->names.table);
	text_table_free(&p->categories.table);
	frame_table_free(&p->frames);
	buf_free(&p->interned);
}
