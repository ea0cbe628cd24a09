/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts, see verdict-text.h. A sentence is a row of a table; a word in braces is a field of
 * the verdict's JSON, put there by the same table as JSON.
 */
#include "shell/print/shown-names.h"
#include "shell/print/verdict-text.h"

#include <inttypes.h>
#include <string.h>
#include "base/json-put.h"
#include "engine/trace-file.h"
#include "replay/replay.h"
#include "shell/print/check-print.h"

/* --- names --- */

static const char *kind_name(uint64_t kind)
{
	static const char *const names[] = {
		[VERDICT_NOT_DETERMINISTIC] = "not_deterministic",
		[VERDICT_RACE] = "race",
		[VERDICT_HOST] = "host_wrote",
		[VERDICT_NOT_EXECUTED] = "not_executed",
		[VERDICT_INCOMPLETE] = "incomplete",
		[VERDICT_UNWRITTEN] = "unwritten",
		[VERDICT_DEVICE] = "device",
		[VERDICT_OPEN] = "open",
	};

	return names[kind];
}

static const struct reason {
	const char *name, *sentence;
	bool commands; /* the lines of seq and with follow */
} reasons[] = {
	[VERDICT_REASON_NONE] = {"none", ""},
	[VERDICT_DIFFERS_AGAIN] = {"differs_again",
		"#{seq} is not deterministic. It is executed again as it was recorded, and no two runs of the program need agree."},
	[VERDICT_DIFFERS_PERTURBED] = {"differs_perturbed",
		"#{seq} may give other bytes than it did. Executed again as it is here it does not; under other conditions it does, and the recording's are"
		" not known."},
	[VERDICT_RACING_COMMANDS] = {"racing_commands",
		"a race ({tier}), see #{seq} and #{with}: both touch {size} bytes at {addr}, and nothing orders them.",
		true},
	[VERDICT_RACING_NODES] = {"racing_nodes",
		"a race ({tier}) in the graph that #{seq} launches: its nodes {node} and {with_node} both touch {size} bytes at {addr}.",
		true},
	[VERDICT_HOST_CHANGED_COPY] = {"host_changed_copy",
		"memory that the host wrote meanwhile. What #{seq} copied lies on the device as recorded; the program had changed"
		" its copy at {addr} before that was looked at.",
		true},
	[VERDICT_LEFT_OUT] = {"left_out",
		"a call that is not executed again: #{seq} {call}. What it did beyond the memory that was recorded with it is missing here."},
	[VERDICT_VALUE_NOT_WRITTEN] = {"value_not_written",
		"a wait that a replay does not keep: #{seq} waits for a value at {addr}, and nothing that a replay executes wrote it"
		" there.\n    What is behind the wait came when the program knew that the wait was over.",
		true},
	[VERDICT_MEMORY_NOT_RECORDED] = {"memory_not_recorded",
		"memory that the trace lacks: {detail}."},
	[VERDICT_READS_UNWRITTEN] = {"reads_unwritten",
		"#{seq} reads memory that nobody wrote, {addr} of the allocation #{alloc_seq} at {allocation}"
		": what lay there in the recording is not in the trace.",
		true},
	[VERDICT_LAST_WRITER] = {"last_writer",
		"the device disagrees with the recording. #{seq} is the last command that writes to {addr}"
		"; executed again from the same memory it leaves the same bytes every time, and not those of the"
		" recording.",
		true},
	[VERDICT_DELIVERS] = {"delivers",
		"the device disagrees with the recording. #{seq} delivers {addr}"
		"; executed again from the same memory it leaves the same bytes every time, and not those of the"
		" recording.",
		true},
	[VERDICT_NO_WRITER] = {"no_writer",
		"the device disagrees with the recording. Nothing in the window writes there."},
	[VERDICT_HOST_MAY_WRITE] = {"host_may_write",
		"that could not be found out. #{seq} touches memory that the program and the device share, {addr}, {size} bytes:\n"
		"    what the program wrote there while commands ran is not in the trace. If it wrote nothing, the device disagrees with the recording.",
		true},
	[VERDICT_UNANSWERED] = {"unanswered", "that could not be found out."},
	[VERDICT_SEARCH_FAILED] = {"search_failed", "that could not be found out: {detail}."},
	[VERDICT_NOT_ASKED] = {"not_asked",
		"`tsdb replay` without --order started finds that out."},
};

