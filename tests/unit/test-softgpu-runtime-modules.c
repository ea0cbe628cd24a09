/* SPDX-License-Identifier: Apache-2.0
 *
 * What nvcc's start-up code registers, against a list: hundreds of kernels and variables of several
 * modules, registered, registered anew for another module, and gone with their module. Each is
 * asked by its host name: what it does, how large it is, that it is not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, cudaSuccess)
#define IS(call, code) assert_int_equal(call, cudaError##code)

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
	size_t size, int constant, int global);
void __cudaUnregisterFatBinary(void **handle);

enum { MODULES = 5, KEYS = 700 };
enum what { NOTHING, FUNCTION, VARIABLE };

static struct {
	char text[512];
	void **handle; /* NULL: not registered */
} modules[MODULES];
static struct {
	enum what what;
	unsigned module;
} model[KEYS];
static char keys[KEYS]; /* host names */
static uint32_t *out;

static uint64_t state_ = 1;
static uint32_t next(uint32_t n)
{
	uint64_t x = state_ += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x >> 33) % n);
}

/* Module m's kernel writes 100 + m; its variable has 4 * (m + 3) bytes, of which the first are 200
 * + m. */
static void register_module(unsigned m)
{
	snprintf(modules[m].text, sizeof modules[m].text,
		".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 v[%u] = {%u};\n"
		".visible .entry f(.param .u64 o) { .reg .b64 %%d; .reg .b32 %%r; ld.param.u64 %%d, [o]; mov.u32 %%r, %u; st.global.u32 [%%d], %%r; ret; }\n",
		m + 3, 200 + m, 100 + m);
	modules[m].handle = __cudaRegisterFatBinary(modules[m].text);
	assert_non_null(modules[m].handle);
}

static void register_key(unsigned k, unsigned m)
{
	const bool function = next(2);

	if (function)
		__cudaRegisterFunction(
			modules[m].handle, &keys[k], "f", "f", -1, NULL, NULL, NULL, NULL, NULL);
	else
		__cudaRegisterVar(modules[m].handle, &keys[k], "v", "v", 0, 4 * (m + 3), 0, 0);
	model[k].what = function ? FUNCTION : VARIABLE;
	model[k].module = m;
}

static void unregister_module(unsigned m)
{
	__cudaUnregisterFatBinary(modules[m].handle);
	modules[m].handle = NULL;
	for (unsigned k = 0; k < KEYS; k++)
		if (model[k].module == m)
			model[k].what = NOTHING;
}

static void check_function(unsigned k)
{
	void *args[] = {&out};
	uint32_t got = 0;
	const cudaError_t r =
		cudaLaunchKernel(&keys[k], (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL);

	if (model[k].what != FUNCTION) {
		/* a name of nothing might be a cudaKernel_t */
		assert_true(
			r == cudaErrorInvalidDeviceFunction || r == cudaErrorInvalidResourceHandle);
		return;
	}
	assert_int_equal(r, cudaSuccess);
	OK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
	assert_int_equal(got, 100 + model[k].module);
}

static void check_variable(unsigned k)
{
	uint32_t got = 0;
	size_t n = 0;
	const cudaError_t r = cudaGetSymbolSize(&n, &keys[k]);

	if (model[k].what != VARIABLE) {
		assert_int_equal(r, cudaErrorInvalidSymbol);
		return;
	}
	assert_int_equal(r, cudaSuccess);
	assert_int_equal(n, 4 * (model[k].module + 3));
	OK(cudaMemcpyFromSymbol(&got, &keys[k], 4, 0, cudaMemcpyDeviceToHost));
	assert_int_equal(got, 200 + model[k].module);
}

static void check_all(void)
{
	for (unsigned k = 0; k < KEYS; k++) {
		check_function(k);
		check_variable(k);
		(void)cudaGetLastError();
	}
}

static void test_registered(void **state)
{
	OK(cudaSetDevice(0));
	OK(cudaMalloc((void **)&out, 4));
	for (unsigned m = 0; m < MODULES; m++)
		register_module(m);
	for (unsigned round = 0; round < 6; round++) {
		const unsigned gone = next(MODULES);

		for (unsigned n = 0; n < 150; n++)
			register_key(next(KEYS), next(MODULES));
		check_all();
		unregister_module(gone);
		check_all();
		__cudaUnregisterFatBinary((void **)&keys[0]); /* of nobody */
		register_module(gone);
		__cudaRegisterFatBinaryEnd(modules[gone].handle);
		check_all();
	}
	for (unsigned m = 0; m < MODULES; m++)
		unregister_module(m);
	check_all();
	OK(cudaFree(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
