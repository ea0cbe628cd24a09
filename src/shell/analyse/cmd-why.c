/* SPDX-License-Identifier: Apache-2.0
 *
 * why: what the live program waits for; `tsdb why`, the same of a process that runs; and what is
 * printed at Ctrl-C in a program that waits in a call of the driver.
 */
#include "shell/analyse/why-stop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "engine/live-look.h"
#include "engine/why-ranks.h"
#include "shell/line/session.h"
#include "shell/live/process.h"
#include "shell/live/why-text.h"
#include "shell/tools/core-ask.h"
#include "shell/tools/tools.h"

enum { STATUS_STUCK = 3, START_MS = 500 };
enum { COREDUMP_ASK, COREDUMP_ON, COREDUMP_OFF }; /* choices of the setting */

const char cmd_why_help[] =
	"Says what the stopped program waits for: the chain from a host thread over streams,\n"
	"events, kernels and values in memory, locks, pipes and processes, up to what holds all\n"
	"of it up, or to the cycle that it closes. The device is looked at twice, 200 ms apart\n"
	"(`set look-apart`), while the program stands still: a kernel that moves is slow, not\n"
	"stuck. On the software GPU a kernel counts as stuck only if it is proven to loop until\n"
	"what it reads changes; on an NVIDIA GPU, if its PTX has no loops but such that read\n"
	"memory at addresses made of its arguments, and what is there now keeps it in them\n"
	"(docs/why.md).\n"
	"What is not certain is never called stuck: \"slow or stuck is not known\" then.\n"
	"With --progress only what moves and what does not, as `progress` has it. With --inside\n"
	"where the lanes of kernels are. On an NVIDIA GPU that is for a process that runs without\n"
	"tsdb: `tsdb why PID --inside` has cuda-gdb attach to it, which holds it up for some\n"
	"seconds. Where cuda-gdb is not installed, it is a core dump of the driver's, which costs\n"
	"the program its context, and is asked about before.\n"
	"With --json, each node and each edge, and how it is known.\n"
	"Ctrl-C says the same when a thread waits for the GPU.\n"
	"Example: why\n"
	"         why --json\n";

const char cmd_progress_help[] =
	"Looks at the device twice, 200 ms apart (`set look-apart`), while the program stands\n"
	"still, and says of each kernel that runs whether it moves, and how that is known.\n"
	"On the software GPU its warps are followed: one that comes back to the same registers\n"
	"and memory without having changed a byte does not move; one that does not, or whose\n"
	"grid begins new blocks, moves. On an NVIDIA GPU the driver says which streams and\n"
	"events have finished, PTX says which kernels only wait, and copies beside the kernel\n"
	"show whether memory that it was given changes. \"May move or not\" is what neither\n"
	"shows. `why` says what it all waits for.\n"
	"Example: progress\n";

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
static void note_inside(struct session *s, struct why *w)
{
	const struct live *l = &s->engine.live;

	if (l->look_only && !l->soft && why_wants_inside(w) && why_can_look_inside())
		why_note(w,
			"`tsdb why %d --inside` says in which lines the lanes of its kernels are, by cuda-gdb; the process stands still for some seconds",
			(int)l->pid);
	else if (l->look_only && core_can_ask(l->pid))
		why_note(w,
			"`tsdb why %d --inside` says in which lines the lanes of its kernels are; it costs the program its context, or its life",
			(int)l->pid);
}

struct asked_for {
	const char *who, *ranks, *match;
	bool json, progress, inside, yes;
};

static void print_graph(
	struct session *s, const struct asked_for *f, struct why *w, enum why_verdict *ret)
{
	struct why_answer a;
	struct buf b = BUF_INIT;

	why_judge(w, &a);
	*ret = a.verdict;
	if (f->progress && f->json) {
		progress_json(&b, w);
		buf_byte(&b, '\n');
	} else if (f->progress) {
		progress_text(&b, w);
	}
	if (f->progress)
		out_str(s->out, buf_cstr(&b));
	else
		print_answer(s, f->json, w, &a);
	buf_free(&b);
}

static struct err *ask(struct session *s, const struct asked_for *f, enum why_verdict *ret)
{
	struct why *w;

	TRY(why_ask(&s->engine, &w));
	if (!f->inside)
		note_inside(s, w);
	print_graph(s, f, w, ret);
	why_free(w);
	return NULL;
}

/* Under tsdb only the software GPU can be looked into, and `why` does. */
static struct err *check_inside(const struct session *s)
{
	if (s->engine.live.soft && settings_on(&s->engine.set, SET_LOOK_INSIDE))
		return NULL;
	if (s->engine.live.soft)
		return err_cure(err_new(ERR_STATE, "looking into the software GPU is switched off"),
			"Use \"set look-inside on\"");
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"the driver writes no core dump of a program that a tool which uses CUPTI looks at, as tsdb does"),
		"Start the program without tsdb and with CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1, and use `tsdb why PID --inside`");
}

static struct err *in_shell(struct session *s, const struct asked_for *f)
{
	enum why_verdict verdict;

