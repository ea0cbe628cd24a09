/* SPDX-License-Identifier: Apache-2.0
 *
 * The same instructions with the same operands on any CUDA driver, and their results as bits in a
 * file: run it on an NVIDIA GPU and on the software GPU, and compare. Needs nothing but
 * libcuda.so.1. ptx-bits FILE                writes the results ptx-bits --compare A B       prints
 * what differs; exit status 1 when something that must be equal does ptx-bits --hashes FILE       a
 * line per instruction that must be equal: tests/programs/ptx-bits.h200 has an H200's ptx-bits
 * --samples FILE      some results of each approximation: tests/programs/ptx-near.h200 has an
 * H200's ptx-bits --near SAMPLES FILE are a file's results within the bounds around them?
 */
#include "ptx-driver.h"

#include <math.h>

#define N 2048 /* threads: operand triples */

/* '=' must be equal. The others are near: 'u' by `most` units of the last place (of doubles, of
 * their high word), 't' by `most` times the value, 'l' by `most` or that times the value, 's' by
 * `most` for arguments within 2 pi, by 2^5.8 times that within 100 pi, and not compared beyond. */
struct insn {
	char rule, kind; /* of the result: r d h f g p */
	const char *text;
	double most;
};
static const struct insn insns[] = {
#define R(t) {'=', 'r', t},
#define D(t) {'=', 'd', t},
#define H(t) {'=', 'h', t},
#define F(t) {'=', 'f', t},
#define G(t) {'=', 'g', t},
#define P(t) {'=', 'p', t},
#define A(rule, most, t) {rule, 'f', t, most},
#define B(most, t) {'u', 'h', t, most},
#define C(most, t) {'u', 'g', t, most},
	R("add.sat.s32 %r9, %r0, %r1;") R("sub.sat.s32 %r9, %r0, %r1;") R("mul.lo.s32 %r9, %r0, %r1;") R("mul.hi.s32 %r9, %r0, %r1;") R(
		"mul.hi.u32 %r9, %r0, %r1;") D("mul.hi.s64 %d9, %d0, %d1;") D("mul.hi.u64 %d9, %d0, %d1;") D("mul.wide.s32 %d9, %r0, %r1;") R("mul.wide.s16 %r9, %h0, %h1;")
		R("mad.hi.s32 %r9, %r0, %r1, %r2;") R("mad.hi.sat.s32 %r9, %r0, %r1, %r2;") D("mad.wide.u32 %d9, %r0, %r1, %d2;") R("mul24.lo.s32 %r9, %r0, %r1;") R(
			"mul24.hi.s32 %r9, %r0, %r1;") R("mul24.hi.u32 %r9, %r0, %r1;") R("mad24.hi.s32 %r9, %r0, %r1, %r2;") R("sad.s32 %r9, %r0, %r1, %r2;")
			R("sad.u32 %r9, %r0, %r1, %r2;") H("sad.s16 %h9, %h0, %h1, %h2;") R("div.s32 %r9, %r0, %r1;") R("div.u32 %r9, %r0, %r1;") R(
				"rem.s32 %r9, %r0, %r1;") R("rem.u32 %r9, %r0, %r1;") D("div.s64 %d9, %d0, %d1;")
				D("div.u64 %d9, %d0, %d1;") D(
					"rem.s64 %d9, %d0, %d1;") D("rem.u64 %d9, %d0, %d1;") H("div.s16 %h9, %h0, %h1;")
					H("rem.u16 %h9, %h0, %h1;") R("abs.s32 %r9, %r0;") H("abs.s16 %h9, %h0;") D("neg.s64 %d9, %d0;") R("add.cc.u32 %r8, %r0, %r1; addc.u32 %r9, %r2, 5;") R(
						"sub.cc.u32 %r8, %r0, %r1; subc.u32 %r9, %r2, 5;") R("mad.lo.cc.u32 %r8, %r0, %r1, %r2; madc.hi.u32 %r9, %r0, %r1, 3;") R("mad.hi.cc.s32 %r8, %r0, %r1, %r2; madc.hi.s32 %r9, %r0, %r1, 3;") D("mad.lo.cc.u64 %d8, %d0, %d1, %d2; madc.hi.u64 %d9, %d0, %d1, 3;") R("shl.b32 %r9, %r0, %r1;") R("shr.s32 %r9, %r0, %r1;") R("shr.u32 %r9, %r0, %r1;") D("shl.b64 %d9, %d0, %r1;") D("shr.s64 %d9, %d0, %r1;") H("shr.s16 %h9, %h0, %r1;") H("shl.b16 %h9, %h0, %r1;") R("shf.l.wrap.b32 %r9, %r0, %r1, %r2;") R("shf.r.clamp.b32 %r9, %r0, %r1, %r2;") R("lop3.b32 %r9, %r0, %r1, %r2, 0x5a;") R("lop3.b32 %r9, %r0, %r1, %r2, 0xd8;") R("popc.b64 %r9, %d0;")
						R("clz.b64 %r9, %d0;") R(
							"bfind.s32 %r9, %r0;") R("bfind.shiftamt.s32 %r9, %r0;") R("bfind.u64 %r9, %d0;")
							R("bfind.shiftamt.s64 %r9, %d0;") D("brev.b64 %d9, %d0;") R("bfe.u32 %r9, %r0, %r1, %r2;") R(
								"bfe.s32 %r9, %r0, %r1, %r2;") D("bfe.u64 %d9, %d0, %r1, %r2;") D("bfe.s64 %d9, %d0, %r1, %r2;")
								R("bfi.b32 %r9, %r0, %r1, %r2, %r1;") D("bfi.b64 %d9, %d0, %d1, %r2, %r1;") R(
									"bmsk.clamp.b32 %r9, %r0, %r1;") R("bmsk.wrap.b32 %r9, %r0, %r1;")
									R("prmt.b32 %r9, %r0, %r1, %r2;") R(
										"prmt.b32.f4e %r9, %r0, %r1, %r2;") R("prmt.b32.b4e %r9, %r0, %r1, %r2;")
										R("prmt.b32.rc8 %r9, %r0, %r1, %r2;") R(
											"prmt.b32.ecl %r9, %r0, %r1, %r2;")
											R("prmt.b32.ecr %r9, %r0, %r1, %r2;")
												R("prmt.b32.rc16 %r9, %r0, %r1, %r2;")
													R("dp4a.s32.u32 %r9, %r0, %r1, %r2;")
														R("dp4a.u32.s32 %r9, %r0, %r1, %r2;")
															R("dp2a.hi.s32.s32 %r9, %r0, %r1, %r2;")
																R("dp2a.lo.u32.s32 %r9, %r0, %r1, %r2;")
																	F("add.rn.f32 %f9, %f0, %f1;")
																		F("add.rz.f32 %f9, %f0, %f1;")
																			F(
																				"add.rm.f32 %f9, %f0, %f1;") F("add.rp.f32 %f9, %f0, %f1;") F("add.rn.ftz.f32 %f9, %f0, %f1;") F("add.rn.sat.f32 %f9, %f0, %f1;") F("add.rz.ftz.sat.f32 %f9, %f0, %f1;") F("sub.rn.f32 %f9, %f0, %f1;") F("mul.rn.f32 %f9, %f0, %f1;") F("mul.rz.f32 %f9, %f0, %f1;") F("mul.rm.ftz.f32 %f9, %f0, %f1;") F("mul.rp.f32 %f9, %f0, %f1;") F("mul.rn.ftz.f32 %f9, %f0, %f1;") F("mul.rn.ftz.sat.f32 %f9, %f0, %f1;")
																				F("fma.rn.f32 %f9, %f0, %f1, %f2;") F("fma.rz.f32 %f9, %f0, %f1, %f2;") F("fma.rm.f32 %f9, %f0, %f1, %f2;") F("fma.rp.f32 %f9, %f0, %f1, %f2;") F("fma.rn.ftz.f32 %f9, %f0, %f1, %f2;") F("fma.rp.ftz.f32 %f9, %f0, %f1, %f2;") F("fma.rn.sat.f32 %f9, %f0, %f1, %f2;") F("div.rn.f32 %f9, %f0, %f1;") F("div.rz.f32 %f9, %f0, %f1;") F("div.rm.f32 %f9, %f0, %f1;") F("div.rp.f32 %f9, %f0, %f1;")
																					F("div.rn.ftz.f32 %f9, %f0, %f1;") F("rcp.rn.f32 %f9, %f0;") F("rcp.rm.f32 %f9, %f0;") F("rcp.rn.ftz.f32 %f9, %f0;") F("sqrt.rn.f32 %f9, %f0;") F("sqrt.rz.f32 %f9, %f0;") F(
																						"sqrt.rp.f32 %f9, %f0;")
																						F(
																							"sqrt.rn.ftz.f32 %f9, %f0;") F("abs.f32 %f9, %f0;") F("abs.ftz.f32 %f9, %f0;") F("neg.f32 %f9, %f0;") F("neg.ftz.f32 %f9, %f0;") F("min.f32 %f9, %f0, %f1;") F("max.f32 %f9, %f0, %f1;") F("min.ftz.f32 %f9, %f0, %f1;") F("max.NaN.f32 %f9, %f0, %f1;") F("copysign.f32 %f9, %f0, %f1;")
																							G("add.rn.f64 %g9, %g0, %g1;")
																								G("add.rz.f64 %g9, %g0, %g1;")
																									G(
																										"add.rm.f64 %g9, %g0, %g1;") G("mul.rn.f64 %g9, %g0, %g1;") G("mul.rp.f64 %g9, %g0, %g1;") G("fma.rn.f64 %g9, %g0, %g1, %g2;") G("fma.rz.f64 %g9, %g0, %g1, %g2;")
																										G("div.rn.f64 %g9, %g0, %g1;")
																											G("div.rm.f64 %g9, %g0, %g1;") G("rcp.rn.f64 %g9, %g0;") G("sqrt.rn.f64 %g9, %g0;") G("sqrt.rp.f64 %g9, %g0;") G(
																												"min.f64 %g9, %g0, %g1;")
																												G(
																													"max.f64 %g9, %g0, %g1;") G("abs.f64 %g9, %g0;") G("neg.f64 %g9, %g0;") C(1, "rcp.approx.ftz.f64 %g9, %g0;") G("rsqrt.approx.f64 %g9, %g0;")
																													C(1, "rsqrt.approx.ftz.f64 %g9, %g0;") R("cvt.rzi.s32.f32 %r9, %f0;") R("cvt.rni.s32.f32 %r9, %f0;") R("cvt.rmi.u32.f32 %r9, %f0;")
																														R("cvt.rpi.s32.f32 %r9, %f0;")
																															R("cvt.rzi.ftz.u32.f32 %r9, %f0;")
																																D("cvt.rzi.s64.f32 %d9, %f0;")
																																	D(
																																		"cvt.rzi.u64.f32 %d9, %f0;") D("cvt.rni.s64.f64 %d9, %g0;") D("cvt.rzi.u64.f64 %d9, %g0;")
																																		R("cvt.rzi.s32.f64 %r9, %g0;") R("cvt.rpi.u32.f64 %r9, %g0;") H("cvt.rzi.s16.f32 %h9, %f0;") H("cvt.rzi.u16.f64 %h9, %g0;") R(
																																			"cvt.rzi.u8.f32 %r9, %f0;")
																																			R("cvt.rzi.s8.f32 %r9, %f0;")
																																				F("cvt.rn.f32.s32 %f9, %r0;") F("cvt.rz.f32.u32 %f9, %r0;") F("cvt.rm.f32.s32 %f9, %r0;")
																																					F("cvt.rp.f32.s64 %f9, %d0;") F(
																																						"cvt.rn.f32.u64 %f9, %d0;")
																																						G("cvt.rn.f64.s64 %g9, %d0;")
																																							G("cvt.rm.f64.u64 %g9, %d0;") G("cvt.f64.f32 %g9, %f0;")
																																								G("cvt.ftz.f64.f32 %g9, %f0;")
																																									F("cvt.rn.f32.f64 %f9, %g0;")
																																										F("cvt.rz.f32.f64 %f9, %g0;") F("cvt.rp.f32.f64 %f9, %g0;") F(
																																											"cvt.rn.ftz.f32.f64 %f9, %g0;") F("cvt.rn.sat.f32.f64 %f9, %g0;") F("cvt.rni.f32.f32 %f9, %f0;") F("cvt.rmi.ftz.f32.f32 %f9, %f0;")
																																											F(
																																												"cvt.sat.f32.f32 %f9, %f0;") G("cvt.rzi.f64.f64 %g9, %g0;") H("cvt.rn.f16.f32 %h9, %f0;")
																																												H(
																																													"cvt.rz.f16.f32 %h9, %f0;") H("cvt.rn.f16.f64 %h9, %g0;") H("cvt.rn.f16.s32 %h9, %r0;") F("cvt.f32.f16 %f9, %h0;")
																																													G("cvt.f64.f16 %g9, %h0;")
																																														R(
																																															"cvt.rni.s32.f16 %r9, %h0;") H("cvt.rn.bf16.f32 %h9, %f0;")
																																															F("cvt.f32.bf16 %f9, %h0;")
																																																R("cvt.rn.f16x2.f32 %r9, %f0, %f1;")
																																																	R("cvt.rz.bf16x2.f32 %r9, %f0, %f1;") H("cvt.rn.relu.f16.f32 %h9, %f0;") R("cvt.sat.s8.s32 %r9, %r0;") R("cvt.sat.u16.s64 %r8, %d0; mov.u32 %r9, %r8;") R("cvt.s16.s32 %r9, %r0;") D("cvt.s64.s8 %d9, %r0;") H("add.rn.f16 %h9, %h0, %h1;") H("sub.f16 %h9, %h0, %h1;") H(
																																																		"mul.rn.f16 %h9, %h0, %h1;")
																																																		H(
																																																			"fma.rn.f16 %h9, %h0, %h1, %h2;") H("fma.rn.sat.f16 %h9, %h0, %h1, %h2;") H("add.sat.f16 %h9, %h0, %h1;") H("min.f16 %h9, %h0, %h1;") H("max.NaN.f16 %h9, %h0, %h1;") H("neg.f16 %h9, %h0;")
																																																			H("abs.f16 %h9, %h0;") H("fma.rn.relu.f16 %h9, %h0, %h1, %h2;")
																																																				R("add.f16x2 %r9, %r0, %r1;") R("fma.rn.f16x2 %r9, %r0, %r1, %r2;") H(
																																																					"fma.rn.bf16 %h9, %h0, %h1, %h2;") H("add.bf16 %h9, %h0, %h1;")
																																																					H("mul.bf16 %h9, %h0, %h1;") H(
																																																						"max.bf16 %h9, %h0, %h1;")
																																																						R("fma.rn.bf16x2 %r9, %r0, %r1, %r2;")
																																																							P("setp.lt.f16 %p9, %h0, %h1;") P(
																																																								"setp.geu.f16 %p9, %h0, %h1;")
																																																								P(
																																																									"setp.ltu.f32 %p9, %f0, %f1;") P("setp.ge.ftz.f32 %p9, %f0, %f1;") P("setp.equ.f64 %p9, %g0, %g1;") P("setp.ne.f32 %p9, %f0, %f1;") P("setp.nan.f64 %p9, %g0, %g1;") R("set.gtu.u32.f32 %r9, %f0, %f1;") R("slct.s32.f32 %r9, %r0, %r1, %f2;") R("slct.ftz.s32.f32 %r9, %r0, %r1, %f2;")
																																																									R("slct.s32.s32 %r9, %r0, %r1, %r2;")
																																																										P("testp.normal.f32 %p9, %f0;")
																																																											P(
																																																												"testp.subnormal.f64 %p9, %g0;") P("testp.number.f32 %p9, %f0;") A('u',
																																																												2, "div.approx.f32 %f9, %f0, %f1;") A('u', 2, "div.full.f32 %f9, %f0, %f1;") A('u', 1, "rcp.approx.f32 %f9, %f0;") A('u', 1, "rcp.approx.ftz.f32 %f9, %f0;") A('u', 1, "sqrt.approx.f32 %f9, %f0;") A('u',
																																																												1,
																																																												"rsqrt.approx.ftz.f32 %f9, %f0;")
																																																												A('u', 2, "ex2.approx.ftz.f32 %f9, %f0;") A('l', 0x1p-22, "lg2.approx.f32 %f9, %f0;") A('s', 0x1.6ap-21, "sin.approx.f32 %f9, %f0;") A(
																																																													's',
																																																													0x1.6ap-21,
																																																													"cos.approx.f32 %f9, %f0;") A('t',
																																																													0x1p-11,
																																																													"tanh.approx.f32 %f9, %f0;")
	/* halves */
	H("add.rn.ftz.f16 %h9, %h0, %h1;")
		H("sub.ftz.sat.f16 %h9, %h0, %h1;") H("mul.rn.ftz.f16 %h9, %h0, %h1;") R("mul.ftz.sat.f16x2 %r9, %r0, %r1;") R("mul.f16x2 %r9, %r0, %r1;") H("fma.rn.ftz.f16 %h9, %h0, %h1, %h2;") H("fma.rn.ftz.relu.f16 %h9, %h0, %h1, %h2;") R("fma.rn.ftz.sat.f16x2 %r9, %r0, %r1, %r2;") H("fma.rn.relu.bf16 %h9, %h0, %h1, %h2;") R("fma.rn.relu.bf16x2 %r9, %r0, %r1, %r2;") H("sub.rn.bf16 %h9, %h0, %h1;") R("add.rn.bf16x2 %r9, %r0, %r1;") R("sub.rn.f16x2 %r9, %r0, %r1;") H("neg.ftz.f16 %h9, %h0;") H("neg.bf16 %h9, %h0;") R(
			"neg.f16x2 %r9, %r0;") R("neg.bf16x2 %r9, %r0;") H("abs.ftz.f16 %h9, %h0;") H("abs.bf16 %h9, %h0;") R("abs.ftz.f16x2 %r9, %r0;") H("min.ftz.f16 %h9, %h0, %h1;")
			H("max.ftz.NaN.f16 %h9, %h0, %h1;") H("min.xorsign.abs.f16 %h9, %h0, %h1;") H("max.NaN.xorsign.abs.f16 %h9, %h0, %h1;") H(
				"max.ftz.xorsign.abs.f16 %h9, %h0, %h1;") H("min.NaN.bf16 %h9, %h0, %h1;") H("min.xorsign.abs.bf16 %h9, %h0, %h1;") R("max.NaN.xorsign.abs.bf16x2 %r9, %r0, %r1;")
				R("min.ftz.NaN.f16x2 %r9, %r0, %r1;") R("min.bf16x2 %r9, %r0, %r1;") F("min.xorsign.abs.f32 %f9, %f0, %f1;") F("max.xorsign.abs.f32 %f9, %f0, %f1;") F(
					"max.NaN.xorsign.abs.f32 %f9, %f0, %f1;") F("min.ftz.xorsign.abs.f32 %f9, %f0, %f1;") P("setp.lt.ftz.f16 %p9, %h0, %h1;")
					P("setp.neu.bf16 %p9, %h0, %h1;") P("setp.num.f16 %p9, %h0, %h1;") P("setp.lt.s32 %p8, %r0, %r1; setp.ge.and.f16 %p9, %h0, %h1, !%p8;") P("setp.lt.s32 %p8, %r0, %r1; setp.gtu.xor.f16x2 %p9|%p7, %r0, %r1, %p8;") P("setp.lt.s32 %p8, %r0, %r1; setp.gtu.or.bf16x2 %p7|%p9, %r0, %r1, %p8;") P(
						"setp.eq.ftz.f16x2 %p7|%p9, %r0, %r1;") R("set.lt.u32.f16 %r9, %h0, %h1;") R("set.leu.s32.bf16 %r9, %h0, %h1;")
						H("set.lt.s16.f16 %h9, %h0, %h1;") H("set.nan.u16.bf16 %h9, %h0, %h1;") H(
							"set.ge.f16.f16 %h9, %h0, %h1;") H("set.ge.ftz.f16.f16 %h9, %h0, %h1;")
							H("set.ne.bf16.bf16 %h9, %h0, %h1;") H("set.ne.bf16.f16 %h9, %h0, %h1;") R(
								"set.gt.u32.f16x2 %r9, %r0, %r1;") R("set.gt.f16x2.f16x2 %r9, %r0, %r1;")
								R("set.ltu.ftz.s32.f16x2 %r9, %r0, %r1;") R(
									"setp.lt.s32 %p8, %r0, %r2; set.gt.and.bf16x2.bf16x2 %r9, %r0, %r1, !%p8;")
									R("set.gt.u32.bf16x2 %r9, %r0, %r1;") H(
										"set.lt.f16.f32 %h9, %f0, %f1;")
										H("set.geu.f16.f64 %h9, %g0, %g1;") B(
											1,
											"ex2.approx.f16 %h9, %h0;")
											B(1, "ex2.approx.ftz.bf16 %h9, %h0;")
												B(1, "tanh.approx.f16 %h9, %h0;")
													B(1, "tanh.approx.bf16 %h9, %h0;")
	/* conversions */
	H("cvt.rn.satfinite.e4m3x2.f32 %h9, %f0, %f1;") H("cvt.rn.satfinite.e5m2x2.f32 %h9, %f0, %f1;") H(
		"cvt.rn.satfinite.relu.e4m3x2.f32 %h9, %f0, %f1;")
		H("cvt.rn.satfinite.relu.e5m2x2.f32 %h9, %f0, %f1;") H(
			"cvt.rn.satfinite.e4m3x2.f16x2 %h9, %r0;")
			H("cvt.rn.satfinite.e5m2x2.f16x2 %h9, %r0;") H(
				"cvt.rn.satfinite.relu.e4m3x2.f16x2 %h9, %r0;")
				H("cvt.rn.satfinite.relu.e5m2x2.f16x2 %h9, %r0;") R(
					"cvt.rn.f16x2.e4m3x2 %r9, %h0;")
					R("cvt.rn.f16x2.e5m2x2 %r9, %h0;") R(
						"cvt.rn.relu.f16x2.e4m3x2 %r9, %h0;")
						R("cvt.rn.relu.f16x2.e5m2x2 %r9, %h0;") R(
							"cvt.rna.tf32.f32 %r9, %f0;")
							R("cvt.rn.tf32.f32 %r9, %f0;") R(
								"cvt.rz.tf32.f32 %r9, %f0;")
								R("cvt.rn.relu.tf32.f32 %r9, %f0;") R(
									"cvt.rz.relu.tf32.f32 %r9, %f0;")
									R("cvt.rna.satfinite.tf32.f32 %r9, %f0;")
										H("cvt.rn.satfinite.f16.f32 %h9, %f0;")
											H("cvt.rz.satfinite.f16.f32 %h9, %f0;")
												H("cvt.rn.satfinite.bf16.f32 %h9, %f0;")
													H("cvt.rz.relu.satfinite.bf16.f32 %h9, %f0;")
														H("cvt.rn.relu.satfinite.f16.f32 %h9, %f0;")
															R(
																"cvt.rn.satfinite.f16x2.f32 %r9, %f0, %f1;") R("cvt.rz.satfinite.bf16x2.f32 %r9, %f0, %f1;") R("cvt.rn.relu.f16x2.f32 %r9, %f0, %f1;") R("cvt.rn.relu.satfinite.bf16x2.f32 %r9, %f0, %f1;") H("cvt.rp.f16.f32 %h9, %f0;") H("cvt.rm.f16.f64 %h9, %g0;") H("cvt.rz.bf16.f32 %h9, %f0;") H("cvt.rp.bf16.f32 %h9, %f0;") H("cvt.rn.bf16.f64 %h9, %g0;") H("cvt.rm.bf16.f64 %h9, %g0;") H("cvt.rn.bf16.s32 %h9, %r0;") H("cvt.rz.bf16.u32 %h9, %r0;") H("cvt.rn.bf16.s64 %h9, %d0;") H("cvt.rp.bf16.u64 %h9, %d0;") H("cvt.rn.bf16.s16 %h9, %h0;") H("cvt.rn.f16.u64 %h9, %d0;") H("cvt.rz.f16.s16 %h9, %h0;") R("cvt.rni.s32.bf16 %r9, %h0;") R("cvt.rzi.u32.bf16 %r9, %h0;") D("cvt.rmi.s64.bf16 %d9, %h0;") H("cvt.rpi.s16.bf16 %h9, %h0;") H("cvt.rni.u16.f16 %h9, %h0;") D("cvt.rzi.u64.f16 %d9, %h0;") R("cvt.rzi.u8.f16 %r9, %h0;") H("cvt.rni.bf16.bf16 %h9, %h0;") H("cvt.rmi.f16.f16 %h9, %h0;") G("cvt.f64.bf16 %g9, %h0;") F("cvt.rn.f32.bf16 %f9, %h0;") H("cvt.rn.f16.bf16 %h9, %h0;") H("cvt.rn.bf16.f16 %h9, %h0;") H("cvt.bf16.f16 %h9, %h0;") H("cvt.sat.f16.f16 %h9, %h0;") H("cvt.rn.sat.f16.f32 %h9, %f0;") H("cvt.rn.f16.s8 %h9, %r0;") R("cvt.pack.sat.u8.s32.b32 %r9, %r0, %r1, %r2;") R("cvt.pack.sat.s8.s32.b32 %r9, %r0, %r1, %r2;")
																R("cvt.pack.sat.s16.s32 %r9, %r0, %r1;") R(
																	"cvt.pack.sat.u16.s32 %r9, %r0, %r1;")
																	R("cvt.pack.sat.u4.s32.b32 %r9, %r0, %r1, %r2;")
																		R("cvt.pack.sat.s4.s32.b32 %r9, %r0, %r1, %r2;")
																			R("cvt.pack.sat.u2.s32.b32 %r9, %r0, %r1, %r2;")
																				R("cvt.pack.sat.s2.s32.b32 %r9, %r0, %r1, %r2;")
	/* bits and integers */
	R("and.b32 %r8, %r1, 31; fns.b32 %r9, %r0, %r8, %r2;") R("szext.wrap.s32 %r9, %r0, %r1;") R("szext.wrap.u32 %r9, %r0, %r1;") R(
		"szext.clamp.s32 %r9, %r0, %r1;") R("szext.clamp.u32 %r9, %r0, %r1;") R("setp.lt.s32 %p8, %r0, %r1; lop3.or.b32 %r9|%p9, %r0, %r1, %r2, 0x5a, %p8;")
		P("setp.lt.s32 %p8, %r0, %r1; lop3.and.b32 %r9|%p9, %r0, %r1, %r2, 0x80, !%p8;") R(
			"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;") R("add.u16x2 %r9, %r0, %r1;") R("min.s16x2 %r9, %r0, %r1;")
			R("max.u16x2 %r9, %r0, %r1;") R("max.relu.s16x2 %r9, %r0, %r1;") R(
				"min.relu.s32 %r9, %r0, %r1;") R("max.relu.s32 %r9, %r0, %r1;") R("bfind.u32 %r9, %r0;")
				R("bfind.shiftamt.u32 %r9, %r0;") R("brev.b32 %r9, %r0;") R("popc.b32 %r9, %r0;") R(
					"clz.b32 %r9, %r0;") R("cnot.b32 %r9, %r0;")
					R("shf.l.clamp.b32 %r9, %r0, %r1, %r2;") R("shf.r.wrap.b32 %r9, %r0, %r1, %r2;") D(
						"shr.u64 %d9, %d0, %r1;") D("sad.s64 %d9, %d0, %d1, %d2;") D("min.s64 %d9, %d0, %d1;")
						H("rem.s16 %h9, %h0, %h1;") R("mad24.lo.u32 %r9, %r0, %r1, %r2;") R(
							"mad24.hi.u32 %r9, %r0, %r1, %r2;") F("rcp.rz.f32 %f9, %f0;")
							F("rcp.rp.ftz.f32 %f9, %f0;") F("sqrt.rm.f32 %f9, %f0;") F(
								"div.rz.ftz.f32 %f9, %f0, %f1;") G("rcp.rz.f64 %g9, %g0;")
								G("rcp.rm.f64 %g9, %g0;") G("sqrt.rz.f64 %g9, %g0;") G(
									"div.rz.f64 %g9, %g0, %g1;") G("div.rp.f64 %g9, %g0, %g1;")
									G("fma.rm.f64 %g9, %g0, %g1, %g2;") G(
										"fma.rp.f64 %g9, %g0, %g1, %g2;")
										G("sub.rp.f64 %g9, %g0, %g1;") G(
											"mul.rz.f64 %g9, %g0, %g1;")
											G("copysign.f64 %g9, %g0, %g1;") P(
												"testp.finite.f32 %p9, %f0;")
												P("testp.infinite.f64 %p9, %g0;")
													P("testp.notanumber.f64 %p9, %g0;")
	/* video */
	R("vadd.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;") R("vadd.u32.s32.u32.sat %r9, %r0, %r1;") R(
		"vadd.s32.s32.s32.add %r9, %r0.h0, %r1.b2, %r2;") R("vadd.u32.u32.u32.min %r9, %r0, %r1, %r2;")
		R("vadd.s32.s32.u32.max %r9, %r0, %r1.h0, %r2;") R(
			"vadd.u32.s32.s32.sat %r9.h1, %r0, %r1.b0, %r2;")
			R("vadd.s32.s32.s32 %r9.b2, %r0.h1, %r1, %r2;") R(
				"vsub.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;")
				R("vsub.u32.s32.u32.sat %r9, %r0, %r1;") R(
					"vsub.s32.s32.s32.add %r9, %r0.h0, %r1.b2, %r2;")
					R("vsub.u32.u32.u32.min %r9, %r0, %r1, %r2;") R(
						"vsub.s32.s32.u32.max %r9, %r0, %r1.h0, %r2;")
						R("vsub.u32.s32.s32.sat %r9.h1, %r0, %r1.b0, %r2;") R(
							"vsub.s32.s32.s32 %r9.b2, %r0.h1, %r1, %r2;")
							R("vabsdiff.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;")
								R("vabsdiff.u32.s32.u32.sat %r9, %r0, %r1;")
									R("vabsdiff.s32.s32.s32.add %r9, %r0.h0, %r1.b2, %r2;") R("vabsdiff.u32.u32.u32.min %r9, %r0, %r1, %r2;") R("vabsdiff.s32.s32.u32.max %r9, %r0, %r1.h0, %r2;") R("vabsdiff.u32.s32.s32.sat %r9.h1, %r0, %r1.b0, %r2;") R("vabsdiff.s32.s32.s32 %r9.b2, %r0.h1, %r1, %r2;") R("vmin.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;") R("vmin.u32.s32.u32.sat %r9, %r0, %r1;") R("vmin.s32.s32.s32.add %r9, %r0.h0, %r1.b2, %r2;") R("vmin.u32.u32.u32.min %r9, %r0, %r1, %r2;") R("vmin.s32.s32.u32.max %r9, %r0, %r1.h0, %r2;") R("vmin.u32.s32.s32.sat %r9.h1, %r0, %r1.b0, %r2;") R("vmin.s32.s32.s32 %r9.b2, %r0.h1, %r1, %r2;") R(
										"vmax.s32.u32.s32.sat %r9, %r0.b1, %r1.h1;")
										R("vmax.u32.s32.u32.sat %r9, %r0, %r1;") R(
											"vmax.s32.s32.s32.add %r9, %r0.h0, %r1.b2, %r2;")
											R("vmax.u32.u32.u32.min %r9, %r0, %r1, %r2;")
												R("vmax.s32.s32.u32.max %r9, %r0, %r1.h0, %r2;")
													R("vmax.u32.s32.s32.sat %r9.h1, %r0, %r1.b0, %r2;")
														R("vmax.s32.s32.s32 %r9.b2, %r0.h1, %r1, %r2;")
															R("vshl.u32.u32.u32.clamp %r9, %r0, %r1;")
																R("vshl.s32.s32.u32.wrap %r9, %r0.h1, %r1.b0;")
																	R("vshl.s32.s32.u32.sat.clamp %r9, %r0, %r1.b1;")
																		R(
																			"vshl.u32.s32.u32.sat.wrap.add %r9, %r0, %r1, %r2;") R("vshl.u32.u32.u32.clamp %r9.b3, %r0, %r1.b0, %r2;") R("vshr.u32.u32.u32.clamp %r9, %r0, %r1;") R("vshr.s32.s32.u32.wrap %r9, %r0.h1, %r1.b0;") R("vshr.s32.s32.u32.sat.clamp %r9, %r0, %r1.b1;") R("vshr.u32.s32.u32.sat.wrap.add %r9, %r0, %r1, %r2;") R("vshr.u32.u32.u32.clamp %r9.b3, %r0, %r1.b0, %r2;") R("vmad.u32.u32.u32 %r9, %r0.b0, %r1.h1, %r2;") R("vmad.u32.u32.u32.sat.shr7 %r9, %r0, %r1, %r2;") R("vmad.u32.u32.u32.shr15 %r9, %r0, %r1.h0, %r2;")
																			R("vmad.u32.u32.u32.po.sat %r9, %r0, %r1, %r2;")
																				R("vmad.u32.u32.u32.sat %r9, -%r0, %r1.b3, %r2;")
																					R(
																						"vmad.u32.u32.u32.sat %r9, %r0.h0, %r1.h1, -%r2;") R("vmad.s32.s32.u32 %r9, %r0.b0, %r1.h1, %r2;") R("vmad.s32.s32.u32.sat.shr7 %r9, %r0, %r1, %r2;") R("vmad.s32.s32.u32.shr15 %r9, %r0, %r1.h0, %r2;") R("vmad.s32.s32.u32.po.sat %r9, %r0, %r1, %r2;")
																						R("vmad.s32.s32.u32.sat %r9, -%r0, %r1.b3, %r2;") R("vmad.s32.s32.u32.sat %r9, %r0.h0, %r1.h1, -%r2;") R("vmad.s32.s32.s32 %r9, %r0.b0, %r1.h1, %r2;") R("vmad.s32.s32.s32.sat.shr7 %r9, %r0, %r1, %r2;") R(
																							"vmad.s32.s32.s32.shr15 %r9, %r0, %r1.h0, %r2;")
																							R("vmad.s32.s32.s32.po.sat %r9, %r0, %r1, %r2;")
																								R("vmad.s32.s32.s32.sat %r9, -%r0, %r1.b3, %r2;") R("vmad.s32.s32.s32.sat %r9, %r0.h0, %r1.h1, -%r2;") R("vset.s32.u32.lt %r9, %r0, %r1.h0;") R("vset.s32.s32.lt.add %r9, %r0.b1, %r1.b2, %r2;") R("vset.u32.u32.lt.min %r9, %r0, %r1, %r2;")
																									R("vset.u32.s32.lt %r9.h0, %r0, %r1, %r2;") R(
																										"vset.s32.u32.ge %r9, %r0, %r1.h0;")
																										R(
																											"vset.s32.s32.ge.add %r9, %r0.b1, %r1.b2, %r2;") R("vset.u32.u32.ge.min %r9, %r0, %r1, %r2;") R("vset.u32.s32.ge %r9.h0, %r0, %r1, %r2;")
																											R("vset.s32.u32.ne %r9, %r0, %r1.h0;")
																												R("vset.s32.s32.ne.add %r9, %r0.b1, %r1.b2, %r2;") R("vset.u32.u32.ne.min %r9, %r0, %r1, %r2;") R("vset.u32.s32.ne %r9.h0, %r0, %r1, %r2;") R("vadd2.s32.s32.s32 %r9, %r0, %r1, %r2;") R(
																													"vadd2.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vadd2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;") R("vadd2.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vsub2.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vsub2.u32.u32.u32.sat %r9, %r0, %r1, %r2;")
																													R("vsub2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;")
																														R("vsub2.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vavrg2.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vavrg2.u32.u32.u32.sat %r9, %r0, %r1, %r2;")
																															R("vavrg2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;")
																																R("vavrg2.u32.s32.u32.add %r9, %r0, %r1, %r2;")
																																	R("vabsdiff2.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vabsdiff2.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vabsdiff2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;")
																																		R("vabsdiff2.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vmin2.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vmin2.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vmin2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;")
																																			R("vmin2.u32.s32.u32.add %r9, %r0, %r1, %r2;")
																																				R(
																																					"vmax2.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vmax2.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vmax2.s32.u32.s32.sat %r9.h1, %r0.h02, %r1.h31, %r2;") R("vmax2.u32.s32.u32.add %r9, %r0, %r1, %r2;")
																																					R(
																																						"vset2.s32.u32.eq %r9, %r0, %r1, %r2;") R("vset2.s32.s32.eq.add %r9, %r0, %r1, %r2;") R("vset2.s32.u32.gt %r9, %r0, %r1, %r2;")
																																						R("vset2.s32.s32.gt.add %r9, %r0, %r1, %r2;")
																																							R("vadd4.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vadd4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vadd4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;")
																																								R("vadd4.u32.s32.u32.add %r9, %r0, %r1, %r2;")
																																									R("vsub4.s32.s32.s32 %r9, %r0, %r1, %r2;")
																																										R("vsub4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vsub4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;") R(
																																											"vsub4.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vavrg4.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vavrg4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vavrg4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;")
																																											R("vavrg4.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vabsdiff4.s32.s32.s32 %r9, %r0, %r1, %r2;") R(
																																												"vabsdiff4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vabsdiff4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;") R("vabsdiff4.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vmin4.s32.s32.s32 %r9, %r0, %r1, %r2;") R("vmin4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vmin4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;") R("vmin4.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vmax4.s32.s32.s32 %r9, %r0, %r1, %r2;")
																																												R(
																																													"vmax4.u32.u32.u32.sat %r9, %r0, %r1, %r2;") R("vmax4.s32.u32.s32.sat %r9.b310, %r0.b6420, %r1.b0517, %r2;") R("vmax4.u32.s32.u32.add %r9, %r0, %r1, %r2;") R("vset4.s32.u32.eq %r9, %r0, %r1, %r2;") R("vset4.s32.s32.eq.add %r9, %r0, %r1, %r2;") R("vset4.s32.u32.gt %r9, %r0, %r1, %r2;") R("vset4.s32.s32.gt.add %r9, %r0, %r1, %r2;")
/* across the warp, and atomics: on a word of shared memory of each thread's own; %r7 is its
 * address. Each block has 256 threads. */
#define SM                                                                                         \
	"{ .shared .align 16 .b8 sm[4096]; mov.u32 %r7, sm; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r6, 16, %r7; st.shared.b64 [%r7], %d0; "
																																													R("shfl.sync.up.b32 %r9|%p9, %r0, %r1, %r2, -1;") R("shfl.sync.down.b32 %r9, %r0, %r1, %r2, -1;") R("shfl.sync.bfly.b32 %r9, %r0, %r1, %r2, -1;") R(
																																														"shfl.sync.idx.b32 %r9, %r0, %r1, %r2, -1;")
																																														P("shfl.sync.up.b32 %r9|%p9, %r0, %r1, %r2, -1;") P(
																																															"shfl.sync.down.b32 %r9|%p9, %r0, %r1, %r2, -1;") P("shfl.sync.bfly.b32 %r9|%p9, %r0, %r1, %r2, -1;") P("shfl.sync.idx.b32 %r9|%p9, %r0, %r1, %r2, -1;") R("and.b32 %r8, %r0, 3; match.any.sync.b32 %r9, %r8, -1;") R("and.b32 %r8, %r10, 96; match.all.sync.b32 %r9|%p9, %r8, -1;") R("setp.lt.s32 %p8, %r0, %r1; vote.sync.ballot.b32 %r9, %p8, -1;") R("redux.sync.add.s32 %r9, %r0, -1;") R("redux.sync.min.s32 %r9, %r0, -1;") R("redux.sync.max.u32 %r9, %r0, -1;")
																																															R(
																																																"redux.sync.xor.b32 %r9, %r0, -1;") P("elect.sync %r9|%p9, -1;") R("setp.lt.s32 %p8, %r0, %r1; barrier.red.popc.u32 %r9, 0, %p8;") P("setp.lt.s32 %p8, %r0, %r1; barrier.red.or.pred %p9, 0, !%p8;") R(SM "atom.shared.add.f32 %f8, [%r7], %f1; ld.shared.u32 %r9, [%r7]; }") D(SM
																																																"atom.shared.add.f64 %g8, [%r7], %g1; ld.shared.u64 %d9, [%r7]; }") H(SM "atom.shared.add.noftz.f16 %h8, [%r7], %h1; ld.shared.u16 %h9, [%r7]; }")
																																																H(SM "atom.shared.add.noftz.bf16 %h8, [%r7], %h1; ld.shared.u16 %h9, [%r7]; }")
/* These two were recorded with %r1 for the operand, of which the assembler then adds the low half
 * and, for the high one, bits 32 to 47 of %d1. */
#define ODD "shr.u64 %d8, %d1, 32; cvt.u32.u64 %r8, %d8; prmt.b32 %r8, %r1, %r8, 0x5410; "
																																																	R(SM ODD "atom.shared.add.noftz.f16x2 %r8, [%r7], %r8; ld.shared.u32 %r9, [%r7]; }") R(
																																																		SM ODD "red.shared.add.noftz.bf16x2 [%r7], %r8; ld.shared.u32 %r9, [%r7]; }") R(SM "atom.shared.inc.u32 %r8, [%r7], %r1; ld.shared.u32 %r9, [%r7]; }") R(SM "atom.shared.dec.u32 %r8, [%r7], %r1; ld.shared.u32 %r9, [%r7]; }") R(SM "atom.shared.min.s32 %r8, [%r7], %r1; ld.shared.u32 %r9, [%r7]; }") D(SM "atom.shared.max.u64 %d8, [%r7], %d1; ld.shared.u64 %d9, [%r7]; }") H(SM "atom.shared.cas.b16 %h8, [%r7], %h0, %h1; ld.shared.u16 %h9, [%r7]; }") R(SM "atom.shared.xor.b32 %r9, [%r7], %r1; }") D("{ .reg .b128 %q<2>; " SM
																																																																																																																 "mov.b128 %q0, {%d1, %d2}; atom.shared.exch.b128 %q1, [%r7], %q0; ld.shared.b128 %q0, [%r7]; mov.b128 {%d8, %d9}, %q0; } }") D(SM
																																																		"st.shared.b64 [%r7+8], %d1; cvta.shared.u64 %d8, sm; ld.shared.b64 %d9, [%r7+8]; isspacep.shared %p9, %d8; selp.b64 %d9, %d9, %d0, %p9; }")};
