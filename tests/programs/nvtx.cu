/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX ranges: "load", then twice "step" with "inner" inside, in a domain a "job", a range whose name is a registered string. Each has
 * launches of a kernel of its own, so a window on a range shows by its commands whether it was the right one.
 */
#include <nvtx3/nvToolsExt.h>
#include "gpu.h"

#define KERNEL(name, by)           \
	__global__ void name(int *n) \
	{                          \
		*n += by;          \
	}
KERNEL(in_load, 1)
KERNEL(in_step, 10)
KERNEL(in_inner, 100)
KERNEL(in_job, 1000)
KERNEL(outside, 10000)

static void step(int *n)
{
	nvtxRangePushA("step");
	in_step<<<1, 1>>>(n);
	nvtxRangePushA("inner");
	in_inner<<<1, 1>>>(n);
	nvtxRangePop();
	in_step<<<1, 1>>>(n);
	nvtxRangePop();
}

static void job(int *n, nvtxDomainHandle_t domain)
{
	nvtxEventAttributes_t a = {};

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "job");
	nvtxDomainRangePushEx(domain, &a);
	in_job<<<1, 1>>>(n);
	nvtxDomainRangePop(domain);
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("test");
	int *n = counter_new();

	nvtxRangePushA("load");
	in_load<<<1, 1>>>(n);
	nvtxRangePop();
	outside<<<1, 1>>>(n);
	step(n);
	outside<<<1, 1>>>(n);
	step(n);
	job(n, domain);
	outside<<<1, 1>>>(n);
	printf("nvtx: %d\n", counter_value(n));
	return 0;
}
