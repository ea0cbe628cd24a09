/* SPDX-License-Identifier: Apache-2.0
 *
 * The server, see studio-http.h, on libmicrohttpd.
 *
 * Surprise: a request that is not answered at once is "suspended", and libmicrohttpd then looks at
 * neither its socket nor its time; resumed, it calls the handler once more.
 */
#include "studio/http/studio-http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/monotonic.h"
#include "studio/core/studio-check.h"
#include "studio/core/studio-text.h"
#include "studio/http/studio-peer.h"

enum {
	CONNECTIONS_MAX = 512,
	HEAD_MAX = 16 << 10,	/* memory of a connection: its head has to fit */
	ASK_MS = 15000,		/* to send a request */
	ANSWER_MS = 600 * 1000, /* to take an answer, which may be a large page */
	LOOK_MS = 1000,		/* between two looks at those times */
};
#define NEVER UINT64_MAX

/* One connection. */
struct peer {
	struct peer *next, **at;
	struct http_request *request; /* that has not been answered; NULL: none */
	int fd;
	uint64_t until; /* ms; then it is cut */
};
struct http_request {
	struct http *h;
	struct peer *peer;
	struct MHD_Connection *connection;
	enum studio_route route;
	uint64_t after;
	struct buf body;
	struct MHD_Response *answer; /* NULL: not yet */
	unsigned status;
	bool waits; /* suspended */
};
struct http {
	struct MHD_Daemon *daemon;
	const struct http_hooks *hooks;
	const char *token;
	struct peer *peers;
	struct MHD_Response *page;
	struct sockaddr_in here;
	uint16_t port;
	int epoll;
	int peer_fd;	   /* -1: whose a connection is is not asked */
	bool had_stranger; /* ... who was told of */
	uint64_t looked;
};

/* --- answers --- */

static void add_header(struct MHD_Response *a, const char *name, const char *value)
{
	BUG_ON(MHD_add_response_header(a, name, value) != MHD_YES);
}

/* No other page may have an answer, frame it, or guess what it is; no cache keeps it; nothing that
 * it might load knows where it came from. */
static struct MHD_Response *made(struct MHD_Response *a, const char *type)
{
	BUG_ON(!a);
	add_header(a, "Content-Type", type);
	add_header(a, "Cache-Control", "no-store");
	add_header(a, "Connection", "close");
	add_header(a, "Cross-Origin-Opener-Policy", "same-origin");
	add_header(a, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(a, "Referrer-Policy", "no-referrer");
	add_header(a, "X-Content-Type-Options", "nosniff");
	return a;
}

static struct MHD_Response *make_page(void)
{
	struct buf b = BUF_INIT;
	struct MHD_Response *page;

	buf_add(&b, studio_page_head, studio_page_head_size);
	buf_add(&b, studio_page_tail, studio_page_tail_size);
	page = made(MHD_create_response_from_buffer(b.len, b.data, MHD_RESPMEM_MUST_COPY),
		"text/html; charset=utf-8");
	add_header(page, "Content-Security-Policy", studio_page_policy);
	buf_free(&b);
	return page;
}

static struct MHD_Response *make_text(const void *text, size_t n, const char *type)
{
	return made(
		MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY),
		type);
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct MHD_Response *a = make_text(why, strlen(why), "text/plain; charset=utf-8");
	enum MHD_Result r;

	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(a, "Allow", "GET, POST");
	r = MHD_queue_response(c, status, a);
	MHD_destroy_response(a);
	return r;
}

static void answer(struct http_request *r, unsigned status, struct MHD_Response *a)
{
	BUG_ON(r->answer);
	r->answer = a;
	r->status = status;
	if (r->waits)
		MHD_resume_connection(r->connection);
	r->waits = false;
}

void http_answer(struct http_request *r, unsigned status, const void *text, size_t n)
{
	answer(r, status, make_text(text, n, "application/json"));
}

