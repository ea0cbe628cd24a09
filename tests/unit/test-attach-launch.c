/* SPDX-License-Identifier: Apache-2.0
 *
 * Launching: arguments, environment, directories, redirections, addresses, and what is refused with
 * which words.
 */
#include "test-attach-common.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static struct inferior *launch(struct launch_options o, char *const *args)
{
	struct inferior *inf;

	o.argv = args;
	must(inferior_launch(&inf, &o));
	assert_true(inferior_alive(inf));
	assert_false(inferior_running(inf));
	return inf;
}

#define PROGRAM() ((char *)built("tests/programs/attach-inferior"))
#define ARGS(...) ((char *const[]){PROGRAM(), __VA_ARGS__, NULL})

/* Runs a behaviour with its output in a file; the caller frees what it printed. */
static char *output_of(struct launch_options o, char *const *args, int status)
{
	char *out = temp_name(), *text;
	struct inferior *inf;

	o.out = out;
	inf = launch(o, args);
	assert_exited(run_to_end(inf), status);
	inferior_free(inf);
	text = read_file(out);
	unlink(out);
	free(out);
	return text;
}

static void exit_status(void **state)
{
	static const char *const codes[] = {"0", "1", "77", "255"};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		struct inferior *inf =
			launch((struct launch_options){0}, ARGS((char *)"exit", (char *)codes[i]));

		assert_exited(run_to_end(inf), atoi(codes[i]));
		assert_false(inferior_alive(inf));
		inferior_free(inf);
	}
}

static void arguments(void **state)
{
	char *text = output_of((struct launch_options){0},
		ARGS((char *)"print", (char *)"a b", (char *)"", (char *)"$x*"), 0);

	assert_string_equal(text, "a b\n\n$x*\n");
	free(text);
}

static void environment(void **state)
{
	char *changes[] = {(char *)"TSDB_TEST_SET=one two", (char *)"TSDB_TEST_GONE",
		(char *)"TSDB_TEST_EMPTY=", NULL};
	char *text, want[512];

	setenv("TSDB_TEST_GONE", "x", 1);
	setenv("TSDB_TEST_KEPT", "kept", 1);
	setenv("LD_LIBRARY_PATH", "/nowhere", 1);
	text = output_of(
		(struct launch_options){
			.env_changes = changes, .agent = "/x/agent.so", .softgpu = "/x/soft"},
		ARGS((char *)"env", (char *)"TSDB_TEST_SET", (char *)"TSDB_TEST_GONE",
			(char *)"TSDB_TEST_KEPT", (char *)"TSDB_TEST_EMPTY",
			(char *)"LD_LIBRARY_PATH", (char *)"CUDA_INJECTION64_PATH",
			(char *)"NVTX_INJECTION64_PATH", (char *)"TSDB_AGENT"),
		0);
	unsetenv("LD_LIBRARY_PATH");
	snprintf(want, sizeof(want),
		"TSDB_TEST_SET=one two\nTSDB_TEST_GONE=(unset)\nTSDB_TEST_KEPT=kept\nTSDB_TEST_EMPTY=\n"
		"LD_LIBRARY_PATH=/x/soft:/nowhere\nCUDA_INJECTION64_PATH=/x/agent.so\n"
		"NVTX_INJECTION64_PATH=/x/agent.so\nTSDB_AGENT=/x/agent.so\n");
	assert_string_equal(text, want);
	free(text);
}

static void working_directory(void **state)
{
	char *text = output_of((struct launch_options){.cwd = "/usr/bin"}, ARGS((char *)"cwd"), 0);

	assert_string_equal(text, "/usr/bin\n");
	free(text);
}

static void redirections(void **state)
{
	char *in = temp_name(), *out = temp_name(), *err = temp_name(), *text;
	FILE *f = fopen(in, "w");
	struct launch_options o = {.in = in, .out = out, .err = err};

	fputs("line\n", f);
	fclose(f);
	for (int i = 0; i < 2; i++) {
		struct inferior *inf = launch(o, ARGS((char *)"cat"));

		assert_exited(run_to_end(inf), 0);
		inferior_free(inf);
		o.out_append = true; /* the second time */
	}
	text = read_file(out);
	assert_string_equal(text, "line\nline\n");
	free(text);
	text = read_file(err);
	assert_string_equal(text, "done\n");
	free(text);
	unlink(in), unlink(out), unlink(err);
	free(in), free(out), free(err);
}

static void addresses(void **state)
{
	char *a = output_of((struct launch_options){0}, ARGS((char *)"address"), 0);
	char *b = output_of((struct launch_options){0}, ARGS((char *)"address"), 0);
	char *c = output_of((struct launch_options){.keep_aslr = true}, ARGS((char *)"address"), 0);
	char *d = output_of((struct launch_options){.keep_aslr = true}, ARGS((char *)"address"), 0);

	assert_string_equal(a, b);
	assert_string_not_equal(c, d);
	free(a), free(b), free(c), free(d);
}

