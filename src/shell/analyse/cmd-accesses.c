/* SPDX-License-Identifier: Apache-2.0
 *
 * info accesses: which bytes commands read, write and change atomically, found by executing them on
 * the software GPU.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "engine/replay-device.h"
#include "shell/trace/trace.h"
#include "base/words.h"

/* shown of each kind, for one command */
#define SPANS_SHOWN 20u
/* requested of each kind; with more, gaps are closed */
#define SPANS_MAX 65536u

static const char *const verbs[SOFT_ACCESSES] = {"reads", "writes", "changes atomically"};

struct listing {
	struct session *s;
	uint64_t seq; /* of the command listed last */
	/* right after the command being listed; NULL: no command was listed so far */
	struct state *at;
	struct sbt_cursor *cur; /* its last command is that one */
	bool json;
	size_t n;
	struct buf out;
};

/* The part of a span within one allocation: spans of neighbouring allocations are joined. */
static struct soft_span piece_of(
	const struct listing *l, struct soft_span s, struct state_alloc *ret, bool *ret_known)
{
	*ret_known = state_alloc_at(l->at, s.addr, ret);
	if (*ret_known && ret->addr + ret->size - s.addr < s.size)
		s.size = ret->addr + ret->size - s.addr;
	return s;
}

static void text_spans(struct listing *l, const struct soft_access_set *set, unsigned k)
{
	uint64_t bytes = 0;
	size_t shown = 0;

	for (size_t i = 0; i < set->n[k]; i++)
		bytes += set->span[k][i].size;
	buf_printf(&l->out, "  %s %s%" PRIu64 " byte%s\n", verbs[k],
		set->inexact >> k & 1 ? "at most " : "", bytes, bytes == 1 ? "" : "s");
	for (size_t i = 0; i < set->n[k] && shown < SPANS_SHOWN; i++) {
		struct soft_span left = set->span[k][i];

		while (left.size && shown < SPANS_SHOWN) {
			struct state_alloc a;
			bool known;
			struct soft_span p = piece_of(l, left, &a, &known);

			if (known)
				buf_printf(&l->out, "    0x%" PRIx64 " +%" PRIu64, a.addr,
					p.addr - a.addr);
			else
				buf_printf(&l->out, "    0x%" PRIx64, p.addr);
			buf_printf(&l->out, ", %" PRIu64 " byte%s%s\n", p.size,
				p.size == 1 ? "" : "s",
				known && p.size == a.size ? ": all of it" : "");
			left.addr += p.size;
			left.size -= p.size;
			shown++;
		}
	}
	if (set->n[k] > SPANS_SHOWN)
		buf_printf(&l->out, "    ... %zu ranges in all; --json lists them\n", set->n[k]);
}

struct span {
	uint64_t addr, size, allocation, offset;
};
JS_DEFINE(span_object, "span", span, JS(HEX, span, addr), JS(UINT, span, size),
	JS_MAYBE("allocation", HEX, span, allocation), JS_MAYBE("offset", ID, span, offset));

/* One kind of an access set. */
struct kind {
	const struct listing *l;
	const struct soft_access_set *set;
	unsigned k;
};

static void put_spans(struct buf *out, const void *kind)
{
	const struct kind *x = kind;

	buf_byte(out, '[');
	for (size_t i = 0; i < x->set->n[x->k]; i++) {
		struct soft_span left = x->set->span[x->k][i];

		while (left.size) {
			struct state_alloc a;
			bool known;
			struct soft_span p = piece_of(x->l, left, &a, &known);

			js_add(out, &span_object,
				&(struct span){p.addr, p.size, known ? a.addr : 0,
					known ? p.addr - a.addr : UINT64_MAX});
			left.addr += p.size;
			left.size -= p.size;
		}
	}
	buf_byte(out, ']');
}

struct accesses {
	uint64_t seq;
	bool exact;
	struct sbt_cmd_ref cmd;
	struct kind kind[SOFT_ACCESSES];
};
JS_DEFINE(accesses_object, "accesses", accesses, JS(UINT, accesses, seq), JS(BOOL, accesses, exact),
	JS_BY("command", accesses, cmd, sbt_json_ref, "command"),
	JS_BY("read", accesses, kind[0], put_spans, "[span]"),
	JS_BY("written", accesses, kind[1], put_spans, "[span]"),
	JS_BY("atomic", accesses, kind[2], put_spans, "[span]"));

/* Moves on to command seq, which lies further on than the one before, unless it had been kept back.
 */
