/* SPDX-License-Identifier: Apache-2.0
 *
 * LLVM XRay's log, little endian: basic mode, versions 1 to 3, and flight data recorder mode,
 * versions 1 to 5 (llvm/lib/XRay/Trace.cpp, FDRRecordProducer.cpp and RecordInitializer.cpp;
 * compiler-rt/include/xray/xray_records.h). Each call of a function becomes a range of its thread.
 * Times are the processor's counter; what is called wall time in a buffer is the runtime's
 * CLOCK_MONOTONIC, no date. Surprise: buffers of one thread may lie in any order in the file, so
 * that begins and ends are sorted by time before they are paired.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "import/core/figure.h"
#include "import/formats/readers.h"
#include "import/formats/xray-map.h"

enum { BASIC, FLIGHT };
enum { HEAD_BYTES = 32, BASIC_BYTES = 32, FUNCTION_BYTES = 8, METADATA_BYTES = 16 };
enum metadata {
	NEW_BUFFER,
	END_OF_BUFFER,
	NEW_CPU,
	TSC_WRAP,
	WALL_TIME,
	CUSTOM_EVENT,
	CALL_ARGUMENT,
	EXTENTS,
	TYPED_EVENT,
	PID
};
enum { ENTER, EXIT, TAIL_EXIT, ENTER_ARG };
enum { CALLS_MAX = 65536 }; /* of one thread, one within the other */

struct xray {
	struct stage *s;
	FILE *f;
	struct xray_map *map;
	unsigned version, type;
	uint64_t frequency; /* cycles a second */
	uint64_t at;	    /* bytes read */
	uint64_t buffer;    /* flight: bytes left of this buffer; version 1: its size in all */
	int64_t tid;
	uint64_t tsc;
	sqlite3_stmt *put;
};

static struct err *bad(const struct xray *x, const char *what)
{
	return err_new(ERR_BAD_TRACE, "%s is no log of XRay: at byte %llu %s", x->s->ask->file,
		(unsigned long long)x->at, what);
}

static uint64_t little(const unsigned char *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = n; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

/* Reads n bytes; *ret false: the file ends before the first. */
static struct err *take(struct xray *x, unsigned char *to, size_t n, bool *ret)
{
	const size_t got = fread(to, 1, n, x->f);

	x->at += got;
	*ret = got == n;
	if (ferror(x->f))
		return err_sys(errno, "cannot read %s", x->s->ask->file);
	return got && got < n ? bad(x, "it ends within a record") : NULL;
}

static struct err *must_take(struct xray *x, unsigned char *to, size_t n)
{
	bool whole;

	TRY(take(x, to, n, &whole));
	return whole ? NULL : bad(x, "it ends too early");
}

static struct err *skip(struct xray *x, uint64_t n)
{
	unsigned char some[4096];

	while (n) {
		const size_t part = n < sizeof some ? (size_t)n : sizeof some;

		TRY(must_take(x, some, part));
		n -= part;
	}
	return NULL;
}

/* Cycles as nanoseconds; -1: too many. */
static int64_t to_ns(const struct xray *x, uint64_t tsc)
{
	const unsigned __int128 ns = (unsigned __int128)tsc * 1000000000u / x->frequency;

	return ns > FIGURE_MAX ? -1 : (int64_t)ns;
}

/* --- begins and ends --- */

static void put_event(struct xray *x, int64_t tid, uint64_t tsc, int64_t function, unsigned type)
{
	const int64_t at = to_ns(x, tsc),
		      v[] = {tid, at, function, type == ENTER || type == ENTER_ARG};

	if (at < 0) {
		stage_bad(x->s);
		return;
	}
	for (int i = 0; i < 4 && x->put; i++)
		sqlite3_bind_int64(x->put, i + 1, v[i]);
	(void)stage_step(x->s, x->put);
	sqlite3_reset(x->put);
}

struct call {
	int64_t function, at;
};

static void put_call(struct xray *x, int64_t tid, const struct call *c, int64_t end)
{
	char number[32];
	const char *name = xray_map_name(x->map, c->function);
	struct stage_host h = {.kind = STAGE_RANGE,
		.start = c->at,
		.length = end - c->at,
		.tid = tid,
		.corr = -1,
		.chain = -1};

	snprintf(number, sizeof number, "function %lld", (long long)c->function);
	h.name = name ? name : number;
	stage_host(x->s, &h);
}

/* Ends the innermost call of the function; those within it have no end. */
static unsigned end_call(
	struct xray *x, int64_t tid, const struct call *calls, unsigned n, const struct call *end)
{
	unsigned i = n;

	while (i > 0 && calls[i - 1].function != end->function)
		i--;
	if (!i) {
		x->s->result->unclosed++;
		return n;
	}
	x->s->result->unclosed += n - i;
	put_call(x, tid, &calls[i - 1], end->at);
	return i - 1;
}

static void pair(struct xray *x)
{
	sqlite3_stmt *q = stage_prepare(
		x->s, "SELECT tid, at, function, enter FROM xray ORDER BY tid, at, id");
	struct call *calls = xcalloc(CALLS_MAX, sizeof *calls);
	int64_t thread = -1;
	unsigned n = 0;

	while (stage_step(x->s, q)) {
		const int64_t tid = sqlite3_column_int64(q, 0);
		const struct call c = {sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 1)};

		if (tid != thread) {
			x->s->result->unclosed += n;
			n = 0;
			thread = tid;
		}
		if (!sqlite3_column_int(q, 3))
			n = end_call(x, tid, calls, n, &c);
		else if (n < CALLS_MAX)
			calls[n++] = c;
		else
			x->s->result->unclosed++;
	}
	x->s->result->unclosed += n;
	sqlite3_finalize(q);
	free(calls);
}

