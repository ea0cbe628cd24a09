/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rank the others wait for, by traces that are written here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "engine/names.h"
#include "engine/why-ranks.h"

enum { ALL_REDUCE, ALL_GATHER, OTHER };
static const char *const kernels[] = {
	"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL", "gemm"};

/* A launch: kernel, communicator's pointer, stream. */
struct step {
	uint32_t kernel;
	uint64_t comm;
	uint32_t stream;
};
#define END                                                                                        \
	{                                                                                          \
		UINT32_MAX, 0, 0                                                                   \
	}

static char paths[4][64];
static unsigned npaths;

static const char *trace(int rank, pid_t pid, const char *host, const struct step *steps)
{
	struct timespec now;
	char *own = names_host();
	struct sbt_meta m = {.program = "job",
		.cwd = "/",
		.host = host ? host : own,
		.gpu = "",
		.tsdb = "test",
		.pid = (uint32_t)pid};
	struct sbt_writer *w;
	uint64_t seq = 1;

	clock_gettime(CLOCK_REALTIME, &now);
	m.start_ns = (uint64_t)now.tv_sec * 1000000000u;
	m.rank = (uint64_t)rank + 1;
	snprintf(paths[npaths], sizeof(paths[npaths]), "/tmp/test-why-ranks-%d-%u.sbt", getpid(),
		npaths);
	assert_null(sbt_writer_open(&w, paths[npaths], &m));
	for (uint32_t i = 0; i < 3; i++) {
		struct sbt_cmd c = {.kind = SBT_KERNEL_DEF, .seq = seq++};

		c.u.kernel_def.new_kernel = i + 1;
		c.u.kernel_def.kernel_name = (struct sbt_blob){kernels[i], strlen(kernels[i])};
		assert_null(sbt_writer_cmd(w, &c));
	}
	for (; steps->kernel != UINT32_MAX; steps++) {
		struct sbt_cmd c = {.kind = SBT_LAUNCH, .seq = seq++};

		c.u.launch.kernel = steps->kernel + 1;
		c.u.launch.stream = steps->stream;
		c.u.launch.args =
			(struct sbt_blob){(const void *)&steps->comm, sizeof(steps->comm)};
		assert_null(sbt_writer_cmd(w, &c));
	}
	assert_null(sbt_writer_close(w));
	free(own);
	return paths[npaths++];
}

static pid_t child;

static pid_t sleeper(bool reads)
{
	int p[2];
	char x;

	child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	if (reads && !pipe(p))
		(void)!read(p[0], &x, 1); /* nobody else has the pipe */
	sleep(60);
	_exit(0);
}

