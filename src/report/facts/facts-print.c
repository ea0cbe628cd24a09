/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts as Markdown, JSON and numbered evidence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "base/text.h"
#include "report/facts.h"

/* --- JSON --- */

struct fact_row {
	const struct fact *is;
	uint64_t number;
	const char *text, *place;
	const uint64_t *seqs;
	size_t nseqs;
};
struct topic_row {
	const char *topic, *title;
	struct fact_row *facts;
	size_t nfacts;
};
struct facts_view {
	const char *path;
	struct topic_row topics[FACT_TOPICS], *first;
	size_t ntopics;
};

static void put_values(struct buf *out, const void *member)
{
	const struct fact *const *f = member;

	buf_byte(out, '{');
	for (unsigned i = 0; i < (*f)->nvalues; i++)
		buf_printf(out, "%s\"%s\":%" PRIu64, i ? "," : "", (*f)->values[i].name,
			(*f)->values[i].v);
	buf_byte(out, '}');
}

JS_DEFINE(fact_object, "fact", fact_row, JS(UINT, fact_row, number), JS(TEXT, fact_row, text),
	JS_AS("call_site", TEXT, fact_row, place), JS_NUMBERS_OF("seqs", fact_row, seqs, nseqs),
	JS_BY("figures", fact_row, is, put_values, "numbers by name"));
JS_DEFINE(topic_object, "report_topic", topic_row, JS(TEXT, topic_row, topic, title),
	JS_LIST_OF("facts", topic_row, facts, nfacts, fact_object));
JS_DEFINE(report_object, "report", facts_view, JS_AS("trace", TEXT, facts_view, path),
	JS_LIST_OF("topics", facts_view, first, ntopics, topic_object));

/* Returns the rows that the view shows, to be freed. */
static struct fact_row *view_make(struct facts_view *v, const struct facts *f, const char *path)
{
	struct fact_row *rows = xcalloc(f->n + 1, sizeof *rows);

	*v = (struct facts_view){.path = path};
	v->first = v->topics;
	for (size_t i = 0; i < f->n; i++) {
		const struct fact *x = &f->v[i];

		rows[i] = (struct fact_row){x, i + 1, x->text, x->place, x->seqs, x->nseqs};
		if (!i || x->topic != f->v[i - 1].topic)
			v->topics[v->ntopics++] = (struct topic_row){
				fact_topic_name(x->topic), fact_topic_title(x->topic), &rows[i], 0};
		v->topics[v->ntopics - 1].nfacts++;
	}
	return rows;
}

void facts_json(struct buf *out, const struct facts *f, const char *path)
{
	struct facts_view v;
	struct fact_row *rows = view_make(&v, f, path);

	js_put(out, &report_object, &v);
	free(rows);
}

struct rank_row {
	uint64_t rank;
	struct buf report;
};
struct set_report {
	struct buf report;
	struct rank_row *ranks;
	size_t nranks;
};
JS_DEFINE(rank_report_object, "rank_report", rank_row, JS(UINT, rank_row, rank),
	JS_BY("report", rank_row, report, js_raw, "report"));
JS_DEFINE(report_set_object, "report_set", set_report,
	JS_BY("together", set_report, report, js_raw, "report"),
	JS_LIST_OF("rank_list", set_report, ranks, nranks, rank_report_object));

void facts_set_json(struct buf *out, const struct facts *together, const char *path,
	const struct facts_rank *ranks, size_t n)
{
	struct set_report v = {
		.report = BUF_INIT, .ranks = xcalloc(n + 1, sizeof *v.ranks), .nranks = n};

	facts_json(&v.report, together, path);
	for (size_t i = 0; i < n; i++) {
		v.ranks[i] = (struct rank_row){ranks[i].rank, BUF_INIT};
		facts_json(&v.ranks[i].report, ranks[i].facts, ranks[i].path);
	}
	js_put(out, &report_set_object, &v);
	for (size_t i = 0; i < n; i++)
		buf_free(&v.ranks[i].report);
	buf_free(&v.report);
	free(v.ranks);
}

/* --- text --- */

/* Markdown obeys these at many places, and HTML's inside it. */
static void put_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>&|~", *text))
			buf_byte(out, '\\');
		buf_byte(out, (uint8_t)*text);
	}
}

/* The commands that the sentence does not name itself. */
static void put_seqs(struct buf *out, const struct fact *f)
{
	for (unsigned i = 0, n = 0; i < f->nseqs; i++) {
		char word[32];

		snprintf(word, sizeof word, "#%" PRIu64, f->seqs[i]);
		if (!strstr(f->text, word))
			buf_printf(out, "%s%s", n++ ? ", " : " See ", word);
	}
}

void facts_markdown(struct buf *out, const struct facts *f, const char *path)
{
	char *safe = text_safe_dup(path, strlen(path));

	buf_str(out, "# ");
	put_escaped(out, safe);
	buf_byte(out, '\n');
	for (size_t i = 0; i < f->n; i++) {
		const struct fact *x = &f->v[i];

		if (!i || x->topic != f->v[i - 1].topic)
			buf_printf(out, "\n## %s\n\n", fact_topic_title(x->topic));
		buf_str(out, "- ");
		put_escaped(out, x->text);
		if (x->place) {
			buf_str(out, " At ");
			put_escaped(out, x->place);
			buf_byte(out, '.');
		}
		put_seqs(out, x);
		buf_byte(out, '\n');
	}
	free(safe);
}

static bool names_commands(const struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].nseqs)
			return true;
	}
	return false;
}

void facts_explain(struct buf *out, const struct facts *f, const char *path)
{
	char *safe = text_safe_dup(path, strlen(path));

	buf_printf(out, "Evidence from %s.", safe);
	if (names_commands(f))
		buf_printf(out, " \"#41\" is a command: tsdb view %s 41 --stacks shows it.", safe);
	buf_byte(out, '\n');
	for (size_t i = 0; i < f->n; i++) {
		const struct fact *x = &f->v[i];

		buf_printf(out, "[%zu] %s: %s", i + 1, fact_topic_name(x->topic), x->text);
		if (x->place)
			buf_printf(out, " At %s.", x->place);
		put_seqs(out, x);
		buf_byte(out, '\n');
	}
	free(safe);
}
