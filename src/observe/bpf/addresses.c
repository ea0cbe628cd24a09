/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds entry points in a driver's file, see addresses.h.
 */
#include "observe/bpf/addresses.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/child.h"
#include "observe/decode/observe-calls.h"

#define ANSWER_MS 20000u /* for the driver to answer */

/* --- exported --- */

struct elf_file {
	int fd;
	Elf *elf;
};

static bool elf_open(struct elf_file *f, const char *path)
{
	f->elf = NULL;
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	return f->elf != NULL;
}

static void elf_close(struct elf_file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* The file offset of a virtual address; 0: in no segment. */
static uint64_t file_offset(Elf *elf, uint64_t vaddr)
{
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
			vaddr - ph.p_vaddr < ph.p_filesz)
			return vaddr - ph.p_vaddr + ph.p_offset;
	}
	return 0;
}

static void take_symbols(Elf *elf, Elf_Scn *scn, bool runtime, uint64_t *offset)
{
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize)
		return;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data && i < (int)(sh.sh_size / sh.sh_entsize); i++) {
		const char *name;

		if (!gelf_getsym(data, i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
			!sym.st_shndx)
			continue;
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
		for (unsigned c = 0; name && c < obs_ncalls; c++) {
			if (!obs_calls[c].see == runtime && !strcmp(obs_calls[c].name, name))
				offset[c] = file_offset(elf, sym.st_value);
		}
	}
}

unsigned addresses_exported(const char *path, bool runtime, uint64_t *offset)
{
	struct elf_file f;
	Elf_Scn *scn = NULL;
	unsigned n = 0;

	if (elf_open(&f, path)) {
		while ((scn = elf_nextscn(f.elf, scn)))
			take_symbols(f.elf, scn, runtime, offset);
	}
	elf_close(&f);
	for (unsigned c = 0; c < obs_ncalls; c++)
		n += offset[c] != 0;
	return n;
}

/* --- given out by cuGetProcAddress --- */

struct answer {
	uint32_t call;
	uint64_t vaddr;
};

/* "cuMemAlloc" of "cuMemAlloc_v2", "cuLaunchKernel" of "cuLaunchKernel_ptsz". *ret_own: it is the
 * form for per-thread default streams. */
static void base_name(const char *name, char dst[64], bool *ret_own)
{
	size_t n = strlen(name);

	*ret_own = n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds"));
	if (*ret_own)
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v')
		n -= 3;
	n = n < 63 ? n : 63;
	memcpy(dst, name, n);
	dst[n] = 0;
}

/* Whether the name has several versions: which one cuGetProcAddress returns depends on the CUDA
 * version asked for. */
static bool has_versions(const char *base, bool own)
{
	unsigned n = 0;

	for (unsigned c = 0; c < obs_ncalls; c++) {
		char other[64];
		bool other_own;

		base_name(obs_calls[c].name, other, &other_own);
		n += other_own == own && !strcmp(other, base);
	}
	return n > 1;
}

/* In the child: cuGetProcAddress(symbol, &address, version, flags, &status) of CUDA 12; flags: 1
 * legacy, 2 per-thread default streams. */
static void ask(const char *path, int to)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*get)(const char *, void **, int, uint64_t, int *) = NULL;
	int (*version)(int *) = NULL, newest = 0, status;

	if (!lib)
		return;
	*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	*(void **)&version = dlsym(lib, "cuDriverGetVersion");
	if (!get || !version || version(&newest))
		return;
	for (uint32_t c = 0; c < obs_ncalls; c++) {
		void *exported = obs_calls[c].see ? dlsym(lib, obs_calls[c].name) : NULL,
		     *given = NULL;
		struct answer a = {.call = c};
		char base[64];
		Dl_info in, of;
		bool own;

		base_name(obs_calls[c].name, base, &own);
		if (!exported || has_versions(base, own) ||
			get(base, &given, newest, own ? 2 : 1, &status) || !given ||
			given == exported)
			continue;
		if (!dladdr(given, &in) || !dladdr(exported, &of) || in.dli_fbase != of.dli_fbase)
			continue;
		a.vaddr = (uint64_t)((const char *)given - (const char *)in.dli_fbase);
		if (write(to, &a, sizeof a) != sizeof a)
			return;
	}
}

static void take_answers(const char *path, int from, pid_t pid, uint64_t *offset)
{
	struct elf_file f;
	struct answer a;
	bool ok = elf_open(&f, path);

	while (child_readable(from, pid, ANSWER_MS) && read(from, &a, sizeof a) == sizeof a) {
		if (ok && a.call < obs_ncalls)
			offset[a.call] = file_offset(f.elf, a.vaddr);
	}
	elf_close(&f);
}

void addresses_given_out(const char *path, uint64_t *offset)
{
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		alarm(ANSWER_MS / 1000);
		ask(path, p[1]);
		_exit(0);
	}
	close(p[1]);
	if (pid > 0)
		take_answers(path, p[0], pid, offset);
	close(p[0]);
	if (pid > 0 && !child_wait(pid, ANSWER_MS, NULL))
		(void)child_kill(pid, NULL);
}

bool addresses_trusted(const char *path)
{
	char *real = realpath(path, NULL);
	bool ok = false;
	struct stat st;

	if (real && !stat(real, &st))
		ok = !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
		     (!strncmp(real, "/usr/", 5) || !strncmp(real, "/lib", 4));
	free(real);
	return ok;
}
