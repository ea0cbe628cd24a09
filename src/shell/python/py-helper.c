/* SPDX-License-Identifier: Apache-2.0
 *
 * The process with Python, see py-helper.h: its start, and the answers to its questions.
 */
#include "shell/python/py-helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/child.h"
#include "base/monotonic.h"
#include "door/door-peer.h"
#include "shell/line/interrupt.h"
#include "shell/tools/door-reply.h"

enum {
	LOOK_MS = 200,	    /* between looks at Ctrl-C */
	PATIENCE_MS = 3000, /* from Ctrl-C to the process's end */
	END_MS = 1000,
};

extern char **environ;

struct python {
	struct door_peer peer;
	char *printers; /* see python_printers(); NULL: none */
	bool busy;	/* it executes something: what it asks for cannot be Python again */
};

/* --- the process --- */

/* The folder of the module in a build tree: beside this program. A heap string, NULL: none. */
static char *module_folder(void)
{
	char exe[4096], *slash, *folder;
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n <= 0)
		return NULL;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	*slash = 0;
	folder = xasprintf("%s/python", exe);
	if (!access(folder, X_OK))
		return folder;
	free(folder);
	return NULL;
}

/* The environment with that folder before PYTHONPATH; a heap array, whose first string is heap. */
static char **environment(void)
{
	char *folder = module_folder();
	const char *path = getenv("PYTHONPATH");
	char **env;
	size_t n = 0, k = 0;

	while (environ[n])
		n++;
	env = xcalloc(n + 2, sizeof *env);
	env[k++] =
		!folder ? xasprintf("PYTHONPATH=%s", path ? path : "")
			: xasprintf("PYTHONPATH=%s%s%s", folder, path ? ":" : "", path ? path : "");
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "PYTHONPATH=", 11) != 0)
			env[k++] = environ[i];
	free(folder);
	return env;
}

/* -P: modules are not taken from the folder that the user is in, where traces of others may lie. */
static int spawn(struct python *p)
{
	static const char *const words[] = {
		"python3", "-P", "-c", "from tracesmith.inshell import main; main(3)", NULL};
	char **env = environment();
	const int r = door_peer_start(&p->peer, (char *const *)(uintptr_t)words, env, true);

	free(env[0]);
	free(env);
	return r;
}

static struct err *start(struct python **ret)
{
	struct python *p = xcalloc(1, sizeof *p);
	const int r = spawn(p);

	if (!r) {
		*ret = p;
		return NULL;
	}
	free(p);
	return err_cure(err_sys(r, "cannot start python3"), "Python 3.11 or newer is needed");
}

void python_free(struct python *p)
{
	if (!p)
		return;
	door_peer_close(&p->peer); /* at which it ends */
	if (!child_wait(p->peer.pid, END_MS, NULL))
		child_kill(p->peer.pid, NULL);
	free(p->printers);
	free(p);
}

const char *python_printers(const struct session *s)
{
	return s->python ? s->python->printers : NULL;
}

bool python_is_busy(const struct session *s)
{
	return s->python && s->python->busy;
}

static struct err *gone(struct session *s)
{
	int status = 0;

	door_peer_close(&s->python->peer);
	if (!child_wait(s->python->peer.pid, END_MS, &status))
		child_kill(s->python->peer.pid, &status);
	free(s->python->printers);
	free(s->python);
	s->python = NULL;
	if (WIFSIGNALED(status))
		return err_new(ERR_SYSTEM, "Python was ended by signal %d", WTERMSIG(status));
	return err_cure(err_new(ERR_SYSTEM, "Python has ended with status %d",
				WIFEXITED(status) ? WEXITSTATUS(status) : -1),
		"It needs the module tracesmith (docs/python-module.md), and python3 3.11 or newer");
}

/* --- its questions --- */

/* Runs lines as if they had been typed; what they print goes to `to`, NULL: where it always goes.
 * The first error ends up in *ret, and does not count: Python may catch it. */
