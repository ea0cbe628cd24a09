/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking for images; see images.h. Memory is read as extent.c reads it: other threads may unmap it
 * meanwhile. Lengths come from headers, and every header is checked: what is found may be what is
 * left of an image that was freed.
 */
#include "capture/cuda/images.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include "capture/core/agent.h"
#include "capture/late/late.h"
#include "capture/stacks/areas.h"
#include "capture/host/extent.h"
#include "gpucode/fatbin.h"

#define CHUNK (1u << 20)
#define OVERLAP 512u /* a header that begins in one chunk ends within this much of the next */
#define READ_MAX (8ull << 30)	/* of memory */
#define FILE_MAX (256ull << 20) /* a larger mapping of a file is a vendor's library */
/* a larger area is a reservation, such as a sanitizer's shadow, and is skipped */
#define AREA_MAX (256ull << 30)
#define IMAGE_MAX (256ull << 20)
#define CUDA_MACHINE 190 /* EM_CUDA (elf.h) */

struct looking {
	unsigned kinds;
	bool (*fn)(void *arg, const struct image *i);
	void *arg;
	struct images_sums *sums;
	uint8_t *chunk; /* CHUNK + OVERLAP */
	bool over;
};

/* --- sizes --- */

static bool grow(uint64_t *size, uint64_t offset, uint64_t n)
{
	if (offset > IMAGE_MAX || n > IMAGE_MAX - offset)
		return false;
	if (offset + n > *size)
		*size = offset + n;
	return true;
}

/* The size of a cubin at addr; 0: there is none. */
static uint64_t cubin_size(uint64_t addr)
{
	Elf64_Ehdr h;
	uint64_t size = sizeof(h);
	if (!host_read(addr, &h, sizeof(h)) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
		h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != CUDA_MACHINE ||
		h.e_shentsize != sizeof(Elf64_Shdr) || !h.e_shnum || h.e_shstrndx >= h.e_shnum)
		return 0;
	if (!grow(&size, h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr)) ||
		!grow(&size, h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr)))
		return 0;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr s;
		if (!host_read(addr + h.e_shoff + i * sizeof(s), &s, sizeof(s)) ||
			s.sh_link >= h.e_shnum ||
			(s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL &&
				!grow(&size, s.sh_offset, s.sh_size)))
			return 0;
		if (i == h.e_shstrndx && s.sh_type != SHT_STRTAB)
			return 0;
	}
	return size;
}

static uint64_t fatbin_size_at(uint64_t addr)
{
	unsigned char bytes[FATBIN_HEADER];
	struct fatbin_header h;
	if (!host_read(addr, bytes, sizeof(bytes)) || !fatbin_header(bytes, &h) || h.version != 1 ||
		h.size != FATBIN_HEADER || !h.body || h.body > IMAGE_MAX)
		return 0;
	return h.body + h.size;
}

/* After ".version " must come a number and white space. A backslash there is the source text of a
 * string, which an interpreter holds as well. */
static bool begins_as_ptx(const char *text, size_t n)
{
	const size_t digits = 9;
	size_t i = digits;
	while (i < n && ((text[i] >= '0' && text[i] <= '9') || text[i] == '.'))
		i++;
	return i >= n || (i > digits && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' ||
						text[i] == '\r'));
}

/* The size of PTX text at addr, up to its NUL; 0: it lacks the directives that begin every PTX
 * module (PTX ISA, "PTX Module Directives"). */
static uint64_t ptx_size(uint64_t addr)
{
	char text[4096];
	for (uint64_t at = 0; at < IMAGE_MAX;) {
		size_t n = sizeof(text) - ((addr + at) & (sizeof(text) - 1));
		if (!host_read(addr + at, text, n))
			return 0;
		if (!at && (!begins_as_ptx(text, n) ||
				   (!memmem(text, n < 256 ? n : 256, ".target", 7) && n >= 256)))
			return 0;
		const char *nul = memchr(text, '\0', n);
		if (nul)
			return at + (uint64_t)(nul - text);
		at += n;
	}
	return 0;
}

/* --- looking --- */

static void found(struct looking *l, enum image_kind kind, uint64_t addr, uint64_t size)
{
	uint8_t *copy = size ? agent_map(size + 1) : NULL;
	if (!copy)
		return;
	if (host_read(addr, copy, size))
		l->over = l->fn(l->arg, &(struct image){kind, copy, size});
	agent_unmap(copy, size + 1);
}

static void look_for(struct looking *l, enum image_kind kind, const char *magic, size_t magic_n,
	uint64_t addr, size_t n, uint64_t (*size_of)(uint64_t addr))
{
	const uint8_t *at = l->chunk, *const end = l->chunk + n;
	if (!(l->kinds & kind))
		return;
	while (!l->over && (at = memmem(at, (size_t)(end - at), magic, magic_n))) {
		const uint64_t here = addr + (uint64_t)(at - l->chunk);
		/* An image that begins in the overlap belongs to the next chunk. */
		if ((size_t)(at - l->chunk) < CHUNK)
			found(l, kind, here, size_of(here));
		at += magic_n;
	}
}

static void look_in(struct looking *l, uint64_t addr, size_t n)
{
	static const char fatbin[] = {0x50, (char)0xED, 0x55, (char)0xBA};
	look_for(l, IMAGE_CUBIN, "\177ELF\2\1", 6, addr, n, cubin_size);
	look_for(l, IMAGE_PTX, ".version ", 9, addr, n, ptx_size);
	look_for(l, IMAGE_FATBIN, fatbin, sizeof(fatbin), addr, n, fatbin_size_at);
}

/* Whether pages are there; does not touch those that never were. */
static bool is_there(uint64_t addr, size_t n)
{
	unsigned char pages[CHUNK / TSDB_PAGE + 1];
	const size_t count = (n + TSDB_PAGE - 1) / TSDB_PAGE;
	if (mincore((void *)(uintptr_t)addr, n, pages))
		return false;
	for (size_t i = 0; i < count; i++)
		if (pages[i] & 1)
			return true;
	return false;
}

static bool look_through(void *arg, const struct area *a, const char *file)
{
	struct looking *l = arg;
	const uint64_t own = (uint64_t)(uintptr_t)l->chunk;
	if ((file && a->end - a->start > FILE_MAX) || a->end - a->start > AREA_MAX ||
		l->sums->read > READ_MAX) {
		l->sums->skipped += file ? 0 : a->end - a->start;
		return false;
	}
	for (uint64_t at = a->start; at < a->end && !l->over && agent_wanted(); at += CHUNK) {
		const size_t n =
			a->end - at < CHUNK + OVERLAP ? (size_t)(a->end - at) : CHUNK + OVERLAP;
		if ((at < own + CHUNK + OVERLAP && own < at + n) ||
			(!file && !is_there(at, n < CHUNK ? n : CHUNK)) ||
			!host_read(at, l->chunk, n))
			continue;
		l->sums->read += n;
		late_step();
		look_in(l, at, n);
	}
	return l->over || !agent_wanted();
}

void images_each(unsigned kinds, bool (*fn)(void *arg, const struct image *i), void *arg,
	struct images_sums *ret)
{
	struct looking l = {.kinds = kinds,
		.fn = fn,
		.arg = arg,
		.sums = ret,
		.chunk = agent_map(CHUNK + OVERLAP)};
	*ret = (struct images_sums){0};
	if (!l.chunk)
		return;
	(void)areas_readable(look_through, &l);
	agent_unmap(l.chunk, CHUNK + OVERLAP);
}
