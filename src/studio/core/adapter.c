/* SPDX-License-Identifier: Apache-2.0
 *
 * The adapter's process, see adapter.h. It is in a process group of its own, so that Ctrl-C ends
 * the server alone, which then lets the adapter end in order.
 */
#include "studio/core/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/child.h"
#include "dap/dap-frame.h"

enum { PIECE = 64 << 10, END_MS = 5000 };

extern char **environ;

/* --- beginning and end --- */

static int spawn(struct adapter *a, const char *tsdb, int in, int out)
{
	char *const words[] = {(char *)(uintptr_t)tsdb, (char *)(uintptr_t) "dap", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, set;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	r = posix_spawn(&a->pid, tsdb, &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		a->pid = 0;
	return r;
}

struct err *adapter_open(struct adapter *a, const char *tsdb)
{
	int in[2], out[2], r;

	*a = (struct adapter){.to = -1, .from = -1};
	if (pipe2(in, O_CLOEXEC))
		return err_sys(errno, "cannot make a pipe");
	if (pipe2(out, O_CLOEXEC)) {
		r = errno;
		close(in[0]);
		close(in[1]);
		return err_sys(r, "cannot make a pipe");
	}
	r = spawn(a, tsdb, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	a->to = in[1];
	a->from = out[0];
	fcntl(a->to, F_SETFL, O_NONBLOCK);
	fcntl(a->from, F_SETFL, O_NONBLOCK);
	if (!r)
		return NULL;
	adapter_close(a);
	return err_sys(r, "cannot start %s", tsdb);
}

void adapter_close(struct adapter *a)
{
	if (a->to >= 0)
		close(a->to);
	if (a->from >= 0)
		close(a->from);
	if (a->pid && !child_wait(a->pid, END_MS, NULL))
		child_kill(a->pid, NULL);
	buf_free(&a->in);
	buf_free(&a->out);
	*a = (struct adapter){.to = -1, .from = -1};
}

/* --- messages --- */

json_int_t adapter_send(struct adapter *a, json_t *request)
{
	char *text;

	json_object_set_new(request, "seq", json_integer(++a->seq));
	text = json_dumps(request, JSON_COMPACT);
	BUG_ON(!text);
	buf_printf(&a->out, "Content-Length: %zu\r\n\r\n", strlen(text));
	buf_str(&a->out, text);
	free(text);
	json_decref(request);
	return a->seq;
}

void adapter_poll(const struct adapter *a, struct pollfd ret[2])
{
	ret[0] = (struct pollfd){.fd = a->pid ? a->from : -1, .events = POLLIN};
	ret[1] = (struct pollfd){
		.fd = a->pid && a->sent < a->out.len ? a->to : -1, .events = POLLOUT};
}

/* Returns false when nobody reads any more. */
static bool send_some(struct adapter *a)
{
	while (a->sent < a->out.len) {
		const ssize_t n = write(a->to, a->out.data + a->sent, a->out.len - a->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		a->sent += (size_t)n;
	}
	buf_clear(&a->out);
	a->sent = 0;
	return true;
}

/* Returns false at the end. */
static bool receive_some(struct adapter *a)
{
	for (;;) {
		const ssize_t n = read(a->from, buf_room(&a->in, PIECE), PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		a->in.len += (size_t)n;
		if (n < PIECE)
			return true;
	}
}

/* Returns false when what came is no message. */
static bool take_messages(struct adapter *a, void (*take)(void *, const json_t *), void *arg)
{
	for (;;) {
		const char *text;
		size_t n;
		json_t *m;
		struct err *e = frame_take(&a->in, &a->used, &text, &n);

		if (e) {
			err_free(e);
			return false;
		}
		if (!text)
			break;
		m = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
		if (!json_is_object(m)) {
			json_decref(m);
			return false;
		}
		take(arg, m);
		json_decref(m);
	}
	if (a->used) {
		memmove(a->in.data, a->in.data + a->used, a->in.len - a->used);
		a->in.len -= a->used;
		a->used = 0;
	}
	return true;
}

void adapter_turn(struct adapter *a, void (*take)(void *arg, const json_t *message), void *arg,
	bool *ret_over)
{
	bool more, whole;

	*ret_over = false;
	if (!a->pid)
		return;
	more = receive_some(a);
	whole = take_messages(a, take, arg);
	*ret_over = !more || !whole || !send_some(a);
}
