/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer, see sbt.h. It gathers commands, stacks, modules and times, and a flush turns each
 * kind into one chunk. The surprise: order within a flush. What commands refer to goes first
 * (modules, stacks), so that a file cut anywhere has no command whose stack came later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>

#include "sbt/writer/writer.h"

#define CHUNK_COMMANDS 16384
#define CHUNK_BYTES (1u << 20) /* before compression */
#define CHUNK_TIMES 16384
#define PENDING_TIMES (4 * CHUNK_TIMES)

struct time_entry {
	uint64_t seq, start, end;
};

struct call {
	char *name;
	uint64_t n;
};

struct sbt_writer {
	struct sbt_out out;
	struct sbt_encoder *commands;
	uint64_t count, since_keyframe, last_seq, dropped;
	struct buf modules;
	uint32_t modules_first, nmodules; /* defined so far; those from modules_first on wait */
	struct buf places;
	uint32_t places_first, nplaces;
	struct buf symbols;
	uint32_t nsymbols; /* in the buffer */
	uint64_t symbols_last;
	struct buf stacks;
	uint32_t nstacks, stack_min, stack_max, stack_last;
	uint64_t nframes;
	struct sbt_frame *frames; /* the last stack that was put, outermost first */
	unsigned frames_n;
	struct time_entry *times;
	size_t ntimes, cap_times;
	struct call *calls;
	size_t ncalls;
	bool calls_changed;
	struct buf losses; /* pairs (seq, n) that wait */
	uint32_t nlosses;
	uint64_t *hashes; /* codes in the file */
	size_t nhashes;
	struct buf scratch;
	struct sbt_memory_out *memory;
};

struct sbt_memory_out **sbt_writer_memory_out(struct sbt_writer *w)
{
	return &w->memory;
}

struct sbt_out *sbt_writer_out(struct sbt_writer *w)
{
	return &w->out;
}

/* --- meta --- */

static void put_string(struct buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	sbt_put(b, n);
	buf_add(b, s, n);
}

static uint32_t put_text(struct buf *b, const char *key, const char *value)
{
	put_string(b, key);
	put_string(b, value);
	return 1;
}

static uint32_t put_number(struct buf *b, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return put_text(b, key, text);
}

struct err *sbt_writer_meta(struct sbt_writer *w, const struct sbt_meta *m)
{
	struct buf b = BUF_INIT;
	uint32_t n = 0;
	struct err *e;

	n += put_text(&b, "program", m->program);
	n += put_text(&b, "cwd", m->cwd);
	n += put_text(&b, "host", m->host);
	n += put_text(&b, "gpu", m->gpu);
	if (m->vendor && *m->vendor)
		n += put_text(&b, "vendor", m->vendor);
	if (m->target && *m->target)
		n += put_text(&b, "target", m->target);
	n += put_text(&b, "tsdb", m->tsdb);
	n += put_number(&b, "start_ns", m->start_ns);
	n += put_number(&b, "pid", m->pid);
	n += put_number(&b, "driver_version", m->driver_version);
	n += put_number(&b, "soft", m->soft);
	n += put_number(&b, "stacks", m->stacks);
	n += put_number(&b, "timestamps", m->timestamps);
	if (m->rank)
		n += put_number(&b, "rank", m->rank - 1);
	if (m->ranks)
		n += put_number(&b, "ranks", m->ranks - 1);
	if (m->observed)
		n += put_number(&b, "observed", 1);
	e = sbt_out_chunk(&w->out, SBT_CHUNK_META, 0, 0, n, b.data, b.len);
	buf_free(&b);
	return e;
}

/* --- open --- */

static void writer_free(struct sbt_writer *w)
{
	sbt_encoder_destroy(w->commands);
	sbt_memory_out_free(w->memory);
	buf_free(&w->modules);
	buf_free(&w->stacks);
	buf_free(&w->places);
	buf_free(&w->symbols);
	buf_free(&w->losses);
	buf_free(&w->scratch);
	for (size_t i = 0; i < w->ncalls; i++)
		free(w->calls[i].name);
	free(w->calls);
	free(w->frames);
	free(w->times);
	free(w->hashes);
	free(w);
}

struct err *sbt_writer_open(struct sbt_writer **ret, const char *path, const struct sbt_meta *meta)
{
	struct sbt_writer *w = xcalloc(1, sizeof *w);
	struct err *e = sbt_out_open(&w->out, path);

	if (e) {
		free(w);
		return e;
	}
	w->commands = sbt_encoder_create();
	e = sbt_writer_meta(w, meta);
	if (e) {
		err_free(sbt_out_close(&w->out));
		writer_free(w);
		return e;
	}
	*ret = w;
	return NULL;
}

/* --- flushing one kind --- */

static struct err *flush_modules(struct sbt_writer *w)
{
	struct err *e;

