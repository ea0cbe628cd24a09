/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions over a made trace: what commands say, what they refuse, breakpoints in a replay,
 * scripts, exit counts. And the recorder's refusals. No program is run here; tests/e2e does that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "shell-test.h"
#include "capture/wire.h"
#include "engine/breakpoints.h"
#include "shell/live/breakpoints-text.h"
#include "engine/recorder.h"
#include "shell/line/out.h"
#include "shell/line/session.h"
#include "shell/trace/trace.h"

/* The same from #7 on: what came before is only in a keyframe. */
static char *make_late_trace(void)
{
	const struct sbt_meta meta = {
		.program = "app", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "t"};
	char *path = in_dir("late.sbt"), *whole = make_trace();
	struct buf frame = BUF_INIT;
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;
	struct sbt_reader *r;
	struct sbt_writer *w;
	struct state *before;

	must(sbt_reader_open(&r, whole));
	must(state_at(&before, r, 6));
	state_encode(before, &frame);
	must(sbt_writer_open(&w, path, &meta));
	must(sbt_writer_keyframe(w, 6, frame.data, frame.len));
	must(sbt_cursor_open(&cur, r));
	must(sbt_cursor_seek(cur, 7));
	for (must(sbt_cursor_next(cur, &c)); c; must(sbt_cursor_next(cur, &c))) {
		struct sbt_cmd copy = *c;

		copy.stack = 0;
		must(sbt_writer_cmd(w, &copy));
	}
	must(sbt_writer_close(w));
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	state_free(before);
	buf_free(&frame);
	free(whole);
	return path;
}

/* --- tests --- */

static void refuses_without_subject(void **state)
{
	struct session *s = *state;

	shows(s, "info streams", "^tsdb: there is no GPU to look at.*Use \"run\"");
	shows(s, "continue", "^tsdb: the program is not being run\\. Use \"run\"\\.$");
	shows(s, "run", "no program to run has been chosen");
	shows(s, "bt", "no stack");
	shows(s, "print grid_x", "no GPU command here");
	shows(s, "x/4xw 0", "not being run");
	shows(s, "replay step", "replay start FILE");
	shows(s, "replay start /nowhere.sbt", "/nowhere.sbt.*No such file");
	shows(s, "finish", "not being run");
	shows(s, "thread 1", "not being run");
	shows(s, "attach", "needs a process number");
	shows(s, "detach", "not being run");
	shows(s, "condition 9 x", "no breakpoint 9");
	shows(s, "info streams --josn", "no \"--josn\"|takes no");
	shows(s, "pwd --json", "takes no --json");
	shows(s, "frobnicate", "unknown command: frobnicate");
	shows(s, "target x", "^tsdb: unknown command: target\\. Use \"attach PID\"");
	shows(s, "help gdb", "^  target +Use");
	shows(s, "run 'a", "no program|quotation");
	shows(s, "source /nowhere", "/nowhere");
	shows(s, "handle SIGNOTHING stop", "no signal");
	shows(s, "capture window frob x", "capture window kernel GLOB");
	shows(s, "capture window seq 9-3", "range");
	shows(s, "capture stop", "no capture is on");
	assert_int_equal(s->failures, 23);
}

/* Words that a command does not take are not passed over: "kill 4711" is meant for another process.
 */
static void refuses_words(void **state)
{
	struct session *s = *state;

	for (unsigned i = 0; i < commands_count; i++) {
		const struct command *c = &commands[i];
		char *line = xasprintf("%s 4711", c->name),
		     *want = xasprintf("%s takes no \"4711\"", c->name);
		struct err *e;

		if (!(c->flags & CMD_PREFIX) && (!*c->usage || !strcmp(c->usage, "[--json]"))) {
			e = session_execute(s, line);
			if (!e || strcmp(e->what, want))
				fail_msg("%s: %s", line, e ? e->what : "no error");
			err_free(e);
		}
		free(line);
		free(want);
	}
}