#define NINSNS (sizeof(insns) / sizeof(insns[0]))

/* --- operands --- */
/* A 64-bit pattern whose low half is an operand for the 32-bit, 16-bit and float forms. */
static uint64_t operand(unsigned thread, unsigned which, int is_double)
{
	static const uint32_t singles[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000,
		0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345,
		0x7f7fffff, 0x4effffff, 0x4f000000, 0x3f000000, 0x33800000, 31, 32, 33, 255,
		0xffffffff, 0x7fffffff, 0x3c003c00, 0x7c007c00, 0x7e00fe00, 0x00010001, 0x8001fbff,
		0x3c013555};
	static const uint64_t doubles[] = {0, 1ull << 63, 1, 0x000fffffffffffffull,
		0x0010000000000000ull, 0x3ff0000000000000ull, 0xbff0000000000000ull,
		0x7ff0000000000000ull, 0xfff0000000000000ull, 0x7ff8000000000000ull,
		0xfff8000012345678ull, 0x7ff0000012345678ull, 0x7fefffffffffffffull,
		0x41dfffffffc00000ull, 0x43e0000000000000ull, 0x36a0000000000000ull,
		0x3fe0000000000000ull, ~0ull, 0x47efffffe0000000ull, 0x380fffffffffffffull};
	uint64_t r = mix(thread * 3u + which);
	double d;
	float f;
	uint32_t u;

	switch (thread % 4) {
	case 0:
		return r;
	case 1:
		return is_double ? doubles[r % (sizeof(doubles) / 8)]
				 : singles[r % (sizeof(singles) / 4)] | (r & 0xffffffff00000000ull);
	case 2: /* numbers of ordinary size */
		d = ((double)(int64_t)r) * 0x1p-56;
		f = (float)d;
		memcpy(&u, &f, 4);
		if (!is_double)
			return u;
		memcpy(&r, &d, 8);
		return r;
	default:
		return (uint64_t)((int64_t)(r % 2001) - 1000);
	}
}

