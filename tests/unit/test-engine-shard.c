/* SPDX-License-Identifier: Apache-2.0
 *
 * Which shard a process is, by its words and by the variables of job engines: what sbatch(1),
 * qsub(1B), LSF, Grid Engine, Open MPI and Kubernetes document. What would leave work undone is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/analyse/explore-private.h"
#include "engine/names.h"

static const char *const *variables; /* name, value, ..., NULL */

static const char *get(const char *name)
{
	for (const char *const *v = variables; *v; v += 2)
		if (!strcmp(*v, name))
			return v[1];
	return NULL;
}

#define ENV(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void is(const char *word, const char *const *env, uint32_t k, uint32_t n)
{
	struct shard s;
	struct err *e;

	variables = env;
	e = shard_parse(word, get, &s);
	if (e)
		fail_msg("%s: %s", word, e->what);
	assert_int_equal(s.k, k);
	assert_int_equal(s.n, n);
}

static void is_refused(const char *word, const char *const *env, const char *what)
{
	struct shard s;
	struct err *e;

	variables = env;
	e = shard_parse(word, get, &s);
	assert_non_null(e);
	if (!strstr(e->what, what))
		fail_msg("%s, not: %s", e->what, what);
	err_free(e);
}

static void words(void **state)
{
	static const char *const bad[] = {"", "/", "0/3", "4/3", "3", "1/", "/3", "a/3", "1/2/3",
		"1/1000001", "-1/3", "auto/", "auto/0", "1.5/3", "18446744073709551617/3"};

	is("3/8", ENV(), 3, 8);
	is("1/1", ENV(), 1, 1);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_refused(bad[i], ENV(), "is no shard");
	is_refused("auto", ENV(), "no job's variables");
	is_refused("auto/4", ENV("SLURM_JOB_ID", "7"), "no job's variables");
}

#define SLURM(id, min, max, step, count)                                                           \
	"SLURM_ARRAY_TASK_ID", id, "SLURM_ARRAY_TASK_MIN", min, "SLURM_ARRAY_TASK_MAX", max,       \
		"SLURM_ARRAY_TASK_STEP", step, "SLURM_ARRAY_TASK_COUNT", count

