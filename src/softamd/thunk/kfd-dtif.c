// SPDX-License-Identifier: Apache-2.0
//
// libdtif.so: the device for the HSA runtimes of ROCm 7, which have the functions of libhsakmt.so.1
// built in. With HSA_ENABLE_DTIF=1 they take them from a library of this name instead, all of them,
// with those of libdrm that they call. It is what libhsakmt.so.1 has (dlsym() finds that behind
// this library), and here what is newer: structures that have grown in their middle, and functions,
// nearly all of which are refused by name.
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "softamd/thunk/kfd.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

KFD_PUBLIC void *DtifCreate(const char *unused)
{
	static int it;

	(void)unused;
	return &it;
}

KFD_PUBLIC void DtifDestroy(void)
{
}

/* --- structures --- */

/* Copies what comes next of the older structure, up to its field at `end`. */
struct copy {
	const unsigned char *from;
	unsigned char *to;
	size_t done;
};

static void copy_to(struct copy *c, size_t end)
{
	memcpy(c->to, c->from + c->done, end - c->done);
	c->to += end - c->done;
	c->done = end;
}

static void insert(struct copy *c, uint32_t v)
{
	memcpy(c->to, &v, sizeof(v));
	c->to += sizeof(v);
}

/* Neural cores, a second word of capabilities, and an engine that overrides are between the older
 * fields; behind them are the sizes of what a wave's state is saved in, which is never done. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *p)
{
	HsaNodeProperties old;
	const HSAKMT_STATUS s = tsdb_softamd_node(node, &old);
	struct copy c = {(const unsigned char *)&old, (unsigned char *)p, 0};

	if (!p || s)
		return p ? s : HSAKMT_STATUS_INVALID_PARAMETER;
	copy_to(&c, offsetof(HsaNodeProperties, NumMemoryBanks));
	insert(&c, 0);
	copy_to(&c, offsetof(HsaNodeProperties, MaxWavesPerSIMD));
	insert(&c, 0);
	copy_to(&c, offsetof(HsaNodeProperties, VendorId));
	insert(&c, 0);
	copy_to(&c, sizeof(old));
	insert(&c, node ? 64u << 10 : 0);
	insert(&c, node ? 8u << 10 : 0);
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(
	HSAuint32 node, HSAuint32 n, HsaIoLinkProperties *p)
{
	HsaIoLinkProperties old[KFD_DEVICES_MAX];
	HSAKMT_STATUS s = tsdb_softamd_links(node, KFD_DEVICES_MAX, old);
	unsigned char *to = (unsigned char *)p;
	HsaNodeProperties it;

	if (!s)
		s = tsdb_softamd_node(node, &it);
	if (s || !p || n < it.NumIOLinks)
		return s ? s : HSAKMT_STATUS_INVALID_PARAMETER;
	for (uint32_t i = 0; i < it.NumIOLinks; i++) {
		struct copy c = {(const unsigned char *)&old[i], to, 0};

		copy_to(&c, offsetof(HsaIoLinkProperties, Flags));
		insert(&c, 0); /* recommended engines */
		copy_to(&c, sizeof(old[i]));
		to = c.to;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/* --- functions --- */

KFD_PUBLIC HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type,
	HSAuint32 percentage, HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *ring,
	HSAuint64 size, HsaEvent *event, HsaQueueResource *r)
{
	(void)engine;
	return hsaKmtCreateQueue(node, type, percentage, priority, ring, size, event, r);
}

