/* SPDX-License-Identifier: Apache-2.0
 *
 * dprintf's probes in a live program: records in the file that TSDB_SOFT_PROBES names, which the
 * library maps when it is loaded (src/replayer/soft-probe.h). This program makes the file and
 * starts itself again with it.
 */
#include "softgpu-test.h"

#include "replayer/soft-probe.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Line 7 of the source: threads below 40 only. */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".file 1 \"/src/show.cu\"\n"
	".visible .entry show(.param .u32 n) {\n"
	".reg .s32 %r<6>; .reg .u32 %w<2>; .reg .f32 %f<2>; .reg .f64 %g<2>; .reg .b64 %d<2>; .reg .pred %p<2>;\n"
	".loc 1 5 0\n"
	"	mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shr.s32 %r2, %r0, 4; sub.s32 %r3, %r2, 5;\n"
	"	cvt.rn.f32.s32 %f0, %r3; mul.f32 %f0, %f0, 0f3F000000; cvt.f64.f32 %g0, %f0; mov.u32 %w0, 9;\n"
	"	setp.ge.s32 %p0, %r0, 40;\n"
	"	@%p0 bra E;\n"
	".loc 1 7 0\n"
	"	add.s32 %r4, %r0, 1;\n"
	"E:\n"
	".loc 1 9 0\n"
	"	add.s32 %r5, %r0, 2;\n"
	"	ret;\n"
	"}\n";

static struct soft_probe_area *area;
static CUfunction kernel;
static uint64_t launches;

static int start(void **state)
{
	CUmodule module;
	int fd = open(getenv("TSDB_SOFT_PROBES"), O_RDWR);

	area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(area != MAP_FAILED);
	close(fd);
	softgpu_start(state);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&kernel, module, "show"));
	return 0;
}

static struct soft_probe probe(
	unsigned line, const char *expr, const char *condition, uint32_t limit)
{
	struct soft_probe p = {
		.id = 70 + line, .kind = SOFT_PROBE_PRINT, .line = line, .limit = limit};

	strcpy(p.file, "show.cu");
	strcpy(p.expr, expr);
	strcpy(p.condition, condition);
	return p;
}

