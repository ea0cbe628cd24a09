/* SPDX-License-Identifier: Apache-2.0
 *
 * replay racecheck, and the races found while `set softgpu racecheck` is on; see races.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "replay/plan.h"
#include "shell/analyse/races.h"
#include "engine/breakpoints.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "shell/trace/trace.h"
#include "base/words.h"
#include "sbt/kernel-name.h"

/* Races taken from a live program at a time. */
#define LIVE_MAX 1024u

/* A race that was printed: when a command is executed again, it is not printed again. */
struct told {
	uint64_t label;
	uint32_t line[2], tier, shared;
	char kernel[SOFT_RACE_NAME];
};
struct races {
	struct told *told;
	size_t n, cap;
};

static struct races *races_of(struct session *s)
{
	if (!s->races)
		s->races = xcalloc(1, sizeof *s->races);
	return s->races;
}

void races_forget(struct session *s)
{
	if (s->races)
		s->races->n = 0;
}

void races_deinit(struct session *s)
{
	if (!s->races)
		return;
	free(s->races->told);
	free(s->races);
	s->races = NULL;
}

/* --- telling --- */

/* What tells instructions of a kernel apart. */
static uint32_t insn_of(const struct soft_race_side *x)
{
	return x->line ? x->line : x->code;
}

static bool is_new(struct races *rs, const struct soft_race *r)
{
	struct told *t;

	for (size_t i = 0; i < rs->n; i++) {
		t = &rs->told[i];
		if (t->label == r->label && t->line[0] == insn_of(&r->side[0]) &&
			t->line[1] == insn_of(&r->side[1]) && t->tier == r->tier &&
			t->shared == r->shared && !strcmp(t->kernel, r->kernel))
			return false;
	}
	MAKE_ROOM(rs->told, rs->n, rs->cap);
	t = &rs->told[rs->n++];
	*t = (struct told){
		r->label, {insn_of(&r->side[0]), insn_of(&r->side[1])}, r->tier, r->shared, ""};
	memcpy(t->kernel, r->kernel, sizeof t->kernel);
	return true;
}

/* As a heading, and in JSON. */
static const char *const tiers[][2] = {
	[SOFT_RACE] = {"Race", "race"},
	[SOFT_RACE_ATOMIC_READ] = {"Plain read of what atomics change", "read of atomic"},
	[SOFT_RACE_SAME_VALUE] = {"Race of the same value", "same value"},
};

/* Makes a record safe to use: records come from another process. */
static void make_safe(struct soft_race *r)
{
	r->kernel[sizeof r->kernel - 1] = '\0';
	r->tier = r->tier < sizeof tiers / sizeof *tiers ? r->tier : SOFT_RACE;
	for (unsigned k = 0; k < 2; k++) {
		struct soft_race_side *s = &r->side[k];

		s->insn[sizeof s->insn - 1] = s->function[sizeof s->function - 1] =
			s->file[sizeof s->file - 1] = '\0';
		s->kind = s->kind < SOFT_ACCESSES ? s->kind : SOFT_ACCESS_READ;
	}
}

static void print_address(struct session *s, const struct soft_race *r, struct buf *b)
{
	struct state_alloc a;

	buf_printf(b, "%u byte%s of %s memory at ", r->size, r->size == 1 ? "" : "s",
		r->shared ? "shared" : "global");
	if (r->shared)
		buf_printf(b, "+%" PRIu64, r->addr);
	else if (s->engine.trace.replay &&
		 state_alloc_at(replay_state(s->engine.trace.replay), r->addr, &a))
		buf_printf(b, "0x%" PRIx64 " +%" PRIu64, a.addr, r->addr - a.addr);
	else
		buf_printf(b, "0x%" PRIx64, r->addr);
}

