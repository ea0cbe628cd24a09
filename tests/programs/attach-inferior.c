/* SPDX-License-Identifier: Apache-2.0
 *
 * The inferior of the unit tests of the room attach: one small behaviour per first argument.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

/* ---- life ---- */

static int do_exit(char **a)
{
	return atoi(a[0]);
}

static int do_signal(char **a)
{
	int sig = atoi(a[0]);

	signal(sig, SIG_DFL);
	raise(sig);
	return 99;
}

static int do_crash(char **a)
{
	*(volatile int *)8 = 1;
	return 99;
}

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught++;
}

/* Sends itself SIGUSR1 many times; exits 0 when all arrived. */
static int do_catch(char **a)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 200; i++)
		raise(SIGUSR1);
	return caught == 200 ? 0 : 1;
}

static int do_print(char **a)
{
	for (; *a; a++)
		printf("%s\n", *a);
	return 0;
}

static int do_env(char **a)
{
	for (; *a; a++)
		printf("%s=%s\n", *a, getenv(*a) ? getenv(*a) : "(unset)");
	return 0;
}

static int do_cwd(char **a)
{
	char b[4096];

	puts(getcwd(b, sizeof(b)));
	return 0;
}

static int do_cat(char **a)
{
	int c;

	while ((c = getchar()) != EOF)
		putchar(c);
	fprintf(stderr, "done\n");
	return 0;
}

static int do_address(char **a)
{
	int local;

	printf("%p %p %p\n", (void *)(size_t)do_address, (void *)&local, (void *)(size_t)printf);
	return 0;
}

static int do_sleep(char **a)
{
	pause_ms(atoi(a[0]));
	return 0;
}

/* Calls that return EINTR when a debugger is careless: exits 0 when none did. */
static int do_eintr(char **a)
{
	struct timespec ts = {0, 20000000};
	int p[2], failed = 0;
	char c;

	if (pipe(p) != 0)
		return 2;
	if (fork() == 0) {
		pause_ms(700);
		_exit(write(p[1], "x", 1) == 1 ? 0 : 1);
	}
	for (int i = 0; i < 15; i++)
		if (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) != 0)
			failed++;
	if (read(p[0], &c, 1) != 1)
		failed++;
	return failed;
}

/* ---- threads ---- */

static void *short_thread(void *arg)
{
	usleep(1000);
	return NULL;
}

/* N threads one after another, up to 8 at a time, while somebody interrupts. */
static int do_storm(char **a)
{
	int n = atoi(a[0]);
	pthread_t t[8];

	for (int i = 0; i < n; i += 8) {
		for (int k = 0; k < 8; k++)
			if (pthread_create(&t[k], NULL, short_thread, NULL) != 0)
				return 3;
		for (int k = 0; k < 8; k++)
			pthread_join(t[k], NULL);
	}
	return 42;
}

static void *late_thread(void *arg)
{
	pause_ms(300);
	exit(17);
}

/* The leader ends first, another thread ends the process. */
static int do_leader(char **a)
{
	pthread_t t;

	pthread_create(&t, NULL, late_thread, NULL);
	pthread_exit(NULL);
}

static void *spin_thread(void *arg)
{
	for (;;)
		pause_ms(5);
	return NULL;
}

static int do_threads(char **a)
{
	int n = atoi(a[0]);

	for (int i = 0; i < n; i++) {
		pthread_t t;

		pthread_create(&t, NULL, spin_thread, NULL);
		pthread_setname_np(t, "spinner");
	}
	puts("ready");
	fflush(stdout);
	pause_ms(60000);
	return 0;
}

static void *exec_thread(void *arg)
{
	char **a = arg;

	execv(a[0], a);
	perror(a[0]);
	_exit(98);
}

static int do_exec(char **a)
{
	execv(a[0], a);
	perror(a[0]);
	return 98;
}

/* exec from a thread that is not the leader, with others alive. */
static int do_exec_thread(char **a)
{
	pthread_t t;

	pthread_create(&t, NULL, spin_thread, NULL);
	pthread_create(&t, NULL, exec_thread, a);
	pause_ms(60000);
	return 97;
}

/* The same while the leader sends itself signals, so that its stops and the exec meet. */
static int do_exec_storm(char **a)
{
	pthread_t t;

	signal(SIGUSR1, on_signal);
	pthread_create(&t, NULL, exec_thread, a);
	for (;;)
		raise(SIGUSR1);
}

/* ---- children ---- */

static int do_fork(char **a)
{
	int bad = 0, status;

	for (int i = 0; i < 5; i++) {
		pid_t p = i % 2 ? vfork() : fork();

		if (p == 0)
			_exit(i);
		if (waitpid(p, &status, 0) != p || !WIFEXITED(status) || WEXITSTATUS(status) != i)
			bad++;
	}
	if (system("exit 3") != 3 << 8)
		bad++;
	return bad;
}

static int cloned(void *arg)
{
	*(volatile int *)arg = 7;
	return 5;
}

/* A process made by clone() that shares our memory and is no thread. */
static int do_clone(char **a)
{
	static char stack[65536] __attribute__((aligned(16)));
	static volatile int shared;
	int status, bad = 0;

	for (int i = 0; i < 5; i++) {
		pid_t p = clone(
			cloned, stack + sizeof(stack), CLONE_VM | CLONE_FILES, (void *)&shared);

		if (p < 0 || waitpid(p, &status, __WCLONE) != p || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 5 || shared != 7)
			bad++;
		shared = 0;
	}
	return bad;
}

/* ---- job control ---- */

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A child stops us for 0.4 s and lets us go on; exits 0 when we really stood still in between. */
static int do_stopself(char **a)
{
	double last, longest = 0;
	bool done;
	pid_t me = getpid();

	signal(SIGCONT, on_signal);
	if (fork() == 0) {
		pause_ms(100);
		kill(me, SIGSTOP);
		pause_ms(400);
		kill(me, SIGCONT);
		_exit(0);
	}
	last = now_s();
	do { /* once more after the handler has run: we may have been stopped between reading the
		clock and looking at caught */
		double t;

		done = caught;
		t = now_s();
		if (t - last > longest)
			longest = t - last;
		last = t;
	} while (!done);
	return longest > 0.25 ? 0 : 1;
}

/* stub AGENT CUPTI: a stop in one library, called from another. */
static int do_stub(char **a)
{
	void *agent = dlopen(a[0], RTLD_NOW), *cupti = dlopen(a[1], RTLD_NOW);
	void (*stop)(void), (*call)(void (*)(void));

	if (!agent || !cupti)
		return 96;
	*(void **)&stop = dlsym(agent, "stub_stop");
	*(void **)&call = dlsym(cupti, "stub_call");
	call(stop);
	return caught;
}

static const struct {
	const char *name;
	int (*fn)(char **);
} table[] = {
	{"exit", do_exit},
	{"signal", do_signal},
	{"crash", do_crash},
	{"catch", do_catch},
	{"print", do_print},
	{"env", do_env},
	{"cwd", do_cwd},
	{"cat", do_cat},
	{"address", do_address},
	{"sleep", do_sleep},
	{"eintr", do_eintr},
	{"storm", do_storm},
	{"leader", do_leader},
	{"threads", do_threads},
	{"exec", do_exec},
	{"exec-thread", do_exec_thread},
	{"exec-storm", do_exec_storm},
	{"fork", do_fork},
	{"clone", do_clone},
	{"stopself", do_stopself},
	{"stub", do_stub},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].name, argv[1]) == 0)
			return table[i].fn(argv + 2);
	fprintf(stderr, "no such behaviour\n");
	return 100;
}
