/* SPDX-License-Identifier: Apache-2.0
 *
 * The script language beyond what gdb shows (test-script-gdb.py): blocks that do not end, limits,
 * where errors are said to be, Ctrl-C, the current command's fields, breakpoints' commands.
 */
#include "shell-test.h"
#include <signal.h>
#include "engine/breakpoints.h"
#include "shell/line/interrupt.h"

static char *write_script(const char *name, const char *text)
{
	char *path = in_dir(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

/* Sources a script; what it shows must match. */
static void script_shows(struct session *s, const char *text, const char *pattern)
{
	char *path = write_script("script", text), *line = xasprintf("source %s", path);

	shows(s, line, pattern);
	free(line);
	free(path);
}

static void blocks_must_end(void **state)
{
	struct session *s = *state;

	shows(s, "if 1\necho x", "^tsdb: the block of `if` has no end\\. Close it");
	script_shows(s, "echo a\\n\nwhile 1\nif 1\nend\n",
		"script:2: the block of `while` in line 2 has no end");
	shows(s, "define foo\necho x", "the block of `define` has no end");
	shows(s, "foo", "unknown command: foo");
	shows(s, "document nothing\nif\nend\necho after\\n",
		"^tsdb: no command `nothing` is defined.*\nafter$");
	shows(s, "define a b\nnonsense\nend\necho after\\n", "no subcommands.*\nafter$");
	shows(s, "define if\nnonsense\nend", "Blocks of scripts begin with it");
	shows(s, "define info\nnonsense\nend", "It is a group of commands");
	shows(s, "define $x\nnonsense\nend\necho after\\n", "no name of a command.*\nafter$");
	shows(s, "if 0\nelse\nelse\nend\necho after\\n", "two `else`.*\nafter$");
	shows(s, "else if 1", "else takes no \"if\"");
	shows(s, "commands 7\nnonsense\nend\necho after\\n", "no breakpoint 7.*\nafter$");
}

static void errors_have_a_place(void **state)
{
	struct session *s = *state;

	script_shows(s, "echo a\\n\nif 1\n\nwhile 1\n# no\nnonsense\nend\nend\n",
		"^tsdb: .*script:6: unknown command: nonsense\\.");
	script_shows(s, "define foo\nif 1\nnonsense\nend\nend\n\nfoo\n",
		"^tsdb: .*script:3: unknown command: nonsense\\.");
	script_shows(s, "if 0\nnever\nelse\necho x\\n\nnonsense\nend\n",
		"^tsdb: .*script:5: unknown command: nonsense\\.");
	shows(s, "define bar\necho x\\n\nnonsense\nend\nbar",
		"^tsdb: bar:2: unknown command: nonsense\\.");
	shows(s, "bar\nnonsense", "bar:2: .*\ntsdb: unknown command: nonsense");
	shows(s, "if 1\nnonsense\nend", "^tsdb: unknown command: nonsense\\.");
	script_shows(s, "print 1 +\n", "^tsdb: .*script:1: ");
}

static void depth_has_limits(void **state)
{
	struct session *s = *state;
	struct buf b = BUF_INIT;

	shows(s, "define foo\nfoo\nend\nfoo", "foo:1: .*more than 1024 deep");
	shows(s, "with max-user-call-depth 3 -- foo", "more than 3 deep");
	shows(s, "set max-user-call-depth 100000\ndefine bar\nif 1\nbar\nend\nend\nbar",
		"more than 2500 blocks");
	for (unsigned i = 0; i < 300; i++)
		buf_str(&b, "if 1\n");
	shows(s, buf_cstr(&b), "more than 200 blocks are within one another");
	buf_free(&b);
	shows(s, "define twice\ntwice $arg0$arg0\nend\ntwice xxxxxxxxxxxxxxxx",
		"longer than 1048576 bytes");
	shows(s, "echo still here\\n", "^still here$");
}

static void on_alarm(int sig)
{
	interrupt_flag = true;
}

static void ctrl_c_ends_a_loop(void **state)
{
	struct session *s = *state;

	signal(SIGALRM, on_alarm);
	alarm(1);
	shows(s, "while 1\nend", "^tsdb: the script was interrupted");
	interrupt_take();
	alarm(1);
	shows(s, "while 1\nwhile 1\nset $x = 1\nend\nend", "^tsdb: the script was interrupted");
	interrupt_take();
}

static void knows_the_current_command(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "replay start", "Replaying");
	shows(s,
		"goto 8\nif grid_x == 64 && $seq == 8\nprintf \"%d|%f|%s\\n\", block_x, arg1.f32, \"text\"\nend",
		"^256\\|1\\.500000\\|text$");
	shows(s, "while $seq < 11\nnext\nend\nprint grid_x", "= 5$");
	/* outside of a user's command $arg0 is the launch's */
	shows(s, "goto 8\nprint $arg1.f32", "= 1\\.5$");
	shows(s, "define peek\nprint $arg0\nend\npeek $arg1.f32", "= 1\\.5$");
	shows(s, "if no_such_field\nend", "it has no no_such_field");
}

static void breakpoints_have_conditional_commands(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "replay start\nbreak launch", "Breakpoint 1");
	shows(s,
		"commands\nsilent\nif grid_x == 5\nprintf \"five at %d\\n\", $seq\nelse\ncontinue\nend\nend\ncontinue",
		"^five at 11$");
	shows(s, "replay restart\ncontinue", "first command.\nfive at 11\n$");
	shows(s, "info breakpoints", "^        if grid_x == 5$");
	shows(s, "info breakpoints", "^          continue$");
	/* what follows a move is left out, and an error ends the commands */
	shows(s, "replay restart\ncommands 1\nnext\necho never\\n\nend\ncontinue", "^#9 ");
	shows(s, "replay restart\ncommands 1\nnonsense\necho never\\n\nend\ncontinue",
		"unknown command: nonsense");
	shows(s, "echo end\\n", "^end$");
	shows(s, "break sync\ncommands 1-2\necho both\\n\nend\ninfo breakpoints",
		"echo both(.*\n.*)*echo both");
}

