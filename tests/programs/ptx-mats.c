/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix instructions with the same operands on any CUDA driver, and their results as bits in a
 * file: as ptx-bits.c, but a warp at a time. ptx-mats FILE                writes the results
 *   ptx-mats --compare A B       what differs, by kind of operands; exit status 1 when something
 * does ptx-mats --hashes FILE       a line per instruction: tests/programs/ptx-mats.h200 has an
 * H200's The operands are of eight kinds, a warp each in turn: they are chosen to tell one way of
 * adding from another.
 */
#include "ptx-driver.h"

#include <stdarg.h>
#include <stdbool.h>

#define WARPS 64
#define WORDS 24 /* 64-bit words of a lane: a at 0, b at 8, c at 16 */
#define OUT 8
#define NOUT (WARPS * 32 * OUT)

static const char *const kinds[8] = {"ordinary", "wide range", "cancelling", "subnormal",
	"infinities and NaNs", "mostly zeros", "one large", "any finite bits"};

struct form {
	unsigned m, n, k;
	const char *d, *a, *b, *c, *mods, *after; /* after: behind the types */
	const char *layouts;
	char what; /* m: mma, w: wmma, x: moves of matrices */
};
#define MM(m, n, k, d, a, b, c, mods, after)                                                       \
	{                                                                                          \
		m, n, k, d, a, b, c, mods, after, "row.col", 'm'                                   \
	}
#define M1(m, n, k, d, a) MM(m, n, k, d, a, a, d, "", "")
#define MV(l, d, c)                                                                                \
	{                                                                                          \
		8, 8, 4, d, "f16", "f16", c, "", "", l, 'm'                                        \
	}
#define WM(m, n, k, l, d, a)                                                                       \
	{                                                                                          \
		m, n, k, d, a, a, d, "", "", l, 'w'                                                \
	}
#define XX(text)                                                                                   \
	{                                                                                          \
		0, 0, 0, "", "", "", "", text, "", "", 'x'                                         \
	}
