/* SPDX-License-Identifier: Apache-2.0
 *
 * The line table of a code object ("DWARF Debugging Information Format, Version 5", 6.2; the
 * headers of versions 2 to 4 by those versions' 6.2.4). Whatever it says is computed with: each
 * read is bounded, and the numbers of rows and files are.
 */
#include "gpucode/amd-image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 22, FILES_MAX = 1 << 16, PATH_ROOM = 2048 };
enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS };
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };
enum {
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f,
};

/* --- bytes --- */

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t fixed(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < n) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	memcpy(&v, c->p, n < 8 ? n : 8); /* little endian */
	c->p += n;
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		const uint8_t b = (uint8_t)fixed(c, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || c->bad)
			return v;
	}
}

static int64_t sleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;;) {
		const uint8_t b = (uint8_t)fixed(c, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80 && !c->bad)
			continue;
		if (b & 0x40 && shift < 64)
			v |= ~0ull << shift;
		return (int64_t)v;
	}
}

static const char *text(struct cursor *c)
{
	const char *s = (const char *)c->p;
	const uint8_t *end = memchr(c->p, 0, (size_t)(c->end - c->p));

	if (!end) {
		c->bad = true;
		c->p = c->end;
		return "";
	}
	c->p = end + 1;
	return s;
}

static const char *text_in(struct cursor *c, struct amd_bytes section, uint64_t at)
{
	if (at < section.n && memchr(section.p + at, 0, section.n - at))
		return (const char *)section.p + at;
	c->bad = true;
	return "";
}

/* --- a table's header --- */

struct table {
	struct cursor c;
	struct amd_lines *to;
	struct amd_bytes line_str, str;
	bool wide; /* 64-bit DWARF */
	unsigned version, address_size, min_length, max_ops, line_range, opcode_base;
	int line_base;
	uint8_t lengths[256];
	const char *dirs[256]; /* the first ones: others are left out of paths */
	size_t ndirs;
	size_t first_file, nfiles; /* of this table, in to->files */
};

static void add_file(struct table *t, const char *name, uint64_t dir)
{
	const char *in = dir < t->ndirs && *name != '/' ? t->dirs[dir] : "";
	struct amd_lines *l = t->to;
	char path[PATH_ROOM];

	if (l->nfiles == FILES_MAX) {
		t->c.bad = true;
		return;
	}
	if (l->nfiles == l->cap_files) {
		const size_t cap = l->cap_files ? 2 * l->cap_files : 16;
		char **v = realloc(l->files, cap * sizeof(*v));

		if (!v) {
			t->c.bad = true;
			return;
		}
		l->files = v;
		l->cap_files = cap;
	}
	snprintf(path, sizeof(path), "%.1000s%s%.1000s", in, *in ? "/" : "", name);
	l->files[l->nfiles] = strdup(path);
	if (!l->files[l->nfiles]) {
		t->c.bad = true;
		return;
	}
	l->nfiles++;
	t->nfiles++;
}

static void add_dir(struct table *t, const char *name)
{
	if (t->ndirs < sizeof(t->dirs) / sizeof(t->dirs[0]))
		t->dirs[t->ndirs++] = name;
}

/* Versions 2 to 4: directory 0 is the compiler's, and files count from 1. */
static void old_names(struct table *t)
{
	add_dir(t, "");
	add_file(t, "", 0);
	for (const char *s = text(&t->c); *s && !t->c.bad; s = text(&t->c))
		add_dir(t, s);
	for (const char *s = text(&t->c); *s && !t->c.bad; s = text(&t->c)) {
		const uint64_t dir = uleb(&t->c);

		uleb(&t->c);
		uleb(&t->c);
		add_file(t, s, dir);
	}
}

struct content {
	const char *path;
	uint64_t number;
};

static struct content content_of(struct table *t, uint64_t form)
{
	struct content r = {"", 0};

