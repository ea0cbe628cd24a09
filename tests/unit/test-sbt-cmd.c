/* SPDX-License-Identifier: Apache-2.0
 *
 * The command table, the packed form of the agent's ring, short names of kernels and globs over
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbt-make.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"
#include "sbt/cmd-pack.h"

static void test_the_table(void **unused)
{
	assert_int_equal(SBT_LAUNCH, 14); /* numbers are for ever */
	assert_int_equal(SBT_COPY, 15);
	assert_int_equal(SBT_BATCH, 35);
	assert_string_equal(sbt_kind(SBT_LAUNCH)->name, "launch");
	assert_string_equal(sbt_kind(SBT_LAUNCH)->label, "LAUNCH");
	assert_int_equal(sbt_kind(SBT_LAUNCH)->cls, SBT_CLASS_WORK);
	assert_int_equal(sbt_kind(SBT_SYNC)->cls, SBT_CLASS_HOST);
	assert_null(sbt_kind(0));
	assert_null(sbt_kind(SBT_KIND_END));
	assert_int_equal(sbt_kind_by_name("event_record"), SBT_EVENT_RECORD);
	assert_int_equal(sbt_kind_by_name("nothing"), 0);
	assert_int_equal(sbt_field(SBT_LAUNCH, "grid_x")->type, SBT_T_UINT);
	assert_null(sbt_field(SBT_LAUNCH, "dst"));
	assert_string_equal(sbt_enum_name(SBT_T_ENUM_COPY, SBT_COPY_D2H), "d2h");
	assert_null(sbt_enum_name(SBT_T_ENUM_COPY, 6));
	assert_null(sbt_enum_name(SBT_T_UINT, 0));
	for (unsigned k = 1; k < SBT_KIND_END; k++) /* no field hides a common one */
		for (const struct sbt_field *f = sbt_common_fields; f->name; f++)
			assert_null(sbt_field(k, f->name));
}

/* Kinds and fields of each version of the format: what was added without a new version would be
 * read by an older tsdb as if it were not there. */
static void test_new_fields_have_a_new_version(void **unused)
{
	static const struct {
		unsigned minor, kinds, fields;
	} grew[] = {{14, 42, 209}};
	const unsigned last = sizeof grew / sizeof *grew - 1;
	unsigned kinds = 0, fields = 0;

	(void)unused;
	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		kinds += sbt_kind(k) != NULL;
		fields += sbt_kind(k) ? sbt_kind(k)->nfields : 0;
	}
	if (grew[last].minor != SBT_VERSION_MINOR)
		fail_msg("grew[] here has no row for version 1.%u: add {%u, %u, %u}",
			SBT_VERSION_MINOR, SBT_VERSION_MINOR, kinds, fields);
	if (grew[last].kinds != kinds || grew[last].fields != fields)
		fail_msg(
			"version 1.%u has %u kinds and %u fields, commands.def %u and %u: raise SBT_VERSION_MINOR in src/sbt/sbt.h and add a row to grew[] here",
			SBT_VERSION_MINOR, grew[last].kinds, grew[last].fields, kinds, fields);
}

static void test_stream_of_a_command(void **unused)
{
	struct sbt_cmd c = {.kind = SBT_LAUNCH};

	c.u.launch.stream = 3;
	assert_int_equal(sbt_cmd_stream(&c), 3);
	c = (struct sbt_cmd){.kind = SBT_HOST_FUNC};
	c.u.host_func.stream = 4;
	assert_int_equal(sbt_cmd_stream(&c), 4);
	c = (struct sbt_cmd){.kind = SBT_ALLOC}; /* of class OBJECT */
	c.u.alloc.stream = 4;
	assert_int_equal(sbt_cmd_stream(&c), SBT_NO_ID);
	c = (struct sbt_cmd){.kind = 999};
	assert_int_equal(sbt_cmd_stream(&c), SBT_NO_ID);
}

