/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of instructions against their definitions: every form with every pair of awkward operands
 * (and a third that differs), one in each thread, by all lanes of a warp and by some. Built with
 * COMPILED the kernels are compiled before their first instruction, and a form that the compiler
 * knows must not be left to the interpreter's handler: a wrong bit and a lost form both show.
 */
#ifndef PTX_FORMS_H
#define PTX_FORMS_H

#include "counted-handlers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Whole numbers and single precision: zeros, subnormals, limits, ties of conversions, NaNs, whose
 * low halves are limits of 16 bits. */
static const uint32_t edges32[] = {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x80800001, 0x3f800000,
	0xbf800000, 0x3f800001, 0x3f000000, 0x40200000, 0xc0600000, 0x4b000001, 0x01000001,
	0x01000003, 0x4f000000, 0xcf000000, 0x4f800000, 0x7e800001, 0x7f7fffff, 0xff7fffff,
	0x7f800000, 0xff800000, 0x7fff8000, 0xff807fff, 0x7fffffff, 0xffffffff, 33};
static const uint64_t edges64[] = {0, 1ull << 63, 1, 0x800fffffffffffff, 0x0010000000000000,
	0x8010000000000001, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001,
	0x3fe0000000000000, 0x4004000000000000, 0xc00c000000000000, 0x0020000000000001,
	0x0020000000000003, 0x41e0000000000000, 0xc1e0000000200000, 0x43e0000000000000,
	0xc3e0000000000000, 0x43f0000000000000, 0x47efffffefffffff, 0x36a0000000000001,
	0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
	0x7ff8000000000123, 0xfff4000000000003, ~0ull};
#define NEDGES 28
#define PAIRS (NEDGES * NEDGES)
#define THREADS (2 * PAIRS) /* 49 warps */
_Static_assert(COUNT_OF(edges32) == NEDGES && COUNT_OF(edges64) == NEDGES, "as many of both");

struct operands { /* in %h0-2 (the low halves of r), %r0-2, %f0-2; %d0-2, %g0-2; %p0-1 */
	uint32_t r[3];
	uint64_t d[3];
	bool p[2];
};

struct form {
	char insn[88]; /* its result is in register 9 of the kind */
	char kind;     /* r d h f g p */
	bool compiled; /* the compiler knows it */
	uint64_t (*is)(const struct form *f, const struct operands *o);
	unsigned op, type, from, how; /* the definition's own */
	bool ftz, sat;
};

static struct form forms[1500];
static size_t nforms;

/* The next form, all but its instruction. */
static inline struct form *next_form(char kind, bool compiled,
	uint64_t (*is)(const struct form *f, const struct operands *o), unsigned op, unsigned type)
{
	struct form *f = &forms[nforms++];

	assert_true(nforms <= COUNT_OF(forms));
	*f = (struct form){.kind = kind, .compiled = compiled, .is = is, .op = op, .type = type};
	return f;
}
#define INSN(f, ...)                                                                               \
	assert_in_range(                                                                           \
		snprintf((f)->insn, sizeof((f)->insn), __VA_ARGS__), 1, sizeof((f)->insn) - 1)

static inline struct operands operands_of(unsigned t)
{
	const unsigned at[] = {t % NEDGES, t / NEDGES % NEDGES,
		(5 * t + t / NEDGES * 3 + t / PAIRS * 11) % NEDGES};
	struct operands o = {.p = {t % 3 == 0, (t & 4) != 0}};

	for (unsigned k = 0; k < 3; k++) {
		o.r[k] = edges32[at[k]];
		o.d[k] = edges64[at[k]];
	}
	return o;
}

/* --- many forms in one kernel --- */
#define BATCH 32
static uint32_t *forms_r;
static uint64_t *forms_d, *forms_out; /* [form][thread] */

static inline void place_operands(void)
{
	forms_r = device(3 * THREADS * 4);
	forms_d = device(3 * THREADS * 8);
	forms_out = device(BATCH * THREADS * 8);
	for (unsigned t = 0; t < THREADS; t++) {
		const struct operands o = operands_of(t);

		for (unsigned k = 0; k < 3; k++) {
			forms_r[k * THREADS + t] = o.r[k];
			forms_d[k * THREADS + t] = o.d[k];
		}
	}
}

/* Registers 9 hold these bits before the form. */
static inline uint64_t before(char kind)
{
	return kind == 'p'		    ? 1
	       : kind == 'h'		    ? 0x5a5a
	       : kind == 'r' || kind == 'f' ? 0x5a5a5a5a
					    : 0x5a5a5a5a5a5a5a5aull;
}