/* --- running --- */
static void make_text(const struct insn *i, int sm, char *text, size_t n)
{
	static const char *const stores[] = {"cvt.u64.u32 %d9, %r9;", "", "cvt.u64.u16 %d9, %h9;",
		"mov.b32 %r9, %f9; cvt.u64.u32 %d9, %r9;", "mov.b64 %d9, %g9;",
		"selp.u64 %d9, 1, 0, %p9;"};

	snprintf(text, n,
		".version 8.6\n.target sm_%d\n.address_size 64\n.visible .entry k(.param .u64 o, .param .u64 i) {\n"
		".reg .b16 %%h<10>; .reg .b32 %%r<13>; .reg .b64 %%d<14>; .reg .f32 %%f<10>; .reg .f64 %%g<10>; .reg .pred %%p<10>;\n"
		"ld.param.u64 %%d10, [o]; ld.param.u64 %%d11, [i]; mov.u32 %%r10, %%tid.x; mov.u32 %%r11, %%ctaid.x; mov.u32 %%r12, %%ntid.x;\n"
		"mad.lo.u32 %%r10, %%r11, %%r12, %%r10; mul.wide.u32 %%d12, %%r10, 8; add.u64 %%d10, %%d10, %%d12; mul.wide.u32 %%d12, %%r10, 48; add.u64 %%d11, %%d11, %%d12;\n"
		"ld.global.b64 %%d0, [%%d11]; ld.global.b64 %%d1, [%%d11+8]; ld.global.b64 %%d2, [%%d11+16];\n"
		"ld.global.f64 %%g0, [%%d11+24]; ld.global.f64 %%g1, [%%d11+32]; ld.global.f64 %%g2, [%%d11+40];\n"
		"cvt.u32.u64 %%r0, %%d0; cvt.u32.u64 %%r1, %%d1; cvt.u32.u64 %%r2, %%d2; cvt.u16.u64 %%h0, %%d0; cvt.u16.u64 %%h1, %%d1; cvt.u16.u64 %%h2, %%d2;\n"
		"mov.b32 %%f0, %%r0; mov.b32 %%f1, %%r1; mov.b32 %%f2, %%r2;\n%s\n%s\nst.global.u64 [%%d10], %%d9; ret; }\n",
		sm, i->text, stores[strchr("rdhfgp", i->kind) - "rdhfgp"]);
}