static void looks_at_a_trace(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "info trace", "^commands +13, #1-#13");
	shows(s, "view 8", "^#8 matmul<<<\\(64,1,1\\),\\(256,1,1\\)>>> stream 0");
	shows(s, "view --stream 1 --kernel mat*", "^#11 matmul<<<\\(5,1,1\\)");
	shows(s, "view --json 7", "^\\{.*\"seq\": ?7.*\"kind\": ?\"copy\"");
	shows(s, "--json view 7", "^\\{.*\"seq\":7,");
	shows(s, "set names full\nview 8", "^#8 matmul\\(float\\*\\)<<<");
	shows(s, "order why 8 9", "  #8 matmul\\(float\\*\\)<<<");
	shows(s, "set names brief\nview 8", "^#8 matmul<<<");
	shows(s, "info --json streams", "^\\[\\{\"id\":");
	shows(s, "view 7 --kernel '--json' --kind copy", "^No such commands");
	shows(s, "view 7 --kernel 'x --json y'", "^No such commands");
	shows(s, "echo --json", "^--json$");
	shows(s, "info streams", "^ +1 ");
	shows(s, "state show stream 1 at 10", "Waiting");
	shows(s, "state show at 99", "no #99.*#1-#13");
	shows(s, "state show stream 5", "no stream 5");
	shows(s, "state show memory --json", "302000000");
	shows(s, "info commands 3-4", "^#3 .*\n#4 ");
	shows(s, "info commands 99", "the trace has no #99. It holds #1-#13");
	shows(s, "view 20-30", "nothing of #20-#30");
	shows(s, "view --stream 77", "^No such commands\\.$");
	shows(s, "state show events memory", "one of these at a time");
	assert_int_equal(s->failures, 5);
}

static void replays(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "replay start --on soft", "holds no memory contents.*--memory all");
	shows(s, "replay start",
		"^The state alone is replayed: .*no memory.*\nReplaying .*13 commands, #1-#13");
	shows(s, "when", "^At the beginning");
	shows(s, "bt", "beginning");
	shows(s, "replay step 8", "^#8 matmul");
	shows(s, "bt", "^#0 .*app\n#1 .*app");
	shows(s, "info args",
		"^arg0 +8 bytes at 0 +0x302000000  -> allocation of 4096 bytes \\(#6\\)\narg1 +4 bytes at 8 +.*1.5");
	shows(s, "print $cmd.grid_x * 2 + 1", "^\\$1 = 129$");
	shows(s, "print/x $ + 1", "^\\$2 = 0x82$");
	shows(s, "print arg1.f32", "^\\$3 = 1.5$");
	shows(s, "print nothing_like_it", "has no nothing_like_it");
	shows(s, "x/4xw arg0", "holds no memory contents.*--memory all");
	shows(s, "next 2", "^#10 stream_wait");
	shows(s, "replay next stream 1", "wait.*#9|#9");
	shows(s, "replay reverse-step 2", "^#8 ");
	shows(s, "replay goto end", "^#13 ");
	shows(s, "replay goto 77", "77");
	shows(s, "goto 3", "^#3 ");
	shows(s, "until 5", "^#5 ");
	shows(s, "u 6", "^#6 ");
	shows(s, "restart", "beginning");
	shows(s, "advance copy", "^Temporary breakpoint 1 at copy\n(.*\n)*Breakpoint 1, #7 copy");
	shows(s, "catch launch\ncontinue",
		"^Breakpoint 2 at launch\n(.*\n)*Breakpoint 2, #8 matmul");
	shows(s, "catch launch matmul", "^Breakpoint 3 at kernel matmul$");
	shows(s, "catch load", "^Breakpoint 4 at module_load$");
	shows(s, "catch fault", "the device has faulted");
	shows(s, "catch mouse", "catch needs .*\"launch\"");
	shows(s, "delete\nrestart", "beginning");
	shows(s, "replay goto 0", "beginning");
	shows(s, "info command", "beginning|no GPU command");
	shows(s, "replay stop\nreplay step", "^#1 ");
}

