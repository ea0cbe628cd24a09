// SPDX-License-Identifier: Apache-2.0
//
// Code objects on the devices, of which HIP tells nothing. The HSA runtime below it keeps a list of
// them for debuggers, _amdgpu_r_debug, in the dynamic linker's form (struct r_debug of link.h):
// each with the place of its ELF file, "memory://PID#offset=ADDRESS&size=N" or
// "file://PATH#offset=N&size=N" (LLVM, "User Guide for AMDGPU Backend", Loaded Code Object Path
// URI). It is the same at launch and when tsdb attaches later.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "capture/core/agent.h"
#include "capture/hip/hip-api.h"
#include "capture/objects/map.h"
#include "gpucode/amd-object.h"

static const struct r_debug *list(void)
{
	static const struct r_debug *found;

	if (!found) {
		void *lib = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);

		if (lib)
			found = dlsym(lib, "_amdgpu_r_debug");
		if (lib)
			dlclose(lib);
	}
	return found;
}

/* Maps the file, once for each code object: it stays mapped. */
static const void *map_file(const char *uri, uint64_t offset, uint64_t size)
{
	const char *path = uri + strlen("file://"), *end = strchrnul(path, '#');
	char name[1024];
	struct stat st;
	void *p = MAP_FAILED;
	int fd;

	if ((size_t)(end - path) >= sizeof(name))
		return NULL;
	memcpy(name, path, (size_t)(end - path));
	name[end - path] = '\0';
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 &&
		range_within(offset, size, 0, (uint64_t)st.st_size))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : (const char *)p + offset;
}

static bool look_at(const struct link_map *l, struct hip_code *ret)
{
	static struct map files; /* the list's element -> the mapped file */
	const char *uri = l->l_name;
	uint64_t offset = 0, size = 0;

	if (!uri || !amd_object_uri(uri, &offset, &size))
		return false;
	*ret = (struct hip_code){NULL, (size_t)size, l->l_addr};
	if (!strncmp(uri, "memory://", 9)) {
		ret->object = (const void *)(uintptr_t)offset;
	} else if (!strncmp(uri, "file://", 7)) {
		ret->object = (const void *)(uintptr_t)map_get(&files, H(l));
		if (!ret->object && (ret->object = map_file(uri, offset, size)))
			(void)map_put(&files, H(l), H(ret->object));
	}
	return ret->object != NULL;
}

static bool same(const struct hip_code *a, const struct hip_code *b)
{
	return a->size == b->size &&
	       (a->object == b->object || !memcmp(a->object, b->object, a->size));
}

bool hip_code_of(const char *kernel, struct hip_code *ret)
{
	const struct r_debug *d = list();
	struct hip_code code;
	struct amd_kernel k;
	bool found = false;
	int most = 4096; /* another thread may be changing the list */

	for (const struct link_map *l = d ? d->r_map : NULL; l && most--; l = l->l_next) {
		if (!look_at(l, &code) ||
			!amd_object_kernel(code.object, code.size, kernel, &k, NULL, 0))
			continue;
		if (found && !same(&code, ret))
			return false;
		if (!found)
			*ret = code;
		found = true;
	}
	return found;
}

static bool is_at(const struct hip_code *code, uint64_t addr, bool around)
{
	return around ? addr - code->loaded < amd_object_span(code->object, code->size)
		      : addr == code->loaded;
}

static bool find(uint64_t addr, bool around, struct hip_code *ret)
{
	const struct r_debug *d = list();
	int most = 4096;

	for (const struct link_map *l = d ? d->r_map : NULL; l && most--; l = l->l_next)
		if (look_at(l, ret) && is_at(ret, addr, around))
			return true;
	return false;
}

bool hip_code_at(uint64_t loaded, struct hip_code *ret)
{
	return find(loaded, false, ret);
}

bool hip_code_around(uint64_t addr, struct hip_code *ret)
{
	return find(addr, true, ret);
}
