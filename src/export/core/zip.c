/* SPDX-License-Identifier: Apache-2.0
 *
 * A ZIP file, see zip.h. All numbers are little-endian. A thread compresses and writes the bytes of
 * members while the next ones are made, piece by piece in their order, so that the file does not
 * depend on it; where none can be had, that is done at once.
 */
#include "export/core/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/quiet-thread.h"
#include "squeeze/squeeze.h"

enum { MEMBERS_MAX = UINT16_MAX - 1, PIECES = 8 };
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
	struct buf line; /* of whoever writes: the thread while there are pieces */
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct buf pieces[PIECES]; /* a ring: npieces from first on, which the thread owns */
	unsigned first, npieces;
	bool over;
	struct err *failed; /* the thread's */
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

/* Writes what was compressed to z->line. */
static struct err *write_packed(struct zip *z)
{
	z->packed += z->line.len;
	return write_line(z);
}

/* --- the thread --- */

static struct err *compress(struct zip *z, const void *p, size_t n)
{
	z->crc = squeeze_crc32(z->crc, p, n);
	squeeze_put(z->squeeze, p, n, &z->line);
	return write_packed(z);
}

/* Waits for a piece; false: there will be none. With the lock. */
static bool wait_for_piece(struct zip *z)
{
	while (!z->npieces && !z->over)
		pthread_cond_wait(&z->changed, &z->lock);
	return z->npieces;
}

static void *work(void *zip)
{
	struct zip *z = zip;

	pthread_mutex_lock(&z->lock);
	while (wait_for_piece(z)) {
		const struct buf *piece = &z->pieces[z->first];
		struct err *e = NULL;
		const bool failed = z->failed;

		pthread_mutex_unlock(&z->lock);
		if (!failed)
			e = compress(z, piece->data, piece->len);
		pthread_mutex_lock(&z->lock);
		z->failed = failed ? z->failed : e;
		z->first = (z->first + 1) % PIECES;
		z->npieces--;
		pthread_cond_broadcast(&z->changed);
	}
	pthread_mutex_unlock(&z->lock);
	return NULL;
}

static void start(struct zip *z)
{
	pthread_mutex_init(&z->lock, NULL);
	pthread_cond_init(&z->changed, NULL);
	z->threaded = !quiet_thread(&z->thread, NULL, work, z);
}

/* Waits until there are less than `most` pieces, and takes over the thread's error. *ret: the one
 * behind them. */
static struct err *wait_for_room(struct zip *z, unsigned most, struct buf **ret)
{
	struct err *e;

	pthread_mutex_lock(&z->lock);
	while (z->npieces >= most)
		pthread_cond_wait(&z->changed, &z->lock);
	*ret = &z->pieces[(z->first + z->npieces) % PIECES];
	e = z->failed;
	z->failed = NULL;
	pthread_mutex_unlock(&z->lock);
	return e;
}

/* Gives the thread a copy. */
static struct err *give(struct zip *z, const void *p, size_t n)
{
	struct buf *piece;

	TRY(wait_for_room(z, PIECES, &piece));
	buf_clear(piece);
	buf_add(piece, p, n);
	pthread_mutex_lock(&z->lock);
	z->npieces++;
	pthread_cond_broadcast(&z->changed);
	pthread_mutex_unlock(&z->lock);
	return NULL;
}

static void stop(struct zip *z)
{
	if (z->threaded) {
		pthread_mutex_lock(&z->lock);
		z->over = true;
		pthread_cond_broadcast(&z->changed);
		pthread_mutex_unlock(&z->lock);
		pthread_join(z->thread, NULL);
	}
	pthread_cond_destroy(&z->changed);
	pthread_mutex_destroy(&z->lock);
	for (unsigned i = 0; i < PIECES; i++)
		buf_free(&z->pieces[i]);
	err_free(z->failed);
}

struct zip *zip_new(FILE *f)
{
	struct zip *z = xcalloc(1, sizeof *z);

	z->f = f;
	z->squeeze = squeeze_new(SQUEEZE_BARE);
	start(z);
	return z;
}

/* --- a member --- */

struct err *zip_put(struct zip *z, const void *p, size_t n)
{
	if (n > UINT32_MAX - z->size)
		return too_large();
	z->size += n;
	return z->threaded ? give(z, p, n) : compress(z, p, n);
}

static struct err *end_member(struct zip *z)
{
	struct member *m = &z->members[z->n - 1];
	struct buf *next;

	if (!z->open)
		return NULL;
	z->open = false;
	TRY(wait_for_room(z, 1, &next));
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
	stop(z);
	squeeze_free(z->squeeze);
	for (size_t i = 0; i < z->n; i++)
		free(z->members[i].name);
	free(z->members);
	buf_free(&z->line);
	free(z);
}