	if (w->nmodules == w->modules_first)
		return NULL;
	e = sbt_out_chunk(&w->out, SBT_CHUNK_MODULES, w->modules_first, w->nmodules - 1,
		w->nmodules - w->modules_first, w->modules.data, w->modules.len);
	buf_clear(&w->modules);
	w->modules_first = w->nmodules;
	return e;
}

static struct err *flush_places(struct sbt_writer *w)
{
	struct err *e;

	if (w->nplaces == w->places_first)
		return NULL;
	e = sbt_out_chunk(&w->out, SBT_CHUNK_PLACES, w->places_first, w->nplaces - 1,
		w->nplaces - w->places_first, w->places.data, w->places.len);
	buf_clear(&w->places);
	w->places_first = w->nplaces;
	return e;
}

static struct err *flush_symbols(struct sbt_writer *w)
{
	struct err *e;

	if (!w->nsymbols)
		return NULL;
	e = sbt_out_chunk(
		&w->out, SBT_CHUNK_SYMBOLS, 0, 0, w->nsymbols, w->symbols.data, w->symbols.len);
	buf_clear(&w->symbols);
	w->nsymbols = 0;
	w->symbols_last = 0;
	return e;
}

static struct err *flush_stacks(struct sbt_writer *w)
{
	struct err *e;

	TRY(flush_places(w));
	TRY(flush_symbols(w));
	if (!w->nstacks)
		return NULL;
	e = sbt_out_chunk(&w->out, SBT_CHUNK_STACKS, w->stack_min, w->stack_max, w->nstacks,
		w->stacks.data, w->stacks.len);
	buf_clear(&w->stacks);
	w->nstacks = w->stack_last = 0;
	w->frames_n = 0;
	w->nframes = 0;
	return e;
}

static struct err *flush_commands(struct sbt_writer *w)
{
	uint64_t first = sbt_encoder_first(w->commands), last = sbt_encoder_last(w->commands);
	uint32_t n = sbt_encoder_count(w->commands);

	if (!n)
		return NULL;
	TRY(flush_modules(w));
	TRY(flush_stacks(w));
	buf_clear(&w->scratch);
	sbt_encoder_finish(w->commands, &w->scratch);
	return sbt_out_chunk(
		&w->out, SBT_CHUNK_COMMANDS, first, last, n, w->scratch.data, w->scratch.len);
}

