/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices, TSDB_SOFT_DEVICES of them, all alike: "TraceSmith software GPU", compute
 * capability 7.5 unless TSDB_SOFT_CC says another. Their multiprocessors are the machine's cores;
 * the other figures are those of the vendor's 7.5 parts ("CUDA C++ Programming Guide", technical
 * specifications per compute capability), so that programs choose launch shapes as they would on
 * one.
 */
#include "softgpu/driver/drv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEVICE_NAME "TraceSmith software GPU"
#define PCI_ID "0000:%02x:00.0" /* the bus is the device's number */

static const unsigned char uuid_bytes[16] = {0x74, 0x73, 0x64, 0x62, 0x73, 0x6f, 0x46, 0x74, 0x80,
	0x67, 0x70, 0x75, 0x00, 0x00, 0x00, 0x01};

unsigned device_sm_count(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 256 ? 256 : (unsigned)n;
}

/* "CUDA environment variables": the list of devices that a program sees, in its order; it ends at
 * the first entry that names none. */
static struct {
	pthread_once_t once;
	unsigned n;
	unsigned physical[MEM_DEVICES];
} visible = {.once = PTHREAD_ONCE_INIT};

static void uuid_of(unsigned physical, unsigned char ret[16])
{
	memcpy(ret, uuid_bytes, 16);
	ret[15] = (unsigned char)(ret[15] + physical);
}

