/* SPDX-License-Identifier: Apache-2.0
 *
 * The line to the client, see dap-link.h.
 *
 * Surprise: standard input and output are replaced before anything else runs, so that neither tsdb
 * nor the program that it debugs can write into the conversation.
 */
#include "dap/wire/dap-link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/json-put.h"
#include "base/monotonic.h"
#include "base/quiet-thread.h"
#include "base/text.h"
#include "dap/dap-frame.h"

enum {
	QUEUE_MAX = 4096, /* requests; more wait in the pipe */
	LOOK_MS = 50,	  /* between two looks at what is being worked at */
	PIECE = 64 << 10,
};

struct waiting {
	json_t *request;
	uint64_t since; /* ms */
	bool cancelled;
};

/* One of the program's streams. */
struct printed {
	int fd;
	const char *category;
	char kept[4]; /* the beginning of a character whose end has not come */
	size_t nkept;
};

struct link {
	struct link_hooks hooks;
	int in, out, wake[2];
	pthread_t listener;
	bool listens;

	pthread_mutex_t send_lock; /* out, seq */
	json_int_t seq;

	pthread_mutex_t lock; /* what follows */
	pthread_cond_t changed;
	struct waiting queue[QUEUE_MAX]; /* a ring */
	size_t first, n;
	json_int_t current; /* 0: nothing is worked at */
	uint64_t current_since;
	bool gone;
	struct err *failure;

	pthread_mutex_t printed_lock; /* the streams */
	struct printed printed[2];

	struct buf received; /* the listener's */
	size_t used;
};

/* --- sending --- */

