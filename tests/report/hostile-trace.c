/* SPDX-License-Identifier: Apache-2.0
 *
 * hostile-trace FILE: writes a trace whose texts want to be something else: markup, scripts,
 * control characters, separators of lines, a name of a megabyte; with ids and times at their
 * limits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sbt/sbt.h"
#include "tests/unit/cmds.h"

#define IMG "</script><img src=x onerror=\"document.title='owned'\">"

static const char *const names[] = {
	IMG,
	"--><script>document.title='owned'</script>",
	"\"'`${document.title='owned'}`\\",
	"a\x1b[31mred\x07\x01z",
	"line\u2028para\u2029end",
	"left\u202eright\u2066",
	"\xff\xfe not UTF-8 \xc3",
	"__proto__",
	"constructor",
	"&lt;b&gt; &amp;",
};
enum { NAMES = sizeof names / sizeof *names, HUGE = 1 << 20 };

static struct err *put(struct sbt_writer *w, uint64_t *seq, struct sbt_cmd c)
{
	c.seq = ++*seq;
	return sbt_writer_cmd(w, &c);
}

static struct sbt_cmd mark(unsigned kind, const char *text)
{
	struct sbt_cmd c = cmd_any(0, SBT_MARK);

	c.u.mark.mark_kind = kind;
	c.u.mark.text = cmd_blob(text);
	return c;
}

static struct err *kernels(struct sbt_writer *w, uint64_t *seq, const char *huge)
{
	for (uint64_t i = 0; i <= NAMES; i++) {
		struct sbt_cmd c = cmd_any(0, SBT_KERNEL_DEF);

		c.u.kernel_def.new_kernel = i;
		c.u.kernel_def.kernel_name = cmd_blob(i < NAMES ? names[i] : huge);
		TRY(put(w, seq, c));
		c = cmd_launch(0, 0, i);
		c.host_ns += 1000 * i;
		c.gpu_start_ns = c.host_ns + 10;
		c.gpu_end_ns = c.gpu_start_ns + 400;
		TRY(put(w, seq, c));
	}
	return NULL;
}

static struct err *texts(struct sbt_writer *w, uint64_t *seq, const char *huge)
{
	for (unsigned i = 0; i < NAMES; i++) {
		TRY(put(w, seq, mark(1, names[i])));
		TRY(put(w, seq, mark(i % 3 ? 2 : 0, names[i])));
	}
	TRY(put(w, seq, mark(0, huge)));
	struct sbt_cmd c = cmd_any(0, SBT_THREAD);

	c.u.thread.thread_name = cmd_blob(IMG);
	TRY(put(w, seq, c));
	c = cmd_any(0, SBT_UNREPLAYABLE);
	c.u.unreplayable.call = cmd_blob(IMG);
	TRY(put(w, seq, c));
	return sbt_writer_unreplayable(w, IMG, 3);
}

/* Numbers that no double holds; times that begin before the call, or never end. */
static struct err *limits(struct sbt_writer *w, uint64_t *seq)
{
	struct sbt_cmd c = cmd_any(0, SBT_COPY);

	c.u.copy.dst = UINT64_MAX;
	c.u.copy.src = UINT64_C(0x8000000000000001);
	c.u.copy.size = (UINT64_C(1) << 53) + 1;
	c.host_ns = 0;
	c.gpu_start_ns = 1;
	c.gpu_end_ns = 2;
	TRY(put(w, seq, c));
	c.gpu_start_ns = 5;
	c.gpu_end_ns = 4;
	c.host_ns = UINT64_MAX / 2;
	TRY(put(w, seq, c));
	c = cmd_launch(0, 0, 12345);
	c.result = 700;
	TRY(put(w, seq, c));
	return put(w, seq, cmd_any(0, SBT_SYNC));
}

static struct err *make(struct sbt_writer *w, const char *huge)
{
	uint64_t seq = 0;

	TRY(put(w, &seq, cmd_device(0, 0, IMG)));
	TRY(put(w, &seq, cmd_ctx_create(0, 0, 0)));
	TRY(kernels(w, &seq, huge));
	TRY(texts(w, &seq, huge));
	/* an event that nothing is in front of, and that nobody has waited for */
	TRY(put(w, &seq, cmd_stream_create(0, 1, 1)));
	TRY(put(w, &seq, cmd_event_create(0, 0)));
	TRY(put(w, &seq, cmd_event_record(0, 1, 0)));
	return limits(w, &seq);
}

int main(int argc, char **argv)
{
	const struct sbt_meta meta = {.program = IMG " \u2028 \x1b[2J",
		.cwd = "/",
		.host = IMG,
		.gpu = IMG,
		.vendor = "NVIDIA",
		.target = "",
		.tsdb = IMG,
		.timestamps = true};
	struct sbt_writer *w = NULL;
	char *huge = malloc(HUGE + 1);
	struct err *e;

	if (argc != 2 || !huge)
		return 2;
	memset(huge, 'h', HUGE);
	memcpy(huge, IMG, strlen(IMG));
	huge[HUGE] = 0;
	e = sbt_writer_open(&w, argv[1], &meta);
	if (!e) {
		e = make(w, huge);
		e = err_first(e, sbt_writer_close(w));
	}
	free(huge);
	if (!e)
		return 0;
	fprintf(stderr, "%s\n", e->what);
	err_free(e);
	return 1;
}
