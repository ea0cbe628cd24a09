/* SPDX-License-Identifier: Apache-2.0
 *
 * How far values lie apart, types by names, and which memory is which. Distances are counted by
 * hand from the formats' bits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include "numeric/core/numeric-private.h"

static struct numeric_place compare(
	const void *a, const void *b, uint64_t off, size_t n, enum replayer_as as)
{
	struct numeric_place p = {0};

	values_add(&p, a, b, off, n, as);
	return p;
}

static void f32(void **state)
{
	/* 1 and the next float; -0 and +0; the least positive and the least negative; 3 and 4 */
	const uint32_t a[] = {0x3f800000, 0x80000000, 0x00000001, 0x40400000};
	const uint32_t b[] = {0x3f800001, 0x00000000, 0x80000001, 0x40800000};
	struct numeric_place p = compare(a, b, 0, 4, REPLAYER_AS_F32);

	(void)state;
	assert_int_equal(p.elements, 1);
	assert_true(p.ulp == 1 && p.largest == 0x1p-23);
	p = compare(a + 1, b + 1, 4, 4, REPLAYER_AS_F32);
	assert_true(p.ulp == 0 && p.largest == 0 && p.elements == 1); /* their bits differ */
	p = compare(a + 2, b + 2, 8, 4, REPLAYER_AS_F32);
	assert_true(p.ulp == 2);
	p = compare(a, b, 0, sizeof a, REPLAYER_AS_F32);
	assert_int_equal(p.compared, 4);
	assert_int_equal(p.at, 12);
	assert_true(p.largest == 1 && p.ulp == 0x400000 && p.relative == 2);
}

static void narrow_and_wide(void **state)
{
	const uint16_t half[] = {0x3c00, 0x3c01}, bf[] = {0x3f80, 0x3f82};
	const double d[] = {1, 1 + 0x1p-52};

	(void)state;
	struct numeric_place p = compare(half, half + 1, 0, 2, REPLAYER_AS_F16);
	assert_true(p.ulp == 1 && p.largest == 0x1p-10);
	p = compare(bf, bf + 1, 0, 2, REPLAYER_AS_BF16);
	assert_true(p.ulp == 2 && p.largest == 0x1p-6);
	p = compare(d, d + 1, 0, 8, REPLAYER_AS_F64);
	assert_true(p.ulp == 1 && p.largest == 0x1p-52);
}

static void nan_is_counted(void **state)
{
	const uint32_t one = 0x3f800000, nan = 0x7fc00000, other_nan = 0x7fc00001;
	struct numeric_place p = compare(&one, &nan, 0, 4, REPLAYER_AS_F32);

	(void)state;
	assert_int_equal(p.nan_b, 1);
	assert_int_equal(p.nan_a, 0);
	assert_true(p.largest == 0);
	p = compare(&nan, &other_nan, 0, 4, REPLAYER_AS_F32);
	assert_true(p.nan_a == 0 && p.nan_b == 0 && p.elements == 1);
}

static void integers(void **state)
{
	const int32_t a[] = {INT32_MIN, 5}, b[] = {INT32_MAX, 7};
	struct numeric_place p = compare(a, b, 0, sizeof a, REPLAYER_AS_I32);

	(void)state;
	assert_true(p.largest == 4294967295.0 && p.at == 0 && p.ulp == 0);
}

