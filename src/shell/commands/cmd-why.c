/* SPDX-License-Identifier: Apache-2.0
 *
 * why: what the live program waits for; `tsdb why`, the same of a process that runs; and what is
 * printed at Ctrl-C in a program that waits in a call of the driver.
 */
#include "shell/commands/why-stop.h"

#include <string.h>
#include "engine/live-look.h"
#include "engine/live-process.h"
#include "engine/why-ranks.h"
#include "shell/line/session.h"
#include "shell/live/process.h"
#include "shell/live/why-text.h"
#include "shell/tools/core-ask.h"
#include "shell/tools/tools.h"

enum { STATUS_STUCK = 3, START_MS = 500 };

const char cmd_why_help[] =
	"Says what the stopped program waits for: the chain from a host thread over streams,\n"
	"events, kernels and values in memory, locks, pipes and processes, up to what holds all\n"
	"of it up, or to the cycle that it closes. The device is looked at twice, 200 ms apart,\n"
	"while the program stands still: a kernel that moves is slow, not stuck. On the software\n"
	"GPU a kernel counts as stuck only if it is proven to loop until what it reads changes;\n"
	"on an NVIDIA GPU, if its PTX has no loops but such that read memory at addresses made\n"
	"of its arguments, and what is there now keeps it in them (docs/why.md).\n"
	"What is not certain is never called stuck: \"slow or stuck is not known\" then.\n"
	"With --json, each node and each edge, and how it is known.\n"
	"Ctrl-C says the same when a thread waits for the GPU.\n"
	"Example: why\n"
	"         why --json\n";

static void print_answer(
	struct session *s, bool json, const struct why *w, const struct why_answer *a)
{
	struct buf b = BUF_INIT;

	if (json) {
		why_json(&b, w, a);
		buf_byte(&b, '\n');
	} else {
		why_text(&b, w, a);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

/* Of a program that runs without a tool that uses CUPTI: what else could look inside. */
static void note_core(struct session *s, struct why *w)
{
	const struct live *l = &s->engine.live;

	if (l->look_only && core_can_ask(l->pid))
		why_note(w,
			"`tsdb core -p %d` says in which lines the lanes of its kernels are; it costs the program its context, or its life",
			(int)l->pid);
}

static struct err *ask(struct session *s, bool json, enum why_verdict *ret)
{
	struct why_answer a;
	struct why *w;

	TRY(why_ask(&s->engine, &w));
	note_core(s, w);
	why_judge(w, &a);
	*ret = a.verdict;
	print_answer(s, json, w, &a);
	why_free(w);
	return NULL;
}

struct err *cmd_why(struct session *s, const struct cmd_args *a)
{
	enum why_verdict verdict;

	TRY(ask(s, a->json, &verdict));
	if (verdict == WHY_STUCK && s->batch)
		s->quit_status = STATUS_STUCK;
	return NULL;
}

/* Whether a thread is in a call that waits for the device. */
static bool waits_for_device(struct session *s)
{
	const struct live *l = &s->engine.live;
	struct state_thread t;

	if (!l->recorder || !l->inf)
		return false;
	for (unsigned i = 0; state_thread(recorder_state(l->recorder), i, &t); i++)
		if (t.waiting_in)
			return true;
	return false;
}

void why_at_interrupt(struct session *s)
{
	enum why_verdict verdict;

	if (!s->batch && waits_for_device(s) && !s->engine.live.recording)
		err_free(ask(s, false, &verdict));
}

/* --- tsdb why --- */

struct asked_for {
	const char *who, *ranks, *match;
	bool json;
};

static struct err *usage(const char *why, const char *word)
{
	return err_cure(err_new(ERR_USAGE, why, word),
		"Usage: tsdb why PID|NAME [--json], or tsdb why --ranks GLOB [--match GLOB] [--json]");
}

static struct err *take_words(struct asked_for *a, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!strcmp(w, "--json"))
			a->json = true;
		else if ((!strcmp(w, "--ranks") || !strcmp(w, "--match")) && i + 1 >= argc)
			return usage("%s needs a value", w);
		else if (!strcmp(w, "--ranks"))
			a->ranks = argv[++i];
		else if (!strcmp(w, "--match"))
			a->match = argv[++i];
		else if (*w == '-')
			return usage("why has no option %s", w);
		else if (a->who)
			return usage("why is about one process; %s is one too many", w);
		else
			a->who = w;
	}
	if (!a->who == !a->ranks)
		return usage("why needs a process%s, or the traces of a job's ranks", "");
	return a->match && !a->ranks ? usage("--match needs --ranks%s", "") : NULL;
}

static struct err *why_process(struct session *s, const struct asked_for *a)
{
	uint64_t *const limit = &s->engine.set.number[SET_GPU_TIMEOUT];
	enum why_verdict verdict = WHY_IDLE;
	struct err *e;

	/* the start of capturing waits for a device that hangs, and only later calls need it */
	if (*limit > START_MS)
		*limit = START_MS;
	s->engine.live.look_only = true;
	TRY(process_attach(s, a->who, false));
	e = ask(s, a->json, &verdict);
	if (verdict == WHY_STUCK)
		s->quit_status = STATUS_STUCK;
	err_free(live_detach(&s->engine));
	return e;
}

static struct err *why_job(struct session *s, const struct asked_for *a)
{
	struct why_answer answer;
	struct why *w;

	TRY(why_ask_ranks(a->ranks, a->match, &w));
	why_judge(w, &answer);
	print_answer(s, a->json, w, &answer);
	why_free(w);
	if (answer.verdict == WHY_STUCK)
		s->quit_status = STATUS_STUCK;
	return NULL;
}

int tool_why(struct session *s, int argc, char **argv)
{
	struct asked_for a = {0};
	struct err *e;

	s->quiet = true;
	e = take_words(&a, argc, argv);
	if (!e)
		e = a.ranks ? why_job(s, &a) : why_process(s, &a);
	if (!e)
		return s->quit_status;
	out_error(s->out, e);
	return 1;
}
