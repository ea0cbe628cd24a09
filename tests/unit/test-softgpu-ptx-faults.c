/* SPDX-License-Identifier: Apache-2.0
 *
 * What one thread of many does wrong, and what it does just not wrong: the fault's code, block,
 * thread, line, address and size, and the text that names them. The instruction at fault is the one
 * behind ~, which begins a line. What is wrong is what PTX calls an error or undefined ("PTX ISA
 * 9.0", 9.7): addresses outside of memory, or no multiple of the access; barriers that do not
 * exist; mbarriers that were not initialised, or count too much; masks without their own lane.
 */
#include "counted-handlers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define BUFFER 4100 /* bytes of global memory; the last four are no whole u64 */
#define SHARED 256
#define LOCAL 64

enum base { NUMBER, GLOBAL, READ_ONLY, NONE };
struct row {
	const char *body;
	enum ptx_fault_code code;
	enum base base;
	uint64_t addr;
	unsigned size;
	const char *what; /* the fault's text has it */
};

/* %d0: global memory; %d8: some that is only read; %r0: the thread's number; %p0: it is the one;
 * %p1: it is not. BAD(kind, wrong, right): register 1 of that kind holds one or the other. */
#define BAD64(wrong, right)                                                                        \
	"mov.u64 %d2, " wrong "; mov.u64 %d3, " right "; selp.b64 %d1, %d2, %d3, %p0;"
#define BAD32(wrong, right) "selp.b32 %r1, " wrong ", " right ", %p0;"
#define OFF64(wrong) "add.u64 %d2, %d0, " wrong "; selp.b64 %d1, %d2, %d0, %p0;"
#define CALL(what, proto)                                                                          \
	"{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; ~call (y), " what ", (x)" proto    \
	"; }"
#define ABOVE "mov.u64 %d2, s; add.u64 %d3, %d2, 0x100000000; selp.b64 %d1, %d3, %d2, %p0; "
#define ALONE "@%p1 bra END;"
#define FULL "setp.ge.u32 %p3, %r0, 64; @%p3 bra END;" /* whole warps */
#define INIT(count) "@%p1 bra END; mbarrier.init.shared.b64 [bar], " count ";"

