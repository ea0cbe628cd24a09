/* SPDX-License-Identifier: Apache-2.0
 *
 * The rarer PTX instructions: every modifier of halves, conversions to the formats of tensor cores,
 * bit fields, packed integers, video.
 */
#include <math.h>
#include "ptx-rows.h"

static const struct row halves[] = {
	{"add.rn.ftz.f16 %h9, %h0, %h1;", 'h', 1, 1, 0, 0},
	{"add.rn.f16 %h9, %h0, %h1;", 'h', 1, 1, 0, 2},
	{"add.rn.ftz.sat.f16 %h9, %h0, %h1;", 'h', 0x3c00, 0x3c00, 0, 0x3c00},
	{"sub.ftz.f16x2 %r9, %r0, %r1;", 'r', 0x40000003, 0x3c000001, 0, 0x3c000000},
	{"mul.ftz.f16 %h9, %h0, %h1;", 'h', 0x0400, 0x3800, 0, 0},
	{"mul.f16 %h9, %h0, %h1;", 'h', 0x0400, 0x3800, 0, 0x0200},
	{"fma.rn.ftz.f16 %h9, %h0, %h1, %h2;", 'h', 0x3c00, 1, 0, 0},
	{"fma.rn.ftz.relu.f16 %h9, %h0, %h1, %h2;", 'h', 0xbc00, 0x3c00, 0, 0},
	{"fma.rn.ftz.sat.f16x2 %r9, %r0, %r1, %r2;", 'r', 0x40003c00, 0x3c003c00, 1, 0x3c003c00},
	{"fma.rn.bf16 %h9, %h0, %h1, %h2;", 'h', 0x3f80, 0x3f80, 0x3bc0, 0x3f81},
	{"neg.ftz.f16 %h9, %h0;", 'h', 1, 0, 0, 0x8000},
	{"abs.ftz.f16x2 %r9, %r0;", 'r', 0xbc008001, 0, 0, 0x3c000000},
	{"min.ftz.f16 %h9, %h0, %h1;", 'h', 1, 0x3c00, 0, 0},
	{"max.ftz.NaN.f16 %h9, %h0, %h1;", 'h', 1, 0x7e00, 0, 0x7fff},
	{"min.xorsign.abs.f16 %h9, %h0, %h1;", 'h', 0xbc00, 0x4000, 0, 0xbc00},
	{"max.xorsign.abs.f16 %h9, %h0, %h1;", 'h', 0xbc00, 0x4000, 0, 0xc000},
	{"max.xorsign.abs.bf16 %h9, %h0, %h1;", 'h', 0xc000, 0xbf80, 0, 0x4000},
	{"min.xorsign.abs.f16 %h9, %h0, %h1;", 'h', 0x7e00, 0xbc00, 0, 0xbc00},
	{"min.NaN.xorsign.abs.f16x2 %r9, %r0, %r1;", 'r', 0x7e003c00, 0x3c004000, 0, 0x7fff3c00},
	{"max.xorsign.abs.f32 %f9, %f0, %f1;", 'f', 0xc0000000, ONE, 0, 0xc0000000},
	{"min.ftz.xorsign.abs.f32 %f9, %f0, %f1;", 'f', 0x80000001, ONE, 0, 0x80000000},
	{"min.NaN.xorsign.abs.f32 %f9, %f0, %f1;", 'f', 0xffc00000, ONE, 0, NAN32},
	{"ex2.approx.f16 %h9, %h0;", 'h', 0x4000, 0, 0, 0x4400},
	{"ex2.approx.f16x2 %r9, %r0;", 'r', 0xbc004000, 0, 0, 0x38004400},
	{"ex2.approx.ftz.bf16 %h9, %h0;", 'h', 0x4000, 0, 0, 0x4080},
	{"tanh.approx.f16 %h9, %h0;", 'h', 0x7c00, 0, 0, 0x3c00},
	{"tanh.approx.bf16x2 %r9, %r0;", 'r', 0xff800000, 0, 0, 0xbf800000},
	{"setp.eq.ftz.f16 %p9, %h0, %h1;", 'p', 1, 0x8002, 0, 1},
	{"setp.eq.f16 %p9, %h0, %h1;", 'p', 1, 0x8002, 0, 0},
	{"setp.eq.u32 %p7, 0, 1; setp.gt.or.f16x2 %p8|%p9, %r0, %r1, %p7;", 'p', 0x40003c00,
		0x3c004000, 0, 1},
	{"setp.eq.u32 %p7, 0, 1; setp.gt.or.f16x2 %p9|%p8, %r0, %r1, %p7;", 'p', 0x40003c00,
		0x3c004000, 0, 0},
	{"setp.gt.f16x2 %p8|%p9, %r0, %r1;", 'p', 0x3c004000, 0x40003c00, 0, 0},
	{"setp.gt.f16x2 %p9|%p8, %r0, %r1;", 'p', 0x3c004000, 0x40003c00, 0, 1},
	{"setp.eq.u32 %p7, 0, 1; setp.gt.xor.f16x2 %p9|%p8, %r0, %r1, !%p7;", 'p', 0x40003c00,
		0x3c004000, 0, 1},
	{"setp.eq.u32 %p7, 0, 1; setp.lt.and.bf16 %p9, %h0, %h1, !%p7;", 'p', 0x3f80, 0x4000, 0, 1},
	{"set.lt.u32.f16 %r9, %h0, %h1;", 'r', 0x3c00, 0x4000, 0, 0xffffffff},
	{"set.lt.s16.f16 %h9, %h0, %h1;", 'h', 0x3c00, 0x4000, 0, 0xffff},
	{"set.lt.f16.f16 %h9, %h0, %h1;", 'h', 0x3c00, 0x4000, 0, 0x3c00},
	{"set.lt.bf16.bf16 %h9, %h0, %h1;", 'h', 0x3f80, 0x4000, 0, 0x3f80},
	{"set.gtu.f16.f16 %h9, %h0, %h1;", 'h', 0x7e00, 0x4000, 0, 0x3c00},
	{"set.ge.u32.f16x2 %r9, %r0, %r1;", 'r', 0x40003c00, 0x3c004000, 0, 0xffff0000},
	{"set.ge.f16x2.f16x2 %r9, %r0, %r1;", 'r', 0x40003c00, 0x3c004000, 0, 0x3c000000},
	{"set.eq.ftz.f16x2.f16x2 %r9, %r0, %r1;", 'r', 0x00018001, 0, 0, 0x3c003c00},
	{"setp.eq.u32 %p7, 0, 1; set.ge.and.bf16x2.bf16x2 %r9, %r0, %r1, %p7;", 'r', 0x40003c00,
		0x3c004000, 0, 0},
	{"set.lt.f16.f32 %h9, %f0, %f1;", 'h', ONE, TWO, 0, 0x3c00},
	/* PTX ISA 4.5.1: integer constants of each base, with or without U */
	{"mov.u32 %r9, 0;", 'r', 0, 0, 0, 0},
	{"mov.u32 %r9, 017;", 'r', 0, 0, 0, 15},
	{"mov.u32 %r9, 00;", 'r', 0, 0, 0, 0},
	{"mov.u32 %r9, 0b1011;", 'r', 0, 0, 0, 11},
	{"mov.u32 %r9, 0B1U;", 'r', 0, 0, 0, 1},
	{"mov.u32 %r9, 0x1f;", 'r', 0, 0, 0, 31},
	{"mov.u32 %r9, 0XaBcDeFU;", 'r', 0, 0, 0, 0xabcdef},
	{"mov.u32 %r9, 4294967295;", 'r', 0, 0, 0, 0xffffffff},
	{"mov.u32 %r9, 1234567890U;", 'r', 0, 0, 0, 1234567890},
};