static int by_seq(const void *a, const void *b)
{
	const struct time_entry *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Columns: seq, start against the end before, duration. */
static struct err *write_times(struct sbt_writer *w, const struct time_entry *t, size_t n)
{
	struct buf seqs = BUF_INIT, starts = BUF_INIT, lengths = BUF_INIT, *b = &w->scratch;
	uint64_t seq = t[0].seq, end = 0;
	struct err *e;

	for (size_t i = 0; i < n; i++) {
		sbt_put(&seqs, t[i].seq - seq);
		sbt_put_delta(&starts, t[i].start, end);
		sbt_put_delta(&lengths, t[i].end, t[i].start);
		seq = t[i].seq;
		end = t[i].end;
	}
	buf_clear(b);
	sbt_put(b, n);
	sbt_put(b, t[0].seq);
	sbt_put(b, seqs.len);
	sbt_put(b, starts.len);
	sbt_put(b, lengths.len);
	buf_add(b, seqs.data, seqs.len);
	buf_add(b, starts.data, starts.len);
	buf_add(b, lengths.data, lengths.len);
	e = sbt_out_chunk(
		&w->out, SBT_CHUNK_TIMES, t[0].seq, t[n - 1].seq, (uint32_t)n, b->data, b->len);
	buf_free(&seqs);
	buf_free(&starts);
	buf_free(&lengths);
	return e;
}

static struct err *flush_times(struct sbt_writer *w)
{
	size_t n = w->ntimes;

	if (!n)
		return NULL;
	w->ntimes = 0;
	qsort(w->times, n, sizeof *w->times, by_seq);
	for (size_t i = 0; i < n; i += CHUNK_TIMES)
		TRY(write_times(w, w->times + i, n - i < CHUNK_TIMES ? n - i : CHUNK_TIMES));
	return NULL;
}

static struct err *flush_calls(struct sbt_writer *w)
{
	struct buf *b = &w->scratch;

	if (!w->calls_changed)
		return NULL;
	w->calls_changed = false;
	buf_clear(b);
	for (size_t i = 0; i < w->ncalls; i++) {
		put_string(b, w->calls[i].name);
		sbt_put(b, w->calls[i].n);
	}
	return sbt_out_chunk(
		&w->out, SBT_CHUNK_UNREPLAYABLE, 0, 0, (uint32_t)w->ncalls, b->data, b->len);
}

static struct err *flush_losses(struct sbt_writer *w)
{
	struct err *e;

	if (!w->nlosses)
		return NULL;
	e = sbt_out_chunk(&w->out, SBT_CHUNK_LOST, 0, 0, w->nlosses, w->losses.data, w->losses.len);
	buf_clear(&w->losses);
	w->nlosses = 0;
	return e;
}

struct err *sbt_writer_flush(struct sbt_writer *w)
{
	TRY(flush_modules(w));
	TRY(flush_stacks(w));
	TRY(flush_commands(w));
	TRY(flush_times(w));
	TRY(sbt_memory_out_flush(w->memory, &w->out));
	TRY(flush_calls(w));
	return flush_losses(w);
}

/* --- adding --- */

struct err *sbt_writer_cmd(struct sbt_writer *w, const struct sbt_cmd *c)
{
	if (w->out.failed) {
		w->dropped++;
		return NULL;
	}
	if (c->seq <= w->last_seq)
		return err_new(ERR_STATE,
			"command #%llu comes after #%llu: commands must be written in order",
			(unsigned long long)c->seq, (unsigned long long)w->last_seq);
	TRY(sbt_encoder_add(w->commands, c));
	w->last_seq = c->seq;
	w->count++;
	w->since_keyframe++;
	if (c->gpu_start_ns || c->gpu_end_ns)
		TRY(sbt_writer_time(w, c->seq, c->gpu_start_ns, c->gpu_end_ns));
	if (sbt_encoder_count(w->commands) >= CHUNK_COMMANDS ||
		sbt_encoder_size(w->commands) >= CHUNK_BYTES)
		return flush_commands(w);
	return NULL;
}

struct err *sbt_writer_module(
	struct sbt_writer *w, const char *path, const char *build_id, uint32_t *ret_index)
{
	put_string(&w->modules, path);
	put_string(&w->modules, build_id);
	*ret_index = w->nmodules++;
	return w->modules.len >= CHUNK_BYTES ? flush_modules(w) : NULL;
}

struct err *sbt_writer_place(
	struct sbt_writer *w, const struct sbt_place *place, uint32_t *ret_index)
{
	put_string(&w->places, place->file);
	put_string(&w->places, place->function);
	sbt_put(&w->places, place->first_line);
	sbt_put_delta(&w->places, place->line, place->first_line);
	*ret_index = w->nplaces++;
	return w->places.len >= CHUNK_BYTES ? flush_places(w) : NULL;
}

struct err *sbt_writer_symbol(
	struct sbt_writer *w, const struct sbt_frame *f, const struct sbt_symbol *v, unsigned n)
{
	sbt_put(&w->symbols, f->module);
	sbt_put_delta(&w->symbols, f->offset, w->symbols_last);
	w->symbols_last = f->offset;
	sbt_put(&w->symbols, n);
	for (unsigned i = 0; i < n; i++) {
		put_string(&w->symbols, v[i].function ? v[i].function : "");
		put_string(&w->symbols, v[i].file ? v[i].file : "");
		put_string(&w->symbols, v[i].folder ? v[i].folder : "");
		sbt_put(&w->symbols, v[i].line);
		sbt_put(&w->symbols, v[i].start);
	}
	w->nsymbols++;
	return w->symbols.len >= CHUNK_BYTES ? flush_symbols(w) : NULL;
}

/* How many of the outermost frames are those of the stack before. */
static unsigned shared_frames(
	const struct sbt_writer *w, const struct sbt_frame *frames, unsigned n)
{
	unsigned same = 0;

	while (same < n && same < w->frames_n &&
		w->frames[same].module == frames[n - 1 - same].module &&
		w->frames[same].offset == frames[n - 1 - same].offset)
		same++;
	return same;
}

struct err *sbt_writer_stack(
	struct sbt_writer *w, uint32_t id, const struct sbt_frame *frames, unsigned n)
{
	uint32_t module = 0;
	uint64_t offset = 0;
	unsigned same;

	BUG_ON(id == 0);
	if (n > SBT_STACK_DEPTH_MAX)
		n = SBT_STACK_DEPTH_MAX;
	same = shared_frames(w, frames, n);
	sbt_put_delta(&w->stacks, id, w->stack_last);
	sbt_put(&w->stacks, n);
	sbt_put(&w->stacks, same);
	if (!w->frames)
		w->frames = xcalloc(SBT_STACK_DEPTH_MAX, sizeof *w->frames);
	if (same) {
		module = w->frames[same - 1].module;
		offset = w->frames[same - 1].offset;
	}
	for (unsigned i = same; i < n; i++) {
		const struct sbt_frame *f = &frames[n - 1 - i];

		sbt_put_delta(&w->stacks, f->module, module);
		sbt_put_delta(&w->stacks, f->offset, offset);
		w->frames[i] = *f;
		module = f->module;
		offset = f->offset;
	}
	w->frames_n = n;
	w->stack_last = id;
	w->stack_min = !w->nstacks || id < w->stack_min ? id : w->stack_min;
	w->stack_max = !w->nstacks || id > w->stack_max ? id : w->stack_max;
	w->nstacks++;
	w->nframes += n;
	if (w->stacks.len >= CHUNK_BYTES ||
		w->nframes > SBT_CHUNK_FRAMES_MAX - SBT_STACK_DEPTH_MAX) {
		TRY(flush_modules(w));
		return flush_stacks(w);
	}
	return NULL;
}

struct err *sbt_writer_time(struct sbt_writer *w, uint64_t seq, uint64_t start_ns, uint64_t end_ns)
{
	if (w->out.failed)
		return NULL;
	MAKE_ROOM(w->times, w->ntimes, w->cap_times);
	w->times[w->ntimes++] = (struct time_entry){seq, start_ns, end_ns};
	return w->ntimes >= PENDING_TIMES ? flush_times(w) : NULL;
}

struct err *sbt_writer_source(struct sbt_writer *w, const char *file, const void *text, size_t n)
{
	struct buf b = BUF_INIT;
	struct err *e;

	if (n > SBT_SOURCE_MAX)
		return err_new(ERR_LIMIT, "a source file of %zu bytes is too large for a trace", n);
	put_string(&b, file);
	buf_add(&b, text, n);
	e = sbt_out_chunk(&w->out, SBT_CHUNK_SOURCE, 0, 0, 1, b.data, b.len);
	buf_free(&b);
	return e;
}

struct err *sbt_writer_code(
	struct sbt_writer *w, const void *code, size_t n, enum code_kind kind, uint64_t *ret_hash)
{
	uint64_t hash = XXH64(code, n, 0);

	*ret_hash = hash;
	for (size_t i = 0; i < w->nhashes; i++)
		if (w->hashes[i] == hash)
			return NULL;
	if (n > SBT_RAW_MAX_LARGE)
		return err_new(ERR_LIMIT, "a module of %zu bytes is too large for a trace", n);
	w->hashes = xrealloc(w->hashes, (w->nhashes + 1) * sizeof *w->hashes);
	w->hashes[w->nhashes++] = hash;
	return sbt_out_chunk(&w->out, SBT_CHUNK_CODE, hash, kind == CODE_PTX, 1, code, n);
}

struct err *sbt_writer_keyframe(struct sbt_writer *w, uint64_t seq, const void *state, size_t n)
{
	if (n > SBT_RAW_MAX_LARGE)
		return err_new(ERR_LIMIT, "a state of %zu bytes is too large for a trace", n);
	TRY(flush_commands(w));
	w->since_keyframe = 0;
	return sbt_out_chunk(&w->out, SBT_CHUNK_KEYFRAME, seq, seq, 1, state, n);
}

struct err *sbt_writer_unreplayable(struct sbt_writer *w, const char *call, uint64_t n)
{
	size_t i = 0;

	while (i < w->ncalls && strcmp(w->calls[i].name, call) != 0)
		i++;
	if (i == w->ncalls) {
		w->calls = xrealloc(w->calls, (w->ncalls + 1) * sizeof *w->calls);
		w->calls[w->ncalls++] = (struct call){xstrdup(call), 0};
	}
	if (w->calls[i].n != n) {
		w->calls[i].n = n;
		w->calls_changed = true;
	}
	return NULL;
}

struct err *sbt_writer_lost(struct sbt_writer *w, uint64_t seq, uint64_t n)
{
	if (n <= w->out.lost)
		return NULL;
	sbt_put(&w->losses, seq);
	sbt_put(&w->losses, n - w->out.lost);
	w->nlosses++;
	w->out.lost = n;
	return NULL;
}

/* --- asking, closing --- */

uint64_t sbt_writer_since_keyframe(const struct sbt_writer *w)
{
	return w->since_keyframe;
}

uint64_t sbt_writer_bytes(const struct sbt_writer *w)
{
	return w->out.size + sbt_encoder_size(w->commands) + w->stacks.len + w->modules.len +
	       8 * w->ntimes + sbt_memory_out_waiting(w->memory);
}

uint64_t sbt_writer_count(const struct sbt_writer *w)
{
	return w->count;
}

void sbt_writer_abandon(struct sbt_writer *w)
{
	if (w->out.fd >= 0)
		close(w->out.fd);
}

struct err *sbt_writer_close(struct sbt_writer *w)
{
	struct err *e = sbt_memory_out_cut(w->memory, &w->out), *e2;
	bool failed;

	if (!e)
		e = sbt_writer_flush(w);
	failed = w->out.failed;
	w->out.lost += w->dropped; /* commands that came after the disk was full */
	e2 = sbt_out_close(&w->out);
	writer_free(w);
	if (e || failed) { /* the user knows already */
		err_free(e2);
		return e;
	}
	return e2;
}
