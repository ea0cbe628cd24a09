/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands as columns, see columns.h.
 */
#include "report/core/columns.h"
#include "sbt/fields.h"

#include <stdlib.h>
#include <string.h>

enum { COMMON = 3, RANGES_MAX = 32, SPAN_WAIT = 0, SPAN_RANGE = 1, MARK_PUSH = 1, MARK_POP = 2 };

struct columns_thread {
	uint64_t sync; /* seq of the wait that has not ended; 0: none */
	uint64_t ranges[RANGES_MAX];
	uint32_t nranges; /* pushed and not popped; deeper ones are counted only */
};

void columns_init(struct columns *c, struct names *names)
{
	*c = (struct columns){.names = names, .time = stream_time_new()};
	c->threads.size = sizeof(struct columns_thread);
	c->kernel_names.size = sizeof(uint32_t);
	c->stack_index.size = sizeof(uint32_t);
}

/* --- names --- */

static uint32_t kernel_name(struct columns *c, const struct state *st, uint64_t id)
{
	uint32_t *at = id_table_row(&c->kernel_names, id, true);
	struct state_kernel k;
	char *text;
	uint32_t n;

	if (at && *at)
		return *at - 1;
	if (id < SBT_NO_ID && state_kernel_by_id(st, (uint32_t)id, &k) && k.name) {
		n = names_of(c->names, c->kernel ? c->kernel(c->arg, k.name) : k.name);
	} else {
		text = xasprintf("kernel %llu", (unsigned long long)id);
		n = names_of(c->names, text);
		free(text);
	}
	if (at)
		*at = n + 1;
	return n;
}

static uint32_t name_of(struct columns *c, const struct state *st, const struct sbt_cmd *cmd)
{
	const struct sbt_kind_desc *kind = sbt_kind(cmd->kind);
	const char *dir;
	char *text;
	uint32_t n;

	switch (cmd->kind) {
	case SBT_LAUNCH:
		return kernel_name(c, st, cmd->u.launch.kernel);
	case SBT_COPY:
		dir = sbt_enum_name(SBT_T_ENUM_COPY, cmd->u.copy.dir);
		text = xasprintf("copy %s", dir ? dir : "any");
		n = names_of(c->names, text);
		free(text);
		return n;
	case SBT_MARK:
		if (cmd->u.mark.mark_kind != MARK_POP)
			return names_number(c->names, cmd->u.mark.text.p, cmd->u.mark.text.len);
		return names_of(c->names, "mark");
	default:
		return names_of(c->names, kind ? kind->name : "unknown");
	}
}

/* --- host stacks --- */

static uint32_t stack_number(struct columns *c, uint32_t id)
{
	uint32_t *at = id ? id_table_row(&c->stack_index, id, true) : NULL;

	if (!at)
		return 0;
	if (!*at) {
		MAKE_ROOM(c->stack_ids, c->nstacks, c->cap_stacks);
		c->stack_ids[c->nstacks++] = id;
		*at = c->nstacks;
	}
	return *at;
}

/* --- what lasts on a host thread --- */

static void put_span(struct columns *c, uint64_t begin, uint64_t end, unsigned what, unsigned depth)
{
	pack_u64(&c->spans, end - c->span_seq);
	pack_u64(&c->spans, end - begin);
	pack_u64(&c->spans, what);
	pack_u64(&c->spans, depth);
	c->span_seq = end;
}

static void on_mark(
	struct columns *c, struct columns_thread *t, const struct sbt_cmd *cmd, bool shown)
{
	if (cmd->u.mark.mark_kind == MARK_PUSH) {
		if (t->nranges < RANGES_MAX)
			t->ranges[t->nranges] = shown ? cmd->seq : 0;
		t->nranges++;
	} else if (cmd->u.mark.mark_kind == MARK_POP && t->nranges) {
		t->nranges--;
		if (t->nranges < RANGES_MAX && t->ranges[t->nranges] && shown)
			put_span(c, t->ranges[t->nranges], cmd->seq, SPAN_RANGE, t->nranges);
	}
}

static void follow_thread(struct columns *c, const struct sbt_cmd *cmd, bool shown)
{
	struct columns_thread *t = id_table_row(&c->threads, cmd->thread, true);

	if (!t)
		return;
	if (cmd->kind == SBT_MARK) {
		on_mark(c, t, cmd, shown);
	} else if (cmd->kind == SBT_SYNC) {
		t->sync = shown ? cmd->seq : 0;
	} else if (cmd->kind == SBT_SYNC_END && t->sync && t->sync == cmd->u.sync_end.begin) {
		if (shown)
			put_span(c, t->sync, cmd->seq, SPAN_WAIT, 0);
		t->sync = 0;
	}
}

