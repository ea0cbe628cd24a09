/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' names shortened: what fits is whole, template arguments stay as long as there is room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "shell/print/shown-names.h"

static void brief_is(const char *demangled, const char *want)
{
	struct buf b = BUF_INIT;

	kernel_brief_name(&b, demangled);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void short_names_are_whole(void **state)
{
	brief_is("scale(float*, float, int)", "scale");
	brief_is("void reduce<256, float>(float*)", "reduce<256, float>");
	brief_is("nets::kernel<(nets::Kind)3>(int)", "nets::kernel<(nets::Kind)3>");
	brief_is("(anonymous namespace)::k(int)", "(anonymous namespace)::k");
	brief_is("void (anonymous namespace)::k<int>(int)", "(anonymous namespace)::k<int>");
	brief_is("", "");
	brief_is("plain", "plain");
}

static void monsters_are_shortened(void **state)
{
	brief_is(
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
		"at::native::vectorized_elementwise_kernel<4, FillFunctor<...>, array<...> >");
	brief_is(
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
		"at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
		"float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
		"float, 4> >(at::native::ReduceOp<float>)",
		"at::native::reduce_kernel<512, 1, ReduceOp<...> >");
	brief_is(
		"void library::gemm::kernel::Operation<library::gemm::threadblock::Multistage<library::"
		"gemm::GemmShape<128, 128, 32> > >(int)",
		"library::gemm::kernel::Operation<Multistage<GemmShape<128, 128, 32> > >");
}

static void broken_names_end(void **state)
{
	brief_is("f<<<<<<", "f<<<<<<");
	brief_is("f>>>)))", "f>>>)))");
	brief_is("(((", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_are_whole),
		cmocka_unit_test(monsters_are_shortened),
		cmocka_unit_test(broken_names_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