static struct err *run_lines(struct session *s, const char *text, struct buf *to)
{
	const unsigned failures = s->failures;
	struct err *before = out_take_error(s->out), *e;
	char *said = NULL;
	size_t n = 0;
	FILE *notes = open_memstream(&said, &n), *old;
	struct buf *collected = NULL;

	BUG_ON(!notes);
	old = out_quiet(s->out, notes);
	if (to)
		collected = out_collect(s->out, to);
	session_lines(s, text);
	if (to)
		out_collect(s->out, collected);
	out_quiet(s->out, old);
	fclose(notes);
	e = out_take_error(s->out);
	s->failures = failures;
	fwrite(said, 1, n, out_notes(s->out));
	free(said);
	if (before)
		out_error(s->out, before); /* of a session without a terminal: it is kept */
	return e;
}

static bool on_question(struct session *s, const struct door_question *q, char *bytes)
{
	struct door_reply r;

	reply_begin(&r, s);
	if (q->op == DOOR_COMMAND)
		r.e = run_lines(s, bytes, q->n ? &r.data : NULL);
	else
		reply_memory(&r, s, q, bytes);
	if (s->python)
		return reply_send(&r, s, s->python->peer.fd);
	buf_free(&r.data);
	err_free(r.e);
	return false;
}

/* --- doing something --- */

/* Waits for the next message. At Ctrl-C Python gets the signal; a while later it is ended. */
static bool await(struct session *s)
{
	struct pollfd p = {.fd = s->python->peer.fd, .events = POLLIN};
	uint64_t since = 0;

	for (;;) {
		const int n = poll(&p, 1, LOOK_MS);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		if (interrupt_take()) {
			door_peer_signal(&s->python->peer, SIGINT);
			s->script.interrupted = true;
			since = since ? since : monotonic_ms();
		}
		if (since && monotonic_ms() - since > PATIENCE_MS) {
			door_peer_signal(&s->python->peer, SIGKILL);
			return false;
		}
	}
}

/* One message; *ret_done: it was the last one, and *ret_text what it says. */
static bool take(struct session *s, bool *ret_done, bool *ret_failed, char **ret_text)
{
	struct door_question q;
	char *bytes;
	bool ok = true;

	if (!await(s) || !question_take(s->python->peer.fd, &q, &bytes))
		return false;
	if (q.op == DOOR_DONE) {
		*ret_done = true;
		*ret_failed = q.n;
		*ret_text = bytes;
		return true;
	}
	if (q.op == DOOR_PRINTERS) {
		free(s->python->printers);
		s->python->printers = *bytes ? bytes : NULL;
		if (*bytes)
			return true;
	} else if (q.op == DOOR_PRINT) {
		out_str(s->out, bytes);
		out_flush(s->out); /* the next thing may take long */
	} else {
		ok = on_question(s, &q, bytes);
	}
	free(bytes);
	return ok;
}

static struct err *failed(char *text)
{
	struct err *e = err_new(ERR_USAGE, "Python: %s", text);

	free(text);
	return e;
}

struct err *python_run(struct session *s, enum python_what what, const char *text, char **ret_then)
{
	const struct door_question q = {.op = what, .size = strlen(text)};
	bool done = false, bad = false;
	char *said = NULL;

	*ret_then = NULL;
	if (!s->python)
		TRY(start(&s->python));
	if (s->python->busy)
		return err_cure(err_new(ERR_STATE, "Python is in the middle of something"),
			"Call the function, not the shell's command");
	if (!door_send(s->python->peer.fd, &q, sizeof q) ||
		!door_send(s->python->peer.fd, text, q.size))
		return gone(s);
	s->python->busy = true;
	while (!done)
		if (!take(s, &done, &bad, &said))
			return gone(s);
	s->python->busy = false;
	if (bad)
		return failed(said);
	if (*said)
		*ret_then = said;
	else
		free(said);
	return NULL;
}
