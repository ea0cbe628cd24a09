/* SPDX-License-Identifier: Apache-2.0
 *
 * What exploring found, as text and as JSON; see explore.h. The JSON has all that merging needs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "base/words.h"
#include "shell/print/shown-names.h"
#include "shell/print/explore-text.h"
#include "shell/print/graph.h"
#include "shell/print/stack-view.h"
#include "shell/trace/trace.h"
#include "state/state.h"

#define FRAMES 4
#define SHARDS_TOLD 20

/* Appends "#5", or "#5.2" for a step of a graph launch. */
static void print_number(uint64_t entry, struct buf *out)
{
	buf_printf(out, "#%" PRIu64, order_seq(entry));
	if (order_entry_step(entry))
		buf_printf(out, ".%" PRIu32, order_entry_step(entry));
}

/* Prints a step of a graph launch. */
static struct err *print_step_of(
	struct session *s, uint64_t entry, struct buf *out, uint32_t *ret_stack)
{
	const uint32_t step = order_entry_step(entry);
	struct state_steps steps;
	struct sbt_cmd launch;
	struct state *st;
	struct err *e;

	TRY(graph_launched(&s->engine, order_seq(entry), &st, &launch));
	e = state_steps(&steps, st, (uint32_t)launch.u.graph_launch.exec);
	if (!e && step <= steps.n) {
		*ret_stack = steps.step[step - 1].node.stack;
		graph_print_step(out, st, &launch, step, &steps.step[step - 1], false);
	}
	state_steps_free(&steps);
	state_free(st);
	return e;
}

static void print_entry(uint64_t entry, struct buf *out)
{
	if (entry & ORDER_HOST)
		buf_str(out, "the host's write");
	else
		print_number(entry, out);
}

static void print_cmd(struct session *s, const struct state *st, uint64_t entry, struct buf *out)
{
	const uint64_t seq = order_seq(entry);
	struct stack frames = {0};
	uint32_t id = 0;
	struct err *e = NULL;

	buf_str(out, entry & ORDER_HOST ? "    the host writes there before " : "    ");
	if (st)
		e = order_entry_step(entry) ? print_step_of(s, entry, out, &id)
					    : shown_cmd(&(struct shown_names){s, st},
						      s->engine.trace.reader, seq, false, out, &id);
	else
		print_number(entry, out);
	buf_byte(out, '\n');
	if (!st)
		return;
	if (!e)
		e = stack_recorded(s, s->engine.trace.reader, id, &frames);
	stack_print_brief(out, &frames, "      ", FRAMES);
	stack_free(&frames);
	err_free(e);
}

static float as_float(const uint8_t *b)
{
	float f;

	memcpy(&f, b, 4);
	return f;
}

static void print_saved(const char *path, struct buf *out)
{
	const char *id = strrchr(path, '.'), *from = strstr(path, ".schedule-");

	for (const char *p = from; p; p = strstr(p + 1, ".schedule-"))
		from = p;
	buf_printf(out, "  saved as %s: replays to that result every time", path);
	if (from && id > from + 10)
		buf_printf(out, " (replay schedule %.*s --step)", (int)(id - from - 10), from + 10);
	buf_byte(out, '\n');
}

static void print_value(const char *what, const uint8_t *bytes, struct buf *out)
{
	uint32_t w;

	memcpy(&w, bytes, 4);
	buf_printf(out, "%s 0x%08" PRIx32 " (%g)", what, w, (double)as_float(bytes));
}

/* Prints a pair of a free or an allocation and a use of its memory. */
static void print_poisoned(const struct explore_found *f, struct buf *out)
{
	const bool freed = f->flipped[0].before == f->poison;
	const uint64_t user = freed ? f->flipped[0].after : f->flipped[0].before;

	buf_str(out, "because ");
	print_number(user, out);
	buf_printf(out,
		" %s memory that #%" PRIu64
		" has %s: %s memory is poisoned with 0x%02x at #%" PRIu64 "\n",
		f->always ? "uses" : "may use", f->poison, freed ? "freed" : "yet to allocate",
		freed ? "freed" : "new", ORDER_POISON_BYTE, f->poison);
}

