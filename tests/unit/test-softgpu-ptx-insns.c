/* SPDX-License-Identifier: Apache-2.0
 *
 * Every family of PTX arithmetic: one row per instruction, with operands and the result worked out by hand from the PTX ISA.
 * Inputs a, b, c are 64-bit patterns, seen as %r0-2 (32 bits), %d0-2 (64), %h0-2 (16), %f0-2 (float), %g0-2 (double). The result is in
 * register 9 of the kind the row names, or in %p9.
 */
#include "ptx-test.h"

struct row {
	const char *insn;
	char kind; /* of the result: r d h f g p */
	uint64_t a, b, c, want;
};

#define ONE 0x3f800000u
#define TWO 0x40000000u
#define THREE 0x40400000u
#define HALF 0x3f000000u
#define INF 0x7f800000u
#define NINF 0xff800000u
#define NAN32 0x7fffffffu
#define DONE 0x3ff0000000000000ull
#define DTWO 0x4000000000000000ull
#define DTHREE 0x4008000000000000ull

static const struct row integers[] = {
	{"add.s32 %r9, %r0, %r1;", 'r', 0xffffffff, 2, 0, 1},
	{"add.u64 %d9, %d0, %d1;", 'd', ~0ull, 2, 0, 1},
	{"add.s16 %h9, %h0, %h1;", 'h', 0xffff, 2, 0, 1},
	{"add.sat.s32 %r9, %r0, %r1;", 'r', 0x7fffffff, 1, 0, 0x7fffffff},
	{"add.sat.s32 %r9, %r0, %r1;", 'r', 0x80000000, 0xffffffff, 0, 0x80000000},
	{"add.s32 %r9, %r0, -7;", 'r', 10, 0, 0, 3},
	{"sub.s32 %r9, %r0, %r1;", 'r', 3, 5, 0, 0xfffffffe},
	{"sub.s64 %d9, %d0, %d1;", 'd', 3, 5, 0, ~1ull},
	{"sub.sat.s32 %r9, %r0, %r1;", 'r', 0x80000000, 1, 0, 0x80000000},
	{"mul.lo.s32 %r9, %r0, %r1;", 'r', 0x10000, 0x10001, 0, 0x10000},
	{"mul.hi.u32 %r9, %r0, %r1;", 'r', 0xffffffff, 0xffffffff, 0, 0xfffffffe},
	{"mul.hi.s32 %r9, %r0, %r1;", 'r', 0xffffffff, 0xffffffff, 0, 0},
	{"mul.hi.s32 %r9, %r0, %r1;", 'r', 0xffffffff, 2, 0, 0xffffffff},
	{"mul.hi.u64 %d9, %d0, %d1;", 'd', 1ull << 63, 6, 0, 3},
	{"mul.hi.s64 %d9, %d0, %d1;", 'd', ~0ull, 5, 0, ~0ull},
	{"mul.lo.s64 %d9, %d0, %d1;", 'd', ~0ull, 5, 0, ~4ull},
	{"mul.lo.s16 %h9, %h0, %h1;", 'h', 0x100, 0x101, 0, 0x0100},
	{"mul.hi.u16 %h9, %h0, %h1;", 'h', 0xffff, 0xffff, 0, 0xfffe},
	{"mul.wide.u32 %d9, %r0, %r1;", 'd', 0xffffffff, 0xffffffff, 0, 0xfffffffe00000001ull},
	{"mul.wide.s32 %d9, %r0, %r1;", 'd', 0xffffffff, 5, 0, ~4ull},
	{"mul.wide.s32 %d9, %r0, 4;", 'd', 0x80000000, 0, 0, 0xfffffffe00000000ull},
	{"mul.wide.u16 %r9, %h0, %h1;", 'r', 0xffff, 0xffff, 0, 0xfffe0001},
	{"mul.wide.s16 %r9, %h0, %h1;", 'r', 0xffff, 7, 0, 0xfffffff9},
	{"mad.lo.s32 %r9, %r0, %r1, %r2;", 'r', 3, 4, 5, 17},
	{"mad.hi.s32 %r9, %r0, %r1, %r2;", 'r', 0x40000000, 8, 5, 7},
	{"mad.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
	{"mad.lo.u64 %d9, %d0, %d1, %d2;", 'd', 1ull << 40, 3, 9, (3ull << 40) + 9},
	{"mad.wide.s32 %d9, %r0, %r1, %d2;", 'd', 0xfffffffe, 3, 10, 4},
	{"mad.wide.u16 %r9, %h0, %h1, %r2;", 'r', 0x1000, 0x1000, 1, 0x1000001},
	{"mul24.lo.u32 %r9, %r0, %r1;", 'r', 0xff000003, 5, 0, 15},
	{"mul24.hi.u32 %r9, %r0, %r1;", 'r', 0x00ffffff, 0x00ffffff, 0, 0xfffffe00},
	{"mad24.lo.s32 %r9, %r0, %r1, %r2;", 'r', 0x00ffffff, 5, 100, 95},
	{"sad.s32 %r9, %r0, %r1, %r2;", 'r', 0xfffffffd, 4, 10, 17},
	{"sad.u32 %r9, %r0, %r1, %r2;", 'r', 9, 4, 10, 15},
	{"sad.u64 %d9, %d0, %d1, %d2;", 'd', 9, 14, 10, 15},
	{"div.u32 %r9, %r0, %r1;", 'r', 100, 7, 0, 14},
	{"div.s32 %r9, %r0, %r1;", 'r', 0xffffff9c, 7, 0, 0xfffffff2},
	{"div.s32 %r9, %r0, %r1;", 'r', 0x80000000, 0xffffffff, 0, 0x80000000},
	{"div.s64 %d9, %d0, %d1;", 'd', 1ull << 63, ~0ull, 0, 1ull << 63},
	{"div.u64 %d9, %d0, %d1;", 'd', ~0ull, 10, 0, 1844674407370955161ull},
	{"div.s16 %h9, %h0, %h1;", 'h', 0xff9c, 7, 0, 0xfff2},
	{"rem.s32 %r9, %r0, %r1;", 'r', 0xffffff9c, 7, 0, 0xfffffffe},
	{"rem.u32 %r9, %r0, %r1;", 'r', 100, 7, 0, 2},
	{"rem.s64 %d9, %d0, %d1;", 'd', (uint64_t)-100, 7, 0, (uint64_t)-2},
	{"abs.s32 %r9, %r0;", 'r', 0xfffffff0, 0, 0, 16},
	{"abs.s64 %d9, %d0;", 'd', (uint64_t)-16, 0, 0, 16},
	{"neg.s32 %r9, %r0;", 'r', 5, 0, 0, 0xfffffffb},
	{"neg.s16 %h9, %h0;", 'h', 5, 0, 0, 0xfffb},
	{"min.s32 %r9, %r0, %r1;", 'r', 0xffffffff, 1, 0, 0xffffffff},
	{"min.u32 %r9, %r0, %r1;", 'r', 0xffffffff, 1, 0, 1},
	{"max.s64 %d9, %d0, %d1;", 'd', ~0ull, 1, 0, 1},
	{"max.u64 %d9, %d0, %d1;", 'd', ~0ull, 1, 0, ~0ull},
	{"max.s16 %h9, %h0, %h1;", 'h', 0xffff, 1, 0, 1},
	{"add.cc.u32 %r8, %r0, %r1; addc.u32 %r9, %r2, 0;", 'r', 0xffffffff, 1, 41, 42},
	{"sub.cc.u32 %r8, %r0, %r1; subc.u32 %r9, %r2, 0;", 'r', 0, 1, 43, 42},
	{"mad.lo.cc.u32 %r8, %r0, %r1, %r0; madc.hi.u32 %r9, %r0, %r1, %r2;", 'r', 0xffffffff, 2, 10, 12},
	{"add.cc.u64 %d8, %d0, %d1; addc.u64 %d9, %d2, 0;", 'd', ~0ull, 1, 41, 42},
};

static const struct row bits[] = {
	{"and.b32 %r9, %r0, %r1;", 'r', 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
	{"or.b64 %d9, %d0, %d1;", 'd', 1ull << 63, 1, 0, 0x8000000000000001ull},
	{"xor.b16 %h9, %h0, %h1;", 'h', 0xff00, 0x0ff0, 0, 0xf0f0},
	{"not.b32 %r9, %r0;", 'r', 0x0f0f0f0f, 0, 0, 0xf0f0f0f0},
	{"cnot.b32 %r9, %r0;", 'r', 0, 0, 0, 1},
	{"cnot.b64 %d9, %d0;", 'd', 77, 0, 0, 0},
	{"shl.b32 %r9, %r0, %r1;", 'r', 3, 31, 0, 0x80000000},
	{"shl.b32 %r9, %r0, %r1;", 'r', 3, 32, 0, 0},
	{"shl.b64 %d9, %d0, %r1;", 'd', 3, 40, 0, 3ull << 40},
	{"shr.u32 %r9, %r0, %r1;", 'r', 0x80000000, 31, 0, 1},
	{"shr.s32 %r9, %r0, %r1;", 'r', 0x80000000, 99, 0, 0xffffffff},
	{"shr.s64 %d9, %d0, %r1;", 'd', 1ull << 63, 62, 0, ~1ull},
	{"shr.u64 %d9, %d0, %r1;", 'd', 1ull << 63, 64, 0, 0},
	{"shr.s16 %h9, %h0, %r1;", 'h', 0x8000, 4, 0, 0xf800},
	{"shf.l.wrap.b32 %r9, %r0, %r1, %r2;", 'r', 0x80000001, 0x12345678, 36, 0x23456788},
	{"shf.l.clamp.b32 %r9, %r0, %r1, %r2;", 'r', 0x80000001, 0x12345678, 36, 0x80000001},
	{"shf.r.wrap.b32 %r9, %r0, %r1, %r2;", 'r', 0x80000001, 0x12345678, 8, 0x78800000},
	{"shf.r.clamp.b32 %r9, %r0, %r1, %r2;", 'r', 0x80000001, 0x12345678, 40, 0x12345678},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0x96;", 'r', 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96969696},
	{"lop3.b32 %r9, %r0, %r1, %r2, 0xe8;", 'r', 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xe8e8e8e8},
	{"popc.b32 %r9, %r0;", 'r', 0xf0f00001, 0, 0, 9},
	{"popc.b64 %r9, %d0;", 'r', 0xf0f00001f0000000ull, 0, 0, 13},
	{"clz.b32 %r9, %r0;", 'r', 0x00800000, 0, 0, 8},
	{"clz.b32 %r9, %r0;", 'r', 0, 0, 0, 32},
	{"clz.b64 %r9, %d0;", 'r', 0, 0, 0, 64},
	{"brev.b32 %r9, %r0;", 'r', 0x00000013, 0, 0, 0xc8000000},
	{"brev.b64 %d9, %d0;", 'd', 1, 0, 0, 1ull << 63},
	{"bfind.u32 %r9, %r0;", 'r', 0x00800001, 0, 0, 23},
	{"bfind.s32 %r9, %r0;", 'r', 0xfffffff0, 0, 0, 3},
	{"bfind.shiftamt.u32 %r9, %r0;", 'r', 0x00800001, 0, 0, 8},
	{"bfind.u64 %r9, %d0;", 'r', 0, 0, 0, 0xffffffff},
	{"bfe.u32 %r9, %r0, 4, 8;", 'r', 0x00000ff5, 0, 0, 0xff},
	{"bfe.s32 %r9, %r0, 4, 8;", 'r', 0x00000ff5, 0, 0, 0xffffffff},
	{"bfe.s32 %r9, %r0, 28, 8;", 'r', 0x80000000, 0, 0, 0xfffffff8},
	{"bfe.u64 %d9, %d0, 60, 8;", 'd', 0xf000000000000000ull, 0, 0, 0xf},
	{"bfe.s64 %d9, %d0, 0, 4;", 'd', 0x8, 0, 0, 0xfffffffffffffff8ull},
	{"bfi.b32 %r9, %r0, %r1, 8, 4;", 'r', 0xa, 0xffffffff, 0, 0xfffffaff},
	{"bfi.b64 %d9, %d0, %d1, 60, 8;", 'd', 0x3, 0, 0, 0x3000000000000000ull},
	{"prmt.b32 %r9, %r0, %r1, 0x3715;", 'r', 0x33221100, 0x77665544, 0, 0x33771155},
	{"prmt.b32 %r9, %r0, %r1, 0xb;", 'r', 0x83221100, 0, 0, 0x000000ff},
	{"prmt.b32.f4e %r9, %r0, %r1, 1;", 'r', 0x33221100, 0x77665544, 0, 0x44332211},
	{"prmt.b32.rc16 %r9, %r0, %r1, 1;", 'r', 0x33221100, 0, 0, 0x33223322},
	{"bmsk.clamp.b32 %r9, 4, 8;", 'r', 0, 0, 0, 0xff0},
	{"dp4a.u32.u32 %r9, %r0, %r1, %r2;", 'r', 0x01020304, 0x05060708, 1, 5 + 12 + 21 + 32 + 1},
	{"dp4a.s32.s32 %r9, %r0, %r1, %r2;", 'r', 0xff000002, 0x03000005, 0, 7},
	{"dp2a.lo.s32.u32 %r9, %r0, %r1, %r2;", 'r', 0xffff0003, 0x00000504, 0, 7},
	{"mov.b64 %d9, {%r0, %r1};", 'd', 1, 2, 0, 0x200000001ull},
	{"mov.b64 {%r8, %r9}, %d0;", 'r', 0x200000001ull, 0, 0, 2},
	{"mov.b32 %r9, {%h0, %h1};", 'r', 0x1111, 0x2222, 0, 0x22221111},
	{"mov.b32 {%h8, %h9}, %r0;", 'h', 0x22221111, 0, 0, 0x2222},
	{"mov.b64 {_, %r9}, %d0;", 'r', 0x200000001ull, 0, 0, 2},
};

static const struct row singles[] = {
	{"add.f32 %f9, %f0, %f1;", 'f', ONE, TWO, 0, THREE},
	{"add.rn.f32 %f9, %f0, %f1;", 'f', ONE, 0x33800000 /* 2^-24 */, 0, ONE},
	{"add.rp.f32 %f9, %f0, %f1;", 'f', ONE, 0x33800000, 0, ONE + 1},
	{"add.rm.f32 %f9, %f0, %f1;", 'f', ONE, 0xb3000000 /* -2^-25 */, 0, ONE - 1},
	{"add.rz.f32 %f9, %f0, %f1;", 'f', ONE, 0xb3000000, 0, ONE - 1},
	{"add.sat.f32 %f9, %f0, %f1;", 'f', ONE, ONE, 0, ONE},
	{"add.sat.f32 %f9, %f0, %f1;", 'f', ONE, 0xc0000000, 0, 0},
	{"add.f32 %f9, %f0, %f1;", 'f', 0x00000001, 0x00000002, 0, 3},
	{"add.ftz.f32 %f9, %f0, %f1;", 'f', 0x00000001, 0x00000002, 0, 0},
	{"add.f32 %f9, %f0, %f1;", 'f', INF, NINF, 0, NAN32},
	{"add.f32 %f9, %f0, %f1;", 'f', 0xffc12345, ONE, 0, NAN32},
	{"sub.f32 %f9, %f0, %f1;", 'f', ONE, THREE, 0, 0xc0000000},
	{"mul.f32 %f9, %f0, %f1;", 'f', THREE, HALF, 0, 0x3fc00000},
	{"mul.ftz.f32 %f9, %f0, %f1;", 'f', 0x00800000, HALF, 0, 0},
	{"mul.f32 %f9, %f0, %f1;", 'f', 0x00800000, HALF, 0, 0x00400000},
	/* (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24: only a fused one keeps the last bit */
	{"fma.rn.f32 %f9, %f0, %f1, %f2;", 'f', 0x3f800800, 0x3f800800, 0xbf800000, 0x3a000400},
	{"fma.rz.f32 %f9, %f0, %f1, %f2;", 'f', ONE, ONE, 0x33000000, ONE},
	{"fma.rp.f32 %f9, %f0, %f1, %f2;", 'f', ONE, ONE, 0x33000000, ONE + 1},
	{"fma.rn.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0, ONE, 0x00000005, 0},
	{"fma.rn.sat.f32 %f9, %f0, %f1, %f2;", 'f', TWO, TWO, 0, ONE},
	{"mad.rn.f32 %f9, %f0, %f1, %f2;", 'f', TWO, THREE, ONE, 0x40e00000},
	{"div.rn.f32 %f9, %f0, %f1;", 'f', ONE, THREE, 0, 0x3eaaaaab},
	{"div.rz.f32 %f9, %f0, %f1;", 'f', ONE, THREE, 0, 0x3eaaaaaa},
	{"div.rp.f32 %f9, %f0, %f1;", 'f', ONE, THREE, 0, 0x3eaaaaab},
	{"div.full.f32 %f9, %f0, %f1;", 'f', 0x40c00000, TWO, 0, THREE},
	{"div.approx.ftz.f32 %f9, %f0, %f1;", 'f', 0x40c00000, TWO, 0, THREE},
	{"div.rn.f32 %f9, %f0, %f1;", 'f', ONE, 0, 0, INF},
	{"div.rn.f32 %f9, %f0, %f1;", 'f', 0, 0, 0, NAN32},
	{"rcp.rn.f32 %f9, %f0;", 'f', TWO, 0, 0, HALF},
	{"rcp.rm.f32 %f9, %f0;", 'f', THREE, 0, 0, 0x3eaaaaaa},
	{"rcp.approx.ftz.f32 %f9, %f0;", 'f', 0x40800000, 0, 0, 0x3e800000},
	{"sqrt.rn.f32 %f9, %f0;", 'f', TWO, 0, 0, 0x3fb504f3},
	{"sqrt.rp.f32 %f9, %f0;", 'f', TWO, 0, 0, 0x3fb504f4},
	{"sqrt.rn.f32 %f9, %f0;", 'f', 0xbf800000, 0, 0, NAN32},
	{"sqrt.approx.f32 %f9, %f0;", 'f', 0x40800000, 0, 0, TWO},
	{"rsqrt.approx.f32 %f9, %f0;", 'f', 0x40800000, 0, 0, HALF},
	{"sin.approx.f32 %f9, %f0;", 'f', 0, 0, 0, 0},
	{"cos.approx.f32 %f9, %f0;", 'f', 0, 0, 0, ONE},
	{"ex2.approx.f32 %f9, %f0;", 'f', THREE, 0, 0, 0x41000000},
	{"lg2.approx.f32 %f9, %f0;", 'f', 0x41000000, 0, 0, THREE},
	{"tanh.approx.f32 %f9, %f0;", 'f', INF, 0, 0, ONE},
	{"abs.f32 %f9, %f0;", 'f', 0xbf800000, 0, 0, ONE},
	{"neg.f32 %f9, %f0;", 'f', ONE, 0, 0, 0xbf800000},
	{"neg.ftz.f32 %f9, %f0;", 'f', 5, 0, 0, 0x80000000},
	{"min.f32 %f9, %f0, %f1;", 'f', ONE, 0x7fc00000, 0, ONE},
	{"min.NaN.f32 %f9, %f0, %f1;", 'f', ONE, 0x7fc00000, 0, NAN32},
	{"min.f32 %f9, %f0, %f1;", 'f', 0, 0x80000000, 0, 0x80000000},
	{"max.f32 %f9, %f0, %f1;", 'f', 0, 0x80000000, 0, 0},
	{"max.f32 %f9, %f0, %f1;", 'f', NINF, ONE, 0, ONE},
	{"max.ftz.f32 %f9, %f0, %f1;", 'f', 5, 0x80000000, 0, 0},
	{"copysign.f32 %f9, %f0, %f1;", 'f', 0x80000000, THREE, 0, 0xc0400000},
	{"mov.f32 %f9, 0f40490FDB;", 'f', 0, 0, 0, 0x40490fdb},
	{"add.f32 %f9, %f0, 0f3F800000;", 'f', ONE, 0, 0, TWO},
	{"testp.subnormal.f32 %p9, %f0;", 'p', 5, 0, 0, 1},
	{"testp.finite.f32 %p9, %f0;", 'p', INF, 0, 0, 0},
	{"testp.notanumber.f64 %p9, %g0;", 'p', 0x7ff8000000000000ull, 0, 0, 1},
};

static const struct row doubles[] = {
	{"add.f64 %g9, %g0, %g1;", 'g', DONE, DTWO, 0, DTHREE},
	{"add.rp.f64 %g9, %g0, %g1;", 'g', DONE, 0x3ca0000000000000ull /* 2^-53 */, 0, DONE + 1},
	{"add.rn.f64 %g9, %g0, %g1;", 'g', DONE, 0x3ca0000000000000ull, 0, DONE},
	{"sub.rn.f64 %g9, %g0, %g1;", 'g', DTHREE, DTWO, 0, DONE},
	{"mul.f64 %g9, %g0, %g1;", 'g', DTHREE, DTWO, 0, 0x4018000000000000ull},
	{"fma.rn.f64 %g9, %g0, %g1, %g2;", 'g', DONE + 1, DONE + 1, 0xbff0000000000000ull, 0x3cc0000000000000ull},
	{"fma.rz.f64 %g9, %g0, %g1, %g2;", 'g', DONE, DONE, 0x3c90000000000000ull, DONE},
	{"div.rn.f64 %g9, %g0, %g1;", 'g', DONE, DTHREE, 0, 0x3fd5555555555555ull},
	{"div.rp.f64 %g9, %g0, %g1;", 'g', DONE, DTHREE, 0, 0x3fd5555555555556ull},
	{"rcp.rn.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3fe0000000000000ull},
	{"sqrt.rn.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3ff6a09e667f3bcdull},
	{"sqrt.rz.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3ff6a09e667f3bccull},
	{"abs.f64 %g9, %g0;", 'g', DONE | 1ull << 63, 0, 0, DONE},
	{"neg.f64 %g9, %g0;", 'g', DONE, 0, 0, DONE | 1ull << 63},
	{"min.f64 %g9, %g0, %g1;", 'g', 0, 1ull << 63, 0, 1ull << 63},
	{"max.f64 %g9, %g0, %g1;", 'g', 0x7ff8000000000000ull, DTWO, 0, DTWO},
	{"rcp.approx.ftz.f64 %g9, %g0;", 'g', DTWO, 0, 0, 0x3fe0000000000000ull},
	{"mov.f64 %g9, 0d400921FB54442D18;", 'g', 0, 0, 0, 0x400921fb54442d18ull},
	{"mov.f64 %g9, 1.5;", 'g', 0, 0, 0, 0x3ff8000000000000ull},
};

static const struct row conversions[] = {
	{"cvt.u64.u32 %d9, %r0;", 'd', 0xffffffff, 0, 0, 0xffffffff},
	{"cvt.s64.s32 %d9, %r0;", 'd', 0xffffffff, 0, 0, ~0ull},
	{"cvt.u32.u64 %r9, %d0;", 'r', 0x1234567890ull, 0, 0, 0x34567890},
	{"cvt.u32.u16 %r9, %h0;", 'r', 0xffff8000, 0, 0, 0x8000},
	{"cvt.s32.s16 %r9, %h0;", 'r', 0x8000, 0, 0, 0xffff8000},
	{"cvt.s32.s8 %r9, %r0;", 'r', 0x180, 0, 0, 0xffffff80},
	{"cvt.u16.u32 %h9, %r0;", 'h', 0x12345678, 0, 0, 0x5678},
	{"cvt.u8.u32 %r9, %r0;", 'r', 0x1ff, 0, 0, 0xff},
	{"cvt.s8.s32 %r9, %r0;", 'r', 0x180, 0, 0, 0xffffff80},
	{"cvt.sat.u8.s32 %r9, %r0;", 'r', 300, 0, 0, 255},
	{"cvt.sat.u8.s32 %r9, %r0;", 'r', 0xfffffff0, 0, 0, 0},
	{"cvt.sat.s8.s32 %r9, %r0;", 'r', 0xffffff00, 0, 0, 0xffffff80},
	{"cvt.sat.s32.u64 %r9, %d0;", 'r', ~0ull, 0, 0, 0x7fffffff},
	{"cvt.rn.f32.s32 %f9, %r0;", 'f', 0xffffffff, 0, 0, 0xbf800000},
	{"cvt.rn.f32.u32 %f9, %r0;", 'f', 0xffffffff, 0, 0, 0x4f800000},
	{"cvt.rz.f32.u32 %f9, %r0;", 'f', 0xffffffff, 0, 0, 0x4f7fffff},
	{"cvt.rn.f32.s32 %f9, %r0;", 'f', 0x01000001, 0, 0, 0x4b800000},
	{"cvt.rp.f32.s32 %f9, %r0;", 'f', 0x01000001, 0, 0, 0x4b800001},
	{"cvt.rm.f32.s32 %f9, %r0;", 'f', 0xfeffffff, 0, 0, 0xcb800001},
	{"cvt.rn.f32.u64 %f9, %d0;", 'f', ~0ull, 0, 0, 0x5f800000},
	{"cvt.rn.f64.s32 %g9, %r0;", 'g', 0xffffffff, 0, 0, DONE | 1ull << 63},
	{"cvt.rn.f64.u64 %g9, %d0;", 'g', ~0ull, 0, 0, 0x43f0000000000000ull},
	{"cvt.rz.f64.u64 %g9, %d0;", 'g', ~0ull, 0, 0, 0x43efffffffffffffull},
	{"cvt.rzi.s32.f32 %r9, %f0;", 'r', 0xc0200000 /* -2.5 */, 0, 0, 0xfffffffe},
	{"cvt.rni.s32.f32 %r9, %f0;", 'r', 0xc0200000, 0, 0, 0xfffffffe},
	{"cvt.rmi.s32.f32 %r9, %f0;", 'r', 0xc0200000, 0, 0, 0xfffffffd},
	{"cvt.rpi.s32.f32 %r9, %f0;", 'r', 0xc0200000, 0, 0, 0xfffffffe},
	{"cvt.rni.s32.f32 %r9, %f0;", 'r', 0x40600000 /* 3.5 */, 0, 0, 4},
	{"cvt.rzi.s32.f32 %r9, %f0;", 'r', 0x4f800000, 0, 0, 0x7fffffff},
	{"cvt.rzi.s32.f32 %r9, %f0;", 'r', NINF, 0, 0, 0x80000000},
	{"cvt.rzi.s32.f32 %r9, %f0;", 'r', NAN32, 0, 0, 0},
	{"cvt.rzi.u32.f32 %r9, %f0;", 'r', 0xbf800000, 0, 0, 0},
	{"cvt.rzi.u32.f32 %r9, %f0;", 'r', 0x4f7fffff, 0, 0, 0xffffff00},
	{"cvt.rzi.u64.f32 %d9, %f0;", 'd', INF, 0, 0, ~0ull},
	{"cvt.rzi.s64.f64 %d9, %g0;", 'd', 0xc3e0000000000000ull, 0, 0, 1ull << 63},
	{"cvt.rzi.s32.f64 %r9, %g0;", 'r', 0xc000000000000000ull, 0, 0, 0xfffffffe},
	{"cvt.rzi.u8.f32 %r9, %f0;", 'r', 0x43960000 /* 300 */, 0, 0, 255},
	{"cvt.f64.f32 %g9, %f0;", 'g', THREE, 0, 0, DTHREE},
	{"cvt.rn.f32.f64 %f9, %g0;", 'f', 0x3ff0000010000000ull, 0, 0, ONE},
	{"cvt.rp.f32.f64 %f9, %g0;", 'f', 0x3ff0000010000000ull, 0, 0, ONE + 1},
	{"cvt.rz.f32.f64 %f9, %g0;", 'f', 0x7fe0000000000000ull, 0, 0, 0x7f7fffff},
	{"cvt.rn.f32.f64 %f9, %g0;", 'f', 0x36a0000000000000ull /* 2^-149 */, 0, 0, 1},
	{"cvt.rn.ftz.f32.f64 %f9, %g0;", 'f', 0x36a0000000000000ull, 0, 0, 0},
	{"cvt.rni.f32.f32 %f9, %f0;", 'f', 0x40200000 /* 2.5 */, 0, 0, TWO},
	{"cvt.rpi.f32.f32 %f9, %f0;", 'f', 0xbf000000, 0, 0, 0x80000000},
	{"cvt.rmi.f64.f64 %g9, %g0;", 'g', 0xbfe0000000000000ull, 0, 0, DONE | 1ull << 63},
	{"cvt.sat.f32.f32 %f9, %f0;", 'f', THREE, 0, 0, ONE},
	{"cvt.sat.f32.f32 %f9, %f0;", 'f', NAN32, 0, 0, 0},
	{"cvt.ftz.f32.f32 %f9, %f0;", 'f', 0x80000003, 0, 0, 0x80000000},
	{"cvt.rn.f16.f32 %h9, %f0;", 'h', 0x477fe000 /* 65504 */, 0, 0, 0x7bff},
	{"cvt.rn.f16.f32 %h9, %f0;", 'h', 0x477ff000 /* 65520 */, 0, 0, 0x7c00},
	{"cvt.rz.f16.f32 %h9, %f0;", 'h', 0x477ff000, 0, 0, 0x7bff},
	{"cvt.rn.f16.f32 %h9, %f0;", 'h', 0x33800000 /* 2^-24 */, 0, 0, 1},
	{"cvt.rn.f16.f32 %h9, %f0;", 'h', 0x33000000 /* 2^-25, a tie */, 0, 0, 0},
	{"cvt.f32.f16 %f9, %h0;", 'f', 0x3c00, 0, 0, ONE},
	{"cvt.f32.f16 %f9, %h0;", 'f', 0x8001, 0, 0, 0xb3800000},
	{"cvt.rn.f16.s32 %h9, %r0;", 'h', 2049, 0, 0, 0x6800},
	{"cvt.rzi.s32.f16 %r9, %h0;", 'r', 0xc500, 0, 0, 0xfffffffb},
	{"cvt.rn.bf16.f32 %h9, %f0;", 'h', 0x3f808000, 0, 0, 0x3f80},
	{"cvt.rn.bf16.f32 %h9, %f0;", 'h', 0x3f818000, 0, 0, 0x3f82},
	{"cvt.rn.f16x2.f32 %r9, %f0, %f1;", 'r', ONE, TWO, 0, 0x3c004000},
	{"add.f16 %h9, %h0, %h1;", 'h', 0x3c00, 0x4000, 0, 0x4200},
	{"mul.f16x2 %r9, %r0, %r1;", 'r', 0x3c004000, 0x40004000, 0, 0x40004400},
	/* (1+x)(1+3x) - 1 with x = 2^-10: 4x + 3x^2, 3/4 of a last bit above 4x; unfused it is lost */
	{"fma.rn.f16 %h9, %h0, %h1, %h2;", 'h', 0x3c01, 0x3c03, 0xbc00, 0x1c01},
	{"sub.bf16 %h9, %h0, %h1;", 'h', 0x4040, 0x3f80, 0, 0x4000},
	{"max.f16 %h9, %h0, %h1;", 'h', 0x7e00, 0x3c00, 0, 0x3c00},
	{"neg.f16x2 %r9, %r0;", 'r', 0x3c004000, 0, 0, 0xbc00c000},
	{"setp.lt.f16 %p9, %h0, %h1;", 'p', 0xbc00, 0x0001, 0, 1},
};

static const struct row choices[] = {
	{"setp.lt.s32 %p9, %r0, %r1;", 'p', 0xffffffff, 1, 0, 1},
	{"setp.lt.u32 %p9, %r0, %r1;", 'p', 0xffffffff, 1, 0, 0},
	{"setp.lo.u32 %p9, %r0, %r1;", 'p', 1, 2, 0, 1},
	{"setp.hs.u32 %p9, %r0, %r1;", 'p', 2, 2, 0, 1},
	{"setp.ne.s64 %p9, %d0, %d1;", 'p', 1ull << 40, 0, 0, 1},
	{"setp.gt.s16 %p9, %h0, %h1;", 'p', 0x8000, 1, 0, 0},
	{"setp.eq.b32 %p9, %r0, 7;", 'p', 7, 0, 0, 1},
	{"setp.lt.f32 %p9, %f0, %f1;", 'p', NAN32, ONE, 0, 0},
	{"setp.ltu.f32 %p9, %f0, %f1;", 'p', NAN32, ONE, 0, 1},
	{"setp.neu.f32 %p9, %f0, %f1;", 'p', NAN32, ONE, 0, 1},
	{"setp.ne.f32 %p9, %f0, %f1;", 'p', NAN32, ONE, 0, 0},
	{"setp.nan.f32 %p9, %f0, %f1;", 'p', NAN32, ONE, 0, 1},
	{"setp.num.f64 %p9, %g0, %g1;", 'p', DONE, DTWO, 0, 1},
	{"setp.eq.ftz.f32 %p9, %f0, %f1;", 'p', 1, 0x80000002, 0, 1},
	{"setp.eq.f32 %p9, %f0, %f1;", 'p', 0, 0x80000000, 0, 1},
	{"setp.eq.u32 %p8, 1, 1; setp.gt.and.s32 %p9, %r0, %r1, !%p8;", 'p', 5, 1, 0, 0},
	{"setp.eq.u32 %p8, 1, 1; setp.gt.xor.s32 %p9, %r0, %r1, %p8;", 'p', 0, 1, 0, 1},
	{"setp.lt.s32 %p8|%p9, %r0, %r1;", 'p', 5, 1, 0, 1},
	{"setp.lt.s32 %p8, %r0, %r1; not.pred %p9, %p8;", 'p', 1, 5, 0, 0},
	{"setp.lt.s32 %p7, %r0, %r1; setp.gt.s32 %p8, %r0, %r1; or.pred %p9, %p7, %p8;", 'p', 1, 5, 0, 1},
	{"set.lt.u32.s32 %r9, %r0, %r1;", 'r', 1, 5, 0, 0xffffffff},
	{"set.lt.f32.s32 %f9, %r0, %r1;", 'f', 1, 5, 0, ONE},
	{"set.eq.s32.f64 %r9, %g0, %g1;", 'r', DONE, DTWO, 0, 0},
	{"setp.lt.s32 %p8, %r0, %r1; selp.b32 %r9, %r0, %r1, %p8;", 'r', 1, 5, 0, 1},
	{"setp.lt.s32 %p8, %r0, %r1; selp.f64 %g9, %g0, %g1, %p8;", 'g', 9, 5, 0, 5},
	{"setp.lt.s32 %p8, %r0, %r1; selp.u16 %h9, 1, 0, %p8;", 'h', 1, 5, 0, 1},
	{"slct.s32.s32 %r9, %r0, %r1, %r2;", 'r', 1, 5, 0xffffffff, 5},
	{"slct.u64.f32 %d9, %d0, %d1, %f2;", 'd', 1, 5, 0x80000000, 1},
	{"setp.eq.u32 %p8, %r0, 5; mov.u32 %r9, 1; @%p8 mov.u32 %r9, 2; @!%p8 add.u32 %r9, %r9, 10;", 'r', 5, 0, 0, 2},
	{"setp.eq.u32 %p8, %r0, 5; mov.u32 %r9, 1; @%p8 mov.u32 %r9, 2; @!%p8 add.u32 %r9, %r9, 10;", 'r', 6, 0, 0, 11},
	{"cvta.shared.u64 %d8, s; isspacep.shared %p9, %d8;", 'p', 0, 0, 0, 1},
	{"cvta.shared.u64 %d8, s; isspacep.global %p9, %d8;", 'p', 0, 0, 0, 0},
	{"cvta.shared.u64 %d8, s; st.u32 [%d8+4], %r0; ld.shared.u32 %r9, [s+4];", 'r', 77, 0, 0, 77},
	{"cvta.local.u64 %d8, l; st.local.u64 [l+8], %d0; ld.u64 %d9, [%d8+8];", 'd', 77, 0, 0, 77},
	{"mov.u32 %r8, s; st.shared.u8 [%r8+1], 255; ld.shared.s8 %r9, [s+1];", 'r', 0, 0, 0, 0xffffffff},
	{"st.shared.v2.u32 [s], {%r0, %r1}; ld.shared.u64 %d9, [s];", 'd', 1, 2, 0, 0x200000001ull},
	{"st.shared.u64 [s+8], %d0; ld.shared.v4.u16 {%h6, %h7, %h8, %h9}, [s+8];", 'h', 0x4444333322221111ull, 0, 0, 0x4444},
	{"st.shared.u16 [s], %h0; ld.shared.s16 %r9, [s];", 'r', 0x8001, 0, 0, 0xffff8001},
	{"st.shared.u32 [s], %r0; ld.shared.s32 %d9, [s];", 'd', 0x80000001, 0, 0, 0xffffffff80000001ull},
	{"st.shared.u32 [s], %r0; ld.volatile.shared.u32 %d9, [s];", 'd', 0x80000001, 0, 0, 0x80000001ull},
	{"ld.param.u8 %r9, [i+7];", 'r', 0, 0, 0, 0},
};

static uint64_t result_of(const struct row *t)
{
	static const char *const stores[] = {"st.global.b32 [%d10], %r9;", "st.global.b64 [%d10], %d9;", "st.global.b16 [%d10], %h9;",
		"st.global.f32 [%d10], %f9;", "st.global.f64 [%d10], %g9;", "selp.b32 %r9, 1, 0, %p9; st.global.b32 [%d10], %r9;"};
	static uint64_t *in, *out;
	char text[4096];
	struct ptx_module *m;
	struct {
		void *o, *i;
	} params;

	if (!in) {
		in = device(24);
		out = device(32 * 8);
	}
	memset(out, 0, 32 * 8);
	in[0] = t->a;
	in[1] = t->b;
	in[2] = t->c;
	snprintf(text, sizeof(text),
		PTX_HEAD ".visible .entry k(.param .u64 o, .param .u64 i) {\n"
			 ".reg .b16 %%h<10>; .reg .b32 %%r<13>; .reg .b64 %%d<13>; .reg .f32 %%f<10>; .reg .f64 %%g<10>; .reg .pred %%p<10>;\n"
			 ".shared .align 8 .b8 s[16]; .local .align 8 .b8 l[16];\n"
			 "ld.param.u64 %%d10, [o]; ld.param.u64 %%d11, [i];\n"
			 "ld.global.b16 %%h0, [%%d11]; ld.global.b16 %%h1, [%%d11+8]; ld.global.b16 %%h2, [%%d11+16];\n"
			 "ld.global.b32 %%r0, [%%d11]; ld.global.b32 %%r1, [%%d11+8]; ld.global.b32 %%r2, [%%d11+16];\n"
			 "ld.global.b64 %%d0, [%%d11]; ld.global.b64 %%d1, [%%d11+8]; ld.global.b64 %%d2, [%%d11+16];\n"
			 "ld.global.f32 %%f0, [%%d11]; ld.global.f32 %%f1, [%%d11+8]; ld.global.f32 %%f2, [%%d11+16];\n"
			 "ld.global.f64 %%g0, [%%d11]; ld.global.f64 %%g1, [%%d11+8]; ld.global.f64 %%g2, [%%d11+16];\n"
			 "mov.u32 %%r10, %%tid.x; mul.wide.u32 %%d12, %%r10, 8; add.u64 %%d10, %%d10, %%d12;\n"
			 "%s\n%s\nret; }\n",
		t->insn, stores[strchr("rdhfgp", t->kind) - "rdhfgp"]);
	m = load(text);
	params.o = out;
	params.i = in;
	run(m, "k", 1, 32, &params);
	ptx_free(m);
	for (unsigned l = 1; l < 32; l++)
		if (out[l] != out[0])
			fail_msg("%s: lane %u has %#llx, lane 0 has %#llx", t->insn, l, (unsigned long long)out[l], (unsigned long long)out[0]);
	return out[0];
}

static void check(const struct row *t, size_t n)
{
	unsigned bad = 0;

	for (size_t k = 0; k < n; k++) {
		uint64_t got = result_of(&t[k]);
		if (got == t[k].want)
			continue;
		print_error("%s with %#llx %#llx %#llx: %#llx, not %#llx\n", t[k].insn, (unsigned long long)t[k].a, (unsigned long long)t[k].b,
			(unsigned long long)t[k].c, (unsigned long long)got, (unsigned long long)t[k].want);
		bad++;
	}
	assert_int_equal(bad, 0);
}

#define TEST(name)                                                                                  \
	static void test_##name(void **state)                                                       \
	{                                                                                           \
		check(name, sizeof(name) / sizeof(name[0]));                                        \
	}
TEST(integers)
TEST(bits)
TEST(singles)
TEST(doubles)
TEST(conversions)
TEST(choices)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_singles),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_choices),
	};

#ifdef NO_AVX2
	setenv("TSDB_SOFT_NO_AVX2", "1", 1);
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