static void begins_in_mid_run(void **state)
{
	struct session *s = *state;
	char *path = make_late_trace();

	must(trace_open(s, path));
	free(path);
	shows(s, "view --kernel matmul", "^#8 matmul<<<.*\n#11 matmul<<<");
	shows(s, "replay start", "7 commands, #7-#13");
	shows(s, "info kernels", "matmul");
	shows(s, "info allocations", "302000000 .*#6");
	shows(s, "replay step 2", "^#8 matmul");
	shows(s, "bt", "no host stack was recorded for #8");
	shows(s, "replay reverse-step", "^#7 ");
	shows(s, "replay reverse-step", "beginning");
	shows(s, "info kernels", "matmul");
	shows(s, "replay goto end\ninfo streams", "Idle");
	shows(s, "break kernel matmul\nreverse-continue", "Breakpoint 1, #11 ");
	shows(s, "reverse-continue", "Breakpoint 1, #8 ");
	shows(s, "reverse-continue", "beginning");
	shows(s, "info streams", " 1 ");
	shows(s, "continue", "Breakpoint 1, #8 ");
}

static void breakpoints_in_a_replay(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "break kernel matmul if grid_x < 10",
		"^Breakpoint 1 at kernel matmul if grid_x < 10$");
	shows(s, "tbreak copy", "^Temporary breakpoint 2 at copy$");
	shows(s, "break kernel no_such",
		"no kernel of the trace is called no_such\\. Its kernels are matmul");
	shows(s, "break matmull",
		"no kernel of the trace is called matmull, and no GPU command .*Did you mean matmul\\?");
	shows(s, "break app.cu:12",
		"no GPU command of the trace was made from app\\.cu:12, .*-lineinfo");
	shows(s, "break mat*ul", "^Breakpoint 3 at kernel mat\\*ul$");
	shows(s, "disable 3", "");
	shows(s, "break seq 12", "^Breakpoint 4 at command if seq == 12$");
	shows(s, "break", "needs to know where");
	shows(s, "break launch if no_such_field > 1", "no_such_field");
	shows(s, "break kernel matmul if", "nothing stands behind \"if\"");
	shows(s, "commands 1\nprint 1+1\nend", "");
	shows(s, "replay start\nreplay continue", "reakpoint 2, #7 copy");
	shows(s, "continue", "Breakpoint 1, #11 matmul.*\n\\$1 = 2");
	shows(s, "info breakpoints", "^1 +keep +y +1 +kernel matmul\n +stop only if grid_x < 10");
	shows(s, "ignore 4 1", "Will ignore the next hit of breakpoint 4");
	shows(s, "continue", "^The end of the trace");
	shows(s, "reverse-continue", "^Breakpoint 4, #12 ");
	shows(s, "disable 4\nreverse-continue", "^Breakpoint 1, #11 ");
	shows(s, "reverse-continue", "beginning");
	shows(s, "delete 3-4\ninfo breakpoints --json", "\"id\":1");
	shows(s, "delete 3", "no breakpoint 3");
	shows(s, "break launch\nreverse-continue\ncontinue\ncontinue",
		"^Breakpoint 1, Breakpoint 5, #11 matmul");
	shows(s, "info breakpoints", "^5 +keep +y +2 +launch$");
	shows(s, "break from nowhere\nreplay goto begin\ncontinue\ncontinue\ncontinue",
		"^The end of the trace");
	shows(s, "info breakpoints", "^6 +keep +y +0 +from nowhere$");
	shows(s, "delete\ninfo breakpoints", "^No breakpoints\\.$");
}

static void what_the_program_will_get(void **state)
{
	struct session *s = *state;

	shows(s, "set env TSDB_TEST_A=1 2\nset env TSDB_TEST_B=3\nshow env TSDB_TEST_A",
		"^TSDB_TEST_A=1 2\n$");
	shows(s, "unset env TSDB_TEST_A\nshow env TSDB_TEST_A", "^TSDB_TEST_A \\(unset\\)\n$");
	shows(s, "show env TSDB_TEST", "^TSDB_TEST \\(not set\\)\n$");
	shows(s, "handle SIGUSR1 stop nopass\ninfo signals SIGUSR1",
		"Description\nSIGUSR1 +Yes +No [^\n]*\n$");
	shows(s, "info signals SIGFOO", "no signal \"SIGFOO\"");
}

