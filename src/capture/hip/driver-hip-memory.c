// SPDX-License-Identifier: Apache-2.0
//
// The operations of core/driver.h for HIP: contexts, memory and its hashes, on the software AMD
// GPU. Device memory is memory of this process there, so it is read as that, with a system call
// that answers an error where nothing is mapped. No call of HIP's is made for it: HIP's first copy
// in a process compiles kernels for a second.
#include "capture/core/agent.h"
#include "capture/hip/driver-hip.h"
#include "capture/host/extent.h"
#include "capture/objects/map.h"
#include "gpucode/amd-object.h"

/* ---- contexts ---- */

/* The devices that were current, of this thread. */
static __thread struct {
	int device[8];
	unsigned n;
} entered __attribute__((tls_model("initial-exec")));

struct driver_result hip_context_enter(uint64_t ctx)
{
	int was = 0;
	hipError_t e;

	if (entered.n == sizeof(entered.device) / sizeof(*entered.device))
		return hip_answer(DRIVER_FAILED);
	e = OWN(hip.hipGetDevice(&was));
	if (!e && was != (int)ctx - 1)
		e = OWN(hip.hipSetDevice((int)ctx - 1));
	if (!e)
		entered.device[entered.n++] = was;
	return hip_result((uint32_t)e);
}

void hip_context_leave(void)
{
	int now = 0;
	const int was = entered.n ? entered.device[--entered.n] : -1;

	if (was >= 0 && !OWN(hip.hipGetDevice(&now)) && now != was)
		(void)OWN(hip.hipSetDevice(was));
}

struct driver_result hip_context_finish(void)
{
	return hip_result((uint32_t)OWN(hip.hipDeviceSynchronize()));
}

/* ---- memory ---- */

struct driver_result hip_copy_to_host(void *dst, uint64_t src, size_t n, uint64_t s)
{
	(void)s;
	return hip_answer(host_read(src, dst, n) ? DRIVER_OK : DRIVER_NOT_VALID);
}

struct driver_result hip_mem_range(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size)
{
	int (*const range)(uint64_t, uint64_t *, uint64_t *) = (int (*)(
		uint64_t, uint64_t *, uint64_t *))(uintptr_t)hip_soft_symbol("tsdb_softamd_range");

	return hip_answer(
		range && !range(addr, ret_start, ret_size) ? DRIVER_OK : DRIVER_NOT_VALID);
}

bool hip_mem_access(uint64_t addr)
{
	uint64_t start, size;

	return driver_good(hip_mem_range(addr, &start, &size));
}

static struct map loaded_at; /* hipModule_t -> where its code object was loaded to, + 1 */

void hip_module_loaded(uint64_t module, uint64_t loaded)
{
	(void)map_put(&loaded_at, module, loaded + 1);
}

void hip_module_unloaded(uint64_t module)
{
	map_remove(&loaded_at, module);
}

/* Of a module that HIP did not load by a call of the program's, the handle is where its code object
 * was loaded to. HIP itself does not find what is one source file's own. */
bool hip_global_find(
	uint64_t module, bool is_library, const char *name, uint64_t *ret_addr, uint64_t *ret_size)
{
	struct hip_code code;
	struct amd_variable v;
	hipDeviceptr_t at = NULL;
	const uint64_t known = map_get(&loaded_at, module);
	size_t size = 0;

	(void)is_library;
	if (hip_code_at(known ? known - 1 : module, &code)) {
		if (!amd_object_variable(code.object, code.size, name, &v))
			return false;
		*ret_addr = code.loaded + v.addr;
		*ret_size = v.size;
		return true;
	}
	if (!hip.hipModuleGetGlobal ||
		OWN(hip.hipModuleGetGlobal(&at, &size, (hipModule_t)(uintptr_t)module, name)))
		return false;
	*ret_addr = H(at);
	*ret_size = size;
	return true;
}

/* ---- hashes ---- */

/* The caller lends a hasher to one thread at a time. */
struct driver_hasher {
	uint8_t page[SBT_PAGE];
	_Atomic uint32_t used;
};
static struct driver_hasher hashers[DRIVER_HASHERS];

struct driver_hasher *hip_hash_open(uint64_t s)
{
	(void)s;
	for (unsigned i = 0; i < DRIVER_HASHERS; i++)
		if (!atomic_exchange(&hashers[i].used, 1))
			return &hashers[i];
	return NULL;
}

void hip_hash_close(struct driver_hasher *h)
{
	atomic_store(&h->used, 0);
}

struct driver_result hip_hash_begin(struct driver_hasher *h, const struct hash_kernel_range *r,
	uint32_t n, struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	(void)s;
	for (uint32_t i = 0; i < n; i++) {
		struct sbt_rows rows = sbt_rows_flat(r[i].addr, r[i].size);

		if (!extent_hash(&rows, h->page, &ret[i]))
			return hip_answer(DRIVER_NOT_VALID);
	}
	*b = (struct hash_kernel_begun){.out = ret, .n = n};
	return hip_answer(DRIVER_OK);
}

struct driver_result hip_hash_pages_begin(struct driver_hasher *h, struct hash_kernel_range r,
	struct sbt_hash *ret, uint64_t s, struct hash_kernel_begun *b)
{
	(void)s;
	for (uint64_t at = 0; at < r.size; at += SBT_PAGE) {
		const size_t n = r.size - at < SBT_PAGE ? r.size - at : SBT_PAGE;

		if (!host_read(r.addr + at, h->page, n))
			return hip_answer(DRIVER_NOT_VALID);
		ret[at / SBT_PAGE] = sbt_page_hash(h->page, n);
	}
	*b = (struct hash_kernel_begun){.out = ret};
	return hip_answer(DRIVER_OK);
}

void hip_hash_end(const struct hash_kernel_begun *b)
{
	(void)b; /* they were computed when they began */
}

struct driver_result hip_hash_wait(struct driver_hasher *h, uint64_t s)
{
	(void)h, (void)s;
	return hip_answer(DRIVER_OK);
}
