/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel waits for a value, from its PTX. The kernels are written by hand, in the shapes
 * that compilers make, so what they do is known; half of them are there to be wrongly accused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/ptx-spins.h"

#define FLAG 0x302000000ull  /* parameter 0 */
#define OTHER 0x302000100ull /* parameter 1 */
#define NUMBER 7u	     /* parameter 2 */

#define HEAD                                                                                       \
	".version 8.0\n.target sm_75\n.address_size 64\n.file 1 \"/src/app.cu\"\n"                 \
	"// { a comment with things; bra L;\n"
#define REGS ".reg .b64 %rd<20>;\n.reg .b32 %r<20>;\n.reg .b16 %rs<9>;\n.reg .pred %p<9>;\n"
#define KERNEL(body)                                                                               \
	HEAD ".visible .entry k(\n.param .u64 k_param_0,\n.param .u64 .ptr .align 1 k_param_1,\n"  \
	     ".param .u32 k_param_2\n)\n.maxntid 128, 1, 1\n{\n" REGS                              \
	     "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd2, %rd1;\n"                   \
	     "ld.param.u64 %rd3, [k_param_1];\ncvta.to.global.u64 %rd4, %rd3;\n"                   \
	     "ld.param.u32 %r9, [k_param_2];\n" body "ret;\n}\n"
/* As nvcc makes `while (!*flag) __nanosleep(1000);`: the first turn stands before the loop. */
#define WAIT                                                                                       \
	".loc 1 9 3\nld.volatile.global.u32 %r1, [%rd2];\nsetp.ne.s32 %p1, %r1, 0;\n"              \
	"@%p1 bra $L2;\n$L1:\nmov.u32 %r2, 1000;\nnanosleep.u32 %r2;\n"                            \
	"ld.volatile.global.u32 %r3, [%rd2];\nsetp.eq.s32 %p2, %r3, 0;\n@%p2 bra $L1;\n$L2:\n"

struct args {
	uint64_t flag, other;
	uint32_t number, pad;
};
static const struct args args = {FLAG, OTHER, NUMBER, 0};
static const uint32_t params[] = {0, 8, 8, 8, 16, 4};
static struct ptx_spin_launch launch = {.args = &args,
	.nargs = 20,
	.params = params,
	.nparams = sizeof(params),
	.grid = {1, 1, 1},
	.block = {32, 1, 1}};

static struct ptx_spin_read at(uint64_t addr, unsigned bytes, uint64_t value)
{
	return (struct ptx_spin_read){.addr = addr, .bytes = bytes, .value = value, .known = true};
}

static struct ptx_spins ask(const char *text, const struct ptx_spin_read *known, unsigned n)
{
	/* of its own, so that a sanitizer sees what is read behind it */
	char *copy = malloc(strlen(text));
	struct ptx_spins s;

	memcpy(copy, text, strlen(text));
	ptx_spins_ask(&s, copy, strlen(text), "k", &launch, known, n);
	free(copy);
	return s;
}

/* With memory at both addresses, 4 bytes each. */
static struct ptx_spins ask_with(const char *text, uint32_t flag, uint32_t other)
{
	const struct ptx_spin_read known[] = {at(FLAG, 4, flag), at(OTHER, 4, other)};

	return ask(text, known, 2);
}

static void expect(const char *text, uint32_t flag, uint32_t other, enum ptx_spins_answer want)
{
	const struct ptx_spins s = ask_with(text, flag, other);

	if (s.answer != want)
		fail_msg("answer %d (%s), not %d, with %u and %u: %s", (int)s.answer,
			s.why ? s.why : "-", (int)want, flag, other, text);
}

/* Whatever memory holds, the answer is open, and `why` has the word. */
static void expect_open(const char *text, const char *why)
{
	static const uint32_t values[] = {0, 1, NUMBER - 1, NUMBER, UINT32_MAX};

	for (unsigned i = 0; i < 25; i++) {
		const struct ptx_spins s = ask_with(text, values[i / 5], values[i % 5]);

		if (s.answer != PTX_SPINS_OPEN || !s.why || !strstr(s.why, why))
			fail_msg("answer %d (%s), not open because it \"%s\": %s", (int)s.answer,
				s.why ? s.why : "-", why, text);
	}
}

