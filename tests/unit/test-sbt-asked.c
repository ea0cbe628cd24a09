/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace answers when it is asked: about the Python frames of a stack, of which ids a kind's
 * fields may hold, of many names of globals. Against plain loops over what was written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "sbt/expr.h"
#include "sbt/format/format.h"
#include "sbt/memory.h"
#include "sbt/fields.h"
#include "no-error.h"
#include "sbt-make.h"

static char path[64];

static struct sbt_writer *begin(void)
{
	static const struct sbt_meta meta = {
		.program = "p", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "0", .stacks = true};
	struct sbt_writer *w;

	snprintf(path, sizeof path, "/tmp/test-sbt-asked-%d.sbt", getpid());
	ok(sbt_writer_open(&w, path, &meta));
	return w;
}

static struct sbt_reader *end(struct sbt_writer *w)
{
	struct sbt_reader *r;

	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	unlink(path);
	return r;
}

/* ---- Python frames ---------------------------------------- */

#define PLACES 4
#define STACKS 60
#define FRAMES 5

static const struct sbt_place places[PLACES] = {{"/home/u/net.py", "Net.forward", 10, 12},
	{"/home/u/train.py", "main", 1, 40}, {"lib/net.py", "Other.forward", 3, 0},
	{"<string>", "<module>", 1, 7}};
static struct sbt_frame stacks[STACKS][FRAMES];
static unsigned lengths[STACKS];

/* The frames of a stack that are Python's, in order. */
static unsigned python_frames(unsigned stack, uint32_t python, const struct sbt_place **ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < lengths[stack]; i++)
		if (stacks[stack][i].module == python && stacks[stack][i].offset < PLACES)
			ret[n++] = &places[stacks[stack][i].offset];
	return n;
}

/* By the sentences of expr.h: of the innermost frame, for STACK of any. */
static uint64_t answer(
	unsigned stack, uint32_t python, enum sbt_python what, const char *text, bool glob)
{
	const struct sbt_place *p[FRAMES];
	const unsigned n = python_frames(stack, python, p);

	if (what == SBT_PY_LINE)
		return n ? p[0]->line : 0;
	if (what == SBT_PY_FILE)
		return sbt_python_is(what, text, glob, n ? p[0]->file : "");
	if (what == SBT_PY_FUNC)
		return sbt_python_is(what, text, glob, n ? p[0]->function : "");
	for (unsigned i = 0; i < n; i++)
		if (sbt_python_is(what, text, glob, p[i]->function))
			return 1;
	return 0;
}

static void python_frames_are_asked_about(void **arg)
{
	static const struct {
		const char *text;
		bool glob;
	} texts[] = {{"Net.forward", false}, {"forward", false}, {"main", false}, {"net.py", false},
		{"*.forward", true}, {"*", true}, {"", false}, {"<module>", false}, {"t.py", false},
		{"train.py", false}};
	struct sbt_writer *w = begin();
	uint32_t native, python, id;
	struct sbt_reader *r;
	uint64_t seed = 5;

	ok(sbt_writer_module(w, "/usr/bin/python3", "", &native));
	ok(sbt_writer_module(w, SBT_MODULE_PYTHON, "", &python));
	for (unsigned i = 0; i < PLACES; i++) {
		ok(sbt_writer_place(w, &places[i], &id));
		assert_int_equal(id, i);
	}
	for (unsigned s = 0; s < STACKS; s++) {
		lengths[s] = (unsigned)(make_random(&seed) >> 33) % (FRAMES + 1);
		for (unsigned i = 0; i < lengths[s]; i++) {
			const unsigned what = (unsigned)(make_random(&seed) >> 33) % 4;

			stacks[s][i].module = what == 0 ? native : what == 1 ? SBT_NO_ID : python;
			stacks[s][i].offset = (make_random(&seed) >> 33) % (PLACES + 1);
		}
		ok(sbt_writer_stack(w, s + 1, stacks[s], lengths[s]));
	}
	r = end(w);
	for (unsigned s = 0; s < STACKS; s++)
		for (unsigned t = 0; t < sizeof texts / sizeof *texts; t++)
			for (unsigned what = SBT_PY_FUNC; what <= SBT_PY_LINE; what++) {
				struct sbt_reader_python a = {r, s + 1};

				if (sbt_reader_python(&a, what, texts[t].text, texts[t].glob) !=
					answer(s, python, what, texts[t].text, texts[t].glob))
					fail_msg("stack %u, question %u, %s", s + 1, what,
						texts[t].text);
			}
	assert_int_equal(
		sbt_reader_python(&(struct sbt_reader_python){r, 99}, SBT_PY_LINE, "", false), 0);
	sbt_reader_close(r);
}

