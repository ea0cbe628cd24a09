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
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "base/quiet-thread.h"
#include "shell/line/interrupt.h"
#include "shell/tools/door-reply.h"
#include "shell/tools/tools.h"

enum {
	WORDS_MAX = 64,
	PROGRESS_MS = 250, /* between two messages about it */
};

struct server {
	struct session *s;
	int fd;
	FILE *notes;
	char *notes_text; /* of `notes` */
	size_t notes_size;
	uint64_t told; /* ms, when progress was reported last */
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
	pthread_t t;

	if (!quiet_thread(&t, NULL, await_end, (void *)(uintptr_t)fd))
		pthread_detach(t);
}

/* --- answers --- */

static bool notes_open(struct server *v)
{
	v->notes = open_memstream(&v->notes_text, &v->notes_size);
	out_quiet(v->s->out, v->notes);
	return v->notes != NULL;
}

/* Sends an answer with the notes since the last one. */
static bool answer(struct server *v, struct door_reply *r)
{
	bool ok;

	out_quiet(v->s->out, NULL);
	fclose(v->notes);
	r->notes = v->notes_text;
	ok = reply_send(r, v->s, v->fd);
	free(v->notes_text);
	v->notes_text = NULL;
	return notes_open(v) && ok;
}

/* --- questions --- */

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

/* What a command or a tool prints is the data. */
static void print(
	struct server *v, const struct door_question *q, char *bytes, struct door_reply *r)
{
	struct err *e = NULL;

	out_collect(v->s->out, &r->data);
	if (q->op == DOOR_TOOL)
		e = run_tool(v->s, bytes, q->size);
	else
		session_lines(v->s, bytes);
	if (e)
		out_error(v->s->out, e);
	out_collect(v->s->out, NULL);
	r->e = out_take_error(v->s->out);
}

/* Tells how far the work is, now and then. If nobody takes it, the answer will find that out. */
static void on_progress(void *server, const char *what, uint64_t done, uint64_t total)
{
	struct server *v = server;
	const struct door_answer a = {.works = 1, .size = sizeof(struct door_progress)};
	struct door_progress p = {.done = done, .total = total};

	if (monotonic_ms() < v->told + PROGRESS_MS)
		return;
	v->told = monotonic_ms();
	snprintf(p.what, sizeof p.what, "%s", what);
	if (door_send(v->fd, &a, sizeof a))
		(void)!door_send(v->fd, &p, sizeof p);
}

static bool take_question(struct server *v)
{
	struct door_question q;
	struct door_reply r;
	char *bytes;

	if (!question_take(v->fd, &q, &bytes))
		return false;
	interrupt_take(); /* one that was meant for the question before */
	v->told = monotonic_ms();
	reply_begin(&r, v->s);
	if (q.op == DOOR_COMMAND || q.op == DOOR_TOOL)
		print(v, &q, bytes, &r);
	else
		reply_memory(&r, v->s, &q, bytes);
	free(bytes);
	return answer(v, &r);
}

int serve(struct session *s, int fd, struct err *failed)
{
	struct server v = {.s = s, .fd = fd};
	const bool opened = !failed;
	struct door_reply greeting = {.e = failed};

	if (!notes_open(&v)) {
		err_free(failed);
		return 1;
	}
	watch_end(&v.fd);
	out_on_progress(s->out, on_progress, &v);
	buf_str(&greeting.data, DOOR_GREETING);
	if (answer(&v, &greeting) && opened)
		while (!s->quitting && take_question(&v))
			;
	out_on_progress(s->out, NULL, NULL);
	out_quiet(s->out, NULL);
	fclose(v.notes);
	free(v.notes_text);
	shutdown(fd, SHUT_RDWR);
	return opened ? 0 : 1;
}