/* --- kernels that wait --- */

static void waits_for_a_flag(void **state)
{
	struct ptx_spins s;

	(void)state;
	s = ask(KERNEL(WAIT), NULL, 0); /* what is to be read? */
	assert_int_equal(s.answer, PTX_SPINS_OPEN);
	assert_int_equal(s.nloops, 1);
	assert_int_equal(s.nreads, 1);
	assert_true(s.read[0].addr == FLAG && s.read[0].bytes == 4 && !s.read[0].known);
	s = ask_with(KERNEL(WAIT), 0, 0);
	assert_int_equal(s.answer, PTX_SPINS_WAITS);
	assert_int_equal(s.nreads, 1);
	assert_true(s.read[0].addr == FLAG && s.read[0].known && s.read[0].value == 0);
	assert_true(s.read[0].file == 1 && s.read[0].line == 9);
	expect(KERNEL(WAIT), 1, 0, PTX_SPINS_ENDS);
}

static void waits_in_other_shapes(void **state)
{
	(void)state;
	/* for a parameter's value; at an offset; by acquire; in the shape of a do-while */
	expect(KERNEL("L1:\nld.acquire.gpu.global.u32 %r1, [%rd2];\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L1;\n"),
		NUMBER - 1, 0, PTX_SPINS_WAITS);
	expect(KERNEL("L1:\nld.acquire.gpu.global.u32 %r1, [%rd2];\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L1;\n"),
		NUMBER, 0, PTX_SPINS_ENDS);
	expect(KERNEL("L1:\nld.acquire.gpu.global.s32 %r1, [%rd2];\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L1;\n"),
		UINT32_MAX, 0, PTX_SPINS_WAITS); /* -1 */
	expect(KERNEL("L1:\nld.relaxed.sys.u32 %r1, [%rd2+256];\nsetp.ne.u32 %p1, %r1, 5;\n@!%p1 bra L2;\nbra.uni L1;\nL2:\n"),
		0, 4, PTX_SPINS_WAITS);
	expect(KERNEL("L1:\nld.relaxed.sys.u32 %r1, [%rd2+256];\nsetp.ne.u32 %p1, %r1, 5;\n@!%p1 bra L2;\nbra.uni L1;\nL2:\n"),
		0, 5, PTX_SPINS_ENDS);
	/* a lock: the exchange leaves a 1 as it is, and would take a 0 */
	expect(KERNEL("L1:\natom.global.cas.b32 %r1, [%rd2], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		1, 0, PTX_SPINS_WAITS);
	expect_open(
		KERNEL("L1:\natom.global.cas.b32 %r1, [%rd2], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"
		       "st.global.u32 [%rd4], 1;\nL2:\nst.global.u32 [%rd4], %r1;\n@%p1 bra L2;\n"),
		"write");
	expect(KERNEL("L1:\natom.global.cas.b32 %r1, [%rd2], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		0, 0, PTX_SPINS_OPEN);
	/* an atomic that reads */
	expect(KERNEL("L1:\natom.global.add.u32 %r1, [%rd2], 0;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		0, 0, PTX_SPINS_WAITS);
	/* an endless loop */
	assert_int_equal(ask(KERNEL("L1:\nbra L1;\n"), NULL, 0).answer, PTX_SPINS_WAITS);
	assert_int_equal(ask(KERNEL("L1:\nbra L1;\n"), NULL, 0).nreads, 0);
}

static void an_array_of_flags(void **state)
{
	const struct ptx_spin_read known[] = {at(FLAG + 12, 1, 0x80)};
	struct ptx_spins s;

	(void)state;
	/* flags[3], a signed char: while (flags[3] < 0) */
	s = ask(KERNEL("mov.u32 %r4, 3;\nmul.wide.s32 %rd5, %r4, 4;\nadd.s64 %rd6, %rd2, %rd5;\n"
		       "L1:\nld.volatile.global.s8 %rs1, [%rd6];\nsetp.lt.s16 %p1, %rs1, 0;\n@%p1 bra L1;\n"),
		known, 1);
	assert_int_equal(s.answer, PTX_SPINS_WAITS);
	assert_true(s.nreads == 1 && s.read[0].addr == FLAG + 12 && s.read[0].bytes == 1);
}

static void waits_for_one_of_two(void **state)
{
	static const char text[] = KERNEL(WAIT
		"$L3:\nld.volatile.global.u32 %r4, [%rd4];\nsetp.eq.s32 %p3, %r4, 0;\n@%p3 bra $L3;\n");
	struct ptx_spins s;

	(void)state;
	/* A lane may have passed the first loop when its flag was another: it may be in either. */
	s = ask_with(text, 0, 0);
	assert_int_equal(s.answer, PTX_SPINS_WAITS);
	assert_int_equal(s.nreads, 2);
	s = ask_with(text, 1, 0);
	assert_int_equal(s.answer, PTX_SPINS_WAITS);
	assert_true(s.nreads == 1 && s.read[0].addr == OTHER);
	expect(text, 1, 1, PTX_SPINS_ENDS);
}

static void as_collectives_do(void **state)
{
	(void)state;
	/* *mine = round; fence; while (*other < round) */
	expect(KERNEL("st.volatile.global.u32 [%rd2], %r9;\nmembar.gl;\n$L1:\n"
		      "ld.volatile.global.u32 %r1, [%rd4];\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra $L1;\n"),
		NUMBER, 0, PTX_SPINS_WAITS);
	/* if (!threadIdx.x) {arrive; wait for all} __syncthreads(): the others wait for the first
	 */
	expect(KERNEL("mov.u32 %r8, %tid.x;\nsetp.ne.s32 %p3, %r8, 0;\n@%p3 bra $L9;\n"
		      "atom.global.add.u32 %r7, [%rd2], 1;\n" WAIT "$L9:\nbar.sync 0;\n"),
		0, 0, PTX_SPINS_WAITS);
}

/* --- kernels that do not, or of which it is not known --- */

static void loops_that_count(void **state)
{
	(void)state;
	expect_open(
		KERNEL("mov.u32 %r1, 0;\nL1:\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L1;\n"),
		"counts");
	/* gives up after a time */
	expect_open(
		KERNEL("mov.u32 %r5, 0;\nL1:\nld.volatile.global.u32 %r1, [%rd2];\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L2;\n"
		       "add.s32 %r6, %r5, 1;\nmov.u32 %r5, %r6;\nsetp.lt.s32 %p2, %r6, 1000000;\n@%p2 bra L1;\nL2:\n"),
		"counts");
	/* a wait within a loop over rounds */
	expect_open(KERNEL("mov.u32 %r5, 0;\nL0:\n" WAIT
			   "add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p3, %r5, 1000;\n@%p3 bra L0;\n"),
		"counts");
	/* the value of the last turn: while (*flag == last) last = *flag */
	expect_open(
		KERNEL("mov.u32 %r5, 0;\nL1:\nmov.u32 %r6, %r5;\nld.volatile.global.u32 %r5, [%rd2];\n"
		       "add.u32 %r5, %r5, %r6;\nsetp.eq.s32 %p1, %r5, 0;\n@%p1 bra L1;\n"),
		"counts");
	/* waits, and then works for long: a lane may be past the flag, which somebody has reset */
	expect_open(
		KERNEL(WAIT
			"mov.u32 %r5, 0;\nL5:\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p3, %r5, 1000000000;\n@%p3 bra L5;\n"),
		"counts");
}

static void loops_that_write(void **state)
{
	(void)state;
	expect_open(
		KERNEL("L1:\nst.volatile.global.u32 [%rd4], 1;\nld.volatile.global.u32 %r1, [%rd2];\n"
		       "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"write");
	/* the volatile that it waits for is changed by itself */
	expect_open(
		KERNEL("L1:\nld.volatile.global.u32 %r1, [%rd2];\nst.volatile.global.u32 [%rd2], %r9;\n"
		       "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"write");
	expect_open(
		KERNEL("L1:\natom.global.add.u32 %r1, [%rd2], 1;\nsetp.lt.s32 %p1, %r1, 1000;\n@%p1 bra L1;\n"),
		"write");
	expect_open(KERNEL("L1:\nred.global.add.u32 [%rd2], 1;\nbra L1;\n"), "write");
	/* a guard does not make it harmless */
	expect_open(
		KERNEL("L1:\nld.volatile.global.u32 %r1, [%rd2];\nsetp.eq.s32 %p1, %r1, 77;\n"
		       "@%p1 st.global.u32 [%rd4], 1;\nsetp.eq.s32 %p2, %r1, 0;\n@%p2 bra L1;\n"),
		"write");
	/* an atomic whose operand is not known */
	expect_open(KERNEL("ld.global.u32 %r7, [%rd4];\nL1:\natom.global.or.b32 %r1, [%rd2], %r7;\n"
			   "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"write");
}

static void loops_that_read_other_things(void **state)
{
	(void)state;
	expect_open(
		KERNEL("mov.u64 %rd7, %clock64;\nL1:\nmov.u64 %rd8, %clock64;\nsub.s64 %rd9, %rd8, %rd7;\n"
		       "setp.lt.u64 %p1, %rd9, 1000000;\n@%p1 bra L1;\n"),
		"clock");
	expect_open(KERNEL("L1:\nmov.u64 %rd8, %globaltimer;\nld.volatile.global.u32 %r1, [%rd2];\n"
			   "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"clock");
	/* shared memory, other lanes */
	expect_open(
		KERNEL("mov.u32 %r5, 0;\nL1:\nld.volatile.shared.u32 %r1, [%r5];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"depends");
	expect_open(
		KERNEL("L1:\nld.volatile.global.u32 %r1, [%rd2];\nbar.sync 0;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"not enough is known");
	expect_open(
		KERNEL("L1:\nld.volatile.global.u32 %r1, [%rd2];\nvote.sync.any.pred %p1, %p2, -1;\n@%p1 bra L1;\n"),
		"not enough is known");
	/* memory that it need not read again */
	expect_open(
		KERNEL("L1:\nld.global.u32 %r1, [%rd2];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"depends");
	/* an address from memory; one for each lane */
	expect_open(
		KERNEL("ld.global.u64 %rd5, [%rd2];\nL1:\nld.volatile.global.u32 %r1, [%rd5];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"depends");
	expect_open(
		KERNEL("mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd2, %rd5;\nL1:\n"
		       "ld.volatile.global.u32 %r1, [%rd6];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\n"),
		"depends");
	/* a number that is no integer */
	expect_open(
		KERNEL("L1:\nld.volatile.global.f32 %f1, [%rd2];\nsetp.eq.f32 %p1, %f1, 0f00000000;\n@%p1 bra L1;\n"),
		"depends");
	/* a condition that has more to it */
	expect_open(
		KERNEL("ld.global.u32 %r5, [%rd4];\nsetp.eq.s32 %p3, %r5, 0;\nL1:\nld.volatile.global.u32 %r1, [%rd2];\n"
		       "setp.eq.and.s32 %p1, %r1, 0, %p3;\n@%p1 bra L1;\n"),
		"depends");
}

static void code_that_is_not_looked_into(void **state)
{
	(void)state;
	expect_open(KERNEL(WAIT "mov.u64 %rd9, f;\ncall %rd9, (), proto;\n"), "calls");
	expect_open(KERNEL(WAIT "{\n.param .b32 retval0;\ncall.uni (retval0), helper, ();\n}\n"),
		"calls");
	expect_open(
		KERNEL(WAIT "ts: .branchtargets L1, L2;\nL1:\nL2:\nbrx.idx %r1, ts;\n"), "table");
	expect_open(KERNEL(WAIT "griddepcontrol.wait;\n"), "launches");
	expect_open(KERNEL("bra NOWHERE;\n"), "not there");
	expect_open(KERNEL("{\nL1:\n}\n{\nL1:\nbra L1;\n}\n"), "one name");
	expect_open(HEAD ".visible .entry other(.param .u64 a)\n{\nret;\n}\n", "does not have it");
	expect_open("", "does not have it");
	/* printf only prints */
	expect(KERNEL(WAIT
		       "{\n.param .b32 retval0;\ncall.uni (retval0), vprintf, (param0, param1);\n"
		       "ld.param.b32 %r7, [retval0+0];\n}\n"),
		0, 0, PTX_SPINS_WAITS);
}

/* Two registers of one name, in scopes of their own, are one here: it has no value unless both have
 * the same. */
static void scopes(void **state)
{
	static const char text[] =
		KERNEL("{\n.reg .pred p;\nsetp.eq.s32 p, %r9, 99;\n@p bra L2;\n}\n"
		       "{\n.reg .pred p;\nL1:\nld.volatile.global.u32 %r1, [%rd2];\n"
		       "setp.eq.s32 p, %r1, 0;\n@p bra L1;\n}\nL2:\n");

	(void)state;
	expect(text, 0, 0, PTX_SPINS_OPEN);
	expect(text, 1, 0, PTX_SPINS_ENDS);
}

/* Somebody is in the loop only if all come there, or few lanes exist at all. */
static void large_grids(void **state)
{
	static const char some[] =
		KERNEL("mov.u32 %r8, %ctaid.x;\nsetp.ne.s32 %p3, %r8, 77;\n@%p3 bra $L9;\n" WAIT
		       "$L9:\nst.global.u32 [%rd4], 1;\n");
	static const char first_lanes[] =
		KERNEL("mov.u32 %r8, %tid.x;\nsetp.ne.s32 %p3, %r8, 0;\n@%p3 bra $L9;\n" WAIT
		       "$L9:\nbar.sync 0;\nst.global.u32 [%rd4], 1;\n");
	const struct ptx_spin_launch was = launch;

	(void)state;
	expect(some, 0, 0, PTX_SPINS_ENDS); /* there is no block 77 */
	launch.grid[0] = 100;
	expect(some, 0, 0, PTX_SPINS_WAITS);
	launch.grid[0] = 1u << 20;
	expect_open(some, "many threads");
	expect(KERNEL(WAIT), 0, 0, PTX_SPINS_WAITS);
	expect(KERNEL(WAIT "st.global.u32 [%rd4], 1;\n"), 0, 0, PTX_SPINS_WAITS);
	expect(first_lanes, 0, 0, PTX_SPINS_WAITS);
	/* it ends, but not soon */
	expect(first_lanes, 1, 0, PTX_SPINS_OPEN);
	launch.grid[0] = launch.grid[1] = launch.grid[2] = launch.block[1] = UINT64_MAX;
	expect_open(some, "many threads");
	launch = was;
}

static void arguments_that_lie(void **state)
{
	static const uint32_t outside[] = {0, 8, 4096, 8, UINT32_MAX, 4};
	static const uint32_t narrow[] = {0, 4, 8, 8, 16, 4};
	const struct ptx_spin_launch was = launch;

	(void)state;
	launch.params = NULL;
	launch.nparams = 0;
	expect_open(KERNEL(WAIT), "depends");
	launch.nparams = 3; /* not even one pair */
	launch.params = params;
	expect_open(KERNEL(WAIT), "depends");
	launch.params = narrow; /* the parameter is smaller than what is loaded */
	launch.nparams = sizeof(narrow);
	expect_open(KERNEL(WAIT), "depends");
	launch.params = outside; /* only parameter 0 is there */
	expect(KERNEL(WAIT), 0, 0, PTX_SPINS_WAITS);
	launch.nargs = 7;
	expect_open(KERNEL(WAIT), "depends");
	launch = was;
}

/* A value that was read with another width is another one. */
static void other_bytes(void **state)
{
	const struct ptx_spin_read wide[] = {at(FLAG, 8, 0)}, behind[] = {at(FLAG + 4, 4, 0)};

	(void)state;
	assert_int_equal(ask(KERNEL(WAIT), wide, 1).answer, PTX_SPINS_OPEN);
	assert_int_equal(ask(KERNEL(WAIT), behind, 1).answer, PTX_SPINS_OPEN);
}

static void names_of_files(void **state)
{
	static const char text[] = KERNEL(WAIT);
	const char *name;

	(void)state;
	assert_int_equal(ptx_file_name(text, strlen(text), 1, &name), 11);
	assert_memory_equal(name, "/src/app.cu", 11);
	assert_int_equal(ptx_file_name(text, strlen(text), 2, &name), 0);
	assert_int_equal(ptx_file_name(".file 1 \"/a", 11, 1, &name), 0);
	assert_int_equal(ptx_file_name(".file", 5, 0, &name), 0);
}

/* Cut anywhere, and with any byte another: nothing is read outside, nothing runs for ever, and what
 * is no loop that waits is not called one because of what is missing. */
static void damaged_text(void **state)
{
	static const char text[] = KERNEL(WAIT "st.global.u32 [%rd4], 1;\n");
	const struct ptx_spin_read known[] = {at(FLAG, 4, 0)};
	struct ptx_spins s;
	uint32_t seed = 1;

	(void)state;
	for (size_t n = 0; n <= strlen(text); n++) {
		char *copy = malloc(n ? n : 1);

		memcpy(copy, text, n);
		ptx_spins_ask(&s, copy, n, "k", &launch, known, 1);
		free(copy);
	}
	for (unsigned i = 0; i < 3000; i++) {
		char copy[sizeof text];

		memcpy(copy, text, sizeof text);
		for (unsigned k = 0; k <= i % 3; k++) {
			seed = seed * 1664525 + 1013904223;
			copy[(seed >> 8) % (sizeof text - 1)] = (char)(seed >> 24);
		}
		ptx_spins_ask(&s, copy, sizeof text - 1, "k", &launch, known, 1);
		assert_true(s.nreads <= PTX_SPIN_READS);
		assert_true(s.answer != PTX_SPINS_OPEN || s.why);
	}
}

/* A long chain is no deep recursion, and registers that make one another known backwards are given
 * up. */
static void long_text(void **state)
{
	const size_t lines = 100000;
	char *text = malloc(lines * 40 + 4096), *p = text;

	(void)state;
	p += sprintf(p, "%s", HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %x<9>;\n");
	for (size_t i = 0; i < lines; i++)
		p += sprintf(p, "L%zu:\n@%%p1 bra L%zu;\n", i, (i + 1) % lines);
	p += sprintf(p, "ret;\n}\n");
	expect(text, 0, 0, PTX_SPINS_OPEN);
	p = text + sprintf(text, "%s", HEAD ".visible .entry k(.param .u64 a)\n{\n");
	for (size_t i = 0; i < 1000; i++)
		p += sprintf(p, "mov.u32 %%x%zu, %%x%zu;\n", i, i + 1);
	p += sprintf(
		p, "mov.u32 %%x1000, 0;\nsetp.eq.s32 %%p1, %%x0, 0;\nL:\n@%%p1 bra L;\nret;\n}\n");
	expect(text, 0, 0, PTX_SPINS_OPEN);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_a_flag),
		cmocka_unit_test(waits_in_other_shapes),
		cmocka_unit_test(an_array_of_flags),
		cmocka_unit_test(waits_for_one_of_two),
		cmocka_unit_test(as_collectives_do),
		cmocka_unit_test(loops_that_count),
		cmocka_unit_test(loops_that_write),
		cmocka_unit_test(loops_that_read_other_things),
		cmocka_unit_test(code_that_is_not_looked_into),
		cmocka_unit_test(scopes),
		cmocka_unit_test(large_grids),
		cmocka_unit_test(arguments_that_lie),
		cmocka_unit_test(other_bytes),
		cmocka_unit_test(names_of_files),
		cmocka_unit_test(damaged_text),
		cmocka_unit_test(long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
