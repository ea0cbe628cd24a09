/* SPDX-License-Identifier: Apache-2.0
 *
 * One file for Perfetto's page, see open-ui.h. One connection at a time; what a client sends is
 * read up to the end of its head, REQUEST_MAX bytes at most, and each read and write has a limit of
 * time, so that nobody holds the server up.
 */
#include "shell/tools/open-ui.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/monotonic.h"

#define ORIGIN "https://ui.perfetto.dev"
enum { PORT = 9001, REQUEST_MAX = 8192, READ_SECONDS = 5, WRITE_SECONDS = 60, HOUR = 3600 };

struct server {
	int listener, file;
	uint64_t size;
	char *where; /* "/WORD/app.pftrace", as it is asked for */
	bool done;
};
struct request {
	char text[REQUEST_MAX + 1];
	char *method, *path;
	bool from_page; /* its Origin is the page's */
};

/* --- what is asked --- */

/* Whether the head has the field with that value; *ret_other: it has another value. */
static bool has_field(const char *fields, const char *name, const char *value, bool *ret_other)
{
	const size_t n = strlen(name);

	*ret_other = false;
	for (const char *at = fields, *end; *at; at = end + 2) {
		end = strstr(at, "\r\n");
		if (!end)
			break;
		if (strncasecmp(at, name, n) || at[n] != ':')
			continue;
		at += n + 1;
		at += strspn(at, " \t");
		if (!strncmp(at, value, strlen(value)) &&
			at + strlen(value) + strspn(at + strlen(value), " \t") == end)
			return true;
		*ret_other = true;
	}
	return false;
}

static bool read_head(int fd, struct request *r)
{
	size_t n = 0;

	while (n < REQUEST_MAX) {
		const ssize_t got = recv(fd, r->text + n, REQUEST_MAX - n, 0);

		if (got <= 0)
			return false;
		n += (size_t)got;
		r->text[n] = 0;
		if (strlen(r->text) != n)
			return false;
		if (strstr(r->text, "\r\n\r\n"))
			return true;
	}
	return false;
}

/* The answer's first words; NULL: it may have the file, or what it asks about it. A page can make
 * the browser ask under any name that leads here, so the name is looked at, too. */
static const char *refusal(struct request *r)
{
	char *line_end = strstr(r->text, "\r\n"), *space = strchr(r->text, ' '), *end;
	char host[32];
	bool other;

	end = space ? strchr(space + 1, ' ') : NULL;
	if (!end || end > line_end)
		return "400 Bad Request";
	snprintf(host, sizeof host, "127.0.0.1:%d", PORT);
	if (!has_field(line_end + 2, "Host", host, &other))
		return "403 Forbidden";
	r->from_page = has_field(line_end + 2, "Origin", ORIGIN, &other);
	if (other)
		return "403 Forbidden";
	*space = *end = 0;
	r->method = r->text;
	r->path = space + 1;
	return NULL;
}

/* --- what is answered --- */

static bool send_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool send_head(int fd, const struct request *r, const char *status, uint64_t size)
{
	struct buf b = BUF_INIT;
	bool ok;

	buf_printf(&b,
		"HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %" PRIu64
		"\r\nCache-Control: no-cache\r\nConnection: close\r\n",
		status, size);
	if (r->from_page)
		buf_str(&b, "Access-Control-Allow-Origin: " ORIGIN
			    "\r\nVary: Origin\r\nAccess-Control-Allow-Methods: GET\r\n"
			    "Access-Control-Allow-Private-Network: true\r\n");
	buf_str(&b, "\r\n");
	ok = send_all(fd, b.data, b.len);
	buf_free(&b);
	return ok;
}

static bool send_file(const struct server *v, int fd)
{
	char part[1 << 16];
	uint64_t at = 0;

	while (at < v->size) {
		const ssize_t n = pread(v->file, part, sizeof part, (off_t)at);

		if (n <= 0 || !send_all(fd, part, (size_t)n))
			return false;
		at += (uint64_t)n;
	}
	return true;
}

