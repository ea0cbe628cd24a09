/* SPDX-License-Identifier: Apache-2.0
 *
 * libtracesmith from outside: what its header promises, by its header alone.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tracesmith/tracesmith.h>

static char path[64];

static void number(ts_writer *w, const char *field, uint64_t v)
{
	assert_int_equal(ts_writer_set(w, field, v), TS_OK);
}

/* A context, a stream, a kernel called _Z3addv, and n launches of it with 1, 2, 3 ... blocks. */
static void write_launches(unsigned n)
{
	ts_writer *w;

	snprintf(path, sizeof path, "/tmp/test-library-%d.sbt", (int)getpid());
	assert_int_equal(ts_writer_open(&w, path, "./app 'a b'"), TS_OK);
	assert_int_equal(ts_writer_begin(w, "ctx_create", 1), TS_OK);
	number(w, "new_ctx", 0);
	number(w, "default_stream", 0);
	assert_int_equal(ts_writer_end(w), TS_OK);
	assert_int_equal(ts_writer_begin(w, "kernel_def", 2), TS_OK);
	number(w, "ctx", 0);
	number(w, "new_kernel", 7);
	assert_int_equal(ts_writer_set_data(w, "kernel_name", "_Z3addv", 7), TS_OK);
	assert_int_equal(ts_writer_end(w), TS_OK);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(ts_writer_begin(w, "launch", 3 + i), TS_OK);
		number(w, "ctx", 0);
		number(w, "stream", 0);
		number(w, "kernel", 7);
		number(w, "grid_x", i + 1);
		assert_int_equal(ts_writer_set_data(w, "args", &i, sizeof i), TS_OK);
		assert_int_equal(ts_writer_end(w), TS_OK);
	}
	assert_int_equal(ts_writer_close(w), TS_OK);
}

static void what_was_written_is_read(void **state)
{
	struct ts_value v;
	ts_trace *t;
	ts_cursor *c;
	uint64_t n;

	write_launches(5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_string_equal(ts_text(t, "program"), "./app 'a b'");
	assert_null(ts_text(t, "nothing"));
	assert_int_equal(ts_number(t, "commands", &n), TS_OK);
	assert_int_equal(n, 7);
	assert_int_equal(ts_number(t, "rank", &n), TS_OK);
	assert_true(n == TS_MISSING);
	assert_int_equal(ts_number(t, "weight", &n), TS_NOT_FOUND);
	assert_string_equal(ts_kernel(t, 7), "_Z3addv");
	assert_null(ts_kernel(t, 8));

	assert_int_equal(ts_cursor_open(&c, t, 4), TS_OK);
	assert_int_equal(ts_seq(c), 0);
	assert_int_equal(ts_field(c, "grid_x", &v), TS_USAGE);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(ts_next(c), TS_OK);
		assert_int_equal(ts_seq(c), 4 + i);
		assert_string_equal(ts_kind(c), "launch");
		assert_int_equal(ts_field(c, "grid_x", &v), TS_OK);
		assert_int_equal(v.type, TS_UNSIGNED);
		assert_int_equal(v.number, 2 + i);
		assert_int_equal(ts_field(c, "seq", &v), TS_OK);
		assert_int_equal(v.number, 4 + i);
		assert_int_equal(ts_field(c, "width", &v), TS_NOT_FOUND);
		assert_non_null(strstr(ts_error(), "width"));
	}
	assert_int_equal(ts_next(c), TS_END);
	assert_int_equal(ts_next(c), TS_END);
	assert_int_equal(ts_cursor_seek(c, 2), TS_OK);
	assert_int_equal(ts_next(c), TS_OK);
	assert_int_equal(ts_field(c, "kernel_name", &v), TS_OK);
	assert_int_equal(v.type, TS_TEXT);
	assert_int_equal(v.size, 7);
	assert_memory_equal(v.data, "_Z3addv", 7);
	ts_cursor_close(c);
	ts_close(t);
}