static const struct form forms[] = {
	M1(16, 8, 8, "f16", "f16"),
	M1(16, 8, 8, "f32", "f16"),
	M1(16, 8, 16, "f16", "f16"),
	M1(16, 8, 16, "f32", "f16"),
	M1(16, 8, 8, "f32", "bf16"),
	M1(16, 8, 16, "f32", "bf16"),
	M1(16, 8, 4, "f32", "tf32"),
	M1(16, 8, 8, "f32", "tf32"),
	M1(16, 8, 16, "f32", "e4m3"),
	M1(16, 8, 16, "f32", "e5m2"),
	M1(16, 8, 32, "f32", "e4m3"),
	M1(16, 8, 32, "f32", "e5m2"),
	MM(16, 8, 32, "f32", "e4m3", "e5m2", "f32", "", ""),
	MM(16, 8, 16, "f32", "e5m2", "e4m3", "f32", "", ""),
	M1(16, 8, 16, "f16", "e4m3"),
	M1(16, 8, 32, "f16", "e4m3"),
	M1(16, 8, 32, "f16", "e5m2"),
	MM(16, 8, 32, "f16", "e5m2", "e4m3", "f16", "", ""),
	M1(8, 8, 4, "f64", "f64"),
	MM(8, 8, 4, "f64", "f64", "f64", "f64", ".rz", ""),
	MM(8, 8, 4, "f64", "f64", "f64", "f64", ".rm", ""),
	MM(8, 8, 4, "f64", "f64", "f64", "f64", ".rp", ""),
	M1(16, 8, 4, "f64", "f64"),
	M1(16, 8, 8, "f64", "f64"),
	M1(16, 8, 16, "f64", "f64"),
	MM(16, 8, 16, "f64", "f64", "f64", "f64", ".rz", ""),
	MV("row.col", "f16", "f16"),
	MV("row.row", "f32", "f16"),
	MV("col.row", "f32", "f32"),
	MV("col.col", "f16", "f16"),
	MV("row.col", "f32", "f32"),
	MM(8, 8, 16, "s32", "s8", "s8", "s32", "", ""),
	MM(8, 8, 16, "s32", "u8", "s8", "s32", ".satfinite", ""),
	MM(16, 8, 16, "s32", "s8", "u8", "s32", "", ""),
	MM(16, 8, 16, "s32", "u8", "u8", "s32", ".satfinite", ""),
	MM(16, 8, 32, "s32", "s8", "s8", "s32", "", ""),
	MM(16, 8, 32, "s32", "s8", "s8", "s32", ".satfinite", ""),
	MM(16, 8, 32, "s32", "u8", "s8", "s32", ".satfinite", ""),
	MM(8, 8, 32, "s32", "s4", "s4", "s32", "", ""),
	MM(8, 8, 32, "s32", "u4", "s4", "s32", ".satfinite", ""),
	MM(16, 8, 32, "s32", "u4", "u4", "s32", "", ""),
	MM(16, 8, 64, "s32", "s4", "s4", "s32", "", ""),
	MM(16, 8, 64, "s32", "s4", "s4", "s32", ".satfinite", ""),
	MM(8, 8, 128, "s32", "b1", "b1", "s32", "", ".xor.popc"),
	MM(8, 8, 128, "s32", "b1", "b1", "s32", "", ".and.popc"),
	MM(16, 8, 128, "s32", "b1", "b1", "s32", "", ".xor.popc"),
	MM(16, 8, 256, "s32", "b1", "b1", "s32", "", ".and.popc"),
	MM(16, 8, 256, "s32", "b1", "b1", "s32", "", ".xor.popc"),
	WM(16, 16, 16, "row.col", "f32", "f16"),
	WM(16, 16, 16, "col.row", "f16", "f16"),
	WM(8, 32, 16, "row.row", "f32", "f16"),
	WM(32, 8, 16, "col.col", "f32", "f16"),
	WM(8, 32, 16, "col.row", "f16", "f16"),
	WM(16, 16, 16, "row.col", "f32", "bf16"),
	WM(8, 32, 16, "col.row", "f32", "bf16"),
	WM(32, 8, 16, "row.row", "f32", "bf16"),
	WM(16, 16, 8, "row.col", "f32", "tf32"),
	WM(16, 16, 8, "col.row", "f32", "tf32"),
	WM(8, 8, 4, "row.col", "f64", "f64"),
	WM(8, 8, 4, "col.row", "f64", "f64"),
	WM(16, 16, 16, "row.col", "s32", "s8"),
	WM(16, 16, 16, "col.row", "s32", "u8"),
	WM(8, 32, 16, "row.row", "s32", "s8"),
	WM(32, 8, 16, "col.col", "s32", "u8"),
	WM(8, 8, 32, "row.col", "s32", "s4"),
	WM(8, 8, 32, "row.col", "s32", "u4"),
	WM(8, 8, 128, "row.col", "s32", "b1"),
	XX("movmatrix.sync.aligned.m8n8.trans.b16 %r24, %r0;"),
	XX("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r24}, [%r32];"),
	XX("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r24,%r25}, [%r32];"),
	XX("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r24,%r25,%r26,%r27}, [%r32];"),
	XX("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r24,%r25,%r26,%r27}, [%r32];"),
	XX("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r32], {%r0,%r1,%r2,%r3}; bar.warp.sync 0xffffffff; ld.shared.v4.u32 {%r24,%r25,%r26,%r27}, [%r32];"),
	XX("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r32], {%r0,%r1}; bar.warp.sync 0xffffffff; ld.shared.v4.u32 {%r24,%r25,%r26,%r27}, [%r32];"),
};
#define NFORMS (sizeof(forms) / sizeof(forms[0]))

static unsigned bits_of(const char *type)
{
	if (type[0] == 'e')
		return 8;
	if (type[1] == '1' && type[0] == 'b')
		return 1;
	if (type[1] == '4')
		return 4;
	if (type[1] == '8')
		return 8;
	return strstr(type, "f16") ? 16 : !strcmp(type, "f64") ? 64 : 32;
}

/* --- operands --- */
struct shape {
	unsigned exp, frac;
};