static void test_packed_bytes(void **unused)
{
	struct sbt_cmd c = {.seq = 0x1122334455667788,
		.kind = SBT_MARK,
		.flags = 3,
		.thread = 1,
		.ctx = 2,
		.stack = 4,
		.result = 5,
		.corr = 6,
		.host_ns = 7};
	static const uint8_t expected[72] = {72, 0, 0, 0, 32, 0, 3, 0, 0x88, 0x77, 0x66, 0x55, 0x44,
		0x33, 0x22, 0x11, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 2, 0,
		0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'a',
		'b', 'c', 0, 0, 0, 0, 0};
	uint64_t packed[9];
	struct sbt_cmd back;

	c.u.mark.mark_kind = 1;
	c.u.mark.text = (struct sbt_blob){"abc", 3};
	assert_int_equal(sbt_pack_size(&c), 72);
	memset(packed, 0xee, sizeof packed);
	sbt_pack(packed, &c);
	assert_memory_equal(packed, expected, 72);
	assert_int_equal(sbt_unpack(&back, packed, 72), 72);
	assert_int_equal(back.seq, c.seq);
	assert_int_equal(back.u.mark.mark_kind, 1);
	assert_int_equal(back.u.mark.text.len, 3);
	assert_memory_equal(back.u.mark.text.p, "abc", 3);
}

static void test_pack_and_unpack_any(void **unused)
{
	char *heap = malloc(4 * 4096);
	uint64_t *packed = malloc(4 * 4096 + 1024), seed = 5;

	for (unsigned i = 0; i < 3000; i++) {
		struct sbt_cmd c, back;
		size_t n;

		make_cmd(&c, i + 1, 1 + i % (SBT_KIND_END - 1), &seed, heap);
		n = sbt_pack_size(&c);
		assert_int_equal(n % 8, 0);
		sbt_pack(packed, &c);
		assert_int_equal(sbt_unpack(&back, packed, n), n);
		for (const struct sbt_field *f = sbt_kind(c.kind)->fields; f->name; f++) {
			if (sbt_type_is_blob(f->type)) {
				const struct sbt_blob *x = sbt_get_blob(&c, f),
						      *y = sbt_get_blob(&back, f);

				assert_int_equal(x->len, y->len);
				assert_int_equal(x->len ? memcmp(x->p, y->p, x->len) : 0, 0);
			} else {
				assert_int_equal(sbt_get(&c, f), sbt_get(&back, f));
			}
		}
		for (unsigned k = 0; k < 4;
			k++) { /* cut or scribbled on: refused, or something valid */
			char *cut = malloc(n);
			size_t less = make_random(&seed) % n;

			memcpy(cut, packed, n);
			assert_int_equal(sbt_unpack(&back, cut, less), 0);
			cut[make_random(&seed) % n] = (char)make_random(&seed);
			(void)sbt_unpack(&back, cut, n);
			free(cut);
		}
	}
	free(heap);
	free(packed);
}

/* More fields than the size has room for, or a size without any. */
static void test_packed_fields_and_sizes(void **unused)
{
	enum { HEAD = 48, NFIELDS = 36 / 4, MARK_FIELDS = 2 };
	struct sbt_cmd c = {.seq = 5, .kind = SBT_MARK}, back;
	uint64_t packed[HEAD / 8 + MARK_FIELDS + 1] = {0};
	uint32_t *const word = (uint32_t *)(void *)packed;

	c.u.mark.mark_kind = 1;
	assert_int_equal(sbt_pack_size(&c), HEAD + 8 * MARK_FIELDS);
	sbt_pack(packed, &c);
	assert_int_equal(word[0], HEAD + 8 * MARK_FIELDS);
	assert_int_equal(word[NFIELDS], MARK_FIELDS);
	assert_int_equal(sbt_unpack(&back, packed, sizeof packed), HEAD + 8 * MARK_FIELDS);
	for (uint32_t more = 1; more < 20; more++) { /* a newer writer's, if they were there */
		word[NFIELDS] = MARK_FIELDS + more;
		assert_int_equal(sbt_unpack(&back, packed, sizeof packed), 0);
	}
	word[NFIELDS] = MARK_FIELDS + 1;
	word[0] = HEAD + 8 * (MARK_FIELDS + 1);
	assert_int_equal(sbt_unpack(&back, packed, sizeof packed), word[0]);
	word[NFIELDS] = 0; /* an older writer's: they are 0 */
	word[0] = HEAD;
	assert_int_equal(sbt_unpack(&back, packed, HEAD), HEAD);
	assert_int_equal(back.seq, 5);
	assert_int_equal(back.u.mark.mark_kind, 0);
	assert_int_equal(sbt_unpack(&back, packed, HEAD - 1), 0);
}

static void short_is(const char *mangled, const char *expected)
{
	char name[200];

	sbt_kernel_short_name(name, sizeof name, mangled);
	assert_string_equal(name, expected);
}