static const char *reason_name(uint64_t reason)
{
	return reasons[reason].name;
}

static const char *proof_name(enum verdict_proof proof)
{
	static const char *const names[] = {[VERDICT_UNPROVED] = "none",
		[VERDICT_STARTED] = "started",
		[VERDICT_TURNED] = "turned"};

	return names[proof];
}

static const struct question {
	const char *name, *sentence;
} questions[] = {
	[VERDICT_ASK_DETERMINISM] = {"determinism", "whether a kernel is deterministic"},
	[VERDICT_ASK_PERTURBED] = {"perturbed",
		"whether a kernel gives other bytes in other orders of its blocks"},
	[VERDICT_ASK_RACES] = {"races", "whether commands race"},
	[VERDICT_ASK_HEAP] = {"heap",
		"what they take from the device's own heap cannot be put back"},
	[VERDICT_ASK_LATE] = {"late",
		"they are kept back behind a wait for a value that was written later"},
	[VERDICT_ASK_MISSED] = {"missed", "there was no time for it"},
};

static const char *question_name(uint64_t question)
{
	return questions[question].name;
}

/* --- fields --- */

JS_DEFINE(unanswered_object, "unanswered", verdict_unanswered,
	{"question", JS_NAMED, JS_MEMBER(verdict_unanswered, question), .named = question_name},
	JS(UINT, verdict_unanswered, launches), JS(TEXT, verdict_unanswered, detail));

static struct why values_of(const struct verdict *v)
{
	const bool race = v->reason == VERDICT_RACING_COMMANDS || v->reason == VERDICT_RACING_NODES;

	return (struct why){.v = *v,
		.tier = race ? order_tier_name(v->tier) : NULL,
		.proof = race ? proof_name(v->proof) : NULL};
}

static void put_text(struct buf *out, const void *text)
{
	const struct buf *b = text;

	js_bytes(out, b->data, b->len);
}

JS_DEFINE(verdict_object, "verdict", why,
	{"kind", JS_NAMED, JS_MEMBER(why, v.kind), .named = kind_name},
	{"reason", JS_NAMED, JS_MEMBER(why, v.reason), .named = reason_name},
	JS_IN(UINT, why, v, seq, with), JS_MAYBE("node", ID, why, v.node),
	JS_MAYBE("with_node", ID, why, v.with_node), JS_MAYBE("addr", HEX, why, v.addr),
	JS_IN(UINT, why, v, size), JS_MAYBE("allocation", HEX, why, v.alloc),
	JS_MAYBE("alloc_seq", SEQ, why, v.alloc_seq), JS_MAYBE("call", TEXT, why, v.call),
	JS_MAYBE("detail", TEXT, why, v.detail), JS_MAYBE("tier", TEXT, why, tier),
	JS_MAYBE("proof", TEXT, why, proof), JS_IN(BOOL, why, v, other_device),
	JS_LIST_OF("unanswered", why, v.unanswered, v.nunanswered, unanswered_object),
	JS_BY("text", why, text, put_text, "text"));

const struct js_object *const why_object = &verdict_object;

/* --- sentences --- */

/* The value of a field as a sentence shows it. */
static void put_value(struct buf *out, const struct why *w, const char *name, size_t n)
{
	const struct js_field *f = verdict_object.fields;

	while (f->type != JS_END && (strncmp(f->name, name, n) || f->name[n]))
		f++;
	if (f->type == JS_HEX)
		buf_printf(out, "0x%" PRIx64, js_number(f, w));
	else if (f->type == JS_TEXT)
		buf_str(out, *(const char *const *)(const void *)((const char *)w + f->offset));
	else if (f->type == JS_NAMED)
		buf_str(out, f->named(js_number(f, w)));
	else if (f->type == JS_END)
		BUG("a verdict has no %.*s", (int)n, name);
	else
		buf_printf(out, "%" PRIu64, js_number(f, w));
}

