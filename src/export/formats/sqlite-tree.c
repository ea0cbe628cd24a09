/* SPDX-License-Identifier: Apache-2.0
 *
 * B-trees of tables, see sqlite-tree.h. A leaf that is full goes to the end of the file and becomes
 * a child of the page above; a page above that is full does the same, but keeps its last child, so
 * that no page has a single one. The root stays where SQLite put it: it is written last.
 */
#include "export/formats/sqlite-tree.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	VARINT_MAX = 9,
	LEAF = 0x0d,
	INNER = 0x05,
	LEAF_HEADER = 8,
	INNER_HEADER = 12,
	POINTER = 2,	   /* to a cell */
	FILLED = 15 << 10, /* of a leaf: rows that come later find room */
	PAYLOAD_MAX = 8192,
	CHILDREN = (SQLITE_PAGE - INNER_HEADER) / (POINTER + 4 + VARINT_MAX),
	LEVELS = 8, /* of 1,091 children each */
	TEXT_TYPE = 13
};
/* SQLite locks a byte there: its page is not used. */
#define LOCK_PAGE ((UINT32_C(1) << 30) / SQLITE_PAGE + 1)

struct child {
	uint32_t page;
	int64_t last; /* rowid */
};
struct level {
	struct child children[CHILDREN];
	unsigned n;
};
struct sqlite_tree {
	uint32_t root;
	int64_t last; /* rowid; 0: no row */
	uint8_t leaf[SQLITE_PAGE];
	unsigned ncells, content; /* of the leaf: where its last cell begins */
	struct level *levels[LEVELS];
	unsigned nlevels;
};

/* --- numbers --- */

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static size_t put_long_varint(uint8_t *p, uint64_t v)
{
	size_t n = 1;

	if (v >> 56) {
		p[8] = (uint8_t)v;
		v >>= 8;
		for (int i = 7; i >= 0; i--, v >>= 7)
			p[i] = (uint8_t)(v | 0x80);
		return VARINT_MAX;
	}
	for (uint64_t rest = v >> 7; rest; rest >>= 7)
		n++;
	for (size_t i = n; i-- > 0; v >>= 7)
		p[i] = (uint8_t)((v & 0x7f) | (i + 1 < n ? 0x80 : 0));
	return n;
}

/* SQLite's: 7 bits a byte, the high ones first; a ninth byte has 8. Returns its length. */
static inline size_t put_varint(uint8_t *p, uint64_t v)
{
	if (v < UINT64_C(1) << 7) {
		p[0] = (uint8_t)v;
		return 1;
	}
	if (v < UINT64_C(1) << 14) {
		p[0] = (uint8_t)(v >> 7 | 0x80);
		p[1] = (uint8_t)(v & 0x7f);
		return 2;
	}
	if (v < UINT64_C(1) << 21) {
		p[0] = (uint8_t)(v >> 14 | 0x80);
		p[1] = (uint8_t)(v >> 7 | 0x80);
		p[2] = (uint8_t)(v & 0x7f);
		return 3;
	}
	return put_long_varint(p, v);
}

static size_t varint_size(uint64_t v)
{
	uint8_t scratch[VARINT_MAX];

	return v < 0x80 ? 1 : put_varint(scratch, v);
}

/* --- records --- */

/* There is room for a number in each column at any time. */
static void keep_room(struct sqlite_record *r)
{
	buf_room(&r->values, SQLITE_COLUMNS_MAX * sizeof(uint64_t));
}

void sqlite_record_begin(struct sqlite_record *r)
{
	r->ntypes = 0;
	buf_clear(&r->values);
	keep_room(r);
}

static void put_type(struct sqlite_record *r, uint64_t type)
{
	r->ntypes += put_varint(r->types + r->ntypes, type);
}

/* Of numbers, by type. */
static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8};

void sqlite_record_text(struct sqlite_record *r, const char *s, size_t n)
{
	put_type(r, 2 * (uint64_t)n + TEXT_TYPE);
	buf_add(&r->values, s, n);
	keep_room(r);
}

