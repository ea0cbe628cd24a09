/* SPDX-License-Identifier: Apache-2.0
 *
 * What PyTorch's kernels point to, by their names (nan-names.c): names as nm and c++filt print them
 * for the library, and the same with a word that makes another thing of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "engine/nan.h"
#include "replay/values.h"

#define EW "void at::native::vectorized_elementwise_kernel<4, "
#define A2 ", std::array<char*, 2ul> >(int, T1, std::array<char*, 2ul>)"
#define A3 ", std::array<char*, 3ul> >(int, T1, std::array<char*, 3ul>)"
#define IN(f, args)                                                                                \
	"at::native::" f                                                                           \
	"(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() " \
	"const::{lambda(" args ")#1}"

enum { NONE = -1, INTEGER = -2 };

static int of(const char *name, unsigned pointer)
{
	const struct nan_named n = nan_type_by_name(name, pointer);

	return n.as != REPLAYER_AS_AUTO ? (int)n.as : n.known ? INTEGER : NONE;
}

static void lambdas(void **state)
{
	(void)state;
	assert_int_equal(of(EW IN("sqrt_kernel_cuda", "float") A2, 0), REPLAYER_AS_F32);
	assert_int_equal(of(EW IN("sqrt_kernel_cuda", "float") A2, 1), REPLAYER_AS_F32);
	assert_int_equal(of(EW IN("sqrt_kernel_cuda", "double") A2, 0), REPLAYER_AS_F64);
	assert_int_equal(of(EW IN("log_kernel_cuda", "c10::Half") A2, 0), REPLAYER_AS_F16);
	assert_int_equal(of(EW IN("log_kernel_cuda", "c10::BFloat16") A2, 1), REPLAYER_AS_BF16);
	/* a condition and two numbers; a number and a mask */
	assert_int_equal(
		of(EW IN("where_kernel_impl", "bool, float, float") A2, 0), REPLAYER_AS_F32);
	assert_int_equal(of(EW IN("where_kernel_impl", "bool, float, float") A2, 1), INTEGER);
	assert_int_equal(
		of(EW IN("where_kernel_impl", "bool, float, float") A2, 3), REPLAYER_AS_F32);
	assert_int_equal(of(EW IN("masked_fill_kernel", "float, bool") A2, 2), INTEGER);
	/* no more arguments than it has; two types, of which the result may be any */
	assert_int_equal(of(EW IN("sqrt_kernel_cuda", "float") A2, 2), NONE);
	assert_int_equal(of(EW IN("lerp", "float, c10::Half") A2, 0), NONE);
	assert_int_equal(of(EW IN("own", "my::Number") A2, 0), NONE);
	assert_int_equal(of(EW IN("quantize", "float, c10::quint8") A2, 0), NONE);
	assert_int_equal(of(EW IN("shift", "float, int") A2, 0), NONE);
	assert_int_equal(of(EW IN("abs", "c10::complex<float>") A2, 0), REPLAYER_AS_F32);
}

/* The name of the lambda has the argument's type alone. */
static void conversions(void **state)
{
	(void)state;
	assert_int_equal(of(EW "at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)::"
			       "{lambda(float)#1}" A2,
				 0),
		REPLAYER_AS_F16);
	assert_int_equal(of(EW "at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)::"
			       "{lambda(float)#1}" A2,
				 1),
		REPLAYER_AS_F32);
	assert_int_equal(of(EW "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::"
			       "{lambda(float)#1}" A2,
				 0),
		REPLAYER_AS_BF16);
	assert_int_equal(of(EW "at::native::bfloat16tofloat32_copy_kernel_cuda(at::"
			       "TensorIteratorBase&)::{lambda(c10::BFloat16)#1}" A2,
				 0),
		REPLAYER_AS_F32);
	assert_int_equal(of(EW "at::native::float8_copy_kernel_cuda(at::TensorIteratorBase&)::"
			       "{lambda(float)#1}" A2,
				 0),
		NONE);
	assert_int_equal(of(EW IN("direct_copy_kernel_cuda", "float") A2, 0), REPLAYER_AS_F32);
	assert_int_equal(of(EW IN("direct_copy_kernel_cuda", "long") A2, 0), INTEGER);
	assert_int_equal(
		of("void at::native::unrolled_elementwise_kernel<" IN("direct_copy_kernel_cuda",
			   "float") ", std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, "
				    "unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "
				    "at::native::memory::LoadWithCast<1>, "
				    "at::native::memory::StoreWithCast<1> >(int)",
			0),
		NONE);
}

