/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about ELF files by libelf, and the walk over a program's fatbins. The surprising thing: a
 * statically linked CUDA runtime leaves no trace in the dynamic section; its symbols give it away,
 * or a fatbin section in a program that imports no runtime function.
 */
#include "symbols/elf-facts.h"
#include "base/buf.h"
#include "base/checked.h"
#include "gpucode/amd-object.h"
#include "gpucode/fatbin.h"
#include "gpucode/gpu-files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

struct elf_file {
	int fd;
	Elf *elf;
};

static void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* False when path is not a readable regular file; f->elf is NULL when it is no ELF object. */
static bool elf_file_open(struct elf_file *f, const char *path)
{
	struct stat st;

	f->elf = NULL;
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */
	if (f->fd < 0)
		return false;
	if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		elf_file_close(f);
		return false;
	}
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (f->elf && elf_kind(f->elf) != ELF_K_ELF) {
		elf_end(f->elf);
		f->elf = NULL;
	}
	return true;
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return NULL;
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		const char *n;

		if (gelf_getshdr(s, ret) && (n = elf_strptr(elf, strings, ret->sh_name)) &&
			strcmp(n, name) == 0)
			return s;
	}
	return NULL;
}

/* ---- looking in PATH ---- */

char *program_find(const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;
	struct stat st;

	if (strchr(name, '/'))
		return xstrdup(name);
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (const char *p = path;; p++) {
		size_t n = strcspn(p, ":");
		char *try = n ? xasprintf("%.*s/%s", (int)n, p, name) : xasprintf("./%s", name);

		if (stat(try, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(try, X_OK) == 0) {
				free(found);
				return try;
			}
			if (!found) {
				found = try;
				try = NULL;
			}
		}
		free(try);
		p += n;
		if (!*p)
			return found;
	}
}

/* ---- build id and layout ---- */

char *elf_build_id(const char *path)
{
	struct elf_file f;
	struct buf hex = BUF_INIT;
	const void *id;
	ssize_t n;

	if (strchr(path, '/') && elf_file_open(&f, path)) {
		n = f.elf ? dwelf_elf_gnu_build_id(f.elf, &id) : 0;
		for (ssize_t i = 0; i < n && i < 64; i++)
			buf_printf(&hex, "%02x", ((const unsigned char *)id)[i]);
		elf_file_close(&f);
	}
	buf_str(&hex, "");
	(void)buf_cstr(&hex);
	return buf_steal(&hex);
}

static bool debug_file_exists(const char *path)
{
	char *id = elf_build_id(path), *file;
	bool found = false;

	if (strlen(id) > 2) {
		file = xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
		found = access(file, R_OK) == 0;
		free(file);
	}
	free(id);
	return found;
}

void elf_layout_read(const char *path, struct elf_layout *ret)
{
	struct elf_file f;
	GElf_Shdr sh;
	size_t n = 0;

	*ret = (struct elf_layout){0};
	if (!elf_file_open(&f, path))
		return;
	if (f.elf && elf_getphdrnum(f.elf, &n) == 0) {
		for (size_t i = 0; i < n && ret->nloads < ELF_LOADS_MAX; i++) {
			GElf_Phdr ph;

			if (!gelf_getphdr(f.elf, (int)i, &ph) || ph.p_type != PT_LOAD)
				continue;
			ret->loads[ret->nloads++] = (struct elf_load){
				ph.p_offset, ph.p_filesz, ph.p_vaddr, (ph.p_flags & PF_X) != 0};
		}
		ret->has_symbols = find_section(f.elf, ".symtab", &sh) != NULL;
		ret->has_lines = find_section(f.elf, ".debug_line", &sh) != NULL;
	}
	elf_file_close(&f);
	if (ret->nloads && !ret->has_lines && debug_file_exists(path))
		ret->has_lines = ret->has_symbols = true;
}

bool elf_layout_bias(
	const struct elf_layout *l, uint64_t start, uint64_t offset, bool exec, uint64_t *ret)
{
	const uint64_t page = 4096;

	for (unsigned i = 0; i < l->nloads; i++) {
		const struct elf_load *p = &l->loads[i];

		const uint64_t first = p->offset & ~(page - 1);

		if (p->exec == exec &&
			range_within(offset, 1, first, sat_add(p->offset - first, p->filesz))) {
			*ret = start - (p->vaddr - p->offset + offset);
			return true;
		}
	}
	return false;
}

/* ---- CUDA in a program ---- */

static bool fatbins_have_ptx(const unsigned char *p, size_t n)
{
	struct fatbin_entry found = {0};
	struct fatbin_walk w;

	while (n >= FATBIN_HEADER && !found.at) {
		size_t size = 8; /* of the padding between fat binaries */

		if (fatbin_is(p)) {
			if (!fatbin_begin(&w, fatbin_memory, (uintptr_t)p, n))
				return false;
			fatbin_best(&w, 0, &found);
			size = fatbin_size(p);
		}
		p += size;
		n -= size;
	}
	return found.at != 0;
}

/* Device code that was linked has its PTX in the other section, as it was before. */
static void fatbin_facts(Elf *elf, struct program_facts *ret)
{
	static const char *const sections[] = {".nv_fatbin", "__nv_relfatbin"};

	for (unsigned i = 0; i < sizeof sections / sizeof *sections; i++) {
		GElf_Shdr sh;
		Elf_Scn *s = find_section(elf, sections[i], &sh);
		Elf_Data *d = s && sh.sh_type != SHT_NOBITS ? elf_rawdata(s, NULL) : NULL;

		if (!s || sh.sh_type == SHT_NOBITS)
			continue;
		ret->has_fatbin = true;
		if (d && d->d_buf)
			ret->fatbin_has_ptx |= fatbins_have_ptx(d->d_buf, d->d_size);
	}
}