static void answer(struct server *v, int fd)
{
	struct request r = {.method = NULL};
	const char *refused;

	if (!read_head(fd, &r))
		return;
	refused = refusal(&r);
	if (!refused && strcmp(r.path, v->where))
		refused = "404 Not Found";
	if (!refused && strcmp(r.method, "GET") && strcmp(r.method, "OPTIONS"))
		refused = "405 Method Not Allowed";
	if (refused)
		send_head(fd, &r, refused, 0);
	else if (!strcmp(r.method, "OPTIONS"))
		send_head(fd, &r, "204 No Content", 0);
	else
		v->done = send_head(fd, &r, "200 OK", v->size) && send_file(v, fd);
}

/* --- the server --- */

static struct err *listen_on_port(struct server *v)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int yes = 1;

	v->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (v->listener < 0)
		return err_sys(errno, "cannot make a socket");
	setsockopt(v->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(v->listener, (const struct sockaddr *)&to, sizeof to) || listen(v->listener, 8))
		return err_cure(err_sys(errno, "cannot listen on 127.0.0.1:%d", PORT),
			"Perfetto's page loads from this port alone; end what uses it, or open the file in the page yourself");
	return NULL;
}

static void serve_next(struct server *v)
{
	const struct timeval reading = {.tv_sec = READ_SECONDS},
			     writing = {.tv_sec = WRITE_SECONDS};
	const int fd = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &reading, sizeof reading);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &writing, sizeof writing);
	answer(v, fd);
	shutdown(fd, SHUT_WR);
	close(fd);
}

static struct err *serve_once(struct server *v, const volatile bool *interrupt)
{
	const uint64_t until = monotonic_ns() + HOUR * UINT64_C(1000000000);

	while (!v->done) {
		struct pollfd p = {.fd = v->listener, .events = POLLIN};

		if (poll(&p, 1, 200) > 0)
			serve_next(v);
		if (*interrupt)
			return err_new(ERR_INTERRUPTED, "interrupted");
		if (monotonic_ns() > until)
			return err_new(
				ERR_STATE, "the page has not asked for the file within an hour");
	}
	return NULL;
}

/* "/WORD/NAME", NAME without what has a meaning in an address; heap. */
static struct err *make_where(const char *path, char **ret)
{
	uint64_t word;
	struct buf b = BUF_INIT;

	if (getrandom(&word, sizeof word, 0) != sizeof word)
		return err_sys(errno, "cannot get random bytes");
	buf_printf(&b, "/%016" PRIx64 "/", word);
	for (const char *c = file_name_of(path); *c; c++) {
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
			    *c))
			buf_byte(&b, (uint8_t)*c);
		else
			buf_printf(&b, "%%%02X", (unsigned char)*c);
	}
	(void)buf_cstr(&b);
	*ret = buf_steal(&b);
	return NULL;
}

/* Asks the desktop to show the address, and tells it. */
static void show(const struct server *v)
{
	extern char **environ;
	char *address = xasprintf(ORIGIN "/#!/?url=http://127.0.0.1:%d%s", PORT, v->where);
	char *argv[] = {"xdg-open", address, NULL};
	posix_spawn_file_actions_t quiet;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	fprintf(stderr,
		"Open %s in a browser of this machine, if none does so itself; Ctrl-C ends.\n",
		address);
	if (!posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ))
		waitpid(pid, NULL, WNOHANG);
	posix_spawn_file_actions_destroy(&quiet);
	free(address);
}

struct err *open_in_ui(const char *path, const volatile bool *interrupt)
{
	struct server v = {.listener = -1, .file = open(path, O_RDONLY | O_CLOEXEC)};
	struct stat st;
	struct err *e = NULL;

	if (v.file < 0 || fstat(v.file, &st))
		e = err_sys(errno, "cannot open %s", path);
	if (!e)
		e = make_where(path, &v.where);
	if (!e)
		e = listen_on_port(&v);
	if (!e) {
		v.size = (uint64_t)st.st_size;
		show(&v);
		e = serve_once(&v, interrupt);
	}
	if (v.listener >= 0)
		close(v.listener);
	if (v.file >= 0)
		close(v.file);
	free(v.where);
	return e;
}
