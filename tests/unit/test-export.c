/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports of a trace that somebody made to break them: ids at their limits, names with everything
 * that a format gives a meaning, times that run backwards, waits and ranges that never end. And of
 * one whose waits between streams are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <jansson.h>

#include "export/core/export-job.h"
#include "export/core/proto.h"
#include "export/core/zip.h"

#define HOSTILE "k;\"\\</script>]]>,\x1b[31m\xff\xc3\n&<x>"

static uint64_t seq;

static struct sbt_cmd cmd(unsigned kind)
{
	return (struct sbt_cmd){
		.seq = ++seq, .kind = (uint16_t)kind, .thread = 1, .host_ns = 1000 + seq};
}

static struct sbt_blob text(const char *s)
{
	return (struct sbt_blob){s, strlen(s)};
}

static void add(struct sbt_writer *w, struct sbt_cmd c)
{
	assert_null(sbt_writer_cmd(w, &c));
}

static void kernel(struct sbt_writer *w, uint64_t id, const char *name)
{
	struct sbt_cmd c = cmd(SBT_KERNEL_DEF);

	c.u.kernel_def.new_kernel = id;
	c.u.kernel_def.module = SBT_NO_ID;
	c.u.kernel_def.kernel_name = text(name);
	add(w, c);
}

static uint64_t launch(
	struct sbt_writer *w, uint64_t stream, uint64_t id, uint64_t from, uint64_t to)
{
	struct sbt_cmd c = cmd(SBT_LAUNCH);

	c.u.launch.stream = stream;
	c.u.launch.kernel = id;
	c.u.launch.grid_x = UINT64_MAX;
	c.gpu_start_ns = from;
	c.gpu_end_ns = to;
	add(w, c);
	return c.seq;
}

static void mark(struct sbt_writer *w, uint64_t kind, const char *name)
{
	struct sbt_cmd c = cmd(SBT_MARK);

	c.u.mark.mark_kind = kind;
	c.u.mark.text = text(name);
	add(w, c);
}

static void event(struct sbt_writer *w, unsigned kind, uint64_t stream, uint64_t id)
{
	struct sbt_cmd c = cmd(kind);

	if (kind == SBT_EVENT_RECORD) {
		c.u.event_record.stream = stream;
		c.u.event_record.event = id;
	} else {
		c.u.stream_wait.stream = stream;
		c.u.stream_wait.event = id;
	}
	add(w, c);
}

static struct sbt_writer *begin(char *path)
{
	const struct sbt_meta meta = {.program = HOSTILE,
		.cwd = "/",
		.host = "h",
		.gpu = HOSTILE,
		.tsdb = "t",
		.start_ns = 2000,
		.timestamps = true};
	struct sbt_writer *w;
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	seq = 0;
	assert_null(sbt_writer_open(&w, path, &meta));
	return w;
}

static void write_hostile(struct sbt_writer *w)
{
	struct sbt_cmd c;

	kernel(w, 0, HOSTILE);
	kernel(w, SBT_NO_ID - 1, HOSTILE);
	launch(w, 0, 0, 5000, 6000);
	launch(w, 0, 0, 7000, 6500);				/* ends before it begins */
	launch(w, SBT_NO_ID - 1, SBT_NO_ID - 1, 1, UINT64_MAX); /* ids that nothing keeps */
	launch(w, 3, 77, 100, 100); /* no such kernel; before the recording began */
	c = cmd(SBT_LAUNCH);
	c.thread = UINT32_MAX;
	c.stack = UINT32_MAX;
	c.ctx = UINT32_MAX - 1;
	c.host_ns = 0;
	c.gpu_start_ns = c.gpu_end_ns = UINT64_MAX;
	add(w, c);
	c = cmd(SBT_COPY);
	c.u.copy.dir = 200;
	c.u.copy.size = UINT64_MAX;
	c.gpu_start_ns = 1;
	c.gpu_end_ns = 2;
	add(w, c);
	c = cmd(SBT_SYNC);
	c.u.sync.scope = 200;
	add(w, c);
	c = cmd(SBT_SYNC);
	c.thread = UINT32_MAX;
	add(w, c);
	c = cmd(SBT_SYNC_END);
	c.u.sync_end.begin = 12345;
	add(w, c);
	mark(w, 2, ""); /* a pop of nothing */
	for (unsigned i = 0; i < 40; i++)
		mark(w, 1, HOSTILE);
	mark(w, 2, "");
	mark(w, 9, "");
	mark(w, 0, HOSTILE);
	c = cmd(SBT_DEVICE);
	c.u.device.device = 0;
	c.u.device.sm_count = 1;
	c.u.device.device_name = text(HOSTILE);
	add(w, c);
}

