/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores of every width and space, in every shape that a warp's addresses can have: side
 * by side, alike, by halves, with one lane that is elsewhere; by all lanes, by those of a guard, by
 * a warp that has fewer. A model in plain C says what each lane gets and what memory holds then.
 * Built with COMPILED, and so compiled, the two shapes that the compiler knows must not be left to
 * the interpreter's handler, and all others must.
 */
#include "counted-handlers.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- the accesses of one kernel --- */
static const struct access {
	const char *type;
	unsigned size, vec;
	bool sign;
	char reg; /* r h d, of its registers */
} accesses[] = {{"s8", 1, 1, true, 'd'}, {"v4.u8", 1, 4, false, 'h'}, {"v2.u16", 2, 2, false, 'h'},
	{"b32", 4, 1, false, 'r'}, {"v4.s32", 4, 4, true, 'r'}, {"b64", 8, 1, false, 'd'},
	{"v2.b64", 8, 2, false, 'd'}};
#define NACCESS COUNT_OF(accesses)
#define ROOM 2048 /* bytes of memory for each access, of which the middle is used */
#define MIDDLE 512

enum space { GLOBAL, GENERIC, SHARED, CONST };
static const char *const spaces[] = {".global", "", ".shared", ".const"};

/* --- the shapes: the element that a lane accesses --- */
static unsigned element(unsigned shape, unsigned l)
{
	switch (shape) {
	case 0:
		return l;
	case 1:
		return l + 5;
	case 2:
		return 7;
	case 3:
		return l < 16 ? 3 : 9;
	case 4:
		return (l & 15) + (l < 16 ? 0 : 21);
	case 5:
		return 31 - l;
	case 6:
		return 2 * l;
	case 7:
		return l == 31 ? 40 : l;
	case 8:
		return l == 0 ? 40 : l;
	case 9:
		return l == 16 ? 40 : l;
	case 10:
		return l == 15 ? 40 : l;
	case 11:
		return l < 16 ? l : 33;
	case 12:
		return l < 16 ? 33 : l - 16;
	case 13:
		return l == 13 ? 8 : 7;
	default:
		return (5 * l + 3) % 32;
	}
}
#define NSHAPES 15

static const uint32_t guards[] = {0xffffffff, 0, 0xffff, 0xffff0000, 1, 0x80000000, 0xaaaaaaaa,
	0x7ffffffe, 0x10000, 0x000ff000};

/* Whether a compiled access is made without the handler, once it knows where the memory is. */
static bool is_quick(const struct access *a, bool store, unsigned shape, uint32_t mask, bool full)
{
	bool contiguous = true, halves = true, alike = true;

	for (unsigned l = 0; l < 32; l++) {
		const unsigned e = element(shape, l);
		contiguous &= !(mask >> l & 1) || e == element(shape, 0) + l;
		halves &= e == element(shape, l & 16) + (l & 15);
		alike &= e == element(shape, l & 16);
	}
	if (!full)
		return contiguous && a->vec == 1 && a->size >= 4;
	return mask == 0xffffffff && (halves || (alike && !store));
}

/* --- its text --- */
struct text {
	char s[1 << 15];
	size_t at;
};
#define OUT(...) (t->at += (size_t)snprintf(t->s + t->at, sizeof(t->s) - t->at, __VA_ARGS__))

static void vector(struct text *t, const struct access *a)
{
	OUT("%s", a->vec > 1 ? "{" : "");
	for (unsigned k = 0; k < a->vec; k++)
		OUT("%s%%%c%u", k ? ", " : "", a->reg, k);
	OUT("%s", a->vec > 1 ? "}" : "");
}

