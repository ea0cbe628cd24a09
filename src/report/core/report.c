/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembles the page: its head, a trace's columns one element after the other, its scripts.
 */
#include <errno.h>
#include <string.h>
#include "base/json-put.h"
#include "report/core/arrows.h"
#include "report/core/head.h"
#include "report/core/page.h"
#include "report/core/states.h"
#include "report/report.h"

enum { TELL_EVERY = 4096 };

struct making {
	const struct report_ask *ask;
	FILE *f;
	struct report_result *result;
	uint64_t since;
};
/* One trace of the page. */
struct side {
	const struct report_trace *t;
	unsigned number;
	struct order *order;	/* NULL: not made yet */
	struct state *own;	/* NULL: order has it */
	const struct state *st; /* after the last command */
	struct sbt_cmd on_set;	/* the command with times of the set's clock */
	struct names names;
	struct columns columns;
	struct states states;
	struct fact_counts counts;
};

static struct err *written(bool ok)
{
	return ok ? NULL : err_sys(errno, "cannot write the report");
}

/* --- the pass --- */

static struct err *told(struct making *m, const struct side *s, uint64_t seq)
{
	const uint64_t first = sbt_reader_first_seq(s->t->r);

	if (!m->ask->cancelled || m->since++ % TELL_EVERY)
		return NULL;
	if (m->ask->cancelled(m->ask->arg, seq - first, sbt_reader_last_seq(s->t->r) - first + 1))
		return err_new(ERR_INTERRUPTED, "interrupted");
	return NULL;
}

static void convert(const struct report_trace *t, uint64_t *ns)
{
	if (*ns)
		*ns = t->time(t->clock, *ns);
}

/* The command with times of the set's clock, which no state knows of. */
static const struct sbt_cmd *on_set(struct side *s, const struct sbt_cmd *c)
{
	if (!s->t->time)
		return c;
	s->on_set = *c;
	convert(s->t, &s->on_set.host_ns);
	convert(s->t, &s->on_set.gpu_start_ns);
	convert(s->t, &s->on_set.gpu_end_ns);
	return &s->on_set;
}

static struct err *too_many(const struct making *m, const struct side *s)
{
	const char *path = m->ask->set ? m->ask->set : s->t->path;
	struct err *e = err_new(ERR_LIMIT, "%s has more than %d commands, which no browser holds",
		path, REPORT_COMMANDS_MAX);

	return err_cure(e, "Name a range: tsdb report %s %s1-%d", path,
		m->ask->set ? "--rank 0 " : "", REPORT_COMMANDS_MAX);
}

/* The state has the command. */
static struct err *take(struct making *m, struct side *s, const struct sbt_cmd *c)
{
	TRY(told(m, s, c->seq));
	if (c->seq >= s->t->first)
		fact_counts_take(&s->counts, c);
	c = on_set(s, c);
	states_take(&s->states, s->st, c);
	columns_take(&s->columns, s->st, c, c->seq >= s->t->first);
	if (m->result->commands + s->columns.n > REPORT_COMMANDS_MAX)
		return too_many(m, s);
	return NULL;
}

static struct order_options of_range(const struct making *m, const struct side *s)
{
	return (struct order_options){.first = s->t->first,
		.last = s->t->last == UINT64_MAX ? 0 : s->t->last,
		.interrupt = m->ask->interrupt};
}

struct pass {
	struct making *m;
	struct side *s;
};

static struct err *take_in_pass(void *pass, const struct state *st, const struct sbt_cmd *c)
{
	const struct pass *p = pass;

	p->s->st = st;
	return take(p->m, p->s, c);
}

/* The order of what waits for what is made in the same pass. */
static struct err *read_with_order(struct making *m, struct side *s)
{
	struct order_options o = of_range(m, s);

	o.after = take_in_pass;
	o.after_arg = &(struct pass){m, s};
	TRY(order_open(&s->order, s->t->r, &o));
	s->st = order_state(s->order);
	return NULL;
}