/* The export of the trace at path; heap, NUL behind it. */
static char *run(const char *path, const char *format, enum export_weight weight, size_t *ret_n,
	struct export_result *r)
{
	struct symbols *symbols = symbols_new();
	struct sbt_reader *reader;
	char *out = NULL;
	FILE *f = open_memstream(&out, ret_n);
	struct export_source source = {0};
	struct export_ask ask = {.format = export_format(format),
		.sources = &source,
		.nsources = 1,
		.last = UINT64_MAX,
		.stream = SBT_NO_ID,
		.weight = weight,
		.symbols = symbols};
	struct err *e;

	assert_null(sbt_reader_open(&reader, path));
	source.r = reader;
	e = export_run(&ask, f, r);
	if (e)
		fail_msg("%s: %s", format, e->what);
	fclose(f);
	sbt_reader_close(reader);
	symbols_free(symbols);
	return out;
}

static void test_hostile(void **state)
{
	char path[] = "/tmp/test-export-XXXXXX";
	struct sbt_writer *w = begin(path);
	struct export_result r;
	size_t n;

	(void)state;
	write_hostile(w);
	assert_null(sbt_writer_close(w));
	for (const struct export_format *f = export_formats; f->name; f++) {
		char *out = run(path, f->name, EXPORT_BY_COUNT, &n, &r);

		assert_true(n > 0);
		assert_int_equal(r.launches, 5);
		assert_int_equal(r.stacks, 0);
		if (strstr(f->suffix, "json")) {
			json_error_t error;
			json_t *j = json_loads(
				out, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);

			if (!j)
				fail_msg("%s: line %d: %s", f->name, error.line, error.text);
			json_decref(j);
		}
		if (!strcmp(f->suffix, "svg") || !strcmp(f->suffix, "folded"))
			assert_null(memchr(out, 0x1b, n));
		free(out);
	}
	unlink(path);
}

/* No separator of the format is left in a name: a line is a stack of one frame and a number. */
static void test_folded_names(void **state)
{
	char path[] = "/tmp/test-export-XXXXXX";
	struct sbt_writer *w = begin(path);
	struct export_result r;
	char *out, *end;
	size_t n;

	(void)state;
	kernel(w, 0, "a;b\nc");
	launch(w, 0, 0, 10, 30);
	launch(w, 0, 0, 40, 45);
	assert_null(sbt_writer_close(w));
	out = run(path, "folded", EXPORT_BY_GPU, &n, &r);
	assert_string_equal(out, "[GPU_Kernel]a:b?c 25\n");
	free(out);
	out = run(path, "folded", EXPORT_BY_COUNT, &n, &r);
	end = strrchr(out, ' ');
	assert_string_equal(end, " 2\n");
	free(out);
	unlink(path);
}

/* Who waited for whom, by the documents of CUDA's events: a wait is for the last record before it,
 * and for what its stream held then; a later record is another point; a wait within one stream says
 * nothing that its order does not. */
static void write_waits(struct sbt_writer *w, uint64_t seqs[6])
{
	kernel(w, 0, "k");
	event(w, SBT_STREAM_WAIT, 2, 5); /* never recorded: no wait */
	seqs[0] = launch(w, 1, 0, 10, 20);
	event(w, SBT_EVENT_RECORD, 1, 5);
	seqs[1] = launch(w, 1, 0, 20, 30); /* behind the record */
	event(w, SBT_STREAM_WAIT, 2, 5);
	event(w, SBT_EVENT_RECORD, 1, 5);  /* another point, which nothing waits for */
	seqs[2] = launch(w, 2, 0, 20, 40); /* waits for seqs[0] */
	seqs[3] = launch(w, 2, 0, 40, 50); /* for nothing of its own */
	event(w, SBT_STREAM_WAIT, 1, 5);   /* its own stream's */
	seqs[4] = launch(w, 1, 0, 50, 60);
	event(w, SBT_EVENT_RECORD, 2, 6);
	event(w, SBT_STREAM_WAIT, 3, 6);
	event(w, SBT_STREAM_WAIT, 3, 5);
	event(w, SBT_STREAM_WAIT, 3, 6);   /* twice the same */
	seqs[5] = launch(w, 3, 0, 60, 70); /* waits for seqs[3] and seqs[1] */
}

