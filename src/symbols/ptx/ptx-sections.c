/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug sections of a PTX text, see ptx-sections.h. One pass over the text takes labels and bytes;
 * references to labels are filled in behind it, since most are to code further on or before. The
 * text may be anything: what is written grows with the text, and a reference to nothing is 0.
 */
#include "symbols/ptx/ptx-sections.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "base/first-where.h"

enum { IN_CODE = -1, SYMBOLS_MAX = 1 << 16, MACHINE_CUDA = 190 };
enum { HASH_SIZE = 2 * SYMBOLS_MAX }; /* slots: a power of two */

struct word {
	const char *p; /* in the text; NULL: none */
	size_t n;
};

struct label {
	struct word name;
	int section; /* IN_CODE: value is a line */
	uint64_t value;
};

/* A number that is filled in when all labels are known: a - b + addend. */
struct fixup {
	unsigned section, width;
	size_t at;
	struct word a, b;
	int64_t addend;
};

struct reading {
	const char *p;
	unsigned line;
	struct ptx_sections *out;
	int section; /* whose body p is in; IN_CODE: none */
	unsigned width;
	struct label *labels;
	size_t nlabels, labels_cap;
	struct fixup *fixups;
	size_t nfixups, fixups_cap;
	struct word *functions; /* of .loc number i of out: a label; n 0: it is not inlined */
	size_t nfunctions, functions_cap;
	unsigned ninlined;
	uint32_t *hash; /* HASH_SIZE of number + 1 of a symbol; 0: free */
	bool broken;
};

/* --- the text --- */

/* Passes blanks and comments. */
static void pass_blanks(struct reading *r)
{
	for (;; r->p++) {
		if (r->p[0] == '/' && r->p[1] == '/') {
			r->p += strcspn(r->p, "\n");
		} else if (r->p[0] == '/' && r->p[1] == '*') {
			const char *end = strstr(r->p + 2, "*/");

			for (; *r->p && r->p != end; r->p++)
				r->line += *r->p == '\n';
			r->p += *r->p ? 1 : 0;
		}
		if (!*r->p)
			return;
		r->line += *r->p == '\n';
		if (!isspace((unsigned char)*r->p) && *r->p != '/')
			return;
	}
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* A name, with a dot in front if there is one. */
static struct word take_word(struct reading *r)
{
	const char *p = r->p;
	size_t n = *p == '.';

	while (is_of_name(p[n]))
		n++;
	r->p += n;
	return (struct word){p, n};
}

static bool word_is(struct word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.p, text, w.n);
}

static void add_label(struct reading *r, struct word name, uint64_t value)
{
	MAKE_ROOM(r->labels, r->nlabels, r->labels_cap);
	r->labels[r->nlabels++] = (struct label){name, r->section, value};
}

/* `name:` -- true if that was one. */
static bool take_label(struct reading *r, struct word name)
{
	const struct ptx_sections *s = r->out;

	pass_blanks(r);
	if (*r->p != ':')
		return false;
	r->p++;
	add_label(r, name, r->section < 0 ? r->line : s->v[r->section].bytes.len);
	return true;
}

/* --- outside of sections --- */

static void pass_text(struct reading *r)
{
	for (r->p++; *r->p && *r->p != '"'; r->p++) {
		r->line += *r->p == '\n';
		r->p += *r->p == '\\' && r->p[1];
	}
	r->p += *r->p == '"';
}

/* Behind `.file`: 1 "/home/me/a.cu" */
static void take_file(struct reading *r)
{
	struct ptx_sections *s = r->out;
	const char *open, *close;
	uint64_t number;
	char *end;

	pass_blanks(r);
	number = strtoull(r->p, &end, 10);
	open = end + strspn(end, " \t");
	close = end > r->p && *open == '"' ? strpbrk(open + 1, "\"\n") : NULL;
	if (!close || *close != '"')
		return;
	MAKE_ROOM(s->files, s->nfiles, s->files_cap);
	s->files[s->nfiles].number = number;
	s->files[s->nfiles].name = strndup(open + 1, (size_t)(close - open - 1));
	BUG_ON(!s->files[s->nfiles].name);
	s->nfiles++;
	r->p = close + 1;
}

static bool take_number(struct reading *r, uint64_t *ret);

static bool take_place(struct reading *r, struct ptx_place *ret)
{
	uint64_t *const at[] = {&ret->file, &ret->line, &ret->column};

	for (unsigned k = 0; k < 3; k++) {
		r->p += strspn(r->p, " \t");
		if (!take_number(r, at[k]))
			return false;
	}
	return true;
}

static struct word next_word(struct reading *r)
{
	r->p += strspn(r->p, " \t,");
	return take_word(r);
}

