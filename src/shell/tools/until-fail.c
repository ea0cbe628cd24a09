/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program until it fails, see until-fail.h. Keeps two traces: of the first run that failed,
 * and of the last that passed before it, or of the first after it. Then says where the two begin to
 * differ.
 */
#include "shell/tools/until-fail.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/attach.h"
#include "base/file.h"
#include "engine/names.h"
#include "engine/recorder.h"
#include "shell/live/live-text.h"
#include "shell/tools/tools.h"

struct runs {
	struct session *s;
	char *trying, *passed, *failed; /* traces' names; heap */
	bool has_passed, has_failed;
	uint64_t run, first_failed; /* from 1 */
	int code, signal;	    /* how that one ended */
};

/* "app.passed.sbt" of "app.sbt"; heap. */
static char *named(const char *path, const char *what)
{
	const char *name = file_name_of(path), *dot = strrchr(name, '.');
	const int n = dot && dot > name ? (int)(dot - path) : (int)strlen(path);

	return xasprintf("%.*s.%s%s", n, path, what, path + n);
}

static void name_traces(struct runs *r)
{
	struct session *s = r->s;
	struct names own = names_own();
	char *pattern = s->engine.live.plan.path
				? xstrdup(s->engine.live.plan.path)
				: xasprintf("%s.sbt", file_name_of(s->engine.live.program)),
	     *path;

	own.program = s->engine.live.program;
	path = names_expand(pattern, &own);
	r->trying = named(path, "trying");
	r->passed = named(path, "passed");
	r->failed = named(path, "failed");
	free(own.host);
	free(pattern);
	free(path);
}

static struct err *keep(const struct runs *r, const char *as)
{
	return rename(r->trying, as) ? err_sys(errno, "cannot rename %s to %s", r->trying, as)
				     : NULL;
}

/* A signal by which a person or a job engine ends what runs. */
static bool is_asked_to_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

static struct err *record_one(struct runs *r, struct err *(*record)(struct session *s))
{
	struct live *l = &r->s->engine.live;

	r->run++;
	free(l->plan.path);
	l->plan.path = xstrdup(r->trying);
	l->plan.mode = RECORDER_ALL;
	l->recording = true;
	TRY(record(r->s));
	if (l->plan.failed)
		return err_new(ERR_STATE, "run %" PRIu64 " could not be recorded", r->run);
	if (!recorder_count(l->recorder))
		return err_cure(err_new(ERR_STATE, "run %" PRIu64 " made no GPU commands", r->run),
			"Name the program that uses the GPU, not a script that starts it");
	if (is_asked_to_end(l->exit_signal))
		return err_new(ERR_INTERRUPTED, "run %" PRIu64 " was ended by %s", r->run,
			signal_name(l->exit_signal));
	return NULL;
}

static struct err *take_one(struct runs *r)
{
	const struct live *l = &r->s->engine.live;

	if (!l->exit_code && !l->exit_signal) {
		r->has_passed = true;
		return keep(r, r->passed);
	}
	if (r->has_failed)
		return NULL; /* the next one is recorded in its place */
	r->has_failed = true;
	r->first_failed = r->run;
	r->code = l->exit_code;
	r->signal = l->exit_signal;
	return keep(r, r->failed);
}

/* --- telling --- */

static void tell_failure(const struct runs *r)
{
	struct out *out = r->s->out;

	if (r->signal)
		out_printf(out, "Run %" PRIu64 " was killed by %s, %s: %s\n", r->first_failed,
			signal_name(r->signal), signal_text(r->signal), r->failed);
	else
		out_printf(out, "Run %" PRIu64 " ended with status %d: %s\n", r->first_failed,
			r->code, r->failed);
}

/* Says where the two traces begin to differ; where they do not, what else may be the cause. */
static void tell_difference(const struct runs *r)
{
	char *words[] = {
		r->passed, r->failed, (char *)(uintptr_t) "--top", (char *)(uintptr_t) "1", NULL};

	out_printf(r->s->out, "A run that passed: %s\n", r->passed);
	if (tool_diff(r->s, 4, words) == 0)
		out_printf(r->s->out,
			"What the commands do not show may be their order: `tsdb races %s` says what nothing orders, `tsdb explore %s` what comes of it.\n",
			r->failed, r->failed);
}

static void tell(const struct runs *r)
{
	if (!r->has_failed) {
		out_printf(r->s->out, "%" PRIu64 " run%s, none failed. The last one: %s\n", r->run,
			r->run == 1 ? "" : "s", r->passed);
		return;
	}
	tell_failure(r);
	if (r->has_passed)
		tell_difference(r);
	else
		out_printf(r->s->out, "None of %" PRIu64 " run%s passed.\n", r->run,
			r->run == 1 ? "" : "s");
}

struct err *until_fail(
	struct session *s, uint64_t most, struct err *(*record)(struct session *s), int *ret)
{
	struct runs r = {.s = s};
	struct err *e = NULL;

	name_traces(&r);
	while (!e && r.run < most && !(r.has_failed && r.has_passed)) {
		e = record_one(&r, record);
		if (!e)
			e = take_one(&r);
	}
	unlink(r.trying);
	if (!e || r.has_failed)
		tell(&r);
	*ret = r.code;
	const int sig = r.signal;

	free(r.trying);
	free(r.passed);
	free(r.failed);
	TRY(e);
	if (sig) {
		out_flush(s->out);
		tool_die_by(sig);
	}
	return NULL;
}
