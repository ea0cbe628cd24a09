/* SPDX-License-Identifier: Apache-2.0
 *
 * Every write of the program is noted, whoever of it makes it and however: by a store, by a call of
 * the system, by another process through this one's page tables. Memory that could change in
 * another way is refused. Skipped by name where Linux notes no writes (before 6.7, or forbidden).
 */
#include "capture-control.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/host/bypass.h"
#include "capture/host/written.h"

#define PAGE WRITTEN_PAGE
#define PAGES 4000u

static bool noted[PAGES];
static uint8_t *memory;
static unsigned batches;

static bool note(void *arg, const struct written_run *run, unsigned n)
{
	uint64_t before = 0;

	batches++;
	for (unsigned i = 0; i < n; i++) {
		assert_true(run[i].first >= before && run[i].first < run[i].end);
		before = run[i].end;
		for (uint64_t p = run[i].first; p < run[i].end; p += PAGE)
			noted[(p - (uintptr_t)memory) / PAGE] = true;
	}
	return true;
}

static unsigned count(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PAGES; i++)
		n += noted[i];
	return n;
}

static bool look(void)
{
	memset(noted, 0, sizeof noted);
	batches = 0;
	const bool known = written_each((uintptr_t)memory, PAGES * PAGE, note, NULL);
	written_looked();
	return known;
}