/* What had not ended when the trace did lasts to its last command. */
static void end_spans(struct columns *c)
{
	struct columns_thread *t = c->threads.at;

	for (size_t i = 0; i < c->threads.n; i++) {
		if (t[i].sync && t[i].sync <= c->last_seq)
			put_span(c, t[i].sync, c->last_seq, SPAN_WAIT, 0);
		for (uint32_t k = 0; k < t[i].nranges && k < RANGES_MAX; k++) {
			if (t[i].ranges[k] && t[i].ranges[k] <= c->last_seq)
				put_span(c, t[i].ranges[k], c->last_seq, SPAN_RANGE, k);
		}
	}
}

/* --- all fields --- */

static bool is_same(const struct buf *last, const struct sbt_blob *b)
{
	return last->len == b->len && (!b->len || !memcmp(last->data, b->p, b->len));
}

/* Eight bytes of a text, or its rest, that differ from those of the last one. */
static void put_eight(
	struct columns *c, const uint8_t *p, size_t n, const struct buf *last, size_t at)
{
	uint8_t out[9] = {0};
	size_t len = 1;

	for (size_t i = 0; i < n; i++) {
		const uint8_t was = at + i < last->len ? last->data[at + i] : 0;

		if (p[i] == was)
			continue;
		out[0] |= (uint8_t)(1u << i);
		out[len++] = p[i];
	}
	pack_bytes(&c->details, out, len);
}

static void put_text(struct columns *c, const struct sbt_blob *b, struct buf *last)
{
	const uint8_t *p = b->p;

	pack_u64(&c->details, b->len);
	for (size_t at = 0; at < b->len; at += 8)
		put_eight(c, p + at, b->len - at < 8 ? b->len - at : 8, last, at);
	buf_clear(last);
	buf_add(last, b->len ? b->p : "", b->len);
}

static void put_scalar(struct columns *c, uint64_t *last, uint64_t v)
{
	pack_i64(&c->details, (int64_t)(v - *last));
	*last = v;
}

/* Which fields of the command are not those of the last one of its kind; scalars to now. */
static uint64_t find_changed(struct columns *c, const struct sbt_cmd *cmd, uint64_t *now)
{
	const struct sbt_kind_desc *d = sbt_kind(cmd->kind);
	const uint64_t *last = c->last[cmd->kind];
	uint64_t changed = 0;
	unsigned texts = 0;

	BUG_ON(d->nfields + COMMON > COLUMNS_FIELDS_MAX);
	now[0] = cmd->ctx;
	now[1] = cmd->result;
	now[2] = cmd->corr;
	for (unsigned k = 0; k < d->nfields + COMMON; k++) {
		const struct sbt_field *f = k < COMMON ? NULL : &d->fields[k - COMMON];
		bool same;

		if (f && sbt_type_is_blob(f->type)) {
			BUG_ON(texts == COLUMNS_TEXTS_MAX);
			same = is_same(&c->texts[cmd->kind][texts++], sbt_get_blob(cmd, f));
		} else {
			now[k] = f ? sbt_get(cmd, f) : now[k];
			same = now[k] == last[k];
		}
		changed |= (uint64_t)!same << k;
	}
	return changed;
}

static void put_details(struct columns *c, const struct sbt_cmd *cmd)
{
	const struct sbt_kind_desc *d = sbt_kind(cmd->kind);
	uint64_t now[COLUMNS_FIELDS_MAX], changed = find_changed(c, cmd, now);
	unsigned texts = 0;

	pack_u64(&c->details, changed);
	for (unsigned k = 0; k < d->nfields + COMMON; k++) {
		const struct sbt_field *f = k < COMMON ? NULL : &d->fields[k - COMMON];
		const bool text = f && sbt_type_is_blob(f->type);
		struct buf *last = text ? &c->texts[cmd->kind][texts++] : NULL;

		if (!(changed >> k & 1))
			continue;
		if (text)
			put_text(c, sbt_get_blob(cmd, f), last);
		else
			put_scalar(c, &c->last[cmd->kind][k], now[k]);
	}
}

static void end_block(struct columns *c)
{
	pack_u64(&c->blocks, c->details.size - c->block_at);
	c->block_at = c->details.size;
	memset(c->last, 0, sizeof c->last);
	for (unsigned k = 0; k < SBT_KIND_END; k++)
		for (unsigned i = 0; i < COLUMNS_TEXTS_MAX; i++)
			buf_clear(&c->texts[k][i]);
}