static struct shape shape_of(const char *type)
{
	if (!strcmp(type, "f16"))
		return (struct shape){5, 10};
	if (!strcmp(type, "bf16"))
		return (struct shape){8, 7};
	if (!strcmp(type, "e4m3"))
		return (struct shape){4, 3};
	if (!strcmp(type, "e5m2"))
		return (struct shape){5, 2};
	if (!strcmp(type, "f64"))
		return (struct shape){11, 52};
	if (strchr(type, 'f'))
		return (struct shape){8, 23};
	return (struct shape){0, 0}; /* integers */
}

/* (-1)^sign * 1.frac * 2^exp, brought into the range of finite numbers. */
static uint64_t make(struct shape s, unsigned sign, int exp, uint64_t frac)
{
	int bias = (1 << (s.exp - 1)) - 1, e = exp + bias, most = (1 << s.exp) - 2;

	e = e < 0 ? 0 : e > most ? most : e;
	return (uint64_t)sign << (s.exp + s.frac) | (uint64_t)e << s.frac |
	       (frac & ((1ull << s.frac) - 1));
}

/* Element e of operand o ('a', 'b', 'c') of warp w; before: the element before it. */
static uint64_t element(
	unsigned w, unsigned seed, char o, const char *type, unsigned e, uint64_t before)
{
	uint64_t r = mix(mix(((uint64_t)w << 32) + seed) + e * 4u + (unsigned)(o - 'a')),
		 q = mix(r);
	struct shape s = shape_of(type);
	unsigned bits = s.exp + s.frac, sign = r & 1;
	int bias;
	uint64_t nan;

	if (!s.exp) {
		if (o != 'c')
			return r;
		return w % 4 == 0   ? r % 1000
		       : w % 4 == 1 ? 0x7fffffffu - r % 40000
		       : w % 4 == 2 ? 0x80000000u + r % 40000
				    : r & 0xffffffff;
	}
	bias = (1 << (s.exp - 1)) - 1;
	nan = ((1ull << s.exp) - 1) << s.frac;
	switch (w % 8) {
	case 0:
		return make(s, sign, (int)(r >> 1 & 7) - 4, q);
	case 1: /* products stay finite in half of the warps */
		return make(s, sign,
			(int)((r >> 1) % (unsigned)(w & 8 ? 2 * bias : bias)) -
				(w & 8 ? bias - 1 : bias / 2),
			q);
	case 2: /* a pair's products cancel, but for the last bit now and then */
		if (o == 'c')
			return make(s, sign, -(int)(r >> 1 & 31) + 4, q);
		if (e & 1)
			return o == 'a' ? before ^ (q % 7 == 0) : before ^ 1ull << bits;
		return make(s, sign, (int)(r >> 1 & 7) - 2, q);
	case 3:
		return make(s, sign, -bias + (int)(r >> 1 & 3), q);
	case 4:
		switch ((r >> 8) % 96) {
		case 0:
			return nan | (uint64_t)sign << bits;
		case 1:
			return nan | 1ull << (s.frac - 1) | (q & 3) | (uint64_t)sign << bits;
		case 2:
			return (uint64_t)sign << bits;
		case 3:
			return make(s, sign, bias, ~0ull);
		default:
			return make(s, sign, (int)(r >> 1 & 15) - 8, q);
		}
	case 5:
		return (r >> 8) % 5 ? (uint64_t)sign << bits
				    : make(s, sign, (int)((r >> 1) % (unsigned)bias) - bias / 2, q);
	case 6: /* 1, and products 15 to 30 binary places below it */
		if (o == 'c')
			return make(s, sign, (r >> 9) % 3 ? -(int)(r >> 1 & 31) : 0, q);
		return (r >> 8) % 11 == 0 ? make(s, sign, 0, 0)
					  : make(s, sign, -(int)(r >> 1 & 7) - 8, q);
	default: {
		uint64_t v = q & ((2ull << bits) - 1);
		return (v & nan) == nan ? v ^ 1ull << s.frac : v;
	}
	}
}

static uint64_t inputs[WARPS][32][WORDS];
/* A lane has its registers of a at word 0, of b at 8, of c at 16; wmma finds its matrices in a
 * warp's words as they lie. */