/* The lane's address of access n, in %%a0 or %%b0. */
static void address(struct text *t, size_t n, enum space space)
{
	const unsigned bytes = accesses[n].size * accesses[n].vec;

	if (space == SHARED) {
		OUT("mov.u32 %%a0, s; add.u32 %%a0, %%a0, %zu; mad.lo.u32 %%a0, %%i0, %u, %%a0;\n",
			n * ROOM + MIDDLE - 16, bytes);
		return;
	}
	if (space == CONST)
		OUT("mov.u64 %%b0, c; add.u64 %%b0, %%b0, %u;", MIDDLE - 16);
	else
		OUT("add.u64 %%b0, %%b1, %zu;", n * ROOM + MIDDLE - 16);
	OUT(" mad.wide.u32 %%b0, %%i0, %u, %%b0;\n", bytes);
}

/* All of memory to shared memory, or back. */
static void copy_shared(struct text *t, bool back)
{
	OUT("bar.sync 0; mov.u32 %%i1, %%tid.x; mov.u32 %%i3, %%ntid.x;\n"
	    "C%d: shl.b32 %%i2, %%i1, 2; mov.u32 %%a0, s; add.u32 %%a0, %%a0, %%i2; cvt.u64.u32 %%b2, %%i2; add.u64 %%b0, %%b1, %%b2;\n",
		back);
	if (back)
		OUT("ld.volatile.shared.u32 %%i2, [%%a0]; st.volatile.global.u32 [%%b0], %%i2;\n");
	else
		OUT("ld.volatile.global.u32 %%i2, [%%b0]; st.volatile.shared.u32 [%%a0], %%i2;\n");
	OUT("add.u32 %%i1, %%i1, %%i3; setp.lt.u32 %%p1, %%i1, %zu; @%%p1 bra C%d;\n bar.sync 0;\n",
		NACCESS * ROOM / 4, back);
}

/* What is stored, and what a lane has that loads nothing: it depends on the element alone. */
static void values(struct text *t, const struct access *a)
{
	for (unsigned k = 0; k < a->vec; k++) {
		OUT("mad.lo.u32 %%i1, %%i0, 0x01030507, 0x%x; ", k * 0x1111 + 0xc3);
		if (a->reg == 'h')
			OUT("cvt.u16.u32 %%h%u, %%i1;\n", k);
		else if (a->reg == 'd')
			OUT("mov.b64 %%d%u, {%%i1, %%i1};\n", k);
		else
			OUT("mov.b32 %%r%u, %%i1;\n", k);
	}
}

/* Twice, since the first time compiled code asks where the memory is; line: of the access. The
 * barrier ends what is compiled together. */
static void one_access(
	struct text *t, size_t n, enum space space, bool store, bool guarded, unsigned *line)
{
	const struct access *a = &accesses[n];
	const char *base = space == SHARED ? "a0" : "b0";

	OUT("mov.u32 %%i4, 2; bar.sync 0;\nL%zu:\n", n);
	address(t, n, space);
	values(t, a);
	*line = line_of(t->s);
	if (store) {
		OUT("%sst%s.%s [%%%s+16], ", guarded ? "@%p0 " : "", spaces[space], a->type, base);
		vector(t, a);
	} else {
		OUT("%sld%s.%s ", guarded ? "@%p0 " : "", spaces[space], a->type);
		vector(t, a);
		OUT(", [%%%s+16]", base);
	}
	OUT(";\n");
	for (unsigned k = 0; !store && k < a->vec; k++)
		OUT("%s%%b2, %%%c%u; st.volatile.global.b64 [%%io+%zu], %%b2;\n",
			a->reg == 'd'	? "mov.b64 "
			: a->reg == 'h' ? "cvt.u64.u16 "
					: "cvt.u64.u32 ",
			a->reg, k, (n * 4 + k) * 256);
	OUT("sub.u32 %%i4, %%i4, 1; setp.ne.u32 %%p1, %%i4, 0; @%%p1 bra L%zu;\n", n);
}