static const struct row narrow[] = {
	{"cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;", 'h', ONE, 0x43e00000 /* 448 */, 0, 0x387e},
	{"cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;", 'h', 0x43fa0000 /* 500 */, NINF, 0, 0x7efe},
	{"cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;", 'h', 0xffc00000, 0x3b000000 /* 2^-9 */, 0,
		0x7f01},
	{"cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;", 'h', 0x3a800000 /* 2^-10 */,
		0xbac00000 /* -1.5 * 2^-10 */, 0, 0x0081},
	{"cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;", 'h', 0x41880000 /* 17 */,
		0x41980000 /* 19 */, 0, 0x585a},
	{"cvt.rn.satfinite.relu.e5m2x2.f32 %h9, %f0, %f1;", 'h', 0xbf800000, 0x4788b800 /* 70000 */,
		0, 0x007b},
	{"cvt.rn.satfinite.e5m2x2.f32 %h9, %f0, %f1;", 'h', 0x80000000, INF, 0, 0x807b},
	{"cvt.rn.satfinite.e4m3x2.f16x2 %h9, %r0;", 'h', 0x3c005f00, 0, 0, 0x387e},
	{"cvt.rn.satfinite.relu.e5m2x2.f16x2 %h9, %r0;", 'h', 0xbc003c00, 0, 0, 0x003c},
	{"cvt.rn.f16x2.e4m3x2 %r9, %h0;", 'r', 0x7e01, 0, 0, 0x5f001800},
	{"cvt.rn.f16x2.e4m3x2 %r9, %h0;", 'r', 0x7fb8, 0, 0, 0x7fffbc00},
	{"cvt.rn.relu.f16x2.e4m3x2 %r9, %h0;", 'r', 0xb838, 0, 0, 0x00003c00},
	{"cvt.rn.f16x2.e5m2x2 %r9, %h0;", 'r', 0x7c3d, 0, 0, 0x7c003d00},
	{"cvt.rna.tf32.f32 %r9, %f0;", 'r', 0x3f801000, 0, 0, 0x3f802000},
	{"cvt.rn.tf32.f32 %r9, %f0;", 'r', 0x3f801000, 0, 0, 0x3f800000},
	{"cvt.rn.tf32.f32 %r9, %f0;", 'r', 0x3f803000, 0, 0, 0x3f804000},
	{"cvt.rz.tf32.f32 %r9, %f0;", 'r', 0xbf801fff, 0, 0, 0xbf800000},
	{"cvt.rn.relu.tf32.f32 %r9, %f0;", 'r', 0xbf801000, 0, 0, 0},
	{"cvt.rna.satfinite.tf32.f32 %r9, %f0;", 'r', INF, 0, 0, 0x7f7fe000},
	{"cvt.rn.tf32.f32 %r9, %f0;", 'r', 0xffc12345, 0, 0, 0x7fffe000},
	{"cvt.rna.tf32.f32 %r9, %f0;", 'r', 0x7f7fffff, 0, 0, INF},
	{"cvt.rna.tf32.f32 %r9, %f0;", 'r', 0xffc12345, 0, 0, 0xffc12000},
	{"cvt.rna.satfinite.tf32.f32 %r9, %f0;", 'r', 0x7f7fffff, 0, 0, 0x7f7fe000},
	{"cvt.rna.tf32.f32 %r9, %f0;", 'r', 0x00001000, 0, 0, 0x00002000},
	{"cvt.rn.satfinite.f16.f32 %h9, %f0;", 'h', 0x49742400 /* 1e6 */, 0, 0, 0x7bff},
	{"cvt.rn.satfinite.f16.f32 %h9, %f0;", 'h', NINF, 0, 0, 0xfbff},
	{"cvt.rn.satfinite.f16.f32 %h9, %f0;", 'h', 0x7fc00000, 0, 0, 0x7fff},
	{"cvt.rz.relu.satfinite.bf16.f32 %h9, %f0;", 'h', 0xc0a00000, 0, 0, 0},
	{"cvt.rn.satfinite.bf16x2.f32 %r9, %f0, %f1;", 'r', INF, ONE, 0, 0x7f7f3f80},
	{"cvt.rn.bf16.s32 %h9, %r0;", 'h', 257, 0, 0, 0x4380},
	{"cvt.rn.bf16.u64 %h9, %d0;", 'h', 259, 0, 0, 0x4382},
	{"cvt.rni.s32.bf16 %r9, %h0;", 'r', 0x40a0, 0, 0, 5},
	{"cvt.rzi.s16.bf16 %h9, %h0;", 'h', 0xc020, 0, 0, 0xfffe},
	{"cvt.rmi.bf16.bf16 %h9, %h0;", 'h', 0xc020, 0, 0, 0xc040},
	{"cvt.f64.bf16 %g9, %h0;", 'g', 0x3f80, 0, 0, DONE},
	{"cvt.rn.bf16.f64 %h9, %g0;", 'h', DONE, 0, 0, 0x3f80},
	{"cvt.rn.f16.bf16 %h9, %h0;", 'h', 0x3f80, 0, 0, 0x3c00},
	{"cvt.rn.bf16.f16 %h9, %h0;", 'h', 0x3c01, 0, 0, 0x3f80},
	{"cvt.rp.bf16.f16 %h9, %h0;", 'h', 0x3c01, 0, 0, 0x3f81},
	{"cvt.rp.f16.f32 %h9, %f0;", 'h', ONE + 8, 0, 0, 0x3c01},
	{"cvt.rn.f32.bf16 %f9, %h0;", 'f', 0x3f80, 0, 0, ONE},
	{"cvt.pack.sat.u8.s32.b32 %r9, %r0, %r1, %r2;", 'r', 300, 0xfffffffb, 0x1234, 0x1234ff00},
	{"cvt.pack.sat.s8.s32.b32 %r9, %r0, %r1, %r2;", 'r', 0xffffff38, 100, 0xabcd, 0xabcd8064},
	{"cvt.pack.sat.s16.s32 %r9, %r0, %r1;", 'r', 40000, 0xffff63c0, 0, 0x7fff8000},
	{"cvt.pack.sat.u16.s32 %r9, %r0, %r1;", 'r', 70000, 0xffff63c0, 0, 0xffff0000},
	{"cvt.pack.sat.u4.s32.b32 %r9, %r0, %r1, %r2;", 'r', 20, 3, 0x123456, 0x123456f3},
	{"cvt.pack.sat.s4.s32.b32 %r9, %r0, %r1, 0;", 'r', 0xfffffff0, 7, 0, 0x87},
	{"cvt.pack.sat.s2.s32.b32 %r9, %r0, %r1, %r2;", 'r', 0xfffffffb, 1, 1, 0x19},
	{"cvt.pack.sat.u2.s32.b32 %r9, %r0, %r1, %r2;", 'r', 5, 1, 0, 0xd},
};

