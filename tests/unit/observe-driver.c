/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that gives out other addresses than it exports, for test-observe-table.
 */
#include <stdint.h>
#include <string.h>

int cuLaunchKernel(void);
int cuLaunchKernel_ptsz(void);
int cuMemAlloc_v2(void);
int cuCtxCreate_v4(void);
int cuDriverGetVersion(int *ret);
int cuGetProcAddress_v2(const char *symbol, void **ret, int version, uint64_t flags, int *status);
int other_launch(void);
int other_launch_ptsz(void);

int cuLaunchKernel(void)
{
	return 1;
}

int cuLaunchKernel_ptsz(void)
{
	return 2;
}

int cuMemAlloc_v2(void)
{
	return 3;
}

int cuCtxCreate_v4(void)
{
	return 4;
}

int other_launch(void)
{
	return 5;
}

int other_launch_ptsz(void)
{
	return 6;
}

int cuDriverGetVersion(int *ret)
{
	*ret = 13000;
	return 0;
}

int cuGetProcAddress_v2(const char *symbol, void **ret, int version, uint64_t flags, int *status)
{
	*status = 0;
	*ret = 0;
	if (!strcmp(symbol, "cuLaunchKernel"))
		*ret = flags == 2 ? (void *)other_launch_ptsz : (void *)other_launch;
	if (!strcmp(symbol, "cuMemAlloc"))
		*ret = (void *)cuMemAlloc_v2;
	if (!strcmp(symbol, "cuCtxCreate"))
		*ret = (void *)other_launch; /* it has versions: not to be taken */
	return !*ret || version != 13000;
}
