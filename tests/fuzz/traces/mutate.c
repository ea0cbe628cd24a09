/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutations of a trace's parts. Values come from three places: boundaries, what stands elsewhere in
 * the same trace (so that ids and addresses meet what they should not), and what was there, a
 * little changed.
 */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "mutate-ptx.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- values --- */

static const uint64_t boundaries[] = {
	0,
	1,
	2,
	3,
	4,
	7,
	8,
	9,
	15,
	16,
	31,
	32,
	33,
	63,
	64,
	127,
	128,
	255,
	256,
	257,
	1023,
	1024,
	1025,
	4095,
	4096,
	4097,
	65535,
	65536,
	65537,
	0xfffffe,
	0xffffff,
	0x1000000,
	0x7ffffffe,
	0x7fffffff,
	0x80000000,
	0x80000001,
	0xfffffffe,
	0xffffffff,
	0x100000000,
	0x100000001,
	0xffffffff00,
	1ull << 40,
	1ull << 46,
	(1ull << 47) - 1,
	1ull << 47,
	1ull << 48,
	(1ull << 56) + 1,
	(1ull << 62) - 1,
	1ull << 62,
	(1ull << 63) - 1,
	1ull << 63,
	(1ull << 63) + 1,
	~0ull - 4096,
	~0ull - 4095,
	~0ull - 255,
	~0ull - 15,
	~0ull - 7,
	~0ull - 3,
	~0ull - 1,
	~0ull,
};

/* What another command says in a field of this type. */
static bool from_elsewhere(
	const struct model *m, enum sbt_type type, uint64_t *random, uint64_t *ret)
{
	for (unsigned tries = 0; m->ncmds && tries < 20; tries++) {
		const struct sbt_cmd *c = &m->cmds[below(random, m->ncmds)];
		const struct sbt_kind_desc *k = sbt_kind(c->kind);
		const struct sbt_field *f =
			k->nfields ? &k->fields[below(random, k->nfields)] : NULL;

		if (f && !sbt_type_is_blob(f->type) && (f->type == type || tries > 10)) {
			*ret = sbt_get(c, f);
			return true;
		}
	}
	return false;
}

static uint64_t other_value(
	const struct model *m, enum sbt_type type, uint64_t was, uint64_t *random)
{
	uint64_t v = was;

	switch (below(random, 8)) {
	case 0:
	case 1:
	case 2:
		return boundaries[below(random, COUNT(boundaries))];
	case 3:
	case 4:
		if (from_elsewhere(m, type, random, &v))
			return v;
		return was + 1;
	case 5:
		return was + below(random, 33) - 16;
	case 6:
		return was ^ 1ull << below(random, 64);
	default:
		return was + (boundaries[below(random, COUNT(boundaries))] & ~7ull);
	}
}

/* --- bytes --- */

static void change_bytes(const struct model *m, uint8_t *p, size_t n, uint64_t *random)
{
	const size_t width = 1ull << below(random, 4);
	uint64_t v = 0;
	size_t at;

	if (n < width)
		return;
	at = below(random, n - width + 1) & ~(below(random, 4) ? width - 1 : 0);
	memcpy(&v, p + at, width);
	v = other_value(m, SBT_T_ADDR, v, random);
	memcpy(p + at, &v, width);
}

static void change_blob(const struct model *m, struct sbt_blob *b, uint64_t *random)
{
	const size_t n = below(random, 3)   ? b->len
			 : below(random, 2) ? below(random, b->len + 2)
					    : b->len + below(random, 64);
	uint8_t *p = xmalloc(n + 1);

	memset(p, (int)below(random, 256), n + 1);
	if (b->len)
		memcpy(p, b->p, n < b->len ? n : b->len);
	change_bytes(m, p, n, random);
	*b = (struct sbt_blob){p, n};
}

/* --- commands --- */

static void change_cmd(const struct model *m, struct sbt_cmd *c, uint64_t *random);

/* A graph's node holds a packed command: its fields are changed, not its bytes. */
static bool change_packed(const struct model *m, struct sbt_blob *b, uint64_t *random)
{
	struct sbt_cmd c;
	uint64_t *p;

	if (b->len < 8 || b->len > 65536)
		return false;
	p = xmalloc(b->len + 8);
	memcpy(p, b->p, b->len);
	if (!sbt_unpack(&c, p, b->len) || !sbt_kind(c.kind)) {
		free(p);
		return false;
	}
	change_cmd(m, &c, random);
	b->len = sbt_pack_size(&c);
	b->p = xmalloc(b->len);
	sbt_pack((void *)(uintptr_t)b->p, &c);
	return true;
}

static void change_cmd(const struct model *m, struct sbt_cmd *c, uint64_t *random)
{
	const struct sbt_kind_desc *k = sbt_kind(c->kind);
	const struct sbt_field *f;

	if (!k->nfields || !below(random, 12)) {
		static const char *const names[] = {"flags", "thread", "ctx", "stack", "result"};

		f = sbt_field(c->kind, names[below(random, COUNT(names))]);
		if (f)
			sbt_set(c, f, other_value(m, f->type, sbt_get(c, f), random));
		return;
	}
	f = &k->fields[below(random, k->nfields)];
	if (!sbt_type_is_blob(f->type)) {
		sbt_set(c, f, other_value(m, f->type, sbt_get(c, f), random));
		return;
	}
	struct sbt_blob *b = (struct sbt_blob *)(void *)((char *)c + f->offset);

	if (strcmp(f->name, "payload") || !below(random, 4) || !change_packed(m, b, random))
		change_blob(m, b, random);
}

