/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles signals of its own while launching: a timer, one raised, one ignored, one blocked; reads must be restarted.
 */
#include "gpu.h"
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms, raised;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void on_usr1(int sig)
{
	(void)sig;
	raised++;
}

int main(void)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa;
	sigset_t usr2;
	int errors = 0;

	memset(&sa, 0, sizeof(sa));
	sa.sa_flags = SA_RESTART;
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = on_usr1;
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL); /* before the driver makes threads, so that they block it too */
	int *n = counter_new();
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 200; i++) {
		count<<<1, 32>>>(n, 1);
		errno = 4711;
		cudaGetLastError();
		errors += errno != 4711;
		if (i % 50 == 0) {
			raise(SIGUSR1);
			raise(SIGPIPE);
			kill(getpid(), SIGUSR2);
		}
	}
	while (alarms < 3)
		pause();
	setitimer(ITIMER_REAL, &never, NULL);
	int sig = 0;
	sigwait(&usr2, &sig);
	printf("signals: %d counted, %d raised, waited for %s, errno changed %d times\n", counter_value(n), (int)raised,
	       sig == SIGUSR2 ? "SIGUSR2" : "something else", errors);
	return 0;
}