/* Prints a programmatic dependent launch, and one before it. */
static void print_held(const struct explore_found *f, struct buf *out)
{
	buf_str(out, "because ");
	print_number(f->as_recorded[0].after, out);
	buf_str(out, " may begin before ");
	print_number(f->held, out);
	buf_str(out,
		" has finished: programmatic dependent launch, not waited for where it counts\n");
}

static void print_cause(const struct explore_found *f, struct buf *out)
{
	if (f->poison) {
		print_poisoned(f, out);
		return;
	}
	if (f->held) {
		print_held(f, out);
		return;
	}
	buf_str(out,
		f->nflipped ? "because "
			    : "by an order among commands of which nobody knows what they touch\n");
	for (size_t k = 0; k < f->nflipped; k++) {
		buf_str(out, k ? ", " : "");
		print_entry(f->as_recorded[k].before, out);
		buf_str(out, " and ");
		print_entry(f->as_recorded[k].after, out);
		if (f->as_recorded[k].after & ORDER_HOST) {
			buf_str(out, " between ");
			print_number(f->as_recorded[k].before, out);
			buf_str(out, " and ");
			print_number(f->as_recorded[k].after, out);
		}
	}
	if (f->nflipped)
		buf_printf(out, " are unordered\n");
}

static void print_values(const struct explore_found *f, struct buf *out)
{
	if (!f->place || !f->nflipped) {
		buf_str(out, f->place ? "  memory is different\n"
				      : "  what was copied to the host is different\n");
		return;
	}
	if (f->always) {
		print_value("  not poisoned:", f->was, out);
		buf_printf(out, " at 0x%" PRIx64 "\n", f->at);
		print_value("  poisoned:", f->is, out);
	} else {
		buf_str(out, f->poison ? "  with " : "  as recorded, ");
		print_entry(f->as_recorded[0].before, out);
		print_value(f->held ? " done first:" : " first:", f->was, out);
		buf_printf(out, " at 0x%" PRIx64 "\n  with ", f->at);
		print_entry(f->held ? f->held : f->flipped[0].before, out);
		print_value(f->held ? " held at its beginning:" : " first:", f->is, out);
	}
	buf_printf(out, ", %" PRIu64 " bytes of 0x%" PRIx64 " differ\n", f->bytes, f->place);
}

static void print_found(struct session *s, const struct state *st, const struct explore_result *r,
	size_t i, struct buf *out)
{
	const struct explore_found *f = &r->found[i];

	buf_printf(out, "Result %zu: another one, ", i + 1);
	print_cause(f, out);
	print_values(f, out);
	for (size_t k = 0; k < f->nflipped && k < 4; k++) {
		print_cmd(s, st, f->as_recorded[k].before, out);
		print_cmd(s, st, f->as_recorded[k].after, out);
	}
	if (f->again)
		buf_printf(out, "  the same two places meet %" PRIu64 " more time%s\n", f->again,
			f->again == 1 ? "" : "s");
	if (f->path)
		print_saved(f->path, out);
}

/* Prints the numbers of the shards that are in the state `that`, if there are any. */
static void print_shards_that(
	const struct explore_result *r, enum explore_have that, const char *what, struct buf *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->shards; i++) {
		if (r->have[i] != that || n++ >= SHARDS_TOLD)
			continue;
		if (n == 1)
			buf_printf(out, "Not complete: %s", what);
		buf_printf(out, "%s %" PRIu32, n > 1 ? "," : "", i + 1);
	}
	if (n)
		buf_printf(out, "%s of %" PRIu32 ".\n", n > SHARDS_TOLD ? " and others" : "",
			r->shards);
}

static void print_shards(const struct explore_result *r, struct buf *out)
{
	print_shards_that(r, EXPLORE_NOTHING, "without shard", out);
	if (r->shards > 1)
		print_shards_that(r, EXPLORE_BEGUN, "with a part of shard", out);
}