static const struct row rows[] = {
	/* --- loads and stores --- */
	{BAD64("8", "%d0") "~ld.global.u32 %r2, [%d1+4];", PTX_ILLEGAL_ADDRESS, NUMBER, 12, 4},
	{BAD64("8", "%d0") "~ld.u32 %r2, [%d1];", PTX_ILLEGAL_ADDRESS, NUMBER, 8, 4},
	{BAD64("8", "%d0") "~st.global.u8 [%d1], 1;", PTX_ILLEGAL_ADDRESS, NUMBER, 8, 1},
	{BAD64("16", "%d0") "~ld.global.v2.u64 {%d4, %d5}, [%d1];", PTX_ILLEGAL_ADDRESS, NUMBER, 16,
		16},
	{BAD64("16", "%d0") "~st.global.v4.u32 [%d1], {%r1, %r1, %r1, %r1};", PTX_ILLEGAL_ADDRESS,
		NUMBER, 16, 16},
	{OFF64("4096") "~ld.global.u64 %d4, [%d1];", PTX_ILLEGAL_ADDRESS, GLOBAL, 4096, 8},
	{OFF64("4096") "~st.global.u64 [%d1], %d0;", PTX_ILLEGAL_ADDRESS, GLOBAL, 4096, 8},
	{OFF64("4096") "~ld.global.u32 %r2, [%d1];", PTX_OK},
	{OFF64("4088") "~ld.global.u64 %d4, [%d1];", PTX_OK},
	{OFF64("4099") "~st.global.u8 [%d1], 1;", PTX_OK},
	{OFF64("2") "~ld.global.u32 %r2, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 2, 4},
	{OFF64("1") "~ld.global.u16 %h1, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 1, 2},
	{OFF64("4") "~ld.global.u64 %d4, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 4, 8},
	{OFF64("4") "~ld.global.f64 %g1, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 4, 8},
	{OFF64("8") "~ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];", PTX_MISALIGNED_ADDRESS,
		GLOBAL, 8, 16},
	{OFF64("4") "~ld.global.v2.u32 {%r2, %r3}, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 4, 8},
	{OFF64("8") "~ld.global.v2.u32 {%r2, %r3}, [%d1];", PTX_OK},
	{OFF64("3") "~st.global.u32 [%d1], %r0;", PTX_MISALIGNED_ADDRESS, GLOBAL, 3, 4},
	{OFF64("2") "~st.global.u64 [%d1+8], %d0;", PTX_MISALIGNED_ADDRESS, GLOBAL, 10, 8},
	{OFF64("2") "~st.global.v2.u16 [%d1], {%h1, %h1};", PTX_MISALIGNED_ADDRESS, GLOBAL, 2, 4},
	{OFF64("8") "~st.global.v2.u64 [%d1], {%d0, %d0};", PTX_MISALIGNED_ADDRESS, GLOBAL, 8, 16},
	{BAD32("128000", "0") "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ~ld.shared.u32 %r3, [%r1+4];",
		PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	{BAD32("128000", "0") "~st.shared.u32 [%r1], %r0;", PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	{BAD32("1", "0") "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ~ld.shared.u16 %h1, [%r1];",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 2},
	{BAD32("4", "0") "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ~st.shared.u64 [%r1], %d0;",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 8},
	{BAD32("252", "0") "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ~st.shared.u32 [%r1], %r0;",
		PTX_OK},
	{BAD32("100000", "0") "mov.u32 %r2, loc; add.u32 %r1, %r1, %r2; ~ld.local.u32 %r3, [%r1];",
		PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	{BAD32("2", "0") "mov.u32 %r2, loc; add.u32 %r1, %r1, %r2; ~st.local.u32 [%r1], %r0;",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 4},
	{BAD32("60", "0") "mov.u32 %r2, loc; add.u32 %r1, %r1, %r2; ~st.local.u32 [%r1], %r0;",
		PTX_OK},
	/* --- memory that is only read --- */
	{BAD64("%d8", "%d0") "~st.global.u32 [%d1], %r0;", PTX_ILLEGAL_ADDRESS, READ_ONLY, 0, 4},
	{BAD64("%d8", "%d0") "~st.u64 [%d1+8], %d0;", PTX_ILLEGAL_ADDRESS, READ_ONLY, 8, 8},
	{BAD64("%d8", "%d0") "~st.global.v4.u32 [%d1], {%r0, %r0, %r0, %r0};", PTX_ILLEGAL_ADDRESS,
		READ_ONLY, 0, 16},
	{BAD64("%d8", "%d0") "~atom.global.add.u32 %r2, [%d1], 1;", PTX_ILLEGAL_ADDRESS, READ_ONLY,
		0, 4},
	{BAD64("%d8", "%d0") "~red.global.max.u64 [%d1], 1;", PTX_ILLEGAL_ADDRESS, READ_ONLY, 0, 8},
	{BAD64("%d8", "%d0") "~ld.global.v2.u64 {%d4, %d5}, [%d1];", PTX_OK},
	{OFF64("2") "~atom.global.add.u32 %r2, [%d1], 1;", PTX_MISALIGNED_ADDRESS, GLOBAL, 2, 4},
	{OFF64("4") "~atom.global.exch.b64 %d4, [%d1], %d0;", PTX_MISALIGNED_ADDRESS, GLOBAL, 4, 8},
	{BAD64("32", "%d0") "~atom.global.cas.b32 %r2, [%d1], 0, 1;", PTX_ILLEGAL_ADDRESS, NUMBER,
		32, 4},
	{BAD64("32", "%d0") "~red.global.add.u64 [%d1], 1;", PTX_ILLEGAL_ADDRESS, NUMBER, 32, 8},
	{BAD32("2",
		 "0") "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ~atom.shared.add.u32 %r3, [%r1], 1;",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 4},
	{BAD64("16", "%d0") "~atom.global.v2.f32.add {%f1, %f2}, [%d1], {%f3, %f3};",
		PTX_ILLEGAL_ADDRESS, NUMBER, 16, 8},
	{OFF64("4") "~red.global.v2.f32.add [%d1], {%f3, %f3};", PTX_MISALIGNED_ADDRESS, GLOBAL, 4,
		8},
	{BAD64("%d8", "%d0") "~atom.global.exch.b128 %q1, [%d1], %q0;", PTX_ILLEGAL_ADDRESS,
		READ_ONLY, 0, 16},
	{BAD64("%d8", "%d0") "~atom.global.cas.b128 %q1, [%d1], %q0, %q0;", PTX_ILLEGAL_ADDRESS,
		READ_ONLY, 0, 16},
	{BAD64("%d8", "%d0") "~red.global.v2.f32.add [%d1], {%f3, %f3};", PTX_ILLEGAL_ADDRESS,
		READ_ONLY, 0, 8},
	{BAD64("%d8", "%d0") "~st.global.b128 [%d1], %q0;", PTX_ILLEGAL_ADDRESS, READ_ONLY, 0, 16},
	{OFF64("8") "~atom.global.exch.b128 %q1, [%d1], %q0;", PTX_MISALIGNED_ADDRESS, GLOBAL, 8,
		16},
	{OFF64("8") "~ld.global.b128 %q1, [%d1];", PTX_MISALIGNED_ADDRESS, GLOBAL, 8, 16},
	/* --- matrices: the lane whose row it is --- */
	{FULL "mov.u32 %r2, s; " BAD32("128000",
		 "%r2") "~ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];",
		PTX_ILLEGAL_ADDRESS, NONE, 0, 16},
	{FULL "mov.u32 %r2, s; add.u32 %r3, %r2, 8; " BAD32("%r3",
		 "%r2") "~ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 16},
	{ALONE "~mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r4}, {%r5}, {%r2, %r3};",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not all 32 lanes"},
	/* --- cp.async --- */
	{"mov.u32 %r2, s; add.u32 %r3, %r2, 4; " BAD32(
		 "%r3", "%r2") "~cp.async.ca.shared.global [%r1], [%d0], 8;",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 8},
	{"mov.u32 %r2, s; " OFF64("8") "~cp.async.cg.shared.global [%r2], [%d1], 16;",
		PTX_MISALIGNED_ADDRESS, GLOBAL, 8, 16},
	{"mov.u32 %r2, s; " BAD64("64", "%d0") "~cp.async.ca.shared.global [%r2], [%d1], 4;",
		PTX_ILLEGAL_ADDRESS, NUMBER, 64, 4},
	{"mov.u32 %r2, s; " BAD64("64", "%d0") "~cp.async.ca.shared.global [%r2], [%d1], 4, 0;",
		PTX_OK},
	{"mov.u32 %r2, s; " BAD32("9", "8") "~cp.async.ca.shared.global [%r2], [%d0], 8, %r1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "src-size is more than cp-size"},
	{"mov.u32 %r2, s; " BAD32("128000", "%r2") "~cp.async.ca.shared.global [%r1], [%d0], 4;",
		PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	/* --- above the 4 GiB of a space --- */
	{ABOVE "~ld.shared.u32 %r2, [%d1];", PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	{ABOVE "~cp.async.ca.shared.global [%d1], [%d0], 4;", PTX_ILLEGAL_ADDRESS, NONE, 0, 4},
	{ABOVE "~atom.shared.exch.b128 %q1, [%d1], %q0;", PTX_ILLEGAL_ADDRESS, NONE, 0, 16},
	{ABOVE "~mapa.shared::cluster.u64 %d4, %d1, 0;", PTX_ILLEGAL_ADDRESS, NONE, 0, 0,
		"not an address of shared memory"},
	{ABOVE "~getctarank.shared::cluster.u64 %r2, %d1;", PTX_ILLEGAL_ADDRESS, NONE, 0, 0,
		"not an address of shared memory"},
	/* --- bulk copies --- */
	{INIT("1") "mov.u32 %r2, s; ~cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], 24, [bar];",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not a multiple of 16"},
	{INIT("1") "mov.u32 %r2, s; ~cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+8], [%d0], 16, [bar];",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 16},
	{INIT("1") "mov.u32 %r2, s; ~cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0+8], 32, [bar];",
		PTX_MISALIGNED_ADDRESS, GLOBAL, 8, 32},
	{INIT("1") "mov.u32 %r2, s; ~cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], 16, [s+4];",
		PTX_MISALIGNED_ADDRESS, NONE, 0, 8},
	{ALONE "mov.u32 %r2, s; ~cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r2], 40;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not a multiple of 16"},
	{ALONE "mov.u32 %r2, s; mov.u64 %d1, 32; ~cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 32;",
		PTX_ILLEGAL_ADDRESS, NUMBER, 32, 32},
	{ALONE "mov.u32 %r1, 24; ~cp.async.bulk.prefetch.L2.global [%d0], %r1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not a multiple of 16"},
	{ALONE "mov.u32 %r1, 32; ~cp.async.bulk.prefetch.L2.global [%d0], %r1;", PTX_OK},
	{ALONE "mov.u32 %r2, s; ~cp.async.bulk.global.shared::cta.bulk_group [%d8], [%r2], 32;",
		PTX_ILLEGAL_ADDRESS, READ_ONLY, 0, 32},
	{INIT("1") "mov.u32 %r2, s; ~cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d8], 16, [bar];",
		PTX_OK},
	{ALONE "mov.u64 %d1, 16; ~st.bulk [%d8], %d1, 0;", PTX_ILLEGAL_ADDRESS, READ_ONLY, 0, 16},
	{ALONE "mov.u64 %d1, 12; ~st.bulk.shared::cta [s], %d1, 0;", PTX_ILLEGAL_INSTRUCTION, NONE,
		0, 0, "no multiple of 8"},
	{ALONE "mov.u64 %d1, 16777224; ~st.bulk [%d0], %d1, 0;", PTX_ILLEGAL_INSTRUCTION, NONE, 0,
		0, "above 16777216"},
	{ALONE "mov.u64 %d1, 16777216; ~st.bulk [%d0], %d1, 0;", PTX_ILLEGAL_ADDRESS, GLOBAL, 0,
		16777216},
	{ALONE "mov.u64 %d1, 4096; ~st.bulk [%d0], %d1, 0;", PTX_OK},
	{ALONE "mov.u64 %d1, 256; ~st.bulk.shared::cta [s], %d1, 0;", PTX_OK},
	/* --- mbarriers --- */
	{ALONE "~mbarrier.arrive.shared.b64 %d1, [bar];", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not initialised"},
	{ALONE "~mbarrier.inval.shared.b64 [bar];", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not initialised"},
	{ALONE "~mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;", PTX_ILLEGAL_INSTRUCTION,
		NONE, 0, 0, "not initialised"},
	{INIT("1") "mbarrier.inval.shared.b64 [bar]; ~mbarrier.arrive.shared.b64 %d1, [bar];",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not initialised"},
	{ALONE "~mbarrier.init.shared.b64 [bar], 0;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"this number of arrivals"},
	{ALONE "~mbarrier.init.shared.b64 [bar], 1048576;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"this number of arrivals"},
	{ALONE "~mbarrier.init.shared.b64 [bar], 1048575;", PTX_OK},
	{ALONE "~mbarrier.init.shared.b64 [s+4], 1;", PTX_MISALIGNED_ADDRESS, NONE, 0, 8},
	{INIT("2") "mbarrier.arrive.noComplete.shared.b64 %d1, [bar], 1; mbarrier.arrive.shared.b64 %d1, [bar]; mbarrier.arrive.shared.b64 %d1, [bar];",
		PTX_OK},
	{INIT("2") "~mbarrier.arrive.shared.b64 %d1, [bar], 3;", PTX_ILLEGAL_INSTRUCTION, NONE, 0,
		0, "more arrivals at an mbarrier than it expects"},
	{INIT("2") "~mbarrier.arrive.shared.b64 %d1, [bar], 2;", PTX_OK},
	{INIT("2") "~mbarrier.arrive.shared.b64 %d1, [bar], 0;", PTX_ILLEGAL_INSTRUCTION, NONE, 0,
		0, "counts nothing"},
	{INIT("2") "~mbarrier.arrive.noComplete.shared.b64 %d1, [bar], 2;", PTX_ILLEGAL_INSTRUCTION,
		NONE, 0, 0, "completes the phase"},
	{INIT("2") "~mbarrier.arrive_drop.shared.b64 %d1, [bar], 3;", PTX_ILLEGAL_INSTRUCTION, NONE,
		0, 0, "more arrivals at an mbarrier than it expects"},
	/* one has gone for good: from now on a phase has one arrival */
	{INIT("2") "mbarrier.arrive_drop.shared.b64 %d1, [bar]; mbarrier.arrive.shared.b64 %d1, [bar]; mbarrier.arrive.shared.b64 %d1, [bar]; ~mbarrier.arrive.shared.b64 %d1, [bar], 2;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"more arrivals at an mbarrier than it expects"},
	{INIT("1") "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048575; ~mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "more bytes"},
	{INIT("1") "~mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048576;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "more bytes"},
	{INIT("1") "~mbarrier.arrive.expect_tx.shared.b64 %d1, [bar], 1048576;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "more bytes"},
	{INIT("1") "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 1048575; ~mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048575;",
		PTX_OK},
	{INIT("1") "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 1048575; ~mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "more bytes"},
	{INIT("1048575") "~cp.async.mbarrier.arrive.shared.b64 [bar];", PTX_ILLEGAL_INSTRUCTION,
		NONE, 0, 0, "more arrivals than an mbarrier can count"},
	{INIT("1048575") "~cp.async.mbarrier.arrive.noinc.shared.b64 [bar];", PTX_OK},
	{INIT("1048574") "~cp.async.mbarrier.arrive.shared.b64 [bar];", PTX_OK},
	/* --- barriers --- */
	{ALONE "mov.u32 %r1, 16; ~bar.sync %r1;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"a barrier above 15"},
	{"mov.u32 %r1, 15; ~bar.sync %r1;", PTX_OK},
	{ALONE "mov.u32 %r1, 33; ~bar.sync 1, %r1;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not a multiple of 32"},
	{ALONE "mov.u32 %r1, 0; ~bar.arrive 1, %r1;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not a multiple of 32"},
	{ALONE "mov.u32 %r1, 64; mov.u32 %r2, 32; bar.arrive 1, %r1; ~bar.arrive 1, %r2;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "two numbers of threads"},
	{ALONE "mov.u32 %r1, 16; ~bar.red.popc.u32 %r2, %r1, %p0;", PTX_ILLEGAL_INSTRUCTION, NONE,
		0, 0, "a barrier above 15"},
	{ALONE "~barrier.cluster.wait;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "without an arrival"},
	{ALONE "barrier.cluster.arrive; ~barrier.cluster.arrive;", PTX_ILLEGAL_INSTRUCTION, NONE, 0,
		0, "without a wait"},
	/* --- clusters of one --- */
	{"mov.u32 %r2, s; " BAD32("1", "0") "~mapa.shared::cluster.u32 %r3, %r2, %r1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "a rank that no block"},
	{"mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; selp.b64 %d1, %d0, %d2, %p0; ~mapa.u64 %d3, %d1, 0;",
		PTX_ILLEGAL_ADDRESS, GLOBAL, 0, 0, "not an address of shared memory"},
	{"mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; selp.b64 %d1, %d0, %d2, %p0; ~getctarank.u64 %r3, %d1;",
		PTX_ILLEGAL_ADDRESS, GLOBAL, 0, 0, "not an address of shared memory"},
	/* --- masks --- */
	{ALONE "~vote.sync.ballot.b32 %r2, %p0, 0xfffffdff;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not in its own member mask"},
	{ALONE "~bar.warp.sync 0xfffffdff;", PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"not in its own member mask"},
	{ALONE "~shfl.sync.idx.b32 %r2, %r0, 0, 31, 0xfffffdff;", PTX_ILLEGAL_INSTRUCTION, NONE, 0,
		0, "not in its own member mask"},
	{ALONE "~bar.warp.sync 0x00000200;", PTX_OK},
	/* --- where it goes --- */
	{BAD32("3", "1") "~brx.idx %r1, ways; W: add.u32 %r2, %r1, 1;", PTX_ILLEGAL_INSTRUCTION,
		NONE, 0, 0, "past the list of targets"},
	{BAD32("2", "1") "~brx.idx %r1, ways; W: add.u32 %r2, %r1, 1;", PTX_OK},
	{"~@%p0 trap;", PTX_TRAP},
	{BAD64("4660", "one") CALL("%d1", ", proto"), PTX_ILLEGAL_INSTRUCTION, NUMBER, 4660, 0,
		"a call of an address that is no function's"},
	{BAD64("two", "one") CALL("%d1", ", proto"), PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"with other parameters"},
	{BAD64("wide", "one") CALL("%d1", ", proto"), PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"with other parameters"},
	{BAD64("result", "one") CALL("%d1", ", proto"), PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0,
		"with other parameters"},
	{BAD64("other", "one") CALL("%d1", ", proto"), PTX_OK},
	/* --- the stack --- */
	{"mov.u64 %d2, 0x100000000; mov.u64 %d3, 16; selp.b64 %d1, %d2, %d3, %p0; ~alloca.u64 %d4, %d1;",
		PTX_STACK_OVERFLOW, NONE, 0, 0, "alloca"},
	{"mov.u32 %r2, 0x7fffffff; " BAD32("%r2", "16") "~alloca.u32 %r3, %r1, 64;",
		PTX_STACK_OVERFLOW, NONE, 0, 0, "alloca"},
	{"stacksave.u64 %d2; alloca.u64 %d3, 32; add.u64 %d4, %d2, 64; selp.b64 %d1, %d4, %d2, %p0; ~stackrestore.u64 %d1;",
		PTX_ILLEGAL_INSTRUCTION, NONE, 0, 0, "not what stacksave gave"},
	{"stacksave.u32 %r2; alloca.u32 %r3, 32; add.u32 %r4, %r2, 32; selp.b32 %r1, %r4, %r2, %p0; ~stackrestore.u32 %r1;",
		PTX_OK},
	{ALONE "mov.u32 %r1, 1000000; " CALL("deep", ""), PTX_STACK_OVERFLOW, NONE, 0, 0, "deep"},
	{ALONE "mov.u32 %r1, 3; " CALL("deep", ""), PTX_OK},
};

/* --- the kernel --- */
static const char head[] =
	".version 8.6\n.target sm_100\n.address_size 64\n"
	".func (.param .b32 r) one(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) other(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) two(.param .b32 a, .param .b32 b) { .reg .b32 %r<3>; ld.param.b32 %r1, [b]; st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) wide(.param .b64 a) { .reg .b32 %r<3>; mov.u32 %r1, 1; st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b64 r) result(.param .b32 a) { .reg .b64 %d<3>; mov.u64 %d1, 1; st.param.b64 [r], %d1; ret; }\n"
	".func (.param .b32 r) deep(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; .local .b32 l[64]; ld.param.b32 %r1, [a]; mov.u32 %r2, 0; setp.eq.u32 %p, %r1, 0; @%p bra D;\n"
	"sub.u32 %r1, %r1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), deep, (x); ld.param.b32 %r2, [y]; }\nD: st.param.b32 [r], %r2; ret; }\n"
	".visible .entry k(.param .u64 o, .param .u64 one_block, .param .u64 one_thread, .param .u64 fixed) {\n"
	".reg .b32 %r<20>; .reg .b64 %d<10>; .reg .b128 %q<2>; .reg .pred %p<5>; .reg .b16 %h<5>; .reg .f32 %f<5>; .reg .f64 %g<5>;\n"
	".shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar; .local .align 16 .b8 loc[64];\n"
	"proto: .callprototype (.param .b32 _) _ (.param .b32 _);\nways: .branchtargets W, W, END;\n"
	"ld.param.u64 %d0, [o]; ld.param.u64 %d8, [fixed]; ld.param.u32 %r10, [one_block]; ld.param.u32 %r11, [one_thread];\n"
	"mov.u32 %r12, %ctaid.z; mov.u32 %r13, %nctaid.y; mov.u32 %r14, %ctaid.y; mad.lo.u32 %r12, %r12, %r13, %r14; mov.u32 %r13, %nctaid.x; mov.u32 %r14, %ctaid.x; mad.lo.u32 %r12, %r12, %r13, %r14;\n"
	"mov.u32 %r0, %tid.z; mov.u32 %r13, %ntid.y; mov.u32 %r14, %tid.y; mad.lo.u32 %r0, %r0, %r13, %r14; mov.u32 %r13, %ntid.x; mov.u32 %r14, %tid.x; mad.lo.u32 %r0, %r0, %r13, %r14;\n"
	"setp.eq.u32 %p2, %r12, %r10; setp.eq.and.u32 %p0|%p1, %r0, %r11, %p2; not.pred %p1, %p0; mov.u16 %h1, 1; mov.f32 %f3, 0f00000000; mov.u32 %r4, 0; mov.u32 %r5, 0;\n";

struct text {
	char s[8192];
	size_t at;
};

/* Returns the line of ~. */
static unsigned write_kernel(struct text *t, const char *body)
{
	const bool jumps = strstr(body, "W:") != NULL;
	unsigned line = 0;

	t->at = (size_t)snprintf(t->s, sizeof(t->s), "%s", head);
	for (const char *s = body; *s; s++) {
		if (*s != '~') {
			t->s[t->at++] = *s;
			continue;
		}
		t->s[t->at++] = '\n';
		t->s[t->at] = 0;
		line = line_of(t->s);
	}
	t->at += (size_t)snprintf(
		t->s + t->at, sizeof(t->s) - t->at, "\n%sEND: ret; }\n", jumps ? "" : "W: ");
	assert_true(t->at < sizeof(t->s));
	return line;
}

/* "ld.global.u32" */
static void name_of(const char *body, char *name, size_t n)
{
	const char *s = strchr(body, '~') + 1;

	if (*s == '@')
		s = strchr(s, ' ') + 1;
	snprintf(name, n < 41 ? n : 41, "%.*s", (int)strcspn(s, " ;"), s); /* so much is told */
}

static const char *const codes[] = {"", "illegal address", "misaligned address",
	"illegal instruction", "assertion failed", "trap", "timeout", "stack overflow"};

static void *fixed; /* memory that is only read */
static unsigned bad;
#define wrong(...) (bad++, print_error(__VA_ARGS__), print_error("\n"))

static void check_row(const struct row *row, const struct ptx_launch *l, unsigned line,
	const struct ptx_fault *f, unsigned block, unsigned thread, const void *global)
{
	char name[64], want[256];
	const unsigned at[3] = {thread % l->block[0], thread / l->block[0] % l->block[1],
		thread / l->block[0] / l->block[1]},
		       b[3] = {block % l->grid[0], block / l->grid[0] % l->grid[1],
			       block / l->grid[0] / l->grid[1]};

	name_of(row->body, name, sizeof(name));
	if (f->code != row->code) {
		wrong("%s: code %d: %s", row->body, f->code, f->text);
		return;
	}
	snprintf(want, sizeof(want),
		"tsdb softgpu: %s: kernel k, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %s",
		codes[row->code], b[0], b[1], b[2], at[0], at[1], at[2], line, name);
	/* one that overflows the stack is somewhere in the function that was called */
	if (!strstr(row->body, "deep") && strncmp(f->text, want, strlen(want)) != 0)
		wrong("%s:\n%s\nnot\n%s", row->body, f->text, want);
	if (strcmp(f->kernel, "k") != 0 || memcmp(f->block, b, sizeof(b)) != 0 ||
		memcmp(f->thread, at, sizeof(at)) != 0)
		wrong("%s: not at its place", row->body);
	if (row->what && !strstr(f->text, row->what))
		wrong("%s: %s", row->body, f->text);
	if (row->base != NONE)
		if (f->addr != row->addr + (uint64_t)(uintptr_t)(row->base == GLOBAL	  ? global
								 : row->base == READ_ONLY ? fixed
											  : NULL))
			wrong("%s: address %#llx: %s", row->body, (unsigned long long)f->addr,
				f->text);
	if (f->size != row->size)
		wrong("%s: %u bytes: %s", row->body, f->size, f->text);
	check_fault(l, f);
}

static void check_one(const struct row *row, void *global, unsigned block, unsigned thread)
{
	static struct text text;
	const unsigned line = write_kernel(&text, row->body);
	struct ptx_module *m = load(text.s);
	struct {
		void *o;
		uint64_t block, thread;
		void *fixed;
	} params = {global, block, thread, fixed};
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {3, 2, 2},
		.block = {9, 5, 2}, /* the last warp has not all of its lanes */
		.params = &params};
	struct ptx_fault f;
	enum ptx_fault_code code;

	for (uint32_t k = 0; k < l.fn->ninsns; k++)
		if (!l.fn->insns[k].row && !(l.fn->insns[k].flags & F_CTRL))
			wrong("%s: refused", row->body);
	code = ptx_run(&l, &f);
	assert_int_equal(code, f.code);
	if (row->code != PTX_OK)
		check_row(row, &l, line, &f, block, thread, global);
	else if (code)
		wrong("%s: %s", row->body, f.text);
	ptx_free(m);
}

/* The last warp's lanes are not all there: .aligned instructions are for the others. A thread that
 * is lane 9 of its warp is the one that the masks leave out. */
static void test_faults(void **state_)
{
	void *global = device(BUFFER);
	const size_t n = IS_COMPILED ? 44 : COUNT_OF(rows);

	fixed = device(256);
	mem_set_flags(mem_find((uint64_t)(uintptr_t)fixed), 0, true);

	for (size_t k = 0; k < n; k++) {
		check_one(&rows[k], global, 0, 9);
		if (!IS_COMPILED)
			check_one(&rows[k], global, 7, 41);
	}
	assert_int_equal(bad, 0);
}

/* --- what never ends --- */
/* Threads that wait for others that cannot come: the first warp that waits is told, by its first
 * lane there, and the line that it waits at. */
static const struct {
	const char *body;
	unsigned thread;
	const char *what;
} stuck[] = {
	{"setp.ge.u32 %p2, %r0, 32; @%p2 bra B;\n~bar.sync 1;\nbra END;\nB: bar.sync 2;", 0,
		"deadlock"},
	{"setp.lt.u32 %p2, %r0, 32; @%p2 bra END; setp.ge.u32 %p2, %r0, 64; @%p2 bra B; ~bar.sync 1; bra END;\nB: bar.sync 2;",
		32, "deadlock"},
	{"setp.ge.u32 %p2, %r0, 32; @%p2 bra END;\n~bar.sync 3, 96;", 0, "deadlock"},
	{"setp.lt.u32 %p2, %r0, 64; @%p2 bra END;\n~bar.red.popc.u32 %r2, 4, 96, %p0;", 64,
		"deadlock"},
	{"setp.ne.u32 %p2, %r0, 0; @%p2 bra W2; bar.warp.sync 0x3; bra END;\nW2: setp.ne.u32 %p2, %r0, 1; @%p2 bra END; ~bar.sync 5, 64;",
		1, "deadlock"},
};

static void test_stuck(void **state_)
{
	void *global = device(BUFFER);

	for (size_t k = 0; k < COUNT_OF(stuck); k++) {
		static struct text text;
		const unsigned line = write_kernel(&text, stuck[k].body);
		struct ptx_module *m = load(text.s);
		struct {
			void *o;
			uint64_t block, thread;
			void *fixed;
		} params = {global, 0, 9, NULL};
		struct ptx_fault f;

		assert_int_equal(launch_of(m, "k", 3, 80, &params, &f), PTX_TIMEOUT);
		if (f.line != line || f.thread[0] != stuck[k].thread || f.block[0] ||
			!strstr(f.text, stuck[k].what))
			fail_msg("%s: line %u, not %u: %s", stuck[k].body, f.line, line, f.text);
		ptx_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_stuck),
	};

	setenv("TSDB_SOFT_WORKERS", "2", 1);
	counted_environment();
	if (!counted_mode())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