static void commands_in_commands(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "break copy\nbreak seq 12", "Breakpoint 2");
	shows(s, "commands 1\nprint 5\ncommands 2\nprint 6\nend\nprint 7\nend", "");
	shows(s, "info breakpoints",
		"^1 .*\n +print 5\n +commands 2\n +print 6\n +end\n +print 7\n2 .*");
	shows(s, "replay start\nreplay continue", "#7 copy.*\n\\$1 = 5\n\\$2 = 7\n");
	shows(s, "info breakpoints", "2 .*\n.*\n? *print 6\n");
	shows(s, "replay continue", "#12 .*\n\\$3 = 6\n");
	shows(s, "commands 1\nprint 5", "has no end");
}

static void saves_and_sources(void **state)
{
	struct session *s = *state;
	char *path = in_dir("saved"), *line = xasprintf("save breakpoints %s", path),
	     *again = xasprintf("source %s", path), *text;

	shows(s,
		"break kernel 'a b' if seq > 3\ntbreak work\ndisable 1\nignore 2 5\ncommands 2\nbt\nend",
		"Temporary breakpoint 2 at work");
	shows(s, line, "");
	text = read_file(path);
	assert_string_equal(text,
		"break kernel 'a b' if seq > 3\ndisable $bpnum\ntbreak work\nignore $bpnum 5\ncommands\n  bt\nend\n");
	free(text);
	shows(s, "delete", "");
	shows(s, again, "Breakpoint 3 at .*\n.*breakpoint 4 at work");
	shows(s, "info breakpoints", "^4 +del +y.*work\n +ignore the next 5 hits\n +bt");
	free(path);
	free(line);
	free(again);
}

static void scripts_stop_at_an_error(void **state)
{
	struct session *s = *state;
	char *path = in_dir("script"), *line = xasprintf("source %s", path), *text;
	FILE *f = fopen(path, "w");

	fputs("# a comment\necho one\\n\n\nfrobnicate\necho two\\n\n", f);
	fclose(f);
	text = say(s, line);
	assert_non_null(strstr(text, "one\n"));
	assert_non_null(strstr(text, ":4: unknown command: frobnicate"));
	assert_null(strstr(text, "two"));
	assert_int_equal(s->failures, 1);
	free(text);
	free(path);
	free(line);
}

static void settings_and_support(void **state)
{
	struct session *s = *state;

	shows(s, "set capture timestamps on\nshow capture timestamps", "is on\\.");
	shows(s, "show cap", "^capture on-full +wait");
	shows(s, "set env A=b c\nunset env D\nshow env", "^A=b c\nD \\(unset\\)");
	shows(s, "set $n = 5 * 3\nprint $n - 1", "^\\$1 = 14$");
	shows(s, "show version", "tsdb");
	shows(s, "help break", "kernel GLOB");
	shows(s, "help info", "info streams");
	shows(s, "help fields copy", "dir ");
	shows(s, "help kinds", "^launch ");
	shows(s, "help expressions", "arg0");
	shows(s, "apropos backwards", "reverse-continue");
	shows(s, "echo a\\tb\\\\n\\n", "^a	b\\\\n$");
	shows(s, "handle USR1 stop nopass\ninfo signals", "^SIGUSR1 +Yes +No");
	/* noprint is nostop, too; stop after it is as in gdb what counts. */
	shows(s, "handle USR1 noprint pass\ninfo signals", "^SIGUSR1 +No +Yes");
	shows(s, "handle USR1 noprint stop\ninfo signals", "^SIGUSR1 +Yes +Yes");
	shows(s, "handle USR1 nopass stop print\ninfo signals", "^SIGUSR1 +Yes +No");
	shows(s, "handle USR1 pass nostop print",
		"a signal that does not stop the program is not printed");
	shows(s, "info signals USR1", "^SIGUSR1 +Yes +No");
	shows(s, "handle USR1 USR2 print",
		"a signal that does not stop the program is not printed");
	shows(s, "handle USR1 SEGV print\ninfo signals USR1", "^SIGUSR1 +Yes +No");
	shows(s, "handle all print", "a signal that does not stop the program is not printed");
	shows(s, "handle print", "handle needs a signal");
	shows(s, "shell echo from the shell", "from the shell");
	shows(s, "!exit 3", "exit status 3");
	shows(s, "quit 300", "no exit status");
	shows(s, "capture window kernel m* count 3\ncapture status", "Armed \\(window\\)");
	shows(s, "capture stop", "not captured");
	shows(s, "cd /\npwd", "^/$");
	assert_false(s->quitting);
	shows(s, "quit 4", "");
	assert_true(s->quitting);
	assert_int_equal(s->quit_status, 4);
}