static void fill(const struct form *f, unsigned seed)
{
	for (unsigned w = 0; w < WARPS; w++)
		for (unsigned o = 0; o < 3; o++) {
			const char *type = o == 0 ? f->a : o == 1 ? f->b : f->c;
			unsigned bits, wide;
			if (f->what == 'x')
				type = "f16";
			bits = bits_of(type);
			wide = bits == 64 || f->what == 'w' ? 64
							    : 32; /* wmma reads all of the memory */
			for (unsigned l = 0; l < 32; l++)
				for (unsigned r = 0; r < 8; r++) {
					uint64_t word = 0, before = 0;
					for (unsigned j = 0; j < wide / bits; j++) {
						uint64_t v = element(w, seed, (char)('a' + o), type,
							(l * 8 + r) * 64 + j, before);
						before = v;
						word |= (bits == 64 ? v : v & ((1ull << bits) - 1))
							<< (j * bits);
					}
					inputs[w][l][8 * o + r] = word;
				}
		}
}

/* --- texts --- */
static char text[16384];
static size_t at;
static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#include <stdarg.h>
static void add(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	at += (size_t)vsnprintf(text + at, sizeof(text) - at, fmt, ap);
	va_end(ap);
}

static unsigned registers(const struct form *f, char o)
{
	const char *type = o == 'a' ? f->a : o == 'b' ? f->b : o == 'c' ? f->c : f->d;
	unsigned n = o == 'a'	? f->m * f->k
		     : o == 'b' ? f->k * f->n
				: f->m * f->n,
		 bits = bits_of(type);

	if (f->what == 'w' && !strcmp(type, "f16") && o != 'c' && o != 'd')
		return 8;
	return bits == 64 ? n / 32 : n * bits / 32 / (f->m == 8 && f->k == 4 ? 8 : 32);
}

static void vector(const struct form *f, char o, unsigned first)
{
	const char *type = o == 'a' ? f->a : o == 'b' ? f->b : o == 'c' ? f->c : f->d;
	unsigned n = registers(f, o);

	add("{");
	for (unsigned k = 0; k < n; k++)
		add("%s%%%c%u", k ? "," : "",
			bits_of(type) == 64    ? 'd'
			: !strcmp(type, "f32") ? 'f'
					       : 'r',
			first + k);
	add("}");
}

static char file_of(const char *type)
{
	return bits_of(type) == 64 ? 'd' : !strcmp(type, "f32") ? 'f' : 'r';
}

static void name_of(const struct form *f, char *buf, size_t n)
{
	if (f->what == 'x')
		snprintf(buf, n, "%s", f->mods);
	else if (f->what == 'm')
		snprintf(buf, n, "mma.sync.aligned.m%un%uk%u.%s%s.%s.%s.%s.%s%s", f->m, f->n, f->k,
			f->layouts, f->mods, f->d, f->a, f->b, f->c, f->after);
	else if (!strcmp(f->a, "f16"))
		snprintf(buf, n, "wmma.mma.sync.aligned.%s.m%un%uk%u.%s.%s", f->layouts, f->m, f->n,
			f->k, f->d, f->c);
	else
		snprintf(buf, n, "wmma.mma%s.sync.aligned.%s.m%un%uk%u.%s.%s.%s.%s",
			strcmp(f->a, "b1") ? "" : ".xor.popc", f->layouts, f->m, f->n, f->k, f->d,
			f->a, f->b, f->c);
}

