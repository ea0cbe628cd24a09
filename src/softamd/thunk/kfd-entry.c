// SPDX-License-Identifier: Apache-2.0
//
// The library's other entry points: opening, versions, clocks, and what is accepted without effect
// or refused by name.
//
// A forked child has no threads that read queues. As with the real driver, it cannot go on with
// what its parent opened: every call fails there, and none waits.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "softamd/thunk/kfd.h"

static uint32_t opened;
static bool forked; /* since it was opened */

static void in_child(void)
{
	forked = opened != 0;
}

__attribute__((constructor)) static void entry_begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

bool kfd_open(void)
{
	return __atomic_load_n(&opened, __ATOMIC_ACQUIRE) && !forked;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtOpenKFD(void)
{
	if (forked) {
		kfd_say("a forked child cannot use the device that its parent has opened");
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	}
	if (!kfd_machine())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	return __atomic_fetch_add(&opened, 1, __ATOMIC_ACQ_REL)
		       ? HSAKMT_STATUS_KERNEL_ALREADY_OPENED
		       : HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtCloseKFD(void)
{
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	__atomic_fetch_sub(&opened, 1, __ATOMIC_ACQ_REL);
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *v)
{
	if (!v)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* 1.4: SRAM ECC is said as it is. */
	*v = (HsaVersionInfo){.KernelInterfaceMajorVersion = 1, .KernelInterfaceMinorVersion = 10};
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *c)
{
	uint64_t now = kfd_clock();

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!c || node > kfd_machine()->devices)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	c->GPUClockCounter = c->CPUClockCounter = c->SystemClockCounter = now;
	c->SystemClockFrequencyHz = 1000000000ull;
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRuntimeEnable(void *debug, bool setup_ttmp)
{
	(void)setup_ttmp;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	kfd_names_list(debug);
	return HSAKMT_STATUS_SUCCESS; /* queues report exceptions by HsaQueueResource.ErrorReason */
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
	kfd_names_list(NULL);
	return HSAKMT_STATUS_SUCCESS;
}

/* --- accepted: they have no effect on what a program computes
 * --------------------------------------- */

KFD_PUBLIC HSAKMT_STATUS hsaKmtSetMemoryPolicy(
	HSAuint32 node, HSAuint32 policy, HSAuint32 alternate, void *addr, HSAuint64 size)
{
	(void)policy, (void)alternate, (void)addr, (void)size;
	return kfd_is_device(node) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* A trap ends the dispatch and is reported by the queue's exception: its handler never runs. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtSetTrapHandler(
	HSAuint32 node, void *code, HSAuint64 code_size, void *data, HSAuint64 data_size)
{
	(void)code, (void)code_size, (void)data, (void)data_size;
	return kfd_is_device(node) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
	if (!enable)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*enable = 0;
	return HSAKMT_STATUS_SUCCESS;
}

/* The runtime asks at its start; an image is refused where a kernel's instruction uses it. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig *c)
{
	if (!kfd_is_device(node) || !c)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (c->TileConfig)
		memset(c->TileConfig, 0, c->NumTileConfigs * sizeof(*c->TileConfig));
	if (c->MacroTileConfig)
		memset(c->MacroTileConfig, 0, c->NumMacroTileConfigs * sizeof(*c->MacroTileConfig));
	c->GbAddrConfig = 0;
	c->NumBanks = c->NumRanks = 0;
	return HSAKMT_STATUS_SUCCESS;
}

/* --- what the HSA runtimes of ROCm 5.7 and later call, too: newer than the installed headers, so
 * their types are written out. Their HsaNodeProperties has the same layout (kfd-topology.c). --- */

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *caps);
KFD_PUBLIC HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *caps)
{
	if (!caps)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*caps = 0; /* no core dumps */
	return HSAKMT_STATUS_SUCCESS;
}