/* What comes before the range is read, too. */
static struct err *read_from_start(struct making *m, struct side *s, struct sbt_cursor *cursor)
{
	const struct order_options o = of_range(m, s);
	const struct sbt_cmd *c;

	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > s->t->last)
			return order_open(&s->order, s->t->r, &o);
		TRY(state_apply(s->own, c));
		TRY(take(m, s, c));
	}
}

static struct err *read_all(struct making *m, struct side *s)
{
	struct sbt_cursor *cursor;
	struct err *e;

	if (s->t->first <= sbt_reader_first_seq(s->t->r))
		return read_with_order(m, s);
	s->st = s->own = state_new();
	state_without_writers(s->own);
	TRY(sbt_cursor_open(&cursor, s->t->r));
	e = read_from_start(m, s, cursor);
	sbt_cursor_close(cursor);
	return e;
}

/* --- a trace's elements --- */

static struct err *put_facts(struct making *m, unsigned number, const char *name,
	const struct facts *facts, const char *path)
{
	struct pack p = {0};
	struct buf b = BUF_INIT;

	if (facts)
		facts_json(&b, facts, path);
	else
		buf_str(&b, "null");
	pack_bytes(&p, b.data, b.len);
	buf_free(&b);
	return pack_end(&p, m->f, number, name);
}

static uint32_t stack_of(void *columns, uint32_t id)
{
	struct columns *c = columns;
	const uint32_t *at = id ? id_table_row(&c->stack_index, id, false) : NULL;

	return at ? *at : 0;
}

static struct err *put_side(struct making *m, struct side *s)
{
	TRY(read_all(m, s));
	m->result->commands += s->columns.n;
	TRY(columns_end(&s->columns, m->f, s->number));
	TRY(states_end(&s->states, m->f, s->number, stack_of, &s->columns));
	TRY(stacks_write(s->t, m->ask->symbols, &s->columns, s->st, m->f, s->number));
	TRY(head_write(s->t, m->ask->set, &s->columns, &s->states, s->st, m->f, s->number));
	TRY(arrows_write(s->order, m->f, s->number));
	if (s->t->know)
		TRY(s->t->know(s->t->arg, &s->counts));
	return put_facts(m, s->number, "facts", s->t->facts, s->t->path);
}

static struct err *put_trace(struct making *m, const struct report_trace *t, unsigned number)
{
	struct side s = {.t = t, .number = number};
	struct err *e;

	columns_init(&s.columns, &s.names);
	s.columns.kernel = t->kernel;
	s.columns.arg = t->arg;
	states_init(&s.states);
	e = put_side(m, &s);
	states_free(&s.states);
	columns_free(&s.columns);
	names_free(&s.names);
	order_close(s.order);
	state_free(s.own);
	return e;
}

static struct err *put_pairs(struct making *m)
{
	const struct report_pairs *pairs = m->ask->pairs;
	struct pack p = {0};
	uint64_t a = 0, b = 0;

	for (size_t i = 0; i < pairs->n; i++) {
		pack_i64(&p, (int64_t)(pairs->a[i] - a));
		pack_i64(&p, (int64_t)(pairs->b[i] - b));
		a = pairs->a[i];
		b = pairs->b[i];
	}
	return pack_end(&p, m->f, 1, "pairs");
}

/* --- the page --- */

struct err *report_write(const struct report_ask *ask, FILE *f, struct report_result *ret)
{
	struct making m = {.ask = ask, .f = f, .result = ret};

	*ret = (struct report_result){0};
	TRY(written(
		fwrite(report_page_head, 1, report_page_head_size, f) == report_page_head_size));
	for (unsigned i = 0; i < ask->n; i++)
		TRY(put_trace(&m, &ask->t[i], i));
	if (ask->pairs)
		TRY(put_pairs(&m));
	if (ask->set)
		TRY(put_facts(&m, 0, "set", ask->together, ask->set));
	TRY(written(
		fwrite(report_page_tail, 1, report_page_tail_size, f) == report_page_tail_size));
	TRY(written(!fflush(f)));
	const long size = ftell(f);

	ret->bytes = size > 0 ? (uint64_t)size : 0; /* 0: into a pipe */
	return NULL;
}