static uint64_t take_varint(const uint8_t *p, size_t *at)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX - 1; i++) {
		const uint8_t x = p[(*at)++];

		v = v << 7 | (x & 0x7f);
		if (x < 0x80)
			return v;
	}
	return v << 8 | p[(*at)++];
}

bool sqlite_record_value(
	const struct sqlite_record *r, size_t *type, size_t *value, struct sqlite_value *ret)
{
	const uint8_t *p = r->values.data + *value;
	uint64_t t;

	if (*type >= r->ntypes)
		return false;
	t = take_varint(r->types, type);
	*ret = (struct sqlite_value){.is_null = !t};
	if (t >= TEXT_TYPE) {
		ret->length = (t - TEXT_TYPE) / 2;
		ret->text = ret->length ? (const char *)p : "";
		*value += ret->length;
	} else if (t >= 8) {
		ret->number = (int64_t)t - 8;
	} else if (t) {
		uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;

		for (unsigned i = 0; i < sizes[t]; i++)
			v = v << 8 | p[i];
		ret->number = (int64_t)v;
		*value += sizes[t];
	}
	return true;
}

/* The length of the header says itself how long it is. */
static size_t header_size(const struct sqlite_record *r)
{
	return r->ntypes + (r->ntypes < 127 ? 1 : 2);
}

static size_t payload_size(const struct sqlite_record *r)
{
	return header_size(r) + r->values.len;
}

/* --- pages --- */

static struct err *write_page(struct sqlite_pages *p, uint32_t number, const uint8_t *page)
{
	const ssize_t n = pwrite(p->fd, page, SQLITE_PAGE, (off_t)(number - 1) * SQLITE_PAGE);

	return n == SQLITE_PAGE ? NULL
				: err_sys(n < 0 ? errno : ENOSPC, "cannot write the database");
}

static struct err *new_page(struct sqlite_pages *p, const uint8_t *page, uint32_t *ret)
{
	if (p->n == UINT32_MAX - 1)
		return err_new(ERR_LIMIT, "the database would have too many pages");
	p->n += p->n + 1 == LOCK_PAGE ? 2 : 1;
	*ret = p->n;
	return write_page(p, p->n, page);
}

struct err *sqlite_pages_open(struct sqlite_pages *p, int fd)
{
	struct stat is;

	if (fstat(fd, &is))
		return err_sys(errno, "cannot look at the database");
	*p = (struct sqlite_pages){fd, (uint32_t)(is.st_size / SQLITE_PAGE)};
	return NULL;
}

struct err *sqlite_pages_end(struct sqlite_pages *p)
{
	enum { AT_SIZE = 28 };
	uint8_t size[4];

	put32(size, p->n);
	return pwrite(p->fd, size, sizeof size, AT_SIZE) == sizeof size
		       ? NULL
		       : err_sys(errno, "cannot write the database");
}

/* --- a table --- */

static void begin_leaf(struct sqlite_tree *t)
{
	t->ncells = 0;
	t->content = SQLITE_PAGE;
}

struct sqlite_tree *sqlite_tree_new(uint32_t root)
{
	struct sqlite_tree *t = xcalloc(1, sizeof *t);

	t->root = root;
	begin_leaf(t);
	return t;
}

void sqlite_tree_free(struct sqlite_tree *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->nlevels; i++)
		free(t->levels[i]);
	free(t);
}

int64_t sqlite_tree_next(const struct sqlite_tree *t)
{
	return t->last + 1;
}

bool sqlite_tree_takes(const struct sqlite_tree *t, int64_t rowid, const struct sqlite_record *r)
{
	return rowid > t->last && payload_size(r) <= PAYLOAD_MAX;
}