/* A name of a million characters is one, a longer one is absurd. */
static void long_name(void)
{
	enum { MILLION = 1000000 };
	char *const mangled = malloc(MILLION + 100);
	char got[8];

	for (unsigned more = 0; more < 2; more++) {
		const int n = sprintf(mangled, "_Z%u", MILLION + more);

		memset(mangled + n, 'k', MILLION + more);
		strcpy(mangled + n + MILLION + more, "v");
		sbt_kernel_short_name(got, sizeof got, mangled);
		assert_string_equal(got, more ? "_Z10000" : "kkkkkkk");
	}
	free(mangled);
}

static void test_short_names(void **unused)
{
	char small[8];

	short_is("vecadd", "vecadd");
	short_is("", "");
	short_is("_Z6matmulPfS_S_i", "matmul");
	short_is("_ZN2at6native6matmulIfEEvPT_", "at::native::matmul");
	short_is("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	short_is("_Z3addIiLi4EEvPT_", "add");
	short_is("_ZNK3Foo3barEv", "Foo::bar");
	short_is("_ZN3FooC1Ev", "Foo::Foo");
	short_is("_ZN3FooclEi", "Foo::operator()");
	short_is("_Z", "_Z");
	short_is("a\nb\tc\x7f\x1f \x80", "a?b?c?? \x80"); /* lists have one line each */
	long_name();
	sbt_kernel_short_name(small, sizeof small, "_ZN2at6native6matmulIfEEvPT_");
	assert_string_equal(small, "at::nat");
	sbt_kernel_short_name(small, 1, "matmul");
	assert_string_equal(small, "");
}

/* Itanium C++ ABI 5.1: declarations and the names that they have. */
static void test_short_names_of_declarations(void **unused)
{
	static const struct {
		const char *mangled, *name;
	} t[] = {
		/* void f(std::vec<int>, std::vec<int> *, std::allocator<char> *) */
		{"_Z1fSt3vecIiEPS0_PSaIcE", "f"},
		/* namespace ns, struct S: operators, constructors, a template */
		{"_ZNK2ns1SplERKS0_", "ns::S::operator+"},
		{"_ZNK2ns1SeqES0_", "ns::S::operator=="},
		{"_ZN2ns1SixEi", "ns::S::operator[]"},
		{"_ZN2ns1SppEv", "ns::S::operator++"},
		{"_ZN2ns1SlSEi", "ns::S::operator<<="},
		{"_ZN2ns1SD1Ev", "ns::S::~S"},
		{"_ZN2ns1SC2Ei", "ns::S::S"},
		{"_ZN2ns1S2tmIiEEvT_", "ns::S::tm"},
		/* W<int>::In::go<char>(char) */
		{"_ZN2ns1WIiE2In2goIcEEvT_", "ns::W::In::go"},
		/* expressions as arguments are skipped: (int)sizeof(int),
		   static_cast<int>(sizeof(int)), S::v, */
		{"_ZN2ns2ccIXcvistiEE3endEv", "ns::cc::end"},
		{"_ZN2ns2cvIXscistiEE3endEv", "ns::cv::end"},
		{"_ZN2ns3memIXsr1S1vEE3endEv", "ns::mem::end"},
		/* -5, &ns::tgt, sizeof(int) > 2 ? 1 : 2, sizeof(int) + 1 */
		{"_ZN2ns3numILin5EE3endEv", "ns::num::end"},
		{"_ZN2ns2ffIXadL_ZNS_3tgtEfEEE3endEv", "ns::ff::end"},
		{"_ZN2ns4condIXqugtstiLi2ELi1ELi2EEE3endEv", "ns::cond::end"},
		{"_ZN2ns3sizIXplstiLi1EEE3endEv", "ns::siz::end"},
		/* packs, a template as argument, functions, members, arrays, references */
		{"_ZN2ns4packIJEE3endEv", "ns::pack::end"},
		{"_ZN2ns4packIJicNS_1VILi1ELb0ELc97EEEEE3endEv", "ns::pack::end"},
		{"_ZN2ns2ttINS_1WEE3endEv", "ns::tt::end"},
		{"_ZN2ns2fpIPFifzEMNS_1SEiMS2_KFviERA7_iPVcE3endEv", "ns::fp::end"},
		{"_ZN2ns2v23abiEv", "ns::v2::abi"},
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		short_is(t[i].mangled, t[i].name);
}

/* Itanium C++ ABI 5.1.2, 5.1.4 and 5.1.8: names that are no plain ones. */
static void test_short_names_of_odd_declarations(void **unused)
{
	(void)unused;
	static const struct {
		const char *mangled, *name;
	} t[] = {{"_ZL1fv", "f"}, {"_Z1fB3tagv", "f"}, {"_ZN1SB3tagB2t21fEv", "S::f"},
		{"_ZNR1S1fEv", "S::f"}, {"_ZNO1S1fEv", "S::f"}, {"_ZNVKO1S1fEv", "S::f"},
		{"_ZN1SC1Ev", "S::S"}, {"_ZN1SC5Ev", "S::S"}, {"_ZN1SC6Ev", "S"},
		{"_ZN1SC0Ev", "S"}, {"_ZN1SD0Ev", "S::~S"}, {"_ZN1SD5Ev", "S::~S"},
		{"_ZN1SD6Ev", "S"}, {"_ZN1S2InC1Ev", "S::In::In"}, {"_ZN1SIiEC2Ev", "S::S"},
		{"_ZNSsC1Ev", "std::string::string"},
		{"_ZNSaIcED2Ev", "std::allocator::~allocator"},
		{"_ZNSt6vectorIiEC2Ev", "std::vector::vector"}, {"_ZSt4swapIiEvT_S0_", "std::swap"},
		{"_ZN1ScviEv", "S::operator"}, {"_Zli2_wy", "operator\"\" _w"},
		{"_ZZ1fvE1g", "f::g"}, {"_ZZ1fvEs", "f::{string}"}, {"_ZZ1fvEs_0_", "f::{string}"},
		{"_ZZ1fvEd_1g", "f::g"}, {"_ZZ1fvEd0_1g", "f::g"}, {"_ZZ1fvEd0g", "f"},
		{"_ZZ1fIiEvT_E1g", "f::g"}, {"_ZZ1fvENKUlvE_clEv", "f::{lambda}::operator()"},
		{"_ZZ1fvENKUliPcE10_clEiS_", "f::{lambda}::operator()"},
		{"_ZN1SUt_1gEv", "S::{unnamed}::g"}, {"_ZN1SUt7_1gEv", "S::{unnamed}::g"},
		{"_ZN1SUlvE1gEv", "S::{lambda}"}, /* its _ is missing */
		{"_ZN1S1aMUlvE_clEv", "S::a::{lambda}::operator()"},
		{"_ZN1S9notsolongEv", "S::notsolong"}, {"_ZN1S20notsolongEv", "S"},
		{"_ZN1S1000001xEv", "S"}};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		short_is(t[i].mangled, t[i].name);
}

/* Whether A<args>::f() has its name: not if the argument is not understood. */
static void understood(const char *arg, bool is)
{
	char mangled[256];

	snprintf(mangled, sizeof mangled, "_ZN1AI%sE1fEv", arg);
	short_is(mangled, is ? "A::f" : "A");
}

/* 5.1.5 */
static void test_types_are_stepped_over(void **unused)
{
	static const char *const types[] = {"Pi", "Ri", "Oi", "Ki", "Vi", "ri", "Cf", "Gf", "PKc",
		"U3fooi", "U3fooIiEi", "A5_i", "A_i", "ALi4E_i", "M1Si", "M1SFvvE", "FvvE", "FYvvE",
		"FviPcE", "FvvRE", "FvvOE", "FvRiE", "T_", "T0_", "T_IiE", "Ts1S", "Tu1S", "Te1S",
		"S_", "S0_", "SA_", "S_IiE", "St1S", "St6vectorIiE", "Sa", "SaIcE", "Ss", "So",
		"Dpi", "DpT_", "DtLi1EE", "DTLi1EE", "Dv4_f", "DvLi4E_f", "DF16_", "DF16b", "DF32x",
		"DB8_", "DU8_", "DBLi8E_", "DoFvvE", "DOLb1EEFvvE", "DwiEFvvE", "Dd", "De", "Df",
		"Dh", "Di", "Ds", "Du", "Da", "Dc", "Dn", "u3foo", "u3fooIiE", "UlvE_", "UlvE0_",
		"Ut_", "Ut0_", "JiiE", "1S", "N1S2InE", "Z1fvE1g", "Z1fvE1g_0", "Z1fvE1g__10_",
		"Z1fvEs", "Z1fvEs_0_", "NSt1SE", "NDtLi1EE1SE", "NT_1SE", "iPiRd", "Li5E", "LPi0E",
		"Lin5E", "L_Z1fvE", "LZ1fvE", "ILi1EE"};
	static const char *const bad[] = {"k", "p", "q", "Dq", "D", "A5i", "ALi4Ei", "T0", "S0",
		"Sq_", "DF16", "DF16q", "DB8", "Dv4f", "Fvv", "FvvR", "M1S", "U3fo", "u4foo", "Ul",
		"UlvE", "Ts", "DtLi1E", "DwiFvvE", "Z1fv", "Z1fvE1g__1", "Li5", "L_Z1fv", "X",
		"Xi"};
	static const char builtins[] = "vwbcahstijlmxynofdegz";

	(void)unused;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		understood(types[i], true);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		understood(bad[i], false);
	for (char c = 'a'; c <= 'z'; c++) {
		const char one[] = {c, 0};

		if (c != 'r' && c != 'u') /* which begin longer ones */
			understood(one, strchr(builtins, c) != NULL);
	}
}

/* 5.1.6 */
static void test_expressions_are_stepped_over(void **unused)
{
	static const char unary[][3] = {"ps", "ng", "ad", "de", "co", "nt", "pp", "mm", "nx", "te",
		"az", "sz"},
			  binary[][3] = {"pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL",
				  "mI", "mL", "dV", "rM", "aN", "oR", "eO", "ls", "rs", "lS", "rS",
				  "eq", "ne", "lt", "gt", "le", "ge", "ss", "aa", "oo", "cm", "pm",
				  "ix", "dt", "pt", "ds"};
	static const char *const other[] = {"Li5E", "L_Z1fvE", "T_", "T3_", "fp_", "fp0_", "fpK_",
		"fL0p_", "fL0pK1_", "sti", "ati", "tii", "sZT_", "sZfp_", "spT_", "clL_Z1fvELi1EE",
		"cl1fE", "ilLi1ELi2EE", "ilE", "tl1SLi1EE", "tl1SE", "cviLi1E", "cvi_Li1ELi2EE",
		"cvi_E", "sciLi1E", "dciLi1E", "cciLi1E", "rciLi1E", "quLb1ELi1ELi2E", "sr1S1v",
		"srT_1v", "1f", "pp_Li1E", "mm_Li1E", "plmlLi1ELi2ELi3E", "ngngLi1E", "on1f"},
				 *const bad[] = {"pl", "plLi1E", "ng", "quLb1ELi1E", "fp0", "fL0p",
					 "st", "sr1S", "clLi1E", "cviLi1", "zzLi1E", "sc", "sciT",
					 "Q", "tl1S"};
	char text[160];

	(void)unused;
	for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
		snprintf(text, sizeof text, "X%sLi1EE", unary[i]);
		understood(text, true);
	}
	for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
		snprintf(text, sizeof text, "X%sLi1ELi2EE", binary[i]);
		understood(text, true);
	}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		snprintf(text, sizeof text, "X%sE", other[i]);
		understood(text, true);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "X%sE", bad[i]);
		understood(text, false);
	}
}

