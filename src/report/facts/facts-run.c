/* SPDX-License-Identifier: Apache-2.0
 *
 * What was recorded, which calls failed, and what the trace does not have.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "report/facts/fact-list.h"
#include "sbt/fields.h"

static void keep_fault(struct fact_counts *n, const struct sbt_cmd *c)
{
	if (n->failed < FACTS_FAULTS)
		n->faults[n->failed] = (struct fact_fault){c->seq, c->kind, c->result, c->stack,
			c->kind == SBT_LAUNCH ? (uint32_t)c->u.launch.kernel : SBT_NO_ID};
	n->failed++;
}

void fact_counts_take(struct fact_counts *n, const struct sbt_cmd *c)
{
	const bool work = c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH ||
			  c->kind == SBT_COPY || c->kind == SBT_FILL;
	const bool own = !(c->flags & SBT_F_SYNTHETIC);

	n->commands++;
	n->launches += c->kind == SBT_LAUNCH;
	n->graphs += c->kind == SBT_GRAPH_LAUNCH;
	n->copies += c->kind == SBT_COPY;
	n->fills += c->kind == SBT_FILL;
	n->waits += c->kind == SBT_SYNC;
	if (work && sbt_cmd_is_work(c)) {
		n->work++;
		n->untimed += !c->gpu_start_ns;
		n->without_stack += own && !c->stack;
	}
	if (c->result && c->result != STATE_NOT_READY)
		keep_fault(n, c);
}

static void put_failed(struct fact_maker *m, const struct fact_fault *f)
{
	const struct sbt_kind_desc *d = sbt_kind(f->kind);

	fact_add(m, FACT_FAULT, "#%" PRIu64 " %s failed with error %u%s%s.", f->seq,
		d ? d->name : "command", f->result, f->kind == SBT_LAUNCH ? ": " : "",
		f->kind == SBT_LAUNCH ? fact_kernel(m, f->kernel) : "");
	fact_seq(m, f->seq);
	fact_value(m, "error", f->result);
	fact_place(m, f->stack);
}

static struct err *count_all(struct fact_maker *m, struct fact_counts *n)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, m->from->r));
	e = sbt_cursor_seek(cursor, m->from->first);
	while (!e) {
		e = sbt_cursor_next(cursor, &c);
		if (e || !c || c->seq > m->from->last)
			break;
		fact_counts_take(n, c);
	}
	sbt_cursor_close(cursor);
	return e;
}

static void put_counts(struct fact_maker *m, const struct fact_counts *n)
{
	struct buf b = BUF_INIT;

	fact_count(&b, n->launches, "launch", "launches");
	fact_count(&b, n->graphs, "graph launch", "graph launches");
	fact_count(&b, n->copies, "copy", "copies");
	fact_count(&b, n->fills, "fill", "fills");
	fact_count(&b, n->waits, "wait of the host", "waits of the host");
	fact_add(m, FACT_RUN, "%" PRIu64 " command%s%s%s.", n->commands, FACT_S(n->commands),
		b.len ? ": " : ", none of which is work or waits for it",
		b.len ? buf_cstr(&b) : "");
	fact_value(m, "commands", n->commands);
	fact_value(m, "launches", n->launches);
	fact_value(m, "graph_launches", n->graphs);
	fact_value(m, "copies", n->copies);
	fact_value(m, "fills", n->fills);
	fact_value(m, "host_waits", n->waits);
	buf_free(&b);
}

static void put_run(struct fact_maker *m, const struct fact_counts *n)
{
	const struct sbt_meta *meta = sbt_reader_meta(m->from->r);
	const time_t start = (time_t)(meta->start_ns / 1000000000);
	char when[64] = "an unknown time";
	struct tm tm;

	if (gmtime_r(&start, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
	fact_add(m, FACT_RUN, "%s, process %u on %s, recorded at %s by tsdb %s.",
		*meta->program ? meta->program : "A program", meta->pid, meta->host, when,
		meta->tsdb);
	fact_add(m, FACT_RUN, "The device is %s%s.", *meta->gpu ? meta->gpu : "not known",
		meta->soft && *meta->gpu ? ", which runs on the CPU: its times are no GPU's" : "");
	put_counts(m, n);
	for (size_t i = 0; i < n->failed && i < FACTS_FAULTS; i++)
		put_failed(m, &n->faults[i]);
	if (n->failed > FACTS_FAULTS)
		fact_add(m, FACT_FAULT, "%" PRIu64 " more call%s failed.", n->failed - FACTS_FAULTS,
			FACT_S(n->failed - FACTS_FAULTS));
	else if (!n->failed)
		fact_add(m, FACT_FAULT, "No call failed.");
}

static void put_lines(struct fact_maker *m, const char *text)
{
	while (text && *text) {
		const size_t n = strcspn(text, "\n");

		if (n)
			fact_add(m, FACT_MISSING, "%.*s%s", (int)(n < 4096 ? n : 4096), text,
				text[n - 1] == '.' ? "" : ".");
		text += n + (text[n] == '\n');
	}
}

static void put_meta_missing(struct fact_maker *m, const struct fact_counts *n)
{
	const struct sbt_meta *meta = sbt_reader_meta(m->from->r);

	if (meta->observed)
		fact_add(m, FACT_MISSING,
			"The program was observed from outside: there is no memory, no code, and there are no GPU times.");
	else if (!meta->timestamps)
		fact_add(m, FACT_MISSING,
			"GPU times were not recorded (tsdb record --timestamps): when work ran is not known, so neither is the long pole.");
	else if (n->untimed)
		fact_add(m, FACT_MISSING,
			"%" PRIu64 " of %" PRIu64
			" launches, copies and fills %s no GPU time: the trace ended before they did, or the driver gave none.",
			n->untimed, n->work, n->untimed == 1 ? "has" : "have");
	if (!meta->stacks)
		fact_add(m, FACT_MISSING, "Host stacks were not recorded.");
	else if (n->without_stack)
		fact_add(m, FACT_MISSING,
			"%" PRIu64 " of %" PRIu64 " launches, copies and fills %s no host stack.",
			n->without_stack, n->work, n->without_stack == 1 ? "has" : "have");
}

static void put_missing(struct fact_maker *m, const struct fact_counts *n)
{
	const struct facts_from *from = m->from;
	struct state_totals t;
	const char *call;
	uint64_t calls;

	put_meta_missing(m, n);
	put_lines(m, sbt_reader_damage(from->r));
	if (sbt_reader_lost(from->r))
		fact_add(m, FACT_MISSING, "%" PRIu64 " record%s lost while recording.",
			sbt_reader_lost(from->r),
			sbt_reader_lost(from->r) == 1 ? " was" : "s were");
	for (unsigned i = 0; sbt_reader_unreplayable(from->r, i, &call, &calls); i++)
		fact_add(m, FACT_MISSING,
			"%s, called %" PRIu64
			" time%s, changes GPU state and no command describes it.",
			call, calls, FACT_S(calls));
	state_totals(from->end, &t);
	if (t.attach_seq) {
		fact_add(m, FACT_MISSING,
			"tsdb was attached to the running program: what came before is not known.");
		fact_seq(m, t.attach_seq);
	}
	if (t.unknown)
		fact_add(m, FACT_MISSING,
			"%" PRIu64 " thing%s could not be found out, the last: %s.", t.unknown,
			FACT_S(t.unknown), t.last_unknown ? t.last_unknown : "not named");
	if (t.oddities)
		fact_add(m, FACT_MISSING,
			"%" PRIu64 " command%s contradict%s what came before, the last: %s.",
			t.oddities, FACT_S(t.oddities), t.oddities == 1 ? "s" : "",
			t.last_oddity ? t.last_oddity : "not named");
}

struct err *facts_run(struct fact_maker *m)
{
	struct fact_counts own = {0};
	const struct fact_counts *n = m->from->counts ? m->from->counts : &own;

	if (n == &own)
		TRY(count_all(m, &own));
	put_run(m, n);
	put_missing(m, n);
	return NULL;
}
