/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's half of a wait-for graph, on real processes: each test forks one that waits in some
 * way, looks at it from outside, and says what must be found. A process has to be asleep in its
 * last call before it is looked at; that is what settle() waits for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "engine/why.h"

#define THREADS_MAX 64

/* --- processes --- */

static pid_t started[8];
static unsigned nstarted;

/* A child that runs fn and then waits for ever. */
static pid_t start(void (*fn)(void))
{
	const pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		fn();
		_exit(0);
	}
	started[nstarted++] = pid;
	return pid;
}

static int end_all(void **state)
{
	for (unsigned i = 0; i < nstarted; i++) {
		kill(started[i], SIGKILL);
		waitpid(started[i], NULL, 0);
	}
	nstarted = 0;
	return 0;
}

static long text_of(pid_t pid, pid_t tid, const char *name, char *text, size_t max)
{
	char path[64];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, max - 1, f);
	text[n] = 0;
	fclose(f);
	return (long)n;
}

/* One look at its threads; returns how many. */
static unsigned look(pid_t pid, struct why_thread *t)
{
	char path[64], text[4096], *s;
	const struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && n < THREADS_MAX) {
		const pid_t tid = atoi(e->d_name);

		if (tid <= 0 || !text_of(pid, tid, "syscall", text, sizeof(text)))
			continue;
		t[n] = (struct why_thread){.tid = tid, .nr = -1, .state = 'R'};
		if (strncmp(text, "running", 7) != 0) {
			t[n].nr = strtol(text, &s, 10);
			for (unsigned i = 0; i < 6; i++)
				t[n].arg[i] = strtoull(s, &s, 16);
			t[n].state = 'S';
		}
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

struct looked {
	struct why *w;
	struct why_process p[4];
	struct why_thread t[4][THREADS_MAX];
	struct why_answer a;
	unsigned n;
};

/* What was seen last is what why is asked about. */
static void settle_now(struct looked *k, pid_t pid, unsigned n)
{
	struct why_process *p = &k->p[k->n];

	*p = (struct why_process){.pid = pid, .rank = -1, .threads = k->t[k->n], .nthreads = n};
	for (unsigned i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "thread %d", p->threads[i].tid);
		p->threads[i].node =
			why_node(k->w, WHY_THREAD, pid, (uint64_t)p->threads[i].tid, name);
		why_at(k->w, p->threads[i].node)->root = true;
	}
	k->n++;
}

/* Until nothing about the process changes: all of its `threads` threads are in the same calls, 20
 * times. */
static void settle(struct looked *k, pid_t pid, unsigned threads)
{
	struct why_thread before[THREADS_MAX];
	unsigned same = 0, n = 0;

	for (unsigned turn = 0; same < 20 && turn < 5000; turn++) {
		memcpy(before, k->t[k->n], sizeof(before));
		n = look(pid, k->t[k->n]);
		same = n == threads && !memcmp(before, k->t[k->n], n * sizeof(*before)) ? same + 1
											: 0;
		usleep(2000);
	}
	assert_int_equal(n, threads);
	settle_now(k, pid, n);
}

static void judge(struct looked *k)
{
	why_host(k->w, k->p, k->n);
	why_judge(k->w, &k->a);
}

static struct looked *looked_at(pid_t pid, unsigned threads)
{
	struct looked *k = calloc(1, sizeof(*k));

	k->w = why_new();
	settle(k, pid, threads);
	judge(k);
	return k;
}

static void done(struct looked *k)
{
	why_free(k->w);
	free(k);
}

/* The node that the thread number i of the process waits for first. */
static const struct why_node *waits_for(const struct looked *k, uint32_t node)
{
	const uint32_t e = why_next(k->w, node, WHY_NONE);

	return e == WHY_NONE ? NULL : why_at(k->w, why_edge_at(k->w, e)->to);
}

static const struct why_node *first_thread(const struct looked *k)
{
	return why_at(k->w, k->p[0].threads[0].node);
}