/* A handle of libdrm's, which the runtime asks for at its start and uses when it imports memory; a
 * program comes to that by hsaKmtExportDMABufHandle only. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **ret);
KFD_PUBLIC HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **ret)
{
	static uint64_t nothing[KFD_DEVICES_MAX + 1][512];

	if (!kfd_is_device(node) || !ret)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	*ret = nothing[node];
	return HSAKMT_STATUS_SUCCESS;
}

/* --- refused
 * --------------------------------------------------------------------------------------- */

void tsdb_softamd_refuse(const char *what)
{
	kfd_say("%s is not supported", what);
}

static HSAKMT_STATUS refused(const char *what)
{
	tsdb_softamd_refuse(what);
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable)
{
	return enable ? refused("hsaKmtSetXNACKMode (HSA_XNACK=1)") : HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 n, HSAuint32 *first)
{
	(void)id, (void)n, (void)first;
	return refused("hsaKmtAllocQueueGWS (cooperative launches)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterGraphicsHandleToNodes(
	HSAuint64 handle, HsaGraphicsResourceInfo *info, HSAuint64 n, HSAuint32 *nodes)
{
	(void)handle, (void)info, (void)n, (void)nodes;
	return refused("hsaKmtRegisterGraphicsHandleToNodes (graphics)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtShareMemory(
	void *addr, HSAuint64 size, HsaSharedMemoryHandle *handle)
{
	(void)addr, (void)size, (void)handle;
	return refused("hsaKmtShareMemory (IPC)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterSharedHandle(
	const HsaSharedMemoryHandle *handle, void **addr, HSAuint64 *size)
{
	(void)handle, (void)addr, (void)size;
	return refused("hsaKmtRegisterSharedHandle (IPC)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *handle,
	void **addr, HSAuint64 *size, HSAuint64 n, HSAuint32 *nodes)
{
	(void)handle, (void)addr, (void)size, (void)n, (void)nodes;
	return refused("hsaKmtRegisterSharedHandleToNodes (IPC)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtSVMSetAttr(
	void *addr, HSAuint64 size, unsigned int n, HSA_SVM_ATTRIBUTE *a)
{
	(void)addr, (void)size, (void)n, (void)a;
	return refused("hsaKmtSVMSetAttr (shared virtual memory)");
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtSVMGetAttr(
	void *addr, HSAuint64 size, unsigned int n, HSA_SVM_ATTRIBUTE *a)
{
	(void)addr, (void)size, (void)n, (void)a;
	return refused("hsaKmtSVMGetAttr (shared virtual memory)");
}

/* Those of newer runtimes. */
#define REFUSED(name, what, ...)                                                                   \
	KFD_PUBLIC HSAKMT_STATUS name(__VA_ARGS__);                                                \
	KFD_PUBLIC HSAKMT_STATUS name(__VA_ARGS__)                                                 \
	{                                                                                          \
		return refused(#name " (" what ")");                                               \
	}
REFUSED(hsaKmtDbgEnable, "debuggers", void **info, HSAuint32 *size)
REFUSED(hsaKmtDbgDisable, "debuggers", void)
REFUSED(hsaKmtDbgGetDeviceData, "debuggers", void **data, HSAuint32 *n, HSAuint32 *size)
REFUSED(hsaKmtDbgGetQueueData, "debuggers", void **data, HSAuint32 *n, HSAuint32 *size, bool stop)
REFUSED(hsaKmtExportDMABufHandle, "shared memory", void *addr, HSAuint64 n, int *fd, HSAuint64 *at)
REFUSED(hsaKmtOpenSMI, "events of the driver", HSAuint32 node, int *fd)
REFUSED(hsaKmtReplaceAsanHeaderPage, "address sanitizer", void *addr)
REFUSED(hsaKmtReturnAsanHeaderPage, "address sanitizer", void *addr)
REFUSED(hsaKmtSPMAcquire, "counters", HSAuint32 node)
REFUSED(hsaKmtSPMRelease, "counters", HSAuint32 node)
REFUSED(hsaKmtSPMSetDestBuffer, "counters", HSAuint32 node, HSAuint32 size, HSAuint32 *timeout,
	HSAuint32 *copied, void *to, bool *lost)
