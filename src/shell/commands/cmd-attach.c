/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands for programs that run already: attach, detach, and the option -p.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/attach.h"
#include "shell/record/capture.h"
#include "shell/live/gpu.h"
#include "shell/line/interrupt.h"
#include "base/maps-line.h"
#include "shell/live/process.h"
#include "base/words.h"

enum { MATCHES_MAX = 32, OLD_MAX = 1024, LINE_MAX_BYTES = 4096 };

const char cmd_attach_help[] =
	"Attaches to a process that runs, by its number or its name, and stops it. The agent\n"
	"is loaded into it there and then; nothing need be restarted, rebuilt or set in its\n"
	"environment. What existed before is found out as it is met. From then on everything\n"
	"works as after `run`; `detach` and `quit` let the process go on, `kill` kills it (`run`\n"
	"starts its program again, with its arguments). One\n"
	"that SIGSTOP or Ctrl-Z has stopped stays so until `continue`.\n"
	"With --wait, waits until the next process of that name starts, and catches it.\n"
	"Example: attach 4711\n"
	"Example: attach --wait train\n";
const char cmd_detach_help[] =
	"Lets the program go on without tsdb: breakpoints are gone, the agent in it sleeps, a\n"
	"capture that is on ends. `attach` comes back to it. One that SIGSTOP had stopped before\n"
	"the attach is left stopped, unless `continue` has woken it.\n"
	"Example: detach\n";

/* --- which process --- */

static struct err *many(const char *name, const pid_t *pids, unsigned n)
{
	struct buf b = BUF_INIT;
	struct err *e;

	for (unsigned i = 0; i < n && i < MATCHES_MAX; i++)
		buf_printf(&b, "%s%d", i ? ", " : "", pids[i]);
	if (n > MATCHES_MAX)
		buf_str(&b, ", ...");
	e = err_cure(err_new(ERR_USAGE, "%u processes are called %s: %s", n, name, buf_cstr(&b)),
		"Name one by its number: attach %d", pids[0]);
	buf_free(&b);
	return e;
}

static struct err *find(const char *name, pid_t *ret)
{
	pid_t pids[MATCHES_MAX];
	unsigned n = inferior_find(name, pids, MATCHES_MAX);

	if (!n)
		return err_cure(err_new(ERR_NOT_FOUND, "no process is called %s", name),
			"\"attach --wait %s\" catches its next start; `ps -e` lists processes",
			name);
	if (n > 1)
		return many(name, pids, n);
	*ret = pids[0];
	return NULL;
}

static struct err *wait_for(struct session *s, const char *name, pid_t *ret)
{
	pid_t old[OLD_MAX];
	/* read first: a process started after the message below is then caught */
	unsigned nold = inferior_find(name, old, OLD_MAX);

	out_printf(s->out, "Waiting for a process called %s (Ctrl-C ends that).\n", name);
	out_flush(s->out);
	if (inferior_await(name, old, nold < OLD_MAX ? nold : OLD_MAX, &interrupt_flag, ret))
		return NULL;
	interrupt_take();
	return err_new(ERR_INTERRUPTED, "no process called %s has started", name);
}

/* --- attaching --- */

/* The command line of a process as one line; a heap string. */
static char *command_line(pid_t pid)
{
	char path[64], text[LINE_MAX_BYTES], *words[LINE_MAX_BYTES / 2];
	unsigned nwords = 0;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof text - 1, f);
		fclose(f);
	}
	text[n] = 0;
	for (size_t i = 0; i < n && nwords < LINE_MAX_BYTES / 2; i += strlen(text + i) + 1)
		words[nwords++] = text + i;
	return words_join(words, nwords);
}

static char *link_of(pid_t pid, const char *what)
{
	char path[64], text[LINE_MAX_BYTES];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	n = readlink(path, text, sizeof text - 1);
	text[n < 0 ? 0 : n] = 0;
	if (n > (ssize_t)strlen(MAPS_DELETED) &&
		!strcmp(text + n - strlen(MAPS_DELETED), MAPS_DELETED))
		/* the file of that name now is another one, or none; the name is still the
		 * program's */
		text[n - (ssize_t)strlen(MAPS_DELETED)] = 0;
	return xstrdup(text);
}

static bool uses_soft_gpu(struct inferior *inf)
{
	struct inferior_library l;

	for (unsigned i = 0; inferior_library(inf, i, &l); i++)
		if (strstr(l.path, "/softgpu/libcuda.so"))
			return true;
	return false;
}

/* Prints that the agent waits for the device, what is not known until then, and what the device was
 * doing. */
static void tell_blocked(struct session *s, pid_t pid, const struct attach_result *r)
{
	out_str(s->out,
		".\nThe GPU does not come to an end: CUPTI, which reports GPU calls, waits for the work that was there. Capture begins when that is over.\n");
	out_str(s->out,
		"Not known until then: contexts, streams, memory and kernels from before. `info threads` and `bt` show where the host waits.\n");
	for (const char *at = r->busy, *end; *at; at = end + (*end == '\n')) {
		end = at + strcspn(at, "\n");
		out_printf(s->out, "  %.*s\n", (int)(end - at), at);
	}
	(void)pid;
}