static void breaks_inside_kernels(void **state)
{
	struct tsdb_control *ctl = xcalloc(1, sizeof *ctl);
	struct breakpoints *b = breakpoints_new();
	struct breakpoint *bp;
	struct buf text = BUF_INIT;
	struct err *e;

	must(breakpoints_add(b, "ptx ns::m<a::b>:dir/k.cu:12 if %tid.x == 3", false, &bp));
	assert_string_equal(bp->glob, "ns::m<a::b>");
	assert_string_equal(bp->file, "dir/k.cu");
	assert_string_equal(bp->cond, "%tid.x == 3");
	assert_int_equal(bp->line, 12);
	breakpoints_delete(b, bp);
	must(breakpoints_add(b, "ptx k.cu:7", false, &bp));
	assert_string_equal(bp->glob, "*");
	assert_string_equal(bp->file, "k.cu");
	breakpoints_delete(b, bp);
	must(breakpoints_add(b, "ptx ns::m:7", false, &bp));
	assert_string_equal(bp->glob, "ns::m");
	assert_null(bp->file);
	breakpoints_script(b, &text);
	assert_string_equal(buf_cstr(&text), "break ptx ns::m:7\n");
	must(breakpoints_arm(b, ctl)); /* they are none of the live program's */
	assert_int_equal(ctl->breaks, 0);
	for (unsigned i = 0; i < 4; i++) {
		const char *const bad[] = {"ptx m", "ptx m:", "ptx m:0", "ptx m:k.cu:x"};

		e = breakpoints_add(b, bad[i], false, &bp);
		assert_non_null(e);
		err_free(e);
	}
	buf_free(&text);
	breakpoints_free(b);
	free(ctl);
}

static void arms_the_control_block(void **state)
{
	struct tsdb_control *ctl = xcalloc(1, sizeof *ctl);
	struct breakpoints *b = breakpoints_new();
	struct breakpoint *bp;

	must(breakpoints_add(b, "kernel m* if grid_x > 2", false, &bp));
	must(breakpoints_add(b, "work", false, &bp));
	bp->ignore = 1;
	must(breakpoints_arm(b, ctl));
	assert_int_equal(ctl->brk[0].id, 1);
	assert_int_equal(ctl->brk[0].kind, SBT_LAUNCH);
	assert_string_equal(ctl->brk[0].glob, "m*");
	assert_int_equal(ctl->brk[0].enabled, 1);
	assert_true(ctl->brk[0].cond.n > 0);
	assert_int_equal(ctl->brk[1].id, 2);
	assert_true(ctl->breaks > 5); /* a slot for each kind of work */
	ctl->brk[0].hits = 4;
	ctl->brk[2].hits = 1;
	breakpoints_collect(b, ctl);
	assert_int_equal(breakpoints_by_id(b, 1)->hits, 4);
	assert_int_equal(breakpoints_by_id(b, 2)->hits, 1);
	assert_false(breakpoints_hit(b, 2, true)); /* ignored once, by the shell */
	assert_true(breakpoints_hit(b, 2, true));
	breakpoints_by_id(b, 1)->enabled = false;
	must(breakpoints_arm(b, ctl));
	assert_int_equal(ctl->brk[0].id, 2);
	breakpoints_free(b);
	free(ctl);
}

