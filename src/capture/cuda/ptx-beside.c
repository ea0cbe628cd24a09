/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX in fat binaries; see ptx-beside.h. Their bytes are read by host_read(), so that a wrong
 * address is no crash. libzstd and liblz4 are looked for in the process's library path: PTX that
 * needs a missing one is left out, and the trace says so.
 */
#include "capture/cuda/ptx-beside.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture/core/agent.h"
#include "capture/core/calls.h"
#include "capture/objects/code.h"
#include "capture/core/driver.h"
#include "capture/host/extent.h"
#include "gpucode/fatbin.h"

#define PTX_MAX (256u << 20)
#define FATBIN_MAX (1ull << 40)

/* The PTX for the newest architecture in a fat binary that begins at `at`. */
static struct fatbin_entry find(uint64_t at)
{
	struct fatbin_entry best = {.at = 0};
	struct fatbin_walk w;
	if (fatbin_begin(&w, host_read, at, FATBIN_MAX))
		fatbin_best(&w, UINT_MAX, &best);
	return best;
}

#define DEVICES_MAX 64

/* Whether a device here runs machine code for this architecture ("Binary Compatibility" in the CUDA
 * programming guide): the same major number, and no higher minor one. */
static bool runs_here(unsigned arch)
{
	struct driver_device d;
	int n = 0;

	if (!driver_good(driver->device_count(&n)))
		return true;
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		driver->device_facts(i, &d);
		if (d.major == arch / 10 && d.minor >= arch % 10)
			return true;
	}
	return false;
}

static unsigned find_machine_code(uint64_t at)
{
	struct fatbin_entry e;
	struct fatbin_walk w;
	unsigned best = 0;

	if (fatbin_begin(&w, host_read, at, FATBIN_MAX))
		while (fatbin_next(&w, &e))
			if (e.kind == FATBIN_ELF && e.arch > best && runs_here(e.arch))
				best = e.arch;
	return best;
}

/* Sends text without the zeros behind it. */
static uint64_t send_text(struct thread *t, const uint8_t *text, size_t n)
{
	return code_send(t, text, strnlen((const char *)text, n), CODE_PTX);
}

/* Decompresses; returns the number of bytes, 0 on failure. */
typedef size_t unpack_fn(uint8_t *to, size_t size, const uint8_t *from, size_t n);

static void *function_of(const char *lib, const char *name)
{
	void *handle = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
	return handle ? dlsym(handle, name) : NULL;
}

static size_t (*zstd_decompress)(void *, size_t, const void *, size_t);
static unsigned (*zstd_is_error)(size_t);
static int (*lz4_decompress)(const char *, char *, int, int);

static bool have_zstd(void)
{
	if (!zstd_is_error)
		zstd_is_error = (unsigned (*)(size_t))(uintptr_t)function_of(
			"libzstd.so.1", "ZSTD_isError");
	if (!zstd_decompress)
		zstd_decompress = (size_t(*)(void *, size_t, const void *, size_t))(
			uintptr_t)function_of("libzstd.so.1", "ZSTD_decompress");
	return zstd_is_error && zstd_decompress;
}

static size_t unpack_zstd(uint8_t *to, size_t size, const uint8_t *from, size_t n)
{
	const size_t got = zstd_decompress(to, size, from, n);
	return zstd_is_error(got) || got > size ? 0 : got;
}

static bool have_lz4(void)
{
	if (!lz4_decompress)
		lz4_decompress = (int (*)(const char *, char *, int, int))(uintptr_t)function_of(
			"liblz4.so.1", "LZ4_decompress_safe");
	return lz4_decompress;
}

static size_t unpack_lz4(uint8_t *to, size_t size, const uint8_t *from, size_t n)
{
	const int got = lz4_decompress((const char *)from, (char *)to, (int)n, (int)size);
	return got < 0 ? 0 : (size_t)got;
}

