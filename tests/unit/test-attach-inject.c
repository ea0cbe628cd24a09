/* SPDX-License-Identifier: Apache-2.0
 *
 * What attaching must know of a process before it touches it: looked up in this test's own process,
 * where the answers are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attach/inject/inject.h"
#include "attach/ptrace/target.h"

static void finds_mappings(void **state)
{
	struct remote_space s;
	int local;
	const struct remote_map *m;

	assert_null(remote_space_read(&s, getpid()));
	m = remote_map_at(&s, (uint64_t)(uintptr_t)finds_mappings);
	assert_non_null(m);
	assert_true(m->x && m->r && !m->w);
	assert_non_null(strstr(remote_name(m), "test-attach-inject"));
	assert_int_equal(remote_base(&s, m)->offset, 0);
	m = remote_map_at(&s, (uint64_t)(uintptr_t)&local);
	assert_non_null(m);
	assert_true(m->w && !m->x);
	assert_null(remote_map_at(&s, 0));
	assert_null(remote_map_at(&s, UINT64_MAX));
	remote_space_free(&s);
}

/* As after an upgrade of what a running program has loaded: the name is what it was. */
static void a_file_that_was_replaced(void **state)
{
	char name[] = "/tmp/test-attach-inject-XXXXXX";
	int fd = mkstemp(name);
	const struct remote_map *m;
	struct remote_space s;
	void *p;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	close(fd);
	unlink(name);
	assert_null(remote_space_read(&s, getpid()));
	m = remote_map_at(&s, (uint64_t)(uintptr_t)p);
	assert_non_null(m);
	assert_string_equal(m->path, name);
	remote_space_free(&s);
	munmap(p, 4096);
}

static void finds_what_to_call(void **state)
{
	struct inject_site s;
	uint64_t offset, base;
	uint8_t code[9];
	static const uint8_t sigreturn[9] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

	void *libc = dlopen(
		"libc.so.6", RTLD_NOW | RTLD_NOLOAD); /* sanitizers have a dlopen() of their own */

	assert_non_null(libc);
	assert_null(inject_site_read(&s, getpid()));
	assert_int_equal(s.dlopen, (uint64_t)(uintptr_t)dlsym(libc, "dlopen"));
	assert_int_equal(
		remote_symbol_addr(&s.libc, "getpid"), (uint64_t)(uintptr_t)dlsym(libc, "getpid"));
	assert_int_equal(remote_symbol_addr(&s.libc, "no_such_function"), 0);
	assert_string_equal(
		remote_symbol_at(&s.libc, (uint64_t)(uintptr_t)dlsym(libc, "getppid") + 1),
		"getppid");
	assert_null(remote_symbol_at(&s.libc, 4096));
	assert_true(remote_read(getpid(), s.restore_rt, code, sizeof(code)));
	assert_memory_equal(code, sigreturn, sizeof(code));
	/* errno is where its word says, from this thread's fs_base (which lies at its beginning:
	 * x86-64 TLS ABI). */
	assert_true(remote_read(getpid(), s.errno_word, &offset, sizeof(offset)));
	__asm__("mov %%fs:0, %0" : "=r"(base));
	assert_ptr_equal((void *)(uintptr_t)(base + offset), &errno);
	inject_site_free(&s);
}

static void bad_images(void **state)
{
	uint8_t *junk = calloc(1, 8192);
	struct remote_symbols r;

	assert_false(remote_symbols_read(&r, getpid(), 4096));
	memcpy(junk, "\177ELF\2\1\1", 7);
	assert_false(remote_symbols_read(&r, getpid(), (uint64_t)(uintptr_t)junk));
	junk[54] = 56; /* e_phentsize */
	junk[56] = 1;  /* e_phnum; the header is all zero */
	assert_false(remote_symbols_read(&r, getpid(), (uint64_t)(uintptr_t)junk));
	free(junk);
}

static void the_way_back(void **state)
{
	struct inject j = {.frame.sp = 0x7000};
	struct arch_regs r = {.user.orig_rax = 15, .user.rsp = 0x7008};

	assert_true(inject_is_back(&j, &r));
	r.user.rsp = 0x7000;
	assert_false(inject_is_back(&j, &r));
	r.user.rsp = 0x7008;
	r.user.orig_rax = 14;
	assert_false(inject_is_back(&j, &r));
}

static void refused(pid_t pid, const char *agent, enum err_code code, const char *what)
{
	struct err *e = target_check(pid, agent);

	assert_non_null(e);
	assert_int_equal(e->code, code);
	if (!strstr(e->what, what))
		fail_msg("\"%s\" does not tell of \"%s\"", e->what, what);
	assert_non_null(e->cure);
	err_free(e);
}

static void refusals(void **state)
{
	pid_t child = fork();
	siginfo_t si;

	assert_true(child >= 0);
	if (!child)
		for (;;)
			pause();
	refused(0, "/", ERR_USAGE, "no process id");
	refused(-5, "/", ERR_USAGE, "no process id");
	refused(getpid(), "/", ERR_USAGE, "tsdb itself");
	refused(1, "/", ERR_USAGE, "first process");
	refused(child, "/no/such/agent.so", ERR_UNSUPPORTED, "not at that place");
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT), 0);
	refused(child, "/", ERR_STATE, "ended");
	waitpid(child, NULL, 0);
	refused(child, "/", ERR_NOT_FOUND, "no process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_mappings),
		cmocka_unit_test(a_file_that_was_replaced),
		cmocka_unit_test(finds_what_to_call),
		cmocka_unit_test(bad_images),
		cmocka_unit_test(the_way_back),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