static void mma_text(const struct form *f, const char *name)
{
	static const struct {
		char o;
		unsigned first;
	} in[3] = {{'a', 0}, {'b', 8}, {'c', 16}};

	for (unsigned o = 0; o < 3; o++)
		for (unsigned k = 0; k < registers(f, in[o].o); k++) {
			char c = file_of(o == 0 ? f->a : o == 1 ? f->b : f->c);
			add("ld.global.%s %%%c%u, [%%d32+%u];\n",
				c == 'd'   ? "b64"
				: c == 'f' ? "f32"
					   : "b32",
				c, in[o].first + k, 8 * (in[o].first + k));
		}
	add("%s ", name);
	vector(f, 'd', 24);
	for (unsigned o = 0; o < 3; o++) {
		add(", ");
		vector(f, in[o].o, in[o].first);
	}
	add(";\n");
	for (unsigned k = 0; k < registers(f, 'd'); k++)
		add("st.global.%s [%%d34+%u], %%%c%u;\n",
			file_of(f->d) == 'd'   ? "b64"
			: file_of(f->d) == 'f' ? "f32"
					       : "b32",
			8 * k, file_of(f->d), 24 + k);
}

/* The matrices are taken from the warp's 6144 bytes of input, rows (columns) as far apart as they
 * are long; the result goes to its 2048 of output. */
static void wmma_text(const struct form *f, const char *name)
{
	bool acol = f->layouts[0] == 'c', bcol = f->layouts[4] == 'c';
	unsigned lda = acol ? f->m : f->k, ldb = bcol ? f->k : f->n;

	add("wmma.load.a.sync.aligned.%s.m%un%uk%u.global.%s ", acol ? "col" : "row", f->m, f->n,
		f->k, f->a);
	vector(f, 'a', 0);
	add(", [%%d35], %u;\nwmma.load.b.sync.aligned.%s.m%un%uk%u.global.%s ", lda,
		bcol ? "col" : "row", f->m, f->n, f->k, f->b);
	vector(f, 'b', 8);
	add(", [%%d35+2048], %u;\nwmma.load.c.sync.aligned.row.m%un%uk%u.global.%s ", ldb, f->m,
		f->n, f->k, f->c);
	vector(f, 'c', 16);
	add(", [%%d35+4096], %u;\n%s ", f->n, name);
	vector(f, 'd', 24);
	add(", ");
	vector(f, 'a', 0);
	add(", ");
	vector(f, 'b', 8);
	add(", ");
	vector(f, 'c', 16);
	add(";\nwmma.store.d.sync.aligned.row.m%un%uk%u.global.%s [%%d36], ", f->m, f->n, f->k,
		f->d);
	vector(f, 'd', 24);
	add(", %u;\n", f->n);
}

static void make_text(const struct form *f, int sm)
{
	char name[256];

	at = 0;
	name_of(f, name, sizeof(name));
	add(".version 8.7\n.target sm_%d\n.address_size 64\n.visible .entry k(.param .u64 o, .param .u64 i) {\n"
	    ".reg .b32 %%r<40>; .reg .b64 %%d<40>; .reg .f32 %%f<34>; .shared .align 16 .b8 s[512];\n"
	    "ld.param.u64 %%d33, [o]; ld.param.u64 %%d32, [i]; mov.u32 %%r33, %%tid.x; mov.u32 %%r34, %%ctaid.x;\n"
	    "mad.wide.u32 %%d35, %%r34, %u, %%d32; mad.wide.u32 %%d36, %%r34, %u, %%d33;\n"
	    "mad.wide.u32 %%d32, %%r33, %u, %%d35; mad.wide.u32 %%d34, %%r33, %u, %%d36;\n",
		sm, 32 * WORDS * 8, 32 * OUT * 8, WORDS * 8, OUT * 8);
	if (f->what == 'm')
		mma_text(f, name);
	else if (f->what == 'w')
		wmma_text(f, name);
	else
		add("mov.u32 %%r32, s; mad.lo.u32 %%r32, %%r33, 16, %%r32;\n"
		    "ld.global.b32 %%r0, [%%d32]; ld.global.b32 %%r1, [%%d32+8]; ld.global.b32 %%r2, [%%d32+16]; ld.global.b32 %%r3, [%%d32+24];\n"
		    "st.shared.v4.u32 [%%r32], {%%r3,%%r2,%%r1,%%r0}; bar.warp.sync 0xffffffff; mov.u32 %%r24, 0; mov.u32 %%r25, 0; mov.u32 %%r26, 0; mov.u32 %%r27, 0;\n"
		    "%s\nst.global.u32 [%%d34], %%r24; st.global.u32 [%%d34+8], %%r25; st.global.u32 [%%d34+16], %%r26; st.global.u32 [%%d34+24], %%r27;\n",
			name);
	add("ret; }\n");
}