static uint64_t send_unpacked(
	struct thread *t, const struct fatbin_entry *f, const uint8_t *from, unpack_fn *unpack)
{
	const size_t size = f->decompressed;
	uint8_t *text = size && size <= PTX_MAX ? agent_map(size) : NULL;
	if (!text)
		return 0;
	const size_t n = unpack(text, size, from, f->stored);
	const uint64_t hash = n ? send_text(t, text, n) : 0;
	agent_unmap(text, size);
	return hash;
}

/* PTX that is left out is named in the trace. */
static uint64_t send_compressed(struct thread *t, const struct fatbin_entry *f, const uint8_t *from)
{
	const bool lz4 = f->flags & FATBIN_LZ4;
	uint64_t hash = 0;
	if (lz4 ? !have_lz4() : !have_zstd()) {
		record_unreplayable(t,
			lz4 ? "a module's PTX, which LZ4 has compressed (liblz4.so.1 is not there)"
			    : "a module's PTX, which zstd has compressed (libzstd.so.1 is not there)");
		return 0;
	}
	hash = send_unpacked(t, f, from, lz4 ? unpack_lz4 : unpack_zstd);
	if (!hash)
		record_unreplayable(t,
			lz4 ? "a module's PTX, which LZ4 has compressed and which cannot be decompressed"
			    : "a module's PTX, which zstd has compressed and which cannot be decompressed");
	return hash;
}

static uint64_t send_found(struct thread *t, const struct fatbin_entry *f)
{
	uint64_t hash = 0;
	const size_t n = f->padded;
	uint8_t *payload = n && n <= PTX_MAX ? agent_map(n) : NULL;
	if (!payload)
		return 0;
	if (host_read(f->at, payload, n)) {
		if (f->flags & (FATBIN_LZ4 | FATBIN_ZSTD))
			hash = send_compressed(t, f, payload);
		else
			hash = send_text(t, payload, n);
	}
	agent_unmap(payload, n);
	return hash;
}

/* Whether text is PTX: a .version directive comes first, behind comments (PTX ISA, "PTX Module
 * Directives"). */
static bool is_text(const char *head, size_t n)
{
	return memmem(head, n, ".version", 8) && !memchr(head, '\177', n);
}

uint64_t ptx_of_image(struct thread *t, const void *image, uint64_t *ret_arch)
{
	char head[512];
	uint32_t magic;
	uint64_t at = (uint64_t)(uintptr_t)image;
	struct fatbin_entry f;
	*ret_arch = 0;
	if (driver->is_soft() || !image || !code_wanted() || !host_read(at, &magic, sizeof(magic)))
		return 0;
	if (magic == FATBIN_WRAPPER_MAGIC && !host_read(at + 8, &at, sizeof(at)))
		return 0;
	f = find(at);
	if (f.at) {
		*ret_arch = find_machine_code(at);
		return send_found(t, &f);
	}
	/* Text near the end of its mapping: reads as much as possible. */
	size_t n = sizeof(head);
	while (n > 16 && !host_read(at, head, n))
		n /= 2;
	n = strnlen(head, n);
	return magic != FATBIN_WRAPPER_MAGIC && magic != FATBIN_MAGIC && is_text(head, n)
		       ? send_text(t, image, PTX_MAX)
		       : 0;
}

uint64_t ptx_of_file(struct thread *t, const char *path, uint64_t *ret_arch)
{
	struct stat st;
	uint64_t hash = 0;
	*ret_arch = 0;
	if (driver->is_soft() || !path || !code_wanted())
		return 0;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && st.st_size > 64) {
		/* One page more, so that the text ends with a zero. */
		const size_t n = (size_t)st.st_size;
		uint8_t *all = agent_map(n + TSDB_PAGE);
		if (all && mmap(all, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
				   MAP_FAILED)
			hash = ptx_of_image(t, all, ret_arch);
		if (all)
			agent_unmap(all, n + TSDB_PAGE);
	}
	close(fd);
	return hash;
}