/* Behind `.loc`: 1 12 5 [, function_name LABEL [+ 4], inlined_at 1 3 4] */
static void take_loc(struct reading *r)
{
	struct ptx_sections *s = r->out;
	struct ptx_loc_line l = {.ptx_line = r->line};
	struct word function = {0};

	if (!take_place(r, &l.own))
		return;
	if (word_is(next_word(r), "function_name")) {
		function = next_word(r);
		r->p += strspn(r->p, " \t+");
		if (isdigit((unsigned char)*r->p))
			take_number(r, &l.name);
		l.inlined = word_is(next_word(r), "inlined_at") && take_place(r, &l.call);
		r->ninlined += l.inlined;
	}
	MAKE_ROOM(s->locs, s->nlocs, s->locs_cap);
	s->locs[s->nlocs++] = l;
	MAKE_ROOM(r->functions, r->nfunctions, r->functions_cap);
	r->functions[r->nfunctions++] = function;
}

/* Behind `.section`: the name and the bracket. */
static void take_section(struct reading *r)
{
	struct ptx_sections *s = r->out;
	struct word name;
	unsigned k = 0;

	pass_blanks(r);
	name = take_word(r);
	pass_blanks(r);
	if (*r->p != '{' || name.n >= sizeof s->v->name) {
		r->broken = true;
		return;
	}
	r->p++;
	while (k < s->n && !word_is(name, s->v[k].name))
		k++;
	if (k == PTX_SECTIONS_MAX) {
		r->broken = true;
		return;
	}
	if (k == s->n) {
		memcpy(s->v[k].name, name.p, name.n);
		s->v[k].name[name.n] = 0;
		s->n++;
	}
	r->section = (int)k;
	r->width = 0;
}

static void take_outside(struct reading *r)
{
	struct word w;

	if (*r->p == '"') {
		pass_text(r);
		return;
	}
	w = take_word(r);
	if (!w.n)
		r->p++;
	else if (word_is(w, ".section"))
		take_section(r);
	else if (word_is(w, ".file"))
		take_file(r);
	else if (word_is(w, ".loc"))
		take_loc(r);
	else if (*w.p != '.')
		take_label(r, w);
}

/* --- in a section --- */

static unsigned width_of(struct word w)
{
	static const char *const names[] = {".b8", ".b16", ".b32", ".b64"};

	for (unsigned k = 0; k < 4; k++)
		if (word_is(w, names[k]))
			return 1u << k;
	return 0;
}

static void put(struct reading *r, uint64_t v)
{
	buf_add(&r->out->v[r->section].bytes, &v, r->width); /* little endian */
}

static bool take_number(struct reading *r, uint64_t *ret)
{
	const bool minus = *r->p == '-';
	const char *from = r->p + minus;
	char *end;

	if (!isdigit((unsigned char)*from))
		return false;
	*ret = strtoull(from, &end, 0);
	end += *end == 'U' || *end == 'u';
	*ret = minus ? 0 - *ret : *ret;
	r->p = end;
	return true;
}

/* name, name+4, name-name */
static void take_reference(struct reading *r, struct word name)
{
	struct fixup f = {.section = (unsigned)r->section, .width = r->width, .a = name};
	uint64_t v;

	f.at = r->out->v[r->section].bytes.len;
	pass_blanks(r);
	if (*r->p == '+' || *r->p == '-') {
		const bool minus = *r->p++ == '-';

		pass_blanks(r);
		if (take_number(r, &v))
			f.addend = (int64_t)(minus ? 0 - v : v);
		else if (minus)
			f.b = take_word(r);
	}
	put(r, 0);
	MAKE_ROOM(r->fixups, r->nfixups, r->fixups_cap);
	r->fixups[r->nfixups++] = f;
}

static void take_inside(struct reading *r)
{
	struct word w;
	uint64_t v;

	if (*r->p == '}') {
		r->section = IN_CODE;
		r->p++;
		return;
	}
	if (r->width && take_number(r, &v)) {
		put(r, v);
		return;
	}
	w = take_word(r);
	if (!w.n)
		r->p++;
	else if (width_of(w))
		r->width = width_of(w);
	else if (!take_label(r, w) && r->width)
		take_reference(r, w);
}

/* --- references --- */

static int compare_words(struct word a, struct word b)
{
	const int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_labels(const void *x, const void *y)
{
	const struct label *a = x, *b = y;
	const int c = compare_words(a->name, b->name);

	return c ? c : (a->value > b->value) - (a->value < b->value);
}

static const struct label *find_label(const struct reading *r, struct word name)
{
	const size_t at = FIRST_WHERE(r->nlabels, i, compare_words(r->labels[i].name, name) >= 0);

	return at < r->nlabels && !compare_words(r->labels[at].name, name) ? &r->labels[at] : NULL;
}

static uint32_t hash_of(struct word name)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return h;
}

