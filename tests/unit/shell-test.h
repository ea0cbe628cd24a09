/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions over a made trace, for tests of the shell: what lines show is read back from a file.
 * `dir` is the test's folder.
 */
#ifndef TESTS_SHELL_TEST_H
#define TESTS_SHELL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "cmds.h"
#include "shell/line/out.h"
#include "shell/line/session.h"
#include "shell/trace/trace.h"

static char dir[] = "/tmp/tsdb-session-XXXXXX";

static void must(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static char *in_dir(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

/* 1 device, 2 ctx, 3 stream 1, 4 event 0, 5 kernel, 6 alloc, 7 copy, 8 launch on 0, 9 record on 0,
 * 10 wait on 1, 11 launch on 1, 12 sync, 13 sync_end. */
static char *make_trace(void)
{
	static const uint32_t params[] = {0, 8, 8, 4};
	static const unsigned char args[12] = {
		0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0xc0, 0x3f}; /* 0x302000000, 1.5f */
	const struct sbt_meta meta = {.program = "app 64",
		.cwd = "/",
		.host = "h",
		.gpu = "g",
		.tsdb = "t",
		.start_ns = 1,
		.stacks = true};
	const struct sbt_frame frames[] = {{0, 0x1000}, {0, 0x2000}};
	char *path = in_dir("made.sbt");
	struct sbt_writer *w;
	uint32_t module;
	struct sbt_cmd c;

	must(sbt_writer_open(&w, path, &meta));
	must(sbt_writer_module(w, "/nowhere/app", "", &module));
	must(sbt_writer_stack(w, 7, frames, 2));
#define ADD(x) (c = (x), must(sbt_writer_cmd(w, &c)))
	ADD(cmd_device(1, 0, "made GPU"));
	ADD(cmd_ctx_create(2, 0, 0));
	ADD(cmd_stream_create(3, 1, 1));
	ADD(cmd_event_create(4, 0));
	ADD(cmd_kernel_def(5, 0, SBT_NO_ID, "_Z6matmulPf", params, 2));
	ADD(cmd_alloc(6, 0x302000000, 4096));
	ADD(cmd_copy(7, 0, SBT_COPY_H2D, 0x302000000, 0x7000, 4096, true));
	c = cmd_launch(8, 0, 0);
	c.stack = 7;
	c.u.launch.args = (struct sbt_blob){args, sizeof args};
	must(sbt_writer_cmd(w, &c));
	ADD(cmd_event_record(9, 0, 0));
	ADD(cmd_stream_wait(10, 1, 0));
	c = cmd_launch(11, 1, 0);
	c.u.launch.grid_x = 5;
	must(sbt_writer_cmd(w, &c));
	ADD(cmd_sync_ctx(12));
	ADD(cmd_sync_end(13, 12));
#undef ADD
	must(sbt_writer_close(w));
	return path;
}

/* --- running lines with the screen in a file --- */

struct screen {
	struct session *s;
	char *text;
	int fds[2]; /* the real stdout and stderr */
};

static char *read_file(const char *path)
{
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf_room(&b, 65536), 1, 65536, f)) > 0)
		b.len += n;
	fclose(f);
	buf_cstr(&b);
	return buf_steal(&b);
}

/* Runs lines; what they show on both streams is returned. */
static char *say(struct session *s, const char *lines)
{
	char *path = in_dir("screen");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), out, err;
	char *text;

	fflush(stdout);
	fflush(stderr);
	out = dup(1);
	err = dup(2);
	dup2(fd, 1);
	dup2(fd, 2);
	session_lines(s, lines);
	out_flush(s->out);
	fflush(stderr);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	close(fd);
	text = read_file(path);
	free(path);
	return text;
}

/* The lines must show something that matches the extended regular expression. */
static void shows(struct session *s, const char *lines, const char *pattern)
{
	char *text = say(s, lines);
	regex_t re;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
	if (regexec(&re, text, 0, NULL, 0))
		fail_msg("\"%s\" shows\n%s\nbut not %s", lines, text, pattern);
	regfree(&re);
	free(text);
}

static int setup(void **state)
{
	struct session *s = xcalloc(1, sizeof *s);

	session_init(s);
	s->batch = s->quiet = true;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct session *s = *state;

	session_deinit(s);
	free(s);
	return 0;
}

static struct session *with_trace(void **state)
{
	struct session *s = *state;
	char *path = make_trace();

	must(trace_open(s, path));
	free(path);
	return s;
}

#endif