/* The first thread waits for something of the kind, and whether all is stuck. */
static void expect(struct looked *k, enum why_kind kind, bool stuck)
{
	const struct why_node *to = waits_for(k, k->p[0].threads[0].node);

	assert_non_null(to);
	assert_int_equal(to->kind, kind);
	assert_int_equal(k->a.verdict == WHY_STUCK, stuck);
}

/* --- locks --- */

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t locked;

static void *takes_two_then_one(void *arg)
{
	pthread_mutex_lock(&two);
	sem_post(&locked);
	pthread_mutex_lock(&one);
	return NULL;
}

static void opposite_orders(void)
{
	pthread_t t;

	sem_init(&locked, 0, 0);
	pthread_mutex_lock(&one);
	pthread_create(&t, NULL, takes_two_then_one, NULL);
	sem_wait(&locked);
	pthread_mutex_lock(&two);
}

static void mutexes_in_a_circle(void **state)
{
	struct looked *k = looked_at(start(opposite_orders), 2);

	expect(k, WHY_LOCK, true);
	assert_int_equal(k->a.ncycle, 4); /* thread, mutex, thread, mutex */
	assert_non_null(strstr(first_thread(k)->does, "mutex at 0x"));
	done(k);
}

static void *takes_and_sleeps(void *arg)
{
	pthread_mutex_lock(&one);
	sem_post(&locked);
	sleep(1000);
	return NULL;
}

static void waits_for_a_sleeper(void)
{
	pthread_t t;

	sem_init(&locked, 0, 0);
	pthread_create(&t, NULL, takes_and_sleeps, NULL);
	sem_wait(&locked);
	pthread_mutex_lock(&one);
}

static void mutex_of_one_that_sleeps(void **state)
{
	struct looked *k = looked_at(start(waits_for_a_sleeper), 2);

	expect(k, WHY_LOCK, false);
	done(k);
}

static void relocks(void)
{
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&one);
}

static void mutex_of_its_own(void **state)
{
	struct looked *k = looked_at(start(relocks), 1);

	expect(k, WHY_LOCK, true);
	assert_int_equal(k->a.ncycle, 2);
	done(k);
}

static void waits_at_a_word(void)
{
	static int word;

	word = getpid();
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, NULL, NULL, 0);
}

/* A word with a tid in it that is not a glibc mutex's: nothing is known of it. */
static void a_word_that_is_no_mutex(void **state)
{
	struct looked *k = looked_at(start(waits_at_a_word), 1);

	expect(k, WHY_CONDITION, true); /* nobody else is there */
	done(k);
}

/* --- conditions --- */

static void *waits_for_condition(void *arg)
{
	pthread_mutex_lock(&one);
	for (;;)
		pthread_cond_wait(&condition, &one);
	return NULL;
}

static void all_wait(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, waits_for_condition, NULL);
	pthread_join(t, NULL);
}

static void condition_that_nobody_signals(void **state)
{
	struct looked *k = looked_at(start(all_wait), 4);

	expect(k, WHY_THREAD, true); /* the join */
	assert_int_equal(waits_for(k, why_find(k->w, WHY_THREAD, k->p[0].pid,
					      (uint64_t)k->p[0].threads[1].tid))
				 ->kind,
		WHY_CONDITION);
	done(k);
}

static void one_sleeps(void)
{
	pthread_t t;

	pthread_create(&t, NULL, waits_for_condition, NULL);
	sleep(1000);
}

static void condition_beside_one_that_sleeps(void **state)
{
	struct looked *k = looked_at(start(one_sleeps), 2);

	assert_int_not_equal(k->a.verdict, WHY_STUCK);
	done(k);
}

static void acts(int sig)
{
}

static void waits_with_a_handler(void)
{
	signal(SIGALRM, acts);
	sem_init(&locked, 0, 0);
	sem_wait(&locked);
}

static void semaphore_that_a_handler_may_post(void **state)
{
	struct looked *k = looked_at(start(waits_with_a_handler), 1);

	expect(k, WHY_CONDITION, false);
	done(k);
}

static void waits_at_shared(void)
{
	sem_t *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	sem_init(s, 1, 0);
	sem_wait(s);
}

static void semaphore_that_others_have_too(void **state)
{
	struct looked *k = looked_at(start(waits_at_shared), 1);

	expect(k, WHY_CONDITION, false);
	done(k);
}

