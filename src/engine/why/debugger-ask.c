/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives cuda-gdb through two pipes, see debugger.h: a command, then an `echo` of a line that ends
 * its answer. The surprise: it is never killed while it holds the process, since kernels that it
 * has suspended would stay so. At the end of its input it lets go of the process and ends, also
 * when tsdb itself has died; one that does not is asked with SIGTERM.
 */
#include "engine/why/debugger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/child.h"
#include "base/proc-read.h"
#include "base/text.h"

enum {
	STATUS_MOST = 8192,
	PATH_MOST = 4096,
	PIECE = 65536,
};
#define ANSWER_MOST ((size_t)8 << 20) /* bytes of an answer that are kept */
#define PROMPT "(cuda-gdb) "
#define MARK "@tsdb-said@"

const struct debugger_limits debugger_limits = {.answer_ms = 10000, .end_ms = 4000};

struct debugger {
	const struct debugger_limits *limits;
	pid_t pid;
	int to, from;
	struct buf said; /* of the last command; NUL-terminated by say() */
};

/* --- where it is --- */

static char *in_folders(const char *folders)
{
	while (folders && *folders) {
		const size_t n = strcspn(folders, ":");
		char path[PATH_MOST];

		if (n && n < sizeof(path) - sizeof("/cuda-gdb")) {
			snprintf(path, sizeof(path), "%.*s/cuda-gdb", (int)n, folders);
			if (!access(path, X_OK))
				return xstrdup(path);
		}
		folders += n + (folders[n] == ':');
	}
	return NULL;
}

/* The caller frees it; NULL: it is not there. */
static char *find_program(void)
{
	const char *given = getenv("TSDB_CUDA_GDB");
	char *found;

	if (given && *given)
		return access(given, X_OK) ? NULL : xstrdup(given);
	found = in_folders(getenv("PATH"));
	return found ? found : in_folders("/usr/local/cuda/bin:/opt/cuda/bin");
}

bool why_can_look_inside(void)
{
	char *path = find_program();
	const bool can = path != NULL;

	free(path);
	return can;
}

/* --- a conversation --- */

/* In the child. */
static _Noreturn void begin(const char *path, int in, int out)
{
	char *const argv[] = {(char *)"cuda-gdb", (char *)"-q", (char *)"-nx", (char *)"-iex",
		(char *)"set confirm off", (char *)"-iex", (char *)"set pagination off",
		(char *)"-iex", (char *)"set width 0", (char *)"-iex",
		(char *)"set debuginfod enabled off", NULL};

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv("TERM", "dumb", 1);
	setpgid(0, 0); /* Ctrl-C is tsdb's */
	execv(path, argv);
	_exit(127);
}

static struct err *start(struct debugger *d, const char *path, const struct debugger_limits *limits)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC))
		return err_sys(errno, "no pipe could be made");
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return err_sys(errno, "no pipe could be made");
	}
	*d = (struct debugger){.limits = limits, .to = to[1], .from = from[0], .said = BUF_INIT};
	d->pid = fork();
	if (!d->pid)
		begin(path, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	if (d->pid > 0)
		return NULL;
	close(d->to);
	close(d->from);
	return err_sys(errno, "cuda-gdb could not be started");
}

/* Reads until the mark. Of an answer that is too long the end is thrown away. */
static struct err *read_answer(struct debugger *d)
{
	const size_t tail = strlen(MARK);

	buf_clear(&d->said);
	for (;;) {
		const size_t before = d->said.len > tail ? d->said.len - tail : 0;
		const uint8_t *mark;
		ssize_t n;

		if (!child_readable(d->from, d->pid, d->limits->answer_ms))
			return err_new(ERR_STATE, "cuda-gdb did not answer");
		n = read(d->from, buf_room(&d->said, PIECE), PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_new(ERR_STATE, "cuda-gdb ended");
		d->said.len += (size_t)n;
		mark = memmem(d->said.data + before, d->said.len - before, MARK, tail);
		if (mark) {
			d->said.len = (size_t)(mark - d->said.data);
			return NULL;
		}
		if (d->said.len > ANSWER_MOST + tail) {
			memmove(d->said.data + ANSWER_MOST, d->said.data + d->said.len - tail,
				tail);
			d->said.len = ANSWER_MOST + tail;
		}
	}
}

/* Its prompts, which lines begin with, are taken out. */
static void strip_prompts(struct buf *b)
{
	size_t to = 0;

	for (size_t i = 0; i < b->len;) {
		if (b->len - i >= strlen(PROMPT) && !memcmp(b->data + i, PROMPT, strlen(PROMPT)))
			i += strlen(PROMPT);
		else
			b->data[to++] = b->data[i++];
	}
	b->len = to;
}

/* The answer is in d->said. */
__attribute__((format(printf, 2, 3))) static struct err *say(
	struct debugger *d, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	buf_str(&b, "\necho \\n" MARK "\\n\n");
	for (size_t at = 0; !e && at < b.len;) {
		const ssize_t n = write(d->to, b.data + at, b.len - at);

		if (n > 0)
			at += (size_t)n;
		else if (errno != EINTR)
			e = err_new(ERR_STATE, "cuda-gdb ended");
	}
	buf_free(&b);
	if (!e)
		e = read_answer(d);
	strip_prompts(&d->said);
	(void)buf_cstr(&d->said);
	return e;
}

/* It lets go of the process, then it ends. */
static void end(struct debugger *d)
{
	close(d->to);
	if (!child_wait(d->pid, d->limits->end_ms, NULL)) {
		kill(d->pid, SIGTERM);
		(void)child_wait(d->pid, d->limits->end_ms, NULL);
	}
	close(d->from);
	buf_free(&d->said);
}

/* --- attaching --- */

/* 0: nobody traces it, or it is gone. */
static pid_t tracer_of(pid_t pid)
{
	struct buf b = BUF_INIT;
	const char *at;
	pid_t tracer = 0;

	if (proc_read(pid, "status", STATUS_MOST, &b)) {
		at = strstr(buf_cstr(&b), "\nTracerPid:");
		tracer = at ? (pid_t)atoi(at + strlen("\nTracerPid:")) : 0;
	}
	buf_free(&b);
	return tracer;
}

/* The last line that is not empty, of what it said: most likely why it could not attach. */
static struct err *not_attached(struct debugger *d, pid_t pid)
{
	char *text = (char *)d->said.data, *line;
	const char *last = "it says nothing";
	struct buf safe = BUF_INIT;
	struct err *e;

