/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranks are unlike the others, by the definition in state/set-stats.h.
 */
#include "state-test.h"
#include "state/stats/set-outliers.h"

#define RANKS 16

/* A row for each of n ranks, with these times and counts. */
struct ranks {
	struct set_row row[RANKS];
	struct set_outliers found;
};

static void find(struct ranks *x, size_t n, const uint64_t *time, const uint64_t *count)
{
	for (size_t i = 0; i < n; i++)
		x->row[i] = (struct set_row){.name = "kernel",
			.least_rank = i,
			.time_ns = time[i],
			.count = count ? count[i] : 7};
	set_outliers_find(&x->found, x->row, n);
}

static void found_is(const struct ranks *x, size_t i, uint64_t rank, uint64_t time, uint64_t usual)
{
	const struct set_outlier *o = &x->found.v[i];

	assert_in_range(i, 0, x->found.n - 1);
	assert_string_equal(o->name, "kernel");
	assert_int_equal(o->rank, rank);
	assert_int_equal(o->time_ns, time);
	assert_int_equal(o->usual_ns, usual);
}

/* More than a fifth of the median, where ranks differ by nothing. */
static void a_fifth(void **state)
{
	static const uint64_t just[8] = {120, 100, 100, 100, 100, 100, 100, 80},
			      more[8] = {121, 100, 100, 100, 100, 100, 100, 79};
	struct ranks x = {0};

	find(&x, 8, just, NULL);
	assert_int_equal(x.found.n, 0);
	find(&x, 8, more, NULL);
	assert_int_equal(x.found.n, 2);
	found_is(&x, 0, 0, 121, 100);
	found_is(&x, 1, 7, 79, 100);
	set_outliers_free(&x.found);
}

/* And more than eight times what they usually differ by, which is 100 here. */
static void eight_times(void **state)
{
	uint64_t time[9] = {1800, 900, 1100, 900, 1100, 900, 1100, 900, 1000};
	struct ranks x = {0};

	find(&x, 9, time, NULL);
	assert_int_equal(x.found.n, 0);
	for (unsigned more = 1; more < 10; more++) {
		x = (struct ranks){0};
		time[0] = 1800 + more;
		find(&x, 9, time, NULL);
		assert_int_equal(x.found.n, 1);
		found_is(&x, 0, 0, 1800 + more, 1000);
		set_outliers_free(&x.found);
	}
}

static void of_fewer_than_eight_none(void **state)
{
	static const uint64_t time[8] = {100, 100, 100, 100, 100, 100, 9000, 100};
	struct ranks x = {0};

	find(&x, 7, time, NULL);
	assert_int_equal(x.found.n, 0);
	find(&x, 8, time, NULL);
	assert_int_equal(x.found.n, 1);
	found_is(&x, 0, 6, 9000, 100);
	set_outliers_free(&x.found);
}

/* Where nearly all launch it as often, another count stands out; where they do not, none does. */
static void counts(void **state)
{
	static const uint64_t time[8] = {100, 100, 100, 100, 100, 100, 100, 100},
			      one[8] = {9, 10, 10, 10, 10, 10, 10, 10},
			      all[8] = {9, 10, 11, 12, 13, 14, 15, 16};
	struct ranks x = {0};

	find(&x, 8, time, all);
	assert_int_equal(x.found.n, 0);
	find(&x, 8, time, one);
	assert_int_equal(x.found.n, 1);
	found_is(&x, 0, 0, 100, 100);
	assert_int_equal(x.found.v[0].count, 9);
	assert_int_equal(x.found.v[0].usual_count, 10);
	set_outliers_free(&x.found);
}

static void the_farthest_first(void **state)
{
	static const uint64_t time[12] = {
		150, 100, 20, 100, 100, 100, 100, 150, 100, 400, 100, 100};
	struct ranks x = {0};

	find(&x, 12, time, NULL);
	assert_int_equal(x.found.n, 4);
	set_outliers_sort(&x.found);
	found_is(&x, 0, 9, 400, 100);
	found_is(&x, 1, 2, 20, 100);
	found_is(&x, 2, 0, 150, 100);
	found_is(&x, 3, 7, 150, 100);
	set_outliers_free(&x.found);
	x = (struct ranks){0};
	set_outliers_sort(&x.found); /* of none */
	assert_int_equal(x.found.n, 0);
}

static void at_most_a_thousand(void **state)
{
	static const uint64_t time[8] = {100, 100, 100, 200, 100, 100, 100, 100};
	struct ranks x = {0};

	for (unsigned i = 0; i < 1003; i++) {
		find(&x, 8, time, NULL);
		assert_int_equal(x.found.n, i < 1000 ? i + 1 : 1000);
	}
	found_is(&x, 999, 3, 200, 100);
	set_outliers_free(&x.found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifth),
		cmocka_unit_test(eight_times),
		cmocka_unit_test(of_fewer_than_eight_none),
		cmocka_unit_test(counts),
		cmocka_unit_test(the_farthest_first),
		cmocka_unit_test(at_most_a_thousand),
	};

	return cmocka_run_group_tests_name("state-outliers", tests, NULL, NULL);
}
