/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks, the mapping table under them, and the handle map: in one process, with the fake
 * driver.
 */
#include "capture-fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/objects/map.h"
#include "capture/stacks/mapping.h"
#include "capture/objects/nvinfo.h"

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
	FAKE(cuLaunchKernel, FAKE_FUNC, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&a, &b, &c}, NULL);
}

/* A loop that is unrolled calls from several places: the compiler is to leave these as they are
 * written. */
#ifdef __clang__
#define AS_WRITTEN __attribute__((noinline, optnone))
#else
#define AS_WRITTEN __attribute__((noinline))
#endif

/* Two places that launch, at the same depth. */
static AS_WRITTEN void place_a(void)
{
	launch();
	__asm__ volatile("");
}

static AS_WRITTEN void place_b(void)
{
	launch();
	__asm__ volatile("nop");
}

/* The next launch's stack id; *defined: how many stacks were defined on the way, *ret the last one.
 */
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

static AS_WRITTEN void a_stack_is_defined_once(void **state)
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

static AS_WRITTEN void different_ways_are_different_stacks(void **state)
{
	void (*const places[])(void) = {place_a, place_b, place_a, place_b};
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

/* The frames are those of the program, in order: somewhere place_b, right after it this function.
 */
static AS_WRITTEN void frames_are_right(void **state)
{
	struct tsdb_msg_stack *s = NULL;
	unsigned defined, at = 0;
	place_b();
	assert_int_not_equal(next_launch(&defined, &s), 0);
	assert_int_equal(defined, 1);
	const uint64_t low = (uint64_t)(uintptr_t)place_b;
	while (at < s->n && !(s->pcs[at] > low && s->pcs[at] < low + 128))
		at++;
	assert_true(at + 1 < s->n);
	const uint64_t here = (uint64_t)(uintptr_t)frames_are_right;
	assert_true(s->pcs[at + 1] > here && s->pcs[at + 1] < here + 4096);
}

/* Ways through four functions whose frames have different sizes, so that the callback's frame, and
 * the slots above it, coincide for some ways and not for others. */
static AS_WRITTEN void go(const uint8_t *way);
#define STEP(n)                                                                                    \
	static AS_WRITTEN void step_##n(const uint8_t *way)                                        \
	{                                                                                          \
		volatile uint8_t room[1 + n / 2 * 64];                                             \
		room[0] = *way;                                                                    \
		go(way);                                                                           \
		__asm__ volatile("" ::"r"(room));                                                  \
	}
STEP(0)
STEP(1)
STEP(2)
STEP(3)

static AS_WRITTEN void go(const uint8_t *way)
{
	void (*const step[])(const uint8_t *) = {step_0, step_1, step_2, step_3};
	if (*way == 255)
		launch();
	else
		step[*way](way + 1);
	__asm__ volatile("");
}

/* A way has one stack, and no other way has it, in whatever order they come. */
static AS_WRITTEN void ways_are_told_apart(void **state)
{
	enum { WAYS = 4 * 4 * 4 * 4 };
	uint32_t id[WAYS] = {0};
	struct tsdb_msg_stack *s = NULL;
	unsigned defined, x = 7;
	for (int i = 0; i < 1500; i++) {
		/* Some ways often, all of them now and then. */
		x = x * 1664525u + 1013904223u;
		const unsigned w = (x >> 16) % (x >> 30 ? 4 : WAYS);
		uint8_t way[5] = {w & 3, w >> 2 & 3, w >> 4 & 3, w >> 6 & 3, 255};
		go(way);
		const uint32_t got = next_launch(&defined, &s);
		assert_int_not_equal(got, 0);
		assert_int_equal(defined, !id[w]);
		if (id[w])
			assert_int_equal(got, id[w]);
		id[w] = got;
	}
	for (int i = 0; i < WAYS; i++)
		for (int k = 0; k < i; k++)
			assert_true(!id[i] || id[i] != id[k]);
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
	control->stacks = TSDB_STACKS_NEVER;
	place_a();
	assert_int_equal(next_launch(&defined, &s), 0);
	control->stacks = TSDB_STACKS_WINDOWS; /* and there is none */
	place_a();
	assert_int_equal(next_launch(&defined, &s), 0);
	control->stacks = TSDB_STACKS_LAUNCHES;
	place_a();
	assert_int_not_equal(next_launch(&defined, &s), 0);
	control->stacks = TSDB_STACKS_ALL;
}

/* --- mappings --- */

static void mappings_have_the_right_bias(void **state)
{
	Dl_info info;
	const void *fn =
		(const void *)(uintptr_t)gnu_get_libc_version; /* no sanitizer takes its place */
	const struct mapping *m = mapping_find((uint64_t)(uintptr_t)fn);
	assert_non_null(m);
	assert_true(dladdr(fn, &info) != 0);
	assert_int_equal(
		m->bias, (uint64_t)(uintptr_t)
				 info.dli_fbase); /* libc's first segment is at virtual address 0 */
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

/* --- the map --- */

static bool is_even(void *arg, uint64_t key, uint64_t value)
{
	return key % 2 == 0;
}

static void the_map_keeps_what_it_is_given(void **state)
{
	struct map m = {.table = NULL};
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
	struct map m = {.table = NULL};
	for (uint64_t k = 1; k <= 100000; k++) {
		assert_int_equal(map_put(&m, k, 1), 0);
		assert_int_equal(map_remove(&m, k), 1);
	}
	assert_true(m.table->mask < 4096);
}

/* --- parameters from a cubin --- */

/* A cubin with the sections of nvcc 13.0's kk(float *, int, struct of 20 bytes, double) and
 * none(void). */
struct cubin {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[4];
	char names[64];
	uint32_t kk[29], none[9];
};

static void make_cubin(struct cubin *c)
{
	static const char names[] = "\0.shstrtab\0.nv.info.kk\0.nv.info.none";
	*c = (struct cubin){
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			.e_shoff = offsetof(struct cubin, sh),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
			.e_shstrndx = 1},
		.sh = {{0},
			{.sh_name = 1,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct cubin, names),
				.sh_size = sizeof(names)},
			{.sh_name = 11,
				.sh_type = 0x70000000,
				.sh_offset = offsetof(struct cubin, kk),
				.sh_size = 29 * 4},
			{.sh_name = 23,
				.sh_type = 0x70000000,
				.sh_offset = offsetof(struct cubin, none),
				.sh_size = 9 * 4}},
		/* The bytes of the real ones, as little-endian words. */
		.kk = {0x00043704, 0x82, 0x000c1704, 0, 0x00200003, 0x0021f000, 0x000c1704, 0,
			0x000c0002, 0x0051f000, 0x000c1704, 0, 0x00080001, 0x0011f000, 0x000c1704,
			0, 0, 0x0021f000, 0x00005003, 0x00ff1b03, 0x01015f03, 0x00041c04, 0xc0,
			0x00281903, 0x00080a04, 0x0c, 0x00280210, 0x00043604, 0x08},
		.none = {0x00043704, 0x82, 0x00005003, 0x00ff1b03, 0x01015f03, 0x00041c04, 0x10,
			0x00043604, 0x08},
	};
	memcpy(c->names, names, sizeof(names));
}

