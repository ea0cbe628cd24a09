/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of facts, see facts.h.
 */
#include "report/facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/facts/fact-list.h"

static const struct {
	const char *name, *title;
} topics[FACT_TOPICS] = {
	[FACT_RUN] = {"run", "The run"},
	[FACT_TIME] = {"time", "Where the time went"},
	[FACT_WORK] = {"work", "Work and memory"},
	[FACT_PATH] = {"path", "The long pole"},
	[FACT_RACE] = {"race", "Races"},
	[FACT_FAULT] = {"fault", "Calls that failed"},
	[FACT_UNSTABLE] = {"unstable", "Launches that are not deterministic"},
	[FACT_CHANGE] = {"change", "Differences from the other trace"},
	[FACT_MISSING] = {"missing", "What is not known"},
};

const char *fact_topic_name(uint64_t topic)
{
	return topic < FACT_TOPICS ? topics[topic].name : NULL;
}

const char *fact_topic_title(uint64_t topic)
{
	return topic < FACT_TOPICS ? topics[topic].title : NULL;
}

void fact_add(struct fact_maker *m, enum fact_topic topic, const char *fmt, ...)
{
	struct facts *f = m->to;
	struct buf raw = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	MAKE_ROOM(f->v, f->n, f->cap);
	f->v[f->n++] =
		(struct fact){.topic = topic, .text = text_safe_dup(buf_cstr(&raw), raw.len)};
	buf_free(&raw);
}

void fact_count(struct buf *b, uint64_t n, const char *one, const char *many)
{
	if (n)
		buf_printf(b, "%s%" PRIu64 " %s", b->len ? ", " : "", n, n == 1 ? one : many);
}

static struct fact *last(struct fact_maker *m)
{
	BUG_ON(!m->to->n);
	return &m->to->v[m->to->n - 1];
}

void fact_seq(struct fact_maker *m, uint64_t seq)
{
	struct fact *f = last(m);

	for (unsigned i = 0; i < f->nseqs; i++) {
		if (f->seqs[i] == seq)
			return;
	}
	if (seq && f->nseqs < FACT_SEQS_MAX)
		f->seqs[f->nseqs++] = seq;
}

void fact_value(struct fact_maker *m, const char *name, uint64_t v)
{
	struct fact *f = last(m);

	BUG_ON(f->nvalues >= FACT_VALUES_MAX);
	f->values[f->nvalues++] = (struct fact_value){name, v};
}

void fact_place(struct fact_maker *m, uint32_t stack)
{
	struct fact *f = last(m);
	char *raw = stack ? m->from->place(m->from->arg, stack) : NULL;

	if (raw)
		f->place = text_safe_dup(raw, strlen(raw));
	free(raw);
}

const char *fact_kernel(struct fact_maker *m, uint32_t id)
{
	struct state_kernel k;

	if (!state_kernel_by_id(m->from->end, id, &k) || !k.name)
		return "a kernel that is not known";
	return m->from->kernel(m->from->arg, k.name);
}

double fact_share(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

void facts_sort(struct facts *f)
{
	struct fact *all = xcalloc(f->n + 1, sizeof *all);
	size_t n = 0;

	for (unsigned t = 0; t < FACT_TOPICS; t++) {
		for (size_t i = 0; i < f->n; i++) {
			if (f->v[i].topic == t)
				all[n++] = f->v[i];
		}
	}
	free(f->v);
	f->v = all;
	f->cap = f->n + 1;
}

struct err *facts_make(struct facts *ret, const struct facts_from *from)
{
	struct fact_maker m = {ret, from};
	struct err *e;

	*ret = (struct facts){0};
	e = facts_run(&m);
	facts_time(&m);
	facts_work(&m);
	facts_path(&m);
	facts_races(&m);
	facts_unstable(&m);
	facts_changes(&m);
	facts_sort(ret);
	if (e)
		facts_free(ret);
	return e;
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].text);
		free(f->v[i].place);
	}
	free(f->v);
	*f = (struct facts){0};
}
