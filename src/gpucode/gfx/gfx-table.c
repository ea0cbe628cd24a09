/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of instructions, its texts taken apart once.
 */
#include "gpucode/gfx/gfx-table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define G_ALL 31
#define G_906 30
#define G_908 28
#define G_90A 24
#define G_942 16
#define G_TO908 7
#define G_TO90A 15
#define G_908_90A 12
#define G_90A_ONLY 8
#define G_900 1

struct text_row {
	const char *name;
	uint8_t enc;
	uint16_t op;
	uint8_t targets;
	const char *operands, *forms;
};
#define GFX(enc, op, name, targets, operands, forms)                                               \
	{#name, GFX_##enc, op, targets, operands, forms},
#define GFX_ALSO GFX
static const struct text_row texts[] = {
#include "gpucode/gfx/gfx9-insns.def"
};
#undef GFX
#undef GFX_ALSO

static struct gfx_row rows[GFX_ID_N];
/* By encoding and opcode: the rows, at most two of different targets; id + 1. */
static uint16_t by_op[GFX_ENC_N][GFX_OPS][2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

unsigned gfx_target(uint32_t gfx)
{
	switch (gfx) {
	case 0x900:
		return GFX_900;
	case 0x906:
		return GFX_906;
	case 0x908:
		return GFX_908;
	case 0x90a:
		return GFX_90A;
	case 0x942:
		return GFX_942;
	}
	return 0;
}

/* One form's letters after its own: "n3a3co". Returns where they end. */
static const char *read_mods(const char *p, struct gfx_mods *m)
{
	m->there = true;
	for (; *p && *p != ' '; p++) {
		char what = *p;
		uint8_t n = 0;

		if (strchr("naxpNAP", what))
			n = (uint8_t)strtoul((char[]){*++p, 0}, NULL, 16);
		switch (what) {
		case 'n':
			m->neg = n;
			break;
		case 'a':
			m->abs = n;
			break;
		case 'x':
			m->sext = n;
			break;
		case 'p':
			m->opsel = n;
			break;
		case 'N':
			m->ignored_neg = n;
			break;
		case 'A':
			m->ignored_abs = n;
			break;
		case 'P':
			m->ignored_opsel = n;
			break;
		case 'c':
			m->clamp = true;
			break;
		case 'o':
			m->omod = true;
			break;
		case 'C':
			m->ignored_clamp = true;
			break;
		case 'O':
			m->ignored_omod = true;
			break;
		}
	}
	return p;
}

static void read_row(const struct text_row *t, struct gfx_row *r)
{
	const char *colon = strchr(t->operands, ':');

	r->name = t->name;
	r->enc = t->enc;
	r->op = t->op;
	r->targets = t->targets;
	memcpy(r->dst, t->operands, (size_t)(colon - t->operands));
	r->nsrc = (uint8_t)strlen(colon + 1);
	memcpy(r->src, colon + 1, r->nsrc);
	for (const char *p = t->forms; *p;) {
		char form = *p++;

		if (form == 'e')
			p = read_mods(p, &r->e);
		else if (form == 's')
			p = read_mods(p, &r->s);
		else if (form == 'd')
			p = read_mods(p, &r->d);
		else if (form == '2')
			r->two_offsets = true;
		else if (form == 'z')
			r->swizzle = true;
	}
}

static void read_table(void)
{
	for (unsigned k = 0; k < GFX_ID_N; k++) {
		uint16_t *slot;

		read_row(&texts[k], &rows[k]);
		slot = by_op[rows[k].enc][rows[k].op];
		slot[slot[0] ? 1 : 0] = (uint16_t)(k + 1);
	}
}

const struct gfx_row *gfx_row(enum gfx_id id)
{
	pthread_once(&once, read_table);
	return &rows[id];
}

const struct gfx_row *gfx_find(enum gfx_enc enc, unsigned op, unsigned target, uint16_t *id)
{
	pthread_once(&once, read_table);
	if (op >= GFX_OPS)
		return NULL;
	for (unsigned k = 0; k < 2; k++) {
		unsigned n = by_op[enc][op][k];

		if (n && rows[n - 1].targets & target) {
			*id = (uint16_t)(n - 1);
			return &rows[n - 1];
		}
	}
	return NULL;
}