/* However deep a type is, the stack is not. */
static void test_deep_types_are_cut_short(void **unused)
{
	static char mangled[200000];
	char begins[3][8] = {"P", "XngLi", "NIi"};

	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		strcpy(mangled, "_ZN1AI");
		for (unsigned k = 0; k < 30000; k++)
			memcpy(mangled + 6 + k * strlen(begins[i]), begins[i],
				strlen(begins[i]) + 1);
		short_is(mangled, "A");
	}
	understood("PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPi", true);
}

static void test_globs(void **unused)
{
	static const char mangled[] = "_ZN2at6native6matmulIfEEvPT_",
			  brief[] = "at::native::matmul";

	assert_true(sbt_kernel_glob("matmul", mangled, brief));
	assert_true(sbt_kernel_glob("at::native::matmul", mangled, brief));
	assert_true(sbt_kernel_glob("at::*", mangled, brief));
	assert_true(sbt_kernel_glob("mat?ul", mangled, brief));
	assert_true(sbt_kernel_glob("mat[a-m]ul", mangled, brief));
	assert_true(sbt_kernel_glob("_ZN2at*", mangled, brief));
	assert_true(sbt_kernel_glob("*", mangled, brief));
	assert_false(sbt_kernel_glob("mat", mangled, brief));
	assert_false(sbt_kernel_glob("native::matmul", mangled, brief));
	assert_false(sbt_kernel_glob("mat[n-z]ul", mangled, brief));
	assert_false(sbt_kernel_glob("", mangled, brief));
	assert_true(sbt_kernel_glob("", "", NULL));
	assert_true(sbt_kernel_glob("a?c*", "abc", NULL));
	assert_false(sbt_kernel_glob("a?c", "ac", NULL));
	assert_false(sbt_kernel_glob("abc?", "abc", NULL));
	assert_true(sbt_kernel_glob("*a*c", "abac", NULL));
	assert_false(sbt_kernel_glob("*a*c", "abaca", NULL));
	/* glob(7): sets, their ranges and what negates them */
	assert_true(sbt_kernel_glob("[abc]", "b", NULL));
	assert_true(sbt_kernel_glob("[!abc]x", "dx", NULL));
	assert_true(sbt_kernel_glob("[^abc]x", "dx", NULL));
	assert_false(sbt_kernel_glob("[!abc]x", "ax", NULL));
	assert_true(sbt_kernel_glob("[]x]", "]", NULL));
	assert_true(sbt_kernel_glob("[!]x]", "a", NULL));
	assert_false(sbt_kernel_glob("[!]x]", "]", NULL));
	assert_true(sbt_kernel_glob("[a-]", "-", NULL));
	assert_true(sbt_kernel_glob("[a-c]", "a", NULL));
	assert_true(sbt_kernel_glob("[a-c]", "c", NULL));
	assert_false(sbt_kernel_glob("[a-c]", "d", NULL));
	assert_false(sbt_kernel_glob("[b-c]", "a", NULL));
	assert_true(sbt_kernel_glob("[a-cx-z]*", "yes", NULL));
	assert_true(sbt_kernel_glob("[a-c", "[a-c", NULL));
	assert_false(sbt_kernel_glob("[a-c", "a", NULL));
	assert_false(sbt_kernel_glob("x", NULL, "a::y"));
	assert_true(sbt_kernel_glob("x", NULL, "a::b::x"));
	assert_false(sbt_kernel_glob("b", NULL, "a::b::x"));
	assert_true(sbt_kernel_glob(
		"a*a*a*a*a*a*a*a*b", "x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	assert_false(sbt_kernel_glob(
		"a*a*a*a*a*a*a*a*a*a*a*c", "x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
}

/* "CUDA Driver API", CUstreamWaitValue_flags: the first value waits, the second does not. What is
 * above 32 bits counts in waits for 64 alone; other flags (1 << 30: flush) say nothing of it. */
static void test_waits_for_values(void **state)
{
	static const struct {
		unsigned how;
		uint64_t want, waits, goes;
	} rows[] = {{0, 5, 4, 5}, {0, 0, UINT64_MAX, 1}, {0, UINT64_MAX, UINT64_MAX - 1, 0},
		{1, 5, 6, 5}, {2, 6, 9, 4}, {3, UINT64_MAX - 15, 0x1f, 0x0e}};
	const uint64_t high = UINT64_C(0x7700000000);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbt_cmd_batch b = {
			.elem = 8, .op_flags = rows[i].how, .value = rows[i].want};

		assert_false(sbt_wait_is_over(&b, rows[i].waits));
		assert_true(sbt_wait_is_over(&b, rows[i].goes));
		b.op_flags |= 1u << 30;
		b.elem = 4;
		assert_false(sbt_wait_is_over(&b, rows[i].waits ^ high));
		assert_true(sbt_wait_is_over(&b, rows[i].goes ^ high));
		b.value ^= high;
		assert_true(sbt_wait_is_over(&b, rows[i].goes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_new_fields_have_a_new_version),
		cmocka_unit_test(test_stream_of_a_command),
		cmocka_unit_test(test_packed_bytes),
		cmocka_unit_test(test_pack_and_unpack_any),
		cmocka_unit_test(test_packed_fields_and_sizes),
		cmocka_unit_test(test_waits_for_values),
		cmocka_unit_test(test_short_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_short_names_of_declarations),
		cmocka_unit_test(test_short_names_of_odd_declarations),
		cmocka_unit_test(test_types_are_stepped_over),
		cmocka_unit_test(test_expressions_are_stepped_over),
		cmocka_unit_test(test_deep_types_are_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
