/* SPDX-License-Identifier: Apache-2.0
 *
 * The crew does every part once, waits for all, and helps nobody twice at a time; the hash of a
 * large extent is that of its bytes, whoever hashed them. Where there is one processor only, the
 * crew says that it does nothing, and the hash is the same.
 */
#include "capture-control.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/host/extent.h"
#include "capture/pipeline/crew.h"

#define PARTS 1000u

static _Atomic uint32_t done[PARTS];

static bool many_processors(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 1;
}

static void once(void *arg, uint64_t i, uint8_t *room)
{
	memset(room, (int)i, CREW_ROOM); /* its own: the sum below would differ */
	uint64_t sum = 0;
	for (size_t k = 0; k < CREW_ROOM; k += 512)
		sum += room[k];
	assert_int_equal(sum, (uint64_t)(uint8_t)i * (CREW_ROOM / 512));
	atomic_fetch_add(&done[i], 1);
}

static void every_part_is_done_once(void **state)
{
	for (uint32_t round = 1; round <= 20; round++) {
		const bool good = crew_do(once, NULL, PARTS);

		assert_int_equal(good, many_processors());
		for (unsigned i = 0; i < PARTS; i++)
			assert_int_equal(done[i], good ? round : 0);
	}
}

static void inner(void *arg, uint64_t i, uint8_t *room)
{
	_Atomic uint32_t *taken = arg;

	if (crew_do(once, NULL, 2))
		atomic_fetch_add(taken, 1);
}

static void one_job_at_a_time(void **state)
{
	_Atomic uint32_t taken = 0;

	(void)crew_do(inner, &taken, 8);
	assert_int_equal(taken, 0);
}

/* Stands for the thread of a process that was in a job when it forked. */
static void forks(void *arg, uint64_t i, uint8_t *room)
{
	int *status = arg;

	if (i)
		return;
	const pid_t child = fork();
	if (!child) {
		memset(done, 0, sizeof done);
		const bool good = crew_do(once, NULL, PARTS);
		bool all = true; /* the agent is not live in a child: most likely it does nothing */
		for (unsigned k = 0; k < PARTS; k++)
			all &= done[k] == good;
		_exit(all ? 0 : 1);
	}
	assert_int_equal(waitpid(child, status, 0), child);
}

static void a_forked_child_has_its_own(void **state)
{
	int status = 0;

	if (crew_do(forks, &status, 4))
		assert_int_equal(status, 0);
}

static void hashes_are_those_of_the_bytes(void **state)
{
	const size_t most = (5u << 20) + 1234;
	uint8_t *p = malloc(most), *page = malloc(SBT_PAGE);

	for (size_t i = 0; i < most; i++)
		p[i] = (uint8_t)(i * i >> 7);
	for (size_t n = CREW_WORTH - 1; n <= most; n += CREW_ROOM / 2 + 77) {
		struct sbt_rows rows = sbt_rows_flat((uintptr_t)p, n);
		struct sbt_hash hash;

		assert_true(extent_hash(&rows, page, &hash));
		assert_true(sbt_hash_equal(hash, sbt_range_hash(p, n)));
	}
	free(p);
	free(page);
}

static void unmapped_memory_has_no_hash(void **state)
{
	const size_t n = 4u << 20;
	uint8_t *page = malloc(SBT_PAGE),
		*p = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sbt_rows rows = sbt_rows_flat((uintptr_t)p, n);
	struct sbt_hash hash;

	assert_int_equal(munmap(p + n / 2, 4096), 0);
	assert_false(extent_hash(&rows, page, &hash));
	munmap(p, n);
	free(page);
}

static int begin(void **state)
{
	tls.inside = 1; /* as within a call of the program's */
	(void)fake_control();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_is_done_once),
		cmocka_unit_test(one_job_at_a_time),
		cmocka_unit_test(hashes_are_those_of_the_bytes),
		cmocka_unit_test(unmapped_memory_has_no_hash),
		cmocka_unit_test(a_forked_child_has_its_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, begin, NULL);
}
