// SPDX-License-Identifier: Apache-2.0
//
// Which devices there are, and what they say of themselves. Numbers that programs see are those of
// boards with the same processor; sizes of caches and clocks have no effect here.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softamd/thunk/kfd.h"

static const struct kfd_target targets[] = {
	{"gfx90a", 0x90a, 9, 0, 10, 0x740f, 8, 1, 13, 4, 8, 64, 512 << 10, true},
	{"gfx900", 0x900, 9, 0, 0, 0x6860, 4, 1, 16, 4, 10, 64, 256 << 10, false},
	{"gfx906", 0x906, 9, 0, 6, 0x66a1, 4, 1, 15, 4, 10, 64, 256 << 10, true},
	{"gfx908", 0x908, 9, 0, 8, 0x738c, 8, 1, 15, 4, 10, 64, 256 << 10, true},
	{"gfx942", 0x942, 9, 4, 2, 0x74a1, 8, 1, 38, 4, 8, 64, 512 << 10, true},
	{"gfx1030", 0x1030, 10, 3, 0, 0x73bf, 4, 2, 10, 2, 16, 32, 512 << 10, false},
};
enum { TARGETS = sizeof(targets) / sizeof(targets[0]) };

static struct kfd_machine machine = {.devices = 1, .memory = 16ull << 30};
static bool machine_is_there;

static const struct kfd_target *target_named(const char *name)
{
	char known[160];
	size_t n = 0;

	for (int i = 0; i < TARGETS; i++) {
		if (!strcmp(name, targets[i].name))
			return &targets[i];
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", i ? ", " : "", targets[i].name);
	}
	kfd_say("TSDB_SOFTAMD_TARGET=%.40s: no such target; there are %s", name, known);
	return NULL;
}

/* A number from the environment; false: it is none, or not within [least, most]. */
static bool number_from(const char *name, uint64_t least, uint64_t most, uint64_t *ret)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long v;

	if (!text || !*text)
		return true;
	v = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || v < least || v > most) {
		kfd_say("%s=%.40s: this is a number from %llu to %llu", name, text,
			(unsigned long long)least, (unsigned long long)most);
		return false;
	}
	*ret = v;
	return true;
}

__attribute__((constructor)) static void machine_read(void)
{
	const char *name = getenv("TSDB_SOFTAMD_TARGET");
	uint64_t devices = machine.devices, memory = machine.memory, waits = 0, workers = 0;

	machine.target = target_named(name && *name ? name : "gfx90a");
	machine_is_there =
		machine.target &&
		number_from("TSDB_SOFTAMD_DEVICES", 1, KFD_DEVICES_MAX, &devices) &&
		number_from("TSDB_SOFTAMD_MEMORY", 256ull << 20, 256ull << 30, &memory) &&
		number_from("TSDB_SOFTAMD_STEPS", 0, UINT64_MAX, &machine.steps) &&
		number_from("TSDB_SOFTAMD_WAITS", 0, 1, &waits) &&
		number_from("TSDB_SOFT_WORKERS", 1, 1024, &workers);
	machine.workers = (uint32_t)workers;
	machine.waits = waits != 0;
	machine.devices = (uint32_t)devices;
	machine.memory = memory & ~0x1fffffull;
}

const struct kfd_machine *kfd_machine(void)
{
	return machine_is_there ? &machine : NULL;
}

static uint32_t units_of(const struct kfd_target *t)
{
	return t->engines * t->arrays * t->units;
}

static uint64_t system_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *p)
{
	if (!p)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	*p = (HsaSystemProperties){.NumNodes = 1 + kfd_machine()->devices};
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
	return HSAKMT_STATUS_SUCCESS;
}

static void processor_node(HsaNodeProperties *p, uint32_t devices)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	p->NumCPUCores = cores > 0 ? (uint32_t)cores : 1;
	p->NumMemoryBanks = 1;
	p->NumCaches = 1;
	p->NumIOLinks = devices;
	p->MaxEngineClockMhzCCompute = 2000;
	for (int i = 0; "software"[i]; i++)
		p->MarketingName[i] = (HSAuint16) "software"[i];
}

/* What ROCm 5.7 and later have where older headers reserve bytes: the number of dies that share a
 * queue's work, the driver's number of the device, and its family as Linux's amdgpu numbers them
 * (AMDGPU_FAMILY_AI, AMDGPU_FAMILY_NV), without which the runtime does not start. */
static void newer_properties(HsaNodeProperties *p, uint32_t node, const struct kfd_target *t)
{
	const HSAuint32 newer[] = {1, 0x5344 + node, t->major == 9 ? 141 : 143};

	static_assert(sizeof(p->Reserved) >= sizeof(newer), "room for them");
	memcpy(p->Reserved, newer, sizeof(newer));
}

