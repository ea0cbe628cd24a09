/* SPDX-License-Identifier: Apache-2.0
 *
 * The replayer as a process and as the other end of a socket. Nothing here waits without a limit,
 * and nothing that is left waits for us: whatever goes wrong on the socket ends in a dead and
 * reaped process. The surprise: what the replayer said last may still lie in the socket when
 * writing to it fails, so a failed write is followed by a read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/child.h"
#include "base/monotonic.h"
#include "base/patience.h"
#include "replay/client/device-private.h"

#define POST_BYTES 4096 /* gathered before they are sent */
/* that a reply may take after Ctrl-C: enough for work in flight, not for a hang */
#define GRACE_MS 3000
#define EXEC_MS 10000	   /* for the replayer to be executed; its file system may hang */
#define DYING_MS 1000	   /* that a process may take to die when its socket is closed */
#define SENTENCE_MAX 4000u /* of what the replayer says */

/* --- the process --- */

/* Runs after fork, so it makes only calls that are safe there. Ctrl-C goes to the shell, and the
 * replayer must not read tsdb's standard input. */
static void child(const struct device *d, int fd, int said, int fail, char **env, pid_t parent)
{
	char *argv[] = {
		d->replayer, d->no_sandbox ? (char *)(uintptr_t)REPLAYER_NO_SANDBOX : NULL, NULL};
	sigset_t none;
	int null, e;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN); /* job engines send these to every process of a job: tsdb's too */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(127);
	null = open("/dev/null", O_RDONLY);
	if (null >= 0)
		dup2(null, 0);
	dup2(said, 1);
	device_child_layout(d->attempt);
	if (!fcntl(fd, F_SETFD, 0))
		execve(d->replayer, argv, env);
	e = errno;
	if (write(fail, &e, sizeof e) < 0)
		_exit(126);
	_exit(127);
}

/* Waits for exec: the pipe closes, or brings an errno. */
static struct err *started(const struct device *d, int fail)
{
	int e = 0;
	ssize_t n = sizeof e;

	if (!child_readable(fail, d->pid, EXEC_MS))
		e = ETIMEDOUT;
	else
		do
			n = read(fail, &e, sizeof e);
		while (n < 0 && errno == EINTR);
	if (n == 0)
		return NULL;
	return err_cure(
		err_sys(n == sizeof e ? e : EIO, "cannot start the replayer %s", d->replayer),
		"tsdb-replayer is installed with tsdb");
}

struct err *device_spawn(struct device *d)
{
	int sv[2], fail[2], said;
	pid_t parent = getpid();
	struct err *e;
	char **env;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return err_sys(errno, "cannot make a socket pair for the replayer");
	if (pipe2(fail, O_CLOEXEC)) {
		e = err_sys(errno, "cannot make a pipe for the replayer");
		close(sv[0]);
		close(sv[1]);
		return e;
	}
	e = device_said_open(d, &said);
	if (e) {
		close(sv[0]);
		close(sv[1]);
		close(fail[0]);
		close(fail[1]);
		return e;
	}
	env = device_child_env(d, sv[1]);
	d->pid = fork();
	if (d->pid == 0)
		child(d, sv[1], said, fail[1], env, parent);
	e = d->pid < 0 ? err_sys(errno, "cannot fork for the replayer") : NULL;
	device_child_env_free(env);
	close(sv[1]);
	close(fail[1]);
	close(said);
	d->fd = sv[0];
	if (d->pid < 0)
		d->pid = 0;
	else
		e = started(d, fail[0]);
	close(fail[0]);
	if (!e && fcntl(d->fd, F_SETFL, O_NONBLOCK))
		e = err_sys(errno, "cannot set up the replayer's socket");
	if (e)
		device_bury(d);
	return e;
}

/* Reaps within ms; the wait status, or -1 when it still lives. */
static int reap(struct device *d, uint64_t ms)
{
	const struct timespec nap = {.tv_nsec = 2000000};
	struct patience patience;
	int status;
	pid_t r;

	patience_begin(&patience, d->pid, ms * 1000000);
	for (;;) {
		device_said_take(d);
		r = waitpid(d->pid, &status, WNOHANG);
		if (r == d->pid)
			return status;
		if (r < 0 && errno != EINTR)
			return 0; /* another part of the program reaped it */
		if (!ms || patience_over(&patience))
			return -1;
		nanosleep(&nap, NULL);
	}
}