/* Memory of 2 MiB and more begins at such an address, all other at one of 4 KiB. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtAllocMemoryAlign(
	HSAuint32 node, HSAuint64 size, HSAuint64 align, HsaMemFlags flags, void **addr)
{
	if (align > (size >= 2u << 20 ? 2u << 20 : 4u << 10)) {
		tsdb_softamd_refuse("hsaKmtAllocMemoryAlign at addresses rounder than 4 KiB");
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	return hsaKmtAllocMemory(node, size, flags, addr);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtModelEnabled(bool *ret)
{
	*ret = false;
	return HSAKMT_STATUS_SUCCESS;
}

/* Asked at the start; a debugger is refused when it comes. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtCheckRuntimeDebugSupport(void)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

/* Queues are read all the time. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtQueueRingDoorbell(HSA_QUEUEID id)
{
	(void)id;
	return HSAKMT_STATUS_SUCCESS;
}

/* Their arguments are never looked at; some are declared with them. */
#define REFUSED(name, what)                                                                        \
	KFD_PUBLIC HSAKMT_STATUS refused_##name(void) __asm__(#name);                              \
	KFD_PUBLIC HSAKMT_STATUS refused_##name(void)                                              \
	{                                                                                          \
		tsdb_softamd_refuse(#name " (" what ")");                                          \
		return HSAKMT_STATUS_NOT_SUPPORTED;                                                \
	}
REFUSED(hsaKmtAisReadWriteFile, "files")
REFUSED(hsaKmtDbgAddressWatch, "debuggers")
REFUSED(hsaKmtDbgRegister, "debuggers")
REFUSED(hsaKmtDbgUnregister, "debuggers")
REFUSED(hsaKmtDbgWavefrontControl, "debuggers")
REFUSED(hsaKmtDebugTrapIoctl, "debuggers")
REFUSED(hsaKmtGetQueueInfo, "debuggers")
REFUSED(hsaKmtMapGraphicHandle, "graphics")
REFUSED(hsaKmtUnmapGraphicHandle, "graphics")
REFUSED(hsaKmtRegisterGraphicsHandleToNodesExt, "graphics")
REFUSED(hsaKmtPcSamplingCreate, "samples")
REFUSED(hsaKmtPcSamplingDestroy, "samples")
REFUSED(hsaKmtPcSamplingQueryCapabilities, "samples")
REFUSED(hsaKmtPcSamplingStart, "samples")
REFUSED(hsaKmtPcSamplingStop, "samples")
REFUSED(hsaKmtPcSamplingSupport, "samples")
REFUSED(hsaKmtPmcAcquireTraceAccess, "counters")
REFUSED(hsaKmtPmcGetCounterProperties, "counters")
REFUSED(hsaKmtPmcQueryTrace, "counters")
REFUSED(hsaKmtPmcRegisterTrace, "counters")
REFUSED(hsaKmtPmcReleaseTraceAccess, "counters")
REFUSED(hsaKmtPmcStartTrace, "counters")
REFUSED(hsaKmtPmcStopTrace, "counters")
REFUSED(hsaKmtPmcUnregisterTrace, "counters")
REFUSED(hsaKmtProcessVMRead, "memory of other processes")
REFUSED(hsaKmtProcessVMWrite, "memory of other processes")

/* --- libdrm: memory that is exported, imported, or has no address of its own --- */

#define DRM_REFUSED(name)                                                                          \
	KFD_PUBLIC int name(void)                                                                  \
	{                                                                                          \
		tsdb_softamd_refuse(#name " (memory without an address, shared memory)");          \
		return -ENOSYS;                                                                    \
	}
DRM_REFUSED(amdgpu_bo_cpu_map)
DRM_REFUSED(amdgpu_bo_export)
DRM_REFUSED(amdgpu_bo_free)
DRM_REFUSED(amdgpu_bo_import)
DRM_REFUSED(amdgpu_bo_query_info)
DRM_REFUSED(amdgpu_bo_set_metadata)
DRM_REFUSED(amdgpu_bo_va_op)
DRM_REFUSED(amdgpu_device_initialize)
DRM_REFUSED(drmCommandWriteRead)
DRM_REFUSED(drmOpenRender)

/* struct amdgpu_gpu_info of libdrm's amdgpu.h, of which the runtime reads one number. */
struct gpu_info {
	uint32_t other[18];
	uint32_t counter_khz;
	uint32_t more[85];
};

KFD_PUBLIC int amdgpu_query_gpu_info(void *device, struct gpu_info *ret)
{
	(void)device;
	*ret = (struct gpu_info){.counter_khz = 1000000}; /* kfd_clock() */
	return 0;
}

KFD_PUBLIC int amdgpu_device_deinitialize(void)
{
	return 0;
}

KFD_PUBLIC int drmClose(int fd)
{
	(void)fd;
	return 0;
}

KFD_PUBLIC const char *amdgpu_get_marketing_name(void *device)
{
	(void)device;
	return NULL;
}