/* --- basic mode --- */

static void see_pid(struct xray *x, uint64_t pid)
{
	if (pid && x->s->pid < 0)
		x->s->pid = (int64_t)pid;
}

static struct err *read_basic(struct xray *x)
{
	enum { NORMAL, ARGUMENT };
	unsigned char b[BASIC_BYTES];
	bool whole;

	for (;;) {
		TRY(take(x, b, sizeof b, &whole));
		if (!whole || x->s->failed)
			return NULL;
		if (little(b, 2) == ARGUMENT)
			continue;
		if (little(b, 2) != NORMAL || b[3] > ENTER_ARG)
			return bad(x, "a record has an unknown type");
		put_event(x, (int64_t)little(b + 16, 4), little(b + 8, 8),
			(int32_t)little(b + 4, 4), b[3]);
		if (x->version >= 3)
			see_pid(x, little(b + 20, 4));
	}
}

/* --- flight data recorder mode --- */

static struct err *skip_payload(struct xray *x, const unsigned char *body)
{
	const uint64_t size = little(body, 4);

	if (!size || size > INT32_MAX)
		return bad(x, "an event has a size that cannot be");
	if (x->version >= 2) {
		if (size > x->buffer)
			return bad(x, "an event is larger than its buffer");
		x->buffer -= size;
	}
	return skip(x, size);
}

static struct err *end_buffer(struct xray *x)
{
	const uint64_t behind = x->at - HEAD_BYTES;

	if (x->version >= 2 || !x->buffer)
		return bad(x, "a buffer ends where its version has no such record");
	return behind % x->buffer ? skip(x, x->buffer - behind % x->buffer) : NULL;
}

static struct err *read_metadata(struct xray *x, unsigned kind)
{
	unsigned char b[METADATA_BYTES - 1];