static void print_sums(const struct explore_result *r, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " schedule%s executed in %.2f s", r->executed,
		r->executed == 1 ? "" : "s", r->seconds);
	if (r->executed && r->seconds > 0)
		buf_printf(out, " (%.0f a second)", (double)r->executed / r->seconds);
	buf_printf(out, ", %" PRIu64 " left out as equal; %" PRIu64 " unordered pair%s%s. ",
		r->alike, r->pairs, r->pairs == 1 ? "" : "s",
		explore_is_complete(r) ? ", every order of them" : "");
	if (r->nfound)
		buf_printf(out, "%zu other result%s.\n", r->nfound, r->nfound == 1 ? "" : "s");
	else
		buf_str(out, "Always the same result.\n");
	if (r->unstable)
		buf_printf(out,
			"Not compared: %" PRIu64
			" allocation%s different from run to run in the recorded order already (replay check says why).\n",
			r->unstable, r->unstable == 1 ? ", which is" : "s or outputs, which are");
	if (r->left_early)
		buf_str(out,
			"Not tried: programmatic dependent launches beside one in front that never triggers, or of which that is not known, that other nodes of its graph "
			"wait for, too, or that is waited for by an attribute's event (races --possible).\n");
	print_shards(r, out);
}

void explore_print(struct session *s, const struct explore_result *r, struct buf *out)
{
	struct state *st = NULL;

	if (s->engine.trace.reader)
		err_free(state_at(&st, s->engine.trace.reader, r->last));
	for (size_t i = 0; i < r->nfound; i++)
		print_found(s, st, r, i, out);
	print_sums(r, out);
	state_free(st);
}

/* --- JSON --- */

/* A number; "N.K": step K of graph launch N; "host N": what the host changed before command N. */
static void json_entry(uint64_t entry, struct buf *out)
{
	const uint32_t step = order_entry_step(entry);

	if (step)
		buf_printf(out, "\"%s%" PRIu64 ".%" PRIu32 "\"", entry & ORDER_HOST ? "host " : "",
			order_seq(entry), step);
	else
		buf_printf(out, entry & ORDER_HOST ? "\"host %" PRIu64 "\"" : "%" PRIu64,
			order_seq(entry));
}

static void put_entry(struct buf *out, const void *entry)
{
	json_entry(*(const uint64_t *)entry, out);
}

struct pair {
	struct order_pair p;
	uint64_t sites;
};
JS_DEFINE(pair_object, "pair", pair, JS_BY("earlier", pair, p.before, put_entry, "entry"),
	JS_BY("later", pair, p.after, put_entry, "entry"), JS(HEX, pair, sites));

static void put_pairs(struct buf *out, const void *found)
{
	const struct explore_found *f = found;

	buf_byte(out, '[');
	for (size_t i = 0; i < f->nflipped; i++)
		js_add(out, &pair_object, &(struct pair){f->as_recorded[i], f->places[i]});
	buf_byte(out, ']');
}

static void put_schedule(struct buf *out, const void *found)
{
	const struct explore_found *f = found;

	buf_byte(out, '[');
	for (size_t k = 0; k < f->nseqs; k++) {
		buf_str(out, k ? "," : "");
		json_entry(f->seqs[k], out);
	}
	buf_byte(out, ']');
}

/* flipped is the first member. */
JS_DEFINE(found_object, "found", explore_found,
	JS_BY("pairs", explore_found, flipped, put_pairs, "[pair]"),
	JS(UINT, explore_found, poison), JS(BOOL, explore_found, always),
	JS(UINT, explore_found, held, again), JS_AS("allocation", HEX, explore_found, place),
	JS_AS("size", UINT, explore_found, place_size), JS(UINT, explore_found, bytes),
	JS_AS("addr", HEX, explore_found, at), JS(UINT, explore_found, number),
	JS(BYTES, explore_found, was, is), JS_AS("trace", TEXT, explore_found, path),
	JS_BY("schedule", explore_found, flipped, put_schedule, "[entry]"));

struct result {
	struct explore_result r;
	bool complete;
};