static void displays_follow_stops(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "info display", "^There are no displays\\.$");
	shows(s, "display 1 +", "tsdb: ");
	shows(s, "display/q 1", "no format");
	shows(s, "replay start\ngoto 7\ndisplay/x size", "^1: /x size = 0x1000$");
	shows(s, "display grid_x", "^2: grid_x is shown where it is known: now #7 is a copy");
	/* not there: passed over; there: shown behind the stop, without being asked */
	shows(s, "next", "^#8 .*\n(tsdb: /nowhere/app is .*\n)?2: grid_x = 64$");
	shows(s, "display $seq * 2", "^3: \\$seq \\* 2 = 16$");
	shows(s, "info display",
		"^Num Enb Expression\n1:   y  /x size\n2:   y  grid_x\n3:   y  \\$seq \\* 2$");
	shows(s, "disable display 2\nnext", "^#9 .*\n3: .* = 18$");
	shows(s, "enable display\nundisplay 3\nreverse-next", "^#8 .*\n2: grid_x = 64\n*$");
	shows(s, "display", "^2: grid_x = 64$");
	shows(s, "undisplay 9", "there is no display 9");
	shows(s, "delete display 1-2\ninfo display", "There are no displays");
	/* in a script each stop has its own */
	shows(s, "display $seq\nreplay restart\nset $i = 0\nwhile $i++ < 2\nnext\nend",
		"^#1 .*\n4: .*= 1\n#2 .*\n4: .*= 2$");
	shows(s, "define hook-stop\nprintf \"at %d\\n\", $seq\nend\nnext",
		"^at 3\n#3 .*\n4: .*= 3$");
	shows(s, "define hookpost-stop\nnonsense\nend\nnext",
		"^at 4\n#4 .*\n4: .*= 4\ntsdb: hookpost-stop:1: unknown command");
}

static void messages_do_not_stop(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "replay start\ndprintf launch,\"%d blocks at %d\\n\", grid_x, $seq",
		"^Dprintf 1 at launch$");
	shows(s, "continue", "^64 blocks at 8\n5 blocks at 11\n#13 ");
	shows(s, "info breakpoints", "^1 .* 2 +launch\n        printf \"%d blocks");
	shows(s, "replay restart\ncondition 1 grid_x < 10\ncontinue", "^5 blocks at 11\n#13 ");
	shows(s, "replay restart\ncondition 1\nignore 1 1\ncontinue", "^5 blocks at 11\n#13 ");
	shows(s, "replay restart\nbreak launch\ncontinue", "^64 blocks at 8\nBreakpoint 2, #8 ");
	shows(s, "dprintf launch", "needs a place, a comma and a format");
	shows(s, "dprintf launch,\"%d\\n\"", "1 conversion, but there are 0 expressions");
	shows(s, "dprintf nonsense_kernel,\"x\"", "no kernel of the trace");
	shows(s, "dprintf copy,\"%d\\n\", grid_x\nreplay restart\ncontinue",
		"^tsdb: dprintf 3: #7 is a copy: it has no grid_x");
	shows(s, "dprintf launch if grid_x == 5,\"five\\n\"\ndelete 1-3\nreplay restart\ncontinue",
		"^five\n#13 ");
	shows(s, "save breakpoints /dev/stdout",
		"^dprintf launch,\"five\\\\n\"\ncondition \\$bpnum grid_x == 5$");
}

/* 1 kernel, 2 push "step 1", 3 launch, 4 pop, 5 push "step 2", 6 an allocation that failed, 7 pop.
 */
