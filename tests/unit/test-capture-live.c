/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of allocations while other threads free what a walk looks at, and reads of memory that
 * may not be there.
 */
#include "capture-fake.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/host/extent.h"
#include "capture/objects/live.h"

#define PAGE 4096u

static int start(void **state)
{
	(void)state;
	(void)fake_start();
	tls.inside = 1;
	return 0;
}

static void alloc(uint64_t addr, uint64_t size, enum sbt_mem mem)
{
	struct call c = {.cmd = {.kind = SBT_ALLOC}};
	c.cmd.u.alloc = (struct sbt_cmd_alloc){.addr = addr, .size = size, .mem = mem};
	live_alloc(&c);
}

static void freed(uint64_t addr)
{
	struct call c = {.cmd = {.kind = SBT_FREE}};
	c.cmd.u.free.addr = addr;
	live_free(&c);
}

static bool count(void *arg, struct live *l)
{
	(void)l;
	++*(unsigned *)arg;
	return false;
}

static unsigned all(void)
{
	unsigned n = 0;
	live_each(count, &n);
	return n;
}

/* A free within the walk, as another thread's would come. */
static bool free_it(void *arg, struct live *l)
{
	const uint64_t addr = l->addr, size = l->size;
	struct live other;
	(void)arg;
	l->seen = agent_map(2 * PAGE);
	assert_non_null(l->seen);
	assert_false(live_is_over(l));
	freed(addr);
	assert_true(live_is_over(l));
	assert_false(live_at(addr, &other));
	/* What the walk was given is still there, also when the address is in use again. */
	alloc(addr, 2 * size, SBT_MEM_PINNED);
	assert_int_equal(l->addr, addr);
	assert_int_equal(l->size, size);
	l->seen[0] = 1;
	assert_true(live_at(addr, &other));
	assert_int_equal(other.size, 2 * size);
	freed(addr);
	return false;
}

static void what_a_walk_looks_at_stays(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3; i++)
		alloc(0x10000 * i, 1 << 13, SBT_MEM_PINNED);
	assert_int_equal(live_host(), 3);
	live_each(free_it, NULL);
	assert_int_equal(all(), 0);
	assert_int_equal(live_host(), 0);
	assert_int_equal(atomic_load(&live_total), 0);
}

static bool stop_at_once(void *arg, struct live *l)
{
	*(uint64_t *)arg = l->addr;
	return true;
}

static void slots_are_used_again(void **state)
{
	uint64_t first = 0;
	(void)state;
	alloc(0x10000, 64, SBT_MEM_DEVICE);
	live_each(stop_at_once, &first);
	assert_int_equal(first, 0x10000);
	for (unsigned i = 0; i < 3u << 20; i++) { /* three times as many as there are slots */
		freed(0x10000 + i);
		alloc(0x10001 + i, 64, SBT_MEM_DEVICE);
	}
	assert_int_equal(all(), 1);
	assert_false(live_incomplete());
	freed(0x10000 + (3u << 20));
	assert_int_equal(all(), 0);
}

#define ROUNDS 20000u
static _Atomic bool over;

static void *alloc_and_free(void *arg)
{
	tls.inside = 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		alloc((uint64_t)(uintptr_t)arg + (i % 7) * PAGE, PAGE, SBT_MEM_PINNED);
		freed((uint64_t)(uintptr_t)arg + (i % 7) * PAGE);
	}
	return NULL;
}

static bool touch(void *arg, struct live *l)
{
	(void)arg;
	assert_true(l->addr >= 0x100000 && l->size == PAGE);
	if (!l->seen)
		l->seen = agent_map(PAGE);
	l->seen[1] = l->addr;
	assert_int_equal(l->seen[1], l->addr);
	return false;
}

static void *walk(void *arg)
{
	(void)arg;
	tls.inside = 1;
	while (!atomic_load(&over))
		live_each(touch, NULL);
	return NULL;
}

static void walks_and_frees_at_once(void **state)
{
	pthread_t owner[3], walker;
	(void)state;
	atomic_store(&over, false);
	pthread_create(&walker, NULL, walk, NULL);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(
			&owner[i], NULL, alloc_and_free, (void *)((i + 1) * 0x100000)); // NOLINT
	for (unsigned i = 0; i < 3; i++)
		pthread_join(owner[i], NULL);
	atomic_store(&over, true);
	pthread_join(walker, NULL);
	assert_int_equal(all(), 0);
}

/* --- reading --- */

static bool reads_right(void)
{
	static char copy[20 * PAGE];
	const size_t n = 18 * PAGE;
	char *p = mmap(NULL, n + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 7);
	munmap(p + n, PAGE);
	const uint64_t at = (uint64_t)(uintptr_t)p;
	const bool good = host_read(at + 3, copy, n - 3) && !memcmp(copy, p + 3, n - 3) &&
			  !host_read(at + 3, copy, n) && !host_read(at + n, copy, 1);
	munmap(p, n);
	return good && !host_read(at, copy, 1);
}

static void memory_that_is_gone_is_no_fault(void **state)
{
	(void)state;
	assert_true(reads_right());
}

/* As in a sandbox. */
static bool forbid_process_vm_writev(void)
{
	struct sock_filter rule[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all_rules = {sizeof(rule) / sizeof(*rule), rule};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all_rules);
}

static void nor_in_a_sandbox(void **state)
{
	int status;
	(void)state;
	const pid_t child = fork();
	if (!child)
		_exit(!forbid_process_vm_writev() ? 77 : reads_right() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_a_walk_looks_at_stays, start),
		cmocka_unit_test_setup(slots_are_used_again, start),
		cmocka_unit_test_setup(walks_and_frees_at_once, start),
		cmocka_unit_test(memory_that_is_gone_is_no_fault),
		cmocka_unit_test(nor_in_a_sandbox),
	};
	return cmocka_run_group_tests_name("capture-live", tests, NULL, NULL);
}
