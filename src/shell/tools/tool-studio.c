/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb studio: a trace and its replay in a browser, see studio/studio.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/words.h"
#include "engine/ranks.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "studio/studio.h"

#define USAGE                                                                                      \
	"Use: tsdb studio FILE [--port N] [--on auto|soft|soft-amd|real|none] [--window N] "       \
	"[--any-device] [--any-user]"

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *take_value(struct studio_ask *a, const char *name, const char *value)
{
	static const char *const devices[] = {"auto", "soft", "soft-amd", "real", "none"};
	uint64_t n;

	if (!strcmp(name, "--port")) {
		if (!word_u64(value, &n) || !n || n > UINT16_MAX)
			return usage("\"%s\" is no port", value);
		a->port = (uint16_t)n;
		return NULL;
	}
	if (!strcmp(name, "--window")) {
		TRY(tool_option_window(value, USAGE, &n));
		a->window = (int64_t)n;
		return NULL;
	}
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		if (!strcmp(value, devices[i])) {
			a->on = value;
			return NULL;
		}
	}
	return usage("\"%s\" is no device", value);
}

static struct err *take_words(struct studio_ask *a, int argc, char **argv)
{
	static const char *const valued[] = {"--port", "--on", "--gpu", "--window", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
			TRY(take_value(a, name, value));
		else if (!strcmp(argv[i], "--any-device"))
			a->any_device = true;
		else if (!strcmp(argv[i], "--any-user"))
			a->any_user = true;
		else if (*argv[i] == '-')
			return usage("studio has no option %s", argv[i]);
		else if (a->trace)
			return usage("studio shows one trace, not \"%s\" besides", argv[i]);
		else
			a->trace = argv[i];
	}
	return a->trace ? NULL : usage("studio needs a trace%s", "");
}

/* What cannot be opened is said here, not in the browser. */
static struct err *check_trace(const char *path)
{
	struct sbt_reader *r;

	if (ranks_is(path))
		return err_cure(err_new(ERR_USAGE, "%s is a set, and one trace is replayed", path),
			"Name one rank's own file");
	TRY(sbt_reader_open(&r, path));
	sbt_reader_close(r);
	return NULL;
}

static void tell_ready(void *session, const char *address)
{
	struct session *s = session;

	out_printf(s->out,
		"Open this in a browser on this machine; whoever has the address has the session. "
		"Ctrl-C ends.\n%s\n",
		address);
	out_flush(s->out);
}

static void tell_stranger(void *session, unsigned uid)
{
	struct session *s = session;

	out_printf(s->out,
		"A connection of the user %u was refused. With --any-user the token alone decides.\n",
		uid);
	out_flush(s->out);
}

static struct err *run(struct session *s, struct studio_ask *a)
{
	char self[PATH_MAX], trace[PATH_MAX];
	ssize_t n;

	TRY(studio_possible());
	TRY(check_trace(a->trace));
	n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return err_sys(errno, "/proc/self/exe cannot be read");
	self[n] = 0;
	if (!realpath(a->trace, trace))
		return err_sys(errno, "cannot open %s", a->trace);
	a->tsdb = self;
	a->trace = trace;
	a->interrupt = &interrupt_flag;
	a->ready = tell_ready;
	a->stranger = tell_stranger;
	a->arg = s;
	interrupt_all();
	return studio_run(a);
}

int tool_studio(struct session *s, int argc, char **argv)
{
	struct studio_ask a = {.window = -1};
	struct err *e = take_words(&a, argc, argv);

	if (!e)
		e = run(s, &a);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