static void slurm(void **state)
{
	is("auto", ENV(SLURM("0", "0", "15", "1", "16")), 1, 16);
	is("auto", ENV(SLURM("15", "0", "15", "1", "16")), 16, 16);
	is("auto", ENV(SLURM("30", "10", "40", "10", "4")), 3, 4);
	/* a batch script, which runs once, has these two */
	is("auto", ENV(SLURM("2", "1", "4", "1", "4"), "SLURM_PROCID", "0", "SLURM_NTASKS", "8"), 2,
		4);
	/* srun in it: each task a shard */
	is("auto",
		ENV(SLURM("2", "1", "4", "1", "4"), "SLURM_PROCID", "5", "SLURM_STEP_NUM_TASKS",
			"8"),
		14, 32);
	is("auto", ENV("SLURM_PROCID", "5", "SLURM_STEP_NUM_TASKS", "8"), 6, 8);
	is_refused("auto", ENV(SLURM("3", "1", "7", "1", "3")), "gaps");
	is_refused("auto", ENV(SLURM("3", "1", "8", "3", "3")), "no list");
	is_refused("auto", ENV(SLURM("9", "1", "8", "1", "8")), "outside");
	is_refused("auto", ENV(SLURM("2", "4", "1", "1", "8")), "no list");
	is_refused("auto/5", ENV(SLURM("2", "1", "4", "1", "4")), "another number");
	is_refused("auto", ENV("SLURM_PROCID", "8", "SLURM_STEP_NUM_TASKS", "8"), "no rank");
	is_refused("auto", ENV("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "4000000"), "no rank");
}

static void others(void **state)
{
	is("auto/6", ENV("PBS_ARRAY_INDEX", "6"), 6, 6);
	is_refused("auto", ENV("PBS_ARRAY_INDEX", "6"), "how many");
	is_refused("auto/6", ENV("PBS_ARRAY_INDEX", "0"), "outside");
	is_refused("auto/6", ENV("PBS_ARRAYID", "7"), "outside");
	is("auto", ENV("LSB_JOBINDEX", "3", "LSB_JOBINDEX_END", "9", "LSB_JOBINDEX_STEP", "2"), 2,
		5);
	is_refused("auto", ENV("LSB_JOBINDEX", "0"), "no job's variables");
	is("auto",
		ENV("SGE_TASK_ID", "5", "SGE_TASK_FIRST", "5", "SGE_TASK_LAST", "8",
			"SGE_TASK_STEPSIZE", "1"),
		1, 4);
	/* a job that is in no array */
	is_refused("auto", ENV("SGE_TASK_ID", "undefined"), "no job's variables");
	is("auto/3", ENV("JOB_COMPLETION_INDEX", "0"), 1, 3);
	is("auto/3", ENV("JOB_COMPLETION_INDEX", "2"), 3, 3);
	is_refused("auto/3", ENV("JOB_COMPLETION_INDEX", "3"), "outside");
	is("auto", ENV("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4"), 3, 4);
	is_refused("auto/5", ENV("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4"),
		"another number");
	is("auto/3",
		ENV("JOB_COMPLETION_INDEX", "1", "OMPI_COMM_WORLD_RANK", "2",
			"OMPI_COMM_WORLD_SIZE", "4"),
		7, 12);
	is_refused("auto", ENV("OMPI_COMM_WORLD_RANK", "x", "OMPI_COMM_WORLD_SIZE", "4"),
		"no job's variables");
}

/* --- findings of shards, and those of one process: the explorer's own rules, with findings that
 * are made up --- */

#define TRIALS 60
#define PLACES 5

/* A finding of the n-th trial: of any kind, among few places and commands, so that many meet. */
static struct explore_found make(unsigned n)
{
	struct explore_found f = {.nflipped = (size_t)(rand() % 4 != 0), .number = n};
	const uint64_t a = 1 + (uint64_t)rand() % 4, b = 5 + (uint64_t)rand() % 4;

	f.flipped = xcalloc(2, sizeof *f.flipped);
	f.as_recorded = xcalloc(2, sizeof *f.as_recorded);
	f.places = xcalloc(2, sizeof *f.places);
	f.as_recorded[0] = (struct order_pair){a, b};
	f.places[0] = f.nflipped ? 1 + (uint64_t)rand() % PLACES : 0;
	if (f.nflipped && n < TRIALS / 4)
		f.held = a;
	else if (f.nflipped && n > TRIALS / 2 && n < TRIALS * 3 / 4)
		f.poison = rand() % 2 ? a : b;
	return f;
}

static struct explore_result result(uint32_t shard, uint32_t shards, uint64_t most)
{
	struct explore_result r = {.shards = shards, .most = most, .window = 1};

	r.have = xcalloc(shards, sizeof *r.have);
	r.have[shard] = EXPLORE_WHOLE;
	r.found = xcalloc(TRIALS, sizeof *r.found);
	return r;
}

/* The explorer's own course over the trials: which are executed here, what is kept of them, and
 * when it ends. shard is from 1; 0: one process. */
static struct explore_result explore(const struct explore_found *f, const bool *found,
	uint32_t shard, uint32_t shards, uint64_t most, bool *executed)
{
	struct explore_result r = result(shard ? shard - 1 : 0, shard ? shards : 1, most);
	const struct explore_options o = {
		.budget = TRIALS, .most = most, .shard = shard, .shards = shard ? shards : 0};
	struct explorer x = {.o = &o, .r = &r};

	for (unsigned i = 0; !explore_is_over(&x); i++) {
		if (!explore_trial(&x, i + 1, 1))
			continue;
		executed[i] = true;
		if (found[i] && !explore_is_known(&x, &f[i]))
			r.found[r.nfound++] = explore_found_copy(&f[i]);
	}
	return r;
}

static void one_case(unsigned seed)
{
	const uint32_t shards = 1 + (uint32_t)rand() % 6;
	const uint64_t most = 1 + (uint64_t)rand() % 8;
	struct explore_found f[TRIALS];
	bool found[TRIALS], by_one[TRIALS] = {0}, by_shards[TRIALS] = {0};

	for (unsigned i = 0; i < TRIALS; i++) {
		f[i] = make(i + 1);
		found[i] = rand() % 3 == 0;
	}
	struct explore_result alone = explore(f, found, 0, shards, most, by_one), all;

	for (uint32_t k = shards; k > 0; k--) { /* in another order than the course's */
		bool mine[TRIALS] = {0};
		struct explore_result r = explore(f, found, k, shards, most, mine);

		for (unsigned i = 0; i < TRIALS; i++) {
			assert_false(mine[i] && by_shards[i]);
			by_shards[i] = by_shards[i] || mine[i];
		}
		if (k == shards) {
			all = r;
			continue;
		}
		assert_null(explore_merge(&all, &r));
		explore_free(&r);
	}
	assert_true(explore_has_all(&all));
	explore_finish(&all);
	if (all.nfound != alone.nfound)
		fail_msg("seed %u: %zu findings, not %zu", seed, all.nfound, alone.nfound);
	for (size_t i = 0; i < all.nfound; i++)
		assert_int_equal(all.found[i].number, alone.found[i].number);
	for (unsigned i = 0; i < TRIALS; i++)
		assert_true(by_shards[i] || !by_one[i]);
	explore_free(&all);
	explore_free(&alone);
	for (unsigned i = 0; i < TRIALS; i++)
		explore_found_free(&f[i]);
}

static void merged_findings_are_those_of_one_process(void **state)
{
	for (unsigned seed = 1; seed <= 3000; seed++) {
		srand(seed);
		one_case(seed);
	}
}

static void what_does_not_fit_is_not_merged(void **state)
{
	struct explore_result a = result(0, 3, 4), b = result(0, 3, 4);

	for (unsigned what = 0; what < 7; what++) {
		struct explore_result c = b;
		struct err *e;

		c.have[0] = what ? EXPLORE_NOTHING : EXPLORE_BEGUN;
		c.seed += what == 1;
		c.budget += what == 2;
		c.most += what == 3;
		c.strict = what == 4;
		c.limit += what == 5;
		c.id += what == 6;
		e = explore_merge(&a, &c);
		assert_non_null(e);
		err_free(e);
		b = c;
		b.seed = b.budget = 0, b.most = 4, b.strict = false, b.limit = 0, b.id = 0;
	}
	assert_null(explore_merge(&a, &b));
	assert_false(explore_has_all(&a));
	explore_free(&a);
	explore_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(slurm),
		cmocka_unit_test(others),
		cmocka_unit_test(merged_findings_are_those_of_one_process),
		cmocka_unit_test(what_does_not_fit_is_not_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
