/* SPDX-License-Identifier: Apache-2.0
 *
 * The command table, the packed form of the agent's ring, short names of kernels and globs over
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sbt-make.h"

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

static void short_is(const char *mangled, const char *expected)
{
	char name[200];

	sbt_kernel_short_name(name, sizeof name, mangled);
	assert_string_equal(name, expected);
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
	assert_true(sbt_kernel_glob(
		"a*a*a*a*a*a*a*a*b", "x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	assert_false(sbt_kernel_glob(
		"a*a*a*a*a*a*a*a*a*a*a*c", "x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_stream_of_a_command),
		cmocka_unit_test(test_packed_bytes),
		cmocka_unit_test(test_pack_and_unpack_any),
		cmocka_unit_test(test_short_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_short_names_of_declarations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