static void write_kernel(
	struct text *t, enum space space, bool store, bool guarded, unsigned line[NACCESS])
{
	t->at = 0;
	OUT("%s.const .align 16 .b8 c[%d] = {", PTX_HEAD, ROOM);
	for (unsigned k = 0; k < ROOM; k++)
		OUT("%s%u", k ? "," : "", k * 37 % 251);
	OUT("};\n.visible .entry k(.param .u64 out, .param .u64 mem, .param .u64 at, .param .u32 guard) {\n"
	    ".reg .b32 %%r<4>, %%i<8>, %%a<1>; .reg .b64 %%d<4>, %%b<3>, %%io; .reg .b16 %%h<4>; .reg .pred %%p<2>; .shared .align 16 .b8 s[%zu];\n"
	    "ld.param.u64 %%io, [out]; ld.param.u64 %%b1, [mem]; ld.param.u64 %%b0, [at]; ld.param.u32 %%i0, [guard];\n"
	    "mov.u32 %%i1, %%tid.x; mad.wide.u32 %%io, %%i1, 8, %%io; mad.wide.u32 %%b0, %%i1, 4, %%b0;\n"
	    "shr.u32 %%i0, %%i0, %%i1; and.b32 %%i0, %%i0, 1; setp.ne.u32 %%p0, %%i0, 0; ld.volatile.global.u32 %%i0, [%%b0];\n",
		NACCESS * ROOM);
	if (space == SHARED)
		copy_shared(t, false);
	for (size_t n = 0; n < NACCESS; n++)
		one_access(t, n, space, store, guarded, &line[n]);
	if (space == SHARED && store)
		copy_shared(t, true);
	OUT("ret; }\n");
	assert_true(t->at < sizeof(t->s));
}

/* --- the model --- */
static uint64_t stored(const struct access *a, unsigned e, unsigned k)
{
	const uint32_t v = e * 0x01030507 + k * 0x1111 + 0xc3;

	return a->reg == 'd' ? (uint64_t)v << 32 | v : a->reg == 'h' ? (uint16_t)v : v;
}

static uint64_t loaded(const struct access *a, const uint8_t *from)
{
	const unsigned wide = a->reg == 'd' ? 64 : a->reg == 'h' ? 16 : 32;
	uint64_t v = 0;

	memcpy(&v, from, a->size);
	if (a->sign && v >> (8 * a->size - 1) & 1)
		v |= a->size < 8 ? ~0ull << 8 * a->size : 0;
	return wide < 64 ? v & ((1ull << wide) - 1) : v;
}

static uint8_t *mem, *model, *at_lane;
static uint64_t *out;

static void fill(bool constants)
{
	for (unsigned k = 0; k < NACCESS * ROOM; k++)
		mem[k] = model[k] = (uint8_t)(constants ? k % ROOM * 37 % 251 : k * 41 + 7);
	memset(out, 0xee, NACCESS * 4 * 256);
}

static void model_stores(unsigned shape, uint32_t mask)
{
	for (size_t n = 0; n < NACCESS; n++)
		for (unsigned l = 0; l < 32; l++)
			for (unsigned k = 0; k < accesses[n].vec; k++) {
				const struct access *a = &accesses[n];
				const uint64_t v = stored(a, element(shape, l), k);

				if (mask >> l & 1)
					memcpy(model + n * ROOM + MIDDLE +
							(element(shape, l) * a->vec + k) * a->size,
						&v, a->size);
			}
}

static void check_loads(unsigned shape, uint32_t mask, unsigned threads)
{
	for (size_t n = 0; n < NACCESS; n++)
		for (unsigned l = 0; l < threads; l++)
			for (unsigned k = 0; k < accesses[n].vec; k++) {
				const struct access *a = &accesses[n];
				const unsigned e = element(shape, l);
				const uint64_t got = out[(n * 4 + k) * 32 + l],
					       want = mask >> l & 1
							      ? loaded(a, model + n * ROOM +
										  MIDDLE +
										  (e * a->vec + k) *
											  a->size)
							      : stored(a, e, k);
				if (got != want)
					fail_msg(
						"ld.%s, shape %u, lanes %#x of %u, lane %u, element %u: %#llx, not %#llx",
						a->type, shape, mask, threads, l, k,
						(unsigned long long)got, (unsigned long long)want);
			}
}