static void print_side(const struct soft_race_side *x, struct buf *b)
{
	static const char *const verbs[SOFT_ACCESSES] = {"reads", "writes", "changes atomically"};

	buf_printf(b, "    block (%u,%u,%u) thread (%u,%u,%u) %s: ", x->block[0], x->block[1],
		x->block[2], x->thread[0], x->thread[1], x->thread[2], verbs[x->kind]);
	if (x->source_line)
		buf_printf(b, "%s:%u, ", x->file, x->source_line);
	if (x->line)
		buf_printf(b, "PTX line %u, %s\n", x->line, x->insn);
	else
		buf_printf(b, "code + 0x%x, %s\n", x->code, x->insn);
}

/* Prints a race. pairs, count: how many pairs of instructions, and how many times, for all races of
 * the same source lines. */
static void print_race(
	struct session *s, const struct soft_race *r, uint64_t count, size_t pairs, struct buf *b)
{
	buf_printf(b, "  %s: ", tiers[r->tier][0]);
	print_address(s, r, b);
	buf_printf(b, ", %" PRIu64 " time%s", count, count == 1 ? "" : "s");
	if (pairs > 1)
		buf_printf(b, ", %zu pairs of instructions", pairs);
	buf_str(b, "\n");
	print_side(&r->side[0], b);
	print_side(&r->side[1], b);
}

static bool same_place(const struct soft_race_side *x, const struct soft_race_side *y)
{
	return x->source_line && x->source_line == y->source_line && x->kind == y->kind &&
	       !strcmp(x->file, y->file);
}

/* Whether two races are of the same source lines: an unrolled loop has many pairs that are one in
 * the source. */
static bool same_source(const struct soft_race *a, const struct soft_race *b)
{
	return a->label == b->label && a->tier == b->tier && a->shared == b->shared &&
	       !strcmp(a->kernel, b->kernel) &&
	       ((same_place(&a->side[0], &b->side[0]) && same_place(&a->side[1], &b->side[1])) ||
		       (same_place(&a->side[0], &b->side[1]) &&
			       same_place(&a->side[1], &b->side[0])));
}

static const char *side_kind(uint64_t v)
{
	static const char *const kinds[SOFT_ACCESSES] = {"read", "write", "atomic"};

	return kinds[v];
}

static const char *tier_name(uint64_t v)
{
	return tiers[v][1];
}

static const char *space_name(uint64_t shared)
{
	return shared ? "shared" : "global";
}

JS_DEFINE(side_object, "race_side", soft_race_side,
	{"kind", JS_NAMED, JS_MEMBER(soft_race_side, kind), .named = side_kind},
	JS(U32S, soft_race_side, block), JS_AS("kernel_thread", U32S, soft_race_side, thread),
	JS_AS("code_line", UINT, soft_race_side, line),
	JS_AS("instruction", CHARS, soft_race_side, insn),
	JS(CHARS, soft_race_side, function, file),
	JS_AS("line", UINT, soft_race_side, source_line));
JS_DEFINE(kernel_race_object, "kernel_race", soft_race, JS_AS("seq", UINT, soft_race, label),
	JS_AS("kernel_name", CHARS, soft_race, kernel),
	{"tier", JS_NAMED, JS_MEMBER(soft_race, tier), .named = tier_name},
	{"space", JS_NAMED, JS_MEMBER(soft_race, shared), .named = space_name},
	JS(HEX, soft_race, addr), JS(UINT, soft_race, size, count),
	JS_OF("sides", ARRAY, soft_race, side, side_object));

static void print_head(const struct soft_race *r, struct buf *b)
{
	char name[SOFT_RACE_NAME];

	sbt_kernel_short_name(name, sizeof name, r->kernel);
	if (r->label)
		buf_printf(b, "#%" PRIu64 " ", r->label);
	buf_printf(b, "%s\n", name);
}

/* Whether it is the first race of its source lines; *ret_count, *ret_pairs: sums over all of
 * them. */
static bool is_leader(
	const struct soft_race *race, size_t n, size_t at, uint64_t *ret_count, size_t *ret_pairs)
{
	*ret_count = *ret_pairs = 0;
	for (size_t i = 0; i < n; i++) {
		if (i != at && !same_source(&race[i], &race[at]))
			continue;
		if (i < at)
			return false;
		*ret_count += race[i].count;
		++*ret_pairs;
	}
	return true;
}