static void run_all(const char *file)
{
	static uint64_t in[N][6], out[N];
	uint64_t d_in = 0, d_out = 0;
	void *mod = NULL, *fn = NULL;
	int capability;
	char text[4096];
	FILE *f = fopen(file, "wb");

	if (!f) {
		perror(file);
		exit(1);
	}
	for (unsigned t = 0; t < N; t++)
		for (unsigned k = 0; k < 6; k++)
			in[t][k] = operand(t, k % 3, k >= 3);
	capability = open_driver();
	CU("cuMemAlloc_v2", (void *)&d_in, sizeof(in));
	CU("cuMemAlloc_v2", (void *)&d_out, sizeof(out));
	CU("cuMemcpyHtoD_v2", (void *)(uintptr_t)d_in, in, sizeof(in));
	for (unsigned k = 0; k < NINSNS; k++) {
		void *params[2] = {&d_out, &d_in};
		make_text(&insns[k], capability >= 90 ? 90 : 80, text, sizeof(text));
		memset(out, 0, sizeof(out));
		if (((int (*)(void *, const void *))call("cuModuleLoadData"))(&mod, text)) {
			fprintf(stderr, "refused: %s\n", insns[k].text);
		} else {
			CU("cuModuleGetFunction", (void *)&fn, mod, "k");
			CU("cuLaunchKernel", fn, N / 256, 1, 1, 256, 1, 1, 0, (void *)0, params,
				(void *)0);
			CU("cuMemcpyDtoH_v2", out, d_out, sizeof(out));
			CU("cuModuleUnload", mod);
		}
		fwrite(out, 8, N, f);
	}
	fclose(f);
}

