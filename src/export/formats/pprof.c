/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof's profile (google/pprof, proto/profile.proto), compressed as its readers want it. A sample
 * is a host stack with the kernel, or the copy, as its innermost frame; its values are the number
 * of launches, the time on the GPU if the trace has it, and bytes copied and set.
 */
#include <zlib.h>
#include "export/core/frame-table.h"
#include "export/core/proto.h"
#include "export/formats/formats.h"

/* Field numbers of profile.proto. */
enum {
	P_SAMPLE_TYPE = 1,
	P_SAMPLE = 2,
	P_LOCATION = 4,
	P_FUNCTION = 5,
	P_STRING = 6,
	P_TIME = 9,
	P_COMMENT = 13,
	P_DEFAULT_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct profile {
	struct export_job *j;
	struct buf out;
	struct pb w;		   /* writes to it */
	struct frame_table frames; /* a location and a function each, number plus 1 */
	struct text_table texts;
};

static void value_type(struct profile *p, const char *type, const char *unit)
{
	const size_t at = pb_open(&p->w, P_SAMPLE_TYPE, PB_BELOW_128);

	pb_u64(&p->w, VALUE_TYPE, text_number(&p->texts, type));
	pb_u64(&p->w, VALUE_UNIT, text_number(&p->texts, unit));
	pb_close(&p->w, at, PB_BELOW_128);
}

static void put_label(struct profile *p, const char *key, unsigned field, uint64_t v)
{
	const size_t at = pb_open(&p->w, SAMPLE_LABEL, PB_BELOW_128);

	pb_u64(&p->w, LABEL_KEY, text_number(&p->texts, key));
	pb_u64(&p->w, field, v);
	pb_close(&p->w, at, PB_BELOW_128);
}

static void put_sample(struct profile *p, const struct samples *all, const struct sample *s)
{
	const struct export_stack *st = s->stack;
	const size_t at = pb_open(&p->w, P_SAMPLE, PB_BELOW_128);
	size_t list = pb_open(&p->w, SAMPLE_LOCATION, PB_BELOW_128);

	pb_packed(&p->w, frame_number_of(&p->frames, s) + 1);
	for (unsigned i = st ? st->n : 0; i-- > 0;)
		pb_packed(&p->w, frame_number(&p->frames, &st->frames[i]) + 1);
	pb_close(&p->w, list, PB_BELOW_128);
	list = pb_open(&p->w, SAMPLE_VALUE, PB_BELOW_128);
	pb_packed(&p->w, s->gpu ? s->count : 0);
	pb_packed(&p->w, s->bytes);
	if (all->timed)
		pb_packed(&p->w, s->gpu_ns);
	pb_close(&p->w, list, PB_BELOW_128);
	put_label(p, "kernel", LABEL_STR, text_number(&p->texts, s->name));
	if (p->j->ask->set)
		put_label(p, "rank", LABEL_NUM, s->rank);
	pb_close(&p->w, at, PB_BELOW_128);
}

static void put_location(struct profile *p, uint32_t i)
{
	const size_t at = pb_open(&p->w, P_LOCATION, PB_BELOW_128);
	size_t line;

	pb_u64(&p->w, LOCATION_ID, i + 1);
	line = pb_open(&p->w, LOCATION_LINE, PB_BELOW_128);
	pb_u64(&p->w, LINE_FUNCTION, i + 1);
	pb_u64(&p->w, LINE_LINE, p->frames.v[i].line);
	pb_close(&p->w, line, PB_BELOW_128);
	pb_close(&p->w, at, PB_BELOW_128);
}

static void put_frame(struct profile *p, uint32_t i, const char *name)
{
	const char *file = p->frames.v[i].file;
	size_t at;

	put_location(p, i);
	at = pb_open(&p->w, P_FUNCTION, PB_BELOW_128);
	pb_u64(&p->w, FUNCTION_ID, i + 1);
	pb_u64(&p->w, FUNCTION_NAME, text_number(&p->texts, name));
	pb_u64(&p->w, FUNCTION_SYSTEM_NAME, text_number(&p->texts, name));
	pb_u64(&p->w, FUNCTION_FILE, text_number(&p->texts, file ? file : ""));
	pb_close(&p->w, at, PB_BELOW_128);
}

static void put_frames(struct profile *p)
{
	struct buf name = BUF_INIT;

	for (uint32_t i = 0; i < p->frames.n; i++) {
		buf_clear(&name);
		frame_name_put(&name, &p->frames.v[i]);
		put_frame(p, i, symbols_keep(p->j->ask->symbols, buf_cstr(&name)));
	}
	buf_free(&name);
}

static void fill(struct profile *p, const struct samples *s)
{
	p->w = pb_begin(&p->out);
	text_number(&p->texts, ""); /* number 0, as the format wants it */
	value_type(p, "launches", "count");
	value_type(p, "memory", "bytes");
	if (s->timed)
		value_type(p, "gpu", "nanoseconds");
	for (uint32_t i = 0; i < s->n; i++)
		put_sample(p, s, &s->v[i]);
	put_frames(p);
	pb_u64(&p->w, P_TIME, p->j->meta->start_ns);
	pb_u64(&p->w, P_COMMENT, text_number(&p->texts, p->j->meta->program));
	pb_u64(&p->w, P_DEFAULT_TYPE, text_number(&p->texts, s->timed ? "gpu" : "launches"));
	for (uint32_t i = 0; i < p->texts.n; i++)
		pb_text(&p->w, P_STRING, p->texts.v[i]);
	pb_end(&p->w);
}

/* Compresses p->out as gzip (RFC 1952) into the job's line. */
static struct err *compress_it(struct profile *p)
{
	enum { GZIP = 16 + MAX_WBITS };
	z_stream z = {.next_in = p->out.data, .avail_in = (uInt)p->out.len};
	size_t room;
	int end;

	if (p->out.len > UINT32_MAX)
		return err_cure(err_new(ERR_UNSUPPORTED, "the profile is larger than 4 GiB"),
			"Give a range of commands");
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) !=
		Z_OK)
		return err_nomem();
	room = deflateBound(&z, p->out.len);
	z.next_out = buf_room(&p->j->line, room);
	z.avail_out = (uInt)room;
	end = deflate(&z, Z_FINISH);
	p->j->line.len += z.total_out;
	deflateEnd(&z);
	return end == Z_STREAM_END ? NULL : err_nomem();
}

struct err *export_pprof(struct export_job *j)
{
	struct profile p = {.j = j};
	struct samples s;
	struct err *e = samples_read(&s, j);

	if (!e) {
		fill(&p, &s);
		e = compress_it(&p);
	}
	samples_free(&s);
	frame_table_free(&p.frames);
	text_table_free(&p.texts);
	buf_free(&p.out);
	return e;
}
