/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking the commands, see sbt.h. The surprise: GPU times come from other chunks, often far
 * behind, so for each chunk of commands those that the index gives for its seqs are decoded and
 * joined. The last of these chunks has times of the next commands, too, and is kept.
 */
#include <stdlib.h>

#include "base/first-where.h"
#include "sbt/cmd/encode.h"
#include "sbt/reader/reader.h"

#define TIMES_MAX (1u << 20) /* entries in one times chunk */
#define GATHER_MAX (4u << 20)

struct gpu_time {
	uint64_t seq, start, end;
	uint64_t chunk; /* index of its entry */
};

struct gpu_times {
	struct gpu_time *p;
	size_t n, cap;
};

struct sbt_cursor {
	struct sbt_reader *r;
	size_t next;		     /* in r->commands: the chunk after the loaded one */
	struct buf payload;	     /* of the loaded one */
	struct sbt_decoder *decoder; /* NULL: none loaded, or it ended */
	uint64_t decoded,
		last_seq;	/* in the loaded chunk: how many came out; the last of them, or 0 */
	struct gpu_times times; /* of the loaded chunk's commands, sorted */
	size_t time_at;
	struct gpu_times kept; /* all of one chunk of times */
	uint32_t kept_entry;   /* index of its entry + 1; 0: none is kept */
	uint64_t skim;	       /* the caller looks at no BLOB field of so many commands to come */
	bool skims;	       /* the loaded chunk is decoded without them */
	bool pending;	       /* cmd is the next command already */
	struct sbt_cmd *cmd;   /* of the decoder; not NULL while a command is pending */
};

struct err *sbt_cursor_open(struct sbt_cursor **ret, struct sbt_reader *r)
{
	*ret = xcalloc(1, sizeof **ret);
	(*ret)->r = r;
	return NULL;
}

void sbt_cursor_close(struct sbt_cursor *c)
{
	if (!c)
		return;
	sbt_decoder_destroy(c->decoder);
	buf_free(&c->payload);
	free(c->times.p);
	free(c->kept.p);
	free(c);
}

/* --- times --- */

static struct err *take_times(struct gpu_times *ret, const struct buf *payload, uint32_t chunk)
{
	struct sbt_in in = sbt_in_of(payload), col[3];
	uint64_t n = sbt_take_max(&in, TIMES_MAX), seq = sbt_take(&in), end = 0, len[3];

	for (unsigned i = 0; i < 3; i++)
		len[i] = sbt_take(&in);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *p = sbt_take_bytes(&in, len[i]);

		if (!p)
			return err_new(ERR_BAD_TRACE, "it does not decode");
		col[i] = (struct sbt_in){p, p + len[i], false};
	}
	for (; n; n--) {
		struct gpu_time t = {.chunk = chunk};

		seq += sbt_take_small(&col[0]);
		t.seq = seq;
		t.start = sbt_take_delta(&col[1], end);
		t.end = end = sbt_take_delta(&col[2], t.start);
		if (col[0].bad || col[1].bad || col[2].bad)
			return err_new(ERR_BAD_TRACE, "it does not decode");
		MAKE_ROOM(ret->p, ret->n, ret->cap);
		ret->p[ret->n++] = t;
	}
	return NULL;
}

/* One chunk of times into c->kept. What is whole of a damaged one is there, too, for this once. */
static struct err *keep_times(struct sbt_cursor *c, uint32_t i)
{
	struct buf payload = BUF_INIT;
	struct err *e;

	if (c->kept_entry == i + 1)
		return NULL;
	c->kept.n = c->kept_entry = 0;
	e = sbt_reader_load(c->r, &c->r->entries[i], &payload);
	if (!e)
		e = take_times(&c->kept, &payload, i);
	if (!e)
		c->kept_entry = i + 1;
	buf_free(&payload);
	return e;
}