static uint8_t *mapped(int flags, int fd)
{
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static enum written begin(uint8_t *p)
{
	memory = p;
	return written_begin((uintptr_t)p, PAGES * PAGE);
}

static uint8_t *private_memory(void)
{
	return mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Private memory that is noted, or the test is skipped. */
static void need(void)
{
	uint8_t *p = private_memory();

	memset(p, 1, PAGES * PAGE);
	if (!begin(p)) {
		print_message("Linux notes no writes here\n");
		skip();
	}
	assert_true(look());
	assert_int_equal(count(), 0);
}

static void over(void)
{
	written_looked();
	written_end();
	munmap(memory, PAGES * PAGE);
}

static void *store(void *arg)
{
	memory[(uintptr_t)arg * PAGE + 17]++;
	return NULL;
}

static void by_reading(unsigned page)
{
	int end[2];

	assert_int_equal(pipe(end), 0);
	assert_int_equal(write(end[1], "abc", 3), 3);
	assert_int_equal(read(end[0], memory + page * PAGE - 1, 3), 3); /* the page before, too */
	close(end[0]);
	close(end[1]);
}

static void by_a_child(unsigned page)
{
	const pid_t parent = getpid(), child = fork();
	int status;

	if (!child) {
		char c = 'x';
		_exit(process_vm_writev(parent, &(struct iovec){&c, 1}, 1,
			      &(struct iovec){memory + page * PAGE, 1}, 1, 0) != 1);
	}
	waitpid(child, &status, 0);
	if (status)
		memory[page * PAGE] = 'x'; /* the system forbids it */
}

static void every_way_of_writing(void **state)
{
	pthread_t t;

	need();
	memory[3 * PAGE] = 1; /* the same as before */
	by_reading(100);
	by_a_child(200);
	assert_int_equal(pthread_create(&t, NULL, store, (void *)300), 0);
	pthread_join(t, NULL);
	assert_true(look());
	assert_int_equal(count(), 5);
	assert_true(noted[3] && noted[99] && noted[100] && noted[200] && noted[300]);
	assert_true(look());
	assert_int_equal(count(), 0);
	memory[3 * PAGE] = 2; /* again */
	assert_true(look());
	assert_true(count() == 1 && noted[3]);
	over();
}

static void reading_is_not_writing(void **state)
{
	unsigned sum = 0;

	need();
	for (unsigned i = 0; i < PAGES; i++)
		sum += memory[i * PAGE];
	assert_int_equal(sum, PAGES);
	assert_true(look());
	assert_int_equal(count(), 0);
	over();
}

/* More runs than are asked for at once. */
static void every_second_page(void **state)
{
	need();
	for (unsigned i = 1; i < PAGES; i += 2)
		memory[i * PAGE + 5] = 7;
	assert_true(look());
	assert_int_equal(count(), PAGES / 2);
	assert_true(batches > 1);
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(noted[i], i % 2);
	over();
}

/* A write behind the pages that fn was given comes with a later run; one to them comes next time.
 */
static bool write_behind(void *arg, const struct written_run *run, unsigned n)
{
	if (!batches)
		memory[0] = memory[(PAGES - 1) * PAGE] = 9;
	return note(arg, run, n);
}

static void writes_while_looking(void **state)
{
	need();
	for (unsigned i = 0; i < PAGES - 1; i += 2)
		memory[i * PAGE] = 7;
	memset(noted, 0, sizeof noted);
	batches = 0;
	assert_true(written_each((uintptr_t)memory, PAGES * PAGE, write_behind, NULL));
	assert_true(noted[PAGES - 1]);
	assert_true(look());
	assert_true(count() == 1 && noted[0]);
	over();
}

static bool refuse(void *arg, const struct written_run *run, unsigned n)
{
	return false;
}

static void a_part_at_a_time(void **state)
{
	need();
	memory[1 * PAGE] = memory[10 * PAGE] = 5;
	memset(noted, 0, sizeof noted);
	assert_true(written_each((uintptr_t)memory + 10 * PAGE, PAGE, note, NULL));
	assert_true(count() == 1 && noted[10]);
	assert_true(look());
	assert_true(count() == 1 && noted[1]); /* not lost */
	memory[2 * PAGE] = 5;
	assert_false(written_each((uintptr_t)memory, PAGES * PAGE, refuse, NULL));
	over();
}

/* The program closes what it does not know, and opens something under the same number. */
static void closed_by_the_program(void **state)
{
	int file = -1;

	need();
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	memory[5 * PAGE] = 3;
	assert_false(look());
	for (int i = 0; i < 1100; i++)
		file = open("/dev/null", O_RDWR);
	(void)file;
	written_forget((uintptr_t)memory, PAGES * PAGE);
	written_end();
	for (int fd = 3; fd < 1200; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			close(fd);
	assert_true(begin(memory)); /* and again */
	memory[5 * PAGE] = 4;
	assert_true(look());
	assert_true(count() == 1 && noted[5]);
	over();
}

static void memory_that_is_replaced(void **state)
{
	need();
	assert_ptr_equal(mmap(memory + 7 * PAGE, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		memory + 7 * PAGE);
	memory[7 * PAGE] = 1;
	assert_false(look());
	over();
}

static void in_a_child(void **state)
{
	int status;

	need();
	const pid_t child = fork();
	if (!child) {
		memory[9 * PAGE] = 8;
		const bool told = look();
		written_forget((uintptr_t)memory, PAGES * PAGE); /* not the parent's */
		written_end();
		_exit(told);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	memory[11 * PAGE] = 8;
	assert_true(look());
	assert_true(count() == 1 && noted[11]);
	over();
}

static void forgotten(void **state)
{
	need();
	written_forget((uintptr_t)memory, PAGES * PAGE);
	memory[0] = 1;
	assert_false(look());
	over();
}

/* --- which memory --- */

static enum written kind(uint8_t *p)
{
	const enum written kind = begin(p);

	over();
	return kind;
}

static void memory_that_others_can_write(void **state)
{
	char name[] = "/tmp/writtenXXXXXX";
	const int file = mkstemp(name), shared = memfd_create("written", 0);

	assert_true(file >= 0 && shared >= 0);
	unlink(name);
	assert_int_equal(ftruncate(file, PAGES * PAGE), 0);
	assert_int_equal(ftruncate(shared, PAGES * PAGE), 0);
	need();
	over();
	assert_int_equal(kind(private_memory()), WRITTEN_NOTED);
	assert_int_equal(kind(mapped(MAP_SHARED, file)), WRITTEN_UNSEEN);
	assert_int_equal(kind(mapped(MAP_PRIVATE, file)), WRITTEN_UNSEEN);
	assert_int_equal(kind(mapped(MAP_SHARED, shared)), WRITTEN_UNSEEN);
	uint8_t *p = private_memory();
	munmap(p + 9 * PAGE, PAGE); /* a hole */
	assert_int_equal(kind(p), WRITTEN_UNSEEN);
	p = private_memory();
	mprotect(p + 9 * PAGE, PAGE, PROT_READ);
	assert_int_equal(kind(p), WRITTEN_UNSEEN);
	close(file);
	close(shared);
}

static void memory_that_children_share(void **state)
{
	need();
	over();
	uint8_t *p = mapped(MAP_SHARED | MAP_ANONYMOUS, -1);
	assert_int_equal(kind(p), WRITTEN_IF_ALONE);
	/* The same memory at a second address: an old size of 0 copies the mapping. */
	p = mapped(MAP_SHARED | MAP_ANONYMOUS, -1);
	uint8_t *second = mremap(p, 0, PAGES * PAGE, MREMAP_MAYMOVE);
	if (second != MAP_FAILED) {
		assert_int_equal(kind(p), WRITTEN_UNSEEN);
		munmap(second, PAGES * PAGE);
	}
	assert_false(bypass_by_children());
	bypass_forked();
	assert_true(bypass_by_children());
	assert_int_equal(kind(mapped(MAP_SHARED | MAP_ANONYMOUS, -1)), WRITTEN_UNSEEN);
	assert_int_equal(kind(private_memory()), WRITTEN_NOTED);
}

/* --- devices; the answer stays once it is true, so each in a child --- */

static int opened(const char *path, int flags)
{
	return open(path, flags, 0600);
}

static bool bypassed(const char *path, int flags)
{
	int status;
	const pid_t child = fork();

	if (!child) {
		const int fd = path ? opened(path, flags) : 0;
		_exit(fd < 0 ? 2 : bypass_by_devices());
	}
	waitpid(child, &status, 0);
	if (WEXITSTATUS(status) == 2)
		print_message("%s cannot be opened here\n", path);
	return WEXITSTATUS(status) == 1;
}

static void devices_that_write(void **state)
{
	char name[] = "./writtenXXXXXX";
	const int file = mkstemp(name);

	assert_false(bypassed(NULL, 0));
	assert_false(bypassed("/dev/null", O_RDWR));
	assert_false(bypassed("/dev/urandom", O_RDONLY));
	assert_false(bypassed("/proc/self/maps", O_RDONLY));
	assert_false(bypassed(".", O_RDONLY | O_DIRECTORY));
	assert_false(bypassed(name, O_RDWR));
	const int direct = open(name, O_RDWR | O_DIRECT);
	if (direct >= 0) {
		close(direct);
		assert_true(bypassed(name, O_RDWR | O_DIRECT));
	}
	/* A character device that is in no list. */
	if (!access("/dev/mem", R_OK) || !access("/dev/cpu/0/msr", R_OK))
		assert_true(bypassed(
			access("/dev/mem", R_OK) ? "/dev/cpu/0/msr" : "/dev/mem", O_RDONLY));
	close(file);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_of_writing),
		cmocka_unit_test(reading_is_not_writing),
		cmocka_unit_test(every_second_page),
		cmocka_unit_test(writes_while_looking),
		cmocka_unit_test(a_part_at_a_time),
		cmocka_unit_test(closed_by_the_program),
		cmocka_unit_test(memory_that_is_replaced),
		cmocka_unit_test(in_a_child),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(devices_that_write),
		cmocka_unit_test(memory_that_others_can_write),
		cmocka_unit_test(memory_that_children_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