/* --- comparing --- */
static uint32_t ulps(uint32_t a, uint32_t b)
{
	int32_t x = (int32_t)a < 0 ? (int32_t)(0x80000000u - a) : (int32_t)a,
		y = (int32_t)b < 0 ? (int32_t)(0x80000000u - b) : (int32_t)b;

	return x > y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x;
}

/* A result as a number. */
static double number(char kind, uint64_t v)
{
	uint32_t u = (uint32_t)v;
	double d;
	float f;

	if (kind == 'g') {
		memcpy(&d, &v, 8);
		return d;
	}
	memcpy(&f, &u, 4);
	return (double)f;
}

#define PI 3.1415926535897931
/* How far apart two results of an approximation are, in the unit of its bound. */
static double distance(const struct insn *i, unsigned t, uint64_t x, uint64_t y)
{
	double a = number(i->kind, x), b = number(i->kind, y), arg = number('f', operand(t, 0, 0)),
	       away = fabs(a - b);

	if (x == y || (i->rule == 's' && isfinite(arg) && fabs(arg) > 100 * PI))
		return 0;
	if (i->kind == 'h')
		return ulps((uint32_t)x << 16, (uint32_t)y << 16) >> 16;
	if (i->kind == 'g')
		return (uint32_t)x != (uint32_t)y ? HUGE_VAL
						  : ulps((uint32_t)(x >> 32), (uint32_t)(y >> 32));
	if (i->rule == 'u')
		return ulps((uint32_t)x, (uint32_t)y);
	if (!isfinite(a) || !isfinite(b))
		return HUGE_VAL;
	if (i->rule == 's')
		return fabs(arg) > 2 * PI ? away * 0x1.26p-6 : away;
	return i->rule == 't' ? away / fabs(a) : away / (fabs(a) > 1 ? fabs(a) : 1);
}