/* Commands keep their numbers: what they are moves. */
static void move_cmds(struct model *m, uint64_t *random)
{
	struct sbt_cmd *a = &m->cmds[below(random, m->ncmds)],
		       *b = &m->cmds[below(random, m->ncmds)], was = *a;
	const uint64_t sa = a->seq, sb = b->seq;

	*a = *b;
	a->seq = sa;
	if (below(random, 2))
		*b = was;
	b->seq = sb;
}

static void drop_cmd(struct model *m, uint64_t *random)
{
	const size_t i = below(random, m->ncmds);

	memmove(&m->cmds[i], &m->cmds[i + 1], (m->ncmds - i - 1) * sizeof *m->cmds);
	m->ncmds--;
}

/* Anything of another kind in its place, with as many fields as fit. */
static void change_kind(struct model *m, uint64_t *random)
{
	struct sbt_cmd *c = &m->cmds[below(random, m->ncmds)], was = *c;
	const unsigned kind = 1 + (unsigned)below(random, SBT_KIND_END - 1);
	const struct sbt_kind_desc *k = sbt_kind(kind);

	if (!k)
		return;
	memset(&c->u, 0, sizeof c->u);
	c->kind = (uint16_t)kind;
	for (unsigned i = 0; i < k->nfields; i++) {
		const struct sbt_field *f = &k->fields[i], *g = sbt_field(was.kind, f->name);

		if (!sbt_type_is_blob(f->type))
			sbt_set(c, f,
				g && g->type == f->type ? sbt_get(&was, g)
							: other_value(m, f->type, 0, random));
		else if (g && g->type == f->type)
			*(struct sbt_blob *)(void *)((char *)c + f->offset) =
				*sbt_get_blob(&was, g);
	}
}

/* --- memory --- */

static void change_piece(struct model *m, uint64_t *random)
{
	struct model_piece *p = &m->pieces[below(random, m->npieces)];
	const struct sbt_memory was = p->m;

	switch (below(random, 9)) {
	case 0:
		p->m.addr = other_value(m, SBT_T_ADDR, was.addr, random);
		return;
	case 1:
		p->m.size = other_value(m, SBT_T_SIZE, was.size, random);
		return;
	case 2:
		p->m.role = 1 + (uint32_t)below(random, 6);
		return;
	case 3:
		p->m.owner = (uint32_t)below(random, 3);
		return;
	case 4:
		p->m.seq = other_value(m, SBT_T_SEQ, was.seq, random);
		return;
	case 5:
		p->m.module = (uint32_t)other_value(m, SBT_T_MODULE, was.module, random);
		return;
	case 6:
		change_blob(m, &p->m.name, random);
		return;
	case 7:
		p->m.has_bytes = false;
		return;
	default:
		change_bytes(m, p->bytes, p->n, random);
	}
}

/* --- all of it --- */

/* A fat binary's head, the wrapper's with an address, ELF's. */
static void other_head(struct model_code *c, uint64_t *random)
{
	const uint64_t heads[][2] = {
		{0x00100001ba55ed50, boundaries[below(random, COUNT(boundaries))]},
		{0x1466243b1, boundaries[below(random, COUNT(boundaries))]},
		{0x00010102464c457f, 0}};

	if (c->n >= 16)
		memcpy(c->p, heads[below(random, COUNT(heads))], 16);
	if (!below(random, 4))
		c->kind = c->kind == CODE_PTX ? CODE_CUBIN : CODE_PTX;
}

static void change_code(struct model *m, uint64_t *random)
{
	struct model_code *c = &m->codes[below(random, m->ncodes)];

	if (!below(random, 16)) {
		other_head(c, random);
		return;
	}
	if (c->kind == CODE_PTX && below(random, 8))
		mutate_ptx(&c->p, &c->n, random);
	else
		change_bytes(m, (uint8_t *)c->p, c->n, random);
}

static void change_window(struct model *m, uint64_t *random)
{
	struct window *w = &m->windows[below(random, m->nwindows)];
	uint64_t *v = below(random, 2) ? &w->first : &w->last;

	*v = other_value(m, SBT_T_SEQ, *v, random);
}

static void change_text(struct model *m, uint64_t *random)
{
	const char **texts[] = {&m->meta.program, &m->meta.cwd, &m->meta.host, &m->meta.gpu,
		&m->meta.vendor, &m->meta.target, &m->meta.tsdb};
	const char **t = texts[below(random, COUNT(texts))];
	struct sbt_blob b = {*t, *t ? strlen(*t) : 0};

	change_blob(m, &b, random);
	*t = b.p; /* change_blob() has made room for one more */
	((char *)(uintptr_t)b.p)[b.len] = 0;
}

void mutate_model(struct model *m, uint64_t *random)
{
	const unsigned what = (unsigned)below(random, 100);

	if (what < 50 && m->ncmds)
		change_cmd(m, &m->cmds[below(random, m->ncmds)], random);
	else if (what < 55 && m->ncmds)
		move_cmds(m, random);
	else if (what < 58 && m->ncmds)
		drop_cmd(m, random);
	else if (what < 61 && m->ncmds)
		change_kind(m, random);
	else if (what < 80 && m->npieces)
		change_piece(m, random);
	else if (what < 95 && m->ncodes)
		change_code(m, random);
	else if (what < 98 && m->nwindows)
		change_window(m, random);
	else
		change_text(m, random);
}
