/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings of an observed process, see maps.h. Files are opened below /proc/PID/root, so those of a
 * process in a container are its own.
 */
#include "observe/process/maps.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "symbols/elf-facts.h"
#include "base/maps-at.h"
#include "base/maps-line.h"
#include "base/monotonic.h"
#include "observe/bpf/mapped.h"

/* addresses of code that was made at run time are never found: do not read for each */
#define READ_AGAIN_NS 50000000u

struct module {
	char *path, *build_id;
	struct elf_layout layout;
	struct {
		uint64_t addr;
		char *name;
	} * functions; /* that were asked for */
	unsigned nfunctions;
};

struct area {
	uint64_t start, end, bias;
	uint32_t module; /* SBT_NO_ID: of no file */
};

struct observe_maps {
	pid_t pid;
	char *from;
	struct module *modules;
	uint32_t nmodules;
	struct area *areas; /* by address */
	size_t nareas;
	uint64_t read_ns;
	struct mapped *mapped;
};

struct observe_maps *observe_maps_new(pid_t pid, const char *from, struct mapped *mapped)
{
	struct observe_maps *m = xcalloc(1, sizeof *m);

	m->pid = pid;
	m->mapped = mapped;
	m->from = from ? xstrdup(from) : xasprintf("/proc/%d/maps", (int)pid);
	return m;
}

void observe_maps_free(struct observe_maps *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->nmodules; i++) {
		for (unsigned k = 0; k < m->modules[i].nfunctions; k++)
			free(m->modules[i].functions[k].name);
		free(m->modules[i].functions);
		free(m->modules[i].path);
		free(m->modules[i].build_id);
	}
	free(m->modules);
	free(m->areas);
	free(m->from);
	free(m);
}

/* The path by which tsdb can open the file: its own name, if that is the same file here. */
static char *reachable(const struct observe_maps *m, const char *path)
{
	char *p = xasprintf("/proc/%d/root%s", (int)m->pid, path);
	struct stat theirs, ours;

	if (!stat(p, &theirs) &&
		(stat(path, &ours) || theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino))
		return p;
	free(p);
	return xstrdup(path);
}

static uint32_t module_of(struct observe_maps *m, const char *path)
{
	struct module *f;
	char *real;

	for (uint32_t i = 0; i < m->nmodules; i++) {
		if (!strcmp(m->modules[i].path, path))
			return i;
	}
	m->modules = xrealloc(m->modules, (m->nmodules + 1) * sizeof *m->modules);
	f = &m->modules[m->nmodules];
	*f = (struct module){.path = xstrdup(path)};
	real = reachable(m, path);
	elf_layout_read(real, &f->layout);
	f->build_id = elf_build_id(real); /* now: later the process may have ended */
	free(real);
	return m->nmodules++;
}

static struct area area_of(struct observe_maps *m, const struct maps_line *l)
{
	struct area a = {l->start, l->end, 0, SBT_NO_ID};

	if (l->path[0] == '/' && l->path[1] != '/') /* "//anon" is the kernel's word for no file */
		a.module = module_of(m, l->path);
	if (a.module != SBT_NO_ID &&
		!elf_layout_bias(&m->modules[a.module].layout, l->start, l->offset, true, &a.bias))
		a.bias = l->start - l->offset;
	return a;
}

static void take_line(struct observe_maps *m, char *line)
{
	struct maps_line l;

	if (!maps_line_parse(&l, line) || !l.x)
		return;
	if (m->nareas && l.start < m->areas[m->nareas - 1].end)
		return;
	maps_line_undelete(&l);
	m->areas = xrealloc(m->areas, (m->nareas + 1) * sizeof *m->areas);
	m->areas[m->nareas++] = area_of(m, &l);
}

/* Adds an area; it replaces those that it overlaps. */
static void take_mapped(void *arg, const struct mapped_area *a)
{
	struct observe_maps *m = arg;
	struct maps_line l = {
		.start = a->start, .end = a->end, .offset = a->offset, .x = true, .path = a->path};
	size_t n = 0, at = 0;

	for (size_t i = 0; i < m->nareas; i++)
		if (m->areas[i].end <= a->start || m->areas[i].start >= a->end)
			m->areas[n++] = m->areas[i];
	maps_line_undelete(&l);
	m->areas = xrealloc(m->areas, (n + 1) * sizeof *m->areas);
	while (at < n && m->areas[at].start < a->start)
		at++;
	memmove(&m->areas[at + 1], &m->areas[at], (n - at) * sizeof *m->areas);
	m->areas[at] = area_of(m, &l);
	m->nareas = n + 1;
}

