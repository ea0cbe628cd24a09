/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up exported symbols of the ELF files loaded in this process. dlsym() is not used: it takes
 * the dynamic linker's lock, which a thread that runs a constructor holds, and it sees libraries
 * opened with RTLD_LOCAL only through a handle.
 */
#ifndef CAPTURE_ELF_LOOK_H
#define CAPTURE_ELF_LOOK_H

#include <stdint.h>

struct elf_look {
	const char *name;
	uint64_t address; /* 0: not found */
};

/* Finds the first file that exports look[0], and fills in the addresses of all n symbols in it.
 * Returns how many were found. *ret_file: its name, valid as long as it is loaded; "" for the
 * program. */
unsigned elf_look(struct elf_look *look, unsigned n, const char **ret_file);

#endif
