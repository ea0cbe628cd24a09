/* SPDX-License-Identifier: Apache-2.0
 *
 * A program to attach to that notices everything: attach-target SECONDS [ONLY]. It ends early when
 * there is a file called "end" in its folder. Each thread does one kind of thing over and over and
 * checks its results: sleeps and waits must not end early or with EINTR, vector registers, errno
 * and signal masks must stay what they are. ONLY names one kind, or with a minus sign the one to
 * leave out. Ends with "attach-target: ok" and 0, or says what went wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic int over, errors;
static _Atomic long rounds[16];
static int pipe_fd[2];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void wrong(const char *what, long value)
{
	printf("attach-target: %s: %ld (%s)\n", what, value, strerror(errno));
	fflush(stdout);
	errors++;
}

static void check(bool good, const char *what, long value)
{
	if (!good)
		wrong(what, value);
}

/* ---- kinds ---- */

static void do_nanosleep(void)
{
	struct timespec ts = {.tv_nsec = 20000000}, rest;
	double from = now();
	int r = nanosleep(&ts, &rest);

	check(r == 0, "nanosleep", r);
	check(now() - from >= 0.0199, "nanosleep is short by us",
		(long)((0.02 - (now() - from)) * 1e6));
}

static void do_usleep(void)
{
	double from = now();
	int r = usleep(15000);

	check(r == 0, "usleep", r);
	check(now() - from >= 0.0149, "usleep is short", 0);
}

static void do_poll(void)
{
	double from = now();
	int r = poll(NULL, 0, 25);

	check(r == 0, "poll", r);
	check(now() - from >= 0.0249, "poll is short", 0);
}

static void do_read(void)
{
	char c = 0;
	ssize_t n = read(pipe_fd[0], &c, 1);

	check(n == 1 && c == 'x', "read", n);
}

static void do_write(void)
{
	usleep(7000);
	check(write(pipe_fd[1], "x", 1) == 1, "write", 0);
}

static void do_epoll(void)
{
	static __thread int fd;
	struct epoll_event e;
	int r;

	if (!fd)
		fd = epoll_create1(0);
	r = epoll_wait(fd, &e, 1, 30);
	check(r == 0, "epoll_wait", r);
}

static void do_cond(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec ts;
	int r;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 20000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_mutex_lock(&m);
	r = pthread_cond_timedwait(&c, &m, &ts);
	pthread_mutex_unlock(&m);
	check(r == ETIMEDOUT, "pthread_cond_timedwait", r);
}

/* All sixteen vector registers, the rounding mode and the x87 stack are used across the loop. */
static void do_vectors(void)
{
	double x[64];
	unsigned mode = _mm_getcsr();

	_mm_setcsr(mode | 0x6000); /* towards zero */
	for (int i = 0; i < 64; i++)
		x[i] = i + 1;
	for (int k = 0; k < 20000; k++)
		for (int i = 0; i < 64; i++)
			x[i] = x[i] * 1.0000001 + 0.5;
	for (int k = 0; k < 20000; k++)
		for (int i = 0; i < 64; i++)
			x[i] = (x[i] - 0.5) / 1.0000001;
	for (int i = 0; i < 64; i++)
		check(x[i] > i + 0.99 && x[i] < i + 1.01, "a vector register", (long)(x[i] * 1000));
	check((_mm_getcsr() & 0x6000) == 0x6000, "the rounding mode", (long)_mm_getcsr());
	_mm_setcsr(mode);
}

static void do_errno(void)
{
	for (int i = 0; i < 200000; i++) {
		errno = 77;
		__asm__ volatile("" ::: "memory");
		if (errno != 77) {
			wrong("errno", errno);
			return;
		}
	}
}

static void do_malloc(void)
{
	void *p[64];

	for (int i = 0; i < 64; i++) {
		p[i] = malloc((size_t)(i * 997 % 8192 + 1));
		memset(p[i], i, 1);
	}
	for (int i = 0; i < 64; i++)
		free(p[i]);
}

static void do_dlopen(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);

	check(lib != NULL, "dlopen", 0);
	if (lib)
		dlclose(lib);
}

static void *nothing(void *arg)
{
	return arg;
}

static void do_threads(void)
{
	pthread_t t;
	void *r = NULL;

	if (pthread_create(&t, NULL, nothing, &over) == 0)
		pthread_join(t, &r);
	check(r == &over, "pthread_create", 0);
}

static void do_children(void)
{
	int status = -1;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	check(status == 0, "a child", status);
	usleep(5000);
}

static _Atomic long handled;

static void on_signal(int sig)
{
	handled++;
}

/* The handler has no SA_RESTART, so this thread's own sleeps end early; others never get the
 * signal. */
static void do_signals(void)
{
	sigset_t set, was;
	long before = handled;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < 50; i++)
		pthread_kill(pthread_self(), SIGUSR1);
	check(handled - before >= 1, "signals", handled - before);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	check(!sigismember(&was, SIGUSR1) && !sigismember(&was, SIGTERM), "the signal mask", 0);
	usleep(300);
}

/* ---- all of them ---- */

static const struct kind {
	const char *name;
	void (*round)(void);
} kinds[] = {
	{"nanosleep", do_nanosleep},
	{"usleep", do_usleep},
	{"poll", do_poll},
	{"read", do_read},
	{"write", do_write},
	{"epoll", do_epoll},
	{"cond", do_cond},
	{"vectors", do_vectors},
	{"errno", do_errno},
	{"malloc", do_malloc},
	{"dlopen", do_dlopen},
	{"threads", do_threads},
	{"children", do_children},
	{"signals", do_signals},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void *work(void *arg)
{
	const struct kind *k = arg;

	while (!over) {
		k->round();
		rounds[k - kinds]++;
		if (k->round == do_vectors || k->round == do_errno || k->round == do_malloc ||
			k->round == do_dlopen || k->round == do_threads)
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 5);
	const char *only = argc > 2 ? argv[2] : NULL;
	struct sigaction sa = {.sa_handler = on_signal};
	pthread_t t[KINDS];
	bool started[KINDS] = {false};
	sigset_t set;

	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pipe(pipe_fd) != 0)
		return 2;
	for (int i = 0; i < KINDS; i++)
		if (!only || (only[0] == '-' ? strcmp(only + 1, kinds[i].name) != 0
					     : !strcmp(only, kinds[i].name)))
			started[i] =
				pthread_create(&t[i], NULL, work, (void *)(size_t)&kinds[i]) == 0;
	printf("attach-target: running\n");
	fflush(stdout);
	while (now() < end && !errors && access("end", F_OK) != 0) {
		struct timespec ts = {.tv_nsec = 10000000};

		check(nanosleep(&ts, NULL) == 0, "main's nanosleep", 0);
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		check(write(pipe_fd[1], "x", 1) == 1, "write", 0);
	for (int i = 0; i < KINDS; i++)
		if (started[i])
			pthread_join(t[i], NULL);
	for (int i = 0; i < KINDS; i++)
		check(!started[i] || rounds[i] > 0, "nothing was done by a thread", i);
	printf("attach-target: %s\n", errors ? "WRONG" : "ok");
	return errors ? 1 : 0;
}
