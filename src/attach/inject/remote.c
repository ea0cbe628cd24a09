/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads another process's memory and symbols, see remote.h. The dynamic section's addresses are as
 * the dynamic linker left them: glibc has added the load address to those of libraries (but not in
 * the vdso), so both readings are tried.
 */
#include "attach/remote.h"
#include "base/first-where.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/maps-at.h"
#include "base/maps-line.h"
#include "base/proc-read.h"

#define MAPS_MAX 65536u
#define PHDRS_MAX 64u
#define DYNS_MAX 256u
#define SYMS_MAX 65536u
#define STRINGS_MAX (4u << 20)

/* ---- memory ---- */

bool remote_read(pid_t pid, uint64_t addr, void *dst, size_t n)
{
	struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

bool remote_write(pid_t pid, uint64_t addr, const void *src, size_t n)
{
	struct iovec from = {(void *)(uintptr_t)src, n}, to = {(void *)(uintptr_t)addr, n};

	return process_vm_writev(pid, &from, 1, &to, 1, 0) == (ssize_t)n;
}

/* ---- mappings ---- */

static void take_line(struct remote_space *s, char *line)
{
	struct maps_line l;

	if (s->n >= MAPS_MAX || !maps_line_parse(&l, line))
		return;
	/* a library that was replaced on disk is still the same one in the process */
	maps_line_undelete(&l);
	MAKE_ROOM(s->maps, s->n, s->cap);
	s->maps[s->n++] = (struct remote_map){
		l.start, l.end, l.offset, l.inode, l.r, l.w, l.x, xstrdup(l.path)};
}

static struct err *not_read(pid_t pid)
{
	if (errno != ETIMEDOUT)
		return err_sys(errno, "cannot read the mappings of process %d", pid);
	return err_cure(
		err_new(ERR_STATE,
			"cannot read the mappings of process %d: it hangs inside the kernel, which keeps them locked",
			pid),
		"`sudo cat /proc/%d/task/*/stack` shows where; tsdb can attach when that is over",
		pid);
}

struct err *remote_space_read(struct remote_space *s, pid_t pid)
{
	struct buf text = BUF_INIT;
	char *all, *rest, *line;

	*s = (struct remote_space){.pid = pid};
	if (!proc_read(pid, "maps", MAPS_MOST, &text))
		return not_read(pid);
	all = rest = buf_steal(&text);
	while ((line = proc_next_line(&rest)))
		take_line(s, line);
	free(all);
	return NULL;
}

void remote_space_free(struct remote_space *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->maps[i].path);
	free(s->maps);
	*s = (struct remote_space){0};
}

const struct remote_map *remote_map_at(const struct remote_space *s, uint64_t addr)
{
	return MAPS_AT(s->maps, s->n, addr);
}

const char *remote_name(const struct remote_map *m)
{
	return file_name_of(m->path);
}

const struct remote_map *remote_find(const struct remote_space *s, bool (*match)(const char *name))
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->maps[i].path[0] == '/' && match(remote_name(&s->maps[i])))
			return &s->maps[i];
	return NULL;
}

const struct remote_map *remote_base(const struct remote_space *s, const struct remote_map *m)
{
	while (m > s->maps && m->offset && m[-1].inode == m->inode &&
		!strcmp(m[-1].path, m->path) && m[-1].offset <= m->offset)
		m--;
	return m;
}

/* ---- symbols ---- */

struct dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash, hash;
};

bool remote_segment(pid_t pid, uint64_t base, uint32_t type, uint64_t *ret_bias, uint64_t *ret_addr,
	uint64_t *ret_size)
{
	Elf64_Ehdr h;
	Elf64_Phdr p[PHDRS_MAX];
	bool biased = false;

	if (!remote_read(pid, base, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
		h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(*p) || !h.e_phnum ||
		h.e_phnum > PHDRS_MAX ||
		!remote_read(pid, base + h.e_phoff, p, h.e_phnum * sizeof(*p)))
		return false;
	*ret_addr = *ret_size = 0;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && !biased) { /* the first one holds the header */
			*ret_bias = base - (p[i].p_vaddr & ~(uint64_t)0xfff);
			biased = true;
		}
		if (p[i].p_type == type) {
			*ret_addr = p[i].p_vaddr;
			*ret_size = p[i].p_memsz;
		}
	}
	*ret_addr += *ret_bias;
	return biased && *ret_addr != *ret_bias;
}

static uint64_t absolute(uint64_t v, uint64_t bias)
{
	return v && v < bias ? v + bias : v;
}