static void waits_a_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	pthread_mutex_lock(&one);
	pthread_cond_timedwait(&condition, &one, &t);
}

static void condition_with_a_limit(void **state)
{
	struct looked *k = looked_at(start(waits_a_second), 1);

	assert_int_not_equal(k->a.verdict, WHY_STUCK);
	assert_int_equal(first_thread(k)->end, WHY_END_COMES);
	done(k);
}

/* --- files --- */

static int down[2], up[2];

static void new_pipes(void)
{
	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
}

static void close_pipes(void)
{
	for (int i = 0; i < 2; i++) {
		close(down[i]);
		close(up[i]);
	}
}

static void reads_down(void)
{
	char x;

	close(down[1]);
	close(up[0]);
	(void)!read(down[0], &x, 1);
}

static void reads_up(void)
{
	char x;

	close(down[0]);
	close(up[1]);
	(void)!read(up[0], &x, 1);
}

static void pipes_that_both_read(void **state)
{
	struct looked *k;
	pid_t pid;

	new_pipes();
	pid = start(reads_down);
	start(reads_up);
	close_pipes();
	k = looked_at(pid, 1); /* the other one is found */
	expect(k, WHY_FILE, true);
	assert_int_equal(k->a.ncycle, 6);			  /* thread, pipe, process: twice */
	assert_int_equal(why_host_peers(k->p, k->n, &pid, 1), 0); /* it has no driver */
	done(k);
}

static void reads_down_and_has_all(void)
{
	char x;

	(void)!read(down[0], &x, 1);
}

/* The test has the pipe open, and goes on. */
static void pipe_that_the_debugger_has(void **state)
{
	struct looked *k;

	new_pipes();
	k = looked_at(start(reads_down), 1);
	expect(k, WHY_FILE, false);
	close_pipes();
	done(k);
}

static void pipe_of_its_own(void **state)
{
	struct looked *k;
	pid_t pid;

	new_pipes();
	pid = start(reads_down_and_has_all);
	close_pipes();
	k = looked_at(pid, 1);
	expect(k, WHY_FILE, true);
	done(k);
}

static void fills_up(void)
{
	static char much[1 << 20];

	close(up[0]);
	close(down[1]);
	(void)!write(up[1], much, sizeof(much));
}

static void sleeps_with_up(void)
{
	close(up[1]);
	sleep(1000);
}

static void pipe_that_is_full(void **state)
{
	struct looked *k;
	pid_t pid;

	new_pipes();
	pid = start(fills_up);
	start(reads_down_and_has_all); /* could read it, and waits for what only it could write */
	close_pipes();
	k = looked_at(pid, 1);
	expect(k, WHY_FILE, true);
	done(k);
}

static void pipe_with_a_slow_reader(void **state)
{
	struct looked *k;
	pid_t pid;

	new_pipes();
	pid = start(fills_up);
	start(sleeps_with_up);
	close_pipes();
	k = looked_at(pid, 1);
	expect(k, WHY_FILE, false);
	done(k);
}

static void polls_down(void)
{
	struct pollfd p[2] = {{down[0], POLLIN, 0}, {-1, POLLIN, 0}};

	close(down[1]);
	close(up[0]);
	poll(p, 2, -1);
}

static void selects_down(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(down[0], &set);
	close(down[1]);
	close(up[0]);
	select(down[0] + 1, &set, NULL, NULL, NULL);
}

static void epolls_down(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	const int ep = epoll_create1(0);

	close(down[1]);
	close(up[0]);
	epoll_ctl(ep, EPOLL_CTL_ADD, down[0], &e);
	epoll_wait(ep, &e, 1, -1);
}

static void one_of_several_files(void **state)
{
	static void (*const ways[])(void) = {polls_down, selects_down, epolls_down};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct looked *k;
		pid_t pid;

		new_pipes();
		pid = start(ways[i]);
		start(reads_up);
		close_pipes();
		k = looked_at(pid, 1);
		expect(k, WHY_FILE, true);
		done(k);
		end_all(NULL);
	}
}

