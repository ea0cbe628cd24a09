/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a trace or a device is said by name, and what is still possible is done: on
 * the software GPU, with the trace of replayer-trace.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/device-node.h"
#include "replay/device.h"
#include "replayer-trace.h"

static char dir[4096];

static struct err *try_open(struct device **d, unsigned flags)
{
	char replayer[4200], soft[4200];
	const struct device_options o = {.replayer = replayer,
		.trace = trace_path,
		.softgpu = soft,
		.first = FIRST,
		.last = last_seq,
		.flags = flags};

	snprintf(replayer, sizeof replayer, "%s/tsdb-replayer", dir);
	snprintf(soft, sizeof soft, "%s/softgpu", dir);
	return device_open(d, &o);
}

static struct device *open_device(unsigned flags)
{
	struct device *d;

	ok(try_open(&d, flags));
	return d;
}

static void same(struct device *d, uint64_t addr, const uint32_t *want)
{
	static uint32_t got[N];

	ok(device_read(d, addr, got, BYTES));
	for (unsigned i = 0; i < N; i++)
		if (got[i] != want[i])
			fail_msg("0x%llx[%u] is %u, not %u", (unsigned long long)addr, i, got[i],
				want[i]);
}

static void says(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" does not say \"%s\"", text ? text : "", part);
}

/* The sentence with its cure, as a user sees it. */
static char *sentence(struct err *e)
{
	static char text[2048];

	assert_non_null(e);
	snprintf(text, sizeof text, "%s; %s", e->what, e->cure ? e->cure : "");
	err_free(e);
	return text;
}

static struct device_verified verified(struct device *d)
{
	struct device_verified v;

	ok(device_run(d, last_seq, 0, 0, NULL));
	ok(device_verify(d, &v));
	return v;
}

/* --- another device --- */

static void another_gpu(void **state)
{
	struct device_verified v;
	struct device *d;
	char *text;

	make_trace(ELSEWHERE);
	text = sentence(try_open(&d, 0));
	says(text, "Other GPU (driver 12020)");
	says(text, "--any-device tries it: the trace has PTX of 2 of the 2 kernels");
	says(text, "--on none");
	/* The PTX that was beside the machine code, not the other one with a kernel of that name;
	 * in the graph, too. */
	d = open_device(REPLAYER_ANY_DEVICE);
	says(device_info(d).notes, "recorded on Other GPU");
	v = verified(d);
	assert_true(device_verified_ok(&v));
	assert_int_equal(v.sums.same, 3);
	same(d, A, at_seq[last_seq].a);
	device_verified_free(&v);
	device_close(d);
}

/* --- too little memory --- */

static void too_little_memory(void **state)
{
	static uint32_t got[POINTED_N];
	struct device_verified v;
	struct device *d;
	char *text;

	make_trace(TABLES);
	setenv("TSDB_SOFT_MEMORY", "64M", 1);
	text = sentence(try_open(&d, 0));
	says(text, "of device memory; 64 MiB are free");
	says(text, "--touched places only what its commands name");
	d = open_device(REPLAYER_TOUCHED);
	unsetenv("TSDB_SOFT_MEMORY");
	says(device_info(d).notes, "1 allocations of 100663296 bytes in all are not here");
	/* What only memory points to is here. */
	ok(device_read(d, POINTED, got, sizeof got));
	for (uint32_t i = 0; i < POINTED_N; i++)
		assert_int_equal(got[i], pointed(i));
	text = sentence(device_read(d, LARGE, got, 16));
	says(text, "not memory of the window");
	v = verified(d);
	assert_true(device_verified_ok(&v));
	assert_int_equal(v.sums.same, 5);
	assert_int_equal(v.sums.unchecked,
		2); /* LARGE, and the pinned memory, of which no end was recorded */
	same(d, B, at_seq[last_seq].b);
	device_verified_free(&v);
	device_close(d);
}

/* --- a damaged trace --- */

/* Turns a bit of the page in which two words follow one another. */
static void damage(uint32_t first, uint32_t second)
{
	const uint32_t want[] = {first, second};
	FILE *f = fopen(trace_path, "r+b");
	static uint8_t all[64 << 20];
	const size_t n = fread(all, 1, sizeof all, f);
	const uint8_t *at = memmem(all, n, want, sizeof want);

	assert_non_null(at);
	fseek(f, at - all, SEEK_SET);
	fputc(*at ^ 1, f);
	fclose(f);
}