/* ret_n: how many there are of each kind, the more serious ones and all. */
static void print_races(struct session *s, struct soft_race *race, size_t n, bool only_new,
	struct buf *b, size_t ret_n[2])
{
	const struct soft_race *last = NULL;
	uint64_t count;
	size_t pairs;

	ret_n[0] = ret_n[1] = 0;
	for (size_t i = 0; i < n; i++)
		make_safe(&race[i]);
	for (size_t i = 0; i < n; i++) {
		bool leads = is_leader(race, n, i, &count, &pairs);

		if ((only_new && !is_new(races_of(s), &race[i])) || !leads)
			continue;
		ret_n[0] += race[i].tier == SOFT_RACE;
		ret_n[1]++;
		if (!last || last->label != race[i].label || strcmp(last->kernel, race[i].kernel))
			print_head(&race[i], b);
		print_race(s, &race[i], count, pairs, b);
		last = &race[i];
	}
	if (ret_n[0] && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
}

static void tell_doubts(struct session *s, const struct device_races *r)
{
	if (r->doubts)
		out_printf(s->out, "%" PRIu64 " launch%s could not be checked whole: %s\n",
			r->doubts, r->doubts == 1 ? "" : "es", r->doubt);
}

void races_tell(struct session *s)
{
	struct replay_device *rd = s->engine.trace.device;
	struct device_races r;
	struct buf b = BUF_INIT;
	struct err *e;
	size_t n[2];

	if (!rd || !rd->soft || !settings_on(&s->engine.set, SET_SOFT_RACECHECK))
		return;
	e = device_races(rd->d, &r);
	if (e) {
		out_error(s->out, e);
		free(r.race);
		return;
	}
	print_races(s, r.race, r.n, true, &b, n);
	out_str(s->out, buf_cstr(&b));
	tell_doubts(s, &r);
	buf_free(&b);
	free(r.race);
}

/* --- the live program --- */

void races_tell_live(struct session *s)
{
	struct soft_race *race;
	struct buf b = BUF_INIT;
	size_t counts[2];

	if (s->engine.live.races_fd < 0)
		return;
	race = xcalloc(LIVE_MAX, sizeof *race);
	print_races(s, race, soft_races(&s->engine, race, LIVE_MAX), true, &b, counts);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	free(race);
}

/* --- replay racecheck --- */

const char cmd_replay_racecheck_help[] =
	"Executes the window (or command SEQ, or those of a RANGE, or the Kth launch of a kernel)\n"
	"on the software GPU and looks for races inside its kernels: two threads of a launch\n"
	"touch the same byte of global or shared memory, at least one writes, and neither a\n"
	"barrier, an atomic nor a fence orders them. What is found does not depend on which of\n"
	"them came first this time. Each pair of instructions is shown once, with a thread of\n"
	"each side. What may be meant is told apart: a write of the bytes that are there, and a\n"
	"plain read of what atomics change (right when a compare-and-swap then checks it). The\n"
	"replay stays where it is. With --batch the exit status is 3 when there is a race. `set\n"
	"softgpu racecheck on` looks for them in all that is replayed and run.\n"
	"Examples: replay racecheck\n"
	"          replay racecheck reduce nth 2\n"
	"          replay racecheck 12-20 --json\n";

static struct err *parse_part(struct session *s, const struct replay_device *rd,
	const struct cmd_args *a, uint64_t *first, uint64_t *last)
{
	uint64_t nth = 1;
	struct plan p;

	*first = rd->first;
	*last = rd->last;
	if (!a->argc)
		return NULL;
	if (a->argc == 1 && word_range(a->argv[0], first, last)) {
		*first = *first < rd->first ? rd->first : *first;
		*last = *last == UINT64_MAX ? rd->last : *last;
		if (*last > rd->last || *first > *last)
			return err_new(ERR_NOT_FOUND,
				"%s is outside the window #%" PRIu64 " to #%" PRIu64, a->argv[0],
				rd->first, rd->last);
		return NULL;
	}
	if ((a->argc != 1 && a->argc != 3) ||
		(a->argc == 3 && (strcmp(a->argv[1], "nth") || !word_u64(a->argv[2], &nth))))
		return err_cure(err_new(ERR_USAGE, "replay racecheck takes commands or a kernel"),
			"Use \"replay racecheck 12-20\" or \"replay racecheck reduce nth 2\"");
	TRY(plan_kernel(&p, s->engine.trace.reader, rd->first, rd->last, a->argv[0], nth));
	*first = *last = p.to;
	plan_free(&p);
	return NULL;
}

static struct err *run_checked(struct session *s, struct replay_device *rd, uint64_t first,
	uint64_t last, struct device_races *ret)
{
	struct replayer_soft soft;
	struct err *e;

	*ret = (struct device_races){0};
	TRY(soft_settings(&s->engine.set, &soft));
	soft.racecheck = 0;
	TRY(device_soft(rd->d, &soft));
	e = device_seek(rd->d, first - 1);
	if (!e)
		e = device_races(rd->d, ret); /* what was left from before */
	free(ret->race);
	*ret = (struct device_races){0};
	soft.racecheck = 1;
	if (!e)
		e = device_soft(rd->d, &soft);
	if (!e)
		e = device_run(rd->d, last, 0, 0, NULL);
	if (!e)
		e = device_races(rd->d, ret);
	e = replay_device_back(&s->engine, e);
	soft.racecheck = settings_on(&s->engine.set, SET_SOFT_RACECHECK);
	if (e)
		err_free(device_soft(rd->d, &soft));
	else
		e = device_soft(rd->d, &soft);
	return e;
}

struct racecheck {
	uint64_t first, last;
	struct device_races r;
};
JS_DEFINE(racecheck_object, "racecheck", racecheck, JS_AS("first_seq", UINT, racecheck, first),
	JS_AS("last_seq", UINT, racecheck, last), JS_AS("unchecked", UINT, racecheck, r.doubts),
	JS_LIST_OF("races", racecheck, r.race, r.n, kernel_race_object));

static void json_races(struct session *s, struct device_races *r, uint64_t first, uint64_t last)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < r->n; i++) {
		make_safe(&r->race[i]);
		if (r->race[i].tier == SOFT_RACE && s->batch)
			s->quit_status = REPLAY_STATUS_DIFFERS;
	}
	js_put(&b, &racecheck_object, &(struct racecheck){first, last, *r});
	out_printf(s->out, "%s\n", buf_cstr(&b));
	buf_free(&b);
}