/* --- running --- */
static uint64_t out[NOUT], other[NOUT];

static void run_all(const char *file)
{
	uint64_t d_in = 0, d_out = 0;
	void *mod = NULL, *fn = NULL;
	FILE *f = fopen(file, "wb");
	int capability;

	if (!f) {
		perror(file);
		exit(1);
	}
	capability = open_driver();
	CU("cuMemAlloc_v2", (void *)&d_in, sizeof(inputs));
	CU("cuMemAlloc_v2", (void *)&d_out, sizeof(out));
	for (unsigned k = 0; k < NFORMS; k++) {
		void *params[2] = {&d_out, &d_in};
		fill(&forms[k], k);
		make_text(&forms[k], capability >= 90 ? 90 : 80);
		memset(out, 0, sizeof(out));
		CU("cuMemcpyHtoD_v2", (void *)(uintptr_t)d_in, inputs, sizeof(inputs));
		CU("cuMemcpyHtoD_v2", (void *)(uintptr_t)d_out, out, sizeof(out));
		if (((int (*)(void *, const void *))call("cuModuleLoadData"))(&mod, text)) {
			char name[256];
			name_of(&forms[k], name, sizeof(name));
			fprintf(stderr, "refused: %s\n", name);
		} else {
			CU("cuModuleGetFunction", (void *)&fn, mod, "k");
			CU("cuLaunchKernel", fn, WARPS, 1, 1, 32, 1, 1, 0, (void *)0, params,
				(void *)0);
			CU("cuMemcpyDtoH_v2", out, d_out, sizeof(out));
			CU("cuModuleUnload", mod);
		}
		fwrite(out, 8, NOUT, f);
	}
	fclose(f);
}

static int compare(const char *a, const char *b)
{
	FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
	unsigned bad = 0;

	if (!fa || !fb)
		return 2;
	for (unsigned k = 0; k < NFORMS; k++) {
		unsigned by_kind[8] = {0}, differ = 0, shown = 0;
		char name[256];
		if (fread(out, 8, NOUT, fa) != NOUT || fread(other, 8, NOUT, fb) != NOUT)
			return 2;
		name_of(&forms[k], name, sizeof(name));
		for (unsigned t = 0; t < NOUT; t++)
			if (out[t] != other[t]) {
				unsigned kind = t / (32 * OUT) % 8;
				differ++;
				if (!by_kind[kind]++ && shown++ < 8)
					printf("  %s: warp %u, lane %u, word %u: %#llx, %#llx\n",
						name, t / (32 * OUT), t / OUT % 32, t % OUT,
						(unsigned long long)out[t],
						(unsigned long long)other[t]);
			}
		if (!differ)
			continue;
		bad++;
		printf("%s differs in %u words:", name, differ);
		for (unsigned d = 0; d < 8; d++)
			if (by_kind[d])
				printf(" %s %u", kinds[d], by_kind[d]);
		printf("\n");
	}
	printf("%zu matrix instructions, %u differ\n", NFORMS, bad);
	return bad != 0;
}

static int hashes(const char *file)
{
	FILE *f = fopen(file, "rb");

	if (!f)
		return 2;
	for (unsigned k = 0; k < NFORMS; k++) {
		uint64_t h = 0;
		char name[256];
		if (fread(out, 8, NOUT, f) != NOUT)
			return 2;
		for (unsigned t = 0; t < NOUT; t++)
			h = mix(h ^ out[t]);
		name_of(&forms[k], name, sizeof(name));
		printf("%016llx %s\n", (unsigned long long)h, name);
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
	if (argc == 2 && !strcmp(argv[1], "--texts")) { /* for reading, and for an assembler */
		for (unsigned k = 0; k < NFORMS; k++) {
			make_text(&forms[k], 90);
			printf("%s", text);
		}
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "usage: ptx-mats FILE | --compare A B | --hashes FILE\n");
		return 1;
	}
	run_all(argv[1]);
	return 0;
}