static void missing(const char *check)
{
	static uint32_t got[POINTED_N];
	struct device_verified v;
	char sentence_of[128];
	struct device *d;

	make_trace(TABLES);
	damage(pointed(20000), pointed(20001));
	setenv("TSDB_REPLAYER_CHECK", check, 1);
	d = open_device(0);
	unsetenv("TSDB_REPLAYER_CHECK");
	snprintf(sentence_of, sizeof sentence_of,
		"65536 of the 262144 bytes at 0x%llx are damaged in the trace: they begin as zeros",
		(unsigned long long)POINTED);
	says(device_info(d).notes, sentence_of);
	ok(device_read(d, POINTED, got, sizeof got));
	for (uint32_t i = 0; i < POINTED_N; i++)
		assert_int_equal(got[i], i / 16384 == 1 ? 0 : pointed(i));
	v = verified(d); /* and all else is as recorded */
	assert_false(device_verified_ok(&v));
	assert_int_equal(v.sums.same, 4);
	for (size_t i = 0; i < v.npieces; i++)
		if (v.pieces[i].checked && !v.pieces[i].same)
			assert_int_equal(v.pieces[i].addr, POINTED);
	same(d, A, at_seq[last_seq].a);
	device_verified_free(&v);
	device_close(d);
}

/* By the threads that read, as on the software GPU, and by the device when all is there, as on a
 * machine's. */
static void missing_pages(void **state)
{
	missing("host");
	missing("device");
}

/* --- kernels that do not end --- */

static void a_hang_is_found(void **state)
{
	struct device *d;
	uint64_t first;

	make_trace(HANG);
	setenv("TSDB_REPLAYER_TIMEOUT", "1", 1);
	d = open_device(0);
	char *text = sentence(device_run(d, last_seq, 0, 0, NULL));
	says(text, "#29 has not finished within 1 s");
	assert_int_equal(device_culprit(d, &first), 29);
	assert_int_equal(first, 29);
	assert_int_equal(device_seq(d), 28);
	same(d, A, at_seq[28].a);
	same(d, Q, at_seq[28].q);
	/* Once more by going there, and the shell's process is none the worse. */
	says(sentence(device_seek(d, 29)), "#29 has not finished");
	same(d, A, at_seq[28].a);
	unsetenv("TSDB_REPLAYER_TIMEOUT");
	device_close(d);
}

static void a_fault_is_found(void **state)
{
	struct device *d;

	make_trace(FAULT);
	d = open_device(0);
	says(sentence(device_run(d, last_seq, 0, 0, NULL)), "the device failed at #29");
	assert_int_equal(device_culprit(d, NULL), 29);
	assert_int_equal(device_seq(d), 28);
	same(d, A, at_seq[28].a);
	device_close(d);
}

/* --- addresses --- */

static void an_address_that_is_taken(void **state)
{
	struct device *d;

	make_trace(BLOCKED);
	says(sentence(try_open(&d, 0)),
		"the recorded addresses 0xffff900000000000 to 0xffff900000028000 (163840 bytes) cannot be had here");
}

/* --- a slow clock --- */

static struct err *count_one(void *arg, const struct access_set *a)
{
	++*(unsigned *)arg;
	return NULL;
}

/* A thousand seconds pass between two looks at the clock: everything long still comes to its end, a
 * command at a time. */
static void however_late_the_processor_comes(void **state)
{
	const struct replayer_check how[] = {{.from = FIRST, .to = 28, .runs = 2},
		{.from = FIRST, .to = 28, .runs = 2, .thorough = 1}};
	struct device *d;
	unsigned n;

	make_trace(PLAIN);
	setenv("TSDB_REPLAYER_CLOCK", "1000", 1);
	for (unsigned i = 0; i < 2; i++) {
		struct device_checked c;

		d = open_device(0);
		ok(device_check(d, &how[i], NULL, 0, &c));
		assert_int_equal(c.checked, 4);
		assert_int_equal(c.n, 0);
		device_checked_free(&c);
		device_close(d);
	}
	d = open_device(0);
	ok(device_changed_sets(d, FIRST, 28, 0, count_one, (n = 0, &n)));
	assert_int_equal(n, 4);
	ok(device_seek(d, FIRST - 1));
	ok(device_access_sets(d, FIRST, 28, 0, count_one, (n = 0, &n)));
	assert_true(n >= 4);
	unsetenv("TSDB_REPLAYER_CLOCK");
	device_close(d);
}