static void print_difference(const struct insn *i, unsigned t, uint64_t x, uint64_t y)
{
	printf("  %s  a %#llx b %#llx c %#llx | %#llx %#llx: %#llx, %#llx\n", i->text,
		(unsigned long long)operand(t, 0, 0), (unsigned long long)operand(t, 1, 0),
		(unsigned long long)operand(t, 2, 0), (unsigned long long)operand(t, 0, 1),
		(unsigned long long)operand(t, 1, 1), (unsigned long long)x, (unsigned long long)y);
}

static int compare(const char *a, const char *b)
{
	FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
	static uint64_t x[N], y[N];
	unsigned bad = 0, equal = 0;

	if (!fa || !fb)
		return 2;
	for (unsigned k = 0; k < NINSNS; k++) {
		const struct insn *i = &insns[k];
		unsigned differ = 0, shown = 0;
		double most = 0;
		if (fread(x, 8, N, fa) != N || fread(y, 8, N, fb) != N)
			return 2;
		for (unsigned t = 0; t < N; t++) {
			double d = x[t] == y[t]	    ? 0
				   : i->rule == '=' ? HUGE_VAL
						    : distance(i, t, x[t], y[t]);
			differ += x[t] != y[t];
			most = d > most ? d : most;
			if (d > i->most && shown++ < 3)
				print_difference(i, t, x[t], y[t]);
		}
		bad += most > i->most;
		equal += !differ;
		if (differ && i->rule != '=')
			printf("%s differs in %u of %u, at most %g %s\n", i->text, differ, N, most,
				i->rule == 'u'	 ? "ulp"
				: i->rule == 's' ? "absolute"
						 : "relative");
		else if (differ)
			printf("%s differs in %u of %u\n", i->text, differ, N);
	}
	printf("%zu instructions: %u equal, %zu near, %u neither\n", NINSNS, equal,
		NINSNS - equal - bad, bad);
	return bad != 0;
}