static void test_waits(void **state)
{
	char path[] = "/tmp/test-export-XXXXXX";
	struct sbt_writer *w = begin(path);
	struct symbols *symbols = symbols_new();
	struct export_result r = {0};
	struct export_source source = {0};
	struct export_ask ask = {.format = export_format("csv"),
		.sources = &source,
		.nsources = 1,
		.last = UINT64_MAX,
		.stream = SBT_NO_ID,
		.symbols = symbols};
	struct export_job j = {.ask = &ask, .result = &r};
	const struct export_event *ev;
	uint64_t seqs[6];
	unsigned seen = 0;

	(void)state;
	write_waits(w, seqs);
	assert_null(sbt_writer_close(w));
	assert_null(sbt_reader_open(&source.r, path));
	j.walks = calloc(1, sizeof *j.walks);
	assert_null(export_begin(&j, 0));
	for (;;) {
		assert_null(export_next(&j, &ev));
		if (!ev)
			break;
		if (ev->what != EXPORT_KERNEL)
			continue;
		assert_int_equal(ev->c->seq, seqs[seen]);
		assert_int_equal(ev->nwaits, seen == 2 ? 1 : seen == 5 ? 2 : 0);
		if (seen == 2)
			assert_int_equal(ev->waits[0], seqs[0]);
		if (seen == 5) {
			assert_int_equal(ev->waits[0], seqs[3]);
			assert_int_equal(ev->waits[1], seqs[1]);
		}
		seen++;
	}
	assert_int_equal(seen, 6);
	export_end(&j);
	sbt_reader_close(source.r);
	symbols_free(symbols);
	unlink(path);
}

/* The examples of protobuf.dev, "Encoding". */
/* As the document has it: 7 bits a byte, the low ones first, the top bit on all but the last. */
static size_t plain_varint(uint8_t *at, uint64_t v)
{
	size_t n = 0;

	for (; v >= 128; v /= 128)
		at[n++] = (uint8_t)(v % 128 + 128);
	at[n++] = (uint8_t)v;
	return n;
}

static void test_proto(void **state)
{
	struct buf b = BUF_INIT;
	struct pb w = pb_begin(&b);
	size_t at;

	(void)state;
	pb_u64(&w, 1, 150);
	pb_text(&w, 2, "testing");
	at = pb_open(&w, 3, PB_BELOW_128);
	pb_u64(&w, 1, 150);
	pb_close(&w, at, PB_BELOW_128);
	pb_u64(&w, 1, UINT64_MAX);
	pb_fixed64(&w, 47, UINT64_C(0x0102030405060708));
	pb_end(&w);
	assert_int_equal(b.len, 3 + 9 + 5 + 11 + 10);
	assert_memory_equal(b.data,
		"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01",
		b.len);
	buf_free(&b);
}

static void test_proto_numbers(void **state)
{
	struct buf b = BUF_INIT;
	uint8_t want[PB_VARINT_MAX];
	size_t at_end, n;

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (uint64_t add = 0; add < 5; add++) {
			const uint64_t v = (UINT64_C(1) << bit) - 2 + add;
			struct pb w;

			buf_clear(&b);
			w = pb_begin(&b);
			pb_packed(&w, v);
			pb_packed(&w, v * UINT64_C(0x9e3779b97f4a7c15));
			pb_packed(&w, 5);
			pb_end(&w);
			at_end = plain_varint(want, v);
			assert_memory_equal(b.data, want, at_end);
			n = plain_varint(want, v * UINT64_C(0x9e3779b97f4a7c15));
			assert_memory_equal(b.data + at_end, want, n);
			assert_int_equal(b.len, at_end + n + 1);
			assert_int_equal(b.data[b.len - 1], 5);
		}
	}
	buf_free(&b);
}

/* The varint at *p, which may be longer than it must. */
static uint64_t take_varint(const uint8_t **p)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		const uint8_t x = *(*p)++;

		v |= (uint64_t)(x & 0x7f) << shift;
		if (x < 128)
			return v;
	}
}