static bool uuid_prefix(unsigned physical, const char *text, size_t n)
{
	unsigned char bytes[16];
	char full[64];
	size_t at = 0, i;

	uuid_of(physical, bytes);
	at = (size_t)sprintf(full, "GPU-");
	for (i = 0; i < 16; i++)
		at += (size_t)sprintf(full + at,
			i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
	return n > 4 && n <= at && !strncasecmp(full, text, n);
}

/* The device that an entry names, -1 for none. */
static int named(const char *entry, size_t n)
{
	unsigned count = mem_devices(), k, found = 0;
	int ret = -1;
	char *end;

	if (n && entry[0] >= '0' && entry[0] <= '9') {
		unsigned long v = strtoul(entry, &end, 10);

		return end == entry + n && v < count ? (int)v : -1;
	}
	for (k = 0; k < count; k++)
		if (uuid_prefix(k, entry, n)) {
			ret = (int)k;
			found++;
		}
	return found == 1 ? ret : -1; /* a prefix must name one */
}

static void read_visible(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	unsigned k;

	for (k = 0; !list && k < mem_devices(); k++)
		visible.physical[visible.n++] = k;
	while (list && *list && visible.n < MEM_DEVICES) {
		size_t n;
		int dev;

		list += strspn(list, " \t");
		n = strcspn(list, ", \t");
		dev = named(list, n);
		for (k = 0; dev >= 0 && k < visible.n; k++)
			if (visible.physical[k] == (unsigned)dev) {
				visible.n = 0; /* a device named twice: none at all */
				return;
			}
		if (dev < 0)
			return;
		visible.physical[visible.n++] = (unsigned)dev;
		list += n;
		list += strspn(list, ", \t");
	}
}

unsigned device_count(void)
{
	pthread_once(&visible.once, read_visible);
	return visible.n;
}

bool device_visible(void)
{
	return device_count() > 0;
}

CUresult device_check(CUdevice dev)
{
	return dev >= 0 && (unsigned)dev < device_count() ? CUDA_SUCCESS
							  : CUDA_ERROR_INVALID_DEVICE;
}

DRV_DEFINE(2, cuDeviceGet, CUdevice *, device, int, ordinal)
{
	REQUIRE(device);
	TRY_CU(device_check(ordinal));
	*device = ordinal;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuDeviceGetCount, int *, count)
{
	REQUIRE(count);
	*count = (int)device_count();
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuDeviceGetName, char *, name, int, len, CUdevice, dev)
{
	REQUIRE(name && len > 0);
	TRY_CU(device_check(dev));
	snprintf(name, (size_t)len, "%s", DEVICE_NAME);
	return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice dev)
{
	REQUIRE(uuid);
	TRY_CU(device_check(dev));
	uuid_of(visible.physical[dev], (unsigned char *)uuid->bytes);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuDeviceGetUuid, CUuuid *, uuid, CUdevice, dev)
{
	return get_uuid(uuid, dev);
}

DRV_DEFINE(2, cuDeviceGetUuid_v2, CUuuid *, uuid, CUdevice, dev)
{
	return get_uuid(uuid, dev);
}

DRV_DEFINE(3, cuDeviceGetLuid, char *, luid, unsigned int *, deviceNodeMask, CUdevice, dev)
{
	return CUDA_ERROR_NOT_SUPPORTED; /* Windows only */
}

DRV_DEFINE(2, cuDeviceTotalMem_v2, size_t *, bytes, CUdevice, dev)
{
	REQUIRE(bytes);
	TRY_CU(device_check(dev));
	*bytes = mem_total();
	return CUDA_SUCCESS;
}

unsigned device_cc(void)
{
	static const struct {
		const char *text;
		unsigned cc;
	} known[] = {{"7.5", 75}, {"8.0", 80}, {"8.6", 86}, {"8.9", 89}, {"9.0", 90}, {"10.0", 100},
		{"12.0", 120}};
	static _Atomic unsigned chosen; /* cc + 1 */
	const char *text = getenv("TSDB_SOFT_CC");
	unsigned cc = text && *text ? 0 : 75;

	if (chosen)
		return chosen - 1;
	for (unsigned i = 0; i < sizeof known / sizeof *known && !cc; i++)
		if (!strcmp(text, known[i].text))
			cc = known[i].cc;
	if (!cc)
		drv_say("TSDB_SOFT_CC=%s is none of the compute capabilities 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0",
			text);
	chosen = cc + 1;
	return cc;
}

DRV_DEFINE(3, cuDeviceComputeCapability, int *, major, int *, minor, CUdevice, dev)
{
	REQUIRE(major && minor);
	TRY_CU(device_check(dev));
	*major = (int)device_cc() / 10;
	*minor = (int)device_cc() % 10;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuDeviceGetPCIBusId, char *, pciBusId, int, len, CUdevice, dev)
{
	REQUIRE(pciBusId && len >= (int)sizeof("0000:00:00.0"));
	TRY_CU(device_check(dev));
	snprintf(pciBusId, (size_t)len, PCI_ID, visible.physical[dev]);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuDeviceGetByPCIBusId, CUdevice *, dev, const char *, pciBusId)
{
	unsigned domain = 0, bus, device, fn = 0, i;

	REQUIRE(dev && pciBusId);
	if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &device, &fn) < 3 &&
		(domain = 0, sscanf(pciBusId, "%x:%x.%x", &bus, &device, &fn) < 2))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < device_count() && !domain && !device && !fn; i++)
		if (visible.physical[i] == bus) {
			*dev = (CUdevice)i;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* --- attributes --- */

#define A(name, value) [CU_DEVICE_ATTRIBUTE_##name] = (value)
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
	A(MAX_THREADS_PER_BLOCK, DEV_MAX_THREADS),
	A(MAX_BLOCK_DIM_X, 1024),
	A(MAX_BLOCK_DIM_Y, 1024),
	A(MAX_BLOCK_DIM_Z, 64),
	A(MAX_GRID_DIM_X, 0x7fffffff),
	A(MAX_GRID_DIM_Y, 65535),
	A(MAX_GRID_DIM_Z, 65535),
	A(MAX_SHARED_MEMORY_PER_BLOCK, DEV_MAX_SHARED),
	A(TOTAL_CONSTANT_MEMORY, 65536),
	A(WARP_SIZE, 32),
	A(MAX_PITCH, 0x7fffffff),
	A(MAX_REGISTERS_PER_BLOCK, DEV_REGS_PER_SM),
	A(CLOCK_RATE, 1000000),
	A(TEXTURE_ALIGNMENT, 512),
	A(TEXTURE_PITCH_ALIGNMENT, 32),
	A(SURFACE_ALIGNMENT, 512),
	A(GPU_OVERLAP, 1),
	A(CAN_MAP_HOST_MEMORY, 1),
	A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28),
	A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072),
	A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000),
	A(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120),
	A(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768),
	A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768),
	A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768),
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768),
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
	A(MAXIMUM_SURFACE1D_WIDTH, 32768),
	A(MAXIMUM_SURFACE2D_WIDTH, 131072),
	A(MAXIMUM_SURFACE2D_HEIGHT, 65536),
	A(MAXIMUM_SURFACE3D_WIDTH, 16384),
	A(MAXIMUM_SURFACE3D_HEIGHT, 16384),
	A(MAXIMUM_SURFACE3D_DEPTH, 16384),
	A(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768),
	A(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
	A(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768),
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768),
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
	A(MAXIMUM_TEXTURE1D_WIDTH, 131072),
	A(MAXIMUM_TEXTURE2D_WIDTH, 131072),
	A(MAXIMUM_TEXTURE2D_HEIGHT, 65536),
	A(MAXIMUM_TEXTURE3D_WIDTH, 16384),
	A(MAXIMUM_TEXTURE3D_HEIGHT, 16384),
	A(MAXIMUM_TEXTURE3D_DEPTH, 16384),
	A(CONCURRENT_KERNELS, 1),
	A(MEMORY_CLOCK_RATE, 1000000),
	A(GLOBAL_MEMORY_BUS_WIDTH, 64),
	A(L2_CACHE_SIZE, 4 << 20),
	A(MAX_THREADS_PER_MULTIPROCESSOR, DEV_THREADS_PER_SM),
	A(ASYNC_ENGINE_COUNT, 3),
	A(UNIFIED_ADDRESSING, 1),
	A(STREAM_PRIORITIES_SUPPORTED, 1),
	A(GLOBAL_L1_CACHE_SUPPORTED, 1),
	A(LOCAL_L1_CACHE_SUPPORTED, 1),
	A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, DEV_SHARED_PER_SM),
	A(MAX_REGISTERS_PER_MULTIPROCESSOR, DEV_REGS_PER_SM),
	A(MANAGED_MEMORY, 1),
	A(HOST_NATIVE_ATOMIC_SUPPORTED, 1),
	A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
	A(CONCURRENT_MANAGED_ACCESS, 1),
	A(COMPUTE_PREEMPTION_SUPPORTED, 1),
	A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
	A(CAN_USE_STREAM_MEM_OPS_V1, 1),
	A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1),
	A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1),
	A(CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
	A(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
	A(COOPERATIVE_LAUNCH, 1),
	A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, DEV_MAX_SHARED_OPTIN),
	A(HOST_REGISTER_SUPPORTED, 1),
	A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
	A(READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
	A(MAX_BLOCKS_PER_MULTIPROCESSOR, DEV_BLOCKS_PER_SM),
	A(MEMORY_POOLS_SUPPORTED, 1),
	A(MEM_SYNC_DOMAIN_COUNT, 1),
	A(HOST_NUMA_ID, -1),
	A(NUMA_ID, -1),
};
#undef A

DRV_DEFINE(3, cuDeviceGetAttribute, int *, pi, CUdevice_attribute, attrib, CUdevice, dev)
{
	REQUIRE(pi && attrib >= 1 && attrib < CU_DEVICE_ATTRIBUTE_MAX);
	TRY_CU(device_check(dev));
	switch (attrib) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*pi = (int)device_cc() / 10;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*pi = (int)device_cc() % 10;
		break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: /* they are launched in any case; programs ask
						    first */
		*pi = device_cc() >= 90;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*pi = (int)device_sm_count();
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*pi = (int)visible.physical[dev];
		break;
	default:
		*pi = attributes[attrib];
		break;
	}
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuDeviceGetProperties, CUdevprop *, prop, CUdevice, dev)
{
	REQUIRE(prop);
	TRY_CU(device_check(dev));
	*prop = (CUdevprop){
		.maxThreadsPerBlock = DEV_MAX_THREADS,
		.maxThreadsDim = {1024, 1024, 64},
		.maxGridSize = {0x7fffffff, 65535, 65535},
		.sharedMemPerBlock = DEV_MAX_SHARED,
		.totalConstantMemory = 65536,
		.SIMDWidth = 32,
		.memPitch = 0x7fffffff,
		.regsPerBlock = DEV_REGS_PER_SM,
		.clockRate = attributes[CU_DEVICE_ATTRIBUTE_CLOCK_RATE],
		.textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuDeviceGetExecAffinitySupport, int *, pi, CUexecAffinityType, type, CUdevice, dev)
{
	REQUIRE(pi);
	TRY_CU(device_check(dev));
	*pi = 0;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuDeviceCanAccessPeer, int *, canAccessPeer, CUdevice, dev, CUdevice, peerDev)
{
	REQUIRE(canAccessPeer);
	TRY_CU(device_check(dev));
	TRY_CU(device_check(peerDev));
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuDeviceGetP2PAttribute, int *, value, CUdevice_P2PAttribute, attrib, CUdevice,
	srcDevice, CUdevice, dstDevice)
{
	REQUIRE(value);
	TRY_CU(device_check(srcDevice));
	TRY_CU(device_check(dstDevice));
	if (srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE; /* a device is no peer of itself */
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