static int ends[2];

static void reads_first(void)
{
	char x;

	close(ends[1]);
	(void)!read(ends[0], &x, 1);
}

static void reads_second(void)
{
	char x;

	close(ends[0]);
	(void)!read(ends[1], &x, 1);
}

static void both_read(void)
{
	struct looked *k;
	const pid_t pid = start(reads_first);

	start(reads_second);
	close(ends[0]);
	close(ends[1]);
	k = looked_at(pid, 1);
	expect(k, WHY_FILE, true);
	done(k);
	end_all(NULL);
}

static void sockets_that_both_read(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	both_read();
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	getsockname(fd, (struct sockaddr *)&a, &n);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(ends[0], (struct sockaddr *)&a, n), 0);
	ends[1] = accept(fd, NULL, NULL);
	close(fd);
	both_read();
}

static void accepts(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	listen(fd, 1);
	accept(fd, NULL, NULL);
}

static void server(void **state)
{
	struct looked *k = looked_at(start(accepts), 1);

	expect(k, WHY_FILE, false);
	assert_string_equal(
		waits_for(k, k->p[0].threads[0].node)->because, "any client may connect");
	done(k);
}

/* --- what was true of each, but not of all at one moment --- */

static void answers(void)
{
	char x;

	close(down[1]);
	close(up[0]);
	while (read(down[0], &x, 1) == 1 && write(up[1], &x, 1) == 1)
		;
}

static void asks(void)
{
	char x = 0;

	close(down[0]);
	close(up[1]);
	while (write(down[1], &x, 1) == 1 && read(up[0], &x, 1) == 1)
		;
}

/* Asks 300 times, at any moment, from outside. */
static void never_stuck(pid_t pid)
{
	for (unsigned i = 0; i < 300; i++) {
		struct looked *k = calloc(1, sizeof(*k));

		k->w = why_new();
		k->p[k->n++] = (struct why_process){.pid = pid, .rank = -1};
		why_at(k->w, why_node(k->w, WHY_PROCESS, pid, (uint64_t)pid, "asked"))->root = true;
		judge(k);
		assert_int_not_equal(k->a.verdict, WHY_STUCK);
		usleep(100 + i);
		done(k);
	}
}

static void pipes_to_and_fro(void **state)
{
	pid_t pid;

	new_pipes();
	start(answers);
	pid = start(asks);
	close_pipes();
	never_stuck(pid);
}

static sem_t ping, pong;

static void *pongs(void *arg)
{
	for (;;) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return NULL;
}

static void pings(void)
{
	pthread_t t;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	pthread_create(&t, NULL, pongs, NULL);
	for (;;) {
		sem_post(&ping);
		sem_wait(&pong);
	}
}

static void semaphores_to_and_fro(void **state)
{
	never_stuck(start(pings));
}

/* --- processes --- */

static void child_reads_down(void)
{
	char x;

	close(down[1]);
	(void)!read(down[0], &x, 1);
}

static void waits_for_child(void)
{
	const pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_reads_down();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void child_that_waits_for_its_parent(void **state)
{
	struct looked *k;
	pid_t pid;

	new_pipes();
	pid = start(waits_for_child);
	close_pipes();
	k = looked_at(pid, 1);
	expect(k, WHY_PROCESS, true);
	done(k);
}

static void waits_for_any_child(void)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep(1000);
	}
	wait(NULL);
}

static void child_that_sleeps(void **state)
{
	struct looked *k = looked_at(start(waits_for_any_child), 1);

	expect(k, WHY_PROCESS, false);
	done(k);
}

static char lock_name[] = "/tmp/test-why-host-XXXXXX";

static void locks_and_reads(void)
{
	flock(open(lock_name, O_RDWR), LOCK_EX);
	reads_down();
}

static void locks_and_sleeps(void)
{
	flock(open(lock_name, O_RDWR), LOCK_EX);
	close_pipes();
	sleep(1000);
}

static void locks_and_writes(void)
{
	close(down[0]);
	flock(open(lock_name, O_RDWR), LOCK_EX);
	(void)!write(down[1], "", 1);
}