/* ---- kinds and their fields ---------------------------------------- */

/* The largest value that may be in a field: ids have 32 bits, enumerations eight, all else 64. */
static uint64_t most(enum sbt_type type)
{
	switch (type) {
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		return SBT_NO_ID;
	case SBT_T_ENUM_COPY:
	case SBT_T_ENUM_MEM:
	case SBT_T_ENUM_SYNC:
	case SBT_T_ENUM_CAPTURE:
	case SBT_T_ENUM_NODE:
		return 255;
	default:
		return UINT64_MAX;
	}
}

static void each_field_has_its_largest_value(void **arg)
{
	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		struct sbt_cmd c = {.seq = 1, .kind = (uint16_t)k};

		if (!sbt_kind(k))
			continue;
		for (const struct sbt_field *f = sbt_kind(k)->fields; f->name; f++) {
			if (sbt_type_is_blob(f->type))
				continue;
			sbt_set(&c, f, most(f->type));
			assert_null(sbt_out_of_range(&c));
			if (most(f->type) == UINT64_MAX)
				continue;
			sbt_set(&c, f, most(f->type) + 1);
			assert_ptr_equal(sbt_out_of_range(&c), f);
			sbt_set(&c, f, UINT64_MAX);
			assert_ptr_equal(sbt_out_of_range(&c), f);
			sbt_set(&c, f, 0);
		}
	}
	assert_null(sbt_out_of_range(&(struct sbt_cmd){.kind = SBT_KIND_END}));
	assert_null(sbt_out_of_range(&(struct sbt_cmd){.kind = 0}));
}

/* docs/sbt.md: work runs on a stream, unless the call failed or was captured. */
static void work_is_what_ran(void **arg)
{
	static const enum sbt_kind work[] = {SBT_LAUNCH, SBT_COPY, SBT_FILL, SBT_EVENT_RECORD,
		SBT_STREAM_WAIT, SBT_HOST_FUNC, SBT_GRAPH_LAUNCH, SBT_BATCH};

	for (unsigned k = 0; k <= SBT_KIND_END; k++) {
		struct sbt_cmd c = {.seq = 1, .kind = (uint16_t)k};
		bool is = false;

		for (unsigned i = 0; i < sizeof work / sizeof *work; i++)
			is |= work[i] == k;
		assert_int_equal(sbt_cmd_is_work(&c), is);
		c.result = 1;
		assert_false(sbt_cmd_is_work(&c));
		c.result = 0;
		c.flags = SBT_F_GRAPH;
		assert_false(sbt_cmd_is_work(&c));
		c.flags = (uint16_t)~SBT_F_GRAPH;
		assert_int_equal(sbt_cmd_is_work(&c), is);
		/* the turn: what is in a queue and touches memory or runs something */
		assert_int_equal(
			sbt_kind_takes_turn(k), k == SBT_LAUNCH || k == SBT_COPY || k == SBT_FILL ||
							k == SBT_GRAPH_LAUNCH || k == SBT_BATCH);
		if (sbt_kind(k)) {
			const struct sbt_field *f = sbt_field(k, "stream");

			assert_int_equal(sbt_stream_offset(k), f ? f->offset : 0);
		}
	}
	assert_int_equal(sbt_kind_does(0), SBT_DOES_UNKNOWN);
	assert_int_equal(sbt_kind_does(SBT_KIND_END), SBT_DOES_UNKNOWN);
}

