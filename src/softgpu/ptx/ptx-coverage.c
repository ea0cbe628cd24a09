/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the table of docs/softgpu.md that says which PTX instructions there are: the names come
 * from the ISA's table of contents, all else from the decoder's own rows. A row that no name claims
 * is an error, so a new instruction cannot stay out of the table. `make update-coverage`.
 */
#include "softgpu/ptx/ptx-int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *title, *names;
} sections[] = {
	{"integer arithmetic",
		"add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk dp4a dp2a addc subc madc"},
	{"floating point", "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh"},
	{"comparison and selection", "set setp selp slct"},
	{"logic and shift", "and or xor not cnot lop3 shf shl shr"},
	{"data movement",
		"mov shfl prmt ld ldu st st.async st.bulk multimem.ld_reduce multimem.st multimem.red prefetch prefetchu applypriority "
		"discard createpolicy isspacep cvta cvt cvt.pack mapa getctarank"},
	{"asynchronous copies",
		"cp.async cp.async.commit_group cp.async.wait_group cp.async.wait_all cp.async.bulk cp.reduce.async.bulk "
		"cp.async.bulk.prefetch cp.async.bulk.tensor cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor cp.async.bulk.commit_group "
		"cp.async.bulk.wait_group tensormap.replace tensormap.cp_fenceproxy cp.async.mbarrier.arrive"},
	{"textures and surfaces", "tex tld4 txq istypep suld sust sured suq"},
	{"control flow", "bra brx call ret exit"},
	{"synchronisation and warps",
		"bar barrier barrier.cluster membar fence fence.proxy atom red red.async vote match activemask redux griddepcontrol "
		"elect mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx mbarrier.arrive mbarrier.arrive_drop mbarrier.test_wait "
		"mbarrier.try_wait mbarrier.pending_count"},
	{"matrices",
		"wmma.load wmma.store wmma.mma mma mma.sp ldmatrix stmatrix movmatrix wgmma.mma_async wgmma.mma_async.sp wgmma.fence wgmma.commit_group "
		"wgmma.wait_group tcgen05"},
	{"stack", "stacksave stackrestore alloca"},
	{"video",
		"vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 "
		"vmax4 vset4"},
	{"miscellaneous",
		"brkpt nanosleep pmevent trap setmaxnreg clusterlaunchcontrol.try_cancel clusterlaunchcontrol.query_cancel"},
};
#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

static const char *const mod_names[M_COUNT] = {
#define X(n) [M_##n] = #n,
	PTX_MODS(X)
#undef X
};

#define MAX_NAMES 256
static struct name {
	char text[48];
	unsigned section;
	bool special; /* the decoder has it without a row */
} names[MAX_NAMES];
static unsigned nnames;

static void read_names(void)
{
	for (unsigned s = 0; s < NSECTIONS; s++)
		for (const char *p = sections[s].names; *p;) {
			size_t n = strcspn(p, " ");
			if (nnames == MAX_NAMES || n >= sizeof(names[0].text))
				abort();
			memcpy(names[nnames].text, p, n);
			names[nnames].section = s;
			names[nnames].special = !strcmp(names[nnames].text, "call");
			nnames++;
			p += n;
			p += *p == ' ';
		}
}

/* The longest name that an opcode begins with. */
static struct name *name_of(const char *op)
{
	struct name *best = NULL;

	for (unsigned k = 0; k < nnames; k++) {
		size_t n = strlen(names[k].text);
		if (!strncmp(op, names[k].text, n) && (!op[n] || op[n] == '.') &&
			(!best || n > strlen(best->text)))
			best = &names[k];
	}
	return best;
}

/* --- what a name's rows take --- */
struct words {
	char text[64][32];
	unsigned n;
};

static void add_word(struct words *w, const char *s, size_t n)
{
	for (unsigned k = 0; k < w->n; k++)
		if (strlen(w->text[k]) == n && !memcmp(w->text[k], s, n))
			return;
	if (w->n == 64 || n >= sizeof(w->text[0]))
		abort();
	memcpy(w->text[w->n], s, n);
	w->text[w->n++][n] = 0;
}

static void print_types(uint32_t types)
{
	const char *sep = "";

	for (unsigned t = 1; t < T_COUNT; t++)
		if (types >> t & 1) {
			printf("%s%s", sep, ptx_type_name[t]);
			sep = " ";
		}
}

/* Types that a row with TB_REST takes behind its first. */
static uint32_t further_types(const struct name *n)
{
	uint32_t wmma = TB(f16) | TB(bf16) | TB(tf32) | TB(f64) | TB(u8) | TB(s8) | TB(u4) |
			TB(s4) | TB(b1);

	return !strcmp(n->text, "mma")	      ? wmma | TB(e4m3) | TB(e5m2)
	       : !strcmp(n->text, "wmma.mma") ? wmma
					      : 0;
}

/* As the modifier is written. */
static const char *written(unsigned mod)
{
	switch (mod) {
	case M_shcluster:
		return "shared::cluster";
	case M_txbytes:
		return "mbarrier::complete_tx::bytes";
	case M_multicast:
		return "multicast::cluster";
	case M_cache_hint:
		return "L2::cache_hint";
	case M_hint:
		return "L1::.. .L2::..";
	default:
		return mod_names[mod];
	}
}

static void print_name(const struct name *n)
{
	struct words w = {.n = 0};
	uint32_t types = 0, types2 = 0;
	ptx_mods mods = 0;
	unsigned rows = 0;

	for (unsigned k = 0; k < ptx_nrows; k++) {
		const struct ptx_row *r = &ptx_rows_base[k];
		if (name_of(r->op) != n || r->pattern[0] == '*')
			continue;
		rows++;
		types |= r->types;
		types2 |= r->types2;
		mods |= r->must | r->may;
		for (const char *p = r->op + strlen(n->text); *p == '.';) {
			size_t len = strcspn(++p, ".");
			add_word(&w, p, len);
			p += len;
		}
	}
	for (unsigned m = 0; m < M_COUNT; m++)
		if (mods >> m & 1)
			add_word(&w, written(m), strlen(written(m)));
	printf("| `%s` | %s | ", n->text, rows || n->special ? "runs" : "refused");
	if (types2 & ~TB_REST) {
		print_types(types);
		printf("; ");
		print_types(types2);
	} else {
		print_types(types | (types2 ? further_types(n) : 0));
	}
	printf(" |");
	for (unsigned k = 0; k < w.n; k++)
		printf(" .%s", w.text[k]);
	printf(" |\n");
}

int main(void)
{
	unsigned run = 0, refused = 0;
	const struct name *n;

	read_names();
	for (unsigned k = 0; k < ptx_nrows; k++)
		if (!name_of(ptx_rows_base[k].op)) {
			fprintf(stderr,
				"%s is in ptx-insns.def and not in the list of ptx-coverage.c\n",
				ptx_rows_base[k].op);
			return 1;
		}
	for (unsigned s = 0; s < NSECTIONS; s++) {
		printf("%s| %s | | types (second operand's type) | modifiers |\n| --- | --- | --- | --- |\n",
			s ? "\n" : "", sections[s].title);
		for (n = names; n < names + nnames; n++)
			if (n->section == s)
				print_name(n);
	}
	for (n = names; n < names + nnames; n++) {
		bool runs = n->special;
		for (unsigned k = 0; k < ptx_nrows && !runs; k++)
			runs = name_of(ptx_rows_base[k].op) == n &&
			       ptx_rows_base[k].pattern[0] != '*';
		run += runs;
		refused += !runs;
	}
	printf("\n%u instructions run, %u are refused.\n", run, refused);
	return 0;
}
