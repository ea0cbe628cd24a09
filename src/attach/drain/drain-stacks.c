/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the agent's stacks (absolute return addresses) into frames (module, ELF address) that still
 * mean something when the inferior has ended. Nothing is symbolised here.
 */
#include "attach/drain/drain.h"

#include <stdlib.h>
#include <string.h>
#include "symbols/elf-facts.h"

#define STACK_IDS_MAX (1u << 26) /* 8 MiB of bits */
#define MAPS_MAX (1u << 16)
#define MODULES_MAX (1u << 16)

void drain_stacks_init(struct drain_stacks *s)
{
	memset(s, 0, sizeof(*s));
	s->unknown_module = s->python_module = SBT_NO_ID;
	s->id_bases = xcalloc(1, sizeof(uint32_t));
	s->nepochs = 1;
}

void drain_stacks_free(struct drain_stacks *s)
{
	for (unsigned i = 0; i < s->nmodules; i++) {
		free((char *)s->modules[i].path);
		free((char *)s->modules[i].build_id);
	}
	free(s->modules);
	free(s->maps);
	free(s->id_bases);
	free(s->known);
	drain_python_free(&s->python);
}

void drain_stacks_exec(struct drain_stacks *s)
{
	s->id_bases = xrealloc(s->id_bases, (s->nepochs + 1) * sizeof(uint32_t));
	s->id_bases[s->nepochs++] = s->max_id;
}

/* ---- ids ---- */

static uint32_t move_id(const struct drain_stacks *s, uint32_t epoch, uint32_t id)
{
	uint64_t moved = (uint64_t)s->id_bases[epoch] + id;

	return id && moved < STACK_IDS_MAX ? (uint32_t)moved : 0;
}

static bool is_known(const struct drain_stacks *s, uint32_t moved)
{
	return moved / 8 < s->known_bytes && (s->known[moved / 8] >> moved % 8 & 1);
}

static void set_known(struct drain_stacks *s, uint32_t moved)
{
	size_t need = moved / 8 + 1;

	if (need > s->known_bytes) {
		size_t n = s->known_bytes ? s->known_bytes : 1024;

		while (n < need)
			n *= 2;
		s->known = xrealloc(s->known, n);
		memset(s->known + s->known_bytes, 0, n - s->known_bytes);
		s->known_bytes = n;
	}
	s->known[moved / 8] |= (uint8_t)(1u << moved % 8);
}

void drain_stacks_saw(struct drain_stacks *s, uint32_t epoch, uint32_t id)
{
	uint32_t moved = move_id(s, epoch, id);

	if (moved > s->max_id)
		s->max_id = moved;
}

uint32_t drain_stack_id(const struct drain_stacks *s, uint32_t epoch, uint32_t id)
{
	uint32_t moved = move_id(s, epoch, id);

	return moved && is_known(s, moved) ? moved : 0;
}

/* ---- modules and mappings ---- */

static uint32_t add_module(struct drain_stacks *s, const char *path, size_t n)
{
	char *copy = xmalloc(n + 1);

	memcpy(copy, path, n);
	copy[n] = 0;
	for (uint32_t i = 0; i < s->nmodules; i++)
		if (strcmp(s->modules[i].path, copy) == 0) {
			free(copy);
			return i;
		}
	MAKE_ROOM(s->modules, s->nmodules, s->modules_cap);
	s->modules[s->nmodules] = (struct sbt_host_module){copy, elf_build_id(copy)};
	return s->nmodules++;
}

static void remove_overlaps(struct drain_stacks *s, uint32_t epoch, uint64_t start, uint64_t end)
{
	unsigned keep = 0;

	for (unsigned i = 0; i < s->nmaps; i++) {
		const struct drain_mapping *m = &s->maps[i];

		if (m->epoch != epoch || m->end <= start || m->start >= end)
			s->maps[keep++] = *m;
	}
	s->nmaps = keep;
}

bool drain_stacks_mapping(struct drain_stacks *s, uint32_t epoch, const struct tsdb_msg_mapping *m)
{
	size_t n;

	if (m->head.size < sizeof(*m) || m->n > m->head.size - sizeof(*m) || m->start >= m->end)
		return false;
	remove_overlaps(s, epoch, m->start, m->end);
	if (m->gone)
		return true;
	n = strnlen(m->path, m->n);
	if (s->nmaps >= MAPS_MAX || s->nmodules >= MODULES_MAX)
		return true; /* frames in it will be in no module */
	MAKE_ROOM(s->maps, s->nmaps, s->maps_cap);
	s->maps[s->nmaps++] =
		(struct drain_mapping){m->start, m->end, m->bias, epoch, add_module(s, m->path, n)};
	return true;
}

static const struct drain_mapping *find_map(
	const struct drain_stacks *s, uint32_t epoch, uint64_t pc)
{
	for (unsigned i = s->nmaps; i-- > 0;) /* the newest mapping first */
		if (s->maps[i].epoch == epoch && pc >= s->maps[i].start && pc < s->maps[i].end)
			return &s->maps[i];
	return NULL;
}

static struct sbt_frame make_frame(struct drain_stacks *s, uint32_t epoch, uint64_t return_pc)
{
	uint64_t pc = return_pc ? return_pc - 1 : 0;
	const struct drain_mapping *m;

	if (return_pc & TSDB_PC_PYTHON_BIT) {
		if (s->python_module == SBT_NO_ID)
			s->python_module =
				add_module(s, SBT_MODULE_PYTHON, strlen(SBT_MODULE_PYTHON));
		return (struct sbt_frame){
			s->python_module, drain_python_place(&s->python, epoch, return_pc)};
	}
	m = find_map(s, epoch, pc);
	if (m)
		return (struct sbt_frame){m->module, pc - m->bias};
	if (s->unknown_module == SBT_NO_ID)
		s->unknown_module = add_module(s, "[unknown]", strlen("[unknown]"));
	return (struct sbt_frame){s->unknown_module, pc};
}

bool drain_stacks_define(struct drain_stacks *s, uint32_t epoch, const struct tsdb_msg_stack *m,
	struct drain_item *ret)
{
	uint32_t id;

	if (m->head.size < sizeof(*m) || m->n > TSDB_STACK_MAX ||
		m->n > (m->head.size - sizeof(*m)) / sizeof(m->pcs[0]))
		return false;
	id = move_id(s, epoch, m->id);
	if (!id || is_known(s, id))
		return true;
	for (uint32_t i = 0; i < m->n; i++)
		s->frames[i] = make_frame(s, epoch, m->pcs[i]);
	set_known(s, id);
	ret->kind = DRAIN_STACK;
	ret->stack = id;
	ret->frames = s->frames;
	ret->n = m->n;
	return true;
}