static void parameters_of_a_cubin(void **state)
{
	static const struct kernel_param expected[] = {{0, 8}, {8, 4}, {12, 20}, {32, 8}};
	struct kernel_param p[8];
	struct cubin c;
	make_cubin(&c);
	assert_int_equal(nvinfo_params("kk", p, 8), -1);
	nvinfo_learn(&c, sizeof(c));
	assert_int_equal(nvinfo_params("kk", p, 8), 4);
	assert_memory_equal(p, expected, sizeof(expected));
	assert_int_equal(nvinfo_params("none", p, 8), 0);
	assert_int_equal(nvinfo_params("other", p, 8), -1);
	assert_int_equal(nvinfo_params("kk", p, 3), -1);
}

/* Cut short anywhere, and with every byte of the headers wrong: nothing is read that is not there
 * (the sanitizers watch). */
static void hostile_cubins(void **state)
{
	struct cubin c;
	for (size_t n = 0; n < sizeof(c); n++) {
		uint8_t *cut = malloc(n + 1);
		make_cubin(&c);
		memcpy(cut, &c, n);
		nvinfo_learn(cut, n);
		free(cut);
	}
	for (size_t i = 4; i < offsetof(struct cubin, names); i++) {
		make_cubin(&c);
		((uint8_t *)&c)[i] ^= 0xff;
		uint8_t *copy = malloc(sizeof(c));
		memcpy(copy, &c, sizeof(c));
		nvinfo_learn(copy, sizeof(c));
		free(copy);
	}
}

/* --- threads and children --- */

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
	assert_int_not_equal(
		agent_map_control("/proc/self/exe"), 0); /* not ours: refused by its header */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_defined_once),
		cmocka_unit_test(different_ways_are_different_stacks),
		cmocka_unit_test(frames_are_right),
		cmocka_unit_test(ways_are_told_apart),
		cmocka_unit_test(depth_is_obeyed),
		cmocka_unit_test(stacks_can_be_off),
		cmocka_unit_test(mappings_have_the_right_bias),
		cmocka_unit_test(new_mappings_are_found),
		cmocka_unit_test(the_map_keeps_what_it_is_given),
		cmocka_unit_test(dead_keys_are_dropped),
		cmocka_unit_test(parameters_of_a_cubin),
		cmocka_unit_test(hostile_cubins),
		cmocka_unit_test(a_thread_gives_its_ring_back),
		cmocka_unit_test(a_forked_child_is_inert),
		cmocka_unit_test(without_a_control_block_nothing_happens),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