static void each_fatbin(Elf *elf, const char *section,
	void (*add)(void *arg, const void *fatbin, size_t n), void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *s = find_section(elf, section, &sh);
	Elf_Data *d = s && sh.sh_type != SHT_NOBITS ? elf_rawdata(s, NULL) : NULL;
	const unsigned char *p = d ? d->d_buf : NULL;
	size_t left = p ? d->d_size : 0;

	while (left >= FATBIN_HEADER) {
		size_t n = 8; /* of the padding between fat binaries */

		if (fatbin_is(p)) {
			n = fatbin_size(p);
			if (!n || n > left)
				return;
			add(arg, p, n);
		}
		p += n;
		left -= n;
	}
}

void program_fatbins(
	const char *path, void (*add)(void *arg, const void *fatbin, size_t n), void *arg)
{
	struct elf_file f;

	if (!elf_file_open(&f, path))
		return;
	if (f.elf) {
		each_fatbin(f.elf, ".nv_fatbin", add, arg);
		each_fatbin(f.elf, "__nv_relfatbin", add, arg);
	}
	elf_file_close(&f);
}

void program_amd_objects(
	const char *path, void (*add)(void *arg, const void *object, size_t n), void *arg)
{
	struct elf_file f;
	GElf_Shdr sh;

	if (!elf_file_open(&f, path))
		return;
	Elf_Scn *s = f.elf ? find_section(f.elf, ".hip_fatbin", &sh) : NULL;
	Elf_Data *d = s && sh.sh_type != SHT_NOBITS ? elf_rawdata(s, NULL) : NULL;

	if (d && d->d_buf)
		amd_bundle_objects(d->d_buf, d->d_size, add, arg);
	elf_file_close(&f);
}

static void needed_facts(Elf *elf, struct program_facts *ret)
{
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr sh;
		GElf_Dyn dyn;
		Elf_Data *d;
		const char *name;

		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_DYNAMIC ||
			!(d = elf_getdata(s, NULL)))
			continue;
		for (int i = 0; gelf_getdyn(d, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
			if (dyn.d_tag != DT_NEEDED ||
				!(name = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val)))
				continue;
			ret->needs_libcuda |= gpu_library_is(name, GPU_DRIVER);
			ret->needs_libcudart |= gpu_library_is(name, GPU_RUNTIME);
			ret->needs_hip |= gpu_library_is(name, GPU_HIP);
		}
	}
}

struct runtime_symbols {
	bool defined, imported; /* functions of the CUDA runtime */
};

static void runtime_symbols(Elf *elf, struct runtime_symbols *ret)
{
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr sh;
		GElf_Sym sym;
		Elf_Data *d;

		if (!gelf_getshdr(s, &sh) ||
			(sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) ||
			!(d = elf_getdata(s, NULL)))
			continue;
		for (int i = 0; gelf_getsym(d, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (name && gpu_runtime_function(name))
				*(sym.st_shndx == SHN_UNDEF ? &ret->imported : &ret->defined) =
					true;
		}
	}
}

static void cuda_facts(Elf *elf, struct program_facts *ret)
{
	struct runtime_symbols rt = {0};
	GElf_Shdr sh;

	needed_facts(elf, ret);
	fatbin_facts(elf, ret);
	runtime_symbols(elf, &rt);
	ret->static_cudart =
		!ret->needs_libcudart &&
		(rt.defined || (find_section(elf, ".nvFatBinSegment", &sh) && !rt.imported));
}

static bool is_program(Elf *elf, const GElf_Ehdr *eh)
{
	size_t n;

	if (eh->e_type == ET_EXEC)
		return true;
	if (eh->e_type != ET_DYN || elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP)
			return true;
	}
	return eh->e_entry != 0; /* a static position-independent program */
}

/* What the first bytes say, for files that libelf does not take. */
static void head_facts(int fd, struct program_facts *ret)
{
	unsigned char h[20] = {0};
	ssize_t n = pread(fd, h, sizeof(h), 0);

	ret->script = n >= 2 && h[0] == '#' && h[1] == '!';
	ret->elf = n >= 6 && memcmp(h, ELFMAG, SELFMAG) == 0;
	if (!ret->elf)
		return;
	ret->elf64 = h[EI_CLASS] == ELFCLASS64;
	ret->x86_64 =
		n == sizeof(h) && h[EI_DATA] == ELFDATA2LSB && (h[18] | h[19] << 8) == EM_X86_64;
}

struct err *program_facts(const char *path, struct program_facts *ret)
{
	char *found = program_find(path);
	struct elf_file f;
	GElf_Ehdr eh;

	memset(ret, 0, sizeof(*ret));
	if (!found)
		return err_cure(err_new(ERR_NOT_FOUND, "%s: no such program in PATH", path),
			"give its path, for example `./%s`", path);
	errno = 0;
	if (!elf_file_open(&f, found)) {
		struct err *e = errno ? err_cure(err_sys(errno, "cannot read %s", found),
						"Check the program's name")
				      : err_new(ERR_USAGE,
						"cannot read %s: it is not a regular file", found);

		free(found);
		return e;
	}
	free(found);
	head_facts(f.fd, ret);
	if (f.elf && gelf_getehdr(f.elf, &eh)) {
		ret->executable = is_program(f.elf, &eh);
		if (ret->elf64 && ret->x86_64)
			cuda_facts(f.elf, ret);
	}
	elf_file_close(&f);
	return NULL;
}