int device_bury(struct device *d)
{
	int status = -1;

	if (d->pid) {
		status = reap(d, 0);
		if (status < 0)
			(void)child_kill(d->pid, NULL);
	}
	device_said_close(d);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	d->pid = 0;
	d->pos = d->done = 0;
	buf_clear(&d->out);
	return status;
}

/* --- the end of it --- */

/* Names all commands that were submitted and are not known to have finished. */
static void suspect_all(struct device *d)
{
	d->culprit = d->pos > d->done ? d->pos : 0;
	d->culprit_first = d->culprit ? d->done + 1 : 0;
}

static void add_suspects(struct buf *b, const struct device *d)
{
	if (!d->culprit)
		buf_printf(b, " at #%" PRIu64, d->pos);
	else if (d->culprit_first < d->culprit)
		buf_printf(b, " at one of #%" PRIu64 " to #%" PRIu64, d->culprit_first, d->culprit);
	else
		buf_printf(b, " at #%" PRIu64, d->culprit);
}

static struct err *ended(struct device *d, int status)
{
	struct buf b = BUF_INIT;
	struct err *e;

	buf_str(&b, "the replayer died");
	add_suspects(&b, d);
	if (status < 0)
		buf_str(&b, ": it closed its socket");
	else if (WIFSIGNALED(status))
		buf_printf(&b, ": signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		buf_printf(&b, ": exit status %d", WEXITSTATUS(status));
	if (status >= 0)
		d->pid = 0;
	device_bury(d);
	e = err_new(ERR_INFERIOR, "%s", buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* The socket is closed: finds out how the process ended. */
static struct err *died(struct device *d)
{
	suspect_all(d);
	return ended(d, reap(d, DYING_MS));
}

struct err *device_alive(struct device *d)
{
	int status = d->pid ? reap(d, 0) : -1;

	if (status < 0)
		return NULL;
	suspect_all(d);
	return err_cure(ended(d, status), "the next command starts it again");
}

static struct err *kill_for(struct device *d, enum err_code code, const char *why)
{
	struct buf b = BUF_INIT;
	struct err *e;

	suspect_all(d);
	add_suspects(&b, d);
	e = err_new(code, "%s%s; the replayer was ended", why, buf_cstr(&b));
	if (code == ERR_INTERRUPTED)
		d->culprit = d->culprit_first = 0;
	buf_free(&b);
	device_bury(d);
	return e;
}

/* --- the socket --- */

struct limit {
	struct patience patience;
	uint64_t grace_ms; /* when Ctrl-C was seen; 0: not yet */
};

static struct limit limit_of(const struct device *d)
{
	struct limit l = {0};

	patience_begin(&l.patience, d->pid, d->timeout_ms * 1000000ull);
	return l;
}

static void show_progress(const struct device *d)
{
	struct device_progress p = {.doing = d->doing, .seq = d->want};

	if (d->doing == DEVICE_EXECUTING) {
		p.seq = d->on_way ? d->at : d->want;
		p.total = d->last + 1 - d->first;
		p.done = p.seq + 1 - d->first;
	} else if (d->doing == DEVICE_GOING) {
		p.seq = d->pos;
		p.total = d->on_way ? d->pos - d->from : 0;
		p.done = d->at - d->from;
	}
	d->progress(d->progress_arg, &p);
}

/* Between two looks at the socket: the user, or the limit, may end the wait. */
static struct err *may_wait(struct device *d, struct limit *l)
{
	if (d->progress)
		show_progress(d);
	if (d->interrupt && *d->interrupt && !l->grace_ms)
		l->grace_ms = monotonic_ms();
	if (d->budget && patience_over(d->budget) && !l->grace_ms)
		l->grace_ms = monotonic_ms();
	/* the user gives up, not tsdb */
	if (l->grace_ms && monotonic_ms() - l->grace_ms >= GRACE_MS)
		return d->interrupt && *d->interrupt
			       ? kill_for(d, ERR_INTERRUPTED,
					 "interrupted while the device was busy")
			       : kill_for(d, ERR_LIMIT, "the budget is spent");
	if (!patience_over(&l->patience))
		return NULL;
	d->error = DEVICE_SILENT;
	return err_cure(kill_for(d, ERR_INFERIOR, "no answer from the replayer in time"),
		"the state before it can be inspected");
}

/* Waits until the socket is ready for events, or readable: a dying replayer's message matters more
 * than tsdb's requests. */
static struct err *wait_for(struct device *d, short events, struct limit *l)
{
	for (;;) {
		struct pollfd p[] = {{.fd = d->fd, .events = events | POLLIN},
			{.fd = d->said_fd, .events = POLLIN}};
		int n;

		TRY(may_wait(d, l));
		n = poll(p, 2, 50);
		if (n > 0 && p[0].revents)
			return NULL;
		if (n > 0)
			device_said_take(d);
		if (n < 0 && errno != EINTR)
			return kill_for(d, ERR_SYSTEM, strerror(errno));
	}
}

/* Sends what has gathered. A replayer that no longer reads is no error here: the caller reads its
 * last message. */
static struct err *flush(struct device *d)
{
	struct limit l = limit_of(d);
	size_t at = 0;

	while (at < d->out.len) {
		ssize_t n = send(d->fd, d->out.data + at, d->out.len - at, MSG_NOSIGNAL);

		if (n >= 0) {
			at += (size_t)n;
			patience_begin(&l.patience, d->pid, d->timeout_ms * 1000000ull);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			break;
		TRY(wait_for(d, POLLOUT, &l));
		/* readable although no reply is due: the replayer is ending, or it broke the
		 * protocol */
		struct pollfd p = {.fd = d->fd, .events = POLLIN | POLLOUT};
		if (poll(&p, 1, 0) > 0 && (p.revents & (POLLIN | POLLHUP)) &&
			!(p.revents & POLLOUT))
			break;
	}
	buf_clear(&d->out);
	return NULL;
}

struct err *device_post(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n)
{
	struct replayer_head head = {.type = type, .size = (uint32_t)(n + tail_n)};

	BUG_ON(n + tail_n > REPLAYER_MESSAGE_MAX - sizeof head);
	d->asked = type;
	buf_add(&d->out, &head, sizeof head);
	buf_add(&d->out, body, n);
	if (tail_n)
		buf_add(&d->out, tail, tail_n);
	return d->out.len >= POST_BYTES ? flush(d) : NULL;
}

/* n bytes to dst; *ret_end: the socket ended instead. */
static struct err *receive(struct device *d, void *dst, size_t n, struct limit *l, bool *ret_end)
{
	size_t at = 0;

	while (at < n && !*ret_end) {
		ssize_t got = recv(d->fd, (uint8_t *)dst + at, n - at, 0);

		if (got > 0)
			at += (size_t)got;
		else if (got == 0 || (errno != EINTR && errno != EAGAIN))
			*ret_end = true;
		else if (errno != EINTR)
			TRY(wait_for(d, POLLIN, l));
	}
	return NULL;
}

static const struct {
	enum err_code code;
	bool dead; /* the process is of no use any more */
	const char *cure;
} errors[] = {
	[REPLAYER_E_OTHER] = {ERR_STATE, false, NULL},
	[REPLAYER_E_FAULT] = {ERR_INFERIOR, true,
		"the memory before it can be inspected; the replayer starts again by itself"},
	[REPLAYER_E_PLACE] = {ERR_UNSUPPORTED, true, NULL},
	[REPLAYER_E_MEMORY] = {ERR_LIMIT, false, NULL},
	[REPLAYER_E_DEVICE] = {ERR_UNSUPPORTED, false, NULL},
	[REPLAYER_E_TRACE] = {ERR_BAD_TRACE, false, NULL},
	[REPLAYER_E_TIMEOUT] = {ERR_INFERIOR, true,
		"`set replay timeout SECONDS` (TSDB_REPLAYER_TIMEOUT) gives it more time; the memory before it can be inspected"},
	[REPLAYER_E_REFUSED] = {ERR_UNSUPPORTED, false, NULL},
	[REPLAYER_E_AGAIN] = {ERR_UNSUPPORTED, true, NULL},
};

/* The sentence of an ERROR, safe to print. "; " may part it from a cure, which is left in it. */
static struct err *told(struct device *d)
{
	const struct replayer_error *x = (const void *)d->in.data;
	size_t n = d->in.len - sizeof *x, keep = n < SENTENCE_MAX ? n : SENTENCE_MAX;
	unsigned code = x->code < sizeof errors / sizeof *errors ? x->code : REPLAYER_E_OTHER;
	char *text = xmalloc(keep + 1);
	struct err *e;

	memcpy(text, d->in.data + sizeof *x, keep);
	text[keep] = '\0';
	for (size_t i = 0; i < keep; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = ' ';
	d->error = code;
	d->culprit =
		x->seq >= d->first && x->seq <= d->last ? x->seq : 0; /* no other is executed */
	d->culprit_first = x->first >= d->first && x->first < d->culprit ? x->first : d->culprit;
	e = err_new(
		errors[code].code, "%s", keep ? text : "the replayer failed without saying why");
	if (errors[code].cure)
		e = err_cure(e, "%s", errors[code].cure);
	free(text);
	if (errors[code].dead)
		device_bury(d);
	return e;
}

/* A launch counts as changed only if it is of the window. */
static bool known_reply(const struct device *d, const struct replayer_head *h)
{
	if (h->changed && (h->changed < d->first || h->changed > d->last))
		return false;
	return (h->type == REPLAYER_REPLY ||
		       (h->type == REPLAYER_ERROR && h->size >= sizeof(struct replayer_error))) &&
	       h->size <= REPLAYER_MESSAGE_MAX - sizeof *h;
}

/* What follows such a reply's structure, the caller looks at. */
static bool may_be_longer(uint32_t type)
{
	enum { ALONE, MORE };
	static const bool more[] = {
#define REQ(n, NAME, req, rep, length, help) [n] = length,
		REPLAYER_REQUESTS(REQ)
#undef REQ
	};

	return type < sizeof more / sizeof *more && more[type];
}

/* What was set in a launch counts from its end on, until this says that it does no more. */
static void take_changed(struct device *d, uint64_t seq)
{
	const uint64_t was = d->changed;

	d->changed = seq;
	if (was > seq && d->undone)
		d->undone(d->undone_arg, was);
}

/* How far it is. The limit of time goes on. */
static struct err *take_at(
	struct device *d, const struct replayer_head *head, struct limit *l, bool *ret_end)
{
	struct replayer_done at;

	if ((d->asked != REPLAYER_SEEK && d->asked != REPLAYER_RUN) || head->size != sizeof at)
		return kill_for(d, ERR_INFERIOR, "the replayer answers what is no answer");
	TRY(receive(d, &at, sizeof at, l, ret_end));
	if (*ret_end)
		return NULL;
	if (at.seq < d->first - 1 || at.seq > d->pos || (d->on_way && at.seq < d->at))
		return kill_for(d, ERR_INFERIOR, "the replayer is where it cannot be");
	d->from = d->on_way ? d->from : at.seq;
	d->at = at.seq;
	d->on_way = true;
	return may_wait(d, l);
}

/* The head of the reply. */
static struct err *take_head(
	struct device *d, struct replayer_head *ret, struct limit *l, bool *ret_end)
{
	do {
		TRY(receive(d, ret, sizeof *ret, l, ret_end));
		if (!*ret_end && ret->type == REPLAYER_AT)
			TRY(take_at(d, ret, l, ret_end));
	} while (!*ret_end && ret->type == REPLAYER_AT);
	return NULL;
}

struct err *device_reply(struct device *d, size_t size)
{
	struct replayer_head head;
	struct limit l;
	bool end = false;

	TRY(flush(d));
	l = limit_of(d);
	TRY(take_head(d, &head, &l, &end));
	if (end)
		return died(d);
	if (!known_reply(d, &head))
		return kill_for(d, ERR_INFERIOR, "the replayer answers what is no answer");
	buf_clear(&d->in);
	buf_room(&d->in, head.size);
	TRY(receive(d, d->in.data, head.size, &l, &end));
	if (end)
		return died(d);
	d->in.len = head.size;
	device_said_take(d);
	take_changed(d, head.changed);
	if (head.type == REPLAYER_ERROR)
		return told(d);
	if (d->in.len < size)
		return kill_for(d, ERR_INFERIOR, "the replayer's answer is too short");
	if (d->in.len > size && !may_be_longer(d->asked))
		return kill_for(d, ERR_INFERIOR, "the replayer's answer is too long");
	return NULL;
}
