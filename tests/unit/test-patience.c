/* SPDX-License-Identifier: Apache-2.0
 *
 * What counts against a limit: see patience.h. Figures are worked out by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/patience.h"

#define S 1000000000ull
#define MS 1000000ull

static void what_counts(void **state)
{
	/* asleep, or next to it: the time that passed */
	assert_int_equal(patience_charge(S, 0, 2 * S), S);
	assert_int_equal(patience_charge(S, 19 * MS, 2 * S), S);
	/* at work, alone: the same; on several processors no more than that */
	assert_int_equal(patience_charge(S, S, 2 * S), S);
	assert_int_equal(patience_charge(S, 8 * S, 2 * S), S);
	/* at work, beside 20 others on two processors: what it got */
	assert_int_equal(patience_charge(S, 195 * MS, 2 * S), 195 * MS);
	/* one that wakes up now and then, and hangs otherwise, may be one that is starved: a tenth
	 */
	assert_int_equal(patience_charge(S, 95 * MS, 2 * S), 100 * MS);
	assert_int_equal(patience_charge(S, 20 * MS, 2 * S), 100 * MS);
	/* stopped for an hour, or nobody looked for an hour: two seconds of it */
	assert_int_equal(patience_charge(3600 * S, 0, 2 * S), 2 * S);
	assert_int_equal(patience_charge(3600 * S, 3600 * S, 2 * S), 2 * S);
}

/* A hundred seconds of a machine on which it gets a tenth are ten; that it is over is found in the
 * end. */
static void a_busy_machine(void **state)
{
	uint64_t spent = 0;

	for (unsigned i = 0; i < 100; i++)
		spent += patience_charge(S, 100 * MS, 2 * S);
	assert_int_equal(spent, 10 * S);
}

/* A thread that mostly sleeps uses the limit up. */
static void ends_of_thread(struct patience *p, pid_t pid, pid_t tid)
{
	patience_begin(p, pid, 20 * MS);
	patience_thread(p, tid);
	assert_int_equal(p->tid, tid);
	while (!patience_over(p))
		usleep(1000);
	assert_true(p->spent_ns >= 20 * MS);
}

static void what_counts_of_a_thread(void **state)
{
	/* asleep or at work: the time that passed */
	assert_int_equal(patience_charge_thread(S, 0, 2 * S), S);
	/* beside ten others: what is left of it */
	assert_int_equal(patience_charge_thread(S, 900 * MS, 2 * S), 100 * MS);
	/* the kernel adds it up when the waiting ends, so it may be longer than the window */
	assert_int_equal(patience_charge_thread(S, 5 * S, 2 * S), 0);
	/* nobody looked for an hour */
	assert_int_equal(patience_charge_thread(3600 * S, 0, 2 * S), 2 * S);
	assert_int_equal(patience_charge_thread(3600 * S, 1 * S, 2 * S), 1 * S);
}

static void a_thread_that_sleeps(void **state)
{
	struct patience p;

	ends_of_thread(&p, 0, getpid());
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	ends_of_thread(&p, pid, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	patience_begin(&p, pid, 20 * MS);
	patience_thread(&p, pid); /* nothing is known of it: the process counts */
	assert_int_equal(p.tid, 0);
}

/* A process that only sleeps uses the limit up, and one that is not there any more. */
static void ends(pid_t pid)
{
	struct patience p;

	patience_begin(&p, pid, 20 * MS);
	while (!patience_over(&p))
		usleep(1000);
	assert_true(p.spent_ns >= 20 * MS);
	patience_begin(&p, pid, 3600 * S);
	assert_false(patience_over(&p));
}

static void it_ends(void **state)
{
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	ends(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ends(pid);
	ends(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_counts),
		cmocka_unit_test(what_counts_of_a_thread), cmocka_unit_test(a_thread_that_sleeps),
		cmocka_unit_test(a_busy_machine), cmocka_unit_test(it_ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
