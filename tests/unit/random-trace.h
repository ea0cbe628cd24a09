/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces for the tests of state and replay, written with the real writer into a file under $TMPDIR.
 */
#ifndef TESTS_RANDOM_TRACE_H
#define TESTS_RANDOM_TRACE_H

#include <stdlib.h>
#include <unistd.h>
#include "random-cmds.h"
#include "state-test.h"

struct trace_maker {
	struct sbt_writer *w;
	struct state *s;	 /* after the last command */
	uint64_t keyframe_every; /* 0: none */
	char path[256];
};

static const struct sbt_meta trace_meta = {.program = "test",
	.cwd = "/",
	.host = "h",
	.gpu = "g",
	.tsdb = "0",
	.start_ns = 1,
	.pid = 1,
	.timestamps = true};

TEST_FN void trace_begin(struct trace_maker *t, uint64_t keyframe_every)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(t->path, sizeof t->path, "%s/tsdb-test-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkstemp(t->path);
	assert_true(fd >= 0);
	close(fd);
	ok(sbt_writer_open(&t->w, t->path, &trace_meta));
	t->s = state_new();
	t->keyframe_every = keyframe_every;
}

TEST_FN void trace_add(struct trace_maker *t, struct sbt_cmd c)
{
	struct buf b = BUF_INIT;

	ok(sbt_writer_cmd(t->w, &c));
	ok(state_apply(t->s, &c));
	if (t->keyframe_every && sbt_writer_since_keyframe(t->w) >= t->keyframe_every) {
		state_encode(t->s, &b);
		ok(sbt_writer_keyframe(t->w, c.seq, b.data, b.len));
	}
	buf_free(&b);
}

/* Closes the trace and opens it for reading. The file is gone when the reader is closed. */
TEST_FN struct sbt_reader *trace_end(struct trace_maker *t)
{
	struct sbt_reader *r;

	ok(sbt_writer_close(t->w));
	state_free(t->s);
	ok(sbt_reader_open(&r, t->path));
	unlink(t->path);
	return r;
}

/* n random commands, their seqs `gap` apart now and then; ret_hash[i], when given, is the state's
 * hash after the i-th, ret_seq[i] its seq, with [0] for the beginning. */
TEST_FN struct sbt_reader *trace_random(uint64_t seed, unsigned n, uint64_t keyframe_every,
	uint64_t gap, uint64_t *ret_seq, uint64_t *ret_hash)
{
	struct random_cmds r = {.x = seed, .seq = 1};
	struct trace_maker t;

	trace_begin(&t, keyframe_every);
	if (ret_seq)
		ret_seq[0] = 0;
	if (ret_hash)
		ret_hash[0] = state_hash(t.s);
	for (unsigned i = 1; i <= n; i++) {
		trace_add(&t, random_cmd(&r));
		if (ret_seq)
			ret_seq[i] = totals_of(t.s).seq;
		if (ret_hash)
			ret_hash[i] = state_hash(t.s);
		if (gap && i % 50 == 0)
			r.seq += gap;
	}
	return trace_end(&t);
}

#endif
