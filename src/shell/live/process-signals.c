/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens at each signal of the program (`handle`): the defaults, and the user's settings,
 * which are passed to a running program's tracer at once.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "attach/attach.h"
#include "shell/live/process.h"

bool process_signal_stops(const struct session *s, int sig)
{
	static const int stopping[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGINT};

	if (s->target.signals[sig] & SIGNAL_SET)
		return s->target.signals[sig] & SIGNAL_STOP;
	for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++) {
		if (stopping[i] == sig)
			return true;
	}
	return false;
}

bool process_signal_passes(const struct session *s, int sig)
{
	if (s->target.signals[sig] & SIGNAL_SET)
		return s->target.signals[sig] & SIGNAL_PASS;
	return sig != SIGTRAP && sig != SIGINT;
}

void process_set_signal(struct session *s, int sig, bool stop, bool pass)
{
	s->target.signals[sig] =
		(uint8_t)(SIGNAL_SET | (stop ? SIGNAL_STOP : 0) | (pass ? SIGNAL_PASS : 0));
	if (s->target.inf)
		inferior_handle_signal(s->target.inf, sig, stop, pass);
}

const char *process_signal_name(int sig)
{
	static char real[16];
	static char name[24];
	const char *abbrev = sig > 0 && sig < PROCESS_SIGNALS ? sigabbrev_np(sig) : NULL;

	if (abbrev) {
		snprintf(name, sizeof name, "SIG%s", abbrev);
		return name;
	}
	if (sig < SIGRTMIN || sig > SIGRTMAX)
		return NULL;
	snprintf(real, sizeof real, "SIG%d", sig);
	return real;
}

const char *process_signal_text(int sig)
{
	const char *text = sigdescr_np(sig);

	return text ? text : "real-time signal";
}
