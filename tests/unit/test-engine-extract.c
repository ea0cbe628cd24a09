/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts a launch through the engine, without a shell: what is in the folder afterwards, and what
 * an error leaves. The contents of memory are worked out from pipeline_ptx.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "engine/extract.h"
#include "engine-test.h"

#define N 4096 /* floats of a piece */

static char *trace;

/* As pipeline_ptx.c fills its memory. */
static float value(unsigned i)
{
	i = i * 2654435761u + 12345u;
	return (float)((i >> 16) % 1000) / 1000.0f - 0.5f;
}

/* Reads a whole file of that size. */
static void read_file(const char *in, const char *name, void *to, size_t size)
{
	char *path = xasprintf("%s/%s", in, name), more;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_int_equal(fread(to, 1, size, f), size);
	assert_int_equal(fread(&more, 1, 1, f), 0);
	fclose(f);
	free(path);
}

static bool file_says(const char *in, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", in, name), *all = xcalloc(1, 1 << 20);
	FILE *f = fopen(path, "re");
	bool says;

	assert_non_null(f);
	(void)!fread(all, 1, (1 << 20) - 1, f);
	says = strstr(all, text) != NULL;
	fclose(f);
	free(path);
	free(all);
	return says;
}

static void a_launch(void **state)
{
	char *to = xasprintf("%s/scale3", dir), *path, *head;
	float before[N], after[N];
	struct extract_result r;
	struct engine en = {0};

	open_replay(&en, trace);
	must(extract_run(
		&en, &(struct extract_options){.kernel = "scale", .dir = to, .nth = 3}, &r));
	assert_string_equal(r.kernel, "_Z5scalePffi");
	assert_int_equal(r.allocations, 1); /* its one pointer */
	assert_int_equal(r.bytes, sizeof before);
	read_file(to, "memory-1.bin", before, sizeof before);
	read_file(to, "memory-1-after.bin", after, sizeof after);
	for (unsigned i = 0; i < N; i++) {
		assert_true(before[i] == value(2 * N + i)); /* the third piece */
		assert_true(after[i] == 2 * value(2 * N + i));
	}
	head = xasprintf("Launch #%llu of", (unsigned long long)r.seq);
	assert_true(file_says(to, "main.c", head));
	assert_true(file_says(to, "main.c", "#define KERNEL \"_Z5scalePffi\""));
	assert_true(file_says(to, "main.c", "cuLaunchKernel(kernel, 16, 1, 1,")); /* N / 256 */
	assert_true(file_says(to, "kernel.ptx", ".entry _Z5scalePffi("));
	path = xasprintf("%s/Makefile", to);
	assert_int_equal(access(path, R_OK), 0);
	free(path);
	free(head);
	extract_free(&r);
	engine_deinit(&en);
	file_remove_all(to);
	free(to);
}

static void errors_leave_nothing(void **state)
{
	char *to = xasprintf("%s/none", dir), *full = xasprintf("%s/full", dir),
	     *inside = xasprintf("%s/full/mine", dir);
	struct extract_options o = {.kernel = "scale", .dir = to, .nth = CHUNKS + 1};
	struct engine en = {0};
	volatile bool cancel = true;
	struct extract_result r;
	struct err *e;

	open_replay(&en, trace);
	e = extract_run(&en, &o, &r); /* there are CHUNKS launches of it */
	assert_non_null(e);
	assert_null(r.kernel);
	err_free(e);
	o.nth = 1;
	assert_int_equal(mkdir(full, 0700), 0);
	assert_int_equal(mkdir(inside, 0700), 0);
	o.dir = full;
	e = extract_run(&en, &o, &r); /* a folder that has something in it is not replaced */
	assert_non_null(e);
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	assert_int_equal(access(inside, F_OK), 0);
	o.dir = to;
	en.cancel = &cancel;
	e = extract_run(&en, &o, &r);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_INTERRUPTED);
	err_free(e);
	assert_int_equal(access(to, F_OK), -1);
	en.cancel = NULL;
	engine_replay_end(&en);
	e = extract_run(&en, &o, &r);
	assert_non_null(e); /* no device */
	assert_int_equal(e->code, ERR_STATE);
	err_free(e);
	engine_deinit(&en);
	file_remove_all(full);
	free(to);
	free(full);
	free(inside);
}

static int make_folder(void **state)
{
	trace = in_new_folder("a.sbt");
	return !trace;
}

static int remove_folder(void **state)
{
	free(trace);
	file_remove_all(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch),
		cmocka_unit_test(errors_leave_nothing),
	};

	return engine_test_begin() ? cmocka_run_group_tests(tests, make_folder, remove_folder) : 1;
}
