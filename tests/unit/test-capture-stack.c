/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks, the mapping table under them, and the handle map: in one process, with the fake driver.
 */
#include "capture-fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/map.h"
#include "capture/mapping.h"

static struct tsdb_control *control;

static int start(void **state)
{
	control = fake_start();
	control->stacks = 1;
	return 0;
}

static void launch(void)
{
	uint64_t a = 1, c = 3;
	uint32_t b = 2;
	FAKE(cuLaunchKernel, FAKE_FUNC, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &a, &b, &c }, NULL);
}

/* Two places that launch, at the same depth. */
static __attribute__((noinline)) void place_a(void)
{
	launch();
	__asm__ volatile("");
}

static __attribute__((noinline)) void place_b(void)
{
	launch();
	__asm__ volatile("nop");
}

/* The next launch's stack id; *defined: how many stacks were defined on the way, *ret the last one. */
static uint32_t next_launch(unsigned *defined, struct tsdb_msg_stack **ret)
{
	static uint64_t copy[TSDB_STACK_MAX + 8];
	struct fake_record r;
	*defined = 0;
	while (fake_next(0, &r)) {
		if (r.type == TSDB_MSG_STACK) {
			(*defined)++;
			memcpy(copy, r.head, r.head->size);
			*ret = (struct tsdb_msg_stack *)copy;
		} else if (r.type == SBT_LAUNCH) {
			return r.cmd.stack;
		}
	}
	return 0;
}

static void a_stack_is_defined_once(void **state)
{
	struct tsdb_msg_stack *s = NULL;
	unsigned defined;
	uint32_t first = 0;
	/* One loop body, so that the way to place_a() is the same each time. */
	for (int i = 0; i < 3; i++) {
		place_a();
		const uint32_t id = next_launch(&defined, &s);
		assert_int_not_equal(id, 0);
		assert_int_equal(defined, i == 0);
		if (!i)
			first = id;
		assert_int_equal(id, first);
	}
	assert_int_equal(s->id, first);
	assert_true(s->n >= 3);
	assert_true(s->n <= TSDB_STACK_MAX);
}

static void different_ways_are_different_stacks(void **state)
{
	void (*const places[])(void) = { place_a, place_b, place_a, place_b };
	uint32_t id[4];
	struct tsdb_msg_stack *s = NULL;
	unsigned defined;
	for (int i = 0; i < 4; i++) {
		places[i]();
		id[i] = next_launch(&defined, &s);
		assert_int_equal(defined, i < 2);
	}
	assert_int_not_equal(id[0], id[1]);
	assert_int_equal(id[0], id[2]);
	assert_int_equal(id[1], id[3]);
}

/* The frames are those of the program, in order: somewhere place_b, right after it this function. */
static __attribute__((noinline)) void frames_are_right(void **state)
{
	struct tsdb_msg_stack *s = NULL;
	unsigned defined, at = 0;
	place_b();
	assert_int_not_equal(next_launch(&defined, &s), 0);
	assert_int_equal(defined, 1);
	const uint64_t low = (uint64_t)(uintptr_t)place_b;
	while (at < s->n && !(s->pcs[at] > low && s->pcs[at] < low + 64))
		at++;
	assert_true(at + 1 < s->n);
	const uint64_t here = (uint64_t)(uintptr_t)frames_are_right;
	assert_true(s->pcs[at + 1] > here && s->pcs[at + 1] < here + 4096);
}

static void depth_is_obeyed(void **state)
{
	struct tsdb_msg_stack *s = NULL;
	unsigned defined;
	control->stack_depth = 2;
	place_a();
	assert_int_not_equal(next_launch(&defined, &s), 0);
	control->stack_depth = 0;
	assert_int_equal(defined, 1);
	assert_int_equal(s->n, 2);
}

static void stacks_can_be_off(void **state)
{
	struct tsdb_msg_stack *s = NULL;
	unsigned defined;
	control->stacks = 0;
	place_a();
	assert_int_equal(next_launch(&defined, &s), 0);
	control->stacks = 2; /* inside windows only, and there is none */
	place_a();
	assert_int_equal(next_launch(&defined, &s), 0);
	control->stacks = 1;
}

/* ---- mappings ------------------------------------------------------------------------------------------------------ */