/* Of the approximations some results: a line "thread result" each, behind the instruction. */
static int samples(const char *file)
{
	FILE *f = fopen(file, "rb");
	static uint64_t x[N];

	if (!f)
		return 2;
	for (unsigned k = 0; k < NINSNS; k++) {
		if (fread(x, 8, N, f) != N)
			return 2;
		if (insns[k].rule == '=')
			continue;
		printf("%s\n", insns[k].text);
		for (unsigned n = 0; n < N / 16; n++)
			printf("%s%u:%llx%s", n % 8 ? " " : "\t", 16 * n + n % 16,
				(unsigned long long)x[16 * n + n % 16], n % 8 == 7 ? "\n" : "");
	}
	fclose(f);
	return 0;
}

/* Are a file's results within the bounds around the recorded samples? */
static int near(const char *recorded, const char *file)
{
	FILE *r = fopen(recorded, "r"), *f = fopen(file, "rb");
	static uint64_t x[N];
	unsigned forms = 0, bad = 0, k = (unsigned)-1;
	char line[512];

	if (!r || !f)
		return 2;
	while (fgets(line, sizeof(line), r)) {
		unsigned t;
		unsigned long long v;
		if (line[0] == '#')
			continue;
		if (line[0] != '\t') {
			line[strcspn(line, "\n")] = '\0';
			for (k = 0; k < NINSNS && strcmp(insns[k].text, line); k++)
				;
			if (k == NINSNS || fseek(f, (long)(k * sizeof(x)), SEEK_SET) ||
				fread(x, 8, N, f) != N)
				return 2;
			forms++;
			continue;
		}
		for (char *s = strtok(line, " \t\n"); s; s = strtok(NULL, " \t\n"))
			if (k < NINSNS && sscanf(s, "%u:%llx", &t, &v) == 2 && t < N &&
				!(distance(&insns[k], t, v, x[t]) <= insns[k].most)) {
				print_difference(&insns[k], t, v, x[t]);
				bad++;
			}
	}
	printf("%u approximate forms, %u results out of bounds\n", forms, bad);
	return bad || !forms;
}

static int hashes(const char *file)
{
	FILE *f = fopen(file, "rb");
	static uint64_t x[N];

	if (!f)
		return 2;
	for (unsigned k = 0; k < NINSNS; k++) {
		uint64_t h = 0;
		if (fread(x, 8, N, f) != N)
			return 2;
		for (unsigned t = 0; t < N; t++)
			h = mix(h ^ x[t]);
		if (insns[k].rule == '=')
			printf("%016llx %c %s\n", (unsigned long long)h, insns[k].kind,
				insns[k].text);
	}
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--hashes"))
		return hashes(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--compare"))
		return compare(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--samples"))
		return samples(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--near"))
		return near(argv[2], argv[3]);
	if (argc != 2) {
		fprintf(stderr,
			"usage: ptx-bits FILE | --compare A B | --hashes FILE | --samples FILE | --near SAMPLES FILE\n");
		return 1;
	}
	run_all(argv[1]);
	return 0;
}