static void one_lock(void (*holder)(void), bool stuck)
{
	struct looked *holds, *k;
	pid_t pid;
	const int fd = mkstemp(lock_name);

	assert_true(fd >= 0);
	new_pipes();
	holds = looked_at(start(holder), 1); /* it has the lock now */
	pid = start(locks_and_writes);
	close_pipes();
	k = looked_at(pid, 1);
	expect(k, WHY_LOCK, stuck);
	done(k);
	done(holds);
	close(fd);
	unlink(lock_name);
	strcpy(lock_name, "/tmp/test-why-host-XXXXXX");
	end_all(NULL);
}

static void lock_on_a_file(void **state)
{
	one_lock(locks_and_reads, true);
	one_lock(locks_and_sleeps, false);
}

/* --- signals: make(1) reads a pipe of its own while its children work --- */

static void reads_its_own_with_a_child(void)
{
	char x;

	signal(SIGCHLD, acts);
	new_pipes();
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_pipes();
		sleep(1000);
	}
	(void)!read(down[0], &x, 1);
}

static void reads_its_own_with_a_timer(void)
{
	char x;

	signal(SIGALRM, acts);
	new_pipes();
	(void)!read(down[0], &x, 1);
}

static void handlers_that_wake(void **state)
{
	static void (*const ways[])(void) = {
		reads_its_own_with_a_child, reads_its_own_with_a_timer};

	for (unsigned i = 0; i < 2; i++) {
		struct looked *k = looked_at(start(ways[i]), 1);

		assert_int_not_equal(k->a.verdict, WHY_STUCK);
		done(k);
		end_all(NULL);
	}
}

/* --- Python --- */

static void python(void)
{
	execlp("python3", "python3", "-c",
		"import ctypes, threading, time\n"
		"threading.Thread(target=time.sleep, args=(0.1,)).start()\n" /* and then needs the
										lock */
		"ctypes.PyDLL(None).pause()\n",
		NULL);
	_exit(77);
}

static void lock_of_python(void **state)
{
	const pid_t pid = start(python);
	const struct why_node *n = NULL;
	const struct why_edge *e;
	struct looked *k = NULL;

	for (unsigned turn = 0; turn < 1000 && !n; turn++) { /* its waiters look up every 5 ms */
		if (waitpid(pid, NULL, WNOHANG) == pid)
			skip();
		if (k)
			done(k);
		k = calloc(1, sizeof(*k));
		k->w = why_new();
		if (look(pid, k->t[0]) == 2) {
			settle_now(k, pid, 2);
			judge(k);
			n = why_at(k->w, why_find(k->w, WHY_GIL, pid, 0));
		}
		usleep(10000);
	}
	assert_non_null(n);
	e = why_edge_at(k->w, why_next(k->w, why_find(k->w, WHY_GIL, pid, 0), WHY_NONE));
	assert_non_null(e);
	assert_int_equal(why_at(k->w, e->to)->id, pid); /* the first thread's tid */
	assert_string_equal(first_thread(k)->does, "waits for a signal");
	assert_int_not_equal(k->a.verdict, WHY_STUCK); /* which may come */
	done(k);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, end_all)
	static const struct CMUnitTest tests[] = {TEST(mutexes_in_a_circle),
		TEST(mutex_of_one_that_sleeps), TEST(mutex_of_its_own),
		TEST(a_word_that_is_no_mutex), TEST(condition_that_nobody_signals),
		TEST(condition_beside_one_that_sleeps), TEST(semaphore_that_a_handler_may_post),
		TEST(semaphore_that_others_have_too), TEST(condition_with_a_limit),
		TEST(pipes_that_both_read), TEST(pipe_that_the_debugger_has), TEST(pipe_of_its_own),
		TEST(pipe_that_is_full), TEST(pipe_with_a_slow_reader), TEST(one_of_several_files),
		TEST(sockets_that_both_read), TEST(server), TEST(pipes_to_and_fro),
		TEST(semaphores_to_and_fro), TEST(child_that_waits_for_its_parent),
		TEST(child_that_sleeps), TEST(lock_on_a_file), TEST(handlers_that_wake),
		TEST(lock_of_python)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