/* --- uploads --- */

/* Of all copies up to seq the last one that wrote a word wins. */
static void same_uploads(struct device *d, uint64_t seq)
{
	const uint32_t step = (1u << 20) / 4, n = 256;
	uint32_t got[256];

	for (uint32_t at = 0; at < (UPLOADS_N + 4) * step; at += step / 3) {
		ok(device_read(d, LARGE + 4ull * at, got, sizeof got));
		for (uint32_t k = 0; k < n; k++) {
			uint32_t want = 0;

			for (unsigned i = 0; i < UPLOADS_N && 29 + i <= seq; i++)
				if (at + k >= i * step && at + k - i * step < UPLOAD_WORDS)
					want = uploaded(i, at + k - i * step);
			if (got[k] != want)
				fail_msg("after #%d word %u is %u, not %u", (int)seq, at + k,
					got[k], want);
		}
	}
}

static void uploads_come_in_any_order(void **state)
{
	const uint64_t seqs[] = {34, 29, 33, 28, 30, 31, 34, 32, 30, 34}, skip[] = {30, 33};
	struct device *d;

	make_trace(UPLOADS);
	d = open_device(0);
	for (unsigned i = 0; i < sizeof seqs / sizeof *seqs; i++) {
		ok(device_seek(d, seqs[i]));
		same_uploads(d, seqs[i]);
	}
	/* Without 30 and 33: what they would have written is not there; with them again it is. */
	ok(device_skip(d, skip, 2, false));
	ok(device_seek(d, FIRST - 1));
	ok(device_seek(d, 30));
	same_uploads(d, 29);
	ok(device_skip(d, NULL, 0, false));
	ok(device_seek(d, FIRST - 1));
	ok(device_seek(d, 34));
	same_uploads(d, 34);
	device_close(d);
	/* The same from the window's start each time. */
	setenv("TSDB_REPLAYER_CHECKPOINTS", "0", 1);
	d = open_device(0);
	for (uint64_t seq = 28; seq <= 34; seq++) {
		ok(device_seek(d, seq));
		same_uploads(d, seq);
	}
	ok(device_seek(d, 29));
	same_uploads(d, 29);
	unsetenv("TSDB_REPLAYER_CHECKPOINTS");
	device_close(d);
}

/* Parts of different sizes take turns in two slots, each free again as soon as it was sent: 2 MiB,
 * 2 MiB, 1 MiB and 12 bytes of each payload. */
static void uploads_through_few_slots(void **state)
{
	struct device *d;

	make_trace(UPLOADS);
	setenv("TSDB_REPLAYER_SLOTS", "2", 1);
	d = open_device(0);
	ok(device_run(d, last_seq, 0, 0, NULL));
	same_uploads(d, 34);
	ok(device_seek(d, 31));
	same_uploads(d, 31);
	unsetenv("TSDB_REPLAYER_SLOTS");
	device_close(d);
}

/* A page of the payload of 31 is damaged: that copy is refused by name, as often as it is tried,
 * and what is before it can be seen. */
static void a_damaged_payload(void **state)
{
	struct device *d;

	make_trace(UPLOADS);
	damage(uploaded(2, 30000), uploaded(2, 30001));
	d = open_device(0);
	for (unsigned i = 0; i < 2; i++) {
		char *text = sentence(device_run(d, last_seq, 0, 0, NULL));

		says(text, "page 1 of");
		says(text, "#31");
		assert_int_equal(device_culprit(d, NULL), 31);
		same_uploads(d, 30);
	}
	device_close(d);
}

/* --- pinned memory --- */

/* At the end the program had changed both; of R it is known that nothing of the device's is behind
 * that. */
