/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a trace and answering questions about it, see sbt.h. The surprise: damage is no error.
 * What can be used is used, and sbt_reader_damage() says what is missing; only a file without a
 * usable header is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "base/checked.h"
#include "base/first-where.h"
#include "base/memory-door.h"
#include "sbt/reader/reader.h"
#include "base/text.h"

#define SENTENCES 20

/* --- damage --- */

void sbt_reader_note(struct sbt_reader *r, const char *fmt, ...)
{
	va_list ap;

	if (++r->ndamage > SENTENCES)
		return;
	if (r->damage.len)
		r->damage.data[r->damage.len - 1] = '\n'; /* in place of the NUL */
	if (r->ndamage == SENTENCES) {
		buf_str(&r->damage, "there is more damage than is listed here");
	} else {
		va_start(ap, fmt);
		buf_vprintf(&r->damage, fmt, ap);
		va_end(ap);
	}
	buf_byte(&r->damage, 0);
}

void sbt_reader_note_once(struct sbt_reader *r, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!r->damage.len || !strstr((const char *)r->damage.data, buf_cstr(&b)))
		sbt_reader_note(r, "%s", buf_cstr(&b));
	buf_free(&b);
}

static void note_what(struct sbt_reader *r, const struct sbt_entry *e, const char *why)
{
	unsigned long long first = e->first, last = e->last;

	switch (e->type) {
	case SBT_CHUNK_COMMANDS:
		sbt_reader_note(r, "commands #%llu to #%llu are damaged and were left out (%s)",
			first, last, why);
		break;
	case SBT_CHUNK_TIMES:
		sbt_reader_note(r, "GPU times of commands #%llu to #%llu are damaged (%s)", first,
			last, why);
		break;
	case SBT_CHUNK_STACKS:
		sbt_reader_note(r, "host stacks %llu to %llu are damaged (%s)", first, last, why);
		break;
	case SBT_CHUNK_KEYFRAME:
		sbt_reader_note(r, "the keyframe at #%llu is damaged (%s)", first, why);
		break;
	case SBT_CHUNK_MODULES:
		sbt_reader_note(r, "a list of the program's files is damaged (%s)", why);
		break;
	case SBT_CHUNK_PLACES:
		sbt_reader_note(r, "places %llu to %llu in the program's source are damaged (%s)",
			first, last, why);
		break;
	case SBT_CHUNK_SYMBOLS:
		sbt_reader_note(r, "names of host frames are damaged (%s)", why);
		break;
	case SBT_CHUNK_SOURCE:
		sbt_reader_note(r, "the text of a source file is damaged (%s)", why);
		break;
	case SBT_CHUNK_CODE:
		sbt_reader_note(r, "the GPU code with hash 0x%llx is damaged (%s)", first, why);
		break;
	case SBT_CHUNK_MEMORY:
		sbt_reader_note(r,
			"memory recorded for commands #%llu to #%llu is damaged and was left out (%s)",
			first, last, why);
		break;
	case SBT_CHUNK_PAGES:
		sbt_reader_note(r, "memory pages %llu to %llu are damaged (%s)", first, last, why);
		break;
	case SBT_CHUNK_META:
		sbt_reader_note(r, "what it says about the recording is damaged (%s)", why);
		break;
	default:
		sbt_reader_note(r, "a chunk of type %u is damaged (%s)", e->type, why);
		break;
	}
}

void sbt_reader_note_chunk(struct sbt_reader *r, uint32_t i, struct err *e)
{
	if (e->code == ERR_LIMIT && e->sys == ENOMEM)
		memory_out(); /* the trace is whole: to go on without the chunk would be wrong */
	if (!r->reported[i])
		note_what(r, &r->entries[i], e->what);
	r->reported[i] = 1;
	err_free(e);
}

const char *sbt_reader_damage(const struct sbt_reader *r)
{
	return r->damage.len ? (const char *)r->damage.data : NULL;
}

/* --- the small chunks --- */

bool sbt_take_string(struct sbt_in *in, const char **ret, size_t *ret_n)
{
	uint64_t n = sbt_take(in);
	const uint8_t *p = sbt_take_bytes(in, n);

	*ret = (const char *)p;
	*ret_n = p ? (size_t)n : 0;
	return p != NULL;
}