static void a_script(void **state)
{
	char *name = temp_name();
	FILE *f = fopen(name, "w");
	struct inferior *inf;

	fputs("#!/bin/sh\nexit 5\n", f);
	fclose(f);
	chmod(name, 0755);
	inf = launch((struct launch_options){0}, (char *const[]){name, NULL});
	assert_exited(run_to_end(inf), 5);
	inferior_free(inf);
	unlink(name);
	free(name);
}

static void found_in_path(void **state)
{
	struct inferior *inf =
		launch((struct launch_options){0}, (char *const[]){(char *)"true", NULL});

	assert_exited(run_to_end(inf), 0);
	inferior_free(inf);
}

/* ---- refusals ---- */

static void refuse_with(struct launch_options o, const char *program, const char *text)
{
	struct inferior *inf;

	o.argv = (char *const[]){(char *)program, NULL};
	must_say(inferior_launch(&inf, &o), text);
	assert_null(inf);
}

static void refuse_content(const void *bytes, size_t n, mode_t mode, const char *text)
{
	char *name = temp_name();
	FILE *f = fopen(name, "w");

	fwrite(bytes, 1, n, f);
	fclose(f);
	chmod(name, mode);
	refuse_with((struct launch_options){0}, name, text);
	unlink(name);
	free(name);
}

static void refusals(void **state)
{
	Elf32_Ehdr e32 = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(e32)};
	Elf64_Ehdr arm = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_AARCH64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(arm)};
	Elf64_Ehdr obj = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(obj)};

	refuse_with((struct launch_options){0}, "/no/such/program", "No such file");
	refuse_with(
		(struct launch_options){0}, "no-such-program-anywhere", "no such program in PATH");
	refuse_with((struct launch_options){0}, "/usr/bin", "directory");
	refuse_content("#!/bin/sh\n", 10, 0644, "not an executable file");
	refuse_content(&e32, sizeof(e32), 0755, "32-bit");
	refuse_content(&arm, sizeof(arm), 0755, "not an x86-64 program");
	refuse_content(&obj, sizeof(obj), 0755, "not a program");
	refuse_content("hello", 5, 0755, "neither an ELF program nor a script");
	refuse_content("", 0, 0755, "neither an ELF program nor a script");
	refuse_content("#!/no/such/interpreter\n", 23, 0755, "interpreter");
	refuse_with((struct launch_options){.cwd = "/no/such/place"}, "true",
		"cannot enter the directory /no/such/place");
	refuse_with(
		(struct launch_options){.in = "/no/such/file"}, "true", "cannot read the input");
	refuse_with(
		(struct launch_options){.out = "/no/such/file"}, "true", "cannot write the output");
	refuse_with((struct launch_options){.ring_bytes = 12345}, "true", "a ring of 12345 bytes");
}

/* Makes ptrace() fail in this process, as a container's seccomp profile does. */
static bool forbid_ptrace(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static int launch_without_ptrace(void)
{
	struct launch_options o = {.argv = (char *const[]){(char *)"true", NULL}};
	struct inferior *inf;
	struct err *e;

	if (!forbid_ptrace())
		return 77;
	e = inferior_launch(&inf, &o);
	if (!e || e->code != ERR_PERMISSION || !strstr(e->what, "ptrace is not permitted") ||
		!e->cure)
		return 1;
	if (!strstr(e->cure, "SYS_PTRACE") && !strstr(e->cure, "ptrace_scope"))
		return 2;
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0
								   : 3; /* nothing left behind */
}

static void ptrace_not_permitted(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(launch_without_ptrace());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* 0: launched; 1: refused in the right words. */
static int launch_with_file_limit(rlim_t soft, rlim_t hard)
{
	struct launch_options o = {.argv = (char *const[]){(char *)"true", NULL}};
	struct rlimit l = {soft, hard};
	struct inferior *inf;
	struct err *e;

	if (setrlimit(RLIMIT_FSIZE, &l) != 0)
		return 77;
	e = inferior_launch(&inf, &o);
	if (!e) {
		getrlimit(RLIMIT_FSIZE, &l);
		inferior_free(inf);
		return l.rlim_cur == soft ? 0 : 2;
	}
	return strstr(e->what, "limit on file sizes") && e->cure ? 1 : 3;
}

static void limited_file_size(void **state)
{
	for (int hard = 0; hard < 2; hard++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(launch_with_file_limit(4096, hard ? 4096 : RLIM_INFINITY));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), hard);
	}
}

/* ---- with a terminal ---- */

