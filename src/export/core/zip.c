/* SPDX-License-Identifier: Apache-2.0
 *
 * A ZIP file, see zip.h. All numbers are little-endian.
 */
#include "export/core/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "squeeze/squeeze.h"

enum { MEMBERS_MAX = UINT16_MAX - 1 };
enum { VERSION = 20, UNIX = 3 << 8, SIZES_BEHIND = 1 << 3, DEFLATE = 8 };
/* 1980-01-01: what is written depends on the traces alone. */
enum { TIME = 0, DATE = 1 << 5 | 1 };

struct member {
	char *name;
	uint32_t crc, packed, size, at;
};
struct zip {
	FILE *f;
	uint64_t at; /* bytes written */
	struct member *members;
	size_t n, cap;
	struct squeeze *squeeze;
	bool open;
	uint64_t packed, size; /* of the open member */
	uint32_t crc;
	struct buf line;
};

static void u16(struct buf *b, unsigned v)
{
	buf_byte(b, (uint8_t)v);
	buf_byte(b, (uint8_t)(v >> 8));
}

static void u32(struct buf *b, uint32_t v)
{
	u16(b, v & UINT16_MAX);
	u16(b, v >> 16);
}

static struct err *too_large(void)
{
	return err_cure(
		err_new(ERR_LIMIT,
			"a ZIP file of more than 4 GiB, or with a file of more than 4 GiB in it, is none that Perfetto reads"),
		"Export each rank alone, with --rank, or a range of its commands");
}

static struct err *write_out(struct zip *z, const void *p, size_t n)
{
	if (n > UINT32_MAX - z->at)
		return too_large();
	z->at += n;
	return n && fwrite(p, 1, n, z->f) != n ? err_sys(errno, "cannot write the export") : NULL;
}

static struct err *write_line(struct zip *z)
{
	struct err *e = write_out(z, z->line.data, z->line.len);

	buf_clear(&z->line);
	return e;
}

struct zip *zip_new(FILE *f)
{
	struct zip *z = xcalloc(1, sizeof *z);

	z->f = f;
	z->squeeze = squeeze_new(SQUEEZE_BARE);
	return z;
}

/* --- a member --- */

/* Writes what was compressed to z->line. */
static struct err *write_packed(struct zip *z)
{
	z->packed += z->line.len;
	return write_line(z);
}

struct err *zip_put(struct zip *z, const void *p, size_t n)
{
	if (n > UINT32_MAX - z->size)
		return too_large();
	z->size += n;
	z->crc = squeeze_crc32(z->crc, p, n);
	squeeze_put(z->squeeze, p, n, &z->line);
	return write_packed(z);
}

static struct err *end_member(struct zip *z)
{
	struct member *m = &z->members[z->n - 1];

	if (!z->open)
		return NULL;
	z->open = false;
	squeeze_end(z->squeeze, &z->line);
	TRY(write_packed(z));
	m->crc = z->crc;
	m->packed = (uint32_t)z->packed; /* no more than was written in all */
	m->size = (uint32_t)z->size;
	u32(&z->line, 0x08074b50);
	u32(&z->line, m->crc);
	u32(&z->line, m->packed);
	u32(&z->line, m->size);
	return write_line(z);
}

/* What a member's head and its entry in the list have in common. */
static void put_head(struct zip *z, const struct member *m)
{
	u16(&z->line, VERSION);
	u16(&z->line, SIZES_BEHIND);
	u16(&z->line, DEFLATE);
	u16(&z->line, TIME);
	u16(&z->line, DATE);
	u32(&z->line, m->crc);
	u32(&z->line, m->packed);
	u32(&z->line, m->size);
	u16(&z->line, (unsigned)strlen(m->name));
	u16(&z->line, 0);
}

struct err *zip_begin(struct zip *z, const char *name)
{
	struct member *m;

	if (z->open)
		TRY(end_member(z));
	if (z->n == MEMBERS_MAX)
		return err_new(ERR_LIMIT, "a ZIP file has at most %d files", MEMBERS_MAX);
	MAKE_ROOM(z->members, z->n, z->cap);
	m = &z->members[z->n++];
	*m = (struct member){.name = xstrdup(name), .at = (uint32_t)z->at};
	z->packed = z->size = 0;
	z->crc = 0;
	z->open = true;
	u32(&z->line, 0x04034b50);
	put_head(z, m);
	buf_str(&z->line, name);
	return write_line(z);
}

/* --- the list --- */

static void put_entry(struct zip *z, const struct member *m)
{
	enum { OWNER_ALONE = 0100600 };

	u32(&z->line, 0x02014b50);
	u16(&z->line, UNIX | VERSION);
	put_head(z, m);
	u16(&z->line, 0); /* comment */
	u16(&z->line, 0); /* disk */
	u16(&z->line, 0); /* no text */
	u32(&z->line, (uint32_t)OWNER_ALONE << 16);
	u32(&z->line, m->at);
	buf_str(&z->line, m->name);
}

struct err *zip_end(struct zip *z)
{
	uint64_t at;

	TRY(end_member(z));
	at = z->at;
	for (size_t i = 0; i < z->n; i++) {
		put_entry(z, &z->members[i]);
		TRY(write_line(z));
	}
	u32(&z->line, 0x06054b50);
	u32(&z->line, 0); /* disks */
	u16(&z->line, (unsigned)z->n);
	u16(&z->line, (unsigned)z->n);
	u32(&z->line, (uint32_t)(z->at - at));
	u32(&z->line, (uint32_t)at);
	u16(&z->line, 0); /* comment */
	return write_line(z);
}

void zip_free(struct zip *z)
{
	if (!z)
		return;
	squeeze_free(z->squeeze);
	for (size_t i = 0; i < z->n; i++)
		free(z->members[i].name);
	free(z->members);
	buf_free(&z->line);
	free(z);
}
