/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the doors of tracesmith/mark.h: a note in each module that includes it says how far from
 * the note its door is. The surprise: what a note says is checked, since anybody can write one.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <tracesmith/mark.h>
#include "base/checked.h"
#include "capture/core/mark.h"

tracesmith_hook tsdb_agent_mark;

enum { NAME_SIZE = 11, NOTE_TYPE = 1 };

/* Whether n bytes are in memory of the module, loaded with these permissions. */
static bool is_loaded(
	const struct dl_phdr_info *module, uintptr_t at, uint64_t n, ElfW(Word) permissions)
{
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &module->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & permissions) == permissions &&
			range_within(at, n, module->dlpi_addr + p->p_vaddr, p->p_memsz))
			return true;
	}
	return false;
}

/* A note's name and what it describes have the lengths that it says. */
static void take_note(const struct dl_phdr_info *module, const ElfW(Nhdr) * n, const char *name,
	const char *value)
{
	int64_t far;
	if (n->n_namesz != NAME_SIZE || memcmp(name, "TraceSmith", NAME_SIZE) != 0 ||
		n->n_type != NOTE_TYPE || n->n_descsz != sizeof(far))
		return;
	memcpy(&far, value, sizeof(far));
	const uintptr_t at = (uintptr_t)value + (uintptr_t)far;
	if (at % sizeof(void *) == 0 && is_loaded(module, at, sizeof(void *), PF_R | PF_W))
		__atomic_store_n((tracesmith_hook **)at, tsdb_agent_mark, __ATOMIC_RELEASE);
}

static uint64_t rounded(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3); /* of 32 bits: cannot overflow */
}

static void read_notes(const struct dl_phdr_info *module, const char *p, uint64_t left)
{
	ElfW(Nhdr) n;
	while (left >= sizeof(n)) {
		memcpy(&n, p, sizeof(n));
		const uint64_t value = sizeof(n) + rounded(n.n_namesz),
			       size = value + rounded(n.n_descsz);
		if (size > left)
			return;
		take_note(module, &n, p + sizeof(n), p + value);
		p += size;
		left -= size;
	}
}

static int take_module(struct dl_phdr_info *module, size_t size, void *arg)
{
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &module->dlpi_phdr[i];
		const uintptr_t at = module->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_NOTE && p->p_align <= 4 &&
			is_loaded(module, at, p->p_memsz, PF_R))
			read_notes(module, (const char *)at, p->p_memsz);
	}
	return 0;
}

void mark_doors(void)
{
	dl_iterate_phdr(take_module, NULL);
}