static const struct row fields[] = {
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 3, 1, 3},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 2, 1, 3},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 2, 0xffffffff, 1},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 3, 2, 5},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 3, 0, 3},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 2, 0, 0xffffffff},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 31, 2, 0xffffffff},
	{"fns.b32 %r9, %r0, %r1, %r2;", 'r', 0xaaaaaaaa, 0, 0x80000000, 0},
	{"szext.wrap.s32 %r9, %r0, %r1;", 'r', 0xff, 4, 0, 0xffffffff},
	{"szext.wrap.u32 %r9, %r0, %r1;", 'r', 0xff, 4, 0, 0xf},
	{"szext.wrap.s32 %r9, %r0, %r1;", 'r', 0xf7, 36, 0, 7},
	{"szext.clamp.s32 %r9, %r0, %r1;", 'r', 0x80000001, 40, 0, 0x80000001},
	{"szext.clamp.u32 %r9, %r0, %r1;", 'r', 0xff, 0, 0, 0},
	{"lop3.or.b32 %r8|%p9, %r0, %r1, %r2, 0xc0, %p7;", 'p', 1, 2, 0, 0},
	{"setp.eq.u32 %p8, 0, 0; lop3.or.b32 %r9|%p9, %r0, %r1, %r2, 0xc0, %p8;", 'p', 1, 2, 0, 1},
	{"setp.eq.u32 %p8, 0, 0; lop3.and.b32 _|%p9, %r0, %r1, %r2, 0xc0, !%p8;", 'p', 3, 2, 0, 0},
	{"setp.eq.u32 %p8, 0, 0; lop3.and.b32 %r9|%p9, %r0, %r1, %r2, 0xfe, %p8;", 'r', 1, 2, 4, 7},
	{"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x7fffff, 0x7fffff, 0x7fffffff, 0x7fffffff},
	{"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x00010000, 0x00ff0000, 5, 0xffff0005},
	{"add.u16x2 %r9, %r0, %r1;", 'r', 0x0001ffff, 0x00010001, 0, 0x00020000},
	{"min.s16x2 %r9, %r0, %r1;", 'r', 0xffff0005, 0x00010003, 0, 0xffff0003},
	{"max.u16x2 %r9, %r0, %r1;", 'r', 0xffff0005, 0x00010003, 0, 0xffff0005},
	{"max.relu.s16x2 %r9, %r0, %r1;", 'r', 0xffff0005, 0xfffe0003, 0, 0x00000005},
	{"min.relu.s32 %r9, %r0, %r1;", 'r', 0xfffffffb, 3, 0, 0},
	{"max.relu.s32 %r9, %r0, %r1;", 'r', 0xfffffffb, 3, 0, 3},
};

static const struct row video[] = {
	{"vadd.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;", 'r', 0x0000ff00, 0x80000000, 0,
		0xffff80ff}, /* 255 - 32768 */
	{"vadd.u32.u32.u32.sat %r9, %r0, %r1;", 'r', 0xffffffff, 2, 0,
		1}, /* as the assembler writes it out: only negatives saturate */
	{"vadd.u32.s32.u32.sat %r9, %r0, %r1;", 'r', 0xffffffff, 0, 0, 0},
	{"vadd.u32.u32.u32.min %r9, %r0, %r1, %r2;", 'r', 0x80000000, 1, 0x90000000, 0x90000000},
	{"vadd.u32.s32.s32.sat %r9.h1, %r0, %r1, %r2;", 'r', 0x20000, 0, 0x12345678,
		0x00005678}, /* the high half of 0xffff */
	{"vadd.u32.s32.s32.sat %r9.b2, %r0, %r1, %r2;", 'r', 0xffffffff, 0, 0x12345678,
		0x12ff5678}, /* negative is too large */
	{"vsub.s32.s32.s32.sat %r9.h0, %r0, %r1, %r2;", 'r', 0, 1, 0x12345678, 0x12347fff},
	{"vmin.s32.s32.s32.sat %r9.b0, %r0, %r1, %r2;", 'r', 5, 7, 0x12345678, 0x12345605},
	{"vshl.u32.s32.u32.sat.clamp %r9.b1, %r0, %r1, %r2;", 'r', 0x101, 4, 0x12345678,
		0x12341078}, /* of 32 bits, not of 8 */
	{"vshl.s32.s32.u32.sat.clamp %r9, %r0, %r1;", 'r', 0x80000002, 1, 0, 0x80000000},
	{"vshl.s32.s32.u32.sat.clamp %r9, %r0, %r1;", 'r', 2, 32, 0,
		0x80000000}, /* bit 33 is the sign */
	{"vadd.u32.u32.u32 %r9, %r0, %r1;", 'r', 0xffffffff, 2, 0, 1},
	{"vadd.s32.s32.s32.sat %r9, %r0, %r1;", 'r', 0x80000000, 0xffffffff, 0, 0x80000000},
	{"vsub.u32.u32.u32.sat %r9, %r0, %r1;", 'r', 1, 2, 0, 0},
	{"vsub.s32.u32.u32 %r9.h1, %r0, %r1, %r2;", 'r', 1, 2, 0x12345678, 0xffff5678},
	{"vsub.s32.u32.u32.sat %r9.b0, %r0, %r1, %r2;", 'r', 0, 1000, 0x12345678, 0x1234567f},
	{"vabsdiff.u32.s32.s32.add %r9, %r0.b0, %r1.b0, %r2;", 'r', 0xff, 0x7f, 10, 138},
	{"vmin.s32.s32.u32 %r9, %r0.h0, %r1.h0;", 'r', 0xffff, 0xffff, 0, 0xffffffff},
	{"vmax.u32.s32.u32 %r9, %r0.h0, %r1.h0;", 'r', 0xffff, 0xffff, 0, 0xffff},
	{"vadd.s32.s32.s32.min %r9, %r0, %r1, %r2;", 'r', 5, 6, 0xfffffff0, 0xfffffff0},
	{"vadd.u32.u32.u32.max %r9, %r0, %r1, %r2;", 'r', 5, 6, 0xfffffff0, 0xfffffff0},
	{"vshl.u32.u32.u32.clamp %r9, %r0, %r1;", 'r', 3, 40, 0, 0},
	{"vshl.u32.u32.u32.wrap %r9, %r0, %r1;", 'r', 3, 33, 0, 6},
	{"vshl.s32.s32.u32.sat.clamp %r9, %r0, %r1;", 'r', 0xffffffff, 40, 0, 0x80000000},
	{"vshr.s32.s32.u32.clamp %r9, %r0.b3, %r1;", 'r', 0x80000000, 3, 0, 0xfffffff0},
	{"vshr.u32.u32.u32.clamp.add %r9, %r0, %r1.b0, %r2;", 'r', 0x80000000, 31, 7, 8},
	{"vmad.s32.s32.u32 %r9, %r0.b0, %r1.b0, %r2;", 'r', 0xff, 0xff, 1, 0xffffff02},
	{"vmad.s32.u32.u32 %r9, -%r0, %r1, %r2;", 'r', 3, 4, 100, 88},
	{"vmad.s32.u32.u32 %r9, %r0, %r1, -%r2;", 'r', 3, 4, 100, 0xffffffa8},
	{"vmad.u32.u32.u32.po %r9, %r0, %r1, %r2;", 'r', 3, 4, 100, 113},
	{"vmad.u32.u32.u32.sat.shr15 %r9, %r0, %r1, %r2;", 'r', 0xffffffff, 0xffffffff, 0,
		0}, /* -1 * -1 */
	{"vmad.u32.u32.u32.sat.shr7 %r9, %r0, %r1, %r2;", 'r', 1, 0xffffffff, 0, 0xffffffff},
	{"vmad.u32.u32.u32.po.sat %r9, %r0, %r1, %r2;", 'r', 1, 0x80000000, 0, 0},
	{"vmad.s32.s32.s32.shr7 %r9, %r0, %r1, %r2;", 'r', 0xffffffff, 128, 0, 0xffffffff},
	{"vset.s32.u32.lt %r9, %r0, %r1;", 'r', 0xffffffff, 1, 0, 1},
	{"vset.u32.u32.ge.add %r9, %r0.b0, %r1.b0, %r2;", 'r', 7, 7, 41, 42},
	{"vadd2.u32.u32.u32 %r9, %r0, %r1, %r2;", 'r', 0xffff0001, 0x00010002, 0, 3},
	{"vadd2.u32.u32.u32.sat %r9, %r0, %r1, %r2;", 'r', 0xffff0001, 0x00010002, 0, 0xffff0003},
	{"vsub2.s32.s32.s32.sat %r9, %r0, %r1, %r2;", 'r', 0x80000001, 0x00010002, 0, 0x8000ffff},
	{"vsub2.s32.s32.s32.add %r9, %r0, %r1, %r2;", 'r', 0x00050001, 0x00010002, 10, 13},
	{"vadd2.u32.u32.u32 %r9.h1, %r0.h02, %r1.h13, %r2;", 'r', 0x00020001, 0x00200010,
		0x11112222, 0x00032222}, /* half 0 + half 1 */
	{"vavrg2.s32.s32.s32 %r9, %r0, %r1, %r2;", 'r', 0xfffd0003, 0x00000004, 0,
		0xfffe0004}, /* -3 >> 1, (3 + 4 + 1) >> 1 */
	{"vabsdiff2.u32.s32.s32 %r9, %r0, %r1, %r2;", 'r', 0xffff0001, 0x00010003, 0, 0x00020002},
	{"vabsdiff2.u32.u32.u32 %r9, %r0, %r1, %r2;", 'r', 0xffff0001, 0x00010003, 0, 0xfffe0002},
	{"vset2.s32.s32.gt %r9, %r0, %r1, %r2;", 'r', 0xffff0002, 0xfffe0003, 0, 0x00010000},
	{"vadd4.s32.s32.s32.sat %r9, %r0, %r1, %r2;", 'r', 0x7f80ff01, 0x01ff0101, 0, 0x7f800002},
	{"vmin4.u32.u32.u32 %r9.b20, %r0, %r1, %r2;", 'r', 0x01020304, 0x04030201, 0xaabbccdd,
		0xaa02cc01},
	{"vmax4.u32.u32.u32 %r9, %r0.b7654, %r1.b0123, %r2;", 'r', 0x01020304, 0x08070605, 0,
		0x08070605},
	{"vavrg4.u32.u32.u32.add %r9.b0, %r0, %r1, %r2;", 'r', 3, 4, 100, 104},
	{"vset4.u32.u32.eq.add %r9, %r0, %r1, %r2;", 'r', 0x01020304, 0x01020504, 10, 13},
	{"vabsdiff4.u32.u32.u32.add %r9.b310, %r0, %r1, %r2;", 'r', 0x01020304, 0, 10, 18},
};

TEST(halves)
TEST(narrow)
TEST(fields)
TEST(video)

/* ---- comparisons ---------------------------------------- */

/* PTX ISA, setp: what each comparison is of a and b, un: one of them is no number. */
static bool compares(const char *op, double a, double b, bool un)
{
	const size_t n = strlen(op);
	const bool unordered = n == 3 && op[2] == 'u';
	bool is;

	if (!strcmp(op, "num") || !strcmp(op, "nan"))
		return un == (op[1] == 'a');
	is = !strncmp(op, "eq", 2)			  ? a == b
	     : !strncmp(op, "ne", 2)			  ? a != b
	     : !strncmp(op, "lt", 2) || !strcmp(op, "lo") ? a < b
	     : !strncmp(op, "le", 2) || !strcmp(op, "ls") ? a <= b
	     : !strncmp(op, "gt", 2) || !strcmp(op, "hi") ? a > b
							  : a >= b;
	return un ? unordered : is;
}

static void one_comparison(
	char *text, size_t n, const char *type, const char *op, const char *a, const char *b)
{
	const char t = type[0], *bits = strpbrk(type, "123468");
	const char *const reg = !strcmp(bits, "64")   ? t == 'f' ? "g" : "d"
				: !strcmp(bits, "16") ? "h"
				: t == 'f'	      ? "f"
						      : "r";
	const char *const move = t == 'f' || t == 'b' ? (!strcmp(bits, "16")	      ? "b16"
								: !strcmp(bits, "32") ? "f32"
										      : "f64")
						      : type;
	const size_t at = strlen(text);

	assert_true(n - at > 300);
	snprintf(text + at, n - at,
		"mov.%s %%%s0, %s; mov.%s %%%s1, %s; setp.%s.%s %%p, %%%s0, %%%s1;"
		"selp.u32 %%o, 1, 0, %%p; st.global.u32 [%%out], %%o; add.s64 %%out, %%out, 4;\n",
		move, reg, a, move, reg, b, op, type, reg, reg);
}

#define COMPARE_HEAD                                                                               \
	PTX_HEAD ".visible .entry k(.param .u64 out) {\n"                                          \
		 ".reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %d<2>; .reg .f32 %f<2>; .reg .f64 "  \
		 "%g<2>; .reg .pred %p; .reg .u64 %out; .reg .u32 %o;\n"                           \
		 "ld.param.u64 %out, [out];\n"

struct operand {
	const char *text;
	double value;
};

static void compare_all(const char *type, const char *const *ops, const struct operand *x, size_t n)
{
	static char text[200000];
	const uint32_t *out;
	size_t at = 0;

	strcpy(text, COMPARE_HEAD);
	for (size_t o = 0; ops[o]; o++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n; k++)
				one_comparison(
					text, sizeof text, type, ops[o], x[i].text, x[k].text);
	strcat(text, "ret; }\n");
	out = run_text(text, 1, 32, 65536);
	for (size_t o = 0; ops[o]; o++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n; k++, at++) {
				const double a = x[i].value, b = x[k].value;

				if (out[at] != compares(ops[o], a, b, isnan(a) || isnan(b)))
					fail_msg("setp.%s.%s %s, %s is %u", ops[o], type, x[i].text,
						x[k].text, out[at]);
			}
}

static void test_comparisons(void **state)
{
	static const char *const floats[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu",
		"ltu", "leu", "gtu", "geu", "num", "nan", NULL},
				 *const numbers[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL},
				 *const unsigneds[] = {"eq", "ne", "lo", "ls", "hi", "hs", "lt",
					 "le", "gt", "ge", NULL};
	static const struct operand f16[] = {{"0x3c00", 1}, {"0x4000", 2}, {"0xbc00", -1},
		{"0x7e00", NAN}, {"0x8000", -0.0}, {"0", 0}, {"0x7c00", INFINITY}},
				    bf16[] = {{"0x3f80", 1}, {"0x4000", 2}, {"0xbf80", -1},
					    {"0x7fc0", NAN}, {"0x8000", -0.0}, {"0", 0}},
				    f32[] = {{"0f3f800000", 1}, {"0f40000000", 2},
					    {"0fbf800000", -1}, {"0f7fc00000", NAN},
					    {"0f80000000", -0.0}, {"0f00000000", 0}},
				    f64[] = {{"0d3ff0000000000000", 1}, {"0d4000000000000000", 2},
					    {"0dbff0000000000000", -1}, {"0d7ff8000000000000", NAN},
					    {"0d8000000000000000", 0}},
				    small[] = {{"0", 0}, {"1", 1}, {"-1", -1}, {"7", 7},
					    {"-7", -7}},
				    u16[] = {{"0", 0}, {"1", 1}, {"65535", 65535},
					    {"32768", 32768}},
				    u32[] = {{"0", 0}, {"1", 1}, {"4294967295", 4294967295.0},
					    {"2147483648", 2147483648.0}},
				    u64[] = {{"0", 0}, {"1", 1}, {"18446744073709551615", 0x1p64},
					    {"9223372036854775808", 0x1p63}};
#define N(x) (sizeof(x) / sizeof *(x))

	(void)state;
	compare_all("f16", floats, f16, N(f16));
	compare_all("bf16", floats, bf16, N(bf16));
	compare_all("f32", floats, f32, N(f32));
	compare_all("f64", floats, f64, N(f64));
	compare_all("s16", numbers, small, N(small));
	compare_all("s32", numbers, small, N(small));
	compare_all("s64", numbers, small, N(small));
	compare_all("u16", unsigneds, u16, N(u16));
	compare_all("u32", unsigneds, u32, N(u32));
	compare_all("u64", unsigneds, u64, N(u64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_video),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
