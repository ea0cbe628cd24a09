/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads facts about an ELF file on disk from its headers and sections. Any byte of such a file may
 * be wrong: libelf checks its structures, this file checks sizes within sections.
 */
#ifndef SYMBOLS_ELF_FACTS_H
#define SYMBOLS_ELF_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

/* The path that execvp() would find for name; the name itself when it has a slash. Without an
 * executable file, the first one of that name that is not executable. NULL: none. The caller frees
 * it. */
char *program_find(const char *name);

/* The GNU build id in hex, "" when there is none or the file cannot be read. The caller frees it.
 */
char *elf_build_id(const char *path);

#define ELF_LOADS_MAX 16u
struct elf_load {
	uint64_t offset, filesz, vaddr;
	bool exec;
};
struct elf_layout {
	unsigned nloads; /* 0: not an ELF file that we can read */
	struct elf_load loads[ELF_LOADS_MAX];
	bool has_symbols; /* .symtab, or debugging information elsewhere */
	bool has_lines;
};
void elf_layout_read(const char *path, struct elf_layout *ret);
/* The load bias of a mapping of the file that begins at address start with file offset offset.
 * False: no segment fits. */
bool elf_layout_bias(
	const struct elf_layout *l, uint64_t start, uint64_t offset, bool exec, uint64_t *ret);

/* What a program is, before it runs. */
struct program_facts {
	bool elf, elf64, x86_64, executable, script;
	bool needs_libcuda, needs_libcudart, needs_hip; /* DT_NEEDED */
	bool static_cudart;				/* a statically linked CUDA runtime */
	bool has_fatbin;				/* .nv_fatbin */
	bool fatbin_has_ptx;
};
/* Looks at path (searched in PATH when it has no slash). Fails only when it cannot be read. */
struct err *program_facts(const char *path, struct program_facts *ret) TS_CHECK;

/* Calls add for each AMD code object in the file (.hip_fatbin). */
void program_amd_objects(
	const char *path, void (*add)(void *arg, const void *object, size_t n), void *arg);
/* Calls add for each fat binary in the file. */
void program_fatbins(
	const char *path, void (*add)(void *arg, const void *fatbin, size_t n), void *arg);

#endif