/* The page of n children. The last one has no cell: it is the one to the right of all. */
static void fill_inner(uint8_t *page, const struct child *c, unsigned n)
{
	unsigned content = SQLITE_PAGE;

	memset(page, 0, SQLITE_PAGE);
	page[0] = INNER;
	for (unsigned i = 0; i + 1 < n; i++) {
		uint8_t cell[4 + VARINT_MAX];
		unsigned size = 4;

		put32(cell, c[i].page);
		size += (unsigned)put_varint(cell + 4, (uint64_t)c[i].last);
		content -= size;
		memcpy(page + content, cell, size);
		put16(page + INNER_HEADER + POINTER * i, content);
	}
	put16(page + 3, n - 1);
	put16(page + 5, content);
	put32(page + 8, c[n - 1].page);
}

static struct err *add_child(
	struct sqlite_tree *t, struct sqlite_pages *p, unsigned at, struct child c)
{
	uint8_t page[SQLITE_PAGE];
	struct child full;
	struct level *l;

	if (at == LEVELS)
		return err_new(ERR_LIMIT, "a table of the database would be too large");
	if (at == t->nlevels)
		t->levels[t->nlevels++] = xcalloc(1, sizeof *t->levels[at]);
	l = t->levels[at];
	if (l->n == CHILDREN) {
		fill_inner(page, l->children, l->n - 1);
		full.last = l->children[l->n - 2].last;
		TRY(new_page(p, page, &full.page));
		l->children[0] = l->children[l->n - 1];
		l->n = 1;
		TRY(add_child(t, p, at + 1, full));
	}
	l->children[l->n++] = c;
	return NULL;
}

static void finish_leaf(struct sqlite_tree *t)
{
	const unsigned pointers = LEAF_HEADER + POINTER * t->ncells;

	t->leaf[0] = LEAF;
	put16(t->leaf + 1, 0);
	put16(t->leaf + 3, t->ncells);
	put16(t->leaf + 5, t->content);
	t->leaf[7] = 0;
	memset(t->leaf + pointers, 0, t->content - pointers);
}

/* The leaf becomes a page of its own. */
static struct err *put_leaf(struct sqlite_tree *t, struct sqlite_pages *p)
{
	struct child c = {.last = t->last};

	finish_leaf(t);
	TRY(new_page(p, t->leaf, &c.page));
	begin_leaf(t);
	return add_child(t, p, 0, c);
}

struct err *sqlite_tree_append(
	struct sqlite_tree *t, struct sqlite_pages *p, int64_t rowid, const struct sqlite_record *r)
{
	const size_t payload = payload_size(r),
		     cell = varint_size(payload) + varint_size((uint64_t)rowid) + payload;
	const size_t used = SQLITE_PAGE - t->content + LEAF_HEADER + POINTER * (t->ncells + 1);
	uint8_t *to;

	if (t->ncells && used + cell > FILLED)
		TRY(put_leaf(t, p));
	t->content -= (unsigned)cell;
	put16(t->leaf + LEAF_HEADER + POINTER * t->ncells++, t->content);
	to = t->leaf + t->content;
	to += put_varint(to, payload);
	to += put_varint(to, (uint64_t)rowid);
	to += put_varint(to, header_size(r));
	memcpy(to, r->types, r->ntypes);
	if (r->values.len)
		memcpy(to + r->ntypes, r->values.data, r->values.len);
	t->last = rowid;
	return NULL;
}

struct err *sqlite_tree_end(struct sqlite_tree *t, struct sqlite_pages *p)
{
	uint8_t page[SQLITE_PAGE];

	if (!t->nlevels) {
		finish_leaf(t);
		return write_page(p, t->root, t->leaf);
	}
	TRY(put_leaf(t, p));
	for (unsigned i = 0; i + 1 < t->nlevels; i++) {
		const struct level *l = t->levels[i];
		struct child c = {.last = l->children[l->n - 1].last};

		fill_inner(page, l->children, l->n);
		TRY(new_page(p, page, &c.page));
		TRY(add_child(t, p, i + 1, c));
	}
	fill_inner(page, t->levels[t->nlevels - 1]->children, t->levels[t->nlevels - 1]->n);
	return write_page(p, t->root, page);
}
