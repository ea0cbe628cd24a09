/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of another process: this one exports, a child that was forked before either called the
 * driver opens. "CUDA Driver API", cuIpcGetMemHandle, cuIpcOpenMemHandle, cuIpcCloseMemHandle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <cuda.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)
#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
#define SIZE 3000u

static int to_child[2], to_parent[2];

static void begin(void)
{
	CUcontext c;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuCtxSetCurrent(c));
}

/* ---- the child ---------------------------------------- */

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

/* A handle comes from another process: what says that it is other than it is opens nothing. */
static void child_refuses(const CUipcMemHandle *good)
{
	/* words of drv-ipc.c's handle: whose it is, bytes of the file, where in it, how many */
	static const struct {
		unsigned word;
		uint64_t wrong;
	} rows[] = {{0, 0}, {0, UINT64_MAX}, {2, 0}, {2, 1}, {2, 4097}, {2, 4096}, {3, UINT64_MAX},
		{3, UINT64_C(1) << 40}, {4, 0}, {4, UINT64_MAX}, {4, UINT64_C(1) << 40}};
	CUdeviceptr p;

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		CUipcMemHandle bad = *good;

		memcpy(bad.reserved + 8 * rows[i].word, &rows[i].wrong, 8);
		MUST(cuIpcOpenMemHandle(&p, bad, LAZY) != CUDA_SUCCESS);
	}
	MUST(cuIpcOpenMemHandle(&p, *good, 0) == CUDA_ERROR_INVALID_VALUE);
	MUST(cuIpcOpenMemHandle(NULL, *good, LAZY) == CUDA_ERROR_INVALID_VALUE);
}

static void child(void)
{
	unsigned char got[SIZE];
	CUdeviceptr a, again, b;
	CUipcMemHandle h[2];
	CUcontext c;

	MUST(read(to_child[0], h, sizeof h) == sizeof h);
	MUST(cuInit(0) == CUDA_SUCCESS);
	MUST(cuDevicePrimaryCtxRetain(&c, 0) == CUDA_SUCCESS);
	MUST(cuIpcOpenMemHandle(&a, h[0], LAZY) == CUDA_ERROR_INVALID_CONTEXT);
	MUST(cuCtxSetCurrent(c) == CUDA_SUCCESS);
	child_refuses(&h[0]);
	MUST(cuIpcOpenMemHandle(&a, h[0], LAZY) == CUDA_SUCCESS);
	MUST(cuIpcOpenMemHandle(&b, h[1], LAZY) == CUDA_SUCCESS);
	MUST(a != b);
	MUST(cuMemcpyDtoH(got, a, SIZE) == CUDA_SUCCESS);
	for (unsigned i = 0; i < SIZE; i++)
		MUST(got[i] == 7);
	MUST(cuMemcpyDtoH(got, b, SIZE) == CUDA_SUCCESS);
	MUST(got[0] == 9 && got[SIZE - 1] == 9);
	/* nothing of what lies beside it */
	MUST(cuMemsetD8(a, 1, SIZE + 1) != CUDA_SUCCESS);
	MUST(cuMemsetD8(a - 1, 1, 1) != CUDA_SUCCESS);
	/* opened twice it is closed twice */
	MUST(cuIpcOpenMemHandle(&again, h[0], LAZY) == CUDA_SUCCESS);
	MUST(again == a);
	MUST(cuIpcCloseMemHandle(a + 1) == CUDA_ERROR_INVALID_VALUE);
	MUST(cuIpcCloseMemHandle(a) == CUDA_SUCCESS);
	MUST(cuMemsetD8(a + 1, 8, SIZE - 1) == CUDA_SUCCESS);
	MUST(cuCtxSynchronize() == CUDA_SUCCESS);
	MUST(cuIpcCloseMemHandle(a) == CUDA_SUCCESS);
	MUST(cuIpcCloseMemHandle(a) == CUDA_ERROR_INVALID_VALUE);
	MUST(cuMemsetD8(a, 1, 1) == CUDA_ERROR_INVALID_VALUE);
	MUST(cuMemcpyDtoH(got, b, SIZE) == CUDA_SUCCESS && got[1] == 9);
	MUST(cuIpcCloseMemHandle(b) == CUDA_SUCCESS);
	MUST(write(to_parent[1], "x", 1) == 1);
	_exit(0);
}

/* ---- this process ---------------------------------------- */

static void test_two_processes_share_memory(void **state)
{
	const pid_t pid = fork();
	CUdeviceptr a, b, opened;
	CUipcMemHandle h[2];
	unsigned char got[SIZE];
	int status;
	char done;

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		child();
	assert_int_equal(cuIpcGetMemHandle(&h[0], 0x1000), CUDA_ERROR_NOT_INITIALIZED);
	begin();
	OK(cuMemAlloc(&a, SIZE));
	OK(cuMemAlloc(&b, SIZE));
	OK(cuMemsetD8(a, 7, SIZE));
	OK(cuMemsetD8(b, 9, SIZE)); /* both are waited for: */
	OK(cuIpcGetMemHandle(&h[0], a));
	OK(cuIpcGetMemHandle(&h[1], b));
	IS(cuIpcGetMemHandle(&h[0], a + (UINT64_C(1) << 40)), INVALID_VALUE);
	IS(cuIpcGetMemHandle(NULL, a), INVALID_VALUE);
	IS(cuIpcOpenMemHandle(&opened, h[0], LAZY), INVALID_CONTEXT); /* its own */
	assert_int_equal(write(to_child[1], h, sizeof h), sizeof h);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("the child ended with status 0x%x: line %d or 250 more", status,
			WEXITSTATUS(status) - 1);
	assert_int_equal(read(to_parent[0], &done, 1), 1);
	OK(cuMemcpyDtoH(got, a, SIZE));
	assert_int_equal(got[0], 7);
	for (unsigned i = 1; i < SIZE; i++)
		assert_int_equal(got[i], 8);
	OK(cuMemcpyDtoH(got, b, SIZE));
	assert_int_equal(got[0], 9);
	IS(cuIpcCloseMemHandle(a), INVALID_VALUE); /* it was not opened here */
	OK(cuMemFree(a));
	OK(cuMemFree(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_processes_share_memory)};

	if (pipe(to_child) || pipe(to_parent))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