static void mappings_have_the_right_bias(void **state)
{
	Dl_info info;
	const void *fn = (const void *)(uintptr_t)printf;
	const struct mapping *m = mapping_find((uint64_t)(uintptr_t)fn);
	assert_non_null(m);
	assert_true(dladdr(fn, &info) != 0);
	assert_int_equal(m->bias, (uint64_t)(uintptr_t)info.dli_fbase); /* libc's first segment is at virtual address 0 */
	assert_non_null(strstr(m->path, "libc"));
	assert_null(mapping_find(8));
	assert_null(mapping_find((uint64_t)(uintptr_t)&control)); /* data */
}

static void new_mappings_are_found(void **state)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED);
	const struct mapping *m = mapping_find((uint64_t)(uintptr_t)code + 100);
	assert_non_null(m);
	assert_string_equal(m->path, "");
	munmap(code, 4096);
}

/* ---- the map --------------------------------------------------------------------------------------------------------- */

static bool is_even(void *arg, uint64_t key, uint64_t value)
{
	return key % 2 == 0;
}

static void the_map_keeps_what_it_is_given(void **state)
{
	struct map m = { 0 };
	assert_int_equal(map_get(&m, 5), 0);
	for (uint64_t k = 1; k <= 5000; k++)
		assert_int_equal(map_put(&m, k, k * 3), 0);
	for (uint64_t k = 1; k <= 5000; k++)
		assert_int_equal(map_get(&m, k), k * 3);
	assert_int_equal(map_get(&m, 5001), 0);
	assert_int_equal(map_remove(&m, 77), 231);
	assert_int_equal(map_remove(&m, 77), 0);
	assert_int_equal(map_get(&m, 77), 0);
	assert_int_equal(map_put(&m, 77, 1), 0);
	assert_int_equal(map_get(&m, 77), 1);
	map_sweep(&m, is_even, NULL);
	assert_int_equal(map_get(&m, 100), 0);
	assert_int_equal(map_get(&m, 101), 303);
}

/* A table that only ever sees new keys does not grow beyond what lives in it. */
static void dead_keys_are_dropped(void **state)
{
	struct map m = { 0 };
	for (uint64_t k = 1; k <= 100000; k++) {
		assert_int_equal(map_put(&m, k, 1), 0);
		assert_int_equal(map_remove(&m, k), 1);
	}
	assert_true(m.table->mask < 4096);
}

/* ---- threads and children ---------------------------------------------------------------------------------------------- */

static void *make_a_call(void *arg)
{
	launch();
	return NULL;
}

static void a_thread_gives_its_ring_back(void **state)
{
	pthread_t thread;
	struct fake_record r;
	assert_int_equal(pthread_create(&thread, NULL, make_a_call, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(control->ring[1].state, TSDB_RING_CLOSED);
	unsigned launches = 0, threads = 0, mappings = 0;
	while (fake_next(1, &r)) {
		launches += r.type == SBT_LAUNCH;
		threads += r.type == SBT_THREAD;
		mappings += r.type == TSDB_MSG_MAPPING; /* each ring can be read alone */
		if (r.type == SBT_LAUNCH)
			assert_int_equal(r.cmd.thread, 2);
	}
	assert_int_equal(launches, 1);
	assert_int_equal(threads, 1);
	assert_true(mappings >= 1);
}

static void a_forked_child_is_inert(void **state)
{
	fake_skip();
	const uint64_t next = control->next_seq;
	const pid_t pid = fork();
	if (!pid)
		_exit(agent_live() ? 1 : 0);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(agent_live());
	assert_int_equal(control->next_seq, next);
}

static void without_a_control_block_nothing_happens(void **state)
{
	assert_int_not_equal(agent_map_control("/nonexistent"), 0);
	assert_int_not_equal(agent_map_control("/proc/self/exe"), 0); /* not ours: refused by its header */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_defined_once),
		cmocka_unit_test(different_ways_are_different_stacks),
		cmocka_unit_test(frames_are_right),
		cmocka_unit_test(depth_is_obeyed),
		cmocka_unit_test(stacks_can_be_off),
		cmocka_unit_test(mappings_have_the_right_bias),
		cmocka_unit_test(new_mappings_are_found),
		cmocka_unit_test(the_map_keeps_what_it_is_given),
		cmocka_unit_test(dead_keys_are_dropped),
		cmocka_unit_test(a_thread_gives_its_ring_back),
		cmocka_unit_test(a_forked_child_is_inert),
		cmocka_unit_test(without_a_control_block_nothing_happens),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