static void a_command_as_a_member(void **arg)
{
	struct sbt_cmd c = {.seq = 7, .kind = SBT_HOST_FUNC};
	struct buf a = BUF_INIT, b = BUF_INIT;

	sbt_json_ref(&a, &(struct sbt_cmd_ref){&c, NULL});
	sbt_json_cmd(&b, &c, NULL);
	assert_true(a.len && a.len == b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_clear(&a);
	sbt_json_ref(&a, &(struct sbt_cmd_ref){NULL, NULL});
	assert_int_equal(a.len, 4);
	assert_memory_equal(a.data, "null", 4);
	buf_free(&a);
	buf_free(&b);
}

/* ---- names of globals ---------------------------------------- */

#define GLOBALS 300

static void name_of(unsigned i, char *to, size_t n)
{
	snprintf(to, n, "global_%u%s", i % 150, i % 150 % 3 ? "" : "_with_a_longer_name");
}

static struct err *a_global(void *arg, const struct sbt_memory *m)
{
	unsigned *n = arg;
	char name[64];

	name_of((unsigned)m->seq - 1, name, sizeof name);
	assert_int_equal(m->name.len, strlen(name));
	assert_memory_equal(m->name.p, name, m->name.len);
	assert_int_equal(((const char *)m->name.p)[m->name.len], 0);
	++*n;
	return NULL;
}

/* More than the first table of names holds, each twice, looked at twice. */
static void many_names(void **arg)
{
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	uint32_t id;

	for (unsigned i = 0; i < GLOBALS; i++) {
		struct sbt_memory m = {.seq = i + 1,
			.role = SBT_MEMORY_START,
			.addr = 4096 * (i + 1),
			.size = 8,
			.module = i % 7,
			.has_bytes = true};
		char name[64];

		name_of(i, name, sizeof name);
		m.name = (struct sbt_blob){name, strlen(name)};
		ok(sbt_writer_memory(w, &m, &id));
		ok(sbt_writer_memory_bytes(w, id, &i, 4));
		ok(sbt_writer_memory_bytes(w, id, &i, 4));
		ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = i + 1, .kind = SBT_HOST_FUNC}));
	}
	r = end(w);
	for (unsigned again = 0; again < 2; again++) {
		unsigned n = 0;

		ok(sbt_reader_memory(r, 1, GLOBALS, a_global, &n));
		assert_int_equal(n, GLOBALS);
	}
	sbt_reader_close(r);
}

/* ---- a file that goes away ---------------------------------------- */

struct found {
	struct sbt_memory m[40];
	unsigned n;
};

static struct err *note(void *arg, const struct sbt_memory *m)
{
	struct found *f = arg;

	assert_true(f->n < 40);
	f->m[f->n++] = *m;
	return NULL;
}

/* Another process cuts the file while it is read: what was kept is right, the rest is refused. */
static void a_file_is_cut_while_it_is_read(void **arg)
{
	enum { PIECES = 12 };
	struct sbt_writer *w = begin();
	struct found f = {.n = 0};
	unsigned refused = 0;
	struct sbt_reader *r;
	char bytes[100], back[100];
	uint32_t id;

	for (unsigned i = 0; i < PIECES; i++) {
		const struct sbt_memory m = {.seq = i + 1,
			.role = SBT_MEMORY_START,
			.addr = 4096 * (i + 1),
			.size = sizeof bytes,
			.module = SBT_NO_ID,
			.has_bytes = true};

		memset(bytes, (int)('a' + i), sizeof bytes);
		ok(sbt_writer_memory(w, &m, &id));
		ok(sbt_writer_memory_bytes(w, id, bytes, sizeof bytes));
		ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = i + 1, .kind = SBT_HOST_FUNC}));
		ok(sbt_writer_flush(w)); /* a chunk for each */
	}
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_reader_memory(r, 1, PIECES, note, &f));
	assert_int_equal(f.n, PIECES);
	assert_int_equal(truncate(path, 64), 0);
	for (unsigned i = 0; i < PIECES; i++) {
		struct err *e = sbt_reader_memory_read(r, &f.m[i], 0, back, sizeof back);

		memset(bytes, (int)('a' + i), sizeof bytes);
		if (!e) {
			assert_memory_equal(back, bytes, sizeof bytes);
			continue;
		}
		assert_int_equal(e->code, ERR_BAD_TRACE);
		err_free(e);
		refused++;
	}
	assert_true(refused > 0);
	sbt_reader_close(r);
	unlink(path);
}

/* ---- figures ---------------------------------------- */

static void a_trace_without_memory_has_no_figures(void **arg)
{
	struct sbt_memory_figures figures = {1, 2, 3, 4, 5};
	struct sbt_writer *w = begin();
	uint64_t pages = 1, bytes = 1;
	struct sbt_reader *r;

	sbt_writer_memory_figures(w, &figures);
	assert_memory_equal(&figures, &(struct sbt_memory_figures){0}, sizeof figures);
	ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = 1, .kind = SBT_HOST_FUNC}));
	r = end(w);
	sbt_reader_memory_figures(r, &pages, &bytes);
	assert_int_equal(pages, 0);
	assert_int_equal(bytes, 0);
	sbt_reader_close(r);
}

