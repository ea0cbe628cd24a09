/* SPDX-License-Identifier: Apache-2.0
 *
 * The process with Python, see py-helper.h: its start, and the answers to its questions.
 */
#include "shell/python/py-helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/child.h"
#include "base/monotonic.h"
#include "door/door.h"
#include "shell/line/interrupt.h"
#include "shell/live/stop-json.h"
#include "shell/values/memory-view.h"

enum {
	HELPER_FD = 3,
	LOOK_MS = 200,	    /* between looks at Ctrl-C */
	PATIENCE_MS = 3000, /* from Ctrl-C to the process's end */
	END_MS = 1000,
};

extern char **environ;

struct python {
	pid_t pid;
	int fd;
	bool busy; /* it executes something: what it asks for cannot be Python again */
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
static int spawn(struct python *p, int end)
{
	static const char *const words[] = {
		"python3", "-P", "-c", "from tracesmith.inshell import main; main(3)", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	char **env = environment();
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attributes, &set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_adddup2(&actions, end, HELPER_FD);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	r = posix_spawnp(
		&p->pid, words[0], &actions, &attributes, (char *const *)(uintptr_t)words, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(env[0]);
	free(env);
	return r;
}

static struct err *start(struct python **ret)
{
	struct python *p;
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(errno, "cannot make a socket");
	p = xcalloc(1, sizeof *p);
	p->fd = ends[0];
	r = spawn(p, ends[1]);
	close(ends[1]);
	if (!r) {
		*ret = p;
		return NULL;
	}
	close(p->fd);
	free(p);
	return err_cure(err_sys(r, "cannot start python3"), "Python 3.11 or newer is needed");
}

void python_free(struct python *p)
{
	if (!p)
		return;
	close(p->fd); /* at which it ends */
	if (!child_wait(p->pid, END_MS, NULL))
		child_kill(p->pid, NULL);
	free(p);
}

bool python_is_busy(const struct session *s)
{
	return s->python && s->python->busy;
}

static struct err *gone(struct session *s)
{
	int status = 0;

	close(s->python->fd);
	if (!child_wait(s->python->pid, END_MS, &status))
		child_kill(s->python->pid, &status);
	free(s->python);
	s->python = NULL;
	if (WIFSIGNALED(status))
		return err_new(ERR_SYSTEM, "Python was ended by signal %d", WTERMSIG(status));
	return err_cure(err_new(ERR_SYSTEM, "Python has ended with status %d",
				WIFEXITED(status) ? WEXITSTATUS(status) : -1),
		"It needs the module tracesmith (docs/python-module.md), and python3 3.11 or newer");
}

/* --- its questions --- */

struct reply {
	struct err *e;
	struct buf data;
	uint64_t stops; /* of the engine, before */
};

static bool answer(struct session *s, struct reply *r)
{
	const struct err none = {.code = ERR_OK}, *x = r->e ? r->e : &none;
	const char *what = x->what ? x->what : "", *cure = x->cure ? x->cure : "";
	struct buf stop = BUF_INIT;
	struct door_answer a = {.code = x->code,
		.what = (uint32_t)strnlen(what, DOOR_TEXT_MAX),
		.cure = (uint32_t)strnlen(cure, DOOR_TEXT_MAX),
		.size = r->data.len};
	const int fd = s->python->fd;
	bool ok;

	if (s->engine.stop.number != r->stops)
		stop_json(&stop, &s->engine.stop);
	a.stop = (uint32_t)stop.len;
	ok = door_send(fd, &a, sizeof a) && door_send(fd, what, a.what) &&
	     door_send(fd, cure, a.cure) && door_send(fd, stop.data, stop.len) &&
	     door_send(fd, r->data.data, r->data.len);
	buf_free(&stop);
	buf_free(&r->data);
	err_free(r->e);
	return ok;
}

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

static struct err *read_memory(struct session *s, uint64_t addr, uint64_t n, struct buf *to)
{
	struct err *e;

	if (n > DOOR_PIECE)
		return err_new(ERR_LIMIT, "too many bytes at once");
	e = memory_read(s, addr, buf_room(to, n), n);
	if (!e)
		to->len += n;
	return e;
}

static bool on_question(struct session *s, const struct door_question *q, char *bytes)
{
	struct reply r = {.stops = s->engine.stop.number};

	switch (q->op) {
	case DOOR_COMMAND:
		r.e = run_lines(s, bytes, q->n ? &r.data : NULL);
		break;
	case DOOR_READ:
		r.e = read_memory(s, q->addr, q->n, &r.data);
		break;
	case DOOR_WRITE:
		r.e = memory_write(s, q->addr, bytes, q->size);
		break;
	default:
		r.e = err_new(ERR_USAGE, "there is no question %u", q->op);
	}
	if (s->python)
		return answer(s, &r);
	buf_free(&r.data);
	err_free(r.e);
	return false;
}

/* --- doing something --- */

/* Waits for the next message. At Ctrl-C Python gets the signal; a while later it is ended. */
static bool await(struct session *s)
{
	struct pollfd p = {.fd = s->python->fd, .events = POLLIN};
	uint64_t since = 0;

	for (;;) {
		const int n = poll(&p, 1, LOOK_MS);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		if (interrupt_take()) {
			kill(s->python->pid, SIGINT);
			s->script.interrupted = true;
			since = since ? since : monotonic_ms();
		}
		if (since && monotonic_ms() - since > PATIENCE_MS) {
			kill(s->python->pid, SIGKILL);
			return false;
		}
	}
}

/* One message; *ret_done: it was the last one, and *ret_text what it says. */
static bool take(struct session *s, bool *ret_done, bool *ret_failed, char **ret_text)
{
	struct door_question q;
	char *bytes;
	bool ok;

	if (!await(s) || !door_receive(s->python->fd, &q, sizeof q) || q.size > DOOR_PIECE)
		return false;
	bytes = xmalloc(q.size + 1);
	bytes[q.size] = 0;
	ok = door_receive(s->python->fd, bytes, q.size);
	if (ok && q.op == DOOR_DONE) {
		*ret_done = true;
		*ret_failed = q.n;
		*ret_text = bytes;
		return true;
	}
	if (ok && q.op == DOOR_PRINT) {
		out_str(s->out, bytes);
		out_flush(s->out); /* the next thing may take long */
	} else {
		ok = ok && on_question(s, &q, bytes);
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
	if (!door_send(s->python->fd, &q, sizeof q) || !door_send(s->python->fd, text, q.size))
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