/* What tsdb does in the terminal: the number of the first thing that is not as it should be. */
static int on_a_terminal(void)
{
	struct launch_options o = {.argv = ARGS((char *)"cat")};
	struct inferior *inf;
	struct inferior_event ev;

	if (inferior_launch(&inf, &o) || tcgetpgrp(0) != getpgrp())
		return 1;
	if (inferior_resume(inf, false) || tcgetpgrp(0) != inferior_pid(inf))
		return 2;
	puts("RUNNING");
	fflush(stdout);
	/* A Ctrl-C is typed: the program stops, does not see it, and the terminal is ours. */
	if (inferior_wait(inf, EVENT_MS, &ev) || ev.kind != INFERIOR_STOP_INTERRUPT ||
		tcgetpgrp(0) != getpgrp())
		return 3;
	if (inferior_resume(inf, false) || tcgetpgrp(0) != inferior_pid(inf))
		return 4;
	puts("AGAIN");
	fflush(stdout);
	/* A Ctrl-Z. */
	if (inferior_wait(inf, EVENT_MS, &ev) || ev.kind != INFERIOR_STOP_SIGNAL ||
		ev.signal != SIGTSTP)
		return 5;
	if (inferior_resume(inf, false))
		return 6;
	/* A SIGINT that a process sends is the program's own. */
	puts("TYPE");
	fflush(stdout);
	/* A line and an end of file are typed: it can read them. */
	do
		if (inferior_wait(inf, EVENT_MS, &ev))
			return 7;
	while (inferior_alive(inf));
	if (ev.kind != INFERIOR_EXITED || ev.status != 0 || tcgetpgrp(0) != getpgrp())
		return 8;
	inferior_free(inf);
	puts("DONE");
	fflush(stdout);
	return 0;
}

/* Reads from the terminal until text has come; what came after it is kept for the next. */
static void expect(int fd, struct buf *got, const char *text)
{
	const char *at;
	char b[256], *rest;

	while (!(at = strstr(buf_cstr(got), text))) {
		ssize_t n = read(fd, b, sizeof(b));

		if (n <= 0)
			fail_msg("the terminal did not show %s, only %s", text, buf_cstr(got));
		buf_add(got, b, (size_t)n);
	}
	rest = xstrdup(at + strlen(text));
	buf_clear(got);
	buf_str(got, rest);
	free(rest);
}

static void type(int fd, const char *text)
{
	pause_ms(50);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void a_terminal(void **state)
{
	struct buf got = BUF_INIT;
	int fd, status;
	pid_t pid = forkpty(&fd, NULL, NULL, NULL);

	if (pid == 0)
		_exit(on_a_terminal());
	assert_true(pid > 0);
	expect(fd, &got, "RUNNING");
	type(fd, "\003");
	expect(fd, &got, "AGAIN");
	type(fd, "\032");
	expect(fd, &got, "TYPE");
	type(fd, "to the program\n\004");
	expect(fd, &got, "to the program\r\nto the program"); /* the echo, and what it wrote: at its
								 end of file */
	expect(fd, &got, "DONE");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	buf_free(&got);
	close(fd);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void no_process_left(void **state)
{
	struct inferior *inf =
		launch((struct launch_options){0}, ARGS((char *)"sleep", (char *)"60000"));
	pid_t pid = inferior_pid(inf);

	must(inferior_resume(inf, false));
	inferior_free(inf);
	assert_int_equal(kill(pid, 0), -1);
}

/* tsdb itself is killed: the kernel kills what it traced. */
static void killed_with_us(void **state)
{
	int p[2];
	pid_t tsdb, inferior = 0;

	assert_int_equal(pipe(p), 0);
	tsdb = fork();
	if (tsdb == 0) {
		struct inferior *inf =
			launch((struct launch_options){0}, ARGS((char *)"sleep", (char *)"60000"));
		pid_t pid = inferior_pid(inf);

		must(inferior_resume(inf, false));
		_exit(write(p[1], &pid, sizeof(pid)) == sizeof(pid) && pause() ? 0 : 1);
	}
	close(p[1]); /* so that its end is seen */
	assert_int_equal(read(p[0], &inferior, sizeof(inferior)), sizeof(inferior));
	close(p[0]);
	assert_int_equal(kill(inferior, 0), 0);
	kill(tsdb, SIGKILL);
	waitpid(tsdb, NULL, 0);
	for (int i = 0; i < 100; i++) { /* a zombie of init's for a moment */
		char path[64], stat[512] = "", *paren;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", inferior);
		f = fopen(path, "r");
		if (!f)
			return;
		paren = fgets(stat, sizeof stat, f) ? strrchr(stat, ')') : NULL;
		fclose(f);
		if (!stat[0] || (paren && (paren[2] == 'Z' || paren[2] == 'X')))
			return;
		pause_ms(50);
	}
	kill(inferior, SIGKILL);
	fail_msg("the inferior outlived tsdb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_status),
		cmocka_unit_test(arguments),
		cmocka_unit_test(environment),
		cmocka_unit_test(working_directory),
		cmocka_unit_test(redirections),
		cmocka_unit_test(addresses),
		cmocka_unit_test(a_script),
		cmocka_unit_test(found_in_path),
		cmocka_unit_test(refusals),
		cmocka_unit_test(ptrace_not_permitted),
		cmocka_unit_test(a_terminal),
		cmocka_unit_test(limited_file_size),
		cmocka_unit_test(no_process_left),
		cmocka_unit_test(killed_with_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
