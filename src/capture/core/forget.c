/* SPDX-License-Identifier: Apache-2.0
 *
 * Resets the agent's variables, see forget.h. They are the writable part of the library's image
 * behind what the dynamic linker has made read-only again: initialised ones, which are copied when
 * the agent wakes up for the first time, and the zeroed rest. The section tsdb_kept is among them.
 */
#include "capture/core/forget.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include "capture/core/agent.h"

#define NOTES_FIRST 512u

/* Defined by the linker, for a section whose name is an identifier. */
extern char kept_start[] __asm__("__start_tsdb_kept") __attribute__((visibility("hidden")));
extern char kept_end[] __asm__("__stop_tsdb_kept") __attribute__((visibility("hidden")));

static AGENT_KEPT struct {
	char *start, *zero, *end; /* initialised up to zero */
	char *first;		  /* a copy of start to zero */
} image;

/* Blocks of memory; a free slot has p NULL. */
static AGENT_KEPT struct {
	struct spin lock;
	struct note {
		void *p;
		size_t bytes;
	} * note;
	size_t n, cap;
} notes;

/* --- memory --- */

static bool grow(void)
{
	const size_t cap = notes.cap ? notes.cap * 2 : NOTES_FIRST;
	struct note *more = agent_map_kept(cap * sizeof(*more));
	if (!more)
		return false;
	if (notes.note) {
		memcpy(more, notes.note, notes.n * sizeof(*more));
		agent_unmap_kept(notes.note, notes.cap * sizeof(*more));
	}
	notes.note = more;
	notes.cap = cap;
	return true;
}

bool forget_note(void *p, size_t bytes)
{
	spin_lock(&notes.lock);
	const bool good = notes.n < notes.cap || grow();
	if (good)
		notes.note[notes.n++] = (struct note){p, bytes};
	spin_unlock(&notes.lock);
	return good;
}

/* Looks at the newest first: short-lived memory is found at once. */
void forget_drop(void *p)
{
	spin_lock(&notes.lock);
	for (size_t i = notes.n; i-- > 0;)
		if (notes.note[i].p == p) {
			notes.note[i] = notes.note[--notes.n];
			break;
		}
	spin_unlock(&notes.lock);
}

static void give_all_back(void)
{
	for (size_t i = 0; i < notes.n; i++)
		munmap(notes.note[i].p, notes.note[i].bytes);
	notes.n = 0;
}

/* --- variables --- */

static int find_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *base = (char *)info->dlpi_addr, *relro = NULL; // NOLINT
	bool found = false;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		char *from = base + p->p_vaddr;
		if (p->p_type == PT_GNU_RELRO)
			relro = from + p->p_memsz;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || (char *)&agent < from ||
			(char *)&agent >= from + p->p_memsz)
			continue;
		found = true;
		image.start = from;
		image.zero = from + p->p_filesz;
		image.end = from + p->p_memsz;
	}
	if (!found)
		return 0;
	relro = (char *)(((uintptr_t)relro + TSDB_PAGE - 1) & ~(uintptr_t)(TSDB_PAGE - 1));
	if (relro > image.start && relro < image.end)
		image.start = relro;
	return 1;
}

void forget_prepare(void)
{
	if (image.first || !dl_iterate_phdr(find_image, NULL))
		return;
	const size_t n = (size_t)(image.zero - image.start);
	image.first = agent_map_kept(n + 1);
	if (image.first)
		memcpy(image.first, image.start, n);
}

/* Resets from..to, a range without kept variables. */
static void reset(char *from, char *to)
{
	char *middle = to < image.zero ? to : from > image.zero ? from : image.zero;
	if (middle > from)
		memcpy(from, image.first + (from - image.start), (size_t)(middle - from));
	if (to > middle)
		memset(middle, 0, (size_t)(to - middle));
}

void forget_all(void)
{
	if (!image.first)
		return;
	give_all_back();
	reset(image.start, kept_start);
	reset(kept_end, image.end);
}