static void functors(void **state)
{
	const char *compare = EW "at::native::BinaryFunctor<float, float, bool, "
				 "at::native::(anonymous namespace)::CompareEqFunctor<float> >" A3,
		   *half = EW "at::native::BinaryFunctor<c10::Half, c10::Half, c10::Half, "
			      "at::native::binary_internal::MulFunctor<float> >" A3,
		   *once = EW "at::native::AUnaryFunctor<double, float, c10::Half, "
			      "at::native::binary_internal::MulFunctor<float> >" A2,
		   *other = EW "at::native::BUnaryFunctor<double, float, c10::Half, "
			       "at::native::binary_internal::MulFunctor<float> >" A2;

	(void)state;
	assert_int_equal(of(compare, 0), INTEGER);
	assert_int_equal(of(compare, 2), REPLAYER_AS_F32);
	assert_int_equal(of(compare, 3), NONE);
	assert_int_equal(of(half, 0), REPLAYER_AS_F16);
	assert_int_equal(of(half, 2), REPLAYER_AS_F16);
	assert_int_equal(of(once, 0), REPLAYER_AS_F16);
	assert_int_equal(of(once, 1), REPLAYER_AS_F32);
	assert_int_equal(of(other, 1), REPLAYER_AS_F64);
	assert_int_equal(of(other, 2), NONE);
	assert_int_equal(
		of(EW "at::native::CUDAFunctor_add<c10::BFloat16>" A3, 2), REPLAYER_AS_BF16);
	assert_int_equal(of(EW "at::native::FillFunctor<float>" A2, 0), REPLAYER_AS_F32);
	assert_int_equal(of(EW "at::native::FillFunctor<long>" A2, 0), INTEGER);
	assert_int_equal(of(EW "at::native::CUDAFunctor_add<my::Number>" A2, 0), NONE);
	assert_int_equal(of(EW "at::native::Made<float>" A2, 0), NONE);
}

static void other_kernels(void **state)
{
	const char *sum = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, "
			  "at::native::func_wrapper_t<float, at::native::sum_functor<float, "
			  "float, float>::operator()(at::TensorIterator&)::{lambda(float, "
			  "float)#1}>, unsigned int, float, 4, 4> >(T1)",
		   *strided = "void at::native::elementwise_kernel<128, 2, "
			      "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<"
			      "float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<"
			      "float> const&)::{lambda(int)#1}>(int, T1)",
		   *cast = "void at::native::elementwise_kernel<128, 2, "
			   "at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >("
			   "at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> "
			   "const&)::{lambda(int)#1}>(int, T1)",
		   *lists = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
			    "at::native::(anonymous namespace)::TensorListMetadata<2>, "
			    "at::native::(anonymous namespace)::UnaryOpFunctor<float, 1, 1, 1>, "
			    "std::multiplies<float> >(T1, T2, T3)";

	(void)state;
	assert_int_equal(of(sum, 0), REPLAYER_AS_F16);
	assert_int_equal(of(sum, 1), REPLAYER_AS_F32);
	assert_int_equal(of(sum, 2), NONE);
	assert_true(nan_type_by_name(sum, 0).reads);
	assert_false(nan_type_by_name(sum, 1).reads);
	assert_int_equal(of(strided, 0), REPLAYER_AS_F32);
	assert_true(nan_type_by_name(strided, 1).reads);
	assert_false(nan_type_by_name(strided, 0).reads);
	assert_int_equal(of(cast, 0), NONE);
	/* that lambda's argument is an index */
	assert_int_equal(of("void at::native::elementwise_kernel<128, 4, at::native::unfold(int)::"
			    "{lambda(int)#1}>(int, T1)",
				 0),
		NONE);
	assert_int_equal(of(lists, 5), REPLAYER_AS_F32);
	assert_false(nan_type_by_name(lists, 5).reads);
}

/* Names that are cut anywhere, or another's. */
static void what_is_refused(void **state)
{
	const char whole[] = EW IN("where_kernel_impl", "bool, float, float") A2;
	char part[sizeof whole];

	(void)state;
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		(void)of(part, 0);
		(void)of(part, 3);
	}
	assert_int_equal(of("", 0), NONE);
	assert_int_equal(
		of("void mine::vectorized_elementwise_kernel<4, F<float> >(int)", 0), NONE);
	assert_int_equal(of("void at::native::vectorized_elementwise_kernel<", 0), NONE);
	assert_int_equal(of("void at::native::vectorized_elementwise_kernel<>>>>", 0), NONE);
	assert_int_equal(of("at::native::reduce_kernel<512, 1, ReduceOp<float> >(T)", 1), NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lambdas), cmocka_unit_test(conversions),
		cmocka_unit_test(functors), cmocka_unit_test(other_kernels),
		cmocka_unit_test(what_is_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