/* Appends n bytes and a NUL, returns the offset. */
static size_t keep(struct buf *b, const char *p, size_t n)
{
	size_t at = b->len;

	text_safe(b, p, strnlen(p, n), 0);
	buf_byte(b, 0);
	return at;
}

static void take_meta(struct sbt_reader *r, const struct buf *payload)
{
	static const char *const keys[] = {"program", "cwd", "host", "gpu", "tsdb", "start_ns",
		"pid", "driver_version", "soft", "stacks", "timestamps", "rank", "ranks",
		"observed", "vendor", "target"};
	enum { N = sizeof keys / sizeof *keys };
	struct sbt_in in = sbt_in_of(payload);
	size_t at[N] = {0};
	const char *value[N];
	struct sbt_meta *m = &r->meta;

	while (in.p < in.end) {
		const char *k, *v;
		size_t nk, nv;

		if (!sbt_take_string(&in, &k, &nk) || !sbt_take_string(&in, &v, &nv))
			break;
		for (unsigned i = 0; i < N; i++)
			if (strlen(keys[i]) == nk && memcmp(keys[i], k, nk) == 0)
				at[i] = keep(&r->meta_text, v, nv);
	}
	for (unsigned i = 0; i < N; i++)
		value[i] = (const char *)r->meta_text.data + at[i];
	m->program = value[0];
	m->cwd = value[1];
	m->host = value[2];
	m->gpu = value[3];
	m->tsdb = value[4];
	m->start_ns = strtoull(value[5], NULL, 10);
	m->pid = (uint32_t)strtoul(value[6], NULL, 10);
	m->driver_version = (uint32_t)strtoul(value[7], NULL, 10);
	m->soft = *value[8] == '1';
	m->stacks = *value[9] == '1';
	m->timestamps = *value[10] == '1';
	m->rank = *value[11] ? strtoull(value[11], NULL, 10) + 1 : 0;
	m->ranks = *value[12] ? strtoull(value[12], NULL, 10) + 1 : 0;
	m->observed = *value[13] == '1';
	m->vendor = value[14];
	m->target = value[15];
}

/* The last whole table of unreplayable calls: the figures are cumulative. */
static void take_calls(struct sbt_reader *r, const struct buf *payload)
{
	struct sbt_in in = sbt_in_of(payload);

	while (in.p < in.end) {
		const char *name;
		size_t n;

		if (!sbt_take_string(&in, &name, &n))
			return;
		r->calls = xrealloc(r->calls, (r->ncalls + 1) * sizeof *r->calls);
		r->calls[r->ncalls].name = text_safe_dup(name, strnlen(name, n));
		r->calls[r->ncalls++].n = sbt_take(&in);
	}
}

/* The first chunk of the type (or the last) that is whole. */
static bool load_one(struct sbt_reader *r, unsigned type, bool last, struct buf *ret)
{
	for (size_t k = 0; k < r->n; k++) {
		size_t i = last ? r->n - 1 - k : k;
		struct err *e;

		if (r->entries[i].type != type)
			continue;
		e = sbt_reader_load(r, &r->entries[i], ret);
		if (!e)
			return true;
		sbt_reader_note_chunk(r, (uint32_t)i, e);
	}
	buf_clear(ret);
	return false;
}

static void load_small(struct sbt_reader *r)
{
	struct buf payload = BUF_INIT;

	buf_byte(&r->meta_text, 0); /* offset 0: the empty string */
	if (!load_one(r, SBT_CHUNK_META, true, &payload) && !r->ndamage)
		sbt_reader_note(r, "it does not say what was recorded");
	take_meta(r, &payload);
	if (load_one(r, SBT_CHUNK_UNREPLAYABLE, true, &payload))
		take_calls(r, &payload);
	buf_free(&payload);
}

/* --- open, close --- */

static struct err *check_file(struct sbt_reader *r)
{
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return err_sys(errno, "cannot read %s", r->path);
	if (S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE, "%s is a directory, not a trace", r->path);
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_USAGE, "%s is not a regular file, so not a trace", r->path);
	r->size = (uint64_t)st.st_size;
	if (!r->size)
		return err_cure(err_new(ERR_BAD_TRACE, "%s is empty", r->path),
			"the recording was stopped before it wrote anything: record again");
	return NULL;
}