static void put_sentence(struct buf *out, const char *sentence, const struct why *w)
{
	for (size_t n; *sentence; sentence += n) {
		n = strcspn(sentence, "{");
		buf_add(out, sentence, n);
		if (!sentence[n])
			return;
		sentence += n + 1;
		n = strcspn(sentence, "}");
		put_value(out, w, sentence, n);
		n++;
	}
}

static void put_command(struct session *s, struct buf *out, uint64_t seq)
{
	struct trace *t = &s->engine.trace;
	uint32_t stack;
	struct err *e;

	if (!seq)
		return;
	buf_str(out, "    ");
	e = shown_cmd(&(struct shown_names){s, replay_state(t->replay)}, t->reader, seq, false, out,
		&stack);
	if (e)
		buf_printf(out, "#%" PRIu64, seq);
	err_free(e);
	buf_byte(out, '\n');
}

/* What the order of the two sides has to do with it, and what to do. */
static void put_race(struct buf *out, const struct why *w)
{
	static const char *const proofs[] = {
		[VERDICT_UNPROVED] =
			"    The replay executes them in the order of submission every time; the recording need not have.\n",
		[VERDICT_STARTED] =
			"    In the order in which the GPU started them (`tsdb replay --order started`) the window gives exactly what was recorded.\n",
		[VERDICT_TURNED] =
			"    With #{with} before #{seq} the window gives exactly what was recorded.\n",
	};
	const bool overlap = w->v.proof == VERDICT_UNPROVED && w->v.overlap;

	put_sentence(out,
		overlap ? "    The replay executes them as they come (`set replay order concurrent`); the recording need not have.\n"
			: proofs[w->v.proof],
		w);
	buf_str(out, "    Cure: ");
	order_race_cure(out, &w->v.race);
	buf_byte(out, '\n');
}

static void put_device(struct buf *out, const struct verdict *v)
{
	buf_str(out,
		v->other_device
			? "    It was recorded on another GPU or driver, whose results may differ in their last bits.\n"
			: "    No race and no call that is left out explains it. A fault of the hardware may, then or now: replay it on another GPU of the same"
			  " model, and look at `nvidia-smi -q -d ECC` and dmesg (Xid).\n");
}

static void put_unanswered(struct buf *out, const struct verdict_unanswered *u)
{
	const char *sentence = questions[u->question].sentence;

	if (u->detail)
		buf_printf(out, "  %s could not be found out: %s\n", sentence, u->detail);
	else
		buf_printf(out,
			"  whether %" PRIu64 " launch%s deterministic could not be found out: %s\n",
			u->launches, u->launches == 1 ? " is" : "es are", sentence);
}

void verdict_print(struct session *s, const struct verdict *v, struct buf *out)
{
	const struct reason *r = &reasons[v->reason];
	const struct why w = values_of(v);

	if (v->kind == VERDICT_NONE)
		return;
	buf_str(out, "Why: ");
	put_sentence(out, r->sentence, &w);
	buf_byte(out, '\n');
	if (v->check.nlaunches)
		check_print(s, &v->check, out);
	if (r->commands)
		put_command(s, out, v->seq);
	if (r->commands && v->with != v->seq)
		put_command(s, out, v->with);
	if (v->kind == VERDICT_RACE)
		put_race(out, &w);
	if (v->kind == VERDICT_DEVICE)
		put_device(out, v);
	for (size_t i = 0; i < v->nunanswered; i++)
		put_unanswered(out, &v->unanswered[i]);
}

void why_make(struct session *s, const struct verdict *v, struct why *ret)
{
	*ret = values_of(v);
	verdict_print(s, v, &ret->text);
}