/* --- a command --- */

/* Whether it has GPU times that can be shown on its stream. */
static bool is_timed(const struct sbt_cmd *cmd)
{
	return sbt_cmd_is_work(cmd) && cmd->gpu_start_ns && cmd->gpu_end_ns >= cmd->gpu_start_ns;
}

static void put_times(struct columns *c, const struct sbt_cmd *cmd)
{
	const bool timed = is_timed(cmd);

	if (!c->n)
		c->first_host = c->last_host = cmd->host_ns;
	pack_i64(&c->host, (int64_t)(cmd->host_ns - c->last_host));
	c->last_host = cmd->host_ns;
	pack_i64(&c->start, timed ? (int64_t)(cmd->gpu_start_ns - cmd->host_ns) : 0);
	pack_u64(&c->dur, timed ? cmd->gpu_end_ns - cmd->gpu_start_ns + 1 : 0);
	c->timed += timed && c->timed < UINT32_MAX;
}

static void put_doing(struct columns *c, const struct sbt_cmd *cmd, bool shown)
{
	struct stream_span spans[STREAM_SPANS];
	const unsigned n = stream_time_take(c->time, cmd, spans);

	for (unsigned i = 0; shown && i < n; i++) {
		if (spans[i].what != STREAM_WAITS && spans[i].what != STREAM_STARTING)
			continue;
		if (!c->doing_end)
			c->doing_end = c->first_host;
		pack_u64(&c->doing, sbt_cmd_stream(cmd));
		pack_u64(&c->doing, spans[i].what);
		pack_i64(&c->doing, (int64_t)(spans[i].from - c->doing_end));
		pack_u64(&c->doing, spans[i].to - spans[i].from);
		c->doing_end = spans[i].to;
	}
}

void columns_take(struct columns *c, const struct state *st, const struct sbt_cmd *cmd, bool shown)
{
	if (!sbt_kind(cmd->kind))
		return;
	follow_thread(c, cmd, shown);
	if (!shown) {
		put_doing(c, cmd, false);
		return;
	}
	pack_u64(&c->seq, cmd->seq - c->last_seq);
	c->last_seq = cmd->seq;
	pack_u64(&c->kind, cmd->kind);
	pack_u64(&c->flags, cmd->flags | (cmd->result ? 1u << 16 : 0));
	pack_u64(&c->stream, sbt_cmd_is_work(cmd) ? (uint64_t)sbt_cmd_stream(cmd) + 1 : 0);
	pack_u64(&c->thread, cmd->thread);
	put_times(c, cmd);
	pack_u64(&c->name, name_of(c, st, cmd));
	pack_u64(&c->stack, stack_number(c, cmd->stack));
	put_doing(c, cmd, true);
	put_details(c, cmd);
	c->kinds[cmd->kind] = true;
	if (++c->n % COLUMNS_BLOCK == 0)
		end_block(c);
}

struct err *columns_end(struct columns *c, FILE *f, unsigned trace)
{
	const struct {
		struct pack *p;
		const char *name;
	} all[] = {{&c->seq, "seq"}, {&c->kind, "kind"}, {&c->flags, "flags"},
		{&c->stream, "stream"}, {&c->thread, "thread"}, {&c->host, "host"},
		{&c->start, "start"}, {&c->dur, "dur"}, {&c->name, "name"}, {&c->stack, "stack"},
		{&c->spans, "spans"}, {&c->doing, "doing"}, {&c->details, "details"},
		{&c->blocks, "blocks"}};

	end_spans(c);
	if (c->n % COLUMNS_BLOCK)
		end_block(c);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		TRY(pack_end(all[i].p, f, trace, all[i].name));
	return NULL;
}

void columns_free(struct columns *c)
{
	struct pack *const all[] = {&c->seq, &c->kind, &c->flags, &c->stream, &c->thread, &c->host,
		&c->start, &c->dur, &c->name, &c->stack, &c->spans, &c->doing, &c->details,
		&c->blocks};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		pack_free(all[i]);
	for (unsigned k = 0; k < SBT_KIND_END; k++)
		for (unsigned i = 0; i < COLUMNS_TEXTS_MAX; i++)
			buf_free(&c->texts[k][i]);
	stream_time_free(c->time);
	free(c->threads.at);
	free(c->kernel_names.at);
	free(c->stack_index.at);
	free(c->stack_ids);
}