static struct err *foreign(const struct sbt_reader *r)
{
	return err_cure(err_new(ERR_BAD_TRACE, "%s is not a tsdb trace", r->path),
		"traces are made by `tsdb record` and `capture start`");
}

static struct err *check_version(const struct sbt_reader *r, const struct sbt_file_header *h)
{
	if (h->byte_order == __builtin_bswap32(SBT_BYTE_ORDER))
		return err_new(ERR_UNSUPPORTED,
			"%s was recorded on a big-endian machine, which this tsdb cannot read",
			r->path);
	if (h->major > SBT_VERSION_MAJOR)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s was written by a newer tsdb (trace format version %u.%u; this tsdb reads %u.x)",
				r->path, h->major, h->minor, SBT_VERSION_MAJOR),
			"read it with the tsdb that recorded it, or a newer one");
	return NULL;
}

static struct err *check_file_header(struct sbt_reader *r)
{
	struct sbt_file_header h;
	size_t n = r->size < sizeof h ? (size_t)r->size : sizeof h;

	memset(&h, 0, sizeof h);
	TRY(sbt_reader_pread(r, 0, &h, n));
	if (memcmp(h.magic, SBT_MAGIC, n < SBT_MAGIC_SIZE ? n : SBT_MAGIC_SIZE) != 0)
		return foreign(r);
	if (n < sizeof h)
		return err_cure(
			err_new(ERR_BAD_TRACE,
				"%s is cut off inside its header, nothing in it can be used",
				r->path),
			"record again");
	TRY(check_version(r, &h));
	if (h.hash != XXH64(&h, offsetof(struct sbt_file_header, hash), 0))
		sbt_reader_note(r, "its header is damaged");
	return NULL;
}

/* A few kilobytes of zstd may claim to be gigabytes. Pages of memory are not counted: they are
 * unpacked one at a time, when asked for. */
static struct err *check_budget(const struct sbt_reader *r)
{
	const char *own = getenv("TSDB_UNPACK_MAX");
	uint64_t sum = 0, most = SBT_UNPACK_MIN, by_size;

	if (!ckd_mul(&by_size, r->size, SBT_UNPACK_RATIO) && by_size > most)
		most = by_size;
	if (own && *own)
		most = strtoull(own, NULL, 0);
	for (size_t i = 0; i < r->n; i++) {
		const struct sbt_entry *e = &r->entries[i];

		if (e->type != SBT_CHUNK_PAGES &&
			sbt_raw_possible(
				e->type, e->raw, e->stored)) /* others are not unpacked at all */
			sum = sat_add(sum, e->raw);
	}
	if (sum <= most)
		return NULL;
	return err_cure(
		err_new(ERR_LIMIT,
			"%s has %llu bytes and unpacks to %llu; the budget for a file of its size is %llu",
			r->path, (unsigned long long)r->size, (unsigned long long)sum,
			(unsigned long long)most),
		"If you trust where it comes from, set TSDB_UNPACK_MAX=BYTES in the environment");
}

struct err *sbt_reader_open_fd(struct sbt_reader **ret, int fd, const char *path)
{
	struct sbt_reader *r = xcalloc(1, sizeof *r);
	struct err *e;

	r->path = xstrdup(path);
	r->fd = fd;
	e = check_file(r);
	if (!e)
		e = check_file_header(r);
	if (!e)
		e = sbt_reader_find_chunks(r);
	if (!e)
		e = check_budget(r);
	if (e) {
		sbt_reader_close(r);
		return e;
	}
	load_small(r);
	*ret = r;
	return NULL;
}

