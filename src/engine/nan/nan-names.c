/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pointers of PyTorch's kernels point to, by the kernel's demangled name. Its element-wise
 * kernels are templates whose parameters are arrays of char *, or closures: the numbers' types are
 * those of the functor's arguments, which the name has. The result comes first, then what it is
 * computed from; a reduction has it the other way round.
 *
 * The surprise: the name of a lambda does not have the type of its result. It is the arguments'
 * where those agree, but for the functions that convert, which are known by their names.
 */
#include <string.h>
#include "engine/nan.h"

struct text {
	const char *p;
	size_t n;
};
static const struct nan_named unknown = {.as = REPLAYER_AS_AUTO};

static struct text trim(struct text t)
{
	while (t.n && *t.p == ' ') {
		t.p++;
		t.n--;
	}
	while (t.n && t.p[t.n - 1] == ' ')
		t.n--;
	return t;
}

static bool is(struct text t, const char *word)
{
	return t.n == strlen(word) && !memcmp(t.p, word, t.n);
}

static const char *find(struct text t, const char *word)
{
	return memmem(t.p, t.n, word, strlen(word));
}

/* Item i of a list that is divided by commas; false: there is none. */
static bool item(struct text list, unsigned i, struct text *ret)
{
	size_t begin = 0;
	int depth = 0;

	for (size_t k = 0; k <= list.n && list.n; k++) {
		const char c = k < list.n ? list.p[k] : ',';

		depth += (c == '<' || c == '(' || c == '{' || c == '[') -
			 (c == '>' || c == ')' || c == '}' || c == ']');
		if (c != ',' || depth > 0)
			continue;
		if (!i--) {
			*ret = trim((struct text){list.p + begin, k - begin});
			return true;
		}
		begin = k + 1;
	}
	return false;
}

/* The text between the bracket at `open` and the one that closes it. */
static bool bracketed(struct text t, const char *open, struct text *ret)
{
	int depth = 0;

	for (const char *p = open; p < t.p + t.n; p++) {
		depth += (*p == '<' || *p == '(' || *p == '{') -
			 (*p == '>' || *p == ')' || *p == '}');
		if (depth)
			continue;
		*ret = (struct text){open + 1, (size_t)(p - open - 1)};
		return true;
	}
	return false;
}

/* The template arguments behind `name`, such as "ReduceOp<". */
static bool arguments_of(struct text t, const char *name, struct text *ret)
{
	const char *at = find(t, name);

	return at && bracketed(t, at + strlen(name) - 1, ret);
}

static struct nan_named scalar(struct text t)
{
	static const struct {
		const char *name;
		enum replayer_as as;
	} names[] = {{"float", REPLAYER_AS_F32}, {"double", REPLAYER_AS_F64},
		{"c10::Half", REPLAYER_AS_F16}, {"at::Half", REPLAYER_AS_F16},
		{"__half", REPLAYER_AS_F16}, {"c10::BFloat16", REPLAYER_AS_BF16},
		{"at::BFloat16", REPLAYER_AS_BF16}, {"__nv_bfloat16", REPLAYER_AS_BF16},
		{"c10::complex<float>", REPLAYER_AS_F32}, {"c10::complex<double>", REPLAYER_AS_F64},
		{"c10::complex<c10::Half>", REPLAYER_AS_F16}, {"bool", REPLAYER_AS_AUTO},
		{"char", REPLAYER_AS_AUTO}, {"signed char", REPLAYER_AS_AUTO},
		{"unsigned char", REPLAYER_AS_AUTO}, {"short", REPLAYER_AS_AUTO},
		{"unsigned short", REPLAYER_AS_AUTO}, {"int", REPLAYER_AS_AUTO},
		{"unsigned int", REPLAYER_AS_AUTO}, {"long", REPLAYER_AS_AUTO},
		{"unsigned long", REPLAYER_AS_AUTO}, {"long long", REPLAYER_AS_AUTO},
		{"unsigned long long", REPLAYER_AS_AUTO}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is(t, names[i].name))
			return (struct nan_named){.as = names[i].as, .known = true};
	return unknown;
}

/* The one type that all of a list have; bools and constants beside it do not count. */
static struct nan_named common(struct text list)
{
	struct nan_named all = unknown, one;
	struct text t;

	for (unsigned i = 0; item(list, i, &t); i++) {
		if (is(t, "bool") || (t.n && *t.p >= '0' && *t.p <= '9'))
			continue;
		one = scalar(t);
		if (!one.known || (all.known && all.as != one.as))
			return unknown;
		all = one;
	}
	return all;
}

/* --- functors --- */

