/* SPDX-License-Identifier: Apache-2.0
 *
 * Attaches to programs that run already.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/maps-line.h"
#include "base/proc-read.h"
#include "base/words.h"
#include "engine/live-capture.h"
#include "engine/live/live-private.h"
#include "engine/parts.h"
#include "gpucode/gpu-files.h"

enum { MATCHES_MAX = 32, OLD_MAX = 1024, LINE_MAX_BYTES = 4096 };

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

static struct err *wait_for(struct engine *en, const char *name, pid_t *ret)
{
	static volatile bool never;
	pid_t old[OLD_MAX];
	/* read first: a process started after the message below is then caught */
	unsigned nold = inferior_find(name, old, OLD_MAX);

	live_tell_text(en, LIVE_NOTE_AWAITS, name);
	live_runs_on(en);
	if (inferior_await(name, old, nold < OLD_MAX ? nold : OLD_MAX,
		    en->cancel ? en->cancel : &never, ret))
		return NULL;
	engine_go_on(en);
	return err_new(ERR_INTERRUPTED, "no process called %s has started", name);
}

/* --- attaching --- */

/* The command line of a process as one line; a heap string. */
static char *command_line(pid_t pid)
{
	char *words[LINE_MAX_BYTES / 2], *text, *line;
	struct buf b = BUF_INIT;
	unsigned nwords = 0;

	(void)proc_read(pid, "cmdline", LINE_MAX_BYTES - 1, &b);
	const size_t n = b.len;
	text = buf_steal(&b);
	for (size_t i = 0; i < n && nwords < LINE_MAX_BYTES / 2; i += strlen(text + i) + 1)
		words[nwords++] = text + i;
	line = words_join(words, nwords);
	free(text);
	return line;
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
		if (strstr(l.path, "/" GPU_SOFT_LIBRARY))
			return true;
	return false;
}

/* Adopts the process's program and arguments for `run`, unless the user chose a program. */
static void adopt(struct engine *en, pid_t pid, const char *line)
{
	char **words;
	unsigned n;
	struct err *e;

	if (en->live.program && !en->live.adopted)
		return;
	free(en->live.program);
	en->live.program = link_of(pid, "exe");
	en->live.adopted = true;
	e = words_split(line, &words, &n);
	if (!e) {
		free(en->set.string[SET_ARGS]);
		en->set.string[SET_ARGS] = words_join(words + !!n, n - !!n);
		words_free(words);
	}
	err_free(e);
}

/* Makes an attached process the engine's program, with capture and breakpoints armed. The engine
 * owns inf in any case. line: its command line. */
static struct err *take(
	struct engine *en, struct inferior *inf, const char *line, const char *cwd, bool soft)
{
	struct err *e;

	en->live.inf = inf;
	en->live.soft = soft;
	en->live.runs++;
	e = live_begin(en, line, cwd);
	if (e)
		err_free(live_detach(en));
	else
		while (live_drain(en)) /* takes what the agent has found so far */
			;
	return e;
}

static struct err *attach(struct engine *en, pid_t pid)
{
	struct attach_options o = {.pid = pid,
		.agent = gpu_agent_path(),
		.ring_bytes = (uint32_t)en->set.number[SET_RING_SIZE],
		.start_ms = en->set.number[SET_GPU_TIMEOUT] < UINT32_MAX
				    ? (unsigned)en->set.number[SET_GPU_TIMEOUT]
				    : UINT32_MAX,
		.look_only = en->live.look_only,
		.without_agent = !en->live.recording,
		.interrupt = en->cancel};
	struct attach_result r;
	struct inferior *inf;
	char *line, *cwd;
	struct err *e;

	if (!o.agent)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"libtsdb-agent.so is not installed: programs cannot be debugged"),
			"Build tsdb where the CUDA toolkit's headers are; traces can be viewed and replayed without");
	live_runs_on(en);
	line = command_line(pid);
	cwd = link_of(pid, "cwd");
	e = inferior_attach(&inf, &o, &r);
	if (e && e->code == ERR_INTERRUPTED)
		engine_go_on(en);
	if (!e) {
		live_tell(en, &(struct live_note){
				      .kind = LIVE_NOTE_ATTACHED, .pid = pid, .attached = &r});
		adopt(en, pid, line);
		e = take(en, inf, line, cwd, uses_soft_gpu(inf));
	}
	free(line);
	free(cwd);
	free((char *)o.agent);
	return e;
}

/* The number of a process that is given by number or name. */
static struct err *number_of(struct engine *en, const char *who, bool wait, pid_t *ret)
{
	uint64_t number;

	if (wait)
		return wait_for(en, who, ret);
	if (!word_u64(who, &number))
		return find(who, ret);
	if (number > INT32_MAX)
		return err_cure(err_new(ERR_NOT_FOUND, "there is no process %s", who),
			"`ps -e` lists the processes");
	*ret = (pid_t)number;
	return NULL;
}

struct err *live_attach(struct engine *en, const char *who, bool wait)
{
	pid_t pid;

	TRY(live_leave(en));
	TRY(capture_check(en));
	TRY(number_of(en, who, wait, &pid));
	return attach(en, pid);
}