static void tell(struct session *s, pid_t pid, const struct attach_result *r)
{
	out_printf(s->out, "Attached to process %d (%s), %u thread%s; it was held up for %.1f ms",
		pid, r->name, r->threads, r->threads == 1 ? "" : "s", (double)r->pause_ns / 1e6);
	if (r->held)
		out_str(s->out,
			".\nThe agent of an earlier attach is still in a call of the GPU driver that does not return: the GPU does not come to an end. No GPU call is seen, and "
			"nothing is known of the GPU.\n`info threads` and `bt` show where the host waits. When the GPU's work has ended, `detach` and attach again.\n");
	else if (r->blocked)
		tell_blocked(s, pid, r);
	else if (r->waiting)
		out_str(s->out, ".\nIt has not used the GPU yet: capture begins when it does.\n");
	else
		out_printf(s->out, ", and the agent was up %.1f ms later.\n",
			(double)r->start_ns / 1e6);
	if (r->stopped && s->target.recording)
		out_printf(s->out,
			"It was stopped (by SIGSTOP or Ctrl-Z), and is until `kill -CONT %d`.\n",
			(int)pid);
	else if (r->stopped)
		out_str(s->out,
			"It was stopped (by SIGSTOP or Ctrl-Z): `continue` wakes it, `detach` leaves it stopped.\n");
}

/* Adopts the process's program and arguments for `run`, unless the user chose a program. */
static void adopt(struct session *s, pid_t pid, const char *line)
{
	char **words;
	unsigned n;
	struct err *e;

	if (s->target.program && !s->target.adopted)
		return;
	free(s->target.program);
	s->target.program = link_of(pid, "exe");
	s->target.adopted = true;
	e = words_split(line, &words, &n);
	if (!e) {
		free(s->engine.set.string[SET_ARGS]);
		s->engine.set.string[SET_ARGS] = words_join(words + !!n, n - !!n);
		words_free(words);
	}
	err_free(e);
}

static struct err *attach(struct session *s, pid_t pid)
{
	struct attach_options o = {.pid = pid,
		.agent = gpu_agent_path(),
		.ring_bytes = (uint32_t)s->engine.set.number[SET_RING_SIZE],
		.start_ms = s->engine.set.number[SET_GPU_TIMEOUT] < UINT32_MAX
				    ? (unsigned)s->engine.set.number[SET_GPU_TIMEOUT]
				    : UINT32_MAX,
		.without_agent = !s->target.recording,
		.interrupt = &interrupt_flag};
	struct attach_result r;
	struct inferior *inf;
	char *line, *cwd;
	struct err *e;

	if (!o.agent)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"libtsdb-agent.so is not installed: programs cannot be debugged"),
			"Build tsdb where the CUDA toolkit's headers are; traces can be viewed and replayed without");
	out_flush(s->out);
	line = command_line(pid);
	cwd = link_of(pid, "cwd");
	e = inferior_attach(&inf, &o, &r);
	if (e && e->code == ERR_INTERRUPTED)
		interrupt_take();
	if (!e) {
		tell(s, pid, &r);
		adopt(s, pid, line);
		e = process_take(s, inf, line, cwd, uses_soft_gpu(inf));
	}
	free(line);
	free(cwd);
	free((char *)o.agent);
	return e;
}

struct err *process_attach(struct session *s, const char *who, bool wait)
{
	uint64_t number;
	pid_t pid;

	if (s->target.inf && !session_confirm(s, "A program is being debugged already. %s it?",
				     inferior_attached(s->target.inf) ? "Leave" : "Kill"))
		return err_new(ERR_STATE, "nothing was attached to");
	if (s->target.inf)
		TRY(inferior_attached(s->target.inf) ? process_detach(s) : process_kill(s));
	TRY(capture_check(s));
	if (*who == '-')
		return err_cure(err_new(ERR_USAGE, "attach has no \"%s\"", who),
			"For example: attach 4711, attach --wait train");
	if (!wait && word_u64(who, &number)) {
		if (number > INT32_MAX)
			return err_cure(err_new(ERR_NOT_FOUND, "there is no process %s", who),
				"`ps -e` lists the processes");
		return attach(s, (pid_t)number);
	}
	TRY(wait ? wait_for(s, who, &pid) : find(who, &pid));
	return attach(s, pid);
}

struct err *cmd_attach(struct session *s, const struct cmd_args *a)
{
	bool wait = a->argc && !strcmp(a->argv[0], "--wait");

	if (a->argc != (wait ? 2 : 1))
		return err_cure(err_new(ERR_USAGE, "attach needs a process number, or a name"),
			"For example: attach 4711, attach --wait train");
	return process_attach(s, a->argv[wait], wait);
}

struct err *cmd_detach(struct session *s, const struct cmd_args *a)
{
	int pid = inferior_pid(s->target.inf);
	struct err *e = process_detach(s);

	out_style(s->out, STYLE_NOTE, "[process %d goes on without tsdb]", pid);
	out_str(s->out, "\n");
	return e;
}