void http_answer_page(struct http_request *r, int fd)
{
	struct stat st;
	const int own = dup(fd); /* which the answer closes */

	if (own < 0 || fstat(own, &st)) {
		static const char text[] = "{\"success\":false}";

		if (own >= 0)
			close(own);
		http_answer(r, MHD_HTTP_INTERNAL_SERVER_ERROR, text, sizeof text - 1);
		return;
	}
	answer(r, MHD_HTTP_OK,
		made(MHD_create_response_from_fd_at_offset64((uint64_t)st.st_size, own, 0),
			"text/html; charset=utf-8"));
}

/* --- requests --- */

static struct peer *peer_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* A question's length, if it says it: what is too long is refused before it is sent. */
static bool too_long(struct MHD_Connection *c)
{
	const char *length = header(c, "Content-Length");
	uint64_t n;

	return length && (!studio_number(length, &n) || n > STUDIO_BODY_MAX);
}

/* Whether it has to be refused; it is then. */
static bool refused(struct http *h, struct MHD_Connection *c, const char *method, const char *path,
	enum studio_route *ret_route, enum MHD_Result *ret)
{
	const struct studio_says says = {header(c, "Host"), header(c, "Origin"),
		header(c, "Sec-Fetch-Site"), header(c, "Authorization")};
	bool other;
	const enum studio_route route = *ret_route = studio_route(method, path, &other);
	/* what does not exist needs the token, too: whether it does is nobody's business */
	const char *why = studio_refusal(&says, h->port, route == STUDIO_PAGE ? NULL : h->token);
	unsigned status = MHD_HTTP_FORBIDDEN;

	if (!why && route == STUDIO_NOWHERE) {
		status = other ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
		why = "there is nothing here";
	} else if (!why && MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL)) {
		status = MHD_HTTP_BAD_REQUEST;
		why = "nothing is asked in an address";
	} else if (!why && too_long(c)) {
		status = MHD_HTTP_CONTENT_TOO_LARGE;
		why = "the question is too long";
	}
	if (why)
		*ret = refuse(c, status, why);
	return why != NULL;
}

static enum MHD_Result begin(struct http *h, struct MHD_Connection *c, const char *method,
	const char *path, void **ret_request)
{
	const char *after = header(c, "X-Tsdb-After");
	struct http_request *r;
	enum studio_route route;
	enum MHD_Result done;

	if (refused(h, c, method, path, &route, &done))
		return done;
	if (route == STUDIO_PAGE)
		return MHD_queue_response(c, MHD_HTTP_OK, h->page);
	r = xcalloc(1, sizeof *r);
	*r = (struct http_request){.h = h, .peer = peer_of(c), .connection = c, .route = route};
	if (after && !studio_number(after, &r->after))
		r->after = 0;
	r->peer->request = r;
	*ret_request = r;
	return MHD_YES;
}

static void ask(struct http_request *r)
{
	const struct http_hooks *k = r->h->hooks;

	r->peer->until = NEVER;
	if (r->route == STUDIO_ASK)
		k->ask(k->arg, r, (const char *)r->body.data, r->body.len);
	else if (r->route == STUDIO_EVENTS)
		k->events(k->arg, r, r->after);
	else
		k->trace(k->arg, r);
	if (!r->answer) {
		r->waits = true;
		MHD_suspend_connection(r->connection);
	}
}

static enum MHD_Result on_request(void *http, struct MHD_Connection *c, const char *path,
	const char *method, const char *version, const char *data, size_t *n, void **request)
{
	struct http_request *r = *request;

	(void)version;
	if (!r)
		return begin(http, c, method, path, request);
	if (*n) {
		if (*n > STUDIO_BODY_MAX - r->body.len)
			return MHD_NO; /* it had said no length: the connection ends */
		buf_add(&r->body, data, *n);
		*n = 0;
		return MHD_YES;
	}
	if (!r->answer)
		ask(r);
	if (!r->answer)
		return MHD_YES;
	r->peer->until = monotonic_ms() + ANSWER_MS;
	return MHD_queue_response(c, r->status, r->answer);
}

static void on_completed(
	void *http, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode why)
{
	struct http_request *r = *request;
	struct http *h = http;

	(void)c;
	(void)why;
	if (!r)
		return;
	h->hooks->gone(h->hooks->arg, r);
	r->peer->request = NULL;
	if (r->answer)
		MHD_destroy_response(r->answer);
	buf_free(&r->body);
	free(r);
	*request = NULL;
}