void explore_line(const struct explore_result *r, uint32_t i, const char *file, struct buf *out)
{
	const char *trace = r->trace ? r->trace : "TRACE";
	const size_t n = strlen(trace);
	const int cut = (int)(n > 4 && !strcmp(trace + n - 4, ".sbt") ? n - 4 : n);
	char *name = file ? xstrdup(file)
			  : xasprintf("%.*s.window-%u.shard-%" PRIu32 "-of-%" PRIu32 ".json", cut,
				    trace, r->window, i + 1, r->shards);
	char shard[32], budget[32], seed[32], most[32], window[16];
	char *words[24] = {(char *)(uintptr_t) "tsdb", (char *)(uintptr_t) "explore",
		(char *)(uintptr_t)trace, (char *)(uintptr_t) "--shard", shard,
		(char *)(uintptr_t) "--budget", budget, (char *)(uintptr_t) "--seed", seed,
		(char *)(uintptr_t) "--most", most, (char *)(uintptr_t) "--window", window,
		(char *)(uintptr_t) "-o", name};
	unsigned w = 15;

	snprintf(shard, sizeof shard, "%" PRIu32 "/%" PRIu32, i + 1, r->shards);
	if (r->limit > 0)
		snprintf(budget, sizeof budget, "%.0fms", r->limit * 1e3);
	else
		snprintf(budget, sizeof budget, "%" PRIu64, r->budget);
	snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
	snprintf(most, sizeof most, "%" PRIu64, r->most);
	snprintf(window, sizeof window, "%u", r->window);
	if (r->strict)
		words[w++] = (char *)(uintptr_t) "--strict";
	if (file)
		words[w++] = (char *)(uintptr_t) "--resume";
	char *line = words_join(words, w);

	buf_str(out, line);
	free(line);
	free(name);
}

static void put_shards(struct buf *out, const struct explore_result *r, enum explore_have that)
{
	buf_byte(out, '[');
	for (uint32_t i = 0; i < r->shards; i++)
		if (r->have[i] == that)
			buf_printf(out, "%s%" PRIu32, out->data[out->len - 1] == '[' ? "" : ",",
				i + 1);
	buf_byte(out, ']');
}

static void put_have(struct buf *out, const void *result)
{
	put_shards(out, result, EXPLORE_WHOLE);
}

static void put_shown(struct buf *out, const void *result)
{
	const struct explore_result *r = result;

	buf_byte(out, '[');
	for (size_t i = 0; i < r->nshown; i++)
		buf_printf(out, "%s\"0x%" PRIx64 "\"", i ? "," : "", r->shown[i]);
	buf_byte(out, ']');
}

static void put_begun(struct buf *out, const void *result)
{
	put_shards(out, result, EXPLORE_BEGUN);
}

JS_DEFINE(result_object, "explore", result, JS_IN(TEXT, result, r, trace),
	JS_AS("recording", HEX, result, r.id), JS_AS("first_seq", UINT, result, r.first),
	JS_AS("last_seq", UINT, result, r.last), JS_IN(UINT, result, r, shards),
	JS_BY("have", result, r, put_have, "[number]"),
	JS_BY("begun", result, r, put_begun, "[number]"), JS_IN(UINT, result, r, window),
	JS_AS("course", UINT, result, r.at), JS_IN(UINT, result, r, budget, seed, most),
	JS_AS("limit_s", REAL, result, r.limit), JS_IN(BOOL, result, r, strict),
	JS_IN(UINT, result, r, executed, alike), JS_AS("unordered", UINT, result, r.pairs),
	JS_IN(UINT, result, r, unstable),
	JS_IN(BOOL, result, r, left_early, went_through, interrupted), JS(BOOL, result, complete),
	JS_IN(REAL, result, r, seconds), JS_BY("shown_already", result, r, put_shown, "[hex]"),
	JS_LIST_OF("found", result, r.found, r.nfound, found_object));

void explore_json(const struct explore_result *r, struct buf *out)
{
	js_put(out, &result_object, &(struct result){*r, explore_is_complete(r)});
	buf_byte(out, '\n');
}