static inline size_t begin_kernel(char *text, size_t n)
{
	int at = snprintf(text, n,
		".version 8.6\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 o, .param .u64 r, .param .u64 d) {\n"
		".reg .b16 %%h<10>; .reg .b32 %%r<16>; .reg .f32 %%f<10>; .reg .f64 %%g<10>; .reg .b64 %%d<14>; .reg .pred %%p<12>;\n"
		"mov.u32 %%r10, %%tid.x; mov.u32 %%r11, %%ctaid.x; mov.u32 %%r12, %%ntid.x; mad.lo.u32 %%r10, %%r11, %%r12, %%r10;\n"
		"ld.param.u64 %%d10, [o]; mad.wide.u32 %%d10, %%r10, 8, %%d10; ld.param.u64 %%d11, [r]; mad.wide.u32 %%d11, %%r10, 4, %%d11; ld.param.u64 %%d12, [d]; mad.wide.u32 %%d12, %%r10, 8, %%d12;\n"
		"rem.u32 %%r11, %%r10, 3; setp.eq.u32 %%p0, %%r11, 0; and.b32 %%r11, %%r10, 4; setp.ne.u32 %%p1, %%r11, 0; popc.b32 %%r11, %%r10; and.b32 %%r11, %%r11, 1; setp.ne.u32 %%p10, %%r11, 0;\n");

	for (unsigned k = 0; k < 3; k++)
		at += snprintf(text + at, n - (size_t)at,
			"ld.volatile.global.b32 %%r%u, [%%d11+%u]; ld.volatile.global.b64 %%d%u, [%%d12+%u]; cvt.u16.u32 %%h%u, %%r%u; mov.b32 %%f%u, %%r%u; mov.b64 %%g%u, %%d%u;\n",
			k, k * THREADS * 4, k, k * THREADS * 8, k, k, k, k, k, k);
	return (size_t)at;
}

/* The kernel's text; line[k]: where form k lies. */
static inline void write_kernel(
	char *text, size_t n, const struct form *f, unsigned count, bool guarded, unsigned *line)
{
	static const char *const sets[] = {"mov.b32 %r9, 0x5a5a5a5a;",
		"mov.b64 %d9, 0x5a5a5a5a5a5a5a5a;", "mov.b16 %h9, 0x5a5a;",
		"mov.b32 %f9, 0f5a5a5a5a;", "mov.b64 %g9, 0d5a5a5a5a5a5a5a5a;",
		"setp.eq.u32 %p9, %r10, %r10;"};
	static const char *const gets[] = {"cvt.u64.u32 %d13, %r9;", "mov.b64 %d13, %d9;",
		"cvt.u64.u16 %d13, %h9;", "mov.b32 %r13, %f9; cvt.u64.u32 %d13, %r13;",
		"mov.b64 %d13, %g9;", "selp.u64 %d13, 1, 0, %p9;"};
	size_t at = begin_kernel(text, n);

	for (unsigned k = 0; k < count; k++) {
		const size_t kind = (size_t)(strchr("rdhfgp", f[k].kind) - "rdhfgp");

		at += (size_t)snprintf(text + at, n - at, "%s\n", sets[kind]);
		line[k] = line_of(text);
		at += (size_t)snprintf(text + at, n - at,
			"%s%s\n%s st.volatile.global.b64 [%%d10+%u], %%d13;\n",
			guarded ? "@%p10 " : "", f[k].insn, gets[kind], k * THREADS * 8);
	}
	at += (size_t)snprintf(text + at, n - at, "ret; }\n");
	assert_true(at < n);
}

static inline void compare_results(const struct form *f, unsigned count, bool guarded)
{
	for (unsigned k = 0; k < count; k++)
		for (unsigned t = 0; t < THREADS; t++) {
			const struct operands o = operands_of(t);
			const bool done = !guarded || __builtin_parity(t);
			const uint64_t want = done ? f[k].is(&f[k], &o) : before(f[k].kind),
				       got = forms_out[k * THREADS + t];

			if (got != want)
				fail_msg(
					"%s%s r %#x %#x %#x d %#llx %#llx %#llx p %d %d: %#llx, not %#llx",
					done ? "" : "not by this lane: ", f[k].insn, o.r[0], o.r[1],
					o.r[2], (unsigned long long)o.d[0],
					(unsigned long long)o.d[1], (unsigned long long)o.d[2],
					o.p[0], o.p[1], (unsigned long long)got,
					(unsigned long long)want);
		}
}

static inline void run_forms(const struct form *f, unsigned count, bool guarded)
{
	static char text[32768];
	const void *params[] = {forms_out, forms_r, forms_d};
	const unsigned block = guarded ? NEDGES : THREADS / 7; /* some lanes of a warp, or all */
	unsigned line[BATCH];
	struct ptx_module *m;

	write_kernel(text, sizeof(text), f, count, guarded, line);
	m = load(text);
	if (IS_COMPILED)
		count_handlers(m);
	memset(forms_out, 0, BATCH * THREADS * 8);
	run(m, "k", THREADS / block, block, params);
	ptx_free(m);
	compare_results(f, count, guarded);
	for (unsigned k = 0; IS_COMPILED && k < count; k++)
		if (f[k].compiled && handled[line[k]])
			fail_msg("%s%s is left to its handler", guarded ? "@p " : "", f[k].insn);
}

/* All forms that there are; compiled, those that the compiler knows. */
static inline void check_forms(void **state)
{
	size_t n = 0;

	if (!counted_mode())
		skip();
	for (size_t k = 0; k < nforms; k++)
		if (!IS_COMPILED || forms[k].compiled)
			forms[n++] = forms[k];
	for (size_t k = 0; k < n; k += BATCH)
		for (unsigned guarded = 0; guarded < 2; guarded++)
			run_forms(&forms[k], n - k < BATCH ? (unsigned)(n - k) : BATCH, guarded);
}

#endif