/* A message in a message of n bytes of text, with a field behind each. */
static void check_nested(size_t n, enum pb_width outer, enum pb_width inner)
{
	struct buf b = BUF_INIT;
	struct pb w = pb_begin(&b);
	char *text = xmalloc(n + 1);
	const uint8_t *p;
	size_t one, two;

	memset(text, 'x', n);
	one = pb_open(&w, 1, outer);
	two = pb_open(&w, 2, inner);
	pb_bytes(&w, 3, text, n);
	pb_close(&w, two, inner);
	pb_u64(&w, 4, 9);
	pb_close(&w, one, outer);
	pb_u64(&w, 5, 7);
	pb_end(&w);
	p = b.data;
	assert_int_equal(*p++, 1 << 3 | 2);
	one = take_varint(&p);
	assert_int_equal(b.data + b.len - p, one + 2);
	assert_int_equal(*p++, 2 << 3 | 2);
	two = take_varint(&p);
	assert_int_equal(*p++, 3 << 3 | 2);
	assert_int_equal(take_varint(&p), n);
	assert_memory_equal(p, text, n);
	p += n;
	assert_memory_equal(p, "\x20\x09\x28\x07", 4);
	assert_int_equal(p + 4 - b.data, b.len);
	assert_int_equal(two, n + 1 + (n < 128 ? 1 : n < 16384 ? 2 : 3));
	free(text);
	buf_free(&b);
}

static void test_proto_lengths(void **state)
{
	static const size_t around[] = {0, 126, 127, 128, 16383, 16384, 70000};

	(void)state;
	for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
		for (size_t less = 0; less < 12 && less <= around[i]; less++) {
			check_nested(around[i] - less, PB_BELOW_128, PB_BELOW_128);
			check_nested(around[i] - less, PB_BELOW_16K, PB_BELOW_128);
			check_nested(around[i] - less, PB_BELOW_128, PB_BELOW_16K);
			check_nested(around[i] - less, PB_BELOW_16K, PB_BELOW_16K);
		}
	}
}

/* --- ZIP --- */

/* A length that the format has no number for is refused, and nothing of it is read. */
static void test_zip_limits(void **state)
{
	char *made = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&made, &n);
	struct zip *z = zip_new(f);
	struct err *e;

	(void)state;
	assert_null(zip_begin(z, "a"));
	assert_null(zip_put(z, "1234", 4));
	e = zip_put(z, "", (size_t)UINT32_MAX - 3);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_LIMIT);
	err_free(e);
	assert_null(zip_begin(z, "b"));
	assert_null(zip_end(z));
	zip_free(z);
	fclose(f);
	/* The list begins where its last entry says, and has both. */
	assert_true(n > 22);
	assert_memory_equal(made + n - 22, "PK\5\6\0\0\0\0\2\0\2\0", 12);
	uint32_t size, at;
	memcpy(&size, made + n - 10, 4);
	memcpy(&at, made + n - 6, 4);
	assert_int_equal(at + size, n - 22);
	assert_memory_equal(made + at, "PK\1\2", 4);
	free(made);
}

/* Bytes that do not get shorter. */
static const uint8_t *noise(size_t n)
{
	static uint8_t p[1 << 16];
	uint64_t x = 88172645463325252;

	assert_true(n <= sizeof p);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13; /* xorshift64, Marsaglia 2003 */
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 16);
	}
	return p;
}

/* What the thread could not write is told by a later call, at the latest by that which ends the
 * member, and with what is left nothing happens. */
static void test_zip_on_a_full_disk(void **state)
{
	(void)state;
	for (unsigned puts = 1; puts < 40; puts += 13) {
		FILE *f = fopen("/dev/full", "w");
		struct zip *z = zip_new(f);
		struct err *e = zip_begin(z, "a");

		for (unsigned i = 0; !e && i < puts; i++)
			e = zip_put(z, noise(1 << 16), 1 << 16);
		if (!e)
			e = zip_end(z);
		assert_non_null(e);
		assert_int_equal(e->code, ERR_SYSTEM);
		err_free(e);
		zip_free(z);
		fclose(f);
	}
}

/* It may be given up with pieces that nobody has written. */
static void test_zip_given_up(void **state)
{
	(void)state;
	for (unsigned puts = 0; puts < 20; puts++) {
		FILE *f = tmpfile();
		struct zip *z = zip_new(f);

		assert_null(zip_begin(z, "a"));
		for (unsigned i = 0; i < puts; i++)
			assert_null(zip_put(z, noise(1 << 16), 1 << 16));
		zip_free(z);
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_proto),
		cmocka_unit_test(test_proto_numbers), cmocka_unit_test(test_proto_lengths),
		cmocka_unit_test(test_waits), cmocka_unit_test(test_folded_names),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_zip_limits),
		cmocka_unit_test(test_zip_on_a_full_disk), cmocka_unit_test(test_zip_given_up)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
