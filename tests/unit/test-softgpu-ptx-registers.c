/* SPDX-License-Identifier: Apache-2.0
 *
 * Which registers an instruction reads and which it writes: for every letter of the operand
 * patterns, a form whose sources are called %s... and whose destinations are called %q.... A
 * function needs its registers zeroed exactly when it may read one that it has not written. (The
 * level and the gradients of textures, which have one level here, and what fills up the coordinates
 * are not read.)
 */
#include "ptx-test.h"

#include "softgpu/ptx/ptx-int.h"

#include <ctype.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *const forms[] = {
	"add.u32 %qr0, %sr1, %sr2;",
	"mad.lo.u64 %qd0, %sd1, %sd2, %sd3;",
	"mul.wide.s32 %qd0, %sr1, %sr2;",
	"mad.wide.u32 %qd0, %sr1, %sr2, %sd3;",
	"shl.b64 %qd0, %sd1, %sr2;",
	"bfe.u32 %qr0, %sr1, %sr2, %sr3;",
	"bfi.b32 %qr0, %sr1, %sr2, %sr3, %sr4;",
	"bmsk.clamp.b32 %qr0, %sr1, %sr2;",
	"fns.b32 %qr0, %sr1, %sr2, %sr3;",
	"popc.b64 %qr0, %sd1;",
	"szext.wrap.s32 %qr0, %sr1, %sr2;",
	"dp4a.u32.u32 %qr0, %sr1, %sr2, %sr3;",
	"dp2a.lo.u32.s32 %qr0, %sr1, %sr2, %sr3;",
	"prmt.b32 %qr0, %sr1, %sr2, %sr3;",
	"shf.l.clamp.b32 %qr0, %sr1, %sr2, %sr3;",
	"lop3.b32 %qr0, %sr1, %sr2, %sr3, 5;",
	"lop3.or.b32 %qr0|%qp1, %sr1, %sr2, %sr3, 5, !%sp4;",
	"lop3.and.b32 _|%qp1, %sr1, %sr2, %sr3, 5, %sp4;",
	"slct.f32.s32 %qf0, %sf1, %sf2, %sr3;",
	"selp.b64 %qd0, %sd1, %sd2, %sp3;",
	"set.lt.u32.f32 %qr0, %sf1, %sf2;",
	"set.lt.and.u32.f32 %qr0, %sf1, %sf2, %sp3;",
	"setp.lt.u32 %qp0, %sr1, %sr2;",
	"setp.lt.or.f64 %qp0|%qp1, %sg1, %sg2, !%sp3;",
	"setp.eq.and.f16 %qp0, %sh1, %sh2, %sp3;",
	"not.pred %qp0, %sp1;",
	"xor.pred %qp0, %sp1, %sp2;",
	"testp.finite.f32 %qp0, %sf1;",
	"cvt.u64.u32 %qd0, %sr1;",
	"cvt.rn.f32.f64 %qf0, %sg1;",
	"cvt.rn.bf16x2.f32 %qr0, %sf1, %sf2;",
	"cvt.pack.sat.u8.s32.b32 %qr0, %sr1, %sr2, %sr3;",
	"cvta.to.global.u64 %qd0, %sd1;",
	"isspacep.shared %qp0, %sd1;",
	"mov.b64 %qd0, {%sr1, %sr2};",
	"mov.b64 {%qr0, %qr1}, %sd2;",
	"mov.b64 {%qr0, _}, %sd2;",
	"mov.b32 %qr0, %tid.x;",
	"fma.rn.f16x2 %qr0, %sr1, %sr2, %sr3;",
	"vadd.u32.u32.u32 %qr0, %sr1, %sr2;",
	"vadd.u32.u32.u32.max %qr0, %sr1, %sr2, %sr3;",
	"vadd2.u32.u32.u32 %qr0, %sr1, %sr2, %sr3;",
	"activemask.b32 %qr0;",
	"vote.sync.ballot.b32 %qr0, %sp1, %sr2;",
	"vote.sync.any.pred %qp0, %sp1, %sr2;",
	"match.any.sync.b64 %qr0, %sd1, %sr2;",
	"match.all.sync.b32 %qr0|%qp1, %sr1, %sr2;",
	"redux.sync.add.s32 %qr0, %sr1, %sr2;",
	"elect.sync %qr0|%qp1, %sr2;",
	"shfl.sync.up.b32 %qr0|%qp1, %sr1, %sr2, %sr3, %sr4;",
	"bar.sync %sr1, %sr2;",
	"bar.red.popc.u32 %qr0, %sr1, %sp2;",
	"bar.red.and.pred %qp0, %sr1, %sr2, %sp3;",
	"ld.global.u32 %qr0, [%sd1];",
	"ld.global.v4.f32 {%qf0, %qf1, %qf2, %qf3}, [%sd1+16];",
	"ld.global.v2.u16 {%qh0, _}, [%sd1];",
	"ld.shared.u64 %qd0, [%sr1];",
	"ld.global.L2::cache_hint.u32 %qr0, [%sd1], %sd2;",
	"st.global.u32 [%sd1], %sr2;",
	"st.shared.v4.u32 [%sr1], {%sr2, %sr3, %sr4, %sr5};",
	"st.global.L2::cache_hint.f64 [%sd1], %sg2, %sd3;",
	"atom.global.add.u32 %qr0, [%sd1], %sr2;",
	"atom.shared.cas.b64 %qd0, [%sr1], %sd2, %sd3;",
	"atom.global.add.L2::cache_hint.u32 %qr0, [%sd1], %sr2, %sd3;",
	"atom.global.v2.f32.add {%qf0, %qf1}, [%sd1], {%sf2, %sf3};",
	"red.global.max.s32 [%sd1], %sr2;",
	"red.global.v4.f32.add [%sd1], {%sf2, %sf3, %sf4, %sf5};",
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%qf0, %qf1, %qf2, %qf3}, {%sr0, %sr1, %sr2, %sr3}, {%sr4, %sr5}, {%sf0, %sf1, %sf2, %sf3};",
	"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%qr0, %qr1}, [%sr2];",
	"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%sr1], {%sr2, %sr3};",
	"movmatrix.sync.aligned.m8n8.trans.b16 %qr0, %sr1;",
	"cp.async.ca.shared.global [%sr1], [%sd2], 8, %sr3;",
	"cp.async.cg.shared.global.L2::cache_hint [%sr1], [%sd2], 16, %sd3;",
	"mbarrier.init.shared.b64 [%sr1], %sr2;",
	"mbarrier.arrive.shared.b64 %qd0, [%sr1], %sr2;",
	"mbarrier.arrive.shared.b64 _, [%sr1];",
	"mbarrier.test_wait.shared.b64 %qp0, [%sr1], %sd2;",
	"mbarrier.try_wait.parity.shared::cta.b64 %qp0, [%sr1], %sr2, %sr3;",
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sr1], [%sd2], %sr3, [%sr4];",
	"cp.async.bulk.global.shared::cta.bulk_group [%sd1], [%sr2], %sr3;",
	"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%sr1], %sr2, [%sr3];",
	"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%sr1], {%sr2, %sr3}, [%sr4];",
	"mapa.shared::cluster.u32 %qr0, %sr1, %sr2;",
	"getctarank.shared::cluster.u32 %qr0, %sr1;",
	"tex.1d.v4.f32.f32 {%qf0, %qf1, %qf2, %qf3}, [%sd0, {%sf1}];",
	"tex.a2d.v4.s32.f32 {%qr0, %qr1, %qr2, %qr3}, [%sd0, {%sr1, %sf2, %sf3, %sf3}];",
	"tex.level.2d.v4.f32.f32 {%qf0, %qf1, %qf2, %qf3}, [%sd0, {%sf1, %sf2}], %sf1;",
	"tex.grad.2d.v4.f32.f32 {%qf0, %qf1, %qf2, %qf3}, [%sd0, {%sf1, %sf2}], {%sf1, %sf2}, {%sf1, %sf2};",
	"tld4.r.2d.v4.f32.f32 {%qf0, %qf1, %qf2, %qf3}, [%sd0, {%sf1, %sf2}];",
	"txq.width.b32 %qr0, [%sd1];",
	"suld.b.2d.v2.b32.trap {%qr0, %qr1}, [%sd1, {%sr2, %sr3}];",
	"sust.b.1d.b32.trap [%sd1, {%sr2}], {%sr3};",
	"sured.b.add.2d.u32.trap [%sd1, {%sr2, %sr3}], %sr4;",
	"nanosleep.u32 %sr1;",
};

