/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's code objects as the agent describes them, and the places in the source that stacks
 * mention: code object and line. Lines are found here, not in the agent, and only for the
 * instructions that occur in stacks. The inferior wrote all input, so it is checked.
 */
#include "attach/drain/drain.h"

#include <stdlib.h>
#include <string.h>
#include "sbt/python.h"

#define CODES_MAX (1u << 20)
#define PLACES_MAX (1u << 22)

void drain_python_free(struct drain_python *p)
{
	for (unsigned i = 0; i < p->ncodes; i++) {
		free(p->codes[i].file);
		free(p->codes[i].function);
		free(p->codes[i].lines);
	}
	free(p->codes);
	free(p->by_number);
	free(p->places);
	free(p->slots);
}

static uint32_t mix(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

/* ---- code objects ---- */

/* Where the index of (epoch, number) is, or would go. */
static uint32_t *find_code(const struct drain_python *p, uint32_t epoch, uint32_t number)
{
	for (uint32_t i = mix(epoch, number);; i++) {
		uint32_t *at = &p->by_number[i & (p->by_number_cap - 1)];

		if (!*at ||
			(p->codes[*at - 1].epoch == epoch && p->codes[*at - 1].number == number))
			return at;
	}
}

static void grow_numbers(struct drain_python *p)
{
	free(p->by_number);
	p->by_number_cap = p->by_number_cap ? p->by_number_cap * 2 : 1024;
	p->by_number = xcalloc(p->by_number_cap, sizeof(*p->by_number));
	for (unsigned i = 0; i < p->ncodes; i++)
		*find_code(p, p->codes[i].epoch, p->codes[i].number) = i + 1;
}

static char *copy_text(const char *from, size_t n)
{
	char *s = xmalloc(n + 1);

	memcpy(s, from, n);
	s[n] = 0;
	return s;
}

static struct drain_code_object *add_code(struct drain_python *p, uint32_t epoch, uint32_t number)
{
	struct drain_code_object *c;

	if ((p->ncodes + 1) * 2 > p->by_number_cap)
		grow_numbers(p);
	MAKE_ROOM(p->codes, p->ncodes, p->codes_cap);
	c = &p->codes[p->ncodes];
	*c = (struct drain_code_object){.epoch = epoch, .number = number};
	*find_code(p, epoch, number) = ++p->ncodes;
	return c;
}

bool drain_python_code(struct drain_python *p, uint32_t epoch, const struct tsdb_msg_python *m)
{
	struct drain_code_object *c;
	uint64_t room = m->head.size - sizeof(*m);

	if (m->head.size < sizeof(*m) || (uint64_t)m->file + m->name + m->lines > room)
		return false;
	if (p->ncodes >= CODES_MAX || (p->by_number_cap && *find_code(p, epoch, m->number)))
		return true;
	c = add_code(p, epoch, m->number);
	c->file = copy_text(m->bytes, m->file);
	c->function = copy_text(m->bytes + m->file, m->name);
	c->lines = (uint8_t *)copy_text(m->bytes + m->file + m->name, m->lines);
	c->nlines = m->lines;
	c->first_line = m->first_line;
	return true;
}

/* ---- places ---- */

static struct drain_place_slot *find_place(
	const struct drain_python *p, uint32_t code, uint32_t line)
{
	for (uint32_t i = mix(code, line);; i++) {
		struct drain_place_slot *s = &p->slots[i & (p->slots_cap - 1)];

		if (!s->code || (s->code == code && s->line == line))
			return s;
	}
}

static void grow_slots(struct drain_python *p)
{
	struct drain_place_slot *old = p->slots;
	unsigned n = p->slots_cap;

	p->slots_cap = n ? n * 2 : 1024;
	p->slots = xcalloc(p->slots_cap, sizeof(*p->slots));
	for (unsigned i = 0; i < n; i++)
		if (old[i].code)
			*find_place(p, old[i].code, old[i].line) = old[i];
	free(old);
}

/* The number of a place; it is made if it is new. Unknown code has the index ncodes. */
static uint32_t place_of(
	struct drain_python *p, uint32_t code, uint32_t line, const struct sbt_place *place)
{
	struct drain_place_slot *s;

	if ((p->nplaces + 1) * 2 > p->slots_cap)
		grow_slots(p);
	s = find_place(p, code, line);
	if (s->code)
		return s->place;
	if (p->nplaces >= PLACES_MAX)
		return UINT32_MAX;
	MAKE_ROOM(p->places, p->nplaces, p->places_cap);
	*s = (struct drain_place_slot){code, line, p->nplaces};
	p->places[p->nplaces] = *place;
	return p->nplaces++;
}

uint32_t drain_python_place(struct drain_python *p, uint32_t epoch, uint64_t pc)
{
	uint32_t index = p->by_number_cap ? *find_code(p, epoch, TSDB_PC_PYTHON_NUMBER(pc)) : 0;
	const struct drain_code_object *c;
	unsigned line;

	if (!index)
		return place_of(p, UINT32_MAX, 0, &(struct sbt_place){"?", "?", 0, 0});
	c = &p->codes[index - 1];
	line = python_line(c->lines, c->nlines, c->first_line, TSDB_PC_PYTHON_AT(pc));
	return place_of(
		p, index, line, &(struct sbt_place){c->file, c->function, c->first_line, line});
}