/* The results of functions that convert; false: this is none. */
static bool converted(struct text functor, struct nan_named *ret)
{
	static const struct {
		const char *name;
		enum replayer_as as;
	} names[] = {{"16tofloat32_copy_kernel", REPLAYER_AS_F32},
		{"::bfloat16_copy_kernel", REPLAYER_AS_BF16},
		{"::float16_copy_kernel", REPLAYER_AS_F16}};

	if (!find(functor, "_copy_kernel") || find(functor, "direct_copy_kernel"))
		return false;
	*ret = unknown;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (find(functor, names[i].name))
			*ret = (struct nan_named){.as = names[i].as, .known = true};
	return true;
}

/* "...::{lambda(float, float)#1}": the last of them. */
static bool lambda(struct text functor, unsigned pointer, struct nan_named *ret)
{
	static const char begin[] = "{lambda(";
	const char *last = NULL, *at = functor.p;
	struct text list, t;

	if (!functor.n || functor.p[functor.n - 1] != '}')
		return false;
	while ((at = find((struct text){at, (size_t)(functor.p + functor.n - at)}, begin)))
		last = at++;
	if (!last || !bracketed(functor, last + sizeof begin - 2, &list))
		return false;
	if (!pointer && converted(functor, ret))
		return true;
	if (!pointer)
		*ret = common(list);
	else
		*ret = item(list, pointer - 1, &t) ? scalar(t) : unknown;
	return true;
}

static struct nan_named of_functor(struct text functor, unsigned pointer)
{
	static const char *const binary[] = {"BinaryFunctor<", "AUnaryFunctor<", "BUnaryFunctor<"};
	struct nan_named ret;
	struct text list, t;

	if (lambda(functor, pointer, &ret))
		return ret;
	for (unsigned i = 0; i < 3; i++) {
		/* arguments, then the result; one of the arguments may be no pointer */
		const unsigned of = !pointer ? 2 : i ? 2 - i : pointer - 1;

		if (!arguments_of(functor, binary[i], &list))
			continue;
		return pointer <= (i ? 1 : 2) && item(list, of, &t) ? scalar(t) : unknown;
	}
	/* such as CUDAFunctor_add<float>: of others it is not known what their type is that of */
	if (!find(functor, "::CUDAFunctor") && !find(functor, "::FillFunctor<"))
		return unknown;
	const char *open = memchr(functor.p, '<', functor.n);

	return open && bracketed(functor, open, &list) ? common(list) : unknown;
}

/* --- kernels --- */

static struct nan_named of_reduction(struct text list, unsigned pointer)
{
	struct text t;

	if (!arguments_of(list, "ReduceOp<", &list) || pointer > 1 ||
		!item(list, pointer ? 3 : 0, &t))
		return unknown;
	return scalar(t);
}

/* Lists of tensors, all of one type. */
static struct nan_named of_lists(struct text list)
{
	const char *open;
	struct text t;

	if (!item(list, 1, &t) || find(t, "Copy") || !(open = memchr(t.p, '<', t.n)) ||
		!bracketed(t, open, &list))
		return unknown;
	return common(list);
}

/* strided: what the kernel gets is a lambda of the index, made for the functor. */
static struct nan_named element_wise(struct text list, unsigned pointer, bool strided)
{
	struct text t, functor;

	if (find(list, "WithCast"))
		return unknown;
	for (unsigned i = 0; item(list, i, &t); i++) {
		if (t.n && *t.p >= '0' && *t.p <= '9')
			continue;
		if (!strided)
			return of_functor(t, pointer);
		return arguments_of(t, "gpu_kernel_impl_nocast<", &functor)
			       ? of_functor(functor, pointer)
			       : unknown;
	}
	return unknown;
}

struct nan_named nan_type_by_name(const char *name, unsigned pointer)
{
	static const char *const kernels[] = {"vectorized_elementwise_kernel<",
		"unrolled_elementwise_kernel<", "elementwise_kernel<", "reduce_kernel<",
		"multi_tensor_apply_kernel<"};
	static const char space[] = "at::native::", result[] = "void ";
	struct nan_named ret = unknown;
	struct text list;

	name += strncmp(name, result, sizeof result - 1) ? 0 : sizeof result - 1;
	if (strncmp(name, space, sizeof space - 1))
		return unknown;
	name += sizeof space - 1;
	name += strncmp(name, "(anonymous namespace)::", 23) ? 0 : 23;
	for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		const size_t n = strlen(kernels[i]);

		if (strncmp(name, kernels[i], n) ||
			!bracketed((struct text){name, strlen(name)}, name + n - 1, &list))
			continue;
		ret = i == 3   ? of_reduction(list, pointer)
		      : i == 4 ? of_lists(list)
			       : element_wise(list, pointer, i == 2);
		ret.reads = i == 3 ? !pointer : i < 3 && pointer;
		break;
	}
	return ret;
}