	switch (form) {
	case FORM_STRING:
		r.path = text(&t->c);
		break;
	case FORM_LINE_STRP:
		r.path = text_in(&t->c, t->line_str, fixed(&t->c, t->wide ? 8 : 4));
		break;
	case FORM_STRP:
		r.path = text_in(&t->c, t->str, fixed(&t->c, t->wide ? 8 : 4));
		break;
	case FORM_UDATA:
		r.number = uleb(&t->c);
		break;
	case FORM_DATA1:
		r.number = fixed(&t->c, 1);
		break;
	case FORM_DATA2:
		r.number = fixed(&t->c, 2);
		break;
	case FORM_DATA4:
		r.number = fixed(&t->c, 4);
		break;
	case FORM_DATA8:
		r.number = fixed(&t->c, 8);
		break;
	case FORM_DATA16:
		fixed(&t->c, 16);
		break;
	case FORM_BLOCK:
		r.number = uleb(&t->c);
		if (r.number > (size_t)(t->c.end - t->c.p))
			t->c.bad = true;
		else
			t->c.p += r.number;
		break;
	default:
		t->c.bad = true;
	}
	return r;
}

/* A list of directories or files of version 5. */
static void new_names(struct table *t, bool files)
{
	uint64_t format[8][2], n;
	const unsigned nformats = (unsigned)fixed(&t->c, 1);

	if (nformats > 8) {
		t->c.bad = true;
		return;
	}
	for (unsigned k = 0; k < nformats; k++) {
		format[k][0] = uleb(&t->c);
		format[k][1] = uleb(&t->c);
	}
	n = uleb(&t->c);
	if (n && !nformats)
		t->c.bad = true;
	while (n-- && !t->c.bad) {
		struct content path = {"", 0}, dir = {"", 0};

		for (unsigned k = 0; k < nformats; k++) {
			const struct content v = content_of(t, format[k][1]);

			if (format[k][0] == LNCT_PATH)
				path = v;
			else if (format[k][0] == LNCT_DIRECTORY)
				dir = v;
		}
		if (t->c.bad)
			return;
		if (files)
			add_file(t, path.path, dir.number);
		else
			add_dir(t, path.path);
	}
}

/* Leaves the cursor at the program. */
static bool header(struct table *t)
{
	struct cursor *c = &t->c;
	uint64_t length;
	const uint8_t *program;

	t->version = (unsigned)fixed(c, 2);
	if (t->version < 2 || t->version > 5)
		return false;
	t->address_size = 8;
	if (t->version >= 5) {
		t->address_size = (unsigned)fixed(c, 1);
		fixed(c, 1);
	}
	length = fixed(c, t->wide ? 8 : 4);
	if (c->bad || length > (size_t)(c->end - c->p) || t->address_size != 8)
		return false;
	program = c->p + length;
	t->min_length = (unsigned)fixed(c, 1);
	t->max_ops = t->version >= 4 ? (unsigned)fixed(c, 1) : 1;
	fixed(c, 1);
	t->line_base = (int8_t)fixed(c, 1);
	t->line_range = (unsigned)fixed(c, 1);
	t->opcode_base = (unsigned)fixed(c, 1);
	for (unsigned k = 1; k < t->opcode_base; k++)
		t->lengths[k] = (uint8_t)fixed(c, 1);
	if (c->bad || !t->line_range || !t->opcode_base || t->max_ops != 1)
		return false;
	t->first_file = t->to->nfiles;
	if (t->version >= 5) {
		new_names(t, false);
		new_names(t, true);
	} else {
		old_names(t);
	}
	c->p = program;
	return !c->bad;
}

/* --- its program --- */

struct row {
	uint64_t addr, file;
	uint32_t line;
};

static void add_row(struct table *t, const struct row *r, bool end)
{
	struct amd_lines *l = t->to;
	const bool known = !end && r->file < t->nfiles;

	if (!end && !r->line) /* of no line: goes with the one before it */
		return;
	if (l->n == l->cap) {
		const size_t cap = l->cap ? 2 * l->cap : 256;
		struct amd_line *v = l->n < ROWS_MAX ? realloc(l->v, cap * sizeof(*v)) : NULL;

		if (!v) {
			t->c.bad = true;
			return;
		}
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct amd_line){.addr = r->addr,
		.file = known ? (uint32_t)(t->first_file + r->file) : UINT32_MAX,
		.line = known ? r->line : 0,
		.first = UINT32_MAX,
		.primary = (uint32_t)(t->first_file + (t->version < 5))};
}