/* --- connections --- */

/* Other users of the machine can connect, too. Root can do what it likes anyway. */
static enum MHD_Result on_accept(void *http, const struct sockaddr *from, socklen_t n)
{
	const struct sockaddr_in *peer = (const struct sockaddr_in *)from;
	struct http *h = http;
	uid_t uid;

	if (h->peer_fd < 0)
		return MHD_YES;
	if (n < sizeof *peer || peer->sin_family != AF_INET ||
		!studio_peer_uid(h->peer_fd, peer, &h->here, &uid))
		return MHD_NO; /* it is gone */
	if (uid == geteuid() || uid == 0)
		return MHD_YES;
	if (!h->had_stranger)
		h->hooks->stranger(h->hooks->arg, uid);
	h->had_stranger = true;
	return MHD_NO;
}

static void on_connection(
	void *http, struct MHD_Connection *c, void **peer, enum MHD_ConnectionNotificationCode what)
{
	struct http *h = http;
	struct peer *p = *peer;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*peer = p = xcalloc(1, sizeof *p);
		p->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		p->until = monotonic_ms() + ASK_MS;
		p->next = h->peers;
		p->at = &h->peers;
		if (p->next)
			p->next->at = &p->next;
		h->peers = p;
		return;
	}
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	free(p);
	*peer = NULL;
}

/* Those that are too slow are cut; libmicrohttpd then sees their end. */
static void cut_slow(struct http *h)
{
	const uint64_t now = monotonic_ms();

	if (now < h->looked + LOOK_MS)
		return;
	h->looked = now;
	for (struct peer *p = h->peers; p; p = p->next) {
		if (now > p->until) {
			shutdown(p->fd, SHUT_RDWR);
			p->until = NEVER;
		}
	}
}

/* --- the server --- */

static struct err *listen_on(uint16_t port, int *ret, struct sockaddr_in *ret_here)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof to;
	const int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct err *e;

	if (fd < 0)
		return err_sys(errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (!bind(fd, (const struct sockaddr *)&to, sizeof to) && !listen(fd, SOMAXCONN) &&
		!getsockname(fd, (struct sockaddr *)&to, &n)) {
		*ret = fd;
		*ret_here = to;
		return NULL;
	}
	e = err_sys(errno, "cannot listen on 127.0.0.1:%u", port);
	close(fd);
	return err_cure(e, "Without --port a free one is taken");
}

/* It would name what clients send. */
static void say_nothing(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	(void)fmt;
	(void)ap;
}

static struct err *start(struct http *h, int fd)
{
	const union MHD_DaemonInfo *info;

	h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		h->port, on_accept, h, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
	info = h->daemon ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return err_new(ERR_SYSTEM, "libmicrohttpd does not start");
	h->epoll = info->epoll_fd;
	return NULL;
}

struct err *http_open(struct http **ret, uint16_t port, const char *token, bool any_user,
	const struct http_hooks *hooks)
{
	struct http *h = xcalloc(1, sizeof *h);
	struct err *e;
	int fd = -1;

	*h = (struct http){.hooks = hooks, .token = token, .page = make_page(), .peer_fd = -1};
	e = listen_on(port, &fd, &h->here);
	h->port = ntohs(h->here.sin_port);
	if (!e && !any_user)
		h->peer_fd = studio_peer_open(&h->here);
	if (!e)
		e = start(h, fd);
	if (!e) {
		*ret = h;
		return NULL;
	}
	if (fd >= 0 && !h->daemon)
		close(fd);
	http_close(h);
	return e;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->daemon) {
		MHD_run(h->daemon); /* those that were resumed are so now */
		MHD_stop_daemon(h->daemon);
	}
	MHD_destroy_response(h->page);
	if (h->peer_fd >= 0)
		close(h->peer_fd);
	free(h);
}

uint16_t http_port(const struct http *h)
{
	return h->port;
}

int http_fd(const struct http *h)
{
	return h->epoll;
}

int http_timeout(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > LOOK_MS)
		return LOOK_MS;
	return (int)ms;
}

void http_turn(struct http *h)
{
	cut_slow(h);
	MHD_run(h->daemon);
}