static void recorder_refuses_bad_files(void **state)
{
	struct recorder *r = recorder_new(&(struct recorder_options){.program = "p"});
	char *plain = in_dir("plain"), *none = in_dir("no/such/folder/x"), *made = make_trace();
	struct recorder_capture c;
	struct err *e;
	FILE *f = fopen(plain, "w");

	fputs("precious", f);
	fclose(f);
	e = recorder_arm(r, RECORDER_ALL, plain, 0);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "no trace"));
	err_free(e);
	e = recorder_arm(r, RECORDER_ALL, dir, 0);
	assert_non_null(e);
	err_free(e);
	e = recorder_arm(r, RECORDER_ALL, none, 0);
	assert_non_null(strstr(e->what, "No such file"));
	err_free(e);
	assert_false(recorder_capture(r, &c));
	must(recorder_arm(r, RECORDER_ALL, made, 0)); /* a trace may be replaced */
	assert_true(recorder_capture(r, &c));
	must(recorder_end(r, 0, true, &c));
	assert_int_equal(c.commands, 0);
	recorder_free(r);
	free(plain);
	free(none);
	free(made);
}

static void completes(void **state);

struct found {
	struct buf words;
};

static void add_found(void *to, const char *word)
{
	buf_printf(&((struct found *)to)->words, "%s ", word);
}

static void completion(struct session *s, const char *line, size_t want_start, const char *want)
{
	struct found f = {BUF_INIT};
	size_t start;

	session_complete(s, line, &start, add_found, &f);
	assert_int_equal(start, want_start);
	if (!strstr(buf_cstr(&f.words), want))
		fail_msg("\"%s\" completes to \"%s\", not %s", line, buf_cstr(&f.words), want);
	buf_free(&f.words);
}

static void completes(void **state)
{
	struct session *s = with_trace(state);

	completion(s, "cond", 0, "condition ");
	completion(s, "info str", 5, "streams ");
	completion(s, "inf str", 4, "streams ");
	completion(s, "help info all", 10, "allocations ");
	completion(s, "set cap", 4, "capture ");
	completion(s, "set capture on", 12, "on-full ");
	completion(s, "set capture on-full w", 20, "wait ");
	completion(s, "break kernel mat", 13, "matmul ");
	completion(s, "break ev", 6, "event_record ");
	completion(s, "state show stream ", 18, "1 ");
	completion(s, "print gr", 6, "grid_x ");
	completion(s, "source /etc/pass", 7, "/etc/passwd ");
	completion(s, "frobnicate x", 11, "");
}

/* The pager sees the end of what it shows when the command ends, though a process that was started
 * meanwhile, as a replayer is, goes on. */
static void a_pager_ends(void **state)
{
	struct out *o = out_new();
	pid_t pid;

	setenv("PAGER", "cat >/dev/null", 1);
	out_page_begin(o, 2);
	out_printf(o, "a\nb\nc\nd\n");
	out_flush(o);
	pid = fork();
	if (!pid) {
		execlp("sleep", "sleep", "30", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	usleep(100000); /* it executes its program meanwhile */
	out_page_end(o);
	assert_int_equal(
		waitpid(pid, NULL, WNOHANG), 0); /* it has not ended, so nobody waited for it */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	out_free(o);
	unsetenv("PAGER");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pager_ends),
		cmocka_unit_test_setup_teardown(refuses_without_subject, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_words, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_at_a_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(replays, setup, teardown),
		cmocka_unit_test_setup_teardown(begins_in_mid_run, setup, teardown),
		cmocka_unit_test_setup_teardown(breakpoints_in_a_replay, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_program_will_get, setup, teardown),
		cmocka_unit_test_setup_teardown(commands_in_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(saves_and_sources, setup, teardown),
		cmocka_unit_test_setup_teardown(scripts_stop_at_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(settings_and_support, setup, teardown),
		cmocka_unit_test(breaks_inside_kernels),
		cmocka_unit_test(arms_the_control_block),
		cmocka_unit_test(recorder_refuses_bad_files),
		cmocka_unit_test_setup_teardown(completes, setup, teardown),
	};
	char *clean;
	int r;

	if (!mkdtemp(dir))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	clean = xasprintf("rm -rf %s", dir);
	if (system(clean))
		r = 1;
	free(clean);
	return r;
}