/* Only whole elements at their own alignment count. */
static void parts_of_elements(void **state)
{
	const uint8_t a[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const uint8_t b[12] = {0};
	struct numeric_place p = compare(a, b, 2, 12, REPLAYER_AS_I32);

	(void)state;
	assert_int_equal(p.compared, 2);
	assert_int_equal(p.at, 4);
	p = compare(a, b, 0, 12, REPLAYER_AS_AUTO);
	assert_true(p.compared == 0 && p.as == REPLAYER_AS_AUTO);
}

static void types(void **state)
{
	static const struct {
		const char *name;
		enum replayer_as as;
	} cases[] = {{"_Z5scalePff", REPLAYER_AS_F32}, {"_Z3addPfPKfS1_", REPLAYER_AS_F32},
		{"_ZN2at3addEPKdPd", REPLAYER_AS_F64}, {"_Z1kP6__half", REPLAYER_AS_F16},
		{"_Z1kP13__nv_bfloat16PKS_", REPLAYER_AS_BF16}, {"_Z1kPfPi", REPLAYER_AS_AUTO},
		{"_Z1kPfS_Pi", REPLAYER_AS_AUTO}, {"_Z1k6Params", REPLAYER_AS_AUTO},
		{"_Z1k6ParamsPd", REPLAYER_AS_F64}, {"_Z1kPf6ParamsPS0_", REPLAYER_AS_AUTO},
		{"_Z1kPv", REPLAYER_AS_AUTO}, {"_Z1kIfEvPT_", REPLAYER_AS_AUTO},
		{"kernel", REPLAYER_AS_AUTO}, {"", REPLAYER_AS_AUTO}, {"_Z", REPLAYER_AS_AUTO},
		{"_ZN", REPLAYER_AS_AUTO}, {"_Z99xPf", REPLAYER_AS_AUTO},
		{"_Z1kP", REPLAYER_AS_AUTO}, {"_Z1k99999999999999999999Pf", REPLAYER_AS_AUTO},
		{"_Z1kS", REPLAYER_AS_AUTO}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (values_type_of(cases[i].name) != cases[i].as)
			fail_msg("%s: %u", cases[i].name, (unsigned)values_type_of(cases[i].name));
}

/* --- which memory is which --- */

static struct area area(uint64_t addr, uint64_t size, uint64_t place)
{
	return (struct area){
		.addr = addr, .size = size, .to = UINT64_MAX, .place = place, .twin = NUMERIC_NONE};
}

static struct work copy(uint64_t seq, size_t use)
{
	return (struct work){.seq = seq, .kind = SBT_COPY, .use = use, .nuses = 1};
}

/* Two allocations of one size and place, used the other way round in B; a vote against many. */
static void use_decides(void **state)
{
	struct area aa[] = {area(0x1000, 64, 1), area(0x2000, 64, 1), area(0x3000, 8, 1)},
		    ba[] = {area(0x1000, 64, 1), area(0x2000, 64, 1), area(0x9000, 16, 1)};
	struct area_use au[] = {{9, 0, 0}, {9, 1, 8}, {9, 0, 4}, {9, 0, 0}};
	struct area_use bu[] = {{9, 1, 0}, {9, 0, 8}, {9, 1, 4}, {9, 0, 0}};
	struct work aw[] = {copy(1, 0), copy(2, 1), copy(3, 2), copy(4, 3)},
		    bw[] = {copy(1, 0), copy(2, 1), copy(3, 2), copy(4, 3)};
	const struct numeric_pair pairs[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
	struct numeric_side a = {
		.areas = aa, .nareas = 3, .uses = au, .nuses = 4, .work = aw, .nwork = 4};
	struct numeric_side b = {
		.areas = ba, .nareas = 3, .uses = bu, .nuses = 4, .work = bw, .nwork = 4};

	(void)state;
	areas_pair(&a, &b, pairs, 4);
	assert_int_equal(aa[0].twin, 1);
	assert_int_equal(aa[1].twin, 0);
	assert_int_equal(aa[2].twin, 2); /* by place, since the size is another */
	assert_int_equal(ba[1].twin, 0);
}

static void globals_by_name(void **state)
{
	struct area aa[] = {area(0x1000, 4, 0), area(0x2000, 4, 0)},
		    ba[] = {area(0x7000, 4, 0), area(0x6000, 4, 0)};
	struct numeric_side a = {.areas = aa, .nareas = 2}, b = {.areas = ba, .nareas = 2};

	(void)state;
	aa[0].mem = aa[1].mem = ba[0].mem = ba[1].mem = NUMERIC_NONE;
	aa[0].name = ba[1].name = (char *)"x";
	aa[1].name = (char *)"y";
	ba[0].name = (char *)"z";
	areas_pair(&a, &b, NULL, 0);
	assert_int_equal(aa[0].twin, 1);
	assert_int_equal(aa[1].twin, NUMERIC_NONE);
	assert_int_equal(ba[0].twin, NUMERIC_NONE);
}

/* Two findings of these kinds. */
static struct numeric found(struct numeric_finding *f, enum numeric_kind one, enum numeric_kind two)
{
	struct numeric r = {.f = f, .n = 2};

	f[0] = (struct numeric_finding){.kind = one, .a = 7};
	f[1] = (struct numeric_finding){.kind = two, .a = 9};
	r.by_kind[one]++;
	r.by_kind[two]++;
	return r;
}

/* Heirs alone have no cause that is known, and are not "the same". */
static void heirs_without_a_cause(void **state)
{
	struct numeric_finding f[2];
	struct numeric r = found(f, NUMERIC_HEIR, NUMERIC_HEIR);

	(void)state;
	assert_false(numeric_same(&r));
	assert_null(numeric_origin(&r));
	assert_ptr_equal(numeric_unexplained(&r), &f[0]);
	r = found(f, NUMERIC_HEIR, NUMERIC_ORIGIN);
	assert_ptr_equal(numeric_origin(&r), &f[1]);
	assert_null(numeric_unexplained(&r));
	r = found(f, NUMERIC_UNSTEADY, NUMERIC_HEIR);
	assert_true(numeric_same(&r));
	assert_null(numeric_unexplained(&r));
	r = (struct numeric){0};
	assert_true(numeric_same(&r));
	assert_null(numeric_unexplained(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(f32),
		cmocka_unit_test(narrow_and_wide),
		cmocka_unit_test(nan_is_counted),
		cmocka_unit_test(integers),
		cmocka_unit_test(parts_of_elements),
		cmocka_unit_test(types),
		cmocka_unit_test(use_decides),
		cmocka_unit_test(globals_by_name),
		cmocka_unit_test(heirs_without_a_cause),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
