/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: a tsdb of their own, asked over a socket (door/door.h).
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "door/door-peer.h"
#include "door/door.h"
#include "library/ts-session.h"

#define SERVE "--serve=3" /* DOOR_PEER_FD */
enum { WORDS_MAX = 256 };

extern char **environ;

struct ts_session {
	struct door_peer peer; /* not changed from its start to its end: other threads signal it */
	bool over;	       /* tsdb has ended, or what it says is not understood */
	char *said;	       /* at the last stop */
	char *stop;	       /* the last stop: JSON; NULL: there was none */
	library_progress_fn *progress; /* NULL: nobody wants to know */
	void *progress_arg;
};

/* --- finding and starting tsdb --- */

/* Beside an installed library lies a folder of that name. */
static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* A tsdb beside the library, or of its installation; a heap string, "tsdb" to look in PATH. */
static char *find_tsdb(void)
{
	static const char *const places[] = {
		"%.*s/tsdb", "%.*s/../bin/tsdb", "%.*s/../../bin/tsdb"};
	const char *slash;
	Dl_info info;
	char *path;

	if (!dladdr((void *)(uintptr_t)ts_version, &info) || !info.dli_fname ||
		!(slash = strrchr(info.dli_fname, '/')))
		return strdup("tsdb");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (asprintf(&path, places[i], (int)(slash - info.dli_fname), info.dli_fname) < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
	}
	return strdup("tsdb");
}

static int start(ts_session *s, const char *const *words, const char *tsdb)
{
	char *all[WORDS_MAX + 8], *path = tsdb ? strdup(tsdb) : find_tsdb();
	int n = 0, r;

	if (!path)
		return result_of(err_nomem());
	all[n++] = path;
	all[n++] = (char *)(uintptr_t)SERVE;
	for (; *words; words++) {
		if (n > WORDS_MAX) {
			free(path);
			return result_of(
				err_new(ERR_LIMIT, "there are more than %d arguments", WORDS_MAX));
		}
		all[n++] = (char *)(uintptr_t)*words;
	}
	all[n] = NULL;
	r = door_peer_start(&s->peer, all, environ, false);
	if (r)
		r = result_of(err_cure(err_sys(r, "cannot start %s", path),
			"ts_session_options has the path of another tsdb"));
	free(path);
	return r;
}

/* --- asking --- */

/* tsdb has ended: waits for it; the error that says how. It is collected when the session is
 * closed, so that its number stays its own until then. */
