/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of executable mappings; see mapping.h. Readers take no lock: a table is replaced whole,
 * and old ones are kept (a reader may be in one). The load bias comes from the ELF header in
 * memory, at the mapping of the file's offset 0.
 */
#include "capture/stacks/mapping.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "capture/core/agent.h"
#include "capture/core/source.h"
#include "capture/host/extent.h"
#include "capture/objects/ids.h"
#include "capture/core/thread.h"
#include "base/maps-at.h"
#include "base/maps-line.h"

#define TEXT_BYTES (128u << 10)
#define TABLE_MAX 16384u
/* after this many unknown addresses only every 64th makes it read the table again */
#define NO_MISS_RELOADS 64

struct table {
	uint32_t n;
	struct mapping m[];
};

static _Atomic(struct table *) current;
static struct spin loading;
static uint32_t next_number;
static _Atomic uint32_t misses;

/* Where virtual address 0 of an ELF file is mapped; its first page is readable at base. */
static uint64_t bias_at(uint64_t base, uint64_t size)
{
	_Alignas(16) uint8_t page[TSDB_PAGE];
	const Elf64_Ehdr *eh = (const void *)page;
	size = size < sizeof(page) ? size : sizeof(page);
	if (size < sizeof(*eh) || !host_read(base, page, size) ||
		memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_ident[EI_CLASS] != ELFCLASS64)
		return base;
	if (eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phoff > size || eh->e_phoff % 8 ||
		eh->e_phnum * sizeof(Elf64_Phdr) > size - eh->e_phoff)
		return base;
	const Elf64_Phdr *ph = (const void *)(page + eh->e_phoff);
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			return base -
			       ((ph[i].p_vaddr - ph[i].p_offset) & ~(uint64_t)(TSDB_PAGE - 1));
	return base;
}

static bool is_hidden(const struct maps_line *l)
{
	const char *name = strrchr(l->path, '/');
	name = name ? name + 1 : l->path;
	return !strncmp(name, "libtsdb-agent", 13) || source_names(SOURCE_HIDDEN, name);
}

static const struct mapping *same_in(const struct table *old, const struct maps_line *l)
{
	for (uint32_t i = 0; old && i < old->n; i++)
		if (old->m[i].start == l->start && old->m[i].end == l->end &&
			!strcmp(old->m[i].path, l->path))
			return &old->m[i];
	return NULL;
}

static void add(struct table *t, const struct table *old, const struct maps_line *l, uint64_t bias)
{
	const struct mapping *known = same_in(old, l);
	struct mapping *m = &t->m[t->n];
	if (known) {
		*m = *known;
		t->n++;
		return;
	}
	const char *path = l->path[0] == '[' ? l->path : l->path[0] == '/' ? l->path : "";
	const size_t n = strlen(path);
	char *copy = ids_keep(n + 1);
	if (!copy)
		return;
	memcpy(copy, path, n + 1);
	*m = (struct mapping){.start = l->start,
		.end = l->end,
		.bias = bias,
		.path = copy,
		.path_len = (uint32_t)n,
		.number = next_number++,
		.hidden = is_hidden(l)};
	t->n++;
}

/* State of a pass over the lines. */
struct scan {
	struct table *to;
	const struct table *old;
	char file[1024]; /* the file whose offset 0 was mapped last */
	uint64_t bias;
};

static void take_line(struct scan *s, char *text)
{
	struct maps_line l;
	if (!maps_line_parse(&l, text))
		return;
	if (!l.offset && l.path[0] == '/') {
		strncpy(s->file, l.path, sizeof(s->file) - 1);
		s->bias = l.r ? bias_at(l.start, l.end - l.start) : l.start;
	}
	if (!l.x || s->to->n == TABLE_MAX)
		return;
	if (l.path[0] == '[' && l.r)
		add(s->to, s->old, &l, bias_at(l.start, l.end - l.start)); /* [vdso] */
	else
		add(s->to, s->old, &l, !strcmp(s->file, l.path) ? s->bias : l.start - l.offset);
}

static void scan_text(struct scan *s, int fd, char *text)
{
	size_t have = 0;
	for (;;) {
		ssize_t n = read(fd, text + have, TEXT_BYTES - 1 - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		char *at = text, *nl;
		while ((nl = memchr(at, '\n', have - (size_t)(at - text)))) {
			*nl = '\0';
			take_line(s, at);
			at = nl + 1;
		}
		have -= (size_t)(at - text);
		memmove(text, at, have);
		if (have == TEXT_BYTES - 1)
			return; /* a line that long does not exist */
	}
}

void mapping_reload(void)
{
	static struct scan s;
	spin_lock(&loading);
	char *text = agent_map(TEXT_BYTES);
	struct table *t = agent_map(
		sizeof(*t) + TABLE_MAX * sizeof(struct mapping)); /* touched as far as used */
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (text && t && fd >= 0) {
		s = (struct scan){.to = t, .old = atomic_load(&current)};
		scan_text(&s, fd, text);
		atomic_store_explicit(&current, t, memory_order_release);
		t = NULL;
	}
	if (t)
		agent_unmap(t, sizeof(*t) + TABLE_MAX * sizeof(struct mapping));
	if (fd >= 0)
		close(fd);
	if (text)
		agent_unmap(text, TEXT_BYTES);
	spin_unlock(&loading);
}

static const struct mapping *look(uint64_t pc)
{
	const struct table *t = atomic_load_explicit(&current, memory_order_acquire);
	return t ? MAPS_AT(t->m, t->n, pc) : NULL;
}

const struct mapping *mapping_find(uint64_t pc)
{
	const struct mapping *m = look(pc);
	if (m || pc < TSDB_PAGE)
		return m;
	uint32_t n = atomic_fetch_add(&misses, 1);
	if (n > NO_MISS_RELOADS && n % NO_MISS_RELOADS)
		return NULL;
	mapping_reload();
	return look(pc);
}

void mapping_send(struct thread *t, const struct mapping *m)
{
	if (m->number < MAPPING_SENT_MAX) {
		uint64_t *word = &t->mappings_sent[m->number / 64];
		const uint64_t bit = 1ull << m->number % 64;
		if (*word & bit)
			return;
		*word |= bit;
	}
	const uint32_t size =
		(uint32_t)((sizeof(struct tsdb_msg_mapping) + m->path_len + 7) & ~7ul);
	struct tsdb_msg_mapping *msg = ring_reserve(&t->ring, size, true);
	if (!msg)
		return;
	*msg = (struct tsdb_msg_mapping){.head = {.size = size, .type = TSDB_MSG_MAPPING},
		.start = m->start,
		.end = m->end,
		.bias = m->bias,
		.n = m->path_len};
	memcpy(msg->path, m->path, m->path_len);
	ring_commit(&t->ring, size);
}

static const char *path_of(const char *prefix)
{
	const struct table *t = atomic_load(&current);
	for (uint32_t i = 0; t && i < t->n; i++) {
		const char *name = strrchr(t->m[i].path, '/');
		if (name && !strncmp(name + 1, prefix, strlen(prefix)))
			return t->m[i].path;
	}
	return NULL;
}

const char *mapping_path_of(const char *prefix)
{
	const char *path = path_of(prefix);
	if (path)
		return path;
	mapping_reload(); /* what was mapped since: the agent may be older than the library */
	return path_of(prefix);
}

void mapping_init(void)
{
	mapping_reload();
}
