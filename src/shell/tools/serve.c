/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb --serve, see serve.h. Nothing is printed: what commands print is the answer, and so are
 * errors and notes. Standard input and output are the debugged program's.
 *
 * Surprise: a thread waits for the program's end, since long work does not look at the socket.
 */
#include "shell/tools/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "door/door.h"
#include "shell/line/interrupt.h"
#include "shell/live/stop-json.h"
#include "shell/tools/tools.h"
#include "shell/values/memory-view.h"

enum { WORDS_MAX = 64 };

struct server {
	struct session *s;
	int fd;
	FILE *notes;
	char *notes_text; /* of `notes` */
	size_t notes_size;
	uint64_t stops; /* of the engine, when the question came */
};

/* --- the program's end --- */

static void *await_end(void *arg)
{
	struct pollfd p = {.fd = *(const int *)arg, .events = POLLRDHUP};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	kill(getpid(), SIGINT); /* what is under way ends, and then recv() says why */
	return NULL;
}

static void watch_end(const int *fd)
{
	sigset_t all, before;
	pthread_t t;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&t, NULL, await_end, (void *)(uintptr_t)fd))
		pthread_detach(t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- answers --- */

static bool notes_open(struct server *v)
{
	v->notes = open_memstream(&v->notes_text, &v->notes_size);
	out_quiet(v->s->out, v->notes);
	return v->notes != NULL;
}

static uint32_t text_size(const char *text)
{
	const size_t n = text ? strlen(text) : 0;

	return n < DOOR_TEXT_MAX ? (uint32_t)n : DOOR_TEXT_MAX;
}

/* Sends an answer with the notes since the last one, and the stop that came since then; frees e. */
static bool answer(struct server *v, struct err *e, const void *data, size_t size)
{
	const struct err none = {.code = ERR_OK}, *x = e ? e : &none;
	struct buf stop = BUF_INIT;
	struct door_answer a = {.code = x->code,
		.what = text_size(x->what),
		.cure = text_size(x->cure),
		.size = size};
	bool ok;

	out_quiet(v->s->out, NULL);
	fclose(v->notes);
	a.notes = text_size(v->notes_text);
	if (v->s->engine.stop.number != v->stops)
		stop_json(&stop, &v->s->engine.stop);
	v->stops = v->s->engine.stop.number;
	a.stop = (uint32_t)stop.len;
	ok = door_send(v->fd, &a, sizeof a) && door_send(v->fd, x->what, a.what) &&
	     door_send(v->fd, x->cure, a.cure) && door_send(v->fd, v->notes_text, a.notes) &&
	     door_send(v->fd, stop.data, stop.len) && door_send(v->fd, data, size);
	buf_free(&stop);
	free(v->notes_text);
	v->notes_text = NULL;
	err_free(e);
	return notes_open(v) && ok;
}

static bool answer_printed(struct server *v, struct buf *text)
{
	bool ok;

	out_collect(v->s->out, NULL);
	ok = answer(v, out_take_error(v->s->out), buf_cstr(text), text->len);
	buf_free(text);
	return ok;
}

/* --- questions --- */

static bool on_command(struct server *v, const char *text)
{
	struct buf b = BUF_INIT;

	out_collect(v->s->out, &b);
	session_lines(v->s, text);
	return answer_printed(v, &b);
}

static struct err *run_tool(struct session *s, char *text, size_t size)
{
	char *words[WORDS_MAX + 1];
	const struct tool *t = tool_find(text);
	int n = 0;

	for (char *p = text; p < text + size; p += strlen(p) + 1) {
		if (n == WORDS_MAX)
			return err_new(ERR_LIMIT, "a tool takes at most %d words", WORDS_MAX);
		words[n++] = p;
	}
	words[n] = NULL;
	if (!t || !n)
		return err_new(ERR_NOT_FOUND, "there is no tool \"%s\"", text);
	t->run(s, n - 1, words + 1);
	return NULL;
}

static bool on_tool(struct server *v, char *text, size_t size)
{
	struct buf b = BUF_INIT;
	struct err *e;

	out_collect(v->s->out, &b);
	e = run_tool(v->s, text, size);
	if (e)
		out_error(v->s->out, e);
	return answer_printed(v, &b);
}

static bool on_read(struct server *v, uint64_t addr, uint64_t n)
{
	struct err *e = NULL;
	void *bytes;
	bool ok;

	if (n > DOOR_PIECE)
		return answer(v, err_new(ERR_LIMIT, "too many bytes at once"), NULL, 0);
	bytes = xmalloc(n + 1);
	e = memory_read(v->s, addr, bytes, n);
	ok = answer(v, e, bytes, e ? 0 : n);
	free(bytes);
	return ok;
}

static bool on_question(struct server *v, const struct door_question *q, char *bytes)
{
	switch (q->op) {
	case DOOR_COMMAND:
		return on_command(v, bytes);
	case DOOR_TOOL:
		return on_tool(v, bytes, q->size);
	case DOOR_READ:
		return on_read(v, q->addr, q->n);
	case DOOR_WRITE:
		return answer(v, memory_write(v->s, q->addr, bytes, q->size), NULL, 0);
	default:
		return answer(v, err_new(ERR_USAGE, "there is no question %u", q->op), NULL, 0);
	}
}

static bool take_question(struct server *v)
{
	struct door_question q;
	char *bytes;
	bool ok;

	if (!door_receive(v->fd, &q, sizeof q) || q.size > DOOR_PIECE)
		return false;
	bytes = xmalloc(q.size + 1);
	bytes[q.size] = 0;
	ok = door_receive(v->fd, bytes, q.size);
	interrupt_take(); /* one that was meant for the question before */
	ok = ok && on_question(v, &q, bytes);
	free(bytes);
	return ok;
}

int serve(struct session *s, int fd, struct err *failed)
{
	struct server v = {.s = s, .fd = fd};
	const bool opened = !failed;

	if (!notes_open(&v)) {
		err_free(failed);
		return 1;
	}
	watch_end(&v.fd);
	if (answer(&v, failed, DOOR_GREETING, strlen(DOOR_GREETING)) && opened)
		while (!s->quitting && take_question(&v))
			;
	out_quiet(s->out, NULL);
	fclose(v.notes);
	free(v.notes_text);
	shutdown(fd, SHUT_RDWR);
	return opened ? 0 : 1;
}
