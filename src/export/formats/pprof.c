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
	struct buf out, m, n;
	struct frame_table frames; /* a location and a function each, number plus 1 */
	struct text_table texts;
};

static void value_type(struct profile *p, const char *type, const char *unit)
{
	pb_u64(&p->m, VALUE_TYPE, text_number(&p->texts, type));
	pb_u64(&p->m, VALUE_UNIT, text_number(&p->texts, unit));
	pb_message(&p->out, P_SAMPLE_TYPE, &p->m);
}

static void put_sample(struct profile *p, const struct samples *all, const struct sample *s)
{
	const struct export_stack *st = s->stack;

	pb_packed(&p->n, frame_number_of(&p->frames, s) + 1);
	for (unsigned i = st ? st->n : 0; i-- > 0;)
		pb_packed(&p->n, frame_number(&p->frames, &st->frames[i]) + 1);
	pb_message(&p->m, SAMPLE_LOCATION, &p->n);
	pb_packed(&p->n, s->count);
	pb_packed(&p->n, s->bytes);
	if (all->timed)
		pb_packed(&p->n, s->gpu_ns);
	pb_message(&p->m, SAMPLE_VALUE, &p->n);
	pb_u64(&p->n, LABEL_KEY, text_number(&p->texts, "kernel"));
	pb_u64(&p->n, LABEL_STR, text_number(&p->texts, s->name));
	pb_message(&p->m, SAMPLE_LABEL, &p->n);
	if (p->j->ask->set) {
		pb_u64(&p->n, LABEL_KEY, text_number(&p->texts, "rank"));
		pb_u64(&p->n, LABEL_NUM, s->rank);
		pb_message(&p->m, SAMPLE_LABEL, &p->n);
	}
	pb_message(&p->out, P_SAMPLE, &p->m);
}

static void put_frame(struct profile *p, uint32_t i, const char *name)
{
	const struct table_frame *f = &p->frames.v[i];

	pb_u64(&p->m, LOCATION_ID, i + 1);
	pb_u64(&p->n, LINE_FUNCTION, i + 1);
	pb_u64(&p->n, LINE_LINE, f->line);
	pb_message(&p->m, LOCATION_LINE, &p->n);
	pb_message(&p->out, P_LOCATION, &p->m);
	pb_u64(&p->m, FUNCTION_ID, i + 1);
	pb_u64(&p->m, FUNCTION_NAME, text_number(&p->texts, name));
	pb_u64(&p->m, FUNCTION_SYSTEM_NAME, text_number(&p->texts, name));
	pb_u64(&p->m, FUNCTION_FILE, text_number(&p->texts, f->file ? f->file : ""));
	pb_message(&p->out, P_FUNCTION, &p->m);
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
	text_number(&p->texts, ""); /* number 0, as the format wants it */
	value_type(p, "launches", "count");
	value_type(p, "memory", "bytes");
	if (s->timed)
		value_type(p, "gpu", "nanoseconds");
	for (uint32_t i = 0; i < s->n; i++)
		put_sample(p, s, &s->v[i]);
	put_frames(p);
	pb_u64(&p->out, P_TIME, p->j->meta->start_ns);
	pb_u64(&p->out, P_COMMENT, text_number(&p->texts, p->j->meta->program));
	pb_u64(&p->out, P_DEFAULT_TYPE, text_number(&p->texts, s->timed ? "gpu" : "launches"));
	for (uint32_t i = 0; i < p->texts.n; i++)
		pb_text(&p->out, P_STRING, p->texts.v[i]);
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
	buf_free(&p.m);
	buf_free(&p.n);
	return e;
}