static char *make_marked(void)
{
	const struct sbt_meta meta = {
		.program = "app", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "t"};
	static const uint32_t params[] = {0, 8};
	char *path = in_dir("marked.sbt");
	struct sbt_writer *w;
	struct sbt_cmd c;

	must(sbt_writer_open(&w, path, &meta));
	for (uint64_t seq = 1; seq <= 7; seq++) {
		if (seq == 1) {
			c = cmd_kernel_def(1, 0, SBT_NO_ID, "_Z6matmulPf", params, 1);
		} else if (seq == 3) {
			c = cmd_launch(3, 0, 0);
		} else if (seq == 6) {
			c = cmd_alloc(6, 0, 4096);
			c.result = 2;
		} else {
			c = (struct sbt_cmd){.seq = seq, .kind = SBT_MARK};
			c.u.mark.mark_kind = seq == 4 || seq == 7 ? 2 : 1;
			if (c.u.mark.mark_kind == 1)
				c.u.mark.text =
					(struct sbt_blob){seq == 2 ? "step 1" : "step 2", 6};
		}
		must(sbt_writer_cmd(w, &c));
	}
	must(sbt_writer_close(w));
	return path;
}

static void places_have_names(void **state)
{
	struct session *s = *state;
	char *path = make_marked();

	must(trace_open(s, path));
	free(path);
	shows(s, "replay start\ngoto nvtx step*", "^#2 ");
	shows(s, "goto nvtx step* nth 2", "^#5 ");
	shows(s, "goto nvtx \"step 2\"", "^#5 ");
	shows(s, "goto nvtx step* nth 3", "has 2 of the NVTX name step\\*, not 3");
	shows(s, "goto nvtx nothing", "called nothing\\. It has \"step 1\", \"step 2\"");
	shows(s, "break nvtx nothing", "called nothing");
	shows(s, "replay restart\nbreak nvtx step 2\ncontinue", "^Breakpoint 1, #5 ");
	shows(s, "delete 1\nreplay restart\ncatch error\ncontinue", "^Breakpoint 2, #6 ");
	shows(s, "replay restart\ncatch error 3\ndelete 2\ncontinue", "^The end of");
	shows(s, "catch error CUDA_ERROR_OUT_OF_MEMORY", "numbers of errors");
	shows(s, "delete\nrbreak ^mat", "^Breakpoint 4 at kernel matmul$");
	shows(s, "rbreak nothing", "no kernel that is known matches");
	shows(s, "rbreak (", "no regular expression");
	shows(s, "delete\nreplay restart\nuntil kernel matmul",
		"^Temporary breakpoint.*\n.*#3 matmul");
	shows(s, "until 5", "^#5 ");
	shows(s, "until", "^#6 ");
	/* both are named */
	shows(s, "break launch\nbreak kernel matmul\nreplay restart\ncontinue",
		"^Breakpoint 6, Breakpoint 7, #3 ");
}

static void output_goes_through_a_pipe(void **state)
{
	struct session *s = with_trace(state);

	shows(s, "pipe view --kind launch | wc -l", "^ *2$");
	shows(s, "pipe view 8 | cat >/nowhere/x\necho after\\n", "^after$");
	shows(s, "pipe view | true\nview 8", "^#8 ");
	shows(s, "pipe nonsense | cat", "^tsdb: unknown command: nonsense");
}

static void help_has_classes(void **state)
{
	struct session *s = *state;

	shows(s, "help data", "^Looking at values and memory\n(.*\n)*  print ");
	shows(s, "help stack", "^  backtrace ");
	shows(s, "help running", "^  run ");
	shows(s, "help breakpoints", "^  tbreak ");
	shows(s, "help status", "^  info streams ");
	shows(s, "help files", "^  file ");
	shows(s, "help user-defined", "^There are none");
	/* groups of commands stay what they were */
	shows(s, "help capture", "^  capture window ");
	for (unsigned i = 0; i < commands_count; i++)
		assert_non_null(command_group_name(commands[i].group));
}

static void help_knows_defined_commands(void **state)
{
	struct session *s = *state;

	shows(s, "define peek\nprint 1\nend\nhelp peek", "show user peek");
	shows(s, "document peek\nLook at one.\n  Twice.\nend\nhelp peek",
		"^Look at one\\.\n  Twice\\.$");
	shows(s, "help", "^Defined by you\n  peek +Look at one$");
	shows(s, "alias two = print 2 +\nhelp two", "^The same as `print 2 \\+`");
	shows(s, "apropos peek", "^peek -- Look at one");
	shows(s, "show user", "^User command \"peek\":\n  print 1$");
	shows(s, "define info peek\nprint 7\nend\ninfo peek", "= 7$");
	shows(s, "help info", "^  info peek ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(blocks_must_end, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_have_a_place, setup, teardown),
		cmocka_unit_test_setup_teardown(depth_has_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(ctrl_c_ends_a_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_the_current_command, setup, teardown),
		cmocka_unit_test_setup_teardown(
			breakpoints_have_conditional_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(displays_follow_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(messages_do_not_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(places_have_names, setup, teardown),
		cmocka_unit_test_setup_teardown(output_goes_through_a_pipe, setup, teardown),
		cmocka_unit_test_setup_teardown(help_has_classes, setup, teardown),
		cmocka_unit_test_setup_teardown(help_knows_defined_commands, setup, teardown),
	};
	char *line;
	int failed;

	interrupt_install(); /* SIGPIPE is no end, as in tsdb */
	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	line = xasprintf("rm -r %s", dir);
	if (system(line))
		failed++;
	free(line);
	return failed;
}