	if (f->inside)
		TRY(check_inside(s));
	TRY(ask(s, f, &verdict));
	if (verdict == WHY_STUCK && s->batch && !f->progress)
		s->quit_status = STATUS_STUCK;
	return NULL;
}

struct err *cmd_why(struct session *s, const struct cmd_args *a)
{
	struct asked_for f = {.json = a->json};

	for (unsigned i = 0; i < a->argc; i++) {
		f.progress = f.progress || !strcmp(a->argv[i], "--progress");
		f.inside = f.inside || !strcmp(a->argv[i], "--inside");
	}
	if (a->argc != (unsigned)f.progress + f.inside || (f.progress && f.inside))
		return err_cure(err_new(ERR_USAGE, "why takes --progress, or --inside, or nothing"),
			"See \"help why\"");
	return in_shell(s, &f);
}

struct err *cmd_progress(struct session *s, const struct cmd_args *a)
{
	const struct asked_for f = {.json = a->json, .progress = true};

	if (a->argc > 1 || (a->argc && strcmp(a->argv[0], "test") != 0))
		return err_cure(
			err_new(ERR_USAGE, "progress does not take \"%s\"", a->argv[a->argc - 1]),
			"Use \"progress\"; \"set look-apart\" changes the time between the looks");
	return in_shell(s, &f);
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
		err_free(ask(s, &(struct asked_for){0}, &verdict));
}

/* --- tsdb why --- */

static struct err *usage(const char *why, const char *word)
{
	return err_cure(err_new(ERR_USAGE, why, word),
		"Usage: tsdb why PID|NAME [--progress] [--inside [--yes]] [--json], or tsdb why --ranks GLOB [--match GLOB] [--json]");
}

static struct err *take_words(struct asked_for *a, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!strcmp(w, "--json"))
			a->json = true;
		else if (!strcmp(w, "--progress"))
			a->progress = true;
		else if (!strcmp(w, "--inside"))
			a->inside = true;
		else if (!strcmp(w, "--yes"))
			a->yes = true;
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
	if (a->ranks && (a->progress || a->inside))
		return usage("--%s is about one process", a->inside ? "inside" : "progress");
	if (a->yes && !a->inside)
		return usage("--yes needs --inside%s", "");
	return a->match && !a->ranks ? usage("--match needs --ranks%s", "") : NULL;
}

/* What it costs is put to the user, who must be there to answer. */
static struct err *may_cost_the_context(const struct session *s, const struct asked_for *a)
{
	char line[32] = "";

	if (a->yes || s->engine.set.number[SET_COREDUMP] == COREDUMP_ON)
		return NULL;
	if (!isatty(STDIN_FILENO))
		return err_cure(
			err_new(ERR_STATE,
				"a look inside costs the program its context, and there is no terminal to ask at"),
			"Use --yes, or `set coredump on`");
	fprintf(stderr,
		"The driver's core dump says in which lines the lanes are. It costs the program its context: every later call fails. Go on? (y or n) ");
	if (!fgets(line, sizeof(line), stdin) || (line[strspn(line, " \t")] | 32) != 'y')
		return err_new(ERR_STATE, "the driver was not asked for a core dump");
	return NULL;
}

/* The driver's core dump, where NVIDIA's debugger is not there. */
static struct err *inside_by_core(struct session *s, const struct asked_for *a, pid_t pid)
{
	if (s->engine.set.number[SET_COREDUMP] == COREDUMP_OFF)
		return err_cure(err_new(ERR_STATE,
					"cuda-gdb is not there, and core dumps are switched off"),
			"Install cuda-gdb, or use \"set coredump ask\"");
	if (core_can_ask(pid)) /* else core_show() says what is missing */
		TRY(may_cost_the_context(s, a));
	return core_show(s, pid, NULL, a->json);
}

/* The process runs again. */
static struct err *tell_process(struct session *s, const struct asked_for *a, struct why *w,
	pid_t pid, enum why_verdict *ret)
{
	const bool inside = a->inside && !s->engine.live.soft;
	const bool debugger = inside && why_can_look_inside();

	if (debugger)
		why_look_inside(&s->engine, w);
	print_graph(s, a, w, ret);
	return inside && !debugger ? inside_by_core(s, a, pid) : NULL;
}

static struct err *why_process(struct session *s, const struct asked_for *a)
{
	uint64_t *const limit = &s->engine.set.number[SET_GPU_TIMEOUT];
	enum why_verdict verdict = WHY_IDLE;
	struct why *w;
	struct err *e;
	pid_t pid;

	/* the start of capturing waits for a device that hangs, and only later calls need it */
	if (*limit > START_MS)
		*limit = START_MS;
	s->engine.live.look_only = true;
	TRY(process_attach(s, a->who, false));
	pid = s->engine.live.pid;
	e = why_ask(&s->engine, &w);
	if (!e && !a->inside)
		note_inside(s, w);
	err_free(live_detach(&s->engine));
	if (e)
		return e;
	e = tell_process(s, a, w, pid, &verdict);
	why_free(w);
	if (verdict == WHY_STUCK && !a->progress)
		s->quit_status = STATUS_STUCK;
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
