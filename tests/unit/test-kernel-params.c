/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' parameters by the mangled name, and their names by a source's text: only what agrees in
 * number and type is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "symbols/kernel-params.h"

static struct lang *l;
static struct symbols *sy;

static const struct lang_type point = {
	.kind = LANG_STRUCT, .name = "point", .prefix = "struct", .is_plain = true, .size = 24};

static const struct lang_type *named(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "point") ? NULL : &point;
}

static void type_is(const struct kernel_params *p, unsigned i, const char *want)
{
	struct buf b = BUF_INIT;

	assert_non_null(p->v[i].type);
	lang_type_name(&b, p->v[i].type, "");
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void mangled_names(void **state)
{
	struct kernel_params p;

	(void)state;
	assert_true(kernel_params_of_name(sy, l, named, NULL, "_Z4adamPfPKff5pointyb5other", &p));
	assert_int_equal(p.n, 7);
	assert_false(p.named);
	type_is(&p, 0, "float *");
	type_is(&p, 1, "const float *");
	type_is(&p, 2, "float");
	type_is(&p, 3, "point");
	type_is(&p, 4, "unsigned long long");
	type_is(&p, 5, "bool");
	assert_null(p.v[6].type);
	kernel_params_free(&p);
	assert_true(kernel_params_of_name(sy, l, NULL, NULL, "_Z4fillIfEvPT_S0_i", &p));
	assert_int_equal(p.n, 3);
	type_is(&p, 1, "float");
	kernel_params_free(&p);
	assert_true(kernel_params_of_name(sy, l, NULL, NULL, "_Z4donev", &p));
	assert_int_equal(p.n, 0);
	kernel_params_free(&p);
	assert_false(kernel_params_of_name(sy, l, NULL, NULL, "plain", &p));
	assert_false(kernel_params_of_name(sy, l, NULL, NULL, "_Znonsense(", &p));
}

/* Whether the names of adam(float *, float const *, float, point) are taken from text; they are
 * then `want`, with blanks between. */
static void names(const char *text, unsigned line, const char *want)
{
	struct kernel_params p;
	struct buf b = BUF_INIT;
	bool ok;

	assert_true(kernel_params_of_name(sy, l, named, NULL, "_Z4adamPfPKff5point", &p));
	p.line = line;
	ok = kernel_params_take_names(&p, "adam", text);
	assert_int_equal(p.named, ok);
	for (unsigned i = 0; i < p.n; i++)
		if (p.v[i].name)
			buf_printf(&b, "%s%s", i ? " " : "", p.v[i].name);
	assert_string_equal(buf_cstr(&b), want ? want : "");
	assert_int_equal(ok, want != NULL);
	buf_free(&b);
	kernel_params_free(&p);
}

static void names_of_a_source(void **state)
{
	static const char plain[] =
		"__global__ void adam(float *grad, const float *m, float lr, point p) {";

	(void)state;
	names(plain, 1, "grad m lr p");
	names("int a;\n__global__ void adam(float *__restrict__ g, // the (gradient)\n"
	      "\tfloat const m[], /* , */ float\nlr, const struct point p)\n{",
		2, "g m lr p");
	names("template <int N>\n__global__ void\n__launch_bounds__(256) adam(float *g, const float *m, float lr, ns::point p);",
		3, "g m lr p");
	names(plain, 2, NULL); /* another line */
	names("void adam(float *g, const float *m, float lr, point p) {", 1, NULL); /* no kernel */
	names("__global__ void madam(float *g, const float *m, float lr, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const float *m, float lr) {", 1, NULL);
	names("__global__ void adam(float *g, const float *m, float lr, point p, int n) {", 1,
		NULL);
	names("__global__ void adam(float *g, float lr, const float *m, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const double *m, float lr, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const float **m, float lr, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const float *m, unsigned lr, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const float *m, float lr, vector p) {", 1, NULL);
	names("__global__ void adam(float *, const float *m, float lr, point p) {", 1, NULL);
	names("__global__ void adam(float *g, const float *m, MAYBE(float lr), point p) {", 1,
		NULL);
	names("__global__ void adam(float *g,\n#if A\nconst float *m,\n#else\n#endif\nfloat lr, point p) {",
		1, NULL);
	names("__global__ void adam(float *g, const float *m, float lr, point p", 1, NULL);
	names("__global__ void adam(", 1, NULL);
	names("", 1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mangled_names), cmocka_unit_test(names_of_a_source)};
	int r;

	l = lang_new();
	sy = symbols_new();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	symbols_free(sy);
	lang_free(l);
	return r;
}