/* ---- many slots ---------------------------------------- */

/* More kinds, threads and streams than the encoder's table of slots finds room for. */
static void commands_of_many_streams(void **arg)
{
	enum { N = 30000 };
	struct sbt_writer *w = begin();
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct sbt_reader *r;
	uint64_t seed = 77;

	for (unsigned i = 0; i < N; i++) {
		struct sbt_cmd x = {.seq = i + 1,
			.kind = SBT_HOST_FUNC,
			.thread = (uint32_t)(make_random(&seed) >> 40) % 50};

		x.u.host_func.stream = (make_random(&seed) >> 40) % 5000;
		x.u.host_func.fn = i;
		ok(sbt_writer_cmd(w, &x));
	}
	r = end(w);
	seed = 77;
	ok(sbt_cursor_open(&cursor, r));
	for (unsigned i = 0; i < N; i++) {
		ok(sbt_cursor_next(cursor, &c));
		assert_non_null(c);
		assert_int_equal(c->seq, i + 1);
		assert_int_equal(c->thread, (uint32_t)(make_random(&seed) >> 40) % 50);
		assert_int_equal(c->u.host_func.stream, (make_random(&seed) >> 40) % 5000);
		assert_int_equal(c->u.host_func.fn, i);
	}
	sbt_cursor_close(cursor);
	sbt_reader_close(r);
}

/* ---- sums ---------------------------------------- */

/* docs/sbt.md: a chunk's head has the sum of what is stored, and of itself. This project's reader
 * trusts the pages' own hashes; another one need not. */
static void each_chunk_has_its_sums(void **arg)
{
	enum { SIZE = 24 * SBT_PAGE + 77 };
	uint8_t *bytes = malloc(SIZE), *stored = malloc(64 << 20);
	struct sbt_memory m = {.seq = 1,
		.role = SBT_MEMORY_START,
		.addr = 4096,
		.size = SIZE,
		.module = SBT_NO_ID,
		.has_bytes = true};
	struct sbt_chunk_header h, without;
	struct sbt_writer *w = begin();
	unsigned pages = 0;
	uint64_t seed = 9;
	uint32_t id;
	FILE *f;

	for (unsigned i = 0; i < SIZE; i++) /* noise, text and numbers, a page each */
		bytes[i] = (uint8_t)(i / SBT_PAGE % 3 == 0   ? make_random(&seed) >> 40
				     : i / SBT_PAGE % 3 == 1 ? (unsigned)"some words "[i % 11]
				     : i % 4		     ? 0
							     : i / 1000);
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_bytes(w, id, bytes, SIZE));
	ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = 1, .kind = SBT_HOST_FUNC}));
	ok(sbt_writer_close(w));
	f = fopen(path, "rb");
	assert_int_equal(fseek(f, SBT_HEADER_SIZE, SEEK_SET), 0);
	while (fread(&h, sizeof h, 1, f) == 1) {
		assert_true(h.stored <= 64 << 20);
		assert_int_equal(fread(stored, 1, h.stored, f), h.stored);
		assert_int_equal(h.hash, XXH64(stored, h.stored, 0));
		without = h;
		without.header_sum = 0;
		assert_int_equal(h.header_sum, (uint32_t)XXH64(&without, sizeof without, 0));
		if (h.type == SBT_CHUNK_PAGES)
			pages += h.count;
	}
	assert_true(pages >= 8);
	fclose(f);
	unlink(path);
	free(bytes);
	free(stored);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_frames_are_asked_about),
		cmocka_unit_test(each_field_has_its_largest_value),
		cmocka_unit_test(work_is_what_ran),
		cmocka_unit_test(a_command_as_a_member),
		cmocka_unit_test(many_names),
		cmocka_unit_test(a_file_is_cut_while_it_is_read),
		cmocka_unit_test(a_trace_without_memory_has_no_figures),
		cmocka_unit_test(commands_of_many_streams),
		cmocka_unit_test(each_chunk_has_its_sums),
	};

	return cmocka_run_group_tests_name("sbt-asked", tests, NULL, NULL);
}