/* Those of the kept ones that are for these commands, behind what is there. */
static struct err *add_times(struct sbt_cursor *c, uint64_t first, uint64_t last)
{
	for (size_t k = 0; k < c->kept.n; k++) {
		if (c->kept.p[k].seq < first || c->kept.p[k].seq > last)
			continue;
		if (c->times.n == GATHER_MAX)
			return err_new(ERR_LIMIT, "there are too many for the same commands");
		MAKE_ROOM(c->times.p, c->times.n, c->times.cap);
		c->times.p[c->times.n++] = c->kept.p[k];
	}
	return NULL;
}

static int by_seq(const void *a, const void *b)
{
	const struct gpu_time *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* How many chunks of times begin at seq or before. */
static size_t times_until(const struct sbt_reader *r, uint64_t seq)
{
	return FIRST_WHERE(r->times.n, i, r->entries[r->times.at[i]].first > seq);
}

/* The times of commands first to last, sorted. */
static void gather_times(struct sbt_cursor *c, uint64_t first, uint64_t last)
{
	struct sbt_reader *r = c->r;
	const size_t end = times_until(r, last);
	size_t begin = end;
	bool sorted = true;

	c->times.n = c->time_at = 0;
	while (begin && r->times_last[begin - 1] >= first)
		begin--;
	/* In their order in the file, which most often leaves nothing to sort. */
	for (size_t k = begin; k < end; k++) {
		uint32_t i = r->times.at[k];
		struct err *e, *more;

		if (r->entries[i].last < first || r->reported[i])
			continue;
		e = keep_times(c, i);
		more = add_times(c, first, last);
		if (e)
			err_free(more);
		else
			e = more;
		if (e)
			sbt_reader_note_chunk(r, i, e);
	}
	for (size_t k = 1; k < c->times.n && sorted; k++)
		sorted = c->times.p[k - 1].seq < c->times.p[k].seq;
	if (!sorted)
		qsort(c->times.p, c->times.n, sizeof *c->times.p, by_seq);
}

/* Commands come in order, so the times are walked along. */
static void join_time(struct sbt_cursor *c)
{
	const struct gpu_times *t = &c->times;

	c->cmd->gpu_start_ns = c->cmd->gpu_end_ns = 0;
	while (c->time_at < t->n && t->p[c->time_at].seq < c->cmd->seq)
		c->time_at++;
	/* one that is in the file twice: the later one counts */
	for (size_t k = c->time_at; k < t->n && t->p[k].seq == c->cmd->seq; k++) {
		c->cmd->gpu_start_ns = t->p[k].start;
		c->cmd->gpu_end_ns = t->p[k].end;
	}
}

/* --- chunks --- */

static uint32_t entry_index(const struct sbt_cursor *c)
{
	return c->r->commands.at[c->next - 1];
}

static void chunk_end(struct sbt_cursor *c)
{
	sbt_decoder_destroy(c->decoder);
	c->decoder = NULL;
	c->cmd = NULL;
}

static void chunk_damaged(struct sbt_cursor *c, struct err *e)
{
	sbt_reader_note_chunk(c->r, entry_index(c), e);
	chunk_end(c);
	buf_clear(&c->payload);
}

/* Decodes the loaded payload from its beginning. */
static void chunk_begin(struct sbt_cursor *c)
{
	struct err *e;

	chunk_end(c);
	c->decoded = c->last_seq = 0;
	c->time_at = 0;
	e = sbt_decoder_create(&c->decoder, c->payload.data, c->payload.len);
	if (e) {
		chunk_damaged(c, e);
		return;
	}
	/* The last command that the caller takes so is of a chunk that is decoded in full. */
	c->skims = c->skim > sbt_decoder_left(c->decoder);
	if (c->skims)
		sbt_decoder_skim(c->decoder);
}

static void chunk_load(struct sbt_cursor *c, size_t k)
{
	const struct sbt_entry *entry = &c->r->entries[c->r->commands.at[k]];
	struct err *e;

	chunk_end(c);
	c->next = k + 1;
	e = sbt_reader_load(c->r, entry, &c->payload);
	if (e) {
		chunk_damaged(c, e);
		return;
	}
	gather_times(c, entry->first, entry->last);
	chunk_begin(c);
}

/* At the end of a chunk: reports a count that differs from the header's, and commands of unknown
 * kinds. */
static void chunk_finish(struct sbt_cursor *c)
{
	const struct sbt_entry *entry = &c->r->entries[entry_index(c)];
	uint64_t unknown = sbt_decoder_unknown(c->decoder);

	if (c->decoded + unknown != entry->count)
		sbt_reader_note_chunk(c->r, entry_index(c),
			err_new(ERR_BAD_TRACE, "%llu commands in place of %u",
				(unsigned long long)(c->decoded + unknown), entry->count));
	else if (unknown)
		sbt_reader_note_chunk(c->r, entry_index(c),
			err_new(ERR_BAD_TRACE, "%llu are of kinds that only a newer tsdb knows",
				(unsigned long long)unknown));
	chunk_end(c);
}

/* The next command of the loaded chunk into c->cmd. False at its end. */
static bool chunk_next(struct sbt_cursor *c)
{
	const struct sbt_entry *entry = &c->r->entries[entry_index(c)];
	struct sbt_cmd *cmd;
	struct err *e = sbt_decoder_next(c->decoder, &cmd);

	if (e) {
		chunk_damaged(c, e);
		return false;
	}
	if (!cmd) {
		chunk_finish(c);
		return false;
	}
	if (cmd->seq < entry->first || cmd->seq > entry->last) {
		chunk_damaged(c, err_new(ERR_BAD_TRACE, "a command with number %llu is in it",
					 (unsigned long long)cmd->seq));
		return false;
	}
	c->cmd = cmd;
	c->decoded++;
	c->skim -= c->skim > 0;
	c->last_seq = cmd->seq;
	join_time(c);
	return true;
}

struct err *sbt_cursor_next(struct sbt_cursor *c, const struct sbt_cmd **ret)
{
	if (c->pending) {
		c->pending = false;
		c->skim -= c->skim > 0;
		*ret = c->cmd;
		return NULL;
	}
	for (;;) {
		if (c->decoder && chunk_next(c)) {
			*ret = c->cmd;
			return NULL;
		}
		if (c->decoder)
			continue;
		if (c->next >= c->r->commands.n)
			break;
		chunk_load(c, c->next);
	}
	*ret = NULL;
	return NULL;
}

/* The first chunk that ends at seq or later. */
static size_t find_chunk(const struct sbt_reader *r, uint64_t seq)
{
	return FIRST_WHERE(r->commands.n, i, r->entries[r->commands.at[i]].last >= seq);
}

struct err *sbt_cursor_seek(struct sbt_cursor *c, uint64_t seq)
{
	size_t k = find_chunk(c->r, seq);
	const struct sbt_cmd *cmd;

	if (c->pending && c->cmd->seq == seq)
		return NULL;
	c->pending = false;
	if (k >= c->r->commands.n) {
		chunk_end(c);
		buf_clear(&c->payload); /* it is another chunk's than the one before next */
		c->next = k;
		return NULL;
	}
	if (c->next != k + 1 || !c->payload.len)
		chunk_load(c, k);
	else if (!c->decoder || c->last_seq >= seq)
		chunk_begin(c);
	do {
		TRY(sbt_cursor_next(c, &cmd));
	} while (cmd && cmd->seq < seq);
	c->pending = cmd != NULL;
	return NULL;
}

struct err *sbt_cursor_skim(struct sbt_cursor *c, uint64_t n)
{
	const uint64_t at = c->last_seq;

	c->skim = n;
	if (n || !c->decoder || !c->skims)
		return NULL;
	c->pending = false;
	chunk_begin(c);
	return at ? sbt_cursor_seek(c, at + 1) : NULL;
}