/* Sets the probes as tsdb does, while nothing runs, and launches; returns how many records came. */
static unsigned records(const struct soft_probe *p, unsigned n, unsigned blocks, unsigned threads)
{
	const uint64_t before = atomic_load(&area->printed);
	int k = 0;
	void *args[] = {&k};

	area->n = 0;
	memcpy(area->probe, p, n * sizeof *p);
	atomic_fetch_add(&area->generation, 1);
	area->n = n;
	OK(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	launches++;
	return (unsigned)(atomic_load(&area->printed) - before);
}

/* Takes the oldest record that is left. */
static struct soft_print take(void)
{
	const uint64_t at = atomic_load(&area->taken);

	assert_true(at < atomic_load(&area->printed));
	atomic_store(&area->taken, at + 1);
	return area->print[at % SOFT_PRINTS];
}

static void value_is(
	const struct soft_print *r, unsigned k, unsigned type, unsigned bytes, uint64_t bits)
{
	assert_false(r->bad >> k & 1);
	assert_int_equal(r->value[k].type, type);
	assert_int_equal(r->value[k].bytes, bytes);
	assert_int_equal(r->value[k].bits, bits);
}

/* Lanes of a warp that have the same values are one record. */
static void test_lanes_are_joined(void **state)
{
	static const struct {
		uint64_t lanes;
		uint32_t thread, more;
	} want[] = {{0xffff, 0, 0}, {0xffff0000, 16, 1}, {0xff, 32, 0}};
	const struct soft_probe p = probe(7, "%r2, %r1", "", 0);

	assert_int_equal(records(&p, 1, 2, 64), 6);
	for (unsigned k = 0; k < 6; k++) {
		const struct soft_print r = take();

		assert_int_equal(r.id, 77);
		assert_int_equal(r.launch, launches);
		assert_int_equal(r.lanes, want[k % 3].lanes);
		assert_int_equal(r.more, want[k % 3].more);
		assert_int_equal(r.block[0], k / 3);
		assert_int_equal(r.block[1], 0);
		assert_int_equal(r.thread[0], want[k % 3].thread);
		assert_int_equal(r.bad, 0);
		value_is(&r, 0, SOFT_INT, 4, k % 3);
		value_is(&r, 1, SOFT_INT, 4, k / 3);
	}
}

static void test_types(void **state)
{
	const struct soft_probe p =
		probe(7, "%r0 - 2, %w0,%f0 , %g0, (%r0 + 3), %f0 * 2", "%r0 == 1", 0);
	const float f = -2.5f;
	const double d = -2.5;
	uint32_t f_bits;
	uint64_t d_bits;
	struct soft_print r;

	memcpy(&f_bits, &f, sizeof f);
	memcpy(&d_bits, &d, sizeof d);
	assert_int_equal(records(&p, 1, 1, 64), 1);
	r = take();
	assert_int_equal(r.lanes, 2);
	assert_int_equal(r.thread[0], 1);
	assert_int_equal(r.bad, 0);
	assert_int_equal(r.value[0].type, SOFT_INT);
	assert_int_equal((int32_t)r.value[0].bits, -1);
	value_is(&r, 1, SOFT_UINT, 4, 9);
	value_is(&r, 2, SOFT_FLOAT, 4, f_bits);
	value_is(&r, 3, SOFT_FLOAT, 8, d_bits);
	assert_int_equal((int32_t)r.value[4].bits, 4);
	assert_int_equal(r.value[5].type, SOFT_FLOAT);
}

/* An expression without a value leaves the others theirs; what is behind the eighth is cut. */
static void test_no_value(void **state)
{
	const struct soft_probe some = probe(7, "%nix, %r0, %r0 - 8, u32[0]", "%r0 < 2", 0);
	const struct soft_probe nine = probe(7, "0,1,2,3,4,5,6,7,8", "%r0 == 0", 0);
	struct soft_print r;

	assert_int_equal(records(&some, 1, 1, 32), 2);
	r = take();
	assert_int_equal(r.bad, 1 | 8);
	value_is(&r, 1, SOFT_INT, 4, 0);
	assert_int_equal((int32_t)r.value[2].bits, -8);
	r = take();
	assert_int_equal(r.bad, 1 | 8);
	value_is(&r, 1, SOFT_INT, 4, 1);
	assert_int_equal((int32_t)r.value[2].bits, -7);
	assert_int_equal(records(&nine, 1, 1, 32), 1);
	r = take();
	assert_int_equal(r.bad, 0);
	for (unsigned k = 0; k < SOFT_PRINT_ARGS; k++)
		assert_int_equal(r.value[k].bits, k);
}

/* Behind the limit lanes are counted, and passes of warps of which nothing was printed. */
static void test_limit(void **state)
{
	const struct soft_probe p[] = {probe(9, "%r0", "%r0 == 0", 0), probe(7, "%r2", "", 1)};
	unsigned seen = 0;

	assert_int_equal(records(p, 2, 1, 64), 3);
	for (unsigned k = 0; k < 3; k++) {
		const struct soft_print r = take();

		if (r.id == 79) {
			assert_int_equal(r.lanes, 1);
			seen |= 1;
		} else if (r.lanes) {
			assert_int_equal(r.id, 77);
			assert_int_equal(r.lanes, 0xffff);
			seen |= 2;
		} else { /* the second half of warp 0, and warp 1 */
			assert_int_equal(r.id, 77);
			assert_int_equal(r.left, 16 + 8);
			assert_int_equal(r.passes, 1);
			assert_int_equal(k, 2);
			seen |= 4;
		}
	}
	assert_int_equal(seen, 7);
}

/* Records go round; where nobody took any in time they are counted, and overwrite nothing. */
static void test_room(void **state)
{
	const struct soft_probe p = probe(7, "%r2", "", 0);
	struct soft_print r;

	atomic_store(&area->printed, 3ull * SOFT_PRINTS - 2);
	atomic_store(&area->taken, 3ull * SOFT_PRINTS - 2);
	assert_int_equal(records(&p, 1, 1, 64), 3);
	assert_int_equal(area->print[SOFT_PRINTS - 1].value[0].bits, 1);
	assert_int_equal(area->print[0].value[0].bits, 2);
	for (unsigned k = 0; k < 3; k++) {
		r = take();
		assert_int_equal(r.value[0].bits, k);
	}
	assert_int_equal(atomic_load(&area->lost), 0);

	atomic_store(&area->taken, atomic_load(&area->printed) - SOFT_PRINTS + 1);
	atomic_store(&area->lost, 5); /* nobody has been there for long: it does not wait */
	memset(area->print, 0xee, sizeof area->print);
	assert_int_equal(records(&p, 1, 1, 64), 1);
	assert_int_equal(atomic_load(&area->lost), 7);
	assert_int_equal(area->print[1].value[0].bits, 0);
	assert_int_equal(area->print[2].lanes, 0xeeeeeeeeeeeeeeee);
	atomic_store(&area->lost, 0);
	atomic_store(&area->taken, atomic_load(&area->printed));
}

/* The file without which the library has no probes. */
static void start_again(char **argv)
{
	static struct soft_probe_area a = {.magic = SOFT_PROBE_MAGIC, .size = sizeof a};
	char path[] = "/tmp/tsdb-prints-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, &a, sizeof a) != sizeof a)
		exit(1);
	setenv("TSDB_SOFT_PROBES", path, 1);
	execv("/proc/self/exe", argv);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lanes_are_joined),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_no_value),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_room),
	};
	int failed;

	(void)argc;
	if (!getenv("TSDB_SOFT_PROBES"))
		start_again(argv);
	failed = cmocka_run_group_tests_name("softgpu prints", tests, start, softgpu_stop);
	unlink(getenv("TSDB_SOFT_PROBES"));
	return failed;
}