static struct err *go_to(struct listing *l, uint64_t seq, const struct sbt_cmd **ret)
{
	if (l->at && seq <= l->seq) {
		sbt_cursor_close(l->cur);
		state_free(l->at);
		l->cur = NULL;
		l->at = NULL;
	}
	l->seq = seq;
	if (!l->at) {
		TRY(state_at(&l->at, l->s->engine.trace.reader, seq - 1));
		TRY(sbt_cursor_open(&l->cur, l->s->engine.trace.reader));
		TRY(sbt_cursor_seek(l->cur, seq));
	}
	do {
		TRY(sbt_cursor_next(l->cur, ret));
		if (*ret)
			TRY(state_apply(l->at, *ret));
	} while (*ret && (*ret)->seq < seq);
	return *ret ? NULL : err_new(ERR_NOT_FOUND, "the trace does not hold #%" PRIu64, seq);
}

static struct err *list_set(void *arg, const struct access_set *a)
{
	struct listing *l = arg;
	const struct sbt_cmd *c;
	struct sbt_names names;

	TRY(go_to(l, a->seq, &c));
	names = state_names(l->at);
	l->n++;
	if (l->json) {
		js_add(&l->out, &accesses_object,
			&(struct accesses){a->seq, !a->set.inexact, {c, &names},
				{{l, &a->set, 0}, {l, &a->set, 1}, {l, &a->set, 2}}});
		return NULL;
	}
	sbt_print_cmd(&l->out, c, &names);
	buf_byte(&l->out, '\n');
	for (unsigned k = 0; k < SOFT_ACCESSES; k++)
		if (a->set.n[k])
			text_spans(l, &a->set, k);
	return NULL;
}

/* Reports commands that are kept back at `last`, whose accesses are not known yet. If they are all
 * that was asked for, that is an error. */
static struct err *tell_kept_back(
	struct device *d, uint64_t first, uint64_t last, size_t listed, uint64_t *ret_n)
{
	uint64_t wait;

	TRY(device_kept(d, first, &wait, ret_n));
	if (listed || first != last || !wait)
		return NULL;
	return err_cure(err_new(ERR_STATE, REPLAYER_KEPT_BACK, (unsigned long long)first,
				(unsigned long long)wait),
		"Use \"info accesses\" with a range that goes to the command that writes it, or further");
}

const char cmd_info_accesses_help[] =
	"Shows which bytes of memory the current command (or command SEQ, or those of a range)\n"
	"reads, writes and changes by atomic operations: exact to the byte, found by executing\n"
	"them on the software GPU. A write counts also when the bytes stay the same. Launches of\n"
	"graphs are one command. The replay stays where it is. \"at most\": there were too many\n"
	"ranges, and the smallest gaps were closed.\n"
	"Examples: info accesses\n"
	"          info accesses 12-20 --json\n";

struct err *cmd_info_accesses(struct session *s, const struct cmd_args *a)
{
	struct listing l = {.s = s, .json = a->json};
	struct replay_device *rd;
	uint64_t first = replay_seq(s->engine.trace.replay), last = first, kept = 0;
	struct err *e;

	TRY(replay_device_need(&s->engine, "info accesses", &rd));
	if (a->argc > 1 || (a->argc && !word_range(a->argv[0], &first, &last)))
		return err_cure(err_new(ERR_USAGE, "info accesses takes a command or a range"),
			"Use \"info accesses 12\" or \"info accesses 12-20\"");
	if (!first && !a->argc)
		return err_cure(err_new(ERR_STATE, "the replay stands before its first command"),
			"Use \"info accesses SEQ\", or \"replay step\"");
	if (!rd->soft)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"the machine's GPU does not tell which bytes its kernels access"),
			"Use \"replay start --on soft\" where the trace has PTX");
	s->focus = FOCUS_REPLAY;
	first = a->argc && first < rd->first ? rd->first : first;
	last = last == UINT64_MAX ? rd->last : last;
	if (a->json)
		buf_byte(&l.out, '[');
	e = device_access_sets(rd->d, first, last, SPANS_MAX, list_set, &l);
	if (!e)
		e = tell_kept_back(rd->d, first, last, l.n, &kept);
	e = replay_device_back(&s->engine, e);
	if (!e && a->json)
		out_printf(s->out, "%s]\n", buf_cstr(&l.out));
	else if (!e && !l.n)
		out_printf(s->out,
			first == last ? "#%" PRIu64 " accesses no memory of the device.\n"
				      : "No command from #%" PRIu64
					" on accesses memory of the device.\n",
			first);
	else if (!e)
		out_str(s->out, buf_cstr(&l.out));
	if (!e && kept && !a->json)
		out_printf(s->out,
			"%" PRIu64 " command%s kept back at #%" PRIu64
			", behind waits for values: not executed yet.\n",
			kept, kept == 1 ? " is" : "s are", last);
	sbt_cursor_close(l.cur);
	state_free(l.at);
	buf_free(&l.out);
	return e;
}
