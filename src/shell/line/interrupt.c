/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C, see interrupt.h.
 */
#include <signal.h>
#include <string.h>
#include "shell/line/interrupt.h"

volatile bool interrupt_flag, interrupt_continued, interrupt_resized;

static void on_sigint(int sig)
{
	interrupt_flag = true;
}

/* For SIGPIPE: the write then fails, and that is reported. Not SIG_IGN, which started programs
 * would inherit. */
static void on_failed_write(int sig)
{
}

void interrupt_install(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_sigint; /* without SA_RESTART: reads fail with EINTR */
	sigaction(SIGINT, &sa, NULL);
	sa.sa_handler = on_failed_write;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGXFSZ, &sa, NULL);
}

static volatile pid_t forward_to;

static void on_forward(int sig, siginfo_t *si, void *context)
{
	if (forward_to && si->si_code != SI_KERNEL)
		kill(forward_to, sig);
}

void interrupt_forward(pid_t pid)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction sa;

	forward_to = pid;
	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; pid && i < sizeof sigs / sizeof *sigs; i++) {
		sa.sa_flags = SA_SIGINFO | SA_RESTART;
		sa.sa_sigaction = on_forward;
		sigaction(sigs[i], &sa, NULL);
	}
}

void interrupt_all(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction sa;

	forward_to = 0;
	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_sigint;
	for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++)
		sigaction(sigs[i], &sa, NULL);
}

void interrupt_ends(void)
{
	struct sigaction sa;

	interrupt_all();
	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_sigint;
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
}

static void on_screen(int sig)
{
	if (sig == SIGCONT)
		interrupt_continued = true;
	else
		interrupt_resized = true;
}

void interrupt_screen(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_screen;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGCONT, &sa, NULL);
	sigaction(SIGWINCH, &sa, NULL);
}

bool interrupt_take(void)
{
	bool was = interrupt_flag;

	interrupt_flag = false;
	return was;
}