/* --- all of it --- */
static void check_handled(enum space space, bool store, const unsigned *line, unsigned shape,
	uint32_t mask, bool full)
{
	for (size_t n = 0; n < NACCESS; n++) {
		const struct access *a = &accesses[n];
		const unsigned calls = handled[line[n]];
		const bool quick = is_quick(a, store, shape, mask, full);

		if (!mask ? calls : quick ? calls > (space != SHARED) : calls != 2)
			fail_msg(
				"%s%s.%s, shape %u, lanes %#x, %s: the handler was called %u times",
				store ? "st" : "ld", spaces[space], a->type, shape, mask,
				full ? "a whole warp" : "some lanes", calls);
	}
}

static void one_shape(struct ptx_module *m, enum space space, bool store, const unsigned *line,
	unsigned shape, uint32_t guard, bool full)
{
	const unsigned threads = full ? 32 : 20;
	const uint32_t mask = guard & (full ? 0xffffffff : 0xfffff);
	struct {
		void *out, *mem, *at;
		uint32_t guard;
	} params = {out, mem, at_lane, guard};

	for (unsigned l = 0; l < 32; l++) {
		const uint32_t e = element(shape, l);
		memcpy(at_lane + 4 * l, &e, 4);
	}
	fill(space == CONST);
	if (store)
		model_stores(shape, mask);
	for (size_t n = 0; n < NACCESS; n++)
		handled[line[n]] = 0;
	run(m, "k", 1, threads, &params);
	if (!store)
		check_loads(shape, mask, threads);
	for (unsigned k = 0; k < NACCESS * ROOM; k++)
		if (mem[k] != model[k])
			fail_msg("%s%s, shape %u, lanes %#x of %u: byte %d of %s is %#x, not %#x",
				store ? "st" : "ld", spaces[space], shape, mask, threads,
				(int)(k % ROOM) - MIDDLE, accesses[k / ROOM].type, mem[k],
				model[k]);
	if (IS_COMPILED)
		check_handled(space, store, line, shape, mask, full);
}

static void shapes_in(enum space space, bool store)
{
	static struct text t;
	unsigned line[NACCESS];

	/* to the compiler all memory but shared memory is alike */
	const unsigned ways = IS_COMPILED && (space == GENERIC || space == CONST) ? 1 : 2;

	for (unsigned guarded = 0; guarded < ways; guarded++) {
		struct ptx_module *m;

		write_kernel(&t, space, store, guarded, line);
		m = load(t.s);
		if (IS_COMPILED)
			count_handlers(m);
		for (unsigned full = 0; full < 2; full++)
			for (unsigned shape = 0; shape < NSHAPES; shape++)
				for (size_t g = 0; g < (guarded ? COUNT_OF(guards) : 1); g++)
					one_shape(m, space, store, line, shape, guards[g], full);
		ptx_free(m);
	}
}

static void test_shapes(void **state)
{
	const unsigned space = *(const unsigned *)*state;

	if (!counted_mode())
		skip();
	shapes_in(space, false);
	if (space != CONST)
		shapes_in(space, true);
}

static int allocate(void **state)
{
	mem = device(NACCESS * ROOM);
	model = malloc(NACCESS * ROOM);
	at_lane = device(128);
	out = device(NACCESS * 4 * 256);
	return model == NULL;
}

int main(void)
{
	static unsigned in[] = {GLOBAL, GENERIC, SHARED, CONST};
	const struct CMUnitTest tests[] = {
		{"global", test_shapes, NULL, NULL, &in[0]},
		{"generic", test_shapes, NULL, NULL, &in[1]},
		{"shared", test_shapes, NULL, NULL, &in[2]},
		{"const", test_shapes, NULL, NULL, &in[3]},
	};

	counted_environment();
	return cmocka_run_group_tests(tests, allocate, NULL);
}