static void text_races(struct session *s, struct device_races *r, uint64_t first, uint64_t last)
{
	struct buf b = BUF_INIT;
	size_t n[2];

	print_races(s, r->race, r->n, false, &b, n);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (first == last)
		out_printf(s->out, "%zu race%s in #%" PRIu64, n[0], n[0] == 1 ? "" : "s", first);
	else
		out_printf(s->out, "%zu race%s in #%" PRIu64 " to #%" PRIu64, n[0],
			n[0] == 1 ? "" : "s", first, last);
	if (n[1] > n[0])
		out_printf(s->out, ", and %zu that may be meant", n[1] - n[0]);
	out_str(s->out, ".\n");
	tell_doubts(s, r);
}

struct err *cmd_replay_racecheck(struct session *s, const struct cmd_args *a)
{
	struct replay_device *rd;
	struct device_races r;
	uint64_t first, last;
	struct err *e;

	TRY(replay_device_need(&s->engine, "replay racecheck", &rd));
	if (!rd->soft)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"races inside kernels are found on the software GPU only"),
			"Use \"replay start --on soft\" where the trace has PTX");
	s->focus = FOCUS_REPLAY;
	TRY(parse_part(s, rd, a, &first, &last));
	e = run_checked(s, rd, first, last, &r);
	if (!e && a->json)
		json_races(s, &r, first, last);
	else if (!e)
		text_races(s, &r, first, last);
	free(r.race);
	return e;
}