/* The address of a variable of the PTX. */
static uint64_t symbol(const struct reading *r, struct word name)
{
	struct ptx_sections *s = r->out;
	uint32_t at = hash_of(name) % HASH_SIZE;

	while (r->hash[at] && !word_is(name, s->symbols[r->hash[at] - 1]))
		at = (at + 1) % HASH_SIZE;
	if (r->hash[at])
		return r->hash[at] * PTX_SYMBOL_SIZE;
	if (s->nsymbols == SYMBOLS_MAX)
		return 0;
	MAKE_ROOM(s->symbols, s->nsymbols, s->symbols_cap);
	s->symbols[s->nsymbols] = strndup(name.p, name.n);
	BUG_ON(!s->symbols[s->nsymbols]);
	r->hash[at] = ++s->nsymbols;
	return s->nsymbols * PTX_SYMBOL_SIZE;
}

static uint64_t value_of(const struct reading *r, struct word name)
{
	const struct label *l;

	if (!name.n || *name.p == '.') /* a section begins at 0 */
		return 0;
	l = find_label(r, name);
	return l ? l->value : symbol(r, name);
}

static void fill_in(const struct reading *r)
{
	for (size_t k = 0; k < r->nfixups; k++) {
		const struct fixup *f = &r->fixups[k];
		uint64_t v = value_of(r, f->a) - value_of(r, f->b) + (uint64_t)f->addend;

		if (f->width < 8 && v >> 8 * f->width)
			v = 0; /* an address that does not fit is none */
		memcpy(r->out->v[f->section].bytes.data + f->at, &v, f->width);
	}
}

/* The names of inlined functions, which are labels in .debug_str. */
static void name_functions(struct reading *r)
{
	struct ptx_sections *s = r->out;

	for (unsigned k = 0; k < s->nlocs; k++) {
		const struct label *l = s->locs[k].inlined ? find_label(r, r->functions[k]) : NULL;

		if (l && l->section >= 0 && !strcmp(s->v[l->section].name, ".debug_str"))
			s->locs[k].name += l->value;
		else
			s->locs[k].name = UINT64_MAX;
	}
	if (!r->ninlined)
		s->nlocs = 0;
}

bool ptx_sections_read(const char *text, struct ptx_sections *ret)
{
	struct reading r = {.p = text, .line = 1, .out = ret, .section = IN_CODE};

	*ret = (struct ptx_sections){0};
	for (pass_blanks(&r); *r.p && !r.broken; pass_blanks(&r)) {
		if (r.section < 0)
			take_outside(&r);
		else
			take_inside(&r);
	}
	if (r.nlabels)
		qsort(r.labels, r.nlabels, sizeof *r.labels, compare_labels);
	r.hash = xcalloc(HASH_SIZE, sizeof *r.hash);
	fill_in(&r);
	name_functions(&r);
	free(r.functions);
	free(r.hash);
	free(r.labels);
	free(r.fixups);
	return (ret->n || ret->nlocs) && !r.broken;
}

void ptx_sections_free(struct ptx_sections *s)
{
	for (unsigned k = 0; k < s->n; k++)
		buf_free(&s->v[k].bytes);
	for (unsigned k = 0; k < s->nsymbols; k++)
		free(s->symbols[k]);
	for (unsigned k = 0; k < s->nfiles; k++)
		free(s->files[k].name);
	free(s->symbols);
	free(s->files);
	free(s->locs);
	*s = (struct ptx_sections){0};
}

/* --- as an ELF file --- */

static void add_header(
	struct buf *headers, uint32_t name, uint32_t type, const struct buf *bytes, uint64_t at)
{
	const Elf64_Shdr h = {.sh_name = name,
		.sh_type = type,
		.sh_offset = at,
		.sh_size = bytes ? bytes->len : 0,
		.sh_addralign = 1};

	buf_add(headers, &h, sizeof h);
}

void ptx_sections_elf(const struct ptx_sections *s, struct buf *out)
{
	Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = MACHINE_CUDA,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof e,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(s->n + 2),
		.e_shstrndx = (uint16_t)(s->n + 1)};
	struct buf names = BUF_INIT, headers = BUF_INIT;

	buf_add(out, &e, sizeof e);
	buf_byte(&names, 0);
	add_header(&headers, 0, SHT_NULL, NULL, 0);
	for (unsigned k = 0; k < s->n; k++) {
		add_header(&headers, (uint32_t)names.len, SHT_PROGBITS, &s->v[k].bytes, out->len);
		buf_add(&names, s->v[k].name, strlen(s->v[k].name) + 1);
		buf_add(out, s->v[k].bytes.data, s->v[k].bytes.len);
	}
	buf_str(&names, ".shstrtab");
	buf_byte(&names, 0);
	add_header(
		&headers, (uint32_t)(names.len - sizeof ".shstrtab"), SHT_STRTAB, &names, out->len);
	buf_add(out, names.data, names.len);
	while (out->len % 8)
		buf_byte(out, 0);
	e.e_shoff = out->len;
	memcpy(out->data, &e, sizeof e);
	buf_add(out, headers.data, headers.len);
	buf_free(&names);
	buf_free(&headers);
}