	while ((line = proc_next_line(&text)))
		if (*line)
			last = line;
	text_safe(&safe, last, strlen(last), 0);
	e = err_cure(err_new(ERR_UNSUPPORTED, "cuda-gdb could not attach to process %d: %s",
			     (int)pid, buf_cstr(&safe)),
		"`cuda-gdb -p %d` says more", (int)pid);
	buf_free(&safe);
	return e;
}

static struct err *attach(struct debugger *d, pid_t pid)
{
	TRY(say(d, "attach %d", (int)pid));
	return tracer_of(pid) ? NULL : not_attached(d, pid);
}

/* --- looking --- */

static struct err *read_load(struct debugger *d, struct debugger_load *l)
{
	static const struct {
		unsigned bytes;
		const char *type;
	} types[] = {{1, "unsigned char"}, {2, "unsigned short"}, {4, "unsigned int"},
		{8, "unsigned long long"}, {16, "unsigned long long"}};
	uint32_t low, high;
	const char *type = NULL;

	TRY(say(d, "info registers R%u R%u", l->reg, l->reg + 1));
	if (!debugger_read_register(buf_cstr(&d->said), l->reg, &low) ||
		!debugger_read_register(buf_cstr(&d->said), l->reg + 1, &high))
		return NULL;
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].bytes == l->bytes)
			type = types[i].type;
	l->addr = ((uint64_t)high << 32 | low) + (uint64_t)l->offset;
	TRY(say(d, "print/x *(@global %s *)0x%" PRIx64, type, l->addr));
	l->known = debugger_read_value(buf_cstr(&d->said), &l->value);
	return NULL;
}

/* Loads of one of the kernel's places: from the first lane there. */
static struct err *read_place(
	struct debugger *d, struct debugger_kernel *k, const struct debugger_place *p)
{
	struct debugger_load *const to = k->load + k->nloads;
	const unsigned room = DEBUGGER_LOADS - k->nloads;
	unsigned n;

	TRY(say(d,
		"cuda kernel %" PRIu32 " block %" PRIu32 ",%" PRIu32 ",%" PRIu32 " thread %" PRIu32
		",%" PRIu32 ",%" PRIu32,
		k->number, p->block[0], p->block[1], p->block[2], p->thread[0], p->thread[1],
		p->thread[2]));
	TRY(say(d, "disassemble"));
	n = debugger_read_loop(buf_cstr(&d->said), p->pc, to, room);
	for (unsigned i = 0; i < n; i++)
		TRY(read_load(d, &to[i]));
	k->nloads += n;
	return NULL;
}

static struct err *read_kernel(struct debugger *d, struct debugger_kernel *k)
{
	TRY(say(d, "cuda kernel %" PRIu32, k->number));
	TRY(say(d, "info cuda threads"));
	debugger_read_threads(buf_cstr(&d->said), k);
	for (unsigned i = 0; i < k->nplaces && k->nloads < DEBUGGER_LOADS; i++)
		TRY(read_place(d, k, &k->place[i]));
	return NULL;
}

static struct err *look(struct debugger *d, pid_t pid, struct debugger_seen *ret)
{
	TRY(say(d, "set cuda break_on_launch none"));
	TRY(attach(d, pid));
	TRY(say(d, "info cuda kernels"));
	debugger_read_kernels(buf_cstr(&d->said), ret);
	for (unsigned i = 0; i < ret->nkernels; i++)
		TRY(read_kernel(d, &ret->kernel[i]));
	return say(d, "detach");
}

struct err *debugger_look(
	pid_t pid, const struct debugger_limits *limits, struct debugger_seen *ret)
{
	char *path = find_program();
	struct debugger d;
	struct err *e;

	*ret = (struct debugger_seen){0};
	if (!path)
		return err_cure(err_new(ERR_UNSUPPORTED, "cuda-gdb is not there"),
			"Install it with the CUDA toolkit, or set TSDB_CUDA_GDB to its path");
	if (tracer_of(pid)) {
		free(path);
		return err_cure(err_new(ERR_STATE, "process %d is being debugged by process %d",
					(int)pid, (int)tracer_of(pid)),
			"End that one first");
	}
	e = start(&d, path, limits);
	free(path);
	if (e)
		return e;
	e = look(&d, pid, ret);
	end(&d);
	return e;
}
