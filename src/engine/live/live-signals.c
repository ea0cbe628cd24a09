/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens at each signal of the program (`handle`): the defaults, and the user's settings,
 * which are passed to a running program's tracer at once.
 */
#include <signal.h>
#include "engine/engine.h"

/* live.signals; 0: the default. */
enum { SIGNAL_STOP = 1, SIGNAL_PASS = 2, SIGNAL_SET = 4 };

bool live_signal_stops(const struct engine *en, int sig)
{
	static const int stopping[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGINT};

	if (en->live.signals[sig] & SIGNAL_SET)
		return en->live.signals[sig] & SIGNAL_STOP;
	for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++) {
		if (stopping[i] == sig)
			return true;
	}
	return false;
}

bool live_signal_passes(const struct engine *en, int sig)
{
	if (en->live.signals[sig] & SIGNAL_SET)
		return en->live.signals[sig] & SIGNAL_PASS;
	return sig != SIGTRAP && sig != SIGINT;
}

void live_set_signal(struct engine *en, int sig, bool stop, bool pass)
{
	en->live.signals[sig] =
		(uint8_t)(SIGNAL_SET | (stop ? SIGNAL_STOP : 0) | (pass ? SIGNAL_PASS : 0));
	if (en->live.inf)
		inferior_handle_signal(en->live.inf, sig, stop, pass);
}