struct err *sbt_reader_open(struct sbt_reader **ret, const char *path)
{
	const int fd = open(
		path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block us */

	return fd < 0 ? err_sys(errno, "cannot open %s", path) : sbt_reader_open_fd(ret, fd, path);
}

void sbt_reader_abandon(struct sbt_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
}

void sbt_reader_close(struct sbt_reader *r)
{
	struct sbt_list *lists[] = {&r->commands, &r->times, &r->keyframes, &r->stacks, &r->modules,
		&r->places, &r->symbols, &r->sources, &r->codes, &r->memories, &r->pages,
		&r->windows};

	sbt_reader_abandon(r);
	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
		free(lists[i]->at);
	for (size_t i = 0; i < r->ncalls; i++)
		free(r->calls[i].name);
	free(r->calls);
	sbt_reader_stacks_free(r);
	sbt_reader_symbols_free(r);
	sbt_reader_memory_free(r);
	sbt_reader_pages_free(r);
	free(r->times_last);
	free(r->reported);
	free(r->entries);
	buf_free(&r->meta_text);
	buf_free(&r->damage);
	ZSTD_freeDCtx(r->zstd);
	free(r->path);
	free(r);
}

/* --- questions --- */

const struct sbt_meta *sbt_reader_meta(const struct sbt_reader *r)
{
	return &r->meta;
}

uint64_t sbt_reader_count(const struct sbt_reader *r)
{
	return r->count;
}

uint64_t sbt_reader_first_seq(const struct sbt_reader *r)
{
	return r->commands.n ? r->entries[r->commands.at[0]].first : 0;
}

uint64_t sbt_reader_last_seq(const struct sbt_reader *r)
{
	return r->commands.n ? r->entries[r->commands.at[r->commands.n - 1]].last : 0;
}

uint64_t sbt_reader_lost(const struct sbt_reader *r)
{
	return r->lost;
}

uint64_t sbt_reader_size(const struct sbt_reader *r)
{
	return r->size;
}

bool sbt_reader_unreplayable(
	const struct sbt_reader *r, unsigned i, const char **ret_call, uint64_t *ret_n)
{
	if (i >= r->ncalls)
		return false;
	*ret_call = r->calls[i].name;
	*ret_n = r->calls[i].n;
	return true;
}

/* Number of keyframes up to seq. */
static size_t keyframes_to(const struct sbt_reader *r, uint64_t seq)
{
	return FIRST_WHERE(r->keyframes.n, i, r->entries[r->keyframes.at[i]].first > seq);
}

uint64_t sbt_reader_keyframe_seq(const struct sbt_reader *r, uint64_t seq)
{
	size_t n = keyframes_to(r, seq);

	return n ? r->entries[r->keyframes.at[n - 1]].first : 0;
}

struct err *sbt_reader_keyframe(
	struct sbt_reader *r, uint64_t seq, uint64_t *ret_seq, struct buf *ret)
{
	size_t lo = keyframes_to(r, seq);

	while (lo--) {
		uint32_t i = r->keyframes.at[lo];
		struct err *e = sbt_reader_load(r, &r->entries[i], ret);

		if (!e) {
			*ret_seq = r->entries[i].first;
			return NULL;
		}
		sbt_reader_note_chunk(r, i, e); /* an earlier one does too */
	}
	buf_clear(ret);
	*ret_seq = 0;
	return NULL;
}

bool sbt_reader_code_at(
	const struct sbt_reader *r, unsigned i, uint64_t *ret_hash, enum code_kind *ret_kind)
{
	if (i >= r->codes.n)
		return false;
	*ret_hash = r->entries[r->codes.at[i]].first;
	*ret_kind = r->entries[r->codes.at[i]].last ? CODE_PTX : CODE_UNKNOWN;
	return true;
}

struct err *sbt_reader_code(
	struct sbt_reader *r, uint64_t hash, struct buf *ret, enum code_kind *ret_kind)
{
	for (size_t k = 0; k < r->codes.n; k++) {
		uint32_t i = r->codes.at[k];
		struct buf code = BUF_INIT;
		struct err *e;

		if (r->entries[i].first != hash)
			continue;
		e = sbt_reader_load(r, &r->entries[i], &code);
		if (!e) {
			buf_add(ret, code.data, code.len);
			*ret_kind = code_kind_said(r->entries[i].last != 0, code.data, code.len);
		}
		buf_free(&code);
		if (!e)
			return NULL;
		sbt_reader_note_chunk(r, i, e);
	}
	return err_new(ERR_NOT_FOUND, "%s does not hold the GPU code with hash 0x%llx", r->path,
		(unsigned long long)hash);
}