static int ended(ts_session *s)
{
	siginfo_t how = {0};

	s->over = true;
	door_peer_signal(&s->peer, SIGKILL); /* it may live, and have said what cannot be */
	while (waitid(P_PID, (id_t)s->peer.pid, &how, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	if ((how.si_code == CLD_KILLED || how.si_code == CLD_DUMPED) && how.si_status != SIGKILL)
		return result_of(err_new(
			ERR_SYSTEM, "the session's tsdb was ended by signal %d", how.si_status));
	return result_of(err_new(ERR_SYSTEM, "the session's tsdb has ended"));
}

static char *receive_text(ts_session *s, uint64_t n)
{
	char *text = malloc(n + 1);

	if (!text)
		return NULL;
	if (!door_receive(s->peer.fd, text, n)) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	return text;
}

static bool sane(const struct door_answer *a)
{
	return a->code <= ERR_INTERRUPTED && a->what <= DOOR_TEXT_MAX && a->cure <= DOOR_TEXT_MAX &&
	       a->notes <= DOOR_TEXT_MAX && a->stop <= DOOR_TEXT_MAX && a->size <= DOOR_ANSWER_MAX;
}

/* Keeps a stop, if there is one. Returns false if it did not come. */
static bool receive_stop(ts_session *s, uint32_t n)
{
	char *stop = n ? receive_text(s, n) : NULL;

	if (!stop)
		return !n;
	free(s->stop);
	s->stop = stop;
	return true;
}

/* The head of an answer. Reports of progress that come before it are passed on. */
static bool receive_head(ts_session *s, struct door_answer *a)
{
	struct door_progress p;

	for (;;) {
		if (!door_receive(s->peer.fd, a, sizeof *a) || !sane(a))
			return false;
		if (!a->works)
			return true;
		if (a->size != sizeof p || !door_receive(s->peer.fd, &p, sizeof p))
			return false;
		p.what[sizeof p.what - 1] = 0;
		if (s->progress)
			s->progress(s->progress_arg, p.what, p.done, p.total);
	}
}

void library_session_progress(ts_session *s, library_progress_fn *fn, void *arg)
{
	s->progress = fn;
	s->progress_arg = arg;
}

/* Heap strings. */
static int receive(ts_session *s, char **ret_data, uint64_t *ret_size, char **ret_notes)
{
	struct door_answer a;
	char *what = NULL, *cure = NULL, *notes = NULL, *data = NULL;
	int r = TS_OK;

	if (!receive_head(s, &a))
		return ended(s);
	if (!(what = receive_text(s, a.what)) || !(cure = receive_text(s, a.cure)) ||
		!(notes = receive_text(s, a.notes)) || !receive_stop(s, a.stop) ||
		!(data = receive_text(s, a.size))) {
		r = ended(s);
	} else if (a.code) {
		struct err *e = err_new((enum err_code)a.code, "%s", what);

		r = result_of(*cure ? err_cure(e, "%s", cure) : e);
	}
	free(what);
	free(cure);
	if (r) {
		free(notes);
		free(data);
		return r;
	}
	*ret_data = data;
	*ret_notes = notes;
	*ret_size = a.size;
	return TS_OK;
}

static int check(const ts_session *s)
{
	if (!s)
		return result_of(err_new(ERR_USAGE, "there is no session"));
	if (s->over)
		return result_of(err_cure(err_new(ERR_STATE, "the session has ended"),
			"Close it and open another one"));
	return TS_OK;
}

static int ask(ts_session *s, const struct door_question *q, const void *bytes, char **ret_data,
	uint64_t *ret_size, char **ret_notes)
{
	const int r = check(s);

	if (r)
		return r;
	if (q->size > DOOR_PIECE)
		return result_of(err_new(ERR_LIMIT, "a question is too long"));
	if (!door_send(s->peer.fd, q, sizeof *q) || !door_send(s->peer.fd, bytes, q->size))
		return ended(s);
	return receive(s, ret_data, ret_size, ret_notes);
}

static int ask_text(ts_answer **ret, ts_session *s, enum door_op op, const char *bytes, size_t size)
{
	const struct door_question q = {.op = op, .size = size};
	char *data, *notes;
	uint64_t n;
	const int r = ask(s, &q, bytes, &data, &n, &notes);

	return r ? r : library_answer(ret, data, notes);
}

/* --- opening and closing --- */

int library_session_options(
	struct ts_session_options *ret, const struct ts_session_options *options)
{
	static const char *const devices[] = {"soft", "real", "none", "auto"};

	*ret = (struct ts_session_options)TS_SESSION_DEFAULTS;
	if (!options)
		return TS_OK;
	if (!options->size || options->size > sizeof *ret)
		return result_of(err_new(ERR_USAGE,
			"the caller sets size to sizeof(struct ts_session_options), at most %zu here",
			sizeof *ret));
	memcpy(ret, options, options->size);
	for (size_t i = 0; ret->on && i < sizeof devices / sizeof *devices; i++) {
		if (!strcmp(ret->on, devices[i]))
			return TS_OK;
	}
	return ret->on ? result_of(err_new(ERR_USAGE, "\"%s\" is no device", ret->on)) : TS_OK;
}

static int greet(ts_session *s)
{
	char *data, *notes;
	uint64_t n;
	bool known;
	const int r = receive(s, &data, &n, &notes);

	if (r)
		return r;
	known = !strcmp(data, DOOR_GREETING);
	free(data);
	free(notes);
	return known ? TS_OK
		     : result_of(err_new(ERR_UNSUPPORTED,
			       "the tsdb that was found is of another version than the library"));
}

int library_session_open(
	ts_session **ret, const char *const *words, const struct ts_session_options *options)
{
	ts_session *s = calloc(1, sizeof *s);
	int r;

	if (!s)
		return result_of(err_nomem());
	s->peer = (struct door_peer)DOOR_PEER_NONE;
	r = start(s, words, options ? options->tsdb : NULL);
	if (!r)
		r = greet(s);
	if (r)
		ts_session_close(s);
	else
		*ret = s;
	return r;
}

void ts_session_close(ts_session *s)
{
	if (!s)
		return;
	door_peer_close(&s->peer);
	if (s->peer.pid)
		while (waitpid(s->peer.pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(s->said);
	free(s->stop);
	free(s);
}

void ts_session_interrupt(ts_session *s)
{
	if (s)
		door_peer_signal(&s->peer, SIGINT);
}

int ts_ask(ts_answer **ret, ts_session *s, const char *command)
{
	if (!ret || !command)
		return result_of(
			err_new(ERR_USAGE, "ts_ask() takes a place for the answer and a command"));
	return ask_text(ret, s, DOOR_COMMAND, command, strlen(command));
}

int library_ask_tool(ts_answer **ret, ts_session *s, const char *const *words)
{
	size_t n = 0;
	char *all, *to;
	int r;

	for (const char *const *w = words; *w; w++)
		n += strlen(*w) + 1;
	all = to = malloc(n + 1);
	if (!all)
		return result_of(err_nomem());
	for (; *words; words++)
		to = stpcpy(to, *words) + 1;
	r = ask_text(ret, s, DOOR_TOOL, all, n);
	free(all);
	return r;
}

/* --- memory --- */

static int no_memory_at(uint64_t addr, size_t size, const void *bytes)
{
	if (!bytes && size)
		return result_of(err_new(ERR_USAGE, "there is no place for the bytes"));
	if (size && addr > UINT64_MAX - (size - 1))
		return result_of(err_new(ERR_USAGE, "the memory would go beyond all addresses"));
	return TS_OK;
}

/* Reads or writes piece by piece; bytes are not changed by DOOR_WRITE. */
static int transfer(ts_session *s, enum door_op op, uint64_t addr, char *bytes, size_t size)
{
	const bool reads = op == DOOR_READ;
	char *data, *notes;
	int r = no_memory_at(addr, size, bytes);

	for (size_t n; !r && size; size -= n, bytes += n, addr += n) {
		uint64_t got;

		n = size < DOOR_PIECE ? size : DOOR_PIECE;
		const struct door_question q = {
			.op = op, .addr = addr, .n = reads ? n : 0, .size = reads ? 0 : n};

		r = ask(s, &q, bytes, &data, &got, &notes);
		if (r)
			break;
		if (reads && got == n)
			memcpy(bytes, data, n);
		else if (reads)
			r = ended(s);
		free(data);
		free(notes);
	}
	return r;
}

int ts_memory_read(ts_session *s, uint64_t addr, void *dst, size_t size)
{
	return transfer(s, DOOR_READ, addr, dst, size);
}

int ts_memory_write(ts_session *s, uint64_t addr, const void *src, size_t size)
{
	return transfer(s, DOOR_WRITE, addr, (char *)(uintptr_t)src, size);
}

/* --- stops --- */

/* The words of tsdb's stops, see TS_STOP_REASONS. */
static const struct {
	const char *word;
	enum ts_stop stop;
} reasons[] = {
#define REASON(name, number, word) {word, TS_STOP_##name},
	TS_STOP_REASONS(REASON)
#undef REASON
};

static int reason_of(ts_answer *stop, enum ts_stop *ret)
{
	const char *word;
	const int r = ts_answer_string(stop, "stop_reason", &word);

	if (r)
		return r;
	*ret = TS_STOP_OTHER;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (!strcmp(word, reasons[i].word))
			*ret = reasons[i].stop;
	}
	return TS_OK;
}

/* Runs a command that moves, and says why it stopped. */
static int move(ts_session *s, const char *command, enum ts_stop *ret)
{
	ts_answer *a, *stop;
	int r = check(s);

	if (r)
		return r;
	free(s->stop);
	s->stop = NULL;
	r = ts_ask(&a, s, command);
	if (r)
		return r;
	free(s->said);
	s->said = strdup(ts_answer_text(a));
	ts_answer_free(a);
	if (!s->said)
		return result_of(err_nomem());
	if (!ret)
		return TS_OK;
	r = ts_stopped(&stop, s);
	if (r)
		return r;
	r = reason_of(stop, ret);
	ts_answer_free(stop);
	return r;
}

int ts_run(ts_session *s, enum ts_stop *ret)
{
	return move(s, "run", ret);
}

int ts_continue(ts_session *s, enum ts_stop *ret)
{
	return move(s, "continue", ret);
}

int ts_reverse_continue(ts_session *s, enum ts_stop *ret)
{
	return move(s, "reverse-continue", ret);
}

int ts_stopped(ts_answer **ret, const ts_session *s)
{
	int r = check(s);

	if (r)
		return r;
	if (!ret)
		return result_of(err_new(ERR_USAGE, "there is no place for the answer"));
	if (!s->stop)
		return result_of(
			err_new(ERR_NOT_FOUND, "the session has not stopped anywhere yet"));
	return library_answer(ret, strdup(s->stop), strdup(""));
}

const char *ts_stop_text(const ts_session *s)
{
	return s && s->said ? s->said : "";
}