static void columns(void **state)
{
	static const char *const fields[] = {"seq", "grid_x", "stream"};
	uint64_t seq[16], grid[16], stream[16], *const into[] = {seq, grid, stream};
	const char *bytes = "args", *none = "no_such_field";
	ts_trace *t;
	ts_cursor *c;
	struct ts_value v;
	size_t n = 99;

	write_launches(5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_int_equal(ts_cursor_open(&c, t, 0), TS_OK);
	assert_int_equal(ts_columns(c, &bytes, 1, into, 16, &n), TS_USAGE);
	assert_int_equal(ts_columns(c, &none, 1, into, 16, &n), TS_NOT_FOUND);
	assert_int_equal(n, 99);
	assert_int_equal(ts_columns(c, fields, 3, into, 4, &n), TS_OK);
	assert_int_equal(n, 4);
	assert_int_equal(seq[0], 1);
	assert_true(grid[0] == TS_MISSING && stream[0] == TS_MISSING && grid[1] == TS_MISSING);
	assert_int_equal(grid[2], 1);
	assert_int_equal(stream[3], 0);
	assert_int_equal(ts_seq(c), 4);
	assert_int_equal(ts_field(c, "args", &v), TS_OK); /* the cursor is at the last row, whole */
	assert_int_equal(v.size, sizeof(unsigned));
	assert_int_equal(((const unsigned char *)v.data)[0], 1);
	assert_int_equal(ts_columns(c, fields, 3, into, 16, &n), TS_OK);
	assert_int_equal(n, 3);
	assert_int_equal(seq[0], 5);
	assert_int_equal(grid[2], 5);
	assert_int_equal(ts_columns(c, fields, 3, into, 16, &n), TS_OK);
	assert_int_equal(n, 0);
	ts_cursor_close(c);
	ts_close(t);
}

/* Texts are numbers of a dictionary, and the types of columns say which are. */
static void columns_of_texts(void **state)
{
	static const char *const fields[] = {"kind_name", "kernel_name", "gpu_ns", "priority"};
	uint64_t kind[16], kernel[16], ns[16], priority[16];
	uint64_t *const into[] = {kind, kernel, ns, priority};
	enum ts_type type;
	ts_trace *t;
	ts_cursor *c;
	size_t n;

	write_launches(5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_null(ts_column_text(t, 0));
	assert_int_equal(ts_cursor_open(&c, t, 0), TS_OK);
	assert_int_equal(ts_columns(c, fields, 4, into, 16, &n), TS_OK);
	assert_int_equal(n, 7);
	assert_true(priority[6] == TS_MISSING_SIGNED);
	assert_string_equal(ts_column_text(t, kind[0]), "ctx_create");
	assert_string_equal(ts_column_text(t, kind[6]), "launch");
	assert_int_equal(kind[2], kind[6]);
	assert_true(kernel[0] == TS_MISSING);
	assert_string_equal(ts_column_text(t, kernel[1]), "_Z3addv"); /* the definition's field */
	assert_string_equal(ts_column_text(t, kernel[2]), "add");
	assert_int_equal(kernel[2], kernel[6]);
	assert_true(ns[6] == TS_MISSING);
	assert_null(ts_column_text(t, 1000));
	assert_null(ts_column_text(t, TS_MISSING));
	assert_int_equal(ts_column_type("kernel_name", &type), TS_OK);
	assert_int_equal(type, TS_TEXT);
	assert_int_equal(ts_column_type("priority", &type), TS_OK);
	assert_int_equal(type, TS_SIGNED);
	assert_int_equal(ts_column_type("dir", &type), TS_OK);
	assert_int_equal(type, TS_NAME);
	assert_string_equal(ts_column_name("dir", 0), "h2d");
	assert_null(ts_column_name("dir", 77));
	assert_null(ts_column_name("grid_x", 0));
	assert_int_equal(ts_column_type("args", &type), TS_USAGE);
	assert_int_equal(ts_column_type("nothing", &type), TS_NOT_FOUND);
	assert_string_equal(ts_kind_of(kind[0] == TS_MISSING ? 0 : 2), "ctx_create");
	assert_null(ts_kind_of(TS_MISSING));
	ts_cursor_close(c);
	ts_close(t);
}

static unsigned count_of(ts_cursor *c, const struct ts_filter *f)
{
	unsigned n = 0;

	assert_int_equal(ts_cursor_filter(c, f), TS_OK);
	assert_int_equal(ts_cursor_seek(c, 0), TS_OK);
	while (ts_next(c) == TS_OK)
		n++;
	return n;
}

/* Each member of a filter, alone and with another. */
static void filters(void **state)
{
	const struct ts_filter all = TS_FILTER_ALL;
	struct ts_filter f = TS_FILTER_ALL;
	ts_trace *t;
	ts_cursor *c;

	write_launches(5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_int_equal(ts_cursor_open(&c, t, 0), TS_OK);
	assert_int_equal(count_of(c, &all), 7);
	f.kind = "launch";
	assert_int_equal(count_of(c, &f), 5);
	f.condition = "grid_x > 2 && grid_x != 4";
	assert_int_equal(count_of(c, &f), 2);
	f.last = 5; /* the launch with grid_x 3 */
	assert_int_equal(count_of(c, &f), 1);
	f = all;
	f.kernel = "a*";
	assert_int_equal(count_of(c, &f), 5);
	f.kernel = "mul*";
	assert_int_equal(count_of(c, &f), 0);
	f = all;
	f.stream = 0;
	assert_int_equal(count_of(c, &f), 5);
	f.stream = 1;
	assert_int_equal(count_of(c, &f), 0);
	f.kind = "lunch";
	assert_int_equal(ts_cursor_filter(c, &f), TS_NOT_FOUND);
	f = all;
	f.condition = "grid_x >";
	assert_int_equal(ts_cursor_filter(c, &f), TS_USAGE);
	f = all;
	f.size++;
	assert_int_equal(ts_cursor_filter(c, &f), TS_USAGE);
	assert_int_equal(count_of(c, NULL), 7);
	ts_cursor_close(c);
	ts_close(t);
}

/* Offset and size, as kernel_def.params has them. */
static void write_with_arguments(const uint32_t *layout, size_t pairs)
{
	static const struct {
		uint64_t p;
		float lr;
		int32_t n;
	} args = {0x7f0000001000, 0.5f, -3};
	ts_writer *w;

	snprintf(path, sizeof path, "/tmp/test-library-%d.sbt", (int)getpid());
	assert_int_equal(ts_writer_open(&w, path, "./app"), TS_OK);
	assert_int_equal(ts_writer_begin(w, "kernel_def", 1), TS_OK);
	number(w, "new_kernel", 7);
	assert_int_equal(ts_writer_set_data(w, "kernel_name", "_Z4adamPffi", 11), TS_OK);
	assert_int_equal(ts_writer_set_data(w, "params", layout, pairs * 8), TS_OK);
	assert_int_equal(ts_writer_end(w), TS_OK);
	assert_int_equal(ts_writer_begin(w, "launch", 2), TS_OK);
	number(w, "kernel", 7);
	assert_int_equal(ts_writer_set_data(w, "args", &args, sizeof args), TS_OK);
	assert_int_equal(ts_writer_end(w), TS_OK);
	assert_int_equal(ts_writer_close(w), TS_OK);
}

static void arguments_have_types(void **state)
{
	static const uint32_t layout[] = {0, 8, 8, 4, 12, 4};
	struct ts_arg a = {.size = sizeof a};
	ts_trace *t;
	ts_cursor *c;
	float lr;
	int32_t n;

	write_with_arguments(layout, 3);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_int_equal(ts_cursor_open(&c, t, 0), TS_OK);
	assert_int_equal(ts_argument(c, 0, &a), TS_USAGE);
	assert_int_equal(ts_next(c), TS_OK);
	assert_int_equal(ts_argument(c, 0, &a), TS_USAGE);
	assert_int_equal(ts_next(c), TS_OK);
	assert_int_equal(ts_argument(c, 0, &a), TS_OK);
	assert_string_equal(a.type, "float *");
	assert_int_equal(a.is, TS_ARG_POINTER);
	assert_int_equal(a.bytes, 8);
	assert_int_equal(ts_argument(c, 1, &a), TS_OK);
	assert_int_equal(a.is, TS_ARG_FLOAT);
	memcpy(&lr, a.data, sizeof lr);
	assert_true(lr == 0.5f);
	assert_int_equal(ts_argument(c, 2, &a), TS_OK);
	assert_int_equal(a.is, TS_ARG_SIGNED);
	memcpy(&n, a.data, sizeof n);
	assert_int_equal(n, -3);
	assert_int_equal(ts_argument(c, 3, &a), TS_END);
	a.size = 0;
	assert_int_equal(ts_argument(c, 0, &a), TS_USAGE);
	ts_cursor_close(c);
	ts_close(t);
}

/* A layout that does not agree with the name gives no types; one beyond the bytes no data. */
static void arguments_that_cannot_be(void **state)
{
	static const uint32_t layout[] = {0, 8, 8, 8, 0xfffffff8, 16, 12, 5, 16, 0xffffffff};
	struct ts_arg a = {.size = sizeof a};
	ts_trace *t;
	ts_cursor *c;

	write_with_arguments(layout, 5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_int_equal(ts_cursor_open(&c, t, 2), TS_OK);
	assert_int_equal(ts_next(c), TS_OK);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(ts_argument(c, i, &a), TS_OK);
		assert_null(a.type);
		assert_int_equal(a.is, TS_ARG_UNKNOWN);
		assert_int_equal(a.data != NULL, i < 2);
	}
	ts_cursor_close(c);
	ts_close(t);
}

/* Each number that tracesmith.h names. */
static void the_state(void **state)
{
	static const char *const numbers[] = {"commands", "launches", "copies", "fills", "syncs",
		"failed", "pending", "live_bytes", "live_allocations"};
	struct ts_stream st = {.size = sizeof st};
	const char *json;
	ts_trace *t;
	ts_state *s;
	uint64_t n;

	write_launches(5);
	assert_int_equal(ts_open(&t, path), TS_OK);
	assert_int_equal(ts_state_at(&s, t, 5), TS_OK);
	assert_int_equal(ts_state_number(s, "launches", &n), TS_OK);
	assert_int_equal(n, 3);
	assert_int_equal(ts_state_json(s, "streams", &json), TS_OK);
	assert_true(*json == '[' && strstr(json, "Running"));
	assert_int_equal(ts_state_json(s, "all", &json), TS_OK);
	assert_true(*json == '{');
	assert_int_equal(ts_state_json(s, "things", &json), TS_NOT_FOUND);
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		assert_int_equal(ts_state_number(s, numbers[i], &n), TS_OK);
	assert_int_equal(ts_state_number(s, "nothing", &n), TS_NOT_FOUND);
	assert_int_equal(ts_state_number(s, "live_nothing", &n), TS_NOT_FOUND);
	assert_int_equal(ts_state_stream(s, 0, &st), TS_OK);
	assert_int_equal(st.pending, 3);
	assert_int_equal(ts_state_stream(s, 1, &st), TS_END);
	st.size = 0;
	assert_int_equal(ts_state_stream(s, 0, &st), TS_USAGE);
	/* A program built with an earlier, smaller structure. */
	st = (struct ts_stream){.size = offsetof(struct ts_stream, pending), .pending = 1234};
	assert_int_equal(ts_state_stream(s, 0, &st), TS_OK);
	assert_int_equal(st.pending, 1234);
	ts_state_free(s);
	ts_close(t);
}

static void what_commands_have(void **state)
{
	unsigned kinds = 0, fields = 0;

	while (ts_kind_name(kinds))
		kinds++;
	assert_true(kinds > 30);
	while (ts_field_name("launch", fields))
		fields++;
	assert_true(fields > 10);
	assert_string_equal(ts_field_name("", 0), "seq");
	assert_non_null(ts_field_help("launch", "grid_x"));
	assert_null(ts_field_help("launch", "seq_of_nothing"));
	assert_null(ts_field_name("no_such_kind", 0));
}

static void misuse_of_the_writer(void **state)
{
	ts_writer *w;

	assert_int_equal(ts_writer_open(&w, "/nowhere/at/all.sbt", ""), TS_SYSTEM);
	assert_int_equal(ts_writer_open(&w, path, NULL), TS_OK);
	assert_int_equal(ts_writer_set(w, "grid_x", 1), TS_USAGE);
	assert_int_equal(ts_writer_end(w), TS_USAGE);
	assert_int_equal(ts_writer_begin(w, "lunch", 1), TS_NOT_FOUND);
	assert_int_equal(ts_writer_begin(w, "launch", 1), TS_OK);
	assert_int_equal(ts_writer_begin(w, "launch", 2), TS_USAGE);
	assert_int_equal(ts_writer_set(w, "kind", 2), TS_USAGE);
	assert_int_equal(ts_writer_set(w, "args", 2), TS_USAGE);
	assert_int_equal(ts_writer_set_data(w, "grid_x", "a", 1), TS_USAGE);
	assert_int_equal(ts_writer_end(w), TS_OK);
	assert_int_equal(ts_writer_close(w), TS_OK);
	assert_int_equal(ts_writer_close(NULL), TS_OK);
}

/* A trace that is cut anywhere opens, or is refused with a sentence; what it yields is a beginning.
 */
static void cut_files(void **state)
{
	FILE *f;
	long size;

	write_launches(200);
	f = fopen(path, "r+");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	for (long cut = size; cut-- > 0;) {
		unsigned n = 0;
		ts_trace *t;
		ts_cursor *c;
		int r;

		assert_int_equal(ftruncate(fileno(f), cut), 0);
		r = ts_open(&t, path);
		if (r) {
			assert_int_equal(r, TS_BAD_TRACE);
			assert_true(strlen(ts_error()) > 10);
			continue;
		}
		assert_int_equal(ts_cursor_open(&c, t, 0), TS_OK);
		while (!(r = ts_next(c)))
			assert_int_equal(ts_seq(c), ++n);
		assert_int_equal(r, TS_END);
		assert_true(n <= 202);
		assert_non_null(ts_text(t, "damage"));
		ts_cursor_close(c);
		ts_close(t);
	}
	fclose(f);
}

static void *fails_elsewhere(void *arg)
{
	ts_trace *t;

	assert_int_equal(ts_open(&t, "/no/such/other/file"), *(int *)arg);
	assert_non_null(strstr(ts_error(), "other"));
	return NULL;
}

static void errors_are_a_threads_own(void **state)
{
	pthread_t other;
	ts_trace *t = NULL;
	int r = ts_open(&t, "/no/such/first/file");

	assert_true(r != TS_OK);
	assert_null(t);
	assert_int_equal(pthread_create(&other, NULL, fails_elsewhere, &r), 0);
	pthread_join(other, NULL);
	assert_non_null(strstr(ts_error(), "first"));
	assert_true(ts_open(NULL, path) == TS_USAGE);
}

static int tear_down(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(columns),
		cmocka_unit_test(columns_of_texts),
		cmocka_unit_test(filters),
		cmocka_unit_test(arguments_have_types),
		cmocka_unit_test(arguments_that_cannot_be),
		cmocka_unit_test(the_state),
		cmocka_unit_test(what_commands_have),
		cmocka_unit_test(misuse_of_the_writer),
		cmocka_unit_test(cut_files),
		cmocka_unit_test(errors_are_a_threads_own),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