/* A process that has ended has no maps: the old ones still say what its addresses meant, and the
 * kernel reported later mappings. */
static bool take_ended(struct observe_maps *m)
{
	if (m->mapped)
		mapped_each(m->mapped, take_mapped, m);
	return m->mapped && m->nareas;
}

bool observe_maps_read(struct observe_maps *m)
{
	FILE *f = fopen(m->from, "re");
	size_t cap = 0;
	char *line = NULL;
	bool any = false;

	while (f && getline(&line, &cap, f) > 0) {
		if (!any)
			m->nareas = 0;
		any = true;
		take_line(m, line);
	}
	free(line);
	if (f)
		fclose(f);
	return any || take_ended(m);
}

bool observe_maps_uses(const struct observe_maps *m, const char *prefix)
{
	FILE *f = fopen(m->from, "re");
	char *line = NULL;
	bool found = false;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0) {
		const char *slash = strrchr(line, '/');

		found = slash && !strncmp(slash + 1, prefix, strlen(prefix));
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static const struct area *area_at(const struct observe_maps *m, uint64_t addr)
{
	return MAPS_AT(m->areas, m->nareas, addr);
}

static const struct area *area_find(struct observe_maps *m, uint64_t addr)
{
	const struct area *a = area_at(m, addr);
	uint64_t now;

	if (a)
		return a;
	now = monotonic_ns();
	if (m->read_ns && now - m->read_ns < READ_AGAIN_NS)
		return NULL;
	m->read_ns = now;
	return observe_maps_read(m) ? area_at(m, addr) : NULL;
}

struct sbt_frame observe_maps_frame(struct observe_maps *m, uint64_t addr)
{
	const struct area *a = area_find(m, addr);

	return a ? (struct sbt_frame){a->module, addr - a->bias}
		 : (struct sbt_frame){SBT_NO_ID, addr};
}

bool observe_maps_code(struct observe_maps *m, uint64_t addr)
{
	return area_find(m, addr) != NULL;
}

bool observe_maps_module(struct observe_maps *m, uint32_t i, struct sbt_host_module *ret)
{
	if (i >= m->nmodules)
		return false;
	*ret = (struct sbt_host_module){
		.path = m->modules[i].path, .build_id = m->modules[i].build_id};
	return true;
}

void observe_maps_files(struct observe_maps *m, const char *prefix,
	void (*fn)(void *arg, const char *path), void *arg)
{
	for (uint32_t i = 0; i < m->nmodules; i++) {
		const char *slash = strrchr(m->modules[i].path, '/');
		char *real;

		if (strncmp(slash + 1, prefix, strlen(prefix)))
			continue;
		real = reachable(m, m->modules[i].path);
		fn(arg, real);
		free(real);
	}
}

/* --- functions by address --- */

/* The function symbol in section scn whose value is vaddr. */
static char *symbol_at(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t vaddr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	GElf_Sym sym;

	for (int i = 0; data && sh->sh_entsize && i < (int)(sh->sh_size / sh->sh_entsize); i++) {
		if (!gelf_getsym(data, i, &sym) || sym.st_value != vaddr ||
			GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name && *name)
			return xstrdup(name);
	}
	return NULL;
}

static char *function_in(const char *path, uint64_t vaddr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *name = NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && !name && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) &&
			(sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			name = symbol_at(elf, scn, &sh, vaddr);
	}
	elf_end(elf);
	close(fd);
	return name;
}

const char *observe_maps_function(struct observe_maps *m, uint64_t addr)
{
	const struct area *a = area_find(m, addr);
	struct module *f;
	char *real;

	if (!a || a->module == SBT_NO_ID)
		return NULL;
	f = &m->modules[a->module];
	for (unsigned i = 0; i < f->nfunctions; i++) {
		if (f->functions[i].addr == addr - a->bias)
			return f->functions[i].name;
	}
	real = reachable(m, f->path);
	f->functions = xrealloc(f->functions, (f->nfunctions + 1) * sizeof *f->functions);
	f->functions[f->nfunctions].addr = addr - a->bias;
	f->functions[f->nfunctions].name = function_in(real, addr - a->bias);
	free(real);
	return f->functions[f->nfunctions++].name;
}