static void device_node(HsaNodeProperties *p, uint32_t node, const struct kfd_machine *m)
{
	const struct kfd_target *t = m->target;
	char name[HSA_PUBLIC_NAME_SIZE];

	p->NumFComputeCores = units_of(t) * t->simds;
	p->NumMemoryBanks = 3;
	p->NumCaches = 2;
	p->NumIOLinks = m->devices; /* the processor, and every other device */
	p->FComputeIdLo = 0x80000000u + node * 0x1000;
	p->Capability.ui32.QueueSizePowerOfTwo = 1;
	p->Capability.ui32.DoorbellType = 2;
	p->Capability.ui32.SRAM_EDCSupport = t->ecc;
	p->MaxWavesPerSIMD = t->waves;
	p->LDSSizeInKB = 64;
	p->WaveFrontSize = t->lanes;
	p->NumShaderBanks = t->engines;
	p->NumArrays = t->arrays;
	p->NumCUPerArray = t->units;
	p->NumSIMDPerCU = t->simds;
	p->MaxSlotsScratchCU = 32;
	p->EngineId.ui32.uCode = 0x3ff;
	p->EngineId.ui32.Major = t->major;
	p->EngineId.ui32.Minor = t->minor;
	p->EngineId.ui32.Stepping = t->stepping;
	p->VendorId = 0x1002;
	p->DeviceId = t->device_id;
	p->LocationId = node << 8; /* bus = node */
	p->LocalMemSize = m->memory;
	p->MaxEngineClockMhzFCompute = 1700;
	p->MaxEngineClockMhzCCompute = 2000;
	p->DrmRenderMinor = (HSAint32)(127 + node);
	p->uCodeEngineVersions.uCodeSDMA = 0x3ff;
	p->NumSdmaEngines = 2;
	p->NumSdmaQueuesPerEngine = 8;
	p->NumCpQueues = 24;
	p->UniqueID = 0x7473646200000000ull + node;
	p->VGPRSizePerCU = t->registers;
	p->SGPRSizePerCU = 12800;
	newer_properties(p, node, t);
	snprintf((char *)p->AMDName, sizeof(p->AMDName), "%s", t->name);
	snprintf(name, sizeof(name), "software AMD GPU (%s)", t->name);
	for (size_t i = 0; name[i]; i++)
		p->MarketingName[i] = (HSAuint16)name[i];
}

HSAKMT_STATUS tsdb_softamd_node(HSAuint32 node, HsaNodeProperties *p)
{
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!p || node > kfd_machine()->devices)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(p, 0, sizeof(*p));
	if (!node)
		processor_node(p, kfd_machine()->devices);
	else
		device_node(p, node, kfd_machine());
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *p)
{
	return tsdb_softamd_node(node, p);
}

static HsaMemoryProperties bank(HSA_HEAPTYPE heap, uint64_t size, uint64_t base, uint32_t width)
{
	HsaMemoryProperties m = {.HeapType = heap};

	m.SizeInBytes = size;
	m.VirtualBaseAddress = base;
	m.Width = width;
	m.MemoryClockMax = width ? 1600 : 0;
	return m;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(
	HSAuint32 node, HSAuint32 banks, HsaMemoryProperties *p)
{
	HsaMemoryProperties of_device[3];
	uint32_t n = node ? 3 : 1;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!p || node > kfd_machine()->devices || banks < n)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!node) {
		p[0] = bank(HSA_HEAPTYPE_SYSTEM, system_memory(), 0, 64);
		return HSAKMT_STATUS_SUCCESS;
	}
	/* "Public": the host sees all of it, as on boards with a large BAR. */
	of_device[0] = bank(HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, kfd_machine()->memory, 0, 4096);
	of_device[1] = bank(HSA_HEAPTYPE_GPU_LDS, 64 << 10, KFD_SHARED_APERTURE, 0);
	of_device[2] = bank(HSA_HEAPTYPE_GPU_SCRATCH, 4ull << 30, KFD_PRIVATE_APERTURE, 0);
	memcpy(p, of_device, sizeof(of_device));
	return HSAKMT_STATUS_SUCCESS;
}

static HsaCacheProperties cache(uint32_t processor, uint32_t level, uint32_t kib, bool device)
{
	HsaCacheProperties c = {.ProcessorIdLow = processor, .CacheLevel = level, .CacheSize = kib};

	c.CacheLineSize = device ? 128 : 64;
	c.CacheLinesPerTag = 1;
	c.CacheAssociativity = 16;
	c.CacheType.ui32.Data = 1;
	c.CacheType.ui32.CPU = !device;
	c.CacheType.ui32.HSACU = device;
	return c;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeCacheProperties(
	HSAuint32 node, HSAuint32 processor, HSAuint32 n, HsaCacheProperties *p)
{
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!p || node > kfd_machine()->devices || n < (node ? 2u : 1u))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	p[0] = cache(processor, node ? 1 : 3, node ? 16 : 32 << 10, node != 0);
	if (node)
		p[1] = cache(processor, 2, 8 << 10, true);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS tsdb_softamd_links(HSAuint32 node, HSAuint32 n, HsaIoLinkProperties *p)
{
	uint32_t k = 0;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!p || node > kfd_machine()->devices || n < kfd_machine()->devices)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	for (uint32_t to = 0; to <= kfd_machine()->devices; to++) {
		if (to == node)
			continue;
		p[k] = (HsaIoLinkProperties){.IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS};
		p[k].NodeFrom = node;
		p[k].NodeTo = to;
		p[k].Weight = node && to ? 40 : 20;
		k++;
	}
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(
	HSAuint32 node, HSAuint32 n, HsaIoLinkProperties *p)
{
	return tsdb_softamd_links(node, n, p);
}