json_t *link_text(const void *text, size_t n)
{
	struct buf b = BUF_INIT;
	json_t *s;

	js_bytes(&b, text, n);
	s = json_loadb((const char *)b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	buf_free(&b);
	return s ? s : json_string("?");
}

static void write_all(struct link *l, const char *p, size_t n)
{
	while (n) {
		const ssize_t done = write(l->out, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			pthread_mutex_lock(&l->lock);
			l->gone = true;
			pthread_cond_broadcast(&l->changed);
			pthread_mutex_unlock(&l->lock);
			return;
		}
		p += done;
		n -= (size_t)done;
	}
}

void link_send(struct link *l, json_t *message)
{
	struct buf b = BUF_INIT;
	char *text;

	pthread_mutex_lock(&l->send_lock);
	json_object_set_new(message, "seq", json_integer(++l->seq));
	text = json_dumps(message, JSON_COMPACT);
	BUG_ON(!text);
	buf_printf(&b, "Content-Length: %zu\r\n\r\n", strlen(text));
	buf_str(&b, text);
	write_all(l, (const char *)b.data, b.len);
	pthread_mutex_unlock(&l->send_lock);
	buf_free(&b);
	free(text);
	json_decref(message);
}

void link_event(struct link *l, const char *name, json_t *body)
{
	json_t *m = json_pack("{s:s, s:s}", "type", "event", "event", name);

	if (body)
		json_object_set_new(m, "body", body);
	link_send(l, m);
}

void link_output(struct link *l, const char *category, const char *text, size_t n)
{
	if (n)
		link_event(l, "output",
			json_pack(
				"{s:s, s:o}", "category", category, "output", link_text(text, n)));
}

/* --- what the program prints --- */

/* How many bytes at the end of n may be the beginning of a character. */
static size_t unfinished(const char *p, size_t n)
{
	for (size_t k = 1; k < 4 && k <= n; k++) {
		const unsigned char c = (unsigned char)p[n - k];

		if ((c & 0xc0) == 0x80)
			continue;
		return (c >= 0xf0 && k < 4) || (c >= 0xe0 && k < 3) || (c >= 0xc0 && k < 2) ? k : 0;
	}
	return 0;
}

/* Sends what is there; returns false at the end. */
static bool tell_printed(struct link *l, struct printed *p)
{
	char piece[PIECE + sizeof p->kept];

	for (;;) {
		ssize_t got;
		size_t n, later;

		memcpy(piece, p->kept, p->nkept);
		got = read(p->fd, piece + p->nkept, PIECE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN;
		n = p->nkept + (size_t)got;
		later = got ? unfinished(piece, n) : 0;
		link_output(l, p->category, piece, n - later);
		memcpy(p->kept, piece + n - later, later);
		p->nkept = later;
		if (!got)
			return false;
	}
}

void link_flush_program(struct link *l)
{
	pthread_mutex_lock(&l->printed_lock);
	for (int i = 0; i < 2; i++) {
		if (l->printed[i].fd >= 0 && !tell_printed(l, &l->printed[i])) {
			close(l->printed[i].fd);
			l->printed[i].fd = -1;
		}
	}
	pthread_mutex_unlock(&l->printed_lock);
}

/* --- the queue --- */

static void end_with(struct link *l, struct err *failure)
{
	pthread_mutex_lock(&l->lock);
	l->gone = true;
	l->failure = err_first(l->failure, failure);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void put(struct link *l, json_t *request)
{
	if (l->hooks.arrived(l->hooks.arg, request)) {
		json_decref(request);
		return;
	}
	pthread_mutex_lock(&l->lock);
	BUG_ON(l->n == QUEUE_MAX);
	l->queue[(l->first + l->n++) % QUEUE_MAX] =
		(struct waiting){.request = request, .since = monotonic_ms()};
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

json_t *link_take(struct link *l, bool *ret_cancelled)
{
	json_t *request = NULL;

	pthread_mutex_lock(&l->lock);
	l->current = 0;
	while (!l->n && !l->gone)
		pthread_cond_wait(&l->changed, &l->lock);
	if (l->n) {
		const struct waiting *w = &l->queue[l->first];

		request = w->request;
		*ret_cancelled = w->cancelled;
		l->first = (l->first + 1) % QUEUE_MAX;
		l->n--;
		l->current = json_integer_value(json_object_get(request, "seq"));
		l->current_since = monotonic_ms();
	}
	pthread_mutex_unlock(&l->lock);
	return request;
}

struct link_status link_status(struct link *l)
{
	struct link_status s;

	pthread_mutex_lock(&l->lock);
	s = (struct link_status){.waiting = l->n, .gone = l->gone, .current = l->current};
	pthread_mutex_unlock(&l->lock);
	return s;
}

bool link_cancel(struct link *l, json_int_t seq)
{
	bool found = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		struct waiting *w = &l->queue[(l->first + i) % QUEUE_MAX];

		if (json_integer_value(json_object_get(w->request, "seq")) == seq)
			found = w->cancelled = true;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

const struct err *link_failure(struct link *l)
{
	return l->failure;
}

/* --- listening --- */

/* A message that is no request is answered, as far as it says which one it is. */
static void refuse(struct link *l, json_int_t seq, struct err *e)
{
	link_send(l, json_pack("{s:s, s:I, s:b, s:s, s:o}", "type", "response", "request_seq", seq,
			     "success", 0, "command", "", "message",
			     link_text(e->what, strlen(e->what))));
	err_free(e);
}

static bool queue_full(struct link *l)
{
	bool full;

	pthread_mutex_lock(&l->lock);
	full = l->n == QUEUE_MAX;
	pthread_mutex_unlock(&l->lock);
	return full;
}

static struct err *take_messages(struct link *l)
{
	for (;;) {
		const char *text;
		json_int_t seq;
		json_t *request;
		size_t size;
		struct err *e;

		if (queue_full(l))
			return NULL;
		TRY(frame_take(&l->received, &l->used, &text, &size));
		if (!text)
			break;
		e = frame_request(text, size, &request, &seq);
		if (e)
			refuse(l, seq, e);
		else
			put(l, request);
	}
	if (l->used) {
		memmove(l->received.data, l->received.data + l->used, l->received.len - l->used);
		l->received.len -= l->used;
		l->used = 0;
	}
	return NULL;
}

/* Returns false when what is there is no message. */
static bool understand(struct link *l)
{
	struct err *e = take_messages(l);

	if (e)
		end_with(l, e);
	return !e;
}

/* Returns false when the client has gone, or sends what is no message. */
static bool receive(struct link *l)
{
	const ssize_t got = read(l->in, buf_room(&l->received, PIECE), PIECE);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (got <= 0) {
		end_with(l, NULL);
		return false;
	}
	l->received.len += (size_t)got;
	return understand(l);
}

static void look_at_work(struct link *l)
{
	uint64_t now = monotonic_ms(), since, waiting;
	bool works;

	pthread_mutex_lock(&l->lock);
	works = l->current != 0;
	since = works ? now - l->current_since : 0;
	waiting = l->n ? now - l->queue[l->first].since + 1 : 0;
	pthread_mutex_unlock(&l->lock);
	if (works)
		l->hooks.busy(l->hooks.arg, since, waiting);
}

static void *listen_on(void *arg)
{
	struct link *l = arg;
	bool open = true;

	for (;;) {
		struct pollfd p[] = {{.fd = l->wake[0], .events = POLLIN},
			{.fd = open && !queue_full(l) ? l->in : -1, .events = POLLIN},
			{.fd = l->printed[0].fd, .events = POLLIN},
			{.fd = l->printed[1].fd, .events = POLLIN}};

		if (poll(p, 4, LOOK_MS) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			break;
		if (p[2].revents || p[3].revents)
			link_flush_program(l);
		if (open && p[1].revents)
			open = receive(l);
		else if (open && l->received.len)
			open = understand(l); /* the queue was full */
		look_at_work(l);
	}
	return NULL;
}

/* --- beginning and end --- */

static struct err *take_over(int fd, int *ret)
{
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	return *ret < 0 ? err_sys(errno, "standard input or output is not open") : NULL;
}

/* The program's stream fd goes through a pipe from now on. */
static struct err *divert(int fd, struct printed *p, const char *category)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(errno, "cannot make a pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (dup2(ends[1], fd) < 0)
		return err_sys(errno, "cannot divert the program's output");
	close(ends[1]);
	*p = (struct printed){.fd = ends[0], .category = category};
	return NULL;
}

static struct err *divert_all(struct link *l)
{
	int nothing;

	TRY(take_over(STDIN_FILENO, &l->in));
	TRY(take_over(STDOUT_FILENO, &l->out));
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		return err_sys(errno, "cannot open /dev/null");
	close(nothing);
	TRY(divert(STDOUT_FILENO, &l->printed[0], "stdout"));
	TRY(divert(STDERR_FILENO, &l->printed[1], "stderr"));
	return pipe2(l->wake, O_CLOEXEC) ? err_sys(errno, "cannot make a pipe") : NULL;
}

struct err *link_open(struct link **ret, const struct link_hooks *hooks)
{
	struct link *l = xcalloc(1, sizeof *l);
	int r;

	l->hooks = *hooks;
	l->printed[0].fd = l->printed[1].fd = -1;
	pthread_mutex_init(&l->send_lock, NULL);
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->printed_lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	*ret = l;
	TRY(divert_all(l));
	r = quiet_thread(&l->listener, NULL, listen_on, l);
	l->listens = !r;
	return r ? err_sys(r, "cannot start a thread") : NULL;
}

void link_close(struct link *l)
{
	if (!l)
		return;
	if (l->listens) {
		close(l->wake[1]);
		pthread_join(l->listener, NULL);
	}
	link_flush_program(l);
	for (; l->n; l->n--, l->first = (l->first + 1) % QUEUE_MAX)
		json_decref(l->queue[l->first].request);
	buf_free(&l->received);
	err_free(l->failure);
	close(l->out);
	free(l);
}