static bool read_dynamic(pid_t pid, uint64_t base, uint64_t *bias, struct dynamic *ret)
{
	Elf64_Dyn d[DYNS_MAX];
	uint64_t addr, size = 0;
	size_t n;

	*ret = (struct dynamic){0};
	*bias = 0;
	if (!remote_segment(pid, base, PT_DYNAMIC, bias, &addr, &size))
		return false;
	n = size / sizeof(*d) < DYNS_MAX ? size / sizeof(*d) : DYNS_MAX;
	if (!remote_read(pid, addr, d, n * sizeof(*d)))
		return false;
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		uint64_t v = d[i].d_un.d_ptr;

		switch (d[i].d_tag) {
		case DT_SYMTAB:
			ret->symtab = absolute(v, *bias);
			break;
		case DT_STRTAB:
			ret->strtab = absolute(v, *bias);
			break;
		case DT_STRSZ:
			ret->strsz = v;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = absolute(v, *bias);
			break;
		case DT_HASH:
			ret->hash = absolute(v, *bias);
			break;
		}
	}
	return ret->symtab && ret->strtab && ret->strsz && ret->strsz <= STRINGS_MAX;
}

/* The number of symbols: the highest index in the hash table's chains, plus one. */
static uint32_t count_gnu(pid_t pid, uint64_t at)
{
	uint32_t head[4], *buckets, max = 0, word;
	uint64_t chains;

	if (!remote_read(pid, at, head, sizeof(head)) || !head[0] || head[0] > SYMS_MAX ||
		head[2] > SYMS_MAX)
		return 0;
	buckets = xcalloc(head[0], sizeof(*buckets));
	at += sizeof(head) + head[2] * 8ull;
	chains = at + head[0] * 4ull;
	if (remote_read(pid, at, buckets, head[0] * sizeof(*buckets)))
		for (uint32_t i = 0; i < head[0]; i++)
			max = buckets[i] > max ? buckets[i] : max;
	free(buckets);
	if (max < head[1])
		return head[1];
	for (; max < SYMS_MAX &&
		remote_read(pid, chains + (max - head[1]) * 4ull, &word, sizeof(word)) &&
		!(word & 1);
		max++)
		;
	return max + 1;
}

static uint32_t count_symbols(pid_t pid, const struct dynamic *d)
{
	uint32_t head[2] = {0, 0};

	if (d->gnu_hash)
		return count_gnu(pid, d->gnu_hash);
	if (d->hash && remote_read(pid, d->hash, head, sizeof(head)))
		return head[1];
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct remote_symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void take_symbols(
	struct remote_symbols *r, const Elf64_Sym *e, uint32_t n, uint64_t strsz, uint64_t bias)
{
	r->sym = xcalloc(n + 1, sizeof(*r->sym));
	for (uint32_t i = 0; i < n; i++) {
		if (ELF64_ST_TYPE(e[i].st_info) != STT_FUNC || !e[i].st_value ||
			e[i].st_name >= strsz)
			continue;
		r->sym[r->n++] = (struct remote_symbol){
			bias + e[i].st_value, e[i].st_size, r->strings + e[i].st_name};
	}
	qsort(r->sym, r->n, sizeof(*r->sym), by_addr);
}

bool remote_symbols_read(struct remote_symbols *r, pid_t pid, uint64_t base)
{
	struct dynamic d;
	uint64_t bias;
	uint32_t n;
	Elf64_Sym *e;
	bool good;

	*r = (struct remote_symbols){0};
	if (!read_dynamic(pid, base, &bias, &d))
		return false;
	n = count_symbols(pid, &d);
	if (!n || n > SYMS_MAX)
		return false;
	e = xcalloc(n, sizeof(*e));
	r->strings = xcalloc(1, d.strsz + 1);
	good = remote_read(pid, d.symtab, e, n * sizeof(*e)) &&
	       remote_read(pid, d.strtab, r->strings, d.strsz);
	if (good)
		take_symbols(r, e, n, d.strsz, bias);
	free(e);
	if (!good)
		remote_symbols_free(r);
	return good;
}

void remote_symbols_free(struct remote_symbols *r)
{
	free(r->sym);
	free(r->strings);
	*r = (struct remote_symbols){0};
}

uint64_t remote_symbol_addr(const struct remote_symbols *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!strcmp(r->sym[i].name, name))
			return r->sym[i].addr;
	return 0;
}

const char *remote_symbol_at(const struct remote_symbols *r, uint64_t addr)
{
	unsigned at = FIRST_WHERE(r->n, i, r->sym[i].addr > addr);

	while (at-- > 0 && r->sym[at].addr + (64u << 10) > addr)
		if (addr - r->sym[at].addr < r->sym[at].size)
			return r->sym[at].name;
	return NULL;
}