	TRY(must_take(x, b, sizeof b));
	switch (kind) {
	case NEW_BUFFER:
		x->tid = (int64_t)little(b, 4);
		return NULL;
	case END_OF_BUFFER:
		return end_buffer(x);
	case NEW_CPU:
		x->tsc = little(b + 2, 8);
		return NULL;
	case TSC_WRAP:
		x->tsc = little(b, 8);
		return NULL;
	case CUSTOM_EVENT:
	case TYPED_EVENT:
		if (x->version >= 5)
			x->tsc += little(b + 4, 4);
		return skip_payload(x, b);
	case EXTENTS:
		x->buffer = little(b, 8);
		return NULL;
	case PID:
		see_pid(x, little(b, 4));
		return NULL;
	default:
		return kind == CALL_ARGUMENT || kind == WALL_TIME
			       ? NULL
			       : bad(x, "a record has an unknown type");
	}
}

static struct err *read_function(struct xray *x, unsigned char first)
{
	unsigned char b[FUNCTION_BYTES] = {first};
	uint64_t word;

	TRY(must_take(x, b + 1, sizeof b - 1));
	word = little(b, 4);
	x->tsc += little(b + 4, 4);
	if ((word >> 1 & 7) > ENTER_ARG)
		return bad(x, "a function's record has an unknown type");
	put_event(x, x->tid, x->tsc, (int64_t)(word >> 4), word >> 1 & 7);
	return NULL;
}

/* From version 2 on a buffer begins with its extents; what lies between buffers is passed over. */
static struct err *read_record(struct xray *x, unsigned char first)
{
	const bool metadata = first & 1;
	const unsigned kind = first >> 1, bytes = metadata ? METADATA_BYTES : FUNCTION_BYTES;

	if (x->version >= 2 && !x->buffer)
		return metadata && kind == EXTENTS ? read_metadata(x, kind) : NULL;
	if (x->version >= 2 && bytes > x->buffer)
		return bad(x, "a record is larger than its buffer");
	if (x->version >= 2 && !(metadata && kind == EXTENTS))
		x->buffer -= bytes;
	return metadata ? read_metadata(x, kind) : read_function(x, first);
}

static struct err *read_flight(struct xray *x)
{
	unsigned char first;
	bool whole;

	for (;;) {
		TRY(take(x, &first, 1, &whole));
		if (!whole || x->s->failed)
			return NULL;
		TRY(read_record(x, first));
	}
}

/* --- the whole --- */

static struct err *read_head(struct xray *x)
{
	unsigned char b[HEAD_BYTES];

	TRY(must_take(x, b, sizeof b));
	x->version = (unsigned)little(b, 2);
	x->type = (unsigned)little(b + 2, 2);
	x->frequency = little(b + 8, 8);
	if (x->type > FLIGHT || !x->version || x->version > (x->type == FLIGHT ? 5 : 3))
		return err_new(ERR_UNSUPPORTED, "%s is a log of XRay of type %u, version %u",
			x->s->ask->file, x->type, x->version);
	if (!x->frequency)
		return err_new(ERR_INCOMPLETE,
			"%s does not say how many cycles a second has, so its times are not known",
			x->s->ask->file);
	if (x->type == FLIGHT && x->version == 1)
		x->buffer = little(b + 16, 8);
	return NULL;
}

static struct err *read_all(struct xray *x)
{
	TRY(read_head(x));
	x->s->dated = false;
	stage_run(x->s, "CREATE TABLE xray (id INTEGER PRIMARY KEY, tid INT, at INT, function INT,"
			" enter INT)");
	x->put = stage_prepare(x->s, "INSERT INTO xray VALUES (NULL,?,?,?,?)");
	TRY(x->type == FLIGHT ? read_flight(x) : read_basic(x));
	pair(x);
	return NULL;
}

struct err *read_xray(struct stage *s)
{
	struct xray x = {.s = s};
	struct err *e = NULL;

	if (s->ask->map)
		TRY(xray_map_open(&x.map, s->ask->map));
	x.f = fopen(s->ask->file, "rbe");
	if (!x.f)
		e = err_sys(errno, "cannot open %s", s->ask->file);
	if (!e)
		e = read_all(&x);
	sqlite3_finalize(x.put);
	if (x.f)
		fclose(x.f);
	xray_map_close(x.map);
	return e;
}