/* The registers of a form, in order, each once: "%sr1". */
struct names {
	char name[24][8];
	unsigned n;
};

static void find_names(struct names *ret, const char *form, char side)
{
	ret->n = 0;
	for (const char *s = strchr(form, '%'); s; s = strchr(s + 1, '%')) {
		char name[8];
		unsigned k = 0;

		if (s[1] != side || !strchr("rdhfgp", s[2]) || !isdigit((unsigned char)s[3]))
			continue;
		snprintf(name, sizeof name, "%.4s", s);
		while (k < ret->n && strcmp(ret->name[k], name))
			k++;
		if (k == ret->n)
			memcpy(ret->name[ret->n++], name, sizeof name);
	}
}

struct text {
	char s[8192];
	size_t at;
};
#define PUT(...) (t.at += (size_t)snprintf(t.s + t.at, sizeof t.s - t.at, __VA_ARGS__))

/* A kernel with the form in it. Its sources but for one are written before it; its destinations are
 * read behind it if that is wanted. */
static struct ptx_module *kernel_of(
	const char *form, const char *before, const char *without, bool read)
{
	static const char kinds[] = "rdhfgp";
	static const char *const types[] = {"b32", "b64", "b16", "f32", "f64", "pred"};
	struct names sources, dests;
	struct text t = {.at = 0};
	char log[256];
	struct ptx_module *m;

	find_names(&sources, form, 's');
	find_names(&dests, form, 'q');
	PUT(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {\n");
	for (unsigned k = 0; k < 6; k++)
		PUT(".reg .%s %%s%c<8>, %%q%c<8>;\n", types[k], kinds[k], kinds[k]);
	PUT(".reg .b64 %%at; mov.u64 %%at, 0;\n");
	for (unsigned k = 0; k < sources.n; k++) {
		const char *name = sources.name[k];

		if (strcmp(name, without) && name[2] == 'p')
			PUT("setp.eq.u64 %s, %%at, 0;\n", name);
		else if (strcmp(name, without))
			PUT("ld.global.%s %s, [%%at];\n", types[strchr(kinds, name[2]) - kinds],
				name);
	}
	PUT("%s%s\n", before, form);
	for (unsigned k = 0; read && k < dests.n; k++) {
		const char *name = dests.name[k];

		if (name[2] == 'p')
			PUT("@%s st.global.u64 [%%at], %%at;\n", name);
		else
			PUT("st.global.%s [%%at], %s;\n", types[strchr(kinds, name[2]) - kinds],
				name);
	}
	PUT("ret; }\n");
	m = ptx_load(t.s, strlen(t.s), log, sizeof log);
	if (!m)
		fail_msg("%s: %s", form, log);
	return m;
}

static void expect(const char *form, const char *before, const char *without, bool read, bool want)
{
	struct ptx_module *m = kernel_of(form, before, without, read);
	const struct ptx_function *fn = ptx_kernel_by_name(m, "k");

	for (uint32_t k = 0; k < fn->ninsns; k++)
		if (!fn->insns[k].row && !(fn->insns[k].flags & F_CTRL))
			fail_msg("%s: refused", form);
	if (fn->needs_zero != want)
		fail_msg("%s %s without %s: zeroed: %d", before, form, without, fn->needs_zero);
	ptx_free(m);
}

static void test_sources(void **state)
{
	for (size_t k = 0; k < COUNT_OF(forms); k++) {
		struct names sources;

		find_names(&sources, forms[k], 's');
		expect(forms[k], "", "", false, false);
		for (unsigned n = 0; n < sources.n; n++)
			expect(forms[k], "", sources.name[n], false, true);
	}
}

/* A destination is written for all lanes, but not under a guard. */
static void test_destinations(void **state)
{
	for (size_t k = 0; k < COUNT_OF(forms); k++) {
		struct names dests;

		find_names(&dests, forms[k], 'q');
		expect(forms[k], "", "", true, false);
		if (dests.n && strncmp(forms[k], "elect", 5))
			expect(forms[k], "setp.eq.u64 %sp7, %at, 0; @%sp7 ", "", true, true);
	}
}

/* As many registers as are live at once, of whatever kind. */
static void test_most(void **state)
{
	static const struct {
		const char *body;
		uint32_t regs;
	} rows[] = {
		{"ret;", 0},
		{"mov.u32 %r1, 1; ret;", 0},
		{"mov.u64 %d1, 0; st.global.u32 [%d1], 1; ret;", 1},
		{"mov.u64 %d1, 0; mov.u32 %r1, 1; mov.u32 %r2, 2; add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1; ret;",
			3},
		/* the register of the sum is one that is free by then */
		{"mov.u64 %d1, 0; mov.u32 %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1; st.global.u32 [%d1], %r3; ret;",
			2},
		/* a guarded write does not end what was there */
		{"mov.u64 %d1, 0; mov.u32 %r1, 1; setp.eq.u64 %p1, %d1, 0; @%p1 mov.u32 %r1, 5; st.global.u32 [%d1], %r1; ret;",
			3},
		/* round a loop */
		{"mov.u64 %d1, 0; mov.u32 %r1, 1; L: mov.u32 %r2, 7; add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
			2},
	};

	for (size_t k = 0; k < COUNT_OF(rows); k++) {
		char text[1024], log[256];
		struct ptx_module *m;

		snprintf(text, sizeof text,
			PTX_HEAD
			".visible .entry k() { .reg .b32 %%r<5>; .reg .b64 %%d<3>; .reg .pred %%p<3>; %s }",
			rows[k].body);
		m = ptx_load(text, strlen(text), log, sizeof log);
		if (!m)
			fail_msg("%s", log);
		if (ptx_kernel_by_name(m, "k")->regs != rows[k].regs)
			fail_msg("%s: %u", rows[k].body, ptx_kernel_by_name(m, "k")->regs);
		ptx_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