static void pinned_memory_of_the_programs_own(void **state)
{
	struct device_verified v;
	struct device *d;
	struct buf b = BUF_INIT;

	make_trace(OWN);
	d = open_device(0);
	v = verified(d);
	assert_true(device_verified_ok(&v));
	assert_int_equal(v.sums.pieces, 5);
	assert_int_equal(v.sums.same, 3);
	assert_int_equal(v.sums.own, 1);
	assert_int_equal(v.sums.unchecked, 1);
	assert_int_equal(v.sums.outputs_same, 1);
	for (size_t i = 0; i < v.npieces; i++)
		assert_int_equal(v.pieces[i].checked, v.pieces[i].addr == R   ? REPLAYER_OWN
						      : v.pieces[i].addr == Q ? REPLAYER_UNCHECKED
									      : REPLAYER_CHECKED);
	device_verified_print(&b, &v);
	says(buf_cstr(&b),
		"3 of 5 allocations identical (1 not compared) (1 changed by the program itself, copies to it compared)");
	buf_free(&b);
	device_verified_free(&v);
	device_close(d);
}

/* Both as a whole and node by node, by a sentence; what comes before can still be executed. */
static void graphs_that_cannot_be(void **state)
{
	static const struct {
		enum variant variant;
		const char *says;
	} rows[] = {{CIRCLE, "in a circle"},
		{DANGLING, "depends on node 7, which the graph does not have"},
		{STRANGE, "of type 200, which does not exist"}};

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t steps;
		bool hit;

		make_trace(rows[i].variant);
		struct device *d = open_device(0);
		says(sentence(device_run(d, last_seq, 0, 0, &hit)), rows[i].says);
		says(sentence(device_node(d, 25, 1, &steps)), rows[i].says);
		ok(device_seek(d, 22));
		same(d, A, at_seq[22].a);
		device_close(d);
	}
}

/* The graph of #25 adds a to b twice. */
static void nodes_one_by_one(void **state)
{
	static uint32_t want[N];
	const uint32_t word = 1;
	uint32_t steps, step;
	uint64_t seq;
	bool hit;

	make_trace(PLAIN);
	struct device *d = open_device(0);
	ok(device_seek(d, 17));
	ok(device_node(d, 25, 0, &steps));
	assert_int_equal(steps, 2);
	assert_true(device_in_graph(d, &seq, &step));
	same(d, B, at_seq[24].b);
	ok(device_node(d, 25, 1, &steps));
	for (unsigned i = 0; i < N; i++)
		want[i] = at_seq[24].b[i] + at_seq[24].a[i] + BUMP;
	same(d, B, want);
	same(d, A, at_seq[24].a);
	says(sentence(device_write(d, A, &word, 4)),
		"nothing can be changed in the middle of launch #25");
	ok(device_node(d, 25, 2, &steps));
	assert_false(device_in_graph(d, &seq, &step));
	assert_int_equal(device_seq(d), 25);
	same(d, B, at_seq[25].b);
	ok(device_node(d, 25, 1, &steps)); /* back into it */
	same(d, B, want);
	ok(device_run(d, last_seq, 0, 0, &hit)); /* whatever comes next leaves it */
	same(d, B, at_seq[last_seq].b);
	struct device_verified v;
	ok(device_verify(d, &v));
	assert_true(device_verified_ok(&v));
	device_verified_free(&v);
	says(sentence(device_node(d, 17, 1, &steps)), "is no graph launch");
	device_close(d);
}

static int clean_up(void **state)
{
	return unlink(trace_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_gpu),
		cmocka_unit_test(too_little_memory),
		cmocka_unit_test(missing_pages),
		cmocka_unit_test(a_hang_is_found),
		cmocka_unit_test(a_fault_is_found),
		cmocka_unit_test(an_address_that_is_taken),
		cmocka_unit_test(however_late_the_processor_comes),
		cmocka_unit_test(uploads_come_in_any_order),
		cmocka_unit_test(uploads_through_few_slots),
		cmocka_unit_test(a_damaged_payload),
		cmocka_unit_test(pinned_memory_of_the_programs_own),
		cmocka_unit_test(graphs_that_cannot_be),
		cmocka_unit_test(nodes_one_by_one),
	};
	const char *build = getenv("TSDB_BUILD");

	snprintf(dir, sizeof dir, "%s", build ? build : ".");
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
