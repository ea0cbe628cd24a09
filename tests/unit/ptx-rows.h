/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of PTX instructions with operands and the result worked out by hand, and what checks them.
 * Inputs a, b, c are 64-bit patterns, seen as %r0-2 (32 bits), %d0-2 (64), %h0-2 (16), %f0-2
 * (float), %g0-2 (double). The result is in register 9 of the kind the row names, or in %p9.
 */
#ifndef PTX_ROWS_H
#define PTX_ROWS_H

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

static inline uint64_t result_of(const struct row *t)
{
	static const char *const stores[] = {"st.global.b32 [%d10], %r9;",
		"st.global.b64 [%d10], %d9;", "st.global.b16 [%d10], %h9;",
		"st.global.f32 [%d10], %f9;", "st.global.f64 [%d10], %g9;",
		"selp.b32 %r9, 1, 0, %p9; st.global.b32 [%d10], %r9;"};
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
		PTX_HEAD
		".visible .entry k(.param .u64 o, .param .u64 i) {\n"
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
			fail_msg("%s: lane %u has %#llx, lane 0 has %#llx", t->insn, l,
				(unsigned long long)out[l], (unsigned long long)out[0]);
	return out[0];
}

static inline void check(const struct row *t, size_t n)
{
	unsigned bad = 0;

	for (size_t k = 0; k < n; k++) {
		uint64_t got = result_of(&t[k]);
		if (got == t[k].want)
			continue;
		print_error("%s with %#llx %#llx %#llx: %#llx, not %#llx\n", t[k].insn,
			(unsigned long long)t[k].a, (unsigned long long)t[k].b,
			(unsigned long long)t[k].c, (unsigned long long)got,
			(unsigned long long)t[k].want);
		bad++;
	}
	assert_int_equal(bad, 0);
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		check(name, sizeof(name) / sizeof(name[0]));                                       \
	}

#endif