static int clean(void **state)
{
	while (npaths)
		unlink(paths[--npaths]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	return 0;
}

struct judged {
	struct why_rank r[4];
	struct why *w;
	struct why_answer a;
	unsigned n;
};

static struct judged *judge(unsigned n)
{
	struct judged *j = calloc(1, sizeof(*j));
	struct why_process p[4];
	unsigned here = 0;

	j->w = why_new();
	j->n = n;
	for (unsigned i = 0; i < n; i++)
		assert_null(why_rank_read(&j->r[i], paths[i], NULL));
	why_ranks(j->w, j->r, n);
	for (unsigned i = 0; i < n; i++)
		if (j->r[i].here)
			p[here++] = (struct why_process){.pid = j->r[i].pid, .rank = j->r[i].rank};
	why_host(j->w, p, here);
	why_judge(j->w, &j->a);
	return j;
}

static void done(struct judged *j)
{
	for (unsigned i = 0; i < j->n; i++)
		why_rank_free(&j->r[i]);
	why_free(j->w);
	free(j);
}

static const struct why_node *rank(const struct judged *j, unsigned i)
{
	const struct why_node *n =
		why_at(j->w, why_find(j->w, WHY_RANK, j->r[i].pid, (uint64_t)j->r[i].rank));

	assert_non_null(n);
	return n;
}

static const struct step three[] = {
	{ALL_REDUCE, 0x100, 1}, {OTHER, 7, 1}, {ALL_GATHER, 0x100, 1}, {ALL_REDUCE, 0x100, 1}, END};
static const struct step two[] = {
	{ALL_REDUCE, 0x200, 4}, {ALL_GATHER, 0x200, 4}, {OTHER, 8, 1}, {OTHER, 8, 1}, END};

static void test_missing(void **state)
{
	struct judged *j;

	trace(0, getpid(), NULL, three);
	trace(5, sleeper(true), NULL, two);
	usleep(200000); /* it reads by now */
	j = judge(2);
	assert_int_equal(j->r[0].n, 3);
	assert_int_equal(j->r[0].m[2].nth, 3);
	assert_string_equal(
		rank(j, 1)->does, "has not launched ncclDevKernel_AllReduce_Sum_f32_RING_LL #3");
	assert_int_equal(j->a.verdict, WHY_STUCK);
	assert_true(rank(j, 0)->stuck);
	done(j);
}

static void test_late(void **state)
{
	struct judged *j;

	trace(0, getpid(), NULL, three);
	trace(1, sleeper(false), NULL, two);
	usleep(200000);
	j = judge(2);
	assert_non_null(rank(j, 1)->does);
	assert_int_not_equal(j->a.verdict, WHY_STUCK); /* it sleeps, and may come */
	done(j);
}

static void test_ended(void **state)
{
	const pid_t pid = sleeper(false);
	struct judged *j;

	trace(0, getpid(), NULL, three);
	trace(1, pid, NULL, two);
	kill(pid, SIGKILL);
	usleep(100000); /* a zombie by now */
	j = judge(2);
	assert_int_equal(j->a.verdict, WHY_STUCK);
	assert_int_equal(why_at(j->w, j->a.leaf)->kind, WHY_PROCESS);
	assert_string_equal(why_at(j->w, j->a.leaf)->because, "it has ended");
	done(j);
}

static void test_elsewhere(void **state)
{
	struct judged *j;

	trace(0, getpid(), NULL, three);
	trace(1, getpid(), "another-machine 6.1", two);
	j = judge(2);
	assert_false(j->r[1].here || j->r[1].ended);
	assert_int_not_equal(j->a.verdict, WHY_STUCK);
	assert_string_equal(why_at(j->w, j->a.leaf)->because, "it is on another machine");
	done(j);
}

static void test_opposite_orders(void **state)
{
	static const struct step a[] = {{ALL_REDUCE, 1, 1}, {ALL_REDUCE, 1, 1}, {ALL_REDUCE, 2, 1},
		END},
				 b[] = {{ALL_REDUCE, 3, 1}, {ALL_REDUCE, 4, 1}, {ALL_REDUCE, 3, 1},
					 END};
	struct judged *j;

	trace(0, getpid(), NULL, a);
	trace(1, getppid(), NULL, b);
	j = judge(2);
	assert_int_equal(j->a.verdict, WHY_STUCK);
	assert_int_equal(j->a.ncycle, 4); /* rank, collective, rank, collective */
	done(j);
}

/* Streams of their own: the second may run beside the first. */
static void test_opposite_orders_side_by_side(void **state)
{
	static const struct step a[] = {{ALL_REDUCE, 1, 1}, {ALL_REDUCE, 1, 1}, {ALL_REDUCE, 2, 2},
		END},
				 b[] = {{ALL_REDUCE, 3, 1}, {ALL_REDUCE, 4, 2}, {ALL_REDUCE, 3, 1},
					 END};
	struct judged *j;

	trace(0, getpid(), NULL, a);
	trace(1, getppid(), NULL, b);
	j = judge(2);
	assert_int_not_equal(j->a.verdict, WHY_STUCK);
	done(j);
}

static void test_alike(void **state)
{
	struct judged *j;

	trace(0, getpid(), NULL, three);
	trace(1, getppid(), NULL, three);
	j = judge(2);
	assert_int_equal(j->a.verdict, WHY_IDLE);
	done(j);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, clean)
	static const struct CMUnitTest tests[] = {TEST(test_missing), TEST(test_late),
		TEST(test_ended), TEST(test_elsewhere), TEST(test_opposite_orders),
		TEST(test_opposite_orders_side_by_side), TEST(test_alike)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