static void extended(struct table *t, struct row *r)
{
	const uint64_t n = uleb(&t->c);
	struct cursor c = t->c;

	if (t->c.bad || !n || n > (size_t)(c.end - c.p)) {
		t->c.bad = true;
		return;
	}
	c.end = c.p + n;
	t->c.p = c.end;
	switch (fixed(&c, 1)) {
	case LNE_END_SEQUENCE:
		add_row(t, r, true);
		*r = (struct row){0, 1, 1};
		break;
	case LNE_SET_ADDRESS:
		r->addr = fixed(&c, 8);
		t->c.bad |= c.bad;
		break;
	default:
		break;
	}
}

static void standard(struct table *t, struct row *r, unsigned op)
{
	switch (op) {
	case LNS_COPY:
		add_row(t, r, false);
		break;
	case LNS_ADVANCE_PC:
		r->addr += uleb(&t->c) * t->min_length;
		break;
	case LNS_ADVANCE_LINE:
		r->line += (uint32_t)sleb(&t->c);
		break;
	case LNS_SET_FILE:
		r->file = uleb(&t->c);
		break;
	case LNS_CONST_ADD_PC:
		r->addr += (uint64_t)((255 - t->opcode_base) / t->line_range) * t->min_length;
		break;
	case LNS_FIXED_ADVANCE_PC:
		r->addr += fixed(&t->c, 2);
		break;
	default:
		for (unsigned k = 0; k < t->lengths[op]; k++)
			uleb(&t->c);
	}
}

static void program(struct table *t)
{
	struct row r = {0, 1, 1};

	while (t->c.p < t->c.end && !t->c.bad) {
		const unsigned op = (unsigned)fixed(&t->c, 1);

		if (op >= t->opcode_base) {
			const unsigned v = op - t->opcode_base;

			r.addr += (uint64_t)(v / t->line_range) * t->min_length;
			r.line += (uint32_t)(t->line_base + (int)(v % t->line_range));
			add_row(t, &r, false);
		} else if (op) {
			standard(t, &r, op);
		} else {
			extended(t, &r);
		}
	}
}

bool amd_dwarf_lines(struct amd_lines *to, struct amd_bytes line, struct amd_bytes line_str,
	struct amd_bytes str)
{
	struct cursor c = {line.p, line.p + line.n, false};
	struct table *t = calloc(1, sizeof(*t));
	bool good = t != NULL;

	while (good && c.p < c.end) {
		uint64_t n;

		*t = (struct table){.to = to, .line_str = line_str, .str = str};
		n = fixed(&c, 4);
		t->wide = n == 0xffffffff;
		if (t->wide)
			n = fixed(&c, 8);
		if (c.bad || n > (size_t)(c.end - c.p))
			good = false;
		if (!good)
			break;
		t->c = (struct cursor){c.p, c.p + n, false};
		c.p += n;
		if (header(t))
			program(t);
		good = !t->c.bad;
	}
	free(t);
	return good;
}

/* --- sorting --- */

/* The end of one sequence may be the beginning of another, which counts. */
static int by_address(const void *a, const void *b)
{
	const struct amd_line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if ((x->file == UINT32_MAX) != (y->file == UINT32_MAX))
		return x->file == UINT32_MAX ? -1 : 1;
	return 0;
}

static void merge(struct amd_line *v, struct amd_line *room, size_t n)
{
	const size_t half = n / 2;
	size_t a = 0, b = half, k = 0;

	if (n < 2)
		return;
	merge(v, room, half);
	merge(v + half, room, n - half);
	while (a < half || b < n)
		room[k++] = b == n || (a < half && by_address(&v[a], &v[b]) <= 0) ? v[a++] : v[b++];
	memcpy(v, room, n * sizeof(*v));
}

void amd_lines_sort(struct amd_lines *l)
{
	struct amd_line *room = malloc((l->n + 1) * sizeof(*room));
	size_t kept = 0;

	if (!room) {
		l->n = 0;
		return;
	}
	merge(l->v, room, l->n); /* rows of one address stay in their order */
	free(room);
	for (size_t k = 0; k < l->n; k++) {
		uint32_t first = UINT32_MAX;

		if (kept && l->v[kept - 1].addr == l->v[k].addr) {
			kept--;
			first = l->v[kept].first != UINT32_MAX ? l->v[kept].first : l->v[kept].file;
		}
		l->v[kept] = l->v[k];
		l->v[kept++].first = first;
	}
	l->n = kept;
}
